# Totals and shares in the tools' text, and the table of functions.

FILE TOGETHER

NAME --top of a file: self, total once a stack also in a recursion, share, object
RUN printf 'p;a;b;b;c 60\np;a;b 30\np;d 10\n' >f; {sonde} report --top f; echo; {sonde} report --top=2 f | tail -n 2; {sonde} report --top f --html p.html 2>&1 | grep -c 'report page\|Total'
EXPECT_RE ^ +SELF +% +TOTAL +%  FUNCTION +OBJECT\n +60 +60\.0 +60 +60\.0  c *\n +30 +30\.0 +90 +90\.0  b *\n +10 +10\.0 +10 +10\.0  d *\n +0 +0\.0 +90 +90\.0  a *\nTotal: 100 samples in 3 stacks, 4 of 4 functions\n\n
EXPECT_LINE Total: 100 samples in 3 stacks, 2 of 4 functions
EXPECT_RE ^2$

NAME stacks with their shares, and the total
RUN printf 'p;a 1\np;b 2\n' | {sonde} report -
EXPECT_RE \A    a\n    - +p\n        1\n        33\.3 %\n\n    b\n    - +p\n        2\n        66\.7 %\n\nTotal: 3 samples in 2 stacks\n\Z

NAME --top of a tool: the function that spins, and where it is
RETRY 1 a number of samples
RUN {sonde} profile -F 199 -U --top=3 -- {build}/waits spin 600
TIMEOUT 30
EXPECT_RE ^ +\d+ +\d+\.\d +\d+ +\d+\.\d  spin_here +\S+/waits$
EXPECT_RE ^Total: \d+ samples in \d+ stacks?, 3 of \d+ functions$

NAME the total of a tool is the sum of its stacks, the shares are theirs
RUN {sonde} offcputime -- {build}/waits sleep 5 20 >o; python3 -c "import re; t = open('o').read(); v = [(int(a), float(b)) for a, b in re.findall(r'^        (\d+)\n        ([\d.]+) %$', t, re.M)]; n = int(re.search(r'^Total: (\d+) us in (\d+) stack', t, re.M).group(1)); print(len(v) > 1, n == sum(a for a, b in v), all(abs(100 * a / n - b) < 0.06 for a, b in v))"
TIMEOUT 30
EXPECT_LINE True True True

NAME --top of a script's map, and what does not go together
RUN {sonde} -q -e 'begin { @[kstack, ustack] = count(); exit() }' --top | tail -n 1; {sonde} profile --top --json; {sonde} profile --top=0; {sonde} -e 'begin { @[kstack] = count() }' --top --folded; {sonde} report --top=x /dev/null
EXPECT_RE ^Total: 1 count in 1 stack, \d+ of \d+ functions$
STDERR sonde profile: error: --top is not allowed with -f, --json and --by
STDERR argument --top: must be nonzero
STDERR --top is not allowed with --folded and --json
STDERR sonde report: error: argument --top: takes a number of rows
RC 2

NAME sonde top -p: ends with its process; one that is not there
RUN {build}/waits spin 1500 & {sonde} top -p $! -n 60 >o; echo $? $(grep -q spin_here o && echo seen); {sonde} top -p 4194300 -n 2; echo $?
TIMEOUT 60
EXPECT_RE \A0 seen\n1\n\Z
STDERR ERROR: there is no process 4194300

NAME --top: names of other alphabets keep the columns
RUN printf 'p;main;\303\274ber 3\np;main;ab 2\n' >f; {sonde} report --top f | python3 -c "import sys; print([len(l) for l in sys.stdin.buffer.read().decode().split(chr(10))[1:4]])"
EXPECT_RE \A\[82, 82, 82\]\n\Z

NAME sonde flame: a reader that has seen enough is no error
RUN python3 -c "for i in range(50): print('p;%d;%s 1' % (i, ';'.join('f%d_%d%s' % (i, k, 'x' * 80) for k in range(200))))" >g; { {sonde} flame g 2>e; echo $? >>e; } | head -n 1 | cut -c1-5; cat e
EXPECT_RE \A<\?xml\n0\n\Z

NAME --by and addresses where the report has no place for them
RUN for o in '--by thread --top' '-A -f' '-A --json' '-A --top'; do {sonde} profile $o -- true 2>&1 | head -n 1; done; {sonde} stackcount -v -f t:sched:sched_switch -- true 2>&1 | head -n 1
EXPECT_RE \A(sonde \w+: error: .* not allowed with .*\n){5}\Z

NAME pprof files say how they were made, the page too
RUN {sonde} profile -F 99 --pprof p.pb.gz --html p.html -- sh -c 'true; {build}/waits spin 50' 2>err; gunzip <p.pb.gz | tr -c '[:print:]' '\n' | grep -c "command: .*profile -F 99 --pprof p.pb.gz --html p.html -- sh -c 'true; .*spin 50'"; gunzip <p.pb.gz | grep -ac "kernel: Linux $(uname -r) "; gunzip <p.pb.gz | grep -ac 'machine: .*, [0-9]* processors'; grep -c '"command":.*profile -F 99' p.html; {sonde} report -f p.pb.gz >/dev/null; echo $?
TIMEOUT 40
EXPECT_RE ^1\n1\n1\n1\n0\n\Z
