// What the state of a function's frame says: when two ways that meet agree, and which rule it amounts to. Input: struct FlowState, as flowinsn.c keeps it.
// Output: struct RtUwRule. Invariant: a state that does not find the CFA gives no rule.
#include "unwind/internal.h"
#include <string.h>

// The frame pointer holds the address where the caller's is saved: it finds the CFA, wherever the stack pointer is.
bool flow_framed(const struct FlowState *s)
{
	return s->fp != FLOW_UNKNOWN && s->slot[0] == -s->fp;
}

// The frame is whole, not begun or just given up: a function's first instructions, which the compilers' order of them tells apart from any others.
bool flow_entered(const struct FlowMachine *m, const struct FlowState *s)
{
	static const s16 none[RT_UW_SLOTS - 1];

	if (flow_framed(s) || (s->in_lr && !m->entered.in_lr))
		return true;
	if (s->fp != FLOW_UNKNOWN || memcmp(s->slot + 1, none, sizeof(none)))
		return false;
	return (s->sp == m->entered.sp && !s->slot[0]) || (s->sp == 16 && s->slot[0] == -16);
}

// The stack pointer is not known, but one of two places says where it was.
static bool same_copy(const struct FlowState *a, const struct FlowState *b)
{
	if (a->aligned != b->aligned || a->cfa_at != b->cfa_at)
		return false;
	if (a->cfa_at)
		return true;
	if (a->stored || b->stored)
		return a->stored == b->stored && a->stored_at == b->stored_at && (a->aligned ? a->saved_at == b->saved_at : a->low == b->low);
	return a->copy_reg == b->copy_reg && a->copy == b->copy;
}

// Both find the return address at one place.
static bool same_return(const struct FlowState *a, const struct FlowState *b)
{
	return a->ra == b->ra && (a->ra || (a->in_lr == b->in_lr && (a->in_lr || a->ra_copy == b->ra_copy)));
}

bool flow_same_frame(const struct FlowState *a, const struct FlowState *b)
{
	if (a->root || b->root)
		return true;
	if (!same_return(a, b))
		return false;
	if (flow_framed(a) && flow_framed(b))
		return a->fp == b->fp;
	return a->sp == b->sp && (a->sp != FLOW_UNKNOWN || (a->fp == b->fp && same_copy(a, b)));
}

void flow_rule(const struct FlowMachine *m, const struct FlowState *s, bool by_sp, bool guess, struct RtUwRule *r)
{
	memset(r, 0, sizeof(*r));
	if (s->root) {
		r->kind = RT_UW_END;
		r->off2 = s->root == FLOW_ROOT_ENTRY ? RT_UW_END_ENTRY : 0;
		return;
	}
	m->rule(s, by_sp, r);
	if (r->kind == RT_UW_NONE) {
		memset(r, 0, sizeof(*r));
		return;
	}
	r->lost = guess && !flow_framed(s) ? RT_UW_GUESS : 0;
	for (u32 k = 0; k < RT_UW_SLOTS; k++) {
		r->slot[k] = s->slot[k];
		r->saved |= (u8)((s->slot[k] != 0) << k);
	}
	r->fprel = s->fprel;
	if (s->aligned == FLOW_ALIGNED_SAVED) {
		r->saved |= 1;
		r->fprel |= 1;
		r->slot[0] = 0;
	}
}
