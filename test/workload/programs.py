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
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MIN = 0.995
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


def have(*cmds):
    missing = [c for c in cmds if not shutil.which(c) and not os.path.exists(c)]
    return missing and 'not installed: ' + ' '.join(missing)


def write(path, text):
    with open(path, 'w') as f:
        f.write(text)


def start(cmd, **kw):
    return subprocess.Popen(cmd, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kw)


# Each gives the processes it has started, those to be traced first: with their descendants.
def go(tmp, secs):
    env = dict(os.environ, GO111MODULE='off', GOFLAGS='', GOCACHE=os.path.join(tmp, 'cache'), HOME=tmp, CGO_ENABLED='0')
    return [start(['sh', '-c', 'while :; do go build -a net/http; done'], env=env)]


def gunicorn(tmp, secs):
    write(os.path.join(tmp, 'web.py'), WEB)
    port = 20000 + os.getpid() % 20000
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
    port = 20000 + os.getpid() % 20000
    return [start([os.path.join(newest_java(), 'bin', 'java'), '-cp', tmp, 'Http', str(port), str(secs)])] + clients(secs, port)


def jni(tmp, secs):
    home = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which('javac'))))
    subprocess.run(['javac', '-d', tmp, os.path.join(HERE, 'jni', 'Native.java')], check=True)
    subprocess.run(['gcc', '-O2', '-shared', '-fPIC', '-o', os.path.join(tmp, 'libnative.so'), os.path.join(HERE, 'jni', 'native.c'), '-I' + home + '/include',
                    '-I' + home + '/include/linux'], check=True)
    return [start([os.path.join(home, 'bin', 'java'), '-cp', tmp, '-Djava.library.path=' + tmp, 'Native', str(secs)])]


# name: how it is started, what it needs, a name of the language's own that stacks must show, on the processor and asleep
PROGRAMS = {
    'go': (go, ('go',), r'^cmd/compile/internal/|^runtime\.', r'^runtime\.|^os/exec\.'),
    'gunicorn': (gunicorn, ('gunicorn',), r'^app$', r'^SyncWorker\.|^Arbiter\.'),
    'embed': (embed, ('python3.11-config', 'gcc'), r'^on_row$', r'^work$'),
    'javac': (javac, ('javac',), r'^com\.sun\.tools\.javac\.', r'^java\.|^com\.sun\.'),
    'jni': (jni, ('javac', 'gcc'), r'^Native\.hash$', r'^Native\.doze$'),
    'http': (http, ('javac',), r'^Http\.page$', r'^java\.util\.concurrent\.ThreadPoolExecutor\.'),
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
