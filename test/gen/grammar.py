"""Random valid scripts of bpftrace's language, and what they print: statements and the script around them; exprs.py and more.py have the expressions, maps.py the maps.

In: a seed; peer: without what bpftrace 0.27.1 does in another way (docs/from-bpftrace.md). Out: class Script: text, rows of values for test/progs/values.c, and the
lines that the script prints for them, worked out here.
"""
import random
import re

from maps import *  # noqa: F403


class Gen(Maps):
    # ---- statements: (lines, function of the state)
    def assign_new(self, depth):
        name, x = self.new('$v'), self.any(depth)
        let, spec = self.rng.choice(['let ', '']), ''
        if isinstance(x.type, Int):
            x = self.cast(self.rng.choice([I64, U64, I64, U64] + INTS), x)
            if let and self.rng.random() < 0.4:
                spec = ': ' + x.type.name
        v = X(name, x.type, lambda s: s.vars[name])
        v.assign = not let or isinstance(x.type, Int)

        def run(s):
            s.vars[name] = x.fn(s)
        self.scopes[-1].append(v)
        if spec and self.rng.random() < 0.5:
            return ['let %s%s;' % (name, spec), '%s = %s;' % (name, x.text)], run
        return ['%s%s%s = %s;' % (let, name, spec, x.text)], run

    def assign(self, depth):
        vs = self.vars(lambda t: isinstance(t, Int))
        vs = [v for v in vs if v.text.startswith('$v')]
        if not vs:
            return self.assign_new(depth)
        v = self.rng.choice(vs)
        t, wide = v.type, v.type.bits == 64
        how = self.rng.random()
        if how < 0.3 and wide:
            op = self.rng.choice(['++', '--'] if t.signed else ['++'])  # -- makes a variable signed
            d = 1 if op == '++' else -1

            def step(s):
                s.vars[v.text] = t.wrap(s.vars[v.text] + d)
            return [self.rng.choice(['%s%s;' % (v.text, op), '%s%s;' % (op, v.text)])], step
        x = self.cast(t, self.int(depth))
        if how < 0.6 and wide:
            op = self.rng.choice(['+', '*', '&', '|', '^'] + ['-'] * t.signed)
            fn = {'+': lambda a, b: a + b, '-': lambda a, b: a - b, '*': lambda a, b: a * b, '&': lambda a, b: a & b, '|': lambda a, b: a | b, '^': lambda a, b: a ^ b}[op]

            def compound(s):
                s.vars[v.text] = t.wrap(fn(s.vars[v.text], x.fn(s)))
            return ['%s %s= %s;' % (v.text, op, x.text)], compound

        def run(s):
            s.vars[v.text] = x.fn(s)
        return ['%s = %s;' % (v.text, x.text)], run

    def incr_expr(self, depth):
        """A variable's ++ as an expression."""
        vs = [v for v in self.vars(lambda t: isinstance(t, Int) and t.bits == 64) if v.text.startswith('$v')]
        if not vs:
            return self.assign_new(depth)
        v, name, pre = self.rng.choice(vs), self.new('$v'), self.rng.random() < 0.5
        op = self.rng.choice(['++', '--'] if v.type.signed else ['++'])

        def run(s):
            old = s.vars[v.text]
            s.vars[v.text] = v.type.wrap(old + (1 if op == '++' else -1))
            s.vars[name] = s.vars[v.text] if pre else old
        self.scopes[-1].append(X(name, v.type, lambda s: s.vars[name]))
        return ['%s = %s;' % (name, op + v.text if pre else v.text + op)], run

    def print_value(self, depth):
        x = self.any(depth)
        if x.text[0] == '@':  # print(@m) is of the map
            x = self.cast(I64, x)
        return ['print(%s);' % (x.text if x.text[0] == '(' and isinstance(x.type, Tuple) else '(%s)' % x.text)], lambda s: s.out.append(shown(x.type, x.fn(s)))

    def printf(self, depth):
        parts, args = [], []

        def part():
            kind = self.rng.random()
            if kind < 0.06:
                text, fn = self.rng.choice([self.shown_address, self.shown_error][:1 if self.peer else 2])()
                return '%s', text, fn
            if kind < 0.1 and not self.peer:
                x = self.tuple(1)
                return '%s', x.text, lambda s: shown(x.type, x.fn(s))
            if kind < 0.14:
                x = self.cast(U64, self.small(0))
                return self.rng.choice([('%c', '(%s + 97)' % x.text, lambda s: chr(97 + x.fn(s))), ('%d%%', x.text, lambda s: '%d%%' % x.fn(s)), ('%#llx', '(%s + 1)' % x.text, lambda s: hex(x.fn(s) + 1))])
            x = self.pick((5, lambda: self.int(depth)), (2, lambda: self.string(depth)), (1, lambda: self.cond(depth)))
            if x.type is STR:
                f = self.rng.choice(['%s', '%s', '%12s', '%-14s', '%.3s'][:-1 if self.peer else None])
                return f, x.text, lambda s: f % x.fn(s)
            if x.type is BOOL:
                return self.rng.choice([('%d', x.text, lambda s: '%d' % x.fn(s)), ('%s', x.text, lambda s: shown(BOOL, x.fn(s)))])
            t = x.type
            if t.bits < 64 and self.rng.random() < 0.6:
                if t.signed:
                    f = self.rng.choice(['%d', '%5d', '%-6d', '%+d', '%i', '%06d', '% d'][:5 if self.peer else None])
                    return f, x.text, lambda s: f % x.fn(s)
                f = self.rng.choice(['%x', '%X', '%o', '%08x', '%u'] + (['%d'] if t.bits < 32 else []))
                return f, x.text, lambda s: f % x.fn(s)
            f = self.rng.choice(['%lld', '%ld', '%llx', '%lx', '%llu', '%lu', '%20lld', '%-20llu|', '%016llx', '%hhd', '%hhu', '%hd', '%hx'])
            kind = f.rstrip('|')[-1]
            fit = Int(8 if 'hh' in f else 16 if 'h' in f else 64, kind in 'd')
            g = f.replace('l', '').replace('h', '')
            return f, x.text, lambda s: g % fit.wrap(x.fn(s))
        rows = [part() for _ in range(self.rng.randrange(1, 5))]
        text = ' '.join(r[0] for r in rows)
        return ['printf("%s\\n", %s);' % (text, ', '.join(r[1] for r in rows))], lambda s: s.out.append(' '.join(r[2](s) for r in rows))

    def print_buf(self, depth):
        n, hexa, field, off, size = self.rng.randrange(1, 12), self.rng.choice(['%rh', '%rx']), *self.rng.choice([('arr', Rec.arr.offset, 16), ('tail', Rec.tail.offset, 2)])
        n = min(n, size)
        show = (lambda b: b.hex(' ')) if hexa == '%rh' else (lambda b: ''.join('\\x%02x' % c for c in b))
        return ['printf("%s\\n", buf(%s.%s, %d));' % (hexa, self.record(), field, n)], lambda s: s.out.append(show(s.row.blobs[0][off:off + n]))

    def print_enum(self, depth):
        names = {v: k for k, v in ENUM.items()}
        return ['printf("%%d %%s\\n", %s.kind, %s.kind);' % (self.record(), self.record())], lambda s: s.out.append('%d %s' % (s.row.recs[0].kind, names[s.row.recs[0].kind]))

    def print_array(self, depth):
        text, run = self.shown_array()
        return ['print(%s);' % text], lambda s: s.out.append(run(s))

    def print_entry(self, depth):
        """print(@m[key]) is of the value."""
        ms = [m for m in self.maps.values() if m.block == self.block and m.keys and m.kind == 'value']
        if not ms:
            return self.print_value(depth)
        m = self.rng.choice(ms)
        key, fn = m.key(self, 0, 'both')

        def run(s):
            d, k = s.maps.get(m.name, {}), fn(s)
            s.out.append(shown(m.value, d[k]) if k in d else 'none')
        return ['if (has_key(@%s, %s)) {' % (m.name, key[1]), '\tprint(@%s%s);' % (m.name, key[0]), '} else {', '\tprint("none");', '}'], run

    def discard(self, depth):
        x = self.int(depth)
        return ['_ = %s;' % x.text], lambda s: x.fn(s)

    def braces(self, depth, loop=False):
        a = self.body(depth - 1, self.rng.randrange(1, 3), loop)
        return ['{'] + a[0] + ['}'], a[1]

    def known_branch(self, depth, loop=False):
        """One that is decided when the script is compiled."""
        text, v = self.rng.choice([('5 < 6', True), ('sizeof(int64) == 4', False), ('is_str("a")', True), ('is_integer("a")', False), ('comptime (1 + 1 == 2)', True),
                                   ('comptime is_integer(%s)' % self.place('arg0', '$a0'), True), ('comptime ("a" == "b")', False), ('probetype == "uprobe"', True)])
        a, b = self.body(depth - 1, 1, loop), self.body(depth - 1, 1, loop)
        return ['if %s {' % (text if text.startswith('comptime') else '(%s)' % text)] + a[0] + ['} else {'] + b[0] + ['}'], lambda s: (a if v else b)[1](s)

    def body(self, depth, n, loop=False):
        self.scopes.append([])
        before = set(self.maps)
        rows = [self.statement(depth, loop) for _ in range(n)]
        self.scopes.pop()
        for name in set(self.maps) - before:  # the branch may be one that is never taken, and the map has no type then
            self.maps[name].block = -1

        def run(s):
            for r in rows:
                r[1](s)
        return ['\t' + line for r in rows for line in r[0]], run

    def branch(self, depth, loop=False):
        c, a = self.cond(depth), self.body(depth - 1, self.rng.randrange(1, 3), loop)
        b = self.body(depth - 1, self.rng.randrange(1, 3), loop) if self.rng.random() < 0.6 else None
        if self.rng.random() < 0.3:
            c2, b2 = self.cond(depth - 1), self.body(depth - 1, 1, loop)

            def other(s):
                if c2.fn(s):
                    b2[1](s)
                elif b:
                    b[1](s)
            lines = ['if (%s) {' % c.text] + a[0] + ['} else if (%s) {' % c2.text] + b2[0] + (['} else {'] + b[0] if b else []) + ['}']
            return lines, lambda s: a[1](s) if c.fn(s) else other(s)
        lines = ['if (%s) {' % c.text] + a[0] + (['} else {'] + b[0] if b else []) + ['}']

        def run(s):
            if c.fn(s):
                a[1](s)
            elif b:
                b[1](s)
        return lines, run

    def rounds(self, body):
        """Of a loop with n rounds: what the body does in each, with break and continue."""
        def run(s, values, name):
            for v in values:
                s.vars[name] = v
                try:
                    body[1](s)
                except Stop as e:
                    if e.args[0] == 'break':
                        break
                    if e.args[0] == 'return':
                        raise
        return run

    def loop(self, depth):
        kind, n, name = self.rng.choice(['for', 'for', 'while', 'unroll']), self.rng.randrange(1, 7), self.new('$i')
        self.loops += 1
        if kind == 'unroll':
            self.loops -= 1
            body = self.body(depth - 1, self.rng.randrange(1, 3))
            run = self.rounds(body)
            return ['unroll (%d) {' % n] + body[0] + ['}'], lambda s: run(s, range(n), name)
        t = U64 if kind == 'while' else Int(64, True)
        self.scopes.append([X('((%s)%s)' % (t.name, name), t, lambda s: s.vars[name])])
        body = self.body(depth - 1, self.rng.randrange(1, 4), True)
        self.scopes.pop()
        self.loops -= 1
        run = self.rounds(body)
        if kind == 'while':
            return ['%s = (uint64)0;' % name, 'while (%s < %d) {' % (name, n), '\t%s++;' % name] + body[0] + ['}'], lambda s: run(s, range(1, n + 1), name)
        first = self.rng.randrange(0 if self.peer else -3, 5)
        end = self.cast(Int(8, False), self.int(1))
        if self.rng.random() < 0.5:
            return ['for (%s : %d..%d) {' % (name, first, first + n)] + body[0] + ['}'], lambda s: run(s, range(first, first + n), name)
        first = max(first, 0)
        return ['for (%s : %d..((%s) & 7)) {' % (name, first, end.text)] + body[0] + ['}'], lambda s: run(s, range(first, end.fn(s) & 7), name)

    def jump(self, depth):
        c, what = self.cond(depth), self.rng.choice(['break', 'continue'])

        def run(s):
            if c.fn(s):
                raise Stop(what)
        return ['if (%s) {' % c.text, '\t%s;' % what, '}'], run

    def call_macro(self, depth):
        """A macro that changes a variable, or counts in a map."""
        name, kind, op = self.rng.choice(self.state_macros)
        if kind == 'map':
            ms = [m for m in self.maps.values() if m.block == self.block and m.kind == 'count' and m.keys]
            if not ms:
                return self.map_write(depth)
            m = self.rng.choice(ms)
            key, fn = m.key(self, 0, 'tuple')
            return ['%s(@%s, %s);' % (name, m.name, key)], lambda s: s.maps.setdefault(m.name, {}).setdefault(fn(s), []).append(1)
        vs = [v for v in self.vars(lambda t: t == I64) if v.text.startswith('$v')]
        if not vs:
            return self.assign_new(depth)
        v, x = self.rng.choice(vs), self.cast(I64, self.int(depth - 1))

        def run(s):
            n = x.fn(s)
            s.vars[v.text] = I64.wrap({'+': s.vars[v.text] + n, '^': s.vars[v.text] ^ n}[op])
        return ['%s(%s, %s);' % (name, v.text, x.text)], run

    def leave(self, depth):
        c = self.cond(depth)

        def run(s):
            if c.fn(s):
                raise Stop('return')
        return ['if (%s) {' % c.text, '\treturn;', '}'], run

    def statement(self, depth, loop=False):
        rows = [(5, self.assign_new), (4, self.assign), (1, self.incr_expr), (5, self.print_value), (6, self.printf), (1, self.print_buf), (1, self.print_enum), (1, self.print_array), (1, self.print_entry), (1, self.discard), (4, self.map_write),
                (3, self.map_use), (2 if self.state_macros else 0, self.call_macro)]
        if depth > 1:
            rows += [(1, lambda d: self.braces(d, loop)), (1, lambda d: self.known_branch(d, loop)), (3, lambda d: self.branch(d, loop)), (2, self.loop)]
        if loop:
            rows += [(2, self.jump)]
        return self.rng.choices([r[1] for r in rows], [r[0] for r in rows])[0](depth)


ARGS = '$a0 = arg0; $a1 = arg1; $a2 = arg2; $a3 = arg3; $r = (struct Rec *)arg4; $t = arg5;'

class Script:
    """text, rows; expected(): its lines: for each row and block those of the block, below the block's mark; then the maps', in any order."""
    def __init__(self, seed, size=6, blocks=BLOCKS, peer=False, old=False):
        gen = Gen(seed, peer)
        gen.old = old  # a kernel before 5.19: no reading of what is counted for each CPU; before 5.17 no globmatch(), before 5.13 no loops over maps and no len() of them
        rng = gen.rng
        self.rows = [Row(rng) for _ in range(ROWS)]
        self.gen, self.macro_text = gen, []
        self.blocks = []
        gen.state_macros = []
        for _ in range(rng.randrange(0, 4)):
            self.macro(gen, rng)
        for kind, op in [('map', ''), ('var', '+'), ('var', '^')]:
            if rng.random() < 0.5:
                name = gen.new('do')
                gen.state_macros.append((name, kind, op))
                self.macro_text.append('macro %s(@m, k) { @m[k] = count(); }' % name if kind == 'map' else 'macro %s($v, x) { let $n = x; $v %s= $n; }' % (name, op))
        for b in range(blocks):
            gen.block, gen.scopes = b, [[]]
            gen.plain = True  # a predicate sees no variables
            pred = gen.cond(2) if rng.random() < 0.3 else None
            gen.plain = False
            stmts = [gen.statement(3) for _ in range(size)]
            if rng.random() < 0.2:
                stmts.append(gen.leave(2))
                stmts.append(gen.printf(2))
            self.blocks.append((pred, stmts))
        self.end = gen.at_end()

    def macro(self, gen, rng):
        name, n, t, op = gen.new('add'), rng.randrange(1, 4), rng.choice([I64, U64]), rng.choice(['+', '*', '^', '-'])
        if op == '-' and not t.signed:
            op = '+'
        fn = {'+': lambda a, b: a + b, '*': lambda a, b: a * b, '^': lambda a, b: a ^ b, '-': lambda a, b: a - b}[op]
        args = ['p%d' % i for i in range(n)]

        def run(*values):
            out = values[0]
            for v in values[1:]:
                out = fn(out, v)
            return out + 1
        body = (' %s ' % op).join(args)
        gen.macros.append((name, n, t, run))
        self.macro_text.append('macro %s(%s) { %s }' % (name, ', '.join(args), '(%s) + 1' % body if rng.random() < 0.5 else 'let $x = %s; $x + 1' % body))

    def text(self, program, keep=None):
        """keep: numbers of the blocks to have, each with the numbers of its statements."""
        out = [PREAMBLE] + self.macro_text
        for b, (pred, stmts) in enumerate(self.blocks):
            if keep is not None and b not in keep:
                continue
            lines = [line for i, st in enumerate(stmts) if keep is None or i in keep[b] for line in st[0]]
            out.append('uprobe:%s:take%d%s {\n\tprintf("#%d\\n");\n\t%s\n%s\n}' % (program, b, ' /%s/' % pred.text if pred else '', b, ARGS, '\n'.join('\t' + x for x in lines)))
        end = [line for m, lines, _ in self.end if self.written(m, keep, out) for line in lines]
        if end:
            out.append('end {\n%s\n}' % '\n'.join('\t' + x for x in end))
        return '\n'.join(out) + '\n'

    def written(self, m, keep, out):
        """Is there something left that the map gets its type from? Of what is shrunk only."""
        return keep is None or any(re.search(r'@%s\b[^;]* = ' % m.name, x) for x in out)

    def expected(self, keep=None):
        """The lines in their order, for each (row, block, statement) it comes from; the maps' lines, sorted."""
        s, tags = State(), []
        for n, row in enumerate(self.rows):
            s.row = row
            for b, (pred, stmts) in enumerate(self.blocks):
                if keep is not None and b not in keep or pred and not pred.fn(s):
                    continue
                s.vars = {}
                s.out.append('#%d' % b)
                tags.append((n, b, -1))
                for i, st in enumerate(stmts):
                    try:
                        if keep is None or i in keep[b]:
                            st[1](s)
                    except Stop:
                        break
                    finally:
                        tags += [(n, b, i)] * (len(s.out) - len(tags))
        divided = {m.name: div for m, _, div in self.end}
        maps = [line for m in self.gen.maps.values() if m.name in s.maps for line in m.lines(s.maps[m.name], divided.get(m.name, 1))]
        return s.out, tags, sorted(maps)


if __name__ == '__main__':
    import sys
    script = Script(int(sys.argv[1]))
    print(script.text('./build/values'))
