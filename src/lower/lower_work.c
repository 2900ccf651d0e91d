// What a program has the kernel call as the thread returns to user space (task work, Linux 6.18), when it may wait for memory: of texts (lower_late.c) and of stacks
// (lower_cold.c). In: what is to be kept for it under a number of the event's own. Out: code that keeps it and asks for the call.
// Invariant: what the kernel will not call for is not kept.
#include "base/base.h"
#include "lower/internal.h"

#define NO_EXIST 1 // BPF_NOEXIST

enum { H_CURTASK_BTF = BPF_FUNC_get_current_task_btf };

u32 work_map(struct Lower *l, const char *name, u32 value_size, u32 max)
{
	u32 id = sonde_map(l, name, BPF_MAP_TYPE_HASH, 8, value_size, max, BPF_F_NO_PREALLOC);
	l->prog->maps.p[id]->task_work = true;
	return id;
}

struct IrVal work_keep(struct Lower *l, u32 map, struct IrVal key, IrBlk none)
{
	IrBlk kept = ir_new_block(&l->b, "kept");
	call4(l, H_MAP_UPDATE, ir_mapfd(map), key, zero_value(l, map), ir_imm(NO_EXIST));
	struct IrVal e = ir_mov(&l->b, call2(l, H_MAP_LOOKUP, ir_mapfd(map), key));
	ir_br(&l->b, IC_NE, e, ir_imm(0), kept, none);
	ir_set_block(&l->b, kept);
	return e;
}

void work_ask(struct Lower *l, u32 map, struct IrVal key, struct IrVal e, u32 callback, IrBlk none)
{
	IrBlk asked = ir_new_block(&l->b, "asked"), refused = ir_new_block(&l->b, "refused");
	struct IrVal args[] = {call0(l, H_CURTASK_BTF), e, ir_mapfd(map), ir_func(callback), ir_imm(0)};
	ir_br(&l->b, IC_EQ, ir_call_kfunc(&l->b, "bpf_task_work_schedule_resume_impl", args, ARRAY_LEN(args)), ir_imm(0), asked, refused);
	ir_set_block(&l->b, refused);
	call2(l, H_MAP_DELETE, ir_mapfd(map), key);
	ir_jmp(&l->b, none);
	ir_set_block(&l->b, asked);
}
