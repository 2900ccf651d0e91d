#!/usr/bin/env python3
"""agent.py SONDE WAITS WHAT: sonde agent, its server and what it watches, all started here; prints what was seen.

The server is one of this file's, on a free port of 127.0.0.1: it keeps what is sent to it, and can be away or answer badly. WAITS is test/progs/waits.c."""
import gzip, http.server, json, os, random, re, shutil, signal, socket, ssl, subprocess, sys, threading, time, urllib.parse, urllib.request

sys.path.insert(0, os.path.dirname(__file__))
import otlp

SONDE, WAITS, WHAT = sys.argv[1:4]
HERE = os.getcwd()


class Server:
    """Keeps (path, query, headers, body) of each POST; `how` says what it answers."""

    def __init__(self, port=0, tls=None):
        outer = self
        self.got, self.tries, self.how = [], 0, 'good'

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def log_message(self, *_):
                pass

            def do_POST(self):
                outer.tries += 1
                body = self.rfile.read(int(self.headers['Content-Length']))
                how, text = outer.how, b''
                if how == 'hang':
                    time.sleep(30)
                    return
                if how == 'endless':
                    self.send_response(200)
                    self.end_headers()
                    try:
                        for _ in range(100000):
                            self.wfile.write(b'x' * 65536)
                    except OSError:
                        pass
                    outer.keep(self, body)
                    self.close_connection = True
                    return
                status = {'good': 200, 'busy': 503, 'never': 400, 'elsewhere': 307, 'partial': 200, 'explained': 200}[how]
                if how in ('good', 'partial', 'explained'):
                    outer.keep(self, body)
                if how == 'partial':
                    text = bytes([0x0a, 2, 0x08, 7])
                if how == 'explained':  # a length of two bytes, and the number behind the text
                    text = bytes([0x0a, 0xcd, 1, 0x12, 0xc8, 1]) + b'too old' + b'.' * 193 + bytes([0x08, 7])
                self.send_response(status)
                if how == 'elsewhere':
                    self.send_header('Location', 'http://127.0.0.1:%d/other' % outer.port)
                if how == 'busy':
                    self.send_header('Retry-After', '1')
                self.send_header('Content-Length', str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self.http = http.server.ThreadingHTTPServer(('127.0.0.1', port), Handler)
        if tls:
            self.http.socket = tls.wrap_socket(self.http.socket, server_side=True)
        self.http.daemon_threads = True
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def keep(self, h, body):
        path, _, query = h.path.partition('?')
        self.got.append((path, urllib.parse.parse_qs(query), dict(h.headers), body))

    def stop(self):
        self.http.shutdown()
        self.http.server_close()


def free_port():
    """One that nobody else gets while no server is there: below those that the kernel gives to connections (ip_local_port_range)."""
    while True:
        port = random.randrange(12000, 32000)
        with socket.socket() as s:
            try:
                s.bind(('127.0.0.1', port))
                return port
            except OSError:
                continue


def agent(*args, **kw):
    return subprocess.Popen([SONDE, 'agent', *args], stderr=open('err', 'a'), stdout=subprocess.DEVNULL, **kw)


def end(p, sig=signal.SIGTERM):
    p.send_signal(sig)
    try:
        return p.wait(30)
    except subprocess.TimeoutExpired:
        p.kill()
        return 'does not end'


def until(what, seconds=40):
    t = time.time() + seconds
    while not what() and time.time() < t:
        time.sleep(0.1)
    return bool(what())


def load(ms=60000):
    return subprocess.Popen([WAITS, 'spin', str(ms)])


def scrape(port, path='/metrics'):
    with urllib.request.urlopen('http://127.0.0.1:%d%s' % (port, path), timeout=5) as r:
        return r.read().decode()


def metric(text, name, label=''):
    return sum(float(l.split()[-1]) for l in text.splitlines() if re.match(re.escape(name) + r'[{ ]', l) and label in l)


def spins(got):
    """Values of stacks with spin_here in messages of OTLP; how many messages."""
    n = 0
    for path, _, headers, body in got:
        assert path == '/v1development/profiles' and headers['Content-Type'] == 'application/x-protobuf', (path, headers)
        n += sum(v for k, v in otlp.folded_of(otlp.read(body)[1]).items() if 'spin_here' in k)
    return n


def children(p):
    return subprocess.run(['pgrep', '-P', str(p.pid)], stdout=subprocess.PIPE, text=True).stdout.split()


def spans(got):
    """(unit, begin, end, samples) of each message of OTLP, in seconds of the wall clock."""
    for _, _, _, body in got:
        d, resources, _ = otlp.read(body)
        p = resources[0][1]
        begin = otlp.one(p, 'time') / 1e9
        yield (d['string'][otlp.one(otlp.one(p, 'sample_type'), 'unit')], begin, begin + otlp.one(p, 'duration') / 1e9, [x for r in resources for x in r[2]])


def otlp_and_metrics():
    s, port, w = Server(), free_port(), load()
    a = agent('--otlp', 'http://127.0.0.1:%d' % s.port, '-p', str(w.pid), '-i', '1', '-F', '99', '--max-cpu', '50', '--spool', 'spool', '--prometheus', str(port),
              '-l', 'region=eu')
    print('came', until(lambda: len(s.got) >= 3))
    text = scrape(port)
    print('metrics', metric(text, 'sonde_cpu_samples_total') > 0, metric(text, 'sonde_agent_frequency_hertz'), metric(text, 'sonde_agent_memory_bytes') > 1e6)
    attrs = otlp.read(s.got[0][3])[1][0][0]
    print('resource', attrs['region'], attrs['host.name'] == os.uname().nodename, len(attrs['service.name']) > 0)
    print('ends', end(a), len(os.listdir('spool')))
    sent = sum(otlp.total_of(otlp.read(b)[1]) for _, _, _, b in s.got)
    print('named', spins(s.got) > 0.8 * sent > 0)
    w.kill()


def pyroscope():
    s, w = Server(), load()
    a = agent('--pyroscope', 'http://127.0.0.1:%d' % s.port, '-p', str(w.pid), '-i', '1', '-F', '99', '--max-cpu', '50', '--spool', 'none', '--service', 'shop {1}',
              '-l', 'region=eu', '-H', 'X-Scope-OrgID: 7', '--off-cpu')
    kinds = lambda: {q['name'][0].split('{')[0] for _, q, _, _ in s.got}
    print('came', until(lambda: len(s.got) >= 3 and len(kinds()) > 0))
    print('ends', end(a))
    path, q, headers, body = next(g for g in s.got if '.cpu' in g[1]['name'][0])
    print(path, q['name'][0].replace(os.uname().nodename, 'HOST'), q['format'][0], headers['X-Scope-OrgID'], 0 < int(q['until'][0]) - int(q['from'][0]) <= 3, q['sampleRate'][0])
    open('p.gz', 'wb').write(body)
    w.kill()


def away():
    """A server that is not there, then busy, then there: all arrives."""
    w, port = load(), free_port()
    metrics = free_port()
    a = agent('--otlp', 'http://127.0.0.1:%d' % port, '-p', str(w.pid), '-i', '1', '-F', '99', '--max-cpu', '50', '--spool', 'spool', '--prometheus', str(metrics))
    print('waits', until(lambda: os.path.isdir('spool') and len(os.listdir('spool')) >= 4))
    s = Server(port)
    s.how = 'busy'
    print('busy', until(lambda: s.tries >= 1))
    s.how = 'good'
    print('came', until(lambda: len(s.got) >= 5))
    print('ends', end(a), [f for f in os.listdir('spool') if f != 'lock'])
    counted = sum(otlp.total_of(otlp.read(b)[1]) for _, _, _, b in s.got)
    times = [otlp.one(r[1], 'time') for g in s.got for r in otlp.read(g[3])[1]]
    print('in order', times == sorted(times), 'of each time one', len({otlp.one(otlp.read(g[3])[1][0][1], 'time') for g in s.got}) == len(s.got))
    print('samples', counted > 0)
    w.kill()


def killed():
    """kill -9 while the server is away: what was in the spool is sent by the next."""
    w, port = load(), free_port()
    args = ['--otlp', 'http://127.0.0.1:%d' % port, '-p', str(w.pid), '-i', '1', '-F', '99', '--max-cpu', '50', '--spool', 'spool']
    a = agent(*args)
    names = lambda: sorted(f for f in os.listdir('spool') if f != 'lock') if os.path.isdir('spool') else []
    print('waits', until(lambda: len(names()) >= 3))
    second = subprocess.run([SONDE, 'agent', *args], stderr=subprocess.PIPE, text=True)
    print('a second one', second.returncode, 'another agent uses spool' in second.stderr)
    a.kill()
    a.wait()
    left = len(names())
    s = Server(port)
    a = agent(*args)
    print('came', until(lambda: len(s.got) > left))
    print('ends', end(a), names())
    print('samples', spins(s.got) > 0)
    w.kill()


def badly():
    """Servers that answer badly: none holds the agent up, what they refuse is counted."""
    w = load()
    for how in ('never', 'elsewhere', 'endless', 'hang', 'partial', 'explained'):
        s, port = Server(), free_port()
        s.how = how
        open('err', 'w').close()
        a = agent('--otlp', 'http://127.0.0.1:%d' % s.port, '-p', str(w.pid), '-i', '1', '-F', '19', '--max-cpu', '50', '--spool', 'none', '--prometheus', str(port))
        until(lambda: s.tries >= 1)
        time.sleep(1.5)
        t = time.time()
        text = scrape(port)
        quick = time.time() - t < 1
        m = lambda n: metric(text, 'sonde_agent_messages_' + n)
        print(how, 'quick', quick, 'refused', m('refused_total') > 0, 'sent', m('sent_total') > 0, 'waiting', m('waiting') > 0, 'said', 'WARNING' in (err := open('err').read()), 'why', 'rejected: too old' in err, 'ends', end(a))
        s.stop()
    w.kill()


def liar(reply):
    """A server that takes a request's head and answers with reply(connection); its port, and how often it was asked."""
    s, asked = socket.create_server(('127.0.0.1', 0)), []

    def one(c):
        with c:
            try:
                got = b''
                while b'\r\n\r\n' not in got:
                    got += c.recv(65536)
                asked.append(time.time())
                reply(c)
            except OSError:
                pass

    def listen():
        while True:
            threading.Thread(target=one, args=(s.accept()[0],), daemon=True).start()

    threading.Thread(target=listen, daemon=True).start()
    return s.getsockname()[1], asked


def lies():
    """Seven servers whose answers are no HTTP, do not end, or ask for nonsense, beside one that is good: that one gets all, and the agent does not grow."""
    def forever(text, pause=0):
        def reply(c):
            while True:
                c.sendall(text)
                time.sleep(pause)
        return reply
    replies = {'rubbish': lambda c: c.sendall(b'\x00\xff\x1b[31mrubbish\r\n\r\n'), 'closes': lambda c: None, 'a byte at a time': forever(b'H', 0.2),
               'headers': forever(b'HTTP/1.1 200 OK\r\nX: ' + b'y' * 65536), 'continue': forever(b'HTTP/1.1 100 Continue\r\n\r\n'),
               'short': lambda c: c.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nabc'),
               'later': lambda c: c.sendall(b'HTTP/1.1 503 x\r\nRetry-After: -1\r\nContent-Length: 0\r\n\r\n')}
    good, w, port = Server(), load(), free_port()
    liars = {name: liar(r) for name, r in replies.items()}
    urls = ['http://127.0.0.1:%d' % p for p in [good.port] + [p for p, _ in liars.values()]]
    a = agent(*sum((['--otlp', u] for u in urls), []), '-p', str(w.pid), '-i', '1', '-F', '19', '--max-cpu', '50', '--spool', 'none', '--prometheus', str(port))
    print('good one', until(lambda: len(good.got) >= 6))
    print('asked', *sorted(n for n, (_, asked) in liars.items() if asked))
    print('again', until(lambda: len(liars['later'][1]) >= 2))
    t = time.time()
    text = scrape(port)
    print('quick', time.time() - t < 1, 'memory', int(open('/proc/%d/statm' % a.pid).read().split()[1]) * 4096 < 40e6)
    print('taken', [name for name, (p, _) in liars.items() if metric(text, 'sonde_agent_messages_sent_total', ':%d/' % p)])
    print('ends', end(a), 'escapes', '\x1b' in open('err').read())
    w.kill()


def tls():
    subprocess.run('openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost'.split(),
                   check=True, stderr=subprocess.DEVNULL)
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    c.load_cert_chain('c.pem', 'k.pem')
    s, w = Server(tls=c), load()
    args = ['--otlp', 'https://localhost:%d' % s.port, '-p', str(w.pid), '-i', '1', '-F', '19', '--max-cpu', '50', '--spool', 'none']
    a = agent(*args)
    print('unknown', until(lambda: 'WARNING: https' in open('err').read()), len(s.got), end(a))
    a = agent(*args, '--ca', 'c.pem')
    print('known', until(lambda: len(s.got) >= 1), end(a))
    w.kill()


def files():
    w = load()
    a = agent('--dir', 'out', '--dir-size', '1', '-p', str(w.pid), '-i', '1', '-F', '99', '--max-cpu', '50')
    names = lambda: [f for f in os.listdir('out') if f.startswith('sonde-')] if os.path.isdir('out') else []
    for i in range(3):  # older ones, which are too much
        os.makedirs('out', exist_ok=True)
        open('out/sonde-cpu-2020010%dT000000.000Z.pb.gz' % (i + 1), 'wb').write(b'x' * 600000)
    open('out/mine-cpu-20200101T000000.000Z.pb.gz', 'w').close()
    print('came', until(lambda: len([n for n in names() if '-202001' not in n]) >= 2))
    print('ends', end(a), len([n for n in names() if '-202001' in n]), os.path.exists('out/mine-cpu-20200101T000000.000Z.pb.gz'))
    shutil.copy(max(('out/' + n for n in names() if '-202001' not in n), key=os.path.getsize), 'f.gz')
    w.kill()


def script():
    w, port = subprocess.Popen([WAITS, 'sleep', '4000', '10', 'agt']), free_port()
    open('s.bt', 'w').write('tracepoint:syscalls:sys_enter_clock_nanosleep /pid == %d/ { @naps[comm] = count(); @sizes = hist(5); @all = stats(7); @name = comm; }' % w.pid)
    a = agent('-s', 's.bt', '--prometheus', str(port), '-p', str(w.pid), '-i', '1', '--max-cpu', '50', '--spool', 'none')
    seen = lambda: scrape(port) if until(lambda: listening(port)) else ''
    print('came', until(lambda: metric(seen(), 'sonde_naps') > 10))
    text = scrape(port)
    print('label', 'sonde_naps{key="napperagt"}' in text)
    print('histogram', metric(text, 'sonde_sizes_bucket', 'le="7"') == metric(text, 'sonde_sizes_bucket', 'le="+Inf"') == metric(text, 'sonde_sizes_count') > 10)
    print('stats', metric(text, 'sonde_all_sum') == 7 * metric(text, 'sonde_all_count') > 70)
    print('no number', '# 1 values of @name are no numbers' in text)
    for path in ('/', '/other'):
        try:
            scrape(port, path)
            print(path, 200)
        except urllib.error.HTTPError as e:
            print(path, e.code)
    with socket.create_connection(('127.0.0.1', port)) as c:  # no HTTP at all
        c.sendall(b'\xff' * 20000 + b'\r\n\r\n')
        try:
            print('rubbish', c.recv(100).decode().split()[1])
        except OSError:
            print('rubbish 431')
    idle = [socket.create_connection(('127.0.0.1', port)) for _ in range(7)]
    print('beside idle ones', metric(scrape(port), 'sonde_naps') > 10)
    for c in idle:
        c.close()
    print('ends', end(a))
    w.kill()


def listening(port):
    try:
        socket.create_connection(('127.0.0.1', port), 1).close()
        return True
    except OSError:
        return False


def limit():
    """More than is allowed: it samples less often, says so, and what it sends says how much a sample weighs."""
    s, w, port = Server(), load(), free_port()
    a = agent('--otlp', 'http://127.0.0.1:%d' % s.port, '-p', str(w.pid), '-i', '2', '-F', '4999', '--max-cpu', '0.4', '--spool', 'none', '--prometheus', str(port))
    print('less', until(lambda: 'samples a second from now on, not 4999' in open('err').read()))
    n = len(s.got)
    print('came', until(lambda: len(s.got) >= n + 3))
    periods = [otlp.one(otlp.read(g[3])[1][0][1], 'period') for g in s.got]
    print('weight', periods[0] == 10**9 // 4999, periods[-1] > periods[0], metric(scrape(port), 'sonde_agent_frequency_hertz') < 4999)
    print('ends', end(a))
    w.kill()


def renewed():
    """What is started anew for its memory goes on with the rate that its forerunner had come to."""
    w = load(120000)
    a = agent('--dir', 'out', '--off-cpu', '-p', str(w.pid), '-i', '1', '-F', '4999', '--max-cpu', '0.4', '--max-memory', '2', '--spool', 'none')
    lowered = lambda: len(re.findall(r'samples a second from now on, not 4999$', open('err').read(), re.M))
    print('less', until(lambda: lowered() >= 1))
    print('anew', until(lambda: 'is started anew with kernel stacks only' in open('err').read(), 60))
    time.sleep(5)
    print('once', lowered() == 1 or open('err').read())
    print('ends', end(a))
    w.kill()


def switches():
    """Switches of threads that cost more than is allowed: one in more is looked at, and the times still add up."""
    s, port = Server(), free_port()
    sleeper = subprocess.Popen([WAITS, 'sleep', '60000', '2', 'agts'])  # waits nearly all the time, 2 ms each
    pingpong = subprocess.Popen([sys.executable, '-c', 'import os, threading\na, b = os.pipe(), os.pipe()\ndef run(i, o):\n    while os.read(i, 1):\n        os.write(o, b"x")\n'
                                 'threading.Thread(target=run, args=(a[0], b[1]), daemon=True).start()\nos.write(a[1], b"x")\nrun(b[0], a[1])'])
    args = ['--otlp', 'http://127.0.0.1:%d' % s.port, '--off-cpu', '--off-cpu-one-in', '2', '-p', '%d,%d' % (sleeper.pid, pingpong.pid), '-i', '2', '-F', '9', '--spool', 'none']
    a = agent(*args, '--max-cpu', '8', '--max-memory', '500', '--prometheus', str(port))
    less = r'\((\d+\.\d+) in the kernel.s programs\).* one switch in (\d+) is looked at from now on, not one in 2$'
    print('less', until(lambda: re.search(less, open('err').read(), re.M) is not None))
    said = re.search(less, open('err').read(), re.M)
    print('counted', said is not None and float(said[1]) > 0 and int(said[2]) > 2, until(lambda: metric(scrape(port), 'sonde_agent_kernel_seconds_total') > 0))
    n = len(s.got)
    until(lambda: len(s.got) >= n + 10)
    print('ends', end(a))
    waited = lasted = 0
    for _, _, _, body in s.got:
        d, resources, _ = otlp.read(body)
        for attrs, p, samples in resources:
            if d['string'][otlp.one(otlp.one(p, 'sample_type'), 'unit')] == 'microseconds':
                waited += sum(v for v, st, at in samples if at.get('thread.name', '') == 'napperagts')
                lasted += otlp.one(p, 'duration') / 1e3 if any(at.get('thread.name') == 'napperagts' for _, _, at in samples) else 0
    print('adds up', 0.4 < waited / max(1, lasted) < 2.5)  # a fast machine's pipes leave few of the sleeper's waits to count, each of them for hundreds
    for p in (sleeper, pingpong):
        p.kill()
        p.wait()


def both():
    """Time on and off the processors comes of one collector; either side's reports follow each other without a gap."""
    s, w = Server(), load()
    sleeper = subprocess.Popen([WAITS, 'sleep', '60000', '2', 'agtb'])  # waits nearly all the time, 2 ms each
    a = agent('--otlp', 'http://127.0.0.1:%d' % s.port, '--off-cpu', '--off-cpu-one-in', '1', '-p', '%d,%d' % (w.pid, sleeper.pid), '-i', '2', '-F', '99', '--max-cpu', '100',
              '--max-memory', '500', '--spool', 'none')
    of = lambda unit: [x for x in spans(list(s.got)) if x[0] == unit]
    print('came', until(lambda: len(of('count')) >= 3 and len(of('microseconds')) >= 3), 'of', len(children(a)))
    print('ends', end(a))
    for unit, thread, name in ('count', 'spinner', 'spin_here'), ('microseconds', 'napperagtb', 'nap_inner'):
        rows = [(v, stack) for x in of(unit) for v, stack, at in x[3] if at.get('thread.name', '').startswith(thread[:7])]
        named = sum(v for v, stack in rows if any(n == name for loc in stack for n in loc))
        at = sorted(x[1:3] for x in of(unit))
        print(unit, named > 0.8 * sum(v for v, _ in rows) > 0, max(abs(b[0] - a[1]) for a, b in zip(at, at[1:])) < 0.1)
    waited = sum(v for x in of('microseconds') for v, _, at in x[3] if at.get('thread.name') == 'napperagtb')
    lasted = sum(1e6 * (x[2] - x[1]) for x in of('microseconds'))
    print('adds up', 0.7 < waited / lasted < 1.1)
    for p in (w, sleeper):
        p.kill()
        p.wait()


def memory():
    """More memory than is allowed: one thing after the other is given up, and said; what is left goes on. What begins anew has the place to itself, and the time that nobody counts is told."""
    s, w, port = Server(), load(), free_port()
    a = agent('--otlp', 'http://127.0.0.1:%d' % s.port, '--off-cpu', '-i', '1', '-F', '49', '--max-cpu', '100', '--max-memory', '2', '--spool', 'none', '--prometheus', str(port))
    at_once = [0]

    def look():
        while a.poll() is None:
            at_once[0] = max(at_once[0], len(children(a)))
            time.sleep(0.02)

    threading.Thread(target=look, daemon=True).start()
    said = lambda what: until(lambda: re.search(r'WARNING: [0-9.]+ MB of memory, 2.0 are allowed: ' + what, open('err').read()) is not None, 90)
    print('anew', said('cpu is started anew\n'))
    print('off-CPU', said('offcpu is given up'))
    print('stacks', said('cpu is started anew with kernel stacks only'))
    sys.stderr.write(open('err').read())  # the runner shows it when something is wrong
    n = len(s.got)
    print('goes on', until(lambda: len(s.got) >= n + 3), metric(scrape(port), 'sonde_agent_given_up'))
    uncounted = metric(scrape(port), 'sonde_agent_uncounted_seconds_total')
    print('ends', end(a), 'it is started again' in open('err').read())
    told = [float(x) for x in re.findall('nothing was counted for ([0-9.]+) seconds', open('err').read())]
    at = sorted(x[1:3] for x in spans(s.got) if x[0] == 'count')
    holes = [b[0] - a[1] for a, b in zip(at, at[1:]) if b[0] - a[1] > 0.001]  # a collector may begin at once where the one before has ended
    print('holes', [round(h, 2) for h in holes], 'told', told, file=sys.stderr)  # the runner shows it when something is wrong
    print('at once', at_once[0], 'told', len(told), all(abs(x - y) < 0.1 for x, y in zip(holes, told)) and len(holes) == len(told), abs(sum(told) - uncounted) < 0.2)
    w.kill()


def record():
    """The flight recorder: what led to a signal, and to a probe, in files; what it sends meanwhile is whole."""
    s, w = Server(), load()
    names = lambda: sorted(os.listdir('out')) if os.path.isdir('out') else []
    open('s.bt', 'w').write('tracepoint:syscalls:sys_enter_getppid /comm == "agtrec"/ { @n = count(); printf("%d calls of %s\\n", (int64)@n, comm); }')
    a = agent('--record', '30s', '--when', open('s.bt').read(), '--dir', 'out', '--otlp', 'http://127.0.0.1:%d' % s.port, '-p', str(w.pid), '-i', '3', '-F', '99', '--max-cpu', '50',
              '--spool', 'none')
    print('sent', until(lambda: len(s.got) >= 2), names())
    for p in subprocess.run(['pgrep', '-P', str(a.pid)], stdout=subprocess.PIPE, text=True).stdout.split():  # as `kill -USR1 $(pidof sonde)` does
        os.kill(int(p), signal.SIGUSR1)
    a.send_signal(signal.SIGUSR1)
    print('recorded', until(lambda: len([n for n in names() if n.endswith('.html')]) == 1), [re.sub('[0-9]+', 'N', n) for n in names()])
    told = until(lambda: re.search('cpu: the last [0-9]+ seconds before a signal', open('err').read()) is not None) # it is said when the files are there
    print('said', told and 'started again' not in open('err').read())
    page = open('out/' + [n for n in names() if n.endswith('.html')][0]).read()
    print('when', 'spin_here' in page, '"slot"' in page)
    time.sleep(10.5)
    open('p.py', 'w').write('import ctypes, os, time\nctypes.CDLL(None).prctl(15, b"agtrec", 0, 0, 0)\nfor _ in range(100):\n    os.getppid()\n    time.sleep(0.2)\n')
    p = subprocess.Popen([sys.executable, 'p.py'])
    print('probe', until(lambda: re.search('before [0-9]+ calls of agtrec', open('err').read()) is not None), len([n for n in names() if n.endswith('.html')]))
    p.kill()
    print('ends', end(a))
    total = sum(otlp.total_of(otlp.read(g[3])[1]) for g in s.got)
    lasting = sum(otlp.one(otlp.read(g[3])[1][0][1], 'duration') for g in s.got) / 1e9
    print('whole', spins(s.got) > 0.8 * total > 0, lasting > 9)
    shutil.copy(max(('out/' + n for n in names() if n.endswith('.gz')), key=os.path.getsize), 'r.gz')
    w.kill()


def record_early():
    """What waits for a function's call, or for a number in a map: asked for before there is anything, the record is written with the first report, once for each."""
    sleeper = subprocess.Popen([WAITS, 'sleep', '60000', '2', 'agte'])
    texts = {'probe': 'uprobe:%s:nap_inner /pid == %d/ { @n = count(); if ((int64)@n == 1) { printf("the first nap\\n"); } }' % (WAITS, sleeper.pid),
             'threshold': 'tracepoint:syscalls:sys_enter_clock_nanosleep /pid == %d/ { @n[comm] = count(); }\ninterval:ms:50 /(int64)@n["napperagte"] > 20/ { printf("more than 20 naps\\n"); clear(@n); }'
             % sleeper.pid}
    for name, text in texts.items():
        open('err', 'w').close()
        a = agent('--record', '30s', '--when', text, '--off-cpu', '--dir', name, '-p', str(sleeper.pid), '-i', '3', '-F', '99', '--max-cpu', '50')
        seen = lambda kind: len([n for n in os.listdir(name) if n.startswith('sonde-record_%s-' % kind)]) if os.path.isdir(name) else 0
        came = until(lambda: seen('cpu') == seen('offcpu') == 2)
        why = 'offcpu: the last [0-9]+ seconds before ' + ('the first nap' if name == 'probe' else 'more than 20 naps')
        print(name, came, until(lambda: re.search(why, open('err').read()) is not None), end(a))  # it is said when the files are there
    sleeper.kill()


if WHAT != 'none':  # agent_tree.py uses what is here
    globals()[WHAT]()
