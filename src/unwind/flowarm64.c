// Code of arm64 as flow.c reads it: how far the stack pointer is from the CFA, and where the return address is, in x30 or on the stack. Input: decoded
// instructions (arch/arm64.c). Output: states and rules. Calling convention: AAPCS64, 6.1.1 (x19 to x29 are the caller's, a call sets x30), 6.2.3 (frame
// records: x29 points to where the caller's x29 and the return address lie).
#include "unwind/internal.h"
#include <string.h>

static int slot_of(u32 reg) // RT_SLOT_REGS: x29, x19 to x23
{
	return reg == A64_FP ? 0 : reg >= 19 && reg <= 23 ? (int)reg - 18 : -1;
}

// What reg holds, as its distance below the CFA.
static s32 held(const struct FlowState *s, u32 reg)
{
	return reg == A64_SP ? s->sp : reg == A64_FP ? s->fp : FLOW_UNKNOWN;
}

// The place base + disp, counted from the CFA; 0: not known, or not in the frame.
static s16 place(const struct FlowState *s, u32 base, s64 disp)
{
	s32 at = held(s, base);
	s64 off = disp - at;
	return at == FLOW_UNKNOWN || off >= 0 || off < INT16_MIN ? 0 : (s16)off;
}

// The stack pointer moved: what was saved below it is gone. Until then it is there, also when it has been loaded.
static void set_sp(struct FlowState *s, s32 v)
{
	s->sp = v;
	if (v == FLOW_UNKNOWN)
		return;
	if (s->ra < -v)
		s->ra = 0;
	for (u32 k = 0; k < RT_UW_SLOTS; k++)
		if (s->slot[k] < -v)
			s->slot[k] = 0;
}

// These registers have other values now.
static void overwrite(struct FlowState *s, u32 writes)
{
	if (writes & 1u << A64_SP)
		s->sp = FLOW_UNKNOWN;
	if (writes & 1u << A64_FP)
		s->fp = FLOW_UNKNOWN;
	if (writes & 1u << A64_LR)
		s->in_lr = 0;
	if (s->ra_copy && writes >> (s->ra_copy - 1) & 1)
		s->ra_copy = 0;
	if (s->number_reg && writes >> (s->number_reg - 1) & 1)
		s->number_reg = 0, s->number = 0;
}

// The first time, if it still has the caller's value, that is where to find it.
static void stored(struct FlowState *s, u32 reg, s16 at)
{
	int k = slot_of(reg);
	if (at && reg == A64_LR && s->in_lr && !s->ra)
		s->ra = at;
	if (at && k >= 0 && !s->slot[k] && !(reg == A64_FP && s->fp != FLOW_UNKNOWN))
		s->slot[k] = at;
}

static void loaded(struct FlowState *s, u32 reg, s16 at)
{
	if (reg == INSN_NO_REG)
		return;
	overwrite(s, 1u << reg);
	if (at && reg == A64_LR && s->ra == at)
		s->in_lr = 1;
}

// base += by: of the stack pointer; x29 does not move in a frame.
static void move_base(struct FlowState *s, const struct Insn *in)
{
	if (in->mod == A64_AT)
		return;
	if (in->base == A64_SP)
		set_sp(s, flow_moved(s->sp, -(s64)in->imm));
	else if (in->base != INSN_NO_REG)
		overwrite(s, 1u << in->base);
}

static void load_store(struct FlowState *s, const struct Insn *in)
{
	s16 at = place(s, in->base, in->disp), next = place(s, in->base, (s64)in->disp + 8);
	if (in->op == A64_STORE) {
		stored(s, in->reg, at);
		stored(s, in->rm, next);
	} else if (in->op == A64_LOAD) {
		loaded(s, in->reg, at);
		loaded(s, in->rm, next);
	}
	move_base(s, in);
}

// Only the stack pointer and what points into the frame by it is followed.
static void add(struct FlowState *s, const struct Insn *in)
{
	s32 v = in->base == A64_SP || in->reg == A64_SP ? flow_moved(held(s, in->base), -(s64)in->imm) : FLOW_UNKNOWN;
	overwrite(s, in->writes);
	if (in->reg == A64_SP)
		set_sp(s, v);
	else if (in->reg == A64_FP)
		s->fp = v;
}

static void add_register(struct FlowState *s, const struct Insn *in)
{
	bool known = in->reg == A64_SP && in->base == A64_SP && in->rm != INSN_NO_REG && in->rm + 1 == s->number_reg;
	s32 v = known ? flow_moved(s->sp, in->op == A64_SUB_REG ? (s64)s->number : -(s64)s->number) : FLOW_UNKNOWN;
	overwrite(s, in->writes);
	if (known)
		set_sp(s, v);
}

// A return address that is kept in another register: around calls of code that a compiler has taken out of several functions.
static void move(struct FlowState *s, const struct Insn *in)
{
	bool back = in->reg == A64_LR && s->ra_copy == in->rm + 1, out = in->rm == A64_LR && s->in_lr && !s->ra;
	overwrite(s, in->writes);
	if (back)
		s->in_lr = 1;
	else if (out && in->reg != A64_SP)
		s->ra_copy = in->reg + 1;
}

// Frames of more than an immediate holds have their size in a register that calls may change.
static void number(struct FlowState *s, const struct Insn *in)
{
	bool outermost = !in->imm && (in->reg == A64_FP || in->reg == A64_LR) && s->in_lr && !s->ra && !s->slot[0] && s->fp == FLOW_UNKNOWN && s->sp <= 0;
	if (outermost) {
		s->root = s->root ? s->root : FLOW_ROOT;
		return;
	}
	overwrite(s, in->writes);
	if (in->reg >= 9 && in->reg <= 17 && in->imm && in->imm % 16 == 0 && in->imm <= FLOW_MAX_FRAME) {
		s->number = in->imm;
		s->number_reg = in->reg + 1;
	}
}

static void number16(struct FlowState *s, const struct Insn *in)
{
	bool of_it = s->number_reg == in->reg + 1;
	u32 v = ((u32)s->number & ~(0xffffu << in->disp)) | (u32)in->imm << in->disp;
	overwrite(s, in->writes);
	if (of_it && v <= FLOW_MAX_FRAME) {
		s->number = (s32)v;
		s->number_reg = in->reg + 1;
	}
}

static enum Branch effect(struct FlowState *s, const struct Insn *in)
{
	switch (in->op) {
	case A64_STORE: case A64_LOAD: case A64_ACCESS:
		overwrite(s, in->op == A64_ACCESS ? in->writes & ~(in->base == INSN_NO_REG ? 0 : 1u << in->base) : 0);
		load_store(s, in);
		break;
	case A64_ADD:
		add(s, in);
		break;
	case A64_ADD_REG: case A64_SUB_REG:
		add_register(s, in);
		break;
	case A64_MOVE:
		move(s, in);
		break;
	case A64_NUMBER:
		number(s, in);
		break;
	case A64_NUMBER16:
		number16(s, in);
		break;
	default:
		overwrite(s, in->writes);
	}
	if (in->branch == BRANCH_CALL)
		s->number_reg = 0, s->number = 0;
	return in->branch;
}

// ---- what functions look like
static bool is_padding(const struct Insn *in)
{
	return in->op == A64_NOP;
}

static bool saves_lr(const struct Insn *in)
{
	return in->op == A64_STORE && in->base == A64_SP && (in->reg == A64_LR || in->rm == A64_LR);
}

static bool makes_frame(const struct Insn *in)
{
	return in->op == A64_SIGN || (in->op == A64_HINT && in->imm == A64_BTI_C) || (in->op == A64_ADD && in->reg == A64_SP && in->base == A64_SP && in->imm < 0) ||
	       ((in->op == A64_STORE || in->op == A64_ACCESS) && in->base == A64_SP && in->mod == A64_BEFORE && in->imm < 0);
}

// Behind a call x30 is the call's. It is saved (signed before) at a function's beginning only.
#define PROLOGUE 8 // instructions
static bool begins(const struct FlowState *s, const u8 *p, u64 n, u64 pc)
{
	struct Insn in;
	if (s && s->in_lr)
		return false;
	for (u64 at = 0; at < MIN(n, PROLOGUE * 4u) && flow_decode(&flow_arm64, p + at, n - at, pc + at, &in); at += in.len) {
		if (in.op == A64_SIGN || saves_lr(&in))
			return true;
		if (in.branch != BRANCH_NONE || in.writes & 1u << A64_LR)
			return false;
	}
	return false;
}

static bool left(const struct FlowState *s, const struct Insn *in, s32 more)
{
	bool held = in && in->base != A64_LR ? in->base != INSN_NO_REG && s->ra_copy == in->base + 1 : s->in_lr;
	return held && s->sp == more && !s->slot[0];
}

// Linkers' and compilers' jumps to other functions go by x16 or x17 (AAPCS64 6.1.1; with BTI no other is allowed), those of a switch by other registers.
static bool by_slot(const struct FlowState *s, const struct Insn *in)
{
	(void)s;
	return in->base == 16 || in->base == 17;
}

static bool is_plt_head(const u8 *p, u64 n)
{
	return n >= 4 && !memcmp(p, "\xf0\x7b\xbf\xa9", 4); // stp x16, x30, [sp, #-16]!
}

static void rule(const struct FlowState *s, bool by_sp, struct RtUwRule *r)
{
	bool framed = flow_framed(s) && !(by_sp && s->sp != FLOW_UNKNOWN);
	r->kind = RT_UW_REG;
	r->reg = framed || s->sp == FLOW_UNKNOWN ? A64_FP : A64_SP;
	r->off = held(s, r->reg);
	if (s->ra) {
		r->ra = s->ra;
	} else if (s->in_lr || s->ra_copy) {
		r->ra_kind = RT_UW_RA_REG;
		r->ra = s->in_lr ? A64_LR : s->ra_copy - 1;
	} else {
		r->kind = RT_UW_NONE; // lost
	}
	if (r->off < 0) // so is what is not known
		r->kind = RT_UW_NONE;
}

const struct FlowMachine flow_arm64 = {
	.arch = PT_ARM64, .unit = 4, .plt_to = 16, .entered = {.fp = FLOW_UNKNOWN, .low = FLOW_UNKNOWN, .in_lr = 1},
	.effect = effect, .is_padding = is_padding, .makes_frame = makes_frame, .begins = begins, .left = left, .by_slot = by_slot,
	.is_plt_head = is_plt_head, .rule = rule,
};
