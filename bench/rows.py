"""Rows of bench/run: what sonde takes, what its peer takes in the same run, and their ratio. The ratios are kept in history.tsv, a line a row and commit.

In: rows as they are measured. Out: a line each; what was recorded for the same row last, and which rows are now at more than LIMIT times that; README's table of
what was recorded last.
Invariant: ratios only are compared, never times: another machine, or a busy one, meets both sides of a ratio.
"""
import os, re, subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
HISTORY = os.path.join(HERE, 'history.tsv')
HEAD = '# commit\trow\tratio: sonde by its peer, in one run of bench/run\n'
LIMIT = 1.5
README = os.path.join(os.path.dirname(HERE), 'README.md')
MARKS = '<!-- bench/run --readme -->\n', '<!-- end of it -->\n'
# What README calls a row, by its key or the word it begins with, and the peer; in the table's order.
PEERS = (
    ('start-up', 'start-up', 'bpftrace'), ('memory', 'memory at its highest', 'bpftrace'), ('time to the first line', 'time to the first line', 'bpftrace'),
    ('event', 'time of an event', 'bpftrace'), ('frame', 'a frame of a user stack', "bpftrace's, by frame pointers"),
    ('a stack of 10 calls by .eh_frame', 'a stack of 10 calls by .eh_frame', "bpftrace's, by frame pointers"),
    ('clang', 'generated code', 'the same in C, by clang -O2'), ('uprobes', 'a uprobe of 10,000', 'bpftrace, one of 50'), ('names', '100,000 names', 'eu-addr2line'),
    ('tables: memory by size of files', 'memory of the unwind tables', 'size of the files'), ('tables', 'unwind tables', 'readelf'), ('report', 'a report of 100,000 keys', 'bpftrace'),
    ('whole machine: memory', 'all that runs, 499 samples a second: memory', 'perf record -g'),
    ('whole machine', 'all that runs, 499 samples a second', 'perf record -g and perf script'))
measured = {}  # row -> ratio


def head(title, peer='bpftrace'):
    print('\n%-52s %10s %10s    ratio' % (title, 'sonde', peer))


def show(name, ours, theirs, unit, key=None):
    """key: the row's name in the history, where `name` alone does not say what it is."""
    if ours and theirs:
        measured[key or name.strip()] = ours / theirs
    ratio = '' if not ours or not theirs else '%8.3g' % (ours / theirs)
    print('%-52s %10s %10s %s %s' % (name, 'failed' if ours is None else '%.1f' % ours, '-' if theirs is None else '%.1f' % theirs, unit, ratio), flush=True)


def last_lines(path=HISTORY):
    """Each row's last line: its commit and ratio."""
    last = {}
    if os.path.exists(path):
        for line in open(path):
            if not line.startswith('#') and line.count('\t') == 2:
                commit, row, ratio = line.rstrip('\n').split('\t')
                last[row] = commit, ratio
    return last


def recorded(path=HISTORY):
    """The last ratio of each row."""
    return {row: float(ratio) for row, (_, ratio) in last_lines(path).items()}


def readme(path=HISTORY):
    """The rows that were recorded last, as README has them."""
    table = []
    for row, (commit, ratio) in last_lines(path).items():
        word, _, rest = row.partition(': ')
        at = [i for i, peer in enumerate(PEERS) if peer[0] in (row, word)]
        if not at:
            raise SystemExit('bench/rows.py: PEERS does not say with what "%s" is compared' % row)
        key, what, peer = PEERS[at[0]]
        table.append((at[0], '| %s%s | %s | %s | %s |\n' % (what, ': ' + code(rest) if key != row else '', peer, ratio, commit)))
    table.sort(key=lambda line: line[0])
    return '| what | peer | sonde, if the peer takes 1 | commit |\n|---|---|---|---|\n' + ''.join(line for _, line in table)


def code(text):
    """Part of a script, or a file, in a table of Markdown."""
    return re.sub(r'(@.*;)', r'`\1`', text).replace('|', '\\|')


def write_readme(path=README):
    """Puts them there, between the two marks."""
    text = open(path).read()
    begin, end = (text.index(mark) for mark in MARKS)
    with open(path, 'w') as f:
        f.write(text[:begin] + MARKS[0] + readme() + text[end:])


def commit():
    out = subprocess.run(['git', '-C', HERE, 'describe', '--always', '--dirty', '--abbrev=10', '--exclude=*'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return out.stdout.decode().strip() or 'unknown'


def record(path=HISTORY):
    new = not os.path.exists(path)
    with open(path, 'a') as f:
        f.write(HEAD if new else '')
        for row, ratio in measured.items():
            f.write('%s\t%s\t%.3g\n' % (commit(), row, ratio))


def slower(path=HISTORY):
    """Rows that are over the limit: name, ratio now, ratio recorded."""
    last = recorded(path)
    return [(row, ratio, last[row]) for row, ratio in measured.items() if row in last and ratio > LIMIT * last[row]]
