// Declarations of C: struct, union, enum, typedef of the script's preamble and of headers.
// Input: tokens after preprocessing. Output: names in Ctypes.names ("struct foo", "foo_t") and enumerators in Ctypes.consts.
// Invariant: a struct, enum or typedef is either entered whole or not at all; the parser always moves forward and nests at most
// a fixed number of levels.
#include "ctype/internal.h"


// ---- names

static void unknown_type(struct CParser *p, const struct CTok *at, const char *name)
{
	bool first = !p->failed && cp_strict(p, at);
	cp_fail(p, at, "unknown type '%s'", name);
	const char *near = first ? ctype_nearest(p->c, name) : NULL;
	if (near)
		cp_hint(p, at, arena_printf(p->c->arena, "Did you mean '%s'?", near));
	if (first)
		cp_hint(p, at, ctype_unresolved_hint(p->c));
}

// "struct foo" without a body.
static const struct Type *tag_reference(struct CParser *p, const char *tag, const char *name)
{
	char *key = arena_printf(p->c->arena, "%s %s", tag, name);
	if (*tag == 'e') {
		const struct Type *t = cp_known(p, key);
		return t ? t : ty_int(p->c->tab, 4, false); // "enum foo;": an int until somebody knows better
	}
	const struct Type *t = map_get(&p->c->names, key);
	return t ? t : ctype_named_record(p->c, name, *tag == 'u');
}

// ---- declarators

static bool array_suffix(struct CParser *p, const struct Type **type)
{
	u64 dims[16];
	u32 n = 0;
	const struct CTok *at = cp_peek(p, 0);
	while (cp_eat(p, "[")) {
		struct CValue v = {0};
		while (cp_is(p, "static") || cp_is(p, "const") || cp_is(p, "restrict") || cp_is(p, "__restrict"))
			p->tok++;
		if (!cp_is(p, "]") && !cp_const_expr(p, &v))
			return false;
		if ((!v.uns && (s64)v.v < 0) || v.v > TY_SIZE_MAX || n == ARRAY_LEN(dims))
			return cp_fail(p, at, "this array cannot be that large");
		if (!cp_expect(p, "]"))
			return false;
		dims[n++] = v.v;
	}
	for (; n; n--) {
		const struct Type *elem = *type;
		if (elem->kind == TY_RECORD && !elem->rec->loaded && !ctype_record_load(p->c, elem->rec))
			return cp_fail(p, at, "array of the incomplete type '%s %s'", elem->rec->is_union ? "union" : "struct", elem->rec->name);
		if (elem->kind == TY_VOID)
			return cp_fail(p, at, "array of void");
		if (elem->size && dims[n - 1] > TY_SIZE_MAX / elem->size)
			return cp_fail(p, at, "this array cannot be that large");
		*type = ty_array(p->c->tab, elem, (u32)dims[n - 1]);
	}
	return true;
}

// "( ... )" and "[ ... ]" behind a name.
static bool suffixes(struct CParser *p, const struct Type **type, bool *func)
{
	*func = false;
	if (cp_is(p, "(")) {
		cp_skip_group(p);
		*func = true;
		*type = ty_simple(p->c->tab, TY_VOID); // only pointers to functions are of interest, and only as pointers
		return true;
	}
	return array_suffix(p, type);
}

static bool nested_follows(struct CParser *p)
{
	const struct CTok *t = cp_peek(p, 1);
	return cp_is(p, "(") && (ctok_is(t, "*") || ctok_is(t, "(") || ctok_is(t, "__attribute__") || ctok_is(t, "^") ||
			      (t->kind == CT_IDENT && !cdecl_at_type(p, t)));
}

static bool declarator_body(struct CParser *p, const struct Type *base, struct Declarator *d)
{
	bool func, inner_func;
	while (cp_is(p, "*") || cp_qualifier(p, &d->attrs))
		if (cp_eat(p, "*"))
			base = ty_ptr(p->c->tab, base, AS_NONE);
	if (p->failed)
		return false;
	if (nested_follows(p)) { // "(*name)(int)": what stands behind applies first
		const struct CTok *inside = p->tok + 1;
		cp_skip_group(p);
		if (!suffixes(p, &base, &func))
			return false;
		const struct CTok *after = p->tok;
		p->tok = inside;
		if (!cp_declarator(p, base, d) || !cp_expect(p, ")"))
			return false;
		p->tok = after;
		d->func |= func && d->type == base; // "(name)(int)" is a function as well
		return true;
	}
	d->at = cp_peek(p, 0);
	if (d->at->kind == CT_IDENT) {
		d->name = cp_text(p, d->at);
		p->tok++;
	}
	if (!suffixes(p, &base, &inner_func))
		return false;
	d->type = base;
	d->func = inner_func;
	while (cp_qualifier(p, &d->attrs))
		;
	return !p->failed;
}

bool cp_declarator(struct CParser *p, const struct Type *base, struct Declarator *d)
{
	bool ok = cp_deeper(p) && declarator_body(p, base, d);
	p->depth--;
	return ok;
}

// ---- specifiers

static bool tagged(struct CParser *p, const char *tag, struct Specs *s)
{
	const struct CTok *at = cp_peek(p, 0);
	struct Attrs a = {0};
	const char *name = "";
	while (cp_qualifier(p, &a))
		;
	if (cp_peek(p, 0)->kind == CT_IDENT) {
		at = cp_peek(p, 0);
		name = cp_text(p, at);
		p->tok++;
	}
	if (*tag == 'e' && cp_is(p, ":")) { // C23: enum x : u8
		struct Specs base = {0};
		p->tok++;
		if (!cp_specifiers(p, &base))
			return false;
	}
	if (p->failed)
		return false;
	if (cp_eat(p, "{")) {
		s->body = true;
		bool ok = *tag == 'e' ? cp_enum_body(p, at, name, &a, &s->type) : cp_record_body(p, at, *tag == 'u', name, &a, &s->type);
		return ok;
	}
	if (!*name)
		return cp_fail(p, cp_peek(p, 0), "a name or '{' is expected after '%s'", tag);
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
	char *name = cp_text(p, t);
	const struct Type *ty = map_get(&p->c->consts, name) ? NULL : cp_known(p, name);
	// A bare record name is no type in C.
	return ty && !(ty->kind == TY_RECORD && !strcmp(ty->rec->name, name) && !map_has(&p->c->names, name));
}

// "struct foo { int x; }" needs no ';' where the text ends or another declaration begins.
static bool at_next_declaration(const struct CParser *p)
{
	return p->tok >= p->end || cp_is(p, "struct") || cp_is(p, "union") || cp_is(p, "enum") || (p->tok->bol && cp_is(p, "typedef"));
}

bool cp_specifiers(struct CParser *p, struct Specs *s)
{
	struct Str words = {0};
	const struct CTok *from = cp_peek(p, 0);
	bool more = true;
	while (more && !p->failed && !(s->body && at_next_declaration(p))) {
		const struct CTok *t = cp_peek(p, 0);
		if (cp_qualifier(p, &s->attrs))
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
			char *name = cp_text(p, t);
			s->type = cp_known(p, name);
			if (s->type)
				p->tok++;
			else
				unknown_type(p, t, name);
		} else
			more = false;
	}
	if (!p->failed && words.n && !(s->type = basic_type(p, words.p)))
		cp_fail(p, from, "'%s' is no type", words.p);
	if (!p->failed && !s->type)
		cp_fail(p, from, "a type is expected here");
	str_deinit(&words);
	return !p->failed;
}

const struct Type *cdecl_type_name(struct CParser *p)
{
	struct Specs s = {0};
	struct Declarator d = {.name = ""};
	p->failed = false;
	if (!cp_specifiers(p, &s) || !cp_declarator(p, s.type, &d) || *d.name || d.func)
		return NULL;
	return d.type;
}

// ---- the whole text

static void enter_typedef(struct CParser *p, const struct Declarator *d)
{
	const struct Type *t = d->type, *old = p->lenient ? cp_known(p, d->name) : map_get(&p->c->names, d->name);
	if (old && p->lenient)
		return;
	if (old && old != t) {
		cp_fail(p, d->at, "redefinition of typedef '%s' as a different type", d->name);
		return;
	}
	map_put(&p->c->names, d->name, (void *)t);
}

static bool declaration(struct CParser *p)
{
	struct Specs s = {0};
	if (!cp_specifiers(p, &s))
		return false;
	if (s.body && !s.is_typedef && at_next_declaration(p))
		return true;
	while (!cp_is(p, ";")) {
		struct Declarator d = {.name = "", .attrs = s.attrs};
		if (!cp_declarator(p, s.type, &d))
			return false;
		if (s.is_typedef && *d.name && !d.func)
			enter_typedef(p, &d);
		else if (s.is_typedef && *d.name)
			map_put(&p->c->names, d.name, (void *)ty_simple(p->c->tab, TY_VOID));
		if (d.func && cp_is(p, "{")) { // a function with a body, inline in a header
			cp_skip_group(p);
			return true;
		}
		if (cp_eat(p, "=")) // a variable: only types are of interest
			while (p->tok < p->end && !cp_is(p, ",") && !cp_is(p, ";")) {
				if (cp_is(p, "{") || cp_is(p, "("))
					cp_skip_group(p);
				else
					p->tok++;
			}
		if (p->failed || (!cp_eat(p, ",") && !cp_is(p, ";")))
			return p->failed ? false : cp_expect(p, ";");
	}
	return cp_expect(p, ";");
}

void cdecl_parse(struct CParser *p)
{
	while (p->tok < p->end) {
		const struct CTok *from = p->tok;
		p->failed = false;
		if (p->tok->kind == CT_PACK)
			cp_pragma_pack(p);
		else if (!cp_eat(p, ";") && !declaration(p)) {
			p->depth = 0;
			p->tok = from;
			cp_recover(p);
		}
		if (p->tok <= from)
			p->tok = from + 1;
	}
}
