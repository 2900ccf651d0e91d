#!/bin/sh
# demo.sh BUILD: profiles the bundled workload for 3 seconds, prints its five hottest stacks, writes demo.svg.
set -eu
build=$1
"$build/workload" 30 &
pid=$!
trap 'kill $pid 2>/dev/null; wait $pid 2>/dev/null || true' EXIT
"$build/sonde" profile -p $pid -F 199 --folded --flame demo.svg -o "$build/demo.folded" 3
echo "The five hottest stacks of the workload (samples, then thread; user frames; kernel frames):"
sort -t' ' -k1,1 "$build/demo.folded" | awk '{ n = $NF; $NF = ""; printf "%6d  %s\n", n, $0 }' | sort -rn | head -n 5 | cut -c1-300
echo
echo "Flame graph: $(pwd)/demo.svg ($(wc -c <demo.svg) bytes); open it in a browser: click zooms, Ctrl-F searches."
