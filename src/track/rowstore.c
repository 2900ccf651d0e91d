// Where the rows of all objects lie: records in the 256 KB values of rt_uw_pages, and the directory rt_uw_dir that says in which a page of an object has its record.
// In: tables (unwind/unwind.h), which pages stacks have needed. Out: records the kernel side searches (bpfrt/rows.bpf.c). One thread stores and takes out.
// Invariant: a record is written before its entry in the directory, and never changed; values that are taken away the kernel frees once no program reads them,
// and their numbers are not used again for a long time. So a program finds a page's record, or that there is none.
#include <linux/bpf.h>
#include <sys/mman.h>
#include "track/internal.h"
#include "unwind/unwind.h"

#define TICK_NS 4000000000ull // unit of RowStore.used
#define PINNED 0xffffu
#define MANY_BYTES (4u << 20) // more than this, and what no stack has needed for a while is taken out
#define FEW_BYTES (3u << 20)  // so that there is no more than this
#define FRESH 5u	      // ticks: what was needed since is kept, however much it is

struct PlainRecord { // of a page where one rule holds: all such pages have it in common (code made at run time may have thousands)
	u32 rule, entry;
};
struct RowStore {
	int pages_fd; // borrowed, as is dir
	u8 *dir;      // RT_UW_DIRS elements of 8 bytes
	u32 ndir;
	VEC(struct RowValue) vals; // in use; the last one is being filled
	VEC(struct RowValue) ahead; // in the outer map, empty
	bool no_ahead; // there was no memory
	u32 next_key, nvals;	// nvals: for other threads, those ahead too
	u8 *val;		// the last one, mapped; NULL: none
	u32 val_used;
	u8 *rec;   // a record being made
	VEC(struct PlainRecord) plain;
	u16 *used; // by entry of dir: when a stack needed it last; NULL: nothing is ever taken out
};

struct RowStore *rowstore_create(int pages_fd, u8 *dir, bool bounded)
{
	struct RowStore *s = xcalloc(1, sizeof(*s));
	s->pages_fd = pages_fd;
	s->dir = dir;
	s->rec = xmalloc(RT_UW_VAL_SIZE);
	s->used = bounded ? xcalloc(RT_UW_DIRS, sizeof(*s->used)) : NULL;
	return s;
}

void rowstore_destroy(struct RowStore *s)
{
	if (!s)
		return;
	if (s->val)
		munmap(s->val, RT_UW_VAL_SIZE);
	for (size_t i = 0; i < s->vals.n; i++)
		if (s->vals.p[i].fd >= 0)
			close(s->vals.p[i].fd);
	for (size_t i = 0; i < s->ahead.n; i++)
		close(s->ahead.p[i].fd);
	vec_deinit(&s->vals);
	vec_deinit(&s->ahead);
	vec_deinit(&s->plain);
	free(s->used);
	free(s->rec);
	free(s);
}

static u32 *entry_at(const struct RowStore *s, u32 i)
{
	return (u32 *)(s->dir + (size_t)i * 8);
}

static u16 tick_now(void)
{
	return (u16)(now_ns() / TICK_NS % PINNED);
}

static bool key_in_use(const struct RowStore *s, u32 key)
{
	for (size_t i = 0; i < s->vals.n; i++)
		if (s->vals.p[i].key == key)
			return true;
	return false;
}

// An empty one. Its fd is -1 where there is no memory.
static struct RowValue new_value(u32 key)
{
	struct SysMap m = {BPF_MAP_TYPE_ARRAY, 4, RT_UW_VAL_SIZE, 1, BPF_F_MMAPABLE, "rt_uw_rows", 0};
	return (struct RowValue){key, sys_map_create(&m)};
}

static void count_values(struct RowStore *s)
{
	__atomic_store_n(&s->nvals, (u32)(s->vals.n + s->ahead.n), __ATOMIC_RELAXED);
}

u32 rowstore_ahead(struct RowStore *s, u32 need, u32 spare, struct RowAhead *a)
{
	a->n = 0;
	if (s->used || s->no_ahead || s->next_key + ROWS_AHEAD > RT_UW_VALS || s->ahead.n >= need + (spare + 1) / 2)
		return 0;
	for (; a->n < ROWS_AHEAD && s->ahead.n + a->n < need + spare; a->n++)
		a->v[a->n] = (struct RowValue){s->next_key++, -1};
	return a->n;
}

u32 rowstore_values(const struct UwTable *tab)
{
	u64 first = UW_ROW_OFF(tab->rows.p[0]) >> RT_UW_PAGE_BITS, last = UW_ROW_OFF(vec_last(&tab->rows)) >> RT_UW_PAGE_BITS;
	u64 bytes = (last - first + 1) * RT_UW_REC_SIZE(1) + tab->rows.n * (RT_UW_REC_SIZE(5) - RT_UW_REC_SIZE(1)) / 4;
	return (u32)MIN((bytes + bytes / 8) / RT_UW_VAL_SIZE + 1, RT_UW_VALS); // a record does not fit at the end of each
}

void rowstore_make(const struct RowStore *s, struct RowAhead *a)
{
	u32 keys[ROWS_AHEAD], n = 0, done;
	int fds[ROWS_AHEAD];
	for (u32 i = 0; i < a->n; i++) {
		struct RowValue v = new_value(a->v[i].key);
		if (v.fd < 0)
			break;
		keys[n] = v.key;
		fds[n] = v.fd;
		a->v[n++] = v;
	}
	done = n;
	if (n && sys_map_update_batch(s->pages_fd, keys, fds, &done) < 0) // one by one before Linux 5.13
		for (done = 0; done < n && sys_map_update(s->pages_fd, &keys[done], &fds[done], 0) >= 0;)
			done++;
	for (u32 i = done; i < n; i++)
		close(fds[i]);
	a->n = done;
}

void rowstore_give(struct RowStore *s, const struct RowAhead *a)
{
	for (u32 i = 0; i < a->n; i++)
		vec_push(&s->ahead, a->v[i]);
	s->no_ahead = !a->n;
	count_values(s);
}

static bool next_value(struct RowStore *s, struct RowValue *v)
{
	if (s->ahead.n) {
		*v = s->ahead.p[0];
		memmove(s->ahead.p, s->ahead.p + 1, --s->ahead.n * sizeof(*v));
		return true;
	}
	while (key_in_use(s, s->next_key % RT_UW_VALS))
		s->next_key++;
	*v = new_value(s->next_key % RT_UW_VALS);
	if (v->fd < 0)
		return false;
	s->next_key++;
	if (sys_map_update(s->pages_fd, &v->key, &v->fd, 0) >= 0)
		return true;
	close(v->fd);
	return false;
}

static bool add_value(struct RowStore *s)
{
	struct RowValue v;
	if (s->vals.n >= RT_UW_VALS || !next_value(s, &v))
		return false;
	u8 *p = mmap(NULL, RT_UW_VAL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, v.fd, 0);
	if (p == MAP_FAILED || !s->used) { // the outer map keeps it
		close(v.fd);
		v.fd = -1;
	}
	if (p == MAP_FAILED)
		return false;
	if (s->val)
		munmap(s->val, RT_UW_VAL_SIZE);
	s->val = p;
	s->val_used = 4; // no record at offset 0: entry 0 means none
	vec_push(&s->vals, v);
	count_values(s);
	return true;
}

// n bytes (a multiple of 4) in the current value or a new one. NULL: no more values, or no memory.
static u8 *alloc_record(struct RowStore *s, u32 n, u32 *entry)
{
	if ((!s->val || s->val_used + n > RT_UW_VAL_SIZE) && !add_value(s))
		return NULL;
	*entry = vec_last(&s->vals).key << 16 | s->val_used >> 2;
	s->val_used += n;
	return s->val + s->val_used - n;
}

// The entry of a record of n rows that was made. False: no room.
static bool keep_record(struct RowStore *s, const u8 *rec, u32 n, u32 *entry)
{
	u16 rule = 0;
	memcpy(&rule, rec + RT_UW_REC_RULE(n), sizeof(rule));
	for (size_t i = 0; n == 1 && i < s->plain.n; i++)
		if (s->plain.p[i].rule == rule) {
			*entry = s->plain.p[i].entry;
			return true;
		}
	u8 *to = alloc_record(s, RT_UW_REC_SIZE(n), entry);
	if (!to)
		return false;
	memcpy(to, rec, RT_UW_REC_SIZE(n));
	if (n == 1)
		vec_push(&s->plain, ((struct PlainRecord){rule, *entry}));
	return true;
}

static u32 rows_of(const u8 *rec)
{
	u16 n;
	memcpy(&n, rec + RT_UW_BUCKETS * 2, sizeof(n));
	return n;
}

// The record of a page, from row *i on, which moves behind it; carry: the rule that holds where the page begins, then where it ends. False: no room.
static bool put_page(struct RowStore *s, const struct UwTable *tab, u64 page, size_t *i, u32 *carry, u32 dir)
{
	size_t end = *i;
	u32 entry = 0;
	while (end < tab->rows.n && UW_ROW_OFF(tab->rows.p[end]) >> RT_UW_PAGE_BITS == page)
		end++;
	if (end > *i || *carry) {
		uwrec_build(tab->rows.p + *i, end - *i, *carry, s->rec);
		if (!keep_record(s, s->rec, rows_of(s->rec), &entry))
			return false;
	}
	if (s->used)
		__atomic_store_n(&s->used[dir], tick_now(), __ATOMIC_RELAXED);
	__atomic_store_n(entry_at(s, dir), entry, __ATOMIC_RELEASE);
	if (end > *i)
		*carry = UW_ROW_RULE(tab->rows.p[end - 1]);
	*i = end;
	return true;
}

// Pages of the directory for an object. False: no room.
static bool reserve(struct RowStore *s, u64 first, u64 last, struct RtUwObj *o)
{
	if (last - first >= RT_UW_DIRS - s->ndir)
		return false;
	o->dir = s->ndir;
	o->first_page = (u32)first;
	o->npages = (u32)(last - first + 1);
	s->ndir += o->npages;
	return true;
}

bool rowstore_put(struct RowStore *s, const struct UwTable *tab, struct RtUwObj *o)
{
	u64 first = UW_ROW_OFF(tab->rows.p[0]) >> RT_UW_PAGE_BITS, last = UW_ROW_OFF(vec_last(&tab->rows)) >> RT_UW_PAGE_BITS;
	u32 carry = 0;
	size_t i = 0;
	bool ok = reserve(s, first, last, o);
	for (u64 page = first; ok && page <= last; page++)
		ok = put_page(s, tab, page, &i, &carry, o->dir + (u32)(page - first));
	return ok;
}

static void put_some(struct RowStore *s, const struct UwTable *tab, const struct RtUwObj *o, const u32 *pages, u32 n)
{
	u32 carry = 0;
	size_t i = 0;
	for (u32 k = 0; k < n; k++) {
		while (i < tab->rows.n && UW_ROW_OFF(tab->rows.p[i]) >> RT_UW_PAGE_BITS < pages[k])
			carry = UW_ROW_RULE(tab->rows.p[i++]);
		if (pages[k] >= o->first_page && pages[k] - o->first_page < o->npages)
			put_page(s, tab, pages[k], &i, &carry, o->dir + pages[k] - o->first_page);
	}
}

bool rowstore_begin(struct RowStore *s, const struct UwTable *tab, u64 first, u64 last, const u32 *pages, u32 n, struct RtUwObj *o)
{
	if (!reserve(s, first, last, o))
		return false;
	for (u32 i = 0; i < o->npages; i++)
		__atomic_store_n(entry_at(s, o->dir + i), RT_UW_OUT, __ATOMIC_RELEASE);
	put_some(s, tab, o, pages, n);
	return true;
}

void rowstore_again(struct RowStore *s, const struct UwTable *tab, const struct RtUwObj *o, const u32 *pages, u32 n)
{
	put_some(s, tab, o, pages, n);
}

bool rowstore_is_out(const struct RowStore *s, const struct RtUwObj *o, u32 page)
{
	return page < o->npages && __atomic_load_n(entry_at(s, o->dir + page), __ATOMIC_RELAXED) >= RT_UW_ASKED;
}

void rowstore_pin(struct RowStore *s, const struct RtUwObj *o, u32 page)
{
	if (s->used && page < o->npages)
		__atomic_store_n(&s->used[o->dir + page], PINNED, __ATOMIC_RELAXED);
}

void rowstore_used(struct RowStore *s, u32 dir)
{
	if (s->used && dir < RT_UW_DIRS && __atomic_load_n(&s->used[dir], __ATOMIC_RELAXED) != PINNED)
		__atomic_store_n(&s->used[dir], tick_now(), __ATOMIC_RELAXED);
}

u64 rowstore_bytes(const struct RowStore *s)
{
	return (u64)__atomic_load_n(&s->nvals, __ATOMIC_RELAXED) * RT_UW_VAL_SIZE;
}

// ---- taking out
struct OldRecord {
	const u8 *at;
	u32 dir, n, size; // n: rows
	u16 age; // ticks; 0: it stays
};
struct Taking {
	VEC(struct RowValue) vals; // the old ones
	u8 **maps;
	VEC(struct OldRecord) recs;
};

static int by_age(const void *a, const void *b)
{
	const struct OldRecord *x = a, *y = b;
	return x->age != y->age ? (x->age < y->age ? -1 : 1) : x->dir < y->dir ? -1 : x->dir > y->dir;
}

static void collect(const struct RowStore *s, struct Taking *t)
{
	u16 now = tick_now();
	for (u32 i = 0; i < s->ndir; i++) {
		u32 e = __atomic_load_n(entry_at(s, i), __ATOMIC_RELAXED), used = __atomic_load_n(&s->used[i], __ATOMIC_RELAXED);
		for (size_t k = 0; e && e < RT_UW_ASKED && k < t->vals.n; k++)
			if (t->vals.p[k].key == e >> 16) {
				const u8 *at = t->maps[k] + ((size_t)(e & 0xffff) << 2);
				u16 age = used == PINNED ? 0 : (u16)((now + PINNED - used) % PINNED);
				u32 n = rows_of(at);
				vec_push(&t->recs, ((struct OldRecord){at, i, n, n == 1 ? 0 : RT_UW_REC_SIZE(n), age <= FRESH ? 0 : age}));
				break;
			}
	}
	if (t->recs.n)
		qsort(t->recs.p, t->recs.n, sizeof(*t->recs.p), by_age);
}

// How many of the records stay, and their bytes
static size_t that_stay(const struct Taking *t, u64 *bytes)
{
	size_t n = 0;
	*bytes = 0;
	while (n < t->recs.n && (!t->recs.p[n].age || *bytes + t->recs.p[n].size <= FEW_BYTES))
		*bytes += t->recs.p[n++].size;
	return n;
}

static void move(struct RowStore *s, struct Taking *t, size_t n)
{
	munmap(s->val, RT_UW_VAL_SIZE);
	s->val = NULL;
	s->vals.n = s->plain.n = 0;
	s->next_key = vec_last(&t->vals).key + 1;
	for (size_t i = 0; i < t->recs.n; i++) {
		const struct OldRecord *r = &t->recs.p[i];
		u32 entry;
		bool stays = i < n && keep_record(s, r->at, r->n, &entry);
		__atomic_store_n(entry_at(s, r->dir), stays ? entry : RT_UW_OUT, __ATOMIC_RELEASE);
	}
	for (size_t i = 0; i < t->vals.n; i++)
		sys_map_delete(s->pages_fd, &t->vals.p[i].key);
	count_values(s);
}

void rowstore_trim(struct RowStore *s)
{
	struct Taking t = {0};
	u64 bytes;
	if (!s->used || rowstore_bytes(s) <= MANY_BYTES)
		return;
	t.maps = xcalloc(s->vals.n, sizeof(*t.maps));
	bool ok = true;
	for (size_t i = 0; i < s->vals.n; i++) {
		u8 *p = ok ? mmap(NULL, RT_UW_VAL_SIZE, PROT_READ, MAP_SHARED, s->vals.p[i].fd, 0) : MAP_FAILED;
		ok &= p != MAP_FAILED;
		t.maps[i] = p == MAP_FAILED ? NULL : p;
		vec_push(&t.vals, s->vals.p[i]);
	}
	if (ok)
		collect(s, &t);
	size_t n = that_stay(&t, &bytes);
	bool worth_it = ok && bytes < rowstore_bytes(s) / 4 * 3;
	if (worth_it)
		move(s, &t, n);
	for (size_t i = 0; i < t.vals.n; i++) {
		if (t.maps[i])
			munmap(t.maps[i], RT_UW_VAL_SIZE);
		if (worth_it)
			close(t.vals.p[i].fd);
	}
	free(t.maps);
	vec_deinit(&t.vals);
	vec_deinit(&t.recs);
}
