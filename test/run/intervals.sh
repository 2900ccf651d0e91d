#!/bin/sh
# intervals.sh SONDE BUILD SUFFIX: every stack tool with -i 1, text, a flame graph and a pprof file at once, over one workload of some seconds. Prints a line
# for each: its name, whether several intervals have stacks, "equal" when the sums of the text, of the flame graph and of the pprof file are (but for what is
# lost in rounding the text's rows to microseconds), else these, and the count of stackcount.
sonde=$1 build=$2 x=$3 here=$(dirname "$(readlink -f "$0")")
tool() {
	name=$1
	shift
	"$sonde" "$name" "$@" -i 1 --comm "*$x" --flame "$name.svg" --pprof "$name.pb.gz" >"$name.txt" 2>"$name.err" &
	tools="$tools $!"
}
tool profile -F 199
tool offcputime
tool offwaketime
tool wakeuptime
tool stackcount -T "$build/waits:counted_call"
for name in profile offcputime offwaketime wakeuptime stackcount; do
	i=0
	until grep -q 'to end' $name.txt || [ $i = 300 ]; do
		sleep 0.1
		i=$((i + 1))
	done
done
"$build/waits" lock 20 150 "$x" &
a=$!
"$build/waits" spin 2500 0 "$x" &
b=$!
for k in 1 2 3 4; do
	"$build/waits" calls 500 1 "$x"
	sleep 0.6
done
wait $a $b
kill -INT $tools
for p in $tools; do
	wait "$p" || echo "status $?"
done
for name in profile offcputime offwaketime wakeuptime stackcount; do
	python3 - $name "$(python3 "$here/pprof.py" $name.pb.gz 'total()')" <<-'EOF'
	import re, sys
	name, total = sys.argv[1], int(sys.argv[2])
	row = re.compile(r'\n((?: +\S.*\n)+?) +(\d+)\n')
	text = open(name + '.txt').read()
	found = row.findall(text)
	rows = [int(n) for _, n in found]
	flame = re.search(r'id="sub"[^>]*>([^<]*)', open(name + '.svg').read()).group(1)
	counts = name in ('profile', 'stackcount')
	near = sum(rows) == total or (not counts and sum(rows) <= total <= sum(rows) + len(rows))
	near = near and flame.startswith('{:,} '.format(total) if counts else '{:.2f} s'.format(total / 1e6))
	timed = [row.search(report) for report in re.split(r'^\d\d:\d\d:\d\d$', text, flags=re.M)]
	several = len(rows) > len({stack for stack, _ in found}) or sum(map(bool, timed)) > 1 # a report has a stack of a process once
	print(name, several, 'equal' if near else (sum(rows), total, flame), total if name == 'stackcount' else total > 10)
	EOF
done
