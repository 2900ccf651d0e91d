// What is known before names are bound. In: an expanded expression. Out: its value if it follows from literals alone. Invariant: what is known here has the value that the
// checker would give it; numbers that do not fit into 64 bits with a sign, and divisions by 0, are left to it.
#include "lang/internal.h"

static bool known_bool(struct Known *out, bool v)
{
	*out = (struct Known){.kind = E_BOOL, .ival = v};
	return true;
}

static bool known_int(struct Known *out, s64 v)
{
	*out = (struct Known){.kind = E_INT, .ival = (u64)v, .is_neg = v < 0};
	return true;
}

bool known_truth(const struct Known *k)
{
	return k->kind == E_STR ? k->len != 0 : k->ival != 0;
}

void known_put(const struct Known *k, struct Expr *e)
{
	*e = (struct Expr){.kind = k->kind, .span = e->span, .ival = k->ival, .is_neg = k->is_neg, .str = k->str, .len = k->len, .height = 1};
}

static bool as_number(const struct Known *k, s64 *v)
{
	*v = (s64)k->ival;
	return k->kind != E_STR && (k->is_neg || *v >= 0);
}

static bool compare(enum Op op, int order, struct Known *out)
{
	switch (op) {
	case OP_EQ: return known_bool(out, order == 0);
	case OP_NE: return known_bool(out, order != 0);
	case OP_LT: return known_bool(out, order < 0);
	case OP_LE: return known_bool(out, order <= 0);
	case OP_GT: return known_bool(out, order > 0);
	case OP_GE: return known_bool(out, order >= 0);
	default: return false;
	}
}

static bool arith(enum Op op, s64 a, s64 b, struct Known *out)
{
	s64 v;
	switch (op) {
	case OP_ADD: return !__builtin_add_overflow(a, b, &v) && known_int(out, v);
	case OP_SUB: return !__builtin_sub_overflow(a, b, &v) && known_int(out, v);
	case OP_MUL: return !__builtin_mul_overflow(a, b, &v) && known_int(out, v);
	case OP_DIV: return a >= 0 && b > 0 && known_int(out, a / b);
	case OP_MOD: return a >= 0 && b > 0 && known_int(out, a % b);
	case OP_AND: return known_int(out, a & b);
	case OP_OR: return known_int(out, a | b);
	case OP_XOR: return known_int(out, a ^ b);
	case OP_SHL: return a >= 0 && b >= 0 && b < 63 && a <= INT64_MAX >> b && known_int(out, a << b);
	case OP_SHR: return a >= 0 && b >= 0 && b < 64 && known_int(out, a >> b);
	default: return false;
	}
}

static bool eval_binop(const struct Expr *e, struct Known *out)
{
	struct Known a, b;
	s64 x, y;
	if (e->op == OP_LAND || e->op == OP_LOR) {
		int t = comptime_truth(e);
		return t >= 0 && known_bool(out, t);
	}
	if (!comptime_eval(e->a, &a) || !comptime_eval(e->b, &b))
		return false;
	if (a.kind == E_STR && b.kind == E_STR)
		return (e->op == OP_EQ || e->op == OP_NE) && compare(e->op, a.len != b.len || memcmp(a.str, b.str, a.len) ? 1 : 0, out);
	if (!as_number(&a, &x) || !as_number(&b, &y))
		return false;
	return compare(e->op, x < y ? -1 : x > y, out) || arith(e->op, x, y, out);
}

static bool eval_unop(const struct Expr *e, struct Known *out)
{
	struct Known a;
	s64 x;
	if (!comptime_eval(e->a, &a))
		return false;
	if (e->op == OP_NOT)
		return known_bool(out, !known_truth(&a));
	return e->op == OP_NEG && as_number(&a, &x) && x != INT64_MIN && known_int(out, -x);
}

static bool eval_call(const struct Expr *e, struct Known *out)
{
	struct Known a, b;
	if (!strcmp(e->str, "str") && e->nargs == 1) // of a parameter
		return comptime_eval(e->args[0], out) && out->kind == E_STR;
	if (e->nargs != 2 || !comptime_eval(e->args[0], &a) || !comptime_eval(e->args[1], &b) || a.kind != E_STR || b.kind != E_STR)
		return false;
	if (!strcmp(e->str, "strcontains"))
		return known_bool(out, strstr(a.str, b.str) != NULL);
	if (!strcmp(e->str, "globmatch"))
		return known_bool(out, glob_match(b.str, a.str));
	return false;
}

bool comptime_eval(const struct Expr *e, struct Known *out)
{
	switch (e->kind) {
	case E_INT:
	case E_BOOL:
	case E_STR:
		*out = (struct Known){.kind = e->kind, .ival = e->ival, .is_neg = e->is_neg, .str = e->str, .len = e->len};
		return true;
	case E_COMPTIME:
		return comptime_eval(e->a, out);
	case E_BLOCK:
		return !e->body && e->a && comptime_eval(e->a, out);
	case E_UNOP:
		return eval_unop(e, out);
	case E_BINOP:
		return eval_binop(e, out);
	case E_TERNARY:
	case E_IF: {
		int t = comptime_truth(e->a);
		const struct Expr *taken = t ? e->b : e->c;
		return t >= 0 && taken && comptime_eval(taken, out);
	}
	case E_CALL:
		return eval_call(e, out);
	default:
		return false;
	}
}

// Would anybody miss the expression if it were not run?
static bool is_pure(const struct Expr *e)
{
	if (!e)
		return true;
	if (e->kind == E_CALL || e->kind == E_BLOCK || (e->kind == E_UNOP && e->op >= OP_PREINC))
		return false;
	for (u32 i = 0; i < e->nargs; i++)
		if (!is_pure(e->args[i]))
			return false;
	return is_pure(e->a) && is_pure(e->b) && is_pure(e->c);
}

int comptime_truth(const struct Expr *e)
{
	struct Known k;
	if (e->kind != E_BINOP || (e->op != OP_LAND && e->op != OP_LOR))
		return comptime_eval(e, &k) ? known_truth(&k) : -1;
	int decides = e->op == OP_LOR, a = comptime_truth(e->a), b = comptime_truth(e->b);
	if (a == decides || (b == decides && (a >= 0 || is_pure(e->a))))
		return decides;
	return a < 0 || b < 0 ? -1 : !decides;
}

struct Expr *comptime_condition(struct Expr *e)
{
	int t = comptime_truth(e);
	if (t >= 0) {
		known_put(&(struct Known){.kind = E_BOOL, .ival = (u64)t}, e);
		return e;
	}
	if (e->kind == E_BLOCK && !e->body && e->a && e->a->kind != E_MAP)
		return comptime_condition(e->a);
	if (e->kind != E_BINOP || (e->op != OP_LAND && e->op != OP_LOR))
		return e;
	e->a = comptime_condition(e->a);
	e->b = comptime_condition(e->b);
	int neutral = e->op == OP_LAND;
	if (comptime_truth(e->a) == neutral)
		return e->b;
	if (comptime_truth(e->b) == neutral)
		return e->a;
	expr_set_height(e);
	return e;
}
