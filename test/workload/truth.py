#!/usr/bin/env python3
"""How true user stacks are of programs that were hard: at moments in which the program is stopped, sonde's stack beside that of eu-stack, or of gdb, which
follows caller-saved registers and 32-bit libraries without symbols, address by address. Code without unwind tables has them in .debug_frame of a separate file that eu-stack finds and sonde does not read.

usage: truth.py SONDE [-n MOMENTS] [-b BUILD] [CASE ...]

Prints a line a case: how many stacks were whole, and how many equal. A case whose program is not here is skipped, with the reason. Exit status 1 when a case
is below 99 %."""
import argparse, os, queue, random, re, shutil, signal, subprocess, sys, tempfile, threading, time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CC = 'gcc -O2 -fomit-frame-pointer'
# the program `full` in two: `run`, and .debug/run.debug with its tables
SPLIT = ' && objcopy --only-keep-debug full run.debug && objcopy --strip-debug --add-gnu-debuglink=run.debug full run && mkdir .debug && mv run.debug .debug && ! readelf -SW run | grep debug_frame'
PLUGINS = '{cc} -D_GNU_SOURCE -o plugin.so -shared -fPIC {top}/test/workload/plugin.c && mkdir d && {cc} -D_GNU_SOURCE -o %s {top}/test/workload/%s.c -ldl'
# name, point of docs/truth.md, what must be there, how it is made (in an empty folder), command, seconds before the first moment
CASES = [
    ('recursion, 3,000 frames', 1, [], '', '{build}/deep recursion 3000 100000', 0.5),
    ('mutual recursion, 16,384 frames', 1, [], '', '{build}/deep mutual 16384 100000', 0.5),
    ('openssl aes-128-gcm', 2, ['openssl'], '', 'openssl speed -seconds 600 -evp aes-128-gcm -bytes 16384', 0.5),
    ('openssl sha512', 2, ['openssl'], '', 'openssl speed -seconds 600 -evp sha512 -bytes 16384', 0.5),
    ('python3 ssl and hashlib', 2, ['/usr/bin/python3'], '',
     '/usr/bin/python3 -c "import hashlib\nwhile 1: hashlib.pbkdf2_hmac(\'sha256\', b\'x\', b\'y\', 50000)"', 0.5),
    ('stack pointer kept elsewhere', 2, ['gcc'], '{cc} -g -DTABLES -o full {top}/test/workload/aligned.c' + SPLIT, './run 2000000000', 0.5),
    ('frameless code without tables', 3, ['gcc'],
     '{cc} -g -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-schedule-insns2 -o full {top}/test/workload/bare.c' + SPLIT, './run 2000000000', 0.5),
    ('100 libraries opened and closed', 4, ['gcc'], PLUGINS % ('plugins', 'plugins'), './plugins plugin.so d 100 1000000 2', 0.5),
    ('4,000 executable mappings', 5, ['gcc'], PLUGINS % ('manymaps', 'manymaps'), './manymaps plugin.so d 4000 600000', 2),
    ('32-bit code', 6, ['{build}/frames32'], '', '{build}/frames32 spin 100000000', 0.5),
    ('32-bit: signal handlers', 6, ['{build}/frames32'], '', '{build}/frames32 signal 1000000000', 0.5),
    ('signal handlers', 7, [], '', '{build}/frames signal 1000000000', 0.5),
    ('coroutines of makecontext', 8, [], '', '{build}/deep coroutines 100000', 0.5),
    ('a call as the last instruction', 8, ['gcc'], '{cc} -o lastcall {top}/test/workload/lastcall.c', './lastcall 2000000000', 0.5),
    ('threads asleep', 9, [], '', '{build}/sleepers kinds 50', 0.5),
]
GDB = ('stack pointer kept elsewhere', '32-bit code', '32-bit: signal handlers')
BEYOND = ('coroutines of makecontext',) # the oracle goes on behind the root
SHORT = ('4,000 executable mappings', '32-bit code', 'a call as the last instruction') # it ends before the root, sometimes or always
ASLEEP = ('threads asleep',) # all threads, by iter:task


def stopped(pid):
    """Stops the process; True when its first thread stands still."""
    os.kill(pid, signal.SIGSTOP)
    for _ in range(2000):
        with open('/proc/%d/stat' % pid) as f:
            if f.read().rsplit(')', 1)[1].split()[0] == 'T':
                return True
        time.sleep(0.001)
    return False


def by_eu_stack(pid, *options):
    """By thread."""
    out = subprocess.run(['eu-stack', '-n', '0', '-p', str(pid), *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120).stdout
    threads = {}
    for tid, text in re.findall(r'^TID (\d+):\n((?:#.*\n)*)', out.decode('utf-8', 'replace'), re.M):
        threads[int(tid)] = [int(x, 16) for x in re.findall(r'^#\d+ +0x([0-9a-f]+)', text, re.M)]
    return threads


def by_gdb(pid):
    """The first thread. Inlined calls have no address, nor has the kernel's code that a signal handler returns to: None."""
    out = subprocess.run(['gdb', '-batch', '-nx', '-ex', 'set backtrace past-main on', '-ex', 'p $pc', '-ex', 'bt', '-p', str(pid)],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120).stdout.decode('utf-8', 'replace')
    pc = [int(x, 16) for x in re.findall(r'^\$1 = .*?0x([0-9a-f]+)', out, re.M)]
    frames = [int(x, 16) if x else None for x in re.findall(r'^#\d+ +(?:0x([0-9a-f]+) in|<signal handler)', out, re.M)]
    return {pid: pc + [f for f in frames[frames[:1] == pc:] if f != 0]}


SCRIPT = 'tracepoint:sched:sched_switch /tid == %d && args.prev_state & 4/ { printf("[%%s]\\n", ustack(raw)) }'


class Sonde:
    """Takes a stack whenever the process's first thread is stopped."""

    def __init__(self, sonde, pid):
        self.p = subprocess.Popen([sonde, '-p', str(pid), '-e', SCRIPT % pid], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for line in self.p.stderr: # "Attached N probes"
            if line.startswith(b'Attached'):
                break
        threading.Thread(target=lambda: [None for _ in self.p.stderr], daemon=True).start()
        self.lines = queue.Queue()
        threading.Thread(target=lambda: [self.lines.put(l.decode().strip()) for l in self.p.stdout], daemon=True).start()

    def forget(self):
        """Events until now: a tracer's leaving lets a stopped thread run into its stop once more."""
        time.sleep(0.03)
        while not self.lines.empty():
            self.lines.get()

    def stack(self):
        """Frames leaf first, and whether it is whole. None: there was no event."""
        frames, whole = [], True
        while True:
            try:
                line = self.lines.get(timeout=5)
            except queue.Empty:
                return None, False
            if line == ']':
                return frames, whole
            if line == '[truncated]':
                whole = False
            elif re.match(r'^[0-9a-f]+$', line):
                frames.append(int(line, 16))

    def end(self):
        self.p.terminate()
        self.p.wait()


def asleep(sonde, pid):
    """Stacks of all threads of a stopped process."""
    script = r'iter:task { if (ctx.task.tgid == %d) { printf("TID %%d\n%%s\n", ctx.task.pid, ustack(raw)) } }' % pid
    out = subprocess.run([sonde, '-q', '-e', script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120).stdout.decode()
    threads, tid = {}, None
    for line in map(str.strip, out.splitlines()):
        if line.startswith('TID '):
            tid = int(line[4:])
            threads[tid] = [], True
        elif line == '[truncated]':
            threads[tid] = threads[tid][0], False
        elif line:
            threads[tid][0].append(int(line, 16))
    return threads


class Score:
    def __init__(self):
        self.moments = self.whole = self.equal = 0
        self.shown = None

    def add(self, name, ours, whole, theirs):
        self.moments += 1
        self.whole += whole
        if len(theirs) == len(ours):
            theirs = [b or a for a, b in zip(ours, theirs)]
        n = len(ours) if name in BEYOND else len(theirs) if name in SHORT else None
        same = len(theirs) > 0 and ours[:n] == theirs[:n]
        self.equal += same
        if not same and not self.shown:
            self.shown = (ours, theirs)


def compare(opt, name, p, score):
    """Stacks of process p at opt.n moments."""
    s = None if name in ASLEEP else Sonde(opt.sonde, p.pid)
    try:
        for _ in range(opt.n):
            if p.poll() is not None:
                break
            if s:
                s.forget()
            if not stopped(p.pid):
                continue
            ours = {p.pid: s.stack()} if s else asleep(opt.sonde, p.pid)
            theirs = by_gdb(p.pid) if name in GDB else by_eu_stack(p.pid, *(['-1'] if s else []))
            for tid, (frames, whole) in ours.items():
                if frames and frames[0] == theirs.get(tid, frames)[0]: # else it has run in between: not the same moment
                    score.add(name, frames, whole, theirs.get(tid, []))
            os.kill(p.pid, signal.SIGCONT)
            time.sleep(random.uniform(0.002, 0.02))
    finally:
        if s:
            s.end()


def run_case(opt, case):
    name, point, needs, make, command, settle = case
    sub = {'build': os.path.abspath(opt.build), 'top': TOP, 'cc': CC}
    for n in needs + ['gdb' if name in GDB else 'eu-stack']:
        if not shutil.which(n.format(**sub)):
            print('%2d %-34s skipped: there is no %s' % (point, name, n.format(**sub)), flush=True)
            return True
    score = Score()
    with tempfile.TemporaryDirectory(prefix='sonde-truth.') as tmp:
        if make and subprocess.run(make.format(**sub), shell=True, cwd=tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            print('%2d %-34s skipped: cannot be built here' % (point, name), flush=True)
            return True
        p = subprocess.Popen(['/bin/sh', '-c', 'exec ' + command.format(**sub)], cwd=tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        time.sleep(settle)
        try:
            compare(opt, name, p, score)
        finally:
            p.kill()
            p.wait()
    whole, equal = (100.0 * n / max(score.moments, 1) for n in (score.whole, score.equal))
    print('%2d %-34s %5d stacks %6.2f %% whole %6.2f %% equal' % (point, name, score.moments, whole, equal), flush=True)
    if score.shown and opt.v:
        ours, theirs = score.shown
        at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
        print('    first difference: frame %d of %d (theirs %d): %s, theirs %s' %
              (at, len(ours), len(theirs), ' '.join('%x' % a for a in ours[at:at + 4]), ' '.join('%x' % (a or 0) for a in theirs[at:at + 4])))
    return score.moments > 0 and min(whole, equal) >= 99


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('sonde')
    p.add_argument('-n', type=int, default=100)
    p.add_argument('-b', '--build', default=os.path.join(TOP, 'build'))
    p.add_argument('-v', action='store_true', help='show the first stack that differs')
    p.add_argument('cases', nargs='*')
    opt = p.parse_args()
    opt.sonde = os.path.abspath(opt.sonde)
    ok = True
    for case in CASES:
        if not opt.cases or any(c in case[0] for c in opt.cases):
            ok &= run_case(opt, case)
    return 0 if ok else 1


sys.exit(main())
