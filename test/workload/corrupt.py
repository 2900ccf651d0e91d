#!/usr/bin/env python3
"""corrupt.py SONDE DIR: profiles a program that has loaded six libraries whose files were then damaged, each in another way, and runs code of all
of them and of its own. Its own functions and those of libc must keep their names and whole stacks, and sonde must not stumble. Prints what is wrong (with SHOW=1 in the environment
the whole profile), or ok."""
import collections, os, random, struct, subprocess, sys, time

LIB = '''volatile int s_%(n)d;
__attribute__((noipa)) static int inner(int n) { for (int i = 0; i < 200000; i++) s_%(n)d += i * n; return s_%(n)d; }
int spin_%(n)d(int n) { return inner(n) + 1; }
'''
MAIN = '''#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int s;
__attribute__((noipa)) static int good_leaf(int n) { for (int i = 0; i < 200000; i++) s += i * n; return s; }
__attribute__((noipa)) static int good_work(int n) { return good_leaf(n) + 1; }
static int cmp(const void *a, const void *b) { good_leaf(1); return *(const int *)a - *(const int *)b; }
__attribute__((noipa)) static int by_qsort(void) { int v[4] = {3, 1, 4, 2}; qsort(v, 4, sizeof(int), cmp); return v[0]; }
int main(int argc, char **argv)
{
	int (*f[8])(int), n = 0;
	for (int i = 1; i < argc; i++) {
		char name[16];
		void *h = dlopen(argv[i], RTLD_NOW);
		snprintf(name, sizeof(name), "spin_%d", i);
		if (!h || !(f[n++] = (int (*)(int))dlsym(h, name)))
			return 1;
	}
	puts("ready");
	fflush(stdout);
	getchar();
	for (;;) {
		for (int i = 0; i < n; i++)
			s += f[i](i);
		good_work(2);
		by_qsort();
	}
}
'''


def section(data, name):
    shoff, = struct.unpack_from('<Q', data, 0x28)
    entsize, num, strndx = struct.unpack_from('<HHH', data, 0x3a)
    at = lambda i: struct.unpack_from('<IIQQQQ', data, shoff + i * entsize)
    names = at(strndx)[4]
    for i in range(num):
        h = at(i)
        if data[names + h[0]:].split(b'\0', 1)[0] == name:
            return h[4], h[5]
    return 0, 0


def noise(data, off, n):
    data[off:off + n] = random.randbytes(n)


def damage(path, how):
    data = bytearray(open(path, 'rb').read())
    size = len(data)
    if how == 'unwind':
        for s in (b'.eh_frame', b'.eh_frame_hdr'):
            noise(data, *section(data, s))
    elif how == 'symbols':
        for s in (b'.symtab', b'.strtab', b'.dynsym', b'.dynstr'):
            noise(data, *section(data, s))
    elif how == 'headers':
        noise(data, struct.unpack_from('<Q', data, 0x28)[0], size - struct.unpack_from('<Q', data, 0x28)[0])
    elif how == 'sizes':  # section sizes beyond everything
        shoff, = struct.unpack_from('<Q', data, 0x28)
        for i in range(struct.unpack_from('<H', data, 0x3c)[0]):
            struct.pack_into('<Q', data, shoff + i * 64 + 0x20, (1 << 63) + i)
    elif how == 'debug':
        for s in (b'.debug_info', b'.debug_abbrev', b'.debug_line', b'.debug_str', b'.debug_rnglists', b'.debug_loclists'):
            noise(data, *section(data, s))
    elif how == 'magic':
        data[:64] = bytes(64)
    with open(path, 'r+b') as f:  # in place: it stays mapped
        f.write(data)


def main():
    sonde, tmp = sys.argv[1], sys.argv[2]
    random.seed(3)
    libs, cc = [], ['cc', '-O2', '-g', '-fomit-frame-pointer', '-w']
    hows = ['unwind', 'symbols', 'headers', 'sizes', 'debug', 'magic']
    for i, how in enumerate(hows, 1):
        src, lib = '%s/%s.c' % (tmp, how), '%s/%s.so' % (tmp, how)
        open(src, 'w').write(LIB % {'n': i})
        subprocess.run(cc + ['-shared', '-fPIC', '-o', lib, src], check=True)
        libs.append(lib)
    open(tmp + '/main.c', 'w').write(MAIN)
    subprocess.run(cc + ['-o', tmp + '/damaged', tmp + '/main.c', '-ldl'], check=True)
    p = subprocess.Popen([tmp + '/damaged'] + libs, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        p.stdout.readline()
        for lib, how in zip(libs, hows):
            damage(lib, how)
        p.stdin.write('\n')
        p.stdin.flush()
        time.sleep(0.2)
        r = subprocess.run([sonde, 'profile', '-U', '-f', '--inlines', '--lines', '-F', '499', '-p', str(p.pid), '2'], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, timeout=60)
        alive = p.poll() is None
    finally:
        p.kill()
    own, bad = collections.Counter(), []
    for line in r.stdout.splitlines():
        frames = [f.split('@')[0] for f in line.rsplit(' ', 1)[0].split(';')]
        if frames[-1] == 'good_leaf':
            own[frames[-2]] += 1
            if frames[1:3] != ['_start', '__libc_start_main'] or 'main' not in frames:
                bad.append(line)
        if any(f == '[unknown]' for f in frames) and not any(f.startswith('[') for f in frames):
            bad.append(line)
    if r.returncode or r.stderr and 'WARNING' not in r.stderr:
        bad.append('status %d: %s' % (r.returncode, r.stderr))
    if not alive:
        bad.append('the program has ended')
    if not own['good_work'] or not own['cmp']:
        bad.append('no stack of good_work or of cmp under qsort: %s' % own)
    if bad and os.environ.get("SHOW"):
        print(r.stdout, r.stderr)
    print('\n'.join(bad) if bad else 'ok')


main()
