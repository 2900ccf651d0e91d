#!/usr/bin/env python3
"""Are the functions of sonde's stacks those that Erlang told of itself? beam_same.py WANT GOT: WANT by beam_stack.erl, GOT is text of sonde with printed stacks, in the same
order. What returns to the same place again and again counts once, as Erlang tells it. Prints "N stacks of M frames, E equal", and the first that differs."""
import re
import sys


def blocks(path):
    return [b.strip('\n').split('\n') for b in re.split(r'\n\s*\n', open(path, encoding='utf-8').read()) if b.strip()]


def got(path):
    for block in blocks(path):
        frames, last = [], None
        for line in block:
            m = re.match(r"\s+((?!erts_beamasm:|global:)[^\s:]+:[^\s:]\S*/\d+)(\+\d+)$", line)
            if m and m.groups() != last:
                frames.append(m.group(1))
            last = m and m.groups()
        yield frames


want, have = blocks(sys.argv[1]), list(got(sys.argv[2]))
equal = sum(a == b for a, b in zip(want, have))
print('%d stacks of %d frames, %d equal' % (len(have), sum(map(len, have)), equal if len(want) == len(have) else -1))
for a, b in zip(want, have):
    if a != b:
        print('want %s\ngot  %s' % ('\n     '.join(a[:40]), '\n     '.join(b[:40])))
        break
