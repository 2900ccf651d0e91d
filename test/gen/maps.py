"""Maps of generated scripts: what they hold, how they are written, read, walked and printed.

In: a generator (grammar.py). Out: class Map, which knows the lines it is printed in; class Maps, the statements. Histograms are printed as in out/hist.c's document (docs/stdlib.md's examples).
"""
from more import *  # noqa: F403

KINDS = ['value', 'value', 'value', 'count', 'sum', 'min', 'max', 'avg', 'stats', 'hist', 'lhist']
BAR = 52


def scaled(v):
    """A power of two as a histogram has it."""
    for unit, name in ((30, 'G'), (20, 'M'), (10, 'K')):
        if v >> unit and not v & ((1 << unit) - 1):
            return scaled_t(v >> unit, name)
    return str(v)


def scaled_t(v, name):
    if name == 'G' and v >= 1024:
        for unit, big in ((30, 'E'), (20, 'P'), (10, 'T')):
            if v >> unit:
                return '%d%s' % (v >> unit, big)
    return '%d%s' % (v, name)


def bars(rows):
    """rows: (label, number): from the first that has any to the last."""
    some = [i for i, r in enumerate(rows) if r[1]]
    most = max(r[1] for r in rows)
    return ['%-15s %8d |%-52s|' % (name, n, '@' * (BAR * n // most)) for name, n in rows[some[0]:some[-1] + 1]]


def hist_rows(values):
    rows = [('(..., 0)', 0), ('[0]', 0), ('[1]', 0)] + [('[%s, %s)' % (scaled(1 << i), scaled(1 << (i + 1))), 0) for i in range(1, 64)]
    n = [0] * len(rows)
    for v in values:
        n[0 if v < 0 else 1 if v == 0 else v.bit_length() + 1] += 1
    return [(r[0], n[i]) for i, r in enumerate(rows)]


def lhist_rows(values, low, high, step):
    edges = list(range(low, high, step))
    n = [0] * (len(edges) + 2)
    for v in values:
        n[0 if v < low else len(edges) + 1 if v >= high else (v - low) // step + 1] += 1
    return [('(..., %d)' % low, n[0])] + [('[%d]' % e if step == 1 else '[%d, %d)' % (e, e + step), n[i + 1]) for i, e in enumerate(edges)] + [('[%d, ...)' % high, n[-1])]


class Map:
    def __init__(self, gen):
        rng = gen.rng
        self.name, self.block, self.home, self.kind = gen.new('m'), gen.block, gen.block, rng.choice(KINDS)
        self.keys = [rng.choice(INTS + [STR, STR, BOOL]) for _ in range(rng.randrange(0, 4))]
        self.value = rng.choice(INTS + [STR]) if self.kind == 'value' else rng.choice([I64, U64]) if self.kind in ('min', 'max', 'sum') else Int(32, True)
        low, step = rng.choice([0, 10, 50]), rng.choice([1, 5, 10, 25])
        self.bounds = low, low + step * rng.randrange(2, 9), step
        if self.kind == 'value' and self.keys and rng.random() < 0.3:
            self.value = Tuple([rng.choice(INTS + [STR]) for _ in range(rng.randrange(2, 4))])

    def new_value(self, gen, depth):
        if isinstance(self.value, Tuple):
            parts = [gen.string(0) if t is STR else gen.cast(t, gen.int(depth)) for t in self.value.parts]
            return X('(%s)' % ', '.join(p.text for p in parts), self.value, lambda s: tuple(p.fn(s) for p in parts))
        return gen.cast(self.value, gen.int(depth)) if isinstance(self.value, Int) else gen.string(depth)

    def key(self, gen, depth, form='index'):
        """Text and function of a key; form: behind @name, as a tuple, or both texts."""
        if not self.keys:
            return '', lambda s: ()
        parts = [gen.string(0) if t is STR else gen.cond(0) if t is BOOL else gen.cast(t, gen.small(depth)) for t in self.keys]
        text = ', '.join(p.text for p in parts)
        index = gen.rng.choice(['[%s]', '[(%s)]'] if len(parts) > 1 else ['[%s]']) % text
        whole = '(%s)' % text if len(parts) > 1 else text
        return {'index': index, 'tuple': whole, 'both': (index, whole)}[form], lambda s: tuple(p.fn(s) for p in parts)

    def lines(self, entries, div=1):
        """As they are printed when the script ends, without their order."""
        for key, v in entries.items():
            k = ', '.join(shown(t, x) for t, x in zip(self.keys, key))
            head = '@%s%s:' % (self.name, '[%s]' % k if self.keys else '')
            if self.kind in ('hist', 'lhist'):
                yield '\n'.join([head] + bars(hist_rows(v) if self.kind == 'hist' else lhist_rows(v, *self.bounds)))
            elif div > 1:
                yield '%s %d' % (head, self.number(self.kind, v) // div)
            else:
                yield '%s %s' % (head, self.merged(v))

    def number(self, kind, v):
        """A part of what was counted, or the value itself."""
        total = sum(v) if kind != 'value' else 0
        avg = lambda: abs(total) // len(v) * (1 if total >= 0 else -1)
        return {'value': lambda: v, 'count': lambda: len(v), 'sum': lambda: self.value.wrap(total), 'total': lambda: total, 'min': lambda: min(v), 'max': lambda: max(v), 'avg': avg}[kind]()

    def merged(self, v):
        if self.kind == 'value':
            return shown(self.value, v)
        if self.kind == 'stats':
            return '{ .count = %d, .average = %d, .total = %d }' % tuple(self.number(k, v) for k in ('count', 'avg', 'total'))
        return '%d' % self.number(self.kind, v)


class Maps(More):
    def map_write(self, depth):
        mine = [m for m in self.maps.values() if m.block == self.block]
        if len(mine) < 2 or self.rng.random() < 0.3:
            m = Map(self)
            self.maps[m.name] = m
        else:
            m = self.rng.choice(mine)
        key, fn = m.key(self, depth - 1)
        if m.kind != 'value':
            x = self.cast(m.value, self.rng.choice([self.int, self.small])(depth)) if m.kind != 'count' else None
            args = '' if not x else x.text + (', %d, %d, %d' % m.bounds if m.kind == 'lhist' else '')

            def add(s):
                v = x.fn(s) if x else 1
                s.maps.setdefault(m.name, {}).setdefault(fn(s), []).append(v)
            return ['@%s%s = %s(%s);' % (m.name, key, m.kind, args)], add
        if m.value == I64 and self.rng.random() < 0.4:  # a map that is only counted up is one of int64
            return self.count_up(m, key, fn, depth)
        x = m.new_value(self, depth)

        def run(s):
            k = fn(s)
            s.maps.setdefault(m.name, {})[k] = x.fn(s)
        return ['@%s%s = %s;' % (m.name, key, x.text)], run

    def count_up(self, m, key, fn, depth):
        """++ in all its forms, and the assignments that read first."""
        how, name = self.rng.randrange(3), self.new('$v')
        if how == 2:
            op, x = self.rng.choice(['+', '-', '|', '^', '*', '&']), self.cast(I64, self.int(depth - 1))
            fns = {'+': lambda a, b: a + b, '-': lambda a, b: a - b, '*': lambda a, b: a * b, '&': lambda a, b: a & b, '|': lambda a, b: a | b, '^': lambda a, b: a ^ b}

            def compound(s):
                d, k = s.maps.setdefault(m.name, {}), fn(s)
                v = x.fn(s)
                d[k] = I64.wrap(fns[op](d.get(k, 0), v))
            return ['@%s%s %s= %s;' % (m.name, key, op, x.text)], compound
        op, pre = self.rng.choice(['++', '--']), self.rng.random() < 0.5

        def count(s):
            d, k = s.maps.setdefault(m.name, {}), fn(s)
            old = d.get(k, 0)
            d[k] = I64.wrap(old + (1 if op == '++' else -1))
            s.vars[name] = d[k] if pre else old
        text = '%s@%s%s' % (op, m.name, key) if pre else '@%s%s%s' % (m.name, key, op)
        if not how:
            return [text + ';'], count
        self.scopes[-1].append(X(name, I64, lambda s: s.vars[name]))
        return ['%s = (int64)%s;' % (name, text)], count

    def map_use(self, depth):
        ms = [m for m in self.maps.values() if m.block == self.block and m.keys]
        if not ms:
            return self.map_write(depth)
        m = self.rng.choice(ms)
        get = lambda s: s.maps.setdefault(m.name, {})
        plain = m.kind not in ('hist', 'lhist')

        def delete():
            key, fn = m.key(self, depth - 1, 'tuple')
            name = self.new('$d')
            return ['%s = delete(@%s, %s);' % (name, m.name, key), 'print(%s);' % name], lambda s: s.out.append(shown(BOOL, get(s).pop(fn(s), None) is not None))

        def size():
            return ['print(len(@%s));' % m.name], lambda s: s.out.append(str(len(get(s))))

        def walk():
            """The order is the kernel's: only what does not depend on it."""
            name, kv = self.new('$v'), self.new('$kv')
            if not isinstance(m.value, Int) or m.kind != 'value':
                x, fn = '1', lambda k, v: 1
            else:
                x, fn = '(int64)%s.1' % kv, lambda k, v: I64.wrap(v)
                for i, t in enumerate(m.keys):
                    if isinstance(t, Int) and self.rng.random() < 0.6:
                        part = '%s.0' % kv if len(m.keys) == 1 else '%s.0.%d' % (kv, i)
                        x, fn = '%s + (int64)%s' % (x, part), lambda k, v, fn=fn, i=i: fn(k, v) + I64.wrap(k[i])

            def run(s):
                s.out.append(str(I64.wrap(sum(fn(k, v) for k, v in get(s).items()))))
            return ['let %s = (int64)0;' % name, 'for (%s : @%s) {' % (kv, m.name), '\t%s += %s;' % (name, x), '}', 'print(%s);' % name], run

        def sweep():
            """A loop that deletes what it meets."""
            if not isinstance(m.keys[0], Int) or not plain:
                return walk() if plain else delete()
            kv, n = self.new('$kv'), self.rng.choice([0, 1, 2])
            first = '%s.0' % kv if len(m.keys) == 1 else '%s.0.0' % kv

            def run(s):
                d = get(s)
                for k in [k for k in d if k[0] <= n]:
                    del d[k]
            return ['for (%s : @%s) {' % (kv, m.name), '\tif (%s <= %d) {' % (first, n), '\t\t_ = delete(@%s, %s.0);' % (m.name, kv), '\t}', '}'], run

        def find():
            if m.kind != 'value':
                return delete() if self.old else size()
            key, fn = m.key(self, depth - 1, 'tuple')
            name = self.new('$f')

            def run(s):
                d, k = get(s), fn(s)
                s.out.append(shown(m.value, d[k]) if k in d else 'no')
            return ['let %s;' % name, 'if (find(@%s, %s, %s)) {' % (m.name, key, name), '\tprint(%s);' % name, '} else {', '\tprint("no");', '}'], run
        loops = not (self.old or self.peer and m.kind == 'stats' or not plain)
        return self.pick((3, delete), (0 if self.old else 2, size), (3 * loops, walk), (2 * loops, sweep), (2, find))

    def at_end(self):
        """Of the end block: maps printed whole and divided, looked over, cleared. (block it is of, lines, function)"""
        ms = [m for m in self.maps.values() if m.block >= 0 and m.keys and self.rng.random() < 0.4]
        out = []
        for m in ms:
            if m.kind in ('count', 'value', 'sum') and (m.kind == 'count' or m.value == U64):
                div = self.rng.choice([1, 2, 10, 1000])
                lines = ['print(@%s, 100, %d);' % (m.name, div)]
            else:
                div, lines = 1, ['print(@%s);' % m.name]
            if self.rng.random() < 0.5 and not self.old:
                lines.insert(0, 'if (len(@%s) > 100000) { print("many"); }' % m.name)
            out.append((m, lines + ['clear(@%s);' % m.name], div))
        return out
