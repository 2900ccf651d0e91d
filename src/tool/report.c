// Stack counts of a map -> StackProfile: symbolized, equal stacks merged, ascending; and its text forms.
#include "bpf/bpf.h"
#include "tool/internal.h"
#include <time.h>

// What makes two rows one: name, id, and the frames as they will be shown.
static void signature(const struct StackSample *s, const struct ToolOpts *o, struct Str *out)
{
	str_reset(out);
	str_addf(out, "%u\x01%s", s->pid, s->comm ? s->comm : "");
	for (int user = 0; user < 2; user++) {
		const struct Frame *f = user ? s->user : s->kern;
		u32 n = user ? s->nuser : s->nkern;
		str_addc(out, '\x02');
		for (u32 i = 0; i < n; i++) {
			if (f[i].sym && !o->addrs)
				str_add(out, f[i].sym);
			else if (f[i].module)
				str_addf(out, "%s+%llx", f[i].module, (unsigned long long)f[i].module_off);
			else
				str_addf(out, "%llx", (unsigned long long)f[i].addr);
			if (o->offsets)
				str_addf(out, "+%llx", (unsigned long long)f[i].sym_off);
			str_addc(out, '\x01');
		}
	}
}

static void sample_of(const struct Value *key, struct StackSample *s)
{
	const struct Value *items = key->kind == V_TUPLE ? key->items : key;
	u32 n = key->kind == V_TUPLE ? key->n : 1;
	for (u32 i = 0; i < n; i++) {
		const struct Value *v = &items[i];
		if (v->kind == V_INT || v->kind == V_UINT)
			s->pid = (u32)(v->kind == V_INT ? (u64)v->i : v->u);
		else if (v->kind == V_STR)
			s->comm = v->text;
		else if (v->kind == V_STACK) {
			bool kernel = v->nframes ? v->frames[0].kernel : false;
			if (v->nframes && kernel) {
				s->kern = v->frames;
				s->nkern = v->nframes;
			} else if (v->nframes) {
				s->user = v->frames;
				s->nuser = v->nframes;
			}
		}
	}
}

static int by_value(const void *a, const void *b)
{
	const struct StackSample *x = a, *y = b;
	return x->value < y->value ? -1 : x->value > y->value;
}

struct err *stackset_read(struct StackSet *s, struct RunCtx *rc, const char *map, const struct ToolOpts *o)
{
	struct MapReport rep = {0};
	struct MapDef *m = program_map(rc->prog, map);
	struct err *e = map_read(rc, &s->arena, m, 0, 0, &rep);
	struct Str sig = {0};
	if (e)
		return e;
	for (u32 i = 0; i < rep.n; i++) {
		struct StackSample x = {.value = rep.entries[i].val.kind == V_INT ? (u64)rep.entries[i].val.i : rep.entries[i].val.u};
		sample_of(&rep.entries[i].key, &x);
		signature(&x, o, &sig);
		size_t at = (size_t)map_get(&s->index, sig.p);
		if (at)
			s->samples.p[at - 1].value += x.value;
		else {
			vec_push(&s->samples, x);
			map_put(&s->index, sig.p, (void *)s->samples.n);
		}
	}
	str_deinit(&sig);
	qsort(s->samples.p, s->samples.n, sizeof(*s->samples.p), by_value);
	s->prof.samples = s->samples.p;
	s->prof.n = (u32)s->samples.n;
	s->prof.unit = o->tool->unit;
	s->prof.title = o->tool->title;
	s->prof.delim = o->delim;
	s->prof.annotate = o->annotate;
	s->prof.with_offsets = o->offsets;
	if (o->hz && !o->count && !o->event)
		s->prof.period_ns = 1000000000ull / o->hz;
	return NULL;
}

void stackset_deinit(struct StackSet *s)
{
	vec_deinit(&s->samples);
	map_deinit(&s->index);
	arena_deinit(&s->arena);
}

static void frame_line(const struct Frame *f, const struct ToolOpts *o, FILE *out)
{
	struct Str t = {0};
	if (o->addrs && f->addr)
		str_addf(&t, "%016llx ", (unsigned long long)f->addr);
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
	} else if (f->addr)
		str_addf(&t, "0x%llx", (unsigned long long)f->addr);
	else
		str_add(&t, "[unknown]");
	fprintf(out, "    %s\n", str_text(&t));
	str_deinit(&t);
}

void stacks_multiline(const struct StackProfile *p, const struct ToolOpts *o, FILE *out)
{
	for (u32 i = 0; i < p->n; i++) {
		const struct StackSample *s = &p->samples[i];
		struct Str comm = {0};
		for (u32 k = 0; k < s->nkern; k++)
			frame_line(&s->kern[k], o, out);
		if (s->kern_note)
			fprintf(out, "    %s\n", s->kern_note);
		if (o->delim && s->nkern && s->nuser)
			fputs("    --\n", out);
		for (u32 k = 0; k < s->nuser; k++)
			frame_line(&s->user[k], o, out);
		if (s->user_note)
			fprintf(out, "    %s\n", s->user_note);
		if (s->comm)
			str_add_escaped(&comm, s->comm, strlen(s->comm), false);
		fprintf(out, "    %-16s %s (%u)\n        %llu\n\n", "-", str_text(&comm), s->pid, (unsigned long long)s->value);
		str_deinit(&comm);
	}
}

static void frames_json(const struct Frame *f, u32 n, struct Str *out)
{
	str_addc(out, '[');
	for (u32 i = 0; i < n; i++) {
		struct Str text = {0};
		frame_text(&f[i], STACK_STYLE_BPFTRACE, &text);
		struct Value v = {.kind = V_STR, .text = str_text(&text), .len = text.n};
		if (i)
			str_add(out, ", ");
		value_json(&v, out);
		str_deinit(&text);
	}
	str_addc(out, ']');
}

void stacks_json(const struct StackProfile *p, FILE *out)
{
	for (u32 i = 0; i < p->n; i++) {
		const struct StackSample *s = &p->samples[i];
		struct Str t = {0};
		struct Value comm = {.kind = V_STR, .text = s->comm ? s->comm : "", .len = s->comm ? strlen(s->comm) : 0};
		str_addf(&t, "{\"type\": \"stack\", \"pid\": %u, \"comm\": ", s->pid);
		value_json(&comm, &t);
		str_add(&t, ", \"user\": ");
		frames_json(s->user, s->nuser, &t);
		str_add(&t, ", \"kernel\": ");
		frames_json(s->kern, s->nkern, &t);
		fprintf(out, "%s, \"value\": %llu, \"unit\": \"%s\"}\n", t.p, (unsigned long long)s->value, p->unit);
		str_deinit(&t);
	}
}
