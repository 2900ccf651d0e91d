#!/usr/bin/env python3
"""races.py SONDE BUILD: sonde built with the thread sanitizer (make check-threads) traces a machine on which programs start, fork and end: the thread that follows processes, those
that build unwind tables and the one that reports read the same tables. Prints what the sanitizer saw, each place once; status 1 if there is any, or if sonde has shown no stacks."""
import glob, os, re, subprocess, sys, tempfile, threading, time

SONDE, BUILD = (os.path.abspath(a) for a in sys.argv[1:3])
PYTHON = 'import time\nt = time.time()\ndef f(n): return sum(range(n))\nwhile time.time() - t < 3: f(1000)'
RUNS = [['profile', '-F', '99', '-f', '5'], ['offcputime', '-f', '4'], ['profile', '-F', '99', '-f', '-i', '1', '4'],
        ['profile', '-F', '99', '-f', '--', sys.executable, '-c', PYTHON], ['stackcount', '-f', '-D', '3', '%s/paths:leaf' % BUILD]]


def storm(end):
    """Programs that come and go: exec, libraries mapped, a thread."""
    n = 0
    while not end.is_set():
        n += 1
        subprocess.run([['/bin/true'], ['/bin/ls', '/'], [BUILD + '/paths', '1']][n % 3], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.01)


def main():
    end, bad = threading.Event(), 0
    t = threading.Thread(target=storm, args=(end,))
    t.start()
    with tempfile.TemporaryDirectory() as d:
        env = dict(os.environ, TSAN_OPTIONS='log_path=%s/t history_size=4' % d)
        for args in RUNS:  # its privileges are kept, or the sanitizer cannot write; addresses are not random, or it has no place for its memory
            p = subprocess.run(['setarch', '-R', SONDE, args[0], '--keep-privileges'] + args[1:], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
            lines = sum(re.search(rb' \d+$', x) is not None for x in p.stdout.splitlines())
            print('%s: %d stacks' % (' '.join(args[:4]), lines))
            if not lines or p.returncode not in (0, 66):  # 66: there were reports
                print('  status %d: %s' % (p.returncode, p.stderr.decode(errors='replace')[-300:]))
                bad += 1
        end.set()
        t.join()
        seen = set()
        for f in glob.glob(d + '/t.*'):
            seen |= set(re.findall(r'^SUMMARY: .*', open(f, errors='replace').read(), re.M))
        for s in sorted(seen):
            print(s)
    print('races: %d' % len(seen))
    sys.exit(1 if seen or bad else 0)


main()
