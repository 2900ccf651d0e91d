// String builder, checked heap allocation, small text helpers.
#include "base/base.h"
#include <errno.h>
#include <fnmatch.h>

static void *out_of_memory(void)
{
	static const char msg[] = "sonde: out of memory\n";
	if (write(2, msg, sizeof(msg) - 1)) {
	}
	abort();
}

void *xmalloc(size_t n)
{
	void *p = malloc(n ? n : 1);
	return p ? p : out_of_memory();
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);
	return p ? p : out_of_memory();
}

void *xrealloc(void *old, size_t n)
{
	void *p = realloc(old, n ? n : 1);
	return p ? p : out_of_memory();
}

char *xstrdup(const char *s)
{
	size_t n = strlen(s) + 1;
	return memcpy(xmalloc(n), s, n);
}

char *xasprintf(const char *fmt, ...)
{
	struct Str s = {0};
	va_list ap;
	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	return s.p ? s.p : xstrdup("");
}

static void str_room(struct Str *s, size_t more)
{
	if (s->n + more + 1 <= s->cap)
		return;
	s->cap = MAX(s->cap * 2, s->n + more + 1);
	s->cap = MAX(s->cap, (size_t)32);
	s->p = xrealloc(s->p, s->cap);
}

void str_addn(struct Str *s, const char *p, size_t n)
{
	str_room(s, n);
	if (n)
		memcpy(s->p + s->n, p, n);
	s->n += n;
	s->p[s->n] = 0;
}

void str_add(struct Str *s, const char *p)
{
	str_addn(s, p, strlen(p));
}

void str_addx(struct Str *s, u64 v)
{
	char text[16], *at = text + sizeof(text);
	do
		*--at = "0123456789abcdef"[v & 15];
	while (v >>= 4);
	str_addn(s, at, (size_t)(text + sizeof(text) - at));
}

void str_addc(struct Str *s, char c)
{
	str_addn(s, &c, 1);
}

void str_vaddf(struct Str *s, const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	assert(n >= 0);
	str_room(s, (size_t)n);
	vsnprintf(s->p + s->n, (size_t)n + 1, fmt, again);
	va_end(again);
	s->n += (size_t)n;
}

void str_addf(struct Str *s, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	str_vaddf(s, fmt, ap);
	va_end(ap);
}

void str_reset(struct Str *s)
{
	s->n = 0;
	if (s->p)
		s->p[0] = 0;
}

void str_deinit(struct Str *s)
{
	free(s->p);
	*s = (struct Str){0};
}

void str_add_escaped(struct Str *out, const char *s, size_t n, bool keep_ws)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c >= 0x20 && c != 0x7f)
			str_addc(out, (char)c);
		else if (keep_ws && (c == '\n' || c == '\t'))
			str_addc(out, (char)c);
		else
			str_addf(out, "\\x%02x", c);
	}
}

// As fnmatch(3), a backslash being any other character. The locale is always C: bytes are compared.
bool glob_match(const char *pat, const char *s)
{
	return !fnmatch(pat, s, FNM_NOESCAPE);
}

bool glob_has_wild(const char *pat)
{
	return strpbrk(pat, "*?[") != NULL;
}

static size_t edit_distance(const char *a, const char *b, size_t limit)
{
	size_t n = strlen(a), m = strlen(b);
	if ((n > m ? n - m : m - n) > limit || n > 64 || m > 64)
		return limit + 1;
	size_t row[65];
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diag = row[0];
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t up = row[j], cost = diag + (a[i - 1] != b[j - 1]);
			row[j] = MIN(MIN(up + 1, row[j - 1] + 1), cost);
			diag = up;
		}
	}
	return row[m];
}

const char *nearest_name(const char *want, const char *const *names, size_t n)
{
	const char *best = NULL;
	size_t len = strlen(want), best_d = len / 3 + 2; // nearer than this
	for (size_t i = 0; i < n; i++) {
		size_t d = edit_distance(want, names[i], best_d);
		if (d < best_d) {
			best_d = d;
			best = names[i];
		}
	}
	// A longer name that contains the wanted one ("contains" -> "strcontains") is near too.
	for (size_t i = 0; !best && len >= 4 && i < n; i++)
		if (strstr(names[i], want))
			best = names[i];
	return best;
}

bool parse_u64(const char *s, u64 *out)
{
	char *end;
	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*out = strtoull(s, &end, 0);
	return !errno && !*end;
}

void str_add_place(struct Str *s, const char *path, u64 addr)
{
	const char *base = strrchr(path, '/');
	base = base && base[1] ? base + 1 : path;
	size_t n = strlen(base);
	bool bare = n > 2 && base[0] == '[' && base[n - 1] == ']';
	str_addf(s, "[%.*s+0x%llx]", (int)(bare ? n - 2 : n), base + bare, (unsigned long long)addr);
}

size_t utf8_len(const char *p, size_t n)
{
	const unsigned char *s = (const unsigned char *)p;
	size_t len = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
	if (!len || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}
