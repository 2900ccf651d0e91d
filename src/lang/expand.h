// What the files of the expansion share: the macros of a script and the calls that are being expanded.
#ifndef SONDE_EXPAND_H
#define SONDE_EXPAND_H
#include "lang/ast.h"

#define MAX_EXPANSION 1000000 // nodes

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
struct Expr *x_copy_expr(struct Expander *x, const struct Expr *e, struct Span at);
struct Stmt *x_copy(struct Expander *x, const struct Stmt *s, struct Span at); // NULL: there is no room for it, which was told
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
#endif
