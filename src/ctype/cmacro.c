// Macros of the small C preprocessor: their table, and what a use of one stands for. Input: tokens. Output: tokens without macros.
// Invariant: no macro is expanded inside itself, at most CPP_NEST_MAX deep and to CPP_TOKS_MAX tokens in all;
// what is more is out of room, and is no expansion.
#include "ctype/internal.h"

struct CMacro *cpp_macro(struct Cpp *p, const char *name)
{
	for (; p; p = p->outer)
		if (map_has(&p->macros, name))
			return map_get(&p->macros, name);
	return NULL;
}

static struct CMacro *tok_macro(struct Cpp *p, const struct CTok *t)
{
	char name[128];
	if (t->kind != CT_IDENT || t->len >= sizeof(name))
		return NULL;
	memcpy(name, t->text, t->len);
	name[t->len] = 0;
	return cpp_macro(p, name);
}

void cpp_put_macro(struct Cpp *p, struct CMacro *m, const struct CTok *body, size_t n)
{
	m->body = arena_new_n(p->c->arena, struct CTok, n);
	if (n)
		memcpy(m->body, body, n * sizeof(*body));
	m->n = (u32)n;
	map_put(&p->macros, m->name, m);
}

void cpp_define(struct Cpp *p, const char *name, const char *text)
{
	struct CFile *f = arena_new(p->c->arena, struct CFile);
	struct CToks toks = {0};
	struct CMacro *m = arena_new(p->c->arena, struct CMacro);
	*f = (struct CFile){.name = "built-in", .text = arena_strdup(p->c->arena, text), .len = strlen(text), .header = true};
	cpp_lex(f, &toks);
	m->name = arena_strdup(p->c->arena, name);
	cpp_put_macro(p, m, toks.p, toks.n);
	vec_deinit(&toks);
}

bool cpp_out_of_room(const struct Cpp *p)
{
	return p->ntoks > CPP_TOKS_MAX;
}

void cpp_emit(struct Cpp *p, struct CToks *out, struct CTok t)
{
	if (p->ntoks++ <= CPP_TOKS_MAX)
		vec_push(out, t);
}

// The arguments of a call whose '(' is at in[at]. args[i] gets begin and end; returns the index of ')' or n when it is missing.
struct CArg {
	size_t from, to;
};
static size_t split_args(const struct CTok *in, size_t n, size_t at, u32 max, bool variadic, struct CArg *args, u32 *nargs)
{
	int depth = 0;
	*nargs = 0;
	size_t from = at + 1;
	for (size_t i = at; i < n; i++) {
		if (ctok_is(&in[i], "("))
			depth++;
		else if (ctok_is(&in[i], ")") && !--depth) {
			if (*nargs < max)
				args[*nargs] = (struct CArg){from, i};
			++*nargs;
			return i;
		} else if (depth == 1 && ctok_is(&in[i], ",") && !(variadic && *nargs + 1 >= max)) {
			if (*nargs < max)
				args[*nargs] = (struct CArg){from, i};
			++*nargs;
			from = i + 1;
		}
	}
	return n;
}

static int param_index(const struct CMacro *m, const struct CTok *t)
{
	for (u32 i = 0; t->kind == CT_IDENT && i < m->nparams; i++)
		if (strlen(m->params[i]) == t->len && !memcmp(m->params[i], t->text, t->len))
			return (int)i;
	return -1;
}

static struct CTok stringize(struct Cpp *p, const struct CTok *in, const struct CArg *a, const struct CTok *at)
{
	struct Str s = {0};
	str_addc(&s, '"');
	for (size_t i = a->from; i < a->to; i++) {
		if (i > a->from && in[i].space)
			str_addc(&s, ' ');
		for (u32 k = 0; k < in[i].len; k++) {
			char ch = in[i].text[k];
			if ((in[i].kind == CT_STR || in[i].kind == CT_CHAR) && (ch == '"' || ch == '\\'))
				str_addc(&s, '\\');
			str_addc(&s, ch);
		}
	}
	str_addc(&s, '"');
	struct CTok t = *at;
	t.kind = CT_STR;
	t.len = (u32)s.n;
	t.text = arena_strndup(p->c->arena, s.p, s.n);
	str_deinit(&s);
	return t;
}

static void paste(struct Cpp *p, struct CTok *left, const struct CTok *right)
{
	left->text = arena_printf(p->c->arena, "%.*s%.*s", (int)left->len, left->text, (int)right->len, right->text);
	left->len += right->len;
	if (left->kind == CT_PUNCT)
		left->kind = right->kind;
}

// The body of a function-like macro with its arguments put in.
static void substitute(struct Cpp *p, const struct CMacro *m, const struct CTok *in, const struct CArg *args, u32 nargs, struct CToks *out)
{
	static const struct CArg none = {0, 0};
	for (u32 i = 0; i < m->n && !cpp_out_of_room(p); i++) {
		const struct CTok *t = &m->body[i];
		bool hash = ctok_is(t, "#") && i + 1 < m->n && param_index(m, t + 1) >= 0;
		bool glue = ctok_is(t, "##") && i + 1 < m->n && out->n;
		int at = param_index(m, hash || glue ? t + 1 : t);
		const struct CArg *a = at < 0 || (u32)at >= nargs ? &none : &args[at];
		i += hash || glue;
		if (hash)
			cpp_emit(p, out, stringize(p, in, a, t));
		else if (glue && at < 0)
			paste(p, &vec_last(out), t + 1);
		else if (glue) {
			for (size_t k = a->from; k < a->to; k++) {
				if (k == a->from)
					paste(p, &vec_last(out), &in[k]);
				else
					cpp_emit(p, out, in[k]);
			}
		} else if (at >= 0 && i + 1 < m->n && ctok_is(t + 1, "##")) {
			for (size_t k = a->from; k < a->to; k++)
				cpp_emit(p, out, in[k]);
		} else if (at >= 0) {
			cpp_expand(p, in + a->from, a->to - a->from, out);
		} else
			cpp_emit(p, out, *t);
	}
}

static void expand_call(struct Cpp *p, struct CMacro *m, const struct CTok *in, size_t n, size_t *i, struct CToks *out)
{
	u32 nargs;
	struct CArg *args = xcalloc(m->nparams + 1, sizeof(*args));
	size_t close = split_args(in, n, *i + 1, m->nparams, m->variadic, args, &nargs);
	if (close == n || nargs > MAX(m->nparams, 1u)) {
		cpp_emit(p, out, in[*i]); // not a call after all, or a wrong one: the parser will say so
	} else {
		struct CToks body = {0};
		substitute(p, m, in, args, MIN(nargs, m->nparams), &body);
		m->busy = true;
		cpp_expand(p, body.p, body.n, out);
		m->busy = false;
		vec_deinit(&body);
		*i = close;
	}
	free(args);
}

void cpp_expand(struct Cpp *p, const struct CTok *in, size_t n, struct CToks *out)
{
	if (p->depth > CPP_NEST_MAX) {
		p->ntoks = CPP_TOKS_MAX + 1; // what is left out here would leave another expression
		return;
	}
	p->depth++;
	for (size_t i = 0; i < n && !cpp_out_of_room(p); i++) {
		struct CMacro *m = tok_macro(p, &in[i]);
		size_t from = out->n;
		if (!m || m->busy || (m->func && (i + 1 >= n || !ctok_is(&in[i + 1], "("))))
			cpp_emit(p, out, in[i]);
		else if (m->func)
			expand_call(p, m, in, n, &i, out);
		else {
			m->busy = true;
			cpp_expand(p, m->body, m->n, out);
			m->busy = false;
		}
		// What came out of a macro of the script is shown where the macro was used.
		for (size_t k = from; k < out->n; k++) {
			out->p[k].file = in[i].file;
			out->p[k].off = in[i].off;
			out->p[k].shown = in[i].shown;
		}
	}
	p->depth--;
}
