// Control flow: constant branches become jumps, jumps to jumps go straight, a branch on a value that the jumping block has just set to a constant
// is decided there, blocks with one predecessor join it, unreachable ones go. Input and output: a verified function.
#include "ir/internal.h"

#define THREAD_MAX 16	// steps along a chain of jumps: also ends a walk around an empty loop
#define LOOK_BACK 16	// instructions searched for the constant a branch tests

// Value of r at the end of b if b itself sets it to a constant near its end.
static bool const_at_end(const struct IrBlock *b, IrReg r, s64 *v)
{
	for (size_t k = b->insns.n, stop = k > LOOK_BACK ? k - LOOK_BACK : 0; k-- > stop;) {
		const struct IrInsn *in = &b->insns.p[k];
		if (in->d != r)
			continue;
		*v = in->a.imm;
		return in->op == IR_MOV && in->a.kind == IRO_IMM;
	}
	return false;
}

// Where control that leaves `from` for t really ends up.
static IrBlk thread(const struct IrFunc *f, const struct IrBlock *from, IrBlk t)
{
	for (u32 i = 0; i < THREAD_MAX; i++) {
		const struct IrBlock *b = &f->blocks.p[t];
		const struct IrInsn *in = b->insns.p;
		s64 v;
		if (b->insns.n != 1)
			return t;
		if (in->op == IR_JMP)
			t = in->t;
		else if (in->op == IR_BR && in->a.kind == IRO_REG && in->b.kind == IRO_IMM && const_at_end(from, in->a.id, &v))
			t = ir_fold_cond(in->cond, in->size, v, in->b.imm) ? in->t : in->f;
		else
			return t;
	}
	return t;
}

static bool fold_branches(struct IrFunc *f)
{
	bool changed = false;
	for (size_t i = 0; i < f->blocks.n; i++) {
		struct IrInsn *in = ir_term(&f->blocks.p[i]);
		if (!in || (in->op != IR_JMP && in->op != IR_BR))
			continue;
		IrBlk t = thread(f, &f->blocks.p[i], in->t);
		changed |= t != in->t;
		in->t = t;
		if (in->op == IR_JMP)
			continue;
		t = thread(f, &f->blocks.p[i], in->f);
		changed |= t != in->f;
		in->f = t;
		bool known = in->a.kind == IRO_IMM && in->b.kind == IRO_IMM;
		if (!known && in->t != in->f)
			continue;
		t = in->t == in->f || ir_fold_cond(in->cond, in->size, in->a.imm, in->b.imm) ? in->t : in->f;
		*in = (struct IrInsn){.op = IR_JMP, .t = t, .loc = in->loc};
		changed = true;
	}
	return changed;
}

static bool merge_blocks(struct IrFunc *f)
{
	u32 *npreds = xcalloc(f->blocks.n, sizeof(*npreds));
	bool changed = false;
	struct IrOrder o;
	ir_order(f, &o);
	npreds[0] = 1;
	for (u32 i = 0; i < o.n; i++) {
		IrBlk succ[2];
		for (u32 k = ir_succs(ir_term(&f->blocks.p[o.order[i]]), succ); k--;)
			npreds[succ[k]]++;
	}
	for (u32 i = 0; i < o.n; i++) {
		struct IrBlock *b = &f->blocks.p[o.order[i]];
		for (struct IrInsn *t = ir_term(b); t && t->op == IR_JMP && npreds[t->t] == 1 && t->t != o.order[i]; t = ir_term(b)) {
			struct IrBlock *next = &f->blocks.p[t->t];
			b->insns.n--;
			for (size_t k = 0; k < next->insns.n; k++)
				vec_push(&b->insns, next->insns.p[k]);
			next->insns.n = 0; // unreachable now
			changed = true;
		}
	}
	ir_order_deinit(&o);
	free(npreds);
	return changed;
}

static bool drop_unreachable(struct IrFunc *f)
{
	struct IrOrder o;
	u32 *new_no = xcalloc(f->blocks.n, sizeof(*new_no)), n = 0;
	ir_order(f, &o);
	for (u32 i = 0; i < f->blocks.n; i++) {
		new_no[i] = n;
		if (o.at[i] == ~0u)
			vec_deinit(&f->blocks.p[i].insns);
		else
			f->blocks.p[n++] = f->blocks.p[i];
	}
	bool changed = n != f->blocks.n;
	f->blocks.n = n;
	for (u32 i = 0; changed && i < n; i++) {
		struct IrInsn *t = ir_term(&f->blocks.p[i]);
		if (t->op == IR_JMP || t->op == IR_BR)
			t->t = new_no[t->t];
		if (t->op == IR_BR)
			t->f = new_no[t->f];
	}
	ir_order_deinit(&o);
	free(new_no);
	return changed;
}

bool ir_simplify_cfg(struct IrFunc *f)
{
	bool changed = fold_branches(f);
	changed |= merge_blocks(f);
	changed |= drop_unreachable(f);
	return changed;
}
