// Simplifies single instructions by algebra and by what is known about the size of values. Input: an instruction whose operands have been
// propagated. Output: the same value from a cheaper instruction. Pointers pass through ADD, SUB and MOV only, and only constants are
// regrouped there, so the kernel's verifier sees nothing it would not have seen before.
#include "ir/internal.h"

static u32 imm_bits(s64 v)
{
	return v ? 64 - (u32)__builtin_clzll((u64)v) : 0;
}

static u32 val_bits(const u8 *bits, struct IrVal v)
{
	return v.kind == IRO_REG ? bits[v.id] : v.kind == IRO_IMM ? imm_bits(v.imm) : 64;
}

// The verifier gives up on divisions, swaps and atomics (adjust_scalar_min_max_vals): what is only known through them may not remove a mask or
// a comparison, which lower*.c may have put there as its proof.
static bool verifier_loses(enum IrOp op)
{
	return (op >= IR_UDIV && op <= IR_SMOD) || op == IR_BSWAP || (op >= IR_ATOMIC_ADD && op <= IR_ATOMIC_CAS);
}

static u32 result_bits(const struct IrInsn *in, const u8 *bits)
{
	u32 a = val_bits(bits, in->a), b = val_bits(bits, in->b), k = in->b.kind == IRO_IMM ? (u32)in->b.imm & 63 : 64;
	switch (in->op) {
	case IR_MOV: return a;
	case IR_ADD: return MIN(MAX(a, b) + 1, 64u);
	case IR_MUL: return MIN(a + b, 64u);
	case IR_UDIV: return a;
	case IR_UMOD: return in->b.kind == IRO_IMM && in->b.imm ? MIN(a, imm_bits((s64)((u64)in->b.imm - 1))) : a;
	case IR_SDIV: return a < 64 && b < 64 ? a : 64;
	case IR_SMOD: return a;
	case IR_AND: return MIN(a, b);
	case IR_OR:
	case IR_XOR: return MAX(a, b);
	case IR_SHL: return MIN(a + k, 64u);
	case IR_LSHR: return k == 64 ? a : a > k ? a - k : 0;
	case IR_ASHR: return a == 64 ? 64 : k == 64 ? a : a > k ? a - k : 0;
	case IR_ZEXT: return MIN(a, in->size * 8u);
	case IR_SEXT: return a < in->size * 8u ? a : 64;
	case IR_BSWAP:
	case IR_LOAD:
	case IR_ATOMIC_ADD:
	case IR_ATOMIC_XCHG:
	case IR_ATOMIC_CAS: return in->size * 8;
	default: return 64;
	}
}

void ir_value_bits(const struct IrFunc *f, const struct IrOrder *o, bool verifier, u8 *bits)
{
	memset(bits, 0, f->nregs + 1);
	memset(bits + 1, 64, f->nparams);
	// Grows from 0 to a fixpoint. Counters in loops would take 64 rounds: after a few, what still grows is unknown.
	bool again = true;
	for (u32 round = 0; again; round++) {
		again = false;
		for (u32 i = 0; i < o->n; i++) {
			const struct IrBlock *b = &f->blocks.p[o->order[i]];
			for (size_t k = 0; k < b->insns.n; k++) {
				IrReg d = b->insns.p[k].d;
				u32 n = !d ? 0 : verifier && verifier_loses(b->insns.p[k].op) ? 64 : result_bits(&b->insns.p[k], bits);
				if (!d || n <= bits[d])
					continue;
				bits[d] = round < 3 ? (u8)n : 64;
				again = true;
			}
		}
	}
}

static bool to_mov(struct IrInsn *in, struct IrVal v)
{
	*in = (struct IrInsn){.op = IR_MOV, .d = in->d, .a = v, .loc = in->loc};
	return true;
}

static bool to_op(struct IrInsn *in, enum IrOp op, s64 imm)
{
	in->op = (u8)op;
	in->b = ir_imm(imm);
	return true;
}

static const struct IrInsn *def_of(const struct IrDefs *d, struct IrVal v)
{
	return v.kind == IRO_REG ? d->def[v.id] : NULL;
}

// v never changes, so it may be read at any later point instead of where the definition reads it.
static bool is_fixed(const struct IrDefs *d, struct IrVal v)
{
	return v.kind != IRO_REG || d->ndefs[v.id] == 1;
}

static bool with_imm(struct IrInsn *in, const struct IrDefs *d)
{
	const struct IrInsn *da = def_of(d, in->a);
	s64 n = in->b.imm;
	u32 bits = val_bits(d->bits, in->a);
	bool pow2 = n > 0 && !(n & (n - 1));
	struct IrVal sum;
	// (x op m) op n -> x op (m op n)
	bool chain = da && da->op == in->op && da->b.kind == IRO_IMM && da->d != in->d && is_fixed(d, da->a);
	switch (in->op) {
	case IR_SUB:
		return n != INT64_MIN && to_op(in, IR_ADD, -n);
	case IR_ADD:
		if (n == 0)
			return to_mov(in, in->a);
		if (ir_add_const(in->a, n, &sum))
			return to_mov(in, sum);
		if (chain && fits_s32(n) && fits_s32(da->b.imm) && fits_s32(n + da->b.imm)) {
			n += da->b.imm;
			in->a = da->a;
			return to_op(in, IR_ADD, n);
		}
		return false;
	case IR_OR:
	case IR_XOR:
		return n == 0 && to_mov(in, in->a);
	case IR_SHL:
	case IR_LSHR:
	case IR_ASHR:
		if ((n & 63) == 0)
			return to_mov(in, in->a);
		if (in->op == IR_ASHR && bits < 64)
			return to_op(in, IR_LSHR, n & 63);
		return n != (n & 63) && to_op(in, in->op, n & 63);
	case IR_MUL:
		if (n == 0 || n == 1)
			return to_mov(in, n ? in->a : ir_imm(0));
		return pow2 && to_op(in, IR_SHL, __builtin_ctzll((u64)n));
	case IR_SDIV:
	case IR_SMOD:
		if (bits < 64 && n > 0) {
			in->op = in->op == IR_SDIV ? IR_UDIV : IR_UMOD;
			return true;
		}
		return false;
	case IR_UDIV:
		if (n == 0 || n == 1)
			return to_mov(in, n ? in->a : ir_imm(0));
		return pow2 && to_op(in, IR_LSHR, __builtin_ctzll((u64)n));
	case IR_UMOD:
		if (n == 0 || n == 1)
			return to_mov(in, n ? ir_imm(0) : in->a);
		return pow2 && to_op(in, IR_AND, n - 1);
	case IR_AND:
		if (n == 0)
			return to_mov(in, ir_imm(0));
		bits = val_bits(d->vbits, in->a);
		if (bits < 64 ? !(~n & (s64)((1ULL << bits) - 1)) : n == -1) // no bit of the value is masked out
			return to_mov(in, in->a);
		if (n == UINT32_MAX) {
			in->op = IR_ZEXT;
			in->size = 4;
			in->b = (struct IrVal){0};
			return true;
		}
		if (chain) {
			n &= da->b.imm;
			in->a = da->a;
			return to_op(in, IR_AND, n);
		}
		return false;
	}
	return false;
}

static bool arith(struct IrInsn *in, const struct IrDefs *d)
{
	if (in->a.kind == IRO_IMM && in->b.kind == IRO_IMM)
		return to_mov(in, ir_imm(ir_fold_bin(in->op, in->a.imm, in->b.imm)));
	if (ir_ops[in->op].flags & F_COMM && in->a.kind == IRO_IMM) {
		struct IrVal x = in->a;
		in->a = in->b;
		in->b = x;
		with_imm(in, d);
		return true;
	}
	if (in->b.kind == IRO_IMM)
		return with_imm(in, d);
	if ((in->op == IR_SDIV || in->op == IR_SMOD) && val_bits(d->bits, in->a) < 64 && val_bits(d->bits, in->b) < 64) {
		in->op = in->op == IR_SDIV ? IR_UDIV : IR_UMOD;
		return true;
	}
	return false;
}

static bool extension(struct IrInsn *in, const struct IrDefs *d)
{
	u32 n = in->size * 8, bits = val_bits(d->vbits, in->a);
	const struct IrInsn *da = def_of(d, in->a);
	if (in->a.kind == IRO_IMM)
		return to_mov(in, ir_imm(ir_fold_un(in->op, in->size, in->a.imm)));
	if (n == 64 || (in->op == IR_ZEXT ? bits <= n : bits < n))
		return to_mov(in, in->a);
	if (!da || (da->op != IR_SEXT && da->op != IR_ZEXT))
		return false;
	if (in->op == IR_SEXT && da->op == IR_SEXT && da->size <= in->size)
		return to_mov(in, in->a);
	// Only the low bytes count: an extension to at least as many before it is for nothing.
	if (da->size >= in->size && is_fixed(d, da->a) && da->a.kind == IRO_REG) {
		in->a = da->a;
		return true;
	}
	return false;
}

// [x + n] + off -> [x] + n + off
static bool memory(struct IrInsn *in, const struct IrDefs *d)
{
	const struct IrInsn *da = def_of(d, in->a);
	struct IrVal x;
	if (in->a.kind == IRO_MAPVAL && in->off && ir_add_const(in->a, in->off, &x)) {
		in->a = x;
		in->off = 0;
		return true;
	}
	if (!da || da->op != IR_ADD || da->b.kind != IRO_IMM || da->a.kind != IRO_REG || !is_fixed(d, da->a) || !fits_s16(da->b.imm) ||
	    !fits_s16(in->off + da->b.imm))
		return false;
	in->a = da->a;
	in->off += (s32)da->b.imm;
	return true;
}

static bool compare(struct IrInsn *in, const struct IrDefs *d)
{
	if (in->a.kind == IRO_IMM && in->b.kind != IRO_IMM) {
		struct IrVal x = in->a;
		in->a = in->b;
		in->b = x;
		in->cond = (u8)ir_cond_swap(in->cond);
		compare(in, d);
		return true;
	}
	if (in->b.kind != IRO_IMM || in->a.kind != IRO_REG || in->size != 8)
		return false;
	u32 bits = val_bits(d->vbits, in->a);
	u64 n = (u64)in->b.imm, max = bits < 64 ? (1ULL << bits) - 1 : ~0ULL;
	int known = -1;
	switch (in->cond) {
	case IC_EQ: known = n > max ? 0 : -1; break;
	case IC_NE: known = n > max ? 1 : -1; break;
	case IC_ULT: known = n > max ? 1 : n == 0 ? 0 : -1; break;
	case IC_ULE: known = n >= max ? 1 : -1; break;
	case IC_UGT: known = n >= max ? 0 : -1; break;
	case IC_UGE: known = n > max ? 0 : n == 0 ? 1 : -1; break;
	case IC_SLT: known = bits < 64 ? ((s64)n <= 0 ? 0 : n > max ? 1 : -1) : -1; break;
	case IC_SLE: known = bits < 64 ? ((s64)n < 0 ? 0 : n >= max ? 1 : -1) : -1; break;
	case IC_SGT: known = bits < 64 ? ((s64)n < 0 ? 1 : n >= max ? 0 : -1) : -1; break;
	case IC_SGE: known = bits < 64 ? ((s64)n <= 0 ? 1 : n > max ? 0 : -1) : -1; break;
	case IC_SET: known = !(n & max) ? 0 : -1; break;
	}
	if (known < 0)
		return false;
	in->op = IR_JMP;
	in->t = known ? in->t : in->f;
	in->a = in->b = (struct IrVal){0};
	return true;
}

bool ir_simplify(struct IrInsn *in, const struct IrDefs *d)
{
	u32 flags = ir_ops[in->op].flags;
	if (flags & F_ARITH)
		return arith(in, d);
	if (flags & F_MEM)
		return memory(in, d);
	switch (in->op) {
	case IR_NEG:
	case IR_BSWAP:
		return in->a.kind == IRO_IMM && to_mov(in, ir_imm(ir_fold_un(in->op, in->size, in->a.imm)));
	case IR_ZEXT:
	case IR_SEXT:
		return extension(in, d);
	case IR_BR:
		return compare(in, d);
	default:
		return false;
	}
}
