// Rows of the code that has no entries (gaps.c), by what its instructions do: flow.c, of much code flowparts.c. In: bytes and ranges of a file. Out: rows ascending by address.
// Invariant: segments of a malformed file may overlap; what does is read once.
#include "unwind/internal.h"
#include <stdlib.h>
#include <string.h>

static int by_vaddr(const void *a, const void *b)
{
	const struct FlowCode *x = a, *y = b;
	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static int by_from(const void *a, const void *b)
{
	const struct FlowRange *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

// What ends at an address comes before what begins there.
static int by_pc(const void *a, const void *b)
{
	const struct FlowRow *x = a, *y = b;
	if (x->pc != y->pc)
		return x->pc < y->pc ? -1 : 1;
	return (x->rule.kind != RT_UW_NONE) - (y->rule.kind != RT_UW_NONE);
}

static void add_veneers(struct Gaps *g, FlowRows *out)
{
	if (!g->veneers.n)
		return;
	for (size_t i = 0; i < g->veneers.n; i++)
		vec_push(out, g->veneers.p[i]);
	qsort(out->p, out->n, sizeof(*out->p), by_pc);
	vec_deinit(&g->veneers);
}

static bool whole_rows(struct Gaps *g, struct FlowIn *in, FlowRows *out)
{
	if (!g->code.n)
		return true;
	qsort(g->code.p, g->code.n, sizeof(*g->code.p), by_vaddr);
	size_t apart = 1; // segments of a malformed file may overlap
	for (size_t i = 1; i < g->code.n; i++)
		if (g->code.p[i].vaddr >= g->code.p[apart - 1].vaddr + g->code.p[apart - 1].size)
			g->code.p[apart++] = g->code.p[i];
		else
			free((void *)g->code.p[i].p);
	g->code.n = apart;
	in->code = g->code.p;
	in->ncode = (u32)g->code.n;
	return flow_rows(in, out);
}

// V8's builtins in a file without symbols for them are followed as those that have some, from where each begins, and are no part of the other code.
static bool builtin_rows(struct Gaps *g, const struct ElfCfi *e, const struct FlowIn *in, struct RuleSet *rules, PackedRows *out)
{
	struct V8Blob v8;
	VEC(struct FlowRange) rest = {0};
	FlowRows rows = {0};
	u8 *p = NULL;
	if (in->machine != &flow_x86 || in->image || in->keep_frames || !v8blob_find(&e->file, &v8))
		return true;
	u64 end = v8.code + v8.size;
	for (size_t i = 0; i < g->parts.n; i++) {
		struct FlowRange r = g->parts.p[i];
		if (v8.code >= r.from && end <= r.to && !p) {
			p = xmalloc(v8.size);
			if (!elfcfi_code(e, r.seg, v8.code, p, v8.size))
				memset(p, 0, v8.size);
		}
		if (r.from < MIN(r.to, v8.code))
			vec_push(&rest, ((struct FlowRange){r.seg, r.from, MIN(r.to, v8.code)}));
		if (MAX(r.from, end) < r.to)
			vec_push(&rest, ((struct FlowRange){r.seg, MAX(r.from, end), r.to}));
	}
	bool done = true;
	if (p) {
		struct FlowCode c = {v8.code, v8.size, p};
		struct FlowIn apart = *in;
		apart.code = &c;
		apart.ncode = 1;
		apart.starts = v8.starts.p;
		apart.nstarts = (u32)v8.starts.n;
		apart.keep_frames = true;
		done = flow_rows(&apart, &rows);
		flow_pack(&rows, rules, out);
		g->parts.n = 0;
		for (size_t i = 0; i < rest.n; i++)
			vec_push(&g->parts, rest.p[i]);
	}
	vec_deinit(&rest);
	vec_deinit(&v8.starts);
	free(p);
	return done;
}

static bool part_rows(struct Gaps *g, const struct ElfCfi *e, const struct FlowIn *in, struct RuleSet *rules, PackedRows *out)
{
	if (!g->parts.n || g->parts_size > (e->is_native_image ? FLOW_IMAGE_MAX : FLOW_PARTS_MAX))
		return true;
	if (!builtin_rows(g, e, in, rules, out))
		return false;
	bool others = out->n;
	qsort(g->parts.p, g->parts.n, sizeof(*g->parts.p), by_from);
	size_t apart = 1;
	for (size_t i = 1; i < g->parts.n; i++)
		if (g->parts.p[i].from >= g->parts.p[apart - 1].to)
			g->parts.p[apart++] = g->parts.p[i];
	bool done = flow_parts(e, g->parts.p, apart, in, rules, out);
	if (others)
		qsort(out->p, out->n, sizeof(*out->p), flow_ascending);
	return done;
}

bool gaps_rows(struct Gaps *g, const struct ElfCfi *e, struct RuleSet *rules, const struct UwHurry *hurry, PackedRows *out)
{
	AddrList starts = {0};
	FlowRows rows = {0};
	bool v8 = g->code.n + g->parts.n && elfcfi_starts(e, &starts);
	struct FlowIn in = {.machine = gaps_machine(e), .starts = starts.p, .nstarts = (u32)starts.n, .entry = e->entry, .hurry = hurry, .file = &e->file,
			    .keep_frames = v8 && !e->is_native_image, .image = e->is_native_image};
	bool follow = in.machine == &flow_x86 || !v8;
	bool done = !follow || whole_rows(g, &in, &rows);
	add_veneers(g, &rows);
	flow_pack(&rows, rules, out);
	done = done && (!follow || part_rows(g, e, &in, rules, out));
	for (size_t i = 0; i < g->code.n; i++)
		free((void *)g->code.p[i].p);
	vec_deinit(&g->code);
	vec_deinit(&g->parts);
	vec_deinit(&g->sections);
	vec_deinit(&starts);
	return done;
}
