// Parser: the token at hand, errors, marks to go back to: what its rules are made of. See internal.h.
// Invariant: of the errors at one place the first is told; after one, the parser is in panic until its rule has found an end.
#include "lang/internal.h"
#include <ctype.h>

void p_next(struct Parser *p)
{
	p->last = p->tok.span;
	p->tok = lexer_next(&p->lx);
}

bool p_accept(struct Parser *p, enum Tok k)
{
	if (p->panic || p->tok.kind != k)
		return false;
	p_next(p);
	return true;
}

bool p_error(struct Parser *p, struct Span at, const char *fmt, ...)
{
	bool silent = p->panic || p->last_error == at.off + 1 || p->lx.nerrors >= MAX_SYNTAX_ERRORS;
	p->panic = true;
	if (silent)
		return false;
	p->last_error = at.off + 1;
	p->lx.nerrors++;
	struct Str s = {0};
	va_list ap;
	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	diag_error(p->lx.diags, at, "%s", str_text(&s));
	str_deinit(&s);
	return true;
}

void p_hint(struct Parser *p, bool recorded, const char *text)
{
	if (recorded)
		diag_hint(p->lx.diags, "%s", text);
}

bool p_unexpected(struct Parser *p, const char *expected)
{
	struct Span at = p->tok.span;
	if (p->tok.kind == T_EOF) // after the last token rather than on an empty last line
		at = (struct Span){p->last.off + p->last.len, 0, p->tok.span.file};
	const char *quote = isalpha((unsigned char)*expected) ? "" : "'";
	return p_error(p, at, "syntax: expected %s%s%s, found %s", quote, expected, quote, token_name(&p->tok));
}

bool p_expect(struct Parser *p, enum Tok k)
{
	if (p_accept(p, k))
		return true;
	bool told = p_unexpected(p, tok_name(k));
	if (told && p->tok.kind == T_ASSIGN)
		diag_hint(p->lx.diags, "Use '==' to compare; an assignment is a statement of its own.");
	return false;
}

bool p_enter(struct Parser *p)
{
	p->depth++;
	if (p->depth <= PARSE_MAX_DEPTH)
		return true;
	p_error(p, p->tok.span, "nested too deeply: %d in one another is the limit", PARSE_MAX_DEPTH);
	p->lx.nerrors = MAX_SYNTAX_ERRORS;
	p->tok = lexer_next(&p->lx);
	return false;
}

void p_leave(struct Parser *p)
{
	p->depth--;
}

struct Token p_peek(const struct Parser *p)
{
	struct Lexer ahead = p->lx;
	ahead.reported = UINT32_MAX; // told when it is read for good
	return lexer_next(&ahead);
}

struct Span p_since(const struct Parser *p, struct Span from)
{
	return p->last.off + p->last.len > from.off ? span_join(from, p->last) : from;
}

struct ParseMark p_mark(const struct Parser *p)
{
	return (struct ParseMark){p->lx, p->tok, p->last};
}

void p_reset(struct Parser *p, struct ParseMark m)
{
	m.lx.reported = p->lx.reported;
	m.lx.nerrors = p->lx.nerrors;
	p->lx = m.lx;
	p->tok = m.tok;
	p->last = m.last;
}

bool p_expect_last(struct Parser *p, enum Tok k)
{
	if (p->panic || p->tok.kind != k)
		return p_expect(p, k);
	p->last = p->tok.span;
	p->tok = (struct Token){.kind = T_EOF, .span = {p->lx.pos, 0, p->lx.file}};
	return true;
}
