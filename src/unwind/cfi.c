// Call frame instructions -> rules. Input: the instructions of a CIE or FDE (DWARF 5, 6.4.2; GNU and AArch64 additions), untrusted. Output:
// for each place where something changes, the rule as bpfrt/unwind.bpf.c follows it. Invariant: what the walker cannot follow becomes
// RT_UW_BAD or a lost register, never a wrong rule.
#include <dwarf.h>
#include <elf.h>
#include "unwind/internal.h"

// ---- cursor
u64 bytes_u(struct Bytes *b, u32 size)
{
	u64 v = 0;
	if ((size_t)(b->end - b->p) < size) {
		b->bad = true;
		b->p = b->end;
		return 0;
	}
	memcpy(&v, b->p, size);
	b->p += size;
	return v;
}

u64 bytes_uleb(struct Bytes *b)
{
	u64 v = 0;
	for (u32 shift = 0; b->p < b->end; shift += 7) {
		u8 c = *b->p++;
		if (shift < 64)
			v |= (u64)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return v;
	}
	b->bad = true;
	return 0;
}

s64 bytes_sleb(struct Bytes *b)
{
	u64 v = 0;
	for (u32 shift = 0; b->p < b->end;) {
		u8 c = *b->p++;
		if (shift < 64)
			v |= (u64)(c & 0x7f) << shift;
		shift += 7;
		if (c & 0x80)
			continue;
		if (shift < 64 && c & 0x40)
			v |= ~0ull << shift;
		return (s64)v;
	}
	b->bad = true;
	return 0;
}

// ---- machines
struct Machine {
	u8 fp, sp, ra, nregs;
	u8 slots[RT_UW_SLOTS];
};
#define NO_REG 0xff
static const struct Machine x86_64 = {6, 7, 16, 16, {6, 3, 12, 13, 14, 15}};
static const struct Machine aarch64 = {29, 31, 30, 32, {29, 19, 20, 21, 22, 23}};
static const struct Machine riscv64 = {8, 2, 1, 32, {8, 9, 18, 19, 20, 21}}; // RISC-V DWARF Specification, "DWARF Register Numbers"
// System V ABI for i386, 2.4.1: eax ecx edx ebx esp ebp esi edi. Rules have the numbers of x86-64, esi and edi those of r12 and r13: those are the
// slots there are (bpfrt/compat.bpf.c).
static const struct Machine i386 = {5, 4, 8, 8, {5, 3, 6, 7, NO_REG, NO_REG}};
static const u8 i386_regs[8] = {0, 2, 1, 3, 7, 6, 12, 13};

static const struct Machine *machine_of(u16 m)
{
	return m == EM_AARCH64 ? &aarch64 : m == EM_RISCV ? &riscv64 : m == EM_386 ? &i386 : &x86_64;
}

// A call leaves the return address in a register, where it is until a rule says otherwise.
static bool has_link(const struct Machine *m)
{
	return m == &aarch64 || m == &riscv64;
}

u32 cfi_ra(u16 machine)
{
	return machine_of(machine)->ra;
}

static int slot_of(const struct Machine *m, u64 reg)
{
	for (u32 s = 0; s < RT_UW_SLOTS && reg < m->nregs; s++)
		if (m->slots[s] == reg)
			return (int)s;
	return -1;
}

void cfi_state_init(struct CfiState *st, u16 machine)
{
	memset(st, 0, sizeof(*st));
	st->cfa_bad = true;
	st->r.kind = RT_UW_REG;
	if (has_link(machine_of(machine))) { // no rule: still in the link register
		st->r.ra_kind = RT_UW_RA_REG;
		st->r.ra = machine_of(machine)->ra;
	} else {
		st->ra_bad = true;
	}
}

// ---- expressions, as far as they are reg + off, *(reg + off) + off2, or one of those with 8 * another register
struct Sym {
	enum { S_CONST, S_ADDR, S_DEREF } kind;
	u8 reg, index; // index: register + 1, times 8
	bool is_cfa;   // instead of reg: the CFA
	s64 off, off2;
};
#define SYM_DEPTH 8

static bool sym_add(struct Sym *a, const struct Sym *b)
{
	if (a->kind == S_CONST) {
		struct Sym t = *a;
		*a = *b;
		b = &t;
		if (a->kind == S_DEREF)
			a->off2 += b->off;
		else
			a->off += b->off;
		return true;
	}
	if (b->kind == S_CONST) {
		if (a->kind == S_DEREF)
			a->off2 += b->off;
		else
			a->off += b->off;
		return true;
	}
	// reg + 8 * index: index comes as an address with nothing but an index (see DW_OP_mul)
	if (a->kind == S_ADDR && b->kind == S_ADDR && b->index && b->reg == 0xff && !a->index && a->reg != 0xff) {
		a->index = b->index;
		a->off += b->off;
		return true;
	}
	return false;
}

static bool sym_mul(struct Sym *a, const struct Sym *b)
{
	if (a->kind == S_CONST && b->kind == S_CONST) {
		a->off = (s64)((u64)a->off * (u64)b->off);
		return true;
	}
	if (a->kind != S_ADDR || a->is_cfa || a->index || a->reg == 0xff || b->kind != S_CONST || b->off != 8)
		return false;
	*a = (struct Sym){S_ADDR, 0xff, (u8)(a->reg + 1), false, (s64)((u64)a->off * 8), 0};
	return true;
}

static bool sym_eval(struct Bytes b, const struct Machine *m, bool push_cfa, struct Sym *out)
{
	struct Sym st[SYM_DEPTH];
	u32 n = 0;

	if (push_cfa)
		st[n++] = (struct Sym){.kind = S_ADDR, .reg = 0xfe, .is_cfa = true};
	while (b.p < b.end && !b.bad) {
		u8 op = *b.p++;
		if (n == SYM_DEPTH)
			return false;
		if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
			st[n++] = (struct Sym){.off = op - DW_OP_lit0};
		} else if ((op >= DW_OP_breg0 && op <= DW_OP_breg31) || op == DW_OP_bregx) {
			u64 reg = op == DW_OP_bregx ? bytes_uleb(&b) : (u64)op - DW_OP_breg0;
			s64 off = bytes_sleb(&b);
			if (reg >= m->nregs)
				return false;
			st[n++] = (struct Sym){.kind = S_ADDR, .reg = (u8)reg, .off = off};
		} else if (op == DW_OP_const1u || op == DW_OP_const2u || op == DW_OP_const4u || op == DW_OP_const8u) {
			st[n++] = (struct Sym){.off = (s64)bytes_u(&b, 1u << (op - DW_OP_const1u) / 2)};
		} else if (op == DW_OP_const1s) {
			st[n++] = (struct Sym){.off = (s8)bytes_u(&b, 1)};
		} else if (op == DW_OP_const2s) {
			st[n++] = (struct Sym){.off = (s16)bytes_u(&b, 2)};
		} else if (op == DW_OP_const4s) {
			st[n++] = (struct Sym){.off = (s32)bytes_u(&b, 4)};
		} else if (op == DW_OP_constu) {
			st[n++] = (struct Sym){.off = (s64)bytes_uleb(&b)};
		} else if (op == DW_OP_consts) {
			st[n++] = (struct Sym){.off = bytes_sleb(&b)};
		} else if (op == DW_OP_plus_uconst && n) {
			struct Sym c = {.off = (s64)bytes_uleb(&b)};
			if (!sym_add(&st[n - 1], &c))
				return false;
		} else if (op == DW_OP_plus && n >= 2) {
			if (!sym_add(&st[n - 2], &st[n - 1]))
				return false;
			n--;
		} else if (op == DW_OP_minus && n >= 2 && st[n - 1].kind == S_CONST) {
			st[n - 1].off = (s64)(0 - (u64)st[n - 1].off);
			if (!sym_add(&st[n - 2], &st[n - 1]))
				return false;
			n--;
		} else if (op == DW_OP_mul && n >= 2) {
			if (!sym_mul(&st[n - 2], &st[n - 1]))
				return false;
			n--;
		} else if (op == DW_OP_deref && n && st[n - 1].kind == S_ADDR && st[n - 1].reg != 0xff) {
			st[n - 1].kind = S_DEREF;
		} else if (op != DW_OP_nop) {
			return false;
		}
	}
	if (b.bad || !n)
		return false;
	*out = st[n - 1];
	return true;
}

static bool fits16(s64 v)
{
	return v == (s16)v;
}
static bool fits32(s64 v)
{
	return v == (s32)v;
}

// What every linker for x86-64 writes for .plt: CFA = rsp + off + ((rip & 15) >= n) << 3. Only off and n vary (binutils, lld). For i386 it is << 2.
static bool plt_expr(struct Bytes b, const struct Machine *m, s64 *off, u32 *n)
{
	if (b.end - b.p < 11 || b.p[0] != DW_OP_breg0 + m->sp)
		return false;
	b.p++;
	*off = bytes_sleb(&b);
	const u8 mid[] = {DW_OP_breg0 + m->ra, 0, DW_OP_lit15, DW_OP_and};
	const u8 tail[] = {DW_OP_ge, m == &i386 ? DW_OP_lit2 : DW_OP_lit3, DW_OP_shl, DW_OP_plus};
	if (b.bad || b.end - b.p != 9 || memcmp(b.p, mid, 4) || memcmp(b.p + 5, tail, 4) || b.p[4] < DW_OP_lit0 || b.p[4] > DW_OP_lit31)
		return false;
	*n = (u32)b.p[4] - DW_OP_lit0;
	return true;
}

static void cfa_expr(struct CfiState *st, const struct CfiRun *run, const struct Machine *m, struct Bytes b)
{
	struct Sym s;
	s64 off;
	u32 n;

	st->cfa_bad = true;
	st->r.off = st->r.off2 = 0;
	st->r.index = 0;
	if (!has_link(m) && plt_expr(b, m, &off, &n) && fits32(off)) {
		st->r.kind = RT_UW_PLT;
		st->r.reg = m->sp;
		st->r.off = (s32)off;
		st->r.off2 = (s32)n;
		st->cfa_bad = false;
	} else if (sym_eval(b, m, false, &s) && s.kind != S_CONST && !(s.kind == S_ADDR && s.index) && fits32(s.off) && fits32(s.off2)) {
		st->r.kind = s.kind == S_DEREF ? RT_UW_DEREF : RT_UW_REG;
		st->r.reg = s.reg;
		st->r.index = s.index;
		st->r.off = (s32)s.off;
		st->r.off2 = (s32)s.off2;
		st->cfa_bad = false;
	}
}

// ---- registers
static void slot_clear(struct RtUwRule *r, int s)
{
	r->saved &= (u8)~(1u << s);
	r->fprel &= (u8)~(1u << s);
	r->lost &= (u8)~(1u << s);
	r->slot[s] = 0;
}

enum RegHow { RH_SAME, RH_UNDEF, RH_CFA, RH_FP, RH_OTHER };
static void set_ra(struct CfiState *st, const struct Machine *m, enum RegHow how, s64 off)
{
	st->ra_undef = how == RH_UNDEF;
	st->ra_expr = false;
	st->ra_bad = how == RH_OTHER || (how == RH_SAME && !has_link(m)) || !fits16(off);
	st->r.ra_kind = how == RH_FP ? RT_UW_RA_FP : how == RH_SAME ? RT_UW_RA_REG : RT_UW_RA_MEM;
	st->r.ra = how == RH_SAME ? m->ra : (s16)off;
}

static void set_reg(struct CfiState *st, const struct Machine *m, u64 reg, enum RegHow how, s64 off)
{
	int s = slot_of(m, reg);

	if (reg == m->ra)
		set_ra(st, m, how, off);
	if (reg == m->sp) {
		st->sp_bad = (how != RH_SAME && how != RH_CFA) || !fits16(off);
		st->r.sp_kind = how == RH_CFA ? RT_UW_SP_MEM : RT_UW_SP_CFA;
		st->r.sp = how == RH_CFA ? (s16)off : 0;
	}
	if (s < 0 && reg < m->nregs && reg != m->sp && reg != m->ra && how != RH_SAME)
		st->r.lost |= RT_UW_LOST_SCRATCH;
	if (s < 0)
		return;
	slot_clear(&st->r, s);
	if (how == RH_UNDEF || how == RH_OTHER || ((how == RH_CFA || how == RH_FP) && !fits16(off))) {
		st->r.lost |= (u8)(1u << s);
	} else if (how != RH_SAME) {
		st->r.saved |= (u8)(1u << s);
		st->r.slot[s] = (s16)off;
		if (how == RH_FP)
			st->r.fprel |= (u8)(1u << s);
	}
}

static void restore_reg(struct CfiState *st, const struct CfiState *init, const struct Machine *m, u64 reg)
{
	int s = slot_of(m, reg);

	if (reg == m->ra) {
		st->ra_undef = init->ra_undef;
		st->ra_bad = init->ra_bad;
		st->ra_expr = init->ra_expr;
		st->ra_reg = init->ra_reg;
		st->ra_off = init->ra_off;
		st->r.ra_kind = init->r.ra_kind;
		st->r.ra = init->r.ra;
	}
	if (reg == m->sp) {
		st->sp_bad = init->sp_bad;
		st->r.sp_kind = init->r.sp_kind;
		st->r.sp = init->r.sp;
	}
	if (s < 0)
		return;
	slot_clear(&st->r, s);
	st->r.saved |= init->r.saved & 1u << s;
	st->r.fprel |= init->r.fprel & 1u << s;
	st->r.lost |= init->r.lost & 1u << s;
	st->r.slot[s] = init->r.slot[s];
}

// DW_CFA_expression: the register is saved at the address the expression gives.
static void reg_expr(struct CfiState *st, const struct Machine *m, u64 reg, struct Bytes b)
{
	struct Sym s;
	bool ok = sym_eval(b, m, true, &s) && s.kind == S_ADDR && !s.index;

	if (ok && s.is_cfa)
		set_reg(st, m, reg, RH_CFA, s.off);
	else if (ok && s.reg == m->fp)
		set_reg(st, m, reg, RH_FP, s.off);
	else
		set_reg(st, m, reg, RH_OTHER, 0);
	if (ok && !s.is_cfa && reg == m->ra) {
		st->ra_expr = true;
		st->ra_reg = s.reg;
		st->ra_off = s.off;
	}
}

static struct Bytes block(struct Bytes *b)
{
	u64 n = bytes_uleb(b);
	struct Bytes r = {b->p, b->p, false};
	if (b->bad || n > (u64)(b->end - b->p)) {
		b->bad = true;
		return r;
	}
	r.end = b->p += n;
	return r;
}

// ---- the result
static void rename_i386(struct RtUwRule *r)
{
	r->reg = i386_regs[r->reg & 7];
	if (r->index)
		r->index = i386_regs[(r->index - 1) & 7] + 1;
	if (r->ra_kind == RT_UW_RA_REG)
		r->ra = i386_regs[r->ra & 7];
	if (r->sp_kind == RT_UW_SP_REG)
		r->sp = i386_regs[r->sp & 7];
}

void cfi_rule(const struct CfiState *st, bool signal, u16 machine, struct RtUwRule *out)
{
	memset(out, 0, sizeof(*out));
	if (signal && has_link(machine_of(machine))) { // arch/arm64/kernel/vdso/sigreturn.S, arch/riscv/kernel/vdso/rt_sigreturn.S:
						       // registers lie in struct rt_sigframe at sp
		out->kind = RT_UW_SIG;
		out->reg = machine_of(machine)->sp;
		out->off = 128 + 176 + (machine == EM_AARCH64 ? 8 + 31 * 8 : 0); // siginfo; uc_mcontext; arm64: fault_address; regs
		return;
	}
	if (st->ra_undef) {
		out->kind = RT_UW_END;
		return;
	}
	// glibc and the vDSO describe struct sigcontext register by register: CFA = *(rsp + n), rip at rsp + n + 8; eip at esp + n + 28
	s64 ip_at = machine == EM_386 ? 28 : 8;
	if (signal && st->r.kind == RT_UW_DEREF && !st->cfa_bad && st->ra_expr && st->ra_reg == st->r.reg && st->ra_off == st->r.off + ip_at) {
		out->kind = RT_UW_SIG;
		out->reg = machine == EM_386 ? i386_regs[st->r.reg & 7] : st->r.reg;
		out->off = st->r.off;
		return;
	}
	if (st->cfa_bad || st->ra_bad || st->sp_bad) {
		out->kind = RT_UW_BAD;
		return;
	}
	*out = st->r;
	if (machine == EM_386)
		rename_i386(out);
}

// ---- the interpreter
#define REMEMBER 32

static void def_cfa(struct CfiState *st, const struct Machine *m, u64 reg, s64 off)
{
	st->r.kind = RT_UW_REG;
	st->r.reg = (u8)reg;
	st->r.off = (s32)off;
	st->r.off2 = 0;
	st->r.index = 0;
	st->cfa_bad = reg >= m->nregs || !fits32(off);
}

static void advance(struct CfiRun *run, const struct CfiState *st, u64 pc)
{
	struct RtUwRule r;
	if (pc <= run->pc) // several changes at one place: the last holds
		return;
	cfi_rule(st, run->cie->signal, run->machine, &r);
	if (run->row)
		run->row(run->arg, run->pc, &r);
	run->pc = pc;
}

bool cfi_run(struct CfiRun *run, struct Bytes b, struct CfiState *st)
{
	const struct Machine *m = machine_of(run->machine);
	const struct Cie *cie = run->cie;
	struct CfiState kept[REMEMBER];
	u32 nkept = 0;
	u64 reg, pc;
	bool ok = true;

	while (b.p < b.end && !b.bad && ok && run->pc < run->end) {
		u8 op = *b.p++;
		switch (op & 0xc0) {
		case DW_CFA_advance_loc:
			advance(run, st, run->pc + (op & 0x3f) * cie->code_align);
			continue;
		case DW_CFA_offset:
			set_reg(st, m, op & 0x3f, RH_CFA, (s64)(bytes_uleb(&b) * (u64)cie->data_align));
			continue;
		case DW_CFA_restore:
			restore_reg(st, &cie->init, m, op & 0x3f);
			continue;
		}
		switch (op) {
		case DW_CFA_nop:
			break;
		case DW_CFA_set_loc:
			pc = run->pointer ? run->pointer(run->arg, &b, &ok) : 0;
			if (!run->pointer || pc < run->pc)
				ok = false;
			if (ok)
				advance(run, st, pc);
			break;
		case DW_CFA_advance_loc1:
		case DW_CFA_advance_loc2:
		case DW_CFA_advance_loc4:
			advance(run, st, run->pc + bytes_u(&b, 1u << (op - 2)) * cie->code_align);
			break;
		case DW_CFA_offset_extended:
			reg = bytes_uleb(&b);
			set_reg(st, m, reg, RH_CFA, (s64)(bytes_uleb(&b) * (u64)cie->data_align));
			break;
		case DW_CFA_restore_extended:
			restore_reg(st, &cie->init, m, bytes_uleb(&b));
			break;
		case DW_CFA_undefined:
			set_reg(st, m, bytes_uleb(&b), RH_UNDEF, 0);
			break;
		case DW_CFA_same_value:
			set_reg(st, m, bytes_uleb(&b), RH_SAME, 0);
			break;
		case DW_CFA_register:
			reg = bytes_uleb(&b);
			pc = bytes_uleb(&b);
			set_reg(st, m, reg, RH_OTHER, 0);
			if (reg == m->ra && pc < m->nregs) {
				st->ra_bad = false;
				st->r.ra_kind = RT_UW_RA_REG;
				st->r.ra = (s16)pc;
			}
			if (reg == m->sp && pc < m->nregs) {
				st->sp_bad = false;
				st->r.sp_kind = RT_UW_SP_REG;
				st->r.sp = (s16)pc;
			}
			break;
		case DW_CFA_remember_state:
			if (nkept == REMEMBER)
				return false;
			kept[nkept++] = *st;
			break;
		case DW_CFA_restore_state:
			if (!nkept)
				return false;
			*st = kept[--nkept];
			break;
		case DW_CFA_def_cfa:
			reg = bytes_uleb(&b);
			def_cfa(st, m, reg, (s64)bytes_uleb(&b));
			break;
		case DW_CFA_def_cfa_register:
			def_cfa(st, m, bytes_uleb(&b), st->r.off);
			break;
		case DW_CFA_def_cfa_offset:
			def_cfa(st, m, st->r.reg, (s64)bytes_uleb(&b));
			break;
		case DW_CFA_def_cfa_expression:
			cfa_expr(st, run, m, block(&b));
			break;
		case DW_CFA_expression:
			reg = bytes_uleb(&b);
			reg_expr(st, m, reg, block(&b));
			break;
		case DW_CFA_offset_extended_sf:
			reg = bytes_uleb(&b);
			set_reg(st, m, reg, RH_CFA, (s64)((u64)bytes_sleb(&b) * (u64)cie->data_align));
			break;
		case DW_CFA_def_cfa_sf:
			reg = bytes_uleb(&b);
			def_cfa(st, m, reg, (s64)((u64)bytes_sleb(&b) * (u64)cie->data_align));
			break;
		case DW_CFA_def_cfa_offset_sf:
			def_cfa(st, m, st->r.reg, (s64)((u64)bytes_sleb(&b) * (u64)cie->data_align));
			break;
		case DW_CFA_val_offset: // the register is CFA + n, as the stack pointer is with n = 0
		case DW_CFA_val_offset_sf:
			reg = bytes_uleb(&b);
			pc = op == DW_CFA_val_offset ? bytes_uleb(&b) : (u64)bytes_sleb(&b);
			set_reg(st, m, reg, reg == m->sp && !pc ? RH_SAME : RH_OTHER, 0);
			break;
		case DW_CFA_val_expression:
			reg = bytes_uleb(&b);
			block(&b);
			set_reg(st, m, reg, RH_OTHER, 0);
			break;
		case DW_CFA_MIPS_advance_loc8:
			advance(run, st, run->pc + bytes_u(&b, 8) * cie->code_align);
			break;
		case DW_CFA_AARCH64_negate_ra_state: // the walker strips the code from every return address
			break;
		case DW_CFA_GNU_args_size:
			bytes_uleb(&b);
			break;
		case DW_CFA_GNU_negative_offset_extended:
			reg = bytes_uleb(&b);
			set_reg(st, m, reg, RH_CFA, (s64)(0 - bytes_uleb(&b) * (u64)cie->data_align));
			break;
		default:
			ok = false;
		}
	}
	return ok && !b.bad && (run->row || !run->pc); // a CIE's instructions have no place to go to
}
