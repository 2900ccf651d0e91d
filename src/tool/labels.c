// Labels of a row: the parts of a key that are neither process nor stack, as texts.
// In: which parts they are (anymap.c), names of cgroups (run/groups.c). Out: StackSample.labels, their text. Invariant: a label's text is a plain one, whatever it was.
#include "tool/internal.h"

// A label's text: what it is called, of a number that means something.
static void label_text(const struct ToolOpts *o, u32 i, const struct Value *v, struct Str *out)
{
	const char *name = o->keyed->labels[i];
	struct Group g;
	bool cgroup = o->keyed->places[i] != LABEL_INNER && o->groups && v->kind == V_UINT &&
		      (!strcmp(name, "cgroup") || !strcmp(name, "container") || !strcmp(name, "container_id"));
	if (!cgroup) {
		value_text(v, out);
		return;
	}
	groups_find(o->groups, v->u, &g);
	str_add(out, !strcmp(name, "cgroup") ? g.path : !strcmp(name, "container") ? g.container : g.container_id);
}

void row_labels(const struct ToolOpts *o, struct Arena *a, const struct KeyParts *k, struct StackSample *s)
{
	const struct StackMap *m = o->keyed;
	struct Value *labels = arena_new_n(a, struct Value, m->nlabels);
	for (u32 i = 0; i < m->nlabels; i++) {
		struct Str text = {0};
		label_text(o, i, k->others[m->label_of[i]], &text);
		labels[i] = (struct Value){.kind = V_STR, .text = arena_strdup(a, str_text(&text)), .len = text.n};
		str_deinit(&text);
	}
	s->labels = labels;
	s->nlabels = m->nlabels;
}

// The parts of the key that are no process: " cpu 3, prio 120"
void labels_text(const struct StackSample *s, const char *const *names, struct Str *out)
{
	bool before = false;
	for (u32 i = 0; i < s->nlabels; i++) {
		const char *text = s->labels[i].text;
		if (!*text)
			continue;
		str_add(out, before ? ", " : out->n ? " " : "");
		str_add_shown(out, names[i], strlen(names[i]));
		str_addc(out, ' ');
		str_add_shown(out, text, strlen(text));
		before = true;
	}
}

void labels_line(const struct StackProfile *p, const struct StackSample *s, const char *indent, FILE *out)
{
	struct Str t = {0};
	labels_text(s, p->label_names, &t);
	if (t.n)
		fprintf(out, "%s%s\n", indent, str_text(&t));
	str_deinit(&t);
}
