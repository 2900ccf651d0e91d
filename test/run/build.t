# The build says what it lacks, and takes what is there, however it came there.

FILE TOGETHER

NAME without clang: make names it before anything fails, also without apt
RUN mkdir bin && for c in sh make gcc cc as ld ar mkdir rm awk sed grep cat id touch; do ln -s $(command -v $c) bin/$c; done; cd {top} && PATH={tmp}/bin; make BUILD={tmp}/b {tmp}/b/sonde; echo make $?; scripts/deps.sh build; echo deps $?; [ -e {tmp}/b/base ] || echo nothing was built
NEED host
NEED cmd:make
EXPECT_RE ^make 2\ndeps 1\nnothing was built\n
STDERR deps.sh: the build needs what is not here; please install:
STDERR deps.sh: no apt-get; please install:
STDERR Debian, Ubuntu: apt install clang
STDERR Fedora: dnf install clang
STDERR Alpine: apk add clang

NAME all is there, but no apt and no dpkg: nothing to say
RUN mkdir bin && for c in sh make gcc clang as ld grep cat id; do ln -s $(command -v $c) bin/$c; done; cd {top} && PATH={tmp}/bin; scripts/deps.sh build; echo $?; scripts/deps.sh check; echo $?
NEED host
NEED cmd:clang
EXPECT_RE \A0\n0\n\Z

NAME headers that the compiler does not find are named by their packages
RUN printf '#!/bin/sh\nexec gcc -nostdinc "$@"\n' >cc; chmod +x cc; CC={tmp}/cc {top}/scripts/deps.sh check
NEED host
NEED cmd:gcc
RC 1
STDERR apt install libc6-dev linux-libc-dev libbpf-dev libelf-dev libdw-dev libiberty-dev liblzma-dev zlib1g-dev
STDERR dnf install glibc-devel kernel-headers libbpf-devel elfutils-libelf-devel elfutils-devel binutils-devel xz-devel zlib-devel
STDERR apk add musl-dev linux-headers libbpf-dev elfutils-dev elfutils-dev binutils-dev xz-dev zlib-dev
STDERR pacman -S glibc linux-api-headers libbpf libelf libelf binutils xz zlib

NAME the packages that README names are those that the build asks for, on each system
RUN n=2; for s in 'Debian, Ubuntu:apt install' 'Fedora:dnf install' 'Alpine:apk add' 'Arch:pacman -S'; do sed -n "s/^| ${s%%:*} | \`${s#*:} \(.*\)\` |\$/\1/p" {top}/README.md | tr ' ' '\n' | grep -vx 'ncurses-static' | sort -u >r; sed -n '/^needs="/,/"$/p' {top}/scripts/deps.sh | sed 's/^needs="//; s/"$//; s/\$[{]CC:-gcc[}]/gcc/; s/\$[{]BPFCC:-clang[}]/clang/' | awk -v n=$n '{ print $n }' | sort -u >d; [ $(wc -l <r) -gt 5 ] && diff r d && echo "${s%%:*} same"; n=$((n + 1)); done
EXPECT_RE \ADebian, Ubuntu same\nFedora same\nAlpine same\nArch same\n\Z

NAME the small program has at most 1.5 MB, and runs
EXTRA it builds all of it
RUN make -s -C {top} --no-print-directory SONDE_MIN=1 BUILD={tmp}/min {tmp}/min/sonde && strip --strip-all --remove-section=.comment {tmp}/min/sonde && n=$(stat -c %s {tmp}/min/sonde) && { [ $n -le 1500000 ] && echo small || echo "$n bytes"; }; {tmp}/min/sonde -q -e 'begin { printf("%d\n", 6 * 7); exit() }'
NEED host
NEED cmd:gcc
TIMEOUT 300
EXPECT_RE \Asmall\n42\n

NAME a small program asks for no live view, no HTTP
RUN printf '#!/bin/sh\nexec gcc -nostdinc "$@"\n' >cc; chmod +x cc; for m in '' 1; do SONDE_MIN=$m CC={tmp}/cc {top}/scripts/deps.sh check 2>&1 | sed -n 's/.*apt install.* zlib1g-dev/zlib1g-dev/p'; done
NEED host
NEED cmd:gcc
EXPECT_RE \Azlib1g-dev libncurses-dev libcurl4-openssl-dev\nzlib1g-dev\n\Z
