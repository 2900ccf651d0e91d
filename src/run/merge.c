// Values that are kept by processor, as one. In: what the kernel hands out of a per-CPU map. Out: a value laid out as its type says.
#include "run/run.h"
#include "bpfrt/abi.h"

void map_merge_one(const struct Type *t, u32 size, void *into, const void *value)
{
	u8 *acc = into;
	const u8 *p = value;
	if (ty_is_aggr(t)) {
		aggr_of(t)->merge(t, size, acc, p);
	} else if (t->kind == TY_INT) {
		u64 a = 0, v = 0;
		memcpy(&a, acc, t->size);
		memcpy(&v, p, t->size);
		a += v;
		memcpy(acc, &a, t->size);
	} else { // no meaning over CPUs: the first CPU that has something
		for (u32 i = 0; i < size; i++)
			if (acc[i])
				return;
		memcpy(acc, p, size);
	}
}

bool map_merge(const struct Type *t, u32 value_size, const void *percpu, u32 ncpus, void *out)
{
	u32 size = MIN(value_size, t->size ? t->size : value_size);
	bool (*is_wide)(const struct Type *t, u32 size, const u8 *p) = ty_is_aggr(t) ? aggr_of(t)->is_wide : NULL;
	bool wide = false;
	memset(out, 0, size);
	for (u32 c = 0; c < ncpus; c++) {
		const u8 *p = (const u8 *)percpu + (size_t)c * RT_VALUE_SIZE(value_size);
		map_merge_one(t, size, out, p);
		wide |= is_wide && (is_wide(t, size, p) || is_wide(t, size, out)); // two that are not wide pass nothing
	}
	return wide;
}
