"""Asks for the parent's number (getppid) for ever from N functions deep: what a frame costs is told by two depths (runtimes.py). usage: deep.py N"""
import os
import sys


def last():
    while True:
        os.getppid()


def down(n):
    return up(n - 1) if n > 1 else last()


def up(n):
    return down(n - 1) if n > 1 else last()


sys.setrecursionlimit(10000)
down(int(sys.argv[1]))
