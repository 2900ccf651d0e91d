# What is built, installed and packed. The package in bare systems of Debian and whole builds that are compared: `make check-package`.

FILE TOGETHER

NAME the program is protected as hostile input asks for: docs/security.md
RUN {top}/test/run/hardened.py {sonde} {build}/libsonde.a
NEED cmd:readelf
NEED host
EXPECT_LINE PIE: yes
EXPECT_LINE full RELRO: yes
EXPECT_LINE no executable stack: yes
EXPECT_LINE code apart from data: yes
EXPECT_LINE stack protector: yes
EXPECT_LINE fortified: yes
EXPECT_LINE landing places: yes

NAME what shows that a program is protected shows one that is not
RUN echo 'int main(void) { return 0; }' | gcc -O0 -no-pie -fno-stack-protector -z norelro -z execstack -z noseparate-code -o plain -x c - && {top}/test/run/hardened.py ./plain
NEED cmd:readelf
NEED host
EXPECT_LINE PIE: no
EXPECT_LINE full RELRO: no
EXPECT_LINE no executable stack: no
EXPECT_LINE code apart from data: no
EXPECT_LINE stack protector: no
EXPECT_LINE fortified: no

NAME make install: program, links, manual, completion and documents in their places, stripped; uninstall takes all of it and nothing else
RUN cd {top} && b=$(realpath --relative-to=. {build}) && mkdir -p {tmp}/r/usr/bin && echo mine >{tmp}/r/usr/bin/mine && make -s install BUILD=$b PREFIX=/usr DESTDIR={tmp}/r && cd {tmp}/r/usr && find . -type f -o -type l | sort && ./bin/sonde -V && ./bin/sonde-profile -h | head -n 1 && man -l share/man/man8/sonde-profile.8 | grep -c offwaketime; readelf -SW bin/sonde | grep -c debug_info; cd {top}; make -s uninstall BUILD=$b PREFIX=/usr DESTDIR={tmp}/r; echo left:; cd {tmp}/r; find . -type f -o -type l; find . -path '*sonde*'
NEED cmd:make
TOGETHER make
NEED host
TIMEOUT 120
EXPECT_LINE ./bin/sonde
EXPECT_LINE ./bin/sonde-offcputime
EXPECT_LINE ./share/bash-completion/completions/sonde
EXPECT_LINE ./share/bash-completion/completions/sonde-stackcount
EXPECT_LINE ./share/zsh/site-functions/_sonde
EXPECT_LINE ./share/fish/vendor_completions.d/sonde.fish
EXPECT_LINE ./share/fish/vendor_completions.d/sonde-profile.fish
EXPECT_LINE ./share/doc/sonde/README.md
EXPECT_LINE ./share/doc/sonde/docs/rows.md
EXPECT_LINE ./share/man/man1/sonde.1
EXPECT_LINE ./share/man/man5/sonde-script.5
EXPECT_LINE ./share/man/man8/sonde-wakeuptime.8
EXPECT_LINE ./share/man/man8/sonde-runqlat.8
EXPECT_RE ^sonde v\d
EXPECT_RE ^0\nleft:\n./usr/bin/mine\n\Z

NAME manual pages are what the tables make, and have each option and function of the help
RUN mkdir made && {top}/package/manpages {build}/sonde made | wc -l; for f in made/*; do diff $f {top}/man/ >d || { echo "make man: $f"; cat d; }; done; export SONDE_PATH={top}/tools; for t in profile offcputime offwaketime wakeuptime stackcount top agent report flame diff flow funccount runqlat; do {sonde} $t --help | grep -oE -- '^ +(-.,? )? *(--[a-z-]+)?' | tr -d ' ' | tr , '\n' | grep . >o; MANWIDTH=80 man -l {top}/man/sonde-$t.8 | col -b >p; for o in $(cat o); do grep -qE -- "^ +(-., )?$o\\b" p || echo "$t: no $o"; done; echo $t $(wc -l <o | grep -c '[1-9]'); done; MANWIDTH=300 man -l {top}/man/sonde-script.5 | col -b >p; for f in $({sonde} help topics | cut -f1 | sed 1,3d); do grep -qE "^ +([^ ].*[ *(])?$f\\b" p || echo "no $f"; done; for f in $(sed -n 's/^\tF(\([a-z_]*\), .*/\1/p' {top}/src/lang/config.c); do grep -q "$f" p || echo "no $f"; done
NEED cmd:man
NEED host
TIMEOUT 60
EXPECT_RE \A14\n(\w+ 1\n){13}\Z

NAME manual pages fit 80 columns without a warning of the formatter, and those they refer to are there or another program's
NEED cmd:man
NEED cmd:groff
RUN cd {top}/man; for f in *.[1-9]; do groff -ww -man -t -Tutf8 -rLL=80n $f 2>&1 >{tmp}/page; MANWIDTH=80 man -l $f | col -b | awk -v f=$f 'length > 80 { print f ": " $0 } END { print f, (NR > 50 ? "read" : "short: " NR) }'; done; printf '.TH A 1\n.SH X\n\\*[nosuch]\n' | groff -ww -man -Tutf8 2>&1 >{tmp}/page | grep -c warning; for i in $(sed -n 's/\\-/-/g; s/^\.BR \(sonde[a-z-]*\) (\([0-9]\)).*/\1.\2/p' *.[1-9] | sort -u); do ls $i; done; echo 'a line that is longer than eighty columns, which this test would have to find in a page' | awk 'length > 80 { print "found" }'
EXPECT_RE \A(sonde(-\w+)?\.[158] read\n){16}1\n(sonde(-\w+)?\.[158]\n){16}found\n\Z

NAME the version is that of the tag, of the commits since, or of the day; Debian's order is that of time
RUN mkdir -p t/package && cp {top}/package/version t/package/ && cd t && git init -q . && git config user.name a && git config user.email a@b && commit() { GIT_COMMITTER_DATE="2026-01-0$1T00:00:00Z" git commit -q --allow-empty -m x; } && commit 1 && package/version >>../v && git tag v0.1.0 && package/version >>../v && commit 2 && package/version >>../v && package/version time && git tag v0.2.0 && package/version >>../v && mkdir sub && cp -r package sub/ && sub/package/version && echo '1.2.3 99' >sub/VERSION && sub/package/version time && cat ../v && sort -rV ../v >../w; a=; for b in $(cat ../v); do [ -z "$a" ] || dpkg --compare-versions $a lt $b && echo $b is later; a=$b; done
NEED cmd:git
NEED cmd:dpkg
EXPECT_RE ^1767312000\n0\.1\.0~unknown\n99\n0\.1\.0~20260101\.[0-9a-f]{12}\n0\.1\.0\n0\.1\.0\+1\.[0-9a-f]{12}\n0\.2\.0\n
EXPECT_RE ^0\.1\.0 is later\n0\.1\.0\+1\.[0-9a-f]{12} is later\n0\.2\.0 is later\n\Z

NAME a tarball of one commit is the same bytes each time, knows its version, and has only what is committed
RUN cp -r {top}/package . && git init -q . && git config user.name a && git config user.email a@b && git add package && git commit -q -m x && echo x >package/mine && mkdir o && package/tarball o && mv o/sonde-*.tar.gz one && sleep 1 && package/tarball o && cmp one o/sonde-*.tar.gz && echo same && package/version && tar -xf one && cd sonde-* && package/version && ls package | grep -x -e deb -e mine -e tarball
NEED cmd:git
NEED host
EXPECT_RE ^same\n(0\.1\.0~\S+)\n\1\ndeb\n
EXPECT_LINE tarball
EXPECT_NOT mine

NAME the tutorial's commands print what it shows
LONG
RUN {top}/test/run/lessons.py {sonde} {build} {top}/docs/tutorial.md
NEED host
NEED cmd:bash
FEW it samples
TIMEOUT 240
EXPECT_LINE 12 lessons, 0 failed
RETRY 1 samples, on a machine that may be busy

NAME what others do not do: each example of docs/beyond.md prints what it shows
LONG
RUN export HOME=$PWD; {top}/test/run/lessons.py {sonde} {build} {top}/docs/beyond.md
NEED host
NEED arch:x86_64
NEED swap
NEED sleepable uprobes
NEED cmd:bash
NEED cmd:gcc
NEED cmd:go
TIMEOUT 240
EXPECT_LINE 13 lessons, 0 failed

NAME a lesson whose command prints something else than is shown has failed
RUN printf '## one\n```sh\necho 5 is; echo more\n```\n```text\n7 is\nmo...\n```\n## two\n```sh\necho 5\n```\n```text exact\n7\n```\n## three\n```sh\nfalse\n```\n```text\n```\n' >page.md; {top}/test/run/lessons.py {sonde} {build} page.md
NEED host
NEED cmd:bash
EXPECT_RE ^two: does not print: 7$
EXPECT_RE ^three: exit status 1$
EXPECT_LINE 3 lessons, 2 failed

NAME README's table of what sonde takes beside its peers is what bench/run --readme prints: the row recorded last, its peer, its commit
RUN {top}/bench/run --readme >now; sed -n '/^<!-- bench.run --readme -->$/,/^<!-- end of it -->$/p' {top}/README.md | sed '1d;$d' | cmp - now && echo README has it; mkdir b && cp {top}/bench/*.py {top}/bench/run b/ && printf '%b' 'a\tevent: @ = count();\t1.5\na\treport: wall clock\t0.4\nb\tevent: @ = count();\t0.7\n' >b/history.tsv && b/run --readme | sed 1,2d; printf 'c\tnothing known: x\t1\n' >>b/history.tsv; b/run --readme
NEED host
NEED cmd:python3
RC 1
STDERR PEERS does not say with what "nothing known: x" is compared
EXPECT_RE \AREADME has it\n\| time of an event: `@ = count\(\);` \| bpftrace \| 0\.7 \| b \|\n\| a report of 100,000 keys: wall clock \| bpftrace \| 0\.4 \| a \|\n\Z

NAME what README, HACKING, ARCHITECTURE and docs/runtimes.md name is there: files, targets of make, unit tests; what is not is found
RUN for f in README.md HACKING.md ARCHITECTURE.md test/README.md docs/runtimes.md; do {top}/test/run/named.py {top} {top}/$f; done; printf '`test/run/nosuch.t`, `docs/none.md`, `base/none.c`, `make nothing`, `make unit T=none`, `make deb`\n' >page.md; {top}/test/run/named.py {top} page.md
NEED host
NEED cmd:python3
EXPECT_RE \A[4-9]\d names\n1\d\d names\n1\d\d names\n\d+ names\n[2-9]\d names\nnot there: docs/none\.md\nnot there: make nothing\nnot there: make unit T=none\nnot there: src/base/none\.c\nnot there: test/run/nosuch\.t\n
EXPECT_LINE 7 names
