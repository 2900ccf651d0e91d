// Name map: FNV-1a over the key, open addressing over an insertion-ordered slot array.
#include "base/base.h"

static u32 hash_name(const char *s)
{
	u32 h = 2166136261u;
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h;
}

static u32 *find(const struct Map *m, const char *key)
{
	for (u32 i = hash_name(key);; i++) {
		u32 *slot = &m->index[i & (m->nindex - 1)];
		if (!*slot || !strcmp(m->slots[*slot - 1].key, key))
			return slot;
	}
}

void *map_get(const struct Map *m, const char *key)
{
	u32 at = m->nindex ? *find(m, key) : 0;
	return at ? m->slots[at - 1].val : NULL;
}

bool map_has(const struct Map *m, const char *key)
{
	return m->nindex && *find(m, key);
}

static void grow(struct Map *m)
{
	m->cap = m->cap ? m->cap * 2 : 16;
	m->slots = xrealloc(m->slots, m->cap * sizeof(*m->slots));
	free(m->index);
	m->nindex = m->cap * 2;
	m->index = xcalloc(m->nindex, sizeof(*m->index));
	for (u32 i = 0; i < m->n; i++)
		*find(m, m->slots[i].key) = i + 1;
}

void map_put(struct Map *m, const char *key, void *val)
{
	if (m->n == m->cap)
		grow(m);
	u32 *at = find(m, key);
	if (*at) {
		m->slots[*at - 1].val = val;
		return;
	}
	m->slots[m->n] = (struct MapSlot){xstrdup(key), val};
	*at = ++m->n;
}

const char *map_keep(struct Map *m, const char *key)
{
	u32 at = m->nindex ? *find(m, key) : 0;
	if (!at) {
		map_put(m, key, NULL);
		at = m->n;
	}
	return m->slots[at - 1].key;
}

void map_deinit(struct Map *m)
{
	for (u32 i = 0; i < m->n; i++)
		free(m->slots[i].key);
	free(m->slots);
	free(m->index);
	*m = (struct Map){0};
}
