#!/bin/sh
# unseen.sh WORKLOAD [SECONDS]: turns a system call's trace event on and off while WORKLOAD (build/workload, build/arm64/workload) makes that call all the time; no tracer but
# the kernel. Where a guest's processors run side by side in QEMU 7.2 (TCG, thread=multi), some of the times nothing is seen: the processor that makes the calls begins to run
# the branch to the event just when the other patches it, and keeps the old one. (arm64, 150 s: 24 of 550 times; taking turns: 0 of 137.)
#   test/vm/vm.py --arch arm64 [--side-by-side] --timeout 300 --share . -- test/vm/unseen.sh build/arm64/workload
tracing=/sys/kernel/tracing
[ -e $tracing/trace ] || mount -t tracefs none $tracing
on=$tracing/events/syscalls/sys_enter_newfstatat/enable
"$1" 600 &
sleep 1
none=0 all=0 end=$(($(date +%s) + ${2:-150}))
while [ "$(date +%s)" -lt $end ]; do
	echo >$tracing/trace
	echo 1 >$on
	sleep 0.15
	seen=$(head -c 4000 $tracing/trace | grep -c newfstatat)
	echo 0 >$on
	all=$((all + 1))
	[ "$seen" != 0 ] || none=$((none + 1))
done
kill $!
echo "turned on $all times, $none of them saw nothing"
