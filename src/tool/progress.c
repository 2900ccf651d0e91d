// The progress line of a long trace: on a terminal, on standard error, gone before a report is printed.
// In: the script's map of samples, the runtime's counters. Out: one line, drawn over itself. Invariant: reading what it shows takes at most a fiftieth
// of the time, however many stacks and processors there are.
#include "bpf/bpf.h"
#include "bpfrt/abi.h"
#include "tool/internal.h"

#define FIRST_NS 2000000000ull
#define EVERY_NS 1000000000ull
#define COST 50 // times what one look took until the next one

void progress_init(struct Progress *p, u64 now_ns)
{
	*p = (struct Progress){.on = isatty(STDERR_FILENO), .begin_ns = now_ns, .next_ns = now_ns + FIRST_NS};
}

void progress_erase(struct Progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr); // ECMA-48: erase in line
	p->shown = false;
}

// Rows and the sum of their values; since the last report when reports come by intervals.
static bool totals(struct RunCtx *rc, const struct ToolOpts *o, u64 *rows, u64 *sum)
{
	struct MapDef *m = o->keyed ? o->keyed->def : o->tool->script ? NULL : program_map(rc->prog, "@samples");
	struct MapDump d = {0};
	*rows = *sum = 0;
	if (!m)
		return o->tool->script; // without stacks: the time is something too
	struct err *e = map_dump(m, &d);
	*rows = d.n;
	for (u32 i = 0; !e && i < d.n; i++) {
		u64 v = 0;
		memcpy(&v, d.vals + (size_t)i * d.val_size, MIN(sizeof(v), (size_t)d.val_size));
		*sum += v;
	}
	map_dump_free(&d);
	err_free(e);
	return !e;
}

// Times are shown as seconds, as far as they can be told by their unit.
static void sum_text(const struct ToolOpts *o, u64 sum)
{
	const struct ReportForm *f = &o->form;
	u64 second = (!strcmp(f->unit, "us") ? 1000000 : !strcmp(f->unit, "ms") ? 1000 : 0) * MAX(f->div, 1u);
	if (second)
		fprintf(stderr, "%llu.%03llu s%s", (unsigned long long)(sum / second), (unsigned long long)(sum % second * 1000 / second),
			o->tool->script ? "" : " of waits");
	else
		fprintf(stderr, "%llu %s", (unsigned long long)(sum / MAX(f->div, 1u)), o->tool->script && strcmp(f->unit, "count") ? f->unit : "events");
}

void progress_tick(struct Progress *p, struct RunCtx *rc, const struct ToolOpts *o, u64 now_ns, u64 (*clock)(void))
{
	u64 rows, sum, sec = (now_ns - p->begin_ns) / 1000000000ull;
	struct RtCounters c;
	if (!p->on || now_ns < p->next_ns || !totals(rc, o, &rows, &sum))
		return;
	if (!read_counters(rc->prog, &c))
		memset(&c, 0, sizeof(c));
	u64 lost = c.lost_events + c.map_full + c.map_refused + c.stack_full + c.stack_collision + c.stack_kfail + c.stack_ufail + c.scratch_busy;
	fprintf(stderr, "\r\033[K%llu:%02llu  ", (unsigned long long)(sec / 60), (unsigned long long)(sec % 60));
	if (o->keyed || !o->tool->script) {
		sum_text(o, sum);
		fprintf(stderr, ", %llu unique stacks, ", (unsigned long long)rows);
	}
	fprintf(stderr, "%llu lost", (unsigned long long)lost);
	fflush(stderr);
	p->shown = true;
	p->next_ns = now_ns + MAX(EVERY_NS, (clock() - now_ns) * COST);
}
