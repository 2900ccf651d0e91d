// Input: places of a made-up isolate's memory that are overwritten, and with what; the thread's registers. The walk of a thread whose code V8's compilers have made ends
// within its limit, with a stack that is what it says.
#include "t.h"
#include "out/report.h"
#include "walk_fix.h"
#include "v8_fix.h"
#include "cursor.h"

static u64 word(struct Input *in) // mostly an object, or an address
{
	u64 v = take(in, 2);
	return v & 1 ? HEAP + (v >> 1) % sizeof(heap) / 8 * 8 + 1 : v & 2 ? STACK + (v >> 2) % sizeof(stack) / 8 * 8 : v & 4 ? START + (v >> 3) % BYTES : v & 8 ? take(in, 8) : v << 28;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct Input in = {data, data + size};

	u64 how = take(&in, 1);
	newer = how & 4;
	start_v8();
	stack[0] = START + how % 4 * 0x20;
	for (u32 n = (u32)take(&in, 1) % 16; n--;) {
		u64 at = take(&in, 2);
		if (at & 1)
			heap[(at >> 1) % ARRAY_LEN(heap)] = word(&in);
		else if (at & 2)
			((u8 *)heap)[(at >> 2) % 0x200 + (at & 4 ? START : PLACES) - HEAP] = (u8)take(&in, 1);
		else
			stack[(at >> 2) % 40] = word(&in);
	}
	u64 ip = take(&in, 1);
	if (ip & 1)
		regs.ip = START + ip;
	for (u32 i = 0; i < 2; i++) { // the second time with what was remembered
		u64 before = rt_host.loop_steps, id = rt_ustack(NULL, 0, RT_SRC_TP);
		check(rt_host.loop_steps - before <= RT_STACK_DEEP);
		struct RtStack *st = result(id);
		check(st && st->n == RT_STACK_NFRAMES(id) && st->n >= 1 && st->why < RT_WHYS);
	}
	return 0;
}
