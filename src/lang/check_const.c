// Builtins known when the script is compiled: parameters, questions about types and the kernel. Each turns its node into a literal.
#include "lang/internal.h"

// As bpftrace has them: the last one that the script asks for first; with --help one a line, with its text.
static void plain_options(struct Unit *u, bool help)
{
	const struct ScriptOpts *opts = u->script->opts;
	struct Str s = {0};
	for (size_t i = opts->n; i--;) {
		const struct ScriptOpt *o = &opts->p[i];
		str_addf(&s, "%s--%s", help ? "\n" : i + 1 < opts->n ? ": " : " ", o->name);
		if (help && o->help)
			str_addf(&s, ": %s", o->help);
	}
	diag_hint(u->diags, opts->n ? "expected program options:%s" : "no custom program options defined.", str_text(&s));
	str_deinit(&s);
}

// Options given that the script never asks for, and --help.
void check_options(struct Unit *u)
{
	bool bad = false, help = false;
	struct Str unknown = {0};
	for (size_t i = 0; i < u->script->nparams; i++) {
		const char *name = u->script->params[i].name;
		if (!name || option_find(u->script, name))
			continue;
		if (!strcmp(name, "help"))
			help = true;
		else
			str_addf(&unknown, "%s--%s", unknown.n ? ", " : "", name);
		bad = true;
	}
	if (unknown.n)
		diag_error_plain(u->diags, "unexpected program command line options: %s", str_text(&unknown));
	bool unknown_any = unknown.n;
	str_deinit(&unknown);
	if (!bad)
		return;
	if (u->diags->plain) {
		if (help && !unknown_any)
			diag_error_plain(u->diags, "%s", ""); // its hint alone is printed
		plain_options(u, help);
		return;
	}
	if (help)
		diag_error_plain(u->diags, "not run: --help shows the options of the script");
	const struct ScriptOpts *opts = u->script->opts;
	if (!opts->n)
		diag_hint(u->diags, "it has none");
	for (size_t i = 0; i < opts->n; i++) {
		const struct ScriptOpt *o = &opts->p[i];
		diag_hint(u->diags, "--%s%s%s", o->name, o->help ? ": " : "", o->help ? o->help : "");
	}
}

// Calls whose arguments were literals before names were bound are gone (expand.c); these have a constant's name, or none.
const struct Type *c_getopt(struct Unit *u, struct Expr *e)
{
	struct Expr *def = e->nargs > 1 ? e->args[1] : NULL;
	if (!lit_str_arg(u, e, 0) || (e->nargs > 2 && !lit_str_arg(u, e, 2)))
		return ty_none(u);
	if (def)
		check_expr(u, def);
	if (!option_value(u->script, e)) {
		ERR(u, def->span, "Second argument to 'getopt' must be a string literal, integer literal, or a boolean literal.");
		return ty_none(u);
	}
	return check_expr(u, e);
}

static struct Expr *node(struct Unit *u, const struct Expr *at, enum ExprKind kind, enum Op op, struct Expr *a, struct Expr *b)
{
	struct Expr *e = arena_new(u->arena, struct Expr);
	*e = (struct Expr){.kind = kind, .op = op, .span = at->span, .a = a, .b = b};
	expr_set_height(e);
	return e;
}

static struct Expr *number(struct Unit *u, const struct Expr *at, u64 v)
{
	struct Expr *e = node(u, at, E_INT, OP_NONE, NULL, NULL);
	e->ival = v;
	return e;
}

// value == item, or in its range, or matches it.
static struct Expr *match_item(struct Unit *u, struct Expr *value, const struct OptItem *item, bool is_text)
{
	struct Expr *text = node(u, value, E_STR, OP_NONE, NULL, NULL);
	text->str = item->text;
	text->len = (u32)strlen(item->text);
	if (is_text && glob_has_wild(item->text)) {
		struct Expr *call = node(u, value, E_CALL, OP_NONE, NULL, NULL);
		call->str = "globmatch";
		call->builtin = builtin_find(call->str);
		call->nargs = 2;
		call->args = arena_new_n(u->arena, struct Expr *, 2);
		call->args[0] = value;
		call->args[1] = text;
		return call;
	}
	if (is_text || item->low == item->high)
		return node(u, value, E_BINOP, OP_EQ, value, is_text ? text : number(u, value, item->low));
	return node(u, value, E_BINOP, OP_LAND, node(u, value, E_BINOP, OP_GE, value, number(u, value, item->low)),
		    node(u, value, E_BINOP, OP_LE, clone_expr(u->arena, value), number(u, value, item->high)));
}

// The list that was given becomes a chain of comparisons.
const struct Type *c_getopt_match(struct Unit *u, struct Expr *e)
{
	struct OptItems items = {0};
	if (!lit_str_arg(u, e, 0) || (e->nargs > 2 && !lit_str_arg(u, e, 2)))
		return ty_none(u);
	const struct Type *t = operand_type(u, check_expr(u, e->args[1]));
	if (option_value(u->script, e))
		return check_expr(u, e);
	if (t->kind == TY_NONE)
		return ty_bool(u->types);
	if (t->kind != TY_STR && !ty_is_int(t)) {
		ERR(u, e->args[1]->span, "getopt_match() compares numbers and texts, not '%s'", tyname(u, t));
		return ty_none(u);
	}
	const char *name = arena_strndup(u->arena, e->args[0]->str, strcspn(e->args[0]->str, "|"));
	option_items(u->script, option_text(u->script, name), &items);
	struct Expr *chain = NULL;
	for (size_t i = 0; i < items.v.n; i++) {
		if (ty_is_int(t) && !items.v.p[i].is_num)
			diag_error_plain(u->diags, "option --%s of the script takes numbers, ranges of them (0-3) or lists (0,2-3), not '%s'", name,
					 items.v.p[i].text);
		struct Expr *one = match_item(u, clone_expr(u->arena, e->args[1]), &items.v.p[i], t->kind == TY_STR);
		chain = chain ? node(u, e, E_BINOP, OP_LOR, chain, one) : one;
	}
	vec_deinit(&items.v);
	if (!chain) {
		chain = node(u, e, E_BOOL, OP_NONE, NULL, NULL);
		diag_error_plain(u->diags, "option --%s of the script takes a list of values, not ''", name);
	}
	*e = *chain;
	return check_expr(u, e);
}

const struct Type *c_getopt_list(struct Unit *u, struct Expr *e)
{
	ERR(u, e->span, "getopt_list() is what a loop goes over: for ($x : getopt_list(\"name\")) { ... }");
	return ty_none(u);
}

const struct Type *c_pid_namespace(struct Unit *u, struct Expr *e)
{
	UNREACHABLE(); // a literal since expand.c
}

static bool is_literal(const struct Expr *e)
{
	bool all = e->kind == E_TUPLE;
	for (u32 i = 0; all && i < e->nargs; i++)
		all = is_literal(e->args[i]);
	return e->is_lit || all;
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
	case BI_is_literal: v = is_literal(e->args[0]); break;
	case BI_is_ptr: v = t->kind == TY_PTR; break;
	case BI_is_str: v = t->kind == TY_STR || ty_is_numbered(t); break;
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

bool kfunc_exists(struct Unit *u, const char *name)
{
	return u->hooks->kfunc && u->hooks->kfunc(u->hooks->arg, name);
}

const struct Type *c_kfunc(struct Unit *u, struct Expr *e)
{
	const char *s = lit_str_arg(u, e, 0);
	if (!s) // stays a call: the last round reports it
		return ty_bool(u->types);
	e->kind = E_BOOL;
	e->ival = kfunc_exists(u, s);
	if (e->ival && e->builtin->id == BI_kfunc_allowed)
		e->ival = u->hooks->kfunc_allowed(u->hooks->arg, u->cur->point, s);
	e->is_lit = true;
	return ty_bool(u->types);
}
