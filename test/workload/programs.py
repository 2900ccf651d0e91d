#!/usr/bin/env python3
"""Real programs of other languages than C at work, under `sonde profile` and, asleep, under `sonde offcputime`: how many of their user stacks are whole, how many of
those show the language's functions, and where the others end. programs.py SONDE SECONDS [NAMES]; NAMES: a regular expression. What is not installed is said.
Exit status 1 when less than 99.5 % of a program's stacks are whole, or none shows what it should.

  go        Go's own compiler, assembler and linker building net/http
  gunicorn  a web server in Python with forked workers, sqlite3 on a disk, and its clients
  embed     a C program that has CPython in it, in three threads, with calls both ways
  javac     Java's compiler over 200 classes with generics and lambdas, again and again
  jni       Java that calls C that calls Java, from threads of both
  http      a web server on the newest JDK there is: pools of threads, collections, streams, regular expressions; and its clients
  fpm       PHP's FastCGI server behind nginx, and its clients
  lua       nginx with Lua, compiled by LuaJIT, in each request, and its clients
  postgres  PostgreSQL whose sessions run PL/Python that calls PL/Perl that calls SQL
  rabbitmq  RabbitMQ, to which messages are published by its HTTP interface

What is not installed may be unpacked (runtimes.py --fetch bookworm).
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MIN = 0.995
CACHE = os.environ.get('SONDE_RUNTIMES') or os.path.expanduser('~/.cache/sonde-runtimes')
MODULES, PLPYTHON, RABBIT = '/usr/lib/nginx/modules', '/usr/lib/postgresql/*/lib/plpython3.so', '/usr/lib/rabbitmq/lib/*/sbin/rabbitmq-server'
BEAM = os.path.join(os.path.dirname(HERE), 'run', 'beam.sh')
MESSAGES = '''
import base64, http.client, json, sys, time
head = {'Authorization': 'Basic ' + base64.b64encode(b'guest:guest').decode(), 'Content-Type': 'application/json'}
def ask(c, how, path, body):
    c.request(how, path, json.dumps(body), head)
    c.getresponse().read()
end = time.time() + float(sys.argv[2])
while time.time() < end:
    try:
        c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))
        ask(c, 'PUT', '/api/queues/%2f/q', {'durable': False})
        for i in range(200):
            ask(c, 'POST', '/api/exchanges/%2f/amq.default/publish', {'properties': {}, 'routing_key': 'q', 'payload': 'x' * 500, 'payload_encoding': 'string'})
            ask(c, 'POST', '/api/queues/%2f/q/get', {'count': 5, 'ackmode': 'ack_requeue_false', 'encoding': 'auto'})
    except OSError:
        time.sleep(0.2)
'''
WEB = '''
import json, os, sqlite3
def app(env, start):
    db = sqlite3.connect(os.environ['WEB_DB'], timeout=20)
    db.create_function('twice', 1, lambda x: 2 * x)
    db.execute('create table if not exists t (a integer, b text)')
    db.executemany('insert into t values (?, ?)', [(i, env['PATH_INFO']) for i in range(20)])
    db.commit()
    rows = db.execute('select twice(a), b from t order by a desc limit 100').fetchall()
    if len(rows) == 100:
        db.execute('delete from t where rowid in (select rowid from t limit 20)')
        db.commit()
    db.close()
    start('200 OK', [('Content-Type', 'application/json')])
    return [json.dumps(sorted(rows, key=lambda r: str(r[0])), indent=1).encode()]
'''
CLIENT = '''
import http.client, os, sys, time
end = time.time() + float(sys.argv[2])
while time.time() < end:
    try:
        c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))
        for i in range(20):
            c.request('GET', '/%d' % i)
            c.getresponse().read()
    except OSError:
        time.sleep(0.1)
'''
CLASS = '''
import java.util.*;
import java.util.function.*;
import java.util.stream.*;
public class C%(n)d<T extends Comparable<T>> extends Base<T> implements Supplier<List<T>> {
    private final Map<String, Function<T, Optional<T>>> by = new TreeMap<>();
    sealed interface Shape permits Square, Circle {}
    record Square(double side) implements Shape {}
    record Circle(double radius) implements Shape {}
    static double area(Shape s) { return s instanceof Square q ? q.side() * q.side() : s instanceof Circle c ? Math.PI * c.radius() * c.radius() : 0; }
    public List<T> get() { return items.stream().filter(Objects::nonNull).sorted(Comparator.reverseOrder()).collect(Collectors.toList()); }
    Map<Integer, List<String>> group(Collection<? extends CharSequence> in) {
        return in.stream().map(CharSequence::toString).collect(Collectors.groupingBy(s -> switch (s.length()) { case 0 -> 0; case 1, 2 -> 1; default -> s.hashCode(); }));
    }
    <A, B extends Collection<A>> B all(Supplier<B> made, Iterable<? extends A> in) { B out = made.get(); in.forEach(out::add); return out; }
    int sum%(n)d() { return IntStream.range(0, %(n)d).mapToObj(i -> new Square(i)).mapToInt(q -> (int)area(q)).reduce(0, (a, b) -> a + b); }
}
'''
BASE = 'import java.util.*;\npublic abstract class Base<T> { protected List<T> items = new ArrayList<>(); }\n'


FPM = '''
[global]
daemonize = no
error_log = %(tmp)s/fpm.log
[www]
user = root
group = root
listen = %(tmp)s/fpm.sock
pm = static
pm.max_children = 2
'''
NGINX = '''
%(load)s
daemon off; worker_processes 2; pid %(tmp)s/nginx.pid; error_log %(tmp)s/nginx.log; user root;
events {}
http {
    access_log off; gzip on; gzip_min_length 1; gzip_types *;
    client_body_temp_path %(tmp)s/a; proxy_temp_path %(tmp)s/b; fastcgi_temp_path %(tmp)s/c; uwsgi_temp_path %(tmp)s/d; scgi_temp_path %(tmp)s/e;
    %(http)s
    server { listen 127.0.0.1:%(port)d; location / { %(location)s } }
}
'''
PAGE = r'''<?php
class Item {
    public function __construct(private int $n, private string $text) {}
    public function __toString(): string { return sprintf('%04d %s', $this->n, strtoupper($this->text)); }
    public function n(): int { return $this->n; }
}
function items(int $n) { for ($i = 0; $i < $n; $i++) yield new Item($i * 7919 % $n, "item $i"); }
function words(string $s): string { return preg_replace_callback('/(\w+) (\w+)/', fn($m) => ucfirst($m[2]) . strrev($m[1]), $s); }
function doze() { usleep(1000); }
function page(): string {
    $all = iterator_to_array(items(400), false);
    usort($all, fn($a, $b) => $a->n() <=> $b->n());
    $text = implode("\n", array_map('strval', $all));
    doze();
    return words($text) . md5(serialize(array_map(fn($i) => $i->n(), $all))) . json_encode(explode("\n", $text));
}
echo page();
'''
LUA = r'''
local function words(text) return (text:gsub("%a+", function(w) return w:upper():reverse() end)) end
local function rows(n) local t = {} for i = 1, n do t[i] = {n = i * 7919 % n, text = "row " .. i} end return t end
local function page()
    local t = rows(400)
    table.sort(t, function(a, b) return a.n < b.n end)
    local out = {}
    for i, r in ipairs(t) do out[i] = words(r.text) .. r.n end
    ngx.sleep(0.001)
    return table.concat(out, "\n")
end
ngx.say(page())
'''
SQL = r'''
create extension plpython3u; create extension plperl;
create function count_rows(n int) returns bigint language sql as 'select count(*) from generate_series(1, n) g where g % 3 = 0';
create function by_perl(n int) returns text language plperl as $$
sub deep { my ($n) = @_; return $n ? 1 + deep($n - 1) : spi_exec_query("select count_rows(2000) as c")->{rows}[0]{c}; }
my @l = sort { $a <=> $b } map { $_ * 7919 % 300 } 1 .. 300;
my $t = join ",", @l; $t =~ s/(\d)(\d)/$2$1/g;
return deep($_[0]) . $t; $$;
create function by_python(n int) returns text language plpython3u as $$
import json, time
def inner(n):
    return inner(n - 1) if n else plpy.execute("select by_perl(12) as t")[0]["t"]
def doze():
    time.sleep(0.001)
doze()
data = sorted(({"a": i, "b": str(i) * 3} for i in range(200)), key=lambda r: r["b"])
return json.dumps(data) + inner(n)
$$;
'''


def have(*cmds):
    missing = [c for c in cmds if not shutil.which(c) and not os.path.exists(c)]
    return missing and 'not installed: ' + ' '.join(missing)


def write(path, text):
    with open(path, 'w') as f:
        f.write(text)


def start(cmd, **kw):
    return subprocess.Popen(cmd, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kw)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


# Each gives the processes it has started, those to be traced first: with their descendants.
def go(tmp, secs):
    env = dict(os.environ, GO111MODULE='off', GOFLAGS='', GOCACHE=os.path.join(tmp, 'cache'), HOME=tmp, CGO_ENABLED='0')
    return [start(['sh', '-c', 'while :; do go build -a net/http; done'], env=env)]


def gunicorn(tmp, secs):
    write(os.path.join(tmp, 'web.py'), WEB)
    port = free_port()
    p = start(['gunicorn', '-w', '3', '-b', '127.0.0.1:%d' % port, 'web:app'], cwd=tmp, env=dict(os.environ, WEB_DB=os.path.join(tmp, 'db')))
    return [p] + clients(secs, port)


def embed(tmp, secs):
    flags = subprocess.run(['python3.11-config', '--embed', '--includes', '--ldflags'], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    exe = os.path.join(tmp, 'embed')
    subprocess.run(['gcc', '-O2', '-o', exe, os.path.join(HERE, 'embed.c')] + flags, check=True)
    return [start([exe, str(secs)])]


def javac(tmp, secs):
    write(os.path.join(tmp, 'Base.java'), BASE)
    for n in range(200):
        write(os.path.join(tmp, 'C%d.java' % n), CLASS % {'n': n})
    return [start(['sh', '-c', 'while :; do javac -d out *.java; done'], cwd=tmp)]


def newest_java():
    """Its folder, or None"""
    found = [(int(m.group(1)), java) for java in glob.glob('/usr/lib/jvm/*/bin/java') if (m := re.search(r'version "(\d+)', subprocess.run(
        [java, '-version'], stderr=subprocess.PIPE, text=True).stderr))]
    return os.path.dirname(os.path.dirname(max(found)[1])) if found else None


def clients(secs, port):
    return [start([sys.executable, '-c', CLIENT, str(port), str(secs)]) for _ in range(3)]


def http(tmp, secs):
    subprocess.run(['javac', '--release', '11', '-d', tmp, os.path.join(HERE, 'jhttp', 'Http.java')], check=True)
    port = free_port()
    return [start([os.path.join(newest_java(), 'bin', 'java'), '-cp', tmp, 'Http', str(port), str(secs)])] + clients(secs, port)


def jni(tmp, secs):
    home = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which('javac'))))
    subprocess.run(['javac', '-d', tmp, os.path.join(HERE, 'jni', 'Native.java')], check=True)
    subprocess.run(['gcc', '-O2', '-shared', '-fPIC', '-o', os.path.join(tmp, 'libnative.so'), os.path.join(HERE, 'jni', 'native.c'), '-I' + home + '/include',
                    '-I' + home + '/include/linux'], check=True)
    return [start([os.path.join(home, 'bin', 'java'), '-cp', tmp, '-Djava.library.path=' + tmp, 'Native', str(secs)])]


def unpacked(path):
    """A file of a package: installed, or unpacked; '' if it is neither"""
    return next((f for root in ('', os.path.join(CACHE, 'bookworm')) for f in sorted(glob.glob(root + path))), '')


def for_all(path):
    """The file, if users other than root reach it; else ''"""
    folders = [path[:i] for i, c in enumerate(path) if c == '/' and i]
    return path if path and all(os.stat(d).st_mode & 1 for d in folders) else ''


def nginx(tmp, port, location, load='', http=''):
    write(os.path.join(tmp, 'nginx.conf'), NGINX % dict(tmp=tmp, port=port, location=location, load=load, http=http))
    return 'PATH=$PATH:/usr/sbin; nginx -c %s/nginx.conf -p %s' % (tmp, tmp)


def fpm(tmp, secs):
    server = unpacked('/usr/sbin/php-fpm[0-9]*')
    write(os.path.join(tmp, 'fpm.conf'), FPM % dict(tmp=tmp))
    write(os.path.join(tmp, 'page.php'), PAGE)
    port = free_port()
    web = nginx(tmp, port, 'include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME %s/page.php; fastcgi_pass unix:%s/fpm.sock;' % (tmp, tmp))
    return [start([server, '-n', '-R', '-F', '-y', tmp + '/fpm.conf']), start(['sh', '-c', web])] + clients(secs, port)


def lua(tmp, secs):
    write(os.path.join(tmp, 'page.lua'), LUA)
    port = free_port()
    load = ''.join('load_module %s/%s_module.so;' % (MODULES, m) for m in ('ndk_http', 'ngx_http_lua'))
    return [start(['sh', '-c', nginx(tmp, port, 'content_by_lua_file %s/page.lua;' % tmp, load)])] + clients(secs, port)


def postgres(tmp, secs):
    bin = os.path.join(os.path.dirname(os.path.dirname(unpacked(PLPYTHON))), 'bin')
    data, port = os.path.join(tmp, 'pg'), str(free_port())
    os.chmod(tmp, 0o755)
    os.mkdir(data)
    shutil.chown(data, 'postgres', 'postgres')
    user = dict(user='postgres', group='postgres', cwd='/tmp')
    quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **user)
    subprocess.run([bin + '/initdb', '-D', data, '-A', 'trust', '--no-sync'], check=True, **quiet)
    server = start([bin + '/postgres', '-D', data, '-p', port, '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'fsync=off'], user='postgres', group='postgres', cwd='/tmp')
    to = ['-h', '127.0.0.1', '-p', port, '-U', 'postgres']
    write(os.path.join(tmp, 'sql'), SQL)
    write(os.path.join(tmp, 'load'), 'select length(by_python(10));\n')
    for _ in range(60):
        if subprocess.run(['psql', '-q', '-v', 'ON_ERROR_STOP=1', '-f', os.path.join(tmp, 'sql'), *to, 'postgres'], **quiet).returncode == 0:
            break
        time.sleep(0.5)
    return [server, start([bin + '/pgbench', '-n', '-c', '2', '-T', str(secs), '-f', os.path.join(tmp, 'load'), *to, 'postgres'])]


def rabbitmq(tmp, secs):
    home = os.path.dirname(os.path.dirname(unpacked(RABBIT)))
    ports, name = [free_port() for _ in range(4)], 'sonde%d@localhost' % os.getpid()
    write(os.path.join(tmp, 'erl'), '#!/bin/sh\nPATH=%s exec %s "$@"\n' % (os.environ['PATH'], BEAM))  # whose own erl is not this one
    os.chmod(os.path.join(tmp, 'erl'), 0o755)
    write(os.path.join(tmp, 'rabbit.conf'), 'listeners.tcp.default = 127.0.0.1:%d\nmanagement.tcp.port = %d\nmanagement.tcp.ip = 127.0.0.1\n' % (ports[1], ports[0]))
    write(os.path.join(tmp, 'plugins'), '[rabbitmq_management].\n')
    env = dict(os.environ, HOME=tmp, SONDE_RUNTIMES=CACHE, PATH='%s:%s' % (tmp, os.environ['PATH']), RABBITMQ_HOME=home, RABBITMQ_NODENAME=name, RABBITMQ_MNESIA_BASE=tmp, RABBITMQ_LOG_BASE=tmp, RABBITMQ_LOGS=tmp + '/log',
               RABBITMQ_ENABLED_PLUGINS_FILE=tmp + '/plugins', RABBITMQ_CONFIG_FILE=tmp + '/rabbit.conf', RABBITMQ_PID_FILE=tmp + '/pid', RABBITMQ_DIST_PORT=str(ports[2]),
               ERL_EPMD_PORT=str(ports[3]), RABBITMQ_PLUGINS_DIR=home + '/plugins', RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='+S 2:2')
    subprocess.run([os.path.join(tmp, 'erl'), '-noinput', '-eval', 'halt().'], env=env)  # an unpacked one has its programs now
    names = start([shutil.which('epmd') or os.path.join(CACHE, 'erl-bookworm', 'epmd')], env=env, cwd=tmp)  # who knows the server's name
    server = start([os.path.join(home, 'sbin', 'rabbitmq-server')], env=env, cwd=tmp)
    load = [start([sys.executable, '-c', MESSAGES, str(ports[0]), str(secs)]) for _ in range(2)]
    end = time.monotonic() + 60
    while time.monotonic() < end and subprocess.call(['curl', '-sf', '-u', 'guest:guest', 'http://127.0.0.1:%d/api/overview' % ports[0]], stdout=subprocess.DEVNULL):
        time.sleep(0.5)
    return [server, names] + load


# name: how it is started, what it needs, a name of the language's own that stacks must show, on the processor and asleep
PROGRAMS = {
    'go': (go, ('go',), r'^cmd/compile/internal/|^runtime\.', r'^runtime\.|^os/exec\.'),
    'gunicorn': (gunicorn, ('gunicorn',), r'^app$', r'^SyncWorker\.|^Arbiter\.'),
    'embed': (embed, ('python3.11-config', 'gcc'), r'^on_row$', r'^work$'),
    'javac': (javac, ('javac',), r'^com\.sun\.tools\.javac\.', r'^java\.|^com\.sun\.'),
    'jni': (jni, ('javac', 'gcc'), r'^Native\.hash$', r'^Native\.doze$'),
    'http': (http, ('javac',), r'^Http\.page$', r'^java\.util\.concurrent\.ThreadPoolExecutor\.'),
    'fpm': (fpm, ('/usr/sbin/nginx', unpacked('/usr/sbin/php-fpm[0-9]*') or 'php-fpm'), r'^page$', r'^doze$'),
    'lua': (lua, ('/usr/sbin/nginx', MODULES + '/ngx_http_lua_module.so'), r'^page$', r'^ngx_'),
    'postgres': (postgres, ('psql', for_all(unpacked(PLPYTHON)) or 'plpython3.so that the user postgres can read'), r'\binner$', r'\bdoze$'),
    'rabbitmq': (rabbitmq, ('curl', unpacked(RABBIT) or 'rabbitmq-server'), r'^rabbit_\w+:', r'^erts_'),
}


def trace(sonde, tool, pid, secs):
    """(stacks, whole ones, by a guess, whole ends, names of frames)"""
    cmd = [sonde, tool, '-U', '--why-incomplete', '--json', '-p', str(pid), '--tree'] + (['-F', '499'] if tool == 'profile' else []) + [str(secs)]
    out = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors='replace').stdout
    names, data, ends = collections.Counter(), None, collections.Counter()
    for r in (json.loads(l) for l in out.splitlines() if l.startswith('{')):
        if r['type'] == 'stack':
            for f in set(r['user']):
                names[re.sub(r'\+\d+( \[.*\])?$', '', f)] += r['value']
        elif r['type'] == 'user_stacks':
            data = r['data']
    for kind in ('incomplete', 'guesses') if data else ():
        for x in data[kind]:
            ends['%s [%s] %s: %s' % (x.get('symbol', '?'), os.path.basename(x.get('module', '?')), x['comm'], x['reason'])] += x['count']
    return data, ends, names


def check(sonde, tool, secs, pid, name, want):
    data, ends, names = trace(sonde, tool, pid, secs)
    if not data or not data['stacks']:
        print('%-9s %-10s no stacks' % (name, tool))
        return False
    shows = any(re.search(want, f) for f in names)
    n, whole, guessed = data['stacks'], data['whole'], data.get('guessed', 0)
    print('%-9s %-10s %7d stacks, %6.2f %% whole%s%s' % (name, tool, n, 100 * whole / n, ', %.2f %% by a guess' % (100 * guessed / n) if guessed else '',
                                                        '' if shows else '; none shows ' + want), flush=True)
    for why, k in ends.most_common(6):
        print('    %d %s' % (k, why))
    return whole >= MIN * n and shows


def main():
    sonde, secs, pick = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ''
    good = True
    for name, (begin, needs, on, off) in PROGRAMS.items():
        why = have(*needs)
        if why or not re.search(pick, name):
            print('%-9s skipped, %s' % (name, why)) if why else None
            continue
        with tempfile.TemporaryDirectory(prefix='sonde-prog.', ignore_cleanup_errors=True) as tmp:
            load = begin(tmp, 2 * secs + 30)
            try:
                time.sleep(3)
                good &= check(sonde, 'profile', secs, load[0].pid, name, on)
                good &= check(sonde, 'offcputime', secs, load[0].pid, name, off)
            finally:
                for p in load:
                    try:
                        os.killpg(p.pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                    p.wait()
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
