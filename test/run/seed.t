# The acceptance list of the seed documents (numbers in names). What needs kprobes runs in the VM suite; here a tracepoint or uprobe takes its place.

FILE TOGETHER

NAME seed/31 log2 histogram
RUN cp {build}/calls .; {sonde} -c "./calls" -e 'uprobe:./calls:add { @size = hist(arg0 * 8) } interval:s:10 { exit(); }'
STDERR Attached 2 probes
EXPECT_LINE @size:
EXPECT_RE ^\[1K, 2K\) +128 \|@+ +\|$
EXPECT_RE ^\[4K, 8K\) +488 \|@{52}\|$

NAME seed/32 return values, positive ones as one
RUN cp {build}/calls .; {sonde} -q -c "./calls" -e 'uretprobe:./calls:add { @retvals[retval > 0 ? 0 : retval] = count(); }'
EXPECT_LINE @retvals[0]: 1000

NAME seed/33 predicate on an argument
RUN cp {build}/calls .; {sonde} -q -c "./calls" -e 'uprobe:./calls:add /arg0 > 997/ { printf("PID %d: %d bytes\n", pid, arg0); }'
EXPECT_RE ^PID \d+: 998 bytes$
EXPECT_RE ^PID \d+: 999 bytes$

NAME seed/34 histogram by process
RUN cp {build}/calls .; {sonde} -q -c "./calls" -e 'uprobe:./calls:add { @size[pid, comm] = hist(arg0) }'
EXPECT_RE ^@size\[\d+, calls\]:$

NAME seed/35 frequency of return values
RUN cp {build}/calls .; {sonde} -q -c "./calls" -e 'uretprobe:./calls:name_of { @return[retval] = count(); }'
EXPECT_LINE @return[6]: 10

NAME seed/36 stats, printed and cleared by an interval
PROG tracepoint:sched:sched_switch { @size = stats(args.prev_prio); } interval:ms:100 { print(@size); clear(@size); if (++@n > 2) { exit() } }
EXPECT_RE ^@size: .*count.*\d+.*average.*\d+.*total.*\d+

NAME seed/37 seed/38 kernel stacks, whole and three deep
PROG tracepoint:sched:sched_switch { @a[kstack] = count(); @b[kstack(3)] = count(); } interval:ms:200 { exit() }
EXPECT_RE ^@a\[$
EXPECT_RE ^\s+(__)?schedule\+\d+$
EXPECT_RE ^@b\[$

NAME seed/39 latency between two probes
RUN cp {build}/calls .; {sonde} -q -c "./calls" -e 'uprobe:./calls:add { @ts[tid] = nsecs; } uretprobe:./calls:add /@ts[tid]/ { @ns = hist(nsecs - @ts[tid]); delete(@ts[tid]); }'
EXPECT_LINE @ns:
EXPECT_NOT @ts

NAME seed/43 fields of a tracepoint
RUN {sonde} -lv 't:timer:hrtimer_start'
EXPECT_LINE tracepoint:timer:hrtimer_start
EXPECT_LINE     void * hrtimer
EXPECT_LINE     s64 expires

NAME seed/44 ksym of an argument
PROG t:timer:hrtimer_start { @[ksym(args->function)] = count(); } interval:ms:300 { exit() }
EXPECT_RE ^@\[[a-z_]+.*\]: \d+$

NAME seed/45 kernel stacks by a timer
PROG profile:hz:99 { @[kstack] = count(); } interval:ms:300 { exit() }
EXPECT_RE ^@\[$

NAME seed/46 long paths whole, with no setting
RUN D={tmp}/$(printf 'd%.0s' $(seq 100)); mkdir -p $D; echo x >$D/file; {sonde} -q -c "/bin/cat $D/file" -e 't:syscalls:sys_enter_openat /comm == "cat"/ { printf("opening: %s\n", str(args->filename)); }'
EXPECT_RE ^opening: /.*d{100}/file$

NAME seed/52 the stack of an event, then text
PROG tracepoint:sched:sched_switch { printf("%s1\n", kstack); exit() }
EXPECT_RE ^\s+(__)?schedule\+\d+$
EXPECT_LINE 1

NAME seed/53 stacks sampled by a timer, printed
PROG profile:hz:99 { printf("%s1\n", kstack); @n++; if (@n > 3) { exit() } }
EXPECT_LINE 1

NAME seed/54 addresses and modes
PROG tracepoint:sched:sched_switch { @r[kstack(raw, 2)] = count(); @p[kstack(perf, 2)] = count(); } interval:ms:100 { exit() }
EXPECT_RE ^\s*[0-9a-f]{16}$
EXPECT_RE ^\s*[0-9a-f]{16} \w+\+\d+

NAME seed/55 idle stacks can be seen
ALONE a processor must be idle
RUN out=$({sonde} -q -e 'tracepoint:sched:sched_switch /pid == 0/ { @[kstack] = count(); } interval:s:1 { exit() }'); case "$out" in *idle*) echo seen;; *) awk '{ print ($1 > 1.5 ? "busy machine: no processor was idle" : "not seen") }' /proc/loadavg;; esac
EXPECT_RE ^(seen|busy machine.*)$

# ---- 000: offcputime

NAME seed/01 options that exclude one another
RUN for o in "-p 1 -u" "-p 1 -k" "-u -k" "-U -K"; do {sonde} offcputime $o 1 2>&1 >/dev/null | head -n 1; done; {sonde} offcputime --stack-storage-size 0 1 2>&1 | head -n 1
EXPECT_RE \A(sonde offcputime: error: .*not allowed with.*\n){4}sonde offcputime: error: argument --stack-storage-size: must be nonzero\n\Z

NAME seed/02 user stacks of kernel threads make no sense
RUN {sonde} offcputime -U -k -f 1
RC 2
STDERR ERROR: Displaying user stacks for kernel threads doesn't make sense.

NAME seed/03 kernel stacks, folded
RUN {build}/waits sleep 200 100 & {sonde} offcputime -K -f -p $! 2; kill $!
NEED arch:x86_64
TIMEOUT 20
EXPECT_RE ^napper;entry_SYSCALL_64_after_hwframe;do_syscall_64;.*;do_nanosleep;schedule;__schedule \d+$

NAME seed/04 user stacks of the Python interpreter, from its start down
RUN python3 -c 'import time; [time.sleep(0.05) for _ in range(300)]' & {sonde} offcputime -U -f -p $! 2; kill $!
NEED arch:x86_64
TIMEOUT 20
EXPECT_RE ^python3[^;]*;_start;.*;Py_BytesMain;.*;PyEval_EvalCode;.* \d+$

NAME seed/05 both stacks in one line: user, then kernel, each from its root
RUN {build}/waits sleep 200 100 & {sonde} offcputime -f -p $! 2; kill $!
NEED arch:x86_64
TIMEOUT 20
EXPECT_RE ^napper;clone3;start_thread;napper;nap_outer;nap_inner;clock_nanosleep;entry_SYSCALL_64_after_hwframe;do_syscall_64;.*;schedule;__schedule \d+$

NAME seed/06 into grep and head, as the seed does
RUN {build}/waits sleep 2000 100 {id} & W=$!; { {sonde} offcputime -K -f 1; echo status $? >status; } | grep napper{id} | head -n 1; cat status; kill $W
TIMEOUT 20
EXPECT_RE \Anapper{id};.* \d+\nstatus 0\n\Z

NAME seed/07 headers of offcputime
LONG
RUN for o in "" "-p 1" "-u -K" "-k -K"; do {sonde} offcputime $o 1 | head -n 1; done
TIMEOUT 30
EXPECT_LINE Tracing off-CPU time (us) of all threads by user + kernel stack for 1 secs.
EXPECT_LINE Tracing off-CPU time (us) of PID 1 by user + kernel stack for 1 secs.
EXPECT_LINE Tracing off-CPU time (us) of user threads by kernel stack for 1 secs.
EXPECT_LINE Tracing off-CPU time (us) of kernel threads by kernel stack for 1 secs.

NAME seed/08 addresses, footer, totals ascending
RUN {sonde} offcputime -A -K 1 >out; grep -cE '^    [0-9a-f]{16} \w+' out >n; python3 -c 'import re; v = [int(x) for x in re.findall(r"^    -                .* \(\d+\)\n        (\d+)$", open("out").read(), re.M)]; print(len(v) > 1, v == sorted(v), int(open("n").read()) > 1)'
TIMEOUT 20
EXPECT_LINE True True True

NAME seed/09 a row a process: one binary twice, with offsets
RUN {build}/waits sleep 200 100 & A=$!; {build}/waits sleep 200 100 & {sonde} offcputime -K -s --comm napper -p $A,$! 2 >out; grep -cE '^    -                napper \((A|B)\)$' out; for p in $A $!; do grep -cE "^    -                napper .$p.$" out | awk '{ print ($1 > 0) }'; done; grep -c 'do_nanosleep+0x[0-9a-f]' out | awk '{ print ($1 > 1) }'; kill $A $!
TIMEOUT 20
EXPECT_RE \A0\n1\n1\n1\n\Z

NAME seed/10 a kernel thread has no user stack, and that is no error
RUN {sonde} offcputime -k -d 1 2>err; grep -c -e ERROR -e 'could not be displayed' err
RC 1
TIMEOUT 20
EXPECT_RE ^    -                (kworker|rcu_|ksoftirqd|migration).*\n        \d+$
EXPECT_NOT Missed User

NAME seed/11 its examples
RUN for a in "-K 1" "-K -p $$ 1" "-K -f 1"; do {sonde} offcputime $a >out && echo ok; done; {sonde} offcputime -h | head -n 1
TIMEOUT 30
EXPECT_RE \Aok\nok\nok\nUSAGE: sonde offcputime \[options\] \[SECONDS\]\n\Z

# ---- 001: profile

# The header of the round before is no sign that this one has begun: an interrupt that comes too early is lost, as shells let their background ignore it.
NAME seed/12 its eight examples
LONG
RUN for a in "" "-F 99" "-c 1000000" 1 "-f 1" "-p $$" -U -K; do rm -f out; {sonde} profile $a >out 2>err & S=$!; until grep -q Sampling out || ! kill -0 $S 2>/dev/null; do sleep 0.1; done; sleep 0.3; kill -INT $S 2>/dev/null; wait $S; echo "$? $(head -n 1 out | grep -o '^Sampling at .*')"; grep ERROR err; done | sed "s/PID $$/PID n/"
TIMEOUT 60
EXPECT_RE \A0 Sampling at 49 Hertz of all threads by user \+ kernel stack\.\.\. Hit Ctrl-C to end\.\n0 Sampling at 99 Hertz of all threads by user \+ kernel stack\.\.\. Hit Ctrl-C to end\.\n0 Sampling at every 1000000 events of all threads by user \+ kernel stack\.\.\. Hit Ctrl-C to end\.\n0 Sampling at 49 Hertz of all threads by user \+ kernel stack for 1 secs\.\n0 \n0 Sampling at 49 Hertz of PID n by user \+ kernel stack\.\.\. Hit Ctrl-C to end\.\n0 Sampling at 49 Hertz of all threads by user stack\.\.\. Hit Ctrl-C to end\.\n0 Sampling at 49 Hertz of all threads by kernel stack\.\.\. Hit Ctrl-C to end\.\n\Z

NAME seed/13 bad values and their messages
RUN for a in "-F x" "-F -1" "-F 0" "-c x" "-c 0" "-c -1" "-p x" "-p -1" "-p 1,x" "--stack-storage-size x" "--stack-storage-size 0" "-C x" "-C -1" "-C 9999" "x" "0" "-U -K" "-F 9 -c 9" "-e software:faults -F 9" "-p" "--nosuch" "1 2"; do {sonde} profile $a 2>&1 | head -n 1; {sonde} profile $a >/dev/null 2>&1; echo $?; done
EXPECT_RE \A(sonde profile: error: .*\n2\n){22}\Z
EXPECT_RE \Asonde profile: error: argument -F/--frequency: must be an integer\n2\nsonde profile: error: argument -F/--frequency: must be positive\n2\nsonde profile: error: argument -F/--frequency: must be nonzero\n2\nsonde profile: error: argument -c/--count: must be an integer\n2\nsonde profile: error: argument -c/--count: must be nonzero\n2\nsonde profile: error: argument -c/--count: must be positive\n2\nsonde profile: error: argument -p/--pid: must be an integer\n2\nsonde profile: error: argument -p/--pid: must be positive\n2\nsonde profile: error: argument -p/--pid: must be an integer\n
EXPECT_LINE sonde profile: error: argument -C/--cpu: names a CPU this machine has not
EXPECT_LINE sonde profile: error: argument duration: must be an integer
EXPECT_LINE sonde profile: error: argument duration: must be nonzero
EXPECT_LINE sonde profile: error: argument -p/--pid: expected one argument
EXPECT_LINE sonde profile: error: unrecognized arguments: --nosuch
EXPECT_LINE sonde profile: error: unrecognized arguments: 2

NAME seed/14 headers of profile, and what it counts
LONG
RUN for o in "-K -C 0" "-c 5000000 -U -p 1" "-e software:faults" "-e software:faults -c 7" "-e t:sched:sched_switch"; do {sonde} profile $o 1 2>/dev/null | head -n 2; done
TIMEOUT 40
EXPECT_RE \ASampling at 49 Hertz of all threads by kernel stack on CPU#0 for 1 secs\.\nEvent: software:cpu-clock\nSampling at every 5000000 events of PID 1 by user stack for 1 secs\.\nEvent: software:cpu-clock\nSampling at every 100 events of all threads by user \+ kernel stack for 1 secs\.\nEvent: software:faults\nSampling at every 7 events of all threads by user \+ kernel stack for 1 secs\.\nEvent: software:faults\nSampling at every 1 events of all threads by user \+ kernel stack for 1 secs\.\nEvent: t:sched:sched_switch\n\Z

NAME seed/15 the default is the CPU clock at 49 Hertz, counted in the kernel
RUN {sonde} profile --dump points; {sonde} profile --dump expand
EXPECT_LINE 	profile:hz:49
EXPECT_RE ^    map access @samples\n     tuple\n      identifier pid\n      identifier comm\n      call ustack\n      call kstack\n    call count$

NAME seed/16 the leaf once
RUN dd if=/dev/zero of=/dev/null bs=1M & {sonde} profile -A -F 999 -p $! 2 >out; kill $!; python3 -c 'import re; b = [re.findall(r"^    (\w{16}) ", x, re.M) for x in open("out").read().split("\n\n")]; b = [x for x in b if len(x) > 1]; print(len(b) > 1, [x[:2] for x in b if x[0] == x[1]])'
TIMEOUT 20
EXPECT_LINE True []

NAME seed/17 both forms
RUN dd if=/dev/zero of=/dev/null bs=1M & {sonde} profile -d -F 499 -p $! 1 >text; {sonde} profile -fd -F 499 -p $! 1; kill $!; cat text
NEED arch:x86_64
TIMEOUT 20
EXPECT_RE ^dd;(.+;)?-;entry_SYSCALL_64_after_hwframe;do_syscall_64;.* \d+$
EXPECT_RE ^    \w+\n(    .+\n)*    entry_SYSCALL_64_after_hwframe\n    --\n(    .+\n)+    -                dd \(\d+\)\n        \d+\n        \d+\.\d %\n\n

NAME seed/18 kernel frames marked, in both forms
RUN dd if=/dev/zero of=/dev/null bs=1M & {sonde} profile -a -F 499 -p $! 1; {sonde} profile -af -F 499 -p $! 1; kill $!
NEED arch:x86_64
TIMEOUT 20
EXPECT_RE ^    do_syscall_64_\[k\]\n    entry_SYSCALL_64_after_hwframe_\[k\]\n
EXPECT_RE ;entry_SYSCALL_64_after_hwframe_\[k\];do_syscall_64_\[k\];.*_\[k\] \d+$

NAME seed/20 user threads, kernel threads, depth, intervals
RUN {sonde} profile -u --dump expand; {sonde} profile -k --dump expand; {sonde} profile --depth 3 --dump expand; {build}/waits spin 20000 & {sonde} profile --depth 2 -U -F 99 -i 1 -p $! 3; kill $!
TIMEOUT 20
EXPECT_RE ^    binop ==\n     binop &\n      field .flags\n       identifier curtask\n      int 2097152\n     int 0$
EXPECT_RE ^    binop !=\n     binop &\n      field .flags\n       identifier curtask\n      int 2097152\n     int 0$
EXPECT_RE ^      call ustack\n       int 3\n      call kstack\n       int 3\n    call count$
EXPECT_RE (?s)(\n    spin_here\n    spinner\n    -                spinner \(\d+\)\n        \d+\n.*){2}

# ---- 002: stackcount

NAME seed/22 malloc of one process, as the seed and as today asks for it
RUN python3 -c 'import time; [(bytearray(100000), time.sleep(0.01)) for _ in range(1000)]' & for a in "-l c -p $! malloc" "-p $! c:malloc" "-p $! p:c:malloc"; do {sonde} stackcount -D 1 $a; done; kill $!
TIMEOUT 30
EXPECT_LINE Tracing 1 functions for "malloc"... Hit Ctrl-C to end.
EXPECT_LINE Tracing 1 functions for "c:malloc"... Hit Ctrl-C to end.
EXPECT_LINE Tracing 1 functions for "p:c:malloc"... Hit Ctrl-C to end.
EXPECT_RE (?s)(\n  malloc\n(  \S.*?\n)+    python3[^\n]* \[\d+\]\n    \d+\n.*){3}

NAME seed/23 static probes with semaphores, the process named
LONG
RUN {build}/usdt 1000 8000 & {sonde} stackcount -D 30 -p $! 'u:{build}/usdt:*'; echo pid $!
NEED arch:x86_64
TIMEOUT 30
EXPECT_RE (?s)\ATracing 2 functions for "u:\S+/usdt:\*"\.\.\. Hit Ctrl-C to end\.\n\n  fire_two\n  main\n(  \S+\n)+    usdt \[(\d+)\]\n    500\n    33\.3 %\n\n  fire_one\n  main\n(  \S+\n)+    usdt \[\2\]\n    1000\n    66\.7 %\n\nTotal: 1500 count in 2 stacks\nDetaching\.\.\.\npid \2\n\Z

NAME seed/23 versioned symbols
RUN {sonde} stackcount -D 1 -p $$ c:pthread_create@@GLIBC_2.2.5; {sonde} stackcount -D 1 -p $$ -l pthread pthread_create@@GLIBC_2.34
TIMEOUT 20
EXPECT_LINE Tracing 1 functions for "c:pthread_create@@GLIBC_2.2.5"... Hit Ctrl-C to end.
EXPECT_LINE Tracing 1 functions for "pthread_create@@GLIBC_2.34"... Hit Ctrl-C to end.

NAME seed/24 a tracepoint
RUN {sonde} stackcount -K -D 1 t:sched:sched_switch
TIMEOUT 20
EXPECT_RE (?s)\ATracing 1 functions for "t:sched:sched_switch"\.\.\. Hit Ctrl-C to end\.\n\n(.*\n)?  __schedule\n  schedule\n.*    \d+\n    \d+\.\d %\n\nTotal: \d+ count in \d+ stacks?\nDetaching\.\.\.\n\Z

NAME seed/28 regular expressions, addresses, offsets, intervals with the time
RUN {copy:paths} 6 40 2500 60000 & P=$!; {sonde} stackcount -r -sv -Ti 1 -D 3 -p $! '{copy:paths}:^(le|ri)(f|gh)t$'; {sonde} stackcount -D 1 -r 't:sched:sched_(switch|wak(eup|ing))$' | head -n 1; kill $P
TIMEOUT 30
EXPECT_LINE Tracing 2 functions for "{copy:paths}:^(le|ri)(f|gh)t$"... Hit Ctrl-C to end.
EXPECT_RE (?s)^\d\d:\d\d:\d\d\n.*^\d\d:\d\d:\d\d\n.*^\d\d:\d\d:\d\d\n
EXPECT_LINE Tracing 3 functions for "t:sched:sched_(switch|wak(eup|ing))$"... Hit Ctrl-C to end.

NAME seed/28 -d parts the stacks, the debug prints are -print-script and --dump
RUN {sonde} stackcount -d -D 1 --comm swapper/* t:sched:sched_switch | grep -c -- --; {sonde} stackcount --dump expand t:sched:sched_switch | tail -n 9; {sonde} stackcount --dump bpf -D 1 t:sched:sched_switch | head -n 2
TIMEOUT 20
EXPECT_RE ^  at "tracepoint" "sched" "sched_switch"\n  =\n   map access @samples\n    tuple\n     call ustack\n     call kstack\n   call count\n
EXPECT_RE ^; tracepoint:sched:sched_switch

NAME seed/29 the eleven examples of its help: as scripts
RUN for a in submit_bio ip_output "-s ip_output" "-sv ip_output" "-Ti 5 ip_output" "-p 185 ip_output" "-p $$ -l c malloc" t:sched:sched_process_fork; do {sonde} stackcount --print-script $a | grep '	option'; done
EXPECT_RE \A	option = "probe=kprobe:submit_bio";\n(	option = "probe=kprobe:ip_output";\n){2}(	option = "probe=kprobe:ip_output";\n){3}	option = "pid=185";\n	option = "perpid";\n	option = "probe=uprobe:/\S*libc\.so\.6:malloc";\n	option = "pid=\d+";\n	option = "probe=tracepoint:sched:sched_process_fork";\n\Z

NAME seed/29 a tracepoint of forks, static probes by wildcard
RUN {build}/usdt 10 12000 & {sonde} stackcount -D 1 t:sched:sched_process_fork | head -n 1; {sonde} stackcount -D 1 -p $! 'u:{build}/usdt:*' | head -n 1; kill $!
TIMEOUT 20
EXPECT_LINE Tracing 1 functions for "t:sched:sched_process_fork"... Hit Ctrl-C to end.
EXPECT_RE ^Tracing 2 functions for "u:

NAME seed/30 more than a thousand places, names of one function once, user stacks named without -p
LONG
RUN export __BPFTRACE_NOTIFY_PROBES_ATTACHED=1; {sonde} stackcount -D 40 -f '{copy:paths}:*ft' >out & S=$!; until grep -q ATTACHED out; do sleep 0.1; done; {copy:paths} 12; kill -INT $S; wait $S; awk '/;/ { n += $NF; if ($0 !~ /^paths;_start;.*main;(left;|right;)*left [0-9]+$/) bad++ } END { print n, bad + 0 }' out; {sonde} stackcount -p $$ -D 1 -r 't:syscalls:.*' | head -n 1
TIMEOUT 60
EXPECT_LINE 4095 0
EXPECT_RE ^Tracing [67]\d\d functions for "t:syscalls:\.\*"
