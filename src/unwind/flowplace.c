// Places in code that is followed: what is known of each of its bytes, where functions begin. Input: regions of bytes that nobody vouches for. Output: marks, starts.
// Invariant: what lies in no region is no place.
#include "unwind/internal.h"

int flow_ascending(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;
	return x < y ? -1 : x > y;
}

struct FlowRegion *flow_region(struct Flow *f, u64 pc)
{
	struct FlowRegion *r = &f->regions[f->last];
	if (f->nregions && pc - r->c->vaddr < r->c->size)
		return r;
	u32 lo = 0, hi = f->nregions;
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;
		if (f->regions[mid].c->vaddr + f->regions[mid].c->size <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == f->nregions || pc < f->regions[lo].c->vaddr)
		return NULL;
	f->last = lo;
	return &f->regions[lo];
}

u32 *flow_mark(struct Flow *f, u64 pc)
{
	struct FlowRegion *r = flow_region(f, pc);
	return r ? &r->at[pc - r->c->vaddr] : NULL;
}

bool flow_is_start(struct Flow *f, u64 pc)
{
	struct FlowRegion *r = flow_region(f, pc);
	return r && r->is[pc - r->c->vaddr] & FLOW_IS_START;
}

void flow_add_start(struct Flow *f, u64 pc)
{
	struct FlowRegion *r = flow_region(f, pc);
	if (!r || r->is[pc - r->c->vaddr] & FLOW_IS_START)
		return;
	r->is[pc - r->c->vaddr] |= FLOW_IS_START;
	vec_push(&f->queue, pc);
}

// The instruction at pc; false: none.
bool flow_insn_at(struct Flow *f, u64 pc, struct Insn *in)
{
	struct FlowRegion *r = flow_region(f, pc);
	return r && flow_decode(f->m, r->c->p + (pc - r->c->vaddr), r->c->size - (pc - r->c->vaddr), pc, in);
}

bool flow_begins_in(struct Flow *f, const struct FlowState *st, u64 pc)
{
	struct FlowRegion *r = flow_region(f, pc);
	return r && f->m->begins(st, r->c->p + (pc - r->c->vaddr), r->c->size - (pc - r->c->vaddr), pc);
}

bool flow_begins(struct Flow *f, u64 pc)
{
	return flow_is_start(f, pc) || flow_begins_in(f, NULL, pc);
}

bool flow_is_beginning(struct Flow *f, u64 pc)
{
	struct Insn first;
	return flow_insn_at(f, pc, &first) && f->m->makes_frame(&first);
}
