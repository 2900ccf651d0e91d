// Forgets interned stacks that no map of the script refers to any more. Input: the script's maps and their types; the rt_stacks_* maps.
// Invariant: a stack goes only when it was unreferenced twice in a row.
#include <bpf/libbpf.h>
#include "unwind/internal.h"

struct IdSet { // open addressing; 0 is free (no stack has id 0)
	u64 *slot;
	u32 n, cap;
};

void idset_destroy(struct IdSet *s)
{
	if (s)
		free(s->slot);
	free(s);
}

static u64 *idset_slot(const struct IdSet *s, u64 id)
{
	u32 at = (u32)(id >> 12) & (s->cap - 1); // the hash part
	while (s->slot[at] && s->slot[at] != id)
		at = (at + 1) & (s->cap - 1);
	return &s->slot[at];
}

static bool idset_has(const struct IdSet *s, u64 id)
{
	return s && s->cap && *idset_slot(s, id) == id;
}

static void idset_add(struct IdSet *s, u64 id)
{
	if (!id)
		return;
	if (s->n * 2 >= s->cap) {
		struct IdSet big = {.cap = s->cap ? s->cap * 2 : 1024};
		big.slot = xcalloc(big.cap, sizeof(u64));
		for (u32 i = 0; i < s->cap; i++)
			if (s->slot[i])
				*idset_slot(&big, s->slot[i]) = s->slot[i];
		free(s->slot);
		s->slot = big.slot;
		s->cap = big.cap;
	}
	u64 *p = idset_slot(s, id);
	s->n += !*p;
	*p = id;
}

// Adds every stack id in a value of type t.
static void collect(struct IdSet *s, const struct Type *t, const u8 *p)
{
	u64 id;

	if (!t)
		return;
	switch (t->kind) {
	case TY_KSTACK:
	case TY_USTACK:
		memcpy(&id, p, sizeof(id));
		idset_add(s, id);
		break;
	case TY_TUPLE:
		for (u32 i = 0; i < t->n; i++)
			collect(s, t->fields[i].type, p + t->fields[i].off);
		break;
	case TY_ARRAY:
		for (u32 i = 0; i < t->n; i++)
			collect(s, t->elem, p + (size_t)i * t->elem->size);
		break;
	default:
		break;
	}
}

static bool holds_stack(const struct Type *t)
{
	if (!t)
		return false;
	if (t->kind == TY_TUPLE) {
		for (u32 i = 0; i < t->n; i++)
			if (holds_stack(t->fields[i].type))
				return true;
		return false;
	}
	return t->kind == TY_ARRAY ? holds_stack(t->elem) : ty_is_stack(t);
}

static void collect_map(struct IdSet *s, const struct MapDef *m, int ncpu)
{
	bool in_key = holds_stack(m->key), in_val = holds_stack(m->val);
	if (!in_key && !in_val)
		return;
	size_t vsize = ALIGN_UP((size_t)m->value_size, 8u) * (m->percpu ? ncpu : 1);
	u8 *key = xcalloc(1, m->key_size + 8), *next = xcalloc(1, m->key_size + 8), *val = xmalloc(vsize);
	for (bool first = true; sys_map_next_key(m->fd, first ? NULL : key, next) >= 0; first = false) {
		memcpy(key, next, m->key_size);
		if (in_key)
			collect(s, m->key, key);
		if (in_val && sys_map_lookup(m->fd, key, val) >= 0)
			for (int c = 0; c < (m->percpu ? ncpu : 1); c++)
				collect(s, m->val, val + (size_t)c * ALIGN_UP((size_t)m->value_size, 8u));
	}
	free(key);
	free(next);
	free(val);
}

void stacks_sweep(struct Program *prog, const int *fd, u32 nfd, struct IdSet **old)
{
	struct IdSet used = {0}, *idle = xcalloc(1, sizeof(*idle));
	int ncpu = libbpf_num_possible_cpus();

	for (size_t i = 0; i < prog->maps.n; i++)
		if (prog->maps.p[i]->user)
			collect_map(&used, prog->maps.p[i], ncpu);
	for (u32 c = 0; c < nfd; c++) {
		u64 key, next;
		if (fd[c] < 0)
			continue;
		for (int rc = sys_map_next_key(fd[c], NULL, &next); rc >= 0;) {
			key = next;
			rc = sys_map_next_key(fd[c], &key, &next);
			if (idset_has(&used, key))
				continue;
			if (idset_has(*old, key))
				sys_map_delete(fd[c], &key);
			else
				idset_add(idle, key);
		}
	}
	free(used.slot);
	idset_destroy(*old);
	*old = idle;
}
