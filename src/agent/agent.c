// sonde agent: the loop in which reports come, messages go and Prometheus reads.
// In: what options.c has set up. Out: messages, files, metrics. Invariant: nothing waits for a server; what was counted is sent, kept, or counted as lost.
#include "agent/internal.h"
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/utsname.h>
#include <unistd.h>

#define COLLECTORS_SHARE 0.75 // of --max-cpu; the rest is for making messages of what they report
#define AGAIN_NS 10000000000ull // from one record to the next
#define LATEST_NS 5000000000ull // for the last report, and for sending it
#define START_AGAIN_NS 10000000000ull // a collector that has ended is started again, but not at once, and later and later
#define START_AGAIN_MAX_NS 3600000000000ull
#define LIVES_NS 600000000000ull // one that has lived so long had a reason to

static volatile sig_atomic_t ended, asked; // by a signal; handlers have no argument
static void on_ask(int sig)
{
	asked = 1;
}

static void on_end(int sig)
{
	ended = 1;
}

struct Running {
	struct Setup *s;
	struct Collector collectors[AGENT_SIDES]; // that of AGENT_CPU counts off-CPU time too
	bool anew; // AGENT_CPU's has been told to end, and another takes its place
	bool has_begun; // ... or has ended by itself: the next report is another's first
	u64 counted_until_ns; // by the last report, wall clock
	u64 start_ns[AGENT_SIDES]; // when a collector may be started
	u64 started_ns[AGENT_SIDES], wait_ns[AGENT_SIDES]; // when it was; how long the next one waits
	enum AgentSide side;	   // whose report is taken, and from where
	const struct Collector *from;
	u64 recorded_ns;	   // when the last record was written; 0: none was
	char *early;		   // why one is to be written as soon as there is something to write; NULL
};

static bool wanted(const struct Setup *s, enum AgentSide side)
{
	return side == AGENT_CPU || (side == AGENT_SCRIPT && s->script) || (side == AGENT_WHEN && s->when);
}

static struct err *start_script(struct Running *r, struct Collector *c)
{
	const char *args[] = {"1", r->s->script, NULL}; // as old as a second when they are read
	return collector_start(c, feed_script, args);
}

// Time off the processors is counted, too
static bool is_both(const struct Agent *a)
{
	return a->off_cpu && !a->off_stopped;
}

// Rows that an interval may have, and threads that may be away at once: room for these is taken at the start. Samples are no more than the clock ticks.
static u64 rows_of(const struct Setup *s)
{
	u64 interval = s->record_s ? 1 : s->a.interval, ticks = s->a.hz * interval * (u64)sysconf(_SC_NPROCESSORS_ONLN) * 3; // a busy machine makes reports late
	return is_both(&s->a) ? 10000 : MAX(MIN(ticks, 10000ull), 500ull);
}

static struct err *start(struct Running *r, enum AgentSide side)
{
	struct Collector *c = &r->collectors[side];
	const struct Setup *s = r->s;
	const char *args[24];
	char hz[24], every[24], most[72], one_in[24], rows[24];
	int n = 0;
	r->s->a.starts[side]++;
	r->started_ns[side] = now_ns();
	r->has_begun |= side == AGENT_CPU;
	if (side == AGENT_SCRIPT)
		return start_script(r, c);
	if (side == AGENT_WHEN)
		return collector_start(c, feed_messages, (const char *[]){s->when, NULL});
	const struct Agent *a = &s->a; // one that takes another's place begins with what that had come to
	snprintf(hz, sizeof(hz), "%llu", (unsigned long long)(a->now_hz ? a->now_hz : a->hz));
	snprintf(most, sizeof(most), "%g,%llu,%llu", a->budget.max_cpu * COLLECTORS_SHARE, (unsigned long long)a->hz, (unsigned long long)a->one_in);
	snprintf(one_in, sizeof(one_in), "%llu", (unsigned long long)(a->now_one_in ? a->now_one_in : a->one_in));
	snprintf(every, sizeof(every), "%llu", (unsigned long long)(s->record_s ? 1 : s->a.interval));
	snprintf(rows, sizeof(rows), "%llu", (unsigned long long)rows_of(s));
	args[n++] = is_both(&s->a) ? "both" : "profile";
	args[n++] = "-i";
	args[n++] = every;
	args[n++] = "--by";
	args[n++] = "container";
	args[n++] = "-F";
	args[n++] = hz;
	if (is_both(&s->a)) {
		args[n++] = "--one-in";
		args[n++] = one_in;
	}
	args[n++] = "--max-cpu";
	args[n++] = most;
	args[n++] = "--hash-storage-size"; // rows of an interval, threads that are away: room for all would take its memory at once
	args[n++] = rows;
	args[n++] = "--stack-storage-size";
	args[n++] = is_both(&s->a) ? "16384" : "4096";
	if (s->a.kernel_only)
		args[n++] = "-K";
	if (s->pids) {
		args[n++] = "-p";
		args[n++] = s->pids;
	}
	args[n] = NULL;
	return collector_start(c, feed_tool, args);
}

// What no collector has counted: between one and the next that has its place.
static void note_gap(struct Running *r, const struct StackProfile *p)
{
	u64 gap = r->has_begun && r->counted_until_ns && p->start_ns > r->counted_until_ns ? p->start_ns - r->counted_until_ns : 0;
	if (gap)
		fprintf(stderr, "WARNING: nothing was counted for %.1f seconds, until it had begun again\n", (double)gap * 1e-9);
	r->s->a.uncounted_ns += gap;
	r->has_begun = false;
	r->counted_until_ns = p->start_ns + p->duration_ns;
}

static struct err *send_profile(struct Running *r, enum AgentSide side, struct StackProfile *p)
{
	struct Agent *a = &r->s->a;
	if (side == AGENT_CPU)
		note_gap(r, p);
	return batch_take(&a->batch, side, p, &a->spool, a->to, a->nto, a->dir.path && !r->s->record_s ? &a->dir : NULL);
}

// Of the recorder's reports, one a second, those of an interval
static struct err *send_recorded(struct Running *r, enum AgentSide side)
{
	struct Recorder *rec = &r->s->a.record[side];
	struct Combined c;
	struct err *e = record_combine(rec, rec->unsent, &c);
	rec->unsent = 0;
	if (!e)
		e = send_profile(r, side, &c.prof);
	combined_deinit(&c);
	return e;
}

static void write_record(struct Running *r, const char *why)
{
	struct Agent *a = &r->s->a;
	u64 now = now_ns();
	for (u32 side = 0; side <= (is_both(a) ? AGENT_OFFCPU : AGENT_CPU); side++)
		if (!a->record[side].have) { // the first report is on its way
			if (!r->early)
				r->early = xstrdup(why);
			return;
		}
	if (r->recorded_ns && now - r->recorded_ns < AGAIN_NS) {
		a->records_skipped++;
		return;
	}
	r->recorded_ns = now;
	for (u32 side = 0; side <= AGENT_OFFCPU; side++)
		if (a->record[side].have) {
			struct err *e = record_write(&a->record[side], a->dir.path, agent_sides[side], why);
			if (e)
				fprintf(stderr, "WARNING: %s\n", err_text(e));
			else
				a->records++;
			err_free(e);
		}
	err_free(dir_trim(&a->dir));
}

// A report is some MB while it is read, made into messages and packed.
static void leave_memory(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

static struct err *take_report(void *arg, const char *data, size_t n)
{
	static const struct InputWish wish = {0};
	struct Running *r = arg;
	struct Agent *a = &r->s->a;
	if (r->side == AGENT_WHEN) {
		struct Str why = {0};
		str_add_shown(&why, data, MIN(n, (size_t)200));
		write_record(r, str_text(&why));
		str_deinit(&why);
		return NULL;
	}
	if (r->side == AGENT_SCRIPT) {
		a->batch.reports[AGENT_SCRIPT]++;
		str_reset(&a->script_metrics);
		str_addn(&a->script_metrics, data, n);
		return NULL;
	}
	enum AgentSide side = r->from->side == FEED_WAITING ? AGENT_OFFCPU : AGENT_CPU;
	if (r->s->record_s) {
		record_put(&a->record[side], data, n);
		if (r->early) {
			char *why = r->early;
			r->early = NULL;
			write_record(r, why);
			free(why);
		}
		return ++a->record[side].unsent >= a->interval ? send_recorded(r, side) : NULL;
	}
	struct Input in = {0};
	struct err *e = input_parse(&in, &wish, data, n);
	if (!e)
		e = send_profile(r, side, &in.prof);
	input_deinit(&in);
	leave_memory();
	return e;
}

// The collectors' warnings are the agent's.
static void pass_on(struct Agent *a, struct Collector *c)
{
	char *end;
	while (c->err.n && (end = memchr(c->err.p, '\n', c->err.n))) {
		size_t n = (size_t)(end - c->err.p) + 1;
		struct Str line = {0};
		str_add_shown(&line, c->err.p, n - 1);
		a->warnings += strstr(str_text(&line), "WARNING") != NULL;
		fprintf(stderr, "%s\n", str_text(&line));
		str_deinit(&line);
		memmove(c->err.p, c->err.p + n, c->err.n - n + 1);
		c->err.n -= n;
	}
}

// An error: the first one of its side could not begin, nor will another.
static struct err *read_side(struct Running *r, enum AgentSide side, u64 now)
{
	struct Agent *a = &r->s->a;
	struct Collector *c = &r->collectors[side];
	r->side = side;
	r->from = c;
	struct err *e = collector_read(c, take_report, r);
	pass_on(a, c);
	if (side == AGENT_CPU && c->hz) {
		a->now_hz = c->hz;
		a->now_one_in = is_both(a) ? c->one_in : a->now_one_in;
	}
	if (!e)
		return NULL;
	ended |= r->s->pids && !any_lives(r->s->pids);
	bool told = side == AGENT_CPU && r->anew;
	u64 lived = now - r->started_ns[side];
	if (c->refused && !ended && a->starts[side] == 1 && lived < START_AGAIN_NS) {
		struct err *fatal = err_new("%s: %s", agent_sides[side], err_text(e));
		err_free(e);
		collector_end(c);
		return fatal;
	}
	u64 wait = told || lived > LIVES_NS ? 0 : !r->wait_ns[side] ? START_AGAIN_NS : MIN(2 * r->wait_ns[side], START_AGAIN_MAX_NS);
	if (!told && !ended && wait)
		fprintf(stderr, "WARNING: %s: %s; it is started again in %llu seconds\n", agent_sides[side], err_text(e), (unsigned long long)(wait / 1000000000));
	else if (!told && !ended)
		fprintf(stderr, "WARNING: %s: %s; it is started again\n", agent_sides[side], err_text(e));
	if (told)
		r->anew = false;
	else
		r->wait_ns[side] = wait;
	err_free(e);
	collector_end(c);
	r->start_ns[side] = now + wait;
	return NULL;
}

static u32 add_fds(struct Running *r, struct pollfd *fds, u32 max)
{
	u32 n = 0;
	for (u32 i = 0; i < AGENT_SIDES; i++)
		if (r->collectors[i].pid) {
			fds[n++] = (struct pollfd){r->collectors[i].fd, POLLIN, 0};
			fds[n++] = (struct pollfd){r->collectors[i].err_fd, POLLIN, 0};
		}
	n += scrape_fds(&r->s->a.scrape, fds + n);
	return n + send_fds(fds + n, max - n);
}

// More memory than --max-memory: something is given up, one thing at a time.
static void lower(struct Running *r, u64 now)
{
	struct Agent *a = &r->s->a;
	bool both = is_both(a);
	// two reports long: what has just started is not judged
	if (!r->collectors[AGENT_CPU].pid || r->anew || now - r->started_ns[AGENT_CPU] < 2 * a->interval * 1000000000ull + 1000000000ull)
		return;
	enum Lower what = budget_lower(&a->budget, both, !a->kernel_only, now);
	if (!what)
		return;
	static const char *const texts[] = {[LOWER_RENEW] = "is started anew", [LOWER_STOP] = "is given up until the agent is started again",
					    [LOWER_STACKS] = "is started anew with kernel stacks only, until the agent is started again"};
	fprintf(stderr, "WARNING: %.1f MB of memory, %.1f are allowed: %s %s\n", (double)a->budget.judged / 1e6, (double)a->budget.max_memory / 1e6, agent_sides[what == LOWER_STOP ? AGENT_OFFCPU : AGENT_CPU], texts[what]);
	a->off_stopped |= what == LOWER_STOP;
	a->kernel_only |= what == LOWER_STACKS;
	kill(r->collectors[AGENT_CPU].pid, SIGTERM); // the next one begins when it is gone: together they would have more than is allowed
	r->anew = true;
}

static void look(struct Running *r, u64 now)
{
	struct Agent *a = &r->s->a;
	struct Costs of[COSTS] = {0};
	for (u32 i = 0; i < AGENT_SIDES; i++)
		of[i] = (struct Costs){r->collectors[i].pid, r->collectors[i].kernel_ns, r->collectors[i].map_bytes};
	of[AGENT_SIDES].pid = getpid();
	budget_look(&a->budget, of, now);
	if (a->budget.weighed_ns && now - a->budget.weighed_ns < a->interval * 1000000000ull)
		return;
	a->budget.weighed_ns = now;
	budget_weigh(&a->budget);
	if (!ended)
		lower(r, now);
}

// Waits at most until a second from now, and does what there is to do.
static struct err *step(struct Running *r)
{
	struct Agent *a = &r->s->a;
	struct pollfd fds[2 * AGENT_SIDES + 1 + SCRAPES + 4 * DESTINATIONS_MAX];
	struct err *e = NULL;
	u64 now = now_ns(), wake = now + 1000000000ull, next = send_next(a->to, a->nto);
	if (next && next < wake)
		wake = MAX(next, now);
	u32 n = add_fds(r, fds, ARRAY_LEN(fds));
	int wait = send_busy(a->to, a->nto) ? (int)MIN((wake - now) / 1000000 + 1, 200ull) : (int)((wake - now) / 1000000 + 1);
	if (poll(fds, n, wait) < 0 && errno != EINTR)
		return err_errno(errno, "poll");
	now = now_ns();
	for (u32 i = 0; !e && i < AGENT_SIDES; i++) {
		if (r->collectors[i].pid)
			e = read_side(r, i, now);
		else if (!ended && wanted(r->s, i) && now >= r->start_ns[i])
			e = start(r, i);
	}
	if (asked) {
		asked = 0;
		write_record(r, "a signal");
	}
	if (!e && now - a->budget.last_ns >= 1000000000ull)
		look(r, now);
	scrape_step(&a->scrape, a, now);
	send_step(&a->spool, a->to, a->nto, now);
	return e;
}

// What was counted since the last report, and what waits: for some seconds.
static void finish(struct Running *r)
{
	struct Agent *a = &r->s->a;
	u64 until = now_ns() + LATEST_NS;
	bool waits = true;
	for (u32 i = 0; i < AGENT_SIDES; i++)
		if (r->collectors[i].pid)
			kill(r->collectors[i].pid, SIGTERM);
	for (u32 i = 0; i < a->nto; i++)
		if (!a->to[i].failures)
			a->to[i].next_ns = 0;
	while (waits && now_ns() < until) {
		waits = false;
		err_free(step(r));
		for (u32 i = 0; i <= AGENT_OFFCPU; i++)
			if (!r->collectors[AGENT_CPU].pid && a->record[i].unsent)
				err_free(send_recorded(r, i));
		for (u32 i = 0; i < AGENT_SIDES; i++)
			waits |= r->collectors[i].pid != 0;
		for (u32 i = 0; i < a->nto; i++)
			waits |= a->to[i].queue.n && !a->to[i].failures;
	}
}

static void tell_begin(const struct Setup *s)
{
	const struct Agent *a = &s->a;
	fprintf(stderr, "sonde agent: %llu Hz on each processor%s, every %llu seconds", (unsigned long long)a->hz, a->off_cpu ? " and time off them" : "",
		(unsigned long long)a->interval);
	for (u32 i = 0; i < a->nto; i++)
		fprintf(stderr, ", to %s", a->to[i].url);
	if (a->dir.path)
		fprintf(stderr, ", into %s", a->dir.path);
	fputc('\n', stderr);
	if (a->spool.strangers)
		fprintf(stderr, "WARNING: %s has %llu files that are for servers not named now, or none of ours: they stay there\n", a->spool.dir, (unsigned long long)a->spool.strangers);
}

static struct err *open_all(struct Setup *s, struct Queue **queues)
{
	struct Agent *a = &s->a;
	static struct SendOpts opts;
	struct utsname u;
	struct err *e = NULL;
	if (!uname(&u))
		for (size_t i = 0; i <= s->attrs.n; i++) {
			if (i == s->attrs.n) {
				vec_push(&s->attrs, ((struct ProfileAttr){"host.name", arena_strdup(&s->arena, u.nodename)}));
				break;
			}
			if (!strcmp(s->attrs.p[i].key, "host.name"))
				break;
		}
	if (a->batch.service)
		vec_push(&s->attrs, ((struct ProfileAttr){"service.name", a->batch.service}));
	a->batch.attrs = s->attrs.p;
	a->batch.nattrs = (u32)s->attrs.n;
	opts = (struct SendOpts){.headers = s->headers.p, .nheaders = (u32)s->headers.n, .ca = s->ca};
	for (u32 i = 0; i < a->nto; i++) {
		u64 h = 0xcbf29ce484222325ull; // FNV-1a
		for (const char *c = a->to[i].url; *c; c++)
			h = (h ^ (u8)*c) * 0x100000001b3ull;
		a->to[i].queue.key = h;
		queues[i] = &a->to[i].queue;
	}
	a->spool.dir = a->nto && !s->spool_none ? s->spool : NULL;
	a->spool.max_memory = s->memory_mb << 20;
	a->spool.max_disk = s->spool_mb << 20;
	a->dir.max_bytes = s->dir_mb << 20;
	a->budget.max_memory = s->max_memory_mb * 1000000 + (s->record_s ? (u64)RECORD_MAX * (1 + a->off_cpu) : 0);
	e = spool_open(&a->spool, queues, a->nto);
	if (!e && a->dir.path)
		e = dir_open(&a->dir);
	if (!e && s->prometheus && (e = scrape_open(&a->scrape, s->prometheus)))
		e = err_wrap(e, "--prometheus %s", s->prometheus);
	return e || !a->nto ? e : send_open(&opts);
}

int agent_run(struct Setup *s)
{
	struct Agent *a = &s->a;
	struct Running r = {.s = s};
	struct Queue *queues[DESTINATIONS_MAX];
	struct sigaction sa = {.sa_handler = on_end};
	u64 lost = 0;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	sa.sa_handler = s->record_s ? on_ask : SIG_IGN;
	sigaction(SIGUSR1, &sa, NULL);
	for (u32 i = 0; s->record_s && i <= AGENT_OFFCPU; i++)
		record_open(&a->record[i], (u32)MAX(s->record_s, a->interval));
	a->scrape.fd = -1;
	struct err *e = open_all(s, queues);
	if (!e) {
		tell_begin(s);
		while (!e && !ended)
			e = step(&r);
		ended = 1;
		finish(&r);
	}
	for (u32 i = 0; i < AGENT_SIDES; i++)
		collector_end(&r.collectors[i]);
	free(r.early);
	for (u32 i = 0; i <= AGENT_OFFCPU; i++)
		record_close(&a->record[i]);
	send_close(a->to, a->nto);
	spool_close(&a->spool, &lost);
	scrape_close(&a->scrape);
	batch_deinit(&a->batch);
	str_deinit(&a->script_metrics);
	if (lost)
		fprintf(stderr, "WARNING: lost: %llu samples that no server has taken\n", (unsigned long long)lost);
	return e ? command_failed(e) : 0;
}
