// Instructions of x86-64 as far as they move the stack or save registers. Input: bytes nobody vouches for. Output: what an instruction does to the
// distance between the stack pointer and the CFA. Source: Intel SDM volume 2, appendix A (opcode maps).
#include "unwind/flowinsn.h"
#include "base/insn.h"
#include <string.h>

#define MAX_FRAME (1 << 24)
static const u8 slot_regs[RT_UW_SLOTS] = {RBP, 3, 12, 13, 14, 15}; // RT_SLOT_REGS by the numbers of instructions: rbp, rbx, r12 to r15

static s32 sized(const u8 *p, u32 n)
{
	s32 v = 0;
	memcpy(&v, p, n);
	return n == 1 ? (s8)v : n == 2 ? (s16)v : v;
}

bool flow_decode(const u8 *p, u32 n, u64 pc, struct FlowInsn *in)
{
	u32 i = 0, rex = 0;
	*in = (struct FlowInsn){.len = insn_length(p, n), .base = 0xff};
	if (!in->len)
		return false;
	for (; i < in->len; i++) {
		u8 c = p[i];
		if (c != 0x66 && c != 0x67 && c != 0xf2 && c != 0xf3 && c != 0xf0 && (c & 0xe7) != 0x26 && (c & 0xfe) != 0x64)
			break;
	}
	if (i + 1 < in->len && (p[i] & 0xf0) == 0x40)
		rex = p[i++];
	in->wide = rex & 8;
	in->op = i < in->len ? p[i++] : 0;
	if (in->op == 0x0f)
		in->op = 0x100 | (i < in->len ? p[i++] : 0);
	u32 left = in->len - i;
	in->rm = (in->op & 7) | (rex & 1) << 3; // of push, pop and mov of an immediate
	if (in->op == 0xe8 || in->op == 0xe9 || in->op == 0xeb || (in->op >= 0x70 && in->op < 0x80) || (in->op >= 0x180 && in->op < 0x190) ||
	    (in->op >= 0xe0 && in->op <= 0xe3)) {
		in->target = pc + in->len + (u64)(s64)sized(p + i, MIN(left, 4));
		return true;
	}
	bool modrm = (in->op < 0x40 && (in->op & 7) < 4) || in->op == 0x81 || in->op == 0x83 || in->op == 0x87 || in->op == 0x89 ||
		     in->op == 0x8b || in->op == 0x8d || in->op == 0x8f || in->op == 0xff;
	if (!modrm || !left)
		return true;
	u8 m = p[i++];
	in->mod = m >> 6;
	in->reg = (m >> 3 & 7) | (rex & 4) << 1;
	in->rm = (m & 7) | (rex & 1) << 3;
	if (in->mod == 3) {
		in->imm = in->op == 0x83 ? sized(p + i, 1) : in->op == 0x81 ? sized(p + i, MIN(in->len - i, 4)) : 0;
		return true;
	}
	in->base = in->rm;
	if ((m & 7) == 5 && !in->mod && i + 4 <= in->len)
		in->target = pc + in->len + (u64)(s64)sized(p + i, 4); // a slot
	if ((m & 7) == 4) {
		u8 sib = p[i++];
		in->base = (sib >> 3 & 7) == 4 && !(rex & 2) ? (sib & 7) | (rex & 1) << 3 : 0xff; // with an index: not followed
		if ((sib & 7) == 5 && !in->mod)
			in->base = 0xff;
	} else if ((m & 7) == 5 && !in->mod) {
		in->base = 0xff; // relative to the next instruction
	}
	in->disp = in->mod == 1 ? sized(p + i, 1) : in->mod == 2 ? sized(p + i, 4) : 0;
	return true;
}

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
static s32 moved(s32 from, s64 by)
{
	s64 v = (s64)from + by;
	return from == FLOW_UNKNOWN || v < -MAX_FRAME || v > MAX_FRAME ? FLOW_UNKNOWN : (s32)v;
}

static void push(struct FlowState *s, u32 reg)
{
	s->sp = moved(s->sp, 8);
	if (s->sp == FLOW_UNKNOWN)
		return;
	stored(s, reg, -s->sp);
}

static void pop(struct FlowState *s, u32 reg)
{
	int k = flow_slot(reg);
	if (k >= 0 && s->sp != FLOW_UNKNOWN && s->slot[k] == -s->sp)
		s->slot[k] = 0;
	if (reg == RBP)
		s->fp = FLOW_UNKNOWN;
	if (reg == RSP)
		s->sp = FLOW_UNKNOWN;
	else
		s->sp = moved(s->sp, -8);
}

static void leave(struct FlowState *s)
{
	s->sp = s->fp == FLOW_UNKNOWN ? FLOW_UNKNOWN : s->fp;
	pop(s, RBP);
}

// Arithmetic on a register: op 0 add, 1 or, 4 and, 5 sub, 6 xor, 7 cmp.
static void arith(struct FlowState *s, u32 op, u32 reg, bool is_imm, s32 imm)
{
	if (op == 7)
		return;
	if (reg == RBP)
		s->fp = FLOW_UNKNOWN;
	if (reg == RSP)
		s->sp = !is_imm || (op != 0 && op != 5) ? FLOW_UNKNOWN : moved(s->sp, op == 5 ? (s64)imm : -(s64)imm);
}

static void move(struct FlowState *s, u32 to, u32 from)
{
	if (to == RBP)
		s->fp = from == RSP ? s->sp : FLOW_UNKNOWN;
	else if (to == RSP)
		s->sp = from == RBP ? s->fp : FLOW_UNKNOWN;
}

static void address_of(struct FlowState *s, const struct FlowInsn *in)
{
	s32 v = moved(in->base == RSP ? s->sp : in->base == RBP ? s->fp : FLOW_UNKNOWN, -(s64)in->disp);
	if (in->reg == RSP)
		s->sp = v;
	else if (in->reg == RBP)
		s->fp = v;
}

static void store(struct FlowState *s, const struct FlowInsn *in)
{
	if (in->base == RSP && s->sp != FLOW_UNKNOWN)
		stored(s, in->reg, (s64)in->disp - s->sp);
	else if (in->base == RBP && s->fp != FLOW_UNKNOWN)
		stored(s, in->reg, (s64)in->disp - s->fp);
}

static enum FlowWay effect_ff(struct FlowState *s, const struct FlowInsn *in)
{
	switch (in->reg & 7) {
	case 2: case 3:
		return W_CALL;
	case 4: case 5:
		return W_INDIRECT;
	case 6:
		push(s, RSP);
	}
	return W_NEXT;
}

enum FlowWay flow_effect(struct FlowState *s, const struct FlowInsn *in)
{
	u32 op = in->op;
	if (op < 0x40 && (op & 7) < 4) { // add or adc sbb and sub xor cmp
		u32 to = op & 2 ? in->reg : in->rm, from = op & 2 ? in->rm : in->reg;
		if (!(op & 1) || (in->mod != 3 && !(op & 2)))
			return W_NEXT;
		bool outermost = (op & 0x38) == 0x30 && in->mod == 3 && to == RBP && from == RBP && !s->slot[0] && s->fp == FLOW_UNKNOWN &&
				 (s->sp == FLOW_UNKNOWN || s->sp <= 8);
		if (outermost)
			s->root = 1;
		arith(s, op >> 3, to, false, 0);
		return W_NEXT;
	}
	switch (op) {
	case 0x50 ... 0x57:
		push(s, in->rm);
		return W_NEXT;
	case 0x58 ... 0x5f:
		pop(s, in->rm);
		return W_NEXT;
	case 0x68: case 0x6a: case 0x9c:
		push(s, RSP);
		return W_NEXT;
	case 0x9d:
		pop(s, 0);
		return W_NEXT;
	case 0x8f: // with another field it begins an XOP instruction
		if (!(in->reg & 7))
			pop(s, in->mod == 3 ? in->rm : 0);
		return W_NEXT;
	case 0x81: case 0x83:
		if (in->mod == 3)
			arith(s, in->reg & 7, in->rm, true, in->imm);
		return W_NEXT;
	case 0x89:
		if (in->mod == 3)
			move(s, in->rm, in->reg);
		else if (in->wide)
			store(s, in);
		return W_NEXT;
	case 0x8b:
		move(s, in->reg, in->mod == 3 ? in->rm : 0);
		return W_NEXT;
	case 0x87:
		if (in->reg == RSP || in->rm == RSP)
			s->sp = FLOW_UNKNOWN;
		return W_NEXT;
	case 0x8d:
		address_of(s, in);
		return W_NEXT;
	case 0xb8 ... 0xbf:
		move(s, in->rm, 0);
		return W_NEXT;
	case 0xc8:
		s->sp = s->fp = FLOW_UNKNOWN;
		return W_NEXT;
	case 0xc9:
		leave(s);
		return W_NEXT;
	case 0xc2: case 0xc3:
		return W_RET;
	case 0xe8:
		return W_CALL;
	case 0xe9: case 0xeb:
		return W_JUMP;
	case 0x70 ... 0x7f: case 0x180 ... 0x18f: case 0xe0 ... 0xe3:
		return W_BRANCH;
	case 0xff:
		return effect_ff(s, in);
	case 0xf4: case 0xcc: case 0x10b:
		return W_STOP;
	default:
		return W_NEXT;
	}
}
