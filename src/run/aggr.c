// Aggregations: one row of `aggrs` a kind. How programs add to them and read them is in lower/lower_aggr.c.
// In: values laid out as bpfrt/abi.h says. Out: one value of all CPUs', a number, a place in the order of a map, a struct Value.
#include "run/run.h"
#include "bpfrt/abi.h"
#include <time.h>

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

// ---- what several have in common

static void words_merge(const struct Type *t, u32 size, u8 *acc, const u8 *p)
{
	for (u32 i = 0; i + 8 <= size; i += 8)
		put(acc + i, get(acc + i) + get(p + i));
}

// The number is the first word: of count, sum, min, max.
static u64 word_number(const struct Type *t, const u8 *p)
{
	return get(p);
}

// What a CPU adds up passes 64 bits in silence: a check of it would cost each event. But a sum comes to half of them first, and of one that has passed them
// nothing is known: a sum of half of them is one of which nothing is known.
static bool wide_sum(const struct Type *t, u64 v)
{
	return t->sgn ? (s64)v >= 1LL << 62 || (s64)v <= -(1LL << 62) : v >> 63;
}

static bool word_is_wide(const struct Type *t, u32 size, const u8 *p)
{
	return size >= 8 && wide_sum(t, get(p));
}

static void number_decode(struct RunCtx *rc, struct Arena *a, const struct Type *t, const u8 *p, struct Value *out)
{
	u64 v = aggr_of(t)->number(t, p);
	if (t->sgn)
		*out = (struct Value){.kind = V_INT, .i = (s64)v};
	else
		*out = (struct Value){.kind = V_UINT, .u = v};
}

// ---- min, max

static void minmax_merge(const struct Type *t, u32 size, u8 *acc, const u8 *p)
{
	struct RtMinMax a, v;
	memcpy(&a, acc, sizeof(a));
	memcpy(&v, p, sizeof(v));
	if (!v.is_set)
		return;
	bool less = t->sgn ? (s64)v.val < (s64)a.val : v.val < a.val;
	if (!a.is_set || (v.val != a.val && less == (t->kind == TY_MIN)))
		a.val = v.val;
	a.is_set = 1;
	memcpy(acc, &a, sizeof(a));
}

// ---- avg, stats

// 0 when count is.
static u64 average(u64 total, u64 count, bool sgn)
{
	if (!count)
		return 0;
	if (!sgn)
		return total / count;
	return count == UINT64_MAX ? -total : (u64)((s64)total / (s64)count); // INT64_MIN / -1 would trap
}

static u64 avg_number(const struct Type *t, const u8 *p)
{
	struct RtAvg av;
	memcpy(&av, p, sizeof(av));
	return average(av.total, av.count, t->sgn);
}

static void stats_decode(struct RunCtx *rc, struct Arena *a, const struct Type *t, const u8 *p, struct Value *out)
{
	struct RtAvg av;
	memcpy(&av, p, sizeof(av));
	*out = (struct Value){.kind = V_STATS, .u = av.count, .avg = (s64)avg_number(t, p), .total = (s64)av.total, .uns = !t->sgn};
}

// ---- hist, lhist

static u64 buckets_rank(const struct Type *t, const u8 *p)
{
	u64 sum = 0;
	for (u32 i = 0; i + 8 <= t->size; i += 8)
		sum += get(p + i);
	return sum;
}

// Lower bound of a power-of-two bucket (the inverse of the index type/type.c describes); bucket 0 holds the negative values.
static s64 hist_lo(u32 index, u32 bits)
{
	u32 j = index - 1, n = 1u << bits;
	if (!index)
		return INT64_MIN;
	if (j < n)
		return j;
	u32 power = (j >> bits) - 1;
	if (power + bits >= 63)
		return INT64_MAX; // 2^63
	return (s64)((u64)(n + (j & (n - 1))) << power);
}

static void buckets_decode(struct RunCtx *rc, struct Arena *a, const struct Type *t, const u8 *p, struct Value *out)
{
	u32 n = t->size / 8, first = n, last = 0;
	for (u32 i = 0; i < n; i++) {
		if (!get(p + 8 * (size_t)i))
			continue;
		first = MIN(first, i);
		last = i;
	}
	*out = (struct Value){.kind = t->kind == TY_HIST ? V_HIST : V_LHIST, .hist_bits = t->hist_bits, .lhist_step = t->lhist_step};
	if (first == n)
		return;
	out->nbuckets = last - first + 1;
	out->buckets = arena_new_n(a, struct HistBucket, out->nbuckets);
	for (u32 i = first; i <= last; i++) {
		struct HistBucket *b = &out->buckets[i - first];
		b->count = get(p + 8 * (size_t)i);
		if (t->kind == TY_HIST) {
			b->lo = hist_lo(i, t->hist_bits);
			b->hi = i ? hist_lo(i + 1, t->hist_bits) : 0;
		} else {
			b->lo = i ? t->lhist_min + (s64)(i - 1) * t->lhist_step : INT64_MIN;
			b->hi = i + 1 < n ? t->lhist_min + (s64)i * t->lhist_step : INT64_MAX;
		}
	}
}

static bool buckets_empty(const struct Value *v)
{
	return !v->nbuckets;
}

// ---- quantiles

static void quantiles_merge(const struct Type *t, u32 size, u8 *acc, const u8 *p)
{
	u32 first = sizeof(struct RtQuantiles);
	u64 max = MAX(get(acc), get(p));
	words_merge(t, size - first, acc + first, p + first);
	put(acc, max);
}

static u64 quantiles_count(const struct Type *t, const u8 *p)
{
	u64 sum = 0;
	for (u32 i = sizeof(struct RtQuantiles); i + 8 <= t->size; i += 8)
		sum += get(p + i);
	return sum;
}

// The middle of the bucket that holds the value of that rank (from 1); of negative values only that they are below 0 is known.
static struct Value quantile(const struct Type *t, const u8 *p, u64 rank, s64 max)
{
	u32 n = (t->size - (u32)sizeof(struct RtQuantiles)) / 8, i = 0;
	for (u64 below = 0; i < n - 1; i++) {
		below += get(p + sizeof(struct RtQuantiles) + 8 * (size_t)i);
		if (below >= rank)
			break;
	}
	if (!i)
		return (struct Value){.kind = V_STR, .text = "<0", .len = 2};
	s64 lo = hist_lo(i, t->hist_bits), hi = hist_lo(i + 1, t->hist_bits);
	return (struct Value){.kind = V_INT, .i = MIN(lo + (hi - lo) / 2, max)};
}

static void quantiles_decode(struct RunCtx *rc, struct Arena *a, const struct Type *t, const u8 *p, struct Value *out)
{
	static const char *names[] = {"p50", "p90", "p99", "p99.9", "max"};
	static const u32 permille[] = {500, 900, 990, 999};
	u64 count = quantiles_count(t, p);
	s64 max = (s64)(get(p) ^ (u64)INT64_MIN);
	*out = (struct Value){.kind = V_RECORD, .names = names};
	if (!count)
		return;
	out->n = ARRAY_LEN(names);
	out->items = arena_new_n(a, struct Value, out->n);
	for (u32 i = 0; i < ARRAY_LEN(permille); i++) // the least rank with that share of all at or below it
		out->items[i] = quantile(t, p, (u64)(((unsigned __int128)count * permille[i] + 999) / 1000), max);
	out->items[ARRAY_LEN(permille)] = (struct Value){.kind = V_INT, .i = max};
}

static bool quantiles_empty(const struct Value *v)
{
	return !v->n;
}

// ---- tseries

// Slots of one place in the ring: the newest interval wins, values of the same interval are aggregated.
static void merge_slot(const struct Type *t, struct RtTsSlot *a, const struct RtTsSlot *v)
{
	if (!v->epoch || v->epoch < a->epoch)
		return;
	if (v->epoch > a->epoch) {
		*a = *v;
		return;
	}
	bool less = t->sgn ? (s64)v->val < (s64)a->val : v->val < a->val;
	switch (t->ts_agg) {
	case TS_AGG_LAST:
		if (v->meta > a->meta)
			*a = *v;
		break;
	case TS_AGG_AVG:
		a->val += v->val;
		a->meta += v->meta;
		break;
	case TS_AGG_SUM:
		a->val += v->val;
		break;
	case TS_AGG_MIN:
		a->val = less ? v->val : a->val;
		break;
	case TS_AGG_MAX:
		a->val = less ? a->val : v->val;
		break;
	}
}

static void tseries_merge(const struct Type *t, u32 size, u8 *acc, const u8 *p)
{
	struct RtTsSlot a, v;
	for (u32 i = 0; i + sizeof(a) <= size; i += sizeof(a)) {
		memcpy(&a, acc + i, sizeof(a));
		memcpy(&v, p + i, sizeof(v));
		merge_slot(t, &a, &v);
		memcpy(acc + i, &a, sizeof(a));
	}
}

static bool tseries_is_wide(const struct Type *t, u32 size, const u8 *p)
{
	struct RtTsSlot s;
	for (u32 i = 0; (t->ts_agg == TS_AGG_SUM || t->ts_agg == TS_AGG_AVG) && i + sizeof(s) <= size; i += sizeof(s)) {
		memcpy(&s, p + i, sizeof(s));
		if (s.epoch && wide_sum(t, s.val))
			return true;
	}
	return false;
}

static int by_epoch(const void *x, const void *y)
{
	const struct RtTsSlot *a = x, *b = y;
	return a->epoch < b->epoch ? -1 : a->epoch > b->epoch;
}

// The last ts_n intervals up to the newest that has a value, from the first that has one. (Maps with keys share one range:
// tseries_finish widens it.)
static void tseries_decode(struct RunCtx *rc, struct Arena *a, const struct Type *t, const u8 *p, struct Value *out)
{
	struct RtTsSlot *s = arena_new_n(a, struct RtTsSlot, t->ts_n);
	u32 n = 0;
	for (u32 i = 0; i < t->ts_n && (i + 1) * sizeof(*s) <= t->size; i++) {
		memcpy(&s[n], p + i * sizeof(*s), sizeof(*s));
		n += s[n].epoch != 0;
	}
	*out = (struct Value){.kind = V_TSERIES, .uns = !t->sgn, .ts_interval = t->ts_interval};
	if (!n)
		return;
	qsort(s, n, sizeof(*s), by_epoch);
	u64 last = s[n - 1].epoch, from = last >= t->ts_n ? last - t->ts_n + 1 : 0;
	u32 k = 0;
	while (s[k].epoch < from)
		k++;
	from = s[k].epoch;
	out->points = arena_new_n(a, struct TsPoint, (size_t)(last - from + 1));
	for (u64 i = 0; i <= last - from; i++) {
		u64 e = from + i;
		struct TsPoint *pt = &out->points[out->npoints++];
		pt->epoch_ns = e * t->ts_interval + (u64)clock_to_wall(rc, CLOCK_TAI);
		for (; k < n && s[k].epoch <= e; k++) {
			u64 v = s[k].val;
			if (t->ts_agg == TS_AGG_AVG)
				v = average(v, s[k].meta, t->sgn);
			pt->val = (s64)v;
			pt->has = true;
		}
	}
}

// All series of a map end at the same interval, the newest any of them has.
static void tseries_finish(struct Arena *a, const struct Type *t, struct MapReport *r)
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
		u64 drop = have + missing > t->ts_n ? have + missing - t->ts_n : 0;
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

static bool tseries_empty(const struct Value *v)
{
	return !v->npoints;
}

// ---- the table

static const struct Aggr aggrs[TY_KINDS] = {
	[TY_COUNT] = {.merge = words_merge, .number = word_number, .rank = word_number, .decode = number_decode},
	[TY_SUM] = {.merge = words_merge, .is_wide = word_is_wide, .number = word_number, .rank = word_number, .decode = number_decode},
	[TY_MIN] = {.merge = minmax_merge, .number = word_number, .rank = word_number, .decode = number_decode},
	[TY_MAX] = {.merge = minmax_merge, .number = word_number, .rank = word_number, .decode = number_decode},
	[TY_AVG] = {.merge = words_merge, .is_wide = word_is_wide, .number = avg_number, .rank = avg_number, .decode = number_decode, .stats = true},
	[TY_STATS] = {.merge = words_merge, .is_wide = word_is_wide, .rank = avg_number, .decode = stats_decode, .stats = true},
	[TY_HIST] = {.merge = words_merge, .rank = buckets_rank, .decode = buckets_decode, .is_empty = buckets_empty},
	[TY_QUANTILES] = {.merge = quantiles_merge, .rank = quantiles_count, .decode = quantiles_decode, .is_empty = quantiles_empty},
	[TY_LHIST] = {.merge = words_merge, .rank = buckets_rank, .decode = buckets_decode, .is_empty = buckets_empty},
	[TY_TSERIES] = {.merge = tseries_merge, .is_wide = tseries_is_wide, .decode = tseries_decode, .is_empty = tseries_empty, .finish = tseries_finish},
};

const struct Aggr *aggr_of(const struct Type *t)
{
	assert(aggrs[t->kind].merge);
	return &aggrs[t->kind];
}
