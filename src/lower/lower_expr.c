// Expressions -> IR: variables, values, and values into memory. Operators are in lower_op.c, fields and elements in lower_place.c.
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
		if (!v->reg || v->reg_fn != l->b.fn) {
			v->reg = ir_new_reg(&l->b);
			v->reg_fn = l->b.fn;
		}
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
	kept_into(l, e, base, off, v->type, v->name);
}

static bool reads(void *name, struct Expr *e)
{
	bool *found = *(bool **)name;
	*found |= (e->kind == E_VAR || e->kind == E_MAP || e->kind == E_MAPREF) && !strcmp(e->str, ((const char **)name)[1]);
	return !*found;
}

void kept_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, const struct Type *t, const char *name)
{
	bool found = false, pad = keeps_short_text(t);
	walk_expr(e, reads, (const void *[]){&found, name});
	if (!found || (t->kind == TY_STR && !pad)) {
		lx_into(l, e, base, off, t, pad);
		return;
	}
	struct Val aside = tmp_mem(l, t, t->size); // `$t = ($t.1, $t.0)`; and what is padded first cannot be read then
	lx_into(l, e, aside.v, aside.off, t, pad);
	store_val(l, aside, base, off, t, pad);
}

// ---- into memory

static void tuple_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, const struct Type *t, bool pad)
{
	u32 at = 0;
	for (u32 i = 0; i < e->nargs; i++) {
		const struct TupleField *f = &t->fields[i], *from = ty_tuple_field(e->type, f, i);
		if (f->off > at) // helpers read whole values, and kernels before 6.3 want each byte of the stack written before
			zero_bytes(l, base, off + (s32)at, f->off - at);
		lx_into(l, e->args[from - e->type->fields], base, off + (s32)f->off, f->type, pad);
		at = f->off + f->type->size;
	}
	if (t->size > at)
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
			lx_into(l, x, m.v, m.off, e->type, keeps_short_text(e->type));
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
			return lx_bool(l, e->a);
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
	case E_FIELD:
		if (e->a->type->kind == TY_STATS)
			return val_scalar(e->type, lm_aggr_field(l, e->a, e->str));
		return lx_read_place(l, e);
	case E_TUPFIELD:
	case E_INDEX:
		return lx_read_place(l, e);
	case E_UNOP:
		return e->op == OP_DEREF ? lx_read_place(l, e) : lx_unop(l, e);
	case E_BINOP:
		return lx_binop(l, e);
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

static struct IrVal int_of(struct Lower *l, struct Expr *e)
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

struct IrVal lx_int(struct Lower *l, struct Expr *e)
{
	struct TmpMark m = tmp_mark(l);
	struct IrVal v = int_of(l, e);
	if (ty_is_int(e->type)) // a pointer may be to a temporary
		tmp_release(l, m);
	return v;
}

void lx_drop(struct Lower *l, struct Expr *e)
{
	if (e->kind == E_UNOP && e->op >= OP_PREINC)
		lx_incdec(l, e, false);
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
	if (e->kind == E_CALL && e->builtin && (e->builtin->id == BI_delete || e->builtin->id == BI_find || e->builtin->id == BI_percentile || (e->builtin->flags & BF_VOID)))
		*found = true;
	return !*found;
}

bool has_side_effects(const struct Expr *e)
{
	bool found = false;
	walk_expr((struct Expr *)e, note_effect, &found);
	return found;
}
