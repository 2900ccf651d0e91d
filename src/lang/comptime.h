// What of the untyped tree is known before names are bound: literals, parameters, options, and what is computed from them.
#ifndef SONDE_COMPTIME_H
#define SONDE_COMPTIME_H
#include "lang/ast.h"

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
#endif
