# Scripts made by test/gen, larger than those that print, through this kernel's verifier. `make verify-guests` loads 1,000 programs of a fresh seed in each guest.
# A block of three scripts each: a guest that says nothing for four minutes counts as dead.  Up to nine of 36 are too large for
# Linux 5, whose verifier walks each round of a loop (four for 5.10, eight for 5.15); for later ones none may be.

NAME tuples with holes as values of maps, whatever is in them
RUN for e in '((int64)arg1, (uint8)arg0)' '((uint8)arg1, ((int64)arg0, (uint16)arg1))' '((uint8)arg0, ustack(3))' '(strftime("%H", nsecs), (uint8)arg0)' '(usym(arg0), (uint8)arg0)' '(ntop(arg0), (uint8)arg0)' '(a = (uint8)arg1, b = (int64)arg0)'; do {sonde} -q --dry-run -e 'uprobe:{build}/values:take8 { $t = '"$e"'; @a[1] = '"$e"'; @b[1] = $t; @c[$t] = 1; @d[(uint8)arg1, (int64)arg0] = @b[1]; print($t); }' >o 2>&1 && echo taken || { echo "$e"; cat o; }; done
EXPECT_RE ^(taken\n){7}$

NAME generated programs pass this kernel's verifier: seeds 5100 to 5102
RUN {top}/test/gen/check.py {sonde} {build} --seed 5100 --count 3 --load --size 9 | if [ $(uname -r | cut -d. -f1) = 5 ]; then sed 's/; [1-9] of these: too large$//'; else cat; fi
TIMEOUT 400
EXPECT_RE ^3 scripts of 36 programs, 0 at fault$

NAME generated programs pass this kernel's verifier: seeds 5103 to 5105
RUN {top}/test/gen/check.py {sonde} {build} --seed 5103 --count 3 --load --size 9 | if [ $(uname -r | cut -d. -f1) = 5 ]; then sed 's/; [1-9] of these: too large$//'; else cat; fi
TIMEOUT 400
EXPECT_RE ^3 scripts of 36 programs, 0 at fault$

NAME generated programs pass this kernel's verifier: seeds 5106 to 5108
RUN {top}/test/gen/check.py {sonde} {build} --seed 5106 --count 3 --load --size 9 | if [ $(uname -r | cut -d. -f1) = 5 ]; then sed 's/; [1-9] of these: too large$//'; else cat; fi
TIMEOUT 400
EXPECT_RE ^3 scripts of 36 programs, 0 at fault$

# Linux 6.3 and older keep the beginning of a long log, and say that at its end.
NAME a program that is too large for the verifier is said to be that, with what it visited
RUN {sonde} -q --dry-run -e 'begin { $x = (uint64)0; unroll(24) { if (rand % 2 == 1) { $x = $x * 3 + 1 } else { $x = $x * 2 + 5 } } if ($x > 77) { @ = 1 } if ($x % 7 == 3) { @b = 1 } }'
TIMEOUT 400
RC 1
STDERR ERROR: the program of begin is too large for the kernel's verifier (
STDERR instructions, 1000001 visits; the limit is 1000000)
