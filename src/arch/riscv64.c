// Instructions of riscv64: how long each is and where it goes on. Input: its bytes. Output: struct Insn without operands.
// The RISC-V Instruction Set Manual, Volume I: 1.5 (lengths), 2.5 (JAL, JALR, branches), "C" 16.3 to 16.5 (compressed).
#include "arch/internal.h"

enum { RA = 1, T0 = 5 }; // registers that hold return addresses (2.5: x5 is that of millicode)

static s64 sign(u32 v, u32 bits)
{
	return (s64)(s32)(v << (32 - bits)) >> (32 - bits);
}

static u32 bits(u32 v, u32 from, u32 n, u32 to)
{
	return (v >> from & ((1u << n) - 1)) << to;
}

static bool is_link(u32 r)
{
	return r == RA || r == T0;
}

static void to(struct Insn *in, enum Branch branch, u64 target)
{
	in->branch = branch;
	in->target = target;
}

static void by_register(struct Insn *in, u32 rd, u32 rs, bool plain)
{
	in->branch = is_link(rd) ? BRANCH_CALL : is_link(rs) && plain ? BRANCH_RET : BRANCH_INDIRECT;
}

static void compressed(u32 v, u64 pc, struct Insn *in)
{
	u32 op = (v & 3) << 3 | v >> 13, rd = v >> 7 & 31, rs2 = v >> 2 & 31;
	switch (op) {
	case 1 << 3 | 5: // c.j
		to(in, BRANCH_JUMP,
		   pc + (u64)sign(bits(v, 3, 3, 1) | bits(v, 11, 1, 4) | bits(v, 2, 1, 5) | bits(v, 7, 1, 6) | bits(v, 6, 1, 7) |
				      bits(v, 9, 2, 8) | bits(v, 8, 1, 10) | bits(v, 12, 1, 11),
				  12));
		break;
	case 1 << 3 | 6: // c.beqz
	case 1 << 3 | 7: // c.bnez
		to(in, BRANCH_COND,
		   pc + (u64)sign(bits(v, 3, 2, 1) | bits(v, 10, 2, 3) | bits(v, 2, 1, 5) | bits(v, 5, 2, 6) | bits(v, 12, 1, 8), 9));
		break;
	case 2 << 3 | 4: // c.jr, c.jalr, c.ebreak; c.mv and c.add have rs2
		if (rs2)
			break;
		if (rd)
			by_register(in, v >> 12 & 1 ? RA : 0, rd, true);
		else
			in->branch = BRANCH_STOP;
		break;
	case 0:
		if (!v) // defined to be illegal
			in->branch = BRANCH_STOP;
		break;
	}
}

static void whole(u32 v, u64 pc, struct Insn *in)
{
	u32 rd = v >> 7 & 31;
	switch (v & 0x7f) {
	case 0x6f: // jal
		to(in, is_link(rd) ? BRANCH_CALL : BRANCH_JUMP,
		   pc + (u64)sign(bits(v, 21, 10, 1) | bits(v, 20, 1, 11) | bits(v, 12, 8, 12) | bits(v, 31, 1, 20), 21));
		break;
	case 0x67: // jalr
		by_register(in, rd, v >> 15 & 31, !(v >> 20));
		break;
	case 0x63: // beq ... bgeu
		to(in, BRANCH_COND, pc + (u64)sign(bits(v, 8, 4, 1) | bits(v, 25, 6, 5) | bits(v, 7, 1, 11) | bits(v, 31, 1, 12), 13));
		break;
	case 0x73:
		if (v == 0x00100073) // ebreak
			in->branch = BRANCH_STOP;
		break;
	}
}

bool riscv64_decode(const u8 *p, u32 n, u64 pc, struct Insn *in)
{
	u32 v = n >= 2 ? (u32)p[0] | (u32)p[1] << 8 : 0;
	if (n < 2 || (v & 3) == 3)
		if (n < 4 || (v & 0x1f) == 0x1f) // longer than 4 bytes: none is ratified
			return false;
	in->len = (v & 3) == 3 ? 4 : 2;
	if (in->len == 4)
		whole(v | (u32)p[2] << 16 | (u32)p[3] << 24, pc, in);
	else
		compressed(v, pc, in);
	return true;
}
