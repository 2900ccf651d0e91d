// Renderers: goldens for every kind of value as text and JSON, histogram labels, time series, messages.
#include "out/report.h"
#include "t.h"
#include "out/internal.h"
#include <errno.h>
#include <time.h>

static char *memory; // what the renderer wrote to out
static size_t memory_len;

static struct Render open_render(const struct RenderOps *ops, FILE **err, char **errbuf, size_t *errlen)
{
	struct Render r = {.mode = BUF_LINE, .ops = ops};
	r.out = open_memstream(&memory, &memory_len);
	r.err = *err = open_memstream(errbuf, errlen);
	return r;
}

#define RENDER(OPS, CALL, OUT, ERR)                                                                                    \
	do {                                                                                                           \
		char *eb = NULL;                                                                                       \
		size_t el;                                                                                             \
		FILE *ef;                                                                                              \
		struct Render r = open_render(OPS, &ef, &eb, &el);                                                     \
		CALL;                                                                                                  \
		fclose(r.out);                                                                                         \
		fclose(ef);                                                                                            \
		CHECK_STR(memory, OUT);                                                                                \
		CHECK_STR(eb, ERR);                                                                                    \
		free(memory);                                                                                          \
		free(eb);                                                                                              \
	} while (0)

static void check_value(const struct Value *v, const char *text, const char *json)
{
	struct Str s = {0};
	value_text(v, &s);
	CHECK_STR(str_text(&s), text);
	str_reset(&s);
	value_json(v, &s);
	CHECK_STR(str_text(&s), json);
	str_deinit(&s);
}

#define S(t) {.kind = V_STR, .text = t, .len = strlen(t)}
#define I(x) {.kind = V_INT, .i = x}
#define U(x) {.kind = V_UINT, .u = x}

TEST(scalars)
{
	check_value(&(struct Value)I(-5), "-5", "-5");
	check_value(&(struct Value)U(UINT64_MAX), "18446744073709551615", "\"18446744073709551615\"");
	check_value(&(struct Value)I(INT64_MIN), "-9223372036854775808", "-9223372036854775808");
	check_value(&(struct Value)I(9007199254740993), "9007199254740993", "\"9007199254740993\"");
	check_value(&(struct Value)U(1ULL << 63), "9223372036854775808", "9223372036854775808");
	check_value(&(struct Value){.kind = V_BOOL, .i = 1}, "true", "true");
	check_value(&(struct Value){.kind = V_BOOL}, "false", "false");
	check_value(&(struct Value){.kind = V_NONE}, "null", "null");
	check_value(&(struct Value){.kind = V_PTR, .u = 0xffff8880}, "0xffff8880", "4294936704");
	check_value(&(struct Value){.kind = V_ENUM, .i = 6, .text = "SOCKET_FILTER"}, "SOCKET_FILTER", "6");
	check_value(&(struct Value){.kind = V_ENUM, .i = 7}, "7", "7");
	check_value(&(struct Value){.kind = V_BUF, .text = "a\0\xff~", .len = 4}, "a\\x00\\xff~", "[97,0,-1,126]");
}

TEST(strings)
{
	check_value(&(struct Value)S("a \"b\" \\ \n\t\r\x01\x7f"), "a \"b\" \\ \n\t\r\x01\x7f", "\"a \\\"b\\\" \\\\ \\n\\t\\r\\u0001\x7f\"");
	check_value(&(struct Value)S("\xce\xbcs"), "\xce\xbcs", "\"\xce\xbcs\"");
	check_value(&(struct Value)S("\xff\xc0\x80\xed\xa0\x80"), "\xff\xc0\x80\xed\xa0\x80", "\"\\u00ff\\u00c0\\u0080\\u00ed\\u00a0\\u0080\"");
	struct Str s = {0};
	value_text_escaped(&(struct Value)S("\033[31mred\033[0m\033]0;title\007 \x9b\n"), &s);
	CHECK_STR(str_text(&s), "\\x1b[31mred\\x1b[0m\\x1b]0;title\\x07 \\x9b\\x0a");
	str_deinit(&s);
}

TEST(compound)
{
	struct Value in[] = {I(1), S("hello"), U(3)};
	const char *names[] = {"a", "b", "c"};
	check_value(&(struct Value){.kind = V_TUPLE, .items = in, .n = 3}, "(1, hello, 3)", "[1,\"hello\",3]");
	check_value(&(struct Value){.kind = V_TUPLE, .items = in, .n = 2, .names = names}, "(a = 1, b = hello)", "{\"a\": 1, \"b\": \"hello\"}");
	check_value(&(struct Value){.kind = V_ARRAY, .items = in, .n = 3}, "[1,hello,3]", "[1,\"hello\",3]");
	check_value(&(struct Value){.kind = V_ARRAY}, "[]", "[]");
	check_value(&(struct Value){.kind = V_RECORD, .items = in, .names = names, .n = 2}, "{ .a = 1, .b = hello }", "{\"a\": 1, \"b\": \"hello\"}");
	check_value(&(struct Value){.kind = V_RECORD, .names = names}, "{}", "{}");
	struct Value nest[] = {{.kind = V_RECORD, .items = in, .names = names, .n = 1}, {.kind = V_ARRAY, .items = in, .n = 2}};
	check_value(&(struct Value){.kind = V_TUPLE, .items = nest, .n = 2}, "({ .a = 1 }, [1,hello])", "[{\"a\": 1},[1,\"hello\"]]");
	check_value(&(struct Value){.kind = V_STATS, .u = 2, .avg = -3, .total = -6}, "{ .count = 2, .average = -3, .total = -6 }",
		    "{\"count\": 2, \"average\": -3, \"total\": -6}");
	check_value(&(struct Value){.kind = V_STATS, .u = 1, .avg = -1, .total = -1, .uns = true},
		    "{ .count = 1, .average = 18446744073709551615, .total = 18446744073709551615 }",
		    "{\"count\": 1, \"average\": \"18446744073709551615\", \"total\": \"18446744073709551615\"}");
}

TEST(stacks)
{
	struct Frame f[] = {
		{.addr = 0xffffffff81000010, .sym = "tcp_sendmsg", .sym_off = 16, .kernel = true},
		{.addr = 0x401000, .sym = "inl", .inlined = true, .file = "a.c", .line = 3},
		{.addr = 0x401000, .sym = "main", .sym_off = 4, .module = "/bin/x", .module_off = 0x1000, .file = "a.c", .line = 9},
		{.addr = 0x7f00, .module = "/lib/l.so", .module_off = 0x20, .module_addr = 0x1020},
		{.module = "[vdso]", .module_off = 0x20, .module_addr = 0x1020},
		{.addr = 0x1234},
	};
	struct Value v = {.kind = V_STACK, .frames = f, .nframes = 6};
	check_value(&v,
		    "\n        tcp_sendmsg+16\n        [inlined] inl@a.c:3\n        main+4@a.c:9\n        [l.so+0x1020]\n        [vdso+0x1020]\n        0x1234\n",
		    "\"\\n        tcp_sendmsg+16\\n        [inlined] inl@a.c:3\\n        main+4@a.c:9\\n        [l.so+0x1020]\\n        [vdso+0x1020]\\n        0x1234\\n\"");
	v.style = STACK_STYLE_PERF;
	check_value(&v,
		    "\n\tffffffff81000010 tcp_sendmsg+16\n\t401000 inl (inlined)\n\t401000 main+4 (/bin/x)\n\t7f00 [l.so+0x1020] (/lib/l.so)\n\tfile:1020 [vdso+0x1020] "
		    "([vdso])\n\t1234 0x1234 ([unknown])\n",
		    "\"\\n\\tffffffff81000010 tcp_sendmsg+16\\n\\t401000 inl (inlined)\\n\\t401000 main+4 (/bin/x)\\n\\t7f00 [l.so+0x1020] (/lib/l.so)\\n\\tfile:1020 "
		    "[vdso+0x1020] ([vdso])\\n\\t1234 0x1234 ([unknown])\\n\"");
	v.style = STACK_STYLE_RAW;
	v.nframes = 2;
	check_value(&v, "\nffffffff81000010\n401000\n", "\"\\nffffffff81000010\\n401000\\n\"");
	check_value(&(struct Value){.kind = V_STACK}, "\n", "\"\\n\"");
}

TEST(histograms)
{
	struct HistBucket b[] = {{INT64_MIN, 0, 1}, {0, 1, 52}, {1, 2, 26}, {2, 4, 0}, {1024, 2048, 51}, {1 << 20, 1 << 21, 13}};
	struct Value v = {.kind = V_HIST, .buckets = b, .nbuckets = 6};
	check_value(&v,
		    "(..., 0)               1 |@                                                   |\n"
		    "[0]                   52 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
		    "[1]                   26 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
		    "[2, 4)                 0 |                                                    |\n"
		    "[1K, 2K)              51 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ |\n"
		    "[1M, 2M)              13 |@@@@@@@@@@@@@                                       |\n",
		    "[{\"max\": -1, \"count\": 1},{\"min\": 0, \"max\": 0, \"count\": 52},{\"min\": 1, \"max\": 1, \"count\": 26},{\"min\": 2, \"max\": 3, "
		    "\"count\": 0},{\"min\": 1024, \"max\": 2047, \"count\": 51},{\"min\": 1048576, \"max\": 2097151, \"count\": 13}]");
	struct HistBucket top[] = {{1LL << 62, INT64_MAX, 3}};
	check_value(&(struct Value){.kind = V_HIST, .buckets = top, .nbuckets = 1},
		    "[4E, 8E)               3 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n",
		    "[{\"min\": 4611686018427387904, \"max\": \"9223372036854775807\", \"count\": 3}]");
	// With 2^2 buckets per power the suffix begins where a bucket's own width reaches 1K.
	struct HistBucket fine[] = {{1024, 1280, 1}, {4096, 5120, 1}};
	check_value(&(struct Value){.kind = V_HIST, .buckets = fine, .nbuckets = 2, .hist_bits = 2},
		    "[1024, 1280)           1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
		    "[4K, 5K)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n",
		    "[{\"min\": 1024, \"max\": 1279, \"count\": 1},{\"min\": 4096, \"max\": 5119, \"count\": 1}]");
	check_value(&(struct Value){.kind = V_HIST}, "", "[]");
}

TEST(linear_histograms)
{
	struct HistBucket b[] = {{INT64_MIN, 0, 1}, {0, 10, 2}, {10, INT64_MAX, 4}};
	check_value(&(struct Value){.kind = V_LHIST, .buckets = b, .nbuckets = 3, .lhist_step = 10},
		    "(..., 0)               1 |@@@@@@@@@@@@@                                       |\n"
		    "[0, 10)                2 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
		    "[10, ...)              4 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n",
		    "[{\"max\": -1, \"count\": 1},{\"min\": 0, \"max\": 9, \"count\": 2},{\"min\": 10, \"count\": 4}]");
	struct HistBucket k[] = {{1024, 2048, 1}, {1 << 20, (1 << 20) + 1024, 0}};
	struct Value v = {.kind = V_LHIST, .buckets = k, .nbuckets = 2, .lhist_step = 1024};
	struct Str s = {0};
	value_text(&v, &s);
	CHECK(!strncmp(str_text(&s), "[1K, 2K)  ", 10));
	CHECK(strstr(str_text(&s), "\n[1M, 1025K)  ") != NULL);
	str_deinit(&s);
	struct HistBucket one[] = {{3, 4, 1}};
	check_value(&(struct Value){.kind = V_LHIST, .buckets = one, .nbuckets = 1, .lhist_step = 1},
		    "[3]                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n", "[{\"min\": 3, \"max\": 3, \"count\": 1}]");
}

#define UL51 "___________________________________________________"
TEST(time_series)
{
	setenv("TZ", "UTC", 1);
	tzset();
	u64 t = 1700000000ULL * 1000000000ULL; // 2023-11-14 22:13:20
	struct TsPoint p[] = {{t, 0, true}, {t + 100000000, 1, true}, {t + 200000000, 0, false}, {t + 300000000, 2, true}};
	struct Value v = {.kind = V_TSERIES, .points = p, .npoints = 4, .uns = true};
	check_value(&v,
		    "             0                                                   2\n"
		    "hh:mm:ss.ms  |" UL51 "|\n"
		    "22:13:20.000 *                                                   | 0\n"
		    "22:13:20.100 |                         *                         | 1\n"
		    "22:13:20.200 |                                                   | -\n"
		    "22:13:20.300 |                                                   * 2\n"
		    "             v" UL51 "v\n"
		    "             0                                                   2\n",
		    "[{\"interval_start\":\"2023-11-14 22:13:20.000000000\",\"value\":0},{\"interval_start\":\"2023-11-14 22:13:20.100000000\",\"value\":1},"
		    "{\"interval_start\":\"2023-11-14 22:13:20.300000000\",\"value\":2}]");
	struct TsPoint n[] = {{t, -10, true}, {t + 1000000000, 10, true}};
	struct Value w = {.kind = V_TSERIES, .points = n, .npoints = 2};
	check_value(&w,
		    "         -10                                                10\n"
		    "hh:mm:ss |" UL51 "|\n"
		    "22:13:20 *                         .                         | -10\n"
		    "22:13:21 |                         .                         * 10\n"
		    "         v" UL51 "v\n"
		    "         -10                                                10\n",
		    "[{\"interval_start\":\"2023-11-14 22:13:20.000000000\",\"value\":-10},{\"interval_start\":\"2023-11-14 22:13:21.000000000\",\"value\":10}]");
	check_value(&(struct Value){.kind = V_TSERIES}, "<no data>", "[]");
}

TEST(maps_as_text)
{
	struct Value key[] = {I(1), S("x y")};
	struct MapEntry e[] = {
		{.key = {.kind = V_TUPLE, .items = key, .n = 2}, .val = I(7)},
		{.key = S("(odd)"), .val = S("v")},
	};
	struct MapReport m = {.name = "@a", .entries = e, .n = 2};
	RENDER(&text_render_ops, r.ops->map(&r, &m), "@a[1, x y]: 7\n@a[odd]: v\n", "");
	RENDER(&json_render_ops, r.ops->map(&r, &m), "{\"type\": \"map\", \"data\": {\"@a\": {\"1,xy\": 7, \"odd\": \"v\"}}}\n", "");
	struct MapEntry sc[] = {{.val = I(3)}};
	struct MapReport s = {.name = "@x", .scalar = true, .entries = sc, .n = 1};
	RENDER(&text_render_ops, r.ops->map(&r, &s), "@x: 3\n", "");
	RENDER(&json_render_ops, r.ops->map(&r, &s), "{\"type\": \"map\", \"data\": {\"@x\": 3}}\n", "");
	s.stats = true;
	RENDER(&json_render_ops, r.ops->map(&r, &s), "{\"type\": \"stats\", \"data\": {\"@x\": 3}}\n", "");
	struct MapReport none = {.name = "@n"};
	RENDER(&text_render_ops, r.ops->map(&r, &none), "", "");
	RENDER(&json_render_ops, r.ops->map(&r, &none), "", "");
}

TEST(maps_of_blocks)
{
	struct HistBucket b[] = {{2, 4, 1}};
	struct Value h = {.kind = V_HIST, .buckets = b, .nbuckets = 1};
	struct MapEntry e[] = {{.key = I(5), .val = h}, {.key = I(6), .val = h}};
#define BAR "[2, 4)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
	struct MapReport m = {.name = "@h", .entries = e, .n = 2};
	RENDER(&text_render_ops, r.ops->map(&r, &m), "@h[5]:\n" BAR "\n@h[6]:\n" BAR "\n", "");
	RENDER(&json_render_ops, r.ops->map(&r, &m),
	       "{\"type\": \"hist\", \"data\": {\"@h\": {\"5\": [{\"min\": 2, \"max\": 3, \"count\": 1}], \"6\": [{\"min\": 2, \"max\": 3, \"count\": 1}]}}}\n", "");
	m = (struct MapReport){.name = "@h", .scalar = true, .entries = e, .n = 1};
	RENDER(&text_render_ops, r.ops->map(&r, &m), "@h:\n" BAR "\n", "");
	RENDER(&json_render_ops, r.ops->map(&r, &m), "{\"type\": \"hist\", \"data\": {\"@h\": [{\"min\": 2, \"max\": 3, \"count\": 1}]}}\n", "");
	struct Frame f[] = {{.addr = 1, .sym = "a b", .sym_off = 1}};
	struct MapEntry st[] = {{.key = {.kind = V_STACK, .frames = f, .nframes = 1}, .val = I(3)}};
	m = (struct MapReport){.name = "@", .entries = st, .n = 1};
	RENDER(&text_render_ops, r.ops->map(&r, &m), "@[\n        a b+1\n]: 3\n", "");
	RENDER(&json_render_ops, r.ops->map(&r, &m), "{\"type\": \"map\", \"data\": {\"@\": {\"\\nab+1\\n\": 3}}}\n", "");
}

TEST(messages)
{
	RENDER(&text_render_ops, r.ops->message(&r, MSG_PRINTF, "hi", 2), "hi", "");
	RENDER(&text_render_ops, r.ops->message(&r, MSG_JOIN, "a b", 3), "a b\n", "");
	RENDER(&text_render_ops, r.ops->value(&r, &(struct Value)I(4)), "4\n", "");
	RENDER(&text_render_ops, r.ops->attached(&r, 1), "", "Attached 1 probe\n");
	RENDER(&text_render_ops, r.ops->attached(&r, 2), "", "Attached 2 probes\n");
	RENDER(&text_render_ops, r.ops->lost(&r, 9), "", "Lost 9 events\n");
	RENDER(&text_render_ops, r.ops->end(&r), "\n\n", "");
	RENDER(&json_render_ops, r.ops->message(&r, MSG_PRINTF, "hi\n", 3), "{\"type\": \"printf\", \"data\": \"hi\\n\"}\n", "");
	RENDER(&json_render_ops, r.ops->message(&r, MSG_TIME, "1", 1), "{\"type\": \"time\", \"data\": \"1\"}\n", "");
	RENDER(&json_render_ops, r.ops->message(&r, MSG_CAT, "1", 1), "{\"type\": \"cat\", \"data\": \"1\"}\n", "");
	RENDER(&json_render_ops, r.ops->message(&r, MSG_JOIN, "1", 1), "{\"type\": \"join\", \"data\": \"1\"}\n", "");
	RENDER(&json_render_ops, r.ops->message(&r, MSG_SYSTEM, "1", 1), "{\"type\": \"syscall\", \"data\": \"1\"}\n", "");
	RENDER(&json_render_ops, r.ops->value(&r, &(struct Value)S("x")), "{\"type\": \"value\", \"data\": \"x\"}\n", "");
	RENDER(&json_render_ops, r.ops->attached(&r, 2), "{\"type\": \"attached_probes\", \"count\": 2, \"data\": {\"probes\": 2}}\n", "");
	RENDER(&json_render_ops, r.ops->lost(&r, 9), "{\"type\": \"lost_events\", \"count\": 9, \"data\": {\"events\": 9}}\n", "");
	RENDER(&json_render_ops, r.ops->loss(&r, "map_full", 2, "two"), "{\"type\": \"map_full\", \"count\": 2, \"msg\": \"two\"}\n", "");
	RENDER(&text_render_ops, r.ops->loss(&r, "map_full", 2, "two"), "", "WARNING: two\n");
}

TEST(errors)
{
	struct RunError e = {.kind = RUN_ERRORF, .file = "stdin", .line = 1, .col = 9, .where = "stdin:1:9-62", .context = "BEGIN\n~~~~~\n", .text = "bad\n"};
	RENDER(&text_render_ops, r.ops->error(&r, &e), "", "stdin:1:9-62: ERROR: bad\n");
	e.kind = RUN_WARNF;
	RENDER(&text_render_ops, r.ops->error(&r, &e), "", "stdin:1:9-62: WARNING: bad\n");
	RENDER(&json_render_ops, r.ops->error(&r, &e), "{\"type\": \"warnf\", \"msg\": \"bad\\n\", \"filename\": \"stdin\", \"line\": 1, \"col\": 9}\n", "");
	e = (struct RunError){.kind = RUN_HELPER, .file = "f.bt", .line = 2, .col = 3, .where = "f.bt:2:3-5", .context = "BEGIN\n  ~~\n",
			      .text = "Bad address", .helper = "probe_read_user_str", .retcode = -14};
	RENDER(&text_render_ops, r.ops->error(&r, &e), "",
	       "f.bt:2:3-5: WARNING: Bad address\nAdditional Info - helper: probe_read_user_str, retcode: -14\nBEGIN\n  ~~\n");
	RENDER(&json_render_ops, r.ops->error(&r, &e),
	       "{\"type\": \"helper_error\", \"msg\": \"Bad address\", \"helper\": \"probe_read_user_str\", \"retcode\": -14, \"filename\": \"f.bt\", \"line\": 2, "
	       "\"col\": 3}\n", "");
	e.helper = "map_delete_elem";
	e.retcode = -ENOENT;
	RENDER(&text_render_ops, r.ops->error(&r, &e), "",
	       "f.bt:2:3-5: WARNING: Can't delete map element because it does not exist.\nAdditional Info - helper: map_delete_elem, retcode: "
	       "-2\nBEGIN\n  ~~\n");
}
TEST(ends_of_stacks)
{
	struct StackEnd rows[60] = {0};
	struct StackEnds e = {.stacks = 1000, .whole = 500, .guessed = 125, .rows = rows, .n = 41};
	char *text = NULL;
	size_t n;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		rows[i] = (struct StackEnd){.count = 100 - i, .pid = i + 1, .comm = "c", .reason = "why", .frame = {.sym = "f", .module = "/lib/m"}};
	for (u32 k = 0; k < 2; k++, e.n = 60) { // one row more than is shown takes no more room than its sum
		struct Render r = {.ops = &text_render_ops, .out = stdout};
		r.err = open_memstream(&text, &n);
		r.ops->ends(&r, &e);
		fclose(r.err);
		CHECK(strstr(text, "1000 user stacks, 500 whole (50.00 %), 125 whole by guess (12.50 %)"));
		CHECK((strstr(text, "       41 c ") != NULL) == (k == 0));
		CHECK((strstr(text, "in 20 other places\n") != NULL) == (k == 1));
		CHECK(k == 0 || strstr(text, "      1010 in 20 other places\n")); // 60 + 59 + ... + 41
		free(text);
	}
	rows[1].guess = true;
	e.n = 3;
	struct Render r = {.ops = &json_render_ops, .out = open_memstream(&text, &n)};
	r.ops->ends(&r, &e);
	fclose(r.out);
#define ROW(count, pid) "{\"count\": " count ", \"pid\": " pid ", \"comm\": \"c\", \"reason\": \"why\", \"symbol\": \"f\", \"module\": \"/lib/m\"}"
	CHECK(strstr(text, "\"stacks\": 1000, \"whole\": 500, \"guessed\": 125, "));
	CHECK(strstr(text, "\"incomplete\": [" ROW("100", "1") ", " ROW("98", "3") "], \"guesses\": [" ROW("99", "2") "]}}"));
	free(text);
}
// Ids of frames are found again by what is written of them, also of several at one address, and after the table has grown.
TEST(frame_ids)
{
	static struct Frame f[1000];
	struct FrameIds t = {0};
	for (u32 i = 0; i < ARRAY_LEN(f); i++)
		f[i] = (struct Frame){.addr = i / 2, .line = i % 2, .sym = "f", .sym_off = i};
	for (u32 i = 0; i < ARRAY_LEN(f); i++) {
		CHECK_EQ(*frameids_at(&t, &f[i], 1), 0);
		*frameids_at(&t, &f[i], 1) = i + 1;
	}
	for (u32 i = 0; i < ARRAY_LEN(f); i++)
		CHECK_EQ(*frameids_at(&t, &f[i], 1), i + 1);
	CHECK_EQ(*frameids_at(&t, f, 2), 0); // the first and the one it is inlined into
	*frameids_at(&t, f, 2) = 7;
	struct Frame two[] = {f[0], f[1]}, other[] = {f[0], f[1]};
	other[1].ret = true;
	CHECK_EQ(*frameids_at(&t, two, 2), 7);
	CHECK_EQ(*frameids_at(&t, other, 2), 0);
	frameids_deinit(&t);
}

T_MAIN()
