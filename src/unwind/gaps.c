// Code between the functions that have entries in .eh_frame -> rows, by what its instructions do.
// In: where such code may lie (uwtable.c), a file. Out: rows ascending by address (flow.c, of a native image flowimage.c). Invariant: bounded,
// how much code is read, and how often a gap that only fills a line up.
#include "unwind/internal.h"

#define MAX_FLOW (4ull << 20) // bytes of code that are followed
#define MAX_LOOKS 4096	      // gaps that look like padding, but are read: each may cost a page of a cold file

// Does the gap only fill a line up? Most do, and reading them all would read most of the file.
static bool fills_up(struct Gaps *g, u64 from, u64 to)
{
	return to - from < UW_PADDING && to % UW_PADDING == 0 && ++g->looks > MAX_LOOKS;
}

// n bytes at from, of the piece of the file that was read for all gaps in it; NULL: they are many, or not there.
static const u8 *look(struct Gaps *g, const struct ElfCfi *e, const struct CfiSeg *seg, u64 from, u64 n)
{
	if (n > UW_PIECE || from < seg->vaddr || from - seg->vaddr > seg->size || n > seg->size - (from - seg->vaddr))
		return NULL;
	if (g->seg != seg || from < g->at || from + n > g->at + g->n) {
		u64 at = MAX(from & ~(UW_PIECE - 1), seg->vaddr), end = MIN((from + n + UW_PIECE - 1) & ~(UW_PIECE - 1), seg->vaddr + seg->size);
		g->seg = NULL;
		if (!elfcfi_code(e, seg, at, g->piece, end - at))
			return NULL;
		g->seg = seg, g->at = at, g->n = end - at;
	}
	return g->piece + (from - g->at);
}

void gaps_add(struct Gaps *g, const struct ElfCfi *e, const struct CfiSeg *seg, u64 from, u64 to)
{
	u64 max = e->is_native_image ? FLOW_IMAGE_MAX : MAX_FLOW;
	if (to <= from || to - from > max || g->size + (to - from) > max || fills_up(g, from, to))
		return;
	if (e->is_native_image) {
		vec_push(&g->image, ((struct GapRange){seg, from, to}));
		g->size += to - from;
		return;
	}
	const u8 *near = look(g, e, seg, from, to - from);
	if (near && flow_only_padding(near, to - from))
		return;
	u8 *p = xmalloc(to - from);
	if (near)
		memcpy(p, near, to - from);
	else if (!elfcfi_code(e, seg, from, p, to - from) || flow_only_padding(p, to - from)) {
		free(p);
		return;
	}
	struct FlowCode c = {from, to - from, p};
	vec_push(&g->code, c);
	g->size += to - from;
}

static int by_vaddr(const void *a, const void *b)
{
	const struct FlowCode *x = a, *y = b;
	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static int by_from(const void *a, const void *b)
{
	const struct GapRange *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

static bool image_gaps(struct Gaps *g, const struct ElfCfi *e, const struct UwHurry *hurry, FlowRows *out)
{
	AddrList starts = {0};
	bool done = true;
	u64 end = 0; // segments of a malformed file may overlap
	if (g->image.n)
		qsort(g->image.p, g->image.n, sizeof(*g->image.p), by_from);
	elfcfi_starts(e, &starts);
	struct FlowIn in = {.starts = starts.p, .nstarts = (u32)starts.n, .entry = e->entry, .hurry = hurry, .image = true};
	for (size_t i = 0; done && i < g->image.n; i++) {
		const struct GapRange *r = &g->image.p[i];
		if (r->from >= end)
			done = flow_image(e, r->seg, r->from, r->to, &in, out);
		end = MAX(end, r->to);
	}
	vec_deinit(&starts);
	vec_deinit(&g->image);
	return done;
}

bool gaps_rows(struct Gaps *g, const struct ElfCfi *e, const struct UwHurry *hurry, FlowRows *out)
{
	AddrList starts = {0};
	bool done = true;
	if (e->is_native_image)
		return image_gaps(g, e, hurry, out);
	if (g->code.n) {
		qsort(g->code.p, g->code.n, sizeof(*g->code.p), by_vaddr);
		size_t apart = 1; // segments of a malformed file may overlap
		for (size_t i = 1; i < g->code.n; i++)
			if (g->code.p[i].vaddr >= g->code.p[apart - 1].vaddr + g->code.p[apart - 1].size)
				g->code.p[apart++] = g->code.p[i];
			else
				free((void *)g->code.p[i].p);
		g->code.n = apart;
		bool v8 = elfcfi_starts(e, &starts);
		done = flow_rows(&(struct FlowIn){g->code.p, (u32)g->code.n, starts.p, (u32)starts.n, e->entry, hurry, v8}, out);
	}
	for (size_t i = 0; i < g->code.n; i++)
		free((void *)g->code.p[i].p);
	vec_deinit(&g->code);
	vec_deinit(&starts);
	return done;
}
