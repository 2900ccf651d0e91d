// Bytecode of one function. Input: what legal, regalloc and slots leave. Output: its instructions behind those that are there, with relocations,
// its start and line info. Instruction set v3 unless EmitOpts says v4.
// Encodings: Documentation/bpf/standardization/instruction-set.rst.
#include "ir/internal.h"
#include <linux/bpf.h>

#ifndef BPF_PSEUDO_KFUNC_CALL
#define BPF_PSEUDO_KFUNC_CALL 2
#endif
#ifndef BPF_PSEUDO_FUNC
#define BPF_PSEUDO_FUNC 4
#endif
#define FP 10
#define JUMP_MAX 32767
#define RELAY_REACH 30000 // where a relay is put: leaves room for the relays that later rounds add before it

struct Jump { // to be patched when its block has a place
	u32 insn;
	IrBlk target;
};
struct Emit {
	struct IrProg *p;
	struct IrFunc *f;
	u32 fn;
	const struct EmitOpts *o;
	struct Code *code;
	u32 start;		// first instruction of the function
	VEC(IrBlk) layout;
	VEC(u32) at;		// block -> first instruction
	VEC(struct Jump) jumps;
};

static void put(struct Emit *e, u32 code, u32 dst, u32 src, s32 off, s32 imm)
{
	vec_push(&e->code->insns, ((struct BpfInsn){(u8)code, (u8)(src << 4 | dst), (s16)off, imm}));
}

static u32 here(const struct Emit *e)
{
	return (u32)e->code->insns.n;
}

static void put_ld64(struct Emit *e, u32 dst, u32 pseudo, u64 v)
{
	put(e, BPF_LD | BPF_IMM | BPF_DW, dst, pseudo, 0, (s32)v);
	put(e, 0, 0, 0, 0, (s32)(v >> 32));
}

static void reloc(struct Emit *e, enum RelocKind kind, u32 id, s64 addend, const char *name)
{
	vec_push(&e->code->relocs, ((struct Reloc){kind, here(e), id, addend, name}));
}

static u32 reg_of(const struct Emit *e, struct IrVal v)
{
	assert(v.kind == IRO_REG && e->f->reg[v.id] != REG_NONE);
	return e->f->reg[v.id];
}

static s32 slot_off(const struct Emit *e, u32 slot)
{
	return e->f->slots.p[slot].fp_off;
}

static void put_mov(struct Emit *e, u32 dst, u32 src)
{
	if (dst != src)
		put(e, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

// dst = v, whatever v is.
static void materialize(struct Emit *e, u32 dst, struct IrVal v)
{
	switch (v.kind) {
	case IRO_REG:
		put_mov(e, dst, reg_of(e, v));
		return;
	case IRO_IMM:
		if (fits_s32(v.imm))
			put(e, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, (s32)v.imm);
		else if (v.imm == (u32)v.imm)
			put(e, BPF_ALU | BPF_MOV | BPF_K, dst, 0, 0, (s32)v.imm);
		else
			put_ld64(e, dst, 0, (u64)v.imm);
		return;
	case IRO_SLOT:
		put_mov(e, dst, FP);
		put(e, BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, slot_off(e, v.id) + (s32)v.imm);
		return;
	case IRO_SPILL:
		put(e, BPF_LDX | BPF_MEM | BPF_DW, dst, FP, slot_off(e, v.id), 0);
		return;
	case IRO_MAPFD:
		reloc(e, REL_MAPFD, v.id, 0, NULL);
		put_ld64(e, dst, BPF_PSEUDO_MAP_FD, 0);
		return;
	case IRO_MAPVAL:
		reloc(e, REL_MAPVAL, v.id, v.imm, NULL);
		put_ld64(e, dst, BPF_PSEUDO_MAP_VALUE, (u64)v.imm << 32);
		return;
	case IRO_FUNC:
		reloc(e, REL_FUNC, v.id, 0, NULL);
		put_ld64(e, dst, BPF_PSEUDO_FUNC, 0);
		return;
	default:
		UNREACHABLE();
	}
}

// Moves between registers, all at once: to[i] = from[i], the `to` all different. Cycles go through tmp, which is no destination; it may be a
// source, since a register that is none is free of its old value once only cycles are left.
static void parallel_moves(struct Emit *e, u8 *to, u8 *from, u32 n, u8 tmp)
{
	while (n) {
		bool moved = false;
		for (u32 i = 0; i < n; i++) {
			bool blocked = false;
			for (u32 k = 0; k < n; k++)
				blocked |= k != i && from[k] == to[i];
			if (blocked && to[i] != from[i])
				continue;
			put_mov(e, to[i], from[i]);
			n--;
			to[i] = to[n];
			from[i] = from[n];
			moved = true;
			break;
		}
		if (moved)
			continue;
		put_mov(e, tmp, from[0]);
		from[0] = tmp;
	}
}

static void put_args(struct Emit *e, const struct IrInsn *in)
{
	u8 to[5], from[5];
	u32 n = 0;
	for (u32 i = 0; i < in->nargs; i++) {
		if (in->args[i].kind != IRO_REG)
			continue;
		to[n] = (u8)(i + 1);
		from[n++] = (u8)reg_of(e, in->args[i]);
	}
	parallel_moves(e, to, from, n, 0);
	for (u32 i = 0; i < in->nargs; i++)
		if (in->args[i].kind != IRO_REG)
			materialize(e, i + 1, in->args[i]);
}

static void put_call(struct Emit *e, const struct IrInsn *in)
{
	put_args(e, in);
	switch (in->op) {
	case IR_CALL:
		put(e, BPF_JMP | BPF_CALL, 0, 0, 0, (s32)in->id);
		break;
	case IR_CALL_RT:
		reloc(e, REL_RT, 0, 0, in->name);
		put(e, BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, -1);
		break;
	case IR_CALL_KFUNC:
		reloc(e, REL_KFUNC, 0, 0, in->name);
		put(e, BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, 0);
		break;
	default:
		reloc(e, REL_FUNC, in->id, 0, NULL);
		put(e, BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, -1);
	}
	if (in->d && e->f->reg[in->d] != REG_NONE)
		put_mov(e, e->f->reg[in->d], 0);
}

static u32 size_bits(u32 size)
{
	return size == 1 ? BPF_B : size == 2 ? BPF_H : size == 4 ? BPF_W : BPF_DW;
}

static u32 address(const struct Emit *e, const struct IrInsn *in, s32 *off)
{
	*off = in->off;
	if (in->a.kind == IRO_REG)
		return reg_of(e, in->a);
	*off += slot_off(e, in->a.id) + (s32)in->a.imm;
	return FP;
}

static void put_arith(struct Emit *e, const struct IrInsn *in)
{
	static const u8 code[IR_OPS] = {[IR_ADD] = BPF_ADD,  [IR_SUB] = BPF_SUB,  [IR_MUL] = BPF_MUL, [IR_UDIV] = BPF_DIV, [IR_UMOD] = BPF_MOD,
					[IR_SDIV] = BPF_DIV, [IR_SMOD] = BPF_MOD, [IR_AND] = BPF_AND, [IR_OR] = BPF_OR,	   [IR_XOR] = BPF_XOR,
					[IR_SHL] = BPF_LSH,  [IR_LSHR] = BPF_RSH, [IR_ASHR] = BPF_ARSH};
	u32 d = e->f->reg[in->d], class = BPF_ALU64;
	s32 off = in->op == IR_SDIV || in->op == IR_SMOD; // the signed forms (v4) differ in `off` alone
	struct IrVal a = in->a, b = in->b;
	if (b.kind == IRO_REG && reg_of(e, b) == d && !(a.kind == IRO_REG && reg_of(e, a) == d)) {
		assert(ir_ops[in->op].flags & F_COMM);
		a = in->b;
		b = in->a;
	}
	materialize(e, d, a);
	if (b.kind == IRO_REG) {
		put(e, class | code[in->op] | BPF_X, d, reg_of(e, b), off, 0);
		return;
	}
	if (!fits_s32(b.imm)) // AND with a mask of the low half: the 32-bit form clears the upper one
		class = BPF_ALU;
	put(e, class | code[in->op] | BPF_K, d, 0, off, (s32)b.imm);
}

static void put_ext(struct Emit *e, const struct IrInsn *in)
{
	u32 d = e->f->reg[in->d], bits = in->size * 8;
	if (in->a.kind == IRO_REG && in->op == IR_ZEXT && bits == 32) {
		put(e, BPF_ALU | BPF_MOV | BPF_X, d, reg_of(e, in->a), 0, 0);
	} else if (in->a.kind == IRO_REG && in->op == IR_SEXT && e->o->has_v4) {
		put(e, BPF_ALU64 | BPF_MOV | BPF_X, d, reg_of(e, in->a), (s32)bits, 0);
	} else {
		materialize(e, d, in->a);
		if (in->op == IR_ZEXT && bits == 32) {
			put(e, BPF_ALU | BPF_MOV | BPF_X, d, d, 0, 0);
		} else if (in->op == IR_ZEXT) {
			put(e, BPF_ALU64 | BPF_AND | BPF_K, d, 0, 0, (1 << bits) - 1);
		} else {
			put(e, BPF_ALU64 | BPF_LSH | BPF_K, d, 0, 0, (s32)(64 - bits));
			put(e, BPF_ALU64 | BPF_ARSH | BPF_K, d, 0, 0, (s32)(64 - bits));
		}
	}
}

static void put_atomic(struct Emit *e, const struct IrInsn *in)
{
	s32 off, op = in->op == IR_ATOMIC_XCHG ? 0xe0 | BPF_FETCH : in->op == IR_ATOMIC_CAS ? 0xf0 | BPF_FETCH : BPF_ADD | (in->d ? BPF_FETCH : 0);
	u32 base = address(e, in, &off), src;
	if (in->op == IR_ATOMIC_CAS) {
		materialize(e, 0, in->args[0]);
		src = reg_of(e, in->b);
	} else if (in->d) {
		src = e->f->reg[in->d];
		materialize(e, src, in->b);
	} else {
		src = reg_of(e, in->b);
	}
	put(e, BPF_STX | BPF_ATOMIC | size_bits(in->size), base, src, off, op);
	if (in->op == IR_ATOMIC_CAS && in->d)
		put_mov(e, e->f->reg[in->d], 0);
}

static void put_jump(struct Emit *e, u32 code, u32 dst, u32 src, s32 imm, IrBlk target)
{
	vec_push(&e->jumps, ((struct Jump){here(e), target}));
	put(e, code, dst, src, 0, imm);
}

static void put_branch(struct Emit *e, const struct IrInsn *in, IrBlk next)
{
	static const u8 code[IR_CONDS] = {[IC_EQ] = BPF_JEQ,   [IC_NE] = BPF_JNE,   [IC_ULT] = BPF_JLT,	 [IC_ULE] = BPF_JLE,
					  [IC_UGT] = BPF_JGT,  [IC_UGE] = BPF_JGE,  [IC_SLT] = BPF_JSLT, [IC_SLE] = BPF_JSLE,
					  [IC_SGT] = BPF_JSGT, [IC_SGE] = BPF_JSGE, [IC_SET] = BPF_JSET};
	enum IrCond c = in->cond;
	IrBlk t = in->t, f = in->f;
	if (t == next && ir_cond_invert(in->cond, &c)) {
		t = in->f;
		f = in->t;
	}
	u32 class = in->size == 4 ? BPF_JMP32 : BPF_JMP;
	bool k = in->b.kind == IRO_IMM;
	put_jump(e, class | code[c] | (k ? BPF_K : BPF_X), reg_of(e, in->a), k ? 0 : reg_of(e, in->b), k ? (s32)in->b.imm : 0, t);
	if (f != next)
		put_jump(e, BPF_JMP | BPF_JA, 0, 0, 0, f);
}

static void put_insn(struct Emit *e, const struct IrInsn *in, IrBlk next)
{
	s32 off;
	u32 base;
	switch (in->op) {
	case IR_NOP:
		return;
	case IR_MOV:
		materialize(e, e->f->reg[in->d], in->a);
		return;
	case IR_NEG:
		materialize(e, e->f->reg[in->d], in->a);
		put(e, BPF_ALU64 | BPF_NEG, e->f->reg[in->d], 0, 0, 0);
		return;
	case IR_BSWAP:
		materialize(e, e->f->reg[in->d], in->a);
		put(e, BPF_ALU | BPF_END | (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? BPF_TO_BE : BPF_TO_LE), e->f->reg[in->d], 0, 0, in->size * 8);
		return;
	case IR_ZEXT:
	case IR_SEXT:
		put_ext(e, in);
		return;
	case IR_LOAD:
		base = address(e, in, &off);
		put(e, BPF_LDX | BPF_MEM | size_bits(in->size), e->f->reg[in->d], base, off, 0);
		return;
	case IR_STORE:
		base = address(e, in, &off);
		if (in->b.kind == IRO_IMM)
			put(e, BPF_ST | BPF_MEM | size_bits(in->size), base, 0, off, (s32)in->b.imm);
		else
			put(e, BPF_STX | BPF_MEM | size_bits(in->size), base, reg_of(e, in->b), off, 0);
		return;
	case IR_ATOMIC_ADD:
	case IR_ATOMIC_XCHG:
	case IR_ATOMIC_CAS:
		put_atomic(e, in);
		return;
	case IR_CALL:
	case IR_CALL_RT:
	case IR_CALL_KFUNC:
	case IR_CALL_FN:
		put_call(e, in);
		return;
	case IR_JMP:
		if (in->t != next)
			put_jump(e, BPF_JMP | BPF_JA, 0, 0, 0, in->t);
		return;
	case IR_BR:
		put_branch(e, in, next);
		return;
	case IR_RET:
		materialize(e, 0, in->a.kind ? in->a : ir_imm(0));
		put(e, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
		return;
	default:
		put_arith(e, in);
	}
}

static void note_line(struct Emit *e, u32 loc)
{
	struct Code *c = e->code;
	if (c->lines.n && vec_last(&c->lines).loc == loc && vec_last(&c->lines).insn >= e->start)
		return;
	if (c->lines.n && vec_last(&c->lines).insn == here(e))
		vec_last(&c->lines).loc = loc; // the one before emitted nothing
	else
		vec_push(&c->lines, ((struct CodeLine){here(e), loc}));
}

// The kernel wants line info at a function's first instruction when there is any (check_btf_line).
static u32 first_loc(const struct Emit *e)
{
	for (size_t i = 0; i < e->layout.n; i++) {
		const struct IrBlock *b = &e->f->blocks.p[e->layout.p[i]];
		for (size_t k = 0; k < b->insns.n; k++)
			if (b->insns.p[k].loc)
				return b->insns.p[k].loc - 1;
	}
	return 0;
}

static void put_body(struct Emit *e)
{
	u8 to[5], from[5];
	u32 n = 0;
	bool lines = e->p->locs.n > 0;
	if (lines)
		note_line(e, first_loc(e));
	for (u32 i = 0; i < ARRAY_LEN(e->f->entry); i++) {
		if (!e->f->entry[i])
			continue;
		to[n] = e->f->reg[e->f->entry[i]];
		from[n++] = (u8)(i + 1);
	}
	// Five registers arrive and at least one of them is a destination when there is a cycle: one of the ten is neither.
	u8 tmp = 0;
	for (u32 i = 0; i < n; i++)
		if (to[i] == tmp || from[i] == tmp)
			tmp++, i = ~0u;
	parallel_moves(e, to, from, n, tmp);
	for (size_t i = 0; i < e->layout.n; i++) {
		const struct IrBlock *b = &e->f->blocks.p[e->layout.p[i]];
		IrBlk next = i + 1 < e->layout.n ? e->layout.p[i + 1] : ~0u;
		e->at.p[e->layout.p[i]] = here(e);
		for (size_t k = 0; k < b->insns.n; k++) {
			if (lines && b->insns.p[k].loc && b->insns.p[k].op != IR_NOP)
				note_line(e, b->insns.p[k].loc - 1);
			put_insn(e, &b->insns.p[k], next);
		}
	}
	// A last instruction without code (a jump to the next block) may have left a line behind the end.
	if (lines && vec_last(&e->code->lines).insn == here(e))
		e->code->lines.n--;
}

// A jump that does not reach goes by way of a relay: a block with only a jump, put between two blocks about RELAY_REACH away.
// The code around it then jumps over it. Returns whether any was needed; the function must then be emitted again. Blocks are
// small enough (legal.c) for a place to exist.
static bool add_relays(struct Emit *e)
{
	struct Relay {
		u32 pos; // in layout: before this block
		IrBlk target, blk;
	};
	VEC(struct Relay) relays = {0};
	u32 *insn_pos = xcalloc(e->layout.n + 1, sizeof(*insn_pos));
	for (size_t i = 0; i < e->layout.n; i++)
		insn_pos[i] = e->at.p[e->layout.p[i]];
	for (size_t j = 0; j < e->jumps.n; j++) {
		u32 from = e->jumps.p[j].insn, to = e->at.p[e->jumps.p[j].target];
		s64 dist = (s64)to - from - 1;
		if (dist >= -JUMP_MAX - 1 && dist <= JUMP_MAX)
			continue;
		// Last block border within reach forwards, or the first one backwards.
		s64 want = dist > 0 ? (s64)from + RELAY_REACH : (s64)from - RELAY_REACH;
		u32 lo = 0, hi = (u32)e->layout.n;
		while (lo < hi) {
			u32 mid = (lo + hi) / 2;
			if ((s64)insn_pos[mid] <= want)
				lo = mid + 1;
			else
				hi = mid;
		}
		u32 pos = dist > 0 ? lo - 1 : lo; // forwards: last <= want; backwards: first > want
		size_t r = 0;
		while (r < relays.n && !(relays.p[r].pos == pos && relays.p[r].target == e->jumps.p[j].target))
			r++;
		if (r == relays.n) {
			struct IrBlock b = {.label = "relay"};
			vec_push(&b.insns, ((struct IrInsn){.op = IR_JMP, .t = e->jumps.p[j].target}));
			vec_push(&e->f->blocks, b);
			vec_push(&e->at, 0);
			vec_push(&relays, ((struct Relay){pos, e->jumps.p[j].target, (IrBlk)e->f->blocks.n - 1}));
		}
		// The block that holds the jump: the last one that starts at or before it.
		lo = 0, hi = (u32)e->layout.n;
		while (lo < hi) {
			u32 mid = (lo + hi) / 2;
			if (insn_pos[mid] <= from)
				lo = mid + 1;
			else
				hi = mid;
		}
		struct IrInsn *t = ir_term(&e->f->blocks.p[e->layout.p[lo - 1]]);
		if (t->t == e->jumps.p[j].target)
			t->t = relays.p[r].blk;
		else
			t->f = relays.p[r].blk;
	}
	VEC(IrBlk) layout = {0};
	for (u32 i = 0; relays.n && i <= e->layout.n; i++) {
		for (size_t r = 0; r < relays.n; r++)
			if (relays.p[r].pos == i)
				vec_push(&layout, relays.p[r].blk);
		if (i < e->layout.n)
			vec_push(&layout, e->layout.p[i]);
	}
	bool any = relays.n > 0;
	if (any) {
		vec_deinit(&e->layout);
		e->layout.p = layout.p;
		e->layout.n = layout.n;
		e->layout.cap = layout.cap;
	}
	vec_deinit(&relays);
	free(insn_pos);
	return any;
}

static void layout_blocks(struct Emit *e)
{
	struct IrOrder o;
	ir_order(e->f, &o);
	for (u32 i = 0; i < o.n; i++)
		vec_push(&e->layout, o.order[i]);
	for (size_t i = 0; i < e->f->blocks.n; i++)
		vec_push(&e->at, 0);
	ir_order_deinit(&o);
}

struct err *ir_encode(struct IrProg *p, u32 fn, const struct EmitOpts *o, struct Code *out)
{
	struct Emit e = {.p = p, .f = &p->funcs.p[fn], .fn = fn, .o = o, .code = out};
	size_t nrelocs = out->relocs.n, nlines = out->lines.n;
	vec_push(&out->funcs, ((struct CodeFunc){here(&e), e.f->name, fn ? e.f->nparams : 1, false, NULL}));
	e.start = here(&e);
	layout_blocks(&e);
	do {
		out->insns.n = e.start;
		out->relocs.n = nrelocs;
		out->lines.n = nlines;
		e.jumps.n = 0;
		put_body(&e);
	} while (add_relays(&e));
	for (size_t j = 0; j < e.jumps.n; j++)
		out->insns.p[e.jumps.p[j].insn].off = (s16)((s64)e.at.p[e.jumps.p[j].target] - e.jumps.p[j].insn - 1);
	vec_deinit(&e.layout);
	vec_deinit(&e.at);
	vec_deinit(&e.jumps);
	return NULL;
}

void code_deinit(struct Code *c)
{
	vec_deinit(&c->insns);
	vec_deinit(&c->relocs);
	vec_deinit(&c->funcs);
	vec_deinit(&c->lines);
}
