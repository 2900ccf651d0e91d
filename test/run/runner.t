# The test runner itself (test/runner).

FILE TOGETHER

NAME blocks that cannot be meant are refused, others are not
RUN printf 'NAME a\nPROG begin { }\nEXPCT x\n\nNAME b\nPROG begin { }\nEXPECT_NOT x\n\nNAME c\nRUN true\nEXPECT_RE ^$\n\nNAME d\nRUN true\nRC 1\nRC 2\n\nNAME e\nPROG begin { }\nRUN true\nEXPECT x\n\nNAME f\nRUN true\nEXPECT x\nRETRY 2\n\nNAME g\nRUN true\nEXPECT x\nRETRY 2 samples\n\nNAME h\nRUN true\nRC 3\n' >x.t; python3 -B -c 'import sys; sys.path.insert(0, "{top}/test"); from runner import blocks; good, bad = blocks.blocks("x.t"); print("\n".join("%s: %s" % b for b in bad)); print([b.name for b in good], good[0].retry())'
EXPECT_LINE x.t:1: unknown key EXPCT
EXPECT_LINE x.t:5: it expects nothing that is there, only what is not: a program that does nothing would pass
EXPECT_LINE x.t:9: it expects nothing that is there, only what is not: a program that does nothing would pass
EXPECT_LINE x.t:13: RC is there twice
EXPECT_LINE x.t:18: it needs one of PROG and RUN
EXPECT_LINE x.t:23: RETRY says how many further tries and why: RETRY 2 samples
EXPECT_LINE ['x: g', 'x: h'] (2, 'samples')

# Without child.clean() the same children ignore what the shell ignored. 32 and 33 are the C library's own, which it lets nobody set.
NAME children start without ignored signals, whoever started the runner
RUN trap '' HUP INT QUIT TERM; for c in pass 'child.clean()'; do python3 -B -c "import sys; sys.path.insert(0, '{top}/test'); from runner import child; $c; print(child.output(['grep', 'SigIgn', '/proc/self/status'], 9)[1], end='')" 7</dev/null; done; python3 -B -c "import sys; sys.path.insert(0, '{top}/test'); from runner import child; child.clean(); print(child.output(['sh', '-c', 'readlink /proc/self/fd/0; ls /proc/self/fd | wc -l'], 9)[1], end='')" 7</dev/null
EXPECT_RE \ASigIgn:\s+[0-9a-f]*4007\nSigIgn:\s+0*((1|8|18)0{7,8})?\n/dev/null\n4\n\Z

NAME a program that is still there when its time is over ends with all that it started
RUN python3 -B -c "import sys; sys.path.insert(0, '{top}/test'); from runner import child; print(child.output(['sh', '-c', 'echo begun; sleep 987654 & wait'], 1))"; sleep 0.2; ps -eo args | grep -cx 'sleep 987654'; true
EXPECT_RE \A\(None, 'begun\\n'\)\n0\n\Z

NAME a test that fails and has a further try is counted, one without has failed
NEED cmd:cc
RUN mkdir -p b/test; printf '#include "t.h"\nTEST_RETRY(now_and_then, "samples") { CHECK(access("flag", F_OK) == 0); fclose(fopen("flag", "w")); }\nTEST(never) { CHECK(0); }\nT_MAIN()\n' >x_test.c; cc -D_GNU_SOURCE -I{top}/src -I{top}/test/unit -o x_test x_test.c; python3 -B -c "import sys; sys.path.insert(0, '{top}/test'); from runner import unit, tally; unit.TOP = '.'; t = tally.Tally(False); unit.run_program(t, './x_test'); t.close()"
EXPECT_LINE # 1 passed only at a retry
EXPECT_LINE #   x_test: now_and_then (samples)
EXPECT_LINE FAILED  x_test: never
EXPECT_RE ^1 passed, 1 failed, 0 skipped\n\Z

# Three tests fail at first, two second tries are there: they come when all others have ended.
NAME with --second-tries so many that fail are run once more, and counted
NEED cmd:cc
RUN mkdir -p t/test/run; cp -r {top}/test/runner {top}/test/vm {top}/test/*.py t/test; printf 'NAME a\nRUN echo a >>{tmp}/log; test -e {tmp}/flag; echo $?; touch {tmp}/flag\nEXPECT_LINE 0\n\nNAME b\nRUN echo b >>{tmp}/log; echo 1\nEXPECT_LINE 0\n\nNAME c\nRUN echo c >>{tmp}/log; echo 1\nEXPECT_LINE 0\n' >t/test/run/x.t; t/test/run.py --build {build} --suite run --second-tries 2; cat log
EXPECT_RE ^note    x: a: run again: stdout has no line: 0\n(        .*\n)+note    x: b: run again: stdout has no line: 0\n(        .*\n)+FAILED  x: c\n(        .*\n)+# 3 tests one by one in \d+ s\nFAILED  x: b\n
EXPECT_LINE # 1 passed only at a retry
EXPECT_LINE #   x: a (a second try)
EXPECT_RE ^1 passed, 2 failed, 0 skipped\na\nb\nc\na\nb\n\Z

NAME the asan suite sees a leak, undefined behaviour, a failed test and a failed assertion, each alone
NEED cmd:clang
RUN for c in 'volatile char *p = malloc(77); p = 0' 'volatile int i = 2147483647; i++' 'CHECK(0)' '__assert_fail("0", "x", 1, "f")' 'CHECK(1)'; do printf '#include "t.h"\n#include <assert.h>\nTEST(only) { %s; }\nT_MAIN()\n' "$c" >x_test.c; clang -w -D_GNU_SOURCE -fsanitize=fuzzer-no-link,address,undefined -I{top}/src -I{top}/test/unit -o x_test x_test.c; python3 -B -c "import os, sys; sys.path.insert(0, '{top}/test'); from runner import unit, tally; unit.TOP = '.'; t = tally.Tally(False); unit.run_asan_program(t, './x_test', dict(os.environ, **unit.ASAN_ENV)); print(t.counts())" | grep -oE '^\(.*|LeakSanitizer: detected|runtime error|not ok|failed: 0|Assertion .0. failed'; done
TIMEOUT 60
EXPECT_RE \ALeakSanitizer: detected\n\(0, 1, 0\)\nruntime error\n\(0, 1, 0\)\nfailed: 0\n\(0, 1, 0\)\nAssertion .0. failed\n\(0, 1, 0\)\n\(1, 0, 0\)\n\Z

# Of four two share a word. Three meet: one of the two, and both that share nothing.
NAME tests side by side: as many as there are places, of those with one word one at a time, and how long each file took
RUN printf 'FILE TOGETHER\n\nNAME a\nTOGETHER one\nRUN true\nEXPECT x\n\nNAME b\nRUN true\nNEED cmd:go\nEXPECT x\n\nNAME c\nALONE it counts\nRUN true\nEXPECT x\n' >x.t; printf 'FILE TOGETHER two\n\nNAME d\nRUN true\nEXPECT x\n\nNAME e\nFEW samples\nLONG\nRUN true\nEXPECT x\n\nNAME x\nLONG\nEXTRA others do\nRUN true\nEXPECT x\n' >y.t; printf 'NAME f\nRUN true\nEXPECT x\n' >z.t; python3 -B -c 'if 1:
    import sys, threading
    sys.path.insert(0, "{top}/test")
    from argparse import Namespace
    from runner import blocks, files, tally, unit
    print([(b.company(), sorted(b.shared())) for f in ("x.t", "y.t", "z.t") for b in blocks.blocks(f)[0]])
    print([[b.name for b in files.chosen(None, Namespace(filter=f, short=s, extra=x), ["y.t"])] for f, s, x in (("*", True, False), ("*", False, False), ("*", False, True), ("y*", False, False))])
    now, both, lock, three = set(), [], threading.Lock(), threading.Barrier(3)
    def work(n):
        with lock:
            now.add(n)
            both.append({1, 2} <= now)
        if n != 2:
            three.wait(20)
        with lock:
            now.discard(n)
    unit.side_by_side(3, work, [1, 2, 3, 4], lambda n: ["w"] if n < 3 else [])
    print("ran", len(both), "the two at once", any(both))
    t = tally.Tally(False)
    t.suite = "run"
    for name, seconds in (("f: a", 1), ("f: b", 2.5), ("g: a", 3)):
        t.took(name, seconds)
    t.write_times("times")'; cat times
EXPECT_LINE [('TOGETHER', ['one']), ('TOGETHER', ['go']), ('ALONE', []), ('TOGETHER', ['two']), ('FEW', ['two']), ('TOGETHER', ['two']), ('ALONE', [])]
EXPECT_LINE [['y: d'], ['y: d', 'y: e'], ['y: x'], ['y: d', 'y: e', 'y: x']]
EXPECT_LINE ran 4 the two at once False
EXPECT_RE ^    3\.5 s  run f\n    3\.0 s  run g\n\n    3\.0 s  run  g: a\n    2\.5 s  run  f: b\n    1\.0 s  run  f: a\n

NAME a private copy of a traced program has a name of its own, and the number is that of the test
RUN {copy:calls}; cmp {copy:calls} {build}/calls && basename {copy:calls}; echo {name:calls} {name:calls}; ls
EXPECT_RE \A{name:calls}\n({name:calls}) \1\n(.*\n)*calls\d{6}\n
EXPECT {id}
EXPECT_NOT {copy

NAME threads of test/progs/waits.c have names that no other test uses
RUN cd {top}/test/run && grep -nH 'waits}* [a-z]* [0-9]* [0-9]* [0-9]' *.t | python3 -c 'import re, sys; n = [s for l in sys.stdin for s in set(re.findall(r"waits\}* (?:sleep|lock|chain|calls) \d+ \d+ (\d+)", l))]; print(len(n) > 20, sorted(s for s in n if n.count(s) > 1))'
EXPECT_RE \ATrue \[\]\n\Z
