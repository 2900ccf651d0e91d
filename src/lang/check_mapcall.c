// Types of builtins that take a map: see internal.h.
#include "lang/internal.h"

const struct Type *c_len(struct Unit *u, struct Expr *e)
{
	struct Expr *a = e->args[0];
	if (a->kind == E_MAP && !(a->map->val && ty_is_stack(a->map->val) && a->map->scalar)) {
		a->type = t_void(u);
		return t_int(u, 8, true);
	}
	const struct Type *t = check_expr(u, a);
	if (t->kind == TY_STR || t->kind == TY_ARRAY || t->kind == TY_BUF || t->kind == TY_TUPLE) {
		ERR(u, a->span, "len() expects a map or stack to be provided (%s provided)", tyname(u, t));
		if (t->kind == TY_STR)
			HINT(u, "use strlen() for text");
	} else if (t->kind != TY_NONE && !ty_is_stack(t))
		ERR(u, a->span, "len() expects a map or stack to be provided");
	return t_int(u, 8, true);
}

struct MapSym *map_arg(struct Unit *u, struct Expr *e)
{
	struct Expr *m = e->args[0];
	if (m->kind != E_MAP) {
		check_expr(u, m);
		ERR(u, m->span, "%s() expects a map argument", e->str);
		return NULL;
	}
	m->type = t_void(u);
	return m->map;
}

struct MapSym *keyed_map_arg(struct Unit *u, struct Expr *e)
{
	struct MapSym *m = map_arg(u, e);
	const struct Type *k = check_expr(u, e->args[1]);
	if (!m)
		return NULL;
	if (m->scalar && !m->keyed && m->val) {
		ERR(u, e->args[0]->span, "call to %s() expects a map with explicit keys (non-scalar map)", e->str);
		return NULL;
	}
	m->keyed = true;
	map_grow_key(u, m, e->args[1]->span, k);
	return m;
}

const struct Type *c_has_key(struct Unit *u, struct Expr *e)
{
	keyed_map_arg(u, e);
	return ty_bool(u->types);
}

const struct Type *c_find(struct Unit *u, struct Expr *e)
{
	struct MapSym *m = keyed_map_arg(u, e);
	if (e->args[2]->kind != E_VAR)
		ERR(u, e->args[2]->span, "find() stores into a scratch variable: find(@map, key, $result)");
	else if (m && m->val)
		var_grow(u, e->args[2]->var, e->args[2]->span, m->val);
	check_expr(u, e->args[2]);
	return ty_bool(u->types);
}

// "99.9" -> 999 / 1000: at most six digits behind the point.
static bool decimal_share(const char *s, u64 *num, u64 *den)
{
	u64 n = 0, d = 100;
	bool point = false;
	u32 digits = 0;
	for (; *s; s++) {
		if (*s == '.' && !point) {
			point = true;
			continue;
		}
		if (*s < '0' || *s > '9' || ++digits > 9 || (point && d >= 100000000))
			return false;
		n = n * 10 + (u64)(*s - '0');
		d *= point ? 10 : 1;
	}
	*num = n;
	*den = d;
	return digits && n <= d;
}

const struct Type *c_percentile(struct Unit *u, struct Expr *e)
{
	struct Expr *a = e->args[0], *n = e->args[1];
	const struct Type *t = check_expr(u, a);
	u64 num, den;
	const char *text;
	bool buckets = t->kind == TY_HIST || t->kind == TY_LHIST || t->kind == TY_QUANTILES;
	if (t->kind != TY_NONE && (!buckets || (a->kind != E_MAP && a->kind != E_MAPREF))) {
		ERR(u, a->span, "percentile() expects a map of hist(), lhist() or quantiles() (%s provided)", tyname(u, t));
		HINT(u, "percentile(@map, 99), or percentile(@map[key], 99)");
	}
	if (expr_lit_str(n, &text)) {
		n->is_lit = true;
		n->type = ty_str(u->types, n->len + 1);
		if (!decimal_share(text, &num, &den))
			ERR(u, n->span, "percentile() expects a number from 0 to 100, such as 99 or \"99.9\" (\"%s\" provided)", text);
	} else if (n->kind == E_TUPFIELD && n->a->kind == E_INT) { // 99.9 is a field of 99 to the language
		ERR(u, n->span, "percentile() takes a share with a point as text");
		HINT(u, "percentile(@map, \"99.9\")");
	} else {
		int_arg(u, e, 1);
		if (n->kind == E_INT && (n->is_neg || n->ival > 100))
			ERR(u, n->span, "percentile() expects a number from 0 to 100 (%lld provided)", (long long)n->ival);
	}
	return t_int(u, 8, true);
}

bool percentile_share(const struct Expr *n, u64 *num, u64 *den)
{
	const char *text;
	return expr_lit_str(n, &text) && decimal_share(text, num, den);
}
