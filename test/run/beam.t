# Erlang's functions, compiled as they are loaded: whole and named on their processes' own stacks. What is right is what process_info(current_stacktrace) says (beam_stack.erl).

FILE TOGETHER

NAME Erlang: callbacks, comprehensions, exceptions, binaries, other processes
RETRY 1 code that is loaded just then
NEED cmd:erl
NEED arch:x86_64
TIMEOUT 60
RUN cp {top}/test/run/beam_stack.erl . && erlc beam_stack.erl; {top}/test/run/beam.sh +S 2:2 -noshell -s beam_stack main -extra w 300 & until [ -e w.up ]; do sleep 0.1; done; {sonde} -q --why-incomplete --dwarf-pid $! -c 'sh -c "touch w.go; until [ -e w.done ]; do sleep 0.1; done"' -e "tracepoint:syscalls:sys_enter_rt_sigaction /pid == $!/ { printf(\"%s\\n\", ustack) }" >o 2>e; kill $!; python3 {top}/test/run/beam_same.py w o; cat e
EXPECT_RE ^300 stacks of 3\d\d\d frames, 300 equal$
EXPECT_LINE 300 user stacks, 300 whole (100.00 %)

NAME Erlang: lines, as it tells GDB of them
RETRY 1 code that is loaded just then
NEED cmd:erl
NEED arch:x86_64
TIMEOUT 60
RUN cp {top}/test/run/beam_stack.erl . && erlc beam_stack.erl; {top}/test/run/beam.sh +S 2:2 -noshell -s beam_stack main -extra w 300 & until [ -e w.up ]; do sleep 0.1; done; {sonde} -q --lines --dwarf-pid $! -c 'sh -c "touch w.go; until [ -e w.done ]; do sleep 0.1; done"' -e "tracepoint:syscalls:sys_enter_rt_sigaction /pid == $!/ { printf(\"%s\n\", ustack) }" >o 2>e; kill $!; python3 {top}/test/run/beam_same.py w o lines
EXPECT_RE ^lines of [5-9]\d % of the frames\n300 stacks of \d+ frames, 300 equal$

NAME Erlang at work: on the process's stack, in C that its code calls, and in the scheduler
FEW samples
RETRY 1 samples
NEED cmd:erl
NEED arch:x86_64
TIMEOUT 60
RUN cp {top}/test/run/beam_stack.erl . && erlc beam_stack.erl; {top}/test/run/beam.sh +S 2:2 -noshell -s beam_stack main -extra w -1 & until [ -e w.up ]; do sleep 0.1; done; touch w.go; {sonde} profile -F 499 -U --why-incomplete -f -p $! 4 >o 2>e; kill $!; awk '/user stacks/ { gsub(",", ""); print ($1 > 200), ($4 + $(NF - 5) >= 0.99 * $1) }' e; grep -c '^[^;]*;erts_beamasm:normal_exit/0;.*beam_stack:work/1;' o | sed 's/^[1-9].*/named/'; head -5 e
EXPECT_RE ^1 1$
EXPECT_LINE named

NAME Erlang 29, whose list for GDB has no symbol (Debian sid's, where test/workload/runtimes.py --fetch has unpacked it): equal to its own account, and at work
LONG
RETRY 1 samples
NEED runtimes:sid/usr/lib/erlang
NEED arch:x86_64
TIMEOUT 120
RUN export ERL_OF=sid; b={top}/test/run/beam.sh; cp {top}/test/run/beam_stack.erl . && $b -noshell -eval 'compile:file("beam_stack.erl"), halt().'; $b +S 2:2 -noshell -s beam_stack main -extra w 300 & until [ -e w.up ]; do sleep 0.1; done; {sonde} info -p $! | grep -o 'OTP 25, 27 and 29\|names, and stacks where it tells how: of [0-9]*'; {sonde} -q --why-incomplete --lines --dwarf-pid $! -c 'sh -c "touch w.go; until [ -e w.done ]; do sleep 0.1; done"' -e "tracepoint:syscalls:sys_enter_rt_sigaction /pid == $!/ { printf(\"%s\n\", ustack) }" >o 2>e; kill $!; python3 {top}/test/run/beam_same.py w o lines; cat e; rm -f w*; $b +S 2:2 -noshell -s beam_stack main -extra w -1 >/dev/null & until [ -e w.up ]; do sleep 0.1; done; touch w.go; {sonde} profile -F 499 -U --why-incomplete -f -p $! 4 >o 2>e; kill $!; awk '/user stacks/ { gsub(",", ""); print ($1 > 200), ($4 + $(NF - 5) >= 0.99 * $1) }' e; grep -c '^[^;]*;erts_beamasm:normal_exit/0;.*beam_stack:work/1;' o | sed 's/^[1-9].*/named/'; head -5 e
EXPECT_RE \AOTP 25, 27 and 29\nnames, and stacks where it tells how: of \d{3}
EXPECT_RE ^lines of \d+ % of the frames\n300 stacks of 3\d\d\d frames, 300 equal\n300 user stacks, 300 whole \(100.00 %\)$
EXPECT_RE ^1 1\nnamed\n

NAME as Erlang's emulator where its list has no symbol: found among what may be one, also if it tells late
RUN gcc -O2 -s -rdynamic -o hiddencode {top}/test/workload/hiddencode.c; for ms in 0 1500; do {sonde} -q -c "./hiddencode 20 $ms" -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid/ { @[ustack] = count() }' 2>&1 | sed -n 's/^ *\(fake:.*\)/\1/p; s/.*WARNING.*/&/p; s/^\]: //p'; done
EXPECT_RE \Afake:inner/1\+6\nfake:outer/0\+9\n20\nfake:inner/1\+6\nfake:outer/0\+9\n20\n\Z
