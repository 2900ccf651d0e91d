// Copies of macros' bodies and arguments. In: what is copied. Out: the copy, which says by which call it came in.
// Invariant: all copies of a script's expansion have MAX_EXPANSION nodes at most.
#include "lang/internal.h"

static u32 count_stmts(const struct Stmt *s);
static u32 count_spec(const struct TypeSpec *t);

// ---- how much there is

u32 count_nodes(const struct Expr *e)
{
	if (!e)
		return 0;
	u32 n = 1 + count_nodes(e->a) + count_nodes(e->b) + count_nodes(e->c) + count_stmts(e->body) + count_spec(e->spec);
	for (u32 i = 0; i < e->nargs; i++)
		n += count_nodes(e->args[i]);
	return n;
}

static u32 count_spec(const struct TypeSpec *t)
{
	if (!t)
		return 0;
	u32 n = 1 + count_nodes(t->typeof_expr);
	for (u32 i = 0; i < t->ntuple; i++)
		n += count_spec(t->tuple[i]);
	return n;
}

static u32 count_stmts(const struct Stmt *s)
{
	u32 n = 0;
	for (; s; s = s->next)
		n += 1 + count_nodes(s->lhs) + count_nodes(s->e) + count_nodes(s->e2) + count_spec(s->spec) + count_stmts(s->body) + count_stmts(s->els);
	return n;
}

struct Expr *x_placeholder(struct Expander *x, struct Span at)
{
	struct Expr *e = arena_new(x->a, struct Expr);
	*e = (struct Expr){.kind = E_INT, .span = at, .height = 1};
	return e;
}

void x_too_large(struct Expander *x, struct Span at)
{
	if (!x->full)
		diag_error(x->d, at, "macro expansion is too large: it has over %u parts of expressions, types and statements", MAX_EXPANSION);
	x->full = true;
}

// May n more nodes be made?
static bool x_room(struct Expander *x, u32 n, struct Span at)
{
	if (x->full || n > MAX_EXPANSION - x->nnodes) {
		x_too_large(x, at);
		return false;
	}
	x->nnodes += n;
	return true;
}

// A copy of a macro's body or of an argument, within the limit on the whole.
struct Expr *x_copy_expr(struct Expander *x, const struct Expr *e, struct Span at)
{
	if (!x_room(x, count_nodes(e), at))
		return x_placeholder(x, at);
	return clone_expr(x->a, e);
}

struct Stmt *x_copy(struct Expander *x, const struct Stmt *s, struct Span at)
{
	return x_room(x, count_stmts(s), at) ? clone_stmts(x->a, s) : NULL;
}

// ---- places in a macro's body

static void came_by(struct Stmt *s, u32 was, u32 call);

static void spec_came_by(struct TypeSpec *t, u32 was, u32 call);

static void put_from(struct Span *s, u32 was, u32 call)
{
	if (s->from == was)
		s->from = call;
}

void x_came_by(struct Expr *e, u32 was, u32 call)
{
	if (!e)
		return;
	put_from(&e->span, was, call);
	x_came_by(e->a, was, call);
	x_came_by(e->b, was, call);
	x_came_by(e->c, was, call);
	for (u32 i = 0; i < e->nargs; i++)
		x_came_by(e->args[i], was, call);
	came_by(e->body, was, call);
	spec_came_by(e->spec, was, call);
}

static void spec_came_by(struct TypeSpec *t, u32 was, u32 call)
{
	if (!t)
		return;
	put_from(&t->span, was, call);
	x_came_by(t->typeof_expr, was, call);
	for (u32 i = 0; i < t->ntuple; i++)
		spec_came_by(t->tuple[i], was, call);
}

static void came_by(struct Stmt *s, u32 was, u32 call)
{
	for (; s; s = s->next) {
		put_from(&s->span, was, call);
		x_came_by(s->lhs, was, call);
		x_came_by(s->e, was, call);
		x_came_by(s->e2, was, call);
		spec_came_by(s->spec, was, call);
		came_by(s->body, was, call);
		came_by(s->els, was, call);
	}
}
