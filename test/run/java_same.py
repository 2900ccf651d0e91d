#!/usr/bin/env python3
"""Are the Java frames of sonde's stacks those that the VM told of itself? java_same.py WANT GOT: WANT by JavaStacks.java, GOT is text of sonde with printed
stacks, from JavaStacks.ask on. Prints "N stacks of M frames, E equal", and the first that differs."""
import re
import sys

FIRST = 'JavaStacks.ask '


def frame(name, file, line):
    """Native methods and hidden classes have no line."""
    return '%s %s' % (name, '%s:%s' % (file, line) if file and int(line or 0) > 0 else '')


def wanted(path):
    for block in open(path, encoding='utf-8').read().split('\n\n'):
        if block.strip():
            yield [frame(*re.match(r'(.*) (?:null|(.*)):(-?\d+)$', x).groups()) for x in block.strip().split('\n')]


def got(path):
    frames = []
    for line in open(path, encoding='utf-8'):
        m = re.match(r'\s+(\S*\.\S*)\+\d+ \[(?:java|([^\]:]+)(?::(\d+))?)\]$', line)
        if m and (frames or m.group(1) == FIRST.strip()):
            frames.append(frame(*m.groups()))
        elif not line.strip() and frames:
            yield frames
            frames = []
    if frames:
        yield frames


def same(want, got):
    """JDK 11 writes the address of a class without a name of its own behind the name, which from 15 on is part of it."""
    return len(want) == len(got) and all(a == b or re.sub(r'/0x[0-9a-f]{16}', '', a) == b for a, b in zip(want, got))


def main():
    want, have = list(wanted(sys.argv[1])), list(got(sys.argv[2]))
    equal = sum(same(a, b) for a, b in zip(want, have))
    print('%d stacks of %d frames, %d equal' % (len(have), sum(map(len, have)), equal if len(want) == len(have) else -1))
    for a, b in zip(want, have):
        if not same(a, b):
            print('want %s\ngot  %s' % ('\n     '.join(a[:40]), '\n     '.join(b[:40])))
            break


main()
