// rawtracepoint[:module]:event. In: tracefs' list of events, or BTF (which knows the bare tracepoints too). Out: points with the kernel's
// event name; the program gets the tracepoint's own arguments. Programs on system call tracepoints exist only as `tracepoint`.
#include <errno.h>
#include "probe/internal.h"

struct RawMatch {
	struct ProbeEnv *env;
	const char *module, *event; // patterns
	KFuncList *found;
};
#define TRACEITER "__traceiter_" // one such function per tracepoint, kernel commit d25e37d89dd2 (5.10)

static bool take_iter(void *arg, const char *module, const char *name)
{
	struct RawMatch *m = arg;
	if (strncmp(name, TRACEITER, sizeof(TRACEITER) - 1))
		return true;
	name += sizeof(TRACEITER) - 1;
	if (!module)
		module = "vmlinux";
	if (glob_match(m->module, module) && glob_match(m->event, name)) {
		struct KFunc f = {arena_strdup(m->env->arena, name), arena_strdup(m->env->arena, module), 0};
		vec_push(m->found, f);
	}
	return true;
}

static int by_name(const void *a, const void *b)
{
	const struct KFunc *x = a, *y = b;
	int c = strcmp(x->module, y->module);
	return c ? c : strcmp(x->name, y->name);
}

static bool event_listed(struct ProbeEnv *env, const char *event)
{
	const struct ProbeCache *c = tracepoint_events(env);
	for (size_t i = 0; i < c->tps.n; i++)
		if (!strcmp(c->tps.p[i].event, event) && strcmp(c->tps.p[i].category, "syscalls"))
			return true;
	return false;
}

static bool any_module_loaded(void)
{
	struct Str s = {0};
	err_free(read_file("/proc/modules", &s, 1 << 20));
	bool any = s.n > 0;
	str_deinit(&s);
	return any;
}

static struct Point *make(struct ProbeEnv *env, const struct Provider *p, const char *module, const char *event)
{
	struct Point *pt = point_new(env, p, CTX_RAW);
	pt->target = module;
	pt->event = event;
	pt->name = arena_printf(env->arena, "rawtracepoint:%s:%s", module, event);
	return pt;
}

static void type_of_event(struct ProbeEnv *env, struct Point *pt, struct Record *args, u32 id)
{
	const char *owner = ctype_args_module(args);
	pt->args = args;
	pt->btf_id = id;
	if (owner && strcmp(owner, "vmlinux"))
		pt->btf_obj_fd = MAX(module_btf_fd(env, owner), 0);
}

static void hint_event(struct ProbeEnv *env, const char *event)
{
	const struct ProbeCache *c = tracepoint_events(env);
	NameList names = {0};
	if (!strncmp(event, "sys_enter_", 10) || !strncmp(event, "sys_exit_", 9)) {
		diag_hint(env->diags, "system calls have no raw tracepoint of their own: use tracepoint:syscalls:%s", event);
		return;
	}
	for (size_t i = 0; i < c->tps.n; i++)
		if (strcmp(c->tps.p[i].category, "syscalls"))
			vec_push(&names, c->tps.p[i].event);
	hint_nearest(env, event, &names, "rawtracepoint:");
	vec_deinit(&names);
}

static void expand_exact(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *module, const char *event,
			 struct PointList *out)
{
	struct Record *args = NULL;
	u32 id;
	struct err *e = NULL;
	const char *owner = module;
	bool listed = event_listed(env, event);
	if (env->want_args || !listed || (!module && any_module_loaded())) {
		e = ctype_rawtp(env->ctypes, event, &args, &id);
		if (!e)
			owner = ctype_args_module(args);
	}
	if (!listed && e) {
		if (probe_missing(env, spec, "no raw tracepoint '%s' in this kernel", event))
			hint_event(env, event);
		goto out;
	}
	if (!owner)
		owner = "vmlinux";
	if (module && strcmp(module, owner)) {
		if (probe_missing(env, spec, "raw tracepoint '%s' is not in module %s", event, module))
			diag_hint(env->diags, "did you mean 'rawtracepoint:%s:%s'?", owner, event);
		goto out;
	}
	if (env->want_args && e) {
		if (!env->lenient)
			diag_error(env->diags, spec->span, "%s", err_text(e));
		goto out;
	}
	struct Point *pt = make(env, p, owner, event);
	if (env->want_args)
		type_of_event(env, pt, args, id);
	point_add(env, spec, out, pt);
out:
	err_free(e);
}

static void expand_pattern(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *module, const char *event,
			   struct PointList *out)
{
	KFuncList found = {0};
	struct RawMatch m = {env, module, event, &found};
	bool btf = ctype_has_btf(env->ctypes);
	if (btf) {
		ctype_each_func(env->ctypes, take_iter, &m);
	} else {
		const struct ProbeCache *c = tracepoint_events(env);
		for (size_t i = 0; i < c->tps.n; i++)
			if (strcmp(c->tps.p[i].category, "syscalls"))
				take_iter(&m, NULL, arena_printf(env->arena, TRACEITER "%s", c->tps.p[i].event));
	}
	if (found.n)
		qsort(found.p, found.n, sizeof(found.p[0]), by_name);
	size_t before = out->v.n;
	for (size_t i = 0; i < found.n; i++) {
		if (i && !by_name(&found.p[i], &found.p[i - 1]))
			continue;
		struct Point *pt = make(env, p, found.p[i].module, found.p[i].name);
		struct Record *args = NULL;
		u32 id;
		if (btf) { // declared ones that BPF cannot reach have no type btf_trace_EVENT
			struct err *e = ctype_rawtp(env->ctypes, pt->event, &args, &id);
			err_free(e);
			if (e)
				continue;
		}
		if (btf && env->want_args)
			type_of_event(env, pt, args, id);
		pt->from_pattern = true;
		point_add(env, spec, out, pt);
	}
	if (out->v.n == before)
		probe_missing(env, spec, "no raw tracepoint matches '%s'", event);
	vec_deinit(&found);
}

void rawtp_expand(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out)
{
	if (!spec_parts(env, p, spec, 1, 2))
		return;
	const char *module = spec->nparts == 3 ? spec->parts[1] : NULL, *event = spec->parts[spec->nparts - 1];
	if (module && !strcmp(module, "*") && !is_wild(event))
		module = NULL;
	if (is_wild(event) || (module && is_wild(module)))
		expand_pattern(env, p, spec, module ? module : "*", event, out);
	else
		expand_exact(env, p, spec, module, event, out);
}

void rawtp_list(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, void (*fn)(void *, struct Point *), void *arg)
{
	list_by_expand(env, p, spec, fn, arg);
}

struct err *rawtp_attach(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at)
{
	return attach_each(env, pp, at, attach_raw);
}
