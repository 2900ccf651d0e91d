# Calls over time: tools/flow.bt.

FILE TOGETHER

NAME flow: entry, return, nesting and results; what longjmp left has no return, and what comes after it its own depth
RUN cp {build}/nest .; SONDE_PATH={top}/tools {sonde} flow './nest:[jmof]*[a-z]' -r -c ./nest 2>e | grep nest | cut -c53- | sed 's/$/|/'; grep -c ERROR e
EXPECT_RE \A-> main\|\n  -> outer_fn\|\n    -> mid\|\n      -> jumper\|\n      <- jumper = 2\|\n    <- mid = 3\|\n    -> jumper\|\n    <- jumper = 1\|\n  <- outer_fn = 4\|\n  -> outer_fn\|\n    -> mid\|\n      -> jumper\|\n    -> jumper\|\n    <- jumper = 1\|\n  <- outer_fn = 0\|\n  -> fact_fn\|\n    -> fact_fn\|\n      -> fact_fn\|\n        -> fact_fn\|\n        <- fact_fn = 1\|\n      <- fact_fn = 2\|\n    <- fact_fn = 6\|\n  <- fact_fn = 24\|\n<- main = 0\|\n
RC 1
TIMEOUT 30

NAME flow: bounded by depth and by calls; one process of several; times add up
RUN cp {build}/nest .; export SONDE_PATH={top}/tools; {sonde} flow ./nest:fact_fn --depth 2 -c ./nest 2>/dev/null | grep -c fact_fn; {sonde} flow ./nest:fact_fn -n 3 -c ./nest 2>/dev/null | grep -c -e '-> fact_fn'; (while :; do ./nest; done) & {sonde} flow ./nest:fact_fn -p 1 -d 1 2>/dev/null | grep -c fact_fn; kill $!; {sonde} flow ./nest:fact_fn -c ./nest 2>/dev/null | awk '/<-/ { if ($4 < t) bad = 1; t = $4; n++ } END { print n, bad + 0 }'
EXPECT_RE \A4\n3\n0\n4 0\n
TIMEOUT 60

NAME flow: says what it takes
RUN SONDE_PATH={top}/tools {sonde} flow; SONDE_PATH={top}/tools {sonde} flow c:malloc c:free
RC 2
STDERR flow takes one PATTERN: functions of a library or program (c:mem*, ./prog:work) or of the kernel (vfs_*)

NAME flow: a command behind --, which is no PATTERN; not with -p
RUN cp {build}/nest .; export SONDE_PATH={top}/tools; {sonde} flow ./nest:fact_fn -r -- ./nest 2>/dev/null | grep -c 'fact_fn = '; {sonde} flow ./nest:fact_fn -p 1 -- ./nest 2>&1 | head -n 1; {sonde} flow ./nest:fact_fn --pid 1 --command ./nest 2>&1 | head -n 1
EXPECT_LINE 4
EXPECT_RE \A4\n(sonde flow: error: a command is not allowed with --pid: what it starts is traced\n){2}
TIMEOUT 30

NAME two uretprobes of the same functions share the variables of a call, in recursion; a call that the entry leaves out has none left over
RUN cp {build}/nest {build}/waits .; {sonde} -q -e 'uprobe:./nest:fact_fn { $s = arg0; $t = nsecs; } uretprobe:./nest:fact_fn /$s > 2/ { printf("a %d\n", $s); } uretprobe:./nest:fact_fn { printf("b %d %d\n", $s, nsecs > $t); } uretprobe:./nest:fact_fn { @all = count(); } end { print(@all); clear(@all); }' -c ./nest | sort; {sonde} -q -e 'uprobe:./waits:counted_call /arg0 % 2 == 0/ { $n = arg0; } uretprobe:./waits:counted_call { @a = sum($n); @na++; } uretprobe:./waits:counted_call /$n > 3/ { @b = sum($n); }' -c './waits calls 10'
EXPECT_RE \A\n*@all: 4\na 3\na 4\nb 1 1\nb 2 1\nb 3 1\nb 4 1\n
EXPECT_LINE @a: 20
EXPECT_LINE @na: 5
EXPECT_LINE @b: 18
TIMEOUT 60
