// Where an instruction goes on. Input: its bytes and length. Output: whether it returns, calls or jumps, and where to.
// Source: Intel SDM volume 2, appendix A (64-bit mode); Arm ARM, C4.1.65 (branches, exception generating and system instructions).
#include "arch/arch.h"

static s64 signed_at(const u8 *p, u32 n)
{
	s32 v = 0;
	memcpy(&v, p, n);
	return n == 1 ? (s8)v : v;
}

static bool x86_prefix(u8 c)
{
	return c == 0x66 || c == 0x67 || c == 0xf0 || c == 0xf2 || c == 0xf3 || (c & 0xfe) == 0x64 || (c & 0xe7) == 0x26;
}

// A relative target is the last n bytes of the instruction.
static enum Branch relative(enum Branch b, const u8 *p, u32 len, u32 n, s64 *to)
{
	*to = len > n ? (s64)len + signed_at(p + len - n, n) : 0;
	return b;
}

static enum Branch x86_branch(const u8 *p, u32 len, s64 *to)
{
	u32 i = 0;
	while (i < len && x86_prefix(p[i]))
		i++;
	if (i < len && (p[i] & 0xf0) == 0x40)
		i++;
	u8 op = i < len ? p[i] : 0, next = i + 1 < len ? p[i + 1] : 0;
	switch (op) {
	case 0xc2: case 0xc3: case 0xca: case 0xcb: case 0xcf:
		return BRANCH_RET;
	case 0xe8:
		return relative(BRANCH_CALL, p, len, 4, to);
	case 0xe9:
		return relative(BRANCH_JUMP, p, len, 4, to);
	case 0xeb:
		return relative(BRANCH_JUMP, p, len, 1, to);
	case 0x70 ... 0x7f: case 0xe0 ... 0xe3:
		return relative(BRANCH_COND, p, len, 1, to);
	case 0x0f:
		return (next & 0xf0) == 0x80 ? relative(BRANCH_COND, p, len, 4, to) : BRANCH_NONE;
	case 0xff:
		return (next >> 3 & 7) == 2 || (next >> 3 & 7) == 3 ? BRANCH_CALL : (next >> 3 & 7) == 4 || (next >> 3 & 7) == 5 ? BRANCH_INDIRECT : BRANCH_NONE;
	}
	return BRANCH_NONE;
}

// The n bits of the instruction from bit `low` on count instructions, with a sign.
static s64 imm_at(u32 v, u32 low, u32 n)
{
	return (s64)((u64)(v >> low) << (64 - n)) >> (64 - n) << 2;
}

static enum Branch arm64_branch(const u8 *p, u32 len, s64 *to)
{
	u32 v;
	if (len < 4)
		return BRANCH_NONE;
	memcpy(&v, p, 4);
	if ((v & 0x7c000000) == 0x14000000) { // b, bl
		*to = imm_at(v, 0, 26);
		return v >> 31 ? BRANCH_CALL : BRANCH_JUMP;
	}
	if ((v & 0xff000000) == 0x54000000 || (v & 0x7e000000) == 0x34000000) { // b.cond, cbz, cbnz
		*to = imm_at(v, 5, 19);
		return (v & 0xff00000f) == 0x5400000e ? BRANCH_JUMP : BRANCH_COND;
	}
	if ((v & 0x7e000000) == 0x36000000) { // tbz, tbnz
		*to = imm_at(v, 5, 14);
		return BRANCH_COND;
	}
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

enum Branch insn_branch_of(enum PtArch arch, const u8 *p, u32 len, s64 *to)
{
	*to = 0;
	return arch == PT_X86_64 ? x86_branch(p, len, to) : arm64_branch(p, len, to);
}
