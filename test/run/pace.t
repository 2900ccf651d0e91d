# How records of what processes map are read while programs begin all the time (track/pace.c).

NAME new programs among known ones have whole first stacks, and known ones wake nobody
RUN python3 {top}/test/run/pace.py {sonde} {copy:herd} 2>o; cat o | grep -v '^WARNING: .* cut short'; true
TIMEOUT 60
EXPECT_RE \A30 counted; most whole\nwoken less often\n\Z
