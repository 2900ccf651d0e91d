"""Reads .t files (run.py's head says what is in a block) and refuses what cannot be meant: unknown keys, keys twice, a test that could not fail."""
import os, re

ONCE = {'NAME', 'PROG', 'ARGS', 'PARAMS', 'RUN', 'WORKLOAD', 'INT', 'RC', 'TIMEOUT', 'RETRY', 'ALONE', 'FEW', 'TOGETHER', 'LONG', 'EXTRA'}
MANY = {'EXPECT', 'EXPECT_LINE', 'EXPECT_RE', 'EXPECT_STACKS', 'EXPECT_NOT', 'STDERR', 'NEED'}

HEAVY = {'cmd:chromium', 'cmd:go'}


class Block(dict):
    """{key: [value, ...]}; path, line and name of a test. file: what the FILE block of its file says."""

    def __init__(self, path, line, file):
        super().__init__()
        self.path, self.line, self.file = path, line, file

    def __str__(self):
        return '%s:%d' % (os.path.relpath(self.path), self.line)

    @property
    def name(self):
        return '%s: %s' % (os.path.basename(self.path)[:-2], self['NAME'][0] if 'NAME' in self else 'line %d' % self.line)

    def one(self, key, other=''):
        return self[key][0] if key in self else other

    def company(self):
        """TOGETHER: it may run beside others, nothing in it depends on time or on what else the machine does. FEW: beside one other. ALONE."""
        for word in ('TOGETHER', 'FEW', 'ALONE'):
            if word in self:
                return word
        return self.file[0].split()[0] if self.file else 'ALONE'

    def shared(self):
        """What only one test at a time may use: the words behind TOGETHER, and programs that keep all processors busy by themselves."""
        words = self.one('TOGETHER').split() + (self.file[0].split()[1:] if self.file else [])
        return set(words + [n[4:] for n in self.get('NEED', []) if n in HEAVY])

    def text(self):
        return '\n'.join(x for values in self.values() for x in values)

    def retry(self):
        """(further tries, the reason)"""
        n, _, why = self.one('RETRY', '0').partition(' ')
        return int(n), why


def positive(b):
    """Something that a program which does nothing would not do."""
    return (any(k in b for k in ('EXPECT', 'EXPECT_LINE', 'EXPECT_STACKS', 'STDERR')) or any(not re.search(x, '', re.M) for x in b.get('EXPECT_RE', []))
            or b.one('RC', '0') != '0')


def wrong(b):
    """What is wrong with a block, or None."""
    for key, values in b.items():
        if key not in ONCE | MANY:
            return 'unknown key %s' % key
        if key in ONCE and len(values) > 1:
            return '%s is there twice' % key
    if ('PROG' in b) == ('RUN' in b):
        return 'it needs one of PROG and RUN'
    if 'NAME' not in b:
        return 'it has no NAME'
    if 'RETRY' in b and not re.match(r'[1-9] \w', b['RETRY'][0]):
        return 'RETRY says how many further tries and why: RETRY 2 samples'
    for word in ('ALONE', 'FEW', 'EXTRA'):
        if word in b and not b[word][0]:
            return '%s says why' % word
    if not positive(b):
        return 'it expects nothing that is there, only what is not: a program that does nothing would pass'
    return None


def wrong_file(b):
    good = list(b) == ['FILE'] and len(b['FILE']) == 1 and b['FILE'][0].split()[:1] in (['TOGETHER'], ['FEW'])
    return None if good else 'the FILE block is the line FILE TOGETHER or FILE FEW'


def blocks(path):
    """(blocks, [(where, what is wrong)])"""
    out, problems, file, cur, last = [], [], [], None, None
    for n, line in enumerate(open(path).read().split('\n') + [''], 1):
        if line.startswith('#'):
            continue
        if not line.strip():
            if cur:
                bad = wrong_file(cur) if 'FILE' in cur else wrong(cur)
                if bad:
                    problems.append((str(cur), bad))
                elif 'FILE' in cur:
                    file += cur['FILE']
                else:
                    out.append(cur)
            cur = None
        elif line[0].isspace():
            if cur is None:
                problems.append(('%s:%d' % (os.path.relpath(path), n), 'a line that goes on, of nothing'))
            else:
                cur[last][-1] += '\n' + line
        else:
            cur = cur if cur is not None else Block(path, n, file)
            last, _, rest = line.partition(' ')
            cur.setdefault(last, []).append(rest)
    return out, problems
