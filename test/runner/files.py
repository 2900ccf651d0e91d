"""Suites of .t files: run (test/run), guest (in a guest: test/vm too). Runs a block's program and workload and judges what came.

Blocks that may run beside others (blocks.py) do so first, opt.waiting at a time; then those that stand little company, two at a time; then each of the
others runs alone. In a guest all do, in the order of the
files, numbered: another boot can go on behind the test that this one died of.
"""
import fnmatch, glob, itertools, os, re, shlex, shutil, signal, subprocess, sys, tempfile, threading, time
from . import blocks, child, unit

TOP = unit.TOP
SLOW = 6 if os.environ.get('SONDE_GUEST') else 1  # an emulated processor

# What lies on a stack between the event and a program of ours: the program, BPF's helpers and trampolines, handlers of ftrace, probes and perf. Not what
# the kernel does for uprobes where a process maps, forks or ends.
TRACER = re.compile(r'(bpf_prog_[0-9a-f]{16}|_*bpf_(trace_|trampoline|get_(task_)?stack|prog_(enter|exit|run)|iter_|seq_read|loop)|__traceiter_|__probestub_'
                    r'|trace_call_bpf|_*perf_(trace_|syscall_|call_bpf|swevent|tp_event|event_overflow|callchain)|k(ret)?probe|__k(ret)?probe|arch_(k|ret)'
                    r'|rethook|fprobe|ftrace|_*u(ret)?probe(?!_(clear_state|mmap|munmap|start_dup_mmap|end_dup_mmap|dup_mmap|copy_process|free_utask))|handler_chain|handle_swbp|prepare_uretprobe|hw_breakpoint|get_callchain|stack_trace_save'
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


def npm_lacks(package):
    """NAME@VERSION (of a scope: @SCOPE/NAME@VERSION) in ~/.cache/sonde-npm, fetched from the registry when it is not there. Why it cannot be had, or None."""
    folder = os.path.expanduser('~/.cache/sonde-npm')
    if os.path.exists(os.path.join(folder, package.lstrip('@').replace('/', '-').replace('@', '-') + '.tgz')):
        return None
    if not shutil.which('npm'):
        return 'no npm on this machine, and no %s in %s' % (package, folder)
    os.makedirs(folder, exist_ok=True)
    try:
        p = subprocess.run(['npm', 'pack', '--silent', '--pack-destination', folder, package], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
    except subprocess.TimeoutExpired:
        return 'the npm registry does not answer'
    return None if p.returncode == 0 else 'no %s from the npm registry' % package


class Runner:
    def __init__(self, opt):
        self.opt = opt
        self.sonde = os.path.join(opt.build, 'sonde')
        self.info = self.symbols = None
        self.lock = threading.Lock()
        self.swap = None
        self.numbers = itertools.count(os.getpid() % 900 * 1000 + 100000)  # another runner on this machine has others

    def missing(self, need):
        """Why this machine cannot run a test with that NEED, or None."""
        with self.lock:
            return self.lacks(need)

    def lacks(self, need):
        if need.startswith('cmd:'):
            return None if shutil.which(need[4:]) else 'no %s on this machine' % need[4:]
        if need == 'cgroup2':
            return None if ' cgroup2 ' in open('/proc/mounts').read() else 'no cgroup v2 is mounted'
        if need == 'swap':
            return self.swap_lacks()
        if need == 'host':
            return 'an emulated processor is too slow for its times' if os.environ.get('SONDE_GUEST') else None
        if need == '32-bit':
            try:
                ran = child.start([os.path.join(self.opt.build, 'frames32')], stdout=subprocess.DEVNULL).wait() == 0
            except OSError:
                ran = False
            return None if ran else 'no compiler for 32-bit programs (g++-N-multilib), or nothing that runs them'
        if need.startswith('ksym:'):
            if self.symbols is None:
                self.symbols = set(line.split()[2] for line in open('/proc/kallsyms'))
            return None if need[5:] in self.symbols else 'no %s in /proc/kallsyms' % need[5:]
        if need.startswith('arch:'):
            return None if os.uname().machine == need[5:] else 'this machine is no %s' % need[5:]
        if need.startswith('!'):
            return None if self.lacks(need[1:]) else 'this kernel has %s' % need[1:]
        if need.startswith('file:'):
            return None if glob.glob(need[5:]) else 'no %s on this machine' % need[5:]
        if need == 'kmod':
            built = os.path.join(self.opt.build, 'kmod-' + os.uname().release, 'sondeline.ko')
            return None if os.path.exists(built) else 'no module was built for this kernel (test/vm/kmod.py)'
        if need.startswith('npm:'):
            return npm_lacks(need[4:])
        if need.startswith('pyenv:'):
            root = child.output(['pyenv', 'root'], 60 * SLOW)[1].strip() if shutil.which('pyenv') else ''
            return None if root and glob.glob('%s/versions/%s.*/bin/python3' % (root, need[6:])) else 'no Python %s from pyenv' % need[6:]
        if need.startswith('runtimes:'):
            folder = os.environ.get('SONDE_RUNTIMES') or os.path.expanduser('~/.cache/sonde-runtimes')
            return None if glob.glob(os.path.join(folder, need[9:])) else 'no %s in %s: test/workload/runtimes.py --fetch' % (need[9:], folder)
        if self.info is None:
            self.info = child.output([self.sonde, 'info'], 60 * SLOW)[1]
        return None if re.search(r'^\s*%s: yes' % re.escape(need), self.info, re.M) else 'this kernel has no %s' % need

    def swap_lacks(self):
        """A test that has something swapped out brings a file for it (test/run/swapped.py)."""
        if self.swap is None:
            code, out = child.output([sys.executable, os.path.join(TOP, 'test', 'run', 'swapped.py'), 'true'], 60 * SLOW)[:2]
            self.swap = '' if code == 0 else 'no file can be swapped to here: ' + (out.strip().splitlines() or ['?'])[-1]
        return self.swap or None

    def command(self, b, tmp):
        """(shell command, what puts values in the place of {words})"""
        number = str(next(self.numbers))
        words = {'{sonde}': shlex.quote(self.sonde), '{build}': self.opt.build, '{tmp}': tmp, '{top}': TOP, '{id}': number}
        for name in set(re.findall(r'\{copy:(\w+)\}', b.text())):
            own = name + number
            shutil.copy(os.path.join(self.opt.build, name), os.path.join(tmp, own))
            words.update({'{copy:%s}' % name: os.path.join(tmp, own), '{name:%s}' % name: own})
        sub = lambda s: re.sub(r'\{[a-z]+(:\w+)?\}', lambda m: words.get(m[0], m[0]), s)
        if 'RUN' in b:
            return sub(b['RUN'][0]), sub
        return '%s -q %s -e %s %s' % (shlex.quote(self.sonde), sub(b.one('ARGS')), shlex.quote(sub(b['PROG'][0])), sub(b.one('PARAMS'))), sub

    def run(self, b, tmp, cmd, sub):
        """(status, stdout, stderr, problem)"""
        timeout = float(b.one('TIMEOUT', '15')) * SLOW * {'TOGETHER': 3, 'FEW': 2, 'ALONE': 1}[b.company()]  # the others want the processors too
        env = dict(os.environ, BPFTRACE_COLOR='never')
        if 'WORKLOAD' in b or 'INT' in b:
            env['__BPFTRACE_NOTIFY_PROBES_ATTACHED'] = '1'
        # Appending: copy_file_range(2), which cat uses, does not lock the offset that it shares with sonde.
        out = open(os.path.join(tmp, 'stdout'), 'a+b')
        err = open(os.path.join(tmp, 'stderr'), 'a+b')
        p = child.start(cmd, shell=True, stdout=out, stderr=err, env=env, cwd=tmp, start_new_session=True)
        w, deadline, problem = None, time.monotonic() + timeout, None
        while p.poll() is None and time.monotonic() < deadline:
            if ('WORKLOAD' in b or 'INT' in b) and not w:
                if b'__BPFTRACE_NOTIFY_PROBES_ATTACHED' in open(out.name, 'rb').read():
                    w = child.start(sub(b.one('WORKLOAD', 'true')), shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp,
                                    start_new_session=True)
            elif 'INT' in b and w.poll() is not None:
                time.sleep(float(b['INT'][0]))
                os.killpg(p.pid, signal.SIGINT)
                try:
                    p.wait(max(1, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    break
            time.sleep(0.01)
        if p.poll() is None:
            problem = 'no end after %g s\n%s' % (timeout, child.doing(p.pid))
        rc = p.poll()
        for q in (p, w):
            if q:
                child.end(q)
        text = [open(f.name, 'rb').read().decode('utf-8', 'replace') for f in (out, err)]
        out.close(), err.close()
        return rc, text[0].replace('__BPFTRACE_NOTIFY_PROBES_ATTACHED\n', ''), text[1], problem

    def judge(self, b, rc, out, err, sub):
        want = int(b.one('RC', '0'))
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
            if not re.search(sub(x), out, re.M):
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


def wanted(opt, b):
    """Of all blocks, those of this loop (make test, check, check-extra); of those that --filter names, all."""
    if opt.extra:
        return 'EXTRA' in b
    return not (opt.short and 'LONG' in b) and not (opt.filter == '*' and 'EXTRA' in b)


def chosen(t, opt, paths):
    """The blocks that --filter names."""
    for path in paths:
        found, problems = blocks.blocks(path)
        for where, problem in problems:
            t.fail(where, problem)
        for b in found:
            if any(fnmatch.fnmatch(b.name, f) for f in opt.filter.split('|')) and wanted(opt, b):
                yield b


def shortened(text):
    """What a test printed, without the middle of a long text."""
    return text if len(text) <= 3000 else '%s\n[... %d characters ...]\n%s' % (text[:1500], len(text) - 3000, text[-1500:])


def attempt(r, b):
    """(what is wrong or None, what to print about it)"""
    with tempfile.TemporaryDirectory(prefix='sonde-test.', ignore_cleanup_errors=True) as tmp:
        cmd, sub = r.command(b, tmp)
        rc, out, err, problem = r.run(b, tmp, cmd, sub)
        problem = problem or r.judge(b, rc, out, err, sub)
        for line in open('/proc/mounts'):  # of a test that was killed
            if line.split()[1].startswith(tmp + '/'):
                subprocess.call(['umount', line.split()[1]])
    return problem, '%s\n%s\n-- stdout\n%s\n-- stderr\n%s' % (problem, cmd, shortened(out), shortened(err))


def run_block(t, r, b, second=False):
    """False: it has failed and may be run once more, with `second`."""
    why = next((w for w in (r.missing(n) for n in b.get('NEED', [])) if w), None)
    if why:
        t.skip(b.name, why)
        return True
    start, (tries, reason) = time.time(), b.retry()
    if second:
        tries, reason = 0, 'a second try'
    for n in range(tries + 1):
        problem, text = attempt(r, b)
        if not problem:
            t.ok(b.name, reason if n or second else None)
            break
        if n < tries:
            t.again(b.name, text)
    else:
        if not second and t.may_try_again():
            t.again(b.name, text)
            return False
        t.fail(b.name, text)
    t.took(b.name, time.time() - start, SLOW == 1)
    return True


def run_run(t, opt):
    r, second = Runner(opt), []
    all_of_them = list(chosen(t, opt, sorted(glob.glob(os.path.join(TOP, 'test', 'run', '*.t')))))
    for word, jobs in (('TOGETHER', opt.waiting), ('FEW', 2), ('ALONE', 1)):
        if word == 'FEW' and opt.beside:
            opt.built = child.Beside(opt.beside)
        start, those = time.time(), [b for b in all_of_them if b.company() == word]
        if jobs > 1:
            those.sort(key=lambda b: -float(b.one('TIMEOUT', '15')))  # what may take long does not begin last
        unit.side_by_side(jobs, lambda b: run_block(t, r, b) or second.append(b), those, lambda b: b.shared())
        t.say('# %d tests %s in %.0f s' % (len(those), {1: 'one by one', 2: 'two at a time'}.get(jobs, 'side by side'), time.time() - start))
    for b in second:
        run_block(t, r, b, True)


def run_guest(t, opt):
    paths = sorted(glob.glob(os.path.join(TOP, 'test', 'vm', '*.t'))) + sorted(glob.glob(os.path.join(TOP, 'test', 'run', '*.t')))
    if os.uname().machine != 'x86_64':
        paths = [p for p in paths if os.path.basename(p) not in ('tools.t', 'offcpu.t', 'wake.t')]  # they name x86's functions and glibc's own, of which Debian's arm64 has no symbols
    r = Runner(opt)
    for number, b in enumerate(chosen(t, opt, paths)):
        if number >= opt.first:
            t.say('start   %d %s' % (number, b.name))
            run_block(t, r, b) or run_block(t, r, b, True)
