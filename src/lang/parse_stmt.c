// Parser: statements and blocks.
#include "lang/internal.h"

static struct Stmt *stmt_new(struct Parser *p, enum StmtKind kind, struct Span from)
{
	struct Stmt *s = arena_new(p->a, struct Stmt);
	s->kind = kind;
	s->span = p_since(p, from);
	return s;
}

// Can the token start a statement, but not go on with an expression?
static bool starts_stmt(const struct Token *t)
{
	return (t->kind == T_IDENT && t->kw != KW_ELSE) || t->kind == T_VAR || t->kind == T_MAP;
}

// A statement ends with ';', which '}' makes superfluous. So does the end of a line when the next one clearly starts a statement:
// bpftrace's own documentation has such examples. A warning says so.
static void end_of_stmt(struct Parser *p)
{
	if (p->panic || p_accept(p, T_SEMI) || p->tok.kind == T_RBRACE)
		return;
	struct Span end = {p->last.off + p->last.len, 0, p->last.file};
	if (starts_stmt(&p->tok) && memchr(p->lx.text + end.off, '\n', p->tok.span.off - end.off)) {
		if (p->nwarnings++ < MAX_SYNTAX_ERRORS)
			diag_warn(p->lx.diags, end, "missing ';' at the end of the statement");
		return;
	}
	p_unexpected(p, tok_name(T_SEMI));
}

// From an error to the end of the statement: past its ';' or its block, or before the '}' of the block around it.
static void recover(struct Parser *p)
{
	u32 depth = 0;
	p->panic = false;
	for (; p->tok.kind != T_EOF; p_next(p)) {
		if (p->tok.kind == T_LBRACE)
			depth++;
		else if (p->tok.kind == T_RBRACE && !depth)
			return;
		else if (p->tok.kind == T_RBRACE && !--depth) {
			p_next(p);
			return;
		} else if (p->tok.kind == T_SEMI && !depth) {
			p_next(p);
			return;
		}
	}
}

static struct Stmt *loop_body(struct Parser *p, struct Stmt *s, struct Span from)
{
	struct Span body;
	s->body = p_action(p, &body);
	s->span = p_since(p, from);
	stmt_set_height(s);
	return s;
}

static struct Stmt *parse_while(struct Parser *p, enum StmtKind kind)
{
	struct Span from = p->tok.span;
	p_next(p);
	struct Stmt *s = stmt_new(p, kind, from);
	s->e = p_expr(p);
	return loop_body(p, s, from);
}

// for ($x : @m), for ($x : getopt_list(NAME)), for ($i : 0..n), all also without the parentheses
static struct Stmt *parse_for(struct Parser *p)
{
	struct Span from = p->tok.span;
	p_next(p);
	struct Stmt *s = stmt_new(p, S_FOR_MAP, from);
	bool paren = p_accept(p, T_LPAREN);
	struct Token var = p->tok;
	if (!p_expect(p, T_VAR))
		return s;
	s->lhs = p_named(p, E_VAR, &var);
	p_expect(p, T_COLON);
	s->e = p_expr(p);
	if (p_accept(p, T_DOTDOT)) {
		s->kind = S_FOR_RANGE;
		s->e2 = p_expr(p);
	} else if (!p->panic && s->e->kind != E_MAP && (s->e->kind != E_CALL || strcmp(s->e->str, "getopt_list"))) {
		p_hint(p, p_error(p, s->e->span, "expected a map or a range in the for loop"), "for ($kv : @map) { ... } or for ($i : 0..10) { ... }");
	}
	if (paren)
		p_expect(p, T_RPAREN);
	return loop_body(p, s, from);
}

static struct Stmt *parse_let(struct Parser *p)
{
	struct Span from = p->tok.span;
	p_next(p);
	struct Token var = p->tok;
	struct Stmt *s = stmt_new(p, S_LET, from);
	if (var.kind == T_MAP) {
		p_hint(p, p_unexpected(p, tok_name(T_VAR)), "Maps are declared outside of the probes.");
		return s;
	}
	if (!p_expect(p, T_VAR))
		return s;
	s->lhs = p_named(p, E_VAR, &var);
	if (p_accept(p, T_COLON))
		s->spec = p_type(p);
	if (p_accept(p, T_ASSIGN))
		s->e = p_expr(p);
	s->span = p_since(p, from);
	stmt_set_height(s);
	return s;
}

static struct Stmt *parse_jump(struct Parser *p, enum StmtKind kind)
{
	struct Span from = p->tok.span;
	p_next(p);
	struct Stmt *s = stmt_new(p, kind, from);
	if (kind == S_RETURN && p->tok.kind != T_SEMI && p->tok.kind != T_RBRACE) {
		s->e = p_expr(p);
		s->span = p_since(p, from);
	}
	stmt_set_height(s);
	return s;
}

static enum Op assign_op(enum Tok k)
{
	static const u8 ops[T_KINDS] = {
		[T_ADD_EQ] = OP_ADD, [T_SUB_EQ] = OP_SUB, [T_MUL_EQ] = OP_MUL, [T_DIV_EQ] = OP_DIV, [T_MOD_EQ] = OP_MOD,
		[T_AND_EQ] = OP_AND, [T_OR_EQ] = OP_OR, [T_XOR_EQ] = OP_XOR, [T_SHL_EQ] = OP_SHL, [T_SHR_EQ] = OP_SHR,
	};
	return (enum Op)ops[k];
}

static void check_target(struct Parser *p, const struct Expr *lhs, struct Span eq)
{
	if (p->panic || lhs->kind == E_VAR || lhs->kind == E_MAP || lhs->kind == E_MAPREF)
		return;
	if (lhs->kind == E_TUPFIELD)
		p_error(p, lhs->span, "Tuples and records are immutable once created. Consider creating a new value and assigning it instead.");
	else if (lhs->kind == E_FIELD || lhs->kind == E_INDEX)
		p_error(p, lhs->span, "Fields and array elements cannot be assigned: only maps and variables can.");
	else if (lhs->kind == E_BINOP || lhs->kind == E_IDENT || lhs->kind == E_UNOP)
		p_hint(p, p_error(p, eq, "syntax: expected ';', found ="), "Only maps (@x) and variables ($x) can be assigned.");
	else
		p_error(p, lhs->span, "invalid assignment target");
}

static bool at_block_like(const struct Expr *e)
{
	return e->kind == E_BLOCK || e->kind == E_IF;
}

// An expression, an assignment, "_ = e". A last expression without ';' is the value of the block.
static struct Stmt *parse_simple(struct Parser *p, struct Expr **value)
{
	struct Span from = p->tok.span;
	struct Expr *e = p_at_kw(p, KW_IF) ? p_if(p) : p->tok.kind == T_LBRACE ? p_block(p) : p_expr(p);
	struct Token t = p->tok;
	enum Op op = assign_op(t.kind);
	if (!p->panic && !at_block_like(e) && (t.kind == T_ASSIGN || op != OP_NONE)) {
		bool discard = e->kind == E_IDENT && !strcmp(e->str, "_") && t.kind == T_ASSIGN;
		if (!discard)
			check_target(p, e, t.span);
		if (!p->panic)
			p_next(p);
		struct Stmt *s = stmt_new(p, S_ASSIGN, from);
		s->lhs = discard ? NULL : e;
		s->op = op;
		s->e = p->panic ? p_node(p, E_INT, t.span) : p_expr(p);
		s->span = p_since(p, from);
		stmt_set_height(s);
		end_of_stmt(p);
		return s;
	}
	if (!p->panic && t.kind == T_RBRACE && expr_has_value(e)) {
		*value = e;
		return NULL;
	}
	if (!at_block_like(e))
		end_of_stmt(p);
	return stmt_from_expr(p->a, e);
}

// One statement, or NULL with the block's *value.
static struct Stmt *parse_stmt(struct Parser *p, struct Expr **value)
{
	struct Stmt *s;
	switch (p->tok.kind == T_IDENT ? p->tok.kw : KW_NONE) {
	case KW_WHILE:
		return parse_while(p, S_WHILE);
	case KW_UNROLL:
		return parse_while(p, S_UNROLL);
	case KW_FOR:
		return parse_for(p);
	case KW_LET:
		s = parse_let(p);
		break;
	case KW_BREAK:
		s = parse_jump(p, S_BREAK);
		break;
	case KW_CONTINUE:
		s = parse_jump(p, S_CONTINUE);
		break;
	case KW_RETURN:
		s = parse_jump(p, S_RETURN);
		break;
	case KW_IMPORT:
		p_error(p, p->tok.span, "imports must appear before probes and functions");
		return stmt_new(p, S_BLOCK, p->tok.span);
	default:
		return parse_simple(p, value);
	}
	end_of_stmt(p);
	return s;
}

static void parse_stmts(struct Parser *p, struct Expr *block)
{
	struct Stmt **tail = &block->body;
	while (p->tok.kind != T_RBRACE && p->tok.kind != T_EOF) {
		if (p_accept(p, T_SEMI))
			continue;
		u32 before = p->tok.span.off;
		struct Stmt *s = parse_stmt(p, &block->a);
		if (s) {
			*tail = s;
			tail = &s->next;
		}
		if (p->panic)
			recover(p);
		if (p->tok.span.off == before && p->tok.kind != T_EOF && p->tok.kind != T_RBRACE)
			p_next(p);
	}
}

struct Expr *p_block(struct Parser *p)
{
	bool outermost = p->depth == 0;
	struct Span from = p->tok.span;
	struct Expr *block = p_node(p, E_BLOCK, from);
	if (p_enter(p) && p_expect(p, T_LBRACE)) {
		bool pred = p->in_pred;
		p->in_pred = false;
		parse_stmts(p, block);
		p->in_pred = pred;
		if (outermost)
			p_expect_last(p, T_RBRACE);
		else
			p_expect(p, T_RBRACE);
	}
	p_leave(p);
	block->span = p_since(p, from);
	p_done(p, block);
	return block;
}

struct Stmt *p_action(struct Parser *p, struct Span *span)
{
	struct Expr *block = p_block(p);
	*span = block->span;
	if (block->kind != E_BLOCK)
		return NULL;
	return stmt_from_expr(p->a, block)->body;
}

// if cond { } [else if ... | else { }]
struct Expr *p_if(struct Parser *p)
{
	struct Span from = p->tok.span;
	struct Expr *e = p_node(p, E_IF, from);
	if (p_enter(p)) {
		p_next(p);
		e->a = p_expr(p);
		e->b = p_block(p);
		if (!p->panic && p_at_kw(p, KW_ELSE)) {
			p_next(p);
			e->c = p_at_kw(p, KW_IF) ? p_if(p) : p_block(p);
		}
	}
	p_leave(p);
	if (!e->b) { // too deep
		*e = (struct Expr){.kind = E_INT, .span = from, .height = 1};
		return e;
	}
	e->span = p_since(p, from);
	p_done(p, e);
	return e;
}
