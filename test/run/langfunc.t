# lang_func: the innermost function of the program's own language.

FILE FEW

NAME lang_func: functions of Python, methods, lambdas and what C calls back, each counted right
NEED file:/usr/bin/python3.11
RUN {sonde} -q -c '/usr/bin/python3.11 {top}/test/run/funcs.py 20' -e 'tracepoint:syscalls:sys_enter_getppid /comm == "python3.11"/ { @[lang_func] = count() }' 2>&1
EXPECT_LINE @[<module>]: 1
EXPECT_LINE @[Thing.method]: 40
EXPECT_LINE @[work]: 60
EXPECT_LINE @[work.<locals>.<lambda>]: 20
EXPECT_LINE @[Thing.__lt__]: 20

NAME lang_func: other versions of CPython
NEED cmd:pyenv
RUN for v in 3.8 3.10 3.12 3.13; do for p in $(ls -d $(pyenv root)/versions/$v.*/bin/python3 2>/dev/null | tail -n 1); do {sonde} -q -c "$p {top}/test/run/funcs.py 20" -e 'tracepoint:syscalls:sys_enter_getppid /comm == "python3"/ { @[lang_func] = count() }' 2>&1 | grep -c '^@\[\(<module>\]: 1\|\(Thing\.\)\?method\]: 40\|work\]: 60\|\(work.<locals>.\)\?<lambda>\]: 20\|\(Thing\.\)\?__lt__\]: 20\)$'; done; done | sort | uniq -c; pyenv versions --bare | grep -c '^3\.8\|^3\.1[023]'
TIMEOUT 60
EXPECT_RE ^\s+(\d+) 5\n\1$

NAME lang_func: Go, stripped: one key for all places in a function
NEED cmd:go
NEED arch:x86_64
RETRY 2 samples
RUN printf 'package main\nvar x int\n//go:noinline\nfunc spin() { for i := 0; i < 1000; i++ { x += i * x; if x & 7 == 3 { x ^= i } } }\nfunc main() { println(1); for { spin() } }\n' >m.go; GOCACHE=/tmp/sonde-gocache go build -ldflags='-s -w' -o gofuncs m.go && (./gofuncs 2>up & p=$!; while ! test -s up; do sleep 0.1; done; {sonde} -q -p $p -e 'profile:hz:499 { @[lang_func] = count(); @u[ustack(1)] = count(); @n++; if (@n > 400) { clear(@n); exit() } }' >o 2>&1; kill $p); grep -c '^@.main\.spin\]: [0-9][0-9]' o; test $(grep -c 'main\.spin+' o) -gt 1 && echo several places
TIMEOUT 90
EXPECT_LINE 1
EXPECT_LINE several places

NAME lang_func: none in a program in C, and where there is no stack
RUN cp -L $(command -v sleep) nap{id}; {sonde} -q -c 'sh -c "./nap{id} 0.01; ./nap{id} 0.01"' -e 'tracepoint:syscalls:sys_enter_clock_nanosleep /comm == "nap{id}"/ { @c[lang_func] = count() }' 2>/dev/null; {sonde} -q -e 'begin { printf("[%s]\n", lang_func); exit() }' 2>/dev/null
EXPECT_LINE @c[]: 2
EXPECT_LINE []

NAME lang_func: in user probes, as text in tuples and JSON, with --native
NEED file:/usr/bin/python3.11
RUN s() { {sonde} -q "$@" -c '/usr/bin/python3.11 {top}/test/run/funcs.py 20'; }; s -e 'uprobe:libc:getppid { @[lang_func, comm] = count() }'; s -f json -e 'tracepoint:syscalls:sys_enter_getppid /comm == "python3.11"/ { if (!@n) { @f = lang_func; print((lang_func, 1)) } @n = 1 }'; s --native -e 'tracepoint:syscalls:sys_enter_getppid /comm == "python3.11"/ { @[lang_func] = count() }'
EXPECT_LINE @[work, python3.11]: 60
EXPECT_LINE {"type": "value", "data": ["<module>",1]}
EXPECT_LINE {"type": "map", "data": {"@f": "<module>"}}
EXPECT_LINE @[work]: 60

NAME lang_func is of the current thread
PROG iter:task { print(lang_func) }
RC 1
STDERR lang_func is of the current thread, and can not be used with 'iter' probes
