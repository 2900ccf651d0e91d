# Stacks that were wrong with a straight face: each case, its workload and its known answer. What programs at work show of them, compared with eu-stack and
# gdb, prints test/workload/truth.py.

FILE TOGETHER

NAME recursion deeper than one entry has its root, in every output
RUN {build}/deep recursion 3000 600000 & P=$!; {sonde} profile -p $P -F 499 -f --why-incomplete 1 >o 2>e; grep -c ' whole (100.00 %)' e; awk -F';' 'NF > 3001 { print NF, $1, $2, $(NF-3001), $NF }' o | grep -v '\[truncated\]' | sort -k6,6n | tail -n 1; {sonde} -q -p $P -e 'profile:hz:499 { @[len(ustack), len(ustack(1000))] = count() } interval:s:1 { exit() }' | sort -t: -k2 -rn | head -n 1; kill $P
TIMEOUT 30
EXPECT_RE ^300[6-8] deep _start descend spin_leaf \d+$
EXPECT_RE ^@\[300[5-7], 1000\]: \d+$

NAME recursion of 16,384 frames, in turns
RUN {build}/deep mutual 16384 600000 & P=$!; {sonde} -q -p $P -e 'profile:hz:99 { @n++; @[ustack] = count(); if (@n == 60) { exit() } }' >o 2>e; kill $P; awk '/^@\[/ { e = o = 0 } / even\+/ { e++ } / odd\+/ { o++ } / _start\+/ { print e, o }' o | sort -u
TIMEOUT 30
EXPECT_LINE 8193 8192

NAME what is deeper still is cut, counted as cut and marked in text, folded stacks, pictures and pprof
LONG
FEW samples
NEED cmd:gunzip
RUN ulimit -s unlimited; {build}/deep recursion 100000 600000 & P=$!; {sonde} profile -p $P -F 99 -f --flame x.svg --pprof x.pb.gz --why-incomplete 1 >o 2>e; grep -c 'deeper than the frame limit' e || head -c 900 o e; grep -c '^deep;\[truncated\];descend;' o | awk '{ print ($1 > 0) }'; grep -c -F '[truncated]' x.svg | awk '{ print ($1 > 0) }'; gunzip <x.pb.gz | grep -a -c -F '[truncated]'; {sonde} profile -p $P -F 99 1 2>/dev/null | grep -c '^    \[truncated\]$' | awk '{ print ($1 > 0) }'; {sonde} -q -p $P -e 'profile:hz:99 { @n++; @[ustack] = count(); if (@n == 20) { exit() } }' 2>/dev/null | grep -c '^  *\[truncated\]$' | awk '{ print ($1 > 0) }'; kill $P
TIMEOUT 60
EXPECT_RE \A[1-9]\d*\n1\n1\n1\n1\n1\n\Z

NAME a limit that the script gives is no cut, no limit given is none
RUN {build}/deep recursion 300 600000 & P=$!; {sonde} -q --why-incomplete -p $P -e 'profile:hz:99 { @n++; @a[ustack(3)] = count(); @b[len(ustack(perf))] = count(); if (@n == 20) { exit() } }' 2>&1; kill $P
EXPECT_RE ^(\d+) user stacks, \1 whole
EXPECT_RE ^@b\[30[5-7]\]: \d+$
EXPECT_NOT [truncated]

NAME assembly whose frame is found by a register that only callees leave alone
FEW shares of samples
NEED cmd:openssl
NEED host
NEED arch:x86_64
RUN openssl speed -seconds 10 -evp aes-128-gcm -bytes 16384 >/dev/null 2>&1 & P=$!; sleep 0.5; {sonde} profile -p $P -F 499 --why-incomplete -f -U 2 2>&1 >o | sed 's/,.*whole (\(...\).*/ \1/'; kill $P; awk '{ n += $NF; if (/^openssl;_start;/) r += $NF } END { print (n > 100 && r > 0.99 * n) ? "rooted" : n " " r }' o
TIMEOUT 30
EXPECT_RE ^\d+ user stacks (100|99\.)
EXPECT_LINE rooted

NAME coroutines end where makecontext began them
FEW shares of samples
NEED arch:x86_64
RETRY 1 samples
RUN {build}/deep coroutines 600000 & P=$!; {sonde} profile -p $P -F 499 --why-incomplete -f -U 1 2>&1; kill $P
EXPECT_RE ^(\d+) user stacks, \1 whole
EXPECT_RE ^deep;[^;]+;coro_body;coro_leaf \d+$
EXPECT_NOT deep;[deep]

# Each instruction of swapcontext between the new stack pointer and the return address there.
NAME swapcontext where it has changed stacks already
NEED arch:x86_64
RUN python3 {top}/test/run/swapcontext.py {sonde} {build}/deep
EXPECT_RE \A([7-9]|[1-9]\d+) instructions, all stacks whole\n\Z

# glibc's tables of i386's swapcontext forget a push: samples in its system call are cut.
NAME coroutines of 32-bit code
FEW shares of samples
RETRY 1 samples
NEED 32-bit
RUN {build}/deep32 coroutines 600000 & P=$!; {sonde} profile -p $P -F 499 -f -U 1 2>/dev/null | sed 's/ [0-9]*$//' | grep -v swapcontext; kill $P
EXPECT_RE ^deep32;[^;]+;coro_body;coro_leaf$
EXPECT_NOT deep32;[deep32]
EXPECT_NOT truncated

# Samples hit the instruction that is executed elsewhere and the trampoline of returns. While the kernel replaces a return address the true one is lost, even
# half written (rep movsb): such stacks are cut and say so.
NAME under uprobes that fire all the time
LONG
FEW shares of samples
RETRY 1 a share of samples
NEED host
RUN {build}/deep probed 100000000 & P=$!; {sonde} -q -p $P -e 'uprobe:{build}/deep:probed_leaf { @ = count() } uprobe:{build}/deep:probed_mid { @b = count() } uretprobe:{build}/deep:probed_mid { @c = count() }' >/dev/null & T=$!; sleep 1; {sonde} profile -p $P -F 1999 --why-incomplete -f -U 2 2>e >o; kill $T; kill $P; awk '{ n += $NF; if (/^deep;_start;(__libc_start[a-z_]*;)*main(;__strcmp[a-z0-9_]*|;strcmp@plt|;probed_mid(;probed_leaf)?)? /) r += $NF; else if (!/^deep(;.truncated.;.*)? [0-9]+$/) print "wrong: " $0 } END { print (n > 100 && r > 0.98 * n) ? "right" : n " " r }' o | tail -n 5; cat e
TIMEOUT 30
EXPECT_LINE right
EXPECT_NOT wrong:
