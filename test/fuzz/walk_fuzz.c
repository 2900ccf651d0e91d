// Input: registers, rules, rows, code and stack memory of a made-up thread. The walker ends within its limit, stores a stack that is what it says, and
// gives a reason when it did not reach the end. Whatever a process puts into its memory is such an input.
#include "t.h"
#include "walk_fix.h"
#include "cursor.h"

static u32 limit;

static u64 address(struct Input *in) // mostly somewhere sensible
{
	u64 v = take(in, 2);
	return v & 1 ? STACK + (v >> 1) % sizeof(stack) : v & 2 ? TEXT + (v >> 2) % 1024 : v & 4 ? take(in, 8) : v >> 3;
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
		rule(r);
	}
}

static void put_table(struct Input *in)
{
	u32 state = take(in, 1) % 8 ? RT_UW_READY : RT_UW_PENDING, n = 0, one = 1;
	u64 rows[16], off = 0;
	while (n < 16 && (n == 0 || off < 1024)) {
		rows[n++] = UW_ROW(OFF + off, take(in, 1) % 8);
		off += 1 + take(in, 1);
	}
	put_rows(rows, n);
	struct RtUwObj *o = bpf_map_lookup_elem(&rt_uw_obj, &one);
	o->state = state;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct Input in = {data, data + size};

	start();
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
	put_table(&in);
	for (u32 i = 0; i < 512; i++)
		text[i] = (u8)take(&in, 1);
	for (u32 i = 0; i < WORDS; i++)
		stack[i] = address(&in);
	u64 before = rt_host.loop_steps, id = src & RT_SRC_F_FP ? rt_ustack_fp(NULL, limit, src) : rt_ustack(NULL, limit, src);
	check(rt_host.loop_steps - before <= RT_STACK_DEEP);
	struct RtStack *st = result(id);
	check(st && st->n == RT_STACK_NFRAMES(id) && st->n >= 1 && !(st->flags & RT_STACK_IS_LIST) == !(id & RT_STACK_LIST));
	check(rt_stack_len(id) <= (limit ? limit : RT_STACK_DEEP));
	for (u32 i = 0; i < st->n && st->flags & RT_STACK_IS_LIST; i++) {
		struct RtStack *piece = result(st->frames[i]);
		check(piece && (i + 1 == st->n || piece->n == RT_STACK_PIECE));
	}
	check(st->why < RT_WHYS && st->flags & RT_STACK_USER && (st->why == RT_WHY_OK || st->why == RT_WHY_ASKED || st->why == RT_WHY_GUESS_FP || st->why == RT_WHY_GUESS_RULE) ==
	      !(st->flags & RT_STACK_INCOMPLETE));
	check((src & RT_SRC_F_FP ? rt_ustack_fp(NULL, limit, src) : rt_ustack(NULL, limit, src)) == id); // the same thread gives the same stack
	struct RtCounters *c = rt_stack_counters();
	check(c && !c->stack_full && !c->stack_collision && !c->scratch_busy && c->why[st->why] >= 2);
	return 0;
}
