#!/usr/bin/env python3
"""A Python program at work: parser, sqlite3, regular expressions, JSON, sorting, each of which calls back into Python, in a worker process too.

usage: pyload.py SECONDS            works so long
       pyload.py FILE STACKS        writes to FILE what the interpreter says of its own stack in so many callbacks (as test/run/py_stack.py), asking for
                                    its parent's number (getppid) after each
"""
import ast
import functools
import json
import os
import random
import re
import sys
import time

try:
    import sqlite3
except ImportError:  # of musl.sh's
    sqlite3 = None

SOURCE = open(json.__file__, encoding='utf-8').read()
told = None
left = 0


def say(f):
    while f:
        c = f.f_code
        told.write('%s %s:%d\n' % (getattr(c, 'co_qualname', c.co_name), c.co_filename, f.f_lineno))
        f = f.f_back
    told.write('\n')


def ask():
    global left
    if left and random.random() < 0.02:
        left -= 1
        say(sys._getframe()); os.getppid()


class Visitor(ast.NodeVisitor):
    def visit_Call(self, node):
        ask()
        self.generic_visit(node)


class Number:
    def __init__(self, n):
        self.n = n

    def __lt__(self, other):
        ask()
        return self.n < other.n

    def __repr__(self):
        ask()
        return 'Number(%d)' % self.n


def twice(x):
    ask()
    return x * 2


def numbers(n):
    for i in range(n):
        ask()
        yield Number(random.random())


def database():
    c = sqlite3.connect(':memory:')
    c.create_function('twice', 1, twice)
    c.execute('create table t (a, b)')
    c.executemany('insert into t values (?, ?)', ((i, str(i)) for i in range(100)))
    return sum(r[0] for r in c.execute('select twice(a) from t'))


def turned(m):
    ask()
    return m.group(0)[::-1]


@functools.lru_cache(maxsize=8)
def deep(n):
    ask()
    return deep(n - 1) + 1 if n else 0


def as_json(x):
    ask()
    return repr(x)


def work():
    Visitor().visit(ast.parse(SOURCE))
    if sqlite3:
        database()
    re.sub(r'\w+', turned, SOURCE)
    json.dumps({'a': [Number(i) for i in range(20)]}, default=as_json, indent=1)
    sorted(numbers(100))
    deep.cache_clear()
    deep(40)


def main():
    global told, left
    if len(sys.argv) > 2:
        random.seed(1)
        told = open(sys.argv[1], 'w')
        left = int(sys.argv[2])
        while left:
            work()
        told.close()
        return
    end = time.time() + float(sys.argv[1])
    worker = os.fork()
    while time.time() < end:
        work()
    if worker:
        os.wait()


main()
