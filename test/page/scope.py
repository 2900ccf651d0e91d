#!/usr/bin/env python3
"""scope.py SONDE: what speedscope itself (its npm package, in a headless Chromium) reads in a file of --speedscope and in one of --pprof: self and total of each function
in its table, beside the same worked out from the folded text. The last line is "errors: []" of its scripts."""
import base64, json, os, re, subprocess, sys, tarfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser

PACKAGE = os.path.expanduser('~/.cache/sonde-npm/speedscope-1.25.0.tgz')  # NEED npm:speedscope@1.25.0
FOLDED = """app;main;work;parse 30
app;main;work;parse;malloc;sys_brk_[k] 10
app;main;work;parse;parse 7
app;main;<script>alert(1)</script> 20
app;main;"quoted" \\back 13
bpp;main;\x1b[31mred 11
bpp;main;std::map<int, long>::at(int const&) const 9
"""


def wanted():
    rows = [(line.rsplit(' ', 1)[0].replace('_[k]', '').replace('\x1b', '\\x1b').split(';'), int(line.rsplit(' ', 1)[1])) for line in FOLDED.strip('\n').split('\n')]
    return {f: (sum(v for s, v in rows if f in s), sum(v for s, v in rows if s[-1] == f)) for s, _ in rows for f in s}


def table(text):
    """Name -> (total, self) of the rows of its Sandwich view."""
    found = re.findall(r'^([\d.]+)(\S*) \(<?[\d.]+%\)\s*\n\s*([\d.]+)(\S*) \(<?[\d.]+%\)\s*\n\s*(.*)$', text.split('Symbol Name\n')[1], re.M)
    scale = {'ns': 1e-3, 'µs': 1, 'ms': 1e3, 's': 1e6, '': 1}
    return {name: (round(float(t) * scale[tu]), round(float(s) * scale[su])) for t, tu, s, su, name in found}


def read(b, app, path):
    name, data = os.path.basename(path), base64.b64encode(open(path, 'rb').read()).decode()
    script = os.path.join(app, 'profile.js')
    with open(script, 'w') as f:
        f.write('speedscope.loadFileFromBase64(%s, %s)' % (json.dumps(name), json.dumps(data)))
    b.open('file://%s/index.html#localProfilePath=%s' % (app, script))
    until, text = time.monotonic() + 30, ''
    while 'Symbol Name\n' not in text:  # its rows come after its head
        if time.monotonic() > until:
            raise TimeoutError('speedscope shows no table: ' + text[:300])
        time.sleep(0.2)
        if 'Symbol Name' not in text:
            b.key('3')
        text = b.js('document.body.innerText')
    return table(text)


def main():
    with Browser() as b:
        with tarfile.open(PACKAGE) as t:
            t.extractall(b.dir)
        app = os.path.join(b.dir, 'package', 'dist', 'release')
        want = wanted()
        for option, name in (('--speedscope', 'a.json'), ('--pprof', 'a.pb.gz')):
            path = os.path.join(b.dir, name)
            subprocess.run([sys.argv[1], 'report', option, path, '--unit', 'us', '-'], input=FOLDED.encode(), check=True, stderr=subprocess.PIPE)
            of = {f: v for f, v in want.items() if option == '--speedscope' or f not in ('app', 'bpp')}  # a label in pprof
            got = read(b, app, path)
            print('%s: %s' % (option, 'same, %d functions' % len(of) if got == of else 'SPEEDSCOPE %r TEXT %r' % (sorted(got.items()), sorted(of.items()))))
        print('errors:', b.errors)


main()
