#!/usr/bin/env python3
"""story.py FOLDER: are the answers that scripts/demo-story.sh promises in the files that it wrote there?"""
import ast, glob, os, subprocess, sys

os.chdir(sys.argv[1])
READER = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pprof.py')]


def stacks(path):
    """[(value, functions leaf first, labels)], begin and end of a pprof file"""
    out = subprocess.run(READER + [path, 'repr([(v[0], [n for f in s for n in f], l) for v, s, l in stacks])', 'p["time"][0]', 'p["duration"][0]'], stdout=subprocess.PIPE, check=True, text=True).stdout.split('\n')
    return ast.literal_eval(out[0]), int(out[1]) / 1e9, (int(out[1]) + int(out[2])) / 1e9


def most(rows, of):
    sums = {}
    for value, names, labels in rows:
        for n in set(of(names)):
            sums[n] = sums.get(n, 0) + value
    return max(sums, key=sums.get)


slots = [stacks(f) for f in sorted(glob.glob('slot.*.pb.gz'))]
rows = [r for s in slots for r in s[0]]
hot = most(rows, lambda names: names[:1])
print('hot:', hot, 'in', {l['cgroup'].split('/')[-1] for v, n, l in rows if n[0] == hot}, 'in the page:', '"%s"' % hot in open('cpu.html').read(), hot in open('slot.0001.svg').read())
waits = stacks('waits.pb.gz')[0]
wait = most(waits, lambda names: [n for n in names if n in ('write_audit', 'price_cart', 'resize_image', 'rebuild_index')])
share = sum(v for v, n, l in waits if wait in n) / sum(v for v, n, l in waits)
print('waits:', wait, 'of', {l['comm'] for v, n, l in waits if wait in n}, share > 0.9 or share, 'in the page:', '"%s"' % wait in open('waits.html').read())
begin, long = int(open('burst.txt').readline()), float(sys.argv[2])
burst = [(any('rebuild_index' in n for v, n, l in s), a, b) for s, a, b in slots]
# Sometimes a slot's edge is where the burst begins or ends, within the second to which that is told.
wrong = [(seen, a - begin, b - begin) for seen, a, b in burst if seen != (a < begin + long and b > begin) and min(abs(a - begin - long), abs(b - begin)) > 1.1]
print('burst:', 'in %s of the slots' % ('some' if 0 < sum(x[0] for x in burst) < len(burst) else 'ALL OR NONE'), 'where it was' if not wrong else 'WRONG %r' % wrong)
print('pictures:', all(('rebuild_index' in open('slot.%04d.svg' % (i + 1)).read()) == x[0] for i, x in enumerate(burst)))
more = [l.split()[-1] for l in open('diff.txt') if ' more  ' in l and ' self ' in l]
print('slower:', more, 'in the page:', '"apply_discounts"' in open('diff.html').read())
