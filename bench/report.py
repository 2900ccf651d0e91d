#!/usr/bin/env python3
"""Time from Ctrl-C to the end of a report of 16,384 different stacks (test/progs/paths.c): wall clock and CPU time of sonde.

usage: bench/report.py [BUILD]         needs root; prints a line a form of report; exit status 1 when one takes a second of CPU time or more
"""
import os, signal, subprocess, sys, time

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else 'build')
PATHS, DEPTH = os.path.join(BUILD, 'paths'), 14
TICKS = os.sysconf('SC_CLK_TCK')


def cpu(pid):
    f = open('/proc/%d/stat' % pid).read().rsplit(')', 1)[1].split()
    return (int(f[11]) + int(f[12])) / TICKS


def run(form):
    env = dict(os.environ, __BPFTRACE_NOTIFY_PROBES_ATTACHED='1')
    p = subprocess.Popen([os.path.join(BUILD, 'sonde'), 'stackcount'] + form + [PATHS + ':leaf'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    while b'PROBES_ATTACHED' not in p.stdout.readline():
        pass
    subprocess.call([PATHS, str(DEPTH)])
    before, start = cpu(p.pid), time.monotonic()
    p.send_signal(signal.SIGINT)
    text = p.stdout.read()
    _, _, used = os.wait4(p.pid, 0)
    wall, busy = time.monotonic() - start, used.ru_utime + used.ru_stime - before
    p.returncode = 0
    return text.count(b'leaf'), wall, busy


slow = False
for form in ([], ['-f'], ['--json'], ['--flame', '/dev/null']):
    n, wall, busy = run(form)
    slow |= busy >= 1
    print('%-20s %6s stacks  %6.0f ms  %6.0f ms of CPU time' % (' '.join(form) or 'text', n or '', wall * 1000, busy * 1000), flush=True)
sys.exit(slow)
