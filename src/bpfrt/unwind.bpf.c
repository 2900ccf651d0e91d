// unwind.bpf.c: walks the current thread's user stack with the rows of its objects' .eh_frame, and with frame pointers where there are none.
// Input: registers of the context or of the task's kernel entry; the maps user space fills (stack.h). Output: frames in the CPU's stack
// buffer, interned. Invariant: whatever the process has put into its memory and registers, the walk ends, and a stack that does not
// reach the thread's root says why.
// The same file is compiled for the host (-DRT_HOST) and run on recorded memory by test/unit/walk_test.c.
#include "bpfrt/rt.h"
#include "bpfrt/stack.h"
#include "bpfrt/stack_rt.h"

RT_MAP_EXTERN(rt_uw_maps);
RT_MAP(rt_uw_rules, RT_MAP_ARRAY, 4, sizeof(struct RtUwRule), RT_UW_RULES, RT_F_MMAPABLE);
RT_MAP(rt_uw_seen, RT_MAP_ARRAY, 4, sizeof(struct RtUwSeen), 1 << RT_UW_SEEN_BITS, 0);
RT_MAP(rt_uw_asked, RT_MAP_LRU_HASH, 4, 4, 4096, 0);
RT_MAP(rt_uw_ends, RT_MAP_HASH, sizeof(struct RtUwEnd), sizeof(struct RtUwEndCount), 1, 0);

// What the running kernel offers, and where its structures keep what we follow: from its BTF, 0 when unknown (uprobe.h, uprobes.c, sched.h).
RT_CONST(u64, rt_ns_dev, 0);	      // pid namespace sonde runs in; rt_ns_ino 0: the initial one
RT_CONST(u64, rt_ns_ino, 0);
RT_CONST(u32, rt_uw_pt_regs, 1);      // bpf_task_pt_regs (5.15); else the top of the task's stack
RT_CONST(u32, rt_off_task_stack, 0);  // task_struct.stack
RT_CONST(u32, rt_thread_size, 16384); // bytes of a kernel stack
RT_CONST(u32, rt_off_utask, 0);	      // task_struct.utask
RT_CONST(u32, rt_off_mm, 0);	      // task_struct.mm
RT_CONST(u32, rt_off_xol, 0);	      // mm_struct.uprobes_state.xol_area
RT_CONST(u32, rt_off_xol_vaddr, 0);   // xol_area.vaddr
RT_CONST(u32, rt_off_ri, 0);	      // uprobe_task.return_instances
RT_CONST(u32, rt_off_ri_stack, 0);    // return_instance.stack
RT_CONST(u32, rt_off_ri_orig, 0);     // return_instance.orig_ret_vaddr
RT_CONST(u32, rt_off_ri_next, 0);     // return_instance.next
RT_CONST(u32, rt_uw_count_ends, 0);   // --why-incomplete

#define RT_UW_RIS 64 // MAX_URETPROBE_DEPTH
#if defined(RT_ARM64) || defined(__aarch64__)
#define STRIP(pc) ((pc) & ((1ULL << RT_UW_PC_BITS) - 1)) // pointer authentication code
#else
#define STRIP(pc) (pc)
#endif

// ---- memory and registers of the thread. Results go through u->tmp: the verifier then has one state to follow.
// The stack is read in pieces of up to RT_UW_WIN bytes that end with their page: one call of the kernel serves several frames.
static RT_NOINLINE u64 fill(struct RtUw *u, u64 addr)
{
	u64 n = RT_UW_PAGE - (addr & (RT_UW_PAGE - 1));

	if (n < 8)
		n = 8;
	RT_BOUND(n, RT_UW_WIN);
	u->win_at = addr;
	u->win_n = 0;
	if (bpf_probe_read_user(u->win, n, (void *)addr))
		return 0;
	u->win_n = n - 7;
	return 1;
}

// Are the 8 bytes at addr in the window?
static RT_INLINE bool in_window(struct RtUw *u, u64 addr)
{
	u64 off = addr - u->win_at;
	return off < u->win_n && !(off & 7);
}

static RT_INLINE u64 window(struct RtUw *u, u64 addr)
{
	u64 i = (addr - u->win_at) >> 3 & (RT_UW_WIN / 8 - 1);
	RT_BARRIER(i);
	return u->win[i];
}

// The 8 bytes at addr of the stack, into u->tmp[0].
static RT_NOINLINE u64 read8(struct RtUw *u, u64 addr)
{
	if (!in_window(u, addr) && !fill(u, addr))
		return 0;
	u->tmp[0] = window(u, addr);
	return 1;
}

// The 16 bytes at addr, into u->tmp[0] and [1].
static RT_NOINLINE u64 read16(struct RtUw *u, u64 addr)
{
	if (!read8(u, addr))
		return 0;
	u64 first = u->tmp[0];
	if (!read8(u, addr + 8)) // may be another piece
		return 0;
	u->tmp[1] = u->tmp[0];
	u->tmp[0] = first;
	return 1;
}

// Register r into u->tmp[1], from where an inner frame saved it if need be. 0: not known.
static RT_NOINLINE u64 reg_get(struct RtUw *u, u32 r)
{
	r &= RT_NREGS - 1;
	u32 bit = 1u << r;
	if (!(u->valid & bit))
		return 0;
	if (u->saved & bit) {
		if (bpf_probe_read_user(&u->reg[r], 8, (void *)u->reg[r])) {
			u->valid &= ~bit;
			return 0;
		}
		u->saved &= ~bit;
	}
	u->tmp[1] = u->reg[r];
	return 1;
}

static RT_INLINE u64 stop(struct RtUw *u, u32 why)
{
	u->why = why;
	u->stop = 1;
	return 1;
}

// ---- what user space is asked for
static RT_NOINLINE u64 ask_mappings(u32 tgid)
{
	u32 one = 1;

	if (bpf_map_update_elem(&rt_uw_asked, &tgid, &one, RT_NOEXIST)) // asked before
		return 0;
	if (rt_uw_ask(tgid, 0))
		bpf_map_delete_elem(&rt_uw_asked, &tgid); // full: the next stack asks again
	return 0;
}

// ---- mapping and rule, remembered: most places of a stack were in a stack before
// Where look lies and which rule holds there, the long way, into u->frame and u->rule. It is kept in *e when it stays true as long as the mappings do:
// an object's table, once there, never changes.
static RT_NOINLINE u64 locate(struct RtUw *u, u64 look, struct RtUwSeen *e)
{
	u64 frame = look, rule = u->fp_only ? RT_UW_RULE_UNSEEN : 0;

	if (look - u->map_start >= u->map_len) {
		struct RtUwKey key = {u->tgid, 0};
		rt_uw_find(u, u->stale ? NULL : bpf_map_lookup_elem(&rt_uw_maps, &key), look);
	}
	if (u->obj) {
		u64 off = look - u->map_start + u->map_off;
		frame = RT_FRAME_MAKE(u->obj, off);
		if (!u->fp_only)
			rule = rt_uw_find_rule(u, off);
	} else {
		u->lacks |= u->unknown;
		if (u->unknown && u->map_len)
			u->weak = RT_WHY_NO_TABLE;
	}
	u->frame = frame;
	u->rule = rule;
	// not what the kernel alone knows, but for code made at run time: user space will soon tell
	if (u->gen && rule != RT_UW_RULES && (u->obj ? u->told : u->map_len && !u->unknown)) {
		u64 id = u->gen << 16 | rule;
		e->frame = frame;
		e->id = id;
		e->check = look ^ RT_UW_SEEN_MIX(frame, id);
	}
	return 0;
}

// ---- leaving a frame
// A return address equal to the trampoline of a pending uretprobe: the true one is kept by the kernel, under the address of the stack slot it
// was taken from (x86) or the stack pointer at function entry (arm64): u->ra_slot.
static RT_NOINLINE u64 original_return(struct RtUw *u)
{
	u64 ri = u->ri, slot = u->ra_slot;

	for (u32 i = 0; i < RT_UW_RIS; i++) {
		if (!ri || bpf_probe_read_kernel(&u->tmp[0], 8, (void *)(ri + rt_off_ri_stack)))
			break;
		if (u->tmp[0] == slot) {
			if (bpf_probe_read_kernel(&u->tmp[0], 8, (void *)(ri + rt_off_ri_orig)))
				break;
			u->pc = u->tmp[0];
			if (u->pc >> RT_UW_PC_BITS)
				stop(u, RT_WHY_BAD_CFA);
			return 0;
		}
		if (bpf_probe_read_kernel(&u->tmp[0], 8, (void *)(ri + rt_off_ri_next)))
			break;
		ri = u->tmp[0];
	}
	return stop(u, RT_WHY_BAD_READ);
}

// The caller's frame: its return address ra was found at `slot`, its stack pointer is sp.
static RT_INLINE u64 enter(struct RtUw *u, u64 ra, u64 slot, u64 sp)
{
	ra = STRIP(ra);
	u->pc = ra;
	u->reg[RT_R_SP] = sp;
	u->valid = (u->valid & RT_CALLEE_SAVED) | 1u << RT_R_SP;
	u->saved &= RT_CALLEE_SAVED;
	u->is_ra = 1;
	u->leaf = 0;
	if (!ra)
		return stop(u, RT_WHY_RA_ZERO);
	u->ra_slot = slot;
	if (ra >> RT_UW_PC_BITS)
		return stop(u, RT_WHY_BAD_CFA);
	return 0;
}

static RT_NOINLINE u64 enter_caller(struct RtUw *u, u64 ra, u64 slot, u64 sp)
{
	return enter(u, ra, slot, sp);
}

// The frame a signal interrupted: base is the address of the stack pointer in its struct sigcontext (arch/x86, arch/arm64
// include/uapi/asm/sigcontext.h). Everything is known there, and pc is no return address.
static RT_NOINLINE u64 enter_signal(struct RtUw *u, u64 base)
{
#if defined(RT_ARM64) || defined(__aarch64__)
	for (u32 r = 0; r < 31; r++)
		u->reg[r] = base - 31 * 8 + r * 8;
	u->saved = 0x7fffffff;
	u->valid = ~0u;
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
	if (bpf_probe_read_user(&u->tmp[0], 16, (void *)base))
		return stop(u, RT_WHY_BAD_READ);
	u->reg[RT_R_SP] = u->tmp[0];
	u->pc = u->tmp[1];
	u->is_ra = 0;
	u->leaf = 1;
	if (u->pc >> RT_UW_PC_BITS)
		return stop(u, RT_WHY_BAD_CFA);
	return 0;
}

#if !defined(RT_ARM64) && !defined(__aarch64__)
// Code without unwind information that has no frame yet or any more, or is a signal trampoline: told by its bytes, as gdb does.
// Returns 1 when it left the frame (or stopped).
static RT_NOINLINE u64 leave_by_code(struct RtUw *u)
{
	u64 sp = u->reg[RT_R_SP];

	if (u->entry) { // a probe has overwritten the code here, but it is known to be a function's first instruction
		u->entry = 0;
		if (!read8(u, sp))
			return 0;
		enter_caller(u, u->tmp[0], sp, sp + 8);
		return 1;
	}
	// A look at the code costs a third of a frame: only for a leaf, or where a struct rt_sigframe may lie between here and the frame pointer
	if (!u->leaf && u->reg[RT_R_FP] - sp < 160 && !(u->saved & 1u << RT_R_FP))
		return 0;
	if (bpf_probe_read_user(&u->tmp[0], 8, (void *)u->pc))
		return 0;
	u64 code = u->tmp[0];
	if (code == 0x0f0000000fc0c748ULL) { // mov $15,%rax; syscall: rt_sigreturn. struct rt_sigframe, sp at the return address's successor
		enter_signal(u, sp + 160);
		return 1;
	}
	if (!u->leaf)
		return 0;
	if ((u32)code == 0xfa1e0ff3u) // endbr64
		code = code >> 32;
	if ((code & 0xff) == 0x55 || (code & 0xff) == 0xc3) { // push %rbp; ret
		if (!read8(u, sp))
			return 0;
		enter_caller(u, u->tmp[0], sp, sp + 8);
		return 1;
	}
	if ((code & 0xffffff) == 0xe58948 || (code & 0xffffff) == 0xec8b48) { // mov %rsp,%rbp after push %rbp
		if (!read8(u, sp + 8))
			return 0;
		u->reg[RT_R_FP] = sp;
		u->saved |= 1u << RT_R_FP;
		u->valid |= 1u << RT_R_FP;
		enter_caller(u, u->tmp[0], sp + 8, sp + 16);
		return 1;
	}
	return 0;
}
#endif

// By frame pointer. The chain must rise; a zero is its agreed end (System V ABI: the outermost frame's frame pointer is 0).
static RT_NOINLINE u64 leave_by_fp(struct RtUw *u)
{
#if !defined(RT_ARM64) && !defined(__aarch64__)
	if (leave_by_code(u))
		return u->stop;
#endif
	if (!reg_get(u, RT_R_FP))
		return stop(u, RT_WHY_FP_END);
	u64 fp = u->tmp[1];
	if (!fp)
		return stop(u, RT_WHY_FP_ZERO);
	if (fp & 7 || fp < u->reg[RT_R_SP] || !read16(u, fp))
		return stop(u, RT_WHY_FP_END);
	u->reg[RT_R_FP] = u->tmp[0];
	u->valid = 1u << RT_R_FP;
	u->saved = 0;
#if defined(RT_ARM64) || defined(__aarch64__)
	return enter_caller(u, u->tmp[1], fp + 16, fp + 16);
#else
	return enter_caller(u, u->tmp[1], fp + 8, fp + 16);
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

static RT_NOINLINE u64 leave_slots(struct RtUw *u, struct RtUwRule *r, u64 cfa, u64 fp)
{
	static const u8 regs[RT_UW_SLOTS] = RT_SLOT_REGS;
	u32 saved = RT_SLOT_BITS(r->saved), lost = RT_SLOT_BITS(r->lost);

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
	u64 slots = r->saved, saved = RT_SLOT_BITS(slots & ~1u), lost = RT_SLOT_BITS(r->lost);

	u->saved |= saved;
	u->valid = (u->valid | saved) & ~lost;
	RT_UNROLL
	for (u32 s = 1; s < RT_UW_SLOTS; s++) {
		if (slots & 1u << s)
			u->reg[regs[s]] = cfa + r->slot[s];
		asm volatile("" ::: "memory");
	}
	return 0;
}

// The usual rule: CFA = register + offset, return address at the CFA, the frame pointer often saved just below it.
static RT_INLINE u64 leave_usual(struct RtUw *u, struct RtUwRule *r)
{
	u64 sp = u->reg[RT_R_SP], cfa = sp;

	if (r->reg != RT_R_SP) {
		if (!reg_get(u, r->reg))
			return stop(u, RT_WHY_NO_RULE);
		cfa = u->tmp[1];
	}
	cfa += r->off;
	if (cfa < sp || (cfa == sp && !u->leaf)) // the stack is left upwards
		return stop(u, RT_WHY_BAD_CFA);
	u64 slot = cfa + r->ra, fp = cfa + r->slot[0];
	if (!in_window(u, slot)) {
		u64 from = r->saved & 1 && slot - fp <= RT_UW_WIN / 2 ? fp : slot;
		if (!fill(u, from) || (!in_window(u, slot) && !fill(u, slot)))
			return stop(u, RT_WHY_BAD_READ);
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

// By any other rule that has a CFA.
static RT_NOINLINE u64 leave_by_rule(struct RtUw *u, struct RtUwRule *r)
{
	u64 cfa, fp = 0, slot, sp;

	if (!reg_get(u, r->reg))
		return stop(u, RT_WHY_NO_RULE);
	cfa = u->tmp[1] + r->off;
	if (r->kind == RT_UW_SIG)
		return enter_signal(u, cfa);
	if (r->kind == RT_UW_PLT) {
		cfa += (u->pc & 15) >= (u32)r->off2 ? 8 : 0;
	} else if (r->kind == RT_UW_DEREF) {
		if (r->index) {
			if (!reg_get(u, r->index - 1))
				return stop(u, RT_WHY_NO_RULE);
			cfa += u->tmp[1] * 8;
		}
		if (!read8(u, cfa))
			return stop(u, RT_WHY_BAD_READ);
		cfa = u->tmp[0] + r->off2;
	}
	if (r->fprel || r->ra_kind == RT_UW_RA_FP) {
		if (!reg_get(u, RT_R_FP))
			return stop(u, RT_WHY_NO_RULE);
		fp = u->tmp[1];
	}
	// the stack is left upwards; a CFA equal to sp is only where the return address is in a register
	sp = u->reg[RT_R_SP];
	if (r->sp_kind == RT_UW_SP_CFA && (cfa < sp || (cfa == sp && !u->leaf)))
		return stop(u, RT_WHY_BAD_CFA);
	sp = cfa;
	if (r->sp_kind == RT_UW_SP_REG) {
		if (!reg_get(u, r->sp))
			return stop(u, RT_WHY_NO_RULE);
		sp = u->tmp[1];
	} else if (r->sp_kind == RT_UW_SP_MEM) {
		if (!read8(u, cfa + r->sp))
			return stop(u, RT_WHY_BAD_READ);
		sp = u->tmp[0];
	}
	slot = cfa + r->ra;
	if (r->ra_kind == RT_UW_RA_REG) {
		if (!reg_get(u, r->ra))
			return stop(u, RT_WHY_NO_RULE);
		u->tmp[0] = u->tmp[1];
		slot = cfa;
	} else {
		if (r->ra_kind == RT_UW_RA_FP)
			slot = fp + r->ra;
		if (!read8(u, slot))
			return stop(u, RT_WHY_BAD_READ);
	}
	if (r->saved | r->lost)
		leave_slots(u, r, cfa, fp);
	return enter_caller(u, u->tmp[0], RT_R_SP == 7 ? slot : cfa, sp);
}

struct WalkCtx { // bpf_loop takes a pointer into the BPF stack only
	struct RtStackBuf *b;
};

// One frame: stores it and moves to its caller; u->stop ends the walk.
static RT_INLINE void walk_frame(struct RtStackBuf *b)
{
	struct RtUw *u = &b->uw;
	u64 look = u->pc - u->is_ra, n = u->n;
	u32 key = ((look ^ u->gen << 48) * 0x9e3779b97f4a7c15ULL) >> (64 - RT_UW_SEEN_BITS);
	struct RtUwSeen *e = bpf_map_lookup_elem(&rt_uw_seen, &key);

	if (!e) {
		stop(u, RT_WHY_NO_RULE);
		return;
	}
	u64 frame = e->frame, id = e->id;
	key = id & 0xffff;
	if (id >> 16 != u->gen || (e->check ^ RT_UW_SEEN_MIX(frame, id)) != look || (key == RT_UW_RULE_UNSEEN && !u->fp_only)) {
		locate(u, look, e);
		frame = u->frame;
		key = u->rule;
	}
	u->bare = !(frame >> 63);
	u->raw |= u->bare;
	frame += u->is_ra;
	if (n < RT_STACK_MAX)
		b->buf[sizeof(struct RtStack) / 8 + n] = frame;
	rt_stack_hash(&u->h1, &u->h2, frame);
	u->n = n + 1;
	if (u->n >= u->limit) {
		stop(u, RT_WHY_LIMIT);
		return;
	}
	struct RtUwRule *r = u->fp_only ? NULL : bpf_map_lookup_elem(&rt_uw_rules, &key);
	if (!r || r->kind == RT_UW_NONE || r->kind == RT_UW_BAD)
		leave_by_fp(u);
	else if (r->kind == RT_UW_END)
		stop(u, RT_WHY_OK);
	else if (r->kind == RT_UW_REG && !(r->fprel | r->ra_kind | r->sp_kind))
		leave_usual(u, r);
	else
		leave_by_rule(u, r);
	u->entry = 0;
	if (u->pc == u->tramp && u->tramp && u->is_ra)
		original_return(u);
}

// Result as bpf_loop wants it: 1 ends the walk.
static long walk_step(u64 i, struct WalkCtx *w)
{
	walk_frame(w->b);
	u64 end = w->b->uw.stop;
	return end & 1;
}

// The same for kernels without bpf_loop. A global function (btfgen.c: by its name) is verified once and not in every round of the loop that calls
// it; the price is that it may be given numbers only.
RT_NOINLINE u64 rtg_walk_step(u64 slot)
{
	u32 key = slot;
	struct RtStackBuf *b = bpf_map_lookup_elem(&rt_stack_bufs, &key);

	if (!b)
		return 1;
	walk_frame(b);
	return b->uw.stop;
}

// ---- starting
// The general registers of user mode into b->regs. 0: the thread has none (kernel thread).
static RT_NOINLINE u64 user_regs(void *ctx, struct RtStackBuf *b, u64 src)
{
	u64 p;

#ifndef RT_HOST
	if ((src & RT_SRC_MASK) == RT_SRC_REGS || (src & RT_SRC_MASK) == RT_SRC_PERF) {
		volatile struct RtPtRegs *r = ctx; // volatile: one 8-byte load for each field, as the verifier wants them
#ifdef RT_ARM64
		RT_UNROLL
		for (u32 k = 0; k < 31; k++)
			b->regs.r[k] = r->r[k];
		b->regs.sp = r->sp;
		b->regs.pc = r->pc;
		b->regs.pstate = r->pstate;
		if (!(b->regs.pstate & 15))
			return 1;
#else
		b->regs.r15 = r->r15, b->regs.r14 = r->r14, b->regs.r13 = r->r13, b->regs.r12 = r->r12;
		b->regs.bp = r->bp, b->regs.bx = r->bx, b->regs.r11 = r->r11, b->regs.r10 = r->r10;
		b->regs.r9 = r->r9, b->regs.r8 = r->r8, b->regs.ax = r->ax, b->regs.cx = r->cx;
		b->regs.dx = r->dx, b->regs.si = r->si, b->regs.di = r->di, b->regs.orig_ax = r->orig_ax;
		b->regs.ip = r->ip, b->regs.cs = r->cs, b->regs.flags = r->flags, b->regs.sp = r->sp;
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
#if defined(RT_ARM64) || defined(__aarch64__)
	return !(b->regs.pstate & 15) && b->regs.pc;
#else
	return (b->regs.cs & 3) && b->regs.ip;
#endif
}

static RT_NOINLINE u64 load_regs(struct RtStackBuf *b)
{
	struct RtUw *u = &b->uw;
	struct RtPtRegs *r = &b->regs;

#if defined(RT_ARM64) || defined(__aarch64__)
	for (u32 k = 0; k < 31; k++)
		u->reg[k] = r->r[k];
	u->reg[31] = r->sp;
	u->pc = r->pc;
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
#endif
	u->saved = 0;
	u->map_start = 0;
	u->map_len = 0;
	u->n = 0;
	u->raw = 0;
	u->lacks = 0;
	u->gone = 0;
	u->unknown = 0;
	u->obj = 0;
	u->leaf = 1;
	u->why = RT_WHY_OK;
	u->weak = RT_WHY_OK;
	u->stop = 0;
	u->h1 = 0;
	u->h2 = 0;
	u->tramp = 0;
	u->win_n = 0;
	return 0;
}

// Pending uretprobes of the thread: u->tramp, u->ri.
static RT_NOINLINE u64 load_uretprobes(struct RtUw *u)
{
	u64 task = bpf_get_current_task(), utask;

	if (!rt_off_utask || !rt_off_xol || !rt_off_ri_orig)
		return 0;
	if (bpf_probe_read_kernel(&u->tmp[0], 8, (void *)(task + rt_off_utask)) || !u->tmp[0])
		return 0;
	utask = u->tmp[0];
	if (bpf_probe_read_kernel(&u->ri, 8, (void *)(utask + rt_off_ri)) || !u->ri)
		return 0;
	if (bpf_probe_read_kernel(&u->tmp[0], 8, (void *)(task + rt_off_mm)) || !u->tmp[0])
		return 0;
	if (bpf_probe_read_kernel(&u->tmp[0], 8, (void *)(u->tmp[0] + rt_off_xol)) || !u->tmp[0])
		return 0;
	if (bpf_probe_read_kernel(&u->tramp, 8, (void *)(u->tmp[0] + rt_off_xol_vaddr)))
		u->tramp = 0;
	return 0;
}

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

// Walks from the registers in b->regs. Frames in b, result in b->uw.
static RT_INLINE void walk(struct RtStackBuf *b, u64 limit, u64 src, bool loop)
{
	struct WalkCtx w = {b};
	struct RtUwKey key = {own_tgid(), 0};
	struct RtUw *u = &b->uw;

	load_regs(b);
	load_uretprobes(u);
	u->tgid = key.tgid;
	u->limit = limit == 0 || limit > RT_STACK_MAX ? RT_STACK_MAX : limit;
	u->fp_only = (src & RT_SRC_F_FP) != 0;
	u->entry = (src & (RT_SRC_F_ENTRY | RT_SRC_F_USER)) == (RT_SRC_F_ENTRY | RT_SRC_F_USER);
	struct RtUwChunk *c = bpf_map_lookup_elem(&rt_uw_maps, &key);
	u->gen = c ? c->gen : 0;
	if (!c)
		ask_mappings(key.tgid);
	u->stale = !c || !rt_uw_check(u, c);
	if (u->stale)
		u->gen = 0;
	u->map_start = 0;
	u->map_len = 0;
	if (loop) {
		bpf_loop(RT_STACK_MAX, walk_step, &w, 0);
	} else {
		u64 slot = b->slot;
		for (u32 i = 0; i < RT_STACK_MAX; i++)
			if (rtg_walk_step(slot))
				break;
	}
	if (!u->stop)
		u->why = RT_WHY_LIMIT;
	else if (u->why == RT_WHY_LIMIT && u->limit == limit)
		u->why = RT_WHY_ASKED;
	else if (u->gone && u->n == 1) // past exit_mm(), or past the point of no return of execve(2)
		u->why = RT_WHY_EXITING;
	else if (u->stale && u->lacks && !u->fp_only)
		u->why = RT_WHY_NO_PROC;
	else if (u->weak)
		u->why = u->weak;
	else if ((u->why == RT_WHY_FP_END || u->why == RT_WHY_FP_ZERO) && u->bare && !(src & RT_SRC_F_FP))
		u->why = RT_WHY_NO_MAPPING;
	else if (u->why == RT_WHY_BAD_READ && rt_off_mm && !bpf_probe_read_kernel(&u->tmp[0], 8, (void *)(bpf_get_current_task() + rt_off_mm)) &&
		 !u->tmp[0])
		u->why = RT_WHY_EXITING;
}

// Counts where and why the stack ended. User space made the entries of process 0: when the map is full, they take it.
static RT_NOINLINE u64 count_end(struct RtStackBuf *b, u32 why)
{
	struct RtUw *u = &b->uw;
	struct RtUwEnd key = {0, u->tgid, why, u->n == 1};
	struct RtUwEndCount first = {1}, *have;
	u64 last = u->n - 1;

	if (why == RT_WHY_KTHREAD || why == RT_WHY_EXITING)
		key = (struct RtUwEnd){0, 0, why, 0};
	else if (last < RT_STACK_MAX)
		key.frame = b->buf[sizeof(struct RtStack) / 8 + last];
	have = bpf_map_lookup_elem(&rt_uw_ends, &key);
	if (!have) {
		bpf_get_current_comm(first.comm, sizeof(first.comm));
		if (!bpf_map_update_elem(&rt_uw_ends, &key, &first, RT_NOEXIST))
			return 0;
		have = bpf_map_lookup_elem(&rt_uw_ends, &key); // another CPU was faster
	}
	if (!have) {
		key = (struct RtUwEnd){0, 0, why, 0};
		have = bpf_map_lookup_elem(&rt_uw_ends, &key);
	}
	if (have)
		__sync_fetch_and_add(&have->count, 1);
	return 0;
}

static RT_INLINE u64 finish(struct RtStackBuf *b, u64 limit)
{
	struct RtUw *u = &b->uw;
	struct RtStack *st = (struct RtStack *)b->buf;
	struct RtCounters *c = rt_stack_counters();

	if (rt_uw_count_ends)
		count_end(b, u->why);
	if (u->why == RT_WHY_RA_ZERO || u->why == RT_WHY_FP_ZERO)
		u->why = RT_WHY_OK;
	if (c)
		c->why[u->why & 15]++;
	if (u->why == RT_WHY_EXITING) // past exit_mm: there is no user stack any more
		return 0;
	st->n = u->n;
	st->pid = u->raw ? u->tgid : 0;
	st->why = u->why;
	st->pad = 0;
	st->flags = RT_STACK_USER;
	if (u->why == RT_WHY_LIMIT)
		st->flags = RT_STACK_USER | RT_STACK_CUT | RT_STACK_INCOMPLETE;
	else if (u->why != RT_WHY_OK && u->why != RT_WHY_ASKED)
		st->flags = RT_STACK_USER | RT_STACK_INCOMPLETE;
	return rt_stack_intern(st, u->h1, u->h2);
}

static RT_INLINE u64 ustack(void *ctx, u64 limit, u64 src, bool loop)
{
	struct RtStackBuf *b = rt_stack_get();
	u64 id = 0;

	if (!b)
		return RT_STACK_LOST;
	if (bpf_get_current_pid_tgid() >> 32 && user_regs(ctx, b, src)) {
		walk(b, limit, src, loop);
		id = finish(b, limit);
	} else {
		struct RtCounters *c = rt_stack_counters();
		if (c)
			c->why[RT_WHY_KTHREAD]++;
		if (rt_uw_count_ends)
			count_end(b, RT_WHY_KTHREAD);
	}
	return rt_stack_put(b) ? id : RT_STACK_LOST;
}

RT_FN u64 rt_ustack(void *ctx, u64 limit, u64 src)
{
	return ustack(ctx, limit, src, true);
}

// What link.c takes instead where there is no bpf_loop: a program may not even name it there.
RT_FN u64 rt_ustack_noloop(void *ctx, u64 limit, u64 src)
{
	return ustack(ctx, limit, src, false);
}
