# Run by a user who is not root, with some capabilities: with those that the messages name all works, without one of them what is missing says which.

FILE TOGETHER

NAME none: what is needed, and a command that gives it
RUN {top}/test/run/as.sh '' {build} 'sonde profile 1; echo $?; sonde -q -e "begin { exit() }"; echo $?'
NEED cmd:setpriv
TIMEOUT 60
EXPECT_RE \A1\n1\n\Z
STDERR ERROR: sonde needs root, or the capabilities CAP_BPF and CAP_PERFMON (missing: both)
STDERR setcap cap_bpf,cap_perfmon,cap_dac_read_search,cap_sys_ptrace,cap_syslog,cap_checkpoint_restore+ep /tmp/sonde-as.

NAME none: nothing is said of a kernel that could not be asked
RUN {top}/test/run/as.sh '' {build} 'sonde offcputime 1 2>&1' | cut -c1-40
NEED cmd:setpriv
TIMEOUT 60
EXPECT_RE \AERROR: sonde needs root, or the capabili\n\Z

NAME one of the two
RUN {top}/test/run/as.sh +bpf {build} 'sonde profile 1'; {top}/test/run/as.sh +perfmon {build} 'sonde profile 1'
NEED cmd:setpriv
TIMEOUT 60
RC 1
STDERR (missing: CAP_PERFMON)
STDERR (missing: CAP_BPF)

NAME the command of the message: every tool runs, stacks are whole, kernel addresses are known
LONG
FEW samples of a second
RETRY 1 samples of a second
RUN {top}/test/run/as.sh file {build} 'setcap $(own ./sonde profile 1 2>&1 | grep -o "cap_[a-z_,]*+ep") ./sonde; ./waits spin 60000 & P=$!; own ./waits spin 60000 & Q=$!; ./waits sleep 60000 20 & R=$!; started spinner $P; started spinner $Q; for p in $P $Q; do sonde profile -F 99 -U -f -p $p --why-incomplete 1 2>&1 | grep -c "spinner;clone3*;start_thread;spinner;spin_here\| (100.00 %)"; done; for t in "offcputime -U -f" "wakeuptime -f" "offwaketime -f" "stackcount -f -D"; do case $t in st*) p=t:sched:sched_switch;; *) p=;; esac; sonde $t 1 $p -p $R 2>err | grep -c "^napper;\|;napper " >n; echo $? $(grep -v "user stacks are cut\|code made at run time\|events were missed\|event was missed" err); done; sonde -q -e "begin { print(ksym(kaddr(\"schedule\"))); exit() }"; kill $P $Q $R'
NEED cmd:setcap
TIMEOUT 90
EXPECT_RE \A2\n2\n0 *\n0 *\n0 *\n0 *\nschedule\n

NAME CAP_BPF and CAP_PERFMON are enough for stacks of one's own processes
RUN {top}/test/run/as.sh +bpf,+perfmon {build} 'own ./waits spin 60000 & P=$!; started spinner $P; sonde profile -F 99 -U -f -p $P 1; sonde -q -p $P -e "uprobe:./waits:spin_here { @[ustack(2)] = count() } interval:s:1 { exit() }"; kill $P' 2>err; cat err
NEED cmd:setpriv
TIMEOUT 60
EXPECT_RE ^spinner;clone3?;start_thread;spinner;spin_here \d+$
EXPECT_RE ^@\[\n +spin_here(\+0)?\n +spinner\+\d+\n\]: \d+$
EXPECT_NOT WARNING

NAME without CAP_DAC_READ_SEARCH tracepoints cannot be had, and the message says why
RUN {top}/test/run/as.sh +bpf,+perfmon,+sys_ptrace,+syslog {build} 'for t in "offcputime 1" "offwaketime 1" "wakeuptime 1" "stackcount t:sched:sched_switch" "-e tracepoint:sched:sched_switch{}"; do sonde $t 2>err; echo $? $(grep -c "give it CAP_DAC_READ_SEARCH" err); done'
NEED cmd:setpriv
TIMEOUT 60
EXPECT_RE \A(1 [1-9]\d*\n){5}\Z

NAME with it the off-CPU tools and stackcount run
LONG
RUN {top}/test/run/as.sh +bpf,+perfmon,+dac_read_search {build} 'own ./waits sleep 60000 20 & P=$!; started napper $P; sonde offcputime -U -f -p $P 1; sonde wakeuptime -f --comm napper 1; sonde offwaketime -f -p $P 1 | tail -n 1; sonde stackcount -D 1 -U -f -p $P t:sched:sched_switch; sonde stackcount -D 1 -f -p $P c:clock_nanosleep; kill $P' 2>err
NEED cmd:setpriv
TIMEOUT 60
EXPECT_RE ^napper;clone3?;start_thread;napper;nap_outer;nap_inner;clock_nanosleep \d{5,7}$
EXPECT_RE ;napper \d{5,7}$
EXPECT_RE ^napper;clone3?;start_thread;napper;nap_outer;nap_inner;clock_nanosleep \d{1,3}$

NAME another user's process is whole with CAP_SYS_PTRACE, in a folder nobody may enter with CAP_DAC_READ_SEARCH too
LONG
RUN mkdir -m 700 shut; cp {build}/waits shut; shut/waits spin 60000 & P=$!; {build}/waits spin 60000 & Q=$!; {top}/test/run/as.sh +bpf,+perfmon,+dac_read_search,+sys_ptrace {build} "started spinner $P; started spinner $Q; sonde profile -F 99 -U -f -p $P 1; sonde profile -F 99 -U -f -p $Q 1"; kill $P $Q
NEED cmd:setpriv
TIMEOUT 60
EXPECT_RE (^spinner;clone3?;start_thread;spinner;spin_here \d+\n(.*\n)*){2}

NAME without these its stacks are cut, counted and told
RUN mkdir -m 700 shut; cp {build}/waits shut; shut/waits spin 60000 & P=$!; {top}/test/run/as.sh +bpf,+perfmon {build} "started spinner $P; sonde profile -F 99 -U -f -p $P 1"; kill $P
NEED cmd:setpriv
TIMEOUT 60
EXPECT_RE ^spinner;\S+ \d+$
EXPECT_NOT spin_here
STDERR user stacks are cut short

NAME without CAP_SYSLOG no kernel addresses, and the message says so; names of frames are there
RUN {top}/test/run/as.sh +bpf,+perfmon,+dac_read_search {build} 'sonde -q -e "begin { print(kaddr(\"schedule\")); }"; echo $?; own ./waits sleep 60000 20 & P=$!; started napper $P; sonde stackcount -D 1 -K -f -p $P t:sched:sched_switch; kill $P'; {top}/test/run/as.sh +bpf,+perfmon,+syslog {build} 'sonde -q -e "begin { print(ksym(kaddr(\"schedule\"))); exit() }"'
NEED cmd:setpriv
TIMEOUT 60
EXPECT_RE \A1\n(napper;.*\n)*napper;.*do_syscall_64;(.*\n)+schedule\n
STDERR Failed to resolve kernel symbol: schedule (needs CAP_SYSLOG)

NAME info says what is missing and what for
RUN {top}/test/run/as.sh +bpf,+perfmon,+syslog {build} 'sonde info' | grep -A4 'tracing allowed'; {sonde} info | grep -c 'without CAP_'
NEED cmd:setpriv
TIMEOUT 60
RC 1
EXPECT_RE \A  tracing allowed: yes\n  without CAP_DAC_READ_SEARCH: .*\n  without CAP_SYS_PTRACE: .*\n  without CAP_CHECKPOINT_RESTORE: .*\n\n0\n\Z

NAME the message, the manual and the README name one set
RUN C=$(grep -o '^#define ALL_CAPS "[^"]*' {top}/src/bpf/caps.c | cut -d'"' -f2); echo $C; tr -d '\\' <{top}/README.md | grep -c "$C+ep"; caps=$(sed -n 's/^caps=//p' {top}/man/sonde.1); eval "echo $(sed -n 's/^setcap \(\$caps\S*\) .*/\1/p' {top}/man/sonde.1)" | grep -c "^$C+ep$"
NEED host
EXPECT_RE \Acap_bpf,\S+\n1\n1\n\Z

NAME root of a user namespace: an error that says what to do; with a BPF token uprobes, and what needs perf events says so
NEED uprobe_multi
NEED host
RUN cp {build}/frames . && chmod 755 . frames; for t in -n ''; do {top}/test/run/bpf_token.py $t {sonde} -q -c './frames 1' -e 'uprobe:./frames:main { printf("main of %s\n", comm); exit() }' 2>err; r=$?; [ $r != 77 ] || echo 'no BPF tokens before Linux 6.9'; echo $r $(grep -c 'name it with LIBBPF_BPF_TOKEN_PATH' err); done; {top}/test/run/bpf_token.py {sonde} -q -e 'interval:ms:100 { exit() }'
TIMEOUT 60
RC 1
EXPECT_RE \A1 1\n(main of frames\n+0 0|no BPF tokens before Linux 6.9\n77 0)\n\Z
STDERR perf_event_open: Permission denied
