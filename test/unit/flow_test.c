// Rules found from instructions alone against those the compiler wrote: the code of files that have .eh_frame, read as if they had none.
#include <fcntl.h>
#include <unistd.h>
#include "t.h"
#include "unwind/flow.h"
#include "unwind/internal.h"

struct Score {
	u64 same, wrong, unknown; // bytes
};

static const struct RtUwRule *told(const struct UwTable *t, const struct RuleSet *rules, u64 off, size_t *at)
{
	while (*at < t->rows.n && UW_ROW_OFF(t->rows.p[*at]) <= off)
		++*at;
	return &rules->v.p[*at ? UW_ROW_RULE(t->rows.p[*at - 1]) : 0];
}

static bool same_cfa(const struct RtUwRule *a, const struct RtUwRule *b)
{
	return a->kind == b->kind && (a->kind == RT_UW_END || (a->reg == b->reg && a->off == b->off));
}

// CFA through either register: where both follow rsp, or both rbp, the offsets must agree.
static void compare(const struct ElfSeg *seg, const struct UwTable *t, const struct RuleSet *rules, const FlowRows *flow, struct Score *s)
{
	size_t at = 0, fat = 0;
	for (u64 pc = seg->vaddr; pc < seg->vaddr + seg->size; pc++) {
		const struct RtUwRule *want = told(t, rules, pc - seg->vaddr + seg->off, &at);
		while (fat < flow->n && flow->p[fat].pc <= pc)
			fat++;
		const struct RtUwRule *got = fat ? &flow->p[fat - 1].rule : NULL;
		if (want->kind != RT_UW_REG || want->reg != 7) // the compiler's frame pointer functions are compared where rsp is known
			continue;
		if (!got || got->kind == RT_UW_NONE)
			s->unknown++;
		else if (same_cfa(want, got))
			s->same++;
		else {
			if (getenv("SHOW"))
				printf("# %llx is %d from the CFA, not %d\n", (unsigned long long)pc, want->off, got->off);
			s->wrong++;
		}
	}
}

static struct Score score(const char *path, bool stripped)
{
	struct Score s = {0};
	struct ElfCfi e;
	struct UwTable t;
	struct RuleSet rules;
	AddrList starts = {0};
	FlowRows flow = {0};
	int fd = open(path, O_RDONLY);
	if (fd < 0)
		return s;
	struct err *bad = elfcfi_read(fd, &e);
	CHECK(!bad);
	ruleset_init(&rules, 1 << 16);
	uwtable_build(&e, &rules, &t);
	if (!stripped)
		elfcfi_starts(&e, &starts);
	for (size_t i = 0; i < e.segs.n; i++) {
		struct ElfSeg *seg = &e.segs.p[i];
		u8 *p = xmalloc(seg->size);
		CHECK(elfcfi_code(&e, seg, seg->vaddr, p, seg->size));
		struct FlowCode c = {seg->vaddr, seg->size, p};
		flow.n = 0;
		flow_rows(&(struct FlowIn){&c, 1, starts.p, (u32)starts.n, e.entry}, &flow);
		for (size_t k = 1; k < flow.n; k++)
			CHECK(flow.p[k - 1].pc < flow.p[k].pc);
		compare(seg, &t, &rules, &flow, &s);
		free(p);
	}
	printf("# %s%s: %llu bytes as the compiler says, %llu otherwise, %llu unknown\n", path, stripped ? " without symbols" : "",
	       (unsigned long long)s.same, (unsigned long long)s.wrong, (unsigned long long)s.unknown);
	vec_deinit(&flow);
	vec_deinit(&starts);
	uwtable_deinit(&t);
	ruleset_deinit(&rules);
	elfcfi_deinit(&e);
	close(fd);
	return s;
}

// Without symbols the beginnings of functions are found from calls and from what no call reaches.
static void good(const char *path, bool stripped)
{
	struct Score s = score(path, stripped);
	if (!s.same)
		SKIP("the file is not here, or of another machine");
	CHECK(s.wrong * 100 <= s.same);
	CHECK(s.unknown * 10 <= s.same);
}

TEST(sqlite)
{
	good("/usr/bin/sqlite3", true);
}
TEST(libc)
{
	good("/usr/lib/x86_64-linux-gnu/libc.so.6", false);
}
TEST(libc_stripped)
{
	good("/usr/lib/x86_64-linux-gnu/libc.so.6", true);
}
TEST(bash)
{
	good("/bin/bash", true);
}
TEST(perl)
{
	good("/usr/bin/perl", true);
}

// ---- shapes by hand, at address 0x1000; rows as "address:kind register+offset"
static void rows(const char *what, const u8 *p, u64 n, u64 entry, const char *want)
{
	struct FlowCode c = {0x1000, n, p};
	u64 start = 0x1000;
	FlowRows out = {0};
	struct Str s = {0};
	flow_rows(&(struct FlowIn){&c, 1, &start, entry ? 0 : 1, entry}, &out);
	for (size_t i = 0; i < out.n; i++) {
		const struct RtUwRule *r = &out.p[i].rule;
		str_addf(&s, "%s%llx:", i ? " " : "", (unsigned long long)(out.p[i].pc - 0x1000));
		if (r->kind == RT_UW_REG) {
			str_addf(&s, "%s+%d", r->reg == 7 ? "sp" : "bp", r->off);
			for (u32 k = 0; k < RT_UW_SLOTS; k++)
				if (r->saved & 1 << k)
					str_addf(&s, ",%u@%d", k, r->slot[k]);
		} else {
			str_add(&s, r->kind == RT_UW_END ? "end" : "none");
		}
	}
	if (strcmp(str_text(&s), want))
		printf("# %s\n", what);
	CHECK_STR(str_text(&s), want);
	str_deinit(&s);
	vec_deinit(&out);
}
#define ROWS(what, want, ...)                                                                                          \
	do {                                                                                                           \
		static const u8 code[] = {__VA_ARGS__};                                                                \
		rows(what, code, sizeof(code), 0, want);                                                               \
	} while (0)

TEST(shapes)
{
#ifndef __x86_64__
	SKIP("lengths of x86-64 instructions are known on x86-64 only");
#endif
	ROWS("push, sub, add, pop", "0:sp+8 1:sp+16,1@-16 5:sp+24,1@-16 9:sp+16,1@-16 a:sp+8",
	     0x53, 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0x5b, 0xc3);
	ROWS("an aligned frame: by rbp", "0:sp+8 1:sp+16,0@-16 8:bp+16,0@-16 9:sp+8", 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xf0, 0xc9, 0xc3);
	ROWS("two ways to one end", "0:sp+8 1:sp+16 6:sp+24 7:sp+16 8:sp+8", 0x50, 0x84, 0xc0, 0x74, 0x02, 0x50, 0x58, 0x58, 0xc3);
	ROWS("two ways that do not agree", "", 0x50, 0x84, 0xc0, 0x74, 0x01, 0x50, 0x58, 0xc3);
	ROWS("ret with something on top: not understood", "", 0x50, 0xc3);
	ROWS("the outermost frame", "0:sp+8 2:end", 0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1, 0xf4);
	ROWS("a call that does not return", "0:sp+8 4:sp+16 9:sp+8 a:sp+16,1@-16 b:sp+8",
	     0x48, 0x83, 0xec, 0x08, 0xe8, 0x00, 0x00, 0x10, 0x00, 0x53, 0x5b, 0xc3);
	ROWS("a jump into an instruction", "4:sp+8", 0x31, 0xc0, 0xeb, 0xfd, 0xc3);
	static const u8 start[] = {0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x83, 0xe4, 0xf0, 0xe8, 0x00, 0x00, 0x10, 0x00, 0xf4};
	rows("where the kernel enters", start, sizeof(start), 0x1000, "0:end");
	static const u8 plt[] = {0xff, 0x35, 2, 2, 0, 0, 0xff, 0x25, 4, 2, 0, 0, 0x0f, 0x1f, 0x40, 0, // lld's: no .eh_frame tells of it
				 0xff, 0x25, 2, 2, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff};
	rows("a PLT", plt, sizeof(plt), 0x9999, "0:sp+16 6:sp+24 10:sp+8 1b:sp+16");
}
T_MAIN()
