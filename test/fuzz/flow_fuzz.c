// Code that nobody vouches for, read as if it had no unwind tables (unwind/flow.c). First byte: bit 0 arm64, bits 1 to 3 FlowIn's keep_frames, image and by_sp;
// second: where the kernel enters. Rows ascend, lie in the code, and say what the walker can follow.
#include "unwind/internal.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_row(const struct FlowRow *r, u64 from, u64 size, u32 regs)
{
	const struct RtUwRule *rule = &r->rule;
	check(r->pc - from < size);
	check(rule->kind == RT_UW_NONE || rule->kind == RT_UW_END || rule->kind == RT_UW_REG || rule->kind == RT_UW_DEREF);
	check(rule->reg < regs && (rule->ra_kind != RT_UW_RA_REG || (u32)rule->ra < regs));
	check(rule->kind != RT_UW_REG || (rule->off >= 0 && rule->off <= FLOW_MAX_FRAME));
	for (u32 k = 0; k < RT_UW_SLOTS; k++)
		check(!(rule->saved >> k & 1) || rule->slot[k] < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	u64 from = 0x10000, n = size - 2, start = from;
	u8 *p = memcpy(xmalloc(n), data + 2, n); // exact, so that the sanitizer sees one byte too many
	struct FlowCode c = {from, n, p};
	FlowRows out = {0};
	bool arm = data[0] & 1;
	struct FlowIn in = {.machine = arm ? &flow_arm64 : &flow_x86, .code = &c, .ncode = 1, .starts = &start, .nstarts = 1, .entry = from + data[1],
			    .keep_frames = data[0] & 2, .image = !arm && data[0] & 4, .by_sp = data[0] & 8};
	check(flow_rows(&in, &out));
	for (size_t i = 0; i < out.n; i++) {
		check(!i || out.p[i].pc > out.p[i - 1].pc);
		check_row(&out.p[i], from, n, arm ? 32 : 16);
	}
	vec_deinit(&out);
	free(p);
	return 0;
}
