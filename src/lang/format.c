// The script in its standard form (--fmt), as bpftrace 0.27 lays it out.
// In: the tree as parsed, before expansion, and its text. Out: text. Invariants: the text that comes out parses to the same tree and formats to
// itself; literals are spelled as they were; no comment is lost (one inside an expression comes after its statement).
#include "lang/format.h"
#include "lang/parse.h"

#define WIDTH 90

struct Formatter {
	const char *text;
	u32 len, pos; // comments before pos are written
	u32 indent;
	bool flat;    // measuring: nothing is broken into lines
	struct Str *out;
};

static void expr(struct Formatter *f, const struct Expr *e);
static void block(struct Formatter *f, const struct Stmt *body, const struct Expr *value, u32 end, bool keep_value);

static u32 span_end(struct Span s)
{
	return s.off + s.len;
}

static u32 column(const struct Formatter *f)
{
	const char *s = str_text(f->out), *nl = strrchr(s, '\n');
	return (u32)(f->out->n - (nl ? (size_t)(nl + 1 - s) : 0));
}

static void spaces(struct Formatter *f, u32 n)
{
	while (n--)
		str_addc(f->out, ' ');
}

static void source(struct Formatter *f, u32 from, u32 to)
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
			spaces(f, f->indent);
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

// ---- expressions

static u32 width(struct Formatter *f, const struct Expr *e)
{
	struct Str s = {0}, *out = f->out;
	bool flat = f->flat;
	f->out = &s;
	f->flat = true;
	expr(f, e);
	u32 n = (u32)s.n;
	str_deinit(&s);
	f->out = out;
	f->flat = flat;
	return n;
}

// Expressions with commas between them. Lines are filled from the last one up, as bpftrace does.
static void list(struct Formatter *f, struct Expr *const *v, u32 n)
{
	u32 start = column(f), line = 0;
	bool *breaks = xcalloc(n + 1, sizeof(*breaks)); // before the i-th
	for (u32 i = f->flat ? 0 : n; i--;) {
		u32 w = width(f, v[i]);
		if (i + 1 < n && start + w + 2 + line + 1 > WIDTH) {
			breaks[i + 1] = true;
			line = w;
		} else
			line += w + (i + 1 < n ? 2 : 0);
		if (!i && start + w + 1 > WIDTH) {
			breaks[0] = true;
			start = f->indent + 2;
		}
	}
	for (u32 i = 0; i < n; i++) {
		if (breaks[i]) {
			str_add(f->out, i ? ",\n" : "\n");
			spaces(f, start);
		} else if (i)
			str_add(f->out, ", ");
		expr(f, v[i]);
	}
	free(breaks);
}

// a ?: b, which the parser makes a block of: { let $$cond = a; $$cond ? $$cond : b }
static bool is_elvis(const struct Expr *e)
{
	return e->kind == E_BLOCK && e->body && e->body->kind == S_LET && e->body->lhs->str[0] == '$' && e->a && e->a->kind == E_TERNARY;
}

static bool is_cmp(const struct Expr *e)
{
	return e->kind == E_BINOP && e->op >= OP_EQ && e->op <= OP_GE;
}

// What goes in parentheses as an operand.
static bool is_compound(const struct Formatter *f, const struct Expr *e)
{
	switch (e->kind) {
	case E_UNOP: case E_BINOP: case E_TERNARY: case E_CAST: case E_COMPTIME: case E_IF:
		return true;
	case E_INT:
		return f->text[e->span.off] == '-';
	case E_BLOCK:
		return is_elvis(e);
	default:
		return false;
	}
}

static void operand(struct Formatter *f, const struct Expr *e, bool parens)
{
	if (parens)
		str_addc(f->out, '(');
	expr(f, e);
	if (parens)
		str_addc(f->out, ')');
}

static void type_spec(struct Formatter *f, const struct TypeSpec *t)
{
	if (t->typeof_expr) {
		str_add(f->out, "typeof(");
		if (t->typeof_expr->kind == E_TYPE)
			type_spec(f, t->typeof_expr->spec);
		else
			expr(f, t->typeof_expr);
		str_addc(f->out, ')');
	} else if (t->tuple) {
		str_addc(f->out, '(');
		for (u32 i = 0; i < t->ntuple; i++) {
			str_add(f->out, i ? ", " : "");
			type_spec(f, t->tuple[i]);
		}
		str_addc(f->out, ')');
	} else
		str_add(f->out, t->name);
	if (t->str_size)
		str_addf(f->out, "[%llu]", (unsigned long long)t->str_size);
	for (u32 i = 0; i < t->ptrs; i++)
		str_addc(f->out, '*');
	if (t->is_array && t->array_sized)
		str_addf(f->out, "[%llu]", (unsigned long long)t->array_n);
	else if (t->is_array)
		str_add(f->out, "[]");
}

static void text(struct Formatter *f, const struct Expr *e)
{
	static const char from[] = "\n\t\r\"\\", to[] = "ntr\"\\";
	str_addc(f->out, '"');
	for (u32 i = 0; i < e->len; i++) {
		u8 c = (u8)e->str[i];
		const char *esc = c ? strchr(from, c) : NULL;
		if (esc)
			str_addf(f->out, "\\%c", to[esc - from]);
		else if (c < 0x20 || c >= 0x7f)
			str_addf(f->out, "\\x%02x", c);
		else
			str_addc(f->out, (char)c);
	}
	str_addc(f->out, '"');
}

typedef VEC(const struct Expr *) Operands;

// a && b && c: its operands; of other operators the two sides.
static void operands(const struct Expr *e, enum Op op, Operands *v)
{
	if (e->kind == E_BINOP && e->op == op && (op == OP_LAND || op == OP_LOR)) {
		operands(e->a, op, v);
		operands(e->b, op, v);
	} else
		vec_push(v, e);
}

static bool is_bare(const struct Formatter *f, const struct Expr *e, enum Op op)
{
	return !is_compound(f, e) || ((op == OP_LAND || op == OP_LOR) && is_cmp(e));
}

// Broken after an operator, lines filled from the last one up.
static void binop(struct Formatter *f, const struct Expr *e)
{
	Operands v = {0};
	u32 start = column(f), line = 0, gap = (u32)strlen(op_text(e->op)) + 2;
	if (e->op == OP_LAND || e->op == OP_LOR)
		operands(e, e->op, &v);
	else {
		vec_push(&v, e->a);
		vec_push(&v, e->b);
	}
	bool *breaks = xcalloc(v.n + 1, sizeof(*breaks)); // before the i-th
	for (size_t i = f->flat ? 0 : v.n; i--;) {
		u32 w = width(f, v.p[i]) + (is_bare(f, v.p[i], e->op) ? 0 : 2);
		breaks[i + 1] = i + 1 < v.n && start + w + gap + line + 1 > WIDTH;
		line = breaks[i + 1] ? w : line + w + (i + 1 < v.n ? gap : 0);
	}
	for (size_t i = 0; i < v.n; i++) {
		if (i) {
			str_addf(f->out, " %s%s", op_text(e->op), breaks[i] ? "\n" : " ");
			spaces(f, breaks[i] ? start : 0);
		}
		operand(f, v.p[i], !is_bare(f, v.p[i], e->op));
	}
	free(breaks);
	vec_deinit(&v);
}

static void unop(struct Formatter *f, const struct Expr *e)
{
	static const char *const signs[] = {[OP_NEG] = "-", [OP_NOT] = "!", [OP_BNOT] = "~", [OP_DEREF] = "*", [OP_ADDR] = "&",
					    [OP_PREINC] = "++", [OP_PREDEC] = "--", [OP_POSTINC] = "++", [OP_POSTDEC] = "--"};
	bool post = e->op == OP_POSTINC || e->op == OP_POSTDEC;
	if (!post)
		str_add(f->out, signs[e->op]);
	operand(f, e->a, is_compound(f, e->a));
	if (post)
		str_add(f->out, signs[e->op]);
}

static void ternary(struct Formatter *f, const struct Expr *e)
{
	bool fits = f->flat || column(f) + width(f, e) + 1 <= WIDTH;
	const struct Expr *part[3] = {e->a, e->b, e->c};
	for (u32 i = 0; i < 3; i++) {
		if (i && !fits) {
			str_addc(f->out, '\n');
			spaces(f, f->indent);
		}
		if (i)
			str_addf(f->out, "%s%c ", fits ? " " : "", i == 1 ? '?' : ':');
		operand(f, part[i], is_compound(f, part[i]));
	}
}

static bool is_inline(const struct Expr *block)
{
	return block->kind == E_BLOCK && block->a && !block->body;
}

// chain: it stands after an else
static void if_expr(struct Formatter *f, const struct Expr *e, bool chain)
{
	str_add(f->out, "if ");
	operand(f, e->a, is_compound(f, e->a) && e->a->kind != E_COMPTIME);
	str_addc(f->out, ' ');
	bool one_line = !chain && is_inline(e->b) && e->c && is_inline(e->c);
	const struct Expr *side[2] = {e->b, e->c};
	for (u32 i = 0; i < 2 && side[i]; i++) {
		if (i)
			str_add(f->out, " else ");
		if (side[i]->kind == E_IF)
			if_expr(f, side[i], true);
		else if (one_line)
			expr(f, side[i]);
		else
			block(f, side[i]->body, side[i]->a, span_end(side[i]->span), true);
	}
}

static void call(struct Formatter *f, const struct Expr *e)
{
	str_addf(f->out, "%s(", e->str);
	list(f, e->args, e->nargs);
	str_addc(f->out, ')');
}

static void tuple(struct Formatter *f, const struct Expr *e)
{
	str_addc(f->out, '(');
	if (e->npath) {
		for (u32 i = 0; i < e->nargs; i++) {
			str_addf(f->out, "%s%s=", i ? ", " : "", e->path[i]);
			expr(f, e->args[i]);
		}
	} else
		list(f, e->args, e->nargs);
	str_add(f->out, e->nargs == 1 && !e->npath ? ",)" : ")");
}

static void of_type(struct Formatter *f, const char *name, const struct Expr *e)
{
	str_addf(f->out, "%s(", name);
	if (e->spec)
		type_spec(f, e->spec);
	else
		expr(f, e->a);
	for (u32 i = 0; i < e->npath; i++)
		str_addf(f->out, "%s%s", !i ? ", " : e->path[i][0] == '[' ? "" : ".", e->path[i]);
	str_addc(f->out, ')');
}

static void expr(struct Formatter *f, const struct Expr *e)
{
	switch (e->kind) {
	case E_INT: case E_POSPARAM: case E_POSCOUNT:
		source(f, e->span.off, span_end(e->span));
		break;
	case E_BOOL:
		str_add(f->out, e->ival ? "true" : "false");
		break;
	case E_STR:
		text(f, e);
		break;
	case E_IDENT:
	case E_MAP:
		str_add(f->out, e->str);
		break;
	case E_VAR:
		str_addf(f->out, "$%s", e->str);
		break;
	case E_MAPREF:
		str_addf(f->out, "%s[", e->str);
		if (e->a->kind == E_TUPLE && e->a->nargs > 1 && !e->a->npath)
			list(f, e->a->args, e->a->nargs);
		else
			expr(f, e->a);
		str_addc(f->out, ']');
		break;
	case E_FIELD:
		operand(f, e->a, is_compound(f, e->a));
		str_addf(f->out, ".%s", e->str);
		break;
	case E_TUPFIELD:
		operand(f, e->a, is_compound(f, e->a));
		str_addf(f->out, ".%u", e->tup);
		break;
	case E_INDEX:
		operand(f, e->a, is_compound(f, e->a));
		str_addc(f->out, '[');
		operand(f, e->b, is_compound(f, e->b));
		str_addc(f->out, ']');
		break;
	case E_UNOP:
		unop(f, e);
		break;
	case E_BINOP:
		binop(f, e);
		break;
	case E_TERNARY:
		ternary(f, e);
		break;
	case E_CAST:
		str_addc(f->out, '(');
		type_spec(f, e->spec);
		str_addc(f->out, ')');
		operand(f, e->a, is_compound(f, e->a));
		break;
	case E_TUPLE:
		tuple(f, e);
		break;
	case E_CALL:
		call(f, e);
		break;
	case E_BLOCK:
		if (is_elvis(e)) {
			operand(f, e->body->e, is_compound(f, e->body->e));
			str_add(f->out, " ?: ");
			operand(f, e->a->c, is_compound(f, e->a->c));
		} else if (is_inline(e)) {
			str_add(f->out, "{ ");
			expr(f, e->a);
			str_add(f->out, " }");
		} else
			block(f, e->body, e->a, span_end(e->span), true);
		break;
	case E_SIZEOF:
		of_type(f, "sizeof", e);
		break;
	case E_OFFSETOF:
		of_type(f, "offsetof", e);
		break;
	case E_TYPEINFO:
		of_type(f, "typeinfo", e);
		break;
	case E_COMPTIME:
		str_add(f->out, "comptime ");
		operand(f, e->a, is_compound(f, e->a));
		break;
	case E_TYPE:
		type_spec(f, e->spec);
		break;
	case E_IF:
		if_expr(f, e, false);
		break;
	}
}

// ---- statements

static void condition(struct Formatter *f, const struct Expr *e, bool always)
{
	if (always)
		str_addc(f->out, '(');
	operand(f, e, is_compound(f, e));
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
	operand(f, e, e->kind != E_INT || is_compound(f, e));
}

// A value without ';', as the only thing in a block.
static bool one_line(const struct Formatter *f, const struct Stmt *s)
{
	return !s->next && s->kind == S_EXPR && s->e->kind != E_CALL && !semicolon_follows(f, span_end(s->span));
}

static void inline_stmt(struct Formatter *f, const struct Stmt *s)
{
	str_add(f->out, "{ ");
	expr(f, s->e);
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
	block(f, s->body, NULL, then_end, true);
	if (!s->els)
		return;
	str_add(f->out, " else ");
	if (s->els->kind == S_IF && !s->els->next && strncmp(f->text + s->els->span.off, "if", 2) == 0)
		if_stmt(f, s->els, end);
	else
		block(f, s->els, NULL, end, true);
}

static void loop(struct Formatter *f, const struct Stmt *s, const char *word)
{
	str_addf(f->out, "%s ", word);
	if (s->kind == S_FOR_MAP || s->kind == S_FOR_RANGE) {
		str_addf(f->out, "$%s : ", s->lhs->str);
		if (s->kind == S_FOR_MAP)
			expr(f, s->e);
		else {
			range_end(f, s->e);
			str_add(f->out, "..");
			range_end(f, s->e2);
		}
	} else
		condition(f, s->e, s->kind == S_UNROLL);
	str_addc(f->out, ' ');
	block(f, s->body, NULL, span_end(s->span), false);
}

static void let(struct Formatter *f, const struct Stmt *s)
{
	str_addf(f->out, "let $%s", s->lhs->str);
	if (s->spec) {
		str_add(f->out, " : ");
		type_spec(f, s->spec);
	}
	if (s->e) {
		str_add(f->out, " = ");
		expr(f, s->e);
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
		expr(f, s->e);
		return;
	case S_ASSIGN:
		if (s->lhs)
			expr(f, s->lhs);
		else
			str_addc(f->out, '_');
		str_addf(f->out, " %s= ", s->op == OP_NONE ? "" : op_text(s->op));
		expr(f, s->e);
		return;
	case S_LET:
		let(f, s);
		return;
	case S_IF:
		if_stmt(f, s, span_end(s->span));
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
			expr(f, s->e);
		return;
	case S_BREAK:
		str_add(f->out, "break");
		return;
	case S_CONTINUE:
		str_add(f->out, "continue");
		return;
	case S_BLOCK:
		if (s->body && !s->body->next && !has_braces(s->body) && !next_comment(f, s->span.off, span_end(s->span), &begin, &end)) {
			str_add(f->out, "{ ");
			stmt(f, s->body);
			str_add(f->out, semicolon_follows(f, span_end(s->body->span)) ? "; }" : " }");
		} else
			block(f, s->body, NULL, span_end(s->span), true);
		return;
	}
}

// "{ ... }" whose text ends at end. keep_value: a last expression without ';' stays so.
static void block(struct Formatter *f, const struct Stmt *body, const struct Expr *value, u32 end, bool keep_value)
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
		spaces(f, f->indent);
		stmt(f, s);
		bool last = !s->next && !value;
		if (!has_braces(s) && !(keep_value && last && s->kind == S_EXPR && !semicolon_follows(f, span_end(s->span))))
			str_addc(f->out, ';');
		if (last)
			last_comments(f, end);
		str_addc(f->out, '\n');
	}
	if (value) {
		comments(f, value->span.off);
		empty_lines(f, value->span.off);
		spaces(f, f->indent);
		expr(f, value);
		last_comments(f, end);
		str_addc(f->out, '\n');
	}
	if (!any)
		comments(f, end);
	f->indent -= 2;
	spaces(f, f->indent);
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
	u32 end = span_end(c->span);
	source(f, c->span.off, end);
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
		spaces(f, f->indent);
		str_addf(f->out, "%s = ", i->key);
		expr(f, i->val);
		str_add(f->out, ";\n");
		f->pos = MAX(f->pos, span_end(i->span));
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
	expr(f, m->max);
	str_add(f->out, ");");
}

static void put_macro(struct Formatter *f, const void *p)
{
	const struct Macro *m = p;
	str_addf(f->out, "macro %s(", m->name);
	for (u32 i = 0; i < m->nparams; i++)
		str_addf(f->out, "%s%s%s", i ? ", " : "", m->params[i].kind == MP_VAR ? "$" : "", m->params[i].name);
	str_add(f->out, ")\n");
	block(f, m->body->body, m->body->a, span_end(m->body->span), true);
}

static void put_probe(struct Formatter *f, const void *p)
{
	const struct ProbeAst *pr = p;
	for (const struct AttachSpec *a = pr->points; a; a = a->next) {
		source(f, a->span.off, span_end(a->span));
		str_add(f->out, a->next ? ",\n" : "\n");
		f->pos = MAX(f->pos, span_end(a->span));
	}
	if (pr->pred) {
		str_addc(f->out, '/');
		expr(f, pr->pred);
		str_add(f->out, "/\n");
		f->pos = MAX(f->pos, span_end(pr->pred->span));
	}
	block(f, pr->body, NULL, span_end(pr->body_span), false);
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
		vec_push(v, ((struct Item){c->span.off, span_end(c->span), c, put_c_text}));
	if (s->config) {
		const struct ConfigItem *last = s->config;
		while (last->next)
			last = last->next;
		const char *close = memchr(f->text + span_end(last->span), '}', f->len - span_end(last->span));
		u32 end = close ? (u32)(close - f->text) + 1 : span_end(last->span);
		vec_push(v, ((struct Item){word_before(f, s->config->span.off, "config"), end, s->config, put_config}));
	}
	for (const struct Import *i = s->imports; i; i = i->next)
		vec_push(v, ((struct Item){i->span.off, span_end(i->span), i, put_import}));
	for (const struct MapDecl *m = s->maps; m; m = m->next)
		vec_push(v, ((struct Item){m->span.off, span_end(m->span), m, put_map}));
	for (const struct Macro *m = s->macros; m; m = m->next)
		vec_push(v, ((struct Item){word_before(f, m->span.off, "macro"), span_end(m->body->span), m, put_macro}));
	for (const struct ProbeAst *p = s->probes; p; p = p->next)
		vec_push(v, ((struct Item){p->span.off, span_end(p->body_span), p, put_probe}));
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
		source(&f, 0, f.pos);
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
