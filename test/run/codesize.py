#!/usr/bin/env python3
"""Instructions of the tools' programs, without the runtime's functions, are as many as they were when C printed the scripts, or fewer.
But for 2 to 13: names of threads are zero to their end wherever they are kept, or equal ones would be different keys (6.1 leaves what is behind the NUL).

In: sonde. Out: a line for each program that has become longer, then how many were compared. The numbers are of a kernel with all features that sonde
looks for (6.18, amd64); options decide at compile time, so each line is one combination of them.
"""
import re
import subprocess
import sys

WAS = [  # tool and options, then each program in the order of attaching
    ('profile', [87]),
    ('profile -p 185 -K', [85]),
    ('profile -e software:faults -u --comm "a*"', [116]),
    ('profile --depth 5 --per-thread -c 100000', [86]),
    ('profile -L 7,8 -k -F 99', [101]),
    ('offcputime', [9, 259, 705, 59, 141, 218]),
    ('offcputime -p 185 -K', [9, 262, 679, 59, 144, 212]),
    ('offcputime -f -U', [9, 251, 451, 118, 213]),
    ('offcputime --by=runq -u', [9, 271, 535, 59, 150, 218]),
    ('offcputime --state 2 -k -K', [9, 263, 688, 59, 212]),
    ('offcputime --check', [9, 414, 743, 59, 217, 467]),
    ('offcputime -i 1 -I', [9, 239, 725, 59, 121, 237, 307]),
    ('offcputime --complete off -m 1000 -M 100000', [9, 413, 59, 83]),
    ('offcputime --by=preempted -t 5,6 --per-thread', [9, 284, 502, 59, 218]),
    ('wakeuptime', [5, 62, 129, 57]),
    ('wakeuptime -p 185 -i 1', [63, 65, 151, 194, 251]),
    ('wakeuptime -u -m 1000 -M 5000 --depth 4', [5, 71, 133, 57]),
    ('offwaketime', [5, 203, 80, 214, 70]),
    ('offwaketime -p 185 -i 1 -K', [5, 208, 75, 223, 212, 269]),
    ('offwaketime --chain 4 -U', [5, 195, 192, 236, 95]),
    ('offwaketime -u --state 1 -m 10', [5, 215, 80, 226, 70]),
    ('offwaketime --per-thread -t 5 --chain 2 -i 1', [5, 215, 118, 255, 247, 317]),
    ('stackcount t:sched:sched_switch', [74]),
    ('stackcount -K -c 0 t:sched:sched_switch', [74]),
    ('stackcount -U -f -u t:sched:sched_switch', [66]),
]

longer = 0
for options, was in WAS:
    out = subprocess.run(f'{sys.argv[1]} {options} --dump emit', shell=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
    now = [len(re.findall(r'^\s*\d+:', p, re.M)) for p in re.split(r'^; .*: emit$', out, flags=re.M)[1:]]
    if len(now) != len(was) or any(n > w for n, w in zip(now, was)):
        print(options, 'had', was, 'has', now)
        longer += 1
print(len(WAS), 'compared,', longer, 'longer')
