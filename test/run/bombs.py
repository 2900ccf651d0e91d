#!/usr/bin/env python3
"""bombs.py SONDE: small files that ask sonde report for much memory or time; prints, for each, how it ended: refused for its many records or long texts, or read.

Each run may have 3 GB of addresses (RLIMIT_AS)."""
import gzip, resource, subprocess, sys

from wire import field

SONDE = sys.argv[1]
N = 9_500_000
HEAD = field(1, field(1, 1) + field(2, 2)) + b''.join(field(6, s) for s in (b'', b'samples', b'count', b'[' + b'x' * 10000 + b']'))
VALUE = field(2, b'\1')
FILES = {
    'strings': lambda: HEAD + field(6, b'') * N,
    'functions': lambda: HEAD + field(5, b'') * N,
    'lines of a location': lambda: HEAD + field(4, field(4, b'') * N),
    'locations of a sample': lambda: HEAD + field(2, VALUE + field(1, b'\1' * N)),
    'the same, one by one': lambda: HEAD + field(2, VALUE + field(1, 1) * N),
    'samples': lambda: HEAD + field(2, VALUE) * N,
    'frames of a module of 10,000 bytes': lambda: HEAD + field(3, field(1, 1) + field(5, 3)) + field(4, field(1, 1) + field(2, 1) + field(3, 1 << 63)) + field(2, VALUE + field(1, b'\1' * 1000000)),
    'a long name in a deep stack': lambda: HEAD + field(6, b'n' * 100000) + field(5, field(1, 1) + field(2, 4)) + field(4, field(1, 1) + field(4, field(1, 1))) + field(2, VALUE + field(1, b'\1' * 100000)),
    'a long label of many samples': lambda: HEAD + field(6, b'n' * 100000) + field(2, VALUE + field(3, field(1, 1) + field(2, 4))) * 100000,
    'folded': lambda: b'p 1\n' * N,
    'folded, deep': lambda: b'p' + b';a' * N + b' 1\n',
    'perf script, deep': lambda: b'prog 12 [000] 1.5: 1 cycles: \n' + b'\t1 a\n' * N + b'\n',
    'maps, deep': lambda: b'@[\n' + b'a\n' * N + b']: 1\n',
    'maps, parts of a key': lambda: b'@[' + b'a, ' * N + b'\na\n]: 1\n',
    'maps, a name of @': lambda: b'@[\n' + b'@' * 2000000 + b'\n]: 1\n',
}
for name, make in FILES.items():
    with open('bomb', 'wb') as f:
        f.write(gzip.compress(make(), 1))
    r = subprocess.run([SONDE, 'report', '-f', 'bomb'], capture_output=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)))
    print('%s:' % name, 'refused' if r.returncode == 1 and (b'samples, frames and names' in r.stderr or b'written out' in r.stderr) else 'read' if not r.returncode else 'ends with %d %r' % (r.returncode, r.stderr[:200]))
