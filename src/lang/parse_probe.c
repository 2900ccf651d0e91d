// Parser: probes and their attach points.
#include "lang/parse.h"
#include <ctype.h>

const char *param_positional(const struct Param *params, size_t n, u64 index)
{
	for (size_t i = 0; i < n; i++)
		if (!params[i].name && !--index)
			return params[i].val;
	return NULL;
}

// Where the text's '$' starts a positional parameter: appends its value, returns the offset after it; 0 after an error.
static u32 split_param(struct AttachSpec *ap, const char *s, u32 n, u32 i, struct Diags *d, const struct Param *params, size_t nparams,
		       struct Str *out)
{
	u32 from = i++;
	u64 index = 0;
	for (; i < n && isdigit((unsigned char)s[i]); i++)
		index = MIN(index * 10 + (u64)(s[i] - '0'), (u64)1 << 40);
	struct Span at = {ap->span.off + from, i - from, ap->span.file};
	if (!index) {
		diag_error(d, at, "syntax: a '$' in an attach point must start a positional parameter: $1, $2, ...");
		return 0;
	}
	if (i < n && (isalnum((unsigned char)s[i]) || s[i] == '_')) {
		u32 end = i;
		while (end < n && s[end] != ':' && s[end] != '"')
			end++;
		diag_error(d, at, "Found trailing text '%.*s' in positional parameter index. Try quoting the trailing text.", (int)(end - i), s + i);
		return 0;
	}
	const char *val = params ? param_positional(params, nparams, index) : NULL;
	if (params)
		str_add(out, val ? val : "");
	else
		str_addn(out, s + from, i - from);
	return i;
}

static void part_end(struct Str *text, size_t *start, struct Arena *a, const char **parts, u32 *n)
{
	parts[(*n)++] = arena_strndup(a, str_text(text) + *start, text->n - *start);
	*start = text->n + 1;
}

// Splits the text into ap->parts and ap->text. Quotes go, a backslash in quotes takes the next character as it is, blanks outside go.
static bool split(struct AttachSpec *ap, struct Arena *a, struct Diags *d, const char *s, u32 n, const struct Param *params, size_t nparams)
{
	struct Str text = {0};
	size_t start = 0;
	bool quoted = false;
	u32 colons = 0;
	for (u32 i = 0; i < n; i++)
		colons += s[i] == ':';
	ap->parts = arena_new_n(a, const char *, colons + 1);
	ap->nparts = 0;
	for (u32 i = 0; i < n;) {
		char c = s[i];
		if (c == '"')
			quoted = !quoted;
		else if (quoted && c == '\\' && i + 1 < n)
			str_addc(&text, s[++i]);
		else if (quoted || !strchr(":$ \t", c) || !c)
			str_addc(&text, c);
		else if (c == ':') {
			part_end(&text, &start, a, ap->parts, &ap->nparts);
			str_addc(&text, ':');
		} else if (c == '$') {
			i = split_param(ap, s, n, i, d, params, nparams, &text);
			if (!i) {
				str_deinit(&text);
				return false;
			}
			continue;
		}
		i++;
	}
	part_end(&text, &start, a, ap->parts, &ap->nparts);
	ap->text = arena_strndup(a, str_text(&text), text.n);
	str_deinit(&text);
	return true;
}

bool attach_split(struct AttachSpec *ap, struct Arena *a, struct Diags *d, const struct Param *params, size_t nparams, const char **name)
{
	if (!split(ap, a, d, d->sources.p[ap->span.file].text + ap->span.off, ap->span.len, params, nparams))
		return false;
	const char *eq = strchr(ap->parts[0], '=');
	if (!eq || !eq[1])
		return true;
	*name = arena_strndup(a, ap->parts[0], (size_t)(eq - ap->parts[0]));
	ap->text += eq + 1 - ap->parts[0];
	ap->parts[0] = eq + 1;
	return true;
}

static struct AttachSpec *attach_point(struct Parser *p, const char **name)
{
	struct AttachSpec *ap = arena_new(p->a, struct AttachSpec);
	lexer_skip_space(&p->lx);
	char c = p->lx.pos < p->lx.len ? p->lx.text[p->lx.pos] : 0;
	if ((!isalnum((unsigned char)c) && !strchr("_*?[\"$./", c)) || !c || !lexer_attach_point(&p->lx, &ap->span)) {
		p->tok = lexer_next(&p->lx);
		bool told = p_unexpected(p, "attach point");
		if (told && p->tok.kind == T_LBRACE)
			diag_hint(p->lx.diags, "An action needs a probe before it: begin { ... }");
		return NULL;
	}
	p->last = ap->span;
	if (attach_split(ap, p->a, p->lx.diags, NULL, 0, name))
		return ap;
	p->lx.nerrors++;
	p->panic = true;
	p->tok = lexer_next(&p->lx);
	return NULL;
}

struct AttachSpec *p_attach_point(struct Parser *p)
{
	const char *name = NULL;
	return attach_point(p, &name);
}

// attach point, ... [,]
static bool attach_points(struct Parser *p, struct ProbeAst *probe)
{
	struct AttachSpec **tail = &probe->points;
	for (;;) {
		*tail = attach_point(p, &probe->name);
		if (!*tail)
			return false;
		probe->span = probe->points == *tail ? (*tail)->span : span_join(probe->span, (*tail)->span);
		tail = &(*tail)->next;
		lexer_skip_space(&p->lx);
		char c = p->lx.pos < p->lx.len ? p->lx.text[p->lx.pos] : 0;
		if (c != ',')
			return true;
		p->lx.pos++;
		c = lexer_char_after(&p->lx, p->lx.pos);
		if (c == '{' || c == '/')
			return true;
	}
}

static void predicate(struct Parser *p, struct ProbeAst *probe)
{
	p_next(p);
	p->in_pred = true;
	probe->pred = p_expr(p);
	p->in_pred = false;
	p_expect(p, T_SLASH);
}

struct ProbeAst *p_probe(struct Parser *p)
{
	struct ProbeAst *probe = arena_new(p->a, struct ProbeAst);
	if (!attach_points(p, probe))
		return NULL;
	p->tok = lexer_next(&p->lx);
	if (p->tok.kind == T_SLASH)
		predicate(p, probe);
	if (!p->panic && p->tok.kind != T_LBRACE) {
		if (p_unexpected(p, tok_name(T_LBRACE)) && p->tok.kind == T_EOF)
			diag_hint(p->lx.diags, "A probe needs an action: %s { ... }", probe->points->text);
		return probe;
	}
	if (!p->panic)
		probe->body = p_action(p, &probe->body_span);
	return probe;
}
