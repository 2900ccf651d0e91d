# Iterators: what the kernel has of a kind, once each.

FILE TOGETHER

NAME iter:task sees a process and its parent
NEED btf
RUN {sonde} -q -c 'sleep 0.3' -e 'iter:task { if (ctx.task.tgid == cpid) { printf("%s of %s, %d\n", ctx.task.comm, ctx.task.real_parent.comm, ctx.meta.seq_num > 0) } }'
EXPECT_RE ^(sonde|sleep) of sonde, 1$

NAME an iterator's action runs once an object, not once more at the end
NEED btf
RUN for t in task task_file task_vma; do {sonde} -q -e "iter:$t { @n = count(); @p[ctx.task.pid > 0 || ctx.task.pid <= 0] = count() }"; done; {sonde} -q -e 'iter:ipv6_route { @routes = count() }'; wc -l </proc/net/ipv6_route
EXPECT_RE \A(\n*@n: (\d+)\n@p\[true\]: \2\n)\n*@n: (\d+)\n@p\[true\]: \3\n\n*@n: (\d+)\n@p\[true\]: \4\n\s*(@routes: (\d+)\n\6|0)\n

NAME iter:task_file with paths
NEED btf
RUN {sonde} -q -e 'iter:task_file { if (ctx.task.tgid == pid && ctx.fd < 3) { printf("%d %s\n", ctx.fd, path(ctx.file.f_path)) } }' 2>/dev/null </dev/zero
EXPECT_LINE 0 /dev/zero
EXPECT_LINE 2 /dev/null

NAME iter:task_vma
NEED btf
RUN {sonde} -q -e 'iter:task_vma { if (ctx.task.tgid == pid && ctx.vma.vm_flags & 4) { @exec = count(); @max = max(ctx.vma.vm_end - ctx.vma.vm_start) } }'
EXPECT_RE ^@exec: [1-9]\d*$
EXPECT_RE ^@max: \d{5,}$

NAME iter:bpf_map, the tracer's own among them
NEED btf
PROG iter:bpf_map { if (!strncmp(ctx.map.name, "sonde_", 6)) { printf("%s\n", ctx.map.name) } }
EXPECT_LINE sonde_events

NAME iter:cgroup walks all of them
NEED btf
RUN {sonde} -l 'iter:cgroup' | grep -q . || { echo none; exit; }; d=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup2 .*/\1/p' /proc/mounts | head -n 1)/sonde_iter; mkdir -p $d; {sonde} -q -e 'iter:cgroup { if (ctx.cgroup != 0) { @[str(ctx.cgroup.kn.name)] = 1 } }'; rmdir $d
EXPECT_RE ^none$|^@\[sonde_iter\]: 1$

NAME a pinned iterator prints for whoever reads it, when sonde is gone
NEED btf
RUN rm -f /sys/fs/bpf/sonde_pin; {sonde} -q -e 'iter:task:sonde_pin { printf("%-4d|%s|%x|100%%|%s|%p\n", ctx.task.pid, ctx.task.comm, 255, str("lit"), 16) }'; sleep 60 & until grep -q sleep /proc/$!/comm; do sleep 0.05; done; grep "^$! *|" /sys/fs/bpf/sonde_pin; kill $!; rm /sys/fs/bpf/sonde_pin
EXPECT_LINE Program pinned to /sys/fs/bpf/sonde_pin
EXPECT_RE ^\d+ *\|sleep\|ff\|100%\|lit\|0x10$

NAME a pinned iterator with an absolute path
NEED btf
RUN rm -f /sys/fs/bpf/sonde_pin2; {sonde} -q -e 'iter:task_file:/sys/fs/bpf/sonde_pin2 { printf("%d %d %s\n", ctx.task.tgid, ctx.fd, path(ctx.file.f_path)) }'; sh -c 'echo $$; exec cat /sys/fs/bpf/sonde_pin2' </dev/zero | { read p; grep "^$p 0 "; }; rm /sys/fs/bpf/sonde_pin2
EXPECT_RE ^\d+ 0 /dev/zero$

NAME a pin that exists
NEED btf
RUN rm -f /sys/fs/bpf/sonde_pin3; {sonde} -q -e 'iter:task:sonde_pin3 { @ = count() }'; {sonde} -q -e 'iter:task:sonde_pin3 { @ = count() }'; r=$?; rm /sys/fs/bpf/sonde_pin3; exit $r
RC 1
STDERR /sys/fs/bpf/sonde_pin3 exists: remove it or pin elsewhere

NAME what a pinned iterator cannot do
NEED btf
PROG iter:task:sonde_pin4 { print(1); printf("%.3d", 1) }
RC 1
STDERR print cannot be used in a pinned iterator
STDERR printf in a pinned iterator prints numbers with

NAME an iterator that wants a map
NEED btf
PROG iter:bpf_map_elem { @ = count() }
RC 1
STDERR iter:bpf_map_elem walks the elements of one map, which an iter probe cannot name

NAME an iterator with a neighbour
NEED btf
PROG iter:task,iter:task_file { @ = count() }
RC 1
STDERR an iter probe stands alone

NAME an iterator that does not exist
NEED btf
PROG iter:tsk { @ = count() }
RC 1
STDERR did you mean 'iter:task'?

NAME hardware counters that this machine has not
NEED !hardware events
PROG hardware:cache-misses:1000 { @ = count() }
RC 1
STDERR cache-misses

NAME ustack in iter:task is the task's: the same frames as eu-stack finds, of Python and of threads in six kinds of wait
LONG
NEED copy_from_user_task
NEED cmd:eu-stack
RUN {build}/sleepers kinds 100000 & a=$!; python3 -c 'import threading, time; f = lambda n: f(n - 1) if n else time.sleep(100); [threading.Thread(target=f, args=(n,), daemon=True).start() for n in (1, 40)]; sorted([1], key=lambda x: f(20))' & b=$!; sleep 1; for p in $a $b; do python3 {top}/test/run/asleep.py {sonde} eu $p; kill $p; done
TIMEOUT 60
EXPECT_RE \A8 threads, many frames, all the same\n3 threads, many frames, all the same\n\Z

NAME ustack in iter:task: threads that run meanwhile have none, and no stack is mixed of two
LONG
ALONE a race with running threads
RETRY 1 a race with running threads
NEED copy_from_user_task
RUN {build}/sleepers busy 12 & for i in 1 2 3; do python3 {top}/test/run/asleep.py {sonde} chains $!; done; kill $!
TIMEOUT 60
EXPECT_RE \A(all of these\n){3}\Z

NAME ustack in iter:task: kernel threads and running threads are counted as such
NEED copy_from_user_task
RUN {build}/sleepers busy 1 & sleep 0.3; {sonde} -q --why-incomplete -e "iter:task { if (ctx.task.comm == \"kthreadd\" || (ctx.task.tgid == $! && ctx.task.comm != \"short\")) { @[ctx.task.comm, ustack] = count() } }" 2>&1; kill $!
TIMEOUT 30
EXPECT_RE ^@\[sleepers, \n(        .*\n)*        main\+\d+\n
EXPECT_RE [1-3] user stacks, \d whole \(100.00 %\); 1 events in kernel threads and 0 in exiting processes, which have none(; 1 running threads in iterators, which have none)?

NAME a long expression over a task's stack needs more stack than the kernel gives
LONG
RUN e='len(ustack)'; s='$s = len(ustack);'; for i in $(seq 40); do e="@e[$i] + ($e)"; s="$s \$s += @e[$i];"; done; {sonde} -q --no-warnings -e "iter:task { @e[1] = 1; @ = $e }"; {sonde} -q --no-warnings -e "iter:task { @e[1] = 1; $s @ = \$s } interval:ms:1 { print(\"loaded\"); exit() }" | head -n 1
NEED btf
NEED host
TIMEOUT 40
EXPECT loaded
STDERR ERROR: the program of iter:task and the functions it calls need more stack than the kernel gives them (512 bytes)
