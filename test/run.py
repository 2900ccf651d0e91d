#!/usr/bin/env python3
"""Runs sonde's tests and closes with one line: N passed, N failed, N skipped.

usage: run.py [--build DIR] [--suite unit,run,...] [--filter 'GLOB|GLOB...'] [-v]

Suites
  unit   build/test/*_test programs (TAP on stdout)
  layers folders of src/ include only what lies below them
  asan   some of the unit tests under the address and undefined-behaviour sanitizers
  fuzz   test/fuzz/*_fuzz.c, a few seconds each
  run    test/run/*.t: programs under sonde with their workload, against expected output
  vm     boots other kernels under emulation and runs in each of them, as suite `guest`, some of test/vm/*.t and test/run/*.t (test/vm/matrix.py);
         SONDE_VM_KERNEL=FILE adds a kernel given by path, SONDE_VM_GUESTS='amd64 6.1' chooses, SONDE_VM_FULL=1 runs every test

A .t file holds blocks separated by blank lines; a block is
  NAME text          PROG script text (may go on in lines that begin with white space)   ARGS command line options and parameters
  RUN shell command instead of PROG; {sonde}, {build} and {tmp} are replaced
  WORKLOAD shell command started when probes are attached ({sonde} prints its word), ended after the test
  INT seconds: an interrupt (Ctrl-C) that long after the workload has ended, or after attaching if there is none
  EXPECT text that stdout contains    EXPECT_LINE a whole line    EXPECT_RE regular expression (multi-line)
  EXPECT_STACKS re: stdout has stacks, each one's first frame matches, and none has a frame of the tracer
  EXPECT_NOT text    STDERR text that stderr contains    RC exit status (0)    TIMEOUT seconds (15)
  NEED feature       as `sonde info` names it, "name: yes" (!feature: no); or cmd:NAME, file:PATH, arch:MACHINE, ksym:SYMBOL, host (no guest): else skipped, with the reason
"""
import argparse, fnmatch, glob, os, re, shlex, shutil, signal, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)


class Tally:
    def __init__(self, verbose):
        self.passed = self.failed = self.skipped = 0
        self.verbose = verbose
        self.failures = []

    def ok(self, name):
        self.passed += 1
        if self.verbose:
            print('ok      %s' % name, flush=True)

    def fail(self, name, why):
        self.failed += 1
        self.failures.append(name)
        print('FAILED  %s\n        %s' % (name, why.rstrip().replace('\n', '\n        ')), flush=True)

    def skip(self, name, why):
        self.skipped += 1
        print('skipped %s: %s' % (name, why), flush=True)


# ---- unit
# A test that counts samples or compares moments can fail on a machine that is busy with something else: it gets a second, lonely try.
def again(path, case):
    try:
        p = subprocess.run([path, case], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, cwd=TOP, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return False
    return p.returncode == 0 and re.search(rb'^ok \d+', p.stdout, re.M) is not None


def run_unit(t, opt):
    for path in sorted(glob.glob(os.path.join(opt.build, 'test', '*_test'))):
        base = os.path.basename(path)
        if not fnmatch.fnmatch(base, opt.filter):
            continue
        try:
            p = subprocess.run([path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, cwd=TOP, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            t.fail(base, 'no end after 600 s')
            continue
        notes, seen = [], 0
        for line in p.stdout.decode('utf-8', 'replace').splitlines():
            m = re.match(r'(not )?ok \d+ (\S+)(?: # SKIP (.*))?$', line)
            if not m:
                notes.append(line)
                continue
            seen += 1
            name = '%s: %s' % (base, m.group(2))
            if m.group(1) and again(path, m.group(2)):
                print('note    %s: passed when run again by itself' % name, flush=True)
                t.ok(name)
            elif m.group(1):
                t.fail(name, '\n'.join(notes[-20:]))
            elif m.group(3):
                t.skip(name, m.group(3))
            else:
                t.ok(name)
            notes = []
        if p.returncode not in (0, 1) or not seen:
            t.fail(base, 'ended with status %d after %d tests\n%s' % (p.returncode, seen, '\n'.join(notes[-20:])))


# The same programs built with the address and undefined-behaviour sanitizers: those that read untrusted input or build trees.
ASAN = 'base type parse expand format out profile cdecl ehframe symfile usdt bpf run'.split()


# and the tools, a second each, in a folder of their own ({W}: a process that waits, spins, locks and makes threads)
ASAN_TOOLS = ['profile -p {W} -F 99 --inlines --lines --why-incomplete -d -a 1', 'offcputime --check -p {W} 1', 'offcputime -f -i 1 -p {W} 2',
              'offwaketime --chain 3 --flame f.svg -p {W} 1', 'wakeuptime --pprof f.pb 1', 'stackcount -T -D 1 -P -p {W} c:clock_nanosleep', 'profile --nosuch']


def run_asan_tools(t, opt, env):
    sonde, waits = os.path.join(opt.build + '-asan', 'sonde'), os.path.join(opt.build, 'waits')
    if not os.path.exists(sonde) or not os.path.exists(waits):
        return t.skip('asan: tools', 'no %s or %s' % (sonde, waits))
    with tempfile.TemporaryDirectory(prefix='sonde-asan.') as tmp:
        work = subprocess.Popen([waits, 'mix', '120000'], cwd=tmp)
        for tool in ASAN_TOOLS:
            name = 'asan: sonde %s' % tool
            try:
                p = subprocess.run([sonde] + tool.replace('{W}', str(work.pid)).split(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60,
                                   cwd=tmp, stdin=subprocess.DEVNULL, env=env)
            except subprocess.TimeoutExpired:
                t.skip(name, 'no end after 60 s on this machine')
                continue
            text = p.stderr.decode('utf-8', 'replace')
            bad = re.search(r'(ERROR: AddressSanitizer|runtime error:).*', text)
            if bad or p.returncode not in (0, 2 if 'nosuch' in tool else 0):
                t.fail(name, text[bad.start():bad.start() + 1500] if bad else 'exit status %d\n%s' % (p.returncode, text[-1500:]))
            else:
                t.ok(name)
        work.kill()
        work.wait()


def run_asan(t, opt):
    env = dict(os.environ, ASAN_OPTIONS='detect_leaks=0', UBSAN_OPTIONS='print_stacktrace=1')
    run_asan_tools(t, opt, env)
    for name in ASAN:
        path = os.path.join(opt.build + '-asan', 'test', name + '_test')
        if not os.path.exists(path):
            continue
        try:
            p = subprocess.run([path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, cwd=TOP, stdin=subprocess.DEVNULL,
                               env=env)
        except subprocess.TimeoutExpired:
            t.skip('asan: %s' % name, 'no end after 300 s on this machine')
            continue
        text = p.stdout.decode('utf-8', 'replace')
        bad = re.search(r'(ERROR: AddressSanitizer|runtime error:).*', text)
        if bad:
            t.fail('asan: %s' % name, text[bad.start():bad.start() + 1500])
        else:
            t.ok('asan: %s' % name)


# ---- fuzz: each target for a bounded time, from its corpus
def run_fuzz(t, opt):
    for path in sorted(glob.glob(os.path.join(opt.build, 'fuzz', '*_fuzz'))):
        name = os.path.basename(path)[:-5]
        corpus = os.path.join(HERE, 'fuzz', 'corpus', name)
        with tempfile.TemporaryDirectory(prefix='sonde-fuzz.') as tmp:
            cmd = [path, '-max_total_time=%d' % opt.fuzz_seconds, '-timeout=20', '-rss_limit_mb=2048', '-artifact_prefix=%s/' % tmp, tmp]
            if os.path.isdir(corpus):
                cmd.append(corpus)
            p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        if p.returncode:
            t.fail('fuzz: %s' % name, p.stdout.decode('utf-8', 'replace')[-2500:])
        else:
            t.ok('fuzz: %s' % name)


# ---- layers: who may include whom
BELOW = {'base': [], 'bpfrt': ['base'], 'lang': ['base', 'ctype', 'ir'], 'ctype': ['base', 'lang'], 'sym': ['base'], 'ir': ['base', 'lang', 'ctype', 'bpfrt'],
         'out': ['base'], 'bpf': ['base', 'lang', 'ctype', 'ir', 'bpfrt'], 'unwind': ['base', 'lang', 'ir', 'bpf', 'bpfrt', 'sym', 'out'],
         'probe': ['base', 'lang', 'ctype', 'sym', 'ir', 'bpf', 'bpfrt'], 'run': ['base', 'lang', 'sym', 'ir', 'bpf', 'bpfrt', 'out', 'unwind'],
         'session': ['base', 'lang', 'ctype', 'sym', 'ir', 'bpf', 'unwind', 'probe', 'run', 'out'], 'tool': None}
# Headers that carry the waists between folders; anybody may read them.
DATA = {'ir/program.h', 'ir/ir.h', 'lang/point.h', 'ctype/ctype.h'}


def run_layers(t, opt):
    for path in sorted(glob.glob(os.path.join(TOP, 'src', '*', '*.[ch]'))):
        folder = os.path.basename(os.path.dirname(path))
        allowed = BELOW.get(folder)
        if allowed is None:
            continue
        bad = []
        for inc in re.findall(r'^#include "(\w+/[\w./]+)"', open(path).read(), re.M):
            other = inc.split('/')[0]
            if other == folder or other not in BELOW:
                continue
            if other not in allowed or (folder == 'lang' and other in ('ir', 'ctype') and inc not in DATA):
                bad.append(inc)
        name = 'layers: %s' % os.path.relpath(path, TOP)
        t.fail(name, 'includes ' + ', '.join(bad)) if bad else t.ok(name)


# ---- run
def blocks(path):
    out, cur = [], {}
    for n, line in enumerate(open(path).read().split('\n') + [''], 1):
        if line.startswith('#'):
            continue
        if not line.strip():
            if cur:
                out.append(cur)
            cur = {}
        elif line[0].isspace():
            cur[last][-1] += '\n' + line
        else:
            last, _, rest = line.partition(' ')
            cur.setdefault(last, []).append(rest)
            cur.setdefault('LINE', n)
    return out


# What lies on a stack between the event and a program of ours: the program, BPF's helpers and trampolines, handlers of ftrace, probes and perf.
TRACER = re.compile(r'(bpf_prog_[0-9a-f]{16}|_*bpf_(trace_|trampoline|get_(task_)?stack|prog_(enter|exit|run)|iter_|seq_read|loop)|__traceiter_|__probestub_'
                    r'|trace_call_bpf|_*perf_(trace_|syscall_|call_bpf|swevent|tp_event|event_overflow|callchain)|k(ret)?probe|__k(ret)?probe|arch_(k|ret)'
                    r'|rethook|fprobe|ftrace|_*u(ret)?probe|handler_chain|handle_swbp|prepare_uretprobe|hw_breakpoint|get_callchain|stack_trace_save'
                    r'|(__)?task_(\w+_)?seq_show)')


def judge_stacks(out, first):
    """Frames of stacks begin their lines with blanks; frames of one stack follow each other."""
    stacks = [re.findall(r'^\s+(.+)$', s, re.M) for s in re.findall(r'(?:^[ \t]+\S.*\n)+', out, re.M)]
    if not stacks:
        return 'stdout has no stacks'
    for frames in stacks:
        bad = next((f for f in frames if TRACER.match(f)), None)
        if bad:
            return 'a frame of the tracer: %s in %s' % (bad, ' '.join(frames))
        if not re.match(first, frames[0]):
            return 'first frame %s is no %s' % (frames[0], first)


class Runner:
    def __init__(self, opt):
        self.opt = opt
        self.sonde = os.path.join(opt.build, 'sonde')
        self.info = self.symbols = None

    def missing(self, need):
        if need.startswith('cmd:'):
            return None if shutil.which(need[4:]) else 'no %s on this machine' % need[4:]
        if need == 'host':
            return 'an emulated processor is too slow for its times' if os.environ.get('SONDE_GUEST') else None
        if need.startswith('ksym:'):
            if self.symbols is None:
                self.symbols = set(line.split()[2] for line in open('/proc/kallsyms'))
            return None if need[5:] in self.symbols else 'no %s in /proc/kallsyms' % need[5:]
        if need.startswith('arch:'):
            return None if os.uname().machine == need[5:] else 'this machine is no %s' % need[5:]
        if need.startswith('!'):
            return None if self.missing(need[1:]) else 'this kernel has %s' % need[1:]
        if need.startswith('file:'):
            return None if glob.glob(need[5:]) else 'no %s on this machine' % need[5:]
        if self.info is None:
            p = subprocess.run([self.sonde, 'info'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.info = p.stdout.decode('utf-8', 'replace')
        return None if re.search(r'^\s*%s: yes' % re.escape(need), self.info, re.M) else 'this kernel has no %s' % need

    def command(self, b, tmp):
        sub = lambda s: s.replace('{sonde}', shlex.quote(self.sonde)).replace('{build}', self.opt.build).replace('{tmp}', tmp).replace('{top}', TOP)
        if 'RUN' in b:
            return sub(b['RUN'][0]), sub
        return '%s -q %s -e %s %s' % (shlex.quote(self.sonde), sub(b.get('ARGS', [''])[0]), shlex.quote(sub(b['PROG'][0])), sub(b.get('PARAMS', [''])[0])), sub

    def run(self, b, tmp):
        """(status, stdout, stderr, problem)"""
        cmd, sub = self.command(b, tmp)
        timeout = float(b.get('TIMEOUT', ['15'])[0]) * SLOW
        env = dict(os.environ, BPFTRACE_COLOR='never')
        if 'WORKLOAD' in b or 'INT' in b:
            env['__BPFTRACE_NOTIFY_PROBES_ATTACHED'] = '1'
        # Appending: copy_file_range(2), which cat uses, does not lock the offset that it shares with sonde.
        out = open(os.path.join(tmp, 'stdout'), 'a+b')
        err = open(os.path.join(tmp, 'stderr'), 'a+b')
        p = subprocess.Popen(cmd, shell=True, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=env, cwd=tmp, start_new_session=True)
        w, deadline, problem = None, time.time() + timeout, None
        while p.poll() is None and time.time() < deadline:
            if ('WORKLOAD' in b or 'INT' in b) and not w:
                if b'__BPFTRACE_NOTIFY_PROBES_ATTACHED' in open(out.name, 'rb').read():
                    w = subprocess.Popen(sub(b.get('WORKLOAD', ['true'])[0]), shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                         cwd=tmp, start_new_session=True)
            elif 'INT' in b and w.poll() is not None:
                time.sleep(float(b['INT'][0]))
                os.killpg(p.pid, signal.SIGINT)
                try:
                    p.wait(max(1, deadline - time.time()))
                except subprocess.TimeoutExpired:
                    break
            time.sleep(0.01)
        if p.poll() is None:
            problem = 'no end after %g s' % timeout
        for q in (p, w):
            if q and q.poll() is None:
                os.killpg(q.pid, signal.SIGKILL)
            if q:
                q.wait()
        text = [open(f.name, 'rb').read().decode('utf-8', 'replace') for f in (out, err)]
        out.close(), err.close()
        return p.returncode, text[0].replace('__BPFTRACE_NOTIFY_PROBES_ATTACHED\n', ''), text[1], problem

    def judge(self, b, rc, out, err, sub):
        want = int(b.get('RC', ['0'])[0])
        if rc != want:
            return 'exit status %d, expected %d' % (rc, want)
        lines = out.split('\n')
        for x in b.get('EXPECT', []):
            if sub(x) not in out:
                return 'stdout lacks: %s' % x
        for x in b.get('EXPECT_LINE', []):
            if sub(x) not in lines:
                return 'stdout has no line: %s' % x
        for x in b.get('EXPECT_RE', []):
            if not re.search(x, out, re.M):
                return 'stdout does not match: %s' % x
        for x in b.get('EXPECT_STACKS', []):
            bad = judge_stacks(out, x)
            if bad:
                return bad
        for x in b.get('EXPECT_NOT', []):
            if sub(x) in out:
                return 'stdout has: %s' % x
        for x in b.get('STDERR', []):
            if sub(x) not in err:
                return 'stderr lacks: %s' % x
        return None


def chosen(opt, paths):
    """(name, block) of each test that --filter names."""
    for path in paths:
        base = os.path.basename(path)[:-2]
        for b in blocks(path):
            name = '%s: %s' % (base, b.get('NAME', ['line %d' % b['LINE']])[0])
            if any(fnmatch.fnmatch(name, f) for f in opt.filter.split('|')):
                yield name, b


def run_files(t, opt, paths):
    r = Runner(opt)
    for number, (name, b) in enumerate(chosen(opt, paths)):
        if number < opt.first:
            continue
        if SLOW > 1:
            print('start   %d %s' % (number, name), flush=True)
        why = next((w for w in (r.missing(n) for n in b.get('NEED', [])) if w), None)
        if why:
            t.skip(name, why)
            continue
        for tries in (2, 1, 0): # on a busy machine a sample or a moment can be missed
            with tempfile.TemporaryDirectory(prefix='sonde-test.', ignore_cleanup_errors=True) as tmp:
                _, sub = r.command(b, tmp)
                rc, out, err, problem = r.run(b, tmp)
                problem = problem or r.judge(b, rc, out, err, sub)
                for line in open('/proc/mounts'): # of a test that was killed
                    if line.split()[1].startswith(tmp + '/'):
                        subprocess.call(['umount', line.split()[1]])
            if problem and tries:
                print('note    %s: run again: %s' % (name, problem.split('\n')[0]), flush=True)
                continue
            if problem:
                t.fail(name, '%s\n%s\n-- stdout\n%s\n-- stderr\n%s' % (problem, r.command(b, tmp)[0], out[:1500], err[:1500]))
            else:
                t.ok(name)
            break


def run_run(t, opt):
    run_files(t, opt, sorted(glob.glob(os.path.join(HERE, 'run', '*.t'))))


# ---- vm
def run_guest(t, opt):
    """Inside a guest: numbered, so that another boot can go on behind the test that this one died of."""
    paths = sorted(glob.glob(os.path.join(HERE, 'vm', '*.t'))) + sorted(glob.glob(os.path.join(HERE, 'run', '*.t')))
    if os.uname().machine != 'x86_64':
        paths = [p for p in paths if os.path.basename(p) not in ('tools.t', 'offcpu.t', 'wake.t')]  # they name x86's functions and glibc's own, of which Debian's arm64 has no symbols
    run_files(t, opt, paths)


def run_vm(t, opt):
    sys.path.insert(0, os.path.join(HERE, 'vm'))
    import matrix
    matrix.run(t, opt)


SLOW = 3 if os.environ.get('SONDE_GUEST') else 1  # an emulated processor
SUITES = {'layers': run_layers, 'unit': run_unit, 'asan': run_asan, 'fuzz': run_fuzz, 'run': run_run, 'vm': run_vm, 'guest': run_guest}


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--build', default=os.path.join(TOP, 'build'))
    p.add_argument('--suite', default='layers,unit,asan,fuzz,run,vm')
    p.add_argument('--filter', default='*')
    p.add_argument('--from', dest='first', type=int, default=0, help=argparse.SUPPRESS)
    p.add_argument('--fuzz-seconds', type=int, default=4)
    p.add_argument('-v', action='store_true')
    opt = p.parse_args()
    opt.build = os.path.abspath(opt.build)
    t = Tally(opt.v)
    for s in opt.suite.split(','):
        before = t.passed + t.failed + t.skipped
        start = time.time()
        SUITES[s](t, opt)
        ran = t.passed + t.failed + t.skipped - before
        print('# suite %s: %d tests in %.0f s' % (s, ran, time.time() - start), flush=True)
        if not ran and opt.filter == '*':
            t.fail('suite %s' % s, 'ran no test')
    print('%d passed, %d failed, %d skipped' % (t.passed, t.failed, t.skipped))
    return 1 if t.failed else 0


if __name__ == '__main__':
    sys.exit(main())
