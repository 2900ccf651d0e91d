FILE TOGETHER

NAME Go functions, whose stacks move: entries and returns counted exactly, values, stacks, and the program's own result is right
LONG
NEED cmd:go
RUN export HOME=$PWD; go build -o p {top}/test/progs/goret.go; {sonde} -q -c ./p -e 'uprobe:./p:main.descend { @n++; @depth = max(arg1) } uretprobe:./p:main.descend { @r++; @sum = sum(retval) } uretprobe:./p:main.seven { @v[retval, func, probe] = count() } uprobe:./p:main.one { @in[ustack(2)] = count() } uretprobe:./p:main.one { @out[ustack(2)] = count() }'
TIMEOUT 120
EXPECT_LINE total 5090000
EXPECT_LINE @n: 100000
EXPECT_LINE @r: 100000
EXPECT_LINE @depth: 99
EXPECT_LINE @v[7, main.seven, uretprobe:./p:main.seven]: 1000
EXPECT_RE ^@in\[\n\s+main.one\+0\n\s+main.main.func1\+\d+\n\]: 1000$
EXPECT_RE ^@out\[\n\s+main.one\+5\n\s+main.main.func1\+\d+\n\]: 1000$

NAME Go functions by pattern, by address, and of a probe that has others beside them
LONG
NEED cmd:go
RUN export HOME=$PWD; go build -o p {top}/test/progs/goret.go; A=$((0x$(nm p | sed -n 's/ . main.seven$//p'))); {sonde} -v -c 'sh -c "./p; {build}/calls"' -e "uretprobe:./p:main.[dso]* { @r[func] = count() } uretprobe:./p:$A, uretprobe:{build}/calls:add { @a[probe] = count() }" 2>&1; {sonde} -l 'uretprobe:./p:main.[dso]*'
TIMEOUT 120
EXPECT_LINE total 5090000
EXPECT_LINE @r[main.descend]: 100000
EXPECT_LINE @r[main.seven]: 1000
EXPECT_LINE @r[main.one]: 1000
EXPECT_RE ^@a\[uretprobe:./p:\d+\]: 1000$
EXPECT_RE ^Trying to attach probe: uretprobe:./p:main.seven \(a function of Go: at its return instruction \+\d+\)$
EXPECT_RE ^Trying to attach probe: uretprobe:.*calls:add$
EXPECT_RE ^uretprobe:./p:main.descend\nuretprobe:./p:main.one\nuretprobe:./p:main.seven$

NAME what cannot be done with Go functions says why
NEED cmd:go
RUN export HOME=$PWD; go build -o p {top}/test/progs/goret.go; for e in "uretprobe:./p:runtime.goexit0 { }" "uretprobe:./p:runtime.asyncPreempt2.abi0 { }" 'uprobe:./p:main.one { print(arg9) }' 'uprobe:./p:main.one { print(args.n) }'; do {sonde} -c true -e "$e" 2>&1; done; {sonde} -q -c ./p -e 'uretprobe:./p:runtime.asyncP* { @ = count() }' 2>&1
TIMEOUT 120
EXPECT main.one
EXPECT_RE ERROR: runtime.asyncPreempt2.abi0 of ./p is a function of Go: its stack moves, so its return address must stay what it is, and it leaves by a jump at \+\d+, and what it jumps to returns$
EXPECT arg9: Go passes the first 9 words of arguments in registers
EXPECT The args builtin can not be used with functions of Go (uprobe:./p:main.one)
EXPECT functions that the pattern matches cannot be probed where they return; for example runtime.asyncP
EXPECT_LINE total 5090000
NEED arch:x86_64
