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
