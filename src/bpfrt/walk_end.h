// walk_end.h: what comes after the last frame, a part of unwind.bpf.c: why it is the last, counting that, interning the stack. Input: the walker's state and
// the frames in the buffer. Output: the stack's id. Invariant: each stack is counted under one reason.
#ifndef SONDE_RT_WALK_END_H
#define SONDE_RT_WALK_END_H
#include "bpfrt/walk_piece.h"

RT_MAP(rt_uw_ends, RT_MAP_HASH, sizeof(struct RtUwEnd), sizeof(struct RtUwEndCount), 1, 0);
RT_CONST(u32, rt_off_mm, 0);	    // task_struct.mm; from BTF, 0 when unknown
RT_CONST(u32, rt_uw_count_ends, 0); // --why-incomplete

// After the last one: why it is the last.
static RT_INLINE void walk_end(struct RtUw *u, u64 limit, u64 src)
{
	if (!u->stop)
		u->why = RT_WHY_LIMIT;
	else if (u->why == RT_WHY_LIMIT && limit && limit <= RT_STACK_DEEP)
		u->why = RT_WHY_ASKED;
	else if (u->gone && u->n == 1 && !u->pieces) // past exit_mm(), or past the point of no return of execve(2)
		u->why = RT_WHY_EXITING;
	else if (u->stale && u->lacks && !u->fp_only)
		u->why = RT_WHY_NO_PROC;
	else if (u->weak)
		u->why = u->weak;
	else if ((u->why == RT_WHY_FP_END || u->why == RT_WHY_FP_ZERO) && u->bare && !(src & RT_SRC_F_FP))
		u->why = RT_WHY_NO_MAPPING;
	else if (u->why == RT_WHY_BAD_READ && rt_off_mm && !bpf_probe_read_kernel(&u->tmp[0], 8, (void *)(u->task + rt_off_mm)) && !u->tmp[0])
		u->why = RT_WHY_EXITING;
	else if (u->leaf && ((u->born && u->why == RT_WHY_NO_CALL) || (u->born == 2 && u->why == RT_WHY_BAD_READ))) // nothing lies on its stack yet, which may have no memory
		u->why = RT_WHY_RA_ZERO;
	else if (u->guess && (u->why == RT_WHY_OK || u->why == RT_WHY_ASKED))
		u->why = u->guess;
}

// Counts where and why the stack ended. User space made the entries of process 0: when the map is full, they take it.
static RT_NOINLINE u64 count_end(struct RtStackBuf *b, u32 why)
{
	struct RtUw *u = &b->uw;
	struct RtUwEnd key = {0, u->tgid, why, u->guess};
	struct RtUwEndCount first = {1}, *have;
	u64 last = u->n - 1;

	if (why == RT_WHY_KTHREAD || why == RT_WHY_EXITING || why == RT_WHY_RUNS)
		key = (struct RtUwEnd){0, 0, why, 0};
	else if (why && why == u->guess)
		key.frame = u->guess_frame;
	else if (last < RT_STACK_MAX)
		key.frame = b->buf[sizeof(struct RtStack) / 8 + last];
	have = bpf_map_lookup_elem(&rt_uw_ends, &key);
	if (!have) {
		bpf_get_current_comm(first.comm, sizeof(first.comm));
		if (!bpf_map_update_elem(&rt_uw_ends, &key, &first, RT_NOEXIST))
			return 0;
		have = bpf_map_lookup_elem(&rt_uw_ends, &key); // another CPU was faster
	}
	if (!have) {
		key = (struct RtUwEnd){0, 0, why, 0};
		have = bpf_map_lookup_elem(&rt_uw_ends, &key);
	}
	if (have)
		__sync_fetch_and_add(&have->count, 1);
	return 0;
}

static RT_INLINE u64 finish(struct RtStackBuf *b, u64 limit)
{
	struct RtUw *u = &b->uw;
	struct RtStack *st = (struct RtStack *)(u->pieces ? b->list : b->buf);
	struct RtCounters *c;

	if (u->pieces && u->why != RT_WHY_NO_ROOM)
		last_piece(b);
	if (rt_uw_count_ends && !u->again)
		count_end(b, u->why);
	if (u->why == RT_WHY_RA_ZERO || u->why == RT_WHY_FP_ZERO)
		u->why = u->guess;
	c = rt_stack_counters();
	if (c && !u->again)
		c->why[u->why & 31]++;
	if (u->why == RT_WHY_EXITING) // past exit_mm: there is no user stack any more
		return 0;
	st->pid = u->raw ? u->tgid : 0;
	st->why = u->why;
	if (u->pieces) {
		st->n = u->pieces;
		st->total = (u->pieces - 1) * RT_STACK_PIECE + u->n;
		st->flags = RT_STACK_USER | RT_STACK_IS_LIST;
	} else {
		st->n = u->n;
		st->total = 0;
		st->flags = RT_STACK_USER;
	}
	if (u->why == RT_WHY_LIMIT)
		st->flags |= RT_STACK_CUT | RT_STACK_INCOMPLETE;
	else if (u->why != RT_WHY_OK && u->why != RT_WHY_ASKED && u->why != RT_WHY_GUESS_FP && u->why != RT_WHY_GUESS_RULE && u->why != RT_WHY_GUESS_INLINED)
		st->flags |= RT_STACK_INCOMPLETE;
	if (u->pieces)
		return rt_stack_list(b, u->all1, u->all2);
	rt_stack_hash(&u->h1, &u->h2, u->all1); // 0 of small ones
	u->h2 += u->all2;
	return rt_stack_intern((struct RtStack *)b->buf, u->h1, u->h2);
}
#endif
