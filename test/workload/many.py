#!/usr/bin/env python3
"""Many processes, threads and programs, and places that vanish. usage: many.py SONDE BUILD [--processes 10000] [--threads 5000] [--execs 100000] [--vanish 200] [--only PART,...]     as root

processes: so many sleep when sonde starts; then each calls the system once. threads: so many of one process sleep when sonde starts; iter:task finds each. execs: so many programs are executed, each calls
the system once. vanish: so many programs run, each in a cgroup and a mount namespace of its own, from a file in a tmpfs there, all of which is gone when it has ended. Each event has to be counted,
under the right stack, whole and named (of execs a stack may be cut if sonde says so), and what sonde has in memory while it goes on must not grow with it. One line each; exit status 1 if one is wrong."""
import argparse, os, re, shutil, signal, subprocess, sys, tempfile, time

READY = '__BPFTRACE_NOTIFY_PROBES_ATTACHED'
CHAIN = ('inner', 'outer', '_start')
SETTLE = 3  # seconds: tables of what runs already are built after the start, and a stack that comes before is cut, and told


class Sonde:
    """sonde, begun; memory(): resident KB and KB of its maps."""

    def __init__(self, args, tmp):
        self.out = open(os.path.join(tmp, 'out'), 'w+')
        self.err = open(os.path.join(tmp, 'err'), 'w+')
        start = time.time()
        self.p = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err, env=dict(os.environ, **{READY: '1'}))
        while READY not in open(self.out.name).read():
            if self.p.poll() is not None or time.time() > start + 120:
                sys.exit('sonde has not begun: ' + open(self.err.name).read())
            time.sleep(0.01)
        self.began = time.time() - start

    def memory(self):
        rss = int(re.search(r'^VmRSS:\s+(\d+)', open('/proc/%d/status' % self.p.pid).read(), re.M)[1])
        maps = {}
        for fd in os.listdir('/proc/%d/fdinfo' % self.p.pid):
            try:
                text = open('/proc/%d/fdinfo/%s' % (self.p.pid, fd)).read()
            except OSError:
                continue
            m = re.search(r'^map_id:\s+(\d+)', text, re.M)
            if m:
                maps[m[1]] = int(re.search(r'^memlock:\s+(\d+)', text, re.M)[1])
        return rss, sum(maps.values()) // 1024

    def end(self):
        self.p.send_signal(signal.SIGINT)
        status = self.p.wait(timeout=120)
        return status, open(self.out.name).read(), open(self.err.name).read()


def stacks(text, name):
    """[(functions, leaf first, count)] of the map."""
    return [(re.findall(r'^\s+(\S+?)(?:\+\d+)?$', body, re.M), int(n)) for body, n in re.findall(r'^@%s\[\n([^@]*?)\]: (\d+)$' % name, text, re.M)]


def number(text, name):
    m = re.search(r'^@%s: (\d+)$' % name, text, re.M)
    return int(m[1]) if m else 0


def whole(frames):
    """The chain is there, from the call to the program's start."""
    return all(f in frames for f in CHAIN) and '[truncated]' not in frames


def in_script(call, comm, more=''):
    return 'tracepoint:syscalls:sys_enter_%s /comm == "%s"/ { @n = count(); @s[ustack] = count(); %s }' % (call, comm, more)


def judge(what, n, status, out, err, cut_is_told=False):
    counted, of = number(out, 'n'), stacks(out, 's')
    right = sum(c for f, c in of if whole(f))
    told = int((re.search(r'(\d+) of \d+ user stacks are cut short', err) or [0, 0])[1])
    ok = status == 0 and counted == n and sum(c for _, c in of) == n and (right == n or (cut_is_told and right + told == n))
    print('%s: %d of %d counted, %d under the right stack, whole%s%s' % (what, counted, n, right, ', %d cut and told' % told if told else '', '' if ok else ': WRONG (exit status %d)\n%s%s' % (status, out[-3000:], err[-1000:])))
    return ok


def begin(cmd, word):
    p = subprocess.Popen(cmd, stdout=subprocess.PIPE, text=True)
    line = p.stdout.readline()
    if word not in line:
        sys.exit('%s: %s' % (cmd, line))
    return p


def processes(o, tmp):
    p = begin([o.herd, 'wait', str(o.processes)], 'ready')
    try:
        s = Sonde([o.sonde, '-q', '-e', in_script('getppid', os.path.basename(o.herd))], tmp)
        at_start = s.memory()
        time.sleep(SETTLE)
        p.send_signal(signal.SIGUSR1)
        p.stdout.readline()
        time.sleep(0.5)
        ok = judge('processes', o.processes, *s.end())
    finally:
        p.kill()
        p.wait()
    print('  of which %d were there at the start: it took %.1f s, %.1f MB and %.1f MB of maps' % (o.processes, s.began, at_start[0] / 1024, at_start[1] / 1024))
    return ok


def threads(o, tmp):
    p = begin([os.path.join(o.build, 'sleepers'), 'many', str(o.threads)], 'ready')
    try:
        start = time.time()
        r = subprocess.run([o.sonde, '-q', '--strict', '-e', 'iter:task /ctx.task.tgid == %d && ctx.task.comm == "many"/ { @n = count(); @s[ustack] = count() }' % p.pid], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        took = time.time() - start
    finally:
        p.kill()
        p.wait()
    right = sum(c for f, c in stacks(r.stdout, 's') if all(x in f for x in ('in_nanosleep', 'via_b', 'via_a', 'many', 'clone3')))
    ok = r.returncode == 0 and number(r.stdout, 'n') == o.threads == right
    print('threads: %d of %d found, %d under the right stack, whole, in %.1f s%s' % (number(r.stdout, 'n'), o.threads, right, took, '' if ok else ': WRONG\n%s%s' % (r.stdout[-2000:], r.stderr[-1000:])))
    return ok


def execs(o, tmp):
    more = '} tracepoint:sched:sched_process_exec /str(args.filename) == "%s"/ { @execs = count()' % o.herd
    s = Sonde([o.sonde, '-q', '-e', in_script('getsid', os.path.basename(o.herd), more)], tmp)
    looks, start = [], time.time()
    p = subprocess.Popen([o.herd, 'exec', str(o.execs)], stdout=subprocess.PIPE, text=True)
    while p.poll() is None:
        time.sleep(0.2)
        looks.append(s.memory())
    took = time.time() - start
    said = p.stdout.read().strip()
    time.sleep(0.5)
    status, out, err = s.end()
    ok = judge('execs', o.execs, status, out, err, True)
    if said != 'execs %d' % o.execs or number(out, 'execs') != o.execs + 1:  # and who executes them
        print('  WRONG: %s, %d counted' % (said, number(out, 'execs')))
        ok = False
    third = len(looks) // 3
    if third >= 5:  # of a short run there is no middle: what is kept for two seconds after a process's end is still becoming more
        middle, last = [[max(m[i] for m in part) for i in (0, 1)] for part in (looks[third:2 * third], looks[2 * third:])]
        flat = all(b <= a * 1.05 + 3072 for a, b in zip(middle, last)) or took < 20
        print('  in %.0f s; resident at most %.1f MB in the second third, %.1f in the last; maps %.1f and %.1f%s' % (took, middle[0] / 1024, last[0] / 1024, middle[1] / 1024, last[1] / 1024, '' if flat else ': WRONG, it grows'))
        ok &= flat
    return ok


def cgroup_root():
    """A folder in which cgroups can be made, for `cgroup` (of the second kind)."""
    for line in open('/proc/mounts'):
        where, kind = line.split()[1:3]
        if kind == 'cgroup2':
            return where
    return None


def vanish(o, tmp):
    root = cgroup_root()
    s = Sonde([o.sonde, '-q', '-e', in_script('getsid', os.path.basename(o.herd), '@c[cgroup] = count()')], tmp)
    for i in range(o.vanish):
        group = os.path.join(root, 'sonde-many-%d-%d' % (os.getpid(), i)) if root else None
        if group:
            os.mkdir(group)
        place = os.path.join(tmp, 'place')
        os.makedirs(place, exist_ok=True)
        script = ('%s mount -t tmpfs none "$1" && cp "$2" "$1" && "$1/${2##*/}" once' % ('echo $$ >"$0/cgroup.procs" &&' if group else ''))
        subprocess.run(['unshare', '-m', 'sh', '-c', script, group or '-', place, o.herd], check=True)
        if group:
            os.rmdir(group)
    time.sleep(0.5)
    status, out, err = s.end()
    ok = judge('vanish', o.vanish, status, out, err, True)
    groups = len(re.findall(r'^@c\[\d+\]: 1$', out, re.M))
    if root:
        print('  %d cgroups were there once, each with its count' % groups + ('' if groups == o.vanish else ': WRONG'))
    return ok and (not root or groups == o.vanish)


def main():
    a = argparse.ArgumentParser()
    a.add_argument('sonde')
    a.add_argument('build')
    for name, n in (('processes', 10000), ('threads', 5000), ('execs', 100000), ('vanish', 200)):
        a.add_argument('--' + name, type=int, default=n)
    a.add_argument('--only', default='processes,threads,execs,vanish')
    o = a.parse_args()
    o.sonde, o.build = os.path.abspath(o.sonde), os.path.abspath(o.build)
    tmp = tempfile.mkdtemp(prefix='sonde-many.')
    try:
        o.herd = shutil.copy(os.path.join(o.build, 'herd'), os.path.join(tmp, 'herd%d' % os.getpid()))
        results = [{'processes': processes, 'threads': threads, 'execs': execs, 'vanish': vanish}[part](o, tmp) for part in o.only.split(',')]
    finally:
        shutil.rmtree(tmp)
    return 0 if all(results) else 1


sys.exit(main())
