// The provider table, and the way from a script's attach points to plain points.
// In: AttachSpec lists of the AST. Out: PointLists. Invariant: a point exists (event, symbol, register...) when it leaves here, as far as
// that can be known without attaching; every refusal is a diagnostic at the attach point's span.
#include <regex.h>
#include <strings.h>
#include "lang/lang.h"
#include "probe/internal.h"

static const char *const begin_names[] = {"BEGIN", NULL}, *const end_names[] = {"END", NULL};
static const char *const fentry_names[] = {"kfunc", NULL}, *const fexit_names[] = {"kretfunc", NULL};

#define FNS(id) .expand = id##_expand, .list = id##_list, .attach = id##_attach
const struct Provider providers[] = {
	{"begin", NULL, begin_names, PK_BEGIN, BPF_PROG_TYPE_RAW_TRACEPOINT, "begin", "once, before the other probes are attached", FNS(special)},
	{"end", NULL, end_names, PK_END, BPF_PROG_TYPE_RAW_TRACEPOINT, "end", "once, after the other probes are detached", FNS(special)},
	{"self", NULL, NULL, PK_SELF, BPF_PROG_TYPE_RAW_TRACEPOINT, "self:signal:SIGUSR1", "sonde itself receives the signal", FNS(special)},
	{"test", NULL, NULL, PK_TEST, BPF_PROG_TYPE_RAW_TRACEPOINT, "test:name", "run by --test", FNS(special)},
	{"bench", NULL, NULL, PK_BENCH, BPF_PROG_TYPE_RAW_TRACEPOINT, "bench:name", "run by --bench", FNS(special)},
	{"hardware", "h", NULL, PK_HARDWARE, BPF_PROG_TYPE_PERF_EVENT, "hardware:event[:count]", "every count-th hardware event", FNS(counter)},
	{"interval", "i", NULL, PK_INTERVAL, BPF_PROG_TYPE_PERF_EVENT, "interval:us|ms|s|hz:n or interval:1s", "a timer on one CPU", FNS(timer)},
	{"iter", "it", NULL, PK_ITER, BPF_PROG_TYPE_TRACING, "iter:kind[:pin]", "once for each kernel object of a kind", FNS(iter)},
	{"fentry", "f", fentry_names, PK_FENTRY, BPF_PROG_TYPE_TRACING, "fentry[:module]:function or fentry:bpf[:id]:program",
	 "a kernel function is entered, typed arguments", FNS(fentry)},
	{"fexit", "fr", fexit_names, PK_FEXIT, BPF_PROG_TYPE_TRACING, "fexit[:module]:function or fexit:bpf[:id]:program",
	 "a kernel function returns, typed arguments and value", FNS(fentry)},
	{"kprobe", "k", NULL, PK_KPROBE, BPF_PROG_TYPE_KPROBE, "kprobe[:module]:function[+offset] or kprobe:module@file:line[:column]", "a kernel function is entered", FNS(kprobe)},
	{"kretprobe", "kr", NULL, PK_KRETPROBE, BPF_PROG_TYPE_KPROBE, "kretprobe[:module]:function", "a kernel function returns", FNS(kprobe)},
	{"profile", "p", NULL, PK_PROFILE, BPF_PROG_TYPE_PERF_EVENT, "profile:us|ms|s|hz:n or profile:10ms", "a timer on every CPU", FNS(timer)},
	{"rawtracepoint", "rt", NULL, PK_RAWTP, BPF_PROG_TYPE_RAW_TRACEPOINT, "rawtracepoint[:module]:event", "a tracepoint, untranslated arguments",
	 FNS(rawtp)},
	{"software", "s", NULL, PK_SOFTWARE, BPF_PROG_TYPE_PERF_EVENT, "software:event[:count]", "every count-th software event", FNS(counter)},
	{"tracepoint", "t", NULL, PK_TRACEPOINT, BPF_PROG_TYPE_TRACEPOINT, "tracepoint:category:event", "a kernel tracepoint", FNS(tracepoint)},
	{"uprobe", "u", NULL, PK_UPROBE, BPF_PROG_TYPE_KPROBE, "uprobe:binary:[cpp:]function[+offset], uprobe:binary:address or uprobe:binary@file:line[:column]",
	 "a user function is entered", FNS(uprobe)},
	{"uretprobe", "ur", NULL, PK_URETPROBE, BPF_PROG_TYPE_KPROBE, "uretprobe:binary:[cpp:]function", "a user function returns", FNS(uprobe)},
	{"usdt", "U", NULL, PK_USDT, BPF_PROG_TYPE_KPROBE, "usdt:binary:[provider:]name", "a static tracepoint of a program", FNS(usdt)},
	{"watchpoint", "w", NULL, PK_WATCHPOINT, BPF_PROG_TYPE_PERF_EVENT, "watchpoint:address:length:rwx or watchpoint:function+argN:length:rwx",
	 "memory is read, written or executed", FNS(watchpoint)},
	{"asyncwatchpoint", "aw", NULL, PK_ASYNCWATCHPOINT, BPF_PROG_TYPE_PERF_EVENT, "asyncwatchpoint:function+argN:length:rwx",
	 "as watchpoint, without stopping the process", FNS(watchpoint)},
};
const u32 nproviders = ARRAY_LEN(providers);

static bool provider_named(const struct Provider *p, const char *name, int (*cmp)(const char *, const char *))
{
	if (!cmp(p->name, name))
		return true;
	for (const char *const *n = p->names; n && *n; n++)
		if (!cmp(*n, name))
			return true;
	return false;
}

// Exact spellings first: "u" is uprobe and "U" is usdt. Then the long names in any case, as bpftrace takes "BEGIN" and "begin".
const struct Provider *provider_find(const char *name)
{
	for (u32 i = 0; i < nproviders; i++)
		if (provider_named(&providers[i], name, strcmp) || (providers[i].alias && !strcmp(providers[i].alias, name)))
			return &providers[i];
	for (u32 i = 0; i < nproviders; i++)
		if (provider_named(&providers[i], name, strcasecmp) || (is_wild(name) && glob_match(name, providers[i].name)))
			return &providers[i];
	return NULL;
}

void probe_env_deinit(struct ProbeEnv *env)
{
	for (size_t i = 0; i < env->owned_fds.n; i++)
		close(env->owned_fds.p[i]);
	vec_deinit(&env->owned_fds);
	watches_end(env);
	vec_deinit(&env->unmatched);
	if (env->cache) {
		vec_deinit(&env->cache->tps);
		vec_deinit(&env->cache->kfuncs);
		vec_deinit(&env->cache->blacklist);
		for (size_t i = 0; i < env->cache->refusals.n; i++) // loading failed before anything was attached
			err_free(env->cache->refusals.p[i]->first);
		vec_deinit(&env->cache->refusals);
		env->cache = NULL;
	}
}

// ---- does an action need a tracepoint's own kind of program, or look at what needs types? Reading them costs, so only then.
static bool needs_types(void *arg, struct Expr *e)
{
	if (e->kind == E_IDENT && e->str && (!strcmp(e->str, "args") || !strcmp(e->str, "retval") || !strcmp(e->str, "ctx")))
		*(bool *)arg = true;
	const struct Builtin *b = e->kind == E_CALL && e->str ? builtin_find(e->str) : NULL;
	if (b && b->id == BI_socket_cookie) // the helper takes typed pointers only
		*(bool *)arg = true;
	if (b && ((b->id == BI_comm && e->nargs) || b->id == BI_kfunc_allowed)) // functions of the kernel that raw tracepoints may not call
		*(bool *)arg = true;
	return !*(bool *)arg;
}

static bool action_needs_types(const struct ProbeAst *p)
{
	bool yes = false;
	walk_expr(p->pred, needs_types, &yes);
	walk_exprs(p->body, needs_types, &yes);
	return yes;
}

// ---- expansion
static void unknown_provider(struct ProbeEnv *env, const struct AttachSpec *spec)
{
	NameList names = {0};
	for (u32 i = 0; i < nproviders; i++)
		vec_push(&names, providers[i].name);
	const char *name = spec->parts[0];
	diag_error(env->diags, spec->span, "Invalid probe type: %s", name);
	if (spec->nparts == 1)
		tracepoint_hint(env, name);
	char *low = arena_strdup(env->arena, name);
	for (char *c = low; *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? *c + 32 : *c;
	const char *near = nearest_name(low, names.p, names.n);
	if (near)
		diag_hint(env->diags, "did you mean '%s'?", near);
	else
		diag_hint(env->diags, "one of begin, end, tracepoint, rawtracepoint, kprobe, fentry, uprobe, usdt, profile, interval, software, ...");
	vec_deinit(&names);
}

// Which providers a pattern in the provider's place stands for: what bpftrace lists for it. Return probes and timers are left out.
bool provider_is_listed(const struct Provider *p, bool user)
{
	switch (p->kind) {
	case PK_KPROBE: case PK_TRACEPOINT: case PK_SOFTWARE: case PK_HARDWARE: case PK_FENTRY: case PK_ITER: case PK_RAWTP:
		return !user;
	case PK_UPROBE: case PK_USDT:
		return user;
	default:
		return false;
	}
}

static void expand_by(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out)
{
	env->provider = p;
	p->expand(env, p, spec, out);
}

static void expand_one(struct ProbeEnv *env, const struct AttachSpec *spec, struct PointList *out)
{
	if (!spec->nparts || !spec->parts[0][0]) // a trailing comma
		return;
	if (!is_wild(spec->parts[0])) {
		const struct Provider *p = provider_find(spec->parts[0]);
		if (p)
			expand_by(env, p, spec, out);
		else
			unknown_provider(env, spec);
		return;
	}
	size_t before = out->v.n;
	bool lenient = env->lenient;
	env->lenient = true; // a provider that the rest does not fit is passed over
	bool user = env->pid || (spec->nparts >= 2 && strchr(spec->parts[1], '/'));
	for (u32 i = 0; i < nproviders; i++)
		if (provider_is_listed(&providers[i], user) && glob_match(spec->parts[0], providers[i].name))
			expand_by(env, &providers[i], spec, out);
	env->lenient = lenient;
	if (out->v.n == before)
		probe_missing(env, spec, "nothing matches '%s'", spec->text);
}

static void no_points(struct ProbeEnv *env, struct Span at, const char *why)
{
	diag_error(env->diags, at, "Probe has no valid attach points. If this is expected, set the 'missing_probes' config variable to 'warn'.");
	if (why)
		diag_hint(env->diags, "%s", why);
}

// A pattern that matches nothing is an error when the probe has no other point: tools list the names that a function has in one kernel or other.
static void judge_unmatched(struct ProbeEnv *env, bool others)
{
	for (size_t i = 0; i < env->unmatched.n; i++) {
		const struct Unmatched *m = &env->unmatched.p[i];
		if (others)
			diag_warn(env->diags, m->span, "%s; skipped", m->why);
		else
			no_points(env, m->span, m->why);
	}
	env->unmatched.n = 0;
}

// Does what the action uses follow from the kind of probe alone?
static bool known_without_point(const struct Provider *p, bool uses_types)
{
	switch (p->kind) {
	case PK_KPROBE: case PK_KRETPROBE:
		return true;
	case PK_UPROBE: case PK_URETPROBE: case PK_TRACEPOINT: case PK_RAWTP: case PK_FENTRY: case PK_FEXIT:
		return !uses_types; // the fields of `args` are the point's own
	default:
		return false;
	}
}

static enum CtxKind usual_ctx(enum ProbeKind k)
{
	return k == PK_TRACEPOINT ? CTX_TRACEPOINT : k == PK_RAWTP || k == PK_FENTRY || k == PK_FEXIT ? CTX_RAW : CTX_PT_REGS;
}

// None of a probe's points exist and missing_probes allows that: one that stands for them, so that the action is still looked at.
static void add_absent(struct ProbeEnv *env, const struct AttachSpec *spec, struct PointList *out)
{
	const struct Provider *p = spec && spec->nparts > 1 && !is_wild(spec->parts[0]) ? provider_find(spec->parts[0]) : NULL;
	if (!p || !known_without_point(p, env->want_args))
		return;
	struct Point *pt = point_new(env, p, usual_ctx(p->kind));
	pt->name = spec->text;
	pt->event = pt->func = spec->parts[spec->nparts - 1];
	pt->target = spec->nparts > 2 ? spec->parts[1] : NULL;
	pt->absent = true;
	vec_push(&out->v, pt);
}

// --probe-filter: the rest is not loaded.
static void filter_points(const regex_t *re, struct PointList *l)
{
	size_t w = 0;
	for (size_t i = 0; i < l->v.n; i++) {
		const struct Point *pt = l->v.p[i];
		if (pt->kind == PK_BEGIN || pt->kind == PK_END || !regexec(re, pt->name, 0, NULL, 0))
			l->v.p[w++] = l->v.p[i];
	}
	l->v.n = w;
}

// A pattern for files finds one file by several names: links, hard or symbolic.
static bool several_targets(const struct PointList *l)
{
	for (size_t i = 1; i < l->v.n; i++) {
		const char *a = l->v.p[i - 1]->target, *b = l->v.p[i]->target;
		if ((point_is_user(l->v.p[i]) || l->v.p[i]->kind == PK_USDT) && a && b && a != b && strcmp(a, b))
			return true;
	}
	return false;
}

void probes_expand(struct ProbeEnv *env, struct Script *s, struct PointList *lists)
{
	u32 i = 0;
	regex_t re;
	bool filter = env->filter && !regcomp(&re, env->filter, REG_EXTENDED | REG_NOSUB);
	for (struct ProbeAst *p = s->probes; p; p = p->next, i++) {
		int errors = env->diags->nerrors;
		bool iter = false;
		env->want_args = action_needs_types(p);
		env->expanding = true;
		for (struct AttachSpec *a = p->points; a; a = a->next)
			expand_one(env, a, &lists[i]);
		env->expanding = false;
		judge_unmatched(env, lists[i].v.n != 0);
		for (size_t k = 0; k < lists[i].v.n; k++)
			iter |= lists[i].v.p[k]->kind == PK_ITER;
		if (iter && lists[i].v.n > 1)
			diag_error(env->diags, p->span, "an iter probe stands alone: it takes no other attach point beside it");
		if ((p->points && p->points->next) || several_targets(&lists[i])) // other points of one are different
			places_unify(&lists[i]);
		bool found = lists[i].v.n;
		if (filter)
			filter_points(&re, &lists[i]);
		if (found || env->diags->nerrors != errors || points_too_many(env))
			continue;
		if (!env->config || env->config->missing_probes == MISSING_ERROR)
			no_points(env, p->span, NULL);
		else
			add_absent(env, p->points, &lists[i]);
	}
	env->want_args = false;
	if (filter)
		regfree(&re);
	if (!points_too_many(env))
		return;
	u32 max = env->config->max_probes;
	const char *more = env->diags->plain ? "\nYou can increase the limit through the BPFTRACE_MAX_PROBES environment variable, but BE "
					       "CAREFUL since a high number of probes "
					       "attached can cause your system to crash."
					     : "";
	diag_error_plain(env->diags, "Can't attach to %u probes because it exceeds the current limit of %u probes.%s", env->ncounted, max,
			 more);
	diag_hint(env->diags, "raise the limit with config = { max_probes = %u } or BPFTRACE_MAX_PROBES=%u, or narrow the pattern", env->ncounted, env->ncounted);
}
