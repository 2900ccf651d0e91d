#!/bin/sh
# deps.sh build|test|vm|static: installs the Debian packages that are missing. Says what it does; does nothing when all are there.
set -eu
build="gcc make clang libc6-dev libbpf-dev libelf-dev libdw-dev libiberty-dev liblzma-dev zlib1g-dev linux-libc-dev pkg-config"
test="python3 binutils elfutils gdb g++ libclang-rt-14-dev llvm xz-utils perl nodejs openssl sqlite3 nginx-light fd-find gron debuginfod libbpf-tools libc6-dbg procps"
vm="qemu-system-x86 qemu-system-arm busybox-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross bpftrace xfsprogs mdadm iproute2 openssl curl"
case "${1:-build}" in
build) want=$build ;;
test) want="$build $test" ;;
vm) want="python3 $vm" ;;
static) want="$build libbz2-dev" ;;
*) echo "usage: deps.sh build|test|vm|static" >&2; exit 2 ;;
esac
missing=
for p in $want; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
	echo "deps.sh: please install:$missing" >&2
	exit 1
fi
if [ "$(id -u)" != 0 ]; then
	echo "deps.sh: not root; please run: apt-get install$missing" >&2
	exit 1
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
if [ ! -e /usr/sbin/policy-rc.d ]; then # no service is started because its package was wanted for a test (invoke-rc.d(8))
	trap 'rm -f /usr/sbin/policy-rc.d' EXIT
	printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
	chmod +x /usr/sbin/policy-rc.d
fi
apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 || {
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends $missing >/dev/null
}
