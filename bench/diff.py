#!/usr/bin/env python3
"""diff.py SONDE WORKLOAD [RUNS [SECONDS]]: how often sonde diff is wrong. WORKLOAD is a command line that runs for a while, or a
folder with profiles that were recorded before.

Records RUNS (21) profiles of the workload, SECONDS (3) each, with sonde profile. Then
real:       every pair of these profiles is compared (210): pairs with any verdict are false alarms; alone, and with --same and other runs that tell how much they vary;
resampled:  200 pairs, both drawn at random (as many samples as asked for, 100,000) from the sum of all recorded profiles: likewise;
injected:   20 such pairs, in whose second profile a function of about a tenth has 3 % of all samples more: how often it is found, and nothing else said to be more."""
import itertools, json, os, random, subprocess, sys, tempfile

sonde, workload = os.path.abspath(sys.argv[1]), sys.argv[2]
runs, seconds = (int(a) for a in (sys.argv[3:5] + ['21', '3'][len(sys.argv) - 3:]))
SAMPLES, PAIRS, INJECTED = 100000, 200, 20
random.seed(1)
tmp = tempfile.TemporaryDirectory()


def write(name, counts):
    path = os.path.join(tmp.name, name)
    with open(path, 'w') as f:
        for stack, n in counts.items():
            f.write('%s %d\n' % (stack, n))
    return path


def verdicts(a, b, *options):
    out = subprocess.run([sonde, 'diff', '--json', *options, a, b], stdout=subprocess.PIPE, check=True, text=True).stdout
    rows = [json.loads(line) for line in out.splitlines()]
    return [r for r in rows if r['verdict'] != 'cannot tell']


def draw(stacks, weights):
    counts = {}
    for s in random.choices(stacks, weights, k=SAMPLES):
        counts[s] = counts.get(s, 0) + 1
    return counts


def record(i):
    path = os.path.join(tmp.name, 'run%d' % i)
    subprocess.run([sonde, 'profile', '-U', '-f', '-F', '997', '-o', path, '-c', workload, str(seconds)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


def read(path, counts):
    for line in open(path):
        stack, n = line.rstrip('\n').rsplit(' ', 1)
        counts[stack] = counts.get(stack, 0) + int(n)


def middling(counts):  # the function whose own share is nearest to a tenth, and its commonest stack
    own, best = {}, {}
    for stack, n in counts.items():
        leaf = stack.rsplit(';', 1)[-1]
        own[leaf] = own.get(leaf, 0) + n
        if n > counts.get(best.get(leaf), 0):
            best[leaf] = stack
    leaf = min(own, key=lambda f: abs(own[f] - sum(own.values()) / 10))
    return leaf, best[leaf], own[leaf] / sum(own.values())


paths = [os.path.join(workload, f) for f in sorted(os.listdir(workload))] if os.path.isdir(workload) else [record(i) for i in range(runs)]
counts = {}
for p in paths:
    read(p, counts)
total = sum(counts.values())
print('%d profiles of %d samples each on average, %d stacks in all' % (len(paths), total // len(paths), len(counts)), flush=True)

pairs = list(itertools.combinations(paths, 2))
for options in ([], ['--spread', '1'], ['--spread', '4']):
    alarms = sum(1 for a, b in pairs if verdicts(a, b, *options))
    print('real pairs%s: %d of %d raise an alarm' % (', ' + ' '.join(options) if options else '', alarms, len(pairs)), flush=True)
for k in (4, 9):
    alarms = 0
    for a, b in pairs:
        others = random.sample([p for p in paths if p not in (a, b)], k)
        alarms += bool(verdicts(a, b, *('--same=' + p for p in others)))
    print('real pairs, %d times --same: %d of %d raise an alarm' % (k, alarms, len(pairs)), flush=True)

stacks, weights = list(counts), list(counts.values())
for options in ([], ['--spread', '1']):
    alarms = 0
    for i in range(PAIRS):
        alarms += bool(verdicts(write('a', draw(stacks, weights)), write('b', draw(stacks, weights)), *options))
    print('resampled pairs%s: %d of %d raise an alarm' % (', ' + ' '.join(options) if options else '', alarms, PAIRS), flush=True)

leaf, stack, share = middling(counts)
more = [0.97 * w for w in weights]
more[stacks.index(stack)] += 0.03 * total
found = 0
for i in range(INJECTED):
    rows = verdicts(write('a', draw(stacks, weights)), write('b', draw(stacks, more)))
    found += any(r['name'] == leaf and r['of'] == 'self' and r['verdict'] == 'more' for r in rows)
print('injected: 3 %% of all samples into %s (%.1f %%): found in %d of %d pairs of %d samples' % (leaf, 100 * share, found, INJECTED, SAMPLES))
