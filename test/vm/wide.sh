#!/bin/sh
# wide.sh SONDE, in a guest of many processors: samples all of them, and compares what sonde -v says of the memory of its per-CPU maps with what the kernel says that it has taken
# (Percpu in /proc/meminfo, which grows by chunks). Last line: "N keys of N processors, memory as said, resident memory bounded", or what is otherwise.
cd "$(mktemp -d)" || exit 1
percpu() { sed -n 's/^Percpu: *\([0-9]*\) kB/\1/p' /proc/meminfo; }
before=$(percpu)
"$1" -v -q -e 'profile:hz:19 { @[cpu] = count(); @k[kstack, ustack] = count(); @h[pid] = hist(nsecs) } interval:s:10 { exit() } BEGIN { printf("begun\n") }' >o 2>e &
P=$!
until grep -q begun o; do sleep 0.2; done
sleep 6
took=$(($(percpu) - before))
resident=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$P/status)
wait $P
set -- $(sed -n 's/^Per-CPU maps: \([0-9]*\) processors, \([0-9]*\)\.[0-9] MB now, at most \([0-9]*\)\.[0-9] MB$/\1 \2 \3/p' e)
keys=$(grep -c '^@\[[0-9]*\]: [1-9]' o)
echo "said: $1 processors, $2 MB now, at most $3 MB; Percpu grew by $took kB; $resident kB resident"
memory="memory not as said"
[ "$took" -gt $(($2 * 900)) ] && [ "$took" -lt $((($3 + 1) * 1000 + 8000)) ] && memory="memory as said"
size="$resident kB resident"
[ "$resident" -lt 60000 ] && size="resident memory bounded"
echo "$keys keys of $(nproc) processors, $memory, $size"
