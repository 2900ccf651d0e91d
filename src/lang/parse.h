// What the files of the parser share. Recursive descent over lang/token.h, one token of lookahead, more by mark and reset.
#ifndef SONDE_PARSE_H
#define SONDE_PARSE_H
#include "lang/ast.h"
#include "lang/token.h"

#define PARSE_MAX_DEPTH 1000 // nested parser calls that may recurse

struct Parser {
	struct Lexer lx;
	struct Token tok;  // lookahead
	struct Span last;  // of the token consumed last
	struct Script *s;
	struct Arena *a;
	u32 depth;
	u32 last_error;	   // offset + 1 of the syntax error told last
	u32 nwarnings;
	bool panic;	   // a syntax error was met: unwind to the next place to go on from
	bool in_pred;	   // a '/' before '{' closes the predicate
};

// ---- parse.c: tokens and errors
void p_next(struct Parser *p);
bool p_accept(struct Parser *p, enum Tok k);
bool p_expect(struct Parser *p, enum Tok k); // "syntax: expected k, found X"
bool p_expect_last(struct Parser *p, enum Tok k); // for the last token of a construct of the top level: nothing is read ahead
bool p_error(struct Parser *p, struct Span at, const char *fmt, ...) PRINTF_LIKE(3, 4); // true when it was recorded: hints may follow
bool p_unexpected(struct Parser *p, const char *expected);
void p_hint(struct Parser *p, bool recorded, const char *text);
bool p_enter(struct Parser *p); // false: too deep; the parse ends
void p_leave(struct Parser *p);
struct Token p_peek(const struct Parser *p); // the token after tok
struct Span p_since(const struct Parser *p, struct Span from); // from ... last
static inline bool p_at_kw(const struct Parser *p, enum Kw kw)
{
	return p->tok.kind == T_IDENT && p->tok.kw == kw;
}
struct ParseMark {
	struct Lexer lx;
	struct Token tok;
	struct Span last;
};
struct ParseMark p_mark(const struct Parser *p);
void p_reset(struct Parser *p, struct ParseMark m); // errors told in between stay

// ---- parse_expr.c: never NULL; after an error p->panic is set and the result is a placeholder
struct Expr *p_expr(struct Parser *p);
struct Expr *p_unary(struct Parser *p);
struct Expr *p_node(struct Parser *p, enum ExprKind kind, struct Span from); // span: from ... last
struct Expr *p_named(struct Parser *p, enum ExprKind kind, const struct Token *t); // with the token's text, from it on
void p_done(struct Parser *p, struct Expr *e); // children are set: height, its limit
// ---- parse_stmt.c
struct Expr *p_block(struct Parser *p);			  // E_BLOCK, a: value or NULL
struct Stmt *p_action(struct Parser *p, struct Span *span); // block without a value
struct Expr *p_if(struct Parser *p);
// ---- parse_type.c
struct TypeSpec *p_type(struct Parser *p);
bool p_at_type(struct Parser *p);      // inside sizeof( and the like
bool p_at_cast(struct Parser *p);      // after '('
// ---- parse_probe.c
struct ProbeAst *p_probe(struct Parser *p);
struct AttachSpec *p_attach_point(struct Parser *p);
// Splits the source text under ap->span anew, with the values of $N and of options in it. An option of several values, separated by commas, makes as many
// attach points; the last one is returned. Errors are told.
struct AttachSpec *attach_put(struct AttachSpec *ap, struct Arena *a, struct Diags *d, const struct Script *script, const char **name);
// The Nth positional parameter (from 1) or NULL
const char *param_positional(const struct Param *params, size_t n, u64 index);
#endif
