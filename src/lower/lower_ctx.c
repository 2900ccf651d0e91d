// Builtins that read the current task, the clock and the event -> IR.
#include "base/base.h"
#include "arch/arch.h"
#include "bpfrt/abi.h"
#include "bpfrt/stack.h"
#include "lower/internal.h"
#include <time.h>

// ---- who and where

struct IrVal cur_pid(struct Lower *l, bool tid, bool init_ns)
{
	if (!init_ns && l->o->ns_ino) {
		struct IrVal t = tmp_slot(l, 8); // struct bpf_pidns_info {u32 pid; u32 tgid}
		ir_store(&l->b, t, 0, 8, ir_imm(0));
		call4(l, H_NS_PID_TGID, ir_imm((s64)l->o->ns_dev), ir_imm((s64)l->o->ns_ino), t, ir_imm(8));
		return ir_load(&l->b, t, tid ? 0 : 4, 4, false);
	}
	struct IrVal x = call0(l, H_PID_TGID);
	return tid ? ir_ext(&l->b, x, 4, false) : ir_bin(&l->b, IR_LSHR, x, ir_imm(32));
}

struct Val l_pid(struct Lower *l, struct Expr *e)
{
	bool init = e->nargs && !strcmp(e->args[0]->str, "init");
	return num(e, cur_pid(l, e->builtin->id == BI_tid, init));
}

struct Val l_uid(struct Lower *l, struct Expr *e)
{
	struct IrVal x = call0(l, H_UID_GID);
	x = e->builtin->id == BI_gid ? ir_bin(&l->b, IR_LSHR, x, ir_imm(32)) : ir_ext(&l->b, x, 4, false);
	return e->builtin->id == BI_username ? numbered_text(l, e, x) : num(e, x);
}

struct Val l_simple(struct Lower *l, struct Expr *e)
{
	switch (e->builtin->id) {
	case BI_cgroup: return num(e, call0(l, H_CGROUP));
	case BI_curtask: return num(e, call0(l, H_CURTASK));
	case BI_rand: return num(e, ir_ext(&l->b, call0(l, H_PRANDOM), 4, false));
	case BI_jiffies:
		if (!l->o->jiffies64)
			diag_error(l->u->diags, e->span, "jiffies needs bpf_jiffies64 (Linux 5.5), which this kernel does not have");
		return num(e, call0(l, H_JIFFIES));
	default: UNREACHABLE();
	}
}

struct Val l_cpu(struct Lower *l, struct Expr *e)
{
	return num(e, ir_ext(&l->b, call0(l, e->builtin->id == BI_cpu ? H_CPU : H_NUMA), 4, false));
}

struct IrVal boot_ns(struct Lower *l)
{
	return l->is_late ? late_nsecs(l) : call0(l, l->o->ktime_boot ? H_KTIME_BOOT : H_KTIME);
}

struct Val l_nsecs(struct Lower *l, struct Expr *e)
{
	switch ((int)e->ival) {
	case CLOCK_MONOTONIC: return num(e, call0(l, H_KTIME));
	case CLOCK_TAI:
		if (l->o->ktime_tai)
			return num(e, call0(l, H_KTIME_TAI));
		__attribute__((fallthrough)); // the boot clock plus the distance measured at start
	case 100:
		return num(e, ir_bin(&l->b, IR_ADD, boot_ns(l), ir_imm(l->o->tai_minus_boot)));
	default: return num(e, boot_ns(l));
	}
}

struct Val l_elapsed(struct Lower *l, struct Expr *e)
{
	return num(e, ir_bin(&l->b, IR_SUB, boot_ns(l), ir_imm((s64)l->o->start_boot_ns)));
}

// A field of a struct known by name: the chain of names from a task pointer.
struct IrVal task_field(struct Lower *l, struct IrVal task, const char *const *names, u32 n, struct Val *last)
{
	const struct Type *t = ctype_lookup(l->u->ctypes, "struct task_struct");
	struct IrVal p = task;
	for (u32 i = 0; i < n; i++) {
		struct Field f = {0};
		if (!t || t->kind != TY_RECORD || !ctype_record_load(l->u->ctypes, t->rec) || !record_field(t->rec, names[i], &f)) {
			diag_error_plain(l->u->diags, "the kernel's BTF has no task_struct.%s", names[i]);
			*last = val_mem(ty_int(l->u->types, 4, false), p, 0, AS_KERNEL);
			return p;
		}
		*last = val_mem(f.type, p, (s32)f.off, AS_KERNEL);
		if (i + 1 < n) {
			p = load_scalar(l, *last);
			t = f.type->kind == TY_PTR ? f.type->elem : f.type;
		}
	}
	return p;
}

static struct IrVal task_arg(struct Lower *l, struct Expr *e)
{
	return e->kind == E_CALL && e->nargs ? lx_int(l, e->args[0]) : call0(l, H_CURTASK);
}

struct Val l_ppid(struct Lower *l, struct Expr *e)
{
	static const char *const parent[] = {"real_parent", "tgid"}, *const leader[] = {"group_leader", "pid"};
	struct Val v;
	task_field(l, task_arg(l, e), e->builtin->id == BI_ppid ? parent : leader, 2, &v);
	return num(e, load_scalar(l, v));
}

struct Val l_pcomm(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }
struct Val l_comm(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }

void comm_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, u32 size, bool pad)
{
	static const char *const parent[] = {"real_parent", "comm"}, *const leader[] = {"group_leader", "comm"};
	struct IrVal dst = addr_of(l, val_mem(NULL, base, off, AS_BPF));
	if (e->builtin->id == BI_comm && !(e->kind == E_CALL && e->nargs)) {
		if (pad) // seen on 6.1: what follows the NUL is left as it was, and equal names were different keys
			zero_bytes(l, base, off, size);
		call2(l, H_COMM, dst, ir_imm(MIN(size, 16u)));
		return;
	}
	struct Val v;
	if (e->builtin->id == BI_comm) { // comm(pid): walk to the task by its number
		struct IrVal task = ir_call_kfunc(&l->b, "bpf_task_from_pid", (struct IrVal[]){lx_int(l, e->args[0])}, 1);
		IrBlk have = ir_new_block(&l->b, "task"), none = ir_new_block(&l->b, "no_task"), end = ir_new_block(&l->b, "comm");
		ir_br(&l->b, IC_NE, task, ir_imm(0), have, none);
		ir_set_block(&l->b, have);
		static const char *const own[] = {"comm"};
		task_field(l, task, own, 1, &v);
		read_mem(l, AS_KERNEL, dst, ir_imm(MIN(size, 16u)), addr_of(l, v), true, (struct Span){0});
		ir_call_kfunc(&l->b, "bpf_task_release", &task, 1);
		ir_jmp(&l->b, end);
		ir_set_block(&l->b, none);
		fmt_event(l, e, e->args, 1);
		store_lit_str(l, base, off, size, "N/A", 3, pad);
		ir_jmp(&l->b, end);
		ir_set_block(&l->b, end);
		return;
	}
	task_field(l, task_arg(l, e), e->builtin->id == BI_pcomm ? parent : leader, 2, &v);
	read_mem(l, AS_KERNEL, dst, ir_imm(MIN(size, 16u)), addr_of(l, v), true, (struct Span){0});
}

struct Val l_usermode(struct Lower *l, struct Expr *e)
{
#if defined(__x86_64__)
	u32 size;
	struct IrVal cs = ir_load(&l->b, ctx_ptr(l), ptregs_offset("cs", &size), 8, false);
	struct IrVal ring = ir_bin(&l->b, IR_AND, cs, ir_imm(3));
	return num(e, ir_bin(&l->b, IR_LSHR, ring, ir_imm(1))); // 3 in user mode, 0 in the kernel
#elif defined(__riscv) // user space is the lower half of addresses; a perf event's context has no status
	struct IrVal pc = ir_load(&l->b, ctx_ptr(l), ptregs_abi[PT_HOST].ip, 8, false);
	return num(e, ir_bin(&l->b, IR_XOR, ir_bin(&l->b, IR_LSHR, pc, ir_imm(63)), ir_imm(1)));
#else
	u32 size;
	struct IrVal ps = ir_load(&l->b, ctx_ptr(l), ptregs_offset("pstate", &size), 8, false);
	struct IrVal mode = ir_bin(&l->b, IR_AND, ps, ir_imm(0xf)); // EL0t is 0
	IrReg r = ir_new_reg(&l->b);
	IrBlk kern = ir_new_block(&l->b, "kernel"), end = ir_new_block(&l->b, "mode");
	ir_set(&l->b, r, ir_imm(1));
	ir_br(&l->b, IC_NE, mode, ir_imm(0), kern, end);
	ir_set_block(&l->b, kern);
	ir_set(&l->b, r, ir_imm(0));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	return num(e, ir_reg(r));
#endif
}

// ---- the event

struct Val l_args(struct Lower *l, struct Expr *e)
{
	struct Val m = val_mem(e->type, ctx_ptr(l), 0, AS_BPF);
	m.ctx = true;
	return m;
}

struct Val l_ctx(struct Lower *l, struct Expr *e)
{
	struct Val v = num(e, ctx_ptr(l));
	v.btf = l->pp->kind == PK_ITER;
	return v;
}

static const struct PtAbi *abi(void)
{
	return &ptregs_abi[PT_HOST];
}

static struct IrVal pt_reg(struct Lower *l, s16 off)
{
	return ir_load(&l->b, ctx_ptr(l), off, 8, false);
}

struct IrVal probe_ip(struct Lower *l)
{
	return pt_reg(l, abi()->ip);
}

static struct IrVal usdt_arg(struct Lower *l, const struct UsdtArg *a)
{
	struct IrVal v;
	switch (a->kind) {
	case UA_CONST:
		return ir_imm(a->imm);
	case UA_REG:
		v = ir_load(&l->b, ctx_ptr(l), a->reg, 8, false);
		break;
	case UA_MEM: {
		struct IrVal at = a->reg >= 0 ? ir_load(&l->b, ctx_ptr(l), a->reg, 8, false) : ir_imm(0);
		if (a->index >= 0) {
			struct IrVal i = ir_load(&l->b, ctx_ptr(l), a->index, 8, false);
			at = ir_bin(&l->b, IR_ADD, at, ir_bin(&l->b, IR_MUL, i, ir_imm(a->scale ? a->scale : 1)));
		}
		at = ir_bin(&l->b, IR_ADD, at, ir_imm(a->imm));
		return load_scalar(l, val_mem(ty_int(l->u->types, a->size, a->sgn), at, 0, AS_USER));
	}
	default:
		UNREACHABLE();
	}
	return a->size < 8 ? ir_ext(&l->b, v, a->size, a->sgn) : v;
}

struct Val lower_argn(struct Lower *l, struct Expr *e)
{
	const struct Point *p = l->pu->point;
	u32 n = (u32)e->ival;
	if (p->kind == PK_USDT)
		return num(e, usdt_arg(l, &p->usdt_args[n]));
	if (p->kind == PK_RAWTP)
		return num(e, ir_load(&l->b, ctx_ptr(l), (s32)n * 8, 8, false));
	if (p->arg_regs)
		return num(e, pt_reg(l, p->arg_regs[n]));
	if (n < abi()->nargs)
		return num(e, pt_reg(l, abi()->args[n]));
	// on the stack: above the return address where that is on the stack too
	s32 off = (s32)(n - abi()->nargs) * 8 + (abi()->ret_addr < 0 ? 8 : 0);
	struct IrVal at = ir_bin(&l->b, IR_ADD, pt_reg(l, abi()->sp), ir_imm(off));
	return num(e, load_scalar(l, val_mem(e->type, at, 0, p->kind == PK_KPROBE ? AS_KERNEL : AS_USER)));
}

struct Val l_retval(struct Lower *l, struct Expr *e)
{
	const struct Point *p = l->pu->point;
	if (p->kind == PK_FEXIT) { // after the arguments
		struct IrVal x = ir_load(&l->b, ctx_ptr(l), (s32)(p->args ? p->args->nfields : 0) * 8, 8, false);
		struct Val v = num(e, e->type->size < 8 ? ir_ext(&l->b, x, e->type->size, e->type->sgn) : x);
		v.btf = e->type->kind == TY_PTR;
		return v;
	}
	struct IrVal x = pt_reg(l, abi()->ret);
	return num(e, p->kind == PK_KRETPROBE && p->ret ? ir_ext(&l->b, x, p->ret->size, p->ret->sgn) : x);
}

// bpf_get_func_ip() tells of a kprobe at a function's beginning only.
static bool is_inside(const struct ProbeUnit *pu)
{
	for (size_t i = 0; i < pu->points.v.n; i++)
		if (pu->points.v.p[i]->off || pu->points.v.p[i]->skip || !pu->points.v.p[i]->event)
			return pu->point->kind == PK_KPROBE;
	return false;
}

struct Val l_func(struct Lower *l, struct Expr *e)
{
	if (e->type->kind == TY_KSYM) {
		const struct Point *p = l->pu->point;
		u64 addr = p->addr;
		bool inside = is_inside(l->pu);
		if (inside && l->pu->points.v.n == 1 && p->event && (addr || (l->u->hooks->kaddr && l->u->hooks->kaddr(l->u->hooks->arg, p->event, &addr))))
			return num(e, ir_imm((s64)addr));
		if (l->o->func_ip && !inside)
			return num(e, call1(l, H_FUNC_IP, ctx_ptr(l)));
		if (p->kind == PK_KRETPROBE) { // its registers are those of the return trampoline
			if (l->pu->points.v.n == 1 && l->u->hooks->kaddr && l->u->hooks->kaddr(l->u->hooks->arg, p->event, &addr))
				return num(e, ir_imm((s64)addr));
			diag_error(l->u->diags, e->span, "func of several kretprobes needs bpf_get_func_ip (Linux 5.15), which this kernel does not have");
		}
		return num(e, probe_ip(l));
	}
	return into_tmp(l, e);
}

struct Val l_reg(struct Lower *l, struct Expr *e)
{
	return num(e, ir_load(&l->b, ctx_ptr(l), (s32)e->ival, 8, false));
}

// At the entry the return address lies there where the machine pushes it, at the return it is gone.
struct Val l_frame(struct Lower *l, struct Expr *e)
{
	const struct Point *p = l->pu->point;
	s64 pushed = (p->kind == PK_UPROBE || p->kind == PK_KPROBE) && PT_HOST == PT_X86_64 ? p->bits32 ? 4 : 8 : 0;
	return num(e, ir_bin(&l->b, IR_ADD, ir_load(&l->b, ctx_ptr(l), (s32)e->ival, 8, false), ir_imm(pushed)));
}

// Is the return address on top of the stack at every point of the program: the first instruction of a function, or its last?
static bool on_return_address(const struct ProbeUnit *pu)
{
	for (size_t i = 0; i < pu->points.v.n; i++) {
		const struct Point *p = pu->points.v.p[i];
		if (!p->at_ret && ((p->kind != PK_KPROBE && p->kind != PK_UPROBE) || p->off || !p->func))
			return false;
	}
	return true;
}

// A kprobe of x86-64 whose program cannot go to a kprobe_multi link (probe/kprobe_attach.c, kprobe_is_multi), where the registers are those behind the breakpoint.
static bool behind_break(const struct ProbeUnit *pu)
{
	bool single = false;
	for (size_t i = 0; i < pu->points.v.n; i++)
		single |= pu->points.v.p[i]->off || !pu->points.v.p[i]->traceable;
	return single && pu->point->kind == PK_KPROBE && PT_HOST == PT_X86_64;
}

static u64 kernel_flags(const struct Lower *l)
{
	bool traced = l->pp->kind == PK_FENTRY || l->pp->kind == PK_FEXIT;
	return (behind_break(l->pu) ? RT_SRC_F_BREAK : 0) | (traced && l->o->func_ip ? RT_SRC_F_FUNC_IP : 0);
}

// iter:task: the stack is that of the task at hand, nobody wants the reader's. Its user stack is read by a program that may sleep (bpfrt/utask.bpf.c);
// where the kernel has no such there is none.
static bool task_stack(struct Lower *l, const struct Type *t, struct IrVal *out)
{
	const struct Point *p = l->pu->point;
	struct Field f;
	if (p->kind != PK_ITER || !p->args || strcmp(p->event, "task") || !record_field(p->args, "task", &f))
		return false;
	bool user = t->kind == TY_USTACK;
	if (user && !(l->o->task_memory && l->o->task_memory())) {
		*out = ir_imm(0);
		return true;
	}
	struct IrVal task = ir_load(&l->b, ctx_ptr(l), (s32)f.off, 8, false);
	if (user) {
		u64 src = stack_src(p->kind, p->ctx, t->stack_walk, false);
		l->pp->sleepable = true;
		struct IrVal none = ir_imm(0), limit = ir_imm(t->stack_limit), addrs = ir_imm((s64)(src | RT_SRC_F_ADDR));
		*out = rt_call(l, "rt_ustack_task", 3, task, limit, t->stack_mode == STACK_MODE_RAW ? addrs : ir_imm((s64)src), none, none);
		if (t->stack_mode == STACK_MODE_PERF) {
			addrs = rt_call(l, "rt_ustack_task", 3, task, limit, ir_imm((s64)(src | RT_SRC_F_ADDR | RT_SRC_F_AGAIN)), none, none);
			*out = rt_call(l, "rt_stack_pair", 2, *out, addrs, none, none, none);
		}
		return true;
	}
	*out = rt_call(l, "rt_kstack_task", 2, task, ir_imm(t->stack_limit), ir_imm(0), ir_imm(0), ir_imm(0));
	return true;
}

// The program itself calls bpf_get_stack(): see rt_kstack_begin.
static struct IrVal kernel_stack(struct Lower *l, s64 limit, s64 src)
{
	IrReg id = ir_new_reg(&l->b);
	IrBlk have = ir_new_block(&l->b, "buffer"), end = ir_new_block(&l->b, "kstack");
	struct IrVal none = ir_imm(0);

	ir_set(&l->b, id, ir_imm(RT_STACK_LOST));
	struct IrVal buf = rt_call(l, "rt_kstack_begin", 2, ir_imm(limit), ir_imm(src), none, none, none);
	ir_br(&l->b, IC_NE, buf, none, have, end);
	ir_set_block(&l->b, have);
	if (src & RT_SRC_F_FUNC_IP)
		ir_store(&l->b, buf, offsetof(struct RtStackBuf, func), 8, call1(l, H_FUNC_IP, ctx_ptr(l)));
	struct IrVal at = ir_bin(&l->b, IR_ADD, buf, ir_imm(RT_KSTACK_AT));
	struct IrVal size = ir_bin(&l->b, IR_AND, ir_load(&l->b, buf, offsetof(struct RtStackBuf, want), 4, false), ir_imm(RT_KSTACK_MASK));
	struct IrVal got = call4(l, H_GET_STACK, ctx_ptr(l), at, size, none);
	ir_set(&l->b, id, rt_call(l, "rt_kstack_end", 5, buf, got, ir_imm(limit), ir_imm(src), ctx_ptr(l)));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	return ir_reg(id);
}

static struct IrVal user_stack(struct Lower *l, u32 limit, u64 src)
{
	struct IrVal id;
	if (cold_stack(l, limit, src, &id))
		return id;
	return rt_call(l, src & RT_SRC_F_FP ? "rt_ustack_fp" : "rt_ustack", 3, ctx_ptr(l), ir_imm(limit), ir_imm((s64)src), ir_imm(0), ir_imm(0));
}

struct Val l_request_id(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }

// Of a process that is not known yet user space is told.
void request_id_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off)
{
	struct IrVal tgid = ir_mov(&l->b, cur_pid(l, false, false)), none = ir_imm(0), dst = addr_of(l, val_mem(NULL, base, off, AS_BPF));
	struct IrVal ident = rt_call(l, e->builtin->id == BI_trace_id ? "rt_trace_id" : "rt_span_id", 2, dst, tgid, none, none, none);
	IrBlk ask = ir_new_block(&l->b, "new_process"), end = ir_new_block(&l->b, "request");
	ir_br(&l->b, IC_NE, ident, none, ask, end);
	ir_set_block(&l->b, ask);
	struct IrVal rec = event_reserve(l, RT_EV_OTEL, 0, 16, end);
	ir_store(&l->b, rec, 8, 8, ident);
	ir_store(&l->b, rec, 16, 8, tgid);
	event_submit(l, rec);
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
}

struct Val l_lang_func(struct Lower *l, struct Expr *e)
{
	u64 src = stack_src(l->pp->kind, l->pu->point->ctx, STACK_WALK_MIXED, on_return_address(l->pu));
	return num(e, rt_call(l, "rt_lang_func", 2, ctx_ptr(l), ir_imm((s64)src), ir_imm(0), ir_imm(0), ir_imm(0)));
}

struct Val l_stack(struct Lower *l, struct Expr *e)
{
	const struct Type *t = e->type;
	bool user = t->kind == TY_USTACK, before = l->no_cold;
	struct IrVal id;
	if (task_stack(l, t, &id))
		return num(e, id);
	u64 src = stack_src(l->pp->kind, l->pu->point->ctx, t->stack_walk, on_return_address(l->pu));
	if (!user)
		return num(e, kernel_stack(l, t->stack_limit, (s64)(src | kernel_flags(l))));
	if (t->stack_mode == STACK_MODE_RAW || t->stack_mode == STACK_MODE_BUILD_ID) // addresses of code
		src |= RT_SRC_F_NATIVE;
	if (t->stack_mode == STACK_MODE_RAW)
		return num(e, user_stack(l, t->stack_limit, src | RT_SRC_F_ADDR));
	l->no_cold |= t->stack_mode == STACK_MODE_PERF;
	id = user_stack(l, t->stack_limit, src);
	l->no_cold = before;
	if (t->stack_mode != STACK_MODE_PERF)
		return num(e, id);
	// addresses beside names: what a process had mapped where is not known for sure later
	struct IrVal addrs = user_stack(l, t->stack_limit, src | RT_SRC_F_ADDR | RT_SRC_F_AGAIN);
	return num(e, rt_call(l, "rt_stack_pair", 2, id, addrs, ir_imm(0), ir_imm(0), ir_imm(0)));
}
