# Wrong scripts and wrong options: one clear message, exit status 1, nothing left attached.

FILE TOGETHER

NAME unknown function, with the nearest name
PROG begin { contains("a", "b") }
RC 1
STDERR stdin:1:9-27: ERROR: Unknown function: 'contains'
STDERR did you mean 'strcontains'?

NAME undefined variable
PROG begin { print($x) }
RC 1
STDERR ERROR: Undefined or undeclared variable: $x

NAME a script without a probe
RUN printf '// nothing\n' >{tmp}/e.bt; {sonde} {tmp}/e.bt
RC 1
STDERR ERROR: No probes to attach

NAME missing probes are allowed, but one must be there
PROG config = { missing_probes = warn } tracepoint:sched:nosuch { }
RC 1
STDERR WARNING: No matches for tracepoint sched:nosuch. Skipping.
STDERR ERROR: No probes to attach

NAME options that need LLVM, one that is unknown, one twice
RUN {sonde} --emit-elf x -e 'begin { }'; {sonde} --mode codegen -e 'begin { }'; {sonde} --nosuch -e 'begin { }'; {sonde} -kk -e 'begin { }'; {sonde} --probe-filter '(' -e 'begin { }'
RC 1
STDERR without LLVM
STDERR unrecognized option '--nosuch'
STDERR -kk has been deprecated
STDERR Invalid --probe-filter regex '('

NAME processes that cannot be
RUN {sonde} -p abc -e 'begin { }'; {sonde} -p 1x -e 'begin { }'; {sonde} -p 99999999 -e 'begin { }'; {sonde} -p 1 -c ls -e 'begin { }'
RC 1
STDERR Failed to parse pid: invalid integer: abc
STDERR Failed to parse pid: invalid trailing bytes: 1x
STDERR Pid out of range: 99999999
STDERR Cannot use both -c and -p.

NAME colours when they are asked for
RUN BPFTRACE_COLOR=always {sonde} -e 'begin { print($x) }' 2>&1; BPFTRACE_COLOR=some {sonde} -e 'begin { print($x) }'
RC 1
EXPECT_RE ^\x1b\[31mstdin:1:15-17: ERROR: Undefined or undeclared variable: \$x\x1b\[0m$
STDERR WARNING: BPFTRACE_COLOR is auto, always or never, not 'some'

NAME forms of attach points
RUN cp {build}/calls .; for p in nosuch:f tracepoint:a:b:c interval:s:0 interval:x:1 interval:s:a interval:1 software:nosuch software:faults:x watchpoint:0:8:w self:signal:SIGTERM uprobe:/nosuch:f uprobe:./calls: uprobe:./calls:add+x uprobe:./calls:add+9999 uretprobe:./calls:add+1; do {sonde} -e "$p { }"; done
RC 1
STDERR ERROR: Invalid probe type: nosuch
STDERR ERROR: tracepoint probe type requires 2 arguments, found 3
STDERR ERROR: interval frequency should be a positive integer
STDERR ERROR: x is not an accepted unit of time
STDERR ERROR: Invalid rate of interval probe: invalid integer: a
STDERR ERROR: Invalid rate of interval probe. Minimum is 1000 or 1us. Found: 1 nanoseconds
STDERR ERROR: nosuch is not a software probe
STDERR ERROR: Invalid count for software probe: invalid integer: x
STDERR ERROR: watchpoint must be attached to a non-zero address
STDERR ERROR: SIGTERM is not a supported signal
STDERR ERROR: uprobe target file '/nosuch' does not exist or is not executable
STDERR ERROR: uprobe should be attached to a function and/or address
STDERR ERROR: Invalid offset: invalid integer: x
STDERR ERROR: Offset outside the function bounds ('add' size is
STDERR ERROR: Offset not allowed

NAME a header that is not there
RUN printf '#include <nosuch.h>\nbegin { exit() }' >{tmp}/h.bt; {sonde} {tmp}/h.bt; {sonde} --include none.h -e 'begin { exit() }'; {sonde} --include linux/nosuch.h -q -e 'begin { printf("went on\n"); exit() }'
EXPECT_LINE went on
STDERR h.bt:1:10-20: ERROR: 'nosuch.h' file not found
STDERR ERROR: 'none.h' file not found

NAME several errors at once
PROG begin { foo(); bar(); $y = $z }
RC 1
STDERR Unknown function: 'foo'
STDERR Unknown function: 'bar'
STDERR Undefined or undeclared variable: $z

NAME map never assigned
PROG begin { print(@nothing) }
RC 1
STDERR Undefined map: @nothing

NAME type mismatch of a map
PROG begin { @a = 1; @a = "x" }
RC 1
STDERR Type mismatch for @a: trying to assign value of type 'string[2]' when map already has a type

NAME type mismatch of a variable
PROG begin { $a = 1; $a = "x" }
RC 1
STDERR Type mismatch for $a

NAME printf with too few arguments
PROG begin { printf("%d %d\n", 1) }
RC 1
STDERR printf: Not enough arguments for format string (1 supplied, 2 expected)

NAME printf with the wrong type
PROG begin { printf("%d\n", "x") }
RC 1
STDERR %d specifier expects a value of type integer

NAME unknown tracepoint, with the nearest names
PROG tracepoint:sched:sched_swich { }
RC 1
STDERR sched_switch

NAME unknown probe type
PROG foo:bar { }
RC 1
STDERR foo

NAME field that is not there
PROG tracepoint:sched:sched_switch { print(args.nxt_comm) }
RC 1
STDERR did you mean 'next_comm'?

NAME break outside a loop
PROG begin { break }
RC 1
STDERR 'break' statement is not allowed in a probe

NAME negative pid option
RUN {sonde} -p 0 -e 'begin { exit() }'
RC 1
STDERR pid

NAME unknown output format
RUN {sonde} -f xml -e 'begin { exit() }'
RC 1
STDERR Invalid output format

NAME script file that is not there
RUN {sonde} /no/such/file.bt
RC 1
STDERR /no/such/file.bt

NAME command that is not there
RUN {sonde} -c /no/such/command -e 'begin { exit() }'
RC 1
STDERR /no/such/command

NAME variable out of the block that declares it
PROG begin { if (1) { let $b = 1 } print($b) }
RC 1
STDERR Undefined or undeclared variable: $b

NAME loop variable out of its loop
PROG begin { for ($b : 0..3) { } print($b) }
RC 1
STDERR Undefined or undeclared variable: $b

NAME negative literal for an unsigned place
PROG begin { let $a : uint64 = 1; $a = -1; let $b : int8 = 200 }
RC 1
STDERR stdin:1:30-37: ERROR: Type mismatch for $a: trying to assign value of type 'int8' when variable already has a type 'uint64'
STDERR HINT: -1 is out of range
STDERR HINT: 200 is out of range

NAME literals beyond 64 bits
PROG begin { print(-9223372036854775809); print(0xffffffffffffffff + 1); print(5 - 0xffffffffffffffff) }
RC 1
STDERR stdin:1:15-35: ERROR: negative value will underflow
STDERR stdin:1:44-66: ERROR: unable to fold literals
STDERR stdin:1:75-97: ERROR: unable to fold literals

NAME pattern without a match, alone
PROG tracepoint:syscalls:sys_enter_nosuch* { }
RC 1
STDERR ERROR: Probe has no valid attach points.
STDERR HINT: no tracepoint matches syscalls:sys_enter_nosuch*

NAME shadowing
PROG begin { let $x; if (1) { let $x = "y" } }
RC 1
STDERR Variable shadowing is not allowed

NAME delete with three arguments
PROG begin { @b[1] = 1; delete(@b[1], @b[2], @b[3]) }
RC 1
STDERR delete() takes up to 2 arguments (3 provided)

NAME a lost map update is told with its place, once, and counted
PROG config = { max_map_keys = 2 } begin { for ($i : 0..5) { @a[$i] = 1; @c[$i] = count() } exit() }
STDERR stdin:1:57-67: WARNING: Map full; can't update element
STDERR stdin:1:69-85: WARNING: Map full; can't update element
STDERR 3 updates of @a were refused because the map was full; raise max_map_keys (2 now, 5 is enough)
STDERR 3 updates of @c were refused because the map was full; raise max_map_keys (2 now, 5 is enough)

NAME what is told of a limit would have been enough: of maps, of settings
RUN S='for ($i : 0..7) { @a[$i] = 1; @b[$i] = count(); @b[$i] = count() } print(len(@a)); print(len(@b)); clear(@a); clear(@b); exit()'; {sonde} -q -e "let @b = percpuhash(3); begin { $S }"; {sonde} -q -e "let @b = percpuhash(11); begin { $S }"; {sonde} -q -k -e "config = { max_map_keys = 2 } begin { @a[1] = 1; @a[2] = 1; @a[3] = 1; exit() }" 2>&1 >/dev/null | grep updates; {sonde} -q -e 'config = { max_probes = 3 } tracepoint:sched:sched_s* { }'; {sonde} -q -e 'begin { @ = lhist(1, 0, 5000, 2) }'; {sonde} -q -e 'begin { @ = lhist(1, 0, 5000, 5); clear(@); exit() }'; {sonde} -q -e 'begin { @ = tseries(1, 1s, 2000) }'; {sonde} -q -e 'begin { @ = tseries(1, 1s, 1365); clear(@); exit() }'; {sonde} -q -e 'begin { $n = (uint64)nsecs; $n = 1 << 40; for ($i : 0..$n) { } exit() }'
EXPECT_RE \A7\n3\n\s*7\n7\n
EXPECT_LINE WARNING: 1 updates of maps were refused because the map was full; raise max_map_keys (2 now, 3 is enough)
STDERR 8 updates of @b were refused because the map was full; raise its size, let @b = ...(3): 11 is enough
STDERR BPFTRACE_MAX_PROBES=
STDERR HINT: a step of 5 is enough
STDERR a per-CPU map holds at most 32768: tseries() of 1365 intervals fits
STDERR The range was not run: it has 1099511627776 rounds, the limit is 1073741696

NAME a key that is not there: told when nobody looks at what delete returns
PROG begin { @a[1] = 1; delete(@a, 2); if (delete(@a, 3)) { print("no") } $d = delete(@a, 4); print($d); exit() }
EXPECT_LINE false
STDERR stdin:1:20-33: WARNING: Can't delete map element because it does not exist.

NAME -k tells which expression could not be read
RUN {sonde} -k -e 'begin { $p = (struct task_struct *)8; print($p.pid); print(*(uint8 *)uptr(16)); exit() }'
NEED btf
STDERR stdin:1:45-51: WARNING:
STDERR stdin:1:60-78: WARNING: Bad address
STDERR helper: probe_read_user, retcode: -14

NAME -k reports reads of keys that are not there
RUN {sonde} -k -e 'begin { @a[1] = 1; $x = @a[2]; exit() }'
STDERR stdin:1:25-30: WARNING: Can't lookup map element because it does not exist.


NAME an option the script never asks for
RUN {sonde} -e 'begin { print(getopt("aa", 1, "how many a")); exit() }' -- --zz=1
RC 1
STDERR unexpected program command line options: --zz
STDERR --aa: how many a

NAME --help of a script
RUN {sonde} -e 'begin { print(getopt("aa", 1, "how many a")); exit() }' -- --help
RC 1
STDERR --aa: how many a

NAME options with values that they cannot have
RUN {sonde} -e 'begin { print(getopt("by", "all", "blocked|runq|all,...: which")); print(getopt("min", 1us)); print(getopt_match("pid", pid)); exit() }' -- --by=runq,sleep --min=soon --pid=abc
RC 1
STDERR --by of the script takes blocked|runq|all,..., not 'runq,sleep'
STDERR --min of the script is a time (10ms, 5s), not 'soon'

NAME a help text with conversions of printf in it
RUN {sonde} -e 'begin { print(getopt("mode", "a", "%s%s%s%n|a: how")); exit() }' -- --mode=zzz
RC 1
STDERR --mode of the script takes %s%s%s%n|a, not 'zzz'

NAME widths of printf that no line has
RUN for f in %99999999999999d %2147483600s %.65537d %65536s; do {sonde} -q -e "begin { printf(\"$f\n\", 1); exit() }" | wc -c; done
EXPECT_LINE 65539
STDERR stdin:1:9-40: ERROR: format: a width or precision is over 65536: %99999999999999
STDERR a width or precision is over 65536: %2147483600
STDERR a width or precision is over 65536: %.65537

NAME a format of 60,000 conversions
RUN python3 -c "print('begin { printf(\"' + '%d' * 60000 + '\", 1) }')" >{tmp}/f.bt; (ulimit -v 1000000; {sonde} {tmp}/f.bt) 2>&1 | cut -c1-200
EXPECT Not enough arguments for format string (1 supplied, 60000 expected)

NAME more maps than a program may have
RUN {sonde} -q -e "begin { $(for i in $(seq 60); do echo "@m$i = pid;"; done) exit() }" | grep -c '^@m'; {sonde} -q -e "begin { $(for i in $(seq 70); do echo "@m$i = pid;"; done) exit() }"
RC 1
EXPECT_LINE 60
STDERR maps, sonde's own among them, and the kernel takes 64: keep several values in one map

NAME types and maps of more than 4 GB
RUN for p in 'print(sizeof(uint8[4294967300]))' 'print(sizeof(uint64[1000000000]))' 'let $s: string[4294967300]' 'let $s: (buffer[4294967297], uint8); print(sizeof($s))' 'let $a: string[1073741824]; print(sizeof(($a, $a)))' 'let $a: string[1073741824]; let $b: string[1073741824]; let $c: string[1073741824]; let $d: string[1073741824]' '@a[1] = 1; @a[2] = 2'; do {sonde} -q -e "let @a = hash(4294967297); begin { $p; exit() }"; done; {sonde} -q -e 'begin { print(sizeof(uint8[1073741824])); exit() }'
EXPECT_LINE 1073741824
STDERR stdin:1:49-66: ERROR: this type is too large: the limit is 1073741824 bytes
STDERR stdin:1:49-67: ERROR: this type is too large
STDERR stdin:1:44-62: ERROR: this type is too large
STDERR stdin:1:45-63: ERROR: this type is too large
STDERR stdin:1:77-85: ERROR: this type is too large
STDERR this probe needs 4294967296 bytes
STDERR @a cannot have that many keys: the limit is 4294967295

NAME a type of a tuple that is not known
PROG begin { let $s: (nosuch, uint8); print(sizeof($s)); exit() }
RC 1
STDERR stdin:1:18-24: ERROR: Cannot resolve unknown type "nosuch"

NAME sizes of maps: what can be worked out, and what cannot
RUN {sonde} -q -e 'let @a = hash(1 + 1); begin { @a[1] = 1; @a[2] = 2; @a[3] = 3; print(len(@a)); clear(@a); exit() }' 2>/dev/null; for n in pid nosuch 1-5 true '"x"'; do {sonde} -q -e "let @a = hash($n); begin { @a[1] = 1; exit() }"; done
RC 1
EXPECT_LINE 2
STDERR stdin:1:1-20: ERROR: expected positive integer for map declaration max entries
STDERR stdin:1:1-23: ERROR: expected positive integer
STDERR stdin:1:1-20: ERROR: expected positive integer
STDERR stdin:1:1-21: ERROR: expected positive integer

NAME keys that are no value, names of sonde's own
RUN for e in 'print(1)' 'clear(@k)' 'pid ? print(1) : print(2)' '{ print(1) }'; do {sonde} -q -e "begin { @k[$e] = 1; exit() }"; done; {sonde} -q -e 'begin { __watch(1, 2, 3); exit() }'; for e in '__c_function()' '__c_function(1)' '__frame' '__frame()'; do {sonde} -q -e "begin { print($e); exit() }"; done
RC 1
STDERR stdin:1:12-20: ERROR: void cannot be used as a map key
STDERR stdin:1:12-21: ERROR: void cannot be used as a map key
STDERR stdin:1:12-37: ERROR: void cannot be used as a map key
STDERR ERROR: Unknown function: '__c_function'
STDERR stdin:1:9-25: ERROR: Unknown function: '__watch'
STDERR stdin:1:15-22: ERROR: Unknown identifier: '__frame'
STDERR stdin:1:15-24: ERROR: Unknown identifier: '__frame'

NAME a list of numbers that has a word in it
RUN {sonde} -e 'begin { print(getopt_match("pid", pid)); exit() }' -- --pid=1,abc
RC 1
STDERR --pid of the script takes numbers, ranges of them (0-3) or lists (0,2-3), not 'abc'

NAME all probes have predicates that are false
PROG tracepoint:sched:sched_switch /0/ { exit() }
RC 1
STDERR No probes to attach
STDERR predicates of all are false

NAME an attach point with an option that nobody declares
PROG interval:s:$every { exit() }
RC 1
STDERR no getopt() of the script tells of an option 'every'

NAME a setting that is not known when the script is compiled
PROG config = { max_map_keys = strlen(comm) } begin { exit() }
RC 1
STDERR the value of max_map_keys is not known at compile time

NAME an option that is no number
RUN {sonde} -e 'begin { print(getopt("aa", 1)); exit() }' -- --aa=x
RC 1
STDERR --aa of the script is a number

NAME a cgroup that is not there
PROG begin { print(cgroupid("/no/such")); exit() }
RC 1
STDERR /no/such

NAME a negative number into an unsigned variable
PROG begin { let $a : uint8; $a = -1; exit() }
RC 1
STDERR ERROR:

NAME an enum has no such value
PROG enum color { RED, GREEN = 5 }
     begin { print((enum color)7); exit() }
RC 1
STDERR enum color has no value 7

NAME unstable features can be turned off
PROG config = { unstable_tseries = error } begin { @ = tseries(1, 1s, 2); exit() }
RC 1
STDERR unstable_tseries=error

NAME unstable features warn once; those that became stable do not
RUN {sonde} -q -e 'begin { $x = 5; $p = &$x; print(*$p); @ = tseries(1, 1s, 2); @b = tseries(1, 1s, 2); clear(@); clear(@b); exit() }' 2>&1 | grep -cE '^(HINT: config = . unstable_tseries = enable|5$|.*WARNING: Script is using an unstable feature: tseries)'
EXPECT_LINE 3

NAME options of earlier versions are told to have no effect
RUN {sonde} -q -e 'config = { unstable_addr = enable;; symbol_source = "dwarf"; print_maps_on_exit = no } begin { @ = 1; exit() }'
STDERR WARNING: unstable_addr is deprecated and has no effect
STDERR WARNING: symbol_source is deprecated and has no effect
EXPECT_NOT @

NAME what only the environment can set
PROG config = { BPFTRACE_BTF = "x" } begin { exit() }
RC 1
STDERR ERROR: BPFTRACE_BTF: can only be set as an environment variable

NAME fields of records are asked for by name
PROG begin { $x = (a=1, b=2); print($x.0); print($x.c); $y = (a=1, a=2) }
RC 1
STDERR the record has a field 'a' already

NAME a field the record does not have
PROG begin { $x = (a=1, b=2); print($x.0); print($x.c) }
RC 1
STDERR Can not access index '0' on expression of type 'record { .a = int8, .b = int8 }'
STDERR The record has no field named 'c'

NAME output that cannot be written is an error, a reader that has left is none
RUN {sonde} -q -e 'begin { printf("x\n"); exit() }' >/dev/full; echo $?; {sonde} profile -f -p $$ -o /dev/full 1; {sonde} -q -o /dev/full -e 'begin { printf("%s\n", "x"); @ = 1; exit() }'; echo $?; {sonde} -l >/dev/full; echo $?; {sonde} -l | head -n 1 >/dev/null; echo "${PIPESTATUS:-0}"
TIMEOUT 30
EXPECT_RE \A1\n1\n1\n0\n\Z
STDERR ERROR: cannot write all to standard output
STDERR ERROR: cannot write all to /dev/full

NAME a wrong option is told in a line, without a page of help
RUN {sonde} --nosuch -e 'begin { }' 2>&1; {sonde} -c ls -p 1 -e 'begin { }' 2>&1 | tail -n 1
EXPECT_RE \A.*unrecognized option '--nosuch'\nTry 'sonde --help'\.\nTry 'sonde --help'\.\n\Z

NAME aggregations count in a map and nowhere else
PROG begin { print(stats(3)); print((1, count())); if (sum(1)) { } @a = 1 ? min(1) : max(1); @b += hist(3); $x = avg(1); tseries(1, 1s, 3); lhist(1, 0, 9, 1) }
RC 1
STDERR stats() must be assigned directly to a map
STDERR count() must be assigned directly to a map
STDERR sum() must be assigned directly to a map
STDERR min() must be assigned directly to a map
STDERR max() must be assigned directly to a map
STDERR hist() must be assigned directly to a map
STDERR avg() must be assigned directly to a map
STDERR lhist() must be assigned directly to a map
STDERR HINT: @ = stats(...)

NAME what cannot be read inside a script is no argument
RUN P='begin { @s = stats(1); @h = hist(3); @k[1] = stats(2); @c = count();'; for s in 'print(pid ? @s : @s)' 'print({ @h })' 'print(m(@s))' 'print(pid ? @s : @k[1])' 'print(pcomm({ @s }))' 'print(ppid("x"))' 'print(memcmp({ @s }, 1, 2))' 'print(memcmp(clear(@s), 1, 2))' 'write_user(1, { @s }, 2)' 'assert({ @s }, "x")' 'print(kfunc_exist(@c))' 'print(cgroupid({ @s }))'; do {sonde} --unsafe -e "macro m(@a) { @a } $P $s; exit(); }" 2>&1 >/dev/null | grep -o 'ERROR.*' || echo "none: $s"; done; {sonde} -e "$P print({ @h }); exit() }"; {sonde} -q -e "$P print({ @c }); print(pid ? @c : @c); print(@s); print(@k[1]); assert(@c, \"x\"); clear(@s); clear(@h); clear(@k); clear(@c); assert(\"\", \"empty\") }"
RC 1
EXPECT_RE \A(ERROR: print\(\) of a (stats|hist)_t takes the map itself, no expression that gives it\n){4}ERROR: pcomm
EXPECT_LINE ERROR: pcomm() takes a struct task_struct * (stats_t provided)
EXPECT_LINE ERROR: ppid() takes a struct task_struct * (string[2] provided)
EXPECT_LINE ERROR: memcmp() reads the bytes of a value, and stats_t is none
EXPECT_LINE ERROR: memcmp() reads the bytes of a value, and void is none
EXPECT_LINE ERROR: write_user() reads the bytes of a value, and stats_t is none
EXPECT_LINE ERROR: Invalid condition in assert: 'stats_t'
EXPECT_LINE ERROR: kfunc_exist() expects a string literal (count_t provided)
EXPECT_LINE ERROR: cgroupid() expects a string literal (stats_t provided)
EXPECT_RE 1\n1\n@s: \{ \.count = 1, \.average = 1, \.total = 1 \}\n\{ \.count = 1, \.average = 2, \.total = 2 \}\n
EXPECT_NOT none:
STDERR HINT: print(@map), or print(@map[key]) of stats(); if (...) { print(@a) } else { print(@b) } chooses one
STDERR assert failed: empty

NAME true and false are no numbers
RUN for s in '$a = true; $a = 1' '$a = 1; $a = pid > 0' 'let $a : bool = 1' '@[true] = 1; @[1] = 2' '$a = true; $a++' '@ = true; @--' 'print(-true)' 'print(~(pid > 0))' '@ = sum(true)' '@ = hist(true)' '$x = 1; print($x ? $x : true)' '$a = (1, true); $a = (1, 1)' 'for ($i : 0..true) { }' '@a = 1; @a = pid == 1'; do {sonde} -e "begin { $s; }" 2>&1 >/dev/null | grep -o 'ERROR.*'; done
EXPECT_LINE ERROR: Type mismatch for $a: trying to assign value of type 'int8' when variable already has a type 'bool'
EXPECT_LINE ERROR: Type mismatch for $a: trying to assign value of type 'bool' when variable already has a type 'int8'
EXPECT_LINE ERROR: Argument mismatch for @: trying to access with arguments: 'int8' when map expects arguments: 'bool'
EXPECT_LINE ERROR: Type mismatch for $a: trying to assign value of type 'uint64' when variable already has a type 'bool'
EXPECT_LINE ERROR: Type mismatch for @: trying to assign value of type 'int64' when map already has a type 'bool'
EXPECT_LINE ERROR: The - operator can not be used on expressions of type 'bool'
EXPECT_LINE ERROR: The ~ operator can not be used on expressions of type 'bool'
EXPECT_LINE ERROR: sum() only supports integer arguments (bool provided)
EXPECT_LINE ERROR: hist() only supports int arguments (bool provided)
EXPECT_LINE ERROR: Branches must return the same type or compatible types: have 'int8' and 'bool'
EXPECT_LINE ERROR: Type mismatch for $a: trying to assign value of type '(int8,int8)' when variable already has a type '(int8,bool)'
EXPECT_LINE ERROR: Loop range requires an integer for the end value ('bool' provided)
EXPECT_LINE ERROR: Type mismatch for @a: trying to assign value of type 'bool' when map already has a type 'int8'

NAME messages of maps, loops and indices
PROG begin { @k[1] = 1; @s = 1; break; delete(@k); has_key(@s, 1); clear(5); $x = 5; print($x[0]) }
RC 1
STDERR 'break' statement is not allowed in a probe
STDERR call to delete() with a single argument expects a map without explicit keys (scalar map)
STDERR call to has_key() expects a map with explicit keys (non-scalar map)
STDERR clear() expects a map argument
STDERR The array index operator [] can only be used on arrays, pointers, and tuples, found int8.

NAME a script's text without -e
RUN {sonde} 'begin { exit() }'; {sonde} 'tracepoint:sched:sched_switch { print(args.prev_comm) }'; {sonde} ./nosuch.bt
RC 1
STDERR HINT: the text of a script comes after -e: sonde -e 'begin { exit() }'
STDERR ERROR: cannot open tracepoint:sched:sched_switch { print(args.prev_comm) }: No such file or directory
STDERR HINT: the text of a script comes after -e
STDERR ERROR: cannot open ./nosuch.bt

NAME a script file whose name has a brace runs
RUN echo 'begin { print("ran"); exit() }' >'a{b}.bt'; {sonde} -q 'a{b}.bt'
EXPECT_LINE ran

NAME an event without its category, or without its probe type
RUN for p in tracepoint:sys_enter_openat t:sched_switch tracepoint:sys:sys_enter_openat sched_switch; do {sonde} -e "$p { }"; done
NEED tracepoint
RC 1
STDERR HINT: did you mean 'tracepoint:syscalls:sys_enter_openat'?
STDERR ERROR: Invalid probe type: sched_switch
STDERR HINT: did you mean 'tracepoint:sched:sched_switch'?

NAME stackcount: what is no kernel function may be the C library's, or a tracepoint
RUN for p in malloc sys_enter_openat t:sys_enter_openat t:nosuch:sched_switch sched:sched_switch nosuch_at_all; do {sonde} stackcount $p; echo $? $p; done 2>&1
EXPECT_RE \ANo functions matched by pattern malloc\nHINT: did you mean 'c:malloc', the C library's function\?\n1 malloc\n
EXPECT_RE No functions matched by pattern sys_enter_openat\nHINT: did you mean 't:syscalls:sys_enter_openat', the tracepoint\?\n1 sys
EXPECT_RE unable to find library t\nHINT: did you mean 't:syscalls:sys_enter_openat', the tracepoint\?\n1 t
EXPECT_RE No functions matched by pattern t:nosuch:sched_switch\nHINT: did you mean 't:sched:sched_switch', the tracepoint\?\n1 t
EXPECT_RE unable to find library sched\nHINT: did you mean 't:sched:sched_switch', the tracepoint\?\n1 sched
EXPECT_RE No functions matched by pattern nosuch_at_all\n1 nosuch_at_all\n\Z

NAME an address where no code is
RUN for a in 0x1 64 0xfffffff; do {sonde} --dry-run -e "uprobe:/bin/bash:$a { }"; echo $?; done; readelf -SW {build}/waits | awk '/ \.(rodata|dynstr|data) / { sub(/.*\]/, ""); print "0x" $3 }' >at; for a in $(cat at); do {sonde} --dry-run -e "uprobe:{build}/waits:$a { }" 2>&1 | grep -c 'is in no code'; done; A=0x$(nm {build}/waits | awk '$3 == "spin_here" { print $1 }'); {sonde} --dry-run -e "uprobe:{build}/waits:$A { }" 2>&1; {sonde} --dry-run -e "uprobe:{build}/waits:$((A + 1)) { }"
NEED cmd:readelf
RC 1
EXPECT_RE \A1\n1\n1\n1\n1\n1\nAttached 1 probe\n
STDERR ERROR: No matches for uprobe /bin/bash:0x1.
STDERR HINT: address 0x1 is in no code of /bin/bash
STDERR spin_here

NAME folders and headers that are not there
RUN {sonde} -q -I /nosuch --debuginfo /none:relative -I {tmp} -e 'begin { exit() }'; {sonde} --no-warnings -q -I /hushed -e 'begin { exit() }'; for h in /nosuch.h my/nosuch.h; do {sonde} --include $h -e 'begin { exit() }'; echo $?; done; mkdir inc; echo 'struct s { int a; };' >inc/here.h; {sonde} -q -I inc --include here.h -e 'begin { print(sizeof(struct s)); exit() }'; {sonde} -I {tmp} -I /hushed --debuginfo {tmp} --no-warnings -e 'begin { exit() }' 2>&1 | grep -c WARNING
RC 1
EXPECT_RE ^1\n1\n4\n+0\n\Z
STDERR WARNING: -I /nosuch: No such file or directory
STDERR WARNING: --debuginfo /none: No such file or directory
STDERR ERROR: '/nosuch.h' file not found
STDERR ERROR: 'my/nosuch.h' file not found

NAME a map of a type that there is not
RUN {sonde} -e 'let @a = foo(5); begin { @a[1] = 1; exit() }'
RC 1
STDERR HINT: Valid map types: percpulruhash, percpuhash, lruhash, hash

NAME conversions that there are not are told
RUN for f in '%f' '100%% %5.2e' '%n' '%*d' '%d'; do {sonde} -e "begin { printf(\"$f\\n\", 5, 6); exit() }" 2>&1 >/dev/null | grep -o 'HINT: %.' || echo none; done
EXPECT_RE \AHINT: %f\nHINT: %e\nHINT: %n\nHINT: %\*\nnone\n\Z

NAME bounds and modes that differ within a map are told by name
RUN D='config = { unstable_tseries = enable }'; for s in '@["a"] = tseries(5, 1s, 3); @["b"] = tseries(6, 100ms, 3)' '@ = tseries(5, 1s, 3); @ = tseries(5, 1s, 4)' '@ = tseries(5, 1s, 3, "max"); @ = tseries(5, 1s, 3, "min")' '@ = tseries(5, 1s, 3, "max"); @ = tseries(5, 1s, 3)' '@ = hist(1); @ = hist(2, 3)' '@ = lhist(1, 0, 10, 1); @ = lhist(1, 0, 10, 2)' '$a = ustack; $a = ustack(perf)' '@[kstack(raw)] = 1; @[kstack] = 1'; do {sonde} -e "$D begin { $s; exit() }" 2>&1 >/dev/null | grep -o 'ERROR.*' || echo "none: $s"; done; {sonde} -q -e "$D begin { @a = tseries((uint8)5, 1s, 3, \"max\"); @a = tseries(-6, 1000ms, 3, \"max\"); exit() }" | grep -c "^@a"
EXPECT_RE \A(ERROR: Different tseries bounds in a single map unsupported\n){4}ERROR: Different bits in a single hist unsupported\nERROR: Different lhist bounds in a single map unsupported\nERROR: Type mismatch for \$a: trying to assign value of type 'ustack\(perf\)' when variable already has a type 'ustack'\nERROR: Argument mismatch for @: trying to access with arguments: 'kstack' when map expects arguments: 'kstack\(raw\)'\n1\n\Z

NAME --include looks in the working directory
RUN mkdir sub; echo '#define MAXV 16' >hdr.h; echo '#include "near.h"' >sub/hdr.h; echo '#define MAXV 17' >sub/near.h; for h in hdr.h ./hdr.h sub/hdr.h linux/nosuch.h; do {sonde} -q --include $h -e 'begin { print(MAXV); exit() }'; done; mkdir -p inc/linux; echo '#define MAXV 18' >inc/only.h; {sonde} -q -I inc --include only.h --include linux/types.h -e 'begin { print((MAXV, sizeof(__u32))); exit() }'
EXPECT_RE \A16\n+16\n+17\n+\(18, 4\)\n+\Z
STDERR Unknown identifier: 'MAXV'

NAME NO_COLOR
RUN for v in 'NO_COLOR=1 BPFTRACE_COLOR=auto' 'NO_COLOR= BPFTRACE_COLOR=auto' 'NO_COLOR=1 BPFTRACE_COLOR=always'; do script -qec "env $v {sonde} -e 'begin { print(\$x) }'" /dev/null | grep -c "$(printf '\033\\[31m')"; done
NEED cmd:script
EXPECT_RE \A0\n1\n1\n\Z

NAME called bpftrace, messages keep bpftrace's form
RUN ln -s {sonde} bpftrace; ./bpftrace -e 'malloc { }'; ./bpftrace 'begin { exit() }'; ./bpftrace -V; ./bpftrace -o o -e 'begin { print($x) }'; ./bpftrace -e 'begin { printf("a\n"); exit() }' >/dev/full; echo $?; ls o
RC 2
EXPECT_RE \Abpftrace v\d+\.\d+\.\d+ .*\n1\n\Z
STDERR stdin:1:1-7: ERROR: Invalid probe type: malloc
STDERR ERROR: cannot open begin { exit() }
STDERR HINT: the text of a script comes after -e

NAME an imported script that everyone may write to is refused, for it would be run as root
RUN echo 'macro m() { printf("imported"); }' >a.bt; echo 'import "a.bt"; begin { m(); exit(); }' >m.bt; {sonde} -q m.bt; chmod 666 a.bt; {sonde} -q m.bt
RC 1
EXPECT_RE \A\s*imported\s*\Z
STDERR refusing to import ./a.bt: everyone may write to it

NAME a loop over what is nothing
TOGETHER
PROG begin { for ($x : $y) { } }
RC 1
STDERR expected a map or a range in the for loop

NAME help texts of options are literals
RUN for e in 'getopt("x", "x", @s)' 'getopt_match("x", 5, @s)'; do {sonde} -e "begin { print($e); @s = 1; exit() }"; echo $?; done; {sonde} -e 'begin { for ($x : getopt_list("x", @s)) { print($x); } @s = 1; exit() }'
RC 1
EXPECT_RE \A1\n1\n\Z
STDERR getopt() expects a string literal
STDERR getopt_match() expects a string literal
STDERR the help text of getopt_list() is a string literal

NAME a string that is too long says which max_strlen is enough
RUN {sonde} -e 'config = { max_strlen = 10 } begin { print("0123456789abc"); exit() }' 2>&1
    {sonde} -q -e 'config = { max_strlen = 14 } begin { print("0123456789abc"); exit() }'
EXPECT_LINE HINT: config = { max_strlen = 14 } is enough for it
EXPECT_LINE 0123456789abc

NAME what a macro was called with is told with its place in the macro's body, once
RUN {sonde} -e 'macro k(x) { strlen(x) } macro m(y) { k(y) } begin { $n = m(5) }' 2>&1; {sonde} -e 'macro k(x) { x; x + 1 } begin { k(zork); k(zork) }' 2>&1
RC 1
EXPECT_RE ^stdin:1:61-62: ERROR: strlen\(\) expects a string argument \(int8 provided\)\n.*\n +~\nstdin:1:21-22: ERROR: expanded from\n.*\n {20}~\nstdin:1:39-43: ERROR: expanded from\n.*\n {38}~{4}\nstdin:1:59-63: ERROR: expanded from\n.*\n {58}~{4}\nstdin
EXPECT_RE ^stdin:1:35-39: ERROR: Unknown identifier: 'zork'\n.*\n {34}~{4}\nstdin:1:14-15: ERROR: expanded from\n.*\n {13}~\nstdin:1:33-40: ERROR: expanded from\n
EXPECT_RE ^stdin:1:44-48: ERROR: Unknown identifier: 'zork'\n
EXPECT_NOT stdin:1:17-18

NAME what a #define became is told with the place of its name
RUN printf '#define LEN strlen(5) + 1\nbegin { print(LEN); }' >{tmp}/d.bt; {sonde} {tmp}/d.bt 2>&1; printf '#define ADD(a) a + nosuch\n#define HALF 1 +\nbegin { print(ADD(3)); print(HALF); }' >{tmp}/d.bt; {sonde} {tmp}/d.bt 2>&1
RC 1
EXPECT_RE ^#define LEN:1:8-9: ERROR: strlen\(\) expects a string argument \(int8 provided\)\nstrlen\(5\) \+ 1\n {7}~\n\S*d.bt:2:15-18: ERROR: expanded from\nbegin .*\n {14}~~~$
EXPECT_RE ^#define ADD:1:\d+-\d+: ERROR: Unknown identifier: 'nosuch'\n.*\n +~{6}\n\S*d.bt:3:15-21: ERROR: expanded from
EXPECT_RE ^\S*d.bt:3:30-34: ERROR: unable to expand macro as an expression: 1 \+\nbegin .*\n {29}~{4}$
EXPECT_NOT syntax
EXPECT_NOT 'HALF'

NAME a number is not shifted by more bits than it has: 0 where it is known, and 1 where it runs, was neither's
RUN for e in '1 << 64' '1 << -1' '8 >> 70' '1 << 63'; do {sonde} -q -e "begin { print($e); exit() }" 2>&1 | head -n 1; done
EXPECT_RE \A(stdin:1:15-22: ERROR: unable to fold literals due to overflow or underflow\n){3}9223372036854775808\n\Z

NAME a parameter on the stack, which -lv lists, is told to be there; another name is told not to be
NEED arch:x86_64
RUN {sonde} -lv 'uprobe:{copy:calls}:many' | tail -n 1; {sonde} -e 'uprobe:{copy:calls}:many { print((args.f, args.g, args.gg)) }' 2>&1 | grep ERROR
EXPECT_RE ^    long int h$
EXPECT_RE ERROR: the parameter g is not passed in a register of integers, and is not read\n.*ERROR: Can't find function parameter gg$
EXPECT_NOT parameter f

NAME a word that is no mode of a stack, clock or namespace: which there are; two limits
RUN for e in 'kstack(perff)' 'ustack(nosuch, 3)' 'nsecs(real)' 'pid(host)' 'tid(5)' 'kstack(1, 2)'; do {sonde} -e "begin { print($e) }" 2>&1 | head -n 1; done; {sonde} -q -e '#define LIM 1
    enum e { ONE = 1 }; begin { print(len(kstack(LIM)) + len(kstack(ONE))); exit() }'
EXPECT_LINE stdin:1:22-27: ERROR: kstack() has no mode 'perff': there are bpftrace, perf, raw
EXPECT_LINE stdin:1:22-28: ERROR: ustack() has no mode 'nosuch': there are bpftrace, perf, raw, build_id, fp, native, async, dwarf
EXPECT_LINE stdin:1:21-25: ERROR: Expects timestamp mode to be one of: monotonic, boot, tai, sw_tai
EXPECT_LINE stdin:1:19-23: ERROR: Invalid PID namespace mode: host (expects: curr_ns or init)
EXPECT_LINE stdin:1:19-20: ERROR: Invalid PID namespace mode: int8 (expects: curr_ns or init)
EXPECT_LINE stdin:1:15-27: ERROR: Expected stack mode as first argument
EXPECT_LINE 2

NAME signal() where the process is sonde itself, or whichever runs when a timer fires
RUN for p in begin end 'self:signal:SIGUSR1' 'interval:s:100'; do {sonde} --unsafe -e "$p { signal(\"SIGUSR2\") } begin { exit() }" 2>&1 | head -n 1; done
EXPECT_RE \A\S+ ERROR: signal\(\) can not be used in 'begin' probes: the process is sonde's own\n\S+ ERROR: .*'end' probes: the process is sonde's own\n\S+ ERROR: .*'self' probes: the process is sonde's own\n\S+ ERROR: .*'interval' probes: the process is any that happens to run\n\Z

NAME a map whose values are made of its own is no undefined one; one that gets its type from it neither
RUN {sonde} -q -e 'begin { @[1] = @[1] + 1; @x = @x; @y = @z; print((@[1], @x, @y)); clear(@); exit() }' 2>&1 | grep -v '^begin\|~'
EXPECT_LINE (1, 0, 0)
EXPECT_RE ^stdin:1:\d+-\d+: WARNING: Undefined map: @z$
EXPECT_NOT Undefined map: @x
EXPECT_NOT Undefined map: @y
EXPECT_NOT Undefined map: @[
