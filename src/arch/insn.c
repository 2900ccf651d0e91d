// One instruction of the machine's code. Input: its bytes. Output: its length, whether it returns, calls or jumps, and where to; its operands
// (x86.c, arm64.c, riscv64.c).
#include "arch/internal.h"

bool insn_decode(enum PtArch arch, const u8 *p, u64 n, u64 pc, struct Insn *in)
{
	u32 v;
	if (arch == PT_X86_64)
		return x86_decode(p, (u32)MIN(n, 15u), pc, in);
	*in = (struct Insn){.base = INSN_NO_REG};
	if (arch == PT_RISCV64)
		return riscv64_decode(p, (u32)MIN(n, 4u), pc, in);
	if (n < sizeof(v))
		return false;
	memcpy(&v, p, sizeof(v));
	return arm64_decode(v, pc, in);
}
