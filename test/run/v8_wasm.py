#!/usr/bin/env python3
"""Are the frames of WebAssembly and JavaScript in sonde's stacks those that V8 told of itself? v8_wasm.py WANT GOT: WANT by v8_wasm.js, GOT is text of sonde with printed
stacks. From ask() to the program's outermost function. An address may be a function of WebAssembly that was compiled just now, or what V8 has between the languages, which is its own.
Prints "N stacks of M frames, E equal, A all named", and the first stack that differs."""
import re
import sys

EXPORTS = 'deep', 'work', 'indirect', 'leaf'  # have their names where V8 tells none
OWN = r'Builtins_|wasm-to-js$|wasm-jumps$|\d+$'  # \d+: a function of JavaScript for each that is exported


def wanted(path):
    for block in open(path, encoding='utf-8').read().split('\n\n'):
        frames = [line.split('\t') for line in block.strip().split('\n')]
        yield [(f[0], f[1].startswith('wasm:')) for f in frames if f[1] and not f[1].startswith('node:')]


def got(path):
    frames, begun = [], False
    for line in open(path, encoding='utf-8'):
        m = re.match(r'\s+(.*?)(?:\+\d+)?(?: \[([^\]]*?)(?::(\d+))?\])?$', line)
        if m and m.group(1) and not (m.group(2) or '').startswith('node:'):
            begun = begun or m.group(1) == 'ask'
            if begun and not re.match(OWN, m.group(1)):
                frames.append(m.group(1))
        elif begun:
            yield frames
            frames, begun = [], False


def is_one(want, name):
    if name.startswith('0x'):
        return want[1]
    return name == want[0] or (not want[0] and (name == '(anonymous)' if not want[1] else name.startswith('wasm-function[') or name in EXPORTS))


def same(want, have):
    ways = {0}  # how many of want may have been met
    for name in have:
        ways = {i + 1 for i in ways if i < len(want) and is_one(want[i], name)} | (ways if name.startswith('0x') else set())
    return len(want) in ways


def main():
    want, have = list(wanted(sys.argv[1])), list(got(sys.argv[2]))
    equal = [same(a, b) for a, b in zip(want, have)]
    named = sum(e and sum(not x.startswith('0x') for x in b) == len(a) for e, a, b in zip(equal, want, have))
    print('%d stacks of %d frames, %d equal, %d all named' % (len(have), sum(map(len, have)), sum(equal) if len(want) == len(have) else -1, named))
    for a, b, e in zip(want, have, equal):
        if not e:
            print('want %s\ngot  %s' % ([x[0] for x in a[:40]], b[:40]))
            break


main()
