#!/usr/bin/env python3
"""A program whose Python stacks are known: ask() writes what the interpreter says of its own stack and then asks for its parent's number (getppid).

usage: py_stack.py FILE calls | threads | fork | deep N | fsync | asleep
asleep: it sleeps in the place of asking, in three threads one after the other. Lines of FILE: for each stack its frames, innermost first: "function file:line", then an empty line.
"""
import os
import sys
import threading
import time

out = open(sys.argv[1], 'a')


def say(f):
    while f:
        c = f.f_code
        out.write('%s %s:%d\n' % (getattr(c, 'co_qualname', c.co_name), c.co_filename, f.f_lineno))
        f = f.f_back
    out.write('\n')
    out.flush()


def ask():
    say(sys._getframe()); os.getppid()


def sleep():
    say(sys._getframe()); time.sleep(1000)


class Base:
    def method(self):
        ask()

    @classmethod
    def of_class(cls):
        cls().method()


def by_sort(x):
    ask()
    return x


def generator():
    yield 1
    ask()
    yield 2


def from_generator():
    for _ in generator():
        pass


async def coroutine():
    ask()


async def awaiting():
    await coroutine()


def from_coroutine():
    try:
        awaiting().send(None)
    except StopIteration:
        pass


def nested():
    def inner():
        return (lambda:
                ask())()
    inner()


def by_eval():
    eval('ask()')


def déjà_vu():
    ask()


def by_exception():
    try:
        raise ValueError
    except ValueError:
        ask()


def many_lines(a=1,
               b=2):
    return [x for x in
            (a,
             ask(), b)]


def down(n):
    if n:
        down(n - 1)
    else:
        ask()


def calls():
    Base.of_class()
    sorted([1], key=by_sort)
    from_generator()
    from_coroutine()
    nested()
    by_eval()
    déjà_vu()
    by_exception()
    many_lines()
    sorted([1], key=lambda x: sorted([2], key=by_sort))


def forked(n):
    for _ in range(n):
        if not os.fork():
            ask()
            os._exit(0)
        os.wait()


def threads(n):
    for _ in range(n):
        t = threading.Thread(target=calls)
        t.start()
        t.join()


def in_sort(n):
    sorted([1], key=lambda x: in_sort(n - 1) if n else sleep())


def asleep(path):
    for n in (1, 20):
        threading.Thread(target=in_sort, args=(n,), daemon=True).start()
        while open(path).read().count('\n\n') < n // 20 + 1:
            time.sleep(0.01)
    in_sort(2)


def save_it():
    fd = os.open(sys.argv[1], os.O_WRONLY)
    os.fsync(fd)


def main(what, *args):
    if what == 'calls':
        calls()
    elif what == 'fork':
        forked(3)
    elif what == 'deep':
        sys.setrecursionlimit(20000)
        down(int(args[0]))
    elif what == 'threads':
        threads(2)
    elif what == 'asleep':
        asleep(sys.argv[1])
    elif what == 'fsync':
        save_it()


if __name__ == '__main__':
    main(*sys.argv[2:])
