// offcputime --check: does the time of each thread add up?
// In: the script's maps @elapsed (from the thread's birth, or from the start, to its end), @cpu, @samples (by thread and kind), @unseen (between two
// departures without a return), @name, and in a pid namespace @shown, its ids there. Out: a table and a verdict; status 1 when a thread's parts miss its elapsed time by more than 1 %. The parts
// are sums over switches, the whole is one difference.
#include "tool/internal.h"
#include "bpf/bpf.h"

struct Line {
	u64 tid, shown, elapsed, cpu, part[3], unseen; // nanoseconds
	const char *name;
};
struct Lines {
	VEC(struct Line) v;
	struct Arena arena;
};

static struct Line *line_of(struct Lines *l, u64 tid)
{
	for (size_t i = 0; i < l->v.n; i++)
		if (l->v.p[i].tid == tid)
			return &l->v.p[i];
	return NULL;
}

static u64 int_of(const struct Value *v)
{
	return v->kind == V_UINT ? v->u : (u64)v->i;
}

static struct err *each_row(struct Lines *l, struct RunCtx *rc, const char *map, void (*fn)(struct Lines *, const struct Value *key, const struct Value *val))
{
	struct MapReport rep = {0};
	struct MapDef *m = program_map(rc->prog, map);
	struct err *e = m ? map_read(rc, &l->arena, m, 0, 0, &rep) : NULL;
	for (u32 i = 0; !e && i < rep.n; i++)
		fn(l, &rep.entries[i].key, &rep.entries[i].val);
	return e;
}

static void add_elapsed(struct Lines *l, const struct Value *key, const struct Value *val)
{
	vec_push(&l->v, ((struct Line){.tid = int_of(key), .shown = int_of(key), .elapsed = int_of(val), .name = ""}));
}

static void add_cpu(struct Lines *l, const struct Value *key, const struct Value *val)
{
	struct Line *t = line_of(l, int_of(key));
	if (t)
		t->cpu += int_of(val);
}

static void add_unseen(struct Lines *l, const struct Value *key, const struct Value *val)
{
	struct Line *t = line_of(l, int_of(key));
	if (t)
		t->unseen += int_of(val);
}

static void add_shown(struct Lines *l, const struct Value *key, const struct Value *val)
{
	struct Line *t = line_of(l, int_of(key));
	if (t)
		t->shown = int_of(val);
}

static void add_name(struct Lines *l, const struct Value *key, const struct Value *val)
{
	struct Line *t = line_of(l, int_of(key));
	if (t)
		t->name = val->text;
}

// Key: thread, name, stacks, kind
static void add_sample(struct Lines *l, const struct Value *key, const struct Value *val)
{
	struct Line *t = key->n ? line_of(l, int_of(&key->items[0])) : NULL;
	u64 kind = key->n ? int_of(&key->items[key->n - 1]) : 0;
	if (t && kind < ARRAY_LEN(t->part))
		t->part[kind] += int_of(val);
}

static int by_tid(const void *a, const void *b)
{
	const struct Line *x = a, *y = b;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void ms(u64 ns, FILE *out)
{
	fprintf(out, " %8llu.%03llu", (unsigned long long)(ns / 1000000), (unsigned long long)(ns / 1000 % 1000));
}

// Prints a thread; by how much its parts miss the whole, in percent.
static double print_line(const struct Line *t, FILE *out)
{
	u64 sum = t->cpu + t->part[0] + t->part[1] + t->part[2] + t->unseen;
	double miss = t->elapsed ? 100.0 * ((double)sum - (double)t->elapsed) / (double)t->elapsed : 0;
	struct Str name = {0};
	str_add_shown(&name, t->name, strlen(t->name));
	fprintf(out, "%8llu %-16s", (unsigned long long)t->shown, str_text(&name));
	ms(t->elapsed, out);
	ms(t->cpu, out);
	for (u32 k = 0; k < ARRAY_LEN(t->part); k++)
		ms(t->part[k], out);
	ms(t->unseen, out);
	ms(sum, out);
	fprintf(out, " %+8.2f\n", miss);
	str_deinit(&name);
	return miss < 0 ? -miss : miss;
}

struct err *offcheck_report(const struct ToolOpts *o, struct RunCtx *rc, FILE *out)
{
	struct Lines l = {0};
	struct err *e = each_row(&l, rc, "@elapsed", add_elapsed);
	if (!e)
		e = each_row(&l, rc, "@cpu", add_cpu);
	if (!e)
		e = each_row(&l, rc, "@unseen", add_unseen);
	if (!e)
		e = each_row(&l, rc, "@name", add_name);
	if (!e)
		e = each_row(&l, rc, "@shown", add_shown);
	if (!e)
		e = each_row(&l, rc, "@samples", add_sample);
	u32 bad = 0;
	u64 unseen = 0;
	double worst = 0;
	if (l.v.n)
		qsort(l.v.p, l.v.n, sizeof(*l.v.p), by_tid);
	fprintf(out, "\n%8s %-16s %12s %12s %12s %12s %12s %12s %12s %8s\n", "TID", "COMM", "ELAPSED", "ON-CPU", "BLOCKED", "RUNQUEUE",
		"PREEMPTED", "UNSEEN", "SUM (ms)", "DIFF %");
	for (size_t i = 0; !e && i < l.v.n; i++) {
		double miss = print_line(&l.v.p[i], out);
		worst = MAX(worst, miss);
		bad += miss > 1;
		unseen += l.v.p[i].unseen;
	}
	fprintf(out, "\n%zu threads, worst difference %.2f %%: %s\n", l.v.n, worst, bad ? "NOT within 1 %" : "within 1 %");
	if (unseen)
		fprintf(out, "%llu us of them between two departures: the kernel told nobody of the return\n", (unsigned long long)unseen / 1000);
	rc->exit_code = bad || !l.v.n;
	fflush(out);
	vec_deinit(&l.v);
	arena_deinit(&l.arena);
	return e;
}
