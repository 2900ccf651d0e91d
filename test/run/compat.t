# What scripts of earlier bpftrace versions do and today's language has other words for.

FILE TOGETHER

NAME a number is dereferenced
RUN cp {build}/calls .; {sonde} -q -c ./calls -e 'uprobe:./calls:name_of { @[*arg0 & 0xff] = count() }'
EXPECT_LINE @[110]: 10
STDERR WARNING: 'int64' is no pointer: 8 bytes are read at that address

NAME a library that glibc merged into libc, by its short name
NEED file:/lib/*/libpthread.so.0
RUN {sonde} -q -c '{build}/tcp 4 1 10' -e 'uprobe:libpthread:pthread_create { @[func, usym(arg2)] = count() }'
EXPECT_RE ^@\[pthread_create, serve\]: 1$

NAME arrows, keys and functions of the first versions
PROG BEGIN { @a[1, "x"] = 2; if (@a[1, "x"]) { delete(@a[1, "x"]) } $t = (struct task_struct *)curtask; printf("%d %d\n", $t->tgid == pid, len(@a)); clear(@a); exit() }
EXPECT_LINE 1 0

NAME -d goes on when called bpftrace
RUN ln -s {sonde} {tmp}/bpftrace; {tmp}/bpftrace -q -d ast -e 'begin { print(42); exit() }'
EXPECT_LINE 42

NAME --dry-run as bpftrace says nothing
RUN ln -s {sonde} {tmp}/bpftrace; for o in --dry-run ''; do {tmp}/bpftrace $o -e 'begin { print(42); exit() }' 2>&1; echo "status $?"; done
EXPECT_RE \Astatus 0\nAttached 1 probe\n42\n\s*status 0\n\Z

NAME what the kernel refuses is status 255 when called bpftrace
RUN ln -s {sonde} {tmp}/bpftrace; {tmp}/bpftrace -e 'let @a = hash(0); begin { @a[1] = 1; exit() }'
RC 255

# What follows is bpftrace 0.27.1's own output, byte for byte, recorded with Debian sid's package.
NAME as bpftrace: what a macro does wrong is told with each call around it, when compiling and when running
RUN ln -s {sonde} {tmp}/bpftrace; printf 'macro m() { warnf("x %%d", 1) }\nmacro n() { m() }\nmacro f(x) { $y = x; $y.foo }\nbegin { n(); exit() }' >w.bt; {tmp}/bpftrace w.bt 2>&1; printf 'macro m(x) { $y = x; $y.foo }\nmacro n(x) { m(x) }\nbegin { n(1); exit() }' >e.bt; {tmp}/bpftrace e.bt 2>&1; {tmp}/bpftrace -q -e 'macro m() { errorf("x") } begin { m(); exit() }' 2>&1; {tmp}/bpftrace -e 'macro m(x) { fail("bad %d", x) } begin { m(1) }' 2>&1
RC 1
EXPECT w.bt:1:13-29: WARNING: x 1
EXPECT w.bt:2:13-16: WARNING: expanded from
EXPECT w.bt:4:9-12: WARNING: expanded from
EXPECT e.bt:1:22-28: ERROR: Can not access field 'foo' on expression of type 'int8'
EXPECT e.bt:2:14-18: ERROR: expanded from
EXPECT e.bt:3:9-13: ERROR: expanded from
EXPECT_RE ^stdin:1:13-24: ERROR: x\nstdin:1:35-38: ERROR: expanded from\nmacro m\(\) \{ errorf\("x"\) \} begin \{ m\(\); exit\(\) \}\n {34}~~~$
EXPECT_RE ^stdin:1:14-31: ERROR: bad 1\nmacro .*\n {13}~{17}\nstdin:1:42-46: ERROR: expanded from\n

NAME as bpftrace: printf cuts numbers without a length to 32 bits; sonde shows them whole
RUN ln -s {sonde} {tmp}/bpftrace; for b in {tmp}/bpftrace {sonde}; do $b -q -e 'begin { printf("%x %d %u %ld %llx %d\n", (uint64)0x123456789abcdef0, 5000000000, -1, 5000000000, 0x123456789abcdef0, -5); exit() }'; done
EXPECT_LINE 9abcdef0 705032704 4294967295 5000000000 123456789abcdef0 -5
EXPECT_RE ^123456789abcdef0 5000000000 \d+ 5000000000 123456789abcdef0 -5$

NAME printf of numbers that an int cannot hold, and of those it can: of each type, in maps, tuples and aggregations; a register of C is an int
RUN { echo 1 2 fffffffe 4; yes 00 | head -n 288; } >rows; {sonde} -q -c '{copy:values} rows' -e 'begin {
      $z = (uint64)pid * 0; $u32 = (uint32)(3000000000 + $z); $u64 = (uint64)(3000000000 + $z); $s64 = (int64)$u64; $n = (int32)(0 - 5 - $z); $k = (uint64)(0xffffffff81000000 + $z);
      printf("u32 %d %i %u %x %o %ld %lu %hhd %hd %5d|%-12d|\n", $u32, $u32, $u32, $u32, $u32, $u32, $u32, $u32, $u32, $u32, $u32);
      printf("u64 %d %u %x %ld s64 %d %u %x %ld\n", $u64, $u64, $u64, $u64, $s64, $s64, $s64, $s64);
      printf("neg %d %u %x %ld %lu %hhd %d %u %x\n", $n, $n, $n, $n, $n, $n, (int64)$n, (int64)$n, (int64)$n);
      printf("kernel %d %u %x %lx %p %x\n", $k, $k, $k, $k, $k, (uint8 *)$k);
      @m = $u64; @t[1] = ($u32, $u64); @s = sum($u64); @mx = max($u32); @mn = min((int64)$n); @a = avg($u64);
      printf("map %d %x tuple %d %d sum %d max %d min %d avg %d\n", @m, @m, @t[1].0, @t[1].1, @s, @mx, @mn, @a);
      printf("lit %d %x %d %x %d small %d %u %x %hhd %hhu\n", 3000000000, 0xffffffff81000000, -3000000000, -1, 4294967295, (int8)(200 + $z), (int8)(200 + $z), (int8)(200 + $z), 300 + $z, 300 + $z);
      clear(@m); clear(@t); clear(@s); clear(@mx); clear(@mn); clear(@a);
    }
    uprobe:{copy:values}:take0 { printf("register %d %x", arg2, arg2); $r = arg2; @v[1] = (arg2, 1); printf(" variable %d map %d sum %d value %ld\n", $r, @v[1].0, arg2 + 1, arg2); clear(@v); exit() }'
EXPECT_LINE register -2 fffffffe variable -2 map -2 sum 4294967295 value 4294967294
EXPECT_LINE u32 3000000000 3000000000 3000000000 b2d05e00 26264057000 3000000000 3000000000 0 24064 3000000000|3000000000  |
EXPECT_LINE u64 3000000000 3000000000 b2d05e00 3000000000 s64 3000000000 3000000000 b2d05e00 3000000000
EXPECT_LINE neg -5 4294967291 fffffffb -5 18446744073709551611 -5 -5 4294967291 fffffffb
EXPECT_LINE kernel -2130706432 18446744071578845184 ffffffff81000000 ffffffff81000000 0xffffffff81000000 ffffffff81000000
EXPECT_LINE map 3000000000 b2d05e00 tuple 3000000000 3000000000 sum 3000000000 max 3000000000 min -5 avg 3000000000
EXPECT_LINE lit 3000000000 ffffffff81000000 -3000000000 ffffffff 4294967295 small -56 4294967240 ffffffc8 44 44

NAME as bpftrace: messages have its words and no hints of sonde's
RUN ln -s {sonde} {tmp}/bpftrace; b() { {tmp}/bpftrace "$@" 2>&1; echo "= $?"; }; b -e 'begin { exit( }' | head -n 1; b -e 'begin exit() }' | grep -v '^begin\|~'; b -e 'begin { exit(1,2) }' | grep -v '^begin\|~'; b -e 'begin { print(1/0) }' | grep ERR; b -e 'begin { printf("%d %d\n", 1) }' | grep ERR; b -e '// x'; b -e 'bench:x { }'; b -e 'test:x { }'; b -l -e 'begin { exit() }'; b -q -e 'begin { print($3); exit() }' a; {sonde} -e 'begin { exit(1,2) }' 2>&1 | grep HINT
RC 0
EXPECT_LINE stdin:1:15-16: ERROR: syntax: expected expression
EXPECT_RE ^stdin:1:7-11: ERROR: syntax: expected '\{'\n= 1$
EXPECT_RE ^stdin:1:9-18: ERROR: exit\(\) takes up to one argument \(2 provided\)\n= 1$
EXPECT_LINE stdin:1:15-18: ERROR: unable to fold literals due to overflow or underflow
EXPECT_LINE stdin:1:9-29: ERROR: not enough arguments for format string (1 supplied, 2 expected)
EXPECT_LINE No probes to attach
EXPECT_RE ^ERROR: No probes attached; use --bench to run benchmark probes\.\n= 255\nERROR: No probes attached; use --test to run test probes\.\n= 255\n= 0$
EXPECT_RE ^stdin:1:15-17: WARNING: Positional parameter \$3 is empty or not provided\. $
EXPECT HINT: void exit([int code])

NAME as bpftrace: files that are not there, features that may change
RUN ln -s {sonde} {tmp}/bpftrace; {tmp}/bpftrace nosuch.bt; {tmp}/bpftrace -q -e 'begin { cat("/nosuch"); @ = tseries(1, 1s, 2); clear(@); exit() }'; {sonde} -q -e 'begin { cat("/nosuch"); exit() }'
STDERR ERROR: failed to open file 'nosuch.bt': No such file or directory
STDERR ERROR: failed to open file '/nosuch' (No such file or directory)
STDERR ERROR: failed to open file '/nosuch': No such file or directory
STDERR WARNING: Script is using an unstable feature: tseries. To prevent this warning you must explicitly enable it in the config e.g. unstable_tseries=enable

NAME a map written with a key and without: told once, with what came first
RUN {sonde} -e 'begin { @a[1] = 1; @a = 2; exit() }' 2>&1 | grep ERROR; {sonde} -e 'begin { @a = 2; @a[1] = 1; exit() }' 2>&1 | grep ERROR
EXPECT_RE \Astdin:1:20-22: ERROR: @a used as a map without an explicit key \(scalar map\), previously used with an explicit key \(non-scalar map\)\nstdin:1:17-22: ERROR: @a used as a map with an explicit key \(non-scalar map\), previously used without an explicit key \(scalar map\)\n\Z

NAME str() of a literal has as many characters as asked for, of a pointer one less
RUN cp {build}/calls .; {sonde} -q -c ./calls -e 'uprobe:./calls:name_of { print((str("hello", 3), str(arg0, 3), strlen(str("ab", 1)), str("ab", 9))); exit() }'
EXPECT_LINE (hel, na, 1, ab)

NAME as bpftrace: 695 command lines do what 0.27.1 did, or differ as the table in docs/from-bpftrace.md says
NEED host
NEED arch:x86_64
RUN {top}/test/peer/peer.py {sonde} {build}
EXPECT_RE ^6\d\d commands, [4-6]\d\d the same, [12]\d\d differ as the table says, 0 faults$
TIMEOUT 60
