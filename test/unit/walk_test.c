// The kernel side of stacks on the host: the walker on recorded and made-up memory, the searches, interning, trimming.
#include "t.h"
#include "rt_host.h"
#include "bpfrt/stack.bpf.c"
#include "bpfrt/rows.bpf.c"
#include "bpfrt/unwind.bpf.c"
#include "bpfrt/vma.bpf.c"
#include "unwind/internal.h"
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

// ---- a made-up process: object 1, mapped at TEXT from file offset OFF; a stack at STACK
#define TEXT 0x400000ull
#define OFF 0x1000ull
#define STACK 0x7ffe0000ull
#define WORDS 512
static u64 stack[WORDS];
static u8 text[4096]; // bytes of code at TEXT, where the walker looks at them
static struct RtPtRegs regs;
static struct RtUwRule rules[64];
static u32 nrules;
static u8 page[RT_UW_VAL_SIZE];
static struct RtMapDef inner = {RT_MAP_ARRAY, 4, RT_UW_VAL_SIZE, 1};
static u32 asked_objs, asked_procs;

static long read_user(void *dst, u32 size, const void *src)
{
	u64 at = (u64)src;
	if (at >= STACK && at + size <= STACK + sizeof(stack))
		memcpy(dst, (u8 *)stack + (at - STACK), size);
	else if (at >= TEXT && at + size <= TEXT + sizeof(text))
		memcpy(dst, text + (at - TEXT), size);
	else
		return -EFAULT;
	return 0;
}

static struct pt_regs *task_regs(struct task_struct *t)
{
	return (struct pt_regs *)&regs;
}

static long on_event(void *ringbuf, const void *data, u64 size, u64 flags)
{
	const struct RtProcNew *ev = data;
	asked_objs += ev->ev.id != 0;
	asked_procs += ev->ev.id == 0;
	return 0;
}

static void put_map(u32 tgid, u64 start, u64 len, u32 obj, u64 off)
{
	struct RtUwKey key = {tgid, 0};
	static u64 gen;
	struct RtUwChunk c = {.n = 1, .nchunks = 1, .gen = ++gen};
	for (u32 i = 0; i < RT_UW_CHUNKS; i++)
		c.first[i] = RT_UW_NO_START;
	for (u32 i = 0; i < RT_UW_CHUNK; i++)
		c.map[i].start = RT_UW_NO_START;
	c.first[0] = start;
	c.map[0] = (struct RtUwMapping){start, (u32)(len / RT_UW_PAGE), obj, off};
	bpf_map_update_elem(&rt_uw_maps, &key, &c, 0);
}

// The object's table: rows (offset from TEXT, rule), in one page.
static void put_rows(const u64 *rows, u32 n)
{
	u32 zero = 0, one = 1, entry = 1; // value 0, byte 4
	struct RtUwObj o = {.dir = 0, .first_page = 0, .npages = 1, .state = RT_UW_READY};
	void *in = &inner;
	memset(page, 0, sizeof(page));
	uwrec_build(rows, n, 0, page + 4);
	bpf_map_update_elem(&rt_uw_obj, &one, &o, 0);
	bpf_map_update_elem(&rt_uw_dir, &zero, &entry, 0);
	bpf_map_update_elem(&rt_uw_pages, &zero, &in, 0);
	bpf_map_update_elem(&inner, &zero, page, 0);
}

static u32 rule(struct RtUwRule r)
{
	rules[++nrules] = r;
	bpf_map_update_elem(&rt_uw_rules, &nrules, &r, 0);
	return nrules;
}

static void start(void)
{
	rt_host_reset();
	rt_host.read_user = read_user;
	rt_host.task_pt_regs = task_regs;
	rt_host.ringbuf_output = on_event;
	rt_host.pid_tgid = 77ull << 32 | 78;
	memset(stack, 0, sizeof(stack));
	memset(text, 0x90, sizeof(text));
	memset(&regs, 0, sizeof(regs));
	regs.cs = 0x33;
	regs.sp = STACK;
	regs.ip = TEXT;
	regs.orig_ax = ~0ull;
	nrules = asked_objs = asked_procs = 0;
	put_map(77, TEXT, 0x10000, 1, OFF);
}

static struct RtStack *result(u64 id)
{
	void *maps[] = {&rt_stacks_16, &rt_stacks_48, &rt_stacks_128, &rt_stacks_512, &rt_stacks_1024};
	for (u32 i = 0; i < ARRAY_LEN(maps); i++) {
		struct RtStack *st = bpf_map_lookup_elem(maps[i], &id);
		if (st)
			return st;
	}
	return NULL;
}

static struct RtStack none;
static struct RtStack *walk_now(void)
{
	struct RtStack *st = result(rt_ustack(NULL, 0, RT_SRC_TP));
	return st ? st : &none;
}
#define FRAME(at) RT_FRAME_MAKE(1, (at) - TEXT + OFF)
#define CHECK_FRAME(st, i, at) CHECK_EQ((st)->frames[i], FRAME(at))
static const struct RtUwRule end_rule = {.kind = RT_UW_END};
static const struct RtUwRule rsp8 = {.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 8};

// A table of: [0, 0x100) the rule under test, [0x100, 0x200) rsp + 16, [0x200, ...) the root.
static void three(struct RtUwRule r)
{
	struct RtUwRule mid = rsp8;
	mid.off = 16;
	u32 a = rule(r), b = rule(mid), c = rule(end_rule);
	put_rows((u64[]){UW_ROW(OFF, a), UW_ROW(OFF + 0x100, b), UW_ROW(OFF + 0x200, c)}, 3);
}
// ... and frames 1 and 2 behind the one under test: the return address into [0x100, 0x200) is expected at *slot.
static void behind(u64 *slot)
{
	slot[0] = TEXT + 0x110;
	slot[2] = TEXT + 0x210; // CFA of frame 1 is &slot[1] + 16
}
static void check_three(struct RtStack *st)
{
	CHECK_EQ(st->n, 3);
	CHECK_FRAME(st, 0, regs.ip);
	CHECK_FRAME(st, 1, TEXT + 0x110);
	CHECK_FRAME(st, 2, TEXT + 0x210);
	CHECK_EQ(st->why, RT_WHY_OK);
	CHECK_EQ(st->flags, RT_STACK_USER);
	CHECK_EQ(st->pid, 0);
}

TEST(cfa_by_stack_pointer)
{
	start();
	three((struct RtUwRule){.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 32});
	behind(&stack[3]);
	check_three(walk_now());
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
TEST(caller_saved_register_is_not_trusted)
{
	start();
	u32 a = rule(rsp8), b = rule((struct RtUwRule){.kind = RT_UW_REG, .reg = 10, .ra = -8, .off = 8});
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
	CHECK_FRAME(st, 2, TEXT + 0x200);
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
	CHECK_FRAME(st, 2, TEXT + 0x200);
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
	CHECK_EQ(st->why, RT_WHY_OK);
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
	struct RtStack *st = result(rt_ustack(NULL, 0, RT_SRC_TP | RT_SRC_F_FP));
	CHECK(st && st->n == 2);
	CHECK_FRAME(st, 1, TEXT + 0x40);
}

// ---- what is missing is said
TEST(unknown_process_is_asked_for_once)
{
	start();
	rt_host.pid_tgid = 99ull << 32 | 99;
	regs.bp = 0;
	struct RtStack *st = walk_now();
	CHECK_EQ(st->n, 1);
	CHECK_EQ(st->frames[0], TEXT);
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
	CHECK_EQ(st->n, 2);
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

// ---- pending uretprobes: fake kernel structures, read with the same offsets
struct FakeRi {
	u64 stack, orig, next;
};
struct FakeTask {
	u64 utask, mm;
};
TEST(pending_uretprobe)
{
	struct FakeRi outer = {STACK + 8 * 4, TEXT + 0x210, 0}, inner_ri = {STACK, TEXT + 0x110, (u64)&outer};
	u64 xol_vaddr = 0x7ffff000, xol = (u64)&xol_vaddr, utask = (u64)&inner_ri;
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
	CHECK_EQ(st->why, RT_WHY_BAD_READ);
	rt_off_utask = rt_off_xol = rt_off_mm = rt_off_ri_orig = rt_off_ri_next = 0;
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
	uwtable_build(&cfi, rs, &t);
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
	struct RtUwChunk c = {.nchunks = 1};
	for (u32 i = 0; i < RT_UW_CHUNKS; i++)
		c.first[i] = RT_UW_NO_START;
	for (u32 i = 0; i < RT_UW_CHUNK; i++)
		c.map[i].start = RT_UW_NO_START;
	for (u32 i = 0; i < n && c.n < RT_UW_CHUNK; i++) {
		if (!maps[i].obj || (!strstr(maps[i].obj->path, "walk_test") && !strstr(maps[i].obj->path, "libc.so")))
			continue;
		put_object(syms, maps[i].obj, &rs, &ndir, &nval, &inners);
		c.map[c.n++] = (struct RtUwMapping){maps[i].start, (u32)((maps[i].end - maps[i].start) / 4096), maps[i].obj->id, maps[i].file_off};
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

TEST(chunks)
{
	start();
	struct RtStackBuf *b = xcalloc(1, sizeof(*b));
	struct RtUw *u = &b->uw;
	u32 total = 200;
	for (u32 c = 0; c < (total + 63) / 64; c++) {
		struct RtUwKey key = {55, c};
		struct RtUwChunk ch = {.nchunks = (total + 63) / 64};
		for (u32 i = 0; i < RT_UW_CHUNKS; i++)
			ch.first[i] = i * 64 < total ? 0x10000 + i * 64 * 0x10000ull : RT_UW_NO_START;
		for (u32 i = 0; i < 64; i++)
			ch.map[i] = c * 64 + i < total ? (struct RtUwMapping){0x10000 + (c * 64 + i) * 0x10000ull, 8, c * 64 + i + 1, 0x1000}
						       : (struct RtUwMapping){.start = RT_UW_NO_START};
		bpf_map_update_elem(&rt_uw_maps, &key, &ch, 0);
	}
	struct RtUwKey first = {55, 0};
	struct RtUwChunk *chunk = bpf_map_lookup_elem(&rt_uw_maps, &first);
	u->tgid = 55;
	for (u32 i = 0; i < total; i++) {
		u64 at = 0x10000 + i * 0x10000ull;
		CHECK(rt_uw_find(u, chunk, at) && u->obj == i + 1);
		CHECK(rt_uw_find(u, chunk, at + 0x7fff) && u->obj == i + 1 && u->map_off == 0x1000);
		CHECK(!rt_uw_find(u, chunk, at + 0x8000));
		CHECK_EQ(u->map_len, 0);
	}
	CHECK(!rt_uw_find(u, chunk, 0));
	CHECK(!rt_uw_find(u, chunk, 0xffff));
	CHECK(!rt_uw_find(u, chunk, ~0ull));
	free(b);
}

// ---- mappings asked of the kernel: a made-up task whose tree has an arange root over two leaves, of 15 and of 2 mappings of 0x10000 bytes
struct FakeSb {
	u64 pad;
	u32 dev, pad2;
};
struct FakeInode {
	u64 pad, ino, size, sb;
};
struct FakeFile {
	u64 pad, inode;
};
struct FakeVma {
	u64 start, end, pgoff, file;
};
struct FakeMm {
	u64 root, vdso;
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
	fake.inode = (struct FakeInode){0, 4711, 123456, (u64)&fake.sb};
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
	fake.mm = (struct FakeMm){(u64)&fake_root | ARANGE << 3 | 2, 0};
	fake.task = (struct FakeTaskMm){0, (u64)&fake.mm, 1};
	rt_host.task = (u64)&fake.task;
	rt_off_mm = 8, rt_off_exec_id = 16, rt_off_tree = 0, rt_off_root = 0, rt_off_vdso = 8, rt_off_pivots = 8, rt_off_slots = 128, rt_off_aslots = 80;
	rt_off_vm_start = 0, rt_off_vm_end = 8, rt_off_vm_pgoff = 16, rt_off_vm_file = 24, rt_off_f_inode = 8;
	rt_off_i_ino = 8, rt_off_i_size = 16, rt_off_i_sb = 24, rt_off_s_dev = 8;
	rt_uw_vmas = 1;
}
static void fake_end(void)
{
	rt_uw_vmas = rt_off_mm = 0;
	rt_host.task = 0;
}
static void tell_file(u32 obj, u64 ino)
{
	struct RtUwFile f = {ino, ino ? 123456 : 0, ino ? 8 << 20 | 1 : 0, 0};
	bpf_map_update_elem(&rt_uw_files, &f, &obj, 0);
}
TEST(mappings_of_the_kernel)
{
	start();
	fake_process();
	struct RtUw *u = xcalloc(1, sizeof(*u));
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
	fake.inode.size++; // another file by its size
	CHECK(!ask_kernel(u, FAKE_AT(1)) && u->unknown && !u->gone && u->map_len == 0x10000);
	fake.vma[1].file = 0; // code made at run time
	CHECK(!ask_kernel(u, FAKE_AT(1)) && !u->unknown && !u->obj && u->map_len == 0x10000);
	fake.mm.vdso = FAKE_AT(1);
	tell_file(7, 0);
	CHECK(ask_kernel(u, FAKE_AT(1)) && u->obj == 7 && u->map_off == 0);
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
	CHECK(c->image != 0);
	c->gen += 1000; // a new set of mappings
	c->map[0].obj = 5; // what it was told is not looked at again ...
	CHECK_EQ(RT_FRAME_ID(walk_now()->frames[0]), 5);
	fake.task.execs++; // ... until the process calls execve
	check_three(walk_now());
	put_map(77, TEXT, 0x10000, 5, OFF); // told late: of the program before
	check_three(walk_now());
	put_map(77, TEXT - 0x8000, 0x18000, 1, OFF); // another place
	check_three(walk_now());
	put_map(77, TEXT, 0x10000, 1, OFF);
	check_three(walk_now());
	c = bpf_map_lookup_elem(&rt_uw_maps, &key);
	CHECK(c->image != 0);
	regs.ip = 0x1000; // registers of the program before, while execve makes the next
	u64 before = rt_stack_counters()->why[RT_WHY_EXITING];
	CHECK_EQ(rt_ustack(NULL, 0, RT_SRC_TP), 0);
	CHECK_EQ(rt_stack_counters()->why[RT_WHY_EXITING], before + 1);
	fake_end();
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
static u64 kframes[20];
static u32 nkframes;
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
	nkframes = 0;
	CHECK_EQ(kstack(0, RT_SRC_PERF), 0);
	CHECK_EQ(rt_stack_counters()->stack_kfail, 0);
}

T_MAIN()
#endif
