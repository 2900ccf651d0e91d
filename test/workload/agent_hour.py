#!/usr/bin/env python3
"""agent_hour.py SONDE [--minutes 60] [--away 10] [--hz 19] [--off-cpu] [--dir DIR] [--agent 'OPTION...']: `sonde agent` for an hour beside agent_loads.py, sending to a receiver
of this file's, which is away for ten minutes in the middle; in the middle of these the agent is killed (SIGKILL) and started again.

At the end it compares what arrived (checked by otlp.py) with what the agent says that it has counted (its metrics), with what `perf record` sampled of each load by the same clock
(without perf: with the processor time of its cgroup), and the agent's cost with its limits. Exit status 1 if something does not add up. Needs root."""
import argparse, collections, http.server, os, queue, re, shlex, shutil, signal, socket, subprocess, sys, tempfile, threading, time, urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'run'))
import otlp
from agent_loads import Loads, free_port

TICK = os.sysconf('SC_CLK_TCK')
PAGE = os.sysconf('SC_PAGESIZE')
START_S = 60  # the start of an agent, which reads the tables of all that runs, is judged apart
NAMES = {'python.service': 'hour_python', 'java.service': 'HourLoad.hourJava'}  # the function that most of a service's stacks have


def log(*what):
    print(time.strftime('%H:%M:%S', time.gmtime()), *what, flush=True)


class Receiver:
    """Takes OTLP while it is there. Sums what arrived; a message that comes twice counts once."""

    def __init__(self):
        self.port, self.http, self.open = free_port(), None, set()
        self.ids, self.twice, self.wrong, self.messages = set(), 0, [], 0
        self.value = collections.Counter()    # (kind, service): samples, or microseconds
        self.named = collections.Counter()    # (service, name of NAMES): samples with it in their stack
        self.spans, self.rates = [], collections.Counter()  # (kind, begin, end, {service: samples times their weight}, a sample's weight), seconds of the wall clock; samples by rate
        self.todo = queue.Queue()
        self.lock = threading.Lock()
        threading.Thread(target=self.check_all, daemon=True).start()

    def begin(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def setup(self):
                super().setup()
                outer.open.add(self.connection)

            def finish(self):
                outer.open.discard(self.connection)
                try:
                    super().finish()
                except OSError:
                    pass

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers['Content-Length']))
                outer.todo.put((self.path, body))
                self.send_response(200)
                self.send_header('Content-Length', '0')
                self.end_headers()

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.http = Server(('127.0.0.1', self.port), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def end(self):
        self.http.shutdown()
        self.http.server_close()
        for c in list(self.open):  # those that are kept open, too
            try:
                c.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def check_all(self):
        while True:
            path, body = self.todo.get()
            try:
                self.take(path, body)
            except Exception as e:  # a rule that is broken is told at the end
                self.wrong.append('%s: %s' % (type(e).__name__, e))
            self.todo.task_done()

    def take(self, path, body):
        assert path == '/v1development/profiles', path
        d, resources, _ = otlp.read(body)
        first = otlp.one(resources[0][1], 'id')
        with self.lock:
            if first in self.ids:
                self.twice += 1
                return
            self.ids.add(first)
            self.messages += 1
            span, seconds = None, collections.Counter()
            for attrs, p, samples in resources:
                unit = d['string'][otlp.one(otlp.one(p, 'sample_type'), 'unit')]
                kind = 'offcpu' if unit == 'microseconds' else 'cpu'
                service, n = attrs['service.name'], sum(v for v, _, _ in samples)
                self.value[kind, service] += n
                if kind == 'cpu':
                    seconds[service] += n * otlp.one(p, 'period') / 1e9
                    self.rates[round(1e9 / otlp.one(p, 'period'))] += n
                    for v, stack, _ in samples:
                        for want in NAMES.values():
                            if any(want in name for loc in stack for name in loc):
                                self.named[service, want] += v
                span = (kind, otlp.one(p, 'time') / 1e9, (otlp.one(p, 'time') + otlp.one(p, 'duration')) / 1e9, seconds, otlp.one(p, 'period') / 1e9)
            self.spans.append(span)

    def sum(self, kind):
        with self.lock:
            return sum(v for (k, _), v in self.value.items() if k == kind)


def scrape(port):
    try:
        with urllib.request.urlopen('http://127.0.0.1:%d/metrics' % port, timeout=5) as r:
            return r.read().decode()
    except OSError:
        return ''


def metric(text, name, label=''):
    return sum(float(l.split()[-1]) for l in text.splitlines() if re.match(re.escape(name) + r'[{ ]', l) and label in l)


class Perf:
    """`perf record` of the whole machine by the clock that the agent samples with. What comes by an interrupt misses a part of a load of very short bursts: of what pgbench's
    cgroup is billed, perf sees three quarters here (without sonde, 199 Hz, a minute), as sonde does."""

    def __init__(self, path, hz):
        self.path, self.hz, self.run = path, hz, None
        if shutil.which('perf'):
            self.run = subprocess.Popen(['perf', 'record', '-q', '-a', '-e', 'cpu-clock', '-F', str(hz), '--all-cgroups', '-o', path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.begin = time.time()

    def end(self):
        if self.run:
            self.run.send_signal(signal.SIGINT)
            self.length = time.time() - self.begin
            self.run.wait()

    def samples(self):
        """By service; empty without perf."""
        if not self.run:
            return {}
        text = subprocess.run(['perf', 'report', '-i', self.path, '--stdio', '-s', 'cgroup', '-n', '-t', '|'], capture_output=True, text=True).stdout
        rows = [[x.strip() for x in l.split('|')] for l in text.splitlines() if l.count('|') == 2 and not l.startswith('#')]
        return {os.path.basename(group): int(n) for _, n, group in rows}


class Cost:
    """Processor time and memory of an agent and its collectors, from /proc: by our own reading, not by the agent's."""

    def __init__(self, pid):
        self.pid, self.cpu, self.begin, self.marks = pid, {}, time.time(), []
        self.rss = self.pss = self.bpf = self.all = 0
        self.run_ns = collections.Counter()

    def look(self):
        pids = [self.pid] + [int(p) for t in self.tasks() for p in open('/proc/%d/task/%s/children' % (self.pid, t)).read().split()]
        rss = pss = 0
        maps = {}
        for pid in pids:
            try:
                f = open('/proc/%d/stat' % pid).read().rsplit(')', 1)[1].split()
                self.cpu[pid] = (int(f[11]) + int(f[12])) / TICK
                rss += int(f[21]) * PAGE
                for vma in re.split(r'^(?=[0-9a-f]+-[0-9a-f]+ )', open('/proc/%d/smaps' % pid).read(), flags=re.M)[1:]:
                    if 'anon_inode:bpf-map' not in vma.split('\n', 1)[0]:  # what is mapped of maps is in their own account
                        pss += int(re.search(r'^Pss: +(\d+)', vma, re.M).group(1)) * 1024
                for fd in os.listdir('/proc/%d/fdinfo' % pid):
                    text = open('/proc/%d/fdinfo/%s' % (pid, fd)).read()
                    got = dict(l.split(':', 1) for l in text.splitlines() if ':' in l)
                    if 'map_id' in got:
                        maps['map' + got['map_id']] = int(got.get('memlock', 0))
                    elif 'prog_id' in got and 'memlock' in got:
                        maps['prog' + got['prog_id']] = int(got['memlock'])
                        self.run_ns[got['prog_id']] = max(self.run_ns[got['prog_id']], int(got.get('run_time_ns', 0)))
            except (OSError, AttributeError):
                pass
        self.rss, self.pss, self.bpf = max(self.rss, rss), max(self.pss, pss), max(self.bpf, sum(maps.values()))
        self.all = max(self.all, pss + sum(maps.values()))
        self.marks.append((time.time(), sum(self.cpu.values()) + sum(self.run_ns.values()) / 1e9))
        return rss, pss, sum(maps.values())

    def tasks(self):
        try:
            return os.listdir('/proc/%d/task' % self.pid)
        except OSError:
            return []

    def seconds(self):
        """Of processor time: all; after the start."""
        late = [c for t, c in self.marks if t > self.begin + START_S]
        return self.marks[-1][1], (self.marks[-1][1] - late[0] if late else 0), (self.marks[-1][0] - self.begin), max(0, self.marks[-1][0] - self.begin - START_S)


class Hour:
    def __init__(self, o):
        self.o, self.dir = o, o.dir or tempfile.mkdtemp(prefix='sonde-hour.')
        os.makedirs(self.dir + '/loads', exist_ok=True)
        os.chmod(self.dir, 0o755)  # databases and web servers have users of their own
        self.receiver, self.metrics = Receiver(), free_port()
        self.loads = Loads(self.dir + '/loads', os.path.abspath(os.path.join(HERE, '..', '..')))
        self.perf = None
        self.agent, self.costs, self.history, self.text, self.bad = None, [], [], '', 0
        self.says = []  # bytes, by the agent itself, which knows tables whose descriptors are closed
        self.told = 0

    def start_agent(self):
        o = self.o
        args = [o.sonde, 'agent', '--otlp', 'http://127.0.0.1:%d' % self.receiver.port, '--prometheus', str(self.metrics), '--spool', self.dir + '/spool', '-F', str(o.hz), '-i', str(o.interval)]
        args += (['--off-cpu'] if o.off_cpu else []) + shlex.split(o.agent)
        self.agent = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=open(self.dir + '/agent.err', 'a'))
        self.costs.append(Cost(self.agent.pid))
        log('agent', self.agent.pid, ' '.join(args[1:]))

    def watch(self, until):
        """Looks each second; says something each minute."""
        while time.time() < until:
            time.sleep(max(0.05, min(1, until - time.time())))
            self.history.append((time.time(), self.loads.usage()))
            if int(time.time()) % 5 == 0:
                self.costs[-1].look()
            if self.agent.poll() is not None:
                log('the agent has ended by itself:', self.agent.returncode)
                self.bad += 1
                self.start_agent()
            if time.time() - self.told >= 60:
                self.told = time.time()
                self.tell()

    def tell(self):
        text = scrape(self.metrics)
        rss, pss, bpf = self.costs[-1].look()
        cpu, _, s, _ = self.costs[-1].seconds()
        self.says.append(metric(text, 'sonde_agent_memory_bytes'))
        log('messages %d, samples arrived %d, of this agent %d, waiting %d, %g Hz; cpu %.2f %%, rss %.1f pss %.1f bpf %.1f MB; the agent says %.1f MB' % (
            self.receiver.messages, self.receiver.sum('cpu'), metric(text, 'sonde_cpu_samples_total'), metric(text, 'sonde_agent_messages_waiting'),
            metric(text, 'sonde_agent_frequency_hertz'), 100 * cpu / max(1, s), rss / 1e6, pss / 1e6, bpf / 1e6, metric(text, 'sonde_agent_memory_bytes') / 1e6))

    def reports(self, text):
        return metric(text, 'sonde_agent_reports_total', 'kind="cpu"')

    def between_reports(self):
        """Waits until an interval's first half, so that what is read now is all that there is."""
        n, end = self.reports(scrape(self.metrics)), time.time() + 3 * self.o.interval
        while self.reports(scrape(self.metrics)) == n and time.time() < end:
            self.watch(time.time() + 0.2)
        self.watch(time.time() + min(3, self.o.interval / 3))

    def check(self, ok, *what):
        self.bad += not ok
        print('%-4s' % ('ok' if ok else 'BAD'), *what, flush=True)

    def run(self):
        o, begin = self.o, time.time()
        self.receiver.begin()
        self.loads.begin()
        log('loads are there; not installed:', self.loads.missing or 'none')
        self.start_agent()
        self.perf = Perf(self.dir + '/perf.data', o.hz)
        length, away = o.minutes * 60, o.away * 60
        self.watch(begin + (length - away) / 2)
        self.receiver.end()
        away_at = time.time()
        log('the receiver goes away')
        self.watch(away_at + away / 2)
        self.between_reports()
        before = scrape(self.metrics)
        waiting = metric(before, 'sonde_agent_messages_waiting')
        self.costs[-1].look()
        self.agent.kill()
        killed_at = time.time()
        self.agent.wait()
        log('the agent is killed; messages that wait:', waiting)
        self.start_agent()
        self.watch(away_at + away)
        self.receiver.begin()
        log('the receiver is back')
        self.watch(begin + length)
        self.between_reports()
        after, end = scrape(self.metrics), time.time() + 60
        while metric(after, 'sonde_agent_messages_waiting') and time.time() < end:
            self.watch(time.time() + 1)
            after = scrape(self.metrics)
        self.receiver.todo.join()
        arrived = {k: self.receiver.sum(k) for k in ('cpu', 'offcpu')}
        self.costs[-1].look()
        self.agent.send_signal(signal.SIGTERM)
        status = self.agent.wait(60)
        self.receiver.todo.join()
        self.perf.end()
        self.loads.end()
        print()
        self.judge_sums(before, after, arrived, waiting, status)
        self.judge_kill(killed_at, sum(metric(t, 'sonde_agent_uncounted_seconds_total') for t in (before, after)))
        self.judge_truth()
        self.judge_names()
        self.judge_cost()
        return self.bad

    # ---- the judgement

    def judge_sums(self, before, after, arrived, waiting, status):
        r = self.receiver
        self.check(not r.wrong, 'messages that break a rule of OTLP: %d of %d' % (len(r.wrong), r.messages + len(r.wrong)), r.wrong[:3])
        self.check(waiting > 0, 'messages that waited when the agent was killed, while the receiver was away: %d' % waiting)
        counted = metric(before, 'sonde_cpu_samples_total') + metric(after, 'sonde_cpu_samples_total')
        self.check(arrived['cpu'] == counted > 0, 'samples: counted %d (metrics of both agents), arrived %d' % (counted, arrived['cpu']))
        if self.o.off_cpu:
            counted = round(1e6 * (metric(before, 'sonde_offcpu_seconds_total') + metric(after, 'sonde_offcpu_seconds_total')))
            self.check(abs(arrived['offcpu'] - counted) <= 1e-9 * counted + 10 and counted > 0, 'microseconds off the processors: counted %d, arrived %d' % (counted, arrived['offcpu']))
        lost = sum(metric(t, 'sonde_agent_samples_%s_total' % k) for t in (before, after) for k in ('dropped', 'refused'))
        self.check(lost == 0, 'samples dropped or refused: %d; messages that came twice: %d' % (lost, r.twice))
        self.check(status == 0, 'the agent ends with status', status, 'and sends what it still has: samples', r.sum('cpu') - arrived['cpu'])

    def judge_kill(self, killed_at, told):
        """What a kill loses is what was counted since the last report; and nobody counts until the next agent does."""
        spans = sorted(s[:3] for s in self.receiver.spans if s[0] == 'cpu')
        last = max(e for _, b, e in spans if b < killed_at)
        first = min(b for _, b, e in spans if b > last - 1e-3 and b >= killed_at - 1)
        self.check(killed_at - last <= self.o.interval + 2, 'the kill lost %.1f s that were counted (an interval is %g s), and %.1f s passed until the next agent counted' % (
            killed_at - last, self.o.interval, first - killed_at))
        holes = [(a[2], b[1]) for a, b in zip(spans, spans[1:]) if b[1] - a[2] > 0.5 and not a[2] <= killed_at <= b[1]]
        self.check(abs(sum(b - a for a, b in holes) - told) <= 0.5 * len(holes) + 0.1, 'other holes in time: %d' % len(holes), ['%.1f s' % (b - a) for a, b in holes][:5],
                   'the agents say that nobody counted for %.1f s' % told)

    def used(self, service, at):
        """Processor time of a service up to then, between two looks."""
        h, lo, hi = self.history, 0, len(self.history) - 1
        while hi - lo > 1:
            mid = (lo + hi) // 2
            lo, hi = (mid, hi) if h[mid][0] <= at else (lo, mid)
        (t0, u0), (t1, u1) = h[lo], h[hi]
        a, b = u0.get(service, 0), u1.get(service, 0)
        return a + (b - a) * min(1, max(0, (at - t0) / max(1e-9, t1 - t0)))

    def judge_truth(self):
        """Samples times their weight against perf's over the time that was profiled, else against the kernel's own accounts."""
        spans = [s for s in self.receiver.spans if s[0] == 'cpu' and s[1] >= self.history[0][0] and s[2] <= self.history[-1][0]]
        perf, profiled = self.perf.samples(), sum(e - b for _, b, e, _, _ in spans)
        for service in sorted(self.history[-1][1]):
            used = [(self.used(service, e) - self.used(service, b), weight) for _, b, e, _, weight in spans]
            true = billed = sum(u for u, _ in used)
            got = sum(seconds[service] if service else sum(seconds.values()) for _, _, _, seconds, _ in spans)
            scatter = sum(u * weight for u, weight in used)  # of as many samples of that weight: their variance, in s^2
            by = '%.1f s by %s' % (billed, 'its cgroup' if service else '/proc/stat')
            if service and perf:
                true = perf.get(service, 0) / self.perf.hz * profiled / self.perf.length
                scatter += true / self.perf.hz
                by += ', %.1f s by perf' % true
            if sum(u / weight for u, weight in used) < 200 or not true:
                print('     %s: %s, %.1f s by samples: too few to judge' % (service, by, got))
                continue
            room = 0.03 + 4 * scatter ** 0.5 / true
            self.check(abs(got / true - 1) < room, '%s: %s, %.1f s by samples (%+.1f %%, %.1f are allowed)' % (service or 'the machine', by, got, 100 * (got / true - 1), 100 * room))
        print('     samples by rate:', {'%d Hz' % k: v for k, v in sorted(self.receiver.rates.items())})

    def judge_names(self):
        for service, name in NAMES.items():
            n, have = self.receiver.value['cpu', service], self.receiver.named[service, name]
            if n > 100:
                self.check(have >= 0.8 * n, '%s: %d of %d samples have %s in their stack' % (service, have, n, name))
            else:
                self.check(not any(p for p in self.loads.started if service[:4] in str(p.args)), service, 'has only', n, 'samples')

    def judge_cost(self):
        all_s = sum(c.seconds()[2] for c in self.costs)
        all_cpu = sum(c.seconds()[0] for c in self.costs)
        late_cpu, late_s = sum(c.seconds()[1] for c in self.costs), sum(c.seconds()[3] for c in self.costs)
        run = sum(sum(c.run_ns.values()) for c in self.costs) / 1e9
        print('     all: %.1f s of processor time in %.0f s, %.2f %%; the first %d s of each agent: %.1f s; in the kernel\'s programs %.2f s%s' % (
            all_cpu, all_s, 100 * all_cpu / max(1, all_s), START_S, all_cpu - late_cpu, run, '' if run else ' (kernel.bpf_stats_enabled is 0: not counted)'))
        self.check(100 * late_cpu <= self.o.max_cpu * max(1, late_s), 'after the start: %.2f %% of a processor, %g are allowed' % (100 * late_cpu / max(1, late_s), self.o.max_cpu))
        rss, pss, bpf, both = (max(getattr(c, k) for c in self.costs) / 1e6 for k in ('rss', 'pss', 'bpf', 'all'))
        self.check(both <= self.o.max_memory, 'memory at most: resident %.1f MB (%.1f MB with what is shared counted once), of BPF %.1f MB; together %.1f MB, %g are allowed' % (
            rss, pss, bpf, both, self.o.max_memory))
        self.check(max(self.says) / 1e6 <= self.o.max_memory, 'memory by the agent itself, looked at each minute: %.1f MB at most' % (max(self.says) / 1e6))
        given_up = [l for l in open(self.dir + '/agent.err') if 'given up' in l or 'kernel stacks only' in l]
        self.check(not given_up, 'given up for a limit: %d' % len(given_up))
        warnings = [l for l in open(self.dir + '/agent.err') if 'WARNING' in l]
        print('     warnings of the agents: %d' % len(warnings))
        for l in warnings[:10]:
            print('       ' + l.rstrip()[:220])


def main():
    p = argparse.ArgumentParser()
    p.add_argument('sonde')
    p.add_argument('--minutes', type=float, default=60)
    p.add_argument('--away', type=float, default=10)
    p.add_argument('--hz', type=int, default=19)
    p.add_argument('--interval', type=int, default=15)
    p.add_argument('--off-cpu', action='store_true')
    p.add_argument('--max-cpu', type=float, default=1)
    p.add_argument('--max-memory', type=float, default=64)
    p.add_argument('--dir')
    p.add_argument('--agent', default='', help='more options of the agent')
    o = p.parse_args()
    o.sonde = os.path.abspath(o.sonde)
    hour = Hour(o)
    try:
        sys.exit(1 if hour.run() else 0)
    except BaseException:
        if hour.agent and hour.agent.poll() is None:
            hour.agent.kill()
        if hour.perf:
            hour.perf.end()
        if hour.loads.started and any(q.poll() is None for q in hour.loads.started):
            hour.loads.end()
        raise


main()
