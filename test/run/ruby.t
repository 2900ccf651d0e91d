# Ruby programs: their methods in the place of the interpreter's loops, in any probe. What is right is what the interpreter says of its own stack
# (ruby_stack.rb), frame by frame: method, file and line; methods in C with the line that called them, as Ruby tells of them.

FILE TOGETHER ruby

NAME ruby: methods, blocks, callbacks from C, eval, rescue, define_method, method_missing, procs
NEED cmd:ruby
RUN {sonde} -q --why-incomplete -c 'ruby --disable-gems {top}/test/run/ruby_stack.rb want calls' -e 'tracepoint:syscalls:sys_enter_flock /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o callers; tail -n 3 o
EXPECT_RE ^(\d\d) stacks of (\d\d\d) frames, \1 equal
EXPECT_RE (\d\d) user stacks, \1 whole \(100.00 %\)

NAME ruby: fibers and enumerators, of Ruby and of C
NEED cmd:ruby
RUN {sonde} -q --why-incomplete -c 'ruby --disable-gems {top}/test/run/ruby_stack.rb want fibers' -e 'tracepoint:syscalls:sys_enter_flock /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o callers; tail -n 3 o
EXPECT_LINE 7 stacks of 40 frames, 7 equal
EXPECT_LINE 7 user stacks, 7 whole (100.00 %)

# By the copy of the walker that reads other threads' memory (iter:task), as of threads that slept before tracing began.
NAME ruby: threads that sleep
NEED copy_from_user_task
NEED cmd:ruby
RUN python3 {top}/test/run/asleep.py {sonde} stopped flock ruby --disable-gems {top}/test/run/ruby_stack.rb want calls >o 2>&1; python3 {top}/test/run/py_same.py want o callers; tail -n 1 o
TIMEOUT 60
EXPECT_LINE 38 stacks of 221 frames, 38 equal
EXPECT_LINE 38 of 38 whole

NAME ruby: threads, of which one waits while others run
NEED cmd:ruby
RUN {sonde} -q --why-incomplete -c 'ruby --disable-gems {top}/test/run/ruby_stack.rb want threads' -e 'tracepoint:syscalls:sys_enter_flock /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o callers; tail -n 3 o
EXPECT_LINE 7 stacks of 29 frames, 7 equal
EXPECT_LINE 7 user stacks, 7 whole (100.00 %)

NAME ruby: exceptions that leave loops
NEED cmd:ruby
RUN {sonde} -q --why-incomplete -c 'ruby --disable-gems {top}/test/run/ruby_stack.rb want raised' -e 'tracepoint:syscalls:sys_enter_flock /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o callers; tail -n 3 o
EXPECT_LINE 201 stacks of 1504 frames, 201 equal
EXPECT_LINE 201 user stacks, 201 whole (100.00 %)

NAME ruby: forked workers
NEED cmd:ruby
RUN {sonde} -q --why-incomplete -c 'ruby --disable-gems {top}/test/run/ruby_stack.rb want fork' -e 'tracepoint:syscalls:sys_enter_flock /pid == cpid || ppid == cpid/ { printf("%s\n", ustack); @[ustack] = count() }' >o 2>&1; grep -c '^]: 3$' o; sed -i '/^@/,$d' o; python3 {top}/test/run/py_same.py want o callers
EXPECT_LINE 1
EXPECT_LINE 4 stacks of 25 frames, 4 equal

NAME ruby: a deep recursion, in pieces
NEED cmd:ruby
RUN {sonde} -q --why-incomplete -c 'ruby --disable-gems {top}/test/run/ruby_stack.rb want deep 3000' -e 'tracepoint:syscalls:sys_enter_flock /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o callers; tail -n 3 o
EXPECT_LINE 2 stacks of 3008 frames, 2 equal
EXPECT_LINE 2 user stacks, 2 whole (100.00 %)

NAME ruby: a method whose table of lines is too long has its name and no line
NEED cmd:ruby
RUN {sonde} -q -c 'ruby --disable-gems {top}/test/run/ruby_stack.rb want longer' -e 'tracepoint:syscalls:sys_enter_flock /pid == cpid/ { printf("%s\n", ustack) }' 2>&1 | sed 's/^ *//' | grep '^longer'
EXPECT_RE ^longer\+\d+ \[\S*ruby_stack.rb.longer\]$

NAME ruby 3.4: what eval() runs has the name of where it is called, and the other stacks (Debian experimental's, where test/workload/runtimes.py --fetch has unpacked it)
LONG
NEED runtimes:experimental/usr/bin/ruby3.4
NEED arch:x86_64
RUN r=${SONDE_RUNTIMES:-$HOME/.cache/sonde-runtimes}/experimental; l=usr/lib/x86_64-linux-gnu; p="$r/usr/lib64/ld-linux-x86-64.so.2 --library-path $r/$l $r/usr/bin/ruby3.4 --disable-gems -I $r/usr/lib/ruby/3.4.0 -I $r/$l/ruby/3.4.0"; $p -e 'sleep 100' & for k in calls fibers threads raised; do rm -f want; {sonde} -q --why-incomplete --dwarf-pid $! -c "$p {top}/test/run/ruby_stack.rb want $k" -e 'tracepoint:syscalls:sys_enter_flock /pid == cpid/ { printf("%s\n", ustack) }' >o 2>&1; python3 {top}/test/run/py_same.py want o callers rescue; grep 'whole (' o; done; kill $!
EXPECT_RE \A38 stacks of 219 frames, 38 equal\n38 user stacks, 38 whole .*\n7 stacks of 40 frames, 7 equal\n7 user stacks, 7 whole .*\n7 stacks of 29 frames, 7 equal\n7 user stacks, 7 whole .*\n201 stacks of 1404 frames, 201 equal\n201 user stacks, 201 whole
TIMEOUT 60

NAME ruby: info -p
NEED cmd:ruby
RUN ruby --disable-gems -e '$stdout.syswrite 1; sleep 60' >up & while ! test -s up; do sleep 0.1; done; {sonde} info -p $!; kill $!
EXPECT_RE ^  ruby \d\.\d\.\d+: /\S+libruby\S+\n    functions and lines: yes\n    offsets: a table of releases in sonde\n
