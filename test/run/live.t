# sonde top: the live view, driven in a terminal; and its text without one.

FILE TOGETHER

NAME keys
LONG
NEED cmd:tmux
RUN {top}/test/run/live.py {sonde} {build}/waits keys
EXPECT_RE ^functions True\nprocesses add up True\nunfolded\nstacks\nthreads\noff-CPU\ngoes on True\nfilter True\nfrozen True\nsaved True\nhelp\nterminal True\n$
TIMEOUT 60

NAME keys faster than collectors start: each of them ends
NEED cmd:tmux
RUN {top}/test/run/live.py {sonde} {build}/waits hurry
EXPECT_RE ^sides\nterminal True\n$
TIMEOUT 60

NAME a terminal of 30 by 6, which grows
NEED cmd:tmux
RUN {top}/test/run/live.py {sonde} {build}/waits small
EXPECT_RE ^lines True True\nwide\nterminal True\n$
TIMEOUT 30

# The one that draws, one that begins collectors, a collector; with it sonde-cpus, where the kernel takes processors away.
NAME the one that draws is killed: the terminal is as before, and nothing runs on
LONG
NEED cmd:tmux
RUN {top}/test/run/live.py {sonde} {build}/waits killed
EXPECT_RE ^processes [34]\ngone True\nterminal True\n$
TIMEOUT 30

NAME the first process of it is killed: likewise
NEED cmd:tmux
RUN {top}/test/run/live.py {sonde} {build}/waits ended
EXPECT_RE ^processes [34]\ngone True\nterminal True\n$
TIMEOUT 30

NAME its terminal goes: so do all its processes, the one that counts among them
NEED cmd:tmux
RUN {top}/test/run/live.py {sonde} {build}/waits hangup
EXPECT_RE ^processes [34]\ngone True\n$
TIMEOUT 30

NAME as text: one second, and some; both sides
LONG
RUN {build}/waits spin 90000 & {sonde} top -n 8 -p $! --rows 3; echo; {sonde} top -b -n 8 --by process -p $! > b; grep -c '^on-CPU .*off-CPU' b; grep ' spinner ' b; {sonde} top --once -p $! | grep -c on-CPU; kill $!
EXPECT_RE ^on-CPU \d+\.\d %; \d+ rows\n +ON % +\+CALLS  FUNCTION\n( +\d+\.\d){2}  spin_here  \(waits\)\n
EXPECT_RE (?s)\n8\n(.*\n)?( +\d+\.\d){2}  spinner  \(\d+\)\n.*^1\n$
TIMEOUT 60

NAME the first report off the processors comes after half an interval, as that on them does
RUN for n in 500 0; do {sonde} offcputime -i 1 --print-script | sed "s/^config = {/&\n\toption = \"early=$n\";/" >$n.bt; echo 'interval:ms:800 { exit(); }' >>$n.bt; {sonde} -q -f json $n.bt | grep -c '"@samples"'; done
EXPECT_RE \A2\n1\n\Z
TIMEOUT 30

NAME what is wrong is said, and where counting cannot begin
RUN {sonde} top -F x; echo $?; {sonde} top --by cpu; echo $?; {sonde} top x; echo $?; {sonde} top --once -p 4194301; echo $?
STDERR sonde top: error: argument -F/--frequency: must be a positive integer
STDERR one of function, stack, process, thread, container
STDERR unrecognized arguments: x
STDERR there is no process 4194301
EXPECT_RE ^2\n2\n2\n1\n$
