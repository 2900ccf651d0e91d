// The script in its standard form (--fmt), as bpftrace 0.27 lays it out.
// In: the tree as parsed, before expansion, and its text. Out: text. Invariants: the text that comes out parses to the same tree and formats to
// itself; literals are spelled as they were; no comment is lost (one inside an expression comes after its statement).
#include "lang/internal.h"
#include "ctype/ctype.h"

u32 format_span_end(struct Span s)
{
	return s.off + s.len;
}

u32 format_column(const struct Formatter *f)
{
	const char *s = str_text(f->out), *nl = memrchr(s, '\n', f->out->n);
	return (u32)(f->out->n - (nl ? (size_t)(nl + 1 - s) : 0));
}

void format_spaces(struct Formatter *f, u32 n)
{
	while (n--)
		str_addc(f->out, ' ');
}

void format_source(struct Formatter *f, u32 from, u32 to)
{
	str_addn(f->out, f->text + from, to - from);
}

static void drop_newlines(struct Formatter *f)
{
	while (f->out->n && f->out->p[f->out->n - 1] == '\n')
		f->out->p[--f->out->n] = 0;
}

// ---- comments and empty lines

// The next comment in [from, to); texts in quotes are passed over. False: none.
static bool next_comment(const struct Formatter *f, u32 from, u32 to, u32 *begin, u32 *end)
{
	for (u32 i = from; i + 1 < to; i++) {
		if (f->text[i] == '"') {
			for (i++; i < to && f->text[i] != '"' && f->text[i] != '\n'; i++)
				i += f->text[i] == '\\';
			continue;
		}
		bool line = f->text[i] == '/' && f->text[i + 1] == '/';
		if (!line && !(f->text[i] == '/' && f->text[i + 1] == '*'))
			continue;
		const char *close = memmem(f->text + i + 2, f->len - i - 2, line ? "\n" : "*/", line ? 1 : 2);
		*begin = i;
		*end = close ? (u32)(close - f->text) + (line ? 0 : 2) : f->len;
		return true;
	}
	return false;
}

// As many empty lines as stand before off.
static void empty_lines(struct Formatter *f, u32 off)
{
	u32 n = 0;
	while (off > 0 && strchr(" \t\r\n", f->text[off - 1]))
		n += f->text[--off] == '\n';
	for (; n > 1 && f->out->n; n--)
		str_addc(f->out, '\n');
}

static const char *trim(const char *s, const char **end)
{
	while (s < *end && strchr(" \t\r", *s))
		s++;
	while (*end > s && strchr(" \t\r", (*end)[-1]))
		--*end;
	return s;
}

static void comment_lines(struct Formatter *f, u32 begin, u32 end)
{
	bool line = f->text[begin + 1] == '/';
	const char *p = f->text + begin + 2, *stop = f->text + end - (line || end - begin < 4 ? 0 : 2);
	for (bool more = true; more;) {
		const char *nl = memchr(p, '\n', (size_t)(stop - p)), *to = nl ? nl : stop, *s = trim(p, &to);
		more = nl != NULL;
		if (!line && s < to && *s == '*') // " * text"
			p = ++s;
		bool indented = s < to && (line ? s > p : strchr(" \t", *s) != NULL); // so it stays
		if (s < to || line) {
			format_spaces(f, f->indent);
			str_addf(f->out, "//%s%.*s\n", indented || s == to ? "" : " ", (int)(to - (indented && line ? p : s)), indented && line ? p : s);
		}
		p = more ? nl + 1 : stop;
	}
}

// Comments up to off, each on lines of its own.
static void comments(struct Formatter *f, u32 off)
{
	u32 begin, end;
	while (next_comment(f, f->pos, off, &begin, &end)) {
		empty_lines(f, begin);
		comment_lines(f, begin, end);
		f->pos = end;
	}
	f->pos = MAX(f->pos, off);
}

// Comments between the last statement of a block and its end: behind the statement.
static void last_comments(struct Formatter *f, u32 off)
{
	u32 begin, end, b2, e2;
	while (next_comment(f, f->pos, off, &begin, &end)) {
		bool last = !next_comment(f, end, off, &b2, &e2), line = f->text[begin + 1] == '/';
		const char *p = f->text + begin + 2, *to = f->text + end - (line || end - begin < 4 ? 0 : 2);
		p = trim(p, &to);
		if (memchr(p, '\n', (size_t)(to - p))) {
			str_addc(f->out, '\n');
			comment_lines(f, begin, end);
			drop_newlines(f);
		} else
			str_addf(f->out, last ? " // %.*s" : " /* %.*s */", (int)(to - p), p);
		f->pos = end;
	}
}

// ---- statements

static void condition(struct Formatter *f, const struct Expr *e, bool always)
{
	if (always)
		str_addc(f->out, '(');
	format_operand(f, e, format_is_compound(f, e));
	if (always)
		str_addc(f->out, ')');
}

static bool semicolon_follows(const struct Formatter *f, u32 off)
{
	u32 begin, end;
	for (; off < f->len; off++) {
		if (strchr(" \t\r\n)", f->text[off]))
			continue;
		if (!next_comment(f, off, MIN(off + 2, f->len), &begin, &end) || begin != off)
			break;
		off = end - 1;
	}
	return off < f->len && f->text[off] == ';';
}

static void range_end(struct Formatter *f, const struct Expr *e)
{
	format_operand(f, e, e->kind != E_INT || format_is_compound(f, e));
}

// A value without ';', as the only thing in a block.
static bool one_line(const struct Formatter *f, const struct Stmt *s)
{
	return !s->next && s->kind == S_EXPR && s->e->kind != E_CALL && !semicolon_follows(f, format_span_end(s->span));
}

static void inline_stmt(struct Formatter *f, const struct Stmt *s)
{
	str_add(f->out, "{ ");
	format_expr(f, s->e);
	str_add(f->out, " }");
}

// end: where the statement's blocks end at the latest, in the text.
static void if_stmt(struct Formatter *f, const struct Stmt *s, u32 end)
{
	str_addf(f->out, "if %s", s->comptime ? "comptime " : "");
	condition(f, s->e, false);
	str_addc(f->out, ' ');
	u32 then_end = end;
	if (s->els) {
		then_end = s->els->span.off;
		while (then_end > s->e->span.off && strncmp(f->text + then_end, "else", 4)) // back to the word, and to the brace before it
			then_end--;
		while (then_end > s->e->span.off && f->text[then_end - 1] != '}')
			then_end--;
	}
	if (s->body && one_line(f, s->body) && s->els && one_line(f, s->els)) {
		inline_stmt(f, s->body);
		str_add(f->out, " else ");
		inline_stmt(f, s->els);
		return;
	}
	format_block(f, s->body, NULL, then_end, true);
	if (!s->els)
		return;
	str_add(f->out, " else ");
	if (s->els->kind == S_IF && !s->els->next && strncmp(f->text + s->els->span.off, "if", 2) == 0)
		if_stmt(f, s->els, end);
	else
		format_block(f, s->els, NULL, end, true);
}

static void loop(struct Formatter *f, const struct Stmt *s, const char *word)
{
	str_addf(f->out, "%s ", word);
	if (s->kind == S_FOR_MAP || s->kind == S_FOR_RANGE) {
		str_addf(f->out, "$%s : ", s->lhs->str);
		if (s->kind == S_FOR_MAP)
			format_expr(f, s->e);
		else {
			range_end(f, s->e);
			str_add(f->out, "..");
			range_end(f, s->e2);
		}
	} else
		condition(f, s->e, s->kind == S_UNROLL);
	str_addc(f->out, ' ');
	format_block(f, s->body, NULL, format_span_end(s->span), false);
}

static void let(struct Formatter *f, const struct Stmt *s)
{
	str_addf(f->out, "let $%s", s->lhs->str);
	if (s->spec) {
		str_add(f->out, " : ");
		format_type(f, s->spec);
	}
	if (s->e) {
		str_add(f->out, " = ");
		format_expr(f, s->e);
	}
}

static bool has_braces(const struct Stmt *s)
{
	return s->kind == S_IF || s->kind == S_WHILE || s->kind == S_UNROLL || s->kind == S_FOR_MAP || s->kind == S_FOR_RANGE || s->kind == S_BLOCK;
}

static void stmt(struct Formatter *f, const struct Stmt *s)
{
	u32 begin, end;
	switch (s->kind) {
	case S_EXPR:
		format_expr(f, s->e);
		return;
	case S_ASSIGN:
		if (s->lhs)
			format_expr(f, s->lhs);
		else
			str_addc(f->out, '_');
		str_addf(f->out, " %s= ", s->op == OP_NONE ? "" : op_text(s->op));
		format_expr(f, s->e);
		return;
	case S_LET:
		let(f, s);
		return;
	case S_IF:
		if_stmt(f, s, format_span_end(s->span));
		return;
	case S_WHILE:
		loop(f, s, "while");
		return;
	case S_UNROLL:
		loop(f, s, "unroll");
		return;
	case S_FOR_MAP:
	case S_FOR_RANGE:
		loop(f, s, "for");
		return;
	case S_RETURN:
		str_add(f->out, s->e ? "return " : "return");
		if (s->e)
			format_expr(f, s->e);
		return;
	case S_BREAK:
		str_add(f->out, "break");
		return;
	case S_CONTINUE:
		str_add(f->out, "continue");
		return;
	case S_BLOCK:
		if (s->body && !s->body->next && !has_braces(s->body) && !next_comment(f, s->span.off, format_span_end(s->span), &begin, &end)) {
			str_add(f->out, "{ ");
			stmt(f, s->body);
			str_add(f->out, semicolon_follows(f, format_span_end(s->body->span)) ? "; }" : " }");
		} else
			format_block(f, s->body, NULL, format_span_end(s->span), true);
		return;
	}
}

// "{ ... }" whose text ends at end. keep_value: a last expression without ';' stays so.
void format_block(struct Formatter *f, const struct Stmt *body, const struct Expr *value, u32 end, bool keep_value)
{
	u32 begin, stop;
	if (f->flat) { // it breaks lines in any case: counts as its text
		str_add(f->out, "{}");
		return;
	}
	bool any = body || value;
	if (!any && !next_comment(f, f->pos, end, &begin, &stop)) {
		str_add(f->out, "{}");
		return;
	}
	str_add(f->out, "{\n");
	f->indent += 2;
	for (const struct Stmt *s = body; s; s = s->next) {
		comments(f, s->span.off);
		empty_lines(f, s->span.off);
		format_spaces(f, f->indent);
		stmt(f, s);
		bool last = !s->next && !value;
		if (!has_braces(s) && !(keep_value && last && s->kind == S_EXPR && !semicolon_follows(f, format_span_end(s->span))))
			str_addc(f->out, ';');
		if (last)
			last_comments(f, end);
		str_addc(f->out, '\n');
	}
	if (value) {
		comments(f, value->span.off);
		empty_lines(f, value->span.off);
		format_spaces(f, f->indent);
		format_expr(f, value);
		last_comments(f, end);
		str_addc(f->out, '\n');
	}
	if (!any)
		comments(f, end);
	f->indent -= 2;
	format_spaces(f, f->indent);
	str_addc(f->out, '}');
	f->pos = MAX(f->pos, end);
}

// ---- the top level

struct Item {
	u32 off, end;
	const void *p;
	void (*put)(struct Formatter *f, const void *p);
};
typedef VEC(struct Item) Items;

static void put_c_text(struct Formatter *f, const void *p)
{
	const struct CText *c = p;
	u32 end = format_span_end(c->span);
	format_source(f, c->span.off, end);
	drop_newlines(f);
	if (f->out->n && f->out->p[f->out->n - 1] == '}') // of a struct
		str_addc(f->out, ';');
	f->pos = end;
}

static void put_config(struct Formatter *f, const void *p)
{
	str_add(f->out, "config = {\n");
	f->indent += 2;
	for (const struct ConfigItem *i = p; i; i = i->next) {
		comments(f, i->span.off);
		format_spaces(f, f->indent);
		str_addf(f->out, "%s = ", i->key);
		format_expr(f, i->val);
		str_add(f->out, ";\n");
		f->pos = MAX(f->pos, format_span_end(i->span));
	}
	f->indent -= 2;
	str_addc(f->out, '}');
}

static void put_import(struct Formatter *f, const void *p)
{
	const struct Import *i = p;
	str_addf(f->out, "import \"%s\";", i->path);
}

static void put_map(struct Formatter *f, const void *p)
{
	const struct MapDecl *m = p;
	str_addf(f->out, "let %s = %s(", m->name, m->type);
	format_expr(f, m->max);
	str_add(f->out, ");");
}

static void put_macro(struct Formatter *f, const void *p)
{
	const struct Macro *m = p;
	str_addf(f->out, "macro %s(", m->name);
	for (u32 i = 0; i < m->nparams; i++)
		str_addf(f->out, "%s%s%s", i ? ", " : "", m->params[i].kind == MP_VAR ? "$" : "", m->params[i].name);
	str_add(f->out, ")\n");
	format_block(f, m->body->body, m->body->a, format_span_end(m->body->span), true);
}

static void put_probe(struct Formatter *f, const void *p)
{
	const struct ProbeAst *pr = p;
	for (const struct AttachSpec *a = pr->points; a; a = a->next) {
		format_source(f, a->span.off, format_span_end(a->span));
		str_add(f->out, a->next ? ",\n" : "\n");
		f->pos = MAX(f->pos, format_span_end(a->span));
	}
	if (pr->pred) {
		str_addc(f->out, '/');
		format_expr(f, pr->pred);
		str_add(f->out, "/\n");
		f->pos = MAX(f->pos, format_span_end(pr->pred->span));
	}
	format_block(f, pr->body, NULL, format_span_end(pr->body_span), false);
}

static int by_place(const void *a, const void *b)
{
	const struct Item *x = a, *y = b;
	return x->off < y->off ? -1 : x->off > y->off;
}

// Where a construct begins whose span may leave its first word out.
static u32 word_before(const struct Formatter *f, u32 off, const char *word)
{
	size_t n = strlen(word);
	for (u32 i = off; i + 1 > n; i--)
		if (!strncmp(f->text + i - n + 1, word, n))
			return i - (u32)n + 1;
	return off;
}

static void collect(struct Formatter *f, const struct Script *s, Items *v)
{
	for (const struct CText *c = s->ctext; c; c = c->next)
		vec_push(v, ((struct Item){c->span.off, format_span_end(c->span), c, put_c_text}));
	if (s->config) {
		const struct ConfigItem *last = s->config;
		while (last->next)
			last = last->next;
		const char *close = memchr(f->text + format_span_end(last->span), '}', f->len - format_span_end(last->span));
		u32 end = close ? (u32)(close - f->text) + 1 : format_span_end(last->span);
		vec_push(v, ((struct Item){word_before(f, s->config->span.off, "config"), end, s->config, put_config}));
	}
	for (const struct Import *i = s->imports; i; i = i->next)
		vec_push(v, ((struct Item){i->span.off, format_span_end(i->span), i, put_import}));
	for (const struct MapDecl *m = s->maps; m; m = m->next)
		vec_push(v, ((struct Item){m->span.off, format_span_end(m->span), m, put_map}));
	for (const struct Macro *m = s->macros; m; m = m->next)
		vec_push(v, ((struct Item){word_before(f, m->span.off, "macro"), format_span_end(m->body->span), m, put_macro}));
	for (const struct ProbeAst *p = s->probes; p; p = p->next)
		vec_push(v, ((struct Item){p->span.off, format_span_end(p->body_span), p, put_probe}));
	if (v->n)
		qsort(v->p, v->n, sizeof(v->p[0]), by_place);
}

void format_script(const struct Script *s, struct Str *out)
{
	const struct Source *src = &s->diags->sources.p[s->source];
	struct Formatter f = {.text = src->text, .len = (u32)src->len, .out = out};
	Items v = {0};
	if (f.len > 1 && !memcmp(f.text, "#!", 2)) {
		f.pos = (u32)strcspn(f.text, "\n");
		format_source(&f, 0, f.pos);
		str_addc(out, '\n');
	}
	collect(&f, s, &v);
	for (size_t i = 0; i < v.n; i++) {
		comments(&f, v.p[i].off);
		empty_lines(&f, v.p[i].off);
		v.p[i].put(&f, v.p[i].p);
		f.pos = MAX(f.pos, v.p[i].end);
		str_addc(out, '\n');
	}
	comments(&f, f.len);
	vec_deinit(&v);
}
