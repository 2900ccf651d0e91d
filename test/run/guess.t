# Code without unwind tables: callers without frame pointers are there, and what is left by a guess is not counted as whole.
# Issue 10, points 3 and 8: each program's chain of calls is known and ends in getppid(2).

FILE TOGETHER

NAME frameless functions among ones with frame pointers, without tables
RUN gcc -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-schedule-insns2 -o bare {top}/test/workload/bare.c; {sonde} -q --why-incomplete -c './bare 5' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' >o 2>&1; sed -n 's/^ *\(\w*\)+.*/\1/p; s/^\(@\[\|]: .*\)/\1/p' o | sed 's/^f[0-9]$/fN/' | tr '\n' ' ' | sed 's/@\[ /\n/g' | sort | uniq -c; echo; grep 'user stacks' o
NEED cmd:gcc
NEED host
NEED arch:x86_64
EXPECT_RE ^ +10 \w+ c b a fN main( __libc_\w+)* _start \]: 5 ?$
EXPECT_LINE 50 user stacks, 50 whole (100.00 %)

NAME the same, stripped: known or guessed, but never short
RUN gcc -O2 -s -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-schedule-insns2 -o bare {top}/test/workload/bare.c; {sonde} -q --why-incomplete -c './bare 5' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' >o 2>&1; grep -c '^ *\[bare+' o; grep 'user stacks' o
NEED cmd:gcc
NEED host
NEED arch:x86_64
EXPECT_RE ^50\n50 user stacks, 50 whole \(100\.00 %\)$

NAME GraalVM's native images: megabytes of code without tables, whole, also stripped
RUN gcc -O2 -no-pie -o image {top}/test/workload/image.c {top}/test/workload/image.S && strip -o stripped image && size image | awk 'NR == 2 { print ($1 > 4194304) }' && for p in image stripped; do {sonde} -q --why-incomplete -c "./$p 5" -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' >o 2>&1; sed -n 's/^ *\(\S*\)+[0-9a-fx]*\]*$/\1/p; s/^\(@\[\|]: .*\)/\1/p; /user stacks/p' o | tr '\n' ' '; echo; done
NEED cmd:gcc
NEED host
NEED arch:x86_64
TIMEOUT 60
EXPECT_RE \A1\n.*@\[ (syscall )?ask third second first main( __libc_\w+)* _start \]: 5 5 user stacks, 5 whole \(100\.00 %\) \n.*@\[ (syscall )?(\[stripped\S* ){5}.*\]: 5 5 user stacks, 5 whole \(100\.00 %\) \n\Z

NAME Free Pascal: no tables, frames only here and there
RUN fpc -O2 -Xs- -v0 -FE. {top}/test/workload/frameless.pas >/dev/null; {sonde} -q --why-incomplete -c ./frameless -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' 2>&1
NEED cmd:fpc
NEED host
NEED arch:x86_64
EXPECT_RE ^(\s+\S+\n){2}\s+P\$FRAMELESS_\$\$_C\$\S+\n\s+P\$FRAMELESS_\$\$_B\$\S+\n\s+P\$FRAMELESS_\$\$_A\$\S+\n\s+P\$FRAMELESS_\$\$_OUTER\$\S+\n\s+main\+\d+\n(\s+S\S+\n)*\]: 20$
EXPECT_LINE 20 user stacks, 20 whole (100.00 %)

NAME a call is the last instruction of a small function between two others
RUN gcc -O2 -o lastcall {top}/test/workload/lastcall.c; {sonde} -q --why-incomplete -c './lastcall 5' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' 2>&1
NEED cmd:gcc
NEED host
NEED arch:x86_64
EXPECT_RE ^\s+\w+\+\d+\n\s+last\+\d+\n\s+tiny\+6\n\s+outer\+\d+\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6|\[libc\.so\.6\+\w+\])\+\w+\n)*\s+_start\+\d+\n\]: 5$
EXPECT_LINE 5 user stacks, 5 whole (100.00 %)

NAME without its name the small function is one only by its looks: a guess, and said so
RUN gcc -O2 -s -o lastcall {top}/test/workload/lastcall.c; {sonde} -q --why-incomplete -c './lastcall 5' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' 2>&1
NEED cmd:gcc
NEED host
NEED arch:x86_64
EXPECT_RE ^\s+\w+\+\d+\n(\s+\[lastcall\+\w+\](\+\d+)?\n){4}(\s+(__libc_\w+|libc\.so\.6|\[libc\.so\.6\+\w+\])\+\w+\n)*\s+_start\+\d+\n\]: 5$
EXPECT_LINE 5 user stacks, 0 whole (0.00 %), 5 whole by guess (100.00 %)
EXPECT_RE ^ +5 +\d+ lastcall +\[lastcall\+0x\w+\]: left by a rule that was guessed from instructions; callers may be missing$

NAME code made at run time is left by its frame pointer: whole by guess, not marked as cut
RUN gcc -O2 -o jit {top}/test/workload/jit.c; {sonde} -q --why-incomplete -c './jit 5' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' 2>&1
NEED cmd:gcc
NEED host
EXPECT_RE ^\s+\w+\+\d+\n\s+last\+\d+\n\s+0x[0-9a-f]+\n\s+main\+\d+\n(\s+(__libc_\w+|libc\.so\.6|\[libc\.so\.6\+\w+\])\+\w+\n)*\s+_start\+\d+\n\]: 5$
EXPECT_LINE 5 user stacks, 0 whole (0.00 %), 5 whole by guess (100.00 %)
EXPECT_RE ^ +5 +\d+ jit +\[no file\+0x\w+\]: left by frame pointer, not by unwind information; callers may be missing$

NAME code made at run time that nothing names is a loss
NEED cmd:gcc
NEED host
RUN gcc -O2 -o jit {top}/test/workload/jit.c; for o in '' --strict '-f json --strict'; do {sonde} -q $o -c './jit 5' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' >o 2>e; echo "$? $(grep -c 'processes of which code made at run time has no names: 1 (`sonde info -p [0-9]*` says what helps)' e) $(grep -c '"type": "made_code_unnamed", "count": 1' o)"; done
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n\Z

NAME code made at run time without a frame pointer, called by C that has one: its caller is not left out, the stack is cut there
RUN gcc -O2 -o jit_nofp {top}/test/workload/jit_nofp.c; {sonde} -q --why-incomplete -c './jit_nofp 5' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' 2>&1
NEED cmd:gcc
NEED host
NEED arch:x86_64
EXPECT_RE ^\s+\w+\+\d+\n\s+last\+\d+\n\s+0x[0-9a-f]+\n\s+\[truncated\]\n\]: 5$
EXPECT_LINE 5 user stacks, 0 whole (0.00 %)
EXPECT_RE ^ +5 +\d+ jit_nofp +\[no file\+0x\w+\]: code outside every known file, without frame pointers$

# A function's name makes the program one that is known to make code: of PCRE2's it is only perhaps.
NAME whose code it may be: said where it has no names, and what is known goes before what may be
NEED cmd:gcc
NEED host
NEED arch:x86_64
RUN for f in pcre2_jit_compile_8 'pcre2_jit_compile_8 ChromeMain'; do printf 'int %s(void) { return 1; }\n' $f > m.c; gcc -O2 -rdynamic -o maker {top}/test/workload/jit.c m.c && {sonde} -q --why-incomplete -c './maker 5' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' 2>&1 | grep -o 'may be missing.*'; done
EXPECT_RE \Amay be missing: perhaps PCRE2's [^;]*; .*\nmay be missing: JavaScript, .*--js-flags=--perf-basic-prof\n\Z

NAME what helps Mono's code, Racket's, PyPy's and SpiderMonkey's: said by a function's name, too
NEED cmd:gcc
NEED host
NEED arch:x86_64
RUN for f in mono_jit_init racket_boot pypy_main_startup 'pcre2_jit_compile_8 _Z27JS_GetImplementationVersionv'; do printf 'int %s(void) { return 1; }\n' $f > m.c; for c in jit jit_nofp; do gcc -O2 -rdynamic -o maker {top}/test/workload/$c.c m.c && {sonde} -q --why-incomplete -c './maker 5' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' 2>&1 | grep -o '\(may be missing\|without frame pointers\)[:,;].*'; done; done
EXPECT_RE \A\S.*: Mono's code, .*MONO_DEBUG=disable_omit_fp in the environment; names with mono --jitmap\n\S.*Mono's code, .*\n\S.*: Racket's code .*; raco profile counts .*\n\S.*Racket's code .*\n(\S.*PyPy's code .*--jit off does without\n){2}(\S.*: JavaScript, .*; gjs .*GJS_DISABLE_JIT=1 in its environment\n){2}\Z

# A tree of calls: with the flag each stack has Main, which calls work, which calls fib several times; without it only the innermost function's address.
NAME mono: what the hint says helps
NEED cmd:mono
NEED cmd:mcs
NEED host
RUN { echo 'using System; using System.Runtime.CompilerServices; class P {'; for i in $(seq 120); do echo "[MethodImpl(MethodImplOptions.NoInlining)] static int warm$i(int n) { return n + $i; }"; done; echo '[MethodImpl(MethodImplOptions.NoInlining)] static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); } [MethodImpl(MethodImplOptions.NoInlining)] static int work(int n) { return fib(n) + 1; } static void Main() { long t = work(3);'; for i in $(seq 120); do echo "t += warm$i(3);"; done; echo 'while (true) t += work(25); } }'; } >m.cs; mcs m.cs; for e in '' disable_omit_fp; do MONO_DEBUG=$e mono --jitmap m.exe & p=$!; until grep -q 'P:fib' /tmp/perf-$p.map 2>/dev/null; do sleep 0.1; done; {sonde} -q -p $p -e 'profile:hz:499 { printf("%s\n", ustack); if (++@n == 100) { exit() } }' >o 2>&1; kill $p; rm -f /tmp/perf-$p.map; echo "fib $(grep -c 'P:fib' o | sed 's/^[1-9].*/some/'), work $(grep -c 'P:work' o | sed 's/^[1-9].*/some/')"; done
EXPECT_RE \Afib some, work 0\nfib some, work some\n\Z

NAME guesses in JSON
RUN gcc -O2 -o jit {top}/test/workload/jit.c; {sonde} -q -f json --why-incomplete -c './jit 5' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' | python3 -c 'import json, sys; u = [r["data"] for r in map(json.loads, sys.stdin) if r["type"] == "user_stacks"][0]; print(u["stacks"], u["whole"], u["guessed"], u["incomplete"], [(x["count"], x["comm"], x["reason"].split(",")[0]) for x in u["guesses"]])'
NEED cmd:gcc
NEED host
EXPECT_LINE 5 0 5 [] [(5, 'jit', 'left by frame pointer')]

NAME assembly without tables whose stack pointer is kept in a register or in memory
NEED arch:x86_64
NEED cmd:gcc
RUN gcc -O2 -fomit-frame-pointer -o aligned {top}/test/workload/aligned.c; {sonde} -q --why-incomplete -c './aligned 5' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' >o 2>&1; sed -n 's/^ *\(\w*\)+.*/\1/p; s/^\(@\[\|]: .*\)/\1/p' o | tr '\n' ' ' | sed 's/@\[ /\n/g'; echo; grep 'user stacks' o
EXPECT_RE ^leaf in_register main .*_start ]: 5 $
EXPECT_RE ^leaf in_memory main .*_start ]: 5 $
EXPECT_RE ^leaf in_frame main .*_start ]: 5 $
EXPECT_RE ^15 user stacks, 15 whole \(100.00 %\)

NAME code of a file with damaged ELF headers has a reason of its own, and is left by frame pointer
RUN gcc -O2 -o jit {top}/test/workload/jit.c; {sonde} -q --why-incomplete -c './jit 150 ./made.so' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' 2>&1
NEED cmd:gcc
NEED host
EXPECT_RE ^\s+\w+\+\d+\n\s+last\+\d+\n\s+\S*made\.so\S*\n\s+main\+\d+
EXPECT_RE ^ +\d+ +\d+ jit +.*: the file with the code has damaged ELF headers$
