# PHP programs: their functions in the place of the interpreter's loops, in any probe. What is right is what the interpreter says of its own stack
# (php_stack.php), frame by frame: function, file and line; functions in C by their names.

FILE TOGETHER php

NAME php: calls, methods, callbacks from C, generators, closures, eval, destructors, magic methods
NEED cmd:php
RUN {sonde} -q --why-incomplete -c 'php {top}/test/run/php_stack.php want calls' -e 'tracepoint:syscalls:sys_enter_flock /comm == "php"/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 3 o
EXPECT_LINE 16 stacks of 95 frames, 16 equal
EXPECT_LINE 16 user stacks, 16 whole (100.00 %)

NAME php 8.5: the same (Debian experimental's, where test/workload/runtimes.py --fetch has unpacked it)
LONG
NEED runtimes:experimental/usr/bin/php8.5
NEED arch:x86_64
RUN r=${SONDE_RUNTIMES:-$HOME/.cache/sonde-runtimes}/experimental; p="$r/usr/lib64/ld-linux-x86-64.so.2 --library-path $r/usr/lib/x86_64-linux-gnu $r/usr/bin/php8.5 -n"; $p -r 'sleep(100);' & {sonde} -q --why-incomplete --dwarf-pid $! -c "$p {top}/test/run/php_stack.php want calls" -e 'tracepoint:syscalls:sys_enter_flock /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; kill $!; python3 {top}/test/run/py_same.py want o; grep 'whole (' o
TIMEOUT 60
EXPECT_LINE 16 stacks of 95 frames, 16 equal
EXPECT_LINE 16 user stacks, 16 whole (100.00 %)

NAME php 8.5: the tracing JIT, from the start on
LONG
NEED runtimes:experimental/usr/bin/php8.5
NEED arch:x86_64
RETRY 2 the first stacks of a program that has just been started, on a busy machine
RUN r=${SONDE_RUNTIMES:-$HOME/.cache/sonde-runtimes}/experimental; p="$r/usr/lib64/ld-linux-x86-64.so.2 --library-path $r/usr/lib/x86_64-linux-gnu $r/usr/bin/php8.5 -n -d pcre.jit=0 -d opcache.enable_cli=1 -d opcache.jit_buffer_size=64M -d opcache.jit=tracing"; {sonde} -q --why-incomplete -c "$p {top}/test/workload/phpload.php want 2000" -e 'tracepoint:syscalls:sys_enter_flock /pid == cpid/ { @[ustack] = count(); }' 2>&1 | grep -o '^2000 user stacks, [0-9]* whole ([0-9]*.[0-9]'
TIMEOUT 60
EXPECT_RE ^2000 user stacks, \d+ whole \((100.0|99.[5-9])\n

# A fiber's stack ends where it began; on with the frames of who resumed it.
NAME php: fibers, in one another, in callbacks and generators, thrown into
NEED cmd:php
RUN {sonde} -q --why-incomplete -c 'php {top}/test/run/php_stack.php want fibers' -e 'tracepoint:syscalls:sys_enter_flock /comm == "php"/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 3 o
EXPECT_LINE 9 stacks of 78 frames, 9 equal
EXPECT_LINE 9 user stacks, 9 whole (100.00 %)

# By the copy of the walker that reads other threads' memory (iter:task), as of threads that slept before tracing began.
NAME php: threads that sleep
NEED copy_from_user_task
NEED cmd:php
RUN python3 {top}/test/run/asleep.py {sonde} stopped flock php {top}/test/run/php_stack.php want calls >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 1 o
TIMEOUT 60
EXPECT_LINE 16 stacks of 95 frames, 16 equal
EXPECT_LINE 16 of 16 whole

NAME php: offcputime of a thread that has slept since before
NEED cmd:php
NEED copy_from_user_task
RUN php -r 'function nap() { sleep(100); } function work() { nap(); } touch("up"); work();' & p=$!; until [ -e up ]; do sleep 0.1; done; sleep 0.3; {sonde} offcputime -U -f -p $p 1 2>&1 | grep -o ';{main};work;nap;sleep;.* '; kill $p
EXPECT_RE \A;\{main\};work;nap;sleep;.*nanosleep \n\Z

NAME php: forked workers
NEED cmd:php
RUN {sonde} -q --why-incomplete -c 'php {top}/test/run/php_stack.php want fork' -e 'tracepoint:syscalls:sys_enter_flock /comm == "php"/ { printf("%s\n", ustack); @[ustack] = count() }' >o 2>&1; grep -c '^]: 3$' o; sed -i '/^@/,$d' o; python3 {top}/test/run/py_same.py want o
EXPECT_LINE 1
EXPECT_LINE 3 stacks of 9 frames, 3 equal

NAME php: a deep recursion, in pieces
NEED cmd:php
RUN {sonde} -q --why-incomplete -c 'php {top}/test/run/php_stack.php want deep 3000' -e 'tracepoint:syscalls:sys_enter_flock /comm == "php"/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 3 o
EXPECT_LINE 1 stacks of 3004 frames, 1 equal
EXPECT_LINE 1 user stacks, 1 whole (100.00 %)

NAME php: a profile names functions, and the line that runs now
FEW samples
NEED cmd:php
RETRY 2 samples
RUN printf '<?php\nfunction busy() {\n $t = 0;\n while ($t >= 0) {\n  $t = $t + 1;\n  $t = $t %% 1000;\n }\n}\nbusy();\n' >busy.php; php busy.php & {sonde} -q --why-incomplete -p $! -e 'profile:hz:499 { @[ustack(1)] = count(); @all[ustack] = count() } interval:s:1 { exit() }' >o 2>&1; kill $!; grep -c 'busy.php:[456]\]' o | sed 's/^[1-9].*/some/'; grep -c 'busy.php:9\]' o | sed 's/^[1-9].*/some/'; grep '^[0-9]* user stacks' o
EXPECT_RE ^some\nsome\n
EXPECT_RE (99.5|100|99.[6-9]).* %

NAME php: functions that opcache has compiled, as they stand in callbacks
NEED cmd:php
RETRY 2 the first stacks of a program that has just been started, on a busy machine
RUN J="-d opcache.enable_cli=1 -d opcache.jit_buffer_size=64M -d opcache.jit=function"; php $J {top}/test/workload/phpload.php 600 & until grep -q 'r-xs.*zero' /proc/$!/maps; do sleep 0.1; done; {sonde} -q --dwarf-pid $! --why-incomplete -c "php $J {top}/test/workload/phpload.php want 300" -e 'tracepoint:syscalls:sys_enter_flock /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; kill $!; grep -c "opcache's code" o; python3 {top}/test/run/py_same.py want o; grep -o '^300 user stacks, 300 whole' o
EXPECT_RE ^0\n300 stacks of \d+ frames, 300 equal\n300 user stacks, 300 whole

NAME php: patterns that PCRE has compiled
FEW samples
NEED cmd:php
RETRY 2 samples
RUN printf '<?php\n$t = str_repeat("ab 12 cd x ", 20000);\nfunction find($t) {\n preg_match_all("/(?:[a-c]+ (\\\\d+)) (?=cd)/", $t, $m);\n}\nfor (;;)\n find($t);\n' >find.php; php find.php & sleep 1; {sonde} -q --why-incomplete --dwarf-pid $! -p $! -e 'profile:hz:499 { @[ustack] = count() } interval:s:2 { exit() }' >o 2>&1; kill $!; grep -c 'pattern of PCRE' o | sed 's/^[1-9].*/some/'; grep '^[0-9]* user stacks' o
EXPECT_RE ^some\n.*(99.[5-9]|100).* %

NAME php: info -p
NEED cmd:php
RUN php -r 'echo 1; sleep(60000);' >up & while ! test -s up; do sleep 0.1; done; {sonde} info -p $!; kill $!
EXPECT_RE ^  php 8\.\d+\.\d+: /usr/bin/php\S+\n    functions and lines: yes\n    offsets: a table of releases in sonde\n
