# Settings whose meaning is bpftrace's (docs/language.md there) and that once did nothing here.

FILE TOGETHER

NAME max_bpf_progs: one program too many is an error that says what to do
RUN S='begin { } end { } interval:ms:1 { printf("ran\n"); exit() }'; {sonde} -q -e "config = { max_bpf_progs = 2 } $S"; echo $?; {sonde} -q -e "config = { max_bpf_progs = 3 } $S"; echo $?; BPFTRACE_MAX_BPF_PROGS=1 {sonde} -q -e "$S"; echo $?
EXPECT_RE \A1\nran\n+0\n1\n\Z
STDERR ERROR: The script makes 3 BPF programs, max_bpf_progs allows 2
STDERR ERROR: The script makes 3 BPF programs, max_bpf_progs allows 1
STDERR HINT: raise the limit with config = { max_bpf_progs = 3 } or BPFTRACE_MAX_BPF_PROGS=3

NAME max_bpf_progs counts programs, not the places of one
RUN {sonde} -q -e 'config = { max_bpf_progs = 1 } tracepoint:sched:sched_process_* { @ = 1 } ' --dry-run; echo $?
EXPECT_LINE 0

NAME on_stack_limit: larger values are not on the BPF stack, and the result is the same
RUN S='begin { @[cpu * 0, 7, 9] = 5; print(@[cpu * 0, 7, 9]); exit() }'; for n in 8 64; do {sonde} -e "config = { on_stack_limit = $n } $S" -d ir,maps >d; grep -c '^slot s. 16' d; grep -c sonde_scratch d; {sonde} -q -e "config = { on_stack_limit = $n; print_maps_on_exit = false } $S"; done
EXPECT_RE \A0\n1\n5\n+[1-9]\n0\n5\n+\Z

NAME log_size: so much of the verifier's log
RUN S='begin { @ = 1; @a = 2; @b = 3; @c = 4; exit() }'; {sonde} -q -d verifier -e "config = { log_size = 200; print_maps_on_exit = false } $S" | wc -c | awk '{print ($1 < 500)}'; {sonde} -q -d verifier -e "config = { print_maps_on_exit = false } $S" | wc -c | awk '{print ($1 > 600)}'
EXPECT_RE \A1\n1\n\Z

NAME log_size below and above what the kernel takes
RUN {sonde} -e 'config = { log_size = 127 } begin { }'; echo $?; {sonde} -q -d verifier -e 'config = { log_size = 33554432 } begin { exit() }'; echo $?
EXPECT_RE \A\s*0\nverifier log of begin:\n(.*\n)*0\n\Z

NAME cpp_demangle = false: stacks, usym and func have mangled names; a demangled attach point is still found
NEED cmd:g++
RUN printf 'namespace ns { struct box { __attribute__((noipa)) void put(int); }; void box::put(int) { __asm__ volatile(""); } }\nint main() { ns::box b; b.put(1); }\n' >m.cc; g++ -O0 -g -o mangled m.cc; S='uprobe:./mangled:cpp:"ns::box::put" { print(func); print(usym(reg("ip"))); print(ustack(1)); exit() }'; for v in 1 0; do BPFTRACE_CPP_DEMANGLE=$v {sonde} -q -c ./mangled -e "$S"; done | sed '/^$/d;s/+0x.*\|+[0-9]*$//;s/^ *//'
EXPECT_RE \A(ns::box::put\(int\)\n){3}(_ZN2ns3box3putEi\n){3}\Z
TIMEOUT 60

NAME stacks of a program that is probed by a relative path have its whole one
RUN cp {copy:calls} ./mine; {sonde} -q -c ./mine -e 'uprobe:./mine:add { print(ustack(perf, 1)); exit() }' | sed '/^$/d;s/^[^(]*//' | sed "s,$(pwd -P),HERE,"
EXPECT_RE \A\(HERE/mine\)\n\Z

NAME show_debug_info: frames with file and line, as with --lines
LONG
NEED cmd:gcc
RUN printf '__attribute__((noipa)) void here(void) { __asm__ volatile(""); }\nint main(void) {\n\there();\n}\n' >l.c; gcc -O0 -g -o lined l.c; S='uprobe:./lined:here { print(ustack(2)); exit() }'; for v in true false; do {sonde} -q -c ./lined -e "config = { show_debug_info = $v } $S" | grep -c 'l\.c:3'; done; {sonde} -q --lines -c ./lined -e "$S" | grep -c 'l\.c:3'
EXPECT_RE \A1\n0\n1\n\Z
TIMEOUT 60

NAME use_blazesym is known, and says that false changes nothing
RUN for v in true false; do {sonde} -q -e "config = { use_blazesym = $v } begin { exit() }" 2>&1; done | grep .; BPFTRACE_USE_BLAZESYM=0 {sonde} -q -e 'begin { exit() }' 2>&1 | grep .
EXPECT_RE \Astdin:1:12-32: WARNING: use_blazesym = false has no effect: .*\nconfig .*\n *~+\nWARNING: use_blazesym = false has no effect: .*\n\Z

NAME max_probes = 0 allows none, and a limit is all that is told of
RUN for n in 0 1; do {sonde} -q -e "config = { max_probes = $n } begin { print(1) } end { }" 2>&1; done | grep .
EXPECT_RE \AERROR: Can't attach to 2 probes because it exceeds the current limit of 0 probes\.\nHINT: .*max_probes = 2.*\nERROR: Can't attach to 2 probes because it exceeds the current limit of 1 probes\.\nHINT: .*max_probes = 2.*\n\Z

NAME a map without room for a key is told by what says so
RUN {sonde} -q -e 'let @a = hash(0); begin { @a[1] = 1; exit() }' 2>&1; {sonde} -q -e 'config = { max_map_keys = 0 } begin { @b[1] = 1; exit() }' 2>&1; {sonde} -q -e 'config = { max_map_keys = 0 } begin { @c = 3; exit() }'
EXPECT_RE \Astdin:1:1-18: ERROR: @a has room for no key: its size is 0\n.*\n.*\nHINT: 1 is the least\nstdin:1:39-44: ERROR: @b has room for no key: max_map_keys is 0\n.*\n.*\nHINT: 1 is the least\n\s*@c: 3\n\Z

NAME lazy_symbolication = false has no effect, which is said once, with the reason
RUN {sonde} -q -e 'config = { lazy_symbolication = false } begin { printf("ran\n"); exit() }' 2>e; grep -c 'lazy_symbolication = false has no effect: names are looked up when they are printed' e; BPFTRACE_LAZY_SYMBOLICATION=0 {sonde} -q -e 'begin { exit() }' 2>&1 | grep -c 'has no effect'; {sonde} -q -e 'config = { lazy_symbolication = true } begin { exit() }' 2>&1 | grep -c 'has no effect'; true
EXPECT_RE \Aran\n+1\n1\n0\n\Z
