// Folded stacks: one line a stack, root first, frames joined by semicolons, then the count: the input of flame graph tools.
// In: stack counts. Out: lines. Invariant: no name can break a line or add a frame; equal lines appear once.
#include "out/internal.h"

void profile_frame_name(const struct StackProfile *p, const struct Frame *f, struct Str *out)
{
	if (f->sym) {
		str_add(out, f->sym);
		if (p->with_offsets && !f->inlined && !f->mark && !f->lang)
			str_addf(out, "+0x%llx", (unsigned long long)f->sym_off);
		if (f->file && !p->no_lines && (!f->lang || p->lang_lines))
			str_addf(out, "@%s:%u", f->file, f->line);
	} else if (f->module && !f->kernel) { // better than nothing: which object it is in
		const char *base = strrchr(f->module, '/');
		base = base && base[1] ? base + 1 : f->module;
		if (p->with_offsets)
			str_add_place(out, f->module, f->module_addr);
		else
			str_addf(out, *base == '[' ? "%s" : "[%s]", base);
	} else if (p->with_offsets && f->addr)
		str_addf(out, "0x%llx", (unsigned long long)f->addr);
	else
		str_add(out, "[unknown]");
}

static void add_element(struct Str *out, const char *s, size_t n)
{
	if (out->n)
		str_addc(out, ';');
	for (size_t i = 0; i < n; i++) {
		u8 c = (u8)s[i];
		if (c < 0x20 || c == 0x7f)
			str_addf(out, "\\x%02x", c);
		else
			str_addc(out, c == ';' ? ':' : (char)c);
	}
}

static void add_frame(const struct StackProfile *p, const struct Frame *f, struct Str *out)
{
	struct Str s = {0};
	profile_frame_name(p, f, &s);
	const char *name = str_text(&s);
	if (!f->mark && !strcmp(name, "-")) // is what lies between parts of a line; a method of Ruby's may be called so
		name = "\\x2d";
	else if (!f->mark && !strcmp(name, "--"))
		name = "\\x2d-";
	add_element(out, name, strlen(name));
	if (p->annotate)
		str_add(out, frame_annotation(f));
	str_deinit(&s);
}

void profile_label_row(const struct StackProfile *p, const struct StackSample *s, u32 i, enum LabelPlace at, struct Str *out)
{
	struct Str text = {0};
	value_text(&s->labels[i], &text);
	if (text.n && at == (p->label_places ? (enum LabelPlace)p->label_places[i] : LABEL_INNER)) {
		if (at == LABEL_OUTER)
			str_addf(out, "%s ", p->label_names[i]);
		str_addn(out, str_text(&text), text.n);
	}
	str_deinit(&text);
}

static void add_labels(const struct StackProfile *p, const struct StackSample *s, enum LabelPlace at, struct Str *out)
{
	for (u32 i = 0; i < s->nlabels; i++) {
		struct Str text = {0};
		profile_label_row(p, s, i, at, &text);
		if (text.n)
			add_element(out, str_text(&text), text.n);
		str_deinit(&text);
	}
}

static void add_line(const struct StackProfile *p, const struct StackSample *s, struct Str *out)
{
	add_labels(p, s, LABEL_OUTER, out);
	if (s->comm)
		add_element(out, s->comm, strlen(s->comm));
	add_labels(p, s, LABEL_INNER, out);
	for (u32 i = s->nuser; i-- > 0;)
		add_frame(p, &s->user[i], out);
	if (!s->nuser && s->user_note)
		add_element(out, s->user_note, strlen(s->user_note));
	if (p->delim && (s->nuser || s->user_note) && (s->nkern || s->kern_note))
		add_element(out, "-", 1);
	for (u32 i = s->nkern; i-- > 0;)
		add_frame(p, &s->kern[i], out);
	if (!s->nkern && s->kern_note)
		add_element(out, s->kern_note, strlen(s->kern_note));
}

u64 profile_total(const struct StackProfile *p)
{
	u64 sum = 0;
	for (u32 i = 0; i < p->n; i++)
		sum += p->samples[i].value;
	return sum;
}

static void slots_join(struct StackSample *to, const struct StackSample *s)
{
	struct SlotShare **end = &to->slots, *rest = *end;
	if (!s->slots)
		return;
	*end = s->slots; // the usual list behind is of one
	while (*end)
		end = &(*end)->next;
	*end = rest;
}

void profile_merge(struct StackProfile *p, bool by_pid)
{
	struct Map seen = {0};
	struct Str key = {0};
	u32 n = 0;
	for (u32 i = 0; i < p->n; i++) {
		struct StackSample *s = &p->samples[i];
		str_reset(&key);
		if (by_pid)
			str_addf(&key, "%u;", s->pid);
		add_line(p, s, &key);
		for (u32 k = 0; k < s->nlabels; k++) { // each in its place: lines leave out those that are empty
			value_text(&s->labels[k], &key);
			str_addc(&key, ';');
		}
		struct StackSample *first = map_get(&seen, str_text(&key));
		if (first) {
			slots_join(first, s);
			first->value += s->value;
			first->events += s->events;
			for (u32 k = 0; k < ARRAY_LEN(s->part); k++)
				first->part[k] += s->part[k];
			continue;
		}
		p->samples[n] = *s;
		map_put(&seen, str_text(&key), &p->samples[n++]);
	}
	p->n = n;
	str_deinit(&key);
	map_deinit(&seen);
}

void folded_write(const struct StackProfile *p, FILE *out)
{
	struct Map lines = {0}; // text -> index + 1
	struct Str line = {0};
	u64 *counts = xcalloc(p->n + 1, sizeof(*counts));
	for (u32 i = 0; i < p->n; i++) {
		bool fresh;
		str_reset(&line);
		add_line(p, &p->samples[i], &line);
		counts[number_of(&lines, str_text(&line), &fresh) - 1] += p->samples[i].value;
	}
	for (u32 i = 0; i < lines.n; i++)
		fprintf(out, "%s %llu\n", lines.slots[i].key, (unsigned long long)counts[i]);
	free(counts);
	str_deinit(&line);
	map_deinit(&lines);
}
