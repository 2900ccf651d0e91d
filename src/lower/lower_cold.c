// User stacks whose memory is not there (bpfrt/unwind.bpf.c). Where a thread's stack is cut for that, the program goes on with a number that stands for it and has the kernel
// call it as the thread returns to user mode (task work), when it may wait for the memory. In: a stack to be taken. Out: code that takes it, and a function of the
// program for the call. Invariant: whoever reads the number finds the whole stack behind it, or the cut one.
#include "base/base.h"
#include "bpfrt/abi.h"
#include "bpfrt/stack.h"
#include "lower/internal.h"

enum { AT = offsetof(struct RtCold, at), UNREAD = offsetof(struct RtColdAt, unread) };

// May a stack that is taken here be completed? Of a uprobe the thread goes on elsewhere, and other units have no thread of the program before them. The walk has a function more
// for it; programs with loops have no room for that.
static bool may_wait(const struct Lower *l, u64 src)
{
	switch (l->pp->kind) {
	case PK_TRACEPOINT: case PK_RAWTP: case PK_KPROBE: case PK_KRETPROBE: case PK_FENTRY: case PK_FEXIT: case PK_PROFILE: case PK_SOFTWARE: case PK_HARDWARE:
		break;
	default:
		return false;
	}
	return !l->is_late && !l->no_cold && !l->has_frame && !l->b.fn && !(src & (RT_SRC_F_FP | RT_SRC_F_AGAIN)) && l->o->cold_stacks && l->o->cold_stacks();
}

static struct ColdCall *call_of(struct Lower *l, u32 limit, u64 src)
{
	for (struct ColdCall *c = l->cold; c; c = c->next)
		if (c->limit == limit && c->src == src)
			return c;
	struct ColdCall *c = arena_new(l->u->arena, struct ColdCall);
	*c = (struct ColdCall){l->cold, limit, src, ir_new_func(&l->pp->ir, "cold", 3)};
	l->cold = c;
	return c;
}

static u32 cold_map(struct Lower *l)
{
	const struct MapDef *m = program_map(l->prog, RT_COLD_MAP);
	return m ? m->id : work_map(l, RT_COLD_MAP, sizeof(struct RtCold), RT_COLD_MAX);
}

// Another number for each event.
static struct IrVal fresh_number(struct Lower *l)
{
	struct IrVal n = ir_bin(&l->b, IR_SHL, call0(l, H_KTIME), ir_imm(10));
	n = ir_bin(&l->b, IR_SHL, ir_bin(&l->b, IR_XOR, n, call0(l, H_CPU)), ir_imm(12));
	return ir_bin(&l->b, IR_OR, n, ir_imm(4095)); // RT_STACK_IS_COLD
}

bool cold_stack(struct Lower *l, u32 limit, u64 src, struct IrVal *out)
{
	if (!may_wait(l, src))
		return false;
	struct TmpMark m = tmp_mark(l);
	u32 cold = cold_map(l);
	struct ColdCall *call = call_of(l, limit, src);
	struct IrVal none = ir_imm(0), at = tmp_slot(l, sizeof(struct RtColdAt)), key = tmp_slot(l, 8);
	IrReg id = ir_new_reg(&l->b);
	IrBlk cut = ir_new_block(&l->b, "cold"), failed = ir_new_block(&l->b, "cold_failed"), end = ir_new_block(&l->b, "ustack");
	for (u32 off = 0; off < sizeof(struct RtColdAt); off += 8)
		ir_store(&l->b, at, (s32)off, 8, none);
	ir_set(&l->b, id, rt_call(l, "rt_ustack_cold", 4, ctx_ptr(l), ir_imm(limit), ir_imm((s64)src), at, none));
	ir_br(&l->b, IC_NE, ir_load(&l->b, at, UNREAD, 8, false), none, cut, end);
	ir_set_block(&l->b, cut);
	ir_store(&l->b, key, 0, 8, fresh_number(l));
	struct IrVal e = work_keep(l, cold, key, failed);
	ir_store(&l->b, e, offsetof(struct RtCold, id), 8, ir_reg(id));
	for (u32 off = 0; off < sizeof(struct RtColdAt); off += 8)
		ir_store(&l->b, e, (s32)(AT + off), 8, ir_load(&l->b, at, (s32)off, 8, false));
	work_ask(l, cold, key, e, call->func, failed);
	count_loss(l, offsetof(struct RtCounters, cold));
	ir_set(&l->b, id, ir_load(&l->b, key, 0, 8, false));
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, failed);
	rt_call(l, "rt_cold_count", 1, ir_load(&l->b, at, offsetof(struct RtColdAt, why), 8, false), none, none, none, none);
	ir_jmp(&l->b, end);
	ir_set_block(&l->b, end);
	tmp_release(l, m);
	*out = ir_reg(id);
	return true;
}

// Parameters of a call: the map, the number, the element.
void cold_calls(struct Lower *l)
{
	struct IrVal none = ir_imm(0);
	for (struct ColdCall *c = l->cold; c; c = c->next) {
		ir_enter(&l->b, c->func, 0);
		rt_call(l, "rt_cold_again", 3, ir_param(&l->b, 2), ir_imm(c->limit), ir_imm((s64)c->src), none, none);
		rt_call(l, "rt_count_told", 1, ir_imm(offsetof(struct RtCounters, cold)), none, none, none, none);
		ir_ret(&l->b, none);
	}
}

static bool has_user_stack(const struct Type *t)
{
	for (u32 i = 0; t->kind == TY_TUPLE && i < t->n; i++)
		if (has_user_stack(t->fields[i].type))
			return true;
	return t->kind == TY_USTACK;
}

void cold_keys(struct Lower *l)
{
	struct MapDef *cold = program_map(l->prog, RT_COLD_MAP);
	for (size_t i = 0; cold && i < l->prog->maps.n; i++) {
		struct MapDef *m = l->prog->maps.p[i];
		if (m->key && has_user_stack(m->key))
			m->cold = cold;
	}
}
