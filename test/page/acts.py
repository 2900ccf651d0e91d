#!/usr/bin/env python3
"""acts.py SONDE CASE: what a person does with the report page (sonde report --html) in a headless Chromium. Each line it prints is a value that the
page shows, and the same value worked out here from the folded text the page was made from; the last one is "errors: []" of the page's scripts."""
import glob, json, os, re, subprocess, sys, tempfile, time, xml.dom.minidom

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser

FOLDED = """app;main;work;parse 30
app;main;work;parse;malloc;sys_brk_[k] 10
app;main;work;parse;parse 7
app;main;idle 20
bpp;main;work 13
bpp;main;other;malloc 11
bpp;main;libc.so 9
"""
HOSTILE = ['<script>alert(1)</script>', '</script><img src=x onerror=alert(2)>', '"quoted" \'both\' `back`', 'a\\nb', '\x1b]0:title\x07\x1b[31mred', 'x\xff\xfe'.encode('latin1').decode('utf-8', 'surrogateescape'),
           'std::' + 'very_long<' * 1000 + 'int' + '>' * 1000, '\u202egnp.exe', '<!--', ']]>', '&lt;b&gt;', '__proto__', 'constructor', '-->', '\u2028line']


class Stacks:
    """The folded text's own numbers."""
    def __init__(self, text):
        self.rows = [(line.rsplit(' ', 1)[0].replace('_[k]', '').split(';'), int(line.rsplit(' ', 1)[1])) for line in text.strip('\n').split('\n')]
        self.all = sum(v for _, v in self.rows)

    def total(self, keep):
        return sum(v for s, v in self.rows if keep(s))

    def self(self, name):
        return self.total(lambda s: s[-1] == name)

    def boxes(self):
        return len({tuple(s[:i]) for s, _ in self.rows for i in range(1, len(s) + 1)})


def percent(part, of):
    p = 100 * part / of
    return '%.*f %%' % (2 if p < 10 else 1, p)


class Page(Browser):
    def __init__(self, text, **options):
        super().__init__()
        self.path = os.path.join(self.dir, 'page.html')
        args = [w for k, v in options.items() for w in ('--' + k.replace('_', '-'), v)]
        self.make(text.encode('utf-8', 'surrogateescape'), args)
        self.visit()

    def make(self, text, args):
        subprocess.run([sys.argv[1], 'report', '--html', self.path] + args + ['-'], input=text, check=True, stderr=subprocess.PIPE)

    def visit(self, hash=''):
        self.open('file://' + self.path + hash)

    def text(self, id):
        return self.js('document.getElementById("%s").textContent' % id)

    def box(self, name, pane=0, nth=0):
        """Middle of the nth box of that name on the screen."""
        r = self.js('(function () { var p = sonde.panes[%d], t = p.tree, found = []; for (var i = 0; i < t.n; i++) if (t.key[i] >= 0 && t.keys.names[t.key[i]] === %s) found.push(i);'
                    'var r = p.placeOf(found[%d]); return [r.x + r.w / 2, r.y + r.h / 2, r.w]; })()' % (pane, repr(name), nth))
        return r

    def click_box(self, name, **kw):
        self.drawn()
        x, y, _ = self.box(name, **kw)
        self.click(x, y)

    def press(self, id):
        self.drawn()
        r = self.js('(function () { var r = document.getElementById("%s").getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()' % id)
        self.click(*r)

    def search(self, q):
        self.key('/')
        self.js('document.getElementById("q").value = ""')
        self.write(q)
        return self.text('found')

    def rows(self):
        return self.js('sonde.table.draw(), Array.from(document.querySelectorAll("#rows .row")).map(function (r) { return Array.from(r.children).map(function (c) { return c.textContent; }); })')


class DiffPage(Page):
    """The page of sonde diff, and what its text says of each function (rows)."""
    def make(self, text, args):
        names = [os.path.join(self.dir, n) for n in ('one <b>', 'two "', 'same1', 'same2')]
        for name, part in zip(names, text.split(b'----\n')):
            open(name, 'wb').write(part)
        same = [w for n in names[2:] if os.path.exists(n) for w in ('--same', n)]
        out = subprocess.run([sys.argv[1], 'diff', '--json', '--html', self.path] + args + same + names[:2], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
        self.rows = [json.loads(line) for line in out.decode().splitlines()]


class Picture(Page):
    """The SVG of sonde report --flame: names are in its titles, which its script takes out."""
    def make(self, text, args):
        self.path = os.path.join(self.dir, 'flame.svg')
        subprocess.run([sys.argv[1], 'report', '--flame', self.path] + args + ['-'], input=text, check=True, stderr=subprocess.PIPE)
        self.names = [t.firstChild.data.split('\n')[0] for t in xml.dom.minidom.parse(self.path).getElementsByTagName('title')]

    def box(self, name, nth=0):
        at = [i for i, n in enumerate(self.names) if n == name][nth]
        return self.js('(function () { var r = document.querySelectorAll("g.f")[%d].querySelector("rect").getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2, r.width]; })()' % at)

    def search(self, q):
        self.key('/')
        self.write(q)
        return self.text('matched')


def same(what, page, own):
    print('%s: %s' % (what, 'same, %s' % (own,) if page == own else 'PAGE %r TEXT %r' % (page, own)))


def case_zoom(p, s):
    """Clicks, the details, the way back by key, button and browser history, and the address."""
    same('boxes', p.text('status'), '%d boxes' % s.boxes())
    p.click_box('work')
    app = s.total(lambda r: r[:3] == ['app', 'main', 'work'])
    same('details', p.text('dvalue'), '%d samples, %s · 100.0 %% of the zoomed box' % (app, percent(app, s.all)))
    same('width of the zoomed box', round(p.box('work')[2]), p.js('innerWidth'))
    p.click_box('malloc')
    n = s.total(lambda r: r[:5] == ['app', 'main', 'work', 'parse', 'malloc'])
    same('zoomed again', p.text('dvalue'), '%d samples, %s · 100.0 %% of the zoomed box' % (n, percent(n, s.all)))
    address = p.js('location.hash')
    p.js('history.back()')
    time.sleep(0.3)
    same('back', round(p.box('work')[2]), p.js('innerWidth'))
    p.key('Escape')
    same('whole width after Escape', round(p.box('app')[2]), round(p.js('innerWidth') * s.total(lambda r: r[0] == 'app') / s.all))
    p.visit(address)
    same('a link to the zoomed box', round(p.box('malloc')[2]), p.js('innerWidth'))
    p.press('reset')
    same('reset', round(p.box('app')[2]), round(p.js('innerWidth') * s.total(lambda r: r[0] == 'app') / s.all))


def case_search(p, s):
    """Text, expressions, what is not one, shares of all and of the zoomed box."""
    value = s.total(lambda r: 'malloc' in r)
    same('text', p.search('MALLOC'), '2 boxes match: %s of what is shown (%d samples)' % (percent(value, s.all), value))
    value = s.total(lambda r: 'parse' in r)
    same('a match in a match counts once', p.search('parse'), '2 boxes match: %s of what is shown (%d samples)' % (percent(value, s.all), value))
    value = s.total(lambda r: 'libc.so' in r)
    same('a dot is a dot', p.search('c.s'), '1 box matches: %s of what is shown (%d samples)' % (percent(value, s.all), value))
    p.press('regex')
    value = s.total(lambda r: 'idle' in r or 'other' in r)
    same('expression', p.search('^(idle|other)$'), '2 boxes match: %s of what is shown (%d samples)' % (percent(value, s.all), value))
    print('no expression:', 'Invalid regular expression' in p.search('('))
    same('nothing', p.search('nosuch'), 'No match')
    p.search('malloc')
    p.key('Enter')
    same('first match', p.text('dname'), 'malloc')
    p.click_box('bpp')
    value = s.total(lambda r: r[0] == 'bpp' and 'malloc' in r)
    same('of the zoomed box', p.text('found'), '1 box matches: %s of what is shown (%d samples)' % (percent(value, s.total(lambda r: r[0] == 'bpp')), value))
    address = p.js('location.hash')
    p.visit(address)
    same('a link', p.text('found'), '1 box matches: %s of what is shown (%d samples)' % (percent(value, s.total(lambda r: r[0] == 'bpp')), value))
    p.key('Escape')
    same('Escape', p.text('found'), '')


def case_table(p, s):
    p.key('4')
    names = sorted({f for r, _ in s.rows for f in r[1:]}, key=lambda f: (-s.self(f), -s.total(lambda r: f in r[1:]), f))
    want = [[percent(s.self(f), s.all) + ' · %d' % s.self(f), percent(s.total(lambda r: f in r[1:]), s.all) + ' · %d' % s.total(lambda r: f in r[1:]), f] for f in names]
    same('by self', [r[:3] for r in p.rows()], want)
    p.js('document.querySelector("[data-sort=total]").click()')
    same('by total', [r[2] for r in p.rows()], sorted(names, key=lambda f: (-s.total(lambda r: f in r[1:]), f)))
    p.js('document.querySelector("[data-sort=name]").click()')
    same('by name', [r[2] for r in p.rows()], sorted(names))
    p.js('document.querySelector("[data-sort=name]").click()')
    same('by name, downward', [r[2] for r in p.rows()], sorted(names, reverse=True))
    p.search('mal')
    same('found', [r[2] for r in p.rows()], ['malloc'])
    p.key('Enter')
    p.key('Enter')
    same('Enter makes a sandwich', p.text('grapht'), 'Who calls malloc')


def case_sandwich(p, s):
    """The chosen function's callers and callees, and the callers of all leaves."""
    p.click_box('malloc')
    p.key('s')
    same('who', p.text('grapht'), 'Who calls malloc')
    value = s.total(lambda r: 'malloc' in r)
    width = p.js('innerWidth')
    same('its width above', round(p.box('malloc')[2]), width)
    same('share of a caller', round(p.box('other')[2] / width, 3), round(s.total(lambda r: 'malloc' in r and 'other' in r) / value, 3))
    same('share of a callee', round(p.box('sys_brk', pane=1)[2] / width, 3), round(s.total(lambda r: 'malloc' in r and 'sys_brk' in r) / value, 3))
    p.visit(p.js('location.hash'))
    same('a link', p.text('grapht'), 'Who calls malloc')
    inside = s.total(lambda r: 'malloc' in r and 'sys_brk' in r)
    same('search in what it calls', p.search('sys_brk'), '1 box of what it calls matches: %s of what is shown (%d samples)' % (percent(inside, value), inside))
    outside = s.total(lambda r: 'malloc' in r and 'other' in r)
    p.search('^(other|sys_brk)$')
    p.press('regex')
    same('search in both', p.text('found'), '1 box of its callers matches: %s of what is shown (%d samples) · 1 box of what it calls matches: %s of what is shown (%d samples)' % (
        percent(outside, value), outside, percent(inside, value), inside))
    seen = []
    p.key('/')
    for key in ('Enter', 'n', 'n', 'N'):
        p.key(key)
        seen.append(p.text('dname'))
    same('from match to match', seen, ['other', 'sys_brk', 'other', 'sys_brk'])
    p.key('ArrowUp')
    same('keys go to where the match is', p.text('dname'), 'malloc')
    p.press('regex')
    p.key('/')
    p.key('Escape')
    p.key('2')
    same('callers: width of a leaf', round(p.box('parse')[2]), round(width * s.self('parse') / s.all))
    p.click_box('parse')
    p.key('ArrowUp')
    same('callers: whom it was called by most', p.text('dname'), 'work')
    print('callers: amount:', p.text('dvalue'))
    p.key('c')
    time.sleep(0.2)
    same('copied from the leaf', p.js('navigator.clipboard.readText()'), '    parse\n    work\n        30 samples, 30.0 %\n')


def case_keys(p, s):
    """Everything by key."""
    p.key('ArrowUp')
    same('first', p.text('dname'), 'all')
    p.key('ArrowUp')
    same('to the leaf, the widest', p.text('dname'), 'app')
    p.key('ArrowRight')
    same('to the right', p.text('dname'), 'bpp')
    p.key('ArrowLeft')
    for _ in range(3):
        p.key('ArrowUp')
    same('upward', p.text('dname'), 'parse')
    p.key('Enter')
    same('Enter zooms', round(p.box('parse')[2]), p.js('innerWidth'))
    p.key('c')
    time.sleep(0.2)
    v = s.total(lambda r: r[:4] == ['app', 'main', 'work', 'parse'])
    same('copied', p.js('navigator.clipboard.readText()'), '    parse\n    work\n    main\n    app\n        %d samples, %s\n' % (v, percent(v, s.all)))
    p.key('Backspace')
    p.key('i')
    y = [p.box(n)[1] for n in ('app', 'main', 'work')]
    same('icicle: roots on top', y, sorted(y))
    p.key('i')
    y = [p.box(n)[1] for n in ('app', 'main', 'work')]
    same('flame: roots at the foot', y, sorted(y, reverse=True))
    p.key('?')
    same('help', p.js('document.getElementById("keys").open'), True)
    p.key('Escape')
    same('help closed', p.js('document.getElementById("keys").open'), False)
    p.key('d')
    same('dark', p.js('document.documentElement.dataset.theme'), 'dark')
    p.key('m')
    same('merge', p.js('document.getElementById("merge").value'), 'object')
    p.key('f')
    same('filters', p.js('[document.getElementById("filters").hidden, document.activeElement.tagName].join()'), 'false,SELECT')


def case_filter(p, s):
    """By process; the first row by nothing; numbers of what is left."""
    at = p.js('Array.from(document.querySelector("[data-state=only-process]").options).map(function (o) { return o.text; })')
    same('processes', at, ['all'] + ['%s, %s' % (n, percent(s.total(lambda r: r[0] == n), s.all)) for n in ('app', 'bpp')])
    p.js('var f = document.querySelector("[data-state=only-process]"); f.value = f.options[2].value; f.dispatchEvent(new Event("change"))')
    bpp = s.total(lambda r: r[0] == 'bpp')
    same('said', p.text('status').split(' · ')[0], 'filtered: %d samples of %d samples' % (bpp, s.all))
    same('share of the rest', p.search('libc').split('(')[0], '1 box matches: %s of what is shown ' % percent(9, bpp))
    p.js('var f = document.querySelector("[data-state=group]"); f.value = ""; f.dispatchEvent(new Event("change"))')
    same('main is the first row', round(p.box('main')[2]), p.js('innerWidth'))
    p.visit(p.js('location.hash'))
    same('a link', p.text('status').split(' · ')[0], 'filtered: %d samples of %d samples' % (bpp, s.all))


def case_sizes(p, s):
    """Phone, desktop and back; dark when the system is dark."""
    for w, h in ((390, 844), (1600, 900), (320, 568)):
        p.resize(w, h, mobile=w < 500)
        same('no sideways scrolling at %d' % w, p.js('document.documentElement.scrollWidth <= innerWidth && document.body.scrollWidth <= innerWidth'), True)
        same('width of app at %d' % w, round(p.box('app')[2]), round(w * s.total(lambda r: r[0] == 'app') / s.all))
        same('the root is in sight at %d' % w, p.js('(function () { var p = sonde.panes[0], r = p.host.getBoundingClientRect(), y = p.placeOf(0).y; return y >= r.top && y < r.bottom && r.height > 80; })()'), True)
    p.resize(1200, 800)
    for on, name in ((True, 'dark'), (False, 'light')):
        p.dark(on)
        time.sleep(0.1)
        same('the system is ' + name, p.js('document.documentElement.dataset.theme'), name)
        same('paper', p.js('getComputedStyle(document.body).backgroundColor'), {'dark': 'rgb(22, 24, 27)', 'light': 'rgb(251, 251, 249)'}[name])


def case_flame(p, s):
    """The SVG has the page's gestures: click, keys, search with its share, icicle, copy, a link; what is too narrow is said."""
    share = lambda keep: percent(s.total(keep), s.all)
    tip = lambda: (p.text('tipname'), p.text('tipinfo').split(', ')[1])
    same('too narrow', p.text('sub').split(' · ')[1], '2,000 frames (%.2g %%) too narrow to draw or to find' % (100 * s.total(lambda r: r[-1].startswith('thin')) / s.all))
    same('search', p.search('malloc'), '2 matches: %s of what is shown' % share(lambda r: 'malloc' in r))
    p.key('Enter')
    same('first match', tip(), ('malloc', '%.2f%%' % (100 * s.total(lambda r: r[:5] == ['app', 'main', 'work', 'parse', 'malloc']) / s.all)))
    p.key('n')
    same('the next', tip()[1], '%.2f%%' % (100 * s.total(lambda r: r[:4] == ['bpp', 'main', 'other', 'malloc']) / s.all))
    p.key('N')
    p.key('ArrowDown')
    same('toward the root', tip()[0], 'parse')
    p.key('Enter')
    parse = s.total(lambda r: r[:4] == ['app', 'main', 'work', 'parse'])
    same('Enter zooms', round(p.box('parse')[2]), p.js('innerWidth'))
    same('share of what is shown', p.text('matched'), '1 match: %s of what is shown' % percent(s.total(lambda r: r[:5] == ['app', 'main', 'work', 'parse', 'malloc']), parse))
    address = p.js('location.hash')
    p.key('c')
    time.sleep(0.2)
    print('copied:', p.js('navigator.clipboard.readText().catch(function (e) { return String(e); })').split('\n')[:4])
    p.key('Escape')
    same('search off', p.text('matched'), '')
    p.key('Backspace')
    same('the whole width', round(p.box('app')[2]), round(p.js('innerWidth') * s.total(lambda r: r[0] == 'app') / s.all))
    p.key('i')
    y = [p.box(n)[1] for n in ('app', 'main', 'work')]
    same('icicle', y, sorted(y))
    p.key('i')
    p.visit(address)
    same('a link', round(p.box('parse')[2]), p.js('innerWidth'))
    same('its search', p.text('matched').split(':')[0], '1 match')
    p.click_box('app')
    same('a click on what is below', round(p.box('app')[2]), p.js('innerWidth'))
    x, y, _ = p.box('all')
    p.click(x, y)
    same('search by expression', p.search('^(idle|other)$'), '2 matches: %s of what is shown' % share(lambda r: 'idle' in r or 'other' in r))


def case_narrow(p, s):
    """3,000 functions side by side: what is too narrow is said and found."""
    narrow = s.total(lambda r: r[-1].startswith('thin'))
    same('said', p.text('status'), '%d boxes · 2,000 of them (%s) are too narrow to draw: grey; zoom in' % (s.boxes(), percent(narrow, s.all)) if s.boxes() < 1000 else
         '%s boxes · 2,000 of them (%s) are too narrow to draw: grey; zoom in' % (format(s.boxes(), ','), percent(narrow, s.all)))
    same('found', p.search('thin_7'), '%s boxes match: %s of what is shown (%d samples); %s of them too narrow to draw' % (
        len([r for r, _ in s.rows if 'thin_7' in r[-1]]), percent(s.total(lambda r: 'thin_7' in r[-1]), s.all), s.total(lambda r: 'thin_7' in r[-1]), len([r for r, _ in s.rows if 'thin_7' in r[-1]])))
    p.key('Enter')
    p.key('4')
    same('in the table', p.text('status'), '%d matching functions' % len([r for r, _ in s.rows if 'thin_7' in r[-1]]))


def case_hostile(p, s):
    """Names of every kind are text, wherever they are shown."""
    for view in ('flame', 'callers', 'table', 'sandwich'):
        p.visit('#view=' + view)
        p.js('sonde.panes[0].tree && sonde.panes[0].on.click(sonde.panes[0], Math.min(3, sonde.panes[0].tree.n - 1))')
    same('elements made of names', p.js('document.querySelectorAll("img, b i, #details script, #rows script").length'), 0)
    p.visit()
    shown = p.js('sonde.view.keysNow().names')
    same('names', len(set(shown)), len({f for r, _ in s.rows for f in r if f}))
    print('escape:', any(n.startswith('\\x1b]0:title\\x07\\x1b[31mred') for n in shown), 'bad bytes:', 'x\\xff\\xfe' in shown, 'turned:', '\\xe2\\x80\\xaegnp.exe' in shown, 'long:', max(map(len, shown)))
    print('found:', p.search('<script>').split(':')[0])
    same('script elements', p.js('document.scripts.length'), len(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../src/out/page_*.js'))) + 1)  # and the data


PERF = """one 5 [000] 1.5: cycles:u:
\t1 leaf+0x1 (/lib/libx.so)
  a.c:3
\t2 main+0x1 (/bin/one)
  main.rs:7

one 5 [000] 1.6: cycles:u:
\t1 leaf+0x2 (/lib/libx.so)
  a.c:4
\t2 main+0x1 (/bin/one)
  main.rs:7

two 6 [000] 1.7: cycles:u:
\t2 main+0x1 (/bin/two)
  main.rs:7
"""


def case_lines(p, s):
    """Merged by line and by object; stacks with a frame of a language."""
    choose = lambda state, text: p.js('var f = document.querySelector("[data-state=%s]"); f.value = Array.from(f.options).find(function (o) { return o.text.startsWith("%s"); }).value;'
                                      'f.dispatchEvent(new Event("change"))' % (state, text))
    boxes = lambda: p.js('(function () { var t = sonde.panes[0].tree; return Array.from(t.key).slice(1).map(function (k, i) { return t.keys.names[k] + " " + t.value[i + 1]; }); })()')
    same('by function', boxes(), ['one 2', 'main 2', 'leaf 2', 'two 1', 'main 1'])
    p.click_box('main', nth=1)
    same('where it is', p.text('dplace'), 'user · /bin/two · main.rs:7 · Rust')
    p.key('Escape')
    p.click_box('leaf')
    same('of several lines', p.text('dplace'), 'user · /lib/libx.so · C')
    p.visit('#view=table')
    same('of several objects', sorted(r[2:4] for r in p.rows()), [['leaf', '/lib/libx.so'], ['main', 'several objects']])
    p.visit()
    p.key('m')
    same('by line', boxes(), ['one 2', 'main main.rs:7 2', 'leaf a.c:3 1', 'leaf a.c:4 1', 'two 1', 'main main.rs:7 1'])
    p.key('m')
    same('by object', boxes(), ['one 2', 'one 2', 'libx.so 2', 'two 1', 'two 1'])
    p.visit('#colour=object')
    same('legend of objects, the largest first', p.js('Array.from(document.querySelectorAll("#key span")).map(function (s) { return s.textContent; })'), ['libx.so', 'two', 'one'])
    same('each has a colour', p.js('new Set(Array.from(document.querySelectorAll("#key i")).map(function (i) { return i.style.background; })).size'), 3)
    p.visit('#merge=object')
    p.key('m')
    choose('language', 'C,')
    same('with a frame of C', boxes(), ['one 2', 'main 2', 'leaf 2'])
    choose('language', 'Rust,')
    same('with a frame of Rust', len(boxes()), 5)
    choose('only-pid', 'two (6)')
    same('of one process', boxes(), ['two 1', 'main 1'])


def case_diff(p, s):
    """Two profiles: the numbers of each function are those of the text, boxes are coloured by verdict, the width is what is asked for."""
    got = {(k, name): c for k in ('self', 'total') for name, c in p.js(
        '(function () { var c = sonde.view.changes(), t = sonde.view.forward(), f = sonde.view.functions(), out = []; f.list.forEach(function (k) { out.push([t.keys.names[k], c.%s[k]]); }); return out; })()' % k)}
    text = {(r['of'], r['name']): r for r in p.rows if r['of'] != 'stack'}
    same('functions', sorted(k for k, c in got.items() if c['before'] + c['after']), sorted(text))
    far = lambda k: max(abs(got[k]['diff'] - text[k]['difference']), abs(got[k]['lo'] - text[k]['low']), abs(got[k]['hi'] - text[k]['high']))
    print('as the text says:', all(far(k) < 1e-5 and ('cannot tell', 'more', 'less')[got[k]['verdict']] == text[k]['verdict'] for k in text), max(map(far, text)) < 1e-5)
    print('verdicts:', sorted({r['verdict'] for r in p.rows}))
    colour = lambda name: p.js('(function () { var p = sonde.panes[0], r = p.placeOf(Array.from(p.tree.key).findIndex(function (k) { return k >= 0 && p.tree.keys.names[k] === "%s"; })), b = p.canvas.getBoundingClientRect();'
                               'return Array.from(p.ctx.getImageData((r.x - b.x + r.w - 3) * p.ratio, (r.y - b.y + 3) * p.ratio, 1, 1).data).slice(0, 3); })()' % name)
    of = {n: colour(n) for n in ('grown', 'shrunk', 'even')}
    print('colours: more is red', of['grown'][0] > of['grown'][2] + 60, 'less is blue', of['shrunk'][2] > of['shrunk'][0] + 60, 'others grey', max(of['even']) - min(of['even']) < 12)
    p.click_box('grown')
    box = next(r for r in p.rows if r['of'] == 'total' and r['name'] == 'grown')
    print('details:', p.text('dvalue').split(' (')[0], '| more' if p.text('dvalue').endswith(', more') else '')
    same('said', p.text('dvalue').split(': ')[1].split(' ')[0], '%+.2f' % (100 * box['difference']))
    p.key('Escape')
    p.js('var f = document.querySelector("[data-state=part]"); f.value = "1"; f.dispatchEvent(new Event("change"))')
    total = sum(r['after'] for r in p.rows if r['of'] == 'self')
    same('width after', round(p.box('grown')[2]), round(1200 * box['after'] / total))
    p.visit(p.js('location.hash'))
    same('a link', round(p.box('grown')[2]), round(1200 * box['after'] / total))
    same('what has gone has its difference', p.js('sonde.view.changes().self[sonde.view.keysNow().names.indexOf("gone")].verdict'), 2)
    p.key('2')
    print('callers:', sorted(set(p.js('(function () { var t = sonde.panes[0].tree; return Array.from(t.key).slice(1).map(function (k, i) { return sonde.VERDICTS[sonde.change(sonde.data, t, i + 1).verdict]; }); })()'))))
    p.key('4')
    table = lambda: p.js('sonde.table.draw(), Array.from(document.querySelectorAll("#rows .row")).map(function (r) { return Array.from(r.children).map(function (c) { return c.textContent; }); })')
    same('largest first', [r[2] for r in table()][:3], [r['name'] for r in p.rows if r['of'] == 'self'][:3])
    print('row:', table()[0][0].split(' (')[0])
    same('heading', p.text('sub').split(' · ')[0], 'before: one <b>, %s samples' % format(sum(r['before'] for r in p.rows if r['of'] == 'self'), ','))


def colour_distance(a, b, how):
    """Difference of two colours (0 to 100 is black to white) for eyes without one kind of cone: Vienot, Brettel and Mollon 1999, CIE76."""
    def lab(rgb):
        r, g, b = [((c / 255 + 0.055) / 1.055) ** 2.4 if c > 10 else c / 255 / 12.92 for c in rgb]
        if how == 'red':
            r, g, b = 0.1124 * r + 0.8876 * g, 0.1124 * r + 0.8876 * g, 0.0040 * r - 0.0040 * g + b
        elif how == 'green':
            r, g, b = 0.2928 * r + 0.7072 * g, 0.2928 * r + 0.7072 * g, -0.0223 * r + 0.0223 * g + b
        xyz = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089
        f = [c ** (1 / 3) if c > 0.008856 else 7.787 * c + 16 / 116 for c in (max(c, 0) for c in xyz)]
        return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])
    return sum((x - y) ** 2 for x, y in zip(lab(a), lab(b))) ** 0.5


def case_colours(p, s):
    """Kinds and objects differ for eyes without red or green cones, whatever shade a name has; texts on them are readable (contrast 4.5, WCAG 2)."""
    shades = ('(function () { var c = document.createElement("canvas").getContext("2d", {willReadFrequently: true}), out = []; for (var k = 0; k < %s; k++) { out.push([]); for (var n = 0; n < 8; n++)'
              '{ c.fillStyle = %s; c.fillRect(0, 0, 1, 1); out[k].push(Array.from(c.getImageData(0, 0, 1, 1).data).slice(0, 3)); } } return out; })()')
    for theme in ('light', 'dark'):
        p.visit('#theme=' + theme)
        kinds = p.js(shades % ('sonde.KINDS.length', 'sonde.kindColour(k, n)'))
        judge_colours(theme + ': kinds', [k for i, k in enumerate(kinds) if i != p.js('sonde.LABEL')], theme)
        judge_colours(theme + ': objects', p.js(shades % ('sonde.OBJECT_COLOURS + 1', 'sonde.objectColour(k < sonde.OBJECT_COLOURS ? k : -1, n)')), theme)


def judge_colours(what, of, theme):
    least = min(colour_distance(x, y, how) for how in ('', 'red', 'green') for i in range(len(of)) for j in range(i) for x in of[i] for y in of[j])
    light = lambda rgb: sum(w * (((c / 255 + 0.055) / 1.055) ** 2.4 if c > 10 else c / 255 / 12.92) for w, c in zip((0.2126, 0.7152, 0.0722), rgb))
    ink = (23, 24, 26) if theme == 'light' else (245, 245, 244)
    contrast = min((max(light(ink), light(c)) + 0.05) / (min(light(ink), light(c)) + 0.05) for shades in of for c in shades)
    print('%s %s apart (%.1f), texts %s (%.1f)' % (what, 'well' if least > 12 else 'NOT', least, 'readable' if contrast >= 4.5 else 'NOT readable', contrast))


def case_pigments(p, s):
    """Kinds in the SVG differ for eyes without red or green cones, whatever shade a name has; texts on them are readable."""
    kinds = {}
    for g in xml.dom.minidom.parse(p.path).getElementsByTagName('g'):
        title = g.getElementsByTagName('title')
        if title and title[0].firstChild.data.startswith('f_'):
            fill = g.getElementsByTagName('rect')[0].getAttribute('fill')
            kinds.setdefault(title[0].firstChild.data.split(', ')[-1] if title[0].firstChild.data.count(', ') > 1 else 'user', set()).add(tuple(int(fill[i:i + 2], 16) for i in (1, 3, 5)))
    print('kinds:', sorted(kinds))
    least = min(colour_distance(x, y, how) for how in ('', 'red', 'green') for a in kinds for b in kinds if a < b for x in kinds[a] for y in kinds[b])
    light = lambda rgb: sum(w * (((c / 255 + 0.055) / 1.055) ** 2.4 if c > 10 else c / 255 / 12.92) for w, c in zip((0.2126, 0.7152, 0.0722), rgb))
    contrast = min((light(c) + 0.05) / (light((26, 26, 26)) + 0.05) for of in kinds.values() for c in of)
    print('kinds %s apart (%.1f), texts %s (%.1f)' % ('well' if least > 12 else 'NOT', least, 'readable' if contrast >= 4.5 else 'NOT readable', contrast))


DIFF = """p;main;grown 5000
p;main;even 3000
p;main;gone 600
p;main;shrunk 91000
q;main;wild 4000
----
p;main;grown 8000
p;main;even 3100
p;main;shrunk 88500
q;main;wild 4500
----
p;main;grown 5010
p;main;even 3040
p;main;gone 580
p;main;shrunk 91300
q;main;wild 4300
----
p;main;grown 4950
p;main;even 2980
p;main;gone 610
p;main;shrunk 90800
q;main;wild 3800
"""
TEXTS = {'pigments': ''.join('p;m;f_%d%s 1\n' % (i, ('', '_[i]', '_[k]', '_[j]')[i % 4]) for i in range(320)),
         'lines': PERF, 'diff': DIFF, 'flame': FOLDED.replace('\n', '0000\n') + ''.join('app;main;thin_%d 1\n' % i for i in range(2000)),
         'narrow': 'app;main;wide 100000\n' + ''.join('app;main;thin_%d %d\n' % (i, 1 + i % 3) for i in range(2000)),
         'hostile': ''.join('%s;%s;f%d %d\n' % (h, h[::-1] if 'std' not in h else h, i, i + 1) for i, h in enumerate(HOSTILE))}


def main():
    name = sys.argv[2]
    text = TEXTS.get(name, FOLDED)
    with (DiffPage if text is DIFF else Picture if name in ('flame', 'pigments') else Page)(text, title='<script>alert("title")</script>') as p:
        globals()['case_' + name](p, None if text in (PERF, DIFF) else Stacks(text))
        same('title', p.text('title'), '<script>alert("title")</script>')
        print('errors:', p.errors)


main()
