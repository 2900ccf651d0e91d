"""Greenlets whose stacks are known: FILE gets them as py_stack.py writes them. They begin at different depths of the C stack and take turns from others."""
import os
import sys

import greenlet

out = open(sys.argv[1], 'w')


def say(f):
    while f:
        c = f.f_code
        out.write('%s %s:%d\n' % (getattr(c, 'co_qualname', c.co_name), c.co_filename, f.f_lineno))
        f = f.f_back
    out.write('\n')
    out.flush()


def ask():
    say(sys._getframe()); os.getppid()


def deep(n, then):
    return deep(n - 1, then) if n else then()


def by_sort(n, then):
    sorted([1], key=lambda _: deep(n, then))


def worker(name, n):
    for i in range(n):
        by_sort(n, ask)
        main.switch()
        ask()
        by_sort(n, main.switch)
        ask()


main = greenlet.getcurrent()
gs = []


def start(n):
    g = greenlet.greenlet(worker)
    gs.append(g)
    g.switch('g%d' % n, n + 2)


def start_deep(n):
    if n % 2:
        sorted([2], key=lambda _: start(n))
    else:
        deep(3 * n, lambda: start(n))


for n in range(4):
    start_deep(n)


def go(g):
    ask()
    g.switch()
    ask()


for r in range(5):
    for k, g in enumerate(gs):
        if not g.dead:
            if (r + k) % 2:
                sorted([3], key=lambda _, k=k, g=g: deep(k + 2, lambda: go(g)))
            else:
                go(g)
