// speedscope's file format (https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources, "sampled" profiles).
// In: stack counts. Out: JSON: the different frames once, each stack as their numbers, root first, with its weight.
// Invariant: weights are the profile's values, in a unit that the format knows; the same input gives the same file.
#include "out/internal.h"
#include <errno.h>

struct Scope {
	const struct StackProfile *p;
	struct Map frames; // JSON of a frame -> number + 1
};

static void add_name(struct Str *json, const char *key, const char *text)
{
	struct Str shown = {0};
	str_add_shown(&shown, text, strlen(text));
	str_addf(json, "\"%s\":", key);
	str_add_json(json, str_text(&shown), shown.n);
	str_deinit(&shown);
}

static void add_id(struct Scope *s, struct Str *json, struct Str *out)
{
	bool fresh;
	str_addc(json, '}');
	str_addf(out, "%s%u", out->p[out->n - 1] == '[' ? "" : ",", (u32)number_of(&s->frames, str_text(json), &fresh) - 1);
	str_deinit(json);
}

static void add_text(struct Scope *s, const char *text, struct Str *out)
{
	struct Str json = {0};
	str_addc(&json, '{');
	add_name(&json, "name", text);
	add_id(s, &json, out);
}

static void add_frame(struct Scope *s, const struct Frame *f, struct Str *out)
{
	struct Str json = {0}, name = {0};
	struct Frame bare = *f; // file and line have fields of their own
	bare.file = NULL;
	profile_frame_name(s->p, &bare, &name);
	str_addc(&json, '{');
	add_name(&json, "name", str_text(&name));
	if (f->file) {
		str_addc(&json, ',');
		add_name(&json, "file", f->file);
		if (profile_frame_line(s->p, f))
			str_addf(&json, ",\"line\":%u", f->line);
	} else if (f->module && !f->kernel) {
		str_addc(&json, ',');
		add_name(&json, "file", f->module);
	}
	if (f->lang) { // the format has no field for it, and readers pass over what they do not know
		str_addc(&json, ',');
		add_name(&json, "lang", f->lang);
	}
	add_id(s, &json, out);
	str_deinit(&name);
}

static void add_labels(struct Scope *s, const struct StackSample *x, enum LabelPlace at, struct Str *out)
{
	for (u32 i = 0; i < x->nlabels; i++) {
		struct Str text = {0};
		profile_label_row(s->p, x, i, at, &text);
		if (text.n)
			add_text(s, str_text(&text), out);
		str_deinit(&text);
	}
}

static void add_stack(struct Scope *s, const struct StackSample *x, struct Str *out)
{
	str_addc(out, '[');
	add_labels(s, x, LABEL_OUTER, out);
	if (x->comm)
		add_text(s, x->comm, out);
	add_labels(s, x, LABEL_INNER, out);
	for (u32 i = x->nuser; i-- > 0;)
		add_frame(s, &x->user[i], out);
	if (!x->nuser && x->user_note)
		add_text(s, x->user_note, out);
	for (u32 i = x->nkern; i-- > 0;)
		add_frame(s, &x->kern[i], out);
	if (!x->nkern && x->kern_note)
		add_text(s, x->kern_note, out);
	str_addc(out, ']');
}

// What the format calls units; the samples of a frequency are the time they stand for.
static const char *unit_of(const struct StackProfile *p)
{
	const char *unit = p->unit ? p->unit : "samples";
	return p->period_ns || !strcmp(unit, "ns") ? "nanoseconds" : !strcmp(unit, "us") ? "microseconds" : !strcmp(unit, "bytes") ? "bytes" : "none";
}

struct err *speedscope_write(const struct StackProfile *p, FILE *out)
{
	struct Scope s = {.p = p};
	struct Str stacks = {0}, weights = {0}, head = {0};
	u64 scale = p->period_ns ? p->period_ns : 1, sum = 0;
	for (u32 i = 0; i < p->n; i++) {
		const struct StackSample *x = &p->samples[i];
		str_add(&stacks, i ? "," : "");
		add_stack(&s, x, &stacks);
		str_addf(&weights, "%s%llu", i ? "," : "", (unsigned long long)(x->value * scale));
		sum += x->value * scale;
	}
	str_add(&head, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"sonde\",");
	add_name(&head, "name", p->title ? p->title : "Profile");
	str_add(&head, ",\"activeProfileIndex\":0,\"profiles\":[{\"type\":\"sampled\",");
	add_name(&head, "name", p->title ? p->title : "Profile");
	fprintf(out, "%s,\"unit\":\"%s\",\"startValue\":0,\"endValue\":%llu,\n\"samples\":[%s],\n\"weights\":[%s]}],\n\"shared\":{\"frames\":[", head.p, unit_of(p), (unsigned long long)sum,
		str_text(&stacks), str_text(&weights));
	for (u32 i = 0; i < s.frames.n; i++)
		fprintf(out, "%s%s", i ? ",\n" : "", s.frames.slots[i].key);
	fputs("]}}\n", out);
	str_deinit(&stacks);
	str_deinit(&weights);
	str_deinit(&head);
	map_deinit(&s.frames);
	return fflush(out) || ferror(out) ? err_errno(errno, "writing the speedscope file") : NULL;
}
