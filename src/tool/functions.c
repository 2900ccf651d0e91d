// Functions of a profile: how much each has itself, and with what it calls.
// In: stacks. Out: rows by name and object, the table of --top. Invariant: a function that is several times in a stack counts once in its total, and the sum
// of all that functions have themselves is the sum of the profile.
#include "tool/internal.h"

void functions_deinit(struct Functions *f)
{
	map_deinit(&f->index);
	vec_deinit(&f->v);
	arena_deinit(&f->arena);
}

static const char *object_of(const struct Frame *f)
{
	return !f ? "" : f->lang && f->file ? f->file : f->module ? f->module : f->kernel ? "[kernel]" : "";
}

// The row's number
static size_t row_of(struct Functions *t, const char *name, const char *object)
{
	struct Str key = {0};
	if (t->by_name)
		str_add(&key, name);
	else
		str_addf(&key, "%s\n%s", name, object); // no name of a function has a line's end that would make it another
	uintptr_t at = (uintptr_t)map_get(&t->index, str_text(&key));
	if (!at) {
		vec_push(&t->v, ((struct Function){.name = arena_strdup(&t->arena, name), .object = arena_strdup(&t->arena, object)}));
		at = t->v.n;
		map_put(&t->index, str_text(&key), (void *)at);
	}
	str_deinit(&key);
	return at - 1;
}

static void add_place(struct Functions *t, const char *name, const char *object, u32 stack, u64 value, bool leaf)
{
	size_t row = row_of(t, name, object);
	struct Function *f = &t->v.p[row];
	f->total += f->stack == stack ? 0 : value;
	f->self += leaf ? value : 0;
	f->stack = stack;
}

void functions_put(struct Functions *t, const char *name, u64 value)
{
	size_t row = row_of(t, name, "");
	t->v.p[row].self += value;
	t->v.p[row].total += value;
}

const struct Function *functions_find(const struct Functions *t, const char *name)
{
	uintptr_t at = (uintptr_t)map_get(&t->index, name);
	return at ? &t->v.p[at - 1] : NULL;
}

static void add_stack(struct Functions *t, const struct StackProfile *p, u32 i)
{
	const struct StackSample *s = &p->samples[i];
	const char *note = s->kern_note ? s->kern_note : s->user_note;
	bool leaf = true;
	for (u32 k = 0; k < s->nkern + s->nuser; k++) {
		const struct Frame *f = k < s->nkern ? &s->kern[k] : &s->user[k - s->nkern];
		struct Str name = {0};
		if (f->mark)
			continue;
		profile_frame_name(p, f, &name);
		add_place(t, str_text(&name), object_of(f), i + 1, s->value, leaf);
		leaf = false;
		str_deinit(&name);
	}
	if (leaf)
		add_place(t, note ? note : s->comm ? s->comm : "[no stack]", "", i + 1, s->value, true);
}

void functions_add(struct Functions *t, const struct StackProfile *p)
{
	struct StackProfile plain = *p;
	plain.with_offsets = false;
	plain.no_lines = true;
	for (size_t i = 0; i < t->v.n; i++)
		t->v.p[i].stack = 0;
	for (u32 i = 0; i < p->n; i++)
		add_stack(t, &plain, i);
	t->sum += profile_total(p);
}

u64 profile_total(const struct StackProfile *p)
{
	u64 sum = 0;
	for (u32 i = 0; i < p->n; i++)
		sum += p->samples[i].value;
	return sum;
}

void share_line(u64 value, u64 total, const char *indent, FILE *out)
{
	fprintf(out, "%s%.1f %%\n", indent, total ? 100.0 * (double)value / (double)total : 0.0);
}

void total_line(const struct StackProfile *p, FILE *out)
{
	fprintf(out, "Total: %llu %s in %u stack%s\n", (unsigned long long)profile_total(p), p->unit, p->n, p->n == 1 ? "" : "s");
}

static int by_self(const void *a, const void *b)
{
	const struct Function *x = a, *y = b;
	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	int c = strcmp(x->name, y->name);
	return c ? c : strcmp(x->object, y->object);
}

// A column of text; characters take one place each, however many bytes they have.
static void add_column(struct Str *s, size_t width)
{
	size_t places = 0;
	for (size_t i = 0; i < s->n; places++)
		i += MAX(utf8_len(s->p + i, s->n - i), (size_t)1);
	for (; places < width; places++)
		str_addc(s, ' ');
}

void functions_top(const struct StackProfile *p, u64 rows, FILE *out)
{
	struct Functions t = {0};
	functions_add(&t, p);
	if (t.v.n)
		qsort(t.v.p, t.v.n, sizeof(*t.v.p), by_self);
	double all = t.sum ? (double)t.sum : 1;
	size_t n = (size_t)MIN(rows, (u64)t.v.n);
	fprintf(out, "%12s %6s %12s %6s  %-40s %s\n", "SELF", "%", "TOTAL", "%", "FUNCTION", "OBJECT");
	for (size_t i = 0; i < n; i++) {
		const struct Function *f = &t.v.p[i];
		struct Str name = {0}, object = {0};
		str_add_shown(&name, f->name, strlen(f->name));
		add_column(&name, 40);
		str_add_shown(&object, f->object, strlen(f->object));
		fprintf(out, "%12llu %6.1f %12llu %6.1f  %s %s\n", (unsigned long long)f->self, 100 * (double)f->self / all, (unsigned long long)f->total,
			100 * (double)f->total / all, str_text(&name), str_text(&object));
		str_deinit(&name);
		str_deinit(&object);
	}
	fprintf(out, "Total: %llu %s in %u stack%s, %zu of %zu functions\n", (unsigned long long)t.sum, p->unit, p->n, p->n == 1 ? "" : "s", n, t.v.n);
	functions_deinit(&t);
}
