#!/usr/bin/env python3
"""Runs one command inside another kernel, in QEMU under emulation (TCG: no /dev/kvm needed).

usage: vm.py [--arch amd64|arm64|riscv64] [--release NAME] [--kernel FILE] [--root DIR] [--timeout S] [--mem MB] [--console FILE] [--share DIR] --
                'shell command line'
                (--side-by-side: its processors run at once, instead of in turns)
       vm.py --fetch [--arch A] [--release NAME]   only fetches the kernel and prints where it is
       vm.py --tree --arch arm64|riscv64   fetches the root tree and prints where it is

In: Debian's stock kernel package, this release's, its backports' (--release backports) or another release's (--release bullseye, sid, experimental), or Ubuntu's generic one (--release
jammy-updates), fetched through apt into the cache (SONDE_VM, default ~/.cache/sonde-vm; it stays until its folder there is removed), or a kernel file with virtio, 9p and overlayfs built in. The guest's root is the host's (arm64, riscv64: a tree of Debian packages), read-only over 9p, under a tmpfs overlay.
Out: the command's stdout and stderr as they come, its exit status (124: time ran out, 125: the guest did not come up).
Invariant: nothing of the host is changed but the cache; every guest ends with its vm.py.
"""
import argparse, contextlib, fcntl, glob, gzip, hashlib, lzma, os, re, shlex, shutil, signal, struct, subprocess, sys, tempfile, time, urllib.request, zlib

CACHE = os.environ.get('SONDE_VM', os.path.expanduser('~/.cache/sonde-vm'))
UBUNTU = ('focal', 'jammy', 'noble', 'questing', 'resolute')
UBUNTU_MIRROR = os.environ.get('SONDE_UBUNTU_MIRROR', 'http://archive.ubuntu.com/ubuntu')
UBUNTU_KEYS, UBUNTU_KEYS_SHA256 = '/pool/main/u/ubuntu-keyring/ubuntu-keyring_2021.03.26_all.deb', '0d0e7ed6b112f5d03eabf3c7eb01ebdacf9c57714b279e90495cfc58c8c4520f'
# What the initial RAM disk loads to reach its root; their dependencies follow.
MODULES = ['virtio_mmio', 'virtio_pci', '9pnet_virtio', '9p', 'overlay']
# Another architecture's guest: what its root is made of, besides what these depend on.
ROOT = ['busybox-static', 'dash', 'coreutils', 'python3-minimal', 'libpython3-stdlib', 'libbpf-dev', 'libdw-dev', 'libelf-dev',
              'liblzma-dev', 'zlib1g-dev', 'libiberty-dev', 'libbz2-dev', 'elfutils']
QEMU = {'amd64': 'x86_64', 'arm64': 'aarch64', 'riscv64': 'riscv64'}
# A release whose kernel and root are taken where nothing else is said: Debian has riscv64 from trixie on.
FIRST_RELEASE = {'riscv64': 'trixie'}


class Missing(Exception):
    """Something this machine cannot provide; the text says what."""


def sh(cmd, **kw):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, **kw)


# ---- Debian packages
def os_release():
    try:
        return dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', open('/etc/os-release').read(), re.M))
    except OSError:
        return {}


def ubuntu_key():
    """The file of the archive's keys, of a package that Debian does not have: the one whose checksum stands here"""
    path = os.path.join(CACHE, 'ubuntu-archive-keyring.gpg')
    if not os.path.exists(path):
        os.makedirs(CACHE, exist_ok=True)
        with urllib.request.urlopen(UBUNTU_MIRROR + UBUNTU_KEYS, timeout=60) as r:
            data = r.read()
        if hashlib.sha256(data).hexdigest() != UBUNTU_KEYS_SHA256:
            raise Missing('%s is not the package that is known' % (UBUNTU_MIRROR + UBUNTU_KEYS))
        with tempfile.TemporaryDirectory(dir=CACHE) as part:
            deb = os.path.join(part, 'keys.deb')
            with open(deb, 'wb') as f:
                f.write(data)
            subprocess.run(['dpkg-deb', '-x', deb, part], check=True)
            os.replace(os.path.join(part, 'usr/share/keyrings/ubuntu-archive-keyring.gpg'), path)
    return path


def is_ubuntu(release):
    return bool(release) and release.split('-')[0] in UBUNTU


def apt_options(arch, release=None):
    """apt's own state for another architecture or release: the host's is not touched (apt.conf(5), Dir)."""
    if arch == 'amd64' and not release:
        return []
    d = os.path.join(CACHE, 'apt-' + arch + ('-' + release if release else ''))
    for sub in ('lists/partial', 'cache/archives/partial'):
        os.makedirs(os.path.join(d, sub), exist_ok=True)
    open(os.path.join(d, 'status'), 'a').close()
    opts = ['APT::Architecture=' + arch, 'APT::Architectures=' + arch, 'Dir::State::Lists=%s/lists' % d, 'Dir::State::status=%s/status' % d,
            'Dir::Cache=%s/cache' % d, 'APT::Install-Recommends=false']
    if release:
        if os_release().get('ID') != 'debian':
            raise Missing('no Debian here, whose other releases have other kernels')
        with open(d + '/sources.list', 'w') as f:
            suite = os_release()['VERSION_CODENAME'] + '-backports' if release == 'backports' else release
            for one in (suite, 'sid') if suite == 'experimental' else (suite,):  # what that needs is in sid
                if is_ubuntu(suite):
                    f.write('deb [signed-by=%s] %s %s main universe\n' % (ubuntu_key(), UBUNTU_MIRROR, one))
                else:
                    f.write('deb %s %s main\n' % (os.environ.get('SONDE_VM_MIRROR', 'http://deb.debian.org/debian'), one))
        opts += ['Dir::Etc::sourcelist=%s/sources.list' % d, 'Dir::Etc::sourceparts=/dev/null']
    opts = [w for o in opts for w in ('-o', o)]
    if not glob.glob(d + '/lists/*Packages*'):
        r = sh(['apt-get'] + opts + ['update'], timeout=300)
        if r.returncode or not glob.glob(d + '/lists/*Packages*'):
            raise Missing('apt-get update for %s: %s' % (os.path.basename(d), r.stdout.strip().split('\n')[-1]))
    return opts


def unpack(debs, top, finish=lambda tree: None):
    """All packages into the new folder top, which appears whole or not at all."""
    with tempfile.TemporaryDirectory(dir=CACHE, prefix='part.') as part:
        tree = os.path.join(part, 'tree')
        os.mkdir(tree)
        for d in debs:
            subprocess.run(['dpkg-deb', '-x', d, tree], check=True)
        finish(tree)
        os.rename(tree, top)


@contextlib.contextmanager
def cache_lock():
    """One fetches, the others wait and then find it there."""
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, 'lock'), 'w') as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def kernel_packages(opts, arch, release):
    """Names of the kernel's package and of those that hold parts of it (Ubuntu: modules; Debian's newer ones: modules and the image itself)."""
    def needs(name, what):
        return re.findall(r'Depends: (linux-(?:%s)-[0-9]\S*)' % what, sh(['apt-cache'] + opts + ['depends', name]).stdout)
    image = needs('linux-image-' + ('generic' if is_ubuntu(release) else arch), 'image')[:1]
    return image + needs(image[0], 'binary|modules') if image else []


def download_kernel(arch, release, top):
    if not shutil.which('apt-get'):
        raise Missing('no apt-get to fetch a kernel with')
    opts = apt_options(arch, release)
    if release == 'experimental':  # apt takes nothing from there unless it is asked to
        opts += ['-o', 'APT::Default-Release=experimental']
    for fresh in (False, True):
        if fresh:  # package lists that were never fetched, or are old
            sh(['apt-get'] + opts + ['update'], timeout=300)
        names = kernel_packages(opts, arch, release)
        if not names:
            why = 'no kernel package of %s here' % arch
            continue
        with tempfile.TemporaryDirectory() as tmp:
            r = sh(['apt-get'] + opts + ['download'] + names, cwd=tmp, timeout=600)
            debs = glob.glob(tmp + '/*.deb')
            if not r.returncode and len(debs) == len(names):
                unpack(debs, top)
                return
        why = 'apt-get download %s: %s' % (' '.join(names), r.stdout.strip().split('\n')[-1])
    raise Missing(why)


def fetch_kernel(arch, release=None):
    """(kernel, modules): the distribution's kernel, unpacked in the cache."""
    top = os.path.join(CACHE, arch + ('-' + release if release else ''))
    with cache_lock():
        if not os.path.isdir(top):
            download_kernel(arch, release, top)
    found = sorted(glob.glob(top + '/boot/vmlinu[xz]-*'))
    if found:
        version = os.path.basename(found[-1]).split('-', 1)[1]
        return found[-1], next(d for d in (os.path.join(top, lib, 'modules', version) for lib in ('lib', 'usr/lib')) if os.path.isdir(d))
    found = sorted(glob.glob(top + '/usr/lib/modules/*/vmlinuz'))  # Debian's newer ones
    return found[-1], os.path.dirname(found[-1])


def finish_root(tree):
    os.makedirs(tree + '/etc', exist_ok=True)
    with open(tree + '/etc/passwd', 'w') as f:
        f.write('root:x:0:0:root:/root:/bin/sh\n')
    python = [os.path.basename(f) for f in glob.glob(tree + '/usr/bin/python3.[0-9]*')]
    for name, to in (('usr/bin/python3', min(python, key=len)), ('bin/sh', 'dash')):
        if not os.path.lexists(os.path.join(tree, name)):
            os.symlink(to, os.path.join(tree, name))
    for a in ('mount', 'ip', 'ps', 'grep', 'sed', 'pkill', 'setsid', 'find', 'ping', 'wget', 'nc', 'time', 'gzip', 'gunzip'):
        if not os.path.lexists(os.path.join(tree, 'bin', a)):
            os.symlink('busybox', os.path.join(tree, 'bin', a))


def fetch_root(arch):
    """A tree with a C library, python3 and sonde's libraries of that architecture; it also serves as the cross compiler's."""
    release = FIRST_RELEASE.get(arch)
    want = ROOT + ['base-files', 'libzstd-dev'] if release else ROOT  # base-files: links of the merged /usr, which come first
    root = os.path.join(CACHE, '%s-root-%08x' % (arch, zlib.crc32(' '.join(want).encode())))
    with cache_lock():
        if not os.path.isdir(root):
            opts = apt_options(arch, release)
            r = sh(['apt-get'] + opts + ['install', '-y', '--download-only'] + want, timeout=900)
            debs = glob.glob(os.path.join(CACHE, 'apt-' + arch + ('-' + release if release else ''), 'cache/archives/*.deb'))
            debs.sort(key=lambda d: (not os.path.basename(d).startswith('base-files_'), d))
            if r.returncode or not debs:
                raise Missing('apt-get install --download-only for %s: %s' % (arch, r.stdout.strip().split('\n')[-1]))
            unpack(debs, root, finish_root)
    return root


# ---- kernel and initial RAM disk
def unzstd(data):
    if not shutil.which('zstd'):
        raise Missing('no zstd, by which this kernel is packed (scripts/deps.sh vm)')
    return subprocess.run(['zstd', '-dcq'], input=data, stdout=subprocess.PIPE, check=True).stdout


def plain_kernel(path, arch, tmp):
    """The kernel without its compression, which takes an emulated processor long; QEMU starts an ELF kernel by its PVH note."""
    data = open(path, 'rb').read()
    if arch != 'amd64':
        data = gzip.decompress(data) if data[:2] == b'\x1f\x8b' else data
    elif data[0x202:0x206] == b'HdrS':  # Documentation/x86/boot.rst: setup_sects, payload_offset, payload_length
        off, size = struct.unpack_from('<II', data, 0x248)
        body = data[((data[0x1f1] or 4) + 1) * 512 + off:][:size]
        if body[:6] == b'\xfd7zXZ\0':
            elf = lzma.LZMADecompressor().decompress(body)
        elif body[:2] == b'\x1f\x8b':
            elf = gzip.decompress(body)
        elif body[:4] == b'\x28\xb5\x2f\xfd':
            elf = unzstd(body[:-4])  # its size stands behind
        else:
            elf = b''
        if elf[:4] == b'\x7fELF':
            data = elf
    out = os.path.join(tmp, 'kernel')
    with open(out, 'wb') as f:
        f.write(data)
    return out


def module_order(top):
    """Files of MODULES and what they need, in the order to load them (modules.dep may be absent from the package: read each one's depends=)."""
    where = {}
    for path in glob.glob(top + '/kernel/**/*.ko*', recursive=True):
        where[re.sub(r'\.ko.*', '', os.path.basename(path)).replace('-', '_')] = path
    order = []

    def want(name):
        path = where.get(name.replace('-', '_'))
        if not path or path in [p for p, _ in order]:
            return  # built in
        data = open(path, 'rb').read()
        data = lzma.decompress(data) if path.endswith('.xz') else unzstd(data) if path.endswith('.zst') else data
        m = re.search(rb'\0depends=([^\0]*)\0', data)
        for d in m.group(1).decode().split(',') if m else []:
            want(d)
        order.append((path, data))
    for m in MODULES:
        want(m)
    return order


INIT = '''#!/bin/busybox sh
PATH=/bin
for a in mount insmod mkdir cat switch_root; do /bin/busybox ln -s busybox /bin/$a; done
for m in /m/*; do insmod $m || echo "cannot load $m"; done
mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose root /ro || echo "no root"
mount -t tmpfs -o size=80% rw /rw
mkdir -p /rw/up /rw/work
mount -t overlay -o lowerdir=/ro,upperdir=/rw/up,workdir=/rw/work root /new
mkdir -p /new/proc /new/sys /new/dev /new/run /new/tmp /new/root /new/.vm
mount -t proc proc /new/proc
mount -t sysfs sys /new/sys
mount -t devtmpfs dev /new/dev
mount -t 9p -o rw,trans=virtio,version=9p2000.L,msize=512000,cache=none vm /new/.vm || echo "no share"
exec switch_root /new /.vm/busybox sh /.vm/init
'''

INIT2 = '''
bb=/.vm/busybox
echo up >/.vm/state
mkdir -p /dev/pts /dev/shm
m() { $bb mount -t $1 $1 $2; }
m tmpfs /dev/shm; m devpts /dev/pts; m tmpfs /run; m tmpfs /tmp
$bb mkdir -p /sys/kernel/tracing /sys/kernel/debug /sys/fs/bpf /sys/fs/cgroup
m tracefs /sys/kernel/tracing; m debugfs /sys/kernel/debug; m bpf /sys/fs/bpf; m cgroup2 /sys/fs/cgroup
for d in fd:/proc/self/fd stdin:/proc/self/fd/0 stdout:/proc/self/fd/1 stderr:/proc/self/fd/2; do $bb ln -s ${d#*:} /dev/${d%%:*}; done
$bb mkdir -p /lib/modules
[ -d /.vm/modules ] && $bb mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose modules /.vm/modules && $bb ln -s /.vm/modules /lib/modules/$($bb uname -r)
. /.vm/shares
$bb ip link set lo up
$bb hostname guest
echo 0 >/proc/sys/kernel/kptr_restrict
echo -1 >/proc/sys/kernel/perf_event_paranoid
echo 1 >/proc/sys/net/core/bpf_jit_enable 2>/dev/null
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root USER=root LANG=C.UTF-8 TERM=dumb SONDE_GUEST=1
cd / ; . /.vm/cwd
$bb setsid sh /.vm/command >/.vm/out 2>/.vm/err </dev/null
echo $? >/.vm/rc.part
$bb mv /.vm/rc.part /.vm/rc
$bb sync
$bb reboot -f
'''


def cpio(entries):
    """newc archive of (name, mode, data) (Documentation/driver-api/early-userspace/buffer-format.rst)."""
    out = bytearray()
    for ino, (name, mode, data) in enumerate(entries + [('TRAILER!!!', 0, b'')], 1):
        n = name.encode() + b'\0'
        out += ('070701' + ''.join('%08X' % v for v in (ino, mode, 0, 0, 1, 0, len(data), 0, 0, 5, 1, len(n), 0))).encode() + n
        out += b'\0' * (-len(out) % 4) + data
        out += b'\0' * (-len(out) % 4)
    return bytes(out)


def initrd(busybox, modules):
    e = [(d, 0o040755, b'') for d in ('bin', 'dev', 'ro', 'rw', 'new', 'm')]
    e += [('dev/console', 0o020600, b''), ('bin/busybox', 0o100755, open(busybox, 'rb').read()), ('init', 0o100755, INIT.encode())]
    for i, (path, data) in enumerate(module_order(modules) if modules else []):
        e.append(('m/%02d-%s' % (i, os.path.basename(path)), 0o100644, data))
    return cpio(e)


class Guest:
    def __init__(self, arch='amd64', kernel=None, root=None, mem=2048, timeout=None, console=None, smp=2, share=(), release=None, side_by_side=False):
        self.share = [os.path.realpath(d) for d in share]
        self.arch, self.kernel, self.modules, self.mem, self.timeout, self.console, self.smp = arch, kernel, None, mem, timeout, console, smp
        self.threads = 'multi' if side_by_side else 'single'  # single: the processors take turns; else code that is patched may be run as it was (HACKING.md)
        self.qemu = shutil.which('qemu-system-' + QEMU[arch])
        if not self.qemu:
            raise Missing('no qemu-system for %s (scripts/deps.sh vm)' % arch)
        if not kernel:
            self.kernel, self.modules = fetch_kernel(arch, release or FIRST_RELEASE.get(arch))
        elif not os.path.exists(kernel):
            raise Missing('no kernel %s' % kernel)
        self.root = root or ('/' if arch == 'amd64' else fetch_root(arch))
        self.busybox = self.root.rstrip('/') + ('/bin/busybox' if arch == 'arm64' else '/usr/bin/busybox')
        if not os.path.exists(self.busybox):
            raise Missing('no busybox-static (scripts/deps.sh vm)')

    def args(self, tmp):
        x86 = self.arch == 'amd64'
        cpu = {'amd64': 'max,la57=off', 'arm64': 'max,pauth-impdef=on,sve=off', 'riscv64': 'rv64'}[self.arch]
        app = ['console=%s' % ('ttyAMA0' if self.arch == 'arm64' else 'ttyS0'), 'panic=-1', 'mitigations=off', 'nokaslr', 'audit=0', 'loglevel=4',
               'random.trust_cpu=on', 'rcupdate.rcu_expedited=1', 'cryptomgr.notests', 'oops=panic']
        if x86:
            app += ['no_timer_check', 'reboot=t', 'tsc=reliable']
        def p9(tag, path, ro=True):
            return ['-fsdev', 'local,id=%s,path=%s,security_model=none,multidevs=remap%s' % (tag, path, ',readonly=on' if ro else ''),
                    '-device', 'virtio-9p-pci,fsdev=%s,mount_tag=%s' % (tag, tag)]
        a = [self.qemu, '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot', '-M', 'pc' if x86 else 'virt',
             '-accel', 'tcg,thread=' + self.threads, '-cpu', cpu, '-m', str(self.mem), '-smp', str(self.smp),
             '-rtc', 'base=utc,clock=host', '-kernel', plain_kernel(self.kernel, self.arch, tmp), '-initrd', os.path.join(tmp, 'initrd'),
             '-append', ' '.join(app), '-serial', 'file:' + (self.console or os.path.join(tmp, 'console')), '-monitor', 'none']
        a += p9('root', self.root) + p9('vm', os.path.join(tmp, 'vm'), False)
        if self.modules:
            a += p9('modules', self.modules)
        for i, d in enumerate(self.share):
            a += p9('share%d' % i, d)
        return a

    def run(self, command, on_out=None, on_err=None, cwd=None):
        """Boots, runs the shell command, hands its output on as it comes (bytes). Returns the exit status."""
        on_out = on_out or sys.stdout.buffer.write
        on_err = on_err or sys.stderr.buffer.write
        tmp = tempfile.mkdtemp(prefix='sonde-vm.')
        vm = os.path.join(tmp, 'vm')
        os.makedirs(vm + ('/modules' if self.modules else ''))
        shutil.copy(self.busybox, vm + '/busybox')
        shares = ''.join('$bb mkdir -p {1}; $bb mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose share{0} {1}\n'.format(
            i, shlex.quote(d)) for i, d in enumerate(self.share))
        for name, text in (('init', INIT2), ('shares', shares), ('command', command + '\n'), ('cwd', 'cd %s 2>/dev/null\n' % shlex.quote(cwd or os.getcwd())),
                           ('out', ''), ('err', '')):
            with open(os.path.join(vm, name), 'w') as f:
                f.write(text)
        with open(os.path.join(tmp, 'initrd'), 'wb') as f:
            f.write(initrd(self.busybox, self.modules))
        streams = [(open(vm + '/out', 'rb'), on_out), (open(vm + '/err', 'rb'), on_err)]
        log = open(os.path.join(tmp, 'qemu'), 'w+')
        p = subprocess.Popen(self.args(tmp), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + self.timeout if self.timeout else None
        rc = None
        try:
            while True:
                over = p.poll() is not None or os.path.exists(vm + '/rc')
                for f, sink in streams:
                    data = f.read()
                    if data:
                        sink(data)
                        sys.stdout.flush()
                if over:
                    break
                if end and time.monotonic() > end:
                    rc = 124
                    break
                time.sleep(0.05)
            if rc is None:
                try:
                    rc = int(open(vm + '/rc').read())
                except (OSError, ValueError):
                    rc = 125
                    log.seek(0)
                    console = self.console or os.path.join(tmp, 'console')
                    text = open(console, errors='replace').read() if os.path.exists(console) else ''
                    on_err(('vm.py: the guest ended without a status; qemu and console say:\n%s%s\n' % (log.read()[-1000:], text[-1500:])).encode())
        finally:
            p.kill()
            p.wait()
            shutil.rmtree(tmp, ignore_errors=True)
        return rc


def main():
    p = argparse.ArgumentParser(usage=__doc__.split('\n\n')[1])
    p.add_argument('--arch', default='amd64', choices=list(QEMU))
    p.add_argument('--fetch', action='store_true')
    p.add_argument('--tree', action='store_true')
    p.add_argument('--release')
    p.add_argument('--side-by-side', action='store_true')
    p.add_argument('--share', action='append', default=[])
    for name, kind in (('kernel', str), ('root', str), ('console', str), ('timeout', float), ('mem', int), ('smp', int)):
        p.add_argument('--' + name, type=kind, default={'mem': 2048, 'smp': 2}.get(name))
    p.add_argument('command', nargs='*')
    o = p.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the guest ends with us
    try:
        if o.tree:
            print(fetch_root(o.arch))
            return 0
        g = Guest(o.arch, o.kernel, o.root, o.mem, o.timeout, o.console, o.smp, o.share, o.release, o.side_by_side)
        if o.fetch:
            print(g.kernel)
            return 0
        rc = g.run(o.command[0] if len(o.command) == 1 else ' '.join(map(shlex.quote, o.command)))
    except (Missing, subprocess.SubprocessError) as e:
        print('vm.py: %s' % e, file=sys.stderr)
        return 125
    if rc == 124:
        print('vm.py: time ran out', file=sys.stderr)
    return rc


if __name__ == '__main__':
    sys.exit(main())
