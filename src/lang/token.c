// Tokens of a script; see internal.h.
#include "lang/internal.h"
#include <ctype.h>

static const struct {
	const char *word;
	enum Kw kw;
} keywords[] = {
	{"break", KW_BREAK}, {"comptime", KW_COMPTIME}, {"config", KW_CONFIG}, {"continue", KW_CONTINUE}, {"else", KW_ELSE}, {"enum", KW_ENUM},
	{"false", KW_FALSE}, {"fn", KW_FN}, {"for", KW_FOR}, {"if", KW_IF}, {"import", KW_IMPORT}, {"let", KW_LET}, {"macro", KW_MACRO},
	{"offsetof", KW_OFFSETOF}, {"return", KW_RETURN}, {"sizeof", KW_SIZEOF}, {"struct", KW_STRUCT}, {"true", KW_TRUE},
	{"typedef", KW_TYPEDEF}, {"typeinfo", KW_TYPEINFO}, {"typeof", KW_TYPEOF}, {"union", KW_UNION}, {"unroll", KW_UNROLL},
	{"while", KW_WHILE},
};

// Longest first: the lexer takes the first that fits.
static const struct {
	char text[4];
	enum Tok kind;
} puncts[] = {
	{"<<=", T_SHL_EQ}, {">>=", T_SHR_EQ}, {"&&", T_LAND}, {"||", T_LOR}, {"==", T_EQ}, {"!=", T_NE}, {"<=", T_LE}, {">=", T_GE},
	{"<<", T_SHL}, {">>", T_SHR}, {"++", T_INC}, {"--", T_DEC}, {"->", T_ARROW}, {"..", T_DOTDOT}, {"+=", T_ADD_EQ}, {"-=", T_SUB_EQ},
	{"*=", T_MUL_EQ}, {"/=", T_DIV_EQ}, {"%=", T_MOD_EQ}, {"&=", T_AND_EQ}, {"|=", T_OR_EQ}, {"^=", T_XOR_EQ}, {"(", T_LPAREN},
	{")", T_RPAREN}, {"{", T_LBRACE}, {"}", T_RBRACE}, {"[", T_LBRACKET}, {"]", T_RBRACKET}, {",", T_COMMA}, {";", T_SEMI}, {":", T_COLON},
	{"?", T_QUES}, {".", T_DOT}, {"=", T_ASSIGN}, {"<", T_LT}, {">", T_GT}, {"+", T_PLUS}, {"-", T_MINUS}, {"*", T_STAR}, {"/", T_SLASH},
	{"%", T_PERCENT}, {"&", T_AND}, {"|", T_OR}, {"^", T_XOR}, {"!", T_NOT}, {"~", T_BNOT},
};

void lexer_init(struct Lexer *lx, struct Arena *a, struct Diags *d, u32 source)
{
	const struct Source *src = &d->sources.p[source];
	*lx = (struct Lexer){.arena = a, .diags = d, .text = src->text, .len = (u32)MIN(src->len, (size_t)UINT32_MAX - 8), .file = source};
}

static char at(const struct Lexer *lx, u32 pos)
{
	return pos < lx->len ? lx->text[pos] : 0;
}

static bool is_word_start(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static u32 word_end(const struct Lexer *lx, u32 pos)
{
	while (is_word(at(lx, pos)))
		pos++;
	return pos;
}

static struct Span span_of(const struct Lexer *lx, u32 from, u32 to)
{
	return (struct Span){from, to - from, lx->file};
}

PRINTF_LIKE(3, 4)
static void lexical_error(struct Lexer *lx, struct Span at, const char *fmt, ...)
{
	if (at.off < lx->reported || lx->nerrors >= MAX_SYNTAX_ERRORS)
		return;
	lx->reported = at.off + 1;
	lx->nerrors++;
	va_list ap;
	struct Str s = {0};
	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	diag_error(lx->diags, at, "%s", str_text(&s));
	str_deinit(&s);
}

// End of the comment at pos, or pos when there is none. *open: a block comment that the text's end cuts.
static u32 comment_end(const struct Lexer *lx, u32 pos, bool *open)
{
	if (at(lx, pos) != '/')
		return pos;
	if (at(lx, pos + 1) == '/') {
		const char *nl = memchr(lx->text + pos, '\n', lx->len - pos);
		return nl ? (u32)(nl - lx->text) : lx->len;
	}
	if (at(lx, pos + 1) != '*')
		return pos;
	for (u32 i = pos + 2; i + 1 < lx->len; i++)
		if (lx->text[i] == '*' && lx->text[i + 1] == '/')
			return i + 2;
	*open = true;
	return lx->len;
}

static u32 skip_space_from(const struct Lexer *lx, u32 pos, u32 *open_comment)
{
	for (;;) {
		while (pos < lx->len && is_space(lx->text[pos]))
			pos++;
		bool open = false;
		u32 end = comment_end(lx, pos, &open);
		if (open && open_comment)
			*open_comment = pos;
		if (end == pos)
			return pos;
		pos = end;
	}
}

void lexer_skip_space(struct Lexer *lx)
{
	u32 open = UINT32_MAX;
	lx->pos = skip_space_from(lx, lx->pos, &open);
	if (open != UINT32_MAX)
		lexical_error(lx, span_of(lx, open, open + 2), "unterminated comment");
}

char lexer_char_after(const struct Lexer *lx, u32 pos)
{
	return at(lx, skip_space_from(lx, pos, NULL));
}

static enum Kw keyword(const char *s, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
		if (!strncmp(keywords[i].word, s, n) && !keywords[i].word[n])
			return keywords[i].kw;
	return KW_NONE;
}

enum Kw lexer_peek_keyword(const struct Lexer *lx)
{
	if (!is_word_start(at(lx, lx->pos)))
		return KW_NONE;
	return keyword(lx->text + lx->pos, word_end(lx, lx->pos) - lx->pos);
}

// ---- integers

static void lex_int(struct Lexer *lx, struct Token *t)
{
	u32 from = lx->pos;
	lx->pos = word_end(lx, from);
	t->kind = T_INT;
	const char *why = parse_int_literal(lx->text + from, lx->pos - from, &t->ival);
	if (why)
		lexical_error(lx, span_of(lx, from, lx->pos), "%s: %.*s", why, (int)MIN(lx->pos - from, 80u), lx->text + from);
}

// ---- strings

// The escape at pos (after the backslash); appends its byte. Returns the position after it.
static u32 lex_escape(struct Lexer *lx, u32 pos, struct Str *out)
{
	static const char from[] = "ntr\"\\", to[] = "\n\t\r\"\\";
	char c = at(lx, pos);
	u32 start = pos - 1;
	const char *hit = c ? strchr(from, c) : NULL;
	if (hit) {
		str_addc(out, to[hit - from]);
		return pos + 1;
	}
	if (c >= '0' && c <= '7') {
		int v = 0;
		for (u32 end = pos + 3; pos < end && at(lx, pos) >= '0' && at(lx, pos) <= '7'; pos++)
			v = v * 8 + at(lx, pos) - '0';
		if (v > 255)
			lexical_error(lx, span_of(lx, start, pos), "octal escape sequence out of range '%.*s'", (int)(pos - start), lx->text + start);
		str_addc(out, (char)v);
		return pos;
	}
	if (c == 'x' || c == 'X') {
		int v = 0;
		u32 digits = ++pos;
		for (; pos < digits + 2 && isxdigit((unsigned char)at(lx, pos)); pos++)
			v = v * 16 + digit_value(at(lx, pos));
		if (pos == digits)
			lexical_error(lx, span_of(lx, start, pos), "invalid hex escape sequence");
		str_addc(out, (char)v);
		return pos;
	}
	if (pos >= lx->len || c == '\n')
		return pos; // the string is unterminated: told there
	struct Str shown = {0};
	str_add_escaped(&shown, &c, 1, false);
	lexical_error(lx, span_of(lx, start, pos + 1), "invalid escape character '\\%s'", str_text(&shown));
	str_deinit(&shown);
	return pos + 1;
}

static void lex_str(struct Lexer *lx, struct Token *t)
{
	struct Str s = {0};
	u32 pos = lx->pos + 1;
	while (pos < lx->len && at(lx, pos) != '"' && at(lx, pos) != '\n') {
		if (at(lx, pos) == '\\')
			pos = lex_escape(lx, pos + 1, &s);
		else
			str_addc(&s, at(lx, pos++));
	}
	if (at(lx, pos) == '"')
		pos++;
	else
		lexical_error(lx, span_of(lx, lx->pos, pos), "unterminated string");
	lx->pos = pos;
	t->kind = T_STR;
	t->str = arena_strndup(lx->arena, str_text(&s), s.n);
	t->len = (u32)s.n;
	str_deinit(&s);
}

// ---- the rest

static void lex_name(struct Lexer *lx, struct Token *t, enum Tok kind, u32 skip)
{
	u32 from = lx->pos;
	lx->pos = word_end(lx, from + skip);
	t->kind = kind;
	u32 keep = kind == T_VAR ? skip : 0;
	t->str = arena_strndup(lx->arena, lx->text + from + keep, lx->pos - from - keep);
	t->len = lx->pos - from - keep;
	if (kind == T_IDENT)
		t->kw = keyword(t->str, t->len);
}

static void lex_param(struct Lexer *lx, struct Token *t)
{
	u32 from = lx->pos++;
	u64 v = 0;
	bool over = false;
	for (; isdigit((unsigned char)at(lx, lx->pos)); lx->pos++)
		over |= !mul_add(&v, 10, (u64)(at(lx, lx->pos) - '0'));
	if (over || !v || v > INT64_MAX) {
		lexical_error(lx, span_of(lx, from, lx->pos), "param %.*s is out of integer range [1, 9223372036854775807]",
			      (int)MIN(lx->pos - from, 40u), lx->text + from);
		v = 1;
	}
	t->kind = T_PARAM;
	t->ival = v;
}

static bool lex_punct(struct Lexer *lx, struct Token *t)
{
	for (size_t i = 0; i < ARRAY_LEN(puncts); i++) {
		u32 n = (u32)strlen(puncts[i].text);
		if (lx->len - lx->pos >= n && !memcmp(lx->text + lx->pos, puncts[i].text, n)) {
			t->kind = puncts[i].kind;
			lx->pos += n;
			return true;
		}
	}
	return false;
}

static void invalid_char(struct Lexer *lx)
{
	char c = lx->text[lx->pos];
	struct Str s = {0};
	if ((unsigned char)c >= 0x80)
		str_addf(&s, "\\x%02x", (unsigned char)c);
	else
		str_add_escaped(&s, &c, 1, false);
	int before = lx->nerrors;
	u32 from = lx->pos++;
	while (at(lx, lx->pos) & 0x80) // the rest of a UTF-8 character, and its neighbours
		lx->pos++;
	lexical_error(lx, span_of(lx, from, lx->pos), "invalid character '%s'", str_text(&s));
	str_deinit(&s);
	if (lx->nerrors == before)
		return;
	if (c == '\'')
		diag_hint(lx->diags, "Strings are written with double quotes.");
	else if (c == '#')
		diag_hint(lx->diags, "Preprocessor lines belong before the first probe.");
	else if (c == '$')
		diag_hint(lx->diags, "A variable needs a name: $x.");
}

struct Token lexer_next(struct Lexer *lx)
{
	for (;;) {
		lexer_skip_space(lx);
		struct Token t = {.kind = T_EOF, .span = {lx->pos, 0, lx->file}};
		if (lx->nerrors >= MAX_SYNTAX_ERRORS)
			lx->pos = lx->len;
		if (lx->pos >= lx->len)
			return t;
		char c = lx->text[lx->pos], c2 = at(lx, lx->pos + 1);
		if (is_word_start(c))
			lex_name(lx, &t, T_IDENT, 0);
		else if (isdigit((unsigned char)c))
			lex_int(lx, &t);
		else if (c == '"')
			lex_str(lx, &t);
		else if (c == '@')
			lex_name(lx, &t, T_MAP, 1);
		else if (c == '$' && is_word_start(c2))
			lex_name(lx, &t, T_VAR, 1);
		else if (c == '$' && isdigit((unsigned char)c2))
			lex_param(lx, &t);
		else if (c == '$' && c2 == '#') {
			t.kind = T_PARAMCOUNT;
			lx->pos += 2;
		} else if (!lex_punct(lx, &t)) {
			invalid_char(lx);
			continue;
		}
		t.span.len = lx->pos - t.span.off;
		return t;
	}
}

// ---- raw text

// Blanks inside an attach point ("kprobe : f") are allowed on one line next to a ':', as long as no predicate can be meant.
static u32 blanks_inside_attach_point(const struct Lexer *lx, u32 pos)
{
	u32 end = pos;
	while (at(lx, end) == ' ' || at(lx, end) == '\t')
		end++;
	char next = at(lx, end);
	if (next == ':')
		return end;
	if (at(lx, pos - 1) == ':' && next && !is_space(next) && !strchr("{,/}", next))
		return end;
	return pos;
}

// May a '/' belong to the attach point whose first part is text[from..to)? Only some providers take paths; elsewhere it is a predicate's.
static bool takes_path(const struct Lexer *lx, u32 from, u32 to)
{
	static const char *const no_path[] = {
		"begin", "BEGIN", "end", "END", "self", "test", "bench", "kprobe", "k", "kretprobe", "kr", "fentry", "f", "fexit", "fr", "kfunc",
		"kretfunc", "tracepoint", "t", "rawtracepoint", "rt", "profile", "p", "interval", "i", "software", "s", "hardware", "h",
		"watchpoint", "w", "asyncwatchpoint", "aw",
	};
	for (u32 i = from; i < to; i++)
		if (lx->text[i] == '=')
			from = i + 1;
	while (to > from && is_space(lx->text[to - 1]))
		to--;
	for (size_t i = 0; i < ARRAY_LEN(no_path); i++)
		if (strlen(no_path[i]) == to - from && !memcmp(no_path[i], lx->text + from, to - from))
			return false;
	return true;
}

bool lexer_attach_point(struct Lexer *lx, struct Span *out)
{
	lexer_skip_space(lx);
	u32 from = lx->pos, pos = from;
	bool colon = false, path = false;
	while (pos < lx->len) {
		char c = lx->text[pos];
		if (c == '{' || c == ',' || (c == '/' && !path && pos > from))
			break;
		if (is_space(c)) {
			u32 end = blanks_inside_attach_point(lx, pos);
			if (end == pos)
				break;
			pos = end;
			continue;
		}
		if (c == '"') {
			u32 quote = pos++;
			while (pos < lx->len && lx->text[pos] != '"' && lx->text[pos] != '\n')
				pos += lx->text[pos] == '\\' && pos + 1 < lx->len ? 2 : 1;
			if (at(lx, pos) != '"')
				lexical_error(lx, span_of(lx, quote, pos), "unterminated string");
			else
				pos++;
			continue;
		}
		if (c == ':' && !colon) {
			colon = true;
			path = takes_path(lx, from, pos);
		}
		path |= c == '@' && colon; // a source file follows
		pos++;
	}
	lx->pos = pos = MIN(pos, lx->len);
	*out = span_of(lx, from, pos);
	return pos > from;
}

// End of a preprocessor line: a backslash or an open comment continues it.
static u32 directive_end(const struct Lexer *lx, u32 pos)
{
	while (pos < lx->len && lx->text[pos] != '\n') {
		if (lx->text[pos] == '\\' && pos + 1 < lx->len) {
			pos += at(lx, pos + 1) == '\r' && at(lx, pos + 2) == '\n' ? 3 : 2;
			continue;
		}
		bool open = false;
		u32 end = comment_end(lx, pos, &open);
		pos = end > pos ? end : pos + 1;
	}
	return pos;
}

// Position after the C text up to `stop` ('}' that closes the first brace, or ';' outside braces); 0 when the text ends before.
static u32 c_text_end(const struct Lexer *lx, u32 pos, char stop)
{
	int depth = 0;
	while (pos < lx->len) {
		char c = lx->text[pos];
		bool open = false;
		u32 end = comment_end(lx, pos, &open);
		if (end > pos) {
			pos = end;
			continue;
		}
		if (c == '"' || c == '\'') {
			for (pos++; pos < lx->len && lx->text[pos] != c && lx->text[pos] != '\n'; pos++)
				pos += lx->text[pos] == '\\';
			pos++;
			continue;
		}
		pos++;
		depth += c == '{';
		depth -= c == '}';
		if (c == stop && depth <= 0)
			return MIN(pos, lx->len);
	}
	return 0;
}

static u32 skip_one_attribute(const struct Lexer *lx, u32 pos)
{
	static const char word[] = "__attribute__";
	u32 start = skip_space_from(lx, pos, NULL), end = word_end(lx, start);
	if (end - start != sizeof(word) - 1 || memcmp(lx->text + start, word, end - start))
		return pos;
	u32 p = skip_space_from(lx, end, NULL);
	int depth = 0;
	for (; p < lx->len; p++) {
		depth += lx->text[p] == '(';
		depth -= lx->text[p] == ')';
		if (depth <= 0)
			return lx->text[p] == ')' ? p + 1 : pos;
	}
	return pos;
}

static u32 skip_attributes(const struct Lexer *lx, u32 pos)
{
	for (u32 end = pos;; pos = end) {
		end = skip_one_attribute(lx, pos);
		if (end == pos)
			return pos;
	}
}

static u32 definition_end(struct Lexer *lx, enum Kw kw)
{
	u32 pos = word_end(lx, lx->pos);
	if (kw != KW_TYPEDEF) {
		pos = skip_attributes(lx, pos);
		u32 name = skip_space_from(lx, pos, NULL);
		char c = lexer_char_after(lx, word_end(lx, name));
		if (c == ';')
			return c_text_end(lx, pos, ';');
		if (c != '{')
			return 0;
	}
	u32 end = c_text_end(lx, pos, kw == KW_TYPEDEF ? ';' : '}');
	if (!end) {
		lexical_error(lx, span_of(lx, lx->pos, word_end(lx, lx->pos)), "unterminated C definition");
		return lx->len;
	}
	if (kw == KW_TYPEDEF)
		return end;
	end = skip_attributes(lx, end);
	u32 semi = skip_space_from(lx, end, NULL);
	return at(lx, semi) == ';' ? semi + 1 : end;
}

bool lexer_c_text(struct Lexer *lx, struct Span *out)
{
	u32 from = lx->pos, end = 0;
	enum Kw kw = lexer_peek_keyword(lx);
	if (at(lx, from) == '#' && at(lx, from + 1) != '!')
		end = directive_end(lx, from);
	else if (kw == KW_STRUCT || kw == KW_UNION || kw == KW_ENUM || kw == KW_TYPEDEF)
		end = definition_end(lx, kw);
	if (!end)
		return false;
	lx->pos = MIN(end, lx->len);
	*out = span_of(lx, from, lx->pos);
	return true;
}

// ---- names for messages

const char *tok_name(enum Tok k)
{
	switch (k) {
	case T_EOF:
		return "end of file";
	case T_IDENT:
		return "identifier";
	case T_VAR:
		return "variable";
	case T_MAP:
		return "map";
	case T_PARAM:
		return "positional parameter";
	case T_PARAMCOUNT:
		return "$#";
	case T_INT:
		return "integer";
	case T_STR:
		return "string";
	default:
		for (size_t i = 0; i < ARRAY_LEN(puncts); i++)
			if (puncts[i].kind == k)
				return puncts[i].text;
		UNREACHABLE();
	}
}

const char *token_name(const struct Token *t)
{
	return t->kind == T_IDENT && t->kw ? t->str : tok_name(t->kind);
}
