# Code made at run time, as its maker tells of it (docs/jit.md): whole stacks without frame pointers, and the names of the time.
# test/workload/madecode.c: main -> made_outer -> made_inner -> last -> getppid(2), N times.

FILE TOGETHER

NAME GDB's interface: rows and names of an ELF file in memory, whole
RUN gcc -O2 -o madecode {top}/test/workload/madecode.c; {sonde} -q --why-incomplete -c './madecode gdb 20' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' 2>&1
NEED cmd:gcc
NEED host
NEED arch:x86_64
EXPECT_RE ^\s+\w+\+\d+\n\s+last\+\d+\n\s+made_inner\+9\n\s+made_outer\+6\n(\s+run\+\d+\n)?\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6|\[libc\.so\.6\+\w+\])\+\w+\n)*\s+_start\+\d+\n\]: 20$
EXPECT_LINE 20 user stacks, 20 whole (100.00 %)

NAME the same of a stripped program that exports the list
RUN gcc -O2 -s -rdynamic -o madecode {top}/test/workload/madecode.c; {sonde} -q --why-incomplete -c './madecode gdb 20' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' 2>&1
NEED cmd:gcc
NEED host
NEED arch:x86_64
EXPECT_RE ^\s+made_inner\+9\n\s+made_outer\+6\n
EXPECT_LINE 20 user stacks, 20 whole (100.00 %)

NAME other code at the same place: each stack has the names and the frames of its time
RUN gcc -O2 -o madecode {top}/test/workload/madecode.c; {sonde} -q --why-incomplete -c './madecode again 20' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' >o 2>&1; sed -n 's/^ *\(\w*\)+.*/\1/p; s/^\(@\[\|]: .*\)/\1/p' o | grep -v '^run$' | tr '\n' ' ' | sed 's/@\[ /\n/g'; echo; grep 'user stacks' o
NEED cmd:gcc
NEED host
NEED arch:x86_64
EXPECT_RE ^\w+ last made_inner made_outer main( __libc_\w+)* _start ]: 10 ?$
EXPECT_RE ^\w+ last second_inner second_outer main( __libc_\w+)* _start ]: 10
EXPECT_RE 20 user stacks, 20 whole \(100\.00 %\)$

NAME code that is run before the tracer can know of it is cut there and says why: never the frames of the code that was there before
RUN gcc -O2 -o madecode {top}/test/workload/madecode.c; for i in 1 2 3 4 5; do {sonde} -q -c './madecode again 2 . 0' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { printf("%s\n--\n", ustack) }' 2>/dev/null; done | grep -v 'getppid\|syscall' | sed -n 's/^ *\(\w*\)+.*/\1/p; s/^ *\[truncated].*/cut/p; s/^ *\(0x\|\[jit+\).*/unknown/p; s/^--/--/p' | tr '\n' ' ' | sed 's/-- /\n/g' | sed 's/ main .*/ main/; s/ run / /' | awk 'NF {print 1 + n++ % 2, $0}' | sort -u
NEED cmd:gcc
NEED host
NEED arch:x86_64
EXPECT_RE \A(1 last (made_inner made_outer main|made_inner cut|unknown cut) *\n)+(2 last (second_inner second_outer main|second_inner cut|unknown cut) *\n)+\Z

NAME code that comes and goes at one place, faster than it is read: no stack has the frames of the other code
RUN gcc -O2 -o madecode {top}/test/workload/madecode.c; for p in 0 20 300; do {sonde} -q -c "./madecode flip 1200 . $p" -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { printf("%s\n--\n", ustack) }' 2>/dev/null; done | grep -v 'getppid\|syscall' | sed -n 's/^ *\(\w*\)+.*/\1/p; s/^ *\[truncated].*/cut/p; s/^ *\(0x\|\[jit+\).*/unknown/p; s/^--/--/p' | tr '\n' ' ' | sed 's/-- /\n/g' | sed 's/ main .*/ main/; s/ run / /' | awk '/^last (made_inner made_outer main|made_inner cut|unknown cut) *$/ || /^last_second (second_inner second_outer main|second_inner cut|unknown cut) *$/ { n++; k += / main/; next } NF { print "wrong: " $0 } END { print n " of 3600, known " (k ? "some" : "none") }'
NEED cmd:gcc
NEED host
NEED arch:x86_64
EXPECT_RE \A3600 of 3600, known some\n\Z

NAME functions of which only names are told, or of some of which: their instructions tell the rest, whole
RUN gcc -O2 -o madecode {top}/test/workload/madecode.c; for m in names some; do {sonde} -q --why-incomplete -c "./madecode $m 5" -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' 2>&1; done | grep -v '__libc_\|libc\.so\|^ *run+'
NEED cmd:gcc
NEED host
NEED arch:x86_64
EXPECT_RE \A(?s:.*last\+\d+\n\s+made_inner\+9\n\s+made_outer\+6\n\s+main\+\d+\n\s+_start\+\d+\n\]: 5\n.*5 user stacks, 5 whole \(100\.00 %\).*){2}\Z

NAME more pieces of code than there is room for: counted, told, --strict ends with 3, JSON has an object
LONG
ALONE it takes the room of other tests' code, as theirs takes its
RUN gcc -O2 -o madecode {top}/test/workload/madecode.c; for o in '' --strict '-f json --strict'; do {sonde} -q $o -c './madecode many 5 . 500000' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' >o 2>e; echo "$? $(grep -c 'no room: [1-9][0-9]*; they have no names' e) $(grep -c '"type": "made_code_refused", "count": [1-9]' o)"; done
NEED cmd:gcc
NEED host
NEED arch:x86_64
TIMEOUT 60
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n\Z

NAME sonde agent: when code that is gone has taken all the room, it begins anew, and later code has its names
LONG
EXTRA it takes a minute
RUN gcc -O2 -o madecode {top}/test/workload/madecode.c; ./madecode pass 400 2500 0 & P=$!; until grep -q madecode /proc/$P/comm; do sleep 0.05; done; timeout -s INT 55 {sonde} agent -p $P -i 2 -F 49 --dir d --max-cpu 50 >o 2>e; kill $P; grep -c 'WARNING: no room for more code made at run time, .* begins anew' e; for f in d/*.gz; do {sonde} report -f $f; done | grep -c ';made_outer;made_inner;last_work;work'
NEED cmd:gcc
NEED host
NEED arch:x86_64
TIMEOUT 90
EXPECT_RE \A1\n[1-9]\d*\n\Z

NAME a jitdump with unwinding information: whole
RUN gcc -O2 -o madecode {top}/test/workload/madecode.c; {sonde} -q --why-incomplete -c './madecode dump 10 . 100000' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @n++; if (@n > 6) { @[ustack] = count() } } END { clear(@n) }' 2>&1
NEED cmd:gcc
NEED host
NEED arch:x86_64
EXPECT_RE ^\s+\w+\+\d+\n\s+last\+\d+\n\s+made_inner\+9\n\s+made_outer\+6\n(\s+run\+\d+\n)?\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6|\[libc\.so\.6\+\w+\])\+\w+\n)*\s+_start\+\d+\n\]: 4$
EXPECT_LINE 4 user stacks, 4 whole (100.00 %)

NAME code of a jitdump that has moved
RUN gcc -O2 -o madecode {top}/test/workload/madecode.c; {sonde} -q --why-incomplete -c './madecode move 20 . 10000' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @n++; if (@n > 10) { @[ustack] = count() } } END { clear(@n) }' 2>&1
NEED cmd:gcc
NEED host
NEED arch:x86_64
EXPECT_RE ^\s+made_inner\+9\n\s+made_outer\+6\n(\s+run\+\d+\n)?\s+main\+
EXPECT_LINE 10 user stacks, 10 whole (100.00 %)

NAME names and lines of a jitdump, also after its process has gone: left by frame pointer, so whole by guess
RUN gcc -O2 -o madecode {top}/test/workload/madecode.c; {sonde} -q --lines --why-incomplete -c './madecode lines 5 .' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' 2>&1; ls jit-*.dump | wc -l
NEED cmd:gcc
NEED host
NEED arch:x86_64
EXPECT_RE ^\s+last\+\d+.*\n\s+made_framed\+6.*made\.src:9.*\n(\s+run\+\d+.*\n)?\s+main\+
EXPECT_LINE 5 user stacks, 0 whole (0.00 %), 5 whole by guess (100.00 %)

# Real programs.
NAME PostgreSQL: queries that LLVM compiles are whole and named when it tells of them
LONG
FEW samples
RETRY 1 samples
NEED file:/usr/lib/postgresql/15/bin/initdb
NEED file:/usr/lib/postgresql/15/lib/llvmjit.so
NEED arch:x86_64
TIMEOUT 120
RUN d=$(mktemp -d /tmp/sonde-pg.XXXXXX); chmod 755 $d; {top}/test/run/pgjit.sh {sonde} $d/s on; rm -rf $d
EXPECT enough stacks, whole
EXPECT named yes

NAME ... and if it does not tell, what would help
LONG
FEW samples
RETRY 1 samples
NEED file:/usr/lib/postgresql/15/bin/initdb
NEED file:/usr/lib/postgresql/15/lib/llvmjit.so
NEED arch:x86_64
TIMEOUT 120
RUN d=$(mktemp -d /tmp/sonde-pg.XXXXXX); chmod 755 $d; {top}/test/run/pgjit.sh {sonde} $d/s off; rm -rf $d
EXPECT named no
EXPECT perhaps LLVM's code, of which nobody tells: PostgreSQL does with jit_debugging_support=on when a session begins

NAME Erlang with frame pointers: module:function/arity down to the process's end
LONG
FEW samples
RETRY 1 samples
NEED cmd:erl
NEED arch:x86_64
TIMEOUT 60
RUN printf -- '-module(f).\n-export([main/0, fib/1, loop/0]).\nfib(N) when N < 2 -> N;\nfib(N) -> fib(N-1) + fib(N-2).\nloop() -> _ = fib(22) + 1, loop().\nmain() -> spawn(fun() -> loop() end), io:put_chars(os:getpid()), timer:sleep(100000).\n' >f.erl; erlc f.erl; erl +JPperf true -noshell -s f main >pid & while ! test -s pid; do sleep 0.1; done; {sonde} profile -F 199 -U --why-incomplete -f -p $(cat pid) 3 >o 2>e; kill $(cat pid); grep -c ';erts_beamasm:normal_exit/0;f:loop/0;f:fib/1;f:fib/1' o | sed 's/^[1-9].*/whole/'; rm -f /tmp/perf-$(cat pid).map /tmp/jit-$(cat pid).dump
EXPECT whole

NAME code in a file that is no ELF file, and what is written to it later
NEED arch:x86_64
NEED cmd:gcc
RUN gcc -O2 -fomit-frame-pointer -o rawfile {top}/test/workload/rawfile.c; {sonde} -q -c './rawfile made.raw 100' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { printf("%s--\n", ustack) }' >o 2>&1; tr '\n' ' ' <o | sed 's/-- /\n/g' | awk '/last/ { half = ++n <= 50; whole[half] += /last\+.*made\.raw.* main\+/ } END { print n, (whole[1] > 40), (whole[0] > 25) }'
EXPECT_LINE 100 1 1
