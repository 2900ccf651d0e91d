#!/usr/bin/env python3
"""examples.py SONDE BUILD TOP: runs every example of the help texts, the manual pages, README.md and docs/from-*.md for a second, with a process that is there for
the number 185. One line for each that fails or says nothing, and the count. Kernel functions are left out where the kernel has no kprobes."""
import concurrent.futures, glob, os, re, shlex, signal, subprocess, sys, tempfile, time

sonde, build, top = (os.path.abspath(a) for a in sys.argv[1:4])
READY = b'__BPFTRACE_NOTIFY_PROBES_ATTACHED'
TOOLS = ['profile', 'offcputime', 'offwaketime', 'wakeuptime', 'stackcount']


def output(*args):
    return subprocess.run([sonde] + list(args), stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.decode()


def from_help(text):
    for line in text[text.index('EXAMPLES:'):].split('\n'):
        if line.startswith('    sonde '):
            yield re.split(r'   *#?|#', line.strip())[0] if "{" not in line else line.strip()


def collect():
    found = list(from_help(output('--help')))
    for t in TOOLS:
        found += from_help(output(t, '--help'))
    for page in ('sonde.1', 'sonde-tools.8'):
        text = open(os.path.join(top, 'man', page)).read().replace('\\-', '-').replace('\\en', '\\n')
        found += re.findall(r"^sonde (?:[^'\n]|'[^']*')*", text.partition('.SH EXAMPLES')[2].partition('.SH')[0], re.M)
    for page in [os.path.join(top, 'README.md')] + sorted(glob.glob(os.path.join(top, 'docs', 'from-*.md'))):
        text = open(page).read()
        found += re.findall(r'^    (sonde .*)', text, re.M)
        found += re.findall(r'^\|.*\| `(sonde (?:%s) [^`]*)` \|$' % '|'.join(TOOLS), text, re.M)
    out = []
    for f in dict.fromkeys(found):
        a, bar, b = f.partition(' | ')  # "profile -U | -K"
        out += [a, re.sub(r'\S+$', b, a)] if bar else [a]
    return list(dict.fromkeys(x.strip() for x in out if not x.startswith('sonde agent')))  # which prints nothing: agent.t runs it


def short(example, pid):
    """The command for a second of it, and whether an interrupt has to end it."""
    words = example.split()
    example = re.sub(r'\b185\b', str(pid), example).replace('185,190', str(pid)).replace(',190', '')
    if words[1] == 'stackcount':
        return example.replace('stackcount', 'stackcount -D 1').replace('-Ti 5', '-Ti 1'), False
    if words[1] == 'top':  # goes on for ever, and says no word when it begins
        return example + ' --once', False
    if ' -- ' in example:
        return example.replace(' -- ', ' 1 -- '), False
    if words[1] in TOOLS:
        if re.search(r'(?<!-m)(?<!-F) \d+( >.*)?$', example) and not example.endswith(' -m 1000') and not example.endswith('-p %d' % pid):
            return re.sub(r' \d+( >.*)?$', r' 1\1', example), False
        return example + ' 1', False
    return example, not words[1].startswith('-l')


def run(example, pid):
    with tempfile.TemporaryDirectory() as tmp:
        return run_in(tmp, example, pid)


def run_in(tmp, example, pid):
    cmd, interrupt = short(example, pid)
    cmd = re.sub(r'^sonde', 'exec ' + shlex.quote(sonde), cmd)
    out = os.path.join(tmp, '.out')
    with open(out, 'wb') as f:
        p = subprocess.Popen(cmd, shell=True, stdout=f, stderr=subprocess.PIPE, cwd=tmp, env=dict(os.environ, **{READY.decode(): '1'} if interrupt else {}))
    try:
        if interrupt:  # a second after all is attached
            for _ in range(600):
                if p.poll() is not None or READY in open(out, 'rb').read():
                    break
                time.sleep(0.1)
            time.sleep(1)
            p.send_signal(signal.SIGINT)
        err = p.communicate(timeout=90)[1]
    except subprocess.TimeoutExpired:
        p.kill()
        err = p.communicate()[1] + b'ERROR: no end'
    out = open(out, 'rb').read().replace(READY, b'')
    os.unlink(os.path.join(tmp, '.out'))
    err = err.decode('utf-8', 'replace')
    files = sum(os.path.getsize(os.path.join(tmp, f)) for f in os.listdir(tmp))
    if p.returncode or re.search('ERROR|HINT|No match', err):
        return 'exit status %d: %s' % (p.returncode, err.strip())
    return None if out.strip() or files else 'no output'


def main():
    kprobes = re.search(r'^\s*kprobe: yes', output('info'), re.M)
    examples = [e for e in collect() if kprobes or not re.search(r"stackcount (-r )?'?\^?(ip_|tcp_)", e)]
    failed = 0
    work = subprocess.Popen(['sh', '-c', 'while :; do %s/waits spin 30; cat /dev/null; sleep 0.1; done' % shlex.quote(build)], start_new_session=True)
    try:
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for e, why in zip(examples, pool.map(lambda e: run(e, work.pid), examples)):
                failed += why is not None
                if why:
                    print('%s\n    %s' % (e, why))
    finally:
        os.killpg(work.pid, signal.SIGKILL)
        work.wait()
    print('%s, %d failed' % ('more than 25 examples' if len(examples) > 25 else 'only %d examples' % len(examples), failed))


main()
