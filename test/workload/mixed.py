#!/usr/bin/env python3
"""mixed.py SONDE SECONDS [HZ [all]]: profiles the whole machine while mixed.sh runs; with "all" also, as far as they are there, interpreters and virtual machines with the loads
of runtimes.py, those that it has unpacked too, and real programs of programs.py. Says how many user stacks of each program were whole, how many show the program's own functions, which frames have no name,
and every exception with its reason. Stacks that sonde followed to the root by a guess count apart: LuaJIT's (also in nginx), whose compiled code does not say all.
Exit status 1 when less than 99.5 % are whole (of those: whole or guessed), less than 99.5 % of a program with one thread show its own functions, none of one with
others does, or a program is missing from the profile. What it has started is gone at its end, also what has left its session.
With bpftrace in place of SONDE: how many stacks of that one end at a thread's root (no exceptions, no verdict)."""
import collections
import ctypes
import glob
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import programs
import runtimes

ROOTS = re.compile(r'_start|__libc_start_(main|call_main).*|main|_*clone3?|start_thread')
here = os.path.dirname(os.path.abspath(__file__))
RUN = os.path.join(os.path.dirname(here), 'run')
ALWAYS = ['python', 'perl', 'node', 'openssl', 'sqlite', 'nginx']
# A program of one thread, or of one kind of work: of which function each of its stacks must show one
OWN = {'perl': r'^\(main\)|^main::', 'php': r'^\{main\}', 'lua': r'^main chunk', 'luajit': r'^main chunk|^.*luaload', 'python': r'^<module>|^work$'}
# A program with threads or processes of other kinds, too: what must show in some
SHOWN = {'ruby': r'^<main>$', 'beam.smp': r'^beam_stack:work/1|^rabbit_\w+:', 'java': r'^JavaStacks\.', 'dotnet': r'^Demo\.App\.', 'node': r'^work$|^fib$', 'postgres': r'\binner$', 'php-fpm': r'^page$'}
GUESSES = ('luajit', 'nginx')  # whose Lua is LuaJIT
READY = 60 # seconds until mixed.sh says that it has begun
# Ruby's threads yield for their turns. Linux 6.18 then gives two such processes all of two processors: six others got 1 %. Not where they have one processor.
RUBY = ['taskset', '-c', str(max(os.sched_getaffinity(0)))]


def program_of(pid):
    """Its file's name, without a version; of one that a loader runs, the one that it was given"""
    exe = os.path.basename(os.readlink('/proc/%d/exe' % pid))
    if re.match(r'ld-(linux|musl|\d)', exe):
        words = open('/proc/%d/cmdline' % pid).read().split('\0')[1:]
        while words and words[0].startswith('--'):
            words = words[1 + (words[0] in ('--library-path', '--preload', '--argv0', '--audit', '--inhibit-rpath')):]
        exe = os.path.basename(words[0]) if words else exe
    return re.sub(r'[-.0-9]+(\.x)?$', '', exe)


def parent_of(pid):
    return int(open('/proc/%d/stat' % pid).read().rpartition(')')[2].split()[1])


def adopt():
    """Processes that leave their parents and sessions (epmd, PostgreSQL's) become this one's children, so that they can be ended"""
    if ctypes.CDLL(None, use_errno=True).prctl(36, 1, 0, 0, 0):  # PR_SET_CHILD_SUBREAPER
        raise SystemExit('prctl: ' + os.strerror(ctypes.get_errno()))


def end_children():
    """All that have been adopted, and those that are then"""
    while True:
        pids = [int(pid) for path in glob.glob('/proc/self/task/*/children') for pid in open(path).read().split()]
        if not pids:
            return
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def lines_until(p, last, secs):
    """What a process says, line by line, up to that line, its end or the time's"""
    end, text = time.monotonic() + secs, b''
    with selectors.DefaultSelector() as s:
        s.register(p.stdout, selectors.EVENT_READ)
        while (left := end - time.monotonic()) > 0:
            if not s.select(left):
                break
            more = os.read(p.stdout.fileno(), 4096)
            *whole, text = (text + more).split(b'\n')
            for line in whole:
                if line.decode() == last:
                    return
                yield line.decode()
            if not more:
                break
    raise SystemExit('%s: no "%s" within %d s' % (p.args[0], last, secs))


def loads(tmp):
    """(name, command) of the interpreters that are here, with what runtimes.py gives them to do"""
    for name, cmd, load in (('php', 'php', 'phpload.php'), ('ruby', 'ruby --disable-gems', 'rubyload.rb'), ('lua', 'lua5.4', 'luaload.lua'), ('luajit', 'luajit', 'luaload.lua')):
        if shutil.which(cmd.split()[0]):
            yield name, RUBY * (name == 'ruby') + cmd.split() + [os.path.join(here, load), '100000']
    for name, found, load in (('ruby', runtimes.rubies(), 'rubyload.rb'), ('perl', runtimes.perls(), 'perlload.pl')):
        for _, cmd in found:
            if cmd.startswith(programs.CACHE):
                yield name, RUBY * (name == 'ruby') + cmd.split() + [os.path.join(here, load), '100000']
    for cmd, _, root in runtimes.unpacked('/usr/bin/php[78].[0-9]'):
        yield 'php', cmd.split() + [x for json in glob.glob(root + '/usr/lib/php/*/json.so') for x in ('-d', 'extension=' + json)] + ['-n', os.path.join(here, 'phpload.php'), '100000']
    if not subprocess.call([os.path.join(RUN, 'beam.sh'), '--there']):
        shutil.copy(os.path.join(RUN, 'beam_stack.erl'), tmp)
        subprocess.run([os.path.join(RUN, 'beam.sh'), '-noshell', '-eval', 'compile:file("beam_stack.erl"), halt().'], cwd=tmp, stdout=subprocess.DEVNULL)
        open(tmp + '/erl.go', 'w').close()
        yield 'beam', [os.path.join(RUN, 'beam.sh'), '+S', '2:2', '-pa', tmp, '-noshell', '-s', 'beam_stack', 'main', '-extra', tmp + '/erl', '-1']
    for release in ('noble', 'questing', 'resolute'):
        if os.path.exists(os.path.join(programs.CACHE, release, 'usr/lib/dotnet/dotnet')):
            shutil.copy(os.path.join(here, 'dotnetload.cs'), tmp)
            dotnet = [os.path.join(RUN, 'dotnet.sh'), release]
            subprocess.run(dotnet + ['--csc', 'dotnetload'], cwd=tmp, stdout=subprocess.DEVNULL, check=True)
            os.rename(tmp + '/dotnetload.dll', '%s/%s.dll' % (tmp, release))
            os.rename(tmp + '/dotnetload.runtimeconfig.json', '%s/%s.runtimeconfig.json' % (tmp, release))
            yield 'dotnet', dotnet + ['/mnt/%s.dll' % release, '100000']
    if shutil.which('javac'):
        subprocess.run(['javac', '-encoding', 'UTF-8', '-d', tmp, os.path.join(RUN, 'JavaStacks.java')], check=True)
        open(tmp + '/java.go', 'w').close()
        yield 'java', ['java', '-cp', tmp, 'JavaStacks', tmp + '/java', '-1']


class Load:
    """What is at work: sessions, and of which program each process is"""

    def __init__(self, secs, more):
        self.secs, self.more, self.pids, self.missing, self.started, self.names = secs, more, {}, set(), [], list(ALWAYS)
        self.stop = threading.Event()

    def watch(self):
        """Most processes live for a part of a second."""
        mine, session = os.getpid(), os.getsid(0)
        while not self.stop.wait(0.03):
            sessions = {p.pid for p in self.started}
            for pid in sorted(map(int, filter(str.isdigit, os.listdir('/proc')))):
                try:
                    if pid != mine and (pid in self.pids or os.getsid(pid) in sessions or (parent_of(pid) in {mine, *self.pids} and os.getsid(pid) != session)):
                        self.pids[pid] = program_of(pid)
                except OSError:
                    pass

    def begin(self, tmp):
        adopt()
        first = subprocess.Popen([os.path.join(here, 'mixed.sh'), tmp, str(self.secs + 300)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        self.started.append(first)
        threading.Thread(target=self.watch, daemon=True).start()
        for line in lines_until(first, 'ready', READY):
            self.missing.add(line.split()[-1].rstrip('0123456789'))
        for name, (begin, needs, _, _) in programs.PROGRAMS.items() if self.more else ():  # first: they take long to begin
            if name in ('fpm', 'lua', 'postgres', 'rabbitmq') and not programs.have(*needs):
                sub = os.path.join(tmp, name)
                os.mkdir(sub)
                os.chmod(tmp, 0o755)
                self.names += {'fpm': ['php-fpm'], 'postgres': ['postgres']}.get(name, [])
                self.started += begin(sub, self.secs + 300)
        for name, cmd in loads(tmp) if self.more else ():
            self.names.append({'beam': 'beam.smp'}.get(name, name))  # as its file is called
            self.started.append(programs.start(cmd, cwd=tmp))
        time.sleep(3 if self.more else 1)

    def end(self):
        self.stop.set()
        for p in self.started:
            try:
                os.killpg(p.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        time.sleep(0.5)
        for p in self.started:
            try:
                os.killpg(p.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            p.wait()
        end_children()


def under_load(cmd, secs, more):
    load = Load(secs, more)
    with tempfile.TemporaryDirectory(prefix='sonde-mixed.', ignore_cleanup_errors=True) as tmp:
        try:
            load.begin(tmp)
            out = subprocess.run(cmd, stdout=subprocess.PIPE, text=True, errors='replace', timeout=secs + 120).stdout
        finally:
            load.end()
    return out, load


def is_named(frame):
    return not re.match(r'\[|0x|\?', frame)


class Seen:
    """By program"""

    def __init__(self):
        self.total, self.cut, self.guessed, self.own, self.unnamed = (collections.Counter() for _ in range(5))


def sonde(path, secs, hz, more):
    out, load = under_load([path, 'profile', '-F', hz, '-U', '--why-incomplete', '--json', str(secs)], secs, more)
    seen, machine, nameless = Seen(), None, collections.Counter()
    program = lambda r: load.pids[r['pid']] if load.pids[r['pid']] not in ('dash', 'sh', '') else r['comm']
    for r in (json.loads(l) for l in out.splitlines() if l.startswith('{')):
        if r['type'] == 'stack' and r['pid'] in load.pids:
            name = program(r)
            seen.total[name] += r['value']
            frames = [re.sub(r'\+(0x)?[0-9a-f]+( \[.*\])?$', '', f) for f in r['user']]
            seen.own[name] += r['value'] * any(re.search(OWN.get(name) or SHOWN.get(name, '^'), f) for f in frames)
            seen.unnamed[name] += r['value'] * (not all(is_named(f) for f in frames))
            for f in {f for f in frames if not is_named(f)}:
                nameless[name, re.sub(r'\+?0x[0-9a-f]+', '', f)] += r['value']
        machine = r['data'] if r['type'] == 'user_stacks' else machine
    for kind, verb, count in (('incomplete', 'ends in', seen.cut), ('guesses', 'goes on by a guess from', seen.guessed)):
        for x in machine[kind]:
            if x['pid'] in load.pids:
                count[program(x)] += x['count']
                place = '%s [%s]' % (x.get('symbol', '?'), os.path.basename(x.get('module', '?')))
                print('%d %s (%d) %s %s: %s' % (x['count'], program(x), x['pid'], verb, place, x['reason']))
    for (name, frame), n in nameless.most_common(20 if more else 0):
        print('%d stacks of %s have a frame without a name: %s' % (n, name, frame or 'an address'))
    n = max(1, machine['stacks'])
    print('the machine: %d stacks, %.2f %% whole, %.2f %% by a guess' % (machine['stacks'], 100.0 * machine['whole'] / n, 100.0 * machine['guessed'] / n))
    return seen, load


def bpftrace(path, secs, hz, more):
    prog = 'profile:hz:%s { @[pid, comm, ustack] = count(); } interval:s:%d { exit(); }' % (hz, secs)
    out, load = under_load([path, '-e', prog], secs, False)
    seen = Seen()
    for m in re.finditer(r'^@\[(\d+), (.{1,15}?), \n?((?:    .*\n)*)\]: (\d+)$', out, re.M):
        frames = [re.sub(r'\+\d+$', '', l.strip()) for l in m.group(3).splitlines()]
        if int(m.group(1)) in load.pids:
            seen.total[m.group(2)] += int(m.group(4))
            if not any(ROOTS.fullmatch(f) for f in frames[-2:]): # a stripped program's _start has no name, its caller has
                seen.cut[m.group(2)] += int(m.group(4))
    return seen, load


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # by way of Load.end()
    peer = os.path.basename(sys.argv[1]) == 'bpftrace'
    seen, load = (bpftrace if peer else sonde)(sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else '99', 'all' in sys.argv[4:])
    n, whole, verdict, few = sum(seen.total.values()), 0, 0, []
    for name in sorted(seen.total, key=lambda c: -seen.total[c]):
        n_all = seen.total[name]
        sure = n_all - seen.cut[name] - seen.guessed[name]
        whole += sure
        verdict += sure + (seen.guessed[name] if name in GUESSES else 0)
        own = ', %6.2f %% show its own functions' % (100.0 * seen.own[name] / n_all) if name in OWN or name in SHOWN else ''
        print('%-16s %6d stacks, %6.2f %% whole, %6.2f %% by a guess, %6.2f %% with every frame named%s' % (
            name, n_all, 100.0 * sure / n_all, 100.0 * seen.guessed[name] / n_all, 100.0 * (n_all - seen.unnamed[name]) / n_all, own))
        few += [name] if (name in OWN and seen.own[name] < 0.995 * n_all) or (name in SHOWN and not seen.own[name]) else []
    print('%d stacks of the load, %.2f %% whole, %.2f %% by a guess' % (n, 100.0 * whole / max(1, n), 100.0 * sum(seen.guessed.values()) / max(1, n)))
    if peer:
        return 0
    absent = [x for x in load.names if x not in load.missing and not seen.total[x]]
    if absent:
        print('not in the profile: ' + ' '.join(absent))
    if few:
        print('own functions are missing: ' + ' '.join(few))
    good = 100.0 * verdict / max(1, n) >= 99.5 and not absent and not few
    print('mixed load: ' + ('whole' if good else 'not whole enough'))
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
