// Builtins on symbols, addresses and numbers -> IR.
#include "lower/internal.h"

struct Val l_ksym(struct Lower *l, struct Expr *e) { return num(e, lx_int(l, e->args[0])); }
struct Val l_usym(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }

struct Val l_uaddr(struct Lower *l, struct Expr *e)
{
	const struct Point *p = l->pu->point;
	if (p->kind == PK_URETPROBE) {
		if (!l->o->func_ip)
			diag_error(l->u->diags, e->span, "uaddr() in an uretprobe needs bpf_get_func_ip, which this kernel does not have");
		struct IrVal ip = call1(l, H_FUNC_IP, ctx_ptr(l));
		return num(e, ir_bin(&l->b, IR_ADD, ip, ir_imm((s64)(e->ival - p->sym_addr))));
	}
	// where the probed instruction was loaded tells where the object was
	return num(e, ir_bin(&l->b, IR_ADD, probe_ip(l), ir_imm((s64)(e->ival - p->sym_addr))));
}

struct Val l_percpu_kaddr(struct Lower *l, struct Expr *e)
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

struct Val l_kptr(struct Lower *l, struct Expr *e) { return num(e, lx_int(l, e->args[0])); }

void inet_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off)
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

struct Val l_ntop(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }

struct Val l_pton(struct Lower *l, struct Expr *e)
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

struct Val l_macaddr(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }

struct Val l_bswap(struct Lower *l, struct Expr *e)
{
	struct IrVal v = lx_int(l, e->args[0]);
	return num(e, e->type->size > 1 ? ir_bswap(&l->b, v, e->type->size) : v);
}

struct Val l_strftime(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }
// An errno may be negative, as the kernel returns it.
struct Val l_strerror(struct Lower *l, struct Expr *e)
{
	struct IrVal n = ir_ext(&l->b, lx_int(l, e->args[0]), 4, true);
	if (e->builtin->id == BI_strerror) {
		struct IrVal sign = ir_bin(&l->b, IR_ASHR, n, ir_imm(63));
		n = ir_bin(&l->b, IR_SUB, ir_bin(&l->b, IR_XOR, n, sign), sign);
	}
	return numbered_text(l, e, n);
}
struct Val l_cgroup_path(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }
struct Val l_path(struct Lower *l, struct Expr *e) { return into_tmp(l, e); }

struct Val l_socket_cookie(struct Lower *l, struct Expr *e)
{
	bool up = l->direct_btf;
	l->direct_btf = true;
	l->pp->typed = l->pp->kind == PK_RAWTP;
	struct IrVal sk = lx_int(l, e->args[0]);
	l->direct_btf = up;
	return num(e, call1(l, H_SOCKET_COOKIE, sk));
}
