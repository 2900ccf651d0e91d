#!/usr/bin/env python3
"""lessons.py SONDE BUILD PAGE: does what a page of docs/ tells the reader to do, in a folder with build/, test/ and tools/. In: a page whose lessons are a fenced block `sh` and, after it, one `text`, which shows
lines of what that prints. Out: a line for each lesson whose command fails or does not print what is shown, and the count.
A shown line must be there, in any place. In a block `text exact` numbers are compared; else what differs from run to run does not count: numbers, the bars of histograms, and all behind "...". A line "..." stands for others."""
import os, re, signal, subprocess, sys, tempfile

sonde, build, page = (os.path.abspath(a) for a in sys.argv[1:4])


def plain(line, exact):
    line = re.sub(r'\|[@ ]*\|', '||', line)
    return re.sub(r'\s+', ' ', line if exact else re.sub(r'\d+[KMG]?', '0', line)).strip()


def lessons(text):
    """(title, command, shown lines, whether numbers count)"""
    for part in re.split(r'^## ', text, flags=re.M)[1:]:
        m = re.search(r'^```sh\n(.*?)^```\n.*?^```text( exact)?\n(.*?)^```$', part, re.M | re.S)
        if m:
            yield part.split('\n')[0], m[1], m[3].splitlines(), m[2] is not None


def run(command, top):
    """What it prints on both outputs until it ends itself (what it left in the background is ended, not waited for), and how it ended."""
    path = '%s:%s' % (os.path.join(top, 'bin'), os.environ['PATH'])
    with tempfile.TemporaryFile() as out:
        p = subprocess.Popen(['bash', '-c', command], cwd=top, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                             env=dict(os.environ, PATH=path))
        try:
            status = p.wait(timeout=60)
        finally:
            try:
                os.killpg(p.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        out.seek(0)
        return out.read().decode('utf-8', 'replace'), status


def wrong(command, shown, exact, top):
    out, status = run(command, top)
    if status:
        return 'exit status %d\n%s' % (status, out[-1500:])
    have = [plain(l, exact) for l in out.splitlines()]
    for line in shown:
        want, cut, _ = line.partition('...')
        want = plain(want, exact)
        if want and not any(h.startswith(want) if cut else h == want for h in have):
            return 'does not print: %s\nbut\n%s' % (line, out[:3000])
    return None


def main():
    n = failed = 0
    with tempfile.TemporaryDirectory() as top:
        os.mkdir(os.path.join(top, 'bin'))
        os.symlink(sonde, os.path.join(top, 'bin', 'sonde'))
        os.symlink(build, os.path.join(top, 'build'))
        for name in ('test', 'tools'):
            os.symlink(os.path.join(os.path.dirname(os.path.dirname(page)), name), os.path.join(top, name))
        for title, command, shown, exact in lessons(open(page).read()):
            why = wrong(command, shown, exact, top)
            n += 1
            failed += why is not None
            if why:
                print('%s: %s' % (title, why))
    print('%d lessons, %d failed' % (n, failed))


main()
