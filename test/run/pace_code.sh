#!/bin/bash
# Programs of some 0.1 s that LuaJIT compiles, among others that begin all the time: how many of their stacks are cut? usage: pace_code.sh SONDE
code='local function leaf() local s = 0 for i = 1, 200000 do s = s + i * i end return s end for i = 1, 120 do leaf() end'
(
	end=$((SECONDS + 7))
	while [ $SECONDS -lt $end ]; do
		luajit -e "$code"
		for _ in 1 2 3 4 5 6 7 8; do /bin/true; done
	done
) &
work=$!
"$1" profile -F 499 -f -U --comm luajit 5 2>/dev/null | awk '{ n += $NF } /\[truncated\]/ { cut += $NF } END { printf "%d samples, %d %% cut\n", n, n ? 100 * cut / n : 100 }'
wait $work
