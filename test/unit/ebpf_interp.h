// A small eBPF machine for the tests: runs generated code without the kernel's rules about loops, so that any control flow can be tried.
// Helpers destroy r1..r5 with garbage, frames start as garbage. Helper 7 returns 0; 1 is map_lookup_elem on the one map; a kernel function returns
// what the machine says.
#ifndef SONDE_TEST_EBPF_INTERP_H
#define SONDE_TEST_EBPF_INTERP_H
#include "ir/ir.h"
#include <linux/bpf.h>
#ifndef BPF_PSEUDO_KFUNC_CALL
#define BPF_PSEUDO_KFUNC_CALL 2
#endif

struct Machine {
	const struct BpfInsn *insns;
	u32 n;
	u8 *mem;
	const u64 *ctx;
	u64 steps;
	const char *fault; // why it stopped early
	u64 kfunc;
};
#define MACHINE_GARBAGE 0xdeadbeefcafef00dULL

static u64 machine_call(struct Machine *m, u32 pc, const u64 *args, u32 depth);

static u64 machine_alu(u8 op, u64 d, u64 s, bool wide, s32 off)
{
	u32 bits = wide ? 64 : 32;
	if (!wide)
		d = (u32)d, s = (u32)s;
	s64 sd = wide ? (s64)d : (s32)d, ss = wide ? (s64)s : (s32)s;
	u64 r;
	switch (op) {
	case BPF_ADD: r = d + s; break;
	case BPF_SUB: r = d - s; break;
	case BPF_MUL: r = d * s; break;
	case BPF_DIV: r = !s ? 0 : off ? (u64)(sd / ss) : d / s; break;
	case BPF_MOD: r = !s ? d : off ? (u64)(sd % ss) : d % s; break;
	case BPF_AND: r = d & s; break;
	case BPF_OR: r = d | s; break;
	case BPF_XOR: r = d ^ s; break;
	case BPF_LSH: r = d << (s & (bits - 1)); break;
	case BPF_RSH: r = d >> (s & (bits - 1)); break;
	case BPF_ARSH: r = (u64)(sd >> (s & (bits - 1))); break;
	case BPF_NEG: r = 0 - d; break;
	default: r = off ? (u64)((s64)(s << (64 - off)) >> (64 - off)) : s; // MOV
	}
	return wide ? r : (u32)r;
}

static bool machine_cond(u8 op, u64 d, u64 s, bool wide)
{
	s64 sd = wide ? (s64)d : (s32)d, ss = wide ? (s64)s : (s32)s;
	if (!wide)
		d = (u32)d, s = (u32)s;
	switch (op) {
	case BPF_JEQ: return d == s;
	case BPF_JNE: return d != s;
	case BPF_JGT: return d > s;
	case BPF_JGE: return d >= s;
	case BPF_JLT: return d < s;
	case BPF_JLE: return d <= s;
	case BPF_JSGT: return sd > ss;
	case BPF_JSGE: return sd >= ss;
	case BPF_JSLT: return sd < ss;
	case BPF_JSLE: return sd <= ss;
	default: return d & s; // JSET
	}
}

static u32 machine_size(u8 code)
{
	static const u8 size[4] = {4, 2, 1, 8};
	return size[code >> 3 & 3];
}

static void machine_store(struct Machine *m, const struct BpfInsn *in, u64 *r)
{
	u8 *at = (u8 *)(uintptr_t)(r[in->regs & 15] + (u64)(s64)in->off);
	u64 v = (in->code & 7) == BPF_ST ? (u64)(s64)in->imm : r[in->regs >> 4], old = 0;
	u32 size = machine_size(in->code);
	if ((in->code & 0xe0) == BPF_ATOMIC) {
		memcpy(&old, at, size);
		if (in->imm == BPF_CMPXCHG) {
			v = old == (size == 4 ? (u32)r[0] : r[0]) ? v : old;
			r[0] = old;
		} else {
			v = (in->imm & 0xf0) == 0xe0 ? v : old + v;
			if (in->imm & BPF_FETCH)
				r[in->regs >> 4] = old;
		}
	}
	memcpy(at, &v, size);
}

static u64 machine_call(struct Machine *m, u32 pc, const u64 *args, u32 depth)
{
	u64 frame[64], r[11];
	for (u32 i = 0; i < 64; i++)
		frame[i] = MACHINE_GARBAGE * (i + 3);
	for (u32 i = 0; i < 10; i++)
		r[i] = MACHINE_GARBAGE + i;
	memcpy(r + 1, args, 5 * sizeof(u64));
	r[10] = (u64)(uintptr_t)(frame + 64);
	for (;; pc++) {
		if (pc >= m->n || depth > 8 || !m->steps--) {
			m->fault = m->fault ? m->fault : pc >= m->n ? "ran off the end" : "steps";
			return 0;
		}
		const struct BpfInsn *in = &m->insns[pc];
		u8 class = in->code & 7, op = in->code & 0xf0, d = in->regs & 15, s = in->regs >> 4;
		u64 src = in->code & BPF_X ? r[s] : (u64)(s64)in->imm;
		if (class == BPF_LD) {
			if (s == BPF_PSEUDO_MAP_VALUE)
				r[d] = (u64)(uintptr_t)m->mem + (u32)in[1].imm;
			else
				r[d] = (u64)(u32)in[1].imm << 32 | (u32)in->imm;
			pc++;
		} else if (class == BPF_LDX) {
			u64 v = 0;
			memcpy(&v, (void *)(uintptr_t)(r[s] + (u64)(s64)in->off), machine_size(in->code));
			r[d] = v;
		} else if (class == BPF_ST || class == BPF_STX) {
			machine_store(m, in, r);
		} else if ((class == BPF_ALU || class == BPF_ALU64) && op == BPF_END) {
			r[d] = __builtin_bswap64(r[d]) >> (64 - in->imm);
		} else if (class == BPF_ALU || class == BPF_ALU64) {
			r[d] = machine_alu(op, r[d], src, class == BPF_ALU64, in->off);
		} else if (op == BPF_EXIT) {
			return r[0];
		} else if (op == BPF_CALL) {
			if (s == BPF_PSEUDO_CALL)
				r[0] = machine_call(m, (u32)((s32)pc + 1 + in->imm), r + 1, depth + 1);
			else if (s == BPF_PSEUDO_KFUNC_CALL)
				r[0] = m->kfunc;
			else
				r[0] = in->imm == 1 && *(u32 *)(uintptr_t)r[2] == 0 ? (u64)(uintptr_t)m->mem : 0;
			for (u32 i = 1; i < 6; i++)
				r[i] = MACHINE_GARBAGE ^ i;
			if (m->fault)
				return 0;
		} else if (op == BPF_JA) {
			pc = (u32)((s32)pc + in->off);
		} else if (machine_cond(op, r[d], src, class == BPF_JMP)) {
			pc = (u32)((s32)pc + in->off);
		}
	}
}

// NULL, or why the run did not end. kfunc: what a kernel function that is called returns.
static const char *machine_run(const struct Code *c, const u64 *ctx, u8 *mem, u64 kfunc, u64 *ret)
{
	struct Machine m = {c->insns.p, (u32)c->insns.n, mem, ctx, 1000000, NULL, kfunc};
	u64 args[5] = {(u64)(uintptr_t)ctx, MACHINE_GARBAGE, MACHINE_GARBAGE, MACHINE_GARBAGE, MACHINE_GARBAGE};
	*ret = machine_call(&m, 0, args, 0);
	return m.fault;
}
#endif
