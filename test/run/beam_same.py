#!/usr/bin/env python3
"""Are the functions of sonde's stacks those that Erlang told of itself? beam_same.py WANT GOT [lines]: WANT by beam_stack.erl, GOT is text of sonde with printed stacks, in the same
order; with "lines", of --lines, those that are shown are compared, too, and how many are is said first. What returns to the same place again and again counts once, as Erlang tells it. Prints "N stacks of M frames, E equal", and the first that differs."""
import os
import re
import sys

sys.dont_write_bytecode = True
from told import tell  # noqa: E402


def blocks(path):
    return [b.strip('\n').split('\n') for b in re.split(r'\n\s*\n', open(path, encoding='utf-8').read()) if b.strip()]


def want(path, lines):
    for block in blocks(path):
        yield [line if lines else line.split(' ')[0] for line in block]


def got(path, lines):
    for block in blocks(path):
        frames, last = [], None
        for line in block:
            m = re.match(r"\s+((?!erts_beamasm:|global:)[^\s:]+:[^\s:]\S*/\d+)(\+\d+)(?:@(\S+:\d+))?$", line)
            if m and m.groups() != last:
                frames.append(m.group(1) + (' ' + os.path.basename(m.group(3)) if lines and m.group(3) else ''))
            last = m and m.groups()
        yield frames


lines = sys.argv[3:] == ['lines']
told, have = list(want(sys.argv[1], lines)), list(got(sys.argv[2], lines))
if lines:  # Erlang tells GDB of fewer lines than it knows
    all = [(i, k) for i, stack in enumerate(told) for k, frame in enumerate(stack) if ' ' in frame]
    shown = [(i, k) for i, k in all if i < len(have) and k < len(have[i]) and ' ' in have[i][k]]
    for i, k in set(all) - set(shown):
        told[i][k] = told[i][k].split(' ')[0]
    print('lines of %d %% of the frames' % (100 * len(shown) // max(1, len(all))))
tell(told, have)
