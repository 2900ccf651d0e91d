// compat.bpf.c: leaving a frame of 32-bit code (x86-64 only). Input: the walker's state, whose struct RtUw.compat is set, and the rule at pc, NULL
// or of kind RT_UW_NONE and RT_UW_BAD for none. Output: the caller's frame in that state, or u->stop. Words of the stack are 4 bytes; registers
// have the numbers that unwind/cfi.c gives them: those of x86-64, esi and edi as r12 and r13, so that rules have slots for all that i386 code saves.
// Invariant: as unwind.bpf.c: whatever lies in the process's memory, a frame is left upwards or the walk ends with its reason.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"
#include "bpfrt/walk_rule.h"

#if RT_IS_X86
enum { ESI = 12, EDI = 13 };
#define REGS32 0x30cfu // eax edx ecx ebx ebp esp esi edi

// ---- memory and registers
static RT_INLINE bool near32(struct RtUw *u, u64 addr)
{
	u64 off = addr - u->win_at;
	return off < u->win_n && !(off & 3);
}

static RT_INLINE u64 near_word(struct RtUw *u, u64 addr)
{
	u64 off = addr - u->win_at, i = off >> 3 & (RT_UW_WIN / 8 - 1);
	RT_BARRIER(i);
	return (u32)(u->win[i] >> (off & 4) * 8);
}

// The 4 bytes at addr of the stack, into u->tmp[0].
RT_ONCE u64 rtp_read32(struct RtUw *u, u64 addr)
{
	if (!u)
		return 0;
	if (!near32(u, addr)) {
		u64 n = RT_UW_PAGE - (addr & (RT_UW_PAGE - 1));
		if (n < 4)
			n = 4;
		RT_BOUND(n, RT_UW_WIN);
		u->win_at = addr;
		u->win_n = 0;
		if (bpf_probe_read_user(u->win, n, (void *)addr)) {
			u->unread = addr;
			return 0;
		}
		u->win_n = n - 3;
	}
	u->tmp[0] = near_word(u, addr);
	return 1;
}

// Register r into u->tmp[1], from where an inner frame saved it if need be. 0: not known.
RT_ONCE u64 rtp_get32(struct RtUw *u, u32 r)
{
	if (!u)
		return 0;
	r &= RT_NREGS - 1;
	u32 bit = 1u << r;
	u64 at = u->reg[r];
	if (!(u->valid & bit))
		return 0;
	if (u->saved & bit) {
		u->tmp[1] = 0;
		if (near32(u, at)) {
			u->tmp[1] = near_word(u, at);
		} else if (bpf_probe_read_user(&u->tmp[1], 4, (void *)at)) {
			u->valid &= ~bit;
			return 0;
		}
		u->reg[r] = u->tmp[1];
		u->saved &= ~bit;
	}
	u->tmp[1] = u->reg[r];
	return 1;
}

// What load_regs() took from struct pt_regs: the upper halves mean nothing in 32-bit code.
RT_NOINLINE u64 rt_uw_load32(struct RtUw *u)
{
	u->reg[ESI] = u->reg[4];
	u->reg[EDI] = u->reg[5];
	RT_UNROLL
	for (u32 r = 0; r < RT_NREGS; r++)
		u->reg[r] = (u32)u->reg[r];
	u->pc = (u32)u->pc;
	u->valid = REGS32;
	return 0;
}

// ---- the caller's frame
// Its return address ra was found at `slot`, its stack pointer is sp.
RT_ONCE u64 rtp_enter32(struct RtUw *u, u64 ra, u64 slot, u64 sp)
{
	if (!u)
		return 1;
	u32 leaf = u->leaf;

	u->pc = ra;
	u->reg[RT_R_SP] = sp;
	u->valid |= 1u << RT_R_SP;
	u->saved &= ~(1u << RT_R_SP);
	u->is_ra = 1;
	u->leaf = 0;
	u->ra_slot = slot;
	if (ra)
		return 0;
	return rt_uw_stop(u, leaf ? RT_WHY_BAD_CFA : RT_WHY_RA_ZERO); // a thread's first function has called something
}

// The frame a signal interrupted: base is the address of esp in its struct sigcontext_32 (arch/x86/include/uapi/asm/sigcontext.h).
RT_ONCE u64 rtp_signal32(struct RtUw *u, u64 base)
{
	if (!u)
		return 1;
	u->reg[EDI] = base - 12;
	u->reg[ESI] = base - 8;
	u->reg[6] = base - 4;  // ebp
	u->reg[3] = base + 4;  // ebx
	u->reg[1] = base + 8;  // edx
	u->reg[2] = base + 12; // ecx
	u->reg[0] = base + 16; // eax
	u->valid = REGS32;
	u->saved = REGS32 & ~(1u << RT_R_SP);
	if (!rtp_read32(u, base))
		return rt_uw_stop(u, RT_WHY_BAD_READ);
	u->reg[RT_R_SP] = u->tmp[0];
	if (!rtp_read32(u, base + 28))
		return rt_uw_stop(u, RT_WHY_BAD_READ);
	u->pc = u->tmp[0];
	u->is_ra = 0;
	u->leaf = 1;
	return 0;
}

// ---- code without unwind information
// Signal trampolines, by their bytes: where in the stack the interrupted esp is kept, from sp on; 0: it is none. 119: sigreturn, 173: rt_sigreturn
// (struct sigframe_ia32, rt_sigframe_ia32: arch/x86/include/asm/sigframe.h; sp is at the return address's successor).
static RT_INLINE u64 sigreturn32(u64 code)
{
	u64 seven = code << 8;
	if (code == 0x80cd00000077b858ULL) // pop %eax; mov $119,%eax; int $0x80
		return 32;
	if (seven == 0x80cd00000077b800ULL)
		return 28;
	return seven == 0x80cd000000adb800ULL ? 188 : 0;
}

// Position-independent code asks a thunk for its own address before it makes a frame (the vDSO's functions do; gcc's __x86.get_pc_thunk.*):
// call thunk; add $n,%eax (or another register); push %ebp; mov %esp,%ebp, and the thunk: mov (%esp),%reg; ret.
static RT_INLINE bool no_frame_yet(u64 code, u64 pc, bool leaf)
{
	if ((code & 0xffffff00000000ffULL) == 0xe589550000000005ULL || (code & 0xffff00000000f8ffULL) == 0x895500000000c081ULL)
		return true;
	if (!leaf)
		return false;
	if ((code & 0xffffc7ff) == 0xc324048b)
		return true;
	return (code & 0xff00000000ffULL) == 0x0500000000e8ULL && !(pc & 15);
}

// A function that has no frame yet or any more, or a signal trampoline. Returns 1 when it left the frame (or stopped).
static RT_INLINE u64 by_code32(struct RtUw *u)
{
	u64 sp = u->reg[RT_R_SP], code, at;

	if (u->entry) { // a probe has overwritten the code here, but it is known to be a function's first instruction
		u->entry = 0;
		if (!rtp_read32(u, sp))
			return 0;
		rtp_enter32(u, u->tmp[0], sp, sp + 4);
		return 1;
	}
	if (!u->leaf && u->n > 2 && u->reg[RT_R_FP] - sp < 28 && !(u->saved & 1u << RT_R_FP)) // no room for a signal frame
		return 0;
	if (bpf_probe_read_user(&u->tmp[0], 8, (void *)u->pc))
		return 0;
	code = u->tmp[0];
	at = sigreturn32(code);
	if (at) {
		rtp_signal32(u, sp + at);
		return 1;
	}
	if (u->n <= 2 && no_frame_yet(code, u->pc, u->leaf))
		code = 0xc3;
	else if (!u->leaf)
		return 0;
	if ((u32)code == 0xfb1e0ff3u) // endbr32
		code = code >> 32;
	if ((code & 0xff) == 0x55 || (code & 0xff) == 0xc3) { // push %ebp; ret
		if (!rtp_read32(u, sp))
			return 0;
		rtp_enter32(u, u->tmp[0], sp, sp + 4);
		return 1;
	}
	if ((code & 0xffff) == 0xe589 || (code & 0xffff) == 0xec8b) { // mov %esp,%ebp after push %ebp
		if (!rtp_read32(u, sp + 4))
			return 0;
		u->reg[RT_R_FP] = sp;
		u->saved |= 1u << RT_R_FP;
		u->valid |= 1u << RT_R_FP;
		rtp_enter32(u, u->tmp[0], sp + 4, sp + 8);
		return 1;
	}
	return 0;
}

// By frame pointer. The chain must rise; a zero is its agreed end (System V ABI for i386, 2.3.1).
static RT_INLINE u64 by_fp32(struct RtUw *u)
{
	if (by_code32(u))
		return u->stop;
	if (!rtp_get32(u, RT_R_FP))
		return rt_uw_stop(u, RT_WHY_FP_END);
	u64 fp = u->tmp[1];
	if (!fp)
		return rt_uw_stop(u, u->leaf ? RT_WHY_FP_END : RT_WHY_FP_ZERO);
	if (fp & 3 || fp < u->reg[RT_R_SP] || !rtp_read32(u, fp))
		return rt_uw_stop(u, RT_WHY_FP_END);
	u->reg[RT_R_FP] = u->tmp[0];
	if (!rtp_read32(u, fp + 4))
		return rt_uw_stop(u, RT_WHY_FP_END);
	rt_uw_guess(u, RT_WHY_GUESS_FP);
	u->valid = 1u << RT_R_FP;
	u->saved = 0;
	return rtp_enter32(u, u->tmp[0], fp + 4, fp + 8);
}

// ---- by rule
// Where the caller finds the registers of a rule's slots. Without branches: the verifier then has one state.
RT_ONCE u64 rtp_slots32(struct RtUw *u, struct RtUwRule *r, u64 cfa, u64 fp)
{
	if (!u || !r)
		return 0;
	static const u8 regs[RT_UW_SLOTS] = RT_SLOT_REGS;
	u64 all = r->saved, byfp = r->fprel;

	RT_UNROLL
	for (u32 s = 0; s < RT_UW_SLOTS; s++) {
		u64 take = 0 - (all >> s & 1), fprel = 0 - (byfp >> s & 1);
		RT_BARRIER(take);
		RT_BARRIER(fprel);
		u64 at = (cfa ^ ((cfa ^ fp) & fprel)) + r->slot[s], was = u->reg[regs[s]];
		u->reg[regs[s]] = was ^ ((was ^ at) & take);
	}
	u32 saved = RT_SLOT_BITS(r->saved), lost = rt_uw_lost(r);
	u->saved |= saved;
	u->valid = (u->valid | saved) & ~lost;
	return 0;
}

static RT_INLINE u64 no_cfa32(struct RtUw *u, struct RtUwRule *r)
{
	return 0;
}

// ebp lies just below the return address: one read for both.
static RT_INLINE void near_ebp(struct RtUw *u, struct RtUwRule *r, u64 slot, u64 cfa)
{
	u64 saved = cfa + r->slot[0];
	if (r->saved & 1 && !near32(u, slot) && slot - saved <= RT_UW_WIN / 2)
		rtp_read32(u, saved);
}

// To the caller of the frame at u->pc.
static RT_INLINE u64 leave32(struct RtUw *u, struct RtUwRule *r)
{
	if (u->compat > 1) // a code segment of the process's own making: what its addresses are relative to is not known
		return rt_uw_stop(u, RT_WHY_NO_RULE);
	if (!r || r->kind == RT_UW_NONE || r->kind == RT_UW_BAD)
		return by_fp32(u);
	if (r->kind == RT_UW_END)
		return rt_uw_stop(u, RT_WHY_OK);
	return leave_rule(u, r, (struct Leave){rtp_get32, rtp_read32, no_cfa32, near_ebp, rtp_slots32, rtp_enter32, rtp_signal32, 4});
}

RT_MAP_EXTERN(rt_uw_rules);
RT_NOINLINE u64 rtg_leave32(RT_GIVEN given, u64 rule) // as rtg_locate() in unwind.bpf.c
{
	u32 nr = rule;
	struct RtStackBuf *b = rt_given(given);

	return b ? leave32(&b->uw, b->uw.fp_only ? NULL : bpf_map_lookup_elem(&rt_uw_rules, &nr)) : 1;
}

#ifndef RT_UW_TASK
RT_NOINLINE u64 rtg_leave32_fp(RT_GIVEN given) // for walk_fp.h: there are no rules
{
	struct RtStackBuf *b = rt_given(given);

	return b ? leave32(&b->uw, NULL) : 1;
}
#endif
#endif
