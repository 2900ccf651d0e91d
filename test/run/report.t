# The report page and profiles from files (sonde report, sonde flame). What the page shows is compared with the folded text it was made from: acts.py
# works both out and prints "same" with the value, or both.

FILE TOGETHER

NAME report page: clicks zoom in, keys, buttons and the browser zoom out, a link restores the view
NEED cmd:chromium
RUN {top}/test/page/acts.py {sonde} zoom
EXPECT a link to the zoomed box: same, 1200
EXPECT_LINE errors: []
EXPECT_NOT PAGE
TIMEOUT 60

NAME report page: search by text and by expression, its share of all and of the zoomed box
NEED cmd:chromium
RUN {top}/test/page/acts.py {sonde} search
EXPECT a match in a match counts once: same, 2 boxes match: 47.0 % of what is shown (47 samples)
EXPECT_LINE no expression: True
EXPECT_LINE errors: []
EXPECT_NOT PAGE
TIMEOUT 60

NAME report page: the table of functions, sorted by each column
NEED cmd:chromium
RUN {top}/test/page/acts.py {sonde} table
EXPECT Enter makes a sandwich: same, Who calls malloc
EXPECT_LINE errors: []
EXPECT_NOT PAGE
TIMEOUT 60

NAME report page: sandwich and callers, a stack copied as text
NEED cmd:chromium
RUN {top}/test/page/acts.py {sonde} sandwich
EXPECT share of a callee: same, 0.476
EXPECT_LINE errors: []
EXPECT_NOT PAGE
TIMEOUT 60

NAME report page: everything by key
NEED cmd:chromium
RUN {top}/test/page/acts.py {sonde} keys
EXPECT filters: same, false,SELECT
EXPECT_LINE errors: []
EXPECT_NOT PAGE
TIMEOUT 60

NAME report page: filters, and what is left said
NEED cmd:chromium
RUN {top}/test/page/acts.py {sonde} filter
EXPECT said: same, filtered: 33 samples of 100 samples
EXPECT_LINE errors: []
EXPECT_NOT PAGE
TIMEOUT 60

NAME report page: merged by function, line and object, stacks of a language and of a process
LONG
NEED cmd:chromium
RUN {top}/test/page/acts.py {sonde} lines
EXPECT of one process: same, ['two 1', 'main 1']
EXPECT_LINE errors: []
EXPECT_NOT PAGE
TIMEOUT 60

NAME report page: phone and desktop widths, dark when the system is
NEED cmd:chromium
RUN {top}/test/page/acts.py {sonde} sizes
EXPECT width of app at 320: same, 214
EXPECT the system is dark: same, dark
EXPECT_LINE errors: []
EXPECT_NOT PAGE
TIMEOUT 60

NAME report page: boxes too narrow to draw are counted, said, found by search and in the table
NEED cmd:chromium
RUN {top}/test/page/acts.py {sonde} narrow
EXPECT 111 of them too narrow to draw
EXPECT in the table: same, 111 matching functions
EXPECT_LINE errors: []
EXPECT_NOT PAGE
TIMEOUT 60

NAME report page: hostile names are text
NEED cmd:chromium
RUN {top}/test/page/acts.py {sonde} hostile
EXPECT_LINE elements made of names: same, 0
EXPECT_LINE escape: True bad bytes: True turned: True long: 11008
EXPECT_LINE found: 1 box matches
EXPECT_LINE errors: []
EXPECT_NOT PAGE
TIMEOUT 60

NAME report page: kinds of frames differ for eyes without red or green cones, texts on them are readable
NEED cmd:chromium
RUN {top}/test/page/acts.py {sonde} colours
EXPECT_RE ^light: kinds well apart \(.*\), texts readable
EXPECT_RE ^dark: kinds well apart \(.*\), texts readable
EXPECT_LINE errors: []
TIMEOUT 60

NAME report page: no address in it, no script from elsewhere, and its policy forbids both
RUN printf 'a;b 1\n' | {sonde} report --html p.html -; grep -c 'default-src .none' p.html; grep -cE 'https?://|src=|@import|url\(' p.html || true
EXPECT_RE \A1\n0\n\Z

NAME --html of a tool: as much in the page as in the folded text
RUN {sonde} profile -F 999 -f --html p.html -p $(sh -c '{build}/waits spin 3000 >/dev/null & echo $!') 1 | awk '{s += $NF} END {print (s > 10), s}' > n; read ok n < n; echo $ok; grep -o "^\"samples\".*" p.html | python3 -c 'import json, sys; print(sum(json.loads("{" + sys.stdin.read().strip().rstrip(",") + "}")["samples"]["value"]) == int(sys.argv[1]))' $n
EXPECT_RE \A1\nTrue\n\Z
STDERR p.html: report page of

NAME folded text from files: lines that are none are counted, the others whole
RUN printf 'app;main;f 3\r\n# comment\n\napp;main;f 4\nno count\napp;-;k_[k] 018446744073709551615\nx;y 99999999999999999999\nb 2' | {sonde} report -f -
EXPECT_RE \Aapp;main;f 7\napp;k_\[k\] 18446744073709551615\nb 2\n\Z
STDERR WARNING: -: 2 of its lines left out: the first, 5, does not end in a count

NAME folded text from files: marks of kinds are read, and written again
RUN printf 'p;main;f@w.py:3_[j];read_[i];read;k_[k] 3\n' >a; {sonde} report -f a | cmp - a && {sonde} flame a | grep -o ', interpreted<\|, kernel<\|, inlined<' | sort; {sonde} report --json a
EXPECT_RE \A, inlined<\n, interpreted<\n, kernel<\n\{
EXPECT "user": ["read", "read", "f@w.py:3", "main"], "lang": [null, null, "unknown", null], "kernel": ["k"]

NAME folded text: to SVG with a title, with lines that begin with a frame
RUN printf 'main;<f> 3\n' | {sonde} flame --title '<&>' --no-process - | grep -o 'id="title".*\|<title>.*'
EXPECT >&lt;&amp;&gt;</text>
EXPECT_LINE <title>&lt;f&gt;

NAME profiles from files that are none
RUN head -c 5000 /dev/zero > z; for f in z /nosuch /; do {sonde} report $f; echo $?; done; printf '\37\213\10junk' > g; {sonde} report g; echo $?; {sonde} report; echo $?; {sonde} flame --nosuch x; echo $?; echo 'just words' | {sonde} report -; echo $?
EXPECT_RE \A(1\n){4}2\n2\n1\n\Z
STDERR ERROR: cannot read z: it is neither pprof, folded stacks nor the text of perf script
STDERR ERROR: cannot read g: its gzip data are damaged or cut short
STDERR sonde report: error: takes one file

NAME pprof files: folded text from one is the folded text it was made from, also with labels of kernel and user
RUN {sonde} profile -F 499 -f --pprof p.pb.gz 1 > a; {sonde} report -f p.pb.gz | sort > b; sort a | cmp - b && awk '{s += $NF} END {print (s > 10)}' b; gunzip < p.pb.gz > p.pb; {sonde} report -f p.pb | sort | cmp - b && echo unpacked
EXPECT_RE \A1\nunpacked\n\Z

NAME pprof files of Go: as go tool pprof has them
NEED cmd:go
RUN printf 'package main\nimport ("os"; "runtime/pprof"; "time"; "context")\nfunc hot(n int) (s int) { for i := 0; i < n; i++ { s += i*i%%7 }; return }\nfunc work(d time.Duration) (s int) { for t := time.Now(); time.Since(t) < d; { s += hot(100000) }; return }\nfunc main() { f, _ := os.Create("go.pb.gz"); pprof.StartCPUProfile(f); pprof.Do(context.Background(), pprof.Labels("request", "x"), func(context.Context) { work(500*time.Millisecond) }); work(300*time.Millisecond); pprof.StopCPUProfile(); f.Close() }\n' > m.go; HOME=$PWD GOFLAGS=-mod=mod go run m.go && go tool pprof -top -nodecount=1000 go.pb.gz 2>/dev/null | awk '$6 == "main.work" {print $4}' > go; {sonde} report --value cpu -f go.pb.gz | awk '/main.work/ {s += $NF} END {printf "%gms\n", s / 1e6}' | cmp - go && echo same; {sonde} report -f go.pb.gz | awk '/^x;/ {x += $NF} {s += $NF} END {print (x > 0 && x < s)}'
EXPECT_RE \Asame\n1\n\Z
TIMEOUT 90

NAME the text of perf script
RUN printf '# remark\nmy prog  12/13 [001] 5.25:     1000 cycles:u: \n\t        7f00 leaf+0x1a (/lib/x)\n  a.c:3\n\t        7f01 in(int) (inlined)\n\t        7f01 out+0x2 (/lib/x)\n\nswap   0 [000] 5.26: 10 cycles:u: \n\tffffffff81000010 native_write_msr+0xa ([kernel.kallsyms])\n\tffffffffc0000010 tun_do+0xa ([tun])\n\n x 1 2.5: instructions: \n\t 1 f (/x)\n\nbare  7 [000] 5.27: cycles:u:  ffffffff81000010 idle+0xa ([kernel.kallsyms])\nlost\n' > p; {sonde} report -f p; {sonde} report --lines -f p | grep a.c; {sonde} report --value instructions -f p
EXPECT_LINE my prog;out;in(int);leaf 1
EXPECT_LINE swap;tun_do;native_write_msr 1
EXPECT_LINE bare;idle 1
EXPECT_LINE my prog;out;in(int);leaf@a.c:3 1
STDERR left out: the first,

NAME the text of perf script: equal stacks are one
RUN for i in 1 2 3; do printf 'prog 12 [000] %d.5: 1 cpu-clock: \n\t7f00 leaf+0x1 (/x)\n\t7f01 main+0x2 (/x)\n\nprog 12 [000] %d.6: 1 cpu-clock: \n\t7f01 main+0x2 (/x)\n\n' $i $i; done > p; {sonde} report p | grep -cE '^        3$'; {sonde} report p | tail -n 1; {sonde} report --json p | grep -c '"value": 3'
EXPECT_RE \A2\nTotal: 6 samples in 2 stacks\n2\n\Z

NAME speedscope files: their stacks are those of the folded text
RUN printf 'app;main;"q"\\ 3\napp;main;<b>;k_[k] 4\nbpp;\033[31mred 5\n' > a; {sonde} report --speedscope s.json --unit us a; python3 {top}/test/run/speedscope.py s.json; grep -c '"unit":"microseconds"' s.json
EXPECT_LINE app;main;"q"\ 3
EXPECT_LINE app;main;<b>;k 4
EXPECT_LINE bpp;\x1b[31mred 5
EXPECT_LINE wrong: []
EXPECT_LINE 1

NAME report page: two profiles compared, in the numbers of sonde diff's text
NEED cmd:chromium
RUN {top}/test/page/acts.py {sonde} diff
EXPECT_LINE as the text says: True True
EXPECT_LINE verdicts: ['cannot tell', 'less', 'more']
EXPECT_LINE colours: more is red True less is blue True others grey True
EXPECT_LINE callers: ['cannot tell', 'less', 'more']
EXPECT_LINE errors: []
EXPECT_NOT PAGE
TIMEOUT 60

NAME hostile names of a pprof file are text in every form: markup, quotes, line ends, terminal escapes, bad UTF-8, 11,008 bytes, also in labels, files, units and errors
RUN python3 {top}/test/run/hostile.py {sonde}
EXPECT_LINE text: no control characters, UTF-8, 18 stacks
EXPECT_LINE folded: no control characters, UTF-8, 18 names
EXPECT_LINE json: no control characters, UTF-8, 18 names
EXPECT_LINE top: no control characters, UTF-8, 19 rows
EXPECT_LINE flame: no control characters, UTF-8, 37 names, 1 scripts
EXPECT_LINE html: no control characters, UTF-8, 1 scripts, no image
EXPECT_LINE speedscope: no control characters, UTF-8, 18 names
EXPECT_LINE pprof: no control characters, UTF-8, 18 names
EXPECT_LINE diff json: no control characters, UTF-8, 18 names
EXPECT_LINE diff fails: no control characters, UTF-8, says so
EXPECT_LINE diff page: no control characters, UTF-8, 1 scripts
EXPECT_LINE errors: no control characters, UTF-8, fine
EXPECT_NOT CONTROL
EXPECT_NOT NOT UTF-8
TIMEOUT 60
