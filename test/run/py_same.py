#!/usr/bin/env python3
"""Are the language frames of sonde's stacks those that the interpreter told of itself? py_same.py WANT GOT [any] [all] [callers] [rescue]: WANT by py_stack.py, GOT is text of sonde with
printed stacks, in the same order or in any. all: a stack without any such frame counts, too (and is not equal). callers: functions in C are told with their caller's line, as Ruby does. rescue: what runs in a rescue or
ensure is told as its method, at its own line, as Ruby does from 3.4 on; sonde has a frame for each. Prints "N stacks of M frames, E equal", and the first that differs."""
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


def rescued(frames):
    out = []
    for f in frames:
        before = out and re.match(r'(rescue|ensure) in (.*) \S+$', out[-1])
        if before and before.group(2) == f.rpartition(' ')[0]:
            out[-1] = out[-1][len(before.group(1) + ' in '):]
        else:
            out.append(f)
    return out


want, have = list(wanted(sys.argv[1])), list(got(sys.argv[2]))
if 'any' in sys.argv[3:]:
    want.sort()
    have.sort()
if 'callers' in sys.argv[3:]:
    have = [called(f) for f in have]
if 'rescue' in sys.argv[3:]:
    have = [rescued(f) for f in have]
tell(want, have)
