# Python programs: their functions in the place of the interpreter's loops, in any probe. What is right is what the interpreter says of its own stack
# (py_stack.py), frame by frame: function, file and line.

FILE TOGETHER python

NAME python: calls, methods, callbacks from C, generators, coroutines, eval, names in other alphabets
NEED file:/usr/bin/python3.11
RUN {sonde} -q --why-incomplete -c '/usr/bin/python3.11 {top}/test/run/py_stack.py want calls' -e 'tracepoint:syscalls:sys_enter_getppid /comm == "python3.11"/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 3 o
EXPECT_LINE 10 stacks of 58 frames, 10 equal
EXPECT_LINE 10 user stacks, 10 whole (100.00 %)

NAME python: threads
NEED file:/usr/bin/python3.11
RUN {sonde} -q --why-incomplete -c '/usr/bin/python3.11 {top}/test/run/py_stack.py want threads' -e 'tracepoint:syscalls:sys_enter_getppid /comm == "python3.11"/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 3 o
EXPECT_LINE 20 stacks of 136 frames, 20 equal
EXPECT_LINE 20 user stacks, 20 whole (100.00 %)

NAME python: forked workers
NEED file:/usr/bin/python3.11
RUN {sonde} -q --why-incomplete -c '/usr/bin/python3.11 {top}/test/run/py_stack.py want fork' -e 'tracepoint:syscalls:sys_enter_getppid /comm == "python3.11"/ { printf("%s\n", ustack); @[ustack] = count() }' >o 2>&1; grep -c '^]: 3$' o; sed -i '/^@/,$d' o; python3 {top}/test/run/py_same.py want o
EXPECT_LINE 1
EXPECT_LINE 3 stacks of 12 frames, 3 equal

NAME python: several interpreters in a program in C, as in mod_wsgi: the one at work, on two threads
NEED file:/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0
RUN export PYTHONPATH={top}/test/run PYTHONDONTWRITEBYTECODE=1 WANT=want; h="{build}/pyhost /usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0"; $h 'import time; print(flush=True); time.sleep(600)' >up & while ! test -s up; do sleep 0.1; done; echo 'import py_interps; py_interps.by_host()' >code; echo "exec $h \"\$(cat code)\"" >run.sh; {sonde} -q --why-incomplete --dwarf-pid $! -c 'sh run.sh' -e 'tracepoint:syscalls:sys_enter_getppid /comm == "pyhost"/ { printf("%s\n", ustack) }' >o 2>&1; kill $!; python3 {top}/test/run/py_same.py want o; tail -n 1 o
EXPECT_LINE 4 stacks of 12 frames, 4 equal
EXPECT_LINE 4 user stacks, 4 whole (100.00 %)

NAME python: 3.8 to 3.13: interpreters in one another, at work and asleep
LONG
NEED cmd:pyenv
RUN export PYTHONDONTWRITEBYTECODE=1; for v in 3.8 3.9 3.10 3.11 3.12 3.13; do for p in $(ls -d $(pyenv root)/versions/$v.*/bin/python3 2>/dev/null | tail -n 1); do rm -f up want; $p {top}/test/run/py_interps.py up 2 asleep & until [ -e up ]; do sleep 0.1; done; sleep 0.2; {sonde} -q --why-incomplete -e "iter:task /ctx.task.pid == $!/ { printf(\"%s\n\", ustack) }" >o 2>&1; python3 {top}/test/run/py_same.py up o; grep 'whole (' o; {sonde} -q --why-incomplete --dwarf-pid $! -c "$p {top}/test/run/py_interps.py want 2" -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; kill $!; python3 {top}/test/run/py_same.py want o; grep 'whole (' o; done; done | sort | uniq -c | sed 's/^ *//'
TIMEOUT 60
EXPECT_RE \A(\d+) 1 stacks of 7 frames, 1 equal\n\1 1 user stacks, 1 whole \(100.00 %\)\n\Z

NAME python: a deep recursion, in pieces
NEED file:/usr/bin/python3.11
RUN {sonde} -q --why-incomplete -c '/usr/bin/python3.11 {top}/test/run/py_stack.py want deep 3000' -e 'tracepoint:syscalls:sys_enter_getppid /comm == "python3.11"/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 3 o
EXPECT_LINE 1 stacks of 3004 frames, 1 equal
EXPECT_LINE 1 user stacks, 1 whole (100.00 %)

# What waits is what the tasks say themselves (py_async.py). One of them sleeps: so the tables of what it imports are there when tracing begins.
NAME python: tasks of asyncio that wait for the one that runs
NEED file:/usr/bin/python3.11
RUN p="/usr/bin/python3.11 {top}/test/run/py_async.py"; $p up 0 & until [ -e up ]; do sleep 0.1; done; {sonde} -q --why-incomplete --dwarf-pid $! -c "$p want 300" -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { printf("%s\n", ustack(async)) }' >o 2>&1; kill $!; python3 {top}/test/run/py_same.py want o; tail -n 3 o
EXPECT_RE ^300 stacks of \d+ frames, 300 equal
EXPECT_LINE 300 user stacks, 300 whole (100.00 %)

NAME python: tasks that wait for one whose thread has given the GIL away
NEED file:/usr/bin/python3.11
RUN p="/usr/bin/python3.11 {top}/test/run/py_async.py"; $p up 0 & until [ -e up ]; do sleep 0.1; done; {sonde} -q --why-incomplete --dwarf-pid $! -c "$p want 60 fsync" -e 'tracepoint:syscalls:sys_enter_fsync /pid == cpid/ { printf("%s\n", ustack(async)) }' >o 2>&1; kill $!; python3 {top}/test/run/py_same.py want o; grep 'whole (' o
EXPECT_RE ^60 stacks of \d+ frames, 60 equal
EXPECT_LINE 60 user stacks, 60 whole (100.00 %)

NAME python: without being asked for them, no tasks that wait; --async asks, --native over it
NEED file:/usr/bin/python3.11
RUN p="/usr/bin/python3.11 {top}/test/run/py_async.py"; $p up 0 & until [ -e up ]; do sleep 0.1; done; for o in -q --async '--async --native'; do {sonde} -q $o --dwarf-pid $! -c "$p want 60" -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o | sed -n '1s/of .* frames/of frames/p'; grep -c 'everything+.*py_async' o; done; kill $!
EXPECT_RE ^60 stacks of frames, (\d|1\d) equal\n\d+\n60 stacks of frames, 60 equal\n(5\d|60)\n0 stacks of frames, -1 equal\n0$

NAME python: 3.11 to 3.14: tasks that wait
LONG
NEED cmd:pyenv
RUN for v in 3.11 3.12 3.13 3.14; do for p in $(ls -d $(pyenv root)/versions/$v.*/bin/python3 2>/dev/null | tail -n 1); do rm -f up; $p {top}/test/run/py_async.py up 0 & until [ -e up ]; do sleep 0.1; done; {sonde} -q --why-incomplete --dwarf-pid $! -c "$p {top}/test/run/py_async.py want 200" -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { printf("%s\n", ustack(async)) }' >o 2>&1; kill $!; python3 {top}/test/run/py_same.py want o | grep -q '^200 stacks of [0-9]* frames, 200 equal' && grep -q '(100.00 %)' o && echo right; done; done | sort | uniq -c; pyenv versions --bare | grep -c '^3\.1[1-4]'
TIMEOUT 60
EXPECT_RE ^\s+(\d+) right\n\1$

NAME python: tasks that wait, of an event loop in C (uvloop of Debian 13, where test/workload/runtimes.py --fetch has unpacked it)
LONG
NEED runtimes:trixie/usr/lib/python3/dist-packages/uvloop
NEED arch:x86_64
RUN r=${SONDE_RUNTIMES:-$HOME/.cache/sonde-runtimes}/trixie; export PYTHONPATH=$r/usr/lib/python3/dist-packages; p="$r/usr/lib64/ld-linux-x86-64.so.2 --library-path $r/usr/lib/x86_64-linux-gnu $r/usr/bin/python3.13 {top}/test/run/py_async.py"; $p up 0 uvloop & until [ -e up ]; do sleep 0.1; done; {sonde} -q --why-incomplete --dwarf-pid $! -c "$p want 60 uvloop" -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { printf("%s\n", ustack(async)) }' >o 2>&1; kill $!; python3 {top}/test/run/py_same.py want o; grep 'whole (' o
TIMEOUT 60
EXPECT_RE ^60 stacks of \d+ frames, 60 equal
EXPECT_LINE 60 user stacks, 60 whole (100.00 %)

# A greenlet's part of the C stack ends in inner_bootstrap(): what lies behind belongs to others. The first program sleeps, so the tables are there when tracing begins.
NAME python: greenlets, also native: nothing behind where they begin
NEED file:/usr/lib/python3/dist-packages/greenlet/__init__.py
RUN p=/usr/bin/python3.11; $p -c 'import greenlet,time; open("up", "w"); time.sleep(100)' & until [ -e up ]; do sleep 0.1; done; for u in ustack 'ustack(native)'; do {sonde} -q --why-incomplete --dwarf-pid $! -c "$p {top}/test/run/py_greenlets.py want" -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { printf("%s\n", '"$u"') }' >o 2>&1; python3 {top}/test/run/py_same.py want o; grep 'whole (' o; done; kill $!; grep -c inner_bootstrap o; grep -A 1 inner_bootstrap o | grep -c '[a-z]'
EXPECT_RE ^68 stacks of \d+ frames, 68 equal\n68 user stacks, 68 whole \(100.00 %\)\n0 stacks of 0 frames, -1 equal\n68 user stacks, 68 whole \(100.00 %\)\n30\n30$

NAME python: greenlets of 3.13 (Debian 13's, where test/workload/runtimes.py --fetch has unpacked them)
LONG
NEED runtimes:trixie/usr/lib/python3/dist-packages/greenlet
NEED arch:x86_64
RUN r=${SONDE_RUNTIMES:-$HOME/.cache/sonde-runtimes}/trixie; export PYTHONPATH=$r/usr/lib/python3/dist-packages; p="$r/usr/lib64/ld-linux-x86-64.so.2 --library-path $r/usr/lib/x86_64-linux-gnu $r/usr/bin/python3.13"; $p -c 'import greenlet,time; open("up", "w"); time.sleep(100)' & until [ -e up ]; do sleep 0.1; done; {sonde} -q --why-incomplete --dwarf-pid $! -c "$p {top}/test/run/py_greenlets.py want" -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; grep 'whole (' o; kill $!
TIMEOUT 60
EXPECT_LINE 68 user stacks, 68 whole (100.00 %)
EXPECT_RE ^68 stacks of \d+ frames, 68 equal

# The trampolines of -X perf lie in memory of no file: each stands for a function that is there already.
NAME python: 3.12 and later: the trampolines of -X perf are not shown beside the functions; native stacks go on through them
NEED cmd:pyenv
RUN for v in 3.12 3.13 3.14; do for p in $(ls -d $(pyenv root)/versions/$v.*/bin/python3 2>/dev/null | tail -n 1); do for u in ustack 'ustack(native)'; do rm -f want; {sonde} -q --why-incomplete -c "$p -X perf {top}/test/run/py_stack.py want calls" -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { printf("%s\n", '"$u"') }' >o 2>&1; python3 {top}/test/run/py_same.py want o | sed -n 1p; grep 'whole (' o; echo $(grep -c 'py::\| 0x' o); done; done; done | sort | uniq -c | sed 's/^ *[0-9]* \([0-9]\)$/\1/; s/^ *[1-9][0-9]* [1-9][0-9]*$/shown/; s/^ *[0-9]* //' | sort -u
TIMEOUT 60
EXPECT_RE ^(-1|0)\n0 stacks of 0 frames, -1 equal\n10 stacks of 58 frames, 10 equal\n10 user stacks, 10 whole \(100.00 %\)\nshown$

NAME python: 3.14: the same, whose trampolines keep frame pointers (Debian sid's, where test/workload/runtimes.py --fetch has unpacked it)
LONG
NEED runtimes:sid/usr/bin/python3.14
NEED arch:x86_64
RUN r=${SONDE_RUNTIMES:-$HOME/.cache/sonde-runtimes}/sid; {sonde} -q --why-incomplete -c "$r/usr/lib64/ld-linux-x86-64.so.2 --library-path $r/usr/lib/x86_64-linux-gnu $r/usr/bin/python3.14 -X perf {top}/test/run/py_stack.py want calls" -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; grep 'whole (' o; grep -c 'py::\| 0x' o; true
TIMEOUT 60
EXPECT_RE ^10 stacks of 58 frames, 10 equal\n10 user stacks, 10 whole \(100.00 %\)\n0$

# 3.13 says itself where it keeps things. A copy says nonsense: then the table does, and frames are as they were.
NAME python: 3.13 by its own description, and by the table where that makes no sense
NEED pyenv:3.13
RUN p=$(ls -d $(pyenv root)/versions/3.13.*/bin/python3 | tail -n 1); python3 {top}/test/run/py_garbage.py "$p" lib; for l in $(dirname $p)/../lib lib; do LD_LIBRARY_PATH=$l $p -c 'import time; print(flush=True); time.sleep(600)' >up & while ! test -s up; do sleep 0.1; done; u=$!; {sonde} info -p $u | grep offsets:; rm -f up want; {sonde} -q --why-incomplete --dwarf-pid $u -c "env LD_LIBRARY_PATH=$l $p {top}/test/run/py_stack.py want calls" -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; grep 'whole (' o; kill $u; done
TIMEOUT 60
EXPECT_RE \A    offsets: the interpreter's own description \(_Py_DebugOffsets\); the rest a table of releases in sonde\n10 stacks of (\d+) frames, 10 equal\n10 user stacks, 10 whole \(100\.00 %\)\n    offsets: a table of releases in sonde \(the interpreter's own description, _Py_DebugOffsets, makes no sense\)\n10 stacks of \1 frames, 10 equal\n10 user stacks, 10 whole \(100\.00 %\)\n\Z

# Other versions, where pyenv has them: each of these figures once for each version.
NAME python: 3.7 to 3.13: calls, threads, forked workers, a deep recursion
LONG
NEED cmd:pyenv
RUN for v in 3.7 3.8 3.9 3.10 3.11 3.12 3.13; do for p in $(ls -d $(pyenv root)/versions/$v.*/bin/python3 2>/dev/null | tail -n 1); do for w in calls threads fork 'deep 900'; do rm -f want; {sonde} -q --why-incomplete -c "$p {top}/test/run/py_stack.py want $w" -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid || ppid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o >r; grep -q '^10 stacks of 58 frames, 10 equal\|^20 stacks of 136 frames, 20 equal\|^3 stacks of 12 frames, 3 equal\|^1 stacks of 904 frames, 1 equal' r && grep -q '(100.00 %)' o && echo $w right || { echo $v $w; cat r; tail -n 4 o; }; done; done; done | sort | uniq -c; pyenv versions --bare | grep -c '^3\.[7-9]\|^3\.1[0-3]'
TIMEOUT 120
EXPECT_RE ^\s+(\d+) calls right\n\s+\1 deep 900 right\n\s+\1 fork right\n\s+\1 threads right\n\1$

# A thread that waits has given the GIL away.
NAME python: a thread that waits
NEED file:/usr/bin/python3.11
RUN {sonde} -q --why-incomplete -c "/usr/bin/python3.11 -c 'import threading, time; t = threading.Thread(target=lambda: time.sleep(0.3)); t.start(); t.join()'" -e 'tracepoint:sched:sched_switch /comm == "python3.11" && args.prev_state/ { @[ustack(16)] = count() }' 2>&1
EXPECT_RE ^\s+<lambda>\+\d+ \[<string>:1\]\n(\s+\S+\n)?\s+Thread\.run\+\d+ \[/usr/lib/python3\.11/threading\.py:\d+\]\n\s+Thread\._bootstrap_inner\+
EXPECT_RE ^\s+Thread\.join\+\d+ \[/usr/lib/python3\.11/threading\.py:\d+\]\n\s+<module>\+\d+ \[<string>:1\]$

# They slept before tracing began: iter:task, by the copy of the walker that reads other threads' memory.
NAME python: threads that slept before, 3.7 to 3.13
LONG
NEED copy_from_user_task
NEED cmd:pyenv
RUN for v in 3.7 3.8 3.9 3.10 3.11 3.12 3.13; do for p in $(ls -d $(pyenv root)/versions/$v.*/bin/python3 2>/dev/null); do rm -f want; $p {top}/test/run/py_stack.py want asleep & p=$!; until [ "$(grep -c '^$' want 2>/dev/null)" = 3 ]; do sleep 0.05; done; {sonde} -q --why-incomplete --dwarf-pid $p -e "iter:task { if (ctx.task.tgid == $p) { printf(\"%s\n\", ustack) } }" >o 2>&1; python3 {top}/test/run/py_same.py want o any >r; grep -q '^3 stacks of .* 3 equal' r && grep -q '(100.00 %)' o && echo right >>all || cat r o; kill $p; done; done; [ $(grep -c right all) -gt 1 ] && echo all of them
TIMEOUT 60
EXPECT_RE \Aall of them\n\Z

# Its table of lines is longer than what is copied of one: no line is said, not a wrong one. Two lines before its end it calls.
NAME python: a function of 3,000 lines has no line where that is not known
NEED file:/usr/bin/python3.11
RUN python3 -c 'print("import os\ndef big(n):\n" + "".join("    if n == %d: n = n + %d * (n - 1)\n" % (i + 10, i) for i in range(3000)) + "    os.getppid()\n    return n\ndef small():\n    os.getppid()\n    big(1)\nfor i in range(5): small()")' > big.py; {sonde} -q --lines -c '/usr/bin/python3.11 big.py' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' | grep 'big.py' | sed 's/+[0-9]*//; s/[^[]*big.py/big.py/2' | sort | uniq -c
TIMEOUT 60
EXPECT_RE ^ +1 +big \[\S*big.py\]$
EXPECT_RE ^ +1 +small \[\S*big.py:3006\]$
EXPECT_RE ^ +1 +small \[\S*big.py:3007\]$
EXPECT_RE ^ +2 +<module> \[\S*big.py:3008\]$

NAME python: offcputime shows the functions of a program that sleeps already
ALONE times
NEED copy_from_user_task
NEED file:/usr/bin/python3.11
RUN /usr/bin/python3.11 {top}/test/run/py_stack.py want asleep & until [ "$(grep -c '^$' want 2>/dev/null)" = 3 ]; do sleep 0.05; done; {sonde} offcputime -f -p $! 1 > out; grep -c ';main;asleep;in_sort;.*;in_sort.<locals>.<lambda>;in_sort;.*;sleep;.*;clock_nanosleep;' out || cat out; kill $!
EXPECT_LINE 1

NAME python: a program that lives 100 ms, of which nothing is known when it starts
FEW it must not end before its table is made
NEED file:/usr/bin/python3.11
RETRY 1 it may end while the table of its interpreter is made
RUN touch f; {sonde} -q -c 'sh -c "sleep 0.3; for i in 1 2 3; do /usr/bin/python3.11 {top}/test/run/py_stack.py f fsync; done"' -e 'tracepoint:syscalls:sys_enter_fsync { @[ustack] = count() }' 2>&1
EXPECT_RE ^\s+save_it\+\d+ \[\S+/py_stack\.py:\d+\]\n\s+main\+\d+ \[\S+/py_stack\.py:\d+\]\n\s+_PyFunction_Vectorcall\+\d+\n\s+<module>\+\d+ \[\S+/py_stack\.py:\d+\]$

NAME python: native stacks where they are asked for
NEED file:/usr/bin/python3.11
RUN for s in 'ustack(native)' ustack; do {sonde} -q -f json -c '/usr/bin/python3.11 {top}/test/run/py_stack.py want calls' -e 'config = { language_frames = '$(test $s = ustack && echo off || echo on)' } tracepoint:syscalls:sys_enter_getppid /comm == "python3.11"/ { @['$s'] = count() }' >j$s 2>&1; done; cmp j* && grep -c 'PyEval_EvalCode' justack; grep -c 'py_stack\|Base' justack; true
EXPECT_LINE 1
EXPECT_LINE 0

NAME python: a limit counts what is shown, addresses are of code
NEED file:/usr/bin/python3.11
RUN {sonde} -q -c '/usr/bin/python3.11 {top}/test/run/py_stack.py want deep 3' -e 'tracepoint:syscalls:sys_enter_getppid /comm == "python3.11"/ { printf("%s\n", ustack(6)); printf("%s\n", ustack(perf, 5)); @[ustack(raw, 5)] = 1; @n = len(ustack(perf)) - len(ustack) }' 2>&1
EXPECT_RE \+\d+\n\s+ask\+\d+ \[\S+:\d+\]\n\s+down\+\d+ \[\S+:\d+\]\n\n
EXPECT_RE ^\s+0 ask\+\d+ \(\S+/py_stack\.py:\d+\)\n\n
EXPECT_RE ^@\[\n([0-9a-f]+\n){5}\]: 1$
EXPECT_LINE @n: 0

NAME python: profiles name functions, files are beside them
FEW samples
NEED file:/usr/bin/python3.11
RETRY 2 samples
RUN printf 'def busy():\n t = 0\n while t >= 0: t += 1\nbusy()\n' >busy.py; /usr/bin/python3.11 busy.py & {sonde} profile -F 499 --pprof p.gz -f -p $! 1 2>&1 | grep -o '^python3.11;_start;.*;<module>;busy' | head -n 1; gunzip -c p.gz | grep -ac 'busy.py'; kill $!
EXPECT_RE ^python3\.11;_start;.*;PyEval_EvalCode;<module>;busy$
EXPECT_RE ^[1-9]

NAME python: each form of a profile tells the language; lines where they are asked for
FEW samples
NEED file:/usr/bin/python3.11
RETRY 2 samples
RUN printf 'def busy():\n t = 0\n while t >= 0:\n  t = t + 1\n  t = t %% 1000\nbusy()\n' >busy.py; /usr/bin/python3.11 busy.py & {sonde} profile -F 499 -a -f --pprof p.gz --speedscope s.json --flame f.svg --html h.html -p $! 1 >a 2>&1; {sonde} profile -F 499 -a -f --lines -p $! 1 >b 2>&1; {sonde} profile -F 499 --json -p $! 1 >j 2>&1; {sonde} profile -F 499 -p $! 1 >t 2>&1; kill $!; grep -c '_start;.*;PyEval_EvalCode;<module>_\[j\];busy_\[j\]' a | sed 's/[1-9].*/folded/'; grep -o 'busy@.*busy.py:[345]_\[j\]' b | sed 's/.*://' | sort -u | wc -l; grep -o ', python</title>' f.svg | sort -u; grep -o '"lang":"[a-z]*"' s.json | sort -u; grep -c 'busy \[.*busy.py\]$' t | sed 's/[1-9].*/text/'; {sonde} report --json p.gz | head -n 1 | python3 -c 'import json, sys; j = json.loads(sys.stdin.readline()); print([l for f, l in zip(j["user"], j["lang"]) if f.startswith("busy+") or f == "PyEval_EvalCode+0"])'; {sonde} report -f --lines p.gz | grep -o 'busy@.*busy.py:[345]' | sed 's/.*://' | sort -u | wc -l; python3 -c 'import json; print({l for j in map(json.loads, open("j")) for f, l in zip(j["user"], j["lang"]) if f.startswith("busy+") and f.endswith("busy.py]")})'
EXPECT_RE \Afolded\n[23]\n, python</title>\n"lang":"python"\ntext\n\['python', None\]\n[23]\n\{'python'\}\n\Z

NAME python: go tool pprof has a mapping for the language, files and lines
NEED cmd:go
NEED file:/usr/bin/python3.11
FEW samples
RETRY 2 samples
RUN printf 'def busy():\n t = 0\n while t >= 0:\n  t = t + 1\n  t = t %% 1000\nbusy()\n' >busy.py; /usr/bin/python3.11 busy.py & {sonde} profile -F 499 --pprof p.gz -p $! 1 >/dev/null 2>&1; kill $!; export HOME=$PWD; go tool pprof -raw p.gz 2>/dev/null | grep -o '\[python\].*'; go tool pprof -lines -top p.gz 2>/dev/null | grep -o 'busy .*busy.py:[345]' | wc -l | sed 's/[1-3]/lines/'; go tool pprof -traces p.gz 2>/dev/null | grep -c 'busy$' | sed 's/[1-9].*/traces/'
EXPECT_RE \A\[python\].*\nlines\ntraces\n\Z

NAME python: of a version that is not known it is told where its frames are shown, or all is asked for, and nowhere else
NEED cmd:gcc
RUN gcc -O1 -rdynamic -o unknown {top}/test/workload/unknown_py.c; P=tracepoint:syscalls:sys_enter_getppid; for s in '@[ustack] = count()' '@[ustack(1) == ustack(2), comm] = count()'; do for o in '' --why-incomplete; do {sonde} -q $o -c './unknown 3' -e "$P /pid == cpid/ { $s }" >o 2>err; echo "$s $o $(grep -c 'unknown: python 3.99.*is not known here' err) $(grep -c ']: 3$' o)"; done; done
EXPECT_LINE @[ustack] = count()  1 1
EXPECT_LINE @[ustack] = count() --why-incomplete 1 1
EXPECT_LINE @[ustack(1) == ustack(2), comm] = count()  0 1
EXPECT_LINE @[ustack(1) == ustack(2), comm] = count() --why-incomplete 1 1
