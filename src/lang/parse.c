// Parser: the top level of a script. See internal.h for how the parts fit.
// In: a source. Out: struct Script; errors go to the diagnostics.
// Invariant: every loop consumes text or ends; after MAX_SYNTAX_ERRORS errors all that is left reads as the end of the file.
#include "lang/internal.h"
#include "ctype/ctype.h"

#define APPEND(end, item)                                                                                                                            \
	do {                                                                                                                                         \
		while (*(end))                                                                                                                       \
			(end) = &(*(end))->next;                                                                                                     \
		*(end) = (item);                                                                                                                     \
	} while (0)

// ---- constructs of the top level. Each starts with the lexer at its first character and ends with the lexer behind its last one: no
// token is read ahead, for what follows may be an attach point.

static void begin(struct Parser *p)
{
	p->tok = lexer_next(&p->lx);
	p->last = (struct Span){p->tok.span.off, 0, p->tok.span.file};
}

static void end(struct Parser *p)
{
	p->lx.pos = p->tok.span.off;
}

// After an error: to the end of the next block, or of the line when `line`.
static void recover(struct Parser *p, bool line)
{
	int depth = 0;
	p->panic = false;
	for (; p->tok.kind != T_EOF; p_next(p)) {
		if (line && !depth && p->tok.kind == T_SEMI)
			break;
		if (p->tok.kind == T_LBRACE)
			depth++;
		else if (p->tok.kind == T_RBRACE && --depth <= 0)
			break;
	}
	if (p->tok.kind != T_EOF)
		p->lx.pos = p->tok.span.off + p->tok.span.len;
}

static struct Expr *config_value(struct Parser *p)
{
	enum ExprKind kind;
	bool call = p->tok.kind == T_IDENT && !p->tok.kw && p_peek(p).kind == T_LPAREN;
	if (call || p->tok.kind == T_LPAREN || p->tok.kind == T_NOT || p_at_kw(p, KW_COMPTIME)) // to be known when it is expanded
		return p_expr(p);
	if (p->tok.kind == T_STR)
		kind = E_STR;
	else if (p->tok.kind == T_INT)
		kind = E_INT;
	else if (p_at_kw(p, KW_TRUE) || p_at_kw(p, KW_FALSE))
		kind = E_BOOL;
	else if (p->tok.kind == T_IDENT)
		kind = E_IDENT;
	else {
		p_unexpected(p, "a value");
		return NULL;
	}
	struct Token t = p->tok;
	p_next(p);
	struct Expr *e = p_named(p, kind, &t);
	e->ival = kind == E_BOOL ? t.kw == KW_TRUE : t.ival;
	return e;
}

static void parse_config(struct Parser *p)
{
	struct ConfigItem **tail = &p->s->config;
	if (*tail)
		p_error(p, p->tok.span, "duplicate config block");
	p_next(p);
	p_expect(p, T_ASSIGN);
	p_expect(p, T_LBRACE);
	while (!p->panic && p->tok.kind != T_RBRACE) {
		if (p->tok.kind == T_SEMI) {
			p_next(p);
			continue;
		}
		struct Token key = p->tok;
		if (!p_expect(p, T_IDENT) || !p_expect(p, T_ASSIGN))
			break;
		struct Expr *val = config_value(p);
		if (!val)
			break;
		struct ConfigItem *item = arena_new(p->a, struct ConfigItem);
		*item = (struct ConfigItem){.span = p_since(p, key.span), .key = key.str, .val = val};
		*tail = item;
		tail = &item->next;
		if (p->tok.kind != T_RBRACE)
			p_expect(p, T_SEMI);
	}
	p_expect_last(p, T_RBRACE);
}

static void parse_import(struct Parser *p)
{
	struct Span from = p->tok.span;
	p_next(p);
	struct Token path = p->tok;
	if (!p_expect(p, T_STR))
		return;
	struct Import *imp = arena_new(p->a, struct Import);
	*imp = (struct Import){.span = p_since(p, from), .path = path.str};
	APPEND(p->end.imports, imp);
	p_expect_last(p, T_SEMI);
}

static void parse_map_decl(struct Parser *p)
{
	struct Span from = p->tok.span;
	p_next(p);
	struct Token map = p->tok;
	if (p->tok.kind != T_MAP) {
		p_hint(p, p_unexpected(p, tok_name(T_MAP)), "Outside of a probe, let declares a map: let @a = hash(100);");
		return;
	}
	p_next(p);
	p_expect(p, T_ASSIGN);
	struct Token type = p->tok;
	if (!p_expect(p, T_IDENT) || !p_expect(p, T_LPAREN))
		return;
	struct Span at = p->tok.span;
	bool none = p->tok.kind == T_RPAREN;
	struct Expr *max = none ? NULL : p_expr(p);
	if (none || (max && (max->kind == E_STR || (max->kind == E_UNOP && max->op == OP_NEG))))
		p_error(p, at, "expected positive integer for map declaration max entries");
	struct MapDecl *decl = arena_new(p->a, struct MapDecl);
	*decl = (struct MapDecl){.name = map.str, .type = type.str, .max = max};
	if (!p_expect_last(p, T_RPAREN))
		return;
	decl->span = p_since(p, from);
	APPEND(p->end.maps, decl);
	if (lexer_char_after(&p->lx, p->lx.pos) == ';') {
		begin(p);
		p_expect_last(p, T_SEMI);
		decl->span = p_since(p, from);
	}
}

// Builtins that bpftrace refuses as the name of a macro's parameter.
static bool is_reserved_param(const char *s)
{
	static const char *const names[] = {"args", "ctx", "kstack", "nsecs", "pid", "tid", "ustack"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i], s))
			return true;
	if (strncmp(s, "arg", 3) || !s[3])
		return false;
	return !s[3 + strspn(s + 3, "0123456789")];
}

static bool parse_macro_param(struct Parser *p, struct MacroParam *out)
{
	struct Token t = p->tok;
	*out = (struct MacroParam){.name = t.str, .span = t.span};
	if (t.kind == T_VAR)
		out->kind = MP_VAR;
	else if (t.kind == T_MAP)
		out->kind = MP_MAP;
	else if (t.kind == T_IDENT && !t.kw)
		out->kind = MP_EXPR;
	else {
		p_unexpected(p, "a macro parameter ($var, @map or identifier)");
		return false;
	}
	if (out->kind == MP_EXPR && is_reserved_param(t.str)) {
		p_error(p, t.span, "builtin '%s' can't be used as a macro argument", t.str);
		return false;
	}
	p_next(p);
	return true;
}

static void parse_macro(struct Parser *p)
{
	VEC(struct MacroParam) params = {0};
	p_next(p);
	struct Token name = p->tok;
	p_expect(p, T_IDENT);
	struct Span head = p_since(p, name.span);
	p_expect(p, T_LPAREN);
	while (!p->panic && p->tok.kind != T_RPAREN) {
		struct MacroParam param;
		if (!parse_macro_param(p, &param))
			break;
		vec_push(&params, param);
		if (p->tok.kind != T_RPAREN && !p_expect(p, T_COMMA))
			break;
	}
	p_expect(p, T_RPAREN);
	if (!p->panic) {
		struct Macro *m = arena_new(p->a, struct Macro);
		m->span = head;
		m->name = name.str;
		m->nparams = (u32)params.n;
		m->params = arena_new_n(p->a, struct MacroParam, params.n);
		if (params.n)
			memcpy(m->params, params.p, params.n * sizeof(*params.p));
		m->body = p_block(p);
		APPEND(p->end.macros, m);
	}
	vec_deinit(&params);
}

static void skip_shebang(struct Lexer *lx)
{
	if (lx->len >= 2 && !memcmp(lx->text, "#!", 2))
		while (lx->pos < lx->len && lx->text[lx->pos] != '\n')
			lx->pos++;
}

// Directives and definitions, as many as follow one another, are one piece: #ifdef and #endif stay together.
static bool parse_c_text(struct Parser *p)
{
	struct Span first, piece;
	if (!lexer_c_text(&p->lx, &first))
		return false;
	for (piece = first; piece.len;) {
		u32 save = p->lx.pos;
		lexer_skip_space(&p->lx);
		if (!lexer_c_text(&p->lx, &piece)) {
			p->lx.pos = save;
			break;
		}
		first = span_join(first, piece);
	}
	if (p->s->probes || p->s->macros || p->s->maps) {
		p_error(p, first, "C definitions must appear before probes and functions");
		p->panic = false;
		return true;
	}
	struct CText *text = arena_new(p->a, struct CText);
	text->span = first;
	APPEND(p->end.ctext, text);
	return true;
}

static bool too_late(struct Parser *p)
{
	return p->s->probes || p->s->macros;
}

static void parse_item(struct Parser *p)
{
	enum Kw kw = lexer_peek_keyword(&p->lx);
	bool line = false;
	switch (kw) {
	case KW_CONFIG:
		begin(p);
		if (too_late(p))
			p_error(p, p->tok.span, "config must appear before probes and functions");
		parse_config(p);
		break;
	case KW_IMPORT:
		begin(p);
		line = true;
		if (too_late(p))
			p_error(p, p->tok.span, "root imports must appear before probes and functions");
		parse_import(p);
		break;
	case KW_LET:
		begin(p);
		line = true;
		parse_map_decl(p);
		break;
	case KW_MACRO:
		begin(p);
		parse_macro(p);
		break;
	case KW_FN:
		begin(p);
		p_hint(p, p_error(p, p->tok.span, "functions are not part of the language"), "Use a macro: macro name(a, $b, @c) { ... }");
		break;
	default: {
		struct ProbeAst *probe = p_probe(p);
		APPEND(p->end.probes, probe);
		break;
	}
	}
	if (p->panic)
		recover(p, line);
	else
		end(p);
}

static struct Parser parser_new(struct Arena *a, struct Diags *d, u32 source, struct Script *s)
{
	struct Parser p = {.a = a, .s = s};
	lexer_init(&p.lx, a, d, source);
	return p;
}

struct Script *parse_script(struct Arena *a, struct Diags *d, u32 source)
{
	struct Script *s = arena_new(a, struct Script);
	*s = (struct Script){.arena = a, .diags = d, .source = source};
	struct Parser p = parser_new(a, d, source, s);
	p.end.ctext = &s->ctext;
	p.end.imports = &s->imports;
	p.end.maps = &s->maps;
	p.end.macros = &s->macros;
	p.end.probes = &s->probes;
	skip_shebang(&p.lx);
	for (;;) {
		lexer_skip_space(&p.lx);
		if (p.lx.pos >= p.lx.len || p.lx.nerrors >= MAX_SYNTAX_ERRORS)
			break;
		u32 before = p.lx.pos;
		if (!parse_c_text(&p))
			parse_item(&p);
		if (p.lx.pos <= before)
			p.lx.pos = before + 1;
	}
	return s;
}

struct Expr *parse_expression(struct Arena *a, struct Diags *d, u32 source)
{
	struct Script *s = arena_new(a, struct Script);
	*s = (struct Script){.arena = a, .diags = d, .source = source};
	struct Parser p = parser_new(a, d, source, s);
	int before = d->nerrors;
	p.tok = lexer_next(&p.lx);
	struct Expr *e = p_expr(&p);
	return p.tok.kind == T_EOF && d->nerrors == before ? e : NULL;
}

struct AttachSpec *parse_attach_list(struct Arena *a, struct Diags *d, u32 source)
{
	struct AttachSpec *first = NULL, **tail = &first;
	struct Parser p = parser_new(a, d, source, NULL);
	do {
		*tail = p_attach_point(&p);
		if (!*tail)
			return NULL;
		tail = &(*tail)->next;
		p.tok = lexer_next(&p.lx);
	} while (p.tok.kind == T_COMMA);
	if (p.tok.kind == T_EOF)
		return first;
	p_unexpected(&p, tok_name(T_EOF));
	return NULL;
}
