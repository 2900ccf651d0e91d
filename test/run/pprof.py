#!/usr/bin/env python3
"""pprof.py FILE EXPRESSION...: reads a gzipped profile.proto by its wire format alone and prints the value of each expression, one line each.

In an expression: p (the message as dictionaries of lists, by the field names below), s(n) (string n), total(i) (sum of value i of the samples),
functions (name -> set of system names), stacks (list of (values, [[innermost inlined name, ...], ...] leaf first, labels)), and the functions below.
Ends with an error when an id or a string that is used is not defined, or a location lies outside of its mapping.
"""
import gzip, re, subprocess, sys

from wire import packed, varint

FIELDS = {  # message: field number -> (name, message type, or None for a number)
    'profile': {1: ('sample_type', 'type'), 2: ('sample', 'sample'), 3: ('mapping', 'mapping'), 4: ('location', 'location'), 5: ('function', 'function'),
                6: ('string', 'text'), 9: ('time', None), 10: ('duration', None), 11: ('period_type', 'type'), 12: ('period', None), 13: ('comment', None), 14: ('default_type', None)},
    'type': {1: ('type', None), 2: ('unit', None)},
    'sample': {1: ('location', None), 2: ('value', None), 3: ('label', 'label')},
    'label': {1: ('key', None), 2: ('str', None), 3: ('num', None)},
    'mapping': {1: ('id', None), 2: ('start', None), 3: ('limit', None), 4: ('offset', None), 5: ('filename', None), 6: ('build_id', None),
                7: ('has_functions', None), 8: ('has_filenames', None), 9: ('has_lines', None), 10: ('has_inlines', None)},
    'location': {1: ('id', None), 2: ('mapping', None), 3: ('address', None), 4: ('line', 'line')},
    'line': {1: ('function', None), 2: ('line', None)},
    'function': {1: ('id', None), 2: ('name', None), 3: ('system_name', None), 4: ('filename', None)},
}


def decode(b, kind):
    m = {name: [] for name, _ in FIELDS[kind].values()}
    i = 0
    while i < len(b):
        key, i = varint(b, i)
        name, inner = FIELDS[kind][key >> 3]
        if key & 7 == 0:
            v, i = varint(b, i)
            m[name].append(v)
            continue
        assert key & 7 == 2, 'wire type %d of %s' % (key & 7, name)
        n, i = varint(b, i)
        part, i = b[i:i + n], i + n
        assert len(part) == n, 'cut short'
        if inner == 'text':
            m[name].append(part.decode())
        elif inner:
            m[name].append(decode(part, inner))
        else:  # packed numbers
            m[name] += packed(part)
    return m


def one(m, name):
    return m[name][-1] if m[name] else 0


p = decode(gzip.open(sys.argv[1]).read(), 'profile')
s = lambda n: p['string'][n]
by_id = {what: {one(x, 'id'): x for x in p[what]} for what in ('mapping', 'location', 'function')}
assert p['string'][0] == '' and all(len(by_id[w]) == len(p[w]) and 0 not in by_id[w] for w in by_id)
for m in p['mapping']:
    s(one(m, 'filename')), s(one(m, 'build_id'))
    assert one(m, 'start') < one(m, 'limit'), m
for l in p['location']:
    if one(l, 'mapping'):
        m = by_id['mapping'][one(l, 'mapping')]
        assert one(m, 'start') <= one(l, 'address') < one(m, 'limit'), ('outside', l, m)
    for x in l['line']:
        by_id['function'][one(x, 'function')]
functions = {}
for f in p['function']:
    functions.setdefault(s(one(f, 'name')), set()).add(s(one(f, 'system_name')))
names = {i: [s(one(by_id['function'][one(x, 'function')], 'name')) for x in l['line']] for i, l in by_id['location'].items()}
stacks = [(x['value'], [names[i] for i in x['location']], {s(one(k, 'key')): s(one(k, 'str')) or one(k, 'num') for k in x['label']}) for x in p['sample']]
assert all(len(v) == len(p['sample_type']) for v, _, _ in stacks)


def run(*args):
    return subprocess.run(args, stdout=subprocess.PIPE, text=True, check=True).stdout


def text_segment(path):
    """What readelf says of a file's code: virtual address, its end, offset in the file, build id."""
    t = run('readelf', '-lnW', path)
    off, vaddr, size = (int(x, 16) for x in re.search(r'LOAD +(\S+) (\S+) \S+ (\S+) \S+ R E', t).groups())
    return vaddr, vaddr + size, off, re.search(r'Build ID: (\w+)', t).group(1)


def mappings(part):
    """The same of the mappings whose file name contains part."""
    return [(one(m, 'start'), one(m, 'limit'), one(m, 'offset'), s(one(m, 'build_id'))) for m in p['mapping'] if part in s(one(m, 'filename'))]


def places(name, path):
    """Are there locations of function name, and do all lie where nm sees it in the file?"""
    lo, size = next((int(f[0], 16), int(f[1], 16)) for f in map(str.split, run('nm', '-S', path).splitlines()) if f[-1] == name)
    at = [one(l, 'address') for l in p['location'] if names[one(l, 'id')] == [name]]
    return bool(at) and all(lo <= a < lo + size for a in at)


total = lambda i=0: sum(v[i] for v, _, _ in stacks)
for e in sys.argv[2:]:
    print(eval(e))
