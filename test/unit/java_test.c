// How frames of HotSpot's compiled code are left: bpfrt/java.bpf.c over the made-up memory of a VM with two pieces of code, a method and a stub. Frames of methods are not
// asked for (ustack(native)), so what is seen is each frame's place.
#include "t.h"
#include "runtime/runtime.h"

#if !defined(__x86_64__)
int main(void)
{
	printf("ok 1 java # SKIP made-up frames are of x86-64\n1..1\n");
	return 0;
}
#else
#include "walk_fix.h"

// A heap of code from LOW on, in segments of 128 bytes: a method of 4, its code from the second on; a stub of 4.
#define SEGMAP (HEAP + 0x300)
#define LOW (HEAP + 0x400)
#define METHOD_CODE (LOW + 0x80)
#define STUB (LOW + 0x200)
#define STUB_CODE (STUB + 0x80)
#define NAMES (HEAP + 0x900)
#define BLOCK 16
#define FRAME_BYTES 48
static const struct RtJava java = {.block = BLOCK, .b_name = 24, .b_size = 32, .b_frame = 36, .b_complete = 40, .b_code = 48, .n_method = 56, .n_deopt = 64, .n_orig_pc = 72,
				   .n_id = 80, .n_pcs = 84, .n_pcs_end = 88, .n_scopes = 96, .n_meta = 104, .n_size = 112};

static void put(u64 at, const void *p, u32 n)
{
	memcpy((u8 *)heap + (at - HEAP), p, n);
}

static void put32(u64 at, u32 v)
{
	put(at, &v, 4);
}

static void put64(u64 at, u64 v)
{
	put(at, &v, 8);
}

static void put_blob(u64 at, u64 name, u32 frame_words, u64 code)
{
	put64(at, 4);
	put64(at + 8, 1);
	put64(at + java.b_name, name);
	put32(at + java.b_size, 0x200 - BLOCK);
	put32(at + java.b_frame, frame_words);
	put32(at + java.b_complete, 16);
	put64(at + java.b_code, code);
}

// The thread: in the method, 64 bytes into its code, called by the method itself, which C's rule for TEXT ends.
static void start_java(void)
{
	struct RtLang lang = {.kind = RT_LANG_JAVA, .java = java};
	struct RtJvm jvm = {.lang = 1, .serial = 7, .heap = {{LOW, 0x400, SEGMAP, 7}}};
	u32 one = 1, tgid = 77;

	start();
	put_rows((u64[]){UW_ROW(OFF, rule(end_rule))}, 1);
	bpf_map_update_elem(&rt_langs, &one, &lang, 0);
	bpf_map_update_elem(&rt_jvms, &tgid, &jvm, 0);
	put(SEGMAP, (u8[]){0, 1, 2, 3, 0, 1, 2, 3}, 8);
	put(NAMES, "nmethod", 8);
	put(NAMES + 16, "StubRoutines (compiler stubs)", 30);
	put_blob(LOW, NAMES, FRAME_BYTES / 8, METHOD_CODE);
	put64(LOW + java.n_method, HEAP + 0xa00);
	put32(LOW + java.n_id, 3);
	put_blob(STUB, NAMES + 16, 0, STUB_CODE);
	memset((u8 *)heap + (METHOD_CODE - HEAP), 0x90, 0x100);
	memset((u8 *)heap + (STUB_CODE - HEAP), 0x90, 0x100);
	put(METHOD_CODE + 0x3b, "\xe8", 1); // a call before METHOD_CODE + 0x40
	regs.ip = METHOD_CODE + 0x40;
	regs.bp = HEAP;
	stack[5] = METHOD_CODE + 0x40; // frame: six words, its caller's frame pointer in the fifth
	stack[11] = TEXT + 0x20;
}

static struct RtStack *walk_java(void)
{
	struct RtStack *st = result(rt_ustack(NULL, 0, RT_SRC_TP | RT_SRC_F_NATIVE));
	return st ? st : &none;
}

static u64 place(u64 frame)
{
	return RT_FRAME_ADDR(frame);
}

static void check_java(u64 leaf, u32 n)
{
	struct RtStack *st = walk_java();
	CHECK_EQ(st->n, n);
	CHECK_EQ(place(st->frames[0]), leaf);
	for (u32 i = 1; i + 1 < n; i++)
		CHECK_EQ(place(st->frames[i]), METHOD_CODE + 0x40);
}

TEST(compiled_code_by_the_size_of_its_frame)
{
	start_java();
	check_java(METHOD_CODE + 0x40, 2); // C does not call methods: the last caller is none of theirs
	stack[11] = METHOD_CODE + 0x40;
	check_java(METHOD_CODE + 0x40, 3);
}

// In the middle of a comparison of strings C2's code has pushed a word: at the frame's end lies what the caller had in its frame pointer.
TEST(a_word_that_compiled_code_has_pushed)
{
	start_java();
	stack[5] = 0xd2bb2b2f; // an object's address
	stack[6] = METHOD_CODE + 0x40;
	stack[12] = METHOD_CODE + 0x40;
	check_java(METHOD_CODE + 0x40, 3);
	stack[6] = 1;
	check_java(METHOD_CODE + 0x40, 1); // cut, and no caller made up
	CHECK_EQ(walk_java()->why, RT_WHY_BAD_CFA);
}

// A stub without a frame of its own: the frame pointer is that of a caller further out.
TEST(a_stub_returns_to_who_called_it)
{
	start_java();
	u64 *sp = stack + 16; // what lies below is read, too
	regs.sp = STACK + 8 * 16;
	regs.ip = STUB_CODE + 0x40;
	regs.bp = regs.sp + 8 * 30;
	sp[2] = 5;
	sp[3] = METHOD_CODE + 0x40;
	sp[4 + 5] = METHOD_CODE + 0x40;
	sp[31] = METHOD_CODE + 0x40; // beside it, what a walk by the frame pointer would find
	check_java(STUB_CODE + 0x40, 3);
	regs.bp = regs.sp + 8 * 2; // its own: the word above is where it returns to
	check_java(STUB_CODE + 0x40, 3);
	sp[3] = ~0ull; // the barrier at a method's entry: a word more
	sp[4] = METHOD_CODE + 0x40;
	sp[5 + 5] = METHOD_CODE + 0x40;
	check_java(STUB_CODE + 0x40, 3);
	put32(STUB + java.b_frame, 0xffffffff); // of no size, as JDK 25 says it
	check_java(STUB_CODE + 0x40, 3);
}

// What is remembered of a place: another piece of code there is another.
TEST(places_remembered)
{
	start_java();
	stack[11] = METHOD_CODE + 0x40;
	check_java(METHOD_CODE + 0x40, 3);
	put(SEGMAP, (u8[]){0xff, 0xff, 0xff, 0xff}, 4); // without its map the code is not found: only what is remembered
	check_java(METHOD_CODE + 0x40, 3);
	put32(LOW + java.n_id, 4); // compiled anew, with a frame two words larger
	put32(LOW + java.b_frame, FRAME_BYTES / 8 + 2);
	check_java(METHOD_CODE + 0x40, 1);
	put(SEGMAP, (u8[]){0, 1, 2, 3}, 4);
	stack[5] = stack[11] = 0;
	stack[7] = METHOD_CODE + 0x40;
	check_java(METHOD_CODE + 0x40, 2);
	put64(LOW + java.n_method, HEAP + 0xb00); // another method at the same place
	put32(LOW + java.b_frame, FRAME_BYTES / 8);
	stack[5] = METHOD_CODE + 0x40;
	check_java(METHOD_CODE + 0x40, 2);
}

// Numbers that make no sense end the stack, and are read nowhere outside.
TEST(hostile_values)
{
	static const u32 sizes[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x20000, 0x10000};
	for (u32 i = 0; i < ARRAY_LEN(sizes); i++) {
		start_java();
		put32(LOW + java.n_id, 100 + i);
		put32(LOW + java.b_frame, sizes[i]);
		check_java(METHOD_CODE + 0x40, 1);
	}
	for (u32 i = 0; i < 6; i++) {
		start_java();
		put32(LOW + java.n_id, 200 + i);
		if (i == 0)
			put(SEGMAP, (u8[]){0, 200}, 2); // further back than there is
		else if (i == 1)
			put(SEGMAP, (u8[]){3, 1, 1, 1}, 4);
		else if (i == 2)
			put64(LOW + java.b_name, ~0ull);
		else if (i == 3)
			put32(LOW + java.b_size, 1);
		else if (i == 4)
			regs.sp = ~0ull - 8;
		else
			regs.sp = STACK + 8 * (WORDS - 3);
		CHECK_EQ(walk_java()->n, 1);
	}
}
T_MAIN()
#endif
