#!/usr/bin/env python3
"""Programs that begin all the time, and among them new ones: what the thread that follows processes makes of them. usage: pace.py SONDE HERD     as root

Prints: how many stacks of the new programs' first system calls are counted; are most of them whole; has that thread been woken less often than programs began?"""
import os, re, shutil, subprocess, sys, tempfile, time

SONDE, HERD = sys.argv[1:3]
NEW, KNOWN = 30, 60
READY = '__BPFTRACE_NOTIFY_PROBES_ATTACHED'
SCRIPT = 'tracepoint:syscalls:sys_enter_getsid /comm == "%s"/ { @[ustack] = count() }'


def switches(pid):
    """Of the thread that has been woken most often."""
    return max(int(re.search(r'^voluntary_ctxt_switches:\s+(\d+)', open('/proc/%d/task/%s/status' % (pid, t)).read(), re.M)[1]) for t in os.listdir('/proc/%d/task' % pid))


def storm(n):
    for _ in range(n):
        os.waitpid(os.posix_spawn('/bin/true', ['true'], os.environ), 0)


tmp = tempfile.mkdtemp(prefix='sonde-pace.')
name = 'paced%d' % (os.getpid() % 100000)
try:
    out = open(tmp + '/out', 'w+')
    p = subprocess.Popen([SONDE, '-q', '-e', SCRIPT % name], stdout=out, env=dict(os.environ, **{READY: '1'}))
    while READY not in open(out.name).read() and p.poll() is None:
        time.sleep(0.01)
    time.sleep(1)  # tables of what runs are built
    for i in range(NEW):
        storm(KNOWN)
        place = '%s/%d/%s' % (tmp, i, name)
        os.mkdir(os.path.dirname(place))
        shutil.copy(HERD, place)
        subprocess.run([place, 'once'], check=True)
    storm(1000)
    before = switches(p.pid)
    storm(1000)
    woken = switches(p.pid) - before
    p.send_signal(2)
    p.wait()
    stacks = re.findall(r'^@\[(.*?)\]: (\d+)$', open(out.name).read(), re.M | re.S)
finally:
    shutil.rmtree(tmp)
whole = sum(int(n) for s, n in stacks if '_start' in s)
print(sum(int(n) for s, n in stacks), 'counted;', 'most whole' if whole > NEW / 2 else 'whole: %d' % whole)
print('woken less often' if woken < 1000 else 'woken %d times' % woken)
