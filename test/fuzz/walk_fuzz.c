// Input: registers, rules, rows, code and stack memory of a made-up thread. The walker ends within its limit, stores a stack that is what it says, and
// gives a reason when it did not reach the end. Whatever a process puts into its memory is such an input.
#include "rt_host.h"
#include "bpfrt/stack.bpf.c"
#include "bpfrt/ksched.bpf.c"
#include "bpfrt/rows.bpf.c"
#include "bpfrt/lang.bpf.c"
#include "bpfrt/py.bpf.c"
#include "bpfrt/java.bpf.c"
#include "bpfrt/unwind.bpf.c"
#include "bpfrt/uprobe.bpf.c"
#include "bpfrt/compat.bpf.c"
#include "bpfrt/vma.bpf.c"
#include "unwind/internal.h"

#define TEXT 0x400000ull
#define STACK 0x7ffe0000ull
static u8 text[512], mem[4096];
static struct RtPtRegs regs;
static u32 limit;

static void check(bool ok)
{
	if (!ok)
		abort();
}

static long read_user(void *dst, u32 size, const void *src)
{
	u64 at = (u64)src;
	if (at >= STACK && at - STACK <= sizeof(mem) - size)
		memcpy(dst, mem + (at - STACK), size);
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

struct Input { // a cursor; past the end: zeros
	const u8 *p, *end;
};
static u64 take(struct Input *in, u32 n)
{
	u64 v = 0;
	n = MIN(n, (u32)(in->end - in->p));
	memcpy(&v, in->p, n);
	in->p += n;
	return v;
}
static u64 address(struct Input *in) // mostly somewhere sensible
{
	u64 v = take(in, 2);
	return v & 1 ? STACK + (v >> 1) % sizeof(mem) : v & 2 ? TEXT + (v >> 2) % 1024 : v & 4 ? take(in, 8) : v >> 3;
}

static void put_rules(struct Input *in)
{
	for (u32 i = 1; i < 8; i++) { // any bytes but those that table building never gives
		struct RtUwRule r;
		for (u32 k = 0; k < sizeof(r); k++)
			((u8 *)&r)[k] = (u8)take(in, 1);
		r.kind %= RT_UW_GO + 1;
		r.ra_kind %= RT_UW_RA_EXACT + 1;
		r.sp_kind %= RT_UW_SP_OTHER + 1;
		r.reg %= RT_NREGS;
		r.index %= RT_NREGS + 1;
		if (take(in, 1) & 1) {
			r.off = (s16)r.off % 256;
			r.ra %= 256;
		}
		bpf_map_update_elem(&rt_uw_rules, &i, &r, 0);
	}
}

static void put_rows(struct Input *in)
{
	static struct RtMapDef inner = {RT_MAP_ARRAY, 4, RT_UW_VAL_SIZE, 1};
	static u8 page[RT_UW_VAL_SIZE];
	struct RtUwObj o = {.npages = 1, .state = (u32)take(in, 1) % 8 ? RT_UW_READY : RT_UW_PENDING};
	u64 rows[16], off = 0;
	u32 n = 0, zero = 0, one = 1, entry = 1;
	void *in_map = &inner;
	while (n < 16 && (n == 0 || off < 1024)) {
		rows[n++] = UW_ROW(off, take(in, 1) % 8);
		off += 1 + take(in, 1);
	}
	memset(page, 0, sizeof(page));
	uwrec_build(rows, n, 0, page + 4);
	bpf_map_update_elem(&rt_uw_obj, &one, &o, 0);
	bpf_map_update_elem(&rt_uw_dir, &zero, &entry, 0);
	bpf_map_update_elem(&rt_uw_pages, &zero, &in_map, 0);
	bpf_map_update_elem(&inner, &zero, page, 0);
	struct RtUwKey key = {77, 0};
	struct RtUwChunk c = {.n = 1};
	for (u32 i = 0; i < RT_UW_CHUNK; i++)
		c.map[i].start = RT_UW_NO_START;
	c.map[0] = (struct RtUwMapping){TEXT, 1, 1, 0, 0};
	bpf_map_update_elem(&rt_uw_maps, &key, &c, 0);
}

static struct RtStack *stored(u64 id)
{
	void *maps[] = {&rt_stacks_16, &rt_stacks_48, &rt_stacks_128, &rt_stacks_512, &rt_stacks_1024};
	for (u32 i = 0; i < ARRAY_LEN(maps); i++) {
		struct RtStack *st = bpf_map_lookup_elem(maps[i], &id);
		if (st)
			return st;
	}
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct Input in = {data, data + size};

	rt_host_reset();
	rt_host.read_user = read_user;
	rt_host.task_pt_regs = task_regs;
	rt_host.pid_tgid = 77ull << 32 | 78;
	rt_uw_count_ends = 1;
	limit = (u32)take(&in, 1) % 4 ? 0 : (u32)take(&in, 1);
	u64 src = RT_SRC_TP | (take(&in, 1) & 1 ? RT_SRC_F_FP : 0);
	u64 *r = (u64 *)&regs;
	for (u32 i = 0; i < sizeof(regs) / 8; i++)
		r[i] = address(&in);
#if defined(__x86_64__)
	u8 mode = (u8)take(&in, 1);
	regs.cs = mode & 1 ? 0x33 : mode & 14 ? 0x23 : 0x0f; // 64-bit, 32-bit, a segment of its own
	regs.ip = TEXT + regs.ip % 1024;
#else
	regs.pstate = 0;
	regs.pc = TEXT + regs.pc % 1024;
#endif
	put_rules(&in);
	put_rows(&in);
	for (u32 i = 0; i < sizeof(text); i++)
		text[i] = (u8)take(&in, 1);
	for (u32 i = 0; i < sizeof(mem); i += 8) {
		u64 v = address(&in);
		memcpy(mem + i, &v, 8);
	}
	u64 before = rt_host.loop_steps, id = rt_ustack(NULL, limit, src);
	check(rt_host.loop_steps - before <= RT_STACK_DEEP);
	struct RtStack *st = stored(id);
	check(st && st->n == RT_STACK_NFRAMES(id) && st->n >= 1 && !(st->flags & RT_STACK_IS_LIST) == !(id & RT_STACK_LIST));
	check(rt_stack_len(id) <= (limit ? limit : RT_STACK_DEEP));
	for (u32 i = 0; i < st->n && st->flags & RT_STACK_IS_LIST; i++) {
		struct RtStack *piece = stored(st->frames[i]);
		check(piece && (i + 1 == st->n || piece->n == RT_STACK_PIECE));
	}
	check(st->why < RT_WHYS && st->flags & RT_STACK_USER && (st->why == RT_WHY_OK || st->why == RT_WHY_ASKED || st->why == RT_WHY_GUESS_FP || st->why == RT_WHY_GUESS_RULE) ==
	      !(st->flags & RT_STACK_INCOMPLETE));
	check(rt_ustack(NULL, limit, src) == id); // the same thread gives the same stack
	struct RtCounters *c = rt_stack_counters();
	check(c && !c->stack_full && !c->stack_collision && !c->scratch_busy && c->why[st->why] >= 2);
	return 0;
}
