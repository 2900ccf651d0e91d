// Disassembler in the style of the kernel verifier's log and bpftool. Input: any array of instructions, valid or not. Output: one line each,
// "INDEX: (OPCODE) text". The second half of a 64-bit load has no line of its own.
#include "ir/ir.h"
#include <linux/bpf.h>

#define DST(in) ((in)->regs & 15)
#define SRC(in) ((in)->regs >> 4)

static const char *const helper_names[] = {
#define NAME(x, ...) [BPF_FUNC_##x] = "bpf_" #x
	__BPF_FUNC_MAPPER(NAME)
#undef NAME
};

static const char *size_name(u8 code, bool sgn)
{
	static const char *const u[] = {"u32", "u16", "u8", "u64"}, *const s[] = {"s32", "s16", "s8", "s64"};
	return (sgn ? s : u)[code >> 3 & 3];
}

static void put_alu(struct Str *o, const struct BpfInsn *in)
{
	static const char *const op[16] = {"+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "", "%=", "^=", "=", "s>>="};
	bool wide = (in->code & 7) == BPF_ALU64;
	char r = wide ? 'r' : 'w';
	u32 d = DST(in), s = SRC(in);
	switch (in->code & 0xf0) {
	case BPF_END:
		if (wide)
			str_addf(o, "r%u = bswap%d r%u", d, in->imm, d);
		else
			str_addf(o, "r%u = %s%d r%u", d, in->code & BPF_TO_BE ? "be" : "le", in->imm, d);
		return;
	case BPF_NEG:
		str_addf(o, "%c%u = -%c%u", r, d, r, d);
		return;
	case 0xe0:
	case 0xf0:
		str_addf(o, "BUG_alu_%02x", in->code);
		return;
	}
	bool signed_div = in->off == 1 && ((in->code & 0xf0) == BPF_DIV || (in->code & 0xf0) == BPF_MOD);
	str_addf(o, "%c%u %s%s ", r, d, signed_div ? "s" : "", op[in->code >> 4]);
	if (!(in->code & BPF_X))
		str_addf(o, "%d", in->imm);
	else if ((in->code & 0xf0) == BPF_MOV && in->off)
		str_addf(o, "(s%d)%c%u", in->off, r, s);
	else
		str_addf(o, "%c%u", r, s);
}

static void put_stx(struct Str *o, const struct BpfInsn *in)
{
	u32 d = DST(in), s = SRC(in);
	const char *size = size_name(in->code, false);
	char bits[8], at[32];
	if ((in->code & 0xe0) == BPF_MEM) {
		str_addf(o, "*(%s *)(r%u %+d) = r%u", size, d, in->off, s);
		return;
	}
	if ((in->code & 0xe0) != BPF_ATOMIC) {
		str_addf(o, "BUG_stx_%02x", in->code);
		return;
	}
	snprintf(bits, sizeof(bits), "%s", (in->code & 0x18) == BPF_DW ? "64" : "");
	snprintf(at, sizeof(at), "(%s *)(r%u %+d)", size, d, in->off);
	static const struct {
		s32 imm;
		const char *sign, *name;
	} ops[] = {{BPF_ADD, "+=", "add"}, {BPF_AND, "&=", "and"}, {BPF_OR, "|=", "or"}, {BPF_XOR, "^=", "xor"}};
	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		if (in->imm == ops[i].imm) {
			str_addf(o, "lock *%s %s r%u", at, ops[i].sign, s);
			return;
		}
		if (in->imm == (ops[i].imm | BPF_FETCH)) {
			str_addf(o, "r%u = atomic%s_fetch_%s(%s, r%u)", s, bits, ops[i].name, at, s);
			return;
		}
	}
	if (in->imm == BPF_CMPXCHG)
		str_addf(o, "r0 = atomic%s_cmpxchg(%s, r0, r%u)", bits, at, s);
	else if (in->imm == BPF_XCHG)
		str_addf(o, "r%u = atomic%s_xchg(%s, r%u)", s, bits, at, s);
	else
		str_addf(o, "BUG_atomic_%02x", (unsigned)in->imm);
}

static void put_ld(struct Str *o, const struct BpfInsn *in, bool has_next)
{
	if ((in->code & 0xe0) == BPF_ABS) {
		str_addf(o, "r0 = *(%s *)skb[%d]", size_name(in->code, false), in->imm);
		return;
	}
	if ((in->code & 0xe0) == BPF_IND) {
		str_addf(o, "r0 = *(%s *)skb[r%u + %d]", size_name(in->code, false), SRC(in), in->imm);
		return;
	}
	if (in->code != (BPF_LD | BPF_IMM | BPF_DW) || !has_next) {
		str_addf(o, "BUG_ld_%02x", in->code);
		return;
	}
	u64 v = (u64)(u32)in[1].imm << 32 | (u32)in->imm;
	str_addf(o, "r%u = ", DST(in));
	switch (SRC(in)) {
	case 0: str_addf(o, "0x%llx", (unsigned long long)v); return;
	case BPF_PSEUDO_MAP_FD: str_addf(o, "map[fd:%d]", in->imm); return;
	case BPF_PSEUDO_MAP_VALUE: str_addf(o, "map[fd:%d][0]%+d", in->imm, in[1].imm); return;
	case BPF_PSEUDO_FUNC: str_addf(o, "func pc%+d", in->imm); return;
	default: str_addf(o, "0x%llx (pseudo %u)", (unsigned long long)v, SRC(in)); return;
	}
}

static void put_jmp(struct Str *o, const struct BpfInsn *in)
{
	static const char *const op[16] = {"", "==", ">", ">=", "&", "!=", "s>", "s>=", "", "", "<", "<=", "s<", "s<="};
	bool wide = (in->code & 7) == BPF_JMP;
	char r = wide ? 'r' : 'w';
	switch (in->code & 0xf0) {
	case BPF_CALL:
		if (SRC(in) == BPF_PSEUDO_CALL)
			str_addf(o, "call pc%+d", in->imm);
		else if (SRC(in))
			str_addf(o, "call kernel-function#%d", in->imm);
		else if (in->imm > 0 && in->imm < (s32)ARRAY_LEN(helper_names) && helper_names[in->imm])
			str_addf(o, "call %s#%d", helper_names[in->imm], in->imm);
		else
			str_addf(o, "call unknown#%d", in->imm);
		return;
	case BPF_JA:
		if (wide)
			str_addf(o, "goto pc%+d", in->off);
		else
			str_addf(o, "gotol pc%+d", in->imm);
		return;
	case BPF_EXIT:
		str_add(o, "exit");
		return;
	case 0xe0:
		str_addf(o, "may_goto pc%+d", in->off);
		return;
	case 0xf0:
		str_addf(o, "BUG_jmp_%02x", in->code);
		return;
	}
	str_addf(o, "if %c%u %s ", r, DST(in), op[in->code >> 4]);
	if (in->code & BPF_X)
		str_addf(o, "%c%u", r, SRC(in));
	else
		str_addf(o, "0x%x", (unsigned)in->imm);
	str_addf(o, " goto pc%+d", in->off);
}

static void put_text(struct Str *o, const struct BpfInsn *in, bool has_next)
{
	const char *size = size_name(in->code, false);
	switch (in->code & 7) {
	case BPF_ALU:
	case BPF_ALU64:
		put_alu(o, in);
		return;
	case BPF_LDX:
		if ((in->code & 0xe0) == BPF_MEM || (in->code & 0xe0) == 0x80)
			str_addf(o, "r%u = *(%s *)(r%u %+d)", DST(in), size_name(in->code, (in->code & 0xe0) == 0x80), SRC(in), in->off);
		else
			str_addf(o, "BUG_ldx_%02x", in->code);
		return;
	case BPF_ST:
		if ((in->code & 0xe0) == BPF_MEM)
			str_addf(o, "*(%s *)(r%u %+d) = %d", size, DST(in), in->off, in->imm);
		else
			str_addf(o, "BUG_st_%02x", in->code);
		return;
	case BPF_STX:
		put_stx(o, in);
		return;
	case BPF_LD:
		put_ld(o, in, has_next);
		return;
	default:
		put_jmp(o, in);
	}
}

static bool is_ld64(const struct BpfInsn *in, bool has_next)
{
	return in->code == (BPF_LD | BPF_IMM | BPF_DW) && has_next;
}

void bpf_disasm(const struct BpfInsn *insns, u32 n, struct Str *o)
{
	for (u32 i = 0; i < n; i++) {
		bool has_next = i + 1 < n;
		str_addf(o, "%u: (%02x) ", i, insns[i].code);
		put_text(o, &insns[i], has_next);
		str_addc(o, '\n');
		i += is_ld64(&insns[i], has_next);
	}
}

void code_disasm(const struct Code *c, const struct IrProg *p, struct Str *o)
{
	size_t fn = 0, line = 0, rel = 0;
	for (u32 i = 0; i < c->insns.n; i++) {
		bool has_next = i + 1 < c->insns.n;
		const struct BpfInsn *in = &c->insns.p[i];
		if (fn < c->funcs.n && c->funcs.p[fn].insn == i)
			str_addf(o, "%s:\n", c->funcs.p[fn++].name);
		while (line < c->lines.n && c->lines.p[line].insn < i)
			line++;
		if (p && line < c->lines.n && c->lines.p[line].insn == i && c->lines.p[line].loc < p->locs.n)
			str_addf(o, "; line %u\n", p->locs.p[c->lines.p[line].loc].line);
		while (rel < c->relocs.n && c->relocs.p[rel].insn < i)
			rel++;
		const struct Reloc *r = rel < c->relocs.n && c->relocs.p[rel].insn == i ? &c->relocs.p[rel] : NULL;
		str_addf(o, "%u: (%02x) ", i, in->code);
		if (!r)
			put_text(o, in, has_next);
		else if (r->kind == REL_MAPFD)
			str_addf(o, "r%u = map[%u]", DST(in), r->id);
		else if (r->kind == REL_MAPVAL)
			str_addf(o, "r%u = map[%u][0]%+lld", DST(in), r->id, (long long)r->addend);
		else
			str_addf(o, "call %s", r->name ? r->name : "?");
		str_addc(o, '\n');
		i += is_ld64(in, has_next);
	}
}
