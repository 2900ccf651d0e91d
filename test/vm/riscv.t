# RISC-V 64 in its guest (SONDE_VM_GUESTS='riscv64 6.12', `make riscv64`): what is else there than on other machines. Debian's kernel interprets BPF programs until it is told otherwise
# (vm.py does).

NAME riscv64: a kernel that interprets programs is told of, with what to do
NEED arch:riscv64
RUN echo 0 >/proc/sys/net/core/bpf_jit_enable; {sonde} -q -e 'BEGIN { for ($i : 0..10) { @ = $i } exit() }' 2>&1; {sonde} -q -c '{build}/frames' -e 'uprobe:{build}/frames:inner { @[ustack] = count() }' 2>&1; echo 1 >/proc/sys/net/core/bpf_jit_enable
EXPECT_RE needs a kernel that compiles BPF programs, and this one interprets them: sysctl net.core.bpf_jit_enable=1$
TIMEOUT 200

NAME riscv64: arguments of tracepoints and functions, what functions return, registers by name
NEED arch:riscv64
RUN {sonde} -q -c '{build}/frames' -e 'tracepoint:syscalls:sys_enter_execve /pid == cpid/ { printf("%s\n", str(args.filename)) } uprobe:{build}/frames:inner { printf("%d %d %d %d\n", arg0 == reg("a0"), arg0 == reg("x10"), reg("pc") == reg("epc"), usermode) } uretprobe:{build}/frames:inner { printf("ret %d\n", retval == reg("a0")); exit() }'
EXPECT_RE /frames$
EXPECT_LINE 1 1 1 1
EXPECT_LINE ret 1
TIMEOUT 100

NAME riscv64: user stacks by .eh_frame, from a probed function to the process's beginning
NEED arch:riscv64
RUN {sonde} -q -c '{build}/frames' -e 'uprobe:{build}/frames:inner { printf("%s\n", ustack); exit() }' 2>&1
EXPECT_RE ^ +inner\+0
EXPECT_RE ^ +middle\+\d+
EXPECT_RE ^ +outer\+\d+
EXPECT_RE ^ +main\+\d+
EXPECT_RE ^ +_start\+\d+
TIMEOUT 200

# Debian's kernel has no CONFIG_KPROBES_ON_FTRACE: it refuses kprobes at the first instruction of what ftrace patches.
NAME riscv64: a kprobe lies behind what ftrace keeps of a function: its name, arguments, stack with its caller
NEED arch:riscv64
RUN {sonde} -q -v -c 'dd if=/dev/zero of=/dev/null bs=300 count=7' -e 'kprobe:vfs_read /comm == "dd" && arg2 == 300/ { @[func, probe, kstack] = count() }' 2>&1; {sonde} -q -c 'dd if=/dev/zero of=/dev/null bs=300 count=7' -e 'kprobe:vfs_rea*,kprobe:vfs_wri* /comm == "dd" && arg2 == 300/ { @p[func, probe] = count() }' 2>&1
EXPECT_RE ^Trying to attach probe: kprobe:vfs_read \(behind the instructions that ftrace keeps, \+8\)$
EXPECT_RE ^@\[vfs_read, kprobe:vfs_read, \n\s+vfs_read\+8\n\s+ksys_read\+\d+\n\s+\w*sys_read\+\d+\n(\s+\w+\+\d+\n)*\s+handle_exception\+\d+\n\]: 7$
EXPECT_LINE @p[vfs_read, kprobe:vfs_read]: 7
EXPECT_LINE @p[vfs_write, kprobe:vfs_write]: 7
TIMEOUT 200

NAME riscv64: a kretprobe, which this kernel cannot have, is refused with what to take in its place, which does it
NEED arch:riscv64
RUN {sonde} -q -e 'kretprobe:vfs_read { @ = count() }' 2>&1; {sonde} -q -c 'dd if=/dev/zero of=/dev/null bs=300 count=7' -e 'fexit:vfs_read /comm == "dd" && retval == 300/ { @[kstack(2)] = count() }'
EXPECT_RE this kernel has no kretprobe for vfs_read, whose first instructions ftrace keeps: fexit:vfs_read has its return$
EXPECT_RE ^@\[\n\s+vfs_read\+\d+\n\s+ksys_read\+\d+\n\]: 7$
TIMEOUT 200

NAME riscv64: kernel stacks of a tracepoint are whole and have no frame twice
NEED arch:riscv64
RUN {sonde} -q --why-incomplete -c '{build}/waits sleep 3 10 {id}' -e 'tracepoint:sched:sched_switch /comm == "napper{id}" && args.prev_state == 1/ { @[kstack] = count() }' 2>&1
EXPECT_RE ^@\[\n\s+__schedule\+\d+\n\s+schedule\+\d+\n(\s+\w+\+\d+\n)*\s+handle_exception\+\d+\n\]: \d+$
EXPECT_NOT went no further
TIMEOUT 200

NAME riscv64: a runtime whose functions are not read there is told of, at the end of a profile and by info -p
NEED arch:riscv64
RUN {sonde} -q --why-incomplete -c 'python3 -c "import os; [os.getppid() for i in range(9)]"' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' 2>&1; python3 -c 'import time; print(flush=True); time.sleep(600)' >up & while ! test -s up; do sleep 0.1; done; {sonde} info -p $! 2>&1; kill $!
EXPECT_RE python 3\.\d+\.\d+ is not read on this processor \(on x86-64 and arm64 only\): its stacks show the interpreter in the place of its program's functions$
EXPECT_RE ^ +_PyEval_EvalFrameDefault\+\d+$
EXPECT_RE ^    functions and lines: no: it is not read on this processor \(on x86-64 and arm64 only\), stacks show the interpreter$
TIMEOUT 200

NAME riscv64: code without .eh_frame, whose instructions are not read there, is left by frame pointers: a stack that has none is cut, and told so
NEED arch:riscv64
RUN {sonde} -q --why-incomplete -c '{copy:bare} 1' -e 'uprobe:{copy:bare}:c { @[ustack] = count() }' 2>&1
EXPECT_RE ^@\[\n\s+c\+0\n\s+b\+\d+\n\s+\[truncated\]\n\]: \d+$
EXPECT_LINE 10 user stacks, 0 whole (0.00 %)
EXPECT_RE frame pointer chain broken$
TIMEOUT 200

# Modules have labels ".L0 " in the kernel's table by the thousand. The disk and the console are modules' (virtio).
NAME riscv64: a timer is the waker, not whom it interrupted, and no label is a function
NEED arch:riscv64
RUN {sonde} wakeuptime -f -c '{build}/waits sleep 3 20 {id}' >o 2>&1; sed 's/ [0-9]*$//' o
EXPECT_RE ^\[timer interrupt\];handle_riscv_irq;[^\n]*;hrtimer_wakeup;[^\n]*try_to_wake_up;napper\w+$
EXPECT_NOT .L0
TIMEOUT 200
