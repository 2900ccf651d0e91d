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

// "x19" and so on; 31: the stack pointer; -1: another register, or none
static int a64_number(const char *name)
{
	int n = -1;
	char end;
	if (!strcmp(name, "sp") || !strcmp(name, "wsp"))
		return A64_SP;
	return (name[0] == 'x' || name[0] == 'w') && sscanf(name + 1, "%d%c", &n, &end) == 1 ? n : -1;
}

// The operands of a line of objdump's: registers, "[x29," , "#-16]!" and so on. Returns how many.
static u32 a64_operands(char *text, char *out[8])
{
	u32 n = 0;
	char *rest = NULL;
	text[strcspn(text, "\n/<")] = 0;
	for (char *p = strtok_r(text, " ,\t", &rest); p && n < 8; p = strtok_r(NULL, " ,\t", &rest))
		out[n++] = p;
	return n;
}

static bool a64_stores(const char *op)
{
	return (!strncmp(op, "st", 2) && strncmp(op, "stx", 3) && strncmp(op, "stlx", 4)) || !strncmp(op, "cmp", 3) || !strncmp(op, "cmn", 3) || !strncmp(op, "tst", 3) ||
	       !strncmp(op, "ccm", 3) || op[0] == 'b' || !strncmp(op, "ret", 3) || !strncmp(op, "cb", 2) || !strncmp(op, "tb", 2) || !strncmp(op, "prf", 3) ||
	       !strncmp(op, "msr", 3) || !strcmp(op, "dc") || !strcmp(op, "ic") || !strncmp(op, "fc", 2) || !strcmp(op, "sys") || !strncmp(op, "aut", 3) || !strncmp(op, "pac", 3) || !strcmp(op, "at");
}

// Loads and stores of x registers: registers, base, distance, what the base becomes.
static bool a64_access_is_wrong(const char *op, char *o[8], u32 n, const struct Insn *in)
{
	bool pair = !strcmp(op, "stp") || !strcmp(op, "ldp"), load = op[0] == 'l';
	u32 at = pair ? 2 : 1;
	if (n <= at || o[at][0] != '[')
		return false;
	char base[8];
	s32 disp = 0, after = 0;
	u32 mode = A64_AT;
	snprintf(base, sizeof(base), "%.*s", (int)strcspn(o[at] + 1, "]"), o[at] + 1);
	bool closed = strchr(o[at], ']');
	if (n > at + 1 && o[at + 1][0] != '#')
		return in->op != A64_OTHER; // by a register
	if (n > at + 1)
		*(closed ? &after : &disp) = (s32)strtol(o[at + 1] + 1, NULL, 0);
	if (n > at + 1 && (closed || strchr(o[at + 1], '!')))
		mode = closed ? A64_AFTER : A64_BEFORE;
	bool wrong = in->op != (load ? A64_LOAD : A64_STORE) || in->mod != mode || in->disp != disp || in->base != a64_number(base);
	wrong |= in->reg != (a64_number(o[0]) < 0 ? INSN_NO_REG : a64_number(o[0])) || (pair && in->rm != (a64_number(o[1]) < 0 ? INSN_NO_REG : a64_number(o[1])));
	return wrong || (mode != A64_AT && in->imm != (mode == A64_AFTER ? after : disp));
}

static bool a64_is_wrong(const char *op, char *o[8], u32 n, const struct Insn *in, u64 *compared)
{
	int to = n ? a64_number(o[0]) : -1;
	bool moves = n == 2 && !strcmp(op, "mov");
	if (to >= 0 && !a64_stores(op) && !(in->writes >> to & 1))
		return true;
	++*compared;
	if ((!strcmp(op, "stp") || !strcmp(op, "ldp") || !strcmp(op, "str") || !strcmp(op, "ldr") || !strcmp(op, "stur") || !strcmp(op, "ldur")) && n && (o[0][0] == 'x'))
		return a64_access_is_wrong(op, o, n, in);
	if (moves && o[0][0] == 'x' && o[1][0] == 'x' && strcmp(o[1], "xzr"))
		return in->op != A64_MOVE || in->reg != to || in->rm != a64_number(o[1]);
	if (moves && o[0][0] == 'x' && o[1][0] == '#') {
		u64 v = strtoull(o[1] + 1, NULL, 0);
		return v <= INT32_MAX && (in->op != A64_NUMBER || in->imm != (s32)v);
	}
	if ((moves && (to == A64_SP || !strcmp(o[1], "sp"))) || (n == 3 && o[0][0] != 'w' && o[2][0] == '#' && (!strcmp(op, "add") || !strcmp(op, "sub")))) {
		s32 by = n == 3 ? (s32)strtol(o[2] + 1, NULL, 0) : 0;
		return in->op != A64_ADD || in->reg != to || in->base != a64_number(o[1]) || in->imm != (op[0] == 's' ? -by : by);
	}
	if (n == 3 && to == A64_SP && o[2][0] == 'x')
		return in->op != (op[0] == 's' ? A64_SUB_REG : A64_ADD_REG) || in->base != a64_number(o[1]) || in->rm != a64_number(o[2]);
	return false;
}

static u32 a64_branch(const char *op)
{
	if (!strcmp(op, "b") || !strcmp(op, "bl"))
		return op[1] ? BRANCH_CALL : BRANCH_JUMP;
	if (!strcmp(op, "br") || !strcmp(op, "blr"))
		return op[2] ? BRANCH_CALL : BRANCH_INDIRECT;
	if (!strcmp(op, "ret"))
		return BRANCH_RET;
	return (op[0] == 'b' && op[1] == '.') || !strncmp(op, "cbz", 3) || !strncmp(op, "cbnz", 4) || !strncmp(op, "tbz", 3) || !strncmp(op, "tbnz", 4) ? BRANCH_COND :
																	 BRANCH_NONE;
}

static enum Branch rv_branch(const char *op, const char *args)
{
	if (!strcmp(op, "ret"))
		return BRANCH_RET;
	if (!strcmp(op, "j"))
		return BRANCH_JUMP;
	if (!strcmp(op, "jal") || !strcmp(op, "jalr"))
		return strchr(args, ',') && strncmp(args, "t0,", 3) && strncmp(args, "ra,", 3) ? BRANCH_INDIRECT : BRANCH_CALL; // t1: stubs of the linker jump
	if (!strcmp(op, "jr"))
		return strcmp(args, "t0") && strcmp(args, "ra") ? BRANCH_INDIRECT : BRANCH_RET;
	if (!strcmp(op, "ebreak"))
		return BRANCH_STOP;
	return op[0] == 'b' && strchr("egln", op[1]) ? BRANCH_COND : BRANCH_NONE;
}

// A shared library of riscv64: lengths, branches and targets as objdump has them.
TEST(riscv64_compiled_code)
{
	const char *path = "/usr/riscv64-linux-gnu/lib/libc.so.6";
	char cmd[256], *line = NULL;
	size_t cap = 0;
	u64 n = 0, wrong = 0, of_kind[BRANCH_STOP + 1] = {0};
	if (access(path, R_OK) || system("command -v riscv64-linux-gnu-objdump >/dev/null"))
		SKIP("no libraries of riscv64 (libc6-riscv64-cross), or no binutils for it");
	snprintf(cmd, sizeof(cmd), "riscv64-linux-gnu-objdump -d -j .text -j .plt %s", path);
	FILE *f = popen(cmd, "r");
	while (f && getline(&line, &cap, f) > 0) {
		char *tab = strchr(line, '\t'), *text = tab ? strchr(tab + 1, '\t') : NULL, op[24] = {0}, args[160] = {0};
		struct Insn in;
		if (line[0] != ' ' || !text || sscanf(text, " %23s %159s", op, args) < 1 || op[0] == '.' || !strcmp(op, "unimp"))
			continue;
		u64 pc = strtoull(line, NULL, 16), len = strspn(tab + 1, "0123456789abcdef") / 2;
		u32 code = (u32)strtoul(tab + 1, NULL, 16);
		const char *comma = strrchr(args, ','), *last = comma ? comma + 1 : args;
		enum Branch want = rv_branch(op, args);
		bool ok = insn_decode(PT_RISCV64, (const u8 *)&code, len, pc, &in) && in.len == len && in.branch == want;
		bool direct = want == BRANCH_COND || !strcmp(op, "j") || !strcmp(op, "jal");
		if (ok && direct)
			ok = in.target == strtoull(last, NULL, 16);
		n++;
		of_kind[want]++;
		if (!ok && wrong++ < 10)
			printf("# otherwise: %s", line);
		CHECK(!insn_decode(PT_RISCV64, (const u8 *)&code, len - 1, pc, &in));
	}
	if (f)
		pclose(f);
	free(line);
	printf("# %s: %llu instructions, %llu calls, %llu conditions, %llu returns\n", path, (unsigned long long)n, (unsigned long long)of_kind[BRANCH_CALL],
	       (unsigned long long)of_kind[BRANCH_COND], (unsigned long long)of_kind[BRANCH_RET]);
	CHECK(n > 100000 && of_kind[BRANCH_CALL] > 1000 && of_kind[BRANCH_COND] > 1000 && of_kind[BRANCH_RET] > 1000);
	CHECK_EQ(wrong, 0);
}

TEST(arm64_compiled_code)
{
	const char *path = "/usr/aarch64-linux-gnu/lib/libc.so.6";
	char cmd[256], *line = NULL;
	size_t cap = 0;
	u64 n = 0, compared = 0, wrong = 0, wrong_branches = 0;
	if (access(path, R_OK) || system("command -v aarch64-linux-gnu-objdump >/dev/null"))
		SKIP("no libraries of arm64 (libc6-arm64-cross), or no binutils for it");
	snprintf(cmd, sizeof(cmd), "aarch64-linux-gnu-objdump -d -j .text -j .plt %s", path);
	FILE *f = popen(cmd, "r");
	while (f && getline(&line, &cap, f) > 0) {
		char *tab = strchr(line, '\t'), *text = tab ? strchr(tab + 1, '\t') : NULL, *o[8], op[16] = {0};
		struct Insn in;
		if (line[0] != ' ' || !text || strstr(text, "undefined") || strstr(text, ".inst"))
			continue;
		u64 pc = strtoull(line, NULL, 16);
		u32 code = (u32)strtoul(tab + 1, NULL, 16);
		char *copy = xasprintf("%s", text + 1);
		sscanf(copy, "%15s", op);
		u32 k = a64_operands(copy + strlen(op), o);
		n++;
		CHECK(insn_decode(PT_ARM64, (const u8 *)&code, 4, pc, &in));
		bool direct = a64_branch(op) != BRANCH_NONE && in.branch != BRANCH_INDIRECT && in.branch != BRANCH_RET && strcmp(op, "blr");
		if ((in.branch != a64_branch(op) || (direct && k && in.target != strtoull(o[k - 1], NULL, 16))) && in.branch != BRANCH_STOP && wrong_branches++ < 5)
			printf("# another branch: %s", line);
		if (a64_is_wrong(op, o, k, &in, &compared) && wrong++ < 10)
			printf("# another operand: %s", line);
		free(copy);
	}
	if (f)
		pclose(f);
	free(line);
	printf("# %s: %llu instructions\n", path, (unsigned long long)n);
	CHECK(n > 100000 && compared > 100000);
	CHECK_EQ(wrong, 0);
	CHECK_EQ(wrong_branches, 0);
}

// Encodings as the assembler makes them.
TEST(arm64_operands)
{
	static const struct {
		const char *text;
		u32 code, op;
		u8 reg, rm, base, mod;
		s32 disp, imm;
		u32 writes;
	} rows[] = {
		{"stp x29, x30, [sp, #-32]!", 0xa9be7bfd, A64_STORE, 29, 30, 31, A64_BEFORE, -32, -32, 1u << 31},
		{"ldp x29, x30, [sp], #32", 0xa8c27bfd, A64_LOAD, 29, 30, 31, A64_AFTER, 0, 32, 1u << 31 | 3u << 29},
		{"stp x19, x20, [sp, #16]", 0xa90153f3, A64_STORE, 19, 20, 31, A64_AT, 16, 0, 0},
		{"str x30, [sp, #-16]!", 0xf81f0ffe, A64_STORE, 30, INSN_NO_REG, 31, A64_BEFORE, -16, -16, 1u << 31},
		{"ldr x30, [sp], #16", 0xf84107fe, A64_LOAD, 30, INSN_NO_REG, 31, A64_AFTER, 0, 16, 3u << 30},
		{"ldr x0, [x1, #4088]", 0xf947fc20, A64_LOAD, 0, INSN_NO_REG, 1, A64_AT, 4088, 0, 1},
		{"stur x19, [x29, #-8]", 0xf81f83b3, A64_STORE, 19, INSN_NO_REG, 29, A64_AT, -8, 0, 0},
		{"stp d8, d9, [sp, #-16]!", 0x6dbf27e8, A64_ACCESS, 8, 9, 31, A64_BEFORE, -16, -16, 1u << 31},
		{"stp q8, q9, [sp, #-32]!", 0xadbf27e8, A64_ACCESS, 8, 9, 31, A64_BEFORE, -32, -32, 1u << 31},
		{"ldr q8, [sp], #16", 0x3cc107e8, A64_ACCESS, 8, INSN_NO_REG, 31, A64_AFTER, 0, 16, 1u << 31},
		{"ldr w0, [sp], #16", 0xb84107e0, A64_ACCESS, 0, INSN_NO_REG, 31, A64_AFTER, 0, 16, 1u << 31 | 1},
		{"ld1 {v0.16b-v3.16b}, [sp], #64", 0x4cdf23e0, A64_ACCESS, INSN_NO_REG, INSN_NO_REG, 31, A64_AFTER, 0, 64, 1u << 31},
		{"st1 {v0.8b}, [sp], x1", 0x0c8173e0, A64_OTHER, INSN_NO_REG, INSN_NO_REG, 31, 0, 0, 0, 1u << 31},
		{"sub sp, sp, #0x1, lsl #12", 0xd14007ff, A64_ADD, 31, INSN_NO_REG, 31, 0, 0, -4096, 1u << 31},
		{"mov x29, sp", 0x910003fd, A64_ADD, 29, INSN_NO_REG, 31, 0, 0, 0, 1u << 29},
		{"add sp, sp, x12", 0x8b2c63ff, A64_ADD_REG, 31, 12, 31, 0, 0, 0, 1u << 31},
		{"sub sp, sp, x12", 0xcb2c63ff, A64_SUB_REG, 31, 12, 31, 0, 0, 0, 1u << 31},
		{"sub sp, sp, w12, uxtw", 0xcb2c43ff, A64_OTHER, 31, 12, 31, 0, 0, 0, 1u << 31},
		{"and sp, x9, #0xffffffffffffffe0", 0x927be93f, A64_OTHER, 31, INSN_NO_REG, INSN_NO_REG, 0, 0, 0, 1u << 31},
		{"mov x9, x30", 0xaa1e03e9, A64_MOVE, 9, 30, INSN_NO_REG, 0, 0, 0, 1u << 9},
		{"mov x29, xzr", 0xaa1f03fd, A64_OTHER, 29, INSN_NO_REG, INSN_NO_REG, 0, 0, 0, 1u << 29},
		{"mov x29, #0", 0xd280001d, A64_NUMBER, 29, INSN_NO_REG, INSN_NO_REG, 0, 0, 0, 1u << 29},
		{"mov x12, #0x10010", 0xd280020c, A64_NUMBER, 12, INSN_NO_REG, INSN_NO_REG, 0, 0, 16, 1u << 12},
		{"movk x12, #0x1, lsl #16", 0xf2a0002c, A64_NUMBER16, 12, INSN_NO_REG, INSN_NO_REG, 0, 16, 1, 1u << 12},
		{"mov x12, #0x1fff0", 0xb27c33ec, A64_NUMBER, 12, INSN_NO_REG, INSN_NO_REG, 0, 0, 0x1fff0, 1u << 12},
		{"paciasp", 0xd503233f, A64_SIGN, INSN_NO_REG, INSN_NO_REG, INSN_NO_REG, 0, 0, 25, 0},
		{"autiasp", 0xd50323bf, A64_HINT, INSN_NO_REG, INSN_NO_REG, INSN_NO_REG, 0, 0, 29, 0},
		{"bti c", 0xd503245f, A64_HINT, INSN_NO_REG, INSN_NO_REG, INSN_NO_REG, 0, 0, A64_BTI_C, 0},
		{"nop", 0xd503201f, A64_NOP, INSN_NO_REG, INSN_NO_REG, INSN_NO_REG, 0, 0, 0, 0},
		{"pacia x30, sp", 0xdac103fe, A64_OTHER, INSN_NO_REG, INSN_NO_REG, INSN_NO_REG, 0, 0, 0, 0},
		{"ccmp x0, #0, #4, ne", 0xfa401804, A64_OTHER, INSN_NO_REG, INSN_NO_REG, INSN_NO_REG, 0, 0, 0, 0},
		{"mrs x29, tpidr_el0", 0xd53bd05d, A64_OTHER, INSN_NO_REG, INSN_NO_REG, INSN_NO_REG, 0, 0, 0, 1u << 29},
		{"fmov x29, d0", 0x9e66001d, A64_OTHER, INSN_NO_REG, INSN_NO_REG, INSN_NO_REG, 0, 0, 0, 1u << 29},
		{"umov w29, v0.b[0]", 0x0e013c1d, A64_OTHER, INSN_NO_REG, INSN_NO_REG, INSN_NO_REG, 0, 0, 0, 1u << 29},
		{"scvtf d29, x0", 0x9e62001d, A64_OTHER, INSN_NO_REG, INSN_NO_REG, INSN_NO_REG, 0, 0, 0, 0},
		{"stxr w9, x0, [x1]", 0xc8097c20, A64_OTHER, INSN_NO_REG, INSN_NO_REG, 1, 0, 0, 0, 1u << 9},
		{"ldaxr x9, [x1]", 0xc85ffc29, A64_OTHER, INSN_NO_REG, INSN_NO_REG, 1, 0, 0, 0, 1u << 9},
		{"cas x9, x0, [x1]", 0xc8a97c20, A64_OTHER, INSN_NO_REG, INSN_NO_REG, 1, 0, 0, 0, 1u << 9},
		{"ldadd x0, x9, [x1]", 0xf8200029, A64_OTHER, 9, INSN_NO_REG, 1, 0, 0, 0, 1u << 9},
		{"ldr x9, [x1, x2]", 0xf8626829, A64_OTHER, 9, INSN_NO_REG, 1, 0, 0, 0, 1u << 9},
		{"str x9, [x1, x2]", 0xf8226829, A64_OTHER, 9, INSN_NO_REG, 1, 0, 0, 0, 0},
		{"ldr x9, .+8", 0x58000049, A64_OTHER, INSN_NO_REG, INSN_NO_REG, INSN_NO_REG, 0, 0, 0, 1u << 9},
		{"addvl sp, sp, #-1", 0x043f57ff, A64_OTHER, INSN_NO_REG, INSN_NO_REG, INSN_NO_REG, 0, 0, 0, 1u << 31},
		{"bl .", 0x94000000, A64_OTHER, INSN_NO_REG, INSN_NO_REG, INSN_NO_REG, 0, 0, 0, 1u << 30},
		{"br x17", 0xd61f0220, A64_OTHER, INSN_NO_REG, INSN_NO_REG, 17, 0, 0, 0, 0},
		{"retaa", 0xd65f0bff, A64_OTHER, INSN_NO_REG, INSN_NO_REG, 30, 0, 0, 0, 0},
	};
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct Insn in;
		CHECK(insn_decode(PT_ARM64, (const u8 *)&rows[i].code, 4, 0x1000, &in));
		bool same = in.op == rows[i].op && in.reg == rows[i].reg && in.rm == rows[i].rm && in.base == rows[i].base && in.mod == rows[i].mod && in.disp == rows[i].disp &&
			    in.imm == rows[i].imm && in.writes == rows[i].writes;
		if (!same)
			T_FAIL("%s: op %u reg %u rm %u base %u mod %u disp %d imm %d writes %x", rows[i].text, in.op, in.reg, in.rm, in.base, in.mod, in.disp, in.imm, in.writes);
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
