"""Random statements of bpftrace's language for differential.py: integers of all widths and signs mixed, strings, tuples and records, maps, loops, printf's conversions, aggregations.

In: random numbers and the snippet's number, which its names end in. Out: one line of text, the body of a begin block. Nothing here knows what a statement prints, or
whether it is valid: that is what the two are compared by. What differs from one run to the next (time, processes, the order of a hash) is not made.
"""

WIDTHS = ['int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'uint64']
EDGES = [0, 1, 2, 3, 5, 7, 8, 10, 63, 64, 65, 100, 127, 128, 200, 255, 256, 1000, 32767, 32768, 65535, 65536, 10**6, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 10**12, 2**63 - 1]
WORDS = ['', 'a', 'ab', 'abc', 'tick', 'hello world', 'x y', 'Zebra', '%d', '100%', 'a\\tb', 'q\\"q', 'back\\\\slash', '\\x41\\102', 'long text of many words']


class Snippet:
    def __init__(self, rng, n):
        self.rng, self.n, self.names, self.vars, self.texts = rng, n, 0, [], []

    def name(self, sigil='$v'):
        self.names += 1
        return '%s%d_%d' % (sigil, self.names, self.n)

    # ---- integers
    def literal(self):
        v = self.rng.choice(EDGES)
        how = self.rng.random()
        if how < 0.15:
            return hex(v)
        if how < 0.2 and v >= 1000:
            return '{:,}'.format(v).replace(',', '_')
        if how < 0.25:
            return '%de%d' % (self.rng.randrange(1, 10), self.rng.randrange(1, 7))
        if how < 0.3:
            return str(v) + (self.rng.choice(['u', 'ull', 'll', 'ul']) if v < 2**31 else 'ull')
        return '-%d' % v if how < 0.5 and v else str(v)

    def leaf(self):
        r = self.rng.random()
        if r < 0.4 and self.vars:
            return self.rng.choice(self.vars)
        if r < 0.6:  # not known before it runs
            return '((%s)(@z + %s))' % (self.rng.choice(WIDTHS), self.literal())
        if r < 0.7:
            return '(%s)%s' % (self.rng.choice(WIDTHS), self.literal())
        return self.literal()

    def int(self, depth=2):
        if depth <= 0:
            return self.leaf()
        a, b = lambda: self.int(depth - 1), lambda: self.int(self.rng.randrange(depth))
        pick = self.rng.randrange(22)
        if pick < 6:
            return '(%s %s %s)' % (a(), self.rng.choice('+-*&|^'), b())
        if pick == 6:
            return '(%s %s (uint8)%d)' % (a(), self.rng.choice(['<<', '>>']), self.rng.choice([0, 1, 3, 7, 8, 31, 32, 63]))
        if pick == 7:
            return '((%s)%s %s (uint8)%d)' % (self.rng.choice(['uint64', 'uint32', 'uint16']), a(), self.rng.choice('/%'), self.rng.choice([1, 2, 3, 10, 255]))
        if pick == 8:
            return '(%s%s)' % (self.rng.choice(['~(int64)', '~(uint64)', '-(int64)', '(uint8)!']), a())  # of shorter ones 0.27.1 makes unsigned numbers
        if pick < 11:
            return '((%s)%s)' % (self.rng.choice(WIDTHS), a())
        if pick == 11:
            return '(%s ? %s : %s)' % (self.cond(depth - 1), a(), b())
        if pick == 12:
            return '((uint8)(%s))' % self.cond(depth - 1)  # two of them added are one bit in 0.27.1
        if pick == 13:
            return self.rng.choice(['strlen(%s)' % self.text(), '(int32)strncmp(%s, %s, %d)' % (self.text(), self.text(), self.rng.randrange(1, 6)),
                                    'sizeof(%s)' % self.rng.choice(WIDTHS + ['struct S']), 'offsetof(struct S, %s)' % self.rng.choice('abcd')])
        if pick == 14:
            return 'bswap((%s)%s)' % (self.rng.choice(WIDTHS[1::2]), a())
        if pick == 15:
            i = self.rng.randrange(2)
            return '((%s, %s).%d)' % (a(), b(), i)
        if pick == 16:
            return '((x=%s, y=%s).%s)' % (a(), b(), self.rng.choice('xy'))
        if pick == 17:
            return self.rng.choice(['RED', 'GREEN', 'DARK', '(enum E)5'])
        return self.leaf()

    def cond(self, depth=1):
        r = self.rng.random()
        if r < 0.55 or depth <= 0:
            return '%s %s %s' % (self.int(depth - 1), self.rng.choice(['<', '<=', '>', '>=', '==', '!=']), self.int(depth - 1))
        if r < 0.65:
            return '%s %s %s' % (self.text(), self.rng.choice(['==', '!=']), self.text())
        if r < 0.75:
            return 'strcontains(%s, %s)' % (self.text(), self.text())
        if r < 0.8:
            return self.rng.choice(['true == true', 'true != true'])
        if r < 0.9:
            return '(%s) %s (%s)' % (self.cond(depth - 1), self.rng.choice(['&&', '||']), self.cond(depth - 1))
        return '!(%s)' % self.cond(depth - 1)

    # ---- texts
    def text(self, depth=1):
        r = self.rng.random()
        if r < 0.3 and self.texts:
            return self.rng.choice(self.texts)
        if r < 0.4 and depth:
            return 'str(%s%s)' % (self.text(0), self.rng.choice(['', '', ', %d' % self.rng.randrange(1, 9)]))
        if r < 0.5 and depth:
            return '(%s ? %s : %s)' % (self.cond(0), self.text(0), self.text(0))
        if r < 0.55:
            return 'str($1)'
        return '"%s"' % self.rng.choice(WORDS)

    def special(self):
        """What is more than its bytes when printed."""
        x = lambda: self.int(1)
        return self.rng.choice([
            lambda: 'ntop((uint32)%s)' % x(), lambda: 'ntop(%d, (uint32)%s)' % (2, x()), lambda: 'ntop(pton("%s"))' % self.rng.choice(['127.0.0.1', '::1', 'fe80::1', '10.1.2.3']),
            lambda: 'strerror((int32)%d)' % self.rng.choice([1, 2, 13, 22]), lambda: 'signal_name((int32)%d)' % self.rng.randrange(0, 40), lambda: '(enum E)%s' % self.rng.choice(['1', '5', '6', '70000', '3']),
            lambda: 'syscall_name(%d)' % self.rng.randrange(0, 330), lambda: 'buf("%s", %d)' % (self.rng.choice(['abc', 'a\\x01\\xffz', 'hello']), self.rng.randrange(1, 4)),
            lambda: 'pton("%s")' % self.rng.choice(['1.2.3.4', '::2']), lambda: 'macaddr("%s")' % 'abcdef',
            lambda: self.rng.choice(['RED', 'DARK'])])()

    def value(self, depth=1):
        r = self.rng.random()
        if r < 0.5:
            return self.int(depth)
        if r < 0.65:
            return self.text()
        if r < 0.73:
            return '(%s)' % self.cond(depth)
        if r < 0.8:
            return self.special()
        if r < 0.92 and depth:
            return '(%s)' % ', '.join(self.value(depth - 1) for _ in range(self.rng.randrange(2, 4)))
        if depth:
            return '(%s)' % ', '.join('%s=%s' % (k, self.value(depth - 1)) for k in 'abc'[:self.rng.randrange(1, 4)])
        return self.leaf()

    # ---- statements
    def declare(self):
        v, w = self.name(), self.rng.choice(WIDTHS)
        self_text = self.rng.choice([lambda: 'let %s: %s = (%s)%s;' % (v, w, w, self.int(1)), lambda: '%s = (%s)%s;' % (v, w, self.int(1)), lambda: '%s = %s;' % (v, self.int(1)),
                                     lambda: 'let %s: %s; %s = (%s)%s;' % (v, w, v, w, self.int(1)), lambda: 'let %s = %s;' % (v, self.int(1))])()
        self.vars.append(v)
        return self_text

    def declare_text(self):
        v = self.name('$s')
        line = '%s = %s;' % (v, self.text())
        self.texts.append(v)
        return line

    def change(self):
        if not self.vars:
            return self.declare()
        v = self.rng.choice(self.vars)
        return self.rng.choice([lambda: '%s%s;' % (v, self.rng.choice(['++', '--'])), lambda: '%s = %s++;' % (v, v),
                                lambda: '%s %s= %s;' % (v, self.rng.choice(['+', '-', '*', '&', '|', '^']), self.int(1)), lambda: '%s = %s;' % (v, self.int(1)),
                                lambda: 'print(%s%s);' % (v, self.rng.choice(['++', '--'])), lambda: 'print(++%s);' % v])()

    def conversion(self):
        flags = self.rng.choice(['', '', '', '-', '+', '#', '0'])  # one; none is ' ', '0' is for unsigned ones only, and there is no precision: C's ways are not 0.27.1's there
        width = self.rng.choice(['', '', '', '5', '12', '3', '20'])
        r = self.rng.random()
        if r < 0.65:
            return '%' + flags + width + self.rng.choice(['', '', 'l', 'll', 'h', 'hh']) + self.rng.choice('uxXo' if flags == '0' else 'dduiuxXo'), self.int(2)
        if r < 0.8:
            if self.rng.random() < 0.3:  # a width is the first part's only
                return '%s', self.value(1)
            return '%' + ('-' if '-' in flags else '') + width + 's', self.text()
        if r < 0.84:
            return '%' + ('-' if '-' in flags else '') + width + 'c', self.rng.choice([str(self.rng.randrange(32, 127)), '(@z + %d)' % self.rng.randrange(32, 127)])
        if r < 0.88:
            return '%p', self.int(1)
        if r < 0.92:
            return self.rng.choice(['%r', '%rh', '%rx', '%10r']), 'buf(%s, 1)' % self.text(0)
        if r < 0.96:
            return '%d %%', self.int(1)
        return '%' + self.rng.choice(['d', 's', 'x']), '(%s)' % self.cond(1)

    def printf(self):
        parts = [self.conversion() for _ in range(self.rng.randrange(1, 4))]
        return 'printf("%s\\n", %s);' % ('|'.join(p[0] for p in parts), ', '.join(p[1] for p in parts))

    def print(self):
        v = self.value(2)
        return 'print(%s);' % (v if v[0] != '@' else '(%s)' % v)

    def key(self):
        w, v = self.rng.choice(WIDTHS), self.rng.choice(WIDTHS)
        n = lambda: '(%s)%s' % (w if w[0] == 'u' or self.rng.random() < 0.8 else self.rng.choice(WIDTHS[::2]), self.int(1))  # widths may be mixed, signs not
        k = lambda: '(%s)%s' % (v, self.int(1))
        return self.rng.choice([n, n, lambda: self.text(0), lambda: '%s, %s' % (n(), self.text(0)), lambda: '(%s, %s), %s' % (n(), k(), self.text(0)), lambda: '%s, %s' % (n(), k()), lambda: '(%s)' % self.cond(1)])

    def map(self):
        m, key = self.name('@m'), self.key()
        special, w = self.special(), self.rng.choice(WIDTHS)
        a_number = lambda: '(%s)%s' % (w if self.rng.random() < 0.8 else self.rng.choice(WIDTHS), self.int(1))
        which = self.rng.randrange(8)
        value = [a_number, a_number, a_number, lambda: self.text(), lambda: '(%s, %s)' % (a_number(), self.text(0)), lambda: '(a=%s, b=%s)' % (a_number(), self.text(0)), lambda: special, lambda: '(%s)' % self.cond(1)][which]
        adds = which < 3 or self.rng.random() < 0.05  # else most that add are refused
        if self.rng.random() < 0.2:
            rows = ['%s = %s;' % (m, value()), self.rng.choice(['print(%s);' % m, 'clear(%s);' % m, ''] + (['%s++; print(%s);' % (m, m), '%s += %s;' % (m, self.int(1)), 'printf("%%d\\n", %s);' % m] if adds else []))]
            return ' '.join(rows)
        k = [key() for _ in range(self.rng.randrange(1, 4))]
        rows = ['%s[%s] = %s;' % (m, x, value()) for x in k]
        for _ in range(self.rng.randrange(3)):
            x = self.rng.choice(k)
            rows.append(self.rng.choice(['print(%s[%s]);' % (m, x), 'delete(%s, %s);' % (m, x if ',' not in x else '(%s)' % x), 'print(len(%s));' % m, 'print(%s);' % m,
                                         'print(has_key(%s, %s));' % (m, x if ',' not in x else '(%s)' % x), 'zero(%s);' % m if which != 6 else '', 'clear(%s);' % m] + (
                                             ['%s[%s]++;' % (m, x), 'printf("%%d\\n", %s[%s]);' % (m, x), 'print(%s[%s]++);' % (m, x), '%s[%s] = %s[%s] + 3;' % (m, x, m, x)] if adds else [])))
        if self.rng.random() < 0.3 and len(set(k)) == 1:
            rows.append('for ($kv : %s) { print($kv); print($kv.0); print($kv.1); }' % m)
        return ' '.join(rows)

    def aggregation(self):
        m, keyed = self.name('@a'), self.rng.random() < 0.5
        fn = self.rng.choice(['count', 'sum', 'min', 'max', 'avg', 'stats', 'hist', 'hist', 'lhist'])
        lo, step = self.rng.choice([0, 0, 10, 25]), self.rng.choice([1, 2, 5, 10, 30])
        hi = lo + step * self.rng.randrange(1, 20) + self.rng.choice([0, 0, 1])
        bits = self.rng.choice(['', '', ', 0', ', 1', ', 2', ', 3', ', 5'])
        keys = [self.key()() for _ in range(1)] * 2
        if keyed:
            k = self.key()
            keys = [k() for _ in range(self.rng.randrange(1, 4))]
        rows = []
        width = self.rng.choice(WIDTHS + ['int64'] * 4)
        for _ in range(self.rng.randrange(1, 9)):
            x = self.rng.choice([lambda: self.int(1), lambda: str(self.rng.randrange(-50, 150)), lambda: '(@z + %d)' % self.rng.randrange(0, 40)])()
            x = '(%s)%s' % (width, x)
            args = '' if fn == 'count' else x + bits if fn == 'hist' else '%s, %d, %d, %d' % (x, lo, hi, step) if fn == 'lhist' else x
            rows.append('%s%s = %s(%s);' % (m, '[%s]' % self.rng.choice(keys) if keyed else '', fn, args))
        at = m + ('[%s]' % keys[0] if keyed else '')
        number = fn not in ('hist', 'lhist')
        for _ in range(self.rng.randrange(3)):
            rows.append(self.rng.choice((['print(%s);' % at] if number and fn != 'stats' else []) + ['print(%s);' % m, 'print(%s, %d);' % (m, self.rng.randrange(1, 3)), 'print(%s, %d, %d);' % (m, self.rng.randrange(1, 3), self.rng.choice([1, 2, 10])), 'clear(%s);' % m, 'zero(%s);' % m] + ([] if not number else [
                                         'printf("%%d %%d\\n", (int64)%s, 1);' % at, 'print((int64)%s);' % at, 'print(%s + 1);' % at, 'if (%s > 3) { print("more"); }' % at,
                                         'print((1, %s));' % at][:None if fn != 'stats' else -1])))
        return ' '.join(rows)

    def loop(self):
        v, body = self.name('$i'), []
        kind = self.rng.randrange(4)
        self.vars.append(v)
        for _ in range(self.rng.randrange(1, 3)):
            body.append(self.rng.choice([self.print, self.printf, self.change, lambda: 'if (%s) { break; }' % self.cond(0), lambda: 'if (%s) { continue; }' % self.cond(0)])())
        self.vars.remove(v)
        body = ' '.join(b for b in body if not (b.startswith(v) or b.startswith(('++' + v, '--' + v)) or v + '++' in b or v + '--' in b or '++' + v in b))
        lo, n = self.rng.choice([0, 1, 250]), self.rng.randrange(0, 5)
        if kind < 2:
            return 'for %s : %d..%d { %s }' % (v, lo, lo + n, body) if self.rng.random() < 0.8 else 'for %s : (@z + %d)..%d { %s }' % (v, lo, lo + n, body)
        if kind == 2:
            return '%s = %d; while (%s < %d) { %s++; %s }' % (v, lo, v, lo + n, v, body)
        return 'unroll(%d) { %s }' % (n + 1, self.change() if self.vars else self.print())

    def branch(self):
        a, b = self.print(), self.printf()
        c = self.cond(2)
        return self.rng.choice(['if (%s) { %s } else { %s }' % (c, a, b), 'if (%s) { %s } else if (%s) { %s } else { print("neither"); }' % (c, a, self.cond(1), b), 'if (%s) { %s }' % (c, a),
                                'if %s { %s }' % ('(%s)' % c, a), 'if (comptime is_integer(%s)) { %s }' % (self.leaf(), a)])

    def macro(self):
        x, y = self.int(1), self.int(1)
        return self.rng.choice(['print(twice(%s));' % x, 'print(larger(%s, %s));' % (x, y), 'print(both(%s, %s));' % (x, self.text(0)), '$m = %s; bump($m); print($m);' % x])

    def line(self):
        rows = [self.declare() for _ in range(self.rng.randrange(0, 3))] + ([self.declare_text()] if self.rng.random() < 0.4 else [])
        for _ in range(self.rng.randrange(1, 4)):
            rows.append(self.rng.choices([self.print, self.printf, self.map, self.aggregation, self.loop, self.branch, self.change, self.macro, self.declare],
                                         [4, 6, 4, 4, 2, 2, 2, 1, 1])[0]())
        return ' '.join(rows)


PREAMBLE = ('enum E { RED = 1, GREEN = 5, BLUE, DARK = 70000 }; struct S { char a; int b; unsigned short c[3]; long d; }; '
            'macro twice(x) { x + x } macro larger(x, y) { x > y ? x : y } macro both(x, y) { (x, y) } macro bump($x) { $x += 2; } begin { @z = 0; }')
