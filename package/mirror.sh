# For scripts of this folder, which read it: where this machine has its packages from, and sources from there.
# mirror NAME: the first address of its sources that ends with NAME (debian, debian-security, ubuntu); nothing if there is none.
mirror() {
	sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)*\(http[^ ]*\) .*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | sed 's|/*$||' | grep "/$1\$" | head -n 1
}

# deb_src DIR: sets $apt to an apt-get of its own, with its state in DIR, that knows the sources of this release with their security fixes.
deb_src() {
	. /etc/os-release
	mkdir -p "$1/lists/partial"
	if [ "$ID" = debian ]; then
		debian=$(mirror debian) security=$(mirror debian-security)
		echo "deb-src ${debian:-http://deb.debian.org/debian} $VERSION_CODENAME main
deb-src ${security:-http://deb.debian.org/debian-security} $VERSION_CODENAME-security main" >"$1/sources.list"
	else
		ubuntu=$(mirror ubuntu)
		echo "deb-src ${ubuntu:-http://archive.ubuntu.com/ubuntu} $VERSION_CODENAME main
deb-src ${ubuntu:-http://archive.ubuntu.com/ubuntu} $VERSION_CODENAME-updates main" >"$1/sources.list"
	fi
	apt="apt-get -q -o Dir::Etc::sourcelist=$1/sources.list -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=$1/lists -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root"
}
