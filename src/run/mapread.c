// Maps: reading, merging the values of all CPUs, sorting, clearing.
// In: a MapDef with a descriptor. Out: MapDump (raw) or MapReport (decoded). Invariant: an entry appears once even when programs change the map
// while it is read, and a read ends whatever they do.
#include "run/run.h"
#include "bpf/bpf.h"
#include "bpfrt/abi.h"
#include <errno.h>
#include <linux/bpf.h>

#define BATCH 512

// Possible CPUs ("0-3,8-11"), which is how many values the kernel hands out for a per-CPU map. Constant while the system runs.
u32 possible_cpus(void)
{
	static u32 n;
	struct Str s = {0};
	if (n)
		return n;
	err_free(read_file("/sys/devices/system/cpu/possible", &s, 65536));
	for (const char *p = str_text(&s); *p >= '0' && *p <= '9'; p += *p == ',') {
		char *end;
		u32 from = (u32)strtoul(p, &end, 10), to = *end == '-' ? (u32)strtoul(end + 1, &end, 10) : from;
		n += to >= from ? to - from + 1 : 0;
		p = end;
	}
	str_deinit(&s);
	if (!n)
		n = (u32)MAX(sysconf(_SC_NPROCESSORS_CONF), 1);
	return n;
}

static bool is_array(const struct MapDef *m)
{
	return m->bpf_type == BPF_MAP_TYPE_ARRAY || m->bpf_type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

// Bytes a lookup of one value writes.
static size_t raw_size(const struct MapDef *m)
{
	return map_type_is_percpu(m->bpf_type) ? (size_t)RT_VALUE_SIZE(m->value_size) * possible_cpus() : m->value_size;
}

// ---- reading

struct DumpBuild {
	struct MapDump *d;
	u32 cap;
	bool take; // hash maps: entries are deleted as they are read
};

// Of a map that has set_off: the word that says whether the value was ever set on that CPU.
static u64 *was_set(const struct MapDef *m, const void *raw, u32 cpu)
{
	return (u64 *)((u8 *)raw + (size_t)cpu * RT_VALUE_SIZE(m->value_size) + m->set_off);
}

static bool is_present(const struct MapDef *m, const void *raw)
{
	if (!m->set_off)
		return true;
	for (u32 cpu = 0; cpu < (map_type_is_percpu(m->bpf_type) ? possible_cpus() : 1); cpu++)
		if (*was_set(m, raw, cpu))
			return true;
	return false;
}

static void add_entry(const struct MapDef *m, struct DumpBuild *b, const void *key, const void *raw)
{
	if (!is_present(m, raw))
		return;
	struct MapDump *d = b->d;
	if (d->n == b->cap) {
		b->cap = b->cap ? b->cap * 2 : 64;
		d->keys = xrealloc(d->keys, (size_t)b->cap * d->key_size);
		d->vals = xrealloc(d->vals, (size_t)b->cap * d->val_size);
	}
	u8 *val = d->vals + (size_t)d->n * d->val_size;
	memcpy(d->keys + (size_t)d->n * d->key_size, key, d->key_size);
	if (map_type_is_percpu(m->bpf_type) && m->val)
		d->wide += map_merge(m->val, m->value_size, raw, possible_cpus(), val);
	else
		memcpy(val, raw, d->val_size);
	d->n++;
}

static struct err *dump_array(const struct MapDef *m, struct DumpBuild *b)
{
	void *raw = xmalloc(raw_size(m));
	struct err *e = NULL;
	for (u32 i = 0; !e && i < m->max_entries; i++) {
		int r = sys_map_lookup(m->fd, &i, raw);
		if (r)
			e = err_errno(-r, "map %s: reading element %u", m->name, i);
		else
			add_entry(m, b, &i, raw);
	}
	free(raw);
	return e;
}

// One system call for hundreds of entries (5.6). *unsupported: the kernel cannot do it for this type.
static struct err *dump_batch(const struct MapDef *m, struct DumpBuild *b, bool *unsupported)
{
	u32 want = BATCH;
	size_t raw = raw_size(m);
	u8 *keys = xmalloc((size_t)want * m->key_size), *vals = xmalloc(want * raw);
	u64 *pos = xcalloc(2, MAX((size_t)m->key_size, sizeof(u64)));
	void *in = NULL, *out = pos;
	struct err *e = NULL;
	for (;;) {
		u32 n = want;
		int r = (b->take ? sys_map_take_batch : sys_map_lookup_batch)(m->fd, in, out, keys, vals, &n);
		if (r == -ENOSPC) { // a bucket holds more than fits
			want *= 2;
			keys = xrealloc(keys, (size_t)want * m->key_size);
			vals = xrealloc(vals, want * raw);
			continue;
		}
		if (r && r != -ENOENT) {
			if (in)
				e = err_errno(-r, "map %s: reading", m->name);
			else
				*unsupported = true;
			break;
		}
		for (u32 i = 0; i < n; i++)
			add_entry(m, b, keys + (size_t)i * m->key_size, vals + i * raw);
		if (r == -ENOENT)
			break;
		in = pos;
	}
	free(keys);
	free(vals);
	free(pos);
	return e;
}

// Set of keys seen, by content.
struct KeySet {
	const u8 *keys;
	u32 key_size, n, *slots, nslots;
};

static u64 hash_bytes(const u8 *p, u32 n)
{
	u64 h = 14695981039346656037ULL;
	for (u32 i = 0; i < n; i++)
		h = (h ^ p[i]) * 1099511628211ULL;
	return h ^ h >> 29;
}

// Is keys[n] new? Then it is kept.
static bool keyset_add(struct KeySet *s, const u8 *keys)
{
	s->keys = keys;
	if (s->n * 2 >= s->nslots) {
		u32 size = s->nslots ? s->nslots * 2 : 256;
		free(s->slots);
		s->slots = xcalloc(size, sizeof(*s->slots));
		s->nslots = size;
		for (u32 i = 0; i < s->n; i++) {
			u64 h = hash_bytes(keys + (size_t)i * s->key_size, s->key_size);
			while (s->slots[h & (size - 1)])
				h++;
			s->slots[h & (size - 1)] = i + 1;
		}
	}
	const u8 *key = keys + (size_t)s->n * s->key_size;
	u64 h = hash_bytes(key, s->key_size);
	for (; s->slots[h & (s->nslots - 1)]; h++)
		if (!memcmp(keys + (size_t)(s->slots[h & (s->nslots - 1)] - 1) * s->key_size, key, s->key_size))
			return false;
	s->slots[h & (s->nslots - 1)] = ++s->n;
	return true;
}

// All keys there are. The kernel restarts from the first key when the one we stand on was deleted (kernel/bpf/hashtab.c,
// htab_map_get_next_key): known keys are passed over, and the walk ends after twice as many steps as there can be keys.
static u8 *collect_keys(const struct MapDef *m, u32 *n)
{
	struct KeySet set = {.key_size = m->key_size};
	u32 cap = 64;
	u8 *keys = xmalloc((size_t)cap * m->key_size), *cur = xcalloc(1, m->key_size);
	bool first = true;
	for (u64 steps = 0; steps < 2 * (u64)m->max_entries + 2; steps++) {
		if (set.n == cap) {
			cap *= 2;
			keys = xrealloc(keys, (size_t)cap * m->key_size);
		}
		u8 *next = keys + (size_t)set.n * m->key_size;
		if (sys_map_next_key(m->fd, first ? NULL : cur, next))
			break;
		first = false;
		memcpy(cur, next, m->key_size);
		keyset_add(&set, keys);
	}
	free(set.slots);
	free(cur);
	*n = set.n;
	return keys;
}

static struct err *dump_keys(const struct MapDef *m, struct DumpBuild *b)
{
	u32 n;
	u8 *keys = collect_keys(m, &n), *raw = xmalloc(raw_size(m));
	struct err *e = NULL;
	for (u32 i = 0; !e && i < n; i++) {
		int r = sys_map_lookup(m->fd, keys + (size_t)i * m->key_size, raw);
		if (r && r != -ENOENT)
			e = err_errno(-r, "map %s: reading", m->name);
		else if (!r) {
			add_entry(m, b, keys + (size_t)i * m->key_size, raw);
			if (b->take)
				sys_map_delete(m->fd, keys + (size_t)i * m->key_size);
		}
	}
	free(keys);
	free(raw);
	return e;
}

static struct err *dump_one(const struct MapDef *m, struct DumpBuild *b, const void *key)
{
	void *raw = xmalloc(raw_size(m));
	int r = sys_map_lookup(m->fd, key, raw);
	if (!r)
		add_entry(m, b, key, raw);
	free(raw);
	return r && r != -ENOENT ? err_errno(-r, "map %s: reading", m->name) : NULL;
}

// only: the key of the one entry that is wanted, NULL: all. With stacks that are completed later several keys may be that one: all are read.
static struct err *dump(const struct MapDef *m, bool take, const void *only, struct MapDump *out)
{
	*out = (struct MapDump){.key_size = m->key_size, .val_size = m->val && map_type_is_percpu(m->bpf_type) ? MIN(m->val->size, m->value_size) : m->value_size};
	struct DumpBuild b = {.d = out, .take = take};
	if (only && !m->cold)
		return dump_one(m, &b, only);
	if (is_array(m))
		return dump_array(m, &b);
	bool unsupported = false;
	struct err *e = dump_batch(m, &b, &unsupported);
	if (unsupported)
		e = dump_keys(m, &b);
	cold_keys_settle(m, out);
	return e;
}

// The map that is to be taken goes out of use: programs fill the spare one from here on. The system call returns when no program holds the old one any more
// (kernel/bpf/syscall.c, maybe_wait_bpf_programs; programs that may sleep are not waited for). It takes 4 to 30 ms, on a busy machine a tenth of a second, and but for
// SWAPS_NS at most three quarters of the time are spent so: of a map that is taken more often, elements are taken where programs use them in between.
#define SWAPS_NS 250000000ull
static struct MapDef *out_of_use(struct MapDef *m)
{
	u32 zero = 0;
	if (!m->holder)
		return m;
	u64 now = now_ns(), rest = (now - m->swap_at_ns) / 4 * 3;
	m->swap_used_ns -= MIN(rest, m->swap_used_ns);
	m->swap_at_ns = now;
	if (m->swap_used_ns > SWAPS_NS || sys_map_update(m->holder->fd, &zero, &m->spare->fd, BPF_ANY)) {
		m->taken_in_use++;
		return m;
	}
	SWAP(m->fd, m->spare->fd);
	m->swap_used_ns += now_ns() - now;
	return m->spare;
}

struct err *map_dump(const struct MapDef *m, struct MapDump *out)
{
	return dump(m, false, NULL, out);
}

void map_dump_free(struct MapDump *d)
{
	free(d->keys);
	free(d->vals);
	*d = (struct MapDump){0};
}

// ---- order

struct SortItem {
	u64 rank;	 // by value; ties by key
	const u8 *key, *val;
};
struct SortCtx {
	const struct MapDef *m;
	bool by_value, sgn;
};

static s64 key_int(const struct Type *t, const u8 *p)
{
	u64 v = 0;
	memcpy(&v, p, MIN(t->size, 8u));
	if (t->sgn && t->size < 8 && v >> (8 * t->size - 1))
		v |= ~0ULL << 8 * t->size;
	return (s64)v;
}

static int cmp_int(const struct Type *t, const u8 *a, const u8 *b)
{
	s64 x = key_int(t, a), y = key_int(t, b);
	if (t->sgn)
		return x < y ? -1 : x > y;
	return (u64)x < (u64)y ? -1 : (u64)x > (u64)y;
}

static int cmp_key(const struct Type *t, const u8 *a, const u8 *b)
{
	if (t->kind == TY_INT || t->kind == TY_BOOL || t->kind == TY_PTR)
		return cmp_int(t, a, b);
	for (u32 i = 0; t->kind == TY_TUPLE && i < t->n; i++) {
		int c = cmp_key(t->fields[i].type, a + t->fields[i].off, b + t->fields[i].off);
		if (c)
			return c;
	}
	if (t->kind == TY_USERNAME) // its bits are turned over
		return memcmp(b, a, t->size);
	return t->kind == TY_TUPLE ? 0 : memcmp(a, b, t->size);
}

static int cmp_items(const void *x, const void *y, void *arg)
{
	const struct SortItem *a = x, *b = y;
	const struct SortCtx *c = arg;
	if (c->by_value && a->rank != b->rank)
		return (c->sgn ? (s64)a->rank < (s64)b->rank : a->rank < b->rank) ? -1 : 1;
	return c->m->key ? cmp_key(c->m->key, a->key, b->key) : memcmp(a->key, b->key, c->m->key_size);
}

// What entries are sorted by: numbers by themselves, aggregations as their row says; everything else by its key.
static u64 rank_of(const struct Type *t, const u8 *p)
{
	if (t->kind == TY_INT)
		return (u64)key_int(t, p);
	return ty_is_aggr(t) && aggr_of(t)->rank ? aggr_of(t)->rank(t, p) : 0;
}

static bool sorts_by_value(const struct Type *t)
{
	return t->kind == TY_INT || (ty_is_aggr(t) && aggr_of(t)->rank);
}

// ---- report

static void divide(struct Value *v, u64 div, const struct Type *t)
{
	div = MIN(div, (u64)INT64_MAX);
	switch (v->kind) {
	case V_INT:
		v->i /= (s64)div;
		break;
	case V_UINT:
		v->u /= div;
		break;
	case V_STATS:
		v->avg = t->sgn ? v->avg / (s64)div : (s64)((u64)v->avg / div);
		break;
	case V_HIST:
		for (u32 i = 0; i < v->nbuckets; i++)
			v->buckets[i].count /= div;
		break;
	case V_TUPLE: case V_ARRAY: case V_RECORD:
		for (u32 i = 0; i < v->n; i++)
			divide(&v->items[i], div, t);
		break;
	default: // bpftrace leaves linear histograms and texts alone
		break;
	}
}

// only: as for dump()
static struct err *read_map(struct RunCtx *rc, struct Arena *a, struct MapDef *m, u64 top, u64 div, bool take, const void *only, struct MapReport *out)
{
	const struct Aggr *g = ty_is_aggr(m->val) ? aggr_of(m->val) : NULL;
	*out = (struct MapReport){.name = m->name, .scalar = m->scalar, .div = div, .stats = g && g->stats};
	struct MapDump d;
	struct err *e = dump(take ? out_of_use(m) : m, take, only, &d);
	if (e) {
		map_dump_free(&d);
		return e;
	}
	m->wide = MAX(m->wide, d.wide);
	struct SortItem *items = xcalloc(d.n + 1, sizeof(*items));
	u32 n = 0;
	for (u32 i = 0; i < d.n; i++) {
		struct SortItem *it = &items[n];
		*it = (struct SortItem){.key = d.keys + (size_t)i * d.key_size, .val = d.vals + (size_t)i * d.val_size};
		it->rank = rank_of(m->val, it->val);
		n += !only || !memcmp(it->key, only, d.key_size);
	}
	struct SortCtx c = {m, sorts_by_value(m->val), m->val->sgn};
	qsort_r(items, n, sizeof(*items), cmp_items, &c);
	u32 from = top && top < n ? n - (u32)top : 0;
	out->entries = arena_new_n(a, struct MapEntry, n - from);
	for (u32 i = from; i < n; i++) {
		struct MapEntry *en = &out->entries[out->n];
		value_decode(rc, a, m->val, items[i].val, &en->val);
		if (m->scalar && !m->zeroed && g && g->is_empty && g->is_empty(&en->val))
			continue;
		if (!m->scalar)
			value_decode(rc, a, m->key, items[i].key, &en->key);
		if (div > 1)
			divide(&en->val, div, m->val);
		en->sort = items[i].rank;
		out->n++;
	}
	if (g && g->finish)
		g->finish(a, m->val, out);
	free(items);
	map_dump_free(&d);
	return NULL;
}

struct err *map_read(struct RunCtx *rc, struct Arena *a, struct MapDef *m, u64 top, u64 div, struct MapReport *out)
{
	return read_map(rc, a, m, top, div, false, NULL, out);
}

struct err *map_take(struct RunCtx *rc, struct Arena *a, struct MapDef *m, struct MapReport *out)
{
	return read_map(rc, a, m, 0, 0, true, NULL, out);
}

static void add_zero(struct RunCtx *rc, struct Arena *a, const struct MapDef *m, struct MapReport *r)
{
	r->entries = arena_new(a, struct MapEntry);
	value_decode(rc, a, m->val, arena_alloc(a, MAX(m->val->size, 1u)), &r->entries->val);
	r->n = 1;
}

struct err *map_print(struct RunCtx *rc, struct MapDef *m, u64 top, u64 div, bool asked, bool take)
{
	struct Arena a = {0};
	struct MapReport r;
	struct err *e = read_map(rc, &a, m, top, div, take, NULL, &r);
	bool may_be_empty = ty_is_aggr(m->val) && aggr_of(m->val)->is_empty;
	if (!e && asked && m->scalar && !r.n && !may_be_empty)
		add_zero(rc, &a, m, &r);
	if (!e && !asked && m->scalar && !m->set_off && !m->zeroed && r.n && !r.entries->sort)
		r.n = 0; // 0 and no word: nothing was ever added
	if (!e)
		rc->render->ops->map(rc->render, &r);
	arena_deinit(&a);
	return e;
}

struct err *map_print_entry(struct RunCtx *rc, struct MapDef *m, const void *key)
{
	struct Arena a = {0};
	struct MapReport r;
	struct err *e = read_map(rc, &a, m, 0, 0, false, key, &r);
	if (!e && r.n)
		rc->render->ops->map(rc->render, &r);
	arena_deinit(&a);
	return e;
}

// ---- changing

// Every value 0; a scalar stays set when `keep`.
static struct err *zero_all(struct MapDef *m, bool keep)
{
	u8 *zero = xcalloc(1, raw_size(m));
	if (keep && m->set_off)
		*was_set(m, zero, 0) = 1;
	struct err *e = NULL;
	u32 n = 0;
	u8 *keys = is_array(m) ? NULL : collect_keys(m, &n);
	for (u32 i = 0; !e && i < (keys ? n : m->max_entries); i++) {
		int r = sys_map_update(m->fd, keys ? (const void *)(keys + (size_t)i * m->key_size) : &i, zero, BPF_EXIST);
		if (r && r != -ENOENT)
			e = err_errno(-r, "map %s: zero", m->name);
	}
	free(keys);
	free(zero);
	return e;
}

// Was a value ever given to a map without a key? Where no word says so: it is not 0.
static bool scalar_is_set(const struct MapDef *m)
{
	u32 key = 0, size = (u32)raw_size(m);
	u8 *raw = xcalloc(1, size);
	bool set = !sys_map_lookup(m->fd, &key, raw);
	if (set && m->set_off)
		set = is_present(m, raw);
	else if (set && is_array(m))
		set = raw[0] || memcmp(raw, raw + 1, size - 1);
	free(raw);
	return set;
}

struct err *map_zero(struct MapDef *m)
{
	if (m->scalar && !scalar_is_set(m))
		return NULL;
	m->zeroed = true;
	return zero_all(m, true);
}

struct err *map_clear(struct MapDef *m)
{
	m->zeroed = false;
	if (is_array(m))
		return zero_all(m, false);
	u32 n;
	u8 *keys = collect_keys(m, &n);
	struct err *e = NULL;
	for (u32 i = 0; !e && i < n; i++) {
		int r = sys_map_delete(m->fd, keys + (size_t)i * m->key_size);
		if (r && r != -ENOENT)
			e = err_errno(-r, "map %s: clear", m->name);
	}
	free(keys);
	return e;
}
