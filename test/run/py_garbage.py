#!/usr/bin/env python3
"""A copy of a Python's library that says nonsense of its own structures. usage: py_garbage.py PYTHON FOLDER: its libpython into FOLDER; behind mark, version and
kind of lock each word of _Py_DebugOffsets becomes another one."""
import os
import re
import subprocess
import sys

python, folder = sys.argv[1:3]
lib = next(line.split()[2] for line in subprocess.run(['ldd', os.path.realpath(python)], stdout=subprocess.PIPE, text=True, check=True).stdout.split('\n') if 'libpython' in line)
data = bytearray(open(lib, 'rb').read())
at = [m.start() for m in re.finditer(b'xdebugpy', bytes(data)) if m.start() % 8 == 0 and data[m.start() + 11] == 3]  # Py_Version
assert len(at) == 1, at
for i in range(24, 584):
    data[at[0] + i] ^= 0x5a
os.makedirs(folder)
with open(os.path.join(folder, os.path.basename(lib)), 'wb') as f:
    f.write(data)
