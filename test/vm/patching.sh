#!/bin/sh
# patching.sh TRACER [ROUNDS]: attaches kprobes to busy functions and detaches them again, while two loops keep both processors in them. In a guest whose processors
# run side by side in QEMU (TCG, thread=multi) this kills the kernel, whoever the tracer is; where they take turns it does not:
#   test/vm/vm.py [--side-by-side] [--release backports] -- test/vm/patching.sh bpftrace
(while :; do /bin/true; done) &
a=$!
(while :; do cat /proc/self/stat >/dev/null; done) &
b=$!
i=0
while [ $i -lt "${2:-40}" ]; do
	i=$((i + 1))
	"$1" -e 'kprobe:try_to_wake_up { @w = count() } kprobe:vfs_read { @v[pid] = count() } kprobe:vfs_open { @o = count() } kretprobe:vfs_read { @r = count() }
		kprobe:__sys_bpf { @b = count() } interval:ms:200 { exit() }' >/tmp/patching.out 2>&1 || cat /tmp/patching.out
	echo "round $i"
done
kill $a $b
