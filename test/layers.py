#!/usr/bin/env python3
"""Who may know whom: checks what the folders of src/ include and what their built objects call (suite `layers` of run.py).

  test/layers.py [--build DIR]     prints what is wrong; exit status 1 if anything is
  test/layers.py --list            also what is not judged: circles of calls between a folder's files
  test/layers.py --test            the checks against made-up trees that break each rule

TABLE is the whole rule; there are no exceptions. A folder may use itself, the folders named beside it and all that those may use.
It has one public header, and an internal.h for what its files share.
"""
import glob, os, re, subprocess, sys, tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Lowest first. '' is the files of src/ itself (main, help, command line).
TABLE = [
    ('base', ''),
    ('bpfrt', 'base'),  # its headers say what code in the kernel and user space share
    ('elf', 'base'),
    ('arch', 'base'),
    ('type', 'bpfrt'),
    ('ir', 'base'),
    ('ctype', 'arch type elf'),
    ('lang', 'ctype'),
    ('lower', 'lang ir bpfrt'),
    ('bpf', 'lower'),
    ('sym', 'elf arch'),
    ('out', 'base'),
    ('input', 'out'),
    ('unwind', 'elf arch bpfrt'),
    ('runtime', 'elf bpfrt'),
    ('track', 'bpf unwind sym runtime'),
    ('stack', 'bpf sym out runtime'),
    ('probe', 'bpf sym'),
    ('run', 'track stack'),
    ('session', 'run probe'),
    ('tool', 'session input'),
    ('agent', 'tool'),
    ('', 'agent'),
]

# Folders whose files call each other in one direction only.
FLAT = 'base arch type ir bpf sym probe out input unwind runtime track run tool agent'.split()

# Code of the kernel's side: its headers are for the compiler of BPF.
KERNEL = ['bpfrt']


def closed(table):
    """folder -> all it may use; a row may name only rows before it, so there is no circle."""
    below = {}
    for folder, rests in table:
        below[folder] = {folder}
        for r in rests.split():
            assert r in below, 'TABLE: %s stands before %s' % (folder, r)
            below[folder] |= below[r]
    return below


def circles(edges):
    """Groups of nodes that reach each other (Tarjan's strongly connected components), of more than one node."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in sorted(edges.get(v, ())):
            if w not in index:
                visit(w)
            if w in stack:
                low[v] = min(low[v], low[w])
        if low[v] == index[v]:
            at = stack.index(v)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for v in sorted(edges):
        if v not in index:
            visit(v)
    return found


class Tree:
    def __init__(self, top, build, table=TABLE, flat=FLAT):
        self.src, self.build, self.below, self.flat = os.path.join(top, 'src'), build, closed(table), flat
        self.files = {f: [] for f in self.below}  # folder -> paths below src/
        self.wrong = []  # (file, what)
        for dirpath, _, names in os.walk(self.src):
            folder = os.path.relpath(dirpath, self.src)
            folder = '' if folder == '.' else folder
            code = sorted(n for n in names if re.search(r'\.(c|h|def)$', n))
            if folder in self.files:
                self.files[folder] = [os.path.join(folder, n) for n in code]
            elif code:
                self.wrong.append((folder, 'is no folder of TABLE (test/layers.py)'))

    def folder(self, path):
        return os.path.dirname(path)

    # ---- includes
    def includes(self, path):
        """Files of src/ that it includes, as paths below src/; what is made while building has the folder it is made for."""
        for inc in re.findall(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', open(os.path.join(self.src, path)).read(), re.M):
            beside = os.path.join(self.folder(path), inc)
            if '/' in inc or os.path.exists(os.path.join(self.src, inc)):
                yield inc
            elif os.path.exists(os.path.join(self.src, beside)):
                yield beside

    def check_includes(self):
        edges = {}
        for folder, paths in self.files.items():
            for path in paths:
                for inc in self.includes(path):
                    edges.setdefault(path, set()).add(inc)
                    to = self.folder(inc)
                    if to not in self.below[folder]:
                        self.wrong.append((path, 'includes %s' % inc))
                    elif to != folder and os.path.basename(inc) == 'internal.h':
                        self.wrong.append((path, 'includes %s, which is only for its own folder' % inc))
        for c in circles(edges):
            self.wrong.append((c[0], 'includes itself in a circle: ' + ', '.join(c)))

    # ---- calls
    def objects(self):
        """Source -> its object; one that is not there or older than its source is told, not passed over."""
        for folder, paths in self.files.items():
            for path in paths:
                if not path.endswith('.c') or path.endswith('.bpf.c'):
                    continue
                obj = os.path.join(self.build, path[:-2] + '.o')
                if not os.path.exists(obj):
                    self.wrong.append((path, 'has no %s: build first' % obj))
                elif os.path.getmtime(obj) < os.path.getmtime(os.path.join(self.src, path)):
                    self.wrong.append((path, 'is newer than %s: build first' % obj))
                else:
                    yield path, obj

    def symbols(self):
        """symbol -> the source that defines it; source -> symbols it wants."""
        source = {obj: path for path, obj in self.objects()}
        defined, wanted = {}, {path: set() for path in source.values()}
        if not source:
            return defined, wanted
        out = subprocess.run(['nm', '-A'] + sorted(source), stdout=subprocess.PIPE, check=True).stdout.decode()
        for obj, kind, name in re.findall(r'^(.*?):[0-9a-f ]+ (\w) (\S+)', out, re.M):
            if kind in 'Uwv':
                wanted[source[obj]].add(name)
            elif kind.isupper() or kind == 'u':
                defined[name] = source[obj]
        return defined, wanted

    def calls(self):
        """source -> {source: [symbols]}"""
        defined, wanted = self.symbols()
        out = {}
        for path, names in wanted.items():
            for name in sorted(names):
                if name in defined and defined[name] != path:
                    out.setdefault(path, {}).setdefault(defined[name], []).append(name)
        return out

    def check_calls(self):
        self.called = self.calls()
        for path, to in sorted(self.called.items()):
            for other, names in sorted(to.items()):
                if self.folder(other) not in self.below[self.folder(path)]:
                    self.wrong.append((path, 'uses %s of %s' % (', '.join(names), other)))
        for c in self.call_circles():
            if self.folder(c[0]) in self.flat:
                self.wrong.append((c[0], 'calls in a circle: ' + ', '.join(c)))

    # ---- headers
    def headers(self):
        """folder -> public headers, where there are more than one."""
        out = {}
        for folder, paths in self.files.items():
            public = [p for p in paths if p.endswith('.h') and os.path.basename(p) != 'internal.h']
            if folder and len(public) > 1:
                out[folder] = public
        return out

    def call_circles(self):
        """Files of one folder that call each other in a circle."""
        for folder in self.below:
            inside = {p: {o for o in to if self.folder(o) == folder} for p, to in self.called.items() if self.folder(p) == folder}
            yield from circles(inside)

    def check_headers(self):
        for folder, public in self.headers().items():
            if folder not in KERNEL:
                self.wrong.append((folder, 'has %d public headers, not one: %s' % (len(public), ' '.join(public))))

    def check(self):
        self.check_includes()
        self.check_calls()
        self.check_headers()
        return self.wrong


# ---- the checks themselves, on made-up trees
LOW_HIGH = [('low', ''), ('left', 'low'), ('right', 'low'), ('high', 'left right'), ('', 'high')]
CLEAN = {'low/low.h': 'int low(void);', 'low/low.c': '#include "low/low.h"\nint low(void) { return 1; }',
         'left/left.h': 'int left(void);', 'left/left.c': '#include "low/low.h"\n#include "left/left.h"\nint left(void) { return low(); }',
         'right/right.c': 'int right(void) { return 2; }', 'right/internal.h': 'int right(void);',
         'high/high.c': '#include "left/left.h"\nint high(void) { return left(); }',
         'main.c': 'int high(void);\nint main(void) { return high(); }'}
# name, files changed, (file, what) expected; None: nothing wrong. A file None is not written, 'stale' makes its object older.
MADE_UP = [
    ('clean tree', {}, None),
    ('include goes up', {'low/low.c': '#include "left/left.h"'}, ('low/low.c', 'includes left/left.h')),
    ('include of a header goes up', {'low/low.h': '# include "left/left.h"'}, ('low/low.h', 'includes left/left.h')),
    ('include across', {'right/right.c': '#include "left/left.h"\nint right(void) { return 2; }'}, ('right/right.c', 'includes left/left.h')),
    ('include of src/ itself', {'help.h': '', 'high/high.c': '#include "help.h"\nint high(void) { return 0; }'}, ('high/high.c', 'includes help.h')),
    ('call goes up', {'low/low.c': 'int left(void);\nint low(void) { return left(); }'}, ('low/low.c', 'uses left of left/left.c')),
    ('address goes up', {'low/low.c': 'int left(void);\nint (*low)(void) = left;'}, ('low/low.c', 'uses left of left/left.c')),
    ('weak call goes up', {'low/low.c': 'int left(void) __attribute__((weak));\nint low(void) { return left(); }'}, ('low/low.c', 'uses left of left/left.c')),
    ('data goes up', {'high/high.c': 'int seen = 3;\nint high(void) { return 0; }', 'right/right.c': 'extern int seen;\nint right(void) { return seen; }'},
     ('right/right.c', 'uses seen of high/high.c')),
    ('call across', {'right/right.c': 'int left(void);\nint right(void) { return left(); }'}, ('right/right.c', 'uses left of left/left.c')),
    ('internal header of another', {'high/high.c': '#include "right/internal.h"\nint high(void) { return right(); }'},
     ('high/high.c', 'includes right/internal.h, which is only for its own folder')),
    ('headers in a circle', {'left/left.h': '#pragma once\n#include "internal.h"', 'left/internal.h': '#pragma once\n#include "left/left.h"'},
     ('left/internal.h', 'includes itself in a circle: left/internal.h, left/left.h')),
    ('two public headers', {'left/more.h': ''}, ('left', 'has 2 public headers, not one: left/left.h left/more.h')),
    ('folder without a row', {'new/new.c': ''}, ('new', 'is no folder of TABLE (test/layers.py)')),
    ('source newer than its object', {'left/left.c': 'stale'}, ('left/left.c', 'is newer than BUILD/left/left.o: build first')),
]


def write_tree(top, files):
    for name, text in files.items():
        path = os.path.join(top, 'src', name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as f:
            f.write(text + '\n')
    for name in files:
        if name.endswith('.c'):
            obj = os.path.join(top, 'build', name[:-2] + '.o')
            os.makedirs(os.path.dirname(obj), exist_ok=True)
            subprocess.run(['cc', '-w', '-I' + os.path.join(top, 'src'), '-c', '-o', obj, os.path.join(top, 'src', name)], check=True)


def made_up(changed, flat=()):
    """The tree checked, with names of the build folder as BUILD."""
    with tempfile.TemporaryDirectory() as top:
        stale = [n for n, text in changed.items() if text == 'stale']
        write_tree(top, {**CLEAN, **{n: t for n, t in changed.items() if t != 'stale'}})
        build = os.path.join(top, 'build')
        for n in stale:
            os.utime(os.path.join(build, n[:-2] + '.o'), (0, 0))
        tree = Tree(top, build, LOW_HIGH, flat)
        tree.wrong = [(f, what.replace(build, 'BUILD')) for f, what in tree.check()]
        tree.circled = list(tree.call_circles())
        return tree


def self_test():
    """name, what is wrong with the check itself or None"""
    for name, changed, want in MADE_UP:
        got = made_up(changed).wrong
        yield name, None if got == ([want] if want else []) else 'found %s, not %s' % (got, want)
    with tempfile.TemporaryDirectory() as top:
        os.makedirs(os.path.join(top, 'src', 'low'))
        open(os.path.join(top, 'src', 'low', 'low.c'), 'w').close()
        got = Tree(top, os.path.join(top, 'none'), LOW_HIGH, ()).check()
        yield 'nothing built', None if len(got) == 1 and 'build first' in got[0][1] else 'found %s' % got
    two = {'low/low.c': 'int more(void);\nint low(void) { return more(); }', 'low/more.c': 'int low(void);\nint more(void) { return low(); }'}
    for name, changed, flat, want in [
            ('calls in a circle', two, ['low'], [('low/low.c', 'calls in a circle: low/low.c, low/more.c')]),
            ('calls in a circle of another folder', two, ['left'], []), ('calls without a circle', {}, ['low', 'left', 'high'], [])]:
        got = made_up(changed, flat)
        yield name, None if got.wrong == want and len(got.circled) == (changed is two) else 'found %s, %s' % (got.wrong, got.circled)


# What the sources have at their top; another file there is what some test or hand has left.
TOP_FILES = {'.clang-format', '.gitignore', 'ARCHITECTURE.md', 'CHANGELOG.md', 'HACKING.md', 'LICENSE', 'Makefile', 'README.md'}


def strays(names):
    return sorted(set(names) - TOP_FILES)


def run_layers(t, opt):
    """Suite `layers` of run.py: one result a file of src/, one a made-up tree, one for what git has at the top."""
    git = subprocess.run(['git', '-C', TOP, 'ls-files', '--', ':(top,glob)*'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True)
    left = strays(git.stdout.split('\n')[:-1])
    if git.returncode:
        t.skip('layers: files at the top', 'no git here')
    elif left or strays(['x'] + list(TOP_FILES)) != ['x']:
        t.fail('layers: files at the top', 'not of the sources: %s' % ' '.join(left))
    else:
        t.ok('layers: files at the top')
    for name, wrong in self_test():
        t.fail('layers: ' + name, wrong) if wrong else t.ok('layers: ' + name)
    tree = Tree(TOP, opt.build)
    wrong = tree.check()
    for path in sorted({p for paths in tree.files.values() for p in paths} | {f for f, _ in wrong}):
        bad = [what for f, what in wrong if f == path]
        t.fail('layers: src/' + path, '\n'.join(bad)) if bad else t.ok('layers: src/' + path)


def main():
    args = sys.argv[1:]
    if '--test' in args:
        failed = [(name, why) for name, why in self_test() if why]
        for name, why in failed:
            print('%s: %s' % (name, why))
        return bool(failed)
    tree = Tree(TOP, args[args.index('--build') + 1] if '--build' in args else os.path.join(TOP, 'build'))
    for path, what in tree.check():
        print('src/%s %s' % (path, what))
    print('%d of %d files break a rule' % (len({f for f, _ in tree.wrong}), sum(len(p) for p in tree.files.values())))
    if '--list' in args:
        for c in tree.call_circles():
            print('call each other: ' + ' '.join(c))
    return bool(tree.wrong)


if __name__ == '__main__':
    sys.exit(main())
