// Builtins and calls -> IR: the lower column of builtins.def, and the calls whose result goes straight to where it is wanted.
#include "lower/internal.h"

struct Val lower_call(struct Lower *l, struct Expr *e)
{
	static struct Val (*const table[])(struct Lower *, struct Expr *) = {
#define B(name, min, max, flags, check, lower, sig, help) lower,
#include "lang/builtins.def"
#undef B
	};
	return table[e->builtin->id](l, e);
}

struct IrVal ctx_ptr(struct Lower *l)
{
	if (l->is_late)
		return l->late_record;
	if (!l->in_callback)
		return ir_ctx();
	return ir_load(&l->b, l->frame, 8, 8, false);
}

struct Val l_none(struct Lower *l, struct Expr *e) { return nothing(e); }
struct Val l_lit(struct Lower *l, struct Expr *e) { return num(e, ir_imm((s64)e->ival)); }

struct Val into_tmp(struct Lower *l, struct Expr *e)
{
	struct Val m = tmp_mem(l, e->type, e->type->size);
	call_into(l, e, m.v, m.off, e->type, keeps_short_text(e->type));
	return m;
}

enum AddrSpace arg_as(struct Lower *l, const struct Expr *a)
{
	if (a->type->kind == TY_PTR && a->type->as != AS_NONE)
		return a->type->as;
	l->u->cur = l->pu;
	return number_as(l->u, a);
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
	case BI_leader_comm:
		comm_into(l, e, base, off, t->size, pad);
		if (pad && t->size > 16)
			zero_bytes(l, base, off + 16, t->size - 16);
		return true;
	case BI_trace_id:
	case BI_span_id:
		if (t->size < e->type->size)
			return false;
		request_id_into(l, e, base, off);
		if (pad && t->size > e->type->size)
			zero_bytes(l, base, off + (s32)e->type->size, t->size - e->type->size);
		return true;
	case BI_str:
		if (is_text(e->args[0]) && e->nargs == 1)
			return false;
		str_into(l, e, base, off, MIN(t->size, e->type->size), pad);
		if (pad && t->size > e->type->size)
			zero_bytes(l, base, off + (s32)e->type->size, t->size - e->type->size);
		return true;
	case BI_str_concat:
		if (pad)
			zero_bytes(l, base, off, t->size);
		concat_into(l, e, base, off, MIN(t->size, e->type->size));
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
		ir_store(&l->b, base, off, 8, probe_ip(l));
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
