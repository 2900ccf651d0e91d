# The tools' printed scripts run by themselves count what the tools count (test/run/same.py): the same events, seen by both at once.
# Counts are equal; times differ by the moments at which the two are called, samples by chance.

FILE TOGETHER

NAME scripts: stackcount
LONG
EXTRA codesize.py compares the programs, anytool.t the reports
RETRY 2 two tracers end at different moments
RUN {top}/test/run/same.py {sonde} 0 '{build}/waits calls 30000 1 61' caller61 'stackcount {build}/waits:counted_call' 'stackcount -p PID -P -s {build}/waits:counted_call' 'stackcount -K -i 1 {build}/waits:twice_*' 'stackcount --depth 3 -d -U -l {build}/waits --comm call* twice_a' 'stackcount -r --tree -p PID --per-thread {build}/waits:twice_[ab]'
TIMEOUT 60
EXPECT_RE \A(same stackcount .*\n){5}\Z

NAME scripts: stackcount of tracepoints and static probes
LONG
EXTRA codesize.py compares the programs, anytool.t the reports
RUN {top}/test/run/same.py {sonde} 0 '{build}/usdt 1000 200' usdt 'stackcount -f u:{build}/usdt:*' 'stackcount -p PID u:{build}/usdt:*' 'stackcount -K -p PID t:syscalls:sys_enter_exit_group' 'stackcount -U --comm usdt t:syscalls:sys_enter_exit*'
TIMEOUT 60
EXPECT_RE \A(same stackcount .*\n){4}\Z

NAME scripts: offcputime
LONG
ALONE times and samples of two tracers
RETRY 2 times as two tracers see them
RUN {top}/test/run/same.py {sonde} 1 '{build}/waits sleep 20 50 62' napper62 'offcputime' 'offcputime -p PID -i 1' 'offcputime -u -f --by=blocked,runq' 'offcputime --complete=off -K -m 1000' 'offcputime --tree -p PID --per-thread -U -d --state 1'
TIMEOUT 60
EXPECT_RE \A(same offcputime.*\n){5}\Z

NAME scripts: offwaketime and wakeuptime
LONG
ALONE times and samples of two tracers
RUN {top}/test/run/same.py {sonde} 1 '{build}/waits lock 20 50 63' waiter63 offwaketime 'offwaketime --chain 3' 'offwaketime -p PID -U -i 1' 'offwaketime --per-thread -K --state 1' wakeuptime 'wakeuptime -p PID -m 1000 -i 1'
TIMEOUT 60
EXPECT_RE \A(same (offwaketime|wakeuptime).*\n){6}\Z

NAME scripts: profile
ALONE times and samples of two tracers
RUN {top}/test/run/same.py {sonde} 20 '{build}/waits spin 1500' spinner 'profile -p PID -F 499' 'profile -c 2000000 -U -p PID' 'profile -K --per-thread -p PID -F 499 --depth 5' 'profile --tree -p PID -F 499 -i 1 -d -a -u'
TIMEOUT 60
EXPECT_RE \A(same profile .*\n){4}\Z
