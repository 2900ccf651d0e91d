#!/usr/bin/env python3
"""hardened.py PROGRAM [LIBRARY.a]: what protects an ELF program, a line each, by readelf, nm and its bytes. LIBRARY.a: the object files it was linked from, whose
functions are looked at one by one; those of other people's static libraries are not judged."""
import re, struct, subprocess, sys

LANDING = {'x86_64': [b'\xf3\x0f\x1e\xfa'],  # endbr64
           'aarch64': [b'\x3f\x23\x03\xd5', b'\x5f\x24\x03\xd5']}  # paciasp, bti c


def output(*args):
    return subprocess.run(args, stdout=subprocess.PIPE, check=True).stdout.decode('utf-8', 'replace')


def segments(path):
    """[(type, flags)] of the program headers."""
    return [(m[1], m[2].replace(' ', '')) for m in re.finditer(r'^  ([A-Z_]+) +(?:0x\S+ +){5}([RWE ]{3})', output('readelf', '-lW', path), re.M)]


def no_landing(path, library):
    """Names of the library's functions that do not begin with a landing place in the program, and how many do."""
    ours = set(re.findall(r'^[0-9a-f]+ T (\w+)$', output('nm', '--defined-only', library), re.M))
    data = open(path, 'rb').read()
    header = output('readelf', '-hW', path)
    marks = LANDING['aarch64' if 'AArch64' in header else 'x86_64']
    loads = [tuple(int(x, 16) for x in m) for m in re.findall(r'^  LOAD +(0x\S+) (0x\S+) 0x\S+ (0x\S+)', output('readelf', '-lW', path), re.M)]
    without, n = [], 0
    for addr, name in re.findall(r'^([0-9a-f]+) T (\w+)$', output('nm', path), re.M):
        if name not in ours:
            continue
        at = next(off + int(addr, 16) - lo for off, lo, size in loads if lo <= int(addr, 16) < lo + size)
        if data[at:at + 4] in marks:
            n += 1
        else:
            without.append(name)
    return without, n


def main():
    path = sys.argv[1]
    segs, dynamic, symbols = segments(path), output('readelf', '-dW', path), output('nm', path)
    names = [t for t, _ in segs]
    loads = [f for t, f in segs if t == 'LOAD']
    checks = [
        ('PIE', re.search(r'\(FLAGS_1\).*\bPIE\b', dynamic)),
        ('full RELRO', 'GNU_RELRO' in names and re.search(r'BIND_NOW|\(FLAGS_1\).*\bNOW\b', dynamic)),
        ('no executable stack', ('GNU_STACK', 'RW') in segs),
        ('code apart from data', loads.count('RE') == 1 and loads[0] == 'R' and not any('W' in f and 'E' in f for f in loads)),
        ('stack protector', '__stack_chk_fail' in symbols),
        ('fortified', len(set(re.findall(r' __(\w+)_chk\b', symbols)) - {'stack'}) >= 4),
    ]
    for name, ok in checks:
        print('%s: %s' % (name, 'yes' if ok else 'no'))
    if len(sys.argv) > 2:
        without, n = no_landing(path, sys.argv[2])
        print('landing places: %s' % ('yes' if n > 500 and not without else 'only %d functions, not %s' % (n, ' '.join(without[:10]))))


main()
