# Files that results go to (-o, --flame, --pprof, skboutput): what was in them stays until there is something to put in its place, and what could
# not be written is an error.

FILE TOGETHER

NAME -o: a wrong script, a wrong option, a refused probe and a dry run leave a file as it was
RUN echo old >f; {sonde} -o f -e 'begin { print($x) }'; {sonde} -o f -e 'begin {'; {sonde} -o f --nosuch -e 'begin { }'; {sonde} -o f -p 0 -e 'begin { }'; {sonde} -q -o f -e 'uprobe:/nosuch:f { }'; {sonde} -q -o f --dry-run -e 'begin { }'; {sonde} -o f /no/such/file.bt; {sonde} profile -o f --nosuch; {sonde} profile -o f -F 0 1; {sonde} profile -o f -p 4194304 1; {sonde} stackcount -o f nosuch_function; {sonde} profile -o f -e software:nosuch 1; cat f; {sonde} -q -o f -e 'begin { printf("new\n"); exit() }'; cat f
EXPECT_RE \Aold\nnew\n+\Z

NAME -o: a script that prints nothing empties the file, since it ran
RUN echo old >f; {sonde} -q -o f -e 'begin { exit() }'; tr -d '\n' <f | wc -c
EXPECT_LINE 0

NAME -o: what was longer than the new output leaves nothing behind it
RUN seq 100000 >f; {sonde} -q -o f -e 'begin { printf("new\n"); exit() }'; cat f; seq 100000 >f; {sonde} -o f -d ir -e 'begin { }'; grep -c 99999 f; seq 100000 >f; {sonde} --fmt -o f -e 'begin{exit()}'; cat f
EXPECT_RE \Anew\n+0\nbegin\n\{\n(.*\n)+\}\n\Z

NAME -o: a file that was not there is not left behind when nothing ran
RUN {sonde} -o f -e 'begin { print($x) }'; {sonde} profile -o f -p 4194304 1; ls -I 'std*'; {sonde} -q -o f -e 'begin { exit() }'; ls -I 'std*'
STDERR ERROR: Undefined
EXPECT_RE \Af\n\Z

NAME --flame and --pprof: a wrong option, a refused event and processes that are gone leave files as they were
RUN echo old >f; echo old >p; {sonde} profile --flame f --pprof p --nosuch; {sonde} profile --flame f --pprof p -p 4194304 1; {sonde} profile --flame f --pprof p -e software:nosuch 1; {sonde} stackcount --flame f --pprof p nosuch_function; cat f p; {sonde} profile --flame new -e software:nosuch 1; ls new
RC 2
EXPECT_RE \Aold\nold\n\Z

NAME what cannot be written is told before tracing
RUN cp {build}/waits w; ./w spin 60000 & for o in '-o /nosuch/f' '--flame /nosuch/f' '--pprof .' '--flame w'; do timeout 5 {sonde} profile $o; echo $?; done; timeout 5 {sonde} -o /nosuch/f -e 'interval:s:9 { }'; echo $?; kill %1 || true
EXPECT_RE \A1\n1\n1\n1\n1\n\Z
STDERR ERROR: cannot write /nosuch/f: No such file or directory
STDERR ERROR: cannot write .: Is a directory
STDERR ERROR: cannot write w: Text file busy

NAME two outputs to one file, by any of its names
RUN touch here; ln -s here link; ln here hard; for o in '-o x --flame x' '-o x --flame ./x' '--flame x --pprof ../'$(basename $PWD)/x '-o here --pprof link' '--flame hard --pprof here' '--flame here'; do timeout 5 {sonde} profile $o >>here 5; echo $?; done >rcs; cat rcs; ls -I 'std*'
EXPECT_RE \A1\n1\n1\n1\n1\n1\nhard\nhere\nlink\nrcs\n\Z
STDERR ERROR: --flame and -o are the same file: x
STDERR ERROR: --flame and --pprof are the same file: ../
STDERR ERROR: --flame and --pprof are the same file: here
STDERR ERROR: --flame and standard output are the same file: here

NAME outputs to two files, and to one device, are fine
RUN {sonde} profile -o a --flame b --pprof c 1 && {sonde} profile -o /dev/null --flame /dev/null 1 && ls -I 'std*'; head -c 4 b; head -c 2 c | od -An -tx1
EXPECT_RE \Aa\nb\nc\n<\?xm
EXPECT 1f 8b

NAME -o over the script is refused
RUN echo 'begin { print("ran"); exit() }' >s.bt; {sonde} -o ./s.bt s.bt; cat s.bt
STDERR ERROR: ./s.bt is the script
EXPECT_LINE begin { print("ran"); exit() }

NAME the flame graph and the profile say what they hold
RUN {build}/waits spin 60000 & {sonde} profile -p $! -F 99 -U --flame f.svg --pprof p.pb.gz -f -o o 1 2>err; awk '{ n++; s += $NF } END { print "f.svg: flame graph of", n, (n == 1 ? "stack," : "stacks,"), s, "samples"; print "p.pb.gz: pprof profile of N stacks,", s, "samples" }' o | sort >want; sed '/^p/s/of [0-9]* stacks*/of N stacks/' err | sort | diff want - && grep -c spin_here o; kill $!
EXPECT_LINE 1

NAME an empty flame graph says that it is empty
RUN sleep 9 & {sonde} profile -p $! --flame f.svg 1; kill $!
STDERR f.svg: flame graph of 0 stacks, 0 samples

NAME a fifo with a reader: nothing ends it before the report
RUN mkfifo q; cat q >got & {sonde} profile --flame q 1; wait $!; tail -c 7 got
EXPECT </svg>

NAME help, versions, lists and scripts to a full disk
RUN for c in help 'help tools' 'help lang' -V --version --help info --info '-l tracepoint:sched:*' 'profile --help' 'profile --print-script' '--fmt -e begin{}' '-d ir -e begin{}'; do {sonde} $c >/dev/full; echo $?; done | sort | uniq -c
EXPECT_RE \A +13 1\n\Z
STDERR ERROR: cannot write all to standard output: No space left on device

NAME help, versions and tools without a standard output
RUN for c in help -V info 'profile --help' 'profile 1' 'offcputime --json 1'; do {sonde} $c >&-; echo $? >>rcs; done; sort rcs | uniq -c; {sonde} -q -e 'begin { printf("x\n"); exit() }' >&-; echo $?; {sonde} -q -o f -e 'begin { printf("x\n"); exit() }' >&- <&-; echo $?; cat f
EXPECT_RE \A +6 1\n1\n0\nx\n
STDERR ERROR: cannot write to standard output: it is closed
STDERR ERROR: standard output is closed

NAME help and versions to a pipe whose reader has left
RUN for c in 'help lang' -V info 'profile --print-script'; do (sleep 0.2; {sonde} $c; echo $? >&2) | true; done
STDERR 0
EXPECT_NOT 1

NAME skboutput: a refused script leaves the file as it was
RUN echo old >f.pcap; {sonde} -e 'tracepoint:net:netif_receive_skb { $r = skboutput("f.pcap", (struct sk_buff *)args.skbaddr, args.len, 0) } uprobe:/nosuch:f { }'; cat f.pcap
EXPECT_LINE old
STDERR ERROR
