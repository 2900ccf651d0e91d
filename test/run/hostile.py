#!/usr/bin/env python3
"""hostile.py SONDE: a pprof file whose names are hostile (markup, quotes, line ends, terminal escapes, bad UTF-8, 10,000 bytes), in every form that sonde writes.
Prints for each form whether it holds no control character, is UTF-8 and what its format says, and how many different names of functions come out of it."""
import gzip, html.parser, json, os, re, subprocess, sys, xml.dom.minidom

from wire import field, number

SONDE = sys.argv[1]
NAMES = [b'<script>alert(1)</script>', b'</script><!--<script>', b'"quoted" \'both\' `back` \\', b'line\nend', b'cr\rlf\r\n2', b'\x1b]0:title\x07\x1b[31mred', b'bad\xff\xfe\xc0\x80\xed\xa0\x80utf',
         b'std::' + b'very_long<' * 1000 + b'int' + b'>' * 1000, '\u202egnp.exe'.encode(), b'a;b;c 12', b'ends in 34', b'&lt;b&gt; ]]>', b'\x9b31m', b'__proto__', b'%s%n%d', b'tab\there', b'$(id)', b' ']


def profile(scale):
    """A sample a name: it is the function, the file, the process, a label's name and its text, and the title."""
    strings = [b'', b'samples', b'count', b'comm', b'main'] + NAMES + [b'\x1b[31munit']
    out = field(1, field(1, 1) + field(2, 2)) + field(1, field(1, 4) + field(2, 5 + len(NAMES))) + field(14, 1) + field(5, field(1, 1) + field(2, 4)) + field(4, field(1, 1) + field(4, field(1, 1)))
    for i in range(len(NAMES)):
        s, n = 5 + i, 2 + i
        out += field(5, field(1, n) + field(2, s) + field(4, s)) + field(3, field(1, n) + field(2, 1) + field(3, 1 << 40) + field(5, s))
        out += field(4, field(1, n) + field(2, n) + field(3, n * 4096) + field(4, field(1, n) + field(2, 7)))
        labels = field(3, field(1, 3) + field(2, s)) + field(3, field(1, s) + field(2, s))
        out += field(2, field(1, number(n) + number(1)) + field(2, number((100 + i) * (scale if i % 2 else 1)) + number(7)) + labels)
    return gzip.compress(out + field(13, 5) + b''.join(field(6, s) for s in strings))


def run(*args):
    p = subprocess.run([SONDE] + list(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return p.stdout, p.stderr


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.seen = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)


def check(what, data, count=None, utf8=True, people=True):
    bad = sorted(set(re.findall(rb'[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' + (rb'|\xe2\x80[\xaa-\xae]' if people else b''), data)))
    try:
        text, good = data.decode('utf-8', 'strict' if utf8 else 'replace'), True
    except UnicodeDecodeError:
        text, good = data.decode('utf-8', 'replace'), False
    print('%s: %s, %s, %s' % (what, 'no control characters' if not bad else 'CONTROL %r' % bad, 'UTF-8' if good else 'NOT UTF-8', count(text) if count else 'fine'))
    return text


def functions(names):
    return '%d names' % len({n for n in names if n != 'main'})


open('a', 'wb').write(profile(1))
open('b', 'wb').write(profile(20))
check('text', run('report', 'a')[0], lambda t: '%d stacks' % t.count('\n    -    '))
check('folded', run('report', '-f', 'a')[0], lambda t: functions(l.rsplit(' ', 1)[0].split(';')[-1] for l in t.splitlines()), utf8=False, people=False)
check('json', run('report', '--json', 'a')[0], lambda t: functions(json.dumps(json.loads(l)['user'][0]) for l in t.splitlines()), people=False)
check('top', run('report', '--top=99', 'a')[0], lambda t: '%d rows' % (len(t.splitlines()) - 2))
check('value', b''.join(run('report', '--value', 'main', 'a') + run('report', '--value', 'main', '--html', 'v', 'a') + run('diff', '--value', 'main', 'a', 'a')))
check('lines', run('report', '--lines', 'a')[0])
for kind in ('flame', 'html', 'speedscope', 'pprof'):
    check('says of ' + kind, run('report', '--' + kind, kind, 'a')[1])
check('flame', open('flame', 'rb').read(), lambda t: functions(x.firstChild.data for x in xml.dom.minidom.parseString(t).getElementsByTagName('title')) + ', %d scripts' % len(
    xml.dom.minidom.parseString(t).getElementsByTagName('script')))
page = check('html', open('html', 'rb').read(), lambda t: '%d scripts, %s' % (Tags(t).seen.count('script') - len(re.findall('^<script>$', t, re.M)), 'no image' if 'img' not in Tags(t).seen else 'IMAGE'))
check('speedscope', open('speedscope', 'rb').read(), lambda t: functions(f['name'] for f in json.loads(t)['shared']['frames']))
check('pprof', b'\n'.join(s.encode() for s in map(str, subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pprof.py'), 'pprof', '"\\n".join(functions)'], stdout=subprocess.PIPE).stdout.decode().split('\n'))),
      lambda t: functions(t.split('\n')[:-1]))
check('diff', run('diff', 'a', 'b')[0])
check('diff json', run('diff', '--json', 'a', 'b')[0], lambda t: functions(json.loads(l)['name'] for l in t.splitlines() if json.loads(l)['of'] == 'self'), people=False)
check('diff fails', run('diff', '--fail-if', '+1%', 'a', 'b')[1], lambda t: 'says so' if 'FAILED' in t else 'SILENT')
run('diff', '--html', 'dpage', 'a', 'b')
check('diff page', open('dpage', 'rb').read(), lambda t: '%d scripts' % (Tags(t).seen.count('script') - len(re.findall('^<script>$', t, re.M))))
open('n\x1b[31m', 'wb').write(b'junk')
check('errors', run('report', 'n\x1b[31m')[1] + run('report', '--value', '\x1b[31m', 'a')[1] + run('diff', 'a', 'n\x1b[31m')[1] + run('report', '--html', '/n/\x1b[31m', 'a')[1])
