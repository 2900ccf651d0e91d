#!/bin/sh
# deps.sh build|test|vm|riscv64|static|static-agent|musl|package: installs what is missing, with apt-get where there is one; else says what to install, in the names of this system.
# deps.sh check: only says what the build lacks. Does nothing when all is there, however it came there.
set -eu
# what the build needs: how to tell, and its packages in Debian, Fedora, Alpine, Arch
needs="cmd:${CC:-gcc} gcc gcc gcc gcc
cmd:make make make make make
cmd:${BPFCC:-clang} clang clang clang clang
h:stdio.h libc6-dev glibc-devel musl-dev glibc
h:linux/bpf.h linux-libc-dev kernel-headers linux-headers linux-api-headers
h:bpf/btf.h libbpf-dev libbpf-devel libbpf-dev libbpf
h:gelf.h libelf-dev elfutils-libelf-devel elfutils-dev libelf
h:elfutils/libdwfl.h libdw-dev elfutils-devel elfutils-dev libelf
h:libiberty/demangle.h libiberty-dev binutils-devel binutils-dev binutils
h:lzma.h liblzma-dev xz-devel xz-dev xz
h:zlib.h zlib1g-dev zlib-devel zlib-dev zlib
h:curses.h libncurses-dev ncurses-devel ncurses-dev ncurses
h:curl/curl.h libcurl4-openssl-dev libcurl-devel curl-dev curl"
# A small program has no debug information (of libdw only the names of call frame instructions), no live view and sends nothing.
[ -z "${SONDE_MIN:-}" ] || needs=$(printf '%s\n' "$needs" | sed -e 's|^h:elfutils/libdwfl.h|h:dwarf.h|' -e '/curses.h/d' -e '/curl.h/d' -e '$a cmd:xz xz-utils xz xz xz')
test="python3 python3-yaml tmux php-cli ruby lua5.1 lua5.3 lua5.4 liblua5.3-0 liblua5.4-0 luajit2 libnginx-mod-http-lua curl chromium binutils elfutils gdb g++ libclang-rt-14-dev llvm xz-utils perl nodejs openssl sqlite3 nginx-light fd-find bindfs protobuf-compiler debuginfod libbpf-tools libc6-dbg procps libcap2-bin zsh fish fp-compiler bpftool golang-go openjdk-17-jdk-headless"
vm="qemu-system-x86 qemu-system-arm busybox-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross bpftrace xfsprogs mdadm iproute2 openssl curl zstd"
# 32-bit programs: g++-multilib would conflict with the cross compilers of vm, the package of one version does not.
if [ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ]; then
	m32=$(apt-cache depends g++ 2>/dev/null | sed -n 's/.*Depends: \(g++-[0-9][0-9]*\)$/\1-multilib/p')
	test="$test libc6-dev-i386 $m32"
fi
what=${1:-build}
more=
case "$what" in
build | check) ;;
test) more=$test ;;
vm) more="python3 $vm" ;;
riscv64) more="python3 qemu-system-misc busybox-static gcc-riscv64-linux-gnu" ;;
static) more=libbz2-dev ;;
static-agent) more="libbz2-dev libmbedtls-dev libc-ares-dev dpkg-dev patch ca-certificates" ;;
musl) more="musl-tools dpkg-dev" ;;
package) more="debhelper lintian debootstrap" ;;
*) echo "usage: deps.sh build|test|vm|riscv64|static|static-agent|musl|package|check" >&2; exit 2 ;;
esac

# A header: the compiler finds it, wherever it looks. Without a compiler all are wanted.
there() {
	case "$1" in
	cmd:*) command -v "${1#cmd:}" >/dev/null ;;
	h:*) command -v "${CC:-gcc}" >/dev/null && echo "#include <${1#h:}>" | ${CC:-gcc} ${CFLAGS:-} -x c -E -o /dev/null - 2>/dev/null ;;
	esac
}

debian= fedora= alpine= arch=
if [ "$what" != vm ] && [ "$what" != riscv64 ]; then
	while read -r how d f a r; do
		there "$how" || debian="$debian $d" fedora="$fedora $f" alpine="$alpine $a" arch="$arch $r"
	done <<END
$needs
END
fi
for p in $more; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || debian="$debian $p"
done
[ -n "$debian" ] || exit 0

tell() {
	echo "deps.sh: $1; please install:" >&2
	echo "  Debian, Ubuntu: apt install$debian" >&2
	[ -n "$more" ] || printf '  Fedora: dnf install%s\n  Alpine: apk add%s\n  Arch: pacman -S%s\n' "$fedora" "$alpine" "$arch" >&2
	exit 1
}
[ "$what" != check ] || tell "the build needs what is not here"
command -v apt-get >/dev/null || tell "no apt-get"
[ "$(id -u)" = 0 ] || tell "not root"
echo "installing:$debian"
export DEBIAN_FRONTEND=noninteractive
if [ ! -e /usr/sbin/policy-rc.d ]; then # no service is started because its package was wanted for a test (invoke-rc.d(8))
	trap 'rm -f /usr/sbin/policy-rc.d' EXIT
	printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
	chmod +x /usr/sbin/policy-rc.d
fi
apt-get install -y -qq --no-install-recommends $debian >/dev/null 2>&1 || {
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends $debian >/dev/null
}
