// Lengths of instructions against objdump, in code that compilers made.
#include <ctype.h>
#include "base/insn.h"
#include "t.h"

static void against_objdump(const char *path)
{
	char cmd[256], *line = NULL;
	size_t cap = 0;
	u64 n = 0, wrong = 0, unknown = 0;
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
		u32 ours = insn_length(code, sizeof(code));
		n++;
		unknown += !ours;
		if (ours && ours != len && wrong++ < 5)
			printf("# %s: %u, not %u: %s", path, ours, len, line);
		CHECK(!ours || insn_length(code, ours - 1) == 0); // never beyond what is there
	}
	if (f)
		pclose(f);
	free(line);
	printf("# %s: %llu instructions, %llu not known\n", path, (unsigned long long)n, (unsigned long long)unknown);
	CHECK(n > 1000);
	CHECK_EQ(wrong, 0);
	CHECK_EQ(unknown, 0);
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

#if defined(__x86_64__)
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
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_EQ(insn_length(rows[i].code, 15), rows[i].len);
	u8 prefixes[32];
	memset(prefixes, 0x66, sizeof(prefixes));
	CHECK_EQ(insn_length(prefixes, sizeof(prefixes)), 0); // longer than instructions may be
	CHECK_EQ(insn_length(prefixes, 0), 0);
}
#endif
T_MAIN()
