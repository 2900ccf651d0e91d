# User stacks of processes that come, go and change while they are traced, and of threads caught at any place. Known answers: test/progs/frames.c.
# Debian's arm64 libc names no local functions: the one between main and __libc_start_main is an offset there.

FILE TOGETHER

NAME a command's first stacks are whole
RUN {sonde} -q --why-incomplete -c '{copy:frames} calls 3' -e 'uprobe:{copy:frames}:leaf { printf("%s\n", ustack) }' 2>&1
EXPECT_LINE 3 user stacks, 3 whole (100.00 %)
EXPECT_STACKS leaf\+0

NAME a named process's first stacks are whole, also where others are traced too
RUN {copy:frames} calls 100000000 & {sonde} -q --why-incomplete -p $! -e "tracepoint:syscalls:sys_enter_getppid /pid == $!/ { @[ustack] = count(); @n++; if (@n == 100) { exit() } }" 2>&1; kill $!
EXPECT_RE ^(\d+) user stacks, \1 whole \(100\.00 %\)
EXPECT_RE ^\s+(\w*getppid|syscall)\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6|\[libc\.so\.6\+\w+\])\+\w+\n)*\s+_start\+\d+\n\]: \d{3,}$

# Fields 40 and 41 of proc(5)'s stat: SCHED_FIFO is 1, SCHED_RR 2.
NAME who follows processes, and who builds tables, go before programs of other sessions
NEED host
RUN {sonde} profile -F 49 -f 30 >o & p=$!; until grep -q '^1 2$' s && grep -q '^2 1$' s; do sleep 0.02; cat /proc/$p/task/*/stat | sed 's/.*) //' | awk '{print $39, $38}' >s; done 2>/dev/null; sort s; kill -INT $p; wait $p
EXPECT_LINE 1 2
EXPECT_LINE 2 1

NAME without names: each stack is whole or counted as cut
RUN {sonde} -q -f json --why-incomplete -e 'tracepoint:syscalls:sys_enter_getppid /comm == "{name:frames}"/ { @[ustack] = count(); @n++; if (@n == 200) { exit() } }' > j 2>&1 & sleep 1; while kill -0 $! 2>/dev/null; do {copy:frames} calls 20; done; python3 -c 'import json; r=[json.loads(l) for l in open("j") if l[0] == "{"]; u=[x["data"] for x in r if x["type"]=="user_stacks"][0]; s=[x["data"]["@"] for x in r if x["type"]=="map" and "@" in x["data"]][0]; whole=sum(n for k, n in s.items() if "_start" in k); print(whole == u["whole"], sum(s.values()) - whole == sum(x["count"] for x in u["incomplete"])); print(whole, u, s)'
TIMEOUT 30
EXPECT_LINE True True

NAME programs that live a millisecond
ALONE others run perl too
RETRY 2 they end while their tables are made
NEED cmd:perl
RUN {sonde} -q --why-incomplete -c "sh -c 'for i in $(echo $(seq 100)); do perl -e getppid; done'" -e 'tracepoint:syscalls:sys_enter_getppid /comm == "perl"/ { @[ustack(3)] = count(); @all[ustack] = count() }' 2>&1
TIMEOUT 40
EXPECT_RE ^@\[\s*\n\s+\w*getppid\+\d+\n\s+Perl_pp_getppid\+\d+\n\s+(Perl_runops_standard\+\d+|\(main\)\+\d+ \[-e:1\])\n\]: ([5-9]\d|100)$
EXPECT_RE ^200 user stacks, (200|1\d\d) whole

NAME exec of itself
NEED ksym:mt_find
RUN {sonde} -q --why-incomplete -c '{copy:frames} exec 20' -e 'uprobe:{copy:frames}:leaf { @[ustack] = count() }' 2>&1
EXPECT_LINE 21 user stacks, 21 whole (100.00 %)
EXPECT_RE ^@\[\n\s+leaf\+0\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+again\+\d+\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6|\[libc\.so\.6\+\w+\])\+\w+\n)*\s+_start\+\d+\n\]: 21$

NAME exec of another program at the same addresses
ALONE others run perl too
RETRY 2 the new program ends while its table is made
NEED cmd:perl
RUN {sonde} -q -f json -c 'setarch -R perl -e "getppid for 1..200; exec q({build}/frames), qw(calls 5)"' -e 'tracepoint:syscalls:sys_enter_getppid /comm == "frames" || comm == "perl"/ { @[comm, ustack] = count() }' >j; python3 -c 'import json; m=[json.loads(l)["data"]["@"] for l in open("j") if "\"map\"" in l][0]; k=[k.split(",", 1) for k in m]; print({c for c, s in k} == {"perl", "frames"}, all(("perl+" in s or "Perl_" in s) == (c == "perl") and ("inner" in s) == (c == "frames") for c, s in k))'
EXPECT_LINE True True

# The kernel delivers a signal before the first instruction at the latest; uprobes then stop at in_signal's.
NAME a signal at a function's first instruction: trampoline and interrupted function have their names
RUN {sonde} -q --why-incomplete -c '{copy:frames} signal 10' -e 'uprobe:{copy:frames}:in_signal { @[ustack] = count(); @three[ustack(3)] = count(); @four[ustack(4)] = count() }' 2>&1
EXPECT_LINE 30 user stacks, 30 whole (100.00 %)
EXPECT_RE ^@\[\n\s+in_signal\+0\n\s+on_signal\+\d+\n\s+(__restore_rt|__kernel_rt_sigreturn|__vdso_rt_sigreturn)\+0\n\s+spot\+0\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6|\[libc\.so\.6\+\w+\])\+\w+\n)*\s+_start\+\d+\n\]: 10$
EXPECT_RE ^@three\[\n\s+in_signal\+0\n\s+on_signal\+\d+\n\s+(__restore_rt|__kernel_rt_sigreturn|__vdso_rt_sigreturn)\+0\n\]: 10$
EXPECT_RE ^@four\[\n\s+in_signal\+0\n\s+on_signal\+\d+\n\s+(__restore_rt|__kernel_rt_sigreturn|__vdso_rt_sigreturn)\+0\n\s+spot\+0\n\]: 10$
EXPECT_NOT before_spot

# Virtual addresses: of functions, that of the symbol and where the program was loaded; the probe's own is the instruction pointer.
NAME ustack(raw) and ustack(perf) give virtual addresses
RUN {sonde} -q --why-incomplete -c '{copy:frames} calls 3' -e 'uprobe:{copy:frames}:inner { @r[ustack(raw)] = count(); @p[ustack(perf)] = count(); @three[ustack(raw, 3)] = count(); @n = len(ustack(perf)); @ip[reg("'$(test $(uname -m) = x86_64 && echo ip || echo pc)'")] = 1; }' >o 2>&1; cat o; python3 {top}/test/run/addrs.py {copy:frames} o
EXPECT_LINE addresses True True True True True
EXPECT_LINE names inner middle outer main _start
EXPECT_LINE 12 user stacks, 12 whole (100.00 %)

# clear() forgets stacks that no map refers to: both halves of this one, and their pieces, are in use.
NAME ustack(perf) of a deep stack, also after clears of another map
RUN {sonde} -q -c 'sh -c "{copy:frames} deep 1500; sleep 0.5"' -e 'uprobe:{copy:frames}:leaf { @n = len(ustack(perf)); @x[ustack(perf)] = 1 } interval:ms:50 { @y[ustack] = 1; clear(@y) }' >o 2>&1; grep @n o; grep -c '^.[0-9a-f]* down+[0-9]* (.*/{name:frames})$' o
EXPECT_RE ^@n: 150\d$
EXPECT_LINE 1501

NAME fork without exec
NEED ksym:mt_find
RUN {sonde} -q --why-incomplete -c '{copy:frames} fork 30' -e 'tracepoint:syscalls:sys_enter_getppid /comm == "{name:frames}"/ { @[ustack] = count() }' 2>&1
EXPECT_LINE 30 user stacks, 30 whole (100.00 %)
EXPECT_RE ^@\[\n\s+(\w*getppid|syscall)\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6|\[libc\.so\.6\+\w+\])\+\w+\n)*\s+_start\+\d+\n\]: 30$

# A table for a library nobody mapped before takes milliseconds, on a busy machine more: the program pauses two seconds after dlopen().
NAME a library in the place of another
NEED cmd:cc
RUN for l in a b; do n=$((n + 3)); echo "__attribute__((noinline)) static long call_$l(long (*f)(long), long n) { return f(n) * $n; } long in_library(long (*f)(long), long n) { return call_$l(f, n) + 1; }" | cc -O2 -fomit-frame-pointer -shared -fPIC -x c -o $l.so -; done; {sonde} -q -c '{copy:frames} reopen ./a.so ./b.so 7' -e 'uprobe:{copy:frames}:leaf { @[ustack(4)] = count() }' >o; sort -u o | grep -c ^0x; cat o
EXPECT_LINE 1
EXPECT_RE ^@\[\n\s+leaf\+0\n\s+call_a\+\d+\n\s+in_library\+\d+\n\s+use_library\+\d+\n\]: 7$
EXPECT_RE ^@\[\n\s+leaf\+0\n\s+call_b\+\d+\n\s+in_library\+\d+\n\s+use_library\+\d+\n\]: 7$

NAME a process number that comes back
ALONE others take the number
NEED cmd:perl
NEED file:/proc/sys/kernel/ns_last_pid
RUN {build}/frames calls 100000000 & f=$!; perl -e '1 while 1' & {sonde} -q -f json -c 'sh -c "sleep 2; for t in 1 2 3 4 5 6 7 8 9 10 11 12; do perl -e getppid & p=\$!; wait \$p; echo \$((p-1)) >/proc/sys/kernel/ns_last_pid; {build}/frames calls 3 & q=\$!; wait \$q; test \$p = \$q && exit; done"' -e "tracepoint:syscalls:sys_enter_getppid /pid != $f/ { @[pid, comm, ustack] = count() }" >j; kill $f $!; python3 -c 'import json; m=[json.loads(l)["data"]["@"] for l in open("j") if "\"map\"" in l][0]; k=[k.split(",", 2) for k in m]; both={p for p, c, s in k if c.strip() == "perl"} & {p for p, c, s in k if c.strip() == "frames"}; print(len(both), all(("Perl_pp_getppid" in s) == (c.strip() == "perl") and ("middle" in s) == (c.strip() == "frames") and "_start" in s for p, c, s in k if p in both))'
TIMEOUT 30
EXPECT_LINE 1 True

NAME inside a container, a file only it has
NEED cmd:unshare
RUN cp {build}/frames inside; {sonde} -q -c "unshare -m -p -f sh -c 'mount -t tmpfs t /mnt && cp inside /mnt/only && exec /mnt/only calls 100000000'" -e 'tracepoint:syscalls:sys_enter_getppid /comm == "only"/ { @[ustack] = count() } interval:ms:200 { print(@) }' >o & s=$!; until grep -q middle+ o; do sleep 0.1; done; kill -INT $s; wait $s; cat o
TIMEOUT 40
EXPECT_RE ^@\[\n\s+(\w*getppid|syscall)\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6|\[libc\.so\.6\+\w+\])\+\w+\n)*\s+_start\+\d+\n\]: \d+$

# As rootless containers on fuse-overlayfs and AppImages have it: the process's memory has what is needed of its file.
NAME a program in a user's file system that root may not read
NEED host
NEED cmd:bindfs
NEED cmd:python3
NEED file:/dev/fuse
FEW samples
RETRY 2 samples
RUN d=$(mktemp -d /tmp/sonde-fuse.XXXXXX); mkdir $d/src $d/mnt; cp $(realpath $(command -v python3)) $d/src/interpreter; printf 'def busy():\n while 1:\n  sum(range(50))\nbusy()\n' >$d/src/busy.py; chmod -R a+rX $d; chown -R daemon $d; user="setpriv --reuid daemon --regid daemon --clear-groups"; $user bindfs --no-allow-other $d/src $d/mnt; cat $d/mnt/busy.py >/dev/null 2>&1 || echo denied; cd /; $user $d/mnt/interpreter $d/mnt/busy.py & P=$!; sleep 0.5; {sonde} profile -p $P -F 199 -f --why-incomplete 1 >$d/o 2>$d/e; {sonde} info -p $P | grep -A1 '^  python' | sed 's/ 3[^:]*:.*//'; grep -c '<module>;busy' $d/o | sed 's/^[1-9].*/some/'; grep -o 'whole (.*' $d/e | sed 's/(99\.[5-9].*/(100.00 %)/; s/;.*//'; kill $P; wait $P 2>/dev/null; $user fusermount3 -u $d/mnt || umount -l $d/mnt; rm -rf --one-file-system $d
TIMEOUT 60
EXPECT_RE \Adenied\n  python\n    functions and lines: yes\nsome\nwhole \(100\.00 %\)\n\Z

NAME a binary replaced while it runs: both versions
NEED cmd:cc
RUN cp {build}/frames x{id}; ./x{id} calls 100000000 & a=$!; until grep -qs /x{id} /proc/$a/maps; do sleep 0.05; done; sed 's/\<inner\>/newer/g; s/\<middle\>/between/g' {top}/test/progs/frames.c | cc -O1 -fomit-frame-pointer -x c -o y -; mv y x{id}; ./x{id} calls 100000000 & b=$!; {sonde} -q -e 'tracepoint:syscalls:sys_enter_getppid /comm == "x{id}"/ { @[pid, ustack(5)] = count() } interval:ms:200 { print(@) }' >o & s=$!; until grep -q 'middle+' o && grep -q 'between+' o; do sleep 0.1; done; kill -INT $s; wait $s; kill $a $b; cat o
TIMEOUT 40
EXPECT_RE ^@\[\d+, \n\s+(\w*getppid|syscall)\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n\]: \d+$
EXPECT_RE ^@\[\d+, \n\s+(\w*getppid|syscall)\+\d+\n\s+newer\+\d+\n\s+between\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n\]: \d+$

NAME a deleted binary
RUN cp {build}/frames x; ./x calls 100000000 & a=$!; until grep -qs /x$ /proc/$a/maps; do sleep 0.05; done; rm x; {sonde} -q --why-incomplete -p $a -e 'tracepoint:syscalls:sys_enter_getppid /comm == "x"/ { @[ustack(5)] = count(); @n++; if (@n == 50) { exit() } }'; kill $a
EXPECT_RE ^@\[\n\s+(\w*getppid|syscall)\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n\]: \d+$

NAME a program in a memory file
RUN {sonde} -q -c "python3 -c 'import os; f = os.memfd_create(\"frames\", 0); os.write(f, open(\"{copy:frames}\", \"rb\").read()); os.execv(\"/proc/self/fd/%d\" % f, [\"frames\", \"calls\", \"100000000\"])'" -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid && comm != "python3"/ { @[ustack] = count() } interval:ms:200 { print(@) }' >o & s=$!; until grep -q middle+ o; do sleep 0.1; done; kill -INT $s; wait $s; cat o
TIMEOUT 40
EXPECT_RE ^@\[\n\s+(\w*getppid|syscall)\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6|\[libc\.so\.6\+\w+\])\+\w+\n)*\s+_start\+\d+\n\]: \d+$

NAME names of programs that have ended
RUN cp {build}/frames gone; {sonde} -q -c 'sh -c "./gone fork 10; rm gone"' -e 'uprobe:./gone:leaf { @[func, ustack(4)] = count() }'
EXPECT_RE ^@\[leaf, \n\s+leaf\+0\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\]: \d+$

NAME blocked in the scheduler
RUN {sonde} -q --why-incomplete -c '{build}/waits sleep 3 10 {id}' -e 'tracepoint:sched:sched_switch /comm == "napper{id}" && args.prev_state == 1/ { @[ustack] = count() }' 2>&1
EXPECT_RE ^\s+\w*clock_nanosleep\w*\+\d+\n\s+nap_inner\+\d+\n\s+nap_outer\+\d+\n\s+napper\+\d+\n

NAME deep in the kernel
NEED kprobe
RUN {sonde} -q --why-incomplete -c '{copy:frames} fault 20' -e 'kprobe:handle_mm_fault /comm == "{name:frames}"/ { @[ustack(4)] = count(); @[ustack] = count() }' 2>&1
EXPECT_RE ^@\[\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n\]: (20|1\d)$
EXPECT_RE ^(\d+) user stacks, \1 whole

NAME in a page fault
NEED arch:x86_64
RUN {sonde} -q -c '{copy:frames} fault 20' -e 'tracepoint:exceptions:page_fault_user /comm == "{name:frames}"/ { @[ustack(4)] = count() }'
EXPECT_RE ^@\[\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n\]: 20$

NAME at any instruction: prologues and epilogues
FEW samples
RETRY 2 samples must hit two single instructions
RUN {sonde} -q --why-incomplete -c '{build}/frames spin 700' -e 'profile:hz:997 /comm == "frames"/ { @[ustack] = count(); @leaf[ustack(1)] = count() }' 2>&1
EXPECT_RE ^(\d+) user stacks, \1 whole
EXPECT_RE ^@leaf\[\n\s+leaf\+0\n\]: \d+$
EXPECT_RE ^@leaf\[\n\s+middle\+0\n\]: \d+$

NAME behind pending return probes
RUN {sonde} -q --why-incomplete -c '{copy:frames} calls 5' -e 'uretprobe:{copy:frames}:leaf,uretprobe:{copy:frames}:inner,uretprobe:{copy:frames}:middle,uretprobe:{copy:frames}:outer { @r[func, ustack] = count() } tracepoint:syscalls:sys_enter_getppid /comm == "{name:frames}"/ { @[ustack] = count() }' 2>&1
EXPECT_LINE 25 user stacks, 25 whole (100.00 %)
EXPECT_RE ^@\[\n\s+(\w*getppid|syscall)\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6|\[libc\.so\.6\+\w+\])\+\w+\n)*\s+_start\+\d+\n\]: 5$
EXPECT_NOT uprobes

# What probes at the first instruction, before anything is saved; the function's caller is where the call has put it.
NAME ustack(fp): a program that keeps frame pointers, from a function's first instruction on
RUN {sonde} -q -c '{copy:framesfp} calls 3' -e 'uprobe:{copy:framesfp}:leaf { @[ustack(fp, 5)] = count(); @two[ustack(fp, 2)] = count() }' 2>&1
EXPECT_RE ^@\[\n\s+leaf\+0\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n\]: 3$
EXPECT_RE ^@two\[\n\s+leaf\+0\n\s+inner\+\d+\n\]: 3$

NAME ustack(fp): through a signal's trampoline to the function that it interrupted
RUN {sonde} -q -c '{copy:framesfp} signal 10' -e 'uprobe:{copy:framesfp}:in_signal { @[ustack(fp, 4)] = count() }' 2>&1
EXPECT_RE ^@\[\n\s+in_signal\+0\n\s+on_signal\+\d+\n\s+(__restore_rt|__kernel_rt_sigreturn|__vdso_rt_sigreturn)\+0\n\s+spot\+0\n\]: 10$

# On arm64 the register leads to the C library's frames.
NAME ustack(fp): a stack of a program that keeps none is cut, or told to lack callers, and no frame is made up
RUN {sonde} -q --why-incomplete -c '{copy:frames} calls 3' -e 'uprobe:{copy:frames}:leaf { @[ustack(fp)] = count() }' 2>&1
EXPECT_RE ^@\[\n\s+leaf\+0\n\s+inner\+\d+\n(\s+\w+\+\d+\n)*(\s+\[truncated\]\n)?\]: 3$
EXPECT_RE ^3 user stacks, 0 whole
EXPECT_RE (frame pointer chain broken|callers may be missing)$
EXPECT_NOT 0x1\n

NAME 600 frames deep
RUN {sonde} -q --why-incomplete -c '{copy:frames} deep 600' -e 'uprobe:{copy:frames}:leaf { printf("%s\n", ustack(1000)) }' >o 2>&1; grep -c down+ o; cat o
EXPECT_LINE 601
EXPECT_LINE 1 user stacks, 1 whole (100.00 %)
EXPECT_RE ^\s+_start\+\d+$

# frames is built for arm64 with -mbranch-protection=pac-ret: where the processor has codes, inner's and middle's frames hold signed addresses.
NAME return addresses with pointer authentication codes
NEED arch:aarch64
RUN grep -q ' paca ' /proc/cpuinfo || echo no codes; {sonde} -q --why-incomplete -c '{copy:frames} calls 3' -e 'uprobe:{copy:frames}:leaf { @[ustack] = count(); for ($i : 0..8) { printf("%llx\n", *(uint64 *)(reg("sp") + 8 * $i)) } }' 2>&1
EXPECT_RE ^(no codes|[0-9a-f]{13,14})$
EXPECT_RE ^@\[\n\s+leaf\+0\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n(\s+\S+\+\w+\n)*\s+_start\+\d+\n\]: 3$
EXPECT_LINE 3 user stacks, 3 whole (100.00 %)

# {build}/bare is test/workload/bare.c, built so.
NAME without tables and without frame pointers each caller is there
RUN {sonde} -q --why-incomplete -c '{copy:bare} 5' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' >o 2>&1; python3 -c 'import re; s = re.findall(r"@\[\n(.*?)\]: (\d+)", open("o").read(), re.S); ok = [n for t, n in s if re.fullmatch(r"(\w+ )?c b a f\d main (\S+ )*_start", " ".join(l.split("+")[0].strip() for l in t.strip().split("\n")))]; print(len(ok), ok == ["5"] * 10)'; grep 'user stacks' o
EXPECT_LINE 10 True
EXPECT_LINE 50 user stacks, 50 whole (100.00 %)

NAME without tables and without frame pointers samples are whole
FEW samples
RUN {copy:bare} 100000000 & P=$!; {sonde} profile -p $P -U -F 199 -f --why-incomplete 2 2>e >o; kill $P; python3 -c 'import re; m = re.search(r"^([\d,]+) user stacks, ([\d,]+) whole", open("e").read(), re.M); n, w = (int(g.replace(",", "")) for g in m.groups()); s = [l.rsplit(" ", 1) for l in open("o") if l.count(";")]; named = sum(int(c) for t, c in s if re.search(r";main(;.*)?$", t)); print(n > 20, w > 0.95 * n, named > 0.9 * n)'
TIMEOUT 60
EXPECT_LINE True True True

NAME code without .eh_frame and without frame pointers is followed by its instructions, stripped too
LONG
RUN gcc -O2 -g0 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -o bare {top}/test/progs/workload.c -lpthread -lm; readelf -S bare | grep -c -w debug_frame; cp bare stripped; strip stripped; for p in bare stripped; do ./$p 60 >/dev/null & P=$!; {sonde} profile -p $P -U -F 499 -f --why-incomplete 2 2>e >o; kill $P; wait $P; sed -n 's/,//; s/^\([0-9]*\) user stacks \([0-9]*\) whole.*/\1 \2/p' e | awk '{ print ($1 > 5 && $2 > 0.9 * $1) ? "whole" : "not whole: " $0 }'; grep -c '^[^;]*;clone3;start_thread;' o | awk '{ print ($1 > 0) }'; done
NEED cmd:gcc
NEED host
NEED arch:x86_64
TIMEOUT 60
EXPECT_RE \A0\n(whole\n1\n){2}\Z

# Its zeros are no agreed end of a stack: as of GHC's code (pandoc), each stack is marked, counted and told.
NAME code that was jumped to, and keeps a stack of its own, has callers that nobody knows: told
NEED arch:x86_64
FEW samples
RUN {copy:ownstack} & P=$!; sleep 0.1; for o in --strict --native; do {sonde} profile $o -p $P -U -F 199 -f 1 2>e >o; echo $?; awk -F';' '$2 != "[truncated]" || $3 !~ "^jumped" { bad += 1 } END { print (NR > 0), bad + 0 }' o; grep -cE '^WARNING: ([1-9][0-9]*) of \1 user stacks are cut short' e; done; {sonde} profile --unwind fp -p $P -U -F 199 -f 1 | grep -vcF ';[truncated];'; kill $P
TIMEOUT 60
EXPECT_RE \A3\n1 0\n1\n0\n1 0\n1\n0\n\Z

NAME a goroutine of gccgo's ends where that begins
NEED arch:x86_64
FEW samples
RUN {copy:ownstack} goroutine & P=$!; sleep 0.1; {sonde} profile -p $P -U -F 199 -f --why-incomplete 1 2>e | awk -F'[; ]' '{ print $2, $3 == "called" ? $3 : "" }' | sort -u; grep -c '^[1-9].*(100.00 %)' e; kill $P
EXPECT_RE \A(runtime.kickoff \n)?runtime.kickoff called\n1\n\Z

# Its stack has nothing on it yet, and no memory: the kernel gives it when it is touched.
NAME a thread that has just been made is at its root
NEED arch:x86_64
RUN {sonde} -q --why-incomplete -c "python3 -c 'import threading; t = threading.Thread(target=int); t.start(); t.join()'" -e 'tracepoint:syscalls:sys_exit_clone,tracepoint:syscalls:sys_exit_clone3 /pid == cpid && args.ret == 0/ { printf("%s", ustack) }' 2>&1 | sed '/^sonde: /d; s/^ *//; s/+.*//'
EXPECT_RE \A\n*(__)?clone3?\n\n+1 user stacks, 1 whole \(100\.00 %\)\n

# As a fiber of boost::context, PHP and bthread begins: its end is the root, with rows from instructions and without.
NAME a fiber's stack ends where its first function was put
NEED arch:x86_64
RUN strip -o plain-{id} {copy:fiber}; A=$(nm {copy:fiber} | sed -n 's/^0*\([0-9a-f]*\) T probed$/\1/p'); for f in {copy:fiber} ./plain-{id}; do {sonde} -q --why-incomplete -c $f -e 'uprobe:'$f':'$((0x$A))' { printf("%s", ustack) }' 2>&1 | sed '/^sonde: /d; s/^ *//; s/\[.*+0x/[+0x/'; done # of another process, perhaps
EXPECT_RE \A\n*probed\+0\nwork\+\d+\nfirst\+\d+\njump\+16\n\n+1 user stacks, 1 whole \(100\.00 %\)\n
EXPECT_RE (\[\+0x\w+\](\+\d+)?\n){4}\n+1 user stacks, 1 whole \(100\.00 %\)

# A register that is no frame pointer leads to an address of the heap. (Linux 6.1: the kernel's own list of mappings says that it may not be run.)
NAME nobody has called from memory that may not be run
NEED arch:x86_64
NEED no_prealloc
FEW samples
RUN {copy:astray} & P=$!; sleep 0.1; {sonde} profile -p $P -U -F 199 -f 1 2>e | sed 's/ [0-9]*$//'; grep -c 'made at run time' e; grep -cE '^WARNING: ([1-9][0-9]*) of \1 user stacks are cut short' e; kill $P
TIMEOUT 60
EXPECT_RE \Aastray\w*;\[truncated\];astray\n0\n1\n\Z

# 32-bit processes (build/frames32 is frames made with -m32)
NAME a 32-bit program's first stacks are whole and have names
NEED 32-bit
RUN {sonde} -q --why-incomplete -c '{copy:frames32} calls 3' -e 'uprobe:{copy:frames32}:leaf { @[ustack] = count() }' 2>&1
EXPECT_LINE 3 user stacks, 3 whole (100.00 %)
EXPECT_RE ^@\[\n\s+leaf\+0\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6|\[libc\.so\.6\+\w+\])\+\w+\n)*\s+_start\+\d+\n\]: 3$

NAME 32-bit code at any instruction: prologues and epilogues
FEW samples
RETRY 1 a number of samples
NEED 32-bit
RUN {sonde} -q -f json --why-incomplete -c '{build}/frames32 spin 1000' -e 'profile:hz:999 /comm == "frames32"/ { @[ustack(8)] = count() }' >j; python3 -c 'import json,re; r=[json.loads(l) for l in open("j") if l[0] == "{"]; m=[x["data"]["@"] for x in r if x["type"]=="map"][0]; k=[([f.split("+")[0] for f in re.split(r"\n", s.strip())], n) for s, n in m.items()]; mine=[(f, n) for f, n in k if f[0] in ("leaf", "inner", "middle", "outer")]; good=sum(n for f, n in mine if f[:f.index("main") + 1 if "main" in f else 0] == ["leaf", "inner", "middle", "outer", "main"][["leaf", "inner", "middle", "outer"].index(f[0]):] and f[-1] == "_start"); all=sum(n for f, n in mine); print(all > 300, good == all)'
TIMEOUT 30
EXPECT_LINE True True

NAME 32-bit code in a system call and in the vDSO's way into the kernel
NEED 32-bit
RUN {sonde} -q --why-incomplete -c '{copy:frames32} calls 400' -e 'rawtracepoint:sys_enter /comm == "{name:frames32}" && args.id == 64/ { @[ustack] = count(); @n++ } rawtracepoint:sys_exit /comm == "{name:frames32}" && @n > 0 && @n <= 400/ { @x[ustack(2)] = count() }' 2>&1 | sed 's/^[0-9]* user stacks, //'
EXPECT_RE ^@\[\n\s+__kernel_vsyscall\+\d+\n\s+syscall\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6|\[libc\.so\.6\+\w+\])\+\w+\n)*\s+_start\+\d+\n\]: 400$
EXPECT_RE whole \(100\.00 %\)

NAME 600 frames of 32-bit code
NEED 32-bit
# Another program has the 32-bit libc mapped: a library that nobody has mapped before is known some milliseconds after it is, on emulated kernels some tens.
RUN {build}/frames32 calls 1000 100 >/dev/null & B=$!; {sonde} -q --why-incomplete -c '{copy:frames32} deep 600' -e 'uprobe:{copy:frames32}:leaf { @[ustack] = count() }' >o 2>&1; kill $B; grep -c '^ *down+' o; uniq o
EXPECT_LINE 601
EXPECT_LINE 1 user stacks, 1 whole (100.00 %)
EXPECT_RE ^\s+down\+\d+\n\s+main\+\d+\n

NAME 32-bit code behind pending return probes
NEED 32-bit
RUN {sonde} -q --why-incomplete -c '{copy:frames32} calls 3' -e 'uretprobe:{copy:frames32}:outer { @r = count() } uretprobe:{copy:frames32}:inner { @i = count() } uprobe:{copy:frames32}:leaf { @[ustack] = count() }' 2>&1
EXPECT_LINE @r: 3
EXPECT_LINE @i: 3
EXPECT_LINE 3 user stacks, 3 whole (100.00 %)
EXPECT_RE ^@\[\n\s+leaf\+0\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6|\[libc\.so\.6\+\w+\])\+\w+\n)*\s+_start\+\d+\n\]: 3$

NAME values of 32-bit functions
NEED 32-bit
RUN {sonde} -q -c '{copy:frames32} calls 2' -e 'uprobe:{copy:frames32}:leaf { printf("leaf(%d)\n", *(uint32 *)(reg("sp") + 4)) } uretprobe:{copy:frames32}:leaf { printf("= %d\n", retval) } usdt:{copy:frames32}:frames:here { @here = count() }'
EXPECT_RE ^leaf\(2\)\n= 3\nleaf\(1\)\n= 2$
EXPECT_LINE @here: 2

NAME arguments of 32-bit functions are not in registers
NEED 32-bit
RUN for a in arg0 args.n 'reg("sp") > 0'; do {sonde} -q -c '{copy:frames32} calls 1' -e "uprobe:{copy:frames32}:leaf { printf(\"%d\n\", $a) }" 2>&1; echo "status $?"; done
EXPECT_RE ERROR: arg0: 32-bit functions have their arguments on the stack \(uprobe:.*/{name:frames32}:leaf\)\n(.*\n)*HINT: \*\(uint32 \*\)\(reg\("sp"\) \+ 4\).*\nstatus 1$
EXPECT_RE ERROR: The args builtin can not be used with 32-bit functions.*\n(.*\n)*status 1$
EXPECT_RE ^1\n\s*status 0$

# The thread is called what the function that runs is called (test/workload/oracle.py), so each stack's names are known. Known answer: none is another's,
# each function has its share of the time. What sonde cannot know yet is counted as cut.
NAME libraries opened and closed in one place
LONG
FEW shares of samples
NEED cmd:cc
NEED ksym:mt_find
RUN {top}/test/workload/oracle.py {sonde} plugins
TIMEOUT 60
EXPECT_RE ^\d{3,} stacks of 100 functions, 0 wrong, \d{1,2} without a name, 0 functions with a wrong share, (100|[89]\d)\.\d % whole$

NAME libraries made, opened, removed and closed in one place
FEW shares of samples
NEED cmd:cc
NEED ksym:mt_find
RUN {top}/test/workload/oracle.py {sonde} fresh
TIMEOUT 60
EXPECT_RE ^\d{3,} stacks of (100|9\d) functions, 0 wrong, \d{1,3} without a name, 0 functions with a wrong share, (100|[89]\d)\.\d % whole$

NAME a file over a file, moved by mremap, and memory with code over it
LONG
FEW shares of samples
NEED cmd:cc
NEED ksym:mt_find
RUN {top}/test/workload/oracle.py {sonde} moves
TIMEOUT 60
EXPECT_RE ^\d{3,} stacks of 8 functions, 0 wrong, \d{1,2} without a name, 0 functions with a wrong share, (100|[89]\d)\.\d % whole$

NAME 2,000 copies of a library that stay
LONG
FEW shares of samples
RETRY 1 a share of samples
NEED cmd:cc
NEED ksym:mt_find
RUN {top}/test/workload/oracle.py {sonde} copies
TIMEOUT 60
EXPECT_RE ^\d{3,} stacks of 1 functions, 0 wrong, \d{1,2} without a name, 0 functions with a wrong share, (100|[2-9]\d)\.\d % whole$

NAME 4,000 executable mappings
LONG
FEW shares of samples
NEED cmd:cc
RUN {top}/test/workload/oracle.py {sonde} many
TIMEOUT 60
EXPECT_RE ^\d{3,} stacks of 8 functions, 0 wrong, 0 without a name, 0 functions with a wrong share, (100|9\d)\.\d % whole$

# A program and what it calls are eight functions deep at most: two loops, the walker's callback and five below it.
NAME a user stack in a loop within a loop
RUN {sonde} -q -c '{copy:frames} calls 2' -e 'uprobe:{copy:frames}:leaf { @a[1] = 1; @a[2] = 1; for ($kv : @a) { for ($i : 0..3) { @[ustack, $kv.0, $i] = count() } } clear(@a) }' | grep -c '^, [12], [012]\]: 2$'
EXPECT_LINE 6

NAME user stacks of tasks in a loop
NEED copy_from_user_task
RUN cp $(command -v sleep) napinloop; for i in 1 2 3; do ./napinloop 60 & p="$p $!"; done; sleep 0.3; {sonde} -q -e 'iter:task /ctx.task->comm == "napinloop"/ { for ($i : 0..2) { @[$i] = sum(len(ustack)) } }'; kill $p
EXPECT_RE ^@\[0\]: ([1-9]\d+)\n@\[1\]: \1$
