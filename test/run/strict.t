# --strict: any loss makes the exit status 3. A row for each way to lose something: it is forced, told at the end, and has an object in JSON.

FILE TOGETHER

NAME nothing is lost: status 0, or that of exit()
RUN {sonde} --strict -q -c '{copy:frames} calls 1000' -e 'uprobe:{copy:frames}:leaf { @ = count() }'; echo $?; {sonde} --strict -e 'BEGIN { exit(7); }'; echo $?; {sonde} profile --strict -f 1 >o; echo tool $? $(wc -l <o | grep -c '[1-9]')
TIMEOUT 40
EXPECT_RE \A\s*@: 1000\s+0\s+7\ntool [03] 1\n\Z

NAME lines that the buffer has no room for
RUN for o in '' --strict '-f json --strict'; do {sonde} -q $o -e 'config = { perf_rb_pages = 1; } BEGIN { for ($i : 0..20000) { printf("a line that is written and not read %d\n", $i) } exit() }' >o 2>e; echo "$? $(grep -c 'Lost\|lost_events' o e | tr '\n' ' ')"; echo $(grep -c '"type": "total_lost_events"' o) $(($(grep -c '"type": "lost_events"' o) > 0)); done
TIMEOUT 30
EXPECT_RE \A0 o:0 e:[1-9]\d* \n0 0\n3 o:0 e:[1-9]\d* \n0 0\n3 o:[1-9]\d* e:0 \n1 1\n\Z

NAME a full map
RUN for o in '' --strict '-f json --strict'; do {sonde} -q $o -e 'config = { max_map_keys = 2; } BEGIN { for ($i : 0..5) { @[$i] = 1 } exit() }' >o 2>e; echo "$? $(grep -c 'updates of @ were refused because the map was full' e) $(grep -c '"type": "map_full", "count": 3' o)"; done
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n\Z

NAME memory that the kernel has not at hand where it may not wait
RUN for o in '' --strict '-f json --strict'; do {sonde} -q $o -e 'config = { max_map_keys = 100000; } profile:hz:99 { if (@n == 0) { @n = 1; for ($i : 0..4000) { @[$i, $i, $i, $i, $i, $i, $i, $i, $i, $i, $i, $i, $i, $i, $i, $i, $i, $i, $i, $i] = 1 } exit() } } END { clear(@) }' >o 2>e; echo "$? $(grep -c 'the kernel had no memory at hand' e) $(grep -c '"type": "map_refused"' o)"; done
TIMEOUT 30
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n\Z

NAME sums that came to half of what 64 bits hold may have passed it all: of one processor, and of all together
RUN p='begin { $z = (uint64)pid * 0; @u[1] = sum((uint64)9223372036854775807 + $z + 1); @u[2] = sum((uint64)9223372036854775807 + $z); @s = stats((int64)$z - 4611686018427387905); @n = sum((int64)$z - 4611686018427387903); @a = avg(pid); print(@u); clear(@u); exit() }'; {sonde} -q -e "$p" 2>&1 >/dev/null; for o in '' --strict '-f json --strict'; do {sonde} -q $o -e "$p" >o 2>/dev/null; echo "$? $(grep -c '"type": "sums_too_large", "count": 1,' o)"; done
EXPECT_LINE WARNING: sums of @u of 2^63 or more: 1; that is half of what 64 bits hold, and they may have passed it all and be wrong. If negative numbers are among them, add (int64)n
EXPECT_LINE WARNING: sums of @s of 2^62 or more, or -2^62 or less: 1; that is half of what 64 bits hold, and they may have passed it all and be wrong
EXPECT_RE ^0 0\n3 0\n3 2\n
EXPECT_NOT of @n
EXPECT_NOT of @a

NAME a map that is printed and cleared faster than the kernel exchanges maps
LONG
RUN for o in '' --strict '-f json --strict'; do {sonde} -q $o -e 'profile:hz:999 { @[cpu] = count(); } interval:ms:1 { print(@); clear(@); } interval:s:2 { exit() }' >o 2>e; echo "$? $(grep -c 'WARNING: @ was printed and cleared [0-9]* times faster than the kernel exchanges maps' e) $(grep -c '"type": "maps_taken_in_use", "count": [1-9]' o)"; done
TIMEOUT 30
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n\Z

NAME stacks that storage has no room for, of a script and of a tool
LONG
RUN for o in '' --strict '-f json --strict'; do {sonde} --stack-storage-size 1 -q $o -c '{copy:paths} 8' -e 'uprobe:{copy:paths}:leaf { @[ustack] = count(); }' >o 2>e; echo "$? $(grep -c 'stack traces could not be stored' e) $(grep -c '"type": "stacks_lost"' o)"; done; {sonde} stackcount --strict --stack-storage-size 1 -D 1 -K -f t:sched:sched_switch >/dev/null 2>e; echo "$? $(grep -c 'could not be displayed' e)"
TIMEOUT 60
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n3 1\n\Z

NAME a string whose page is not in memory
RUN for o in '' --strict '-f json --strict'; do {sonde} --no-feature task_work -q $o -e 'tracepoint:syscalls:sys_enter_mkdirat /pid == cpid/ { printf("%s", str(args.pathname)) }' -c 'python3 -B {top}/test/run/cold.py {tmp}/page' >o 2>e; echo "$? $(grep -c 'strings of user space that could not be read: 1' e) $(grep -c '"type": "strings_unread", "count": 1' o)"; done
TIMEOUT 40
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n\Z

NAME an event that waits for its text when tracing ends
NEED task work
RUN for o in '' --strict '-f json --strict'; do {sonde} -q $o -e 'tracepoint:syscalls:sys_enter_openat /comm == "{name:coldnames}"/ { printf("%s\n", str(args.filename)) }' -c '{copy:coldnames} {tmp}/names leave' >o 2>e; echo "$? $(grep -c 'still waited for a text that was not in memory: 1 ' e) $(grep -c '"type": "events_waiting", "count": 1' o)"; kill $(cat {tmp}/names.pid); done
TIMEOUT 40
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n\Z

NAME numbers, bytes and records whose memory is not there: counted with --strict, null pointers are not
RUN for o in '' --strict '-f json --strict' '-k --strict'; do {sonde} -q $o -e 'struct two { int a; int b; } begin { $n = (uint64)0x7000; print(*(uint32 *)uptr($n)); print(*(uint32 *)kptr($n)); print(buf(uptr((uint8 *)$n), 4)); @t = *(struct two *)uptr($n); exit() } END { clear(@t) }' >o 2>e; echo "$? $(grep -c 'reads of memory that was not there: 4 ' e) $(grep -c '"type": "reads_failed", "count": 4' o)"; done; {sonde} -q --strict -e 'begin { $p = (struct task_struct *)0; print($p->pid); print($p->comm); print(*(uint8 *)uptr(16)); print(curtask->pid > 0); exit() }' >o 2>&1; echo $?
EXPECT_RE \A0 0 0\n3 1 0\n3 0 1\n3 0 0\n0\n\Z

NAME user stacks that are cut short
LONG
NEED arch:x86_64
NEED cmd:gcc
NEED host
RUN gcc -O2 -o jit {top}/test/workload/jit_nofp.c && for o in '' --strict '-f json --strict'; do {sonde} -q $o -c './jit 5' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' >o 2>e; echo "$? $(grep -c 'user stacks are cut short' e) $(grep -c '"type": "user_stacks_cut"' o)"; done
TIMEOUT 60
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n\Z

NAME events inside another event's action (Linux 6.7 counts them)
NEED host
RUN for o in '' --strict '-f json --strict'; do {sonde} -q $o -c "sh -c 'for i in $(echo $(seq 40)); do /bin/true; done'" -e 'tracepoint:kmem:kmem_cache_free { @n++; if (@n < 4000) { for ($i : 0..20000) { @a = $i } } }' >o 2>e; echo "$? $(grep -c 'WARNING: [1-9][0-9]* events were missed' e) $(grep -c '"type": "events_missed"' o)"; done
TIMEOUT 60
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n\Z

NAME what goes wrong in the script's own actions
RUN for o in '' --strict '-f json --strict'; do {sonde} -q $o -e 'BEGIN { @n = 0; printf("%d\n", 7 / @n); exit() }' >o 2>e; echo "$? $(grep -c -i 'by 0\|zero' e) $(grep -c -i 'by 0\|zero' o)"; done
EXPECT_RE \A0 [1-9] 0\n3 [1-9] 0\n3 0 [1-9]\n\Z

NAME places that cannot be probed, of a pattern and by a setting
RUN for o in '' --strict '-f json --strict'; do {sonde} -q $o -e 'config = { missing_probes = "warn"; } uprobe:{copy:frames}:nosuch { @ = 1 } BEGIN { exit() }' >o 2>e; echo "$? $(grep -c 'places that were not probed: 1' e) $(grep -c '"type": "places_left_out", "count": 1' o)"; done; {sonde} --strict -q -e 'config = { missing_probes = "ignore"; } uprobe:{copy:frames}:nosuch { @ = 1 } BEGIN { exit() }' >o 2>&1; echo $?
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n0\n\Z

NAME lines of a recorded profile that are no stacks
RUN printf 'a;b 3\nnonsense\n' >f; for o in '' --strict '--json --strict'; do {sonde} report $o f >o 2>e; echo "$? $(grep -c '1 of its lines left out' e) $(grep -c '"type": "left_out", "count": 1' o)"; done; printf 'a;b 3\n' >g; {sonde} diff --strict g g >o; echo $?; {sonde} diff --strict f g >o 2>&1; echo $?; {sonde} report --strict g >o; echo $?
EXPECT_RE \A0 1 0\n3 1 0\n3 1 1\n0\n3\n0\n\Z

NAME lines left out of each of the profiles that are compared
RUN printf 'a;b 3\nnonsense\n' >f; printf 'a;b 3\n' >g; for a in 'g g' 'f g' 'g f' '--same f g g' '--same g f f'; do {sonde} diff --strict --json $a >o 2>e; echo "$? $(grep -c '1 of its lines left out' e) $(grep -c '"type": "left_out", "count": 1, "msg": "f: 1 of' o)"; done; {sonde} diff --json f g >o 2>e; echo "$? $(grep -c left_out o)"; {sonde} diff --strict f g 2>e | grep -c left_out; echo end
EXPECT_RE \A0 0 0\n3 1 1\n3 1 1\n3 1 1\n3 2 2\n0 1\n0\nend\n\Z

NAME processes of --tree for which there is no room
RUN for o in '' --strict '--json --strict'; do sh -c 'for i in $(seq 400); do sleep 1 & sleep 0.01; done; wait' & P=$!; until [ "$(pgrep -P $P | wc -l)" -gt 3 ]; do sleep 0.02; done; {sonde} profile -p $P --tree -F 49 -f --hash-storage-size 1 $o 1 >o 2>e; echo "$? $(grep -c '[1-9][0-9]* processes are not traced, for example' e) $(grep -c '"type": "processes_not_traced", "count": [1-9]' o)"; kill $P; wait $P 2>w || true; done
TIMEOUT 60
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n\Z

NAME off-CPU time that would cost more than is allowed: the tool ends, and that is a loss
FEW how many switches of threads there are
RUN {build}/waits sleep 3000000 2 70 & for o in '' --strict '--json --strict'; do {sonde} offcputime -i 1 --max-cpu 0.0001 -f $o 60 >o 2>e; echo "$? $(grep -c 'too many here, it ends' e) $(grep -c '"type": "run_ended", "count": 1' o)"; done; kill $!
TIMEOUT 120
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n\Z

NAME files with code that may not be read
LONG
RUN mkdir -m 700 shut; cp {build}/waits shut; shut/waits spin 60000 & P=$!; for o in '' --strict '--json --strict'; do {top}/test/run/as.sh +bpf,+perfmon {build} "started spinner $P; sonde profile $o -F 99 -U -f -p $P 1; echo status \$?" >o 2>e; echo "$(grep status o) $(grep -c 'user stacks are cut short (no permission' e) $(grep -c '"type": "user_stacks_cut"' o)"; done; kill $P
NEED cmd:setpriv
TIMEOUT 60
EXPECT_RE \Astatus 0 1 0\nstatus 3 1 0\nstatus 3 0 1\n\Z

# From Linux 6.1 on mappings are found in the kernel, and 6.18 lets CAP_PERFMON read them: a BTF that names no tree of mappings and a file in the place of /proc/PID/maps take both away.
NAME processes whose mappings may not be read
LONG
NEED host
NEED cmd:setpriv
RUN {build}/waits spin 60000 & P=$!; python3 -c 'import sys; sys.stdout.buffer.write(open("/sys/kernel/btf/vmlinux", "rb").read().replace(b"\0mm_mt\0", b"\0xx_mt\0"))' >btf; : >shut; chmod 0 shut; for o in '' --strict '--json --strict'; do unshare -m sh -c "mount --bind btf /sys/kernel/btf/vmlinux && mount --bind shut /proc/$P/maps && exec {top}/test/run/as.sh +bpf,+perfmon {build} 'started spinner $P; sonde profile $o -F 99 -U -f -p $P 1; echo status \$?'" >o 2>e; echo "$(grep status o) $(grep -c 'WARNING: 1 process whose mappings may not be read (needs CAP_SYS_PTRACE)' e) $(grep -c '"type": "processes_denied", "count": 1' o)"; done; kill $P
TIMEOUT 60
EXPECT_RE \Astatus 0 1 0\nstatus 3 1 0\nstatus 3 0 1\n\Z

NAME rows of a report that are below zero
RUN for o in --folded '--folded --strict' '--json --strict'; do {sonde} -q $o -c '{copy:paths} 0 1' -e 'uprobe:{copy:paths}:leaf { @[1, ustack(1)] = -5; @[2, ustack(1)] = 5; }' >o 2>e; echo "$? $(grep -c '1 rows of @ are below zero' e) $(grep -c '"type": "rows_negative", "count": 1' o)"; done
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n\Z

NAME rows whose stack was lost, of a tool's last report, its reports on the way and those that a script prints
LONG
RUN for o in '' --strict '--json --strict'; do {sonde} stackcount --stack-storage-size 1 -U $o -c '{copy:paths} 8' {copy:paths}:leaf >o 2>e; echo "$? $(grep -c '1 stack traces could not be displayed' e) $(grep -c '"type": "stacks_not_shown", "count": 1' o)"; done; {sonde} stackcount --stack-storage-size 1 -U -i 1 --json --strict -c '{copy:paths} 8 1 0 1500' {copy:paths}:leaf >o 2>e; echo "$? $(grep -c '"type": "stacks_not_shown", "count": 1' o)"; {sonde} -q --json --strict --stack-storage-size 1 -c '{copy:paths} 8' -e 'uprobe:{copy:paths}:leaf { @[ustack] = count(); } END { print(@); clear(@); }' >o 2>e; echo "$? $(grep -c '"type": "stacks_not_shown", "count": 1' o)"
TIMEOUT 60
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n3 1\n3 1\n\Z

NAME more different stacks than are kept, in the files of a run and in a report of slots
EXTRA 45 s, 262,144 stacks and 1 GB; total_test looks at how they are merged
RUN o='stackcount --strict --stack-storage-size 600000 --hash-storage-size 600000'; {sonde} $o -i 1 -f --pprof p -c '{copy:paths} 18' {copy:paths}:leaf 2>e | wc -l; grep -c 'WARNING: there were more different stacks than are kept over a whole run' e; ({sonde} $o --heatmap --json -c '{copy:paths} 18' {copy:paths}:leaf 2>e; echo status $?) | grep -o '"type": "stacks_merged", "count": [1-9]\|status.*'; {sonde} $o --heatmap -f -c '{copy:paths} 18' {copy:paths}:leaf >o 2>e; echo $? $(grep -c 'more different stacks than are kept over' e)
TIMEOUT 200
EXPECT_RE \A262144\n1\n"type": "stacks_merged", "count": [1-9]\nstatus 3\n3 1\n\Z

NAME what has no slot of a heat map, in a report, in a file of the whole run and in what a script prints
RUN printf 'config = { stack_slot = 20000000 }\nbegin { @[(slot = nsecs / 20000000, k = kstack)] = count(); @[(slot = (uint64)(nsecs - 100000000000) / 20000000, k = kstack)] = count(); @@ exit(); }\n' >f; sed 's/@@//' f >a.bt; sed 's/@@/print(@); clear(@);/' f >b.bt; for o in '--folded a.bt' '--folded --strict a.bt' '--json --strict a.bt' '--html p --strict a.bt' '--html p -i 1 --strict a.bt' '--html p --folded --strict b.bt'; do {sonde} -q $o >o 2>e; echo "$? $(grep -c 'no slot is kept for the time of some (180000 are): 1 (count)' e) $(grep -c '"type": "slots_outside", "count": 1' o)"; done
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n(3 1 0\n){3}\Z

NAME commands that an interrupt left
RUN for o in '' --strict '-f json --strict'; do rm -f o; {sonde} -q --unsafe $o -e 'begin { for ($i : 0..60) { system("echo run; sleep 0.3") } }' >o 2>e & p=$!; until grep -qs run o; do sleep 0.05; done; kill -INT $p; sleep 0.5; kill -INT $p; wait $p; echo "$? $(grep -c 'commands of system() were not run' e) $(grep -c '"type": "commands_left"' o)"; done
TIMEOUT 30
EXPECT_RE \A0 1 0\n3 1 0\n3 0 1\n\Z

NAME the list of losses names what the code tells, and each has a test that wants its object
RUN python3 -B {top}/test/run/losses.py {top}
EXPECT_RE \A\d\d losses\n\Z
