# Probes on kernel functions, iterators, watchpoints and stacks: what this machine's own kernel may not have.

NAME kprobe and kretprobe of one call
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_sendmsg { @a[tid] = arg2 } kretprobe:tcp_sendmsg { printf("%s %d %d\n", func, @a[tid], retval) } END { clear(@a) }'
EXPECT_LINE tcp_sendmsg 111 111

NAME kprobe with an offset
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_sendmsg+0 { @[probe] = count() }'
EXPECT_RE ^@\[kprobe:tcp_sendmsg(\+0)?\]: 3$

NAME kprobe inside a function
RUN {sonde} -q --unsafe -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_sendmsg+5 { @[probe] = count() }'
EXPECT_LINE @[kprobe:tcp_sendmsg+5]: 3
NEED file:/lib64/ld-linux-x86-64.so.2

NAME kprobe in a module
RUN {sonde} -q -c 'cat /proc/version' -e 'kprobe:9p:v9fs_* { @[probe] = count() } interval:ms:200 { exit() }'
EXPECT_RE ^@\[kprobe:9p:v9fs_\w+\]: \d+$
NEED file:/sys/module/9p/sections

NAME kprobe by wildcard
RUN {sonde} -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_send* { @[func] = count() }'
EXPECT Attached
EXPECT_LINE @[tcp_sendmsg]: 3
EXPECT_LINE @[tcp_sendmsg_locked]: 3

NAME kretprobe by wildcard
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kretprobe:tcp_sendmsg* { @[func, retval] = count() }'
EXPECT_LINE @[tcp_sendmsg, 111]: 3
EXPECT_LINE @[tcp_sendmsg_locked, 111]: 3

NAME kprobe of a function with .isra.0 copies
RUN {sonde} -q -e 'kprobe:finish_task_switch { @[func] = count() } interval:ms:300 { exit() }'
EXPECT_RE ^@\[finish_task_switch(\.isra\.0)?\]: \d+$

NAME kprobe of a function that is not there
RUN {sonde} -q -e 'kprobe:tcp_sendmsgg { exit() }'
RC 1
STDERR tcp_sendmsgg
STDERR tcp_sendmsg

NAME kprobe at an address
RUN {sonde} -q --unsafe -c '{build}/tcp 4 3 111' -e "kprobe:0x$(grep ' T tcp_sendmsg$' /proc/kallsyms | cut -d' ' -f1) { @[func] = count() }"
EXPECT_LINE @[tcp_sendmsg]: 3

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

NAME kfunc is fentry's old name
NEED fentry
RUN {sonde} -q -c '{build}/tcp 4 2 222' -e 'kretfunc:tcp_sendmsg { @[retval] = count() }'
EXPECT_LINE @[222]: 2

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
RUN {sonde} -q -e 'iter:task_vma { if (ctx->task->pid == pid) { printf("%lx-%lx\n", ctx->vma->vm_start, ctx->vma->vm_end) } }'
EXPECT_RE ^[0-9a-f]+-[0-9a-f]+$

NAME watchpoint on a kernel address
NEED arch:x86_64
RUN {sonde} -q -e "watchpoint:0x$(grep ' . jiffies_64$' /proc/kallsyms | cut -d' ' -f1):8:w { @ = count() } interval:ms:500 { exit() }"
EXPECT_RE ^@: \d\d+$

NAME types of a module
RUN {sonde} -q -e 'BEGIN { printf("%d %d\n", sizeof(struct task_struct) > 1000, offsetof(struct sock, __sk_common)); exit() }'
EXPECT_LINE 1 0

NAME user stack in a kprobe
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_sendmsg { @[ustack] = count() }'
EXPECT_RE ^@\[\s*\n\s+(__libc_|__)?send\+\d+\n(\s+\S+\n)*\s+main\+\d+\n
EXPECT_RE ^\s+_start\+\d+\n\]: 3$

NAME one stack per event, newline-ended
RUN {sonde} -q -c 'sleep 0.1' -e 'tracepoint:sched:sched_switch /comm == "sleep"/ { printf("%s1\n", kstack) }'
EXPECT_RE ^\s+__schedule\+\d+\n(\s+\S+\+\d+\n)+1$
