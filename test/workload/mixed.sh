#!/bin/sh
# mixed.sh DIR SECONDS: Debian's python3, perl, node, openssl, sqlite3 and nginx (under load) at work for that long, each in a way that has deep or
# odd stacks. DIR is a scratch folder. Prints what is not installed. Each in a session of its own: in one, Linux 6.18 gave perl and node nothing for
# minutes, beside a Python whose threads hand one another the interpreter's lock.
dir=$1 secs=$2
pids=
PATH=/usr/sbin:/usr/bin:/sbin:/bin
have() { command -v "$1" >/dev/null || { echo "not installed: $1"; return 1; }; }
trap 'kill $pids 2>/dev/null; wait' EXIT INT TERM

have python3 && {
	setsid python3 - <<'PY' &
import json, re, zlib, hashlib, threading
def deep(n): return deep(n - 1) + 1 if n else len(sorted(range(200), key=lambda x: -x))
def work():
    data = [{'a': i, 'b': str(i) * 5} for i in range(300)]
    while True:
        deep(60)
        s = json.dumps(data).encode()
        zlib.compress(s)
        hashlib.sha256(s).hexdigest()
        re.sub(rb'[0-9]+', lambda m: m.group()[:1], s)
threading.Thread(target=work, daemon=True).start()
work()
PY
	pids="$pids $!"
}
have perl && {
	setsid perl -e 'sub f { my $n = shift; return $n ? f($n - 1) : join ",", sort { $a cmp $b } map { my $x = $_; $x =~ s/(\d)(\d)/$2$1/g; sprintf "%05d", $x } 1 .. 50 } while (1) { f(30) }' &
	pids="$pids $!"
}
have node && {
	setsid node -e 'const z = require("zlib"), c = require("crypto");
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
function work() { fib(22); JSON.parse(JSON.stringify([...Array(2000).keys()].map(i => ({i, s: "x" + i})))).sort((a, b) => b.i - a.i);
	z.deflateSync(Buffer.alloc(20000, 7)); c.createHash("sha512").update("x".repeat(20000)).digest(); "a1b2c3".repeat(200).replace(/[0-9]/g, d => d + d); setImmediate(work) }
setInterval(() => c.pbkdf2("p", "s", 2000, 32, "sha1", () => {}), 20); work()' &
	pids="$pids $!"
}
have openssl && {
	setsid sh -c 'while :; do openssl speed -seconds 1 -bytes 4096 sha512 aes-128-cbc rsa2048 ecdsap256 >/dev/null 2>&1; done' &
	pids="$pids $!"
}
have sqlite3 && {
	setsid sh -c "while :; do
		sqlite3 :memory: \"create table t(a, b); with recursive c(x) as (values(1) union all select x + 1 from c where x < 60000) insert into t select x, hex(randomblob(8)) from c;
			create index i on t(b); select count(*), max(b) from t where b like 'A%' group by a % 7;\" >/dev/null
	done" &
	pids="$pids $!"
}
have nginx && {
	mkdir -p "$dir/ng"
	echo hello >"$dir/ng/index.html"
	printf 'daemon off; worker_processes 1; pid %s/ng/pid; error_log %s/ng/log; user root; events {} http { access_log off; gzip on; gzip_min_length 1; %s server { listen unix:%s/ng/sock; root %s/ng; } }\n' \
		"$dir" "$dir" "client_body_temp_path $dir/ng; proxy_temp_path $dir/ng; fastcgi_temp_path $dir/ng; uwsgi_temp_path $dir/ng; scgi_temp_path $dir/ng;" "$dir" "$dir" >"$dir/ng/conf"
	setsid nginx -c "$dir/ng/conf" -p "$dir/ng" 2>/dev/null &
	pids="$pids $!"
	setsid python3 - "$dir/ng/sock" <<'PY' &
import socket, sys, time
while True:
    try:
        s = socket.socket(socket.AF_UNIX)
        s.connect(sys.argv[1])
        for i in range(200):
            s.sendall(b'GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n')
            s.recv(4096)
        s.close()
    except OSError:
        time.sleep(0.05)
PY
	pids="$pids $!"
}
echo ready
sleep "$secs"
