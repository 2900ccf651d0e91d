// Keys whose user stacks were completed after the event (lower/lower_cold.c). In: a map's entries as they were read. Out: the same with the ids of the stacks in the
// place of the numbers that stood for them. Invariant: a key appears once where values can be added up.
#include "run/run.h"
#include "bpf/bpf.h"
#include "bpfrt/abi.h"
#include "bpfrt/stack.h"

static bool settle(const struct MapDef *cold, const struct Type *t, u8 *p)
{
	struct RtCold c;
	bool any = false;
	u64 id;
	for (u32 i = 0; t->kind == TY_TUPLE && i < t->n; i++)
		any |= settle(cold, t->fields[i].type, p + t->fields[i].off);
	if (t->kind != TY_USTACK)
		return any;
	memcpy(&id, p, sizeof(id));
	if (!RT_STACK_IS_COLD(id) || sys_map_lookup(cold->fd, &id, &c))
		return false;
	memcpy(p, &c.id, sizeof(c.id));
	return true;
}

static int cmp_entries(const void *a, const void *b, void *dump)
{
	const struct MapDump *d = dump;
	u32 x = *(const u32 *)a, y = *(const u32 *)b;
	int c = memcmp(d->keys + (size_t)x * d->key_size, d->keys + (size_t)y * d->key_size, d->key_size);
	return c ? c : x < y ? -1 : x > y;
}

// One entry a key: later ones are added to the first.
static void merge_same(const struct MapDef *m, struct MapDump *d)
{
	u32 *at = xmalloc(d->n * sizeof(*at)), first = 0, n = 0;
	bool *gone = xcalloc(d->n, 1);
	for (u32 i = 0; i < d->n; i++)
		at[i] = i;
	qsort_r(at, d->n, sizeof(*at), cmp_entries, d);
	for (u32 i = 1; i < d->n; i++) {
		if (memcmp(d->keys + (size_t)at[first] * d->key_size, d->keys + (size_t)at[i] * d->key_size, d->key_size)) {
			first = i;
			continue;
		}
		map_merge_one(m->val, d->val_size, d->vals + (size_t)at[first] * d->val_size, d->vals + (size_t)at[i] * d->val_size);
		gone[at[i]] = true;
	}
	for (u32 i = 0; i < d->n; i++) {
		if (gone[i])
			continue;
		if (i > n) {
			memcpy(d->keys + (size_t)n * d->key_size, d->keys + (size_t)i * d->key_size, d->key_size);
			memcpy(d->vals + (size_t)n * d->val_size, d->vals + (size_t)i * d->val_size, d->val_size);
		}
		n++;
	}
	d->n = n;
	free(at);
	free(gone);
}

void cold_keys_settle(const struct MapDef *m, struct MapDump *d)
{
	bool any = false;
	for (u32 i = 0; m->cold && i < d->n; i++)
		any |= settle(m->cold, m->key, d->keys + (size_t)i * d->key_size);
	if (any && m->val && map_type_is_percpu(m->bpf_type))
		merge_same(m, d);
}
