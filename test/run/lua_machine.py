#!/usr/bin/env python3
"""lua_machine.py SONDE [LUAJIT]: stacks where LuaJIT's machine calls and returns, between the function's link and its frame: "cut: " and the share of them that is cut,
then of each instruction. The machine is the largest piece of code that one entry of .eh_frame describes; it calls by mov %rbx,-8(%rdx), and goes on in the caller after
neg %rcx."""
import collections
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LOAD = os.path.join(os.path.dirname(HERE), 'workload', 'luaload.lua')
luajit = os.path.realpath(sys.argv[2] if len(sys.argv) > 2 else '/usr/bin/luajit')


def out(*cmd):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


start, stop = max(((int(a, 16), int(b, 16)) for a, b in re.findall(r' FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)', out('readelf', '--debug-dump=frames', luajit))), key=lambda r: r[1] - r[0])
code = out('objdump', '-d', '--no-show-raw-insn', '--start-address=%d' % start, '--stop-address=%d' % stop, luajit)
places = [int(a, 16) for a in re.findall(r'^ +([0-9a-f]+):\t(?:mov +%rbx,-0x8\(%rdx\)|neg +%rcx)', code, re.M)]
script = ','.join('uprobe:%s:%#x' % (luajit, a) for a in places) + ' { @[probe, ustack(32)] = count(); } interval:s:2 { exit() }'
hits, cut = collections.Counter(), collections.Counter()
for line in out(sys.argv[1], '--json', '-c', '%s -joff %s 60' % (luajit, LOAD), '-e', script).splitlines():
    row = json.loads(line)
    if row['type'] == 'stack':
        at = row['key']['key1']
        hits[at] += row['value']
        cut[at] += row['value'] if '[truncated]' in row['user'] else 0
print('cut: %.3f of %d stacks, taken at %d of %d instructions' % (sum(cut.values()) / max(1, sum(hits.values())), sum(hits.values()), len(hits), len(places)))
for at in sorted(hits):
    print(at, cut[at], 'of', hits[at])
