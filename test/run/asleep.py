#!/usr/bin/env python3
"""User stacks of threads that sleep (ustack in iter:task) against what is known of them.

usage: asleep.py SONDE eu PID       every thread of PID: the same program counters as eu-stack, frame for frame
       asleep.py SONDE chains PID   of `sleepers busy`: each whole stack is one that the program can have
       asleep.py SONDE stopped SYSCALL COMMAND...   COMMAND is stopped at each SYSCALL, and its threads' stacks printed; says at how many all were whole
"""
import os, re, signal, subprocess, sys, time

SONDE, WHAT = sys.argv[1:3]
PID = 0 if WHAT == 'stopped' else int(sys.argv[3])


def run(*args):
    p = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    sys.stderr.write(''.join(l + '\n' for l in p.stderr.splitlines() if 'WARN' in l or 'ERROR' in l))
    return p.stdout


def script(body):
    return run(SONDE, '-q', '-e', 'config = { language_frames = off } iter:task { if (ctx.task.tgid == %d) { %s } }' % (PID, body))


def by_thread(text, frame):
    out, at = {}, None
    for line in text.splitlines():
        head, pc = re.match(r'TID (\d+)', line), re.match(frame, line)
        if head:
            at = out.setdefault(int(head.group(1)), [])
        elif pc:
            at.append(int(pc.group(1), 16))
    return out


def mappings():
    for line in open('/proc/%d/maps' % PID):
        m = re.match(r'(\w+)-(\w+) ..x. (\w+)', line)
        if m:
            yield [int(g, 16) for g in m.groups()]


def eu():
    ours = by_thread(script(r'printf("TID %d\n%s\n", ctx.task.pid, ustack(raw));'), r' *(?:0x)?([0-9a-f]+)$')
    theirs = by_thread(run('eu-stack', '-p', str(PID)), r'#\d+ +0x([0-9a-f]+)')
    maps, frames = list(mappings()), 0
    for tid, want in theirs.items():
        have = ours.get(tid, [])
        offsets = [next((pc - start + off for start, end, off in maps if start <= pc < end), pc) for pc in want]
        if have != want and have != offsets: # as addresses or as offsets in files
            print('thread %d: %s, eu-stack %s (%s in the file)' % (tid, [hex(x) for x in have], [hex(x) for x in want], [hex(x) for x in offsets]))
            return
        frames += len(have)
    print('%d threads, %s frames, all the same' % (len(theirs), 'many' if frames >= 5 * len(theirs) else frames))


def chains():
    seen = 0
    for part in re.split(r'^@\[', script('if (ctx.task.comm == "short") { @[ustack] = count() }'), flags=re.M)[1:]:
        names = [m.group(1) for m in re.finditer(r'^ +(\S+)\+\d+$', part, re.M)]
        stack = ';'.join(reversed(names))
        if names and not re.match(r'(clone3?|__clone3?);start_thread;shorts(;via_a)?(;via_b(;in_(nanosleep|poll)(;\w+)*)?)?$', stack):
            print('no such stack:', stack)
            return
        seen += bool(names)
    print('all of these' if seen else 'no stacks')


def state(pid):
    try:
        return re.search(r'^State:\t(\w)', open('/proc/%d/status' % pid).read(), re.M).group(1)
    except OSError:
        return 'Z'


def comes_to_a_stop(pid):
    until = time.monotonic() + 10 # there are programs that do not end by themselves
    while state(pid) not in 'TZ' and time.monotonic() < until:
        time.sleep(0.002)
    return state(pid) == 'T'


def stopped(syscall, *command):
    p = subprocess.Popen([SONDE, '-q', '--unsafe', '-c', ' '.join(command), '-e', 'begin { printf("%%d\\n", cpid) } tracepoint:syscalls:sys_enter_%s /pid == cpid/ { signal("STOP") }' % syscall],
                         stdout=subprocess.PIPE, universal_newlines=True)
    pid, whole, stops = int(p.stdout.readline()), 0, 0
    while comes_to_a_stop(pid):
        got = subprocess.run([SONDE, '-q', '--why-incomplete', '--dwarf-pid', str(pid), '-e', 'iter:task { if (ctx.task.tgid == %d) { printf("%%s\\n", ustack) } }' % pid],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True).stdout
        print(got)
        stops += 1
        whole += '(100.00 %)' in got
        os.kill(pid, signal.SIGCONT)
    if state(pid) != 'Z':
        os.kill(pid, signal.SIGKILL)
    p.wait()
    print('%d of %d whole' % (whole, stops))


{'eu': eu, 'chains': chains, 'stopped': stopped}[WHAT](*sys.argv[3:] if WHAT == 'stopped' else ())
