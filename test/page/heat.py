#!/usr/bin/env python3
"""heat.py SONDE BUILD: what a person does with the heat map of a page (--heatmap) in a headless Chromium. Each line is a value that the page shows and the
same value worked out here from the JSON report of the same run; the last one is "errors: []" of the page's scripts."""
import json, os, subprocess, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser

SONDE, BUILD = sys.argv[1:3]
NAME = '<img src=x>&"'  # of the process
WIDTH = 20000000


def record(tool, page, command):
    """[(functions root first, [(slot, value, kinds)])], slots of the recording"""
    subprocess.run([SONDE] + tool + ['-U', '--heatmap', '--html', page, '-j', '-o', 'out.json', '--'] + command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = [json.loads(line) for line in open('out.json')]
    stacks = [([f.rsplit('+', 1)[0] for f in reversed(s['user'])], s['slots']) for s in lines if s['type'] == 'stack']
    return stacks, [x for x in lines if x['type'] == 'slots'][0]['n']


class Page(Browser):
    def visit(self, path, hash=''):
        self.open('file://' + os.path.abspath(path) + hash)

    def text(self, id):
        return self.js('document.getElementById("%s").textContent' % id)

    def cell(self, slot):
        """Its middle on the screen"""
        return self.js('(function () { var p = sonde.heat.placeOf(%d), r = document.getElementById("heatmap").getBoundingClientRect(); return [r.x + p.x + p.w / 2, r.y + p.y + p.h / 2]; })()' % slot)

    def drag(self, a, b):
        (x, y), (to_x, to_y) = self.cell(a), self.cell(b)
        self.point(x, y)
        self.call('Input.dispatchMouseEvent', type='mousePressed', x=x, y=y, button='left', buttons=1, clickCount=1)
        for i in range(1, 5):
            self.call('Input.dispatchMouseEvent', type='mouseMoved', x=x + (to_x - x) * i / 4, y=y + (to_y - y) * i / 4, button='left', buttons=1)
        self.call('Input.dispatchMouseEvent', type='mouseReleased', x=to_x, y=to_y, button='left', clickCount=1)

    def table(self):
        """{function: (self, total)} of all rows"""
        return self.js('(function () { var f = sonde.view.functions(), k = sonde.view.keysNow(), out = {}; f.list.forEach(function (i) { out[k.names[i]] = [f.self[i], f.total[i]]; }); return out; })()')

    def shown(self):
        return self.js('sonde.view.forward().value[0]')


def same(what, page, own):
    print('%s: %s' % (what, 'same' if page == own else 'PAGE %r JSON %r' % (page, own)))


def within(stacks, a, b):
    """{function: [self, total]} and the sum, of the slots from a to b"""
    out, all = {}, 0
    for frames, slots in stacks:
        value = sum(v for slot, v in slots if a <= slot <= b)
        all += value
        for name in set(frames) if value else ():
            row = out.setdefault(name, [0, 0])
            row[1] += value
            row[0] += value if frames[-1] == name else 0
    return out, all


def ranges(p, stacks, n):
    whole = within(stacks, 0, n)[1]
    same('everything at first', p.shown(), whole)
    same('cells', p.js('Array.from(sonde.view.heat())'), [within(stacks, i, i)[1] for i in range(n)])
    # two clicks, a drag backwards, the keys
    a, b = n // 4, n // 2
    p.click(*p.cell(a))
    print('the first cell is said:', 'Now the last cell' in p.text('heatsays'))
    p.click(*p.cell(b))
    own, total = within(stacks, a, b)
    same('two clicks: address', p.js('location.hash'), '#t=%d-%d' % (a, b))
    same('two clicks: sum', p.shown(), total)
    same('two clicks: every function', p.table(), own)
    print('said:', p.text('heatsays').startswith('%.2f s to %.2f s' % (a * WIDTH / 1e9, (b + 1) * WIDTH / 1e9)), p.text('status').startswith('filtered: '))
    p.drag(b, a + 7)
    own, total = within(stacks, a + 7, b)
    same('a drag: address', p.js('location.hash'), '#t=%d-%d' % (a + 7, b))
    same('a drag: every function', p.table(), own)
    p.js('history.back()')
    time.sleep(0.3)
    same('back', p.js('location.hash'), '#t=%d-%d' % (a, b))
    p.key('t')
    for key in ['End', 'ArrowLeft', 'ArrowDown', 'Enter', 'ArrowRight', 'Enter']:
        p.key(key)
    same('keys', p.js('location.hash'), '#t=%d-%d' % (n - 52, n - 2))
    same('keys: every function', p.table(), within(stacks, n - 52, n - 2)[0])
    p.key('Escape')
    same('Escape: all times', p.shown(), whole)
    same('its address', p.js('location.hash'), '')
    p.click(*p.cell(a))
    p.press_all()
    same('given up', (p.shown(), p.js('sonde.heat.begin')), (whole, -1))


def press_all(self):
    self.click(*self.js('(function () { var r = document.getElementById("heatall").getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()'))


Page.press_all = press_all


def views(p, stacks, n, path):
    """A link to a range, and every view of it."""
    a, b = n // 3, n - 10
    own, total = within(stacks, a, b)
    hottest = max(own, key=lambda f: own[f][0])
    p.visit(path, '#t=%d-%d' % (a, b))
    same('a link', p.shown(), total)
    p.visit(path, '#t=%d-%d&view=sandwich' % (a, b))
    same('sandwich', (p.text('grapht'), p.js('sonde.view.sandwich().callees.value[0]')), ('Who calls ' + hottest, own[hottest][1]))
    p.visit(path, '#t=%d-%d&view=callers' % (a, b))
    same('callers', p.shown(), p.js('sonde.view.reversed().value[0]'))
    p.visit(path, '#t=%d-%d&q=%s' % (a, b, hottest))
    print('search:', '(%s)' % p.js('sonde.amount(sonde.data, %d)' % own[hottest][1]) in p.text('found'))
    for wrong in ['5-2', '0-99999999', 'x', '-1-5', '3', '1-2-3', '1e3-2e3', '%3Cb%3E']:
        p.visit(path, '#t=' + wrong)
        if p.shown() != within(stacks, 0, n)[1]:
            print('TAKEN for a range:', wrong)


def sizes(p, path, n):
    p.visit(path, '#t=0-%d' % (n // 2))
    for width, height, mobile, dark in [(1200, 800, False, False), (1200, 800, False, True), (390, 844, True, True), (320, 568, True, False)]:
        p.dark(dark)
        p.resize(width, height, mobile=mobile)
        got = p.js('(function () { var p = document.getElementById("heatpane"); return [document.documentElement.scrollWidth <= innerWidth, p.clientWidth > 200, sonde.theme, document.getElementById("pane").clientHeight > 40]; })()')
        same('%d wide' % width, got, [True, True, 'dark' if dark else 'light', True])
    p.dark(False)
    p.resize(1200, 800)
    for theme in ('light', 'dark'):  # darker, or lighter, from step to step: no hue is needed to read it
        p.visit(path, '#theme=' + theme)
        light = p.js('''(function () { var g = document.createElement("canvas").getContext("2d"), out = [];
            for (var i = 0; i <= 20; i++) { g.fillStyle = sonde.heatColour(i / 20); g.fillRect(0, 0, 1, 1); var c = Array.from(g.getImageData(0, 0, 1, 1).data).slice(0, 3).map(function (v) {
            v /= 255; return v <= 0.04045 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); }); out.push(0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]); } return out; })()''')[1:]
        order = sorted(light, reverse=theme == 'light')
        print(theme + ': lightness in one direction:', light == order and abs(light[0] - light[-1]) > 0.4)


def kinds(p, stacks, path, n):
    """Kinds of off-CPU time within a range"""
    d = json.loads(p.js('document.getElementById("data").textContent'))
    for k, part in enumerate(d['parts']):
        p.visit(path, '#part=%d&t=0-%d' % (k, n - 1))
        same('%s by time' % part['name'], p.shown(), p.js('sonde.data.parts[%d].value.reduce(function (a, b) { return a + b; }, 0)' % k) - 0)


def main():
    with Page() as p:
        os.chdir(p.dir)
        stacks, n = record(['profile', '-F', '499'], 'cpu.html', ['sh', '-c', 'printf %%s \'%s\' >/proc/$$/comm; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exec %s/story thumbs 2.5 0.7 1.3' % (NAME, BUILD)])
        p.visit('cpu.html')
        print('the hostile name is there:', NAME in str(p.js('sonde.data.dimensions[0].names')))
        ranges(p, stacks, n)
        views(p, stacks, n, 'cpu.html')
        sizes(p, 'cpu.html', n)
        stacks, n = record(['offcputime'], 'off.html', [BUILD + '/story', 'shop', '2'])
        p.visit('off.html')
        ranges(p, stacks, n)
        views(p, stacks, n, 'off.html')
        kinds(p, stacks, 'off.html', n)
        subprocess.run([SONDE, 'report', '--html', 'old.html', '-'], input=b'a;b 5\nc 6\n', check=True, stderr=subprocess.PIPE)
        p.visit('old.html', '#t=0-3')
        print('a page without slots has no heat map:', p.js('document.getElementById("heat").hidden && !sonde.heat') and p.shown() == 11)
        print('errors:', p.errors)


main()
