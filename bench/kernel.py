"""Cost of BPF programs by the kernel's own account (bpf(2), kernel.bpf_stats_enabled)."""
import contextlib, ctypes, os, platform, re, struct, time

_libc = ctypes.CDLL(None, use_errno=True)
_NR = {'x86_64': 321, 'aarch64': 280}[platform.machine()]
_GET_FD_BY_ID, _GET_INFO, _ENABLE_STATS = 13, 15, 32
STATS = '/proc/sys/kernel/bpf_stats_enabled'


def _bpf(cmd, attr):
    return _libc.syscall(_NR, cmd, ctypes.create_string_buffer(attr + bytes(128 - len(attr)), 128), 128)


@contextlib.contextmanager
def counting():
    """Run times are counted meanwhile, whatever others write to STATS."""
    fd = _bpf(_ENABLE_STATS, struct.pack('I', 0))
    try:
        yield
    finally:
        if fd >= 0:
            os.close(fd)


class Prog:
    """A loaded program, held open."""

    def __init__(self, fd):
        self.fd = fd
        self.info = ctypes.create_string_buffer(256)

    # struct bpf_prog_info (linux/bpf.h): u64 run_time_ns at 192, run_cnt at 200
    def read(self):
        ctypes.memset(self.info, 0, 256)  # what is in it would be taken for requests
        if _bpf(_GET_INFO, struct.pack('IIQ', self.fd, 256, ctypes.addressof(self.info))):
            return 0, 0
        return struct.unpack_from('QQ', self.info.raw, 192)

    def instructions(self):
        """How many there are after the verifier has put in its own and taken out what is never reached."""
        ctypes.memset(self.info, 0, 256)
        if _bpf(_GET_INFO, struct.pack('IIQ', self.fd, 256, ctypes.addressof(self.info))):
            return None
        return struct.unpack_from('I', self.info.raw, 20)[0] // 8  # xlated_prog_len

    def close(self):
        os.close(self.fd)


def programs(pid):
    """Those a process holds, as descriptors of programs or of their links."""
    ids = set()
    with contextlib.suppress(OSError):
        for fd in os.listdir('/proc/%d/fdinfo' % pid):
            with contextlib.suppress(OSError):
                ids.update(int(i) for i in re.findall(r'prog_id:\s+(\d+)', open('/proc/%d/fdinfo/%s' % (pid, fd)).read()))
    fds = [_bpf(_GET_FD_BY_ID, struct.pack('II', i, 0)) for i in ids]
    return [Prog(fd) for fd in fds if fd >= 0]


def busiest(pid, seconds, often=1000):
    """The program of the process that runs most; waits until one runs often, in 0.1 s. None: none does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        progs = programs(pid)
        first = [p.read()[1] for p in progs]
        time.sleep(0.1)
        runs = [(p.read()[1] - n, i) for i, (p, n) in enumerate(zip(progs, first))]
        most, at = max(runs, default=(0, 0))
        for i, p in enumerate(progs):
            if most < often or i != at:
                p.close()
        if most >= often:
            return progs[at]
    return None


def costs(progs, seconds):
    """ns a run of each: the best of short times, as others use the machine too. None: it does not run."""
    best, last = [None] * len(progs), [p.read() if p else (0, 0) for p in progs]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.02)
        for i, p in enumerate(progs):
            now = p.read() if p else (0, 0)
            if now[1] - last[i][1] >= 100:
                v = (now[0] - last[i][0]) / (now[1] - last[i][1])
                best[i] = v if best[i] is None else min(best[i], v)
                last[i] = now
    return best
