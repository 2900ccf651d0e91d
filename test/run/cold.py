"""cold.py FILE: opens a path that lies in a page of FILE nobody has touched, the null pointer, and a path in memory: what a tracer sees of cold strings."""
import ctypes, mmap, os, sys

with open(sys.argv[1], 'w') as f:
    f.write('/etc/cold\0'.ljust(4096, '\0'))
m = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 4096, mmap.MAP_PRIVATE)
libc = ctypes.CDLL(None)
libc.mkdirat(-100, ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(m))), 0)
libc.mkdirat(-100, ctypes.c_void_p(0), 0)
libc.mkdirat(-100, b'/dev/null', 0)
