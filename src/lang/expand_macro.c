// The macros of a script. In: its definitions, with those of its imports. Out: the one that a call means. Invariant: no definition is hidden by another:
// of two that would take the same calls the second is an error.
#include "lang/internal.h"

static bool same_param(const struct MacroParam *have, const struct MacroParam *want)
{
	return have->kind == MP_EXPR || have->kind == want->kind;
}

// Would every call of `b` be taken by `a`?
static bool shadows(const struct Macro *a, const struct Macro *b)
{
	if (a->nparams != b->nparams)
		return false;
	for (u32 i = 0; i < a->nparams; i++)
		if (!same_param(&a->params[i], &b->params[i]))
			return false;
	return true;
}

static bool params_unique(struct Expander *x, const struct Macro *m)
{
	static const char *const what[] = {[MP_VAR] = "Variable", [MP_MAP] = "Map", [MP_EXPR] = "Identifier"};
	for (u32 i = 0; i < m->nparams; i++)
		for (u32 j = 0; j < i; j++)
			if (m->params[i].kind == m->params[j].kind && !strcmp(m->params[i].name, m->params[j].name)) {
				diag_error(x->d, m->params[i].span, "%s for macro argument has already been used: %s%s", what[m->params[i].kind],
					   m->params[i].kind == MP_VAR ? "$" : "", m->params[i].name);
				return false;
			}
	return true;
}

// From the word macro to the name.
static struct Span head_of(const struct Expander *x, const struct Macro *m)
{
	const char *text = x->d->sources.p[m->span.file].text;
	struct Span at = m->span;
	while (at.off > 0 && strncmp(text + at.off, "macro", 5)) {
		at.off--;
		at.len++;
	}
	return at;
}

static void redefined(struct Expander *x, const struct Overloads *o, const struct Macro *m)
{
	diag_error(x->d, x->d->plain ? head_of(x, m) : m->span, "Redefinition of macro: %s", m->name);
	for (size_t i = 0; x->d->plain && i < o->v.n; i++)
		if (shadows(o->v.p[i], m))
			diag_error(x->d, head_of(x, o->v.p[i]), "This is the original definition.");
}

static void add_macro(struct Expander *x, const struct Macro *m)
{
	struct Overloads *o = map_get(&x->macros, m->name);
	bool taken = false;
	for (size_t i = 0; o && i < o->v.n; i++)
		taken |= shadows(o->v.p[i], m);
	if (taken)
		redefined(x, o, m);
	if (taken || !params_unique(x, m))
		return;
	if (!o) {
		o = xcalloc(1, sizeof(*o));
		map_put(&x->macros, m->name, o);
	}
	vec_push(&o->v, m);
}

void collect_macros(struct Expander *x)
{
	for (const struct Macro *m = x->s->macros; m; m = m->next)
		add_macro(x, m);
}

// Functions of the standard library that are macros, read when they are first called.
static const struct {
	const char *name, *text;
} library[] = {
	{"is_err", "macro is_err(ptr) { (uint64)(ptr) > 0xfffffffffffff000 }"}, // include/linux/err.h: the last 4095 addresses
	{"container_of", "macro container_of(ptr, type, member) { (type *)((void *)(ptr) - offsetof(type, member)) }"},
};

static void read_library(struct Expander *x, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(library); i++) {
		if (strcmp(library[i].name, name))
			continue;
		u32 source = diags_add_source(x->d, "stdlib", library[i].text, strlen(library[i].text));
		add_macro(x, parse_script(x->a, x->d, source)->macros);
	}
}

static bool fits(const struct MacroParam *param, const struct Expr *arg)
{
	if (param->kind == MP_VAR)
		return arg->kind == E_VAR;
	if (param->kind == MP_MAP)
		return arg->kind == E_MAP;
	return true;
}

// How far a call is from a definition: a missing argument counts more than any number of wrong ones.
static u64 distance(const struct Macro *m, struct Expr *const *args, u32 nargs)
{
	u64 d = m->nparams > nargs ? m->nparams - nargs : nargs - m->nparams;
	d <<= 32;
	for (u32 i = 0; i < m->nparams && i < nargs; i++)
		d += !fits(&m->params[i], args[i]);
	return d;
}

static void mismatch(struct Expander *x, const struct Expr *call, const struct Macro *near)
{
	diag_error(x->d, call->span, "Call to %s() has arguments that do not match any definition.", call->str);
	if (near->nparams != call->nargs && x->d->plain) {
		diag_error(x->d, head_of(x, near), "The closest definition of %s() has a different number of arguments. Expected: %u but got %u", near->name,
			   near->nparams, call->nargs);
		return;
	}
	if (near->nparams != call->nargs) {
		diag_hint(x->d, "The closest definition of %s() takes %u argument%s, not %u.", near->name, near->nparams, near->nparams == 1 ? "" : "s",
			  call->nargs);
		return;
	}
	for (u32 i = 0; i < near->nparams; i++) {
		const struct Expr *arg = call->args[i];
		if (fits(&near->params[i], arg))
			continue;
		bool var = near->params[i].kind == MP_VAR;
		diag_error(x->d, arg->span, "Mismatched arg. %s() expects a %s for arg %s%s but got %s.", near->name, var ? "variable" : "map",
			   var ? "$" : "", near->params[i].name,
			   arg->kind == E_VAR ? "a variable" : arg->kind == E_MAP ? "a map" : "an expression");
		if (x->d->plain)
			diag_error(x->d, near->params[i].span, "This is the argument in the closest definition.");
	}
}

const struct Macro *find_macro(struct Expander *x, const struct Expr *call, bool *told)
{
	if (!map_has(&x->macros, call->str))
		read_library(x, call->str);
	const struct Overloads *o = map_get(&x->macros, call->str);
	const struct Macro *near = NULL;
	u64 best = UINT64_MAX;
	for (size_t i = 0; o && i < o->v.n; i++) {
		u64 d = distance(o->v.p[i], call->args, call->nargs);
		if (d < best) {
			best = d;
			near = o->v.p[i];
		}
	}
	if (!near || !best)
		return near;
	if (best >> 32 && builtin_find(call->str)) // a macro of another number of parameters leaves the builtin there
		return NULL;
	*told = true;
	mismatch(x, call, near);
	return NULL;
}

void forget_macros(struct Expander *x)
{
	for (u32 i = 0; i < x->macros.n; i++) {
		struct Overloads *o = x->macros.slots[i].val;
		vec_deinit(&o->v);
		free(o);
	}
	map_deinit(&x->macros);
}
