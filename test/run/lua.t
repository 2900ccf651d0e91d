# Lua programs: their functions in the place of the interpreter's loop, in any probe. What is right is what Lua says of its own stack (lua_stack.lua; tracebacks are
# made of the same), frame by frame: name, file and line; functions in C by name.

FILE TOGETHER lua

NAME lua 5.4: methods, metamethods, iterators, callbacks from C, tail calls, protected calls, chunks of text, names
NEED cmd:lua5.4
RUN {sonde} -q --why-incomplete -c 'lua5.4 {top}/test/run/lua_stack.lua want calls' -e 'tracepoint:syscalls:sys_enter_rename /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 3 o
EXPECT_LINE 57 stacks of 363 frames, 57 equal
EXPECT_LINE 57 user stacks, 57 whole (100.00 %)

NAME lua 5.3: the same
NEED cmd:lua5.3
RUN {sonde} -q --why-incomplete -c 'lua5.3 {top}/test/run/lua_stack.lua want calls' -e 'tracepoint:syscalls:sys_enter_rename /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 3 o
EXPECT_LINE 57 stacks of 363 frames, 57 equal
EXPECT_LINE 57 user stacks, 57 whole (100.00 %)

NAME lua 5.1: the same
NEED cmd:lua5.1
RUN {sonde} -q --why-incomplete -c 'lua5.1 {top}/test/run/lua_stack.lua want calls' -e 'tracepoint:syscalls:sys_enter_rename /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 3 o
EXPECT_LINE 55 stacks of 352 frames, 55 equal
EXPECT_LINE 55 user stacks, 55 whole (100.00 %)

# By the copy of the walker that reads other threads' memory (iter:task), as of threads that slept before tracing began.
NAME lua: threads that sleep
NEED copy_from_user_task
NEED cmd:lua5.4
RUN python3 {top}/test/run/asleep.py {sonde} stopped rename lua5.4 {top}/test/run/lua_stack.lua want calls >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 1 o
TIMEOUT 60
EXPECT_LINE 57 stacks of 363 frames, 57 equal
EXPECT_LINE 57 of 57 whole

NAME lua: coroutines in one another, also resumed behind protected calls
NEED cmd:lua5.4
NEED cmd:lua5.3
NEED cmd:lua5.1
RUN for v in 5.4 5.3 5.1; do rm -f want; {sonde} -q --why-incomplete -c "lua$v {top}/test/run/lua_stack.lua want coroutines" -e 'tracepoint:syscalls:sys_enter_rename /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 3 o; done
EXPECT_RE ^14 stacks of 143 frames, 14 equal\n[^%]*14 user stacks, 14 whole \(100.00 %\)\n14 stacks of 143 frames, 14 equal\n[^%]*14 user stacks, 14 whole \(100.00 %\)\n10 stacks of 100 frames, 10 equal\n[^%]*10 user stacks, 10 whole

NAME lua: finalizers
NEED cmd:lua5.4
RUN {sonde} -q --why-incomplete -c 'lua5.4 {top}/test/run/lua_stack.lua want finalizers' -e 'tracepoint:syscalls:sys_enter_rename /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 3 o
EXPECT_LINE 2 stacks of 13 frames, 2 equal

NAME lua: a deep recursion, in pieces
NEED cmd:lua5.4
RUN {sonde} -q --why-incomplete -c 'lua5.4 {top}/test/run/lua_stack.lua want deep 3000' -e 'tracepoint:syscalls:sys_enter_rename /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 3 o
EXPECT_LINE 1 stacks of 3005 frames, 1 equal
EXPECT_LINE 1 user stacks, 1 whole (100.00 %)

NAME lua: a library in a program without names of its own, as applications have it
NEED cmd:lua5.4
NEED file:/usr/lib/x86_64-linux-gnu/liblua5.4.so.0
RUN l=/usr/lib/x86_64-linux-gnu/liblua5.4.so.0; echo 'io.write(1) io.flush() while true do end' >up.lua; {build}/luahost $l up.lua >up & u=$!; while ! test -s up; do sleep 0.1; done; {sonde} -q --why-incomplete --dwarf-pid $u -c "{build}/luahost $l {top}/test/run/lua_stack.lua want calls" -e 'tracepoint:syscalls:sys_enter_rename /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; kill $u; python3 {top}/test/run/py_same.py want o; tail -n 3 o
EXPECT_LINE 57 stacks of 306 frames, 57 equal
EXPECT_LINE 57 user stacks, 57 whole (100.00 %)

NAME lua: a coroutine that a program in C resumes, as HAProxy does: also functions that have yielded in others
NEED file:/usr/lib/x86_64-linux-gnu/liblua5.4.so.0
NEED file:/usr/lib/x86_64-linux-gnu/liblua5.3.so.0
RUN echo 'io.write(1) io.flush() while true do end' >up.lua; for v in 5.4 5.3; do rm -f up want; l=/usr/lib/x86_64-linux-gnu/liblua$v.so.0; {build}/luahost $l up.lua >up & u=$!; while ! test -s up; do sleep 0.1; done; {sonde} -q --why-incomplete --dwarf-pid $u -c "{build}/luahost -r $l {top}/test/run/lua_stack.lua want resumed" -e 'tracepoint:syscalls:sys_enter_rename /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; kill $u; python3 {top}/test/run/py_same.py want o; tail -n 1 o; grep -c lua_resume o; done
EXPECT_RE \A(14 stacks of 106 frames, 14 equal\n14 user stacks, 14 whole \(100.00 %\)\n18\n){2}\Z

NAME lua: where a closure takes its upvalues, and the loop has its registers for something else: four allocations a call
NEED cmd:lua5.4
NEED cmd:lua5.3
NEED cmd:lua5.1
RUN printf 'local function make(a, b)\n  local c = a + b\n  return function() return a + b + c end\nend\nfor i = 1, 1000 do make(i, 1) end\n' >closures.lua; for v in 5.4 5.3 5.1; do {sonde} -q --why-incomplete -c "lua$v closures.lua" -e 'uprobe:libc:malloc /pid == cpid/ { @[ustack] = count() }' >o 2>&1; awk 'BEGIN { RS = "@\\[\n" } /make\+/ && /main chunk/ && match($0, /\]: [0-9]+/) { n += substr($0, RSTART + 3, RLENGTH - 3) } END { print n }' o; tail -n 1 o; done
EXPECT_RE ^4000\n\d+ user stacks, \d+ whole \(100.00 %\)\n4000\n\d+ user stacks, \d+ whole \(100.00 %\)\n4000\n\d+ user stacks, \d+ whole \(100.00 %\)

NAME lua: a profile names functions, and the line that runs now
FEW samples
NEED cmd:lua5.4
RETRY 2 samples
RUN printf 'local function busy()\n  local t = 0\n  while t >= 0 do\n    t = t + 1\n    t = t %% 1000\n    if t == 0 then table.sort({3, 1, 2}, function(a, b) return a < b end) end\n  end\nend\nbusy()\n' >busy.lua; lua5.4 busy.lua & {sonde} -q --why-incomplete -p $! -e 'profile:hz:499 { @[ustack(1)] = count(); @all[ustack] = count() } interval:s:1 { exit() }' >o 2>&1; kill $!; grep -c 'busy.*busy.lua:[3456]\]' o | sed 's/^[1-9].*/some/'; grep -c 'main chunk+.*busy.lua:9\]' o | sed 's/^[1-9].*/some/'; grep '^[0-9]* user stacks' o
EXPECT_RE ^some\nsome\n
EXPECT_RE (99.5|100|99.[6-9]).* %

NAME lua: info -p
NEED cmd:lua5.4
RUN lua5.4 -e 'print(1) io.stdout:flush() os.execute("sleep 60")' >up & while ! test -s up; do sleep 0.1; done; {sonde} info -p $!; kill $!
EXPECT_RE ^  lua 5\.4\.\d+: /usr/bin/lua5.4\n    functions and lines: yes\n    offsets: 

NAME luajit: the interpreter: what the Lua programs above do, and coroutines
NEED cmd:luajit
RUN for w in calls coroutines; do rm -f want; {sonde} -q --why-incomplete -c "luajit -joff {top}/test/run/lua_stack.lua want $w" -e 'tracepoint:syscalls:sys_enter_rename /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o; tail -n 3 o; done
EXPECT_RE ^54 stacks of 341 frames, 54 equal\n[^%]*54 user stacks, 54 whole \(100.00 %\)\n10 stacks of 100 frames, 10 equal\n[^%]*10 user stacks, 10 whole

NAME luajit: in nginx
NEED cmd:luajit
NEED cmd:curl
NEED file:/usr/lib/nginx/modules/ngx_http_lua_module.so
RUN d=$PWD; port=$((20000 + $$ % 20000)); { for m in ndk_http ngx_http_lua; do echo "load_module /usr/lib/nginx/modules/${m}_module.so;"; done; for t in client_body proxy fastcgi uwsgi scgi; do tmp="$tmp ${t}_temp_path $d/$t;"; done; echo "user root; worker_processes 1; daemon off; pid $d/pid; error_log $d/err; events { } http { access_log off; $tmp init_by_lua_block { require('jit').off() } server { listen 127.0.0.1:$port; location / { content_by_lua_block {"; printf 'local function inner()\n  os.rename("", "")\nend\nlocal function handle(what)\n  table.sort({2, 1}, function(a, b) inner() return a < b end)\n  ngx.say(what)\nend\nhandle("said")\n'; echo "} } } }"; } >c; nginx -c $d/c 2>/dev/null & n=$!; until curl -s http://127.0.0.1:$port/ >o; do sleep 0.2; done; cat o; {sonde} -q --why-incomplete --dwarf-pid $(cat /proc/$n/task/$n/children) -e 'tracepoint:syscalls:sys_enter_rename /comm == "nginx"/ { printf("%s\n", ustack); exit() }' >o 2>&1 & s=$!; while kill -0 $s 2>/dev/null; do curl -s http://127.0.0.1:$port/ >/dev/null; sleep 0.1; done; kill $n; grep -a 'luajit\|content_by_lua' o; tail -n 1 o
EXPECT_LINE said
EXPECT_RE (?s)rename\+0 \[luajit\].*inner\+3 .*content_by_lua.*:3\].*function <content_by_lua.*:6>.*sort\+0 \[luajit\].*handle\+6 .*:6\].*main chunk\+9 .*:9\]
EXPECT_RE user stacks, \d+ whole \(100.00 %\)

NAME luajit: traces, code made at run time: the function that they began in with the line of its loop, and its callers down to the root
NEED cmd:luajit
RETRY 2 samples
RUN printf 'local function work(n)\n local s = 0\n for i = 1, n do\n  s = s + (i %% 7) * 3\n end\n return s\nend\nlocal function outer()\n while true do work(1e7) end\nend\nouter()\n' >hot.lua; luajit hot.lua & sleep 1; {sonde} -q --why-incomplete --dwarf-pid $! -p $! -e 'profile:hz:499 { @[ustack] = count() } interval:s:2 { exit() }' >o 2>&1; kill $!; sed -n '/^@/,/^\]/p' o | tr -d '\n' | grep -o 'work+[34] .hot.lua:[34]. *outer+9 .hot.lua:9. *main chunk+11 .hot.lua:11.* _start' | sed 's/  */ /g; s/work+[34] .hot.lua:[34]./work/; s/hot.lua:11\].*_start/hot.lua:11] ... _start/' | sort -u | head -1; sed -n 's/^[0-9]* user stacks, [0-9]* whole (\(9[0-9]\|100\)\..*/\1/p' o | sed 's/.*/most/'
EXPECT_LINE work outer+9 [hot.lua:9] main chunk+11 [hot.lua:11] ... _start
EXPECT_LINE most

# Each function has a system call of its own: of the stacks there that are no guess none names another one.
NAME luajit: traces: what it is sure of is right
NEED cmd:luajit
RUN python3 {top}/test/run/lua_sure.py {sonde}
TIMEOUT 90
EXPECT_RE \Agetppid called \w+ and right\ngetuid called \w+ and right\ngetgid called \w+ and right\ngeteuid called \w+ and right\ngetegid called sure and right\ngetpgrp called \w+ and right\ngetsid called \w+ and right\n\Z

# The way most programs call C.
NAME luajit: traces: ffi.C.NAME() is a call of C, in a method, too
NEED cmd:luajit
RUN printf 'local ffi = require("ffi")\nffi.cdef[[ typedef struct { int x; } con; int getppid(void); ]]\nlocal m = {}\nfunction m.query(self, n) return ffi.C.getppid() + n end\nlocal c = ffi.metatype("con", {__index = m})(1)\nlocal function event() local s = 0 for i = 1, 10 do s = s + c:query(i) end return s end\nlocal t = os.clock() + 2\nwhile os.clock() < t do for k = 1, 1000 do event() end end\n' >q.lua; {sonde} -q --why-incomplete -c 'luajit q.lua' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid && rand % 50 == 0/ { @[ustack] = count(); }' >o 2>&1; grep -A3 getppid+ o | tail -n 3; grep -o '[0-9.]* whole .*' o
TIMEOUT 60
EXPECT_RE \A +query\+4 \[q\.lua:4\]\n +event\+6 \[q\.lua:6\]\n +main chunk\+8 \[q\.lua:8\]\n\d+ whole \((100|9\d)\.\d+ %\)\n

# Whether a function without a check of its own is at work no snapshot says; where none is called, or only what LuaJIT has built in, the instructions do. An operator may be a
# function. Where garbage is collected nothing was called yet.
NAME luajit: traces: of which code it is sure whose it is
NEED cmd:luajit
RETRY 2 samples
RUN head='local floor, s = math.floor, 0'; for w in 'local function add(a, b) return a * 3 + b end while true do for i = 1, 1e7 do s = add(s, i) % 1000003 end end' 'while true do for i = 1, 1e7 do s = (floor(s / 3) + i) % 1000003 end end' 'while true do for i = 1, 1e7 do if i % 7 == 0 then s = s + 1 else s = s - i % 5 end end end' 'local V = setmetatable({}, {__add = function(a, b) return (b / 3 + 1) / 7 end}) while true do for i = 1, 1e7 do s = s + (V + i) end end' 'local t = {} while true do for i = 1, 1e7 do t[i % 8 + 1] = {i} end end' 'local function add(a, b) return (a / 3 + b) / 7 end local t = {1, 2, 3, 4} while true do for i = 1, 1e7 do for _, v in ipairs(t) do s = add(v, s) / 2 end end end'; do echo "$head $w" >w.lua; luajit w.lua & sleep 0.5; {sonde} -q --why-incomplete --dwarf-pid $! -p $! -e 'profile:hz:499 { @[ustack] = count() } interval:s:1 { exit() }' >o 2>&1; kill $!; sed -n 's/^\([0-9]*\) user stacks, \([0-9]*\) whole (.*/\1 \2/p' o | awk '{ print ($2 > $1 * 0.8 ? "sure" : $2 < $1 * 0.5 ? "guessed" : "both") }'; done
TIMEOUT 60
EXPECT_RE \Aguessed\nsure\nsure\nguessed\nsure\nguessed\n\Z

NAME luajit: functions that traces have taken into them: recursion, pcall, variable arguments, a loop's
NEED cmd:luajit
RUN python3 {top}/test/run/lua_traces.py {sonde}
EXPECT_RE getppid \d+ deep\+(9|10|11) (deep\+8 ){4}main chunk\+59$
EXPECT_RE getuid \d+ function <13>\+1[345] pcall\+0 main chunk\+60$
EXPECT_RE getgid \d+ vary\+(19|20|21|22) main chunk\+61$
EXPECT_RE geteuid \d+ inner\+30 outer\+36 main chunk\+62$
EXPECT_RE getpgrp \d+ run\+45 called\+51 main chunk\+63$

NAME luajit: where its machine calls and returns: the link is not there yet, or values lie in its place
NEED cmd:luajit
NEED cmd:objdump
NEED arch:x86_64
RUN python3 {top}/test/run/lua_machine.py {sonde}
EXPECT_RE ^cut: 0\.0\d+ of \d{4,} stacks, taken at 1\d of 1\d instructions$

NAME luajit: info -p says what is missing
NEED cmd:luajit
RUN luajit -e 'print(1) io.stdout:flush() while true do end' >up & while ! test -s up; do sleep 0.1; done; {sonde} info -p $!; kill $!
EXPECT_RE ^  luajit 2\.1\.
EXPECT_RE functions that LuaJIT's compiler has put into a trace
