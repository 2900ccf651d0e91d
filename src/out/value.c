// Values as text and as JSON.
// In: struct Value. Out: appended to a Str. Invariant: the bytes are those bpftrace prints for the same value (src/output/text.cpp and json.cpp
// there), except that JSON stays valid whatever bytes a traced process puts into its names.
#include "out/report.h"

static const char *const stack_indent = "        "; // before each frame of STACK_STYLE_BPFTRACE

// The name a frame goes by: symbol+offset, else what is known of its place.
static void frame_name(const struct Frame *f, struct Str *out)
{
	if (f->sym && f->inlined)
		str_add(out, f->sym);
	else if (f->sym)
		str_addf(out, "%s+%llu", f->sym, (unsigned long long)f->sym_off);
	else if (!f->module || f->kernel)
		str_addf(out, f->addr ? "0x%llx" : "%llu", (unsigned long long)f->addr);
	else
		str_add_place(out, f->module, f->module_addr);
}

const char frame_mark_cut[] = "cut";

// Where a function of an interpreted program is: it has no address.
static void add_source(const struct Frame *f, const char *open, const char *close, struct Str *out)
{
	str_addf(out, "%s%s", open, f->file ? f->file : f->lang);
	if (f->line)
		str_addf(out, ":%u", f->line);
	str_add(out, close);
}

void frame_text(const struct Frame *f, enum StackStyle style, struct Str *out)
{
	if (f->mark) {
		str_add(out, f->sym);
		return;
	}
	if (style != STACK_STYLE_BPFTRACE) // the address in the file where nothing else is known
		str_addf(out, f->addr || !f->module || f->lang ? "%llx" : "file:%llx", (unsigned long long)(f->addr ? f->addr : f->module_addr));
	if (style == STACK_STYLE_RAW)
		return;
	if (style == STACK_STYLE_PERF) {
		str_addc(out, ' ');
		frame_name(f, out);
		if (f->inlined)
			str_add(out, " (inlined)");
		else if (f->lang)
			add_source(f, " (", ")", out);
		else if (!f->kernel)
			str_addf(out, " (%s)", f->module ? f->module : "[unknown]");
		return;
	}
	if (f->inlined)
		str_add(out, "[inlined] ");
	frame_name(f, out);
	if (f->lang)
		add_source(f, " [", "]", out);
	else if (f->file)
		str_addf(out, "@%s:%u", f->file, f->line);
}

// What a traced process may have chosen; shown: on a terminal
static void add_chosen(const char *s, size_t n, bool shown, struct Str *out)
{
	if (shown)
		str_add_shown(out, s, n);
	else
		str_addn(out, s, n);
}

static void stack_text(const struct Value *v, bool shown, struct Str *out)
{
	str_addc(out, '\n');
	for (u32 i = 0; i < v->nframes; i++) {
		struct Str frame = {0};
		str_add(out, v->style == STACK_STYLE_BPFTRACE ? stack_indent : v->style == STACK_STYLE_PERF ? "\t" : "");
		frame_text(&v->frames[i], v->style, &frame);
		add_chosen(str_text(&frame), frame.n, shown, out);
		str_addc(out, '\n');
		str_deinit(&frame);
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

static void add_text(const struct Value *v, bool shown, struct Str *out);

static void record_text(const struct Value *v, bool shown, struct Str *out)
{
	if (!v->n) {
		str_add(out, "{}");
		return;
	}
	for (u32 i = 0; i < v->n; i++) {
		str_addf(out, "%s.%s = ", i ? ", " : "{ ", v->names[i]);
		add_text(&v->items[i], shown, out);
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

static void add_text(const struct Value *v, bool shown, struct Str *out)
{
	switch (v->kind) {
	case V_NONE:
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
		add_chosen(v->text, v->len, shown, out);
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
			add_text(&v->items[i], shown, out);
		}
		str_addc(out, v->kind == V_TUPLE ? ')' : ']');
		break;
	case V_RECORD:
		record_text(v, shown, out);
		break;
	case V_STACK:
		stack_text(v, shown, out);
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

void value_text(const struct Value *v, struct Str *out)
{
	add_text(v, false, out);
}

void value_text_escaped(const struct Value *v, struct Str *out)
{
	add_text(v, true, out);
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
	str_add_json_uint(out, v->u);
	str_add(out, ", \"average\": ");
	v->uns ? str_add_json_uint(out, (u64)v->avg) : str_add_json_int(out, v->avg);
	str_add(out, ", \"total\": ");
	v->uns ? str_add_json_uint(out, (u64)v->total) : str_add_json_int(out, v->total);
	str_addc(out, '}');
}

void value_json(const struct Value *v, struct Str *out)
{
	struct Str s = {0};
	switch (v->kind) {
	case V_INT:
		str_add_json_int(out, v->i);
		break;
	case V_UINT:
	case V_PTR:
		str_add_json_uint(out, v->u);
		break;
	case V_ENUM:
		str_add_json_uint(out, (u64)v->i);
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
		stack_text(v, false, &s);
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
