// Flight recorder: the last seconds' reports, one a second, of which a file is made when something has happened; and reports of several seconds put together, for who
// is sent to less often.
// In: reports, as they come. Out: a profile of the last ones, its files. Invariant: at most RECORD_MAX bytes are kept; what is kept is shown in the second it is of.
#include "agent/internal.h"
#include <errno.h>
#include <time.h>
#include <unistd.h>

void record_put(struct Recorder *r, const char *data, size_t n)
{
	struct RecordSlot *s = &r->slots[r->next];
	r->bytes += n - s->report.n;
	str_reset(&s->report);
	str_addn(&s->report, data, n);
	r->next = (r->next + 1) % r->n;
	r->have = MIN(r->have + 1, r->n);
	for (; r->bytes > RECORD_MAX && r->have > 1; r->have--) {
		struct RecordSlot *oldest = &r->slots[(r->next + r->n - r->have) % r->n];
		r->bytes -= oldest->report.n;
		str_deinit(&oldest->report);
		r->cut = true;
	}
}

// ---- several reports as one profile

static u32 label_number(struct Combined *c, const char *name)
{
	for (u32 i = 0; i < c->names.n; i++)
		if (!strcmp(c->names.p[i], name))
			return i;
	vec_push(&c->names, name);
	vec_push(&c->places, LABEL_OUTER);
	return (u32)c->names.n - 1;
}

// A report has the labels that its samples have; one list is made of all.
static void add_labels(struct Combined *c, const struct StackProfile *p, const u32 *number, struct StackSample *s)
{
	struct Value *labels = arena_new_n(&c->arena, struct Value, c->names.n + 1);
	for (size_t i = 0; i < c->names.n; i++)
		labels[i] = (struct Value){.kind = V_STR, .text = ""};
	for (u32 i = 0; i < s->nlabels; i++)
		labels[number[i]] = s->labels[i];
	s->labels = labels;
	s->nlabels = (u32)c->names.n;
}

static u32 most_labels(const struct StackProfile *p)
{
	u32 n = 0;
	for (u32 i = 0; i < p->n; i++)
		n = MAX(n, p->samples[i].nlabels);
	return p->label_names ? n : 0;
}

static void add_report(struct Combined *c, const struct StackProfile *p, u32 slot)
{
	u32 n = most_labels(p), *number = arena_new_n(&c->arena, u32, n + 1);
	for (u32 i = 0; i < n; i++)
		number[i] = label_number(c, p->label_names[i]);
	for (u32 i = 0; i < p->n; i++) {
		struct StackSample s = p->samples[i];
		struct SlotShare *share = arena_new(&c->arena, struct SlotShare);
		*share = (struct SlotShare){.slot = slot, .value = s.value};
		memcpy(share->part, s.part, sizeof(share->part));
		s.slots = share;
		if (!p->label_names)
			s.nlabels = 0;
		add_labels(c, p, number, &s);
		vec_push(&c->samples, s);
	}
}

struct err *record_combine(const struct Recorder *r, u32 last, struct Combined *c)
{
	static const struct InputWish wish = {0};
	struct err *e = NULL;
	u64 end = 0;
	last = MIN(last, r->have);
	*c = (struct Combined){.in = xcalloc(last + 1, sizeof(*c->in))};
	for (u32 i = 0; !e && i < last; i++) { // labels first, so that all samples have as many
		const struct Str *t = &r->slots[(r->next + r->n - last + i) % r->n].report;
		e = input_parse(&c->in[c->nin++], &wish, str_text(t), t->n);
		const struct StackProfile *p = &c->in[i].prof;
		for (u32 k = 0; !e && k < most_labels(p); k++)
			label_number(c, p->label_names[k]);
	}
	for (u32 i = 0; !e && i < last; i++) {
		const struct StackProfile *p = &c->in[i].prof;
		if (!c->prof.start_ns)
			c->prof = *p;
		add_report(c, p, (u32)((p->start_ns - MIN(p->start_ns, c->prof.start_ns) + 500000000ull) / 1000000000ull));
		end = MAX(end, p->start_ns + p->duration_ns);
		c->prof.period_ns = p->period_ns ? p->period_ns : c->prof.period_ns;
	}
	c->prof.samples = c->samples.p;
	c->prof.n = (u32)c->samples.n;
	c->prof.duration_ns = end - MIN(end, c->prof.start_ns);
	c->prof.label_names = c->names.n ? c->names.p : NULL;
	c->prof.label_places = c->names.n ? c->places.p : NULL;
	u32 slots = (u32)((c->prof.duration_ns + 500000000ull) / 1000000000ull);
	c->prof.slots = (struct ProfileSlots){.width_ns = 1000000000ull, .start_ns = c->prof.start_ns, .n = MAX(slots, 1u), .rows = 1};
	return e;
}

void combined_deinit(struct Combined *c)
{
	for (u32 i = 0; i < c->nin; i++)
		input_deinit(&c->in[i]);
	free(c->in);
	vec_deinit(&c->samples);
	vec_deinit(&c->names);
	vec_deinit(&c->places);
	arena_deinit(&c->arena);
}

// ---- files

static struct err *write_file(const char *path, struct err *(*write)(const struct StackProfile *p, FILE *out), const struct StackProfile *p)
{
	FILE *f = fopen(path, "we");
	if (!f)
		return err_errno(errno, "cannot write %s", path);
	struct err *e = write(p, f);
	if (fclose(f) && !e)
		e = err_errno(errno, "cannot write %s", path);
	return e;
}

struct err *record_write(struct Recorder *r, const char *dir, const char *what, const char *why)
{
	struct Combined c;
	struct err *e = record_combine(r, r->n, &c);
	char stamp[32], *title = xasprintf("%s: the last %u seconds before %s%s", what, r->have, why, r->cut ? " (more would not fit in memory)" : "");
	struct timespec now;
	struct tm tm;
	clock_gettime(CLOCK_REALTIME, &now);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", gmtime_r(&now.tv_sec, &tm));
	char *paths[] = {xasprintf("%s/sonde-record_%s-%s.%03luZ.pb.gz", dir, what, stamp, (unsigned long)now.tv_nsec / 1000000),
			 xasprintf("%s/sonde-record_%s-%s.%03luZ.html", dir, what, stamp, (unsigned long)now.tv_nsec / 1000000)};
	c.prof.title = title;
	if (!e && !(e = write_file(paths[0], pprof_write, &c.prof)))
		e = write_file(paths[1], page_write, &c.prof);
	if (!e)
		fprintf(stderr, "%s and .html: %s\n", paths[0], title);
	free(paths[0]);
	free(paths[1]);
	free(title);
	combined_deinit(&c);
	return e;
}

void record_open(struct Recorder *r, u32 seconds)
{
	r->n = seconds;
	r->slots = xcalloc(seconds, sizeof(*r->slots));
}

void record_close(struct Recorder *r)
{
	for (u32 i = 0; i < r->n; i++)
		str_deinit(&r->slots[i].report);
	free(r->slots);
}
