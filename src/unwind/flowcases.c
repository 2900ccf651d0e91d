// The cases of switches that jump by a table (flowswitch.c), and with them a whole function. Input: the file's tables of distances, the state of each jump. Output: each case is
// followed in that state. Nothing tells how many cases there are: a table ends before the next address that the code takes, or where a number leads to no instruction, or to one of
// another frame. What cannot be followed there is left to the sweep (flow.c). x86-64. Invariant: each number that is looked at is a step of the pass.
#include "unwind/internal.h"
#include <stdlib.h>
#include <string.h>

#define MAX_CASES 2048
#define PIECE 128	// numbers that are read at once
#define MAX_AWAY (1 << 20) // bytes from the jump to a case
#define MAX_STRANGE 8	// cases in a row that are not understood, as those that only abort

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
		qsort(f->addresses.p, f->addresses.n, sizeof(*f->addresses.p), flow_ascending);
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

// Of all switches that were met. True: a case of one in the function at start returns as it should.
static bool follow_cases(struct Flow *f, u64 start)
{
	bool proved = false;
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
		proved |= proves && s.start == start;
		if (proves && f->only_found == s.start && (s.start % 16 == 0 || flow_is_beginning(f, s.start)))
			vec_push(&f->taken, s.start); // what only looked like a function is one
	}
	f->of = (struct FlowSwitch){.base = NO_REG};
	return proved;
}

// What only looks like a function, and all of whose ends are those of a switch (assembly of dav1d): it is one if a case proves it.
static bool walk_switch(struct Flow *f, u64 start, const struct FlowState *st)
{
	VEC(u64) seen = {0};
	bool proved = flow_walk_one(f, start, st, false);
	if (!proved)
		return false;
	for (size_t i = 0; i < f->seen.n; i++)
		vec_push(&seen, f->seen.p[i]);
	if (f->calls.n) { // which may be no calls
		f->switches.n = f->known_switches;
		proved = false;
	} else {
		proved = follow_cases(f, start);
	}
	if (!proved) {
		f->seen.n = 0;
		for (size_t i = 0; i < seen.n; i++)
			vec_push(&f->seen, seen.p[i]);
		flow_forget(f);
	}
	vec_deinit(&seen);
	f->good = 0;
	return proved;
}

bool flow_walk(struct Flow *f, u64 start, const struct FlowState *st, bool sure)
{
	bool understood = flow_walk_one(f, start, st, sure);
	if (!understood && sure && f->only_found == start && f->switched && start % 16 == 0)
		return walk_switch(f, start, st);
	u32 good = f->good;
	follow_cases(f, start);
	f->good = good; // of what was asked for
	return understood;
}
