// Expressions and types in standard form: see format.c. In: a tree as parsed, and its text. Out: text, broken into lines where it is wider than FORMAT_WIDTH.
#include "lang/internal.h"

static u32 width(struct Formatter *f, const struct Expr *e)
{
	struct Str s = {0}, *out = f->out;
	bool flat = f->flat;
	f->out = &s;
	f->flat = true;
	format_expr(f, e);
	u32 n = (u32)s.n;
	str_deinit(&s);
	f->out = out;
	f->flat = flat;
	return n;
}

// Expressions with commas between them. Lines are filled from the last one up, as bpftrace does.
static void list(struct Formatter *f, struct Expr *const *v, u32 n)
{
	u32 start = format_column(f), line = 0;
	bool *breaks = xcalloc(n + 1, sizeof(*breaks)); // before the i-th
	for (u32 i = f->flat ? 0 : n; i--;) {
		u32 w = width(f, v[i]);
		if (i + 1 < n && start + w + 2 + line + 1 > FORMAT_WIDTH) {
			breaks[i + 1] = true;
			line = w;
		} else
			line += w + (i + 1 < n ? 2 : 0);
		if (!i && start + w + 1 > FORMAT_WIDTH) {
			breaks[0] = true;
			start = f->indent + 2;
		}
	}
	for (u32 i = 0; i < n; i++) {
		if (breaks[i]) {
			str_add(f->out, i ? ",\n" : "\n");
			format_spaces(f, start);
		} else if (i)
			str_add(f->out, ", ");
		format_expr(f, v[i]);
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
bool format_is_compound(const struct Formatter *f, const struct Expr *e)
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

void format_operand(struct Formatter *f, const struct Expr *e, bool parens)
{
	if (parens)
		str_addc(f->out, '(');
	format_expr(f, e);
	if (parens)
		str_addc(f->out, ')');
}

void format_type(struct Formatter *f, const struct TypeSpec *t)
{
	if (t->typeof_expr) {
		str_add(f->out, "typeof(");
		if (t->typeof_expr->kind == E_TYPE)
			format_type(f, t->typeof_expr->spec);
		else
			format_expr(f, t->typeof_expr);
		str_addc(f->out, ')');
	} else if (t->tuple) {
		str_addc(f->out, '(');
		for (u32 i = 0; i < t->ntuple; i++) {
			str_add(f->out, i ? ", " : "");
			format_type(f, t->tuple[i]);
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
	return !format_is_compound(f, e) || ((op == OP_LAND || op == OP_LOR) && is_cmp(e));
}

// Broken after an operator, lines filled from the last one up.
static void binop(struct Formatter *f, const struct Expr *e)
{
	Operands v = {0};
	u32 start = format_column(f), line = 0, gap = (u32)strlen(op_text(e->op)) + 2;
	if (e->op == OP_LAND || e->op == OP_LOR)
		operands(e, e->op, &v);
	else {
		vec_push(&v, e->a);
		vec_push(&v, e->b);
	}
	bool *breaks = xcalloc(v.n + 1, sizeof(*breaks)); // before the i-th
	for (size_t i = f->flat ? 0 : v.n; i--;) {
		u32 w = width(f, v.p[i]) + (is_bare(f, v.p[i], e->op) ? 0 : 2);
		breaks[i + 1] = i + 1 < v.n && start + w + gap + line + 1 > FORMAT_WIDTH;
		line = breaks[i + 1] ? w : line + w + (i + 1 < v.n ? gap : 0);
	}
	for (size_t i = 0; i < v.n; i++) {
		if (i) {
			str_addf(f->out, " %s%s", op_text(e->op), breaks[i] ? "\n" : " ");
			format_spaces(f, breaks[i] ? start : 0);
		}
		format_operand(f, v.p[i], !is_bare(f, v.p[i], e->op));
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
	format_operand(f, e->a, format_is_compound(f, e->a));
	if (post)
		str_add(f->out, signs[e->op]);
}

static void ternary(struct Formatter *f, const struct Expr *e)
{
	bool fits = f->flat || format_column(f) + width(f, e) + 1 <= FORMAT_WIDTH;
	const struct Expr *part[3] = {e->a, e->b, e->c};
	for (u32 i = 0; i < 3; i++) {
		if (i && !fits) {
			str_addc(f->out, '\n');
			format_spaces(f, f->indent);
		}
		if (i)
			str_addf(f->out, "%s%c ", fits ? " " : "", i == 1 ? '?' : ':');
		format_operand(f, part[i], format_is_compound(f, part[i]));
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
	format_operand(f, e->a, format_is_compound(f, e->a) && e->a->kind != E_COMPTIME);
	str_addc(f->out, ' ');
	bool one_line = !chain && is_inline(e->b) && (e->c ? is_inline(e->c) : e->a->kind == E_COMPTIME); // without else: an element that may be none
	const struct Expr *side[2] = {e->b, e->c};
	for (u32 i = 0; i < 2 && side[i]; i++) {
		if (i)
			str_add(f->out, " else ");
		if (side[i]->kind == E_IF)
			if_expr(f, side[i], true);
		else if (one_line)
			format_expr(f, side[i]);
		else
			format_block(f, side[i]->body, side[i]->a, format_span_end(side[i]->span), true);
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
			format_expr(f, e->args[i]);
		}
	} else
		list(f, e->args, e->nargs);
	str_add(f->out, e->nargs == 1 && !e->npath ? ",)" : ")");
}

static void of_type(struct Formatter *f, const char *name, const struct Expr *e)
{
	str_addf(f->out, "%s(", name);
	if (e->spec)
		format_type(f, e->spec);
	else
		format_expr(f, e->a);
	for (u32 i = 0; i < e->npath; i++)
		str_addf(f->out, "%s%s", !i ? ", " : e->path[i][0] == '[' ? "" : ".", e->path[i]);
	str_addc(f->out, ')');
}

void format_expr(struct Formatter *f, const struct Expr *e)
{
	switch (e->kind) {
	case E_INT: case E_POSPARAM: case E_POSCOUNT:
		format_source(f, e->span.off, format_span_end(e->span));
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
			format_expr(f, e->a);
		str_addc(f->out, ']');
		break;
	case E_FIELD:
		format_operand(f, e->a, format_is_compound(f, e->a));
		str_addf(f->out, ".%s", e->str);
		break;
	case E_TUPFIELD:
		format_operand(f, e->a, format_is_compound(f, e->a));
		str_addf(f->out, ".%u", e->tup);
		break;
	case E_INDEX:
		format_operand(f, e->a, format_is_compound(f, e->a));
		str_addc(f->out, '[');
		format_operand(f, e->b, format_is_compound(f, e->b));
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
		format_type(f, e->spec);
		str_addc(f->out, ')');
		format_operand(f, e->a, format_is_compound(f, e->a));
		break;
	case E_TUPLE:
		tuple(f, e);
		break;
	case E_CALL:
		call(f, e);
		break;
	case E_BLOCK:
		if (is_elvis(e)) {
			format_operand(f, e->body->e, format_is_compound(f, e->body->e));
			str_add(f->out, " ?: ");
			format_operand(f, e->a->c, format_is_compound(f, e->a->c));
		} else if (is_inline(e)) {
			str_add(f->out, "{ ");
			format_expr(f, e->a);
			str_add(f->out, " }");
		} else
			format_block(f, e->body, e->a, format_span_end(e->span), true);
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
		format_operand(f, e->a, format_is_compound(f, e->a));
		break;
	case E_TYPE:
		format_type(f, e->spec);
		break;
	case E_IF:
		if_expr(f, e, false);
		break;
	}
}
