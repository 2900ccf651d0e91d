// The text of `perf script`: for each sample a line, then its stack, leaf first, then an empty line (perf-script(1)).
//   COMM  PID[/TID] [CPU] TIME: [PERIOD] EVENT: [FRAME]
//   	ADDRESS NAME+OFFSET (OBJECT)
// An inlined function has (inlined) for its object and stands before the one it is part of. With -F srcline the line FILE:LINE follows a frame.
// In: lines. Out: one for each sample of the first event. Invariant: a line that is none of these is counted as left out.
#include "input/internal.h"

struct Word {
	const char *p;
	size_t n;
};
struct Perf {
	struct Input *in;
	const struct InputWish *wish;
	struct Map names;
	struct InputStack st; // leaf first until the sample ends
	const char *event;    // that is taken; NULL: not known yet
	const char *comm;
	u32 pid;
	bool open, wanted;    // a sample's stack is being read; it is of that event
	u64 number;	      // of the line
};

static const char *keep(struct Perf *pf, const char *s, size_t n)
{
	char *copy = arena_strndup(&pf->in->arena, s, n);
	const char *have = map_get(&pf->names, copy);
	if (!have)
		map_put(&pf->names, copy, copy);
	return have ? have : copy;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool next_word(const char **p, const char *end, struct Word *w)
{
	while (*p < end && blank(**p))
		(*p)++;
	w->p = *p;
	while (*p < end && !blank(**p))
		(*p)++;
	w->n = (size_t)(*p - w->p);
	return w->n > 0;
}

static size_t span(const struct Word *w, const char *of)
{
	size_t i = 0;
	while (i < w->n && memchr(of, w->p[i], strlen(of)))
		i++;
	return i;
}

static bool is_time(const struct Word *w) // "123.456789:"
{
	return w->n > 2 && w->p[w->n - 1] == ':' && span(w, "0123456789.") == w->n - 1;
}

static bool is_pid(const struct Word *w) // "12" or "12/13", also "-1"
{
	return w->n && w->p[w->n - 1] >= '0' && w->p[w->n - 1] <= '9' && span(w, "0123456789/-") == w->n;
}

// The line of a sample: where COMM begins and ends, and what is behind TIME.
struct Head {
	size_t begin, comm;
	u32 pid;
	struct Word event;
	const char *rest;
};
static bool parse_head(const struct Line *l, struct Head *h)
{
	const char *p = l->p, *end = l->p + l->n;
	struct Word w, next;
	*h = (struct Head){0};
	if (!next_word(&p, end, &w)) // COMM has one word at least
		return false;
	h->begin = (size_t)(w.p - l->p);
	while (!h->rest && next_word(&p, end, &w)) {
		const char *q = p;
		if (!is_pid(&w) || !next_word(&q, end, &next))
			continue;
		if (next.p[0] == '[' && !next_word(&q, end, &next))
			continue;
		if (is_time(&next)) {
			h->pid = (u32)strtoul(w.p, NULL, 10);
			h->rest = q;
			h->comm = (size_t)(w.p - l->p);
		}
	}
	while (h->comm > h->begin && blank(l->p[h->comm - 1]))
		h->comm--;
	if (!h->rest || !next_word(&h->rest, end, &h->event))
		return false;
	if (span(&h->event, "0123456789") == h->event.n && !next_word(&h->rest, end, &h->event)) // the period
		return false;
	if (h->event.n < 2 || h->event.p[h->event.n - 1] != ':')
		return false;
	h->event.n--;
	return true;
}

// "ffffffff81000000 name+0x12 ([kernel.kallsyms])"
static bool parse_frame(struct Perf *pf, const char *p, const char *end, struct Frame *f)
{
	struct Word addr;
	if (!next_word(&p, end, &addr) || span(&addr, "0123456789abcdef") != addr.n || addr.n > 16)
		return false;
	while (p < end && blank(*p))
		p++;
	while (end > p && blank(end[-1]))
		end--;
	const char *open = NULL;
	if (end > p && end[-1] == ')')
		for (const char *q = end - 1; !open && q > p; q--)
			if (*q == '(' && blank(q[-1]))
				open = q;
	const char *name_end = open ? open : end;
	while (name_end > p && blank(name_end[-1]))
		name_end--;
	*f = (struct Frame){.addr = strtoull(addr.p, NULL, 16)};
	struct Word object = {open ? open + 1 : end, open ? (size_t)(end - 1 - (open + 1)) : 0};
	f->inlined = object.n == 7 && !memcmp(object.p, "inlined", 7);
	f->kernel = f->addr >> 63 && !(object.n == 10 && !memcmp(object.p, "[vsyscall]", 10));
	if (object.n && !f->inlined && !(object.n > 6 && !memcmp(object.p, "[kernel", 7)))
		f->module = f->kernel && object.n > 2 && *object.p == '[' ? keep(pf, object.p + 1, object.n - 2) : keep(pf, object.p, object.n);
	for (const char *q = name_end; q > p + 3; q--) // +0x12
		if (!memcmp(q - 3, "+0x", 3)) {
			f->sym_off = strtoull(q, NULL, 16);
			name_end = q - 3;
			break;
		}
	if (name_end > p && !(name_end - p == 9 && !memcmp(p, "[unknown]", 9)))
		f->sym = keep(pf, p, (size_t)(name_end - p));
	if (!f->kernel)
		f->module_addr = f->addr, f->addr = 0;
	return true;
}

static void end_sample(struct Perf *pf)
{
	if (pf->open && pf->wanted) {
		for (size_t i = 0, n = pf->st.frames.n; i < n / 2; i++)
			SWAP(pf->st.frames.p[i], pf->st.frames.p[n - 1 - i]);
		input_add(pf->in, &pf->st, (struct StackSample){.comm = pf->comm, .pid = pf->pid, .value = 1, .part = {1}});
	}
	pf->open = false;
	pf->st.frames.n = 0;
}

static void begin_sample(struct Perf *pf, const struct Line *l, const struct Head *h)
{
	struct Frame f;
	const char *event = keep(pf, h->event.p, h->event.n);
	end_sample(pf);
	pf->open = true;
	pf->comm = keep(pf, l->p + h->begin, h->comm - h->begin);
	pf->pid = h->pid;
	if (!pf->event)
		pf->event = pf->wish->value ? keep(pf, pf->wish->value, strlen(pf->wish->value)) : event;
	pf->wanted = event == pf->event;
	if (!pf->wanted)
		input_skip(pf->in, pf->number, "is of another event (--value chooses)");
	if (parse_frame(pf, h->rest, l->p + l->n, &f)) // samples without stacks
		vec_push(&pf->st.frames, f);
}

// "  file.c:12", of the frame before
static bool take_place(struct Perf *pf, const struct Line *l)
{
	const char *p = l->p, *end = l->p + l->n, *colon = end;
	while (p < end && blank(*p))
		p++;
	while (colon > p && colon[-1] >= '0' && colon[-1] <= '9')
		colon--;
	if (colon == end || colon <= p + 1 || colon[-1] != ':' || !pf->st.frames.n)
		return false;
	vec_last(&pf->st.frames).file = keep(pf, p, (size_t)(colon - 1 - p));
	vec_last(&pf->st.frames).line = (u32)strtoul(colon, NULL, 10);
	return true;
}

static void take_line(struct Perf *pf, const struct Line *l)
{
	struct Head h;
	struct Frame f;
	if (!l->n)
		end_sample(pf);
	else if (parse_head(l, &h))
		begin_sample(pf, l, &h);
	else if (pf->open && blank(*l->p) && parse_frame(pf, l->p, l->p + l->n, &f))
		vec_push(&pf->st.frames, f);
	else if (*l->p != '#' && !(pf->open && take_place(pf, l)))
		input_skip(pf->in, pf->number, "is neither a sample nor a frame");
}

// The first line that is no remark is that of a sample.
static bool is_perf(const char *data, size_t n)
{
	struct Line l;
	struct Head h;
	for (const char *p = data; next_line(&p, data + n, &l);)
		if (l.n && *l.p != '#')
			return parse_head(&l, &h);
	return false;
}

static struct err *read_perf(struct Input *in, const struct InputWish *wish, const char *data, size_t n)
{
	struct Perf pf = {.in = in, .wish = wish};
	struct Line l;
	for (const char *p = data; next_line(&p, data + n, &l);) {
		pf.number++;
		take_line(&pf, &l);
	}
	end_sample(&pf);
	in->prof.title = pf.event;
	map_deinit(&pf.names);
	vec_deinit(&pf.st.frames);
	return NULL;
}

const struct Format format_perf = {"the text of perf script", "lines", is_perf, read_perf};
