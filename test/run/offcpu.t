# offcputime: command line, forms of output, and times of known waits (test/progs/waits.c, which measures them too).

FILE TOGETHER

NAME offcputime: user stacks of kernel threads (seed/02)
RUN {sonde} offcputime -U -k -f 1
RC 2
STDERR ERROR: Displaying user stacks for kernel threads doesn't make sense.

NAME offcputime: -p, -t, -u and -k exclude one another, and -U and -K (seed/01)
RUN for o in '-p 1 -u' '-p 1 -k' '-u -k' '-t 1 -u' '-p 1 -t 1' '-U -K'; do {sonde} offcputime $o 1 2>err; echo $? $(grep -c 'not allowed with' err); done
EXPECT_RE \A(2 1\n){6}\Z

NAME offcputime: -f and -s
RUN {sonde} offcputime -f -s 1
RC 2
STDERR argument -s/--offset: not allowed with argument -f/--folded

NAME offcputime: bad numbers
RUN for o in '-p x' '-p -5' '-p 0' '-m x' '-m 9 -M 3' '--state x' '--stack-storage-size 0' '--by=io' 'x' '1 2'; do {sonde} offcputime $o 2>&1 >out | head -n 1; cat out; done
EXPECT_RE \A(sonde offcputime: error: .*\n){10}\Z
EXPECT must be an integer
EXPECT must be positive
EXPECT must be nonzero
EXPECT min_block_time should be less than max_block_time

NAME offcputime: header (seed/07)
RUN {sonde} offcputime -K -p 1 1
EXPECT_LINE Tracing off-CPU time (us) of PID 1 by kernel stack for 1 secs.

NAME offcputime: header, user threads (seed/07)
RUN {sonde} offcputime -u 1
EXPECT_LINE Tracing off-CPU time (us) of user threads by user + kernel stack for 1 secs.

NAME offcputime: header, kernel threads, and no user stack is no loss (seed/07 seed/10)
RUN {sonde} offcputime -k 1 2>err; grep -c WARNING err
EXPECT_LINE Tracing off-CPU time (us) of kernel threads by user + kernel stack for 1 secs.
EXPECT_RE ^    kthread\n(    .*\n)*    -                \S+ \(\d+\)\n        \d+\n
EXPECT_LINE 0
RC 1

NAME offcputime: Ctrl-C ends it with the report (seed/07)
RUN exec {sonde} offcputime -K
INT 0.3
EXPECT_LINE Tracing off-CPU time (us) of all threads by kernel stack... Hit Ctrl-C to end.
EXPECT_RE ^        \d+$

NAME offcputime: lists of processes (seed/01)
RUN {sonde} offcputime -f -p 1,$$ 1
EXPECT_RE ^sh;.* \d+$

NAME offcputime: a closed pipe is quiet (seed/06)
RUN {sonde} offcputime -f 1 | grep kthread | head -n 1
EXPECT_RE \A\S.*;kthread;.* \d+\n\Z

NAME offcputime: ten sleeps of 100 ms by stack, as long as the sleeper says (seed/04)
LONG
RETRY 1 a time within 3 %
RUN trap : INT; {sonde} offcputime -f -U --comm napper11 | (trap '' INT; tee j); python3 {top}/test/run/rows.py j 'abs(us("napper11") / total("napper11") - 1) < 0.03'
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits sleep 10 100 11
INT 0.2
TIMEOUT 20
EXPECT_LINE True
EXPECT_RE ^napper11;clone3;start_thread;napper;nap_outer;nap_inner;clock_nanosleep \d+$

NAME offcputime: kernel stack root to leaf (seed/03)
RUN exec {sonde} offcputime -f -K --comm napper12 --complete off
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits sleep 10 100 12
INT 0.2
TIMEOUT 20
EXPECT_RE ^napper12;entry_SYSCALL_64_after_hwframe;do_syscall_64;.*;hrtimer_nanosleep;do_nanosleep;schedule;__schedule 1\d{6}$

NAME offcputime: kernel and user in one block, with a delimiter (seed/05 seed/08)
RUN exec {sonde} offcputime -d --comm napper13
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits sleep 10 100 13
INT 0.2
TIMEOUT 20
EXPECT_RE ^    __schedule\n    schedule\n    do_nanosleep\n(    .*\n)*    --\n    clock_nanosleep\n    nap_inner\n    nap_outer\n    napper\n    start_thread\n    clone3\n    -                napper13 \(\d+\)\n        \d+\n

NAME offcputime: addresses and offsets (seed/08)
RUN exec {sonde} offcputime -A -s -K --comm napper14
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits sleep 10 100 14
INT 0.2
TIMEOUT 20
EXPECT_RE ^    ffffffff[0-9a-f]{8} do_nanosleep\+0x[0-9a-f]+$

NAME offcputime: a row for each process (seed/09)
RUN trap : INT; {sonde} offcputime --json -U --complete off --comm napper15 | (trap '' INT; tee j); python3 {top}/test/run/rows.py j 'len({r["pid"] for r in rows() if "nap_inner" in str(r)})'
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits sleep 5 100 15 & {build}/waits sleep 5 100 15; wait
INT 0.2
TIMEOUT 20
EXPECT_LINE 2

NAME offcputime: still asleep at the end, with its stack
LONG
FEW a time window
RETRY 1 a time window
NEED host
RUN {sonde} offcputime --comm napper{id} 2
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits sleep 1 60000 {id}
TIMEOUT 20
EXPECT_RE ^    do_nanosleep\n(    .*\n)*    nap_inner\n(    .*\n)*        (\d{5,7})\n        \d+\.\d %\n        \((runqueue \d+, )?unfinished \d+\)

NAME offcputime: asleep since before tracing began, with the stacks it sleeps with
LONG
FEW times of a second
NEED copy_from_user_task
RUN {build}/waits sleep 1 60000 {id} & P=$!; until grep -qs napper /proc/$P/task/*/comm; do sleep 0.05; done; sleep 0.2; {sonde} offcputime -f --comm napper{id} 1; {sonde} offcputime -K --comm napper{id} 1; {sonde} offcputime -U -f --comm napper{id} 1; kill $P
TIMEOUT 30
EXPECT_RE ^napper{id};clone3;start_thread;napper;nap_outer;nap_inner;clock_nanosleep;entry_SYSCALL_64_after_hwframe;.*;hrtimer_nanosleep;do_nanosleep;schedule;__schedule 1\d{6}$
EXPECT_RE ^    __schedule\n    schedule\n    do_nanosleep\n    hrtimer_nanosleep\n(    .*\n)*    entry_SYSCALL_64_after_hwframe\n    -                napper{id} \(\d+\)\n        (1\d{6})\n        \d+\.\d %\n        \(earlier 1\d{6}\)
EXPECT_RE ^napper{id};clone3;start_thread;napper;nap_outer;nap_inner;clock_nanosleep 1\d{6}$
EXPECT_NOT asleep since

NAME offcputime: asleep since before tracing began, where nobody can read its memory
NEED !copy_from_user_task
NEED for_each_map_elem
RUN {build}/waits sleep 1 60000 {id} & P=$!; until grep -qs napper /proc/$P/task/*/comm; do sleep 0.05; done; sleep 0.2; {sonde} offcputime -f --comm napper{id} 1; {sonde} offcputime -U -f --comm napper{id} 1; kill $P
TIMEOUT 30
EXPECT_RE ^napper{id};\[asleep since before tracing began: no user stack before Linux 5.18\];entry_SYSCALL_64_after_hwframe;.*;do_nanosleep;schedule;__schedule 1\d{6}$
EXPECT_RE ^napper{id};\[asleep since before tracing began: no user stack before Linux 5.18\] 1\d{6}$

NAME offcputime: three seconds of a thread that sleeps all the time are 3.0 s under its whole stack
LONG
FEW a time within 5 %
NEED copy_from_user_task
RUN {build}/sleepers many 1 >o & until grep -q ready o; do sleep 0.1; done; {sonde} offcputime -f -p $! 3; kill $!
TIMEOUT 30
EXPECT_RE ^many;clone3;start_thread;many;via_a;via_b;in_nanosleep;(nanosleep;)?clock_nanosleep;entry_SYSCALL_64_after_hwframe;.*;do_nanosleep;schedule;__schedule (29|30|31)\d{5}$

NAME offcputime: one line for a wait that began before tracing and the same wait after: nanosleep, futex, epoll, poll, pipe, wait4
LONG
FEW a time within 5 %
NEED copy_from_user_task
RUN {build}/sleepers kinds 1300 & sleep 0.2; {sonde} offcputime --json -o j -p $! 3; kill $!; python3 {top}/test/run/rows.py j '[[(bool(r.get("blocked")), r["kernel"][0].split("+")[0]) for r in rows() if r.get("earlier") and "in_" + k in str(r["user"])] for k in ("nanosleep", "futex", "epoll", "poll", "pipe", "wait4")]' 'all(2.9e6 < max(r["value"] for r in rows() if "in_" + k in str(r)) < 3.2e6 for k in ("nanosleep", "futex", "epoll", "poll", "pipe", "wait4"))'
TIMEOUT 30
EXPECT_RE ^\[\[\(True, '__schedule'\)\](, \[\(True, '__schedule'\)\]){5}\]$
EXPECT_LINE True

NAME offcputime: bcc's way leaves both out
LONG
NEED for_each_map_elem
RUN {build}/waits sleep 1 60000 {id} & {sonde} offcputime --complete off --comm napper{id} -f 2; {sonde} offcputime --comm napper{id} -f 2 | grep -c do_nanosleep; kill $!
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits sleep 1 60000 {id}
TIMEOUT 20
EXPECT_RE ^[1-9]\d*$
EXPECT_NOT do_nanosleep

NAME offcputime: a waiter's time is for the lock, as long as the waiter says
RETRY 1 a time within 2 %
RUN trap : INT; {sonde} offcputime -f -U --comm waiter18 | (trap '' INT; tee j); python3 {top}/test/run/rows.py j 'abs(us("waiter18") / total("waiter18", text="want_lock") - 1) < 0.02'
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits lock 20 50 18
INT 0.2
TIMEOUT 20
EXPECT_LINE True
EXPECT_RE ^waiter18;clone3;start_thread;waiter;want_lock;.* \d+$

NAME offcputime: run-queue time only
LONG
RUN exec {sonde} offcputime --by=runq -f -U --comm napper19
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits sleep 10 100 19
INT 0.2
TIMEOUT 20
EXPECT_RE ^napper19;.*nap_inner;clock_nanosleep \d{2,6}$

NAME offcputime: preempted time counts, by itself when asked for, or not
LONG
ALONE shares of a busy processor
RETRY 1 a share of a second of a busy processor
RUN {build}/waits mix 60000 & sleep 1; for o in --by=all --by=preempted --by=blocked,runq --state=0; do {sonde} offcputime --json -t $(grep -l spinner /proc/$!/task/*/comm | cut -d/ -f5 | paste -sd,) $o 1 > j; python3 {top}/test/run/rows.py j 'total("spinner") > 500000 and abs(total("spinner") - total("spinner", "preempted") - total("spinner", "unfinished") - total("spinner", "earlier")) < 100'; done; kill $!
TIMEOUT 60
EXPECT_RE \ATrue\nTrue\nFalse\nTrue\n\Z

NAME offcputime: long waits left out
RUN exec {sonde} offcputime -f -U --comm 'napper2[04]' -M 50000 --complete off
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits sleep 10 100 20; {build}/waits sleep 50 5 24
INT 0.2
TIMEOUT 20
EXPECT_RE ^napper24;clone3;start_thread;napper;nap_outer;nap_inner;clock_nanosleep \d{6}$
# its waits of 100 ms; when it is preempted on its way there, that takes microseconds and counts
EXPECT_RE \A(?![\s\S]*^napper20;.*;nap_inner\S* \d{5,}$)

NAME offcputime: one switch in five, counted five times: the time is the same
LONG
RUN {build}/waits sleep 3000 2 25 & {sonde} offcputime -f -U --one-in 5 --comm napper25 4 | awk '{ t += $NF } /nanosleep/ { n += $NF } END { print (n > 2800000 && n < 5200000) ? 1 : n " of " t }'; kill $!; {sonde} offcputime --check --one-in 2
RC 2
EXPECT_LINE 1
STDERR argument --check: counts all time of a thread; not allowed with
TIMEOUT 40

NAME offcputime: uninterruptible waits only
LONG
RUN {build}/waits sleep 6000 10 21 & for s in 1 2; do {sonde} offcputime -f --state $s --comm napper21 1 | grep -c nanosleep; done; kill $!
TIMEOUT 20
EXPECT_RE \A[1-9]\d*\n0\n\Z

NAME offcputime: idle threads, each CPU by itself (seed/55)
ALONE a processor must be idle
RUN {sonde} offcputime -I -f -K --comm 'swapper*' 2 >o; cat o; grep -q swapper o || awk '{ print ($1 > 1.5 ? "busy machine: no processor was idle" : "not seen") }' /proc/loadavg
TIMEOUT 20
WORKLOAD {build}/waits spin 500
EXPECT_RE \A((swapper/\d+;.*schedule_idle;__schedule \d+\n)+|busy machine.*\n)\Z

NAME offcputime --check: on-CPU, blocked, run-queue and preempted time are all the time of each thread
LONG
FEW times within 1 %
RETRY 1 times within 1 %
RUN {build}/waits mix 60000 & sleep 1; {sonde} offcputime --check -p $! 2; echo $?; kill $!
TIMEOUT 60
EXPECT_RE ^     TID COMM                  ELAPSED       ON-CPU      BLOCKED     RUNQUEUE    PREEMPTED       UNSEEN     SUM \(ms\)   DIFF %$
EXPECT_RE ^ *\d+ waits +2\d\d\d\.\d+ +0\.0\d\d +2\d\d\d\.\d+ +0\.\d+ +0\.000 +0\.000 +2\d\d\d\.\d+ +.0\.\d\d$
EXPECT_RE ^( *\d+ spinner +2\d\d\d\.\d+ +\d+\.\d+ +0\.000 +0\.000 +\d\d+\.\d+ +\d+\.\d+ +2\d\d\d\.\d+ +.0\.\d\d\n){3}
EXPECT_RE ^ *\d+ burner +2\d\d\d\.\d+ +\d\d+\.\d+ +0\.000 
EXPECT_RE ^ *\d+ napper +2\d\d\d\.\d+ +\d+\.\d+ +\d\d+\.\d+ 
EXPECT_RE ^ *\d+ waiter +2\d\d\d\.\d+ +\d+\.\d+ +\d\d+\.\d+ 
EXPECT_RE ^( *\d+ child +\d+\.\d+ +\d\.\d+ +(5|6)\.\d+ +.*\n){3}
EXPECT_RE ^\d+ threads, worst difference 0\.\d\d %: within 1 %\n(\d+ us of them .*\n)?0\n\Z

# All threads are looked at when tracing begins, which takes its time: what they do meanwhile belongs to no second that is asked for.
NAME offcputime --check: 3,000 threads that sleep as it begins
LONG
FEW times within 1 %
RUN {build}/sleepers many 3000 >o & A=$!; {build}/waits mix 60000 & W=$!; until grep -q ready o; do sleep 0.1; done; {sonde} offcputime --check -p $A,$W 1; kill $A $W
TIMEOUT 60
EXPECT_RE ^ *\d+ spinner +1\d\d\d\.\d+ +\d+\.\d+ +0\.000 +0\.000 +\d\d+\.\d+ +\d+\.\d+ +1\d\d\d\.\d+ +.0\.\d\d$
EXPECT_RE ^[3-9]\d\d\d threads, worst difference 0\.\d\d %: within 1 %$

NAME offcputime --check: wants all the time
RUN for o in '-i 1' '--by=runq' '--state 1' '--complete off' '-M 5'; do {sonde} offcputime --check $o 1 2>&1 | head -n 1; done
EXPECT_RE \A(sonde offcputime: error: argument --check: .*\n){5}\Z

NAME offcputime --check: is a table, not stacks: no files, and none is made
RUN for o in -f --json --top '-m 5' '--flame x' '--html x' '--pprof x' '--otlp x' '--speedscope x'; do {sonde} offcputime --check $o -- true 2>&1 | head -n 1; done; ls -I "std*"
EXPECT_RE \A(sonde offcputime: error: argument --check: .*\n){9}\Z

NAME offcputime -i: a thread asleep over several intervals is in each of them
LONG
FEW times within 5 %
RUN {build}/waits sleep 1 60000 {id} & sleep 0.2; {sonde} offcputime -i 1 -f -K --comm napper{id} 3; kill $!
TIMEOUT 30
EXPECT_RE (?s)(hrtimer_nanosleep;do_nanosleep;schedule;__schedule (9[5-9]\d{4}|10[0-5]\d{4})\n.*){2}

NAME offcputime -i: the intervals add up to the time, within 1 %
LONG
FEW times within 1 %
RETRY 1 a time within 1 %
RUN {build}/waits lock 100 300 & sleep 0.5; {sonde} offcputime -i 1 --per-thread --json -p $! 4 > j; kill $!; python3 {top}/test/run/rows.py j 'names()' 'all(abs(total(n) - 4e6) < 4e4 for n in names())' 'len([r for r in rows() if r["comm"] == "waits"]) >= 4'
TIMEOUT 30
EXPECT_LINE ['holder', 'waiter', 'waits']
EXPECT_RE ^True\nTrue$

NAME offcputime: the times of a sleeping thread add up to the time traced, within 1 %
LONG
FEW times within 1 %
RETRY 1 a time within 1 %
RUN {build}/waits lock 60 100 & sleep 1; {sonde} offcputime --by all --per-thread --json -o j -p $! 2; kill $!; python3 {top}/test/run/rows.py j 'names()' 'all(abs(total(n) - 2e6) < 2e4 for n in names())'
TIMEOUT 20
EXPECT_LINE ['holder', 'waiter', 'waits']
EXPECT_LINE True

NAME offcputime: the printed script counts the same by itself
LONG
RUN trap : INT; {sonde} offcputime --print-script --comm napper22 > s.bt; {sonde} s.bt | (trap '' INT; tee j); python3 {top}/test/run/rows.py j '0 <= us("napper22") - sum(r["value"] for r in rows() if "do_nanosleep" in r["stack"]) < 10000' 'sorted({r["kind"] for r in rows() if "do_nanosleep" in r["stack"]})'
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits sleep 10 100 22
INT 0.2
TIMEOUT 20
EXPECT_LINE True
EXPECT_RE ^\['0', '1'(, '2')?\]$

NAME offcputime: the printed script with other options, in intervals
FEW a time within 20 ms of what was slept
RUN trap : INT; {sonde} offcputime --print-script -f -K -m 5000 --per-thread -i 1 --by=blocked --comm napper{id} > s.bt; {sonde} s.bt | (trap '' INT; tee j); python3 {top}/test/run/rows.py j '2480000 <= total("napper{id}") <= us("napper{id}")' 'len(rows()) >= 2'
WORKLOAD {build}/waits sleep 25 100 {id}
INT 0.2
TIMEOUT 20
EXPECT_RE ^True\nTrue$

NAME offcputime: the document's commands (seed/11)
LONG
RUN ln -s {sonde} sonde-offcputime; for o in '-U -k -f 1' '-K -f 1' '-U -f 1' '-f 1' '-K 1' "-K -p $$ 1" '-h'; do ./sonde-offcputime $o > out 2> err; echo "$o: $? $(head -c 3 out) $(cut -c 1-5 err | head -n 1)"; done
EXPECT_RE \A-U -k -f 1: 2  ERROR\n-K -f 1: 0 \S+ ?(WARNI)?\n-U -f 1: 0 \S+ ?(WARNI)?\n-f 1: 0 \S+ ?(WARNI)?\n-K 1: 0 Tra ?(WARNI)?\n-K -p \d+ 1: 0 Tra ?(WARNI)?\n-h: 0 USA ?\n\Z
TIMEOUT 60

NAME offcputime: with --one-in nothing is kept of threads that have ended unseen
RUN printf 'import threading, time\nfor _ in range(60):\n    t = [threading.Thread(target=time.sleep, args=(0.01,)) for _ in range(50)]\n    [x.start() for x in t]\n    [x.join() for x in t]\n' >threads.py; {sonde} offcputime --one-in 4 --hash-storage-size 300 -f -c 'python3 threads.py' >o 2>e; grep refused e; [ $(grep -c nanosleep o) -gt 0 ] && echo stacks
TIMEOUT 40
EXPECT_RE \Astacks\n\Z
