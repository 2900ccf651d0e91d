#!/usr/bin/env python3
"""lua_traces.py SONDE: the stacks of lua_traces.lua's system calls that go through a trace of LuaJIT, as functions and lines of the program, one line each; and how many there were."""
import collections
import json
import os
import re
import subprocess
import sys

LUA = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lua_traces.lua')
for call in ('getppid', 'getuid', 'getgid', 'geteuid', 'getpgrp'):
    script = 'tracepoint:syscalls:sys_enter_%s /pid == cpid/ { @[ustack] = count(); }' % call
    out = subprocess.run([sys.argv[1], '-q', '--json', '-c', 'luajit %s 30000' % LUA, '-e', script], stdout=subprocess.PIPE, text=True).stdout
    seen = collections.Counter()
    for row in (json.loads(line) for line in out.splitlines()):
        if row['type'] == 'stack' and re.match(call + r'\+|\w*' + call, row['user'][0]) and row.get('lang', [None, None])[1]:  # in the interpreter C stands between
            seen[' '.join(re.sub(r' \[.*\]', '', f) for f, lang in zip(row['user'], row['lang']) if lang and not f.startswith('?'))] += row['value']
    for frames, n in seen.most_common():
        print(call, n, re.sub(r'<.*?:', '<', frames))
