// Rows of LuaJIT's machine (track/luavm.c) where C enters it and where it returns to C.
#include "t.h"
#include "track/internal.h"
#include "unwind/unwind.h"

#define OFF 0x1000ull
#define FRAME 80 // bytes, with registers and return address
static const u8 enter[] = {0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x48, 0x83, 0xec, FRAME - 40}, leave[] = {0x48, 0x83, 0xc4, FRAME - 40, 0x41, 0x5e, 0x41, 0x5f, 0x5b, 0x5d, 0xc3};
static u8 code[0x100];
static struct RuleSet rules;
static u32 whole;

static struct UwTable table(void)
{
	struct UwTable t = {0};
	struct RtUwRule r = {.kind = RT_UW_LUAVM, .reg = 7, .ra = -8, .off = FRAME, .off2 = -8, .saved = 3, .slot = {-24, -16}, .index = RT_UW_LANG};
	ruleset_init(&rules, 100);
	whole = ruleset_add(&rules, &r);
	memset(code, 0x90, sizeof(code));
	vec_push(&t.rows, UW_ROW(OFF, whole));
	vec_push(&t.rows, UW_ROW(OFF + sizeof(code), 0));
	return t;
}

static const struct RtUwRule *row_at(const struct UwTable *t, u64 off)
{
	u32 rule = 0;
	for (size_t i = 0; i < t->rows.n && UW_ROW_OFF(t->rows.p[i]) <= OFF + off; i++)
		rule = UW_ROW_RULE(t->rows.p[i]);
	return &rules.v.p[rule];
}

static void check_row(const struct UwTable *t, u64 off, s32 cfa, u32 saved)
{
	const struct RtUwRule *r = row_at(t, off);
	CHECK_EQ(r->kind, cfa == FRAME ? RT_UW_LUAVM : RT_UW_REG);
	CHECK_EQ(r->off, cfa);
	CHECK_EQ(r->saved, saved);
	CHECK_EQ(r->ra, -8);
}

TEST(entered_and_left)
{
	static const struct {
		u32 off;
		s32 cfa;
		u32 saved; // bit 1: rbp, bit 0: rbx
	} want[] = {
		{0, 8, 0}, {1, 16, 2}, {2, 24, 3}, {3, 24, 3}, {4, 32, 3}, {6, 40, 3}, {9, 40, 3}, {10, FRAME, 3}, // entered
		{0x40, FRAME, 3}, {0x44, 40, 3}, {0x46, 32, 3}, {0x48, 24, 3}, {0x49, 16, 2}, {0x4a, 8, 0}, {0x4b, FRAME, 3}, // left
		{0x7f, FRAME, 3}, {0x80, 8, 0}, {0x8a, FRAME, 3}, // entered once more
	};
	struct UwTable t = table();
	memcpy(code, enter, sizeof(enter));
	memcpy(code + 0x40, leave, sizeof(leave));
	memcpy(code + 0x80, enter, sizeof(enter));
	luavm_rows(code, OFF, sizeof(code), &rules, &t);
	for (u32 i = 0; i < ARRAY_LEN(want); i++)
		check_row(&t, want[i].off, want[i].cfa, want[i].saved);
	CHECK_EQ(UW_ROW_RULE(vec_last(&t.rows)), 0);
	vec_deinit(&t.rows);
	ruleset_deinit(&rules);
}

TEST(other_code_is_left_alone)
{
	struct UwTable t = table();
	memcpy(code, enter, sizeof(enter));
	code[9]++; // another frame
	memcpy(code + 0x40, leave, sizeof(leave));
	code[0x4a] = 0x90; // no return
	memcpy(code + sizeof(code) - 4, enter, 4); // no more room
	luavm_rows(code, OFF, sizeof(code), &rules, &t);
	CHECK_EQ(t.rows.n, 2);
	memcpy(code, enter, sizeof(enter));
	rules.v.p[whole].kind = RT_UW_REG; // not the machine's
	luavm_rows(code, OFF, sizeof(code), &rules, &t);
	CHECK_EQ(t.rows.n, 2);
	vec_deinit(&t.rows);
	ruleset_deinit(&rules);
}

T_MAIN()
