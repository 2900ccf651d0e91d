// Builtins that take a map or do something -> IR. Actions become records in the ring buffer (bpfrt/abi.h).
#include <signal.h>
#include "base/base.h"
#include "bpfrt/abi.h"
#include "lower/internal.h"
#include <linux/bpf.h>

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

struct Val l_len(struct Lower *l, struct Expr *e)
{
	struct Expr *a = e->args[0];
	if (ty_is_stack(a->type)) {
		bool before = l->no_cold;
		l->no_cold = true;
		struct IrVal id = lx_int(l, a), none = ir_imm(0);
		l->no_cold = before;
		return num(e, a->type->kind == TY_USTACK ? rt_call(l, "rt_stack_len", 1, id, none, none, none, none) : ir_bin(&l->b, IR_AND, id, ir_imm(RT_STACK_LIST - 1)));
	}
	if (a->map->def->scalar)
		return num(e, ir_imm(1));
	if (!l->o->for_each)
		diag_error(l->u->diags, e->span, "len() of a map needs bpf_for_each_map_elem (Linux 5.13), which this kernel does not have");
	// the helper returns how many elements it has visited
	return num(e, lm_call(l, a->map, H_FOR_EACH, (struct IrVal[]){ir_func(count_callback(l)), tmp_slot(l, 8), ir_imm(0)}, 3, 0));
}

// 1 when x is what, else 0
static struct Val truth(struct Lower *l, struct Expr *e, struct IrVal x, enum IrCond is, s64 what)
{
	IrReg r = ir_new_reg(&l->b);
	IrBlk yes = ir_new_block(&l->b, "yes"), end = ir_new_block(&l->b, e->builtin->name);
	ir_set(&l->b, r, ir_imm(0));
	ir_br(&l->b, is, x, ir_imm(what), yes, end);
	ir_set_block(&l->b, yes);
	ir_set(&l->b, r, ir_imm(1));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	return num(e, ir_reg(r));
}

struct Val l_has_key(struct Lower *l, struct Expr *e)
{
	struct MapSym *m = e->args[0]->map;
	return truth(l, e, lm_lookup(l, m, lm_key(l, m, e->args[1])), IC_NE, 0);
}

// A map of sonde's own that stands for a path, one for all calls that name it.
static u32 path_map(struct Lower *l, const char *kind, const char *path, u32 type, u32 key, u32 val)
{
	const char *name = arena_printf(l->u->arena, "sonde_%s:%s", kind, path);
	u32 id = sonde_map(l, name, type, key, val, 1, 0);
	l->prog->maps.p[id]->path = path;
	return id;
}

// bpf_current_task_under_cgroup knows the whole tree and needs no depth (a cgroup namespace hides how deep a directory really is).
struct Val l_in_cgroup(struct Lower *l, struct Expr *e)
{
	u32 map = path_map(l, "cgroup", e->args[0]->str, BPF_MAP_TYPE_CGROUP_ARRAY, 4, 4);
	return truth(l, e, call2(l, H_UNDER_CGROUP, ir_mapfd(map), ir_imm(0)), IC_EQ, 1);
}

struct Val l_pinned_has(struct Lower *l, struct Expr *e)
{
	u32 map = path_map(l, "pinned", e->args[0]->str, BPF_MAP_TYPE_HASH, e->fmt, 8);
	struct IrVal key = lx_int(l, e->args[1]), at = tmp_slot(l, 8);
	ir_store(&l->b, at, 0, (u8)e->fmt, key);
	return truth(l, e, call2(l, H_MAP_LOOKUP, ir_mapfd(map), at), IC_NE, 0);
}

struct Val l_find(struct Lower *l, struct Expr *e)
{
	struct MapSym *m = e->args[0]->map;
	struct VarSym *v = e->args[2]->var;
	struct IrVal key = lm_key(l, m, e->args[1]);
	struct IrVal p = lm_lookup(l, m, key);
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
void fmt_event(struct Lower *l, struct Expr *e, struct Expr **args, u32 nargs)
{
	const struct FmtSite *f = l->prog->fmts.p[e->fmt];
	struct Val early[64];
	bool is_early[64] = {false};
	bool any = false;
	for (u32 i = 0; i < nargs && i < 64; i++)
		any |= has_side_effects(args[i]);
	for (u32 i = 0; any && i < nargs && i < 64; i++) {
		if (ty_aggr_in_parts(f->args[i].type))
			continue;
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
		else if (ty_aggr_in_parts(f->args[i].type))
			lm_aggr_into(l, args[i], rec, off);
		else
			lx_into(l, args[i], rec, off, f->args[i].type, false);
		tmp_release(l, mark);
	}
	event_submit(l, rec);
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
}

struct Val l_fmt(struct Lower *l, struct Expr *e)
{
	if (l->pu->point->pin)
		return lower_seq_printf(l, e);
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

void lower_print_map(struct Lower *l, struct Expr *e, bool take)
{
	struct IrVal w[3] = {ir_imm(e->nargs > 1 ? (s64)e->args[1]->ival : 0), ir_imm(e->nargs > 2 ? (s64)e->args[2]->ival : 0), ir_imm(take)};
	plain_event(l, RT_EV_PRINT_MAP, e->args[0]->map->def->id, w, 3);
}

static void print_entry(struct Lower *l, struct Expr *ref)
{
	struct MapDef *m = ref->map->def;
	struct Val key = val_mem(NULL, ir_mov(&l->b, lm_ref_key(l, ref)), 0, AS_BPF);
	IrBlk end = ir_new_block(&l->b, "sent");
	struct IrVal rec = event_reserve(l, RT_EV_PRINT_ENTRY, m->id, m->key_size, end);
	copy_bytes(l, rec, 8, key, m->key_size);
	event_submit(l, rec);
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
}

struct Val l_print(struct Lower *l, struct Expr *e)
{
	struct Expr *a = e->args[0];
	if (a->kind == E_MAP)
		lower_print_map(l, e, false);
	else if (prints_entry(a, a->type))
		print_entry(l, a);
	else
		fmt_event(l, e, &a, 1);
	return nothing(e);
}

struct Val l_time(struct Lower *l, struct Expr *e)
{
	plain_event(l, RT_EV_FMT, e->fmt, NULL, 0);
	return nothing(e);
}

struct Val l_assert(struct Lower *l, struct Expr *e)
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

struct Val l_join(struct Lower *l, struct Expr *e)
{
	struct IrVal arr = ir_mov(&l->b, lx_int(l, e->args[0]));
	enum AddrSpace of = arg_as(l, e->args[0]), as = of == AS_BPF ? AS_KERNEL : of; // its end is nowhere known
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

struct Val l_exit(struct Lower *l, struct Expr *e)
{
	struct IrVal code = e->nargs ? lx_int(l, e->args[0]) : ir_imm(0);
	plain_event(l, RT_EV_EXIT, 0, &code, 1);
	lower_return(l, ir_imm(0));
	return nothing(e);
}

struct Val l_mapop(struct Lower *l, struct Expr *e)
{
	plain_event(l, e->builtin->id == BI_clear ? RT_EV_CLEAR : RT_EV_ZERO, e->args[0]->map->def->id, NULL, 0);
	return nothing(e);
}

struct Val l_signal(struct Lower *l, struct Expr *e)
{
	struct IrVal r = call1(l, e->builtin->id == BI_signal ? H_SIGNAL : H_SIGNAL_THREAD, lx_int(l, e->args[0]));
	helper_error(l, r, "send_signal", e->span, false);
	return nothing(e);
}

struct Val l_override(struct Lower *l, struct Expr *e)
{
	call2(l, H_OVERRIDE, ctx_ptr(l), lx_int(l, e->args[0]));
	return nothing(e);
}

struct Val l_unwatch(struct Lower *l, struct Expr *e)
{
	struct IrVal a = lx_int(l, e->args[0]);
	plain_event(l, RT_EV_UNWATCH, 0, &a, 1);
	return nothing(e);
}

// Stopped only once the event is sure to come: the answer to it is what lets the process go on.
struct Val l_watch(struct Lower *l, struct Expr *e)
{
	IrBlk end = ir_new_block(&l->b, "sent");
	struct IrVal addr = lx_int(l, e->args[0]), rec = event_reserve(l, RT_EV_WATCH, (u32)e->args[1]->ival, 8, end);
	ir_store(&l->b, rec, 8, 8, addr);
	if (e->args[2]->ival)
		call1(l, H_SIGNAL, ir_imm(SIGSTOP));
	event_submit(l, rec);
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	return nothing(e);
}

struct Val l_delete(struct Lower *l, struct Expr *e) { return lower_delete(l, e, true); }

// Assigned to maps only: lower_aggr.c works them out.
struct Val l_aggr(struct Lower *l, struct Expr *e) { return nothing(e); }
