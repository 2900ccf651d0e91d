// What a tool with -i has counted over all its reports: the files of --flame and --pprof hold the whole run.
// In: the samples of each report, whose memory goes with the report. Out: one set of samples, equal ones added up, with copies of all they point to.
// Invariant: no value is lost. Stacks beyond TOTAL_FRAMES_MAX are one row, which says so.
#include "tool/internal.h"

static const char *keep_text(struct StackTotal *t, const char *s)
{
	if (!s)
		return NULL;
	const char *have = map_get(&t->texts, s);
	if (!have) {
		have = arena_strdup(&t->set.arena, s);
		map_put(&t->texts, s, (void *)have);
	}
	return have;
}

// Labels are texts (anymap.c). In t->labels, until the next call.
static const struct Value *name_labels(struct StackTotal *t, const struct StackSample *s)
{
	for (u32 i = 0; i < s->nlabels; i++)
		t->labels[i] = (struct Value){.kind = V_STR, .text = keep_text(t, s->labels[i].text), .len = s->labels[i].len};
	return t->labels;
}

static u64 hash_bytes(u64 h, const void *data, size_t n)
{
	for (const u8 *p = data, *end = p + n; p < end; p++)
		h = (h ^ *p) * 1099511628211ull; // FNV-1a
	return h;
}

// Texts are one pointer when equal, so rows are compared as bytes.
static u64 hash_row(const struct StackSample *s)
{
	const struct {
		const char *texts[3];
		u64 numbers[3];
	} head = {{s->comm, s->user_note, s->kern_note}, {s->pid, s->nuser, s->nkern}};
	u64 h = hash_bytes(14695981039346656037ull, &head, sizeof(head));
	for (u32 i = 0; i < s->nlabels; i++)
		h = hash_bytes(h, &s->labels[i].text, sizeof(s->labels[i].text));
	h = hash_bytes(h, s->user, s->nuser * sizeof(*s->user));
	h = hash_bytes(h, s->kern, s->nkern * sizeof(*s->kern));
	return h ^ h >> 32;
}

static bool same_frames(const struct Frame *a, u32 na, const struct Frame *b, u32 nb)
{
	return na == nb && (!na || !memcmp(a, b, na * sizeof(*a)));
}

static bool same_labels(const struct StackSample *a, const struct StackSample *b)
{
	for (u32 i = 0; i < a->nlabels; i++)
		if (i >= b->nlabels || a->labels[i].text != b->labels[i].text)
			return false;
	return a->nlabels == b->nlabels;
}

static bool same_row(const struct StackSample *a, const struct StackSample *b)
{
	return a->comm == b->comm && a->pid == b->pid && a->user_note == b->user_note && a->kern_note == b->kern_note &&
	       same_labels(a, b) && same_frames(a->user, a->nuser, b->user, b->nuser) && same_frames(a->kern, a->nkern, b->kern, b->nkern);
}

static u32 *find_row(struct StackTotal *t, const struct StackSample *s)
{
	for (u64 h = hash_row(s);; h++) {
		u32 *slot = &t->slots[h & (t->nslots - 1)];
		if (!*slot || same_row(&t->set.samples.p[*slot - 1], s))
			return slot;
	}
}

static void grow(struct StackTotal *t)
{
	t->nslots = t->nslots ? t->nslots * 2 : 1024;
	free(t->slots);
	t->slots = xcalloc(t->nslots, sizeof(*t->slots));
	for (u32 i = 0; i < t->set.samples.n; i++)
		*find_row(t, &t->set.samples.p[i]) = i + 1;
}

static const struct Frame *keep_frames(struct StackTotal *t, const struct Frame *f, u32 n)
{
	struct Frame *g = arena_alloc(&t->set.arena, n * sizeof(*g));
	if (n)
		memcpy(g, f, n * sizeof(*g));
	t->nframes += n;
	return g;
}

// The frames of s with this set's texts, in t->tmp, until the next call.
static void name_frames(struct StackTotal *t, struct StackSample *s)
{
	u32 n = s->nuser + s->nkern;
	if (n > t->tmp_cap) {
		t->tmp_cap = MAX(n, 256u);
		t->tmp = xrealloc(t->tmp, t->tmp_cap * sizeof(*t->tmp));
	}
	for (u32 i = 0; i < n; i++) {
		const struct Frame *from = i < s->nuser ? &s->user[i] : &s->kern[i - s->nuser];
		struct Frame *f = &t->tmp[i];
		memcpy(f, from, sizeof(*f));
		f->sym = keep_text(t, f->sym);
		f->raw = keep_text(t, f->raw);
		f->module = keep_text(t, f->module);
		f->file = keep_text(t, f->file);
	}
	s->user = t->tmp;
	s->kern = t->tmp + s->nuser;
}

static void add_slots(struct StackTotal *t, struct StackSample *to, const struct SlotShare *s)
{
	for (; s; s = s->next) {
		struct SlotShare *x = arena_new(&t->set.arena, struct SlotShare);
		*x = *s;
		x->next = to->slots;
		to->slots = x;
	}
}

static void add_values(struct StackSample *to, const struct StackSample *s)
{
	to->value += s->value;
	to->events += s->events;
	for (u32 k = 0; k < ARRAY_LEN(to->part); k++)
		to->part[k] += s->part[k];
}

static void add_row(struct StackTotal *t, struct StackSample s)
{
	s.comm = keep_text(t, s.comm);
	s.user_note = keep_text(t, s.user_note);
	s.kern_note = keep_text(t, s.kern_note);
	s.labels = name_labels(t, &s);
	name_frames(t, &s);
	if (t->set.samples.n * 2 >= t->nslots)
		grow(t);
	u32 *slot = find_row(t, &s);
	if (!*slot && s.nuser + s.nkern && t->nframes + s.nuser + s.nkern > (t->max_frames ? t->max_frames : TOTAL_FRAMES_MAX)) {
		t->rest++;
		s.comm = NULL;
		s.pid = s.nuser = s.nkern = s.nlabels = 0;
		s.user_note = keep_text(t, "[more different stacks than are kept]");
		s.kern_note = NULL;
		slot = find_row(t, &s);
	}
	if (*slot) {
		add_values(&t->set.samples.p[*slot - 1], &s);
		add_slots(t, &t->set.samples.p[*slot - 1], s.slots);
		return;
	}
	struct Value *labels = arena_new_n(&t->set.arena, struct Value, s.nlabels);
	s.labels = memcpy(labels, t->labels, s.nlabels * sizeof(*labels));
	s.user = keep_frames(t, s.user, s.nuser);
	s.kern = keep_frames(t, s.kern, s.nkern);
	const struct SlotShare *slots = s.slots;
	s.slots = NULL;
	add_slots(t, &s, slots);
	vec_push(&t->set.samples, s);
	*slot = (u32)t->set.samples.n;
}

void total_add(struct StackTotal *t, const struct StackSet *s)
{
	for (size_t i = 0; i < s->samples.n; i++)
		add_row(t, s->samples.p[i]);
}

u64 stackset_gather(struct StackSet *s)
{
	struct StackTotal t = {0};
	total_add(&t, s);
	u64 rest = t.rest;
	t.set.missed = s->missed;
	t.set.negative = s->negative;
	stackset_deinit(s);
	*s = t.set;
	t.set = (struct StackSet){0};
	total_deinit(&t);
	return rest;
}

void total_borrow(struct StackTotal *t, const struct StackSet *s)
{
	for (size_t i = 0; i < s->samples.n; i++)
		vec_push(&t->set.samples, s->samples.p[i]);
}

void total_deinit(struct StackTotal *t)
{
	stackset_deinit(&t->set);
	map_deinit(&t->texts);
	free(t->slots);
	free(t->tmp);
}
