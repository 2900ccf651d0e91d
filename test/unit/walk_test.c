// The kernel side of stacks on the host: the walker on recorded and made-up memory, the searches, interning, trimming.
#include "t.h"
#include <execinfo.h>
#include <fcntl.h>
#include <ucontext.h>

#if !defined(__x86_64__)
int main(void)
{
	printf("ok 1 walk # SKIP made-up frames are of x86-64\n1..1\n");
	return 0;
}
#else
#include "walk_fix.h"
#include "stack/internal.h"
#define sys_map_update(fd, ...) bpf_map_update_elem(&rt_uw_maps, __VA_ARGS__) // chunks.c writes into the host's map
#define sys_map_delete(fd, ...) bpf_map_delete_elem(&rt_uw_maps, __VA_ARGS__)
#include "track/chunks.c"
#undef sys_map_update
#undef sys_map_delete

// A table of: [0, 0x100) the rule under test, [0x100, 0x200) mid with another offset, [0x200, ...) the root.
static void three_of(struct RtUwRule r, struct RtUwRule mid, s32 off)
{
	mid.off = off;
	u32 a = rule(r), b = rule(mid), c = rule(end_rule);
	put_rows((u64[]){UW_ROW(OFF, a), UW_ROW(OFF + 0x100, b), UW_ROW(OFF + 0x200, c)}, 3);
}
static void three(struct RtUwRule r)
{
	three_of(r, rsp8, 16);
}
// ... and frames 1 and 2 behind the one under test: the return address into [0x100, 0x200) is expected at *slot.
static void behind(u64 *slot)
{
	slot[0] = TEXT + 0x110;
	slot[2] = TEXT + 0x210; // CFA of frame 1 is &slot[1] + 16
}
static void check_three_by(struct RtStack *st, u32 why)
{
	CHECK_EQ(st->n, 3);
	CHECK_EXACT(st, 0, regs.ip);
	CHECK_FRAME(st, 1, TEXT + 0x110);
	CHECK_FRAME(st, 2, TEXT + 0x210);
	CHECK_EQ(st->why, why);
	CHECK_EQ(st->flags, RT_STACK_USER);
	CHECK_EQ(st->pid, 0);
}
static void check_three(struct RtStack *st)
{
	check_three_by(st, RT_WHY_OK);
}

// ---- Erlang's code (walk_beam.h): TEXT + 0x80 is run on its process's own stack
static const struct RtUwRule beam = {.kind = RT_UW_BEAM, .reg = 7, .off2 = 0x58}, beam_piece = {.kind = RT_UW_BEAM, .reg = 7, .off = 1, .off2 = 0x58};
static void start_beam(struct RtUwRule r)
{
	start();
	three(r);
	regs.ip = TEXT + 0x80;
	regs.bx = HEAP; // the scheduler's registers: the thread's own stack is elsewhere
	memset(text, 0x90, sizeof(text));
}
static void call_before(u64 ra, u64 to)
{
	s32 n = (s32)(to - ra);
	text[ra - TEXT - 5] = 0xe8;
	memcpy(text + (ra - TEXT) - 4, &n, 4);
}

TEST(erlang_room_that_was_just_made)
{
	static const struct {
		u32 at; // of the code
		const char *code;
		u32 n;
		bool sure;
	} cases[] = {
		{0x40, "\x48\x83\xec\x10", 4, true},
		{0x7c, "\x48\x83\xec\x10", 4, true},
		{0x3f, "\x48\x83\xec\x10", 4, false}, // too far away to be seen: the word of an earlier call is taken
		{0x7d, "\x48\x83\xec\x10", 4, false}, // it is not executed yet
		{0x50, "\x48\x83\xec\x10\xeb\x08", 6, false}, // where it was made is left behind it
		{0x50, "\x48\x83\xec\x10\x41\xff\x60\x10", 8, false},
		{0x50, "\x48\x83\xec\x10\xe8\0\0\0", 8, false},
		{0x50, "\x48\x83\xec\x10\x48\x83\xc4\x10\xc3", 9, false}, // and given back
		{0x50, "\x48\x83\xec\x10\xc3\x48\x83\xec\x10", 9, true},
	};
	static const char *const calls[] = {"\xe8\0\0\0\0", "\xff\xd0", "\xff\x50\x10", "\xff\x14\xe0", "\xff\x54\xe0\x10", "\xff\x90\0\1\0\0"};
	static const u32 lens[] = {5, 2, 3, 3, 4, 6};
	for (u32 i = 0; i < ARRAY_LEN(cases); i++) {
		for (u32 k = 0; k < ARRAY_LEN(calls); k++) {
			start_beam(beam);
			memcpy(text + cases[i].at, cases[i].code, cases[i].n);
			stack[0] = TEXT + 0x210; // of an earlier call
			stack[1] = 0x3b;
			behind(&stack[2]);
			memcpy(text + 0x110 - lens[k], calls[k], lens[k]);
			struct RtStack *st = walk_now();
			if (cases[i].sure) {
				check_three(st);
			} else {
				CHECK(st->why || st->n != 3);
			}
		}
	}
	start_beam(beam); // what lies behind the room is no place that a call returns to
	memcpy(text + 0x50, "\x48\x83\xec\x10", 4);
	stack[0] = TEXT + 0x210;
	behind(&stack[2]);
	check_three_by(walk_now(), RT_WHY_GUESS_RULE);
}

TEST(erlang_code_on_the_threads_own_stack)
{
	static const struct {
		u32 at; // where it takes the process's stack
		const char *code;
		u32 n, why;
	} cases[] = {
		{0x80, "\x49\x8b\x65\x58", 4, RT_WHY_OK}, // from the process
		{0x9e, "\x49\x8b\x65\x58", 4, RT_WHY_OK},
		{0xa0, "\x49\x8b\x65\x58", 4, RT_WHY_OK},
		{0xdf, "\x49\x8b\x65\x58", 4, RT_WHY_OK},
		{0xe0, "\x49\x8b\x65\x58", 4, RT_WHY_GUESS_RULE}, // too far away to be seen
		{0x90, "\x48\x89\xec", 3, RT_WHY_OK}, // from rbp
		{0xd0, "\x48\x89\xec", 3, RT_WHY_OK},
	};
	for (u32 i = 0; i < ARRAY_LEN(cases); i++) {
		bool rbp = cases[i].n == 3;
		start_beam(beam);
		regs.bx = STACK + 64;
		regs.bp = STACK + 8 * (rbp ? 50 : 100);
		regs.r13 = HEAP;
		heap[0x58 / 8] = STACK + 8 * (rbp ? 100 : 50);
		memcpy(text + cases[i].at, cases[i].code, cases[i].n);
		behind(&stack[50]);
		check_three_by(walk_now(), cases[i].why);
	}
}

TEST(erlang_code_is_near_code)
{
	for (u64 word = 0x3b; word; word = word == 0x3b ? 0x5555815f0218 : 0) {
		start_beam(beam);
		stack[0] = word; // a term, an address that a piece has pushed
		behind(&stack[1]);
		check_three(walk_now());
	}
}

TEST(erlang_pieces_that_modules_share)
{
	for (u32 far = 0; far < 3; far++) {
		start_beam(beam_piece);
		u64 ra = TEXT + 0x111, to = far ? HEAP + 64 : TEXT + 0x20;
		call_before(ra, to);
		stack[0] = ra;
		stack[2] = TEXT + 0x210;
		if (far) { // called by a jump behind the module's code, or what lies there is none
			s32 n = (s32)(TEXT + 0x20 - (to + 6));
			u8 jump[8] = {0x40, far == 1 ? 0xe9 : 0xe8};
			memcpy(jump + 2, &n, 4);
			memcpy(&heap[64 / 8], jump, 8);
		}
		struct RtStack *st = walk_now();
		if (far < 2) {
			CHECK_EQ(st->n, 3);
			CHECK_FRAME(st, 1, ra);
			CHECK_FRAME(st, 2, TEXT + 0x210);
			CHECK_EQ(st->why, RT_WHY_OK);
		} else {
			CHECK_EQ(st->n, 2); // left out, as it is no function's
		}
	}
}

TEST(cfa_by_stack_pointer)
{
	start();
	three((struct RtUwRule){.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 32});
	behind(&stack[3]);
	check_three(walk_now());
}
// The record of a page was taken out: the stack is cut there, and the page is asked for once.
TEST(page_that_was_taken_out)
{
	struct RtUwRule r = {.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 32};
	u32 zero = 0, out = RT_UW_OUT, here = 1, *entry;
	start();
	three(r);
	behind(&stack[3]);
	bpf_map_update_elem(&rt_uw_dir, &zero, &out, 0);
	pages_full = -1;
	CHECK_EQ(walk_now()->why, RT_WHY_NO_TABLE);
	entry = bpf_map_lookup_elem(&rt_uw_dir, &zero);
	CHECK_EQ(*entry, RT_UW_OUT); // it could not be asked for
	pages_full = 0;
	asked_pages = 0;
	for (u32 i = 0; i < 2; i++) {
		struct RtStack *st = walk_now();
		CHECK_EQ(st->n, 1);
		CHECK_EXACT(st, 0, regs.ip);
		CHECK_EQ(st->why, RT_WHY_NO_TABLE);
	}
	CHECK_EQ(asked_pages, 1);
	CHECK_EQ(asked_page, 0);
	CHECK_EQ(asked_objs, 0);
	CHECK_EQ(*entry, RT_UW_ASKED);
	*entry = here;
	check_three(walk_now());
	bpf_map_delete_elem(&rt_uw_pages, &zero); // its value goes while the walker looks
	start();
	three(r);
	behind(&stack[3]);
	void *none_here = NULL;
	bpf_map_update_elem(&rt_uw_pages, &zero, &none_here, 0);
	CHECK_EQ(walk_now()->why, RT_WHY_NO_TABLE);
}
TEST(cfa_by_frame_pointer)
{
	start();
	three((struct RtUwRule){.kind = RT_UW_REG, .reg = 6, .ra = -8, .off = 16, .saved = 1, .slot = {-16}});
	regs.bp = STACK + 8 * 10;
	behind(&stack[11]);
	check_three(walk_now());
}
TEST(cfa_by_other_register)
{
	start();
	three((struct RtUwRule){.kind = RT_UW_REG, .reg = 10, .ra = -8, .off = 0});
	regs.r10 = STACK + 8 * 8;
	behind(&stack[7]);
	check_three(walk_now());
}
TEST(cfa_of_plt)
{
	for (u32 at = 0; at < 16; at++) {
		start();
		three((struct RtUwRule){.kind = RT_UW_PLT, .reg = 7, .ra = -8, .off = 8, .off2 = 11});
		regs.ip = TEXT + 0x20 + at;
		behind(&stack[at >= 11 ? 1 : 0]);
		check_three(walk_now());
	}
}
TEST(cfa_from_memory)
{
	start();
	three((struct RtUwRule){.kind = RT_UW_DEREF, .reg = 7, .ra = -8, .off = 40, .off2 = 8});
	stack[5] = STACK + 8 * 20;
	behind(&stack[20]);
	check_three(walk_now());
}
TEST(cfa_from_indexed_memory)
{
	start();
	three((struct RtUwRule){.kind = RT_UW_DEREF, .reg = 7, .ra = -8, .off = 8, .off2 = 8, .index = 9 + 1});
	regs.r9 = 4;
	stack[5] = STACK + 8 * 20;
	behind(&stack[20]);
	check_three(walk_now());
}
TEST(return_address_in_register)
{
	start();
	three((struct RtUwRule){.kind = RT_UW_REG, .reg = 7, .ra_kind = RT_UW_RA_REG, .ra = 5, .off = 0}); // as in vfork
	regs.di = TEXT + 0x110;
	stack[1] = TEXT + 0x210;
	check_three(walk_now());
}
TEST(stack_pointer_of_its_own)
{
	start(); // longjmp: CFA = rdi (the buffer), return address and stack pointer in registers
	three((struct RtUwRule){.kind = RT_UW_REG, .reg = 5, .ra_kind = RT_UW_RA_REG, .ra = 1, .sp_kind = RT_UW_SP_REG, .sp = 8});
	regs.di = 0x10;
	regs.dx = TEXT + 0x110;
	regs.r8 = STACK + 8 * 12;
	stack[13] = TEXT + 0x210;
	check_three(walk_now());
	start(); // setcontext: both in memory
	three((struct RtUwRule){.kind = RT_UW_REG, .reg = 1, .ra = 168, .sp_kind = RT_UW_SP_MEM, .sp = 160});
	regs.dx = STACK;
	stack[21] = TEXT + 0x110;
	stack[20] = STACK + 8 * 30;
	stack[31] = TEXT + 0x210;
	check_three(walk_now());
}
TEST(saved_registers_are_found_again)
{
	start();
	// frame 0 saves rbx; frame 1's CFA is rbx + 8
	struct RtUwRule first = {.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 24, .saved = 2, .slot = {0, -16}};
	struct RtUwRule second = {.kind = RT_UW_REG, .reg = 3, .ra = -8, .off = 8};
	u32 a = rule(first), b = rule(second), c = rule(end_rule);
	put_rows((u64[]){UW_ROW(OFF, a), UW_ROW(OFF + 0x100, b), UW_ROW(OFF + 0x200, c)}, 3);
	regs.bx = 0xdead;
	stack[1] = STACK + 8 * 30; // rbx
	stack[2] = TEXT + 0x110;
	stack[30] = TEXT + 0x210;
	check_three(walk_now());
}
TEST(saved_relative_to_frame_pointer)
{
	start();
	// as GCC realigns a stack: CFA = *(rbp - 8), rbp saved at rbp + 0
	struct RtUwRule second = {.kind = RT_UW_REG, .reg = 6, .ra = -8, .off = 16};
	u32 a = rule((struct RtUwRule){.kind = RT_UW_DEREF, .reg = 6, .ra = -8, .off = -8, .saved = 1, .fprel = 1}), b = rule(second), c = rule(end_rule);
	put_rows((u64[]){UW_ROW(OFF, a), UW_ROW(OFF + 0x100, b), UW_ROW(OFF + 0x200, c)}, 3);
	regs.bp = STACK + 8 * 10;
	stack[9] = STACK + 8 * 20;  // CFA
	stack[10] = STACK + 8 * 40; // rbp of the caller
	stack[19] = TEXT + 0x110;
	stack[41] = TEXT + 0x210;
	check_three(walk_now());
}
TEST(lost_register_ends_the_walk)
{
	start();
	struct RtUwRule first = rsp8, second = {.kind = RT_UW_REG, .reg = 3, .ra = -8, .off = 8};
	first.lost = 2;
	u32 a = rule(first), b = rule(second);
	put_rows((u64[]){UW_ROW(OFF, a), UW_ROW(OFF + 0x100, b)}, 2);
	stack[0] = TEXT + 0x110;
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 2);
	CHECK_EQ(st->why, RT_WHY_NO_RULE);
	CHECK(st->flags & RT_STACK_INCOMPLETE);
}
// Assembly with conventions of its own: the rule of the caller needs r10, of which the callee's rule says nothing.
TEST(caller_saved_register_is_kept)
{
	start();
	three(rsp8);
	put_rows((u64[]){UW_ROW(OFF, 1), UW_ROW(OFF + 0x100, rule((struct RtUwRule){.kind = RT_UW_REG, .reg = 10, .ra = -8, .off = 8})), UW_ROW(OFF + 0x200, 3)}, 3);
	regs.r10 = STACK + 8 * 30;
	stack[0] = TEXT + 0x110;
	stack[30] = TEXT + 0x210;
	check_three(walk_now());
}
TEST(caller_saved_register_that_a_rule_speaks_of_is_lost)
{
	start();
	struct RtUwRule first = rsp8;
	first.lost = RT_UW_LOST_SCRATCH;
	u32 a = rule(first), b = rule((struct RtUwRule){.kind = RT_UW_REG, .reg = 10, .ra = -8, .off = 8});
	put_rows((u64[]){UW_ROW(OFF, a), UW_ROW(OFF + 0x100, b)}, 2);
	regs.r10 = STACK + 64;
	stack[0] = TEXT + 0x110;
	CHECK_EQ(walk_now()->why, RT_WHY_NO_RULE);
}

// struct sigcontext with sp at word `at` of the stack.
static void sigcontext(u32 at, u64 pc, u64 sp, u64 bp)
{
	stack[at - 5] = bp;
	stack[at] = sp;
	stack[at + 1] = pc;
}
TEST(signal_frame)
{
	start();
	// handler -> __restore_rt at 0x100 -> interrupted code at exactly 0x200, where pc - 1 would be another row
	u32 a = rule(rsp8), b = rule((struct RtUwRule){.kind = RT_UW_SIG, .reg = 7, .off = 160}), c = rule(end_rule);
	put_rows((u64[]){UW_ROW(OFF, a), UW_ROW(OFF + 0xff, b), UW_ROW(OFF + 0x200, c)}, 3);
	stack[0] = TEXT + 0x100;
	sigcontext(1 + 20, TEXT + 0x200, STACK + 8 * 100, 0);
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 3);
	CHECK_FRAME(st, 1, TEXT + 0x100);
	CHECK_EXACT(st, 2, TEXT + 0x200);
	CHECK_EQ(st->why, RT_WHY_OK);
}
TEST(signal_trampoline_without_unwind_information)
{
	start();
	u32 a = rule(rsp8), c = rule(end_rule);
	put_rows((u64[]){UW_ROW(OFF, a), UW_ROW(OFF + 0xf0, 0), UW_ROW(OFF + 0x200, c)}, 3);
	memcpy(text + 0x100, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9);
	stack[0] = TEXT + 0x100;
	sigcontext(1 + 20, TEXT + 0x200, STACK + 8 * 100, 0);
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 3);
	CHECK_EXACT(st, 2, TEXT + 0x200);
}

// ---- 32-bit code: words of 4 bytes; rules have esp as 7, ebp 6, ebx 3, esi 12, edi 13 (unwind/cfi.c)
static u32 *start_32(void)
{
	start();
	regs.cs = 0x23;
	return (u32 *)stack;
}
static const struct RtUwRule esp4 = {.kind = RT_UW_REG, .reg = 7, .ra = -4, .off = 4};
static void three_32(struct RtUwRule r)
{
	three_of(r, esp4, 8);
}
static void behind_32(u32 *slot)
{
	slot[0] = TEXT + 0x110;
	slot[2] = TEXT + 0x210;
}

TEST(i386_cfa_by_stack_pointer)
{
	for (u32 words = 0; words < 200; words += 7) { // also beyond what is read at once
		u32 *w = start_32();
		three_32((struct RtUwRule){.kind = RT_UW_REG, .reg = 7, .ra = -4, .off = 4 + 4 * (s32)words, .saved = 1, .slot = {-8}});
		behind_32(w + words);
		check_three(walk_now());
	}
}
TEST(i386_upper_halves_mean_nothing)
{
	u32 *w = start_32();
	three_32((struct RtUwRule){.kind = RT_UW_REG, .reg = 6, .ra = -4, .off = 8});
	regs.sp |= 5ull << 32;
	regs.ip |= 7ull << 32;
	regs.bp = 9ull << 32 | (STACK + 4 * 10);
	behind_32(w + 11);
	regs.ip = (u32)regs.ip; // as CHECK_FRAME takes it
	check_three(walk_now());
}
// esi, edi, ebx and ebp have slots: the caller's CFA is each of them.
TEST(i386_saved_registers_are_found_again)
{
	static const u8 reg[] = {6, 3, 12, 13};
	for (u32 s = 0; s < 4; s++) {
		u32 *w = start_32();
		struct RtUwRule first = esp4;
		first.off = 4 * 4;
		first.saved = (u8)(1u << s);
		first.slot[s] = -12;
		u32 a = rule(first), b = rule((struct RtUwRule){.kind = RT_UW_REG, .reg = reg[s], .ra = -4, .off = 4}), c = rule(end_rule);
		put_rows((u64[]){UW_ROW(OFF, a), UW_ROW(OFF + 0x100, b), UW_ROW(OFF + 0x200, c)}, 3);
		w[1] = STACK + 4 * 60;
		w[3] = TEXT + 0x110;
		w[60] = TEXT + 0x210;
		check_three(walk_now());
	}
}
// ... and where nothing saved them they are what they were: si and di of the context.
TEST(i386_registers_of_the_context)
{
	for (u32 k = 0; k < 2; k++) {
		u32 *w = start_32();
		three_32((struct RtUwRule){.kind = RT_UW_REG, .reg = k ? 13 : 12, .ra = -4, .off = 4});
		*(k ? &regs.di : &regs.si) = STACK + 4 * 7;
		behind_32(w + 7);
		check_three(walk_now());
	}
}
TEST(i386_plt)
{
	for (u32 at = 0; at < 16; at++) {
		u32 *w = start_32();
		three_32((struct RtUwRule){.kind = RT_UW_PLT, .reg = 7, .ra = -4, .off = 4, .off2 = 11});
		regs.ip = TEXT + 0x20 + at;
		behind_32(w + (at >= 11));
		check_three(walk_now());
	}
}
TEST(i386_realigned_stack) // main() of GCC: CFA = *(ebp - 8), ebp saved at ebp + 0
{
	u32 *w = start_32();
	u32 a = rule((struct RtUwRule){.kind = RT_UW_DEREF, .reg = 6, .ra = -4, .off = -8, .saved = 1, .fprel = 1});
	u32 b = rule((struct RtUwRule){.kind = RT_UW_REG, .reg = 6, .ra = -4, .off = 8}), c = rule(end_rule);
	put_rows((u64[]){UW_ROW(OFF, a), UW_ROW(OFF + 0x100, b), UW_ROW(OFF + 0x200, c)}, 3);
	regs.bp = STACK + 4 * 10;
	w[8] = STACK + 4 * 20;  // CFA
	w[10] = STACK + 4 * 40; // ebp of the caller
	w[19] = TEXT + 0x110;
	w[41] = TEXT + 0x210;
	check_three(walk_now());
}
TEST(i386_stack_pointer_of_its_own) // longjmp, setcontext
{
	u32 *w = start_32();
	three_32((struct RtUwRule){.kind = RT_UW_REG, .reg = 0, .ra_kind = RT_UW_RA_REG, .ra = 1, .sp_kind = RT_UW_SP_REG, .sp = 2});
	regs.ax = 0x10;
	regs.dx = TEXT + 0x110;
	regs.cx = STACK + 4 * 12;
	w[13] = TEXT + 0x210;
	check_three(walk_now());
	w = start_32();
	three_32((struct RtUwRule){.kind = RT_UW_REG, .reg = 0, .ra = 16, .sp_kind = RT_UW_SP_MEM, .sp = 12});
	regs.ax = STACK;
	w[4] = TEXT + 0x110;
	w[3] = STACK + 4 * 30;
	w[31] = TEXT + 0x210;
	check_three(walk_now());
}
// struct sigcontext_32 with esp at word `at`: edi esi ebp esp ebx edx ecx eax trapno err eip. The interrupted function's CFA is ebp.
static void signal_32(const char *code, u32 rule_off, u32 at)
{
	u32 *w = start_32();
	u32 a = rule(esp4), b = code ? 0 : rule((struct RtUwRule){.kind = RT_UW_SIG, .reg = 7, .off = (s32)rule_off});
	u32 c = rule((struct RtUwRule){.kind = RT_UW_REG, .reg = 13, .ra = -4, .off = 4}), d = rule(end_rule);
	put_rows((u64[]){UW_ROW(OFF, a), UW_ROW(OFF + 0xff, b), UW_ROW(OFF + 0x200, c), UW_ROW(OFF + 0x300, d)}, 4);
	if (code)
		memcpy(text + 0x100, code, 8);
	w[0] = TEXT + 0x100;
	w[at] = STACK + 4 * 100;
	w[at - 3] = STACK + 4 * 120; // edi
	w[at + 7] = TEXT + 0x200;
	w[120] = TEXT + 0x310;
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 4);
	CHECK_FRAME(st, 1, TEXT + 0x100);
	CHECK_EXACT(st, 2, TEXT + 0x200);
	CHECK_FRAME(st, 3, TEXT + 0x310);
	CHECK_EQ(st->why, RT_WHY_OK);
}
TEST(i386_signal_frame)
{
	signal_32(NULL, 32, 1 + 8);
	signal_32("\x58\xb8\x77\0\0\0\xcd\x80", 0, 1 + 8);	// sigreturn: pop %eax first
	signal_32("\xb8\xad\0\0\0\xcd\x80\x90", 0, 1 + 188 / 4); // rt_sigreturn
}
TEST(i386_code_without_tables)
{
	// ebp chain: leaf at 0, its caller at 0x110, 0x210 the root by rule
	u32 *w = start_32();
	put_rows((u64[]){UW_ROW(OFF + 0x200, rule(end_rule))}, 1);
	regs.bp = STACK + 4 * 4;
	w[4] = STACK + 4 * 9;
	w[5] = TEXT + 0x110;
	w[10] = TEXT + 0x210;
	check_three_by(walk_now(), RT_WHY_GUESS_FP);
	// the same where the leaf has no frame yet or any more
	static const struct {
		const char *code;
		u32 words; // of the stack above the return address
	} bytes[] = {{"\x55\x89\xe5\x90\x90\x90\x90\x90", 0},		// push %ebp
		     {"\xf3\x0f\x1e\xfb\x55\x89\xe5\x90", 0},		// endbr32; push %ebp
		     {"\x89\xe5\x90\x90\x90\x90\x90\x90", 1},		// mov %esp,%ebp
		     {"\xc3\x90\x90\x90\x90\x90\x90\x90", 0},		// ret
		     {"\x8b\x1c\x24\xc3\x90\x90\x90\x90", 0},		// mov (%esp),%ebx; ret: a thunk
		     {"\x05\x01\x02\x03\x04\x55\x89\xe5", 0},		// add $n,%eax; push %ebp; mov %esp,%ebp
		     {"\xe8\x01\x02\x03\x04\x05\x01\x02", 0}};		// call thunk; add $n,%eax
	for (u32 i = 0; i < ARRAY_LEN(bytes); i++) {
		w = start_32();
		put_rows((u64[]){UW_ROW(OFF + 0x200, rule(end_rule))}, 1);
		memcpy(text, bytes[i].code, 8);
		regs.bp = STACK + 4 * 9;
		w[bytes[i].words] = TEXT + 0x110;
		w[10] = TEXT + 0x210;
		if (bytes[i].words)
			w[0] = (u32)regs.bp;
		check_three_by(walk_now(), RT_WHY_GUESS_FP);
	}
}
TEST(i386_frame_pointers_asked_for)
{
	u32 *w = start_32();
	three_32(esp4); // not to be used
	regs.bp = STACK + 4 * 4;
	w[4] = 0;
	w[5] = TEXT + 0x110;
	struct RtStack *st = result(rt_ustack_fp(NULL, 0, RT_SRC_TP | RT_SRC_F_FP));
	CHECK(st && st->n == 2);
	CHECK_FRAME(st, 1, TEXT + 0x110);
}
TEST(i386_what_may_be_wrong_is_not_whole)
{
	u32 *w = start_32(); // a return address of 0 in a frame that was called by nobody
	three_32(esp4);
	CHECK_EQ(walk_now()->why, RT_WHY_BAD_CFA);
	w = start_32(); // code in a segment of its own
	three_32(esp4);
	behind_32(w);
	regs.cs = 0x0f;
	CHECK_EQ(walk_now()->n, 1);
	CHECK_EQ(walk_now()->why, RT_WHY_NO_RULE);
	w = start_32(); // falling CFA
	three_32((struct RtUwRule){.kind = RT_UW_REG, .reg = 6, .ra = -4, .off = 8});
	regs.bp = STACK - 64;
	CHECK_EQ(walk_now()->why, RT_WHY_BAD_CFA);
	w = start_32(); // no memory
	three_32((struct RtUwRule){.kind = RT_UW_REG, .reg = 7, .ra = -4, .off = 1 << 20});
	CHECK_EQ(walk_now()->why, RT_WHY_BAD_READ);
	w = start_32(); // lost
	struct RtUwRule first = esp4;
	first.lost = 4; // esi
	u32 a = rule(first), b = rule((struct RtUwRule){.kind = RT_UW_REG, .reg = 12, .ra = -4, .off = 8});
	put_rows((u64[]){UW_ROW(OFF, a), UW_ROW(OFF + 0x100, b)}, 2);
	w[0] = TEXT + 0x110;
	CHECK_EQ(walk_now()->why, RT_WHY_NO_RULE);
}
// The last words below a page that cannot be read (the test's memory ends there).
TEST(i386_end_of_memory)
{
	u32 *w = start_32();
	three_32(esp4);
	u32 last = sizeof(stack) / 4 - 3;
	regs.sp = STACK + 4 * last;
	behind_32(w + last);
	check_three(walk_now());
}
TEST(return_address_at_the_end_of_a_function)
{
	start();
	// the call is the function's last instruction: the return address lies in the next row, and is shown as it is
	u32 a = rule(rsp8), b = rule(end_rule), c = rule((struct RtUwRule){.kind = RT_UW_BAD});
	put_rows((u64[]){UW_ROW(OFF, a), UW_ROW(OFF + 0x100, b), UW_ROW(OFF + 0x120, c)}, 3);
	stack[0] = TEXT + 0x120;
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 2);
	CHECK_FRAME(st, 1, TEXT + 0x120);
	CHECK_EQ(st->why, RT_WHY_OK);
}

// ---- no unwind information
TEST(frame_pointers)
{
	start();
	put_rows((u64[]){UW_ROW(OFF + 0x300, 0)}, 0);
	regs.bp = STACK + 8 * 4;
	stack[4] = STACK + 8 * 9;
	stack[5] = TEXT + 0x40;
	stack[9] = 0;
	stack[10] = TEXT + 0x50;
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 3);
	CHECK_FRAME(st, 1, TEXT + 0x40);
	CHECK_FRAME(st, 2, TEXT + 0x50);
	CHECK_EQ(st->why, RT_WHY_GUESS_FP); // not cut, but nothing says that these are all
	CHECK_EQ(st->flags, RT_STACK_USER);
	CHECK_EQ(rt_stack_counters()->why[RT_WHY_GUESS_FP], 1);
	CHECK_EQ(rt_stack_counters()->why[RT_WHY_OK], 0);
}
// The root is where a program begins or not, and lies in another object than its callee or in the same one; its callee is left by a guess, or that one's.
static u32 why_before_root(u32 root_obj, bool callee, s32 entry)
{
	struct RtUwRule guess = rsp8, end = {.kind = RT_UW_END, .off2 = entry};
	struct RtUwKey key = {77, 0};
	u32 one = 1, two = 2;
	guess.lost = RT_UW_GUESS;
	start();
	put_rows((u64[]){UW_ROW(OFF, rule(callee ? rsp8 : guess)), UW_ROW(OFF + 0x100, rule(callee ? guess : rsp8)), UW_ROW(OFF + 0x200, 0), UW_ROW(OFF + 0x2000, rule(end))}, 4);
	bpf_map_update_elem(&rt_uw_obj, &two, bpf_map_lookup_elem(&rt_uw_obj, &one), 0);
	struct RtUwChunk *c = bpf_map_lookup_elem(&rt_uw_maps, &key);
	c->n = 2;
	c->map[0].pages = c->map[1].pages = 1;
	c->map[1] = (struct RtUwMapping){TEXT + 0x2000, 1, root_obj, OFF + 0x2000, 0};
	stack[0] = TEXT + 0x110;
	stack[1] = TEXT + 0x2010;
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 3);
	return st->why;
}
TEST(a_guess_that_only_the_root_called)
{
	CHECK_EQ(why_before_root(2, true, RT_UW_END_ENTRY), RT_WHY_OK); // the C library's start
	CHECK_EQ(why_before_root(1, true, RT_UW_END_ENTRY), RT_WHY_GUESS_RULE);
	CHECK_EQ(why_before_root(2, false, RT_UW_END_ENTRY), RT_WHY_GUESS_RULE);
	CHECK_EQ(why_before_root(2, true, 0), RT_WHY_GUESS_RULE); // a thread's beginning
}
TEST(a_guess_is_not_forgotten)
{
	struct RtUwRule r = rsp8;
	r.lost = RT_UW_GUESS;
	start(); // the first frame by a rule that nothing proves, the others by good ones
	three(r);
	behind(stack);
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 3);
	CHECK_FRAME(st, 2, TEXT + 0x210);
	CHECK_EQ(st->why, RT_WHY_GUESS_RULE);
	CHECK_EQ(st->flags, RT_STACK_USER);
	start(); // what is cut is cut, guess or not
	three(r);
	stack[0] = TEXT + 0x110;
	stack[2] = 1ull << 60;
	st = walk_now();
	CHECK_EQ(st->why, RT_WHY_BAD_CFA);
	CHECK_EQ(st->flags, RT_STACK_USER | RT_STACK_INCOMPLETE);
	start(); // a proven one leaves no trace of the walk before
	three(rsp8);
	behind(stack);
	CHECK_EQ(walk_now()->why, RT_WHY_OK);
}
static void at_entry(const char *code, u32 len, u32 slot)
{
	start();
	put_rows(NULL, 0);
	memcpy(text, code, len);
	regs.bp = STACK + 8 * 9; // of the caller
	if (slot == 1) {
		stack[0] = regs.bp;
		regs.bp = 0xbad; // not set yet
	}
	stack[slot] = TEXT + 0x40;
	stack[9] = 0;
	stack[10] = TEXT + 0x50;
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 3);
	CHECK_FRAME(st, 1, TEXT + 0x40);
	CHECK_FRAME(st, 2, TEXT + 0x50);
}
TEST(frame_pointer_not_set_up_yet)
{
	at_entry("\x55\x48\x89\xe5", 4, 0);		      // push %rbp
	at_entry("\xf3\x0f\x1e\xfa\x55\x48\x89\xe5", 8, 0); // endbr64; push %rbp
	at_entry("\x48\x89\xe5", 3, 1);		      // mov %rsp,%rbp
	at_entry("\xc3", 1, 0);			      // ret
}
TEST(frame_pointer_chain_must_rise)
{
	start();
	put_rows(NULL, 0);
	regs.bp = STACK + 8 * 4;
	stack[4] = STACK + 8 * 4; // itself
	stack[5] = TEXT + 0x40;
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 2);
	CHECK_EQ(st->why, RT_WHY_FP_END);
	start();
	put_rows(NULL, 0);
	regs.bp = STACK + 3;
	CHECK_EQ(walk_now()->why, RT_WHY_FP_END);
	start();
	put_rows(NULL, 0);
	regs.bp = 0x10; // below the stack
	CHECK_EQ(walk_now()->why, RT_WHY_FP_END);
}
TEST(fp_only_ignores_tables)
{
	start();
	three(rsp8);
	regs.bp = STACK + 8 * 4;
	stack[0] = TEXT + 0x110;
	stack[4] = 0;
	stack[5] = TEXT + 0x40;
	struct RtStack *st = result(rt_ustack_fp(NULL, 0, RT_SRC_TP | RT_SRC_F_FP));
	CHECK(st && st->n == 2);
	CHECK_FRAME(st, 1, TEXT + 0x40);
}

// Frames of all sizes, whose words lie in one piece of the stack that is read at once, in two, and in two pages; by each end that the chain may have.
TEST(fp_only_chains)
{
	static const u32 sizes[] = {2, 3, 6, 18, 19, 20, 21, 40, 62, 63, 64, 65};
	static const struct {
		u64 fp, ra; // of the last frame
		u32 why;
	} ends[] = {{0, 0, RT_WHY_RA_ZERO}, {0, TEXT + 0x300, RT_WHY_FP_ZERO}, {STACK, TEXT + 0x300, RT_WHY_FP_END}, {HEAP + 3, TEXT + 0x300, RT_WHY_FP_END},
		    {STACK + 8 * WORDS, TEXT + 0x300, RT_WHY_FP_END}, {0, 1ull << 60, RT_WHY_BAD_CFA}};
	for (u32 e = 0; e < ARRAY_LEN(ends); e++)
		for (u32 first = 0; first < ARRAY_LEN(sizes); first++) {
			u32 at = first, n = 1;
			start();
			regs.bp = STACK + 8 * at;
			for (u32 k = first; at + 2 + sizes[k % ARRAY_LEN(sizes)] <= WORDS; k++, n++) {
				u32 next = at + sizes[k % ARRAY_LEN(sizes)];
				stack[at] = STACK + 8 * next;
				stack[at + 1] = TEXT + 0x100 + n;
				at = next;
			}
			stack[at] = ends[e].fp;
			stack[at + 1] = ends[e].ra;
			struct RtStack *st = result(rt_ustack_fp(NULL, 0, RT_SRC_TP | RT_SRC_F_FP));
			CHECK(st != NULL);
			bool last = ends[e].ra == TEXT + 0x300; // and that caller's frame is not there
			CHECK_EQ(st->n, n + last);
			for (u32 i = 1; i < n; i++)
				CHECK_FRAME(st, i, TEXT + 0x100 + i);
			CHECK(!last || st->frames[n] == FRAME(TEXT + 0x300));
			struct RtCounters *c = rt_stack_counters();
			bool whole = ends[e].why == RT_WHY_RA_ZERO || ends[e].why == RT_WHY_FP_ZERO; // as whole as frame pointers tell
			CHECK_EQ(c->why[whole ? RT_WHY_GUESS_FP : ends[e].why], 1);
		}
}

// ---- what is missing is said
TEST(unknown_process_is_asked_for_once)
{
	start();
	rt_host.pid_tgid = 99ull << 32 | 99;
	regs.bp = 0;
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 1);
	CHECK_EQ(st->frames[0], TEXT | RT_FRAME_EXACT);
	CHECK_EQ(st->pid, 99);
	CHECK_EQ(st->why, RT_WHY_NO_PROC);
	walk_now();
	CHECK_EQ(asked_procs, 1);
}
TEST(pending_table_is_asked_for_once)
{
	start();
	regs.bp = STACK + 8 * 4;
	stack[5] = TEXT + 0x40;
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 1); // a frame pointer is there, but nobody knows yet whether it is one
	CHECK_EQ(st->why, RT_WHY_NO_TABLE);
	CHECK(st->flags & RT_STACK_INCOMPLETE);
	walk_now();
	CHECK_EQ(asked_objs, 1);
}
TEST(unreadable_stack)
{
	start();
	three((struct RtUwRule){.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 0x100000});
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 1);
	CHECK_EQ(st->why, RT_WHY_BAD_READ);
}
TEST(falling_cfa)
{
	start();
	three((struct RtUwRule){.kind = RT_UW_REG, .reg = 6, .ra = -8, .off = 16});
	regs.bp = STACK;
	regs.sp = STACK + 64;
	CHECK_EQ(walk_now()->why, RT_WHY_BAD_CFA);
}
TEST(kernel_thread)
{
	start();
	regs.cs = 0;
	CHECK_EQ(rt_ustack(NULL, 0, RT_SRC_TP), 0);
	CHECK_EQ(rt_stack_counters()->why[RT_WHY_KTHREAD], 1);
}
TEST(limits)
{
	start();
	put_rows((u64[]){UW_ROW(OFF, rule(rsp8))}, 1);
	for (u32 i = 0; i < WORDS; i++)
		stack[i] = TEXT + 0x10 + i;
	u64 id = rt_ustack(NULL, 3, RT_SRC_TP);
	struct RtStack *st = result(id);
	CHECK_EQ(RT_STACK_NFRAMES(id), 3);
	CHECK(st && st->n == 3 && st->flags == RT_STACK_USER); // the script's limit: nothing is missing
	st = walk_now();
	CHECK_EQ(st->n, WORDS + 1);
	CHECK_EQ(st->why, RT_WHY_BAD_READ);
}

// Recursion: one stack however deep, its pieces shared; beyond the limit it is cut and says so.
TEST(deep_stacks)
{
	static const u32 depths[] = {126, 127, 128, 1021, 1022, 1023, 1024, 1149, 1150, 16384, RT_STACK_DEEP - 2, RT_STACK_DEEP - 1, RT_STACK_DEEP, 100000};
	for (u32 i = 0; i < ARRAY_LEN(depths); i++) {
		start();
		u32 a = rule(rsp8), c = rule(end_rule), n = 0;
		put_rows((u64[]){UW_ROW(OFF, a), UW_ROW(OFF + 0x200, c)}, 2);
		recursion = depths[i];
		u64 id = rt_ustack(NULL, 0, RT_SRC_TP);
		struct RtStack *st = result(id), *last = st;
		CHECK(st != NULL);
		u32 want = MIN(recursion + 2, (u32)RT_STACK_DEEP);
		CHECK_EQ(!(id & RT_STACK_LIST), want <= RT_STACK_MAX);
		CHECK_EQ(rt_stack_len(id), want);
		for (u32 k = 0; id & RT_STACK_LIST && k < st->n; k++) {
			last = result(st->frames[k]);
			CHECK(last != NULL);
			n += last->n;
			CHECK(k == 0 || k + 1 == st->n || st->frames[k] == st->frames[1]);
			CHECK(last->n < 2 || last->frames[last->n - 2] == FRAME(TEXT + 0x110));
		}
		CHECK(!(id & RT_STACK_LIST) || n == want);
		bool cut = recursion + 2 > RT_STACK_DEEP;
		CHECK_EQ(last->frames[last->n - 1], FRAME(cut ? TEXT + 0x110 : TEXT + 0x210));
		cut = recursion + 2 >= RT_STACK_DEEP; // with its last frame the walk ends, whatever that is
		CHECK_EQ(st->why, cut ? RT_WHY_LIMIT : RT_WHY_OK);
		CHECK_EQ(!!(st->flags & RT_STACK_INCOMPLETE), cut);
		CHECK_EQ(rt_ustack(NULL, 0, RT_SRC_TP), id);
		CHECK_EQ(rt_stack_len(rt_ustack(NULL, 1500, RT_SRC_TP)), MIN(want, 1500u));
	}
	recursion = 0;
}

// ---- pending uretprobes: fake kernel structures, read with the same offsets
struct FakeRi {
	u64 stack, orig, next;
};
struct FakeTask {
	u64 utask, mm;
};
static void pending_uretprobe_at(u64 xol_vaddr)
{
	struct FakeRi outer = {STACK + 8 * 4, TEXT + 0x210, 0}, inner_ri = {STACK, TEXT + 0x110, (u64)&outer};
	u64 xol = (u64)&xol_vaddr, utask = (u64)&inner_ri;
	struct FakeTask task = {(u64)&utask, (u64)&xol};
	start();
	struct RtUwRule mid = rsp8;
	mid.off = 32;
	u32 a = rule(rsp8), b = rule(mid), c = rule(end_rule);
	put_rows((u64[]){UW_ROW(OFF, a), UW_ROW(OFF + 0x100, b), UW_ROW(OFF + 0x200, c)}, 3);
	stack[0] = stack[4] = xol_vaddr;
	rt_host.task = (u64)&task;
	rt_off_utask = 0, rt_off_mm = 8, rt_off_ri = 0, rt_off_ri_stack = 0, rt_off_ri_orig = 8, rt_off_ri_next = 16;
	rt_off_xol = 0, rt_off_xol_vaddr = 0;
	// offset 0 means unknown: shift the fakes
	rt_off_utask = 8, rt_off_xol = 8;
	rt_host.task = (u64)&task - 8;
	rt_off_mm = 16;
	task.mm = (u64)&xol - 8;
	check_three(walk_now());
	outer.stack = 1; // no instance of that slot: the truth is not known
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 2);
	CHECK_EQ(st->why, RT_WHY_URETPROBE);
	rt_off_utask = rt_off_xol = rt_off_mm = rt_off_ri_orig = rt_off_ri_next = 0;
	rt_host.task = 0;
}

// With five levels of page tables the kernel puts the page where no other address of a process is.
TEST(pending_uretprobe)
{
	pending_uretprobe_at(0x7ffff000);
	pending_uretprobe_at(0xfffffffffff000);
}

// The thread is in the page "[uprobes]": in the trampoline a return from a probed function has gone to, or at an instruction executed there.
TEST(in_the_page_of_uprobes)
{
	struct FakeUtask {
		u64 unused, ri, vaddr, at;
	};
	struct FakeRi ri = {STACK, TEXT + 0x110, 0};
	struct FakeUtask ut = {0, (u64)&ri, TEXT + 0x10, 0};
	u64 page = 0x7ffff000, xol = (u64)&page;
	struct FakeTask task = {(u64)&ut, (u64)&xol};
	for (u32 at = 0; at < 6; at++) {
		static const u64 pc[] = {0, 2, 12, 13, 15, 16}, sp[] = {8, -8, -16, 0, 8, 16}; // of the trampoline's bytes; sp as it is there
		start();
		struct RtUwRule mid = rsp8;
		mid.off = 32;
		u32 a = rule(rsp8), b = rule(mid), c = rule(end_rule);
		put_rows((u64[]){UW_ROW(OFF, a), UW_ROW(OFF + 0x100, b), UW_ROW(OFF + 0x200, c)}, 3);
		rt_host.task = (u64)&task - 8;
		rt_off_utask = 8, rt_off_mm = 16, rt_off_xol = 8, rt_off_ri = 8, rt_off_ri_orig = 8, rt_off_ri_next = 16;
		rt_off_step_vaddr = 16, rt_off_step_at = 24;
		task.mm = (u64)&xol - 8;
		// the slot of the return address is stack[0]; from byte 13 on the kernel has put the address where ret will find it, and dropped the instance
		regs.ip = page + pc[at];
		regs.sp = STACK + sp[at];
		ut.ri = at < 3 ? (u64)&ri : 0;
		if (at >= 3)
			stack[2] = TEXT + 0x110;
		u64 base = at < 3 ? 1 : 3; // stack pointer of the caller, in words
		stack[base + 3] = TEXT + 0x210;
		struct RtStack *st = walk_now();
		CHECK_EQ(st->n, 2);
		CHECK_FRAME(st, 0, TEXT + 0x110);
		CHECK_FRAME(st, 1, TEXT + 0x210);
		CHECK_EQ(st->why, RT_WHY_OK);
	}
	// the instruction at TEXT + 0x10 is executed in slot 1; it has 4 bytes, and is over
	start();
	three(rsp8);
	behind(&stack[0]);
	ut.at = page + 128;
	regs.ip = page + 132;
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 3);
	CHECK_EXACT(st, 0, TEXT + 0x14);
	CHECK_EQ(st->why, RT_WHY_OK);
	rt_off_utask = rt_off_xol = rt_off_mm = rt_off_ri = rt_off_ri_orig = rt_off_ri_next = rt_off_step_vaddr = rt_off_step_at = 0;
	rt_host.task = 0;
}

// ---- this very process: its stack, recorded, walked with its files' own tables, against glibc's backtrace()
static u8 *rec_stack;
static u64 rec_at, rec_len;
static long read_recorded(void *dst, u32 size, const void *src)
{
	u64 at = (u64)src;
	if (at < rec_at || at - rec_at + size > rec_len)
		return -EFAULT;
	memcpy(dst, rec_stack + (at - rec_at), size);
	return 0;
}

struct Inners {
	VEC(struct RtMapDef *) v;
};
static void put_object(struct Syms *syms, struct SymObject *o, struct RuleSet *rs, u32 *ndir, u32 *nval, struct Inners *inners)
{
	struct ElfCfi cfi;
	struct UwTable t;
	struct err *e = elfcfi_read(o->fd, &cfi);
	CHECK(!e);
	uwtable_build(&cfi, rs, &t, NULL);
	struct RtUwObj obj = {.dir = *ndir, .first_page = (u32)(UW_ROW_OFF(t.rows.p[0]) >> 16), .state = RT_UW_READY};
	u32 carry = 0, last = (u32)(UW_ROW_OFF(vec_last(&t.rows)) >> 16);
	size_t i = 0;
	for (u32 p = obj.first_page; p <= last; p++, obj.npages++) {
		size_t end = i;
		u32 zero = 0, entry = *nval << 16 | 1;
		while (end < t.rows.n && UW_ROW_OFF(t.rows.p[end]) >> 16 == p)
			end++;
		struct RtMapDef *in = xmalloc(sizeof(*in));
		*in = inner;
		vec_push(&inners->v, in);
		uwrec_build(t.rows.p + i, end - i, carry, page + 4);
		bpf_map_update_elem(in, &zero, page, 0);
		bpf_map_update_elem(&rt_uw_pages, nval, &in, 0);
		bpf_map_update_elem(&rt_uw_dir, ndir, &entry, 0);
		(*nval)++;
		(*ndir)++;
		if (end > i)
			carry = UW_ROW_RULE(t.rows.p[end - 1]);
		i = end;
	}
	bpf_map_update_elem(&rt_uw_obj, &o->id, &obj, 0);
	uwtable_deinit(&t);
	elfcfi_deinit(&cfi);
}

static void *expected[64];
static int nexpected;
static ucontext_t here;
__attribute__((noinline)) static int record(int depth)
{
	volatile char pad[24 * (depth + 1)]; // a frame pointer is needed for this
	pad[0] = 1;
	if (depth)
		return record(depth - 1) + pad[0];
	nexpected = backtrace(expected, 64);
	getcontext(&here);
	rec_at = (u64)here.uc_mcontext.gregs[REG_RSP] & ~4095ull;
	rec_len = (u64)__builtin_frame_address(0) + 16384 - rec_at;
	struct Str maps = {0};
	err_free(read_file("/proc/self/maps", &maps, 1 << 22));
	char *line = strstr(maps.p, "[stack]");
	while (line > maps.p && line[-1] != '\n')
		line--;
	u64 stack_end = strtoull(strchr(line, '-') + 1, NULL, 16);
	rec_len = stack_end - rec_at;
	rec_stack = xmalloc(rec_len);
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC); // not memcpy: sanitizers watch what a frame reads
	rec_len = (u64)MAX(pread(mem, rec_stack, rec_len, (off_t)rec_at), 0);
	close(mem);
	str_deinit(&maps);
	return pad[0];
}

TEST(recorded_memory_of_this_process)
{
	struct Syms *syms = syms_create(&(struct SymOpts){0});
	struct ProcMap *maps;
	struct RuleSet rs;
	u32 n, ndir = 1, nval = 1;
	struct Inners inners = {0};

	start();
	record(5);
	ruleset_init(&rs, RT_UW_RULES);
	CHECK(!sym_proc_maps(syms, getpid(), &maps, &n));
	struct RtUwKey key = {77, 0};
	struct RtUwChunk c = {0};
	for (u32 i = 0; i < RT_UW_CHUNK; i++)
		c.map[i].start = RT_UW_NO_START;
	for (u32 i = 0; i < n && c.n < RT_UW_CHUNK; i++) {
		if (!maps[i].obj || (!strstr(maps[i].obj->path, "walk_test") && !strstr(maps[i].obj->path, "libc.so")))
			continue;
		put_object(syms, maps[i].obj, &rs, &ndir, &nval, &inners);
		c.map[c.n++] = (struct RtUwMapping){maps[i].start, (u32)((maps[i].end - maps[i].start) / 4096), maps[i].obj->id, maps[i].file_off, 0};
	}
	for (u32 i = 1; i < rs.v.n; i++)
		bpf_map_update_elem(&rt_uw_rules, &i, &rs.v.p[i], 0);
	bpf_map_update_elem(&rt_uw_maps, &key, &c, 0);
	greg_t *g = here.uc_mcontext.gregs;
	regs = (struct RtPtRegs){g[REG_R15], g[REG_R14], g[REG_R13], g[REG_R12], g[REG_RBP], g[REG_RBX], g[REG_R11], g[REG_R10], g[REG_R9],
				 g[REG_R8],  g[REG_RAX], g[REG_RCX], g[REG_RDX], g[REG_RSI], g[REG_RDI], ~0ull,	     g[REG_RIP], 0x33,
				 0,	     g[REG_RSP], 0};
	rt_host.read_user = read_recorded;
	struct RtStack *st = walk_now();
	CHECK_EQ(st->why, RT_WHY_OK);
	u32 extra = (u32)nexpected - st->n; // a sanitizer's backtrace() has a frame of its own
	CHECK(extra <= 1);
	for (u32 i = 1; i < st->n; i++) { // frame 0: the two calls are at different places
		u64 addr = 0;
		for (u32 k = 0; k < n; k++)
			if (maps[k].obj && maps[k].obj->id == RT_FRAME_ID(st->frames[i]) && RT_FRAME_OFF(st->frames[i]) >= maps[k].file_off &&
			    RT_FRAME_OFF(st->frames[i]) - maps[k].file_off < maps[k].end - maps[k].start)
				addr = maps[k].start + RT_FRAME_OFF(st->frames[i]) - maps[k].file_off;
		CHECK_EQ(addr, (u64)expected[i + extra]);
	}
	free(maps);
	free(rec_stack);
	rt_host_reset();
	for (size_t i = 0; i < inners.v.n; i++)
		free(inners.v.p[i]);
	vec_deinit(&inners.v);
	ruleset_deinit(&rs);
	syms_destroy(syms);
}

// ---- searches
TEST(records)
{
	srandom(7);
	for (int round = 0; round < 200; round++) {
		static u64 rows[70000];
		u32 n = 0, dense = (u32[]){2, 20, 300, 5000}[round % 4], carry = (u32)random() % 1000;
		for (u32 off = round % 3 ? (u32)random() % 600 : 0; off < 65536; off += 1 + (u32)random() % dense)
			rows[n] = UW_ROW(0x30000 + off, 1 + n % 60000), n++;
		u32 size = uwrec_build(rows, n, carry, page);
		u16 count;
		memcpy(&count, page + 512, 2);
		CHECK(size <= RT_UW_VAL_SIZE);
		CHECK_EQ(size, RT_UW_REC_SIZE(count));
		for (u32 off = 0, i = 0; off < 65536; off++) {
			while (i < n && UW_ROW_OFF(rows[i]) - 0x30000 <= off)
				i++;
			u32 want = i ? UW_ROW_RULE(rows[i - 1]) : carry;
			u32 got = record_search(page, 0, off);
			if (got != want && !(dense == 2 && (off & 255) == 255)) // see uwrec_build: 256 rows in a bucket
				T_FAIL("round %d: rule at %x is %u, expected %u", round, off, got, want);
		}
	}
}

static void find_all(u32 total)
{
	struct RtStackBuf *b = xcalloc(1, sizeof(*b));
	struct RtUw *u = &b->uw;
	struct RtUwKey first = {55, 0};
	struct RtUwChunk *chunk = bpf_map_lookup_elem(&rt_uw_maps, &first);
	u->tgid = 55;
	u->gen = 7;
	for (u32 i = 0; i < total; i += total > 10000 ? 97 : 1) {
		u64 at = 0x10000 + i * 0x10000ull;
		CHECK(rt_uw_find(u, chunk, at) && u->obj == i + 1);
		CHECK(u->told && u->gen == 7 && (total <= 64 || rt_uw_holds(u, u->at)));
		CHECK(rt_uw_find(u, chunk, at + 0x7fff) && u->obj == i + 1 && u->map_off == 0x1000);
		CHECK(!rt_uw_find(u, chunk, at + 0x8000));
		CHECK_EQ(u->map_len, 0);
	}
	CHECK(!rt_uw_find(u, chunk, 0));
	CHECK(!rt_uw_find(u, chunk, 0xffff));
	CHECK(!rt_uw_find(u, chunk, 0x10000 + total * 0x10000ull));
	CHECK(!rt_uw_find(u, chunk, ~0ull));
	free(b);
}
// What chunks.c writes is what the walker finds: one chunk, two levels, three levels, and fewer again.
TEST(chunks)
{
	static const u32 totals[] = {1, 63, 64, 65, 200, 4096, 4097, 20000, 65530, 130, 3};
	struct UwChunks have = {0};
	start();
	for (u32 t = 0; t < ARRAY_LEN(totals); t++) {
		struct ProcMap *maps = xcalloc(totals[t], sizeof(*maps));
		struct SymObject *objs = xcalloc(totals[t], sizeof(*objs));
		for (u32 i = 0; i < totals[t]; i++) {
			objs[i].id = i + 1;
			maps[i] = (struct ProcMap){.start = 0x10000 + i * 0x10000ull, .end = 0x18000 + i * 0x10000ull, .file_off = 0x1000, .obj = &objs[i]};
		}
		CHECK(uwchunks_publish(-1, 55, 7, maps, totals[t], 0, &have));
		CHECK_EQ(have.leaves, totals[t] > 64 ? (totals[t] + 63) / 64 : 0);
		CHECK_EQ(rt_host_map(&rt_uw_maps)->n, 2 + have.leaves + have.uppers); // with the process of start()
		find_all(totals[t]);
		free(maps);
		free(objs);
	}
	uwchunks_forget(-1, 55, &have);
	CHECK_EQ(rt_host_map(&rt_uw_maps)->n, 1);
}

// ---- mappings asked of the kernel: a made-up task whose tree has an arange root over two leaves, of 15 and of 2 mappings of 0x10000 bytes
struct FakeSb {
	u64 pad;
	u32 dev, pad2;
};
struct FakeInode {
	u64 pad, ino, size, sb, mtime, mtime_ns;
};
struct FakeFile {
	u64 pad, inode;
};
struct FakeVma {
	u64 start, end, pgoff, file;
};
struct FakeMm {
	u64 root, vdso, seq;
};
struct FakeTaskMm {
	u64 pad, mm, execs;
};
struct FakeNode {
	u64 parent, word[31];
} __attribute__((aligned(256)));
#define FAKES 17
static struct {
	struct FakeSb sb;
	struct FakeInode inode;
	struct FakeFile file;
	struct FakeVma vma[FAKES];
	struct FakeMm mm;
	struct FakeTaskMm task;
} fake;
static struct FakeNode fake_root, fake_leaf[2];
#define FAKE_AT(i) (TEXT + 0x100000 * (u64)(i))

static void fake_process(void)
{
	memset(&fake, 0, sizeof(fake));
	memset(fake_leaf, 0, sizeof(fake_leaf));
	memset(&fake_root, 0, sizeof(fake_root));
	fake.sb.dev = 8 << 20 | 1;
	fake.inode = (struct FakeInode){0, 4711, 123456, (u64)&fake.sb, 1000, 5};
	fake.file.inode = (u64)&fake.inode;
	fake_root.word[0] = FAKE_AT(8) - 1; // first leaf: gaps and mappings by turns, 8 of each but for the last gap
	fake_root.word[1] = ~0ull;
	fake_root.word[9] = (u64)&fake_leaf[0] | LEAF << 3; // slots of an arange node are behind 9 pivots
	fake_root.word[10] = (u64)&fake_leaf[1] | LEAF << 3;
	for (u32 i = 0; i < 11; i++) { // leaf i / 8: at word 2k the gap's end, at 2k + 1 the mapping's
		u64 *w = fake_leaf[i / 8].word, at = FAKE_AT(i);
		u32 k = i % 8 * 2;
		fake.vma[i] = (struct FakeVma){at, at + 0x10000, 1, (u64)&fake.file};
		w[k] = at - 1;
		if (k + 1 < 15)
			w[k + 1] = at + 0xffff;
		w[15 + k + 1] = (u64)&fake.vma[i];
	}
	fake.mm = (struct FakeMm){(u64)&fake_root | ARANGE << 3 | 2, 0, 100};
	fake.task = (struct FakeTaskMm){0, (u64)&fake.mm, 1};
	rt_host.task = (u64)&fake.task;
	rt_off_mm = 8, rt_off_exec_id = 16, rt_off_tree = 0, rt_off_root = 0, rt_off_vdso = 8, rt_off_pivots = 8, rt_off_slots = 128, rt_off_aslots = 80;
	rt_off_vm_start = 0, rt_off_vm_end = 8, rt_off_vm_pgoff = 16, rt_off_vm_file = 24, rt_off_f_inode = 8;
	rt_off_i_ino = 8, rt_off_i_size = 16, rt_off_i_sb = 24, rt_off_s_dev = 8;
	rt_off_mm_seq = 16, rt_off_i_mtime = 32, rt_off_i_mtime_ns = 40;
	rt_uw_vmas = 1;
}
static void fake_end(void)
{
	rt_uw_vmas = rt_off_mm = 0;
	rt_host.task = 0;
}
static void tell_file(u32 obj, u64 ino)
{
	struct RtUwFile f = {ino, ino ? 123456 : 0, ino ? 1000000000005 : 0, ino ? 8 << 20 | 1 : 0, 0};
	bpf_map_update_elem(&rt_uw_files, &f, &obj, 0);
}
TEST(mappings_of_the_kernel)
{
	start();
	fake_process();
	struct RtUw *u = xcalloc(1, sizeof(*u));
	u->task = rt_host.task;
	tell_file(9, 4711);
	for (u32 i = 0; i < 11; i++) {
		for (u64 off = 0; off < 0x10000; off += 0xffff) {
			CHECK(ask_kernel(u, FAKE_AT(i) + off));
			CHECK(u->map_start == FAKE_AT(i) && u->map_len == 0x10000 && u->map_off == 4096 && u->obj == 9 && !u->unknown && !u->gone);
		}
		u->obj = 0;
		CHECK(!ask_kernel(u, FAKE_AT(i) + 0x10000) && !u->map_len && u->unknown && u->gone && !u->obj);
	}
	CHECK(!ask_kernel(u, 0) && !ask_kernel(u, 1) && !ask_kernel(u, ~0ull) && !u->obj);
	for (u32 i = 0; i < 4; i++) { // another file by its number, its size, its time: each has a number of its own
		u64 *what[] = {&fake.inode.ino, &fake.inode.size, &fake.inode.mtime, &fake.inode.mtime_ns};
		u32 obj;
		(*what[i])++;
		CHECK(!ask_kernel(u, FAKE_AT(1)) && u->unknown && !u->gone && u->map_len == 0x10000);
		obj = u->obj;
		struct RtUwFile *f = bpf_map_lookup_elem(&rt_uw_news, &(u32){obj & ~RT_UW_NEW});
		CHECK(obj & RT_UW_NEW && f && f->ino == fake.inode.ino && f->size == fake.inode.size);
		CHECK(!ask_kernel(u, FAKE_AT(2)) && u->obj == obj);
		CHECK_EQ(rt_host_map(&rt_uw_news)->n, i + 1);
		(*what[i])--;
		CHECK(ask_kernel(u, FAKE_AT(1)) && u->obj == 9);
	}
	struct RtUwFile any = {4712, RT_UW_ANY, RT_UW_ANY, 8 << 20 | 1, 0};
	bpf_map_update_elem(&rt_uw_files, &any, &(u32){0}, 0); // a file of memory that code is made in
	fake.inode.ino = 4712;
	CHECK(!ask_kernel(u, FAKE_AT(1)) && !u->unknown && !u->obj && u->map_len == 0x10000);
	fake.inode.ino = 4711;
	fake.vma[1].file = 0; // code made at run time
	CHECK(!ask_kernel(u, FAKE_AT(1)) && !u->unknown && !u->obj && u->map_len == 0x10000);
	u->reg[RT_R_SP] = FAKE_AT(1) + 0xff00; // the stack: code may run there, but has called nothing
	CHECK(!ask_kernel(u, FAKE_AT(1)) && !u->unknown && u->map_len == 0x10000);
	u->is_ra = 1;
	CHECK(!ask_kernel(u, FAKE_AT(1)) && u->unknown && u->gone && !u->obj && !u->map_len);
	u->is_ra = 0;
	fake.mm.vdso = FAKE_AT(1);
	tell_file(7, 0);
	CHECK(!ask_kernel(u, FAKE_AT(1)) && u->unknown); // below 4 GB lies that of 32-bit processes
	struct RtUwFile vdso32 = {.size = 1};
	u32 six = 6;
	bpf_map_update_elem(&rt_uw_files, &vdso32, &six, 0);
	CHECK(ask_kernel(u, FAKE_AT(1)) && u->obj == 6 && u->map_off == 0);
	u->map_start = fake.mm.vdso = 0x7fff12340000;
	CHECK(file_of(u, (u64)&fake.vma[1], (u64)&fake.mm) && known_file(u) && u->obj == 7);
	fake.mm.vdso = FAKE_AT(1);
	fake.mm.root = 0; // no mappings
	CHECK(!ask_kernel(u, FAKE_AT(1)));
	fake.mm.root = (u64)&fake_root | 9 << 3 | 2; // no type we know
	CHECK(!ask_kernel(u, FAKE_AT(1)));
	fake.mm.root = 0x5002; // and nothing there: the host cannot read it, nor can the kernel
	rt_uw_vmas = 0;
	CHECK(!ask_kernel(u, FAKE_AT(1)) && u->unknown);
	free(u);
	fake_end();
}
// A process user space has not told of is walked; one that it told of before an execve is not given the old program's frames.
TEST(new_process)
{
	start();
	fake_process();
	three(rsp8);
	behind(&stack[0]);
	struct RtUwKey key = {77, 0};
	bpf_map_delete_elem(&rt_uw_maps, &key);
	tell_file(1, 4711);
	check_three(walk_now());
	CHECK_EQ(asked_procs, 1);
	fake_end();
}
// A return address that lies in no mapping is no frame, and the stack is cut before it.
TEST(a_return_address_where_no_code_is)
{
	for (u32 only = 0; only < 2; only++) {
		start();
		fake_process();
		three(rsp8);
		behind(&stack[0]);
		tell_file(1, 4711);
		stack[0] = stack[9] = 0x39;
		regs.bp = STACK + 8 * 8;
		struct RtStack *st = only ? result(rt_ustack_fp(NULL, 0, RT_SRC_TP | RT_SRC_F_FP)) : walk_now();
		CHECK(st && st->n == 1);
		CHECK_EQ(st->why, only ? RT_WHY_FP_END : RT_WHY_BAD_CFA);
		CHECK_EQ(st->flags, RT_STACK_USER | RT_STACK_INCOMPLETE);
		fake_end();
	}
}
TEST(new_program_in_a_process)
{
	start();
	fake_process();
	three(rsp8);
	behind(&stack[0]);
	tell_file(1, 4711);
	put_map(77, TEXT, 0x10000, 1, OFF);
	check_three(walk_now()); // checked once
	struct RtUwKey key = {77, 0};
	struct RtUwChunk *c = bpf_map_lookup_elem(&rt_uw_maps, &key);
	CHECK(c->map[0].checked != 0);
	c->gen += 1000; // a new set of mappings
	c->map[0].obj = 5; // what it was told is not looked at again ...
	CHECK_EQ(RT_FRAME_ID(walk_now()->frames[0]), 5);
	CHECK_EQ(asked_procs, 0);
	fake.task.execs++; // ... until the process calls execve
	check_three(walk_now());
	CHECK_EQ(asked_procs, 1);
	c->map[0].obj = 1;
	check_three(walk_now());
	put_map(77, TEXT, 0x10000, 5, OFF); // told late: of the program before
	check_three(walk_now());
	put_map(77, TEXT - 0x8000, 0x18000, 1, OFF); // another place
	check_three(walk_now());
	put_map(77, TEXT, 0x10000, 1, OFF);
	check_three(walk_now());
	c = bpf_map_lookup_elem(&rt_uw_maps, &key);
	CHECK(c->map[0].checked != 0);
	regs.ip = 0x1000; // registers of the program before, while execve makes the next
	u64 before = rt_stack_counters()->why[RT_WHY_EXITING];
	CHECK_EQ(rt_ustack(NULL, 0, RT_SRC_TP), 0);
	CHECK_EQ(rt_stack_counters()->why[RT_WHY_EXITING], before + 1);
	fake_end();
}
// What lies at an address changes, and user space has not heard of it: the kernel's mapping names it, or nobody does.
static void changed(void) // as mmap, munmap, mprotect and mremap leave it behind
{
	fake.mm.seq += 2;
}
// Code in no file of which its maker tells: frames of an object and its rows, as long as the list that user space has read is the one that is there.
static bool read_heap(void *arg, u64 addr, void *buf, size_t n)
{
	(void)arg;
	return !read_user(buf, (u32)n, (void *)addr);
}
TEST(code_of_which_its_maker_tells)
{
	struct JitMemory m = {read_heap, NULL};
	struct RtUwKey key = {77, 0};
	struct RtJit row = {.desc = {HEAP}};
	u32 pid = 77;
	u64 first;
	start();
	fake_process();
	fake.vma[0].file = 0;
	three(rsp8);
	behind(&stack[0]);
	struct RtUwChunk *c = bpf_map_lookup_elem(&rt_uw_maps, &key);
	c->map[0] = (struct RtUwMapping){TEXT, 0x10000, RT_UW_MADE | 1, OFF, 0}; // bytes
	check_three(walk_now());
	check_three(walk_now());
	heap[0] = 1 | 1ull << 32, heap[1] = heap[2] = HEAP + 0x100; // the list
	heap[0x100 / 8 + 2] = HEAP + 0x200, heap[0x100 / 8 + 3] = 99;
	c->jits = gdbjit_version(&m, HEAP, 1, &first);
	CHECK(c->jits && first == HEAP + 0x100);
	bpf_map_update_elem(&rt_jits, &pid, &row, 0);
	check_three(walk_now());
	check_three(walk_now()); // from what is remembered
	CHECK_EQ(asked_procs, 0);
	heap[0x100 / 8 + 3] = 98; // other code is there
	for (u32 i = 0; i < 2; i++) {
		struct RtStack *st = walk_now();
		CHECK_EQ(st->n, 1);
		CHECK_EQ(st->frames[0], TEXT | RT_FRAME_NOFILE | RT_FRAME_EXACT);
		CHECK_EQ(st->why, RT_WHY_NEW_FILE);
		CHECK_EQ(asked_procs, 1); // once
	}
	c->map[0] = (struct RtUwMapping){TEXT, 16, 0, 0, 0}; // nothing was told of that place yet: nor is it left by a guess
	CHECK_EQ(walk_now()->why, RT_WHY_NEW_FILE);
	c->map[0] = (struct RtUwMapping){TEXT, 0x10000, RT_UW_MADE | 1, OFF, 0};
	c->jits = gdbjit_version(&m, HEAP, 1, &first);
	check_three(walk_now());
	fake.vma[0].file = (u64)&fake.file; // a file is there by now, which was not told
	tell_file(1, 4711);
	changed();
	CHECK_EQ(walk_now()->frames[0], (RT_FRAME_MAKE(1, TEXT - fake.vma[0].start + 0x1000)) | RT_FRAME_EXACT);
	row.desc[0] = 8; // nobody's memory
	bpf_map_update_elem(&rt_jits, &pid, &row, 0);
	fake.vma[0].file = 0;
	changed();
	CHECK_EQ(walk_now()->why, RT_WHY_NEW_FILE);
	fake_end();
}
#define FRAME_OF(id, at) RT_FRAME_MAKE(id, (at) - TEXT + OFF)
TEST(another_file_in_the_place)
{
	start();
	fake_process();
	three(rsp8);
	behind(&stack[0]);
	tell_file(1, 4711);
	for (u32 round = 0; round < 3; round++) {
		check_three(walk_now());
		check_three(walk_now()); // from what is remembered
		struct FakeInode other = {0, 4712, 123456, (u64)&fake.sb, 1000, 5};
		struct FakeFile file = {0, (u64)&other};
		tell_file(6, 4712);
		fake.vma[0].file = (u64)&file;
		changed();
		CHECK_EQ(walk_now()->frames[0], (FRAME_OF(6, TEXT)) | RT_FRAME_EXACT);
		CHECK_EQ(walk_now()->why, RT_WHY_NO_TABLE); // object 6 has none
		other.mtime++; // the same number, but a file made since
		changed();
		struct RtStack *st = walk_now();
		CHECK(RT_FRAME_ID(st->frames[0]) & RT_UW_NEW);
		CHECK_EQ(RT_FRAME_OFF(st->frames[0]), OFF);
		CHECK_EQ(st->why, RT_WHY_NEW_FILE);
		CHECK(st->flags & RT_STACK_INCOMPLETE);
		fake.vma[0].file = 0; // code made at run time
		changed();
		CHECK_EQ(walk_now()->frames[0], (TEXT | RT_FRAME_NOFILE) | RT_FRAME_EXACT);
		fake.vma[0].end = TEXT; // nothing: munmap
		changed();
		st = result(rt_ustack(NULL, 0, RT_SRC_TP));
		CHECK(!st || (st->frames[0] == (TEXT | RT_FRAME_NOFILE | RT_FRAME_EXACT) && st->flags & RT_STACK_INCOMPLETE));
		fake.vma[0].end = TEXT + 0x10000;
		fake.vma[0].file = (u64)&fake.file;
		fake.vma[0].pgoff = 3; // the same file at another offset
		changed();
		CHECK_EQ(walk_now()->frames[0], (RT_FRAME_MAKE(1, 0x3000)) | RT_FRAME_EXACT);
		fake.vma[0].pgoff = 1;
		changed();
	}
	CHECK_EQ(asked_procs, 1); // once, until user space allows it again
	fake_end();
}
TEST(mapping_split_in_two) // mprotect on its first pages: the same file and offsets on both sides
{
	start();
	fake_process();
	three(rsp8);
	behind(&stack[0]);
	tell_file(1, 4711);
	struct RtUwKey key = {77, 0};
	fake.vma[0].end = TEXT + 0x8000;
	check_three(walk_now());
	struct RtUwChunk *c = bpf_map_lookup_elem(&rt_uw_maps, &key);
	CHECK_EQ(c->map[0].checked, 0); // only the half that was asked for is known to hold
	fake.vma[0].end = TEXT + 0x20000; // and joined with its neighbour
	changed();
	check_three(walk_now());
	CHECK(c->map[0].checked != 0);
	fake_end();
}
TEST(code_of_memory_becomes_a_file)
{
	start();
	fake_process();
	three(rsp8);
	behind(&stack[0]);
	tell_file(1, 4711);
	put_map(77, TEXT, 0x10000, 0, 0);
	fake.vma[0].file = 0;
	CHECK_EQ(walk_now()->frames[0], (TEXT | RT_FRAME_NOFILE) | RT_FRAME_EXACT);
	CHECK_EQ(asked_procs, 0);
	fake.vma[0].file = (u64)&fake.file;
	changed();
	check_three(walk_now());
	fake_end();
}
// Kernels that do not count changes: each stack looks. Those without the tree: what was told holds, and raw addresses are named later.
TEST(kernels_without_a_count_of_changes)
{
	start();
	fake_process();
	three(rsp8);
	behind(&stack[0]);
	tell_file(1, 4711);
	rt_off_mm_seq = 0;
	check_three(walk_now());
	fake.vma[0].pgoff = 3;
	CHECK_EQ(walk_now()->frames[0], (RT_FRAME_MAKE(1, 0x3000)) | RT_FRAME_EXACT);
	fake.vma[0].pgoff = 1;
	check_three(walk_now());
	rt_uw_vmas = 0;
	put_map(77, TEXT, 0x10000, 1, OFF);
	fake.vma[0].pgoff = 3;
	check_three(walk_now());
	put_map(77, TEXT, 0x10000, 0, 0);
	CHECK_EQ(walk_now()->frames[0], (TEXT) | RT_FRAME_EXACT);
	fake_end();
}
// Tables that will never be there have their own reasons.
TEST(why_there_is_no_table)
{
	static const u32 states[] = {RT_UW_PENDING, RT_UW_DENIED, RT_UW_UNREADABLE, RT_UW_FULL};
	static const u32 whys[] = {RT_WHY_NO_TABLE, RT_WHY_NO_PERM, RT_WHY_UNREADABLE, RT_WHY_FULL};
	start();
	three(rsp8);
	behind(&stack[0]);
	for (u32 i = 0; i < ARRAY_LEN(states); i++) {
		struct RtUwObj o = {.state = states[i]};
		bpf_map_update_elem(&rt_uw_obj, &(u32){1}, &o, 0);
		struct RtStack *st = walk_now();
		CHECK_EQ(rt_stack_counters()->why[whys[i]], 1);
		CHECK(st->flags & RT_STACK_INCOMPLETE && why_text(whys[i])[0]);
	}
	put_map(77, TEXT, 0x10000, RT_UW_OBJS + 5, OFF); // more objects than there is room for
	CHECK_EQ(walk_now()->why, RT_WHY_FULL);
	CHECK_EQ(RT_FRAME_ID(walk_now()->frames[0]), RT_UW_OBJS + 5);
}

// ---- interning
static u64 intern_frames(const u64 *frames, u32 n)
{
	struct RtStackBuf *b = rt_stack_get();
	struct RtStack *st = (struct RtStack *)b->buf;
	memset(st, 0, sizeof(*st));
	st->n = n;
	memcpy(st->frames, frames, n * 8);
	u64 h = hash_kernel(st), id = rt_stack_intern(st, h, st->check);
	CHECK(rt_stack_put(b));
	return id;
}
TEST(interning)
{
	start();
	u64 f[RT_KSTACK_MAX], ids[RT_KSTACK_MAX + 1] = {0};
	for (u32 i = 0; i < RT_KSTACK_MAX; i++)
		f[i] = 0xffffffff81000000ull + i * 0x1234;
	for (u32 n = 1; n <= RT_KSTACK_MAX; n++) {
		ids[n] = intern_frames(f, n);
		CHECK_EQ(RT_STACK_NFRAMES(ids[n]), n);
		struct RtStack *st = result(ids[n]);
		CHECK(st && st->n == n && !memcmp(st->frames, f, n * 8));
	}
	for (u32 n = 1; n <= RT_KSTACK_MAX; n++)
		CHECK(intern_frames(f, n) == ids[n]);
	f[3] ^= 1;
	CHECK(intern_frames(f, 10) != ids[10]);
	CHECK_EQ(intern_frames(f, 0), 0);
}
TEST(collisions)
{
	start();
	u64 f[4] = {1, 2, 3, 4}, id = intern_frames(f, 4);
	struct RtStack *st = result(id);
	CHECK(st != NULL);
	st->check ^= 1; // another stack that has this id
	u64 second = intern_frames(f, 4);
	CHECK_EQ(second, id + (1 << 12));
	CHECK_EQ(intern_frames(f, 4), second);
	for (u32 i = 1; i < RT_STACK_PROBES; i++) {
		result(id + ((u64)i << 12))->check ^= 1;
		CHECK_EQ(intern_frames(f, 4), i + 1 < RT_STACK_PROBES ? id + ((u64)(i + 1) << 12) : RT_STACK_LOST);
	}
	CHECK_EQ(rt_stack_counters()->stack_collision, 1);
	CHECK_EQ(rt_stack_counters()->stack_full, 0);
}
TEST(full_class_spills)
{
	start();
	u32 was[] = {rt_stacks_16.max_entries, rt_stacks_48.max_entries, rt_stacks_128.max_entries, rt_stacks_512.max_entries, rt_stacks_1024.max_entries};
	struct RtMapDef *maps[] = {&rt_stacks_16, &rt_stacks_48, &rt_stacks_128, &rt_stacks_512, &rt_stacks_1024};
	u64 ids[6];
	for (u32 i = 0; i < 5; i++)
		maps[i]->max_entries = 1;
	for (u64 i = 0; i < 6; i++)
		ids[i] = intern_frames((u64[]){100 + i}, 1);
	for (u32 i = 0; i < 5; i++) {
		CHECK(ids[i] && result(ids[i])->frames[0] == 100 + i);
		CHECK_EQ(intern_frames((u64[]){100 + i}, 1), ids[i]); // found again where it went
	}
	CHECK_EQ(ids[5], RT_STACK_LOST);
	CHECK_EQ(rt_stack_counters()->stack_full, 1);
	for (u32 i = 0; i < 5; i++)
		maps[i]->max_entries = was[i];
}
TEST(buffers_nest)
{
	start();
	struct RtStackBuf *b[RT_STACK_BUFS];
	for (u32 i = 0; i < RT_STACK_BUFS; i++) {
		b[i] = rt_stack_get();
		CHECK(b[i] != NULL);
	}
	CHECK(!rt_stack_get());
	CHECK_EQ(rt_stack_counters()->scratch_busy, 1);
	CHECK(rt_stack_put(b[2]));
	CHECK(rt_stack_get() == b[2]);
	rt_host.pid_tgid++; // another task took it in between
	CHECK(!rt_stack_put(b[1]));
	rt_host.pid_tgid--;
}

// ---- trimming
static u64 kframes[128];
static u32 nkframes;
static long get_stack_fails(void *ctx, void *buf, u32 size, u64 flags)
{
	return -ENOMEM;
}

static long get_stack(void *ctx, void *buf, u32 size, u64 flags)
{
	if (!nkframes)
		return -EFAULT;
	u32 n = MIN(nkframes * 8, size);
	memset(buf, 0, size);
	memcpy(buf, kframes, n);
	return n;
}
static u64 kstack(u64 limit, u64 src) // as generated code does it
{
	struct RtStackBuf *b = rt_kstack_begin(limit, src);
	long got = bpf_get_stack(NULL, (u8 *)b + RT_KSTACK_AT, b->want & RT_KSTACK_MASK, 0);
	return rt_kstack_end(b, (u64)got, limit, src, NULL);
}
TEST(trim)
{
	start();
	const u64 K = 0xffffffff81000000ull, M = 0xffffffffc0200000ull;
	// kernel: f at K, bpf_trace_run2 at K+0x100, g at K+0x180; a module: m at M, __bpf_trace_m at M+0x80, m2 at M+0x100; another from M+0x1900 on,
	// whose neighbour begins in the page of its last function
	static const char a[] = "a", b[] = "b", c[] = "c";
	struct TextSym syms[] = {{K, NULL, false},   {K + 0x100, NULL, true}, {K + 0x180, NULL, false},	 {M, a, false},	     {M + 0x80, a, true},
				 {M + 0x100, a, false}, {M + 0x1900, b, false},	 {M + 0x1a80, c, true}, {M + 0x1b00, c, false}};
	static struct RtTrim trim;
	u32 zero = 0;
	trim_bounds(syms, ARRAY_LEN(syms), &trim);
	for (u64 i = 1; i < trim.n; i++)
		CHECK(trim.bound[i - 1] < trim.bound[i]);
	bpf_map_update_elem(&rt_trim, &zero, &trim, 0);
	struct {
		u64 addr;
		bool tracer;
	} at[] = {{K, false},	     {K + 0xff, false}, {K + 0x100, true},  {K + 0x17f, true},	{K + 0x180, false}, {K + 0xfff, false}, {K + 0x1000, true},
		  {K - 1, true},     {M - 1, true},	{M, false},	    {M + 0x80, true},	{M + 0xff, true},   {M + 0x100, false}, {M + 0xfff, false},
		  {M + 0x1000, true}, {M + 0x18ff, true}, {M + 0x1a7f, false}, {M + 0x1a80, true}, {M + 0x1aff, true}, {M + 0x1b00, false},
		  {M + 0x1fff, false}, {M + 0x2000, true}};
	for (u32 i = 0; i < ARRAY_LEN(at); i++)
		if (is_tracer(bpf_map_lookup_elem(&rt_trim, &zero), at[i].addr) != at[i].tracer)
			T_FAIL("%llx", (unsigned long long)at[i].addr);
	rt_host.get_stack = get_stack;
	u64 st[] = {M + 0x5000, M + 0x5100, K + 0x120, M + 0x90, M + 0x10, K + 0x10, K + 0x190};
	memcpy(kframes, st, sizeof(st));
	nkframes = ARRAY_LEN(st);
	struct RtStack *r = result(kstack(0, RT_SRC_RAW));
	CHECK(r && r->n == 3 && r->frames[0] == M + 0x10 && r->frames[2] == K + 0x190);
	r = result(kstack(2, RT_SRC_RAW));
	CHECK(r && r->n == 2 && r->frames[0] == M + 0x10);
	r = result(kstack(0, RT_SRC_PERF)); // its context gives the interrupted registers: nothing to trim
	CHECK(r && r->n == 7);
	nkframes = 127; // kernel.perf_event_max_stack: there may be more
	for (u32 i = 0; i < nkframes; i++)
		kframes[i] = M + 16 * i;
	r = result(kstack(100, RT_SRC_PERF)); // as many as were asked for
	CHECK(r && r->n == 100 && !(r->flags & RT_STACK_CUT));
	CHECK_EQ(rt_stack_counters()->kstack_cut, 0);
	r = result(kstack(0, RT_SRC_PERF));
	CHECK(r && r->n == 127 && r->flags & RT_STACK_CUT);
	CHECK_EQ(rt_stack_counters()->kstack_cut, 1);
	nkframes = 0;
	CHECK_EQ(kstack(0, RT_SRC_PERF), 0);
	CHECK_EQ(rt_stack_counters()->stack_kfail, 0);
	rt_host.get_stack = get_stack_fails; // what is no answer but a failure is counted
	CHECK_EQ(kstack(0, RT_SRC_PERF), RT_STACK_LOST);
	CHECK_EQ(rt_stack_counters()->stack_kfail, 1);
}

T_MAIN()
#endif
