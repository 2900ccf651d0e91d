# Completion: what may stand next is worked out by `sonde help complete` from the tables, and the three shells ask it.

FILE TOGETHER

NAME words of all tables, with their help
RUN c() { {sonde} help complete sonde "$@"; }; c off; c profile --user; c -d veri; c help prof; c help ustac; c help tracep; c profile --by=container,c; c profile --by blocked; c offcputime --by bl; c --no-feature kprobe_multi,u; c top --by s; c report --fl; c info -; echo files: $(c x.b) $(c profile --flame x) $(c -I /us) $(c profile -- l)
EXPECT_RE \Aoffcputime\t\S.*\noffwaketime\t\S.*\n:files\n--user-stacks-only\tuser stacks only\n--user-threads-only\tuser threads only\nverifier\nprofile\t\S.*\nprofile\t\S.*\nustack\t\S.*\ntracepoint\t\S.*\n--by=container,container\n--by=container,cgroup\n--by=container,cpu\nblocked\nkprobe_multi,uprobe_multi\nstack\n--flame\t\S.*\n--pid\t\S.*\n-p\t\S.*\nfiles: :files :files :dirs :files\n\Z

NAME probes as they are listed, in the spelling that was begun; paths of programs; processes
RUN cp {build}/frames mine; c() { {sonde} help complete "$@"; }; c sonde -l tracepoint:sched:sched_swit; c sonde-stackcount t:sched:sched_swit; c stackcount-bpfcc tracep; c sonde stackcount uprobe:$PWD/mi; c sonde -l uprobe:$PWD/mine:lea; c sonde -l software:page; sleep 77 & until grep -q sleep /proc/$!/comm; do :; done; c sonde profile -p $!; c sonde profile -p 1,$!; kill $!
EXPECT_RE \Atracepoint:sched:sched_switch\n:files\nt:sched:sched_switch\ntracepoint:\t\S.*\nuprobe:/\S+/mine:\nuprobe:/\S+/mine:leaf\n:files\nsoftware:page-faults:\n:files\n(\d+)\tsleep\n1,\1\tsleep\n\Z

NAME what a process calls itself cannot end a line or move the cursor
RUN python3 -c 'import ctypes, time; ctypes.CDLL(None).prctl(15, b"a\033[2J\nb"); open("up", "w").close(); time.sleep(60)' & until [ -e up ]; do sleep 0.05; done; {sonde} help complete sonde profile -p $! | cat -v; kill $!
EXPECT_RE \A\d+\ta\?\[2J\?b\n\Z

NAME bash breaks words at colons and =
NEED cmd:bash
RUN export PATH=$(dirname {sonde}):$PATH; bash -c '. {top}/completions/sonde.bash; t() { COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=(); _sonde; echo "${COMPREPLY[@]}"; }; t sonde -l tracepoint : sched : sched_swit; t sonde profile --by = container,cg; t sonde-stackcount trac; t sonde help ustac; t sonde profile -p 1 --unwind d; touch x.bt x.sh; t sonde x.; mkdir xd; t sonde -I x'
EXPECT_RE \Asched_switch\ncontainer,cgroup\ntracepoint:\nustack\ndwarf\nx\.(bt x\.sh|sh x\.bt)\nxd\n\Z

NAME zsh
NEED cmd:zsh
RUN export PATH=$(dirname {sonde}):$PATH; touch x.bt; {top}/test/run/complete.zsh {top}/completions 'sonde off' 'sonde profile --user' 'sonde profile --unwind ' 'sonde -l tracepoint:sched:sched_swit' 'sonde help ustac' 'sonde-stackcount --reg' 'sonde profile --by=container,cg' 'sonde x.b'
TIMEOUT 60
EXPECT_RE \Aoffcputime offwaketime\n--user-stacks-only --user-threads-only\ndwarf fp\ntracepoint:sched:sched_switch\nustack\n--regexp\n--by=container,cgroup\nx\.bt\n\Z

NAME fish, with help
NEED cmd:fish
RUN export PATH=$(dirname {sonde}):$PATH HOME=$PWD; touch x.bt; fish -c 'source {top}/completions/sonde.fish; for l in "sonde off" "sonde profile --user" "sonde profile --unwind " "sonde -l tracepoint:sched:sched_swit" "sonde help ustac" "sonde-stackcount --reg" "sonde x.b"; complete -C $l; end'
TIMEOUT 60
EXPECT_RE \Aoffcputime\t\S.*\noffwaketime\t\S.*\n--user-stacks-only\t\S.*\n--user-threads-only\t\S.*\ndwarf\nfp\ntracepoint:sched:sched_switch\nustack\t\S.*\n--regexp\t\S.*\nx\.bt\n\Z
