// Folded stacks: a line is PROCESS;FRAME;...;FRAME COUNT, root first, as sonde, bcc's tools (-f) and FlameGraph's stackcollapse programs write it.
// Marks on names: _[k] kernel, _[i] inlined, _[j] of an interpreter or made at run time, _[w] of a waker. An element "-" lies between user and kernel frames (bcc's -d);
// "--" between a thread's stack and its waker's, whose kernel frames are told by their marks only: bcc's offwaketime has them leaf first, and before those of the user.
// In: lines. Out: samples. Invariant: what is not such a line is counted, not guessed.
#include "input/internal.h"

// The count after the last blank; 0: there is none.
static size_t split_count(const struct Line *l, u64 *count)
{
	size_t i = l->n, digits = 0;
	char num[24];
	while (i && l->p[i - 1] >= '0' && l->p[i - 1] <= '9')
		i--, digits++;
	if (!digits || digits >= sizeof(num) || !i || !is_blank(l->p[i - 1]))
		return 0;
	size_t zeros = 0; // not octal
	while (zeros + 1 < digits && l->p[i + zeros] == '0')
		zeros++;
	memcpy(num, l->p + i + zeros, digits - zeros);
	num[digits - zeros] = 0;
	if (!parse_u64(num, count))
		return 0;
	while (i && is_blank(l->p[i - 1]))
		i--;
	return i;
}

static bool ends_in(const char *s, size_t n, const char *mark)
{
	size_t k = strlen(mark);
	return n > k && !memcmp(s + n - k, mark, k);
}

struct Folded {
	struct Input *in;
	struct Names names;
	struct InputStack st;
	bool delim, annotate; // seen
};
struct FoldedPart { // of a line, that the next element is of
	bool kernel, waker;
};
static const char mark_waker[] = "waker"; // Frame.mark

static void add_frame(struct Folded *fo, const char *s, size_t n, struct FoldedPart *part)
{
	struct Frame f = {.kernel = part->kernel};
	if (n == 1 && *s == '-') {
		part->kernel = !part->waker;
		fo->delim |= !part->waker;
		return;
	}
	if (n == 2 && !memcmp(s, "--", 2)) {
		*part = (struct FoldedPart){.waker = true};
		f = (struct Frame){.mark = mark_waker};
	} else if (ends_in(s, n, "_[k]"))
		f.kernel = fo->annotate = true, n -= 4;
	else if (ends_in(s, n, "_[i]"))
		f.inlined = fo->annotate = true, n -= 4;
	else if (ends_in(s, n, "_[j]"))
		f.lang = frame_lang_unknown, fo->annotate = true, n -= 4;
	else if (ends_in(s, n, "_[w]"))
		n -= 4;
	f.sym = names_keep(&fo->names, s, n);
	input_frame(fo->in, &fo->st, f);
}

static void add_line(struct Folded *fo, const struct InputWish *wish, const char *s, size_t n, u64 count)
{
	struct StackSample sample = {.value = count};
	sample.part[0] = count;
	struct FoldedPart part = {0};
	bool first = !wish->no_process;
	fo->st.frames.n = 0;
	for (const char *end = s + n, *p = s; p <= end;) {
		const char *stop = memchr(p, ';', (size_t)(end - p));
		stop = stop ? stop : end;
		if (first)
			sample.comm = names_keep(&fo->names, p, (size_t)(stop - p));
		else if (stop > p)
			add_frame(fo, p, (size_t)(stop - p), &part);
		first = false;
		p = stop + 1;
	}
	input_add(fo->in, &fo->st, sample);
}

static bool is_folded(const char *data, size_t n)
{
	return !memchr(data, 0, MIN(n, (size_t)4096)); // text; lines that are none will be counted
}

static struct err *read_folded(struct Input *in, const struct InputWish *wish, const char *data, size_t n)
{
	struct Folded fo = {.in = in, .names = {.arena = &in->arena}};
	struct Line l;
	u64 number = 0, count;
	for (const char *p = data, *end = data + n; next_line(&p, end, &l);) {
		number++;
		if (!l.n || *l.p == '#')
			continue;
		size_t len = split_count(&l, &count);
		if (len)
			add_line(&fo, wish, l.p, len, count);
		else
			input_skip(in, number, "does not end in a count");
	}
	if (wish->unit)
		in->prof.unit = arena_strdup(&in->arena, wish->unit);
	in->prof.delim = fo.delim;
	in->prof.annotate = fo.annotate;
	names_deinit(&fo.names);
	vec_deinit(&fo.st.frames);
	return NULL;
}

const struct Format format_folded = {"folded stacks", "lines", is_folded, read_folded};
