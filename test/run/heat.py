#!/usr/bin/env python3
"""heat.py SONDE BUILD CASE: --heatmap against what workloads say of themselves: when they computed and when their waits ended. Each line is a statement and whether it holds."""
import json, os, re, subprocess, sys

SONDE, BUILD, HERE = sys.argv[1], sys.argv[2], os.path.dirname(os.path.abspath(__file__))
EDGE = 0.05  # a slot of 20 ms, and clocks read one after the other


def run(args, command):
    """(stdout of the command, the line of slots, the stacks) of a tool with --heatmap and -j"""
    out = subprocess.run([SONDE] + args + ['-j', '-o', 'out.json', '--'] + command, stdout=subprocess.PIPE, check=True, text=True).stdout
    lines = [json.loads(line) for line in open('out.json')]
    return out, [x for x in lines if x['type'] == 'slots'], [x for x in lines if x['type'] == 'stack']


def begin(head, slot):
    return head['start_ns'] / 1e9 + slot * head['width_ns'] / 1e9


def says(what, holds, why=''):
    print('%s: %s' % (what, holds if holds else 'WRONG %r' % (why,)))


def add_up(head, stacks):
    says('slots of each stack add up to it', all(sum(v for _, v in s['slots']) == s['value'] for s in stacks), stacks[:3])
    says('slots are ascending, each once, within the recording', all(a < b for s in stacks for (a, _), (b, _) in zip(s['slots'], s['slots'][1:])) and
         all(0 <= slot < head['n'] for s in stacks for slot, _ in s['slots']))


def pprof_total(path):
    return int(subprocess.run([sys.executable, HERE + '/pprof.py', path, 'total()'], stdout=subprocess.PIPE, check=True, text=True).stdout)


def page(path):
    return json.loads(re.search(r'id="data">(.*?)</script>', open(path).read(), re.S).group(1))


def files_agree(total, off):
    """What knows slots and what does not hold the same. Rows of files keep addresses, so off-CPU time is not rounded as that of the report's rows."""
    d = page('h.html')
    scope = json.load(open('s.json'))['profiles'][0]
    period = d['period'] or 1
    sums = {'pprof': pprof_total('p.pb.gz'), 'page': sum(d['samples']['value']), 'slots of the page': sum(d['heat']['value']), 'speedscope': sum(scope['weights']) // period}
    says('all files hold the same', len(set(sums.values())) == 1 and abs(sums['page'] - total) <= off, (sums, total))
    parts = [sum(p['value']) for p in d['parts']]
    says('kinds of time by slot add up to those of the whole', parts == [sum(p) for p in d['heat']['parts']] and (not parts or sum(parts) == sums['page']), parts)


FILES = ['--html', 'h.html', '--pprof', 'p.pb.gz', '--speedscope', 's.json']


def case_cpu():
    out, heads, stacks = run(['profile', '-F', '499', '-U', '--heatmap'] + FILES, [BUILD + '/story', 'thumbs', '4', '1.5', '2.5'])
    from_, to = [float(t) for t in out.split()]
    head, = heads
    add_up(head, stacks)
    files_agree(sum(s['value'] for s in stacks), 0)
    at = {name: [begin(head, slot) for s in stacks if any(f.startswith(name + '+') for f in s['user']) for slot, _ in s['slots']] for name in ('rebuild_index', 'resize_image')}
    says('rebuild_index was seen', len(at['rebuild_index']) > 5, len(at['rebuild_index']))
    says('only while it ran', all(from_ - EDGE < t < to + EDGE for t in at['rebuild_index']), (from_, to, at))
    says('resize_image before and after only', at['resize_image'] and not any(from_ + EDGE < t < to - EDGE for t in at['resize_image']), (from_, to, at))


def case_waits():
    naps = 'import time\nfor i in range(3):\n time.sleep(0.4)\n print(time.time(), flush=True)'
    out, heads, stacks = run(['offcputime', '-U', '--heatmap', '--native'] + FILES, [sys.executable, '-c', naps])
    ends = [float(t) for t in out.split()]
    head, = heads
    add_up(head, stacks)
    files_agree(sum(s['value'] for s in stacks), 200)
    long = sorted(begin(head, slot) for s in stacks for slot, v in s['slots'] if v >= 399000)
    says('each wait is in the slot in which it ended', len(long) == 3 and all(-EDGE < end - t < 2 * EDGE for t, end in zip(long, ends)), (long, ends))


def case_wakers():
    for tool in ('wakeuptime', 'offwaketime'):
        _, heads, stacks = run([tool, '--heatmap', '--html', 'h.html'], ['sh', '-c', 'sleep 0.3 | cat; sleep 0.3'])
        print(tool)
        add_up(heads[0], stacks)
        says('the page too', sum(page('h.html')['heat']['value']) == sum(s['value'] for s in stacks) > 300000, stacks)


def case_count():
    """Calls are so many as without."""
    for more in ([], ['--heatmap']):
        _, heads, stacks = run(['stackcount', '-U', os.path.abspath('w') + ':leaf'] + more + ['--html', 'h.html'], ['./w', '3', '50'])
        print(more, sum(s['value'] for s in stacks), len(stacks), len(heads), 'heat' in page('h.html'), sum(page('h.html')['samples']['value']))
        if more:
            add_up(heads[0], stacks)


globals()['case_' + sys.argv[3]]()
