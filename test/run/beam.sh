#!/bin/sh
# Erlang where it is: /usr/bin/erl, else what test/workload/runtimes.py --fetch bookworm has unpacked. beam.sh [OPTION...] as erl, in the place of this shell;
# beam.sh --there: is there one?
cache=${SONDE_RUNTIMES:-$HOME/.cache/sonde-runtimes}
if ! command -v erl >/dev/null; then
	for root in "$cache"/bookworm/usr/lib/erlang; do
		ROOTDIR=$root BINDIR=$(echo "$root"/erts-*/bin) EMU=beam PROGNAME=erl
	done
	export ROOTDIR BINDIR EMU PROGNAME
	[ -x "$BINDIR/erlexec" ] || exit 1
fi
[ "$1" = --there ] && exit 0
if [ -n "$BINDIR" ]; then
	exec "$BINDIR/erlexec" "$@"
fi
exec erl "$@"
