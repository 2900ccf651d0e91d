# Watchpoints: memory that a process writes.

NAME watchpoint on an address of a process
NEED arch:x86_64
RUN {sonde} -q -c {build}/watch -e "watchpoint:0x$(nm {build}/watch | sed -n 's/ B counter$//p'):8:w { @[usym(reg(\"ip\"))] = count() }"
EXPECT_LINE @[increment]: 10
EXPECT_LINE @[main]: 20

NAME watchpoint on what a function's argument points to, from its first call on
RUN case $(uname -m) in x86_64) r=ip ;; *) r=pc ;; esac; {sonde} -c {build}/watch -e 'watchpoint:increment+arg1:8:w { @[usym(reg("'$r'"))] = count() }'
STDERR Attached 1 probe
EXPECT_LINE @[increment]: 20
EXPECT_LINE @[main]: 19
EXPECT_NOT __watch

NAME asyncwatchpoint, of a running process
RETRY 1 the breakpoint is set while the process runs
RUN case $(uname -m) in x86_64) r=ip ;; *) r=pc ;; esac; {build}/watch 100000 & p=$!; until readlink /proc/$p/exe | grep -q watch; do sleep 0.05; done; {sonde} -q -p $p -e 'asyncwatchpoint:increment+arg1:8:w { if (@n++ == 9) { print(usym(reg("'$r'"))); exit() } }'; kill $p
EXPECT_RE ^(increment|main)$

NAME unwatch
NEED arch:x86_64
RUN a=0x$(nm {build}/watch | sed -n 's/ B counter$//p'); {sonde} -q -c {build}/watch -e "watchpoint:$a:8:w { @n = count(); if (@n == 5) { unwatch($a) } }"
EXPECT_RE ^@n: ([5-9]|1\d)$
