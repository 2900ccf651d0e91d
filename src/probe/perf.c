// profile, interval (timers) and software, hardware (counters): perf events whose overflow runs the program.
// In: unit and number, or event name and count. Out: one event per CPU, or per thread when a process is asked for.
#include <dirent.h>
#include <errno.h>
#include "probe/internal.h"

struct Counter {
	const char *name, *alias;
	u32 type, config;
	u64 period; // when the script gives no count: as bpftrace
};
static const struct Counter counters[] = {
	{"alignment-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, 1},
	{"bpf-output", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT, 1},
	{"context-switches", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1000},
	{"cpu-clock", "cpu", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1000000},
	{"cpu-migrations", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 1},
	{"dummy", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 1},
	{"emulation-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS, 1},
	{"major-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1},
	{"minor-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, 100},
	{"page-faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 100},
	{"task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1},
	{"backend-stalls", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 1000000},
	{"branch-instructions", "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100000},
	{"branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 100000},
	{"bus-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, 100000},
	{"cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 1000000},
	{"cache-references", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, 1000000},
	{"cpu-cycles", "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000000},
	{"frontend-stalls", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, 1000000},
	{"instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000000},
	{"ref-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, 1000000},
};
struct TimeUnit {
	const char *name;
	u64 ns; // 0: a frequency
};
static const struct TimeUnit units[] = {{"hz", 0}, {"ms", 1000000}, {"s", 1000000000}, {"us", 1000}};
// Suffixes of a bare duration, as the language has them.
static const struct TimeUnit suffixes[] = {{"", 1},		       {"ns", 1},	   {"us", 1000},	 {"ms", 1000000}, {"s", 1000000000},
				       {"m", 60000000000ull}, {"h", 3600000000000ull}, {"d", 86400000000000ull}};

// "99", "0x10", "1e6", "1_000"; stops at the first other character, which is left in *end.
static bool number(const char *s, u64 *out, const char **end)
{
	char digits[32];
	size_t n = 0;
	bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	for (; n < sizeof(digits) - 1 && *s && (strchr("0123456789_", *s) || (hex && strchr("abcdefABCDEFxX", *s))); s++)
		if (*s != '_')
			digits[n++] = *s;
	digits[n] = 0;
	if (!n || !parse_u64(digits, out))
		return false;
	if (!hex && (*s == 'e' || *s == 'E') && s[1] >= '0' && s[1] <= '9') {
		char *after;
		unsigned long exp = strtoul(s + 1, &after, 10);
		if (exp > 19)
			return false;
		for (; exp; exp--)
			if (__builtin_mul_overflow(*out, 10ull, out))
				return false;
		s = after;
	}
	*end = s;
	return true;
}

static bool whole_number(const char *s, u64 *out)
{
	const char *end;
	return number(s, out, &end) && !*end;
}

static bool duration(const char *s, u64 *ns)
{
	const char *end;
	if (!number(s, ns, &end))
		return false;
	for (u32 i = 0; i < ARRAY_LEN(suffixes); i++)
		if (!strcmp(end, suffixes[i].name))
			return !__builtin_mul_overflow(*ns, suffixes[i].ns, ns);
	return false;
}

// ---- profile, interval
static struct Point *timer_point(struct ProbeEnv *env, const struct Provider *p, const char *unit, u64 n)
{
	bool prof = p->kind == PK_PROFILE;
	struct Point *pt = point_new(env, p, prof ? CTX_PERF : CTX_NONE);
	pt->target = unit;
	pt->perf_type = PERF_TYPE_SOFTWARE;
	pt->perf_config = PERF_COUNT_SW_CPU_CLOCK;
	pt->pid = prof ? env->pid : 0;
	pt->name = n ? arena_printf(env->arena, "%s:%s:%llu", p->name, unit, (unsigned long long)n)
		     : arena_printf(env->arena, "%s:%s:", p->name, unit);
	return pt;
}

static void bad_timer(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *what, const char *text)
{
	if (env->lenient)
		return;
	diag_error(env->diags, spec->span, what, text);
	diag_hint(env->diags, "the form is %s", p->synopsis);
}

static void bad_rate(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *text)
{
	bool tail = text[0] >= '0' && text[0] <= '9';
	bad_timer(env, p, spec, arena_printf(env->arena, "Invalid rate of %s probe: %s: %%s", p->name, tail ? "invalid trailing bytes" : "invalid integer"), text);
}

static void expand_duration(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out)
{
	u64 ns;
	if (!duration(spec->parts[1], &ns)) {
		bad_rate(env, p, spec, spec->parts[1]);
		return;
	}
	if (ns < 1000) {
		diag_error(env->diags, spec->span, "Invalid rate of %s probe. Minimum is 1000 or 1us. Found: %llu nanoseconds", p->name, (unsigned long long)ns);
		diag_hint(env->diags, "for a frequency write %s:hz:%llu", p->name, (unsigned long long)MAX(ns, 1));
		return;
	}
	struct Point *pt = timer_point(env, p, "us", ns / 1000);
	pt->rate = ns;
	point_add(env, spec, out, pt);
}

static const struct TimeUnit *find_unit(const char *name)
{
	for (u32 i = 0; i < ARRAY_LEN(units); i++)
		if (!strcmp(units[i].name, name))
			return &units[i];
	return NULL;
}

void timer_expand(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out)
{
	u64 n, ns;
	if (!spec_parts(env, p, spec, 1, 2))
		return;
	if (spec->nparts == 2) {
		expand_duration(env, p, spec, out);
		return;
	}
	const struct TimeUnit *u = find_unit(spec->parts[1]);
	if (!u) {
		bad_timer(env, p, spec, "%s is not an accepted unit of time", spec->parts[1]);
		return;
	}
	const char *text = spec->parts[2];
	if (text[0] != '-' && !whole_number(text, &n)) {
		bad_rate(env, p, spec, text);
		return;
	}
	if (text[0] == '-' || !n || __builtin_mul_overflow(n, MAX(u->ns, 1), &ns) || ns > INT64_MAX) {
		bad_timer(env, p, spec, "%s frequency should be a positive integer", p->name);
		return;
	}
	struct Point *pt = timer_point(env, p, u->name, n);
	pt->is_hz = !u->ns;
	pt->rate = ns;
	point_add(env, spec, out, pt);
}

void timer_list(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, void (*fn)(void *, struct Point *), void *arg)
{
	const char *pat = spec->nparts > 1 ? spec->parts[1] : "*";
	for (u32 i = 0; i < ARRAY_LEN(units); i++)
		if (glob_match(pat, units[i].name))
			fn(arg, timer_point(env, p, units[i].name, 0));
}

// ---- events on every CPU, or on every thread of a process
// Per thread and inherited: bpftrace opens the first thread only, and threads that live already are missed.
static struct err *attach_threads(struct ProbeProg *pp, const struct Point *pt, struct Attachments *at, const struct perf_event_attr *model)
{
	char path[64];
	u32 opened = 0;
	struct err *e = NULL;
	struct dirent *d;
	snprintf(path, sizeof(path), "/proc/%d/task", pt->pid);
	DIR *dir = opendir(path);
	if (!dir)
		return err_errno(errno == ENOENT ? ESRCH : errno, "process %d", pt->pid);
	while (!e && (d = readdir(dir))) {
		u64 tid;
		if (!parse_u64(d->d_name, &tid))
			continue;
		struct perf_event_attr attr = *model;
		attr.inherit = 1;
		e = attach_perf(pp, at, &attr, (int)tid, -1, pt->id);
		if (e && err_code(e) == ESRCH) { // the thread has ended since
			err_free(e);
			e = NULL;
		} else
			opened++;
	}
	closedir(dir);
	return e || opened ? e : err_errno(ESRCH, "process %d", pt->pid);
}

static struct err *attach_cpus(struct ProbeProg *pp, const struct Point *pt, struct Attachments *at, const struct perf_event_attr *model)
{
	int *cpus;
	u32 n;
	size_t before = 0;
	struct err *e = online_cpus(&cpus, &n);
	if (e)
		return e;
	attachments_cpus(at, &before);
	for (u32 i = 0; !e && i < n; i++) {
		struct perf_event_attr attr = *model;
		e = attach_perf(pp, at, &attr, -1, cpus[i], pt->id);
		if (e && err_code(e) == ENODEV && i) { // went offline since
			err_free(e);
			e = NULL;
		}
	}
	attachments_everywhere(at, before, e ? 0 : newcpus_ask(attachments_newcpus(at), pp->fd, pt->id, model));
	free(cpus);
	return e;
}

struct err *attach_everywhere(struct ProbeProg *pp, const struct Point *pt, struct Attachments *at, const struct perf_event_attr *model)
{
	return pt->pid ? attach_threads(pp, pt, at, model) : attach_cpus(pp, pt, at, model);
}

static struct err *attach_timer(struct ProbeEnv *env, struct ProbeProg *pp, const struct Point *pt, struct Attachments *at)
{
	struct perf_event_attr attr = {.type = pt->perf_type, .config = pt->perf_config, .freq = pt->is_hz};
	attr.sample_period = pt->rate; // a union with sample_freq
	size_t before = attachments_events(at);
	struct err *e = pt->kind == PK_INTERVAL ? attach_perf(pp, at, &attr, -1, first_online_cpu(), pt->id)
						 : attach_everywhere(pp, pt, at, &attr);
	if (!e && pt->is_hz && pt->kind == PK_PROFILE)
		attachments_add_timers(at, before);
	s64 max = e && pt->is_hz && err_code(e) == EINVAL ? read_number("/proc/sys/kernel/perf_event_max_sample_rate") : 0;
	if (max > 0 && pt->rate > (u64)max)
		return err_wrap(e, "kernel.perf_event_max_sample_rate allows %lld per second", (long long)max);
	return e;
}

struct err *timer_attach(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at)
{
	return attach_each(env, pp, at, attach_timer);
}

// ---- software, hardware
static u32 counter_type(const struct Provider *p)
{
	return p->kind == PK_SOFTWARE ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE;
}

static const struct Counter *find_counter(u32 type, const char *name)
{
	for (u32 i = 0; i < ARRAY_LEN(counters); i++)
		if (counters[i].type == type && (!strcmp(counters[i].name, name) || (counters[i].alias && !strcmp(counters[i].alias, name))))
			return &counters[i];
	return NULL;
}

static void unknown_counter(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec)
{
	if (env->lenient)
		return;
	const char *name = spec->parts[1];
	if (is_wild(name)) {
		diag_error(env->diags, spec->span, "wildcards are not allowed for %s probe type", p->name);
		diag_hint(env->diags, "list them with -l '%s:*'", p->name);
		return;
	}
	NameList names = {0};
	for (u32 i = 0; i < ARRAY_LEN(counters); i++)
		if (counters[i].type == counter_type(p)) {
			vec_push(&names, counters[i].name);
			if (counters[i].alias)
				vec_push(&names, counters[i].alias);
		}
	diag_error(env->diags, spec->span, "%s is not a %s probe", name, p->name);
	hint_nearest(env, name, &names, arena_printf(env->arena, "%s:", p->name));
	vec_deinit(&names);
}

void counter_expand(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out)
{
	u64 count = 0;
	if (!spec_parts(env, p, spec, 1, 2))
		return;
	const struct Counter *c = find_counter(counter_type(p), spec->parts[1]);
	if (!c) {
		unknown_counter(env, p, spec);
		return;
	}
	const char *text = spec->nparts == 3 ? spec->parts[2] : "";
	if (*text && strcmp(text, "*") && (!whole_number(text, &count) || !count || count > INT64_MAX)) {
		if (!env->lenient)
			diag_error(env->diags, spec->span, "Invalid count for %s probe: invalid integer: %s", p->name, text);
		return;
	}
	struct Point *pt = point_new(env, p, CTX_PERF);
	pt->target = spec->parts[1];
	pt->perf_type = c->type;
	pt->perf_config = c->config;
	pt->rate = count ? count : c->period;
	pt->pid = env->pid;
	pt->name = count ? arena_printf(env->arena, "%s:%s:%llu", p->name, pt->target, (unsigned long long)count)
			 : arena_printf(env->arena, "%s:%s", p->name, pt->target);
	point_add(env, spec, out, pt);
}

static void list_counter(struct ProbeEnv *env, const struct Provider *p, const char *name, const char *pat, void (*fn)(void *, struct Point *),
			 void *arg)
{
	if (!name || !glob_match(pat, name))
		return;
	struct Point *pt = point_new(env, p, CTX_PERF);
	pt->name = arena_printf(env->arena, "%s:%s:", p->name, name);
	fn(arg, pt);
}

void counter_list(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, void (*fn)(void *, struct Point *), void *arg)
{
	const char *pat = spec->nparts > 1 ? spec->parts[1] : "*";
	for (u32 i = 0; i < ARRAY_LEN(counters); i++)
		if (counters[i].type == counter_type(p)) {
			list_counter(env, p, counters[i].name, pat, fn, arg);
			list_counter(env, p, counters[i].alias, pat, fn, arg);
		}
}

static struct err *attach_counter(struct ProbeEnv *env, struct ProbeProg *pp, const struct Point *pt, struct Attachments *at)
{
	struct perf_event_attr attr = {.type = pt->perf_type, .config = pt->perf_config, .sample_period = pt->rate};
	struct err *e = attach_everywhere(pp, pt, at, &attr);
	int code = e ? err_code(e) : 0;
	if (pt->kind == PK_HARDWARE && (code == ENOENT || code == EOPNOTSUPP || code == ENODEV)) {
		if (feature_has(FEAT_HW_EVENTS))
			return err_wrap(e, "this processor does not count %s", pt->target);
		return err_wrap(e, "this machine (virtual?) exposes no hardware counters; use software:cpu-clock");
	}
	return e;
}

struct err *counter_attach(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at)
{
	return attach_each(env, pp, at, attach_counter);
}
