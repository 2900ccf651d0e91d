"""Loads beside which `sonde agent` is watched (agent_hour.py): a web server under requests, databases, a compiler, Python, Java; each in a cgroup of its own, named
as a unit of systemd, so that it is a service of its own and the kernel says how much processor time it had. What is not installed is left out, and named."""
import ctypes, os, shutil, signal, socket, subprocess, sys, threading, time

LIBC, PR_SET_PDEATHSIG = ctypes.CDLL(None), 1
PG = '/usr/lib/postgresql'
PY = '''
import json, re, time, zlib
def hour_python(data):
    s = json.dumps(data).encode()
    zlib.compress(s)
    return re.sub(rb"[0-9]+", lambda m: m.group()[:1], s)
def hour_main():
    data = [{"a": i, "b": str(i) * 5} for i in range(300)]
    while True:
        end = time.perf_counter() + 0.03
        while time.perf_counter() < end:
            hour_python(data)
        time.sleep(0.1)
hour_main()
'''
JAVA = '''
import java.util.*;
public class HourLoad {
	static long hourSort(Random r) {
		long[] a = new long[4000];
		for (int i = 0; i < a.length; i++) a[i] = r.nextLong();
		Map<String, Long> m = new TreeMap<>();
		for (long v : a) m.merge(Long.toString(v & 1023), v, Long::sum);
		return m.size();
	}
	static long hourJava() throws Exception {
		Random r = new Random(7);
		for (long n = 0;;) {
			long end = System.nanoTime() + 30_000_000L;
			while (System.nanoTime() < end) n += hourSort(r);
			Thread.sleep(100);
			if (n == 42) return n;
		}
	}
	public static void main(String[] args) throws Exception { hourJava(); }
}
'''
NGINX = '''daemon off; worker_processes 1; pid %(dir)s/nginx.pid; error_log %(dir)s/nginx.err;
events { worker_connections 64; }
http { access_log off; gzip on; gzip_types text/plain; gzip_min_length 1; client_body_temp_path %(dir)s/b; proxy_temp_path %(dir)s/p; fastcgi_temp_path %(dir)s/f; uwsgi_temp_path %(dir)s/u;
scgi_temp_path %(dir)s/s; server { listen 127.0.0.1:%(port)d; root %(dir)s/www; } }
'''
SQL = '''create table t(a, b); with recursive c(x) as (values(1) union all select x + 1 from c where x < 20000) insert into t select x, hex(randomblob(8)) from c;
create index i on t(b); select count(*), max(b) from t where b like 'A%' group by a % 7;'''


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def cgroup_root():
    for line in open('/proc/mounts'):
        f = line.split()
        if f[2] == 'cgroup2':
            return f[1]
    return None


class Loads:
    def __init__(self, folder, source):
        """folder: scratch; source: the project's, for what the compiler compiles."""
        self.dir, self.source, self.missing, self.started, self.ended = folder, source, [], [], threading.Event()
        root = cgroup_root()
        self.slice = root and os.path.join(root, 'sonde-hour-%d.slice' % os.getpid())
        if self.slice:
            os.mkdir(self.slice)

    def group(self, name):
        path = os.path.join(self.slice, name + '.service')
        os.makedirs(path, exist_ok=True)
        return path

    def run(self, name, args, **kw):
        def enter():
            os.setsid()
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # whatever ends us: what goes on is counted beside the next run's, under the same names
            if self.slice:
                open(os.path.join(self.slice, name + '.service', 'cgroup.procs'), 'w').write('0')
            os.nice(5)
        if self.slice:
            self.group(name)
        p = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(os.path.join(self.dir, name + '.err'), 'a'), preexec_fn=enter, **kw)
        self.started.append(p)
        return p

    def have(self, what, *paths):
        found = next((p for p in (shutil.which(w) or (w if os.access(w, os.X_OK) else None) for w in paths) if p), None)
        if not found:
            self.missing.append(what)
        return found

    # ---- the loads

    def nginx(self):
        path = self.have('nginx', '/usr/sbin/nginx')
        if not path:
            return
        port = free_port()
        os.makedirs(self.dir + '/www', exist_ok=True)
        open(self.dir + '/www/a.txt', 'w').write('The quick brown fox jumps over the lazy dog. 0123456789\n' * 2000)
        open(self.dir + '/nginx.conf', 'w').write(NGINX % {'dir': self.dir, 'port': port})
        os.chmod(self.dir, 0o755)
        self.run('nginx', [path, '-c', self.dir + '/nginx.conf'])
        client = '''
import http.client, sys, time
c = None
while True:
    try:
        c = c or http.client.HTTPConnection("127.0.0.1", %d, timeout=5)
        c.request("GET", "/a.txt", headers={"Accept-Encoding": "gzip"})
        c.getresponse().read()
    except OSError:
        c = None
        time.sleep(0.3)
    time.sleep(0.01)
''' % port
        self.run('client', ['/usr/bin/python3', '-c', client])

    def postgres(self):
        versions = sorted(os.listdir(PG)) if os.path.isdir(PG) else []
        bin = versions and os.path.join(PG, versions[-1], 'bin')
        if not bin or not os.access(bin + '/pgbench', os.X_OK):
            self.missing.append('postgres')
            return
        data, port = self.dir + '/pg', free_port()
        os.mkdir(data)
        shutil.chown(data, 'postgres', 'postgres')
        user = dict(user='postgres', group='postgres', cwd='/tmp')
        quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **user)
        subprocess.run([bin + '/initdb', '-D', data, '-A', 'trust', '--no-sync'], check=True, **quiet)
        as_user = ['setpriv', '--reuid', 'postgres', '--regid', 'postgres', '--clear-groups', '--pdeathsig', 'KILL']
        self.run('postgres', as_user + [bin + '/postgres', '-D', data, '-p', str(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'fsync=off'], cwd='/tmp')
        to = ['-h', '127.0.0.1', '-p', str(port), '-U', 'postgres', 'postgres']
        for _ in range(60):
            if subprocess.run([bin + '/pgbench', '-i', '-q', '-s', '2', *to], **quiet).returncode == 0:
                break
            time.sleep(0.5)
        self.run('pgbench', as_user + [bin + '/pgbench', '-n', '-c', '2', '-R', '150', '-T', '100000', *to], cwd='/tmp')

    def sqlite(self):
        path = self.have('sqlite3', '/usr/bin/sqlite3')
        if path:
            open(self.dir + '/load.sql', 'w').write(SQL)
            self.run('sqlite', ['/bin/sh', '-c', 'while :; do %s :memory: < %s/load.sql > /dev/null; sleep 0.5; done' % (path, self.dir)])

    def compile(self):
        path = self.have('gcc', 'gcc')
        if path:
            files = [os.path.join(self.source, 'src/base', f) for f in sorted(os.listdir(self.source + '/src/base')) if f.endswith('.c')]
            self.run('compile', ['/bin/sh', '-c', 'while :; do for f in "$@"; do %s -std=gnu17 -D_GNU_SOURCE -O2 -I%s/src -c -o %s/o.o "$f"; sleep 0.4; done; done' % (
                path, self.source, self.dir), 'sh', *files])

    def python(self):
        self.run('python', ['/usr/bin/python3', '-c', PY])

    def java(self):
        java, javac = self.have('java', '/usr/bin/java'), self.have('javac', '/usr/bin/javac')
        if java and javac:
            open(self.dir + '/HourLoad.java', 'w').write(JAVA)
            subprocess.run([javac, '-d', self.dir, self.dir + '/HourLoad.java'], check=True)
            self.run('java', [java, '-Xmx96m', '-cp', self.dir, 'HourLoad'])

    def begin(self):
        for one in (self.nginx, self.postgres, self.sqlite, self.compile, self.python, self.java):
            one()

    # ---- what the kernel says

    def usage(self):
        """Seconds of processor time by service; "": of the whole machine."""
        out = {}
        f = open('/proc/stat').readline().split()
        out[''] = sum(int(f[i]) for i in (1, 2, 3, 6, 7)) / os.sysconf('SC_CLK_TCK')
        if self.slice:
            for name in os.listdir(self.slice):
                if name.endswith('.service'):
                    for line in open(os.path.join(self.slice, name, 'cpu.stat')):
                        if line.startswith('usage_usec'):
                            out[name] = int(line.split()[1]) / 1e6
        return out

    def end(self):
        for p in self.started:
            try:
                os.killpg(p.pid, signal.SIGTERM)
            except OSError:
                pass
        time.sleep(1)
        for name in os.listdir(self.slice) if self.slice else []:
            kill = os.path.join(self.slice, name, 'cgroup.kill')
            if os.path.exists(kill):
                open(kill, 'w').write('1')
        for p in self.started:
            try:
                os.killpg(p.pid, signal.SIGKILL)
            except OSError:
                pass
            p.wait()
        time.sleep(0.5)
        for name in os.listdir(self.slice) if self.slice else []:
            if os.path.isdir(os.path.join(self.slice, name)):
                os.rmdir(os.path.join(self.slice, name))
        if self.slice:
            os.rmdir(self.slice)
