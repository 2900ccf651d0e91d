// Makes every instruction encodable. Input: a verified function. Output: the same function where
//   - the context and large or symbolic constants are in vregs, except where emit builds them in place (MOV, call arguments, RET, and as `a`
//     of an operation that copies it to d first),
//   - `b` of arithmetic, compare and store is a vreg or an immediate that fits (AND also takes an unsigned 32-bit one),
//   - addresses are a vreg or a slot plus an offset that fits 16 bits,
//   - d is not also `b` (nor the address of a fetching atomic), so that "d = a; d op= b" is right,
//   - signed division is a sequence of unsigned ones, unless the v4 instruction is safe,
//   - blocks have at most LEGAL_BLOCK_MAX instructions, so that a relay for a far jump can always be placed between two blocks,
//   - the entry block has no predecessor, and only reachable blocks hold instructions.
#include "ir/internal.h"

#define LEGAL_BLOCK_MAX 1024
#define NCACHED 16

struct Legal {
	struct IrFunc *f;
	const struct EmitOpts *o;
	VEC(struct IrInsn) out; // the block being rewritten
	u32 loc;
	IrReg ctx;
	// Constants already in a vreg in this block. They stay good across calls: regalloc rebuilds a constant rather than spilling it.
	struct {
		struct IrVal v;
		IrReg r;
	} cache[NCACHED];
	u32 ncached;
};

static IrReg fresh(struct Legal *l)
{
	return ++l->f->nregs;
}

static void put(struct Legal *l, struct IrInsn in)
{
	in.loc = l->loc;
	vec_push(&l->out, in);
}

static struct IrVal put_bin(struct Legal *l, enum IrOp op, struct IrVal a, struct IrVal b)
{
	IrReg d = fresh(l);
	put(l, (struct IrInsn){.op = (u8)op, .d = d, .a = a, .b = b});
	return ir_reg(d);
}

// v in a vreg of its own or a cached one; nobody writes to it afterwards.
static struct IrVal in_reg(struct Legal *l, struct IrVal v)
{
	if (v.kind == IRO_REG)
		return v;
	for (u32 i = 0; i < MIN(l->ncached, (u32)NCACHED); i++)
		if (ir_same(l->cache[i].v, v))
			return ir_reg(l->cache[i].r);
	IrReg r = fresh(l);
	put(l, (struct IrInsn){.op = IR_MOV, .d = r, .a = v});
	u32 at = l->ncached++ % NCACHED;
	l->cache[at].v = v;
	l->cache[at].r = r;
	return ir_reg(r);
}

// A vreg or a sign-extended 32-bit immediate.
static struct IrVal reg_or_imm(struct Legal *l, struct IrVal v)
{
	return v.kind == IRO_IMM && fits_s32(v.imm) ? v : in_reg(l, v);
}

static struct IrVal ctx_in_reg(struct Legal *l, struct IrVal v)
{
	return v.kind == IRO_CTX ? ir_reg(l->ctx) : v;
}

static void address(struct Legal *l, struct IrInsn *in)
{
	s64 off = in->off;
	if (in->a.kind == IRO_SLOT)
		return; // within 512 bytes of r10
	if (in->a.kind == IRO_MAPVAL) {
		// Prefer the start of the value as base: neighbouring fields then share it.
		off += in->a.imm;
		if (off >= 0 && off <= INT16_MAX)
			in->a.imm = 0;
		else
			in->a.imm = off, off = 0;
	}
	in->a = in_reg(l, in->a);
	if (!fits_s16(off)) {
		in->a = put_bin(l, IR_ADD, in->a, ir_imm(off));
		off = 0;
	}
	in->off = (s32)off;
}

// Without branches: |a| / |b| with the sign put back. s is -1 for a negative number, else 0, and (x ^ s) - s negates x when s is -1.
// INT64_MIN / -1: 2^63 / 1 with sign 0 is INT64_MIN again; x / 0: 0 with any sign is 0; x % 0: |x| with x's sign.
static void signed_division(struct Legal *l, struct IrInsn in)
{
	bool mod = in.op == IR_SMOD;
	struct IrVal a = in.a, b = in.b, six3 = ir_imm(63);
	if (b.kind == IRO_IMM && (b.imm == 0 || b.imm == 1 || b.imm == -1)) {
		if (mod)
			put(l, (struct IrInsn){.op = IR_MOV, .d = in.d, .a = b.imm ? ir_imm(0) : a});
		else if (b.imm == 0)
			put(l, (struct IrInsn){.op = IR_MOV, .d = in.d, .a = b});
		else
			put(l, (struct IrInsn){.op = b.imm == 1 ? IR_MOV : IR_NEG, .d = in.d, .a = a});
		return;
	}
	// Kernels between 6.6 and 6.11 trap on INT64_MIN / -1 (fixed by 7dd34d7b7dcf, "bpf: Fix a sdiv overflow issue"): only known divisors.
	if (l->o->has_v4 && b.kind == IRO_IMM && fits_s32(b.imm)) {
		put(l, in);
		return;
	}
	a = in_reg(l, a);
	struct IrVal sa = put_bin(l, IR_ASHR, a, six3), sb = ir_imm(0);
	struct IrVal ua = put_bin(l, IR_SUB, put_bin(l, IR_XOR, a, sa), sa), ub = b;
	if (b.kind == IRO_IMM) {
		sb = ir_imm(b.imm < 0 ? -1 : 0);
		ub = reg_or_imm(l, ir_imm(b.imm < 0 ? (s64)(0 - (u64)b.imm) : b.imm));
	} else {
		b = in_reg(l, b);
		sb = put_bin(l, IR_ASHR, b, six3);
		ub = put_bin(l, IR_SUB, put_bin(l, IR_XOR, b, sb), sb);
	}
	struct IrVal q = put_bin(l, mod ? IR_UMOD : IR_UDIV, ua, ub), s = sa;
	if (!mod && !ir_is_imm(sb, 0))
		s = put_bin(l, IR_XOR, sa, sb);
	put(l, (struct IrInsn){.op = IR_SUB, .d = in.d, .a = put_bin(l, IR_XOR, q, s), .b = s});
}

static void arith(struct Legal *l, struct IrInsn in)
{
	struct IrVal sum;
	if (in.a.kind == IRO_IMM && in.b.kind == IRO_IMM) {
		put(l, (struct IrInsn){.op = IR_MOV, .d = in.d, .a = ir_imm(ir_fold_bin(in.op, in.a.imm, in.b.imm))});
		return;
	}
	if (in.op == IR_SDIV || in.op == IR_SMOD) {
		signed_division(l, in);
		return;
	}
	// "number += address" makes the verifier forget which function's stack the address is in (adjust_ptr_min_max_vals() keeps the number's frame): a
	// slot comes first, and is what is added to.
	bool slot_first = in.op == IR_ADD && in.a.kind == IRO_SLOT && in.b.kind == IRO_REG;
	if (in.op == IR_ADD && in.b.kind == IRO_SLOT && in.a.kind == IRO_REG) {
		struct IrVal x = in.a;
		in.a = in.b;
		in.b = x;
		slot_first = true;
	}
	if (!slot_first && ir_ops[in.op].flags & F_COMM && (in.a.kind != IRO_REG || (ir_is_reg(in.b, in.d) && !ir_is_reg(in.a, in.d)))) {
		struct IrVal x = in.a;
		in.a = in.b;
		in.b = x;
	}
	if (in.op == IR_ADD && in.b.kind == IRO_IMM && ir_add_const(in.a, in.b.imm, &sum)) {
		put(l, (struct IrInsn){.op = IR_MOV, .d = in.d, .a = sum});
		return;
	}
	if ((in.op == IR_UDIV || in.op == IR_UMOD) && ir_is_imm(in.b, 0)) {
		put(l, (struct IrInsn){.op = IR_MOV, .d = in.d, .a = in.op == IR_UDIV ? in.b : in.a});
		return;
	}
	if (in.op >= IR_SHL && in.op <= IR_ASHR && in.b.kind == IRO_IMM)
		in.b.imm &= 63;
	if (!(in.op == IR_AND && in.b.kind == IRO_IMM && in.b.imm == (u32)in.b.imm))
		in.b = reg_or_imm(l, in.b);
	if (ir_is_reg(in.b, in.d) && !ir_is_reg(in.a, in.d)) {
		IrReg r = fresh(l);
		put(l, (struct IrInsn){.op = IR_MOV, .d = r, .a = in.b});
		in.b = ir_reg(r);
	}
	put(l, in);
}

static void store(struct Legal *l, struct IrInsn in)
{
	address(l, &in);
	if (in.b.kind == IRO_IMM && in.size < 8)
		in.b.imm = in.size == 4 ? (s32)in.b.imm : in.size == 2 ? (s16)in.b.imm : (s8)in.b.imm;
	in.b = reg_or_imm(l, in.b);
	put(l, in);
}

// The instruction overwrites its source register with the old value, and d must survive as something else than the address.
static void atomic(struct Legal *l, struct IrInsn in)
{
	address(l, &in);
	if (in.op == IR_ATOMIC_XCHG && !in.d)
		in.d = fresh(l);
	if (in.op == IR_ATOMIC_CAS || !in.d)
		in.b = in_reg(l, in.b);
	if (in.op == IR_ATOMIC_CAS || !ir_is_reg(in.a, in.d)) {
		put(l, in);
		return;
	}
	IrReg d = in.d;
	in.d = fresh(l);
	put(l, in);
	put(l, (struct IrInsn){.op = IR_MOV, .d = d, .a = ir_reg(in.d)});
}

static void branch(struct Legal *l, struct IrInsn in)
{
	if (in.a.kind == IRO_IMM && in.b.kind == IRO_IMM) {
		put(l, (struct IrInsn){.op = IR_JMP, .t = ir_fold_cond(in.cond, in.size, in.a.imm, in.b.imm) ? in.t : in.f});
		return;
	}
	if (in.t == in.f) {
		put(l, (struct IrInsn){.op = IR_JMP, .t = in.t});
		return;
	}
	if (in.a.kind != IRO_REG && in.b.kind == IRO_REG) {
		struct IrVal x = in.a;
		in.a = in.b;
		in.b = x;
		in.cond = (u8)ir_cond_swap(in.cond);
	}
	if (in.size == 4 && in.b.kind == IRO_IMM)
		in.b.imm = (s32)in.b.imm;
	in.a = in_reg(l, in.a);
	in.b = reg_or_imm(l, in.b);
	put(l, in);
}

static void legal_insn(struct Legal *l, struct IrInsn in)
{
	struct IrVal *use[IR_MAX_USES];
	for (u32 u = ir_uses(&in, use); u--;)
		*use[u] = ctx_in_reg(l, *use[u]);
	l->loc = in.loc;
	if (ir_ops[in.op].flags & F_ARITH) {
		arith(l, in);
		return;
	}
	switch (in.op) {
	case IR_NOP:
		return;
	case IR_MOV:
		if (!ir_is_reg(in.a, in.d)) // regalloc counts on it
			put(l, in);
		return;
	case IR_NEG:
	case IR_ZEXT:
	case IR_SEXT:
	case IR_BSWAP:
		if (in.op != IR_NEG && in.op != IR_BSWAP && in.size == 8)
			in.op = IR_MOV;
		put(l, in);
		return;
	case IR_LOAD:
		address(l, &in);
		put(l, in);
		return;
	case IR_STORE:
		store(l, in);
		return;
	case IR_ATOMIC_ADD:
	case IR_ATOMIC_XCHG:
	case IR_ATOMIC_CAS:
		atomic(l, in);
		return;
	case IR_BR:
		branch(l, in);
		return;
	default: // calls, JMP, RET: emit takes any operand
		put(l, in);
	}
}

// Cuts blk after LEGAL_BLOCK_MAX instructions, again and again.
static void split(struct IrFunc *f, IrBlk blk)
{
	while (f->blocks.p[blk].insns.n > LEGAL_BLOCK_MAX + 1) {
		struct IrBlock rest = {0}, *b = &f->blocks.p[blk];
		// Quadratic only in blocks/LEGAL_BLOCK_MAX: the tail is copied once a cut, from the end backwards.
		size_t cut = (b->insns.n - 2) / LEGAL_BLOCK_MAX * LEGAL_BLOCK_MAX;
		for (size_t i = cut; i < b->insns.n; i++)
			vec_push(&rest.insns, b->insns.p[i]);
		b->insns.n = cut;
		vec_push(&b->insns, ((struct IrInsn){.op = IR_JMP, .t = (IrBlk)f->blocks.n, .loc = rest.insns.p[0].loc}));
		vec_push(&f->blocks, rest);
	}
}

// The prologue belongs to the entry block and must run once, so nothing may jump back to it.
static void own_entry(struct IrFunc *f)
{
	bool jumped_to = false;
	for (size_t i = 0; i < f->blocks.n; i++) {
		struct IrInsn *t = ir_term(&f->blocks.p[i]);
		if (t)
			jumped_to |= (t->op == IR_JMP && !t->t) || (t->op == IR_BR && (!t->t || !t->f));
	}
	if (!jumped_to)
		return;
	struct IrBlock old = f->blocks.p[0];
	IrBlk at = (IrBlk)f->blocks.n;
	vec_push(&f->blocks, old);
	f->blocks.p[0] = (struct IrBlock){.label = "prologue"};
	for (size_t i = 1; i < f->blocks.n; i++) {
		struct IrInsn *t = ir_term(&f->blocks.p[i]);
		if (t && (t->op == IR_JMP || t->op == IR_BR)) {
			t->t = t->t ? t->t : at;
			t->f = t->f ? t->f : at;
		}
	}
	vec_push(&f->blocks.p[0].insns, ((struct IrInsn){.op = IR_JMP, .t = at, .loc = old.insns.p[0].loc}));
}

struct err *ir_legalize(struct IrProg *p, u32 fn, const struct EmitOpts *o, struct Code *out)
{
	struct Legal l = {.f = &p->funcs.p[fn], .o = o};
	struct IrOrder rpo;
	own_entry(l.f);
	for (u32 i = 0; i < l.f->nparams; i++)
		l.f->entry[i] = i + 1;
	if (fn == 0)
		l.f->entry[0] = l.ctx = fresh(&l);
	ir_order(l.f, &rpo);
	u32 nblocks = (u32)l.f->blocks.n;
	for (u32 b = 0; b < nblocks; b++) {
		struct IrBlock *blk = &l.f->blocks.p[b];
		if (rpo.at[b] == ~0u) {
			blk->insns.n = 0;
			continue;
		}
		l.out.n = 0;
		l.ncached = 0;
		for (size_t i = 0; i < blk->insns.n; i++)
			legal_insn(&l, blk->insns.p[i]);
		blk->insns.n = 0;
		for (size_t i = 0; i < l.out.n; i++)
			vec_push(&blk->insns, l.out.p[i]);
		split(l.f, b);
	}
	ir_order_deinit(&rpo);
	vec_deinit(&l.out);
	return NULL;
}
