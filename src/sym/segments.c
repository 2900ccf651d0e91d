// Intervals -> segments. Input: intervals sorted by lo, nested or overlapping as symbols, perf maps and inlined functions come.
// Output: disjoint segments in ascending order, each with the id that wins there. Invariant: start[] strictly ascends and the
// last segment is a gap, so a look-up is one binary search and never runs past the end.
#include "sym/internal.h"

// Max-heap of indices into the interval array: highest prio first, then the later index.
struct Heap {
	const struct Interval *v;
	u32 *p;
	u32 n;
};

static bool above(const struct Heap *h, u32 a, u32 b)
{
	return h->v[a].prio != h->v[b].prio ? h->v[a].prio > h->v[b].prio : a > b;
}

static void heap_push(struct Heap *h, u32 x)
{
	u32 i = h->n++;
	for (; i && above(h, x, h->p[(i - 1) / 2]); i = (i - 1) / 2)
		h->p[i] = h->p[(i - 1) / 2];
	h->p[i] = x;
}

static void heap_pop(struct Heap *h)
{
	u32 x = h->p[--h->n], i = 0;
	for (;;) {
		u32 c = 2 * i + 1;
		if (c >= h->n)
			break;
		if (c + 1 < h->n && above(h, h->p[c + 1], h->p[c]))
			c++;
		if (!above(h, h->p[c], x))
			break;
		h->p[i] = h->p[c];
		i = c;
	}
	h->p[i] = x;
}

static void emit(struct Segments *s, u64 start, u32 id)
{
	if (s->n && s->start[s->n - 1] == start)
		s->n--;
	if (s->n ? s->id[s->n - 1] == id : id == SEG_NONE)
		return;
	s->start[s->n] = start;
	s->id[s->n++] = id;
}

void segments_build(struct Segments *out, const struct Interval *v, u32 n)
{
	// Each interval begins at most one segment and ends at most one.
	*out = (struct Segments){xmalloc((2 * (size_t)n + 1) * sizeof(u64)), xmalloc((2 * (size_t)n + 1) * sizeof(u32)), 0};
	struct Heap h = {v, xmalloc((n + 1) * sizeof(u32)), 0};
	u64 pos = 0;
	for (u32 i = 0; i < n || h.n;) {
		if (!h.n)
			pos = v[i].lo;
		for (; i < n && v[i].lo <= pos; i++)
			if (v[i].hi > pos)
				heap_push(&h, i);
		while (h.n && v[h.p[0]].hi <= pos)
			heap_pop(&h);
		emit(out, pos, h.n ? v[h.p[0]].id : SEG_NONE);
		if (!h.n)
			continue;
		u64 end = v[h.p[0]].hi;
		pos = i < n && v[i].lo < end ? v[i].lo : end;
	}
	free(h.p);
	out->start = xrealloc(out->start, (out->n + 1) * sizeof(u64));
	out->id = xrealloc(out->id, (out->n + 1) * sizeof(u32));
}

u32 segments_index(const struct Segments *s, u64 addr)
{
	if (!s->n || addr < s->start[0])
		return SEG_NONE;
	const u64 *base = s->start;
	for (u32 n = s->n; n > 1;) { // branch-free: the compiler makes a conditional move of it
		u32 half = n / 2;
		base += base[half] <= addr ? half : 0;
		n -= half;
	}
	return base - s->start;
}

u32 segments_find(const struct Segments *s, u64 addr)
{
	u32 i = segments_index(s, addr);
	return i == SEG_NONE ? SEG_NONE : s->id[i];
}

void segments_deinit(struct Segments *s)
{
	free(s->start);
	free(s->id);
	*s = (struct Segments){0};
}

// Least significant digit first, 11 bits a pass; passes where all digits are equal are skipped: 3 passes for 8 GB of addresses.
void radix_sort(void *v, u32 n)
{
	struct Rec16 *from = v, *tmp = xmalloc((n + 1) * sizeof(*tmp)), *to = tmp;
	u32 *count = xmalloc(2048 * sizeof(*count));
	for (u32 shift = 0; shift < RADIX_BITS; shift += 11) {
		const u64 mask = MIN(2047ull, (1ull << (RADIX_BITS - shift)) - 1);
		memset(count, 0, 2048 * sizeof(*count));
		for (u32 i = 0; i < n; i++)
			count[from[i].key >> shift & mask]++;
		if (n && count[from[0].key >> shift & mask] == n)
			continue;
		for (u32 d = 0, sum = 0; d < 2048; d++) {
			u32 c = count[d];
			count[d] = sum;
			sum += c;
		}
		for (u32 i = 0; i < n; i++)
			to[count[from[i].key >> shift & mask]++] = from[i];
		struct Rec16 *swap = from;
		from = to;
		to = swap;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*from));
	free(tmp);
	free(count);
}
