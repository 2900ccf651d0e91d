// langfunc.bpf.c: the innermost function of the program's own language, for lang_func. Input: the first frame of a language that a walk meets; Go's table of
// functions in the process's memory. Output: a frame at the function's beginning, equal for all places in it. Invariant: the table is the process's and not
// trusted; what cannot be read leaves the place itself, whose name is the same.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"
#include "bpfrt/lang_rt.h"

RT_CONST(u32, rt_lang_func_asked, 0); // the script has lang_func: else the verifier passes this by

// The limit of frames ends the walk once this one is stored.
RT_NOINLINE void rt_lang_func_at(struct RtStackBuf *b, u64 frame)
{
	if (!rt_lang_func_asked || !b->lang.func)
		return;
	b->lang.func_frame = frame & ~RT_POS_MAX;
	b->uw.limit = 1;
}

#define GO_STEPS 24 // more functions than 2^23 no table has (elf/gopclntab.c)
// The address of function number i, less what it is relative to, into w->tmp[2]. Go reads the whole table when it starts, so it is in memory.
static RT_NOINLINE u64 go_entry(struct RtLangWalk *w, struct RtLang *l, u64 i)
{
	u64 at = l->root + w->bias + i * (l->go.wide ? 16 : 8);

	if (at >> RT_UW_PC_BITS || bpf_probe_read_user(&w->tmp[2], 8, (void *)at))
		return 0;
	if (!l->go.wide)
		w->tmp[2] &= 0xffffffff;
	return 1;
}

RT_NOINLINE u64 rt_go_begin(struct RtStackBuf *b, struct RtLang *l, u64 look, u64 frame)
{
	struct RtLangWalk *w = &b->lang;
	volatile u64 *tmp = w->tmp; // the verifier does not follow what is there
	u64 at = look - (l->go.wide ? 0 : l->go.text + w->bias);

	if (!rt_lang_func_asked || !w->func)
		return 0;
	b->uw.limit = 1;
	w->func_frame = frame | RT_FRAME_EXACT;
	tmp[0] = 0;
	tmp[1] = l->go.nfuncs;
	for (u32 i = 0; i < GO_STEPS; i++) {
		u64 lo = tmp[0], hi = tmp[1], mid = (lo + hi) / 2;
		if (hi - lo <= 1 || hi < lo)
			break;
		if (!go_entry(w, l, mid))
			return 0;
		tmp[tmp[2] > at] = mid;
	}
	if (!go_entry(w, l, tmp[0]))
		return 0;
	at -= tmp[2];
	if (at <= RT_FRAME_OFF(frame))
		w->func_frame = (frame - at) | RT_FRAME_EXACT;
	return 0;
}
