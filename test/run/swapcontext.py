#!/usr/bin/env python3
"""Stacks at the instructions of glibc's swapcontext (x86-64) from where it has the new stack pointer to where it has pushed the return address. usage: swapcontext.py SONDE DEEP

Each has to be that of a coroutine: coro_body, which called it, and nothing of what ran before. Where one begins, its function has not run yet: it stands there by address."""
import re, subprocess, sys

SONDE, DEEP = sys.argv[1:3]
libc = re.search(r'=> (\S*/libc\.so\.6)', subprocess.run(['ldd', DEEP], capture_output=True, text=True).stdout)[1]
start = int(re.search(r'^(\w+) . swapcontext@', subprocess.run(['nm', '-D', libc], capture_output=True, text=True).stdout, re.M)[1], 16)
text = subprocess.run(['objdump', '-d', '--start-address=%d' % start, '--stop-address=%d' % (start + 0x200), libc], capture_output=True, text=True).stdout
places, within = [], False
for at, op in re.findall(r'^ +(\w+):\t[0-9a-f ]+\t(.*)$', text, re.M):
    if within:
        places.append(int(at, 16) - start)
    within = bool(re.search(r'0xa0\(%rdx\),%rsp', op)) or within and not op.startswith('push')
    if op.startswith('ret') and places:
        break
points = ','.join('uprobe:%s:swapcontext+%d' % (libc, p) for p in places)
out = subprocess.run([SONDE, '-q', '-c', DEEP + ' coroutines 20', '-e', points + ' /pid == cpid/ { @[ustack] = count() }'], capture_output=True, text=True)
stacks = re.findall(r'^@\[\n(.*?)\]: \d+$', out.stdout, re.M | re.S)
bad = [s for s in stacks if not re.search(r'swapcontext\+.*\n +(coro_body\+|\[deep\+)', s)] + re.findall('cut short', out.stderr)
print('%d instructions, all stacks whole' % len(places) if len(stacks) >= len(places) and not bad else (out.stdout, out.stderr))
