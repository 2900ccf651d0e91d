// What `sonde top` shows: reports of its collectors, profile or offcputime with -i 1.
// In: which sides a view wants, what is to be counted. Out: slices, the last TOP_SLICES of each side.
#include "base/base.h"
#include "tool/internal.h"
#include <errno.h>
#include <poll.h>
#include <unistd.h>

static struct err *start(struct TopFeed *f, const struct TopView *v, enum TopSide side)
{
	const char *args[16];
	char hz[24];
	int n = 0;
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
	return collector_start(&f->collectors[side], feed_tool, args);
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
		struct Collector *c = &f->collectors[side];
		bool wanted = v->sides & (1u << side);
		if (wanted && !c->pid)
			e = start(f, v, side);
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
struct Taking {
	struct TopFeed *f;
	enum TopSide side;
};
static struct err *take_report(void *arg, const char *data, size_t n)
{
	static const struct InputWish wish = {0};
	const struct Taking *t = arg;
	struct TopSlice *s = xcalloc(1, sizeof(*s));
	s->side = t->side;
	struct err *e = input_parse(&s->in, &wish, data, n);
	if (e || t->f->frozen) {
		slice_free(s);
		return e;
	}
	vec_push(&t->f->slices, s);
	slices_trim(t->f, 1u << t->side, TOP_SLICES);
	t->f->arrived |= 1u << t->side;
	return NULL;
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
		if (f->collectors[side].pid)
			e = collector_read(&f->collectors[side], take_report, &(struct Taking){f, side});
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
