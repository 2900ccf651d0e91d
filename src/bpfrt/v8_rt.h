// v8_rt.h: what V8's parts (v8.bpf.c, v8pos.bpf.c, v8name.bpf.c) give one another. Kernel side only.
#ifndef SONDE_RT_V8_RT_H
#define SONDE_RT_V8_RT_H
#include "bpfrt/lang_rt.h"
#include "bpfrt/stack_rt.h"

RT_MAP_EXTERN(rt_langs);

#define RT_V8_IS_OBJECT(word) (((word) & 3) == 1 && !((word) >> RT_UW_PC_BITS)) // else a small number, or none of V8's

static RT_INLINE void rt_v8_mix(u64 *h, u64 word)
{
	u64 a = (*h ^ word) * 0x9e3779b97f4a7c15ULL;
	*h = a ^ a >> 32;
}

// The length of an array that has this word for it; 0: it is none.
static RT_INLINE u64 rt_v8_length(struct RtLang *l, u64 word)
{
	if (!l->v8.a_shift)
		return (u32)word;
	return (u32)word ? 0 : word >> 32;
}

// A position of a table, + 1. Bit 0: of another source; then the position + 1; then the number + 1 of the inlined function.
static RT_INLINE u64 rt_v8_offset(u64 pos)
{
	return pos & 1 ? 0 : pos >> 1 & 0x3fffffff;
}

// The frame whose frame pointer is fp is left; w->obj has what lies from 64 bytes below fp on.
static RT_INLINE void rt_v8_up(struct RtUw *u, struct RtLangWalk *w, u64 fp)
{
	u->pc = w->obj[9];
	u->reg[RT_R_SP] = fp + 16;
	u->reg[RT_R_FP] = w->obj[8];
	u->valid = 1u << RT_R_SP | 1u << RT_R_FP; // the frame by which C++ enters keeps the others, where nobody looks
	u->saved = 0;
	u->is_ra = 1;
	u->leaf = 0;
	u->ra_slot = fp + 8;
	if (!u->pc)
		rt_uw_stop(u, RT_WHY_RA_ZERO);
	else if (u->pc >> RT_UW_PC_BITS)
		rt_uw_stop(u, RT_WHY_BAD_CFA);
}

RT_ONCE u64 rtp_v8_type(struct RtLangWalk *w, struct RtLang *l, u64 object); // into w->tmp[0]; 0: it is no object
// A global function by name rtg_NAME of one that takes the buffer and the runtime
#define RT_V8_GLOBAL(name) \
	RT_NOINLINE u64 rtg_##name(RT_GIVEN given) \
	{ \
		struct RtStackBuf *b = rt_given(given); \
		if (!b) \
			return 0; \
		u32 key = b->lang.java.lang; \
		struct RtLang *l = bpf_map_lookup_elem(&rt_langs, &key); \
		return l ? name(b, l) : 0; \
	}
#define RT_V8_DENSE_PLACE ((u64)0xfffe << JAVA_NR_SHIFT) // by which is kept that the process's tables of positions are dense
#define RT_V8_SHARED 96 // bytes that are read of a SharedFunctionInfo
RT_ONCE u64 rtp_v8_own(struct RtLangWalk *w, struct RtLang *l); // what tells v->shared from others, into v->own; its bytes into w->obj. 0: it cannot be read
// v8jit.bpf.c: global functions, verified once each (btfgen.c: by their names): the caller's states do not multiply theirs
u64 rtg_v8_find(RT_GIVEN given); // the Code around v->pc, perhaps v->jitcode. 0: none, or it is looked for: v->more == RT_V8_SCAN
u64 rtg_v8_scan(RT_GIVEN given); // a piece of that; at its end v->more is RT_V8_JIT again
u64 rtg_v8_optimised(RT_GIVEN given); // what optimised code says of itself, into w->java.ident and v. 0: nothing
u64 rtg_v8_ops(RT_GIVEN given); // where it says what runs at v->pc. 0: nowhere
u64 rtg_v8_ops_left(RT_GIVEN given); // as long as v->more is RT_V8_OPS_LEFT. 0: it makes no sense
u64 rtg_v8_inner(RT_GIVEN given); // the next function: v->more. 0: it is none
u64 rtg_v8_places(RT_GIVEN given); // the functions by the position, at RT_V8_CHAIN. 0: they are not known
u64 rtg_v8_leaf(RT_GIVEN given); // v8leaf.bpf.c: leaves the innermost frame, which is the Code's. 0: it cannot
// v8name.bpf.c: the function at hand, into w->made.code: 0: it is none; then, as long as it says RT_STEP_AHEAD, its texts
u64 rt_v8_copy(struct RtLangWalk *w, struct RtLang *l, u64 tgid);
u64 rt_v8_copy_text(struct RtLangWalk *w, struct RtLang *l);
// v8pos.bpf.c
RT_ONCE u64 rtp_v8_table(struct RtLangWalk *w, struct RtLang *l); // the table of positions of the BytecodeArray v->table; by_pos: of the code: v->more
RT_ONCE u64 rtp_v8_search(struct RtLangWalk *w);			 // a piece of it; at its end v->pos is the position of v->target, v->more RT_V8_FRAME; by_pos: as it stands there, RT_V8_CHAIN
#endif
