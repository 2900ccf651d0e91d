# Probes on kernel functions, iterators, watchpoints and stacks: what this machine's own kernel may not have.

NAME kprobe and kretprobe of one call
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_sendmsg { @a[tid] = arg2 } kretprobe:tcp_sendmsg { printf("%s %d %d\n", func, @a[tid], retval) } END { clear(@a) }'
EXPECT_LINE tcp_sendmsg 111 111

# do_filp_open() is do_file_open() in Linux 7.2. On overlayfs, a guest's root, vfs_open() opens a file in the upper or lower file system by itself.
NAME what a kprobe sets is there at the return of the same call: its own arguments and time, in calls in one another, of one function and of a pattern
NEED get_func_ip
RUN F=$(grep -oE ' do_(filp|file)_open$' /proc/kallsyms | head -n 1 | tr -d ' '); {sonde} -q -c 'dd if=/dev/zero of=/dev/null bs=300 count=7' -e 'kprobe:vfs_read /comm == "dd"/ { $n = arg2; $t = nsecs } kretprobe:vfs_read /$n == 300/ { @read[$n, retval, nsecs > $t] = count() } kprobe:'$F',kprobe:vfs_open /comm == "dd"/ { $f = func; $s = nsecs; @in[func] = count() } kretprobe:'$F',kretprobe:vfs_open { @out[func, func == $f, nsecs > $s] = count() }' >o 2>&1; cat o; python3 -c 'import re; n = dict(re.findall(r"@in\[(\w+)\]: (\d+)", open("o").read())); m = {f: c for f, c in re.findall(r"@out\[(\w+), true, true\]: (\d+)", open("o").read())}; print("same", n == m and len(n) == 2)'; grep -c 'false' o || true
EXPECT_LINE @read[300, 300, true]: 7
EXPECT_LINE same True
EXPECT_RE ^0$
TIMEOUT 60

NAME kprobe with an offset
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_sendmsg+0 { @[probe] = count() }'
EXPECT_RE ^@\[kprobe:tcp_sendmsg(\+0)?\]: 3$

NAME kprobe inside a function, behind the call of ftrace (with endbr64 before it or not)
RUN for at in 5 9; do {sonde} -q --unsafe -c '{build}/tcp 4 3 111' -e "kprobe:tcp_sendmsg+$at { @[probe] = count() }" 2>e && exit; done; cat e >&2; exit 1
EXPECT_RE ^@\[kprobe:tcp_sendmsg\+[59]\]: 3$
NEED file:/lib64/ld-linux-x86-64.so.2

NAME kprobe in a module
RUN {sonde} -q -c 'cat /proc/version' -e 'kprobe:9p:v9fs_* { @[probe] = count() }'
EXPECT_RE ^@\[kprobe:9p:v9fs_\w+\]: \d+$
NEED file:/sys/module/9p/sections

NAME kprobe at a line of a module: a round of a loop for each byte, the function's name there
RUN busybox insmod {build}/kmod-$(uname -r)/sondeline.ko; line() { grep -n "// $1" {top}/test/vm/sondeline.c | cut -d: -f1; }; {sonde} -q --debuginfo {build}/kmod-$(uname -r) -c 'dd if=/dev/zero of=/proc/sondeline bs=7 count=2' -e "kprobe:sondeline@sondeline.c:$(line round) { @round[func] = count() } kprobe:sondeline@kmod-$(uname -r)/sondeline.c:$(line write) /pid/ { @write[func] = count() } kprobe:sondeline:worked { @bytes = sum(arg0) }" 2>err; busybox rmmod sondeline; grep -v records err >&2; true
EXPECT_LINE @round[worked]: 14
EXPECT_LINE @write[wrote]: 2
EXPECT_LINE @bytes: 14
NEED kmod

NAME the debug information of a module: apart from it, packed, where depmod(8) has it; not that of another build
RUN K={build}/kmod-$(uname -r)/sondeline.ko; busybox insmod $K; mkdir d e; P=kprobe:sondeline@sondeline.c:$(grep -n '// round' {top}/test/vm/sondeline.c | cut -d: -f1); at() { {sonde} -q "$@" -l $P >o 2>&1; tail -n 1 o | cut -c1-90; }; at --debuginfo {build}/kmod-$(uname -r) | tee want | sed 's/+[0-9]*$/+N/'; objcopy --only-keep-debug $K e/sondeline.debug; objcopy -g $K e/sondeline.ko; at --debuginfo $PWD/e | cmp - want && echo apart; objcopy --compress-debug-sections $K d/sondeline.ko; at --debuginfo $PWD/d | cmp - want && echo packed; unshare -m sh -c "mount -t tmpfs none /lib/modules && mkdir -p /lib/modules/$(uname -r)/extra && cp $K /lib/modules/$(uname -r)/extra && echo 'extra/sondeline.ko: extra/other.ko' >/lib/modules/$(uname -r)/modules.dep && {sonde} -q -l $P" | cmp - want && echo installed; at; objcopy --remove-section .note.gnu.build-id $K d/sondeline.ko; at --debuginfo $PWD/d; busybox rmmod sondeline; at >last; grep -o 'is not loaded' o
EXPECT_LINE kprobe:sondeline:worked+N
EXPECT_LINE apart
EXPECT_LINE packed
EXPECT_LINE installed
EXPECT_RE ^HINT: --debuginfo DIR names a folder where it is
EXPECT_LINE HINT: files of that name have another build id than what is loaded
EXPECT_RE is not loaded
NEED kmod
NEED cmd:objcopy

NAME a line of the kernel, which lies elsewhere than its file says: a file with the kernel's build id whose third line is vfs_read()
RUN FAR=$(python3 -c 'a = {w[2]: int(w[0], 16) for w in (l.split() for l in open("/proc/kallsyms")) if w[2] in ("vfs_read", "_stext")}; print(a["vfs_read"] - a["_stext"])'); ID=$(python3 -c 'b = open("/sys/kernel/notes", "rb").read(); i = b.index(b"\x14\0\0\0\3\0\0\0GNU"); print(b[i + 12:i + 32].hex())'); printf '.globl _stext\n_stext: .skip %d\nnop\n.skip 64\n' $FAR >k.s; mkdir d; as -g k.s -o k.o && ld -Ttext=0xffffffff81000000 -e 0 --build-id=0x$ID -o d/vmlinux k.o; {sonde} -q --debuginfo $PWD/d -l kprobe:vmlinux@k.s:3; {sonde} -q --debuginfo $PWD/d -c 'dd if=/dev/zero of=/dev/null bs=300 count=7' -e 'kprobe:vmlinux@k.s:3 /comm == "dd" && arg2 == 300/ { @[func] = count() }' 2>err; ld -Ttext=0xffffffff81000000 -e 0 --build-id=sha1 -o d/vmlinux k.o; {sonde} -q --debuginfo $PWD/d -l kprobe:vmlinux@k.s:3 2>&1 | grep HINT
EXPECT_LINE kprobe:vfs_read
EXPECT_LINE @[vfs_read]: 7
EXPECT_LINE HINT: files of that name have another build id than what is loaded
NEED cmd:ld

NAME lines of a module that have no kprobe: code that is gone, no code, another file, a return
RUN K={build}/kmod-$(uname -r); busybox insmod $K/sondeline.ko; for P in kprobe:sondeline@sondeline.c:$(grep -n '// once' {top}/test/vm/sondeline.c | cut -d: -f1) kprobe:sondeline@sondeline.c:2 kprobe:sondeline@other.c:9 kretprobe:sondeline@sondeline.c:9 kprobe:sondeline@sondeline.c kprobe:sondeline@vm/x.c:x; do {sonde} -q --debuginfo $K -e "$P { }" 2>&1 | head -n 1; done; busybox rmmod sondeline
EXPECT_RE ERROR: sondeline.c:\d+ of sondeline has no address: it is in .init.text of sondeline, which the kernel gives back once the module has begun$
EXPECT_RE ERROR: DWARF error: Unable to map 'sondeline.c:2' to address$
EXPECT_RE ERROR: DWARF error: No compilation unit matches other.c$
EXPECT_RE ERROR: Source code location not allowed$
EXPECT_RE ERROR: Invalid kprobe arguments, expected format: kprobe:MODULE@FILE:LINE\[:COL\]$
EXPECT_RE ERROR: Invalid line number: x$
NEED kmod

# Behind the call of ftrace is a push of one byte in most kernels: the kernel unwinds as if it had been run, and finds no caller.
NAME kernel stack of a kprobe inside a function: the address that is probed, its callers, or that they are missing
RUN for at in 5 9; do {sonde} -q --unsafe --strict -c '{build}/tcp 4 3 111' -e "kprobe:tcp_sendmsg+$at { @[kstack] = count() }" >o 2>e; s=$?; grep -q '^@' o || continue; grep -qE "^\s+tcp_sendmsg\+$at$" o && echo its address; n=$(grep -cE '^\s+\w+\+[0-9]+$' o); case $n$s$(grep -c 'may lack their callers' e) in [1-9]*32 | [2-9]00 | [1-9][0-9]00) echo callers, or told ;; *) cat o e ;; esac; done
EXPECT_LINE its address
EXPECT_LINE callers, or told
NEED file:/lib64/ld-linux-x86-64.so.2

NAME func inside a function is its name, not 0
RUN for at in 5 9; do {sonde} -q --unsafe -c '{build}/tcp 4 3 111' -e "kprobe:tcp_sendmsg+$at { @[func] = count() }" 2>e && exit; done; cat e >&2; exit 1
EXPECT_LINE @[tcp_sendmsg]: 3
NEED file:/lib64/ld-linux-x86-64.so.2

NAME kprobe by wildcard
RUN {sonde} -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_send* { @[func] = count() }'
STDERR Attached
EXPECT_LINE @[tcp_sendmsg]: 3
EXPECT_LINE @[tcp_sendmsg_locked]: 3

NAME kretprobe by wildcard
NEED get_func_ip
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kretprobe:tcp_sendmsg* { @[func, retval] = count() }'
EXPECT_LINE @[tcp_sendmsg, 111]: 3
EXPECT_LINE @[tcp_sendmsg_locked, 111]: 3

NAME kprobe of a function with .isra.0 copies
RUN {sonde} -q -e 'kprobe:finish_task_switch { @[func] = count() } interval:ms:300 { exit() }'
EXPECT_RE ^@\[finish_task_switch(\.isra\.0)?\]: \d+$

NAME kprobe of a function that is not there
RUN {sonde} -q -e 'kprobe:tcp_sendmsgg { exit() }'
RC 1
STDERR ERROR: No matches for kprobe tcp_sendmsgg.
STDERR HINT: did you mean 'kprobe:tcp_sendmsg'?

NAME kprobe at an address wants --unsafe
RUN {sonde} -q -e "kprobe:0x$(grep ' T tcp_sendmsg$' /proc/kallsyms | cut -d' ' -f1) { @ = count() }"
RC 1
STDERR --unsafe

NAME kprobe at an address
RUN {sonde} -q --unsafe -c '{build}/tcp 4 3 111' -e "kprobe:0x$(grep ' T tcp_sendmsg$' /proc/kallsyms | cut -d' ' -f1) { @[func] = count() }"
EXPECT_LINE @[tcp_sendmsg]: 3

# Debian's arm64 kernel has no function in two copies, though ftrace lists some names twice for one: kallsyms tells.
NAME kprobe on every copy that the compiler made
NEED arch:x86_64
RUN f=$(grep -oE ' [tT] [a-z_0-9]+\.(isra|constprop)\.[0-9]+$' /proc/kallsyms | sed 's/^ . //;s/\..*//' | sort | uniq -d | while read f; do grep -qE "^$f\.(isra|constprop)" /sys/kernel/tracing/available_filter_functions && echo $f && break; done); n=$(grep -cE " [tT] $f(\.(isra|constprop)\.[0-9]+)+$" /proc/kallsyms); {sonde} -e "kprobe:$f { @ = count() } BEGIN { exit() }" >{tmp}/o 2>&1; cat {tmp}/o; grep -q "Attached $((n + 1)) probes" {tmp}/o && [ $n -gt 1 ] && echo every copy
EXPECT_LINE every copy

NAME kprobe on two functions of one name
RUN n=$(grep -cE ' [tT] m_start$' /proc/kallsyms); {sonde} -c 'cat /proc/self/maps /proc/mounts' -e 'kprobe:m_start { @[func] = count() }' >{tmp}/o 2>&1; echo names $n; grep -v r-- {tmp}/o; [ $n -gt 1 ] && grep "Attached $n probes" {tmp}/o
EXPECT_RE ^@\[m_start\]: ([2-9]|\d\d+)$

NAME kprobe inside an instruction
NEED arch:x86_64
RUN {sonde} -q -e 'kprobe:vfs_read+1 { @ = count() }'
RC 1
STDERR cannot attach kprobe:vfs_read+1: the offset is inside an instruction of vfs_read

NAME kprobe on what the kernel forbids
NEED arch:x86_64
RUN {sonde} -q -e 'kprobe:'$(cut -f2 /sys/kernel/debug/kprobes/blacklist | grep -E '^(nmi_handle|do_debug_exception)$' | head -1)' { @ = count() }'
RC 1
STDERR is on the kernel's kprobe blacklist (tracing it could crash the kernel)

NAME missing_probes = warn: what is not there is skipped, its action checked
RUN {sonde} -e 'config = { missing_probes = "warn" } kprobe:no_such_function { @a = count() } BEGIN { printf("begun\n"); exit() }'
STDERR Attached 1 probe
EXPECT_LINE begun
STDERR WARNING: No matches for kprobe no_such_function. Skipping.
STDERR HINT: no kernel function 'no_such_function' (it is missing, or inlined into its callers)

NAME missing_probes = warn: an error in the action of a missing probe
RUN {sonde} -e 'config = { missing_probes = "warn" } kprobe:no_such_function { @a = count(); $x = 1; $x = "a" } BEGIN { exit() }'
RC 1
STDERR Type mismatch for $x

NAME missing_probes = warn: a forbidden function is skipped
NEED arch:x86_64
RUN {sonde} -c 'cat /proc/uptime' -e 'config = { missing_probes = "warn" } kprobe:'$(cut -f2 /sys/kernel/debug/kprobes/blacklist | grep -E '^(nmi_handle|do_debug_exception)$' | head -1)',kprobe:vfs_read { @ = count() }'
STDERR Attached 1 probe
EXPECT_RE ^@: \d+$
STDERR kprobe blacklist

NAME listing: a function's value belongs to its return
NEED fentry
RUN {sonde} -lv 'fentry:vfs_read'; echo; {sonde} -lv 'fexit:vfs_read'
EXPECT_RE \Afentry:vmlinux:vfs_read\n    struct file \* file\n(    .*\n){3}\nfexit:vmlinux:vfs_read\n(    .*\n){4}    ssize_t retval\n\Z

NAME missing_probes = ignore
RUN {sonde} -c 'cat /proc/uptime' -e 'config = { missing_probes = "ignore" } kprobe:no_such_function,kprobe:vfs_read { @ = count() }' 2>&1
EXPECT Attached 1 probe
EXPECT_NOT WARNING
EXPECT_NOT no_such

NAME fentry with named arguments
NEED fentry
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'fentry:tcp_sendmsg { printf("%d %d %s\n", args.size, args.sk.__sk_common.skc_family == AF_INET, comm) }'
EXPECT_LINE 111 1 tcp

NAME fexit with argument and return value
NEED fentry
RUN {sonde} -q -c '{build}/tcp 4 3 222' -e 'fexit:tcp_sendmsg { printf("%d %d %s\n", args.size, retval, probe) }'
EXPECT_LINE 222 222 fexit:vmlinux:tcp_sendmsg

NAME fentry with a module
NEED fentry
RUN {sonde} -q -c '{build}/tcp 4 2 222' -e 'fentry:vmlinux:tcp_sendmsg { @[args.size] = count() }'
EXPECT_LINE @[222]: 2

NAME fentry by wildcard
NEED fentry
RUN {sonde} -q -c '{build}/tcp 4 2 222' -e 'fentry:tcp_sendm* { @[func] = count() }'
EXPECT_LINE @[tcp_sendmsg]: 2

NAME fentry on a module's functions, with arguments
NEED fentry
NEED file:/sys/kernel/btf/9p
RUN {sonde} -q -c 'cat /proc/version /etc/passwd' -e 'fentry:9p:v9fs_file_open { @[str(args.file->f_path.dentry->d_name.name)] = count() } fexit:v9fs_file_open { @ret[retval] = count() }'
EXPECT_LINE @[passwd]: 1
EXPECT_RE ^@ret\[0\]: \d+$

NAME fentry by wildcard in a module: places that cannot be traced are counted
NEED fentry
NEED file:/sys/kernel/btf/9p
RUN {sonde} -c 'cat /etc/passwd' -e 'fentry:9p:v9fs_* { @[func] = count() }' 2>&1
EXPECT_RE ^Attached 1?\d\d probes$
EXPECT_RE ^@\[v9fs_file_open\]: \d+$

# A program has type information when it has functions: loops are some.
NAME fentry and fexit on a BPF program
NEED for_each_map_elem
NEED fentry
RUN {sonde} -q -e 'tracepoint:sched:sched_switch { @k[1] = 1; for ($kv : @k) { @never = count() } }' >{tmp}/o & p=$!; for i in 1 2 3 4 5 6 7 8 9 10; do {sonde} -l 'fentry:bpf:sched_switch' 2>{tmp}/e | grep . && break; sleep 0.5; done; {sonde} -q -e "fentry:bpf:sched_switch { @in[func] = count() } fexit:bpf:* { @out[func] = count() } interval:ms:500 { exit() }"; kill $p; wait $p
EXPECT_RE ^fentry:bpf:\d+:sched_switch$
EXPECT_RE ^@in\[sched_switch\]: [1-9]\d*$
EXPECT_RE ^@out\[for_map\]: [1-9]\d*$
TIMEOUT 25

NAME kfunc is fentry's old name
NEED fentry
RUN {sonde} -q -c '{build}/tcp 4 2 222' -e 'kretfunc:tcp_sendmsg { @[retval] = count() }'
EXPECT_LINE @[222]: 2

NAME hardware: cycles
NEED hardware events
RUN {sonde} -q -c 'dd if=/dev/urandom of=/dev/null bs=64k count=40' -e 'hardware:cycles:1000000 { @ = count() }'
EXPECT_RE ^@: [1-9]\d*$

NAME hardware: counters that emulation has not are named as missing
NEED !hardware events
RUN {sonde} -q -e 'hardware:cycles:100000 { @ = count() } BEGIN { exit() }'
RC 1
STDERR HINT: cannot attach hardware:cycles:100000: this machine (virtual?) exposes no hardware counters; use software:cpu-clock

NAME hardware: the missing counter is skipped when told so
NEED !hardware events
RUN {sonde} -e 'config = { missing_probes = "warn" } hardware:cycles:100000 { @ = count() } BEGIN { printf("begun\n"); exit() }'
EXPECT_LINE begun
STDERR WARNING: cannot attach hardware:cycles:100000

NAME iter:task ends by itself
RUN {sonde} -q -e 'iter:task { printf("%s %d\n", ctx->task->comm, ctx->task->pid) }'
EXPECT_RE ^sonde \d+$
EXPECT_RE ^kthreadd 2$

NAME iter:task into a map
RUN {sonde} -q -e 'iter:task { @ = count() }'
EXPECT_RE ^@: \d\d+$

NAME iter:task_file
RUN {sonde} -q -e 'iter:task_file { printf("%s %d %p\n", ctx->task->comm, ctx->fd, ctx->file) }'
EXPECT_RE ^sonde 1 0x[0-9a-f]+$

NAME iter:task_vma
NEED ksym:task_vma_seq_show
RUN {sonde} -q -e 'iter:task_vma { if (ctx->task->pid == pid) { printf("%lx-%lx\n", ctx->vma->vm_start, ctx->vma->vm_end) } }'
EXPECT_RE ^[0-9a-f]+-[0-9a-f]+$

NAME watchpoint on a kernel address
NEED arch:x86_64
RUN {sonde} -q -e "watchpoint:0x$(grep ' . jiffies_64$' /proc/kallsyms | cut -d' ' -f1):8:w { @ = count() } interval:ms:500 { exit() }"
EXPECT_RE ^@: \d\d+$

NAME bit fields that the program sets: SO_REUSEADDR, TCP_NODELAY, IPv6 only, as bind() to one address makes it
RUN for v in 4 6; do {sonde} -q -c "{build}/tcp $v 3 111" -e 'kprobe:tcp_sendmsg { $s = (struct sock *)arg0; @[$s->__sk_common.skc_family, $s->__sk_common.skc_reuse, $s->__sk_common.skc_ipv6only, ((struct tcp_sock *)$s)->nonagle & 1] = count() }'; done
EXPECT_LINE @[2, 1, 0, 1]: 3
EXPECT_LINE @[10, 1, 1, 1]: 3

NAME user stack in a kprobe
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_sendmsg { @[ustack] = count() }'
EXPECT_RE ^@\[\s*\n\s+(__libc_|__)?send\+\d+\n(\s+\S+\n)*\s+main\+\d+\n
EXPECT_RE ^\s+_start\+\d+\n\]: 3$

NAME one stack per event, newline-ended
RUN {sonde} -q -c 'sleep 0.1' -e 'tracepoint:sched:sched_switch /comm == "sleep"/ { printf("%s1\n", kstack) }'
EXPECT_RE ^\s+__schedule\+\d+\n(\s+\S+\+\d+\n)+1$

NAME hidden kernel addresses: one warning
NEED !host
RUN echo 2 >/proc/sys/kernel/kptr_restrict; {sonde} -q -c '{build}/tcp 4 3 111' -e 'tracepoint:sched:sched_switch /comm == "tcp"/ { @[kstack] = count(); printf("%s\n", kstack) }' 2>err; echo 0 >/proc/sys/kernel/kptr_restrict; grep -c 'kernel addresses are hidden' err; grep -c kptr_restrict err
EXPECT_RE ^1\n1\n

NAME hidden kernel addresses: --strict ends with 3, JSON has an object
NEED !host
RUN echo 2 >/proc/sys/kernel/kptr_restrict; for o in '' --strict '-f json --strict'; do {sonde} -q $o -c '{build}/tcp 4 3 111' -e 'tracepoint:sched:sched_switch /comm == "tcp"/ { @[kstack] = count() }' >o 2>e; echo "$? $(grep -c 'kernel addresses are hidden' e) $(grep -c '"type": "kernel_names_hidden"' o)"; done; echo 0 >/proc/sys/kernel/kptr_restrict
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n\Z

NAME kernel stacks deeper than kernel.perf_event_max_stack are counted
NEED !host
RUN n=$(cat /proc/sys/kernel/perf_event_max_stack); echo 4 >/proc/sys/kernel/perf_event_max_stack; for o in '' --strict '-f json --strict'; do {sonde} -q $o -c '{build}/tcp 4 3 111' -e 'tracepoint:sched:sched_switch /comm == "tcp"/ { @[kstack] = count() }' >o 2>e; echo "$? $(grep -c 'kernel stacks are cut short' e) $(grep -c '"type": "kernel_stacks_cut"' o)"; done; echo $n >/proc/sys/kernel/perf_event_max_stack
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n\Z

# Before Linux 6.4 the kernel says of maps what they may come to have, which is 600 MB here.
NAME --max-memory judges what there is: 150 MB are enough, 5 are not
RUN for m in 150 5; do {sonde} profile --max-memory $m -i 1 -f 3 >o 2>e; echo "$m $? $(grep -c 'ERROR: it holds [0-9.]* MB of memory, 5 are allowed: it ends' e) $(grep -c 'ERROR' e)"; done; mb=$({sonde} profile --max-memory 5 -i 1 -f 3 2>&1 >o | sed -n 's/.*holds \([0-9]*\)\..*/\1/p'); test "$mb" -lt 150 && echo less
EXPECT_RE \A150 0 0 0\n5 1 1 1\nless\n\Z
TIMEOUT 60

# The kernel takes events off a processor that goes offline and does not put them back: sonde-cpus, a process of sonde's, does.
NAME processors that go and come again, or come later, are told: line, object, --strict ends with 3; if none does there is nothing to tell
NEED !host
RUN c=/sys/devices/system/cpu/cpu1/online; trap "echo 1 >$c" EXIT; try() { when=$1; shift; [ $when != later ] || echo 0 >$c; {sonde} -q "$@" -e 'profile:hz:49 { @[cpu] = count() } interval:s:60 { exit() } BEGIN { printf("begun\n") }' >o 2>e & P=$!; until grep -q begun o; do sleep 0.1; done; sleep 0.5; [ $when != away ] || { echo 0 >$c; sleep 1.5; }; echo 1 >$c; sleep 0.5; kill -INT $P; wait $P; echo "$when $? $(grep -c 'or came later: 1 (cpu 1); timers and counters have not seen their first moments' e) $(grep -c '"type": "processors_missed", "count": 1' o)"; }; try away; try away --strict; try away -f json --strict; try later --strict; try never --strict; {sonde} profile -i 1 -f 30 >o 2>e & P=$!; until grep -q . o; do sleep 0.1; done; echo 0 >$c; sleep 1.5; echo 1 >$c; sleep 2; grep -c 'WARNING: .* (cpu 1)' e; kill -INT $P; wait $P
EXPECT_RE \Aaway 0 1 0\naway 3 1 0\naway 3 0 1\nlater 3 1 0\nnever 0 0 0\n1\n\Z
TIMEOUT 120

NAME processors that come again are sampled as the others are, each event once, counters too, by no more descriptors than before; if nobody can attach there it is told
NEED !host
RUN c=/sys/devices/system/cpu/cpu1/online; trap "echo 1 >$c; kill $L" EXIT; for i in 1 2 3; do while :; do :; done & L="$L $!"; done; begin() { {sonde} -q "$@" -e 'profile:hz:49 { @n[cpu, @then] = count() } software:context-switches:1 { @s[cpu, @then] = count() } self:signal:SIGUSR1 { @then = 1 } BEGIN { @then = 0; printf("begun\n") }' >o 2>e & P=$!; until grep -q begun o; do sleep 0.1; done; sleep 1; }; begin; was=$(ls /proc/$P/fd | wc -l); for i in 1 2 3; do echo 0 >$c; sleep 0.5; echo 1 >$c; sleep 0.5; done; [ $(ls /proc/$P/fd | wc -l) -le $was ] && echo descriptors; kill -USR1 $P; sleep 5; kill -INT $P; wait $P; v() { sed -n "s/^@$1\[$2, 1\]: //p" o; }; x=$(v n 1); y=$(v n 0); [ ${x:-0} -gt 40 ] && [ $((x * 10)) -gt $((y * 5)) ] && [ $((x * 10)) -lt $((y * 15)) ] && echo sampled || echo "samples: $x of cpu 1, $y of cpu 0"; x=$(v s 1); [ ${x:-0} -gt 5 ] && echo counted || echo "switches: $x"; begin --strict; for d in /proc/[0-9]*; do [ "$(cat $d/comm)" != sonde-cpus ] || kill -9 ${d#/proc/}; done; echo 0 >$c; sleep 1; echo 1 >$c; sleep 0.5; kill -INT $P; wait $P; echo $? $(grep -c 'or came later: 1 (cpu 1); timers and counters have not seen them since' e)
EXPECT_RE \Adescriptors\nsampled\ncounted\n3 1\n\Z
TIMEOUT 120

# panic_timeout is what a write to /proc/sys/kernel/panic sets. Timers are taken up there again, watchpoints are not: each has its line.
NAME watchpoints of the kernel's memory: processors that come again are told, apart from what timers have missed
NEED !host
RUN c=/sys/devices/system/cpu/cpu1/online; trap "echo 1 >$c" EXIT; a=0x$(grep ' panic_timeout$' /proc/kallsyms | cut -d' ' -f1); {sonde} -q --strict -e "watchpoint:$a:4:w { @[cpu] = count() } profile:hz:49 { @n[cpu] = count() } BEGIN { printf(\"begun\n\") } END { clear(@n) } interval:s:60 { exit() }" >o 2>e & P=$!; until grep -q begun o; do sleep 0.1; done; n=$(cat /proc/sys/kernel/panic); set_on() { python3 -c "import os; os.sched_setaffinity(0, [$1]); open('/proc/sys/kernel/panic', 'w').write('$n')"; }; set_on 0; set_on 1; echo 0 >$c; sleep 1; echo 1 >$c; sleep 0.5; set_on 1; set_on 0; kill -INT $P; wait $P; echo $?; sed -n 's/^@/@/p' o; grep -o 'cpu 1); .*' e
EXPECT_RE \A3\n@\[1\]: 1\n@\[0\]: 2\ncpu 1\); timers and counters have not seen their first moments\ncpu 1\); watchpoints have not seen them since\n\Z
NEED arch:x86_64
TIMEOUT 60

NAME offcputime: without an iterator of maps sleepers are left out: told, --strict ends with 3, JSON has an object
NEED !for_each_map_elem
NEED !host
RUN for o in '' --strict '--json --strict' '--complete off --strict'; do {sonde} offcputime -K -f $o -c '{build}/waits sleep 300 20' >o 2>e; echo "$? $(grep -c 'threads that were asleep at the start or at the end are not counted' e) $(grep -c '"type": "asleep_left_out", "count": 1' o)"; done
TIMEOUT 60
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n0 0 0\n\Z

NAME info: what each guest's kernel is known to have
RUN echo $(uname -rm): $({sonde} info | grep -oE '^  (bpf_loop|v4 instructions|no_prealloc|kprobe|fentry|kprobe_multi|uprobe_multi|kprobe_session|iter): (yes|no)' | sed 's/^  //;s/$/,/')
EXPECT_RE ^(6\.1\.0-\S+ x86_64: bpf_loop: yes, no_prealloc: yes, v4 instructions: no, kprobe: yes, fentry: yes, kprobe_multi: no, uprobe_multi: no, kprobe_session: no, iter: yes,|6\.1\.0-\S+ aarch64: bpf_loop: yes, no_prealloc: yes, v4 instructions: no, kprobe: yes, fentry: no, kprobe_multi: no, uprobe_multi: no, kprobe_session: no, iter: yes,|6\.12\.\S+ x86_64: bpf_loop: yes, no_prealloc: yes, v4 instructions: yes, kprobe: yes, fentry: yes, kprobe_multi: yes, uprobe_multi: yes, kprobe_session: yes, iter: yes,|5\.10\.\S+ x86_64: bpf_loop: no, no_prealloc: no, v4 instructions: no, kprobe: yes, fentry: yes, kprobe_multi: no, uprobe_multi: no, kprobe_session: no, iter: yes,|5\.15\.\S+ x86_64: bpf_loop: no, no_prealloc: no, v4 instructions: no, kprobe: yes, fentry: yes, kprobe_multi: no, uprobe_multi: no, kprobe_session: no, iter: yes,|(?!6\.1\.0-|6\.12\.|5\.10\.|5\.15\.)\S+ \w+: bpf_loop: yes, .*kprobe: yes, .*iter: yes,)$

NAME info: multi links and sessions are there when the kernel's own symbols say so
RUN for f in kprobe_multi:register_fprobe_ips uprobe_multi:bpf_uprobe_multi_link_attach kprobe_session:bpf_session_is_return; do grep -q " T ${f#*:}$" /proc/kallsyms && a=yes || a=no; {sonde} info | grep "^  ${f%%:*}: $a$"; done
EXPECT_RE \A(  \w+: (yes|no)\n){3}\Z

NAME flow: calls of the kernel, nested, with results and times; a command behind --
NEED ksym:bpf_get_func_ip_kprobe
RUN export SONDE_PATH={top}/tools; {sonde} flow 'tcp_sendmsg*' -r -- {build}/tcp 4 3 111 2>e | tail -n +2 | sed 's/^ *[0-9.]* *[0-9]* *[^ ]* *//; s/^ *[0-9]*\.[0-9]* *\(.*<-\)/\1/; s/^ *//' | sort | uniq -c; grep ERROR e; {sonde} flow 'tcp_sendmsg*' -- {build}/tcp 4 3 111 2>/dev/null | grep -B1 'tcp_sendmsg_locked' | head -n 2 | sed 's/.*  \( *-> .*\)/|\1/'
EXPECT_RE ^ +3 -> tcp_sendmsg$
EXPECT_RE ^ +3 -> tcp_sendmsg_locked$
EXPECT_RE ^ +3 <- tcp_sendmsg = 111$
EXPECT_RE ^ +3 <- tcp_sendmsg_locked = 111$

NAME flow: returns that the kernel had no room for leave the calls after them where they are
NEED ksym:bpf_get_func_ip_kprobe
RUN export SONDE_PATH={top}/tools; {sonde} flow do_nanosleep -- python3 -c 'if 1:
    import threading, time
    def naps():
        for i in range(3):
            time.sleep(0.5)
    t = [threading.Thread(target=naps) for i in range(40)]
    [x.start() for x in t]; [x.join() for x in t]' 2>/dev/null >o; grep -cE 'python3 {23}-> do_nanosleep$' o; [ $(grep -c 'python3 .*<- ' o) -lt 120 ] && echo some were missed
EXPECT_LINE 120
EXPECT_LINE some were missed
TIMEOUT 60

# eu-stack 0.188 is no oracle on arm64 for signed return addresses, signal frames and code without tables (docs/truth.md).
NAME arm64: stacks of sleeping threads are eu-stack's, address by address
NEED arch:aarch64
NEED cmd:eu-stack
RUN python3 {top}/test/workload/truth.py {sonde} asleep -b {build} -n 5
TIMEOUT 120
EXPECT_RE ^ 9 threads asleep +[1-9]\d+ stacks 100\.00 % whole 100\.00 % equal$
