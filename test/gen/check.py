#!/usr/bin/env python3
"""Generated scripts (grammar.py): do they load, and print what the language's document says?

usage: check.py SONDE BUILD [--seed N] [--count N] [--seconds S] [--peer COMMAND [--as-is] [--json]] [--load] [--jobs N]

Runs scripts of the seeds N, N + 1, ... (a fresh seed is printed) over test/progs/values.c and compares each line. --peer runs the same under another bpftrace, whose
lines are compared as well (what is known of those, known_of_peer(), is counted apart); with --json what both print with -f json is compared, object by object (of maps in any order). --load loads only, larger scripts. --jobs: N scripts at once, since most of one's time
is the kernel's waiting until nobody can be in its probes any more. A script has 12 programs (--blocks). What differs is made smaller and printed with its seed. The last line says how many scripts did.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from grammar import Script  # noqa: E402


OLD = tuple(map(int, re.findall(r'\d+', os.uname().release)[:2])) < (5, 19)  # its generated scripts are without what sonde says that it has not


class Runner:
    def __init__(self, command, build, tmp):
        self.err = ''  # of the last run
        self.command, self.values, self.tmp = command, os.path.join(tmp, 'values'), tmp
        shutil.copy(os.path.join(build, 'values'), self.values)  # a probe fires in every process that runs the file

    def run(self, script, keep=None, load=False):
        """Status, lines before the maps', the maps' lines sorted, standard error."""
        path, rows = os.path.join(self.tmp, 's.bt'), os.path.join(self.tmp, 'rows')
        with open(path, 'w') as f:
            f.write(script.text(self.values, keep))
        with open(rows, 'w') as f:
            f.write(''.join(r.line() + '\n' for r in script.rows))
        cmd = self.command + (['--dry-run', path] if load else ['-q', '-c', '%s %s' % (self.values, rows), path])
        try:
            p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600 if load else 120)
        except subprocess.TimeoutExpired:
            return -1, [], [], 'no end after %d s' % (600 if load else 120)
        lines, maps = [], []
        for line in p.stdout.decode('utf-8', 'replace').split('\n'):
            if line.startswith('@'):
                maps.append(line)
            elif maps and maps[-1].endswith(('|', ':')) and re.match(r'[\[(].*\|$', line):  # of a histogram
                maps[-1] += '\n' + line
            else:
                lines.append(line)
        maps.sort()
        while lines and not lines[-1]:
            lines.pop()
        self.err = p.stderr.decode('utf-8', 'replace')
        return p.returncode, lines, maps, self.err


def compare(script, keep, got):
    """None, or what is wrong: a text and the block and statement it comes from."""
    rc, lines, maps, err = got
    if rc:
        m = re.search(r's\.bt:\d.*ERROR.*\n.*', err) or re.search(r'.*(ERROR|runtime error|AddressSan).*', err)
        return 'status %d: %s' % (rc, m.group(0) if m else err[-600:]), None
    want, tags, wmaps = script.expected(keep)
    while want and not want[-1]:
        want.pop()
    for i, w in enumerate(want):
        if i >= len(lines) or lines[i] != w:
            return 'row %d: expected %r, got %r' % (tags[i][0], w, lines[i] if i < len(lines) else None), tags[i][1:]
    if len(lines) > len(want):
        return 'one line more: %r' % lines[len(want)], tags[-1][1:] if tags else None
    for w in wmaps:
        if w not in maps:
            name = re.match(r'@(\w+)', w).group(1)
            near = [g for g in maps if g.split(':')[0] == w.split(':')[0]]
            return 'map: expected %r, got %r' % (w, near), (script.gen.maps[name].home, None)
    if len(maps) != len(wmaps):
        return 'map: not expected: %r' % [g for g in maps if g not in wmaps][:2], None
    return None


def json_of(command, runner, script):
    """What is printed with -f json: the objects in order, those of maps apart, their keys sorted."""
    path = os.path.join(runner.tmp, 's.bt')
    p = subprocess.run(command + ['-f', 'json', '-q', '-c', '%s %s' % (runner.values, os.path.join(runner.tmp, 'rows')), path], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=120)
    lines, maps = [], []
    for line in p.stdout.decode('utf-8', 'replace').split('\n'):
        try:
            obj = json.loads(line)
        except ValueError:
            lines.append(line) if line else None
            continue
        (maps if obj.get('type') in ('map', 'hist', 'stats') else lines).append(json.dumps(obj, sort_keys=True))
    return p.returncode, lines, sorted(maps)


def judge_json(script, runner, sonde, peer):
    with open(os.path.join(runner.tmp, 's.bt'), 'w') as f:
        f.write(script.text(runner.values, None))
    with open(os.path.join(runner.tmp, 'rows'), 'w') as f:
        f.write(''.join(r.line() + '\n' for r in script.rows))
    try:
        ours, theirs = json_of(sonde, runner, script), json_of(peer, runner, script)
    except subprocess.TimeoutExpired:
        return 'json: no end after 120 s', None
    if ours == theirs:
        return None
    for a, b in zip(ours, theirs):
        if a != b:
            near = [(x, y) for x, y in zip(a, b) if x != y] if isinstance(a, list) else [(a, b)]
            return 'json: sonde, peer: %s' % (near[:1] or (len(a), len(b)),), None


# What is known of other bpftraces and says nothing of sonde: counted apart.
def known_of_peer(script, wrong, err):
    """None, or the name of it: programs that its compiler gives more stack than the kernel has, or takes minutes for, that it or the kernel refuses; find(), which left 0 in its variable where
    @m[k] read 1 (0.27.1, seed 770011)."""
    if re.search(r'stack limit|stack size|stack of the call', err, re.I):
        return 'beyond its stack'
    if re.search(r'Branch target out of insn range|Error loading BPF program', err):
        return 'not loaded'
    if wrong[0].startswith('status -1'):
        return 'no end in time'
    if not wrong[1] or wrong[1][1] is None or wrong[1][1] < 0:
        return None
    block, statement = wrong[1]
    return 'find()' if any('find(' in line for line in script.blocks[block][1][statement][0]) else None


# A kernel that walks each round of a loop has programs that are too large for it, or takes shorter keys, and says so: these are counted apart, and the script is judged without them.
def too_large(script, wrong):
    """Which block; None: it is not that."""
    m = wrong and OLD and re.search(r'take(\d+) is too large for the kernel|map (@\w+): its key has \d+ bytes, this kernel takes \d+ at most', wrong[0])
    if not m or m[1]:
        return m and int(m[1])
    return next((b for b, (_, st) in enumerate(script.blocks) if any(re.search(m[2] + r'\b', line) for s in st for line in s[0])), None)


def without_too_large(script, runner):
    keep, large = {b: set(range(len(st))) for b, (_, st) in enumerate(script.blocks)}, 0
    while True:
        wrong = judge(script, runner, keep, True)
        block = too_large(script, wrong)
        if block not in keep:
            return wrong, large
        del keep[block]
        large += 1


def shrink(script, runner, wrong, load=False):
    """Fewer blocks and statements with a like fault: of the same kind, and no script that is invalid by what was left out."""
    kind = lambda w: w and ('status' if w[0].startswith('status') else 'other', bool(re.search('Undefined|ndeclared', w[0])))
    bad = lambda keep: kind(judge(script, runner, keep, load))
    full = {b: set(range(len(st))) for b, (_, st) in enumerate(script.blocks)}
    want, keep = kind(wrong), full
    for b in ([wrong[1][0]] if wrong[1] else list(full)):
        if bad({b: full[b]}) == want:
            keep = {b: full[b]}
            break
    for b in list(keep):
        for i in sorted(keep[b], reverse=True):
            less = dict(keep)
            less[b] = keep[b] - {i}
            if bad(less) == want:
                keep = less
    return keep


def judge(script, runner, keep=None, load=False):
    got = runner.run(script, keep, load)
    if load:
        return None if not got[0] else compare(script, keep, got)
    return compare(script, keep, got)


def side_by_side(opt, seed):
    """The scripts of --count, shared out among processes of this program; what each says of its faults, and one last line for all. Exit status."""
    jobs = []
    for i in range(opt.jobs):
        first, end = (opt.count * k // opt.jobs for k in (i, i + 1))
        if end > first:
            jobs.append(subprocess.Popen([sys.executable, '-B', os.path.abspath(__file__)] + sys.argv[1:] + ['--jobs', '1', '--seed', str(seed + first), '--count', str(end - first)],
                                         stdout=subprocess.PIPE, text=True))
    sums, ended = {}, True
    for job in jobs:
        said = job.communicate()[0].rstrip('\n').split('\n')
        print('\n'.join(said[1:-1]) + '\n' if said[1:-1] else '', end='', flush=True)
        ended &= ' at fault' in said[-1] and job.returncode in (0, 1)
        for number, what in re.findall(r'(\d+) ([a-z :]+)', said[-1]):
            sums[what.strip()] = sums.get(what.strip(), 0) + int(number)
    if not ended:
        print('a process of these has not ended as it should')
    print('%d scripts of %d programs%s, %d at fault' % (sums.get('scripts of', 0), sums.get('programs', 0), '' if opt.load else ', %d lines' % sums.get('lines', 0), sums.get('at fault', 0)))
    return 0 if ended and not sums.get('at fault', 1) and sums['scripts of'] == opt.count else 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument('sonde')
    p.add_argument('build')
    p.add_argument('--seed', type=int)
    p.add_argument('--count', type=int, default=10 ** 9)
    p.add_argument('--seconds', type=float, default=10 ** 9)
    p.add_argument('--peer')
    p.add_argument('--json', action='store_true')
    p.add_argument('--load', action='store_true')
    p.add_argument('--size', type=int, default=6)
    p.add_argument('--blocks', type=int, default=12)
    p.add_argument('--as-is', action='store_true', help='make nothing smaller')
    p.add_argument('--jobs', type=int, default=1)
    p.add_argument('--most', type=int, default=5, help='faults after which to stop')
    opt = p.parse_args()
    seed = opt.seed if opt.seed is not None else int.from_bytes(os.urandom(3), 'big')
    print('seed %d' % seed, flush=True)
    if opt.jobs > 1:
        return side_by_side(opt, seed)
    began, n, blocks, lines, faults, apart = time.time(), 0, 0, 0, 0, {}
    with tempfile.TemporaryDirectory(prefix='sonde-gen.') as tmp:
        build = os.path.abspath(opt.build)
        runners = [('sonde', Runner([os.path.abspath(opt.sonde)], build, tmp))] if not opt.peer else []
        if opt.peer:
            runners.append(('peer', Runner(opt.peer.split(), build, tmp)))
        while n < opt.count and time.time() - began < opt.seconds and faults < opt.most:
            script = Script(seed + n, opt.size, opt.blocks, bool(opt.peer), OLD)
            for who, runner in runners:
                if opt.load:
                    wrong, large = without_too_large(script, runner)
                    apart['too large'] = apart.get('too large', 0) + large
                else:
                    wrong = judge(script, runner) if not opt.json else judge_json(script, runner, [os.path.abspath(opt.sonde)], opt.peer.split())
                known = wrong and who == 'peer' and not opt.json and known_of_peer(script, wrong, runner.err)
                if known:
                    apart[known] = apart.get(known, 0) + 1
                    print('---- seed %d, %s: %s (%s)' % (seed + n, who, known, wrong[0][:100]), flush=True)
                elif wrong:
                    faults += 1
                    print('---- seed %d, %s: %s' % (seed + n, who, wrong[0]), flush=True)
                    print(''.join('%s: %s\n' % (who, w) for w in re.findall(r'WARNING: .* (?:refused|lost).*', runner.err)), end='', flush=True)  # what was told: then it is the kernel's doing
                    keep = None if opt.json else shrink(script, runner, wrong, opt.load) if not opt.as_is else wrong[1] and {wrong[1][0]: {wrong[1][1]}}
                    print(script.text('values', keep).split('};\n')[-1], flush=True)
            n, blocks = n + 1, blocks + len(script.blocks)
            if not opt.load:
                lines += len(script.expected()[0])
    print('%d scripts of %d programs%s, %d at fault' % (n, blocks, '' if opt.load else ', %d lines' % lines, faults) + ''.join('; %d %s: %s' % (k, 'of these' if v == 'too large' else 'of the peer', v) for v, k in sorted(apart.items()) if k))
    return 1 if faults or not n else 0


sys.exit(main())
