// Maps: reading, merging the values of all CPUs, sorting, clearing.
// In: a MapDef with a descriptor. Out: MapDump (raw) or MapReport (decoded). Invariant: an entry appears once even when programs change the map
// while it is read, and a read ends whatever they do.
#include "run/run.h"
#include "bpf/bpf.h"
#include "bpfrt/abi.h"
#include <errno.h>
#include <linux/bpf.h>

#define BATCH 512

// Possible CPUs, which is how many values the kernel hands out for a per-CPU map. Constant while the system runs.
u32 possible_cpus(void)
{
	static u32 n;
	if (n)
		return n;
	struct Str s = {0};
	struct err *e = read_file("/sys/devices/system/cpu/possible", &s, 4096);
	const char *p = str_text(&s);
	u32 sum = 0;
	while (!e && *p >= '0' && *p <= '9') {
		char *end;
		unsigned long lo = strtoul(p, &end, 10), hi = *end == '-' ? strtoul(end + 1, &end, 10) : lo;
		sum += hi >= lo && hi < 65536 ? (u32)(hi - lo + 1) : 1;
		p = *end == ',' ? end + 1 : end;
	}
	err_free(e);
	str_deinit(&s);
	n = sum ? sum : (u32)MAX(sysconf(_SC_NPROCESSORS_CONF), 1);
	return n;
}

static bool is_array(const struct MapDef *m)
{
	return m->bpf_type == BPF_MAP_TYPE_ARRAY || m->bpf_type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static bool is_percpu(const struct MapDef *m)
{
	return m->bpf_type == BPF_MAP_TYPE_PERCPU_ARRAY || m->bpf_type == BPF_MAP_TYPE_PERCPU_HASH || m->bpf_type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

// Bytes a lookup of one value writes.
static size_t raw_size(const struct MapDef *m)
{
	return is_percpu(m) ? (size_t)ALIGN_UP(m->value_size, 8u) * possible_cpus() : m->value_size;
}

// ---- merging

static u64 get(const u8 *p)
{
	u64 v;
	memcpy(&v, p, 8);
	return v;
}

static void put(u8 *p, u64 v)
{
	memcpy(p, &v, 8);
}

static void merge_minmax(const struct Type *t, u8 *acc, const u8 *p)
{
	if (!get(p + 8))
		return;
	u64 a = get(acc), v = get(p);
	bool less = t->sgn ? (s64)v < (s64)a : v < a;
	if (!get(acc + 8) || (v != a && less == (t->kind == TY_MIN)))
		put(acc, v);
	put(acc + 8, 1);
}

// Slots of one place in the ring: the newest interval wins, values of the same interval are aggregated.
static void merge_ts_slot(const struct Type *t, u8 *acc, const u8 *p)
{
	u64 epoch = get(p + 16);
	if (!epoch || epoch < get(acc + 16))
		return;
	if (epoch > get(acc + 16)) {
		memcpy(acc, p, 24);
		return;
	}
	u64 a = get(acc), v = get(p);
	bool less = t->sgn ? (s64)v < (s64)a : v < a;
	switch (t->ts_agg) {
	case TS_AGG_LAST:
		if (get(p + 8) > get(acc + 8))
			memcpy(acc, p, 16);
		break;
	case TS_AGG_AVG:
		put(acc, a + v);
		put(acc + 8, get(acc + 8) + get(p + 8));
		break;
	case TS_AGG_SUM:
		put(acc, a + v);
		break;
	case TS_AGG_MIN:
		put(acc, less ? v : a);
		break;
	case TS_AGG_MAX:
		put(acc, less ? a : v);
		break;
	}
}

static void merge_one(const struct Type *t, u32 size, u8 *acc, const u8 *p)
{
	switch (t->kind) {
	case TY_COUNT: case TY_SUM: case TY_AVG: case TY_STATS: case TY_HIST: case TY_LHIST:
		for (u32 i = 0; i + 8 <= size; i += 8)
			put(acc + i, get(acc + i) + get(p + i));
		break;
	case TY_MIN:
	case TY_MAX:
		merge_minmax(t, acc, p);
		break;
	case TY_TSERIES:
		for (u32 i = 0; i + 24 <= size; i += 24)
			merge_ts_slot(t, acc + i, p + i);
		break;
	case TY_INT: {
		u64 a = 0, v = 0;
		memcpy(&a, acc, t->size);
		memcpy(&v, p, t->size);
		a += v;
		memcpy(acc, &a, t->size);
		break;
	}
	default: // no meaning over CPUs: the first CPU that has something
		for (u32 i = 0; i < size; i++)
			if (acc[i])
				return;
		memcpy(acc, p, size);
	}
}

void map_merge(const struct Type *t, u32 value_size, const void *percpu, u32 ncpus, void *out)
{
	u32 size = MIN(value_size, t->size ? t->size : value_size);
	memset(out, 0, size);
	for (u32 c = 0; c < ncpus; c++)
		merge_one(t, size, out, (const u8 *)percpu + (size_t)c * ALIGN_UP(value_size, 8u));
}

// ---- reading

struct DumpBuild {
	struct MapDump *d;
	u32 cap;
	bool take; // hash maps: entries are deleted as they are read
};

// Scalar maps but count() carry a word behind the value that says whether anything was ever stored (ir/lower_map.c).
static bool has_presence(const struct MapDef *m)
{
	return m->scalar && m->val && is_array(m) && m->value_size >= ALIGN_UP(m->val->size, 8u) + 8;
}

static u64 *presence(const struct MapDef *m, const void *raw, u32 cpu)
{
	return (u64 *)((u8 *)raw + (size_t)cpu * ALIGN_UP(m->value_size, 8u) + m->value_size - 8);
}

static bool is_present(const struct MapDef *m, const void *raw)
{
	if (!has_presence(m))
		return true;
	for (u32 cpu = 0; cpu < (is_percpu(m) ? possible_cpus() : 1); cpu++)
		if (*presence(m, raw, cpu))
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
	if (is_percpu(m) && m->val)
		map_merge(m->val, m->value_size, raw, possible_cpus(), val);
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

static struct err *dump(const struct MapDef *m, bool take, struct MapDump *out)
{
	*out = (struct MapDump){.key_size = m->key_size, .val_size = m->val && is_percpu(m) ? MIN(m->val->size, m->value_size) : m->value_size};
	struct DumpBuild b = {.d = out, .take = take};
	if (is_array(m))
		return dump_array(m, &b);
	bool unsupported = false;
	struct err *e = dump_batch(m, &b, &unsupported);
	return unsupported ? dump_keys(m, &b) : e;
}

struct err *map_dump(const struct MapDef *m, struct MapDump *out)
{
	return dump(m, false, out);
}

void map_dump_free(struct MapDump *d)
{
	free(d->keys);
	free(d->vals);
	*d = (struct MapDump){0};
}

struct err *map_each(struct MapDef *m, bool (*fn)(void *, const void *key, const void *val), void *arg)
{
	struct MapDump d;
	struct err *e = map_dump(m, &d);
	for (u32 i = 0; !e && i < d.n; i++)
		if (!fn(arg, d.keys + (size_t)i * d.key_size, d.vals + (size_t)i * d.val_size))
			break;
	map_dump_free(&d);
	return e;
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

// What entries are sorted by: numbers by themselves, averages, a histogram's sum of counts; everything else by its key.
static u64 rank_of(const struct Type *t, const u8 *p)
{
	u64 sum = 0;
	switch (t->kind) {
	case TY_INT:
		return (u64)key_int(t, p);
	case TY_COUNT: case TY_SUM: case TY_MIN: case TY_MAX:
		return get(p);
	case TY_AVG:
	case TY_STATS:
		return average(get(p), get(p + 8), t->sgn);
	case TY_HIST:
	case TY_LHIST:
		for (u32 i = 0; i + 8 <= t->size; i += 8)
			sum += get(p + i);
		return sum;
	default:
		return 0;
	}
}

static bool sorts_by_value(const struct Type *t)
{
	return t->kind == TY_INT || (ty_is_aggr(t) && t->kind != TY_TSERIES);
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

// All series of a map end at the same interval, the newest any of them has.
static void align_series(struct Arena *a, struct MapReport *r, u32 ts_n)
{
	u64 last = 0;
	for (u32 i = 0; i < r->n; i++) {
		const struct Value *v = &r->entries[i].val;
		if (v->npoints)
			last = MAX(last, v->points[v->npoints - 1].epoch_ns);
	}
	for (u32 i = 0; i < r->n; i++) {
		struct Value *v = &r->entries[i].val;
		if (!v->npoints || !v->ts_interval)
			continue;
		u64 have = v->npoints, missing = (last - v->points[have - 1].epoch_ns) / v->ts_interval;
		u64 drop = have + missing > ts_n ? have + missing - ts_n : 0;
		while (drop < have && !v->points[drop].has)
			drop++;
		if (drop >= have) { // nothing of it is in the range
			v->npoints = 0;
			continue;
		}
		struct TsPoint *p = arena_new_n(a, struct TsPoint, have - drop + missing);
		memcpy(p, v->points + drop, (have - drop) * sizeof(*p));
		for (u64 k = have - drop; k < have - drop + missing; k++)
			p[k].epoch_ns = p[k - 1].epoch_ns + v->ts_interval;
		v->points = p;
		v->npoints = (u32)(have - drop + missing);
	}
}

static bool is_empty(const struct Type *t, const struct Value *v)
{
	return (t->kind == TY_HIST || t->kind == TY_LHIST) ? !v->nbuckets : t->kind == TY_TSERIES && !v->npoints;
}

static struct err *read_map(struct RunCtx *rc, struct Arena *a, struct MapDef *m, u64 top, u64 div, bool take, struct MapReport *out)
{
	*out = (struct MapReport){.name = m->name, .scalar = m->scalar, .div = div, .stats = m->val->kind == TY_AVG || m->val->kind == TY_STATS};
	struct MapDump d;
	struct err *e = dump(m, take, &d);
	if (e) {
		map_dump_free(&d);
		return e;
	}
	struct SortItem *items = xcalloc(d.n + 1, sizeof(*items));
	for (u32 i = 0; i < d.n; i++) {
		items[i] = (struct SortItem){.key = d.keys + (size_t)i * d.key_size, .val = d.vals + (size_t)i * d.val_size};
		items[i].rank = rank_of(m->val, items[i].val);
	}
	struct SortCtx c = {m, sorts_by_value(m->val), m->val->sgn};
	qsort_r(items, d.n, sizeof(*items), cmp_items, &c);
	u32 from = top && top < d.n ? d.n - (u32)top : 0;
	out->entries = arena_new_n(a, struct MapEntry, d.n - from);
	for (u32 i = from; i < d.n; i++) {
		struct MapEntry *en = &out->entries[out->n];
		value_decode(rc, a, m->val, items[i].val, &en->val);
		if (m->scalar && !m->zeroed && is_empty(m->val, &en->val))
			continue;
		if (!m->scalar)
			value_decode(rc, a, m->key, items[i].key, &en->key);
		if (div > 1)
			divide(&en->val, div, m->val);
		en->sort = items[i].rank;
		out->n++;
	}
	if (m->val->kind == TY_TSERIES)
		align_series(a, out, m->val->ts_n);
	free(items);
	map_dump_free(&d);
	return NULL;
}

struct err *map_read(struct RunCtx *rc, struct Arena *a, struct MapDef *m, u64 top, u64 div, struct MapReport *out)
{
	return read_map(rc, a, m, top, div, false, out);
}

struct err *map_take(struct RunCtx *rc, struct Arena *a, struct MapDef *m, struct MapReport *out)
{
	return read_map(rc, a, m, 0, 0, true, out);
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
	struct err *e = read_map(rc, &a, m, top, div, take, &r);
	bool buckets = m->val->kind == TY_HIST || m->val->kind == TY_LHIST || m->val->kind == TY_TSERIES;
	if (!e && asked && m->scalar && !r.n && !buckets)
		add_zero(rc, &a, m, &r);
	if (!e && !asked && m->scalar && m->val->kind == TY_COUNT && !m->zeroed && r.n && !r.entries->val.u)
		r.n = 0; // never counted
	if (!e)
		rc->render->ops->map(rc->render, &r);
	arena_deinit(&a);
	return e;
}

// ---- changing

// Every value 0; a scalar stays set when `keep`.
static struct err *zero_all(struct MapDef *m, bool keep)
{
	u8 *zero = xcalloc(1, raw_size(m));
	if (keep && has_presence(m))
		*presence(m, zero, 0) = 1;
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

struct err *map_zero(struct MapDef *m)
{
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
