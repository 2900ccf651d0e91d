# Probes of every kind this kernel has.

FILE TOGETHER

NAME uprobe arguments
RUN {sonde} -q -c "{copy:calls}" -e 'uprobe:{copy:calls}:add { @calls = count(); @n = max(arg0); @sum = sum(arg0) }'
EXPECT_LINE @calls: 1000
EXPECT_LINE @n: 999
EXPECT_LINE @sum: 499500

NAME uretprobe return values
RUN {sonde} -q -c "{copy:calls}" -e 'uretprobe:{copy:calls}:add { @r = max(retval); @[retval > 1000] = count() }'
EXPECT_LINE @r: 1998
EXPECT_LINE @[true]: 499
EXPECT_LINE @[false]: 501

# The same file by another name, a pattern, a tracepoint by name and pattern: one firing a place in a probe. Other probes there fire too.
NAME attach points of one probe that are one place fire once
NEED cmd:perl
RUN ln -s {copy:calls} l; {sonde} -q -c "{copy:calls}" -e 'uprobe:{copy:calls}:add, uprobe:./l:add, uprobe:{copy:calls}:ad*, uretprobe:{copy:calls}:add { @n[probe] = count() } uprobe:./l:add { @other = count() }' | sed 's,{copy:calls},B,'; {sonde} -q -c "perl -e '\$0=q(perl73); getppid for 1..7'" -e 'tracepoint:syscalls:sys_enter_getppid, t:syscalls:sys_enter_getppid, tracepoint:syscalls:sys_enter_getpp* /comm == "perl73"/ { @t = count() }'
EXPECT_LINE @n[uprobe:B:add]: 1000
EXPECT_LINE @n[uretprobe:B:add]: 1000
EXPECT_LINE @other: 1000
EXPECT_LINE @t: 7

NAME a thread that is made counts once where libpthread and libc are one place, as in threadsnoop.bt
RUN {sonde} -q -c "{copy:waits} calls 5 1 74" -e 'uprobe:libpthread:pthread_create, uprobe:libc:pthread_create /comm == "{name:waits}"/ { @made = count() }'; {sonde} -q -c "{copy:usdt}" -e 'usdt:{copy:usdt}:tst:one, usdt:{copy:usdt}:one { @one = count() }'
EXPECT_LINE @made: 1
EXPECT_LINE @one: 1000

NAME uprobe strings, arguments on the stack
RUN {sonde} -q -c "{copy:calls}" -e 'uprobe:{copy:calls}:name_of { @[str(arg0)] = arg1 } uprobe:{copy:calls}:many { printf("%d %d %d\n", arg5, arg6, arg7) }'
EXPECT_LINE @[name-9]: 6
EXPECT_LINE 6 7 8

NAME structs of a traced program, declared in the script
RUN {sonde} -q -c "{copy:calls}" -e 'struct pair { int first; struct pair *next; char label[16]; unsigned bits : 5; }; uprobe:{copy:calls}:take { $p = (struct pair *)arg0; printf("%d %s %d %s %d %d\n", $p->first, $p->label, $p->next->first, $p.next.label, $p->bits, $p.next.bits); $c = *$p; printf("%s %d\n", $c.label, $c.next.first) }'
EXPECT_LINE 1 first 2 second 17 3
EXPECT_LINE first 2

NAME args of a uprobe through debug information
RUN {sonde} -q -c "{copy:calls}" -e 'uprobe:{copy:calls}:take { printf("%d %s\n", args.p->first, args.p->label) } uprobe:{copy:calls}:name_of { @[str(args.s)] = args.len }'
EXPECT_LINE 1 first
EXPECT_LINE @[name-0]: 6

NAME casts to types of the traced binary
RUN {sonde} -q -c "{copy:calls}" -e 'uprobe:{copy:calls}:take { printf("%d\n", ((struct pair *)arg0)->next->bits) }'
EXPECT_LINE 3

NAME offsets, addresses and wildcards
RUN {sonde} -q -c "{copy:calls}" -e 'uprobe:{copy:calls}:name_of+0 { @a = count() } uprobe:{copy:calls}:na*,uprobe:{copy:calls}:tak? { @b[probe] = count() }'
EXPECT_LINE @a: 10
EXPECT_RE ^@b\[uprobe:.*{name:calls}:take\]: 1$
EXPECT_RE ^@b\[uprobe:.*{name:calls}:name_of\]: 10$

NAME func and ustack in a uprobe
RUN {sonde} -q -c "{copy:calls}" -e 'uprobe:{copy:calls}:take { printf("%s%s\n", func, ustack(2)) }'
EXPECT_RE ^take$
EXPECT_RE ^\s+take\+0$
EXPECT_RE ^\s+main\+\d+$

NAME uaddr
RUN {sonde} -q -c "{copy:calls}" -e 'uprobe:{copy:calls}:take { printf("%d\n", *uaddr("global_counter")) }'
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
PROG interval:ms:20 { @n++; if (@n == 5) { exit() } }
EXPECT_RE ^@n: ([5-9]|\d\d)$

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
RUN sleep 60 & echo $! >p; {sonde} -q -p $! -e 'interval:s:100 { } end { printf("done\n") }'
WORKLOAD kill $(cat p)
EXPECT_LINE done

NAME -p filters tracepoints
RUN {build}/workload 60 & P=$!; {sonde} -q -p $P -e 'tracepoint:syscalls:sys_enter_newfstatat { @[pid == '$P'] = count() } interval:s:1 { exit() }'; kill $P
EXPECT_RE ^@\[true\]: \d+$
EXPECT_NOT false

NAME stacks of raw tracepoints begin at the event
PROG rawtracepoint:sched_switch { @[kstack(2)] = count() } interval:ms:200 { exit() }
EXPECT_NOT bpf_
EXPECT_RE ^\s+(__)?(traceiter|schedule|__schedule)

NAME dry run
RUN for o in --dry-run ''; do {sonde} -q $o -e 'tracepoint:sched:sched_switch { printf("once\n"); exit() }'; echo "status $?"; done
EXPECT_RE \Astatus 0\n(once\n)+\s*status 0\n\Z

NAME called bpftrace
RUN ln -s {sonde} {tmp}/bpftrace; {tmp}/bpftrace -e 'begin { foo() }'
RC 1
STDERR         ~~~~~


NAME a command runs to its end though only begin has anything to do
RUN {sonde} -q -c '{build}/shapes 3' -e 'begin { print(1) } end { print(2) }'
EXPECT_LINE shapes done
EXPECT_LINE 2

NAME listing: a word is the name of an event, a file alone means all that it has, what does not exist is no error
RUN {sonde} -l sched_wakeup; {sonde} -l tracepoint:sched_wakeup_new; {sonde} -l usdt:{copy:usdt}; {sonde} -l tracepoint:sched:nosuch && {sonde} -l 'uprobe:{copy:calls}' && {sonde} -lv 'uprobe:{copy:calls}:_start'; {sonde} -l nosuch.bt; echo ended $?
EXPECT_LINE tracepoint:sched:sched_wakeup
EXPECT_LINE tracepoint:sched:sched_wakeup_new
EXPECT_RE ^usdt:.*/{name:usdt}:tst:one$
EXPECT_RE ^uprobe:.*/{name:calls}:add$
EXPECT_LINE ended 0
STDERR WARNING: no tracepoint sched:nosuch in this kernel
STDERR WARNING: there is no file 'nosuch.bt'

NAME listing: types with their definition
NEED btf
RUN {sonde} -lv 'union sigval'
EXPECT_LINE vmlinux: union sigval {

NAME usdt in any file sees the command, which is not mapped yet
RUN {sonde} -q -c {copy:usdt} -e 'usdt:*:one { @[probe] = count() }'; {sonde} -c {copy:usdt} -l 'usdt:*:one'
EXPECT_RE ^@\[usdt:.*/{name:usdt}:tst:one\]: 1000$
EXPECT_RE ^usdt:.*/{name:usdt}:tst:one$

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
RUN {sonde} -q -c {copy:calls} -e 'rawtracepoint:sched_process_exec /comm == "{name:calls}"/ { print(args) } uprobe:{copy:calls}:name_of { print(args) }' | sort | uniq -c
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
RUN mkfifo p; {copy:insns} 30 <p >out & exec 3>p; until grep -q ready out; do sleep 0.05; done; printf 'echo >p; until grep -q counted out; do sleep 0.05; done' >go; {sonde} -q -c 'sh go' -e 'uprobe:{copy:insns}:probe_* { @[func] = count(); }' 2>&1; cat out
EXPECT_RE WARNING: 8 of 15 places that the pattern matches cannot be probed, for example uprobe:
EXPECT_RE ^@\[probe_fine_nop\]: 30\n@\[probe_fine_push\]: 30\n@\[probe_fine_segment\]: 30\n@\[probe_fine_two_bytes\]: 30\n
EXPECT_LINE counted 60

NAME a line of a source file, and of which there are none
RUN {sonde} -q -c "{copy:calls}" -e 'uprobe:{copy:calls}@calls.c:23 { @line = count() } uprobe:{copy:calls}@progs/calls.c:57 { @take = count() }'
EXPECT_LINE @line: 1000
EXPECT_LINE @take: 1

NAME no code at a line
RUN {sonde} -e 'uprobe:{copy:calls}@calls.c:5 { @ = count() } uprobe:{copy:calls}@none.c:5 { @ = count() } uretprobe:{copy:calls}@calls.c:23 { @ = count() }'
RC 1
STDERR ERROR: DWARF error: Unable to map 'calls.c:5' to address
STDERR ERROR: DWARF error: No compilation unit matches none.c
STDERR ERROR: Source code location not allowed

NAME constants of USDT arguments have the size and the sign that their descriptors say
NEED cmd:gcc
RUN gcc -DCONSTANTS -o c {top}/test/progs/usdt.c && {sonde} -q -c ./c -e 'usdt:./c:tst:constants { printf("%ld %ld %ld %ld %ld\n", arg0, arg1, arg2, arg3, arg4) }'
EXPECT_LINE 4294967291 -5 255 -56 -1

NAME arguments of USDT probes as the compiler of this machine writes them: in registers, in memory, constants
RUN {sonde} -q -c {copy:usdtargs} -e 'usdt:{copy:usdtargs}:tst:args { printf("%d %d %s %d %d %d\n", arg0, arg1, str(arg2), arg3, arg4, arg5) }'
EXPECT_LINE -3 5 text 10 -20 7

NAME registers by names that mean the same everywhere
RUN {sonde} -q -c {copy:calls} -e 'uprobe:{copy:calls}:take { printf("%s %d %d %d\n", usym(reg("pc")), reg("pc") == reg("ip"), reg("sp") > 4096, reg("fp") >= 0) } uretprobe:{copy:calls}:add { @[reg("ret") == retval] = count() }'
EXPECT_RE ^take(\+0)? 1 1 1$
EXPECT_LINE @[true]: 1000

# Where a raw tracepoint has it (5.12), loops over maps are not far.
NAME socket_cookie in a raw tracepoint, by name and by number
NEED for_each_map_elem
NEED btf
RUN printf 'import socket\ns = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(3)\nfor i in range(3):\n c = socket.socket(); c.connect(s.getsockname()); print("cookie", int.from_bytes(c.getsockopt(socket.SOL_SOCKET, 57, 8), "little"))\n' >c.py; {sonde} -q -c 'python3 c.py' -e 'rawtracepoint:inet_sock_set_state /pid == cpid && args.newstate == 2/ { printf("cookie %d\n", socket_cookie(args.sk)) } rawtracepoint:inet_sock_set_state /pid == cpid && arg2 == 2/ { printf("cookie %d\n", socket_cookie((struct sock *)arg0)) }' >o; sort o | uniq -c | sed 's/^ *//; s/cookie .*/cookie/' | sort | uniq -c
EXPECT_RE ^ *3 3 cookie$

NAME one place under several names fires once: files that a pattern finds by links, and functions with several names, which -l shows all
NEED cmd:gcc
RUN printf '__attribute__((noipa)) int one(int x) { return x + 1; }\nint two(int) __attribute__((alias("one")));\nint main(void) { int n = 0; for (int i = 0; i < 50; i++) n += one(i) + two(i); return n != 2550; }\n' >a.c; gcc -O1 -o a1 a.c; ln -s a1 a2; ln a1 a3; {sonde} -q -c ./a1 -e 'uprobe:./a?:one { @files[probe] = count() } uprobe:./a1:one, uprobe:./a1:two { @names[probe] = count() } uprobe:./a1:[ot][nw][eo] { @both = count() } uretprobe:./a?:one { @ret = count() }'; {sonde} -l 'uprobe:./a1:[ot][nw][eo]'
EXPECT_RE ^@files\[uprobe:./a1:one\]: 100$
EXPECT_NOT @files[uprobe:./a2
EXPECT_LINE @names[uprobe:./a1:one]: 100
EXPECT_NOT @names[uprobe:./a1:two
EXPECT_LINE @both: 100
EXPECT_LINE @ret: 100
EXPECT_RE ^uprobe:./a1:one\nuprobe:./a1:two$

NAME code that is mapped from a file which is no ELF file: by offset with --unsafe, else refused
NEED arch:x86_64
RUN printf '#include <fcntl.h>\n#include <sys/mman.h>\nint main(void) { char *p = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, open("code", O_RDONLY), 0); int n = 0; for (int i = 0; i < 1000; i++) n += ((int (*)(int))(p + 16))(i); return n != 499500; }\n' >m.c; gcc -o m m.c; (head -c 16 /dev/zero; printf '\211\370\303'; head -c 4077 /dev/zero) >code; {sonde} -q -c ./m -e 'uprobe:./code:16 { @ = count() }' 2>&1; {sonde} -q --unsafe -c ./m -e 'uprobe:./code:0x10 { @arg = sum(arg0) } uretprobe:./code:16 { @ret = sum(retval); @p[probe] = count() }'
EXPECT ERROR: cannot probe ./code: not an ELF file
EXPECT HINT: --unsafe probes any file, at an offset in it
EXPECT_LINE @arg: 499500
EXPECT_LINE @ret: 499500
EXPECT_LINE @p[uretprobe:./code:16]: 1000

NAME symbols of size 0 may be no functions: refused, left out of patterns and counted, probed with --unsafe
RUN {sonde} -c {copy:calls} -e 'uprobe:{copy:calls}:_init { @i = count() }' 2>&1; {sonde} -q -c {copy:calls} -e 'uprobe:{copy:calls}:[_t]* { @n[func] = count() }' 2>&1; {sonde} -q --unsafe -c {copy:calls} -e 'uprobe:{copy:calls}:_init { @i = count() }'
EXPECT_RE ERROR: Could not determine boundary for _init \(symbol has size 0\)$
EXPECT_RE WARNING: [1-9] of \d+ functions that the pattern matches have symbols of size 0 and are left out; --unsafe probes them$
EXPECT_LINE @n[take]: 1
EXPECT_LINE @i: 1

NAME a place of a file without symbols can be probed
NEED cmd:readelf
NEED cmd:strip
RUN cp {build}/calls {id}.bin; strip -s {id}.bin; A=$(readelf -hW {id}.bin | sed -n 's/.*Entry point address: *//p')
    {sonde} -e "uprobe:./{id}.bin:$A { print(1); exit() }" -c ./{id}.bin 2>&1 | grep -c '^1$'
EXPECT_LINE 1

NAME what is set at a function's entry is there at its return: calls in one another, in threads, with their own arguments
NEED for_each_map_elem
RUN {sonde} -q -c '{copy:recurse} 4 16' -e 'uprobe:{copy:recurse}:fib { $n = arg0; let $start = nsecs; }
    uretprobe:{copy:recurse}:fib { @calls = count(); @[$n, retval] = count(); if (nsecs <= $start) { @bad = count() } } end { for ($kv : @) { @different[$kv.0.0] = count(); } clear(@) }' | sort
EXPECT_LINE @calls: 12772
EXPECT_LINE @different[16]: 1
EXPECT_LINE @different[2]: 1
EXPECT_NOT : 2
EXPECT_NOT @bad

NAME the time of each call is its own: the outer one's holds the inner one's
RUN {sonde} -q -c '{copy:recurse} 1 1' -e 'uprobe:{copy:recurse}:slow { $start = nsecs; $name = "call"; $n = arg0 }
    uretprobe:{copy:recurse}:slow { $t = nsecs - $start; printf("%s %d %d\n", $name, $n, $t >= ($n + 1) * 2000000 && $t > @last); @last = $t }'
EXPECT_LINE call 0 1
EXPECT_LINE call 1 1
EXPECT_LINE call 2 1
EXPECT_LINE call 3 1

NAME a return's predicate sees the entry's variables, and a call whose entry set none is left out
RUN {sonde} -q -c '{copy:recurse} 1 12' -e 'uprobe:{copy:recurse}:fib /arg0 % 2 == 1/ { $n = arg0; }
    uretprobe:{copy:recurse}:fib /$n < 4/ { @[$n] = count(); @all[retval] = count() }'
EXPECT_LINE @[1]: 144
EXPECT_LINE @[3]: 55
EXPECT_LINE @all[1]: 144
EXPECT_LINE @all[2]: 55
EXPECT_NOT @[2]

NAME variables of a function whose entry is not probed stay unknown
PROG uretprobe:{build}/recurse:fib { print($start) } uprobe:{build}/recurse:slow { $start = nsecs }
RC 1
STDERR Undefined or undeclared variable: $start
STDERR HINT: what the entry of a call sets is there if a uprobe (of a kretprobe: a kprobe) has the same functions, written the same

NAME texts of a uprobe whose pages nobody has used are waited for: at once, over the edge of a page, behind a pointer; not behind a predicate that is false
NEED sleepable uprobes
RUN {sonde} -q -c '{copy:cold} {tmp}/pages' -e 'struct box { char *text; }; uprobe:{copy:cold}:take /arg1 != 3/ { printf("%d [%s]\n", arg1, str(arg0)) } uprobe:{copy:cold}:deep { $b = (struct box *)arg0; $t = $b.text; printf("deep [%s]\n", str($t)); @[str($b.text)] = count() }' 2>&1
EXPECT_LINE 1 [at its start]
EXPECT_LINE 2 [over the edge]
EXPECT_LINE 4 []
EXPECT_LINE deep [behind a pointer]
EXPECT_LINE @[behind a pointer]: 1
EXPECT_LINE left out: cold
EXPECT_LINE pointer: in memory
EXPECT_NOT could not be read

NAME texts of system calls whose pages nobody has used are waited for: 1,000 names once each, at their own time, as keys and in the predicate; not behind one that is false
NEED task work
RUN P='tracepoint:syscalls:sys_enter_openat'; M='comm == "{name:coldnames}"'; {sonde} -q -c '{copy:coldnames} {tmp}/names 1000' -e "$P /$M/ { printf(\"%llu %s %d\n\", nsecs, str(args.filename), pid == cpid) }" >o 2>e; cat e; python3 -c 'r = [l.split() for l in open("o") if "/nosuch/" in l]; t = [int(x[0]) for x in r]; print([x[1] for x in r] == ["/nosuch/%d" % i for i in range(1000)], t == sorted(set(t)), {x[2] for x in r})'; {sonde} -q -c '{copy:coldnames} {tmp}/names 1000' -e "$P /$M/ { @[str(args.filename, 16)] = count() }" 2>&1 | grep -c '^@\[/nosuch/[0-9]*\]: 1$'; {sonde} -q -c '{copy:coldnames} {tmp}/names 1000' -e "$P /str(args.filename) == \"/nosuch/517\"/ { printf(\"%s %d\n\", str(args.filename), pid == cpid ? 1 : 0) }" 2>&1; {sonde} -q -c '{copy:coldnames} {tmp}/names 1000' -e "$P /$M && args.flags == 12345/ { print(str(args.filename)) }" 2>&1
EXPECT_RE \ATrue True {'1'}\n1000\n\s*/nosuch/517 1\n\s*\Z
TIMEOUT 40

NAME texts of system calls are waited for in branches, behind && and ?:, and through variables
NEED task work
RUN P='tracepoint:syscalls:sys_enter_openat /comm == "{name:coldnames}"/'; for a in "$P { if (args.flags >= 0) { @n[str(args.filename)] = count() } else { @o = count() } }" "$P { \$f = args.filename; \$g = \$f; @n[str(\$g)] = count() }" "$P { \$s = pid == 0 ? \"x\" : str(args.filename); @n[\$s] = count() }" "$P { let \$f; if (args.flags == 1) { \$f = args.filename } else { \$f = args.filename } if (pid > 0) { if (strcontains(str(\$f), \"/nosuch\")) { @n[str(\$f)] = count() } } }" "$P { if (pid > 0 && str(args.filename) != \"\") { @n[str(args.filename, 32)] = count() } }"; do {sonde} -q -c '{copy:coldnames} {tmp}/names 200' -e "$a" >o 2>&1; echo $(grep -c '^@n\[/nosuch/[0-9]*\]: 1$' o) $(grep -c 'not in memory' o); done
EXPECT_RE \A(200 0\n){5}\Z
TIMEOUT 40

NAME events whose text is waited for are told once when their thread is killed, ends with its process, or becomes another program
NEED task work
RUN for w in kill group exec; do {sonde} -q -c "{copy:coldnames} {tmp}/names $w" -e 'tracepoint:syscalls:sys_enter_openat /comm == "{name:coldnames}"/ { $s = str(args.filename); @n[strcontains($s, "fifo") ? "fifo" : $s == "<not in memory>" ? "unread" : "other"] = count() }' 2>&1 | grep -v other; done
EXPECT_RE \A(\s*@n\[fifo\]: 4\s*){3}\Z
TIMEOUT 40

NAME an action that others could come before is not put off: another probe, what a map keeps, a text that the kernel may write, an action that reads what changes
NEED task work
RUN P='tracepoint:syscalls:sys_enter_openat /comm == "{name:coldnames}"/'; for a in "$P { @n[str(args.filename)] = count() } tracepoint:syscalls:sys_exit_openat { }" "$P { @n[str(args.filename)] = 1 }" "$P { @x++; @n[str(args.filename)] = count() }" "$P { @n[str(args.filename), cpu >= 0] = count() }" "$P { @n[str(args.filename)] = count(); for \$i : 0..2 { \$j = \$i } }"; do {sonde} -q -c '{copy:coldnames} {tmp}/names 10' -e "$a" 2>&1 | grep -c '^@n\[<not in memory>'; done; {sonde} -d ir -e 'tracepoint:syscalls:sys_enter_read { @ = buf(args.buf, 4) }' | grep -c task_work; {sonde} -d ir -e 'tracepoint:syscalls:sys_enter_openat { print(str(args.filename)) }' | grep -c task_work
EXPECT_RE \A1\n1\n1\n1\n1\n0\n1\n\Z
TIMEOUT 60

NAME texts of a uprobe that it may not wait for say that they are not in memory
RUN {sonde} -q --no-feature uprobe_multi -c '{copy:cold} {tmp}/pages' -e 'uprobe:{copy:cold}:take { printf("%d [%s] [%s]\n", arg1, str(arg0), str(arg0, 10)) }' 2>&1
EXPECT_LINE 1 [<not in memory>] []
EXPECT_LINE 4 [] []
EXPECT_RE could not be read: 6 \(
