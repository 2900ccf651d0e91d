// Texts that are there: a page of a program that nothing has used yet is not in memory, and str() in a uprobe cannot wait for it. Where the kernel lets programs of uprobes
// sleep, a probe with str() or buf() has a second program that does (ProbeProg.touch). It runs before the probe's own and reads a byte of what that will read.
// In: a unit. Out: its touching program, before its own in prog->progs, if there is one.
// Invariant: it reads only where the probe's own program would have read: what follows from arguments and variables on the way that every call takes, behind a predicate
// that it can judge itself. It uses no map and no scratch: another thread may run it on the same processor while this one sleeps.
#include "base/base.h"
#include "lower/internal.h"

#define PAGE 4096u
#define PAGES_MAX 16u // of one text

struct Touch {
	struct Lower *l;
	u32 n; // texts
};

static bool plain_name(const struct Expr *e)
{
	switch (e->builtin ? e->builtin->id : BUILTINS) {
	case BUILTINS: // argN
		return e->kind == E_IDENT;
	case BI_pid: case BI_tid: case BI_reg:
		return true;
	case BI_uid: case BI_gid: case BI_cpu: case BI_cgroup: case BI_curtask: case BI_comm: case BI_cpid: case BI_args: case BI_retval:
		return !e->nargs;
	case BI_uptr:
		return is_plain(e->args[0]);
	default:
		return false;
	}
}

// Has the touching program the value at the same place of its way, without a map?
bool is_plain(const struct Expr *e)
{
	switch (e->kind) {
	case E_INT: case E_BOOL: case E_STR:
		return true;
	case E_IDENT: case E_CALL:
		return plain_name(e);
	case E_VAR:
		return ty_scalar(e->var->type) && e->var->reg;
	case E_FIELD:
		return e->a->type->kind != TY_STATS && is_plain(e->a);
	case E_INDEX:
		return e->b->kind == E_INT && is_plain(e->a);
	case E_CAST:
		return ty_scalar(e->type) && ty_scalar(e->a->type) && is_plain(e->a);
	case E_UNOP:
		return e->op >= OP_NEG && e->op <= OP_DEREF && is_plain(e->a);
	case E_BINOP:
		return e->op != OP_DIV && e->op != OP_MOD && is_plain(e->a) && is_plain(e->b);
	default:
		return false;
	}
}

// Waits for the pages of n bytes at v.
static void touch_bytes(struct Lower *l, struct Val v, u32 n)
{
	struct IrVal at = ir_mov(&l->b, addr_of(l, v)), byte = tmp_slot(l, 8);
	u32 end = MIN(n, PAGE * PAGES_MAX) - 1;
	for (u32 off = 0; off < end; off += PAGE)
		call3(l, H_COPY_FROM_USER, byte, ir_imm(1), ir_bin(&l->b, IR_ADD, at, ir_imm(off)));
	call3(l, H_COPY_FROM_USER, byte, ir_imm(1), ir_bin(&l->b, IR_ADD, at, ir_imm(end)));
}

static bool touch_text(void *arg, struct Expr *e)
{
	struct Touch *t = arg;
	struct Lower *l = t->l;
	if (e->kind == E_BLOCK || e->kind == E_IF || e->kind == E_TERNARY || (e->kind == E_BINOP && (e->op == OP_LAND || e->op == OP_LOR))) {
		walk_expr(e->a && e->kind != E_BLOCK ? e->a : NULL, touch_text, t); // the rest may not be reached
		return false;
	}
	if (e->kind != E_CALL || !e->builtin || (e->builtin->id != BI_str && e->builtin->id != BI_buf) || !is_plain(e->args[0]))
		return true;
	struct Expr *a = e->args[0];
	bool number = ty_scalar(a->type);
	u32 n = e->nargs == 2 && e->args[1]->kind == E_INT ? (u32)MIN(e->args[1]->ival, (u64)e->type->size) : number ? e->type->size : a->type->size;
	if (!n || (!number && a->type->kind != TY_ARRAY))
		return true;
	struct TmpMark m = tmp_mark(l);
	struct Val v = number ? val_mem(NULL, lx_int(l, a), 0, arg_as(l, a)) : lx(l, a);
	if (v.as == AS_USER && !v.ctx) {
		touch_bytes(l, v, n);
		t->n++;
	}
	tmp_release(l, m);
	return true;
}

static void forget(struct Stmt *s);

static bool forget_changed(void *arg, struct Expr *e)
{
	if (e->kind == E_UNOP && e->op >= OP_PREINC && e->a->kind == E_VAR)
		e->a->var->reg = 0;
	if (e->kind == E_CALL && e->builtin && e->builtin->id == BI_find && e->args[2]->kind == E_VAR)
		e->args[2]->var->reg = 0;
	if (e->kind == E_BLOCK)
		forget(e->body);
	return true;
}

// Variables that a statement sets, or may set, are not known behind it.
static void forget_one(struct Stmt *s)
{
	if (s->lhs && s->lhs->kind == E_VAR)
		s->lhs->var->reg = 0;
	walk_expr(s->lhs, forget_changed, NULL);
	walk_expr(s->e, forget_changed, NULL);
	walk_expr(s->e2, forget_changed, NULL);
	forget(s->body);
	forget(s->els);
}

static void forget(struct Stmt *s)
{
	for (; s; s = s->next)
		forget_one(s);
}

static bool leaves(const struct Stmt *s)
{
	for (; s; s = s->next)
		if (s->kind == S_RETURN || leaves(s->body) || leaves(s->els) ||
		    (s->kind == S_EXPR && s->e->kind == E_CALL && s->e->builtin && s->e->builtin->id == BI_exit))
			return true;
	return false;
}

static bool sets_plain_var(const struct Stmt *s)
{
	return (s->kind == S_ASSIGN || s->kind == S_LET) && s->op == OP_NONE && s->lhs && s->lhs->kind == E_VAR && ty_scalar(s->lhs->var->type) && s->e && is_plain(s->e);
}

static bool touch_stmts(struct Touch *t, struct Stmt *s);

// False: not every call gets to what follows.
static bool touch_stmt(struct Touch *t, struct Stmt *s)
{
	lower_at(t->l, s->span);
	if (s->kind == S_BLOCK)
		return touch_stmts(t, s->body);
	if (s->kind == S_IF && (s->comptime || s->e->kind == E_BOOL || s->e->kind == E_INT))
		return touch_stmts(t, s->e->ival ? s->body : s->els);
	if (s->kind == S_EXPR || s->kind == S_ASSIGN || s->kind == S_LET || s->kind == S_IF) {
		walk_expr(s->lhs, touch_text, t);
		walk_expr(s->e, touch_text, t);
	}
	if (sets_plain_var(s))
		var_assign(t->l, s->lhs->var, s->e);
	else
		forget_one(s);
	struct Stmt one = *s;
	one.next = NULL;
	return s->kind != S_BREAK && s->kind != S_CONTINUE && !leaves(&one);
}

static bool touch_stmts(struct Touch *t, struct Stmt *s)
{
	bool go = true;
	for (; s && go; s = s->next)
		go = touch_stmt(t, s);
	return go;
}

// False: whether the probe's own program will go on is not known here.
static bool touch_predicate(struct Touch *t, struct Expr *pred, IrBlk *no)
{
	struct Lower *l = t->l;
	walk_expr(pred, touch_text, t);
	if (!is_plain(pred))
		return false;
	IrBlk yes = ir_new_block(&l->b, "action");
	struct TmpMark m = tmp_mark(l);
	*no = ir_new_block(&l->b, "skip");
	lx_cond(l, pred, yes, *no);
	tmp_release(l, m);
	ir_set_block(&l->b, yes);
	return true;
}

static void touch_unit(struct Touch *t, struct ProbeAst *ast)
{
	struct Lower *l = t->l;
	IrBlk no = 0;
	if (!ast->pred || touch_predicate(t, ast->pred, &no))
		touch_stmts(t, ast->body);
	ir_ret(&l->b, ir_imm(0));
	if (no) {
		ir_set_block(&l->b, no);
		ir_ret(&l->b, ir_imm(0));
	}
}

static bool note_text(void *found, struct Expr *e)
{
	*(bool *)found |= e->kind == E_CALL && e->builtin && (e->builtin->id == BI_str || e->builtin->id == BI_buf);
	return !*(bool *)found;
}

static bool has_text(struct ProbeAst *ast)
{
	bool found = false;
	walk_expr(ast->pred, note_text, &found);
	walk_exprs(ast->body, note_text, &found);
	return found;
}

void lower_touch(struct Lower *l, struct ProbeUnit *pu)
{
	struct Touch t = {.l = l};
	enum ProbeKind kind = pu->point->kind;
	if (!l->o->sleepable_uprobes || (kind != PK_UPROBE && kind != PK_URETPROBE && kind != PK_USDT) || !has_text(pu->ast))
		return;
	struct ProbeProg *pp = lower_begin_prog(l, pu);
	pp->points = (struct PointList){0};
	for (size_t i = 0; i < pu->points.v.n; i++)
		vec_push(&pp->points.v, pu->points.v.p[i]);
	pp->touch = pp->sleepable = true;
	l->touching = true;
	l->scratch = ir_reg(ir_new_reg(&l->b));
	for (size_t i = 0; i < pu->vars.n; i++) {
		pu->vars.p[i]->reg = 0;
		pu->vars.p[i]->placed = false;
	}
	touch_unit(&t, pu->ast);
	if (t.n && !l->uses_scratch)
		return;
	ir_deinit(&pp->ir);
	vec_deinit(&pp->points.v);
	l->prog->progs.n--;
}
