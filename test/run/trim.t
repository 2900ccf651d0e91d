# No frame of the tracer, and the first frame is the probed or interrupted function: every type of probe, on every kernel there is. One row a type;
# EXPECT_STACKS is run.py's judge of every stack printed.

FILE TOGETHER

NAME kprobe
ALONE others send over loopback too
NEED kprobe
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_sendmsg { @[kstack] = count() }'
EXPECT_STACKS tcp_sendmsg\+
EXPECT_RE ^@\[\s*\n\s+tcp_sendmsg\+\d+\n\s+\w*send(msg|to)\+\d+\n

NAME kprobe inside a function
ALONE others send over loopback too
NEED kprobe
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_sendmsg+0,kprobe:tcp_sendmsg_locked { @[kstack] = count() }'
EXPECT_STACKS tcp_sendmsg(_locked)?\+
EXPECT_RE ^@\[\s*\n\s+tcp_sendmsg\+\d+\n\s+\w*send(msg|to)\+\d+\n

# Before Linux 5.16 the kernel leaves its hook in the place of a return address that a kretprobe waits for (docs/losses.md); bpf_loop is of 5.17.
NAME kretprobe
ALONE others send over loopback too
NEED kprobe
NEED bpf_loop
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kretprobe:tcp_sendmsg { @[kstack] = count() }'
EXPECT_STACKS \w*send(msg|to)\+

NAME kretprobe: where the kernel does not tell its caller, the hook in its place has its own name
ALONE others send over loopback too
NEED kprobe
NEED !bpf_loop
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kretprobe:tcp_sendmsg { @n = count() } kprobe:tcp_push { @[kstack] = count() }'
EXPECT_RE ^\s+tcp_sendmsg\+\d+\n\s+_*kretprobe_trampoline\+0\n

NAME kretprobe below another
ALONE others send over loopback too
NEED kprobe
NEED bpf_loop
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kretprobe:tcp_sendmsg,kretprobe:tcp_sendmsg_locked { @[kstack] = count() }'
EXPECT_STACKS \w*send(msg|to)\w*\+
EXPECT_RE ^\s+tcp_sendmsg\+\d+\n\s+\w*send(msg|to)\+

NAME kprobe below pending kretprobes
ALONE others send over loopback too
NEED kprobe
NEED bpf_loop
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kretprobe:tcp_sendmsg,kretprobe:tcp_sendmsg_locked { @n = count() } kprobe:tcp_push { @[kstack] = count() }'
EXPECT_STACKS tcp_push\+
EXPECT_RE ^\s+tcp_push\+\d+\n\s+tcp_sendmsg_locked\+\d+\n\s+tcp_sendmsg\+\d+\n\s+\w*send(msg|to)\+

NAME kprobe_multi
ALONE others send over loopback too
NEED kprobe_multi
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_sendms* { @[kstack] = count() }'
EXPECT_STACKS tcp_sendmsg
EXPECT_RE ^@\[\s*\n\s+tcp_sendmsg\+\d+\n\s+\w*send(msg|to)\+\d+\n

NAME kretprobe_multi
ALONE others send over loopback too
NEED kprobe_multi
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kretprobe:tcp_sendms* { @[kstack] = count() }'
EXPECT_STACKS \w*send(msg|to)\w*\+

NAME kprobe session
ALONE others send over loopback too
NEED kprobe_session
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_s* /arg2 == 111/ { @in[kstack] = count() } kretprobe:tcp_s* /retval == 111/ { @out[kstack] = count() }'
EXPECT_STACKS tcp_s\w+\+|\w*send(msg|to)\w*\+
EXPECT_RE ^@in\[\s*\n\s+tcp_sendmsg\+\d+\n\s+\w*send(msg|to)\+\d+\n
EXPECT_RE ^@out\[\s*\n\s+\w*send(msg|to)

NAME fentry
ALONE others send over loopback too
NEED fentry
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'fentry:tcp_sendmsg { @[kstack] = count() }'
EXPECT_STACKS tcp_sendmsg\+
EXPECT_RE ^@\[\s*\n\s+tcp_sendmsg\+\d+\n\s+\w*send(msg|to)\+\d+\n

NAME fexit
ALONE others send over loopback too
NEED fentry
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'fexit:tcp_sendmsg { @[kstack] = count() }'
EXPECT_STACKS tcp_sendmsg\+
EXPECT_RE ^@\[\s*\n\s+tcp_sendmsg\+\d+\n\s+\w*send(msg|to)\+\d+\n

NAME fentry and fexit with arguments
ALONE others send over loopback too
NEED fentry
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'fentry:tcp_sendmsg { @[args.size, kstack] = count() } fexit:tcp_sendmsg { @r[retval, kstack] = count() }'
EXPECT_STACKS tcp_sendmsg\+

NAME raw tracepoint
ALONE a thread may wait in another test's uprobe
RUN {sonde} -q -c '{build}/waits sleep 3 10 {id}' -e 'rawtracepoint:sched_switch /comm == "napper{id}"/ { @[kstack] = count() }'
EXPECT_STACKS __schedule\+
EXPECT_RE ^\s+__schedule\+\d+\n\s+schedule\+\d+\n\s+do_nanosleep\+

NAME raw tracepoint with types
ALONE a thread may wait in another test's uprobe
NEED tp_btf
RUN {sonde} -q -c '{build}/waits sleep 3 10 {id}' -e 'rawtracepoint:vmlinux:sched_switch /comm == "napper{id}"/ { @[args.preempt, kstack] = count() }'
EXPECT_STACKS __schedule\+
EXPECT_RE ^\s+__schedule\+\d+\n\s+schedule\+\d+\n\s+do_nanosleep\+

NAME two raw tracepoints
ALONE a thread may wait in another test's uprobe
RUN {sonde} -q -c '{build}/waits sleep 3 10 {id}' -e 'rawtracepoint:sched_switch /comm == "napper{id}"/ { @[kstack] = count() } rawtracepoint:sched_switch { @n = count() }'
EXPECT_STACKS __schedule\+
EXPECT_RE ^\s+__schedule\+\d+\n\s+schedule\+\d+\n\s+do_nanosleep\+

NAME tracepoint without arguments
ALONE a thread may wait in another test's uprobe
RUN {sonde} -q -c '{build}/waits sleep 3 10 {id}' -e 'tracepoint:sched:sched_switch /comm == "napper{id}"/ { @[kstack] = count() }'
EXPECT_STACKS __schedule\+
EXPECT_RE ^\s+__schedule\+\d+\n\s+schedule\+\d+\n\s+do_nanosleep\+

NAME tracepoint with arguments
ALONE a thread may wait in another test's uprobe
RUN {sonde} -q -c '{build}/waits sleep 3 10 {id}' -e 'tracepoint:sched:sched_switch /args.prev_state != 0 && comm == "napper{id}"/ { @[kstack] = count() }'
EXPECT_STACKS __schedule\+
EXPECT_RE ^\s+__schedule\+\d+\n\s+schedule\+\d+\n\s+do_nanosleep\+

NAME tracepoint beside a raw tracepoint
ALONE a thread may wait in another test's uprobe
RUN {sonde} -q -c '{build}/waits sleep 3 10 {id}' -e 'tracepoint:sched:sched_switch /args.prev_state != 0 && comm == "napper{id}"/ { @[kstack] = count() } rawtracepoint:sched_switch { @n = count() }'
EXPECT_STACKS __schedule\+
EXPECT_RE ^\s+__schedule\+\d+\n\s+schedule\+\d+\n\s+do_nanosleep\+

NAME system call, entry
RUN {sonde} -q -c '{build}/waits sleep 3 10 {id}' -e 'tracepoint:syscalls:sys_enter_clock_nanosleep { @[kstack] = count() }'
EXPECT_STACKS (do_syscall_64|syscall_trace_enter|syscall_exit_\w+|syscall_trace_exit|__syscall_\w+|trace_syscall_\w+|el0_svc\w*|invoke_syscall)\b
EXPECT_RE ^\s+(entry_SYSCALL_64|el0t_64_sync)\w*\+

NAME system call, exit
RUN {sonde} -q -c '{build}/waits sleep 3 10 {id}' -e 'tracepoint:syscalls:sys_exit_clock_nanosleep { @[args.ret, kstack] = count() }'
EXPECT_STACKS (do_syscall_64|syscall_trace_enter|syscall_exit_\w+|syscall_trace_exit|__syscall_\w+|trace_syscall_\w+|el0_svc\w*|invoke_syscall)\b
EXPECT_RE ^\s+(entry_SYSCALL_64|el0t_64_sync)\w*\+

NAME raw system call
RUN {sonde} -q -c '{build}/waits sleep 3 10 {id}' -e 'tracepoint:raw_syscalls:sys_enter /comm == "napper{id}"/ { @[args.id, kstack] = count() }'
EXPECT_STACKS (do_syscall_64|syscall_trace_enter|syscall_exit_\w+|syscall_trace_exit|__syscall_\w+|trace_syscall_\w+|el0_svc\w*|invoke_syscall)\b
EXPECT_RE ^\s+(entry_SYSCALL_64|el0t_64_sync)\w*\+

NAME uprobe
RUN {sonde} -q -c '{copy:frames} calls 3' -e 'uprobe:{copy:frames}:leaf { @[ustack] = count() }'
EXPECT_STACKS leaf\+0
EXPECT_RE ^\s+leaf\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n

NAME uretprobe
RUN {sonde} -q -c '{copy:frames} calls 3' -e 'uretprobe:{copy:frames}:leaf { @[ustack] = count() }'
EXPECT_STACKS inner\+

NAME uprobe_multi
NEED uprobe_multi
RUN {sonde} -q -c '{copy:frames} calls 3' -e 'uprobe:{copy:frames}:lea*,uprobe:{copy:frames}:inne* { @[ustack] = count() }'
EXPECT_STACKS (leaf|inner)\+0
EXPECT_RE ^\s+leaf\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n

NAME uretprobe_multi
NEED uprobe_multi
RUN {sonde} -q -c '{copy:frames} calls 3' -e 'uretprobe:{copy:frames}:lea*,uretprobe:{copy:frames}:inne* { @[ustack] = count() }'
EXPECT_STACKS (inner|middle)\+

NAME uprobe and uretprobe: no kernel stack
RUN {sonde} -q -c '{copy:frames} calls 3' -e 'uprobe:{copy:frames}:leaf,uretprobe:{copy:frames}:leaf { @[kstack, ustack] = count() }'
EXPECT_STACKS (leaf|inner)\+

NAME USDT
RUN {sonde} -q -c '{copy:frames} calls 3' -e 'usdt:{copy:frames}:frames:here { @[ustack] = count() }'
EXPECT_STACKS inner\+

NAME uprobe below pending uretprobes
RUN {sonde} -q -c '{copy:frames} calls 3' -e 'uretprobe:{copy:frames}:inner,uretprobe:{copy:frames}:middle,uretprobe:{copy:frames}:outer { @n = count() } uprobe:{copy:frames}:leaf { @[ustack] = count() }'
EXPECT_STACKS leaf\+0
EXPECT_RE ^\s+leaf\+\d+\n\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n

NAME system call below pending uretprobes
RUN {sonde} -q -c '{copy:frames} calls 3' -e 'uretprobe:{copy:frames}:inner,uretprobe:{copy:frames}:middle,uretprobe:{copy:frames}:outer { @n = count() } tracepoint:syscalls:sys_enter_getppid /comm == "{name:frames}"/ { @[ustack] = count() }'
EXPECT_STACKS (syscall|getppid|__getppid)
EXPECT_RE ^\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n

NAME profile
RUN {sonde} -q -c 'dd if=/dev/urandom of=/dev/null bs=64k count=400 status=none' -e 'profile:hz:499 /comm == "dd"/ { @[kstack] = count() }'
EXPECT_STACKS \w
TIMEOUT 40

NAME software event
ALONE a thread may wait in another test's uprobe
RUN {sonde} -q -c '{copy:frames} calls 10' -e 'software:faults:1 /comm == "{name:frames}"/ { @[kstack] = count() }'
EXPECT_STACKS \w

NAME software event in user space
ALONE a thread may wait in another test's uprobe
RUN {sonde} -q -c '{copy:frames} fault 20' -e 'software:faults:1 /comm == "{name:frames}"/ { @[ustack] = count() }'
EXPECT_STACKS \w|\[.*\]
EXPECT_RE ^\s+inner\+\d+\n\s+middle\+\d+\n\s+outer\+\d+\n\s+main\+\d+\n

NAME hardware event
NEED hardware events
RUN {sonde} -q -c 'dd if=/dev/urandom of=/dev/null bs=64k count=400 status=none' -e 'hardware:cycles:100000 /comm == "dd"/ { @[kstack] = count() }'
EXPECT_STACKS \w

NAME interval
ALONE the program of another sonde that starts may be what a processor runs
RUN {sonde} -q -c 'sh -c "for i in 1 2; do dd if=/dev/urandom of=/dev/null bs=64k count=4000 status=none & done; wait"' -e 'interval:ms:20 { @[kstack] = count() }'
EXPECT_STACKS \w

NAME iterator of tasks: the stack they sleep with
FEW the thread must sleep
NEED iter
RUN {sonde} -q -c 'true' -e 'iter:task /ctx.task.pid == 2/ { print(kstack); print(ustack) }'
EXPECT_STACKS __schedule\+

NAME iterator of files
NEED iter
RUN {sonde} -q -c 'true' -e 'iter:task_file { print(kstack) }'
EXPECT_STACKS vfs_read\+

NAME watchpoint on a kernel address
ALONE a processor has four breakpoints
NEED arch:x86_64
NEED ksym:jiffies_64
RUN {sonde} -q -e "watchpoint:0x$(grep ' . jiffies_64$' /proc/kallsyms | cut -d' ' -f1):8:w { @[kstack] = count() } interval:ms:500 { exit() }"
EXPECT_STACKS \w
