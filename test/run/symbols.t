FILE TOGETHER

NAME a different binary mounted at the same path in a container
NEED cmd:cc
NEED cmd:unshare
RUN printf 'volatile int s; __attribute__((noipa)) void NAME(void) { for (int i = 0; i < 100000; i++) s += i; } int main() { for (;;) NAME(); }' >a.c; cc -O2 -DNAME=inside_work -o inside a.c; cc -O2 -DNAME=outside_work_of_another_length -o inplace a.c; timeout 8 unshare -m sh -c 'mount --bind inside inplace && exec ./inplace' & sleep 1; {sonde} profile -f -U -F 99 --comm inplace 1; kill $!
TIMEOUT 30
EXPECT_RE ^inplace;_start;__libc_start_main;__libc_start_call_main;main;inside_work \d+$
EXPECT_NOT outside_work

NAME a perf map in a pid namespace, of a process that has ended
LONG
RETRY 1 samples of a process that ends
NEED cmd:node
NEED cmd:unshare
RUN timeout -s KILL 80 unshare -m -p -f --mount-proc sh -c 'mount -t tmpfs none /tmp && cd / && exec node --perf-basic-prof -e "function hotFunctionOfMine(n) { return n < 2 ? n : hotFunctionOfMine(n - 1) + hotFunctionOfMine(n - 2) } for (;;) hotFunctionOfMine(25)"' & i=0; until p=$(pgrep -P $(pgrep -P $!)) && grep -qs hotFunctionOfMine /proc/$p/root/tmp/perf-*.map; do sleep 0.1; i=$((i + 1)); [ $i -lt 400 ] || exit 1; done; export __BPFTRACE_NOTIFY_PROBES_ATTACHED=1; {sonde} profile --native -f -U -F 99 --comm node 6 >o & s=$!; until grep -qs ATTACHED o; do sleep 0.1; done; sleep 2; kill -9 $p; wait $s; cat o
TIMEOUT 80
EXPECT_RE ^node;_start;__libc_start_main;.*;node::Start\(int, char\*\*\);.*;JS:.?hotFunctionOfMine \[eval\].* \d+$

NAME code that its perf map names only later has that name from then on
NEED arch:x86_64
RUN python3 {top}/test/run/mapnames.py {sonde} late
TIMEOUT 60
EXPECT_RE \Anone\nnew_function\n\Z

NAME code put where other code was, and perf maps that are written anew or replaced by another file: the names of then
NEED arch:x86_64
RUN for c in again anew replaced; do python3 {top}/test/run/mapnames.py {sonde} $c; done
TIMEOUT 120
EXPECT_RE \A(old_function\nnew_function\n){3}\Z

NAME link-time optimisation's suffix is cut, a clone's stays
NEED cmd:cc
RUN printf '#include "b.h"\nvoid one(void) { busy(100000); busy(s & 1 ? 90000 : 80000); }' >a.c; printf '#include "b.h"\nvoid one(void); int s; int main() { for (;;) { one(); busy(70000); busy(s + 60000); } }' >b.c; printf 'extern volatile int s; __attribute__((noinline)) static void busy(int n) { for (int i = 0; i < n; i++) s += i; }' >b.h; sed -i 's/int s; //; s/^#include/volatile int s;\n#include/' b.c; cc -O2 -flto -o lto a.c b.c; nm lto | grep -c 'busy.lto_priv'; timeout 60 ./lto & sleep 1; {sonde} profile -f -U -F 99 -p $! 1; {sonde} profile -f -U -F 99 --comm lto 1; kill $!
TIMEOUT 30
EXPECT_LINE 2
EXPECT_RE ^lto;_start;__libc_start_main;__libc_start_call_main;main;(one;)?busy \d+$
EXPECT_NOT lto_priv

NAME inlined C++ functions and lines, in tools and scripts
LONG
NEED cmd:c++
RUN printf 'volatile long s;\nnamespace ns { template <class T> struct Box { T v;\n__attribute__((always_inline)) inline T twice() const { T r = v; for (int i = 0; i < 10000; i++) r = r * 3 + s; return r; } };\n__attribute__((noinline)) long spin(Box<long> const &b) { return b.twice(); } }\nint main() { ns::Box<long> b{3}; for (;;) s = ns::spin(b); }' >in.cc; c++ -O2 -g -o inl in.cc; timeout 60 ./inl & sleep 1; {sonde} profile -f -U -F 99 --inlines --comm inl 1; {sonde} profile -U -F 99 --inlines --lines --comm inl 1; {sonde} -q --inlines --lines -e 'profile:hz:99 /comm == "inl"/ { @[ustack] = count(); } interval:s:1 { exit(); }'; kill $!
TIMEOUT 40
EXPECT_RE ^inl;_start;.*;main;ns::spin\(ns::Box<long> const&\);ns::Box<long>::twice\(\) const \d+$
EXPECT_RE ^    \[inlined\] ns::Box<long>::twice\(\) const@/.*/in\.cc:3\n    ns::spin\(ns::Box<long> const&\)@/.*/in\.cc:4\n    main@/.*/in\.cc:5$
EXPECT_RE ^ +\[inlined\] ns::Box<long>::twice\(\) const@/.*/in\.cc:3\n +ns::spin\(ns::Box<long> const&\)\+\d+@/.*/in\.cc:4\n +main\+\d+@/.*/in\.cc:5$

NAME a stripped binary, deleted and gone before the report: object and start of the function
LONG
NEED cmd:cc
RUN printf 'volatile int s; __attribute__((noipa)) void work(void) { for (int i = 0; i < 100000; i++) s += i; } int main() { for (;;) work(); }' >a.c; cc -O2 -s -o bare a.c; export __BPFTRACE_NOTIFY_PROBES_ATTACHED=1; gone() { ./bare & b=$!; sleep 0.5; rm bare; "$@" >o & s=$!; until grep -qs ATTACHED o; do sleep 0.1; done; sleep 2; kill -9 $b; wait $s; cat o; rm o; }; gone {sonde} profile -U -F 99 --comm bare 4; cc -O2 -s -o bare a.c; gone {sonde} -q -e 'profile:hz:99 /comm == "bare"/ { @[ustack] = count(); } interval:s:4 { exit(); }'
TIMEOUT 60
EXPECT_RE ^    \[bare\+0x[0-9a-f]+\]\n    \[bare\+0x[0-9a-f]+\]\n    __libc_start_call_main\n    __libc_start_main\n    _start\n    - +bare \(\d+\)$
EXPECT_RE ^ +\[bare\+0x[0-9a-f]+\]\+\d+\n +\[bare\+0x[0-9a-f]+\]\+\d+\n +__libc_start_call_main\+\d+\n +__libc_start_main\+\d+\n +_start\+\d+$
EXPECT_NOT [unknown]

NAME debuginfod, when it is configured
LONG
NEED cmd:cc
RUN printf 'volatile int s; __attribute__((noipa)) static void known_to_the_server(void) { for (int i = 0; i < 100000; i++) s += i; } int main() { for (;;) known_to_the_server(); }' >a.c; cc -O2 -g -Wl,--build-id -o dbgd a.c; id=$(readelf -n dbgd | sed -n 's/.*Build ID: //p'); mkdir -p web/buildid/$id; objcopy --only-keep-debug dbgd web/buildid/$id/debuginfo; strip -s dbgd; rm -f a.c; python3 -u -m http.server -d web -b 127.0.0.1 0 >log 2>&1 & web=$!; until grep -q "port [0-9]" log; do sleep 0.1; done; ./dbgd & sleep 0.5; port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' log); DEBUGINFOD_CACHE_PATH=$PWD/cache DEBUGINFOD_URLS=http://127.0.0.1:$port {sonde} profile -f -U -F 99 --comm dbgd 1; {sonde} profile -f -U -F 99 --comm dbgd 1; kill $web $!
TIMEOUT 40
EXPECT_RE ^dbgd;_start;__libc_start_main;__libc_start_call_main;main;known_to_the_server \d+$
EXPECT_RE ^dbgd;_start;__libc_start_main;__libc_start_call_main;\[dbgd\+0x[0-9a-f]+\];\[dbgd\+0x[0-9a-f]+\] \d+$

NAME stubs of the procedure linkage table
NEED cmd:cc
NEED arch:x86_64
RUN printf 'long poke(long); int main() { for (long s = 0;;) s += poke(s); }' >a.c; printf 'long poke(long x) { return x + 1; }' >b.c; cc -O2 -shared -fPIC -o libpoke.so b.c; cc -O2 -fcf-protection=none -z lazy -o plt a.c -L. -lpoke -Wl,-rpath,$PWD; timeout 60 ./plt & sleep 1; {sonde} profile -f -U -F 999 --comm plt 2; {sonde} profile -f -U -F 999 --comm plt 1; kill $!
TIMEOUT 30
EXPECT_RE ^plt;_start;__libc_start_main;__libc_start_call_main;main;poke@plt \d+$

NAME BPF programs and kernel modules in kernel symbols
FEW it looks at every symbol of the kernel
RUN {sonde} -q -e 'interval:s:100 { @x = 1; }' & sleep 2; grep -i ' t ' /proc/kallsyms | awk '$4 != "" && n[$4]++ < 5 {printf "begin { printf(\"%%s %s\\n\", ksym(0x%s)); }\n", $3, $1}' >s.bt; grep -c bpf_prog_ s.bt; {sonde} -q s.bt | awk '{split($1, p, "+"); print (p[1] == $2 ? "named" : "wrong " $0)}' | sort | uniq -c; kill $!
TIMEOUT 30
EXPECT_NOT wrong
EXPECT_RE ^ +\d+ named$

NAME damaged libraries in a process
FEW it traces the whole machine
NEED cmd:cc
RUN {top}/test/workload/corrupt.py {sonde} $PWD
TIMEOUT 60
EXPECT_LINE ok

NAME hostile names of programs, functions, paths and perf maps
LONG
FEW it traces the whole machine
NEED cmd:cc
NEED arch:x86_64
RUN {top}/test/workload/hostile.py {sonde} $PWD
TIMEOUT 90
EXPECT_LINE ok
