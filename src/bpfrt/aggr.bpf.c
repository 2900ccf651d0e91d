// Aggregations too long to generate: time series, percentiles. See rt.h for what each function takes.
// Invariant: a slot is written only when its interval is the event's; a slot of an older interval is taken over, never mixed.
#include "bpfrt/rt.h"

static RT_INLINE void ts_start(struct RtTsSlot *s, u64 val, u64 now, u64 epoch, u64 agg)
{
	s->val = val;
	s->meta = agg == RT_TS_LAST ? now : 1;
	s->epoch = epoch;
}

static RT_INLINE void ts_add(struct RtTsSlot *s, u64 val, u64 now, u64 agg, bool sgn)
{
	bool less = sgn ? (s64)val < (s64)s->val : val < s->val;
	if (agg == RT_TS_LAST) {
		s->val = val;
		s->meta = now;
	} else if (agg == RT_TS_AVG) {
		s->val += val;
		s->meta++;
	} else if (agg == RT_TS_SUM) {
		s->val += val;
	} else if (less == (agg == RT_TS_MIN)) {
		s->val = val;
	}
}

RT_FN u64 rt_tseries(struct RtTsSlot *slots, u64 val, u64 now, u64 interval, u64 spec)
{
	u64 n = spec >> 32, epoch = now / interval, i = epoch % n;
	u64 agg = spec & 0xff;
	bool sgn = spec >> 8 & 1;
	i *= sizeof(*slots);
	n *= sizeof(*slots);
	RT_BARRIER(i);
	if (i > n - sizeof(*slots)) // never: the verifier does not follow %
		return 0;
	struct RtTsSlot *s = (void *)((char *)slots + i);
	if (s->epoch != epoch)
		ts_start(s, val, now, epoch, agg);
	else
		ts_add(s, val, now, agg, sgn);
	return 0;
}

// ---- percentiles. What rounds change lies in `all`, a map's value, whose content the verifier does not follow.

struct BucketsCtx {
	struct RtBuckets *all;
	const u64 *part;
	u64 bytes; // of the buckets
};

// Bucket i's place, or false.
static RT_INLINE bool bucket_at(const struct BucketsCtx *c, u64 i, u64 *at)
{
	i = (i & RT_BUCKETS_MASK) * 8;
	RT_BARRIER(i); // one register for the check and the access
	*at = i;
	return i <= c->bytes - 8;
}

static long bucket_add(u64 i, void *ctx)
{
	struct BucketsCtx *c = ctx;
	u64 at;
	if (!bucket_at(c, i, &at))
		return 1;
	u64 n = *(const u64 *)((const char *)c->part + at);
	*(u64 *)((char *)c->all->bucket + at) += n;
	c->all->total += n;
	return 0;
}

RT_FN u64 rt_buckets_add(struct RtBuckets *all, const u64 *part, u64 n)
{
	struct BucketsCtx c = {all, part, n * 8};
	bpf_loop((u32)n, bucket_add, &c, 0);
	return 0;
}

static long bucket_find(u64 i, void *ctx)
{
	struct BucketsCtx *c = ctx;
	u64 at;
	if (!bucket_at(c, i, &at))
		return 1;
	c->all->below += *(u64 *)((char *)c->all->bucket + at);
	c->all->at = i;
	return c->all->below >= c->all->rank;
}

RT_FN u64 rt_buckets_find(struct RtBuckets *all, u64 n, u64 num, u64 den)
{
	struct BucketsCtx c = {all, all->bucket, n * 8};
	u64 total = all->total;
	if (!total)
		return RT_BUCKETS_NONE;
	if (num > den)
		num = den;
	u64 rank = total / den * num + (total % den * num + den - 1) / den; // the least with that share of all at or below it
	all->rank = rank ? rank : 1;
	all->below = 0;
	all->at = 0;
	bpf_loop((u32)n, bucket_find, &c, 0);
	return all->at;
}

// The least number that lies beyond bucket i, from 1 on.
static RT_INLINE u64 hist_end(u64 i, u64 k)
{
	u64 n = 1ULL << (k & 7), power = i >> (k & 7);
	if (i < n)
		return i;
	power -= 1;
	if (power + k >= 63)
		return 1ULL << 63;
	return (n + (i & (n - 1))) << (power & 63);
}

RT_FN s64 rt_hist_top(u64 i, u64 k)
{
	if (i == RT_BUCKETS_NONE)
		return 0;
	return i ? (s64)(hist_end(i, k) - 1) : -1;
}

RT_FN s64 rt_quantile(u64 i, u64 k, u64 order_max, u64 num, u64 den)
{
	s64 max = (s64)(order_max ^ 1ULL << 63);
	if (i == RT_BUCKETS_NONE)
		return 0;
	if (num >= den)
		return max;
	s64 at = -1;
	if (i) {
		u64 lo = hist_end(i - 1, k), hi = hist_end(i, k);
		hi -= hi >> 63; // as reports have it
		at = (s64)(lo + (hi - lo) / 2);
	}
	return at < max ? at : max;
}

RT_FN s64 rt_lhist_top(u64 i, u64 n, s64 min, s64 step)
{
	if (i == RT_BUCKETS_NONE)
		return 0;
	return i + 1 < n ? min + (s64)i * step - 1 : (s64)(~0ULL >> 1);
}
