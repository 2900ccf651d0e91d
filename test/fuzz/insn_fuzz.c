// Instructions of code that nobody vouches for. First byte: architecture. An instruction lies in the bytes given, is the same when there are no more
// bytes than its own, and none when there are fewer.
#include "arch/arch.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static bool is_reg(u32 reg, u32 n)
{
	return reg < n || reg == INSN_NO_REG;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct Insn in, again;
	if (!size)
		return 0;
	enum PtArch arch = data[0] & 1 ? PT_ARM64 : PT_X86_64;
	for (size_t at = 1; at < size && insn_decode(arch, data + at, size - at, at, &in); at += in.len) {
		u32 regs = arch == PT_ARM64 ? 32 : 16;
		check(in.len && in.len <= 15 && in.len <= size - at && in.mod < 4 && is_reg(in.reg, regs) && is_reg(in.rm, regs) && is_reg(in.base, regs));
		u8 *own = memcpy(xmalloc(in.len), data + at, in.len);
		check(insn_decode(arch, own, in.len, at, &again));
		check(again.len == in.len && again.op == in.op && again.branch == in.branch && again.target == in.target && again.imm == in.imm && again.disp == in.disp && again.writes == in.writes);
		check(!insn_decode(arch, own, in.len - 1, at, &again) && !again.len);
		free(own);
	}
	return 0;
}
