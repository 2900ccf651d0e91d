// Rules of the code of GraalVM's native images, which have tens of MB of it and no unwind tables: flow.c over a part at a time, so that what is held in memory
// is a few bytes for each byte of a part. In: an ELF file, a range of its code. Out: rows.
// Parts end between functions: compiled Java has int3 there, up to a multiple of 16 bytes. Calls between parts tell nothing, which flow.c can do without: a function's
// own ends prove it. Invariant: a part has at most PART bytes.
#include "unwind/internal.h"
#include <stdlib.h>

#define PART (2u << 20)
#define BETWEEN 0xcc

// Where the part ends: n, or behind the last gap between functions.
static u64 part_end(const u8 *p, u64 n, u64 vaddr)
{
	for (u64 end = n; end > n / 2; end--)
		if (!((vaddr + end) % 16) && p[end - 1] == BETWEEN)
			return end;
	return n;
}

bool flow_image(const struct ElfCfi *e, const struct CfiSeg *seg, u64 from, u64 to, const struct FlowIn *in, FlowRows *out)
{
	u8 *p = xmalloc(MIN(to - from, (u64)PART));
	bool done = true;
	while (done && from < to) {
		u64 n = MIN(to - from, (u64)PART);
		if (!elfcfi_code(e, seg, from, p, n))
			break;
		if (n < to - from)
			n = part_end(p, n, from);
		struct FlowCode c = {from, n, p};
		struct FlowIn part = *in;
		part.code = &c;
		part.ncode = 1;
		if (!flow_only_padding(in->machine, p, n))
			done = flow_rows(&part, out);
		from += n;
	}
	free(p);
	return done;
}
