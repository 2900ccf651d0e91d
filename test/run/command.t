# Tools that run a command: -c 'CMD' and -- CMD ARGS. It and its children are traced, and the tool ends with it.

FILE TOGETHER

NAME a command behind -- and its children are traced, and nothing else
RUN {build}/waits spin 60000 & cp {build}/waits mine; {sonde} profile -F 99 -f -U --html p.html -o f -- sh -c './mine spin 600; true'; kill $!; grep -c '^spinner;.*spin_here' f; cut -d';' -f1 f | sort -u | grep -v '^spinner$\|^mine$\|^sh$' | wc -l; ls -s p.html | cut -c1-1 | grep -c '[1-9]'
TIMEOUT 60
RETRY 1 a number of samples
EXPECT_RE \A1\n0\n1\n\Z

NAME -c takes a command line, other tools likewise
LONG
RUN for t in 'profile -F 99' offcputime wakeuptime offwaketime 'stackcount -K'; do p=; case $t in st*) p=t:sched:sched_switch;; esac; {sonde} $t -c "sh -c '{build}/waits sleep 5 20'" $p >o; echo $? $(head -n 1 o | grep -c "$t\|waits sleep 5 20' and its children\|blocked time"); done
TIMEOUT 60
EXPECT_RE \A(0 [01]\n){5}\Z

NAME off-CPU time of a command: five naps of its thread
RUN {sonde} offcputime -U -f -- {build}/waits sleep 5 20
TIMEOUT 30
EXPECT_RE ^napper;clone3;start_thread;napper;nap_outer;nap_inner;clock_nanosleep \d+$

NAME what sonde does to start a command is no wait of it
RUN for t in 'offcputime -K' offcputime 'offcputime --by blocked' 'offcputime -U' 'offwaketime -K' offwaketime 'wakeuptime'; do {sonde} $t -f -- sleep 0.05 >o; grep -c 'sleep' o >n && echo sleeps; cat o; done | grep '^sleeps$\|^sonde;\|;sonde [0-9]*$\|;ptrace_stop;schedule\|^sleep;_start [0-9]'
TIMEOUT 40
EXPECT_RE \A(sleeps\n){7}\Z

NAME heading, and the end with the command
RUN timeout 30 {sonde} profile -c 'sleep 0.2'
TIMEOUT 40
EXPECT_LINE Sampling at 49 Hertz of 'sleep 0.2' and its children by user + kernel stack... until it ends.

NAME --status: the command's exit status, that of a signal, of one that is ended
LONG
RUN for c in 'sh -c "exit 3"' 'sh -c "kill -9 $$"' true; do {sonde} profile -f -c "$c" --status >/dev/null; echo $?; {sonde} profile -f -c "$c" >/dev/null; echo $?; done; {sonde} profile -f 1 --status -- sleep 60; echo $?
TIMEOUT 60
EXPECT_RE \A3\n0\n137\n0\n0\n0\n(.*\n)*143\n\Z

NAME -c of bcc's tools stays a number
RUN {sonde} profile -c 1000000 1 | head -n 1; {sonde} profile -c nosuchprogram 2>&1 | head -n 1; {sonde} stackcount -c 0 -D 1 t:sched:sched_switch | head -n 1; {sonde} profile --command nosuchprogram; echo $?
EXPECT_LINE Sampling at every 1000000 events of all threads by user + kernel stack for 1 secs.
EXPECT_LINE sonde profile: error: argument -c/--count: must be an integer
EXPECT_LINE Tracing 1 functions for "t:sched:sched_switch"... Hit Ctrl-C to end.
EXPECT_RE ^1$
STDERR ERROR: Failed to fork child: Path 'nosuchprogram' does not exist or is not executable

NAME what does not go together with a command
RUN for a in '--status' '-p 1 -- true' '-c true -- true' '--print-script -- true' '--' '-c "x'; do {sonde} profile $a 2>&1 | head -n 1; done
EXPECT_LINE sonde profile: error: --status needs -c CMD or -- CMD
EXPECT_LINE sonde profile: error: a command is not allowed with -p and -L/-t: what it starts is traced
EXPECT_LINE sonde profile: error: -c and -- CMD: only one command can be run
EXPECT_LINE sonde profile: error: -- needs a command to run
EXPECT_LINE sonde profile: error: --print-script is not allowed with a command: it has no process yet

NAME a script that is a tool runs a command, traced by its --pid
RUN mkdir t; printf 'config = { stack_unit = "calls"; }\nuprobe:%s:leaf /getopt_match("pid|p", pid, "PID,...: these")/ { @[ustack, comm] = count(); }\n' $PWD/mine >t/leafs.bt; cp {build}/paths mine; chmod go-w t t/leafs.bt; SONDE_PATH=$PWD/t {sonde} leafs --folded --status -- ./mine 8 | awk '/leaf/ { s += $NF } END { print (s > 0) }'
TIMEOUT 40
EXPECT_RE \A1\n\Z
