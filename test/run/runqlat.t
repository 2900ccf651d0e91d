# A tool made of nothing but a script: tools/runqlat.bt.

FILE TOGETHER

NAME runqlat: each wake-up of a thread that sleeps 20 times a second is one wait for a CPU
LONG
FEW how often in two seconds
RUN {build}/waits sleep 6000 50 71 & P=$!; sleep 1; {sonde} -q {top}/tools/runqlat.bt 2 1 -- --pid=$P > o; kill $P; python3 -c 'import re; n = sum(int(c) for c in re.findall(r"\)? +(\d+) \|", open("o").read())); print(20 <= n <= 60 or n)'
TIMEOUT 20
EXPECT_LINE True

NAME runqlat: by process, in milliseconds, with the time
RUN timeout -s INT 20 {sonde} -q {top}/tools/runqlat.bt 1 1 -- --pids --milliseconds --timestamp
TIMEOUT 30
EXPECT_RE \A\d\d:\d\d:\d\d\n@usecs\[\d+\]:\n\[

NAME runqlat: as JSON
RUN SONDE_PATH={top}/tools {sonde} runqlat -jP 1 1 | python3 -c 'import json, sys; r = [json.loads(line) for line in sys.stdin]; h = [x["data"]["@usecs"] for x in r if x["type"] == "hist"]; print(len(h) > 0, sorted(set(k for v in h[0].values() for b in v for k in b)))'
TIMEOUT 30
EXPECT_LINE True ['count', 'max', 'min']

NAME runqlat: ids of a pid namespace, given and shown
NEED cmd:unshare
RUN export SONDE_PATH={top}/tools; unshare -p -f --mount-proc sh -c '{build}/waits sleep 60000 1 & sleep 0.3; {sonde} runqlat -P -p $! 1 1; echo id $!; {sonde} runqlat -L 1 1 | grep -c "usecs.[1-9][0-9][0-9]"; :'
TIMEOUT 40
EXPECT_RE (?s)\A[^@]*@usecs\[(\d)\]:\n.*\nid \1\n0\n\Z

NAME runqlat: as many reports as were asked for
RUN SONDE_PATH={top}/tools {sonde} runqlat 1 2 | grep -c '^@usecs'
TIMEOUT 30
EXPECT_RE \A2\n\Z
