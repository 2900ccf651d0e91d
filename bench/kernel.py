"""Cost of BPF programs by the kernel's own account (bpf(2), kernel.bpf_stats_enabled)."""
import ctypes, os, platform, struct, time

_libc = ctypes.CDLL(None, use_errno=True)
_NR = {'x86_64': 321, 'aarch64': 280}[platform.machine()]
_GET_NEXT_ID, _GET_FD_BY_ID, _GET_INFO = 11, 13, 15
STATS = '/proc/sys/kernel/bpf_stats_enabled'


def _bpf(cmd, attr):
    buf = ctypes.create_string_buffer(attr + bytes(128 - len(attr)), 128)
    return _libc.syscall(_NR, cmd, buf, 128), buf.raw


class Prog:
    """A loaded program, held open: nothing else may be counted under its id."""

    def __init__(self, fd):
        self.fd = fd
        self.info = ctypes.create_string_buffer(256)

    # struct bpf_prog_info (linux/bpf.h): u32 type, id; u8 tag[8]; ... char name[16] at 64; u64 run_time_ns at 192, run_cnt at 200
    def read(self):
        ctypes.memset(self.info, 0, 256)  # what is in it would be taken for requests
        attr = struct.pack('IIQ', self.fd, 256, ctypes.addressof(self.info))
        if _bpf(_GET_INFO, attr)[0]:
            return 0, 0
        return struct.unpack_from('QQ', self.info.raw, 192)

    def close(self):
        os.close(self.fd)


def programs():
    found, at = {}, 0
    while True:
        rc, raw = _bpf(_GET_NEXT_ID, struct.pack('II', at, 0))
        if rc:
            return found
        at = struct.unpack_from('I', raw, 4)[0]
        fd = _bpf(_GET_FD_BY_ID, struct.pack('II', at, 0))[0]
        if fd >= 0:
            found[at] = Prog(fd)


def busiest(before, seconds):
    """The program, new since `before`, that runs most; waits until one runs often. None: none does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        progs = {i: p for i, p in programs().items() if i not in before}
        first = {i: p.read()[1] for i, p in progs.items()}
        time.sleep(0.1)
        runs = {i: p.read()[1] - first[i] for i, p in progs.items()}
        most = max(runs, key=runs.get, default=None)
        for i, p in progs.items():
            if i != most or runs[i] < 2000:
                p.close()
        if most is not None and runs[most] >= 2000:
            return progs[most]
    return None


def cost(seconds, before):
    """ns a run of that program: the best of short times, as others use the machine too."""
    p = busiest(before, 20)
    if not p:
        return None
    best, last = None, p.read()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)
        now = p.read()
        if now[1] - last[1] >= 200:
            v = (now[0] - last[0]) / (now[1] - last[1])
            best = v if best is None else min(best, v)
        last = now
    p.close()
    return best
