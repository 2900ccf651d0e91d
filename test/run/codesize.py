#!/usr/bin/env python3
"""Instructions of the tools' programs, without the runtime's functions, are as many as they were when C printed the scripts, or fewer.

In: sonde. Out: a line for each program that has become longer, then how many were compared. The numbers are of a kernel with all features that sonde
looks for (6.18, amd64); options decide at compile time, so each line is one combination of them.
"""
import re
import subprocess
import sys

WAS = [  # tool and options, then each program in the order of attaching
    ('profile', [87]),
    ('profile -p 185 -K', [85]),
    ('profile -e software:faults -u --comm "a*"', [114]),
    ('profile --depth 5 --per-thread -c 100000', [86]),
    ('profile -L 7,8 -k -F 99', [101]),
    ('offcputime', [9, 255, 703, 59, 139, 218]),
    ('offcputime -p 185 -K', [9, 258, 677, 59, 142, 212]),
    ('offcputime -f -U', [9, 247, 449, 116, 213]),
    ('offcputime --by=runq -u', [9, 267, 533, 59, 148, 218]),
    ('offcputime --state 2 -k -K', [9, 259, 686, 59, 212]),
    ('offcputime --check', [9, 406, 739, 59, 213, 467]),
    ('offcputime -i 1 -I', [9, 235, 723, 59, 119, 237, 307]),
    ('offcputime --complete off -m 1000 -M 100000', [9, 406, 59, 83]),
    ('offcputime --by=preempted -t 5,6 --per-thread', [9, 280, 500, 59, 218]),
    ('wakeuptime', [5, 60, 129, 57]),
    ('wakeuptime -p 185 -i 1', [61, 63, 151, 194, 251]),
    ('wakeuptime -u -m 1000 -M 5000 --depth 4', [5, 69, 133, 57]),
    ('offwaketime', [5, 199, 76, 212, 70]),
    ('offwaketime -p 185 -i 1 -K', [5, 204, 71, 221, 212, 269]),
    ('offwaketime --chain 4 -U', [5, 193, 163, 235, 109]),
    ('offwaketime -u --state 1 -m 10', [5, 211, 76, 224, 70]),
    ('offwaketime --per-thread -t 5 --chain 2 -i 1', [5, 211, 111, 253, 247, 317]),
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
