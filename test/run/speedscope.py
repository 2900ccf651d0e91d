#!/usr/bin/env python3
"""speedscope.py FILE: is it a file of speedscope's format (its file-format-schema.json, "sampled" profiles)? Prints its stacks as folded text."""
import json, sys

UNITS = ('none', 'nanoseconds', 'microseconds', 'milliseconds', 'seconds', 'bytes')
d = json.load(open(sys.argv[1], 'rb'))
wrong = []


def expect(what, ok):
    if not ok:
        wrong.append(what)


def keys(what, of, must, may=()):
    expect('%s has %s' % (what, sorted(of)), set(must) <= set(of) <= set(must) | set(may))


keys('file', d, ['$schema', 'profiles', 'shared'], ['activeProfileIndex', 'exporter', 'name'])
expect('schema', d['$schema'] == 'https://www.speedscope.app/file-format-schema.json')
frames = d['shared']['frames']
for f in frames:
    keys('frame', f, ['name'], ['file', 'line', 'col', 'lang'])
    expect('types of a frame', isinstance(f['name'], str) and isinstance(f.get('file', ''), str) and isinstance(f.get('line', 1), int))
expect('frames are different', len({json.dumps(f, sort_keys=True) for f in frames}) == len(frames))
for p in d['profiles']:
    keys('profile', p, ['type', 'name', 'unit', 'startValue', 'endValue', 'samples', 'weights'])
    expect('type', p['type'] == 'sampled')
    expect('unit', p['unit'] in UNITS)
    expect('as many weights', len(p['samples']) == len(p['weights']))
    expect('sum', p['endValue'] - p['startValue'] == sum(p['weights']))
    expect('numbers of frames', all(isinstance(i, int) and 0 <= i < len(frames) for s in p['samples'] for i in s))
    for s, w in zip(p['samples'], p['weights']):
        print('%s %d' % (';'.join(frames[i]['name'] for i in s), w))
print('wrong: %s' % wrong)
