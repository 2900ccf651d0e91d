"""Folded stacks of deno.js on standard input: do its functions stand below their callers? Prints how many stacks have innerWork, and those that are wrong."""
import sys

CALLERS = ['mainLoop', 'outerWork', 'middleWork', 'innerWork']
have = wrong = 0
for line in sys.stdin:
    frames = [f.split(' ')[0] for f in line.rsplit(' ', 1)[0].split(';')]
    own = [f for f in frames if f in CALLERS]
    if 'innerWork' not in own:
        continue
    have += 1
    if own != CALLERS:
        wrong += 1
        print(line.rstrip())
print('%s stacks with innerWork, %d wrong' % ('many' if have > 3 else have, wrong))
