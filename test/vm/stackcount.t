# stackcount, offwaketime and wakeuptime on kernel functions (seeds 000 to 002).

# Ubuntu's 5.15 calls ip_output() in ip_local_out(), where others jump. The program begins after tracing: on a slow machine the first of its stacks
# may come before its tables, and be cut and counted apart.
NAME seed/21 stacks of ip_output
RUN exec {sonde} stackcount ip_output
WORKLOAD {build}/tcp 4 100 100
INT 0.5
EXPECT_LINE Tracing 1 functions for "ip_output"... Hit Ctrl-C to end.
EXPECT_RE ^  ip_output\n(  ip_local_out\n)?  __ip_queue_xmit\n(  \S+\n)*  tcp_sendmsg\n(  \S+\n)*    \d{2,3}\n
EXPECT Detaching...

NAME seed/25 blocks each second, with the time
RUN exec {sonde} stackcount -Ti 1 tcp_sendmsg
WORKLOAD {build}/tcp 4 10 100
INT 2.2
EXPECT_RE ^\d\d:\d\d:\d\d\n(.*\n)*  tcp_sendmsg\n(  \S+\n)*    (10|\d)\n(.*\n)*\d\d:\d\d:\d\d\n

# As above: cut stacks are counted apart.
NAME seed/26 offsets
RUN exec {sonde} stackcount -s tcp_sendmsg
WORKLOAD {build}/tcp 4 10 100
INT 0.5
EXPECT_RE ^  tcp_sendmsg\+0x[0-5]\n(  \S+\+0x[0-9a-f]+\n){5,}(  \S+\n)*    (10|\d)\n
EXPECT_RE ^Total: 10 count in 

NAME seed/27 wildcard
RUN exec {sonde} stackcount -s 'tcp_send*'
WORKLOAD {build}/tcp 4 10 100
INT 0.5
EXPECT_RE ^Tracing 1\d functions for "tcp_send\*"\.\.\. Hit Ctrl-C to end\.$
EXPECT_RE ^  tcp_sendmsg_locked\+0x\w+\n  tcp_sendmsg\+0x\w+\n

NAME who woke whom
RUN exec {sonde} offwaketime -f --comm sleep
WORKLOAD sleep 0.3; sleep 0.3
INT 0.5
EXPECT_RE ^sleep;.*nanosleep.*;hrtimer_wakeup.*\d{6}$|try_to_wake_up.* \d{6}$
