// What of a program's code can be reached, without the rest: the verifier takes out each piece that it finds out of reach by itself, and
// moves all that lies behind it and looks at all jumps each time: 0.1 ms for each of some hundred places where a script has stacks. Input:
// linked code, its relocations patched; the constants of frozen maps. Output: the same program in fewer instructions. Invariant: only what
// follows from constants is decided, and registers are known only between two places that jumps lead to; so whatever order is taken, the
// same is left.
#include "bpf/internal.h"
#include <linux/bpf.h>

#define JMP_FAR (BPF_JMP32 | BPF_JA) // its distance is in imm
#define FIRST_SAVED BPF_REG_6	     // calls keep the registers from here on

enum { AT_REACHED = 1, AT_JOIN = 2, AT_SECOND = 4, AT_ALWAYS = 8, AT_NEVER = 16 };

enum Know { KNOW_NOTHING, KNOW_NUMBER, KNOW_PLACE }; // PLACE: of data that nobody changes
struct Known {
	enum Know what;
	u64 num;
	const u8 *at, *end;
};

struct Reach {
	const struct Program *prog;
	const struct Code *code;
	u8 *flags;  // by instruction: AT_*
	u32 *reloc; // by instruction: number of its relocation + 1
	VEC(u32) todo;
};

static bool is_wide(const struct BpfInsn *in)
{
	return in->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static bool is_call_of_ours(const struct BpfInsn *in)
{
	return in->code == (BPF_JMP | BPF_CALL) && in->regs >> 4 == BPF_PSEUDO_CALL;
}

static bool names_function(const struct BpfInsn *in)
{
	return is_wide(in) && in->regs >> 4 == BPF_PSEUDO_FUNC;
}

static bool is_jump(const struct BpfInsn *in) // within its function
{
	u8 class = BPF_CLASS(in->code), op = BPF_OP(in->code);
	return (class == BPF_JMP && op != BPF_CALL && op != BPF_EXIT) || class == BPF_JMP32;
}

static bool is_conditional(const struct BpfInsn *in)
{
	return is_jump(in) && BPF_OP(in->code) != BPF_JA && in->code != MAY_GOTO;
}

static bool is_straight(const struct BpfInsn *in)
{
	return is_jump(in) && BPF_OP(in->code) == BPF_JA;
}

static u32 target(const struct BpfInsn *in, u32 i)
{
	return (u32)((s32)i + 1 + (in->code == JMP_FAR ? in->imm : in->off));
}

// Data at a REL_MAPVAL that the kernel lets nobody change.
static struct Known place_of(const struct Reach *r, u32 i)
{
	const struct Reloc *rel = r->reloc[i] ? &r->code->relocs.p[r->reloc[i] - 1] : NULL;
	const struct MapDef *m = rel && rel->kind == REL_MAPVAL ? r->prog->maps.p[rel->id] : NULL;
	if (!m || !m->init || m->inner || !(m->flags & BPF_F_RDONLY_PROG) || rel->addend < 0 || rel->addend > m->value_size)
		return (struct Known){0};
	const u8 *from = m->init;
	return (struct Known){KNOW_PLACE, 0, from + rel->addend, from + m->value_size};
}

static struct Known load(const struct Known *from, const struct BpfInsn *in)
{
	static const u8 sizes[] = {[BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8};
	u32 n = sizes[BPF_SIZE(in->code) >> 3];
	struct Known k = {KNOW_NUMBER};
	if (from->what != KNOW_PLACE || in->off < 0 || BPF_MODE(in->code) != BPF_MEM ||
	    (size_t)(from->end - from->at) < (size_t)in->off + n)
		return (struct Known){0};
	memcpy(&k.num, from->at + in->off, n); // machines of ours begin with the low byte
	return k;
}

static void step(const struct Reach *r, struct Known reg[16], u32 i)
{
	const struct BpfInsn *in = &r->code->insns.p[i];
	u8 dst = in->regs & 0xf, src = in->regs >> 4;
	switch (BPF_CLASS(in->code)) {
	case BPF_LD:
		if (!is_wide(in)) // of packets: as a call
			break;
		if (src == 0)
			reg[dst] = (struct Known){KNOW_NUMBER, (u32)in->imm | (u64)(u32)in[1].imm << 32, NULL, NULL};
		else
			reg[dst] = place_of(r, i);
		return;
	case BPF_LDX:
		reg[dst] = load(&reg[src], in);
		return;
	case BPF_ALU:
	case BPF_ALU64: {
		bool wide = BPF_CLASS(in->code) == BPF_ALU64;
		struct Known k = {0};
		if (BPF_OP(in->code) == BPF_MOV && !in->off) {
			k = BPF_SRC(in->code) == BPF_K ? (struct Known){KNOW_NUMBER, (u64)(s64)in->imm, NULL, NULL} : reg[src];
			if (!wide && k.what == KNOW_PLACE)
				k.what = KNOW_NOTHING;
			if (!wide)
				k.num = (u32)k.num;
		}
		reg[dst] = k;
		return;
	}
	case BPF_ST:
		return;
	case BPF_STX: // atomic ones bring back what was there, in src or r0
		if (BPF_MODE(in->code) != BPF_MEM)
			reg[src] = reg[0] = (struct Known){0};
		return;
	default:
		if (is_jump(in))
			return;
	}
	for (u8 k = 0; k < FIRST_SAVED; k++)
		reg[k] = (struct Known){0};
}

// Of a conditional jump: AT_ALWAYS, AT_NEVER; 0: it depends.
static u8 decide(const struct BpfInsn *in, const struct Known reg[16])
{
	const struct Known *x = &reg[in->regs & 0xf], *y = &reg[in->regs >> 4];
	bool imm = BPF_SRC(in->code) == BPF_K, yes;
	if (x->what != KNOW_NUMBER || (!imm && y->what != KNOW_NUMBER))
		return 0;
	u64 a = x->num, b = imm ? (u64)(s64)in->imm : y->num;
	s64 sa = (s64)a, sb = (s64)b;
	if (BPF_CLASS(in->code) == BPF_JMP32) {
		a = (u32)a;
		b = (u32)b;
		sa = (s32)a;
		sb = (s32)b;
	}
	switch (BPF_OP(in->code)) {
	case BPF_JEQ:
		yes = a == b;
		break;
	case BPF_JNE:
		yes = a != b;
		break;
	case BPF_JGT:
		yes = a > b;
		break;
	case BPF_JGE:
		yes = a >= b;
		break;
	case BPF_JLT:
		yes = a < b;
		break;
	case BPF_JLE:
		yes = a <= b;
		break;
	case BPF_JSET:
		yes = (a & b) != 0;
		break;
	case BPF_JSGT:
		yes = sa > sb;
		break;
	case BPF_JSGE:
		yes = sa >= sb;
		break;
	case BPF_JSLT:
		yes = sa < sb;
		break;
	case BPF_JSLE:
		yes = sa <= sb;
		break;
	default:
		return 0;
	}
	return yes ? AT_ALWAYS : AT_NEVER;
}

static void follow(struct Reach *r, u32 i)
{
	struct Known reg[16] = {0};
	for (;; i += is_wide(&r->code->insns.p[i]) ? 2 : 1) {
		if (i >= r->code->insns.n || r->flags[i] & AT_REACHED)
			return;
		const struct BpfInsn *in = &r->code->insns.p[i];
		if (r->flags[i] & AT_JOIN)
			memset(reg, 0, sizeof(reg));
		r->flags[i] |= AT_REACHED;
		if (is_call_of_ours(in) || names_function(in))
			vec_push(&r->todo, (u32)((s32)i + 1 + in->imm));
		if (is_conditional(in))
			r->flags[i] |= decide(in, reg);
		if (is_jump(in) && !(r->flags[i] & AT_NEVER))
			vec_push(&r->todo, target(in, i));
		if (is_straight(in) || r->flags[i] & AT_ALWAYS || in->code == (BPF_JMP | BPF_EXIT))
			return;
		step(r, reg, i);
	}
}

// Jumps that lead to the next instruction that is left: the kernel would take each out by itself, moving all that is behind it. From the end on, so that such a jump behind
// another is gone already. (Before Linux 6.8 check_cfg() takes no back-edge by falling through, so that a jump at the end of a loop's round may be needed. may_goto, without
// which code does not come here, is Linux 6.9's.)
static void drop_jumps(struct Reach *r)
{
	u32 left = (u32)r->code->insns.n; // the nearest behind i
	for (u32 i = left; i-- > 0;) {
		const struct BpfInsn *in = &r->code->insns.p[i];
		if (!(r->flags[i] & AT_REACHED) || r->flags[i] & AT_SECOND)
			continue;
		bool always = is_straight(in) || r->flags[i] & AT_ALWAYS;
		if (r->flags[i] & AT_NEVER || (always && target(in, i) > i && left >= target(in, i)))
			r->flags[i] &= (u8)~AT_REACHED;
		else
			left = i;
	}
}

static struct BpfInsn moved(const struct Reach *r, const u32 *to, u32 i)
{
	struct BpfInsn in = r->code->insns.p[i];
	if (is_call_of_ours(&in) || names_function(&in))
		in.imm = (s32)to[(s32)i + 1 + in.imm] - (s32)to[i] - 1;
	if (!is_jump(&in))
		return in;
	s32 by = (s32)to[target(&in, i)] - (s32)to[i] - 1;
	if (r->flags[i] & AT_ALWAYS)
		in = (struct BpfInsn){BPF_JMP | BPF_JA, 0, 0, 0};
	if (in.code == JMP_FAR)
		in.imm = by;
	else
		in.off = (s16)by; // no further than it was
	return in;
}

void code_reached(const struct Program *prog, const struct Code *code, struct Code *out)
{
	u32 n = (u32)code->insns.n, *to = xcalloc(n + 1, sizeof(*to));
	struct Reach r = {prog, code, xcalloc(n + 1, 1), xcalloc(n + 1, sizeof(u32)), {0}};
	for (size_t i = 0; i < code->relocs.n; i++)
		r.reloc[code->relocs.p[i].insn] = (u32)i + 1;
	for (u32 i = 0; i < n; i++) {
		const struct BpfInsn *in = &code->insns.p[i];
		if (is_jump(in))
			r.flags[target(in, i)] |= AT_JOIN;
		if (is_wide(in))
			r.flags[++i] |= AT_SECOND;
	}
	for (size_t i = 0; i < code->funcs.n; i++)
		r.flags[code->funcs.p[i].insn] |= AT_JOIN;
	vec_push(&r.todo, 0);
	while (r.todo.n)
		follow(&r, vec_pop(&r.todo));
	*out = (struct Code){0};
	for (size_t i = 0; i < code->funcs.n; i++)
		if (r.flags[code->funcs.p[i].insn] & AT_REACHED)
			vec_push(&out->funcs, code->funcs.p[i]);
	drop_jumps(&r);

	for (u32 i = 0, at = 0; i <= n; i++) {
		to[i] = at;
		if (i < n && r.flags[i] & AT_SECOND)
			r.flags[i] = (u8)(AT_SECOND | (r.flags[i - 1] & AT_REACHED));
		at += r.flags[i] & AT_REACHED;
	}
	for (u32 i = 0; i < n; i++)
		if (r.flags[i] & AT_REACHED)
			vec_push(&out->insns, r.flags[i] & AT_SECOND ? code->insns.p[i] : moved(&r, to, i));
	for (size_t i = 0; i < out->funcs.n; i++)
		out->funcs.p[i].insn = to[out->funcs.p[i].insn];
	vec_deinit(&r.todo);
	free(r.flags);
	free(r.reloc);
	free(to);
}
