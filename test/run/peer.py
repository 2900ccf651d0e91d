#!/usr/bin/env python3
"""Does another program's tool see the same times as ours?

usage: peer.py SONDE WORKLOAD NAME PEER-COMMAND OUR-OPTIONS [MORE]   (PID in both is the workload's process)

Runs both on one workload and prints "agrees" if the times of the thread NAME (which waits) are within 1 %, and what both say where they are not. The peer's
may be MORE % longer: one that ends a wait when the woken thread's processor hears of it measures that too, which takes long where a hypervisor has halted it.
A peer that does not run on this kernel is named with its message.
"""
import os, re, signal, shlex, subprocess, sys
from same import READY, start, wait_until


def attached(pid):
    """It has a link or a perf event open."""
    names = []
    for fd in os.listdir('/proc/%d/fd' % pid):
        try:
            names.append(os.readlink('/proc/%d/fd/%s' % (pid, fd)))
        except OSError:
            pass
    return any(re.match(r'anon_inode:(bpf[-_]?link|\[perf_event\])', n) for n in names)


def total(path, name):
    """Of the blocks of a report whose footer names the thread."""
    blocks = re.split(r'\n\s*\n', open(path, errors='replace').read())
    mine = re.compile(r'^\s+(?:-|target:)\s+%s(?: \(?\d+\)?)?$' % re.escape(name), re.M)
    return sum(int(v) for b in blocks if mine.search(b) for v in re.findall(r'^\s+(\d+)$', b, re.M)[-1:])


def main():
    sonde, workload, name, peer, ours = sys.argv[1:6]
    more = int((sys.argv[6:] or ['1'])[0])
    work = subprocess.Popen(['sh', '-c', 'kill -STOP $$; exec ' + workload], stdout=subprocess.DEVNULL)
    args = [shlex.split(c.replace('PID', '%d' % work.pid)) for c in (peer, ours)]
    with open('peer.err', 'wb') as err:
        a = subprocess.Popen(args[0], stdout=open('peer.out', 'wb'), stderr=err, stdin=subprocess.DEVNULL)
    b = start([sonde] + args[1], 'ours.out')
    wait_until(lambda: b.poll() is not None or READY in open('ours.out', 'rb').read())
    wait_until(lambda: a.poll() is not None or attached(a.pid))
    failed = a.poll() is not None
    work.send_signal(signal.SIGCONT)
    work.wait()
    for p in (a, b):
        p.send_signal(signal.SIGINT)
    a.wait(60), b.wait(60)
    if failed:
        print('%s does not run here: %s' % (args[0][0], open('peer.err', errors='replace').read().strip()[-200:]))
        return
    x, y = total('peer.out', name), total('ours.out', name)
    if x and -x / 100 <= x - y <= x * more / 100:
        print('agrees')
    else:
        print('peer %d us, ours %d us\n%s\n%s' % (x, y, *(open(f, errors='replace').read() for f in ('peer.out', 'ours.out'))))


main()
