# Functions in C that a script imports: compiled elsewhere (x.bpf.o), or here where there is clang (x.bpf.c).

FILE TOGETHER

NAME import of C: numbers of each size, texts, static functions, variables, constants and a map; called in loops and predicates, from two probes
NEED cmd:clang
RUN cp {top}/test/run/imported.bpf.c x.bpf.c; clang -target bpf -mcpu=v3 -O2 -g -c x.bpf.c; printf 'import "x.bpf.o";\nbegin { print((add(2, 3), neg(5), square(7), square(9))); print(vowels("educated")); $s = str("rhythms"); print(vowels($s)); nothing(); for ($i : 0..3) { print((tick(), counted())) } print((narrow(300), wide((int8)-1), is_null(0))); @c = counted(); exit() }\nend /add(1, 1) == 3/ { print(("end", counted(), tick())) }\n' >s.bt; {sonde} -q s.bt
EXPECT_LINE (8, -5, 49, 0)
EXPECT_LINE 4
EXPECT_LINE 0
EXPECT_LINE (101, 1)
EXPECT_LINE (103, 3)
EXPECT_LINE (44, -1, 1)
EXPECT_LINE @c: 4
EXPECT_LINE (end, 5, 104)

NAME import of C: a source, compiled; in a folder, from an imported script, named twice
NEED cmd:clang
RUN mkdir d; cp {top}/test/run/imported.bpf.c d/x.bpf.c; printf 'import "x.bpf.c";\nmacro five() { add(1, 2) }\n' >d/m.bt; printf 'import "d/m.bt";\nimport "d/x.bpf.c";\nbegin { print(five()); exit() }\n' >s.bt; {sonde} -q s.bt
EXPECT_LINE 5

NAME import of C: in probes of the kernel and of programs, keys of maps
NEED cmd:clang
RUN cp {top}/test/run/imported.bpf.c x.bpf.c; cp {build}/calls .; printf 'import "x.bpf.c";\nuprobe:./calls:name_of { @[add(arg0 & 0, 4)] = count() } tracepoint:syscalls:sys_enter_exit_group /pid == cpid/ { @n = add(1, 1) }\n' >s.bt; {sonde} -q -c ./calls s.bt
EXPECT_LINE @[8]: 10
EXPECT_LINE @n: 3

NAME import of C: what is wrong is said with its place
NEED cmd:clang
RUN cp {top}/test/run/imported.bpf.c x.bpf.c; try() { printf 'import "%s";\nbegin { %s; exit() }\n' "$1" "$2" >s.bt; {sonde} -q s.bt 2>&1 >o | grep -h 'ERROR\|HINT'; cat o; }; try x.bpf.c 'print(add(1))'; try x.bpf.c 'print(add(1, "a"))'; try x.bpf.c 'print(core(curtask))'; try x.bpf.c 'print(lost())'; try x.bpf.c 'print(many(1))'; try x.bpf.c 'print(twice(1))'; echo text >y.bpf.o; try y.bpf.o 'print(1)'; echo 'int f(' >z.bpf.c; try z.bpf.c 'print(1)'; mkdir bin; ln -s $(command -v sh) bin/; printf 'import "x.bpf.c"; begin { exit() }' >s.bt; PATH=$PWD/bin {sonde} -q s.bt 2>&1 | grep ERROR; printf 'import "x.c"; begin { exit() }' >s.bt; touch x.c; {sonde} s.bt 2>&1 | grep ERROR; chmod o+w x.bpf.c; try x.bpf.c 'print(1)'
EXPECT_LINE s.bt:2:15-21: ERROR: add() takes 2 arguments, not 1
EXPECT_LINE s.bt:2:22-25: ERROR: add() takes a number as argument 2 (string[2] provided)
EXPECT_RE ^ERROR: ./x\.bpf\.c: core\(\) finds fields by the kernel's types \(CO-RE\)
EXPECT_RE ^ERROR: ./x\.bpf\.c: lost\(\) uses nowhere, which no imported object defines$
EXPECT_RE ERROR: many\(\) takes or returns what is neither a number nor a pointer
EXPECT_RE ERROR: Unknown function: 'twice'
EXPECT_RE ERROR: ./y\.bpf\.o: it is no object for BPF
EXPECT_RE ERROR: clang could not compile ./z\.bpf\.c
EXPECT_RE ERROR: there is no clang here to compile ./x\.bpf\.c\. Where there is one: clang -target bpf
EXPECT_RE ERROR: cannot import "x\.c": only \.bt scripts, directories of them, and C
EXPECT_RE ERROR: refusing to import ./x\.bpf\.c: everyone may write to it
