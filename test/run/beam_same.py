#!/usr/bin/env python3
"""Are the functions of sonde's stacks those that Erlang told of itself? beam_same.py WANT GOT: WANT by beam_stack.erl, GOT is text of sonde with printed stacks, in the same
order. What returns to the same place again and again counts once, as Erlang tells it. Prints "N stacks of M frames, E equal", and the first that differs."""
import re
import sys

sys.dont_write_bytecode = True
from told import tell  # noqa: E402


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
tell(want, have)
