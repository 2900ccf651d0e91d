// Ids that a writer has given to frames: of a profile's frames most have been written before, and their texts need not be put together to see that.
// In: frames, by the places of their texts (equal texts in two places are two frames here, and one for the writer's own tables). Out: where their id is kept.
// Invariant: frames live as long as the table; two that differ in anything that is written are two.
#include "out/internal.h"

static bool same(const struct Frame *a, const struct Frame *b)
{
	return a->addr == b->addr && a->sym == b->sym && a->raw == b->raw && a->image == b->image && a->module == b->module && a->module_off == b->module_off &&
	       a->module_addr == b->module_addr && a->file == b->file && a->line == b->line && a->mark == b->mark && a->lang == b->lang && a->ret == b->ret &&
	       a->inlined == b->inlined && a->kernel == b->kernel;
}

static bool all_same(const struct FrameId *id, const struct Frame *f, u32 n)
{
	bool yes = id->n == n;
	for (u32 i = 0; yes && i < n; i++)
		yes = same(&id->f[i], &f[i]);
	return yes;
}

static u64 hash(const struct Frame *f, u32 n)
{
	u64 h = n;
	for (u32 i = 0; i < n; i++) {
		h = (h ^ (uintptr_t)f[i].sym ^ f[i].addr) * 0x9e3779b97f4a7c15ull;
		h = (h ^ h >> 29 ^ (uintptr_t)f[i].module ^ f[i].module_off << 8 ^ f[i].line) * 0x9e3779b97f4a7c15ull;
	}
	return h ^ h >> 32;
}

static u32 *slot_of(const struct FrameIds *t, u64 h, const struct Frame *f, u32 n)
{
	for (;; h++) {
		u32 *slot = &t->slots[h & (t->nslots - 1)];
		if (!*slot || all_same(&t->v.p[*slot - 1], f, n))
			return slot;
	}
}

static void grow(struct FrameIds *t)
{
	t->nslots = t->nslots ? 2 * t->nslots : 256;
	free(t->slots);
	t->slots = xcalloc(t->nslots, sizeof(*t->slots));
	for (size_t i = 0; i < t->v.n; i++)
		*slot_of(t, hash(t->v.p[i].f, t->v.p[i].n), t->v.p[i].f, t->v.p[i].n) = (u32)i + 1;
}

u64 *frameids_at(struct FrameIds *t, const struct Frame *f, u32 n)
{
	if (2 * t->v.n >= t->nslots)
		grow(t);
	u32 *slot = slot_of(t, hash(f, n), f, n);
	if (!*slot) {
		vec_push(&t->v, ((struct FrameId){.f = f, .n = n}));
		*slot = (u32)t->v.n;
	}
	return &t->v.p[*slot - 1].id;
}

void frameids_deinit(struct FrameIds *t)
{
	free(t->slots);
	vec_deinit(&t->v);
}
