"""Rows of bench/run: what sonde takes, what its peer takes in the same run, and their ratio. The ratios are kept in history.tsv, a line a row and commit.

In: rows as they are measured. Out: a line each; what was recorded for the same row last, and which rows are now at more than LIMIT times that.
Invariant: ratios only are compared, never times: another machine, or a busy one, meets both sides of a ratio.
"""
import os, subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
HISTORY = os.path.join(HERE, 'history.tsv')
HEAD = '# commit\trow\tratio: sonde by its peer, in one run of bench/run\n'
LIMIT = 1.5
measured = {}  # row -> ratio


def head(title, peer='bpftrace'):
    print('\n%-52s %10s %10s    ratio' % (title, 'sonde', peer))


def show(name, ours, theirs, unit, key=None):
    """key: the row's name in the history, where `name` alone does not say what it is."""
    if ours and theirs:
        measured[key or name.strip()] = ours / theirs
    ratio = '' if not ours or not theirs else '%8.3g' % (ours / theirs)
    print('%-52s %10s %10s %s %s' % (name, 'failed' if ours is None else '%.1f' % ours, '-' if theirs is None else '%.1f' % theirs, unit, ratio), flush=True)


def recorded(path=HISTORY):
    """The last ratio of each row."""
    last = {}
    if os.path.exists(path):
        for line in open(path):
            if not line.startswith('#') and line.count('\t') == 2:
                _, row, ratio = line.rstrip('\n').split('\t')
                last[row] = float(ratio)
    return last


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
