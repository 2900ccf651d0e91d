// Tokens of a script.
// In: a source of the diagnostics. Out: one token at a time, from any offset. Attach points and C text are no tokens: they are read
// raw, by their own functions, since "uprobe:/usr/bin/*:main" has another grammar than expressions.
// Invariant: the lexer always advances or returns T_EOF, reports each lexical error once, and ends after MAX_SYNTAX_ERRORS errors.
#ifndef SONDE_TOKEN_H
#define SONDE_TOKEN_H
#include "base/base.h"

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
	u16 file;
	u32 reported; // lexical errors before this offset have been told: a token may be read twice
	int nerrors;  // lexical and syntax errors; from MAX_SYNTAX_ERRORS on every token is T_EOF
};

void lexer_init(struct Lexer *lx, struct Arena *a, struct Diags *d, u16 source);
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
#endif
