// Frames of LuaJIT: the program of src/runtime/luajit.c over the made-up memory of a 2.1, and what it makes of what has been copied.
#include "t.h"
#include "runtime/runtime.h"

#if !defined(__x86_64__)
int main(void)
{
	printf("ok 1 luajit # SKIP made-up frames are of x86-64\n1..1\n");
	return 0;
}
#else
#include "walk_fix.h"
#include "lang_frame.h"

// Where things are in the heap
#define THREAD (HEAP + 0x80)
#define LUA_STACK (HEAP + 0x100) // of 64 values
#define BASE(slot) (LUA_STACK + (slot) * 8)
#define FUNC(i) (HEAP + 0x400 + (i) * 0x40)
#define PROTO(i) (HEAP + 0x800 + (i) * 0x100) // its code is behind it
#define CODE(i) (PROTO(i) + 104)
#define CONSTANTS(i) (HEAP + 0x1000 + (i) * 0x40 + 0x40) // downwards
#define TEXTS (HEAP + 0x1400)
#define C_FUNCTION 0x5000
enum { LINK_C = 1, LINK_CONT, LINK_VARARG, LINK_CP = 5, LINK_PCALL };
static u64 texts;
static s32 cur_l, traces_at, state_at; // of the machine

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

static u64 put_text(const char *text)
{
	u64 at = texts;
	texts += 24;
	put_bytes(text, (u32)strlen(text) + 1);
	return at;
}

static u32 abc(u32 op, u32 a, u32 d)
{
	return op | a << 8 | d << 16;
}

// A function in Lua, of lines 10 * (i + 1) and on: one for each instruction, of which the first is the function's head.
static void put_function(u32 i, const u32 *code, u32 n)
{
	static const u8 lines[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	put(FUNC(i) + 9, 8, 1);
	put(FUNC(i) + 10, 0, 1);
	put(FUNC(i) + 32, CODE(i), 8);
	memcpy((u8 *)heap + (CODE(i) - HEAP), code, n * 4);
	put(PROTO(i) + 12, n, 4);
	put(PROTO(i) + 32, CONSTANTS(i), 8);
	put(PROTO(i) + 64, put_text("@/src/a.lua"), 8);
	put(PROTO(i) + 72, 10 * (i + 1), 4);
	put(PROTO(i) + 76, 9, 4);
	put(PROTO(i) + 80, put_bytes(lines, 8), 8);
}

static void put_c_function(u32 i)
{
	put(FUNC(i) + 9, 8, 1);
	put(FUNC(i) + 10, 1, 1);
	put(FUNC(i) + 40, C_FUNCTION + i, 8);
}

// A frame whose first value is that of a slot.
static void put_call(u32 slot, u32 fn, u64 link)
{
	put(BASE(slot) - 16, FUNC(fn) | 0xfffbull << 47, 8);
	put(BASE(slot) - 8, link, 8);
}

// C (0) is called by a function (1), which C (2) calls, which another one (3) calls, the program.
static void start_jit(void)
{
	struct RtUwRule vm = {.kind = RT_UW_LUAVM, .reg = 7, .ra = -8, .off = 48, .index = RT_UW_LANG}, c = vm, root = {.kind = RT_UW_END};
	struct RtLang lang = {.kind = RT_LANG_LUAJIT, .chain = 1, .luajit = {cur_l, traces_at, state_at}};
	struct RtChain chain;
	u32 one = 1;

	start();
	c.index = 0;
	c.kind = RT_UW_REG;
	put_rows((u64[]){UW_ROW(OFF, rule(vm)), UW_ROW(OFF + 0x18, rule(c)), UW_ROW(OFF + 0x100, rule(vm)), UW_ROW(OFF + 0x200, rule(root))}, 4);
	struct RtUwObj *o = bpf_map_lookup_elem(&rt_uw_obj, &one);
	o->lang = 1;
	CHECK(luajit_runtime.chain(&lang, &chain));
	bpf_map_update_elem(&rt_chains, &one, &chain, 0);
	bpf_map_update_elem(&rt_langs, &one, &lang, 0);
	codes_destroy(codes);
	codes = codes_create();
	codes_full = 0;
	texts = TEXTS;
	stack[5] = TEXT + 0x20;	  // frame 1: C
	stack[11] = TEXT + 0x120; // frame 2: the machine once more
	stack[17] = TEXT + 0x210; // the root
	stack[2] = stack[14] = THREAD;
	stack[4] = STACK + 96; // the cframe before
	put(THREAD + 9, 6, 1);
	put(THREAD + 32, BASE(30), 8);
	put(THREAD + 48, BASE(60), 8);
	put(THREAD + 56, LUA_STACK, 8);
	put(THREAD + 80, STACK | 1, 8);
	put_c_function(0);
	put_function(1, (u32[]){abc(89, 2, 0), abc(54, 3, 0), abc(41, 5, 7), abc(66, 3, 2 << 8), abc(75, 0, 1)}, 5);
	put_c_function(2);
	put_function(3, (u32[]){abc(92, 2, 0), abc(57, 1, 0), abc(66, 1, 1), abc(75, 0, 1)}, 4);
	put(CONSTANTS(1) - 8, put_text("ask"), 8);
	put(CONSTANTS(3) - 8, put_text("sort"), 8);
	put_call(30, 0, CODE(1) + 16); // slot 3 and two more
	put_call(25, 1, 8 * 8 | LINK_C);
	put_call(17, 2, CODE(3) + 12);
	put_call(14, 3, 5 * 8 | LINK_VARARG);
	put_call(9, 3, 7 * 8 | LINK_CP);
}

static void check_frame(struct RtStack *st, u32 i, const char *name, const char *file, u32 line)
{
	struct RtCode c;
	check_frame_names(codes, st, i, name, file, &c);
	CHECK_EQ(codes_line(codes, &c, RT_FRAME_POS(st->frames[i])), line);
}

static void check_outer(struct RtStack *st, u32 at)
{
	CHECK_FRAME(st, at, TEXT + 0x20);
	check_frame(st, at + 1, "sort", "", 0);
	check_frame(st, at + 2, "function </src/a.lua:40>", "/src/a.lua", 42);
	CHECK_EQ(st->n, at + 4);
	CHECK_EQ(st->why, RT_WHY_OK);
}

TEST(functions_of_lua_and_of_c)
{
	start_jit();
	regs.dx = 0x99; // the thread's own base counts
	for (u32 again = 0; again < 2; again++) {
		struct RtStack *st = walk_now();
		check_frame(st, 0, "ask", "", 0);
		check_frame(st, 1, "function </src/a.lua:20>", "/src/a.lua", 23);
		check_outer(st, 2);
	}
	regs.dx = BASE(25); // the machine's register is newer
	regs.bx = CODE(1) + 8;
	struct RtStack *st = walk_now();
	check_frame(st, 0, "function </src/a.lua:20>", "/src/a.lua", 21);
	check_outer(st, 1);
	put(BASE(25) - 16, 5, 8); // it has returned a number
	st = walk_now();
	CHECK_EXACT(st, 0, TEXT);
	check_outer(st, 1);
	start_jit(); // it has no link yet, or the register is no base any more: the thread's own is that of C, which has called
	put(THREAD + 32, BASE(17), 8);
	regs.dx = BASE(25);
	for (u32 i = 0; i < 3; i++) {
		put(BASE(25) - 8, (u64[]){~0ull, 8 * 30 | LINK_C, (u64)-16 | LINK_C}[i], 8);
		st = walk_now();
		CHECK_EXACT(st, 0, TEXT);
		check_outer(st, 1);
	}
	for (u32 i = 0; i < 2; i++) { // values lie where its link was; it returns to C, whose frame is so far down, or there
		start_jit();
		put(BASE(25) - 8, ~0ull, 8);
		put(BASE(25), ~0ull, 8);
		regs.dx = BASE(25) + 8 * i;
		regs.bx = i ? BASE(17) : 8 * 8 | LINK_C;
		st = walk_now();
		CHECK_EXACT(st, 0, TEXT);
		check_outer(st, 1);
	}
	start_jit(); // the same of one that returns to a function of Lua, the machine's first
	stack[11] = TEXT + 0x210;
	put(BASE(17) - 8, ~0ull, 8);
	regs.dx = BASE(17);
	regs.bx = CODE(3) + 12;
	st = walk_now();
	check_frame(st, 0, "function </src/a.lua:40>", "/src/a.lua", 42);
	CHECK_EQ(st->n, 3);
	CHECK_EQ(st->why, RT_WHY_OK);
	start_jit(); // the register is an operand
	put(THREAD + 32, BASE(25), 8);
	put(BASE(25), ~0ull, 8);
	regs.dx = BASE(25) + 8;
	regs.bx = CODE(1) + 8;
	st = walk_now();
	check_frame(st, 0, "function </src/a.lua:20>", "/src/a.lua", 21);
	check_outer(st, 1);
	start_jit();
	regs.dx = BASE(25);
	put(BASE(25) - 8, ~0ull, 8);
	put(THREAD + 32, BASE(9), 8); // and nothing of the machine's is left for these: that is said
	stack[11] = TEXT + 0x210;
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
}

// Its return address lies below the machine's frame, which the rule of all of its code does not know of.
TEST(a_piece_that_the_machine_calls)
{
	start_jit();
	for (u32 i = 18; i > 2; i--)
		stack[i] = stack[i - 1];
	stack[0] = TEXT + 8;
	stack[2] = 0;
	stack[5] = STACK + 104;
	put(THREAD + 80, (STACK + 8) | 1, 8);
	regs.dx = 0x99;
	struct RtStack *st = walk_now();
	check_frame(st, 0, "ask", "", 0);
	check_frame(st, 1, "function </src/a.lua:20>", "/src/a.lua", 23);
	check_outer(st, 2);
	put(THREAD + 80, (STACK + 16) | 1, 8); // no frame of the thread's
	CHECK(walk_now()->why != RT_WHY_OK);
}

TEST(names)
{
	start_jit();
	put_function(1, (u32[]){abc(89, 2, 0), abc(45, 3, 1), abc(41, 5, 7), abc(66, 3, 2 << 8)}, 4);
	put(PROTO(1) + 88, put_bytes("one\0two", 8), 8);
	check_frame(walk_now(), 0, "two", "", 0);
	start_jit();
	put_function(1, (u32[]){abc(89, 2, 0), abc(18, 3, 1), abc(41, 5, 7), abc(66, 3, 2 << 8)}, 4);
	put(PROTO(1) + 96, put_bytes("first\0\0\5\1\0\5other\0\0\1second\0\0\4", 29), 8);
	check_frame(walk_now(), 0, "?", "", 0); // register 1 is a loop's own variable: alive from 0 to 5
	put(PROTO(1) + 64, put_text("@b.lua"), 8);
	start_jit();
	put_function(1, (u32[]){abc(89, 2, 0), abc(18, 3, 1), abc(41, 5, 7), abc(66, 3, 2 << 8)}, 4);
	put(PROTO(1) + 96, put_bytes("first\0\0\5other\0\0\1second\0\0\4", 26), 8);
	check_frame(walk_now(), 0, "second", "", 0);
	start_jit();
	put_function(1, (u32[]){abc(89, 2, 0), abc(32, 3, 0), abc(41, 5, 7), abc(32, 3, 2 << 8)}, 4);
	check_frame(walk_now(), 0, "__add", "", 0);
	start_jit();
	put_function(1, (u32[]){abc(89, 2, 0), abc(66, 3, 0), abc(41, 5, 7), abc(66, 3, 2 << 8)}, 4); // of what a call returns
	check_frame(walk_now(), 0, "?", "", 0);
}

TEST(a_metamethod_that_the_machine_calls)
{
	start_jit();
	put_call(30, 0, 5 * 8 | LINK_CONT);
	put(BASE(30) - 24, CODE(1) + 8, 8);
	struct RtStack *st = walk_now();
	check_frame(st, 0, "__index", "", 0);
	check_frame(st, 1, "function </src/a.lua:20>", "/src/a.lua", 21);
	check_outer(st, 2);
}

TEST(what_does_not_fit_is_counted)
{
	start_jit();
	stack[5] = TEXT + 0x210; // one of the machine's frames is missing
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	start_jit();
	put(BASE(9) - 16, THREAD + 0x40, 8);
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	start_jit();
	put(BASE(30) - 8, CODE(3) + 0x4000, 8);
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	start_jit();
	put(BASE(17) - 8, LINK_PCALL, 8); // nowhere down
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	start_jit();
	put(THREAD + 80, 0, 8); // the thread is not the machine's

	struct RtStack *st = walk_now();
	CHECK_EXACT(st, 0, TEXT);
	CHECK_EQ(st->n, 4);
}

// A trace runs on the machine's frame (STACK + 96), lowered by some; r14 leads to the thread, with the trace's base behind it.
static void start_trace(void)
{
	cur_l = -8;
	start_jit();
	cur_l = 0;
	struct RtUwRule vm = {.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 48, .index = RT_UW_LANG}, t = vm, root = {.kind = RT_UW_END};
	t.kind = RT_UW_LUAJIT;
	t.reg = 14;
	t.off = -8;
	t.off2 = 48;
	put_rows((u64[]){UW_ROW(OFF, rule(t)), UW_ROW(OFF + 0x200, rule(root))}, 2);
	u32 one = 1;
	struct RtUwObj *o = bpf_map_lookup_elem(&rt_uw_obj, &one);
	o->lang = 1;
	regs.r14 = HEAP + 0x48;
	put(HEAP + 0x40, THREAD, 8);
	put(HEAP + 0x48, BASE(14), 8);
	put(THREAD + 80, (STACK + 96) | 1, 8);
	stack[14] = THREAD;
	regs.sp = STACK + 40;
}

static void check_cut(void) // the program's frames or the machine's cannot be told
{
	u32 why = walk_now()->why;
	CHECK(why == RT_WHY_BAD_READ || why == RT_WHY_LANG);
}

TEST(traces)
{
	start_trace();
	for (u32 again = 0; again < 2; again++) {
		struct RtStack *st = walk_now();
		check_frame(st, 0, "function </src/a.lua:40>", "/src/a.lua", 0); // where it is in it nobody says
		CHECK_EQ(st->n, 2);
		CHECK_EQ(st->why, RT_WHY_GUESS_INLINED);
	}
	put(HEAP + 0x48, 0, 8); // it has been left: the machine's frame says where the function is
	regs.sp = STACK + 96;
	check_frame(walk_now(), 0, "ask", "", 0);
	start_trace();
	stack[14] = THREAD + 8; // the frame is another thread's
	check_cut();
	start_trace();
	regs.sp = STACK + 104; // it is further in
	check_cut();
	start_trace();
	put(HEAP + 0x40, 8, 8);
	check_cut();
}

// The machine leaves a trace: its registers are on the stack, the thread's base is that of the function.
TEST(a_trace_is_left)
{
	struct RtUwRule vm = {.kind = RT_UW_LUAVM, .reg = 7, .ra = -8, .off = 48, .off2 = -8, .index = RT_UW_LANG}, root = {.kind = RT_UW_END};
	start_trace();
	put(HEAP + 0x48, 0, 8);
	put_rows((u64[]){UW_ROW(OFF, rule(vm)), UW_ROW(OFF + 0x200, rule(root))}, 2);
	u32 one = 1;
	struct RtUwObj *o = bpf_map_lookup_elem(&rt_uw_obj, &one);
	o->lang = 1;
	put(THREAD + 32, BASE(14), 8);
	regs.dx = BASE(30);
	struct RtStack *st = walk_now();
	check_frame(st, 0, "function </src/a.lua:40>", "/src/a.lua", 0);
	CHECK_EQ(st->n, 2);
	CHECK_EQ(st->why, RT_WHY_OK);
	stack[14] = THREAD + 8; // the frame is another thread's
	CHECK(walk_now()->n != 2);
}

// The trace at TEXT - 16 began in function 3 and has taken function 1 into it. Its first snapshot is of function 3 alone, the second begins at `code` bytes.
#define TRACE (HEAP + 0x1a00)
#define SNAPS (HEAP + 0x1a80)
#define ENTRIES (HEAP + 0x1ac0)
#define TRACES (HEAP + 0x1b00)
#define IR(ref) (HEAP + 0x1c00 + (ref) * 8ull - 0x8000 * 8) // below 0x8000 constants, of two words
enum { K_FUNC = 0x7ff0, K_LINK = 0x7ff2, LOADED = 0x8001 };

// The trace's own instructions: four behind each snapshot.
#define AFTER(i) (0x8004ull + (i) * 4)
enum { IS_CHECK = 0x80 };

static void put_ir(u64 ref, u32 op, u32 type)
{
	put(IR(ref) + 4, type | op << 8, 2);
}

static void put_snapshot(u32 i, u32 code, u32 first, u32 n, u64 pc, u32 slots)
{
	put(SNAPS + i * 12ull, first, 4);
	put(SNAPS + i * 12ull + 4, AFTER(i), 2);
	put(SNAPS + i * 12ull + 6, code, 2);
	put(SNAPS + i * 12ull + 10, n, 1);
	put(ENTRIES + (first + n) * 4ull, pc << 8 | slots, 8);
}

static void start_inlined(u32 code)
{
	traces_at = 8;
	state_at = 16;
	start_trace();
	traces_at = state_at = 0;
	put(HEAP + 0x50, TRACES, 8);
	put(HEAP + 0x58, 2, 4);
	put(HEAP + 0x5c, 0xdead, 4); // another word
	put(TRACES + 16, TRACE, 8);
	put(TRACE + 10, 2, 2);
	put(TRACE + 12, AFTER(2), 4);
	put(TRACE + 32, IR(0), 8);
	put(TRACE + 40, 0x8000, 4); // no constants that matter
	put(TRACE + 48, SNAPS, 8);
	put(TRACE + 56, ENTRIES, 8);
	put(TRACE + 84, 0x40, 4);
	put(TRACE + 88, TEXT - 16, 8);
	put(IR(K_FUNC) + 8, FUNC(1), 8);
	put(IR(K_LINK) + 8, CODE(3) + 12, 8);
	put(IR(LOADED), 3 << 16 | 5, 4); // SLOAD of slot 5
	put_ir(LOADED, 71, 8);
	put(BASE(14) - 16 + 5 * 8, FUNC(1) | 0xfffbull << 47, 8);
	put_snapshot(0, 0, 0, 0, CODE(3) + 4, 0);
	put(ENTRIES + 8, 3 << 24 | K_FUNC, 4);
	put(ENTRIES + 12, 4u << 24 | 1 << 16 | K_LINK, 4); // a frame
	put(ENTRIES + 16, 6 << 24 | LOADED, 4);
	put_snapshot(1, code, 2, 3, CODE(1) + 4, 3);
}

static void check_its_function(u32 line, u32 why)
{
	struct RtStack *st = walk_now();
	check_frame(st, 0, "function </src/a.lua:40>", "/src/a.lua", line);
	CHECK_EQ(st->n, 2);
	CHECK_EQ(st->why, why);
}

static void check_outer_only(u32 line)
{
	check_its_function(line, RT_WHY_GUESS_INLINED);
}

TEST(functions_in_a_trace)
{
	start_inlined(16); // as far as the place at hand is in the trace
	for (u32 again = 0; again < 2; again++) {
		struct RtStack *st = walk_now();
		check_frame(st, 0, "sort", "/src/a.lua", 21);
		check_frame(st, 1, "function </src/a.lua:40>", "/src/a.lua", 42);
		CHECK_EQ(st->n, 3);
		CHECK_EQ(st->why, RT_WHY_GUESS_INLINED);
	}
	put(ENTRIES + 8, 3 << 24 | LOADED, 4); // a function that the program has made
	check_frame(walk_now(), 0, "sort", "/src/a.lua", 21);
	put(ENTRIES + 8, 3 << 24 | 0x40000 | LOADED, 4); // what is in its place already
	put(BASE(14) - 16 + 3 * 8, FUNC(1) | 0xfffbull << 47, 8);
	check_frame(walk_now(), 0, "sort", "/src/a.lua", 21);
}

// One of many closures, loaded from a table: the trace has checked whose prototype it has.
TEST(a_closure_in_a_trace)
{
	for (u32 i = 0; i < 4; i++) {
		start_inlined(16);
		put(ENTRIES + 8, 3 << 24 | (LOADED + 1), 4);
		put_ir(LOADED + 1, 67, 8);
		put(IR(LOADED + 2), 2 << 16 | (LOADED + (i == 1 ? 3 : 1)), 4); // of another one
		put_ir(LOADED + 2, i == 2 ? 70 : 69, 9);
		put(IR(LOADED + 3), K_FUNC << 16 | (LOADED + 2), 4);
		put_ir(LOADED + 3, i == 3 ? 9 : 8, 9); // or no check
		put(IR(K_FUNC) + 8, CODE(1), 8);
		struct RtStack *st = walk_now();
		if (!i)
			check_frame(st, 0, "sort", "/src/a.lua", 21);
		else
			check_frame(st, 0, "function </src/a.lua:40>", "/src/a.lua", 0);
		CHECK_EQ(st->why, RT_WHY_GUESS_INLINED);
	}
}

// The first snapshot's code: its function calls the second one's, and does nothing else before.
TEST(sure_up_to_a_call)
{
	start_inlined(17);
	check_its_function(41, RT_WHY_OK);
	start_inlined(17);
	put(CODE(3) + 4, abc(50, 0, 0), 4); // an instruction that may go elsewhere
	check_outer_only(41);
	start_inlined(17);
	put(CODE(3) + 8, abc(57, 1, 0), 4); // no call before the return
	check_outer_only(41);
	start_inlined(17);
	put_snapshot(1, 17, 2, 3, CODE(1) + 8, 3); // not the beginning of what is called
	check_outer_only(41);
}

// Where another call by the same register follows the first one may have returned.
TEST(not_sure_which_call)
{
	start_inlined(17);
	put(CODE(3) + 12, abc(66, 1, 1), 4);
	check_outer_only(41);
	start_inlined(17);
	put_snapshot(1, 17, 2, 3, CODE(1) + 4, 4); // a frame further up
	check_outer_only(41);
}

// A trace may have taken a metamethod into it if its constants tell where one goes on, in the machine: where its first instruction's code is.
TEST(operators)
{
	for (u32 i = 0; i < 3; i++) {
		start_inlined(17);
		put(TRACE + 40, i == 2 ? 0x7e00 : 0x7ffe, 4); // or too many constants to look at
		put_ir(0x7ffe, 28, 0);
		put(IR(0x7ffe) + 8, BASE(14) + 0x100000 - (i == 1), 8); // here the machine is where the word behind the thread leads
		check_its_function(41, i ? RT_WHY_GUESS_INLINED : RT_WHY_OK);
	}
}

// It has more instructions than the first one, or calls, but no constant that is a function in Lua.
TEST(sure_where_nothing_in_lua_can_be_called)
{
	for (u32 i = 0; i < 3; i++) {
		start_inlined(17);
		put_snapshot(1, 17, 2, 0, CODE(3) + 12, 0);
		put(TRACE + 40, 0x7ffe, 4);
		put_ir(0x7ffe, 24, i == 1 ? 7 : 8);
		put(IR(0x7ffe) + 8, i == 2 ? FUNC(1) : FUNC(0), 8);
		check_its_function(41, i ? RT_WHY_GUESS_INLINED : RT_WHY_OK); // the second is a prototype
	}
}

// Behind a jump the next snapshot would be the jump's, and one at the same place as the first is met again.
TEST(a_place_that_is_met_again)
{
	for (u32 i = 0; i < 3; i++) {
		start_inlined(17);
		put(TRACE + 40, 0x7e00, 4);
		put(CODE(3) + 4, i == 1 ? abc(88, 0, 0x8001) : abc(18, 0, 1), 4);
		put(CODE(3) + 8, abc(18, 0, 1), 4);
		put_snapshot(1, 17, 2, 0, CODE(3) + (i == 2 ? 4 : 12), 0);
		check_its_function(41, i ? RT_WHY_GUESS_INLINED : RT_WHY_OK);
	}
}

// Nothing but a move lies before the first one's return: its caller is at work.
TEST(a_function_that_returns_first_is_left)
{
	for (u32 i = 0; i < 2; i++) {
		start_inlined(17);
		put_snapshot(0, 0, 2, 3, CODE(1) + 12, 3);
		put(CODE(1) + 12, abc(i ? 54 : 41, 0, 0), 4);
		put_snapshot(1, 17, 0, 0, CODE(3) + 12, 0);
		struct RtStack *st = walk_now();
		if (i) // GGET: that is the function's own
			check_frame(st, 0, "sort", "/src/a.lua", 23);
		check_frame(st, i, "function </src/a.lua:40>", "/src/a.lua", 42);
		CHECK_EQ(st->n, i + 2);
		CHECK_EQ(st->why, RT_WHY_OK);
	}
}

// Its guard is all that lies between the two. The first snapshot of a trace is never one.
static void start_comparison(void)
{
	start_inlined(8);
	put(CODE(3) + 4, abc(0, 1, 2), 4);
	put(CODE(3) + 8, abc(88, 0, 0x8001), 4); // on behind the next one
	put(TRACE + 10, 3, 2);
	put_snapshot(1, 8, 2, 0, CODE(3) + 16, 0);
	put_snapshot(2, 17, 2, 0, CODE(3) + 12, 0);
	put(ENTRIES + 8, (CODE(3) + 16) << 8, 8);
	put(SNAPS + 24, 4, 4);
	put(ENTRIES + 16, (CODE(3) + 12) << 8, 8);
	put(SNAPS + 28, AFTER(1) + 1, 2);
	put_ir(AFTER(1), 0, IS_CHECK);
	put(PROTO(3) + 12, 5, 4);
}

TEST(outcomes_of_a_comparison)
{
	start_comparison();
	check_its_function(42, RT_WHY_OK);
	put(SNAPS + 28, AFTER(2), 2); // more than a comparison is of
	put_ir(AFTER(1) + 3, 0, IS_CHECK);
	put(TRACE + 40, 0x7e00, 4);
	check_its_function(44, RT_WHY_GUESS_INLINED);
	start_comparison();
	put(CODE(3) + 4, abc(57, 1, 2), 4); // no comparison's jump
	put(TRACE + 40, 0x7e00, 4);
	check_its_function(44, RT_WHY_GUESS_INLINED);
}

TEST(behind_the_last_snapshot)
{
	start_inlined(16);
	put_ir(AFTER(1), 19, 0); // what a loop carries over, and nothing else
	put(TRACE + 12, AFTER(1) + 1, 4);
	struct RtStack *st = walk_now();
	check_frame(st, 0, "sort", "/src/a.lua", 21);
	CHECK_EQ(st->n, 3);
	CHECK_EQ(st->why, RT_WHY_OK);
	put(TRACE + 84, 21, 4); // its last jump, to another trace, whose base is set
	put(TRACE + 106, 1, 2);
	put(HEAP + 0x48, BASE(17), 8);
	st = walk_now();
	check_frame(st, 0, "sort", "/src/a.lua", 21);
	check_frame(st, 1, "function </src/a.lua:40>", "/src/a.lua", 42);
	CHECK_EQ(st->n, 3);
	CHECK_EQ(st->why, RT_WHY_OK);
	put(TRACE + 84, 24, 4); // it may be set or not
	CHECK_EQ(walk_now()->why, RT_WHY_GUESS_INLINED);
}

// The machine has no trace's number while one collects garbage, and the one before's where one begins.
TEST(by_the_place)
{
	for (u32 i = 0; i < 3; i++) {
		start_inlined(17);
		put(CODE(3) + 4, abc(50, 0, 0), 4); // not sure
		put(HEAP + 0x58, (u64[]){2, 1, 0xfffffffd}[i], 4);
		check_its_function(41, i ? RT_WHY_OK : RT_WHY_GUESS_INLINED);
	}
	for (u32 i = 0; i < 2; i++) {
		start_inlined(16);
		put(HEAP + 0x58, 0xfffffffd, 4);
		put_ir(AFTER(1), i ? 17 : 18, 0); // a loop's begin, or not
		struct RtStack *st = walk_now();
		check_frame(st, 0, "sort", "/src/a.lua", 21);
		CHECK_EQ(st->why, i ? RT_WHY_OK : RT_WHY_GUESS_INLINED);
	}
	put(TRACES + 16, 0, 8);
	check_outer_only(0);
}

TEST(what_no_snapshot_tells)
{
	start_inlined(16);
	put(IR(K_FUNC) + 8, FUNC(3), 8); // it has not the instruction at hand
	check_outer_only(0);
	put(IR(K_FUNC) + 8, TRACE, 8); // no function
	check_outer_only(0);
	start_inlined(16);
	put(ENTRIES + 8, 2 << 24 | K_FUNC, 4); // nothing in its slot
	check_outer_only(0);
	start_inlined(16);
	put(ENTRIES + 12, 4u << 24 | 1 << 16 | LOADED, 4); // a link that is no constant
	put(BASE(14) - 16 + 5 * 8, CODE(3) + 0x4000, 8);
	CHECK_EQ(walk_now()->why, RT_WHY_LANG);
	start_inlined(16);
	put(HEAP + 0x58, 0xfffffffe, 4); // no trace is at work
	check_outer_only(0);
	start_inlined(16);
	put(TRACE + 84, 16, 4); // the place is behind it
	check_outer_only(0);
	put(TRACE + 84, 22, 4);
	check_frame(walk_now(), 0, "sort", "/src/a.lua", 21);
	put(TRACE + 10, 0, 2);
	check_outer_only(0);
	put(TRACES + 16, 0, 8);
	check_outer_only(0);
}

T_MAIN()
#endif
