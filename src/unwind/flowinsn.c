// Instructions of x86-64 as far as they move the stack or save registers. Input: decoded instructions (arch/x86.c). Output: what one does to the
// distance between the stack pointer and the CFA. Source: Intel SDM volume 2, appendix A (opcode maps).
#include "unwind/internal.h"

static const u8 slot_regs[RT_UW_SLOTS] = {RBP, 3, 12, 13, 14, 15}; // RT_SLOT_REGS by the numbers of instructions: rbp, rbx, r12 to r15

#define RA_BELOW 8 // the return address's place below the CFA: the stack pointer is there

int flow_slot(u32 reg)
{
	for (u32 s = 0; s < RT_UW_SLOTS; s++)
		if (slot_regs[s] == reg)
			return (int)s;
	return -1;
}

// A register was stored at CFA + off: the first time, if it still has the caller's value, that is where to find it.
static void stored(struct FlowState *s, u32 reg, s64 off)
{
	int k = flow_slot(reg);
	if (k >= 0 && !s->slot[k] && off < 0 && off >= INT16_MIN && !(reg == RBP && s->fp != FLOW_UNKNOWN))
		s->slot[k] = (s16)off;
}

// Distances beyond any frame are no distances: garbage read as code.
s32 flow_moved(s32 from, s64 by)
{
	s64 v = (s64)from + by;
	return from == FLOW_UNKNOWN || v < -FLOW_MAX_FRAME || v > FLOW_MAX_FRAME ? FLOW_UNKNOWN : (s32)v;
}

static void grow(struct FlowState *s, s64 by) // the stack
{
	s->sp = flow_moved(s->sp, by);
	s->low = flow_moved(s->low, by);
}

// Nothing is known of the frame any more, but perhaps which register has the return address: where that was is something else.
static void lose(struct FlowState *s)
{
	*s = (struct FlowState){.sp = FLOW_UNKNOWN, .fp = FLOW_UNKNOWN, .low = FLOW_UNKNOWN, .root = s->root, .ra_copy = s->ra_copy};
}

// What reg holds, as its distance below the CFA.
static s32 held(const struct FlowState *s, u32 reg)
{
	return reg == RSP ? s->sp : reg == RBP ? s->fp : reg + 1 == s->copy_reg ? s->copy : FLOW_UNKNOWN;
}

// rbp is no longer that of a frame below an aligned stack.
static void leave_aligned(struct FlowState *s)
{
	for (u32 k = 0; k < RT_UW_SLOTS; k++)
		if (s->fprel & 1u << k)
			s->slot[k] = 0;
	s->aligned = s->fprel = 0;
	s->saved_at = s->cfa_at = 0;
	if (s->low == FLOW_UNKNOWN)
		s->stored = s->stored_at = 0;
}

static void hold(struct FlowState *s, u32 reg, s32 v)
{
	if (reg + 1 == s->ra_copy)
		s->ra_copy = s->in_lr = 0;
	if (reg == RSP) {
		s->sp = v;
		s->low = FLOW_UNKNOWN;
		if (s->aligned != FLOW_ALIGNED_COPY)
			s->stored = s->stored_at = 0;
	} else if (reg == RBP) {
		s->fp = v;
		if (s->aligned)
			leave_aligned(s);
	} else if (reg + 1 == s->copy_reg) {
		s->copy = v == FLOW_UNKNOWN ? 0 : v;
		s->copy_reg = v == FLOW_UNKNOWN ? 0 : s->copy_reg;
	}
}

static bool keeps_cfa(const struct FlowState *s) // in a register
{
	return s->copy_reg && !s->copy;
}

static void keep_cfa(struct FlowState *s, u32 reg)
{
	hold(s, reg, FLOW_UNKNOWN);
	s->copy = 0;
	s->copy_reg = reg + 1;
}

// The stack was aligned: what is below counts from where the caller's rbp is put.
static void push_aligned(struct FlowState *s, u32 reg)
{
	s32 at = s->saved_at - s->low;
	int k = flow_slot(reg);
	if (!s->aligned && reg == RBP) {
		s->saved_at = s->low;
	} else if (s->aligned && keeps_cfa(s) && reg + 1 == s->copy_reg) {
		s->cfa_at = at;
	} else if (s->aligned && k > 0 && !s->slot[k] && at < 0 && at >= INT16_MIN) {
		s->slot[k] = (s16)at;
		s->fprel |= (u8)(1u << k);
	}
}

static void pop_aligned(struct FlowState *s, u32 reg)
{
	s32 at = s->saved_at - s->low;
	int k = flow_slot(reg);
	if (at && at == s->cfa_at) {
		keep_cfa(s, reg);
	} else if (k > 0 && s->fprel & 1u << k && s->slot[k] == at) {
		s->slot[k] = 0;
		s->fprel &= (u8)~(1u << k);
	}
}

// A return address that was taken to a register may be put back, also above the frame that was made for the caller meanwhile (move()), or above arguments of unknown number.
static void push(struct FlowState *s, u32 reg)
{
	if (s->ra_copy == reg + 1 && (s->in_lr || s->sp == FLOW_UNKNOWN)) {
		*s = (struct FlowState){.sp = RA_BELOW, .fp = FLOW_UNKNOWN, .low = FLOW_UNKNOWN};
		return;
	}
	grow(s, 8);
	if (s->sp == FLOW_UNKNOWN && s->low != FLOW_UNKNOWN && (s->aligned || keeps_cfa(s)))
		push_aligned(s, reg);
	if (s->sp == RA_BELOW && s->ra_copy == reg + 1)
		s->ra_copy = 0;
	else if (s->sp == RA_BELOW)
		lose(s);
	else if (s->sp != FLOW_UNKNOWN)
		stored(s, reg, -s->sp);
}

static void pop(struct FlowState *s, u32 reg)
{
	int k = flow_slot(reg);
	if (k >= 0 && s->sp != FLOW_UNKNOWN && s->slot[k] == -s->sp)
		s->slot[k] = 0;
	bool ra = s->sp == RA_BELOW;
	bool copy = reg == RSP && s->sp == FLOW_UNKNOWN && s->stored && s->low == s->stored_at; // low is known, then
	hold(s, reg, copy ? s->stored : FLOW_UNKNOWN);
	if (s->aligned && s->low != FLOW_UNKNOWN)
		pop_aligned(s, reg);
	if (ra)
		s->ra_copy = reg == NO_REG || reg == RSP ? 0 : (u8)(reg + 1);
	if (reg != RSP)
		grow(s, -8);
}

static void leave(struct FlowState *s)
{
	hold(s, RSP, s->fp);
	if (s->aligned)
		s->low = s->saved_at;
	pop(s, RBP);
}

// Arithmetic on a register: op 0 add, 1 or, 4 and, 5 sub, 6 xor, 7 cmp.
static void arith(struct FlowState *s, u32 op, u32 reg, bool is_imm, s32 imm)
{
	s64 by = op == 5 ? (s64)imm : -(s64)imm;
	bool known = is_imm && (op == 0 || op == 5);
	if (op == 7)
		return;
	if (reg == RSP && known)
		grow(s, by);
	else
		hold(s, reg, known && reg != RBP ? flow_moved(held(s, reg), by) : FLOW_UNKNOWN);
	if (reg == RSP && is_imm && op == 4 && !s->aligned)
		s->low = 0;
}

static void move(struct FlowState *s, u32 to, u32 from)
{
	if (to == RBP && from == RSP && s->ra_copy && s->sp == FLOW_UNKNOWN && !s->in_lr) { // the caller's frame, made for it: from here on it is whole
		s->in_lr = 1;
		return;
	}
	if (to == RBP && from == RSP && s->saved_at && s->saved_at == s->low) {
		s->aligned = FLOW_ALIGNED_SAVED;
		return;
	}
	if (to == RBP && from == RSP && s->sp == FLOW_UNKNOWN && s->low != FLOW_UNKNOWN && s->stored && !s->aligned) { // of libjpeg-turbo's code
		s->aligned = FLOW_ALIGNED_COPY;
		s->saved_at = s->low;
		return;
	}
	if (to == RSP && from == RBP && s->aligned) {
		hold(s, RSP, FLOW_UNKNOWN);
		s->low = s->saved_at;
		return;
	}
	if (from == RSP && to != RSP && to != RBP && s->sp != FLOW_UNKNOWN) {
		bool kept = s->copy_reg && s->copy_reg != to + 1 && flow_slot(s->copy_reg - 1) >= 0 && flow_slot(to) < 0; // by calls, which this one is not
		s->copy = kept ? s->copy : s->sp;
		s->copy_reg = kept ? s->copy_reg : to + 1;
		return;
	}
	hold(s, to, to == RBP && from != RSP ? FLOW_UNKNOWN : held(s, from));
}

static void address_of(struct FlowState *s, const struct Insn *in)
{
	if (in->reg == RSP && in->base == RSP) {
		grow(s, -(s64)in->disp);
	} else if (in->reg == RSP && in->base == RBP && s->aligned) {
		hold(s, RSP, FLOW_UNKNOWN);
		s->low = flow_moved(s->saved_at, -(s64)in->disp);
	} else if (in->base == RSP && s->sp != FLOW_UNKNOWN && in->disp == s->sp && in->reg != RBP && in->wide) {
		keep_cfa(s, in->reg);
	} else if (in->base == RSP && s->sp != FLOW_UNKNOWN && in->disp < 0 && !s->copy_reg && in->reg != RBP && in->wide) { // where the stack pointer will be
		s->copy = flow_moved(s->sp, -(s64)in->disp);
		s->copy_reg = in->reg + 1;
	} else
		hold(s, in->reg, flow_moved(held(s, in->base), -(s64)in->disp));
}

static void store(struct FlowState *s, const struct Insn *in)
{
	if (in->base == RSP && s->sp != FLOW_UNKNOWN)
		stored(s, in->reg, (s64)in->disp - s->sp);
	else if (in->base == RBP && s->fp != FLOW_UNKNOWN)
		stored(s, in->reg, (s64)in->disp - s->fp);
	if (in->base == RSP && s->sp == FLOW_UNKNOWN && s->low != FLOW_UNKNOWN && (u32)in->reg + 1 == s->copy_reg && s->copy) {
		s->stored_at = s->low - in->disp;
		s->stored = s->copy;
	}
}

static void load(struct FlowState *s, const struct Insn *in)
{
	if (s->aligned && s->cfa_at && in->wide && in->base == RBP && in->disp == s->cfa_at && in->reg != RSP && in->reg != RBP) {
		keep_cfa(s, in->reg);
		return;
	}
	bool copy = in->wide && in->base == RSP && s->stored && s->low != FLOW_UNKNOWN && s->low - in->disp == s->stored_at && in->reg != RBP;
	s32 v = copy ? s->stored : FLOW_UNKNOWN;
	if (copy && in->reg != RSP)
		s->copy_reg = in->reg + 1;
	hold(s, in->reg, v);
}

static void overwrite(struct FlowState *s, int reg)
{
	if (reg >= 0)
		hold(s, (u32)reg, FLOW_UNKNOWN);
}

// A call: where the stack pointer is known, a copy of it is kept in registers that calls keep. Where it is not known, the function that is called leaves the copy alone,
// or ours could not return.
static void call(struct FlowState *s)
{
	if (s->ra_copy && flow_slot(s->ra_copy - 1u) < 0)
		s->ra_copy = s->in_lr = 0;
	if (s->sp != FLOW_UNKNOWN && s->sp < RA_BELOW)
		lose(s);
	else if (s->copy_reg && (s->sp != FLOW_UNKNOWN || s->cfa_at || s->aligned == FLOW_ALIGNED_COPY) && flow_slot(s->copy_reg - 1) < 0)
		s->copy = 0, s->copy_reg = 0;
}

static void effect_ff(struct FlowState *s, const struct Insn *in)
{
	if (in->branch == BRANCH_CALL)
		call(s);
	else if ((in->reg & 7) < 2) // inc, dec
		overwrite(s, in->mod == 3 ? (int)in->rm : -1);
	else if ((in->reg & 7) == 6)
		push(s, RSP);
}

// The general register that an instruction writes, of those flow_effect() has no case for; -1: none, or 8 bits of one (4 and 5 may be ah and ch).
static int written(const struct Insn *in)
{
	int rm = in->mod == 3 ? (int)in->rm : -1;
	switch (in->op) {
	case 0x63: case 0x69: case 0x6b: // movslq, imul
	case 0x140 ... 0x150: // cmov, movmskps
	case 0x1af: case 0x1b6: case 0x1b7: case 0x1b8: case 0x1bc ... 0x1bf: // imul, movzx, popcnt, bsf, bsr, movsx
	case 0x1c5: case 0x1d7: // pextrw, pmovmskb
		return in->reg;
	case 0x12c: case 0x12d: // cvttss2si; without the prefix they write a register of MMX
		return in->rep ? (int)in->reg : -1;
	case 0x17e: // movd to a general register; with f3 between vector registers
		return in->rep ? -1 : rm;
	case 0xc1: case 0xc7: case 0xd1: case 0xd3: // shifts, mov
	case 0x1a4: case 0x1a5: case 0x1ab ... 0x1ad: case 0x1b1: case 0x1b3: case 0x1bb: // shld, bts, cmpxchg
		return rm;
	case 0xf7: // not, neg; test and multiplication write elsewhere
		return (in->reg & 7) == 2 || (in->reg & 7) == 3 ? rm : -1;
	case 0x1ba: // bts, btr, btc
		return (in->reg & 7) > 4 ? rm : -1;
	case 0x1c8 ... 0x1cf: // bswap
		return (int)in->rm;
	default:
		return -1;
	}
}

enum Branch flow_effect(struct FlowState *s, const struct Insn *in)
{
	u32 op = in->op;
	if (op < 0x40 && (op & 7) < 4) { // add or adc sbb and sub xor cmp
		u32 to = op & 2 ? in->reg : in->rm, from = op & 2 ? in->rm : in->reg;
		if (!(op & 1) || (in->mod != 3 && !(op & 2)))
			return BRANCH_NONE;
		bool outermost = (op & 0x38) == 0x30 && in->mod == 3 && to == RBP && from == RBP && !s->slot[0] && s->fp == FLOW_UNKNOWN &&
				 (s->sp == FLOW_UNKNOWN || s->sp <= 8);
		if (outermost)
			s->root = s->root ? s->root : FLOW_ROOT;
		arith(s, op >> 3, to, false, 0);
		return BRANCH_NONE;
	}
	switch (op) {
	case 0x50 ... 0x57:
		push(s, in->rm);
		return BRANCH_NONE;
	case 0x58 ... 0x5f:
		pop(s, in->rm);
		return BRANCH_NONE;
	case 0x68: case 0x6a: case 0x9c:
		push(s, RSP);
		return BRANCH_NONE;
	case 0x9d:
		pop(s, NO_REG);
		return BRANCH_NONE;
	case 0x8f: // with another field it begins an XOP instruction
		if (!(in->reg & 7))
			pop(s, in->mod == 3 ? in->rm : NO_REG);
		return BRANCH_NONE;
	case 0x81: case 0x83:
		if (in->mod == 3)
			arith(s, in->reg & 7, in->rm, in->wide, in->imm);
		return BRANCH_NONE;
	case 0x89:
		if (in->mod == 3)
			move(s, in->rm, in->wide ? in->reg : NO_REG);
		else if (in->wide)
			store(s, in);
		return BRANCH_NONE;
	case 0x8b:
		if (in->mod == 3)
			move(s, in->reg, in->wide ? in->rm : NO_REG);
		else
			load(s, in);
		return BRANCH_NONE;
	case 0x87: case 0x1c1: // xchg, xadd
		overwrite(s, (int)in->reg);
		overwrite(s, in->mod == 3 ? (int)in->rm : -1);
		return BRANCH_NONE;
	case 0x8d:
		address_of(s, in);
		return BRANCH_NONE;
	case 0xb8 ... 0xbf:
		move(s, in->rm, NO_REG);
		return BRANCH_NONE;
	case 0xc8:
		hold(s, RSP, FLOW_UNKNOWN);
		s->fp = FLOW_UNKNOWN;
		return BRANCH_NONE;
	case 0xc9:
		leave(s);
		return BRANCH_NONE;
	case 0xe8:
		call(s);
		return BRANCH_CALL;
	case 0xff:
		effect_ff(s, in);
		return in->branch;
	case 0xcc: // int3: nothing but padding is expected behind it
		return BRANCH_STOP;
	default:
		overwrite(s, written(in));
		return in->branch;
	}
}
