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
RUN SONDE_PATH={top}/tools {sonde} funccount 'tracepoint:sched:sched_sw[hi]*' -T -i 1 -d 3 --cpu 0-9
TIMEOUT 30
EXPECT_RE \A(\d\d:\d\d:\d\d\n@calls\[tracepoint:sched:sched_switch\]: [1-9]\d*\n+)+

NAME funccount: a function of the kernel
NEED ksym:vfs_read
NEED kprobe
RUN export SONDE_PATH={top}/tools; (while :; do read x </proc/self/stat; done) & {sonde} funccount vfs_read -p $! -d 1; {sonde} funccount 'vfs_rea[d]' -d 1; kill $!
TIMEOUT 40
EXPECT_RE ^@calls\[vfs_read\]: [1-9]\d*\n[^@]*@calls\[vfs_read\]: [1-9]\d*$

NAME funccount: without a pattern, with one that nothing matches
RUN export SONDE_PATH={top}/tools; {sonde} funccount; echo $?; {sonde} funccount {build}/calls:nosuch; echo $?; {sonde} funccount 'nosuch:type:a'; echo $?
EXPECT_RE \A1\n1\n1\n\Z
STDERR funccount takes one PATTERN
STDERR nosuch
