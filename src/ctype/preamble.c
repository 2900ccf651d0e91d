// The C part of a script: #include, #define, #if and declarations before the first probe.
// Input: the CText spans of the script, --include files. Output: names and macros in Ctypes. The system's headers are only noted and are
// read when a name stays unknown without them: BTF and the built-in constants nearly always know it.
#include "arch/arch.h"
#include "ctype/internal.h"

static void predefine(struct Ctypes *c, struct Cpp *p)
{
	static const char *const defs[][2] = {
		{"__linux__", "1"}, {"__linux", "1"},	       {"__unix__", "1"},   {"__LP64__", "1"},	 {"_LP64", "1"},
		{"__STDC__", "1"},  {"__STDC_VERSION__", "201710L"}, {"__CHAR_BIT__", "8"}, {"__GNUC__", "12"}, {"__GNUC_MINOR__", "0"},
		HOST_DEFINES,
		{"__SIZEOF_LONG__", "8"}, {"__SIZEOF_POINTER__", "8"}, {"__SIZE_TYPE__", "unsigned long"}, {"__WCHAR_TYPE__", "int"},
		{"__INT_MAX__", "2147483647"}, {"__BYTE_ORDER__", "1234"}, {"__ORDER_LITTLE_ENDIAN__", "1234"}, {"__ORDER_BIG_ENDIAN__", "4321"},
	};
	for (size_t i = 0; i < ARRAY_LEN(defs); i++)
		cpp_define(p, defs[i][0], defs[i][1]);
	if (kbtf_exists(c))
		cpp_define(p, "BPFTRACE_HAVE_BTF", "1");
}

static void take(struct Ctypes *c, struct CToks *toks, bool lenient)
{
	struct CParser p = {.c = c, .lenient = lenient, .tok = toks->p, .end = ctoks_end(toks)};
	if (toks->n)
		cdecl_parse(&p);
	if (!c->skipped)
		c->skipped = p.first_skipped;
	vec_deinit(toks);
}

void ctypes_add_preamble(struct Ctypes *c, const struct CText *text, const char *const *include_dirs, u32 ndirs, const char *const *extra,
			 u32 nextra)
{
	struct CToks toks = {0};
	struct Span none = {0};
	if (!text && !nextra)
		return;
	if (!c->cpp) {
		c->cpp = cpp_create(c, include_dirs, ndirs, false);
		predefine(c, c->cpp);
	}
	for (u32 i = 0; i < nextra; i++)
		cpp_include(c->cpp, extra[i], false, NULL, none, &toks);
	for (; text; text = text->next) {
		const struct Source *src = &c->diags->sources.p[text->span.file];
		struct CFile *f = arena_new(c->arena, struct CFile);
		u32 off = (u32)MIN((size_t)text->span.off, src->len);
		*f = (struct CFile){.name = src->name, .text = src->text + off, .len = MIN((size_t)text->span.len, src->len - off), .at = text->span};
		cpp_text(c->cpp, f, &toks);
	}
	cpp_end(c->cpp);
	take(c, &toks, false);
}

void preamble_destroy(struct Ctypes *c)
{
	cpp_destroy(c->cpp);
	cpp_destroy(c->headers);
	map_deinit(&c->macros);
}

static bool headers_pending(const struct Ctypes *c)
{
	return c->cpp && c->nheaders < c->cpp->system.n;
}

bool preamble_read_headers(struct Ctypes *c)
{
	struct CToks toks = {0};
	struct Span none = {0};
	if (!headers_pending(c))
		return false;
	if (!c->headers) {
		c->headers = cpp_create(c, c->cpp->dirs, c->cpp->ndirs, true);
		c->headers->outer = c->cpp;
	}
	while (c->nheaders < c->cpp->system.n)
		cpp_header(c->headers, c->cpp->system.p[c->nheaders++], none, &toks);
	take(c, &toks, true);
	return true;
}

// ---- macros in expressions of the script

static void join(const struct CToks *t, struct Str *out)
{
	for (size_t i = 0; i < t->n; i++) {
		if (i && (t->p[i].space || (t->p[i].kind != CT_PUNCT && t->p[i - 1].kind != CT_PUNCT)))
			str_addc(out, ' ');
		str_addn(out, t->p[i].text, t->p[i].len);
	}
}

// Each expansion has room of its own, however many there are; one that has not enough is no expansion.
static bool expand_whole(struct Cpp *cpp, const char *name, const struct CTok *in, size_t n, struct CToks *out)
{
	size_t before = cpp->ntoks;
	cpp->ntoks = 0;
	cpp_expand(cpp, in, n, out);
	bool whole = !cpp_out_of_room(cpp);
	if (!whole)
		diag_error_plain(cpp->c->diags, "the macro %s expands to more than %zu tokens, or needs over %u macros in one another", name, CPP_TOKS_MAX, CPP_NEST_MAX);
	cpp->ntoks = before;
	return whole;
}

// A constant becomes its decimal value: C's suffixes, casts, sizeof and character constants are settled here. Anything else is
// handed on as text.
static char *expansion(struct Ctypes *c, struct Cpp *cpp, struct CMacro *m)
{
	struct CToks toks = {0};
	struct Str s = {0};
	struct CValue v;
	m->busy = true;
	bool whole = expand_whole(cpp, m->name, m->body, m->n, &toks);
	m->busy = false;
	struct CParser p = {.c = c, .lenient = true, .tok = toks.p, .end = ctoks_end(&toks), .first_skipped = ""};
	struct CExpr e = {.c = c, .types = &p, .tok = toks.p, .end = ctoks_end(&toks)};
	if (whole && toks.n && cexpr_eval(&e, &v) && e.tok == e.end)
		str_addf(&s, v.uns ? "%llu" : "%lld", (unsigned long long)v.v);
	else if (whole)
		join(&toks, &s);
	char *text = s.n ? arena_strdup(c->arena, s.p) : NULL;
	vec_deinit(&toks);
	str_deinit(&s);
	return text;
}

static struct CMacro *find_macro(struct Ctypes *c, const char *name, struct Cpp **cpp)
{
	*cpp = c->headers ? c->headers : c->cpp; // the headers' sees the script's as well
	return *cpp ? cpp_macro(*cpp, name) : NULL;
}

const char *ctype_macro(struct Ctypes *c, const char *name)
{
	struct Cpp *cpp;
	s64 v;
	if (map_has(&c->macros, name))
		return map_get(&c->macros, name);
	char *text = NULL;
	const struct Type *type;
	struct CMacro *m = find_macro(c, name, &cpp);
	map_put(&c->macros, name, NULL); // asked for again while it is worked out: a macro that names itself
	if (!m && macro_kernel(name, &v) && kbtf_exists(c) && kbtf_enum_const(c, name, &v, &type))
		return NULL; // an enumerator has a type and a name to print
	if (!m && macro_builtin(name, &v))
		text = arena_printf(c->arena, "%lld", (long long)v);
	else if (!m && headers_pending(c) && !kbtf_knows_name(c, name) && preamble_read_headers(c))
		m = find_macro(c, name, &cpp);
	if (m && !m->func)
		text = expansion(c, cpp, m);
	map_put(&c->macros, name, text);
	return text;
}

bool ctype_macro_own(struct Ctypes *c, const char *name)
{
	struct CMacro *m = c->cpp ? cpp_macro(c->cpp, name) : NULL;
	return m && !m->func;
}

const char *ctype_macro_call(struct Ctypes *c, const char *name, u32 nargs, u32 *takes)
{
	struct Cpp *cpp;
	struct CMacro *m = find_macro(c, name, &cpp);
	struct CToks call = {0}, toks = {0};
	struct Str s = {0};
	if (!m && headers_pending(c) && preamble_read_headers(c))
		m = find_macro(c, name, &cpp);
	if (!m || !m->func)
		return NULL;
	*takes = m->nparams;
	if (m->variadic ? nargs < m->nparams : nargs != m->nparams)
		return NULL;
	*takes = nargs;
	str_addf(&s, "%s(", name);
	for (u32 i = 0; i < nargs; i++)
		str_addf(&s, "%s__arg%u", i ? "," : "", i);
	str_addc(&s, ')');
	const char *text = NULL, *key = arena_strdup(c->arena, s.p);
	if (map_has(&c->macros, key)) {
		str_deinit(&s);
		return map_get(&c->macros, key);
	}
	struct CFile *f = arena_new(c->arena, struct CFile);
	*f = (struct CFile){.name = name, .text = key, .len = s.n, .header = true};
	cpp_lex(f, &call);
	str_reset(&s);
	if (expand_whole(cpp, name, call.p, call.n, &toks))
		join(&toks, &s);
	if (s.n)
		text = arena_strdup(c->arena, s.p);
	map_put(&c->macros, key, (void *)text);
	vec_deinit(&call);
	vec_deinit(&toks);
	str_deinit(&s);
	return text;
}

const char *ctype_unresolved_hint(struct Ctypes *c)
{
	struct Str s = {0};
	char *text = NULL;
	preamble_read_headers(c);
	for (size_t i = 0; c->cpp && i < c->cpp->missing.n; i++)
		str_addf(&s, "%s<%s>", i ? ", " : "", c->cpp->missing.p[i]);
	if (s.n)
		text = arena_printf(c->arena, "Not installed here, and so not read: %s. Install the header, or declare the name in the script.", s.p);
	else if (c->skipped)
		text = arena_printf(c->arena, "Some declarations of the included headers could not be read; the first is at %s.", c->skipped);
	else if (!ctype_has_btf(c))
		text = arena_printf(c->arena, "The kernel's types are not known: %s.", kbtf_why_not(c));
	str_deinit(&s);
	return text;
}
