"""Suite vm: the same tests in several kernels. Boots each guest, hands its results on, and says how each guest did.

In: GUESTS below; vm.py boots them. Out: one line a test in the tally, one summary a guest ("amd64 6.1: 80 passed, 0 failed, 2 skipped in 60 s").
Invariant: no guest holds the suite up. One that dies or stands still is booted again and goes on with the test it was in; a second time costs that test.
A guest's two processors take turns: side by side QEMU 7.2 has one run old or half-patched code now and then while the other patches it (HACKING.md).
So a guest takes one processor of this machine, and as many guests run at once as it has.
"""
import os, re, select, shlex, signal, subprocess, sys, tempfile, time
from runner import unit  # (test/runner)
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import kmod

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
STILL = 420      # seconds without a word from the guest: its own limits on tests are shorter
BOOTS = 4        # of one guest, at most
LIMIT = 1500     # seconds for one boot
UNTIL = float(os.environ.get('SONDE_VM_UNTIL', 'inf'))  # when all of it must have ended (seconds since 1970): what has not run by then is skipped
BAD = re.compile(r'Kernel panic|Oops[: ]|BUG: |WARNING: CPU|general protection fault|Unable to handle kernel')

# The tools on workloads that measure themselves: times, samples and stacks of both sides.
TOOLS = '|'.join(['offcpu: offcputime: ten sleeps*', 'offcpu: offcputime: kernel stack root*', 'offcpu: offcputime: a waiter*',
                  "wake: offwaketime: the lock's holder*", 'wake: offwaketime: a chain of four*', 'wake: offwaketime: who sends*', 'wake: wakeuptime: folded*',
                  'wake: wakeuptime: a timer*', 'tools: profile: header*', 'funccount: funccount: a function of the kernel', 'tools: profile: the samples*', 'tools: stackcount: calls*'])
# User stacks by .eh_frame, on arm64 with return addresses signed by pointer authentication. (Samples "at any" instruction: arm64's ld.so has no
# end marked in its _start, and stacks that end there do not count as whole.)
STACKS = '|'.join('stacks: %s*' % s for s in ('a command', 'a named', 'exec of itself', 'fork', 'blocked', 'behind', '600', 'return addresses', 'without tables'))
NEW = 'kernel:*|trim:*|stackcount:*|scale:*|verify:*|stacks: at any*|' + STACKS
# Only if SONDE_VM_GUESTS names them (make check-kernels does): the newest there are; 5.15 and 6.8, which many machines of Ubuntu run (6.6 is in no distribution that can be had here: of what
# 6.6 brought 6.8 has all); a kernel before bpf_loop, cookies and maple trees.
OTHERS = [
    ('amd64 sid', ['--release', 'sid'], '', NEW),
    ('amd64 5.15', ['--release', 'jammy-updates'], '', NEW),
    ('amd64 6.8', ['--release', 'noble-updates'], '', NEW),
    ('amd64 experimental', ['--release', 'experimental'], '', NEW),
    ('amd64 5.10', ['--release', 'bullseye'], '', 'kernel:*|lang:*|probes:*|verify:*|stacks: a command*|stacks: blocked*'),
    ('amd64 5.10 verifier', ['--release', 'bullseye'], '', 'verify:*'),  # in check-guests: before 6.3 the verifier wants each byte of the stack written that a helper reads
    ('riscv64 6.12', ['--arch', 'riscv64', '--share', TOP], 'riscv64', 'riscv:*|kernel: fentry*|kernel: fexit*|kernel: kprobe with*|kernel: kprobe in a*|probes: arguments of USDT*|stacks: a command*|stacks: a named*|stacks: a signal*|stacks: ustack(fp)*|stacks: behind pending*|stacks: exec of itself*|stacks: fork*|stacks: blocked*|stacks: 600 frames deep'),  # not in check-kernels: what it lacks is in ARCHITECTURE.md
]
# name, vm.py's options, folder of its sonde under the build folder, tests that make check (the first) and make check-guests (the others) run there (make check-vm: all)
GUESTS = [
    ('amd64 6.1', [], '', 'lwn:*|kernel:*|watch:*'),
    ('amd64 6.1 stacks', [], '', 'trim:*|stackcount:*|scale:*|packets:*'),
    ('amd64 6.1 tools', [], '', 'bttools:*|documents:*|types:*|iter:*|verify:*|' + TOOLS),
    ('amd64 6.12', ['--release', 'backports'], '', NEW),
    ('arm64 6.1', ['--arch', 'arm64', '--share', TOP], 'arm64', 'lwn:*|kernel:*|trim:*|stackcount:*|scale:*|lang:*|probes:*|watch:*|stacks: a signal*|stacks: ustack(fp)*|' + STACKS),
]


def guests(own):
    """own: each row has its own tests; else all of those of one kernel would run the same, and only the first does."""
    chosen, kernels = os.environ.get('SONDE_VM_GUESTS'), []
    for g in GUESTS + OTHERS:
        if (g[0] in chosen.split(',') if chosen else g in GUESTS) and (own or g[1] not in kernels):
            kernels.append(g[1])
            yield g
    kernel = os.environ.get('SONDE_VM_KERNEL')
    if kernel:
        yield 'kernel ' + os.path.basename(kernel), ['--kernel', kernel], '', 'kernel:*|trim:*|scale:*'


class Boot:
    """One boot of a guest: its lines until it ends. why: what ended it before its time, or None."""

    def __init__(self, args, inner):
        self.dir = tempfile.TemporaryDirectory(prefix='sonde-boot.')
        self.console = os.path.join(self.dir.name, 'console')
        self.p = subprocess.Popen([os.path.join(HERE, 'vm.py'), '--timeout', str(int(min(LIMIT, max(1, UNTIL - time.time())))), '--console', self.console] + args + ['--', inner],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=TOP)
        self.why = None

    def lines(self):
        buf = b''
        while True:
            if not select.select([self.p.stdout], [], [], STILL)[0]:
                self.why = 'nothing came from the guest for %d s' % STILL
                break
            data = os.read(self.p.stdout.fileno(), 65536)
            if not data:
                break
            buf += data
            *whole, buf = buf.split(b'\n')
            for line in whole:
                yield line.decode('utf-8', 'replace')
        self.p.send_signal(signal.SIGTERM)  # of no effect on one that has ended
        rc = self.p.wait()
        if not self.why and rc not in (0, 1):
            self.why = {124: 'no end after %d s' % LIMIT, 125: 'the guest ended without a status'}.get(rc, 'status %d' % rc)

    def log(self):
        """What the guest's kernel said, from its first complaint on; else the end of it."""
        try:
            text = open(self.console, errors='replace').read()
        except OSError:
            return '', False
        m = BAD.search(text)
        return (text[m.start():m.start() + 4000], True) if m else (text[-500:], False)


class Results:
    """Collects what one guest's lines say; goes on over several boots."""

    def __init__(self, tally, name):
        self.t, self.name = tally, name
        self.passed = self.failures = self.skipped = 0
        self.current, self.next = None, 0    # the test now running and the number of the one after it
        self.failed, self.why, self.over = None, [], False
        self.again, self.booted = None, {}   # why it was run again; of tests that were booted for again
        self.times, self.began = [], time.time()

    def fail(self, test, why):
        self.failures += 1
        self.t.fail(test, why)

    def skip(self, test, why):
        self.skipped += 1
        self.t.skip(test, why)

    def flush(self):
        if self.failed:
            self.fail('%s: %s' % (self.name, self.failed), '\n'.join(self.why))
        self.failed, self.why = None, []

    def line(self, line):
        m = re.match(r'start   (\d+) (.*)|ok      (.*)|skipped (.+?): (.*)|FAILED  (.*)|note    (.*)|(\d+ passed, .*)|# .*', line)
        if not m:
            if self.failed:
                self.why.append(line[8:] if line.startswith(' ' * 8) else line)
            return bool(self.failed)
        self.flush()
        number, test, ok, skipped, reason, failed, note, over = m.groups()
        if test:
            self.current, self.next, self.began, self.again = test, int(number) + 1, time.time(), self.booted.get(test)
        elif note:
            self.again = note.split(': run again: ')[-1]
            self.t.say('note    %s: %s' % (self.name, note))
        elif over:
            self.over = True
        elif ok or skipped or failed:
            self.times.append((time.time() - self.began, self.current))
            self.t.took('%s: %s' % (self.name, self.current), time.time() - self.began, False)
            self.current = None
            if ok:
                self.passed += 1
                self.t.ok('%s: %s' % (self.name, ok), self.again)
            elif skipped:
                self.skip('%s: %s' % (self.name, skipped), reason)
            else:
                self.failed = failed
        return True


def run_one(t, r, args, build, patterns):
    """One guest's tests into r, Results."""
    name, other = r.name, []
    for boot in range(BOOTS):
        inner = 'python3 %s/test/run.py --suite guest --build %s --filter %s --from %d --second-tries %d -v' % (
            TOP, build, shlex.quote(patterns), r.next, t.second_tries[0])
        b, other = Boot(args, inner), []
        for line in b.lines():
            if not r.line(line):
                other.append(line)
        r.flush()
        log, bad = b.log()
        if not r.over and not bad and time.time() >= UNTIL:
            return r.skip('vm: ' + name, 'the time was over before %s and what follows it' % (r.current or 'its first test'))
        if bad and r.over:
            r.fail('%s: kernel log' % name, log)
        if r.over:
            for seconds, test in sorted(r.times, reverse=True)[:10 if t.verbose else 0]:
                t.say('# %5.1f s %s' % (seconds, test))
            return
        missing = re.findall(r'^vm\.py: (no .*|apt.*)$', '\n'.join(other), re.M)
        if missing and not r.times:
            return r.skip('vm: ' + name, missing[0])
        why = '%s%s\n%s\n%s' % (b.why, ' while it ran' if r.current else '', '\n'.join(other[-5:]), log)
        if r.current and r.current not in r.booted:
            r.booted[r.current] = log.split('\n')[0] if bad else b.why
            t.say('note    %s: %s: booted again: %s' % (name, r.current, r.booted[r.current]))
            r.next -= 1
        elif r.current:
            r.fail('%s: %s' % (name, r.current), why)
        elif boot:
            break
        r.current = None
    r.fail('vm: ' + name, 'given up after %d tests: %s' % (len(r.times), why))


def module(t, name, build, args):
    """A module for tests that need one (NEED kmod): they are skipped where it cannot be built."""
    try:
        kmod.build(build, args[args.index('--release') + 1] if '--release' in args else None)
    except (kmod.vm.Missing, OSError, subprocess.SubprocessError) as e:
        t.say('# %s: no module: %s' % (name, e))


def run_guest(t, opt, name, args, folder, patterns):
    build, start, r = os.path.join(opt.build, folder).rstrip('/'), time.time(), Results(t, name)
    if TOP.startswith('/tmp/') and '--share' not in args:
        args = args + ['--share', TOP]  # the guest has a /tmp of its own
    if not os.path.exists(os.path.join(build, 'sonde')):
        r.skip('vm: ' + name, 'no %s/sonde' % build)
    elif time.time() > UNTIL - 60:
        r.skip('vm: ' + name, 'no time left')
    else:
        if '--arch' not in args and '--kernel' not in args:
            module(t, name, build, args)
        run_one(t, r, args, build, patterns)
    t.say('# %s: %d passed, %d failed, %d skipped in %.0f s' % (name, r.passed, r.failures, r.skipped, time.time() - start))


def run(t, opt):
    """opt.filter other than '*' chooses tests by name in every guest; SONDE_VM_GUESTS='amd64 6.1,arm64 6.1' chooses guests."""
    own = opt.filter == '*' and not os.environ.get('SONDE_VM_FULL')
    unit.side_by_side(os.cpu_count() or 1, lambda g: run_guest(t, opt, *g[:3], g[3] if own else opt.filter), guests(own))
    if not os.environ.get('SONDE_VM_GUESTS') and not os.environ.get('SONDE_VM_KERNEL'):
        t.skip('vm: 6.1 with fprobe', 'no package has this kernel: SONDE_VM_KERNEL=FILE names one built with CONFIG_FPROBE, virtio, 9p and overlayfs')
