// walk_rule.h: leaving a frame by a rule that has a CFA, of whatever kind. Input: the state, the rule, and how words and registers of such code are read (64-bit
// code: walk_leave.h; 32-bit code: compat.bpf.c). Output: the caller's state, or u->stop with its reason. Invariant: a stack is left upwards.
#ifndef SONDE_RT_WALK_RULE_H
#define SONDE_RT_WALK_RULE_H
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"

// Constant where it is used, so that nothing is called through a pointer.
struct Leave {
	u64 (*get)(struct RtUw *u, u32 reg);   // the register's value in u->tmp[1]; 0: not known
	u64 (*read)(struct RtUw *u, u64 addr); // the word at addr of the stack in u->tmp[0]; 0: it cannot be read
	u64 (*other_cfa)(struct RtUw *u, struct RtUwRule *r); // the CFA of kinds that only this code has, u->tmp[1] the rule's register; as read()
	void (*near)(struct RtUw *u, struct RtUwRule *r, u64 slot, u64 cfa); // before the word at slot is read
	u64 (*slots)(struct RtUw *u, struct RtUwRule *r, u64 cfa, u64 fp);   // where the caller finds the registers of the rule's slots
	u64 (*enter)(struct RtUw *u, u64 ra, u64 slot, u64 sp);		     // the caller's frame
	u64 (*signal)(struct RtUw *u, u64 base);			     // the frame that a signal interrupted
	u32 word;
};

// The CFA into u->tmp[0]. 0: it cannot be had, u->stop is set.
static RT_INLINE u64 rule_cfa(struct RtUw *u, struct RtUwRule *r, const struct Leave l)
{
	u64 cfa;

	if (!l.get(u, r->reg))
		return !rt_uw_stop(u, RT_WHY_NO_RULE);
	cfa = u->tmp[1] + r->off;
	if (r->kind == RT_UW_PLT) {
		cfa += (u->pc & 15) >= (u32)r->off2 ? l.word : 0;
	} else if (r->kind == RT_UW_DEREF) {
		if (RT_UW_INDEX(r)) {
			if (!l.get(u, RT_UW_INDEX(r) - 1))
				return !rt_uw_stop(u, RT_WHY_NO_RULE);
			cfa += u->tmp[1] * 8;
		}
		if (!l.read(u, cfa))
			return !rt_uw_stop(u, RT_WHY_BAD_READ);
		cfa = u->tmp[0] + r->off2;
	} else if (r->kind == RT_UW_DEPTH || r->kind == RT_UW_GO || r->kind == RT_UW_LUAJIT || r->kind == RT_UW_LUAVM) {
		if (!l.other_cfa(u, r))
			return u->stop ? 0 : !rt_uw_stop(u, RT_WHY_BAD_READ);
		cfa = u->tmp[0];
	}
	u->tmp[0] = cfa;
	return 1;
}

// The caller's stack pointer into u->tmp[0]. 0: as above.
static RT_INLINE u64 rule_sp(struct RtUw *u, struct RtUwRule *r, u64 cfa, const struct Leave l)
{
	u64 sp = u->reg[RT_R_SP];

	// the stack is left upwards; a CFA equal to sp is only where the return address is in a register
	if (r->sp_kind == RT_UW_SP_CFA && (cfa < sp || (cfa == sp && !u->leaf)))
		return !rt_uw_stop(u, RT_WHY_BAD_CFA);
	if (r->sp_kind == RT_UW_SP_MEM)
		return l.read(u, cfa + r->sp) ? 1 : !rt_uw_stop(u, RT_WHY_BAD_READ);
	if (r->sp_kind == RT_UW_SP_REG) {
		if (!l.get(u, r->sp))
			return !rt_uw_stop(u, RT_WHY_NO_RULE);
		cfa = u->tmp[1];
	}
	u->tmp[0] = cfa;
	return 1;
}

static RT_INLINE u64 leave_rule(struct RtUw *u, struct RtUwRule *r, const struct Leave l)
{
	u64 cfa, fp = 0, slot, sp;

	if (!rule_cfa(u, r, l))
		return 1;
	cfa = u->tmp[0];
	if (r->kind == RT_UW_SIG)
		return l.signal(u, cfa);
	if (r->fprel || r->ra_kind == RT_UW_RA_FP) {
		if (!l.get(u, RT_R_FP))
			return rt_uw_stop(u, RT_WHY_NO_RULE);
		fp = u->tmp[1];
	}
	if (!rule_sp(u, r, cfa, l))
		return 1;
	sp = u->tmp[0];
	slot = (r->ra_kind == RT_UW_RA_FP ? fp : r->ra_kind == RT_UW_RA_GO ? u->tmp[1] : cfa) + r->ra;
	if (r->ra_kind == RT_UW_RA_REG) {
		if (!l.get(u, r->ra))
			return rt_uw_stop(u, RT_WHY_NO_RULE);
		u->tmp[0] = u->tmp[1];
		slot = cfa;
	} else {
		l.near(u, r, slot, cfa);
		if (!l.read(u, slot))
			return rt_uw_stop(u, RT_WHY_BAD_READ);
	}
	if (r->saved | r->lost)
		l.slots(u, r, cfa, fp);
	return l.enter(u, u->tmp[0], RT_R_SP == 7 ? slot : cfa, sp);
}
#endif
