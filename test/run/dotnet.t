# .NET programs: methods in the place of code that the runtime compiles, and of code that was compiled ahead. What is right is what its StackTrace says of the same stacks (dotnet_stack.cs):
# generic types and methods, interfaces, lambdas, iterators, async methods, reflection, methods made at run time, callbacks from C. Each method is compiled once, but in the first test: what
# is compiled anew is known some hundredths of a second later.

FILE FEW

NAME dotnet 8: methods as its StackTrace has them, compiled in tiers (Ubuntu 24.04's, where test/workload/runtimes.py --fetch has unpacked it)
NEED runtimes:noble/usr/lib/dotnet/dotnet
NEED arch:x86_64
RUN cp {top}/test/run/dotnet_stack.cs . && {top}/test/run/dotnet.sh noble --csc dotnet_stack >csc || cat csc; {sonde} -q --why-incomplete -c '{top}/test/run/dotnet.sh noble /mnt/dotnet_stack.dll /mnt/want 2000 60' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid && comm != "sh" && comm != "dotnet.sh"/ { printf("%s\n", ustack) }' >got 2>e; {top}/test/run/dotnet_same.py want got | awk 'NR == 1 { print ($6 >= 0.99 * $1 ? "equal" : $0); next } { print }'; sed 's/.*(\(.*\) %).*/\1/' e | awk '{ print ($1 >= 99 ? "whole" : $1) }'
TIMEOUT 120
EXPECT_LINE equal
EXPECT_LINE whole

NAME dotnet 8: the same, each method compiled once
NEED runtimes:noble/usr/lib/dotnet/dotnet
NEED arch:x86_64
RUN cp {top}/test/run/dotnet_stack.cs . && {top}/test/run/dotnet.sh noble --csc dotnet_stack >csc || cat csc; DOTNET_TieredCompilation=0 {sonde} -q --why-incomplete -c '{top}/test/run/dotnet.sh noble /mnt/dotnet_stack.dll /mnt/want 2000 60' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid && comm != "sh" && comm != "dotnet.sh"/ { printf("%s\n", ustack) }' >got 2>e; {top}/test/run/dotnet_same.py want got; cat e
TIMEOUT 120
EXPECT_RE ^(2\d\d\d) stacks of \d+ frames, \1 equal\n\1 user stacks, \1 whole \(100.00 %\)$

NAME dotnet 9: the same (Ubuntu 25.10's)
NEED runtimes:questing/usr/lib/dotnet/dotnet
NEED arch:x86_64
RUN cp {top}/test/run/dotnet_stack.cs . && {top}/test/run/dotnet.sh questing --csc dotnet_stack >csc || cat csc; DOTNET_TieredCompilation=0 {sonde} -q --why-incomplete -c '{top}/test/run/dotnet.sh questing /mnt/dotnet_stack.dll /mnt/want 2000 60' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid && comm != "sh" && comm != "dotnet.sh"/ { printf("%s\n", ustack) }' >got 2>e; {top}/test/run/dotnet_same.py want got; cat e
TIMEOUT 120
EXPECT_RE ^(2\d\d\d) stacks of \d+ frames, \1 equal\n\1 user stacks, \1 whole \(100.00 %\)$

NAME dotnet 10: the same (Ubuntu 26.04's), and what info says of it
NEED runtimes:resolute/usr/lib/dotnet/dotnet
NEED arch:x86_64
RUN cp {top}/test/run/dotnet_stack.cs . && {top}/test/run/dotnet.sh resolute --csc dotnet_stack >csc || cat csc; DOTNET_TieredCompilation=0 {sonde} -q --why-incomplete -c '{top}/test/run/dotnet.sh resolute /mnt/dotnet_stack.dll /mnt/want 2000 60' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid && comm != "sh" && comm != "dotnet.sh"/ { printf("%s\n", ustack) }' >got 2>e; {top}/test/run/dotnet_same.py want got; cat e; {top}/test/run/dotnet.sh resolute /mnt/dotnet_stack.dll /dev/null 1000000000 & p=$!; sleep 2; {sonde} info -p $p | grep -A1 '^  .NET:'; kill $p
TIMEOUT 120
EXPECT_RE ^(2\d\d\d) stacks of \d+ frames, \1 equal\n\1 user stacks, \1 whole \(100.00 %\)\n  .NET: \S+/libcoreclr.so\n    functions and lines: methods \(.NET 8 and later\), without lines$

NAME dotnet 10: in handlers of exceptions, whose stacks hold what threw, too
NEED runtimes:resolute/usr/lib/dotnet/dotnet
NEED arch:x86_64
RUN cp {top}/test/run/dotnet_stack.cs . && {top}/test/run/dotnet.sh resolute --csc dotnet_stack >csc || cat csc; DOTNET_TieredCompilation=0 {sonde} -q --why-incomplete -c '{top}/test/run/dotnet.sh resolute /mnt/dotnet_stack.dll /mnt/want 400 60 handlers' -e 'tracepoint:syscalls:sys_enter_getppid /pid == cpid && comm != "sh" && comm != "dotnet.sh"/ { printf("%s\n", ustack) }' >got 2>e; grep -c 'Program.Exceptions+' got; grep -c 'Program.Thrown+' got; cat e
TIMEOUT 120
EXPECT_RE ^500\n1500\n400 user stacks, 400 whole \(100.00 %\)$

NAME dotnet 10: a profile, and threads that sleep
NEED runtimes:resolute/usr/lib/dotnet/dotnet
NEED arch:x86_64
RUN cp {top}/test/workload/dotnetload.cs . && {top}/test/run/dotnet.sh resolute --csc dotnetload >csc || cat csc; {top}/test/run/dotnet.sh resolute /mnt/dotnetload.dll 30 2 >/dev/null & p=$!; sleep 3; {sonde} profile -p $p -F 199 -f -U --why-incomplete 4 2>e >o; {sonde} offcputime -p $p -f -U 2 2>/dev/null >w; kill $p; for f in Demo.App.Program.Shapes 'Demo.App.Outer`1.Inner.Fib' Demo.App.Round.Area 'System.Collections.Generic.ArraySortHelper`1.IntroSort'; do grep -c "Demo.App.Program.Work;.*$f" o | sed "s/^[1-9].*/$f/"; done; grep -c 'Demo.App.Program.Sleeps;' w | sed 's/^[1-9].*/Sleeps/'; sed -n 's/.* user stacks, [0-9]* whole (\([0-9.]*\) %).*/\1/p' e | awk '{ print ($1 >= 98 ? "whole" : $1) }'
TIMEOUT 120
EXPECT_LINE Demo.App.Program.Shapes
EXPECT_LINE Demo.App.Outer`1.Inner.Fib
EXPECT_LINE Demo.App.Round.Area
EXPECT_LINE System.Collections.Generic.ArraySortHelper`1.IntroSort
EXPECT_LINE Sleeps
EXPECT_LINE whole
