// Walking and copying trees.
#include "lang/internal.h"

void walk_expr(struct Expr *e, bool (*fn)(void *, struct Expr *), void *arg)
{
	if (!e || !fn(arg, e))
		return;
	walk_expr(e->a, fn, arg);
	walk_expr(e->b, fn, arg);
	walk_expr(e->c, fn, arg);
	for (u32 i = 0; i < e->nargs; i++)
		walk_expr(e->args[i], fn, arg);
	walk_exprs(e->body, fn, arg);
	if (e->spec)
		walk_expr(e->spec->typeof_expr, fn, arg);
}

void walk_exprs(struct Stmt *s, bool (*fn)(void *, struct Expr *), void *arg)
{
	for (; s; s = s->next) {
		walk_expr(s->lhs, fn, arg);
		walk_expr(s->e, fn, arg);
		walk_expr(s->e2, fn, arg);
		if (s->spec)
			walk_expr(s->spec->typeof_expr, fn, arg);
		walk_exprs(s->body, fn, arg);
		walk_exprs(s->els, fn, arg);
	}
}

static struct TypeSpec *clone_spec(struct Arena *a, const struct TypeSpec *s)
{
	if (!s)
		return NULL;
	struct TypeSpec *n = arena_new(a, struct TypeSpec);
	*n = *s;
	n->typeof_expr = clone_expr(a, s->typeof_expr);
	if (!s->tuple) // no tuple; () has a tuple of no fields
		return n;
	struct TypeSpec **tuple = arena_new_n(a, struct TypeSpec *, s->ntuple);
	for (u32 i = 0; i < s->ntuple; i++)
		tuple[i] = clone_spec(a, s->tuple[i]);
	n->tuple = tuple;
	return n;
}

struct Expr *clone_expr(struct Arena *a, const struct Expr *e)
{
	if (!e)
		return NULL;
	struct Expr *n = arena_new(a, struct Expr);
	*n = *e;
	n->a = clone_expr(a, e->a);
	n->b = clone_expr(a, e->b);
	n->c = clone_expr(a, e->c);
	n->args = arena_new_n(a, struct Expr *, e->nargs);
	for (u32 i = 0; i < e->nargs; i++)
		n->args[i] = clone_expr(a, e->args[i]);
	n->body = clone_stmts(a, e->body);
	n->spec = clone_spec(a, e->spec);
	return n;
}

struct Stmt *clone_stmts(struct Arena *a, const struct Stmt *s)
{
	struct Stmt *first = NULL, **tail = &first;
	for (; s; s = s->next) {
		struct Stmt *n = arena_new(a, struct Stmt);
		*n = *s;
		n->lhs = clone_expr(a, s->lhs);
		n->e = clone_expr(a, s->e);
		n->e2 = clone_expr(a, s->e2);
		n->spec = clone_spec(a, s->spec);
		n->body = clone_stmts(a, s->body);
		n->els = clone_stmts(a, s->els);
		n->next = NULL;
		*tail = n;
		tail = &n->next;
	}
	return first;
}
