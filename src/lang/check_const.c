// Builtins known when the script is compiled: parameters, questions about types and the kernel. Each turns its node into a literal.
#include "lang/check_call.h"

// Options the script asks for, once each, with what it says of them.
static void note_option(struct Unit *u, struct Expr *e, const char *name, const char *help, const char *def)
{
	for (size_t i = 0; i < u->opts.n; i++) {
		if (strcmp(u->opts.p[i].name, name))
			continue;
		if (strcmp(u->opts.p[i].def, def))
			diag_error(u->diags, e->span, "Command line option '%s' needs to have the same default value in all places it is used. Previous "
						      "default value: %s", name, u->opts.p[i].def);
		return;
	}
	vec_push(&u->opts, ((struct OptSym){name, help, def}));
}

static const char *default_text(struct Unit *u, const struct Expr *def)
{
	if (!def)
		return "false";
	if (def->kind == E_BOOL)
		return def->ival ? "true" : "false";
	if (def->kind == E_STR)
		return def->str;
	return arena_printf(u->arena, def->is_neg ? "%lld" : "%llu", (unsigned long long)def->ival);
}

// Options given that the script never asks for, and --help.
void check_options(struct Unit *u)
{
	bool bad = false, help = false;
	struct Str unknown = {0};
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
			str_addf(&unknown, "%s--%s", unknown.n ? ", " : "", name);
		bad = true;
	}
	if (unknown.n)
		diag_error_plain(u->diags, "unexpected program command line options: %s", str_text(&unknown));
	str_deinit(&unknown);
	if (!bad)
		return;
	if (help)
		diag_error_plain(u->diags, "not run: --help shows the options of the script");
	if (!u->opts.n)
		diag_hint(u->diags, "it has none");
	for (size_t o = 0; o < u->opts.n; o++)
		diag_hint(u->diags, "--%s%s%s", u->opts.p[o].name, u->opts.p[o].help ? ": " : "", u->opts.p[o].help ? u->opts.p[o].help : "");
}

static bool is_word(const char *s, const char *const *words)
{
	while (*words && strcasecmp(s, *words))
		words++;
	return *words;
}

// The node becomes a literal at its first visit: errors of the value cannot wait for the last round.
const struct Type *c_getopt(struct Unit *u, struct Expr *e)
{
	static const char *const yes[] = {"true", "1", "yes", "on", NULL}, *const no[] = {"false", "0", "no", "off", NULL};
	const char *name = lit_str_arg(u, e, 0);
	if (!name)
		return ty_none(u);
	struct Expr *def = e->nargs > 1 ? e->args[1] : NULL;
	if (def)
		check_expr(u, def);
	if (def && !lit_num(def) && def->kind != E_STR) {
		ERR(u, def->span, "Second argument to 'getopt' must be a string literal, integer literal, or a boolean literal.");
		return ty_none(u);
	}
	note_option(u, e, name, e->nargs > 2 ? lit_str_arg(u, e, 2) : NULL, default_text(u, def));
	const struct Param *p = NULL;
	for (size_t i = 0; i < u->script->nparams; i++)
		if (u->script->params[i].name && !strcmp(u->script->params[i].name, name))
			p = &u->script->params[i];
	const char *v = p ? p->val : NULL;
	u64 n = 0;
	if (!def || def->kind == E_BOOL) {
		bool on = p ? !v || is_word(v, yes) : def && def->ival;
		if (p && v && !on && !is_word(v, no))
			diag_error_plain(u->diags, "program command line option --%s expects a boolean (e.g. 'true') (value: %s)", name, v);
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
		if (!v || !param_number(v, &n, &neg)) {
			diag_error_plain(u->diags, "option --%s of the script is a number of 64 bits, not '%s'", name, v ? v : "");
			n = 0;
		}
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
