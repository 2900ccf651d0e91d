// What the files of the language share: tokens, parser, expansion, what is known at compile time, checks, the standard form.
#ifndef SONDE_LANG_INTERNAL_H
#define SONDE_LANG_INTERNAL_H
#include "lang/lang.h"

// ---- Tokens of a script.
// In: a source of the diagnostics. Out: one token at a time, from any offset. Attach points and C text are no tokens: they are read
// raw, by their own functions, since "uprobe:/usr/bin/*:main" has another grammar than expressions.
// Invariant: the lexer always advances or returns T_EOF, reports each lexical error once, and ends after MAX_SYNTAX_ERRORS errors.
#define MAX_SYNTAX_ERRORS 20

enum Tok {
	T_EOF,
	T_IDENT,      // str; kw when it is a keyword (keywords are allowed as field names)
	T_VAR,	      // $x: str is "x"
	T_MAP,	      // @x, @: str has the '@'
	T_PARAM,      // $1: ival
	T_PARAMCOUNT, // $#
	T_INT,	      // ival
	T_STR,	      // str, len
	T_LPAREN, T_RPAREN, T_LBRACE, T_RBRACE, T_LBRACKET, T_RBRACKET,
	T_COMMA, T_SEMI, T_COLON, T_QUES, T_DOT, T_DOTDOT, T_ARROW, T_ASSIGN,
	T_EQ, T_NE, T_LT, T_LE, T_GT, T_GE,
	T_PLUS, T_MINUS, T_STAR, T_SLASH, T_PERCENT, T_AND, T_OR, T_XOR, T_SHL, T_SHR, T_LAND, T_LOR,
	T_NOT, T_BNOT, T_INC, T_DEC,
	T_ADD_EQ, T_SUB_EQ, T_MUL_EQ, T_DIV_EQ, T_MOD_EQ, T_AND_EQ, T_OR_EQ, T_XOR_EQ, T_SHL_EQ, T_SHR_EQ,
	T_KINDS
};

enum Kw {
	KW_NONE,
	KW_BREAK, KW_COMPTIME, KW_CONFIG, KW_CONTINUE, KW_ELSE, KW_ENUM, KW_FALSE, KW_FN, KW_FOR, KW_IF, KW_IMPORT, KW_LET, KW_MACRO,
	KW_OFFSETOF, KW_RETURN, KW_SIZEOF, KW_STRUCT, KW_TRUE, KW_TYPEDEF, KW_TYPEINFO, KW_TYPEOF, KW_UNION, KW_UNROLL, KW_WHILE,
};

struct Token {
	enum Tok kind;
	enum Kw kw;
	struct Span span;
	const char *str; // NUL-terminated, in the arena
	u32 len;	 // bytes of str
	u64 ival;
};

struct Lexer {
	struct Arena *arena;
	struct Diags *diags;
	const char *text;
	u32 len, pos;
	u32 file;
	u32 reported; // lexical errors before this offset have been told: a token may be read twice
	int nerrors;  // lexical and syntax errors; from MAX_SYNTAX_ERRORS on every token is T_EOF
};

void lexer_init(struct Lexer *lx, struct Arena *a, struct Diags *d, u32 source);
struct Token lexer_next(struct Lexer *lx);
void lexer_skip_space(struct Lexer *lx); // white space and comments
// First byte at or after `pos` that is neither white space nor comment; 0 at the end.
char lexer_char_after(const struct Lexer *lx, u32 pos);
enum Kw lexer_peek_keyword(const struct Lexer *lx); // of the word that begins at pos

// Reads one attach point up to '{', ',', white space or a '/' that cannot be a path's. False when nothing is there.
bool lexer_attach_point(struct Lexer *lx, struct Span *out);
// C text at pos: a directive line with its continuations, or a struct/union/enum/typedef definition to its end. False when there is none.
bool lexer_c_text(struct Lexer *lx, struct Span *out);

const char *token_name(const struct Token *t); // for "unexpected X": "}", "end of file", "identifier"
const char *tok_name(enum Tok k);	       // for "expected X"

// ---- number.c
// Nanoseconds of the unit that a literal is written with ("10ms"), 0: none.
u64 duration_unit(const char *s, size_t n);
// Value of an integer literal: decimal, 0x, 0b, 0 octal, 2e3, '_' separators, C suffixes, durations to nanoseconds.
// Error text without a place, NULL on success.
const char *parse_int_literal(const char *s, size_t n, u64 *out);
bool param_number(const char *s, u64 *v, bool *neg); // is a parameter's text a number? *v of a negative one is its 64 bits
int digit_value(char c);		    // of a hexadecimal digit; 99 for other characters
bool mul_add(u64 *v, u64 mul, u64 add); // *v = *v * mul + add; false: that overflows

// ---- What the files of the parser share. Recursive descent over token.c, one token of lookahead, more by mark and reset.
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
	struct { // ends of the script's lists, or places before
		struct CText **ctext;
		struct Import **imports;
		struct MapDecl **maps;
		struct Macro **macros;
		struct ProbeAst **probes;
	} end;
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
bool p_at_type_arg(struct Parser *p);  // as an argument: of more than one word, which could be anything
bool p_at_cast(struct Parser *p);      // after '('
// ---- parse_probe.c
struct ProbeAst *p_probe(struct Parser *p);
struct AttachSpec *p_attach_point(struct Parser *p);
// Splits the source text under ap->span anew, with the values of $N and of options in it. An option of several values, separated by commas, makes as many
// attach points; the last one is returned. Errors are told.
struct AttachSpec *attach_put(struct AttachSpec *ap, struct Arena *a, struct Diags *d, const struct Script *script, const char **name);
// The Nth positional parameter (from 1) or NULL
const char *param_positional(const struct Param *params, size_t n, u64 index);

// ---- What of the untyped tree is known before names are bound: literals, parameters, options, and what is computed from them.
// A literal.
struct Known {
	enum ExprKind kind; // E_INT, E_BOOL, E_STR
	u64 ival;
	bool is_neg;
	const char *str;
	u32 len;
};
bool comptime_eval(const struct Expr *e, struct Known *out); // false: not known yet, or an error that the checker will find
bool known_truth(const struct Known *k);
void known_put(const struct Known *k, struct Expr *e); // e becomes the literal
// 1 true, 0 false, -1 not known: a condition whose parts may be unknown.
int comptime_truth(const struct Expr *e);
// A condition without the parts that are known: only its truth stays the same.
struct Expr *comptime_condition(struct Expr *e);

// ---- What the files of the expansion share: the macros of a script and the calls that are being expanded.
#define MAX_EXPANSION 1000000 // nodes
u32 count_nodes(const struct Expr *e); // expand_copy.c: with what is in it; NULL: 0

struct Frame { // one macro call that is being expanded
	const struct Macro *macro;
	struct Expr **args; // by parameter, expanded
	u32 id;		    // of the call, makes names unique
	struct Frame *up;
};

struct Expander {
	struct Script *s;
	struct Arena *a;
	struct Diags *d;
	struct Map macros; // name -> struct Overloads
	struct Frame *frame;
	u32 ncalls, nnodes, depth;
	bool full; // MAX_EXPANSION or the depth limit was met and told
};

struct Overloads {
	VEC(const struct Macro *) v;
};

// expand.c: the walk
void x_expr(struct Expander *x, struct Expr **pe);
void x_value(struct Expander *x, struct Expr **pe); // as x_expr, where a value is needed
void x_stmts(struct Expander *x, struct Stmt **ps);
void x_args(struct Expander *x, struct Expr *e);
// expand_copy.c
struct Expr *x_copy_expr(struct Expander *x, const struct Expr *e, struct Span at);
struct Stmt *x_copy(struct Expander *x, const struct Stmt *s, struct Span at); // NULL: there is no room for it, which was told
struct Expr *x_placeholder(struct Expander *x, struct Span at); // where an error was told: a number
void x_too_large(struct Expander *x, struct Span at); // told once
void x_came_by(struct Expr *e, u32 was, u32 call); // what of e came in by `was` (0: is as written) did so by that call (diags_add_call(), diags_add_arg())
// expand_known.c
bool x_known_call(struct Expander *x, struct Expr *e);
bool x_prune_if(struct Expander *x, struct Expr *e);
void x_elements(struct Expander *x, struct Expr *e);
void x_key(struct Expander *x, struct Expr *e);
bool x_decided(struct Expander *x, struct Stmt **ps);
void split_rounds(struct Expander *x, struct ProbeAst *p);
// expand_macro.c
void collect_macros(struct Expander *x);
void forget_macros(struct Expander *x);
// The definition that a call means. NULL: none; *told when there are some but none fits.
const struct Macro *find_macro(struct Expander *x, const struct Expr *call, bool *told);

// ---- shared among check*.c
const struct Type *check_expr(struct Unit *u, struct Expr *e);
void check_stmts(struct Unit *u, struct Stmt *s);
const struct Type *check_spec(struct Unit *u, struct TypeSpec *s);
bool check_type_size(struct Unit *u, struct Span at, u64 n, u64 size); // n of so many bytes are within TY_SIZE_MAX, or that is told
// Common type of two assignments to one place; NULL: they do not go together.
const struct Type *type_unify(struct TypeTab *t, const struct Type *a, const struct Type *b);
const struct Type *int_type_for(struct TypeTab *t, u64 v, bool neg); // smallest
const struct Type *arith_type(struct Unit *u, enum Op op, const struct Type *a, const struct Type *b); // of an operation on integers
void make_int(struct Unit *u, struct Expr *e, u64 v, bool neg);	     // e becomes a literal
void make_str(struct Unit *u, struct Expr *e, const char *s, u32 len);
bool expr_lit_str(const struct Expr *e, const char **s); // string literal?
void load_records(struct Unit *u, const struct Type *t);
u32 add_fmt_site(struct Unit *u, enum FmtKind kind, struct Expr *call, const char *fmt, u32 len, struct Expr **args, u32 nargs);
bool literal_fits(struct Unit *u, const struct VarSym *v, const struct Expr *e, struct Span at); // else it says so
void map_grow_key(struct Unit *u, struct MapSym *m, struct Span at, const struct Type *key);
void map_grow_val(struct Unit *u, struct MapSym *m, struct Span at, const struct Type *val);
void var_grow(struct Unit *u, struct VarSym *v, struct Span at, const struct Type *t);
const struct Type *operand_type(struct Unit *u, const struct Type *t); // aggregations read as integers
const struct Type *ty_none(struct Unit *u);
enum AddrSpace default_as(struct Unit *u); // of a pointer made from a number, by kind of probe
const char *tyname(struct Unit *u, const struct Type *t); // arena text for messages
struct Stmt *clone_stmts(struct Arena *a, const struct Stmt *s);
void pair_calls(struct Script *s); // percall.c
void spec_put(struct Diags *d, struct TypeSpec *t, const struct TypeSpec *is); // expand.c: t, which says typeof(is) or a word for it, is that
struct Expr *clone_expr(struct Arena *a, const struct Expr *e);

// ---- Shared by the files that give expressions their types: check_expr.c (dispatch, fields, maps), check_ops.c, check_spec.c, check_type.c.
// Only the last round reports.
#define ERR(u, at, ...) ((u)->final ? diag_error((u)->diags, (at), __VA_ARGS__) : (void)0)
#define HINT(u, ...) ((u)->final ? diag_hint((u)->diags, __VA_ARGS__) : (void)0)

static inline bool lit_num(const struct Expr *e)
{
	return e->kind == E_INT || e->kind == E_BOOL;
}

const struct Type *check_truth(struct Unit *u, struct Expr *e); // type of a condition; a literal text becomes whether it has any
void check_cond(struct Unit *u, struct Expr *e, const char *what); // a condition of what; reports types that have no truth

bool kfunc_exists(struct Unit *u, const char *name);
void check_options(struct Unit *u);
void make_bool(struct Unit *u, struct Expr *e, bool v); // e becomes a literal
// Each returns the type of a node of its kind.
const struct Type *check_binop(struct Unit *u, struct Expr *e);
const struct Type *check_unop(struct Unit *u, struct Expr *e);
const struct Type *check_ternary(struct Unit *u, struct Expr *e);
const struct Type *check_cast(struct Unit *u, struct Expr *e);
const struct Type *check_sizeof(struct Unit *u, struct Expr *e);
const struct Type *check_offsetof(struct Unit *u, struct Expr *e);
const struct Type *check_typeinfo(struct Unit *u, struct Expr *e);
enum AddrSpace space_behind(const struct Expr *p); // of what pointer p points to
struct Expr *record_node(struct Unit *u, struct Span at, u32 n); // a record of n literals, to be filled in
void record_field_node(struct Unit *u, struct Expr *rec, u32 i, const char *name, struct Expr value);
const struct Type *check_typeinfo_field(struct Unit *u, struct Expr *e);
void check_pinned(struct Unit *u, const struct Expr *call); // check_action.c: an action that a pinned iterator cannot do is reported

// ---- The check columns of builtins.def: each returns the type of the call and leaves in the node what its lower needs (a folded literal, a format
// site, the aux pointer). check_ctx.c: task, clock, event; check_value.c: values; check_mapcall.c: maps; check_const.c: known when compiling;
// check_action.c: actions and aggregations.
#define B(name, min, max, flags, check, lower, sig, help) const struct Type *check(struct Unit *u, struct Expr *e);
#include "lang/builtins.def"
#undef B

const struct Type *check_builtin(struct Unit *u, struct Expr *call); // by the check column
const char *base_name(struct Unit *u, const struct Type *t); // "string", "tuple": a type without its size, what typeinfo() calls base_type
const struct Type *t_int(struct Unit *u, u32 size, bool sgn);
const struct Type *t_void(struct Unit *u);
void wrong_probe(struct Unit *u, struct Expr *e, const char *text); // reports that e is no function for this probe
const struct Type *int_arg(struct Unit *u, struct Expr *e, u32 i);	// i-th argument as an integer; reports anything else
void bytes_arg(struct Unit *u, struct Expr *e, u32 i); // i-th argument as the bytes of a value or behind a pointer; reports what has none
bool lit_int_arg(struct Unit *u, struct Expr *e, u32 i, s64 *out); // an integer literal, else false and a diagnostic
const char *lit_str_arg(struct Unit *u, struct Expr *e, u32 i);	// text of a string literal, else NULL and a diagnostic
bool mode_arg(const struct Expr *a, const char *word); // is it this bare word?
struct MapSym *map_arg(struct Unit *u, struct Expr *e); // the first argument as a whole map
struct MapSym *keyed_map_arg(struct Unit *u, struct Expr *e);		  // the first as a map, the second as a key of it

// ---- What format.c (layout, comments, statements) and format_expr.c (expressions) share, and nobody else sees.
#define FORMAT_WIDTH 90

struct Formatter {
	const char *text;
	u32 len, pos; // comments before pos are written
	u32 indent;
	bool flat;    // measuring: nothing is broken into lines
	struct Str *out;
};

// ---- format.c
u32 format_span_end(struct Span s);
u32 format_column(const struct Formatter *f); // of what comes next, from 0
void format_spaces(struct Formatter *f, u32 n);
void format_source(struct Formatter *f, u32 from, u32 to); // as the script has it
// The statements of a block, and its value if there is one, up to the text's offset end.
void format_block(struct Formatter *f, const struct Stmt *body, const struct Expr *value, u32 end, bool keep_value);

// ---- format_expr.c
void format_expr(struct Formatter *f, const struct Expr *e);
void format_operand(struct Formatter *f, const struct Expr *e, bool parens);
bool format_is_compound(const struct Formatter *f, const struct Expr *e);
void format_type(struct Formatter *f, const struct TypeSpec *t);

// ---- units.c
void units_split(struct Unit *u, struct ProbeAst *ast, struct PointList *points); // appends to u->probes
#endif
