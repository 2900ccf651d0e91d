#!/usr/bin/env python3
"""hostile.py SONDE DIR: profiles a program whose path, name and functions hold what breaks formats and terminals (escape sequences, newlines, semicolons,
quotes, markup), with a perf map of such names that ends in the middle of a line. Every form of output must stay well-formed. Prints what is wrong, or ok."""
import gzip, json, os, re, subprocess, sys, time, xml.dom.minidom

EVIL = b'ev;il "n<a>&m\x1b[31me'
NAME = b'a_name_to_replace___'[:len(EVIL)]
SRC = r'''
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
static volatile long s;
__attribute__((noipa)) void %s(void) { for (int i = 0; i < 200000; i++) s += i; }
static const unsigned char jit[] = {0x55, 0x48, 0x89, 0xe5, 0xb9, 0x40, 0x0d, 0x03, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3}; /* push rbp; mov rsp, rbp; count ecx down; pop rbp; ret */
int main(void)
{
	char path[64];
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(p, jit, sizeof(jit));
	snprintf(path, sizeof(path), "/tmp/perf-%%d.map", getpid());
	FILE *f = fopen(path, "w");
	fprintf(f, "%%lx 20 \033]0;title\007 jit;\"<b>\\ \xff\xfe name\n%%lx", (long)p, (long)p + 64);
	fclose(f);
	prctl(PR_SET_NAME, "a;b\n\033[2J\"<&>\xff");
	puts("ready");
	fflush(stdout);
	for (;;) {
		%s();
		((void (*)(void))p)();
	}
}
''' % (NAME.decode(), NAME.decode())


def main():
    sonde, tmp = sys.argv[1], sys.argv[2]
    here = os.path.join(tmp, 'd <i>;"\n\033[7m')
    os.makedirs(here, exist_ok=True)
    src, prog = os.path.join(tmp, 'h.c'), os.path.join(here, 'p;q "\n')
    open(src, 'w').write('#include <unistd.h>\n' + SRC)
    subprocess.run(['cc', '-O2', '-w', '-o', tmp + '/h', src], check=True)
    binary = open(tmp + '/h', 'rb').read()
    with open(prog, 'wb') as f:
        f.write(binary.replace(NAME, EVIL))
    os.chmod(prog, 0o755)
    p = subprocess.Popen([prog], stdout=subprocess.PIPE)
    bad = []
    try:
        p.stdout.readline()
        run = lambda *a: subprocess.run([sonde] + list(a), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        common = ['profile', '-U', '-F', '199', '-p', str(p.pid)]
        folded = run(*common, '-f', '1')
        text = run(*common, '1')
        js = run(*common, '--json', '1')
        files = run(*common, '--flame', tmp + '/f.svg', '--pprof', tmp + '/p.gz', '1')
        why = run(*common, '--why-incomplete', '--unwind', 'fp', '-f', '1')
        script = run('-q', '-f', 'json', '-p', str(p.pid), '-e', 'profile:hz:199 { @[comm, ustack] = count(); @u = usym(reg("ip")); } interval:s:1 { exit(); }')
    finally:
        p.kill()
        os.path.exists('/tmp/perf-%d.map' % p.pid) and os.unlink('/tmp/perf-%d.map' % p.pid)
    for name, r in [('folded', folded), ('text', text), ('why', why)]:
        ctrl = re.search(rb'[\x00-\x09\x0b-\x1f\x7f]', r.stdout + r.stderr)
        if ctrl:
            bad.append('%s: control character in %r' % (name, (r.stdout + r.stderr)[max(0, ctrl.start() - 80):ctrl.end() + 20]))
    for line in folded.stdout.splitlines():
        if not re.fullmatch(rb'[^;]+(;[^;]+)+ \d+', line):
            bad.append('folded: %r' % line)
    if not re.search(rb';main;ev:il "n<a>&m\\x1b\[31me \d+$', folded.stdout, re.M) or not re.search(rb'jit:"<b>\\', folded.stdout):
        bad.append('folded: the names are not there: %r' % folded.stdout)
    for name, r in [('json', js), ('script', script)]:
        try:
            rows = [json.loads(l) for l in r.stdout.decode().splitlines() if l]
            if 'n<a>&m' not in json.dumps(rows):
                bad.append(name + ': no such name')
        except ValueError as e:
            bad.append('%s: %s in %r' % (name, e, r.stdout[:500]))
    try:
        svg = xml.dom.minidom.parse(tmp + '/f.svg').documentElement.tagName
        if svg != 'svg' or 'n<a>&m' not in ''.join(n.data for n in texts(xml.dom.minidom.parse(tmp + '/f.svg'))):
            bad.append('flame: no such name')
    except Exception as e:
        bad.append('flame: %s' % e)
    if b'n<a>&m' not in gzip.open(tmp + '/p.gz').read():
        bad.append('pprof: no such name')
    for r in (folded, text, js, files, why, script):
        if r.returncode:
            bad.append('status %d: %r' % (r.returncode, r.stderr))
    print('\n'.join(bad) if bad else 'ok')


def texts(node):
    for c in node.childNodes:
        if c.nodeType == c.TEXT_NODE:
            yield c
        yield from texts(c)


main()
