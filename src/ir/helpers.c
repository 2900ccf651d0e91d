// Calls a helper once per run of the program when its answer cannot change in between: who the current thread is. Input and output: a verified
// function. The first call on each path keeps its result in a vreg; later ones copy it. Unused copies fall to the dead code pass.
#include "ir/internal.h"
#include <linux/bpf.h>

static const u32 constant_helpers[] = {BPF_FUNC_get_current_pid_tgid, BPF_FUNC_get_current_uid_gid, BPF_FUNC_get_current_task,
				       BPF_FUNC_get_current_cgroup_id, BPF_FUNC_get_current_task_btf};
#define NCONST ARRAY_LEN(constant_helpers)

// Bit of the helper a call calls, 0 for any other instruction.
static u8 helper_bit(const struct IrInsn *in)
{
	for (u32 i = 0; in->op == IR_CALL && in->d && i < NCONST; i++)
		if (constant_helpers[i] == in->id)
			return (u8)(1 << i);
	return 0;
}

// have[position]: helpers called on every path to the block's start.
static void available(const struct IrFunc *f, const struct IrOrder *o, u8 *have, const u8 *calls)
{
	memset(have, 0xff, o->n);
	have[0] = 0;
	for (bool again = true; again;) {
		again = false;
		for (u32 i = 0; i < o->n; i++) {
			IrBlk succ[2];
			for (u32 k = ir_succs(ir_term(&f->blocks.p[o->order[i]]), succ); k--;) {
				u8 *to = &have[o->at[succ[k]]], v = *to & (have[i] | calls[i]);
				again |= v != *to;
				*to = v;
			}
		}
	}
}

static void rewrite(struct IrFunc *f, struct IrBlock *b, u8 have, IrReg *result)
{
	for (size_t k = 0; k < b->insns.n; k++) {
		struct IrInsn *in = &b->insns.p[k];
		u8 bit = helper_bit(in);
		if (!bit)
			continue;
		IrReg *r = &result[__builtin_ctz(bit)];
		if (!*r)
			*r = ++f->nregs;
		if (have & bit) {
			*in = (struct IrInsn){.op = IR_MOV, .d = in->d, .a = ir_reg(*r), .loc = in->loc};
			continue;
		}
		have |= bit;
		// "d = call" becomes "r = call; d = r"
		struct IrInsn copy = {.op = IR_MOV, .d = in->d, .a = ir_reg(*r), .loc = in->loc};
		in->d = *r;
		vec_push(&b->insns, copy); // makes room; the terminator stays last
		memmove(&b->insns.p[k + 2], &b->insns.p[k + 1], (b->insns.n - k - 2) * sizeof(copy));
		b->insns.p[++k] = copy;
	}
}

bool ir_call_once(struct IrFunc *f)
{
	struct IrOrder o;
	u32 total = 0;
	ir_order(f, &o);
	u8 *have = xcalloc(o.n, 1), *calls = xcalloc(o.n, 1);
	for (u32 i = 0; i < o.n; i++) {
		const struct IrBlock *b = &f->blocks.p[o.order[i]];
		for (size_t k = 0; k < b->insns.n; k++) {
			u8 bit = helper_bit(&b->insns.p[k]);
			total += bit != 0;
			calls[i] |= bit;
		}
	}
	if (total > 1) {
		IrReg result[NCONST] = {0};
		available(f, &o, have, calls);
		for (u32 i = 0; i < o.n; i++)
			rewrite(f, &f->blocks.p[o.order[i]], have[i], result);
	}
	free(have);
	free(calls);
	ir_order_deinit(&o);
	return total > 1;
}
