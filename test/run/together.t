# Programs of several languages in one process, one of which calls the other: the functions of each stand where its own interpreter runs.

FILE TOGETHER together

NAME Python that calls Lua that calls Python, also three times in one another: whole, in order
NEED cmd:python3
NEED file:/usr/lib/x86_64-linux-gnu/liblua5.4.so.0
RUN l=/usr/lib/x86_64-linux-gnu/liblua5.4.so.0; python3 {top}/test/run/together.py $l up 0 600 & p=$!; until grep -q lua5.4 /proc/$p/maps; do sleep 0.1; done; for d in 0 3; do rm -f want; {sonde} -q --why-incomplete --dwarf-pid $p -c "python3 {top}/test/run/together.py $l want $d" -e 'tracepoint:syscalls:sys_enter_rename /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 1 o; done; kill $p
EXPECT_RE ^1 stacks of 7 frames, 1 equal\n1 user stacks, 1 whole \(100.00 %\)\n1 stacks of 25 frames, 1 equal\n1 user stacks, 1 whole \(100.00 %\)
