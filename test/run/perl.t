# Perl programs: their subs in the place of the interpreter's loops, in any probe. What is right is what caller() says (perl_stack.pl), frame by frame: sub, file and
# line.

FILE TOGETHER perl

NAME perl: calls, callbacks from C, sort, overload, tie, evals in them, string evals, signals, destructors, regular expressions, closures, END
NEED cmd:perl
RUN perl -MList::Util -e '$| = 1; print 1; sleep 600' >up & while ! test -s up; do sleep 0.1; done; {sonde} -q --why-incomplete --dwarf-pid $! -c 'perl {top}/test/run/perl_stack.pl want calls' -e 'tracepoint:syscalls:sys_enter_flock /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; kill $!; python3 {top}/test/run/py_same.py want o; tail -n 3 o
EXPECT_LINE 53 stacks of 295 frames, 53 equal
EXPECT_LINE 53 user stacks, 53 whole (100.00 %)

NAME perl: while a program is compiled (BEGIN, use), before and after it runs (INIT, END), and where its last objects go
NEED cmd:perl
RUN perl -e '$| = 1; print 1; sleep 600' >up & while ! test -s up; do sleep 0.1; done; {sonde} -q --why-incomplete --dwarf-pid $! -c 'perl {top}/test/run/perl_stack.pl want phases' -e 'tracepoint:syscalls:sys_enter_flock /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; kill $!; python3 {top}/test/run/py_same.py want o; tail -n 3 o
EXPECT_LINE 10 stacks of 42 frames, 10 equal
EXPECT_LINE 10 user stacks, 10 whole (100.00 %)

# By the copy of the walker that reads other threads' memory (iter:task), as of threads that slept before tracing began.
NAME perl: threads that sleep
NEED cmd:perl
NEED copy_from_user_task
RUN python3 {top}/test/run/asleep.py {sonde} stopped flock perl {top}/test/run/perl_stack.pl want calls >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 1 o
TIMEOUT 60
EXPECT_LINE 53 stacks of 295 frames, 53 equal
EXPECT_LINE 53 of 53 whole

NAME perl: forked workers
NEED cmd:perl
RUN {sonde} -q --why-incomplete -c 'perl {top}/test/run/perl_stack.pl want fork' -e 'tracepoint:syscalls:sys_enter_flock /comm == "perl"/ { printf("%s\n", ustack); @[ustack] = count() }' >o 2>&1; grep -c '^]: 3$' o; sed -i '/^@/,$d' o; python3 {top}/test/run/py_same.py want o
EXPECT_LINE 1
EXPECT_LINE 3 stacks of 9 frames, 3 equal

NAME perl: a deep recursion, in pieces
NEED cmd:perl
RUN {sonde} -q --why-incomplete -c 'perl {top}/test/run/perl_stack.pl want deep 3000' -e 'tracepoint:syscalls:sys_enter_flock /comm == "perl"/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 3 o
EXPECT_LINE 1 stacks of 3003 frames, 1 equal
EXPECT_LINE 1 user stacks, 1 whole (100.00 %)

NAME perl: a profile names subs, and the line that runs now; sorts whose loop is between two comparisons are whole
FEW samples
NEED cmd:perl
RETRY 2 samples
RUN printf 'sub busy {\n my $t = 0;\n while ($t >= 0) {\n  $t = $t + 1;\n  $t = $t %% 1000;\n  my @l = sort { $b <=> $a + 0 } 1 .. 9 unless $t;\n }\n}\nbusy();\n' >busy.pl; perl busy.pl & {sonde} -q --why-incomplete -p $! -e 'profile:hz:499 { @[ustack(1)] = count(); @all[ustack] = count() } interval:s:1 { exit() }' >o 2>&1; kill $!; grep -c 'main::busy.*busy.pl:[3456]\]' o | sed 's/^[1-9].*/some/'; grep -c '(main)+9 .*busy.pl:9\]' o | sed 's/^[1-9].*/some/'; grep '^[0-9]* user stacks' o
EXPECT_RE ^some\nsome\n
EXPECT_RE (99.5|100|99.[6-9]).* %

NAME perl: info -p
NEED cmd:perl
RUN perl -e '$| = 1; print 1; sleep 60' >up & while ! test -s up; do sleep 0.1; done; {sonde} info -p $!; kill $!
EXPECT_RE ^  perl 5\.\d+: /usr/bin/perl\n    functions and lines: yes\n    offsets: a table of releases in sonde\n
