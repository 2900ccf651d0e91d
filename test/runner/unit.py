"""Suites of test programs: unit (build/test/*_test), asan (the same under sanitizers, and the tools), fuzz.

In: programs that print TAP (test/unit/t.h). A test that samples or times says so in its source, TEST_RETRY(name, reason): when it fails it is run once
more, by itself. Programs whose source says T_FEW(reason) run two at a time when the others have ended, then those that say T_ALONE(reason) one by one;
--short leaves out those that say T_LONG(reason).
"""
import concurrent.futures, fnmatch, glob, os, re, tempfile, threading, time
from . import child

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WRONG = re.compile(r'(ERROR: \w+Sanitizer|runtime error:|Assertion .* failed).*')
LINE = re.compile(r'(not )?ok \d+ (\S+)(?: # (SKIP|RETRY) (.*))?$')


def side_by_side(jobs, work, items, shared=lambda item: ()):
    """work(item) for each, jobs at a time, in order; of two whose shared(item) have a word in common one waits for the other, and lets others go first."""
    waiting, used, lock = [(i, set(shared(i))) for i in items], set(), threading.Condition()

    def take():
        with lock:
            while waiting:
                for n, (item, words) in enumerate(waiting):
                    if not words & used:
                        used.update(words)
                        return waiting.pop(n)
                lock.wait()
        return None

    def worker():
        for item, words in iter(take, None):
            try:
                work(item)
            finally:
                with lock:
                    used.difference_update(words)
                    lock.notify_all()

    with concurrent.futures.ThreadPoolExecutor(max(1, jobs)) as pool:
        for f in [pool.submit(worker) for _ in range(max(1, jobs))]:
            f.result()


def says(path, macro):
    source = os.path.join(TOP, 'test', 'unit', os.path.basename(path) + '.c')
    return re.search(r'^%s\("' % macro, open(source).read(), re.M) is not None


def again(path, case, env):
    rc, text = child.output([path, case], 300, cwd=TOP, env=env)
    return rc == 0 and re.search(r'^ok \d+', text, re.M) is not None


def results(t, path, timeout, env=None):
    """Runs one program: (test or None for the program as a whole, 'ok'|'skip'|'fail', text, reason of a retry) for each of its tests."""
    rc, text = child.output([path], timeout, cwd=TOP, env=env)
    notes, seen, failing = [], 0, False
    for line in text.splitlines():
        m = LINE.match(line)
        if not m:
            notes.append(line)
            continue
        failed, case, what, why = m.groups()
        seen, failing = seen + 1, failing or failed
        if what == 'SKIP':
            yield case, 'skip', why, None
        elif failed and (what == 'RETRY' or t.may_try_again()):
            t.again('%s: %s' % (os.path.basename(path), case), ''.join(notes[-1:]))
            yield case, 'ok' if again(path, case, env) else 'fail', '\n'.join(notes[-20:]), why or 'a second try'
        else:
            yield case, 'fail' if failed else 'ok', '\n'.join(notes[-20:]), None
        notes = []
    wrong = WRONG.search(text)
    if rc is None:
        yield None, 'fail', 'no end after %d s; %d tests had ended\n%s' % (timeout, seen, '\n'.join(notes[-20:])), None
    elif wrong:
        yield None, 'fail', text[wrong.start():wrong.start() + 2500], None
    elif rc != (1 if failing else 0) or not seen:
        yield None, 'fail', 'ended with status %d after %d tests\n%s' % (rc, seen, '\n'.join(notes[-20:])), None


def run_program(t, path):
    """Each of its tests is one of ours."""
    base, start = os.path.basename(path), time.time()
    for case, what, text, why in results(t, path, 600):
        name = '%s: %s' % (base, case) if case else base
        t.skip(name, text) if what == 'skip' else t.fail(name, text) if what == 'fail' else t.ok(name, why)
    t.took(base, time.time() - start)


def run_unit(t, opt):
    paths = [p for p in sorted(glob.glob(os.path.join(opt.build, 'test', '*_test'))) if fnmatch.fnmatch(os.path.basename(p), opt.filter)
             and not (opt.short and says(p, 'T_LONG'))]
    few, alone = ([p for p in paths if says(p, word)] for word in ('T_FEW', 'T_ALONE'))
    for jobs, those in ((opt.jobs, [p for p in paths if p not in few + alone]), (2, few), (1, alone)):
        side_by_side(jobs, lambda p: run_program(t, p), those)


# ---- asan: what reads untrusted input or builds trees (the Makefile names the tests), and the tools, a second each
# ({W}: a process that waits, spins, locks and makes threads)
ASAN_TOOLS = ['profile -p {W} -F 99 --inlines --lines --why-incomplete -d -a 1', 'offcputime --check -p {W} 1', 'offcputime -f -i 1 -p {W} 2',
              'offwaketime --chain 3 --flame f.svg -p {W} 1', 'wakeuptime --pprof f.pb 1', 'stackcount -T -D 1 -P -p {W} c:clock_nanosleep', 'profile --nosuch', 'calls --help', 'help tools',
              '--folded -i 1 --duration 2 --flame g.svg --pprof g.pb -e profile:hz:99{@[ustack,kstack,comm,cpu]=count()}interval:ms:300{print(@);clear(@)}']


# No leak is left out: a suppression (LSAN_OPTIONS=suppressions=FILE) would need its reason in that file.
ASAN_ENV = {'SONDE_PATH': os.path.join(TOP, 'test', 'run'), 'ASAN_OPTIONS': 'detect_leaks=1', 'UBSAN_OPTIONS': 'print_stacktrace=1'}


def run_asan_tools(t, opt, env):
    sonde, waits = os.path.join(opt.build + '-asan', 'sonde'), os.path.join(opt.build, 'waits')
    if not os.path.exists(sonde) or not os.path.exists(waits):
        return t.skip('asan: tools', 'no %s or %s' % (sonde, waits))
    with tempfile.TemporaryDirectory(prefix='sonde-asan.') as tmp:
        work = child.start([waits, 'mix', '120000'], cwd=tmp, start_new_session=True)
        for tool in ASAN_TOOLS:
            name = 'asan: sonde %s' % tool
            if not fnmatch.fnmatch(name, opt.filter):
                continue
            rc, text = child.output([sonde] + tool.replace('{W}', str(work.pid)).split(), 60, cwd=tmp, env=env)
            bad = WRONG.search(text)
            if rc is None:
                t.fail(name, 'no end after 60 s\n' + text[-1500:])
            elif bad or rc not in ((2,) if 'nosuch' in tool else (0, 1) if '--check' in tool else (0,)):  # 1: times that differ, as they may in a slow build
                t.fail(name, text[bad.start():bad.start() + 2500] if bad else 'exit status %d\n%s' % (rc, text[-1500:]))
            else:
                t.ok(name)
        child.end(work)


def run_asan_program(t, path, env):
    """The whole program is one of ours: its tests have been counted in suite unit."""
    name, retry, bad = 'asan: ' + os.path.basename(path), [], []
    for case, what, text, why in results(t, path, 300, env):
        if what == 'fail':
            bad.append('%s\n%s' % (case or 'the program', text))
        elif what == 'ok' and why:
            retry.append(why)
    t.fail(name, '\n'.join(bad)) if bad else t.ok(name, ', '.join(retry))


def run_asan(t, opt):
    env = dict(os.environ, **ASAN_ENV)
    run_asan_tools(t, opt, env)
    paths = [p for p in sorted(glob.glob(os.path.join(opt.build + '-asan', 'test', '*_test'))) if fnmatch.fnmatch('asan: ' + os.path.basename(p), opt.filter)]
    side_by_side(opt.jobs, lambda p: run_asan_program(t, p, env), paths)


# ---- fuzz: each target for a bounded time, from its corpus
def run_fuzz(t, opt):
    env = dict(os.environ, **ASAN_ENV)  # undefined behaviour is told, and does not end the program by itself
    def target(path):
        name = 'fuzz: ' + os.path.basename(path)[:-5]
        corpus = os.path.join(TOP, 'test', 'fuzz', 'corpus', name[6:])
        with tempfile.TemporaryDirectory(prefix='sonde-fuzz.') as tmp:
            cmd = [path, '-max_total_time=%d' % opt.fuzz_seconds, '-timeout=20', '-rss_limit_mb=2048', '-artifact_prefix=%s/' % tmp, tmp]
            rc, text = child.output(cmd + ([corpus] if os.path.isdir(corpus) else []), opt.fuzz_seconds + 300, env=env)
        bad = WRONG.search(text)
        if bad or rc != 0:
            t.fail(name, text[bad.start():bad.start() + 2500] if bad else text[-2500:] if rc is not None else 'no end')
        else:
            t.ok(name)
    side_by_side(opt.jobs, target, sorted(glob.glob(os.path.join(opt.build + '-asan', '*_fuzz'))))
