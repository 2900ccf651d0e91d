// Builtins and calls -> IR: the lower column of builtins.def.
#include "base/base.h"
#include "bpfrt/abi.h"
#include "ir/lower.h"
#include "ir/stack_src.h"
#include "lang/ptregs.h"
#include <time.h>

#define B(name, min, max, flags, check, lower, sig, help) static struct Val lower(struct Lower *l, struct Expr *e);
static struct Val l_none(struct Lower *l, struct Expr *e);
#include "lang/builtins.def"
#undef B

struct Val lower_call(struct Lower *l, struct Expr *e)
{
	static struct Val (*const table[])(struct Lower *, struct Expr *) = {
#define B(name, min, max, flags, check, lower, sig, help) lower,
#include "lang/builtins.def"
#undef B
	};
	return table[e->builtin->id](l, e);
}

static struct Val num(struct Expr *e, struct IrVal v)
{
	return val_scalar(e->type, v);
}

static struct Val nothing(struct Expr *e)
{
	return (struct Val){.type = e->type};
}

struct IrVal ctx_ptr(struct Lower *l)
{
	if (!l->in_callback)
		return ir_ctx();
	return ir_load(&l->b, l->frame, 8, 8, false);
}

static struct Val l_none(struct Lower *l, struct Expr *e) { return nothing(e); }
static struct Val l_lit(struct Lower *l, struct Expr *e) { return num(e, ir_imm((s64)e->ival)); }

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

static struct Val l_pid(struct Lower *l, struct Expr *e)
{
	bool init = e->nargs && !strcmp(e->args[0]->str, "init");
	return num(e, cur_pid(l, e->builtin->id == BI_tid, init));
}

static struct Val l_uid(struct Lower *l, struct Expr *e)
{
	struct IrVal x = call0(l, H_UID_GID);
	return num(e, e->builtin->id == BI_gid ? ir_bin(&l->b, IR_LSHR, x, ir_imm(32)) : ir_ext(&l->b, x, 4, false));
}

static struct Val l_simple(struct Lower *l, struct Expr *e)
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

static struct Val l_cpu(struct Lower *l, struct Expr *e)
{
	return num(e, ir_ext(&l->b, call0(l, e->builtin->id == BI_cpu ? H_CPU : H_NUMA), 4, false));
}

static struct IrVal boot_ns(struct Lower *l)
{
	return call0(l, l->o->ktime_boot ? H_KTIME_BOOT : H_KTIME);
}

static struct Val l_nsecs(struct Lower *l, struct Expr *e)
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

static struct Val l_elapsed(struct Lower *l, struct Expr *e)
{
	return num(e, ir_bin(&l->b, IR_SUB, boot_ns(l), ir_imm((s64)l->o->start_boot_ns)));
}

// A field of a struct known by name: the chain of names from a task pointer.
static struct IrVal task_field(struct Lower *l, struct IrVal task, const char *const *names, u32 n, struct Val *last)
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

static struct Val l_ppid(struct Lower *l, struct Expr *e)
{
	static const char *const path[] = {"real_parent", "tgid"};
	struct Val v;
	task_field(l, task_arg(l, e), path, 2, &v);
	return num(e, load_scalar(l, v));
}

static struct Val into_tmp(struct Lower *l, struct Expr *e)
{
	struct Val m = tmp_mem(l, e->type, e->type->size);
	call_into(l, e, m.v, m.off, e->type, false);
	return m;
}

static struct Val l_pcomm(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }
static struct Val l_comm(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }

static void comm_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, u32 size, bool pad)
{
	static const char *const path[] = {"group_leader", "comm"};
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
		zero_bytes(l, base, off, MIN(size, 16u));
		ir_jmp(&l->b, end);
		ir_set_block(&l->b, end);
		return;
	}
	task_field(l, task_arg(l, e), path, 2, &v);
	read_mem(l, AS_KERNEL, dst, ir_imm(MIN(size, 16u)), addr_of(l, v), true, (struct Span){0});
}

static struct Val l_usermode(struct Lower *l, struct Expr *e)
{
#if defined(__x86_64__)
	u32 size;
	struct IrVal cs = ir_load(&l->b, ctx_ptr(l), ptregs_offset("cs", &size), 8, false);
	struct IrVal ring = ir_bin(&l->b, IR_AND, cs, ir_imm(3));
	return num(e, ir_bin(&l->b, IR_LSHR, ring, ir_imm(1))); // 3 in user mode, 0 in the kernel
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

static struct Val l_args(struct Lower *l, struct Expr *e)
{
	struct Val m = val_mem(e->type, ctx_ptr(l), 0, AS_BPF);
	m.ctx = true;
	return m;
}

static struct Val l_ctx(struct Lower *l, struct Expr *e)
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
	if (n < abi()->nargs)
		return num(e, pt_reg(l, abi()->args[n]));
	// on the stack: above the return address where that is on the stack too
	s32 off = (s32)(n - abi()->nargs) * 8 + (abi()->ret_addr < 0 ? 8 : 0);
	struct IrVal at = ir_bin(&l->b, IR_ADD, pt_reg(l, abi()->sp), ir_imm(off));
	return num(e, load_scalar(l, val_mem(e->type, at, 0, p->kind == PK_KPROBE ? AS_KERNEL : AS_USER)));
}

static struct Val l_retval(struct Lower *l, struct Expr *e)
{
	const struct Point *p = l->pu->point;
	if (p->kind == PK_FEXIT) { // after the arguments
		struct IrVal x = ir_load(&l->b, ctx_ptr(l), (s32)(p->args ? p->args->nfields : 0) * 8, 8, false);
		struct Val v = num(e, e->type->size < 8 ? ir_ext(&l->b, x, e->type->size, e->type->sgn) : x);
		v.btf = e->type->kind == TY_PTR;
		return v;
	}
	return num(e, pt_reg(l, abi()->ret));
}

static struct Val l_func(struct Lower *l, struct Expr *e)
{
	if (e->type->kind == TY_KSYM) {
		if (l->o->func_ip)
			return num(e, call1(l, H_FUNC_IP, ctx_ptr(l)));
		return num(e, pt_reg(l, abi()->ip));
	}
	return into_tmp(l, e);
}

static struct Val l_reg(struct Lower *l, struct Expr *e)
{
	return num(e, ir_load(&l->b, ctx_ptr(l), (s32)e->ival, 8, false));
}

// Is every point of the program the first instruction of a function?
static bool at_entry(const struct ProbeUnit *pu)
{
	for (size_t i = 0; i < pu->points.v.n; i++) {
		const struct Point *p = pu->points.v.p[i];
		if ((p->kind != PK_KPROBE && p->kind != PK_UPROBE) || p->off || !p->func)
			return false;
	}
	return true;
}

static struct Val l_stack(struct Lower *l, struct Expr *e)
{
	const struct Type *t = e->type;
	bool user = t->kind == TY_USTACK;
	u64 src = stack_src(l->pp->kind, l->pu->point->ctx, user && t->stack_fp, at_entry(l->pu));
	return num(e, rt_call(l, user ? "rt_ustack" : "rt_kstack", 3, ctx_ptr(l), ir_imm(t->stack_limit), ir_imm((s64)src), ir_imm(0), ir_imm(0)));
}

// ---- text and bytes

static enum AddrSpace arg_as(struct Lower *l, const struct Expr *a)
{
	if (a->type->kind == TY_PTR && a->type->as != AS_NONE)
		return a->type->as;
	l->u->cur = l->pu;
	return default_as(l->u);
}

// min(n, max) as an unsigned number the verifier knows the bound of
static struct IrVal clamp(struct Lower *l, struct IrVal n, u32 max)
{
	if (n.kind == IRO_IMM)
		return ir_imm((u64)n.imm < max ? n.imm : max);
	IrReg r = ir_new_reg(&l->b);
	IrBlk big = ir_new_block(&l->b, "big"), ok = ir_new_block(&l->b, "clamped");
	ir_set(&l->b, r, n);
	ir_br(&l->b, IC_UGT, ir_reg(r), ir_imm(max), big, ok);
	ir_set_block(&l->b, big);
	ir_set(&l->b, r, ir_imm(max));
	ir_jmp(&l->b, ok);
	ir_set_block(&l->b, ok);
	return ir_reg(r);
}

static void str_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, u32 size, bool pad)
{
	struct Expr *a = e->args[0];
	struct IrVal dst = addr_of(l, val_mem(NULL, base, off, AS_BPF));
	struct Val src;
	if (ty_scalar(a->type)) {
		src = val_mem(NULL, lx_int(l, a), 0, arg_as(l, a));
	} else {
		src = lx(l, a);
		if (src.type->kind == TY_BUF)
			src.off += 4;
	}
	struct IrVal n = ir_imm(size);
	if (e->nargs == 2 && e->args[1]->kind != E_INT)
		n = clamp(l, lx_int(l, e->args[1]), size);
	else if (e->nargs == 2)
		n = ir_imm((s64)MIN((u64)size, MAX(e->args[1]->ival, 1ull)));
	else if (!ty_scalar(a->type) && src.type->kind == TY_ARRAY)
		n = ir_imm(MIN(size, src.type->n + 1));
	if (pad)
		zero_bytes(l, base, off, size);
	else
		ir_store(&l->b, base, off, 1, ir_imm(0)); // an unreadable text is an empty one
	read_mem(l, src.as, dst, n, addr_of(l, src), true, a->span);
}

static struct Val l_str(struct Lower *l, struct Expr *e)
{
	if (!ty_scalar(e->args[0]->type) && e->args[0]->type->kind == TY_STR && e->nargs == 1)
		return lx(l, e->args[0]);
	return into_tmp(l, e);
}

static void buf_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, u32 max)
{
	struct Expr *a = e->args[0];
	struct IrVal n = ir_imm(max);
	struct Val src = ty_scalar(a->type) ? val_mem(NULL, lx_int(l, a), 0, arg_as(l, a)) : lx_place(l, a);
	if (src.ctx) {
		src.v = addr_of(l, src);
		src.off = 0;
		src.as = AS_KERNEL;
	}
	if (e->nargs == 2)
		n = clamp(l, lx_int(l, e->args[1]), max);
	ir_store(&l->b, base, off, 4, n);
	read_mem(l, src.as, addr_of(l, val_mem(NULL, base, off + 4, AS_BPF)), n, addr_of(l, src), false, a->span);
}

static struct Val l_buf(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }

static struct IrVal text(struct Lower *l, struct Expr *a, u32 *cap)
{
	struct Val m = lx(l, a);
	*cap = m.type->size;
	return to_bpf_mem(l, &m, m.type->size);
}

static struct Val l_strlen(struct Lower *l, struct Expr *e)
{
	u32 cap;
	struct IrVal p = text(l, e->args[0], &cap);
	return num(e, rt_call(l, "rt_strlen", 2, p, ir_imm(cap), ir_imm(0), ir_imm(0), ir_imm(0)));
}

static struct Val l_strstr(struct Lower *l, struct Expr *e)
{
	u32 hc, nc;
	struct IrVal h = text(l, e->args[0], &hc), n = text(l, e->args[1], &nc);
	struct IrVal r = rt_call(l, l->o->bpf_loop ? "rt_strstr_loop" : "rt_strstr", 4, h, ir_imm(hc), n, ir_imm(nc), ir_imm(0));
	if (e->builtin->id == BI_strstr)
		return num(e, r);
	// found unless negative
	struct IrVal sign = ir_bin(&l->b, IR_LSHR, r, ir_imm(63));
	return num(e, ir_bin(&l->b, IR_XOR, sign, ir_imm(1)));
}

static struct Val l_globmatch(struct Lower *l, struct Expr *e)
{
	u32 sc, pc;
	struct IrVal s = text(l, e->args[0], &sc), p = text(l, e->args[1], &pc);
	return num(e, rt_call(l, "rt_globmatch", 4, s, ir_imm(sc), p, ir_imm(pc), ir_imm(0)));
}

static struct Val l_strncmp(struct Lower *l, struct Expr *e)
{
	u32 ac, bc;
	struct IrVal a = text(l, e->args[0], &ac), b = text(l, e->args[1], &bc);
	u32 n = (u32)MIN(e->args[2]->ival, (u64)MIN(ac, bc));
	return num(e, rt_call(l, "rt_strncmp", 3, a, b, ir_imm(n), ir_imm(0), ir_imm(0)));
}

static struct IrVal bytes(struct Lower *l, struct Expr *a, u32 n)
{
	struct Val m;
	if (ty_scalar(a->type) && a->type->kind == TY_PTR)
		m = val_mem(a->type, lx_int(l, a), 0, arg_as(l, a));
	else if (ty_scalar(a->type)) {
		m = tmp_mem(l, a->type, 8);
		ir_store(&l->b, m.v, m.off, 8, lx_int(l, a));
	} else
		m = lx(l, a);
	if (m.as != AS_BPF || m.type->size < n) {
		struct Val t = tmp_mem(l, m.type, n);
		u32 have = m.as == AS_BPF ? MIN(n, m.type->size) : n;
		if (have < n)
			zero_bytes(l, t.v, t.off + (s32)have, n - have);
		copy_bytes(l, t.v, t.off, m, have);
		m = t;
	}
	return addr_of(l, m);
}

static struct Val l_memcmp(struct Lower *l, struct Expr *e)
{
	u32 n = (u32)e->args[2]->ival;
	if (!n)
		return num(e, ir_imm(0));
	struct IrVal a = bytes(l, e->args[0], n), b = bytes(l, e->args[1], n);
	return num(e, rt_call(l, "rt_memcmp", 3, a, b, ir_imm(n), ir_imm(0), ir_imm(0)));
}

// ---- symbols and addresses

static struct Val l_ksym(struct Lower *l, struct Expr *e) { return num(e, lx_int(l, e->args[0])); }
static struct Val l_usym(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }

static struct Val l_uaddr(struct Lower *l, struct Expr *e)
{
	const struct Point *p = l->pu->point;
	if (p->kind == PK_URETPROBE) {
		if (!l->o->func_ip)
			diag_error(l->u->diags, e->span, "uaddr() in an uretprobe needs bpf_get_func_ip, which this kernel does not have");
		struct IrVal ip = call1(l, H_FUNC_IP, ctx_ptr(l));
		return num(e, ir_bin(&l->b, IR_ADD, ip, ir_imm((s64)(e->ival - p->sym_addr))));
	}
	// where the probed instruction was loaded tells where the object was
	return num(e, ir_bin(&l->b, IR_ADD, pt_reg(l, abi()->ip), ir_imm((s64)(e->ival - p->sym_addr))));
}

static struct Val l_percpu_kaddr(struct Lower *l, struct Expr *e)
{
	u64 base = 0, offs = 0;
	const char *name = e->args[0]->str;
	if (!l->u->hooks->kaddr || !l->u->hooks->kaddr(l->u->hooks->arg, name, &base) ||
	    !l->u->hooks->kaddr(l->u->hooks->arg, "__per_cpu_offset", &offs))
		diag_error(l->u->diags, e->span, "Failed to resolve kernel symbol: %s", name);
	struct IrVal cpu = e->nargs == 2 ? lx_int(l, e->args[1]) : call0(l, H_CPU);
	IrReg r = ir_new_reg(&l->b);
	IrBlk in = ir_new_block(&l->b, "cpu"), end = ir_new_block(&l->b, "percpu");
	ir_set(&l->b, r, ir_imm(0));
	ir_br(&l->b, IC_ULT, cpu, ir_imm(l->o->ncpus), in, end);
	ir_set_block(&l->b, in);
	struct IrVal slot = ir_bin(&l->b, IR_ADD, ir_bin(&l->b, IR_SHL, cpu, ir_imm(3)), ir_imm((s64)offs));
	struct IrVal off = load_scalar(l, val_mem(ty_int(l->u->types, 8, false), slot, 0, AS_KERNEL));
	ir_set(&l->b, r, ir_bin(&l->b, IR_ADD, off, ir_imm((s64)base)));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	return num(e, ir_reg(r));
}

static struct Val l_kptr(struct Lower *l, struct Expr *e) { return num(e, lx_int(l, e->args[0])); }

static void inet_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off)
{
	struct Expr *a = e->args[e->nargs - 1];
	const struct Type *t = a->type;
	u32 n = ty_is_int(t) ? 4 : t->kind == TY_PTR ? t->elem->size : t->size;
	struct IrVal af = e->nargs == 2 ? lx_int(l, e->args[0]) : ir_imm(n == 16 ? 10 : 2);
	ir_store(&l->b, base, off, 4, af);
	if (n < 16)
		zero_bytes(l, base, off + 4 + (s32)n, 16 - n);
	if (ty_is_int(t))
		ir_store(&l->b, base, off + 4, 4, lx_int(l, a));
	else if (t->kind == TY_PTR)
		copy_bytes(l, base, off + 4, val_mem(t, lx_int(l, a), 0, arg_as(l, a)), n);
	else {
		struct Val m = lx_place(l, a);
		if (m.ctx) {
			m.v = addr_of(l, m);
			m.off = 0;
			m.as = AS_KERNEL;
		}
		copy_bytes(l, base, off + 4, m, n);
	}
}

static struct Val l_ntop(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }

static struct Val l_pton(struct Lower *l, struct Expr *e)
{
	struct Val m = tmp_mem(l, e->type, e->type->size);
	const u8 *p = e->aux;
	for (u32 i = 0; i < e->type->size; i += 4) {
		u32 w;
		memcpy(&w, p + i, 4);
		ir_store(&l->b, m.v, m.off + (s32)i, 4, ir_imm((s32)w));
	}
	return m;
}

static struct Val l_macaddr(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }

static struct Val l_bswap(struct Lower *l, struct Expr *e)
{
	struct IrVal v = lx_int(l, e->args[0]);
	return num(e, e->type->size > 1 ? ir_bswap(&l->b, v, e->type->size) : v);
}

static struct Val l_strftime(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }
static struct Val l_strerror(struct Lower *l, struct Expr *e) { return num(e, ir_ext(&l->b, lx_int(l, e->args[0]), 4, true)); }
static struct Val l_cgroup_path(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }
static struct Val l_path(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }

static struct Val l_socket_cookie(struct Lower *l, struct Expr *e)
{
	bool up = l->direct_btf;
	l->direct_btf = true;
	struct IrVal sk = lx_int(l, e->args[0]);
	l->direct_btf = up;
	return num(e, call1(l, H_SOCKET_COOKIE, sk));
}

// What has a form that goes straight to where it is wanted.
bool call_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, const struct Type *t, bool pad)
{
	if (!e->builtin)
		return false;
	struct IrVal dst = addr_of(l, val_mem(NULL, base, off, AS_BPF));
	switch (e->builtin->id) {
	case BI_comm:
	case BI_pcomm:
		comm_into(l, e, base, off, t->size, pad);
		if (pad && t->size > 16)
			zero_bytes(l, base, off + 16, t->size - 16);
		return true;
	case BI_str:
		if (!ty_scalar(e->args[0]->type) && e->args[0]->type->kind == TY_STR && e->nargs == 1)
			return false;
		str_into(l, e, base, off, MIN(t->size, e->type->size), pad);
		if (pad && t->size > e->type->size)
			zero_bytes(l, base, off + (s32)e->type->size, t->size - e->type->size);
		return true;
	case BI_buf:
		if (pad)
			zero_bytes(l, base, off, t->size);
		buf_into(l, e, base, off, MIN(t->size, e->type->size) - 4);
		return true;
	case BI_usym:
		ir_store(&l->b, base, off, 8, lx_int(l, e->args[0]));
		ir_store(&l->b, base, off + 8, 8, cur_pid(l, false, false));
		return true;
	case BI_func:
		if (e->type->kind != TY_USYM)
			return false;
		ir_store(&l->b, base, off, 8, pt_reg(l, abi()->ip));
		ir_store(&l->b, base, off + 8, 8, cur_pid(l, false, false));
		return true;
	case BI_ntop:
		inet_into(l, e, base, off);
		return true;
	case BI_macaddr: {
		struct Expr *a = e->args[0];
		struct Val m = ty_scalar(a->type) ? val_mem(a->type, lx_int(l, a), 0, arg_as(l, a)) : lx_place(l, a);
		if (m.ctx) {
			m.v = addr_of(l, m);
			m.off = 0;
			m.as = AS_KERNEL;
		}
		copy_bytes(l, base, off, m, 6);
		return true;
	}
	case BI_strftime:
		ir_store(&l->b, base, off, 8, ir_imm((s64)((u64)e->ival << 32 | e->fmt)));
		ir_store(&l->b, base, off + 8, 8, lx_int(l, e->args[1]));
		return true;
	case BI_cgroup_path:
		ir_store(&l->b, base, off, 8, ir_imm(e->fmt));
		ir_store(&l->b, base, off + 8, 8, lx_int(l, e->args[0]));
		return true;
	case BI_path: {
		if (pad)
			zero_bytes(l, base, off, t->size);
		bool up = l->direct_btf;
		l->direct_btf = true;
		struct Val p = e->args[0]->type->kind == TY_PTR ? val_mem(NULL, lx_int(l, e->args[0]), 0, AS_KERNEL) : lx_place(l, e->args[0]);
		l->direct_btf = up;
		struct IrVal r = call3(l, H_D_PATH, addr_of(l, p), dst, ir_imm(MIN(t->size, e->type->size)));
		helper_error(l, r, "d_path", e->span, false);
		return true;
	}
	default:
		return false;
	}
}

// ---- maps and stacks

static u32 count_callback(struct Lower *l)
{
	struct IrBuild up = l->b;
	u32 fn = ir_new_func(&l->pp->ir, "count_elem", 4);
	ir_enter(&l->b, fn, 0);
	l->b.loc = up.loc;
	ir_ret(&l->b, ir_imm(0));
	l->b = up;
	return fn;
}

static struct Val l_len(struct Lower *l, struct Expr *e)
{
	struct Expr *a = e->args[0];
	if (ty_is_stack(a->type))
		return num(e, ir_bin(&l->b, IR_AND, lx_int(l, a), ir_imm(0xfff)));
	if (a->map->def->scalar)
		return num(e, ir_imm(1));
	if (!l->o->for_each)
		diag_error(l->u->diags, e->span, "len() of a map needs bpf_for_each_map_elem (Linux 5.13), which this kernel does not have");
	// the helper returns how many elements it has visited
	return num(e, call4(l, H_FOR_EACH, ir_mapfd(a->map->def->id), ir_func(count_callback(l)), tmp_slot(l, 8), ir_imm(0)));
}

static struct Val l_has_key(struct Lower *l, struct Expr *e)
{
	struct MapSym *m = e->args[0]->map;
	struct IrVal p = call2(l, H_MAP_LOOKUP, ir_mapfd(m->def->id), lm_key(l, m, e->args[1]));
	IrReg r = ir_new_reg(&l->b);
	IrBlk have = ir_new_block(&l->b, "have"), end = ir_new_block(&l->b, "has_key");
	ir_set(&l->b, r, ir_imm(0));
	ir_br(&l->b, IC_NE, p, ir_imm(0), have, end);
	ir_set_block(&l->b, have);
	ir_set(&l->b, r, ir_imm(1));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	return num(e, ir_reg(r));
}

static struct Val l_find(struct Lower *l, struct Expr *e)
{
	struct MapSym *m = e->args[0]->map;
	struct VarSym *v = e->args[2]->var;
	struct IrVal key = lm_key(l, m, e->args[1]);
	struct IrVal p = call2(l, H_MAP_LOOKUP, ir_mapfd(m->def->id), key);
	IrReg r = ir_new_reg(&l->b);
	IrBlk have = ir_new_block(&l->b, "have"), end = ir_new_block(&l->b, "find");
	ir_set(&l->b, r, ir_imm(0));
	ir_br(&l->b, IC_NE, p, ir_imm(0), have, end);
	ir_set_block(&l->b, have);
	if (ty_is_aggr(m->val))
		var_set(l, v, lm_aggr_int(l, m, key));
	else if (ty_scalar(v->type))
		var_set(l, v, ir_load(&l->b, p, 0, m->val->size, m->val->sgn));
	else {
		s32 off;
		struct IrVal base = var_place(l, v, &off);
		store_val(l, val_mem(m->val, p, 0, AS_BPF), base, off, v->type, false);
	}
	ir_set(&l->b, r, ir_imm(1));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	return num(e, ir_reg(r));
}

// ---- actions

// Arguments whose evaluation has effects are worked out before the record is reserved, so that a full buffer loses only the line.
static void fmt_event(struct Lower *l, struct Expr *e, struct Expr **args, u32 nargs)
{
	const struct FmtSite *f = l->prog->fmts.p[e->fmt];
	struct Val early[64];
	bool is_early[64] = {false};
	bool any = false;
	for (u32 i = 0; i < nargs && i < 64; i++)
		any |= has_side_effects(args[i]);
	for (u32 i = 0; any && i < nargs && i < 64; i++) {
		early[i] = ty_is_aggr(args[i]->type) ? val_scalar(f->args[i].type, lx_int(l, args[i])) : lx(l, args[i]);
		if (!early[i].mem && early[i].v.kind == IRO_REG)
			early[i].v = ir_mov(&l->b, early[i].v);
		is_early[i] = true;
	}
	IrBlk end = ir_new_block(&l->b, "printed");
	struct IrVal rec = event_reserve(l, RT_EV_FMT, f->id, f->size, end);
	for (u32 i = 0; i < nargs; i++) {
		struct TmpMark mark = tmp_mark(l);
		s32 off = 8 + (s32)f->args[i].off;
		if (i < 64 && is_early[i])
			store_val(l, early[i], rec, off, f->args[i].type, false);
		else
			lx_into(l, args[i], rec, off, f->args[i].type, false);
		tmp_release(l, mark);
	}
	event_submit(l, rec);
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
}

static struct Val l_fmt(struct Lower *l, struct Expr *e)
{
	fmt_event(l, e, e->args + 1, e->nargs - 1);
	return nothing(e);
}

static void plain_event(struct Lower *l, u32 kind, u32 id, const struct IrVal *words, u32 n)
{
	IrBlk end = ir_new_block(&l->b, "sent");
	struct IrVal rec = event_reserve(l, kind, id, n * 8, end);
	for (u32 i = 0; i < n; i++)
		ir_store(&l->b, rec, 8 + (s32)i * 8, 8, words[i]);
	event_submit(l, rec);
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
}

static struct Val l_print(struct Lower *l, struct Expr *e)
{
	struct Expr *a = e->args[0];
	if (a->kind == E_MAP) {
		struct IrVal w[2] = {ir_imm(e->nargs > 1 ? (s64)e->args[1]->ival : 0), ir_imm(e->nargs > 2 ? (s64)e->args[2]->ival : 0)};
		plain_event(l, RT_EV_PRINT_MAP, a->map->def->id, w, 2);
	} else
		fmt_event(l, e, &a, 1);
	return nothing(e);
}

static struct Val l_time(struct Lower *l, struct Expr *e)
{
	plain_event(l, RT_EV_FMT, e->fmt, NULL, 0);
	return nothing(e);
}

static struct Val l_assert(struct Lower *l, struct Expr *e)
{
	IrBlk bad = ir_new_block(&l->b, "assert"), ok = ir_new_block(&l->b, "ok");
	lx_cond(l, e->args[0], ok, bad);
	ir_set_block(&l->b, bad);
	plain_event(l, RT_EV_FMT, e->fmt, NULL, 0);
	struct IrVal one = ir_imm(1);
	plain_event(l, RT_EV_EXIT, 0, &one, 1);
	lower_return(l, ir_imm(1));
	ir_set_block(&l->b, ok);
	return nothing(e);
}

static struct Val l_join(struct Lower *l, struct Expr *e)
{
	struct IrVal arr = ir_mov(&l->b, lx_int(l, e->args[0]));
	enum AddrSpace as = arg_as(l, e->args[0]);
	IrBlk end = ir_new_block(&l->b, "joined"), submit = ir_new_block(&l->b, "join_end");
	struct IrVal rec = event_reserve(l, RT_EV_JOIN, e->fmt, 8 + RT_JOIN_MAX * RT_JOIN_STRIDE, end);
	IrReg n = ir_new_reg(&l->b);
	ir_set(&l->b, n, ir_imm(0));
	for (u32 i = 0; i < RT_JOIN_MAX; i++) {
		IrBlk more = ir_new_block(&l->b, "join");
		struct IrVal p = load_scalar(l, val_mem(ty_int(l->u->types, 8, false), arr, (s32)i * 8, as));
		ir_br(&l->b, IC_NE, p, ir_imm(0), more, submit);
		ir_set_block(&l->b, more);
		s32 off = 16 + (s32)i * RT_JOIN_STRIDE;
		ir_store(&l->b, rec, off, 1, ir_imm(0));
		read_mem(l, as, addr_of(l, val_mem(NULL, rec, off, AS_BPF)), ir_imm(RT_JOIN_STRIDE), p, true, (struct Span){0});
		ir_set(&l->b, n, ir_imm(i + 1));
	}
	ir_jmp(&l->b, submit);
	ir_set_block(&l->b, submit);
	ir_store(&l->b, rec, 8, 8, ir_reg(n));
	event_submit(l, rec);
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	return nothing(e);
}

static struct Val l_exit(struct Lower *l, struct Expr *e)
{
	struct IrVal code = e->nargs ? lx_int(l, e->args[0]) : ir_imm(0);
	plain_event(l, RT_EV_EXIT, 0, &code, 1);
	lower_return(l, ir_imm(0));
	return nothing(e);
}

static struct Val l_mapop(struct Lower *l, struct Expr *e)
{
	plain_event(l, e->builtin->id == BI_clear ? RT_EV_CLEAR : RT_EV_ZERO, e->args[0]->map->def->id, NULL, 0);
	return nothing(e);
}

static struct Val l_signal(struct Lower *l, struct Expr *e)
{
	struct IrVal r = call1(l, e->builtin->id == BI_signal ? H_SIGNAL : H_SIGNAL_THREAD, lx_int(l, e->args[0]));
	helper_error(l, r, "send_signal", e->span, false);
	return nothing(e);
}

static struct Val l_override(struct Lower *l, struct Expr *e)
{
	call2(l, H_OVERRIDE, ctx_ptr(l), lx_int(l, e->args[0]));
	return nothing(e);
}

static struct Val l_unwatch(struct Lower *l, struct Expr *e)
{
	struct IrVal a = lx_int(l, e->args[0]);
	plain_event(l, RT_EV_UNWATCH, 0, &a, 1);
	return nothing(e);
}

static struct Val l_delete(struct Lower *l, struct Expr *e) { return lower_delete(l, e); }

// Assigned to maps only: lower_map.c works them out.
static struct Val l_aggr(struct Lower *l, struct Expr *e) { return nothing(e); }
