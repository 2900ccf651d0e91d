// Types of expressions. In: a resolved tree. Out: Expr.type of every expression, literals folded. Called again in each round of check.c.
#include "lang/check.h"

#define ERR(u, at, ...) ((u)->final ? diag_error((u)->diags, (at), __VA_ARGS__) : (void)0)
#define HINT(u, ...) ((u)->final ? diag_hint((u)->diags, __VA_ARGS__) : (void)0)

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
	return ty_int(t, v <= UINT8_MAX ? 1 : v <= UINT16_MAX ? 2 : v <= UINT32_MAX ? 4 : 8, false);
}

void make_int(struct Unit *u, struct Expr *e, u64 v, bool neg)
{
	e->kind = E_INT;
	e->ival = v;
	e->is_neg = neg;
	e->is_lit = true;
	e->type = int_type_for(u->types, v, neg);
}

static void make_bool(struct Unit *u, struct Expr *e, bool v)
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

static bool lit_num(const struct Expr *e)
{
	return e->kind == E_INT || e->kind == E_BOOL;
}

// ---- type arithmetic

static const struct Type *unify_int(struct TypeTab *t, const struct Type *a, const struct Type *b)
{
	if (a->en && a->en == b->en)
		return a;
	if (a->sgn == b->sgn)
		return ty_int(t, MAX(a->size, b->size), a->sgn);
	const struct Type *s = a->sgn ? a : b, *n = a->sgn ? b : a;
	u32 size = MAX(s->size, n->size * 2);
	return size > 8 ? NULL : ty_int(t, size, true);
}

const struct Type *type_unify(struct TypeTab *t, const struct Type *a, const struct Type *b)
{
	if (a == b || b->kind == TY_NONE)
		return a;
	if (a->kind == TY_NONE)
		return b;
	if (ty_is_int(a) && ty_is_int(b)) {
		if (a->kind == TY_BOOL)
			a = ty_int(t, 1, false);
		if (b->kind == TY_BOOL)
			b = ty_int(t, 1, false);
		return unify_int(t, a, b);
	}
	if (a->kind != b->kind)
		return NULL;
	switch (a->kind) {
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
		for (u32 i = 0; i < a->n; i++)
			if (!(f[i] = type_unify(t, a->fields[i].type, b->fields[i].type)))
				return NULL;
		return ty_tuple(t, f, a->n);
	}
	case TY_ARRAY:
		return a->n == b->n && a->elem->size == b->elem->size && a->elem->kind == b->elem->kind ? a : NULL;
	case TY_RECORD:
		return !strcmp(a->rec->name, b->rec->name) && a->size == b->size ? a : NULL;
	case TY_KSTACK:
	case TY_USTACK:
		return a->stack_mode == b->stack_mode ? (a->stack_limit >= b->stack_limit ? a : b) : NULL;
	case TY_SUM: case TY_MIN: case TY_MAX: case TY_AVG: case TY_STATS:
		return ty_aggr(t, a->kind, a->sgn || b->sgn);
	case TY_KSYM: case TY_USYM: case TY_INET: case TY_MAC: case TY_STRFTIME: case TY_CGROUP_PATH: case TY_USERNAME: case TY_STRERROR:
	case TY_SYSCALL_NAME: case TY_COUNT: case TY_VOID: case TY_TSERIES:
		return a;
	default:
		return NULL;
	}
}

// What an operand counts as in arithmetic: aggregations read as integers.
const struct Type *operand_type(struct Unit *u, const struct Type *t)
{
	if (ty_is_aggr_castable(t))
		return ty_int(u->types, 8, t->kind != TY_COUNT && t->sgn);
	return t;
}

// ---- symbols

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
	if (t != m->key) {
		m->key = t;
		u->changed = true;
	}
}

void map_grow_val(struct Unit *u, struct MapSym *m, struct Span at, const struct Type *val)
{
	if (val->kind == TY_NONE)
		return;
	const struct Type *t = m->val ? type_unify(u->types, m->val, val) : val;
	if (!t || (m->val && m->val->kind != t->kind && !(ty_is_int(m->val) && ty_is_int(t)))) {
		ERR(u, at, "Type mismatch for %s: trying to assign value of type '%s' when map already has a type '%s'", m->name, tyname(u, val),
		    tyname(u, m->val));
		return;
	}
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
	if (t->kind == TY_VOID || ty_is_aggr(t)) {
		ERR(u, at, "Value '%s' cannot be assigned to a scratch variable.", tyname(u, t));
		return;
	}
	const struct Type *n = v->type ? type_unify(u->types, v->type, t) : t;
	if (n && v->declared_type && n != v->type && !(ty_is_int(n) && ty_is_int(v->type) && t->kind == v->type->kind && t->size <= v->type->size))
		n = n->kind == TY_STR && t->size <= v->type->size ? v->type : NULL;
	if (!n) {
		if (ty_is_int(t) && v->type && ty_is_int(v->type) && t->size > v->type->size)
			ERR(u, at, "Integer size mismatch. Assignment type '%s' is larger than the variable type '%s'.", tyname(u, t), tyname(u, v->type));
		else
			ERR(u, at, "Type mismatch for $%s: trying to assign value of type '%s' when variable already has a type '%s'", v->name,
			    tyname(u, t), tyname(u, v->type));
		return;
	}
	if (v->declared_type)
		n = v->type;
	if (n != v->type) {
		v->type = n;
		u->changed = true;
	}
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

// ---- type specs

// A user probe's types come from the debug information of its binary rather than from the kernel.
static void add_binary_types(struct Unit *u)
{
	const struct Point *p = u->cur->point;
	if ((p->kind == PK_UPROBE || p->kind == PK_URETPROBE || p->kind == PK_USDT) && p->target)
		err_free(ctype_add_dwarf(u->ctypes, p->target)); // a binary without debug information adds none
}

const struct Type *check_spec(struct Unit *u, struct TypeSpec *s)
{
	static const struct { const char *name; u8 size; bool sgn; } ints[] = {
		{"int8", 1, true}, {"uint8", 1, false}, {"int16", 2, true}, {"uint16", 2, false},
		{"int32", 4, true}, {"uint32", 4, false}, {"int64", 8, true}, {"uint64", 8, false}};
	static const struct { const char *name; enum TyKind kind; } plain[] = {
		{"void", TY_VOID}, {"usym_t", TY_USYM}, {"ksym_t", TY_KSYM}, {"inet", TY_INET}, {"macaddr_t", TY_MAC}, {"mac_address", TY_MAC},
		{"timestamp", TY_STRFTIME}, {"cgroup_path_t", TY_CGROUP_PATH}, {"username", TY_USERNAME}};
	const struct Type *t = NULL;
	if (s->typeof_expr)
		t = check_expr(u, s->typeof_expr);
	else if (s->tuple || s->ntuple) {
		const struct Type *f[64];
		for (u32 i = 0; i < s->ntuple && i < 64; i++)
			f[i] = check_spec(u, s->tuple[i]);
		t = ty_tuple(u->types, f, MIN(s->ntuple, 64u));
	} else {
		for (size_t i = 0; !t && i < ARRAY_LEN(ints); i++)
			if (!strcmp(s->name, ints[i].name))
				t = ty_int(u->types, ints[i].size, ints[i].sgn);
		for (size_t i = 0; !t && i < ARRAY_LEN(plain); i++)
			if (!strcmp(s->name, plain[i].name))
				t = ty_simple(u->types, plain[i].kind);
		if (!t && !strcmp(s->name, "bool"))
			t = ty_bool(u->types);
		if (!t && !strcmp(s->name, "string"))
			t = ty_str(u->types, s->str_size ? (u32)s->str_size : s->is_array && s->array_sized ? (u32)s->array_n : u->config->max_strlen);
		if (t && t->kind == TY_STR && s->is_array)
			return t;
		if (!t && !strcmp(s->name, "buffer"))
			t = ty_buf(u->types, s->str_size ? (u32)s->str_size : u->config->max_strlen);
		if (!t && (!strcmp(s->name, "kstack_t") || !strcmp(s->name, "kstack")))
			t = ty_stack(u->types, false, u->config->stack_mode, 127, false);
		if (!t && (!strcmp(s->name, "ustack_t") || !strcmp(s->name, "ustack")))
			t = ty_stack(u->types, true, u->config->stack_mode, 127, false);
		if (!t) {
			add_binary_types(u);
			t = ctype_lookup(u->ctypes, s->name);
		}
	}
	if (!t) {
		ERR(u, s->span, "Cannot resolve unknown type \"%s\"", s->name);
		const char *near = u->final ? ctype_nearest(u->ctypes, s->name) : NULL;
		const char *header = ctype_unresolved_hint(u->ctypes);
		if (near)
			HINT(u, "did you mean '%s'?", near);
		if (header)
			HINT(u, "%s", header);
		return ty_none(u);
	}
	for (u32 i = 0; i < s->ptrs; i++)
		t = ty_ptr(u->types, t, default_as(u));
	if (s->is_array && t->kind != TY_STR)
		t = ty_array(u->types, t, s->array_sized ? (u32)s->array_n : 0);
	return t;
}

// ---- expressions

// Address space of a pointer that is a member of a record in memory of space `as`.
static enum AddrSpace pointer_as(struct Unit *u, const struct Field *f, enum AddrSpace as)
{
	if (f->user_ptr || f->type->as == AS_USER)
		return AS_USER;
	if (f->type->as == AS_KERNEL || as == AS_KERNEL)
		return AS_KERNEL;
	return as == AS_USER ? AS_USER : default_as(u); // of a copy
}

static const struct Type *check_field_of(struct Unit *u, struct Expr *e, const struct Type *rt, enum AddrSpace as)
{
	struct Record *r = rt->rec;
	bool loaded = r->loaded || ctype_record_load(u->ctypes, r);
	// Two units may see different records behind one node's name: look it up anew each round.
	if (!loaded || !record_field(r, e->str, &e->field)) {
		if (!loaded && !r->is_args)
			ERR(u, e->span, "Unknown struct/union: '%s'", r->name);
		else if (r->is_args)
			ERR(u, e->span, "Can't find function parameter %s", e->str);
		else
			ERR(u, e->span, "Struct/union of type '%s%s' does not contain a field named '%s'", r->is_union ? "union " : "struct ",
			    r->name, e->str);
		if (u->final && loaded) {
			VEC(const char *) names = {0};
			for (u32 i = 0; i < r->nfields; i++)
				vec_push(&names, r->fields[i].name);
			const char *near = nearest_name(e->str, names.p, names.n);
			if (near && *near)
				HINT(u, "did you mean '%s'?", near);
			vec_deinit(&names);
		}
		return ty_none(u);
	}
	const struct Field *f = &e->field;
	const struct Type *t = f->type;
	e->as = as;
	if (f->data_loc || f->rel_loc)
		return ty_ptr(u->types, t->kind == TY_ARRAY ? t->elem : t, AS_KERNEL);
	if (t->kind == TY_PTR)
		return ty_ptr(u->types, t->elem, pointer_as(u, f, as));
	if (t->kind == TY_ARRAY && t->elem->is_char)
		return ty_str(u->types, t->n);
	return t;
}

static const struct Type *check_field(struct Unit *u, struct Expr *e)
{
	const struct Type *t = check_expr(u, e->a);
	enum AddrSpace as = e->a->as;
	if (t->kind == TY_NONE)
		return t;
	if (t->kind == TY_PTR) {
		as = t->as;
		t = t->elem;
	}
	if (t->kind != TY_RECORD) {
		ERR(u, e->span, "Can not access field '%s' on expression of type '%s'", e->str, tyname(u, e->a->type));
		if (ty_is_int(t))
			HINT(u, "cast it first: ((struct NAME *)...).%s", e->str);
		return ty_none(u);
	}
	return check_field_of(u, e, t, as);
}

static const struct Type *check_tupfield(struct Unit *u, struct Expr *e, u64 index)
{
	const struct Type *t = e->a->type;
	if (index >= t->n) {
		ERR(u, e->span, "Invalid tuple index: %llu. Found %u elements in tuple.", (unsigned long long)index, t->n);
		return ty_none(u);
	}
	e->kind = E_TUPFIELD;
	e->tup = (u32)index;
	return t->fields[index].type;
}

static const struct Type *check_index(struct Unit *u, struct Expr *e)
{
	const struct Type *t = check_expr(u, e->a), *i = check_expr(u, e->b);
	if (t->kind == TY_NONE)
		return t;
	if (t->kind == TY_TUPLE) {
		if (e->b->kind != E_INT) {
			ERR(u, e->b->span, "Tuples must be indexed with a constant");
			return ty_none(u);
		}
		return check_tupfield(u, e, e->b->ival);
	}
	if (t->kind != TY_ARRAY && t->kind != TY_PTR && t->kind != TY_STR && t->kind != TY_BUF) {
		ERR(u, e->span, "The array index operator [] can not be used on type '%s'.", tyname(u, t));
		return ty_none(u);
	}
	if (i->kind != TY_NONE && !ty_is_int(operand_type(u, i)))
		ERR(u, e->b->span, "The array index operator [] only accepts integer indices. Got '%s'.", tyname(u, i));
	if (t->kind == TY_STR || t->kind == TY_BUF) {
		e->as = AS_BPF;
		return ty_char(u->types);
	}
	if (t->kind == TY_ARRAY && e->b->kind == E_INT && (e->b->is_neg || (t->n && e->b->ival >= t->n)))
		ERR(u, e->span, "the index %lld is out of bounds for array of size %u", (long long)e->b->ival, t->n);
	e->as = t->kind == TY_PTR ? t->as : e->a->as;
	const struct Type *el = t->elem;
	if (el->kind == TY_ARRAY && el->elem->is_char)
		return ty_str(u->types, el->n);
	if (t->kind == TY_PTR && !el->size) {
		ERR(u, e->span, "Cannot index a pointer to '%s': its size is not known", tyname(u, el));
		return ty_none(u);
	}
	return el;
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
	case OP_SHL: v = b < 64 ? a << b : 0; break;
	case OP_SHR: v = b > 63 ? 0 : sgn ? (u64)((s64)a >> b) : a >> b; break;
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

static const struct Type *fold_binop(struct Unit *u, struct Expr *e)
{
	struct Expr *a = e->a, *b = e->b;
	bool sgn = a->is_neg || b->is_neg || (e->op == OP_SUB && a->ival < b->ival);
	if (e->op == OP_LAND || e->op == OP_LOR)
		make_bool(u, e, e->op == OP_LAND ? a->ival && b->ival : a->ival || b->ival);
	else if (is_cmp(e->op))
		make_bool(u, e, fold_cmp(e->op, a->ival, b->ival, a->is_neg || b->is_neg));
	else {
		bool neg;
		if ((e->op == OP_DIV || e->op == OP_MOD) && !b->ival) {
			ERR(u, e->span, "unable to fold: division by zero");
			return ty_int(u->types, 8, false);
		}
		u64 v = fold_int(e->op, a->ival, b->ival, sgn, &neg);
		const struct Type *en = a->type && a->type->en ? a->type : NULL;
		make_int(u, e, v, neg);
		(void)en;
	}
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
	ERR(u, e->span, "The %s operator can not be used on expressions of types '%s', '%s'", op_text(e->op), tyname(u, a), tyname(u, b));
	return ty_none(u);
}

static const struct Type *binop_int(struct Unit *u, struct Expr *e, const struct Type *a, const struct Type *b)
{
	if (is_cmp(e->op) || e->op == OP_LAND || e->op == OP_LOR)
		return ty_bool(u->types);
	bool wide = (a->size == 8 && !a->sgn && !(lit_num(e->a) && a->en)) || (b->size == 8 && !b->sgn);
	bool sgn = a->sgn || b->sgn;
	if (e->op == OP_SHL || e->op == OP_SHR)
		return ty_int(u->types, 8, a->sgn);
	if (wide)
		sgn = false;
	else if (e->op == OP_SUB)
		sgn = true;
	return ty_int(u->types, 8, sgn);
}

static bool comparable(const struct Type *t)
{
	return t->kind == TY_STR || t->kind == TY_ARRAY || t->kind == TY_TUPLE || t->kind == TY_MAC || t->kind == TY_INET || t->kind == TY_BUF;
}

static const struct Type *check_binop(struct Unit *u, struct Expr *e)
{
	const struct Type *a = operand_type(u, check_expr(u, e->a)), *b = operand_type(u, check_expr(u, e->b));
	if (a->kind == TY_NONE || b->kind == TY_NONE)
		return is_cmp(e->op) || e->op == OP_LAND || e->op == OP_LOR ? ty_bool(u->types) : ty_none(u);
	if (lit_num(e->a) && lit_num(e->b))
		return fold_binop(u, e);
	const char *x, *y;
	if (expr_lit_str(e->a, &x) && expr_lit_str(e->b, &y) && (e->op == OP_EQ || e->op == OP_NE)) {
		bool eq = e->a->len == e->b->len && !memcmp(x, y, e->a->len);
		make_bool(u, e, (e->op == OP_EQ) == eq);
		return e->type;
	}
	if (a->kind == TY_PTR || b->kind == TY_PTR) {
		bool ok = (a->kind == TY_PTR || ty_is_int(a)) && (b->kind == TY_PTR || ty_is_int(b));
		if (ok)
			return binop_ptr(u, e, a, b);
	}
	if (ty_is_int(a) && ty_is_int(b))
		return binop_int(u, e, a, b);
	if ((e->op == OP_EQ || e->op == OP_NE) && a->kind == b->kind && comparable(a)) {
		if (a->kind == TY_TUPLE && !type_unify(u->types, a, b))
			ERR(u, e->span, "Type mismatch for '%s': comparing '%s' with '%s'", op_text(e->op), tyname(u, a), tyname(u, b));
		if (a->kind == TY_ARRAY && (a->n != b->n || a->elem->size != b->elem->size))
			ERR(u, e->span, "Only arrays of same size support comparison operators.");
		return ty_bool(u->types);
	}
	if ((e->op == OP_EQ || e->op == OP_NE) && a->kind == b->kind && (ty_is_stack(a) || a->kind == TY_KSYM))
		return ty_bool(u->types);
	if (a->kind == b->kind)
		ERR(u, e->span, "The %s operator can not be used on expressions of type '%s'", op_text(e->op), tyname(u, a));
	else {
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
		ERR(u, e->span, "The %s operator can not be used on expressions of type '%s'", dec ? "--" : "++", tyname(u, t));
		return ty_none(u);
	}
	if (x->kind == E_VAR) {
		if (t->kind == TY_INT && t->size < 8 && !x->var->declared_type)
			var_grow(u, x->var, e->span, ty_int(u->types, 8, t->sgn || dec));
		return x->var->type ? x->var->type : t;
	}
	if (t->kind == TY_NONE || t->size < 8)
		map_grow_val(u, x->map, e->span, ty_int(u->types, 8, true));
	return x->map->val ? x->map->val : t;
}

static const struct Type *check_unop(struct Unit *u, struct Expr *e)
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
			make_int(u, e, v, (s64)v < 0);
			return e->type;
		}
		if (ty_is_int(t))
			return ty_int(u->types, 8, true);
		break;
	case OP_BNOT:
		if (e->a->kind == E_INT) {
			u64 v = ~e->a->ival;
			make_int(u, e, v, false);
			return e->type;
		}
		if (ty_is_int(t))
			return ty_int(u->types, 8, t->sgn);
		break;
	case OP_NOT:
		if (lit_num(e->a)) {
			make_bool(u, e, !e->a->ival);
			return e->type;
		}
		if (ty_is_int(t) || t->kind == TY_PTR)
			return ty_bool(u->types);
		break;
	case OP_DEREF:
		if (t->kind == TY_PTR) {
			e->as = t->as;
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
		ERR(u, e->span, "Can not dereference type '%s'. It is not a pointer.", tyname(u, t));
		if (ty_is_int(t))
			HINT(u, "cast it first: *(uint64 *)...");
		return ty_none(u);
	case OP_ADDR:
		if (e->a->kind == E_VAR || e->a->kind == E_MAP || e->a->kind == E_MAPREF) {
			if (e->a->var)
				e->a->var->captured = true; // it needs memory
			return ty_ptr(u->types, t, AS_BPF);
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

static const struct Type *check_ternary(struct Unit *u, struct Expr *e)
{
	const struct Type *c = operand_type(u, check_expr(u, e->a)), *a = check_expr(u, e->b), *b = check_expr(u, e->c);
	if (c->kind != TY_NONE && !ty_is_int(c) && c->kind != TY_PTR)
		ERR(u, e->a->span, "Invalid condition in ternary: %s", tyname(u, c));
	if (lit_num(e->a)) {
		struct Expr *pick = e->a->ival ? e->b : e->c;
		const struct Type *t = type_unify(u->types, operand_type(u, a), operand_type(u, b));
		if (pick->is_lit && t) {
			struct Span at = e->span;
			*e = *pick;
			e->span = at;
			return e->type;
		}
	}
	if (a->kind == TY_NONE)
		return b;
	if (b->kind == TY_NONE)
		return a;
	const struct Type *t = type_unify(u->types, operand_type(u, a), operand_type(u, b));
	if (!t) {
		ERR(u, e->span, "Ternary operator must return the same type: have '%s' and '%s'", tyname(u, a), tyname(u, b));
		return ty_none(u);
	}
	return t;
}

static const struct Type *check_cast(struct Unit *u, struct Expr *e)
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
			return to;
		break;
	case TY_ARRAY: {
		u32 have = from->kind == TY_BOOL ? 1 : from->size;
		if (e->a->kind == E_INT)
			have = 8;
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
		if (from->kind == TY_STR)
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

static const struct Type *check_tuple(struct Unit *u, struct Expr *e)
{
	const struct Type *f[64];
	if (e->nargs > 64) {
		ERR(u, e->span, "a tuple has at most 64 fields");
		return ty_none(u);
	}
	bool known = true;
	for (u32 i = 0; i < e->nargs; i++) {
		f[i] = operand_type(u, check_expr(u, e->args[i]));
		known &= f[i]->kind != TY_NONE;
		if (f[i]->kind == TY_VOID || ty_is_aggr(f[i])) {
			ERR(u, e->args[i]->span, "Value of type '%s' cannot be used in a tuple", tyname(u, f[i]));
			known = false;
		}
	}
	return known ? ty_tuple(u->types, f, e->nargs) : ty_none(u);
}

static const struct Type *check_map(struct Unit *u, struct Expr *e)
{
	struct MapSym *m = e->map;
	if (e->kind == E_MAPREF) {
		const struct Type *k = check_expr(u, e->a);
		m->keyed = true;
		if (ty_is_aggr(k) && !ty_is_aggr_castable(k))
			ERR(u, e->a->span, "%s cannot be used as a map key", tyname(u, k));
		else
			map_grow_key(u, m, e->span, k);
	} else
		m->scalar = true;
	if (m->scalar && m->keyed)
		ERR(u, e->span, "%s used as a map with an explicit key (non-scalar map), previously used without an explicit key (scalar map)",
		    m->name);
	return m->val ? m->val : ty_none(u);
}

static const struct Type *check_sizeof(struct Unit *u, struct Expr *e)
{
	const struct Type *t = e->spec ? check_spec(u, e->spec) : check_expr(u, e->a);
	if (t->kind == TY_NONE)
		return ty_int(u->types, 8, false);
	if (t->kind == TY_RECORD)
		ctype_record_load(u->ctypes, t->rec);
	u32 size = t->kind == TY_RECORD ? t->rec->size : t->size;
	if (u->final)
		make_int(u, e, size, false);
	return e->type = ty_int(u->types, 8, false);
}

static const struct Type *check_offsetof(struct Unit *u, struct Expr *e)
{
	const struct Type *t = e->spec ? check_spec(u, e->spec) : check_expr(u, e->a);
	u64 off = 0;
	if (t->kind == TY_PTR)
		t = t->elem;
	for (u32 i = 0; i < e->npath && t->kind != TY_NONE; i++) {
		struct Field f;
		if (e->path[i][0] == '[' && t->kind == TY_ARRAY) {
			off += strtoull(e->path[i] + 1, NULL, 0) * t->elem->size;
			t = t->elem;
			continue;
		}
		if (t->kind != TY_RECORD || !ctype_record_load(u->ctypes, t->rec)) {
			ERR(u, e->span, "offsetof: '%s' is not a struct or union", tyname(u, t));
			return ty_none(u);
		}
		if (!record_field(t->rec, e->path[i], &f)) {
			ERR(u, e->span, "'%s' has no field named '%s'", tyname(u, t), e->path[i]);
			return ty_none(u);
		}
		off += f.off;
		t = f.type;
	}
	if (u->final)
		make_int(u, e, off, false);
	return e->type = ty_int(u->types, 8, false);
}

static const struct Type *check_argn(struct Unit *u, struct Expr *e)
{
	const struct Point *p = u->cur->point;
	u64 n = strtoull(e->str + 3, NULL, 10);
	e->ival = n;
	switch (p->kind) {
	case PK_USDT:
		if (n >= p->nusdt_args) {
			ERR(u, e->span, "arg%llu: this probe has %u argument%s", (unsigned long long)n, p->nusdt_args, p->nusdt_args == 1 ? "" : "s");
			return ty_none(u);
		}
		return ty_int(u->types, 8, true);
	case PK_RAWTP:
	case PK_KPROBE:
	case PK_UPROBE:
		return ty_int(u->types, 8, true);
	case PK_FENTRY:
	case PK_FEXIT:
		ERR(u, e->span, "The %s builtin can not be used with '%s' probes", e->str, probe_kind_name(p->kind));
		HINT(u, "use args.NAME; `sonde -lv '%s'` shows the names", p->name);
		return ty_none(u);
	default:
		ERR(u, e->span, "The %s builtin can only be used with 'kprobes', 'uprobes', 'rawtracepoints' and 'usdt' probes", e->str);
		return ty_none(u);
	}
}

static const struct Type *check_block(struct Unit *u, struct Expr *e)
{
	check_stmts(u, e->body);
	return e->a ? check_expr(u, e->a) : ty_simple(u->types, TY_VOID);
}

// typeinfo(e): a literal record of (btf_id, base_ty, full_ty); only its fields are ever used.
static const struct Type *check_typeinfo_field(struct Unit *u, struct Expr *e)
{
	struct Expr *ti = e->a;
	const struct Type *t = ti->spec ? check_spec(u, ti->spec) : check_expr(u, ti->a);
	if (t->kind == TY_NONE)
		return t;
	static const char *const base[] = {[TY_INT] = "int", [TY_BOOL] = "bool", [TY_STR] = "string", [TY_PTR] = "pointer", [TY_RECORD] = "record",
					   [TY_ARRAY] = "array", [TY_TUPLE] = "tuple", [TY_BUF] = "buffer", [TY_VOID] = "void", [TY_KINDS] = NULL};
	const char *s = NULL;
	if (!strcmp(e->str, "full_ty"))
		s = tyname(u, t);
	else if (!strcmp(e->str, "base_ty"))
		s = base[t->kind] ? base[t->kind] : tyname(u, t);
	else if (!strcmp(e->str, "btf_id")) {
		if (u->final)
			make_int(u, e, 0, false);
		return ty_int(u->types, 8, false);
	}
	if (!s) {
		ERR(u, e->span, "typeinfo has the fields btf_id, base_ty and full_ty");
		return ty_none(u);
	}
	const struct Type *st = ty_str(u->types, (u32)strlen(s) + 1);
	if (u->final)
		make_str(u, e, s, (u32)strlen(s));
	return st;
}

static void nargs_error(struct Unit *u, struct Expr *e)
{
	const struct Builtin *b = e->builtin;
	bool few = e->nargs < b->min;
	u32 n = few ? b->min : b->max;
	const char *how = b->min == b->max ? "requires" : few ? "requires at least" : "takes up to";
	if (!n)
		ERR(u, e->span, "%s() requires no arguments (%u provided)", b->name, e->nargs);
	else if (n == 1)
		ERR(u, e->span, "%s() %s one argument (%u provided)", b->name, how, e->nargs);
	else
		ERR(u, e->span, "%s() %s %u arguments (%u provided)", b->name, how, n, e->nargs);
	HINT(u, "%s", b->sig);
}

static const struct Type *expr_type(struct Unit *u, struct Expr *e)
{
	switch (e->kind) {
	case E_INT:
		e->is_lit = true;
		return e->type && (e->type->en || e->type->size == 8) ? e->type : int_type_for(u->types, e->ival, e->is_neg);
	case E_BOOL:
		e->is_lit = true;
		return ty_bool(u->types);
	case E_STR:
		e->is_lit = true;
		return ty_str(u->types, e->len + 1);
	case E_POSPARAM:
	case E_POSCOUNT:
		UNREACHABLE();
	case E_IDENT:
		if (e->builtin) {
			if (!(e->builtin->flags & BF_NOARGS_OK)) {
				ERR(u, e->span, "%s() takes arguments: %s", e->str, e->builtin->sig);
				return ty_none(u);
			}
			return e->builtin->check(u, e);
		}
		return check_argn(u, e);
	case E_CALL:
		if (!e->builtin)
			return ty_none(u);
		if (e->nargs < e->builtin->min || (e->builtin->max != 255 && e->nargs > e->builtin->max)) {
			nargs_error(u, e);
			return ty_none(u);
		}
		if ((e->builtin->flags & BF_UNSAFE) && !u->config->unsafe) {
			ERR(u, e->span, "%s() is an unsafe function being used in safe mode", e->str);
			HINT(u, "run with --unsafe to allow it");
		}
		return e->builtin->check(u, e);
	case E_VAR:
		return e->var->type ? e->var->type : ty_none(u);
	case E_MAP:
	case E_MAPREF:
		return check_map(u, e);
	case E_FIELD:
		if (e->a->kind == E_TYPEINFO)
			return check_typeinfo_field(u, e);
		return check_field(u, e);
	case E_TUPFIELD: {
		const struct Type *t = check_expr(u, e->a);
		if (t->kind == TY_NONE)
			return t;
		if (t->kind != TY_TUPLE) {
			ERR(u, e->span, "Can not access index '%u' on expression of type '%s'", e->tup, tyname(u, t));
			return ty_none(u);
		}
		return check_tupfield(u, e, e->tup);
	}
	case E_INDEX:
		return check_index(u, e);
	case E_UNOP:
		return check_unop(u, e);
	case E_BINOP:
		return check_binop(u, e);
	case E_TERNARY:
		return check_ternary(u, e);
	case E_CAST:
		return check_cast(u, e);
	case E_TUPLE:
		return check_tuple(u, e);
	case E_BLOCK:
		return check_block(u, e);
	case E_SIZEOF:
		return check_sizeof(u, e);
	case E_OFFSETOF:
		return check_offsetof(u, e);
	case E_COMPTIME: {
		const struct Type *t = check_expr(u, e->a);
		if (e->a->is_lit) {
			struct Span at = e->span;
			*e = *e->a;
			e->span = at;
		} else if (u->final && t->kind != TY_NONE)
			ERR(u, e->span, "Unable to evaluate at compile time.");
		return t;
	}
	case E_TYPEINFO:
		ERR(u, e->span, "typeinfo is only useful with a field: typeinfo(e).full_ty");
		return ty_none(u);
	case E_IF:
		return check_ternary(u, e);
	}
	UNREACHABLE();
}

const struct Type *check_expr(struct Unit *u, struct Expr *e)
{
	const struct Type *t = expr_type(u, e);
	return e->type = t;
}

