// Diagnostics: collected with their place in the script, rendered together.
#include "base/base.h"

#define DIAGS_MAX 200	// errors, and so many warnings, are shown
#define MESSAGE_MAX 4000	// bytes of a message, which may have names of the script in it
#define LINE_SHOWN 1000	// bytes of a line of the source

u32 diags_add_source(struct Diags *d, const char *name, const char *text, size_t len)
{
	struct Source s = {.name = name, .text = text, .len = len};
	VEC(u32) lines = {0};
	vec_push(&lines, 0);
	for (const char *p = text, *end = text + len; p < end && (p = memchr(p, '\n', (size_t)(end - p)));)
		vec_push(&lines, (u32)(++p - text));
	s.lines = lines.p;
	s.nlines = (u32)lines.n;
	vec_push(&d->sources, s);
	return (u32)d->sources.n - 1;
}

// Is s[i] inside a character of UTF-8?
static bool is_inside(const char *s, size_t i)
{
	return ((u8)s[i] & 0xc0) == 0x80;
}

static char *bounded_text(const char *fmt, va_list ap)
{
	struct Str s = {0};
	str_vaddf(&s, fmt, ap);
	if (s.n > MESSAGE_MAX) {
		for (s.n = MESSAGE_MAX; is_inside(s.p, s.n);)
			s.n--;
		str_add(&s, "...");
	}
	return s.p;
}

static void add(struct Diags *d, enum DiagKind kind, const struct Span *at, const char *fmt, va_list ap)
{
	d->nerrors += kind == DIAG_ERROR;
	d->passed_over = d->told[kind]++ >= DIAGS_MAX;
	if (d->passed_over)
		return;
	struct Diag item = {.kind = kind, .has_span = at != NULL, .msg = bounded_text(fmt, ap)};
	if (at)
		item.span = *at;
	vec_push(&d->items, item);
}

void diag_error(struct Diags *d, struct Span at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add(d, DIAG_ERROR, &at, fmt, ap);
	va_end(ap);
}

void diag_warn(struct Diags *d, struct Span at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add(d, DIAG_WARNING, &at, fmt, ap);
	va_end(ap);
}

void diag_error_plain(struct Diags *d, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add(d, DIAG_ERROR, NULL, fmt, ap);
	va_end(ap);
}

void diag_warn_plain(struct Diags *d, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add(d, DIAG_WARNING, NULL, fmt, ap);
	va_end(ap);
}

void diag_hint(struct Diags *d, const char *fmt, ...)
{
	va_list ap;
	if (d->passed_over)
		return;
	assert(d->items.n);
	va_start(ap, fmt);
	vec_push(&vec_last(&d->items).hints, bounded_text(fmt, ap));
	va_end(ap);
}

bool diags_full(const struct Diags *d)
{
	return d->told[DIAG_ERROR] >= DIAGS_MAX;
}

static u32 add_call(struct Diags *d, struct Span at, bool is_arg)
{
	if (!d->calls.n)
		vec_push(&d->calls, ((struct DiagCall){0}));
	vec_push(&d->calls, ((struct DiagCall){at, is_arg}));
	return (u32)d->calls.n - 1;
}

u32 diags_add_call(struct Diags *d, struct Span call)
{
	return add_call(d, call, false);
}

u32 diags_add_arg(struct Diags *d, struct Span param)
{
	return add_call(d, param, true);
}

struct Span span_join(struct Span a, struct Span b)
{
	u32 end = MAX(a.off + a.len, b.off + b.len);
	a.off = MIN(a.off, b.off);
	a.len = end - a.off;
	return a;
}

void span_pos(const struct Diags *d, struct Span s, u32 *line, u32 *col)
{
	const struct Source *src = &d->sources.p[s.file];
	u32 off = (u32)MIN((size_t)s.off, src->len), lo = 0, hi = src->nlines; // lines[lo] <= off < lines[hi]
	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;
		if (src->lines[mid] <= off)
			lo = mid;
		else
			hi = mid;
	}
	*line = lo + 1;
	*col = off - src->lines[lo] + 1;
}

// End of the span: line and column one past its last byte.
static void span_end(const struct Diags *d, struct Span s, u32 *line, u32 *col)
{
	s.off += s.len;
	s.len = 0;
	span_pos(d, s, line, col);
}

void span_text(const struct Diags *d, struct Span s, struct Str *out)
{
	u32 l1, c1, l2, c2;
	span_pos(d, s, &l1, &c1);
	span_end(d, s, &l2, &c2);
	const char *name = d->sources.p[s.file].name;
	if (l1 == l2)
		str_addf(out, "%s:%u:%u-%u", name, l1, c1, c2);
	else
		str_addf(out, "%s:%u-%u", name, l1, l2);
}

// The line of the place; of a long one what is around it.
static void render_line(const struct Diags *d, struct Span s, struct Str *out)
{
	const struct Source *src = &d->sources.p[s.file];
	u32 line, col;
	span_pos(d, s, &line, &col);
	size_t at = MIN((size_t)s.off, src->len), begin = at - (col - 1), end = line < src->nlines ? src->lines[line] - 1 : src->len;
	size_t from = begin, to = end;
	if (end - begin > LINE_SHOWN) {
		from = at - MIN(at - begin, (size_t)LINE_SHOWN / 4);
		to = MIN(from + LINE_SHOWN, end);
		while (from < at && is_inside(src->text, from))
			from++;
		while (to > at && to < end && is_inside(src->text, to))
			to--;
	}
	str_add(out, from > begin ? "..." : "");
	for (size_t i = from; i < to; i++)
		str_addc(out, src->text[i] == '\t' ? ' ' : src->text[i]);
	str_add(out, to < end ? "...\n" : "\n");
	for (size_t i = from > begin ? from - 3 : from; i < at; i++)
		str_addc(out, ' ');
	for (size_t i = 0, n = MIN((size_t)s.len, to - at); i < MAX(n, (size_t)1); i++)
		str_addc(out, '~');
	str_addc(out, '\n');
}

void diags_add_calls_of(const struct Diags *d, struct Span at, enum DiagKind kind, struct Str *out)
{
	while (at.from && at.from < d->calls.n) {
		at = d->calls.p[at.from].at;
		span_text(d, at, out);
		str_addf(out, ": %s: expanded from\n", kind == DIAG_ERROR ? "ERROR" : "WARNING");
		render_line(d, at, out);
	}
}

// Hints that bpftrace has, by their beginnings.
static bool is_plain_hint(const char *text)
{
	static const char *const plain[] = {"expected program options", "no custom program options", "supported modes: x", "Valid map types", "For loops support", "checked: ", "You can increase the limit through", "if this is expected"};
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		if (!strncmp(text, plain[i], strlen(plain[i])))
			return true;
	return false;
}

// What a message of ours begins with that says more than bpftrace's, and what it has there.
static const struct {
	const char *ours, *its;
} plain_words[] = {
	{"unable to fold: division by zero", "unable to fold literals due to overflow or underflow"},
	{"config must appear", "syntax: config must appear"},
	{"param $", "syntax: param $"},
	{"invalid octal digit", "syntax: invalid trailing bytes"},
	{"invalid exponent", "syntax: invalid trailing bytes"},
	{"invalid integer:", "syntax: invalid integer:"},
	{"overflow error,", "syntax: overflow error,"},
	{"invalid escape character", "syntax: invalid escape character"},
	{"unterminated string", "syntax: unterminated string"},
	{"Invalid IP address: ", "pton() expects a valid IPv4/IPv6 address, got "},
	{"printf: Not enough", "not enough"},
	{"printf: Too many", "too many"},
	{"errorf: Not enough", "not enough"},
	{"errorf: Too many", "too many"},
	{"warnf: Not enough", "not enough"},
	{"warnf: Too many", "too many"},
	{"system: Not enough", "not enough"},
	{"system: Too many", "too many"},
	{"cat: Not enough", "not enough"},
	{"cat: Too many", "too many"},
	{"invalid unroll value: must be a literal", "invalid unroll value"},
	{"duplicate config block", "syntax: duplicate config block"},
	{"C definitions must appear", "syntax: C definitions must appear"},
	{"expected positive integer for map", "syntax: expected positive integer for map"},
	{"Tuples and records are immutable", "syntax: Tuples and records are immutable"},
	{"The ++ operator must be applied to a map or variable", "syntax: increment/decrement requires a variable or map"},
	{"The -- operator must be applied to a map or variable", "syntax: increment/decrement requires a variable or map"},
	{"expected a map or a range in the for loop", "syntax: expected map or range in for loop"},
	{"Identifier for macro argument", "Ident for macro argument"},
	{"strncmp() size must not be negative", "Builtin strncmp requires a non-negative literal"},
	{"Tuples must be indexed with a constant", "Array-style access for tuples only valid for integer literals"},
};

static void add_words(const struct Diags *d, const char *msg, struct Str *out)
{
	const char *found = d->plain && !strncmp(msg, "syntax: expected ", 17) ? strstr(msg, ", found ") : NULL;
	if (d->plain && !found && !strcmp(msg, "syntax: expected ')' or ','"))
		found = strchr(msg, ' ') + 13;
	for (size_t i = 0; d->plain && i < ARRAY_LEN(plain_words); i++) {
		size_t n = strlen(plain_words[i].ours);
		if (strncmp(msg, plain_words[i].ours, n))
			continue;
		str_add(out, plain_words[i].its);
		msg += n;
		break;
	}
	str_addn(out, msg, found ? (size_t)(found - msg) : strlen(msg));
}

// What a call passed in is as often in the macro's body as its parameter: it is one mistake. (bpftrace tells each.)
static bool same_call(const struct Diags *d, u32 a, u32 b)
{
	if (a == b)
		return true;
	const struct DiagCall *x = a < d->calls.n ? &d->calls.p[a] : NULL, *y = b < d->calls.n ? &d->calls.p[b] : NULL;
	return x && y && x->is_arg && y->is_arg && x->at.from == y->at.from && !d->plain;
}

// A probe's body is checked once for each kind of context it runs in: what was said of a place is not said again.
static bool said_before(const struct Diags *d, size_t i)
{
	const struct Diag *it = &d->items.p[i];
	for (size_t k = 0; k < i; k++) {
		const struct Diag *o = &d->items.p[k];
		if (o->kind == it->kind && o->has_span && it->has_span && o->span.off == it->span.off && o->span.len == it->span.len &&
		    o->span.file == it->span.file && same_call(d, o->span.from, it->span.from) && !strcmp(o->msg, it->msg))
			return true;
	}
	return false;
}

static bool colored(void)
{
	static int known = -1;
	if (known >= 0)
		return known;
	const char *env = getenv("BPFTRACE_COLOR");
	const char *no = getenv("NO_COLOR"); // https://no-color.org: not empty, whatever it is
	known = env && !strcmp(env, "always") ? 1 : (env && !strcmp(env, "never")) || (no && *no) ? 0 : isatty(2);
	if (env && strcmp(env, "always") && strcmp(env, "never") && strcmp(env, "auto"))
		fprintf(stderr, "WARNING: BPFTRACE_COLOR is auto, always or never, not '%s'\n", env);
	return known;
}

const char *diag_color(enum DiagKind kind)
{
	return !colored() ? "" : kind == DIAG_ERROR ? "\033[31m" : "\033[33m";
}

const char *diag_uncolor(void)
{
	return colored() ? "\033[0m" : "";
}

void diags_render(const struct Diags *d, bool warnings, struct Str *out)
{
	for (size_t i = 0; i < d->items.n; i++) {
		const struct Diag *it = &d->items.p[i];
		const char *kind = it->kind == DIAG_ERROR ? "ERROR" : "WARNING";
		if ((it->kind == DIAG_WARNING && !warnings) || said_before(d, i))
			continue;
		bool placed = it->has_span && d->sources.n;
		if (*it->msg) {
			str_add(out, diag_color(it->kind));
			if (placed) {
				span_text(d, it->span, out);
				str_add(out, ": ");
			}
			str_addf(out, "%s: ", kind);
			add_words(d, it->msg, out);
			str_addf(out, "%s\n", diag_uncolor());
		}
		if (placed) {
			render_line(d, it->span, out);
			diags_add_calls_of(d, it->span, it->kind, out);
		}
		for (size_t h = 0; h < it->hints.n; h++)
			if (!d->plain || is_plain_hint(it->hints.p[h]))
				str_addf(out, "HINT: %s\n", it->hints.p[h]);
	}
	if (d->told[DIAG_ERROR] > DIAGS_MAX)
		str_addf(out, "ERROR: %u more errors are not shown\n", d->told[DIAG_ERROR] - DIAGS_MAX);
	if (warnings && d->told[DIAG_WARNING] > DIAGS_MAX)
		str_addf(out, "WARNING: %u more warnings are not shown\n", d->told[DIAG_WARNING] - DIAGS_MAX);
}

void diags_forget(struct Diags *d)
{
	for (size_t i = 0; i < d->items.n; i++) {
		free(d->items.p[i].msg);
		for (size_t h = 0; h < d->items.p[i].hints.n; h++)
			free(d->items.p[i].hints.p[h]);
		vec_deinit(&d->items.p[i].hints);
	}
	d->items.n = 0;
	memset(d->told, 0, sizeof(d->told));
}

void diags_deinit(struct Diags *d)
{
	diags_forget(d);
	vec_deinit(&d->items);
	vec_deinit(&d->calls);
	for (size_t i = 0; i < d->sources.n; i++)
		free(d->sources.p[i].lines);
	vec_deinit(&d->sources);
}
