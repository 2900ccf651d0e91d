#!/usr/bin/env python3
"""folds.py MAP FOLDED: is the map of stacks that a script printed as text the same as the folded lines?

MAP has entries "@[<stack>, NAME]: VALUE" (key: one user stack, then the thread's name), FOLDED what --folded printed. Prints "equal", the number of lines and their sum, or
what differs.
"""
import collections, re, sys

text, folded = (open(p).read() for p in sys.argv[1:3])
want = collections.Counter()
for frames, name, value in re.findall(r'^@\w*\[\n((?: {8}.*\n)*), (\S+)\]: (\d+)$', text, re.M):
    names = [re.sub(r'\+\d+$', '', f.strip()) for f in frames.splitlines()]
    want[';'.join([name] + names[::-1])] += int(value)
got = {l.rsplit(' ', 1)[0]: int(l.rsplit(' ', 1)[1]) for l in folded.splitlines() if ';' in l}
if got == dict(want):
    print('equal', len(got), sum(got.values()))
for k in sorted(set(got) | set(want)):
    if got.get(k) != want.get(k):
        print('differs', k, want.get(k), got.get(k))
