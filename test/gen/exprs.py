"""Expressions of generated scripts (grammar.py): types, values, and nodes, each a text with a type and a function from the state (struct State) to its value, made together.

In: random numbers. Out: class X. Values are worked out by the language's document: integers of two's complement, results of arithmetic in 64 bits. What it leaves
undefined (a division of negative numbers, a shift by 64, a mixture of signs without a cast) is not generated.
"""
import ctypes
import random

ROWS, BLOCKS = 5, 12


class Int:
    def __init__(self, bits, signed):
        self.bits, self.signed = bits, signed
        self.name = ('' if signed else 'u') + 'int%d' % bits

    def wrap(self, v):
        v &= (1 << self.bits) - 1
        return v - (1 << self.bits) if self.signed and v >> (self.bits - 1) else v

    def __eq__(self, o):
        return isinstance(o, Int) and (self.bits, self.signed) == (o.bits, o.signed)

    def __hash__(self):
        return hash(self.name)


INTS = [Int(b, s) for b in (8, 16, 32, 64) for s in (False, True)]
I64, U64 = Int(64, True), Int(64, False)
BOOL, STR = 'bool', 'string'


class Tuple:
    def __init__(self, parts, names=None):
        self.parts, self.names = parts, names


class Enum(ctypes.c_uint32):
    pass


class In(ctypes.Structure):
    _fields_ = [('x', ctypes.c_int16), ('y', ctypes.c_int8), ('z', ctypes.c_uint8)]


class Rec(ctypes.Structure):
    _fields_ = [('next', ctypes.c_uint64), ('text', ctypes.c_uint64), ('a', ctypes.c_int8), ('b', ctypes.c_uint8), ('c', ctypes.c_int16), ('d', ctypes.c_uint16),
                ('e', ctypes.c_int32), ('f', ctypes.c_uint32), ('g', ctypes.c_int64), ('h', ctypes.c_uint64), ('p', ctypes.c_uint32, 3), ('q', ctypes.c_uint32, 11),
                ('r', ctypes.c_uint32, 18), ('s', ctypes.c_int32, 5), ('t', ctypes.c_int32, 13), ('w', ctypes.c_int32), ('u', ctypes.c_uint64, 37), ('v', ctypes.c_int64, 20),
                ('arr', ctypes.c_int32 * 4), ('sh', ctypes.c_uint16 * 3), ('sub', In), ('kind', ctypes.c_uint32), ('tail', ctypes.c_uint8 * 2)]


PREAMBLE = '''enum Kind { RED = 1, GREEN = 5, BLUE, DARK = 70000 };
struct In { short x; signed char y; unsigned char z; };
struct Rec {
	struct Rec *next; char *text; signed char a; unsigned char b; short c; unsigned short d; int e; unsigned int f; long long g; unsigned long long h;
	unsigned int p : 3; unsigned int q : 11; unsigned int r : 18; int s : 5; int t : 13; int w; unsigned long long u : 37; long long v : 20;
	int arr[4]; unsigned short sh[3]; struct In sub; enum Kind kind; unsigned char tail[2];
};
'''
ENUM = {'RED': 1, 'GREEN': 5, 'BLUE': 6, 'DARK': 70000}
RECORD, TEXT = 144, 112
CTYPES = {ctypes.c_int8: Int(8, True), ctypes.c_uint8: Int(8, False), ctypes.c_int16: Int(16, True), ctypes.c_uint16: Int(16, False), ctypes.c_int32: Int(32, True),
          ctypes.c_uint32: Int(32, False), ctypes.c_int64: I64, ctypes.c_uint64: U64}
EDGES = [0, 1, 2, 3, 7, 8, 10, 31, 63, 64, 100, 127, 128, 200, 255, 256, 1000, 32767, 32768, 65535, 65536, 1000000, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 10**12, 2**62,
         2**63 - 1]
WORDS = ['', 'a', 'ab', 'abc', 'tick', 'tock', 'hello', 'hello world', 'x y', 'zebra', 'A', 'long text of many', 'aXbXc']


class Stop(Exception):
    """break, continue, return"""


class State:
    def __init__(self):
        self.vars, self.maps, self.out, self.row, self.steps = {}, {}, [], None, 0


class Row:
    def __init__(self, rng):
        pick = lambda bits: rng.choice([rng.choice(EDGES), -rng.choice(EDGES), rng.getrandbits(bits)]) & ((1 << bits) - 1)
        self.args = [pick(64), pick(64), pick(32), pick(32)]
        blobs = []
        for _ in range(2):
            text = rng.choice(WORDS).encode()
            blob = bytes(rng.choice([0, 1, 127, 128, 255, rng.getrandbits(8)]) for _ in range(TEXT)) + text + bytes(RECORD - TEXT - len(text))
            r = Rec.from_buffer_copy(blob)
            r.kind = rng.choice(list(ENUM.values()))
            blobs.append(bytes(r) + blob[ctypes.sizeof(Rec):])
        self.blobs = blobs
        self.recs = [Rec.from_buffer_copy(b) for b in blobs]
        self.texts = [b[TEXT:].split(b'\0')[0].decode() for b in blobs]

    def line(self):
        return ' '.join('%x' % a for a in self.args) + ' ' + ''.join(b.hex() for b in self.blobs)


class X:
    """An expression: its text, type, function of the state. lit: a literal, whose sign fits any other. const: folded, where an overflow is an error."""
    def __init__(self, text, type, fn, lit=False, const=False):
        self.text, self.type, self.fn, self.lit, self.const = text, type, fn, lit, lit or const


def shown(type, v):
    """As print() has it."""
    if type is BOOL:
        return 'true' if v else 'false'
    if isinstance(type, Tuple):
        parts = [shown(t, x) for t, x in zip(type.parts, v)]
        if type.names:
            return '{ ' + ', '.join('.%s = %s' % p for p in zip(type.names, parts)) + ' }'
        return '(' + ', '.join(parts) + ')'
    return str(v)


class Exprs:
    def __init__(self, seed, peer=False):
        self.rng, self.peer = random.Random(seed), peer
        self.scopes, self.maps, self.macros, self.names, self.block, self.loops, self.plain = [[]], {}, [], 0, 0, 0, False

    def new(self, prefix):
        self.names += 1
        return '%s%d' % (prefix, self.names)

    def vars(self, want):
        return [v for s in self.scopes for v in s if want(v.type)]

    def pick(self, *rows):
        """Of (weight, function) one function's result."""
        return self.rng.choices([r[1] for r in rows], [r[0] for r in rows])[0]()

    # ---- integers
    def cast(self, type, x):
        return X('(%s)%s' % (type.name, x.text if x.text[0] == '(' and x.text[-1] == ')' and 0 else '(' + x.text + ')'), type, lambda s: type.wrap(int(x.fn(s))), const=x.const)

    def literal(self):
        v = self.rng.choice(EDGES)
        if self.rng.random() < 0.3:
            v = self.rng.getrandbits(self.rng.choice([3, 6, 16, 31]))
        form = self.rng.choice(['%d', '%d', '%d', '0x%x'])
        bits = 8 if v < 256 else 16 if v < 65536 else 32 if v < 2**32 else 64
        return X(form % v, Int(bits, False), lambda s: v, True)

    def arg(self):
        i, t = self.rng.randrange(4), self.rng.choice(INTS)
        wide = [64, 64, 32, 32][i]
        if t.bits > wide:
            t = Int(wide, t.signed)
        return X('(%s)%s' % (t.name, self.place('arg%d' % i, '$a%d' % i)), t, lambda s: t.wrap(s.row.args[i]))

    def place(self, *texts):
        """argN is not there in a loop's body under bpftrace 0.27."""
        return texts[0] if self.plain else texts[-1] if self.loops or self.rng.random() < 0.4 else texts[0]

    def record(self):
        return self.place('((struct Rec *)arg4)', '$r')

    def field(self):
        name = self.rng.choice([f[0] for f in Rec._fields_ if f[0] not in ('next', 'text', 'tail', 'kind') + ('s', 't', 'v') * self.peer])
        which = self.rng.randrange(2)
        base = self.record() + ('.next' if which else '')
        get = lambda s: getattr(s.row.recs[which], name)
        row = next(f for f in Rec._fields_ if f[0] == name)
        if name in ('arr', 'sh'):
            n, t = (4, Int(32, True)) if name == 'arr' else (3, Int(16, False))
            if name == 'arr' and self.rng.random() < 0.4:
                k = self.cast(U64, self.int(1))
                return X('%s.%s[%s & 3]' % (base, name, k.text), t, lambda s: get(s)[k.fn(s) & 3])
            i = self.rng.randrange(n)
            return X('%s.%s[%d]' % (base, name, i), t, lambda s: get(s)[i])
        if name == 'sub':
            sub, ct = self.rng.choice(In._fields_)
            return X('%s.sub.%s' % (base, sub), CTYPES[ct], lambda s: getattr(get(s), sub))
        return X('%s.%s' % (base, name), CTYPES[row[1]], get)

    def align(self, a, b):
        """Both of one sign, by a cast where the language has none of its own."""
        if a.type.signed == b.type.signed:
            return a, b, a.type.signed
        lit = a if a.lit else b if b.lit else None
        if lit and lit.fn(None) < 2**63:
            return a, b, (b if lit is a else a).type.signed
        u = b if a.type.signed else a
        if u.type.bits < 64 and self.rng.random() < 0.5:
            return a, b, True
        t = self.rng.choice([I64, U64])
        return self.cast(t, a), self.cast(t, b), t.signed

    def binary(self, depth):
        op = self.rng.choice('+ + - - * / % & | ^ << >>'.split())
        a, b = self.int(depth - 1), self.int(depth - 1)
        if a.const and b.const:
            a = self.arg()
        if op in ('/', '%'):
            a, b = self.cast(U64, a), self.cast(self.rng.choice([t for t in INTS if not t.signed]), b)
            return X('(%s %s (%s | 1))' % (a.text, op, b.text), U64, lambda s: a.fn(s) // (b.fn(s) | 1) if op == '/' else a.fn(s) % (b.fn(s) | 1))
        if op in ('<<', '>>'):
            if op == '>>' or a.type.bits < 64 or a.const:  # numbers that fit both signs have that of what is around
                a = self.cast(self.rng.choice([I64, U64]) if op == '<<' else U64, a)
            t = I64 if a.type.signed else U64
            n = self.rng.randrange(1, 64) if self.rng.random() < 0.5 else None
            b = X('%d' % n, U64, lambda s: n) if n is not None else X('(%s & 63)' % self.cast(U64, b).text, U64, lambda s, b=b: int(b.fn(s)) & 63)
            return X('(%s %s %s)' % (a.text, op, b.text), t, lambda s: t.wrap(a.fn(s) << b.fn(s) if op == '<<' else a.fn(s) >> b.fn(s)))
        a, b, signed = self.align(a, b)
        if not signed and (a.type.signed or b.type.signed):
            a, b = self.cast(U64, a), self.cast(U64, b)
        t = I64 if signed else U64
        fn = {'+': lambda x, y: x + y, '-': lambda x, y: x - y, '*': lambda x, y: x * y, '&': lambda x, y: x & y, '|': lambda x, y: x | y, '^': lambda x, y: x ^ y}[op]
        if op == '-' and not signed:
            return self.cast(self.rng.choice([I64, U64]), X('%s - %s' % (a.text, b.text), t, lambda s: fn(a.fn(s), b.fn(s))))
        return X('(%s %s %s)' % (a.text, op, b.text), t, lambda s: t.wrap(fn(a.fn(s), b.fn(s))))

    def unary(self, depth):
        x = self.int(depth - 1)
        if x.const:
            x = self.arg()
        if self.rng.random() < 0.5:
            x = self.cast(I64, x)
            return X('(-%s)' % x.text, I64, lambda s: I64.wrap(-x.fn(s)))
        x = self.cast(self.rng.choice([I64, U64]), x)
        return X('(~%s)' % x.text, x.type, lambda s: x.type.wrap(~x.fn(s)))

    def ternary(self, depth, make=None):
        c, a, b = self.cond(depth - 1), self.int(depth - 1), self.int(depth - 1)
        t = self.rng.choice(INTS)
        a, b = self.cast(t, a), self.cast(t, b)
        return X('(%s ? %s : %s)' % (c.text, a.text, b.text), t, lambda s: a.fn(s) if c.fn(s) else b.fn(s))

    def call(self, depth):
        def length():
            x = self.read_string(depth - 1)
            return X('strlen(%s)' % x.text, U64, lambda s: len(x.fn(s)))

        def swap():
            t = self.rng.choice([t for t in INTS if not t.signed])
            x = self.cast(t, self.int(depth - 1))
            return X('bswap(%s)' % x.text, t, lambda s: int.from_bytes(x.fn(s).to_bytes(t.bits // 8, 'little'), 'big'))

        def find():
            x, w = self.read_string(depth - 1), self.rng.choice(WORDS[1:])
            return X('strstr(%s, "%s")' % (x.text, w), I64, lambda s: x.fn(s).find(w))

        def flag():
            c = self.cond(depth - 1)
            return X('(%s ? 1 : 0)' % c.text, Int(8, False), lambda s: int(bool(c.fn(s))))

        def size():
            t = self.rng.choice(INTS)
            return X('sizeof(%s)' % t.name, U64, lambda s: t.bits // 8, const=True)
        return self.pick((3, length), (2, swap), (0 if self.peer else 2, find), (3, flag), (1, size), (0 if self.peer else 2, self.enum))

    def enum(self):
        k = self.rng.choice(list(ENUM))
        return self.cast(self.rng.choice([I64, U64, Int(32, False)]), X(k, U64, lambda s: ENUM[k], const=True))

    def block_expr(self, depth):
        name, x = self.new('$e'), self.int(depth - 1)
        t = self.rng.choice([I64, U64])
        self.scopes.append([X(name, t, lambda s: s.vars[name])])
        y = self.cast(t, self.int(depth - 1))
        self.scopes.pop()

        def run(s):
            s.vars[name] = t.wrap(x.fn(s))
            return y.fn(s)
        return X('(%s)({ let %s = (%s)(%s); %s })' % (t.name, name, t.name, x.text, y.text), t, run)

    def macro(self, depth):
        if not self.macros:
            return self.literal()
        name, n, t, fn = self.rng.choice(self.macros)
        args = [self.cast(t, self.int(depth - 1)) for _ in range(n)]
        return X('%s(%s)' % (name, ', '.join(a.text for a in args)), t, lambda s: t.wrap(fn(*[a.fn(s) for a in args])))

    def of_tuple(self, depth):
        vs = [(v, i) for v in self.vars(lambda t: isinstance(t, Tuple)) for i, t in enumerate(v.type.parts) if isinstance(t, Int)]
        if not vs:
            return self.arg()
        v, i = self.rng.choice(vs)
        return X('%s.%s' % (v.text, v.type.names[i] if v.type.names else i), v.type.parts[i], lambda s: v.fn(s)[i])

    def map_read(self, depth):
        ms = [m for m in self.maps.values() if m.kind == 'value' and isinstance(m.value, Int) and m.block == self.block]
        if not ms:
            return self.field()
        m = self.rng.choice(ms)
        key, keyfn = m.key(self, depth - 1)
        return X('@%s%s' % (m.name, key), m.value, lambda s: s.maps.setdefault(m.name, {}).get(keyfn(s), 0))

    def int(self, depth):
        vs = self.vars(lambda t: isinstance(t, Int))
        leaf = [(2, self.literal), (3, self.arg), (4, self.field), (4 if vs else 0, lambda: self.rng.choice(vs)), (2, lambda: self.of_tuple(depth))]
        if depth <= 0:
            return self.pick(*leaf)
        return self.pick((8, lambda: self.binary(depth)), (2, lambda: self.unary(depth)), (2, lambda: self.ternary(depth)), (3, lambda: self.call(depth)),
                         (2, lambda: self.cast(self.rng.choice(INTS), self.int(depth - 1))), (1, lambda: self.block_expr(depth)), (1, lambda: self.macro(depth)),
                         (2, lambda: self.map_read(depth)), (7, lambda: self.more_int(depth)), *leaf)

    # ---- truth
    def cond(self, depth):
        def compare():
            a, b = self.int(depth - 1), self.int(depth - 1)
            a, b, signed = self.align(self.arg() if a.const and b.const else a, b)
            if not signed and (a.type.signed or b.type.signed):
                a, b = self.cast(U64, a), self.cast(U64, b)
            op = self.rng.choice(['<', '<=', '>', '>=', '==', '!='])
            fn = {'<': lambda x, y: x < y, '<=': lambda x, y: x <= y, '>': lambda x, y: x > y, '>=': lambda x, y: x >= y, '==': lambda x, y: x == y,
                  '!=': lambda x, y: x != y}[op]
            return X('(%s %s %s)' % (a.text, op, b.text), BOOL, lambda s: fn(a.fn(s), b.fn(s)))

        def logic():
            a, b, op = self.cond(depth - 1), self.cond(depth - 1), self.rng.choice(['&&', '||'])
            return X('(%s %s %s)' % (a.text, op, b.text), BOOL, lambda s: bool(b.fn(s)) if bool(a.fn(s)) == (op == '&&') else op == '||')

        def negate():
            a = self.cond(depth - 1)
            return X('(!%s)' % a.text, BOOL, lambda s: not a.fn(s))

        def strings():
            a, b, op = self.read_string(depth - 1), self.string(0), self.rng.choice(['==', '!='])
            return X('(%s %s %s)' % (a.text, op, b.text), BOOL, lambda s: (a.fn(s) == b.fn(s)) == (op == '=='))

        def contains():
            a, w = self.read_string(depth - 1), self.rng.choice(WORDS[1:])
            return X('strcontains(%s, "%s")' % (a.text, w), BOOL, lambda s: w in a.fn(s))

        def has_key():
            ms = [m for m in self.maps.values() if m.keys and m.block == self.block]
            if not ms:
                return compare()
            m = self.rng.choice(ms)
            key, fn = m.key(self, 0, 'tuple')
            return X('has_key(@%s, %s)' % (m.name, key), BOOL, lambda s: fn(s) in s.maps.get(m.name, {}))
        vs = self.vars(lambda t: t is BOOL)
        if depth <= 0:
            return self.rng.choice(vs) if vs and self.rng.random() < 0.5 else compare()
        return self.pick((6, compare), (3, logic), (1, negate), (2, strings), (1, contains), (1, has_key), (5, lambda: self.more_cond(depth)), (1 if vs else 0, lambda: self.rng.choice(vs)))

    # ---- strings
    def read_string(self, depth):
        """One that is not known when the script is compiled: what is folded may overflow, which is an error."""
        x = self.string(depth)
        while 'str(' not in x.text:
            x = self.string(depth)
        return x

    def string(self, depth):
        def word():
            w = self.rng.choice(WORDS)
            return X('"%s"' % w, STR, lambda s: w)

        def read():
            which = self.rng.randrange(2)
            e = self.record() + '%s.text' % ('.next' if which else '') if which or self.rng.random() < 0.5 else self.place('arg5', '$t')
            if self.rng.random() < 0.3:
                n = self.rng.randrange(2, 12)
                return X('str(%s, %d)' % (e, n), STR, lambda s: s.row.texts[which][:n - 1])
            return X('str(%s)' % e, STR, lambda s: s.row.texts[which])

        def choose():
            c, a, b = self.cond(depth - 1), self.string(depth - 1), self.string(depth - 1)
            return X('(%s ? %s : %s)' % (c.text, a.text, b.text), STR, lambda s: a.fn(s) if c.fn(s) else b.fn(s))
        vs = self.vars(lambda t: t is STR)
        return self.pick((2, word), (4, read), (2 if depth > 0 else 0, choose), (3, lambda: self.more_string(depth)), (2 if vs else 0, lambda: self.rng.choice(vs)))

    # ---- tuples and records
    def tuple(self, depth):
        n = self.rng.randrange(1, 5)
        parts = [self.any(depth - 1) for _ in range(n)]
        if self.rng.random() < 0.3:
            names = ['f%d' % i for i in range(n)]
            return X('(' + ', '.join('%s = %s' % p for p in zip(names, [p.text for p in parts])) + ')', Tuple([p.type for p in parts], names),
                     lambda s: tuple(p.fn(s) for p in parts))
        return X('(' + ', '.join(p.text for p in parts) + (',)' if n == 1 else ')'), Tuple([p.type for p in parts]), lambda s: tuple(p.fn(s) for p in parts))

    def any(self, depth):
        vs = self.vars(lambda t: isinstance(t, Tuple))
        return self.pick((6, lambda: self.int(depth)), (2, lambda: self.cond(depth)), (2, lambda: self.string(depth)), (2 if depth > 0 else 0, lambda: self.tuple(depth)),
                         (1 if vs else 0, lambda: self.rng.choice(vs)))

    def small(self, depth):
        """A number for a key: few different ones, so that keys meet."""
        n, x = self.rng.choice([1, 2, 3, 5]), self.int(depth)
        return X('(%s & %d)' % (self.cast(U64, x).text, n), U64, lambda s: U64.wrap(int(x.fn(s))) & n)
