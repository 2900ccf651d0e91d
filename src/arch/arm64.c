// Instructions of arm64: where each goes on, and what it does to the stack pointer, to the registers that hold frames and return addresses, and to memory on
// the stack. Input: four bytes nobody vouches for. Output: struct Insn. Invariant: a general register that an instruction may set is among its `writes`.
// Source: Arm ARM (DDI 0487), C4.1 (encodings by groups).
#include "arch/internal.h"

#define BITS(v, low, n) ((u32)((v) >> (low)) & ((1u << (n)) - 1))

static s64 signed_at(u32 v, u32 low, u32 n)
{
	return (s64)((u64)(v >> low) << (64 - n)) >> (64 - n);
}

// The n bits of the instruction from bit `low` on count instructions, with a sign.
static s64 distance(u32 v, u32 low, u32 n)
{
	return signed_at(v, low, n) * 4;
}

// ---- branches, exceptions, system (C4.1.65)
static enum Branch branch_of(u32 v, u64 pc, u64 *to)
{
	if ((v & 0x7c000000) == 0x14000000) { // b, bl
		*to = pc + (u64)distance(v, 0, 26);
		return v >> 31 ? BRANCH_CALL : BRANCH_JUMP;
	}
	if ((v & 0xff000000) == 0x54000000 || (v & 0x7e000000) == 0x34000000) { // b.cond, cbz, cbnz
		*to = pc + (u64)distance(v, 5, 19);
		return (v & 0xff00000f) == 0x5400000e ? BRANCH_JUMP : BRANCH_COND;
	}
	if ((v & 0x7e000000) == 0x36000000) { // tbz, tbnz
		*to = pc + (u64)distance(v, 5, 14);
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

static u8 reg_at(u32 v, u32 low, bool sp) // number 31 is the stack pointer, or zero
{
	u32 r = BITS(v, low, 5);
	return r == 31 && !sp ? INSN_NO_REG : (u8)r;
}

static u32 bit_of(u8 reg)
{
	return reg == INSN_NO_REG ? 0 : 1u << reg;
}

static void system_or_branch(u32 v, struct Insn *in)
{
	if (in->branch == BRANCH_CALL)
		in->writes = 1u << A64_LR;
	if ((v & 0xfe000000) == 0xd6000000) // where to; those that sign have modifiers there, and retaa and retab x30
		in->base = in->branch == BRANCH_RET && BITS(v, 11, 1) ? A64_LR : reg_at(v, 5, false);
	if ((v & 0xfffff01f) == 0xd503201f) {
		u32 hint = BITS(v, 5, 7);
		in->op = !hint ? A64_NOP : hint >= 24 && hint < 28 ? A64_SIGN : A64_HINT;
		in->imm = (s32)hint;
	}
	if ((v & 0xffe00000) == 0xd5200000) // mrs, sysl
		in->writes = bit_of(reg_at(v, 0, false));
}

// ---- data processing with an immediate (C4.1.64)
// DecodeBitMasks() of 64-bit logical immediates: a run of ones in an element, turned, repeated. ~0: there is none.
static u64 bitmask(u32 v)
{
	u32 n = BITS(v, 22, 1), immr = BITS(v, 16, 6), imms = BITS(v, 10, 6), len = 6, ones, turn;
	u32 top = n << 6 | (~imms & 63);
	while (len && !(top >> len & 1))
		len--;
	if (!len)
		return ~0ull;
	u32 size = 1u << len;
	ones = (imms & (size - 1)) + 1;
	turn = immr & (size - 1);
	if (ones == size)
		return ~0ull;
	u64 e = (1ull << ones) - 1, all = size == 64 ? ~0ull : (1ull << size) - 1;
	if (turn)
		e = (e >> turn | e << (size - turn)) & all;
	for (; size < 64; size *= 2)
		e |= e << size;
	return e;
}

static void number(struct Insn *in, u64 v)
{
	if (v > INT32_MAX)
		return;
	in->op = A64_NUMBER;
	in->imm = (s32)v;
}

static void move_wide(u32 v, struct Insn *in)
{
	u32 shift = BITS(v, 21, 2) * 16, imm = BITS(v, 5, 16);
	if (BITS(v, 29, 2) == 2) {
		number(in, (u64)imm << shift);
	} else if (BITS(v, 29, 2) == 3 && shift < 32) {
		in->op = A64_NUMBER16;
		in->imm = (s32)imm;
		in->disp = (s32)shift;
	}
}

static void immediate(u32 v, struct Insn *in)
{
	bool sets = BITS(v, 29, 1), wide = v >> 31;
	u32 group = BITS(v, 23, 3);
	in->reg = reg_at(v, 0, (group == 2 && !sets) || group == 3 || (group == 4 && BITS(v, 29, 2) != 3));
	in->writes = bit_of(in->reg);
	switch (group) {
	case 2: // add, sub
		in->base = reg_at(v, 5, true);
		if (wide && in->reg != INSN_NO_REG) {
			s32 imm = (s32)(BITS(v, 10, 12) << BITS(v, 22, 1) * 12);
			in->op = A64_ADD;
			in->imm = BITS(v, 30, 1) ? -imm : imm;
		}
		break;
	case 4: // orr of nothing: a number
		if (wide && BITS(v, 29, 2) == 1 && BITS(v, 5, 5) == 31)
			number(in, bitmask(v));
		break;
	case 5:
		move_wide(v, in);
		break;
	}
}

// ---- data processing of registers (C4.1.67)
static void registers(u32 v, struct Insn *in)
{
	bool extended = (v & 0x1f200000) == 0x0b200000, shifted = (v & 0x1f200000) == 0x0b000000, sets = BITS(v, 29, 1), wide = v >> 31;
	if ((v & 0x1fe00000) == 0x1a400000 || (v & 0x7fffc000) == 0x5ac10000) // conditional compare; those that sign a pointer leave it what it is
		return;
	in->reg = reg_at(v, 0, extended && !sets);
	in->writes = bit_of(in->reg);
	in->base = reg_at(v, 5, extended);
	in->rm = reg_at(v, 16, false);
	if ((v & 0xffe0ffe0) == 0xaa0003e0 && in->rm != INSN_NO_REG)
		in->op = A64_MOVE;
	else if (wide && ((shifted && !BITS(v, 10, 6)) || (extended && BITS(v, 13, 3) == 3 && !BITS(v, 10, 3)))) // as it is
		in->op = BITS(v, 30, 1) ? A64_SUB_REG : A64_ADD_REG;
}

// ---- loads and stores (C4.1.66)
static void address(struct Insn *in, u32 mode, s32 by)
{
	in->mod = (u8)mode;
	in->disp = mode == A64_AFTER ? 0 : by;
	in->imm = mode == A64_AT ? 0 : by;
	if (mode != A64_AT)
		in->writes |= bit_of(in->base);
	if (in->op == A64_OTHER && mode != A64_AT)
		in->op = A64_ACCESS;
}

static void pair(u32 v, struct Insn *in)
{
	static const u8 modes[4] = {A64_AT, A64_AFTER, A64_AT, A64_BEFORE};
	u32 opc = BITS(v, 30, 2);
	bool vector = BITS(v, 26, 1), load = BITS(v, 22, 1), tags = opc == 1 && !vector && !load; // stgp
	u32 scale = vector ? 2 + opc : tags ? 4 : opc == 2 ? 3 : 2;
	in->reg = reg_at(v, 0, false);
	in->rm = reg_at(v, 10, false);
	if (!vector && opc == 2)
		in->op = load ? A64_LOAD : A64_STORE;
	if (!vector && load)
		in->writes = bit_of(in->reg) | bit_of(in->rm);
	address(in, modes[BITS(v, 23, 2)], (s32)signed_at(v, 15, 7) * (1 << scale));
}

static void single(u32 v, struct Insn *in)
{
	static const u8 modes[4] = {A64_AT, A64_AFTER, A64_AT, A64_BEFORE};
	u32 size = BITS(v, 30, 2), opc = BITS(v, 22, 2);
	bool vector = BITS(v, 26, 1), load = opc != 0 && !(size == 3 && opc == 2); // prfm
	bool scaled = BITS(v, 24, 1), signed_ptr = !scaled && BITS(v, 21, 1) && BITS(v, 10, 1); // ldraa
	in->reg = reg_at(v, 0, false);
	if (!scaled && BITS(v, 21, 1) && !signed_ptr) { // by a register; atomic: the old value is loaded
		in->writes = vector || (BITS(v, 10, 2) == 2 && !load) ? 0 : bit_of(in->reg);
		return;
	}
	if (signed_ptr) {
		in->writes = bit_of(in->reg);
		address(in, BITS(v, 11, 1) ? A64_BEFORE : A64_AT, (s32)signed_at((v & ~0x00200000u) | BITS(v, 22, 1) << 21, 12, 10) * 8);
		return;
	}
	if (!vector && size == 3 && opc < 2)
		in->op = opc ? A64_LOAD : A64_STORE;
	if (!vector && load)
		in->writes = bit_of(in->reg);
	u32 shift = vector ? size | (opc & 2) << 1 : size;
	if (scaled)
		address(in, A64_AT, (s32)(BITS(v, 10, 12) << MIN(shift, 4u)));
	else
		address(in, modes[BITS(v, 10, 2)], (s32)signed_at(v, 12, 9));
}

// Vectors one behind the other, and their lanes.
static void structures(u32 v, struct Insn *in)
{
	static const u8 how_many[16] = {[0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2};
	if (!BITS(v, 23, 1))
		return;
	u32 n = BITS(v, 24, 1) ? 0 : how_many[BITS(v, 12, 4)];
	in->writes = bit_of(in->base);
	if (n && BITS(v, 16, 5) == 31)
		address(in, A64_AFTER, (s32)(n * (BITS(v, 30, 1) ? 16 : 8)));
}

static void exclusive(u32 v, struct Insn *in) // also compare and swap, and what orders
{
	in->writes = bit_of(reg_at(v, 16, false)) | (BITS(v, 22, 1) ? bit_of(reg_at(v, 0, false)) | bit_of(reg_at(v, 10, false)) : 0);
}

static void literal(u32 v, struct Insn *in)
{
	in->base = INSN_NO_REG;
	in->writes = BITS(v, 26, 1) || v >> 30 == 3 ? 0 : bit_of(reg_at(v, 0, false)); // vectors, prfm
}

static void memory(u32 v, struct Insn *in)
{
	in->base = reg_at(v, 5, true);
	in->rm = INSN_NO_REG;
	if ((v & 0xbe000000) == 0x0c000000)
		structures(v, in);
	else if ((v & 0x3f000000) == 0x08000000)
		exclusive(v, in);
	else if ((v & 0x3a000000) == 0x28000000)
		pair(v, in);
	else if ((v & 0x3b000000) == 0x18000000)
		literal(v, in);
	else if ((v & 0x3a000000) == 0x38000000)
		single(v, in);
	else // ordered without an offset, tags, copies of memory
		in->writes = bit_of(reg_at(v, 0, false)) | bit_of(in->base) | bit_of(reg_at(v, 16, false));
}

// ---- vectors and floating point (C4.1.68): general registers that they set
static void vectors(u32 v, struct Insn *in)
{
	bool converted = (v & 0x5f20fc00) == 0x1e200000 && BITS(v, 16, 3) != 2 && BITS(v, 16, 3) != 3 && BITS(v, 16, 3) != 7; // not scvtf, ucvtf, fmov to a vector
	bool fixed = (v & 0x5f200000) == 0x1e000000 && BITS(v, 17, 2) == 0;
	bool lane = (v & 0xbfe0fc00) == 0x0e003c00 || (v & 0xbfe0fc00) == 0x0e002c00; // umov, smov
	if (converted || fixed || lane)
		in->writes = bit_of(reg_at(v, 0, false));
}

// SVE (C4.1.36): vector lengths added to and counted in general registers, elements taken out of vectors.
static void scalable(u32 v, struct Insn *in)
{
	u32 top = v >> 24, kind = BITS(v, 13, 3);
	if ((v & 0xffa0f800) == 0x04205000) // addvl, addpl
		in->writes = 1u << BITS(v, 0, 5);
	else if ((v & 0xffe0f800) == 0x04a05000 || (top == 4 && kind >= 6) || (top == 5 && kind == 5) || (top == 0x25 && kind >> 1 == 2)) // rdvl, cntb, incb, lasta, cntp
		in->writes = bit_of(reg_at(v, 0, false));
}

bool arm64_decode(u32 v, u64 pc, struct Insn *in)
{
	u32 group = BITS(v, 25, 4);
	*in = (struct Insn){.len = sizeof(v), .base = INSN_NO_REG, .reg = INSN_NO_REG, .rm = INSN_NO_REG};
	in->branch = branch_of(v, pc, &in->target);
	if (!v)
		in->op = A64_NOP;
	else if (group == 10 || group == 11)
		system_or_branch(v, in);
	else if (group == 8 || group == 9)
		immediate(v, in);
	else if ((group & 5) == 4)
		memory(v, in);
	else if ((group & 7) == 5)
		registers(v, in);
	else if ((group & 7) == 7)
		vectors(v, in);
	else if (group == 2)
		scalable(v, in);
	return true;
}
