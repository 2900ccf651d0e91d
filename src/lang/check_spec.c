// Types as the script writes them, and what it may ask of a type: sizeof, offsetof, typeinfo. In: a TypeSpec or an expression. Out: the type,
// or the node as a literal.
#include "lang/internal.h"

// A user probe's types come from the debug information of its binary rather than from the kernel.
static void add_binary_types(struct Unit *u)
{
	const struct Point *p = u->cur->point;
	if ((p->kind == PK_UPROBE || p->kind == PK_URETPROBE || p->kind == PK_USDT) && p->target)
		err_free(ctype_add_dwarf(u->ctypes, p->target)); // a binary without debug information adds none
}

bool check_type_size(struct Unit *u, struct Span at, u64 n, u64 size)
{
	if (n <= TY_SIZE_MAX / MAX(size, 1ull))
		return true;
	ERR(u, at, "this type is too large: the limit is %u bytes", TY_SIZE_MAX);
	return false;
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
	if (!check_type_size(u, s->span, s->str_size, 1) || !check_type_size(u, s->span, s->array_n, 1))
		return ty_none(u);
	if (s->typeof_expr)
		t = ty_as_text(u->types, check_expr(u, s->typeof_expr));
	else if (s->tuple || s->ntuple) {
		const struct Type *f[64];
		for (u32 i = 0; i < s->ntuple && i < 64; i++) {
			f[i] = check_spec(u, s->tuple[i]);
			if (f[i]->kind == TY_NONE)
				return f[i];
		}
		t = ty_tuple(u->types, f, NULL, MIN(s->ntuple, 64u));
		if (!check_type_size(u, s->span, 1, t->size))
			return ty_none(u);
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
			t = ty_str(u->types, s->str_size ? (u32)s->str_size : s->is_array && s->array_sized ? (u32)s->array_n : unit_max_strlen(u));
		if (t && t->kind == TY_STR && s->is_array)
			return t;
		if (!t && !strcmp(s->name, "buffer"))
			t = ty_buf(u->types, s->str_size ? (u32)s->str_size : unit_max_strlen(u));
		if (!t && (!strcmp(s->name, "kstack_t") || !strcmp(s->name, "kstack")))
			t = ty_stack(u->types, false, u->config->stack_mode, 127, STACK_WALK_MIXED);
		if (!t && (!strcmp(s->name, "ustack_t") || !strcmp(s->name, "ustack")))
			t = ty_stack(u->types, true, u->config->stack_mode, 127, STACK_WALK_MIXED);
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
	if (s->is_array && !check_type_size(u, s->span, s->array_n, t->size))
		return ty_none(u);
	if (s->is_array && t->kind != TY_STR)
		t = ty_array(u->types, t, s->array_sized ? (u32)s->array_n : 0);
	return t;
}

// ---- questions about types

const struct Type *check_sizeof(struct Unit *u, struct Expr *e)
{
	const struct Type *t = e->spec ? check_spec(u, e->spec) : ty_as_text(u->types, check_expr(u, e->a));
	if (t->kind == TY_NONE)
		return ty_int(u->types, 8, false);
	if (t->kind == TY_RECORD)
		ctype_record_load(u->ctypes, t->rec);
	u32 size = t->kind == TY_RECORD ? t->rec->size : t->size;
	if (u->final)
		make_int(u, e, size, false);
	return e->type = ty_int(u->types, 8, false);
}

const struct Type *check_offsetof(struct Unit *u, struct Expr *e)
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

const char *base_name(struct Unit *u, const struct Type *t)
{
	static const char *const base[] = {[TY_INT] = "int", [TY_BOOL] = "bool", [TY_STR] = "string", [TY_PTR] = "pointer", [TY_RECORD] = "c_type",
					   [TY_ARRAY] = "array", [TY_TUPLE] = "tuple", [TY_BUF] = "buffer", [TY_VOID] = "void", [TY_KINDS] = NULL};
	if (ty_is_aggr(t))
		return ty_kind_name(t->kind);
	if (ty_is_numbered(t))
		return base[TY_STR];
	return ty_is_record(t) ? "record" : base[t->kind] ? base[t->kind] : tyname(u, t);
}

struct Expr *record_node(struct Unit *u, struct Span at, u32 n)
{
	struct Expr *rec = arena_new(u->arena, struct Expr);
	*rec = (struct Expr){.kind = E_TUPLE, .span = at, .nargs = n, .npath = n, .height = 2};
	rec->args = arena_new_n(u->arena, struct Expr *, n);
	rec->path = arena_new_n(u->arena, const char *, n);
	return rec;
}

void record_field_node(struct Unit *u, struct Expr *rec, u32 i, const char *name, struct Expr value)
{
	value.span = rec->span;
	value.height = 1;
	value.is_lit = true;
	rec->path[i] = name;
	rec->args[i] = arena_new(u->arena, struct Expr);
	*rec->args[i] = value;
}

// typeinfo(e): the record (btf_id, base_type, full_type). Names of types may grow until the last round, so it becomes a literal only then.
const struct Type *check_typeinfo(struct Unit *u, struct Expr *e)
{
	const struct Type *t = e->spec ? check_spec(u, e->spec) : check_expr(u, e->a);
	unstable_feature(u, UNSTABLE_TYPEINFO, e->span);
	if (t->kind == TY_NONE)
		return t;
	const char *base = base_name(u, t), *full = tyname(u, t);
	struct Expr *rec = record_node(u, e->span, 3);
	record_field_node(u, rec, 0, "btf_id", (struct Expr){.kind = E_INT});
	record_field_node(u, rec, 1, "base_type", (struct Expr){.kind = E_STR, .str = base, .len = (u32)strlen(base)});
	record_field_node(u, rec, 2, "full_type", (struct Expr){.kind = E_STR, .str = full, .len = (u32)strlen(full)});
	t = check_expr(u, rec);
	if (u->final)
		*e = *rec;
	return t;
}

// One field of it is a literal by itself; base_ty and full_ty are the names of bpftrace 0.24.
const struct Type *check_typeinfo_field(struct Unit *u, struct Expr *e)
{
	struct Expr *ti = e->a;
	const struct Type *t = ti->spec ? check_spec(u, ti->spec) : check_expr(u, ti->a);
	if (t->kind == TY_NONE)
		return t;
	const char *s = NULL;
	if (!strcmp(e->str, "full_ty") || !strcmp(e->str, "full_type"))
		s = tyname(u, t);
	else if (!strcmp(e->str, "base_ty") || !strcmp(e->str, "base_type"))
		s = base_name(u, t);
	else if (!strcmp(e->str, "btf_id")) {
		if (u->final)
			make_int(u, e, 0, false);
		return ty_int(u->types, 8, false);
	}
	if (!s) {
		ERR(u, e->span, "typeinfo has the fields btf_id, base_type and full_type");
		return ty_none(u);
	}
	const struct Type *st = ty_str(u->types, (u32)strlen(s) + 1);
	if (u->final)
		make_str(u, e, s, (u32)strlen(s));
	return st;
}
