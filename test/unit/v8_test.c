// Frames of V8's compiled code: bpfrt/v8jit.bpf.c and v8leaf.bpf.c over the made-up memory of an isolate with one piece of optimised code, into which two functions were put.
#include "t.h"
#include "runtime/runtime.h"

#if !defined(__x86_64__)
int main(void)
{
	printf("ok 1 v8 # SKIP made-up frames are of x86-64\n1..1\n");
	return 0;
}
#else
#include "walk_fix.h"
#include "v8_fix.h"

static const char *text_of(u64 frame)
{
	static char text[64];
	struct RtCode c;
	if (!RT_FRAME_IS_LANG(frame) || !codes_get(codes, RT_FRAME_CODE(frame), &c))
		return "none";
	snprintf(text, sizeof(text), "%.*s %u", c.name_len, (const char *)c.name, (unsigned)RT_FRAME_POS(frame));
	return text;
}

// The stack's functions, the innermost first, and whether it counts as whole.
static const char *functions(void)
{
	static char text[256];
	struct RtStack *st = walk_now();
	int n = 0;
	text[0] = 0;
	for (u32 i = 0; i < st->n; i++)
		if (RT_FRAME_IS_LANG(st->frames[i]))
			n += snprintf(text + n, sizeof(text) - (size_t)n, "%s; ", text_of(st->frames[i]));
	snprintf(text + n, sizeof(text) - (size_t)n, "%s", st->why == RT_WHY_OK ? "whole" : st->why == RT_WHY_GUESS_INLINED ? "guess" : "cut");
	return text;
}

TEST(functions_that_were_put_into_others)
{
	start_v8();
	for (u32 i = 0; i < 3; i++) // made, found by what they are, found by their place
		CHECK_STR(functions(), "inner 102; middle 102; outer 102; whole");
	stack[0] = START + 0x20; // the place that the other one leans on
	CHECK_STR(functions(), "inner 1; middle 102; outer 102; whole");
}

TEST(code_that_its_function_does_not_have)
{
	start_v8();
	put64(JSFUNCTION + 48, 0); // compiled for a loop that was running
	CHECK_STR(functions(), "inner 102; middle 102; outer 102; whole");
	start_v8();
	put64(JSFUNCTION + 48, 0);
	put64(START - 56, 0); // nor is it found
	CHECK_STR(functions(), "outer 0; guess");
}

TEST(places_that_say_nothing)
{
	start_v8();
	stack[0] = START + 0x60;
	CHECK_STR(functions(), "outer 0; guess");
	CHECK_STR(functions(), "outer 0; guess"); // as it was remembered
	start_v8();
	stack[0] = START + 0x60;
	put64(DATA + 16 + 8 * 1, 0); // nothing was put into it
	CHECK_STR(functions(), "outer 0; whole");
}

// The thread is in the code itself: the frame is there, not yet, or no more.
TEST(the_innermost_frame)
{
	static const struct {
		u64 off;
		u32 words; // on the stack above the return address
		bool fp;   // still the caller's
	} places[] = {{0, 0, true}, {8, 0, true}, {9, 1, true}, {0x0c, 0, false}, {0x30, 0, false}, {0x83, 0, false}, {0x84, 0, true}, {0x88, 0, true}, {0x8a, 0, true}, {0x8d, 0, true},
		       {0x96, 0, false}, {0x98, 0, false}, {0xb3, 0, false}, {0xb4, 0, true}, {0xb7, 0, false}, {0xb8, 0, false}, {0xbc, 0, true}, {0xbd, 0, false}, {0xc8, 0, false}};
	start_v8();
	put64(DATA + 16 + 8 * 1, 0);
	for (u32 i = 0; i < ARRAY_LEN(places); i++) {
		regs.ip = START + places[i].off;
		regs.sp = places[i].fp ? STACK + 8 * 30 : FP - 24;
		regs.bp = places[i].fp ? STACK + 8 * 50 : FP;
		stack[30] = stack[31] = 0;
		stack[30 + places[i].words] = TEXT + 0x210;
		CHECK_STR(functions(), "outer 0; whole");
		CHECK_EQ(walk_now()->n, 2);
	}
}

// The thread is in the code itself, at START + off.
static const char *functions_at(u64 off)
{
	regs.ip = START + off;
	regs.sp = FP - 24;
	regs.bp = FP;
	return functions();
}

static void by_positions(void)
{
	start_v8();
	put_positions(5);
	for (u32 i = 0; i < 2; i++) { // the table was looked through, it is known
		CHECK_STR(functions_at(0x2f), "outer 11; whole");
		CHECK_STR(functions_at(0x30), "middle 21; outer 12; whole");
		CHECK_STR(functions_at(0x3a), "inner 31; middle 22; outer 12; whole");
		CHECK_STR(functions_at(0x64), "outer 41; whole");
		put_positions_from(1, 5);
		CHECK_STR(functions_at(0x20), "outer 0; whole"); // where the code begins
		put_positions(5);
	}
	start_v8();
	put_positions(5);
	stack[0] = START + 0x60; // a call of which the code's other records say nothing
	CHECK_STR(functions(), "inner 31; middle 22; outer 12; whole");
	start_v8();
	put_positions(4); // of the calls alone, of which there are three: what lies between is not told
	CHECK_STR(functions_at(0x3a), "outer 0; guess");
	start_v8();
	put_positions(5);
	put64(INLINED + 8, 16ull << 32); // there is no second one
	CHECK_STR(functions_at(0x30), "middle 21; outer 12; whole");
	CHECK_STR(functions_at(0x3a), "outer 0; guess");
	start_v8();
	put_positions(5);
	put64(POSITIONS + 8, 8000ull << 32); // it ends where nothing can be read
	CHECK_STR(functions_at(0x74), "outer 0; guess");
	start_v8();
	put_positions(5);
	put64(INLINED + 16 + 16, PLACE(21, 2)); // it was put into itself
	CHECK_STR(functions_at(0x3a), "outer 0; guess");
}

TEST(functions_by_the_codes_positions)
{
	by_positions();
	newer = true;
	by_positions();
	newer = false;
}

TEST(instructions_that_make_no_sense)
{
	static const u8 bad[][8] = {{NOTHING}, {BEGIN, 0, 6, 6, 0xff, 0xff}, {BEGIN, 0, 6, 6, BEGIN, 0, 6, 6}, {BEGIN, 0, 6, 6, MATCH, 9}, {BEGIN, 0, 6, 0x81, 0x80, 0x80, 4},
				    {BEGIN, 0x80, 0x80, 1, 6, 6}, {BEGIN, 0, 6, 6, 8}, {BEGIN, 0, 6, 6, FUNC, 2, 0xfe, 0x7f}};
	for (u32 i = 0; i < ARRAY_LEN(bad); i++) {
		start_v8();
		put(PLACES + 16, bad[i], 8);
		put64(DATA + 16 + 8 * 12, 0);
		put64(DATA + 16 + 8 * 15, 0);
		put64(DATA + 16 + 8 * 5, (200ull + i) << 32);
		struct RtStack *st = walk_now();
		CHECK(st->why == RT_WHY_GUESS_INLINED || st->why == RT_WHY_OK);
		CHECK(st->n >= 3);
	}
}
// 13.6 and 14.6: functions have no Code, tables another head, the function made is in an object, positions have flags.
TEST(newer_versions)
{
	newer = true;
	start_v8();
	for (u32 i = 0; i < 3; i++)
		CHECK_STR(functions(), "inner 102; middle 102; outer 102; whole");
	stack[0] = START + 0x20;
	CHECK_STR(functions(), "inner 1; middle 102; outer 102; whole");
	start_v8();
	stack[0] = START + 0x60;
	CHECK_STR(functions(), "outer 0; guess");
	start_v8();
	stack[0] = START + 0x60;
	put64(LITERALS + 0x48, 0); // it is not there
	CHECK_STR(functions(), "guess");
	newer = false;
}
T_MAIN()
#endif
