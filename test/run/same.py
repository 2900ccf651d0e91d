#!/usr/bin/env python3
"""Do tools' printed scripts, run by themselves, count what the tools count?

usage: same.py SONDE PERCENT WORKLOAD NAME TOOL-AND-OPTIONS...

Starts each tool and `sonde SCRIPT` of what it prints with --print-script, all at once, then the workload (PID in options is its process), then
interrupts them. Prints for each "same" or "differs", its options, and where they differ both sums: values of the rows of threads called NAME (that wait, where there are wakers).
"""
import json, os, re, shlex, signal, subprocess, sys, time

READY = b'__BPFTRACE_NOTIFY_PROBES_ATTACHED'

def start(cmd, path):
    out = open(path, 'wb')
    return subprocess.Popen(cmd, stdout=out, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=dict(os.environ, **{READY.decode(): '1'}))


def wait_until(what):
    deadline = time.time() + 60
    while not what():
        if time.time() > deadline:
            sys.exit('same.py: waited in vain')
        time.sleep(0.02)


def lines(path):
    return [json.loads(l) for l in open(path, errors='replace') if l.startswith('{')]


def of_tool(path, tool, name):
    rows = [r for r in lines(path) if r['type'] == 'stack']
    return [r['value'] for r in rows if (r['kernel'][0] if tool == 'wakeuptime' else r['comm']) == name]


def words(key):
    """The parts of a key, of records too: {.pid=5,.comm=x}"""
    return [re.sub(r'^\{?\.\w+=', '', w).rstrip('}') for w in key.split(',')]


def of_script(path, name):
    maps = [r['data'].get('@samples', {}) for r in lines(path) if r['type'] == 'map']
    return [v for m in maps for k, v in m.items() if name == [w for w in words(k) if not w.isdigit()][0]]


def main():
    sonde, percent, workload, name, *runs = sys.argv[1:]
    work = subprocess.Popen(['sh', '-c', 'kill -STOP $$; exec ' + workload], stdout=subprocess.DEVNULL)
    pairs, all_of = [], []
    for i, options in enumerate(runs):
        args = shlex.split(options.replace('PID', str(work.pid)))
        script = subprocess.run([sonde] + args + ['--json', '--print-script'], stdout=subprocess.PIPE, check=True).stdout
        files = ['%d.tool' % i, '%d.script' % i, '%d.bt' % i]
        open(files[2], 'wb').write(script)
        all_of += [start([sonde] + args + ['--json'], files[0]), start([sonde, '-f', 'json', files[2]], files[1])]
        pairs.append((options, files))
    wait_until(lambda: all(READY in open(f, 'rb').read() for _, files in pairs for f in files[:2]) or any(p.poll() is not None for p in all_of))
    work.send_signal(signal.SIGCONT)
    work.wait()
    for p in all_of:
        p.send_signal(signal.SIGINT)
    for p in all_of:
        p.wait(60)
    for options, files in pairs:
        t, s = of_tool(files[0], options.split()[0], name), of_script(files[1], name)
        a, b = sum(t), sum(s)
        same = a and abs(a - b) <= float(percent) / 100 * a
        print('%s %s' % ('same', options) if same else 'differs %s: %d in %d rows, script %d in %d' % (options, a, len(t), b, len(s)))


if __name__ == "__main__":
    main()
