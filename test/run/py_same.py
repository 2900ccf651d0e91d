#!/usr/bin/env python3
"""Are the language frames of sonde's stacks those that the interpreter told of itself? py_same.py WANT GOT [any] [all] [callers]: WANT by py_stack.py, GOT is text of sonde with
printed stacks, in the same order or in any. all: a stack without any such frame counts, too (and is not equal). callers: functions in C are told with their caller's line, as Ruby does. Prints "N stacks of M frames, E equal", and the first that differs."""
import re
import sys

sys.dont_write_bytecode = True
from told import tell  # noqa: E402


def wanted(path):
    for block in open(path, encoding='utf-8').read().split('\n\n'):
        if block.strip():
            yield block.strip().split('\n')


def got(path):
    frames, inside = [], False
    for line in [*open(path, encoding='utf-8'), '']:
        m = re.match(r'\s+(.+)\+\d+ \[(.*:\d+|\w+)\]$', line)
        if m:
            frames.append('%s %s' % m.groups())
        inside |= bool(re.match(r'\s+\S.*(\+\d+|\])$', line))
        if not line.strip() and (inside if 'all' in sys.argv else frames):
            yield frames
            frames, inside = [], False


def called(frames):
    at, out = ':0', []
    for f in reversed(frames):
        name, _, place = f.rpartition(' ')
        at = at if place == 'ruby' else place
        out.append('%s %s' % (name, at))
    return out[::-1]


want, have = list(wanted(sys.argv[1])), list(got(sys.argv[2]))
if 'any' in sys.argv[3:]:
    want.sort()
    have.sort()
if 'callers' in sys.argv[3:]:
    have = [called(f) for f in have]
tell(want, have)
