// Maps as metrics: every line is one that Prometheus takes, whatever keys hold.
#include "out/report.h"
#include "t.h"

static const char *of(const struct MapReport *m)
{
	static struct Str out;
	str_reset(&out);
	prometheus_map(m, &out);
	return str_text(&out);
}

static struct Value text(const char *s)
{
	return (struct Value){.kind = V_STR, .text = s, .len = strlen(s)};
}

TEST(numbers)
{
	struct Value parts[] = {text("a\"b\\c\n\x1b"), {.kind = V_UINT, .u = 7}};
	const char *names[] = {"comm", "9 x"};
	struct MapEntry e[] = {{.key = {.kind = V_NONE}, .val = {.kind = V_UINT, .u = UINT64_MAX}}};
	CHECK_STR(of(&(struct MapReport){.name = "@", .entries = e, .n = 1}), "# TYPE sonde_map untyped\nsonde_map 18446744073709551615\n");
	e[0] = (struct MapEntry){.key = {.kind = V_TUPLE, .items = parts, .n = 2}, .val = {.kind = V_INT, .i = -3}};
	CHECK_STR(of(&(struct MapReport){.name = "@x", .entries = e, .n = 1}), "# TYPE sonde_x untyped\nsonde_x{key1=\"a\\\"b\\\\c\\\\x0a\\\\x1b\",key2=\"7\"} -3\n");
	e[0].key.names = names;
	CHECK_STR(of(&(struct MapReport){.name = "@x", .entries = e, .n = 1}), "# TYPE sonde_x untyped\nsonde_x{comm=\"a\\\"b\\\\c\\\\x0a\\\\x1b\",_9_x=\"7\"} -3\n");
}

TEST(histograms)
{
	struct HistBucket b[] = {{INT64_MIN, 0, 1}, {0, 10, 2}, {10, 10, 3}, {20, INT64_MAX, 4}};
	struct MapEntry e = {.key = text("k"), .val = {.kind = V_LHIST, .buckets = b, .nbuckets = 4}};
	CHECK_STR(of(&(struct MapReport){.name = "@h", .entries = &e, .n = 1}),
		  "# TYPE sonde_h histogram\nsonde_h_bucket{key=\"k\",le=\"-1\"} 1\nsonde_h_bucket{key=\"k\",le=\"9\"} 3\nsonde_h_bucket{key=\"k\",le=\"10\"} 6\n"
		  "sonde_h_bucket{key=\"k\",le=\"+Inf\"} 10\nsonde_h_count{key=\"k\"} 10\n");
}

TEST(labels_of_the_format)
{
	struct HistBucket b[] = {{0, 10, 2}};
	struct Value part = text("k");
	const char *le = "le", *quantile = "quantile";
	struct MapEntry e = {.key = {.kind = V_RECORD, .items = &part, .names = &le, .n = 1}, .val = {.kind = V_HIST, .buckets = b, .nbuckets = 1}};
	CHECK_STR(of(&(struct MapReport){.name = "@h", .entries = &e, .n = 1}),
		  "# TYPE sonde_h histogram\nsonde_h_bucket{_le=\"k\",le=\"9\"} 2\nsonde_h_bucket{_le=\"k\",le=\"+Inf\"} 2\nsonde_h_count{_le=\"k\"} 2\n");
	e.key.names = &quantile;
	e.val = (struct Value){.kind = V_STATS, .u = 2, .total = 9};
	CHECK_STR(of(&(struct MapReport){.name = "@s", .entries = &e, .n = 1}), "# TYPE sonde_s summary\nsonde_s_count{_quantile=\"k\"} 2\nsonde_s_sum{_quantile=\"k\"} 9\n");
}

TEST(others)
{
	struct MapEntry e[] = {{.key = text("a"), .val = text("b")}, {.key = text("c"), .val = {.kind = V_STATS, .u = 2, .total = -9}}};
	CHECK_STR(of(&(struct MapReport){.name = "@s", .entries = e, .n = 1}), "# 1 values of @s are no numbers\n");
	CHECK_STR(of(&(struct MapReport){.name = "@s", .entries = e + 1, .n = 1}), "# TYPE sonde_s summary\nsonde_s_count{key=\"c\"} 2\nsonde_s_sum{key=\"c\"} -9\n");
	CHECK_STR(of(&(struct MapReport){.name = "@s"}), "");
}

T_MAIN()
