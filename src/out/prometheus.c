// Maps as metrics (Prometheus' text format 0.0.4, https://prometheus.io/docs/instrumenting/exposition_formats/), for who renders them so (tool/scriptfeed.c).
// In: maps. Out: lines of text. Invariant: every line is valid whatever keys hold; what is no number is left out, and counted.
//
// A map @reads of numbers is sonde_reads, with its key as the label "key" (key1, key2... or the names of its parts where there are several). A histogram has
// classic buckets: le is the last number that is in a bucket, so their counts are exact; there is no sum, which nobody has counted.
#include "out/report.h"

void prometheus_label(struct Str *out, const char *text)
{
	struct Str clean = {0};
	str_add_shown(&clean, text, strlen(text)); // UTF-8, no control characters
	for (const char *c = str_text(&clean); *c; c++) {
		if (*c == '"' || *c == '\\')
			str_addc(out, '\\');
		str_addc(out, *c);
	}
	str_deinit(&clean);
}

// [a-zA-Z_][a-zA-Z0-9_]*
static void add_name(struct Str *out, const char *s)
{
	for (; *s; s++)
		str_addc(out, (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ? *s : '_');
}

static void add_stack(const struct Value *v, struct Str *out)
{
	for (u32 i = v->nframes; i-- > 0;) {
		profile_frame_name(&(struct StackProfile){.no_lines = true}, &v->frames[i], out);
		str_add(out, i ? ";" : "");
	}
}

// Of a digit no name may begin; these two are the format's own, of buckets and summaries.
static bool needs_mark(const char *name)
{
	return (*name >= '0' && *name <= '9') || !strcmp(name, "le") || !strcmp(name, "quantile");
}

static void add_label(struct Str *out, const char *name, u32 number, const struct Value *v)
{
	struct Str text = {0};
	str_add(out, out->n ? "," : "");
	if (name) {
		str_add(out, needs_mark(name) ? "_" : "");
		add_name(out, name);
	} else
		str_addf(out, number ? "key%u" : "key", number);
	str_add(out, "=\"");
	if (v->kind == V_STACK)
		add_stack(v, &text);
	else
		value_text(v, &text);
	prometheus_label(out, str_text(&text));
	str_addc(out, '"');
	str_deinit(&text);
}

static void add_labels(struct Str *out, const struct Value *key)
{
	if (key->kind == V_TUPLE || key->kind == V_RECORD)
		for (u32 i = 0; i < key->n; i++)
			add_label(out, key->names ? key->names[i] : NULL, i + 1, &key->items[i]);
	else if (key->kind != V_NONE)
		add_label(out, NULL, 0, key);
}

static void row(struct Str *out, const char *name, const char *suffix, const struct Str *labels, const char *le, const char *value)
{
	str_addf(out, "%s%s", name, suffix);
	if (labels->n || le)
		str_addf(out, "{%s%s%s%s%s}", str_text(labels), labels->n && le ? "," : "", le ? "le=\"" : "", le ? le : "", le ? "\"" : "");
	str_addf(out, " %s\n", value);
}

static void row_int(struct Str *out, const char *name, const char *suffix, const struct Str *labels, const char *le, s64 v, bool uns)
{
	char text[32];
	snprintf(text, sizeof(text), uns ? "%llu" : "%lld", (unsigned long long)v);
	row(out, name, suffix, labels, le, text);
}

static void histogram(struct Str *out, const char *name, const struct Str *labels, const struct Value *v)
{
	u64 sum = 0;
	for (u32 i = 0; i < v->nbuckets; i++) {
		const struct HistBucket *b = &v->buckets[i];
		char le[32];
		sum += b->count;
		if (b->hi == INT64_MAX) // up to the last there is
			continue;
		snprintf(le, sizeof(le), "%lld", (long long)(b->hi == b->lo ? b->hi : b->hi - 1));
		row_int(out, name, "_bucket", labels, le, (s64)sum, true);
	}
	row_int(out, name, "_bucket", labels, "+Inf", (s64)sum, true);
	row_int(out, name, "_count", labels, NULL, (s64)sum, true);
}

static bool entry(struct Str *out, const char *name, const struct MapEntry *e)
{
	const struct Value *v = &e->val;
	struct Str labels = {0};
	bool ok = true;
	add_labels(&labels, &e->key);
	switch (v->kind) {
	case V_INT: case V_BOOL: case V_ENUM: row_int(out, name, "", &labels, NULL, v->i, false); break;
	case V_UINT: case V_PTR: row_int(out, name, "", &labels, NULL, (s64)v->u, true); break;
	case V_STATS:
		row_int(out, name, "_count", &labels, NULL, (s64)v->u, true);
		row_int(out, name, "_sum", &labels, NULL, v->total, v->uns);
		break;
	case V_HIST: case V_LHIST: histogram(out, name, &labels, v); break;
	default: ok = false;
	}
	str_deinit(&labels);
	return ok;
}

static const char *type_of(const struct MapReport *m)
{
	enum ValueKind k = m->n ? m->entries[0].val.kind : V_NONE;
	return k == V_HIST || k == V_LHIST ? "histogram" : k == V_STATS ? "summary" : "untyped";
}

void prometheus_map(const struct MapReport *m, struct Str *out)
{
	struct Str name = {0}, rows = {0};
	u64 others = 0;
	str_add(&name, "sonde_");
	add_name(&name, m->name + (*m->name == '@'));
	if (name.n == strlen("sonde_"))
		str_add(&name, "map"); // @
	for (u32 i = 0; i < m->n; i++)
		others += !entry(&rows, str_text(&name), &m->entries[i]);
	if (rows.n)
		str_addf(out, "# TYPE %s %s\n%s", str_text(&name), type_of(m), str_text(&rows));
	if (others)
		str_addf(out, "# %llu values of %s are no numbers\n", (unsigned long long)others, m->name);
	str_deinit(&name);
	str_deinit(&rows);
}
