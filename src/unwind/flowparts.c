// Rules of much code without unwind tables, tens of MB of it: GraalVM's native images, programs in Rust or C++ that are built without them (Deno, Bun, npm's rspack). flow.c over
// a part at a time, so that what is held in memory is a few bytes for each byte of a part. In: an ELF file, ranges of its code. Out: rows, as numbers of rules.
// Parts end between functions. The first pass over all of them learns which functions are called and which of these do not return, the second gives the rows. A jump to another
// part tells nothing of a function: its own ends prove it. Invariant: a part has at most PART bytes.
#include "unwind/internal.h"
#include <stdlib.h>

#define PART (4u << 20)
#define PASSES 2

// Where the part ends: n, or where a function begins.
static u64 part_end(const struct FlowMachine *m, const u8 *p, u64 n, u64 vaddr)
{
	for (u64 end = n - n % m->unit; end > n / 2; end -= m->unit)
		if (!((vaddr + end) % 16) && ((m->filler && p[end - 1] == m->filler) || m->begins(NULL, p + end, n - end, vaddr + end)))
			return end;
	return n;
}

// The part of the range at `from`: its bytes, to be freed, or NULL if they cannot be read.
static u8 *read_part(const struct ElfCfi *e, const struct FlowRange *r, u64 from, const struct FlowMachine *m, u64 *n)
{
	*n = MIN(r->to - from, (u64)PART);
	u8 *p = xmalloc(*n);
	if (!elfcfi_code(e, r->seg, from, p, *n)) {
		free(p);
		return NULL;
	}
	if (*n < r->to - from)
		*n = part_end(m, p, *n, from);
	return p;
}

void flow_pack(FlowRows *rows, struct RuleSet *rules, PackedRows *out)
{
	for (size_t i = 0; i < rows->n; i++)
		if (rows->p[i].pc < 1ull << 48) // of no malformed file
			vec_push(out, UW_ROW(rows->p[i].pc, ruleset_add(rules, &rows->p[i].rule)));
	vec_deinit(rows);
}

// One part, in the last pass with its rows.
static void part(struct Flow *f, const struct FlowIn *in, const struct FlowCode *c, bool last, struct RuleSet *rules, PackedRows *out)
{
	FlowRows rows = {0};
	flow_code(f, c, 1);
	flow_pass(f, in);
	if (last)
		flow_give(f, in->by_sp, &rows);
	flow_code(f, NULL, 0);
	flow_pack(&rows, rules, out);
}

bool flow_parts(const struct ElfCfi *e, const struct FlowRange *ranges, size_t nranges, const struct FlowIn *in, struct RuleSet *rules, PackedRows *out)
{
	struct Flow f;
	flow_open(&f, in);
	f.parts = true;
	f.lowest = nranges ? ranges[0].from : 0;
	f.highest = nranges ? ranges[nranges - 1].to : 0;
	for (u32 pass = 0; pass <= PASSES && !f.stopped; pass++)
		for (size_t i = 0; i < nranges; i++)
			for (u64 from = ranges[i].from, n; from < ranges[i].to && !f.stopped; from += n) {
				f.stopped = uwhurry_stop(in->hurry);
				u8 *p = read_part(e, &ranges[i], from, in->machine, &n);
				if (!p)
					break;
				struct FlowCode c = {from, n, p};
				if (!pass)
					flow_takes(&f, &c);
				else if (!flow_only_padding(in->machine, p, n))
					part(&f, in, &c, pass == PASSES, rules, out);
				free(p);
			}
	bool done = !f.stopped;
	flow_close(&f);
	return done;
}
