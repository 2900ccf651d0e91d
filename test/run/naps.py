"""Sleeps again and again at one place, below a few functions and a callback from C."""
import time


def nap(_):
    time.sleep(0.3)


def inner():
    list(map(nap, range(100000)))


def outer():
    inner()


print(flush=True)
outer()
