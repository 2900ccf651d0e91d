# trace_id and span_id: the request that a thread works on, as its program publishes it (OpenTelemetry's OTEP 4947; test/workload/otel.c says what is right).

FILE TOGETHER

NAME requests: each is counted as often as the program says, however its variable is found: in the program, in libraries, in those loaded later
LONG
NEED cmd:gcc
NEED arch:x86_64
TIMEOUT 120
RUN {top}/test/run/otel.sh {sonde} {top}/test/workload/otel.c
EXPECT_RE ^fixed: same 21, one-sided 0; warm 1; empty trace_id or span_id: \d+$
EXPECT_RE ^nopie: same 21, one-sided 0; warm 1; empty trace_id or span_id: \d+$
EXPECT_RE ^initial: same 21, one-sided 0; warm 1; empty trace_id or span_id: \d+$
EXPECT_RE ^module: same 21, one-sided 0; warm 1; empty trace_id or span_id: \d+$
EXPECT_RE ^descriptor: same 21, one-sided 0; warm 1; empty trace_id or span_id: \d+$
EXPECT_RE ^bound: same 21, one-sided 0; warm 1; empty trace_id or span_id: \d+$
EXPECT_RE ^bound2: same 21, one-sided 0; warm 1; empty trace_id or span_id: \d+$
EXPECT_RE ^loaded_module: same 21, one-sided 0; warm 1; empty trace_id or span_id: \d+$
EXPECT_RE ^loaded_descriptor: same 21, one-sided 0; warm 1; empty trace_id or span_id: \d+$
EXPECT_RE ^loaded_bound: same 21, one-sided 0; warm 1; empty trace_id or span_id: \d+$
EXPECT_RE ^loaded_bound2: same 21, one-sided 0; warm 1; empty trace_id or span_id: \d+$

NAME requests: of a process that runs already none is lost; a pointer to nothing is counted
LONG
NEED cmd:gcc
RUN gcc -O2 -rdynamic -DVARIABLE -o prog {top}/test/workload/otel.c -ldl -lpthread; WARM=300 ./prog >said & {sonde} -q -p $! -e 'uprobe:./prog:work { @[trace_id, span_id] = count() }  uprobe:./prog:warm { @w[span_id] = count() }' >o 2>e; wait; grep '^@\[' o said | sed 's/^[^:]*://' | sort | uniq -c | awk '{ n[$1]++ } END { print "same " n[2] ", one-sided " n[1] + 0 }'; cat e
TIMEOUT 60
EXPECT_LINE same 21, one-sided 0
EXPECT_RE empty trace_id or span_id: 1 \(

NAME requests: one that cannot be read is told, has an object in JSON and fails --strict
LONG
NEED cmd:gcc
RUN gcc -O2 -rdynamic -DVARIABLE -o prog {top}/test/workload/otel.c -ldl -lpthread; for o in '' --strict '-f json --strict'; do WARM=300 ./prog >said & {sonde} -q $o -p $! -e 'uprobe:./prog:work { @[trace_id, span_id] = count() }  uprobe:./prog:warm { @w[span_id] = count() }' >o 2>e; echo "$? $(grep -c 'empty trace_id or span_id: 1 ' e) $(grep -c '"type": "requests_unread", "count": 1' o)"; wait; done
TIMEOUT 60
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n\Z

NAME requests: in predicates, variables, tuples and JSON, beside a stack
NEED cmd:gcc
RUN gcc -O2 -rdynamic -DVARIABLE -o prog {top}/test/workload/otel.c -ldl -lpthread; {sonde} -q -f json -c ./prog -e 'uprobe:./prog:warm { @w = span_id } uprobe:./prog:work /span_id == "f0d1b29374553617"/ { $t = trace_id; @a[$t] = count(); @b = ($t, 1); @c[ustack(1), trace_id] = count(); if (!@n) { printf("%s %20s|\n", trace_id, span_id) } @n = 1 }' 2>/dev/null
EXPECT_LINE {"type": "map", "data": {"@a": {"011e3b587592afcce90623405d7a97b4": 10}}}
EXPECT_LINE {"type": "map", "data": {"@b": ["011e3b587592afcce90623405d7a97b4",1]}}
EXPECT_RE "data": "011e3b587592afcce90623405d7a97b4     f0d1b29374553617\|\\n"
EXPECT_RE "@c": \{"\\nwork\+0\\n,011e3b587592afcce90623405d7a97b4": 10\}
EXPECT_LINE {"type": "map", "data": {"@w": ""}}

NAME requests: labels of a profile
NEED cmd:gcc
RUN gcc -O2 -rdynamic -DVARIABLE -o prog {top}/test/workload/otel.c -ldl -lpthread; {sonde} -q --folded -c ./prog -e 'uprobe:./prog:warm { @w = span_id } uprobe:./prog:work /span_id == "f0d1b29374553617"/ { @[ustack(1), span_id] = count() }' 2>/dev/null
EXPECT_RE f0d1b29374553617.*work 10$

NAME requests: threads of the kernel, begin and programs without them have none
RUN cp -L $(command -v sleep) nap{id}; {sonde} -q -c './nap{id} 0.01' -e 'begin { printf("[%s]\n", trace_id) } tracepoint:syscalls:sys_enter_clock_nanosleep /comm == "nap{id}"/ { @[trace_id, span_id] = count() }' 2>/dev/null
EXPECT_LINE []
EXPECT_LINE @[, ]: 1

NAME requests: are the current thread's
PROG iter:task { print(trace_id) }
RC 1
STDERR trace_id is of the current thread, and can not be used with 'iter' probes
