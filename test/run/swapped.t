# User stacks whose outer frames are swapped out: the walk is made again as the thread leaves the kernel, where it may wait for them.

NAME each event has the whole stack, under one key
NEED task work
NEED swap
RUN python3 {top}/test/run/swapped.py "{sonde} -q -c '{copy:coldstack} 20' -e 'tracepoint:syscalls:sys_enter_getppid /comm == \"{name:coldstack}\"/ { @all = count(); @[ustack, comm] = count(); @sum[ustack] = sum(2) }'" >o 2>&1; echo $?; grep -c '^ *deep+' o; grep -c '^ *main+' o; sed -n 's/^\(@all\|, coldstack.*\]\|\]\): \(.*\)/\2/p' o; grep -c WARN o; true
TIMEOUT 60
EXPECT_RE \A0\n200\n2\n20\n20\n40\n0\n\Z

NAME what waits is looked at with its length, printed, and by a tool
NEED task work
NEED swap
RUN python3 {top}/test/run/swapped.py "{sonde} -q -c '{copy:coldstack} 3' -e 'tracepoint:syscalls:sys_enter_getppid /comm == \"{name:coldstack}\"/ { printf(\"%d\n\", len(ustack) < 2000); @ = ustack }'; {sonde} stackcount -f -U t:syscalls:sys_enter_getppid -c '{copy:coldstack} 20'" >o 2>&1; echo $?; grep -c '^1$' o; grep -c '^{name:coldstack};.*main;deep;.*;leaf;.* 20$' o; grep -c 'cut short' o
TIMEOUT 60
EXPECT_RE \A0\n3\n1\n\d\n\Z

NAME where the kernel cannot call later they are cut, each is told and counted once
NEED swap
RUN python3 {top}/test/run/swapped.py "{sonde} -q --no-feature task_work --strict -c '{copy:coldstack} 20' -e 'tracepoint:syscalls:sys_enter_getppid /comm == \"{name:coldstack}\"/ { @[ustack] = count() }'" >o 2>&1; echo $?; grep -c main o; grep -o '20 of 20 user stacks are cut short (stack memory could not be read 20)' o
TIMEOUT 60
EXPECT_RE \A3\n0\n20 of 20 user stacks are cut short .*\n\Z
