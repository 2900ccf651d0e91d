// Parser: probes and their attach points.
#include "lang/internal.h"
#include <ctype.h>

const char *param_positional(const struct Param *params, size_t n, u64 index)
{
	for (size_t i = 0; i < n; i++)
		if (!params[i].name && !--index)
			return params[i].val;
	return NULL;
}

// An attach point that is taken apart: what comes in, what has come out.
struct Splitter {
	struct AttachSpec *ap;
	struct Arena *a;
	struct Diags *d;
	const struct Script *script; // NULL: parameters stay as they are
	const char *item;	     // one of the values of the option that has several; NULL: none has
	struct Str text;
	size_t start; // of the part in the text
	VEC(const char *) parts;
};

static void part_end(struct Splitter *sp)
{
	vec_push(&sp->parts, arena_strndup(sp->a, str_text(&sp->text) + sp->start, sp->text.n - sp->start));
	sp->start = sp->text.n + 1;
}

// A parameter's text. One that the attach point begins with may have all its parts; one after the type of the probe (uprobe:$1) the next two: what is before
// its first colon and what is behind it.
static void put_value(struct Splitter *sp, const char *val)
{
	bool all = !sp->text.n, next = sp->parts.n == 1 && sp->text.n == sp->start;
	for (; *val; val++) {
		if (*val == ':' && (all || next)) {
			part_end(sp);
			next = false;
		}
		str_addc(&sp->text, *val);
	}
}

static u32 name_end(const char *s, u32 n, u32 i)
{
	while (i < n && (isalnum((unsigned char)s[i]) || s[i] == '_' || s[i] == '-'))
		i++;
	return i;
}

// $frequency: the value of the option --frequency.
static u32 split_option(struct Splitter *sp, const char *s, u32 n, u32 from)
{
	u32 end = name_end(s, n, from + 1);
	struct Span at = {sp->ap->span.off + from, end - from, sp->ap->span.file};
	const char *name = arena_strndup(sp->a, s + from + 1, end - from - 1), *val = sp->script ? option_text(sp->script, name) : "";
	if (!sp->script)
		str_addn(&sp->text, s + from, end - from);
	else if (!val) {
		diag_error(sp->d, at, "no getopt() of the script tells of an option '%s'", name);
		return 0;
	} else if (!*val) {
		diag_error(sp->d, at, "the option --%s is not given, and has no default: there is nothing to attach to", name);
		return 0;
	} else
		put_value(sp, sp->item && strchr(val, ',') ? sp->item : val);
	return end;
}

// Where the text's '$' starts a parameter: appends its value, returns the offset after it; 0 after an error.
static u32 split_param(struct Splitter *sp, const char *s, u32 n, u32 i)
{
	u32 from = i++;
	u64 index = 0;
	if (i < n && (isalpha((unsigned char)s[i]) || s[i] == '_'))
		return split_option(sp, s, n, from);
	for (; i < n && isdigit((unsigned char)s[i]); i++)
		index = MIN(index * 10 + (u64)(s[i] - '0'), (u64)1 << 40);
	struct Span at = {sp->ap->span.off + from, i - from, sp->ap->span.file};
	if (!index) {
		diag_error(sp->d, at, "syntax: a '$' in an attach point must start a parameter: $1, $2, ..., or $NAME of an option");
		return 0;
	}
	if (i < n && (isalnum((unsigned char)s[i]) || s[i] == '_')) {
		u32 end = i;
		while (end < n && s[end] != ':' && s[end] != '"')
			end++;
		diag_error(sp->d, at, "Found trailing text '%.*s' in positional parameter index. Try quoting the trailing text.", (int)(end - i), s + i);
		return 0;
	}
	const char *val = sp->script ? param_positional(sp->script->params, sp->script->nparams, index) : NULL;
	if (sp->script)
		put_value(sp, val ? val : "");
	else
		str_addn(&sp->text, s + from, i - from);
	return i;
}

// Splits the text into ap->parts and ap->text. Quotes go, a backslash in quotes takes the next character as it is, blanks outside go.
static bool split(struct Splitter *sp, const char *s, u32 n)
{
	bool quoted = false;
	for (u32 i = 0; i < n;) {
		char c = s[i];
		if (c == '"')
			quoted = !quoted;
		else if (quoted && c == '\\' && i + 1 < n)
			str_addc(&sp->text, s[++i]);
		else if (quoted || !strchr(":$ \t", c) || !c)
			str_addc(&sp->text, c);
		else if (c == ':') {
			part_end(sp);
			str_addc(&sp->text, ':');
		} else if (c == '$') {
			i = split_param(sp, s, n, i);
			if (!i)
				return false;
			continue;
		}
		i++;
	}
	part_end(sp);
	return true;
}

static bool attach_split(struct AttachSpec *ap, struct Arena *a, struct Diags *d, const struct Script *script, const char *item, const char **name)
{
	struct Splitter sp = {.ap = ap, .a = a, .d = d, .script = script, .item = item};
	bool ok = split(&sp, d->sources.p[ap->span.file].text + ap->span.off, ap->span.len);
	ap->parts = arena_new_n(a, const char *, sp.parts.n + 1);
	ap->nparts = (u32)sp.parts.n;
	if (sp.parts.n)
		memcpy(ap->parts, sp.parts.p, sp.parts.n * sizeof(*sp.parts.p));
	ap->text = arena_strndup(a, str_text(&sp.text), sp.text.n);
	str_deinit(&sp.text);
	vec_deinit(&sp.parts);
	const char *eq = ok ? strchr(ap->parts[0], '=') : NULL;
	if (!eq || !eq[1])
		return ok;
	*name = arena_strndup(a, ap->parts[0], (size_t)(eq - ap->parts[0]));
	ap->text += eq + 1 - ap->parts[0];
	ap->parts[0] = eq + 1;
	return true;
}

// The values of the first option of the attach point that has several; NULL: none has.
static const char *several_values(const struct AttachSpec *ap, struct Arena *a, const char *s, const struct Script *script)
{
	for (u32 i = 0; i < ap->span.len; i++) {
		if (s[i] != '$')
			continue;
		u32 end = name_end(s, ap->span.len, i + 1);
		const char *val = option_text(script, arena_strndup(a, s + i + 1, end - i - 1));
		if (val && strchr(val, ','))
			return val;
	}
	return NULL;
}

struct AttachSpec *attach_put(struct AttachSpec *ap, struct Arena *a, struct Diags *d, const struct Script *script, const char **name)
{
	const char *list = several_values(ap, a, d->sources.p[ap->span.file].text + ap->span.off, script);
	if (!list) {
		attach_split(ap, a, d, script, NULL, name);
		return ap;
	}
	for (const char *p = list + strspn(list, ", \n"); *p;) {
		size_t n = strcspn(p, ",");
		if (p > list) {
			struct AttachSpec *more = arena_new(a, struct AttachSpec);
			*more = *ap;
			ap->next = more;
			ap = more;
		}
		if (!attach_split(ap, a, d, script, arena_strndup(a, p, n), name))
			return ap;
		p += n;
		p += strspn(p, ", \n");
	}
	return ap;
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
	if (attach_split(ap, p->a, p->lx.diags, NULL, NULL, name))
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
