# What bpftrace's documents (language, standard library, one-liners) show on kernel functions, each with a workload whose figures are known. What needs no kernel
# function is in test/peer (byte for byte) and test/run; watchpoints: watch.t, packets in files: packets.t, hardware counters: kernel.t on arm64.

NAME documents: a predicate on an argument: reads of less than 16 bytes
RUN {sonde} -q -c 'dd if=/dev/zero of=/dev/null bs=7 count=5' -e 'kprobe:vfs_read /comm == "dd" && arg2 < 16/ { printf("small read: %d byte buffer\n", arg2) }' 2>&1 | sort | uniq -c
EXPECT_RE ^ *5 small read: 7 byte buffer$
TIMEOUT 40

NAME documents: what reads return, as a linear histogram and in statistics
RUN {sonde} -q -c 'dd if=/dev/zero of=/dev/null bs=300 count=4' -e 'kretprobe:vfs_read /comm == "dd" && retval == 300/ { @bytes = lhist(retval, 0, 2000, 200) } kprobe:vfs_read /comm == "dd" && arg2 == 300/ { @s[comm] = stats(arg2); @h = hist(arg2) }'
EXPECT_RE ^@bytes: ?\n\[200, 400\) +4 \|@{52}\|$
EXPECT_RE ^@h: ?\n\[256, 512\) +4 \|
EXPECT @s[dd]: { .count = 4, .average = 300, .total = 1200 }
TIMEOUT 40

NAME documents: a time kept for each thread
RUN {sonde} -q -c 'sleep 0.3' -e 'kprobe:do_nanosleep { @start[tid] = nsecs; } kretprobe:do_nanosleep /comm == "sleep" && has_key(@start, tid)/ { printf("slept for %d ms\n", (nsecs - @start[tid]) / 1000000); delete(@start, tid); } kretprobe:vfs_read /@start[tid]/ { @never = count() } end { clear(@start) }'
EXPECT_RE \Aslept for 3\d\d ms\n\s*\Z
TIMEOUT 40

NAME documents: the one-liner that times read(): each call once
RUN {sonde} -q -c 'dd if=/dev/zero of=/dev/null bs=300 count=4' -e 'kprobe:vfs_read /comm == "dd" && arg2 == 300/ { @start[tid] = nsecs; } kretprobe:vfs_read /@start[tid]/ { @ns[comm] = hist(nsecs - @start[tid]); @n = count(); delete(@start[tid]); }'
EXPECT @n: 4
EXPECT_RE ^@ns\[dd\]: ?\n\[\S+, \S+\) +[1-4] \|
TIMEOUT 40

NAME documents: names that are looked up, from entry to return
RUN {sonde} -q -c 'cat /proc/no_such_name' -e 'kprobe:d_lookup { $name = (struct qstr *)arg1; @fname[tid] = $name.name; } kretprobe:d_lookup /@fname[tid]/ { printf("%-6d %-16s M %s\n", pid, comm, str(@fname[tid])); } end { clear(@fname) }' 2>/dev/null
EXPECT_RE ^\d+ +cat +M no_such_name$
TIMEOUT 40

NAME documents: structures of the kernel, by BTF and by its headers' names
RUN printf '#ifndef BPFTRACE_HAVE_BTF\n#include <linux/path.h>\n#include <linux/dcache.h>\n#endif\n\nkprobe:vfs_open\n{\n\tprintf("open path: %%s\\n", str(((struct path *)arg0)->dentry->d_name.name));\n}\n' >path.bt; {sonde} -q -c 'cat /proc/uptime' path.bt | grep -cx 'open path: uptime'; printf '#include <linux/path.h>\n#include <linux/dcache.h>\nkprobe:vfs_open /comm == "cat"/ { printf("%%s\\n", str(((struct path *)arg0).dentry.d_name.name)) }\n' >inc.bt; {sonde} -q -c 'cat /proc/uptime' inc.bt | grep -cx uptime
EXPECT_RE ^1\n1$
TIMEOUT 60

NAME documents: a refused connection: each segment and the reset
RUN {sonde} -q -c "python3 -c 'import socket; socket.socket().connect_ex((\"127.0.0.1\", 1))'" -e 'kprobe:tcp_reset,kprobe:tcp_v4_rcv { @[probe] = count() } rawtracepoint:vmlinux:kfree_skb { @same[arg0 == args.skb] = count() } fentry:tcp_connect { if (args.sk.__sk_common.skc_daddr == (uint32)pton("127.0.0.1")) { @here = count() } }'
EXPECT_LINE @[kprobe:tcp_reset]: 1
EXPECT_LINE @[kprobe:tcp_v4_rcv]: 2
EXPECT_LINE @here: 1
EXPECT_RE ^@same\[true\]: \d+$
EXPECT_NOT same[false]
TIMEOUT 60

NAME documents: addresses of hardware, given on the stack
NEED arch:x86_64
NEED cmd:ip
RUN sh {top}/test/vm/guest.sh veth && {sonde} -q -c "python3 -c 'import socket; s = socket.socket(); s.settimeout(1); s.bind((\"192.0.2.1\", 4330)); s.connect_ex((\"192.0.2.7\", 1234))'" -e 'kprobe:arp_create { $a = *(uint64 *)(reg("sp") + 8); $t = *(uint64 *)(reg("sp") + 16); printf("SRC %s %d\n", macaddr((uint8 *)$a), $t) }' | head -n 1 >o; cat o; cat /sys/class/net/*/address | tr a-f A-F | grep -qF "$(cut -d' ' -f2 o)" && echo known
EXPECT_RE ^SRC ([0-9A-F]{2}:){5}[0-9A-F]{2} 0$
EXPECT_LINE known
TIMEOUT 60

NAME documents: the function at the instruction pointer
RUN {sonde} -q -c 'sleep 0.1' -e 'kprobe:do_nanosleep /comm == "sleep"/ { printf("%s %s\n", ksym(reg("ip")), ksym(reg("pc"))); }'
EXPECT_LINE do_nanosleep do_nanosleep
NEED arch:x86_64
TIMEOUT 40

NAME documents: three frames of the kernel's stack, with offsets and as perf has it
RUN {sonde} -q -c '{build}/tcp 4 1 10' -e 'kprobe:ip_output { @a[kstack(3)] = count(); @b[kstack(perf, 3)] = count(); @c[len(kstack(3))] = count() }'
EXPECT_RE ^@a\[\n +ip_output\+\d+\n +\S+\+\d+\n +\S+\+\d+\n\]: \d+$
EXPECT_RE ^@b\[\n\tffff[0-9a-f]+ ip_output\+\d+.*\n\tffff.*\n\tffff.*\n\]: \d+$
EXPECT_RE ^@c\[3\]: \d+$
TIMEOUT 40

# From 6.6 on close(2) no longer calls filp_close().
NAME documents: a file's whole path, and which file a descriptor is
NEED !ksym:filp_flush
RUN {sonde} -q -c 'cat /proc/uptime' -e 'fentry:filp_close /comm == "cat"/ { @[path(args.filp.f_path)] = count() } fexit:fget /comm == "cat"/ { printf("fd %d name %s\n", args.fd, str(retval.f_path.dentry.d_name.name)); }'
EXPECT_RE ^@\[/proc/uptime\]: 1$
EXPECT_RE ^fd 3 name ld\.so\.cache$
EXPECT_RE ^fd 3 name libc.*\.so.*$
TIMEOUT 40

NAME documents: sockets by their cookie, sizes of what they received
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'fentry:tcp_rcv_established { @psize[socket_cookie(args.sk)] = hist(args.skb.len); @sent[args.skb.len - 32] = count() }'
EXPECT_RE ^@psize\[\d+\]: ?\n
EXPECT_RE ^\[128, 256\) +3 \|
EXPECT_LINE @sent[111]: 3
TIMEOUT 40

NAME documents: a signal to who comes by
RUN {sonde} -q --unsafe -c "sh -c 'sleep 9; echo ended by \$?'" -e 'kprobe:do_nanosleep /comm == "sleep"/ { signal("SIGTERM") }' 2>&1
EXPECT_RE ^ended by 143$
TIMEOUT 40

NAME documents: functions that are overridden, where the kernel was built for it
NEED !override
RUN {sonde} -q --unsafe -c id -e 'kprobe:__x64_sys_getuid /comm == "id"/ { override(2<<21); }' 2>&1
RC 1
EXPECT override

NAME documents: requests of a disk by their size
RUN sh {top}/test/vm/guest.sh ext4 && {sonde} -q -c 'dd if=/dev/zero of=/mnt/ext4/doc bs=8k count=4 oflag=direct' -e 'tracepoint:block:block_rq_issue /comm == "dd" && args.bytes == 8192/ { @ = hist(args.bytes); @sum = sum(args.bytes) }'
EXPECT_RE ^@: ?\n\[8K, 16K\) +4 \|
EXPECT_LINE @sum: 32768
TIMEOUT 60

NAME documents: all functions of a pattern, by name
RUN {sonde} -q -c '{build}/tcp 4 3 111' -e 'kprobe:tcp_reset,kprobe:*tcp_sendmsg* { @[probe] = count() }'
EXPECT_LINE @[kprobe:tcp_sendmsg]: 3
TIMEOUT 60
