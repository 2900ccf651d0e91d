// Deep copies of parts of the tree, as the parser made them: what check and lower set stays behind.
// In: a tree and the arena. Out: an equal tree that shares no node with it (names and literal text are shared, they never change).
#include "lang/ast.h"

struct TypeSpec *typespec_clone(struct Arena *a, const struct TypeSpec *t)
{
	if (!t)
		return NULL;
	struct TypeSpec *n = arena_new(a, struct TypeSpec);
	*n = *t;
	n->typeof_expr = expr_clone(a, t->typeof_expr);
	struct TypeSpec **tuple = t->ntuple ? arena_new_n(a, struct TypeSpec *, t->ntuple) : NULL;
	for (u32 i = 0; i < t->ntuple; i++)
		tuple[i] = typespec_clone(a, t->tuple[i]);
	n->tuple = tuple;
	return n;
}

struct Expr *expr_clone(struct Arena *a, const struct Expr *e)
{
	if (!e)
		return NULL;
	struct Expr *n = arena_new(a, struct Expr);
	*n = (struct Expr){.kind = e->kind, .op = e->op, .span = e->span, .ival = e->ival, .is_neg = e->is_neg, .from_param = e->from_param,
			   .str = e->str, .len = e->len, .npath = e->npath, .tup = e->tup, .arrow = e->arrow, .nargs = e->nargs, .height = e->height};
	n->a = expr_clone(a, e->a);
	n->b = expr_clone(a, e->b);
	n->c = expr_clone(a, e->c);
	n->args = e->nargs ? arena_new_n(a, struct Expr *, e->nargs) : NULL;
	for (u32 i = 0; i < e->nargs; i++)
		n->args[i] = expr_clone(a, e->args[i]);
	n->body = stmt_list_clone(a, e->body);
	n->spec = typespec_clone(a, e->spec);
	n->path = e->npath ? arena_new_n(a, const char *, e->npath) : NULL;
	for (u32 i = 0; i < e->npath; i++)
		n->path[i] = e->path[i];
	return n;
}

struct Stmt *stmt_list_clone(struct Arena *a, const struct Stmt *list)
{
	struct Stmt *first = NULL, **tail = &first;
	for (const struct Stmt *s = list; s; s = s->next) {
		struct Stmt *n = arena_new(a, struct Stmt);
		*n = (struct Stmt){.kind = s->kind, .op = s->op, .span = s->span, .comptime = s->comptime, .height = s->height};
		n->lhs = expr_clone(a, s->lhs);
		n->e = expr_clone(a, s->e);
		n->e2 = expr_clone(a, s->e2);
		n->spec = typespec_clone(a, s->spec);
		n->body = stmt_list_clone(a, s->body);
		n->els = stmt_list_clone(a, s->els);
		*tail = n;
		tail = &n->next;
	}
	return first;
}
