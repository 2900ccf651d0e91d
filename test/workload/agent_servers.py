#!/usr/bin/env python3
"""agent_servers.py SONDE: `sonde agent` beside servers that people run, as far as Debian has them: prometheus and victoria-metrics scrape it and answer a query.
Prints what each said. Servers that are not installed (apt-get install prometheus victoria-metrics) are named and left out."""
import json, os, shutil, socket, subprocess, sys, tempfile, time, urllib.parse, urllib.request

SONDE = os.path.abspath(sys.argv[1])


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def get(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as r:
            return r.read().decode()
    except OSError:
        return ''


def query(port, what):
    text = get('http://127.0.0.1:%d/api/v1/query?query=%s' % (port, urllib.parse.quote(what)))
    return [(r['metric'], float(r['value'][1])) for r in json.loads(text)['data']['result']] if text else []


def servers(config, data):
    p, v = free_port(), free_port()
    yield 'prometheus', p, ['prometheus', '--config.file=' + config, '--storage.tsdb.path=' + data + '/p', '--web.listen-address=127.0.0.1:%d' % p]
    yield 'victoria-metrics', v, ['victoria-metrics', '-promscrape.config=' + config, '-storageDataPath=' + data + '/v', '-httpListenAddr=127.0.0.1:%d' % v]


def main():
    port, here = free_port(), tempfile.mkdtemp()
    config = here + '/prometheus.yml'
    open(config, 'w').write('global: {scrape_interval: 2s}\nscrape_configs:\n- job_name: sonde\n  static_configs:\n  - targets: ["127.0.0.1:%d"]\n' % port)
    open(here + '/s.bt', 'w').write('tracepoint:syscalls:sys_exit_read { @sizes = hist(args.ret); @reads[comm] = count(); }')
    agent = subprocess.Popen([SONDE, 'agent', '-i', '2', '--prometheus', str(port), '--script', here + '/s.bt', '--max-cpu', '50'], stderr=subprocess.DEVNULL)
    running = []
    try:
        for name, at, args in servers(config, here):
            if not shutil.which(args[0]):
                print('%s: not installed, not run' % name)
                continue
            log = open(here + '/' + name, 'w')
            running.append(subprocess.Popen(args, stdout=log, stderr=log))
            for _ in range(60):
                rows = query(at, 'sum(sonde_cpu_samples_total) by (job)')
                quantile = query(at, 'histogram_quantile(0.5, rate(sonde_sizes_bucket[20s]))')
                if rows and quantile and quantile[0][1] == quantile[0][1]:
                    break
                time.sleep(1)
            up = query(at, 'up{job="sonde"}')
            services = query(at, 'count(sonde_cpu_samples_total)')
            print('%s: up %s, samples %s, services %s, median of read sizes %s, seconds of processor %s' % (
                name, *((r[0][1] if r else 'none') for r in (up, rows, services, quantile, query(at, 'sonde_agent_cpu_seconds_total')))))
    finally:
        for p in [agent] + running:
            p.terminate()
            p.wait()
        shutil.rmtree(here)


main()
