# What scripts of earlier bpftrace versions do and today's language has other words for.

FILE TOGETHER

NAME a number is dereferenced
RUN cp {build}/calls .; {sonde} -q -c ./calls -e 'uprobe:./calls:name_of { @[*arg0 & 0xff] = count() }'
EXPECT_LINE @[110]: 10
STDERR WARNING: 'int64' is no pointer: 8 bytes are read at that address

NAME a library that glibc merged into libc, by its short name
NEED file:/lib/*/libpthread.so.0
RUN {sonde} -q -c '{build}/tcp 4 1 10' -e 'uprobe:libpthread:pthread_create { @[func, usym(arg2)] = count() }'
EXPECT_RE ^@\[pthread_create, serve\]: 1$

NAME arrows, keys and functions of the first versions
PROG BEGIN { @a[1, "x"] = 2; if (@a[1, "x"]) { delete(@a[1, "x"]) } $t = (struct task_struct *)curtask; printf("%d %d\n", $t->tgid == pid, len(@a)); clear(@a); exit() }
EXPECT_LINE 1 0

NAME -d goes on when called bpftrace
RUN ln -s {sonde} {tmp}/bpftrace; {tmp}/bpftrace -q -d ast -e 'begin { print(42); exit() }'
EXPECT_LINE 42

NAME --dry-run as bpftrace says nothing
RUN ln -s {sonde} {tmp}/bpftrace; for o in --dry-run ''; do {tmp}/bpftrace $o -e 'begin { print(42); exit() }' 2>&1; echo "status $?"; done
EXPECT_RE \Astatus 0\nAttached 1 probe\n42\n\s*status 0\n\Z

NAME what the kernel refuses is status 255 when called bpftrace
RUN ln -s {sonde} {tmp}/bpftrace; {tmp}/bpftrace -e 'let @a = hash(0); begin { @a[1] = 1; exit() }'
RC 255
