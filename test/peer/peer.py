#!/usr/bin/env python3
"""Command lines made from bpftrace's documents: do they do what bpftrace 0.27.1 does, byte for byte, when sonde is called `bpftrace`?

usage: peer.py SONDE BUILD [--file NAME,...] [--show]   compares with what is recorded in *.txt here, and with the table of docs/from-bpftrace.md (--show: each difference)
       peer.py --record BPFTRACE BUILD [--file NAME,...] runs another bpftrace and writes what it does into *.txt
       peer.py --fetch                                   Debian sid's bpftrace with its libraries into the cache; prints the command that starts it

A file holds blocks:
  > BODY           bpftrace -e 'begin { BODY exit() }'
  $ LINE           a line for the shell, in an empty folder that has a copy of {build}/calls; what follows without a mark belongs to it
  ~ NAME           stays different, for the reason that the table's row NAME gives
  = STATUS         what bpftrace did: exit status, "end" is one that was killed after 15 s
  | TEXT, ! TEXT   lines of its stdout and stderr; the last one's \\ says that it has no end of line
The text of the usage is left out. Lines that begin with "# " are headings. What depends on the kernel is compared on the release that the file's first line names only: its block begins with $k.
Each row of the table: | NAME | `part of what bpftrace printed` | `part of what sonde prints` | why |. A mark without a row, a row without a mark, a block that is marked and is the
same, one that differs and has no mark, a part that is not there: each is a fault. The last line counts.
"""
import argparse, concurrent.futures, glob, os, platform, re, shutil, signal, subprocess, sys, tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CACHE = os.path.expanduser('~/.cache/sonde-bpftrace/sid')
# What bpftrace says of a machine without kprobes, and as a program that is run by ld.so.
HERE_ONLY = re.compile(r'WARNING: (Could not read functions from .*available_filter_functions|.*RLIMIT_MEMLOCK).*\n')
LONGEST = 15  # seconds that one may take


class Block:
    def __init__(self, mark, text):
        self.mark, self.text, self.reason, self.done = mark, text, None, None

    def body(self):
        return "bpftrace -e 'begin { %s exit() }'" % self.text.replace("'", "'\\''") if self.mark == '>' else self.text

    def written(self):
        out = '%s %s\n' % (self.mark, self.text)
        if self.reason:
            out += '~ %s\n' % self.reason
        if self.done:
            out += '= %s\n%s%s' % (self.done[0], lines('|', self.done[1]), lines('!', self.done[2]))
        return out


def lines(mark, text):
    rows = text.split('\n')
    rows[-1:] = [rows[-1] + '\\'] if rows[-1] else []
    return ''.join('%s %s\n' % (mark, r) for r in rows)


def text_of(rows):
    text = ''.join(r + '\n' for r in rows)
    return text[:-2] if text.endswith('\\\n') else text


def read(path):
    """The file's blocks, and headings as texts."""
    found = []
    for line in open(path).read().split('\n')[:-1]:
        m = re.match(r'(\$k|[>$~=|!]) ?(.*)', line)
        if line.startswith('# '):
            found.append(line)
        elif not m:
            found[-1].text += '\n' + line
        elif m.group(1) in ('>', '$', '$k'):
            found.append(Block(m.group(1), m.group(2)))
            rows = {'|': [], '!': []}
        elif m.group(1) == '~':
            found[-1].reason = m.group(2)
        elif m.group(1) == '=':
            found[-1].done = [m.group(2), rows['|'], rows['!']]
        else:
            rows[m.group(1)].append(m.group(2))
    for b in found:
        if isinstance(b, Block) and b.done:
            b.done = (b.done[0], text_of(b.done[1]), text_of(b.done[2]))
    return found


def run(block, folder, build):
    """(status, stdout, stderr) of the block with folder's bpftrace."""
    with tempfile.TemporaryDirectory(prefix='sonde-peer.') as tmp:
        shutil.copy(os.path.join(build, 'calls'), tmp)
        env = {'PATH': folder + ':' + os.environ['PATH'], 'HOME': tmp, 'LC_ALL': 'C', 'TZ': 'UTC', 'LD_BIND_NOW': '1'}
        p = subprocess.Popen(['sh', '-c', block.body()], cwd=tmp, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = p.communicate(timeout=LONGEST)
            status = str(p.returncode)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out, err = p.communicate()
            status = 'end'
        out, err = (t.decode('utf-8', 'backslashreplace').replace(os.path.realpath(tmp), '/TMP') for t in (out, err))
        out, err = (re.sub(r'(?s)USAGE:\n.*', 'USAGE\n', t).replace('\x1b', '\\e') for t in (out, err))
        return status, out, HERE_ONLY.sub('', err)


def table():
    """name: (part of theirs, part of ours)"""
    text = open(os.path.join(TOP, 'docs', 'from-bpftrace.md')).read().partition('\n## Called `bpftrace`')[2].partition('\n## ')[0]
    code = r'(`+) ?(.*?) ?\2'
    rows = re.findall(r'(?m)^\| ([\w-]+) \| (`+) ?(.*?) ?\2 \| (`+) ?(.*?) ?\4 \| [^|]+ \|$', text)
    return {r[0]: (r[2].replace('\\|', '|'), r[4].replace('\\|', '|')) for r in rows}


def compare(opt, files):
    known, used, faults, n, same = table(), {}, [], 0, 0
    with tempfile.TemporaryDirectory(prefix='sonde-peer.') as bin_dir, concurrent.futures.ThreadPoolExecutor(opt.jobs) as pool:
        os.symlink(os.path.abspath(opt.sonde), os.path.join(bin_dir, 'bpftrace'))
        for path in files:
            found = read(path)
            here = platform.release() == found[0][2:]
            blocks = [b for b in found if isinstance(b, Block) and (here or b.mark != '$k')]
            for b, got in zip(blocks, pool.map(lambda b: run(b, bin_dir, opt.build), blocks)):
                n += 1
                same += got == b.done
                if b.reason:
                    used.setdefault(b.reason, []).append((b, got))
                if (got == b.done) != (not b.reason) or b.reason and b.reason not in known:
                    faults.append('%s: %s\n%s' % (os.path.basename(path), b.body(), 'is the same as bpftrace now: no "~ %s"' % b.reason if got == b.done else
                                                  'the table has no row %s' % b.reason if b.reason else difference(b.done, got)))
                elif opt.show and got != b.done:
                    print('%s: %s\n%s' % (b.reason, b.body(), difference(b.done, got)))
    if not opt.file:
        for name, parts in known.items():
            there = used.get(name, [])
            if not any(parts[0] in '\n'.join(b.done) and parts[1] in '\n'.join(got) for b, got in there):
                faults.append('the table\'s row %s: %s' % (name, 'no command has both parts' if there else 'no command is marked so'))
    print('\n'.join(faults[:opt.most]))
    print('%d commands, %d the same, %d differ as the table says, %d faults' % (n, same, sum(map(len, used.values())), len(faults)))
    return 1 if faults else 0


def difference(want, got):
    if want is None:
        return 'nothing recorded'
    rows = []
    for name, w, g in zip(('status', 'stdout', 'stderr'), want, got):
        if w != g:
            w, g = w.split('\n'), g.split('\n')
            rows += ['  %s - %s' % (name, x) for x in w if x not in g] + ['  %s + %s' % (name, x) for x in g if x not in w] or ['  %s: order or number of lines' % name]
    return '\n'.join(rows[:14])


def record(opt, files):
    with tempfile.TemporaryDirectory(prefix='sonde-peer.') as bin_dir, concurrent.futures.ThreadPoolExecutor(opt.jobs) as pool:
        words = opt.record.split()
        os.mkdir(os.path.join(bin_dir, 'as'))  # what is started is called bpftrace, be it ld.so
        shutil.copy(shutil.which(words[0]), os.path.join(bin_dir, 'as', 'bpftrace'))
        with open(os.path.join(bin_dir, 'bpftrace'), 'w') as f:
            f.write('#!/bin/sh\nexec %s "$@"\n' % ' '.join([os.path.join(bin_dir, 'as', 'bpftrace')] + words[1:]))
        os.chmod(f.name, 0o755)
        for path in files:
            found = read(path)
            blocks = [b for b in found if isinstance(b, Block) and not (opt.new and b.done)]
            for b, done in zip(blocks, pool.map(lambda b: run(b, bin_dir, opt.build), blocks)):
                b.done = done
            if not isinstance(found[0], str) or not re.match(r'# \d', found[0]):
                found.insert(0, '')
            found[0] = '# ' + platform.release()
            with open(path, 'w') as f:
                f.write(''.join(b if isinstance(b, str) and b.endswith('\n') else b + '\n' if isinstance(b, str) else b.written() for b in found))
            print(os.path.basename(path), len(blocks))


def fetch():
    sys.path.insert(0, os.path.join(TOP, 'test', 'vm'))
    import vm
    vm.CACHE = os.path.dirname(CACHE)
    with vm.cache_lock():
        opts = vm.apt_options('amd64', 'sid')
        r = subprocess.run(['apt-get', *opts, 'install', '-y', '--download-only', 'bpftrace'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        debs = glob.glob(os.path.join(vm.CACHE, 'apt-amd64-sid', 'cache/archives/*.deb'))
        if not debs:
            raise SystemExit(r.stdout)
        shutil.rmtree(CACHE, ignore_errors=True)
        vm.unpack(debs, CACHE)
    print(command())


def command():
    lib = os.path.join(CACHE, 'usr/lib/x86_64-linux-gnu')
    return '%s/ld-linux-x86-64.so.2 --argv0 bpftrace --library-path %s %s/usr/bin/bpftrace' % (lib, lib, CACHE)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('sonde', nargs='?')
    p.add_argument('build', nargs='?')
    p.add_argument('--record')
    p.add_argument('--new', action='store_true', help='record only what has no record')
    p.add_argument('--fetch', action='store_true')
    p.add_argument('--file')
    p.add_argument('--show', action='store_true')
    p.add_argument('--jobs', type=int, default=4)
    p.add_argument('--most', type=int, default=20, help='faults to print')
    opt = p.parse_args()
    if opt.fetch:
        return fetch()
    if opt.record:
        opt.build = opt.sonde
    if not opt.build:
        p.error('SONDE and BUILD are needed')
    opt.build = os.path.abspath(opt.build)
    files = sorted(glob.glob(os.path.join(HERE, '*.txt')))
    files = [f for f in files if not opt.file or os.path.basename(f)[:-4] in opt.file.split(',')]
    return record(opt, files) if opt.record else compare(opt, files)


if __name__ == '__main__':
    sys.exit(main())
