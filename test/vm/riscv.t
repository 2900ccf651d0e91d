# RISC-V 64 in its guest (SONDE_VM_GUESTS='riscv64 6.12', `make riscv64`): what is else there than on other machines. Debian's kernel interprets BPF programs until it is told otherwise.

NAME riscv64: a kernel that interprets programs is told of, with what to do
NEED arch:riscv64
RUN echo 0 >/proc/sys/net/core/bpf_jit_enable; {sonde} -q -e 'BEGIN { for ($i : 0..10) { @ = $i } exit() }' 2>&1; {sonde} -q -c '{build}/frames' -e 'uprobe:{build}/frames:inner { @[ustack] = count() }' 2>&1; echo 1 >/proc/sys/net/core/bpf_jit_enable
EXPECT_RE needs a kernel that compiles BPF programs, and this one interprets them: sysctl net.core.bpf_jit_enable=1$
TIMEOUT 200

NAME riscv64: arguments of tracepoints and functions, what functions return, registers by name
NEED arch:riscv64
RUN echo 1 >/proc/sys/net/core/bpf_jit_enable; {sonde} -q -c '{build}/frames' -e 'tracepoint:syscalls:sys_enter_execve /pid == cpid/ { printf("%s\n", str(args.filename)) } uprobe:{build}/frames:inner { printf("%d %d %d %d\n", arg0 == reg("a0"), arg0 == reg("x10"), reg("pc") == reg("epc"), usermode) } uretprobe:{build}/frames:inner { printf("ret %d\n", retval == reg("a0")); exit() }'
EXPECT_RE /frames$
EXPECT_LINE 1 1 1 1
EXPECT_LINE ret 1
TIMEOUT 100

NAME riscv64: user stacks by .eh_frame, from a probed function to the process's beginning
NEED arch:riscv64
RUN echo 1 >/proc/sys/net/core/bpf_jit_enable; {sonde} -q -c '{build}/frames' -e 'uprobe:{build}/frames:inner { printf("%s\n", ustack); exit() }' 2>&1
EXPECT_RE ^ +inner\+0
EXPECT_RE ^ +middle\+\d+
EXPECT_RE ^ +outer\+\d+
EXPECT_RE ^ +main\+\d+
EXPECT_RE ^ +_start\+\d+
TIMEOUT 200
