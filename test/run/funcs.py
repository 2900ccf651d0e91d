"""Calls getppid(2) in functions of several kinds, as often as is said: 1, 2n, 3n, n and n times."""
import os, sys


class Thing:
    def method(self):
        os.getppid()
        os.getppid()

    def __lt__(self, other):
        os.getppid()
        return True


def work():
    os.getppid()
    for _ in range(2):
        os.getppid()
    Thing().method()
    sorted([Thing(), Thing()])
    list(map(lambda x: os.getppid(), [1]))


os.getppid()
for _ in range(int(sys.argv[1])):
    work()
