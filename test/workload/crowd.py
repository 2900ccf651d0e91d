#!/usr/bin/env python3
"""Many tracers at once, on the same events. usage: crowd.py SONDE BUILD [--calls N] [--no-peers]      as root

Ten sondes, and bpftrace, perf and libbpf-tools' offcputime where they are installed, look at a program that makes N calls (a system call, a function, a USDT probe each). All that count have to
count N (perf at least N), the profilers have to have samples of it, and each ends with status 0. One line for each; exit status 1 if any differs."""
import argparse, os, re, shutil, signal, subprocess, sys, tempfile, time

READY = b'__BPFTRACE_NOTIFY_PROBES_ATTACHED'


def rows(sonde, t, peers):
    """(name, command, text in its output that says that it counts; None: a fixed time is given, pattern of the count or of a sample)"""
    name, count = os.path.basename(t), r'@\w*(?:\[.*\])?: (\d+)'
    out = [('sonde ' + what, [sonde, '-q', '-e', script], READY, count) for what, script in (
        ('tracepoint', 'tracepoint:syscalls:sys_enter_getppid /comm == "%s"/ { @ = count() }' % name),
        ('raw tracepoint', 'rawtracepoint:sys_enter /comm == "%s" && args.id == %d/ { @[pid] = count() }' % (name, 110 if os.uname().machine == 'x86_64' else 173)),
        ('uprobe', 'uprobe:%s:leaf { @ = count() }' % t),
        ('uprobe again', 'uprobe:%s:leaf { @ = count() }' % t),
        ('uretprobe', 'uretprobe:%s:leaf { @ = count() }' % t),
        ('usdt', 'usdt:%s:frames:here { @ = count() }' % t))]
    out.append(('sonde stackcount', [sonde, 'stackcount', '-U', '-f', t + ':leaf'], READY, r';leaf (\d+)$'))
    out += [('sonde profile', [sonde, 'profile', '-U', '-F', '199', '-f'], READY, (r'^%s;' % name,)), ('sonde profile of all', [sonde, 'profile', '-F', '499', '-f'], READY, (r'^%s;' % name,)),
            ('sonde offcputime', [sonde, 'offcputime', '-f'], READY, (r'^\S+;.* \d+$',))]
    if peers and shutil.which('bpftrace'):
        out += [('bpftrace tracepoint', ['bpftrace', '-e', 'tracepoint:syscalls:sys_enter_getppid /comm == "%s"/ { @ = count(); }' % name], b'Attaching', count),
                ('bpftrace uprobe', ['bpftrace', '-e', 'uprobe:%s:leaf { @ = count(); }' % t], b'Attaching', count)]
    if peers and shutil.which('perf'):
        out.append(('perf stat', ['perf', 'stat', '-x', ',', '-a', '-e', 'syscalls:sys_enter_getppid'], None, r'^(\d+),,syscalls:sys_enter_getppid'))
        out.append(('perf record', ['perf', 'record', '-q', '-a', '-g', '-F', '99', '-o', 'perf.data'], None, None))
    if peers and os.path.exists('/usr/sbin/offcputime'):
        out.append(('libbpf-tools offcputime', ['/usr/sbin/offcputime'], None, (r'^ +\d+$',)))
    return out


def judge(name, text, want, n):
    if want is None:
        return 'ended', True
    if isinstance(want, tuple):
        found = re.findall(want[0], text, re.M)
        return '%d lines of it' % len(found), len(found) > 0
    counts = [int(c) for c in re.findall(want, text, re.M)]
    return 'counted %d' % sum(counts), sum(counts) == n or (name == 'perf stat' and sum(counts) > n)  # it counts what others on the machine call, too


def main():
    a = argparse.ArgumentParser()
    a.add_argument('sonde')
    a.add_argument('build')
    a.add_argument('--calls', type=int, default=300000)
    a.add_argument('--no-peers', action='store_true')
    opt = a.parse_args()
    sonde, failed = os.path.abspath(opt.sonde), 0
    tmp = tempfile.mkdtemp(prefix='sonde-crowd.')
    running = []
    try:
        target = shutil.copy(os.path.join(opt.build, 'frames'), '%s/crowd%d' % (tmp, os.getpid()))
        for name, cmd, begun, want in rows(sonde, target, not opt.no_peers):
            f = open('%s/%d' % (tmp, len(running)), 'w+b')
            p = subprocess.Popen(cmd, cwd=tmp, stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT, env=dict(os.environ, **{READY.decode(): '1'}))
            running.append((name, p, f, begun, want))
        deadline = time.time() + 90
        for name, p, f, begun, _ in running:
            while begun and begun not in open(f.name, 'rb').read() and p.poll() is None and time.time() < deadline:
                time.sleep(0.02)
        time.sleep(3)  # those that do not say when they have begun
        start = time.time()
        subprocess.run([target, 'calls', str(opt.calls)], check=True, stdout=subprocess.DEVNULL)
        took = time.time() - start
        time.sleep(0.2)
        for _, p, _, _, _ in running:
            if p.poll() is None:
                p.send_signal(signal.SIGINT)
        for name, p, f, _, want in running:
            try:
                status = p.wait(timeout=60)
            except subprocess.TimeoutExpired:
                p.kill()
                status = p.wait()
            said, ok = judge(name, open(f.name, errors='replace').read(), want, opt.calls)
            own = name.startswith('sonde') or name == 'perf stat'  # a program at a tracepoint can hide the event from perf
            ok &= not own or status == 0 or name == 'perf stat'
            failed += own and not ok
            print('%-24s %s%s%s' % (name, said, '' if status == 0 or not own else ', exit status %d' % status, '' if ok else ': WRONG' if own else ' (not %d)' % opt.calls))
            if own and not ok:
                print(open(f.name, errors='replace').read()[-600:])
        print('%d tracers, %d calls in %.1f s, %d of sonde\'s wrong' % (len(running), opt.calls, took, failed))
        return 1 if failed else 0
    finally:
        for _, p, f, _, _ in running:
            if p.poll() is None:
                p.kill()
                p.wait()
            f.close()
        shutil.rmtree(tmp)


sys.exit(main())
