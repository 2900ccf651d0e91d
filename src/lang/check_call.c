// The check column of builtins.def, and what its functions share: arguments of a kind, format sites. In: a call's node. Out: the argument's type or value.
#include "lang/internal.h"

const struct Type *check_builtin(struct Unit *u, struct Expr *call)
{
	static const struct Type *(*const table[])(struct Unit *, struct Expr *) = {
#define B(name, min, max, flags, check, lower, sig, help) check,
#include "lang/builtins.def"
#undef B
	};
	return table[call->builtin->id](u, call);
}

const struct Type *t_int(struct Unit *u, u32 size, bool sgn)
{
	return ty_int(u->types, size, sgn);
}

const struct Type *t_void(struct Unit *u)
{
	return ty_simple(u->types, TY_VOID);
}

// As bpftrace says it: each kind of function has its own words.
static void report_no_int(struct Unit *u, struct Expr *e, u32 i, const struct Type *t)
{
	static const char *const integers[] = {"sum", "min", "max", "avg", "stats", "bswap"};
	for (u32 k = 0; k < ARRAY_LEN(integers); k++)
		if (!strcmp(e->str, integers[k])) {
			ERR(u, e->args[i]->span, "%s() only supports integer arguments (%s provided)", e->str, tyname(u, t));
			return;
		}
	if (!strcmp(e->str, "ksym") || !strcmp(e->str, "usym"))
		ERR(u, e->args[i]->span, "%s() expects an integer or pointer argument (%s provided)", e->str, base_name(u, t));
	else
		ERR(u, e->args[i]->span, "%s() only supports int arguments (%s provided)", e->str, base_name(u, t));
}

void wrong_probe(struct Unit *u, struct Expr *e, const char *text)
{
	if (u->diags->plain)
		ERR(u, e->span, "%s can not be used with \"%s\" probes", e->str, probe_kind_name(u->cur->point->kind));
	else
		ERR(u, e->span, "%s", text);
}

// Types the i-th argument as an integer (aggregations are read); reports anything else.
const struct Type *int_arg(struct Unit *u, struct Expr *e, u32 i)
{
	const struct Type *t = operand_type(u, check_expr(u, e->args[i]));
	if (t->kind != TY_NONE && t->kind != TY_INT && t->kind != TY_PTR)
		report_no_int(u, e, i, t);
	return t;
}

void bytes_arg(struct Unit *u, struct Expr *e, u32 i)
{
	const struct Type *t = operand_type(u, check_expr(u, e->args[i]));
	if (t->kind == TY_VOID || ty_is_aggr(t))
		ERR(u, e->args[i]->span, "%s() reads the bytes of a value, and %s is none", e->str, tyname(u, t));
}

bool lit_int_arg(struct Unit *u, struct Expr *e, u32 i, s64 *out)
{
	check_expr(u, e->args[i]);
	if (e->args[i]->kind != E_INT && e->args[i]->kind != E_BOOL) {
		ERR(u, e->args[i]->span, "%s() expects an integer literal as argument %u (%s provided)", e->str, i + 1, tyname(u, e->args[i]->type));
		return false;
	}
	*out = (s64)e->args[i]->ival;
	return true;
}

const char *lit_str_arg(struct Unit *u, struct Expr *e, u32 i)
{
	const char *s;
	if (expr_lit_str(e->args[i], &s)) { // known when compiling: it may be of any length
		e->args[i]->is_lit = true;
		e->args[i]->type = ty_str(u->types, e->args[i]->len + 1);
		return s;
	}
	check_expr(u, e->args[i]);
	if (expr_lit_str(e->args[i], &s))
		return s;
	if (e->args[i]->from_param)
		return e->args[i]->str;
	if (u->diags->plain && i == 0 && !strcmp(e->str, "getopt"))
		ERR(u, e->args[i]->span, "First argument to 'getopt' must be a string literal.");
	else
		ERR(u, u->diags->plain ? e->span : e->args[i]->span, "%s() expects a string literal (%s provided)", e->str,
		    u->diags->plain ? base_name(u, e->args[i]->type) : tyname(u, e->args[i]->type));
	return NULL;
}

bool mode_arg(const struct Expr *a, const char *word)
{
	return a->kind == E_IDENT && !strcmp(a->str, word);
}

// What is printed whole needs the fields of every record in it.
void load_records(struct Unit *u, const struct Type *t)
{
	if (t->kind == TY_ARRAY)
		load_records(u, t->elem);
	for (u32 i = 0; t->kind == TY_TUPLE && i < t->n; i++)
		load_records(u, t->fields[i].type);
	if (t->kind != TY_RECORD || !ctype_record_load(u->ctypes, t->rec))
		return;
	for (u32 i = 0; i < t->rec->nfields; i++) // by value: a record does not hold itself
		load_records(u, t->rec->fields[i].type);
}

u32 add_fmt_site(struct Unit *u, enum FmtKind kind, struct Expr *call, const char *fmt, u32 len, struct Expr **args, u32 nargs)
{
	struct FmtSite *f = arena_new(u->arena, struct FmtSite);
	f->kind = kind;
	f->id = (u32)u->fmts.n;
	f->span = call->span;
	f->fmt = fmt;
	f->len = len;
	f->nargs = nargs;
	f->args = arena_new_n(u->arena, struct FmtArg, nargs);
	u32 off = 0;
	for (u32 i = 0; i < nargs; i++) {
		const struct Type *t = operand_type(u, args[i]->type);
		load_records(u, t);
		off = ALIGN_UP(off, MAX(t->align, 1u));
		f->args[i] = (struct FmtArg){t, off};
		off += t->size;
	}
	f->size = ALIGN_UP(off, 8u);
	vec_push(&u->fmts, f);
	return f->id;
}
