// Types of operators, ternaries and casts. In: an operator's node. Out: its type; operators on literals become literals.
#include "lang/internal.h"
#include <pwd.h>
#include <signal.h>

// + - * of literals: false when no type of 64 bits holds the result.
static bool fold_fits(enum Op op, const struct Expr *a, const struct Expr *b, bool *neg)
{
	__int128 x = a->is_neg ? (s64)a->ival : (__int128)a->ival, y = b->is_neg ? (s64)b->ival : (__int128)b->ival, v;
	bool over = op == OP_ADD ? __builtin_add_overflow(x, y, &v) : op == OP_SUB ? __builtin_sub_overflow(x, y, &v) : __builtin_mul_overflow(x, y, &v);
	*neg = v < 0;
	return !over && v >= INT64_MIN && v <= (__int128)UINT64_MAX;
}

static u64 fold_int(enum Op op, u64 a, u64 b, bool sgn, bool *neg)
{
	u64 v = 0;
	switch (op) {
	case OP_ADD: v = a + b; break;
	case OP_SUB: v = a - b; break;
	case OP_MUL: v = a * b; break;
	case OP_DIV: v = !b ? 0 : sgn ? (b == (u64)-1 ? -a : (u64)((s64)a / (s64)b)) : a / b; break;
	case OP_MOD: v = !b ? a : sgn ? (b == (u64)-1 ? 0 : (u64)((s64)a % (s64)b)) : a % b; break;
	case OP_AND: v = a & b; break;
	case OP_OR: v = a | b; break;
	case OP_XOR: v = a ^ b; break;
	case OP_SHL: v = a << (b & 63); break;
	case OP_SHR: v = sgn ? (u64)((s64)a >> (b & 63)) : a >> (b & 63); break;
	default: UNREACHABLE();
	}
	*neg = sgn && (s64)v < 0;
	return v;
}

static bool fold_cmp(enum Op op, u64 a, u64 b, bool sgn)
{
	bool lt = sgn ? (s64)a < (s64)b : a < b;
	switch (op) {
	case OP_EQ: return a == b;
	case OP_NE: return a != b;
	case OP_LT: return lt;
	case OP_GE: return !lt;
	case OP_LE: return lt || a == b;
	case OP_GT: return !lt && a != b;
	default: UNREACHABLE();
	}
}

static bool is_cmp(enum Op op)
{
	return op >= OP_EQ && op <= OP_GE;
}

// What true and false give in arithmetic with each other is one of them.
static bool stays_bool(enum Op op)
{
	return op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_AND || op == OP_OR || op == OP_XOR;
}

static const struct Type *fold_binop(struct Unit *u, struct Expr *e)
{
	struct Expr *a = e->a, *b = e->b;
	bool sgn = a->is_neg || b->is_neg;
	if (e->op == OP_LAND || e->op == OP_LOR)
		make_bool(u, e, e->op == OP_LAND ? a->ival && b->ival : a->ival || b->ival);
	else if (is_cmp(e->op))
		make_bool(u, e, fold_cmp(e->op, a->ival, b->ival, a->is_neg || b->is_neg));
	else if (a->kind == E_BOOL && b->kind == E_BOOL && stays_bool(e->op))
		make_bool(u, e, fold_int(e->op, a->ival, b->ival, false, &(bool){false}));
	else {
		bool neg;
		if ((e->op == OP_DIV || e->op == OP_MOD) && !b->ival) {
			ERR(u, e->span, "unable to fold: division by zero");
			return ty_int(u->types, 8, false);
		}
		if ((e->op == OP_SHL || e->op == OP_SHR) && b->ival > 63) { // where it runs the processor takes 6 bits of it
			ERR(u, e->span, "unable to fold literals due to overflow or underflow");
			HINT(u, "a shift is by 0 to 63 bits");
			return ty_int(u->types, 8, false);
		}
		u64 v = fold_int(e->op, a->ival, b->ival, sgn, &neg);
		if ((e->op == OP_ADD || e->op == OP_SUB || e->op == OP_MUL) && !fold_fits(e->op, a, b, &neg)) {
			ERR(u, e->span, "unable to fold literals due to overflow or underflow");
			return ty_int(u->types, 8, false);
		}
		make_int(u, e, v, neg);
	}
	return e->type;
}

// Text is true when there is any.
const struct Type *check_truth(struct Unit *u, struct Expr *e)
{
	const struct Type *t = operand_type(u, check_expr(u, e));
	if (e->kind != E_STR)
		return t;
	make_bool(u, e, e->len > 0);
	return e->type;
}

// "abc" + 1 is what stands behind the first byte.
static const struct Type *skip_text(struct Unit *u, struct Expr *e, const struct Expr *text, const struct Expr *n)
{
	bool none = n->is_neg || n->ival >= text->len;
	if (none)
		diag_warn(u->diags, e->span, "literal string will always be empty");
	make_str(u, e, none ? "" : text->str + n->ival, none ? 0 : text->len - (u32)n->ival);
	return e->type;
}

// Operators on literals of which one at least is a text. NULL: there is no such operation.
static const struct Type *fold_text(struct Unit *u, struct Expr *e)
{
	struct Expr *a = e->a, *b = e->b;
	if (e->op == OP_ADD && a->kind == E_STR && b->kind == E_STR) {
		char *s = arena_alloc(u->arena, a->len + b->len + 1);
		memcpy(s, a->str, a->len);
		memcpy(s + a->len, b->str, b->len);
		s[a->len + b->len] = 0;
		make_str(u, e, s, a->len + b->len);
		return e->type;
	}
	if (e->op == OP_ADD && (a->kind == E_INT || b->kind == E_INT))
		return a->kind == E_STR ? skip_text(u, e, a, b) : skip_text(u, e, b, a);
	if (!is_cmp(e->op) || a->kind != b->kind)
		return NULL;
	int c = memcmp(a->str, b->str, MIN(a->len, b->len));
	s64 order = c ? c : (s64)a->len - (s64)b->len;
	make_bool(u, e, fold_cmp(e->op, (u64)order, 0, true));
	return e->type;
}

static const struct Type *binop_ptr(struct Unit *u, struct Expr *e, const struct Type *a, const struct Type *b)
{
	if (is_cmp(e->op) || e->op == OP_LAND || e->op == OP_LOR)
		return ty_bool(u->types);
	if (e->op == OP_ADD && a->kind == TY_PTR && ty_is_int(b))
		return a;
	if (e->op == OP_ADD && b->kind == TY_PTR && ty_is_int(a))
		return b;
	if (e->op == OP_SUB && a->kind == TY_PTR && ty_is_int(b))
		return a;
	if (e->op == OP_SUB && a->kind == TY_PTR && b->kind == TY_PTR)
		return ty_int(u->types, 8, true);
	if (a->kind == TY_PTR && ty_is_int(b))
		return ty_int(u->types, 8, false); // masks and shifts of an address
	ERR(u, e->span, u->diags->plain ? "The %s operator can not be used on expressions of types %s, %s" : "The %s operator can not be used on expressions of types '%s', '%s'", op_text(e->op), tyname(u, a), tyname(u, b));
	return ty_none(u);
}

// Later or earlier than a clock's time is a time of that clock; a difference of two is none.
static u8 clock_of(enum Op op, const struct Type *a, const struct Type *b)
{
	return op == OP_ADD && !(a->clock && b->clock) ? a->clock | b->clock : op == OP_SUB && !b->clock ? a->clock : 0;
}

// A difference is signed, all else as soon as one side is, or both are plain literals' types; a shift as what is shifted, where that has a
// type of its own.
const struct Type *arith_type(struct Unit *u, enum Op op, const struct Type *a, const struct Type *b)
{
	if (a->kind == TY_BOOL && b->kind == TY_BOOL && stays_bool(op))
		return ty_bool(u->types);
	if (op == OP_SHL || op == OP_SHR)
		return ty_int(u->types, 8, ty_signed(a) || (a->is_lit && (b->is_lit || ty_signed(b))));
	const struct Type *t = ty_int(u->types, 8, op == OP_SUB || ty_signed(a) || ty_signed(b) || (a->is_lit && b->is_lit));
	if ((op == OP_ADD || op == OP_SUB) && a->kind == TY_INT && b->kind == TY_INT) // of an address
		t = ty_of_space(u->types, t, a->as == AS_NONE ? b->as : b->as == AS_NONE || a->as == b->as ? a->as : AS_NONE);
	return ty_of_clock(u->types, t, clock_of(op, a, b));
}

static bool comparable(const struct Type *t)
{
	return t->kind == TY_STR || t->kind == TY_ARRAY || t->kind == TY_TUPLE || t->kind == TY_MAC || t->kind == TY_INET || t->kind == TY_BUF ||
	       t->kind == TY_STRFTIME;
}

// Texts that are numbers until they are printed: the number whose text is s, -1 if none is.
static s64 number_of_text(struct Unit *u, const struct Type *t, const char *s)
{
	const struct passwd *pw;
	switch (t->kind) {
	case TY_STRERROR:
		for (int i = 0; i < 4096; i++) // MAX_ERRNO
			if (!strcmp(strerror(i), s))
				return i;
		return -1;
	case TY_SIGNAL_NAME:
		for (int i = 1; i <= SIGRTMAX; i++)
			if (!strcmp(strsignal(i), s))
				return i;
		return -1;
	case TY_SYSCALL_NAME:
		return u->hooks->syscall_number ? u->hooks->syscall_number(s) : -1;
	default:
		return (pw = getpwnam(s)) ? (s64)pw->pw_uid : -1;
	}
}

// The other way round, for numbers known when compiling; NULL for other types and unknown numbers.
const char *text_of_number(struct Unit *u, const struct Type *t, s64 n)
{
	switch (t->kind) {
	case TY_STRERROR:
		return arena_strdup(u->arena, strerror((int)n));
	case TY_SIGNAL_NAME:
		return n >= 0 && n <= SIGRTMAX ? arena_strdup(u->arena, strsignal((int)n)) : NULL;
	case TY_SYSCALL_NAME:
		return u->hooks->syscall_name ? u->hooks->syscall_name((int)n) : NULL;
	default:
		return NULL;
	}
}

static bool is_late_text(const struct Type *t)
{
	return ty_text_bits(t) != 0;
}

// strerror(e) == "text": the literal becomes the number as it is kept, once e can no longer come to be a string; of a text that no number has one that no value is.
static bool compare_late_text(struct Unit *u, const struct Type *t, struct Expr *lit)
{
	if (!is_late_text(t))
		return false;
	if (lit->kind == E_STR && !u->final)
		return true;
	if (lit->kind == E_STR) {
		s64 n = number_of_text(u, t, lit->str), kept = (u32)n ^ ty_text_bits(t);
		if (n < 0)
			kept = *lit->str ? 1ll << 40 : 0;
		else if (ty_signed(t))
			kept = (s32)kept;
		make_int(u, lit, (u64)kept, kept < 0);
	}
	return lit->kind == E_INT && lit->str; // a number that the script has is no text
}

const struct Type *check_binop(struct Unit *u, struct Expr *e)
{
	if (e->a->kind == E_TYPEINFO && e->b->kind == E_TYPEINFO && (e->op == OP_EQ || e->op == OP_NE)) {
		const struct Type *x = e->a->spec ? check_spec(u, e->a->spec) : check_expr(u, e->a->a);
		const struct Type *y = e->b->spec ? check_spec(u, e->b->spec) : check_expr(u, e->b->a);
		if (u->final && x->kind != TY_NONE && y->kind != TY_NONE)
			make_bool(u, e, (e->op == OP_EQ) == !strcmp(tyname(u, x), tyname(u, y)));
		return ty_bool(u->types);
	}
	bool logic = e->op == OP_LAND || e->op == OP_LOR;
	const struct Type *a = logic ? check_truth(u, e->a) : operand_type(u, check_expr(u, e->a));
	const struct Type *b = logic ? check_truth(u, e->b) : operand_type(u, check_expr(u, e->b));
	if (a->kind == TY_NONE || b->kind == TY_NONE)
		return is_cmp(e->op) || e->op == OP_LAND || e->op == OP_LOR ? ty_bool(u->types) : ty_none(u);
	if (lit_num(e->a) && lit_num(e->b))
		return fold_binop(u, e);
	const struct Type *folded = (e->a->kind == E_STR || lit_num(e->a)) && (e->b->kind == E_STR || lit_num(e->b)) ? fold_text(u, e) : NULL;
	if (folded)
		return folded;
	if (a->kind == TY_PTR || b->kind == TY_PTR) {
		bool ok = (a->kind == TY_PTR || ty_is_int(a)) && (b->kind == TY_PTR || ty_is_int(b));
		if (ok)
			return binop_ptr(u, e, a, b);
	}
	if (ty_is_int(a) && ty_is_int(b))
		return is_cmp(e->op) || e->op == OP_LAND || e->op == OP_LOR ? ty_bool(u->types) : arith_type(u, e->op, a, b);
	if ((e->op == OP_EQ || e->op == OP_NE) && a->kind == b->kind && comparable(a)) {
		if (u->final && a->kind == TY_TUPLE && !type_unify(u->types, a, b)) // tuples of different types are never equal
			make_bool(u, e, e->op == OP_NE);
		if (a->kind == TY_ARRAY && (a->n != b->n || a->elem->size != b->elem->size))
			ERR(u, e->span, "Only arrays of same size support comparison operators.");
		return ty_bool(u->types);
	}
	if ((e->op == OP_EQ || e->op == OP_NE) && (compare_late_text(u, a, e->b) || compare_late_text(u, b, e->a)))
		return ty_bool(u->types);
	if ((e->op == OP_EQ || e->op == OP_NE) && (ty_is_numbered(a) || ty_is_numbered(b)) && type_unify(u->types, a, b))
		return ty_bool(u->types);
	if ((e->op == OP_EQ || e->op == OP_NE) && a->kind == b->kind && (is_late_text(a) || ty_is_stack(a) || a->kind == TY_KSYM))
		return ty_bool(u->types);
	if (a->kind == b->kind && u->diags->plain)
		ERR(u, e->span, "The %s operator can not be used on expressions of types %s, %s", op_text(e->op), tyname(u, a), tyname(u, b));
	else if (a->kind == b->kind)
		ERR(u, e->span, "The %s operator can not be used on expressions of type '%s'", op_text(e->op), tyname(u, a));
	else if (u->diags->plain) {
		ERR(u, e->span, "Type mismatch for '%s': comparing %s with %s", op_text(e->op), tyname(u, a), tyname(u, b));
		ERR(u, e->a->span, "left (%s)", tyname(u, a));
		ERR(u, e->b->span, "right (%s)", tyname(u, b));
	} else {
		ERR(u, e->span, "Type mismatch for '%s': comparing '%s' with '%s'", op_text(e->op), tyname(u, a), tyname(u, b));
		if (a->kind == TY_STR || b->kind == TY_STR)
			HINT(u, "text is compared with text; use str() to read it from an address");
	}
	return is_cmp(e->op) ? ty_bool(u->types) : ty_none(u);
}

static const struct Type *check_incdec(struct Unit *u, struct Expr *e)
{
	struct Expr *x = e->a;
	bool dec = e->op == OP_PREDEC || e->op == OP_POSTDEC;
	if (x->kind != E_VAR && x->kind != E_MAP && x->kind != E_MAPREF) {
		ERR(u, e->span, "The %s operator must be applied to a map or variable", dec ? "--" : "++");
		return ty_none(u);
	}
	const struct Type *t = check_expr(u, x);
	if (t->kind == TY_PTR)
		return t;
	if (t->kind != TY_NONE && !ty_is_int(t)) {
		if (u->diags->plain)
			ERR(u, e->span, "Type mismatch for %s%s: trying to assign value of type 'uint64' when %s already has a type '%s'", x->kind == E_VAR ? "$" : "",
			    x->kind == E_VAR ? x->str : x->map->name, x->kind == E_VAR ? "variable" : "map", tyname(u, t));
		else
			ERR(u, e->span, "The %s operator can not be used on expressions of type '%s'", dec ? "--" : "++", tyname(u, t));
		return ty_none(u);
	}
	if (x->kind == E_VAR) {
		if (t->kind == TY_BOOL || (t->kind == TY_INT && !x->var->declared_type))
			var_grow(u, x->var, e->span, ty_int(u->types, 8, t->sgn || dec));
		return x->var->type ? x->var->type : t;
	}
	map_grow_val(u, x->map, e->span, ty_int(u->types, 8, t->kind == TY_NONE || t->size < 8 || t->sgn || dec));
	return x->map->val ? x->map->val : t;
}

// *retval, *arg0: tools of bpftrace's first years read 64 bits at such a number; so does *uptr(arg0). It becomes *(uint64 *)retval.
static const struct Type *deref_number(struct Unit *u, struct Expr *e)
{
	if (!e->a->kaddr && e->a->type->as == AS_NONE) {
		diag_warn(u->diags, e->span, "'%s' is no pointer: 8 bytes are read at that address", tyname(u, e->a->type));
		diag_hint(u->diags, "write *(uint64 *)");
	}
	struct TypeSpec *spec = arena_new(u->arena, struct TypeSpec);
	struct Expr *cast = arena_new(u->arena, struct Expr);
	*spec = (struct TypeSpec){.span = e->span, .name = "uint64", .ptrs = 1};
	*cast = (struct Expr){.kind = E_CAST, .span = e->span, .a = e->a, .spec = spec};
	expr_set_height(cast);
	e->a = cast;
	u->changed = true;
	return check_expr(u, e);
}

const struct Type *check_unop(struct Unit *u, struct Expr *e)
{
	if (e->op >= OP_PREINC)
		return check_incdec(u, e);
	const struct Type *t = operand_type(u, check_expr(u, e->a));
	if (t->kind == TY_NONE)
		return e->op == OP_NOT ? ty_bool(u->types) : t;
	switch (e->op) {
	case OP_NEG:
		if (e->a->kind == E_INT) {
			u64 v = -e->a->ival;
			if (!e->a->is_neg && e->a->ival > (u64)1 << 63) {
				ERR(u, e->span, "negative value will underflow");
				return ty_int(u->types, 8, true);
			}
			make_int(u, e, v, (s64)v < 0);
			return e->type;
		}
		if (t->kind == TY_INT)
			return ty_int(u->types, 8, true);
		break;
	case OP_BNOT:
		if (e->a->kind == E_INT) {
			u64 v = ~e->a->ival;
			make_int(u, e, v, false);
			return e->type;
		}
		if (t->kind == TY_INT)
			return ty_int(u->types, t->size, t->sgn);
		break;
	case OP_NOT:
		if (e->a->kind == E_STR)
			t = check_truth(u, e->a);
		if (lit_num(e->a)) {
			make_bool(u, e, !e->a->ival);
			return e->type;
		}
		if (ty_is_int(t) || t->kind == TY_PTR)
			return ty_bool(u->types);
		break;
	case OP_DEREF:
		if (t->kind == TY_PTR) {
			e->as = space_behind(e->a);
			if (t->elem->kind == TY_VOID || (t->elem->kind != TY_RECORD && !t->elem->size)) {
				ERR(u, e->span, "Can not dereference a pointer to '%s'", tyname(u, t->elem));
				return ty_none(u);
			}
			if (t->elem->kind == TY_PTR)
				return ty_ptr(u->types, t->elem->elem, t->as);
			if (t->elem->kind == TY_RECORD && !ctype_record_load(u->ctypes, t->elem->rec))
				ERR(u, e->span, "Unknown struct/union: '%s'", t->elem->rec->name);
			if (t->elem->kind == TY_RECORD)
				return ty_record(u->types, t->elem->rec);
			return t->elem;
		}
		if (t->kind == TY_INT && (t->size == 8 || t->as != AS_NONE))
			return deref_number(u, e);
		ERR(u, e->span, "Can not dereference type '%s'. It is not a pointer.", tyname(u, t));
		if (ty_is_int(t))
			HINT(u, "cast it first: *(uint64 *)...");
		return ty_none(u);
	case OP_ADDR:
		if (e->a->kind == E_VAR || e->a->kind == E_MAP || e->a->kind == E_MAPREF) {
			if (e->a->var)
				e->a->var->captured = true; // it needs memory
			return ty_ptr(u->types, t, AS_KERNEL); // memory of BPF programs, read as the kernel's: a script may count on from there
		}
		if (e->a->kind == E_FIELD || e->a->kind == E_INDEX || (e->a->kind == E_UNOP && e->a->op == OP_DEREF))
			return ty_ptr(u->types, t, e->a->as);
		ERR(u, e->span, "The & operator takes a variable, a map or a field");
		return ty_none(u);
	default:
		break;
	}
	ERR(u, e->span, "The %s operator can not be used on expressions of type '%s'", op_text(e->op), tyname(u, t));
	return ty_none(u);
}

const struct Type *check_ternary(struct Unit *u, struct Expr *e)
{
	const struct Type *c = check_truth(u, e->a);
	bool known = lit_num(e->a), takes_a = known && e->a->ival;
	u->unreached += known && !takes_a;
	const struct Type *a = check_expr(u, e->b);
	u->unreached += takes_a - (known && !takes_a);
	const struct Type *b = check_expr(u, e->c);
	u->unreached -= takes_a;
	if (c->kind != TY_NONE && !ty_is_int(c) && c->kind != TY_PTR)
		ERR(u, e->a->span, "Invalid condition in ternary: %s", tyname(u, c));
	if (lit_num(e->a)) {
		struct Expr *pick = e->a->ival ? e->b : e->c;
		if (pick->is_lit) {
			struct Span at = e->span;
			*e = *pick;
			e->span = at;
			if (e->type->en && a->kind == TY_INT && b->kind == TY_INT) // an enum's value or another number: a number
				e->type = type_unify(u->types, a, b);
			return e->type;
		}
	}
	if (a->kind == TY_NONE)
		return b;
	if (b->kind == TY_NONE)
		return a;
	const struct Type *t = type_unify(u->types, operand_type(u, a), operand_type(u, b));
	if (!t) {
		ERR(u, e->span, "Branches must return the same type or compatible types: have '%s' and '%s'", tyname(u, a), tyname(u, b));
		return ty_none(u);
	}
	return t;
}

static void check_enum_value(struct Unit *u, struct Expr *e, const struct Enum *en)
{
	for (u32 i = 0; i < en->n; i++)
		if ((u64)en->consts[i].val == e->a->ival)
			return;
	ERR(u, e->span, "enum %s has no value %lld", en->name, (long long)e->a->ival);
}

const struct Type *check_cast(struct Unit *u, struct Expr *e)
{
	const struct Type *to = check_spec(u, e->spec), *from = operand_type(u, check_expr(u, e->a));
	if (to->kind == TY_NONE || from->kind == TY_NONE)
		return to;
	bool from_num = ty_is_int(from) || from->kind == TY_PTR || from->kind == TY_KSYM || from->kind == TY_USYM;
	switch (to->kind) {
	case TY_INT:
	case TY_BOOL:
		if (from->kind == TY_ARRAY) {
			if (from->size != to->size)
				ERR(u, e->span, "Cannot cast from \"%s\" to \"%s\": size mismatch", tyname(u, from), tyname(u, to));
			return to;
		}
		if (from->kind == TY_STR && e->a->is_lit && to->kind == TY_BOOL)
			return to;
		if (!from_num)
			break;
		if (e->a->kind == E_INT && to->kind == TY_INT && !to->en) {
			u64 v = e->a->ival;
			u32 sh = 64 - to->size * 8;
			v = to->sgn ? (u64)((s64)(v << sh) >> sh) : v << sh >> sh;
			e->ival = v;
			e->is_neg = to->sgn && (s64)v < 0;
		}
		if (e->a->kind == E_INT && to->en)
			check_enum_value(u, e, to->en);
		return to;
	case TY_PTR:
		if (from->kind == TY_PTR)
			return ty_ptr(u->types, to->elem, from->as);
		if (from->kind == TY_RECORD || from->kind == TY_ARRAY || from->kind == TY_STR) {
			if (e->a->as && e->a->as != AS_BPF && from->kind != TY_ARRAY)
				break;
			if (from->kind == TY_ARRAY && from->size == 8)
				return to;
			break;
		}
		if (from_num)
			return e->a->kaddr ? ty_ptr(u->types, to->elem, AS_KERNEL) : from->kind == TY_INT && from->as != AS_NONE ? ty_ptr(u->types, to->elem, from->as) : to;
		break;
	case TY_ARRAY: {
		u32 have = from->kind == TY_BOOL ? 1 : from->size;
		if (from->kind == TY_STR && ty_is_int(to->elem) && to->elem->size == 1 && (!to->n || to->n <= have))
			return ty_array(u->types, ty_int(u->types, 1, to->elem->sgn), to->n ? to->n : have); // the text's buffer, its NUL included
		if (!ty_is_int(from) && from->kind != TY_ARRAY && from->kind != TY_INET && from->kind != TY_PTR)
			break;
		u32 n = to->n ? to->n : to->elem->size ? have / to->elem->size : 0;
		if (!n || n * to->elem->size != have) {
			if (e->a->kind == E_INT && n && n * to->elem->size <= 8)
				return ty_array(u->types, to->elem, n);
			ERR(u, e->span, "Cannot cast from \"%s\" to \"%s\": size mismatch", tyname(u, from), tyname(u, to));
			return ty_none(u);
		}
		return ty_array(u->types, to->elem, n);
	}
	case TY_STR:
		if (from->kind == TY_STR || ty_is_numbered(from))
			return to;
		break;
	default:
		if (to->kind == from->kind)
			return type_unify(u->types, to, from) ? to : ty_none(u);
		break;
	}
	ERR(u, e->span, "Cannot cast from \"%s\" to \"%s\"", tyname(u, from), tyname(u, to));
	return ty_none(u);
}
