# The acceptance list of the seed documents (numbers in names). What needs kprobes runs in the VM suite; here a tracepoint or uprobe takes its place.

NAME seed/31 log2 histogram
RUN {sonde} -c "{build}/calls" -e 'uprobe:{build}/calls:add { @size = hist(arg0 * 8) } interval:s:10 { exit(); }'
EXPECT Attached 2 probes
EXPECT_LINE @size:
EXPECT_RE ^\[1K, 2K\) +128 \|@+ +\|$
EXPECT_RE ^\[4K, 8K\) +488 \|@{52}\|$

NAME seed/32 return values, positive ones as one
RUN {sonde} -q -c "{build}/calls" -e 'uretprobe:{build}/calls:add { @retvals[retval > 0 ? 0 : retval] = count(); }'
EXPECT_LINE @retvals[0]: 1000

NAME seed/33 predicate on an argument
RUN {sonde} -q -c "{build}/calls" -e 'uprobe:{build}/calls:add /arg0 > 997/ { printf("PID %d: %d bytes\n", pid, arg0); }'
EXPECT_RE ^PID \d+: 998 bytes$
EXPECT_RE ^PID \d+: 999 bytes$

NAME seed/34 histogram by process
RUN {sonde} -q -c "{build}/calls" -e 'uprobe:{build}/calls:add { @size[pid, comm] = hist(arg0) }'
EXPECT_RE ^@size\[\d+, calls\]:$

NAME seed/35 frequency of return values
RUN {sonde} -q -c "{build}/calls" -e 'uretprobe:{build}/calls:name_of { @return[retval] = count(); }'
EXPECT_LINE @return[6]: 10

NAME seed/36 stats, printed and cleared by an interval
PROG tracepoint:sched:sched_switch { @size = stats(args.prev_prio); } interval:ms:100 { print(@size); clear(@size); if (++@n > 2) { exit() } }
EXPECT_RE ^@size: .*count.*\d+.*average.*\d+.*total.*\d+

NAME seed/37 seed/38 kernel stacks, whole and three deep
PROG tracepoint:sched:sched_switch { @a[kstack] = count(); @b[kstack(3)] = count(); } interval:ms:200 { exit() }
EXPECT_RE ^@a\[$
EXPECT_RE ^\s+(__)?schedule\+\d+$
EXPECT_RE ^@b\[$

NAME seed/39 latency between two probes
RUN {sonde} -q -c "{build}/calls" -e 'uprobe:{build}/calls:add { @ts[tid] = nsecs; } uretprobe:{build}/calls:add /@ts[tid]/ { @ns = hist(nsecs - @ts[tid]); delete(@ts[tid]); }'
EXPECT_LINE @ns:
EXPECT_NOT @ts

NAME seed/43 fields of a tracepoint
RUN {sonde} -lv 't:timer:hrtimer_start'
EXPECT_LINE tracepoint:timer:hrtimer_start
EXPECT_LINE     void * hrtimer
EXPECT_LINE     s64 expires

NAME seed/44 ksym of an argument
PROG t:timer:hrtimer_start { @[ksym(args->function)] = count(); } interval:ms:300 { exit() }
EXPECT_RE ^@\[[a-z_]+.*\]: \d+$

NAME seed/45 kernel stacks by a timer
PROG profile:hz:99 { @[kstack] = count(); } interval:ms:300 { exit() }
EXPECT_RE ^@\[$

NAME seed/46 long paths whole, with no setting
RUN D={tmp}/$(printf 'd%.0s' $(seq 100)); mkdir -p $D; echo x >$D/file; {sonde} -q -c "/bin/cat $D/file" -e 't:syscalls:sys_enter_openat /comm == "cat"/ { printf("opening: %s\n", str(args->filename)); }'
EXPECT_RE ^opening: /.*d{100}/file$

NAME seed/52 the stack of an event, then text
PROG tracepoint:sched:sched_switch { printf("%s1\n", kstack); exit() }
EXPECT_RE ^\s+(__)?schedule\+\d+$
EXPECT_LINE 1

NAME seed/53 stacks sampled by a timer, printed
PROG profile:hz:99 { printf("%s1\n", kstack); @n++; if (@n > 3) { exit() } }
EXPECT_LINE 1

NAME seed/54 addresses and modes
PROG tracepoint:sched:sched_switch { @r[kstack(raw, 2)] = count(); @p[kstack(perf, 2)] = count(); } interval:ms:100 { exit() }
EXPECT_RE ^\s*[0-9a-f]{16}$
EXPECT_RE ^\s*[0-9a-f]{16} \w+\+\d+

NAME seed/55 idle stacks can be seen
RUN out=$({sonde} -q -e 'tracepoint:sched:sched_switch /pid == 0/ { @[kstack] = count(); } interval:s:1 { exit() }'); case "$out" in *idle*) echo seen;; *) awk '{ print ($1 > 1.5 ? "busy machine: no processor was idle" : "not seen") }' /proc/loadavg;; esac
EXPECT_RE ^(seen|busy machine.*)$
