# Builtins and functions.

FILE TOGETHER

NAME pid tid uid gid comm cpu
PROG begin { printf("%d %d %d %d %s %d\n", pid == tid, uid, gid, cpu < ncpus, comm, pid() == pid); exit() }
EXPECT_LINE 1 0 0 1 sonde 1

NAME clocks
PROG begin { $a = nsecs; $b = nsecs(boot); $c = nsecs(monotonic); $d = nsecs(tai); $e = nsecs(sw_tai); printf("%d %d %d\n", $b >= $a, $d > $c, elapsed < 10s); exit() }
EXPECT_LINE 1 1 1

NAME rand, jiffies, cgroup, numaid
PROG begin { printf("%d %d %d\n", rand == rand && rand == rand && rand == rand, jiffies > 0, numaid); exit() }
EXPECT_LINE 0 1 0

NAME username
PROG begin { print(username); exit() }
EXPECT_LINE root

NAME probe and probetype
PROG begin { printf("%s %s\n", probe, probetype) } interval:ms:10 { printf("%s %s\n", probe, probetype); exit() }
EXPECT_LINE begin special
EXPECT_LINE interval:ms:10 interval

NAME str with a length, and truncation
PROG begin { printf("%s|%s\n", str("hello", 3), str("hello")); exit() }
EXPECT_RE ^he.*\|hello$

NAME strlen strcontains strstr strncmp
PROG begin { $s = "hello world"; printf("%d %d %d %d %d %d\n", strlen($s), strcontains($s, "lo w"), strstr($s, "world"), strstr($s, "x"), strncmp($s, "help", 3), strncmp($s, "help", 4) != 0); exit() }
EXPECT_LINE 11 1 6 -1 0 1

NAME uptr() and kptr() of a number are that number, read as 64 bits in the address space they say
RUN {sonde} -q -e 'uprobe:{copy:calls}:name_of { $c = (uint64)curtask + offsetof(struct task_struct, comm); $k = kptr($c); print((*uptr(arg0) == *(uint64 *)arg0, sizeof(*uptr(arg0)), *uptr(arg0) & 0xffffffffff, *(uptr(arg0) + 1) & 0xff, uptr((uint32)5))); print((*$k == *(uint64 *)kptr((int8 *)$c), *kptr($c) & 0xff, *(kptr($c) + 1) & 0xff, str($k) == comm, str(kptr($c + 1)), *(uint8 *)kptr($c))); @p[uptr(arg0) - arg0] = 5; @p[1] = 6; exit() }' -c {copy:calls}
EXPECT_RE ^\(true, 8, 194975195502, 97, 5\)$
EXPECT_RE ^\(true, 99, 97, true, alls\d+, 99\)$
EXPECT_LINE @p[0]: 5
EXPECT_LINE @p[1]: 6

NAME strcap(): the room of a text or an array, the length of what a pointer points to
RUN {sonde} -q -e 'struct cap { char n[16]; int8 m[8]; } begin { $t = (struct cap *)curtask; $s = str("ab"); $s = "abcdef"; print((strcap("abc"), strcap($s), strcap(comm), strcap($t.n), strcap($t.m))); }
     uprobe:{copy:calls}:name_of { $p = (int8 *)arg0; print((strcap($p), strcap((int8 *)arg0), strlen($p))); exit() }' -c {copy:calls}
EXPECT_LINE (4, 7, 16, 16, 8)
EXPECT_LINE (6, 6, 6)

NAME strncmp() is 1 where the texts differ, str() of a literal with its own length is all of it
PROG begin { print((strncmp("x", "f", 1), strncmp("f", "x", 1), strncmp("xy", "xz", 1), str("abc", 2), str("abc", 3), str("abc", 4))); exit() }
EXPECT_LINE (1, 1, 0, ab, abc, abc)

NAME a shifted literal has no sign, a shifted signed number has
PROG begin { @z = 0; $n = 5; @n = 5; $s = (int64)61; print(($n << 61, @n << 61, $n << $s, $n << (uint8)61, (uint64)$n << 61)); clear(@n); print((200 << (uint8)56, (5 + 1) << (uint8)61)); $c = 1000; print($c << (uint8)54); print((int8)(@z + 5) << (uint8)61); print(-5 << (uint8)1); exit() }
EXPECT_RE \A\(-6917529027641081856, -6917529027641081856, -6917529027641081856, 11529215046068469760, 11529215046068469760\)\n\(14411518807585587200, 13835058055282163712\)\n18014398509481984000\n-6917529027641081856\n-10\n

NAME the number of a range of literals takes the sign of what it meets, and of what the body sets it to
PROG enum col { RED, GREEN = 5 }; begin { for ($i : 0..2) { print(($i < (uint64)-1, $i + (uint64)-5, -$i - 1)) } for ($i : 0..2) { $i = -5; print($i) } for ($i : -2..0) { print($i < 0) } print((1 ? GREEN : 3, 1 ? GREEN : RED)); exit() }
EXPECT_RE \A\(true, 18446744073709551611, -1\)\n\(true, 18446744073709551612, -2\)\n-5\n-5\ntrue\ntrue\n\(5, GREEN\)\n

NAME nothing is added to a text or a record
RUN {sonde} -e 'begin { @r = (a=1, b="x"); @r += (pid > 0) }' 2>&1 | grep ERROR; {sonde} -e 'begin { @t = strerror(1); @t += 3 }' 2>&1 | grep ERROR; {sonde} -q -e 'begin { @n = 1; @n += 3; @n += true; exit() }'
EXPECT_RE \A.*@r: trying to assign value of type 'uint64' when map already has a type 'record .*\n.*@t: trying to assign value of type 'int64' when map already has a type 'string\[64\]'\n\s*@n: 5\n\Z

NAME JSON of avg() and stats() that have no value left, as bpftrace
RUN {sonde} -q -f json -e 'begin { @a = avg(5); clear(@a); @s = stats(1); clear(@s); @n = 5; clear(@n); @b = avg(4); exit() }'
EXPECT_RE \A{"type": "stats", "data": {"@a": {}}}\n{"type": "stats", "data": {"@b": 4}}\n{"type": "stats", "data": {"@s": {}}}\n\Z

NAME globmatch
PROG begin { $s = "sched_switch"; printf("%d %d %d %d\n", globmatch($s, "sched_*"), globmatch($s, "*wake*"), globmatch($s, "s?hed_[a-t]*"), globmatch($s, "[!s]*")); exit() }
EXPECT_LINE 1 0 1 0

NAME globmatch of literal patterns that need no loop
PROG begin { $s = "sched_switch"; printf("%d %d %d %d %d %d", globmatch($s, "sched_switch"), globmatch($s, "sched_switc"), globmatch($s, "sched_switches"), globmatch($s, "*"), globmatch($s, "sched_wake*"), globmatch($s, "sched_switch*")); printf(" %d %d\n", globmatch("", ""), globmatch("ab", "abcdefghijklmnopqrstuvwxyz")); exit() }
EXPECT_LINE 1 0 0 1 0 1 1 0

NAME memcmp
PROG begin { $a = (uint8[4])((uint32)0x01020304); $b = (uint8[4])((uint32)0x01020304); printf("%d %d\n", memcmp($a, $b, 4), memcmp("abc", "abd", 2)); exit() }
EXPECT_LINE 0 0

NAME a tuple of literals is a literal
PROG begin { $x = 1; print((is_literal((1, "a", (2, true))), is_literal((1, $x)), is_literal(5), is_literal($x))); exit() }
EXPECT_LINE (true, false, true, false)

NAME memcmp of as many bytes as a variable says
RUN {sonde} -q -e 'begin { $n = (int32)pid * 0 + 3; $s = "hello"; $a = (uint64)5; print((memcmp("abc", "abd", $n - 1), memcmp($s, "help", $n), memcmp($s, "help", $n + 1), memcmp("abc", "abd", 0 * $n), memcmp("abc", "abcdefgh", $n + 99), memcmp($a, $a, $n + 20), memcmp("x", "y", $n - 4))); exit() }'; {sonde} -q -e 'uprobe:{copy:calls}:name_of { $s = str(arg0); $p = (uint8 *)arg0; print((memcmp($p, $s, arg1), memcmp($s, $p, arg1 - 2), memcmp($p + 1, $p, arg1))); exit() }' -c {copy:calls}
EXPECT_RE \A\(0, 0, -4, 0, -100, 0, -1\)\s+\(0, 0, -13\)\s*\Z

NAME buf and its formats
PROG begin { printf("%r %rx %rh\n", buf("abc\x01", 4), buf("abc", 3), buf("abc", 3)); exit() }
EXPECT_LINE abc\x01 \x61\x62\x63 61 62 63

NAME bswap
PROG begin { printf("%x %x %x %x\n", bswap((uint16)0x1234), bswap((uint32)0x12345678), bswap((uint64)0x1), bswap((uint8)0x12)); $x = (uint32)0xaabbccdd; printf("%x\n", bswap($x)); exit() }
EXPECT_LINE 3412 78563412 100000000000000 12
EXPECT_LINE ddccbbaa

NAME ntop and pton
PROG begin { printf("%s %s %s\n", ntop(0x0100007f), ntop(pton("::1")), ntop(pton("10.1.2.3"))); if ((uint32)pton("127.0.0.1") == 0x0100007f) { printf("same\n") } exit() }
EXPECT_LINE 127.0.0.1 ::1 10.1.2.3
EXPECT_LINE same

NAME strerror and syscall_name
PROG begin { print(strerror(1)); printf("%s\n", strerror(2)); print(syscall_name(0)); exit() }
EXPECT_LINE Operation not permitted
EXPECT_LINE No such file or directory

NAME strftime and time
PROG begin { printf("%s\n", strftime("%Y", nsecs)); time("%Y!\n"); exit() }
EXPECT_RE ^20\d\d$
EXPECT_RE ^20\d\d!$

# 8 bytes further, not 8 words: sums and reads agree with those of byte and word pointers to the kernel's code.
NAME kaddr is a plain number: arithmetic counts bytes, reading it reads the kernel's 64 bits
RUN {sonde} -q -e 'begin { $a = kaddr("schedule"); printf("%d %d %d %d %d\n", $a > 0, *($a + 8) == *((uint64 *)$a + 1), *(kaddr("schedule") + 8) != *$a, *(uint8 *)($a + 1) == *((uint8 *)$a + 1), sizeof($a)); print(typeinfo($a).full_type); exit() }' 2>&1
EXPECT_LINE 1 1 1 1 8
EXPECT_LINE uint64
EXPECT_NOT WARNING

NAME kaddr in a uprobe is still an address of the kernel
RUN cp {build}/calls .; {sonde} -q -c "./calls" -e 'uprobe:./calls:main { $a = kaddr("schedule"); printf("%d %d\n", *$a != 0 && *$a == *(uint64 *)$a && *$a == *kptr((uint64 *)$a), *$a == *uptr((uint64 *)kaddr("schedule"))); }'
EXPECT_LINE 1 0

NAME kaddr and ksym
PROG begin { printf("%s\n", ksym(kaddr("schedule"))); exit() }
EXPECT_LINE schedule

NAME has_key, delete, len, find
PROG begin { @m[1, 2] = 5; let $v; printf("%d %d %d ", has_key(@m, (1, 2)), has_key(@m, (1, 3)), len(@m)); if (find(@m, (1, 2), $v)) { printf("%d ", $v) } printf("%d %d %d\n", delete(@m, (1, 2)), delete(@m, (1, 2)), len(@m)); exit() }
EXPECT_LINE 1 0 1 5 1 0 0

NAME delete in the old form, and of a scalar
PROG begin { @m[1] = 1; delete(@m[1]); @s = 4; delete(@s); @t = 1; exit() }
EXPECT_LINE @t: 1
EXPECT_NOT @m
EXPECT_NOT @s

NAME clear and zero
PROG begin { @a[1] = 7; @b[1] = 7; @c = count(); @d["x"] = sum(5); clear(@a); zero(@b); zero(@d); exit() }
EXPECT_NOT @a
EXPECT_LINE @b[1]: 0
EXPECT_LINE @d[x]: 0

NAME print with top and div
PROG begin { for ($i : 1..11) { @[$i] = $i - 1 } print(@, 2); print(@, 5, 2); clear(@); exit() }
EXPECT_LINE @[9]: 8
EXPECT_LINE @[10]: 9
EXPECT_LINE @[10]: 4
EXPECT_NOT @[1]:

NAME print of values
PROG begin { print(123); print("abc"); print(-5); print((uint64)0xffffffffffffffff); @x["k"] = 3; print(@x["k"]); clear(@x); exit() }
EXPECT_LINE 123
EXPECT_LINE abc
EXPECT_LINE -5
EXPECT_LINE 18446744073709551615
EXPECT_LINE 3

NAME aggregations read back as integers
PROG begin { @c = count(); @c = count(); @s = sum(3); @s = sum(9); @mn = min(4); @mn = min(-2); @mx = max(4); @mx = max(9); @a = avg(2); @a = avg(4); printf("%d %d %d %d %d\n", (int64)@c, (int64)@s, (int64)@mn, (int64)@mx, (int64)@a); if (@s == 12) { printf("twelve\n") } clear(@c); clear(@s); clear(@mn); clear(@mx); clear(@a); exit() }
EXPECT_LINE 2 12 -2 9 3
EXPECT_LINE twelve

NAME join
RUN {sonde} -q -c "/bin/echo one two" -e 'tracepoint:syscalls:sys_enter_execve { join(args.argv); join(args.argv, ","); }'
EXPECT_LINE /bin/echo one two
EXPECT_LINE /bin/echo,one,two

NAME cat
PROG begin { cat("/proc/%d/comm", pid); exit() }
EXPECT_LINE sonde

NAME system needs --unsafe
PROG begin { system("echo hi"); exit() }
RC 1
STDERR system() is an unsafe function being used in safe mode

NAME system
PROG begin { system("echo %s %d", "hi", 5); exit() }
ARGS --unsafe
EXPECT_LINE hi 5

NAME system: interrupts do not wait for all commands, those that are left are counted
RUN {sonde} -q --unsafe -e 'begin { for ($i : 0..60) { system("echo run; sleep 0.3") } }' >o 2>e & p=$!; until grep -q run o; do sleep 0.05; done; kill -INT $p; sleep 0.5; kill -INT $p; wait $p; n=$(grep -c run o); test $n -lt 20 && grep -x "WARNING: $((60 - n)) commands of system() were not run: tracing was interrupted before their turn came" e
EXPECT commands of system() were not run
TIMEOUT 15

NAME system: commands that are events themselves end with the traced command, or 3 s after an interrupt
RUN cp /bin/true t{id}; t() { timeout -s INT $1 {sonde} -q --unsafe -c "$2" -e 'tracepoint:syscalls:sys_enter_execve /comm == "sh" || comm == "t{id}"/ { system("./t{id}; ./t{id}"); @ = count() }' >o 2>&1; test $? = $3 && grep -q '^@: ' o && echo ended; }; t 5 'sleep 60' 124; t 15 'sh -c "./t{id}; sleep 0.5"' 0
EXPECT_RE ^ended\nended$
TIMEOUT 40

NAME signal
RUN {sonde} -q --unsafe -c "sleep 5" -e 'tracepoint:syscalls:sys_enter_clock_nanosleep /comm == "sleep"/ { signal("KILL"); @sent = 1; }'
EXPECT_LINE @sent: 1
TIMEOUT 4

NAME errorf and warnf
PROG begin { errorf("bad %d", 1); warnf("odd %s", "x"); exit() }
STDERR ERROR: bad 1
STDERR WARNING: odd x

NAME assert
PROG begin { assert(1 == 1, "fine"); assert(pid == 0, "pid is not zero"); printf("not here\n") }
RC 1
STDERR pid is not zero
EXPECT_NOT not here

NAME compile time questions
PROG begin { $a = (uint8[2])((uint16)1); printf("%d%d%d%d%d%d\n", is_array($a), is_integer(1), is_literal("x"), is_ptr(curtask), is_str("x"), is_unsigned_integer(-1)); exit() }
EXPECT_LINE 111110

NAME reading memory of the kernel
PROG begin { $c = ((struct task_struct *)curtask).group_leader; printf("%s %s\n", str($c.comm), str($c.comm, 3)); exit() }
NEED btf
EXPECT_RE ^sonde so

NAME stacks have a length
PROG tracepoint:sched:sched_switch { if (len(kstack) > 2 && len(kstack(2)) == 2) { printf("deep\n"); exit() } }
EXPECT_LINE deep

NAME the clock of a time goes with it
PROG begin { $t = nsecs(tai); $z = 0; if ($z == 0) { $z = nsecs(sw_tai) } $m = nsecs(monotonic); @t = nsecs(tai); @k[nsecs(tai)] = nsecs(tai); print(strftime("%Y", nsecs)); print((strftime("%Y", $t), strftime("%Y", $z), strftime("%Y", $m), strftime("%Y", @t), strftime("%Y", $t - 5)));
     for ($kv : @k) { print((strftime("%Y", $kv.0), strftime("%Y", $kv.1), strftime("%Y", pid ? $t : nsecs(tai)), strftime("%Y", nsecs(sw_tai)), strftime("%Y", nsecs(boot) + ($t - nsecs(tai))))) } clear(@t); clear(@k); exit() }
EXPECT_RE \A(\d+)\n\(\1, \1, \1, \1, \1\)\n\(\1, \1, \1, \1, \1\)\n\s*\Z

NAME texts of numbers are strings
PROG begin { $n = (int32)pid * 0; $s = "?"; print($s); if ($n == 0) { $s = strerror($n + 2) } print($s); $t = syscall_name($n); print((strlen($t), strcontains($t, "ea"), $t[0], str($t, 3), strcap($t)));
     $x = $n ? "none" : signal_name($n + 9); print($x); @k[strerror($n + 2)] = 1; @k["ok"] = 2; @k[syscall_name($n)] = 3; print((@k["No such file or directory"], @k["read"], has_key(@k, syscall_name($n + 1)), has_key(@k, strerror($n + 2))));
     @v[1] = strerror($n + 13); @v[2] = "y"; @p[1] = (1, "a"); @p[2] = (2, strerror($n + 1)); print(@p[2]); for ($kv : @v) { if (strcontains($kv.1, "denied")) { print(($kv.0, strlen($kv.1))) } }
     let $d: string = strerror($n + 1); let $e: typeof(strerror(1)) = "text"; print(($d, $e)); print((is_str(strerror(1)), is_str(syscall_name(1)), is_str(signal_name(1)), sizeof(strerror(2)), memcmp($t, "rest", 2)));
     print(($s == strerror($n + 2), $s == "No such file or directory", strerror($n + 1) == syscall_name($n), ("read", 1) == (syscall_name($n), 1), @v[3] == "", "ok" != strerror($n)));
     $w = "?"; if ($n == 0) { $w = signal_name($n + 500) } print(($w, strlen(strerror($n + 5000)), strlen(syscall_name($n - 1)), strlen(@v[9]), strlen(@z), strlen(@y[2]))); if ($n) { @z = strerror($n); @y[1] = strerror($n) } clear(@k); clear(@v); clear(@p); exit() }
NEED arch:x86_64
EXPECT_RE \A\?\nNo such file or directory\n\(4, true, 114, re, 64\)\nKilled\n\(1, 3, false, true\)\n\(2, Operation not permitted\)\n\(1, 17\)\n\(Operation not permitted, text\)\n\(true, true, true, 64, 0\)\n\(true, true, false, true, true, true\)\n\(N/A, 13, 15, 0, 0, 0\)\n\s*\Z

NAME texts of numbers compare with text
PROG begin { $s = strerror(1); if ($s == "Operation not permitted") { print("perm") } if (strerror(-2) == "No such file or directory") { print("noent") }
     if (syscall_name(59 * 0 + 0) != "read") { print("bad") } if ("root" == username) { print("root") } if (username == "no such user") { print("bad") }
     if (strerror(2) == "no such text") { print("bad") } print(strerror(-13)); print(syscall_name(9999)); exit() }
NEED arch:x86_64
EXPECT_LINE perm
EXPECT_LINE noent
EXPECT_LINE root
EXPECT_LINE Permission denied
EXPECT_LINE Unknown syscall
EXPECT_NOT bad

NAME text of two texts
PROG config = { max_strlen = 12 } begin { $a = "hello"; $b = str_concat($a, " you"); print($b); print(strlen(str_concat($a, $a))); print(str_concat($b, $b));
     print(str_concat("", "")); @m[str_concat("k", $a)] = str_concat("", "v"); for ($i : 0..20) { $a = str_concat($a, "z"); } print($a); print($b == "hello you"); exit() }
EXPECT_LINE hello you
EXPECT_LINE 10
EXPECT_LINE hello youhe
EXPECT_LINE hellozzzzzz
EXPECT_LINE @m[khello]: v
EXPECT_LINE true

NAME names of signals
PROG begin { $s = signal_name(2); print($s); if ($s == "Interrupt" && signal_name(9) != "Interrupt") { print("same"); } @s[signal_name(64)] = signal_name(100); print(signal_name(0)); exit() }
EXPECT_LINE Interrupt
EXPECT_LINE same
EXPECT_LINE @s[Real-time signal 30]: N/A
EXPECT_LINE Unknown signal 0

NAME errors in pointers
PROG begin { $low = (uint64)-4096; $high = (uint64)-4095; print((is_err((void *)0), is_err(curtask), is_err((void *)$low), is_err((void *)$high), is_err((void *)-1))); exit() }
EXPECT_LINE (false, false, false, true, true)

NAME the record around a member of a member
PROG struct A { int x; struct { int q; int y; } in; } begin { $y = (int32 *)4104; $c = container_of($y, typeof(struct A), in.y); print((uint64)$c); exit() }
EXPECT_LINE 4096

NAME the record around a member, by its name
PROG struct A { int x; int y; } begin { $t = curtask; $y = (int32 *)4100; $c = container_of($y, typeof(struct A), y); print((uint64)$c);
     $p = (uint8 *)$t + offsetof(struct task_struct, pid); print(container_of($p, typeof(struct task_struct), pid).pid == tid); exit() }
NEED btf
EXPECT_LINE 4096
EXPECT_LINE true

NAME leader and parent
PROG begin { $p = curtask.real_parent; print((leader_tid == pid, leader_tid() == leader_tid(curtask), leader_comm == leader_comm(curtask)));
     print((pcomm == leader_comm($p), pcomm == pcomm(curtask), ppid == leader_tid($p))); exit() }
NEED btf
EXPECT_LINE (true, true, true)
EXPECT_RE ^\(true, true, true\)\n

NAME the settings in force
PROG config = { max_strlen = 77; BPFTRACE_STACK_MODE = perf } begin { print(config.max_strlen); print(config().stack_mode); if comptime (config.max_strlen == 77) { print(config.print_maps_on_exit) } $c = config; print($c.license == config.license); exit() }
EXPECT_LINE 77
EXPECT_LINE perf
EXPECT_LINE true

NAME the traced process reads another name than it wrote
PROG tracepoint:syscalls:sys_enter_openat /str(args.filename) == "/no/such/file"/ { print((write_user(args.filename, "/dev/null", 10), "written")); @w = 1 }
     tracepoint:syscalls:sys_exit_openat /@w/ { print((args.ret > 0, "opened")); @w = 0 }
NEED probe_write_user
ARGS --unsafe -c 'cat /no/such/file'
EXPECT_LINE (true, written)
EXPECT_LINE (true, opened)

NAME dw_ustack is ustack
PROG tracepoint:syscalls:sys_enter_openat { print(len(dw_ustack(perf, 2)) == len(ustack(2))); exit() }
ARGS -c 'cat /dev/null'
EXPECT_LINE true
STDERR unstable feature: dw_ustack

NAME debugf prints into the kernel's trace, from the first event on, though the kernel switches that on while it loads the program, or a little later
RUN echo 0 >/sys/kernel/tracing/events/bpf_trace/bpf_trace_printk/enable
    {sonde} -e 'begin { debugf("sonde {id} %d|%5d|%llx|%s\n", -3, 4, 255); exit() }' 2>&1 | grep -c 'Not enough arguments'
    {sonde} -e 'begin { debugf("sonde {id} %d|%5d|%s\n", -3, 4, "text"); exit() }' 2>&1 | grep WARNING
    grep -o 'sonde {id} -3.*' /sys/kernel/tracing/trace
EXPECT_LINE 1
EXPECT_LINE stdin:1:9-58: WARNING: The debugf() builtin is not recommended for production use. For more information see bpf_trace_printk in bpf-helpers(7).
EXPECT_LINE sonde {id} -3|    4|text

NAME debugf takes what the kernel prints
PROG begin { debugf("%d %d %d %d", 1, 2, 3, 4); debugf("%r", buf("a", 1)); exit() }
RC 1
STDERR ERROR: debugf() takes at most 3 values
STDERR ERROR: debugf() prints numbers with %d %u %x %p and text with %s, without precision

NAME one histogram of a map is printed by its key, and a loop visits them
PROG begin { @h[1] = hist(5); @h[2] = hist(9); @l["a", 3] = lhist(7, 0, 10, 5); @q["x"] = quantiles(5); print(@h[1]); print(@h[7]); print(@q["x"]);
    for ($kv : @l) { print($kv.0); print($kv.1) } clear(@h); clear(@l); clear(@q); exit() }
EXPECT_RE ^@h\[1\]:\n\[4, 8\) +1 \|
EXPECT_LINE @q[x]: { .p50 = 5, .p90 = 5, .p99 = 5, .p99.9 = 5, .max = 5 }
EXPECT_RE ^\(a, 3\)\n@l\[a, 3\]:\n\[5, 10\) +1 \|
EXPECT_NOT @h[2]
EXPECT_NOT @h[7]

NAME one histogram by its key as JSON
RUN {sonde} -f json -e 'begin { @h["k"] = hist(5); @h["m"] = hist(9); print(@h["k"]); clear(@h); exit() }'
EXPECT_LINE {"type": "hist", "data": {"@h": {"k": [{"min": 4, "max": 7, "count": 1}]}}}

NAME the variable of a loop over histograms has a key and a value, each for itself
PROG begin { @h[1] = hist(5); for ($kv : @h) { print($kv) } exit() }
RC 1
STDERR stdin:1:49-52: ERROR: values of @h are of type 'hist_t': $kv has no value of its own, take $kv.0 and $kv.1

NAME percentile of histograms, of a map's keys, in a loop, of negative and of no numbers; the same number that quantiles prints
TOGETHER
PROG begin { for ($i : 1..1001) { @h = hist($i); @f = hist($i, 5); @l = lhist($i, 0, 1000, 10); @q = quantiles($i); @k[$i % 2 ? "odd" : "even"] = hist($i); } @neg = hist(-5); @q2[1] = quantiles(-7);
    printf("h %d %d %d\n", percentile(@h, 50), percentile(@h, 99), percentile(@h, 100)); printf("f %d\n", percentile(@f, "99.9"));
    printf("l %d %d %d\n", percentile(@l, 0), percentile(@l, 50), percentile(@l, 100)); printf("q %d %d %d\n", percentile(@q, 50), percentile(@q, "99.9"), percentile(@q, 100));
    $p = 10; printf("k %d %d\n", percentile(@k["odd"], $p), percentile(@k["none"], $p)); printf("neg %d %d %d\n", percentile(@neg, 50), percentile(@q2[1], 50), percentile(@q2[2], 50));
    for ($kv : @k) { @p[$kv.0] = percentile($kv.1, 25); } if (percentile(@h, 99) > 1000) { print(percentile(@q, 99)); } print(@q); print(@p);
    $neg = -3; printf("out %d %d\n", percentile(@l, $neg), percentile(@l, 1000 * $p)); clear(@h); clear(@f); clear(@l); clear(@q); clear(@k); clear(@neg); clear(@q2); clear(@p); exit() }
EXPECT_LINE h 511 1023 1023
EXPECT_LINE f 1007
EXPECT_LINE l 9 509 9223372036854775807
EXPECT_LINE q 500 1000 1000
EXPECT_LINE k 127 0
EXPECT_LINE neg -1 -7 0
EXPECT_LINE @p[odd]: 255
EXPECT_LINE @p[even]: 255
EXPECT_RE p50 = 500, .p90 = \d+, .p99 = (\d+),

NAME percentile says what it takes
PROG begin { @c = count(); @h = hist(1); @k[1] = hist(1); print(percentile(@c, 5)); print(percentile(@h, 101)); print(percentile(@h, "1.2.3")); print(percentile(@h, "x")); print(percentile(@h, 99.9)); print(percentile(@h, -1)); print(percentile(5, 5)); print(percentile(@k, 5)); }
RC 1
STDERR percentile() expects a map of hist(), lhist() or quantiles() (count_t provided)
STDERR percentile() expects a number from 0 to 100 (101 provided)
STDERR percentile() takes a share with a point as text
STDERR HINT: percentile(@map, "99.9")
STDERR percentile() expects a number from 0 to 100, such as 99 or "99.9" ("1.2.3" provided)
STDERR percentile() expects a number from 0 to 100, such as 99 or "99.9" ("x" provided)
STDERR percentile() expects a number from 0 to 100 (-1 provided)

NAME fail() ends compilation where it may be reached, not in a branch that is known not to be taken
RUN for n in 5 1; do {sonde} -q -e 'begin { if ($1 < 2) { fail("more than 1, not %d", $1) } $x = is_str(5) ? ({ fail("a text"); 1 }) : 2; if (sizeof(int64) == 8) { print(("ok", $x)) } else { fail("small") } while (false) { fail("never") } exit() }' $n 2>&1 | grep -E "^.ok|ERROR"; done
EXPECT_LINE (ok, 2)
EXPECT_RE ERROR: more than 1, not 1$

NAME texts of numbers: where none was ever set, there is none
PROG begin { @m[1] = syscall_name(1); @e[1] = strerror(2); @u[1] = username; @g[1] = signal_name(9); zero(@e); print(@e); print((@m[5], @m[1], @u[7], @u[1], @g[2], @g[1])); let $s: typeof(syscall_name(0)); printf("<%s> %d %d %d\n", $s, @m[9] == "", @m[9] == "read", @m[1] == "write"); print((syscall_name(0), syscall_name(-1), strerror(-13), signal_name(0), username == "root", syscall_name(-1) == "nosuch")); clear(@m); clear(@e); clear(@u); clear(@g); exit() }
EXPECT_RE \A@e\[1\]: \n\n?\(, write, , root, , Killed\)\n<> 1 0 1\n\(read, Unknown syscall, Permission denied, Unknown signal 0, true, false\)\n\s*\Z

NAME zero() of what has no value gives it none
PROG begin { @a = 5; @b = 5; @c = count(); @d = count(); clear(@a); zero(@a); zero(@b); clear(@c); zero(@c); zero(@d); exit() }
EXPECT_RE \A\s*@b: 0\n\s*@d: 0\n\Z

NAME texts of numbers: compared with texts, not with numbers
PROG begin { print(signal_name(9) == 9); exit() }
RC 1
STDERR ERROR: Type mismatch for '==': comparing 'string[64]' with 'int8'

NAME print() of one element reads that one, not the map (which is read once, at the end)
RUN echo 'begin { for ($i : 0..1000) { @["k", $i] = lhist($i, 0, 2000, 1000) } print(@["k", 999]); print(@["k", 1000]); print(@["k", 7]); exit() } END { clear(@) }' >in.bt; {sonde} -q -c '{sonde} -q in.bt' -e 'tracepoint:syscalls:sys_enter_bpf /pid == cpid && args.cmd == 24/ { @batches = count() } END { print((1, @batches)); clear(@batches) }'
EXPECT_RE @\[k, 999\]: *\n\[0, 1000\) +1 .*\n\n@\[k, 7\]: *\n\[0, 1000\) +1 .*\n
EXPECT_NOT k, 1000]
EXPECT_LINE (1, 1)
