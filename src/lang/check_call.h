// The check columns of builtins.def: each returns the type of the call and leaves in the node what its lower needs (a folded literal, a format
// site, the aux pointer). check_ctx.c: task, clock, event; check_value.c: values; check_mapcall.c: maps; check_const.c: known when compiling;
// check_action.c: actions and aggregations.
#ifndef SONDE_CHECK_CALL_H
#define SONDE_CHECK_CALL_H
#include "lang/check_expr.h"

#define B(name, min, max, flags, check, lower, sig, help) const struct Type *check(struct Unit *u, struct Expr *e);
#include "lang/builtins.def"
#undef B

const struct Type *check_builtin(struct Unit *u, struct Expr *call); // by the check column
const char *base_name(struct Unit *u, const struct Type *t); // "string", "tuple": a type without its size, what typeinfo() calls base_type
const struct Type *t_int(struct Unit *u, u32 size, bool sgn);
const struct Type *t_void(struct Unit *u);
const struct Type *int_arg(struct Unit *u, struct Expr *e, u32 i);	// i-th argument as an integer; reports anything else
void bytes_arg(struct Unit *u, struct Expr *e, u32 i); // i-th argument as the bytes of a value or behind a pointer; reports what has none
bool lit_int_arg(struct Unit *u, struct Expr *e, u32 i, s64 *out); // an integer literal, else false and a diagnostic
const char *lit_str_arg(struct Unit *u, struct Expr *e, u32 i);	// text of a string literal, else NULL and a diagnostic
bool mode_arg(const struct Expr *a, const char *word); // is it this bare word?
struct MapSym *map_arg(struct Unit *u, struct Expr *e); // the first argument as a whole map
struct MapSym *keyed_map_arg(struct Unit *u, struct Expr *e);		  // the first as a map, the second as a key of it
#endif
