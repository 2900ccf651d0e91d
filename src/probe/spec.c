// What the providers share when they make points of attach points: their parts, the points, what does not exist. env->provider is the one at work.
#include "probe/internal.h"

struct ProbeCache *probe_cache(struct ProbeEnv *env)
{
	if (!env->cache)
		env->cache = arena_new(env->arena, struct ProbeCache);
	return env->cache;
}

struct Point *point_new(struct ProbeEnv *env, const struct Provider *p, enum CtxKind ctx)
{
	struct Point *pt = arena_new(env->arena, struct Point);
	pt->kind = p->kind;
	pt->ctx = ctx;
	pt->wp_arg = -1;
	return pt;
}

bool points_too_many(const struct ProbeEnv *env)
{
	return env->config && env->ncounted > env->config->max_probes;
}

// What one link of the kernel takes (uprobe_multi) counts once.
void point_add(struct ProbeEnv *env, const struct AttachSpec *spec, struct PointList *out, struct Point *pt)
{
	pt->id = env->npoints++;
	bool same_link = spec == env->linked && (point_is_user(pt) && pt->from_pattern && !env->no_uprobe_multi && feature_has(FEAT_UPROBE_MULTI));
	env->linked = spec;
	env->ncounted += !same_link;
	if (!env->listing && points_too_many(env)) // counted on: the error tells how many there are
		return;
	vec_push(&out->v, pt);
}

static bool spec_is_wild(const struct AttachSpec *spec)
{
	for (u32 i = 0; i < spec->nparts; i++)
		if (is_wild(spec->parts[i]))
			return true;
	return false;
}

// "No matches for tracepoint sched:nosuch."
static void say_no_match(struct ProbeEnv *env, const struct AttachSpec *spec, bool error)
{
	const struct Provider *p = env->provider;
	const char *rest = strchr(spec->text, ':');
	const char *text = arena_printf(env->arena, "%s %s", p && !is_wild(spec->parts[0]) ? p->name : spec->parts[0], rest ? rest + 1 : "");
	if (error)
		diag_error(env->diags, spec->span, "No matches for %s.", text);
	else {
		env->left_out++;
		diag_warn(env->diags, spec->span, "No matches for %s. Skipping.", text);
	}
}

bool probe_missing(struct ProbeEnv *env, const struct AttachSpec *spec, const char *fmt, ...)
{
	int mode = env->config ? (int)env->config->missing_probes : MISSING_ERROR;
	if (env->lenient || mode == MISSING_IGNORE)
		return false;
	struct Str s = {0};
	va_list ap;
	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	if (env->expanding && mode == MISSING_ERROR && spec_is_wild(spec)) { // the provider's pattern alone is no reason
		struct Unmatched m = {spec->span, arena_strdup(env->arena, s.p)};
		vec_push(&env->unmatched, m);
		str_deinit(&s);
		return false;
	}
	if (env->listing) // nothing to attach: no harm
		diag_warn(env->diags, spec->span, "%s", s.p);
	else {
		say_no_match(env, spec, mode == MISSING_ERROR);
		diag_hint(env->diags, "%s", s.p);
	}
	str_deinit(&s);
	return true;
}

void hint_nearest(struct ProbeEnv *env, const char *want, const NameList *names, const char *prefix)
{
	const char *n = nearest_name(want, names->p, names->n);
	if (n)
		diag_hint(env->diags, "did you mean '%s%s'?", prefix, n);
}

bool spec_parts(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, u32 min, u32 max)
{
	u32 n = spec->nparts - 1;
	if (n >= min && n <= max)
		return true;
	if (env->lenient)
		return false;
	if (min == max)
		diag_error(env->diags, spec->span, "%s probe type requires %u arguments, found %u", p->name, min, n);
	else
		diag_error(env->diags, spec->span, "%s probe type requires %u or %u arguments, found %u", p->name, min, max, n);
	diag_hint(env->diags, "the form is %s", p->synopsis);
	return false;
}

bool spec_offset(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *text, bool allow,
		 const char **name, u64 *off)
{
	// A C++ name may hold a plus ("operator+(int)"): an offset is a plus with a number to the end.
	const char *plus = strrchr(text, '+');
	*off = 0;
	*name = text;
	if (!plus || strchr(plus, ')') || (plus - text >= 8 && !strncmp(plus - 8, "operator", 8)))
		return true;
	if (plus == text || !parse_u64(plus + 1, off)) {
		diag_error(env->diags, spec->span, "Invalid offset: invalid integer: %s", plus + 1);
		diag_hint(env->diags, "a number follows the +, e.g. %.*s+0x10", (int)(plus - text), text);
		return false;
	}
	if (memchr(text, '+', (size_t)(plus - text))) {
		diag_error(env->diags, spec->span, "more than one offset in '%s'", text);
		return false;
	}
	if (!allow) {
		diag_error(env->diags, spec->span, "Offset not allowed");
		diag_hint(env->diags, "%s: a function returns as a whole", p->name);
		return false;
	}
	*name = arena_strndup(env->arena, text, (size_t)(plus - text));
	return true;
}

int cmp_str(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void names_sort(NameList *l)
{
	if (!l->n)
		return;
	qsort(l->p, l->n, sizeof(*l->p), cmp_str);
	size_t w = 1;
	for (size_t i = 1; i < l->n; i++)
		if (strcmp(l->p[i], l->p[w - 1]))
			l->p[w++] = l->p[i];
	l->n = w;
}

void list_by_expand(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, void (*fn)(void *, struct Point *), void *arg)
{
	struct PointList l = {0};
	p->expand(env, p, spec, &l);
	for (size_t i = 0; i < l.v.n; i++)
		fn(arg, l.v.p[i]);
	vec_deinit(&l.v);
}
