// Shared by the files that give expressions their types: check_expr.c (dispatch, fields, maps), check_ops.c, check_spec.c, check_type.c.
#ifndef SONDE_CHECK_EXPR_H
#define SONDE_CHECK_EXPR_H
#include "lang/check.h"

// Only the last round reports.
#define ERR(u, at, ...) ((u)->final ? diag_error((u)->diags, (at), __VA_ARGS__) : (void)0)
#define HINT(u, ...) ((u)->final ? diag_hint((u)->diags, __VA_ARGS__) : (void)0)

static inline bool lit_num(const struct Expr *e)
{
	return e->kind == E_INT || e->kind == E_BOOL;
}

const struct Type *check_truth(struct Unit *u, struct Expr *e); // type of a condition; a literal text becomes whether it has any
void check_cond(struct Unit *u, struct Expr *e, const char *what); // a condition of what; reports types that have no truth

const char *text_of_number(struct Unit *u, const struct Type *t, s64 n); // of a text that is a number until it is printed
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
#endif
