// What format.c (layout, comments, statements) and format_expr.c (expressions) share, and nobody else sees.
#ifndef SONDE_FORMAT_PRIV_H
#define SONDE_FORMAT_PRIV_H
#include "lang/format.h"

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
#endif
