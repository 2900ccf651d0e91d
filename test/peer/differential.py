#!/usr/bin/env python3
"""Generated statements (snippets.py) under sonde, called `bpftrace`, and under bpftrace 0.27.1: what both print, as text and with -f json, is the same.

usage: differential.py SONDE [--seed N] [--count N] [--size N] [--peer COMMAND] [--show NAME] [--most N]

--count scripts of --size statements each are made from the seeds N, N + 1, ... (a fresh seed is printed). Each statement is a begin block and a line of its own. What one
of the two refuses is taken out by the line of its error, and tried in the other one. Differences known of before are counted by the name of their row in docs/from-bpftrace.md
(KNOWN below: how they are told); every other one is printed with its seed. --peer: the command of bpftrace (default: what peer.py --fetch got). The last line counts; the status is 1 where anything was printed.
"""
import argparse, concurrent.futures, json, os, random, re, subprocess, sys, tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import peer  # noqa: E402
from snippets import PREAMBLE, Snippet  # noqa: E402

FIRST = 2  # the line of the first statement
LONGEST = 100  # seconds that one script may take
TRIES = 6  # of a run that says itself that the kernel refused it memory

# Name of the row in docs/from-bpftrace.md, how the statement looks that has it, and what it is: 'ours' refused by sonde only, 'theirs' by the peer only, 'text' printed otherwise.
KNOWN = [
    ('accepted', 'theirs', 'unable to fold literals due to overflow'),
    ('accepted', 'theirs', 'previously used without an explicit key'),  # @m[@z] += 1
    ('accepted', 'theirs', 'Branches must return the same type'),  # of a branch that is never taken
    ('right', 'text', r'delete\(@\w+, \$[\s\S]*\n\(the same, but order or number\)\n@'),  # of a key shorter than another: 0.27.1 does not find it
    ('order', 'text', r'print\(@\w+, [12]'),  # the first of equal ones
    ('order', 'json', r'print\(@\w+, [12]'),
    ('accepted', 'theirs', 'this type has been locked'),  # of a variable that grows
    ('crash', 'theirs', 'status -6: |Error loading BPF program'),
    ('refused', 'ours', r'(-.*\*|\*.*-).*\n.*unable to fold literals due to overflow'),  # 0.27.1 sees no overflow of a product that is negative
]


class Side:
    def __init__(self, words, tmp, name):
        self.words, self.path = words, os.path.join(tmp, name + '.bt')

    def run(self, lines, form):
        """lines: {number: statement}. (status, stdout, stderr)"""
        with open(self.path, 'w') as f:
            f.write(PREAMBLE + '\n')
            for n in range(1 + max(lines, default=0)):
                f.write('begin { printf("\\n#%d\\n"); { %s } }\n' % (n, lines[n]) if n in lines else '\n')
            f.write('begin { printf("\\n#end\\n"); exit(); }\n')
        env = {'PATH': os.environ['PATH'], 'HOME': '/nonexistent', 'LC_ALL': 'C', 'TZ': 'UTC'}
        for _ in range(TRIES):
            try:
                p = subprocess.run(self.words + ['-q', '-f', form, self.path, 'first'], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LONGEST)
            except subprocess.TimeoutExpired:
                return 'end', '', ''
            out, err = (t.decode('utf-8', 'backslashreplace') for t in (p.stdout, p.stderr))
            if not re.search('updates of maps were refused|Cannot allocate memory', out + err):  # as told: memory was short on a busy machine, and an entry is missing
                break
        return p.returncode, out, err

    def accepted(self, lines):
        """Takes out of lines what is refused: (lines that run, {number: error}, (text, json) of these)."""
        lines, refused = dict(lines), {}
        while True:
            got = self.run(lines, 'text')
            if got[0] == 0 and '#end' in got[1]:
                return lines, refused, (got[1], self.run(lines, 'json')[1])
            bad = {}
            for m in re.finditer(r'\.bt:(\d+)[:-][^\n]* ERROR: ([^\n]*)', got[2]):
                bad.setdefault(int(m.group(1)) - FIRST, m.group(2))
            bad = {n: e for n, e in bad.items() if n in lines}
            if not bad and len(lines) == 1:
                told = [x for x in got[2].split('\n') if x and not x.startswith('WARNING')]
                bad = {n: 'status %s: %s' % (got[0], ([x for x in told if x.startswith('ERROR')] + told + [''])[0][:300]) for n in lines}
            if not bad:  # by halves
                ns = sorted(lines)
                halves = [self.accepted({n: lines[n] for n in part}) for part in (ns[:len(ns) // 2], ns[len(ns) // 2:])]
                return ({**halves[0][0], **halves[1][0]}, {**refused, **halves[0][1], **halves[1][1]}, tuple(a + b for a, b in zip(halves[0][2], halves[1][2])))
            refused.update(bad)
            for n in bad:
                del lines[n]
            if not lines:
                return lines, refused, ('', '')


def by_snippet(text, form):
    """{number: lines}: what was printed behind its mark, then its maps' at the end, sorted (their order is that of a hash)."""
    found, maps, now = {}, {}, None
    for line in text.split('\n'):
        mark = line
        if form == 'json':
            m = re.match(r'\{"type": "printf", "data": "\\n#(\w+)\\n"\}$', line)
            mark = '#' + m.group(1) if m else ''
        m = re.match(r'#(\d+|end)$', mark)
        if m:
            now = m.group(1)
            continue
        if not line:
            continue
        if now != 'end':
            found.setdefault(int(now) if now else -1, []).append(line)
        else:
            m = re.match(r'@\w+?_(\d+)\b', line) if form == 'text' else re.search(r'"data": \{"@\w+?_(\d+)"', line)
            at = int(m.group(1)) if m else at if form == 'text' and line[0] in '[(' else -1
            maps.setdefault(at, []).append(line)
    for n, rows in maps.items():
        found.setdefault(n, []).extend(rows)
    return {n: in_order(rows, form) for n, rows in found.items()}


def in_order(rows, form):
    """Maps' rows in any order, the entries of a map as well."""
    if form == 'json':
        return [json.dumps(json.loads(r), sort_keys=True) if re.match(r'\{"type": "(map|hist|stats)"', r) and valid(r) else r for r in rows if '"type": "helper_error"' not in r]
    out, part = [], []
    for r in rows:
        if r.startswith('@'):
            part.append(r)
        elif part and re.match(r'[\[(].*\|$', r):
            part[-1] += '\n' + r
        else:
            out, part = out + sorted(part) + [r], []
    return out + sorted(part)


def valid(text):
    try:
        json.loads(text)
        return True
    except ValueError:
        return False


def known(kind, statement, ours, theirs):
    for name, what, pattern in KNOWN:
        if what == kind and re.search(pattern, '%s\n%s\n%s' % (statement, ours, theirs)):
            return name
    return None


def one(opt, seed):
    """Differences of one script: [(number, kind, statement, ours, theirs)], statements that both ran, that both refuse."""
    rng = random.Random(seed)
    lines = {n: Snippet(rng, n).line() for n in range(opt.size)}
    with tempfile.TemporaryDirectory(prefix='sonde-diff.') as tmp:
        link = os.path.join(tmp, 'bpftrace')
        os.symlink(os.path.abspath(opt.sonde), link)
        ours, theirs = Side([link], tmp, 'ours'), Side(opt.peer.split(), tmp, 'theirs')
        there, refused_there, _ = theirs.accepted(lines)
        here, refused_here, _ = ours.accepted(lines)
        found = [(n, 'ours', lines[n], refused_here[n], '') for n in there if n in refused_here] + [(n, 'theirs', lines[n], '', refused_there[n]) for n in here if n in refused_there]
        both = {n: lines[n] for n in there if n in here}
        got = [side.accepted(both)[2] for side in (ours, theirs)] if both else []
        for i, form in enumerate(('text', 'json') if both else ()):
            a, b = by_snippet(got[0][i], form), by_snippet(got[1][i], form)
            for n in both:
                if a.get(n) != b.get(n) and not any(f[0] == n for f in found):
                    x, y = a.get(n, []), b.get(n, [])
                    found.append((n, form, lines[n], *('\n'.join([r for r in p if r not in q][:2]) or '(the same, but order or number)' for p, q in ((x, y), (y, x)))))
        if opt.show == 'refused':
            for n in set(refused_there) & set(refused_here):
                print('---- seed %d, %d: refused by both\n%s\n< %s\n> %s' % (seed, n, lines[n], refused_here[n], refused_there[n]), flush=True)
    return found, len(both), opt.size - len(set(there) | set(here))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('sonde')
    p.add_argument('--seed', type=int)
    p.add_argument('--count', type=int, default=20)
    p.add_argument('--size', type=int, default=40)
    p.add_argument('--peer', default=peer.command())
    p.add_argument('--show', help='print known differences of this row as well, of "all", or what is "refused" by both')
    p.add_argument('--most', type=int, default=40)
    p.add_argument('--jobs', type=int, default=2)
    opt = p.parse_args()
    seed = opt.seed if opt.seed is not None else int.from_bytes(os.urandom(3), 'big')
    print('seed %d' % seed, flush=True)
    rows, n_same, n_refused, new, apart = peer.table(), 0, 0, 0, {}
    with concurrent.futures.ThreadPoolExecutor(opt.jobs) as pool:
        for i, (found, both, refused) in enumerate(pool.map(lambda s: one(opt, s), range(seed, seed + opt.count))):
            n_same, n_refused = n_same + both - sum(f[1] in ('text', 'json') for f in found), n_refused + refused
            for n, kind, statement, ours, theirs in found:
                name = known(kind, statement, ours, theirs)
                if name:
                    apart[name] = apart.get(name, 0) + 1
                new += not name
                if not name and new <= opt.most or opt.show in (name or '-', 'all'):
                    print('---- seed %d, %d, %s: %s\n%s\n< %s\n> %s' % (seed + i, n, name or 'new', kind, statement, ours.replace('\n', '\n< '), theirs.replace('\n', '\n> ')), flush=True)
    for name in sorted({k[0] for k in KNOWN} - set(rows)):
        new += 1
        print('the table of docs/from-bpftrace.md has no row %s' % name)
    print('%d scripts, %d statements: %d the same, %d refused by both, %d differ as known (%s), %d new' % (
        opt.count, opt.count * opt.size, n_same, n_refused, sum(apart.values()), ', '.join('%s %d' % x for x in sorted(apart.items())), new))
    return 1 if new else 0


if __name__ == '__main__':
    sys.exit(main())
