// Frames of Lua: the programs of src/runtime/luachain.c and luacode.c over the made-up memory of a 5.4 and a 5.1, and what it makes of what has been copied.
#include "t.h"
#include "runtime/runtime.h"

#if !defined(__x86_64__)
int main(void)
{
	printf("ok 1 lua # SKIP made-up frames are of x86-64\n1..1\n");
	return 0;
}
#else
#include "walk_fix.h"
#include "lang_frame.h"

// Where things are in the heap
#define THREAD(i) (HEAP + 0x80 + (i) * 0x80)
#define GLOBAL (HEAP + 0x180)
#define CI(i) (HEAP + 0x400 + (i) * 0x48)
#define VALUE(i) (HEAP + 0x900 + (i) * 16)
#define CLOSURE(i) (HEAP + 0xa00 + (i) * 0x40)
#define PROTO(i) (HEAP + 0xe00 + (i) * 0x80)
#define CODE(i) (HEAP + 0x1200 + (i) * 0x60)
#define TEXTS (HEAP + 0x1600)
#define C_FUNCTION 0x5000
enum { C = 2, FRESH = 4, TAIL = 0x20, FIN = 0x80 };
enum { ROW_51, ROW_53, ROW_54 };
static u64 texts;

static void put(u64 at, u64 v, u32 n)
{
	memcpy((u8 *)heap + (at - HEAP), &v, n);
}

static u64 put_bytes(const void *p, u32 n)
{
	u64 at = texts;
	memcpy((u8 *)heap + (at - HEAP), p, n);
	texts = (at + n + 15) & ~7ull;
	return at;
}

static u64 put_text(const char *text) // a short string of 5.4; its length is where 5.1 has it, too
{
	u64 at = texts;
	put(at + 8, 4, 1);
	put(at + 11, strlen(text), 1);
	put(at + 16, strlen(text), 8);
	texts += 24;
	put_bytes(text, (u32)strlen(text) + 1);
	return at;
}

// Instructions
static u32 abc(u32 op, u32 a, u32 b, u32 c)
{
	return op | a << 7 | b << 16 | c << 24;
}

static u32 jump(s32 by)
{
	return 56 | (u32)(by + 0xffffff) << 7;
}

// A function in Lua of 5.4, of the file, from line 10 * (i + 1) on; instruction n is n lines further.
static void put_function(u32 i, const char *source, const u32 *code, u32 n)
{
	static const u8 delta[16] = {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	u64 p = PROTO(i);
	put(CLOSURE(i) + 24, p, 8);
	memcpy((u8 *)heap + (CODE(i) - HEAP), code, n * 4);
	put(p + 24, n, 4);
	put(p + 28, n, 4);
	put(p + 44, 10 * (i + 1), 4);
	put(p + 64, CODE(i), 8);
	put(p + 88, put_bytes(delta, sizeof(delta)), 8);
	put(p + 112, put_text(source), 8);
}

static void put_constant(u32 i, const char *text)
{
	u64 value[2] = {put_text(text), 0x44};
	put(PROTO(i) + 56, put_bytes(value, 16), 8);
}

static void put_local(u32 i, const char *text, u32 from, u32 to)
{
	u64 name = put_text(text);
	put(PROTO(i) + 36, 1, 4);
	put(PROTO(i) + 104, texts, 8);
	put_bytes((u64[]){name, from | (u64)to << 32}, 16);
}

// Call i of a thread, its caller is the next one; fn: of which function, ~0 of C.
static void put_call(u32 i, u32 fn, u32 next, u32 status)
{
	put(CI(i), VALUE(i), 8);
	put(CI(i) + 16, CI(i + 1), 8);
	put(CI(i) + 62, status | (fn == ~0u ? C : 0), 2);
	if (fn == ~0u) {
		put(VALUE(i), C_FUNCTION + i, 8);
		put(VALUE(i) + 8, 0x16, 1);
		return;
	}
	put(VALUE(i), CLOSURE(fn), 8);
	put(VALUE(i) + 8, 0x46, 1);
	put(CI(i) + 32, CODE(fn) + 4 * next, 8);
}

static void put_end(u32 i)
{
	put(CI(i), VALUE(i), 8);
	put(CI(i) + 16, 0, 8);
	put(CI(i) + 62, C, 2);
}

static void put_thread(u32 i, u64 call)
{
	put(THREAD(i) + 8, 8, 1);
	put(THREAD(i) + 24, GLOBAL + (i ? 0x1000 : 0), 8);
	put(THREAD(i) + 32, call, 8);
}

static void start_lua(u32 row, struct RtLua how)
{
	struct RtUwRule eval = {.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 48, .index = RT_UW_LANG, .saved = 0x21}, c = {.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 48}, root = {.kind = RT_UW_END};
	struct RtLang lang = {.kind = RT_LANG_LUA, .chain = 1, .row = (u16)row, .lua = how};
	struct RtChain chain;
	u32 one = 1;

	eval.slot[0] = -16; // rbp
	eval.slot[5] = -24; // r15
	start();
	put_rows((u64[]){UW_ROW(OFF, rule(eval)), UW_ROW(OFF + 0x18, rule(c)), UW_ROW(OFF + 0x100, rule(eval)), UW_ROW(OFF + 0x200, rule(root))}, 4);
	struct RtUwObj *o = bpf_map_lookup_elem(&rt_uw_obj, &one);
	o->lang = 1;
	CHECK(lua_runtime.chain(&lang, &chain));
	bpf_map_update_elem(&rt_chains, &one, &chain, 0);
	bpf_map_update_elem(&rt_langs, &one, &lang, 0);
	codes_destroy(codes);
	codes = codes_create();
	codes_full = 0;
	texts = TEXTS;
	stack[5] = TEXT + 0x20;	  // frame 1: C
	stack[11] = TEXT + 0x120; // frame 2: another loop
	stack[17] = TEXT + 0x210; // the root
}

// A function in C (0) in one of Lua (1), which C (2) calls for another (3), of the program (4), which C (5) runs.
static void start_54_as(struct RtLua how)
{
	start_lua(ROW_54, how);
	put_function(0, "@/src/a.lua", (u32[]){abc(11, 1, 0, 0), abc(1, 2, 0, 0), abc(68, 1, 2, 1), abc(71, 0, 0, 0)}, 4);
	put_constant(0, "ask");
	put_function(1, "@/src/a.lua", (u32[]){abc(14, 3, 1, 0), abc(0, 4, 0, 0), abc(68, 3, 2, 1), abc(71, 0, 0, 0)}, 4);
	put_constant(1, "sort");
	put_function(2, "=main", (u32[]){abc(0, 2, 0, 0), abc(68, 2, 1, 1), abc(71, 0, 0, 0)}, 3);
	put_local(2, "outer", 0, 3);
	put_thread(0, CI(0));
	put_call(0, ~0u, 0, 0);
	put_call(1, 0, 3, FRESH);
	put_call(2, ~0u, 0, 0);
	put_call(3, 1, 3, 0);
	put_call(4, 2, 2, FRESH);
	put_call(5, ~0u, 0, 0);
	put_end(6);
	put(PROTO(2) + 44, 0, 4); // a chunk
	regs.r15 = THREAD(0);
	regs.bp = CI(1);
	stack[3] = THREAD(0);
	stack[4] = CI(3);
}

static void start_54(void)
{
	start_54_as((struct RtLua){15, 6, 13, 0});
}

static void check_frame(struct RtStack *st, u32 i, const char *name, const char *file, u32 line)
{
	struct RtCode c;
	check_frame_names(codes, st, i, name, file, &c);
	CHECK_EQ(codes_line(codes, &c, RT_FRAME_POS(st->frames[i])), line);
}

static void check_outer(struct RtStack *st, u32 at)
{
	check_frame(st, at, "sort", "", 0);
	check_frame(st, at + 1, "outer", "/src/a.lua", 22);
	check_frame(st, at + 2, "main chunk", "main", 1);
	check_frame(st, at + 3, "?", "", 0);
	CHECK_EQ(st->n, at + 5);
	CHECK_EQ(st->why, RT_WHY_OK);
}

TEST(functions_of_lua_and_of_c)
{
	start_54();
	for (u32 again = 0; again < 2; again++) {
		struct RtStack *st = walk_now();
		check_frame(st, 0, "ask", "", 0);
		check_frame(st, 1, "function </src/a.lua:10>", "/src/a.lua", 12);
		CHECK_FRAME(st, 2, TEXT + 0x20);
		check_outer(st, 3);
	}
	put(THREAD(0) + 32, CI(1), 8); // the loop's own function is at work: its register is newer
	regs.r13 = CODE(0) + 4;
	check_frame(walk_now(), 0, "function </src/a.lua:10>", "/src/a.lua", 10);
	regs.r13 = CODE(1) + 4; // of another function
	check_frame(walk_now(), 0, "function </src/a.lua:10>", "/src/a.lua", 12);
}

// The thread is in r9, which calls do not save, and around them in one of two places of the loop's frame.
TEST(a_thread_that_is_on_the_stack_around_calls)
{
	for (u32 place = 0; place < 3; place++) {
		start_54_as((struct RtLua){.thread = 9, .call = 6, .next = 13, .base = 7, .slot = {8, 16, 8, 8}});
		regs.r15 = 0x123;
		stack[3] = 0x456;
		regs.r9 = THREAD(0);
		stack[13] = stack[14] = HEAP; // something else
		if (place < 2)
			stack[13 + place] = THREAD(0);
		struct RtStack *st = walk_now();
		check_frame(st, 0, "ask", "", 0);
		check_frame(st, 1, "function </src/a.lua:10>", "/src/a.lua", 12);
		CHECK_FRAME(st, 2, TEXT + 0x20);
		if (place < 2)
			check_outer(st, 3);
		else
			CHECK_EQ(st->why, RT_WHY_LANG); // said, not left out
	}
}

// Builds for size have it on the stack only.
TEST(a_thread_that_is_always_on_the_stack)
{
	start_54_as((struct RtLua){.thread = RT_LUA_ON_STACK, .call = 6, .next = 13, .slot = {8}});
	regs.r15 = 0x123;
	stack[1] = stack[13] = THREAD(0); // of this loop, of the other
	struct RtStack *st = walk_now();
	check_frame(st, 0, "ask", "", 0);
	check_frame(st, 1, "function </src/a.lua:10>", "/src/a.lua", 12);
	check_outer(st, 3);
	stack[13] = HEAP;
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
}

// Where a closure takes its upvalues the loop has thread and call in two places of its frame; if only one is right, that is something else.
TEST(a_thread_and_a_call_whose_registers_have_other_values)
{
	for (u32 place = 0; place < 3; place++) {
		start_54_as((struct RtLua){.thread = 15, .call = 6, .next = 13, .spill = {{place == 1 ? 16 : 8, place == 1 ? 8 : 16}, {8, 16}}});
		put(THREAD(0) + 32, CI(1), 8);
		regs.r15 = 3;
		regs.bp = 16;
		regs.r13 = CODE(0) + 4;
		stack[1] = THREAD(0);
		stack[2] = place < 2 ? CI(1) : CI(3);
		struct RtStack *st = walk_now();
		if (place < 2)
			check_frame(st, 0, "function </src/a.lua:10>", "/src/a.lua", 12);
		else
			CHECK_EXACT(st, 0, TEXT);
		CHECK_FRAME(st, 1, TEXT + 0x20);
		if (place < 2)
			check_outer(st, 2);
	}
	start_54(); // behind a call it must be somewhere
	stack[3] = 0x123;
	struct RtStack *st = walk_now();
	CHECK_FRAME(st, 2, TEXT + 0x20);
	CHECK_EQ(st->why, RT_WHY_LANG);
}

// ... the thread in another register, the call, which must be its innermost, on the stack.
TEST(a_thread_in_another_register)
{
	for (u32 same = 0; same < 2; same++) {
		start_54_as((struct RtLua){.thread = 9, .call = 6, .next = 13, .base = 7, .slot = {8, 8, 8, 8}, .other = 15, .other_call = 16});
		put(THREAD(0) + 32, CI(1), 8);
		regs.r9 = 3;
		regs.bp = 16;
		stack[1] = 0x123;
		stack[2] = same ? CI(1) : CI(3);
		stack[13] = THREAD(0); // of the other loop
		struct RtStack *st = walk_now();
		if (same)
			check_frame(st, 0, "function </src/a.lua:10>", "/src/a.lua", 12);
		else
			CHECK_EQ(st->why, RT_WHY_LANG);
		if (same)
			check_outer(st, 2);
	}
}

// The thread is nowhere, but its calls lead to one that lies in it.
TEST(a_thread_that_calls_lead_to)
{
	start_54();
	stack[3] = 0x123;
	put(CI(5) + 16, THREAD(0) + 96, 8);
	struct RtStack *st = walk_now();
	check_frame(st, 0, "ask", "", 0);
	check_frame(st, 1, "function </src/a.lua:10>", "/src/a.lua", 12);
	check_outer(st, 3);
	put(THREAD(0) + 8, 7, 1); // no thread
	CHECK(walk_now()->why != RT_WHY_OK);
}

// A value lies where the innermost call's function was: it has returned.
TEST(what_a_call_returns)
{
	start_54();
	put(VALUE(0) + 8, 3, 1);
	struct RtStack *st = walk_now();
	check_frame(st, 0, "function </src/a.lua:10>", "/src/a.lua", 12);
	CHECK_FRAME(st, 1, TEXT + 0x20);
	check_outer(st, 2);
}

// The loop's own call has not begun, or has ended: the others are at their loops all the same.
TEST(a_loop_that_begins_or_ends)
{
	start_54();
	put(THREAD(0) + 32, CI(2), 8); // call 1 has returned
	struct RtStack *st = walk_now();
	CHECK_EXACT(st, 0, TEXT);
	CHECK_FRAME(st, 1, TEXT + 0x20);
	check_outer(st, 2);
	start_54();
	regs.r15 = 0x123; // the caller's, at the first and last instructions
	st = walk_now();
	CHECK_EXACT(st, 0, TEXT);
	CHECK_FRAME(st, 1, TEXT + 0x20);
	check_frame(st, 2, "ask", "", 0);
	check_frame(st, 3, "function </src/a.lua:10>", "/src/a.lua", 12);
	check_outer(st, 4);
	start_54(); // a call within the loop has returned
	put_call(1, 0, 3, 0);
	put(THREAD(0) + 32, CI(3), 8);
	put(CI(1) + 16, CI(3), 8);
	stack[5] = TEXT + 0x210;
	st = walk_now();
	check_frame(st, 0, "outer", "/src/a.lua", 22);
	CHECK_EQ(st->why, RT_WHY_OK);
}

static void named(const u32 *code, u32 n, const char *name)
{
	start_54();
	put_function(0, "@/src/a.lua", code, n);
	put_constant(0, "ask");
	put_call(1, 0, n, FRESH);
	check_frame(walk_now(), 0, name, "", 0);
}

TEST(names)
{
	named((u32[]){abc(11, 1, 0, 0), abc(66, 1, 0, 0), jump(1), abc(11, 1, 0, 0), abc(68, 1, 1, 1)}, 5, "?"); // x or ask
	named((u32[]){abc(11, 1, 0, 0), abc(66, 2, 0, 0), jump(1), abc(11, 2, 0, 0), abc(68, 1, 1, 1)}, 5, "ask"); // ask(x or y)
	named((u32[]){jump(1), abc(11, 2, 0, 0), abc(11, 1, 0, 0), abc(68, 1, 1, 1)}, 4, "ask"); // behind an if
	named((u32[]){abc(20, 1, 0, 0) | 1 << 15, abc(68, 1, 2, 1)}, 2, "ask");
	named((u32[]){abc(12, 1, 0, 0), abc(68, 1, 2, 1)}, 2, "?");
	named((u32[]){abc(68, 1, 1, 2), abc(68, 1, 1, 1)}, 2, "?"); // of what a call returns
	named((u32[]){abc(34, 1, 2, 3), abc(46, 2, 3, 6)}, 2, "add");
	named((u32[]){abc(64, 1, 2, 3)}, 1, "lt");
	named((u32[]){abc(76, 1, 0, 3)}, 1, "for iterator");
	named((u32[]){abc(19, 1, 0, 3)}, 1, "?");
	u32 far[20];
	start_54();
	put(CI(1) + 62, FRESH | FIN, 2);
	check_frame(walk_now(), 0, "__gc", "", 0);
	start_54();
	put(CI(3) + 62, TAIL, 2);
	check_frame(walk_now(), 4, "function </src/a.lua:20>", "/src/a.lua", 22);
	for (u32 i = 0; i < ARRAY_LEN(far); i++)
		far[i] = abc(1, 2, 0, 0);
	far[0] = abc(11, 1, 0, 0);
	far[19] = abc(68, 1, 2, 1);
	named(far, 20, "ask");
	start_54();
	put_local(2, "other", 2, 3); // not alive there
	check_frame(walk_now(), 4, "function </src/a.lua:20>", "/src/a.lua", 22);
}

TEST(texts_as_files)
{
	start_54();
	put(PROTO(0) + 112, put_text("return 1"), 8);
	put(PROTO(1) + 112, put_text("local a\nreturn a"), 8);
	put(PROTO(2) + 112, put_text("0123456789012345678901234567890123456789012345678901234567890"), 8);
	struct RtStack *st = walk_now();
	check_frame(st, 1, "function <[string \"return 1\"]:10>", "[string \"return 1\"]", 12);
	check_frame(st, 4, "outer", "[string \"local a...\"]", 22);
	check_frame(st, 5, "main chunk", "[string \"012345678901234567890123456789012345678901234...\"]", 1);
}

TEST(lines_that_are_absolute)
{
	static const s8 delta[] = {1, -128, 2, -128};
	start_54();
	put(PROTO(0) + 88, put_bytes(delta, sizeof(delta)), 8);
	put(PROTO(0) + 96, put_bytes((u32[]){1, 500, 3, 7}, 16), 8);
	put(PROTO(0) + 40, 2, 4);
	check_frame(walk_now(), 1, "function </src/a.lua:10>", "/src/a.lua", 502);
	put(CI(1) + 32, CODE(0) + 16, 8);
	check_frame(walk_now(), 1, "function </src/a.lua:10>", "/src/a.lua", 7);
	put(PROTO(0) + 112, put_text("@b.lua"), 8); // a new code, whose tables do not agree
	put(PROTO(0) + 96, put_bytes((u32[]){1, 500, 2, 7}, 16), 8);
	check_frame(walk_now(), 1, "function <b.lua:10>", "b.lua", 0);
}

// A coroutine's loop within the program's. Resumed behind a call of C, it has calls that no loop runs.
TEST(coroutines)
{
	start_54();
	put_end(2);
	put_thread(1, CI(0));
	put_thread(0, CI(7));
	put_call(7, ~0u, 0, 0);
	put(CI(7) + 16, CI(3), 8);
	put(CI(3) + 32, CODE(1) + 12, 8);
	regs.r15 = THREAD(1);
	struct RtStack *st = walk_now();
	check_frame(st, 0, "ask", "", 0);
	check_frame(st, 1, "function </src/a.lua:10>", "/src/a.lua", 12);
	CHECK_FRAME(st, 2, TEXT + 0x20);
	check_outer(st, 3);
	put_call(2, ~0u, 0, 0);
	put(CI(2) + 16, CI(8), 8);
	put_call(8, 1, 3, FRESH);
	put_end(9);
	st = walk_now();
	check_frame(st, 1, "function </src/a.lua:10>", "/src/a.lua", 12);
	check_frame(st, 3, "sort", "", 0); // as call 8 names it
	check_frame(st, 4, "function </src/a.lua:20>", "/src/a.lua", 22);
	check_outer(st, 5);
}

TEST(what_does_not_fit_is_counted)
{
	start_54();
	put(CI(0) + 16, 0x77777777, 8);
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	start_54();
	stack[5] = TEXT + 0x210; // a loop is missing
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	start_54();
	put(CLOSURE(0) + 24, 8, 8);
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	start_54();
	put(CI(5) + 16, CI(2), 8); // a circle
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
}

// ---- 5.1: calls lie in an array, the function at hand on the loop's stack
#define OP51(op, a, b, c) ((u32)((op) | (a) << 6 | (c) << 14 | (b) << 23))
#define CI51(i) (HEAP + 0x700 - (i) * 40)

static void put_51(u32 i, u32 fn, u32 next)
{
	put(CI51(i) + 8, VALUE(i), 8);
	put(CI51(i) + 24, CODE(fn) + 4 * next, 8);
	put(CI51(i) + 36, 0, 4);
	put(VALUE(i), CLOSURE(fn), 8);
	put(VALUE(i) + 8, 6, 4);
}

static void put_function_51(u32 i, u32 op, u32 k)
{
	u64 p = PROTO(i), lines[2] = {(u64)(101 + 10 * i) << 32 | (100 + 10 * i), 102 + 10 * i};
	u64 constant[2] = {put_text("ask"), 4};
	memcpy((u8 *)heap + (CODE(i) - HEAP), (u32[]){OP51(op, 1, 0, k), OP51(28, 1, 1, 1)}, 8);
	put(CLOSURE(i) + 10, 0, 1);
	put(CLOSURE(i) + 32, p, 8);
	put(p + 16, put_bytes(constant, 16), 8);
	put(p + 24, CODE(i), 8);
	put(p + 40, put_bytes(lines, 16), 8);
	put(p + 64, put_text("@b.lua"), 8);
	put(p + 80, 2, 4);
	put(p + 96, 10 * (i + 1), 4);
}

static void start_51(void)
{
	start_lua(ROW_51, (struct RtLua){6, 0, 13, 16, .other = 3});
	put(THREAD(0) + 8, 8, 1);
	put(THREAD(0) + 32, GLOBAL, 8);
	put(THREAD(0) + 40, CI51(0), 8);
	put(THREAD(0) + 80, CI51(4), 8);
	put_function_51(0, 5, 0);   // a global
	put_function_51(1, 18, 0);  // an operation
	put_function_51(2, 11, 256); // a method
	put(CLOSURE(3) + 10, 1, 1);
	put(CLOSURE(3) + 32, C_FUNCTION, 8);
	put_51(0, 3, 0); // C, called by
	put_51(1, 0, 2); // called by
	put_51(2, 1, 1); // an operation of another loop's, called by
	put_51(3, 2, 2);
	put_51(4, 3, 0); // the end
	regs.bp = THREAD(0);
	stack[2] = CLOSURE(0);
	stack[4] = THREAD(0);
	stack[8] = CLOSURE(1); // frame 1 is C's, whose sp is STACK + 48
	stack[14] = CLOSURE(1);
}

TEST(version_5_1)
{
	start_51();
	struct RtStack *st = walk_now();
	check_frame(st, 0, "ask", "", 0);
	check_frame(st, 1, "function <b.lua:10>", "b.lua", 101);
	CHECK_FRAME(st, 2, TEXT + 0x20);
	check_frame(st, 3, "ask", "b.lua", 110);
	check_frame(st, 4, "function <b.lua:30>", "b.lua", 121);
	CHECK_EQ(st->n, 6);
	CHECK_EQ(st->why, RT_WHY_OK);
	put(CI51(2) + 36, 1, 4); // called in the place of another
	check_frame(walk_now(), 3, "function <b.lua:20>", "b.lua", 110);
	start_51(); // one that has not begun: where it is says what another one has left there
	put(THREAD(0) + 40, CI51(1), 8);
	put(CI51(1) + 24, CODE(2) + 4, 8);
	check_frame(walk_now(), 0, "function <b.lua:10>", "b.lua", 100);
	put(CI51(1) + 24, HEAP, 8);
	check_frame(walk_now(), 0, "function <b.lua:10>", "b.lua", 100);
	start_51(); // a closure takes its upvalues
	put(THREAD(0) + 40, CI51(1), 8);
	regs.bx = THREAD(0);
	regs.bp = 5;
	st = walk_now();
	check_frame(st, 0, "function <b.lua:10>", "b.lua", 101);
	CHECK_EQ(st->n, 5);
	CHECK_EQ(st->why, RT_WHY_OK);
}

T_MAIN()
#endif
