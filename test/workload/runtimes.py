#!/usr/bin/env python3
"""How right are the stacks of interpreted programs? runtimes.py [SONDE [NAMES]] prints a row of README's table for each interpreter that is here: Debian's own,
pyenv's, PHP, Ruby, and what is unpacked below ~/.cache/sonde-runtimes (packages of later releases).

  frames equal   of 2,000 stacks taken in callbacks: those equal, frame by frame, function, file and line, to what the interpreter says of itself
  whole          of the samples of the same program at work with a worker process
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SONDE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, 'build', 'sonde'))
CACHE = os.path.expanduser('~/.cache/sonde-runtimes/sid')
STACKS = 2000


class Program:
    """An interpreter: what a row calls it, its command, its load, the system call that follows what the load says of its stack."""

    def __init__(self, name, cmd, load, call):
        self.name, self.cmd, self.call = name, '%s %s' % (cmd, os.path.join(HERE, load)), call


def pythons():
    yield '/usr/bin/python3'
    for path in sorted(glob.glob(os.path.expanduser('~/.pyenv/versions/3.*/bin/python3')), key=lambda p: [int(x) for x in re.findall(r'\d+', p)]):
        yield path
    for path in sorted(glob.glob(CACHE + '/usr/bin/python3.1[0-9]')):
        yield '%s/usr/lib64/ld-linux-x86-64.so.2 --library-path %s/usr/lib/x86_64-linux-gnu %s' % (CACHE, CACHE, path)


def programs():
    for python in pythons():
        v = run(python + ' -c "import platform; print(platform.python_version())"').strip()
        if re.match(r'3\.\d+\.\d+$', v) and [int(x) for x in v.split('.')] >= [3, 7]:
            yield Program('CPython ' + v, python, 'pyload.py', 'getppid')
    for php in sorted(glob.glob('/usr/bin/php[0-9]*.[0-9]')):
        v = run(php + ' -r "echo PHP_VERSION;"').strip()
        yield Program('PHP ' + v, php, 'phpload.php', 'flock')
        yield Program('PHP %s, pcre.jit=0' % v, php + ' -d pcre.jit=0', 'phpload.php', 'flock')
    for name, ruby in rubies():
        yield Program('Ruby ' + name, ruby, 'rubyload.rb', 'flock')
    for perl in perls():
        v = run(perl + " -e 'printf qq(%vd), $^V'").strip()
        if re.match(r'5\.\d+\.\d+$', v):
            yield Program('Perl ' + v, perl, 'perlload.pl', 'flock')


def rubies():
    for root in ['', CACHE, CACHE[:-3] + 'trixie', CACHE[:-3] + 'bullseye']:
        for path in sorted(glob.glob(root + '/usr/bin/ruby[0-9].[0-9]')):
            v, libs = path[-3:], root + '/usr/lib/x86_64-linux-gnu'
            ruby = path
            if root:
                loader = root + '/usr/lib64/ld-linux-x86-64.so.2'
                loader = loader if os.path.exists(loader) else '/lib64/ld-linux-x86-64.so.2'
                ruby = '%s --library-path %s %s --disable-gems -I %s/usr/lib/ruby/%s.0 -I %s/ruby/%s.0' % (loader, libs, path, root, v, libs, v)
            v = run(ruby + ' -e "print RUBY_VERSION"').strip()
            if re.match(r'[0-9.]+$', v):
                yield v, ruby


def perls():
    yield '/usr/bin/perl'


def run(cmd, **kw):
    return subprocess.run(cmd, shell=isinstance(cmd, str), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kw).stdout


def compare(program, tmp):
    want, got = os.path.join(tmp, 'want'), os.path.join(tmp, 'got')
    load = subprocess.Popen((program.cmd + ' 600').split())  # its tables are known when the command begins
    try:
        with open(got, 'w') as f:
            subprocess.run([SONDE, '-q', '--dwarf-pid', str(load.pid), '-c', '%s %s %d' % (program.cmd, want, STACKS), '-e',
                            'tracepoint:syscalls:sys_enter_%s /pid == cpid/ { printf("%%s\\n", ustack) }' % program.call], stdout=f, stderr=subprocess.DEVNULL)
    finally:
        stop(load)
    m = re.match(r'(\d+) stacks of (\d+) frames, (-?\d+) equal', run([sys.executable, os.path.join(TOP, 'test', 'run', 'py_same.py'), want, got] + (['callers'] if program.name.startswith('Ruby') else [])))
    return m and tuple(int(x) for x in m.groups())


def stop(load):
    for task in glob.glob('/proc/%d/task/*/children' % load.pid):
        for pid in open(task).read().split():
            os.kill(int(pid), 9)
    load.kill()
    load.wait()


def whole(program):
    load = subprocess.Popen((program.cmd + ' 600').split())
    try:
        text = run([SONDE, '-q', '--why-incomplete', '--dwarf-pid', str(load.pid), '-e',
                    'profile:hz:999 /pid == %d || ppid == %d/ { @[ustack] = count() } interval:s:5 { exit() }' % (load.pid, load.pid)])
    finally:
        stop(load)
    m = re.search(r'^(\d+) user stacks, (\d+) whole', text, re.M)
    return m and tuple(int(x) for x in m.groups())


def main():
    bad = 0
    print('| runtime | stacks equal to its own account | samples whole |\n|---|---|---|')
    for program in programs():
        if not re.search(sys.argv[2] if len(sys.argv) > 2 else '', program.name):
            continue
        with tempfile.TemporaryDirectory() as tmp:
            c, w = compare(program, tmp), whole(program)
        if not c or not w or not w[0]:
            print('| %s | no stacks | |' % program.name)
            bad += 1
            continue
        print('| %s | %.2f %% of %d (%d frames) | %.2f %% of %d |' % (program.name, 100 * max(c[2], 0) / STACKS, STACKS, c[1], 100 * w[1] / w[0], w[0]), flush=True)
        bad += c[2] < 0.995 * STACKS or w[1] < 0.995 * w[0]
    return 1 if bad else 0


sys.exit(main())
