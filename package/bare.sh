# A bare system of a release of Debian or Ubuntu, for try-deb and try-source, which read this file: bare SUITE makes it in $root, by debootstrap, with /proc, /sys and tracefs; inside COMMAND runs there.
# It is gone when the script ends, and kept, packed, in ~/.cache/sonde-deb for the next time. As root.
. "$top/package/mirror.sh"
log=$(mktemp) root=$(mktemp -d)
cleanup() {
	for m in sys/kernel/debug sys/kernel/tracing sys proc; do ! mountpoint -q "$root/$m" || umount "$root/$m"; done
	rm -rf --one-file-system "$root" "$log"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
chmod 755 "$root"

bare() {
	cache=${XDG_CACHE_HOME:-$HOME/.cache}/sonde-deb/$1.tar
	if [ -e "$cache" ]; then
		tar -xf "$cache" -C "$root"
	else
		debian=$(mirror debian)
		set -- "$1" "$root" ${debian:+"$debian"}
		case "$1" in # Debian has no package of Ubuntu's keys
		focal | jammy | noble) set -- --keyring="$(cd "$top/test/vm" && python3 -Bc 'import vm; print(vm.ubuntu_key())')" --components=main,universe "$1" "$root" http://archive.ubuntu.com/ubuntu gutsy ;;
		esac
		debootstrap --variant=minbase "$@" >"$log" 2>&1 || { tail "$log" >&2; exit 1; }
		mkdir -p "${cache%/*}"
		tar -cf "$cache" -C "$root" . && tar -tf "$cache" >/dev/null
	fi
	cp /etc/resolv.conf "$root/etc/"
	[ ! -e /etc/apt/apt.conf.d ] || cp -n /etc/apt/apt.conf.d/*proxy* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
	mount -t proc proc "$root/proc"
	mount -t sysfs sysfs "$root/sys"
	mount -t tracefs tracefs "$root/sys/kernel/tracing"
}

inside() {
	chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"
}

fail() {
	echo "$(basename "$0"): $suite: $1" >&2
	exit 1
}
