// When: a picture of a profile's slots, a column a second, a row a tenth of it, as characters.
// In: samples with shares by slot. Out: text; the slots of a sample in order. Invariant: the cells of the picture add up to what is in slots.
#include "out/report.h"

static int by_slot(const void *a, const void *b)
{
	const struct SlotShare *x = a, *y = b;
	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

u32 sample_slots(const struct StackSample *s, struct SlotShare **out)
{
	u32 n = 0, kept = 0;
	for (const struct SlotShare *x = s->slots; x; x = x->next)
		n++;
	struct SlotShare *list = *out = xcalloc(n + 1, sizeof(*list));
	n = 0;
	for (const struct SlotShare *x = s->slots; x; x = x->next)
		list[n++] = *x;
	if (n)
		qsort(list, n, sizeof(*list), by_slot);
	for (u32 i = 0; i < n; i++) {
		struct SlotShare *last = kept ? &list[kept - 1] : NULL;
		if (!last || last->slot != list[i].slot) {
			list[kept++] = list[i];
			continue;
		}
		last->value += list[i].value;
		for (u32 k = 0; k < ARRAY_LEN(last->part); k++)
			last->part[k] += list[i].part[k];
	}
	return kept;
}

#define LINES 10u
#define WIDTH 100u
static const char shades[] = " .:-=+*#%@";

struct Cells {
	u64 *value, most;
	u32 columns, lines;
};

static void add_cells(const struct StackProfile *p, u32 seconds, struct Cells *c)
{
	for (u32 i = 0; i < p->n; i++)
		for (const struct SlotShare *s = p->samples[i].slots; s; s = s->next) {
			u64 *v = &c->value[s->slot / p->slots.rows / seconds * c->lines + s->slot % p->slots.rows * c->lines / p->slots.rows];
			*v += s->value;
			c->most = MAX(c->most, *v);
		}
}

// The darkest is the largest; what is not nothing has a mark.
static char shade(u64 value, u64 most)
{
	return shades[value ? 1 + (u32)((double)value / (double)most * (sizeof(shades) - 3) + 0.5) : 0];
}

static void ruler(u32 columns, u64 column_ns, FILE *out)
{
	u32 at = 0;
	fputs("         ", out);
	for (u32 c = 0; c < columns; c += 10) {
		char mark[32];
		snprintf(mark, sizeof(mark), "|%.4g s", (double)c * (double)column_ns / 1e9);
		at += (u32)fprintf(out, "%*s%s", (int)(c - at), "", mark);
	}
	fputc('\n', out);
}

void heat_text(const struct StackProfile *p, FILE *out)
{
	u32 rows = p->slots.rows;
	if (!p->slots.width_ns)
		return;
	u32 all = (p->slots.n + rows - 1) / rows, seconds = (all + WIDTH - 1) / WIDTH;
	struct Cells c = {.columns = (all + seconds - 1) / seconds, .lines = MIN(LINES, rows)};
	u64 column_ns = rows * p->slots.width_ns * seconds;
	c.value = xcalloc((size_t)c.columns * c.lines + 1, sizeof(*c.value));
	add_cells(p, seconds, &c);
	fprintf(out, "When: a column is %g s, a row the same %g ms of each second, first ones at the foot; @ is %llu %s\n", (double)column_ns / 1e9,
		(double)rows * (double)p->slots.width_ns / 1e6 / c.lines, (unsigned long long)c.most, p->unit);
	for (u32 line = c.lines; line-- > 0;) {
		fprintf(out, "%5.0f ms ", (double)line * rows * (double)p->slots.width_ns / 1e6 / c.lines);
		for (u32 i = 0; i < c.columns; i++)
			fputc(shade(c.value[i * c.lines + line], c.most), out);
		fputc('\n', out);
	}
	ruler(c.columns, column_ns, out);
	if (p->slots.outside)
		fprintf(out, "%llu %s more are not in it: it ends after %g s\n", (unsigned long long)p->slots.outside, p->unit,
			SLOTS_MAX * (double)p->slots.width_ns / 1e9);
	free(c.value);
}
