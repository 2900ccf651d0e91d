# The ready-made tools: command line, forms of output, and workloads with known answers (test/progs/waits.c).

FILE TOGETHER

NAME profile: header, multi-line form, footer and value (seed/12 seed/14 seed/17)
NEED arch:x86_64
RUN exec {sonde} profile -F 199 -d --comm spinner{id}
WORKLOAD {build}/waits spin 1500 0 {id}
INT 0.2
TIMEOUT 20
EXPECT_LINE Sampling at 199 Hertz of all threads named spinner{id} by user + kernel stack... Hit Ctrl-C to end.
EXPECT_RE ^    spin_here\n    spinner\n    start_thread\n    clone3\n    -                spinner{id} \(\d+\)\n        \d+\n        \d+\.\d %\n\n

NAME profile: the samples of a known spin (seed/15)
FEW a number of samples
RETRY 1 a number of samples
NEED arch:x86_64
RUN exec {sonde} profile -F 99 -f -U --comm spinner
WORKLOAD {build}/waits spin 1000
INT 0.2
TIMEOUT 20
EXPECT_RE ^spinner;clone3;start_thread;spinner;spin_here (\d\d|1\d\d)$

NAME profile: default frequency, one CPU, kernel stacks (seed/14)
RUN {sonde} profile -K -C 0 1
EXPECT_LINE Sampling at 49 Hertz of all threads by kernel stack on CPU#0 for 1 secs.
EXPECT_NOT __libc_start

NAME profile: a list of CPUs
RUN {sonde} profile -C 0-1 --dump check
EXPECT_RE ^    binop &&.*\n     binop >=.*\n      identifier cpu.*\n      int 0.*\n     binop <=.*\n      identifier cpu.*\n      int 1.*\n  block$

NAME profile: every N events (seed/12)
RUN {sonde} profile -c 1000000 -p 1 1
EXPECT_LINE Sampling at every 1000000 events of PID 1 by user + kernel stack for 1 secs.

NAME profile: kernel frames marked (seed/18)
NEED arch:x86_64
RUN exec {sonde} profile -af -F 199 --comm dd
WORKLOAD timeout 1.5 dd if=/dev/zero of=/dev/null bs=1M
INT 0.2
TIMEOUT 20
EXPECT_RE ^dd;.*;entry_SYSCALL_64_after_hwframe_\[k\];do_syscall_64_\[k\];.* \d+$

NAME profile: Ctrl-C ends it with the report (seed/12 seed/19)
RUN exec {sonde} profile
WORKLOAD {build}/waits spin 1500
INT 0.1
TIMEOUT 20
EXPECT Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.
EXPECT_RE ^    -                spinner

NAME profile: must be an integer (seed/13)
RUN {sonde} profile -F abc
RC 2
STDERR argument -F/--frequency: must be an integer

NAME profile: must be positive (seed/13)
RUN {sonde} profile -p -5
RC 2
STDERR argument -p/--pid: must be positive

NAME profile: must be nonzero (seed/13)
RUN {sonde} profile -c 0
RC 2
STDERR must be nonzero

NAME profile: -U and -K (seed/13)
RUN {sonde} profile -U -K 1
RC 2
STDERR is not allowed with -U

NAME profile: -F and -c (seed/13)
RUN {sonde} profile -F 9 -c 9 1
RC 2
STDERR is not allowed with -F

NAME profile: -p and -L
RUN {sonde} profile -p 1 -L 1 1
RC 2
STDERR is not allowed with -p

NAME profile: the printed script runs by itself
RUN trap : INT; {sonde} profile --print-script -F 199 --comm spinner{id} > s.bt; {sonde} s.bt
WORKLOAD {build}/waits spin 1500 0 {id}
INT 0.2
TIMEOUT 20
EXPECT_RE ^@samples\[\{ \.pid = \d+, \.comm = spinner{id}, \.user = \n(.*\n)* +spin_here

NAME profile: intervals
LONG
RUN exec {sonde} profile -i 1 -F 99 --comm spinner{id}
WORKLOAD {build}/waits spin 2500 0 {id}
INT 0.2
TIMEOUT 20
EXPECT_RE (?s)spinner{id} \(\d+\)\n.*spinner{id} \(\d+\)\n

NAME profile: JSON
RUN trap : INT; {sonde} profile --json -o j -F 99 --comm spinner{id}; python3 -c 'import json; rows=[r for r in map(json.loads, open("j")) if r["type"] == "stack"]; print(all(r["comm"]=="spinner{id}" and r["unit"]=="samples" for r in rows), sum(r["value"] for r in rows) > 20)'
TIMEOUT 20
WORKLOAD {build}/waits spin 1500 0 {id}
INT 0.2
EXPECT_LINE True True

NAME profile: why stacks are incomplete
RUN {build}/waits spin 60000 & {sonde} profile -U -F 99 --why-incomplete --comm spinner -p $! 1 2>whole >/dev/null; {sonde} profile -U -F 99 --why-incomplete --unwind fp -p $! 1 2>cut >/dev/null; cat whole cut; kill $!
TIMEOUT 20
EXPECT_RE ^(\d+) user stacks, \1 whole \(100\.00 %\)\n\d+ user stacks, 0 whole \(0\.00 %\)\n +COUNT +PID COMM +LAST FRAME AND REASON\n( +\d+ +\d+ (spinner|waits) +.*\[(waits|libc.so.6|no file)\+0x[0-9a-f]+\]: .*\n)+$

NAME profile: why stacks are incomplete, as JSON
RUN {build}/waits spin 60000 & {sonde} profile -U -F 99 --why-incomplete --json -o j --unwind fp -p $! 1; kill $!; python3 -c 'import json; r=[json.loads(l) for l in open("j")]; u=[x["data"] for x in r if x["type"]=="user_stacks"]; print(len(u), u[0]["stacks"] == u[0]["whole"] + sum(x["count"] for x in u[0]["incomplete"]) > 0, all(x["reason"] and x["pid"] for x in u[0]["incomplete"]))'
TIMEOUT 20
EXPECT_LINE 1 True True

NAME profile: why stacks are incomplete, in a script
LONG
RUN {build}/waits spin 3000 & {sonde} -q -f json --why-incomplete -p $! -e 'profile:hz:99 { @[ustack(2)] = count(); }' | python3 -c 'import json,sys; r=[json.loads(l) for l in sys.stdin]; u=[x["data"] for x in r if x["type"]=="user_stacks"]; print(len(u), u[0]["stacks"] > 0, u[0]["stacks"] == u[0]["whole"])'
TIMEOUT 20
EXPECT_LINE 1 True True

NAME profile: kernel stacks are whole too, or as deep as asked for
ALONE kernel stacks of all
RETRY 1 samples, of which one may lie in another's BPF program, where the kernel's unwinder ends
RUN {sonde} profile -K -I -F 499 --why-incomplete -f 1 2>all >/dev/null; {sonde} -q --why-incomplete -e 'profile:hz:499 { @[kstack(2), ustack(2)] = count(); } interval:s:1 { exit(); }' 2>two >/dev/null; cat all two
WORKLOAD find /proc /sys -name nothing
TIMEOUT 20
EXPECT_NOT [kernel+0x
EXPECT_RE (?s)^([1-9]\d*) different kernel stacks, \1 whole\n.*; [1-9]\d* different kernel stacks, [1-9]\d* whole

NAME profile: inlined functions and lines
RUN {build}/waits spin 60000 & {sonde} profile -U -F 99 --lines -p $! 1; kill $!
TIMEOUT 20
EXPECT_RE ^    spin_here@.*/waits\.c:\d+$

NAME profile: whole stacks of a mixed load
LONG
ALONE node's unwind table is late where others want the processors
RETRY 1 a share of samples
NEED host
RUN {top}/test/workload/mixed.py {sonde} 8 499
TIMEOUT 60
EXPECT_LINE mixed load: whole

NAME profile: flame graph and pprof files
RUN trap : INT; {sonde} profile -F 99 --comm spinner{id} --flame f.svg --pprof f.pb.gz; head -c 4 f.svg; gzip -t f.pb.gz && grep -c spin_here f.svg
WORKLOAD {build}/waits spin 1500 0 {id}
INT 0.2
TIMEOUT 20
EXPECT_RE ^<

# It ends with the process, which has three seconds of a processor, however long they take.
NAME pprof: mangled names are the system's, and others are their own
LONG
RUN (ulimit -t 3; exec {build}/mangled 600 >/dev/null) & {sonde} profile -F 499 -p $! --pprof f 300 >/dev/null; python3 {top}/test/run/pprof.py f '"\n".join(sorted("%s %s" % (n, *v) for n, v in functions.items() if "work" in n))' 'min(sum(v[0] for v, f, l in stacks if f[0][0].startswith(n)) for n in ("<x::A", "<x::B", "void space", "plain")) > 5'
EXPECT_LINE <x::A as x::T>::work _ZN29_$LT$x..A$u20$as$u20$x..T$GT$4work17h0123456789abcdefE
EXPECT_LINE <x::B as x::T>::work _ZN29_$LT$x..B$u20$as$u20$x..T$GT$4work17h0123456789abcdefE
EXPECT_LINE plain_work plain_work
EXPECT_LINE void space::work<int>(int) _ZN5space4workIiEEvT_
EXPECT_LINE True
TIMEOUT 40

# readelf and nm say where. The second file (another one, or both were one object) is deleted and its place taken by another while it runs.
NAME pprof: mappings are the segments of the files, with build ids, addresses those of the file
RUN objcopy -R .comment {build}/mangled deleted; {build}/mangled 60 >/dev/null & p=$!; ./deleted 60 >r & q=$!; while ! grep -q ready r; do sleep 0.05; done; rm deleted; echo other >deleted; {sonde} profile -F 499 -p $p,$q --pprof f 3 >/dev/null; kill $p $q; python3 {top}/test/run/pprof.py f 'mappings("/mangled") == mappings("/deleted") == [text_segment("{build}/mangled")]' 'places("plain_work", "{build}/mangled") and places("main", "{build}/mangled")' 's(one(p["mapping"][0], "filename")).split("/")[-1] in ("mangled", "deleted")' 'len(mappings("/libc.so")) == 1 and all(len(i) == 40 for _, _, _, i in mappings("/"))' '{s(one(m, "filename")) for m in p["mapping"] if one(m, "has_lines")}'
EXPECT_RE ^True\nTrue\nTrue\nTrue\nset\(\)$
TIMEOUT 40

NAME pprof: with --lines and --inlines, and code without a file
NEED cmd:gcc
RETRY 2 samples: beside other tests there are few
RUN gcc -O2 -o jit {top}/test/workload/jit.c; {build}/mangled 60 >/dev/null & p=$!; sh -c 'echo "0 7fffffffff00 JS:*hotOfMine [eval]:1:19" >/tmp/perf-$$.map; exec ./jit 1000000000' & q=$!; until grep -q jit /proc/$q/comm; do sleep 0.05; done; {sonde} profile --lines --inlines -F 499 -p $p,$q --pprof f 3 >/dev/null; kill $p $q; python3 {top}/test/run/pprof.py f '[one(m, "has_lines") for m in p["mapping"] if "/mangled" in s(one(m, "filename"))]' 'max(one(x, "line") for l in p["location"] for x in l["line"] if names[one(l, "id")] == ["plain_work"]) in range(10, 22)' 'any("hotOfMine" in n and not (v & {n}) for n, v in functions.items())'; rm -f /tmp/perf-$q.map
TIMEOUT 60
EXPECT_RE ^\[1\]\nTrue\nTrue$

NAME pprof: protoc reads it, without a field it does not know
NEED cmd:protoc
RUN {build}/mangled 60 >/dev/null & {sonde} profile -F 499 -p $! --pprof f 3 >/dev/null; kill $!; gzip -dc f | protoc -I {top}/test/run --decode=p.Profile {top}/test/run/profile.proto >t; grep -cE '^ *[0-9]+[ :]' t; for w in memory_start memory_limit build_id system_name mapping_id address location_id has_functions; do grep -q " $w: [0-9a-z]" t || echo "no $w"; done; grep -q 'string_table: "plain_work"' t && echo names
EXPECT_LINE 0
EXPECT_LINE names
EXPECT_NOT no 
TIMEOUT 40

NAME pprof: go tool pprof shows both of two names that differ in <...>, and finds the same ones itself by mapping and address
NEED cmd:go
RUN {build}/mangled 60 >/dev/null & {sonde} profile -F 499 -p $! --pprof f 3 >/dev/null; kill $!; export HOME=$PWD; go tool pprof -top f 2>/dev/null; go tool pprof -symbolize=local:force -top f 2>/dev/null
TIMEOUT 60
EXPECT <x::A as x::T>::work
EXPECT <x::B as x::T>::work
EXPECT void space::work<int>(int)
EXPECT_RE  work_a$
EXPECT_RE  work_b$
EXPECT_RE  work_d$

# plain_work's lines are in the program's source, which pprof looks for where it runs.
NAME pprof: go tool pprof lists lines and traces stacks, a thread is no process
NEED cmd:go
RUN {build}/mangled 60 >/dev/null & p=$!; D=$PWD; {sonde} profile --lines --per-thread -F 499 -p $p --pprof f 3 >/dev/null; kill $p; export HOME=$D; cd {top}; go tool pprof -list plain_work $D/f 2>/dev/null | grep -cE '^ +[0-9.]+m?s .*WORK\(work_d,'; go tool pprof -traces $D/f 2>/dev/null >$D/t; grep -cE "^ +tid: +$p$" $D/t | sed 's/^[1-9].*/traces/'; grep -c ' pid:' $D/t; go tool pprof -tagfocus=tid=$p -top $D/f 2>/dev/null | grep -c ' plain_work'
TIMEOUT 60
EXPECT_RE \A1\ntraces\n0\n1\n\Z

NAME pprof: off-CPU time by its kinds, which add up, in go tool pprof and read back
LONG
NEED cmd:go
RUN {build}/waits mix 300000 >/dev/null & p=$!; {sonde} offcputime -p $p -f --pprof f 2 >o; kill $p; export HOME=$PWD; go tool pprof -raw f 2>/dev/null | grep '^time/'; python3 {top}/test/run/pprof.py f 'total() > 0 and all(v[0] == sum(v[1:6]) for v, f, l in stacks)' 'total(1) > 0 and total(3) > 0' 's(one(p, "default_type"))' 'total()' >t; head -3 t; tail -1 t >n; awk '{s += $NF} END {print s}' o | cat - n | sort -n | tr '\n' ' ' | awk '{print ($2 - $1 <= 100 ? "as folded" : $0)}'; go tool pprof -sample_index=preempted -top f 2>/dev/null | grep ^Type; {sonde} report --html r.html f 2>/dev/null; grep -o '^"parts".*' r.html | sed 's/,$//' | python3 -c 'import json, sys; print([p["name"] for p in json.loads("{" + sys.stdin.read() + "}")["parts"]])'; {sonde} report --value blocked -f f | awk '{s += $NF} END {print s}' >b; python3 {top}/test/run/pprof.py f 'total(1)' | cmp - b && echo "blocked alone"
TIMEOUT 60
EXPECT_LINE time/microseconds[dflt] blocked/microseconds runqueue/microseconds preempted/microseconds unfinished/microseconds earlier/microseconds contentions/count
EXPECT_RE ^True\nTrue\ntime\nas folded\nType: preempted\n
EXPECT_LINE ['blocked', 'runqueue', 'preempted', 'unfinished', 'earlier']
EXPECT_LINE blocked alone

NAME pprof: off-CPU: how often threads waited, each wait once, though reports divide its time, and read back
NEED cmd:go
RUN trap : INT; {sonde} offcputime -i 1 --comm napper42 --pprof f; export HOME=$PWD; naps='sum(v[-1] for v, f, l in stacks if any("do_nanosleep" in x for x in f))'; python3 {top}/test/run/pprof.py f "$naps"; {sonde} report --pprof g f 2>/dev/null; python3 {top}/test/run/pprof.py g "$naps" 's(p["sample_type"][-1]["type"][0])'; go tool pprof -sample_index=contentions -top f 2>/dev/null | awk '$NF == "do_nanosleep" { print $4 }'
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits sleep 4 800 42
INT 0.2
TIMEOUT 30
EXPECT_RE \n4\n4\ncontentions\n4\n\Z

NAME profile: a closed pipe is quiet (seed/06)
RUN ({sonde} profile -f -F 99 1; echo "status $?" >s) 2>e | head -n 0; cat s; grep -c ERROR e
RC 1
TIMEOUT 20
EXPECT_RE \Astatus 0\n0\n\Z

NAME stackcount: calls of a function by stack (seed/22 seed/30)
ALONE others call that function too
RUN exec {sonde} stackcount -f {build}/waits:counted_call
WORKLOAD {build}/waits calls 1; sleep 0.6; {build}/waits calls 3000
INT 0.2
TIMEOUT 20
EXPECT_RE ^caller;clone3;start_thread;caller;twice_a;counted_call 100[01]$
EXPECT_RE ^caller;clone3;start_thread;caller;twice_b;counted_call 2000$

NAME stackcount: header, block, end (seed/21)
ALONE kernel stacks of all
RUN {sonde} stackcount -D 2 t:sched:sched_switch
EXPECT_LINE Tracing 1 functions for "t:sched:sched_switch"... Hit Ctrl-C to end.
EXPECT_RE ^  __schedule\n  schedule\n
EXPECT_LINE Detaching...
EXPECT_NOT bpf_trace_run

NAME stackcount: today's form of a library's function (seed/22)
RUN {sonde} stackcount -D 1 --print-script c:malloc
EXPECT_RE ^	option = "probe=uprobe:/.*libc\.so\.6:malloc";$

NAME stackcount: wildcards
RUN {sonde} stackcount -D 1 '{build}/waits:nap_*'
EXPECT_RE ^Tracing 2 functions for

NAME stackcount: regular expressions (seed/28)
RUN {sonde} stackcount -D 1 -r 't:sched:sched_wak(eup|ing)$'
EXPECT_LINE Tracing 2 functions for "t:sched:sched_wak(eup|ing)$"... Hit Ctrl-C to end.

NAME stackcount: offsets and raw addresses (seed/26 seed/28)
RUN {sonde} stackcount -sv -K -D 1 t:sched:sched_switch
EXPECT_RE ^  ffffffff[0-9a-f]{8} schedule\+0x[0-9a-f]+$

NAME stackcount: blocks with the time (seed/25)
RUN {sonde} stackcount -Ti 1 -D 2 -K t:sched:sched_switch
EXPECT_RE (?s)^\d\d:\d\d:\d\d\n.*^\d\d:\d\d:\d\d\n

NAME stackcount: unknown type
RUN {sonde} stackcount x:y:z
RC 1
STDERR Type must be 'p', 't', or 'u', but got x

NAME stackcount: unknown library
RUN {sonde} stackcount nosuchlibrary:f
RC 1
STDERR unable to find library nosuchlibrary

NAME stackcount: nothing matches
RUN {sonde} stackcount 'c:nosuchf*'
RC 1
STDERR No functions matched by pattern c:nosuchf*

NAME every tool prints its help
RUN for t in profile offcputime offwaketime wakeuptime stackcount; do {sonde} $t -h | grep -c EXAMPLES; done
EXPECT_RE \A(1\n){5}\Z

NAME installed links are the tools
RUN ln -s {sonde} sonde-offcputime && ./sonde-offcputime -h
EXPECT USAGE: sonde offcputime

NAME every example of the help texts, the manual and README.md finds something to trace; one that does not is an error
LONG
EXTRA each example once more, of what other tests look at more closely
RUN {top}/test/run/examples.py {sonde} {build} {top}; {sonde} stackcount -D 1 t:sched:sched_fork
NEED host
TIMEOUT 200
RC 1
EXPECT_RE \Amore than 25 examples, 0 failed\n\Z
STDERR No functions matched by pattern t:sched:sched_fork
