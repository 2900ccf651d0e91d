# Scripts made by test/gen: what they print is worked out there, in Python, by the language's document. `make fuzz-long` runs fresh seeds, and larger ones.

FILE TOGETHER

NAME generated scripts print what the language's document says, those of fixed seeds
LONG
RUN {top}/test/gen/check.py {sonde} {build} --seed 77 --count 25
TIMEOUT 200
EXPECT_RE ^25 scripts of 300 programs, [5-9]\d{3} lines, 0 at fault$

NAME generated scripts of a fresh seed, larger ones, pass the kernel's verifier
RUN {top}/test/gen/check.py {sonde} {build} --seconds 6 --load --size 9
TIMEOUT 200
EXPECT_RE ^\d+ scripts of \d+ programs, 0 at fault$

NAME 10,008 generated programs of a fresh seed, in 834 scripts, pass the kernel's verifier
EXTRA a minute of both processors; .ci/run gives it its seed, and prints it
RUN {top}/test/gen/check.py {sonde} {build} ${SONDE_SEED:+--seed $SONDE_SEED} --count 834 --load --size 9 --jobs 8
TIMEOUT 900
EXPECT_RE ^seed \d+\n834 scripts of 10008 programs, 0 at fault$

NAME scripts that are checked side by side are all counted, and a tracer that refuses them is at fault
RUN {top}/test/gen/check.py {sonde} {build} --seed 5 --count 5 --load --jobs 3; {top}/test/gen/check.py /bin/false {build} --seed 5 --count 3 --load --jobs 2 --as-is | grep -v '^[^0-9-]'; echo
EXPECT_RE ^seed 5\n5 scripts of 60 programs, 0 at fault\n
EXPECT_RE ^---- seed 5, sonde: .*\n(.*\n)*---- seed 6, sonde: .*\n(.*\n)*3 scripts of 36 programs, 3 at fault$

NAME a text in a variable or a map is one key, whatever longer text was there before
PROG begin { @a = "seven77"; @b = "ab"; for ($i : 0..2) { $x = str($i == 0 ? (int8 *)&@a : (int8 *)&@b, 8); @m[$x] = count(); @v[1] = str($i == 0 ? (int8 *)&@a : (int8 *)&@b, 8); @n[@v[1]] = count() } @m["ab"] = count(); @n["ab"] = count(); print((len(@m), len(@n))); clear(@m); clear(@n); clear(@v); exit() }
EXPECT_LINE (2, 2)

NAME a variable or a map that gets what is made of itself
PROG config = { max_strlen = 12 } begin { $a = "hello"; $a = str_concat($a, "z"); $t = ("ab", 5, "cde"); $t = ($t.2, $t.1, $t.0); $n = (1, 2); $n = ($n.1, $n.0); @t = (3, 4); @t = (@t.1, @t.0); print(($a, $t, $n)); exit() }
EXPECT_LINE (helloz, (cde, 5, ab), (2, 1))
EXPECT_LINE @t: (4, 3)

NAME a range in unroll() with a variable of its own
PROG begin { $n = 2; unroll (2) { for ($i : 4..6) { $v = (uint32)$n + $i; printf("%d ", $v) } } printf("\n"); exit() }
EXPECT_LINE 6 7 6 7 

NAME a map assigned only in code that is never reached is no error
PROG begin { if ("ab" != "abc") { print(1) } else { @m = min(3); @k[1] = 5 } exit() }
EXPECT_LINE 1

NAME many comparisons of long texts in one program
RUN cp {build}/frames f; {sonde} --dry-run -e 'uprobe:./f:outer { unroll (6) { print((str(arg0) == str(arg1), strlen(str(arg0)), str(arg1) != str(arg2))) } }' && echo loads
EXPECT_LINE loads

NAME str_concat() in a loop: an address on the stack of the loop's function stays one of that function
PROG begin { $s = "ab"; for ($i : 0..3) { $s = str_concat(str_concat($i == 1 ? "x" : "yy", ":"), $s) } print($s); exit() }
EXPECT_LINE yy:x:yy:ab

NAME ... in a uprobe, whose context the loop reads again in each round
RUN cp {build}/frames f; {sonde} --dry-run -e 'uprobe:./f:outer { for ($i : 0..3) { $v = str_concat(str(arg0, 10), "long text"); @[$v, arg1] = count() } }' && echo loads
EXPECT_LINE loads
