#!/usr/bin/env python3
"""Drives `sonde top` in a terminal of tmux's and looks at what is on the screen.

usage: live.py SONDE WAITS SCENE
  SCENE: keys, hurry, small, killed, ended, hangup. A program that spins (WAITS spin) is what there is to see; only it is traced.
Prints what was seen, a word a step; the .t file knows what is right.
"""
import os, re, signal, subprocess, sys, tempfile, time

sonde, waits, scene = sys.argv[1:4]
sock = 'sonde%d' % os.getpid()


def tmux(*args):
    return subprocess.run(['tmux', '-L', sock] + list(args), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def screen():
    return tmux('capture-pane', '-p')


def until(what, secs=40):
    """The screen once it matches; the last one when it does not, with what was missed."""
    end = time.time() + secs
    while time.time() < end:
        s = screen()
        if re.search(what, s, re.M):
            return s
        time.sleep(0.1)
    print('NOT SEEN: %s\n%s' % (what, screen()))
    sys.exit(1)


def keys(*k):
    tmux('send-keys', *k)


def under(pid):
    """Processes that pid has started, and theirs."""
    out = []
    for p in subprocess.run(['ps', '-o', 'pid=', '--ppid', str(pid)], stdout=subprocess.PIPE, text=True).stdout.split():
        out += [int(p)] + under(int(p))
    return out


def gone(pids, secs=20):
    end = time.time() + secs
    while time.time() < end and any(os.path.exists('/proc/%d' % p) for p in pids):
        time.sleep(0.1)
    return not any(os.path.exists('/proc/%d' % p) for p in pids)


work = subprocess.Popen([waits, 'spin', '120000'], stdout=subprocess.DEVNULL)
os.chdir(tempfile.mkdtemp(prefix='top.', dir='.'))
size = ('30', '6') if scene == 'small' else ('80', '24')
try:
    # A shell stays, so that what becomes of the terminal can be seen.
    tmux('-f', '/dev/null', 'new-session', '-d', '-x', size[0], '-y', size[1], 'env PS1=ready: sh')
    until('ready:')
    keys('stty -a > before; echo pid $$', 'Enter')
    shell = int(re.search(r'^pid (\d+)', until(r'^pid \d+'), re.M)[1])
    keys('%s top -p %d; echo status $?' % (sonde, work.pid), 'Enter')
    if scene == 'small':
        s = until('spin_here')
        print('lines', max(len(line) for line in s.split('\n')) <= 30, len(s.rstrip('\n').split('\n')) <= 6)
        tmux('resize-window', '-x', '120', '-y', '40')
        until(r'^ +\d+\.\d +\d+\.\d  spin_here  \(waits\)$')
        print('wide')
        keys('q')
    elif scene == 'keys':
        s = until(r'^ +\d+\.\d +\d+\.\d  spin_here  \(waits\)$')
        on = float(re.search(r'on-CPU (\d+\.\d) %', s)[1])
        print('functions', 1 < on < 420)
        keys('p')
        s = until(r'^ +\d+\.\d  spinner  \(%d\)$' % work.pid)
        head, row = float(re.search(r'on-CPU (\d+\.\d) %', s)[1]), sum(float(x) for x in re.findall(r'^ +(\d+\.\d)  \w+  \(\d+\)$', s, re.M))
        print('processes add up', abs(head - row) < 0.11)
        keys('Enter')
        until(r'^ +spin_here\n +spinner\n')
        print('unfolded')
        keys('s')
        until(r'^ +\d+\.\d  spinner: .*spin_here < spinner < ')
        print('stacks')
        keys('t')
        until(r'^ +\d+\.\d  spinner  \(\d+\)$')
        print('threads')
        keys('o')
        until(r'off-CPU \d+\.\d %; ')
        print('off-CPU')
        keys('b')
        until(r'ON % +OFF %')
        counting = under(shell)
        keys('o')
        until(r'sonde top: off-CPU')
        keys('c')
        until(r'sonde top: on-CPU \d+\.\d %; ')
        print('goes on', under(shell) == counting)
        keys('f')
        until(r'on-CPU \d+\.\d %; ')
        keys('/', 'spin_h')
        until('Only stacks with: spin_h_')
        keys('Enter')
        s = until(r'on-CPU (\d+\.\d) of (\d+\.\d) %; \d+ rows with "spin_h"')
        print('filter', all(float(a) <= float(b) + 0.05 for a, b in re.findall(r'on-CPU (\d+\.\d) of (\d+\.\d) %', s)))
        keys('Escape', '/', 'no such function', 'Enter')
        until('nothing was seen')
        keys('Escape')
        until('spin_here')
        keys('Space')
        until('frozen')
        time.sleep(0.5)  # the rest of that screen
        a = screen()
        time.sleep(2.5)
        print('frozen', screen() == a)
        keys('w')
        until('written: sonde-top')
        text = open([f for f in os.listdir('.') if f.startswith('sonde-top')][0]).read()
        print('saved', re.search(r'^spinner;.*;spin_here(;\S+)* \d+$', text, re.M) is not None)
        keys('h')
        until('100 % is one processor')
        print('help')
        keys('q')
    elif scene == 'hurry':  # a collector that has just been started is ended
        until('spin_here')
        for i in range(30):
            keys(*'btof')  # threads, and functions again: each a collector of its own
            until(r'sonde top: off-CPU')
        keys('c')
        until(r'sonde top: on-CPU \d+\.\d %; ')
        until('spin_here')
        print('sides')
        keys('q')
    elif scene == 'hangup':
        keys('b')
        until(r'ON % +\+CALLS +OFF %')
        time.sleep(3)
        guard = under(shell)[0]
        all_of_it = [guard] + under(guard)
        print('processes', len(all_of_it))
        tmux('kill-server')
        print('gone', gone(all_of_it))
        sys.exit(0)
    else:
        until('spin_here')
        guard = under(shell)[0]
        all_of_it = [guard] + under(guard)
        print('processes', len(all_of_it))
        if scene == 'killed':
            os.kill(all_of_it[1], signal.SIGKILL)
        else:
            os.kill(guard, signal.SIGKILL)
        print('gone', gone(all_of_it))
    if scene == 'killed':
        until(r'^status 137')
    elif scene != 'ended':
        until(r'^status 0')
    keys('clear; stty -a > after; echo d""one', 'Enter')
    until(r'^done')
    modes = [re.sub(r'rows \d+; columns \d+', '', open(f).read()) for f in ('before', 'after')]  # tmux may have another size by now
    print('terminal', modes[0] == modes[1])
finally:
    tmux('kill-server')
    work.kill()
    work.wait()
