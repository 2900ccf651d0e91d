// Types of expressions. In: a resolved tree. Out: Expr.type of every expression, literals folded. Called again in each round of check.c.
#include "lang/internal.h"

// Address space of a pointer of type t that lies in memory of space `as`.
static enum AddrSpace pointer_as(struct Unit *u, const struct Type *t, enum AddrSpace as)
{
	if (t->as == AS_USER)
		return AS_USER;
	if (t->as == AS_KERNEL || as == AS_KERNEL)
		return AS_KERNEL;
	return as == AS_USER ? AS_USER : default_as(u); // of a copy
}

// Type t of what lies in memory of space `as`: pointers, also those in arrays, say what they point into.
static const struct Type *located(struct Unit *u, const struct Type *t, enum AddrSpace as)
{
	if (t->kind == TY_PTR)
		return ty_ptr(u->types, t->elem, pointer_as(u, t, as));
	if (t->kind != TY_ARRAY)
		return t;
	const struct Type *elem = located(u, t->elem, as);
	return elem == t->elem ? t : ty_array(u->types, elem, t->n);
}

static const struct Type *check_field_of(struct Unit *u, struct Expr *e, const struct Type *rt, enum AddrSpace as)
{
	struct Record *r = rt->rec;
	bool loaded = r->loaded || ctype_record_load(u->ctypes, r);
	// Two units may see different records behind one node's name: look it up anew each round.
	if (!loaded || !record_field(r, e->str, &e->field)) {
		if (!loaded && !r->is_args)
			ERR(u, e->span, "Unknown struct/union: '%s'", r->name);
		else if (r->is_args && u->diags->plain && u->cur->point->kind == PK_TRACEPOINT)
			ERR(u, e->span, "Struct/union of type 'struct %s_args' does not contain a field named '%s'", u->cur->point->name, e->str);
		else if (r->is_args && !u->diags->plain && ctype_args_elsewhere(r, e->str))
			ERR(u, e->span, "the parameter %s is not passed in a register of integers, and is not read", e->str);
		else if (r->is_args)
			ERR(u, e->span, "Can't find function parameter %s", e->str);
		else
			ERR(u, e->span, "Struct/union of type '%s%s' does not contain a field named '%s'", r->is_union ? "union " : "struct ",
			    r->name, e->str);
		if (u->final && loaded && (!r->is_args || !ctype_args_elsewhere(r, e->str))) {
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
	if (t->kind == TY_PTR && f->user_ptr)
		return ty_ptr(u->types, t->elem, AS_USER);
	if (t->kind == TY_ARRAY && t->elem->is_char)
		return ty_str(u->types, t->n);
	return located(u, t, as);
}

static const struct Type *check_member(struct Unit *u, struct Expr *e, const struct Type *record)
{
	const struct TupleField want = {.name = e->str}, *f = ty_tuple_field(record, &want, 0);
	if (!f) {
		ERR(u, e->span, "The record has no field named '%s'", e->str);
		return ty_none(u);
	}
	bool lit = e->a->kind == E_TUPLE; // config.max_strlen
	for (u32 i = 0; lit && i < e->a->nargs; i++)
		lit = e->a->args[i]->is_lit;
	if (lit) {
		struct Span at = e->span;
		*e = *e->a->args[f - record->fields];
		e->span = at;
		return e->type;
	}
	e->kind = E_TUPFIELD;
	e->tup = (u32)(f - record->fields);
	return f->type;
}

// @s[key].avg of @s[key] = stats(n): numbers of all CPUs' values.
static const struct Type *check_stats_field(struct Unit *u, struct Expr *e, const struct Type *stats)
{
	bool count = !strcmp(e->str, "count");
	if (e->a->kind != E_MAP && e->a->kind != E_MAPREF) { // no place to read the processors' parts from
		ERR(u, e->span, ".%s of stats() needs the map itself", e->str);
		HINT(u, "@map[key].%s", e->str);
	} else if (!count && strcmp(e->str, "avg") && strcmp(e->str, "total")) {
		ERR(u, e->span, "stats() has the fields avg, count and total, not '%s'", e->str);
	}
	return ty_int(u->types, 8, stats->sgn && !count);
}

static const struct Type *check_field(struct Unit *u, struct Expr *e)
{
	const struct Type *t = check_expr(u, e->a);
	enum AddrSpace as = e->a->as;
	if (t->kind == TY_NONE)
		return t;
	if (t->kind == TY_STATS)
		return check_stats_field(u, e, t);
	if (t->kind == TY_PTR) {
		as = t->as;
		t = t->elem;
	}
	if (ty_is_record(t))
		return check_member(u, e, t);
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

// Where what a pointer points to is read. Into memory of BPF programs it may point anywhere, also behind the end: only the context, a pointer that the
// kernel itself follows, is read directly.
enum AddrSpace space_behind(const struct Expr *p)
{
	const struct Type *t = p->type;
	if (t->as != AS_BPF || t->elem->kind == TY_RECORD)
		return t->as;
	while (p->kind == E_CAST)
		p = p->a;
	return p->kind == E_IDENT || p->kind == E_CALL ? AS_BPF : AS_KERNEL;
}

static const struct Type *check_index(struct Unit *u, struct Expr *e)
{
	const struct Type *t = check_expr(u, e->a), *i = check_expr(u, e->b);
	if (t->kind == TY_NONE)
		return t;
	if (t->kind == TY_TUPLE && !ty_is_record(t)) {
		if (e->b->kind != E_INT) {
			ERR(u, e->b->span, "Tuples must be indexed with a constant");
			return ty_none(u);
		}
		return check_tupfield(u, e, e->b->ival);
	}
	t = ty_as_text(u->types, t);
	if (t->kind != TY_ARRAY && t->kind != TY_PTR && t->kind != TY_STR && t->kind != TY_BUF) {
		ERR(u, e->span, "The array index operator [] can only be used on arrays, pointers, and tuples, found %s.", tyname(u, t));
		return ty_none(u);
	}
	if (i->kind != TY_NONE && !ty_is_int(operand_type(u, i)))
		ERR(u, e->b->span, "The array index operator [] only accepts integer indices. Got '%s'.", tyname(u, i));
	u32 room = t->kind == TY_ARRAY ? t->n : t->kind == TY_STR ? t->size : 0;
	if (room && e->b->kind == E_INT && (e->b->is_neg || e->b->ival >= room))
		ERR(u, e->span, "the index %lld is out of bounds for array of size %u", (long long)e->b->ival, room);
	if (t->kind == TY_STR || t->kind == TY_BUF) {
		e->as = AS_BPF;
		return ty_char(u->types);
	}
	e->as = t->kind == TY_PTR ? space_behind(e->a) : e->a->as;
	const struct Type *el = t->elem;
	if (el->kind == TY_ARRAY && el->elem->is_char)
		return ty_str(u->types, el->n);
	if (t->kind == TY_PTR && !el->size) {
		ERR(u, e->span, "Cannot index a pointer to '%s': its size is not known", tyname(u, el));
		return ty_none(u);
	}
	return located(u, el, e->as);
}

static const struct Type *check_tuple(struct Unit *u, struct Expr *e)
{
	const struct Type *f[64];
	if (e->nargs > 64) {
		ERR(u, e->span, "a tuple has at most 64 fields (%u provided)", e->nargs);
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
	const struct Type *t = known ? ty_tuple(u->types, f, e->path, e->nargs) : ty_none(u);
	return check_type_size(u, e->span, 1, t->size) ? t : ty_none(u);
}

static const struct Type *check_map(struct Unit *u, struct Expr *e)
{
	struct MapSym *m = e->map;
	if (e->kind == E_MAPREF) {
		const struct Type *k = check_expr(u, e->a);
		m->keyed = true;
		if (!m->key_expr)
			m->key_expr = e->a;
		if (k->kind == TY_VOID || (ty_is_aggr(k) && !ty_is_aggr_castable(k)))
			ERR(u, e->a->span, "%s cannot be used as a map key", tyname(u, k));
		else
			map_grow_key(u, m, e->span, k);
	} else
		m->scalar = true;
	m->read = true;
	if (m->scalar && m->keyed && m->began_keyed && e->kind == E_MAP)
		ERR(u, e->span, "%s used as a map without an explicit key (scalar map), previously used with an explicit key (non-scalar map)", m->name);
	else if (m->scalar && m->keyed && !m->began_keyed && e->kind == E_MAPREF)
		ERR(u, e->span, "%s used as a map with an explicit key (non-scalar map), previously used without an explicit key (scalar map)", m->name);
	return m->val ? m->val : ty_none(u);
}

// argN of Go are words: a string takes two of them, a slice three.
static const struct Type *go_argument(struct Unit *u, struct Expr *e, const struct Point *p)
{
	unsigned long long n = e->ival;
	if (!p->narg_regs) {
		ERR(u, e->span, "arg%llu: Go passes arguments on the stack before 1.18, and which Go made %s is not known to be newer", n, p->target);
		HINT(u, "there the first one is *(uint64 *)(reg(\"sp\") + 8)");
	} else if (n >= p->narg_regs) {
		ERR(u, e->span, "arg%llu: Go passes the first %u words of arguments in registers (%s)", n, p->narg_regs, p->name);
	}
	return ty_int(u->types, 8, true);
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
	case PK_UPROBE:
		if (p->arg_regs)
			return go_argument(u, e, p);
		if (p->bits32) {
			ERR(u, e->span, "arg%llu: 32-bit functions have their arguments on the stack (%s)", (unsigned long long)n, p->name);
			HINT(u, "*(uint32 *)(reg(\"sp\") + %llu), unless the compiler has passed it otherwise", (unsigned long long)(4 + 4 * n));
			return ty_none(u);
		}
		return ty_of_register(u->types, ty_int(u->types, 8, true), true);
	case PK_RAWTP:
		return ty_int(u->types, 8, true);
	case PK_KPROBE:
		return ty_of_register(u->types, ty_int(u->types, 8, true), true);
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
		if (e->len >= unit_max_strlen(u)) {
			ERR(u, e->span, "String is too long (over %u bytes): %s", unit_max_strlen(u), e->str);
			HINT(u, "config = { max_strlen = %u } is enough for it", e->len + 1);
		}
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
			check_pinned(u, e);
			return check_builtin(u, e);
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
		if ((e->builtin->flags & BF_AGGR) && e != u->aggr) {
			ERR(u, e->span, "%s() must be assigned directly to a map", e->str);
			HINT(u, "@ = %s(...)", e->str);
		}
		check_pinned(u, e);
		return check_builtin(u, e);
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
		if (ty_is_record(t) && e->str) // written .NAME
			return check_member(u, e, t);
		if (t->kind != TY_TUPLE || ty_is_record(t)) {
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
		return check_typeinfo(u, e);
	case E_TYPE:
		ERR(u, e->span, "typeof() is an argument for macros that expect a type, not a value");
		return ty_none(u);
	case E_IF:
		return check_ternary(u, e);
	}
	UNREACHABLE();
}

// Variables, sums and casts hand on that a number is an address in the kernel.
static bool from_kaddr(const struct Expr *e)
{
	switch (e->kind) {
	case E_VAR:
		return e->var->kaddr;
	case E_BINOP:
		return (e->op == OP_ADD || e->op == OP_SUB) && (e->a->kaddr || e->b->kaddr);
	case E_CAST:
		return e->a->kaddr;
	default:
		return false;
	}
}

const struct Type *check_expr(struct Unit *u, struct Expr *e)
{
	const struct Type *t = expr_type(u, e);
	e->kaddr |= from_kaddr(e);
	return e->type = t;
}
