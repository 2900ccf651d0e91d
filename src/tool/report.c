// Rows of a map -> StackProfile: symbolized, equal stacks merged, ascending; and its text forms.
// In: a map whose key holds an id, a name and stacks. Out: samples, text, JSON. Invariant: which stack is a user stack is known from the key's type,
// never guessed from its frames.
#include "bpf/bpf.h"
#include "tool/internal.h"

static void split_key(const struct Type *t, const struct Value *v, struct KeyParts *k)
{
	if (t->kind == TY_TUPLE) {
		for (u32 i = 0; i < t->n && i < v->n; i++)
			split_key(t->fields[i].type, &v->items[i], k);
		return;
	}
	if (t->kind == TY_USTACK && k->nuser < KEY_PARTS_MAX)
		k->user[k->nuser++] = v;
	else if (t->kind == TY_KSTACK && k->nkern < KEY_PARTS_MAX)
		k->kern[k->nkern++] = v;
	else if (t->kind == TY_STR && k->nstrs < KEY_PARTS_MAX)
		k->strs[k->nstrs++] = v->text;
	else if (ty_is_int(t) && k->nints < KEY_PARTS_MAX)
		k->ints[k->nints++] = v->kind == V_UINT ? v->u : (u64)v->i;
}

static bool is_lost(const struct Value *v)
{
	return !v->nframes && v->why;
}

// Key: id, name, user stack, kernel stack (those that are asked for), kind.
void row_plain(const struct ToolOpts *o, struct Arena *a, const struct KeyParts *k, u64 value, struct StackSample *s)
{
	s->pid = k->nints ? (u32)k->ints[0] : 0;
	s->comm = k->nstrs ? k->strs[0] : NULL;
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
	if (k->nints > 1 && k->ints[1] < ARRAY_LEN(s->part))
		s->part[k->ints[1]] = value;
	else
		s->part[0] = value;
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

struct err *stackset_take(struct StackSet *s, struct RunCtx *rc, const char *map, const struct ToolOpts *o)
{
	struct MapReport rep = {0};
	struct MapDef *m = program_map(rc->prog, map);
	struct err *e = m ? map_take(rc, &s->arena, m, &rep) : err_new("internal: %s has no map %s", o->tool->name, map);
	for (u32 i = 0; !e && i < rep.n; i++) {
		struct KeyParts k = {0};
		struct StackSample x = {.value = rep.entries[i].val.kind == V_INT ? (u64)rep.entries[i].val.i : rep.entries[i].val.u};
		split_key(m->key, &rep.entries[i].key, &k);
		(o->tool->row ? o->tool->row : row_plain)(o, &s->arena, &k, x.value, &x);
		if (is_missed(x.user_note) || is_missed(x.kern_note))
			s->missed++;
		vec_push(&s->samples, x);
	}
	return e;
}

void stackset_finish(struct StackSet *s, const struct ToolOpts *o)
{
	s->prof.samples = s->samples.p;
	s->prof.n = (u32)s->samples.n;
	s->prof.unit = o->tool->unit;
	s->prof.title = o->tool->title;
	s->prof.delim = o->delim;
	s->prof.annotate = o->annotate;
	s->prof.with_offsets = o->offsets;
	if (o->hz && !o->count && !o->event)
		s->prof.period_ns = 1000000000ull / o->hz;
	if (!o->addrs) // rows that differ in addresses nobody sees
		profile_merge(&s->prof, true);
	for (u32 i = 0; o->tool->div && i < s->prof.n; i++) {
		struct StackSample *x = &s->prof.samples[i];
		x->value /= o->tool->div;
		for (u32 k = 0; k < ARRAY_LEN(x->part); k++)
			x->part[k] /= o->tool->div;
	}
	if (s->prof.n) // qsort(NULL, 0) is undefined
		qsort(s->prof.samples, s->prof.n, sizeof(*s->prof.samples), by_value);
}

void stackset_deinit(struct StackSet *s)
{
	vec_deinit(&s->samples);
	arena_deinit(&s->arena);
}

void frame_line(const struct Frame *f, const struct ToolOpts *o, const char *indent, FILE *out)
{
	struct Str t = {0};
	if (o->addrs && (f->addr || f->module))
		str_addf(&t, "%016llx ", (unsigned long long)(f->addr ? f->addr : f->module_off));
	if (f->inlined)
		str_add(&t, "[inlined] ");
	if (f->sym) {
		str_add_escaped(&t, f->sym, strlen(f->sym), false);
		if (o->offsets)
			str_addf(&t, "+0x%llx", (unsigned long long)f->sym_off);
		if (o->annotate && f->kernel)
			str_add(&t, "_[k]");
	} else if (f->module) {
		const char *base = strrchr(f->module, '/') ? strrchr(f->module, '/') + 1 : f->module;
		str_addc(&t, '[');
		str_add_escaped(&t, base, strlen(base), false);
		str_addf(&t, "+0x%llx]", (unsigned long long)f->module_off);
	} else
		str_add(&t, "[unknown]");
	if (f->file) {
		str_addc(&t, '@');
		str_add_escaped(&t, f->file, strlen(f->file), false);
		str_addf(&t, ":%u", f->line);
	}
	fprintf(out, "%s%s\n", indent, str_text(&t));
	str_deinit(&t);
}

// Where the value comes from, when more than the first kind has a share in it.
static void parts_line(const struct StackSample *s, const struct ToolOpts *o, FILE *out)
{
	u32 n = 0;
	for (u32 k = 1; o->tool->parts && k < ARRAY_LEN(s->part); k++)
		n += s->part[k] != 0;
	if (!n)
		return;
	fputs("        (", out);
	for (u32 k = n = 0; k < ARRAY_LEN(s->part); k++)
		if (s->part[k])
			fprintf(out, "%s%s %llu", n++ ? ", " : "", o->tool->parts[k], (unsigned long long)s->part[k]);
	fputs(")\n", out);
}

void stacks_multiline(const struct StackProfile *p, const struct ToolOpts *o, FILE *out)
{
	for (u32 i = 0; i < p->n; i++) {
		const struct StackSample *s = &p->samples[i];
		struct Str comm = {0};
		for (u32 k = 0; k < s->nkern; k++)
			frame_line(&s->kern[k], o, "    ", out);
		if (s->kern_note)
			fprintf(out, "    %s\n", s->kern_note);
		if (o->delim && (s->nkern || s->kern_note) && (s->nuser || s->user_note))
			fputs("    --\n", out);
		for (u32 k = 0; k < s->nuser; k++)
			frame_line(&s->user[k], o, "    ", out);
		if (s->user_note)
			fprintf(out, "    %s\n", s->user_note);
		if (s->comm)
			str_add_escaped(&comm, s->comm, strlen(s->comm), false);
		fprintf(out, "    %-16s %s (%d)\n        %llu\n", "-", str_text(&comm), (int)s->pid, (unsigned long long)s->value);
		parts_line(s, o, out);
		fputc('\n', out);
		str_deinit(&comm);
	}
}

static void frames_json(const struct Frame *f, u32 n, struct Str *out)
{
	str_addc(out, '[');
	for (u32 i = 0; i < n; i++) {
		struct Str text = {0};
		if (f[i].sym && !f[i].addr && !f[i].module) // a name without a place
			str_add(&text, f[i].sym);
		else
			frame_text(&f[i], STACK_STYLE_BPFTRACE, &text);
		str_add(out, i ? ", " : "");
		str_add_json(out, str_text(&text), text.n);
		str_deinit(&text);
	}
	str_addc(out, ']');
}

void stacks_json(const struct StackProfile *p, const struct ToolOpts *o, FILE *out)
{
	for (u32 i = 0; i < p->n; i++) {
		const struct StackSample *s = &p->samples[i];
		struct Str t = {0};
		str_addf(&t, "{\"type\": \"stack\", \"pid\": %d, \"comm\": ", (int)s->pid);
		str_add_json(&t, s->comm ? s->comm : "", s->comm ? strlen(s->comm) : 0);
		str_add(&t, ", \"user\": ");
		frames_json(s->user, s->nuser, &t);
		str_add(&t, ", \"kernel\": ");
		frames_json(s->kern, s->nkern, &t);
		const char *note = s->user_note ? s->user_note : s->kern_note;
		if (note) {
			str_add(&t, ", \"note\": ");
			str_add_json(&t, note, strlen(note));
		}
		for (u32 k = 0; o->tool->parts && k < ARRAY_LEN(s->part); k++)
			str_addf(&t, ", \"%s\": %llu", o->tool->parts[k], (unsigned long long)s->part[k]);
		if (o->tool->event) {
			str_add(&t, ", \"event\": ");
			str_add_json(&t, o->tool->event(o), strlen(o->tool->event(o)));
		}
		fprintf(out, "%s, \"value\": %llu, \"unit\": \"%s\"}\n", t.p, (unsigned long long)s->value, p->unit);
		str_deinit(&t);
	}
}
