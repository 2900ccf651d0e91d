// A direct interpreter of the IR for the tests: what generated code must agree with. Addresses are host addresses; helpers known:
// 1 map_lookup_elem (map 0, key u32), 14 get_current_pid_tgid, 8 get_smp_processor_id (0: callers discard it), 181 bpf_loop.
#ifndef SONDE_TEST_IR_INTERP_H
#define SONDE_TEST_IR_INTERP_H
#include "ir/internal.h"

struct Interp {
	const struct IrProg *p;
	u8 *mem;	  // value of map 0
	const u64 *ctx;
	u64 steps;	  // left; the run fails at 0
	bool failed;
};
struct Frame {
	u64 *reg;
	u8 **slot;
};

static u64 interp_call(struct Interp *it, u32 fn, const u64 *args, u32 n);

static u64 interp_val(struct Interp *it, struct Frame *fr, struct IrVal v)
{
	switch (v.kind) {
	case IRO_REG: return fr->reg[v.id];
	case IRO_IMM: return (u64)v.imm;
	case IRO_SLOT: return (u64)(uintptr_t)fr->slot[v.id] + (u64)v.imm;
	case IRO_MAPVAL: return (u64)(uintptr_t)it->mem + (u64)v.imm;
	case IRO_CTX: return (u64)(uintptr_t)it->ctx;
	case IRO_FUNC: return v.id;
	case IRO_MAPFD: return v.id;
	default: return 0;
	}
}

static u64 interp_load(u64 addr, u32 size)
{
	u64 v = 0;
	memcpy(&v, (void *)(uintptr_t)addr, size); // little-endian hosts
	return v;
}

static u64 interp_helper(struct Interp *it, const struct IrInsn *in, const u64 *a)
{
	if (in->id == 1)
		return *(u32 *)(uintptr_t)a[1] == 0 ? (u64)(uintptr_t)it->mem : 0;
	if (in->id == 14)
		return (u64)getpid() << 32 | (u64)gettid();
	if (in->id == 181) {
		u64 i = 0;
		while (i < a[0]) {
			u64 cb[2] = {i++, a[2]};
			if (interp_call(it, (u32)a[1], cb, 2))
				break;
		}
		return i;
	}
	return 0;
}

static void interp_insn(struct Interp *it, struct Frame *fr, const struct IrInsn *in)
{
	u32 flags = ir_ops[in->op].flags;
	u64 a = interp_val(it, fr, in->a), b = interp_val(it, fr, in->b), r = 0, addr = a + (u64)(s64)in->off, args[5] = {0};
	for (u32 i = 0; i < in->nargs; i++)
		args[i] = interp_val(it, fr, in->args[i]);
	if (flags & F_ARITH)
		r = (u64)ir_fold_bin(in->op, (s64)a, (s64)b);
	else if (flags & F_MEM && in->op != IR_STORE)
		r = interp_load(addr, in->size);
	switch (in->op) {
	case IR_MOV: r = a; break;
	case IR_NEG:
	case IR_ZEXT:
	case IR_SEXT:
	case IR_BSWAP: r = (u64)ir_fold_un(in->op, in->size, (s64)a); break;
	case IR_ATOMIC_ADD: b += r; break;
	case IR_ATOMIC_CAS: b = r == (in->size == 4 ? (u32)args[0] : args[0]) ? b : r; break;
	case IR_CALL: r = interp_helper(it, in, args); break;
	case IR_CALL_FN: r = interp_call(it, in->id, args, in->nargs); break;
	}
	if (flags & F_MEM && in->op != IR_LOAD)
		memcpy((void *)(uintptr_t)addr, &b, in->size);
	if (in->d)
		fr->reg[in->d] = r;
}

static u64 interp_call(struct Interp *it, u32 fn, const u64 *args, u32 n)
{
	const struct IrFunc *f = &it->p->funcs.p[fn];
	struct Frame fr = {xcalloc(f->nregs + 1, sizeof(u64)), xcalloc(f->slots.n, sizeof(u8 *))};
	for (size_t i = 0; i < f->slots.n; i++)
		fr.slot[i] = xcalloc(1, f->slots.p[i].size);
	for (u32 i = 0; i < n; i++)
		fr.reg[i + 1] = args[i];
	u64 ret = 0;
	IrBlk b = 0;
	for (size_t k = 0;; k++) {
		const struct IrInsn *in = &f->blocks.p[b].insns.p[k];
		if (!it->steps || !it->steps--) {
			it->failed = true;
			break;
		}
		if (in->op == IR_RET) {
			ret = interp_val(it, &fr, in->a);
			break;
		}
		if (in->op == IR_JMP || in->op == IR_BR) {
			bool t = in->op == IR_JMP ||
				 ir_fold_cond(in->cond, in->size, (s64)interp_val(it, &fr, in->a), (s64)interp_val(it, &fr, in->b));
			b = t ? in->t : in->f;
			k = (size_t)-1;
			continue;
		}
		interp_insn(it, &fr, in);
	}
	for (size_t i = 0; i < f->slots.n; i++)
		free(fr.slot[i]);
	free(fr.slot);
	free(fr.reg);
	return ret;
}

static u64 interp(const struct IrProg *p, const u64 *ctx, u8 *mem, u64 steps, bool *failed)
{
	struct Interp it = {.p = p, .mem = mem, .ctx = ctx, .steps = steps};
	u64 r = interp_call(&it, 0, NULL, 0);
	*failed = it.failed;
	return r;
}

// Deep copy, since compiling and optimising consume the program.
static struct IrProg ir_copy(const struct IrProg *p)
{
	struct IrProg c = {.name = p->name, .diags = p->diags};
	for (size_t i = 0; i < p->locs.n; i++)
		vec_push(&c.locs, p->locs.p[i]);
	for (size_t i = 0; i < p->funcs.n; i++) {
		struct IrFunc *f = &p->funcs.p[i], n = {.name = f->name, .nregs = f->nregs, .nparams = f->nparams};
		for (size_t k = 0; k < f->slots.n; k++)
			vec_push(&n.slots, f->slots.p[k]);
		for (size_t k = 0; k < f->blocks.n; k++) {
			struct IrBlock b = {.label = f->blocks.p[k].label};
			for (size_t j = 0; j < f->blocks.p[k].insns.n; j++)
				vec_push(&b.insns, f->blocks.p[k].insns.p[j]);
			vec_push(&n.blocks, b);
		}
		vec_push(&c.funcs, n);
	}
	return c;
}
#endif
