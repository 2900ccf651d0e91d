// A frame as `perf script` writes it, which bpftrace's stacks of mode "perf" resemble: ADDRESS NAME+OFFSET (OBJECT).
// In: a line's bytes. Out: a frame; a frame's file and line. Invariant: a name or an object may hold blanks and brackets; what is no such line is none.
#include "input/internal.h"

// Where "(OBJECT)" at the end begins: with brackets in it if they are pairs ("(/memfd:x (deleted))"). NULL: there is none.
static const char *object_of(const char *p, const char *end)
{
	const char *last = NULL;
	u64 open = 0;
	if (end <= p || end[-1] != ')')
		return NULL;
	for (const char *q = end - 1; q > p; q--) {
		open += *q == ')';
		if (*q != '(')
			continue;
		bool apart = is_blank(q[-1]);
		if (!--open)
			return apart ? q : NULL; // "f(int)" is a name
		last = !last && apart ? q : last;
	}
	return last;
}

// The 0x12 of "name+0x12" at the end; NULL: there is none.
static const char *offset_of(const char *p, const char *end)
{
	for (const char *q = end; q > p + 3; q--)
		if (!memcmp(q - 3, "+0x", 3))
			return q;
	return NULL;
}

static void set_object(struct Names *names, struct Frame *f, struct Word o)
{
	f->inlined = o.n == 7 && !memcmp(o.p, "inlined", 7);
	f->kernel = f->addr >> 63 && !(o.n == 10 && !memcmp(o.p, "[vsyscall]", 10));
	const char *off = o.n ? offset_of(o.p, o.p + o.n) : NULL; // perf script -F +dsoff
	struct Word digits = {off, off ? (size_t)(o.p + o.n - off) : 0};
	if (digits.n && word_span(&digits, "0123456789abcdef") == digits.n)
		o.n -= digits.n + 3;
	if (!o.n || f->inlined || (o.n > 6 && !memcmp(o.p, "[kernel", 7)))
		return;
	f->module = f->kernel && o.n > 2 && *o.p == '[' ? names_keep(names, o.p + 1, o.n - 2) : names_keep(names, o.p, o.n);
}

bool read_place(struct Names *names, const char *p, const char *end, struct Frame *f)
{
	struct Word addr;
	if (!next_word(&p, end, &addr) || word_span(&addr, "0123456789abcdef") != addr.n || addr.n > 16)
		return false;
	while (p < end && is_blank(*p))
		p++;
	while (end > p && is_blank(end[-1]))
		end--;
	const char *open = object_of(p, end), *name_end = open ? open : end;
	while (name_end > p && is_blank(name_end[-1]))
		name_end--;
	*f = (struct Frame){.addr = strtoull(addr.p, NULL, 16)};
	set_object(names, f, (struct Word){open ? open + 1 : end, open ? (size_t)(end - 1 - (open + 1)) : 0});
	const char *off = offset_of(p, name_end);
	if (off) {
		f->sym_off = strtoull(off, NULL, 16);
		name_end = off - 3;
	}
	if (name_end > p && !(name_end - p == 9 && !memcmp(p, "[unknown]", 9)))
		f->sym = names_keep(names, p, (size_t)(name_end - p));
	if (!f->kernel)
		f->module_addr = f->addr, f->addr = 0;
	return true;
}

bool read_source(struct Names *names, const char *p, const char *end, struct Frame *f)
{
	const char *digits = end;
	while (digits > p && end - digits < 10 && digits[-1] >= '0' && digits[-1] <= '9') // so many has a line's number at most
		digits--;
	if (digits == end || digits < p + 2 || digits[-1] != ':')
		return false;
	f->file = names_keep(names, p, (size_t)(digits - 1 - p));
	f->line = (u32)strtoul(digits, NULL, 10);
	return true;
}
