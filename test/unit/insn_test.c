// Lengths, branches and operands of instructions against objdump, in code that compilers made.
#include <ctype.h>
#include "arch/arch.h"
#include "t.h"

#define COMPARES 0x100 // the target too

// What objdump's text says: "  41:\t0f 85 12 00 00 00 \tjne    59 <f+0x12>".
static u32 branch_in_text(const char *text, u64 *target)
{
	const char *mnemonic = strrchr(text, '\t');
	char op[16] = {0}, arg[40] = {0};
	if (!mnemonic || sscanf(mnemonic, "%15s %39s", op, arg) < 1)
		return BRANCH_NONE;
	bool direct = sscanf(arg, "%llx", (unsigned long long *)target) == 1 && arg[0] != '*' && isxdigit((u8)arg[0]);
	if (!strcmp(op, "ret"))
		return BRANCH_RET;
	if (!strcmp(op, "call"))
		return direct ? BRANCH_CALL | COMPARES : BRANCH_CALL;
	if (!strcmp(op, "jmp"))
		return direct ? BRANCH_JUMP | COMPARES : BRANCH_INDIRECT;
	if (!strcmp(op, "hlt") || !strcmp(op, "ud2") || !strcmp(op, "lret") || !strcmp(op, "iret"))
		return BRANCH_STOP;
	if (op[0] == 'j' || !strncmp(op, "loop", 4))
		return BRANCH_COND | COMPARES;
	return BRANCH_NONE;
}

// Counts every branch that is taken for something else. Lines whose mnemonic is a prefix are passed over.
static bool branch_is_wrong(const char *line, const struct Insn *in, u64 *branches)
{
	const char *mnemonic = strrchr(line, '\t');
	u64 want_to = 0;
	u32 want = branch_in_text(line, &want_to);
	if (!mnemonic || !strncmp(mnemonic, "\tbnd", 4) || !strncmp(mnemonic, "\tnotrack", 8) || !strncmp(mnemonic, "\trep", 4) ||
	    !strncmp(mnemonic, "\tdata16", 7) || !strncmp(mnemonic, "\tcs ", 4) || !strncmp(mnemonic, "\tds ", 4))
		return false;
	*branches += want != BRANCH_NONE;
	return in->branch != (want & ~COMPARES) || ((want & COMPARES) && in->target != want_to);
}

static int number_of(const char *name)
{
	static const char *const names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};
	for (u32 i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i], name))
			return (int)i;
	return -1;
}

// Moves of 8 bytes between registers and memory: mov 0x8(%rbp),%rax and mov %rax,-0x8(%rsp); "rip" is an address counted from the next instruction.
static bool operand_is_wrong(const char *line, const struct Insn *in, u64 *operands)
{
	const char *text = strrchr(line, '\t');
	char reg[8] = {0}, base[8] = {0};
	long disp = 0;
	unsigned long long target = 0;
	if (!text || strncmp(text, "\tmov ", 5) || strstr(text, "fs:") || strstr(text, "gs:"))
		return false;
	text += 5 + strspn(text + 5, " ");
	bool load = *text != '%';
	if (!load && sscanf(text, "%%%7[a-z0-9],", reg) == 1 && (text = strchr(text, ',')))
		text++;
	char *end;
	disp = text ? strtol(text, &end, 16) : 0;
	if (!text || sscanf(end, "(%%%7[a-z0-9])", base) != 1 || end[strlen(base) + 2] != ')')
		return false;
	if (load && sscanf(strchr(end, ')'), "),%%%7[a-z0-9]", reg) != 1)
		return false;
	if (number_of(reg) < 0 || (number_of(base) < 0 && strcmp(base, "rip")))
		return false;
	++*operands;
	if (in->op != (load ? 0x8b : 0x89) || !in->wide || in->mod == 3 || in->reg != number_of(reg))
		return true;
	if (strcmp(base, "rip"))
		return in->base != number_of(base) || in->disp != disp || in->target;
	return in->base != INSN_NO_REG || !strchr(end, '#') || sscanf(strchr(end, '#'), "# %llx", &target) != 1 || in->target != target;
}

static void against_objdump(const char *path)
{
	char cmd[256], *line = NULL;
	size_t cap = 0;
	u64 n = 0, wrong = 0, unknown = 0, branches = 0, wrong_branches = 0, operands = 0, wrong_operands = 0;
	if (access(path, R_OK)) {
		printf("# no %s here\n", path);
		return;
	}
	snprintf(cmd, sizeof(cmd), "objdump -d -w -j .text %s | head -n 400000", path);
	FILE *f = popen(cmd, "r");
	while (f && getline(&line, &cap, f) > 0) {
		u8 code[32] = {0};
		u32 len = 0;
		char *p = strchr(line, ':');
		if (!p || line[0] != ' ' || strstr(line, "(bad)"))
			continue;
		for (p++; *p == ' ' || *p == '\t'; p++)
			;
		while (len < 15 && isxdigit((u8)p[0]) && isxdigit((u8)p[1]) && (p[2] == ' ' || p[2] == '\n')) {
			code[len++] = (u8)strtoul((char[]){p[0], p[1], 0}, NULL, 16);
			p += 3;
		}
		if (!len || (len == 1 && strstr(p, "rex."))) // objdump shows prefixes without an instruction by themselves
			continue;
		struct Insn in, cut;
		n++;
		unknown += !insn_decode(PT_X86_64, code, sizeof(code), strtoull(line, NULL, 16), &in);
		if (branch_is_wrong(line, &in, &branches) && wrong_branches++ < 5)
			printf("# %s: another branch: %s", path, line);
		if (operand_is_wrong(line, &in, &operands) && wrong_operands++ < 5)
			printf("# %s: another operand: %s", path, line);
		if (in.len && in.len != len && wrong++ < 5)
			printf("# %s: %u, not %u: %s", path, in.len, len, line);
		CHECK(!in.len || !insn_decode(PT_X86_64, code, in.len - 1, 0, &cut)); // never beyond what is there
	}
	if (f)
		pclose(f);
	free(line);
	printf("# %s: %llu instructions, %llu not known\n", path, (unsigned long long)n, (unsigned long long)unknown);
	CHECK(n > 1000);
	CHECK_EQ(wrong, 0);
	CHECK_EQ(unknown, 0);
	CHECK(branches > 100);
	CHECK_EQ(wrong_branches, 0);
	CHECK(operands > 1000);
	CHECK_EQ(wrong_operands, 0);
}

TEST(compiled_code)
{
#if defined(__x86_64__)
	against_objdump("/usr/lib/x86_64-linux-gnu/libc.so.6"); // with AVX and EVEX
	against_objdump("/usr/bin/gdb");
	against_objdump("/proc/self/exe");
#else
	SKIP("instructions of this machine are all 4 bytes long");
#endif
}

// Encodings as `aarch64-linux-gnu-objdump -d` shows them.
TEST(arm64_branches)
{
	static const struct {
		u32 code;
		enum Branch branch;
		s64 to;
	} rows[] = {
		{0xd65f03c0, BRANCH_RET, 0},	 {0xd65f0bff, BRANCH_RET, 0},	// ret, retaa
		{0xd61f0200, BRANCH_INDIRECT, 0}, {0xd63f0100, BRANCH_CALL, 0},	// br x16, blr x8
		{0x14000001, BRANCH_JUMP, 4},	 {0x17ffffff, BRANCH_JUMP, -4},	// b
		{0x94000002, BRANCH_CALL, 8},	 {0x54ffffe9, BRANCH_COND, -4},	// bl, b.ls
		{0x54000049, BRANCH_COND, 8},	 {0xb4000040, BRANCH_COND, 8},	// b.ls, cbz x0
		{0x3507ffe1, BRANCH_COND, 65532}, {0x36000060, BRANCH_COND, 12}, // cbnz w1, tbz w0, #0
		{0xb7ffffe0, BRANCH_COND, -4},	 {0xd503201f, BRANCH_NONE, 0},	// tbnz x0, #63; nop
		{0xf9400b90, BRANCH_NONE, 0},	 {0xd69f03e0, BRANCH_NONE, 0},	// ldr x16, [x28, #16]; eret
		{0xd4200020, BRANCH_STOP, 0},	 {0x00000000, BRANCH_STOP, 0},	// brk #1, udf #0
	};
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct Insn in;
		CHECK(insn_decode(PT_ARM64, (const u8 *)&rows[i].code, 4, 0x1000, &in));
		CHECK_EQ(in.len, 4);
		CHECK_EQ(in.branch, rows[i].branch);
		CHECK_EQ(in.target, rows[i].to ? (u64)(0x1000 + rows[i].to) : 0);
		CHECK(!insn_decode(PT_ARM64, (const u8 *)&rows[i].code, 3, 0x1000, &in));
	}
}

TEST(rare_ones)
{
	static const struct {
		u8 len, code[15];
	} rows[] = {
		{10, {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}}, {9, {0xa1, 1, 2, 3, 4, 5, 6, 7, 8}}, {4, {0xc8, 1, 2, 3}},
		{5, {0x66, 0x81, 0xc0, 1, 2}},		    {8, {0x66, 0x48, 0x81, 0xc0, 1, 2, 3, 4}}, {6, {0xf7, 0xc0, 1, 2, 3, 4}},
		{2, {0xf7, 0xd8}},			    {7, {0x8b, 4, 0x25, 1, 2, 3, 4}},	    {3, {0xc5, 0xf8, 0x77}},
		{4, {0x0f, 0x0f, 0xc1, 0x9e}},		    {0, {0x06}},			    {0, {0xd5, 0, 0}},
	};
	struct Insn in;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_EQ(insn_decode(PT_X86_64, rows[i].code, 15, 0, &in), rows[i].len != 0);
		CHECK_EQ(in.len, rows[i].len);
	}
	u8 prefixes[32];
	memset(prefixes, 0x66, sizeof(prefixes));
	CHECK(!insn_decode(PT_X86_64, prefixes, sizeof(prefixes), 0, &in)); // longer than instructions may be
	CHECK(!insn_decode(PT_X86_64, prefixes, 0, 0, &in));
	CHECK(insn_decode(PT_X86_64, (const u8[]){0x48, 0x66, 0x90}, 3, 0, &in)); // REX counts only right before the opcode
	CHECK_EQ(in.op, 0x90);
	CHECK(!in.wide);
	CHECK(insn_decode(PT_X86_64, (const u8[]){0xc4, 0xe2, 0x7d, 0x78, 0xc0}, 5, 0, &in) && in.len == 5); // vpbroadcastb %xmm0,%ymm0
	CHECK_EQ(in.op, INSN_VECTOR | 0x78);
	CHECK(insn_decode(PT_X86_64, (const u8[]){0x8f, 0xe9, 0x78, 0x90, 0xc1}, 5, 0, &in) && in.len == 5); // vprotb %xmm0,%xmm1,%xmm0, of XOP
	CHECK_EQ(in.op, INSN_XOP | 0x90);
	CHECK(insn_decode(PT_X86_64, (const u8[]){0x8f, 0xc0}, 2, 0, &in)); // pop %rax
	CHECK_EQ(in.op, 0x8f);
	CHECK_EQ(in.rm, 0);
}
T_MAIN()
