#!/usr/bin/env python3
"""otlp.py FILE [EXPRESSION...]: reads a ProfilesData of OpenTelemetry by its wire format alone, checks the specification's rules, and prints each expression's value.

The numbers of fields are those of opentelemetry-proto's profiles/v1development/profiles.proto since 1.9; profiles.proto beside this file has them for protoc.
In an expression: d (the dictionary), resources (list of (attributes, profile, samples)); a sample is (value, [[function names, innermost inlined first], ...] leaf
first, attributes); total() is the sum of values, folded() {"root;...;leaf": value} with the process's name in front.
"""
import gzip, struct, sys

from wire import packed, varint

M = {  # message: field number -> (name, what it is: None a number, 'text', 'bytes', 'packed', or a message's name)
    'data': {1: ('resource_profiles', 'resource_profiles'), 2: ('dictionary', 'dictionary')},
    'dictionary': {1: ('mapping', 'mapping'), 2: ('location', 'location'), 3: ('function', 'function'), 4: ('link', 'link'), 5: ('string', 'text'),
                   6: ('attribute', 'attribute'), 7: ('stack', 'stack')},
    'resource_profiles': {1: ('resource', 'resource'), 2: ('scope_profiles', 'scope_profiles'), 3: ('schema_url', 'text')},
    'resource': {1: ('attributes', 'keyvalue')},
    'keyvalue': {1: ('key', 'text'), 2: ('value', 'any')},
    'any': {1: ('string', 'text'), 2: ('bool', None), 3: ('int', None)},
    'scope_profiles': {1: ('scope', 'scope'), 2: ('profiles', 'profile'), 3: ('schema_url', 'text')},
    'scope': {1: ('name', 'text'), 2: ('version', 'text')},
    'profile': {1: ('sample_type', 'type'), 2: ('samples', 'sample'), 3: ('time', None), 4: ('duration', None), 5: ('period_type', 'type'), 6: ('period', None),
                7: ('id', 'bytes'), 11: ('attributes', 'packed')},
    'type': {1: ('type', None), 2: ('unit', None)},
    'sample': {1: ('stack', None), 2: ('attributes', 'packed'), 3: ('link', None), 4: ('values', 'packed'), 5: ('timestamps', 'bytes')},
    'mapping': {1: ('start', None), 2: ('limit', None), 3: ('offset', None), 4: ('filename', None), 5: ('attributes', 'packed')},
    'stack': {1: ('locations', 'packed')},
    'location': {1: ('mapping', None), 2: ('address', None), 3: ('lines', 'line'), 4: ('attributes', 'packed')},
    'line': {1: ('function', None), 2: ('line', None), 3: ('column', None)},
    'function': {1: ('name', None), 2: ('system_name', None), 3: ('filename', None), 4: ('start_line', None)},
    'link': {1: ('trace_id', 'bytes'), 2: ('span_id', 'bytes')},
    'attribute': {1: ('key', None), 2: ('value', 'any'), 3: ('unit', None)},
}


def decode(b, kind):
    m = {name: [] for name, _ in M[kind].values()}
    i = 0
    while i < len(b):
        key, i = varint(b, i)
        assert key >> 3 in M[kind], 'field %d of %s' % (key >> 3, kind)
        name, inner = M[kind][key >> 3]
        wire = key & 7
        if wire == 0:
            assert inner is None, (kind, name)
            v, i = varint(b, i)
        elif wire == 1:
            v, i = struct.unpack('<Q', b[i:i + 8])[0], i + 8
        else:
            assert wire == 2 and inner, (kind, name, wire)
            n, i = varint(b, i)
            part, i = b[i:i + n], i + n
            assert len(part) == n, 'cut short'
            if inner == 'packed':
                m[name] += packed(part)
                continue
            v = part.decode() if inner == 'text' else part if inner == 'bytes' else decode(part, inner)
        m[name].append(v)
    return m


def one(m, name, other=0):
    assert len(m[name]) < 2, (name, 'is there twice')
    return m[name][0] if m[name] else other


def empty(m):
    return not any(m.values()) if isinstance(m, dict) else not m


def any_value(m):
    have = [k for k in ('string', 'bool', 'int') if m[k]]
    assert len(have) == 1, ('a value', m)
    return m[have[0]][0]


def check(data):
    """The rules; returns (dictionary, resources)."""
    d = one(data, 'dictionary', None)
    assert d, 'no dictionary'
    for table in ('mapping', 'location', 'function', 'link', 'string', 'attribute', 'stack'):
        assert d[table] and empty(d[table][0]), 'element 0 of %s is not empty' % table
        rows = [repr(x) for x in d[table]]
        assert len(set(rows)) == len(rows), 'an element of %s is there twice' % table

    def at(table, i):
        assert 0 <= i < len(d[table]), ('index', table, i)
        return d[table][i]

    s = lambda i: at('string', i)

    def attributes(indices):
        out = {}
        for i in indices:
            a = at('attribute', i)
            assert i, 'attribute 0'
            key = s(one(a, 'key'))
            assert key and key not in out, ('attribute key', key)
            out[key] = any_value(one(a, 'value', None))
            s(one(a, 'unit'))
        return out

    for m in d['mapping'][1:]:
        assert one(m, 'start') < one(m, 'limit'), m
        assert s(one(m, 'filename'))
        attributes(m['attributes'])
    names, kinds = [], []
    for l in d['location']:
        i = one(l, 'mapping')
        m = at('mapping', i)
        if i:
            assert one(m, 'start') <= one(l, 'address') < one(m, 'limit'), ('outside', l, m)
        assert not one(l, 'mapping') or l['lines'], 'no line'
        for x in l['lines']:
            assert one(x, 'function'), 'a line without a function'
            assert s(one(at('function', one(x, 'function')), 'name')), 'a function without a name'
        names.append([s(one(at('function', one(x, 'function')), 'name')) for x in l['lines']])
        kinds.append(attributes(l['attributes']).get('profile.frame.type'))
    for f in d['function']:
        s(one(f, 'system_name')), s(one(f, 'filename'))
    stacks = []
    for st in d['stack']:
        assert all(i and at('location', i) for i in st['locations'])
        stacks.append([names[i] for i in st['locations']])
    resources = []
    for r in data['resource_profiles']:
        attrs = {}
        for kv in one(r, 'resource')['attributes']:
            assert one(kv, 'key') not in attrs, ('resource attribute twice', kv)
            attrs[one(kv, 'key')] = any_value(one(kv, 'value', None))
        assert attrs.get('service.name')
        for sc in r['scope_profiles']:
            assert one(one(sc, 'scope'), 'name') == 'sonde'
            for p in sc['profiles']:
                t, pt = one(p, 'sample_type', None), one(p, 'period_type', None)
                assert s(one(t, 'type')) and s(one(t, 'unit')) and s(one(pt, 'type')) and s(one(pt, 'unit'))
                assert one(p, 'period') > 0, 'period'
                assert one(p, 'time') > 10**18 and one(p, 'duration') > 0, 'when'
                assert len(one(p, 'id', b'')) == 16 and any(one(p, 'id')), 'id'
                samples, seen = [], set()
                for x in p['samples']:
                    assert not x['timestamps'] and not one(x, 'link')
                    assert len(x['values']) == 1 and x['values'][0] > 0, ('values', x)
                    who = (one(x, 'stack'), tuple(sorted(x['attributes'])))
                    assert who not in seen, ('one sample twice', who)
                    seen.add(who)
                    at('stack', one(x, 'stack'))
                    samples.append((x['values'][0], stacks[one(x, 'stack')], attributes(x['attributes'])))
                resources.append((attrs, p, samples))
    return d, resources, kinds


def read(blob):
    return check(decode(gzip.decompress(blob) if blob[:2] == b'\x1f\x8b' else blob, 'data'))


def total_of(resources):
    return sum(v for _, _, samples in resources for v, _, _ in samples)


def folded_of(resources):
    out = {}
    for _, _, samples in resources:
        for v, stack, attrs in samples:
            line = ';'.join([attrs.get('thread.name', '')] + [n for loc in reversed(stack) for n in reversed(loc)])
            out[line] = out.get(line, 0) + v
    return out


if __name__ == '__main__':
    d, resources, kinds = read(open(sys.argv[1], 'rb').read())
    s = lambda i: d['string'][i]
    total, folded = lambda: total_of(resources), lambda: folded_of(resources)
    for e in sys.argv[2:]:
        print(eval(e))
