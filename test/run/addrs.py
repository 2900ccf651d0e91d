#!/usr/bin/env python3
# Virtual addresses of stacks against nm. Input: a program, and what a script printed of its stacks: @r[ustack(raw)], @p[ustack(perf)],
# @three[ustack(raw, 3)], @n = len(ustack(perf)), @ip[reg("ip")]. Prints whether each is what it must be, and the names.
import re
import subprocess
import sys

nm = subprocess.run(['nm', sys.argv[1]], capture_output=True, text=True).stdout
syms = {f[2]: int(f[0], 16) for f in map(str.split, nm.splitlines()) if len(f) == 3}
text = open(sys.argv[2]).read()


def raw_stack(name):
    return re.search(r'^@%s\[\n((?:[0-9a-f]+\n)+)\]: 3$' % name, text, re.M).group(1).split()


perf = re.findall(r'^\t([0-9a-f]+) (\S+)\+(\d+) \((.*)\)$', text, re.M)
raw, three = raw_stack('r'), raw_stack('three')
own = [f for f in perf if f[3].endswith('/' + sys.argv[1].split('/')[-1])]
bases = {int(a, 16) - int(off) - syms[s] for a, s, off, path in own}
print('addresses', [f[0] for f in perf] == raw, three == raw[:3], len(bases) == 1 and min(bases) % 4096 == 0,
      '@ip[%d]: 1' % int(raw[0], 16) in text, '@n: %d\n' % len(raw) in text)
print('names', *[f[1] for f in own])
