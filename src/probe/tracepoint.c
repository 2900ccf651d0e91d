// tracepoint:category:event. In: tracefs. A point holds the event's id; one disabled perf event carries the program for all CPUs. A point of
// an action that reads no arguments has CTX_RAW: it is attached as a raw tracepoint.
#include <errno.h>
#include "probe/internal.h"

static int cmp_tp(const void *a, const void *b)
{
	const struct TpName *x = a, *y = b;
	int c = strcmp(x->category, y->category);
	return c ? c : strcmp(x->event, y->event);
}

// available_events: "category:event" a line.
struct ProbeCache *tracepoint_events(struct ProbeEnv *env)
{
	struct ProbeCache *c = probe_cache(env);
	if (c->tps_read)
		return c;
	c->tps_read = true;
	const char *root;
	struct Str s = {0};
	struct err *e = tracefs_path(&root);
	if (!e)
		e = read_file(arena_printf(env->arena, "%s/available_events", root), &s, 64 << 20);
	if (e) {
		if (!env->lenient)
			diag_error_plain(env->diags, "cannot list tracepoints: %s", err_text(e));
		err_free(e);
	}
	char *text = arena_strndup(env->arena, str_text(&s), s.n);
	str_deinit(&s);
	for (char *line = text, *next; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = 0;
		char *colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = 0;
		struct TpName t = {line, colon + 1};
		vec_push(&c->tps, t);
	}
	if (c->tps.n)
		qsort(c->tps.p, c->tps.n, sizeof(c->tps.p[0]), cmp_tp);
	return c;
}

static s64 event_id(struct ProbeEnv *env, const char *category, const char *event)
{
	const char *root;
	char path[512];
	// Names come from the script: nothing that leaves the events folder.
	if (strchr(category, '/') || strchr(event, '/') || category[0] == '.' || event[0] == '.')
		return -ENOENT;
	struct err *e = tracefs_path(&root);
	if (e) {
		err_free(e);
		return -ENODEV;
	}
	int n = snprintf(path, sizeof(path), "%s/events/%s/%s/id", root, category, event);
	return n < (int)sizeof(path) ? read_number(path) : -ENAMETOOLONG;
}

// ---- without arguments: the raw form of the same tracepoint
// A perf event for a tracepoint builds the event's record each time it fires and takes 60 ms to remove (two grace periods). A program that does not look
// at the record can hang on the tracepoint itself: 0.1 ms, and cheaper per event. Which events BPF can reach that way BTF tells, by a type
// btf_trace_EVENT (system calls, for one, have none); trying would cost 10 ms, because a tracepoint enabled after another was disabled waits for
// a grace period. Lock events stay as they are: only the perf form keeps programs from nesting, and two programs that wait for one lock on one
// CPU would wait for ever.
static bool raw_works(struct ProbeEnv *env, const char *category, const char *event)
{
	struct Record *args;
	u32 id;
	if (env->want_args || env->listing || !strcmp(category, "syscalls") || !strcmp(category, "lock") || !ctype_has_btf(env->ctypes))
		return false;
	struct err *e = ctype_rawtp(env->ctypes, event, &args, &id);
	err_free(e);
	return !e;
}

static void make(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *category, const char *event,
		 s64 id, struct PointList *out)
{
	struct Point *pt = point_new(env, p, raw_works(env, category, event) ? CTX_RAW : CTX_TRACEPOINT);
	pt->target = category;
	pt->event = event;
	pt->perf_type = PERF_TYPE_TRACEPOINT;
	pt->perf_config = (u64)id;
	pt->name = arena_printf(env->arena, "tracepoint:%s:%s", category, event);
	if (env->want_args) {
		struct err *e = ctype_tracepoint_args(env->ctypes, category, event, &pt->args);
		if (e && !env->lenient)
			diag_error(env->diags, spec->span, "the fields of %s cannot be read: %s", pt->name, err_text(e));
		err_free(e);
	}
	point_add(env, spec, out, pt);
}

void tracepoint_hint(struct ProbeEnv *env, const char *event)
{
	bool lenient = env->lenient;
	env->lenient = true; // tracefs that cannot be read has nothing to propose
	struct ProbeCache *c = tracepoint_events(env);
	env->lenient = lenient;
	for (size_t i = 0; i < c->tps.n; i++)
		if (!strcmp(c->tps.p[i].event, event))
			diag_hint(env->diags, "did you mean 'tracepoint:%s:%s'?", c->tps.p[i].category, event);
}

static void hint_event(struct ProbeEnv *env, const char *category, const char *event)
{
	struct ProbeCache *c = tracepoint_events(env);
	NameList in_cat = {0}, cats = {0};
	for (size_t i = 0; i < c->tps.n; i++) {
		if (!strcmp(c->tps.p[i].category, category))
			vec_push(&in_cat, c->tps.p[i].event);
		vec_push(&cats, c->tps.p[i].category);
		if (!strcmp(c->tps.p[i].event, event)) { // right name, wrong category
			diag_hint(env->diags, "did you mean 'tracepoint:%s:%s'?", c->tps.p[i].category, event);
			goto out;
		}
	}
	names_sort(&cats);
	const char *prefix = arena_printf(env->arena, "tracepoint:%s:", category);
	if (in_cat.n)
		hint_nearest(env, event, &in_cat, prefix);
	else
		hint_nearest(env, category, &cats, "tracepoint:");
out:
	vec_deinit(&in_cat);
	vec_deinit(&cats);
}

static void missing(struct ProbeEnv *env, const struct AttachSpec *spec, const char *category, const char *event, int why)
{
	if (why == ENODEV || why == EACCES || why == EPERM) {
		const char *root;
		struct err *e = tracefs_path(&root);
		diag_error(env->diags, spec->span, "cannot look up tracepoint %s:%s: %s", category, event,
			   e ? err_text(e) : strerror(why));
		err_free(e);
	} else if (probe_missing(env, spec, "no tracepoint %s:%s in this kernel", category, event))
		hint_event(env, category, event);
}

// Category and event from the parts. One pattern alone searches all categories.
static bool split(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char **category, const char **event)
{
	if (spec->nparts == 2 && (is_wild(spec->parts[1]) || env->listing)) {
		*category = "*";
		*event = spec->parts[1];
		return true;
	}
	if (spec->nparts == 2 && !env->lenient) {
		diag_error(env->diags, spec->span, "tracepoint probe type requires 2 arguments, found 1");
		diag_hint(env->diags, "the form is %s", p->synopsis);
		hint_event(env, "", spec->parts[1]);
		return false;
	}
	if (!spec_parts(env, p, spec, 2, 2))
		return false;
	*category = spec->parts[1];
	*event = spec->parts[2];
	return true;
}

void tracepoint_expand(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out)
{
	const char *category, *event;
	if (!split(env, p, spec, &category, &event))
		return;
	if (!is_wild(category) && !is_wild(event)) {
		s64 id = event_id(env, category, event);
		if (id >= 0)
			make(env, p, spec, category, event, id, out);
		else if (!env->lenient)
			missing(env, spec, category, event, (int)-id);
		return;
	}
	struct ProbeCache *c = tracepoint_events(env);
	size_t before = out->v.n;
	for (size_t i = 0; i < c->tps.n; i++) {
		const struct TpName *t = &c->tps.p[i];
		if (!glob_match(category, t->category) || !glob_match(event, t->event))
			continue;
		s64 id = env->listing ? 0 : event_id(env, t->category, t->event);
		if (id >= 0)
			make(env, p, spec, t->category, t->event, id, out);
	}
	if (out->v.n == before)
		probe_missing(env, spec, "no tracepoint matches %s:%s", category, event);
}

void tracepoint_list(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, void (*fn)(void *, struct Point *), void *arg)
{
	list_by_expand(env, p, spec, fn, arg);
}

// The program hangs on the event itself, not on the perf event's CPU or task (kernel: perf_event_attach_bpf_prog), and runs for every CPU as soon
// as the perf event exists. Kept disabled it is on no CPU's list, so that no CPU ever writes a perf record after the program.
static struct err *attach_one(struct ProbeEnv *env, struct ProbeProg *pp, const struct Point *pt, struct Attachments *at)
{
	if (pt->ctx == CTX_RAW)
		return attach_raw(env, pp, pt, at);
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .config = pt->perf_config, .disabled = 1};
	return attach_perf(pp, at, &attr, -1, first_online_cpu(), pt->id);
}

struct err *tracepoint_attach(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at)
{
	return attach_each(env, pp, at, attach_one);
}
