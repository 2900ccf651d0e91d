// Declarations of C: struct, union, enum, typedef of the script's preamble and of headers.
// Input: tokens after preprocessing. Output: names in Ctypes.names ("struct foo", "foo_t") and enumerators in Ctypes.consts.
// Invariant: a struct, enum or typedef is either entered whole or not at all; the parser always moves forward and nests at most DEPTH_MAX levels.
#include "ctype/cpp.h"
#include <linux/btf.h>

#define DEPTH_MAX 60
#define ARRAY_MAX ((u64)1 << 30)

struct Attrs {
	bool packed;
	u32 align;
};

// What stands before the declarators: "const struct foo", "typedef unsigned long".
struct Specs {
	const struct Type *type;
	bool is_typedef, body; // body: it ended with "{ ... }"
	struct Attrs attrs;
};

static const struct CTok eof_tok = {.kind = CT_EOF, .text = ""};

static const struct CTok *peek(const struct CParser *p, u32 ahead)
{
	return (size_t)(p->end - p->tok) > ahead ? p->tok + ahead : &eof_tok;
}

static bool is(const struct CParser *p, const char *s)
{
	return ctok_is(peek(p, 0), s);
}

static bool eat(struct CParser *p, const char *s)
{
	if (!is(p, s))
		return false;
	p->tok++;
	return true;
}

static char *text_of(struct CParser *p, const struct CTok *t)
{
	return arena_strndup(p->c->arena, t->text, t->len);
}

// ---- errors: diagnostics for the script, silence for headers

static const struct CTok *error_place(const struct CParser *p, const struct CTok *at)
{
	return at && at != &eof_tok && at < p->end ? at : p->end - 1;
}

static bool fail(struct CParser *p, const struct CTok *at, const char *fmt, ...) PRINTF_LIKE(3, 4);
static bool fail(struct CParser *p, const struct CTok *at, const char *fmt, ...)
{
	struct Str s = {0};
	va_list ap;
	if (p->failed)
		return false;
	p->failed = true;
	va_start(ap, fmt);
	str_vaddf(&s, fmt, ap);
	va_end(ap);
	at = error_place(p, at);
	if (!at->file->header && !p->lenient)
		diag_error(p->c->diags, ctok_span(at), "%s", s.p);
	else if (!p->first_skipped)
		p->first_skipped = arena_printf(p->c->arena, "%s: %s", ctok_place(p->c->arena, at), s.p);
	str_deinit(&s);
	return false;
}

static bool strict(const struct CParser *p, const struct CTok *at)
{
	return !p->lenient && !error_place(p, at)->file->header;
}

static void hint(struct CParser *p, const struct CTok *at, const char *text)
{
	if (text && strict(p, at))
		diag_hint(p->c->diags, "%s", text);
}

static bool expect(struct CParser *p, const char *s)
{
	return eat(p, s) || fail(p, peek(p, 0), "'%s' is missing here", s);
}

static bool deeper(struct CParser *p)
{
	return ++p->depth < DEPTH_MAX || fail(p, peek(p, 0), "declarations are nested too deeply");
}

// Skips a bracketed group that starts at p->tok.
static void skip_group(struct CParser *p)
{
	int depth = 0;
	do {
		if (is(p, "(") || is(p, "[") || is(p, "{"))
			depth++;
		else if (is(p, ")") || is(p, "]") || is(p, "}"))
			depth--;
		p->tok++;
	} while (p->tok < p->end && depth > 0);
}

// From the declaration's first token to behind its end: the '}' of a function body, else the ';'.
static void recover(struct CParser *p)
{
	bool aggregate = is(p, "struct") || is(p, "union") || is(p, "enum") || is(p, "typedef");
	while (p->tok < p->end && !is(p, ";") && !is(p, "{") && !is(p, "}"))
		p->tok++;
	if (is(p, "{")) {
		skip_group(p);
		while (aggregate && p->tok < p->end && !is(p, ";") && !is(p, "{") && !p->tok->bol)
			p->tok++;
		eat(p, ";");
	} else if (p->tok < p->end)
		p->tok++;
}

// ---- constant expressions inside declarations

static bool const_expr(struct CParser *p, struct CValue *out)
{
	struct CParser sub = *p;
	sub.lenient = true; // type names that turn out to be none are the expression's error, reported once
	struct CExpr e = {.c = p->c, .types = &sub, .tok = p->tok, .end = p->end, .depth = p->depth};
	sub.first_skipped = "";
	if (!cexpr_eval(&e, out))
		return fail(p, e.err_at, "%s", e.err);
	p->tok = e.tok;
	return true;
}

bool cdecl_const(struct Ctypes *c, const char *name, s64 *val)
{
	const struct Type *type;
	const struct CConst *k = map_get(&c->consts, name);
	if (k)
		*val = k->val;
	return k || macro_builtin(name, val) || kbtf_enum_const(c, name, val, &type);
}

// ---- attributes and words to ignore

static void attribute(struct CParser *p, struct Attrs *a)
{
	const struct CTok *t = peek(p, 0);
	if (ctok_is(t, "packed") || ctok_is(t, "__packed__")) {
		a->packed = true;
		p->tok++;
	} else if (ctok_is(t, "aligned") || ctok_is(t, "__aligned__")) {
		struct CValue v = {16, false, false}; // without a number: the target's largest
		p->tok++;
		if (eat(p, "(") && (!const_expr(p, &v) || !expect(p, ")")))
			return;
		if (!v.v || v.v > 1u << 20 || (v.v & (v.v - 1)))
			fail(p, t, "an alignment is a power of two");
		else
			a->align = MAX(a->align, (u32)v.v);
	} else if (p->tok < p->end) {
		p->tok++;
		if (is(p, "("))
			skip_group(p);
	}
}

// One attribute, asm label or qualifier at p->tok; false: something else is there.
static bool qualifier(struct CParser *p, struct Attrs *a)
{
	static const char *const words[] = {"const",   "volatile",   "restrict", "__restrict", "__restrict__", "__const",  "__volatile__",
					    "_Atomic", "__user",     "__kernel", "__rcu",      "__iomem",      "__percpu", "__force",
					    "__bitwise", "__private", "__extension__", "__nocast", "__ro_after_init", "__inline", "__inline__"};
	const struct CTok *t = peek(p, 0);
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (ctok_is(t, words[i])) {
			p->tok++;
			return true;
		}
	}
	if (ctok_is(t, "__packed")) { // the kernel's names for attributes, whose macros are in headers we may not have
		p->tok++;
		a->packed = true;
		return true;
	}
	if (ctok_is(t, "__attribute__") || ctok_is(t, "__attribute")) {
		p->tok++;
		if (!expect(p, "(") || !expect(p, "("))
			return true;
		while (p->tok < p->end && !is(p, ")") && !p->failed)
			if (!eat(p, ","))
				attribute(p, a);
		expect(p, ")");
		expect(p, ")");
		return true;
	}
	if ((ctok_is(t, "_Alignas") || ctok_is(t, "alignas") || ctok_is(t, "__aligned")) && ctok_is(peek(p, 1), "(")) {
		struct CValue v;
		p->tok += 2;
		struct CParser sub = *p;
		sub.lenient = true;
		const struct Type *ty = cdecl_at_type(p, peek(p, 0)) ? cdecl_type_name(&sub) : NULL;
		if (ty)
			p->tok = sub.tok;
		v = (struct CValue){ty ? ctype_align_of(p->c, ty) : 1, true, true};
		if ((ty || const_expr(p, &v)) && (!v.v || v.v > 1u << 20 || (v.v & (v.v - 1))))
			fail(p, t, "an alignment is a power of two");
		a->align = MAX(a->align, (u32)v.v);
		expect(p, ")");
		return true;
	}
	if (ctok_is(t, "__asm__") || ctok_is(t, "asm") || ctok_is(t, "__asm")) {
		p->tok++;
		if (is(p, "("))
			skip_group(p);
		return true;
	}
	return false;
}

// ---- names

static const struct Type *known(struct CParser *p, const char *name)
{
	return ctype_lookup_known(p->c, name);
}

static void unknown_type(struct CParser *p, const struct CTok *at, const char *name)
{
	if (p->failed || !fail(p, at, "unknown type '%s'", name)) {
		const char *near = strict(p, at) ? ctype_nearest(p->c, name) : NULL;
		if (near)
			hint(p, at, arena_printf(p->c->arena, "Did you mean '%s'?", near));
		hint(p, at, ctype_unresolved_hint(p->c));
	}
}

// "struct foo" without a body.
static const struct Type *tag_reference(struct CParser *p, const char *tag, const char *name)
{
	char *key = arena_printf(p->c->arena, "%s %s", tag, name);
	if (*tag == 'e') {
		const struct Type *t = known(p, key);
		return t ? t : ty_int(p->c->tab, 4, false); // "enum foo;": an int until somebody knows better
	}
	const struct Type *t = map_get(&p->c->names, key);
	return t ? t : ctype_named_record(p->c, name, *tag == 'u');
}

// The record that a definition fills in: new, or the one that was known by name only. NULL: it is defined already (an error
// in the script, nothing in a header).
static struct Record *definition(struct CParser *p, const struct CTok *at, bool is_union, const char *name)
{
	if (!*name)
		return record_new(p->c, ORIGIN_CDECL, "", is_union, 0, 0);
	char *key = arena_printf(p->c->arena, "%s %s", is_union ? "union" : "struct", name);
	const struct Type *t = p->lenient ? known(p, key) : map_get(&p->c->names, key);
	enum OriginKind kind = t ? record_origin(t->rec)->kind : ORIGIN_NAME;
	if (kind == ORIGIN_NAME)
		return ctype_named_record(p->c, name, is_union)->rec;
	if (p->lenient)
		return NULL;
	if (kind == ORIGIN_CDECL) {
		fail(p, at, "redefinition of '%s'", key);
		return NULL;
	}
	// BTF had entered its own on the way to some other struct: the script's wins.
	struct Record *r = record_new(p->c, ORIGIN_CDECL, strchr(key, ' ') + 1, is_union, 0, 0);
	map_put(&p->c->names, key, (void *)record_type(r));
	return r;
}

// ---- declarators

struct Declarator {
	const char *name; // "" without
	const struct CTok *at;
	const struct Type *type;
	bool func; // a function itself, not a pointer to one
	struct Attrs attrs;
};

static bool declarator(struct CParser *p, const struct Type *base, struct Declarator *d);

static bool array_suffix(struct CParser *p, const struct Type **type)
{
	u64 dims[16];
	u32 n = 0;
	const struct CTok *at = peek(p, 0);
	while (eat(p, "[")) {
		struct CValue v = {0};
		while (is(p, "static") || is(p, "const") || is(p, "restrict") || is(p, "__restrict"))
			p->tok++;
		if (!is(p, "]") && !const_expr(p, &v))
			return false;
		if ((!v.uns && (s64)v.v < 0) || v.v > ARRAY_MAX || n == ARRAY_LEN(dims))
			return fail(p, at, "this array cannot be that large");
		if (!expect(p, "]"))
			return false;
		dims[n++] = v.v;
	}
	for (; n; n--) {
		const struct Type *elem = *type;
		if (elem->kind == TY_RECORD && !elem->rec->loaded && !ctype_record_load(p->c, elem->rec))
			return fail(p, at, "array of the incomplete type '%s %s'", elem->rec->is_union ? "union" : "struct", elem->rec->name);
		if (elem->kind == TY_VOID)
			return fail(p, at, "array of void");
		if (elem->size && dims[n - 1] > ARRAY_MAX / elem->size)
			return fail(p, at, "this array cannot be that large");
		*type = ty_array(p->c->tab, elem, (u32)dims[n - 1]);
	}
	return true;
}

// "( ... )" and "[ ... ]" behind a name.
static bool suffixes(struct CParser *p, const struct Type **type, bool *func)
{
	*func = false;
	if (is(p, "(")) {
		skip_group(p);
		*func = true;
		*type = ty_simple(p->c->tab, TY_VOID); // only pointers to functions are of interest, and only as pointers
		return true;
	}
	return array_suffix(p, type);
}

static bool nested_follows(struct CParser *p)
{
	const struct CTok *t = peek(p, 1);
	return is(p, "(") && (ctok_is(t, "*") || ctok_is(t, "(") || ctok_is(t, "__attribute__") || ctok_is(t, "^") ||
			      (t->kind == CT_IDENT && !cdecl_at_type(p, t)));
}

static bool declarator_body(struct CParser *p, const struct Type *base, struct Declarator *d)
{
	bool func, inner_func;
	while (is(p, "*") || qualifier(p, &d->attrs))
		if (eat(p, "*"))
			base = ty_ptr(p->c->tab, base, AS_NONE);
	if (p->failed)
		return false;
	if (nested_follows(p)) { // "(*name)(int)": what stands behind applies first
		const struct CTok *inside = p->tok + 1;
		skip_group(p);
		if (!suffixes(p, &base, &func))
			return false;
		const struct CTok *after = p->tok;
		p->tok = inside;
		if (!declarator(p, base, d) || !expect(p, ")"))
			return false;
		p->tok = after;
		d->func |= func && d->type == base; // "(name)(int)" is a function as well
		return true;
	}
	d->at = peek(p, 0);
	if (d->at->kind == CT_IDENT) {
		d->name = text_of(p, d->at);
		p->tok++;
	}
	if (!suffixes(p, &base, &inner_func))
		return false;
	d->type = base;
	d->func = inner_func;
	while (qualifier(p, &d->attrs))
		;
	return !p->failed;
}

static bool declarator(struct CParser *p, const struct Type *base, struct Declarator *d)
{
	bool ok = deeper(p) && declarator_body(p, base, d);
	p->depth--;
	return ok;
}

// ---- struct and union bodies

struct Members {
	struct CMember *p;
	size_t n, cap;
};

static bool specifiers(struct CParser *p, struct Specs *s);

static bool duplicate(const struct Members *m, const char *name)
{
	for (size_t i = 0; *name && i < m->n; i++)
		if (!strcmp(m->p[i].f.name, name))
			return true;
	return false;
}

static bool complete(struct CParser *p, const struct Type *t)
{
	while (t->kind == TY_ARRAY)
		t = t->elem;
	return t->kind == TY_RECORD ? ctype_record_load(p->c, t->rec) : t->kind != TY_VOID;
}

static bool bit_width(struct CParser *p, struct CMember *m)
{
	struct CValue v;
	const struct CTok *at = peek(p, 0);
	if (!const_expr(p, &v))
		return false;
	if (m->f.type->kind != TY_INT && m->f.type->kind != TY_BOOL)
		return fail(p, at, "only integers can be bit-fields");
	if (v.v > (u64)m->f.type->size * 8 || (!v.v && *m->f.name))
		return fail(p, at, "bit-field '%s' cannot have %lld bits", m->f.name, (long long)v.v);
	m->bitfield = true;
	m->bits = (u32)v.v;
	return true;
}

static bool member_declarator(struct CParser *p, const struct Specs *s, struct Members *out)
{
	struct Declarator d = {.name = "", .type = s->type, .at = peek(p, 0), .attrs = s->attrs};
	struct CMember m = {0};
	bool bare = is(p, ":"); // unnamed bit-field
	if (!bare && !declarator(p, s->type, &d))
		return false;
	m.f = (struct Field){.name = d.name, .type = d.type};
	if (eat(p, ":") && !bit_width(p, &m))
		return false;
	while (qualifier(p, &d.attrs))
		;
	if (d.func)
		return fail(p, d.at, "a member cannot be a function");
	if (!*d.name && !m.bitfield)
		return fail(p, d.at, "a member needs a name");
	if (!complete(p, d.type))
		return fail(p, d.at, "member '%s' has an incomplete type", d.name);
	if (duplicate(out, d.name))
		return fail(p, d.at, "duplicate member '%s'", d.name);
	m.align = d.attrs.align;
	m.packed = d.attrs.packed;
	vec_push(out, m);
	return !p->failed;
}

static bool member_line(struct CParser *p, struct Members *out)
{
	struct Specs s = {0};
	if (eat(p, ";"))
		return true;
	if (is(p, "_Static_assert") || is(p, "static_assert")) {
		recover(p);
		return true;
	}
	const struct CTok *at = peek(p, 0);
	if (!specifiers(p, &s))
		return false;
	if (is(p, ";")) { // anonymous struct or union; "struct foo;" declares nothing
		if (s.type->kind == TY_RECORD && !*s.type->rec->name) {
			struct CMember m = {.f = {.name = "", .type = s.type}, .align = s.attrs.align, .packed = s.attrs.packed};
			vec_push(out, m);
		} else if (s.type->kind != TY_RECORD && !s.type->en && strict(p, at))
			return fail(p, at, "a member needs a name");
		return expect(p, ";");
	}
	do {
		if (!member_declarator(p, &s, out))
			return false;
	} while (eat(p, ","));
	return expect(p, ";");
}

static void pragma_pack(struct CParser *p)
{
	const char *s = p->tok->text;
	u64 n = 0;
	if (!strncmp(s, "push", 4) && p->npacks < ARRAY_LEN(p->packs))
		p->packs[p->npacks++] = p->pack;
	if (!strncmp(s, "pop", 3))
		p->pack = p->npacks ? p->packs[--p->npacks] : 0;
	else if (parse_u64(strrchr(s, ',') ? strrchr(s, ',') + 1 : s, &n))
		p->pack = n <= 16 && !(n & (n - 1)) ? (u32)n : 0;
	else if (!*s)
		p->pack = 0;
	p->tok++;
}

static bool members(struct CParser *p, struct Members *out)
{
	while (p->tok < p->end && !is(p, "}")) {
		if (p->tok->kind == CT_PACK)
			pragma_pack(p);
		else if (!member_line(p, out))
			return false;
	}
	return expect(p, "}");
}

static bool record_body(struct CParser *p, const struct CTok *at, bool is_union, const char *name, struct Attrs *a, const struct Type **out)
{
	struct Record *r = definition(p, at, is_union, name);
	struct Members m = {0};
	bool ok = !p->failed && deeper(p) && members(p, &m);
	p->depth--;
	while (ok && qualifier(p, a))
		;
	ok = ok && !p->failed;
	if (ok && r && r->loaded) // "struct a { struct a { ..." or completed by a member's type meanwhile
		ok = fail(p, at, "redefinition of '%s'", name);
	if (ok && r) {
		struct CLayout l = {.is_union = is_union, .packed = a->packed, .pack = p->pack, .align = a->align};
		ok = clayout(p->c, r, &l, m.p, (u32)m.n) || fail(p, at, "this %s is too large", is_union ? "union" : "struct");
		record_origin(r)->kind = ORIGIN_CDECL;
		record_origin(r)->type = ty_record(p->c->tab, r);
		*out = record_type(r);
	} else if (ok)
		*out = known(p, arena_printf(p->c->arena, "%s %s", is_union ? "union" : "struct", name));
	vec_deinit(&m);
	return ok;
}

// ---- enums

struct Enumerators {
	struct EnumConst *p;
	size_t n, cap;
};

static bool enumerator(struct CParser *p, struct Enumerators *out, s64 *next)
{
	const struct CTok *t = peek(p, 0);
	struct Attrs ignored = {0};
	if (t->kind != CT_IDENT)
		return fail(p, t, "the name of an enumerator is expected here");
	struct EnumConst k = {.name = text_of(p, t), .val = *next};
	p->tok++;
	while (qualifier(p, &ignored))
		;
	if (eat(p, "=")) {
		struct CValue v;
		if (!const_expr(p, &v))
			return false;
		k.val = (s64)v.v;
	}
	const struct CConst *old = map_get(&p->c->consts, k.name);
	if (old && !p->lenient)
		return fail(p, t, "redefinition of enumerator '%s'", k.name);
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

static bool enum_body(struct CParser *p, const struct CTok *at, const char *name, struct Attrs *a, const struct Type **out)
{
	struct Enumerators k = {0};
	s64 next = 0;
	char *key = *name ? arena_printf(p->c->arena, "enum %s", name) : NULL;
	const struct Type *old = key && (p->lenient || map_get(&p->c->names, key)) ? known(p, key) : NULL;
	bool ok = p->lenient || !old || fail(p, at, "redefinition of 'enum %s'", name);
	while (ok && p->tok < p->end && !is(p, "}")) {
		ok = enumerator(p, &k, &next);
		if (ok && !eat(p, ","))
			break;
	}
	ok = ok && expect(p, "}");
	while (ok && qualifier(p, a))
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

// ---- specifiers

static bool tagged(struct CParser *p, const char *tag, struct Specs *s)
{
	const struct CTok *at = peek(p, 0);
	struct Attrs a = {0};
	const char *name = "";
	while (qualifier(p, &a))
		;
	if (peek(p, 0)->kind == CT_IDENT) {
		at = peek(p, 0);
		name = text_of(p, at);
		p->tok++;
	}
	if (*tag == 'e' && is(p, ":")) { // C23: enum x : u8
		struct Specs base = {0};
		p->tok++;
		if (!specifiers(p, &base))
			return false;
	}
	if (p->failed)
		return false;
	if (eat(p, "{")) {
		s->body = true;
		bool ok = *tag == 'e' ? enum_body(p, at, name, &a, &s->type) : record_body(p, at, *tag == 'u', name, &a, &s->type);
		return ok;
	}
	if (!*name)
		return fail(p, peek(p, 0), "a name or '{' is expected after '%s'", tag);
	s->type = tag_reference(p, tag, name);
	return true;
}

static bool is_storage(const struct CTok *t)
{
	return ctok_is(t, "extern") || ctok_is(t, "static") || ctok_is(t, "inline") || ctok_is(t, "register") || ctok_is(t, "_Noreturn") ||
	       ctok_is(t, "_Thread_local") || ctok_is(t, "__thread") || ctok_is(t, "auto");
}

static bool is_int_word(const struct CTok *t)
{
	static const char *const words[] = {"unsigned", "signed",   "char",	  "short",	"int",	 "long", "_Bool", "bool",
					    "void",	"__signed__", "__signed", "__int128", "float", "double"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (ctok_is(t, words[i]))
			return true;
	return false;
}

static const struct Type *basic_type(struct CParser *p, const char *words)
{
	struct CInt i;
	if (!strcmp(words, "void"))
		return ty_simple(p->c->tab, TY_VOID);
	if (!strcmp(words, "float") || !strcmp(words, "double") || !strcmp(words, "long double"))
		return ctype_float(p->c, *words == 'f' ? 4 : *words == 'd' ? 8 : 16);
	if (strstr(words, "__int128"))
		return ctype_int128(p->c);
	return cint_by_name(words, &i) ? cint_type(p->c, &i) : NULL;
}

bool cdecl_at_type(struct CParser *p, const struct CTok *t)
{
	if (t->kind != CT_IDENT)
		return false;
	if (is_int_word(t) || ctok_is(t, "struct") || ctok_is(t, "union") || ctok_is(t, "enum") || ctok_is(t, "const") || ctok_is(t, "volatile"))
		return true;
	char *name = text_of(p, t);
	const struct Type *ty = map_get(&p->c->consts, name) ? NULL : known(p, name);
	// A bare record name is no type in C.
	return ty && !(ty->kind == TY_RECORD && !strcmp(ty->rec->name, name) && !map_has(&p->c->names, name));
}

// bpftrace takes "struct foo { int x; }" without ';' when the text ends there or the next line starts another declaration.
static bool at_next_declaration(const struct CParser *p)
{
	return p->tok >= p->end || (p->tok->bol && (is(p, "struct") || is(p, "union") || is(p, "enum") || is(p, "typedef")));
}

static bool specifiers(struct CParser *p, struct Specs *s)
{
	struct Str words = {0};
	const struct CTok *from = peek(p, 0);
	bool more = true;
	while (more && !p->failed && !(s->body && at_next_declaration(p))) {
		const struct CTok *t = peek(p, 0);
		if (qualifier(p, &s->attrs))
			continue;
		if (ctok_is(t, "typedef")) {
			s->is_typedef = true;
			p->tok++;
		} else if (is_storage(t))
			p->tok++;
		else if (is_int_word(t) && !s->type) {
			bool plain = ctok_is(t, "__signed__") || ctok_is(t, "__signed");
			str_addf(&words, "%s%.*s", words.n ? " " : "", plain ? 6 : (int)t->len, plain ? "signed" : t->text);
			p->tok++;
		} else if (!words.n && !s->type && (ctok_is(t, "struct") || ctok_is(t, "union") || ctok_is(t, "enum"))) {
			p->tok++;
			tagged(p, ctok_is(t, "struct") ? "struct" : ctok_is(t, "union") ? "union" : "enum", s);
		} else if (!words.n && !s->type && t->kind == CT_IDENT) {
			char *name = text_of(p, t);
			s->type = known(p, name);
			if (s->type)
				p->tok++;
			else
				unknown_type(p, t, name);
		} else
			more = false;
	}
	if (!p->failed && words.n && !(s->type = basic_type(p, words.p)))
		fail(p, from, "'%s' is no type", words.p);
	if (!p->failed && !s->type)
		fail(p, from, "a type is expected here");
	str_deinit(&words);
	return !p->failed;
}

const struct Type *cdecl_type_name(struct CParser *p)
{
	struct Specs s = {0};
	struct Declarator d = {.name = ""};
	p->failed = false;
	if (!specifiers(p, &s) || !declarator(p, s.type, &d) || *d.name || d.func)
		return NULL;
	return d.type;
}

// ---- the whole text

static void enter_typedef(struct CParser *p, const struct Declarator *d)
{
	const struct Type *t = d->type, *old = p->lenient ? known(p, d->name) : map_get(&p->c->names, d->name);
	if (old && p->lenient)
		return;
	if (old && old != t) {
		fail(p, d->at, "redefinition of typedef '%s' as a different type", d->name);
		return;
	}
	map_put(&p->c->names, d->name, (void *)t);
}

static bool declaration(struct CParser *p)
{
	struct Specs s = {0};
	if (!specifiers(p, &s))
		return false;
	if (s.body && !s.is_typedef && at_next_declaration(p))
		return true;
	while (!is(p, ";")) {
		struct Declarator d = {.name = "", .attrs = s.attrs};
		if (!declarator(p, s.type, &d))
			return false;
		if (s.is_typedef && *d.name && !d.func)
			enter_typedef(p, &d);
		else if (s.is_typedef && *d.name)
			map_put(&p->c->names, d.name, (void *)ty_simple(p->c->tab, TY_VOID));
		if (d.func && is(p, "{")) { // a function with a body, inline in a header
			skip_group(p);
			return true;
		}
		if (eat(p, "=")) // a variable: only types are of interest
			while (p->tok < p->end && !is(p, ",") && !is(p, ";")) {
				if (is(p, "{") || is(p, "("))
					skip_group(p);
				else
					p->tok++;
			}
		if (p->failed || (!eat(p, ",") && !is(p, ";")))
			return p->failed ? false : expect(p, ";");
	}
	return expect(p, ";");
}

void cdecl_parse(struct CParser *p)
{
	while (p->tok < p->end) {
		const struct CTok *from = p->tok;
		p->failed = false;
		if (p->tok->kind == CT_PACK)
			pragma_pack(p);
		else if (!eat(p, ";") && !declaration(p)) {
			p->depth = 0;
			p->tok = from;
			recover(p);
		}
		if (p->tok <= from)
			p->tok = from + 1;
	}
}
