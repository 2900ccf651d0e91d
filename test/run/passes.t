# The list of passes (src/base/passes.def) and what -d prints of each.

FILE TOGETHER

NAME every pass that -d help lists prints something
RUN S='tracepoint:sched:sched_switch { $a = pid; if ($a > 5) { @[$a + 1] = count(); } }'; for p in $({sonde} -d help | sed -n '2,$s/^ *//;2,$s/,/ /g;2,$s/   .*//p'); do n=$(timeout 10 {sonde} --dry-run -d $p -e "$S" | wc -l); echo $p $((n > 1)); done | sort | uniq -c | sort -rn
EXPECT_RE \A( +1 [\w-]+ 1\n){25,}\Z
TIMEOUT 60
EXPECT_LINE       1 regalloc 1
EXPECT_LINE       1 verifier 1

NAME passes print in their own order, whatever the order they are named in
RUN {sonde} -d link,opt,regalloc,lower,emit -e 'begin { @ = 1 }' | sed -n 's/^; \(begin: \)/\1/p' | uniq
EXPECT_RE \Abegin: lower\nbegin: opt\nbegin: regalloc\nbegin: emit\nbegin: link\n\Z

NAME the optimiser's rounds are numbered; registers stand beside values once they are given
RUN {sonde} -d fold,regalloc,slots -e 'begin { $a = pid; @[$a, cpu] = count(); printf("%d\n", $a) }'
EXPECT_RE ^; begin: fold, round 1\nfunc "begin" params 0 regs \d+\n
EXPECT_RE ^; begin: fold, round 2\n
EXPECT_RE ^\tv\d+:r0 = call 14\(\)
EXPECT_RE ^slot s0 \d+ \d at fp-\d+$

NAME points and units of a probe with two kinds of context
RUN {sonde} -d points,resolve -e 'profile:hz:99, interval:s:1 { $x = 1; @n = $x; }'
EXPECT_RE ^probe profile:hz:99, interval:s:1\n\tprofile:hz:99\n\tinterval:s:1\n
EXPECT_RE ^unit profile:hz:99 \(places: 1\), context: perf event\n\t\$x\nunit interval:s:1 \(places: 1\), context: nothing\n\t\$x\nmap @n\n

NAME the settings with the environment's
RUN BPFTRACE_MAX_STRLEN=77 {sonde} -d config -e 'config = { max_map_keys = 9; license = "GPL" } begin { }'
EXPECT_LINE max_strlen = 77
EXPECT_LINE max_map_keys = 9
EXPECT_LINE license = "GPL"
EXPECT_LINE print_maps_on_exit = true

NAME the tree is printed where types are wrong, too
RUN {sonde} -d ast -e 'begin { @ = 1; @ = "a" }'; echo $?
EXPECT string "a"
EXPECT_LINE 1
STDERR Type mismatch

NAME macros are gone after expand, not before
RUN for p in parse expand; do {sonde} -d $p -e 'macro two() { 2 } begin { print(two()) }' | grep -c 'call two'; done; true
EXPECT_RE \A1\n0\n\Z

NAME bpftrace's names of stages
RUN for p in ast codegen codegen-opt dis; do {sonde} -d $p -e 'begin { @ = 1 }' | head -2 | tail -1; done; {sonde} -d codegen -e 'begin { $x = 6 * 7; @ = $x }' | grep -c 'mov 42'; {sonde} -d codegen-opt -e 'begin { $x = 6 * 7; @ = $x }' | grep -c 'mov 42'; true
EXPECT_RE \A probe\nprog "begin"\nprog "begin"\n0: \(.*\n[1-9]\d*\n0\n\Z

NAME a stage that does not exist: the list
RUN {sonde} -d ast,nosuch -e 'begin { }'; echo $?
EXPECT_LINE 1
STDERR ERROR: USAGE: invalid option for -d: nosuch
STDERR link, bpf, dis

NAME a tool takes the same names
RUN {sonde} profile --dump opt 1 | grep -c '^prog "'; {sonde} profile --dump nosuch 1; echo $?
EXPECT_RE \A[1-9]\n2\n\Z
STDERR takes a name that 'sonde -d help' lists

NAME the page on the IR (docs/ir.md) says what is so: its examples, ops, conditions and passes
RUN {top}/test/run/page.py {sonde}
EXPECT ops: 31, as in the source
EXPECT_LINE 4 examples
TIMEOUT 60

NAME ... and the check of it finds an example, an op and a pass that are not
RUN mkdir -p t/docs t/src/ir t/src/base t/test/run; cp {top}/test/run/page.py t/test/run; cp {top}/src/ir/ops.* t/src/ir; cp {top}/src/base/passes.def t/src/base; sed 's/regs 6/regs 7/; /^| `neg`/d; s/^| `dead`/| `deaf`/' {top}/docs/ir.md >t/docs/ir.md; t/test/run/page.py {sonde} | grep -c 'now prints\|page .*, source'
EXPECT_LINE 4
TIMEOUT 60
