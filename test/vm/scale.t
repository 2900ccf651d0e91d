# Many kernel functions at once, and what is left of them. In kernels without kprobe_multi one trace event carries them all (src/probe/kbatch.c).

NAME a hundred functions, and nothing is left
RUN {sonde} -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_[a-s]* { @n = count(); @f[func] = count() }' 2>&1 && cat /sys/kernel/debug/kprobes/list /sys/kernel/tracing/kprobe_events
EXPECT_RE ^Attached [1-4]\d\d probes$
EXPECT_LINE @f[tcp_sendmsg]: 3
EXPECT_NOT sonde_
EXPECT_NOT [FTRACE]
TIMEOUT 40

NAME a hundred functions: each kernel stack has its callers
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_[a-s]* { @[kstack] = count() }' >o; python3 -c 'import re; s = [b.split() for b in re.findall(r"@\[\s*\n(.*?)\]: \d+", open("o").read(), re.S)]; print("many", len(s) > 50, "alone", sum(len(b) < 2 for b in s), "told", sum(b[0].startswith("tcp_sendmsg+") and len(b) > 3 for b in s))'
EXPECT_RE ^many True alone 0 told [1-9]
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

NAME killed while attaching: nothing is left
RUN {sonde} -e 'kprobe:tcp_* { @n = count() } kretprobe:tcp_* { @r = count() } BEGIN { printf("all there\n") }' >{tmp}/o & p=$!; while ! grep -q 'sonde_\|tcp_' /sys/kernel/tracing/kprobe_events /sys/kernel/tracing/enabled_functions && ! grep -q there {tmp}/o; do :; done; kill -KILL $p; wait $p; grep -c there {tmp}/o; for i in $(seq 100); do grep -q sonde_ /sys/kernel/tracing/kprobe_events || break; sleep 0.3; done; cat /sys/kernel/debug/kprobes/list /sys/kernel/tracing/kprobe_events; grep tcp_ /sys/kernel/tracing/enabled_functions; echo looked
EXPECT_LINE looked
EXPECT_NOT sonde_
EXPECT_NOT tcp_
TIMEOUT 60

NAME a failed attach leaves nothing: a forbidden function
RUN {sonde} -e 'kprobe:do_int3 { @ = count() } kprobe:tcp_[a-m]*,kprobe:tcp_sendmsg { @n = count() }'; r=$?; cat /sys/kernel/debug/kprobes/list /sys/kernel/tracing/kprobe_events; exit $r
RC 1
STDERR blacklist
EXPECT_NOT tcp_
NEED arch:x86_64
TIMEOUT 40

# The kernel lets no kprobe be where a jump label is: known when it is tried, with the others attached before. kprobe_multi, its sessions or the
# trace events of kbatch.c for the many, a perf event each for the rest.
NAME a failed attach leaves nothing: a place among others that the kernel refuses, of each kind
NEED ksym:__start___jump_table
RUN j=$(python3 {top}/test/vm/jumplabel.py); {sonde} -e "kprobe:tcp_[a-m]* { @n = count() } kretprobe:tcp_[a-m]* { @r = count() } kprobe:tcp_sendmsg,kprobe:tcp_recvmsg,kprobe:$j,kprobe:tcp_close { @m = count() } tracepoint:sched:sched_switch { @t = count() }" 2>{tmp}/e; r=$?; cat {tmp}/e >&2; grep -c "cannot attach kprobe:$j: the kernel does not let kprobes into tcp_" {tmp}/e; cat /sys/kernel/debug/kprobes/list /sys/kernel/tracing/kprobe_events; grep -E 'tcp_|sched_switch' /sys/kernel/tracing/enabled_functions; echo looked; exit $r
RC 1
EXPECT_RE \A1\nlooked\n\Z
TIMEOUT 60

# A function takes 38 programs (BPF_MAX_TRAMP_LINKS); the refused one is the 39th.
NAME a failed attach leaves nothing: fentry and fexit, refused at the 39th
NEED fentry
RUN for i in $(seq 41); do echo "fentry:tcp_sendmsg { @in$i = count() } fexit:tcp_recvmsg { @out$i = count() }"; done >{tmp}/s.bt; {sonde} {tmp}/s.bt; r=$?; grep tcp_ /sys/kernel/tracing/enabled_functions; echo looked; exit $r
RC 1
STDERR cannot attach f
EXPECT_RE \Alooked\n\Z
TIMEOUT 60

NAME killed with fentry on many functions: nothing is left
NEED fentry
RUN {sonde} -e 'fentry:tcp_s* { @n = count() } BEGIN { printf("all there\n") }' >{tmp}/o & p=$!; while ! grep -q tcp_s /sys/kernel/tracing/enabled_functions && ! grep -q there {tmp}/o; do :; done; kill -KILL $p; wait $p; for i in $(seq 100); do grep -q tcp_s /sys/kernel/tracing/enabled_functions || break; sleep 0.3; done; grep tcp_s /sys/kernel/tracing/enabled_functions; echo looked
EXPECT_RE \Alooked\n\Z
TIMEOUT 60

# Links are seen in fdinfo.
NAME kprobe session: entry and return of many functions are one link
NEED kprobe_session
RUN for o in "" "--no-feature kprobe_session"; do {sonde} $o -e 'kprobe:tcp_* { @n = count() } kretprobe:tcp_* { @n = count() } BEGIN { printf("begun\n") }' >{tmp}/o 2>&1 & p=$!; while ! grep -q begun {tmp}/o; do sleep 0.1; done; echo "links$o: $(grep -lE 'k(ret)?probe_multi' /proc/$p/fdinfo/* | wc -l)"; kill -INT $p; wait $p; grep Attached {tmp}/o; done | sort | uniq -c
EXPECT_RE ^ +1 links: 1$
EXPECT_RE ^ +1 links--no-feature kprobe_session: 2$
EXPECT_RE ^ +2 Attached \d\d\d probes$
TIMEOUT 40

NAME kprobe session: what entry and return see, whatever the entry returns
NEED kprobe_session
RUN {sonde} -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_[s-z]* { @a[tid, func] = arg2; for ($i : 0..3) { @loops[func] = count() } return 5 } kretprobe:tcp_[s-z]* /retval == 111/ { @[func, @a[tid, func], retval, probetype] = count(); for ($i : 0..2) { @rounds[kstack(1)] = count() } } END { clear(@a) }'
EXPECT_LINE @[tcp_sendmsg, 111, 111, kretprobe]: 3
EXPECT_LINE @loops[tcp_sendmsg]: 9
EXPECT_RE ^\]: \d+$
TIMEOUT 40

NAME kprobe session: not where it would change the order of two actions on one return
NEED kprobe_session
RUN {sonde} -e 'kprobe:tcp_* { @n = count() } kretprobe:tcp_* { @n = count() } kretprobe:tcp_sendm* { @m = count() } BEGIN { printf("begun\n") }' >{tmp}/o & p=$!; while ! grep -q begun {tmp}/o; do sleep 0.1; done; grep -lE 'k(ret)?probe_multi' /proc/$p/fdinfo/* | wc -l; kill -INT $p; wait $p
EXPECT_LINE 3
TIMEOUT 40
