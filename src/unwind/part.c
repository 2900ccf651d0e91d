// Which entries of .eh_frame tell the rows of some pages of a file. In: the pages, where neighbouring entries begin. Out: whether one of them matters there.
// Invariant: rather one too many: what lies in a page, or ends just before it, is never left out.
#include "unwind/internal.h"

static bool touches(const struct Part *p, const struct CfiSeg *s, u64 from, u64 to)
{
	u64 a = MAX(from, s->vaddr), b = MIN(to, s->vaddr + s->size);
	if (a >= b)
		return false;
	u64 first = (a - s->vaddr + s->off) >> RT_UW_PAGE_BITS, last = (b - 1 - s->vaddr + s->off) >> RT_UW_PAGE_BITS;
	u32 lo = 0, hi = p->n;
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;
		if (p->pages[mid] < first)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->n && p->pages[lo] <= last;
}

bool part_near(const struct Part *p, u64 before, u64 after)
{
	u64 to = after > ~0ull - UW_PADDING ? ~0ull : after + UW_PADDING; // code that ends just before a page fills up to it with its last rule
	for (size_t i = 0; i < p->elf->segs.n; i++)
		if (touches(p, &p->elf->segs.p[i], before, to))
			return true;
	return false;
}
