// What code of x86-64 looks like to flow.c: where functions begin and end, what lies between them, which rule a state amounts to.
// Input: decoded instructions (arch/x86.c), states (flowinsn.c). Calling convention: System V ABI for AMD64, 3.2 and 3.4.1 (rbp zero: the outermost frame).
#include "unwind/internal.h"
#include <string.h>

static bool is_padding(const struct Insn *in)
{
	return in->op == 0x90 || in->op == 0xcc || in->op == 0x11f;
}

static bool makes_frame(const struct Insn *in)
{
	return (in->op >= 0x50 && in->op < 0x58 && flow_slot(in->rm) >= 0) ||
	       ((in->op == 0x81 || in->op == 0x83) && in->mod == 3 && in->rm == RSP && (in->reg & 7) == 5);
}

// Two registers of the caller are saved there one after the other, in the order compilers have for it.
static bool begins(const struct FlowState *s, const u8 *p, u64 n, u64 pc)
{
	static const u8 order[] = {RBP, 15, 14, 13, 12, RBP, 3}; // LLVM saves rbp first
	struct Insn in;
	u32 saved = 0, next = 0;
	if (s && s->sp <= 8)
		return false;
	for (u64 off = 0; off < n && insn_decode(PT_X86_64, p + off, n - off, pc + off, &in) && in.op >= 0x50 && in.op < 0x58; off += in.len) {
		while (next < ARRAY_LEN(order) && order[next] != in.rm)
			next++;
		if (next == ARRAY_LEN(order))
			break;
		saved++;
	}
	return saved >= 2;
}

static bool left(const struct FlowState *s, const struct Insn *in, s32 more)
{
	(void)in;
	return s->sp == 8 + more;
}

static bool by_slot(const struct FlowState *s, const struct Insn *in)
{
	(void)s;
	return in->target;
}

static bool borrows(const struct FlowState *s, const struct Insn *in)
{
	bool gives_up = in->op == 0xc9 || (in->mod == 3 && in->wide && ((in->op == 0x89 && in->rm == RSP && in->reg == RBP) || (in->op == 0x8b && in->reg == RSP && in->rm == RBP)));
	return gives_up && s->fp == FLOW_UNKNOWN && s->sp != FLOW_UNKNOWN && !s->slot[0];
}

// push of a slot, jump through the next one. The others come here with a number on the stack (psABI 5.2).
static bool is_plt_head(const u8 *p, u64 n)
{
	return n >= 12 && p[0] == 0xff && p[1] == 0x35 && ((p[6] == 0xff && p[7] == 0x25) || (p[6] == 0xf2 && p[7] == 0xff && p[8] == 0x25));
}

static u32 compares_stack(const struct Insn *in)
{
	if (in->mod != 3 || !in->wide)
		return 0;
	return in->op == 0x39 && in->rm == RSP ? in->reg + 1 : in->op == 0x3b && in->reg == RSP ? in->rm + 1 : 0;
}

static u64 takes_address(const struct Insn *in)
{
	return in->op == 0x8d ? in->target : 0; // lea n(%rip)
}

static const u8 dwarf_numbers[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}; // of the registers as instructions number them

static void rule(const struct FlowState *s, bool by_sp, struct RtUwRule *r)
{
	bool framed = flow_framed(s) && !(by_sp && s->sp != FLOW_UNKNOWN);
	r->kind = RT_UW_REG;
	if (s->in_lr) { // what is on the stack is the caller's already
		r->reg = dwarf_numbers[RSP];
		r->ra_kind = RT_UW_RA_REG;
		r->ra = dwarf_numbers[s->ra_copy - 1];
		return;
	}
	if (framed || (s->sp == FLOW_UNKNOWN && s->fp != FLOW_UNKNOWN)) {
		r->reg = dwarf_numbers[RBP];
		r->off = s->fp;
	} else if (s->sp == FLOW_UNKNOWN && s->cfa_at) {
		r->kind = RT_UW_DEREF;
		r->reg = dwarf_numbers[RBP];
		r->off = s->cfa_at;
	} else if (s->sp == FLOW_UNKNOWN && s->stored) {
		bool by_rbp = s->aligned == FLOW_ALIGNED_COPY;
		r->kind = RT_UW_DEREF;
		r->reg = dwarf_numbers[by_rbp ? RBP : RSP];
		r->off = (by_rbp ? s->saved_at : s->low) - s->stored_at;
		r->off2 = s->stored;
	} else if (s->sp == FLOW_UNKNOWN && s->copy_reg) {
		r->reg = dwarf_numbers[s->copy_reg - 1];
		r->off = s->copy;
	} else {
		r->reg = dwarf_numbers[RSP];
		r->off = s->sp;
	}
	bool known = s->sp == FLOW_UNKNOWN && (s->cfa_at || (s->copy_reg && !s->copy)); // else no distance from the stack's top can be less
	if (!known && (r->kind == RT_UW_DEREF ? r->off < 0 : r->off < 8))
		r->kind = RT_UW_NONE;
	r->ra = -8;
}

const struct FlowMachine flow_x86 = {
	.arch = PT_X86_64, .unit = 1, .filler = 0xcc, .plt_from = 8, .plt_to = 16, .entered = {.sp = 8, .fp = FLOW_UNKNOWN, .low = FLOW_UNKNOWN},
	.effect = flow_effect, .is_padding = is_padding, .makes_frame = makes_frame, .begins = begins, .left = left, .by_slot = by_slot, .borrows = borrows,
	.is_plt_head = is_plt_head, .takes_address = takes_address, .compares_stack = compares_stack, .rule = rule,
};
