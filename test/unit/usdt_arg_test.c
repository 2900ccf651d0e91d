// Argument specifications of USDT notes, as compilers write them for both architectures, and pt_regs names.
#include "probe/internal.h"
#include "t.h"

static bool find(void *arg, const char *name, u64 *vaddr)
{
	*vaddr = 0x5000;
	return !strcmp(name, "counter") || !strcmp(name, "_ZN3foo3barE");
}

// "size:kind..." per argument: c imm | r reg | m reg imm index scale
static void show(const char *spec, enum PtArch arch, const char *want)
{
	struct UsdtSymbols syms = {find, NULL, 0x1000};
	struct UsdtArg a[12];
	struct Str s = {0};
	u32 n = usdt_args_parse(spec, arch, &syms, a, ARRAY_LEN(a), NULL);
	for (u32 i = 0; i < n; i++) {
		str_addf(&s, "%s%s%u:", i ? " " : "", a[i].sgn ? "-" : "", a[i].size);
		if (!a[i].size)
			str_add(&s, "?");
		else if (a[i].kind == UA_CONST)
			str_addf(&s, "c%lld", (long long)a[i].imm);
		else if (a[i].kind == UA_REG)
			str_addf(&s, "r%d", a[i].reg);
		else {
			str_addf(&s, "m%d%+lld", a[i].reg, (long long)a[i].imm);
			if (a[i].index >= 0)
				str_addf(&s, ",%d*%u", a[i].index, a[i].scale);
		}
	}
	if (strcmp(str_text(&s), want))
		T_FAIL("%s: %s, expected %s", spec, str_text(&s), want);
	str_deinit(&s);
}

TEST(x86_64)
{
	// struct pt_regs: r12 24, rbp 32, rbx 40, rax 80, rcx 88, rdx 96, rsi 104, rdi 112, rip 128, rsp 152
	static const struct {
		const char *spec, *want;
	} t[] = {
		{"", ""},
		{"-4@%edi", "-4:r112"},
		{"8@%rax", "8:r80"},
		{"4@%eax 8@%r12 1@%al 2@%cx", "4:r80 8:r24 1:r80 2:r88"},
		{"1@%ah", "1:r81"},
		{"1@%sil 1@%r12b 2@%r12w 4@%r12d", "1:r104 1:r24 2:r24 4:r24"},
		{"-4@$5", "-4:c5"},
		{"4@$-5 8@$0x10 8@$18446744073709551615", "4:c4294967291 8:c16 8:c-1"},
		{"-4@$4294967291 -1@$255 1@$-1 -2@$65535 2@$-2 -8@$-1 $-3", "-4:c-5 -1:c-1 1:c255 -2:c-1 2:c65534 -8:c-1 8:c-3"},
		{"-4@-8(%rbp)", "-4:m32-8"},
		{"8@16(%rsp)", "8:m152+16"},
		{"8@(%rax)", "8:m80+0"},
		{"8@(%rax,%rbx,8)", "8:m80+0,40*8"},
		{"8@-32(%rax,%rbx)", "8:m80-32,40*1"},
		{"4@(,%rbx,4)", "4:m-1+0,40*4"},
		{"8@0x10(%rdx, %rcx, 2)", "8:m96+16,88*2"},
		{"8@counter(%rip)", "8:m128+16384"}, // 0x5000 - 0x1000
		{"8@counter+8(%rip)", "8:m128+16392"},
		{"8@8+counter(%rip)", "8:m128+16392"},
		{"4@counter-4(%rip)", "4:m128+16380"},
		{"8@_ZN3foo3barE(%rip)", "8:m128+16384"},
		{"8@nosuch(%rip) 4@%edi", "0:? 4:r112"}, // the others stay readable
		{"8@%xmm0 4@%esi", "0:? 4:r104"},
		{"8f@%rax", "0:?"},
		{"8@%fs:16", "0:?"},
		{"8@%fs:(%rax) 4@%esi", "0:? 4:r104"},
		{"8@12(%rip)", "0:?"},
		{"%rdi", "8:r112"},
		{"%edi $7", "4:r112 8:c7"},
		{"3@%rax", "0:?"},
		{"8@(%rax", "0:?"},
		{"8@(%rax,%rbx,3)", "0:?"},
		{"8@", "0:?"},
		{"@", "0:?"},
		{"8@%", "0:?"},
		{"8@()", "0:?"},
		{"8@(,,)", "0:?"},
		{"8@$", "0:?"},
		{"  -8@%rdi   4@%esi ", "-8:r112 4:r104"},
		{"1@$1 1@$2 1@$3 1@$4 1@$5 1@$6 1@$7 1@$8 1@$9 1@$10 1@$11 1@$12 1@$13",
		 "1:c1 1:c2 1:c3 1:c4 1:c5 1:c6 1:c7 1:c8 1:c9 1:c10 1:c11 1:c12"},
	};
	for (u32 i = 0; i < ARRAY_LEN(t); i++)
		show(t[i].spec, PT_X86_64, t[i].want);
}

TEST(riscv64)
{
	static const struct {
		const char *spec, *want;
	} t[] = {
		{"8@a0", "8:r80"},
		{"-4@s0 8@x31", "-4:r64 8:r248"},
		{"-4@-20(s0)", "-4:m64-20"},
		{"8@0(a5) 4@16(sp)", "8:m120+0 4:m16+16"},
		{"8@5 -4@-1", "8:c5 -4:c-1"},
		{"8@zero", "8:c0"},
		{"-4@a0 8@a1 8@a2 8@8(sp) -4@4(sp) 4@7", "-4:r80 8:r88 8:r96 8:m16+8 -4:m16+4 4:c7"}, // of GCC 12
		{"-8@-24(s0) 8@t6 1@ra 8@0(tp)", "-8:m64-24 8:r248 1:r8 8:m32+0"},
		{"8@lo(x)", "0:?"},
		{"8@fa0 8@a2", "0:? 8:r96"},
		{"8@0(a5", "0:?"},
	};
	for (u32 i = 0; i < ARRAY_LEN(t); i++)
		show(t[i].spec, PT_RISCV64, t[i].want);
}

TEST(arm64)
{
	static const struct {
		const char *spec, *want;
	} t[] = {
		{"8@x0", "8:r0"},
		{"-4@w19", "-4:r152"},
		{"8@x30 8@sp", "8:r240 8:r248"},
		{"4@[sp, 12]", "4:m248+12"},
		{"4@[sp,12] 8@x1", "4:m248+12 8:r8"},
		{"8@[x0]", "8:m0+0"},
		{"8@[x19, -16]", "8:m152-16"},
		{"8@[x19, #16]", "8:m152+16"},
		{"8@[x0, x1]", "8:m0+0,8*1"},
		{"8@[x0, x1, lsl 3]", "8:m0+0,8*8"},
		{"8@[x0, x1, lsl #2]", "8:m0+0,8*4"},
		{"8@[x0, x1, lsl 9]", "0:?"},
		{"8@5 -4@-1", "8:c5 -4:c-1"},
		{"8@xzr 4@wzr", "8:c0 4:c0"},
		{"8@d0 8@x2", "0:? 8:r16"},
		{"8@[x0, x1", "0:?"},
		{"8@[", "0:?"},
		{"w3", "4:r24"},
	};
	for (u32 i = 0; i < ARRAY_LEN(t); i++)
		show(t[i].spec, PT_ARM64, t[i].want);
}

TEST(registers)
{
	static const struct {
		enum PtArch arch;
		const char *name;
		int off;
		u32 size;
	} t[] = {
		{PT_X86_64, "ax", 80, 8}, {PT_X86_64, "rax", 80, 8}, {PT_X86_64, "eax", 80, 4}, {PT_X86_64, "al", 80, 1}, {PT_X86_64, "ip", 128, 8},
		{PT_X86_64, "rip", 128, 8}, {PT_X86_64, "sp", 152, 8}, {PT_X86_64, "r15", 0, 8}, {PT_X86_64, "r8", 72, 8}, {PT_X86_64, "r9d", 64, 4},
		{PT_X86_64, "flags", 144, 8}, {PT_X86_64, "orig_ax", 120, 8}, {PT_X86_64, "di", 112, 8}, {PT_X86_64, "spl", 152, 1},
		{PT_X86_64, "r16", -1, 0}, {PT_X86_64, "rr15", -1, 0}, {PT_X86_64, "", -1, 0}, {PT_X86_64, "r", -1, 0}, {PT_X86_64, "xmm0", -1, 0},
		{PT_X86_64, "er15", -1, 0}, {PT_X86_64, "x0", -1, 0}, {PT_ARM64, "x0", 0, 8}, {PT_ARM64, "w30", 240, 4}, {PT_ARM64, "r3", 24, 8},
		{PT_ARM64, "lr", 240, 8}, {PT_ARM64, "fp", 232, 8}, {PT_ARM64, "pc", 256, 8}, {PT_ARM64, "x31", -1, 0}, {PT_ARM64, "w08", -1, 0},
		{PT_ARM64, "", -1, 0}, {PT_ARM64, "ax", -1, 0},
		{PT_RISCV64, "a0", 80, 8}, {PT_RISCV64, "x10", 80, 8}, {PT_RISCV64, "ra", 8, 8}, {PT_RISCV64, "s0", 64, 8}, {PT_RISCV64, "fp", 64, 8},
		{PT_RISCV64, "pc", 0, 8}, {PT_RISCV64, "t6", 248, 8}, {PT_RISCV64, "x0", -1, 0}, {PT_RISCV64, "x32", -1, 0}, {PT_RISCV64, "w1", -1, 0}, {PT_RISCV64, "", -1, 0},
	};
	for (u32 i = 0; i < ARRAY_LEN(t); i++) {
		u32 size = 0;
		int off = ptregs_offset_of(t[i].arch, t[i].name, &size);
		if (off != t[i].off || (off >= 0 && size != t[i].size))
			T_FAIL("%s: %d size %u, expected %d size %u", t[i].name, off, size, t[i].off, t[i].size);
	}
	static const char *const generic[] = {"pc", "ip", "sp", "fp", "ret", "ax"};
	static const int at[][3] = {{128, 256, 0}, {128, 256, 0}, {152, 248, 16}, {32, 232, 64}, {80, 0, 80}, {-1, -1, -1}};
	for (u32 i = 0; i < ARRAY_LEN(generic); i++)
		for (int arch = PT_X86_64; arch <= PT_RISCV64; arch++)
			CHECK_EQ(ptregs_generic_of((enum PtArch)arch, generic[i]), at[i][arch]);
	static const char *const x86[] = {"r15", "r14", "r13", "r12", "bp", "bx", "r11", "r10", "r9", "r8", "ax",
					  "cx", "dx", "si", "di", "orig_ax", "ip", "cs", "flags", "sp", "ss"};
	for (u32 i = 0; i < ARRAY_LEN(x86); i++)
		CHECK_EQ(ptregs_offset_of(PT_X86_64, x86[i], NULL), i * 8);
	for (u32 i = 0; i < 31; i++) {
		char name[8];
		snprintf(name, sizeof(name), "r%u", i);
		CHECK_EQ(ptregs_offset_of(PT_ARM64, name, NULL), i * 8);
	}
}

T_MAIN()
