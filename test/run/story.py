#!/usr/bin/env python3
"""story.py FOLDER: are the answers that scripts/demo-story.sh promises in the files that it wrote there?"""
import ast, json, os, re, subprocess, sys

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


def page(path):
    """The data that a page carries."""
    return json.loads(re.search(r'id="data">(.*?)</script>', open(path).read(), re.S).group(1))


def when(d, name):
    """{begin of a slot: samples} of the stacks with that function, from the page's heat map"""
    h, names, seen = d['heat'], [d['strings'][i] for i in d['frames']['name']], {}
    for sample, slot, value in zip(h['sample'], h['slot'], h['value']):
        at, on = d['samples']['node'][sample], False
        while at:
            on |= names[d['nodes']['frame'][at]] == name
            at = d['nodes']['parent'][at]
        if on:
            begin = h['start'] / 1e3 + slot * h['width'] / 1e9
            seen[begin] = seen.get(begin, 0) + value
    return seen


rows = stacks('cpu.pb.gz')[0]
hot = most(rows, lambda names: names[:1])
print('hot:', hot, 'in', {l['cgroup'].split('/')[-1] for v, n, l in rows if n[0] == hot}, 'in the page:', '"%s"' % hot in open('cpu.html').read(), hot in open('cpu.svg').read())
waits = stacks('waits.pb.gz')[0]
wait = most(waits, lambda names: [n for n in names if n in ('write_audit', 'price_cart', 'resize_image', 'rebuild_index')])
share = sum(v for v, n, l in waits if wait in n) / sum(v for v, n, l in waits)
print('waits:', wait, 'of', {l['comm'] for v, n, l in waits if wait in n}, share > 0.9 or share, 'in the page:', '"%s"' % wait in open('waits.html').read())
begin, end = [float(t) for t in open('burst.txt')]
EDGE = 0.05  # a slot is 20 ms, and the page's clock is in whole milliseconds
burst, rest = when(page('cpu.html'), 'rebuild_index'), when(page('cpu.html'), 'resize_image')
early, late = [t for t in burst if t < begin - EDGE], [t for t in burst if t > end + EDGE]
print('burst:', len(burst) > 20 or len(burst), 'slots where it was' if not early and not late else 'EARLY %r LATE %r' % (early, late),
      'and nothing else:', not [t for t in rest if begin + EDGE < t < end - EDGE], 'its samples:', sum(burst.values()) == sum(v for v, n, l in rows if 'rebuild_index' in n))
more = [l.split()[-1] for l in open('diff.txt') if ' more  ' in l and ' self ' in l]
print('slower:', more, 'in the page:', '"apply_discounts"' in open('diff.html').read())
