// What a program could not do, counted. See rt.h.
#include "bpfrt/rt.h"

#define MAP_IS_FULL (-7) // -E2BIG

RT_MAP_EXTERN(rt_counters);
#ifndef RT_HOST
RT_CONST(u32, rt_may_goto, 0); // rt.h: RT_LOOP
#endif

static RT_INLINE u64 add(u64 off, u64 n)
{
	u32 zero = 0;
	char *c = bpf_map_lookup_elem(&rt_counters, &zero);
	RT_BARRIER(off); // one register for the check and the access
	if (c && off <= sizeof(struct RtCounters) - 8)
		*(u64 *)(c + off) += n;
	return 0;
}

static RT_INLINE u64 count(u64 off)
{
	return add(off, 1);
}

// Losses are rare: out of the way of the program.
RT_FN u64 rt_count_loss(u64 off)
{
	return count(off);
}

RT_FN u64 rt_count_told(u64 off)
{
	return add(off, -1ULL);
}

RT_FN u64 rt_count_map_loss(s64 ret)
{
	return count(ret == MAP_IS_FULL ? offsetof(struct RtCounters, map_full) : offsetof(struct RtCounters, map_refused));
}
