// Builtins known when the script is compiled: parameters, questions about types and the kernel. Each turns its node into a literal.
#include "lang/check_call.h"

// Options the script asks for, once each, with what it says of them.
static void note_option(struct Unit *u, const char *name, const char *help)
{
	for (size_t i = 0; i < u->opts.n; i++)
		if (!strcmp(u->opts.p[i].name, name))
			return;
	vec_push(&u->opts, ((struct OptSym){name, help}));
}

// Options given that the script never asks for, and --help.
void check_options(struct Unit *u)
{
	bool bad = false, help = false;
	for (size_t i = 0; i < u->script->nparams; i++) {
		const char *name = u->script->params[i].name;
		bool known = !name;
		for (size_t o = 0; o < u->opts.n && !known; o++)
			known = !strcmp(u->opts.p[o].name, name);
		if (known)
			continue;
		if (!strcmp(name, "help"))
			help = true;
		else
			diag_error_plain(u->diags, "the script has no option --%s", name);
		bad = true;
	}
	if (!bad)
		return;
	if (help)
		diag_error_plain(u->diags, "not run: --help shows the options of the script");
	if (!u->opts.n)
		diag_hint(u->diags, "it has none");
	for (size_t o = 0; o < u->opts.n; o++)
		diag_hint(u->diags, "--%s%s%s", u->opts.p[o].name, u->opts.p[o].help ? ": " : "", u->opts.p[o].help ? u->opts.p[o].help : "");
}

// The node becomes a literal at its first visit: errors of the value cannot wait for the last round.
const struct Type *c_getopt(struct Unit *u, struct Expr *e)
{
	const char *name = lit_str_arg(u, e, 0);
	if (!name)
		return ty_none(u);
	note_option(u, name, e->nargs > 2 ? lit_str_arg(u, e, 2) : NULL);
	for (u32 i = 1; i < e->nargs; i++) {
		check_expr(u, e->args[i]);
		if (!e->args[i]->is_lit)
			ERR(u, e->args[i]->span, "getopt() takes literals only");
	}
	const struct Param *p = NULL;
	for (size_t i = 0; i < u->script->nparams; i++)
		if (u->script->params[i].name && !strcmp(u->script->params[i].name, name))
			p = &u->script->params[i];
	struct Expr *def = e->nargs > 1 ? e->args[1] : NULL;
	const char *v = p ? p->val : NULL;
	u64 n = 0;
	if (!def || def->kind == E_BOOL) {
		bool on = p ? !v || !strcmp(v, "true") || !strcmp(v, "1") : def && def->ival;
		if (p && v && !on && strcmp(v, "false") && strcmp(v, "0"))
			diag_error_plain(u->diags, "option --%s of the script is true, false, 1 or 0, not '%s'", name, v);
		e->kind = E_BOOL;
		e->ival = on;
		e->is_lit = true;
		return ty_bool(u->types);
	}
	if (def->kind == E_STR) {
		const char *s = v ? v : def->str;
		if (p && !v)
			diag_error_plain(u->diags, "option --%s of the script takes text: --%s=TEXT", name, name);
		make_str(u, e, s, (u32)strlen(s));
		return e->type;
	}
	bool neg = def->is_neg;
	n = def->ival;
	if (p) {
		neg = v && *v == '-';
		if (!v || !parse_u64(v + neg, &n)) {
			diag_error_plain(u->diags, "option --%s of the script is a number of 64 bits, not '%s'", name, v ? v : "");
			n = 0;
		}
		if (neg)
			n = -n;
	}
	make_int(u, e, n, neg && n);
	return e->type;
}

const struct Type *c_is(struct Unit *u, struct Expr *e)
{
	const struct Type *t = check_expr(u, e->args[0]);
	if (t->kind == TY_NONE && !u->final)
		return ty_bool(u->types);
	bool v = false;
	switch (e->builtin->id) {
	case BI_is_array: v = t->kind == TY_ARRAY; break;
	case BI_is_integer: v = t->kind == TY_INT; break;
	case BI_is_literal: v = e->args[0]->is_lit; break;
	case BI_is_ptr: v = t->kind == TY_PTR; break;
	case BI_is_str: v = t->kind == TY_STR; break;
	case BI_is_unsigned_integer: v = t->kind == TY_INT && !t->sgn; break;
	default: UNREACHABLE();
	}
	e->kind = E_BOOL;
	e->ival = v;
	e->is_lit = true;
	return ty_bool(u->types);
}

const struct Type *c_config(struct Unit *u, struct Expr *e)
{
	struct Expr *rec = config_record(u, e->span);
	*e = *rec;
	return check_expr(u, e);
}

const struct Type *c_default_str_length(struct Unit *u, struct Expr *e)
{
	make_int(u, e, unit_max_strlen(u), false);
	return e->type = t_int(u, 8, false);
}

const struct Type *c_kfunc(struct Unit *u, struct Expr *e)
{
	const char *s = lit_str_arg(u, e, 0);
	e->kind = E_BOOL;
	e->ival = s && u->hooks->kfunc && u->hooks->kfunc(u->hooks->arg, s);
	e->is_lit = true;
	return ty_bool(u->types);
}
