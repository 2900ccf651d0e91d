// Maps keyed by stacks, as bpftrace and sonde print them: @NAME[KEY, KEY ...]: COUNT. A stack in a key is a line end and a line a frame, leaf first; other parts
// stand between ", ". In: that text. Out: the entries of one map. Invariant: every line is of an entry, or counted as left out.
//
// The text does not say which of two stacks is the kernel's. Its addresses do, or the kernel's entries at the root: a map's slots are asked together. Where
// nothing tells, the first one lies on top, as for `@[kstack, ustack]`, and no frame is called the kernel's. bpftrace 0.17 writes a stack without frames as
// an empty text: it keeps its place.
#include "input/internal.h"

#define SLOTS 8 // stacks in a key

struct Entry {
	size_t first, ends[SLOTS], first_text, texts; // of frames, of texts
	u32 slots;
	u64 value;
};
struct Maps {
	struct Input *in;
	struct Names names;
	VEC(struct Frame) frames;
	VEC(const char *) texts;
	VEC(struct Entry) entries;
	const char *map; // that is taken; NULL: not known yet
	struct Entry now;
	bool open, wanted; // an entry is being read; it is of that map
	u64 number, opened; // of the line, of the entry's first
	u64 votes[SLOTS];  // entries whose stack there is the kernel's
};

static bool begins(const char *p, const char *end, const char *with)
{
	size_t n = strlen(with);
	return (size_t)(end - p) >= n && !memcmp(p, with, n);
}

// The end of "@NAME" if "[" follows; NULL: it does not.
static const char *map_name(const struct Line *l)
{
	struct Word w = {l->p + 1, l->n ? l->n - 1 : 0};
	size_t n = word_span(&w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	return l->n && *l->p == '@' && n < w.n && w.p[n] == '[' ? w.p + n : NULL;
}

static bool number_at(const char *p, const char *end, int base, u64 *v)
{
	struct Word w = {p, (size_t)(end - p)};
	char text[24] = "";
	if (!w.n || w.n > 20 || word_span(&w, base == 16 ? "0123456789abcdef" : "0123456789") != w.n)
		return false;
	memcpy(text, p, w.n);
	*v = strtoull(text, NULL, base);
	return true;
}

// ---- frames

// "FILE:LINE" up to end
static bool take_source(struct Maps *m, const char *p, const char *end, struct Frame *f)
{
	const char *colon = end;
	u64 line;
	while (colon > p && colon[-1] != ':')
		colon--;
	if (colon <= p + 1 || !number_at(colon, end, 10, &line))
		return false;
	f->file = names_keep(&m->names, p, (size_t)(colon - 1 - p));
	f->line = (u32)line;
	return true;
}

// "[OBJECT+0x12]", where no name is known
static bool take_object(struct Maps *m, const char *p, const char *end, struct Frame *f)
{
	const char *plus = end - 1;
	while (plus > p && *plus != '+')
		plus--;
	if (end - p < 6 || *p != '[' || end[-1] != ']' || !begins(plus, end, "+0x") || !number_at(plus + 3, end - 1, 16, &f->module_addr))
		return false;
	f->module = names_keep(&m->names, p + 1, (size_t)(plus - p - 1));
	return true;
}

// "name+12", "[inlined] name", "name+12@file.c:3", "name+0 [file.py:3]", and in mode perf with the address before, the object behind
static void parse_frame(struct Maps *m, const char *p, const char *end, struct Frame *f)
{
	const char *q;
	bool address = read_place(&m->names, p, end, f) && f->sym;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (address) {
		p = f->sym;
		end = p + strlen(p);
	} else
		*f = (struct Frame){0};
	if (begins(p, end, "[inlined] ")) {
		f->inlined = true;
		p += 10;
	}
	for (q = end; !f->file && q > p + 1 && (q[-1] != '@' || !take_source(m, q, end, f));)
		q--;
	if (f->file)
		end = q - 1;
	else if (end[-1] == ']') {
		for (q = end - 1; q > p && *q != '[';)
			q--;
		if (q > p + 1 && q[-1] == ' ' && take_source(m, q + 1, end - 1, f))
			end = q - 1;
	}
	for (q = end; q > p + 1 && q[-1] >= '0' && q[-1] <= '9';)
		q--;
	if (q < end && q > p + 1 && q[-1] == '+') { // +12
		f->sym_off = strtoull(q, NULL, 10);
		end = q - 1;
	}
	if (begins(p, end, "[truncated]") || begins(p, end, "[cut"))
		f->mark = frame_mark_cut;
	f->sym = take_object(m, p, end, f) ? NULL : names_keep(&m->names, p, (size_t)(end - p));
}

// What the kernel's stacks begin with: entries from user space, of interrupts, threads.
static bool is_kernel(const struct Maps *m, size_t first, size_t end)
{
	static const char *const roots[] = {"entry_", "asm_", "ret_from_fork", "secondary_startup_", "common_startup_", "el0t_", "el1h_", "do_syscall_64", "kthread", "handle_exception"};
	const struct Frame *root = first < end ? &m->frames.p[end - 1] : NULL;
	for (size_t i = first; i < end; i++)
		if (m->frames.p[i].kernel)
			return true;
	for (size_t i = 0; root && root->sym && i < ARRAY_LEN(roots); i++)
		if (!strncmp(root->sym, roots[i], strlen(roots[i])))
			return true;
	u64 addr;
	return root && root->sym && number_at(root->sym, root->sym + strlen(root->sym), 16, &addr) && addr >> 63;
}

// ---- entries

static bool slot_is_kernel(const struct Maps *m, const struct Entry *e, u32 slot)
{
	return is_kernel(m, slot ? e->ends[slot - 1] : e->first, e->ends[slot]);
}

static void end_slot(struct Maps *m)
{
	struct Entry *e = &m->now;
	if (e->slots == SLOTS)
		return;
	e->ends[e->slots++] = m->frames.n;
}

static void drop(struct Maps *m, const char *why)
{
	m->frames.n = m->now.first;
	m->texts.n = m->now.first_text;
	m->open = false;
	input_skip(m->in, m->opened, why);
}

static void add_texts(struct Maps *m, const char *p, const char *end)
{
	while (p < end) {
		const char *stop = p;
		while (stop < end && !begins(stop, end, ", "))
			stop++;
		if (stop > p)
			vec_push(&m->texts, names_keep(&m->names, p, (size_t)(stop - p)));
		else if (m->wanted)
			end_slot(m);
		p = stop + 2;
	}
}

// Behind "[" or ", " to the line's end: texts, then a stack or "]: COUNT".
static void take_texts(struct Maps *m, const char *p, const char *end)
{
	const char *close = end;
	while (close > p && !begins(close, end, "]:"))
		close--;
	if (!begins(close, end, "]:")) {
		add_texts(m, p, end);
		return;
	}
	add_texts(m, p, close);
	m->now.texts = m->texts.n - m->now.first_text;
	if (!m->wanted)
		drop(m, "is of another map (--value chooses)");
	else if (end - close < 4 || !number_at(close + 3, end, 10, &m->now.value))
		drop(m, "has no number for its value");
	else if (m->now.first == m->frames.n)
		drop(m, "has no stack");
	else {
		for (u32 i = 0; i < m->now.slots; i++)
			m->votes[i] += slot_is_kernel(m, &m->now, i);
		vec_push(&m->entries, m->now);
		m->open = false;
	}
}

static void begin_entry(struct Maps *m, const struct Line *l, const char *bracket, const struct InputWish *wish)
{
	if (m->open)
		drop(m, "has no end");
	const char *name = names_keep(&m->names, l->p, (size_t)(bracket - l->p));
	bool stack = bracket + 1 == l->p + l->n || begins(l->p + l->n - 2, l->p + l->n, ", ");
	if (!m->map && (wish->value || stack))
		m->map = wish->value ? names_keep(&m->names, wish->value, strlen(wish->value)) : name;
	m->wanted = name == m->map || !m->map;
	m->open = true;
	m->opened = m->number;
	m->now = (struct Entry){.first = m->frames.n, .first_text = m->texts.n};
	take_texts(m, bracket + 1, l->p + l->n);
}

static void take_line(struct Maps *m, const struct Line *l, const struct InputWish *wish)
{
	const char *bracket = map_name(l), *end = l->p + l->n;
	struct Frame f;
	if (bracket)
		begin_entry(m, l, bracket, wish);
	else if (m->open && (*l->p == ',' || *l->p == ']')) {
		if (m->wanted)
			end_slot(m);
		take_texts(m, *l->p == ',' ? MIN(l->p + 2, end) : l->p, end);
	} else if (m->open && m->wanted) {
		parse_frame(m, l->p, end, &f);
		vec_push(&m->frames, f);
	} else if (!m->open && !begins(l->p, end, "Attach"))
		input_skip(m->in, m->number, "is no entry of a map");
}

// ---- samples

static void add_slot(struct Maps *m, struct InputStack *st, const struct Entry *e, u32 slot, bool kernel)
{
	for (size_t i = e->ends[slot], first = slot ? e->ends[slot - 1] : e->first; i-- > first;) {
		struct Frame f = m->frames.p[i];
		f.kernel = kernel;
		vec_push(&st->frames, f);
	}
}

// The first text that is no number is the process, the others are labels.
static void set_texts(struct Maps *m, const struct Entry *e, u32 nlabels, struct StackSample *s)
{
	struct Value *v = arena_new_n(&m->in->arena, struct Value, nlabels + 1);
	u64 number;
	for (size_t i = 0; i < e->texts; i++) {
		const char *text = m->texts.p[e->first_text + i];
		if (!s->comm && !number_at(text, text + strlen(text), 10, &number))
			s->comm = text;
		else
			v[s->nlabels++] = (struct Value){.kind = V_STR, .text = text, .len = strlen(text)};
	}
	s->labels = s->nlabels ? v : NULL;
}

// The text does not name the parts of a key.
static void name_labels(struct Maps *m)
{
	u32 n = 0;
	for (size_t i = 0; i < m->in->samples.n; i++)
		n = MAX(n, m->in->samples.p[i].nlabels);
	const char **names = arena_new_n(&m->in->arena, const char *, n + 1);
	for (u32 i = 0; i < n; i++)
		names[i] = arena_printf(&m->in->arena, "key%u", i + 1);
	m->in->prof.label_names = n ? names : NULL;
}

// The slot of the entry's kernel stack, by that of the others. Where that has no frames an empty text before may have moved it.
static u32 kernel_slot(const struct Maps *m, const struct Entry *e, u32 usual)
{
	if (usual < e->slots && e->ends[usual] == (usual ? e->ends[usual - 1] : e->first))
		for (u32 i = 0; i < e->slots; i++)
			if (slot_is_kernel(m, e, i))
				return i;
	return usual;
}

static void add_entries(struct Maps *m)
{
	struct InputStack st = {0};
	u32 usual = SLOTS;
	for (u32 i = 0; i < SLOTS; i++)
		if (m->votes[i] && (usual == SLOTS || m->votes[i] > m->votes[usual]))
			usual = i;
	for (size_t i = 0; i < m->entries.n; i++) {
		const struct Entry *e = &m->entries.p[i];
		struct StackSample s = {.value = e->value, .part = {e->value}};
		u32 kernel = kernel_slot(m, e, usual);
		st.frames.n = 0;
		for (u32 k = e->slots; k-- > 0;)
			if (k != kernel)
				add_slot(m, &st, e, k, false);
		if (kernel < e->slots)
			add_slot(m, &st, e, kernel, true);
		set_texts(m, e, (u32)e->texts, &s);
		input_add(m->in, &st, s);
	}
	name_labels(m);
	vec_deinit(&st.frames);
}

static bool is_maps(const char *data, size_t n)
{
	struct Line l;
	for (const char *p = data, *end = data + n; next_line(&p, end, &l);)
		if (map_name(&l))
			return !memchr(l.p, ';', l.n); // folded text of a process of such a name
	return false;
}

static struct err *read_maps(struct Input *in, const struct InputWish *wish, const char *data, size_t n)
{
	struct Maps m = {.in = in, .names = {.arena = &in->arena}};
	struct Line l;
	for (const char *p = data, *end = data + n; next_line(&p, end, &l);) {
		m.number++;
		if (l.n)
			take_line(&m, &l, wish);
	}
	if (m.open)
		drop(&m, "has no end");
	add_entries(&m);
	in->prof.unit = wish->unit ? arena_strdup(&in->arena, wish->unit) : "count";
	in->prof.title = m.map;
	map_deinit(&m.names.have);
	vec_deinit(&m.frames);
	vec_deinit(&m.texts);
	vec_deinit(&m.entries);
	return NULL;
}

const struct Format format_bpftrace = {"maps keyed by stacks", "lines", is_maps, read_maps};
