#!/bin/sh
# Erlang where it is: /usr/bin/erl, else what test/workload/runtimes.py --fetch has unpacked. beam.sh [OPTION...] as erl, in the place of this shell; beam.sh --there: is there one?
# ERL_OF: only that one: "here", or the release whose packages it is of (trixie). Such programs run with the C library of their own release, and what they start, too.
cache=${SONDE_RUNTIMES:-$HOME/.cache/sonde-runtimes}

# The release's folder into ROOTDIR, and one of scripts that start its programs into BINDIR.
unpacked() {
	for root in "$cache/$1"/usr/lib/erlang; do
		[ -x "$(echo "$root"/erts-*/bin)/beam.smp" ] || return 1
	done
	tree=$cache/$1 bin=$(echo "$root"/erts-*/bin) ROOTDIR=$root EMU=beam PROGNAME=erl BINDIR=$cache/erl-$1
	loader=$(ls "$tree"/usr/lib64/ld-linux-x86-64.so.2 "$tree"/lib64/ld-linux-x86-64.so.2 2>/dev/null | head -n 1)
	libs=$tree/usr/lib/x86_64-linux-gnu:$tree/lib/x86_64-linux-gnu
	if [ ! -d "$BINDIR" ]; then
		made=$(mktemp -d "$cache/part.XXXXXX")
		for program in "$bin"/*; do
			printf '#!/bin/sh\nexec %s --library-path %s %s "$@"\n' "$loader" "$libs" "$program" >"$made/${program##*/}"
		done
		chmod 755 "$made" "$made"/*
		mv -T "$made" "$BINDIR" 2>/dev/null || rm -rf "$made"
	fi
	export ROOTDIR BINDIR EMU PROGNAME
}

found=
for of in ${ERL_OF:-here bookworm}; do
	if [ -n "$found" ]; then
		break
	elif [ "$of" = here ]; then
		command -v erl >/dev/null && found=here
	elif unpacked "$of"; then
		found=$of
	fi
done
[ -n "$found" ] || exit 1
[ "$1" = --there ] && exit 0
[ "$found" = here ] && exec erl "$@"
exec "$BINDIR/erlexec" "$@"
