// Patterns that PCRE has compiled (track/sljit.c). Input: made-up areas of its allocator and functions as its code generator writes them, whole and damaged; PHP's
// code (opcache.c) is in test/run/php.t.
#include "t.h"
#include "track/internal.h"

#if !defined(__x86_64__)
int main(void)
{
	printf("ok 1 sljit # SKIP the code is of x86-64\n1..1\n");
	return 0;
}
#else
#define AREA 65536u
static u8 area[2 * AREA];

// A block of n bytes, its head included. Returns where the next one begins.
static u64 put_block(u64 at, u64 n, u64 prev, bool used)
{
	u64 head[5] = {used ? n : 0, prev, 0, 0, n};
	memcpy(area + at, head, used ? 16 : 40);
	return at + n;
}

static void put_end(u64 at, u64 prev)
{
	u64 head[2] = {1, prev};
	memcpy(area + at, head, 16);
}

static size_t blocks(u64 size, struct Blocks *out)
{
	out->v.n = 0;
	return sljit_blocks(area, size, 0x7f0000000000, out) ? out->v.n : 99;
}

TEST(areas_of_the_allocator)
{
	struct Blocks b = {0};
	put_block(0, 256, 0, true);
	put_block(256, 512, 256, false);
	put_block(768, AREA - 16 - 768, 512, true);
	put_end(AREA - 16, AREA - 16 - 768);
	CHECK_EQ(blocks(AREA, &b), 2);
	CHECK(b.v.p[0].start == 0x7f0000000010 && b.v.p[0].size == 240);
	CHECK(b.v.p[1].start == 0x7f0000000000 + 768 + 16 && b.v.p[1].size == AREA - 32 - 768);
	put_block(AREA, AREA - 16, 0, true); // another area beside it
	put_end(2 * AREA - 16, AREA - 16);
	CHECK_EQ(blocks(2 * AREA, &b), 3);
	put_block(0, 2 * AREA - 16, 0, true); // one of 128 KB
	put_end(2 * AREA - 16, 2 * AREA - 16);
	CHECK_EQ(blocks(2 * AREA, &b), 1);
	put_block(256, 512, 248, false);
	put_block(0, 256, 0, true);
	CHECK_EQ(blocks(2 * AREA, &b), 99); // sizes that do not agree
	memset(area, 0, AREA);
	CHECK_EQ(blocks(AREA, &b), 99); // other memory
	put_block(0, 2 * AREA, 0, true);
	CHECK_EQ(blocks(AREA, &b), 99); // beyond its area
	put_block(0, 24, 0, true);
	CHECK_EQ(blocks(AREA, &b), 99);
	CHECK_EQ(blocks(AREA - 8, &b), 99);
	vec_deinit(&b.v);
}

static const struct RtUwRule *rule_at(const struct UwMade *m, u64 off)
{
	static const struct RtUwRule none;
	const struct RtUwRule *r = &none;
	for (size_t i = 0; i < m->rows.n && m->rows.p[i].off <= off; i++)
		r = &m->rows.p[i].rule;
	return r;
}

static s32 cfa(const struct UwMade *m, u64 off)
{
	const struct RtUwRule *r = rule_at(m, off);
	return r->kind == RT_UW_REG && r->reg == RT_R_SP && r->ra == -8 ? r->off : -1;
}

TEST(rows_of_a_function)
{
	static const u8 code[] = {
		0xf3, 0x0f, 0x1e, 0xfa,			  // 0 endbr64
		0x53, 0x41, 0x57,			  // 4 push %rbx; 5 push %r15
		0x48, 0x89, 0xfb,			  // 7 mov %rdi,%rbx
		0x48, 0x81, 0xec, 0x28, 0x01, 0x00, 0x00, // 10 sub $0x128,%rsp
		0xe8, 0x0d, 0x00, 0x00, 0x00,		  // 17 call 35
		0x48, 0x81, 0xc4, 0x28, 0x01, 0x00, 0x00, // 22 add
		0x41, 0x5f, 0x5b, 0xc3,			  // 29 pop %r15; 31 pop %rbx; 32 ret
		0x90, 0x90,
		0x5a, 0x31, 0xc0,			  // 35 pop %rdx
		0x52, 0xc3,				  // 38 push %rdx; 39 ret
		0x41, 0x5a, 0x90,			  // 40 pop %r10
	};
	static const struct {
		u32 at;
		s32 cfa;
	} want[] = {{0, 8}, {4, 8}, {5, 16}, {7, 24}, {10, 24}, {17, 0x140}, {22, 0x140}, {29, 24}, {31, 16}, {32, 8}, {33, 0x140}, {35, 0x148}, {36, 0x140}, {38, 0x140},
		    {39, 0x148}, {40, 0x148}, {42, 0x140}};
	struct UwMade m = {0};
	CHECK(sljit_rows(code, sizeof(code), &m));
	for (u32 i = 0; i < ARRAY_LEN(want); i++)
		if (cfa(&m, want[i].at) != want[i].cfa)
			CHECK_EQ(cfa(&m, want[i].at), want[i].cfa + 100000 * want[i].at);
	const struct RtUwRule *r = rule_at(&m, 20);
	CHECK(r->saved == (1 << 1 | 1 << 5) && r->slot[1] == -16 && r->slot[5] == -24); // rbx, r15
	CHECK_EQ(rule_at(&m, 5)->saved, 1 << 1);
	CHECK_EQ(rule_at(&m, 32)->saved, 0);
	CHECK_EQ(rule_at(&m, sizeof(code))->kind, RT_UW_NONE);
	m.rows.n = 0;
	CHECK(!sljit_rows(code + 17, sizeof(code) - 17, &m)); // no function's beginning
	m.rows.n = 0;
	for (u64 n = 0; n < sizeof(code); n++, m.rows.n = 0) // cut anywhere
		CHECK(sljit_rows(code, n, &m) == (n >= 17));
	vec_deinit(&m.rows);
}

// Room given back and registers restored, but no return: a jump to another's end, or other bytes. It is body like the rest.
TEST(an_end_without_its_return)
{
	static const u8 code[] = {
		0x53, 0x41, 0x57,			  // 0 push %rbx; 1 push %r15
		0x48, 0x83, 0xec, 0x28,			  // 3 sub $0x28,%rsp
		0x48, 0x83, 0xc4, 0x28, 0x41, 0x5f, 0x5b, // 7 add; 11 pop %r15; 13 pop %rbx
		0x90, 0x90, 0x90,			  // 14
	};
	struct UwMade m = {0};
	CHECK(sljit_rows(code, sizeof(code), &m));
	for (size_t i = 1; i < m.rows.n; i++)
		CHECK(m.rows.p[i].off > m.rows.p[i - 1].off);
	CHECK_EQ(cfa(&m, 7), 0x40);
	CHECK_EQ(cfa(&m, 14), 0x40);
	vec_deinit(&m.rows);
}

T_MAIN()
#endif
