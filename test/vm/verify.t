# Scripts made by test/gen, larger than those that print, through this kernel's verifier. `make verify-guests` loads 1,000 programs of a fresh seed in each guest.
# A block of three scripts each: a guest that says nothing for four minutes counts as dead.

NAME generated programs pass this kernel's verifier: seeds 5100 to 5102
RUN {top}/test/gen/check.py {sonde} {build} --seed 5100 --count 3 --load --size 9
TIMEOUT 400
EXPECT_RE ^3 scripts of 36 programs, 0 at fault(; [1-3] of these: too large)?$

NAME generated programs pass this kernel's verifier: seeds 5103 to 5105
RUN {top}/test/gen/check.py {sonde} {build} --seed 5103 --count 3 --load --size 9
TIMEOUT 400
EXPECT_RE ^3 scripts of 36 programs, 0 at fault(; [1-3] of these: too large)?$

NAME generated programs pass this kernel's verifier: seeds 5106 to 5108
RUN {top}/test/gen/check.py {sonde} {build} --seed 5106 --count 3 --load --size 9
TIMEOUT 400
EXPECT_RE ^3 scripts of 36 programs, 0 at fault(; [1-3] of these: too large)?$
