// walk_place.h: where an address lies, a part of unwind.bpf.c: its mapping and the rule that holds there, remembered, as most places of a stack were in a stack
// before; and the frame in the buffer. Input: an address of the thread's code. Output: frame and rule. Invariant: what is remembered is used while the process's
// mappings are as they were.
#ifndef SONDE_RT_WALK_PLACE_H
#define SONDE_RT_WALK_PLACE_H
#include "bpfrt/stack_rt.h"

RT_MAP(rt_uw_seen, RT_MAP_ARRAY, 4, sizeof(struct RtUwSeen), 1 << RT_UW_SEEN_BITS, 0);
RT_CONST_EXTERN(u32, rt_uw_vmas);

// No code was called from there: a word was taken for a return address, since some row was wrong (memcpy in glibc for i386) or what led to it was no frame pointer.
// Nothing lies in the first page (vm.mmap_min_addr); instructions of arm64 and riscv64 are not at every byte.
#define INSN_ALIGN (RT_IS_ARM64 ? 4 : RT_IS_RISCV64 ? 2 : 1)
static RT_INLINE void no_caller(struct RtUw *u, bool fp_only)
{
	if (!u->weak && !fp_only)
		u->weak = RT_WHY_BAD_CFA;
	u->gone = 0; // the process's memory is there
	rt_uw_stop(u, fp_only ? RT_WHY_FP_END : RT_WHY_BAD_CFA);
}

// Where look lies and which rule holds there, the long way, into u->frame and u->rule; u->stop: it is no place of a frame. It is kept in *e when it stays true as long as the mappings do:
// an object's table, once there, never changes. fp_only: nobody asks for the rule.
static RT_INLINE u64 locate(struct RtUw *u, struct RtUwChunk *c, u64 look, struct RtUwSeen *e, bool fp_only)
{
	u64 frame = look, rule = fp_only ? RT_UW_RULE_UNSEEN : 0;

	if (u->is_ra && (u->pc < RT_UW_PAGE || u->pc & (INSN_ALIGN - 1))) {
		no_caller(u, fp_only);
		return 0;
	}
	if (look - u->map_start >= u->map_len)
		rt_uw_find(u, c, look);
	if (u->obj)
		frame = RT_FRAME_MAKE(u->obj, look - u->map_start + u->map_off);
	else if (rt_uw_vmas)
		frame |= RT_FRAME_NOFILE;
	if (u->unknown) {
		u->lacks = 1;
		if (u->map_len) {
			u->weak = u->lost;
			rule = RT_UW_RULES;
		} else if (u->gone && u->is_ra) {
			no_caller(u, fp_only);
		}
	} else if (u->obj && !fp_only) {
		rule = rt_uw_find_rule(u, RT_FRAME_OFF(frame));
	}
	u->frame = frame;
	u->rule = rule;
	if (u->told) // not what the kernel alone knows: user space will soon tell
		u->at_ok = u->at;
	if (u->told && u->gen && rule != RT_UW_RULES) {
		u64 id = u->gen << 16 | rule;
		e->frame = frame;
		e->id = id;
		e->map = u->at;
		e->check = look ^ RT_UW_SEEN_MIX(frame, id, u->at);
	}
	return 0;
}

// Is the mapping that a place met before lies in still there?
static RT_INLINE bool holds(struct RtUw *u, struct RtUwChunk *c, u64 at)
{
	if (!rt_uw_vmas || at == u->at_ok || !c)
		return true;
	if (at >= RT_UW_CHUNK ? !rt_uw_holds(u, at) : c->map[at & (RT_UW_CHUNK - 1)].checked != u->epoch)
		return false;
	u->at_ok = at;
	return true;
}

// Number of the place's entry.
static RT_INLINE u32 seen_key(struct RtUw *u, u64 look)
{
	return ((look ^ u->gen << 48) * 0x9e3779b97f4a7c15ULL) >> (64 - RT_UW_SEEN_BITS);
}

// A frame into the buffer, where there is room.
static RT_INLINE void put_frame(struct RtStackBuf *b, u64 frame)
{
	struct RtUw *u = &b->uw;
	u64 n = u->n & (RT_STACK_MAX - 1);

	RT_BARRIER(n);
	b->buf[sizeof(struct RtStack) / 8 + n] = frame;
	rt_stack_hash(&u->h1, &u->h2, frame);
	u->n = n + 1;
}
#endif
