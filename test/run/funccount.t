# A tool made of nothing but a script: tools/funccount.bt.

FILE TOGETHER

NAME funccount: each call of functions chosen by a pattern, of one process
RUN cp {build}/calls .; export SONDE_PATH={top}/tools; exec {sonde} funccount './calls:[an]*'
WORKLOAD ./calls; ./calls
INT 0.2
TIMEOUT 30
EXPECT_LINE @calls[add]: 2000
EXPECT_LINE @calls[name_of]: 20
STDERR Attached

NAME funccount: as JSON
LONG
RUN cp {build}/calls .; (sleep 4; ./calls; ./calls) & SONDE_PATH={top}/tools {sonde} funccount -j './calls:[an]*' -d 7; wait
TIMEOUT 30
EXPECT_RE ^\{"type": "map", "data": \{"@calls": \{"name_of": 20, "add": 2000\}\}\}$

NAME funccount: any probe, every second with its time, a processor
RUN SONDE_PATH={top}/tools {sonde} funccount 'tracepoint:sched:sched_sw[hi]*' -T -i 1 -d 3 --cpu 0
TIMEOUT 30
EXPECT_RE \A(\d\d:\d\d:\d\d\n@calls\[tracepoint:sched:sched_switch\]: [1-9]\d*\n+)+

NAME funccount: a function of the kernel
NEED ksym:vfs_read
NEED kprobe
RUN export SONDE_PATH={top}/tools; (while :; do read x </proc/self/stat; done) & {sonde} funccount vfs_read -p $! -d 1; {sonde} funccount 'vfs_rea[d]' -d 1; kill $!
TIMEOUT 40
EXPECT_RE ^@calls\[vfs_read\]: [1-9]\d*\n[^@]*@calls\[vfs_read\]: [1-9]\d*$

NAME funccount: without a pattern, with one that nothing matches
RUN export SONDE_PATH={top}/tools; {sonde} funccount; echo $?; {sonde} funccount {build}/calls:nosuch; echo $?; {sonde} funccount 'nosuch:type:a'; echo $?; timeout 20 {sonde} funccount '{build}/calls:nosuch*'; echo $?; timeout 20 {sonde} flow '{build}/calls:nosuch*'; echo $?
EXPECT_RE \A2\n(1\n){4}\Z
STDERR ERROR: No matches for uprobe:{build}/calls:nosuch*
STDERR ERROR: funccount takes one PATTERN
STDERR nosuch

NAME tools made of a script: wrong options are status 2, without a line of the script
RUN export SONDE_PATH={top}/tools; for a in 'funccount a b' 'funccount -i x c:free' 'funccount -i 5x c:free' 'funccount -i -1 c:free' 'funccount -d -1 c:free' 'funccount -c 9999 c:free' 'funccount -p x c:free' flow 'flow -n 0 c:free' 'flow -n -5 c:free' 'flow --depth -1 c:free' 'flow -d -1 c:free' 'runqlat abc' 'runqlat 0' 'runqlat 1 x' 'runqlat 1 1 1'; do timeout 20 {sonde} $a 2>e; echo $?; head -n 1 e; grep -c '~~\|\.bt:' e >n && cat e; done; :
TIMEOUT 60
EXPECT_RE \A(2\n(ERROR|sonde \w+: error): [^\n]*\n){16}\Z
EXPECT argument -c/--cpu: names a CPU this machine has not

NAME tools made of a script: a process or thread that is not there, one that ends
RUN export SONDE_PATH={top}/tools; for a in 'funccount -p 4194300 t:sched:sched_switch' 'flow -p 4194300 c:free' 'flow -t 4194300 c:free' 'runqlat -p 4194300'; do timeout 20 {sonde} $a 2>&1; echo $?; done; sleep 2 & timeout 20 {sonde} flow -t $! c:free; echo $?
TIMEOUT 60
EXPECT_RE \A(ERROR: there is no (process|thread) 4194300\n1\n){4}(.*\n)*0\n\Z

NAME funccount and flow: a C++ function whose name has more than 1,024 characters
NEED cmd:g++
RUN printf 'template<class A, class B> struct pair_of_a_long_name { };\ntemplate<class T> __attribute__((noipa)) int work(T) { return 1; }\ntypedef pair_of_a_long_name<int, long> a; typedef pair_of_a_long_name<a, a> b; typedef pair_of_a_long_name<b, b> c; typedef pair_of_a_long_name<c, c> d; typedef pair_of_a_long_name<d, d> e; typedef pair_of_a_long_name<e, e> f;\nint main() { return work(f()) - 1; }\n' >l.cc; g++ -O1 -o long l.cc; export SONDE_PATH={top}/tools; {sonde} funccount './long:_Z4work*' -- ./long | grep -c '^@calls.*work<pair_of_a_long_name<.*: 1$'; {sonde} flow './long:_Z4work*' -- ./long | grep -c '[-<][->] .*work<pair_of_a_long_name<'
TIMEOUT 60
EXPECT_RE \A1\n2\n\Z

NAME tools made of a script that takes no stacks: no options of stacks
RUN export SONDE_PATH={top}/tools; for t in funccount flow runqlat; do {sonde} $t -h; done | grep -c -- '--flame\|--folded\|--top\|--unwind\|stack-storage'; SONDE_PATH={top}/test/run {sonde} calls -h | grep -c -- '--flame\|--folded\|--top\|--unwind\|stack-storage'; {sonde} runqlat -h | grep '^ARGS'
EXPECT_RE \A0\n5\nARGS are INTERVAL and COUNT
