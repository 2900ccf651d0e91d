// Parser: types as written, and the question whether what comes is one.
#include "lang/internal.h"

// Words that are types wherever a type may stand. Others are types only where the grammar leaves no choice ("(foo *)x", ": foo").
static bool is_type_word(const char *s)
{
	static const char *const words[] = {
		"bool", "void", "string", "buffer", "inet", "timestamp", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
		"min_t", "max_t", "sum_t", "avg_t", "count_t", "stats_t", "umin_t", "umax_t", "usum_t", "uavg_t", "ustats_t", "hist_t", "lhist_t",
		"tseries_t", "ksym_t", "usym_t", "kstack_t", "ustack_t", "macaddr_t", "cgroup_path_t", "strerror_t",
	};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(words[i], s))
			return true;
	return false;
}

// C's type words, of which several make one name: "unsigned long long".
static bool is_c_word(const char *s)
{
	static const char *const words[] = {"char", "short", "int", "long", "unsigned", "signed", "const", "volatile", "_Bool"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(words[i], s))
			return true;
	return false;
}

static bool is_qualifier(const char *s)
{
	return !strcmp(s, "const") || !strcmp(s, "volatile");
}

static bool at_tag(const struct Parser *p)
{
	return p_at_kw(p, KW_STRUCT) || p_at_kw(p, KW_UNION) || p_at_kw(p, KW_ENUM);
}

static bool at_c_word(const struct Parser *p)
{
	return p->tok.kind == T_IDENT && is_c_word(p->tok.str);
}

static bool at_known_type(const struct Parser *p)
{
	return at_tag(p) || at_c_word(p) || (p->tok.kind == T_IDENT && (p->tok.kw == KW_TYPEOF || is_type_word(p->tok.str)));
}

// "struct sock", "unsigned long", "uint8"; qualifiers are dropped.
static const char *type_name(struct Parser *p)
{
	while (p->tok.kind == T_IDENT && is_qualifier(p->tok.str))
		p_next(p);
	if (at_tag(p)) {
		const char *tag = p->tok.str;
		p_next(p);
		const char *name = p->tok.str;
		return p_expect(p, T_IDENT) ? arena_printf(p->a, "%s %s", tag, name) : NULL;
	}
	if (!at_c_word(p)) {
		const char *name = p->tok.str;
		if (p->tok.kind != T_IDENT || p->tok.kw) {
			p_unexpected(p, "a type");
			return NULL;
		}
		p_next(p);
		return name;
	}
	struct Str s = {0};
	for (; at_c_word(p); p_next(p))
		if (!is_qualifier(p->tok.str))
			str_addf(&s, "%s%s", s.n ? " " : "", p->tok.str);
	const char *name = arena_strdup(p->a, str_text(&s));
	str_deinit(&s);
	return name;
}

static void tuple_type(struct Parser *p, struct TypeSpec *t)
{
	VEC(struct TypeSpec *) v = {0};
	p_next(p);
	while (!p->panic && p->tok.kind != T_RPAREN) {
		vec_push(&v, p_type(p));
		if (p->tok.kind != T_RPAREN && !p_expect(p, T_COMMA))
			break;
	}
	p_expect(p, T_RPAREN);
	struct TypeSpec **copy = arena_new_n(p->a, struct TypeSpec *, v.n);
	if (v.n)
		memcpy(copy, v.p, v.n * sizeof(*v.p));
	t->tuple = copy;
	t->ntuple = (u32)v.n;
	t->name = "tuple";
	vec_deinit(&v);
}

// "[N]" or "[]": a size for string and buffer, else an array.
static void array_suffix(struct Parser *p, struct TypeSpec *t)
{
	bool sized = t->name && !t->ptrs && (!strcmp(t->name, "string") || !strcmp(t->name, "buffer") || !strcmp(t->name, "inet"));
	struct Span at = p->tok.span;
	p_next(p);
	struct Token n = p->tok;
	bool has_n = p_accept(p, T_INT);
	p_expect(p, T_RBRACKET);
	if (p->panic)
		return;
	if (t->is_array || (sized && t->str_size)) {
		p_error(p, p_since(p, at), "arrays of arrays are not supported");
	} else if (sized) {
		if (!has_n || !n.ival)
			p_error(p, p_since(p, at), "the size of a %s must be a positive integer", t->name);
		t->str_size = n.ival;
	} else {
		t->is_array = true;
		t->array_sized = has_n;
		t->array_n = has_n ? n.ival : 0;
	}
}

struct TypeSpec *p_type(struct Parser *p)
{
	struct TypeSpec *t = arena_new(p->a, struct TypeSpec);
	struct Span from = p->tok.span;
	t->span = from;
	if (!p_enter(p)) {
		p_leave(p);
		return t;
	}
	if (p_at_kw(p, KW_TYPEOF)) {
		p_next(p);
		p_expect(p, T_LPAREN);
		if (p_at_type(p)) {
			struct TypeSpec *inner = p_type(p);
			*t = *inner;
		} else
			t->typeof_expr = p_expr(p);
		p_expect(p, T_RPAREN);
	} else if (p->tok.kind == T_LPAREN)
		tuple_type(p, t);
	else
		t->name = type_name(p);
	while (!p->panic && (p->tok.kind == T_STAR || p->tok.kind == T_LBRACKET || (p->tok.kind == T_IDENT && is_qualifier(p->tok.str)))) {
		if (p->tok.kind == T_LBRACKET) {
			array_suffix(p, t);
			continue;
		}
		if (p->tok.kind == T_STAR) {
			t->ptrs++;
			if (t->is_array)
				p_error(p, p->tok.span, "pointers to arrays are not supported");
			if (p->panic)
				break;
		}
		p_next(p);
	}
	t->span = p_since(p, from);
	p_leave(p);
	return t;
}

// Is this "foo *)" or "foo **)"? The token is a word. In a list a comma may follow too.
static bool at_pointer_type(struct Parser *p, bool list)
{
	struct ParseMark m = p_mark(p);
	p_next(p);
	bool star = p->tok.kind == T_STAR;
	while (p->tok.kind == T_STAR)
		p_next(p);
	bool yes = star && (p->tok.kind == T_RPAREN || (list && p->tok.kind == T_COMMA));
	p_reset(p, m);
	return yes;
}

bool p_at_type_arg(struct Parser *p)
{
	if (p->panic || p->tok.kind != T_IDENT || p_at_kw(p, KW_TYPEOF))
		return false;
	return at_tag(p) || (at_c_word(p) && p_peek(p).kind == T_IDENT) || (!p->tok.kw && at_pointer_type(p, true));
}

bool p_at_type(struct Parser *p)
{
	if (p->panic || p->tok.kind != T_IDENT)
		return false;
	if (at_known_type(p))
		return at_tag(p) || p_peek(p).kind != T_LPAREN || p_at_kw(p, KW_TYPEOF);
	return !p->tok.kw && at_pointer_type(p, false);
}

// Starts an operand and cannot go on with the expression before it.
static bool at_operand(const struct Parser *p)
{
	switch (p->tok.kind) {
	case T_IDENT:
	case T_VAR:
	case T_MAP:
	case T_PARAM:
	case T_PARAMCOUNT:
	case T_INT:
	case T_STR:
	case T_LPAREN:
	case T_NOT:
	case T_BNOT:
		return true;
	default:
		return false;
	}
}

// By its name no variable of C is one of these.
static bool names_type(const char *s)
{
	size_t n = strlen(s);
	return n > 2 && !strcmp(s + n - 2, "_t");
}

// After '('. A known type is a cast. So is an unknown word with '*', or one that ")" and an operand follow: "(pid_t)x", also "(pid_t)-1", but not
// "(x) - 1" and "(x) * y".
bool p_at_cast(struct Parser *p)
{
	if (p->panic || p->tok.kind != T_IDENT)
		return false;
	if (p_at_type(p))
		return true;
	if (p->tok.kw)
		return false;
	struct ParseMark m = p_mark(p);
	bool typed = names_type(p->tok.str);
	p_next(p);
	if (p->tok.kind == T_LBRACKET) {
		p_next(p);
		if (p->tok.kind == T_INT)
			p_next(p);
		if (p->tok.kind == T_RBRACKET)
			p_next(p);
	}
	bool yes = p->tok.kind == T_RPAREN;
	if (yes) {
		p_next(p);
		yes = at_operand(p) || (typed && (p->tok.kind == T_MINUS || p->tok.kind == T_STAR || p->tok.kind == T_AND));
	}
	p_reset(p, m);
	return yes;
}
