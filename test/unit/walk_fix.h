// A made-up process for the walker on the host: one object with rows, a stack, a heap. Include after t.h. What tests make of it is x86-64; test/fuzz/walk_fuzz.c
// takes registers of any machine.
// Invariant: memory outside of these cannot be read.
#ifndef SONDE_WALK_FIX_H
#define SONDE_WALK_FIX_H
#include "rt_host.h"
#include "runtime/runtime.h"
#include "walk_files.h"
#include "unwind/internal.h"

// Object 1, mapped at TEXT from file offset OFF; a stack at STACK, the heap at HEAP
#define TEXT 0x400000ull
#define OFF 0x1000ull
#define STACK 0x7ffe0000ull
#define WORDS 512
#define HEAP 0x10000000ull
static u64 stack[WORDS];
static u64 heap[1024];
static u8 text[4096]; // bytes of code at TEXT, where the walker looks at them
static struct RtPtRegs regs;
static struct RtUwRule rules[64];
static u32 nrules;
static u8 page[RT_UW_VAL_SIZE];
static struct RtMapDef inner = {RT_MAP_ARRAY, 4, RT_UW_VAL_SIZE, 1};
static u32 asked_objs, asked_procs, asked_pages;
static u64 asked_page;
static long pages_full; // what asking for a page returns
static struct Codes *codes;
static long codes_full; // what sending a code returns

static u32 recursion; // not 0: the stack is as many return addresses to TEXT + 0x110, then one to TEXT + 0x210

static long read_user(void *dst, u32 size, const void *src)
{
	u64 at = (u64)src;
	if (recursion && at >= STACK && at + size <= STACK + 8ull * (recursion + 64) && !(at & 7))
		for (u32 i = 0; i < size / 8; i++)
			((u64 *)dst)[i] = (at - STACK) / 8 + i < recursion ? TEXT + 0x110 : TEXT + 0x210;
	else if (at >= STACK && at - STACK <= sizeof(stack) - size)
		memcpy(dst, (u8 *)stack + (at - STACK), size);
	else if (at >= HEAP && at - HEAP <= sizeof(heap) - size)
		memcpy(dst, (u8 *)heap + (at - HEAP), size);
	else if (at >= TEXT && at - TEXT <= sizeof(text) - size)
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
	if (ev->ev.kind == RT_EV_CODE) {
		codes_add(codes, data, size);
		return codes_full;
	}
	if (ev->ev.kind == RT_EV_UW_PAGE) {
		asked_page = ev->tgid;
		asked_pages += ev->ev.id == 1;
		return pages_full;
	}
	asked_objs += ev->ev.id != 0;
	asked_procs += ev->ev.id == 0;
	return 0;
}

static void put_map(u32 tgid, u64 start, u64 len, u32 obj, u64 off)
{
	struct RtUwKey key = {tgid, 0};
	static u64 gen;
	struct RtUwChunk c = {.n = 1, .gen = ++gen};
	for (u32 i = 0; i < RT_UW_CHUNK; i++)
		c.map[i].start = RT_UW_NO_START;
	c.map[0] = (struct RtUwMapping){start, (u32)(len / RT_UW_PAGE), obj, off, 0};
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
	memset(heap, 0, sizeof(heap));
	memset(text, 0x90, sizeof(text));
	memset(&regs, 0, sizeof(regs));
	regs.sp = STACK;
#if defined(__x86_64__)
	regs.cs = 0x33;
	regs.ip = TEXT;
	regs.orig_ax = ~0ull;
#else
	regs.pc = TEXT;
#endif
	nrules = asked_objs = asked_procs = asked_pages = 0;
	asked_page = ~0ull;
	pages_full = 0;
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
static inline struct RtStack *walk_now(void)
{
	struct RtStack *st = result(rt_ustack(NULL, 0, RT_SRC_TP));
	return st ? st : &none;
}
#define FRAME(at) RT_FRAME_MAKE(1, (at) - TEXT + OFF)
#define CHECK_FRAME(st, i, at) CHECK_EQ((st)->frames[i], FRAME(at)) // a return address
#define CHECK_EXACT(st, i, at) CHECK_EQ((st)->frames[i], FRAME(at) | RT_FRAME_EXACT)
static const struct RtUwRule end_rule = {.kind = RT_UW_END};
static const struct RtUwRule rsp8 = {.kind = RT_UW_REG, .reg = 7, .ra = -8, .off = 8};
#endif
