# --heatmap: when, not only how much. Workloads say themselves when they computed and when their waits ended (heat.py).

FILE FEW samples

NAME samples lie in the slots in which the program says it ran that function, and all files hold the same sums
RUN {top}/test/run/heat.py {sonde} {build} cpu
EXPECT_LINE rebuild_index was seen: True
EXPECT_LINE only while it ran: True
EXPECT_LINE resize_image before and after only: True
EXPECT_LINE slots of each stack add up to it: True
EXPECT_LINE slots are ascending, each once, within the recording: True
EXPECT_LINE all files hold the same: True
EXPECT_LINE kinds of time by slot add up to those of the whole: True
TIMEOUT 60

NAME off-CPU time is in the slot in which the wait ended, by kind too
RETRY 1 samples a busy machine wakes late
RUN {top}/test/run/heat.py {sonde} {build} waits
EXPECT_LINE each wait is in the slot in which it ended: True
EXPECT_LINE slots of each stack add up to it: True
EXPECT_LINE all files hold the same: True
EXPECT_LINE kinds of time by slot add up to those of the whole: True
TIMEOUT 60

NAME wakers
RUN {top}/test/run/heat.py {sonde} {build} wakers
EXPECT_RE wakeuptime\nslots of each stack add up to it: True\n.*\nthe page too: True\noffwaketime\nslots of each stack add up to it: True\n.*\nthe page too: True
TIMEOUT 60

NAME calls are as many as without it, and without it there are no slots
RUN cp {build}/paths w; {top}/test/run/heat.py {sonde} {build} count
EXPECT_LINE [] 400 8 0 False 400
EXPECT_LINE ['--heatmap'] 400 8 1 True 400
EXPECT_LINE slots of each stack add up to it: True
TIMEOUT 60

NAME a full map is counted and said, the picture in text has a row each 100 ms
RUN {sonde} profile -F 199 --heatmap --hash-storage-size 8 -- {build}/waits spin 1500
EXPECT_RE ^When: a column is 1 s, a row the same 100 ms of each second, first ones at the foot; @ is \d+ samples$
EXPECT_RE ^  900 ms .*\n  800 ms .*\n(  \d00 ms .*\n){7}    0 ms .*\n         \|0 s
STDERR updates of maps were refused because the map was full; raise --hash-storage-size (8 now, 
TIMEOUT 60

NAME a script of the tools' path has the option by its own words, a key without a slot is refused
RUN mkdir t; printf 'import "stacks.bt";\nconfig = { stack_slot = comptime (slot_width()) }\nmacro by() { "" }\nbegin { @[(slot = if comptime (heatmap()) { slot_of(nsecs) }, k = kstack, comm = comm)] = count(); exit(); }\n' >t/one.bt; chmod go-w t t/one.bt; for o in '' --heatmap; do SONDE_PATH=$PWD/t {sonde} one -j $o | grep -o '"slots": .*\|"type": "slots"'; echo $?; done; {sonde} --json -e 'config = { stack_slot = 20000000 } begin { @[kstack] = count(); exit(); }'; {sonde} -e 'config = { stack_slot = 5 } begin { exit(); }'; echo $?
EXPECT_RE \A1\n"type": "slots"\n"slots": \[\[\d+, 1\]\], "value": 1, "unit": "count"\}\n0\n1\n\Z
STDERR has no number called slot in its key, which the setting stack_slot asks for
STDERR Invalid value for stack_slot: it must be 0 or at least 1000000

NAME the page's heat map: clicks, drag, keys, links; every view holds what the JSON report has of the range
LONG
NEED cmd:chromium
RUN {top}/test/page/heat.py {sonde} {build}
EXPECT_LINE the hostile name is there: True
EXPECT_LINE the first cell is said: True
EXPECT_LINE said: True True
EXPECT_LINE two clicks: every function: same
EXPECT_LINE a drag: every function: same
EXPECT_LINE keys: every function: same
EXPECT_LINE sandwich: same
EXPECT_LINE search: True
EXPECT_LINE 320 wide: same
EXPECT_LINE light: lightness in one direction: True
EXPECT_LINE dark: lightness in one direction: True
EXPECT_LINE blocked by time: same
EXPECT_LINE a page without slots has no heat map: True
EXPECT_LINE errors: []
EXPECT_NOT PAGE
EXPECT_NOT TAKEN
EXPECT_NOT False
TIMEOUT 120
