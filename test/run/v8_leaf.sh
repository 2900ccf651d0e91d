#!/bin/sh
# v8_leaf.sh SONDE NODE [OPTION] SCRIPT: samples of v8_leaf.js or v8_loop.js: which functions and lines the thread was in, and how many stacks are whole.
# (Maglev of V8 14.6 has the call in the loop at the line before.)
sonde=$1
shift
for script; do :; done
rm -f up
"$@" >up &
p=$!
until test -s up; do sleep 0.1; done
sleep 0.3
"$sonde" profile -p $p -F 999 -f -U --lines --why-incomplete 2 >o 2>e
kill $p
awk -v script="$script" '
	{
		n = $NF
		sub(/ [0-9]+$/, "")
		k = split($0, f, ";")
		while (f[k] ~ /^Builtins_/)
			k--
		split(f[k], at, ":")
		if (f[k] !~ script)
			next
		all += n
		if (f[k] ~ /^twice@/ && f[k - 1] ~ /^work@.*:12$/) twice += n
		if (f[k] ~ /^once@/ && f[k - 1] ~ /^work@.*:14$/) once += n
		if (f[k] ~ /^twice@/ && f[k - 1] ~ /^\(anonymous\)@.*:[89]$/) alone += n
		if (at[2] <= 12) first += n
	}
	END {
		if (twice && once && first / all > 0.6 && first / all < 0.74)
			print "twice() and once() in work(), two thirds and one third"
		else if (alone > all / 4)
			print "twice() alone, in the loop"
		else
			print twice, once, alone, first, all
	}' o
grep ' user stacks, ' e
