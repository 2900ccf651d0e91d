// Frames of Perl: the program of src/runtime/perl.c over the made-up memory of a 5.36, and what it makes of what has been copied.
#include "t.h"
#include "runtime/runtime.h"

#if !defined(__x86_64__)
int main(void)
{
	printf("ok 1 perl # SKIP made-up frames are of x86-64\n1..1\n");
	return 0;
}
#else
#include "walk_fix.h"
#include "lang_frame.h"

// Where things are in the heap; the thread pointer is its start
#define KEY 5
#define ROOT (HEAP + 0x600)
#define ME (HEAP + 0x700) // the interpreter
#define STACKINFO(i) (HEAP + 0x800 + (i) * 0x40)
#define CONTEXTS(i) (HEAP + 0x900 + (i) * 0x200)
#define OP(i) (HEAP + 0xd00 + (i) * 0x40)
#define SUB(i) (HEAP + 0xe00 + (i) * 0x100) // its code, body, GV, that one's body
#define STASH (HEAP + 0x1300)
#define SAVES (HEAP + 0x1400)
#define TEXTS (HEAP + 0x1500)
#define BIAS (TEXT - OFF)
#define RETURNS HEAP // to some operation
enum { BLOCK = 2, CALL = 9, EVAL = 11, MULTICALL = 0x10, EVALBLOCK = 0x40, TRY = 0x80 };
static u64 texts;
static struct {
	u64 pad, tp;
} task;

static void put(u64 at, u64 v)
{
	memcpy((u8 *)heap + (at - HEAP), &v, 8);
}

static u64 put_text(const char *text, bool hek)
{
	u64 at = texts;
	put(at, strlen(text) << 32);
	strcpy((char *)heap + (at + (hek ? 8 : 0) - HEAP), text);
	texts = (at + 8 + strlen(text) + 8) & ~7ull;
	return at;
}

static void put_op(u32 i, const char *file, u32 line)
{
	put(OP(i) + 0x20, (u64)line << 32);
	put(OP(i) + 0x30, put_text(file, false));
	put(OP(i) + 0x38, (u64)i << 32);
}

static void put_sub(u32 i, const char *name)
{
	u64 body = SUB(i) + 0x20, gv = SUB(i) + 0x90, gvbody = SUB(i) + 0xb0;
	put(SUB(i), body);
	put(SUB(i) + 8, 13ull << 32);
	put(body + 0x38, gv);
	put(body + 0x60, 1);
	put(gv, gvbody);
	put(gv + 8, 9ull << 32);
	put(gv + 16, SUB(i) + 0xc0 - 0x38 + 0x20); // gp.egv: none
	put(gvbody + 0x20, put_text(name, true));
	put(gvbody + 0x28, STASH);
}

static u32 contexts[2];
static void put_context(u32 si, u64 kind, u32 old_op, u64 retop, u64 cv)
{
	u64 at = CONTEXTS(si) + contexts[si] * 0x68;
	put(at, kind | 2ull << 32);
	put(at + 0x10, OP(old_op));
	put(at + 0x30, retop);
	put(at + 0x48, cv);
	put(STACKINFO(si) + 0x20, contexts[si]++);
}

static bool musl; // the libc of the program

static void start_perl(u64 docatch, u32 size)
{
	struct RtUwRule eval = {.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 48, .index = RT_UW_LANG}, c = eval, root = {.kind = RT_UW_END};
	struct RtLang lang = {.kind = RT_LANG_PERL, .chain = 1, .root = ROOT - BIAS, .code_type = docatch - BIAS, .perl = {size, musl}};
	struct RtChain chain;
	u32 one = 1;

	start();
	c.index = 0;
	put_rows((u64[]){UW_ROW(OFF, rule(eval)), UW_ROW(OFF + 0x18, rule(c)), UW_ROW(OFF + 0x100, rule(eval)), UW_ROW(OFF + 0x200, rule(root))}, 4);
	struct RtUwObj *o = bpf_map_lookup_elem(&rt_uw_obj, &one);
	o->lang = 1;
	CHECK(perl_runtime.chain(&lang, &chain));
	bpf_map_update_elem(&rt_chains, &one, &chain, 0);
	bpf_map_update_elem(&rt_langs, &one, &lang, 0);
	codes_destroy(codes);
	codes = codes_create();
	codes_full = 0;
	memset(heap, 0, sizeof(heap));
	texts = TEXTS;
	task.tp = HEAP;
	rt_host.task = (u64)&task;
	rt_off_tp = 8;
	stack[5] = TEXT + 0x20;	  // frame 1: C
	stack[11] = TEXT + 0x120; // frame 2: the outer loop
	stack[17] = TEXT + 0x210; // the root
	put(ROOT, KEY);
	put(HEAP + 0x80, HEAP + 0xc0);
	put(musl ? HEAP + 0xc0 + KEY * 8 : HEAP + 0x310 + KEY * 16 + 8, ME);
	put(ME + 8, RETURNS);
	put(ME + 0x28, SAVES);
	put(ME + 0xd0, OP(0));
	put(ME + 0xe0, STACKINFO(0));
	for (u32 i = 0; i < 2; i++) {
		contexts[i] = 0;
		put(STACKINFO(i) + 8, CONTEXTS(i));
		put(STACKINFO(i) + 0x10, i ? 0 : STACKINFO(1));
		put(STACKINFO(i) + 0x20, 0xffffffff);
		put(STACKINFO(i) + 0x28, (i ? 1ull : 5ull) << 32);
	}
	put(STASH, STASH + 0x20);
	put(STASH + 8, 0x2000000ull << 32);
	put(STASH + 0x40, put_text("A", true));
	put_op(0, "/src/a.pl", 7);
	put_op(1, "/src/a.pl", 17);
	put_op(2, "(eval 3)", 1);
	put_op(3, "/src/main.pl", 3);
	put_sub(0, "inner");
	put_sub(1, "outer");
}

static void check_frame(struct RtStack *st, u32 i, const char *name, const char *file, u32 pos)
{
	struct RtCode c;
	check_frame_names(codes, st, i, name, file, &c);
	CHECK_EQ(RT_FRAME_POS(st->frames[i]), pos);
	CHECK_EQ(runtime_of(RT_LANG_PERL)->line(&c, pos), pos);
}

// A::inner, called by C (in a stack of its own) for what eval runs in A::outer, of the program.
static void put_calls(void)
{
	put_context(0, CALL, 1, 0, SUB(0));
	put_context(1, CALL, 3, RETURNS, SUB(1));
	put_context(1, BLOCK, 3, 0, 0);
	put_context(1, EVAL | EVALBLOCK, 2, RETURNS, 0);
}

static void check_outer(struct RtStack *st, u32 at)
{
	check_frame(st, at, "(eval)", "/src/a.pl", 17);
	check_frame(st, at + 1, "A::outer", "(eval 3)", 1);
	check_frame(st, at + 2, "(main)", "/src/main.pl", 3);
	CHECK_EQ(st->n, at + 4);
	CHECK_EQ(st->why, RT_WHY_OK);
}

TEST(subs_evals_and_the_program)
{
	start_perl(0, 0);
	put_calls();
	for (u32 again = 0; again < 2; again++) {
		struct RtStack *st = walk_now();
		check_frame(st, 0, "A::inner", "/src/a.pl", 7);
		CHECK_FRAME(st, 1, TEXT + 0x20);
		check_outer(st, 2);
	}
	put(SUB(0) + 0x20 + 0x58, 0x8000ull << 32); // it has its name itself
	put(SUB(0) + 0x20 + 0x38, put_text("named", true));
	put(SUB(0) + 0x20 + 0x20, STASH);
	check_frame(walk_now(), 0, "A::named", "/src/a.pl", 7);
	put(SUB(0) + 0x20 + 0x58, 0x18000ull << 32);
	put(SUB(0) + 0x20 + 0x38, put_text("lexical", true));
	check_frame(walk_now(), 0, "lexical", "/src/a.pl", 7);
	put(STASH + 0x40, texts); // of several names the first
	put(STASH + 0x40 + 0x18, 2ull << 32);
	put(texts, texts + 8);
	texts += 8;
	put_text("B", true);
	put(OP(2) + 0x20, 9ull << 32); // a copy is taken once more
	check_frame(walk_now(), 3, "B::outer", "(eval 3)", 9);
}

TEST(a_try_block_is_no_frame)
{
	start_perl(0, 0);
	put_context(0, CALL, 2, 0, SUB(0));
	put_context(1, CALL, 3, RETURNS, SUB(1));
	put_context(1, EVAL | TRY, 1, RETURNS, 0);
	struct RtStack *st = walk_now();
	check_frame(st, 2, "A::outer", "(eval 3)", 1);
	CHECK_EQ(st->n, 5);
}

TEST(an_eval_that_C_has_put_below_its_call)
{
	start_perl(0, 0);
	put_context(1, CALL, 3, RETURNS, SUB(1));
	put_context(1, EVAL | EVALBLOCK, 2, 0, 0);
	put_context(1, CALL, 1, 0, SUB(0));
	put(ME + 0xe0, STACKINFO(1));
	struct RtStack *st = walk_now();
	check_frame(st, 0, "A::inner", "/src/a.pl", 7);
	check_frame(st, 1, "(eval)", "/src/a.pl", 17);
	CHECK_FRAME(st, 2, TEXT + 0x20);
	check_frame(st, 3, "A::outer", "(eval 3)", 1);
	check_frame(st, 4, "(main)", "/src/main.pl", 3);
	CHECK_EQ(st->why, RT_WHY_OK);
}

// As PL/Perl calls: C that has put an eval there calls C that does so too, for Perl. The program itself has ended.
TEST(evals_of_C_that_called_C)
{
	for (u32 ended = 0; ended < 2; ended++) {
		start_perl(0, 0);
		if (!ended)
			put_context(1, CALL, 3, RETURNS, SUB(1));
		put_context(1, EVAL | EVALBLOCK, 2, 0, 0);
		put_context(1, EVAL | EVALBLOCK, 2, 0, 0);
		put_context(1, CALL, 1, 0, SUB(0));
		put(ME + 0xe0, STACKINFO(1));
		if (ended)
			stack[11] = TEXT + 0x210; // no other loop
		struct RtStack *st = walk_now();
		check_frame(st, 0, "A::inner", "/src/a.pl", 7);
		check_frame(st, 1, "(eval)", "/src/a.pl", 17);
		check_frame(st, 2, "(eval)", "(eval 3)", 1);
		CHECK_FRAME(st, 3, TEXT + 0x20);
		if (!ended)
			check_frame(st, 4, "A::outer", "(eval 3)", 1);
		CHECK_EQ(st->n, ended ? 5 : 7);
		CHECK_EQ(st->why, RT_WHY_OK);
	}
}

TEST(a_loop_within_docatch_has_the_outer_ones_frames)
{
	start_perl(TEXT + 0x18, 0x10);
	put(ME + 0xe0, STACKINFO(1));
	put_context(1, CALL, 1, 0, SUB(0));
	struct RtStack *st = walk_now();
	check_frame(st, 0, "A::inner", "/src/a.pl", 7);
	CHECK_FRAME(st, 1, TEXT + 0x20);
	CHECK_FRAME(st, 2, TEXT + 0x120);
	CHECK_EQ(st->n, 4);
	CHECK_EQ(st->why, RT_WHY_OK);
}

TEST(a_sub_that_has_not_begun_or_is_being_left)
{
	start_perl(0, 0);
	put_calls();
	put(ME + 0xd0, OP(2)); // the call is what is at work
	put_context(1, CALL, 2, RETURNS, SUB(0));
	put(STACKINFO(0) + 0x20, 0xffffffff);
	put(ME + 0xe0, STACKINFO(1));
	stack[5] = TEXT + 0x210;
	struct RtStack *st = walk_now();
	check_frame(st, 0, "(eval)", "(eval 3)", 1);
	CHECK_EQ(st->why, RT_WHY_OK);
	put(ME + 0xd0, OP(0));
	put(CONTEXTS(1) + 3 * 0x68 + 0x48, 0);
	check_frame(walk_now(), 0, "(eval)", "(eval 3)", 1);
}

TEST(a_loop_that_has_ended_for_now)
{
	start_perl(0, 0);
	put_context(0, CALL | MULTICALL, 1, 0, SUB(0));
	put_context(1, CALL, 3, RETURNS, SUB(1));
	put(ME + 8, 0);
	stack[5] = TEXT + 0x210;
	struct RtStack *st = walk_now();
	check_frame(st, 0, "A::outer", "/src/a.pl", 17);
	check_frame(st, 1, "(main)", "/src/main.pl", 3);
	CHECK_EQ(st->why, RT_WHY_OK);
}

TEST(what_is_none_is_counted)
{
	start_perl(0, 0);
	put_calls();
	put(SUB(1) + 8, 12ull << 32); // no code
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	start_perl(0, 0);
	put_calls();
	put(SUB(1) + 0x98, 0); // no GV
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	start_perl(0, 0);
	put_calls();
	put(STACKINFO(1) + 0x28, 2ull << 32); // the program's own stack is missing
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	put(STACKINFO(1) + 0x10, STACKINFO(0)); // round in a circle
	CHECK(walk_now()->flags & RT_STACK_INCOMPLETE);
	start_perl(0, 0);
	put_calls();
	stack[11] = TEXT + 0x210; // a loop less than there are
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	start_perl(0, 0);
	put(HEAP + 0x310 + KEY * 16 + 8, 0); // a thread without an interpreter
	CHECK_EQ(walk_now()->why, RT_WHY_OK);
	CHECK_FRAME(walk_now(), 1, TEXT + 0x20);
}

TEST(linked_with_musl)
{
	musl = true;
	start_perl(0, 0);
	put_calls();
	struct RtStack *st = walk_now();
	check_frame(st, 0, "A::inner", "/src/a.pl", 7);
	check_outer(st, 2);
	put(ROOT, 128); // no key of musl's
	CHECK_FRAME(walk_now(), 1, TEXT + 0x20);
	musl = false;
}

T_MAIN()
#endif
