#!/bin/sh
# musl.sh DIR [WORK [NAMES]]: interpreters as Alpine's packages have them, which cannot be had here: from the sources of Debian's packages, built against musl (musl-tools),
# for size, without frame pointers, stripped. Into DIR/usr; WORK is a scratch folder. Minutes. Prints what is there at its end.
# Then, for instance: DIR/usr/bin/python3.11 -c 'def f(n): return n and f(n - 1)
# while 1: f(9)' & sonde profile -p $! -f 2
set -e
dir=$1 work=${2:-$(mktemp -d)} jobs=$(nproc)
mkdir -p "$dir/usr" "$work/inc" "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
dir=$(cd "$dir" && pwd) work=$(cd "$work" && pwd)
command -v musl-gcc >/dev/null || apt-get install -y -q --no-install-recommends musl-tools >/dev/null
for i in linux asm-generic; do ln -sfn "/usr/include/$i" "$work/inc/$i"; done # musl-gcc looks into musl's own headers only
ln -sfn "/usr/include/$(uname -m)-linux-gnu/asm" "$work/inc/asm"
printf '%s\n' '#!/bin/sh' 'case $* in *-print-multiarch*) exit 0 ;; esac' "exec musl-gcc -idirafter $work/inc \"\$@\"" >"$work/cc"
chmod +x "$work/cc"
printf '%s\n' '#!/bin/sh' 'exit 1' >"$work/dpkg-architecture" # else Python's modules are built with glibc's headers
chmod +x "$work/dpkg-architecture"
export CC="$work/cc" CFLAGS='-Os -fomit-frame-pointer' LDFLAGS="-s -Wl,--eh-frame-hdr -Wl,-rpath,$dir/usr/lib"

# sources PACKAGE: unpacked in $work/PACKAGE
sources() {
	[ -d "$work/$1" ] && return
	echo 'deb-src http://deb.debian.org/debian bookworm main' >"$work/apt/list"
	set -- "$1" -q -o "Dir::Etc::SourceList=$work/apt/list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$work/apt/lists" -o "Dir::Cache=$work/apt/cache"
	name=$1
	shift
	[ -n "$updated" ] || apt-get "$@" update >/dev/null
	updated=1
	(cd "$work" && apt-get "$@" source --download-only --tar-only "$name" >/dev/null 2>&1)
	mkdir "$work/$name"
	tar -xf "$(ls "$work/$name"_*.orig.tar.*z | grep -v asc)" -C "$work/$name" --strip-components 1
}

lua() {
	for v in 5.1 5.3 5.4; do
		sources lua$v
		make -s -C "$work/lua$v/src" -j"$jobs" CC="$CC -std=gnu99" CFLAGS="$CFLAGS -DLUA_COMPAT_5_2 -DLUA_USE_POSIX -DLUA_USE_DLOPEN" MYLDFLAGS="-Wl,-E,--eh-frame-hdr" LIBS='-lm' lua >/dev/null
		install -D -s "$work/lua$v/src/lua" "$dir/usr/bin/lua$v"
	done
}

php() {
	sources php8.2
	cd "$work/php8.2"
	[ -f Makefile ] || ./configure -q --prefix="$dir/usr" --disable-all --enable-cli --enable-opcache >/dev/null
	make -s -j"$jobs" sapi/cli/php >/dev/null
	install -D -s sapi/cli/php "$dir/usr/bin/php8.2"
}

python() {
	sources python3.11
	cd "$work/python3.11"
	[ -f Makefile ] || ./configure -q --prefix="$dir/usr" --enable-shared --with-ensurepip=no --disable-test-modules >/dev/null
	printf '%s\n' '*disabled*' unicodedata _ctypes _ssl _hashlib _curses _curses_panel _dbm _gdbm _sqlite3 _tkinter nis ossaudiodev readline spwd >Modules/Setup.local
	PATH=$work:$PATH make -s -j"$jobs" python sharedmods >/dev/null || [ -e build/lib.*/_json.*.so ] # it ends with a word on modules that are not there
	install -D -s python "$dir/usr/bin/python3.11"
	install -D libpython3.11.so.1.0 "$dir/usr/lib/libpython3.11.so.1.0"
	rm -rf "$dir/usr/lib/python3.11"
	cp -r Lib "$dir/usr/lib/python3.11"
	install -D -t "$dir/usr/lib/python3.11/lib-dynload" build/lib.*/*.so
}

ruby() {
	sources ruby3.1
	cd "$work/ruby3.1"
	[ -f Makefile ] || ./configure -q --prefix="$dir/usr" --enable-shared --disable-install-doc --disable-yjit --with-baseruby=/usr/bin/ruby --with-out-ext=openssl,readline,gdbm,dbm,psych,fiddle,pty,syslog,nkf,zlib >/dev/null
	make -s -j"$jobs" main >/dev/null # without gems, which would be fetched
	make -s install-arch install-comm >/dev/null
}

perl() {
	sources perl
	cd "$work/perl"
	[ -f Makefile ] || ./Configure -des -Dcc="$CC" -Dprefix="$dir/usr" -Dusethreads -Duseshrplib -Uman1dir -Uman3dir -Doptimize="$CFLAGS" -Dldflags="$LDFLAGS" -Dlddlflags="-shared $LDFLAGS" -Dlibs='-lm' \
		-Dplibpth= -Dlibpth=/usr/lib/x86_64-linux-musl -Uusenm -Ulocincpth -Uloclibpth -Dlibc=/usr/lib/x86_64-linux-musl/libc.so >/dev/null </dev/null
	make -s -j"$jobs" >/dev/null
	make -s install.perl >/dev/null
}

for what in ${3:-lua ruby perl php python}; do
	set +e
	(set -e; $what) >"$work/$what.log" 2>&1
	[ $? = 0 ] && echo "$what: built" || echo "$what: $(tail -n 1 "$work/$what.log")"
done
