// sonde diff BEFORE AFTER: which functions and stacks have a larger or smaller share than before, and which only seem to.
// In: two files (input/). Out: tables with difference, interval and verdict; an exit status for scripts. Invariant: what is a duration has no verdict: how many
// events it is made of is not known.
#include "base/base.h"
#include "input/input.h"
#include "tool/internal.h"

#define FAILED 3 // exit status of --fail-if
struct Diff {
	struct InputWish wish;
	const char *out, *title, *names[2]; // names: of the two profiles
	struct OutputFiles files;
	bool json, help, no_process, strict;
	u64 top;
	double fail, spread; // fail: share, 0 never; spread: 0 not given
	VEC(const char *) same; // further profiles of the program as it was before
	bool counts; // values are numbers of events
	const char *unit;
	u64 before, after;
	struct Str left_out; // of all files, as JSON
};
struct DiffRow {
	const struct Function *f;
	const char *kind;
	struct Compared c;
};
struct Run { // one of the program as it was before
	struct Functions functions, stacks;
};
struct DiffTable {
	struct Functions all; // of both profiles
	VEC(struct DiffRow) rows;
};
static const char *const verdicts[] = {"cannot tell", "more", "less"};

static struct err *set_html(void *to, const struct Option *row, const char *val)
{
	((struct Diff *)to)->files.path[OUTPUT_html] = val;
	return NULL;
}
static struct err *set_top(void *to, const struct Option *row, const char *val)
{
	u64 *n = &((struct Diff *)to)->top;
	return parse_u64(val, n) && *n ? NULL : err_new("takes a number of rows");
}
static struct err *set_fail(void *to, const struct Option *row, const char *val)
{
	char *end;
	double x = strtod(val, &end);
	((struct Diff *)to)->fail = x / 100;
	return end != val && !strcmp(end, "%") && x > 0 && x <= 100 ? NULL : err_new("takes a share of the whole as +2%%");
}
static struct err *set_same(void *to, const struct Option *row, const char *val)
{
	vec_push(&((struct Diff *)to)->same, val);
	return NULL;
}
static struct err *set_spread(void *to, const struct Option *row, const char *val)
{
	char *end;
	double x = strtod(val, &end);
	((struct Diff *)to)->spread = x;
	return end != val && !*end && x >= 1 && x <= 1000 ? NULL : err_new("takes a number from 1 on");
}

#define FIELD(name) ((const void *)offsetof(struct Diff, name))
static const struct Option option_rows[] = {
	{0, "fail-if", "+N%", "exit status 3 if a function's share is more by N % of the whole or above, and surely more", set_fail},
	{0, "top", "N", "rows of each table (20)", set_top},
	{0, "json", NULL, "print JSON, a line for each row", set_option_flag, FIELD(json)},
	{0, "html", "FILE", "also write a page to explore: flame graph coloured by what has changed, table, search", set_html},
	{0, "title", "TEXT", "the page's heading", set_option_text, FIELD(title)},
	{0, "same", "FILE", "another profile of the program as it was before: how much runs vary is measured (may be given several times)", set_same},
	{0, "spread", "X", "runs vary X times as much (variance) as independent samples, at least (4, and without --same more the more samples there are)", set_spread},
	{0, "unit", "us|ns|bytes|...", "what folded stacks count (samples)", set_option_text, FIELD(wish.unit)},
	{0, "value", "TYPE", "of a pprof file's values those of that name", set_option_text, FIELD(wish.value)},
	{0, "no-process", NULL, "lines of folded stacks begin with a frame, not with a process", set_option_flag, FIELD(wish.no_process)},
	{'o', "output", "FILE", "what is printed goes to FILE", set_option_text, FIELD(out)},
	{0, "strict", NULL, "exit status 3 if something in the files was left out", set_option_flag, FIELD(strict)},
	{'h', "help", NULL, "this help", set_option_flag, FIELD(help)},
};

static void add_rows(struct OptionRows *rows)
{
	for (size_t i = 0; i < ARRAY_LEN(option_rows); i++)
		vec_push(&rows->v, &option_rows[i]);
}

void diff_usage(FILE *out)
{
	struct OptionRows rows = {0};
	add_rows(&rows);
	fprintf(out, "USAGE: sonde diff [options] BEFORE AFTER\n\n"
		     "Shares of functions and stacks in two profiles, their difference, and whether it is one.\n"
		     "BEFORE, AFTER: pprof, folded stacks, the text of perf script or of maps keyed by stacks.\n\nOPTIONS:\n");
	options_help(&rows, out);
	fprintf(out, "\nEXAMPLES:\n    sonde diff old.pb.gz new.pb.gz\n    sonde diff --html diff.html old.pb.gz new.pb.gz\n    sonde diff --fail-if +2%% old.folded new.folded\n");
	vec_deinit(&rows.v);
}

void diff_words(FILE *out)
{
	struct OptionRows rows = {0};
	add_rows(&rows);
	options_words(&rows, out);
	vec_deinit(&rows.v);
}

// ---- rows

// The profile with whole stacks in the place of functions
static void add_stacks(struct Functions *t, const struct StackProfile *p)
{
	struct StackProfile plain = *p;
	plain.no_lines = true;
	for (u32 i = 0; i < p->n; i++) {
		const struct StackSample *s = &p->samples[i];
		struct Str line = {0};
		str_add(&line, s->comm ? s->comm : "");
		for (u32 k = s->nuser + s->nkern; k-- > 0;) {
			const struct Frame *f = k < s->nkern ? &s->kern[k] : &s->user[k - s->nkern];
			str_addc(&line, ';');
			profile_frame_name(&plain, f, &line);
		}
		functions_put(t, str_text(&line), s->value);
		str_deinit(&line);
	}
	t->sum += profile_total(p);
}

static u64 share_of(const struct Functions *t, const char *name, bool total)
{
	const struct Function *f = functions_find(t, name);
	return !f ? 0 : total ? f->total : f->self;
}

static void add_table(struct DiffTable *t, const struct Functions *a, const struct Functions *b, bool total, const char *kind)
{
	for (size_t i = 0; i < t->all.v.n; i++) {
		const struct Function *f = &t->all.v.p[i];
		struct DiffRow r = {.f = f, .kind = kind, .c = {.before = share_of(a, f->name, total), .after = share_of(b, f->name, total)}};
		if (r.c.before + r.c.after)
			vec_push(&t->rows, r);
	}
}

static double height(double x)
{
	return x < 0 ? -x : x;
}

static int by_verdict(const void *a, const void *b)
{
	const struct DiffRow *x = a, *y = b;
	bool sx = x->c.verdict != CANNOT_TELL, sy = y->c.verdict != CANNOT_TELL;
	double dx = height(x->c.diff), dy = height(y->c.diff);
	return sx != sy ? sy - sx : dx != dy ? (dx < dy ? 1 : -1) : strcmp(x->f->name, y->f->name);
}

static double measured(const struct DiffRow *r, const struct Run *runs, size_t n)
{
	VEC(u64) met = {0}, all = {0};
	for (size_t i = 0; i < n; i++) {
		bool stack = !strcmp(r->kind, "stack");
		const struct Functions *t = stack ? &runs[i].stacks : &runs[i].functions;
		vec_push(&met, share_of(t, r->f->name, !strcmp(r->kind, "total")));
		vec_push(&all, t->sum);
	}
	double x = compare_spread(met.p, all.p, n);
	vec_deinit(&met);
	vec_deinit(&all);
	return x;
}

// Nobody has told how much runs vary, and no others were given to measure it.
static bool usual_spread(const struct Diff *d, size_t runs)
{
	return d->spread <= 0 && runs < 2;
}

// Each row varies as it was seen to vary, but not less than the rows do on average: a few runs may look alike by chance.
static void set_spreads(const struct Diff *d, struct DiffTable *t, const struct Run *runs, size_t n)
{
	double sum = 0, least = d->spread > 0 ? d->spread : COMPARE_CHANCE;
	size_t known = 0;
	for (size_t i = 0; i < t->rows.n; i++) {
		struct Compared *c = &t->rows.p[i].c;
		c->spread = measured(&t->rows.p[i], runs, n);
		sum += c->spread;
		known += c->spread > 0;
	}
	least = MAX(least, known ? sum / (double)known : 0);
	for (size_t i = 0; i < t->rows.n; i++) {
		struct Compared *c = &t->rows.p[i].c;
		c->spread = usual_spread(d, n) ? compare_usual_spread(c, d->before, d->after) : MAX(c->spread, least);
	}
}

// Equal parts of the alarms that are allowed go to functions and to stacks.
static void judge(const struct Diff *d, struct DiffTable *t, const struct Run *runs, size_t n)
{
	VEC(struct Compared) c = {0};
	set_spreads(d, t, runs, n);
	for (size_t i = 0; i < t->rows.n; i++)
		vec_push(&c, t->rows.p[i].c);
	compare_rows(c.p, c.n, d->before, d->after, COMPARE_ALPHA / 2);
	for (size_t i = 0; i < t->rows.n; i++) {
		t->rows.p[i].c = c.p[i];
		if (!d->counts) {
			t->rows.p[i].c.verdict = CANNOT_TELL;
			t->rows.p[i].c.lo = -1;
			t->rows.p[i].c.hi = 1;
		}
	}
	vec_deinit(&c);
	if (t->rows.n)
		qsort(t->rows.p, t->rows.n, sizeof(*t->rows.p), by_verdict);
}

// ---- what is printed

static double percent(u64 x, u64 of)
{
	return of ? 100.0 * (double)x / (double)of : 0;
}

static void print_row(const struct Diff *d, const struct DiffRow *r, FILE *out)
{
	struct Str name = {0};
	char range[40] = "-";
	str_add_shown(&name, r->f->name, strlen(r->f->name));
	if (d->counts)
		snprintf(range, sizeof(range), "%+.2f to %+.2f", 100 * r->c.lo, 100 * r->c.hi);
	fprintf(out, "%8.2f %8.2f %+8.2f  %-18s  %-11s  %-5s  %s\n", percent(r->c.before, d->before), percent(r->c.after, d->after), 100 * r->c.diff, range,
		verdicts[r->c.verdict], r->kind, str_text(&name));
	str_deinit(&name);
}

static void print_json(const struct Diff *d, const struct DiffRow *r, FILE *out)
{
	struct Str t = {0};
	str_addf(&t, "{\"type\": \"diff\", \"of\": \"%s\", \"name\": ", r->kind);
	str_add_json(&t, r->f->name, strlen(r->f->name));
	str_addf(&t, ", \"before\": %llu, \"after\": %llu, \"difference\": %.8f, ", (unsigned long long)r->c.before, (unsigned long long)r->c.after, r->c.diff);
	if (d->counts)
		str_addf(&t, "\"low\": %.8f, \"high\": %.8f, ", r->c.lo, r->c.hi);
	fprintf(out, "%s\"verdict\": \"%s\"}\n", str_text(&t), verdicts[r->c.verdict]);
	str_deinit(&t);
}

static void print_table(const struct Diff *d, const struct DiffTable *t, const char *what, FILE *out)
{
	size_t n = (size_t)MIN(d->top, (u64)t->rows.n), more = 0, less = 0;
	for (size_t i = 0; i < t->rows.n; i++) {
		more += t->rows.p[i].c.verdict == MORE;
		less += t->rows.p[i].c.verdict == LESS;
	}
	if (d->json) {
		for (size_t i = 0; i < t->rows.n; i++)
			print_json(d, &t->rows.p[i], out);
		return;
	}
	fprintf(out, "\n%8s %8s %8s  %-18s  %-11s  %-5s  %s\n", "BEFORE%", "AFTER%", "DIFF", "INTERVAL", "VERDICT", "OF", what);
	for (size_t i = 0; i < n; i++)
		print_row(d, &t->rows.p[i], out);
	fprintf(out, "%zu of %zu rows: %zu more, %zu less, of the others nobody can tell\n", n, t->rows.n, more, less);
}

static int print_all(const struct Diff *d, const struct DiffTable *functions, const struct DiffTable *stacks, FILE *out)
{
	int rc = 0;
	if (!d->json)
		fprintf(out, "Before: %llu %s, after: %llu %s\n", (unsigned long long)d->before, d->unit, (unsigned long long)d->after, d->unit);
	if (!d->counts)
		fprintf(stderr, "WARNING: %s are no number of events: how much they vary by chance is not known, so there is no verdict\n", d->unit);
	print_table(d, functions, "FUNCTION", out);
	print_table(d, stacks, "STACK", out);
	if (d->json)
		fputs(str_text(&d->left_out), out);
	for (size_t i = 0; d->fail > 0 && i < functions->rows.n; i++) {
		const struct DiffRow *r = &functions->rows.p[i];
		if (r->c.verdict != MORE || r->c.diff < d->fail)
			continue;
		struct Str name = {0};
		str_add_shown(&name, r->f->name, strlen(r->f->name));
		fprintf(stderr, "FAILED: %s (%s) has %.2f %% more\n", str_text(&name), r->kind, 100 * r->c.diff);
		str_deinit(&name);
		rc = FAILED;
	}
	return rc;
}

static struct err *print_to(const struct Diff *d, const struct DiffTable *functions, const struct DiffTable *stacks, int *rc)
{
	struct OutFile out;
	struct err *e = outfile_open(&out, d->out);
	if (e)
		return e;
	outfile_begin(&out);
	*rc = print_all(d, functions, stacks, out.f);
	return outfile_close(&out);
}

static void table_deinit(struct DiffTable *t)
{
	functions_deinit(&t->all);
	vec_deinit(&t->rows);
}

static struct err *load(struct Input *in, struct Diff *d, const char *path)
{
	struct err *e = input_load(in, &d->wish, path);
	if (!e)
		input_tell(in, path, &d->left_out);
	return !e && !profile_total(&in->prof) ? err_new("%s has no samples", path) : e;
}

static void run_add(struct Run *r, const struct StackProfile *p)
{
	r->functions.by_name = r->stacks.by_name = true;
	functions_add(&r->functions, p);
	add_stacks(&r->stacks, p);
}

static void run_deinit(struct Run *r)
{
	functions_deinit(&r->functions);
	functions_deinit(&r->stacks);
}

static struct err *load_same(struct Diff *d, const char *path, struct Run *r)
{
	struct Input in = {0};
	struct err *e = load(&in, d, path);
	if (!e && strcmp(in.prof.unit, d->unit))
		e = err_new("%s holds %s, not %s", path, in.prof.unit, d->unit);
	if (!e)
		run_add(r, &in.prof);
	input_deinit(&in);
	return e;
}

// The functions that vary more than all do at least
static struct err *write_page(const struct Diff *d, const struct DiffTable *functions, const struct StackProfile *a, const struct StackProfile *b)
{
	VEC(struct FunctionSpread) more = {0};
	struct ProfileDiff p = {.before = d->names[0], .after = d->names[1], .counts = d->counts, .alpha = COMPARE_ALPHA, .least = COMPARE_LEAST};
	bool usual = usual_spread(d, d->same.n + 1);
	if (usual) {
		p.spread = COMPARE_CHANCE;
		p.any = COMPARE_ANY;
		p.own = COMPARE_OWN;
	}
	for (size_t i = 0; !usual && i < functions->rows.n; i++)
		p.spread = i ? MIN(p.spread, functions->rows.p[i].c.spread) : functions->rows.p[i].c.spread;
	for (size_t i = 0; !usual && i < functions->rows.n; i++) {
		const struct DiffRow *r = &functions->rows.p[i];
		bool total = !strcmp(r->kind, "total");
		if (r->c.spread <= p.spread)
			continue;
		vec_push(&more, ((struct FunctionSpread){r->f->name, total ? 0 : r->c.spread, total ? r->c.spread : 0}));
	}
	p.spreads = more.p;
	p.nspreads = (u32)more.n;
	struct err *e = diffpage_write(a, b, &p, d->title ? d->title : "What has changed", &d->files);
	vec_deinit(&more);
	return e;
}

static struct err *diff(struct Diff *d, const struct StackProfile *a, const struct StackProfile *b, int *rc)
{
	struct Run after = {0}, *runs = xcalloc(d->same.n + 1, sizeof(*runs)); // the first one is BEFORE
	struct DiffTable functions = {.all.by_name = true}, stacks = {.all.by_name = true};
	struct err *e = NULL;
	d->unit = a->unit;
	d->counts = !strcmp(a->unit, "samples") || !strcmp(a->unit, "count");
	run_add(&runs[0], a);
	run_add(&after, b);
	for (size_t i = 0; !e && i < d->same.n; i++)
		e = load_same(d, d->same.p[i], &runs[i + 1]);
	functions_add(&functions.all, a);
	functions_add(&functions.all, b);
	add_stacks(&stacks.all, a);
	add_stacks(&stacks.all, b);
	d->before = runs[0].functions.sum;
	d->after = after.functions.sum;
	add_table(&functions, &runs[0].functions, &after.functions, false, "self");
	add_table(&functions, &runs[0].functions, &after.functions, true, "total");
	add_table(&stacks, &runs[0].stacks, &after.stacks, false, "stack");
	if (!e) {
		judge(d, &functions, runs, d->same.n + 1);
		judge(d, &stacks, runs, d->same.n + 1);
		e = outputs_check(&d->files, d->out);
		if (!e && d->files.path[OUTPUT_html])
			e = write_page(d, &functions, a, b);
		if (!e)
			e = print_to(d, &functions, &stacks, rc);
	}
	for (size_t i = 0; i <= d->same.n; i++)
		run_deinit(&runs[i]);
	free(runs);
	run_deinit(&after);
	table_deinit(&functions);
	table_deinit(&stacks);
	return e;
}

static int run(struct Diff *d, char **paths)
{
	struct Input a = {0}, b = {0};
	int rc = 1;
	struct err *e = input_spared(paths[0], &d->files, d->out);
	if (!e)
		e = input_spared(paths[1], &d->files, d->out);
	if (!e)
		e = load(&a, d, paths[0]);
	for (u32 i = 0; i < 2; i++)
		d->names[i] = strrchr(paths[i], '/') ? strrchr(paths[i], '/') + 1 : paths[i];
	if (!e)
		e = load(&b, d, paths[1]);
	if (!e && strcmp(a.prof.unit, b.prof.unit))
		e = err_new("%s holds %s, %s %s: they cannot be compared (--value chooses among a pprof file's values)", paths[0], a.prof.unit, paths[1], b.prof.unit);
	if (!e)
		e = diff(d, &a.prof, &b.prof, &rc);
	if (e)
		rc = command_failed(e);
	else if (!rc && d->strict && d->left_out.n)
		rc = LOSS_STATUS;
	str_deinit(&d->left_out);
	input_deinit(&a);
	input_deinit(&b);
	return rc;
}

int diff_main(int argc, char **argv)
{
	struct Diff d = {.top = TOP_ROWS};
	struct OptionRows rows = {0};
	struct OptionScan scan = {.rows = &rows, .argc = argc, .argv = argv};
	add_rows(&rows);
	options_begin(&scan);
	int rc = command_options("diff", &d, &scan, NULL, NULL), rest = options_rest(&scan);
	options_end(&scan);
	vec_deinit(&rows.v);
	if (!rc && d.help)
		diff_usage(stdout);
	else if (!rc)
		rc = argc - rest == 2 ? run(&d, argv + rest) : command_usage("diff", "takes two files");
	vec_deinit(&d.same);
	return rc;
}
