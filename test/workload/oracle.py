#!/usr/bin/env python3
"""Programs that change their mappings or have very many, profiled by sonde, and each stack compared with what the program says of itself: its thread is
called (comm) what the function is called that runs.

usage: oracle.py SONDE plugins|fresh|keep|copies|moves|many [DIR]        builds the workload in DIR (default: here); exit status 1 when a stack is named wrongly
plugins: 100 libraries of one size opened, called and closed in turn, four times     fresh: each made anew just before, removed once it is loaded
keep: 2,000 of them that stay     copies: 2,000 copies of one, which has a build id
moves: files' code and code made in memory (comm: made) in one place after the other     many: 4,000 executable mappings
Prints how many stacks of the functions there were, how many had another's name (wrong), no name or a wrong share of the time, and how many were whole.
"""
import collections, json, os, re, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = {'plugins': ['./plugins', 'plugin.so', 'd', '100', '4', '8'], 'fresh': ['./plugins', 'plugin.so', 'd', '100', '2', '8', 'fresh'],
         'keep': ['./plugins', 'plugin.so', 'd', '2000', '1', '1', 'keep'], 'copies': ['./plugins', 'copy.so', 'd', '2000', '1', '1', 'copies'],
         'moves': ['./moves', 'plugin.so', 'd', '100', '8'],
         'many': ['./manymaps', 'plugin.so', 'd', '4000', '3000']}


def build():
    flags = ['cc', '-O2', '-D_GNU_SOURCE', '-fomit-frame-pointer', '-o']
    subprocess.run(flags + ['plugin.so', '-shared', '-fPIC', '-Wl,--build-id=none', HERE + '/plugin.c'], check=True)
    subprocess.run(flags + ['copy.so', '-shared', '-fPIC', '-Wl,--build-id', HERE + '/plugin.c'], check=True)
    for name in ('plugins', 'moves', 'manymaps'):
        subprocess.run(flags + [name, HERE + '/' + name + '.c', '-ldl'], check=True)
    os.makedirs('d', exist_ok=True)


def profile(sonde, cmd):
    """[(comm, stack text, count)], and the figures of --why-incomplete."""
    script = 'profile:hz:997 /pid == cpid/ { @[comm, ustack] = count(); }'
    out = subprocess.run([sonde, '-q', '-f', 'json', '--why-incomplete', '-c', ' '.join(cmd), '-e', script], stdout=subprocess.PIPE, check=True, text=True).stdout
    rows, ends = [], {}
    for line in out.splitlines():
        if not line.startswith('{"type"'):
            continue
        # two stacks of the same names are two members of one name
        r = json.loads(line, object_pairs_hook=lambda p: [(k, v) for k, v in p] if any('\n' in k for k, v in p) else dict(p))
        if r['type'] == 'map':
            rows += [(k.split(',', 1)[0], k.split(',', 1)[1], n) for k, n in r['data'].get('@', [])]
        elif r['type'] == 'user_stacks':
            ends = r['data']
    return rows, ends


def main():
    sonde, case = os.path.abspath(sys.argv[1]), sys.argv[2]
    if len(sys.argv) > 3:
        os.chdir(sys.argv[3])
    build()
    rows, ends = profile(sonde, CASES[case])
    right, wrong, noname, whole = collections.Counter(), collections.Counter(), collections.Counter(), 0
    made = 0
    for comm, stack, n in rows:
        named = set(re.findall(r'plug_\d+', stack))
        leaf = stack.split('\n')[1].strip()
        if comm.startswith('plug_') and named == {comm}:
            right[comm] += n
            whole += n if '_start' in stack else 0
        elif named:
            wrong[comm, *sorted(named)] += n
        elif comm == 'made':
            made += n
        elif comm.startswith('plug_') and not re.match(r'entry|call|main|prctl|cpu_ms|_*clock_gettime|__vdso', leaf):
            noname[leaf] += n
    total = sum(right.values())
    mean = total / max(len(right), 1)
    off = {c: n for c, n in right.items() if abs(n - mean) > 5 * mean ** .5 + 3}
    print('%d stacks of %d functions, %d wrong, %d without a name, %d functions with a wrong share, %.1f %% whole' %
          (total, len(right), sum(wrong.values()), sum(noname.values()), len(off), 100 * whole / max(total, 1)))
    for what, c in (('wrong', wrong), ('without a name', noname), ('share', collections.Counter(off))):
        for key, n in c.most_common(5):
            print('#', what, n, key)
    reasons = collections.Counter()
    for x in ends.get('incomplete', []):
        reasons[x['reason']] += x['count']
    print('# user stacks: %s of %s whole; others: %s; in made code: %d' % (ends.get('whole'), ends.get('stacks'), dict(reasons), made))
    return 1 if wrong or off or not total else 0


sys.exit(main())
