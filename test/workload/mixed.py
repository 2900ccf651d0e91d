#!/usr/bin/env python3
"""mixed.py SONDE SECONDS [HZ]: profiles the whole machine while mixed.sh runs, and says how many user stacks of the load's processes were whole, for
each program, and every exception with its reason. Stacks that sonde followed to the root by a guess count apart: node's, whose code made at run time
has frame pointers and nothing else. Exit status 1 when less than 99.5 % are whole (of node's: whole or guessed) or a program is missing from the profile.
With bpftrace in place of SONDE: how many stacks of that one end at a thread's root (no exceptions, no verdict)."""
import collections, json, os, re, signal, subprocess, sys, tempfile, threading, time

PROGRAMS = ['python3', 'perl', 'node', 'openssl', 'sqlite3', 'nginx']
ROOTS = re.compile(r'_start|__libc_start_(main|call_main).*|main|_*clone3?|start_thread')
here = os.path.dirname(os.path.abspath(__file__))


def members(session, stop, pids):
    """Adds the pids of the load's session; most of them live for a part of a second."""
    while not stop.wait(0.03):
        for pid in filter(str.isdigit, os.listdir('/proc')):
            if int(pid) not in pids:
                try:
                    if os.getsid(int(pid)) == session:
                        pids.add(int(pid))
                except OSError:
                    pass


def under_load(cmd, secs):
    """(stdout of cmd, pids of the load, programs that are not installed)"""
    pids, stop, missing = set(), threading.Event(), set()
    with tempfile.TemporaryDirectory(prefix='sonde-mixed.') as tmp:
        load = subprocess.Popen([os.path.join(here, 'mixed.sh'), tmp, str(secs + 30)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                start_new_session=True)
        threading.Thread(target=members, args=(load.pid, stop, pids), daemon=True).start()
        for line in load.stdout:
            if line == 'ready\n':
                break
            missing.add(line.split()[-1])
        time.sleep(1)
        try:
            out = subprocess.run(cmd, stdout=subprocess.PIPE, text=True, errors='replace', timeout=secs + 60).stdout
        finally:
            stop.set()
            os.killpg(load.pid, signal.SIGTERM)
            load.wait()
    return out, pids, missing


def sonde(path, secs, hz):
    """(stacks, cut stacks, guessed stacks) by program"""
    out, pids, missing = under_load([path, 'profile', '-F', hz, '-U', '--why-incomplete', '--json', str(secs)], secs)
    total, cut, guessed, machine = collections.Counter(), collections.Counter(), collections.Counter(), None
    for r in (json.loads(l) for l in out.splitlines() if l.startswith('{')):
        if r['type'] == 'stack' and r['pid'] in pids:
            total[r['comm']] += r['value']
        machine = r['data'] if r['type'] == 'user_stacks' else machine
    for kind, verb, count in (('incomplete', 'ends in', cut), ('guesses', 'goes on by a guess from', guessed)):
        for x in machine[kind]:
            if x['pid'] in pids:
                count[x['comm']] += x['count']
                place = '%s [%s]' % (x.get('symbol', '?'), os.path.basename(x.get('module', '?')))
                print('%d %s (%d) %s %s: %s' % (x['count'], x['comm'], x['pid'], verb, place, x['reason']))
    n = max(1, machine['stacks'])
    print('the machine: %d stacks, %.2f %% whole, %.2f %% by a guess' % (machine['stacks'], 100.0 * machine['whole'] / n, 100.0 * machine['guessed'] / n))
    return total, cut, guessed, missing


def bpftrace(path, secs, hz):
    prog = 'profile:hz:%s { @[pid, comm, ustack] = count(); } interval:s:%d { exit(); }' % (hz, secs)
    out, pids, missing = under_load([path, '-e', prog], secs)
    total, cut = collections.Counter(), collections.Counter()
    for m in re.finditer(r'^@\[(\d+), (.{1,15}?), \n?((?:    .*\n)*)\]: (\d+)$', out, re.M):
        frames = [re.sub(r'\+\d+$', '', l.strip()) for l in m.group(3).splitlines()]
        if int(m.group(1)) in pids:
            total[m.group(2)] += int(m.group(4))
            if not any(ROOTS.fullmatch(f) for f in frames[-2:]): # a stripped program's _start has no name, its caller has
                cut[m.group(2)] += int(m.group(4))
    return total, cut, collections.Counter(), missing


def is_node(comm):
    return comm == 'node' or comm.startswith(('V8 ', 'libuv', 'DelayedTask', 'MainThread'))


def main():
    peer = os.path.basename(sys.argv[1]) == 'bpftrace'
    total, cut, guessed, missing = (bpftrace if peer else sonde)(sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else '99')
    n, whole, verdict = sum(total.values()), 0, 0
    for comm in sorted(total, key=lambda c: -total[c]):
        sure = total[comm] - cut[comm] - guessed[comm]
        whole += sure
        verdict += sure + (guessed[comm] if is_node(comm) else 0)
        print('%-16s %6d stacks, %6.2f %% whole, %6.2f %% by a guess' % (comm, total[comm], 100.0 * sure / total[comm], 100.0 * guessed[comm] / total[comm]))
    print('%d stacks of the load, %.2f %% whole, %.2f %% by a guess' % (n, 100.0 * whole / max(1, n), 100.0 * sum(guessed.values()) / max(1, n)))
    share = 100.0 * verdict / max(1, n)
    absent = [x for x in PROGRAMS if x not in missing and not total[x]]
    if peer:
        return 0
    if absent:
        print('not in the profile: ' + ' '.join(absent))
    good = share >= 99.5 and not absent
    print('mixed load: ' + ('whole' if good else 'not whole enough'))
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
