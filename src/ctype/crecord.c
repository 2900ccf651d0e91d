// Bodies of structs, unions and enums.
// Input: the tokens between the braces. Output: a laid out Record, an Enum with its enumerators entered in Ctypes.consts.
// Invariant: a record is filled in whole or stays incomplete.
#include "ctype/internal.h"

// The record that a definition fills in: new, or the one that was known by name only. NULL: it is defined already (an error
// in the script, nothing in a header).
static struct Record *definition(struct CParser *p, const struct CTok *at, bool is_union, const char *name)
{
	if (!*name)
		return record_new(p->c, ORIGIN_CDECL, "", is_union, 0, 0);
	char *key = arena_printf(p->c->arena, "%s %s", is_union ? "union" : "struct", name);
	const struct Type *t = p->lenient ? ctype_lookup_known(p->c, key) : map_get(&p->c->names, key);
	enum OriginKind kind = t ? record_origin(t->rec)->kind : ORIGIN_NAME;
	if (kind == ORIGIN_NAME)
		return ctype_named_record(p->c, name, is_union)->rec;
	if (p->lenient)
		return NULL;
	if (kind == ORIGIN_CDECL) {
		cp_fail(p, at, "redefinition of '%s'", key);
		return NULL;
	}
	// BTF had entered its own on the way to some other struct: the script's wins.
	struct Record *r = record_new(p->c, ORIGIN_CDECL, strchr(key, ' ') + 1, is_union, 0, 0);
	map_put(&p->c->names, key, (void *)record_type(r));
	return r;
}

// ---- struct and union bodies

struct Members {
	struct CMember *p;
	size_t n, cap;
	struct Map names;
};

static bool duplicate(struct Members *m, const char *name)
{
	if (*name && map_has(&m->names, name))
		return true;
	map_put(&m->names, name, NULL);
	return false;
}

static bool complete(struct CParser *p, const struct Type *t)
{
	while (t->kind == TY_ARRAY)
		t = t->elem;
	return t->kind == TY_RECORD ? ctype_record_load(p->c, t->rec) : t->kind != TY_VOID;
}

static bool incomplete(struct CParser *p, const struct Declarator *d)
{
	const struct Type *t = d->type;
	while (t->kind == TY_ARRAY)
		t = t->elem;
	bool first = !p->failed;
	if (t->kind != TY_RECORD)
		return cp_fail(p, d->at, "member '%s' cannot be void", d->name);
	cp_fail(p, d->at, "member '%s' has the incomplete type '%s %s'", d->name, t->rec->is_union ? "union" : "struct", t->rec->name);
	if (first)
		cp_hint(p, d->at, ctype_unresolved_hint(p->c));
	return false;
}

static bool bit_width(struct CParser *p, struct CMember *m)
{
	struct CValue v;
	const struct CTok *at = cp_peek(p, 0);
	if (!cp_const_expr(p, &v))
		return false;
	if (m->f.type->kind != TY_INT && m->f.type->kind != TY_BOOL)
		return cp_fail(p, at, "only integers can be bit-fields");
	if (v.v > (u64)m->f.type->size * 8 || (!v.v && *m->f.name))
		return cp_fail(p, at, "bit-field '%s' cannot have %lld bits", m->f.name, (long long)v.v);
	m->bitfield = true;
	m->bits = (u32)v.v;
	return true;
}

static bool member_declarator(struct CParser *p, const struct Specs *s, struct Members *out)
{
	struct Declarator d = {.name = "", .type = s->type, .at = cp_peek(p, 0), .attrs = s->attrs};
	struct CMember m = {0};
	bool bare = cp_is(p, ":"); // unnamed bit-field
	if (!bare && !cp_declarator(p, s->type, &d))
		return false;
	m.f = (struct Field){.name = d.name, .type = d.type};
	if (cp_eat(p, ":") && !bit_width(p, &m))
		return false;
	while (cp_qualifier(p, &d.attrs))
		;
	if (d.func)
		return cp_fail(p, d.at, "a member cannot be a function");
	if (!*d.name && !m.bitfield)
		return cp_fail(p, d.at, "a member needs a name");
	if (!complete(p, d.type))
		return incomplete(p, &d);
	if (duplicate(out, d.name))
		return cp_fail(p, d.at, "duplicate member '%s'", d.name);
	m.align = d.attrs.align;
	m.packed = d.attrs.packed;
	vec_push(out, m);
	return !p->failed;
}

// The last member goes without its semicolon in bpftrace.
static bool end_member(struct CParser *p)
{
	return cp_is(p, "}") ? !p->failed : cp_expect(p, ";");
}

static bool member_line(struct CParser *p, struct Members *out)
{
	struct Specs s = {0};
	if (cp_eat(p, ";"))
		return true;
	if (cp_is(p, "_Static_assert") || cp_is(p, "static_assert")) {
		cp_recover(p);
		return true;
	}
	const struct CTok *at = cp_peek(p, 0);
	if (!cp_specifiers(p, &s))
		return false;
	if (cp_is(p, ";")) { // anonymous struct or union; "struct foo;" declares nothing
		if (s.type->kind == TY_RECORD && !*s.type->rec->name) {
			struct CMember m = {.f = {.name = "", .type = s.type}, .align = s.attrs.align, .packed = s.attrs.packed};
			vec_push(out, m);
		} else if (s.type->kind != TY_RECORD && !s.type->en && cp_strict(p, at))
			return cp_fail(p, at, "a member needs a name");
		return end_member(p);
	}
	do {
		if (!member_declarator(p, &s, out))
			return false;
	} while (cp_eat(p, ","));
	return end_member(p);
}

static bool members(struct CParser *p, struct Members *out)
{
	while (p->tok < p->end && !cp_is(p, "}")) {
		if (p->tok->kind == CT_PACK)
			cp_pragma_pack(p);
		else if (!member_line(p, out))
			return false;
	}
	return cp_expect(p, "}");
}

bool cp_record_body(struct CParser *p, const struct CTok *at, bool is_union, const char *name, struct Attrs *a, const struct Type **out)
{
	struct Record *r = definition(p, at, is_union, name);
	struct Members m = {0};
	bool ok = !p->failed && cp_deeper(p) && members(p, &m);
	p->depth--;
	while (ok && cp_qualifier(p, a))
		;
	ok = ok && !p->failed;
	if (ok && r && r->loaded) // "struct a { struct a { ..." or completed by a member's type meanwhile
		ok = cp_fail(p, at, "redefinition of '%s'", name);
	if (ok && r) {
		struct CLayout l = {.is_union = is_union, .packed = a->packed, .pack = p->pack, .align = a->align};
		ok = clayout(p->c, r, &l, m.p, (u32)m.n) || cp_fail(p, at, "this %s is too large", is_union ? "union" : "struct");
		record_origin(r)->kind = ORIGIN_CDECL;
		record_origin(r)->type = ty_record(p->c->tab, r);
		*out = record_type(r);
	} else if (ok)
		*out = cp_known(p, arena_printf(p->c->arena, "%s %s", is_union ? "union" : "struct", name));
	vec_deinit(&m);
	map_deinit(&m.names);
	return ok;
}

// ---- enums

struct Enumerators {
	struct EnumConst *p;
	size_t n, cap;
};

static bool enumerator(struct CParser *p, struct Enumerators *out, s64 *next)
{
	const struct CTok *t = cp_peek(p, 0);
	struct Attrs ignored = {0};
	if (t->kind != CT_IDENT)
		return cp_fail(p, t, "the name of an enumerator is expected here");
	struct EnumConst k = {.name = cp_text(p, t), .val = *next};
	p->tok++;
	while (cp_qualifier(p, &ignored))
		;
	if (cp_eat(p, "=")) {
		struct CValue v;
		if (!cp_const_expr(p, &v))
			return false;
		k.val = (s64)v.v;
	}
	const struct CConst *old = map_get(&p->c->consts, k.name);
	if (old && !p->lenient)
		return cp_fail(p, t, "redefinition of enumerator '%s'", k.name);
	*next = k.val + (k.val != INT64_MAX);
	if (!old) {
		struct CConst *c = arena_new(p->c->arena, struct CConst); // its type is known at the end of the enum
		c->val = k.val;
		map_put(&p->c->consts, k.name, c);
	}
	vec_push(out, k);
	return true;
}

static const struct Type *make_enum(struct CParser *p, const char *name, bool packed, const struct Enumerators *k)
{
	struct Enum *e = arena_new(p->c->arena, struct Enum);
	s64 lo = 0, hi = 0;
	for (size_t i = 0; i < k->n; i++) {
		lo = MIN(lo, k->p[i].val);
		hi = MAX(hi, k->p[i].val);
	}
	e->name = name;
	e->sgn = lo < 0;
	e->size = hi > (e->sgn ? INT32_MAX : (s64)UINT32_MAX) || lo < INT32_MIN ? 8 : 4;
	if (packed && lo >= (e->sgn ? INT16_MIN : 0) && hi <= (e->sgn ? INT16_MAX : UINT16_MAX))
		e->size = lo >= (e->sgn ? INT8_MIN : 0) && hi <= (e->sgn ? INT8_MAX : UINT8_MAX) ? 1 : 2;
	e->n = (u32)k->n;
	e->consts = arena_new_n(p->c->arena, struct EnumConst, k->n);
	if (k->n)
		memcpy(e->consts, k->p, k->n * sizeof(*k->p));
	const struct Type *t = ty_enum(p->c->tab, e);
	for (size_t i = 0; i < k->n; i++) {
		struct CConst *c = map_get(&p->c->consts, k->p[i].name);
		if (c && !c->type)
			c->type = t;
	}
	return t;
}

bool cp_enum_body(struct CParser *p, const struct CTok *at, const char *name, struct Attrs *a, const struct Type **out)
{
	struct Enumerators k = {0};
	s64 next = 0;
	char *key = *name ? arena_printf(p->c->arena, "enum %s", name) : NULL;
	const struct Type *old = key && (p->lenient || map_get(&p->c->names, key)) ? cp_known(p, key) : NULL;
	bool ok = p->lenient || !old || cp_fail(p, at, "redefinition of 'enum %s'", name);
	while (ok && p->tok < p->end && !cp_is(p, "}")) {
		ok = enumerator(p, &k, &next);
		if (ok && !cp_eat(p, ","))
			break;
	}
	ok = ok && cp_expect(p, "}");
	while (ok && cp_qualifier(p, a))
		;
	if (ok) {
		const struct Type *t = make_enum(p, name, a->packed, &k);
		*out = old ? old : t;
		if (key && !old)
			map_put(&p->c->names, key, (void *)t);
	}
	vec_deinit(&k);
	return ok;
}
