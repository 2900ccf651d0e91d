#!/usr/bin/env python3
"""diffs.py SONDE PAIRS: pairs of profiles drawn from the same shares of 60 functions, with a fixed seed, and pairs in which one has 3 % of all samples more.
At most one pair in 20 may raise an alarm; 19 of 20 additions must be found. bench/diff.py does it with recorded profiles."""
import json, random, subprocess, sys

sonde, pairs = sys.argv[1], int(sys.argv[2])
random.seed(7)
names = ['p;main;f%d' % i for i in range(60)]
weights = [1 / (i + 2) for i in range(60)]


def profile(name, w):
    counts = {}
    for s in random.choices(names, w, k=100000):
        counts[s] = counts.get(s, 0) + 1
    with open(name, 'w') as f:
        f.writelines('%s %d\n' % x for x in counts.items())
    return name


def verdicts(w):
    out = subprocess.run([sonde, 'diff', '--json', profile('before', weights), profile('after', w)], stdout=subprocess.PIPE, check=True, text=True).stdout
    rows = [json.loads(line) for line in out.splitlines()]
    return [(r['name'], r['verdict']) for r in rows if r['verdict'] != 'cannot tell' and r['of'] != 'total']


alarms = sum(bool(verdicts(weights)) for _ in range(pairs))
more = [0.97 * w for w in weights]
more[3] += 0.03 * sum(weights)
found = sum(('f3', 'more') in verdicts(more) for _ in range(20))
print('alarms %s, of %d' % ('ok' if alarms * 20 <= pairs else alarms, pairs))
print('found %s, of 20' % ('ok' if found >= 19 else found))
