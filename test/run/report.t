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
LONG
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
RETRY 2 a browser beside other tests: it may be late with a new size
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

NAME flame graph (SVG): the page's gestures: clicks, keys, search with its share of what is shown, icicle, a copied stack, a link; what is too narrow is said
NEED cmd:chromium
RUN {top}/test/page/acts.py {sonde} flame
EXPECT share of what is shown: same, 1 match: 21.3 % of what is shown
EXPECT too narrow: same, 2,000 frames (0.2 %) too narrow to draw or to find
EXPECT_LINE copied: ['    parse', '    work', '    main', '    app']
EXPECT_LINE errors: []
EXPECT_NOT PAGE
TIMEOUT 60

NAME flame graph (SVG): kinds of frames differ for eyes without red or green cones, texts on them are readable
NEED cmd:chromium
RUN {top}/test/page/acts.py {sonde} pigments
EXPECT_RE ^kinds: \['inlined', .*'kernel', 'user'\]$
EXPECT_RE ^kinds well apart \(.*\), texts readable
EXPECT_LINE errors: []
TIMEOUT 60

NAME report page: hostile names are text
LONG
NEED cmd:chromium
RUN {top}/test/page/acts.py {sonde} hostile
EXPECT_LINE elements made of names: same, 0
EXPECT_LINE escape: True bad bytes: True turned: True long: 11008
EXPECT_LINE found: 1 box matches
EXPECT_LINE errors: []
EXPECT_NOT PAGE
TIMEOUT 60

NAME report page: kinds of frames and objects differ for eyes without red or green cones, texts on them are readable
NEED cmd:chromium
RUN {top}/test/page/acts.py {sonde} colours
EXPECT_RE ^light: kinds well apart \(.*\), texts readable
EXPECT_RE ^dark: kinds well apart \(.*\), texts readable
EXPECT_RE ^light: objects well apart \(.*\), texts readable
EXPECT_RE ^dark: objects well apart \(.*\), texts readable
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

NAME text of bpftrace 0.17: a kernel stack without frames keeps its place in the key
RUN printf '@[, \n    0x5647\n, w]: 50\n@[\n    vfs_read+1\n    entry_SYSCALL_64_after_hwframe+118\n, \n    0x5649\n, w]: 2\n@[\n    vfs_read+1\n    entry_SYSCALL_64_after_hwframe+118\n, , w]: 3\n' > b.txt; {sonde} report --json b.txt
EXPECT "comm": "w", "user": ["0x5647"], "kernel": [], "value": 50
EXPECT "comm": "w", "user": ["0x5649"], "kernel": ["vfs_read", "entry_SYSCALL_64_after_hwframe"], "value": 2
EXPECT "comm": "w", "user": [], "kernel": ["vfs_read", "entry_SYSCALL_64_after_hwframe"], "value": 3

NAME text of bpftrace 0.17: an empty text in front of the stacks
RUN printf '@[, \n    entry_SYSCALL_64_after_hwframe+118\n, \n    0x5647\n]: 1\n@[w, \n    entry_SYSCALL_64_after_hwframe+118\n, \n    0x5649\n]: 2\n@[w, \n    entry_SYSCALL_64_after_hwframe+118\n, \n    0x5651\n]: 3\n' > b.txt; {sonde} report --json b.txt
EXPECT_RE (?s)("user": \["0x56\d\d"\], "kernel": \["entry_SYSCALL_64_after_hwframe"\].*){3}

NAME folded text: to SVG with a title, with lines that begin with a frame
RUN printf 'main;<f> 3\n' | {sonde} flame --title '<&>' --no-process - | grep -o 'id="title".*\|<title>.*'
EXPECT >&lt;&amp;&gt;</text>
EXPECT_LINE <title>&lt;f&gt;

NAME what is read is not written to
RUN echo 'p;main 3' >a; echo 'p;main 4' >b; ln -s a c; for o in 'report --pprof a a' 'report -o a a' 'flame -o a c' 'report --html c a' 'diff -o b a b' 'diff --html a a b'; do {sonde} $o; echo $?; done; cat a b
EXPECT_RE \A(1\n){6}p;main 3\np;main 4\n\Z
STDERR ERROR: a is what is read: it would be overwritten

NAME profiles from files that are none
RUN head -c 5000 /dev/zero > z; for f in z /nosuch /; do {sonde} report $f; echo $?; done; printf '\37\213\10junk' > g; {sonde} report g; echo $?; {sonde} report; echo $?; {sonde} flame --nosuch x; echo $?; echo 'just words' | {sonde} report -; echo $?
EXPECT_RE \A(1\n){4}2\n2\n1\n\Z
STDERR ERROR: cannot read z: it is neither pprof, folded stacks, the text of perf script nor that of bpftrace's maps
STDERR ERROR: cannot open /nosuch: No such file or directory
STDERR ERROR: cannot read /: Is a directory
STDERR ERROR: cannot read g: its gzip data are damaged or cut short
STDERR sonde report: error: takes one file

NAME pprof files: folded text from one is the folded text it was made from, also with labels of kernel and user
RUN {sonde} profile -F 499 -f --pprof p.pb.gz 1 > a; {sonde} report -f p.pb.gz | sort > b; sort a | cmp - b && awk '{s += $NF} END {print (s > 10)}' b; gunzip < p.pb.gz > p.pb; {sonde} report -f p.pb | sort | cmp - b && echo unpacked
EXPECT_RE \A1\nunpacked\n\Z

NAME pprof files through sonde report keep mappings with build ids, addresses, comments, times; addresses of perf script are as it says
RUN {build}/mangled 60 >/dev/null & p=$!; {sonde} profile -F 499 -p $p --pprof a.gz 2 >/dev/null; kill $p; {sonde} report --pprof b.gz a.gz; for f in a b; do python3 {top}/test/run/pprof.py $f.gz 'sorted((one(m, "start"), one(m, "limit"), one(m, "offset"), s(one(m, "filename")), s(one(m, "build_id"))) for m in p["mapping"])' 'sorted((one(l, "address"), names[one(l, "id")]) for l in p["location"])' '[s(c) for c in p["comment"]]' 'one(p, "period"), one(p, "time"), one(p, "duration")' >$f; done; cmp a b && grep -c 'mangled.*plain_work\|mangled.*[0-9a-f]\{40\}\|command: .*sonde profile' a; printf 'prog 12/13 [001] 5.25: 1 cycles:u: \n\t 7f001234 leaf+0x1a (/lib/x)\n\n' | {sonde} report --pprof c.gz -; python3 {top}/test/run/pprof.py c.gz '[hex(one(l, "address")) for l in p["location"]]' '[hex(one(m, "start")) for m in p["mapping"]]'
EXPECT_RE \A[23]\n\['0x7f001234'\]\n\['0x7f001000'\]\n\Z
TIMEOUT 40

NAME pprof files of Go: as go tool pprof has them
NEED cmd:go
RUN printf 'package main\nimport ("os"; "runtime/pprof"; "context")\nfunc hot(n int) (s int) { for i := 0; i < n; i++ { s += i*i%%7 }; return }\nfunc work(n int) (s int) { for ; n > 0; n-- { s += hot(100000) }; return }\nfunc main() { f, _ := os.Create("go.pb.gz"); pprof.StartCPUProfile(f); pprof.Do(context.Background(), pprof.Labels("request", "x"), func(context.Context) { work(6000) }); work(4000); pprof.StopCPUProfile(); f.Close() }\n' > m.go; HOME=$PWD GOFLAGS=-mod=mod go run m.go && go tool pprof -top -nodecount=1000 go.pb.gz 2>/dev/null | awk '$6 == "main.work" {print $4}' > go; {sonde} report --value cpu -f go.pb.gz | awk '/main.work/ {s += $NF} END {printf "%gms\n", s / 1e6}' | cmp - go && echo same; {sonde} report -f go.pb.gz | awk '/^x;/ {x += $NF} {s += $NF} END {print (x > 0 && x < s)}'
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

NAME the text of perf script: without times, objects with brackets or offsets, a tracepoint's fields, numbers in names of processes
RUN printf 'prog 3  12/13 [001] cycles:P: \n\t        7f00 f(int)+0x1a (/memfd:x (deleted))\n\t 7f01 g (int) (inlined)\n\t 7f02 operator()(a)+0x3 (/lib/x+0x99)\n\nprog  12 100 cycles:P: \n\t        401136 f()+0x1a (/x)\n\n  t 5 cycles:P: add 3 ==> x\n\n' > p; {sonde} report -f p; {sonde} report --top p | awk '/f.int|operator/ {print $5, $6, $7}'
EXPECT_LINE prog 3;operator()(a);g (int);f(int) 1
EXPECT_LINE prog;f() 1
EXPECT_LINE t 1
EXPECT_LINE f(int) /memfd:x (deleted)
EXPECT_RE ^operator\(\)\(a\) /lib/x *$

NAME folded text with wakers: the kernel is known by marks, what woke is no kernel
RUN printf 'app;u1;-;k1;--;wk_[k];-;wu;waker_[w] 5\n' > a; {sonde} report -f a; {sonde} report --html p.html a; python3 -c 'import json, re; j = json.loads(re.search("id=.data.>(.*?)</script>", open("p.html").read(), re.S).group(1)); print([(j["strings"][n], k) for n, k in zip(j["frames"]["name"], j["frames"]["kind"])])'
EXPECT_LINE app;u1;k1_[k];--;wk_[k];wu;waker 5
EXPECT_LINE [('u1', 0), ('k1', 2), ('--', 3), ('wk', 2), ('wu', 0), ('waker', 0)]

NAME the text of maps keyed by stacks: the kernel's stack is told by its root, whatever its place; other parts of the key
RUN printf 'Attaching 1 probe...\n\n@[\n    vfs_read+1\n    entry_SYSCALL_64_after_hwframe+9\n,\n    __read+18\n    main+2\n, my prog, 12]: 3\n@[\n, \n    lonely+1\n, x, 3]: 4\n@n[x]: 2\n' > a; {sonde} report -f a; printf '@us[\n    leaf+1\n    main+9\n, \n    vfs_read+18\n    asm_exc_page_fault+2\n, p]: 3\n@us[\n  ffffffff81000010 b+2\n, p]: x\n@k[p, \n\tffffffff81000010 idle+2\n]: 7\n' > b; {sonde} report -f b; {sonde} report -f --value @k b; {sonde} report --json a | grep -o '"key1": "12"'; printf '@[\n  leaf+1 [a.py:12]\n  [inlined] in+3@b.c:4\n  [cc1+0x12]+3\n  0x7f12\n  [truncated]\n]: 5' | {sonde} report --lines -f -
EXPECT_LINE my prog;12;main;__read;entry_SYSCALL_64_after_hwframe;vfs_read 3
EXPECT_LINE x;3;lonely 4
EXPECT_LINE "key1": "12"
EXPECT_LINE p;main;leaf;asm_exc_page_fault;vfs_read 3
EXPECT_LINE p;idle 7
EXPECT_LINE [truncated];0x7f12;[cc1];in@b.c:4;leaf@a.py:12 5
STDERR WARNING: a: 1 of its lines left out: the first, 14, is of another map (--value chooses)
STDERR WARNING: b: 2 of its lines left out: the first, 8, has no number for its value

NAME maps keyed by stacks: what sonde prints is what it folds, user and kernel
RUN {sonde} -q -e 'profile:hz:499 { @[ustack, kstack, comm] = count() } interval:s:1 { exit() }' > t; {sonde} report -f t | awk '{s += $NF} END {print s}' > n; grep -oE '^, .*\]: [0-9]+$' t | awk '{s += $NF} END {print (s > 0), s}' | while read some all; do echo $some; grep -cx $all n; done; {sonde} report --json t | grep -c '"kernel": \["' | sed 's/^[1-9].*/kernel/'
EXPECT_RE \A1\n1\nkernel\n\Z

NAME profiles that others packed: what to do is said
RUN printf 'PERFILE2x\0' > a; printf '\050\265\057\375\0' > b; printf '\3757zXZ\0' > c; for f in a b c; do {sonde} report $f; echo $?; done
EXPECT_RE \A1\n1\n1\n\Z
STDERR ERROR: cannot read a: it is perf's own file: give the text of `perf script -i FILE`
STDERR ERROR: cannot read b: it is compressed by zstd: unpack it with `zstd -d` first
STDERR ERROR: cannot read c: it is compressed by xz: unpack it with `xz -d` first

NAME speedscope files: their stacks are those of the folded text
RUN printf 'app;main;"q"\\ 3\napp;main;<b>;k_[k] 4\nbpp;\033[31mred 5\n' > a; {sonde} report --speedscope s.json --unit us a; python3 {top}/test/run/speedscope.py s.json; grep -c '"unit":"microseconds"' s.json
EXPECT_LINE app;main;"q"\ 3
EXPECT_LINE app;main;<b>;k 4
EXPECT_LINE bpp;\x1b[31mred 5
EXPECT_LINE wrong: []
EXPECT_LINE 1

NAME speedscope itself reads what --speedscope and --pprof wrote: the folded text's numbers of each function
LONG
NEED cmd:chromium
NEED npm:speedscope@1.25.0
RUN {top}/test/page/scope.py {sonde}
EXPECT_LINE --speedscope: same, 11 functions
EXPECT_LINE --pprof: same, 9 functions
EXPECT_LINE errors: []
TIMEOUT 90

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

NAME a cut stack's [truncated], read from a file, is no function: no row of tables, no verdict
RUN printf 'p;[truncated];leaf 30\np;main;leaf 20\n' > a; printf 'p;[truncated];leaf 300\np;main;leaf 20\n' > b; {sonde} report --pprof a.pb.gz a 2>/dev/null; {sonde} report --pprof b.pb.gz b 2>/dev/null; {sonde} report --top=9 a.pb.gz | tail -n 1; {sonde} report -f a.pb.gz; {sonde} diff a b | grep -c ' total *\[truncated\]'; {sonde} diff --fail-if +2% a.pb.gz b.pb.gz 2>&1 >/dev/null | grep -c truncated
RC 1
EXPECT_RE \ATotal: 50 samples in 2 stacks, 2 of 2 functions\np;\[truncated\];leaf 30\np;main;leaf 20\n0\n0\n\Z
