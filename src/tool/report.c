// Rows of a map -> StackProfile: symbolized, equal stacks merged, ascending; and its text forms.
// In: a map whose key holds an id, a name and stacks. Out: samples, text, JSON. Invariant: which stack is a user stack is known from the key's type,
// never guessed from its frames.
#include "bpf/bpf.h"
#include "tool/internal.h"

// *part: how many there were, nested tuples flattened
static void split_key(const struct StackMap *m, u32 *part, const struct Type *t, const struct Value *v, struct KeyParts *k)
{
	if (t->kind == TY_TUPLE) {
		for (u32 i = 0; i < t->n && i < v->n; i++)
			split_key(m, part, t->fields[i].type, &v->items[i], k);
		return;
	}
	if ((*part)++ >= KEY_PARTS_MAX) // stackmap_pick() has refused such a map
		return;
	if (t->kind == TY_USTACK)
		k->user[k->nuser++] = v;
	else if (t->kind == TY_KSTACK)
		k->kern[k->nkern++] = v;
	else
		k->others[k->nothers++] = v;
	if (m->by[*part - 1] || *part - 1 == m->slot_part)
		return;
	if (t->kind == TY_STR)
		k->strs[k->nstrs++] = v->text;
	else if (ty_is_int(t))
		k->ints[k->nints++] = v->kind == V_UINT ? v->u : (u64)v->i;
}

static bool is_lost(const struct Value *v)
{
	return !v->nframes && v->why;
}

void row_stacks(const struct KeyParts *k, struct StackSample *s)
{
	if (s->comm && !*s->comm)
		s->comm = "[no name]"; // prctl(PR_SET_NAME, ""): a stack's first frame would pass for it
	if (k->nuser) {
		s->user = k->user[0]->frames;
		s->nuser = k->user[0]->nframes;
		if (is_lost(k->user[0]))
			s->user_note = "[Missed User Stack]";
	}
	if (k->nkern) {
		s->kern = k->kern[0]->frames;
		s->nkern = k->kern[0]->nframes;
		if (is_lost(k->kern[0]))
			s->kern_note = "[Missed Kernel Stack]";
	}
	if (k->nuser && k->nkern && !s->nuser && !s->nkern && !s->kern_note) // something ran: one of them was there
		s->user_note = "[Missed User Stack]";
}

static int by_value(const void *a, const void *b)
{
	const struct StackSample *x = a, *y = b;
	return x->value < y->value ? -1 : x->value > y->value;
}

static bool is_missed(const char *note)
{
	return note && !strncmp(note, "[Missed", 7);
}

static struct SlotShare *slot_of_row(struct Arena *a, const struct Value *v, const struct StackSample *s)
{
	struct SlotShare *x = arena_new(a, struct SlotShare);
	*x = (struct SlotShare){.slot = v->kind == V_UINT ? v->u : (u64)v->i, .value = s->value};
	memcpy(x->part, s->part, sizeof(x->part));
	return x;
}

struct err *stackset_add(struct StackSet *s, struct RunCtx *rc, struct MapDef *m, const struct ToolOpts *o, bool take)
{
	struct MapReport rep = {0};
	stacks_share(rc->stacks, true); // a stack is in as many rows as there are threads in it
	struct err *e = take ? map_take(rc, &s->arena, m, &rep) : map_read(rc, &s->arena, m, 0, 0, &rep);
	stacks_share(rc->stacks, false);
	for (u32 i = 0; !e && i < rep.n; i++) {
		struct KeyParts k = {0};
		const struct Value *val = &rep.entries[i].val;
		struct StackSample x = {.value = val->kind == V_INT || val->kind == V_BOOL ? (u64)val->i : val->u};
		u32 part = 0;
		if (m->val->sgn && (s64)x.value < 0) {
			s->negative++;
			continue;
		}
		split_key(o->keyed, &part, m->key, &rep.entries[i].key, &k);
		o->form.row(o, &s->arena, &k, x.value, &x);
		row_labels(o, &s->arena, &k, &x);
		if (o->keyed->slot != NO_PART && x.value)
			x.slots = slot_of_row(&s->arena, k.others[o->keyed->slot], &x);
		if (is_missed(x.user_note) || is_missed(x.kern_note))
			s->missed++;
		vec_push(&s->samples, x);
	}
	return e;
}

struct err *stackset_take(struct StackSet *s, struct RunCtx *rc, const char *map, const struct ToolOpts *o)
{
	struct MapDef *m = program_map(rc->prog, map);
	return m ? stackset_add(s, rc, m, o, true) : err_new("internal: %s has no map %s", o->tool->name, map);
}

void stacks_sort(struct StackProfile *p)
{
	if (p->n) // qsort(NULL, 0) is undefined
		qsort(p->samples, p->n, sizeof(*p->samples), by_value);
}

void stackset_finish(struct StackSet *s, const struct ToolOpts *o, bool merge)
{
	s->prof.samples = s->samples.p;
	s->prof.n = (u32)s->samples.n;
	s->prof.unit = o->form.unit;
	s->prof.title = o->form.title;
	s->prof.parts = o->form.nparts ? o->form.parts : NULL;
	s->prof.nparts = o->form.nparts;
	s->prof.events = o->form.events;
	s->prof.label_names = o->keyed ? o->keyed->labels : NULL;
	s->prof.label_places = o->keyed ? o->keyed->places : NULL;
	s->prof.threads = o->per_thread || (o->keyed && o->keyed->threads);
	s->prof.delim = o->delim;
	s->prof.annotate = o->annotate;
	s->prof.lang_lines = o->lines;
	s->prof.with_offsets = o->offsets;
	if (o->hz && !o->count && !o->event && !o->form.nparts) // waits have parts
		s->prof.period_ns = limit_period_ns(o, o->hz);
	if (merge) // rows that differ in addresses nobody sees
		profile_merge(&s->prof, true);
	for (u32 i = 0; o->form.div > 1 && i < s->prof.n; i++)
		slots_divide(&s->prof.samples[i], o->form.div);
	stacks_sort(&s->prof);
}

void stackset_merge(struct StackSet *s)
{
	profile_merge(&s->prof, true);
	stacks_sort(&s->prof);
}

void stackset_deinit(struct StackSet *s)
{
	vec_deinit(&s->samples);
	arena_deinit(&s->arena);
}

void frame_line(const struct StackProfile *p, const struct Frame *f, const struct ToolOpts *o, const char *indent, FILE *out)
{
	struct Str t = {0};
	if (o->addrs && (f->addr || f->module))
		str_addf(&t, f->addr ? "%016llx " : "file:%011llx ", (unsigned long long)(f->addr ? f->addr : f->module_addr));
	if (f->inlined)
		str_add(&t, "[inlined] ");
	if (f->sym) {
		str_add_shown(&t, f->sym, strlen(f->sym));
		if (o->offsets && !f->mark && !f->lang)
			str_addf(&t, "+0x%llx", (unsigned long long)f->sym_off);
		if (p->annotate)
			str_add(&t, frame_annotation(f));
	} else if (f->module) {
		struct Str place = {0};
		str_add_place(&place, f->module, f->module_addr);
		str_add_shown(&t, str_text(&place), place.n);
		str_deinit(&place);
	} else
		str_add(&t, "[unknown]");
	if (f->file && (f->lang || !p->no_lines)) {
		u32 line = profile_frame_line(p, f);
		str_add(&t, f->lang ? " [" : "@");
		str_add_shown(&t, f->file, strlen(f->file));
		if (line || !f->lang)
			str_addf(&t, ":%u", line);
		str_add(&t, f->lang ? "]" : "");
	}
	fprintf(out, "%s%s\n", indent, str_text(&t));
	str_deinit(&t);
}

// Where the value comes from, when more than the first kind has a share in it.
static void parts_line(const struct StackSample *s, const struct ToolOpts *o, FILE *out)
{
	u32 n = 0;
	for (u32 k = 1; k < STACK_PARTS_MAX && o->form.parts[k]; k++)
		n += s->part[k] != 0;
	if (!n)
		return;
	fputs("        (", out);
	for (u32 k = n = 0; o->form.parts[k]; k++)
		if (s->part[k])
			fprintf(out, "%s%s %llu", n++ ? ", " : "", o->form.parts[k], (unsigned long long)s->part[k]);
	fputs(")\n", out);
}

void stacks_multiline(const struct StackProfile *p, const struct ToolOpts *o, FILE *out)
{
	u64 total = profile_total(p);
	for (u32 i = 0; i < p->n; i++) {
		const struct StackSample *s = &p->samples[i];
		struct Str comm = {0};
		for (u32 k = 0; k < s->nkern; k++)
			frame_line(p, &s->kern[k], o, "    ", out);
		if (s->kern_note)
			fprintf(out, "    %s\n", s->kern_note);
		if (o->delim && (s->nkern || s->kern_note) && (s->nuser || s->user_note))
			fputs("    --\n", out);
		for (u32 k = 0; k < s->nuser; k++)
			frame_line(p, &s->user[k], o, "    ", out);
		if (s->user_note)
			fprintf(out, "    %s\n", s->user_note);
		if (s->comm)
			str_add_shown(&comm, s->comm, strlen(s->comm));
		if (o->keyed ? o->keyed->pid != NO_PART : s->pid != 0)
			str_addf(&comm, " (%d)", (int)s->pid);
		labels_text(s, p->label_names, &comm);
		if (comm.n)
			fprintf(out, "    %-16s %s\n", "-", str_text(&comm));
		fprintf(out, "        %llu\n", (unsigned long long)s->value);
		share_line(s->value, total, "        ", out);
		parts_line(s, o, out);
		fputc('\n', out);
		str_deinit(&comm);
	}
}

// [[slot, value], ...]
static void slots_json(const struct StackSample *s, struct Str *out)
{
	struct SlotShare *slots;
	u32 n = sample_slots(s, &slots);
	str_add(out, ", \"slots\": [");
	for (u32 i = 0; i < n; i++)
		str_addf(out, "%s[%llu, %llu]", i ? ", " : "", (unsigned long long)slots[i].slot, (unsigned long long)slots[i].value);
	str_addc(out, ']');
	free(slots);
}

static void frames_json(const struct StackProfile *p, const struct Frame *f, u32 n, struct Str *out)
{
	str_addc(out, '[');
	for (u32 i = 0; i < n; i++) {
		struct Str text = {0};
		struct Frame shown = f[i];
		shown.file = p->no_lines && !f[i].lang ? NULL : f[i].file;
		shown.line = profile_frame_line(p, &f[i]);
		if (f[i].sym && !f[i].addr && !f[i].module) // a name without a place
			str_add(&text, f[i].sym);
		else
			frame_text(&shown, STACK_STYLE_BPFTRACE, &text);
		str_add(out, i ? ", " : "");
		str_add_json(out, str_text(&text), text.n);
		str_deinit(&text);
	}
	str_addc(out, ']');
}

// Beside the frames of "user" the languages of those that are functions of interpreted programs; nothing where all is native code.
static void langs_json(const struct Frame *f, u32 n, struct Str *out)
{
	struct Str list = {0};
	bool any = false;
	for (u32 i = 0; i < n; i++) {
		const char *lang = f[i].mark ? NULL : f[i].lang;
		str_add(&list, i ? ", " : "");
		if (lang)
			str_add_json(&list, lang, strlen(lang));
		else
			str_add(&list, "null");
		any |= lang != NULL;
	}
	if (any)
		str_addf(out, ", \"lang\": [%s]", str_text(&list));
	str_deinit(&list);
}

void stacks_json(const struct StackProfile *p, const struct ToolOpts *o, FILE *out)
{
	if (p->slots.width_ns)
		fprintf(out, "{\"type\": \"slots\", \"start_ns\": %llu, \"width_ns\": %llu, \"n\": %u, \"outside\": %llu}\n", (unsigned long long)p->slots.start_ns,
			(unsigned long long)p->slots.width_ns, p->slots.n, (unsigned long long)p->slots.outside);
	for (u32 i = 0; i < p->n; i++) {
		const struct StackSample *s = &p->samples[i];
		struct Str t = {0};
		str_addf(&t, "{\"type\": \"stack\", \"pid\": %d, \"comm\": ", (int)s->pid);
		str_add_json(&t, s->comm ? s->comm : "", s->comm ? strlen(s->comm) : 0);
		str_add(&t, ", \"user\": ");
		frames_json(p, s->user, s->nuser, &t);
		langs_json(s->user, s->nuser, &t);
		str_add(&t, ", \"kernel\": ");
		frames_json(p, s->kern, s->nkern, &t);
		for (u32 k = 0; k < s->nlabels; k++) {
			str_add(&t, k ? ", " : ", \"key\": {");
			str_add_json(&t, p->label_names[k], strlen(p->label_names[k]));
			str_add(&t, ": ");
			str_add_json(&t, s->labels[k].text, strlen(s->labels[k].text));
		}
		str_add(&t, s->nlabels ? "}" : "");
		const char *note = s->user_note ? s->user_note : s->kern_note;
		if (note) {
			str_add(&t, ", \"note\": ");
			str_add_json(&t, note, strlen(note));
		}
		for (u32 k = 0; o->form.parts[k]; k++)
			str_addf(&t, ", \"%s\": %llu", o->form.parts[k], (unsigned long long)s->part[k]);
		if (o->form.event) {
			str_add(&t, ", \"event\": ");
			str_add_json(&t, o->form.event, strlen(o->form.event));
		}
		if (p->slots.width_ns)
			slots_json(s, &t);
		str_addf(&t, ", \"value\": %llu, \"unit\": ", (unsigned long long)s->value);
		str_add_json(&t, p->unit, strlen(p->unit));
		fprintf(out, "%s}\n", t.p);
		str_deinit(&t);
	}
}
