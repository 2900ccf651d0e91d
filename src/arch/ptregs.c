// Register tables, see arch.h. In: a name; out: offset and width. No state.
#include "arch/arch.h"

const struct PtAbi ptregs_abi[] = {
	[PT_X86_64] = {{112, 104, 96, 88, 72, 64}, 6, 80, 128, 152, -1, 168},
	[PT_ARM64] = {{0, 8, 16, 24, 32, 40, 48, 56}, 8, 0, 256, 248, 240, 272},
	[PT_RISCV64] = {{80, 88, 96, 104, 112, 120, 128, 136}, 8, 80, 0, 16, 8, 256}, // what user space may know; the kernel's own has four words more
};

// Go's cmd/compile/abi-internal.md: RAX, RBX, RCX, RDI, RSI, R8 to R11; R0 to R15; X10 to X17, X8, X9, X18 to X23.
static const s16 go_riscv64[] = {80, 88, 96, 104, 112, 120, 128, 136, 64, 72, 144, 152, 160, 168, 176, 184};
static const s16 go_x86_64[] = {80, 40, 88, 112, 104, 72, 64, 56, 48}, go_arm64[] = {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120};

const s16 *ptregs_go_args(enum PtArch arch, u32 *n)
{
	if (arch == PT_RISCV64) {
		*n = ARRAY_LEN(go_riscv64);
		return go_riscv64;
	}
	*n = arch == PT_X86_64 ? ARRAY_LEN(go_x86_64) : ARRAY_LEN(go_arm64);
	return arch == PT_X86_64 ? go_x86_64 : go_arm64;
}

// Order and names of struct pt_regs on x86_64 (arch/x86/include/asm/ptrace.h), 8 bytes each.
static const char *const x86_names[] = {"r15", "r14", "r13", "r12", "bp", "bx", "r11", "r10", "r9", "r8", "ax",
					"cx", "dx", "si", "di", "orig_ax", "ip", "cs", "flags", "sp", "ss"};
#define X86_FIRST_LETTERED 4 // of the names that the assembler prefixes: bp ... sp

static int x86_index(const char *name, size_t len)
{
	for (u32 i = 0; i < ARRAY_LEN(x86_names); i++)
		if (strlen(x86_names[i]) == len && !memcmp(x86_names[i], name, len))
			return (int)i;
	return -1;
}

// "r10", "r10d", "r10w", "r10b"
static int x86_numbered(const char *r, u32 *size)
{
	size_t len = strlen(r);
	if (len < 2 || r[0] != 'r')
		return -1;
	const char *suffix = strchr("dwb", r[len - 1]);
	if (suffix && *suffix) {
		*size = *suffix == 'd' ? 4 : *suffix == 'w' ? 2 : 1;
		len--;
	}
	int i = r[1] >= '0' && r[1] <= '9' ? x86_index(r, len) : -1;
	return i < 0 ? -1 : i * 8;
}

static int x86_offset(const char *r, u32 *size)
{
	size_t len = strlen(r);
	*size = 8;
	int i = x86_index(r, len);
	if (i >= 0)
		return i * 8;
	int off = x86_numbered(r, size);
	if (off >= 0)
		return off;
	if ((r[0] == 'r' || r[0] == 'e') && len >= 3) { // rax, eax, rflags, eflags, rip
		*size = r[0] == 'r' ? 8 : 4;
		i = x86_index(r + 1, len - 1);
		return i < X86_FIRST_LETTERED ? -1 : i * 8;
	}
	char full[4] = {0};
	if (len == 2 && strchr("abcd", r[0]) && (r[1] == 'l' || r[1] == 'h')) { // al, ah
		*size = 1;
		full[0] = r[0];
		full[1] = 'x';
		return x86_index(full, 2) * 8 + (r[1] == 'h');
	}
	static const char *const low[] = {"sil", "dil", "bpl", "spl"};
	for (u32 k = 0; k < ARRAY_LEN(low); k++)
		if (!strcmp(r, low[k])) {
			*size = 1;
			return x86_index(r, 2) * 8;
		}
	return -1;
}

static const char *const arm64_names[] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
					  "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23",
					  "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp", "pc", "pstate"};

static int arm64_offset(const char *r, u32 *size)
{
	*size = 8;
	for (u32 i = 0; i < ARRAY_LEN(arm64_names); i++)
		if (!strcmp(arm64_names[i], r))
			return (int)i * 8;
	if (!strcmp(r, "lr"))
		return 30 * 8;
	if (!strcmp(r, "fp"))
		return 29 * 8;
	u64 n;
	if (strchr("wr", r[0]) && r[0] && r[1] && !(r[1] == '0' && r[2]) && parse_u64(r + 1, &n) && n <= 30) { // w3; r3 as bpftrace has it
		*size = r[0] == 'w' ? 4 : 8;
		return (int)n * 8;
	}
	return -1;
}

// RISC-V Assembly Programmer's Manual, "General registers": names of x0 to x31; word n is xn, but for the first, which is pc.
static int riscv64_offset(const char *r, u32 *size)
{
	static const char *const names[] = {"pc", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5",
					    "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};
	u64 n;
	*size = 8;
	for (u32 i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i], r))
			return (int)i * 8;
	if (!strcmp(r, "epc"))
		return 0;
	if (!strcmp(r, "fp"))
		return 8 * 8;
	if (r[0] == 'x' && r[1] >= '1' && r[1] <= '9' && parse_u64(r + 1, &n) && n <= 31)
		return (int)n * 8;
	return -1;
}

int ptregs_offset_of(enum PtArch arch, const char *regname, u32 *size)
{
	u32 dummy;
	if (!size)
		size = &dummy;
	if (arch == PT_RISCV64)
		return riscv64_offset(regname, size);
	return arch == PT_X86_64 ? x86_offset(regname, size) : arm64_offset(regname, size);
}

int ptregs_generic_of(enum PtArch arch, const char *name)
{
	const struct PtAbi *abi = &ptregs_abi[arch];
	if (!strcmp(name, "pc") || !strcmp(name, "ip"))
		return abi->ip;
	if (!strcmp(name, "fp"))
		return arch == PT_X86_64 ? 32 : arch == PT_ARM64 ? 29 * 8 : 8 * 8;
	return !strcmp(name, "sp") ? abi->sp : !strcmp(name, "ret") ? abi->ret : -1;
}

int ptregs_offset(const char *regname, u32 *size)
{
	int off = ptregs_offset_of(PT_HOST, regname, size);
	if (off < 0 && size)
		*size = 8;
	return off < 0 ? ptregs_generic_of(PT_HOST, regname) : off;
}
