# Many kernel functions at once, and what is left of them. In kernels without kprobe_multi one trace event carries them all (src/probe/kbatch.c).

NAME a hundred functions, and nothing is left
RUN {sonde} -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_[a-s]* { @n = count(); @f[func] = count() }' && cat /sys/kernel/debug/kprobes/list /sys/kernel/tracing/kprobe_events
EXPECT_RE ^Attached [12]\d\d probes$
EXPECT_LINE @f[tcp_sendmsg]: 3
EXPECT_NOT sonde_
EXPECT_NOT [FTRACE]
TIMEOUT 40

NAME interrupted as soon as all are attached
RUN trap : INT; {sonde} -e 'kprobe:tcp_[a-m]* { @n = count() } END { printf("ended\n") }'; cat /sys/kernel/debug/kprobes/list /sys/kernel/tracing/kprobe_events
INT 0
EXPECT_LINE ended
EXPECT_NOT sonde_
EXPECT_NOT [FTRACE]
TIMEOUT 40

NAME killed: nothing is left
RUN {sonde} -e 'kprobe:tcp_[a-m]* { @n = count() } interval:ms:10 { if (@done == 0) { @done = 1; printf("all there\n") } }' >{tmp}/o & p=$!; while ! grep -q there {tmp}/o; do sleep 0.1; done; kill -KILL $p; wait $p; for i in 1 2 3 4 5 6 7 8 9 10; do grep -q sonde_ /sys/kernel/tracing/kprobe_events || break; sleep 0.3; done; cat /sys/kernel/debug/kprobes/list /sys/kernel/tracing/kprobe_events; echo looked
EXPECT_LINE looked
EXPECT_NOT sonde_
EXPECT_NOT tcp_
TIMEOUT 40

NAME a failed attach leaves nothing
RUN {sonde} -e 'kprobe:do_int3 { @ = count() } kprobe:tcp_[a-m]*,kprobe:tcp_sendmsg { @n = count() }'; r=$?; cat /sys/kernel/debug/kprobes/list /sys/kernel/tracing/kprobe_events; exit $r
RC 1
STDERR blacklist
EXPECT_NOT tcp_
NEED arch:x86_64
TIMEOUT 40
