# "Kernel analysis with bpftrace" (LWN, 2019), seed 003: every program as printed there, against TCP transfers over loopback, by IPv4 and IPv6, whose
# sizes are known.

NAME seed/31 histogram of message sizes, as printed
RUN exec {sonde} -e 'k:tcp_sendmsg { @size = hist(arg2); } interval:s:10 { exit(); }'
WORKLOAD {build}/tcp 4 20 1500 100 5; {build}/tcp 6 10 1400 300
STDERR Attached 2 probes
EXPECT_LINE @size:
EXPECT_RE ^@size: ?\n\[4, 8\) +20 \|@{34} {18}\|\n(\[.*\) +0 \| {52}\|\n){3}\[64, 128\) +20 \|@{34} {18}\|\n\[128, 256\) +0 \| {52}\|\n\[256, 512\) +10 \|@{17} {35}\|\n\[512, 1K\) +0 \| {52}\|\n\[1K, 2K\) +30 \|@{52}\|$
TIMEOUT 40
INT 0.2

NAME seed/32 errors: none, as the article has it
RUN exec {sonde} -e 'kr:tcp_sendmsg { @retvals[retval > 0 ? 0 : retval] = count(); }
 interval:s:10 { exit(); }'
WORKLOAD {build}/tcp 4 30 1000; {build}/tcp 6 12 1000
STDERR Attached 2 probes
EXPECT_RE \A\s*@retvals\[0\]: 42\s*\Z
TIMEOUT 30
INT 0.2

# The interval is longer: the emulated python3 takes its time.
NAME seed/32 errors, with sends that fail
RUN exec {sonde} -e 'kr:tcp_sendmsg { @retvals[retval > 0 ? 0 : retval] = count(); } interval:s:100 { exit(); }'
WORKLOAD python3 -c 'import socket; l = socket.create_server(("127.0.0.1", 50009)); s = socket.create_connection(("127.0.0.1", 50009)); s.send(b"abc"); s.shutdown(socket.SHUT_WR); s.send(b"x")'
EXPECT_LINE @retvals[0]: 1
EXPECT_LINE @retvals[-32]: 1
TIMEOUT 30
INT 0.5

NAME seed/33 sizes above 8192, per event
RUN {sonde} -q -c '{build}/tcp 4 2 8192 8193 20000' -e 'k:tcp_sendmsg /arg2 > 8192/ { printf("PID %d: %d bytes\n", pid, arg2); }'
EXPECT_RE ^PID \d+: 8193 bytes\nPID \d+: 8193 bytes\nPID \d+: 20000 bytes\nPID \d+: 20000 bytes$
EXPECT_NOT 8192 bytes

NAME seed/34 histogram for each process
RUN exec {sonde} -q -e 'k:tcp_sendmsg { @size[pid, comm] = hist(arg2); }'
WORKLOAD {build}/tcp 4 7 3000; {build}/tcp 6 3 3000 20
EXPECT_RE ^@size\[\d+, tcp\]:\s*\n\[2K, 4K\) +7 \|@{52}\|$
EXPECT_RE ^@size\[\d+, tcp\]:\s*\n\[16, 32\) +3 \|@{52}\|\n(\[.*\) +0 \| {52}\|\n){6}\[2K, 4K\) +3 \|@{52}\|$
INT 0.2

NAME seed/35 return values
RUN exec {sonde} -q -e 'kr:tcp_sendmsg { @return[retval] = count(); }'
WORKLOAD {build}/tcp 6 9 123 456; {build}/tcp 4 4 123 7
EXPECT_RE \A\s*@return\[7\]: 4\n@return\[456\]: 9\n@return\[123\]: 13\s*\Z
INT 0.2

NAME seed/36 statistics each second
RUN trap : INT; {sonde} -q -e 'k:tcp_sendmsg { @size = stats(arg2); }
 interval:s:1 { print(@size); clear(@size); }' | (trap '' INT; tee j); python3 -c 'import re; print(*(sum(map(int, re.findall(r"^@size: .*%s\D* (\d+)" % w, open("j").read(), re.M))) for w in ("count", "total")))'
WORKLOAD {build}/tcp 4 10 100 300
# The transfer may be in two of the seconds.
EXPECT_RE ^@size: .*count.* \d+, .*average.* \d+, .*total.* \d+
EXPECT_LINE 20 4000
RC 0
INT 2.3

NAME seed/37 calling stacks
RUN {sonde} -q -c '{build}/tcp 4 11 100' -e 'k:tcp_sendmsg { @[kstack] = count(); }'
EXPECT_RE ^@\[\s*\n\s+tcp_sendmsg\+\d+\n(\s+inet_sendmsg\+\d+\n)?\s+\w*sock_sendmsg\+\d+\n(\s+\S+\+\d+\n)*\s+(do_syscall_64\+\d+\n\s+entry_SYSCALL_64_after_hwframe|el0t_64_sync_handler\+\d+\n\s+el0t_64_sync)\+\d+\n\]: 11$

NAME seed/38 calling stacks, three levels
RUN {sonde} -q -c '{build}/tcp 4 11 100' -e 'k:tcp_sendmsg { @[kstack(3)] = count(); }'
EXPECT_RE ^@\[\s*\n\s+tcp_sendmsg\+\d+\n\s+\S+\+\d+\n\s+\S+\+\d+\n\]: 11$

NAME seed/39 latency
RUN {sonde} -q -c '{build}/tcp 4 50 100' -e 'k:tcp_sendmsg { @ts[tid] = nsecs; }
 kr:tcp_sendmsg /@ts[tid]/ { @ns = hist(nsecs - @ts[tid]); delete(@ts[tid]); }' | python3 -c 'import re, sys; t = sys.stdin.read(); print(t); print(sum(map(int, re.findall(r"\) +(\d+) \|", t))), "calls")'
EXPECT_RE ^@ns: ?\n(\[.*\) +\d+ \|[@ ]{52}\|\n)+
EXPECT_LINE 50 calls
EXPECT_NOT @ts

NAME seed/40 tcp_sendmsg.bt, IPv4
RUN {sonde} -q -c '{build}/tcp 4 3 63 5000' {top}/test/vm/tcp_sendmsg.bt
EXPECT_RE \A(127\.0\.0\.1       20004 -> 127\.0\.0\.1       30004: 63 bytes, retval 63\n){3}(127\.0\.0\.1       20004 -> 127\.0\.0\.1       30004: 5000 bytes, retval 5000\n){3}\s*\Z

NAME seed/40 tcp_sendmsg.bt, IPv6
RUN {sonde} -q -c '{build}/tcp 6 3 63' {top}/test/vm/tcp_sendmsg.bt
EXPECT_RE \A(IPv6\.\.\.\n){3}\s*\Z

NAME seed/40 ntop of IPv6 addresses
RUN {sonde} -q -c '{build}/tcp 6 2 63' -e 'k:tcp_sendmsg { $sk = (struct sock *)arg0; if ($sk->__sk_common.skc_family == AF_INET6) { printf("%s %d -> %s\n", ntop(AF_INET6, $sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr8), $sk.__sk_common.skc_num, ntop($sk->__sk_common.skc_v6_daddr.in6_u.u6_addr8)) } }'
EXPECT_RE ^::1 20006 -> ::1\n::1 20006 -> ::1$

NAME seed/40 the file is executable by its shebang line
RUN mkdir -p /usr/local/bin && ln -sf {sonde} /usr/local/bin/bpftrace && cp {top}/test/vm/tcp_sendmsg.bt {tmp} && cd {tmp} && chmod +x tcp_sendmsg.bt && exec ./tcp_sendmsg.bt
WORKLOAD {build}/tcp 4 1 77
STDERR Attached 2 probes
EXPECT_LINE 127.0.0.1       20004 -> 127.0.0.1       30004: 77 bytes, retval 77
RC 0
TIMEOUT 20
INT 0.5

NAME seed/41 offwake.bt
RUN exec {sonde} {top}/test/vm/offwake.bt
WORKLOAD for i in 1 2 3 4 5 6 7 8; do sleep 0.2; done
EXPECT_LINE Tracing off-CPU time (us) with waker stacks. Ctrl-C to end.
EXPECT_RE ^@us\[sleep, \n\s+finish_task_switch(\.isra\.0)?\+\d+\n(\s+\S+\+\d+\n)*\s+\S*nanosleep\S*\+\d+\n(\s+\S+\n)*, \n\s+try_to_wake_up\+\d+\n(\s+wake_up_process\+\d+\n)?\s+hrtimer_wakeup\+\d+\n(\s+\S+\n)*\]: *\n
EXPECT_NOT @waker
EXPECT_NOT @ts
RC 0
TIMEOUT 30
INT 0.5

NAME seed/42 who woke the waker
RUN exec {sonde} -q -e 'kprobe:try_to_wake_up { $p = (struct task_struct *)arg0; @waker[$p->pid] = (kstack, @chain[tid].1); @chain[$p->pid] = (comm, comm) } kprobe:finish_task_switch { if (comm == "sleep") { @[comm, @chain[tid].0] = count() } } END { clear(@waker); clear(@chain) }'
WORKLOAD for i in 1 2 3 4; do sleep 0.1; done
EXPECT_RE ^@\[sleep, \S+\]: \d+$
RC 0
TIMEOUT 20
INT 0.5

NAME seed/43 listing a tracepoint's fields
RUN {sonde} -lv 't:timer:hrtimer_start'
EXPECT_RE ^tracepoint:timer:hrtimer_start\n    void \* hrtimer\n    void \* function\n    s64 expires\n    s64 softexpires$

NAME seed/44 ksym of an argument
RUN {sonde} -q -c 'sleep 0.2' -e 't:timer:hrtimer_start { @[ksym(args->function)] = count(); }'
EXPECT_RE ^@\[hrtimer_wakeup\]: \d+$

NAME seed/45 kernel stacks at 99 Hertz
RUN {sonde} -q -c 'dd if=/dev/urandom of=/dev/null bs=64k count=300' -e 'profile:hz:99 { @[kstack] = count(); }' | python3 -c 'import re, sys; t = sys.stdin.read(); print(t, "a program that no filter" if re.search(r"bpf_prog_[0-9a-f]{16}_\S*\n(?!.*seccomp)", t) else "")'
EXPECT_RE ^@\[\n(\s+\S+\+\d+\n)*\s+chacha_\S+\+\d+\n
EXPECT_NOT a program that no filter
EXPECT_NOT perf_event_overflow
TIMEOUT 40

NAME seed/46 long paths whole
RUN {sonde} -q -c 'cat /proc/self/root/proc/self/root/proc/self/root/proc/self/root/proc/self/root/proc/self/root/proc/uptime' -e 't:syscalls:sys_enter_openat /comm == "cat"/ { printf("opening: %s\n", str(args->filename)); }'
EXPECT_LINE opening: /proc/self/root/proc/self/root/proc/self/root/proc/self/root/proc/self/root/proc/self/root/proc/uptime

NAME seed/48 a header that is not installed
RUN {sonde} -q -e '#include <linux/no_such_header_here.h>
 BEGIN { $t = (struct task_struct *)curtask; printf("%d %d\n", $t->pid == tid, AF_INET6); exit() }'
EXPECT_LINE 1 10
