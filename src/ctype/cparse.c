// Steps of the parser of C declarations: looking at tokens, errors and recovery, constants, attributes.
// Input: a CParser. Output: its position moved, diagnostics. Invariant: p->tok never passes p->end.
#include "ctype/internal.h"

#define DEPTH_MAX 60

static const struct CTok eof_tok = {.kind = CT_EOF, .text = ""};

const struct CTok *cp_peek(const struct CParser *p, u32 ahead)
{
	return (size_t)(p->end - p->tok) > ahead ? p->tok + ahead : &eof_tok;
}

bool cp_is(const struct CParser *p, const char *s)
{
	return ctok_is(cp_peek(p, 0), s);
}

bool cp_eat(struct CParser *p, const char *s)
{
	if (!cp_is(p, s))
		return false;
	p->tok++;
	return true;
}

char *cp_text(struct CParser *p, const struct CTok *t)
{
	return arena_strndup(p->c->arena, t->text, t->len);
}

// ---- errors: diagnostics for the script, silence for headers

static const struct CTok *error_place(const struct CParser *p, const struct CTok *at)
{
	return at && at != &eof_tok && at < p->end ? at : p->end - 1;
}

bool cp_fail(struct CParser *p, const struct CTok *at, const char *fmt, ...)
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

bool cp_strict(const struct CParser *p, const struct CTok *at)
{
	return !p->lenient && !error_place(p, at)->file->header;
}

void cp_hint(struct CParser *p, const struct CTok *at, const char *text)
{
	if (text && cp_strict(p, at))
		diag_hint(p->c->diags, "%s", text);
}

bool cp_expect(struct CParser *p, const char *s)
{
	return cp_eat(p, s) || cp_fail(p, cp_peek(p, 0), "'%s' is missing here", s);
}

bool cp_deeper(struct CParser *p)
{
	return ++p->depth < DEPTH_MAX || cp_fail(p, cp_peek(p, 0), "declarations are nested too deeply");
}

// Skips a bracketed group that starts at p->tok.
void cp_skip_group(struct CParser *p)
{
	int depth = 0;
	do {
		if (cp_is(p, "(") || cp_is(p, "[") || cp_is(p, "{"))
			depth++;
		else if (cp_is(p, ")") || cp_is(p, "]") || cp_is(p, "}"))
			depth--;
		p->tok++;
	} while (p->tok < p->end && depth > 0);
}

// From the declaration's first token to behind its end: the '}' of a function body, else the ';'.
void cp_recover(struct CParser *p)
{
	bool aggregate = cp_is(p, "struct") || cp_is(p, "union") || cp_is(p, "enum") || cp_is(p, "typedef");
	while (p->tok < p->end && !cp_is(p, ";") && !cp_is(p, "{") && !cp_is(p, "}"))
		p->tok++;
	if (cp_is(p, "{")) {
		cp_skip_group(p);
		while (aggregate && p->tok < p->end && !cp_is(p, ";") && !cp_is(p, "{") && !p->tok->bol)
			p->tok++;
		cp_eat(p, ";");
	} else if (p->tok < p->end)
		p->tok++;
}

// ---- constant expressions inside declarations

bool cp_const_expr(struct CParser *p, struct CValue *out)
{
	struct CParser sub = *p;
	sub.lenient = true; // type names that turn out to be none are the expression's error, reported once
	struct CExpr e = {.c = p->c, .types = &sub, .tok = p->tok, .end = p->end, .depth = p->depth};
	sub.first_skipped = "";
	if (!cexpr_eval(&e, out))
		return cp_fail(p, e.err_at, "%s", e.err);
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
	const struct CTok *t = cp_peek(p, 0);
	if (ctok_is(t, "packed") || ctok_is(t, "__packed__")) {
		a->packed = true;
		p->tok++;
	} else if (ctok_is(t, "aligned") || ctok_is(t, "__aligned__")) {
		struct CValue v = {16, false, false}; // without a number: the target's largest
		p->tok++;
		if (cp_eat(p, "(") && (!cp_const_expr(p, &v) || !cp_expect(p, ")")))
			return;
		if (!v.v || v.v > 1u << 20 || (v.v & (v.v - 1)))
			cp_fail(p, t, "an alignment is a power of two");
		else
			a->align = MAX(a->align, (u32)v.v);
	} else if (p->tok < p->end) {
		p->tok++;
		if (cp_is(p, "("))
			cp_skip_group(p);
	}
}

// One attribute, asm label or qualifier at p->tok; false: something else is there.
bool cp_qualifier(struct CParser *p, struct Attrs *a)
{
	static const char *const words[] = {"const",   "volatile",   "restrict", "__restrict", "__restrict__", "__const",  "__volatile__",
					    "_Atomic", "__user",     "__kernel", "__rcu",      "__iomem",      "__percpu", "__force",
					    "__bitwise", "__private", "__extension__", "__nocast", "__ro_after_init", "__inline", "__inline__"};
	const struct CTok *t = cp_peek(p, 0);
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
		if (!cp_expect(p, "(") || !cp_expect(p, "("))
			return true;
		while (p->tok < p->end && !cp_is(p, ")") && !p->failed)
			if (!cp_eat(p, ","))
				attribute(p, a);
		cp_expect(p, ")");
		cp_expect(p, ")");
		return true;
	}
	if ((ctok_is(t, "_Alignas") || ctok_is(t, "alignas") || ctok_is(t, "__aligned")) && ctok_is(cp_peek(p, 1), "(")) {
		struct CValue v;
		p->tok += 2;
		struct CParser sub = *p;
		sub.lenient = true;
		const struct Type *ty = cdecl_at_type(p, cp_peek(p, 0)) ? cdecl_type_name(&sub) : NULL;
		if (ty)
			p->tok = sub.tok;
		v = (struct CValue){ty ? ctype_align_of(p->c, ty) : 1, true, true};
		if ((ty || cp_const_expr(p, &v)) && (!v.v || v.v > 1u << 20 || (v.v & (v.v - 1))))
			cp_fail(p, t, "an alignment is a power of two");
		a->align = MAX(a->align, (u32)v.v);
		cp_expect(p, ")");
		return true;
	}
	if (ctok_is(t, "__asm__") || ctok_is(t, "asm") || ctok_is(t, "__asm")) {
		p->tok++;
		if (cp_is(p, "("))
			cp_skip_group(p);
		return true;
	}
	return false;
}

void cp_pragma_pack(struct CParser *p)
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

// va_list comes from the compiler's own <stdarg.h>, which is not among the system's headers.
static const struct Type *compiler_type(struct Ctypes *c, const char *name)
{
#ifdef __x86_64__
	u32 n = 3;
#elif defined(__riscv)
	u32 n = 1;
#else
	u32 n = 4;
#endif
	if (!strcmp(name, "__builtin_va_list") || !strcmp(name, "__gnuc_va_list") || !strcmp(name, "va_list"))
		return ty_array(c->tab, ty_int(c->tab, 8, false), n);
	return !strcmp(name, "__int128_t") || !strcmp(name, "__uint128_t") ? ctype_int128(c) : NULL;
}

const struct Type *cp_known(struct CParser *p, const char *name)
{
	const struct Type *t = map_get(&p->c->names, name); // may name an incomplete struct: "typedef struct _IO_FILE FILE;"
	if (!t)
		t = ctype_lookup_known(p->c, name);
	return t ? t : compiler_type(p->c, name);
}
