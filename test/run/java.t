# Java programs: methods in the place of code that HotSpot makes at run time, in any probe. What is right is what the VM says of its own stack
# (JavaStacks.java), frame by frame: class, method, file and line; interpreted and compiled, with methods the compiler has put into others.

FILE FEW

NAME java: calls, lambdas, streams, bridges, reflection, exceptions, recursion
NEED cmd:javac
NEED arch:x86_64
RUN sh {top}/test/run/java.sh {sonde} {top} stacks 2>&1
TIMEOUT 90
EXPECT_LINE 300 stacks 300 equal
EXPECT_LINE whole (100.00 %)
EXPECT_LINE @f[java.io.FileDescriptor.sync]: 300

# What it makes as it starts are stubs: no perf map would name them, so there is nothing to advise.
NAME java: the VM's own pieces of code are no code without names
NEED cmd:java
NEED arch:x86_64
RUN {sonde} profile -F 999 -U -f -- java -version 2>told >stacks; grep -c 'has no names' told; grep -c '^java;' stacks | sed 's/^[1-9].*/some/'
RC 0
EXPECT_RE \A0\nsome\n\Z

# Other versions, where they are unpacked.
NAME java: other versions
NEED cmd:javac
NEED arch:x86_64
RUN set -- $(for v in 11 21 25; do ls -d /usr/lib/jvm/*-$v-*/bin/java 2>/dev/null | head -n 1; done | sed 's,/bin/java$,,'); echo $# | sed 's/^0$/0: no other JDK in \/usr\/lib\/jvm/'; for h; do sh {top}/test/run/java.sh {sonde} {top} stacks $h 2>&1; done | grep -c '^300 stacks 300 equal'; true
TIMEOUT 120
EXPECT_RE ^(0: no other JDK in /usr/lib/jvm\n0|([1-9])\n\2)$

# By the copy of the walker that reads other threads' memory, as of threads that slept before tracing began: the VM's own, too.
NAME java: threads that sleep
NEED cmd:javac
NEED arch:x86_64
NEED copy_from_user_task
RUN sh {top}/test/run/java.sh {sonde} {top} asleep 2>&1
TIMEOUT 90
EXPECT_LINE 60 stacks 60 equal
EXPECT_LINE 60 of 60 whole

NAME java: samples, of whatever instruction they are
LONG
NEED cmd:javac
NEED arch:x86_64
RETRY 1 samples
RUN sh {top}/test/run/java.sh {sonde} {top} samples 2>&1
TIMEOUT 90
EXPECT_RE ^ \((99\.[5-9]\d|100\.00) %\)$
EXPECT_LINE JavaStacks.again

NAME java: the interpreter, as it begins methods
LONG
NEED cmd:javac
NEED arch:x86_64
RETRY 1 samples
RUN echo 'class Fib { static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); } public static void main(String[] a) { for (int i = 0; i < 14; i++) fib(25); } }' >Fib.java; javac Fib.java && {sonde} profile -F 4999 -U -f --why-incomplete -- java -Xint Fib 2>e >o; awk '/Fib.fib/ { n += $NF; t += /truncated|0x7f/ ? $NF : 0 } END { print (n > 1000), (t * 1000 < n) }' o
TIMEOUT 90
EXPECT_LINE 1 1

NAME java: strings compared: code that pushes in the middle of a method has its caller
NEED cmd:javac
NEED arch:x86_64
RETRY 1 samples
RUN sh {top}/test/run/java.sh {sonde} {top} strings 2>&1
TIMEOUT 90
EXPECT_RE ^ \((9[5-9]\.\d+|100\.00) %\)\n0\nnamed$

NAME java: native stacks go through Java's code, and name none of it
LONG
NEED cmd:javac
NEED arch:x86_64
RETRY 1 samples
RUN sh {top}/test/run/java.sh {sonde} {top} native 2>&1
TIMEOUT 90
EXPECT_RE ^ \((99\.[5-9]\d|100\.00) %\)$
EXPECT_NOT JavaStacks.again

NAME java: a program of which nothing is known when it starts
LONG
NEED cmd:javac
NEED arch:x86_64
RETRY 1 it asks while the table of its library is made
RUN sh {top}/test/run/java.sh {sonde} {top} new 2>&1
TIMEOUT 90
EXPECT_LINE named

NAME java: Java calls C calls Java, by JNI, eight times in one another: whole, each method and function as often as it was called
LONG
NEED cmd:javac
NEED cmd:gcc
NEED arch:x86_64
RUN set -- $(ls -d /usr/lib/jvm/*-1[1-9]-*/bin/java /usr/lib/jvm/*-2[1-9]-*/bin/java 2>/dev/null | xargs -n 1 readlink -f | sort -u | sed 's,/bin/java$,,'); sh {top}/test/run/java.sh {sonde} {top} jni "$@" debian21 2>&1; echo $#
TIMEOUT 120
EXPECT_RE \A(whole \(100\.00 %\)\n9 8 8\n)+(no JDK 21 unpacked\n)?[1-9]\n\Z

NAME java: virtual threads of JDK 21, where it is unpacked
NEED file:/usr/lib/jvm/*-2[1-9]-*/bin/javac
NEED runtimes:trixie/usr/lib/jvm/java-21-openjdk-amd64/bin/java
NEED arch:x86_64
RUN sh {top}/test/run/java.sh {sonde} {top} virtual debian21 2>&1
TIMEOUT 60
EXPECT_RE ^75 user stacks, 50 whole \(66\.67 %\)\n: a virtual thread that waited, its outer frames are in the heap\n1$

NAME java: virtual threads, whole or counted as cut
NEED file:/usr/lib/jvm/*-2[1-9]-*/bin/javac
NEED arch:x86_64
RUN set -- $(ls -d /usr/lib/jvm/*-2[1-9]-*/bin/javac | head -n 1); sh {top}/test/run/java.sh {sonde} {top} virtual ${1%/bin/javac} 2>&1
TIMEOUT 60
EXPECT_RE ^75 user stacks, 50 whole \(66\.67 %\)\n: a virtual thread that waited, its outer frames are in the heap\n1$
