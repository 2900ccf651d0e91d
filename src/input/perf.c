// The text of `perf script`: for each sample a line, then its stack, leaf first, then an empty line (perf-script(1)).
//   COMM  PID[/TID] [CPU] [TIME:] [PERIOD] EVENT: [FRAME]
//   	ADDRESS NAME+OFFSET (OBJECT)
// An inlined function has (inlined) for its object and stands before the one it is part of. With -F srcline the line FILE:LINE follows a frame.
// In: lines. Out: one for each sample of the first event. Invariant: a line that is none of these is counted as left out.
#include "input/internal.h"

struct Perf {
	struct Input *in;
	const struct InputWish *wish;
	struct Names names;
	struct InputStack st; // leaf first until the sample ends
	const char *event;    // that is taken; NULL: not known yet
	const char *comm;
	u32 pid;
	bool open, wanted;    // a sample's stack is being read; it is of that event
	u64 number;	      // of the line
};

static bool is_time(const struct Word *w) // "123.456789:"
{
	return w->n > 2 && w->p[w->n - 1] == ':' && word_span(w, "0123456789.") == w->n - 1;
}

static bool is_pid(const struct Word *w) // "12" or "12/13", also "-1"
{
	return w->n && w->p[w->n - 1] >= '0' && w->p[w->n - 1] <= '9' && word_span(w, "0123456789/-") == w->n;
}

// The line of a sample: where COMM begins and ends, and what is behind TIME.
struct Head {
	size_t begin, comm;
	u32 pid;
	struct Word event;
	const char *rest;
};
// "[CPU] TIME: [PERIOD] EVENT:", or the same without TIME (perf script -F without time)
static bool parse_event(const char *p, const char *end, bool timed, struct Head *h)
{
	struct Word w;
	if (!next_word(&p, end, &w) || (w.p[0] == '[' && !next_word(&p, end, &w)))
		return false;
	if (timed && (!is_time(&w) || !next_word(&p, end, &w)))
		return false;
	if (word_span(&w, "0123456789") == w.n && !next_word(&p, end, &w)) // the period
		return false;
	if (w.n < 2 || w.p[w.n - 1] != ':' || (!timed && is_time(&w)))
		return false;
	h->event = (struct Word){w.p, w.n - 1};
	h->rest = p;
	return true;
}

// COMM may hold blanks and numbers: PID is the first word behind which the rest makes sense, rather with a time than without.
static bool parse_head(const struct Line *l, struct Head *h)
{
	const char *first = l->p, *end = l->p + l->n;
	struct Word w;
	*h = (struct Head){0};
	if (!next_word(&first, end, &w)) // COMM has one word at least
		return false;
	h->begin = (size_t)(w.p - l->p);
	bool timed = true;
	do {
		for (const char *p = first; next_word(&p, end, &w);)
			if (is_pid(&w) && parse_event(p, end, timed, h)) {
				h->pid = (u32)strtoul(w.p, NULL, 10);
				h->comm = (size_t)(w.p - l->p);
				while (h->comm > h->begin && is_blank(l->p[h->comm - 1]))
					h->comm--;
				return true;
			}
		timed = !timed;
	} while (!timed && *l->p != '\t'); // frames begin with a tab
	return false;
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
	const char *event = names_keep(&pf->names, h->event.p, h->event.n);
	end_sample(pf);
	pf->open = true;
	pf->comm = names_keep(&pf->names, l->p + h->begin, h->comm - h->begin);
	pf->pid = h->pid;
	if (!pf->event)
		pf->event = pf->wish->value ? names_keep(&pf->names, pf->wish->value, strlen(pf->wish->value)) : event;
	pf->wanted = event == pf->event;
	if (!pf->wanted)
		input_skip(pf->in, pf->number, "is of another event (--value chooses)");
	if (read_place(&pf->names, h->rest, l->p + l->n, &f) && (f.sym_off || f.module || f.kernel || f.inlined)) // samples without stacks; not the fields of a tracepoint
		input_frame(pf->in, &pf->st, f);
}

// "  file.c:12", of the frame before
static bool take_source(struct Perf *pf, const struct Line *l)
{
	const char *p = l->p, *end = l->p + l->n;
	while (p < end && is_blank(*p))
		p++;
	return pf->st.frames.n && read_source(&pf->names, p, end, &vec_last(&pf->st.frames));
}

static void take_line(struct Perf *pf, const struct Line *l)
{
	struct Head h;
	struct Frame f;
	if (!l->n)
		end_sample(pf);
	else if (parse_head(l, &h))
		begin_sample(pf, l, &h);
	else if (pf->open && is_blank(*l->p) && read_place(&pf->names, l->p, l->p + l->n, &f))
		input_frame(pf->in, &pf->st, f);
	else if (*l->p != '#' && !(pf->open && take_source(pf, l)))
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
	struct Perf pf = {.in = in, .wish = wish, .names = {.arena = &in->arena}};
	struct Line l;
	for (const char *p = data; next_line(&p, data + n, &l);) {
		pf.number++;
		take_line(&pf, &l);
	}
	end_sample(&pf);
	in->prof.title = pf.event;
	names_deinit(&pf.names);
	vec_deinit(&pf.st.frames);
	return NULL;
}

const struct Format format_perf = {"the text of perf script", "lines", is_perf, read_perf};
