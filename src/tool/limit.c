// --max-cpu and --max-memory: what counting costs, interval by interval, and less of it when that is more than was allowed: fewer samples a second, or fewer of the switches of threads.
// In: the processor time of this process, and of its programs in the kernel (run/cost.c). Out: another frequency, another N of --one-in. Invariant: a sample's weight is
// known: the frequency changes between reports only, and a wait that is looked at has the N of when it began.
//
// Memory is what is the process's own (proc_pid_statm(5): resident, not shared) and what its BPF maps hold (fdinfo). Fewer samples are fewer new stacks, but give nothing
// back: so they come when it grows beyond MEMORY_HIGH of what is allowed, and beyond all of it the run ends with its report.
// What the kernel does around a program (the timer's interrupt, the tracepoint's record: some 200 ns each) is nobody's account and not in it.
#include "bpf/bpf.h"
#include "tool/internal.h"
#include <malloc.h>
#include <math.h>
#include <sys/resource.h>

#define LEAST_NS 900000000ull // an interval that is judged
#define MEMORY_HIGH 0.8
#define ROOM (2.0 / 3)	      // of what is allowed: where less is taken there may be room for more
#define LOW_FOR 4u	      // intervals that took so little, before it is raised again
#define LOW_FOR_MAX 64u	      // where that turned out to be too much
#define ONE_IN_MAX 10000u     // what costs too much then does so by being there

// A scalar map: value and presence word (lower/lower_map.c).
bool set_scalar(struct RunCtx *rc, const char *map, u64 val)
{
	struct MapDef *m = program_map(rc->prog, map);
	u64 value[2] = {val, 1};
	u32 zero = 0;
	return m && m->scalar && m->value_size == sizeof(value) && !sys_map_update(m->fd, &zero, value, 0);
}

static u64 cpu_ns(void)
{
	struct rusage u;
	if (getrusage(RUSAGE_SELF, &u))
		return 0;
	return ((u64)u.ru_utime.tv_sec + (u64)u.ru_stime.tv_sec) * 1000000000ull + ((u64)u.ru_utime.tv_usec + (u64)u.ru_stime.tv_usec) * 1000;
}

static u64 own_bytes(void)
{
	struct Str s = {0};
	unsigned long long all = 0, shared = 0;
	err_free(read_file("/proc/self/statm", &s, 256));
	bool ok = sscanf(str_text(&s), "%*u %llu %llu", &all, &shared) == 2 && all > shared;
	str_deinit(&s);
	return ok ? (all - shared) * (u64)sysconf(_SC_PAGESIZE) : 0;
}

// Pages of maps that are mapped here are among those that own_bytes() leaves out.
static u64 all_bytes(const struct RunCtx *rc)
{
	u64 n = own_bytes() + cost_memory(rc->prog, rc->track);
	for (size_t i = 0; i < rc->prog->maps.n; i++)
		n += rc->prog->maps.p[i]->mmapped ? cost_map_memory(rc->prog->maps.p[i]->fd) : 0;
	return n;
}

// A rate below the one that was asked for is ours to choose, and is none that divides a second: of a program that does something once a second, a sample a second
// would always meet the same part. The distances of samples modulo a second, and modulo most parts of it, are spread evenly.
u64 limit_period_ns(const struct ToolOpts *o, u64 hz)
{
	u64 period = 1000000000ull / hz;
	return hz < o->limit_hz ? period + period * 61803 / 1000000 : period;
}

void limit_begin(struct Limit *l, struct ToolOpts *o, struct RunCtx *rc)
{
	*l = (struct Limit){.asked_one_in = o->limit_one_in ? MIN(o->one_in, o->limit_one_in) : o->one_in, .last_ns = now_ns(), .last_cpu_ns = cpu_ns()};
	o->limit_hz = MAX(o->hz, o->limit_hz);
	cost_begin(&l->cost);
	if (o->hz < o->limit_hz) // its probes are those of a whole number
		err_free(rc->set_period(rc->period_arg, limit_period_ns(o, o->hz)));
	if (o->max_memory)
		l->last_mb = (double)all_bytes(rc) / (1 << 20);
}

void limit_end(struct Limit *l)
{
	cost_end(&l->cost);
}

void limit_tick(struct Limit *l, const struct ToolOpts *o, struct RunCtx *rc)
{
	if (o->max_cpu)
		cost_tick(&l->cost, rc->prog, now_ns());
}

static void took(const struct Limit *l, const struct ToolOpts *o, double share, struct Str *why)
{
	str_addf(why, "took %.2f %% of a processor", share);
	if (l->cost.unknown)
		str_add(why, " (and in the kernel's programs what this kernel does not tell)");
	else
		str_addf(why, " (%.2f in the kernel's programs)", 100.0 * l->cost.share);
	str_addf(why, ", %g are allowed", o->max_cpu);
}

static double rate(const struct ToolOpts *o, u64 hz) // for a person
{
	return round(1e11 / (double)limit_period_ns(o, hz)) / 100;
}

static void set_hz(struct Limit *l, struct ToolOpts *o, struct RunCtx *rc, u64 hz, const char *why)
{
	struct err *e = rc->set_period(rc->period_arg, limit_period_ns(o, hz));
	if (e)
		fprintf(stderr, "WARNING: %s\n", err_text(e));
	else {
		fprintf(stderr, "WARNING: it %s: %g samples a second from now on, not %g\n", why, rate(o, hz), rate(o, o->hz));
		l->next_hz = hz;
		cost_changed(&l->cost);
	}
	err_free(e);
}

void limit_reported(struct Limit *l, struct ToolOpts *o)
{
	if (l->next_hz)
		o->hz = l->next_hz;
	l->next_hz = 0;
}

// Did it lower the frequency, or end the run?
static bool look_at_memory(struct Limit *l, struct ToolOpts *o, struct RunCtx *rc)
{
	double mb = o->max_memory ? (double)all_bytes(rc) / (1 << 20) : 0, before = l->last_mb;
	char why[128];
	if (!o->max_memory)
		return false;
	if (mb > (double)o->max_memory) { // what is free in between goes back first
#ifdef __GLIBC__
		malloc_trim(0);
#endif
		mb = (double)all_bytes(rc) / (1 << 20);
	}
	l->last_mb = mb;
	if (mb > (double)o->max_memory) {
		fprintf(stderr, "ERROR: it holds %.1f MB of memory, %llu are allowed: it ends\n", mb, (unsigned long long)o->max_memory);
		rc->exit_code = 1;
		rc->exiting = true;
		return true;
	}
	if (mb <= MEMORY_HIGH * (double)o->max_memory || mb <= before || o->hz <= 1)
		return false;
	snprintf(why, sizeof(why), "holds %.1f MB of memory and grows, %llu are allowed", mb, (unsigned long long)o->max_memory);
	set_hz(l, o, rc, MAX(o->hz / 2, 1ull), why);
	return true;
}

static void set_one_in(struct Limit *l, struct ToolOpts *o, struct RunCtx *rc, u64 n, const char *why)
{
	if (!set_scalar(rc, "@one_in", n))
		return;
	fprintf(stderr, "WARNING: it %s: one switch in %llu is looked at from now on, not one in %llu\n", why, (unsigned long long)n, (unsigned long long)o->one_in);
	o->one_in = n;
	cost_changed(&l->cost);
}

// Both sides are counted: which of them is it? Where it is the kernel's programs that take most, the one whose programs do; else what is made of both.
static void blame(const struct Limit *l, const struct ToolOpts *o, bool *samples, bool *switches)
{
	double timers = l->cost.timers, others = l->cost.share - timers;
	bool kernel = 100 * l->cost.share > o->max_cpu / 2;
	*samples = !o->one_in || !kernel || 2 * timers >= others || o->one_in >= ONE_IN_MAX;
	*switches = !o->hz || !kernel || 2 * others >= timers || o->hz <= 1;
}

static void less(struct Limit *l, struct ToolOpts *o, struct RunCtx *rc, double share, const char *why)
{
	double times = share / o->max_cpu / 0.9;
	bool samples, switches;
	blame(l, o, &samples, &switches);
	if (samples && o->hz > 1) // not all of it comes of samples: half, and then it is seen what that was good for
		set_hz(l, o, rc, MAX(MAX((u64)((double)o->hz / times), o->hz / 2), 1ull), why);
	if (switches && o->one_in && o->one_in < ONE_IN_MAX)
		set_one_in(l, o, rc, MIN((u64)((double)o->one_in * times) + 1, (u64)ONE_IN_MAX), why);
	else if (switches && o->one_in && !o->hz) {
		report_loss(rc, "run_ended", 1, "it %s: switches of threads are too many here, it ends", why);
		rc->exiting = true;
	}
}

static void more(struct Limit *l, struct ToolOpts *o, struct RunCtx *rc, const char *why)
{
	if (o->hz < o->limit_hz && l->last_mb <= MEMORY_HIGH * (double)o->max_memory)
		set_hz(l, o, rc, MIN(2 * o->hz, o->limit_hz), why);
	if (o->one_in > l->asked_one_in)
		set_one_in(l, o, rc, MAX(o->one_in / 2, l->asked_one_in), why);
}

// How much of the cost comes of samples nobody knows (tables, names, what runs at each switch anyway): more is tried, and less often where it was too much soon.
enum LimitTurn limit_turn(struct LimitTurns *t, double share, double allowed, bool lowered)
{
	t->wait = MAX(t->wait, LOW_FOR);
	if (t->raised && share > allowed)
		t->wait = MIN(2 * t->wait, LOW_FOR_MAX);
	else if (t->raised && ++t->since > t->wait) // it has stood the test
		t->wait = LOW_FOR;
	t->raised &= share <= allowed && t->since <= t->wait;
	t->low = lowered && share < ROOM * allowed ? t->low + 1 : 0;
	if (share > allowed)
		return LIMIT_LESS;
	if (t->low < t->wait)
		return LIMIT_KEEP;
	t->low = t->since = 0;
	t->raised = true;
	return LIMIT_MORE;
}

void limit_look(struct Limit *l, struct ToolOpts *o, struct RunCtx *rc)
{
	u64 now = now_ns(), cpu = cpu_ns();
	if ((!o->max_cpu && !o->max_memory) || now - l->last_ns < LEAST_NS)
		return;
	bool lowered = look_at_memory(l, o, rc);
	double share = 100.0 * (double)(cpu - l->last_cpu_ns) / (double)(now - l->last_ns) + 100.0 * l->cost.share;
	l->last_ns = now;
	l->last_cpu_ns = cpu;
	bool warm = l->warm; // the first stacks want tables and names of all that runs
	l->warm = true;
	if (!o->max_cpu || lowered || !warm || l->cost.stale) // what was lowered has to be seen first
		return;
	struct Str why = {0};
	took(l, o, share, &why);
	enum LimitTurn turn = limit_turn(&l->turns, share, o->max_cpu, o->hz < o->limit_hz || o->one_in > l->asked_one_in);
	if (turn == LIMIT_LESS)
		less(l, o, rc, share, str_text(&why));
	else if (turn == LIMIT_MORE)
		more(l, o, rc, str_text(&why));
	str_deinit(&why);
}
