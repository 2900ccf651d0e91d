// Aggregations too long to generate: time series. See rt.h for what each function takes.
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
