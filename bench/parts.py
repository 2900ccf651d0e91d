"""Sections of bench/run that need more than a script beside a script: generated code beside C, thousands of probes, names, tables, reports, a whole machine.

In: the build folder and a number of rounds. Out: rows (rows.py). Each has its peer in the same run: the same program by clang -O2, bpftrace, eu-addr2line,
readelf, perf. Memory is resident memory at its highest (VmHWM) and what the kernel says of maps and programs (/proc/PID/fdinfo).
"""
import contextlib, os, re, shutil, signal, statistics, subprocess, tempfile, time
import kernel, rows

HERE = os.path.dirname(os.path.abspath(__file__))
ATTACHED = b'__BPFTRACE_NOTIFY_PROBES_ATTACHED'
ENV = dict(os.environ, __BPFTRACE_NOTIFY_PROBES_ATTACHED='1', BPFTRACE_MAX_PROBES='20000', BPFTRACE_MAP_KEYS_MAX='200000', BPFTRACE_MAX_MAP_KEYS='200000')
TICKS = os.sysconf('SC_CLK_TCK')


@contextlib.contextmanager
def running(*cmd, **kw):
    """A command in a session of its own, ended by SIGINT."""
    kw.setdefault('stdout', subprocess.DEVNULL)
    p = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, **kw)
    try:
        yield p
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(p.pid, signal.SIGINT)
        try:
            p.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()


def cpu(pid):
    """Seconds of processor time of a process and of its children that have ended."""
    try:
        f = open('/proc/%d/stat' % pid).read().rsplit(')', 1)[1].split()
    except OSError:
        return 0
    return sum(int(x) for x in f[11:15]) / TICKS


def resident(pid):
    """MB at the highest."""
    with contextlib.suppress(OSError, AttributeError):
        return int(re.search(r'VmHWM:\s+(\d+)', open('/proc/%d/status' % pid).read()).group(1)) / 1024


def in_kernel(pid):
    """MB of maps and programs that a process holds, but for maps that only maps hold."""
    total = 0
    with contextlib.suppress(OSError):
        for fd in os.listdir('/proc/%d/fdinfo' % pid):
            with contextlib.suppress(OSError):
                m = re.search(r'^memlock:\s+(\d+)', open('/proc/%d/fdinfo/%s' % (pid, fd)).read(), re.M)
                total += int(m.group(1)) if m else 0
    return total / 1e6


# ---- generated code
SAME = ['@ = count();', '@[pid, comm] = count();', '@ = hist(nsecs);', '@[tid] = nsecs;']  # by number, as in peer.bpf.c


def clang(build, workload):
    """The same program in C by clang -O2: instructions as the kernel runs them, and ns a run, side by side."""
    rows.head('generated code', 'clang -O2')
    with tempfile.TemporaryDirectory() as folder, kernel.counting():
        subprocess.run(['cc', '-O2', '-o', folder + '/peer', HERE + '/peer.c', '-lbpf'], check=True)
        for i, action in enumerate(SAME):
            obj = '%s/%d.o' % (folder, i)
            arch = subprocess.run(['cc', '-print-multiarch'], stdout=subprocess.PIPE).stdout.decode().strip()
            subprocess.run(['clang', '-O2', '-g', '-target', 'bpf', '-DPROG=%d' % i, '-I/usr/include/' + arch, '-c', HERE + '/peer.bpf.c', '-o', obj], check=True)
            script = 'tracepoint:syscalls:sys_enter_getppid { %s }' % action
            best, size = [None, None], [None, None]
            with running(workload, '3'), contextlib.ExitStack() as stack:
                progs = []
                for cmd in [(build + '/sonde', '-e', 'tracepoint:syscalls:sys_enter_getppid { @warm = count(); }')] + [(build + '/sonde', '-e', script), (folder + '/peer', obj)] * 2:
                    progs.append(kernel.busiest(stack.enter_context(running(*cmd)).pid, 20))
                costs = kernel.costs(progs, 3)[1:]
                for k in (0, 1):
                    best[k] = min(filter(None, costs[k::2]), default=None)
                    size[k] = progs[1 + k].instructions() if progs[1 + k] else None
                for p in filter(None, progs):
                    p.close()
            rows.show(action, best[0], best[1], 'ns', 'clang: ns of ' + action)
            rows.show('  instructions', size[0], size[1], '  ', 'clang: instructions of ' + action)


# ---- many probes
def until_attached(cmd):
    """The process, and seconds until its probes are attached; None: they are not."""
    start = time.monotonic()
    p = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=ENV)
    text = b''
    while ATTACHED not in text:
        data = os.read(p.stdout.fileno(), 65536)
        if not data:
            p.wait()
            return None, None
        text += data
    return p, time.monotonic() - start


def attach_detach(cmd):
    p, attach = until_attached(cmd)
    if not p:
        return None, None
    while True: # bpftrace 0.17 does not see a signal that comes while it does not wait for events
        start = time.monotonic()
        p.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            p.communicate(timeout=10)
            return attach, time.monotonic() - start


def probes(build):
    """Microseconds a uprobe: 10,000 of ours, and of bpftrace as many as it attaches in bearable time, one by one."""
    many, few = 10000, 50
    rows.head('attaching uprobes (bpftrace: %d of them)' % few)
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + '/many.s', 'w') as f:
            f.write('.section .note.GNU-stack,"",%progbits\n.text\n')
            for name in ['%s%d' % ('few' if i < few else 'more', i) for i in range(many)] + ['main']:
                f.write('.globl {0}\n.type {0}, %function\n{0}:\nnop\nret\n.size {0}, . - {0}\n'.format(name))
        subprocess.run(['cc', '-o', folder + '/many', folder + '/many.s'], check=True)
        ours = attach_detach([build + '/sonde', '-e', 'uprobe:%s/many:few*,uprobe:%s/many:more* { @ = count(); }' % (folder, folder)])
        theirs = attach_detach(['bpftrace', '-e', 'uprobe:%s/many:few* { @ = count(); }' % folder])
    for what, a, b in zip(('attach', 'detach'), ours, theirs):
        rows.show('%s, a probe of %d' % (what, many), a and a * 1e6 / many, b and b * 1e6 / few, 'us', 'uprobes: ' + what)


# ---- names
FILES = ['/lib/x86_64-linux-gnu/libc.so.6', '/lib/aarch64-linux-gnu/libc.so.6', '/usr/bin/perl']


def symbols(build):
    """100,000 random addresses of a file, each in a function: sonde's reader from opening the file on, and eu-addr2line, which prints them."""
    subprocess.run(['make', '-s', 'BUILD=' + build, build + '/bench/sym_bench'], check=True)
    rows.head('names of 100,000 addresses', 'eu-addr2line')
    for path in filter(os.path.exists, FILES):
        with tempfile.NamedTemporaryFile('w') as f:
            f.write(subprocess.run([build + '/bench/sym_bench', '--addresses', path], stdout=subprocess.PIPE, check=True).stdout.decode())
            f.flush()
            out = subprocess.run([build + '/bench/sym_bench', path], stdout=subprocess.PIPE, check=True).stdout.decode()
            m = re.search(re.escape(path) + r' .*load\s+([\d.]+) ms.*first look-ups\s+([\d.]+) ns', out)
            ours = float(m.group(1)) + float(m.group(2)) / 10 if m else None  # 100,000 of them: ns / 10 = ms
            theirs = None
            if shutil.which('eu-addr2line'):
                p = subprocess.Popen(['eu-addr2line', '-f', '-e', path], stdin=open(f.name), stdout=subprocess.DEVNULL)
                used = os.wait4(p.pid, 0)[2]
                p.returncode = 0
                theirs = (used.ru_utime + used.ru_stime) * 1000
        rows.show(path, ours, theirs, 'ms', 'names: ' + os.path.basename(path))


# ---- tables
def tables(build):
    """Rows of everything that is mapped: processor time of sonde's start with all of it, beside readelf, which works out the same rows to print them."""
    subprocess.run(['make', '-s', 'BUILD=' + build, build + '/bench/unwind_bench'], check=True)
    rows.head('unwind tables', 'readelf')
    out = subprocess.run([build + '/bench/unwind_bench', '--machine'], stdout=subprocess.PIPE, check=True).stdout.decode()
    print(out.strip())
    m = re.search(r'([\d.]+) MB of records.*\(([\d.]+) ms of CPU', out)
    files = mapped()
    theirs = 0
    for path in files:
        p = subprocess.Popen(['readelf', '-wF', path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        used = os.wait4(p.pid, 0)[2]
        p.returncode = 0
        theirs += (used.ru_utime + used.ru_stime) * 1000
    rows.show('everything mapped: %d files' % len(files), float(m.group(2)) if m else None, theirs, 'ms of CPU', 'tables: everything mapped')
    size = sum(os.path.getsize(f) for f in files) / 1e6
    rows.show('  memory of the tables (peer: size of the files)', float(m.group(1)) if m else None, size, 'MB', 'tables: memory by size of files')


def mapped():
    """Files that some process maps as code."""
    found = set()
    for pid in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError):
            for line in open('/proc/%s/maps' % pid):
                f = line.split(None, 5)
                if len(f) == 6 and 'x' in f[1] and f[5].startswith('/') and os.path.isfile(f[5].rstrip('\n')):
                    found.add(f[5].rstrip('\n'))
    return sorted(found)


# ---- reports
KEYS = 100000


def one_report(cmd, workload):
    """Milliseconds from Ctrl-C to the end of a report of KEYS keys: wall clock and processor time; and lines of it."""
    with running(workload, '3'):
        p, _ = until_attached(cmd)
        if not p:
            return None, None, 0
        text = b''
        while b'full' not in text:
            text += os.read(p.stdout.fileno(), 4096)
    before, start = cpu(p.pid), time.monotonic()
    p.send_signal(signal.SIGINT)
    out = p.stdout.read()
    used = os.wait4(p.pid, 0)[2]
    p.returncode = 0
    return (time.monotonic() - start) * 1000, (used.ru_utime + used.ru_stime - before) * 1000, out.count(b'@k[')


def report(build, workload):
    rows.head('report of %d keys' % KEYS)
    script = 'tracepoint:syscalls:sys_enter_getppid { @n++; if (@n <= %d) { @k[@n, comm] = nsecs; } if (@n == %d) { printf("full\\n"); } }' % (KEYS, KEYS + 1)
    ours = one_report([build + '/sonde', '-e', 'config = { max_map_keys = 200000 } ' + script], workload)
    theirs = one_report(['bpftrace', '-e', script], workload)
    print('keys that were printed: %d, %d' % (ours[2], theirs[2]))
    rows.show('from Ctrl-C to its end', ours[0], theirs[0], 'ms', 'report: wall clock')
    rows.show('  processor time', ours[1], theirs[1], 'ms', 'report: processor time')


# ---- a whole machine
BUSY = [('python3', '-c', 'while 1: sorted(str(i) for i in range(999))'), ('perl', '-e', '1 while join "", map { $_ * 2 } 1 .. 999'), ('sh', '-c', 'while :; do ls / >/dev/null; done')]
SECONDS = 6


def whole_machine(build):
    """A profiler at 499 Hz over everything, seconds of work for it: processor time until its folded stacks are there, memory."""
    rows.head('the whole machine at 499 Hz, %d s' % SECONDS, 'perf')
    with tempfile.TemporaryDirectory() as folder, kernel.counting(), contextlib.ExitStack() as stack:
        for cmd in BUSY:
            stack.enter_context(running(*cmd))
        time.sleep(1)
        p, _ = until_attached([build + '/sonde', 'profile', '-F', '499', '-f'])
        time.sleep(SECONDS)
        in_bpf = sum(prog.read()[0] for prog in kernel.programs(p.pid)) / 1e9
        maps, rss = in_kernel(p.pid), resident(p.pid)
        p.send_signal(signal.SIGINT)
        stacks = len(p.stdout.read().splitlines())
        used = os.wait4(p.pid, 0)[2]
        p.returncode = 0
        print('%d different stacks; %.2f s of sonde, %.2f s of its program in the kernel; %.1f MB of maps and programs (without the tables)' % (
            stacks, used.ru_utime + used.ru_stime, in_bpf, maps))
        theirs = [None, None]
        if shutil.which('perf'):
            data = folder + '/perf.data'
            p = subprocess.Popen(['perf', 'record', '-q', '-F', '499', '-a', '-g', '-e', 'cpu-clock', '-o', data], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(SECONDS)
            theirs[1] = resident(p.pid)
            p.send_signal(signal.SIGINT)
            record = os.wait4(p.pid, 0)[2]
            p.returncode = 0
            p = subprocess.Popen(['perf', 'script', '-i', data], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            text = os.wait4(p.pid, 0)[2]
            p.returncode = 0
            theirs[0] = record.ru_utime + record.ru_stime + text.ru_utime + text.ru_stime
            print('perf: %.2f s to record, %.2f s to print its stacks, %.1f MB of data' % (
                record.ru_utime + record.ru_stime, text.ru_utime + text.ru_stime, os.path.getsize(data) / 1e6))
    rows.show('processor time, program included (perf -g, script)', (used.ru_utime + used.ru_stime + in_bpf) * 1000, theirs[0] and theirs[0] * 1000, 'ms', 'whole machine: processor time')
    rows.show('  resident memory (perf record)', rss, theirs[1], 'MB', 'whole machine: memory')
