#!/bin/sh
# Does each stack of a worker thread hold that thread's functions, all of them, and no other's? usage: v8_workers.sh SONDE TOP NODE. Prints "N workers, B wrong stacks", and the first of these.
sonde=$1 top=$2 node=$3
rm -f w.up
"$node" --expose-gc "$top/test/run/v8_workers.js" w >node.out 2>&1 &
pid=$!
until [ -e w.up ]; do sleep 0.1; kill -0 $pid || { cat node.out; exit 1; }; done
"$sonde" -q --why-incomplete --dwarf-pid $pid -e "tracepoint:syscalls:sys_enter_fsync /pid == $pid && args.fd > 900000/ { printf(\"worker %d\\n%s;\\n\", args.fd - 900000, ustack); if (++@n >= 4000) { exit() } } END { clear(@n) }" >o 2>&1
kill $pid
wait $pid 2>/dev/null
awk -v RS=';\n' '
	match($0, /worker [0-9]+/) {
		n = substr($0, RSTART + 7, RLENGTH - 7)
		others = $0
		sub(/worker [0-9]+\n/, "", others)
		mine = gsub("worker_" n "\\+", "", others) == 1 && gsub("below_" n "\\+", "", others) == 1
		if (!mine || others ~ /worker_[0-9]|below_[0-9]/) {
			if (!bad++)
				first = $0
		}
		seen[n] = 1
	}
	END { for (n in seen) all++; printf "%d workers, %d wrong stacks\n%s", all, bad, first }' o
grep ' user stacks, ' o | sed 's/^[0-9]* user stacks, [0-9]* //'
