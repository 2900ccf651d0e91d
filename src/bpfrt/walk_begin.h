// walk_begin.h: what comes before the first frame, a part of unwind.bpf.c: the registers of user mode, which process it is, what is known of its mappings.
// Input: the program's context or the task's kernel entry. Output: the walker's state at its first frame.
#ifndef SONDE_RT_WALK_BEGIN_H
#define SONDE_RT_WALK_BEGIN_H
#include "bpfrt/stack_rt.h"

RT_MAP_EXTERN(rt_uw_maps);
RT_CONST(u64, rt_ns_dev, 0);	      // pid namespace sonde runs in; rt_ns_ino 0: the initial one
RT_CONST(u64, rt_ns_ino, 0);
// What the running kernel offers, and where its structures keep what we follow: from its BTF, 0 when unknown (sched.h).
RT_CONST(u32, rt_uw_pt_regs, 1);      // bpf_task_pt_regs (5.15); else the top of the task's stack
RT_CONST(u32, rt_off_task_stack, 0);  // task_struct.stack
RT_CONST(u32, rt_thread_size, 16384); // bytes of a kernel stack

#ifndef RT_UW_TASK
// The general registers of user mode into b->regs. 0: the thread has none (kernel thread).
static RT_NOINLINE u64 user_regs(void *ctx, struct RtStackBuf *b, u64 src)
{
	u64 p;

#ifndef RT_HOST
	if ((src & RT_SRC_MASK) == RT_SRC_REGS || (src & RT_SRC_MASK) == RT_SRC_PERF) {
		volatile struct RtPtRegs *r = ctx; // volatile: one 8-byte load for each field, as the verifier wants them
#if RT_IS_ARM64
		RT_UNROLL
		for (u32 k = 0; k < 31; k++)
			b->regs.r[k] = r->r[k];
		b->regs.sp = r->sp;
		b->regs.pc = r->pc;
		b->regs.pstate = r->pstate;
		if (!(b->regs.pstate & 15))
			return 1;
#elif RT_IS_RISCV64
		RT_UNROLL
		for (u32 k = 0; k < 32; k++)
			b->regs.r[k] = r->r[k];
		if (RT_USER_PC(b->regs.r[0])) // a perf event's context has no status
			return 1;
#else
		b->regs.r15 = r->r15, b->regs.r14 = r->r14, b->regs.r13 = r->r13, b->regs.r12 = r->r12;
		b->regs.bp = r->bp, b->regs.bx = r->bx, b->regs.r11 = r->r11, b->regs.r10 = r->r10;
		b->regs.r9 = r->r9, b->regs.r8 = r->r8, b->regs.ax = r->ax, b->regs.cx = r->cx;
		b->regs.dx = r->dx, b->regs.si = r->si, b->regs.di = r->di, b->regs.orig_ax = r->orig_ax;
		b->regs.ip = r->ip, b->regs.cs = r->cs, b->regs.flags = r->flags, b->regs.sp = r->sp;
		b->uw.trap = 0;
		if (b->regs.cs & 3)
			return 1;
#endif
	}
#endif
	if (rt_uw_pt_regs) {
		p = (u64)bpf_task_pt_regs(bpf_get_current_task_btf());
	} else {
		u64 task = bpf_get_current_task();
		if (!rt_off_task_stack || bpf_probe_read_kernel(&b->uw.tmp[0], 8, (void *)(task + rt_off_task_stack)))
			return 0;
		p = b->uw.tmp[0] + rt_thread_size - sizeof(struct RtPtRegs);
	}
	if (bpf_probe_read_kernel(&b->regs, sizeof(b->regs), (void *)p))
		return 0;
#if RT_IS_ARM64
	return !(b->regs.pstate & 15) && b->regs.pc;
#elif RT_IS_RISCV64
	return RT_USER_PC(b->regs.r[0]);
#else
	b->uw.trap = b->regs.orig_ax == ~0ULL;
	return (b->regs.cs & 3) && b->regs.ip;
#endif
}
#endif

static RT_NOINLINE u64 load_regs(struct RtStackBuf *b)
{
	struct RtUw *u = &b->uw;
	struct RtPtRegs *r = &b->regs;

#if RT_IS_ARM64
	for (u32 k = 0; k < 31; k++)
		u->reg[k] = r->r[k];
	u->reg[31] = r->sp;
	u->pc = r->pc;
	u->valid = ~0u;
	u->is_ra = 0;
#elif RT_IS_RISCV64
	for (u32 k = 0; k < 32; k++)
		u->reg[k] = r->r[k];
	u->reg[0] = 0;
	u->pc = r->r[0];
	u->valid = ~0u;
	u->is_ra = 0;
#else
	u->reg[0] = r->ax, u->reg[1] = r->dx, u->reg[2] = r->cx, u->reg[3] = r->bx;
	u->reg[4] = r->si, u->reg[5] = r->di, u->reg[6] = r->bp, u->reg[7] = r->sp;
	u->reg[8] = r->r8, u->reg[9] = r->r9, u->reg[10] = r->r10, u->reg[11] = r->r11;
	u->reg[12] = r->r12, u->reg[13] = r->r13, u->reg[14] = r->r14, u->reg[15] = r->r15;
	u->pc = r->ip;
	u->valid = 0xffff;
	u->is_ra = 0;
	u->compat = RT_COMPAT(r->cs);
	if (u->compat)
		rt_uw_load32(u);
#endif
	u->saved = 0;
	u->map_start = 0;
	u->map_len = 0;
	u->n = 0;
	u->pieces = 0;
	u->room = RT_STACK_PIECE;
	u->all1 = 0;
	u->all2 = 0;
	u->raw = 0;
	u->lacks = 0;
	u->gone = 0;
	u->unknown = 0;
	u->obj = 0;
	u->leaf = 1;
	u->why = RT_WHY_OK;
	u->weak = RT_WHY_OK;
	u->guess = RT_WHY_OK;
	u->stop = 0;
	u->h1 = 0;
	u->h2 = 0;
	u->win_n = 0;
	u->unread = 0;
	b->lang.unread = 0;
	u->go_sp = 0;
	u->guess_place = 0;
	u->bare_pc = 0;
	u->by_fp = 0;
	u->sure = 0;
	u->beam = 0;
#if RT_IS_X86
	u->born = r->ax || r->cx != r->ip ? 0 : r->orig_ax == 56 || r->orig_ax == 435 ? 2 : 1; // a system call leaves in rcx where it returns to
#endif
	b->lang.async.phase = RT_PY_SYNC;
	b->lang.async.last = 0;
	b->lang.async.steps = 0;
	return 0;
}

#ifndef RT_UW_TASK
// The process as sonde's /proc names it; 0: it is outside of sonde's pid namespace.
static RT_INLINE u64 own_tgid(void)
{
	struct {
		u32 pid, tgid;
	} ns = {0, 0}; // struct bpf_pidns_info
	if (!rt_ns_ino)
		return bpf_get_current_pid_tgid() >> 32;
	return bpf_get_ns_current_pid_tgid(rt_ns_dev, rt_ns_ino, &ns, sizeof(ns)) ? 0 : ns.tgid;
}
#endif

// Before the first frame: b->regs holds the registers; the thread is `task`, of process tgid as sonde's /proc names it. Returns the top of what is known of
// its mappings, NULL nothing.
static RT_INLINE struct RtUwChunk *walk_begin(struct RtStackBuf *b, u64 task, u32 tgid, u64 limit, u64 src)
{
	struct RtUwKey key = {tgid, 0};
	struct RtUw *u = &b->uw;

	load_regs(b);
	u->task = task;
	rt_uw_uprobes(u);
	u->tgid = key.tgid;
	u->limit = limit == 0 || limit > RT_STACK_DEEP ? RT_STACK_DEEP : limit;
	u->fp_only = (src & RT_SRC_F_FP) != 0;
	u->addrs = (src & RT_SRC_F_ADDR) != 0;
	u->again = (src & RT_SRC_F_AGAIN) != 0;
	b->lang.lang = b->lang.other.lang = b->lang.object = 0;
	b->lang.group = RT_GROUP_NONE;
	b->lang.func = (src & RT_SRC_F_FUNC) != 0;
	b->lang.func_frame = 0;
	b->lang.off = (src & (RT_SRC_F_NATIVE | RT_SRC_F_FP)) != 0;
	b->lang.async.on = src & RT_SRC_F_ASYNC;
	b->lang.java.native = b->lang.off;
	b->lang.java.lang = 0;
	b->lang.v8.failed = 0;
	b->lang.java.none = (src & RT_SRC_F_FP) != 0;
	u->entry = (src & (RT_SRC_F_ENTRY | RT_SRC_F_USER)) == (RT_SRC_F_ENTRY | RT_SRC_F_USER);
	b->lang.idle = 0;
	b->lang.pass = 0;
	b->lang.again = 0;
	b->lang.look = 1;
	b->lang.first.pc = u->pc;
	b->lang.first.sp = u->reg[RT_R_SP];
	b->lang.first.limit = u->limit;
	b->lang.first.entry = u->entry;
	b->lang.first.is_ra = u->is_ra;
	b->lang.first.leaf = u->leaf;
	struct RtUwChunk *c = bpf_map_lookup_elem(&rt_uw_maps, &key);
	rt_uw_epoch(u, c);
	u->at_ok = ~0ULL;
	u->stale = !c;
	if (!c)
		rt_uw_ask_mappings(key.tgid);
	return c;
}
#endif
