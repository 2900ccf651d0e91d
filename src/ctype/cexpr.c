// Integer constant expressions of C: array bounds, enumerators, bit-field widths, #if.
// Input: tokens with macros expanded. Output: a value with its C type (32 or 64 bits, signed or not). Invariant: values are kept extended
// to 64 bits according to their type, so that arithmetic wraps as on the target.
#include "ctype/internal.h"
#include <ctype.h>
#include <sys/utsname.h>

#define EXPR_DEPTH_MAX 100

static bool fail(struct CExpr *e, const char *why)
{
	if (!e->err) {
		e->err = why;
		e->err_at = e->tok;
	}
	return false;
}

static struct CValue fit(struct CValue v)
{
	if (!v.wide)
		v.v = v.uns ? (u64)(u32)v.v : (u64)(s64)(s32)v.v;
	return v;
}

static struct CValue make_int(s64 x)
{
	return fit((struct CValue){(u64)x, false, x < INT32_MIN || x > INT32_MAX});
}

bool cnumber(const struct CTok *t, struct CValue *out)
{
	char buf[72];
	u32 n = 0;
	if (t->len >= sizeof(buf))
		return false;
	for (u32 i = 0; i < t->len; i++)
		if (t->text[i] != '\'') // C23 digit separator
			buf[n++] = t->text[i];
	buf[n] = 0;
	bool uns = false, wide = false;
	while (n && strchr("uUlL", buf[n - 1])) {
		uns |= buf[n - 1] == 'u' || buf[n - 1] == 'U';
		wide |= buf[n - 1] == 'l' || buf[n - 1] == 'L';
		buf[--n] = 0;
	}
	u64 v = 0;
	bool dec = buf[0] != '0' || !buf[1];
	if (buf[0] == '0' && (buf[1] == 'b' || buf[1] == 'B')) {
		char *end;
		v = strtoull(buf + 2, &end, 2);
		if (*end || !buf[2] || n > 66)
			return false;
	} else if (!parse_u64(buf, &v))
		return false;
	// C11 6.4.4.1p5: a decimal without u never becomes unsigned by its size, others may.
	if (v > INT64_MAX)
		uns = wide = true;
	else if (v > UINT32_MAX || (dec && !uns && v > INT32_MAX))
		wide = true;
	else if (!wide && v > INT32_MAX)
		uns = true;
	*out = fit((struct CValue){v, uns, wide});
	return true;
}

static bool char_const(const struct CTok *t, struct CValue *out)
{
	const char *s = t->text + 1, *end = t->text + t->len - 1;
	if (t->len < 3)
		return false;
	int v = (signed char)*s;
	if (*s == '\\' && s + 1 < end) {
		static const char names[] = "abtnvfre0'\"\\?", codes[] = "\a\b\t\n\v\f\r\033\0'\"\\?";
		const char *at = strchr(names, *++s);
		if (*s == 'x')
			v = (signed char)strtol(s + 1, NULL, 16);
		else if (*s >= '0' && *s <= '7')
			v = (signed char)strtol(s, NULL, 8);
		else if (at)
			v = codes[at - names];
		else
			return false;
	} else if (end - s != 1)
		return false;
	*out = make_int(v);
	return true;
}

static bool is(const struct CExpr *e, const char *s)
{
	return e->tok < e->end && ctok_is(e->tok, s);
}

static bool eat(struct CExpr *e, const char *s)
{
	if (!is(e, s))
		return false;
	e->tok++;
	return true;
}

static bool cond(struct CExpr *e, struct CValue *out);

// What a script may ask about the kernel's version without <linux/version.h>.
static u32 version_code(u32 a, u32 b, u32 c)
{
	return (a << 16) + (b << 8) + MIN(c, 255u);
}

static bool kernel_version(struct CExpr *e, struct CValue *out)
{
	struct CValue v[3];
	for (int i = 0; i < 3; i++)
		if (!eat(e, i ? "," : "(") || !cond(e, &v[i]))
			return fail(e, "KERNEL_VERSION takes three numbers");
	*out = make_int(version_code((u32)v[0].v, (u32)v[1].v, (u32)v[2].v));
	return eat(e, ")") || fail(e, "KERNEL_VERSION takes three numbers");
}

// A macro that only the system's headers have.
static bool header_const(struct Ctypes *c, const char *name, s64 *val)
{
	const char *text = ctype_macro(c, name);
	char *end = NULL;
	if (!text || !*text)
		return false;
	*val = *text == '-' ? strtoll(text, &end, 10) : (s64)strtoull(text, &end, 10);
	return !*end;
}

static bool name_value(struct CExpr *e, struct CValue *out)
{
	char name[128];
	s64 v;
	const struct CTok *t = e->tok;
	if (t->len >= sizeof(name))
		return fail(e, "this name is too long");
	memcpy(name, t->text, t->len);
	name[t->len] = 0;
	if (!strcmp(name, "LINUX_VERSION_CODE")) {
		struct utsname u;
		unsigned a = 0, b = 0, c = 0;
		uname(&u);
		sscanf(u.release, "%u.%u.%u", &a, &b, &c);
		v = version_code(a, b, c);
	} else if (!strcmp(name, "KERNEL_VERSION") && t + 1 < e->end && ctok_is(t + 1, "(")) {
		e->tok++;
		return kernel_version(e, out);
	} else if (!strcmp(name, "true") || !strcmp(name, "false"))
		v = name[0] == 't';
	else if (e->types ? !cdecl_const(e->c, name, &v) && !header_const(e->c, name, &v) : !macro_builtin(name, &v)) {
		if (e->types)
			return fail(e, arena_printf(e->c->arena, "'%s' is no constant known here", name));
		if (t + 1 < e->end && ctok_is(t + 1, "("))
			return fail(e, "this is no macro known here");
		e->unresolved = true;
		v = 0;
	}
	*out = make_int(v);
	e->tok++;
	return true;
}

// sizeof(type), _Alignof(type); sizeof of an expression is not needed by any declaration we read.
static bool size_of(struct CExpr *e, struct CValue *out)
{
	bool align = !is(e, "sizeof");
	e->tok++;
	if (!e->types || !eat(e, "("))
		return fail(e, "sizeof needs a type in parentheses");
	e->types->tok = e->tok;
	const struct Type *t = cdecl_type_name(e->types);
	if (!t || (e->types->tok < e->end && !ctok_is(e->types->tok, ")")))
		return fail(e, "sizeof needs a type known here");
	if (!t->size && t->kind == TY_RECORD && !ctype_record_load(e->c, t->rec))
		return fail(e, "sizeof of an incomplete type");
	e->tok = e->types->tok;
	*out = (struct CValue){align ? ctype_align_of(e->c, t) : t->kind == TY_VOID ? 1 : t->size, true, true};
	return eat(e, ")") || fail(e, "')' is missing");
}

static bool unary(struct CExpr *e, struct CValue *out);

static bool cast(struct CExpr *e, struct CValue *out)
{
	e->types->tok = e->tok;
	const struct Type *t = cdecl_type_name(e->types);
	if (!t)
		return fail(e, "this type is not known");
	e->tok = e->types->tok;
	if (!eat(e, ")"))
		return fail(e, "')' is missing");
	if (!unary(e, out))
		return false;
	u32 size = t->kind == TY_PTR ? 8 : t->size;
	bool sgn = t->kind == TY_INT && t->sgn;
	if (t->kind != TY_INT && t->kind != TY_BOOL && t->kind != TY_PTR)
		return fail(e, "a constant cannot have this type");
	if (t->kind == TY_BOOL)
		*out = make_int(out->v != 0);
	else if (size < 4) // promoted to int
		*out = make_int(sgn ? (size == 1 ? (s64)(s8)out->v : (s64)(s16)out->v) : (s64)(out->v & ((1u << size * 8) - 1)));
	else
		*out = fit((struct CValue){out->v, !sgn, size == 8});
	return true;
}

static bool primary(struct CExpr *e, struct CValue *out)
{
	if (e->tok >= e->end)
		return fail(e, "the expression ends too early");
	const struct CTok *t = e->tok;
	if (t->kind == CT_NUM) {
		if (!cnumber(t, out))
			return fail(e, "this is no integer");
		out->wide |= !e->types; // #if computes in intmax_t, C11 6.10.1p4
		e->tok++;
		return true;
	}
	if (t->kind == CT_CHAR) {
		if (!char_const(t, out))
			return fail(e, "this is no character");
		e->tok++;
		return true;
	}
	if (ctok_is(t, "sizeof") || ctok_is(t, "_Alignof") || ctok_is(t, "__alignof__"))
		return size_of(e, out);
	if (t->kind == CT_IDENT)
		return name_value(e, out);
	if (!eat(e, "("))
		return fail(e, "a number or a constant is expected here");
	if (e->types && e->tok < e->end && cdecl_at_type(e->types, e->tok)) {
		bool ok = ++e->depth < EXPR_DEPTH_MAX ? cast(e, out) : fail(e, "this expression is nested too deeply");
		e->depth--;
		return ok;
	}
	return cond(e, out) && (eat(e, ")") || fail(e, "')' is missing"));
}

static bool unary(struct CExpr *e, struct CValue *out)
{
	static const char *const ops[] = {"-", "~", "!", "+"};
	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		if (!eat(e, ops[i]))
			continue;
		bool ok = ++e->depth < EXPR_DEPTH_MAX ? unary(e, out) : fail(e, "this expression is nested too deeply");
		e->depth--;
		if (ok && *ops[i] == '!')
			*out = make_int(!out->v);
		else if (ok && *ops[i] == '-')
			out->v = 0 - out->v;
		else if (ok && *ops[i] == '~')
			out->v = ~out->v;
		if (ok)
			*out = fit(*out);
		return ok;
	}
	return primary(e, out);
}

struct BinOp {
	const char *text;
	int prec;
};
static const struct BinOp binops[] = {{"*", 10}, {"/", 10}, {"%", 10}, {"+", 9},  {"-", 9},  {"<<", 8}, {">>", 8}, {"<", 7},  {">", 7},
				      {"<=", 7}, {">=", 7}, {"==", 6}, {"!=", 6}, {"&", 5}, {"^", 4},  {"|", 3},  {"&&", 2}, {"||", 1}};

static const struct BinOp *at_binop(const struct CExpr *e)
{
	for (size_t i = 0; i < ARRAY_LEN(binops); i++)
		if (is(e, binops[i].text))
			return &binops[i];
	return NULL;
}

static bool compare(char op, bool eq, struct CValue a, struct CValue b, bool uns)
{
	bool lt = uns ? a.v < b.v : (s64)a.v < (s64)b.v;
	return op == '<' ? lt || (eq && a.v == b.v) : !lt && (eq || a.v != b.v);
}

static bool divide(struct CExpr *e, char op, struct CValue *a, struct CValue b)
{
	if (!b.v && !e->dead)
		return fail(e, "division by zero");
	if (!b.v)
		return true;
	if (a->uns)
		a->v = op == '/' ? a->v / b.v : a->v % b.v;
	else if ((s64)b.v == -1) // INT64_MIN / -1 traps
		a->v = op == '/' ? 0 - a->v : 0;
	else
		a->v = (u64)(op == '/' ? (s64)a->v / (s64)b.v : (s64)a->v % (s64)b.v);
	return true;
}

static bool apply(struct CExpr *e, const char *op, struct CValue *a, struct CValue b)
{
	if (op[0] == op[1] && (op[0] == '<' || op[0] == '>')) { // the left operand's type is the result's
		u64 n = b.v & (a->wide ? 63 : 31);
		a->v = op[0] == '<' ? a->v << n : a->uns ? a->v >> n : (u64)((s64)a->v >> n);
		*a = fit(*a);
		return true;
	}
	// Usual arithmetic conversions: the wider, and unsigned if the wider (or either of two as wide) is.
	bool wide = a->wide || b.wide, uns = a->wide == b.wide ? a->uns || b.uns : a->wide ? a->uns : b.uns;
	*a = fit((struct CValue){a->v, uns, wide});
	b = fit((struct CValue){b.v, uns, wide});
	bool ok = true;
	switch (op[0]) {
	case '*':
		a->v *= b.v;
		break;
	case '/':
	case '%':
		ok = divide(e, op[0], a, b);
		break;
	case '+':
		a->v += b.v;
		break;
	case '-':
		a->v -= b.v;
		break;
	case '<':
	case '>':
		*a = make_int(compare(op[0], op[1] == '=', *a, b, uns));
		break;
	case '=':
		*a = make_int(a->v == b.v);
		break;
	case '!':
		*a = make_int(a->v != b.v);
		break;
	case '&':
		a->v &= b.v;
		break;
	case '^':
		a->v ^= b.v;
		break;
	default:
		a->v |= b.v;
	}
	*a = fit(*a);
	return ok;
}

static bool binary(struct CExpr *e, int min, struct CValue *a)
{
	if (!unary(e, a))
		return false;
	for (const struct BinOp *op; (op = at_binop(e)) && op->prec >= min;) {
		struct CValue b;
		bool logical = op->prec <= 2, skip = logical && (op->text[0] == '&') == !a->v;
		e->tok++;
		e->dead += skip;
		bool ok = binary(e, op->prec + 1, &b);
		e->dead -= skip;
		if (!ok)
			return false;
		if (logical)
			*a = make_int(op->text[0] == '&' ? a->v && b.v : a->v || b.v);
		else if (!apply(e, op->text, a, b))
			return false;
	}
	return true;
}

static bool cond(struct CExpr *e, struct CValue *out)
{
	struct CValue a, b, c;
	if (++e->depth > EXPR_DEPTH_MAX) {
		e->depth--;
		return fail(e, "this expression is nested too deeply");
	}
	bool ok = binary(e, 1, &a);
	if (ok && eat(e, "?")) {
		e->dead += !a.v;
		ok = cond(e, &b);
		e->dead -= !a.v;
		ok = ok && (eat(e, ":") || fail(e, "':' is missing"));
		e->dead += a.v != 0;
		ok = ok && cond(e, &c);
		e->dead -= a.v != 0;
		if (ok) {
			bool wide = b.wide || c.wide, uns = b.wide == c.wide ? b.uns || c.uns : b.wide ? b.uns : c.uns;
			a = fit((struct CValue){a.v ? b.v : c.v, uns, wide});
		}
	}
	e->depth--;
	if (ok)
		*out = a;
	return ok;
}

bool cexpr_eval(struct CExpr *e, struct CValue *out)
{
	return cond(e, out);
}
