#!/bin/sh
# A tool and its printed script, found in the tools' path and run by itself, give the same reports of a command. In: sonde, the command, "exact" (all rows,
# values too) or a word (rows that have it, numbers may differ), the tool, a pattern or "", its options. Out: for each form "FORM same", or both.
sonde=$1 cmd=$2 how=$3 tool=$4 pattern=$5
shift 5
mkdir -p t
"$sonde" "$tool" $pattern --print-script >t/mine.bt || exit 1
export SONDE_PATH="$PWD/t"
# Without headings, and what says how tracing went. A row is a line, in text a paragraph.
rows() {
	if [ "$how" = exact ]; then
		grep -v '^Tracing \|^Event: \|^Sampling \|^Detaching\|attached_probes\|helper_error\|_cut"\|^$' | sed 's/"pid": [0-9]*/"pid": N/; s/([0-9]*)$/(N)/; s/\[[0-9]*\]$/[N]/' | sort # rows of equal values stand in any order
	else
		awk -v word="$how" -v rs="$1" 'BEGIN { RS = rs } index($0, word)' | sed 's/[0-9][0-9.]*/N/g'
	fi
}
compare() { # name
	if cmp -s was is && [ -s was ]; then echo "$1 same"; else echo "$1 differs"; cat was; echo ----; cat is; fi
}
for form in --folded --json text; do
	f=$form rs='\n'
	[ $form = text ] && f= rs=
	"$sonde" "$tool" $pattern "$@" $f -- $cmd 2>>err | rows "$rs" >was
	"$sonde" mine "$@" $f -- $cmd 2>>err | rows "$rs" >is
	compare $form
	[ $form = --folded ] && cp was folded
done
cp folded was
"$sonde" -q --folded -c "$cmd" t/mine.bt -- "$@" 2>>err | rows '\n' >is
compare "by itself"
