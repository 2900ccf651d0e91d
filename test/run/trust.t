# Never in the way. `make check-trust` does the same for longer: 200 kills, more calls, minutes of storms.

NAME killed at random moments of load, attach, trace, detach, report, sonde leaves nothing
LONG
EXTRA make check-trust kills it 200 times
NEED cmd:bpftool
RUN {top}/test/workload/kills.py {sonde} {build} --kills 10 --seconds 150
TIMEOUT 200
EXPECT_LINE nothing is left
EXPECT_RE ^10 kills in \d+ s: [1-9]\d* in load and attach, [1-9]\d* in trace, [1-9]\d* in detach and report; \d+ came too late$

NAME ten sondes at once, beside bpftrace, perf and libbpf-tools, all count right
LONG
NEED host
RUN {top}/test/workload/crowd.py {sonde} {build} --calls 20000
TIMEOUT 170
EXPECT_RE ^\d\d tracers, 20000 calls in \S+ s, 0 of sonde's wrong$
EXPECT_RE ^sonde uprobe +counted 20000$

NAME storms of system calls, forks, execs and dlopen: memory is flat, counts are exact
LONG
EXTRA make check-trust has minutes of them
NEED host
RUN {top}/bench/soak --seconds 8 --rate 20000 {build}
TIMEOUT 90
EXPECT_LINE exact, and flat
EXPECT_RE ^23 s: calls [1-9]\d{5} forks [1-9]\d+ execs [1-9]\d+ loads [1-9]\d+; 

# Each is a program of its own: their files differ in size.
NAME programs that are built, run and deleted are not held open, nor are copies of one
LONG
RUN {sonde} profile -F 99 -i 1 -f >o 2>e & S=$!; until grep -q . o; do sleep 0.1; done; mkdir trustjobs; for i in $(seq 60); do cp {build}/frames trustjobs/own$i; truncate -s +$i trustjobs/own$i; trustjobs/own$i spin 20; cp {build}/frames trustjobs/copy$i; trustjobs/copy$i spin 20; rm trustjobs/own$i trustjobs/copy$i; [ $i != 60 ] || echo "$(ls -l /proc/$S/fd | grep -c 'trustjobs/.*deleted') at the end"; done; for t in $(seq 200); do n=$(ls -l /proc/$S/fd | grep -c 'trustjobs/.*deleted'); [ $n -gt 1 ] || break; sleep 0.2; done; echo "$n later"; cp {build}/frames last; truncate -s +99 last; ./last spin 1500 & sleep 0.3; rm last; wait $!; sleep 2; kill -INT $S; wait $S; awk '/^last;.*main;outer/ { n += $NF } END { print n + 0 }' o
TIMEOUT 120
EXPECT_RE ^\d+ at the end\n[01] later\n[1-9]\d+$

NAME many processes and threads at the start, many programs that are executed, cgroups and mounts that vanish: each is counted, under the right stack
LONG
NEED host
RUN {top}/test/workload/many.py {sonde} {build} --processes 400 --threads 200 --execs 200 --vanish 4
TIMEOUT 120
EXPECT_LINE processes: 400 of 400 counted, 400 under the right stack, whole
EXPECT_RE ^threads: 200 of 200 found, 200 under the right stack, whole, in \S+ s$
EXPECT_RE ^execs: 200 of 200 counted, \d+ under the right stack, whole(, \d+ cut and told)?$
EXPECT_RE ^vanish: 4 of 4 counted, \d under the right stack, whole(, \d cut and told)?$

NAME a tracepoint that sonde traces goes on to perf, whatever the program does
NEED cmd:perf
NEED host
RUN for s in '@ = count()' 'if (1) { return 0 }' 'for ($i : 0..3) { if ($i == 1) { return 0 } @ = count() }' 'exit()'; do {sonde} -q -e "tracepoint:syscalls:sys_enter_getsid { $s } tracepoint:syscalls:sys_enter_getsid /pid == 1/ { @n++ } BEGIN { printf(\"begun\n\") }" >o & P=$!; until grep -q begun o; do sleep 0.05; done; sleep 0.2; perf stat -x , -a -e syscalls:sys_enter_getsid -- python3 -c 'import os; [os.getsid(0) for i in range(5000)]' 2>&1 | awk -F, '/getsid/ { print ($1 >= 5000) }'; kill -INT $P; wait $P; done
TIMEOUT 60
EXPECT_RE \A1\n1\n1\n1\n\Z

NAME 64 processors, emulated: each is sampled, and the memory of per-CPU maps is what -v says
EXTRA a guest of its own, of some minutes
RUN {top}/test/vm/vm.py --release backports --share {top} --smp 64 --mem 3000 --timeout 800 -- '{top}/test/vm/wide.sh {sonde}' >o 2>&1; r=$?; [ $r != 125 ] || cat o; tail -n 2 o
NEED host
NEED arch:x86_64
NEED cmd:qemu-system-x86_64
ALONE 64 processors of a guest
TIMEOUT 900
EXPECT_LINE 64 keys of 64 processors, memory as said, resident memory bounded
