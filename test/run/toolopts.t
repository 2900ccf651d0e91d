# Options that all the ready-made tools take: which threads, which form, how long.

FILE TOGETHER

NAME tools: many pids are one look-up
RUN {sonde} profile -p 1,2,3,4,5,6,7,8,9 --dump expand; {sonde} profile -p 1,2,3,4,5,6,7,8,9 --print-script
EXPECT_RE ^  predicate\n   binop &&\n    binop !=\n     call tid\n      identifier init\n     int 0\n    call has_key\n     map @pids\n     identifier pid\n  block$
EXPECT_RE ^     map access @pids\n      int 9\n     int 1$
EXPECT_LINE 	option = "pid=1,2,3,4,5,6,7,8,9";

NAME tools: few pids are compared
RUN {sonde} profile -p 1,22,333 --dump check
EXPECT_RE ^  predicate\n   binop &&.*\n    binop !=.*\n     call tid.*\n      identifier init\n     int 0.*\n    binop \|\|.*\n     binop \|\|.*\n      binop ==.*\n       identifier pid.*\n       int 1 .*\n      binop ==.*\n       identifier pid.*\n       int 22 .*\n     binop ==.*\n      identifier pid.*\n      int 333 .*\n  block$

NAME tools: 6,000 pids, the last one counts
RUN {build}/waits spin 60000 & {sonde} profile -p $(seq -s, 1000000 1006000),$! -F 99 -f -U 1; kill $!
EXPECT_RE ^spinner;clone3;start_thread;spinner;spin_here \d+$

NAME tools: -p leaves others out
RUN {build}/waits spin 60000 & for p in $$ $!; do {sonde} profile -p $p -F 99 -f -U 1 | grep -c spin_here; done; kill $!
EXPECT_RE \A0\n[1-9]\d*\n\Z

# The text shows each interval, the files their sum.
NAME tools: flame graphs and pprof files hold the whole run with -i too
LONG
RUN {top}/test/run/intervals.sh {sonde} {build} {id}
TIMEOUT 150
EXPECT_LINE profile True equal True
EXPECT_LINE offcputime True equal True
EXPECT_LINE offwaketime True equal True
EXPECT_LINE wakeuptime True equal True
EXPECT_LINE stackcount True equal 2000

NAME tools: a file an interval, its number in the name, and one of the whole run: their samples are those of the text
LONG
RUN {build}/waits spin 60000 & p=$!; {sonde} profile -p $p -i 1 -F 199 -f --pprof p.%s.pb.gz --flame f.%s.svg --html w.html 3 >o 2>e; kill $p; for f in p.*.pb.gz; do python3 {top}/test/run/pprof.py $f 'total()' 'p["time"][0]' 'p["time"][0] + p["duration"][0]'; done >t; grep -o '^"samples".*' w.html | python3 -c 'import json, sys; print(sum(json.loads("{" + sys.stdin.read().strip().rstrip(",") + "}")["samples"]["value"]))' >w; python3 -c 'import sys; n = [int(x) for x in open("t")]; o = sum(int(l.split()[-1]) for l in open("o") if ";" in l); print(sum(n[::3]) == o == int(open("w").read()) > 20, len(n) // 3 >= 3, all(abs(a - b) < 5e7 for a, b in zip(n[2::3], n[4::3])))'; ls p.0001.pb.gz f.0001.svg w.html; grep -cE '^p\.000.\.pb\.gz: pprof profile of one interval, [0-9]+ stacks' e | awk '{print ($1 >= 3)}'; grep -c '^w.html: report page of the whole run, ' e; {sonde} profile -i 1 --html '/nosuch/%s' 2; echo $?
TIMEOUT 40
EXPECT_RE \ATrue True True\nf.0001.svg\np.0001.pb.gz\nw.html\n1\n1\n1\n\Z
STDERR ERROR: cannot write /nosuch/0001: No such file

NAME tools: -i and a file, without any stack
RUN {sonde} profile -i 1 --comm nobody72 --pprof n 2 >t; python3 {top}/test/run/pprof.py n 'total()' 'len(stacks)'
TIMEOUT 40
EXPECT_RE ^0\n0$

NAME tools: --tree follows children made while tracing, and theirs
RUN (until test -e go; do sleep 0.05; done; sh -c '{build}/waits spin 60000 & wait'; true) & {sonde} profile --tree -p $! -F 99 -f -U 3
WORKLOAD touch {tmp}/go
TIMEOUT 20
EXPECT_RE ^spinner;clone3;start_thread;spinner;spin_here \d+$

NAME tools: --tree takes the children there are
RUN sh -c '{build}/waits spin 60000 & echo $! >p; wait' & until test -s p; do sleep 0.05; done; {sonde} profile --tree -p $! -F 99 -f -U 1; kill $(cat p)
TIMEOUT 20
EXPECT_RE ^spinner;clone3;start_thread;spinner;spin_here \d+$

NAME tools: without --tree children are others
RUN sh -c '{build}/waits spin 60000 & echo $! >p; wait' & until test -s p; do sleep 0.05; done; for o in '' --tree; do {sonde} profile $o -p $! -F 99 -f -U 1 | grep -c spin_here; done; kill $(cat p)
TIMEOUT 20
EXPECT_RE \A0\n[1-9]\d*\n\Z

NAME tools: --tree and what sleeps
LONG
RUN (until test -e go; do sleep 0.05; done; {build}/waits sleep 6000 100; true) & {sonde} offcputime --tree -p $! -f -U 3
WORKLOAD touch {tmp}/go
TIMEOUT 20
EXPECT_RE ^napper;clone3;start_thread;napper;nap_outer;nap_inner;clock_nanosleep \d{6,7}$

NAME tools: the script of --tree runs by itself
RUN (until test -e go; do sleep 0.05; done; {build}/waits spin 60000 & wait) & {sonde} profile --tree -p $! -F 99 --print-script >s.bt && echo 'interval:s:4 { exit() }' >>s.bt && {sonde} s.bt
WORKLOAD touch {tmp}/go
TIMEOUT 20
EXPECT_RE ^@samples\[\{ \.pid = \d+, \.comm = spinner, \.user = \n(.*\n)* +spin_here
EXPECT_NOT @tree

NAME tools: --tree heading
RUN {sonde} profile --tree -p 1 1
EXPECT_LINE Sampling at 49 Hertz of PID 1 and descendants by user + kernel stack for 1 secs.

NAME tools: --tree needs -p
RUN {sonde} profile --tree 1
RC 2
STDERR --tree needs -p

NAME tools: inside a pid namespace, its ids
RUN unshare -p -f --mount-proc sh -c '{build}/waits spin 60000 & sleep 0.2; {sonde} profile -p $! -F 99 -U 1; echo id $!'
TIMEOUT 20
EXPECT_RE (?s)    spin_here\n    spinner\n    start_thread\n    clone3\n    -                spinner \((\d+)\)\n.*^id \1$

NAME tools: inside a pid namespace, waits
LONG
RUN unshare -p -f --mount-proc sh -c '{build}/waits sleep 600 100 {id} & P=$!; until grep -qs napper /proc/$P/task/*/comm; do sleep 0.05; done; {sonde} offcputime -p $P -U -f 1; {sonde} wakeuptime --comm napper{id} -f 1'
TIMEOUT 20
EXPECT_RE ^napper{id};clone3;start_thread;napper;nap_outer;nap_inner;clock_nanosleep [5-9]\d{5}|1\d{6}$
EXPECT_RE ;napper{id} \d{5,7}$

NAME tools: inside a pid namespace, threads that slept as tracing began, with their ids there
LONG
RUN unshare -p -f --mount-proc sh -c '{build}/waits sleep 1 60000 {id} & P=$!; until grep -q napper{id} /proc/$P/task/*/comm; do sleep 0.05; done; for o in "-p $P" "--tree -p $$" "--per-thread --comm napper{id}"; do {sonde} offcputime --json $o 1 >j; python3 {top}/test/run/rows.py j "9e5 < total(\"napper{id}\") < 3e6" "[r[\"pid\"] for r in rows() if r[\"comm\"] == \"napper{id}\"] == [$P]"; done; python3 {top}/test/run/rows.py j "rows()[0][\"pid\"]"; basename $(dirname $(grep -l napper{id} /proc/$P/task/*/comm))'
NEED cmd:unshare
TIMEOUT 30
EXPECT_RE \ATrue\nTrue\nTrue\nTrue\nTrue\nFalse\n(\d+)\n\1\n

NAME tools: inside a pid namespace, all the time of threads (--check)
LONG
FEW times within 1 %
RUN unshare -p -f --mount-proc sh -c '{build}/waits mix 60000 & P=$!; until grep -q maker /proc/$P/task/*/comm; do sleep 0.05; done; {sonde} offcputime --check -p $P 1; for t in $(ls /proc/$P/task); do echo task $t; done'
NEED cmd:unshare
TIMEOUT 30
EXPECT_RE (?s)^ +(\d+) napper .*\n\d+ threads, worst difference 0\.\d\d %: within 1 %\n.*^task \1$

NAME tools: threads of another pid namespace, from outside (--check)
LONG
FEW times within 1 %
RETRY 2 a child that lives for some milliseconds may wait for a processor after its last switch was seen
RUN unshare -p -f --mount-proc --kill-child {build}/waits mix 60000 & U=$!; until P=$(echo $(cat /proc/$U/task/$U/children)) && grep -q maker /proc/$P/task/*/comm; do sleep 0.05; done 2>/dev/null; {sonde} offcputime --check -p $P 1; kill $U
NEED cmd:unshare
TIMEOUT 30
EXPECT_RE ^ +\d+ napper 
EXPECT_RE ^( *\d+ child +\d+\.\d+ .*\n){3}
EXPECT_RE ^\d+ threads, worst difference 0\.\d\d %: within 1 %\n

NAME tools: a process of a pid namespace, from outside
RUN unshare -p -f --mount-proc --kill-child {build}/waits spin 60000 & sleep 0.3; P=$(cat /proc/$!/task/$!/children); {sonde} profile -p $P -F 99 -U 1; echo id $P; kill $!
TIMEOUT 20
EXPECT_RE (?s)    spin_here\n    spinner\n    start_thread\n    clone3\n    -                spinner \((\d+)\)\n.*^id \1$

NAME tools: a cgroup with those below
NEED cmd:findmnt
RUN C=$(findmnt -nt cgroup2 -o TARGET | head -n 1)/sonde-test-$$; mkdir -p $C/a/b && { (echo 0 >$C/a/b/cgroup.procs; exec {build}/waits spin 60000) & sleep 0.3; {sonde} profile --cgroup $C -F 99 -f -U 1; mkdir $C/c; echo else; {sonde} profile --cgroup $C/c -F 99 -f -U 1; kill $!; wait; rmdir $C/a/b $C/a $C/c $C; }
TIMEOUT 20
EXPECT_RE ^spinner;clone3;start_thread;spinner;spin_here \d+$
EXPECT_RE ^else\n\Z

NAME tools: --cgroup wants cgroup v2
RUN {sonde} profile --cgroup /proc 1
RC 2
STDERR argument --cgroup: takes a directory of cgroup v2

NAME tools: --cgroup that is not there
RUN {sonde} profile --cgroup /nosuch 1
RC 2
STDERR argument --cgroup: is not there

NAME tools: cgroups and mount namespaces in pinned maps
NEED cmd:bpftool
NEED cmd:findmnt
RUN C=$(findmnt -nt cgroup2 -o TARGET | head -n 1)/sonde-test-$$; mkdir bpf $C && mount -t bpf bpf bpf && { le() { python3 -c 'import struct, sys; print(*struct.pack("<Q", int(sys.argv[1])))' $1; }; for m in cg mnt none; do bpftool map create bpf/$m type hash key 8 value 8 entries 8 name $m; done; bpftool map update pinned bpf/cg key $(le $(stat -c %i $C)) value 0 0 0 0 0 0 0 0; (echo 0 >$C/cgroup.procs; exec unshare -m {build}/waits spin 6000) & sleep 0.3; bpftool map update pinned bpf/mnt key $(le $(stat -Lc %i /proc/$!/ns/mnt)) value 0 0 0 0 0 0 0 0; for o in "cgroupmap bpf/cg" "mntnsmap bpf/mnt" "cgroupmap bpf/none"; do echo "$o"; {sonde} profile --$o -F 99 -f -U 1; done; kill $!; wait; umount bpf; rmdir $C; }
TIMEOUT 20
EXPECT_RE ^cgroupmap bpf/cg\n(spinner;.*\n)*spinner;.*spin_here \d+\n(spinner;.*\n)*mntnsmap bpf/mnt\n(spinner;.*\n)*spinner;.*spin_here \d+\n(spinner;.*\n)*cgroupmap bpf/none\n\Z

NAME tools: a pinned map that is not there
RUN {sonde} profile --cgroupmap /sys/fs/bpf/nosuch 1
RC 1
STDERR cannot use the map pinned at /sys/fs/bpf/nosuch: No such file or directory

NAME tools: a progress line on a terminal, gone when the report comes
RUN python3 -c 'import os, subprocess, sys; m, s = os.openpty(); p = subprocess.Popen(sys.argv[1:], stderr=s, stdout=subprocess.PIPE); os.close(s); out = p.stdout.read(); p.wait(); print(repr(os.read(m, 65536).decode())); print(b"unique stacks" in out)' {sonde} profile -F 99 -f 4
TIMEOUT 20
EXPECT_RE ^'(\\r\\x1b\[K0:0\d  \d+ events, \d+ unique stacks, \d+ lost)+\\r\\x1b\[K(WARNING.*)?'$
EXPECT_LINE False

NAME tools: a progress line of waits
LONG
FEW the line of a moment
RUN python3 -c 'import os, subprocess, sys; m, s = os.openpty(); p = subprocess.Popen(sys.argv[1:], stderr=s, stdout=subprocess.PIPE); os.close(s); p.stdout.read(); p.wait(); print(repr(os.read(m, 65536).decode()))' {sonde} offcputime -K -f 3
TIMEOUT 20
EXPECT_RE ^'\\r\\x1b\[K0:02  \d{1,4}\.\d\d\d s of waits, \d+ unique stacks, \d+ lost(\\r\\x1b\[K0:03  .* lost)?\\r\\x1b\[K(WARNING.*)?'$

NAME tools: no progress line in a pipe
RUN {sonde} profile -F 99 -f 3 2>&1 >/dev/null | cat; echo end
TIMEOUT 20
EXPECT_LINE end
EXPECT_NOT unique

NAME tools: a second Ctrl-C while the report is printed does not lose it (seed/19)
RUN mkfifo p; {sonde} stackcount {copy:paths}:leaf >p & exec 3<p; head -n 1 <&3; {copy:paths} 12; kill -INT $!; sleep 0.7; kill -INT $!; sleep 0.5; cat <&3 >rest; wait $!; echo status $?; grep -c '^  leaf$' rest; tail -n 1 rest
TIMEOUT 30
EXPECT_LINE status 0
EXPECT_LINE 4096
EXPECT_LINE Detaching...

NAME tools: a third Ctrl-C ends it there
RUN mkfifo p; {sonde} stackcount {copy:paths}:leaf >p & exec 3<p; head -n 1 <&3; {copy:paths} 12; for i in 1 2 3; do kill -INT $!; sleep 0.7; done; wait $!; echo status $?
TIMEOUT 30
EXPECT_LINE status 130

NAME tools: a reader that leaves early is no error, and nothing stays attached (seed/06)
RUN { {sonde} offcputime -K -f 1; echo status $? >&2; } 2>err | grep ';' | head -n 1; cat err
TIMEOUT 20
EXPECT_RE ^[^;]+;.*;(__schedule|wake_up_new_task) \d+$
EXPECT_LINE status 0
EXPECT_NOT ERROR

NAME tools: a reader that leaves ends interval reports (seed/06)
RUN { {sonde} profile -i 1 -f; echo status $? >&2; } 2>err | head -n 1 >/dev/null; cat err
TIMEOUT 20
EXPECT_LINE status 0
EXPECT_NOT ERROR

NAME tools: storage for one stack of a size: what is missed is said (seed/17 seed/19)
RUN mkfifo p; {sonde} stackcount --stack-storage-size 1 -U {copy:paths}:leaf >p 2>err & exec 3<p; head -n 1 <&3; {copy:paths} 8; kill -INT $!; cat <&3 >rest; wait $!; grep -c 'Missed User Stack' rest; cat err
TIMEOUT 20
EXPECT_RE ^1\nWARNING: 1 stack traces could not be displayed\. Consider increasing --stack-storage-size\.\n
EXPECT_RE ^WARNING: 25[1-5] stack traces could not be stored; raise --stack-storage-size \(\d+ is enough\)$

NAME tools: kernel stacks that are missed (seed/17 seed/19)
RUN {sonde} stackcount --stack-storage-size 1 -D 1 -K -f t:sched:sched_switch >out 2>err; grep -c 'Missed Kernel Stack' out; cat err
TIMEOUT 20
EXPECT_RE ^[1-9]\d*\nWARNING: \d+ stack traces could not be displayed\. Consider increasing --stack-storage-size\.\n

NAME tools: the storage a script may ask for
RUN {sonde} --stack-storage-size 1 -q -c '{copy:paths} 8 1 700' -e 'uprobe:{copy:paths}:leaf { @[ustack] = count(); }' 2>&1
TIMEOUT 20
EXPECT_RE ^WARNING: 25[1-5] stack traces could not be stored; raise --stack-storage-size \(\d+ is enough\)$

NAME tools: installed under names of their own, with the pages and completions
RUN make -s -C {top} install BUILD={build} DESTDIR=$PWD/d PREFIX=/usr >/dev/null; ls d/usr/bin d/usr/share/man/man8 d/usr/share/bash-completion/completions; for t in profile offcputime offwaketime wakeuptime stackcount; do d/usr/bin/sonde-$t -h | head -n 1; ln -s sonde d/usr/bin/$t-bpfcc; d/usr/bin/$t-bpfcc -h | head -n 1; done
NEED cmd:make
TOGETHER make
TIMEOUT 60
EXPECT_LINE sonde-profile
EXPECT_LINE sonde-tools.8
EXPECT_LINE sonde-stackcount.8
EXPECT_RE (USAGE: sonde profile \[options\] \[SECONDS\]\n){2}(USAGE: sonde offcputime .*\n){2}(USAGE: sonde offwaketime .*\n){2}(USAGE: sonde wakeuptime .*\n){2}(USAGE: sonde stackcount .*\n){2}

NAME tools: completion of names and options
RUN export PATH=$(dirname {sonde}):$PATH; bash -c '. {top}/completions/sonde.bash; t() { COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=(); _sonde; echo "${COMPREPLY[@]}"; }; t sonde off; t sonde profile --user; t sonde-stackcount --reg; t offcputime-bpfcc --tr; t sonde profile --unwind ""; t sonde -B l; t sonde --dry; t sonde profile -U --no'
NEED cmd:bash
EXPECT_LINE offcputime offwaketime
EXPECT_LINE --user-stacks-only --user-threads-only
EXPECT_LINE --regexp
EXPECT_LINE --tree
EXPECT_LINE fp dwarf
EXPECT_LINE line
EXPECT_LINE --dry-run

NAME options: the manual names each that the table has, the help has a line for each
RUN for o in $({sonde} help options | awk '{ print $1 == "-" ? $2 : $1 }'); do {sonde} --help | grep -qE -- "^ +(-., )?$o\b" || echo "help lacks $o"; sed 's/\\-/-/g' {top}/man/sonde.1 | grep -q -- "$o\b" || echo "manual lacks $o"; done; {sonde} help options | grep -c .
EXPECT_RE \A[3-9]\d\n\Z

NAME tools: values out of range say what is in it
RUN for a in '-F 0' '-c 1' '-p 99999999999' '-p -7' '-p 1,,2' '-L 0' '--depth 0' '--depth 1025' '--hash-storage-size 99999999999' '--stack-storage-size 4000000000' '-i 0' '--cgroup /nosuch' '-F 1e3' '0x10' '--nosuch=1'; do timeout 10 {sonde} profile $a 2>&1 >out | head -n 1; cat out; done; {sonde} profile --comm '' 1 2>&1 | head -n 1
EXPECT_RE \A(sonde profile: error: .*\n){16}\Z
EXPECT_LINE sonde profile: error: argument -c/--count: the CPU clock counts nanoseconds, and the kernel's shortest period is 10000 of them
EXPECT_LINE sonde profile: error: argument -p/--pid: is beyond the ids that Linux gives (4194304 at most)
EXPECT_LINE sonde profile: error: argument --depth: can be 1024 at most
EXPECT_LINE sonde profile: error: argument --comm: must not be empty
EXPECT_LINE sonde profile: error: unrecognized arguments: --nosuch=1
TIMEOUT 60

NAME tools: every tool in every form, into files
LONG
EXTRA each form has a test of its own, by a tool or two
RUN {build}/waits mix 300000 & W=$!; for t in profile offcputime offwaketime wakeuptime 'stackcount t:sched:sched_switch'; do set -- $t; d=1; test $1 = stackcount && d='-D 1'; {sonde} $t -p $W --json -o j --flame f.svg --pprof f.pb $d 2>e; echo "$1 $? $(python3 -c 'import json; r = [json.loads(l) for l in open("j")]; print(any(x["type"] == "stack" and x["value"] for x in r))') $(head -c 5 f.svg) $(gzip -dc f.pb | wc -c | awk '{ print ($1 > 100) }')"; rm -f j f.svg f.pb; {sonde} $t -p $W -i 1 $d >o 2>e; echo "$? $(grep -cE '^ +[0-9]+$' o | awk '{ print ($1 > 0) }')"; done; kill $W
TIMEOUT 200
EXPECT_RE \A((profile|offcputime|offwaketime|wakeuptime|stackcount) 0 True <\?xml 1\n0 1\n){5}\Z

NAME tools: what would fail after tracing fails before it
RUN for a in '-p 4194303' '-L 4194303' '--flame /nosuch/x' '--pprof {tmp}'; do timeout 10 {sonde} profile $a 60; echo "$?"; done 2>&1; {sonde} profile -p 4194303,$$ -f 1 2>e >/dev/null; echo $?; cat e; ls; timeout 10 {sonde} profile -p 4194296,4194297,4194298,4194299,4194300,4194301,4194302,4194303 1 2>&1 | tail -n 1
TIMEOUT 60
EXPECT_LINE ERROR: there is no process 4194303
EXPECT_LINE ERROR: there is no thread 4194303
EXPECT_LINE ERROR: cannot write /nosuch/x: No such file or directory
EXPECT_RE ^ERROR: cannot write .*: Is a directory$
EXPECT_RE \A(ERROR: .*\n1\n){4}0\nWARNING: there is no process 4194303\ne\nstderr\nstdout\nERROR: there is no process of 3 more\n\Z

NAME tools: SIGHUP, as SIGINT, ends tracing and the report is written; nohup is heard
LONG
RUN {build}/waits sleep 9000 20 & W=$!; for s in HUP TERM; do {sonde} offcputime -p $W -o r --tree 60 & P=$!; until grep -q Tracing r 2>/dev/null; do sleep 0.05; done; sleep 0.2; kill -$s $P; wait $P; echo "$? $(grep -c waits r | awk '{ print ($1 > 0) }')"; rm r; done; nohup {sonde} offcputime -p $W -o r 60 >/dev/null 2>&1 & P=$!; until grep -q Tracing r 2>/dev/null; do sleep 0.05; done; kill -HUP $P; sleep 0.5; kill -0 $P && echo runs; kill $P; wait $P; kill $W
TIMEOUT 200
EXPECT_RE \A0 1\n0 1\nruns\n\Z

NAME a word that is no script and no tool
RUN {sonde} profle; {sonde} execsnoop 1; {sonde} nosuch.bt
RC 1
STDERR ERROR: there is no script or tool 'profle'
STDERR HINT: did you mean 'sonde profile'?
STDERR HINT: 'sonde help tools' lists the tools
STDERR ERROR: cannot open nosuch.bt: No such file or directory

NAME tools: end with their report when the last process of -p has ended
LONG
RUN export __BPFTRACE_NOTIFY_PROBES_ATTACHED=1; sleep 600 & A=$!; {build}/waits sleep 6000 100 & B=$!; sleep 600 & C=$!; {sonde} offcputime -p $C,$A,$B -f -U -o o >a & S=$!; until grep -q ATTACHED a; do sleep 0.05; done; sleep 0.5; kill $C $A; sleep 0.5; kill -0 $S && echo goes on; kill $B; wait $S; echo $?; grep -o 'napper;.*nap_inner' o | sort -u
TIMEOUT 40
EXPECT_RE \Agoes on\n0\nnapper;clone3;start_thread;napper;nap_outer;nap_inner\n\Z

NAME tools: each of them ends with its process, before its time and with -i
LONG
RUN export __BPFTRACE_NOTIFY_PROBES_ATTACHED=1; for t in 'profile -i 90' 'offcputime 90' 'offwaketime 90' 'wakeuptime 90' 'stackcount -D 90 t:sched:sched_switch'; do sleep 60 & P=$!; rm -f o; timeout 40 {sonde} $t -p $P >o & S=$!; until grep -qs ATTACHED o; do sleep 0.05; done; kill $P; wait $S; echo $?; done
TIMEOUT 120
EXPECT_RE \A0\n0\n0\n0\n0\n\Z

NAME tools: --tree goes on with children and ends with the last of them
LONG
TOGETHER
RUN sh -c '{copy:waits} sleep 1 3000 & (sleep 4; {copy:waits} spin 700; {copy:waits} sleep 9 100 {id}) & sleep 3' & P=$!; sleep 0.1; {sonde} offcputime --tree -p $P -f -U -o o; grep -c '^napper{id};.*nap_inner' o; pgrep -c -r R,S,D -x {name:waits}; true
TIMEOUT 40
EXPECT_RE \A[1-9]\n0\n\Z

NAME tools: -t ends with the last of the threads
LONG
RUN export __BPFTRACE_NOTIFY_PROBES_ATTACHED=1; {build}/waits sleep 6000 100 & P=$!; until T=$(grep -l napper /proc/$P/task/*/comm); do :; done; T=${T%/comm}; {sonde} offcputime -t ${T##*/} -f -U -o o >a & S=$!; until grep -q ATTACHED a; do sleep 0.05; done; sleep 0.5; kill -0 $S && echo goes on; kill $P; wait $S; echo $?; grep -o 'napper;.*nap_inner' o | sort -u
TIMEOUT 40
EXPECT_RE \Agoes on\n0\nnapper;clone3;start_thread;napper;nap_outer;nap_inner\n\Z

NAME tools: a process that lives on is traced for the time asked for
RUN sleep 30 & P=$!; {sonde} profile -p $P -o o 1; kill -0 $P && echo lives; kill $P
EXPECT_LINE lives

NAME scripts: -p ends with its process
RUN sleep 60 & echo $! >p; {sonde} -q -p $! -e 'profile:hz:1 { } end { printf("end\n") }'
WORKLOAD kill $(cat p)
EXPECT_LINE end

NAME tools: a full count map names the tool's option, a script's its setting
RUN {build}/waits spin 60000 & {sonde} profile -F 99 --hash-storage-size 1 -o o 1; {sonde} -q -e 'config = { max_map_keys = 1 } begin { @[1] = 1; @[2] = 1; exit() }'; kill $! || true
STDERR updates of maps were refused because the map was full; raise --hash-storage-size (1 now, 
STDERR 1 updates of @ were refused because the map was full; raise max_map_keys (1 now, 2 is enough)

NAME tools: what options decide leaves no instruction
NEED host
NEED arch:x86_64
RUN {top}/test/run/codesize.py {sonde}
TIMEOUT 60
EXPECT_LINE 25 compared, 0 longer

NAME --max-memory: fewer samples as memory comes near it, the end beyond
LONG
RETRY 1 what a process holds depends on the machine
NEED cmd:python3
RUN {top}/test/run/memory.py {sonde}; {sonde} profile --max-memory 10 1; echo $?; {sonde} profile -i 1 --max-memory 10 --flame f.svg 1; echo $?
TIMEOUT 120
EXPECT_RE ^ERROR: it holds N MB of memory, 1 are allowed: it ends 1 True$
EXPECT_LINE ample: [] 0 True
EXPECT_RE ^WARNING: it holds N MB of memory and grows, N are allowed: N samples a second from now on, not N$
EXPECT_RE ^2\n2\n\Z
STDERR needs -i
STDERR may change the frequency

NAME profile -c: software and hardware events only
TOGETHER
RUN for e in tracepoint:syscalls:sys_enter_getppid uprobe:c:malloc; do {sonde} profile -e $e -c 10 1 2>&1 | head -n 1; done; {sonde} profile -f -e software:faults -c 1 -- {build}/waits calls 1 | grep -c . >n; echo $(($(cat n) > 0))
EXPECT_RE \A(sonde profile: error: argument -c/--count: goes with software: and hardware: events only\n){2}1\n\Z

NAME -i with a duration: the last report is the one at the end, there is none of the moments behind it
LONG
TOGETHER
RUN for t in profile offcputime offwaketime wakeuptime; do {sonde} $t -i 1 2 | grep -c '^Total'; done; {build}/waits spin 600000 & p=$!; {sonde} profile -p $p -i 1 --flame 'f.%s.svg' 2 >o; kill $p; ls f.*
TIMEOUT 60
EXPECT_RE \A(2\n){4}f.0001.svg\nf.0002.svg\n\Z

NAME links named sonde-TOOL and TOOL-bpfcc: commands and tools made of a script, too
TOGETHER
RUN export SONDE_PATH={top}/tools; for n in sonde-top sonde-report sonde-flame sonde-diff sonde-agent sonde-profile sonde-runqlat profile-bpfcc runqlat-bpfcc funccount-bpfcc; do ln -s {sonde} $n; ./$n --help | head -n 1 | cut -d' ' -f1-3; done; ln -s {sonde} sonde-none; ./sonde-none --help | head -n 1 | cut -d' ' -f1-3; {sonde} help info
EXPECT_RE \AUSAGE: sonde top\nUSAGE: sonde report\nUSAGE: sonde flame\nUSAGE: sonde diff\nUSAGE: sonde agent\nUSAGE: sonde profile\nUSAGE: sonde runqlat\nUSAGE: sonde profile\nUSAGE: sonde runqlat\nUSAGE: sonde funccount\nUSAGE: sonde \[options\]\nUSAGE: sonde info
