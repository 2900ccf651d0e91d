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

NAME v8: interpreted, with lines
NEED cmd:node
NEED arch:x86_64
RUN sh {top}/test/run/v8.sh {sonde} {top} stacks node --no-opt --no-sparkplug 2>&1 | sed 's/^\(.* stacks\) of \([0-9]*\) frames, \(.*\), \2 lines$/\1, \3, each with its line/'
TIMEOUT 90
EXPECT_LINE 300 stacks, 300 equal, each with its line

NAME v8: samples, of whatever instruction they are
LONG
NEED cmd:node
NEED arch:x86_64
RETRY 1 samples
RUN sh {top}/test/run/v8.sh {sonde} {top} samples 2>&1
TIMEOUT 90
EXPECT_LINE main was there
