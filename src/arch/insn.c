// One instruction of the machine's code. Input: its bytes. Output: its length, whether it returns, calls or jumps, and where to; of x86-64 its operands
// too (x86.c). Source for arm64: Arm ARM, C4.1.65 (branches, exception generating and system instructions).
#include "arch/internal.h"

// The n bits of the instruction from bit `low` on count instructions, with a sign.
static s64 imm_at(u32 v, u32 low, u32 n)
{
	return ((s64)((u64)(v >> low) << (64 - n)) >> (64 - n)) * 4;
}

static enum Branch arm64_branch(u32 v, u64 pc, u64 *to)
{
	if ((v & 0x7c000000) == 0x14000000) { // b, bl
		*to = pc + (u64)imm_at(v, 0, 26);
		return v >> 31 ? BRANCH_CALL : BRANCH_JUMP;
	}
	if ((v & 0xff000000) == 0x54000000 || (v & 0x7e000000) == 0x34000000) { // b.cond, cbz, cbnz
		*to = pc + (u64)imm_at(v, 5, 19);
		return (v & 0xff00000f) == 0x5400000e ? BRANCH_JUMP : BRANCH_COND;
	}
	if ((v & 0x7e000000) == 0x36000000) { // tbz, tbnz
		*to = pc + (u64)imm_at(v, 5, 14);
		return BRANCH_COND;
	}
	if ((v & 0xffe0001f) == 0xd4200000 || !(v >> 16)) // brk, udf
		return BRANCH_STOP;
	if ((v & 0xfe000000) != 0xd6000000)
		return BRANCH_NONE;
	switch (v >> 21 & 7) { // with pointer authentication (bit 24) or without
	case 0:
		return BRANCH_INDIRECT;
	case 1:
		return BRANCH_CALL;
	case 2:
		return BRANCH_RET;
	}
	return BRANCH_NONE;
}

bool insn_decode(enum PtArch arch, const u8 *p, u64 n, u64 pc, struct Insn *in)
{
	u32 v;
	if (arch == PT_X86_64)
		return x86_decode(p, (u32)MIN(n, 15u), pc, in);
	*in = (struct Insn){.base = INSN_NO_REG};
	if (n < sizeof(v))
		return false;
	memcpy(&v, p, sizeof(v));
	in->len = sizeof(v);
	in->branch = arm64_branch(v, pc, &in->target);
	return true;
}
