// Units: a probe's body once for each kind of context that its attach points have (resolve.c binds the names in each).
// In: a probe, its points. Out: units. Invariant: points of one unit give the body's builtins and arguments the same types.
#include "lang/internal.h"

static bool note_use(void *arg, struct Expr *e)
{
	struct ProbeUnit *pu = arg;
	if (e->kind != E_IDENT && e->kind != E_CALL)
		return true;
	const char *n = e->str;
	if (!strcmp(n, "probe"))
		pu->uses_probe = true;
	else if (!strcmp(n, "args") || !strcmp(n, "retval"))
		pu->uses_args = true;
	else if (!strcmp(n, "func") || !strcmp(n, "probetype") || !strcmp(n, "uaddr"))
		pu->uses_func = true;
	else if (!strcmp(n, "socket_cookie"))
		pu->uses_cookie = true;
	else if (!strcmp(n, "ctx"))
		pu->uses_ctx = true;
	else if (!strncmp(n, "arg", 3) && n[3] >= '0' && n[3] <= '9')
		pu->uses_argn = true;
	pu->uses_uaddr |= !strcmp(n, "uaddr");
	pu->uses_argn |= !strcmp(n, "__frame"); // the size of a return address
	return true;
}

static bool same_record(const struct Record *a, const struct Record *b)
{
	if (a == b)
		return true;
	if (!a || !b || a->nfields != b->nfields || a->size != b->size)
		return false;
	for (u32 i = 0; i < a->nfields; i++) {
		const struct Field *x = &a->fields[i], *y = &b->fields[i];
		if (strcmp(x->name, y->name) || x->type != y->type || x->off != y->off || x->data_loc != y->data_loc)
			return false;
	}
	return true;
}

static bool same_usdt_args(const struct Point *a, const struct Point *b)
{
	if (a->nusdt_args != b->nusdt_args)
		return false;
	for (u32 i = 0; i < a->nusdt_args; i++) {
		const struct UsdtArg *x = &a->usdt_args[i], *y = &b->usdt_args[i];
		if (x->size != y->size || x->sgn != y->sgn || x->kind != y->kind || x->imm != y->imm || x->reg != y->reg ||
		    x->index != y->index || x->scale != y->scale)
			return false;
	}
	return true;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

// May point p be served by the program of unit pu, given what the body uses?
static bool unit_serves(const struct ProbeUnit *pu, const struct Point *p)
{
	const struct Point *q = pu->point;
	if (p->kind != q->kind || p->ctx != q->ctx)
		return false;
	switch (p->kind) {
	case PK_BEGIN: case PK_END: case PK_SELF: case PK_TEST: case PK_BENCH: case PK_ITER:
	case PK_FENTRY: case PK_FEXIT:
		return false; // one program each: loaded against its own target or run by itself
	default:
		break;
	}
	if (pu->uses_probe && !same_text(p->name, q->name))
		return false;
	if (pu->uses_func && p->kind != PK_KPROBE && p->kind != PK_KRETPROBE && (!same_text(p->func, q->func) || !same_text(p->target, q->target)))
		return false;
	if (pu->uses_args && (!same_record(p->args, q->args) || p->ret != q->ret))
		return false;
	if ((pu->uses_argn || pu->uses_args) && (!same_usdt_args(p, q) || p->bits32 != q->bits32 || p->arg_regs != q->arg_regs || p->narg_regs != q->narg_regs))
		return false;
	if (pu->uses_uaddr && p->at_ret && p->addr != q->addr) // counted from the probed instruction
		return false;
	if (pu->uses_cookie && p->kind == PK_RAWTP) // loaded against its own event
		return false;
	return true;
}

void units_split(struct Unit *u, struct ProbeAst *ast, struct PointList *points)
{
	struct ProbeUnit uses = {0};
	walk_expr(ast->pred, note_use, &uses);
	walk_exprs(ast->body, note_use, &uses);
	size_t first = u->probes.n;
	for (size_t i = 0; i < points->v.n; i++) {
		struct Point *p = points->v.p[i];
		struct ProbeUnit *pu = NULL;
		for (size_t j = first; j < u->probes.n && !pu; j++)
			if (unit_serves(u->probes.p[j], p))
				pu = u->probes.p[j];
		if (!pu) {
			pu = arena_new(u->arena, struct ProbeUnit);
			*pu = uses;
			pu->point = p;
			pu->ast = ast;
			if (u->probes.n > first) {
				pu->ast = arena_new(u->arena, struct ProbeAst);
				*pu->ast = *ast;
			}
			vec_push(&u->probes, pu);
		}
		vec_push(&pu->points.v, p);
	}
	// copies of the body are made while the original is still unbound
	for (size_t j = first + 1; j < u->probes.n; j++) {
		u->probes.p[j]->ast->pred = clone_expr(u->arena, ast->pred);
		u->probes.p[j]->ast->body = clone_stmts(u->arena, ast->body);
	}
}

void units_drop_absent(struct Unit *u)
{
	size_t n = 0;
	for (size_t i = 0; i < u->probes.n; i++)
		if (!u->probes.p[i]->point->absent)
			u->probes.p[n++] = u->probes.p[i];
	u->probes.n = n;
}
