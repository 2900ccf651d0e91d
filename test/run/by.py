#!/usr/bin/env python3
"""by.py COMMAND...: runs COMMAND where there are cgroups named as container runtimes name theirs, with the runtimes' files of these containers.

by.py load WORKLOAD...: within COMMAND, runs WORKLOAD in each of these cgroups, then takes cgroups and Docker's files away. The files lie in a mount namespace of their
own. Out: COMMAND's output and status; where there is no cgroup v2, or none may be made, "skipped" with the reason, and 77.
"""
import json, os, shutil, subprocess, sys

A, B, C, D, E = (c * 64 for c in 'abcde')
POD = 'kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f1e.slice'
HOSTILE = 'web\n\x1b[31m;"<b>'
GROUPS = ['system.slice/docker-%s.scope' % A, POD + '/cri-containerd-%s.scope' % B, 'machine.slice/libpod-%s.scope/container' % C, POD + '/crio-%s.scope' % D,
          'system.slice/docker-%s.scope' % E, 'system.slice/sonde-test.service']
FILES = {'/var/lib/docker/containers/%s/config.v2.json' % A: {'ID': A, 'Name': '/shop'},
         '/run/containerd/io.containerd.runtime.v2.task/k8s.io/%s/config.json' % B: {'annotations': {
             'io.kubernetes.cri.container-name': 'app', 'io.kubernetes.cri.sandbox-name': 'front-1', 'io.kubernetes.cri.sandbox-namespace': 'prod'}},
         '/var/lib/containers/storage/overlay-containers/containers.json': [{'id': C, 'names': ['pod_man']}],
         '/var/lib/containers/storage/overlay-containers/%s/userdata/config.json' % D: {'annotations': {
             'io.kubernetes.container.name': 'db', 'io.kubernetes.pod.name': 'back-1', 'io.kubernetes.pod.namespace': 'prod'}},
         '/var/lib/docker/containers/%s/config.v2.json' % E: {'Name': '/' + HOSTILE}}


def top():
    for line in open('/proc/self/mounts'):
        if line.split()[2] == 'cgroup2':
            return os.path.join(line.split()[1], 'sonde-by-%s' % os.environ['BY'])
    print('skipped: there is no cgroup v2')
    sys.exit(77)


def make():
    for g in GROUPS:
        os.makedirs(os.path.join(top(), g), exist_ok=True)
    for path, content in FILES.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        json.dump(content, open(path, 'w'))


def remove():
    for path, _, _ in os.walk(top(), topdown=False):
        os.rmdir(path)


def load(argv):
    for g in GROUPS:
        enter = lambda: open(os.path.join(top(), g, 'cgroup.procs'), 'w').write('0')
        subprocess.run(argv, preexec_fn=enter, check=True)
    remove()
    shutil.rmtree('/var/lib/docker')  # as the runtime does when containers go


if sys.argv[1] == 'load':
    load(sys.argv[2:])
elif sys.argv[1] == 'inside':
    subprocess.run('mount -t tmpfs none /var/lib && mount -t tmpfs none /run', shell=True, check=True)
    make()
    try:
        rc = subprocess.run(sys.argv[2:]).returncode
    finally:
        if os.path.exists(top()):
            remove()
    sys.exit(rc)
else:
    os.environ['BY'] = str(os.getpid())
    try:
        os.makedirs(top())
    except OSError as e:
        print('skipped: no cgroup may be made: %s' % e)
        sys.exit(77)
    sys.exit(subprocess.run(['unshare', '-m', sys.executable, __file__, 'inside'] + sys.argv[1:]).returncode)
