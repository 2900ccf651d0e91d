// Pieces of code made at run time, each with its name and its rows, in any order -> objects of many of them (jitobj.c) and mappings that lead there. Input: what wasmcode.c knows of V8's, clrcode.c of .NET's.
// Invariant: of pieces that lie over one another the lower one counts; between pieces there are no rows.
#include "track/internal.h"

#define PAGE 4096u
#define BATCH_SPAN (64ull << 20) // of an object

static int by_start(const void *a, const void *b)
{
	const struct MadeSym *const *x = a, *const *y = b;
	return (*x)->addr < (*y)->addr ? -1 : (*x)->addr > (*y)->addr;
}

// An object of pieces in order, from `first` to before `end`.
static void flush(struct Jits *j, struct Jit *t, struct Pieces *v, struct MadeSym *const *order, size_t first, size_t end, enum ProcMade how)
{
	u64 base = order[first]->addr & ~(u64)(PAGE - 1), last = 0;
	struct UwMade *all = xcalloc(1, sizeof(*all));
	VEC(struct MadeSym) syms = {0};
	for (size_t i = first; i < end; i++) {
		const struct UwMade *one = v->made.p[order[i] - v->syms.p];
		u64 off = order[i]->addr - base;
		if (off < last) // it lies over another: of two looks
			continue;
		if (off > last && all->rows.n)
			vec_push(&all->rows, ((struct MadeRow){last, {0}}));
		for (size_t k = 0; k < one->rows.n; k++)
			vec_push(&all->rows, ((struct MadeRow){off + one->rows.p[k].off, one->rows.p[k].rule}));
		vec_push(&syms, ((struct MadeSym){off, order[i]->size, order[i]->name}));
		last = off + order[i]->size;
	}
	vec_push(&all->rows, ((struct MadeRow){last, {0}}));
	struct SymObject *o = jit_object(j, base, last, &(struct MadeNames){syms.p, (u32)syms.n}, all);
	for (size_t i = 0; o && i < syms.n; i++)
		jit_put(t, base + syms.p[i].addr, syms.p[i].size, syms.p[i].addr, o, how);
	vec_deinit(&syms);
}

void pieces_give(struct Jits *j, struct Jit *t, struct Pieces *v, enum ProcMade how)
{
	VEC(struct MadeSym *) order = {0};
	for (size_t i = 0; i < v->syms.n; i++)
		vec_push(&order, &v->syms.p[i]);
	if (order.n)
		qsort(order.p, order.n, sizeof(*order.p), by_start);
	for (size_t i = 0, first = 0; i < order.n; i++)
		if (i + 1 == order.n || order.p[i + 1]->addr + order.p[i + 1]->size - order.p[first]->addr > BATCH_SPAN) {
			flush(j, t, v, order.p, first, i + 1, how);
			first = i + 1;
		}
	vec_deinit(&order);
	for (size_t i = 0; i < v->syms.n; i++) {
		free((char *)v->syms.p[i].name);
		uwmade_free(v->made.p[i]);
	}
	vec_deinit(&v->syms);
	vec_deinit(&v->made);
	*v = (struct Pieces){0};
}
