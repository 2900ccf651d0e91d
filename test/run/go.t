FILE TOGETHER

NAME go: a server's stacks, with growing stacks and collections, are whole: static, stripped, position-independent
LONG
FEW shares of samples
NEED cmd:go
NEED arch:x86_64
RUN {top}/test/workload/gostacks.py {sonde} 3 static stripped pie
TIMEOUT 200
RETRY 1 samples
EXPECT_RE ^static +\d+ stacks
EXPECT_RE ^stripped +\d+ stacks
EXPECT_RE ^pie +\d+ stacks

NAME go: Go calls C calls Go calls C: whole, each frame in the order of the calls
LONG
FEW shares of samples
NEED cmd:go
NEED cmd:gcc
NEED arch:x86_64
RUN {top}/test/workload/gostacks.py {sonde} 3 cgo cgo-pie cgo-stripped
TIMEOUT 200
RETRY 1 samples
EXPECT_RE ^cgo +\d+ stacks
EXPECT_RE ^cgo-pie +\d+ stacks
EXPECT_RE ^cgo-stripped +\d+ stacks

NAME go: frames of C and Go on two stacks stand in one stack
LONG
FEW shares of samples
NEED cmd:go
NEED cmd:gcc
NEED arch:x86_64
RUN cd {top}/test/workload && HOME=/tmp GOCACHE=/tmp/sonde-gocache GO111MODULE=off CGO_ENABLED=1 go build -o $OLDPWD/gocgo ./gocgo && cd $OLDPWD && { ./gocgo 30 >/dev/null & p=$!; sleep 0.5; {sonde} profile -f -U -F 499 -p $p 3; kill $p; }
TIMEOUT 100
RETRY 1 samples
EXPECT_RE ;main\.work;main\._Cfunc_cCallback(\.abi0)?;runtime\.cgocall;runtime\.asmcgocall(\.abi0)?;_cgo_\w+_Cfunc_cCallback;cCallback;goBack;crosscall2;runtime\.cgocallback(\.abi0)?;.*;main\.goBack;main\._Cfunc_cInner(\.abi0)?;runtime\.cgocall;runtime\.asmcgocall(\.abi0)?;_cgo_\w+_Cfunc_cInner;cInner 
EXPECT_RE ;cSort;qsort(_r)?;.*;compare;goBack;crosscall2;
EXPECT_NOT unknown
EXPECT_NOT truncated

NAME go: 2,000 stacks are frame by frame what runtime.Callers says, inlined functions, files and lines too, stripped or not
LONG
NEED cmd:go
NEED arch:x86_64
RUN {top}/test/workload/gostacks.py {sonde} 3 frames
TIMEOUT 200
EXPECT_LINE frames static     2000 stacks, 100.00 % equal
EXPECT_LINE frames stripped   2000 stacks, 100.00 % equal
EXPECT_LINE frames pie        2000 stacks, 100.00 % equal

# Go 1.27 changed the module's description and the names of generic functions.
NAME go: Go 1.27, where test/workload/runtimes.py --fetch has unpacked it: frames as runtime.Callers has them
LONG
NEED runtimes:sid/usr/lib/go-1.27/bin/go
NEED arch:x86_64
RUN b=${SONDE_RUNTIMES:-$HOME/.cache/sonde-runtimes}/sid/usr/lib/go-1.27/bin; PATH=$b:$PATH {top}/test/workload/gostacks.py {sonde} 3 frames
TIMEOUT 300
EXPECT_RE \Ago version go1\.27.*\n(frames (static|stripped|pie) +2000 stacks, 100\.00 % equal\n){3}\Z

NAME go: a stripped program's functions are found by name and by pattern; what is inlined is shown without being asked for, lines on demand
NEED cmd:go
NEED arch:x86_64
RUN cd {top}/test/workload && HOME=/tmp GOCACHE=/tmp/sonde-gocache GO111MODULE=off go build -ldflags='-s -w' -o $OLDPWD/p ./gostacks && cd $OLDPWD && nm p 2>&1 | grep -o 'no symbols'; {sonde} -l 'uprobe:./p:main.ma*'; echo | {sonde} -q -c './p callers 1' -e 'uprobe:./p:main.mark { print(ustack(3)) }'; echo | {sonde} -q --lines -c './p callers 1' -e 'uprobe:./p:main.mark { print(ustack(2)) }'
TIMEOUT 100
EXPECT_LINE no symbols
EXPECT_LINE uprobe:./p:main.main
EXPECT_LINE uprobe:./p:main.mark
EXPECT_RE main\.mark\+0\n +main\.record\+\d+\n +\[inlined\] main\.inlinedOnce\n +\[inlined\] main\.inlinedTwice\n
EXPECT_RE main\.mark\+0@/.*/gostacks/main\.go:24\n

# The kernel begins a program there, where argc lies in the place of a return address.
NAME go: the first instructions of a program are its root
NEED cmd:go
NEED arch:x86_64
RUN cd {top}/test/workload && HOME=/tmp GOCACHE=/tmp/sonde-gocache GO111MODULE=off go build -o $OLDPWD/p ./gostacks && cd $OLDPWD && {sonde} -q --why-incomplete -c './p callers 0' -e 'uprobe:./p:_rt0_amd64_linux,uprobe:./p:_rt0_amd64 { printf("%s.\n", ustack) }' 2>&1 </dev/null
TIMEOUT 100
EXPECT_RE ^ +_rt0_amd64_linux\+0\n\.\n(ready\n)?\n? +_rt0_amd64\+0\n\.$
EXPECT_LINE 2 user stacks, 2 whole (100.00 %)

NAME go: returns of a stripped program's functions, by name and by address
NEED cmd:go
NEED arch:x86_64
RUN export HOME=$PWD; go build -o p {top}/test/progs/goret.go; strip -o s p; A=$((0x$(nm p | sed -n 's/ . main.seven$//p'))); {sonde} -q -c ./s -e 'uretprobe:./s:main.seven { @v[retval] = count() } uretprobe:./s:'$A' { @a = count() }'
TIMEOUT 100
EXPECT_LINE total 5090000
EXPECT_LINE @v[7]: 1000
EXPECT_LINE @a: 1000

NAME go: code in a plugin, and in a library that C has loaded
LONG
FEW shares of samples
NEED cmd:go
NEED cmd:gcc
NEED arch:x86_64
RUN D=$PWD; export HOME=/tmp GOCACHE=/tmp/sonde-gocache GO111MODULE=off CGO_ENABLED=1; cd {top}/test/workload/golib && go build -buildmode=plugin -o $D/p.so . && go build -buildmode=c-shared -o $D/libwork.so . && cd ../goplug && go build -o $D/host . && cd $D && printf 'long GoWork(long);\nlong outer(long n) { return GoWork(n) + 1; }\nint main(void) { for (volatile long s = 0;;) s += outer(4); }\n' >m.c && gcc -O2 -fno-inline -fomit-frame-pointer -o chost m.c ./libwork.so && for c in "./host $D/p.so" ./chost; do $c & p=$!; sleep 1; {sonde} profile -f -U -F 499 -p $p 3; kill $p; done
TIMEOUT 120
RETRY 1 samples
EXPECT_RE ^host;runtime\.goexit;runtime\.main;main\.main;[^;]*\.Work;[^;]*\.Work;.*\.spin \d+$
EXPECT_RE ^chost;_start;.*;main;outer;GoWork;crosscall2;runtime\.cgocallback;.*;main\.GoWork;main\.Work;.*;main\.spin \d+$
EXPECT_NOT unknown
EXPECT_NOT truncated

# The loader says how far the goroutine is from the thread pointer. Such stacks ended at runtime.systemstack, and counted as whole.
NAME go: in a library that C has loaded a stack goes on where Go leaves the thread's own stack
NEED cmd:go
NEED cmd:gcc
NEED arch:x86_64
RUN D=$PWD; export HOME=$PWD GO111MODULE=off CGO_ENABLED=1; cd {top}/test/workload/golib && go build -ldflags='-s -w' -buildmode=c-shared -o $D/libstart.so . && cd $D && printf 'void GoStart(long);\nint main(void) { GoStart(5); }\n' >m.c && gcc -O2 -fomit-frame-pointer -o starts m.c ./libstart.so && {sonde} -q --why-incomplete -c ./starts -e 'uprobe:./libstart.so:runtime.newproc1 { @[ustack] = count() }' 2>&1 | sed 's/^ *//; s/+.*//'
TIMEOUT 100
EXPECT_RE \nruntime\.systemstack\nruntime\.newproc\nmain\.GoStart\n(.*\n)?(.*\n)?runtime\.cgocallbackg1\n(.*\n)?(.*\n)?runtime\.cgocallback\ncrosscall2\nGoStart\nmain\n(.*\n){1,2}_start\n\]: 5\n
EXPECT_RE ^\d+ user stacks, \d+ whole \(100\.00 %\)$

# The thread's own stack is at work there, and the goroutine's record says where that goes on: its callers had been left out, and the stacks counted as whole.
NAME go: where the stack of a goroutine grows its callers stand
NEED cmd:go
NEED arch:x86_64
RUN export HOME=$PWD; go build -o p {top}/test/progs/gogrow.go; strip -o s p; for p in p s; do {sonde} -q --why-incomplete -c ./$p -e 'uprobe:./'$p':runtime.copystack,uprobe:./'$p':runtime.adjustframe { @[ustack] = count() }' >o 2>&1; sed -n 's/^[0-9]* user stacks, [0-9]* //p' o; grep -A1 runtime.morestack o | grep -o 'main.deep' | uniq; grep -B1 '^\]' o | grep -o 'runtime[^+]*' | uniq; done
TIMEOUT 100
EXPECT_RE \A(whole \(100\.00 %\)\nmain\.deep\nruntime\.goexit\n){2}\Z

# Between vfork(2) and what follows the return address is in a register: the caller had been left out.
NAME go: a program that starts others has its whole stack while it does
NEED cmd:go
NEED arch:x86_64
RUN GOCACHE=/tmp/sonde-gocache GO111MODULE=off go build -o spawn-{id} {top}/test/workload/gospawn/main.go; {sonde} -q --why-incomplete -c ./spawn-{id} -e 'tracepoint:syscalls:sys_enter_clone /strncmp(comm, "spawn", 5) == 0/ { @[ustack] = count() }' 2>&1 | grep -a -A1 'rawVfork\|whole (' | sed 's/^ *//; s/^[0-9]* user stacks, [0-9]* //'
TIMEOUT 90
EXPECT_RE syscall\.rawVforkSyscall\+\d+\nsyscall\.forkAndExecInChild1\+\d+
EXPECT_LINE whole (100.00 %)
