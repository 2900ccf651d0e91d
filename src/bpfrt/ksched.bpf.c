// ksched.bpf.c: the scheduler's frames of a task that sleeps. The kernel leaves them out of another task's stack (stack_trace_save_tsk: in_sched_functions),
// while the stack that sched_switch has for the same wait begins with them. In: the stack without them; where the task's registers were saved as it left
// the CPU; the kernel's own unwind table (ORC, x86) or frame pointers. Out: the stack with them.
// Invariant: a frame is added only between two that the walk came to one after the other, and the walk meets every frame the kernel gave, in order; where
// it does not, the rest stays as the kernel gave it.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"

// Bounds of the kernel's section .sched.text, and its unwind table: __start_orc_unwind_ip, __start_orc_unwind, number of entries. 0: not known.
RT_CONST(u64, rt_sched_start, 0);
RT_CONST(u64, rt_sched_end, 0);
RT_CONST(u64, rt_orc_ip, 0);
RT_CONST(u64, rt_orc, 0);
RT_CONST(u32, rt_orc_n, 0);
// Offsets from BTF: where __switch_to_asm() left the stack pointer, and what it pushed there (struct inactive_task_frame); arm64: registers (cpu_context).
RT_CONST(u32, rt_off_thread_sp, 0);
RT_CONST(u32, rt_off_frame_bp, 0);
RT_CONST(u32, rt_off_frame_ret, 0);
RT_CONST(u32, rt_off_cpu_fp, 0);
RT_CONST(u32, rt_off_cpu_pc, 0);
RT_CONST_EXTERN(u32, rt_off_task_stack);
RT_CONST_EXTERN(u32, rt_thread_size);

#define SCHED_STEPS 128 // above the number of frames followed, the scheduler's own included
#define ORC_BITS 22

// The walk: ip, sp and bp of the frame at hand; `in` frames of the kernel's are met, `out` are written, `sure` of these up to the last one met.
struct SchedWalk {
	u64 ip, sp, bp, lo, hi;
	u32 in, nin, out, sure;
	u64 tmp;
};
#define SCHED_WALK(b) ((struct SchedWalk *)(b)->uw.win) // a kernel stack needs nothing of the user walker's state
#define SCHED_IN(b) ((b)->buf + sizeof(struct RtStack) / 8)
#define SCHED_OUT_AT 512 // where the frames with the scheduler's go: words behind those without
#define SCHED_OUT(b) (SCHED_IN(b) + SCHED_OUT_AT)

// The 8 bytes at `from` of the task's own stack.
static RT_NOINLINE u64 sched_read(struct SchedWalk *w, u64 from)
{
	return from - w->lo < w->hi - w->lo && !(from & 7) && rt_kread8(&w->tmp, from);
}

// Number of the table's last entry at or below ip. Without branches: one path for the verifier.
static RT_NOINLINE u64 orc_find(u64 ip)
{
	u64 lo = 0, n = rt_orc_n;

	for (s32 bit = ORC_BITS - 1; bit >= 0; bit--) {
		u64 at = lo + (1ULL << bit), where = rt_orc_ip + at * 4;
		s32 rel = 0;
		bpf_probe_read_kernel(&rel, 4, (void *)where);
		u64 yes = (at - n) >> 63 & ~(ip - (where + (s64)rel)) >> 63; // both are kernel addresses: their difference compares right
		RT_BARRIER(yes);
		lo += yes << bit;
	}
	return lo;
}

// struct orc_entry (arch/x86/include/asm/orc_types.h), the part that all kernels have: offsets from a register to the caller's stack pointer and from
// there, or from bp, to where its bp was saved. Registers have other numbers in Linux 7.2 (NEW_*; as its table has them): what they were before stands in no entry of code
// that the scheduler's frames run, and a wrong step would not meet the kernel's frames.
enum { ORC_UNDEFINED = 0, ORC_PREV_SP = 1, NEW_SP = 3, ORC_BP = 4, ORC_SP = 5, NEW_PREV_SP = 8 };
struct Orc {
	s16 sp_off, bp_off;
	u8 regs; // sp: low half, bp: high half
	u8 rest;
};

static RT_NOINLINE u64 sched_by_orc(struct SchedWalk *w)
{
	struct Orc o = {0};
	u64 sp, bp = w->bp;

	if (bpf_probe_read_kernel(&o, sizeof(o), (void *)(rt_orc + orc_find(w->ip - 1) * sizeof(o))))
		return 0;
	u32 base = o.regs & 15, saved = o.regs >> 4;
	if (base == ORC_SP || base == NEW_SP)
		sp = w->sp;
	else if (base == ORC_BP)
		sp = bp;
	else
		return 0;
	sp += (s64)o.sp_off;
	if (sp <= w->sp || !sched_read(w, sp - 8)) // the stack is left upwards
		return 0;
	w->ip = w->tmp;
	if (saved == ORC_PREV_SP || saved == NEW_PREV_SP || saved == ORC_BP) {
		if (!sched_read(w, (saved == ORC_BP ? bp : sp) + (s64)o.bp_off))
			return 0;
		w->bp = w->tmp;
	} else if (saved != ORC_UNDEFINED) {
		return 0;
	}
	w->sp = sp;
	return 1;
}

static RT_NOINLINE u64 sched_by_fp(struct SchedWalk *w)
{
	u64 fp = w->bp;

	if (fp < w->sp || !sched_read(w, fp + 8))
		return 0;
	w->ip = w->tmp;
#if RT_IS_ARM64
	w->ip |= 0xff7fULL << 48; // without pointer authentication; kernel half
#endif
	if (!sched_read(w, fp))
		return 0;
	w->bp = w->tmp;
	w->sp = fp + 16;
	return 1;
}

// One frame. 1: the walk ends, successful or not. A global function with a number for its argument: see rtg_walk_step.
RT_NOINLINE u64 rtg_sched_step(RT_GIVEN given)
{
	struct RtStackBuf *b = rt_given(given);

	if (!b)
		return 1;
	struct SchedWalk *w = SCHED_WALK(b);
	u64 ip = w->ip, in = w->in, out = w->out;
	if (in >= w->nin || in >= SCHED_STEPS || out >= SCHED_STEPS)
		return 1;
	SCHED_OUT(b)[out] = ip;
	w->out = out + 1;
	if (ip == SCHED_IN(b)[in]) {
		w->in = in + 1;
		w->sure = out + 1;
	} else if (ip - rt_sched_start >= rt_sched_end - rt_sched_start) {
		return 1;
	}
	return rt_orc_n ? !sched_by_orc(w) : !sched_by_fp(w);
}

static RT_NOINLINE u64 sched_begin(struct RtStackBuf *b, u64 task, u64 n)
{
	struct SchedWalk *w = SCHED_WALK(b);

	w->in = w->out = w->sure = 0;
	w->nin = n;
	if (!rt_sched_start || !rt_off_task_stack || !rt_kread8(&w->lo, task + rt_off_task_stack))
		return 0;
	w->hi = w->lo + rt_thread_size - 7;
#if RT_IS_ARM64
	u64 pc;
	if (!rt_off_cpu_fp || !rt_kread8(&w->bp, task + rt_off_cpu_fp) || !rt_kread8(&pc, task + rt_off_cpu_pc))
		return 0;
	w->sp = w->lo;
	w->in = n && SCHED_IN(b)[0] == pc; // in __switch_to, where a running task's stack never is
	return sched_by_fp(w);
#else
	u64 at;
	if (!rt_off_thread_sp || !rt_off_frame_ret || !rt_kread8(&at, task + rt_off_thread_sp))
		return 0;
	if (!sched_read(w, at + rt_off_frame_bp))
		return 0;
	w->bp = w->tmp;
	if (!sched_read(w, at + rt_off_frame_ret))
		return 0;
	w->ip = w->tmp;
	w->sp = at + rt_off_frame_ret + 8;
	return 1;
#endif
}

// b holds the n frames that the kernel gave of a task. Puts the scheduler's among them and returns how many they are now.
RT_NOINLINE u64 rt_sched_frames(struct RtStackBuf *b, u64 task, u64 n)
{
	struct SchedWalk *w = SCHED_WALK(b);
	RT_GIVEN given = rt_give(b);
	u64 out, in;

	if (!sched_begin(b, task, n))
		return n;
	for (u32 i = 1; i < SCHED_STEPS; i++)
		if (rtg_sched_step(given))
			break;
	out = w->sure & (SCHED_STEPS - 1);
	in = w->in & (SCHED_STEPS - 1);
	if (!out)
		return n;
	n -= in; // what the walk did not come to
	RT_BOUND(n, 128);
	bpf_probe_read_kernel(SCHED_OUT(b) + out, n * 8, SCHED_IN(b) + in);
	n += out;
	RT_BOUND(n, RT_KSTACK_MAX);
	bpf_probe_read_kernel(SCHED_IN(b), n * 8, SCHED_OUT(b));
	return n;
}
