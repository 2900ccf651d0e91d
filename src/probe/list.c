// -l: what there is to attach to. In: patterns as written. Out: names sorted, one a line; with -v their arguments as C declarations, four
// spaces in; "struct x", "union x", "enum x": types. Formats as bpftrace prints them.
#include "probe/internal.h"

struct Lister {
	struct ProbeEnv *env;
	VEC(struct Point *) found;
};

static void take(void *arg, struct Point *pt)
{
	struct Lister *l = arg;
	vec_push(&l->found, pt);
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct Point *const *)a)->name, (*(struct Point *const *)b)->name);
}

// ---- arguments
static void print_args(struct ProbeEnv *env, const struct Point *pt, FILE *out)
{
	struct Str s = {0};
	bool only_ret = pt->kind == PK_KRETPROBE;
	if (pt->args && !only_ret)
		ctype_fields_text(env->ctypes, pt->args, &s);
	if (pt->args && pt->ret && (only_ret || pt->kind == PK_FEXIT))
		ctype_ret_text(env->ctypes, pt->args, pt->ret, &s);
	fputs(str_text(&s), out);
	str_deinit(&s);
}

// Listing a C++ probe gives back what can be pasted as an attach point: the demangled name in quotes.
static const char *shown_name(struct ProbeEnv *env, const struct Point *pt, const struct AttachSpec *spec)
{
	bool cpp = (pt->kind == PK_UPROBE || pt->kind == PK_URETPROBE) && spec->nparts >= 3 && !strcmp(spec->parts[spec->nparts - 2], "cpp");
	if (!cpp || !pt->event)
		return pt->name;
	return arena_printf(env->arena, "%s:%s:cpp:\"%s\"", probe_kind_name(pt->kind), pt->target, sym_demangle(env->syms, pt->event));
}

static u32 print_found(struct Lister *l, const struct AttachSpec *spec, bool verbose, FILE *out)
{
	u32 n = 0;
	for (size_t i = 0; i < l->found.n; i++)
		l->found.p[i]->name = shown_name(l->env, l->found.p[i], spec);
	if (l->found.n)
		qsort(l->found.p, l->found.n, sizeof(l->found.p[0]), by_name);
	for (size_t i = 0; i < l->found.n; i++) {
		if (i && !by_name(&l->found.p[i], &l->found.p[i - 1]))
			continue;
		fprintf(out, "%s\n", l->found.p[i]->name);
		if (verbose)
			print_args(l->env, l->found.p[i], out);
		n++;
	}
	l->found.n = 0;
	return n;
}

// ---- types
struct TypePattern {
	struct ProbeEnv *env;
	NameList names;
};

static bool take_type(void *arg, const char *spelling)
{
	struct TypePattern *t = arg;
	vec_push(&t->names, arena_strdup(t->env->arena, spelling));
	return true;
}

static u32 list_types(struct ProbeEnv *env, const struct AttachSpec *spec, bool verbose, FILE *out)
{
	struct TypePattern t = {env, {0}};
	struct Str s = {0};
	if (is_wild(spec->text))
		ctype_each_type(env->ctypes, spec->text, take_type, &t);
	else if (ctype_lookup(env->ctypes, spec->text))
		vec_push(&t.names, spec->text);
	names_sort(&t.names);
	u32 n = (u32)t.names.n;
	for (u32 i = 0; i < n; i++) {
		str_reset(&s);
		if (verbose && ctype_struct_text(env->ctypes, t.names.p[i], &s))
			fprintf(out, "vmlinux: %s\n", str_text(&s));
		else
			fprintf(out, "%s\n", t.names.p[i]);
	}
	if (!n) {
		diag_error(env->diags, spec->span, "no type '%s'", spec->text);
		const char *near = ctype_nearest(env->ctypes, spec->text);
		if (near)
			diag_hint(env->diags, "did you mean '%s'?", near);
	}
	str_deinit(&s);
	vec_deinit(&t.names);
	return n;
}

static bool is_type_pattern(const char *text)
{
	return !strncmp(text, "struct ", 7) || !strncmp(text, "union ", 6) || !strncmp(text, "enum ", 5);
}

// ---- probes
static void list_provider(struct Lister *l, const struct Provider *p, const struct AttachSpec *spec, u32 skip)
{
	// The provider's own name in front, then what was asked for.
	struct AttachSpec s = *spec;
	s.nparts = spec->nparts - skip + 1;
	s.parts = arena_new_n(l->env->arena, const char *, s.nparts + 2);
	s.parts[0] = p->name;
	for (u32 i = skip; i < spec->nparts; i++)
		s.parts[i - skip + 1] = spec->parts[i];
	if (s.nparts == 1 && p->kind > PK_BENCH) // a provider alone: all of it
		s.parts[s.nparts++] = "*";
	bool user = p->kind == PK_UPROBE || p->kind == PK_URETPROBE || p->kind == PK_USDT;
	if (s.nparts == 2 && user && (strchr(s.parts[1], '/') || !strcmp(s.parts[1], "*"))) // a file alone
		s.parts[s.nparts++] = "*";
	if (s.nparts == 2 && !*s.parts[1]) // "software:"
		s.parts[1] = "*";
	s.next = NULL;
	l->env->provider = p;
	p->list(l->env, p, &s, take, l);
}

// A pattern for the provider, or no provider at all ("*sleep*"): every provider of the kernel; of user programs with -p or when a path is given.
static void list_all(struct Lister *l, const struct AttachSpec *spec)
{
	bool alone = spec->nparts == 1, user = l->env->pid || (!alone && strchr(spec->parts[1], '/'));
	for (u32 i = 0; i < nproviders; i++)
		if (provider_is_listed(&providers[i], user) && (alone || glob_match(spec->parts[0], providers[i].name)))
			list_provider(l, &providers[i], spec, alone ? 0 : 1);
}

static u32 list_one(struct Lister *l, const struct AttachSpec *spec, bool verbose, FILE *out)
{
	struct ProbeEnv *env = l->env;
	if (is_type_pattern(spec->text))
		return list_types(env, spec, verbose, out);
	const struct Provider *p = is_wild(spec->parts[0]) ? NULL : provider_find(spec->parts[0]);
	bool word = !p && spec->nparts == 1; // the name of an event, or a pattern for it
	size_t said = env->diags->items.n;
	env->lenient = p == NULL;
	env->want_args = verbose;
	env->listing = true;
	if (p)
		list_provider(l, p, spec, 1);
	else if (word || is_wild(spec->parts[0]))
		list_all(l, spec);
	else
		diag_error(env->diags, spec->span, "Invalid probe type: %s", spec->parts[0]);
	env->listing = env->want_args = env->lenient = false;
	if (!l->found.n && env->diags->items.n == said)
		diag_warn(env->diags, spec->span, "nothing matches '%s'%s%s%s", spec->text, word && !is_wild(spec->text) ? "; to search write '*" : "",
			  word && !is_wild(spec->text) ? spec->text : "", word && !is_wild(spec->text) ? "*'" : "");
	return print_found(l, spec, verbose, out);
}

u32 probes_list(struct ProbeEnv *env, const struct AttachSpec *patterns, bool verbose, FILE *out)
{
	struct Lister l = {.env = env};
	u32 n = 0;
	for (const struct AttachSpec *s = patterns; s; s = s->next)
		if (s->nparts && s->parts[0][0])
			n += list_one(&l, s, verbose, out);
	vec_deinit(&l.found);
	return n;
}
