#!/bin/sh
# Stacks of WebAssembly in a program of Node.js. usage: v8_wasm.sh SONDE TOP "names" | "" [NODE [OPTION...]]: are the frames of 300 stacks equal to what V8 says, and are samples whole?
sonde=$1 top=$2 names=$3
shift 3
[ $# -gt 0 ] || set -- node
"$sonde" -q --why-incomplete -c "$* $top/test/run/v8_wasm.js want 150 $names" -e 'tracepoint:syscalls:sys_enter_fsync /pid == cpid && args.fd >= 987653/ {
	if (args.fd == 987654) { printf("%s\n", ustack) } else { @[ustack] = count() } } END { clear(@) }' >got 2>err
python3 "$top/test/run/v8_wasm.py" want got
"$sonde" -q --why-incomplete -c "timeout 3 $* $top/test/run/v8_wasm.js want -1 $names" -e 'profile:hz:199 /ppid == cpid || pid == cpid/ { @[ustack] = count() }' >o 2>&1
grep -c '^ *fib+' o | sed 's/^[1-9].*/fib was there/'
grep ' user stacks, ' o
