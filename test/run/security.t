# What a hostile process or file can put in sonde's way: docs/security.md. The large ones are in test/workload/hostile.py and corrupt.py.

FILE TOGETHER

NAME a perf map names code; a FIFO, a link or a device in its place is not read, and nothing hangs
NEED cmd:gcc
NEED host
RUN gcc -O2 -o jit {top}/test/workload/jit.c; echo '0 7fffffffff00 made_here' >map; for w in 'cp map' 'mkfifo' 'ln -s {tmp}/map' 'mknod -m 666'; do sh -c "m=/tmp/perf-\$\$.map; case '$w' in mknod*) mknod -m 666 \$m c 1 5;; *) $w \$m;; esac; exec ./jit 1000000000" & P=$!; until grep -q jit /proc/$P/comm; do sleep 0.05; done; timeout 20 {sonde} -q -p $P -e "tracepoint:syscalls:sys_enter_getppid /pid == $P/ { @[ustack] = count(); @n++; if (@n == 5) { exit() } }" >o 2>e; echo "$w" | cut -d' ' -f1; echo $? $(grep -c made_here o) $(grep -c '^\]: [1-9]' o); kill $P; wait $P 2>/dev/null; rm -f /tmp/perf-$P.map; done
TIMEOUT 90
EXPECT_RE \Acp\n0 1 1\nmkfifo\n0 0 1\nln\n0 0 1\nmknod\n0 0 1\n\Z

NAME probes in what is no regular file: an error, and nothing hangs
RUN mkfifo f; ln -s /dev/zero z; for p in f z /dev/zero /proc/kmsg .; do timeout 10 {sonde} -e "uprobe:$p:x { @ = count() }" >o 2>e; echo "$? $(grep -c ERROR e)"; timeout 10 {sonde} -l "uprobe:$p:*" >o 2>e; echo $?; done | sort | uniq -c | sed 's/^ *//'
TIMEOUT 60
EXPECT_RE ^5 1 1$
EXPECT_NOT 124

NAME profiles that are FIFOs without a writer, devices, folders
LONG
RUN mkfifo f; for p in /dev/zero . {sonde}; do timeout 20 {sonde} report $p >o 2>e; echo $?; done; timeout 5 {sonde} report f; echo $?
TIMEOUT 60
EXPECT_RE \A1\n1\n1\n124\n\Z

NAME once it traces it is nobody's, may read and no more, gains nothing, and is behind a filter, in all threads; --keep-privileges
RUN {build}/waits spin 60000 & W=$!; for o in '' --keep-privileges; do {sonde} profile -F 49 -p $W $o >o 2>e & P=$!; for i in $(seq 150); do grep -qE "Tracing|Sampling" o && [ $(ls /proc/$P/task | wc -l) -ge 3 ] && { [ "$o" ] || ! grep -L '^Seccomp:.2' /proc/$P/task/*/status | grep -q .; } && break; sleep 0.1; done; cat /proc/$P/task/*/status | grep -E '^(Uid|CapEff|CapPrm|NoNewPrivs|Seccomp):' | sort -u | tr -s '\t' ' ' | sed "s/^/${o:-drop} /" | if [ "$o" ]; then grep -v Cap; else cat; fi; sleep 2; kill -INT $P; wait $P; grep -c spin_here o; done; kill $W
RETRY 2 samples of two seconds in a crowd
TIMEOUT 60
EXPECT_RE \Adrop CapEff: 000001c400080004\ndrop CapPrm: 000001c400080004\ndrop NoNewPrivs: 1\ndrop Seccomp: 2\ndrop Uid: 0 65534 65534 65534\n[1-9]\d*\n--keep-privileges NoNewPrivs: 0\n--keep-privileges Seccomp: 0\n--keep-privileges Uid: 0 0 0 0\n[1-9]\d*\n\Z

NAME a command has all of root's rights, and so has what a script runs
RUN {sonde} -q -c 'grep -E NoNewPrivs|Seccomp:|Uid /proc/self/status' -e 'END { printf("seen\n") }' >o; grep -oE '^(Uid.*|NoNewPrivs.*|Seccomp:.*|seen)' o | tr -s '\t' ' '; {sonde} -q --unsafe -e 'interval:ms:100 { system("grep -E ^NoNewPrivs /proc/self/status"); exit() }' | tr -s '\t' ' '
EXPECT_RE ^Uid: 0 0 0 0$
EXPECT_RE ^NoNewPrivs: 0\n(.*\n)*NoNewPrivs: 0$
EXPECT_LINE Seccomp: 0

NAME files of a folder that only root may enter are written, once and each interval, and programs that start later in one are named
RUN mkdir -m 700 shut; cp {build}/waits shut/later; (sleep 1; exec shut/later spin 60000) & W=$!; {sonde} profile -F 99 -U -f --comm spinner -o shut/o --flame shut/f.svg --pprof shut/p 4; {sonde} profile -F 99 -p $W -i 1 --flame shut/%s.svg 2 >/dev/null; kill $W; head -c 5 shut/f.svg; ls shut; grep -c 'spinner;spin_here [1-9]' shut/o
TIMEOUT 60
EXPECT_RE \A<\?xml0001.svg\n0002.svg\n(0003.svg\n)?f.svg\nlater\no\np\n[1-9]\n\Z

# The debug file that an object in another root names by its link (.gnu_debuglink).
NAME what a program in another root calls its debug file is looked for there: a link to the host's file, a FIFO and a device are not read, and nothing hangs
NEED cmd:gcc
NEED cmd:objcopy
NEED host
NEED arch:x86_64
RUN gcc -g -O2 -static -o prog {top}/test/progs/frames.c -lpthread && objcopy --only-keep-debug prog prog.debug && mkdir -p root/.debug && strip -o root/caged prog && objcopy --add-gnu-debuglink=prog.debug root/caged || exit 1; d=root/.debug/prog.debug; for w in 'cp prog.debug' 'ln -s {tmp}/prog.debug' 'ln -s ../../../../../../../..{tmp}/prog.debug' 'mkfifo' 'mknod -m 666'; do rm -f $d; case "$w" in mknod*) $w $d c 1 5;; *) $w $d;; esac; timeout 20 {sonde} -q -c 'chroot {tmp}/root /caged calls 5 200' -e 'tracepoint:syscalls:sys_enter_getppid /comm == "caged"/ { @[ustack] = count() }' >o 2>e; echo "$? $(grep -c '^ *inner+' o | sed 's/[1-9].*/named/') $(grep -c '^ *.caged+0x' o | sed 's/[1-9].*/places/') $(awk '/^\]: / { n += $2 } END { print n }' o)"; done
TIMEOUT 120
EXPECT_RE \A0 named 0 5\n(0 0 places 5\n){4}\Z

NAME code in a mapped device: counted, nothing hangs
NEED cmd:python3
NEED host
NEED arch:x86_64
RUN printf 'import ctypes, mmap, os, time\nf = os.open("/dev/zero", os.O_RDWR)\nm = mmap.mmap(f, 4096, flags=mmap.MAP_PRIVATE, prot=7)\nm.write(bytes.fromhex("b86e0000000f05c3"))\nopen("/proc/self/comm", "w").write("devicecode")\ncall = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\ntime.sleep(0.1)\n[call() for i in range(5)]\nprint([l.split()[1::4] for l in open("/proc/self/maps") if l.endswith("/dev/zero\\n")])\n' >d.py; timeout 30 {sonde} -q -c 'python3 d.py' -e 'tracepoint:syscalls:sys_enter_getppid /comm == "devicecode"/ { @[ustack] = count() }' >o 2>e; echo $? $(grep -c '^\]: 5' o); grep -o "'rwxp', '/dev/zero'" o
TIMEOUT 60
EXPECT_RE \A0 1\n'rwxp', '/dev/zero'\n\Z

# A program's debug information names the file that has its inlined functions; libdw opens it, whatever it is.
NAME the .dwo file that a program names is opened for root's program, not for nobody's, one that others may write to or one in another root; a FIFO in its place does not hang
NEED cmd:gcc
NEED host
RUN printf '#include <sys/syscall.h>\n#include <unistd.h>\nstatic inline __attribute__((always_inline)) long deep(void) { long r = 0; for (int i = 0; i < 3; i++) r += syscall(SYS_getppid); return r; }\nlong __attribute__((noipa)) outer(void) { return deep() + 1; }\nint main(void) { usleep(300000); long r = outer(); usleep(300000); return r < 0; }\n' >p.c; gcc -O2 -g -gsplit-dwarf -c p.c && gcc -static -o named p.o && mkdir root || exit 1; t() { timeout -k 1 20 {sonde} -q --inlines -c "$2" -e 'tracepoint:syscalls:sys_enter_getppid /comm == "named"/ { @[ustack] = count() }' >o 2>e; echo "$1: $? $(grep -c 'inlined. deep' o) $(grep -c '^ *outer+' o)"; }; t root ./named; chown 65534 named; t nobody ./named; chown 0 named; chmod o+w named; t writable ./named; chmod o-w named; cp named root/; rm p.dwo; mkfifo p.dwo; t container 'chroot {tmp}/root /named'; chown 65534 named; t nobody ./named
TIMEOUT 120
EXPECT_RE \Aroot: 0 1 1\nnobody: 0 0 1\nwritable: 0 0 1\ncontainer: 0 0 1\nnobody: 0 0 1\n\Z

NAME what attaches to processors that come is nobody's, behind a filter, holds sockets and programs and nothing else, and ends with sonde, killed or not
NEED file:/sys/devices/system/cpu/hotplug/states
RUN for k in INT KILL; do rm -f o; {sonde} -q -e 'profile:hz:49 { @ = count() } interval:s:60 { exit() } BEGIN { printf("begun\n") }' >o & P=$!; until grep -q begun o; do sleep 0.1; done; H=; for c in $(cat /proc/$P/task/*/children); do [ "$(cat /proc/$c/comm)" != sonde-cpus ] || H=$c; done; for i in $(seq 100); do grep -q '^Seccomp:.2' /proc/$H/status && ls -l /proc/$H/fd | grep -q bpf-prog && break; sleep 0.1; done; grep -E '^(Uid|CapEff|NoNewPrivs|Seccomp):' /proc/$H/status | tr -s '\t' ' '; ls -l /proc/$H/fd | sed -n 's/.*-> \(socket\|anon_inode:bpf-prog\|.*\).*/\1/p' | sed 's/socket:.*/socket/' | sort | uniq -c | tr -s ' '; kill -$k $P; wait $P; for i in $(seq 50); do grep -q '^State:.[^Z]' /proc/$H/status 2>/dev/null || break; sleep 0.1; done; grep '^State:.[^Z]' /proc/$H/status 2>/dev/null || echo $k: gone; done
TIMEOUT 60
EXPECT_RE \A(\n|@: \d+\n)*(Uid: 0 65534 65534 65534\nCapEff: 000001c400080004\nNoNewPrivs: 1\nSeccomp: 2\n 1 anon_inode:bpf-prog\n 2 socket\n(INT|KILL): gone\n){2}\Z
