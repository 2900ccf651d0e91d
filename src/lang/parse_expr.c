// Parser: expressions. Precedence as in C; "if", blocks, casts, tuples and comptime are operands.
#include "lang/internal.h"

struct Expr *p_node(struct Parser *p, enum ExprKind kind, struct Span from)
{
	struct Expr *e = arena_new(p->a, struct Expr);
	e->kind = kind;
	e->span = p_since(p, from);
	e->height = 1;
	return e;
}

struct Expr *p_named(struct Parser *p, enum ExprKind kind, const struct Token *t)
{
	struct Expr *e = p_node(p, kind, t->span);
	e->str = t->str;
	e->len = t->len;
	return e;
}

void p_done(struct Parser *p, struct Expr *e)
{
	expr_set_height(e);
	if (e->height <= AST_MAX_HEIGHT)
		return;
	p_error(p, e->span, "expression is too deep: more than %d operators inside one another", AST_MAX_HEIGHT);
	*e = (struct Expr){.kind = E_INT, .span = e->span, .height = 1};
}

static struct Expr *unary_node(struct Parser *p, enum ExprKind kind, enum Op op, struct Span from, struct Expr *a)
{
	struct Expr *e = p_node(p, kind, from);
	e->op = op;
	e->a = a;
	p_done(p, e);
	return e;
}

static bool is_lvalue(const struct Expr *e)
{
	return e->kind == E_VAR || e->kind == E_MAP || e->kind == E_MAPREF;
}

static bool check_incdec(struct Parser *p, const struct Expr *e, enum Tok k, struct Span at)
{
	if (p->panic || is_lvalue(e))
		return true;
	p_error(p, at, "The %s operator must be applied to a map or variable", tok_name(k));
	return false;
}

// "struct sock", "uint8 *": a type, for a macro that expects one.
static struct Expr *parse_type_arg(struct Parser *p)
{
	struct Expr *e = p_node(p, E_TYPE, p->tok.span);
	e->spec = p_type(p);
	e->span = e->spec->span;
	p_done(p, e);
	return e;
}

// Expressions up to `close`, which is consumed. The array is the arena's.
static void expr_list(struct Parser *p, enum Tok close, struct Expr *into)
{
	VEC(struct Expr *) v = {0};
	while (!p->panic && p->tok.kind != close) {
		vec_push(&v, into->kind == E_CALL && p_at_type_arg(p) ? parse_type_arg(p) : p_expr(p));
		if (p->panic || p->tok.kind == close)
			break;
		if (p->tok.kind != T_COMMA) {
			p_error(p, p->tok.span, "syntax: expected '%s' or ',', found %s", tok_name(close), token_name(&p->tok));
			break;
		}
		p_next(p);
		if (p->tok.kind == close)
			p_unexpected(p, "expression");
	}
	p_expect(p, close);
	into->nargs = (u32)v.n;
	into->args = arena_new_n(p->a, struct Expr *, v.n);
	if (v.n)
		memcpy(into->args, v.p, v.n * sizeof(*v.p));
	into->span = p_since(p, into->span);
	vec_deinit(&v);
}

static struct Expr *parse_map(struct Parser *p)
{
	struct Token t = p->tok;
	p_next(p);
	struct Expr *map = p_named(p, E_MAP, &t);
	if (p->tok.kind != T_LBRACKET)
		return map;
	map->kind = E_MAPREF;
	struct Expr *keys = p_node(p, E_TUPLE, p->tok.span);
	p_next(p);
	keys->span = p->tok.span;
	if (p->tok.kind == T_RBRACKET)
		p_unexpected(p, "expression");
	expr_list(p, T_RBRACKET, keys);
	if (keys->nargs == 1)
		keys = keys->args[0];
	else if (keys->nargs) {
		keys->span = span_join(keys->args[0]->span, keys->args[keys->nargs - 1]->span);
		p_done(p, keys);
	}
	map->a = keys;
	map->span = p_since(p, t.span);
	p_done(p, map);
	return map;
}

static struct Expr *parse_word(struct Parser *p)
{
	struct Token t = p->tok;
	p_next(p);
	struct Expr *e = p_named(p, E_IDENT, &t);
	if (p->tok.kind != T_LPAREN)
		return e;
	p_next(p);
	e->kind = E_CALL;
	expr_list(p, T_RPAREN, e);
	p_done(p, e);
	return e;
}

// "(type or expression": into spec or a.
static void type_or_expr(struct Parser *p, struct Expr *e)
{
	p_expect(p, T_LPAREN);
	if (p_at_type(p)) {
		e->spec = p_type(p);
		if (p->panic || !e->spec->typeof_expr)
			return;
	} else
		e->a = p_expr(p);
}

static void offsetof_path(struct Parser *p, struct Expr *e)
{
	VEC(const char *) v = {0};
	p_expect(p, T_COMMA);
	while (!p->panic) {
		const char *name = p->tok.str;
		if (!p_expect(p, T_IDENT))
			break;
		vec_push(&v, name);
		while (p_accept(p, T_LBRACKET)) {
			u64 n = p->tok.ival;
			if (p_expect(p, T_INT) && p_expect(p, T_RBRACKET))
				vec_push(&v, arena_printf(p->a, "[%llu]", (unsigned long long)n));
		}
		if (!p_accept(p, T_DOT))
			break;
	}
	e->npath = (u32)v.n;
	e->path = arena_new_n(p->a, const char *, v.n);
	if (v.n)
		memcpy(e->path, v.p, v.n * sizeof(*v.p));
	vec_deinit(&v);
}

static struct Expr *parse_of(struct Parser *p, enum ExprKind kind)
{
	struct Span from = p->tok.span;
	p_next(p);
	struct Expr *e = p_node(p, kind, from);
	type_or_expr(p, e);
	if (kind == E_OFFSETOF)
		offsetof_path(p, e);
	p_expect(p, T_RPAREN);
	e->span = p_since(p, from);
	p_done(p, e);
	return e;
}

static struct Expr *parse_cast(struct Parser *p, struct Span from)
{
	struct TypeSpec *spec = p_type(p);
	p_expect(p, T_RPAREN);
	struct Expr *e = unary_node(p, E_CAST, OP_NONE, from, p_unary(p));
	e->spec = spec;
	p_done(p, e);
	return e;
}

// "NAME =" in front of a record's field.
static void field_name(struct Parser *p, const char **names, u32 n)
{
	if (n == 64) {
		p_error(p, p->tok.span, "a record has at most 64 fields");
		return;
	}
	names[n] = p->tok.kind == T_IDENT ? p->tok.str : "";
	for (u32 i = 0; i < n; i++)
		if (!strcmp(names[i], names[n]))
			p_error(p, p->tok.span, "the record has a field '%s' already", names[n]);
	p_expect(p, T_IDENT);
	p_expect(p, T_ASSIGN);
}

// After '(': cast, tuple, record or an expression in parentheses.
static struct Expr *parse_paren_inner(struct Parser *p, struct Span from)
{
	if (p_at_cast(p))
		return parse_cast(p, from);
	struct Expr *tuple = p_node(p, E_TUPLE, from), *e = NULL;
	VEC(struct Expr *) v = {0};
	bool record = p->tok.kind == T_IDENT && p_peek(p).kind == T_ASSIGN, comma = p->tok.kind == T_RPAREN || record;
	const char *names[64];
	while (!p->panic && p->tok.kind != T_RPAREN) {
		if (record)
			field_name(p, names, (u32)v.n);
		vec_push(&v, e = p_expr(p));
		if (!p_accept(p, T_COMMA))
			break;
		comma = true;
	}
	p_expect(p, T_RPAREN);
	tuple->nargs = (u32)v.n;
	tuple->args = arena_new_n(p->a, struct Expr *, v.n);
	if (v.n)
		memcpy(tuple->args, v.p, v.n * sizeof(*v.p));
	if (record && !p->panic) {
		tuple->path = arena_new_n(p->a, const char *, v.n);
		memcpy(tuple->path, names, v.n * sizeof(*names));
		tuple->npath = (u32)v.n;
	}
	vec_deinit(&v);
	if (!comma && e)
		return e;
	tuple->span = p_since(p, from);
	p_done(p, tuple);
	return tuple;
}

static struct Expr *parse_paren(struct Parser *p)
{
	struct Span from = p->tok.span;
	bool pred = p->in_pred;
	p->in_pred = false;
	p_next(p);
	struct Expr *e = parse_paren_inner(p, from);
	p->in_pred = pred;
	return e;
}

static struct Expr *parse_literal(struct Parser *p, enum ExprKind kind)
{
	struct Token t = p->tok;
	p_next(p);
	struct Expr *e = p_node(p, kind, t.span);
	e->ival = kind == E_BOOL ? t.kw == KW_TRUE : t.ival;
	e->str = kind == E_BOOL || kind == E_INT ? NULL : t.str;
	e->len = e->str ? t.len : 0;
	return e;
}

static struct Expr *placeholder(struct Parser *p)
{
	return p_node(p, E_INT, (struct Span){p->tok.span.off, 0, p->tok.span.file});
}

static struct Expr *parse_keyword(struct Parser *p)
{
	struct Span from = p->tok.span;
	switch (p->tok.kw) {
	case KW_TRUE:
	case KW_FALSE:
		return parse_literal(p, E_BOOL);
	case KW_SIZEOF:
		return parse_of(p, E_SIZEOF);
	case KW_OFFSETOF:
		return parse_of(p, E_OFFSETOF);
	case KW_TYPEOF: {
		struct Expr *e = p_node(p, E_TYPE, from);
		e->spec = p_type(p);
		e->span = p_since(p, from);
		p_done(p, e);
		return e;
	}
	case KW_CONFIG:
		return parse_word(p);
	case KW_TYPEINFO:
		return parse_of(p, E_TYPEINFO);
	case KW_COMPTIME: {
		p_next(p);
		struct Expr *a = p_unary(p);
		return unary_node(p, E_COMPTIME, OP_NONE, from, a);
	}
	case KW_IF:
		return p_if(p);
	default:
		p_unexpected(p, "expression");
		return placeholder(p);
	}
}

static struct Expr *parse_primary(struct Parser *p)
{
	switch (p->tok.kind) {
	case T_LPAREN:
		return parse_paren(p);
	case T_LBRACE: {
		bool pred = p->in_pred;
		p->in_pred = false;
		struct Expr *e = p_block(p);
		p->in_pred = pred;
		return e;
	}
	case T_IDENT:
		return p->tok.kw ? parse_keyword(p) : parse_word(p);
	case T_MAP:
		return parse_map(p);
	case T_VAR:
		return parse_literal(p, E_VAR);
	case T_PARAM:
		return parse_literal(p, E_POSPARAM);
	case T_PARAMCOUNT:
		return parse_literal(p, E_POSCOUNT);
	case T_INT:
		return parse_literal(p, E_INT);
	case T_STR:
		return parse_literal(p, E_STR);
	default:
		p_unexpected(p, "expression");
		return placeholder(p);
	}
}

static struct Expr *parse_member(struct Parser *p, struct Expr *a)
{
	bool arrow = p->tok.kind == T_ARROW;
	p_next(p);
	struct Token t = p->tok;
	if (t.kind == T_INT && !arrow) {
		p_next(p);
		struct Expr *e = unary_node(p, E_TUPFIELD, OP_NONE, a->span, a);
		e->tup = (u32)MIN(t.ival, (u64)UINT32_MAX);
		return e;
	}
	if (!p_expect(p, T_IDENT))
		return a;
	struct Expr *e = unary_node(p, E_FIELD, OP_NONE, a->span, a);
	e->str = t.str;
	e->len = t.len;
	e->arrow = arrow;
	return e;
}

static struct Expr *parse_index(struct Parser *p, struct Expr *a)
{
	bool pred = p->in_pred;
	p->in_pred = false;
	p_next(p);
	struct Expr *b = p_expr(p);
	p->in_pred = pred;
	p_expect(p, T_RBRACKET);
	struct Expr *e = p_node(p, E_INDEX, a->span);
	e->a = a;
	e->b = b;
	p_done(p, e);
	return e;
}

static struct Expr *parse_postfix(struct Parser *p)
{
	struct Expr *e = parse_primary(p);
	while (!p->panic) {
		enum Tok k = p->tok.kind;
		if (k == T_DOT || k == T_ARROW)
			e = parse_member(p, e);
		else if (k == T_LBRACKET)
			e = parse_index(p, e);
		else if (k == T_INC || k == T_DEC) {
			if (!check_incdec(p, e, k, p->tok.span))
				break;
			p_next(p);
			e = unary_node(p, E_UNOP, k == T_INC ? OP_POSTINC : OP_POSTDEC, e->span, e);
		} else
			break;
	}
	return e;
}

static enum Op prefix_op(enum Tok k)
{
	switch (k) {
	case T_MINUS:
		return OP_NEG;
	case T_NOT:
		return OP_NOT;
	case T_BNOT:
		return OP_BNOT;
	case T_STAR:
		return OP_DEREF;
	case T_AND:
		return OP_ADDR;
	case T_INC:
		return OP_PREINC;
	case T_DEC:
		return OP_PREDEC;
	default:
		return OP_NONE;
	}
}

struct Expr *p_unary(struct Parser *p)
{
	struct Token t = p->tok;
	enum Op op = prefix_op(t.kind);
	if (!p_enter(p)) {
		p_leave(p);
		return placeholder(p);
	}
	struct Expr *e;
	if (op == OP_NONE)
		e = parse_postfix(p);
	else {
		p_next(p);
		e = p_unary(p);
		if (op == OP_PREINC || op == OP_PREDEC)
			check_incdec(p, e, t.kind, e->span);
		if (op == OP_ADDR && !p->panic && e->kind != E_VAR && e->kind != E_MAP)
			p_error(p, e->span, "The & operator must be applied to a map or variable");
		e = unary_node(p, E_UNOP, op, t.span, e);
	}
	p_leave(p);
	return e;
}

static const struct {
	u8 prec;
	u8 op;
} binops[T_KINDS] = {
	[T_LOR] = {1, OP_LOR}, [T_LAND] = {2, OP_LAND}, [T_OR] = {3, OP_OR}, [T_XOR] = {4, OP_XOR}, [T_AND] = {5, OP_AND},
	[T_EQ] = {6, OP_EQ}, [T_NE] = {6, OP_NE}, [T_LT] = {7, OP_LT}, [T_LE] = {7, OP_LE}, [T_GT] = {7, OP_GT}, [T_GE] = {7, OP_GE},
	[T_SHL] = {8, OP_SHL}, [T_SHR] = {8, OP_SHR}, [T_PLUS] = {9, OP_ADD}, [T_MINUS] = {9, OP_SUB},
	[T_STAR] = {10, OP_MUL}, [T_SLASH] = {10, OP_DIV}, [T_PERCENT] = {10, OP_MOD},
};

// The '/' that closes a predicate: '{' or nothing at all comes after it.
static bool at_predicate_end(const struct Parser *p)
{
	if (!p->in_pred || p->tok.kind != T_SLASH)
		return false;
	char c = lexer_char_after(&p->lx, p->lx.pos);
	return c == '{' || !c;
}

static struct Expr *parse_binary(struct Parser *p, u32 min_prec)
{
	struct Expr *e = p_unary(p);
	for (;;) {
		u32 prec = binops[p->tok.kind].prec;
		if (p->panic || !prec || prec < min_prec || at_predicate_end(p))
			return e;
		enum Op op = (enum Op)binops[p->tok.kind].op;
		p_next(p);
		struct Expr *b = parse_binary(p, prec + 1);
		struct Expr *n = p_node(p, E_BINOP, e->span);
		n->op = op;
		n->a = e;
		n->b = b;
		p_done(p, n);
		e = n;
	}
}

// c ?: b with the value of c used twice: "{ let $t = c; $t ? $t : b }". A small c is just written twice, so that constants stay ones.
static struct Expr *bind_condition(struct Parser *p, struct Expr **cond)
{
	struct Expr *c = *cond;
	if (c->height <= 3 && c->kind != E_BLOCK && c->kind != E_UNOP) {
		*cond = clone_expr(p->a, c);
		return NULL;
	}
	struct Expr *var = p_node(p, E_VAR, c->span);
	var->span = c->span;
	var->str = arena_printf(p->a, "$cond_%u_%u", c->span.file, c->span.off);
	var->len = (u32)strlen(var->str);
	struct Stmt *let = arena_new(p->a, struct Stmt);
	*let = (struct Stmt){.kind = S_LET, .span = c->span, .lhs = var, .e = c};
	stmt_set_height(let);
	struct Expr *block = p_node(p, E_BLOCK, c->span);
	block->body = let;
	*cond = clone_expr(p->a, var);
	return block;
}

// c ? a : b and c ?: b
static struct Expr *parse_ternary(struct Parser *p)
{
	struct Expr *cond = parse_binary(p, 1), *block = NULL, *yes;
	struct Span from = cond->span;
	if (!p_accept(p, T_QUES))
		return cond;
	if (p->tok.kind == T_COLON) {
		block = bind_condition(p, &cond);
		yes = clone_expr(p->a, cond);
	} else
		yes = p_expr(p);
	p_expect(p, T_COLON);
	struct Expr *no = p_expr(p);
	struct Expr *e = p_node(p, E_TERNARY, from);
	e->a = cond;
	e->b = yes;
	e->c = no;
	p_done(p, e);
	if (!block)
		return e;
	block->a = e;
	block->span = e->span;
	p_done(p, block);
	return block;
}

struct Expr *p_expr(struct Parser *p)
{
	struct Expr *e = p_enter(p) ? parse_ternary(p) : placeholder(p);
	p_leave(p);
	return e;
}
