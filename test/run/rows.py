#!/usr/bin/env python3
"""Figures from a tool's report, for tests: rows.py FILE EXPRESSION...  prints the value of each expression, one a line.

FILE holds JSON lines of a stack tool, folded lines, or the maps a script printed (values in microseconds). Names in expressions:
  total(glob, part='value', text='')  sum over the rows whose thread name matches, whose stack has text in it; part: blocked, unfinished, ...
  names()  the threads' names, sorted         rows()  the rows
  us(name) what test/progs/waits wrote into the file NAME
"""
import fnmatch, json, re, sys


def read(path):
    text = open(path).read()
    if re.search(r'^\{', text, re.M):
        return [r for r in (json.loads(l) for l in text.splitlines() if l.startswith('{')) if r['type'] == 'stack']
    out = []
    text = re.sub(r'^@samples\[\{ \.pid = ((?:.*\n)*?.*) \}\]: ', lambda m: '@samples[' + re.sub(r', \.\w+ = ', ', ', m[1]) + ']: ', text, flags=re.M) # a record
    for m in re.finditer(r'^@samples\[((?:[^\]]|\](?!: ))*)\]: (\d+)$', text, re.M): # key: id, name, stacks, kind
        key = m.group(1).split(', ')
        out.append({'pid': int(key[0]), 'comm': key[1], 'value': int(m.group(2)), 'stack': m.group(1), 'kind': key[-1].strip()})
    for l in [] if out else text.splitlines():
        if ';' in l and l.rsplit(' ', 1)[-1].isdigit():
            stack, value = l.rsplit(' ', 1)
            out.append({'comm': stack.split(';')[0], 'stack': stack, 'value': int(value)})
    return out


def total(glob, part='value', text=''):
    return sum(r.get(part, 0) for r in ALL if fnmatch.fnmatch(r['comm'], glob) and text in (r.get('stack') or json.dumps(r)))


def names():
    return sorted({r['comm'] for r in ALL})


def rows():
    return ALL


def us(name):
    return int(open(name).read())


ALL = read(sys.argv[1])
for e in sys.argv[2:]:
    v = eval(e)
    print(v)
    if v is False:
        print('%s: %s' % (e, {n: total(n) for n in names()}), file=sys.stderr)
