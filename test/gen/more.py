"""Expressions of generated scripts beyond numbers of a register (exprs.py has those): addresses, arrays, records, tuples in tuples, calls about texts.

In, out, and how values are worked out: as in exprs.py. What is said there of old kernels and of a peer holds: self.peer leaves out what bpftrace 0.27.1 does in another way.
"""
import ctypes
import os

from exprs import *  # noqa: F403

GLOBS = ['*', 'a*', '*b', '?', '??', 't[io]ck', 'h*o*', '*l*', '[!a]*', 'zebr?', 'x*y', '*x*', 'long*many', '[a-h]*']
NUMBERS = {f[0]: (getattr(Rec, f[0]).offset, CTYPES[f[1]]) for f in Rec._fields_ if len(f) == 2 and f[1] in CTYPES and f[0] not in ('next', 'text')}


def glob(text, pattern):
    """globmatch(): a pattern is of the whole text."""
    if not pattern:
        return not text
    if pattern[0] == '*':
        return any(glob(text[i:], pattern[1:]) for i in range(len(text) + 1))
    if not text:
        return False
    if pattern[0] == '[':
        end = pattern.index(']')
        of, no = pattern[1:end], pattern[1] == '!'
        of = of[no:]
        hit = of[0] <= text[0] <= of[2] if len(of) == 3 and of[1] == '-' else text[0] in of
        return hit != no and glob(text[1:], pattern[end + 1:])
    return pattern[0] in ('?', text[0]) and glob(text[1:], pattern[1:])


class More(Exprs):
    # ---- numbers
    def written(self):
        """Literals of all forms."""
        n = self.rng.randrange(1, 9)
        text, v = self.rng.choice([('0%o' % (n * 19), n * 19), ('%de3' % n, n * 1000), ('1_%03d' % n, 1000 + n), ('%dus' % n, n * 1000), ('0X%X' % (n * 77), n * 77),
                                   ('%dms' % n, n * 10**6), ('%d_000_000' % n, n * 10**6)])
        return X(text, Int(8 if v < 256 else 16 if v < 65536 else 32, False), lambda s: v, True)

    def base(self):
        """(text of a number that is the address of the record, which of the two it is)"""
        which = self.rng.randrange(2)
        return ('(uint64)%s.next' % self.record() if which else '(uint64)%s' % self.record()), which

    def behind(self, depth):
        """What lies at an address."""
        base, which = self.base()
        off, t = self.rng.choice(list(NUMBERS.values()))
        size, raw = t.bits // 8, lambda s, at: t.wrap(int.from_bytes(s.row.blobs[which][at:at + size], 'little'))
        if self.rng.random() < 0.5:
            return X('(*(%s *)(%s + %d))' % (t.name, base, off), t, lambda s: raw(s, off))
        n = self.rng.randrange(0, (TEXT - off) // size)
        if self.rng.random() < 0.5 or n < 3:
            return X('((%s *)(%s + %d))[%d]' % (t.name, base, off, n), t, lambda s: raw(s, off + n * size))
        k = self.cast(U64, self.int(depth - 1))
        return X('((%s *)(%s + %d))[%s & 3]' % (t.name, base, off, k.text), t, lambda s: raw(s, off + (k.fn(s) & 3) * size))

    def around(self):
        """A field behind the pointer behind the pointer: the first record again."""
        name, (_, t) = self.rng.choice([x for x in NUMBERS.items() if x[0] != 'kind'])  # an enum is printed by its name
        return X('%s.next.next.%s' % (self.record(), name), t, lambda s: getattr(s.row.recs[0], name))

    def layout(self):
        name = self.rng.choice([n for n in NUMBERS])
        return self.rng.choice([X('offsetof(struct Rec, %s)' % name, U64, lambda s: NUMBERS[name][0], const=True), X('sizeof(struct Rec)', U64, lambda s: ctypes.sizeof(Rec), const=True),
                                X('offsetof(struct Rec, sub.y)', U64, lambda s: Rec.sub.offset + 2, const=True), X('sizeof(struct In)', U64, lambda s: 4, const=True),
                                X('sizeof(%s.%s)' % (self.record(), name), U64, lambda s: NUMBERS[name][1].bits // 8, const=True)])

    def signed_division(self, depth):
        op, a, b = self.rng.choice('/%'), self.cast(I64, self.int(depth - 1)), self.cast(Int(8, False), self.int(depth - 1))

        def run(s):
            x, y = a.fn(s), b.fn(s) | 1
            q = abs(x) // y * (1 if x >= 0 else -1)
            return q if op == '/' else x - q * y
        return X('(%s %s (int64)(%s | 1))' % (a.text, op, b.text), I64, run)

    def chosen(self, depth):
        """An if as a value."""
        c, a, b, t = self.cond(depth - 1), self.int(depth - 1), self.int(depth - 1), self.rng.choice([I64, U64])
        a, b = self.cast(t, a), self.cast(t, b)
        return X('({ if (%s) { %s } else { %s } })' % (c.text, a.text, b.text), t, lambda s: a.fn(s) if c.fn(s) else b.fn(s))

    def total_read(self, depth):
        """An aggregation read as a number, where it has counted."""
        ms = [m for m in self.maps.values() if m.kind in ('count', 'sum', 'min', 'max', 'avg', 'stats') and m.keys and m.block == self.block]
        if not ms:
            return self.arg()
        m = self.rng.choice(ms)
        key, fn = m.key(self, 0, 'both')
        part = self.rng.choice(['count', 'total', 'avg']) if m.kind == 'stats' else m.kind

        def run(s):
            v = s.maps.get(m.name, {}).get(fn(s))
            return I64.wrap(m.number(part, v)) if v else -1
        return X('(has_key(@%s, %s) ? (int64)@%s%s%s : (int64)-1)' % (m.name, key[1], m.name, key[0], '.' + part if m.kind == 'stats' else ''), I64, run)

    def more_int(self, depth):
        own = 0 if self.peer else 1
        return self.pick((2, self.written), (3, lambda: self.behind(depth)), (1, self.around), (1, self.layout), (2 * own, lambda: self.signed_division(depth)),
                         (2 * own, lambda: self.chosen(depth)), (0 if self.peer or self.old else 2, lambda: self.total_read(depth)), (2, lambda: self.part(depth, lambda t: isinstance(t, Int)) or self.arg()))

    # ---- parts of tuples and records, however deep
    def part(self, depth, want):
        """None, or a part of a variable that holds tuples."""
        found = []

        def walk(text, t, get):
            if want(t):
                found.append(X(text, t, get))
            for i, p in enumerate(t.parts if isinstance(t, Tuple) else []):
                walk('%s.%s' % (text, t.names[i] if t.names else i), p, lambda s, i=i: get(s)[i])
        for v in self.vars(lambda t: isinstance(t, Tuple)):
            walk(v.text, v.type, v.fn)
        return self.rng.choice(found) if found else None

    # ---- truth
    def more_cond(self, depth):
        def prefix():
            a, w, n = self.read_string(depth - 1), self.rng.choice(WORDS[1:]), self.rng.randrange(1, 7)
            op = self.rng.choice(['==', '!='])
            return X('(strncmp(%s, "%s", %d) %s 0)' % (a.text, w, n, op), BOOL, lambda s: (a.fn(s)[:n] == w[:n]) == (op == '=='))

        def matches():
            a, p = self.read_string(depth - 1), self.rng.choice(GLOBS)
            return X('globmatch(%s, "%s")' % (a.text, p), BOOL, lambda s: glob(a.fn(s), p))

        def arrays():
            a, b, op = self.record(), self.record(), self.rng.choice(['==', '!='])
            return X('(%s.arr %s %s.next.arr)' % (a, op, b), BOOL, lambda s: (list(s.row.recs[0].arr) == list(s.row.recs[1].arr)) == (op == '=='))

        def bytes_():
            n, r = self.rng.randrange(1, 9), self.rng.choice(['==', '!='])
            at = Rec.arr.offset
            return X('(memcmp(%s.arr, %s.next.arr, %d) %s 0)' % (self.record(), self.record(), n, r), BOOL,
                     lambda s: (s.row.blobs[0][at:at + n] == s.row.blobs[1][at:at + n]) == (r == '=='))

        def tuples():
            ts = [self.rng.choice([I64, U64, Int(32, True), Int(8, False)]) for _ in range(self.rng.randrange(2, 4))]
            a, b = [[self.cast(t, self.small(0)) for t in ts] for _ in range(2)]
            op = self.rng.choice(['==', '!='])
            return X('((%s) %s (%s))' % (', '.join(x.text for x in a), op, ', '.join(x.text for x in b)), BOOL,
                     lambda s: ([x.fn(s) for x in a] == [x.fn(s) for x in b]) == (op == '=='))

        def address():
            r, op = self.record(), self.rng.choice(['==', '!='])
            return self.rng.choice([X('(%s.next %s 0)' % (r, op), BOOL, lambda s: op == '!='), X('(%s.next.next %s %s)' % (r, op, self.record()), BOOL, lambda s: op == '=='),
                                    X('(!%s.next)' % r, BOOL, lambda s: False)][:2 if self.peer else 3])

        def truth():
            a = self.cast(self.rng.choice(INTS), self.small(depth - 1))
            return X('(!%s)' % a.text, BOOL, lambda s: not a.fn(s)) if self.rng.random() < 0.5 else X('((bool)%s)' % a.text, BOOL, lambda s: bool(a.fn(s)))

        def who():
            return self.rng.choice([X('(comm == "values")', BOOL, lambda s: True), X('(pid != cpid)', BOOL, lambda s: False), X('(tid == pid)', BOOL, lambda s: True),
                                    X('(probetype == "uprobe")', BOOL, lambda s: True)])
        own = 0 if self.peer else 1
        return self.pick((2, prefix), (0 if self.old else 2 * own, matches), (1, arrays), (1, bytes_), (2, tuples), (2, address), (2, truth), (1, who),
                         (1, lambda: self.part(depth, lambda t: t is BOOL) or truth()))

    # ---- texts
    def more_string(self, depth):
        def joined():
            a, b = self.string(depth - 1), self.string(depth - 1)
            return X('str_concat(%s, %s)' % (a.text, b.text), STR, lambda s: a.fn(s) + b.fn(s))

        def inner():
            n, which = self.rng.randrange(0, 4), self.rng.randrange(2)
            base = self.record() + ('.next' if which else '')
            return X('str((int8 *)((uint64)%s + %d))' % (base, TEXT + n), STR, lambda s: s.row.blobs[which][TEXT + n:].split(b'\0')[0].decode())
        own = 0 if self.peer or depth <= 0 or self.old else 1
        return self.pick((2 * own, joined), (2, inner), (2, lambda: self.part(depth, lambda t: t is STR) or inner()))

    # ---- what only is printed
    def shown_array(self):
        name, which = self.rng.choice(['arr', 'sh', 'sub']), self.rng.randrange(2)
        base = self.record() + ('.next' if which else '')

        def run(s):
            v = getattr(s.row.recs[which], name)
            return '{ .x = %d, .y = %d, .z = %d }' % (v.x, v.y, v.z) if name == 'sub' else '[%s]' % ','.join(map(str, v))
        return '%s.%s' % (base, name), run

    def shown_address(self):
        x = self.cast(Int(32, False), self.int(1))
        return 'ntop(%s)' % x.text, lambda s: '.'.join(map(str, x.fn(s).to_bytes(4, 'little')))

    def shown_error(self):
        n, k = self.rng.randrange(1, 34), self.cast(Int(32, True), self.small(0))
        return 'strerror((int32)(%d + %s))' % (n, k.text), lambda s: os.strerror(n + k.fn(s))
