// usdt:binary:[provider:]name. In: .note.stapsdt notes of the files. Out: a point for each location; locations of one probe may keep their
// arguments in different places, so each carries its own.
#include "probe/internal.h"

#define USDT_MAX_ARGS 12 // as sys/sdt.h has STAP_PROBE1 to STAP_PROBE12

struct Finder {
	struct ProbeEnv *env;
	struct SymObject *obj;
};

static bool find_symbol(void *arg, const char *name, u64 *vaddr)
{
	struct Finder *f = arg;
	struct SymDef d;
	if (!sym_object_find(f->env->syms, f->obj, name, &d))
		return false;
	*vaddr = d.addr;
	return true;
}

static struct Point *make(struct ProbeEnv *env, const struct Provider *p, const char *path, struct SymObject *o, const struct UsdtNote *note, int pid)
{
	struct Point *pt = point_new(env, p, CTX_PT_REGS);
	struct Finder f = {env, o};
	struct UsdtSymbols syms = {find_symbol, &f, note->pc};
	struct UsdtArg args[USDT_MAX_ARGS];
	pt->target = path;
	pt->ns = arena_strdup(env->arena, note->provider);
	pt->event = arena_strdup(env->arena, note->name);
	pt->func = pt->event;
	pt->addr = note->pc_off;
	pt->sym_addr = note->pc;
	pt->ref_ctr = note->sem_off;
	pt->pid = pid;
	pt->name = arena_printf(env->arena, "usdt:%s:%s:%s", path, pt->ns, pt->event);
	if (!env->listing) {
		pt->nusdt_args = usdt_args_parse(note->args ? note->args : "", PT_HOST, &syms, args, USDT_MAX_ARGS, NULL);
		struct UsdtArg *copy = arena_new_n(env->arena, struct UsdtArg, MAX(pt->nusdt_args, 1));
		memcpy(copy, args, pt->nusdt_args * sizeof(*args));
		pt->usdt_args = copy;
	}
	return pt;
}

static bool note_matches(const struct UsdtNote *n, const char *ns, const char *name)
{
	return (!ns || glob_match(ns, n->provider)) && glob_match(name, n->name);
}

static void no_note(struct ProbeEnv *env, const struct AttachSpec *spec, const char *path, const struct UsdtNote *notes, u32 n, const char *ns,
		    const char *name)
{
	if (!n) {
		probe_missing(env, spec, "%s has no USDT probes", path);
		return;
	}
	if (!probe_missing(env, spec, "no USDT probe %s%s%s in %s", ns ? ns : "", ns ? ":" : "", name, path))
		return;
	NameList names = {0};
	for (u32 i = 0; i < n; i++)
		vec_push(&names, arena_printf(env->arena, "%s:%s", notes[i].provider, notes[i].name));
	const char *near = nearest_name(arena_printf(env->arena, "%s:%s", ns ? ns : notes[0].provider, name), names.p, names.n);
	if (near)
		diag_hint(env->diags, "did you mean 'usdt:%s:%s'?", path, near);
	else
		diag_hint(env->diags, "list them with -l 'usdt:%s:*'", path);
	vec_deinit(&names);
}

static void expand_object(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *path, bool many,
			  const char *ns, const char *name, int pid, struct PointList *out)
{
	bool lenient = env->lenient;
	env->lenient |= many;
	struct SymObject *o = target_object(env, spec, path);
	struct UsdtNote *notes = NULL;
	u32 n = 0;
	struct err *e = o ? sym_object_usdt(env->syms, o, &notes, &n) : NULL;
	size_t before = out->v.n;
	if (e)
		probe_missing(env, spec, "the USDT notes of %s cannot be read: %s", path, err_text(e));
	for (u32 i = 0; o && !e && i < n; i++)
		if (note_matches(&notes[i], ns, name))
			point_add(env, spec, out, make(env, p, path, o, &notes[i], pid));
	if (o && !e && out->v.n == before)
		no_note(env, spec, path, notes, n, ns, name);
	err_free(e);
	env->lenient = lenient;
}

void usdt_expand(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out)
{
	int pid = env->pid ? env->pid : env->child;
	bool own = env->pid && spec->nparts == 2; // usdt:name of the process
	if (!own && !spec_parts(env, p, spec, 2, 3))
		return;
	const char *target = own ? "*" : spec->parts[1], *name = spec->parts[spec->nparts - 1];
	const char *ns = spec->nparts == 4 && spec->parts[2][0] ? spec->parts[2] : NULL;
	if (!target[0]) {
		if (!env->pid) {
			diag_error(env->diags, spec->span, "usdt names no binary");
			diag_hint(env->diags, "the form is %s; '*' as the binary means every process", p->synopsis);
			return;
		}
		target = "*";
	}
	if (!name[0]) {
		diag_error(env->diags, spec->span, "usdt names no probe");
		diag_hint(env->diags, "the form is %s", p->synopsis);
		return;
	}
	NameList paths = {0};
	size_t before = out->v.n;
	if (!probe_targets(env, spec, target, env->pid, &paths))
		goto out;
	bool many = is_wild(target) || paths.n > 1;
	for (size_t i = 0; i < paths.n; i++)
		expand_object(env, p, spec, paths.p[i], many, ns, name, pid, out);
	if (many && out->v.n == before)
		probe_missing(env, spec, "no USDT probe '%s' in any of the %zu files of '%s'", name, paths.n, target);
out:
	vec_deinit(&paths);
}

void usdt_list(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, void (*fn)(void *, struct Point *), void *arg)
{
	list_by_expand(env, p, spec, fn, arg);
}

struct err *usdt_attach(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at)
{
	return uprobes_attach(env, pp, at);
}
