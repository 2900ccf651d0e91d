// What fuzz targets make of bytes: numbers one after the other; zeros past their end.
#ifndef SONDE_CURSOR_H
#define SONDE_CURSOR_H
#include "base/base.h"

struct Input {
	const u8 *p, *end;
};

static inline u64 take(struct Input *in, u32 n)
{
	u64 v = 0;
	n = MIN(n, (u32)(in->end - in->p));
	memcpy(&v, in->p, n);
	in->p += n;
	return v;
}

static inline void check(bool ok)
{
	if (!ok)
		abort();
}
#endif
