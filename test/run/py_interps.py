"""Interpreters in one process whose stacks are known: ask() writes what the interpreter says of its own stack, with that of who called it, and then asks for its parent's number
(getppid) or sleeps. For test/run/python.t.

usage: py_interps.py FILE DEPTH [asleep]: each interpreter makes another one, so many in one another, and the last one's code asks.
A program in C (test/progs/pyhost.c) has each of its interpreters import this and call by_host().
"""
import importlib
import os
import sys
import time


def frames(f):
    text = ''
    while f:
        c = f.f_code
        text += '%s %s:%d\n' % (getattr(c, 'co_qualname', c.co_name), c.co_filename, f.f_lineno)
        f = f.f_back
    return text


def ask(want, outside=''):
    with open(want, 'a') as f:
        f.write(frames(sys._getframe(1)) + outside + '\n')
    return outside


def asks(want, outside, asleep):
    ask(want, outside); time.sleep(1000) if asleep else os.getppid()


def interpreters():
    for name in '_interpreters', '_xxsubinterpreters', '_xxinterpreters':
        try:
            return importlib.import_module(name)
        except ImportError:
            pass
    sys.exit('no interpreters here')


def goes_on(want, depth, outside, asleep):
    if not depth:
        asks(want, outside, asleep)
        return
    made = interpreters()
    code = 'import sys; sys.path.insert(0, %r); import py_interps; py_interps.goes_on(%r, %d, %r, %r)' % (os.path.dirname(os.path.abspath(__file__)), want, depth - 1, '%s', asleep)
    one = made.create()
    made.run_string(one, code.replace("'%s'", repr(frames(sys._getframe()) + outside)))


def by_host():
    asks(os.environ['WANT'], '', False)


if __name__ == '__main__':
    goes_on(sys.argv[1], int(sys.argv[2]), '', len(sys.argv) > 3)
