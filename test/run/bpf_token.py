#!/usr/bin/env python3
"""bpf_token.py [-n] COMMAND...: runs COMMAND as root of a new user namespace, which may not load BPF programs, with a BPF token (Linux 6.9) that may; -n: without one.

The new namespace opens a bpffs (fsopen), the host's root says what it delegates and mounts it, and the command gets it by LIBBPF_BPF_TOKEN_PATH. Exit status: the
command's; 77 when this kernel has no such thing."""
import array, ctypes, os, socket, sys

CLONE_NEWUSER, CLONE_NEWNS, FSOPEN, FSCONFIG, FSMOUNT = 0x10000000, 0x20000, 430, 431, 432
SET_STRING, CREATE = 1, 6
libc = ctypes.CDLL(None, use_errno=True)


def call(nr, *args):
    r = libc.syscall(ctypes.c_long(nr), *[ctypes.c_char_p(a.encode()) if isinstance(a, str) else ctypes.c_long(a) for a in args])
    if r < 0:
        print('system call %d: %s' % (nr, os.strerror(ctypes.get_errno())), file=sys.stderr)
        os._exit(77)
    return r


def send_fd(s, fd):
    s.sendmsg([b'f'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [fd]))])


def receive_fd(s):
    _, data, _, _ = s.recvmsg(1, socket.CMSG_LEN(4))
    if not data:
        sys.exit(77)
    return array.array('i', data[0][2])[0]


def child(s, command, token):
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNS):
        os._exit(77)
    s.send(b'u')
    s.recv(1)
    os.setgid(0)
    os.setuid(0)
    if token:
        send_fd(s, call(FSOPEN, 'bpf', 0))
        mount = receive_fd(s)
        os.set_inheritable(mount, True)
        os.environ['LIBBPF_BPF_TOKEN_PATH'] = '/proc/self/fd/%d' % mount
    os.execvp(command[0], command)


def main():
    token = sys.argv[1] != '-n'
    command = sys.argv[1 if token else 2:]
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if not pid:
        ours.close()
        child(theirs, command, token)
    theirs.close()
    ours.recv(1)
    open('/proc/%d/setgroups' % pid, 'w').write('deny')
    for f in 'uid_map', 'gid_map':
        open('/proc/%d/%s' % (pid, f), 'w').write('0 1000 1\n')
    ours.send(b'm')
    if token:
        fs = receive_fd(ours)
        for what in 'cmds', 'maps', 'progs', 'attachs':
            call(FSCONFIG, fs, SET_STRING, 'delegate_' + what, 'any', 0)
        call(FSCONFIG, fs, CREATE, 0, 0, 0)
        send_fd(ours, call(FSMOUNT, fs, 0, 0))
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


main()
