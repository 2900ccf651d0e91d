# sonde agent: agent.py is its server, otlp.py judges what comes.

FILE TOGETHER

NAME OpenTelemetry: profiles that keep the rules, metrics that a scrape reads
NEED file:/usr/lib/x86_64-linux-gnu/libcurl.so.4
RUN {top}/test/run/agent.py {sonde} {build}/waits otlp_and_metrics
EXPECT_RE \Acame True\nmetrics True 99\.\d* True\nresource eu True True\nends 0 1\nnamed True\n\Z
TIMEOUT 90

NAME Pyroscope: a profile a service, with its labels; on and off the processors
NEED file:/usr/lib/x86_64-linux-gnu/libcurl.so.4
RUN {top}/test/run/agent.py {sonde} {build}/waits pyroscope && python3 {top}/test/run/pprof.py p.gz 'total() > 0' '[s(t["type"][0]) for t in p["sample_type"]]'
EXPECT_RE \Acame True\nends 0\n/ingest shop _1_\.cpu\{region=eu,host_name=HOST\} pprof 7 True 99\nTrue\n\['samples', 'cpu'\]\n\Z
TIMEOUT 90

NAME a server that is away, then busy: all arrives, in order
LONG
NEED file:/usr/lib/x86_64-linux-gnu/libcurl.so.4
RUN {top}/test/run/agent.py {sonde} {build}/waits away
EXPECT_RE \Awaits True\nbusy True\ncame True\nends 0 \[\]\nin order True of each time one True\nsamples True\n\Z
TIMEOUT 120

NAME killed while the server is away: the next agent sends what waits; two do not share a directory
LONG
NEED file:/usr/lib/x86_64-linux-gnu/libcurl.so.4
RUN {top}/test/run/agent.py {sonde} {build}/waits killed
EXPECT_RE \Awaits True\na second one 1 True\ncame True\nends 0 \[\]\nsamples True\n\Z
TIMEOUT 120

NAME servers that answer badly hold nothing up
LONG
NEED file:/usr/lib/x86_64-linux-gnu/libcurl.so.4
RUN {top}/test/run/agent.py {sonde} {build}/waits badly
EXPECT_LINE never quick True refused True sent False waiting False said True ends 0
EXPECT_LINE elsewhere quick True refused False sent False waiting True said True ends 0
EXPECT_LINE endless quick True refused False sent True waiting False said False ends 0
EXPECT_LINE hang quick True refused False sent False waiting True said False ends 0
EXPECT_LINE partial quick True refused True sent False waiting False said True ends 0
TIMEOUT 120

NAME servers whose answers are no HTTP or do not end: one that is good beside them gets all
LONG
NEED file:/usr/lib/x86_64-linux-gnu/libcurl.so.4
RUN {top}/test/run/agent.py {sonde} {build}/waits lies
EXPECT_LINE good one True
EXPECT_LINE asked a byte at a time closes continue headers later rubbish short
EXPECT_LINE again True
EXPECT_LINE quick True memory True
EXPECT_LINE taken []
EXPECT_LINE ends 0 escapes False
TIMEOUT 120

NAME TLS: an unknown certificate is refused
LONG
NEED file:/usr/lib/x86_64-linux-gnu/libcurl.so.4
NEED cmd:openssl
RUN {top}/test/run/agent.py {sonde} {build}/waits tls
EXPECT_RE \Aunknown True 0 0\nknown True 0\n\Z
TIMEOUT 90

NAME files of a directory, the oldest removed
RUN {top}/test/run/agent.py {sonde} {build}/waits files && python3 {top}/test/run/pprof.py f.gz 'total() > 0'
EXPECT_RE \Acame True\nends 0 1 True\nTrue\n\Z
TIMEOUT 90

NAME a script's maps are metrics; what scrapes badly is answered
RUN {top}/test/run/agent.py {sonde} {build}/waits script
EXPECT_RE \Acame True\nlabel True\nhistogram True\nstats True\nno number True\n/ 200\n/other 404\nrubbish 431\nbeside idle ones True\nends 0\n\Z
TIMEOUT 90

NAME more processor time than is allowed: fewer samples, and their weight is right
LONG
NEED file:/usr/lib/x86_64-linux-gnu/libcurl.so.4
RUN {top}/test/run/agent.py {sonde} {build}/waits limit
EXPECT_RE \Aless True\ncame True\nweight True True True\nends 0\n\Z
TIMEOUT 120

NAME what is started anew for its memory goes on with the rate that was come to
LONG
RUN {top}/test/run/agent.py {sonde} {build}/waits renewed
EXPECT_RE \Aless True\nanew True\nonce True\nends 0\n\Z
TIMEOUT 150

NAME more switches of threads than may be looked at: fewer are, and their times add up
LONG
ALONE it measures what the machine switches and holds
RETRY 2 switches of a machine that others use
NEED file:/usr/lib/x86_64-linux-gnu/libcurl.so.4
RUN {top}/test/run/agent.py {sonde} {build}/waits switches
EXPECT_RE \Aless True\ncounted True True\nends 0\nadds up True\n\Z
TIMEOUT 120

NAME more memory than is allowed: off-CPU time is given up, then users' stacks, and it is said
LONG
FEW what is given up one after the other has seconds to grow too large again
NEED file:/usr/lib/x86_64-linux-gnu/libcurl.so.4
RUN {top}/test/run/agent.py {sonde} {build}/waits memory
EXPECT_RE \Aanew True\noff-CPU True\nstacks True\ngoes on True 2\.0\nends 0 False\nat once 1 told 3 True True\n\Z
TIMEOUT 300

NAME both sides of the processors: one collector, times that add up, no gaps
NEED file:/usr/lib/x86_64-linux-gnu/libcurl.so.4
RUN {top}/test/run/agent.py {sonde} {build}/waits both
EXPECT_RE \Acame True of 1\nends 0\ncount True True\nmicroseconds True True\nadds up True\n\Z
TIMEOUT 90

NAME a flight recorder asked for by a function's call and by a number in a map, before there is anything
LONG
RUN {top}/test/run/agent.py {sonde} {copy:waits} record_early
EXPECT_RE \Aprobe True True 0\nthreshold True True 0\n\Z
TIMEOUT 120

NAME in a container of its own, beside others: what arrives is labelled with container and pod
NEED file:/usr/lib/x86_64-linux-gnu/libcurl.so.4
RUN {top}/test/run/agent_tree.py {sonde} {build}/waits
EXPECT_LINE came True
EXPECT_LINE ends 0
EXPECT_LINE docker {'container.name': 'web', 'service.name': 'web'} named True ['web.cpu']
EXPECT_LINE podman {'container.name': 'jobs', 'service.name': 'jobs'} named True ['jobs.cpu']
EXPECT_LINE cri {'container.name': 'prod/api-7d9f/app', 'k8s.container.name': 'app', 'k8s.namespace.name': 'prod', 'k8s.pod.name': 'api-7d9f', 'service.name': 'prod/api-7d9f/app'} named True ['prod/api-7d9f/app.cpu']
TIMEOUT 120

NAME what can never work is not tried again; a process that is not there
RUN timeout 60 {sonde} agent --dir d --record 5 --when 'nosuch:x'; echo $?; timeout 60 {sonde} agent -p 4194300 --dir d; echo $?; {top}/test/run/as.sh '' {build} 'mkdir d; chmod 777 d; timeout 60 setpriv --reuid=65534 --regid=65534 --clear-groups ./sonde agent --dir d; echo $?'
TIMEOUT 90
EXPECT_RE \A1\n1\n1\n\Z
STDERR ERROR: when: counting has ended: Invalid probe type: nosuch
STDERR ERROR: there is no process 4194300
STDERR ERROR: cpu: counting has ended: sonde needs root

NAME deploy/: systemd reads the unit
NEED cmd:systemd-analyze
RUN install -d w; sed 's|/usr/bin/sonde|{sonde}|' {top}/deploy/sonde-agent.service > w/sonde-agent.service; systemd-analyze verify --man=no w/sonde-agent.service >v 2>&1; echo $?; grep sonde v; systemd-analyze security --offline=true w/sonde-agent.service 2>/dev/null | grep -c -E 'Overall exposure level.*: [0-5]\.'; {sonde} agent -c {top}/deploy/agent.conf --prometheus x 2>&1 | tail -n 1
EXPECT_RE \A0\n1\nERROR: --prometheus x: must be PORT or ADDRESS:PORT\n\Z

NAME deploy/: the DaemonSet is YAML and says what its options are
NEED file:/usr/lib/python3/dist-packages/yaml/__init__.py
RUN /usr/bin/python3 -c 'import yaml; d = yaml.safe_load(open("{top}/deploy/daemonset.yaml")); print(d["kind"], d["spec"]["template"]["spec"]["containers"][0]["args"][0])'
EXPECT_LINE DaemonSet --otlp

NAME a flight recorder: what led to a signal, or to what a script waits for
LONG
NEED file:/usr/lib/x86_64-linux-gnu/libcurl.so.4
RUN {top}/test/run/agent.py {sonde} {build}/waits record && python3 {top}/test/run/pprof.py r.gz 'total() > 0' 'any("before" in s(c) for c in p["comment"])'; {sonde} agent --record 5 --prometheus 1; echo $?; {sonde} agent --when x --dir d; echo $?
STDERR --record needs --dir: what it has recorded is written there
STDERR --when needs --record SECONDS
EXPECT_LINE sent True []
EXPECT_LINE recorded True ['sonde-record_cpu-NTN.NZ.html', 'sonde-record_cpu-NTN.NZ.pb.gz']
EXPECT_LINE said True
EXPECT_LINE when True True
EXPECT_LINE probe True 2
EXPECT_RE ^ends 0\nwhole True True\nTrue\nTrue\n2\n2\n\Z
TIMEOUT 150

NAME options: what is wrong is said; a file of options
RUN {sonde} agent; echo $?; {sonde} agent --otlp x; echo $?; {sonde} agent --dir d -l x; echo $?; printf '# all\nfrequency 7\ndir = d\noff-cpu\nnosuch 1\n' > c; {sonde} agent -c c; echo $?; {sonde} agent --prometheus 1.2.3.4.5:9; echo $?; {sonde} agent --script x --dir d; echo $?; {sonde} help agent | grep -c -- --otlp
STDERR sonde agent: error: where to? give --otlp, --pyroscope, --dir or --prometheus
STDERR argument --otlp: must be http://HOST[:PORT] or https://HOST[:PORT], with or without a path
STDERR argument -l/--label: must be KEY=VALUE
STDERR argument -c/--config: c: line 5: there is no option nosuch
STDERR --prometheus 1.2.3.4.5:9: must be PORT or ADDRESS:PORT
STDERR --script needs --prometheus: its maps are read there
EXPECT_RE \A2\n2\n2\n2\n1\n2\n[1-9]\d*\n\Z

NAME any profile as OpenTelemetry's: the same stacks as folded text, and protoc reads it
NEED cmd:protoc
RUN {sonde} profile -F 499 -f --otlp o.pb -- dd if=/dev/zero of=/dev/null bs=4k count=1000000 status=none > o.folded; protoc --decode=ProfilesData -I{top}/test/run profiles.proto < o.pb | grep -c -E '^ *[0-9]+:'; python3 {top}/test/run/otlp.py o.pb 'total()' 'total() == sum(int(l.rsplit(" ", 1)[1]) for l in open("o.folded"))' 'folded() == {l.rsplit(" ", 1)[0]: int(l.rsplit(" ", 1)[1]) for l in open("o.folded")}' 'sorted(set(kinds) - {None})'
EXPECT_RE \A0\n[1-9]\d*\nTrue\nTrue\n\['kernel', 'native'\]\n\Z
TIMEOUT 60

NAME deploy/Containerfile.static: an image of nothing but the static program and certificates, whose command is one that sonde takes
RUN python3 -c 'if 1:
    import json
    lines = [l.split(None, 1) for l in open("{top}/deploy/Containerfile.static") if l.strip() and not l.startswith("#")]
    words = {k: v.strip() for k, v in lines}
    print(" ".join(k for k, v in lines), words["FROM"], json.loads(words["ENTRYPOINT"]), words["COPY"].split()[1] == json.loads(words["ENTRYPOINT"])[0])
    open("args", "w").write("\n".join(json.loads(words["ENTRYPOINT"])[1:] + json.loads(words["CMD"])))'; {sonde} $(cat args) --dir-size x 2>&1 | head -n 1
EXPECT_RE \AFROM ARG COPY COPY ENTRYPOINT CMD scratch \['/sonde', 'agent'\] True\n.*--dir-size.*\n\Z
