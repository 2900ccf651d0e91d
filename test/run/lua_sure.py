#!/usr/bin/env python3
"""lua_sure.py SONDE: runs lua_sure.lua, whose functions have each a system call of their own, so that the innermost of a stack is known. Of the stacks at each
call: how many there were, how many show another function's line as the innermost, and whether those may all be guesses."""
import os
import re
import subprocess
import sys

CALLS = {'getppid': 5, 'getuid': 6, 'getgid': 7, 'geteuid': 8, 'getegid': 10, 'getpgrp': 20, 'getsid': 11}  # the line: who was called in tail()'s place has its name
here = os.path.dirname(os.path.abspath(__file__))

lua = subprocess.Popen(['luajit', os.path.join(here, 'lua_sure.lua')])
try:
    for call, line in CALLS.items():
        script = 'tracepoint:syscalls:sys_enter_%s /pid == %d && rand %% 50 == 0/ { @[ustack] = count() } interval:s:1 { exit() }' % (call, lua.pid)
        p = subprocess.run([sys.argv[1], '-q', '--why-incomplete', '--dwarf-pid', str(lua.pid), '-e', script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        right = wrong = 0
        for m in re.finditer(r'@\[\n(.*?)\]: (\d+)', p.stdout, re.S):
            inner = next((f for f in map(str.strip, m[1].splitlines()) if 'lua_sure.lua' in f), '')
            if re.search(r'lua_sure\.lua:%d\]' % line, inner):
                right += int(m[2])
            else:
                wrong += int(m[2])
        guessed = re.search(r'(\d+) whole by guess', p.stdout)
        guessed = int(guessed[1]) if guessed else 0
        print(call, 'called' if right + wrong > 20 else 'not called: ' + p.stdout, 'sure' if guessed < right + wrong else 'guessed', 'and right' if wrong <= guessed else 'and %d of %d wrong' % (wrong, guessed))
finally:
    lua.kill()
    lua.wait()
