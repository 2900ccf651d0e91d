#!/usr/bin/env python3
"""Nothing is left, whenever sonde is killed. usage: kills.py SONDE BUILD [--kills 200] [--seconds MAX] [--seed N]     as root; bpftool

Each round starts one of sonde's commands and sends it SIGKILL at a random moment of one of its parts: while it loads and attaches (before it says that it has begun), while it traces,
while it detaches and reports (after Ctrl-C). After every tenth, and at the end, the machine has to be as before: BPF programs, maps and links (bpftool), kprobe and uprobe
events and enabled functions of tracefs, kprobes, pinned objects, mounts, cgroups, sysctls that a tracer may set, files in /dev/shm; no process that sonde
started lives on, stopped or running; no program has a breakpoint left in its code. Objects that somebody else's process holds are somebody else's.
Prints the seed, how many kills met which part, and what is left. Exit status 1: something is, or fewer kills than asked for met a living sonde."""
import argparse, glob, json, os, random, shutil, signal, subprocess, sys, tempfile, time

READY = b'__BPFTRACE_NOTIFY_PROBES_ATTACHED'
MARK = 'SONDE_KILLS_MARK'
SETTLE = 20  # seconds in which the kernel and sonde's helpers may finish
PARTS = ('load and attach', 'trace', 'detach and report')


def commands(sonde, target, tmp):
    child = '%s calls 100000000' % target
    return [
        [sonde, '-e', 'profile:hz:199 { @[ustack, kstack, comm] = count() }'],
        [sonde, 'profile', '-F', '199', '-f'],
        [sonde, 'profile', '-F', '99', '--html', tmp + '/out.html', '--pprof', tmp + '/out.pb.gz', '--flame', tmp + '/out.svg'],
        [sonde, 'offcputime', '-f'],
        [sonde, 'offwaketime', '-f'],
        [sonde, 'stackcount', '-U', 't:sched:sched_switch'],
        [sonde, '-e', 'tracepoint:syscalls:sys_enter_* { @[probe] = count() }'],
        [sonde, '-e', 'tracepoint:syscalls:sys_exit_r* { @ = count() } rawtracepoint:sched_switch { @s = count() } software:faults:100 { @f = count() }'],
        [sonde, '-e', 'uprobe:%s:* { @[func] = count() } uretprobe:%s:outer { @r = count() }' % (target, target)],
        [sonde, '-e', 'usdt:%s:frames:here { @[ustack] = count() }' % target],
        [sonde, '-c', child, '-e', 'uprobe:%s:leaf { @[ustack] = count() }' % target],
        [sonde, 'profile', '-f', '-c', child],
        [sonde, '-o', tmp + '/out', '-f', 'json', '-e', 'interval:ms:5 { @n++; print(@n) } iter:task { @t = count() } END { printf("%s\\n", str($1)) }', 'end'],
        [sonde, '-e', 'begin { @ = hist(1) } self:signal:SIGUSR1 { exit() } profile:ms:1 { @c[cpu] = count() }'],
    ]


def read(path):
    try:
        return open(path, errors='replace').read()
    except OSError:
        return ''


def marked(token):
    """Processes that were started with our mark: (pid, name, state)."""
    found = []
    for p in glob.glob('/proc/[0-9]*'):
        pid = int(p[6:])
        if pid != os.getpid() and ('%s=%s' % (MARK, token)) in read(p + '/environ'):
            state = read(p + '/stat').rpartition(')')[2].split()
            if state and state[0] != 'Z':
                found.append('process %d (%s), %s' % (pid, read(p + '/comm').strip(), state[0]))
    return found


def bpftool(*args):
    out = subprocess.run(['bpftool', '-j'] + list(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return json.loads(out.stdout or b'[]') if out.returncode == 0 else []  # of one object: it has gone meanwhile


def held():
    """Ids of links, programs and maps that processes hold open, by what the kernel says of their descriptors."""
    ids = {'link_id': set(), 'prog_id': set(), 'map_id': set()}
    for path in glob.glob('/proc/[0-9]*/fd/*'):
        try:
            if not os.readlink(path).startswith('anon_inode:bpf'):
                continue
        except OSError:
            continue
        info = dict(line.split(':', 1) for line in read(path.replace('/fd/', '/fdinfo/')).splitlines() if ':' in line)
        kind = next((k for k in ('link_id', 'map_id', 'prog_id') if k in info), None)  # a link's has its program's, too
        if kind:
            ids[kind].add(int(info[kind]))
    return ids


def orphans():
    """{kind: texts} of BPF objects that no process holds: neither itself, nor through a link, a program, or a map of maps."""
    links, progs, maps = (bpftool(kind, 'show') for kind in ('link', 'prog', 'map'))
    ids = held()
    of_links = {o.get('prog_id') for o in links if o['id'] in ids['link_id']}
    progs_held = ids['prog_id'] | of_links | {o['id'] for o in progs if o.get('pinned')}
    maps_held = ids['map_id'] | {m for o in progs if o['id'] in progs_held for m in o.get('map_ids', [])} | {o['id'] for o in maps if o.get('pinned')}
    free = {o['id'] for o in maps} - maps_held
    for o in maps if free else []:
        if 'of_maps' in o['type'] and o['id'] in maps_held:
            free -= set(inner(o['id']))
    return {'BPF link': {'link %d %s' % (o['id'], o['type']) for o in links if o['id'] not in ids['link_id'] and not o.get('pinned')},
            'BPF prog': {'prog %d %s' % (o['id'], o.get('name', '')) for o in progs if o['id'] not in progs_held},
            'BPF map': {'map %d %s' % (o['id'], o.get('name', '')) for o in maps if o['id'] in free}}


def inner(outer):
    for e in bpftool('map', 'dump', 'id', str(outer)):
        if 'inner_map_id' in e:
            yield e['inner_map_id']
        elif isinstance(e.get('value'), list):
            yield int.from_bytes(bytes(int(x, 16) for x in e['value']), sys.byteorder)


def folders(top):
    return {d for d, _, _ in os.walk(top)}


def state():
    """What has to be as before, as {name: set of texts}."""
    s = {}
    for path in ('/sys/kernel/tracing/kprobe_events', '/sys/kernel/tracing/uprobe_events', '/sys/kernel/tracing/enabled_functions', '/sys/kernel/tracing/dynamic_events',
                 '/sys/kernel/debug/kprobes/list'):
        s[path] = set(read(path).splitlines())
    s['mounts'] = {' '.join(line.split()[2:5]) for line in read('/proc/self/mountinfo').splitlines()}
    s['cgroups'] = folders('/sys/fs/cgroup')
    s['pinned'] = {os.path.join(d, f) for d, _, fs in os.walk('/sys/fs/bpf') for f in fs}
    s['sysctls'] = {p + ' ' + read('/proc/sys/kernel/' + p) for p in ('bpf_stats_enabled', 'perf_event_paranoid', 'kptr_restrict')}
    s['files'] = set(glob.glob('/dev/shm/*')) | set(glob.glob('/var/tmp/sonde*'))
    s.update(orphans())
    return s


def breakpoints(target):
    """Functions of target with a breakpoint in a process that runs it now: its code is compared with the file."""
    p = subprocess.Popen([target, 'calls', '100000000'], stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.05)
        bad, data = [], open(target, 'rb').read()
        with open('/proc/%d/mem' % p.pid, 'rb', 0) as mem:
            for line in open('/proc/%d/maps' % p.pid):
                f = line.split()
                if len(f) > 5 and os.path.realpath(f[5]) == os.path.realpath(target) and 'x' in f[1]:
                    lo, hi = (int(x, 16) for x in f[0].split('-'))
                    off = int(f[2], 16)
                    mem.seek(lo)
                    have, want = mem.read(hi - lo), data[off:off + hi - lo]
                    bad += ['code differs at %#x' % (off + i) for i in range(len(want)) if have[i] != want[i]]
        return bad[:10]
    finally:
        p.kill()
        p.wait()


def left(before, target, token):
    """What is there that was not, once it has had time to go. Others on the machine may have made and dropped things meanwhile: what goes away was not left."""
    deadline = time.time() + SETTLE
    gone = None
    while True:
        found = marked(token)
        now = state()
        for name in before:
            found += ['%s: %s' % (name, t) for t in sorted(now[name] - before[name])]
        found += breakpoints(target)
        gone = found if gone is None else [f for f in gone if f in found]
        if not gone or time.time() > deadline:
            return gone
        time.sleep(0.3)


class Run:
    def __init__(self, cmd, token):
        self.out = tempfile.TemporaryFile()
        self.start = time.time()
        self.p = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=self.out, stderr=subprocess.STDOUT,
                                  env=dict(os.environ, **{READY.decode(): '1', MARK: token}))

    def text(self):
        self.out.seek(0)
        return self.out.read()

    def until_ready(self, limit=30):
        while READY not in self.text() and self.p.poll() is None and time.time() < self.start + limit:
            time.sleep(0.002)
        return READY in self.text() and self.p.poll() is None

    def end(self):
        if self.p.poll() is None:
            self.p.kill()
        self.p.wait()
        self.out.close()


def measure(cmd, token):
    """Seconds until it has begun, and from Ctrl-C to its end."""
    r = Run(cmd, token)
    try:
        if not r.until_ready():
            sys.exit('kills: %s has not begun: %s' % (' '.join(cmd), r.text().decode(errors='replace')[-500:]))
        begun = time.time() - r.start
        time.sleep(0.2)
        at = time.time()
        r.p.send_signal(signal.SIGINT)
        r.p.wait(timeout=60)
        return begun, time.time() - at
    finally:
        r.end()


def kill_one(cmd, times, part, rng, token):
    """The part that the kill met; None: it had ended."""
    r = Run(cmd, token)
    try:
        if part == 0:
            time.sleep(rng.uniform(0, times[0]))
        elif r.until_ready():
            time.sleep(rng.uniform(0, 0.2))
            if part == 2:
                r.p.send_signal(signal.SIGINT)
                time.sleep(rng.uniform(0, times[1]))
        alive = r.p.poll() is None
        ready = READY in r.text()
        r.p.kill()
        r.p.wait()
        return (part if part == 2 else int(ready)) if alive else None
    finally:
        r.end()


def main():
    a = argparse.ArgumentParser()
    a.add_argument('sonde')
    a.add_argument('build')
    a.add_argument('--kills', type=int, default=200)
    a.add_argument('--seconds', type=float, default=900)
    a.add_argument('--seed', type=int, default=None)
    opt = a.parse_args()
    seed = opt.seed if opt.seed is not None else random.SystemRandom().randrange(1 << 32)
    rng, token, tmp = random.Random(seed), str(seed), tempfile.mkdtemp(prefix='sonde-kills.')
    print('seed %d' % seed, flush=True)
    begun, met, bad = time.time(), [0, 0, 0], []
    try:
        target = shutil.copy(os.path.join(opt.build, 'frames'), tmp + '/killed')
        all_of = commands(os.path.abspath(opt.sonde), target, tmp)
        before = state()
        times = [measure(c, token) for c in all_of]
        missed = 0
        while sum(met) < opt.kills and not bad and time.time() < begun + opt.seconds and missed <= opt.kills:
            i = rng.randrange(len(all_of))
            part = kill_one(all_of[i], times[i], met.index(min(met)), rng, token)  # the part that was met least
            if part is None:
                missed += 1
                continue
            met[part] += 1
            if sum(met) % 10 == 0:
                bad = left(before, target, token)
        bad = bad or left(before, target, token)
    finally:
        for p in glob.glob('/proc/[0-9]*'):  # what is left of a failure
            if int(p[6:]) != os.getpid() and ('%s=%s' % (MARK, token)) in read(p + '/environ'):
                os.kill(int(p[6:]), signal.SIGKILL)
        shutil.rmtree(tmp)
    for b in bad:
        print('left: ' + b)
    print('%d kills in %.0f s: %s; %d came too late' % (sum(met), time.time() - begun, ', '.join('%d in %s' % (n, p) for n, p in zip(met, PARTS)), missed))
    enough = sum(met) >= opt.kills and all(met)
    print('nothing is left' if enough and not bad else 'FAILED')
    return 0 if enough and not bad else 1


sys.exit(main())
