// Expressions -> IR.
#include "lower/internal.h"

// ---- variables

struct IrVal var_get(struct Lower *l, struct VarSym *v)
{
	if (!v->placed)
		return ir_reg(v->reg);
	s32 off;
	struct IrVal base = var_place(l, v, &off);
	return ir_load(&l->b, base, off, 8, false);
}

void var_set(struct Lower *l, struct VarSym *v, struct IrVal x)
{
	if (!v->placed) {
		if (!v->reg)
			v->reg = ir_new_reg(&l->b);
		ir_set(&l->b, v->reg, x);
		return;
	}
	s32 off;
	struct IrVal base = var_place(l, v, &off);
	ir_store(&l->b, base, off, 8, x);
}

static struct Val var_val(struct Lower *l, struct VarSym *v)
{
	if (ty_scalar(v->type))
		return val_scalar(v->type, var_get(l, v));
	s32 off;
	struct IrVal base = var_place(l, v, &off);
	return val_mem(v->type, base, off, AS_BPF);
}

void var_assign(struct Lower *l, struct VarSym *v, struct Expr *e)
{
	if (ty_scalar(v->type)) {
		struct IrVal x = lx_int(l, e);
		if (v->declared_type && v->type->kind == TY_INT && v->type->size < 8 && e->kind != E_INT)
			x = ir_ext(&l->b, x, v->type->size, v->type->sgn);
		var_set(l, v, x);
		return;
	}
	s32 off;
	struct IrVal base = var_place(l, v, &off);
	// `$a = f($a)`: build the new value aside when the expression reads the variable
	lx_into(l, e, base, off, v->type, false);
}

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
	if (len + 1 > m.type->size) {
		ir_jmp(&l->b, ne); // longer than the text can be
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
	struct IrVal r = rt_call(l, "rt_streq", 4, pa, ir_imm(a.type->size), pb, ir_imm(b.type->size), ir_imm(0));
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
			compare(l, e, t, f);
			return;
		}
		struct IrVal a = lx_first(l, e), b = lx_int(l, e->b);
		ir_br(&l->b, cond_of(e->op, signed_op(e)), a, b, t, f);
	} else if (e->kind == E_INT || e->kind == E_BOOL)
		ir_jmp(&l->b, e->ival ? t : f);
	else
		ir_br(&l->b, IC_NE, lx_int(l, e), ir_imm(0), t, f);
}

static struct Val bool_of(struct Lower *l, struct Expr *e)
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

static struct Val binop(struct Lower *l, struct Expr *e)
{
	if (e->op == OP_LAND || e->op == OP_LOR || (e->op >= OP_EQ && e->op <= OP_GE))
		return bool_of(l, e);
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

static struct Val incdec(struct Lower *l, struct Expr *e, bool used)
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

// The address of a map's value that the script may add to: an instruction that loads the sum at once must not go beyond the value.
static struct IrVal far_from(struct Lower *l, struct IrVal at)
{
	if (at.kind != IRO_MAPVAL)
		return at;
	struct IrVal slot = tmp_slot(l, 8);
	ir_store(&l->b, slot, 0, 8, at);
	return ir_load(&l->b, slot, 0, 8, false);
}

static struct Val unop(struct Lower *l, struct Expr *e)
{
	switch (e->op) {
	case OP_NOT:
		return bool_of(l, e);
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
			return val_scalar(e->type, far_from(l, lm_lookup(l, e->a->map, lm_key(l, e->a->map, e->a->kind == E_MAPREF ? e->a->a : NULL))));
		return val_scalar(e->type, addr_of(l, lx_place(l, e->a)));
	default:
		return incdec(l, e, true);
	}
}

// ---- lvalues in memory

// The last round of an iterator has no object: the action is over. The verifier wants the test before arithmetic on the pointer.
static void leave_if_null(struct Lower *l, struct IrVal p)
{
	IrBlk none = ir_new_block(&l->b, "null"), have = ir_new_block(&l->b, "object");
	ir_br(&l->b, IC_NE, p, ir_imm(0), have, none);
	ir_set_block(&l->b, none);
	lower_return(l, ir_imm(0));
	ir_jmp(&l->b, have);
	ir_set_block(&l->b, have);
}

static struct Val field_place(struct Lower *l, struct Expr *e)
{
	struct Val m;
	const struct Field *f = &e->field;
	const struct Type *at = e->a->type;
	if (at->kind == TY_PTR) {
		struct Val p = lx(l, e->a);
		if (p.btf && l->pp->kind == PK_ITER && at->as != AS_BPF)
			leave_if_null(l, p.v);
		m = val_mem(NULL, p.v, 0, at->as == AS_NONE ? AS_KERNEL : at->as);
		m.btf = p.btf;
		if (at->as == AS_BPF) { // ctx
			m.ctx = true;
			m.btf = l->pp->kind == PK_ITER;
		}
	} else
		m = lx_place(l, e->a);
	m.off += (s32)f->off;
	m.type = e->type;
	m.bit_off = f->bit_off;
	m.bit_size = f->bit_size;
	return m;
}

static struct Val index_place(struct Lower *l, struct Expr *e)
{
	const struct Type *at = e->a->type;
	u32 size = e->type->kind == TY_RECORD ? e->type->rec->size : e->type->size;
	struct Val m;
	if (at->kind == TY_PTR)
		m = val_mem(NULL, lx_int(l, e->a), 0, e->as == AS_NONE ? AS_KERNEL : e->as);
	else if (at->kind == TY_STR || at->kind == TY_BUF)
		m = lx(l, e->a);
	else
		m = lx_place(l, e->a);
	m.type = e->type;
	if (at->kind == TY_BUF)
		m.off += 4;
	if (e->b->kind == E_INT) {
		m.off += (s32)((s64)e->b->ival * size);
		return m;
	}
	struct IrVal i = lx_int(l, e->b);
	u32 n = at->kind == TY_ARRAY ? at->n : at->kind == TY_STR ? at->size : at->kind == TY_BUF ? at->size - 4 : 0;
	if (m.as == AS_BPF && n) {
		// the verifier wants a bound, and an index beyond the array reads its last element's neighbour nowhere: clamp
		IrReg r = ir_new_reg(&l->b);
		IrBlk big = ir_new_block(&l->b, "clamp"), ok = ir_new_block(&l->b, "index");
		ir_set(&l->b, r, i);
		ir_br(&l->b, IC_UGE, ir_reg(r), ir_imm(n), big, ok);
		ir_set_block(&l->b, big);
		ir_set(&l->b, r, ir_imm(n - 1));
		ir_jmp(&l->b, ok);
		ir_set_block(&l->b, ok);
		i = ir_reg(r);
	}
	i = size > 1 ? ir_bin(&l->b, IR_MUL, i, ir_imm(size)) : i;
	if (m.ctx) {
		m.ctx = false;
		m.as = AS_KERNEL;
	}
	m.v = ir_bin(&l->b, IR_ADD, addr_of(l, m), i);
	m.off = 0;
	return m;
}

struct Val lx_place(struct Lower *l, struct Expr *e)
{
	switch (e->kind) {
	case E_FIELD:
		return field_place(l, e);
	case E_INDEX:
		return index_place(l, e);
	case E_UNOP:
		if (e->op == OP_DEREF) {
			struct Val p = lx(l, e->a);
			struct Val m = val_mem(e->type, p.v, 0, e->as == AS_NONE ? AS_KERNEL : e->as);
			m.btf = p.btf;
			return m;
		}
		break;
	case E_TUPFIELD: {
		struct Val m = lx(l, e->a);
		const struct TupleField *f = &m.type->fields[e->tup];
		m.off += (s32)f->off;
		m.type = f->type;
		return m;
	}
	default:
		break;
	}
	return lx(l, e);
}

// Reads what lx_place found: a scalar is loaded, memory stays where it is (context memory becomes kernel memory).
static struct Val read_place(struct Lower *l, struct Val m, const struct Expr *e)
{
	const struct Type *t = e->type;
	l->read_at = e->span;
	m.type = t;
	if (!m.mem)
		return m;
	if (m.ctx) {
		if (ty_scalar(t)) {
			struct Val v = m;
			v.as = AS_BPF;
			// raw contexts are arrays of 8 byte slots
			if (l->pu->point->ctx == CTX_RAW) {
				struct IrVal x = ir_load(&l->b, m.v, m.off, 8, false);
				struct Val r = val_scalar(t, t->size < 8 ? ir_ext(&l->b, x, t->size, t->sgn) : x);
				r.btf = l->pp->kind == PK_FENTRY || l->pp->kind == PK_FEXIT || l->pp->kind == PK_RAWTP;
				return r;
			}
			struct Val r = val_scalar(t, load_scalar(l, v));
			r.btf = m.btf;
			return r;
		}
		m.v = addr_of(l, m);
		m.off = 0;
		m.ctx = false;
		m.as = AS_KERNEL;
		return m;
	}
	if (!ty_scalar(t))
		return m;
	if (l->direct_btf && m.btf) {
		struct Val d = m;
		d.as = AS_BPF;
		struct Val r = val_scalar(t, load_scalar(l, d));
		r.btf = t->kind == TY_PTR;
		return r;
	}
	return val_scalar(t, load_scalar(l, m));
}

static struct Val data_loc(struct Lower *l, struct Expr *e, struct Val m)
{
	struct Val word = m;
	word.type = ty_int(l->u->types, 4, false);
	word.as = AS_BPF;
	struct IrVal w = load_scalar(l, word);
	struct IrVal off = ir_bin(&l->b, IR_AND, w, ir_imm(0xffff));
	if (e->field.rel_loc)
		off = ir_bin(&l->b, IR_ADD, off, ir_imm(m.off + 4));
	return val_scalar(e->type, ir_bin(&l->b, IR_ADD, ir_mov(&l->b, m.v), off));
}

// ---- into memory

static void tuple_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, const struct Type *t, bool pad)
{
	u32 at = 0;
	for (u32 i = 0; i < e->nargs; i++) {
		const struct TupleField *f = &t->fields[i], *from = ty_tuple_field(e->type, f, i);
		if (pad && f->off > at)
			zero_bytes(l, base, off + (s32)at, f->off - at);
		lx_into(l, e->args[from - e->type->fields], base, off + (s32)f->off, f->type, pad);
		at = f->off + f->type->size;
	}
	if (pad && t->size > at)
		zero_bytes(l, base, off + (s32)at, t->size - at);
}

void lx_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, const struct Type *t, bool pad)
{
	if (ty_scalar(t)) {
		ir_store(&l->b, base, off, t->size, lx_int(l, e));
		return;
	}
	switch (e->kind) {
	case E_STR:
		store_lit_str(l, base, off, t->size, e->str, e->len, pad);
		return;
	case E_TUPLE:
		tuple_into(l, e, base, off, t, pad);
		return;
	case E_CALL:
	case E_IDENT:
		if (call_into(l, e, base, off, t, pad))
			return;
		break;
	case E_MAP:
	case E_MAPREF:
		if (!ty_scalar(e->type)) {
			lm_into(l, e, base, off, t, pad);
			return;
		}
		break;
	case E_TERNARY:
	case E_IF: {
		IrBlk a = ir_new_block(&l->b, "then"), b = ir_new_block(&l->b, "else"), end = ir_new_block(&l->b, "endif");
		lx_cond(l, e->a, a, b);
		ir_set_block(&l->b, a);
		lx_into(l, e->b, base, off, t, pad);
		ir_jmp(&l->b, end);
		ir_set_block(&l->b, b);
		lx_into(l, e->c, base, off, t, pad);
		ir_jmp(&l->b, end);
		ir_set_block(&l->b, end);
		return;
	}
	case E_BLOCK:
		lower_stmts(l, e->body);
		if (e->a)
			lx_into(l, e->a, base, off, t, pad);
		return;
	default:
		break;
	}
	struct Val v = lx(l, e);
	if (v.type->kind == TY_RECORD && t->kind == TY_RECORD)
		v.type = t;
	store_val(l, v, base, off, t, pad);
}

// ---- values

static struct Val ternary(struct Lower *l, struct Expr *e)
{
	IrBlk a = ir_new_block(&l->b, "then"), b = ir_new_block(&l->b, "else"), end = ir_new_block(&l->b, "endif");
	bool is_void = e->type->kind == TY_VOID || e->type->kind == TY_NONE, scalar = !is_void && ty_scalar(e->type);
	IrReg r = scalar ? ir_new_reg(&l->b) : 0;
	struct Val m = scalar || is_void ? (struct Val){.type = e->type} : tmp_mem(l, e->type, e->type->size);
	lx_cond(l, e->a, a, b);
	for (int i = 0; i < 2; i++) {
		struct Expr *x = i ? e->c : e->b;
		ir_set_block(&l->b, i ? b : a);
		if (is_void)
			lx_drop(l, x);
		else if (scalar)
			ir_set(&l->b, r, lx_int(l, x));
		else
			lx_into(l, x, m.v, m.off, e->type, false);
		ir_jmp(&l->b, end);
	}
	ir_set_block(&l->b, end);
	return scalar ? val_scalar(e->type, ir_reg(r)) : m;
}

static struct Val int_to_array(struct Lower *l, struct Expr *e)
{
	struct Val m = tmp_mem(l, e->type, 8);
	ir_store(&l->b, m.v, m.off, 8, lx_int(l, e->a));
	return m;
}

static struct Val cast(struct Lower *l, struct Expr *e)
{
	const struct Type *to = e->type, *from = e->a->type;
	if (ty_scalar(to)) {
		if (from->kind == TY_ARRAY || from->kind == TY_INET) {
			struct Val m = lx(l, e->a);
			u32 n = to->kind == TY_PTR ? 8 : to->size;
			to_bpf_mem(l, &m, n);
			return val_scalar(to, ir_load(&l->b, m.v, m.off, n, to->sgn));
		}
		if (from->kind == TY_USYM) {
			struct Val m = lx(l, e->a);
			return val_scalar(to, ir_load(&l->b, m.v, m.off, 8, false));
		}
		struct Val x = lx(l, e->a);
		struct IrVal v = x.mem || ty_is_aggr(from) ? lx_int(l, e->a) : x.v;
		if (to->kind == TY_BOOL)
			return bool_of(l, e->a);
		if (to->kind == TY_INT && to->size < 8 && !to->en)
			v = ir_ext(&l->b, v, to->size, to->sgn);
		return val_scalar(to, v);
	}
	if (to->kind == TY_ARRAY && ty_scalar(from))
		return int_to_array(l, e);
	if (to->kind == TY_STR) {
		struct Val m = tmp_mem(l, to, to->size);
		lx_into(l, e->a, m.v, m.off, to, true);
		return m;
	}
	struct Val m = lx(l, e->a);
	m.type = to;
	return m;
}

static struct Val literal_mem(struct Lower *l, struct Expr *e)
{
	struct Val m = tmp_mem(l, e->type, e->type->size);
	lx_into(l, e, m.v, m.off, e->type, true);
	return m;
}

static struct Val expr_val(struct Lower *l, struct Expr *e)
{
	switch (e->kind) {
	case E_INT:
	case E_BOOL:
		return val_scalar(e->type, ir_imm((s64)e->ival));
	case E_STR:
	case E_TUPLE:
		return literal_mem(l, e);
	case E_IDENT:
		return e->builtin ? lower_call(l, e) : lower_argn(l, e);
	case E_CALL:
		return lower_call(l, e);
	case E_VAR:
		return var_val(l, e->var);
	case E_MAP:
	case E_MAPREF:
		return lm_get(l, e);
	case E_FIELD: {
		struct Val m = field_place(l, e);
		if (e->field.data_loc || e->field.rel_loc)
			return data_loc(l, e, m);
		return read_place(l, m, e);
	}
	case E_TUPFIELD:
	case E_INDEX:
		return read_place(l, lx_place(l, e), e);
	case E_UNOP:
		return e->op == OP_DEREF ? read_place(l, lx_place(l, e), e) : unop(l, e);
	case E_BINOP:
		return binop(l, e);
	case E_TERNARY:
	case E_IF:
		return ternary(l, e);
	case E_CAST:
		return cast(l, e);
	case E_BLOCK:
		lower_stmts(l, e->body);
		if (e->a)
			return lx(l, e->a);
		return (struct Val){.type = e->type};
	case E_COMPTIME:
		return lx(l, e->a);
	case E_POSPARAM: case E_POSCOUNT: case E_SIZEOF: case E_OFFSETOF: case E_TYPEINFO: case E_TYPE:
		break; // literals since check
	}
	UNREACHABLE();
}

struct Val lx(struct Lower *l, struct Expr *e)
{
	struct Val v = expr_val(l, e);
	if (!v.type)
		v.type = e->type;
	return v;
}

struct IrVal lx_int(struct Lower *l, struct Expr *e)
{
	if (ty_is_aggr(e->type) && (e->kind == E_MAP || e->kind == E_MAPREF))
		return lm_aggr_int(l, e->map, lm_ref_key(l, e));
	struct Val v = lx(l, e);
	if (!v.mem)
		return v.v.kind == IRO_NONE ? ir_imm(0) : v.v;
	if (v.type->kind == TY_USYM)
		return ir_load(&l->b, v.v, v.off, 8, false);
	if (v.type->kind == TY_RECORD || !ty_scalar(v.type))
		return addr_of(l, v); // the address of what lives in memory
	return load_scalar(l, v);
}

void lx_drop(struct Lower *l, struct Expr *e)
{
	if (e->kind == E_UNOP && e->op >= OP_PREINC)
		incdec(l, e, false);
	else if (e->kind == E_TERNARY || e->kind == E_IF) {
		IrBlk a = ir_new_block(&l->b, "then"), b = ir_new_block(&l->b, "else"), end = ir_new_block(&l->b, "endif");
		lx_cond(l, e->a, a, b);
		ir_set_block(&l->b, a);
		lx_drop(l, e->b);
		ir_jmp(&l->b, end);
		ir_set_block(&l->b, b);
		lx_drop(l, e->c);
		ir_jmp(&l->b, end);
		ir_set_block(&l->b, end);
	} else if (e->kind == E_MAP && e->type->kind == TY_VOID)
		;
	else if (e->kind == E_CALL && e->builtin && e->builtin->id == BI_delete)
		lower_delete(l, e, false);
	else
		lx(l, e);
}

static bool note_effect(void *arg, struct Expr *e)
{
	bool *found = arg;
	if ((e->kind == E_UNOP && e->op >= OP_PREINC) || e->kind == E_BLOCK || e->kind == E_IF)
		*found = true;
	if (e->kind == E_CALL && e->builtin && (e->builtin->id == BI_delete || e->builtin->id == BI_find || (e->builtin->flags & BF_VOID)))
		*found = true;
	return !*found;
}

bool has_side_effects(const struct Expr *e)
{
	bool found = false;
	walk_expr((struct Expr *)e, note_effect, &found);
	return found;
}
