// What the readers share: lines, words, names, samples, what is left out. See internal.h.
#include "input/internal.h"

bool next_line(const char **p, const char *end, struct Line *line)
{
	if (*p >= end)
		return false;
	const char *nl = memchr(*p, '\n', (size_t)(end - *p)), *stop = nl ? nl : end;
	*line = (struct Line){*p, (size_t)(stop - *p)};
	if (line->n && line->p[line->n - 1] == '\r')
		line->n--;
	*p = nl ? nl + 1 : end;
	return true;
}

void input_skip(struct Input *in, u64 number, const char *why)
{
	if (!in->skipped++) {
		in->first_skipped = number;
		in->why = why;
	}
}

#define NAME_MAX_BYTES ((size_t)1 << 20)
const char *names_keep(struct Names *names, const char *s, size_t n)
{
	str_reset(&names->now);
	str_addn(&names->now, s, MIN(n, NAME_MAX_BYTES));
	char *have = map_get(&names->have, str_text(&names->now));
	if (!have) {
		have = arena_strdup(names->arena, str_text(&names->now));
		map_put(&names->have, have, have);
	}
	return have;
}

void names_deinit(struct Names *names)
{
	map_deinit(&names->have);
	str_deinit(&names->now);
}

bool input_room(struct Input *in, u64 n)
{
	in->records += n;
	return !input_full(in);
}

bool input_full(const struct Input *in)
{
	return in->records > in->most || in->text > in->most_text;
}

static void count_text(struct Input *in, const char *s)
{
	in->text += s && !input_full(in) ? strlen(s) : 0;
}

bool next_word(const char **p, const char *end, struct Word *w)
{
	while (*p < end && is_blank(**p))
		(*p)++;
	w->p = *p;
	while (*p < end && !is_blank(**p))
		(*p)++;
	w->n = (size_t)(*p - w->p);
	return w->n > 0;
}

size_t word_span(const struct Word *w, const char *of)
{
	size_t i = 0;
	while (i < w->n && memchr(of, w->p[i], strlen(of)))
		i++;
	return i;
}

void input_frame(struct Input *in, struct InputStack *st, struct Frame f)
{
	if (in->records + st->frames.n < in->most)
		vec_push(&st->frames, f);
	else
		in->records = in->most + 1;
}

void input_add(struct Input *in, struct InputStack *st, struct StackSample s)
{
	u32 n = (u32)st->frames.n;
	count_text(in, s.comm);
	for (u32 i = 0; i < s.nlabels; i++)
		count_text(in, s.labels[i].text);
	for (u32 i = 0; i < n; i++) {
		count_text(in, st->frames.p[i].sym);
		count_text(in, st->frames.p[i].file);
	}
	if (!input_room(in, n + 1))
		return;
	struct Frame *f = n ? arena_new_n(&in->arena, struct Frame, n) : NULL;
	for (u32 i = 0; i < n; i++) {
		f[i] = st->frames.p[n - 1 - i];
		if (!f[i].mark && f[i].sym && !strcmp(f[i].sym, "[truncated]")) // ours, as every form shows it: no function
			f[i].mark = frame_mark_cut;
	}
	while (s.nkern < n && f[s.nkern].kernel)
		s.nkern++;
	s.kern = f;
	s.user = n ? f + s.nkern : NULL;
	s.nuser = n - s.nkern;
	vec_push(&in->samples, s);
}
