// The command of -c.
// In: a command line. Out: a process that waits before its first instruction until it is let go. Invariant: it gets SIGTERM when sonde ends for
// whatever reason, and never becomes a zombie we forget.
#include "base/base.h"
#include "run/run.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct Child {
	int pid, pidfd;
	int go;	    // write end: one byte says how to go on; -1: it was written
	int result; // read end: closed by exec, or holds the errno of a failure
	bool traced; // stopped at its first instruction
	bool ended;
	int status;
	char *path;
};
enum Command { CMD_GO = 'g', CMD_TRACE = 't' };

// Words of a command line: blanks part them; '...', "..." and \x keep blanks. No variables, no wildcards: a shell is "sh -c '...'".
static struct err *split(const char *cmd, char ***out)
{
	VEC(char *) v = {0};
	struct Str w = {0};
	bool in_word = false;
	char quote = 0;
	for (const char *p = cmd;; p++) {
		if (!*p || (!quote && isspace((unsigned char)*p))) {
			if (in_word)
				vec_push(&v, xstrdup(str_text(&w)));
			str_reset(&w);
			in_word = false;
			if (!*p)
				break;
			continue;
		}
		in_word = true;
		if (*p == quote)
			quote = 0;
		else if (!quote && (*p == '\'' || *p == '"'))
			quote = *p;
		else if (*p == '\\' && quote != '\'' && p[1])
			str_addc(&w, *++p);
		else
			str_addc(&w, *p);
	}
	str_deinit(&w);
	bool empty = !v.n;
	vec_push(&v, NULL);
	*out = v.p;
	if (quote)
		return err_new("command '%s': missing closing %c", cmd, quote);
	return empty ? err_new("empty command: -c needs a program to run") : NULL;
}

static void free_words(char **w)
{
	for (char **p = w; p && *p; p++)
		free(*p);
	free(w);
}

static bool executable(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISREG(st.st_mode) && can_access(path, X_OK);
}

static char *find_program(const char *name)
{
	if (strchr(name, '/'))
		return executable(name) ? xstrdup(name) : NULL;
	const char *path = getenv("PATH");
	for (const char *p = path ? path : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"; *p;) {
		size_t n = strcspn(p, ":");
		char *full = xasprintf("%.*s/%s", (int)n, n ? p : ".", name);
		if (executable(full))
			return full;
		free(full);
		p += n + (p[n] == ':');
	}
	return NULL;
}

// In the new process: only async-signal-safe calls.
static void child_main(const char *path, char **argv, int go, int result, int parent)
{
	char cmd = 0;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent || read(go, &cmd, 1) != 1) // sonde is gone
		_exit(127);
	if (cmd == CMD_TRACE && ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
		raise(SIGSTOP);
	execv(path, argv);
	int e = errno;
	ssize_t n = write(result, &e, sizeof(e));
	_exit(n < 0 ? 126 : 127);
}

static struct err *open_child(char **argv, const char *path, struct Child *c)
{
	int go[2] = {-1, -1}, result[2] = {-1, -1}, parent = getpid();
	if (pipe2(go, O_CLOEXEC))
		return err_errno(errno, "cannot start '%s': pipe", argv[0]);
	if (pipe2(result, O_CLOEXEC)) {
		struct err *e = err_errno(errno, "cannot start '%s': pipe", argv[0]);
		close(go[0]);
		close(go[1]);
		return e;
	}
	fflush(NULL); // or the child would hold our buffered output too
	c->pid = fork();
	int failed = errno;
	if (!c->pid)
		child_main(path, argv, go[0], result[1], parent);
	c->go = go[1];
	c->result = result[0];
	close(go[0]);
	close(result[1]);
	if (c->pid < 0)
		return err_errno(failed, "cannot start '%s': fork", argv[0]);
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return c->pidfd < 0 ? err_errno(errno, "cannot watch '%s': pidfd_open", argv[0]) : NULL;
}

struct err *child_start_args(char **argv, struct Child **out)
{
	struct Child *c = xcalloc(1, sizeof(*c));
	*c = (struct Child){.go = -1, .result = -1, .pidfd = -1, .path = find_program(argv[0])};
	*out = NULL;
	struct err *e = c->path ? open_child(argv, c->path, c)
				: err_new("Failed to fork child: Path '%s' does not exist or is not executable (%s)", argv[0], strerror(errno ? errno : ENOENT));
	if (!e)
		*out = c;
	else
		child_destroy(c);
	return e;
}

struct err *child_start(const char *cmd, struct Child **out)
{
	char **argv = NULL;
	struct err *e = split(cmd, &argv);
	*out = NULL;
	if (!e)
		e = child_start_args(argv, out);
	free_words(argv);
	return e;
}

bool child_is_command(const char *cmd)
{
	char **argv = NULL, *path = NULL;
	struct err *e = split(cmd, &argv);
	if (!e)
		path = find_program(argv[0]);
	bool is = path != NULL;
	err_free(e);
	free(path);
	free_words(argv);
	return is;
}

int child_pid(struct Child *c)
{
	return c->pid;
}

const char *child_path(const struct Child *c)
{
	return c->path;
}

int child_fd(struct Child *c)
{
	return c->pidfd;
}

static int wait_status(struct Child *c, int flags)
{
	int r;
	while ((r = waitpid(c->pid, &c->status, flags)) < 0 && errno == EINTR)
		;
	if (r == c->pid && (WIFEXITED(c->status) || WIFSIGNALED(c->status)))
		c->ended = true;
	return r;
}

static struct err *send_command(struct Child *c, enum Command cmd)
{
	char b = (char)cmd;
	if (c->go < 0)
		return NULL;
	ssize_t n = write(c->go, &b, 1);
	int e = errno;
	close(c->go);
	c->go = -1;
	return n == 1 ? NULL : err_errno(e, "the command could not be started");
}

// The result pipe is closed by a successful exec.
static struct err *exec_result(struct Child *c)
{
	int failed = 0;
	ssize_t n;
	while ((n = read(c->result, &failed, sizeof(failed))) < 0 && errno == EINTR)
		;
	return n == sizeof(failed) ? err_errno(failed, "the command could not be executed") : NULL;
}

struct err *child_go(struct Child *c)
{
	if (c->traced) {
		c->traced = false;
		if (ptrace(PTRACE_DETACH, c->pid, NULL, NULL))
			return err_errno(errno, "the command could not be resumed");
		return NULL;
	}
	struct err *e = send_command(c, CMD_GO);
	return e ? e : exec_result(c);
}

// Signals that stop it on the way are passed on.
static struct err *wait_stop(struct Child *c, int want)
{
	for (;;) {
		if (wait_status(c, 0) < 0)
			return err_errno(errno, "waiting for the command");
		if (c->ended)
			return exec_result(c) ?: err_new("the command ended before it ran");
		if (c->status >> 8 == want)
			return NULL;
		ptrace(PTRACE_CONT, c->pid, NULL, (void *)(long)WSTOPSIG(c->status));
	}
}

struct err *child_run_to_exec(struct Child *c)
{
	struct err *e = send_command(c, CMD_TRACE);
	if (!e)
		e = wait_stop(c, SIGSTOP);
	if (!e && (ptrace(PTRACE_SETOPTIONS, c->pid, NULL, (void *)(long)PTRACE_O_TRACEEXEC) || ptrace(PTRACE_CONT, c->pid, NULL, NULL)))
		e = err_errno(errno, "the command could not be stopped at its start");
	if (!e)
		e = wait_stop(c, SIGTRAP | PTRACE_EVENT_EXEC << 8);
	c->traced = !e;
	return e;
}

// SIGTERM if it is still running.
static void child_kill(struct Child *c)
{
	if (!c->ended)
		wait_status(c, WNOHANG);
	if (c->ended)
		return;
	kill(c->pid, SIGTERM);
	if (c->traced) // a stopped process does not see the signal
		ptrace(PTRACE_DETACH, c->pid, NULL, (void *)(long)SIGTERM);
	c->traced = false;
	if (c->go >= 0) { // still waits for our byte: the end of the pipe ends it
		close(c->go);
		c->go = -1;
	}
}

// Gives a child that was told to end a moment, then insists.
int child_end(struct Child *c)
{
	child_kill(c);
	for (int i = 0; i < 100 && !c->ended; i++) {
		wait_status(c, WNOHANG);
		if (!c->ended)
			usleep(1000);
	}
	if (!c->ended) {
		kill(c->pid, SIGKILL);
		wait_status(c, 0);
	}
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

void child_destroy(struct Child *c)
{
	if (!c)
		return;
	if (c->pid > 0)
		child_end(c);
	if (c->go >= 0)
		close(c->go);
	if (c->result >= 0)
		close(c->result);
	if (c->pidfd >= 0)
		close(c->pidfd);
	free(c->path);
	free(c);
}
