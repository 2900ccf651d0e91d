"""What every test's process starts with, whoever started the runner: no input, nothing open, no signal ignored or blocked."""
import glob, os, signal, subprocess, tempfile, time


def clean():
    """Once, before the first child. A signal that is caught has its default action again after exec(2), one that is ignored stays ignored (nohup,
    a shell's &): what the runner was told to ignore it catches, and does nothing. Python itself restores SIGPIPE and SIGXFSZ for its children."""
    for s in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(s) == signal.SIG_IGN:
            signal.signal(s, lambda number, frame: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
    null = os.open('/dev/null', os.O_RDONLY)
    os.dup2(null, 0)
    if null:
        os.close(null)
    for name in ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL', 'MAKEOVERRIDES'):  # of the make that runs us: its jobserver is not ours
        os.environ.pop(name, None)
    os.umask(0o022)


def start(cmd, **kw):
    """subprocess closes all but the three (close_fds)."""
    return subprocess.Popen(cmd, stdin=subprocess.DEVNULL, **kw)


def end(p):
    """The process and what it started (it leads a session)."""
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    p.wait()


def of_session(session):
    """The folders in /proc of a session's processes."""
    for stat in glob.glob('/proc/[0-9]*/stat'):
        try:
            if int(open(stat).read().rpartition(')')[2].split()[3]) == session:
                yield stat[:-4]
        except OSError:
            pass  # it has ended


def doing(session):
    """What the threads of a session's processes are at: for a test that did not end."""
    lines = []
    for folder in of_session(session):
        try:
            for task in sorted(glob.glob(folder + 'task/*')):
                comm, wchan, call = (open('%s/%s' % (task, name)).read().strip() for name in ('comm', 'wchan', 'syscall'))
                state, ticks = open(task + '/stat').read().rpartition(')')[2].split()[0], open(task + '/stat').read().rpartition(')')[2].split()[11:13]
                lines.append('%s %s: %s, in %s, system call %s, %s + %s ticks' % (task.split('/')[-1], comm, state, wchan, call.split(' ')[0], *ticks))
        except OSError:
            pass  # it has ended
    return '\n'.join(lines)


def output(cmd, timeout, **kw):
    """(status, text of stdout and stderr). The status is None when the time was over; what the program started is ended with it."""
    p = start(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, **kw)
    try:
        data, rc = p.communicate(timeout=timeout)[0], p.returncode
    except subprocess.TimeoutExpired:
        end(p)
        data, rc = p.communicate()[0], None
    return rc, data.decode('utf-8', 'replace')


class Beside:
    """A command that is run with what the tests leave of the processors (SCHED_IDLE), until somebody waits for it."""
    def __init__(self, cmd):
        self.out = tempfile.TemporaryFile()
        self.p = start(cmd, shell=True, stdout=self.out, stderr=subprocess.STDOUT, start_new_session=True,
                       preexec_fn=lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)))

    def wait(self, timeout):
        """What it has printed if it failed, or did not end in so many seconds; else None."""
        until = time.monotonic() + timeout
        while self.p.poll() is None and time.monotonic() < until:
            for folder in of_session(self.p.pid):
                try:
                    os.sched_setscheduler(int(folder.split('/')[2]), os.SCHED_OTHER, os.sched_param(0))
                except ProcessLookupError:
                    pass
            time.sleep(0.5)
        rc = self.p.poll()
        end(self.p)
        self.out.seek(0)
        return None if rc == 0 else '%s\n%s' % ('no end' if rc is None else 'exit status %d' % rc, self.out.read().decode('utf-8', 'replace')[-2500:])
