#!/bin/sh
# guest.sh THING...: what a guest has not from its boot: block devices, file systems, a network neighbour that never answers, memory limits.
#   ext4, xfs   a file system on a loop device, at /mnt/ext4, /mnt/xfs     md     /dev/md0, a mirror of two loop devices
#   swap        swap space on a loop device                                 veth   192.0.2.1/24 on an interface behind which nobody answers
#   memory      cgroup /sys/fs/cgroup/small: 20 MB, and no swap unless `swap` was set up
# In: Debian's modules below /lib/modules. Nothing is done twice. Only for guests: it changes mounts and devices.
set -eu
[ -n "${SONDE_GUEST:-}" ] || { echo "guest.sh: this is no guest" >&2; exit 1; }
modules=/lib/modules/$(uname -r)/kernel

load() { # folder/name: loads what it depends on, then itself; Debian's package has no modules.dep
	name=$(basename "$1" | tr - _)
	[ -d "/sys/module/$name" ] && return
	insmod_deps "$modules/$1.ko"
	busybox insmod "$modules/$1.ko"
}
insmod_deps() {
	for dep in $(tr '\0' '\n' <"$1" | sed -n 's/^depends=//p' | tr , ' '); do
		[ -d "/sys/module/$dep" ] || load "$(cd "$modules" && find lib fs crypto drivers -name "$dep.ko" -o -name "$(echo "$dep" | tr _ -).ko" | head -n 1 | sed 's/\.ko$//')"
	done
}
loop() { # file size: prints the device
	load drivers/block/loop
	truncate -s "$2" "$1"
	losetup -f --show "$1"
}
filesystem() { # type module size
	load "$2"
	mkdir -p "/mnt/$1"
	dev=$(loop "/dev/shm/$1" "$3")
	"mkfs.$1" -q "$dev"
	mount -t "$1" "$dev" "/mnt/$1"
}

for thing; do
	[ -e "/run/guest-$thing" ] && continue
	case $thing in
	ext4) load crypto/crc32c_generic; filesystem ext4 fs/ext4/ext4 64M ;;
	xfs) load crypto/crc32c_generic; filesystem xfs fs/xfs/xfs 320M ;;
	md)
		load drivers/md/raid1
		a=$(loop /dev/shm/md-a 16M) b=$(loop /dev/shm/md-b 16M)
		MDADM_NO_UDEV=1 mdadm --build /dev/md0 --level=1 --raid-devices=2 --assume-clean "$a" "$b" >&2
		;;
	swap)
		dev=$(loop /dev/shm/swap 256M)
		mkswap "$dev" >/dev/null
		swapon "$dev"
		;;
	veth)
		load drivers/net/veth
		ip link add v0 type veth peer name v1
		ip addr add 192.0.2.1/24 dev v0
		ip link set v0 up
		ip link set v1 up
		;;
	memory)
		echo +memory >/sys/fs/cgroup/cgroup.subtree_control
		mkdir -p /sys/fs/cgroup/small
		echo 20M >/sys/fs/cgroup/small/memory.max
		;;
	*) echo "guest.sh: unknown '$thing'" >&2; exit 2 ;;
	esac
	: >"/run/guest-$thing"
done
