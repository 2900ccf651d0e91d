# Probes of every kind this kernel has.

NAME uprobe arguments
RUN {sonde} -q -c "{build}/calls" -e 'uprobe:{build}/calls:add { @calls = count(); @n = max(arg0); @sum = sum(arg0) }'
EXPECT_LINE @calls: 1000
EXPECT_LINE @n: 999
EXPECT_LINE @sum: 499500

NAME uretprobe return values
RUN {sonde} -q -c "{build}/calls" -e 'uretprobe:{build}/calls:add { @r = max(retval); @[retval > 1000] = count() }'
EXPECT_LINE @r: 1998
EXPECT_LINE @[true]: 499
EXPECT_LINE @[false]: 501

NAME uprobe strings, arguments on the stack
RUN {sonde} -q -c "{build}/calls" -e 'uprobe:{build}/calls:name_of { @[str(arg0)] = arg1 } uprobe:{build}/calls:many { printf("%d %d %d\n", arg5, arg6, arg7) }'
EXPECT_LINE @[name-9]: 6
EXPECT_LINE 6 7 8

NAME structs of a traced program, declared in the script
RUN {sonde} -q -c "{build}/calls" -e 'struct pair { int first; struct pair *next; char label[16]; unsigned bits : 5; }; uprobe:{build}/calls:take { $p = (struct pair *)arg0; printf("%d %s %d %s %d %d\n", $p->first, $p->label, $p->next->first, $p.next.label, $p->bits, $p.next.bits); $c = *$p; printf("%s %d\n", $c.label, $c.next.first) }'
EXPECT_LINE 1 first 2 second 17 3
EXPECT_LINE first 2

NAME args of a uprobe through debug information
RUN {sonde} -q -c "{build}/calls" -e 'uprobe:{build}/calls:take { printf("%d %s\n", args.p->first, args.p->label) } uprobe:{build}/calls:name_of { @[str(args.s)] = args.len }'
EXPECT_LINE 1 first
EXPECT_LINE @[name-0]: 6

NAME casts to types of the traced binary
RUN {sonde} -q -c "{build}/calls" -e 'uprobe:{build}/calls:take { printf("%d\n", ((struct pair *)arg0)->next->bits) }'
EXPECT_LINE 3

NAME offsets, addresses and wildcards
RUN {sonde} -q -c "{build}/calls" -e 'uprobe:{build}/calls:name_of+0 { @a = count() } uprobe:{build}/calls:na*,uprobe:{build}/calls:tak? { @b[probe] = count() }'
EXPECT_LINE @a: 10
EXPECT_RE ^@b\[uprobe:.*calls:take\]: 1$
EXPECT_RE ^@b\[uprobe:.*calls:name_of\]: 10$

NAME func and ustack in a uprobe
RUN {sonde} -q -c "{build}/calls" -e 'uprobe:{build}/calls:take { printf("%s%s\n", func, ustack(2)) }'
EXPECT_RE ^take$
EXPECT_RE ^\s+take\+0$
EXPECT_RE ^\s+main\+\d+$

NAME uaddr
RUN {sonde} -q -c "{build}/calls" -e 'uprobe:{build}/calls:take { printf("%d\n", *uaddr("global_counter")) }'
EXPECT_LINE 42

NAME library by short name
RUN {sonde} -q -c "/bin/ls /" -e 'uprobe:libc:malloc { @ = count() }'
EXPECT_RE ^@: [1-9]\d+$

NAME tracepoint fields, strings and predicates
PROG tracepoint:syscalls:sys_enter_openat /comm == "cat"/ { printf("%s\n", str(args.filename)) }
ARGS -c "/bin/cat /etc/hostname"
EXPECT_LINE /etc/hostname

NAME tracepoint wildcards and probe
PROG tracepoint:syscalls:sys_enter_open*,tracepoint:syscalls:sys_exit_open* /comm == "cat"/ { @[probe] = count() }
ARGS -c "/bin/cat /etc/hostname"
EXPECT_RE ^@\[tracepoint:syscalls:sys_enter_openat\]: \d+$
EXPECT_RE ^@\[tracepoint:syscalls:sys_exit_openat\]: \d+$

NAME char arrays of a tracepoint are text
PROG tracepoint:sched:sched_switch { @[args.prev_comm] = count() } interval:ms:200 { exit() }
EXPECT_RE ^@\[.+\]: \d+$

NAME __data_loc strings
PROG tracepoint:sched:sched_process_exec /comm == "true"/ { printf("%s\n", str(args.filename)) }
ARGS -c "/bin/true"
EXPECT_RE ^(/usr)?/bin/true$

NAME raw tracepoint arguments through BTF
PROG rawtracepoint:sched_switch { if (args.prev.pid == arg1 || args.next != 0) { @ok = count() } } interval:ms:100 { exit() }
NEED btf
EXPECT_RE ^@ok: [1-9]

NAME profile and interval
PROG profile:hz:99 { @[cpu] = count() } interval:ms:300 { exit() }
EXPECT_RE ^@\[0\]: \d+$

NAME interval counts
PROG interval:ms:20 { if (++@n >= 5) { exit() } }
EXPECT_LINE @n: 5

NAME software event
PROG software:page-faults:1 { @ = count() }
ARGS -c "/bin/ls /"
EXPECT_RE ^@: [1-9]

NAME hardware event without counters says so
PROG hardware:cycles:1000000 { @ = count() } interval:ms:10 { exit() }
RC 1
STDERR hardware
NEED !hardware events

NAME usermode, reg in a profile
NEED arch:x86_64
PROG profile:hz:997 { @[usermode] = count(); @ip = reg("ip") } interval:ms:300 { exit() }
EXPECT_RE ^@\[[01]\]: \d+$

NAME self:signal
PROG self:signal:SIGUSR1 { printf("signalled\n"); exit() } begin { system("kill -USR1 %d", pid) }
ARGS --unsafe
EXPECT_LINE signalled

NAME iterators
PROG iter:task { printf("%s %d\n", ctx.task.comm, ctx.task.pid) }
NEED btf
EXPECT_RE ^sonde \d+$

# Linux 5.12, as iter:task_vma
NAME path of files
NEED ksym:task_vma_seq_show
PROG iter:task_file /pid != 0/ { @[path(ctx.file.f_path)] = count() }
NEED btf
EXPECT_RE ^@\[/dev/null\]: \d+$

NAME a command's exit ends the trace, its output is kept
PROG begin { @x = 1 } interval:s:100 { @never = 1 }
ARGS -c "/bin/echo from the child"
EXPECT_LINE from the child
EXPECT_LINE @x: 1

NAME -p ends with its process
RUN sleep 0.5 & {sonde} -q -p $! -e 'interval:s:100 { } end { printf("done\n") }'
EXPECT_LINE done
TIMEOUT 5

NAME -p filters tracepoints
RUN {build}/workload 2 & P=$!; {sonde} -q -p $P -e 'tracepoint:syscalls:sys_enter_newfstatat { @[pid == '$P'] = count() } interval:ms:200 { exit() }'
EXPECT_RE ^@\[true\]: \d+$
EXPECT_NOT false

NAME stacks of raw tracepoints begin at the event
PROG rawtracepoint:sched_switch { @[kstack(2)] = count() } interval:ms:200 { exit() }
EXPECT_NOT bpf_
EXPECT_RE ^\s+(__)?(traceiter|schedule|__schedule)

NAME dry run
PROG tracepoint:sched:sched_switch { printf("never\n") }
ARGS --dry-run
EXPECT_NOT never

NAME called bpftrace
RUN ln -s {sonde} {tmp}/bpftrace; {tmp}/bpftrace -e 'begin { foo() }'
RC 1
STDERR         ~~~~~


NAME a command runs to its end though only begin has anything to do
RUN {sonde} -q -c '{build}/shapes 3' -e 'begin { print(1) } end { print(2) }'
EXPECT_LINE shapes done
EXPECT_LINE 2

NAME listing: a word is the name of an event, a file alone means all that it has, what does not exist is no error
RUN {sonde} -l sched_wakeup; {sonde} -l tracepoint:sched_wakeup_new; {sonde} -l usdt:{build}/usdt; {sonde} -l tracepoint:sched:nosuch && {sonde} -l 'uprobe:{build}/calls' && {sonde} -lv 'uprobe:{build}/calls:_start'; {sonde} -l nosuch.bt; echo ended $?
EXPECT_LINE tracepoint:sched:sched_wakeup
EXPECT_LINE tracepoint:sched:sched_wakeup_new
EXPECT_RE ^usdt:.*/usdt:tst:one$
EXPECT_RE ^uprobe:.*/calls:add$
EXPECT_LINE ended 0
STDERR WARNING: no tracepoint sched:nosuch in this kernel
STDERR WARNING: there is no file 'nosuch.bt'

NAME listing: types with their definition
NEED btf
RUN {sonde} -lv 'union sigval'
EXPECT_LINE vmlinux: union sigval {

NAME usdt in any file sees the command, which is not mapped yet
RUN {sonde} -q -c {build}/usdt -e 'usdt:*:one { @[probe] = count() }'; {sonde} -c {build}/usdt -l 'usdt:*:one'
EXPECT_RE ^@\[usdt:.*/usdt:tst:one\]: 1000$
EXPECT_RE ^usdt:.*/usdt:tst:one$

NAME a filter of probes by name
RUN {sonde} -v --probe-filter 'sched_w.*g$' --dry-run -e 'begin { } tracepoint:sched:sched_* { @[probe] = count() }' 2>&1; {sonde} --probe-filter '^nosuch' -e 'interval:ms:1 { exit() }'
RC 1
EXPECT_LINE Trying to attach probe: tracepoint:sched:sched_waking
EXPECT_NOT sched_switch
STDERR No probes to attach

NAME max_probes counts all
PROG config = { max_probes = 2 } begin { } interval:s:1, interval:s:2 { }
RC 1
STDERR ERROR: Can't attach to 3 probes because it exceeds the current limit of 2 probes.

NAME listing: an empty pattern is all, begin and end are attached to nothing
RUN {sonde} -l 'software:'; {sonde} --list -e 'begin { } tracepoint:syscalls:sys_enter_getppid { } END { }'
EXPECT_LINE software:page-faults:
EXPECT_LINE tracepoint:syscalls:sys_enter_getppid
EXPECT_NOT begin
EXPECT_NOT END

NAME the record of a tracepoint as a whole
RUN {sonde} -q -c 'cat /dev/null' -e 'tracepoint:syscalls:sys_enter_openat /comm == "cat"/ { print(args); @ = args }' | head -1
EXPECT_RE ^\{ \.__syscall_nr = \d+, \.dfd = -?\d+, \.filename = 0x[0-9a-f]+, \.flags = \d+, \.mode = 0 \}$

NAME the record of a raw tracepoint and of a function of a program as a whole
NEED btf
RUN {sonde} -q -c {build}/calls -e 'rawtracepoint:sched_process_exec /comm == "calls"/ { print(args) } uprobe:{build}/calls:name_of { print(args) }' | sort | uniq -c
EXPECT_RE \{ \.p = 0x[0-9a-f]+, \.old_pid = \d+, \.bprm = 0x[0-9a-f]+ \}$
EXPECT_RE ^ +10 \{ \.s = 0x[0-9a-f]+, \.len = 6 \}$

NAME test probes: the output of a test is shown when it fails
RUN {sonde} --test -e 'test:okay { print("suppressed") } test:failure { print("shown"); return 1 }'
RC 1
EXPECT_RE ^\[       OK \] okay \(\d+ us\)$
EXPECT_LINE shown
EXPECT_RE ^\[  FAILED  \] failure$
EXPECT_NOT suppressed

NAME test probes: an error said fails a test, in JSON each has its line, and nothing else runs them
RUN {sonde} --test -f json -e 'test:a { errorf("no") } test:b { warnf("may be") }'; {sonde} --mode=test --probe-filter ':b' -q -e 'test:a { return 1 } test:b { }' && {sonde} -e 'test:a { }'
RC 1
EXPECT_RE ^\{"type": "test_result", "data": \{"a": \{"duration": \d+, "passed": false, "output": "stdin:1:10-22: ERROR: no\\n"\}\}\}$
EXPECT_RE ^\{"type": "test_result", "data": \{"b": \{"duration": \d+, "passed": true, .*may be
EXPECT_LINE [  PASSED  ] 1 test.
EXPECT_NOT attached
STDERR No probes to attach; use --test

NAME bench probes: name, time and how often it ran
RUN {sonde} --bench -e 'bench:count { @b = count() }'
EXPECT_RE ^count +\d+ +\d\d+$
EXPECT_NOT @b

NAME a probe inside an instruction is refused, unless it is said to be safe
RUN printf 'void f(void); __asm__(".globl f\\n.type f,@function\\nf: lea (%%rdi,%%rsi,1),%%rax\\nret\\n.size f,.-f"); int main(void) { f(); return 0; }' >{tmp}/f.c; cc -o {tmp}/f {tmp}/f.c && {sonde} -q -c {tmp}/f -e 'uprobe:{tmp}/f:f+4 { printf("hit\n"); exit() }'; {sonde} -q -c {tmp}/f -e 'uprobe:{tmp}/f:f+3 { exit() }' || {sonde} -q --unsafe --dry-run -e 'uprobe:{tmp}/f:f+3 { exit() }' && echo may
NEED cmd:cc
NEED arch:x86_64
EXPECT_LINE hit
EXPECT_LINE may
STDERR offset 3 of f is inside an instruction

NAME uprobe: places of a pattern that the kernel refuses are left out, of each kind, and counted together; the program works
NEED arch:x86_64
RUN mkfifo p; {build}/insns 30 <p >out & exec 3>p; until grep -q ready out; do sleep 0.05; done; printf 'echo >p; until grep -q counted out; do sleep 0.05; done' >go; {sonde} -q -c 'sh go' -e 'uprobe:{build}/insns:probe_* { @[func] = count(); }' 2>&1; cat out
EXPECT_RE WARNING: 8 of 15 places that the pattern matches cannot be probed, for example uprobe:
EXPECT_RE ^@\[probe_fine_nop\]: 30\n@\[probe_fine_push\]: 30\n@\[probe_fine_segment\]: 30\n@\[probe_fine_two_bytes\]: 30\n
EXPECT_LINE counted 60

NAME a line of a source file, and of which there are none
RUN {sonde} -q -c "{build}/calls" -e 'uprobe:{build}/calls@calls.c:23 { @line = count() } uprobe:{build}/calls@progs/calls.c:57 { @take = count() }'
EXPECT_LINE @line: 1000
EXPECT_LINE @take: 1

NAME no code at a line
RUN {sonde} -e 'uprobe:{build}/calls@calls.c:5 { @ = count() } uprobe:{build}/calls@none.c:5 { @ = count() } uretprobe:{build}/calls@calls.c:23 { @ = count() }'
RC 1
STDERR ERROR: DWARF error: Unable to map 'calls.c:5' to address
STDERR ERROR: DWARF error: No compilation unit matches none.c
STDERR ERROR: Source code location not allowed
