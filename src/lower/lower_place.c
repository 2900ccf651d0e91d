// Where values live -> IR: the places of fields, elements and what pointers point to, and reading them.
#include "lower/internal.h"

// The action is over: what an iterator's context points to is not there. The verifier wants the test before arithmetic on the pointer.
void leave_if_null(struct Lower *l, struct IrVal p)
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

// Warns of an index beyond the array. The verifier wants a bound for memory of the program's own, whose last element is taken then; other memory
// is read as C does: arrays at the end of a struct are often longer than they say.
static struct IrVal bounded_index(struct Lower *l, struct IrVal i, u32 n, bool own, struct Span at)
{
	IrReg r = ir_new_reg(&l->b);
	IrBlk big = ir_new_block(&l->b, "beyond"), ok = ir_new_block(&l->b, "index");
	ir_set(&l->b, r, i);
	ir_br(&l->b, IC_UGE, ir_reg(r), ir_imm(n), big, ok);
	ir_set_block(&l->b, big);
	report_failure(l, ir_reg(r), "Array access out of bounds. This can lead to unexpected results.", at);
	if (own)
		ir_set(&l->b, r, ir_imm(n - 1));
	ir_jmp(&l->b, ok);
	ir_set_block(&l->b, ok);
	return ir_reg(r);
}

static struct Val index_place(struct Lower *l, struct Expr *e)
{
	const struct Type *at = ty_as_text(l->u->types, e->a->type);
	u32 size = e->type->kind == TY_RECORD ? e->type->rec->size : e->type->size;
	struct Val m;
	if (at->kind == TY_PTR)
		m = val_mem(NULL, lx_int(l, e->a), 0, e->as == AS_NONE ? AS_KERNEL : e->as);
	else if (at->kind == TY_STR || at->kind == TY_BUF)
		m = as_text(l, lx(l, e->a));
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
	if (n)
		i = bounded_index(l, i, n, m.as == AS_BPF, e->span);
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

struct Val lx_read_place(struct Lower *l, struct Expr *e)
{
	struct Val m = lx_place(l, e);
	if (e->kind == E_FIELD && (e->field.data_loc || e->field.rel_loc))
		return data_loc(l, e, m);
	return read_place(l, m, e);
}
