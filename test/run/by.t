# --by container, cgroup, thread, cpu: what rows are told apart by. by.py makes cgroups as Docker, containerd, Podman, CRI-O and systemd name theirs.

FILE TOGETHER

NAME containers by name, whoever runs them, also when they and their files are gone; each call is in one row
NEED cgroup2
RUN cp {build}/paths w; {top}/test/run/by.py {sonde} -q --json -c "{top}/test/run/by.py load ./w 0 7" -e 'uprobe:./w:leaf { @[(comm = comm, by_container = cgroup, by_cgroup = cgroup, at = ustack(1))] = count(); }' >o; python3 -c 'import json; [print(ascii(k["container"]), k["container_id"][:6], k["cgroup"].rsplit("/", 1)[1][:14], n) for k, n in sorted(((r["key"], r["value"]) for r in map(json.loads, open("o"))), key=str)]'
TIMEOUT 60
EXPECT_LINE 'shop' aaaaaa docker-aaaaaaa 7
EXPECT_LINE 'prod/front-1/app' bbbbbb cri-containerd 7
EXPECT_LINE 'pod_man' cccccc container 7
EXPECT_LINE 'prod/back-1/db' dddddd crio-ddddddddd 7
EXPECT_LINE 'web\n\x1b[31m;"<b>' eeeeee docker-eeeeeee 7
EXPECT_LINE 'sonde-test.service'  sonde-test.ser 7
EXPECT_RE \A(.*\n){6}\Z

NAME in folded lines and pictures the first row, labels in pprof; a hostile name breaks none of them
NEED cgroup2
RUN cp {build}/paths w; {top}/test/run/by.py {sonde} -q --folded --flame f.svg --html p.html --speedscope s.json --pprof p.gz -c "{top}/test/run/by.py load ./w 0 7" -e 'uprobe:./w:leaf { @[(comm = comm, by_container = cgroup, at = ustack(1))] = count(); }' >o; cat o; python3 {top}/test/run/pprof.py p.gz 'sorted({k for t in stacks for k in t[2]})' 'total()'; python3 -c 'import json, xml.dom.minidom; xml.dom.minidom.parse("f.svg"); print("container shop" in {f["name"] for f in json.load(open("s.json"))["shared"]["frames"]}, open("p.html").read().count("<b>"))'; grep -c '<title>container shop' f.svg
TIMEOUT 60
EXPECT_LINE container shop;paths;leaf 7
EXPECT_LINE container web\x0a\x1b[31m:"<b>;paths;leaf 7
EXPECT_LINE container sonde-test.service;paths;leaf 7
EXPECT_RE ^\['comm', 'container', 'container_id'\]\n42\nTrue 0\n1$

NAME text: the labels stand behind the process, control characters as text
NEED cgroup2
RUN cp {build}/paths w; {top}/test/run/by.py {sonde} stackcount -P --by container,cpu "$PWD/w:leaf" -- {top}/test/run/by.py load ./w 0 7 >o; grep -c 'container shop, container_id a*, cpu [01]' o; python3 -c 'print(open("o").read().count(chr(27)))'; grep '^Total' o
TIMEOUT 60
EXPECT_RE \A[1-9]\d*\n0\nTotal: 42 count

NAME by thread and by CPU, in every tool
LONG
RUN cp {build}/waits w; for t in 'profile -F 499' 'offcputime --state 1' wakeuptime offwaketime 'stackcount t:sched:sched_switch'; do {sonde} $t --by thread,cpu -j -- sh -c './w lock 20 20 {id}; ./w spin 200' >o; python3 -c 'import json, sys; k = [json.loads(l)["key"] for l in open("o") if l.startswith("{\"type\": \"stack\"")]; print(sys.argv[1], len(k) > 0, all(int(x["thread"]) > 0 and int(x["cpu"]) >= 0 and list(x) == ["thread", "cpu"] for x in k))' "$t"; done
TIMEOUT 90
EXPECT_LINE profile -F 499 True True
EXPECT_LINE offcputime --state 1 True True
EXPECT_LINE wakeuptime True True
EXPECT_LINE offwaketime True True
EXPECT_LINE stackcount t:sched:sched_switch True True

NAME offcputime: kinds of time and labels together; what a tool does not know
RUN cp {build}/waits w; {sonde} offcputime --by blocked,thread -f --comm 'waiter{id}' -- ./w lock 20 20 {id} | grep -c '^thread [0-9]*;waiter{id};'; {sonde} profile --by runq; {sonde} profile --by ''; {sonde} offcputime --by cpu,x
RC 2
EXPECT_RE ^[1-9]
STDERR sonde profile: error: argument --by: takes container, cgroup, thread or cpu, separated by commas
STDERR sonde offcputime: error: argument --by: takes blocked, runq, preempted or all, and container, cgroup, thread or cpu, separated by commas

NAME a printed script has them too
LONG
RUN cp {build}/paths w; {top}/test/run/printed.sh {sonde} './w 3 50' exact stackcount $PWD/w:leaf --by container | sed 's/ same.*/ same/'
TIMEOUT 60
EXPECT_LINE --folded same
EXPECT_LINE text same
EXPECT_LINE by itself same
