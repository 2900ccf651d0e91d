// Values as text and as JSON.
// In: struct Value. Out: appended to a Str. Invariant: the bytes are those bpftrace prints for the same value (src/output/text.cpp and json.cpp
// there), except that JSON stays valid whatever bytes a traced process puts into its names.
#include "out/report.h"

const char *const stack_indent = "        ";

// Length of a colour sequence ESC [ digits ; digits m at s, 0 if there is none.
static size_t colour_len(const char *s, size_t n)
{
	if (n < 3 || s[0] != '\033' || s[1] != '[')
		return 0;
	size_t i = 2;
	while (i < n && ((s[i] >= '0' && s[i] <= '9') || s[i] == ';'))
		i++;
	return i < n && s[i] == 'm' ? i + 1 : 0;
}

void str_add_terminal(struct Str *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t c = colour_len(s + i, n - i);
		if (c) {
			str_addn(out, s + i, c);
			i += c;
			continue;
		}
		size_t from = i++;
		while (i < n && s[i] != '\033')
			i++;
		str_add_escaped(out, s + from, i - from, true);
	}
}

size_t utf8_len(const char *p, size_t n)
{
	const unsigned char *s = (const unsigned char *)p;
	size_t len = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
	if (!len || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

void str_add_json(struct Str *out, const char *s, size_t n)
{
	str_addc(out, '"');
	for (size_t i = 0; i < n;) {
		unsigned char c = (unsigned char)s[i];
		size_t len = utf8_len(s + i, n - i);
		if (c == '"' || c == '\\')
			str_addf(out, "\\%c", c);
		else if (c == '\n')
			str_add(out, "\\n");
		else if (c == '\r')
			str_add(out, "\\r");
		else if (c == '\t')
			str_add(out, "\\t");
		else if (c < 0x20 || !len)
			str_addf(out, "\\u%04x", c);
		else
			str_addn(out, s + i, len);
		i += MAX(len, (size_t)1);
	}
	str_addc(out, '"');
}

// The name a frame goes by: symbol+offset, else what is known of its place.
static void frame_name(const struct Frame *f, struct Str *out)
{
	if (f->sym && f->inlined)
		str_add(out, f->sym);
	else if (f->sym)
		str_addf(out, "%s+%llu", f->sym, (unsigned long long)f->sym_off);
	else if (f->addr || !f->module)
		str_addf(out, f->addr ? "0x%llx" : "%llu", (unsigned long long)f->addr);
	else {
		const char *base = strrchr(f->module, '/');
		str_addf(out, "%s+0x%llx", base && base[1] ? base + 1 : f->module, (unsigned long long)f->module_off);
	}
}

void frame_text(const struct Frame *f, enum StackStyle style, struct Str *out)
{
	u64 addr = f->addr ? f->addr : f->module_off;
	if (style == STACK_STYLE_RAW) {
		str_addf(out, "%llx", (unsigned long long)addr);
		return;
	}
	if (style == STACK_STYLE_PERF) {
		str_addf(out, "%llx ", (unsigned long long)addr);
		frame_name(f, out);
		if (f->inlined)
			str_add(out, " (inlined)");
		else if (!f->kernel)
			str_addf(out, " (%s)", f->module ? f->module : "[unknown]");
		return;
	}
	if (f->inlined)
		str_add(out, "[inlined] ");
	frame_name(f, out);
	if (f->file)
		str_addf(out, "@%s:%u", f->file, f->line);
}

static void stack_text(const struct Value *v, struct Str *out)
{
	str_addc(out, '\n');
	for (u32 i = 0; i < v->nframes; i++) {
		str_add(out, v->style == STACK_STYLE_BPFTRACE ? stack_indent : v->style == STACK_STYLE_PERF ? "\t" : "");
		frame_text(&v->frames[i], v->style, out);
		str_addc(out, '\n');
	}
}

static void buf_text(const struct Value *v, struct Str *out)
{
	for (size_t i = 0; i < v->len; i++) {
		unsigned char c = (unsigned char)v->text[i];
		if (c >= 0x20 && c <= 0x7e)
			str_addc(out, (char)c);
		else
			str_addf(out, "\\x%02x", c);
	}
}

static void add_signed_or_not(u64 x, bool uns, struct Str *out)
{
	str_addf(out, uns ? "%llu" : "%lld", (unsigned long long)x);
}

static void record_text(const struct Value *v, struct Str *out)
{
	if (!v->n) {
		str_add(out, "{}");
		return;
	}
	for (u32 i = 0; i < v->n; i++) {
		str_addf(out, "%s.%s = ", i ? ", " : "{ ", v->names[i]);
		value_text(&v->items[i], out);
	}
	str_add(out, " }");
}

static void stats_text(const struct Value *v, struct Str *out)
{
	str_addf(out, "{ .count = %llu, .average = ", (unsigned long long)v->u);
	add_signed_or_not((u64)v->avg, v->uns, out);
	str_add(out, ", .total = ");
	add_signed_or_not((u64)v->total, v->uns, out);
	str_add(out, " }");
}

void value_text(const struct Value *v, struct Str *out)
{
	switch (v->kind) {
	case V_NONE:
	case V_MINMAX:
		str_add(out, "null");
		break;
	case V_INT:
		str_addf(out, "%lld", (long long)v->i);
		break;
	case V_UINT:
		str_addf(out, "%llu", (unsigned long long)v->u);
		break;
	case V_BOOL:
		str_add(out, v->i ? "true" : "false");
		break;
	case V_PTR:
		str_addf(out, "0x%llx", (unsigned long long)v->u);
		break;
	case V_STR:
	case V_SYM:
		str_addn(out, v->text, v->len);
		break;
	case V_ENUM:
		if (v->text)
			str_add(out, v->text);
		else
			str_addf(out, "%llu", (unsigned long long)v->i);
		break;
	case V_BUF:
		buf_text(v, out);
		break;
	case V_TUPLE:
	case V_ARRAY:
		str_addc(out, v->kind == V_TUPLE ? '(' : '[');
		for (u32 i = 0; i < v->n; i++) {
			str_add(out, !i ? "" : v->kind == V_TUPLE ? ", " : ",");
			if (v->names)
				str_addf(out, "%s = ", v->names[i]);
			value_text(&v->items[i], out);
		}
		str_addc(out, v->kind == V_TUPLE ? ')' : ']');
		break;
	case V_RECORD:
		record_text(v, out);
		break;
	case V_STACK:
		stack_text(v, out);
		break;
	case V_STATS:
		stats_text(v, out);
		break;
	case V_HIST:
	case V_LHIST:
		hist_text(v, out);
		break;
	case V_TSERIES:
		tseries_text(v, out);
		break;
	}
}

void value_text_escaped(const struct Value *v, struct Str *out)
{
	struct Str s = {0};
	value_text(v, &s);
	str_add_terminal(out, str_text(&s), s.n);
	str_deinit(&s);
}

// RFC 8259 leaves numbers beyond a double's precision to luck: such integers become strings.
static void json_uint(u64 x, struct Str *out)
{
	bool exact = x < (1ULL << 53) || ((double)x < 18446744073709551616.0 && (u64)(double)x == x);
	str_addf(out, exact ? "%llu" : "\"%llu\"", (unsigned long long)x);
}

static void json_int(s64 x, struct Str *out)
{
	double d = (double)x;
	bool exact = d < 9223372036854775808.0 && (s64)d == x;
	str_addf(out, exact ? "%lld" : "\"%lld\"", (long long)x);
}

static void json_items(const struct Value *v, struct Str *out)
{
	bool named = v->names != NULL;
	str_addc(out, named ? '{' : '[');
	for (u32 i = 0; i < v->n; i++) {
		str_add(out, !i ? "" : named ? ", " : ",");
		if (named) {
			str_add_json(out, v->names[i], strlen(v->names[i]));
			str_add(out, ": ");
		}
		value_json(&v->items[i], out);
	}
	str_addc(out, named ? '}' : ']');
}

static void json_stats(const struct Value *v, struct Str *out)
{
	str_add(out, "{\"count\": ");
	json_uint(v->u, out);
	str_add(out, ", \"average\": ");
	v->uns ? json_uint((u64)v->avg, out) : json_int(v->avg, out);
	str_add(out, ", \"total\": ");
	v->uns ? json_uint((u64)v->total, out) : json_int(v->total, out);
	str_addc(out, '}');
}

void value_json(const struct Value *v, struct Str *out)
{
	struct Str s = {0};
	switch (v->kind) {
	case V_INT:
		json_int(v->i, out);
		break;
	case V_UINT:
	case V_PTR:
		json_uint(v->u, out);
		break;
	case V_ENUM:
		json_uint((u64)v->i, out);
		break;
	case V_BUF: // bpftrace: a list of chars, signed on x86
		str_addc(out, '[');
		for (size_t i = 0; i < v->len; i++)
			str_addf(out, "%s%d", i ? "," : "", (s8)v->text[i]);
		str_addc(out, ']');
		break;
	case V_STR:
	case V_SYM:
		str_add_json(out, v->text, v->len);
		break;
	case V_STACK:
		stack_text(v, &s);
		str_add_json(out, str_text(&s), s.n);
		str_deinit(&s);
		break;
	case V_TUPLE:
	case V_ARRAY:
	case V_RECORD:
		json_items(v, out);
		break;
	case V_STATS:
		json_stats(v, out);
		break;
	case V_HIST:
	case V_LHIST:
		hist_json(v, out);
		break;
	case V_TSERIES:
		tseries_json(v, out);
		break;
	default:
		value_text(v, out); // true, false, null
	}
}
