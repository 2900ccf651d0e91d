#!/bin/sh
# as.sh CAPS BUILD COMMANDS: runs COMMANDS in a folder of their own, where `sonde` is BUILD/sonde run as a user that is nobody, with the capabilities
# CAPS and no others ("+bpf,+perfmon"; "file" those that setcap gave the binary ./sonde), and `own` starts a program of that user without any.
caps=$1 build=$2
dir=$(mktemp -d /tmp/sonde-as.XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
chmod 1777 "$dir"
cp "$build/sonde" "$build/waits" "$dir" || exit 1
cd "$dir" || exit 1
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs"
case $caps in
file) with="setpriv --reuid=65534 --regid=65534 --clear-groups" ;;
'') with="$nobody --inh-caps=-all --ambient-caps=-all --bounding-set=-all" ;;
*) with="$nobody --inh-caps=-all,$caps --ambient-caps=-all,$caps --bounding-set=-all,$caps" ;;
esac
sonde() {
	$with ./sonde "$@"
}
own() { # in the background only
	exec $nobody --inh-caps=-all --ambient-caps=-all --bounding-set=-all "$@"
}
started() { # waits until the thread $1 of process $2 is there
	for i in $(seq 100); do
		grep -qx "$1" /proc/"$2"/task/*/comm 2>/dev/null && return
		sleep 0.2
	done
	echo "$1 did not start" >&2
	exit 1
}
eval "$3"
