// walk_fp.h: the walk by frame pointers alone, ustack(fp): a part of unwind.bpf.c. No rules are looked up, no runtime's frames are known, so a program that has
// only such stacks holds none of their code. Input: the state as walk_begin() makes it. Output: as of the walk with rules.
#ifndef SONDE_RT_WALK_FP_H
#define SONDE_RT_WALK_FP_H
#include "bpfrt/walk_leave.h"
#include "bpfrt/walk_piece.h"
#include "bpfrt/walk_place.h"

RT_NOINLINE u64 rtg_locate_fp(RT_GIVEN given, u64 look, u64 at) // as rtg_locate()
{
	u32 seen = at;
	struct RtStackBuf *b = rt_given(given);
	struct RtUwSeen *e = bpf_map_lookup_elem(&rt_uw_seen, &seen);

	if (!b || !e)
		return 1;
	struct RtUwKey top = {b->uw.tgid, 0};
	return locate(&b->uw, bpf_map_lookup_elem(&rt_uw_maps, &top), look, e, true);
}

#if !RT_IS_X86
#if RT_IS_ARM64
#define SIGRETURN 0xd4000001d2801168ULL // mov x8,#139; svc #0
#define SIG_SP (128 + 176 + 8 + 31 * 8) // struct rt_sigframe at sp: siginfo; uc_mcontext; fault_address; regs
#else
#define SIGRETURN 0x0000007308b00893ULL // li a7,139; ecall
#define SIG_SP (128 + 176)		// ... pc is the first
#endif
// What x86-64 tells by the code (leave_by_code()). A function's first instruction has saved nothing: the caller is in the link register. And a signal trampoline is
// told by its instructions, where a struct rt_sigframe may lie between here and the frame pointer. Returns 1 when it left the frame (or stopped).
static RT_INLINE u64 leave_by_link(struct RtUw *u)
{
	u64 sp = u->reg[RT_R_SP];

	if (u->entry) {
		u->entry = 0;
		rtp_enter_caller(u, u->reg[RT_R_RA], sp, sp);
		return 1;
	}
	if (u->leaf || u->saved & 1u << RT_R_FP || u->reg[RT_R_FP] - sp < SIG_SP || u->bare)
		return 0;
	if (bpf_probe_read_user(&u->tmp[0], 4, (void *)u->pc) || (u32)u->tmp[0] != (u32)SIGRETURN)
		return 0;
	if (bpf_probe_read_user(&u->tmp[0], 4, (void *)(u->pc + 4)) || (u32)u->tmp[0] != SIGRETURN >> 32)
		return 0;
	rtp_enter_signal(u, sp + SIG_SP);
	return 1;
}
#endif

RT_NOINLINE u64 rtg_leave_fp(RT_GIVEN given)
{
	struct RtStackBuf *b = rt_given(given);

	if (!b)
		return 1;
#if RT_IS_X86
	if (b->uw.compat)
		return rtg_leave32_fp(given);
#endif
#if !RT_IS_X86
	if (leave_by_link(&b->uw))
		return b->uw.stop;
#endif
	return rtp_leave_by_fp(&b->uw, 0);
}

#define ONLY_FP_SP (1u << RT_R_FP | 1u << RT_R_SP)
// The frame pointer is a number, the frame was left by it before, both words are at hand: as rtp_leave_by_fp() would. False: they are not, or there is more to look at.
static RT_INLINE bool leave_fp_again(struct RtUw *u)
{
	u64 fp = u->reg[RT_R_FP], sp = u->reg[RT_R_SP], off = fp - u->win_at;

	if (u->valid != ONLY_FP_SP || u->saved || u->leaf || u->compat || fp - sp >= 160)
		return false;
	if (off & 7 || fp & 7 || off >= u->win_n || off + 8 >= u->win_n)
		return false;
	u64 i = off >> 3 & (RT_UW_WIN / 8 - 1), next = (i + 1) & (RT_UW_WIN / 8 - 1);
	RT_BARRIER(i);
	RT_BARRIER(next);
	u64 ra = STRIP(u->win[next]);
	if (!ra || ra >> RT_UW_PC_BITS)
		return false;
	u->reg[RT_R_FP] = u->win[i];
	u->reg[RT_R_SP] = fp + 16;
	u->ra_slot = RT_R_SP == 7 ? fp + 8 : fp + 16;
	u->pc = ra;
	return true;
}

static RT_INLINE void fp_frame(struct RtStackBuf *b, struct RtUwChunk *c)
{
	struct RtUw *u = &b->uw;
	u64 look = u->pc - u->is_ra;
	u32 key = seen_key(u, look), place = key;
	struct RtUwSeen *e = bpf_map_lookup_elem(&rt_uw_seen, &key);

	if (!e) {
		rt_uw_stop(u, RT_WHY_NO_RULE);
		return;
	}
	u64 frame = e->frame, id = e->id, at = e->map;
	if (id >> 16 != u->gen || (e->check ^ RT_UW_SEEN_MIX(frame, id, at)) != look || !holds(u, c, at)) {
		rtg_locate_fp(rt_give(b), look, place);
		frame = u->frame;
		if (u->stop)
			return;
	}
	u->bare = !(frame >> 63);
	u->raw |= u->bare;
	if (u->addrs)
		frame = look;
	frame = u->is_ra ? frame + 1 : frame | RT_FRAME_EXACT;
	u->last_frame = frame;
	if (u->n >= u->room && rtg_end_piece(rt_give(b)))
		return;
	put_frame(b, frame);
	if (u->n >= u->limit) {
		rt_uw_stop(u, RT_WHY_LIMIT);
		return;
	}
	if (RT_IS_RISCV64 || !leave_fp_again(u))
		rtg_leave_fp(rt_give(b));
	u->entry = 0;
	if (u->pc == u->tramp && u->tramp && u->is_ra)
		rt_uw_original_return(u);
}

static long fp_step(u64 i, struct WalkCtx *w)
{
	fp_frame(w->b, w->c);
	u64 end = w->b->uw.stop;
	return end & 1;
}

RT_NOINLINE u64 rtg_fp_step(RT_GIVEN given) // as rtg_walk_step()
{
	struct RtStackBuf *b = rt_given(given);

	if (!b)
		return 1;
	struct RtUwKey top = {b->uw.tgid, 0};
	fp_frame(b, bpf_map_lookup_elem(&rt_uw_maps, &top));
	return b->uw.stop;
}

static RT_INLINE void walk_by_fp(struct RtStackBuf *b, struct WalkCtx *w, bool loop)
{
	if (loop) {
		bpf_loop(RT_STACK_DEEP, fp_step, w, 0);
	} else {
		RT_GIVEN given = rt_give(b);
		for (u32 i = 0; i < NOLOOP_FRAMES; i++)
			if (rtg_fp_step(given))
				break;
	}
}
#endif
