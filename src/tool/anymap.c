// Which map of a script is reported as stacks, and what the parts of its key are.
// In: a compiled script. Out: struct StackMap; samples of its rows. Invariant: no part of a key is taken for something it is not called, and none is
// left out: the name of a process is what the script calls comm, its number what it calls pid or tid; every other part is a label. by_NAME is what --by asks
// for: by_container and by_cgroup are ids of cgroups, shown by name. With stack_slot the part called slot says when.
#include "bpf/bpf.h"
#include "tool/internal.h"

struct Leaves { // of a key
	const struct Type *t[KEY_PARTS_MAX];
	u32 n, user, kern, names;
};

static void leaves_of(const struct Type *t, struct Leaves *l)
{
	if (t->kind == TY_TUPLE) {
		for (u32 i = 0; i < t->n; i++)
			leaves_of(t->fields[i].type, l);
		return;
	}
	l->user += t->kind == TY_USTACK;
	l->kern += t->kind == TY_KSTACK;
	l->names += t->kind == TY_STR;
	if (l->n < KEY_PARTS_MAX)
		l->t[l->n] = t;
	l->n++;
}

static bool has_stacks(const struct MapDef *m)
{
	struct Leaves l = {0};
	if (m->key)
		leaves_of(m->key, &l);
	return m->user && l.user + l.kern;
}

bool stackmap_any(const struct Program *p)
{
	for (size_t i = 0; i < p->maps.n; i++)
		if (has_stacks(p->maps.p[i]))
			return true;
	return false;
}

// Among the parts; NO_PART: there is none
static u32 slot_part(const struct MapDef *m, const struct Leaves *l)
{
	for (u32 i = 0; i < l->n; i++)
		if (l->t[i]->kind == TY_INT && m->key_names[i] && !strcmp(m->key_names[i], "slot"))
			return i;
	return NO_PART;
}

// NULL, or why it cannot be shown.
static const char *unfit(const struct MapDef *m, const struct ReportForm *f)
{
	struct Leaves l = {0};
	if (!has_stacks(m))
		return "has no stack in its key";
	leaves_of(m->key, &l);
	if (f->names && (l.names < f->names || l.kern < f->kernel_stacks))
		return "has a key that does not fit stack_form";
	if (!f->names && (l.user > 1 || l.kern > 1))
		return "has several stacks of one kind in its key";
	if (l.n > KEY_PARTS_MAX)
		return "has a key of too many parts";
	if (f->slot_ns && slot_part(m, &l) == NO_PART)
		return "has no number called slot in its key, which the setting stack_slot asks for";
	if (m->val->kind != TY_COUNT && m->val->kind != TY_SUM && !ty_is_int(m->val))
		return "has values that cannot be added up: count(), sum() and numbers can";
	return NULL;
}

// Is the part called so, or does its name end so ("next_comm")?
static bool called(const char *name, const char *what, bool exactly)
{
	size_t n = name ? strlen(name) : 0, k = strlen(what);
	return n >= k && !strcmp(name + n - k, what) && (n == k || (!exactly && name[n - k - 1] == '_'));
}

static bool is_number(const struct Type *t)
{
	return t->kind == TY_INT;
}

static bool is_text(const struct Type *t)
{
	return t->kind == TY_STR;
}

static bool is_stack(const struct Type *t)
{
	return t->kind == TY_USTACK || t->kind == TY_KSTACK;
}

// The part that fits and has one of the names, the first name first; its number among the parts that are no stacks.
static u32 part_called(const struct MapDef *m, const struct Leaves *l, bool (*fits)(const struct Type *), const char *const *names)
{
	for (int exactly = 1; exactly >= 0; exactly--)
		for (const char *const *want = names; *want; want++)
			for (u32 i = 0, other = 0; i < l->n; other += !is_stack(l->t[i++]))
				if (fits(l->t[i]) && called(m->key_names[i], *want, exactly))
					return other;
	return NO_PART;
}

// Parts called by_NAME
static const char *by_name(const struct MapDef *m, u32 part)
{
	const char *name = m->key_names[part];
	return name && !strncmp(name, "by_", 3) && name[3] ? name + 3 : NULL;
}

static void add_label(struct StackMap *s, const char *name, u32 other, enum LabelPlace place)
{
	s->labels[s->nlabels] = name;
	s->places[s->nlabels] = place;
	s->label_of[s->nlabels++] = other;
}

static void add_by(struct StackMap *s, const char *name, const struct Type *t, u32 other)
{
	bool container = is_number(t) && !strcmp(name, "container");
	add_label(s, name, other, LABEL_OUTER);
	if (container)
		add_label(s, "container_id", other, LABEL_ASIDE);
	s->groups |= container || (is_number(t) && !strcmp(name, "cgroup"));
}

static struct StackMap *stackmap(struct MapDef *m, const struct ReportForm *f, bool split, struct Arena *a)
{
	static const char *const comms[] = {"comm", NULL}, *const pids[] = {"pid", "tid", NULL}, *const kinds[] = {"kind", NULL};
	struct StackMap *s = arena_new(a, struct StackMap);
	struct Leaves l = {0};
	leaves_of(m->key, &l);
	s->def = m;
	s->comm = part_called(m, &l, is_text, comms);
	s->pid = part_called(m, &l, is_number, pids);
	s->threads = s->pid != NO_PART && s->pid == part_called(m, &l, is_number, pids + 1);
	s->kind = split ? part_called(m, &l, is_number, kinds) : NO_PART;
	s->slot_part = f->slot_ns ? slot_part(m, &l) : NO_PART;
	s->slot = NO_PART;
	for (int by = 1; by >= 0; by--) // these first
		for (u32 i = 0, other = 0; i < l.n; other += !is_stack(l.t[i++])) {
			if (is_stack(l.t[i]))
				continue;
			if (i == s->slot_part) {
				s->slot = other;
				continue;
			}
			s->by[i] = by_name(m, i) != NULL;
			if (by && s->by[i])
				add_by(s, by_name(m, i), l.t[i], other);
			else if (!by && !s->by[i] && !f->names && other != s->comm && other != s->pid && other != s->kind)
				add_label(s, m->key_names[i] ? m->key_names[i] : arena_printf(a, "key%u", i + 1), other, LABEL_INNER);
		}
	return s;
}

struct StackMap *stackmap_pick(const struct ToolOpts *o, const struct Program *p, struct Arena *a, struct err **e)
{
	struct MapDef *found = NULL;
	struct Str names = {0}, bad = {0};
	u32 n = 0;
	for (size_t i = 0; i < p->maps.n; i++) {
		struct MapDef *m = p->maps.p[i];
		const char *why = unfit(m, &o->form);
		bool named = o->map && !strcmp(m->name + (*o->map != '@'), o->map);
		if (!m->user || (o->map ? !named : !has_stacks(m)))
			continue;
		if (why) {
			str_addf(&bad, "%s%s %s", bad.n ? "; " : "", m->name, why);
			continue;
		}
		str_addf(&names, "%s%s", n++ ? ", " : "", m->name);
		found = m;
	}
	if (o->map && !n)
		*e = bad.n ? err_new("--map: %s", bad.p) : err_new("--map: the script has no map %s", o->map);
	else if (n > 1)
		*e = err_new("several maps of the script are keyed by stacks: %s\nHINT: --map says which one is meant", names.p);
	else if (!n)
		*e = bad.n ? err_new("no map of the script can be shown as stacks: %s", bad.p)
			   : err_new("no map of the script is keyed by stacks\nHINT: @[ustack, kstack] = count() makes one");
	str_deinit(&names);
	str_deinit(&bad);
	return n == 1 ? stackmap(found, &o->form, *p->config.stack_parts, a) : NULL;
}

static u64 number_of(const struct Value *v)
{
	return v->kind == V_UINT ? v->u : (u64)v->i;
}

void row_named(const struct ToolOpts *o, struct Arena *a, const struct KeyParts *k, u64 value, struct StackSample *s)
{
	const struct StackMap *m = o->keyed;
	u64 kind = m->kind != NO_PART ? number_of(k->others[m->kind]) : 0;
	if (m->comm != NO_PART)
		s->comm = k->others[m->comm]->text;
	if (m->pid != NO_PART)
		s->pid = (u32)number_of(k->others[m->pid]);
	if (o->form.events && kind == o->form.nparts) {
		s->events = value;
		s->value = 0;
	} else {
		s->part[kind < STACK_PARTS_MAX ? kind : 0] = value;
	}
	row_stacks(k, s);
}
