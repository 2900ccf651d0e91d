// Histograms and time series.
// In: buckets or points. Out: rows of text or JSON. Invariant: labels, widths and the rounding of bars are bpftrace's (its src/types_format.cpp
// and src/output/text.cpp), which computes bars in single precision.
#include "out/report.h"
#include <time.h>

#define BAR_WIDTH 52
#define GRAPH_WIDTH 53
#define NSEC_PER_SEC 1000000000ULL

// Bound of a power-of-two bucket: 2^bits buckets per power count from 0 to 2^(bits+1) one by one, above that the power's decade gives the suffix.
static void hist_label(u64 v, u32 bits, struct Str *out)
{
	u32 power = 0, decade = 0;
	if (v > (2ULL << bits)) {
		power = 63 - (u32)__builtin_clzll(v) - bits;
		decade = power / 10;
	}
	str_addf(out, "%llu", (unsigned long long)(v >> 10 * decade));
	if (decade)
		str_addc(out, " KMGTPE"[decade]);
}

static void lhist_label(s64 v, s64 step, struct Str *out)
{
	const s64 kilo = 1024, mega = 1024 * 1024;
	if (step % kilo || !v || v % kilo)
		str_addf(out, "%lld", (long long)v);
	else if (v % mega)
		str_addf(out, "%lldK", (long long)(v / kilo));
	else
		str_addf(out, "%lldM", (long long)(v / mega));
}

static void label(const struct Value *v, s64 bound, struct Str *out)
{
	if (v->kind == V_LHIST)
		lhist_label(bound, v->lhist_step, out);
	else if (bound == INT64_MAX) // the last power-of-two bucket ends at 2^63
		hist_label(1ULL << 63, v->hist_bits, out);
	else
		hist_label((u64)bound, v->hist_bits, out);
}

static void bucket_label(const struct Value *v, const struct HistBucket *b, struct Str *out)
{
	if (b->lo == INT64_MIN) {
		str_add(out, "(..., ");
		label(v, b->hi, out);
		str_addc(out, ')');
	} else if (b->hi == b->lo || (b->hi != INT64_MAX && b->hi - 1 == b->lo)) {
		str_addc(out, '[');
		label(v, b->lo, out);
		str_addc(out, ']');
	} else {
		str_addc(out, '[');
		label(v, b->lo, out);
		str_add(out, ", ");
		if (b->hi == INT64_MAX && v->kind == V_LHIST)
			str_add(out, "...");
		else
			label(v, b->hi, out);
		str_addc(out, ')');
	}
}

void hist_text(const struct Value *v, struct Str *out)
{
	u64 max = 0;
	for (u32 i = 0; i < v->nbuckets; i++)
		max = MAX(max, v->buckets[i].count);
	struct Str lab = {0};
	for (u32 i = 0; i < v->nbuckets; i++) {
		const struct HistBucket *b = &v->buckets[i];
		str_reset(&lab);
		bucket_label(v, b, &lab);
		int bar = max ? (int)((float)b->count / (float)max * BAR_WIDTH) : 0;
		str_addf(out, "%-16s%8llu |", str_text(&lab), (unsigned long long)b->count);
		for (int x = 0; x < BAR_WIDTH; x++)
			str_addc(out, x < bar ? '@' : ' ');
		str_add(out, "|\n");
	}
	str_deinit(&lab);
}

// Buckets in JSON are closed intervals: max is one less than the next bucket's min.
void hist_json(const struct Value *v, struct Str *out)
{
	str_addc(out, '[');
	for (u32 i = 0; i < v->nbuckets; i++) {
		const struct HistBucket *b = &v->buckets[i];
		str_add(out, i ? ",{" : "{");
		if (b->lo != INT64_MIN) {
			str_add(out, "\"min\": ");
			str_add_json_int(out, b->lo);
			str_add(out, ", ");
		}
		if (b->hi != INT64_MAX || v->kind == V_HIST) {
			s64 max = b->hi == INT64_MAX || b->hi == b->lo ? b->hi : b->hi - 1;
			str_add(out, "\"max\": ");
			str_add_json_int(out, max);
			str_add(out, ", ");
		}
		str_addf(out, "\"count\": %llu}", (unsigned long long)b->count);
	}
	str_addc(out, ']');
}

// ---- time series

// Local time "HH:MM:SS" (or with the date in front) and `digits` digits of the second's fraction.
static void add_time(u64 epoch_ns, const char *fmt, int digits, struct Str *out)
{
	time_t sec = (time_t)(epoch_ns / NSEC_PER_SEC);
	u64 frac = epoch_ns % NSEC_PER_SEC;
	struct tm tm;
	char buf[64];
	if (!localtime_r(&sec, &tm) || !strftime(buf, sizeof(buf), fmt, &tm))
		return;
	str_add(out, buf);
	for (int i = digits; i < 9; i++)
		frac /= 10;
	if (digits)
		str_addf(out, ".%0*llu", digits, (unsigned long long)frac);
}

struct TsRange {
	s64 min, max;
	bool uns;
};

static bool ts_less(const struct TsRange *r, s64 a, s64 b)
{
	return r->uns ? (u64)a < (u64)b : a < b;
}

static struct TsRange ts_range(const struct Value *v)
{
	struct TsRange r = {v->points[0].val, v->points[0].val, v->uns};
	for (u32 i = 0; i < v->npoints; i++) {
		if (!v->points[i].has)
			continue;
		if (ts_less(&r, v->points[i].val, r.min))
			r.min = v->points[i].val;
		if (ts_less(&r, r.max, v->points[i].val))
			r.max = v->points[i].val;
	}
	if (r.min == r.max) { // a little room on both sides
		if (r.min != (r.uns ? 0 : INT64_MIN))
			r.min = (s64)((u64)r.min - 1);
		if (r.max != (r.uns ? -1 : INT64_MAX))
			r.max = (s64)((u64)r.max + 1);
	}
	return r;
}

// Column of x when `width` columns span min to max, in single precision as bpftrace does. Distances have no sign: the largest is 2^64 - 1.
static int ts_column(const struct TsRange *r, s64 x, int width)
{
	return (int)((float)width * (float)((u64)x - (u64)r->min) / (float)((u64)r->max - (u64)r->min));
}

static void ts_number(const struct TsRange *r, s64 x, struct Str *out)
{
	str_addf(out, r->uns ? "%llu" : "%lld", (long long)x);
}

static void ts_scale(const struct TsRange *r, int margin, struct Str *out)
{
	struct Str lo = {0}, hi = {0};
	ts_number(r, r->min, &lo);
	ts_number(r, r->max, &hi);
	str_addf(out, "%*s%-21s%*s\n", margin, "", str_text(&lo), GRAPH_WIDTH - 21, str_text(&hi));
	str_deinit(&lo);
	str_deinit(&hi);
}

void tseries_text(const struct Value *v, struct Str *out)
{
	if (!v->npoints) {
		str_add(out, "<no data>");
		return;
	}
	struct TsRange r = ts_range(v);
	u64 step = v->npoints > 1 ? (v->points[v->npoints - 1].epoch_ns - v->points[0].epoch_ns) / (v->npoints - 1) : 0;
	int digits = step >= NSEC_PER_SEC ? 0 : step >= 1000000 ? 3 : step >= 1000 ? 6 : 9;
	const char *head = digits == 0 ? "hh:mm:ss" : digits == 3 ? "hh:mm:ss.ms" : digits == 6 ? "hh:mm:ss.\u03bcs" : "hh:mm:ss.ns";
	int width = 8 + (digits ? digits + 1 : 0);
	ts_scale(&r, width + 1, out);
	str_addf(out, "%-*s|%.*s|\n", width + 1, head, GRAPH_WIDTH - 2, "_____________________________________________________");
	int zero = !r.uns && r.min < 0 && r.max > 0 ? ts_column(&r, 0, GRAPH_WIDTH) : 0;
	for (u32 i = 0; i < v->npoints; i++) {
		const struct TsPoint *p = &v->points[i];
		char line[GRAPH_WIDTH + 1];
		memset(line, ' ', GRAPH_WIDTH);
		line[GRAPH_WIDTH] = 0;
		line[0] = line[GRAPH_WIDTH - 1] = '|';
		if (zero > 0)
			line[MIN(zero, GRAPH_WIDTH - 1)] = '.';
		if (p->has) {
			int col = r.min != r.max ? ts_column(&r, p->val, GRAPH_WIDTH - 1) : GRAPH_WIDTH / 2;
			line[MAX(0, MIN(col, GRAPH_WIDTH - 1))] = '*';
		}
		add_time(p->epoch_ns, "%H:%M:%S", digits, out);
		str_addf(out, " %s ", line);
		if (p->has)
			ts_number(&r, p->val, out);
		else
			str_addc(out, '-');
		str_addc(out, '\n');
	}
	str_addf(out, "%*s v%.*sv\n", width, "", GRAPH_WIDTH - 2, "_____________________________________________________");
	ts_scale(&r, width + 1, out);
}

void tseries_json(const struct Value *v, struct Str *out)
{
	bool first = true;
	str_addc(out, '[');
	for (u32 i = 0; i < v->npoints; i++) {
		const struct TsPoint *p = &v->points[i];
		if (!p->has)
			continue;
		str_add(out, first ? "{\"interval_start\":\"" : ",{\"interval_start\":\"");
		add_time(p->epoch_ns, "%Y-%m-%d %H:%M:%S", 9, out);
		str_addf(out, v->uns ? "\",\"value\":%llu}" : "\",\"value\":%lld}", (long long)p->val);
		first = false;
	}
	str_addc(out, ']');
}
