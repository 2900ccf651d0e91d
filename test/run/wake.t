# offwaketime and wakeuptime: who wakes whom (test/progs/waits.c, whose sleepers measure their waits too).

FILE TOGETHER

NAME offwaketime: user stacks of kernel threads, options that exclude one another, bad numbers
RUN for o in '-U -k 1' '-p 1 -u' '-u -k' '-t 1 -k' '-U -K' '-m 9 -M 3' '-p x' '--chain 9' '-s 1'; do {sonde} offwaketime $o 2>&1 >out | head -n 1; cat out; done
EXPECT_RE \AERROR: Displaying user stacks for kernel threads doesn't make sense\.\n(sonde offwaketime: error: .*\n){8}\Z

NAME wakeuptime: options that exclude one another, bad numbers
RUN for o in '-p 1 -u' '-m 9 -M 3' '-p 0' 'x'; do {sonde} wakeuptime $o 2>&1 >out | head -n 1; cat out; done
EXPECT_RE \A(sonde wakeuptime: error: .*\n){4}\Z
EXPECT use either -p or -u.

NAME offwaketime and wakeuptime: header, ended by themselves
RUN {sonde} offwaketime -p 1 1; {sonde} wakeuptime -p 1 1
EXPECT_LINE Tracing blocked time (us) by user + kernel off-CPU and waker stack for 1 secs.
EXPECT_LINE Tracing blocked time (us) by kernel stack for 1 secs.

NAME offwaketime: the lock's holder is the waker, for as long as the waiter says
LONG
RETRY 1 a time within 3 %
RUN trap : INT; {sonde} offwaketime -f --comm waiter31 | (trap '' INT; tee j); python3 {top}/test/run/rows.py j 'abs(us("waiter31") / total("waiter31", text="want_lock") - 1) < 0.03'
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits lock 20 50 31
INT 0.2
TIMEOUT 20
EXPECT_RE ^waiter31;clone3;start_thread;waiter;want_lock;.*;__schedule;--;try_to_wake_up;.*;release_lock;holder;start_thread;clone3;holder31 \d+$
EXPECT_LINE True

NAME offwaketime: multi-line form
LONG
RUN exec {sonde} offwaketime --comm waiter32
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits lock 20 50 32
INT 0.2
TIMEOUT 20
EXPECT_LINE Tracing blocked time (us) by user + kernel off-CPU and waker stack... Hit Ctrl-C to end.
EXPECT_RE ^    waker:           holder32 \d+\n    clone3\n(    .*\n)*    release_lock\n(    .*\n)*    try_to_wake_up\n    --               --\n    __schedule\n(    .*\n)*    want_lock\n(    .*\n)*    target:          waiter32 \d+\n        \d+\n        \d+\.\d %\n\n

NAME offwaketime: a chain of four processes over pipes and a futex to the timer, for as long as the last one waits (seed/42)
LONG
RETRY 1 a time within 3 %
RUN trap : INT; {sonde} offwaketime --chain 4 --comm chain433 -f | (trap '' INT; tee j); python3 {top}/test/run/rows.py j 'abs(us("chain433") / total("chain433", text="[timer interrupt]") - 1) < 0.03'
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits chain 10 100 33
INT 0.2
TIMEOUT 20
EXPECT_RE ^chain433;.*;(anon_)?pipe_read;.*;--;.*;(anon_)?pipe_write;.*;pass_on;.*;chain333;--;.*;futex_wake;.*;post_on;.*;chain233;--;.*;(anon_)?pipe_write;.*;pass_on;.*;chain133;--;.*hrtimer_wakeup.*;\[timer interrupt\] \d+$
EXPECT_LINE True

NAME offwaketime: a chain in text, and cut after two wakers
LONG
RUN exec {sonde} offwaketime --chain 2 --comm chain434
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits chain 10 100 34
INT 0.2
TIMEOUT 20
EXPECT_RE ^    waker:           chain234 \d+\n(    .*\n)*    post_on\n(    .*\n)*    --               --\n    waker:           chain334 \d+\n(    .*\n)*    pass_on\n(    .*\n)*    --               --\n    __schedule\n(    .*\n)*    target:          chain434 \d+\n        \d+\n
EXPECT_NOT chain134

NAME offwaketime: a chain as a flame graph
LONG
RUN trap : INT; {sonde} offwaketime --chain 4 --comm chain435 --flame f.svg; head -c 4 f.svg; for n in chain135 chain235 chain335 chain435 'timer interrupt' post_on pass_on; do grep -c "$n" f.svg > n && echo "has $n"; done
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits chain 10 100 35
INT 0.2
TIMEOUT 20
EXPECT <?xm
EXPECT_RE (has .*\n){7}

NAME offwaketime: who sends over loopback is the waker, though a soft interrupt delivers
LONG
ALONE ksoftirqd of a busy machine delivers
RETRY 2 on a busy machine ksoftirqd delivers
RUN exec {sonde} offwaketime -f --comm tcp
WORKLOAD {build}/tcp 4 100000 100
INT 0.2
TIMEOUT 20
EXPECT_RE ^tcp;.*;--;.*net_rx_action.*;tcp_sendmsg.*;tcp \d+$

NAME offwaketime: a disk's completion
LONG
FEW the disk must have little else to do
NEED host
RUN dd if=/dev/zero of=big bs=64k count=100 conv=fsync status=none; {sonde} offwaketime -f -K --comm dd 3
WORKLOAD dd if=big of=/dev/null bs=64k iflag=direct || dd if=$(ls /tmp/sonde-test.*/big | head -n 1) of=/dev/null iflag=direct bs=64k
TIMEOUT 20
EXPECT_RE ^dd;.*;--;.*;blk_.*;\[disk completion\] \d+$

NAME offwaketime -i: the intervals add up to the time, within 2 %
LONG
FEW times within 2 %
RETRY 1 a time within 2 %
RUN {build}/waits lock 200 300 36 & sleep 0.5; {sonde} offwaketime -i 1 --per-thread --json --comm '*36' 4 > j; kill $!; python3 {top}/test/run/rows.py j 'names()' 'all(3.4e6 < total(n) < 4.1e6 for n in names() if n != "waits")' 'len([r for r in rows() if "not woken yet" in str(r)]) >= 3'
TIMEOUT 30
EXPECT_LINE ['holder36', 'waiter36']
EXPECT_RE ^True\nTrue$

NAME offwaketime: the printed script counts the same by itself
LONG
RUN trap : INT; {sonde} offwaketime --print-script -U --chain 2 --comm waiter37 > s.bt; {sonde} s.bt | (trap '' INT; tee j); python3 {top}/test/run/rows.py j 'abs(us("waiter37") / total("waiter37", text="want_lock") - 1) < 0.1'
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits lock 20 50 37
INT 0.2
TIMEOUT 20
EXPECT_LINE True

NAME wakeuptime: folded, for as long as the waiter says
RUN trap : INT; {sonde} wakeuptime -f --comm waiter38 | (trap '' INT; tee j); python3 {top}/test/run/rows.py j '0.9 < total("holder38", text=";waiter38") / us("waiter38") < 1.1'
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits lock 20 50 38
INT 0.2
TIMEOUT 20
EXPECT_RE ^holder38;entry_SYSCALL_64_after_hwframe;.*;try_to_wake_up;waiter38 \d+$
EXPECT_LINE True

NAME wakeuptime: multi-line
RUN exec {sonde} wakeuptime --comm waiter39
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits lock 20 50 39
INT 0.2
TIMEOUT 20
EXPECT_LINE Tracing blocked time (us) by kernel stack... Hit Ctrl-C to end.
EXPECT_RE ^    target:          waiter39\n    try_to_wake_up\n(    .*\n)*    waker:           holder39\n        \d+\n        \d+\.\d %\n\n

NAME wakeuptime: a timer is the waker, not whom it interrupted; intervals
RUN exec {sonde} wakeuptime -f -i 1 --comm napper40
WORKLOAD {build}/waits sleep 20 100 40
INT 0.2
TIMEOUT 20
EXPECT_RE (?s)(\[timer interrupt\];asm_sysvec_apic_timer_interrupt;[^\n]*;hrtimer_wakeup;try_to_wake_up;napper40 \d{6,7}\n.*){2}
EXPECT_RE ^\[not woken yet\];napper40 \d+$

NAME wakeuptime: the printed script counts the same by itself
RUN trap : INT; {sonde} wakeuptime --print-script -m 1000 --comm waiter41 > s.bt; {sonde} s.bt | (trap '' INT; tee j); python3 -c 'import re; print(0.9 < sum(int(v) for v in re.findall(r"^\]: (\d+)$", open("j").read(), re.M)) / int(open("waiter41").read()) < 1.1)'
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits lock 20 50 41
INT 0.2
TIMEOUT 20
EXPECT_LINE True

NAME offwaketime: a wait that began before tracing has its stacks, and its time from then on
LONG
NEED copy_from_user_task
RUN mkfifo {tmp}/f; cat {tmp}/f & sleep 0.3; exec {sonde} offwaketime -f -p $!
WORKLOAD sleep 1; echo > {tmp}/f
INT 0.5
TIMEOUT 30
EXPECT_RE ^cat;_start;__libc_start_main;.*;entry_SYSCALL_64_after_hwframe;.*;fifo_open;.*;__schedule;--;.*;fifo_open;.*;\S* [1-9]\d{6}$

NAME offwaketime -U, and --depth: a timer is the waker, not whom it interrupted
RUN for o in -U '-U --chain 2' '-K --depth 1'; do echo "options $o"; {sonde} offwaketime -f $o --comm napper42 -- {build}/waits sleep 5 20 42; done
TIMEOUT 20
EXPECT_RE ^options -U\n(napper42;.*\n)*napper42;[^\n]*;nap_inner;[^\n]*;--;\[timer interrupt\] \d+\n
EXPECT_RE ^options -U --chain 2\n(napper42;.*\n)*napper42;[^\n]*;nap_inner;[^\n]*;--;\[timer interrupt\] \d+\n
EXPECT_RE ^options -K --depth 1\n(napper42;.*\n)*napper42;__schedule;--;try_to_wake_up;\[timer interrupt\] \d+\n
EXPECT_NOT apic

NAME wakeuptime --depth: a timer is the waker, not whom it interrupted
RUN {sonde} wakeuptime -f --depth 1 --comm napper43 -- {build}/waits sleep 5 20 43
TIMEOUT 20
EXPECT_RE ^\[timer interrupt\];try_to_wake_up;napper43 \d+$
EXPECT_NOT apic

NAME offwaketime: a wait that has ended, of whose wake-up the kernel told nobody, is not one that goes on
RUN echo 'config = { stack_form = "wakers" } begin { @waker[1] = (pid, comm, kstack); } tracepoint:sched:sched_switch /pid != 0/ { @samples[pid, comm, kstack, @waker[0]] = count(); exit() } end { clear(@waker); }' >s.bt; {sonde} -q --folded s.bt; {sonde} offwaketime -f -i 1 -K --comm napper44 -- {build}/waits sleep 1 1500 44
TIMEOUT 20
EXPECT_RE ^\S+;.*__schedule;--;\[waker not seen\] \d+$
EXPECT_RE ^napper44;.*__schedule;--;\[not woken yet\] \d+$
