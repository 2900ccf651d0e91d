// Operators -> IR: arithmetic, comparisons, conditions, ++ and --.
#include "lower/internal.h"

// ---- arithmetic

static bool signed_op(const struct Expr *e)
{
	return ty_signed(e->a->type) || ty_signed(e->b->type);
}

// By 0 the result is 1, and a warning says so.
static struct IrVal divide(struct Lower *l, enum IrOp op, struct IrVal a, struct IrVal b, struct Span at)
{
	IrReg r = ir_new_reg(&l->b);
	IrBlk zero = ir_new_block(&l->b, "div_zero"), div = ir_new_block(&l->b, "div"), end = ir_new_block(&l->b, "divided");
	ir_br(&l->b, IC_EQ, b, ir_imm(0), zero, div);
	ir_set_block(&l->b, zero);
	report_failure(l, ir_imm(0), "Divide or modulo by 0 detected. This can lead to unexpected results. 1 is being used as the result.", at);
	ir_set(&l->b, r, ir_imm(1));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, div);
	ir_set(&l->b, r, ir_bin(&l->b, op, a, b));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	return ir_reg(r);
}

struct IrVal lower_arith(struct Lower *l, enum Op op, struct IrVal a, struct IrVal b, bool sgn, struct Span at)
{
	static const enum IrOp ops[][2] = {
		[OP_ADD] = {IR_ADD, IR_ADD},   [OP_SUB] = {IR_SUB, IR_SUB}, [OP_MUL] = {IR_MUL, IR_MUL},   [OP_DIV] = {IR_UDIV, IR_SDIV},
		[OP_MOD] = {IR_UMOD, IR_SMOD}, [OP_AND] = {IR_AND, IR_AND}, [OP_OR] = {IR_OR, IR_OR},	   [OP_XOR] = {IR_XOR, IR_XOR},
		[OP_SHL] = {IR_SHL, IR_SHL},   [OP_SHR] = {IR_LSHR, IR_LSHR}};
	if ((op == OP_DIV || op == OP_MOD) && (b.kind != IRO_IMM || !b.imm))
		return divide(l, ops[op][sgn], a, b, at);
	// Division of what is known to be non-negative: the unsigned form is one instruction everywhere.
	return ir_bin(&l->b, ops[op][sgn], a, b);
}

// The first operand; a copy of it when working out the second may change the variable it is.
static struct IrVal lx_first(struct Lower *l, struct Expr *e)
{
	struct IrVal a = lx_int(l, e->a);
	return a.kind == IRO_REG && has_side_effects(e->b) ? ir_mov(&l->b, a) : a;
}

static enum IrCond cond_of(enum Op op, bool sgn)
{
	switch (op) {
	case OP_EQ: return IC_EQ;
	case OP_NE: return IC_NE;
	case OP_LT: return sgn ? IC_SLT : IC_ULT;
	case OP_LE: return sgn ? IC_SLE : IC_ULE;
	case OP_GT: return sgn ? IC_SGT : IC_UGT;
	case OP_GE: return sgn ? IC_SGE : IC_UGE;
	default: UNREACHABLE();
	}
}

// Text against a literal: compared in words, the final NUL included.
static void cmp_lit(struct Lower *l, struct Val m, const char *s, u32 len, IrBlk eq, IrBlk ne)
{
	u32 n = MIN(len + 1, m.type->size);
	if (len > m.type->size) {
		ir_jmp(&l->b, ne); // longer than the text can be, of which an array of characters may be full
		return;
	}
	to_bpf_mem(l, &m, m.type->size);
	for (u32 step, i = 0; i < n; i += step) {
		u64 v = 0;
		step = load_step(m.off + (s32)i, 0, n - i);
		for (u32 k = 0; k < step && i + k < len; k++)
			v |= (u64)(u8)s[i + k] << (8 * k);
		IrBlk next = i + step >= n ? eq : ir_new_block(&l->b, "cmp");
		ir_br(&l->b, IC_EQ, ir_load(&l->b, m.v, m.off + (s32)i, step, false), ir_imm((s64)v), next, ne);
		if (i + step < n)
			ir_set_block(&l->b, next);
	}
}

static void cmp_bytes(struct Lower *l, struct Val a, struct Val b, u32 size, IrBlk eq, IrBlk ne)
{
	to_bpf_mem(l, &a, size);
	to_bpf_mem(l, &b, size);
	for (u32 step, i = 0; i < size; i += step) {
		step = load_step(a.off + (s32)i, b.off + (s32)i, size - i);
		IrBlk next = i + step >= size ? eq : ir_new_block(&l->b, "cmp");
		ir_br(&l->b, IC_EQ, ir_load(&l->b, a.v, a.off + (s32)i, step, false), ir_load(&l->b, b.v, b.off + (s32)i, step, false), next, ne);
		if (i + step < size)
			ir_set_block(&l->b, next);
	}
	if (!size)
		ir_jmp(&l->b, eq);
}

static void cmp_vals(struct Lower *l, struct Val a, struct Val b, IrBlk eq, IrBlk ne);

static void cmp_str(struct Lower *l, struct Val a, struct Val b, IrBlk eq, IrBlk ne)
{
	struct IrVal pa = to_bpf_mem(l, &a, a.type->size), pb = to_bpf_mem(l, &b, b.type->size);
	bool both = in_scratch(l, a.type->size) && in_scratch(l, b.type->size);
	struct IrVal r = rt_call(l, both ? "rt_streq_long" : "rt_streq", 4, pa, ir_imm(a.type->size), pb, ir_imm(b.type->size), ir_imm(0));
	ir_br(&l->b, IC_NE, r, ir_imm(0), eq, ne);
}

static void cmp_tuple(struct Lower *l, struct Val a, struct Val b, IrBlk eq, IrBlk ne)
{
	for (u32 i = 0; i < a.type->n; i++) {
		const struct TupleField *x = &a.type->fields[i], *y = ty_tuple_field(b.type, x, i);
		IrBlk next = ir_new_block(&l->b, "cmp_tuple");
		cmp_vals(l, val_mem(x->type, a.v, a.off + (s32)x->off, a.as), val_mem(y->type, b.v, b.off + (s32)y->off, b.as), next, ne);
		ir_set_block(&l->b, next);
	}
	ir_jmp(&l->b, eq);
}

static void cmp_vals(struct Lower *l, struct Val a, struct Val b, IrBlk eq, IrBlk ne)
{
	if (a.type->kind != b.type->kind && (a.type->kind == TY_STR || ty_is_numbered(a.type)) && !ty_is_int(b.type)) {
		a = as_text(l, a);
		b = as_text(l, b);
	}
	if (ty_scalar(a.type))
		ir_br(&l->b, IC_EQ, a.mem ? load_scalar(l, a) : a.v, b.mem ? load_scalar(l, b) : b.v, eq, ne);
	else if (a.type->kind == TY_STR)
		cmp_str(l, a, b, eq, ne);
	else if (a.type->kind == TY_TUPLE)
		cmp_tuple(l, a, b, eq, ne);
	else
		cmp_bytes(l, a, b, MIN(a.type->size, b.type->size), eq, ne);
}

static void compare(struct Lower *l, struct Expr *e, IrBlk t, IrBlk f)
{
	struct Expr *a = e->a, *b = e->b;
	if (e->op == OP_NE) {
		IrBlk x = t;
		t = f;
		f = x;
	}
	if (a->kind == E_STR) {
		a = e->b;
		b = e->a;
	}
	if (a->type->kind == TY_STR && b->kind == E_STR)
		cmp_lit(l, lx(l, a), b->str, b->len, t, f);
	else {
		struct Val x = lx(l, a);
		cmp_vals(l, x, lx(l, b), t, f);
	}
}

void lx_cond(struct Lower *l, struct Expr *e, IrBlk t, IrBlk f)
{
	if (e->kind == E_BINOP && (e->op == OP_LAND || e->op == OP_LOR)) {
		IrBlk mid = ir_new_block(&l->b, e->op == OP_LAND ? "and" : "or");
		if (e->op == OP_LAND)
			lx_cond(l, e->a, mid, f);
		else
			lx_cond(l, e->a, t, mid);
		ir_set_block(&l->b, mid);
		lx_cond(l, e->b, t, f);
	} else if (e->kind == E_UNOP && e->op == OP_NOT)
		lx_cond(l, e->a, f, t);
	else if (e->kind == E_BINOP && e->op >= OP_EQ && e->op <= OP_GE) {
		bool scalar = (ty_scalar(e->a->type) || ty_is_aggr(e->a->type)) && (ty_scalar(e->b->type) || ty_is_aggr(e->b->type));
		if (!scalar) {
			struct TmpMark m = tmp_mark(l);
			compare(l, e, t, f);
			tmp_release(l, m);
			return;
		}
		struct IrVal a = lx_first(l, e), b = lx_int(l, e->b);
		ir_br(&l->b, cond_of(e->op, signed_op(e)), a, b, t, f);
	} else if (e->kind == E_INT || e->kind == E_BOOL)
		ir_jmp(&l->b, e->ival ? t : f);
	else
		ir_br(&l->b, IC_NE, lx_int(l, e), ir_imm(0), t, f);
}

struct Val lx_bool(struct Lower *l, struct Expr *e)
{
	IrReg r = ir_new_reg(&l->b);
	IrBlk t = ir_new_block(&l->b, "true"), f = ir_new_block(&l->b, "false"), end = ir_new_block(&l->b, "bool");
	lx_cond(l, e, t, f);
	ir_set_block(&l->b, t);
	ir_set(&l->b, r, ir_imm(1));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, f);
	ir_set(&l->b, r, ir_imm(0));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	return val_scalar(e->type, ir_reg(r));
}

static struct IrVal scale(struct Lower *l, struct IrVal n, const struct Type *ptr)
{
	u32 size = ptr->elem->kind == TY_RECORD ? ptr->elem->rec->size : ptr->elem->size;
	return size > 1 ? ir_bin(&l->b, IR_MUL, n, ir_imm(size)) : n;
}

struct Val lx_binop(struct Lower *l, struct Expr *e)
{
	if (e->op == OP_LAND || e->op == OP_LOR || (e->op >= OP_EQ && e->op <= OP_GE))
		return lx_bool(l, e);
	struct IrVal a = lx_first(l, e), b = lx_int(l, e->b);
	if (e->type->kind == TY_PTR) { // address arithmetic counts in elements
		if (e->a->type->kind == TY_PTR)
			b = scale(l, b, e->a->type);
		else
			a = scale(l, a, e->b->type);
		return val_scalar(e->type, ir_bin(&l->b, e->op == OP_SUB ? IR_SUB : IR_ADD, a, b));
	}
	if (e->a->type->kind == TY_PTR && e->b->type->kind == TY_PTR) {
		struct IrVal d = ir_bin(&l->b, IR_SUB, a, b);
		u32 size = e->a->type->elem->size;
		return val_scalar(e->type, size > 1 ? ir_bin(&l->b, IR_SDIV, d, ir_imm(size)) : d);
	}
	return val_scalar(e->type, lower_arith(l, arith_op(e->op, e->type), a, b, signed_op(e), e->span));
}

// ---- ++ and --

struct Val lx_incdec(struct Lower *l, struct Expr *e, bool used)
{
	s64 by = e->op == OP_PREINC || e->op == OP_POSTINC ? 1 : -1;
	bool post = e->op == OP_POSTINC || e->op == OP_POSTDEC;
	struct Expr *x = e->a;
	if (e->type->kind == TY_PTR)
		by *= e->type->elem->kind == TY_RECORD ? e->type->elem->rec->size : MAX(e->type->elem->size, 1u);
	if (x->kind != E_VAR)
		return val_scalar(e->type, lm_incdec(l, x, by, post, used));
	struct IrVal old = var_get(l, x->var);
	if (used && post)
		old = ir_mov(&l->b, old);
	struct IrVal now = ir_bin(&l->b, IR_ADD, old, ir_imm(by));
	if (x->var->type->kind == TY_INT && x->var->type->size < 8)
		now = ir_ext(&l->b, now, x->var->type->size, x->var->type->sgn);
	var_set(l, x->var, now);
	return val_scalar(e->type, post ? old : now);
}

// The address of a map's value as a number: the script may add to it what it likes, and compare it, which the verifier does not let it do with a pointer
// into a map, or one that may be none.
static struct IrVal as_number(struct Lower *l, struct IrVal at)
{
	struct IrVal from = tmp_slot(l, 8), to = tmp_slot(l, 8);
	ir_store(&l->b, from, 0, 8, at);
	read_mem(l, AS_KERNEL, to, ir_imm(8), from, false, (struct Span){0});
	return ir_load(&l->b, to, 0, 8, false);
}

struct Val lx_unop(struct Lower *l, struct Expr *e)
{
	switch (e->op) {
	case OP_NOT:
		return lx_bool(l, e);
	case OP_NEG:
		return val_scalar(e->type, ir_neg(&l->b, lx_int(l, e->a)));
	case OP_BNOT: {
		struct IrVal v = ir_bin(&l->b, IR_XOR, lx_int(l, e->a), ir_imm(-1));
		return val_scalar(e->type, e->type->size < 8 ? ir_ext(&l->b, v, e->type->size, e->type->sgn) : v);
	}
	case OP_ADDR:
		if (e->a->kind == E_VAR) {
			s32 off;
			struct IrVal base = var_place(l, e->a->var, &off);
			return val_scalar(e->type, addr_of(l, val_mem(NULL, base, off, AS_BPF)));
		}
		if (e->a->kind == E_MAP || e->a->kind == E_MAPREF)
			return val_scalar(e->type, as_number(l, lm_lookup(l, e->a->map, lm_key(l, e->a->map, e->a->kind == E_MAPREF ? e->a->a : NULL))));
		return val_scalar(e->type, addr_of(l, lx_place(l, e->a)));
	default:
		return lx_incdec(l, e, true);
	}
}
