// A page's rows -> the record that the kernel side searches (bpfrt/stack.h, RT_UW_REC_*). Invariant: no bucket has more rows than the search of
// bpfrt/rows.bpf.c looks at.
#include "unwind/internal.h"

u32 uwrec_build(const u64 *rows, size_t n, u32 carry, u8 *out)
{
	u32 count = 0, in_bucket = 0, bucket = 0;
	u16 *idx = (u16 *)out, rule;
	u8 *lo = out + RT_UW_REC_LO;
	bool first = !n || UW_ROW_OFF(rows[0]) & ((1 << RT_UW_PAGE_BITS) - 1);
	u32 most = 65535, total = (u32)MIN(n + first, most);
	u8 *rules = out + RT_UW_REC_RULE(total);

	idx[0] = 0;
	for (size_t i = 0; count < total; i++) {
		u32 off = first && i == 0 ? 0 : (u32)UW_ROW_OFF(rows[i - first]) & ((1 << RT_UW_PAGE_BITS) - 1);
		rule = (u16)(first && i == 0 ? carry : UW_ROW_RULE(rows[i - first]));
		for (; bucket < off >> RT_UW_BUCKET_BITS; in_bucket = 0)
			idx[++bucket] = (u16)count;
		if (in_bucket == 255) { // the search of bpfrt/rows.bpf.c ends at 255: the last byte of the bucket shares a row
			count--;
			in_bucket--;
			total--;
			memmove(out + RT_UW_REC_RULE(total), rules, count * 2);
			rules = out + RT_UW_REC_RULE(total);
		}
		lo[count] = (u8)off;
		memcpy(rules + 2 * count, &rule, 2);
		count++;
		in_bucket++;
	}
	while (bucket < RT_UW_BUCKETS)
		idx[++bucket] = (u16)count;
	return RT_UW_REC_SIZE(count);
}
