// What `sonde top` shows, without a terminal: rows of the last seconds, each with its share of the time on and off the processors.
// In: slices (a profile of about a second each, as a collector sent it), a view. Out: rows, the largest first; the stacks of one of them.
// Invariant: with no filter the shares that stacks, processes, threads and containers have, and what functions have themselves, add up to the heading's.
#include "tool/internal.h"

static double seconds_of(const struct StackProfile *p, u64 value)
{
	if (p->period_ns && !strcmp(p->unit, "samples"))
		return (double)value * (double)p->period_ns / 1e9;
	return (double)value / (!strcmp(p->unit, "us") ? 1e6 : 1e9);
}

static const struct Frame *frame_at(const struct StackSample *s, u32 i)
{
	return i < s->nkern ? &s->kern[i] : &s->user[i - s->nkern];
}

static void add_name(const struct Frame *f, struct Str *out)
{
	struct StackProfile plain = {.no_lines = true};
	struct Str name = {0};
	profile_frame_name(&plain, f, &name);
	str_add_shown(out, str_text(&name), name.n);
	str_deinit(&name);
}

// Frames from the leaf on, a line each.
static void stack_text(const struct StackSample *s, struct Str *out)
{
	for (u32 i = 0; i < s->nkern + s->nuser; i++) {
		add_name(frame_at(s, i), out);
		str_addc(out, '\n');
	}
	if (!out->n) {
		const char *note = s->user_note ? s->user_note : s->kern_note ? s->kern_note : "[no stack]";
		str_addf(out, "%s\n", note);
	}
}

static void add_comm(const struct StackSample *s, struct Str *out)
{
	const char *comm = s->comm ? s->comm : "[unknown]";
	str_add_shown(out, comm, strlen(comm));
}

static const char *object_of(const struct Frame *f)
{
	const char *path = frame_object(f), *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static void label_text(const struct StackProfile *p, const struct StackSample *s, const char *name, struct Str *out)
{
	for (u32 i = 0; i < s->nlabels && p->label_names; i++)
		if (!strcmp(p->label_names[i], name))
			value_text_escaped(&s->labels[i], out);
	if (!out->n)
		str_add(out, "[unknown]");
}

// What a row of processes, threads, containers or stacks is called; what: what else there is to say of it. Together they are its key.
static void row_of(const struct TopView *v, const struct StackProfile *p, const struct StackSample *s, struct Str *name, struct Str *what)
{
	switch (v->by) {
	case TOP_STACK:
		stack_text(s, name);
		add_comm(s, what);
		break;
	case TOP_CONTAINER:
		label_text(p, s, "container", name);
		break;
	default:
		add_comm(s, name);
		str_addf(what, "%u", s->pid);
	}
}

static bool holds(const char *text, const char *part)
{
	return strcasestr(text, part) != NULL;
}

static bool passes(const struct TopView *v, const struct StackSample *s)
{
	struct Str text = {0};
	if (!v->filter[0])
		return true;
	add_comm(s, &text);
	str_addf(&text, "\n%u\n", s->pid);
	stack_text(s, &text);
	bool yes = holds(str_text(&text), v->filter);
	str_deinit(&text);
	return yes;
}

static struct TopRow *row_add(struct TopTable *t, const char *name, const char *what)
{
	struct Str key = {0};
	str_addf(&key, "%s\n\n%s", name, what);
	uintptr_t at = (uintptr_t)map_get(&t->index, str_text(&key));
	if (!at) {
		vec_push(&t->rows, ((struct TopRow){.name = arena_strdup(&t->arena, name), .what = arena_strdup(&t->arena, what),
						    .key = arena_strdup(&t->arena, str_text(&key))}));
		at = t->rows.n;
		map_put(&t->index, str_text(&key), (void *)at);
	}
	str_deinit(&key);
	return &t->rows.p[at - 1];
}

// Each function of the stack once in its total, the leaf in its own.
static void add_functions(struct TopTable *t, const struct StackSample *s, enum TopSide side, double secs, u32 number)
{
	bool leaf = true;
	for (u32 i = 0; i < s->nkern + s->nuser; i++) {
		const struct Frame *f = frame_at(s, i);
		struct Str name = {0}, object = {0};
		if (f->mark)
			continue;
		const char *o = object_of(f);
		add_name(f, &name);
		str_add_shown(&object, o, strlen(o));
		struct TopRow *r = row_add(t, str_text(&name), str_text(&object));
		r->own[side] += leaf ? secs : 0;
		r->all[side] += r->met == number ? 0 : secs;
		r->met = number;
		leaf = false;
		str_deinit(&name);
		str_deinit(&object);
	}
	if (leaf) {
		struct Str name = {0};
		stack_text(s, &name);
		struct TopRow *r = row_add(t, str_text(&name), "");
		r->own[side] += secs;
		r->all[side] += secs;
		str_deinit(&name);
	}
}

static void add_slice(struct TopTable *t, const struct TopSlice *sl, const struct TopView *v)
{
	const struct StackProfile *p = &sl->in.prof;
	t->elapsed[sl->side] += (double)p->duration_ns / 1e9;
	for (u32 i = 0; i < p->n; i++) {
		const struct StackSample *s = &p->samples[i];
		double secs = seconds_of(p, s->value);
		t->sum[sl->side] += secs;
		if (!passes(v, s))
			continue;
		t->shown[sl->side] += secs;
		if (v->by == TOP_FUNCTION) {
			add_functions(t, s, sl->side, secs, ++t->met);
			continue;
		}
		struct Str name = {0}, what = {0};
		row_of(v, p, s, &name, &what);
		struct TopRow *r = row_add(t, str_text(&name), str_text(&what));
		r->own[sl->side] += secs;
		r->all[sl->side] += secs;
		str_deinit(&name);
		str_deinit(&what);
	}
}

static int largest_first(const void *a, const void *b)
{
	const struct TopRow *x = a, *y = b;
	if (x->order != y->order)
		return x->order < y->order ? 1 : -1;
	return strcmp(x->key, y->key);
}

double top_share(const struct TopTable *t, enum TopSide side, double secs)
{
	return t->elapsed[side] > 0 ? 100 * secs / t->elapsed[side] : 0;
}

void toptable_make(struct TopTable *t, struct TopSlice *const *slices, size_t n, const struct TopView *v)
{
	toptable_deinit(t);
	for (size_t i = 0; i < n; i++)
		if (v->sides & (1u << slices[i]->side))
			add_slice(t, slices[i], v);
	// On the processors counts first where both are shown: nearly all threads wait nearly all the time.
	for (size_t i = 0; i < t->rows.n; i++) {
		struct TopRow *r = &t->rows.p[i];
		const double *of = v->total ? r->all : r->own;
		bool off_only = !(v->sides & (1u << TOP_ON));
		r->order = top_share(t, off_only ? TOP_OFF : TOP_ON, of[off_only ? TOP_OFF : TOP_ON]) + (off_only ? 0 : top_share(t, TOP_OFF, of[TOP_OFF]) / 1e6);
	}
	if (t->rows.n)
		qsort(t->rows.p, t->rows.n, sizeof(*t->rows.p), largest_first);
}

void toptable_deinit(struct TopTable *t)
{
	map_deinit(&t->index);
	vec_deinit(&t->rows);
	arena_deinit(&t->arena);
	*t = (struct TopTable){0};
}

static bool in_row(const struct TopView *v, const struct StackProfile *p, const struct StackSample *s, const struct TopRow *r)
{
	struct Str name = {0}, what = {0};
	bool yes = false;
	if (v->by == TOP_FUNCTION) {
		for (u32 i = 0; !yes && i < s->nkern + s->nuser; i++) {
			const struct Frame *f = frame_at(s, i);
			str_reset(&name);
			str_reset(&what);
			add_name(f, &name);
			str_add_shown(&what, object_of(f), strlen(object_of(f)));
			yes = !f->mark && !strcmp(str_text(&name), r->name) && !strcmp(str_text(&what), r->what);
		}
		if (!yes && !*r->what) {
			str_reset(&name);
			stack_text(s, &name);
			yes = !strcmp(str_text(&name), r->name);
		}
	} else {
		row_of(v, p, s, &name, &what);
		yes = !strcmp(str_text(&name), r->name) && !strcmp(str_text(&what), r->what);
	}
	str_deinit(&name);
	str_deinit(&what);
	return yes;
}

void toprow_stacks(struct TopTable *out, struct TopSlice *const *slices, size_t n, const struct TopView *v, const struct TopRow *r)
{
	struct TopView stacks = *v;
	stacks.by = TOP_STACK;
	toptable_deinit(out);
	for (size_t i = 0; i < n; i++) {
		const struct TopSlice *sl = slices[i];
		const struct StackProfile *p = &sl->in.prof;
		if (!(v->sides & (1u << sl->side)))
			continue;
		out->elapsed[sl->side] += (double)p->duration_ns / 1e9;
		for (u32 k = 0; k < p->n; k++) {
			const struct StackSample *s = &p->samples[k];
			if (!passes(v, s) || !in_row(v, p, s, r))
				continue;
			struct Str name = {0}, what = {0};
			row_of(&stacks, p, s, &name, &what);
			struct TopRow *row = row_add(out, str_text(&name), str_text(&what));
			row->own[sl->side] += seconds_of(p, s->value);
			row->order += seconds_of(p, s->value);
			str_deinit(&name);
			str_deinit(&what);
		}
	}
	if (out->rows.n)
		qsort(out->rows.p, out->rows.n, sizeof(*out->rows.p), largest_first);
}

void top_folded(struct TopSlice *const *slices, size_t n, const struct TopView *v, FILE *out)
{
	for (size_t i = 0; i < n; i++) {
		struct StackProfile p = slices[i]->in.prof;
		VEC(struct StackSample) some = {0};
		for (u32 k = 0; k < p.n; k++)
			if (passes(v, &p.samples[k])) {
				vec_push(&some, p.samples[k]);
				some.p[some.n - 1].value = (u64)(1e6 * seconds_of(&p, p.samples[k].value));
			}
		p.samples = some.p;
		p.n = (u32)some.n;
		p.unit = "us";
		p.no_lines = true;
		folded_write(&p, out);
		vec_deinit(&some);
	}
}

// ---- the table as text: of the terminal's lines, of a run without one
void top_columns(const struct TopView *v, struct Str *out)
{
	static const char *const what[] = {[TOP_FUNCTION] = "FUNCTION", [TOP_STACK] = "STACK, from the leaf", [TOP_PROCESS] = "PROCESS",
					   [TOP_THREAD] = "THREAD", [TOP_CONTAINER] = "CONTAINER"};
	for (u32 side = 0; side < TOP_SIDES; side++)
		if (v->sides & (1u << side))
			str_addf(out, v->by == TOP_FUNCTION ? "%7s %7s  " : "%7s  ", side == TOP_ON ? "ON %" : "OFF %", "+CALLS");
	str_add(out, what[v->by]);
}

// A stack in one line: leaf < caller < caller's caller
static void one_line(const char *lines, struct Str *out)
{
	for (const char *p = lines; *p; p++)
		if (*p != '\n')
			str_addc(out, *p);
		else if (p[1])
			str_add(out, " < ");
}

void top_line(const struct TopTable *t, const struct TopView *v, const struct TopRow *r, struct Str *out)
{
	for (u32 side = 0; side < TOP_SIDES; side++) {
		if (!(v->sides & (1u << side)))
			continue;
		str_addf(out, "%7.1f ", top_share(t, side, r->own[side]));
		if (v->by == TOP_FUNCTION)
			str_addf(out, "%7.1f ", top_share(t, side, r->all[side]));
		str_addc(out, ' ');
	}
	if (v->by == TOP_STACK && *r->what)
		str_addf(out, "%s: ", r->what);
	one_line(r->name, out);
	if (v->by != TOP_STACK && *r->what)
		str_addf(out, "  (%s)", r->what);
}

void top_text(const struct TopTable *t, const struct TopView *v, u32 max, FILE *out)
{
	struct Str line = {0};
	top_heading(t, v, &line);
	str_addc(&line, '\n');
	top_columns(v, &line);
	fprintf(out, "%s\n", str_text(&line));
	for (size_t i = 0; i < t->rows.n && i < max; i++) {
		str_reset(&line);
		top_line(t, v, &t->rows.p[i], &line);
		fprintf(out, "%s\n", str_text(&line));
	}
	str_deinit(&line);
}

// "on-CPU 132.0 %, off-CPU 2210.4 %; 61 rows"; of a filter: "on-CPU 12.0 of 132.0 %; 7 rows with "clang""
void top_heading(const struct TopTable *t, const struct TopView *v, struct Str *out)
{
	static const char *const called[] = {[TOP_ON] = "on-CPU", [TOP_OFF] = "off-CPU"};
	const char *sep = "";
	for (u32 side = 0; side < TOP_SIDES; side++) {
		if (!(v->sides & (1u << side)))
			continue;
		str_addf(out, "%s%s ", sep, called[side]);
		if (v->filter[0])
			str_addf(out, "%.1f of ", top_share(t, side, t->shown[side]));
		str_addf(out, "%.1f %%", top_share(t, side, t->sum[side]));
		sep = ", ";
	}
	str_addf(out, "; %zu rows", t->rows.n);
	if (v->filter[0])
		str_addf(out, " with \"%s\"", v->filter);
}
