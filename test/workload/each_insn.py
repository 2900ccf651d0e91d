#!/usr/bin/env python3
"""Which instructions of a program's own code have stacks that are cut? A sample meets few of them; here each has a uprobe.

usage: each_insn.py SONDE FILE [FROM-TO] -- COMMAND...      needs root, binutils, x86-64
FROM-TO: addresses in FILE, hexadecimal; without them the largest piece of code that one entry of .eh_frame describes, as an interpreter's loop is. COMMAND must
run FILE's code and not end; it is begun anew for every BATCH instructions and ended. Prints how many instructions were met and how many stacks were cut, then each
instruction with such: its address, how many of how many stacks, its text, the innermost frames of one.
"""
import collections
import json
import os
import re
import signal
import subprocess
import sys
import time

BATCH, SECONDS, FRAMES = 150, 0.7, 32


def out(*cmd):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def largest_piece(path):
    """(from, to) of the longest FDE"""
    found = re.findall(r' FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)', out('readelf', '--debug-dump=frames', path))
    return max(((int(a, 16), int(b, 16)) for a, b in found), key=lambda r: r[1] - r[0])


def instructions(path, start, stop):
    """{address: text}"""
    code = out('objdump', '-d', '--no-show-raw-insn', '--start-address=%d' % start, '--stop-address=%d' % stop, path)
    return {int(a, 16): text for a, text in re.findall(r'^ +([0-9a-f]+):\t(.*\S)', code, re.M) if '(bad)' not in text}


def bias(pid, path):
    """What a process adds to the file's addresses"""
    off, vaddr = (int(x, 16) for x in re.search(r'LOAD +(0x[0-9a-f]+) +(0x[0-9a-f]+) .* R E ', out('readelf', '-lW', path)).groups())
    for line in open('/proc/%d/maps' % pid):
        m = re.match(r'([0-9a-f]+)-\S+ r-xp ([0-9a-f]+) \S+ \d+ +(.*)', line)
        if m and os.path.realpath(m[3]) == os.path.realpath(path):
            return int(m[1], 16) - int(m[2], 16) + off - vaddr
    sys.exit('each_insn: process %d does not run %s' % (pid, path))


def stacks_at(sonde, path, places, command, seconds):
    """{address: [stacks, those that are cut, the frames of such a one]} for those that were met while the command ran"""
    met = collections.defaultdict(lambda: [0, 0, ()])
    for at in range(0, len(places), BATCH):
        load = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(1)  # its unwind tables and what it compiles
        base = bias(load.pid, path)
        script = 'config = { missing_probes = "warn"; max_map_keys = 65536 } %s { @[reg("ip"), ustack(%d)] = count(); } interval:ms:%d { exit() }' % (
            ','.join('uprobe:%s:%#x' % (path, a) for a in places[at:at + BATCH]), FRAMES, int(seconds * 1000))  # with `probe` each would be a program of its own
        run = subprocess.run([sonde, '--json', '-p', str(load.pid), '-e', script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ended = load.poll()
        os.killpg(load.pid, signal.SIGKILL)  # and what it has begun
        load.wait()
        if run.returncode or ended is not None:
            sys.exit('each_insn: %s: %s' % (' '.join(command), run.stderr or 'it has ended: %s' % ended))
        for row in map(json.loads, run.stdout.splitlines()):
            if row['type'] == 'stack':
                m = met[int(row['key']['key1']) - base]
                m[0] += row['value']
                if '[truncated]' in row['user']:
                    m[1] += row['value']
                    m[2] = row['user'][:4]
    return met


def main():
    if '--' not in sys.argv[3:]:
        sys.exit(__doc__)
    i = sys.argv.index('--')
    sonde, path, span, command = sys.argv[1], sys.argv[2], sys.argv[3:i], sys.argv[i + 1:]
    start, stop = (int(a, 16) for a in span[0].split('-')) if span else largest_piece(path)
    text = instructions(path, start, stop)
    met = stacks_at(sonde, path, sorted(text), command, SECONDS)
    print('%d of %d instructions met, %d stacks, %d cut' % (len(met), len(text), sum(m[0] for m in met.values()), sum(m[1] for m in met.values())))
    for at, (n, cut, frames) in sorted(met.items()):
        if cut:
            print('%#x %d of %d  %s  | %s' % (at, cut, n, text[at], ' < '.join(frames)))


if __name__ == '__main__':
    main()
