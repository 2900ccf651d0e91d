#!/usr/bin/env python3
"""What each kernel has: `sonde info` on this one and in every guest, as a table in Markdown (docs/kernels.md).

usage: test/vm/kernels.py [--only NAME,...] [BUILD]     guests as in matrix.py; BUILD/arm64 has arm64's sonde (make arm64)
In: lines "  name: yes|no" of its sections, and those under "Missing", which say since when a kernel has it and what is done without. Out: a row a feature that some
kernel lacks; below, what all of them have.
"""
import os, re, subprocess, sys
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import matrix

SECTIONS = ['Kernel helpers', 'Kernel features', 'Map types', 'Probe types']
NOTES = {'override_return': 'CONFIG_BPF_KPROBE_OVERRIDE; override() needs it'}  # of helpers that have no row under "Missing"
SAME = {'loop', 'kfunc', 'raw_tp_special'}  # a second name for one thing, of scripts that read the output


def parse(text):
    """The kernel's name, (section, feature) -> whether it is there, feature -> what is said of its absence."""
    has, notes, section, name = {}, {}, None, '?'
    for line in text.splitlines():
        if re.match(r'[A-Z]', line):
            section = line.strip()
        m = re.match(r'  OS: Linux (\S+)', line)
        name = m.group(1) if m else name
        m = re.match(r'  Arch: (\S+)', line)
        name = '%s %s' % ({'x86_64': 'amd64', 'aarch64': 'arm64'}.get(m.group(1), m.group(1)), name) if m else name
        m = re.match(r'  (.+): (yes|no)$', line)
        if m and section in SECTIONS and m.group(1) not in SAME:
            has[section, m.group(1)] = m.group(2) == 'yes'
        m = re.match(r'  (.+?) \((.*)\)$', line)
        if m and section == 'Missing':
            notes[m.group(1)] = m.group(2)
    return name, has, notes


def short(name):
    arch, release = name.split(' ', 1)
    return '%s %s' % (arch, '.'.join(re.split(r'[.-]', release)[:2]))


def version(name):
    arch, release = name.split(' ', 1)
    return arch, [int(n) for n in re.findall(r'\d+', release)[:2]]


def table(kernels):
    rows, notes = [], dict(NOTES)
    for _, has, n in kernels:
        notes.update(n)
        rows += [r for r in has if r not in rows]
    lack = [r for r in rows if not all(has.get(r) for _, has, _ in kernels)]
    out = ['| | %s | without it |' % ' | '.join(short(name) for name, _, _ in kernels), '|---' * (len(kernels) + 2) + '|']
    for r in sorted(lack, key=lambda r: (SECTIONS.index(r[0]), rows.index(r))):
        out.append('| %s | %s | %s |' % (r[1], ' | '.join('yes' if has.get(r) else '-' for _, has, _ in kernels), notes.get(r[1], '')))
    for s in SECTIONS:
        out.append('\n%s that all of them have: %s.' % (s, ', '.join(r[1] for r in rows if r[0] == s and r not in lack)))
    return '\n'.join(out)


def main():
    args, only = sys.argv[1:], None
    if args[:1] == ['--only']:
        only, args = args[1].split(','), args[2:]
    build = os.path.abspath(args[0] if args else 'build')
    kernels = [parse(subprocess.run([build + '/sonde', 'info'], stdout=subprocess.PIPE, check=True).stdout.decode())] if not only or 'here' in only else []
    seen = set()
    guests = []
    for name, options, folder, _ in matrix.GUESTS + matrix.OTHERS:
        if str(options) in seen or (only and name not in only):
            continue
        seen.add(str(options))
        sonde = os.path.join(build, folder, 'sonde')
        out = subprocess.run([matrix.HERE + '/vm.py', '--timeout', '600'] + options + ([] if '--share' in options or not build.startswith('/tmp/') else ['--share', build]) + [
            '--', sonde + ' info'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=matrix.TOP).stdout.decode('utf-8', 'replace')
        if 'Probe types' not in out:
            print('%s: no answer: %s' % (name, out.strip().splitlines()[-1:] or ''), file=sys.stderr)
            continue
        guests.append(parse(out))
    print(table(kernels + sorted(guests, key=lambda g: version(g[0]))))


if __name__ == '__main__':
    main()
