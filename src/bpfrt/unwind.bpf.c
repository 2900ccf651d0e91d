// unwind.bpf.c: walks the current thread's user stack with the rows of its objects' .eh_frame, and with frame pointers where there are none.
// Input: registers of the context or of the task's kernel entry; the maps user space fills (stack.h). Output: frames in the CPU's stack
// buffer, interned. Invariant: whatever the process has put into its memory and registers, the walk ends, and a stack that does not
// reach the thread's root says why.
// In parts: walk_mem.h, walk_rule.h, walk_leave.h, walk_beam.h, walk_piece.h, walk_begin.h, walk_end.h, walk_place.h; here what binds them, frame after frame.
// walk_fp.h is the same by frame pointers alone.
// The same file is compiled for the host (-DRT_HOST) and run on recorded memory by test/unit/walk_test.c, and a second time for other threads than
// the current one, with RT_UW_TASK (utask.bpf.c).
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"
#include "bpfrt/lang_rt.h"
#include "bpfrt/walk_mem.h"
#include "bpfrt/walk_leave.h"
#include "bpfrt/walk_piece.h"
#if !defined(RT_UW_TASK) && RT_IS_X86
#include "bpfrt/walk_beam.h"
#define BEAM_LEAVE(b, r, key) ((r)->kind == RT_UW_BEAM && rtg_beam_leave(rt_give(b), key))
#else
#define BEAM_LEAVE(b, r, key) 0
#endif
#include "bpfrt/walk_begin.h"
#include "bpfrt/walk_end.h"
#include "bpfrt/walk_place.h"

RT_MAP(rt_uw_rules, RT_MAP_ARRAY, 4, sizeof(struct RtUwRule), RT_UW_RULES, RT_F_MMAPABLE);
// Code made at run time, and V8's, which its object has without unwind information
#define JIT_MAY_BE(u, w, r) (!(w)->java.none && ((u)->bare || !(r) || (r)->kind == RT_UW_NONE || (r)->index & RT_UW_JIT))
#define JIT_LEAVE(b, frame) (rtg_java_leave(rt_give(b), frame) || rtg_v8_leave(rt_give(b), frame))
#ifdef RT_UW_TASK
#define FP_ONLY(u) ((u)->fp_only)
#else
#define FP_ONLY(u) false // walk_fp.h
#endif

// What seldom happens in a walk, or at its first frames. Global functions (btfgen.c: by their names) are verified once in a program and not at each of its
// stacks.
RT_NOINLINE u64 rtg_locate(RT_GIVEN given, u64 look, u64 at)
{
	u32 seen = at;
	struct RtStackBuf *b = rt_given(given);
	struct RtUwSeen *e = bpf_map_lookup_elem(&rt_uw_seen, &seen);

	if (!b || !e)
		return 1;
	struct RtUwKey top = {b->uw.tgid, 0};
	locate(&b->uw, bpf_map_lookup_elem(&rt_uw_maps, &top), look, e, FP_ONLY(&b->uw));
	return 0;
}

RT_NOINLINE u64 rtg_end_piece(RT_GIVEN given)
{
	struct RtStackBuf *b = rt_given(given);

	return b ? end_piece(b) : 1;
}

#ifdef BEAM_REGISTERS
RT_NOINLINE u64 rtg_beam_leave(RT_GIVEN given, u64 rule)
{
	u32 nr = rule;
	struct RtStackBuf *b = rt_given(given);
	struct RtUwRule *r = bpf_map_lookup_elem(&rt_uw_rules, &nr);

	if (b && r)
		beam_leave(&b->uw, given, r);
	return 1;
}
#endif

RT_NOINLINE u64 rtg_leave_rare(RT_GIVEN given, u64 rule)
{
	u32 nr = rule;
	struct RtStackBuf *b = rt_given(given);

	struct RtUwRule *r = bpf_map_lookup_elem(&rt_uw_rules, &nr);
	return b && r ? leave_by_rule(&b->uw, r) : 1;
}

// From the first frame on once more, of which the loop has no frame of its program.
RT_NOINLINE u64 rtg_walk_anew(RT_GIVEN given)
{
	struct RtStackBuf *b = rt_given(given);

	if (!b)
		return 1;
	struct RtUw *u = &b->uw;
	load_regs(b);
	u->pc = b->lang.first.pc;
	u->reg[RT_R_SP] = b->lang.first.sp;
	u->limit = b->lang.first.limit;
	u->entry = b->lang.first.entry;
	u->is_ra = b->lang.first.is_ra;
	u->leaf = b->lang.first.leaf;
	b->lang.lang = b->lang.other.lang = b->lang.object = 0;
	b->lang.again = 0;
	b->lang.look = 1;
	b->lang.idle = b->lang.pass = 1;
	return 0;
}

// Are there frames left of a chain, more than loops?
static RT_INLINE bool has_more(struct RtLangState *s)
{
	return s->lang && s->each && s->frame && s->frame != (u64)RT_CHAIN_PERHAPS;
}

// One frame of the group at hand. The first takes the place of the interpreter's frame that runs it, which is in the buffer already.
static RT_INLINE void walk_lang(struct RtStackBuf *b)
{
	struct RtUw *u = &b->uw;
	struct RtLangWalk *w = &b->lang;
	u64 first = w->group & RT_GROUP_FIRST, rest = w->group & RT_GROUP_REST, step;

	if (w->group & RT_GROUP_JAVA)
		step = w->group & RT_GROUP_V8 ? rtg_v8_step(rt_give(b)) : rtg_java_step(rt_give(b));
	else
		step = w->chain ? rtg_chain_step(rt_give(b)) : rtg_lang_step(rt_give(b));
	if (step == RT_STEP_NEW && !RT_LACKS(b))
		step = rtg_lang_new(rt_give(b));
	if (step == RT_STEP_AHEAD || RT_LACKS(b)) // the frame that this began at is still to come
		return;
	if (step == RT_STEP_NONE) {
		w->group &= RT_GROUP_AHEAD;
	} else {
		if (first) {
			u->n--;
			u->h1 = w->h1;
			u->h2 = w->h2;
			if (w->group & RT_GROUP_JAVA)
				u->raw = w->java.raw;
			w->group &= ~(u32)RT_GROUP_FIRST;
		}
		u->last_frame = u->frame;
		u->bare = 0;
		if (u->n >= u->room && rtg_end_piece(rt_give(b)))
			return;
		put_frame(b, u->frame);
		if (w->group & RT_GROUP_JAVA && w->java.more == RT_JAVA_DONE)
			w->group = RT_GROUP_NONE;
	}
	if (rest && !w->off)
		w->group = RT_GROUP_REST;
	if (u->n >= u->limit)
		rt_uw_stop(u, RT_WHY_LIMIT);
	else if (rest && (w->off || !has_more(&w->now)))
		rt_uw_stop(u, RT_WHY_OK);
}

// More loops than frames: the innermost loop had not begun with its own, or had done with it. Which stacks are so only their end tells: the walk begins anew.
static RT_INLINE void more_loops(struct RtStackBuf *b)
{
	if (b->lang.idle || rtg_walk_anew(rt_give(b)))
		rt_lang_lost(b);
}

// A frame of a runtime's object has been left, its stack pointer was sp: if a record lies in it, the group's frames come next.
static RT_INLINE void find_group(struct RtStackBuf *b, u64 sp)
{
	struct RtUw *u = &b->uw;
	struct RtLangWalk *w = &b->lang;
	bool on = !w->off && !u->stop && !w->pass;

	w->pass = 0;
	w->look = w->again;
	if (on && w->each && !w->frame) {
		more_loops(b);
		on = false;
	}
	if (on && (w->each || (w->record >= sp && w->record < u->reg[RT_R_SP])))
		w->group = RT_GROUP_FIRST | RT_GROUP_ON;
	else if (u->n >= u->limit)
		rt_uw_stop(u, RT_WHY_LIMIT);
}

// The root of the stack. Where a program begins it calls but the C library's start, and that main(): was the frame between, in another object, the only guess on the
// way, nothing is missing (musl's libc has no unwind information). A fiber that runs is called by the frames of the program (PHP) that have resumed it.
static RT_INLINE void reach_root(struct RtStackBuf *b, struct RtUwRule *r, u64 root)
{
	struct RtUw *u = &b->uw;

	if (r->off2 == RT_UW_END_FIBER && b->lang.chain && !b->lang.off && has_more(&b->lang.now)) {
		b->lang.group = RT_GROUP_REST;
		return;
	}
	if (r->off2 == RT_UW_END_ENTRY && u->guess_before >> 63 && RT_FRAME_ID(u->guess_before) != RT_FRAME_ID(root))
		u->guess = 0;
	rt_uw_stop(u, RT_WHY_OK);
}

// One frame: stores it and moves to its caller; u->stop ends the walk.
static RT_INLINE void walk_frame(struct RtStackBuf *b, struct RtUwChunk *c)
{
	struct RtUw *u = &b->uw;
	struct RtLangWalk *w = &b->lang;
	u64 look = u->pc - u->is_ra, sp = u->reg[RT_R_SP];
	u32 key = seen_key(u, look), place = key;

	if (w->group) {
		walk_lang(b);
		return;
	}
	struct RtUwSeen *e = bpf_map_lookup_elem(&rt_uw_seen, &key);
	if (!e) {
		rt_uw_stop(u, RT_WHY_NO_RULE);
		return;
	}
	u64 frame = e->frame, id = e->id, at = e->map;
	key = id & 0xffff;
	if (id >> 16 != u->gen || (e->check ^ RT_UW_SEEN_MIX(frame, id, at)) != look || (key == RT_UW_RULE_UNSEEN && !FP_ONLY(u)) || !holds(u, c, at)) {
		rtg_locate(rt_give(b), look, place);
		frame = u->frame;
		key = u->rule;
		if (u->stop)
			return;
	}
	struct RtUwRule *r = FP_ONLY(u) ? NULL : bpf_map_lookup_elem(&rt_uw_rules, &key);
	u->lang = r && r->index & RT_UW_LANG && !w->off;
	RT_FENCE();
	if (u->lang && (w->look || w->object != RT_FRAME_ID(frame))) {
		rtg_lang_begin(rt_give(b), look, frame);
		if (w->group)
			return;
	}
	u64 from = u->bare_pc;
	u->bare_pc = 0;
	u->guess_before = u->guess_place;
	u->guess_place = 0;
	if (from && frame >> 63 && rtp_is_anothers(u, from, u->pc)) {
		rt_uw_stop(u, RT_WHY_NO_MAPPING);
		return;
	}
	u->bare = !(frame >> 63);
	w->hidden = u->bare && w->lang && !(w->off | w->chain) && rtg_py_trampoline(rt_give(b));
	u->jit = !w->hidden && JIT_MAY_BE(u, w, r);
	RT_FENCE();
	u64 where = frame; // as an address it would not tell its object
	w->java.raw = u->raw;
	u->raw |= u->bare & !w->hidden;
	if (u->addrs)
		frame = look;
	frame = u->is_ra ? frame + 1 : frame | RT_FRAME_EXACT;
	u->last_frame = frame;
	if (!w->hidden && u->n >= u->room && rtg_end_piece(rt_give(b)))
		return;
	if (u->lang | u->jit) {
		w->h1 = u->h1;
		w->h2 = u->h2;
	}
	if (!w->hidden)
		put_frame(b, frame);
	if (u->jit && JIT_LEAVE(b, where)) {
		u->entry = 0;
		if (u->n >= u->limit && !w->group)
			rt_uw_stop(u, RT_WHY_LIMIT);
		return;
	}
	if (u->n >= u->limit && !u->lang) {
		rt_uw_stop(u, RT_WHY_LIMIT);
		return;
	}
	if (r && r->lost & RT_UW_GUESS) {
		u->guess_place = u->guess ? 0 : where;
		rt_uw_guess(u, RT_WHY_GUESS_RULE);
	}
#if RT_IS_X86
	if (u->compat)
		rtg_leave32(rt_give(b), key);
	else
#endif
	if (!r || r->kind == RT_UW_NONE || r->kind == RT_UW_BAD)
		rtp_leave_by_fp(u, !r && !FP_ONLY(u));
	else if (r->kind == RT_UW_END)
		reach_root(b, r, where);
	else if (r->kind == RT_UW_REG && !(r->fprel | r->ra_kind | r->sp_kind))
		leave_usual(u, r);
	else if (!BEAM_LEAVE(b, r, key)) {
		u->bias = look - RT_FRAME_OFF(where);
		rtg_leave_rare(rt_give(b), key);
	}
	u->entry = 0;
	if (u->pc == u->tramp && u->tramp && u->is_ra)
		rt_uw_original_return(u);
	if (u->lang)
		find_group(b, sp);
}

// After the last frame.
static RT_INLINE void end_lang(struct RtStackBuf *b)
{
	if (has_more(&b->lang.other) && !b->lang.off && b->uw.stop && b->uw.why != RT_WHY_LIMIT)
		rt_lang_lost(b);
	else if (has_more(&b->lang.now) && !b->lang.off && b->uw.stop && b->uw.why != RT_WHY_LIMIT) // more frames than loops
		rt_lang_lost(b);
	else if (b->lang.each && !b->lang.off && b->lang.chain && b->uw.why == RT_WHY_RA_ZERO) // a fiber's end: the program's frames have theirs, too
		b->uw.why = RT_WHY_OK;
}

#ifndef RT_UW_TASK
struct WalkCtx { // bpf_loop takes a pointer into the BPF stack only
	struct RtStackBuf *b;
	struct RtUwChunk *c; // the top of the process's mappings; NULL none
};

// Result as bpf_loop wants it: 1 ends the walk.
static long walk_step(u64 i, struct WalkCtx *w)
{
	walk_frame(w->b, w->c);
	u64 end = w->b->uw.stop;
	return end & 1;
}

#define NOLOOP_FRAMES 4096 // the verifier keeps a state for each round (8,192 at most), and allows eight calls in one another
// The same for kernels without bpf_loop. A global function (btfgen.c: by its name) is verified once and not in every round of the loop that calls
// it; there it may be given numbers only.
RT_NOINLINE u64 rtg_walk_step(RT_GIVEN given)
{
	struct RtStackBuf *b = rt_given(given);

	if (!b)
		return 1;
	struct RtUwKey top = {b->uw.tgid, 0};
	walk_frame(b, bpf_map_lookup_elem(&rt_uw_maps, &top));
	return b->uw.stop;
}

#include "bpfrt/walk_fp.h"

// Walks from the registers in b->regs. Frames in b, result in b->uw.
static RT_INLINE void walk(struct RtStackBuf *b, u64 limit, u64 src, bool loop, bool fp)
{
	struct WalkCtx w = {b, walk_begin(b, bpf_get_current_task(), own_tgid(), limit, src)};

	if (fp) {
		walk_by_fp(b, &w, loop);
	} else if (loop) {
		bpf_loop(RT_STACK_DEEP, walk_step, &w, 0);
	} else {
		RT_GIVEN given = rt_give(b);
		for (u32 i = 0; i < NOLOOP_FRAMES; i++)
			if (rtg_walk_step(given))
				break;
	}
	if (!fp)
		end_lang(b);
	walk_end(&b->uw, limit, src);
}

static RT_INLINE u64 ustack(void *ctx, u64 limit, u64 src, bool loop, bool fp)
{
	struct RtStackBuf *b = rt_stack_get();
	u64 id = 0;

	if (!b)
		return RT_STACK_LOST;
	if (bpf_get_current_pid_tgid() >> 32 && user_regs(ctx, b, src)) {
		walk(b, limit, src, loop, fp);
		id = finish(b, limit);
	} else {
		struct RtCounters *c = rt_stack_counters();
		bool count = !(src & RT_SRC_F_AGAIN);
		if (c && count)
			c->why[RT_WHY_KTHREAD]++;
		if (rt_uw_count_ends && count)
			count_end(b, RT_WHY_KTHREAD);
	}
	return rt_stack_put(b) ? id : RT_STACK_LOST;
}

RT_FN u64 rt_ustack(void *ctx, u64 limit, u64 src)
{
	return ustack(ctx, limit, src, true, false);
}

// What link.c takes instead where there is no bpf_loop: a program may not even name it there.
RT_FN u64 rt_ustack_noloop(void *ctx, u64 limit, u64 src)
{
	return ustack(ctx, limit, src, false, false);
}

// With RT_SRC_F_FP in src
RT_FN u64 rt_ustack_fp(void *ctx, u64 limit, u64 src)
{
	return ustack(ctx, limit, src, true, true);
}

RT_FN u64 rt_ustack_fp_noloop(void *ctx, u64 limit, u64 src)
{
	return ustack(ctx, limit, src, false, true);
}

// How often in a row it was of no use to wait for memory of a process: what its stacks need is not there at all, and each would be put off for nothing.
RT_MAP(rt_cold_vain, RT_MAP_HASH, 4, 4, 4096, RT_F_NO_PREALLOC);
#define COLD_TRIES 16

static RT_INLINE u32 in_vain(u32 tgid)
{
	u32 *n = bpf_map_lookup_elem(&rt_cold_vain, &tgid);
	return n ? *n : 0;
}

// Did the walk end because memory is not there? The address, 0 no.
static RT_INLINE u64 unread_at(struct RtStackBuf *b)
{
	u32 why = b->uw.why;

	if (why != RT_WHY_BAD_READ && why != RT_WHY_LANG && why != RT_WHY_NO_RULE && why != RT_WHY_FP_END && why != RT_WHY_NO_MAPPING && why != RT_WHY_BAD_CFA)
		return 0;
	return b->uw.unread ? b->uw.unread : b->lang.unread;
}

// For rt_ustack_cold(), from the registers in this CPU's buffer; a global function (btfgen.c: by its name) is verified once for all calls.
RT_NOINLINE u64 rtg_cold_walk(RT_GIVEN given, u64 limit, u64 src)
{
	struct RtStackBuf *b = rt_given(given);

	if (!b)
		return RT_STACK_LOST;
	walk(b, limit, src, true, false);
	b->uw.unread = unread_at(b);
	if (b->uw.unread && in_vain(b->uw.tgid) > COLD_TRIES)
		b->uw.unread = 0;
	if (b->uw.unread)
		b->uw.again = 1;
	return finish(b, limit);
}

// Counts a stack that is not at hand any more, of whatever process.
static RT_NOINLINE u64 count_ending(u64 why)
{
	struct RtCounters *c = rt_stack_counters();
	struct RtUwEnd key = {0, 0, why, 0};
	struct RtUwEndCount *have = rt_uw_count_ends ? bpf_map_lookup_elem(&rt_uw_ends, &key) : NULL;

	if (c)
		c->why[why & 31]++;
	if (have)
		__sync_fetch_and_add(&have->count, 1);
	return 0;
}

static RT_INLINE u64 ustack_cold(void *ctx, u64 limit, u64 src, struct RtColdAt *at)
{
	struct RtStackBuf *b = rt_stack_get();
	u64 id = 0;

	at->unread = 0;
	if (!b)
		return RT_STACK_LOST;
	if (bpf_get_current_pid_tgid() >> 32 && user_regs(ctx, b, src)) {
		at->sp = RT_REGS_SP(&b->regs);
		at->pc = RT_REGS_PC(&b->regs);
		id = rtg_cold_walk(rt_give(b), limit, src);
		at->unread = b->uw.unread;
		at->why = b->uw.why;
	} else {
		count_ending(RT_WHY_KTHREAD);
	}
	return rt_stack_put(b) ? id : RT_STACK_LOST;
}

// ---- stacks that are cut because memory of the thread is not there: outer frames that nothing has used for long are swapped out, and nothing reads them before
// the thread returns there. Generated code (lower/lower_cold.c) gives such a stack a number of its own and asks the kernel to call it as the thread leaves for
// user mode, when it may wait for the memory (task work, Linux 6.18).

// As rt_ustack(), and *at. A stack that is cut for want of memory is not counted.
RT_FN u64 rt_ustack_cold(void *ctx, u64 limit, u64 src, struct RtColdAt *at)
{
	return ustack_cold(ctx, limit, src, at);
}

// It was cut, and will stay so.
RT_FN u64 rt_cold_count(u64 why)
{
	return count_ending(why);
}

#define COLD_ROUNDS 24 // walks, each of which gets further
#define COLD_PAGES 16  // outwards: the frames that come next

// As the thread leaves: the whole stack into *e, if it still has the registers of user mode that it had at the event. It is counted.
RT_FN u64 rt_cold_again(struct RtCold *e, u64 limit, u64 src)
{
	struct RtColdAt at = e->at;
	u64 id = 0;
	char byte;

	src = (src & ~(u64)RT_SRC_MASK) | RT_SRC_RAW;
	for (u32 i = 0; i < COLD_ROUNDS && at.unread; i++) {
		if (bpf_copy_from_user(&byte, 1, (void *)at.unread))
			break;
		for (u32 k = 1; k < COLD_PAGES; k++)
			bpf_copy_from_user(&byte, 1, (void *)(at.unread + k * RT_UW_PAGE));
		id = ustack_cold(NULL, limit, src, &at);
		if (at.sp != e->at.sp || at.pc != e->at.pc)
			id = at.unread = 0;
	}
	if (id > RT_STACK_LOST)
		e->id = id;
	bool vain = id <= RT_STACK_LOST || at.unread;
	if (vain)
		count_ending(id ? at.why : e->at.why);
	u32 tgid = own_tgid(), n = vain ? in_vain(tgid) + 1 : 0;
	bpf_map_update_elem(&rt_cold_vain, &tgid, &n, 0);
	return 0;
}

// The innermost function of the program's own language, as a frame at its beginning; 0: none.
static RT_INLINE u64 lang_func(void *ctx, u64 src, bool loop)
{
	struct RtStackBuf *b = rt_stack_get();
	struct RtCounters *c = rt_stack_counters();
	u64 frame = 0;

	if (!b)
		return 0;
	if (bpf_get_current_pid_tgid() >> 32 && user_regs(ctx, b, src)) {
		walk(b, RT_STACK_DEEP, src | RT_SRC_F_FUNC, loop, false);
		frame = b->lang.func_frame;
		if (c)
			c->why[(frame ? RT_WHY_ASKED : b->uw.why) & 31]++;
	}
	return rt_stack_put(b) ? frame : 0;
}

RT_FN u64 rt_lang_func(void *ctx, u64 src)
{
	return lang_func(ctx, src, true);
}

RT_FN u64 rt_lang_func_noloop(void *ctx, u64 src)
{
	return lang_func(ctx, src, false);
}
#endif
