#!/usr/bin/env python3
"""Are the functions of sonde's stacks those that Erlang told of itself? beam_same.py WANT GOT: WANT by beam_stack.erl, GOT is text of sonde with printed stacks, in the same
order, of --lines if lines are to be compared, too (beam_same.py WANT GOT lines). What returns to the same place again and again counts once, as Erlang tells it. Prints "N stacks of M frames, E equal", and the first that differs."""
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
            m = re.match(r"\s+((?!erts_beamasm:|global:)[^\s:]+:[^\s:]\S*/\d+)(\+\d+)( \[?(\S+:\d+)\]?)?$", line)
            if m and m.groups() != last:
                frames.append(m.group(1) + (' ' + os.path.basename(m.group(4)) if lines and m.group(4) else ''))
            last = m and m.groups()
        yield frames


lines = sys.argv[3:] == ['lines']
tell(list(want(sys.argv[1], lines)), list(got(sys.argv[2], lines)))
