# sonde diff: shares of two profiles, what has changed and what only seems to.

FILE TOGETHER

NAME diff: functions and stacks with difference, interval and verdict
RUN printf 'p;main;a 500\np;main;b 300\np;main;c 9200\n' >a; printf 'p;main;a 800\np;main;b 310\np;main;c 8890\n' >b; {sonde} diff a b
EXPECT_LINE Before: 10000 samples, after: 10000 samples
EXPECT_RE ^ +5\.00 +8\.00 +\+3\.00  \+0\.9\d to \+5\.\d\d +more +self   a$
EXPECT_RE ^ +92\.00 +88\.90 +-3\.10  -5\.\d\d to -0\.\d\d +less +total  c$
EXPECT_RE ^ +3\.00 +3\.10 +\+0\.10  -\d\.\d\d to \+\d\.\d\d +cannot tell +self   b$
EXPECT_RE ^ +5\.00 +8\.00 +\+3\.00  \+[01]\.\d\d to \+[45]\.\d\d +more +stack  p;main;a$
EXPECT_LINE 7 of 7 rows: 2 more, 2 less, of the others nobody can tell

NAME diff: with few samples nobody can tell, the same shares or not
RUN printf 'p;main;a 5\np;main;c 95\n' >a; printf 'p;main;a 8\np;main;c 92\n' >b; {sonde} diff a b; {sonde} diff --fail-if +1% a b >/dev/null; echo status $?
EXPECT_LINE 5 of 5 rows: 0 more, 0 less, of the others nobody can tell
EXPECT_LINE status 0

NAME diff: --fail-if by what has surely grown, by how much at least, and never by what has shrunk
RUN printf 'p;a 1000\np;c 9000\n' >a; printf 'p;a 1500\np;c 8500\n' >b; for o in 'a b +2%' 'a b +6%' 'b a +6%' 'a a +1%'; do set -- $o; {sonde} diff --fail-if $3 $1 $2 >/dev/null; echo $o $?; done
EXPECT_LINE a b +2% 3
EXPECT_LINE a b +6% 0
EXPECT_LINE b a +6% 0
EXPECT_LINE a a +1% 0
STDERR FAILED: a (self) has 5.00 % more

NAME diff: more samples make narrower intervals, spread wider ones
RUN for n in 100 1000; do for f in a b; do printf 'p;f %d\np;g %d\n' $((n * 2)) $((n * 8)) >$f$n; done; done; w() { {sonde} diff --json "$@" | python3 -c 'import json, sys; print(max(r["high"] - r["low"] for r in map(json.loads, sys.stdin)))'; }; w a100 b100 >1; w a1000 b1000 >2; w --spread 32 a1000 b1000 >3; python3 -c 'a, b, c = (float(open(x).read()) for x in "123"); print(a > 2 * b, c > 1.9 * b, b > 0)'
EXPECT_LINE True True True

NAME diff: of pprof and folded text; durations have differences, but no verdict
RUN printf 'p;a 1000\np;c 9000\n' >a; printf 'p;a 1500\np;c 8500\n' >b; {sonde} report --pprof b.pb.gz b; {sonde} diff --top 1 a b.pb.gz; {sonde} diff --unit us a b; {sonde} diff --unit us a b.pb.gz; echo $?
EXPECT_RE ^ +\d+\.00 +\d+\.00 +.5\.00  \S+ to \S+ +(more|less) +(self|total) +[ac]$
EXPECT_RE ^ +10\.00 +15\.00 +\+5\.00  - +cannot tell +self   a$
EXPECT_RE ^1$
STDERR WARNING: us are no number of events
STDERR ERROR: a holds us, b.pb.gz samples: they cannot be compared

NAME diff: hostile names and empty or wrong files
RUN printf 'p;a\033[31m;"b\\" 1000\np;c 9000\n' >a; {sonde} diff --json a a | python3 -c 'import json, sys; print(len([json.loads(l) for l in sys.stdin]))'; {sonde} diff a a | grep -c "$(printf '\033')"; : >e; {sonde} diff a e; echo $?; {sonde} diff a; {sonde} diff --fail-if x a a; {sonde} diff --spread 0 a a; {sonde} diff a nosuch; echo $?
EXPECT_RE \A\d+\n0\n1\n1\n\Z
STDERR ERROR: e 
STDERR sonde diff: error: takes two files
STDERR argument --fail-if: takes a share of the whole as +2%
STDERR argument --spread: takes a number from 1 on
STDERR ERROR: 

NAME diff: resampled profiles of one program raise no alarm, and what is added is found
RUN python3 {top}/test/run/diffs.py {sonde} 40
TIMEOUT 60
EXPECT_RE ^alarms ok, of 40$
EXPECT_RE ^found ok, of 20$

NAME diff: --same tells how much runs vary: what looks certain alone is chance
RUN printf 'p;a 1000\np;c 9000\n' >a; printf 'p;a 1300\np;c 8700\n' >b; printf 'p;a 1500\np;c 8500\n' >s1; printf 'p;a 600\np;c 9400\n' >s2; {sonde} diff a b | grep -c ' more '; {sonde} diff --same s1 --same s2 a b | grep -c ' more '; cp a s3; {sonde} diff --same s3 --same a a b | grep -c ' more '; {sonde} diff --same nosuch a b; echo $?
EXPECT_RE \A3\n0\n3\n1\n\Z
STDERR ERROR: 

NAME diff: --fail-if: a difference of just so much is one
RUN printf 'p;a 100000\np;b 900000\n' > a; printf 'p;a 120000\np;b 880000\n' > b; {sonde} diff --spread 1 --fail-if +2% a b >/dev/null; echo $?; {sonde} diff --spread 1 --fail-if +2.001% a b >/dev/null; echo $?
EXPECT_RE \A3\n0\n\Z
STDERR FAILED: a (self) has 2.00 % more
