#!/usr/bin/env python3
"""memory.py SONDE: --max-memory on a program whose stacks are ever new. Prints what sonde said, without its numbers, and the exit status, for a limit that is
nothing, one that is ample, and one that what it holds comes near to."""
import math, re, subprocess, sys

SONDE = sys.argv[1]
WORK = '''import random
def a(n): return f(n - 1) if n else 0
def b(n): return f(n - 1) if n else 0
def c(n): return f(n - 1) if n else 0
def f(n): return random.choice((a, b, c))(n)
while True: f(20)
'''


def run(pid, limit, seconds):
    p = subprocess.run([SONDE, 'profile', '-p', str(pid), '-U', '-f', '-F', '997', '-i', '1', '--max-memory', str(limit), str(seconds)],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    said = re.findall(r'^(\w+: it holds .*)$', p.stderr, re.M)
    return p.returncode, said, len(p.stdout.splitlines())


w = subprocess.Popen([sys.executable, '-c', WORK])
try:
    status, said, rows = run(w.pid, 1, 20)
    print(re.sub(r'[\d.]+ MB', 'N MB', ' '.join(said)), status, rows > 0)
    held = float(re.search(r'holds ([\d.]+)', said[0])[1])
    status, said, rows = run(w.pid, 100000, 3)
    print('ample:', said, status, rows > 0)
    status, said, rows = run(w.pid, math.ceil(held * 1.22), 12)
    print(re.sub(r'[\d.]+', 'N', said[0] if said else 'nothing'))
finally:
    w.kill()
