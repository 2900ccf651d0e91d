#!/usr/bin/env python3
"""lua_machine.py SONDE [LUAJIT]: stacks where LuaJIT's machine calls (mov %rbx,-8(%rdx) writes the link) and goes on in the caller (neg %rcx): "cut: " and the share of
them that is cut, then of each instruction. The machine is the largest piece of code that one entry of .eh_frame describes."""
import os
import re
import sys

WORKLOAD = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'workload')
sys.path.insert(0, WORKLOAD)
sys.dont_write_bytecode = True
import each_insn  # noqa: E402

luajit = os.path.realpath(sys.argv[2] if len(sys.argv) > 2 else '/usr/bin/luajit')
text = each_insn.instructions(luajit, *each_insn.largest_piece(luajit))
places = [at for at in sorted(text) if re.match(r'mov +%rbx,-0x8\(%rdx\)|neg +%rcx', text[at])]
met = each_insn.stacks_at(sys.argv[1], luajit, places, [luajit, '-joff', os.path.join(WORKLOAD, 'luaload.lua'), '60'], 2)
stacks = sum(m[0] for m in met.values())
print('cut: %.3f of %d stacks, taken at %d of %d instructions' % (sum(m[1] for m in met.values()) / max(1, stacks), stacks, len(met), len(places)))
for at in sorted(met):
    print('%#x %d of %d  %s' % (at, met[at][1], met[at][0], text[at]))
