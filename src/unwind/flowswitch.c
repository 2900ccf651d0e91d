// Switches that jump by a table, as compilers write them for code that may lie anywhere: lea table(%rip),%b; movslq (%b,%i,4),%x; add %b,%x; jmp *%x. Input: the walk that has
// met such a jump (flowwalk.c). Output: the table, whose cases are followed later (flowcases.c). x86-64. Invariant: each instruction that is looked at is a step of the pass.
#include "unwind/internal.h"

#define BACK 8		// instructions from the jump to where its number is read
#define BACK_TABLE 256	// ... and to where the table's address is loaded: before a loop, perhaps

// movslq (%base,%i,4),%x, at p: its base; NO_REG: it is none.
static u32 number_base(const u8 *p, const struct Insn *in)
{
	const u8 *at = p;
	u32 rex = 0;

	if (in->op != 0x63 || !in->wide || (in->rm & 7) != RSP || in->mod > 1 || in->disp)
		return NO_REG;
	while (*at != 0x63)
		rex = *at++;
	u32 sib = at[2], base = (sib & 7) | (rex & 1) << 3;
	return sib >> 6 == 2 && (in->mod || (base & 7) != RBP) ? base : NO_REG;
}

static const u8 *insn_before(struct Flow *f, size_t back, struct Insn *in)
{
	if (back >= f->seen.n || !f->steps)
		return NULL;
	f->steps--;
	u64 pc = f->seen.p[f->seen.n - 1 - back];
	struct FlowRegion *r = flow_region(f, pc);
	u64 off = pc - r->c->vaddr;
	return flow_decode(f->m, r->c->p + off, r->c->size - off, pc, in) ? r->c->p + off : NULL;
}

// The table of the jump that the walk has seen last, and the register that has its address; false: it is no such jump. The cases of a loop's switch jump on themselves, by
// the register that was loaded before the loop.
static bool table_of(struct Flow *f, const struct Insn *jump, struct FlowSwitch *s)
{
	u32 x = jump->mod == 3 ? jump->rm : NO_REG, base = NO_REG;
	bool added = false, read = false;
	struct Insn in;
	const u8 *p;

	for (size_t i = 1; x != NO_REG && i < (read ? BACK_TABLE : BACK) && (p = insn_before(f, i, &in)); i++) {
		if (read && in.op == 0x8d && in.reg == base && in.target) {
			s->table = in.target;
			s->base = base;
			return true;
		}
		if (!added && in.mod == 3 && in.wide && ((in.op == 0x01 && in.rm == x) || (in.op == 0x03 && in.reg == x))) {
			base = in.op == 0x01 ? in.reg : in.rm;
			added = true;
		} else if (added && !read && (number_base(p, &in) == base || number_base(p, &in) == x) && (in.reg == x || in.reg == base)) {
			// either register of the sum is the number's
			base = number_base(p, &in);
			read = true;
		}
	}
	if (!read || base != f->of.base)
		return false;
	s->table = f->of.table;
	s->base = base;
	return true;
}

void flow_switch(struct Flow *f, u64 start, const struct Insn *in, const struct FlowState *st)
{
	struct FlowSwitch s = {.start = f->of.base != NO_REG ? f->of.start : start, .at = f->seen.p[f->seen.n - 1], .st = *st};
	if (!f->file || f->m != &flow_x86 || !table_of(f, in, &s) || s.table % 4)
		return;
	f->switched = true;
	if (s.table != f->of.table || !flow_same_frame(st, &f->of.st))
		vec_push(&f->switches, s);
}
