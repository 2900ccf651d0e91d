// Two programs as one: entry and return of the same functions, when the kernel calls one program for both (kprobe sessions).
// In: the code of both, before the runtime is linked to it; out: in a, a program that asks the kernel which of the two it is and goes on as
// a or as b. Invariant: it returns 0, whatever the two return: from an entry, anything else would keep the kernel from calling at the return.
//
//	r6 = ctx; r0 = is_return(ctx); r1 = r6; if r0 goto b; [a] end: r0 = 0; exit; [b] [functions of b] [functions of a]
#include <linux/bpf.h>
#include "ir/ir.h"
#ifndef BPF_PSEUDO_FUNC
#define BPF_PSEUDO_FUNC 4
#endif
#ifndef BPF_PSEUDO_KFUNC_CALL
#define BPF_PSEUDO_KFUNC_CALL 2
#endif

#define HEAD 4u // instructions before a
#define TAIL 2u // behind it
#define LONGEST_JUMP 32000

static u32 main_end(const struct Code *c)
{
	u32 end = (u32)c->insns.n;
	for (size_t i = 0; i < c->funcs.n; i++)
		if (c->funcs.p[i].insn && c->funcs.p[i].insn < end)
			end = c->funcs.p[i].insn;
	return end;
}

// Instructions [from, to) of src; an exit of the main function becomes a jump to `end`, a call to its own functions goes `further` on.
static void copy_insns(struct Code *out, const struct Code *src, u32 from, u32 to, bool is_main, u32 end, u32 further)
{
	for (u32 i = from; i < to; i++) {
		struct BpfInsn in = src->insns.p[i];
		bool wide = in.code == (BPF_LD | BPF_IMM | BPF_DW), call = in.code == (BPF_JMP | BPF_CALL);
		if (is_main && in.code == (BPF_JMP | BPF_EXIT))
			in = (struct BpfInsn){BPF_JMP | BPF_JA, 0, (s16)((s32)end - (s32)out->insns.n - 1), 0};
		else if ((wide && in.regs >> 4 == BPF_PSEUDO_FUNC) || (call && in.regs >> 4 == BPF_PSEUDO_CALL))
			in.imm += (s32)further; // of no effect on calls of the runtime, which are pointed to their target later
		vec_push(&out->insns, in);
		if (wide)
			vec_push(&out->insns, src->insns.p[++i]);
	}
}

// What refers to instructions [from, to) of src, which have moved by `by`.
static void copy_notes(struct Code *out, const struct Code *src, u32 from, u32 to, u32 by, u32 loc0)
{
	for (size_t i = 0; i < src->relocs.n; i++) {
		struct Reloc r = src->relocs.p[i];
		if (r.insn < from || r.insn >= to)
			continue;
		r.insn += by;
		vec_push(&out->relocs, r);
	}
	for (size_t i = 0; i < src->lines.n; i++)
		if (src->lines.p[i].insn >= from && src->lines.p[i].insn < to)
			vec_push(&out->lines, ((struct CodeLine){src->lines.p[i].insn + by, src->lines.p[i].loc + loc0}));
	for (size_t i = 0; i < src->funcs.n; i++) {
		struct CodeFunc f = src->funcs.p[i];
		if (!f.insn || f.insn < from || f.insn >= to)
			continue;
		f.insn += by;
		vec_push(&out->funcs, f);
	}
}

bool code_join(struct IrProg *ap, struct Code *a, const struct IrProg *bp, const struct Code *b, const char *is_return)
{
	u32 an = (u32)a->insns.n, bn = (u32)b->insns.n, am = main_end(a), bm = main_end(b), loc0 = (u32)ap->locs.n;
	u32 end = HEAD + am, bstart = end + TAIL;
	struct Code out = {0};
	if (bstart + bm > LONGEST_JUMP)
		return false;
	const struct BpfInsn head[HEAD] = {
		{BPF_ALU64 | BPF_MOV | BPF_X, 6 | 1 << 4, 0, 0},
		{BPF_JMP | BPF_CALL, BPF_PSEUDO_KFUNC_CALL << 4, 0, 0},
		{BPF_ALU64 | BPF_MOV | BPF_X, 1 | 6 << 4, 0, 0},
		{BPF_JMP | BPF_JNE | BPF_K, 0, (s16)(bstart - HEAD), 0},
	};
	const struct BpfInsn tail[TAIL] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0}, {BPF_JMP | BPF_EXIT, 0, 0, 0}};
	for (u32 i = 0; i < HEAD; i++)
		vec_push(&out.insns, head[i]);
	if (a->funcs.n && !a->funcs.p[0].insn)
		vec_push(&out.funcs, a->funcs.p[0]);
	vec_push(&out.relocs, ((struct Reloc){.kind = REL_KFUNC, .insn = 1, .name = is_return}));
	copy_insns(&out, a, 0, am, true, end, TAIL + bn);
	for (u32 i = 0; i < TAIL; i++)
		vec_push(&out.insns, tail[i]);
	copy_insns(&out, b, 0, bm, true, end, 0);
	copy_insns(&out, b, bm, bn, false, 0, 0);
	copy_insns(&out, a, am, an, false, 0, 0);
	copy_notes(&out, a, 0, am, HEAD, 0); // in the order of the code: lines ascend
	copy_notes(&out, b, 0, bn, bstart, loc0);
	copy_notes(&out, a, am, an, bstart + bn - am, 0);
	for (size_t i = 0; i < bp->locs.n; i++)
		vec_push(&ap->locs, bp->locs.p[i]);
	code_deinit(a);
	*a = out;
	return true;
}
