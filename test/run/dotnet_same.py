#!/usr/bin/env python3
"""Are the methods in sonde's stacks those that .NET told of itself? dotnet_same.py WANT GOT: WANT by dotnet_stack.cs, GOT is text of sonde with printed stacks. Functions in C, whose
names have no dot, and pieces that the runtime makes to get from one method to another (dotnet-stub, IL_STUB_...) are told by sonde alone. Prints "N stacks of M frames, E equal", and the first that differs."""
import re
import sys

sys.dont_write_bytecode = True
from told import tell  # noqa: E402


def blocks(path):
    for block in open(path, encoding='utf-8').read().split('\n\n'):
        if block.strip():
            yield block.strip('\n').split('\n')


def method(line):
    name = line.strip().rpartition('+')[0]
    known = re.match(r'(Emitted|lambda_method\d*)$', name) or ('.' in name and name[0] != '[' and not re.search(r'\.(part|isra|constprop|cold)\b', name))
    return known and name


tell(list(blocks(sys.argv[1])), [[m for m in map(method, b) if m] for b in blocks(sys.argv[2])])
