// Literals, the common type of two types, and the growth of maps' and variables' types. Invariant: a symbol's type only grows, so rounds end.
#include "lang/internal.h"

const char *tyname(struct Unit *u, const struct Type *t)
{
	struct Str s = {0};
	ty_name(t, &s);
	char *p = arena_strndup(u->arena, str_text(&s), s.n);
	str_deinit(&s);
	return p;
}

const struct Type *ty_none(struct Unit *u)
{
	return ty_simple(u->types, TY_NONE);
}

// ---- literals

const struct Type *int_type_for(struct TypeTab *t, u64 v, bool neg)
{
	if (neg) {
		s64 s = (s64)v;
		return ty_int(t, s >= INT8_MIN ? 1 : s >= INT16_MIN ? 2 : s >= INT32_MIN ? 4 : 8, true);
	}
	if (v > INT64_MAX)
		return ty_int(t, 8, false);
	return ty_lit(t, v <= INT8_MAX ? 1 : v <= INT16_MAX ? 2 : v <= INT32_MAX ? 4 : 8);
}

void make_int(struct Unit *u, struct Expr *e, u64 v, bool neg)
{
	e->kind = E_INT;
	e->ival = v;
	e->is_neg = neg;
	e->is_lit = true;
	e->type = int_type_for(u->types, v, neg);
}

void make_bool(struct Unit *u, struct Expr *e, bool v)
{
	e->kind = E_BOOL;
	e->ival = v;
	e->is_lit = true;
	e->type = ty_bool(u->types);
}

void make_str(struct Unit *u, struct Expr *e, const char *s, u32 len)
{
	e->kind = E_STR;
	e->str = s;
	e->len = len;
	e->is_lit = true;
	e->type = ty_str(u->types, len + 1);
}

bool expr_lit_str(const struct Expr *e, const char **s)
{
	if (e->kind != E_STR)
		return false;
	*s = e->str;
	return true;
}

// ---- type arithmetic

// Where no type holds both (uint64 and a signed one) it is int64, and sign_warning() speaks of it.
static const struct Type *hold_both(struct TypeTab *t, const struct Type *a, const struct Type *b)
{
	if (a->en && a->en == b->en)
		return a;
	if (a->is_lit && b->is_lit)
		return a->size > b->size ? a : b;
	if (a->is_lit || b->is_lit)
		return ty_int(t, MAX(a->size, b->size), a->is_lit ? b->sgn : a->sgn);
	if (a->sgn == b->sgn)
		return ty_int(t, MAX(a->size, b->size), a->sgn);
	const struct Type *s = a->sgn ? a : b, *n = a->sgn ? b : a;
	return ty_int(t, MIN(MAX(s->size, n->size * 2), 8u), true);
}

// What may be of either of two clocks is of none that is known.
static const struct Type *unify_int(struct TypeTab *t, const struct Type *a, const struct Type *b)
{
	u8 clock = a->is_lit ? b->clock : b->is_lit || a->clock == b->clock ? a->clock : 0;
	enum AddrSpace as = a->is_lit ? b->as : b->is_lit || a->as == b->as ? a->as : AS_NONE;
	bool reg = a->is_lit ? b->reg : a->reg && (b->is_lit || b->reg);
	return ty_of_register(t, ty_of_space(t, ty_of_clock(t, hold_both(t, a, b), clock), as), reg);
}

const struct Type *type_unify(struct TypeTab *t, const struct Type *a, const struct Type *b)
{
	if (a == b || b->kind == TY_NONE)
		return a;
	if (a->kind == TY_NONE)
		return b;
	if (ty_is_numbered(a) != ty_is_numbered(b) || (ty_is_numbered(a) && a->kind != b->kind)) {
		a = ty_as_text(t, a);
		b = ty_as_text(t, b);
	}
	if (a->kind != b->kind) // true and false are no numbers where a type has to be one
		return NULL;
	if (a->kind == TY_INT)
		return unify_int(t, a, b);
	if (ty_aggr_has_sign(a))
		return ty_aggr(t, a->kind, a->sgn || b->sgn);
	switch (a->kind) {
	case TY_BOOL:
		return a;
	case TY_STR:
		return ty_str(t, MAX(a->size, b->size));
	case TY_BUF:
		return ty_buf(t, MAX(a->size, b->size) - 4);
	case TY_PTR:
		if (a->elem->kind == TY_VOID)
			return a;
		if (a->elem == b->elem)
			return a->as == AS_NONE ? b : a;
		if (a->elem->kind == TY_RECORD && b->elem->kind == TY_RECORD && !strcmp(a->elem->rec->name, b->elem->rec->name))
			return a;
		if (ty_is_int(a->elem) && ty_is_int(b->elem) && a->elem->size == b->elem->size)
			return a;
		return NULL;
	case TY_TUPLE: {
		if (a->n != b->n)
			return NULL;
		const struct Type *f[64];
		const char *names[64];
		for (u32 i = 0; i < a->n; i++) {
			const struct TupleField *other = ty_tuple_field(b, &a->fields[i], i);
			names[i] = a->fields[i].name;
			if (!other || !(f[i] = type_unify(t, a->fields[i].type, other->type)))
				return NULL;
		}
		return ty_tuple(t, f, ty_is_record(a) ? names : NULL, a->n);
	}
	case TY_ARRAY:
		return a->n == b->n && a->elem->size == b->elem->size && a->elem->kind == b->elem->kind ? a : NULL;
	case TY_RECORD:
		return !strcmp(a->rec->name, b->rec->name) && a->size == b->size ? a : NULL;
	case TY_KSTACK:
	case TY_USTACK:
		return a->stack_mode == b->stack_mode ? (!a->stack_limit || (b->stack_limit && a->stack_limit >= b->stack_limit) ? a : b) : NULL;
	case TY_KSYM: case TY_USYM: case TY_INET: case TY_MAC: case TY_STRFTIME: case TY_CGROUP_PATH: case TY_USERNAME: case TY_STRERROR:
	case TY_SYSCALL_NAME: case TY_SIGNAL_NAME: case TY_LANG_FUNC: case TY_VOID:
		return a;
	case TY_TSERIES:
		if (a->ts_interval != b->ts_interval || a->ts_n != b->ts_n || a->ts_agg != b->ts_agg)
			return NULL;
		return a->sgn ? a : b;
	default:
		return NULL;
	}
}

// What an operand counts as in arithmetic: aggregations read as integers.
const struct Type *operand_type(struct Unit *u, const struct Type *t)
{
	if (ty_is_aggr_castable(t))
		return ty_int(u->types, 8, t->sgn);
	return t;
}

// ---- symbols

static bool signs_clash(const struct Type *a, const struct Type *b)
{
	if (a->kind == TY_TUPLE && b->kind == TY_TUPLE && a->n == b->n) {
		for (u32 i = 0; i < a->n; i++)
			if (signs_clash(a->fields[i].type, b->fields[i].type))
				return true;
		return false;
	}
	if (a->kind != TY_INT || b->kind != TY_INT || a->sgn == b->sgn || a->is_lit || b->is_lit)
		return false;
	return (a->sgn ? b : a)->size == 8;
}

static void sign_warning(struct Unit *u, struct Span at, const char *sigil, const char *name, const struct Type *have, const struct Type *t)
{
	if (u->final && have && signs_clash(have, t)) {
		diag_warn(u->diags, at, "Sign mismatch: '%s' for %s%s, which is '%s'", tyname(u, t), sigil, name, tyname(u, have));
		diag_hint(u->diags, "cast it to say what is meant");
	}
}

// A literal must be a number of the type a variable was declared with.
bool literal_fits(struct Unit *u, const struct VarSym *v, const struct Expr *e, struct Span at)
{
	const struct Type *to = v->type;
	if (!v->declared_type || to->kind != TY_INT || e->kind != E_INT)
		return true;
	u32 bits = 8 * to->size - to->sgn;
	if (e->is_neg ? to->sgn && (s64)e->ival >= -((s64)1 << (bits - 1)) - ((s64)1 << (bits - 1)) : bits == 64 || !(e->ival >> bits))
		return true;
	ERR(u, at, "Type mismatch for $%s: trying to assign value of type '%s' when variable already has a type '%s'", v->name, tyname(u, e->type),
	    tyname(u, to));
	HINT(u, "%s%llu is out of range", e->is_neg ? "-" : "", (unsigned long long)(e->is_neg ? 0 - e->ival : e->ival));
	return false;
}

void map_grow_key(struct Unit *u, struct MapSym *m, struct Span at, const struct Type *key)
{
	if (key->kind == TY_NONE)
		return;
	key = operand_type(u, key);
	const struct Type *t = m->key ? type_unify(u->types, m->key, key) : key;
	if (!t) {
		ERR(u, at, "Argument mismatch for %s: trying to access with arguments: '%s' when map expects arguments: '%s'", m->name,
		    tyname(u, key), tyname(u, m->key));
		return;
	}
	sign_warning(u, at, "the key of ", m->name, m->key, key);
	if (t != m->key) {
		m->key = t;
		u->changed = true;
	}
}

// What one map cannot have in two ways; NULL: the types' names tell it.
static const char *clash_of_bounds(const struct Type *a, const struct Type *b)
{
	switch (a->kind == b->kind ? a->kind : TY_NONE) {
	case TY_HIST: return "Different bits in a single hist unsupported";
	case TY_LHIST: return "Different lhist bounds in a single map unsupported";
	case TY_TSERIES: return "Different tseries bounds in a single map unsupported";
	default: return NULL;
	}
}

void map_grow_val(struct Unit *u, struct MapSym *m, struct Span at, const struct Type *val)
{
	m->assigned = true;
	if (val->kind == TY_NONE)
		return;
	const struct Type *t = m->val ? type_unify(u->types, m->val, val) : val;
	if (!t || (m->val && m->val->kind != t->kind && !(ty_is_int(m->val) && ty_is_int(t)) && !ty_is_numbered(m->val))) {
		const char *bounds = clash_of_bounds(m->val, val);
		if (bounds)
			ERR(u, at, "%s", bounds);
		else
			ERR(u, at, "Type mismatch for %s: trying to assign value of type '%s' when map already has a type '%s'", m->name, tyname(u, val),
			    tyname(u, m->val));
		return;
	}
	sign_warning(u, at, "", m->name, m->val, val);
	if (t != m->val) {
		m->val = t;
		u->changed = true;
	}
}

void var_grow(struct Unit *u, struct VarSym *v, struct Span at, const struct Type *t)
{
	if (t->kind == TY_NONE)
		return;
	t = operand_type(u, t);
	if (v->declared_type)
		t = ty_as_text(u->types, t);
	if (t->kind == TY_VOID || ty_is_aggr(t)) {
		ERR(u, at, "Value '%s' cannot be assigned to a scratch variable.", tyname(u, t));
		return;
	}
	const struct Type *n = v->type ? type_unify(u->types, v->type, t) : t;
	if (n && v->declared_type && n != v->type && !(ty_is_int(n) && t->kind == v->type->kind)) // a declared integer takes what fits of any
		n = n->kind == TY_STR && t->size <= v->type->size ? v->type : NULL;
	if (!n) {
		ERR(u, at, "Type mismatch for $%s: trying to assign value of type '%s' when variable already has a type '%s'", v->name,
		    tyname(u, t), tyname(u, v->type));
		return;
	}
	if (v->declared_type)
		n = v->type;
	sign_warning(u, at, "$", v->name, v->type, t);
	if (n != v->type) {
		v->type = n;
		u->changed = true;
	}
}

enum AddrSpace number_as(struct Unit *u, const struct Expr *e)
{
	if (e->type && e->type->kind == TY_INT && e->type->as != AS_NONE)
		return e->type->as;
	return e->kaddr ? AS_KERNEL : default_as(u);
}

enum AddrSpace default_as(struct Unit *u)
{
	switch (u->cur->point->kind) {
	case PK_UPROBE: case PK_URETPROBE: case PK_USDT:
		return AS_USER;
	case PK_TRACEPOINT:
		return u->cur->point->target && !strcmp(u->cur->point->target, "syscalls") ? AS_USER : AS_KERNEL;
	default:
		return AS_KERNEL;
	}
}
