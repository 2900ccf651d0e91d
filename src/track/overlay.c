// Lists of mappings: one more put in, and code made at run time laid over what lies in no file. Input and output: mappings by start, apart from one another.
// Invariant: what is unmapped is no longer there: a piece of code lies in a mapping, or it is cut to what does.
#include "track/internal.h"

// Puts a mapping in; what it covers of others is unmapped, they may be cut in two. A process may have 65,530, or more: only those behind it are moved.
void maps_put(MapList *v, struct ProcMap new)
{
	size_t lo = 0, hi = v->n, end, n = 0;
	struct ProcMap put[3], tail;

	while (lo < hi) { // the first that ends behind new's start
		size_t mid = (lo + hi) / 2;
		if (v->p[mid].end <= new.start)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (end = lo; end < v->n && v->p[end].start < new.end; end++)
		;
	if (end > lo && v->p[lo].start < new.start) {
		put[n] = v->p[lo];
		put[n++].end = new.start;
	}
	put[n++] = new;
	if (end > lo && v->p[end - 1].end > new.end) {
		tail = v->p[end - 1];
		tail.file_off += tail.obj ? new.end - tail.start : 0;
		tail.start = new.end;
		put[n++] = tail;
	}
	size_t behind = v->n - end;
	for (size_t i = end - lo; i < n; i++)
		vec_push(v, new);
	memmove(v->p + lo + n, v->p + end, behind * sizeof(new));
	memcpy(v->p + lo, put, n * sizeof(new));
	v->n = lo + n + behind;
}

// A part of a mapping of no file, which may begin and end anywhere in a page.
static void put_rest(MapList *out, struct ProcMap m, u64 start, u64 end)
{
	m.start = start;
	m.end = end;
	m.made = PROC_MADE_NAMES;
	if (start < end)
		vec_push(out, m);
}

static bool lies_in_file(const MapList *maps, const struct ProcMap *p)
{
	for (size_t i = 0; i < maps->n; i++)
		if (maps->p[i].obj && maps->p[i].start < p->end && p->start < maps->p[i].end)
			return true;
	return false;
}

// Those of PROC_MADE_STAYS may not be among the mappings that may be run now.
static bool put_staying(const MapList *maps, const MapList *made, MapList *all)
{
	bool any = false;
	for (size_t k = 0; k < made->n; k++) {
		const struct ProcMap *p = &made->p[k];
		if (p->made != PROC_MADE_STAYS || lies_in_file(maps, p))
			continue;
		for (size_t i = 0; !any && i < maps->n; i++)
			vec_push(all, maps->p[i]);
		any = true;
		maps_put(all, (struct ProcMap){.start = p->start, .end = p->end});
	}
	return any;
}

void maps_overlay(const MapList *maps, const MapList *made, MapList *out)
{
	MapList all = {0};
	size_t k = 0;

	if (put_staying(maps, made, &all))
		maps = &all;
	for (size_t i = 0; i < maps->n; i++) {
		const struct ProcMap *m = &maps->p[i];
		while (k < made->n && made->p[k].end <= m->start)
			k++;
		if (m->obj || k == made->n || made->p[k].start >= m->end) {
			vec_push(out, *m);
			continue;
		}
		u64 at = m->start;
		for (size_t j = k; j < made->n && made->p[j].start < m->end; j++) {
			struct ProcMap piece = made->p[j];
			if (piece.start < at) {
				piece.file_off += piece.obj ? at - piece.start : 0;
				piece.start = at;
			}
			piece.end = MIN(piece.end, m->end);
			piece.made = piece.made == PROC_MADE_STAYS ? PROC_MADE : piece.made;
			put_rest(out, *m, at, piece.start);
			if (piece.start < piece.end)
				vec_push(out, piece);
			at = MAX(at, piece.end);
		}
		put_rest(out, *m, at, m->end);
	}
	vec_deinit(&all);
}
