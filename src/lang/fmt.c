// Pieces of a printf format. Input: a format text of len bytes (NULs allowed). Invariant: every piece but the last has a conversion.
#include "lang/internal.h"

static u32 length_bytes(const char **p, const char *end)
{
	static const struct { const char *text; u8 size; } lens[] = {{"hh", 1}, {"ll", 8}, {"h", 2}, {"l", 8}, {"j", 8}, {"z", 8}, {"t", 8}};
	for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
		size_t n = strlen(lens[i].text);
		if ((size_t)(end - *p) >= n && !memcmp(*p, lens[i].text, n)) {
			*p += n;
			return lens[i].size;
		}
	}
	return 0;
}

// Flags, width and precision behind a %.
static const char *skip_flags(const char *p, const char *end)
{
	while (p < end && strchr("-+ #0'", *p) && *p)
		p++;
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	if (p < end && *p == '.')
		for (p++; p < end && *p >= '0' && *p <= '9'; p++)
			;
	return p;
}

// Each line would take the memory.
static bool is_wide(const char *spec)
{
	char *end = (char *)spec;
	for (const char *p = spec; *p; p = end > p ? end : p + 1)
		if (*p >= '0' && *p <= '9' && strtoull(p, &end, 10) > FMT_WIDTH_MAX)
			return true;
	return false;
}

static bool at_conversion(const char *p, const char *end)
{
	if (*p != '%')
		return false;
	p = skip_flags(p + 1, end);
	length_bytes(&p, end);
	return p < end && *p && strchr("diuxXoscpr", *p) ? true : p + 1 < end && *p == 'g' && p[1] == 'r';
}

const char *fmt_parse(struct Arena *a, const char *fmt, u32 len, struct FmtPiece **out, u32 *n)
{
	const char *p = fmt, *end = fmt + len;
	VEC(struct FmtPiece) v = {0};
	const char *bad = NULL;
	char *lit = arena_alloc(a, (size_t)len + 1); // of all pieces
	for (;;) {
		struct FmtPiece piece = {.lit = lit};
		while (p < end && !at_conversion(p, end)) { // "%%" is one; what is no conversion is text, as bpftrace has it
			p += *p == '%' && p + 1 < end && p[1] == '%';
			*lit++ = *p++;
		}
		piece.litlen = (u32)(lit - piece.lit);
		if (p == end) {
			vec_push(&v, piece);
			break;
		}
		const char *start = p++;
		p = skip_flags(p, end);
		if ((size_t)(p - start) >= sizeof(piece.spec)) {
			bad = "format: a conversion is too long";
			break;
		}
		memcpy(piece.spec, start, (size_t)(p - start));
		if (is_wide(piece.spec)) {
			bad = arena_printf(a, "format: a width or precision is over %u: %s", FMT_WIDTH_MAX, piece.spec);
			break;
		}
		piece.len = (u8)length_bytes(&p, end);
		piece.conv = *p++;
		if (piece.conv == 'r' && p < end && (*p == 'h' || *p == 'x'))
			piece.conv = *p++ == 'h' ? 'h' : 'e';
		p += piece.conv == 'g';
		vec_push(&v, piece);
	}
	*n = (u32)v.n;
	*out = arena_new_n(a, struct FmtPiece, v.n);
	if (v.n)
		memcpy(*out, v.p, v.n * sizeof(*v.p));
	vec_deinit(&v);
	return bad;
}
