// Opcode table, operand walks and constant evaluation. The evaluation is the reference for what an opcode means: folding, the tests'
// interpreter and the kernel must agree.
#include "ir/internal.h"

const struct IrOpInfo ir_ops[IR_OPS] = {
#define OP(id, text, flags) [IR_##id] = {text, flags},
#include "ir/ops.def"
#undef OP
};

const char *const ir_cond_names[IR_CONDS] = {"eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge", "set"};

u32 ir_uses(struct IrInsn *in, struct IrVal *out[IR_MAX_USES])
{
	u32 n = 0, flags = ir_ops[in->op].flags;
	if (flags & F_A && in->a.kind)
		out[n++] = &in->a;
	if (flags & F_B && in->b.kind)
		out[n++] = &in->b;
	if (flags & F_ARGS)
		for (u32 i = 0; i < in->nargs; i++)
			out[n++] = &in->args[i];
	return n;
}

u32 ir_succs(const struct IrInsn *term, IrBlk out[2])
{
	if (term->op == IR_JMP) {
		out[0] = term->t;
		return 1;
	}
	if (term->op != IR_BR)
		return 0;
	out[0] = term->t;
	out[1] = term->f;
	return 2;
}

s64 ir_fold_bin(enum IrOp op, s64 x, s64 y)
{
	u64 a = (u64)x, b = (u64)y;
	switch (op) {
	case IR_ADD: return (s64)(a + b);
	case IR_SUB: return (s64)(a - b);
	case IR_MUL: return (s64)(a * b);
	case IR_UDIV: return b ? (s64)(a / b) : 0;
	case IR_UMOD: return b ? (s64)(a % b) : x;
	case IR_SDIV: return !y ? 0 : y == -1 ? (s64)(0 - a) : x / y;
	case IR_SMOD: return !y ? x : y == -1 ? 0 : x % y;
	case IR_AND: return (s64)(a & b);
	case IR_OR: return (s64)(a | b);
	case IR_XOR: return (s64)(a ^ b);
	case IR_SHL: return (s64)(a << (b & 63));
	case IR_LSHR: return (s64)(a >> (b & 63));
	case IR_ASHR: return x >> (b & 63);
	default: UNREACHABLE();
	}
}

s64 ir_fold_un(enum IrOp op, u32 size, s64 x)
{
	u32 drop = 64 - size * 8;
	switch (op) {
	case IR_NEG: return (s64)(0 - (u64)x);
	case IR_ZEXT: return (s64)((u64)x << drop >> drop);
	case IR_SEXT: return (s64)((u64)x << drop) >> drop;
	case IR_BSWAP: return (s64)(__builtin_bswap64((u64)x) >> drop);
	default: UNREACHABLE();
	}
}

bool ir_fold_cond(enum IrCond c, u32 size, s64 x, s64 y)
{
	u64 a = (u64)x, b = (u64)y;
	if (size == 4) {
		a = (u32)x, b = (u32)y;
		x = (s32)x, y = (s32)y;
	}
	switch (c) {
	case IC_EQ: return a == b;
	case IC_NE: return a != b;
	case IC_ULT: return a < b;
	case IC_ULE: return a <= b;
	case IC_UGT: return a > b;
	case IC_UGE: return a >= b;
	case IC_SLT: return x < y;
	case IC_SLE: return x <= y;
	case IC_SGT: return x > y;
	case IC_SGE: return x >= y;
	case IC_SET: return (a & b) != 0;
	}
	UNREACHABLE();
}

enum IrCond ir_cond_swap(enum IrCond c)
{
	static const u8 swap[IR_CONDS] = {[IC_EQ] = IC_EQ,   [IC_NE] = IC_NE,	[IC_ULT] = IC_UGT, [IC_ULE] = IC_UGE,
					  [IC_UGT] = IC_ULT, [IC_UGE] = IC_ULE, [IC_SLT] = IC_SGT, [IC_SLE] = IC_SGE,
					  [IC_SGT] = IC_SLT, [IC_SGE] = IC_SLE, [IC_SET] = IC_SET};
	return swap[c];
}

bool ir_cond_invert(enum IrCond c, enum IrCond *out)
{
	static const u8 inv[IR_CONDS] = {[IC_EQ] = IC_NE,   [IC_NE] = IC_EQ,   [IC_ULT] = IC_UGE, [IC_ULE] = IC_UGT, [IC_UGT] = IC_ULE,
					 [IC_UGE] = IC_ULT, [IC_SLT] = IC_SGE, [IC_SLE] = IC_SGT, [IC_SGT] = IC_SLE, [IC_SGE] = IC_SLT};
	if (c == IC_SET)
		return false;
	*out = inv[c];
	return true;
}

bool ir_add_const(struct IrVal v, s64 n, struct IrVal *out)
{
	*out = v;
	out->imm = (s64)((u64)v.imm + (u64)n);
	return v.kind == IRO_IMM || ((v.kind == IRO_SLOT || v.kind == IRO_MAPVAL) && fits_s32(out->imm));
}

void ir_order(const struct IrFunc *f, struct IrOrder *o)
{
	u32 n = (u32)f->blocks.n, top = 0, done = n;
	*o = (struct IrOrder){xcalloc(n, sizeof(*o->order)), 0, xmalloc(n * sizeof(*o->at))};
	struct {
		IrBlk blk, next[2];
		u32 left;
	} *stack = xcalloc(n, sizeof(*stack));
	memset(o->at, 0xff, n * sizeof(*o->at));
	// Depth first with an explicit stack. The successor visited last comes right after its block: visit the later-made one first, so that
	// the order stays near the script's.
	for (IrBlk enter = 0;; ) {
		if (enter != ~0u) {
			o->at[enter] = 0;
			stack[top].blk = enter;
			stack[top].left = ir_succs(ir_term(&f->blocks.p[enter]), stack[top].next);
			if (stack[top].left == 2 && stack[top].next[1] < stack[top].next[0]) {
				IrBlk x = stack[top].next[0];
				stack[top].next[0] = stack[top].next[1];
				stack[top].next[1] = x;
			}
			top++;
		}
		if (!top)
			break;
		if (stack[top - 1].left) {
			enter = stack[top - 1].next[--stack[top - 1].left];
			if (o->at[enter] != ~0u)
				enter = ~0u;
		} else {
			o->order[--done] = stack[--top].blk;
			enter = ~0u;
		}
	}
	o->n = n - done;
	memmove(o->order, o->order + done, o->n * sizeof(*o->order));
	for (u32 i = 0; i < o->n; i++)
		o->at[o->order[i]] = i;
	free(stack);
}

void ir_order_deinit(struct IrOrder *o)
{
	free(o->order);
	free(o->at);
	*o = (struct IrOrder){0};
}

bool bits_any(const u64 *w, u32 from, u32 to)
{
	u32 i = from / 64, last = to / 64;
	u64 lo = ~0ULL << from % 64, hi = ~0ULL >> (63 - to % 64);
	if (i == last)
		return w[i] & lo & hi;
	if (w[i] & lo)
		return true;
	while (++i < last)
		if (w[i])
			return true;
	return w[last] & hi;
}

void bits_set(u64 *w, u32 from, u32 to)
{
	u32 i = from / 64, last = to / 64;
	u64 lo = ~0ULL << from % 64, hi = ~0ULL >> (63 - to % 64);
	if (i == last) {
		w[i] |= lo & hi;
		return;
	}
	w[i] |= lo;
	while (++i < last)
		w[i] = ~0ULL;
	w[last] |= hi;
}
