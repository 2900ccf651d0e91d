// Collectors: processes of ours that run a tool with -i, or a script, and send each report through a pipe: feed_tool() a pprof profile, script_feed() metrics. Who
// shows or sends them needs none of the rights, and none of the memory, that counting takes.
// In: what is to run, its arguments. Out: its reports, its last words. Invariant: no collector outlives us (PR_SET_PDEATHSIG).
#include "base/base.h"
#include "tool/internal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPORT_MAX (256u << 20) // bytes

// What the agent has open is not the collector's: a lock or a port would be taken for as long as this one lives.
static void close_others(int feed, int err)
{
	DIR *d = opendir("/proc/self/fd");
	VEC(int) fds = {0};
	for (struct dirent *e; d && (e = readdir(d));)
		if (*e->d_name != '.' && atoi(e->d_name) != dirfd(d))
			vec_push(&fds, atoi(e->d_name));
	if (d)
		closedir(d);
	for (size_t i = 0; i < fds.n; i++)
		if (fds.p[i] > 2 && fds.p[i] != feed && fds.p[i] != err)
			close(fds.p[i]);
	vec_deinit(&fds);
}

// Our handlers are not the collector's. What was sent to it since it is there has been held back until now.
static void own_signals(const sigset_t *mask)
{
	for (int s = SIGHUP; s <= SIGTERM; s++)
		signal(s, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, SIG_IGN); // is for who started us (sonde agent), and may be sent to all called sonde
	sigprocmask(SIG_SETMASK, mask, NULL);
}

// The collector itself, whose texts go nowhere and whose warnings go to us.
static _Noreturn void collect(CollectorRun *run, const char *const *args, int feed, int err)
{
	close_others(feed, err);
	int n = 0, null = open("/dev/null", O_RDWR);
	setpgid(0, 0); // keys of the terminal are not for it
	dup2(null, 0);
	dup2(null, 1);
	dup2(err, 2);
	FILE *out = fdopen(feed, "w");
	while (args[n])
		n++;
#ifdef __GLIBC__ // what a report or a table takes goes back when it is done with
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	mallopt(M_TRIM_THRESHOLD, 256 << 10);
	mallopt(M_ARENA_MAX, 1);
#endif
	int rc = out ? run(n, (char **)args, out) : 1;
	fflush(stderr);
	_exit(rc);
}

static void close_both(int *fds)
{
	close(fds[0]);
	close(fds[1]);
}

struct err *collector_start(struct Collector *c, CollectorRun *run, const char *const *args)
{
	int feed[2], err[2];
	if (pipe2(feed, O_CLOEXEC))
		return err_errno(errno, "pipe");
	if (pipe2(err, O_CLOEXEC)) {
		int e = errno;
		close_both(feed);
		return err_errno(e, "pipe");
	}
	sigset_t all, mask;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	pid_t parent = getpid(), pid = fork();
	if (!pid) {
		own_signals(&mask);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(1);
		collect(run, args, feed[1], err[1]);
	}
	int e = errno;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(feed[1]);
	close(err[1]);
	if (pid < 0) {
		close(feed[0]);
		close(err[0]);
		return err_errno(e, "fork");
	}
	fcntl(feed[0], F_SETFL, O_NONBLOCK);
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	*c = (struct Collector){.pid = pid, .fd = feed[0], .err_fd = err[0]};
	return NULL;
}

void collector_end(struct Collector *c)
{
	if (!c->pid)
		return;
	kill(c->pid, SIGTERM);
	close(c->fd);
	close(c->err_fd);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	str_deinit(&c->in);
	str_deinit(&c->err);
	str_deinit(&c->why);
	*c = (struct Collector){0};
}

// Appends what is there; false: the other end is closed.
static bool take_bytes(int fd, struct Str *to)
{
	char buf[65536];
	ssize_t n;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		str_addn(to, buf, (size_t)n);
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

// What it says, and of that its last error: who reads us may take the rest away.
static void hear(struct Collector *c)
{
	take_bytes(c->err_fd, &c->err);
	for (const char *p = str_text(&c->err); (p = strstr(p, "ERROR: "));) {
		p += strlen("ERROR: ");
		str_reset(&c->why);
		str_addn(&c->why, p, strcspn(p, "\n"));
	}
}

// Why one has ended by itself: its last error, else its last words
static struct err *gone(struct Collector *c)
{
	siginfo_t how = {0};
	struct Str shown = {0};
	hear(c);
	while (c->err.n && c->err.p[c->err.n - 1] == '\n')
		c->err.p[--c->err.n] = 0;
	const char *last = strrchr(str_text(&c->err), '\n');
	last = c->why.n ? str_text(&c->why) : last ? last + 1 : str_text(&c->err);
	str_add_shown(&shown, last, strlen(last));
	struct err *e = err_new("counting has ended%s%s", shown.n ? ": " : "", str_text(&shown));
	str_deinit(&shown);
	waitid(P_PID, (id_t)c->pid, &how, WEXITED | WNOWAIT);
	c->refused = !c->sent && how.si_code == CLD_EXITED && how.si_status;
	return e;
}

struct err *collector_read(struct Collector *c, struct err *(*take)(void *arg, const char *data, size_t n), void *arg)
{
	struct err *e = NULL;
	struct FeedHead head;
	size_t at = 0;
	hear(c);
	bool lives = take_bytes(c->fd, &c->in);
	while (!e && c->in.n - at >= sizeof(head)) {
		memcpy(&head, c->in.p + at, sizeof(head));
		if (head.len > REPORT_MAX)
			e = err_new("a report of %llu bytes", (unsigned long long)head.len);
		else if (c->in.n - at - sizeof(head) < head.len)
			break;
		else {
			c->kernel_ns = head.kernel_ns;
			c->map_bytes = head.map_bytes;
			c->hz = head.hz;
			c->one_in = head.one_in;
			c->side = (enum FeedSide)head.side;
			c->sent = true;
			e = take(arg, c->in.p + at + sizeof(head), head.len);
		}
		at += sizeof(head) + head.len;
	}
	if (e)
		return e;
	memmove(c->in.p, c->in.p + at, c->in.n - at);
	c->in.n -= at;
	return lives ? NULL : gone(c);
}
