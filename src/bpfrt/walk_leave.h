// walk_leave.h: leaving a frame: a part of unwind.bpf.c. Input: the state at a frame, and the rule that holds there; without one, the frame pointer and the
// code's bytes. Output: the caller's state, or u->stop with its reason. Invariant: a stack is left upwards.
#ifndef SONDE_RT_WALK_LEAVE_H
#define SONDE_RT_WALK_LEAVE_H
#include "bpfrt/walk_mem.h"
#include "bpfrt/walk_rule.h"
#include "bpfrt/stack_rt.h"

RT_CONST(u32, rt_off_tp, 0); // task_struct.thread: the thread pointer of user space; from BTF, 0 when unknown

// The caller's frame: its return address ra was found at `slot`, its stack pointer is sp. All registers the rule did not speak of are kept, caller-saved
// ones too: assembly whose inner functions leave them alone has a CFA in one of them (OpenSSL's aesni_gcm_encrypt in rax).
static RT_INLINE u64 enter(struct RtUw *u, u64 ra, u64 slot, u64 sp)
{
	ra = STRIP(ra);
	u->pc = ra;
	// A thread's first function finds a zero there, by agreement: when its first instruction is at hand, or when it has a frame. Others were not called.
	if (!ra)
		return rt_uw_stop(u, RT_IS_X86 && slot == u->reg[RT_R_SP] && !u->entry ? RT_WHY_NO_CALL : RT_WHY_RA_ZERO);
	u->reg[RT_R_SP] = sp;
	u->valid = (u->valid & ~RT_CALL_CLOBBERS) | 1u << RT_R_SP;
	u->saved &= ~(1u << RT_R_SP);
	u->is_ra = 1;
	u->leaf = 0;
	u->ra_slot = slot;
	if (ra >> RT_UW_PC_BITS && ra != u->tramp)
		return rt_uw_stop(u, RT_WHY_BAD_CFA);
	return 0;
}

RT_ONCE u64 rtp_enter_caller(struct RtUw *u, u64 ra, u64 slot, u64 sp)
{
	if (!u)
		return 1;
	return enter(u, ra, slot, sp);
}

// The frame a signal interrupted: base is the address of the stack pointer in its struct sigcontext (arch/x86, arch/arm64, arch/riscv: there of pc
// include/uapi/asm/sigcontext.h). Everything is known there, and pc is no return address.
RT_ONCE u64 rtp_enter_signal(struct RtUw *u, u64 base)
{
	if (!u)
		return 1;
#if RT_IS_ARM64
	for (u32 r = 0; r < 31; r++)
		u->reg[r] = base - 31 * 8 + r * 8;
	u->saved = 0x7fffffff;
	u->valid = ~0u;
#elif RT_IS_RISCV64 // pc, x1 to x31
	if (bpf_probe_read_user(&u->tmp[2], 8, (void *)base)) {
		u->unread = base;
		return rt_uw_stop(u, RT_WHY_BAD_READ);
	}
	for (u32 r = 1; r < 32; r++)
		u->reg[r] = base + r * 8;
	u->saved = ~(1u | 1u << RT_R_SP);
	u->valid = ~0u;
	base += RT_R_SP * 8;
#else
	u64 at = base - 15 * 8;
	RT_UNROLL
	for (u32 r = 8; r < 16; r++)
		u->reg[r] = at + (r - 8) * 8;
	u->reg[5] = at + 64;  // rdi
	u->reg[4] = at + 72;  // rsi
	u->reg[6] = at + 80;  // rbp
	u->reg[3] = at + 88;  // rbx
	u->reg[1] = at + 96;  // rdx
	u->reg[0] = at + 104; // rax
	u->reg[2] = at + 112; // rcx
	u->valid = 0xffff;
	u->saved = 0xffff & ~(1u << RT_R_SP);
#endif
	if (bpf_probe_read_user(&u->tmp[0], 16, (void *)base)) {
		u->unread = base;
		return rt_uw_stop(u, RT_WHY_BAD_READ);
	}
	u->reg[RT_R_SP] = u->tmp[0];
	u->pc = RT_IS_RISCV64 ? u->tmp[2] : u->tmp[1];
	u->is_ra = 0;
	u->leaf = 1;
	if (u->pc >> RT_UW_PC_BITS)
		return rt_uw_stop(u, RT_WHY_BAD_CFA);
	return 0;
}

#if RT_IS_X86
// Code without unwind information that has no frame yet or any more, or is a signal trampoline: told by its bytes, as gdb does.
// Returns 1 when it left the frame (or stopped).
static RT_INLINE u64 leave_by_code(struct RtUw *u)
{
	u64 sp = u->reg[RT_R_SP];

	if (u->entry) { // a probe has overwritten the code here, but it is known to be a function's first instruction
		if (!rtp_read8(u, sp))
			return 0;
		rtp_enter_caller(u, u->tmp[0], sp, sp + 8);
		return 1;
	}
	// A look at the code costs a third of a frame: only for a leaf, or where a struct rt_sigframe may lie between here and the frame pointer, or nothing
	if (!u->leaf && u->reg[RT_R_FP] - sp - 1 < 159 && !(u->saved & 1u << RT_R_FP))
		return 0;
	if (bpf_probe_read_user(&u->tmp[0], 8, (void *)u->pc))
		return 0;
	u64 code = u->tmp[0];
	if (code == 0x0f0000000fc0c748ULL) { // mov $15,%rax; syscall: rt_sigreturn. struct rt_sigframe, sp at the return address's successor
		rtp_enter_signal(u, sp + 160);
		return 1;
	}
	bool pops = (code & 0xffff) == 0xc35d; // pop %rbp; ret
	if (pops || (code & 0xffffffffffULL) == 0xc308c48348ULL) { // add $8,%rsp; ret: the trampolines of CPython's -X perf have one of these
		if (!rtp_read8(u, sp + 8))
			return 0;
		if (pops) {
			u->reg[RT_R_FP] = sp;
			u->saved |= 1u << RT_R_FP;
			u->valid |= 1u << RT_R_FP;
		}
		rtp_enter_caller(u, u->tmp[0], sp + 8, sp + 16);
		return 1;
	}
	if (!u->leaf)
		return 0;
	if ((u32)code == 0xfa1e0ff3u) // endbr64
		code = code >> 32;
	if ((code & 0xff) == 0x55 || (code & 0xff) == 0xc3) { // push %rbp; ret
		if (!rtp_read8(u, sp))
			return 0;
		if ((code & 0xff) == 0x55) // it may save rbp for another purpose, in the middle of a function
			rt_uw_guess(u, RT_WHY_GUESS_FP);
		rtp_enter_caller(u, u->tmp[0], sp, sp + 8);
		return 1;
	}
	if ((code & 0xffffff) == 0xe58948 || (code & 0xffffff) == 0xec8b48) { // mov %rsp,%rbp after push %rbp
		if (!rtp_read8(u, sp + 8))
			return 0;
		rt_uw_guess(u, RT_WHY_GUESS_FP);
		u->reg[RT_R_FP] = sp;
		u->saved |= 1u << RT_R_FP;
		u->valid |= 1u << RT_R_FP;
		rtp_enter_caller(u, u->tmp[0], sp + 8, sp + 16);
		return 1;
	}
	return 0;
}
#endif

#if RT_IS_X86 && !defined(RT_UW_TASK)
// Code in no file was left by a frame pointer, to the return address ra in a file. Was that frame another function's? So it was when the call before ra
// goes to a function that sets up a frame pointer, and the code is not that function's (JIT compilers that use rbp for nothing or for something else, called
// by C with frame pointers). Calls through a register tell nothing; nor do those of JIT code, whose helpers jump on to functions when they have left their frame.
RT_ONCE u64 rtp_is_anothers(struct RtUw *u, u64 from, u64 ra)
{
	if (!u)
		return 0;
	if (bpf_probe_read_user(&u->tmp[2], 8, (void *)(ra - 8)) || (u->tmp[2] >> 24 & 0xff) != 0xe8) // call
		return 0;
	u64 to = ra + (u64)(s64)(s32)(u->tmp[2] >> 32);
	if (from - to < 1 << 20 || to >> RT_UW_PC_BITS || bpf_probe_read_user(&u->tmp[2], 8, (void *)to))
		return 0;
	u64 code = u->tmp[2];
	if ((u32)code == 0xfa1e0ff3u) // endbr64
		code >>= 32;
	return (u32)code == 0xe5894855u; // push %rbp; mov %rsp,%rbp
}
#else
static RT_INLINE u64 rtp_is_anothers(struct RtUw *u, u64 from, u64 ra)
{
	return 0;
}
#endif

#if RT_IS_RISCV64
// s0 is the CFA; the return address lies below it, then the caller's s0 (RISC-V ELF psABI, "Frame Pointer Convention"). A leaf saves s0 alone, in the return address's
// place; a function's first instruction has saved nothing, nor has a stub of the linker, which no table tells of ("Procedure Linkage Table": jalr t1,t3; nop).
static RT_INLINE u64 leave_bare(struct RtUw *u)
{
	u64 sp = u->reg[RT_R_SP], ra = u->reg[RT_R_RA];

	if (!u->leaf || !(u->valid & 1u << RT_R_RA) || u->saved & 1u << RT_R_RA)
		return 0;
	if (!u->entry && (u->bare || bpf_probe_read_user(&u->tmp[0], 8, (void *)((u->pc & ~15ULL) + 8)) || u->tmp[0] != 0x00000013000e0367ULL))
		return 0;
	u->entry = 0;
	rtp_enter_caller(u, ra, sp, sp);
	return 1;
}

static RT_INLINE u64 leave_riscv(struct RtUw *u, u64 fp)
{
	u64 ra = u->reg[RT_R_RA], word = u->tmp[1], next = u->tmp[0];

	if (u->leaf && u->valid & 1u << RT_R_RA && !(u->saved & 1u << RT_R_RA) && !(word & 7) && word >= fp && word - fp < 1 << 20)
		next = word; // the place of the return address has a frame pointer
	else
		ra = word;
	u->reg[RT_R_FP] = next;
	u->valid = 1u << RT_R_FP;
	u->saved = 0;
	return rtp_enter_caller(u, ra, fp, fp);
}
#define FP_BELOW 16 // the two words lie so far below where the frame pointer points to
#else
#define FP_BELOW 0
#endif

// By frame pointer. The chain must rise; a zero is its agreed end (System V ABI: the outermost frame's frame pointer is 0), but not of the frame that the
// thread is in: code without frame pointers has any value there.
// lacks: there are rules, which we do not have. If they will be there soon, no caller is made up until then.
RT_ONCE u64 rtp_leave_by_fp(struct RtUw *u, u64 lacks)
{
	if (!u)
		return 1;
	if (lacks && !u->entry && (u->weak == RT_WHY_NEW_FILE || u->weak == RT_WHY_NO_TABLE))
		return rt_uw_stop(u, u->weak);
#if RT_IS_X86
	if (leave_by_code(u))
		return u->stop;
#endif
#if RT_IS_RISCV64
	if (leave_bare(u))
		return u->stop;
#endif
	if (!rtp_reg_get(u, RT_R_FP))
		return rt_uw_stop(u, RT_WHY_FP_END);
	u64 fp = u->tmp[1];
	if (!fp)
		return rt_uw_stop(u, u->leaf ? RT_WHY_FP_END : RT_WHY_FP_ZERO);
	if (fp & 7 || fp < u->reg[RT_R_SP] || !read16(u, fp - FP_BELOW))
		return rt_uw_stop(u, RT_WHY_FP_END);
	if (u->bare && !u->fp_only)
		u->bare_pc = u->pc;
	rt_uw_guess(u, RT_WHY_GUESS_FP);
	u->by_fp = u->n + 1;
#if RT_IS_RISCV64
	return leave_riscv(u, fp);
#endif
	u->reg[RT_R_FP] = u->tmp[0];
	u->valid = 1u << RT_R_FP;
	u->saved = 0;
#if RT_IS_ARM64
	return rtp_enter_caller(u, u->tmp[1], fp + 16, fp + 16);
#else
	return rtp_enter_caller(u, u->tmp[1], fp + 8, fp + 16);
#endif
}

// Where the caller finds the registers of a rule's slots. A function, reading everything from memory: after each slot the verifier has one state.
static RT_INLINE void leave_slot(struct RtUw *u, struct RtUwRule *rule, u64 cfa, u64 fp, u32 s, u32 reg)
{
	volatile struct RtUwRule *r = rule;
	volatile struct RtUw *v = u;

	if (r->saved & 1u << s)
		v->reg[reg] = (r->fprel & 1u << s ? fp : cfa) + r->slot[s];
}

RT_ONCE u64 rtp_leave_slots(struct RtUw *u, struct RtUwRule *r, u64 cfa, u64 fp)
{
	if (!u || !r)
		return 0;
	static const u8 regs[RT_UW_SLOTS] = RT_SLOT_REGS;
	u32 saved = RT_SLOT_BITS(r->saved), lost = rt_uw_lost(r);

	u->saved |= saved;
	u->valid = (u->valid | saved) & ~lost;
	RT_UNROLL
	for (u32 s = 0; s < RT_UW_SLOTS; s++)
		leave_slot(u, r, cfa, fp, s, regs[s]);
	return 0;
}

// The same where all are relative to the CFA and the frame pointer is seen to.
static RT_INLINE u64 leave_slots_cfa(struct RtUw *u, struct RtUwRule *r, u64 cfa)
{
	static const u8 regs[RT_UW_SLOTS] = RT_SLOT_REGS;
	u64 slots = r->saved, saved = RT_SLOT_BITS(slots & ~1u), lost = rt_uw_lost(r);

	u->saved |= saved;
	u->valid = (u->valid | saved) & ~lost;
	RT_UNROLL
	for (u32 s = 1; s < RT_UW_SLOTS; s++) {
		if (slots & 1u << s)
			u->reg[regs[s]] = cfa + r->slot[s];
		RT_FENCE();
	}
	return 0;
}

// The usual rule: CFA = register + offset, return address at the CFA, the frame pointer often saved just below it.
static RT_INLINE u64 leave_usual(struct RtUw *u, struct RtUwRule *r)
{
	u64 sp = u->reg[RT_R_SP], cfa = sp;

	if (r->reg != RT_R_SP) {
		if (!rtp_reg_get(u, r->reg))
			return rt_uw_stop(u, RT_WHY_NO_RULE);
		cfa = u->tmp[1];
	}
	cfa += r->off;
	if (cfa < sp || (cfa == sp && !u->leaf)) // the stack is left upwards
		return rt_uw_stop(u, RT_WHY_BAD_CFA);
	u64 slot = cfa + r->ra, fp = cfa + r->slot[0];
	if (!in_window(u, slot)) {
		u64 from = r->saved & 1 && slot - fp <= RT_UW_WIN / 2 ? fp : slot;
		if (!rtp_fill(u, from) || (!in_window(u, slot) && !rtp_fill(u, slot)))
			return rt_uw_stop(u, RT_WHY_BAD_READ);
	}
	if (r->saved > 1 || r->lost)
		leave_slots_cfa(u, r, cfa);
	if (r->saved & 1) {
		u->valid |= 1u << RT_R_FP;
		if (in_window(u, fp)) {
			u->reg[RT_R_FP] = window(u, fp);
			u->saved &= ~(1u << RT_R_FP);
		} else {
			u->reg[RT_R_FP] = fp;
			u->saved |= 1u << RT_R_FP;
		}
	}
	return enter(u, window(u, slot), RT_R_SP == 7 ? slot : cfa, cfa);
}

// The CFA of RT_UW_DEPTH into u->tmp[0]; base is the register of the rule.
static RT_INLINE u64 depth_cfa(struct RtUw *u, struct RtUwRule *r, u64 base)
{
	if (!rtp_read8(u, base + r->slot[0]))
		return 0;
	u64 depth = u->tmp[0];
	if (!rtp_read8(u, base + r->off) || !rtp_read8(u, u->tmp[0] + 8))
		return 0;
	u->tmp[0] += r->off2 - depth;
	return 1;
}

// Eight bytes that are not on the stack at hand.
RT_ONCE u64 rtp_read_far(struct RtUw *u, u64 addr)
{
	if (!u)
		return 0;
	if (!bpf_probe_read_user(&u->tmp[0], 8, (void *)addr))
		return 1;
	u->unread = addr;
	return 0;
}

// Where the other stack was left, into u->tmp[0]; where a goroutine's record has that, into u->tmp[1]. A Go function that C called finds in its thread's own stack where that goes on, and there the place
// that holds for the next one of them.
RT_ONCE u64 rtp_go_stack(struct RtUw *u, struct RtUwRule *r)
{
	if (!u || !r)
		return 0;
	u64 sp = u->go_sp, tp, off = (u64)(s64)r->off;

	if (!rt_off_tp || bpf_probe_read_kernel(&u->tmp[0], 8, (void *)(u->task + rt_off_tp)))
		return 0;
	tp = u->tmp[0];
	if (r->slot[RT_UW_GO_LOADED]) {
		if (!rtp_read_far(u, u->bias + off))
			return 0;
		off = u->tmp[0];
	}
	if (!rtp_read_far(u, tp + off) || !rtp_read_far(u, u->tmp[0] + r->slot[RT_UW_GO_M]))
		return 0;
	bool own = !r->slot[RT_UW_GO_CURG];
	if (!sp || !own) {
		if (!rtp_read_far(u, u->tmp[0] + (own ? r->slot[RT_UW_GO_G0] : r->slot[RT_UW_GO_CURG])))
			return 0;
		if (!u->tmp[0] && r->ra_kind == RT_UW_RA_GO) // its turn is over: the thread looks for another goroutine
			rt_uw_stop(u, RT_WHY_OK);
		if (!u->tmp[0])
			return 0;
		u->tmp[1] = u->tmp[0] + r->slot[RT_UW_GO_SP];
		if (!rtp_read_far(u, u->tmp[1]) || !u->tmp[0])
			return 0;
		sp = u->tmp[0];
	}
	if (own) {
		if (!rtp_read_far(u, sp))
			return 0;
		u->go_sp = u->tmp[0];
	}
	u->tmp[0] = sp;
	return 1;
}

// LuaJIT's compiled code runs on the frame of its machine, lowered by some; the thread says where that is (cframe), and that says whose it is. Which functions the
// compiler has put into that code the chain may be sure of.
#define LUAJIT_CFRAME 80
#define LUAJIT_THREAD 16
#define LUAJIT_DISPATCH 14 // r14
#define LUAJIT_LOWERED 8192 // bytes, at most
// The frame of the thread that `at` leads to, into u->tmp[0].
static RT_INLINE u64 luajit_frame(struct RtUw *u, u64 at)
{
	if (!rtp_read_far(u, at) || !rtp_read_far(u, u->tmp[0] + LUAJIT_CFRAME))
		return 0;
	u64 frame = u->tmp[0] & ~3ULL; // bits that say something else
	if (frame < u->reg[RT_R_SP] || !rtp_read_far(u, at))
		return 0;
	u->tmp[2] = u->tmp[0];
	if (!rtp_read_far(u, frame + LUAJIT_THREAD) || u->tmp[0] != u->tmp[2])
		return 0;
	u->tmp[0] = frame;
	return 1;
}

// The machine calls pieces of itself, and its unwind information, one rule for all of its code, does not know of their return address. Which frame is the machine's
// the thread in it says. Where it leaves a trace it has the registers of that on the stack, but r14 still leads to the thread.
static RT_INLINE u64 luajit_is_frame(struct RtUw *u, u64 at)
{
	return rtp_read_far(u, at + LUAJIT_THREAD) && rtp_read_far(u, u->tmp[0] + LUAJIT_CFRAME) && (u->tmp[0] & ~3ULL) == at;
}

RT_ONCE u64 rtp_luavm_cfa(struct RtUw *u, struct RtUwRule *r)
{
	if (!u || !r)
		return 0;
	u64 frame = u->tmp[1];

	if (!luajit_is_frame(u, frame)) {
		if (luajit_is_frame(u, frame + 8))
			frame += 8;
		else if (r->off2 && rtp_reg_get(u, LUAJIT_DISPATCH) && luajit_frame(u, u->tmp[1] + r->off2) && u->tmp[0] - frame < LUAJIT_LOWERED)
			frame = u->tmp[0];
	}
	u->tmp[0] = frame + r->off;
	return 1;
}

static RT_INLINE u64 other_cfa(struct RtUw *u, struct RtUwRule *r)
{
	if (r->kind == RT_UW_LUAVM)
		return rtp_luavm_cfa(u, r);
	if (r->kind == RT_UW_DEPTH)
		return depth_cfa(u, r, u->tmp[1]);
	if (r->kind == RT_UW_LUAJIT) {
		if (!luajit_frame(u, u->tmp[1] + r->off))
			return 0;
		if (!u->sure)
			rt_uw_guess(u, RT_WHY_GUESS_INLINED);
		u->sure = 0;
		u->tmp[0] += r->off2;
		return 1;
	}
	if (!rtp_go_stack(u, r))
		return 0;
	u->tmp[0] += r->off2;
	return 1;
}

static RT_INLINE void near8(struct RtUw *u, struct RtUwRule *r, u64 slot, u64 cfa)
{
}

// By any other rule that has a CFA.
static RT_INLINE u64 leave_by_rule(struct RtUw *u, struct RtUwRule *r)
{
	leave_rule(u, r, (struct Leave){rtp_reg_get, rtp_read8, other_cfa, near8, rtp_leave_slots, rtp_enter_caller, rtp_enter_signal, 8});
	if (!u->stop && r->ra_kind == RT_UW_RA_EXACT) {
		u->is_ra = 0;
		u->leaf = 1;
	}
	return u->stop;
}
#endif
