# What stacks show of runtimes of languages, said of a process; and the stacks without them.

FILE FEW

NAME info -p: CPython, its version and where its offsets are from
NEED file:/usr/bin/python3.11
RUN /usr/bin/python3.11 -c 'import time; print(flush=True); time.sleep(60000)' >up & while ! test -s up; do sleep 0.1; done; {sonde} info -p $!; kill $!
EXPECT_RE ^Runtimes of process \d+\n  python 3\.11\.\d+: /usr/bin/python3\.11\n    functions and lines: yes\n    offsets: a table of releases in sonde\n\nCode in no file\n  none$

NAME info -p: Go, stripped
NEED cmd:go
RUN printf 'package main\nimport "time"\nfunc main() { println(1); time.Sleep(time.Hour) }\n' >m.go; GOCACHE=/tmp/sonde-gocache go build -ldflags='-s -w' -o m m.go && (./m 2>up & while ! test -s up; do sleep 0.1; done; {sonde} info --pid $!; kill $!)
TIMEOUT 90
EXPECT_RE ^  go go1\.\d+[.\d]*: \S+/m\n    functions and lines: yes\n    offsets: the program's own table \(\.gopclntab\)\n

NAME info -p: V8, whose code is in no file, with and without names
NEED cmd:node
RUN for o in --no-perf-basic-prof --perf-basic-prof; do node $o -e 'setTimeout(() => {}, 1e8); console.log(1)' >up & while ! test -s up; do sleep 0.1; done; {sonde} info -p $!; kill $!; rm -f up /tmp/perf-$!.map; done
EXPECT_RE ^  v8 \S+: \S+\n    functions and lines: yes; of optimised code in V8 before 11\.3 the outer function only\n    offsets: .*\n\nCode in no file\n  mappings: \d+, \d+ KB\n    stacks and names: of the runtime's code by its own tables; of other code:\n    stacks: by frame pointers\n    names: none
EXPECT_LINE     names: from its perf map

NAME info -p: a program in C, no process, wrong words
RUN sleep 60000 & {sonde} info -p $!; kill $!; for a in '-p 4194304' '-p x' '-q' '-p'; do {sonde} info $a 2>&1; echo $?; done
EXPECT   none: stacks are of its files' own functions
EXPECT_RE ^ERROR: process 4194304: cannot open /proc/4194304/maps: .*\n1\nUSAGE: sonde info 
EXPECT_RE (USAGE: sonde info .*\n.*\n1\n){3}

# What --native and language_frames = off show is what eu-stack shows, frame by frame.
NAME native stacks of a Python program have the program counters that eu-stack has
LONG
NEED file:/usr/bin/python3.11
NEED cmd:eu-stack
RETRY 1 eu-stack may come between two sleeps
RUN /usr/bin/python3.11 {top}/test/run/naps.py >up & p=$!; while ! test -s up; do sleep 0.1; done; s() { {sonde} -q -p $p "$@" 2>&1 | grep -o '^ *[0-9a-f]*$' | sed 's/^ *//'; }; e='tracepoint:syscalls:sys_enter_clock_nanosleep { @n++; if (@n > 5) { printf("%s\n", ustack(raw)); clear(@n); exit() } }'; s --native -e "$e" >n; s -e "config = { language_frames = off } $e" >o; eu-stack -p $p 2>/dev/null | sed -n 's/^#[0-9]* *0x0*\([0-9a-f]*\).*/\1/p' >eu; kill $p; cmp n eu && cmp o eu && echo same $(($(wc -l <eu) > 8))
EXPECT same 1

NAME native stacks in the tools, and over what a script says
LONG
NEED file:/usr/bin/python3.11
RETRY 2 samples
RUN /usr/bin/python3.11 -c "exec('def spin():\n while 1: pass\nprint(flush=True)\nspin()')" >up & while ! test -s up; do sleep 0.1; done; {sonde} profile -F 99 -U -f --native -p $! 2 >n 2>/dev/null; {sonde} profile -F 99 -U -f -p $! 2 >m 2>/dev/null; {sonde} -q --native -p $! -e 'config = { language_frames = on } profile:hz:99 { @[ustack] = count(); if (nsecs > 0) { @n++ } if (@n > 20) { exit() } }' >s 2>&1; kill $!; for f in n m s; do echo $f $(grep -c '[; ]spin' $f | sed 's/[1-9][0-9]*/some/') $(grep -c PyEval_EvalCode $f | sed 's/[1-9][0-9]*/some/'); done
EXPECT n 0 some
EXPECT m some some
EXPECT s 0 some
