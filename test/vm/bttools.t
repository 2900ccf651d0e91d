# The tools that Debian's package bpftrace ships (/usr/sbin/*.bt), unmodified, each with a workload that makes it print.

NAME bashreadline.bt
NEED file:/usr/sbin/bashreadline.bt
RUN exec {sonde} /usr/sbin/bashreadline.bt
WORKLOAD python3 -c 'if 1:
    import os, pty, re
    pid, fd = pty.fork()
    pid or os.execv("/bin/bash", ["bash", "--norc", "-i"])
    def until(what, got=b""):
        while not re.search(what, got):
            got += os.read(fd, 999)
    for text in (b"echo was here\n", b"exit\n"):
        until(rb"[#$] $")
        os.write(fd, text)
    os.waitpid(pid, 0)'
EXPECT_RE ^\S+ +\d+ +echo was here$
TIMEOUT 20
INT 0.5

# blk_account_io_start() is inlined in Debian's 6.1 and __blk_account_io_start() no longer there: bpftrace 0.17 skips them with a warning and
# prints nothing ever; the error names them.
NAME biolatency.bt, its functions are inlined here
NEED !ksym:blk_account_io_start
NEED file:/usr/sbin/biolatency.bt
RUN {sonde} /usr/sbin/biolatency.bt
RC 1
STDERR HINT: no kernel function 'blk_account_io_start'
STDERR HINT: no kernel function '__blk_account_io_start'

NAME biolatency.bt, told to go on without them
NEED !ksym:blk_account_io_start
NEED file:/usr/sbin/biolatency.bt
RUN BPFTRACE_MISSING_PROBES=warn exec {sonde} /usr/sbin/biolatency.bt
EXPECT Tracing block device I/O
STDERR WARNING: No matches for kprobe blk_account_io_start. Skipping.
INT 0.5

NAME biosnoop.bt, its functions are inlined here
NEED !ksym:blk_account_io_start
NEED file:/usr/sbin/biosnoop.bt
RUN {sonde} /usr/sbin/biosnoop.bt
RC 1
STDERR HINT: no kernel function 'blk_account_io_start'

NAME biostacks.bt, its functions are inlined here
NEED !ksym:blk_account_io_start
NEED file:/usr/sbin/biostacks.bt
RUN {sonde} /usr/sbin/biostacks.bt
RC 1
STDERR HINT: no kernel function 'blk_account_io_start'

NAME bitesize.bt
NEED file:/usr/sbin/bitesize.bt
RUN sh {top}/test/vm/guest.sh ext4 && exec {sonde} /usr/sbin/bitesize.bt
WORKLOAD dd if=/dev/zero of=/mnt/ext4/f bs=8k count=4 oflag=direct
EXPECT_RE ^@\[dd\]: ?\n(\[.*\n)*\[8K, 16K\) +4 \|
TIMEOUT 20
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
WORKLOAD dd if=/dev/urandom of=/dev/null bs=64k count=300
EXPECT_RE ^\[[01](, [12])?[\])] +\d+ \|
INT 0.5

NAME dcsnoop.bt, with a pattern that matches nothing in this kernel
NEED !ksym:lookup_fast.constprop.0
NEED file:/usr/sbin/dcsnoop.bt
RUN exec {sonde} /usr/sbin/dcsnoop.bt
WORKLOAD cat /proc/no_such_file_at_all
EXPECT_RE ^\d+ +\d+ +cat +[RM] .*no_such_file_at_all$
STDERR WARNING: no kernel function matches 'lookup_fast.constprop.*'; skipped
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

# The kernel's figures may move on once between the two readings.
NAME loads.bt: the averages are those of /proc/loadavg
NEED file:/usr/sbin/loads.bt
RUN (timeout -s INT 30 yes >/dev/null & timeout -s INT 30 yes >/dev/null & until awk '{ exit !($1 > 0.12) }' /proc/loadavg; do sleep 0.2; done; {sonde} /usr/sbin/loads.bt >l & s=$!; i=0; until grep -q averages: l || [ $i = 200 ]; do sleep 0.1; i=$((i + 1)); done; cat /proc/loadavg >p; kill -INT $s); python3 -c 'l=open("l").read().split("averages:")[1].split()[:3]; p=open("p").read().split()[:3]; print(all(abs(float(a) - float(b)) < d for a, b, d in zip(l, p, (0.5, 0.15, 0.06))), float(p[0]) > 0.1, l, p)'
EXPECT_RE ^True True
TIMEOUT 40

NAME mdflush.bt
NEED file:/usr/sbin/mdflush.bt
NEED cmd:mdadm
RUN sh {top}/test/vm/guest.sh md && exec {sonde} /usr/sbin/mdflush.bt
WORKLOAD dd if=/dev/zero of=/dev/md0 bs=4k count=1 conv=fsync
EXPECT_RE ^\S+ +\d+ +dd +md0$
TIMEOUT 20
INT 0.5

NAME naptime.bt
NEED file:/usr/sbin/naptime.bt
RUN exec {sonde} /usr/sbin/naptime.bt
WORKLOAD python3 -c 'import ctypes; ctypes.CDLL(None).syscall(35, (ctypes.c_long * 2)(0, 250000000), None)'
EXPECT_RE python3 +0\.250
INT 0.5

NAME oomkill.bt
NEED file:/usr/sbin/oomkill.bt
RUN sh {top}/test/vm/guest.sh memory && exec {sonde} /usr/sbin/oomkill.bt
WORKLOAD echo 0 >/sys/fs/cgroup/small/memory.swap.max; sh -c 'echo $$ >/sys/fs/cgroup/small/cgroup.procs; exec python3 -c "b = bytearray(b\"x\") * (40 << 20)"'
EXPECT_RE ^\S+ Triggered by PID (\d+) \("python3"\), OOM kill of PID \1 \("python3"\), 5120 pages, loadavg: [\d.]+ [\d.]+ 
TIMEOUT 20
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
INT 0.5

NAME setuids.bt
NEED file:/usr/sbin/setuids.bt
RUN exec {sonde} /usr/sbin/setuids.bt
WORKLOAD python3 -c 'import os; os.setuid(7)'
EXPECT_RE ^\S+ +\d+ +python3 +0 +setuid +uid=7 
INT 0.5

NAME ssllatency.bt, told to go on without libcrypto's debug symbols
NEED file:/usr/sbin/ssllatency.bt
NEED cmd:openssl
NEED cmd:curl
RUN BPFTRACE_MISSING_PROBES=ignore exec {sonde} /usr/sbin/ssllatency.bt
WORKLOAD openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=t -keyout k -out c; openssl s_server -accept 4433 -key k -cert c -www & until grep -q ":1151 0*:0000 0A" /proc/net/tcp /proc/net/tcp6; do sleep 0.1; done; curl -sk --http1.0 -A x -H Accept: https://127.0.0.1:4433/; kill $!
EXPECT_RE ^@stat\[SSL_write\]: \{ \.count = 1, 
EXPECT @hist[SSL_do_handshake]:
TIMEOUT 20
INT 0.5

# Its functions inside libcrypto are known with debug symbols only, as the tool itself says.
NAME sslsnoop.bt, without libcrypto's debug symbols
NEED file:/usr/sbin/sslsnoop.bt
RUN {sonde} /usr/sbin/sslsnoop.bt
RC 1
STDERR HINT: no function 'rsa_ossl_public_encrypt' in

NAME sslsnoop.bt, told to go on without them
NEED file:/usr/sbin/sslsnoop.bt
NEED cmd:openssl
NEED cmd:curl
RUN BPFTRACE_MISSING_PROBES=ignore exec {sonde} /usr/sbin/sslsnoop.bt
WORKLOAD openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=t -keyout k -out c; openssl s_server -accept 4433 -key k -cert c -www & until grep -q ":1151 0*:0000 0A" /proc/net/tcp /proc/net/tcp6; do sleep 0.1; done; curl -sk --http1.0 -A x -H Accept: https://127.0.0.1:4433/; kill $!
EXPECT_RE ^\d+ +\d+ +curl +\d+ +1 SSL_do_handshake$
EXPECT_RE ^\d+ +\d+ +curl +\d+ +55 SSL_write$
EXPECT_RE ^\d+ +\d+ +curl +\d+ +\d{3,} SSL_read$
TIMEOUT 20
INT 0.5

NAME statsnoop.bt
NEED file:/usr/sbin/statsnoop.bt
RUN exec {sonde} /usr/sbin/statsnoop.bt
WORKLOAD stat -f /usr/bin
EXPECT_RE ^\d+ +stat +\d+ +/usr/bin$
INT 0.5

NAME swapin.bt
NEED ksym:swap_readpage
NEED file:/usr/sbin/swapin.bt
RUN sh {top}/test/vm/guest.sh swap memory && exec {sonde} /usr/sbin/swapin.bt
WORKLOAD echo max >/sys/fs/cgroup/small/memory.swap.max; sh -c 'echo $$ >/sys/fs/cgroup/small/cgroup.procs; exec python3 -c "b = bytearray(b\"x\") * (40 << 20); print(sum(b[::4096]), sum(b[::4096]))"'
EXPECT_RE ^\d\d:\d\d:\d\d$
EXPECT_RE ^@\[python3, \d+\]: \d{2,}$
TIMEOUT 20
INT 1.5

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
EXPECT_RE ^\S+ +\d+ +tcp +127\.0\.0\.1 +20004 +127\.0\.0\.1 +30004 +0/1$
INT 0.5

# This one and tcpdrop.bt use variables after the blocks that assign them, which was the language until 0.21.
NAME tcpconnect.bt
NEED file:/usr/sbin/tcpconnect.bt
RUN exec {sonde} /usr/sbin/tcpconnect.bt
WORKLOAD {build}/tcp 4 1 10; {build}/tcp 6 1 10
EXPECT_RE ^\S+ +\d+ +tcp +127\.0\.0\.1 +20004 +127\.0\.0\.1 +30004
EXPECT_RE ^\S+ +\d+ +tcp +::1 +20006 +::1 +30006
STDERR WARNING: Variable $saddr is used outside the block that assigns it
INT 0.5

NAME tcpdrop.bt
NEED file:/usr/sbin/tcpdrop.bt
NEED cmd:ip
RUN sh {top}/test/vm/guest.sh veth && exec {sonde} /usr/sbin/tcpdrop.bt
WORKLOAD python3 -c 'import socket; s = socket.socket(); s.settimeout(4); s.bind(("192.0.2.1", 4321)); s.connect_ex(("192.0.2.9", 1234))'
EXPECT_RE ^\S+ +\d+ +\S+ +192\.0\.2\.1:4321 +192\.0\.2\.9:1234 +SYN_SENT +\n\s+\w+\+\d+\n
TIMEOUT 20
INT 0.5

NAME tcplife.bt
NEED file:/usr/sbin/tcplife.bt
RUN exec {sonde} /usr/sbin/tcplife.bt
WORKLOAD {build}/tcp 4 2 5000
EXPECT_RE ^\d+ +tcp +127\.0\.0\.1 +20004 +127\.0\.0\.1 +30004 +9 +0 +\d+$
INT 0.5

NAME tcpretrans.bt
NEED file:/usr/sbin/tcpretrans.bt
NEED cmd:ip
RUN sh {top}/test/vm/guest.sh veth && exec {sonde} /usr/sbin/tcpretrans.bt
WORKLOAD python3 -c 'import socket; s = socket.socket(); s.settimeout(2.5); s.bind(("192.0.2.1", 4322)); s.connect_ex(("192.0.2.8", 1234))'
EXPECT_RE ^\S+ +\d+ +192\.0\.2\.1:4322 +192\.0\.2\.8:1234 +SYN_SENT$
TIMEOUT 20
INT 0.5

NAME tcpsynbl.bt
NEED file:/usr/sbin/tcpsynbl.bt
RUN exec {sonde} /usr/sbin/tcpsynbl.bt
WORKLOAD {build}/tcp 4 1 10
EXPECT_RE ^@backlog\[1\]: ?\n
INT 0.5

# libpthread.so.0 is empty since glibc 2.34: its short name leads to libc as well.
NAME threadsnoop.bt
RETRY 2 the thread ends before it is named
NEED file:/usr/sbin/threadsnoop.bt
RUN exec {sonde} /usr/sbin/threadsnoop.bt
WORKLOAD {build}/tcp 4 1 10
EXPECT_RE ^\d+ +\d+ +tcp +serve$
INT 0.5

NAME undump.bt
NEED file:/usr/sbin/undump.bt
RUN exec {sonde} /usr/sbin/undump.bt
WORKLOAD python3 -c 'import socket; a, b = socket.socketpair(); a.send(b"hello\1"); b.recv(9)'
EXPECT_RE ^\S+ +python3 +\d+ +6 +hello\\x01$
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
INT 2.5

NAME writeback.bt
NEED file:/usr/sbin/writeback.bt
RUN sh {top}/test/vm/guest.sh ext4 && exec {sonde} /usr/sbin/writeback.bt
WORKLOAD dd if=/dev/zero of=/mnt/ext4/w bs=64k count=4; sync -f /mnt/ext4/w
EXPECT_RE ^\S+ +7:\d+ +\d+ +sync +\d+\.\d{3}$
TIMEOUT 20
INT 0.5

NAME xfsdist.bt
NEED file:/usr/sbin/xfsdist.bt
NEED cmd:mkfs.xfs
RUN sh {top}/test/vm/guest.sh xfs && exec {sonde} /usr/sbin/xfsdist.bt
WORKLOAD dd if=/dev/zero of=/mnt/xfs/f bs=4k count=3 conv=fsync; cat /mnt/xfs/f
EXPECT @us[xfs_file_write_iter]:
EXPECT @us[xfs_file_fsync]:
EXPECT @us[xfs_file_read_iter]:
EXPECT @us[xfs_file_open]:
TIMEOUT 30
INT 0.5
