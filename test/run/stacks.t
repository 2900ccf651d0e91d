# User stacks of processes that come, go and change while they are traced, and of threads caught at any place. Known answers: test/progs/frames.c.
# Debian's arm64 libc names no local functions: the one between main and __libc_start_main is an offset there.

NAME a command's first stacks are whole
RUN {sonde} -q --why-incomplete -c '{build}/frames calls 3' -e 'uprobe:{build}/frames:leaf { printf("%s\n", ustack) }' 2>&1
EXPECT_LINE 3 user stacks, 3 whole (100.00 %)
EXPECT_STACKS leaf\+0

NAME a named process's first stacks are whole, also where others are traced too
RUN {build}/frames calls 100000000 & {sonde} -q --why-incomplete -p $! -e "tracepoint:syscalls:sys_enter_getppid /pid == $!/ { @[ustack] = count(); @n++; if (@n == 100) { exit() } }" 2>&1; kill $!
EXPECT_RE ^(\d+) user stacks, \1 whole \(100\.00 %\)
EXPECT_RE ^\s+(\w*getppid|syscall)\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6)\+\w+\n)*\s+_start\+\d+\n\]: \d{3,}$

NAME without names: each stack is whole or counted as cut
RUN {sonde} -q -f json --why-incomplete -e 'tracepoint:syscalls:sys_enter_getppid /comm == "frames"/ { @[ustack] = count(); @n++; if (@n == 200) { exit() } }' > j 2>&1 & sleep 1; while kill -0 $! 2>/dev/null; do {build}/frames calls 20; done; python3 -c 'import json; r=[json.loads(l) for l in open("j") if l[0] == "{"]; u=[x["data"] for x in r if x["type"]=="user_stacks"][0]; s=[x["data"]["@"] for x in r if x["type"]=="map" and "@" in x["data"]][0]; whole=sum(n for k, n in s.items() if "_start" in k); print(whole == u["whole"], sum(s.values()) - whole == sum(x["count"] for x in u["incomplete"]))'
TIMEOUT 30
EXPECT_LINE True True

NAME programs that live a millisecond
NEED cmd:perl
RUN {sonde} -q --why-incomplete -c "sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do perl -e getppid; done'" -e 'tracepoint:syscalls:sys_enter_getppid /comm == "perl"/ { @[ustack(3)] = count(); @all[ustack] = count() }' 2>&1
TIMEOUT 40
EXPECT_RE ^@\[\s*\n\s+\w*getppid\+\d+\n\s+Perl_pp_getppid\+\d+\n\s+Perl_runops_standard\+\d+\n\]: (20|1\d)$
EXPECT_RE ^40 user stacks, (40|3[4-9]) whole

NAME exec of itself
RUN {sonde} -q --why-incomplete -c '{build}/frames exec 20' -e 'uprobe:{build}/frames:leaf { @[ustack] = count() }' 2>&1
EXPECT_LINE 21 user stacks, 21 whole (100.00 %)
EXPECT_RE ^@\[\n\s+leaf\+0\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+again\+\d+\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6)\+\w+\n)*\s+_start\+\d+\n\]: 21$

NAME exec of another program at the same addresses
NEED cmd:perl
RUN {sonde} -q -f json -c 'setarch -R perl -e "getppid for 1..200; exec q({build}/frames), qw(calls 5)"' -e 'tracepoint:syscalls:sys_enter_getppid /comm == "frames" || comm == "perl"/ { @[comm, ustack] = count() }' >j; python3 -c 'import json; m=[json.loads(l)["data"]["@"] for l in open("j") if "\"map\"" in l][0]; k=[k.split(",", 1) for k in m]; print({c for c, s in k} == {"perl", "frames"}, all(("perl+" in s or "Perl_" in s) == (c == "perl") and ("inner" in s) == (c == "frames") for c, s in k))'
EXPECT_LINE True True

NAME fork without exec
RUN {sonde} -q --why-incomplete -c '{build}/frames fork 30' -e 'tracepoint:syscalls:sys_enter_getppid /comm == "frames"/ { @[ustack] = count() }' 2>&1
EXPECT_LINE 30 user stacks, 30 whole (100.00 %)
EXPECT_RE ^@\[\n\s+(\w*getppid|syscall)\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6)\+\w+\n)*\s+_start\+\d+\n\]: 30$

# A table for a library nobody mapped before takes milliseconds: the program pauses after dlopen().
NAME a library in the place of another
NEED cmd:cc
RUN for l in a b; do n=$((n + 3)); echo "__attribute__((noinline)) static long call_$l(long (*f)(long), long n) { return f(n) * $n; } long in_library(long (*f)(long), long n) { return call_$l(f, n) + 1; }" | cc -O2 -fomit-frame-pointer -shared -fPIC -x c -o $l.so -; done; {sonde} -q -c '{build}/frames reopen ./a.so ./b.so 7' -e 'uprobe:{build}/frames:leaf { @[ustack(4)] = count() }' >o; sort -u o | grep -c ^0x; cat o
EXPECT_LINE 1
EXPECT_RE ^@\[\n\s+leaf\+0\n\s+call_a\+\d+\n\s+in_library\+\d+\n\s+use_library\+\d+\n\]: 7$
EXPECT_RE ^@\[\n\s+leaf\+0\n\s+call_b\+\d+\n\s+in_library\+\d+\n\s+use_library\+\d+\n\]: 7$

NAME a process number that comes back
NEED cmd:perl
NEED file:/proc/sys/kernel/ns_last_pid
RUN {build}/frames calls 100000000 & f=$!; perl -e '1 while 1' & {sonde} -q -f json -c 'sh -c "for t in 1 2 3 4 5 6 7 8 9 10 11 12; do perl -e getppid & p=\$!; wait \$p; echo \$((p-1)) >/proc/sys/kernel/ns_last_pid; {build}/frames calls 3 & q=\$!; wait \$q; test \$p = \$q && exit; done"' -e "tracepoint:syscalls:sys_enter_getppid /pid != $f/ { @[pid, comm, ustack] = count() }" >j; kill $f $!; python3 -c 'import json; m=[json.loads(l)["data"]["@"] for l in open("j") if "\"map\"" in l][0]; k=[k.split(",", 2) for k in m]; both={p for p, c, s in k if c.strip() == "perl"} & {p for p, c, s in k if c.strip() == "frames"}; print(len(both), all(("Perl_pp_getppid" in s) == (c.strip() == "perl") and ("middle" in s) == (c.strip() == "frames") and "_start" in s for p, c, s in k if p in both))'
TIMEOUT 30
EXPECT_LINE 1 True

NAME inside a container, a file only it has
NEED cmd:unshare
RUN cp {build}/frames inside; {sonde} -q -c "unshare -m -p -f sh -c 'mount -t tmpfs t /mnt && cp inside /mnt/only && exec /mnt/only calls 200000'" -e 'tracepoint:syscalls:sys_enter_getppid /comm == "only"/ { @[ustack] = count() }'
EXPECT_RE ^@\[\n\s+(\w*getppid|syscall)\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6)\+\w+\n)*\s+_start\+\d+\n\]: \d+$

NAME a binary replaced while it runs: both versions
NEED cmd:cc
RUN cp {build}/frames x; ./x calls 100000000 & a=$!; sleep 0.2; sed 's/\<inner\>/newer/g; s/\<middle\>/between/g' {top}/test/progs/frames.c | cc -O1 -fomit-frame-pointer -x c -o y -; mv y x; ./x calls 100000000 & {sonde} -q -e 'tracepoint:syscalls:sys_enter_getppid /comm == "x"/ { @[pid, ustack(5)] = count() } interval:ms:500 { exit() }' >o; kill $a $!; sleep 0.1; cat o
EXPECT_RE ^@\[\d+, \n\s+(\w*getppid|syscall)\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n\]: \d+$
EXPECT_RE ^@\[\d+, \n\s+(\w*getppid|syscall)\+\d+\n\s+newer\+\d+\n\s+between\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n\]: \d+$

NAME a deleted binary
RUN cp {build}/frames x; ./x calls 100000000 & a=$!; sleep 0.2; rm x; {sonde} -q --why-incomplete -p $a -e 'tracepoint:syscalls:sys_enter_getppid /comm == "x"/ { @[ustack(5)] = count(); @n++; if (@n == 50) { exit() } }'; kill $a
EXPECT_RE ^@\[\n\s+(\w*getppid|syscall)\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n\]: \d+$

NAME a program in a memory file
RUN {sonde} -q -c "python3 -c 'import os; f = os.memfd_create(\"frames\", 0); os.write(f, open(\"{build}/frames\", \"rb\").read()); os.execv(\"/proc/self/fd/%d\" % f, [\"frames\", \"calls\", \"2000\"])'" -e 'tracepoint:syscalls:sys_enter_getppid /comm != "python3"/ { @[ustack] = count() }'
EXPECT_RE ^@\[\n\s+(\w*getppid|syscall)\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6)\+\w+\n)*\s+_start\+\d+\n\]: \d+$

NAME names of programs that have ended
RUN cp {build}/frames gone; {sonde} -q -c 'sh -c "./gone fork 10; rm gone"' -e 'uprobe:./gone:leaf { @[func, ustack(4)] = count() }'
EXPECT_RE ^@\[leaf, \n\s+leaf\+0\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\]: \d+$

NAME blocked in the scheduler
RUN {sonde} -q --why-incomplete -c '{build}/waits sleep 3 10' -e 'tracepoint:sched:sched_switch /comm == "napper" && args.prev_state == 1/ { @[ustack] = count() }' 2>&1
EXPECT_RE ^\s+\w*clock_nanosleep\w*\+\d+\n\s+nap_inner\+\d+\n\s+nap_outer\+\d+\n\s+napper\+\d+\n

NAME deep in the kernel
NEED kprobe
RUN {sonde} -q --why-incomplete -c '{build}/frames fault 20' -e 'kprobe:handle_mm_fault /comm == "frames"/ { @[ustack(4)] = count(); @[ustack] = count() }' 2>&1
EXPECT_RE ^@\[\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n\]: (20|1\d)$
EXPECT_RE ^(\d+) user stacks, \1 whole

NAME in a page fault
NEED arch:x86_64
RUN {sonde} -q -c '{build}/frames fault 20' -e 'tracepoint:exceptions:page_fault_user /comm == "frames"/ { @[ustack(4)] = count() }'
EXPECT_RE ^@\[\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n\]: 20$

NAME at any instruction: prologues and epilogues
RUN {sonde} -q --why-incomplete -c '{build}/frames spin 700' -e 'profile:hz:997 /comm == "frames"/ { @[ustack] = count(); @leaf[ustack(1)] = count() }' 2>&1
EXPECT_RE ^(\d+) user stacks, \1 whole
EXPECT_RE ^@leaf\[\n\s+leaf\+0\n\]: \d+$
EXPECT_RE ^@leaf\[\n\s+middle\+0\n\]: \d+$

NAME behind pending return probes
RUN {sonde} -q --why-incomplete -c '{build}/frames calls 5' -e 'uretprobe:{build}/frames:leaf,uretprobe:{build}/frames:inner,uretprobe:{build}/frames:middle,uretprobe:{build}/frames:outer { @r[func, ustack] = count() } tracepoint:syscalls:sys_enter_getppid /comm == "frames"/ { @[ustack] = count() }' 2>&1
EXPECT_LINE 25 user stacks, 25 whole (100.00 %)
EXPECT_RE ^@\[\n\s+(\w*getppid|syscall)\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6)\+\w+\n)*\s+_start\+\d+\n\]: 5$
EXPECT_NOT uprobes

NAME 600 frames deep
RUN {sonde} -q --why-incomplete -c '{build}/frames deep 600' -e 'uprobe:{build}/frames:leaf { printf("%s\n", ustack(1000)) }' >o 2>&1; grep -c down+ o; cat o
EXPECT_LINE 601
EXPECT_LINE 1 user stacks, 1 whole (100.00 %)
EXPECT_RE ^\s+_start\+\d+$

# frames is built for arm64 with -mbranch-protection=pac-ret: where the processor has codes, inner's and middle's frames hold signed addresses.
NAME return addresses with pointer authentication codes
NEED arch:aarch64
RUN grep -q ' paca ' /proc/cpuinfo || echo no codes; {sonde} -q --why-incomplete -c '{build}/frames calls 3' -e 'uprobe:{build}/frames:leaf { @[ustack] = count(); for ($i : 0..8) { printf("%llx\n", *(uint64 *)(reg("sp") + 8 * $i)) } }' 2>&1
EXPECT_RE ^(no codes|[0-9a-f]{13,14})$
EXPECT_RE ^@\[\n\s+leaf\+0\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n(\s+\S+\+\w+\n)*\s+_start\+\d+\n\]: 3$
EXPECT_LINE 3 user stacks, 3 whole (100.00 %)

NAME code without .eh_frame and without frame pointers is followed by its instructions, stripped too
RUN gcc -O2 -g0 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -o bare {top}/test/progs/workload.c -lpthread -lm; readelf -S bare | grep -c -w debug_frame; cp bare stripped; strip stripped; for p in bare stripped; do ./$p 60 >/dev/null & P=$!; {sonde} profile -p $P -U -F 499 -f --why-incomplete 2 2>e >o; kill $P; wait $P; sed -n 's/,//; s/^\([0-9]*\) user stacks \([0-9]*\) whole.*/\1 \2/p' e | awk '{ print ($1 > 5 && $2 > 0.9 * $1) ? "whole" : "not whole: " $0 }'; grep -c '^[^;]*;clone3;start_thread;' o | awk '{ print ($1 > 0) }'; done
NEED cmd:gcc
NEED host
NEED arch:x86_64
TIMEOUT 60
EXPECT_RE \A0\n(whole\n1\n){2}\Z
