#!/usr/bin/env python3
"""Are the frames of JavaScript in sonde's stacks those that V8 told of itself? v8_same.py WANT GOT: WANT by v8_stacks.js, GOT is text of sonde with printed stacks.
What has no file is V8's own and not compared. Prints "N stacks of M frames, E equal, L lines", and the first stack that differs. L: frames whose line is known."""
import re
import sys

ASK = 'ask'


def wanted(path):
    for block in open(path, encoding='utf-8').read().split('\n\n'):
        frames = [tuple(x.split('\t')) for x in block.strip().split('\n')]
        yield [('' if name == 'eval' else name, file, int(line)) for name, file, line in frames if file]


def got(path):
    """From ask() on: what asks the kernel is behind it."""
    frames, begun = [], False
    for line in open(path, encoding='utf-8'):
        m = re.match(r'\s+(.*)\+\d+ \[([^\]]*?)(?::(\d+))?\]$', line)
        if m and m.group(2) != 'v8' and not re.search(r'\.so|^node\b(?!:)|^\[', m.group(2)):
            begun = begun or m.group(1) == ASK
            if begun:
                frames.append((re.sub(r'^\(anonymous\)$', '', m.group(1)), m.group(2), int(m.group(3) or 0)))
        elif not line.strip() and frames:
            yield frames
            frames, begun = [], False
    if frames:
        yield frames


def same(want, have):
    return len(want) == len(have) and all(a[0] == b[0] and a[1] == b[1] and b[2] in (0, a[2]) for a, b in zip(want, have))


def main():
    want, have = list(wanted(sys.argv[1])), list(got(sys.argv[2]))
    have = have[:len(want)]  # the program's last round may ask once more than it writes
    equal = sum(same(a, b) for a, b in zip(want, have))
    lines = sum(f[2] > 0 for s in have for f in s)
    print('%d stacks of %d frames, %d equal, %d lines' % (len(have), sum(map(len, have)), equal if len(want) == len(have) else -1, lines))
    for a, b in zip(want, have):
        if not same(a, b):
            print('want %s\ngot  %s' % ('\n     '.join(map(str, a[:40])), '\n     '.join(map(str, b[:40]))))
            break


main()
