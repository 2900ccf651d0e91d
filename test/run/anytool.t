# Scripts in the tools' path (SONDE_PATH, ~/.config/sonde/tools, share/sonde/tools) are tools. test/run/calls.bt is one; each test has a copy of it and of its workload.

FILE TOGETHER

NAME a script in the path is a tool: its getopt rows and its head are its help, its map is its report
RUN mkdir t; cp {top}/test/run/calls.bt t; cp {build}/paths w; export SONDE_PATH=$PWD/t; {sonde} calls --help; {sonde} calls -h >a; {sonde} help calls | cmp - a && echo the same; (while :; do ./w 1 50; done) & {sonde} calls --program $PWD/w -n 200; kill $!
TIMEOUT 30
EXPECT_RE \AUSAGE: sonde calls \[options\] \[SECONDS\]\n\ncalls: stacks of the first calls of leaf\(\) in a program\n\nEXAMPLE: sonde calls --program ./paths -n 400\n\nOPTIONS:\n
EXPECT_RE ^    -p, --pid PID,\.\.\. +of these processes only\n    -n, --number N +end after so many calls \(400\)\n        --depth N +frames a stack \(64\)\n    -e, --each +a line for each call\n        --program FILE +the program \(/bin/true\)\n
EXPECT_RE ^        --flame FILE +write a flame graph
EXPECT_LINE the same
EXPECT_LINE @n: 200
EXPECT_RE ^    leaf\n    left\n    main\n(    .*\n)*    - +paths\n        \d+\n
EXPECT_RE ^    leaf\n    right\n    main\n(    .*\n)*    - +paths\n        \d+\n

NAME folded lines, flame graph and profile of a tool in the path hold the same
RUN mkdir t; cp {top}/test/run/calls.bt t; cp {build}/paths w; export SONDE_PATH=$PWD/t; (while :; do ./w 2 50; done) & {sonde} calls --program $PWD/w --number=300 --depth 2 -f --flame f.svg --pprof p.gz -o o; kill $!; grep ';' o; python3 {top}/test/run/pprof.py p.gz 'total()' 's(p["sample_type"][0]["type"][0])'; grep -A1 '<title>leaf' f.svg | grep '^1'
TIMEOUT 30
EXPECT_RE \A(paths;(left|right);leaf 150\n){2}
EXPECT_LINE 300
EXPECT_LINE calls
EXPECT_RE ^150 calls, 50\.00%</title>
STDERR f.svg: flame graph of 2 stacks, 300 calls

NAME SECONDS, an interval, and the options of the script by letters
LONG
RUN mkdir t; cp {top}/test/run/calls.bt t; cp {build}/paths w; export SONDE_PATH=$PWD/t; (while :; do ./w 0 5; done) & {sonde} calls --program $PWD/w -en3 9 >o; {sonde} calls --program $PWD/w -n 1000000 --depth=1 -i 1 -f 4 >p; kill $!; grep -c '^paths$' o; grep -c '^paths;leaf [0-9]' p
TIMEOUT 40
EXPECT_RE \A3\n[2-5]\n\Z

NAME with pid, a list of processes, a tool ends when they have ended
RUN mkdir t; cp {top}/test/run/calls.bt t; cp {build}/paths w; export SONDE_PATH=$PWD/t; ./w 2 100 3000 & {sonde} calls --program $PWD/w -n 1000000 -p $! -f >o; grep ';' o | awk '{ n += $NF } END { print n }'
TIMEOUT 30
EXPECT_LINE 400

NAME the tools' path is listed, completed, and its words proposed
RUN mkdir t u; cp {top}/test/run/calls.bt t; echo 'begin { exit() }' >u/plain.bt; echo '// hidden: by the first folder' >u/calls.bt; export SONDE_PATH=$PWD/t:/nosuch:$PWD/u; {sonde} help tools | tail -n 2; {sonde} cals; {sonde} help options calls | head -n 2; export PATH=$(dirname {sonde}):$PATH; bash -c '. {top}/completions/sonde.bash; t() { COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=(); _sonde; echo "${COMPREPLY[@]}"; }; t sonde cal; t sonde calls --nu'
NEED cmd:bash
EXPECT_RE \Acalls          stacks of the first calls of leaf\(\) in a program\nplain          /.*/u/plain.bt\n
EXPECT_RE ^-p --pid PID,\.\.\.\t\S.*\n-n --number N\t\S.*\ncalls\n--number\n
STDERR did you mean 'sonde calls'?

NAME folders and files that others may write are refused by name, and nothing is run
RUN mkdir -p g w o f h/deep l ok; for d in g w o f h/deep; do echo 'begin { print("ran"); exit() }' >$d/mine.bt; done; chmod g+w g; chmod o+w w; chown 65534 o; chmod g+w f/mine.bt; chmod o+w h; ln -s $PWD/f/mine.bt l/mine.bt; for d in g w o f h/deep l; do SONDE_PATH=$PWD/$d {sonde} mine >out; echo "$d $? $(cat out)"; done; echo 'begin { print("ran"); exit() }' >ok/mine.bt; chown 65534 ok/mine.bt; SONDE_PATH=$PWD/ok {sonde} mine >out; echo "ok $? $(cat out)"; chown 0 ok/mine.bt; SONDE_PATH=$PWD/g:$PWD/ok {sonde} mine; SONDE_PATH=$PWD/w:$PWD/ok {sonde} help tools | tail -n 1
RC 0
EXPECT_RE \Ag 1 \nw 1 \no 1 \nf 1 \nh/deep 1 \nl 1 \nok 1 \nran\n+mine +/.*/ok/mine.bt\n\Z
STDERR /g may be written to by its group
STDERR /w may be written to by others
STDERR /o belongs to neither root nor you
STDERR /f/mine.bt may be written to by its group
STDERR /h may be written to by others
STDERR /ok/mine.bt belongs to neither root nor you

NAME the current folder and folders without a leading / are not searched
RUN echo 'begin { print("ran"); exit() }' >mine.bt; mkdir t; cp mine.bt t; for p in '' . t ./t :; do SONDE_PATH=$p {sonde} mine; echo $?; done; SONDE_PATH=$PWD/t {sonde} mine
EXPECT_RE \A(1\n){5}ran\n
STDERR WARNING: SONDE_PATH: './t' is not searched: it does not begin with /
STDERR ERROR: there is no script or tool 'mine'

NAME sonde's own tools come first, and it is said
RUN mkdir t; echo 'begin { print("ran"); exit() }' >t/profile.bt; export SONDE_PATH=$PWD/t; {sonde} profile 1 2>err | head -n 1; grep -c "profile.bt is not used: sonde has a tool of that name" err; {sonde} help tools | grep -c ^profile
TIMEOUT 20
EXPECT_RE \ASampling at 49 Hertz .*\n1\n1\n
STDERR /t/profile.bt is not used: sonde has a tool of that name

NAME ~/.config/sonde/tools, share/sonde/tools beside the program's folder, and a link sonde-NAME
RUN mkdir -p home/.config/sonde/tools pre/bin pre/share/sonde/tools; echo 'begin { print("of home"); exit() }' >home/.config/sonde/tools/one.bt; echo 'begin { print("installed"); exit() }' >pre/share/sonde/tools/two.bt; cp {sonde} pre/bin; ln -s sonde pre/bin/sonde-two; for c in 'sonde one' 'sonde two' sonde-two; do HOME=$PWD/home pre/bin/$c; done
EXPECT_RE \Aof home\n+installed\n+installed\n

NAME what is wrong with a tool's options and script
RUN mkdir t; cp {top}/test/run/calls.bt t; echo 'begin {' >t/broken.bt; export SONDE_PATH=$PWD/t; for c in 'calls --nosuch' 'calls 1 2' 'calls x' 'calls -n' 'calls -n many' 'calls --flame /nosuch/f' broken 'calls --map @no -f'; do {sonde} $c >out; echo $?; done
EXPECT_RE \A2\n2\n2\n2\n2\n1\n1\n1\n\Z
STDERR sonde calls: error: unrecognized arguments: --nosuch
STDERR sonde calls: error: argument duration: must be an integer
STDERR sonde calls: error: argument -n/--number: expected one argument
STDERR sonde calls: error: argument -n/--number: must be an integer
STDERR broken.bt:1:

NAME a script's words are its own when it uses them
RUN mkdir t; echo 'begin { print((str($1), $2, getopt("word|w", "none"))); exit() }' >t/args.bt; export SONDE_PATH=$PWD/t; {sonde} args a 7 -w x; {sonde} args --help | head -n 1
EXPECT_RE \A\(a, 7, x\)\n+USAGE: sonde args \[options\] \[ARGS\]\n

NAME --help behind a script's name shows the script's options; after -- they may be letters, and their values words
RUN cp {top}/test/run/calls.bt .; cp {build}/paths w; {sonde} ./calls.bt --help; (while :; do ./w 0 5; done) & {sonde} -q ./calls.bt -- --program $PWD/w -en 4 --depth 1; {sonde} -q ./calls.bt -- --program=$PWD/w --number=2; {sonde} -q ./calls.bt -- -z; kill $!
TIMEOUT 30
RC 0
EXPECT_RE \AUSAGE: sonde \[options of sonde\] \./calls\.bt -- \[options\]\n\ncalls: stacks
EXPECT_RE ^    -n, --number N +end after so many calls \(400\)$
EXPECT_RE ^paths\npaths\npaths\npaths\n
EXPECT_LINE @n: 4
EXPECT_LINE @n: 2
EXPECT_NOT --flame

NAME a tool in the path shows a line of progress on a terminal
LONG
RUN mkdir t; cp {top}/test/run/calls.bt t; cp {build}/paths w; export SONDE_PATH=$PWD/t; (while :; do ./w 0 5; done) & python3 -c 'import os, subprocess, sys; m, s = os.openpty(); p = subprocess.Popen(sys.argv[1:], stderr=s, stdout=subprocess.PIPE); os.close(s); out = p.stdout.read(); p.wait(); print(repr(os.read(m, 65536).decode()))' {sonde} calls --program $PWD/w -n 100000 -f 4; kill $!
TIMEOUT 40
EXPECT_RE \\r\\x1b\[K0:0\d  \d+ calls, \d+ unique stacks, \d+ lost

NAME what a tool in the path imports has to be as safe as the tool
RUN mkdir t t/g t/w; M='macro m() { print("ran"); }'; for f in a g/b w/c; do echo "$M" >t/$f.bt; echo "import \"$f.bt\"; begin { m(); exit() }" >t/tool${f##*/}.bt; done; echo 'import "g"; begin { m(); exit() }' >t/folder.bt; export SONDE_PATH=$PWD/t; for t in toola toolb toolc folder; do {sonde} $t >o || echo failed; grep ran o; done; chmod g+w t/g; chmod 664 t/a.bt; chown 65534 t/w/c.bt; for t in toola toolb toolc folder; do {sonde} $t >o && echo "$t ran"; cat o; done; {sonde} -q t/toola.bt
EXPECT_RE \A(ran\n){4}\s*ran\s*\Z
STDERR ERROR: refusing to import /
STDERR t/a.bt may be written to by its group
STDERR t/g may be written to by its group
STDERR t/w/c.bt belongs to neither root nor you

# Kernel stacks of a thread that another one wakes: there is one, whatever else happens on the machine.
NAME profile: its printed script gives its reports
LONG
TIMEOUT 120
RUN cp {build}/paths w; {top}/test/run/printed.sh {sonde} './w 3 50' exact profile '' -e uprobe:$PWD/w:leaf
EXPECT_RE \A--folded same\n--json same\ntext same\nby itself same\n\Z

NAME stackcount: its printed script gives its reports
LONG
TIMEOUT 120
RUN cp {build}/paths w; {top}/test/run/printed.sh {sonde} './w 3 50' exact stackcount $PWD/w:leaf
EXPECT_RE \A--folded same\n--json same\ntext same\nby itself same\n\Z

NAME offcputime: its printed script gives its reports
LONG
FEW on a busy machine two runs have waits of other kinds
RETRY 1 two runs are compared
TIMEOUT 120
RUN cp {build}/waits w; {top}/test/run/printed.sh {sonde} './w lock 40 20 Z' futex_wait offcputime '' -K --state 1 --complete=off --comm waiterZ
EXPECT_RE \A--folded same\n--json same\ntext same\nby itself same\n\Z

NAME wakeuptime: its printed script gives its reports
LONG
FEW on a busy machine two runs have waits of other kinds
RETRY 1 two runs are compared
TIMEOUT 120
RUN cp {build}/waits w; {top}/test/run/printed.sh {sonde} './w lock 40 20 Z' holderZ wakeuptime '' --comm waiterZ
EXPECT_RE \A--folded same\n--json same\ntext same\nby itself same\n\Z

NAME offwaketime: its printed script gives its reports
LONG
FEW on a busy machine two runs have waits of other kinds
RETRY 1 two runs are compared
TIMEOUT 120
RUN cp {build}/waits w; {top}/test/run/printed.sh {sonde} './w lock 40 20 Z' holderZ offwaketime '' -K --state 1 --comm waiterZ
EXPECT_RE \A--folded same\n--json same\ntext same\nby itself same\n\Z
