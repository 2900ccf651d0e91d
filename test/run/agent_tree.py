#!/usr/bin/env python3
"""agent_tree.py SONDE WAITS [alone]: `sonde agent` in a container of its own (mount namespace, pivot_root, the host's process ids, as deploy/daemonset.yaml has it) beside
processes in other "containers": namespaces, a root with its own C library, a cgroup as Docker, containerd (Kubernetes) and Podman make it, and their state files.
Prints whether what arrives, by OTLP and by Pyroscope's form, is labelled with container and pod, and named. alone: SONDE is a static program, and its root (deploy/Containerfile's)
holds nothing but it and certificates; it sends by HTTP, by HTTPS to a server that the image's certificates know, and finds a name in the DNS. As root."""
import ctypes, json, os, shutil, signal, socket, ssl, struct, subprocess, sys, threading

HERE = os.path.dirname(os.path.abspath(__file__))
ARGS, sys.argv[1:] = sys.argv[1:], sys.argv[1:3] + ['none']
sys.path.insert(0, HERE)
from agent import Server, end, free_port, otlp, until  # its main does nothing when asked for none

SONDE, WAITS = os.path.abspath(ARGS[0]), os.path.abspath(ARGS[1])
ALONE = ARGS[2:] == ['alone']
IDS = {'docker': 'd0' * 32, 'cri': 'c1' * 32, 'podman': 'b2' * 32}
libc = ctypes.CDLL(None, use_errno=True)
MS_BIND, MS_REC, MS_PRIVATE, MS_RDONLY = 4096, 16384, 1 << 18, 1
CLONE_NEWNS, MNT_DETACH, SYS_PIVOT_ROOT = 0x20000, 2, {'x86_64': 155, 'aarch64': 41}[os.uname().machine]


def sys_ok(r, what):
    if r:
        raise OSError(ctypes.get_errno(), what)


def mount(source, target, flags, kind=None):
    sys_ok(libc.mount(source.encode(), target.encode(), kind and kind.encode(), ctypes.c_ulong(flags), None), 'mount ' + target)


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, 'w').write(data if isinstance(data, str) else json.dumps(data))


# ---- the other containers

def cgroup2():
    return next(l.split()[1] for l in open('/proc/mounts') if l.split()[2] == 'cgroup2')


def small_root(path):
    """WAITS and what it is linked with."""
    os.makedirs(path + '/proc')
    files = [WAITS] + [w for l in subprocess.run(['ldd', WAITS], stdout=subprocess.PIPE, text=True).stdout.splitlines() for w in l.split() if w.startswith('/')]
    for f in files:
        to = path + (f if f != WAITS else '/app')
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy(f, to)


def container(top, where, number):
    group, root = os.path.join(top, where), os.path.abspath('c%d' % number)
    os.makedirs(group)
    small_root(root)

    def enter():
        open(group + '/cgroup.procs', 'w').write('0')
        os.setsid()
    return subprocess.Popen(['unshare', '--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child', 'chroot', root, '/app', 'spin', '60000', 'c%d' % number], preexec_fn=enter)


def state_files(root):
    """What the runtimes keep of them, below the agent's root, where the DaemonSet mounts them."""
    write(root + '/var/lib/docker/containers/%s/config.v2.json' % IDS['docker'], {'ID': IDS['docker'], 'Name': '/web'})
    write(root + '/run/containerd/io.containerd.runtime.v2.task/k8s.io/%s/config.json' % IDS['cri'], {'ociVersion': '1.0', 'annotations': {
        'io.kubernetes.cri.sandbox-name': 'api-7d9f', 'io.kubernetes.cri.sandbox-namespace': 'prod', 'io.kubernetes.cri.container-name': 'app'}})
    write(root + '/var/lib/containers/storage/overlay-containers/containers.json', [{'id': IDS['podman'], 'names': ['jobs']}])


# ---- the agent's

def agent(root, args):
    err = open('err', 'a')

    def enter():
        sys_ok(libc.unshare(CLONE_NEWNS), 'unshare')
        mount('none', '/', MS_REC | MS_PRIVATE)
        mount(root, root, MS_BIND)
        for d in ['/sys', '/proc'] + ([] if ALONE else ['/usr', '/lib', '/lib64', '/bin', '/dev'] + [os.path.dirname(SONDE)]):
            if os.path.islink(d):
                os.path.lexists(root + d) or os.symlink(os.readlink(d), root + d)
            elif os.path.isdir(d):
                os.makedirs(root + d, exist_ok=True)
                mount(d, root + d, MS_BIND | MS_REC)
        os.chdir(root)
        os.makedirs('old', exist_ok=True)
        sys_ok(libc.syscall(SYS_PIVOT_ROOT, b'.', b'old'), 'pivot_root')
        os.chdir('/')
        sys_ok(libc.umount2(b'/old', MNT_DETACH), 'umount')
    return subprocess.Popen(['/sonde' if ALONE else SONDE, 'agent', *args], preexec_fn=enter, stderr=err, stdout=subprocess.DEVNULL, env={})


class Dns:
    """Answers every question with 127.0.0.1 (RFC 1035)."""

    def __init__(self):
        self.s, self.asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0
        self.s.bind(('127.0.0.77', 53))
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            q, who = self.s.recvfrom(512)
            end = q.index(b'\0', 12) + 5
            v4 = q[end - 4:end - 2] == b'\0\1'
            answer = b'\xc0\x0c\0\1\0\1' + struct.pack('>IH', 60, 4) + socket.inet_aton('127.0.0.1') if v4 else b''
            self.asked += 1
            self.s.sendto(q[:2] + b'\x81\x80' + q[4:6] + (b'\0\1' if v4 else b'\0\0') + b'\0' * 4 + q[12:end] + answer, who)


def image(root):
    os.makedirs(root + '/tmp')
    if ALONE:
        shutil.copy(SONDE, root + '/sonde')
        subprocess.run(('openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -days 2 -subj /CN=collector.example -addext subjectAltName=DNS:collector.example').split(),
                       check=True, stderr=subprocess.DEVNULL)
        write(root + '/etc/ssl/certs/ca-certificates.crt', open('c.pem').read())
        write(root + '/etc/resolv.conf', 'nameserver 127.0.0.77\n')
        print('in the image: ' + ' '.join(sorted(os.path.relpath(os.path.join(d, f), root) for d, _, files in os.walk(root) for f in files)))


def otlp_labels(got):
    out, spins = {}, {}
    for path, _, _, body in got:
        if path != '/v1development/profiles':
            continue
        for attrs, p, samples in otlp.read(body)[1]:
            if 'container.id' in attrs:
                who = {k: v for k, v in attrs.items() if k.startswith(('k8s.', 'container.', 'service.'))}
                out[attrs['container.id']] = who
                for v, stack, _ in samples:
                    have = any(n == 'spin_here' for loc in stack for n in loc)
                    a, b = spins.get(attrs['container.id'], (0, 0))
                    spins[attrs['container.id']] = (a + v * have, b + v)
    return out, spins


def removed(folder):
    """A process that has been reaped may hold its cgroup for a moment."""
    try:
        os.rmdir(folder)
    except OSError:
        return False
    return True


def main():
    top = os.path.join(cgroup2(), 'sonde-tree-%d' % os.getpid())
    root = os.path.abspath('root')
    image(root)
    places = {'docker': 'system.slice/docker-%s.scope' % IDS['docker'], 'podman': 'machine.slice/libpod-%s.scope' % IDS['podman'],
              'cri': 'kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod11.slice/cri-containerd-%s.scope' % IDS['cri']}
    apps = [container(top, where, i) for i, where in enumerate(places.values())]
    try:
        state_files(root)
        s, to = Server(), []
        if ALONE:
            c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            c.load_cert_chain('c.pem', 'k.pem')
            tls, dns = Server(tls=c), Dns()
            to = ['--otlp', 'https://collector.example:%d' % tls.port, '--otlp', 'https://localhost:%d' % tls.port]
        a = agent(root, ['--otlp', 'http://127.0.0.1:%d' % s.port, '--pyroscope', 'http://127.0.0.1:%d' % s.port, *to, '-i', '2', '-F', '49', '--max-cpu', '50', '--max-memory', '500', '--spool', '/tmp/spool'])
        names = lambda: {g[1]['name'][0] for g in s.got if g[0] == '/ingest'}
        print('came', until(lambda: len(otlp_labels(s.got)[0]) >= 3 and len([n for n in names() if 'container_id' in n]) >= 3, 60))
        if ALONE:
            print('by HTTPS', until(lambda: len(tls.got) >= 2, 30), 'asked the DNS', dns.asked > 0)
            err = open('err').read()
            print('another name refused', 'WARNING: https://localhost' in err, all(g[2]['Host'].startswith('collector.example') for g in tls.got))
        print('ends', end(a))
        labels, spins = otlp_labels(s.got)
        for k in sorted(IDS):
            who = labels.get(IDS[k], {})
            n = spins.get(IDS[k], (0, 0))
            print(k, {x: v for x, v in sorted(who.items()) if x != 'container.id'}, 'named', n[0] > 0.7 * n[1] > 0,  # its table is built when it is first seen, beside other tests
                  sorted({x.split('{')[0] for x in names() if 'container_id=' + IDS[k] in x}))
    finally:
        for p in apps:
            p.send_signal(signal.SIGKILL)
            p.wait()
        open(top + '/cgroup.kill', 'w').write('1')
        for d, _, _ in os.walk(top, topdown=False):
            until(lambda: removed(d), 5)


main()
