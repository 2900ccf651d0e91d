"""Sleeps again and again at one place, below a few functions and a callback from C. It says so when the interpreter has put in its quick instructions, by
which calls have other native frames."""
import time


def nap(i):
    if i == 64:
        print(flush=True)
    time.sleep(0.3 if i > 64 else 0.001)


def inner():
    list(map(nap, range(100000)))


def outer():
    inner()


outer()
