// Table of entries by two numbers: open addressing, a power of 2 of places, at most half of them in use.
#include "base/base.h"

static u64 *place(const struct NumTab *t, u64 a, u64 b)
{
	u32 at = (u32)((a ^ b << 20) * 0x9e3779b97f4a7c15u >> 32);
	for (;; at++) {
		u64 *entry = (u64 *)(void *)(t->v + (size_t)(at & (t->cap - 1)) * t->size);
		if ((!entry[0] && !entry[1]) || (entry[0] == a && entry[1] == b))
			return entry;
	}
}

void *numtab_get(const struct NumTab *t, u64 a, u64 b)
{
	u64 *entry = t->cap ? place(t, a, b) : NULL;
	return entry && (entry[0] || entry[1]) ? entry : NULL;
}

static void grow(struct NumTab *t)
{
	struct NumTab old = *t;
	t->cap = old.cap ? old.cap * 2 : 256;
	t->v = xcalloc(t->cap, t->size);
	for (u32 i = 0; i < old.cap; i++) {
		const u64 *entry = numtab_at(&old, i);
		if (entry)
			memcpy(place(t, entry[0], entry[1]), entry, t->size);
	}
	free(old.v);
}

void *numtab_put(struct NumTab *t, u64 a, u64 b)
{
	assert(a || b);
	if (t->n * 2 >= t->cap)
		grow(t);
	u64 *entry = place(t, a, b);
	t->n += !entry[0] && !entry[1];
	entry[0] = a;
	entry[1] = b;
	return entry;
}

void *numtab_at(const struct NumTab *t, u32 i)
{
	u64 *entry = (u64 *)(void *)(t->v + (size_t)i * t->size);
	return entry[0] || entry[1] ? entry : NULL;
}

void numtab_deinit(struct NumTab *t)
{
	free(t->v);
	*t = (struct NumTab){.size = t->size};
}
