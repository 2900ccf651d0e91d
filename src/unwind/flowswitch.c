// Switches that jump by a table, as compilers write them for code that may lie anywhere: lea table(%rip),%b; movslq (%b,%i,4),%x; add %b,%x; jmp *%x. Each of the table's
// numbers is a case's distance from the table. Input: the walk that has met such a jump (flowwalk.c), the file. Output: each case is followed in the state of the jump.
// Nothing tells how many cases there are: a table ends before the next address that the code takes, or where a number leads to no instruction, or to one of another frame.
// What cannot be followed there is left to the sweep (flow.c). x86-64. Invariant: each instruction and each number that is looked at is a step of the pass.
#include "unwind/internal.h"
#include <stdlib.h>
#include <string.h>

#define BACK 8		// instructions from the jump to where its number is read
#define BACK_TABLE 256	// ... and to where the table's address is loaded: before a loop, perhaps
#define MAX_CASES 2048
#define PIECE 128	// numbers that are read at once
#define MAX_AWAY (1 << 20) // bytes from the jump to a case
#define MAX_STRANGE 8	// cases in a row that are not understood, as those that only abort

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

static int by_address(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;
	return x < y ? -1 : x > y;
}

// Addresses that the code takes (lea n(%rip),%r), whatever its bytes are: where objects begin. Of what lies at multiples of 4, as tables do.
void flow_takes(struct Flow *f, const struct FlowCode *c)
{
	for (u64 off = 0; f->m == &flow_x86 && off + 7 <= c->size; off++) {
		s32 by;
		if (c->p[off + 1] != 0x8d || (c->p[off] & 0xfb) != 0x48 || (c->p[off + 2] & 0xc7) != 5)
			continue;
		memcpy(&by, c->p + off + 3, sizeof(by));
		u64 to = c->vaddr + off + 7 + (u64)(s64)by;
		if (to % 4 == 0 && (!f->addresses.n || vec_last(&f->addresses) != to))
			vec_push(&f->addresses, to);
	}
	f->sorted = false;
}

static void sort_addresses(struct Flow *f)
{
	for (u32 i = 0; !f->parts && !f->addresses.n && i < f->nregions; i++)
		flow_takes(f, f->regions[i].c);
	if (!f->sorted && f->addresses.n)
		qsort(f->addresses.p, f->addresses.n, sizeof(*f->addresses.p), by_address);
	f->sorted = true;
}

// The first of them behind at; ~0: none.
static u64 next_taken(struct Flow *f, u64 at)
{
	size_t lo = 0, hi = f->addresses.n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (f->addresses.p[mid] <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < f->addresses.n ? f->addresses.p[lo] : ~0ull;
}

// Is the case at pc the switch's? *strange: such as are not understood, in a row. *proves: one returns as it should.
static bool walk_case(struct Flow *f, const struct FlowSwitch *s, u64 pc, u32 *strange, bool *proves)
{
	bool known, understood;
	if (!f->steps)
		return false;
	f->steps--;
	u32 *at = pc - s->at + MAX_AWAY < 2 * MAX_AWAY ? flow_mark(f, pc) : NULL;
	if (!at || *at == FLOW_INSIDE || flow_begins(f, pc) || (*at && !flow_same_frame(&f->states.p[FLOW_STATE(*at)], &s->st)))
		return false;
	known = *at;
	understood = known || flow_walk_one(f, pc, &s->st, true);
	*proves |= !known && understood && f->good;
	*strange = understood ? 0 : *strange + 1;
	return *strange < MAX_STRANGE;
}

void flow_cases(struct Flow *f)
{
	if (f->switches.n && !f->sorted)
		sort_addresses(f);
	while (f->switches.n) {
		const struct FlowSwitch s = f->of = f->switches.p[--f->switches.n];
		s32 to[PIECE];
		u64 off, left = MIN((next_taken(f, s.table) - s.table) / sizeof(*to), (u64)MAX_CASES);
		u32 strange = 0;
		bool proves = false, more = elffile_vaddr_to_off(f->file, s.table, &off);
		while (more && left) {
			u32 n = (u32)MIN(left, (u64)PIECE);
			more = elffile_read(f->file, off, to, n * sizeof(*to));
			for (u32 i = 0; more && i < n; i++)
				more = walk_case(f, &s, s.table + (u64)(s64)to[i], &strange, &proves);
			off += n * sizeof(*to);
			left -= n;
		}
		if (proves && f->only_found == s.start && (s.start % 16 == 0 || flow_is_beginning(f, s.start)))
			vec_push(&f->taken, s.start); // what only looked like a function is one
	}
	f->of = (struct FlowSwitch){.base = NO_REG};
}
