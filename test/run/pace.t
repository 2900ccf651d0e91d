# How records of what processes map are read while programs begin all the time (track/pace.c).

NAME new programs among known ones have whole first stacks, and known ones wake nobody
RUN python3 {top}/test/run/pace.py {sonde} {copy:herd} 2>o; cat o | grep -v '^WARNING: .* cut short'; true
TIMEOUT 60
EXPECT_RE \A30 counted; most whole\nwoken less often\n\Z

NAME code made at run time is followed while programs begin all the time
FEW shares of samples
RUN bash {top}/test/run/pace_code.sh {sonde} 2>&1
TIMEOUT 60
EXPECT_RE \A\d{3,} samples, [0-4] % cut\n\Z
