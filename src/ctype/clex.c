// C text -> preprocessing tokens. Input: a file's text, of whatever content. Output: tokens that point into it, with the place each came from.
// Invariant: every byte is blank, comment or part of one token; nothing behind the end is read.
#include "ctype/internal.h"
#include <ctype.h>

static bool ident_char(char ch)
{
	return ch == '_' || ch == '$' || isalnum((unsigned char)ch);
}

static u32 punct_len(const char *s, const char *end)
{
	static const char *const long_ones[] = {"...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "##",
						"+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^="};
	for (size_t i = 0; i < ARRAY_LEN(long_ones); i++) {
		size_t n = strlen(long_ones[i]);
		if ((size_t)(end - s) >= n && !memcmp(s, long_ones[i], n))
			return (u32)n;
	}
	return 1;
}

// Skips blanks, comments and joined lines. *bol becomes true when a line ended.
static const char *skip_blank(const char *s, const char *end, bool *bol, bool *space)
{
	while (s < end) {
		if (*s == '\n')
			*bol = true;
		else if (*s == '\\' && s + 1 < end && s[1] == '\n')
			s++;
		else if (*s == '\\' && s + 2 < end && s[1] == '\r' && s[2] == '\n')
			s += 2;
		else if (*s == '/' && s + 1 < end && s[1] == '/') {
			while (s < end && *s != '\n')
				s++;
			*space = true;
			continue;
		} else if (*s == '/' && s + 1 < end && s[1] == '*') {
			const char *close = memmem(s + 2, (size_t)(end - s) - 2, "*/", 2);
			s = close ? close + 1 : end - 1;
		} else if (!isspace((unsigned char)*s))
			break;
		*space = true;
		s++;
	}
	return s;
}

static const char *lex_quoted(const char *s, const char *end)
{
	char q = *s++;
	while (s < end && *s != q && *s != '\n')
		s += *s == '\\' && s + 1 < end ? 2 : 1;
	return s < end && *s == q ? s + 1 : MIN(s, end);
}

static const char *lex_number(const char *s, const char *end)
{
	while (s < end && (ident_char(*s) || *s == '.')) {
		bool exp = *s == 'e' || *s == 'E' || *s == 'p' || *s == 'P';
		s++;
		if (exp && s < end && (*s == '+' || *s == '-'))
			s++;
	}
	return s;
}

void cpp_lex(const struct CFile *f, struct CToks *out)
{
	const char *s = f->text, *end = s + f->len;
	for (bool bol = true;; bol = false) {
		bool space = false;
		s = skip_blank(s, end, &bol, &space);
		if (s >= end)
			return;
		struct CTok t = {.kind = CT_PUNCT, .bol = bol, .space = space, .text = s, .off = (u32)(s - f->text), .file = f};
		const char *from = s;
		if (*s == '"' || *s == '\'') {
			t.kind = *s == '"' ? CT_STR : CT_CHAR;
			s = lex_quoted(s, end);
		} else if (isdigit((unsigned char)*s) || (*s == '.' && s + 1 < end && isdigit((unsigned char)s[1]))) {
			t.kind = CT_NUM;
			s = lex_number(s, end);
		} else if (ident_char(*s)) {
			t.kind = CT_IDENT;
			while (s < end && ident_char(*s))
				s++;
		} else
			s += punct_len(s, end);
		t.len = t.shown = (u32)(s - from);
		vec_push(out, t);
	}
}

struct Span ctok_span(const struct CTok *t)
{
	struct Span s = t->file->at;
	if (!t->file->header) {
		s.off += t->off;
		s.len = t->shown;
	}
	return s;
}

char *ctok_place(struct Arena *a, const struct CTok *t)
{
	u32 line = 1;
	for (u32 i = 0; i < t->off && i < t->file->len; i++)
		line += t->file->text[i] == '\n';
	return arena_printf(a, "%s:%u", t->file->name, line);
}

char *ctok_text(struct Arena *a, const struct CTok *t)
{
	return arena_strndup(a, t->text, t->len);
}
