# The tools that Debian's package bpftrace ships (/usr/sbin/*.bt), unmodified, each with a workload that makes it print.

NAME bashreadline.bt
NEED file:/usr/sbin/bashreadline.bt
RUN exec {sonde} /usr/sbin/bashreadline.bt
EXPECT Tracing bash commands
INT 0.5

NAME biolatency.bt: its functions are inlined in Debian's 6.1, the error names them
NEED file:/usr/sbin/biolatency.bt
RUN {sonde} /usr/sbin/biolatency.bt
RC 1
STDERR ERROR: no kernel function 'blk_account_io_start'

NAME biosnoop.bt: its functions are inlined in Debian's 6.1, the error names them
NEED file:/usr/sbin/biosnoop.bt
RUN {sonde} /usr/sbin/biosnoop.bt
RC 1
STDERR ERROR: no kernel function 'blk_account_io_start'

NAME biostacks.bt: its functions are inlined in Debian's 6.1, the error names them
NEED file:/usr/sbin/biostacks.bt
RUN {sonde} /usr/sbin/biostacks.bt
RC 1
STDERR ERROR: no kernel function 'blk_account_io_start'

NAME bitesize.bt
NEED file:/usr/sbin/bitesize.bt
RUN exec {sonde} /usr/sbin/bitesize.bt
EXPECT Tracing block device I/O
INT 0.5

NAME capable.bt
NEED file:/usr/sbin/capable.bt
RUN exec {sonde} /usr/sbin/capable.bt
WORKLOAD chown 1 {tmp}
EXPECT_RE ^\S+ +0 +\d+ +chown +\d+ +CAP_\w+
INT 0.5

NAME cpuwalk.bt
NEED file:/usr/sbin/cpuwalk.bt
RUN exec {sonde} /usr/sbin/cpuwalk.bt
WORKLOAD dd if=/dev/urandom of=/dev/null bs=64k count=2000
EXPECT_RE ^\[[01](, [12])?[\])] +\d+ \|
INT 2.3

NAME dcsnoop.bt
NEED file:/usr/sbin/dcsnoop.bt
RUN export BPFTRACE_MISSING_PROBES=warn; exec {sonde} /usr/sbin/dcsnoop.bt
WORKLOAD cat /proc/no_such_file_at_all
EXPECT_RE ^\d+ +\d+ +cat +[RM] 
INT 0.5

NAME execsnoop.bt
NEED file:/usr/sbin/execsnoop.bt
RUN exec {sonde} /usr/sbin/execsnoop.bt
WORKLOAD /bin/true --abc
EXPECT_RE ^\d+ +\d+ +/bin/true --abc$
INT 0.5

NAME gethostlatency.bt
NEED file:/usr/sbin/gethostlatency.bt
RUN exec {sonde} /usr/sbin/gethostlatency.bt
WORKLOAD getent ahosts localhost
EXPECT_RE ^\S+ +\d+ +getent +[\d.]+ +localhost$
INT 0.5

NAME killsnoop.bt
NEED file:/usr/sbin/killsnoop.bt
RUN exec {sonde} /usr/sbin/killsnoop.bt
WORKLOAD /bin/kill -0 1
EXPECT_RE ^\S+ +\d+ +kill +0 +1 +0$
INT 0.5

NAME loads.bt
NEED file:/usr/sbin/loads.bt
RUN exec {sonde} /usr/sbin/loads.bt
EXPECT_RE load averages: \d+\.\d{3} \d+\.\d{3} \d+\.\d{3}$
INT 2.3

NAME naptime.bt
NEED file:/usr/sbin/naptime.bt
RUN exec {sonde} /usr/sbin/naptime.bt
WORKLOAD python3 -c 'import ctypes; ctypes.CDLL(None).syscall(35, (ctypes.c_long * 2)(0, 250000000), None)'
EXPECT_RE python3 +0\.250
INT 0.5

NAME oomkill.bt
NEED file:/usr/sbin/oomkill.bt
RUN exec {sonde} /usr/sbin/oomkill.bt
EXPECT Tracing oom_kill_process
INT 0.5

NAME opensnoop.bt
NEED file:/usr/sbin/opensnoop.bt
RUN exec {sonde} /usr/sbin/opensnoop.bt
WORKLOAD cat /proc/uptime
EXPECT_RE ^\d+ +cat +3 +0 +/proc/uptime$
INT 0.5

NAME pidpersec.bt
NEED file:/usr/sbin/pidpersec.bt
RUN exec {sonde} /usr/sbin/pidpersec.bt
WORKLOAD true; for i in 1 2 3 4 5 6 7 8; do sleep 0.2; done
EXPECT_RE PIDs/sec: @: \d+
INT 2.3

NAME runqlat.bt
NEED file:/usr/sbin/runqlat.bt
RUN exec {sonde} /usr/sbin/runqlat.bt
EXPECT_RE ^@usecs: ?\n(\[.*\|\n)+
INT 0.5

NAME runqlen.bt
NEED file:/usr/sbin/runqlen.bt
RUN exec {sonde} /usr/sbin/runqlen.bt
EXPECT_RE ^@runqlen: ?\n\[0(, 1)?[\])]
INT 2.3

NAME setuids.bt
NEED file:/usr/sbin/setuids.bt
RUN exec {sonde} /usr/sbin/setuids.bt
WORKLOAD python3 -c 'import os; os.setuid(7)'
EXPECT_RE ^\S+ +\d+ +python3 +0 +setuid +uid=7 
INT 0.5

NAME statsnoop.bt
NEED file:/usr/sbin/statsnoop.bt
RUN exec {sonde} /usr/sbin/statsnoop.bt
WORKLOAD stat -f /usr/bin
EXPECT_RE ^\d+ +stat +\d+ +/usr/bin$
INT 0.5

NAME swapin.bt
NEED file:/usr/sbin/swapin.bt
RUN exec {sonde} /usr/sbin/swapin.bt
EXPECT_RE ^\d\d:\d\d:\d\d$
INT 2.3

NAME syncsnoop.bt
NEED file:/usr/sbin/syncsnoop.bt
RUN exec {sonde} /usr/sbin/syncsnoop.bt
WORKLOAD sync
EXPECT_RE ^\S+ +\d+ +sync +\S*sync\S*$
INT 0.5

NAME syscount.bt
NEED file:/usr/sbin/syscount.bt
RUN exec {sonde} /usr/sbin/syscount.bt
EXPECT_RE ^@syscall\[\S+\]: \d+$
INT 0.5

NAME tcpaccept.bt
NEED file:/usr/sbin/tcpaccept.bt
RUN exec {sonde} /usr/sbin/tcpaccept.bt
WORKLOAD {build}/tcp 4 1 10
EXPECT_RE ^\S+ +\d+ +tcp +127\.0\.0\.1 +40004 +127\.0\.0\.1 +50004 +0/1$
INT 0.5

# These two of bpftrace 0.17 use variables outside the blocks that assign them: the language has forbidden that since.
NAME tcpconnect.bt
NEED file:/usr/sbin/tcpconnect.bt
RUN {sonde} /usr/sbin/tcpconnect.bt
RC 1
STDERR Undefined or undeclared variable: $saddr

NAME tcpconnect.bt with its two variables declared
NEED file:/usr/sbin/tcpconnect.bt
RUN sed 's/^  if (\$inet_family == AF_INET || /  let $daddr; let $saddr;\n&/' /usr/sbin/tcpconnect.bt >{tmp}/t.bt; exec {sonde} {tmp}/t.bt
WORKLOAD {build}/tcp 4 1 10; {build}/tcp 6 1 10
EXPECT_RE ^\S+ +\d+ +tcp +127\.0\.0\.1 +40004 +127\.0\.0\.1 +50004
EXPECT_RE ^\S+ +\d+ +tcp +::1 +40006 +::1 +50006
INT 0.5

NAME tcpdrop.bt
NEED file:/usr/sbin/tcpdrop.bt
RUN {sonde} /usr/sbin/tcpdrop.bt
RC 1
STDERR Undefined or undeclared variable: $saddr

NAME tcplife.bt
NEED file:/usr/sbin/tcplife.bt
RUN exec {sonde} /usr/sbin/tcplife.bt
WORKLOAD {build}/tcp 4 2 5000
EXPECT_RE ^\d+ +tcp +127\.0\.0\.1 +40004 +127\.0\.0\.1 +50004 +9 +0 +\d+$
INT 0.5

NAME tcpretrans.bt
NEED file:/usr/sbin/tcpretrans.bt
RUN exec {sonde} /usr/sbin/tcpretrans.bt
EXPECT Tracing tcp retransmits
INT 0.5

NAME tcpsynbl.bt
NEED file:/usr/sbin/tcpsynbl.bt
RUN exec {sonde} /usr/sbin/tcpsynbl.bt
WORKLOAD {build}/tcp 4 1 10
EXPECT_RE ^@backlog\[1\]: ?\n
INT 0.5

# It wants pthread_create of libpthread.so.0, which moved to libc with glibc 2.34
NAME threadsnoop.bt
NEED file:/usr/sbin/threadsnoop.bt
RUN sed 's/libpthread/libc/' /usr/sbin/threadsnoop.bt >{tmp}/t.bt; exec {sonde} {tmp}/t.bt
WORKLOAD {build}/tcp 4 1 10
EXPECT_RE ^\d+ +\d+ +tcp +serve$
INT 0.5

NAME undump.bt
NEED file:/usr/sbin/undump.bt
RUN exec {sonde} /usr/sbin/undump.bt
WORKLOAD python3 -c 'import socket; a, b = socket.socketpair(); a.send(b"hello"); b.recv(9)'
EXPECT Dump UNIX socket packages
INT 0.5

NAME vfscount.bt
NEED file:/usr/sbin/vfscount.bt
RUN exec {sonde} /usr/sbin/vfscount.bt
WORKLOAD cat /proc/uptime
EXPECT_RE ^@\[vfs_\w+\]: \d+$
INT 0.5

NAME vfsstat.bt
NEED file:/usr/sbin/vfsstat.bt
RUN exec {sonde} /usr/sbin/vfsstat.bt
WORKLOAD for i in 1 2 3 4 5; do cat /proc/uptime; done
EXPECT_RE ^@\[vfs_\w+\]: \d+$
INT 0.5

NAME writeback.bt
NEED file:/usr/sbin/writeback.bt
RUN exec {sonde} /usr/sbin/writeback.bt
EXPECT Tracing writeback
INT 0.5
