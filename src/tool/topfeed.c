// Collectors of `sonde top`: processes of ours that run profile or offcputime with -i 1 and send each report through a pipe, as pprof (tool_feed).
// In: which sides a view wants, what is to be counted. Out: slices, the last TOP_SLICES of each side. Invariant: no collector outlives us (PR_SET_PDEATHSIG).
#include "base/base.h"
#include "tool/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define FEED_MAX (256u << 20) // bytes of one report

// The collector itself: a tool, whose texts go nowhere and whose warnings go to us.
static _Noreturn void collect(const struct TopFeed *f, const struct TopView *v, enum TopSide side, int feed, int err)
{
	const char *args[16];
	int n = 0, null = open("/dev/null", O_RDWR);
	char hz[24];
	setpgid(0, 0); // keys of the terminal are not for it
	for (int s = SIGHUP; s <= SIGTERM; s++)
		signal(s, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	dup2(null, 0);
	dup2(null, 1);
	dup2(err, 2);
	FILE *out = fdopen(feed, "w");
	snprintf(hz, sizeof(hz), "%llu", (unsigned long long)f->hz);
	args[n++] = side == TOP_ON ? "profile" : "offcputime";
	args[n++] = "-i";
	args[n++] = "1";
	if (side == TOP_ON) {
		args[n++] = "-F";
		args[n++] = hz;
	}
	if (f->pids) {
		args[n++] = "-p";
		args[n++] = f->pids;
	}
	if (v->by == TOP_THREAD)
		args[n++] = "--per-thread";
	if (v->by == TOP_CONTAINER) {
		args[n++] = "--by";
		args[n++] = "container";
	}
	args[n] = NULL;
	int rc = out ? tool_feed(tool_find(args[0]), n, (char **)args, out) : 1;
	fflush(stderr);
	_exit(rc);
}

static struct err *collector_start(struct TopFeed *f, const struct TopView *v, enum TopSide side)
{
	struct TopCollector *c = &f->collectors[side];
	int feed[2], err[2];
	if (pipe2(feed, O_CLOEXEC))
		return err_errno(errno, "pipe");
	if (pipe2(err, O_CLOEXEC)) {
		int e = errno;
		close(feed[0]);
		close(feed[1]);
		return err_errno(e, "pipe");
	}
	pid_t parent = getpid(), pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(1);
		close(feed[0]);
		close(err[0]);
		for (u32 i = 0; i < TOP_SIDES; i++) // of another collector: it would not see that nobody reads
			if (f->collectors[i].pid) {
				close(f->collectors[i].fd);
				close(f->collectors[i].err_fd);
			}
		collect(f, v, side, feed[1], err[1]);
	}
	int e = errno;
	close(feed[1]);
	close(err[1]);
	if (pid < 0) {
		close(feed[0]);
		close(err[0]);
		return err_errno(e, "fork");
	}
	fcntl(feed[0], F_SETFL, O_NONBLOCK);
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	*c = (struct TopCollector){.pid = pid, .fd = feed[0], .err_fd = err[0]};
	return NULL;
}

static void collector_end(struct TopCollector *c)
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
	*c = (struct TopCollector){0};
}

static void slice_free(struct TopSlice *s)
{
	input_deinit(&s->in);
	free(s);
}

// The oldest of a side that has more than it keeps, or of one that is counted no more
static void slices_trim(struct TopFeed *f, u32 sides, u32 keep)
{
	u32 have[TOP_SIDES] = {0};
	size_t to = 0;
	for (size_t i = 0; i < f->slices.n; i++)
		have[f->slices.p[i]->side]++;
	for (size_t i = 0; i < f->slices.n; i++) {
		struct TopSlice *s = f->slices.p[i];
		if ((sides & (1u << s->side)) && have[s->side]-- > keep)
			slice_free(s);
		else
			f->slices.p[to++] = s;
	}
	f->slices.n = to;
}

// Those that the view has asked for run, and no others. Threads and containers are counted apart only for who looks at them.
struct err *topfeed_fit(struct TopFeed *f, const struct TopView *v)
{
	struct err *e = NULL;
	for (u32 side = 0; side < TOP_SIDES && !e; side++) {
		struct TopCollector *c = &f->collectors[side];
		bool wanted = v->sides & (1u << side);
		if (wanted && !c->pid)
			e = collector_start(f, v, side);
		else if (!wanted && c->pid) {
			collector_end(c);
			slices_trim(f, 1u << side, 0);
		}
	}
	return e;
}

void topfeed_end(struct TopFeed *f)
{
	for (u32 side = 0; side < TOP_SIDES; side++)
		collector_end(&f->collectors[side]);
	slices_trim(f, ~0u, 0);
	vec_deinit(&f->slices);
}

struct err *topfeed_anew(struct TopFeed *f, const struct TopView *v)
{
	topfeed_end(f);
	return topfeed_fit(f, v);
}

// ---- what they send
static struct err *take_report(struct TopFeed *f, enum TopSide side, const char *data, size_t n)
{
	static const struct InputWish wish = {0};
	struct TopSlice *s = xcalloc(1, sizeof(*s));
	s->side = side;
	struct err *e = input_parse(&s->in, &wish, data, n);
	if (e || f->frozen) {
		slice_free(s);
		return e;
	}
	vec_push(&f->slices, s);
	slices_trim(f, 1u << side, TOP_SLICES);
	f->arrived |= 1u << side;
	return NULL;
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

// Why one has ended by itself: its last words
static struct err *collector_gone(struct TopCollector *c)
{
	take_bytes(c->err_fd, &c->err);
	struct Str shown = {0};
	while (c->err.n && c->err.p[c->err.n - 1] == '\n')
		c->err.p[--c->err.n] = 0;
	const char *last = strrchr(str_text(&c->err), '\n');
	last = last ? last + 1 : str_text(&c->err);
	str_add_shown(&shown, last, strlen(last));
	struct err *e = err_new("counting has ended%s%s", shown.n ? ": " : "", str_text(&shown));
	str_deinit(&shown);
	return e;
}

static struct err *collector_read(struct TopFeed *f, enum TopSide side)
{
	struct TopCollector *c = &f->collectors[side];
	struct err *e = NULL;
	u64 len;
	size_t at = 0;
	bool lives = take_bytes(c->fd, &c->in);
	while (!e && c->in.n - at >= sizeof(len)) {
		memcpy(&len, c->in.p + at, sizeof(len));
		if (len > FEED_MAX)
			e = err_new("a report of %llu bytes", (unsigned long long)len);
		else if (c->in.n - at - sizeof(len) < len)
			break;
		else
			e = take_report(f, side, c->in.p + at + sizeof(len), len);
		at += sizeof(len) + len;
	}
	if (e)
		return e;
	memmove(c->in.p, c->in.p + at, c->in.n - at);
	c->in.n -= at;
	return lives ? NULL : collector_gone(c);
}

// Waits for reports, and for keys if there are any: at most half a second.
struct err *topfeed_wait(struct TopFeed *f, bool keys)
{
	struct pollfd fds[1 + 2 * TOP_SIDES];
	nfds_t n = 0;
	struct err *e = NULL;
	if (keys)
		fds[n++] = (struct pollfd){STDIN_FILENO, POLLIN, 0};
	for (u32 side = 0; side < TOP_SIDES; side++)
		if (f->collectors[side].pid) {
			fds[n++] = (struct pollfd){f->collectors[side].fd, POLLIN, 0};
			fds[n++] = (struct pollfd){f->collectors[side].err_fd, POLLIN, 0};
		}
	if (poll(fds, n, 500) < 0 && errno != EINTR)
		return err_errno(errno, "poll");
	for (u32 side = 0; side < TOP_SIDES && !e; side++)
		if (f->collectors[side].pid) {
			take_bytes(f->collectors[side].err_fd, &f->collectors[side].err);
			e = collector_read(f, side);
		}
	return e;
}

void topfeed_last(const struct TopFeed *f, u32 window, struct TopSlice **out, size_t *n)
{
	u32 left[TOP_SIDES];
	*n = 0;
	for (u32 side = 0; side < TOP_SIDES; side++)
		left[side] = window;
	for (size_t i = f->slices.n; i-- > 0;)
		if (left[f->slices.p[i]->side]) {
			left[f->slices.p[i]->side]--;
			out[(*n)++] = f->slices.p[i];
		}
}
