// printf: a format site and its payload become text.
// In: the site's format and types, the bytes a program sent. Out: text. Invariant: numbers without a length modifier that an int can hold are ints, as in
// C and in bpftrace, all others are whole; payloads shorter than the site's are zero-extended.
#include "run/run.h"

static const struct FmtPiece *site_pieces(struct RunCtx *rc, const struct FmtSite *site, u32 *n)
{
	struct FmtSite *s = (struct FmtSite *)site; // the pieces are a cache
	if (!s->pieces && fmt_parse(rc->prog->arena, s->fmt, s->len, &s->pieces, &s->npieces))
		s->npieces = 0; // the compiler has refused such a format
	*n = s->npieces;
	return s->pieces;
}

static bool is_number(const struct Type *t)
{
	return ty_is_int(t) || t->kind == TY_PTR || t->kind == TY_KSYM || t->kind == TY_USYM || (ty_is_aggr(t) && aggr_of(t)->number);
}

static u64 number(const struct Type *t, const u8 *p)
{
	if (ty_is_aggr(t) && aggr_of(t)->number)
		return aggr_of(t)->number(t, p);
	u64 v = 0;
	u32 size = ty_is_int(t) ? t->size : 8;
	memcpy(&v, p, MIN(size, 8u));
	if (t->sgn && size < 8 && v >> (8 * size - 1))
		v |= ~0ULL << 8 * size;
	return t->kind == TY_BOOL ? v != 0 : v;
}

// Width and flags of "%-10.3" applied to a text.
static void add_padded(const char *spec, const char *s, size_t n, struct Str *out)
{
	bool left = false;
	size_t width = 0, prec = SIZE_MAX;
	const char *p = spec + 1;
	for (; *p && strchr("-+ #0'", *p); p++)
		left |= *p == '-';
	for (; *p >= '0' && *p <= '9'; p++)
		width = width * 10 + (size_t)(*p - '0');
	if (*p == '.')
		for (p++, prec = 0; *p >= '0' && *p <= '9'; p++)
			prec = prec * 10 + (size_t)(*p - '0');
	n = MIN(n, prec);
	for (size_t i = n; !left && i < width; i++)
		str_addc(out, ' ');
	str_addn(out, s, n);
	for (size_t i = n; left && i < width; i++)
		str_addc(out, ' ');
}

// Without a length C means int (%u, %x, %o: unsigned), and so does bpftrace, which cuts the others to one.
static bool is_int(const struct FmtPiece *pc, const struct Type *t, u64 v)
{
	if (t->sgn && (s64)v == (s32)v)
		return true;
	return v <= ((pc->conv != 'd' && pc->conv != 'i') || t->reg ? UINT32_MAX : INT32_MAX);
}

static void add_number(const struct FmtPiece *pc, const struct Type *t, u64 v, bool cut, struct Str *out)
{
	u32 bits = 8 * (pc->len ? pc->len : cut || is_int(pc, t, v) ? 4 : 8);
	char fmt[40], ch = (char)v;
	switch (pc->conv) {
	case 'd':
	case 'i':
		if (bits < 64)
			v = (u64)((s64)(v << (64 - bits)) >> (64 - bits));
		break;
	case 'c':
		add_padded(pc->spec, &ch, 1, out);
		return;
	case 'p':
		snprintf(fmt, sizeof(fmt), v ? "0x%llx" : "%llu", (unsigned long long)v);
		add_padded(pc->spec, fmt, strlen(fmt), out);
		return;
	default:
		if (bits < 64)
			v &= (1ULL << bits) - 1;
	}
	if (!pc->spec[1]) { // the common case
		str_addf(out, pc->conv == 'x' ? "%llx" : pc->conv == 'X' ? "%llX" : pc->conv == 'o' ? "%llo" : pc->conv == 'u' ? "%llu" : "%lld", (unsigned long long)v);
		return;
	}
	snprintf(fmt, sizeof(fmt), "%sll%c", pc->spec, pc->conv);
	str_addf(out, fmt, (unsigned long long)v);
}

static void add_buf(const struct FmtPiece *pc, const struct Type *t, const u8 *p, struct Str *out)
{
	u32 n = 0;
	struct Str s = {0};
	memcpy(&n, p, 4);
	n = MIN(n, t->size - 4);
	for (u32 i = 0; i < n; i++) {
		u8 c = p[4 + i];
		if (pc->conv == 'h')
			str_addf(&s, i + 1 < n ? "%02x " : "%02x", c);
		else if (pc->conv == 'r' && c >= 0x20 && c <= 0x7e)
			str_addc(&s, (char)c);
		else
			str_addf(&s, "\\x%02x", c);
	}
	add_padded(pc->spec, str_text(&s), s.n, out);
	str_deinit(&s);
}

static void add_text(struct RunCtx *rc, const struct FmtPiece *pc, const struct Type *t, const u8 *p, bool escape, struct Str *out)
{
	struct Arena a = {0};
	struct Str s = {0};
	struct Value v;
	if (t->kind == TY_STR && !escape && !text_is_cut(rc, strnlen((const char *)p, t->size), t->size)) { // nothing to decode
		add_padded(pc->spec, (const char *)p, strnlen((const char *)p, t->size), out);
		return;
	}
	value_decode(rc, &a, t, p, &v);
	if (escape)
		value_text_escaped(&v, &s);
	else
		value_text(&v, &s);
	add_padded(pc->spec, str_text(&s), s.n, out);
	str_deinit(&s);
	arena_deinit(&a);
}

static void add_arg(struct RunCtx *rc, const struct FmtPiece *pc, const struct Type *t, const u8 *p, bool escape, struct Str *out)
{
	struct Str s = {0};
	switch (pc->conv) {
	case 'r':
	case 'h':
	case 'e':
		if (t->kind == TY_BUF) {
			add_buf(pc, t, p, out);
			return;
		}
		break;
	case 'g':
		gfp_flags_text(number(t, p), &s);
		add_padded(pc->spec, str_text(&s), s.n, out);
		str_deinit(&s);
		return;
	case 's':
		break;
	default:
		if (is_number(t)) {
			add_number(pc, t, number(t, p), rc->as_bpftrace, out);
			return;
		}
	}
	add_text(rc, pc, t, p, escape, out);
}

void format_site(struct RunCtx *rc, const struct FmtSite *site, const void *payload, size_t n, struct Str *out)
{
	u32 npieces, arg = 0;
	const struct FmtPiece *pieces = site_pieces(rc, site, &npieces);
	bool escape = site->kind == FK_PRINTF && rc->render && rc->render->escape;
	u8 *copy = NULL;
	const u8 *p = payload;
	if (n < site->size) { // a string's tail was not sent
		copy = xcalloc(1, site->size);
		memcpy(copy, payload, n);
		p = copy;
	}
	for (u32 i = 0; i < npieces; i++) {
		str_addn(out, pieces[i].lit, pieces[i].litlen);
		if (!pieces[i].conv || arg >= site->nargs)
			continue;
		const struct FmtArg *fa = &site->args[arg++];
		if (fa->off <= site->size && fa->type->size <= site->size - fa->off)
			add_arg(rc, &pieces[i], fa->type, p + fa->off, escape, out);
	}
	free(copy);
}
