# Calls over time: tools/flow.bt.

FILE TOGETHER

NAME flow: entry, return, nesting and results; what longjmp left has no return, and what comes after it its own depth
RUN cp {build}/nest .; SONDE_PATH={top}/tools {sonde} flow './nest:[jmof]*[a-z]' -r -c ./nest 2>e | grep nest | cut -c53- | sed 's/$/|/'; grep -c ERROR e
EXPECT_RE \A-> main\|\n  -> outer_fn\|\n    -> mid\|\n      -> jumper\|\n      <- jumper = 2\|\n    <- mid = 3\|\n    -> jumper\|\n    <- jumper = 1\|\n  <- outer_fn = 4\|\n  -> outer_fn\|\n    -> mid\|\n      -> jumper\|\n    -> jumper\|\n    <- jumper = 1\|\n  <- outer_fn = 0\|\n  -> fact_fn\|\n    -> fact_fn\|\n      -> fact_fn\|\n        -> fact_fn\|\n        <- fact_fn = 1\|\n      <- fact_fn = 2\|\n    <- fact_fn = 6\|\n  <- fact_fn = 24\|\n<- main = 0\|\n
RC 1
TIMEOUT 30

NAME flow: bounded by depth and by calls; one process of several; times add up
RUN cp {build}/nest .; export SONDE_PATH={top}/tools; {sonde} flow ./nest:fact_fn --depth 2 -c ./nest 2>/dev/null | grep -c fact_fn; {sonde} flow ./nest:fact_fn -n 3 -c ./nest 2>/dev/null | grep -c -e '-> fact_fn'; (while :; do ./nest; done) & {sonde} flow ./nest:fact_fn -p 1 -d 1 2>/dev/null | grep -c fact_fn; kill $!; {sonde} flow ./nest:fact_fn -c ./nest 2>/dev/null | awk '/<-/ { if ($4 < t) bad = 1; t = $4; n++ } END { print n, bad + 0 }'
EXPECT_RE \A4\n3\n0\n4 0\n
TIMEOUT 60

NAME flow: says what it takes
RUN SONDE_PATH={top}/tools {sonde} flow; SONDE_PATH={top}/tools {sonde} flow malloc
RC 1
STDERR flow takes one PATTERN: functions of a library or program (c:mem*, ./prog:work)
