# offwaketime and wakeuptime: who wakes whom (test/progs/waits.c).

NAME offwaketime: the lock's holder is the waker
RUN {sonde} offwaketime -f --comm waiter 3
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits lock 20 50
TIMEOUT 20
EXPECT_RE ^waiter;clone3;start_thread;waiter;want_lock;.*;__schedule;--;try_to_wake_up;.*;release_lock;holder;start_thread;clone3;holder (9\d{5}|([89]\d{5}|1[0-4]\d{5}))$

NAME offwaketime: multi-line form
RUN {sonde} offwaketime --comm waiter 3
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits lock 20 50
TIMEOUT 20
EXPECT_LINE Tracing blocked time (us) by user + kernel off-CPU and waker stack for 3 secs.
EXPECT_RE ^    waker:           holder \d+\n    clone3\n(    .*\n)*    release_lock\n(    .*\n)*    try_to_wake_up\n    --               --\n    __schedule\n(    .*\n)*    want_lock\n(    .*\n)*    target:          waiter \d+\n        \d+\n\n

NAME offwaketime: a chain of four processes over pipes, to the timer (seed/42)
RUN {sonde} offwaketime --chain 4 --comm chain4 -f 3
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits chain 10 100
TIMEOUT 20
EXPECT_RE ^chain4;.*;--;.*;pass_on;.*;chain3;--;.*;post_on;.*;chain2;--;.*;pass_on;.*;chain1;--;.*hrtimer_wakeup.*;\[interrupt\] ([3-9]\d{5}|([89]\d{5}|1[0-4]\d{5}))$

NAME wakeuptime: folded
RUN {sonde} wakeuptime -f --comm waiter 3
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits lock 20 50
TIMEOUT 20
EXPECT_RE ^holder;entry_SYSCALL_64_after_hwframe;.*;try_to_wake_up;waiter ([89]\d{5}|1[0-4]\d{5})$

NAME wakeuptime: multi-line
RUN {sonde} wakeuptime --comm waiter 3
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits lock 20 50
TIMEOUT 20
EXPECT_LINE Tracing blocked time (us) by kernel stack for 3 secs.
EXPECT_RE ^    target:          waiter\n    try_to_wake_up\n(    .*\n)*    waker:           holder\n        \d+\n\n
