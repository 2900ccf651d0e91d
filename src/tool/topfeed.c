// What `sonde top` shows: reports of its collector: profile, offcputime, or what counts both, with -i 1.
// In: which sides a view wants, what is to be counted. Out: slices, the last TOP_SLICES of each side.
#include "base/base.h"
#include "tool/internal.h"
#include <errno.h>
#include <poll.h>
#include <unistd.h>

// Rows that a second may have: taking the memory of 100,000 in the kernel is a tenth of a second of the start. Samples are no more than the clock ticks, and a busy machine
// makes reports late; of threads that wait there may be any number, and 100,000 are kept as otherwise.
static u64 rows_of(const struct TopFeed *f, u32 sides)
{
	return sides & 1 << TOP_OFF ? 100000 : MAX(MIN(f->hz * (u64)sysconf(_SC_NPROCESSORS_ONLN) * 4, 100000ull), 1000ull);
}

static struct err *start(struct TopFeed *f, const struct TopView *v, u32 sides)
{
	static const char *const tools[] = {[1 << TOP_ON] = "profile", [1 << TOP_OFF] = "offcputime", [1 << TOP_ON | 1 << TOP_OFF] = "both"};
	const char *args[16];
	char hz[24], rows[24];
	int n = 0;
	snprintf(hz, sizeof(hz), "%llu", (unsigned long long)f->hz);
	snprintf(rows, sizeof(rows), "%llu", (unsigned long long)rows_of(f, sides));
	args[n++] = tools[sides];
	args[n++] = "-i";
	args[n++] = "1";
	if (sides & 1 << TOP_ON) {
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
	args[n++] = "--hash-storage-size";
	args[n++] = rows;
	args[n] = NULL;
	f->sides = sides;
	return collector_start(&f->collector, feed_tool, args);
}

static void slice_free(struct TopSlice *s)
{
	input_deinit(&s->in);
	free(s);
}

// The oldest of a side that has more than it keeps
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

// A side is counted from when a view first asks for it, and goes on when one does not: a collector that starts anew leaves a gap of a second or more, each time a key is pressed.
struct err *topfeed_fit(struct TopFeed *f, const struct TopView *v)
{
	u32 counted = f->collector.pid ? f->sides : 0;
	if (!(v->sides & ~counted))
		return NULL;
	collector_end(&f->collector);
	return start(f, v, counted | v->sides);
}

void topfeed_end(struct TopFeed *f)
{
	collector_end(&f->collector);
	slices_trim(f, ~0u, 0);
	vec_deinit(&f->slices);
}

struct err *topfeed_anew(struct TopFeed *f, const struct TopView *v)
{
	topfeed_end(f);
	return topfeed_fit(f, v);
}

// ---- what they send
static struct err *take_report(void *arg, const char *data, size_t n)
{
	static const struct InputWish wish = {0};
	struct TopFeed *f = arg;
	struct TopSlice *s = xcalloc(1, sizeof(*s));
	s->side = f->collector.side == FEED_RUNNING ? TOP_ON : TOP_OFF;
	struct err *e = input_parse(&s->in, &wish, data, n);
	if (e || f->frozen) {
		slice_free(s);
		return e;
	}
	vec_push(&f->slices, s);
	slices_trim(f, 1u << s->side, TOP_SLICES);
	f->arrived |= 1u << s->side;
	return NULL;
}

// Waits for reports, and for keys if there are any: at most half a second.
struct err *topfeed_wait(struct TopFeed *f, bool keys)
{
	struct pollfd fds[3];
	nfds_t n = 0;
	if (keys)
		fds[n++] = (struct pollfd){STDIN_FILENO, POLLIN, 0};
	fds[n++] = (struct pollfd){f->collector.fd, POLLIN, 0};
	fds[n++] = (struct pollfd){f->collector.err_fd, POLLIN, 0};
	if (poll(fds, n, 500) < 0 && errno != EINTR)
		return err_errno(errno, "poll");
	return collector_read(&f->collector, take_report, f);
}

void topfeed_last(const struct TopFeed *f, const struct TopView *v, u32 window, struct TopSlice **out, size_t *n)
{
	u32 left[TOP_SIDES];
	*n = 0;
	for (u32 side = 0; side < TOP_SIDES; side++)
		left[side] = v->sides & 1u << side ? window : 0;
	for (size_t i = f->slices.n; i-- > 0;)
		if (left[f->slices.p[i]->side]) {
			left[f->slices.p[i]->side]--;
			out[(*n)++] = f->slices.p[i];
		}
}
