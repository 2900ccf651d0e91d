// String and bucket functions of the runtime: the C on the host against libc, then the same calls inside the kernel.
#include "t.h"
#include "rt_host.h"
#include "bpf_asm.h"
#include "../../src/bpfrt/str.bpf.c"
#include "../../src/bpfrt/aggr.bpf.c"
#include "type/type.h"
#include <fnmatch.h>

// ---- reference implementations

static s64 ref_strstr(const char *hay, const char *needle)
{
	const char *p = strstr(hay, needle);
	return p ? p - hay : -1;
}

static u32 seed = 12345;
static u32 rnd(u32 n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 8) % n;
}

// Text of few different letters, so that near-matches are common; NUL-terminated, the rest is garbage.
static void fill(char *buf, u32 cap, const char *alphabet)
{
	u32 len = rnd(cap);
	for (u32 i = 0; i < cap; i++)
		buf[i] = alphabet[rnd((u32)strlen(alphabet))];
	buf[len] = 0;
}

TEST(strlen_host)
{
	CHECK_EQ(rt_strlen("", 1), 0);
	CHECK_EQ(rt_strlen("abc", 4), 3);
	CHECK_EQ(rt_strlen("abcdef", 3), 3); // fills its capacity
	CHECK_EQ(rt_strlen("abc", 0), 0);
}

TEST(streq_host)
{
	CHECK_EQ(rt_streq("abc", 4, "abc\0zzz", 8), 1);
	CHECK_EQ(rt_streq("abc", 3, "abc", 4), 1); // full buffer against terminated text
	CHECK_EQ(rt_streq("abc", 4, "abd", 4), 0);
	CHECK_EQ(rt_streq("abc", 4, "ab", 3), 0);
	CHECK_EQ(rt_streq("", 1, "", 1), 1);
	CHECK_EQ(rt_streq("a", 0, "", 1), 1);
}

// Those that take eight bytes at a time, against those that take one.
TEST(long_host)
{
	char a[80], b[80];
	for (int i = 0; i < 100000; i++) {
		u32 acap = 60 + rnd(20), bcap = 60 + rnd(20), same = rnd(80);
		fill(a, acap, i % 3 ? "a\x80\xff\x01" : "ab");
		fill(b, bcap, i % 3 ? "a\x80\xff\x01" : "ab");
		memcpy(b, a, MIN(same, MIN(acap, bcap)));
		if (i % 2)
			b[rnd(bcap)] = 0;
		CHECK_EQ(rt_strlen_long(a, acap), rt_strlen(a, acap));
		CHECK_EQ(rt_streq_long(a, acap, b, bcap), rt_streq(a, acap, b, bcap));
	}
}

static int sign(s64 v) { return (v > 0) - (v < 0); }

TEST(strncmp_memcmp_host)
{
	char a[16], b[16];
	for (int i = 0; i < 20000; i++) {
		fill(a, sizeof(a), "ab\xff");
		fill(b, sizeof(b), "ab\xff");
		u32 n = rnd(17);
		CHECK_EQ(sign(rt_strncmp(a, b, n)), sign(strncmp(a, b, n)));
		CHECK_EQ(sign(rt_memcmp(a, b, n)), sign(memcmp(a, b, n)));
	}
}

TEST(strstr_host)
{
	char hay[40], needle[6];
	for (int i = 0; i < 50000; i++) {
		fill(hay, sizeof(hay), "aab");
		fill(needle, sizeof(needle), "aab");
		CHECK_EQ(rt_strstr(hay, sizeof(hay), needle, sizeof(needle)), ref_strstr(hay, needle));
		CHECK_EQ(rt_strstr_loop(hay, sizeof(hay), needle, sizeof(needle)), ref_strstr(hay, needle));
	}
	CHECK_EQ(rt_strstr("abc", 3, "bc", 3), 1); // hay fills its capacity
	CHECK_EQ(rt_strstr("abc", 3, "bcd", 4), -1);
	CHECK_EQ(rt_strstr("abc", 3, "bcX", 2), 1); // needle fills its capacity
}

TEST(globmatch_host)
{
	char s[12], pat[10];
	for (int i = 0; i < 200000; i++) {
		fill(s, sizeof(s), "abc-");
		fill(pat, sizeof(pat), "ab*?[]-!*c");
		bool want = fnmatch(pat, s, 0) == 0, got = rt_globmatch(s, sizeof(s), pat, sizeof(pat));
		if (want != got) {
			T_FAIL("pattern \"%s\" text \"%s\": %d, fnmatch says %d", pat, s, got, want);
			break;
		}
	}
	CHECK_EQ(rt_globmatch("vfs_read", 9, "vfs_*", 6), 1);
	CHECK_EQ(rt_globmatch("vfs_read", 8, "*read", 6), 1);
	CHECK_EQ(rt_globmatch("vfs_read", 9, "vfs", 4), 0);
	CHECK_EQ(rt_globmatch("", 1, "*", 2), 1);
	CHECK_EQ(rt_globmatch("", 1, "", 1), 1);
}

static u64 ref_hist(u64 v, u32 k)
{
	if ((s64)v < 0)
		return 0;
	if (v < 1ull << k)
		return v + 1;
	u32 l = 63 - (u32)__builtin_clzll(v) - k;
	return ((u64)(l + 1) << k) + (v >> l & ((1ull << k) - 1)) + 1;
}

TEST(hist_host)
{
	CHECK_EQ(rt_log2_hist((u64)-1, 0), 0);
	CHECK_EQ(rt_log2_hist(0, 0), 1);
	CHECK_EQ(rt_log2_hist(1, 0), 2);
	CHECK_EQ(rt_log2_hist(2, 0), 3);
	CHECK_EQ(rt_log2_hist(3, 0), 3);
	CHECK_EQ(rt_log2_hist(4, 0), 4);
	CHECK_EQ(rt_log2_hist(1023, 0), 11);
	for (u32 k = 0; k <= 5; k++) {
		u64 prev = 0;
		for (u64 v = 0; v < 5000; v++) { // buckets grow without gaps
			u64 b = rt_log2_hist(v, k);
			CHECK_EQ(b, ref_hist(v, k));
			CHECK(b == prev || b == prev + 1);
			prev = b;
		}
		for (int i = 0; i < 63; i++) {
			u64 v = 1ull << i;
			CHECK_EQ(rt_log2_hist(v, k), ref_hist(v, k));
			CHECK_EQ(rt_log2_hist(v + v / 3, k), ref_hist(v + v / 3, k));
			CHECK_EQ(rt_log2_hist(v - 1, k), ref_hist(v - 1, k));
		}
		CHECK_EQ(rt_log2_hist(INT64_MAX, k), (64 - k) << k); // the last of hist_nbuckets(k)
	}
}

TEST(lhist_host)
{
	CHECK_EQ(rt_lhist(-1, 0, 100, 10), 0);
	CHECK_EQ(rt_lhist(0, 0, 100, 10), 1);
	CHECK_EQ(rt_lhist(9, 0, 100, 10), 1);
	CHECK_EQ(rt_lhist(10, 0, 100, 10), 2);
	CHECK_EQ(rt_lhist(99, 0, 100, 10), 10);
	CHECK_EQ(rt_lhist(100, 0, 100, 10), 11);
	CHECK_EQ(rt_lhist(1 << 30, 0, 100, 10), 11);
	CHECK_EQ(rt_lhist(-50, -100, 100, 10), 6);
	CHECK_EQ(rt_lhist(INT64_MIN, -100, 100, 10), 0);
	CHECK_EQ(rt_lhist(INT64_MAX, INT64_MIN, INT64_MAX, INT64_MAX), 3);
}

// ---- in the kernel: one array value holds both strings, a program calls the function on them

enum { B_OFF = 1024, DATA = 2048 };

struct KernelCall {
	struct TestProg t;
	struct MapDef *data;
};

static const char *skip_kernel;

static bool kernel_ready(void)
{
	struct err *e = feature_need_caps();
	static char why[300];
	if (!e)
		return true;
	snprintf(why, sizeof(why), "%s", err_text(e));
	skip_kernel = why;
	err_free(e);
	return false;
}

// fn(data, acap, data + B_OFF, bcap)
static bool prepare(struct KernelCall *k, const char *fn, u32 acap, u32 bcap, bool three_args)
{
	tp_init(&k->t, fn);
	k->data = add_map(&k->t, "data", BPF_MAP_TYPE_ARRAY, 4, DATA, 1, BPF_F_MMAPABLE);
	map_val(&k->t, 1, k->data, 0);
	if (three_args) {
		map_val(&k->t, 2, k->data, B_OFF);
		mov_imm(&k->t, 3, (s32)acap);
	} else {
		mov_imm(&k->t, 2, (s32)acap);
		map_val(&k->t, 3, k->data, B_OFF);
		mov_imm(&k->t, 4, (s32)bcap);
	}
	call_rt(&k->t, fn);
	exit_insn(&k->t);
	struct err *e = tp_load(&k->t, NULL);
	if (e)
		T_FAIL("%s: %s", fn, err_text(e));
	bool ok = !e;
	err_free(e);
	return ok;
}

static s64 run(struct KernelCall *k, const char *a, u32 na, const char *b, u32 nb)
{
	int r;
	memset(k->data->mmapped, 'Z', DATA);
	memcpy(k->data->mmapped, a, na);
	memcpy((char *)k->data->mmapped + B_OFF, b, nb);
	s32 v = (s32)tp_run(&k->t, &r);
	CHECK_EQ(r, 0);
	return v;
}

static u32 verified(struct KernelCall *k)
{
	char *text = NULL;
	size_t n = 0;
	struct LoadOpts o = {.dump_verifier = true, .dump = open_memstream(&text, &n)};
	struct SysProg base = {.type = BPF_PROG_TYPE_RAW_TRACEPOINT};
	struct ProbeProg pp = k->t.pp;
	struct Loaded *l = NULL;
	struct Program empty = k->t.prog;
	memset(&empty.maps, 0, sizeof(empty.maps));
	CHECK(load_maps(&empty, &l) == NULL);
	CHECK(load_one(&k->t.prog, l, &pp, &base, &o) == NULL);
	loaded_destroy(l);
	fclose(o.dump);
	free(text);
	return pp.nverified;
}

#define KERNEL_CASE(k, fn, acap, bcap, three)                                                                          \
	struct KernelCall k;                                                                                           \
	if (!kernel_ready())                                                                                           \
		SKIP(skip_kernel);                                                                                     \
	if (!prepare(&k, fn, acap, bcap, three)) {                                                                     \
		tp_deinit(&k.t);                                                                                       \
		return;                                                                                                \
	}

TEST(strlen_kernel)
{
	KERNEL_CASE(k, "rt_strlen", 1024, 0, false);
	CHECK_EQ(run(&k, "", 1, "", 1), 0);
	CHECK_EQ(run(&k, "hello", 6, "", 1), 5);
	CHECK_EQ(run(&k, "", 0, "", 0), 1024); // all Z
	printf("# rt_strlen(1024): %u instructions verified\n", verified(&k));
	tp_deinit(&k.t);
}

TEST(streq_kernel)
{
	KERNEL_CASE(k, "rt_streq", 1024, 64, false);
	CHECK_EQ(run(&k, "hello", 6, "hello", 6), 1);
	CHECK_EQ(run(&k, "hello", 6, "hellO", 6), 0);
	CHECK_EQ(run(&k, "", 0, "", 0), 0); // 1024 Z against 64
	printf("# rt_streq(1024, 64): %u instructions verified\n", verified(&k));
	tp_deinit(&k.t);
}

TEST(long_kernel)
{
	KERNEL_CASE(len, "rt_strlen_long", 1021, 0, false);
	CHECK_EQ(run(&len, "", 1, "", 1), 0);
	CHECK_EQ(run(&len, "hello", 6, "", 1), 5);
	CHECK_EQ(run(&len, "", 0, "", 0), 1021); // all Z
	printf("# rt_strlen_long(1021): %u instructions verified\n", verified(&len));
	tp_deinit(&len.t);
	KERNEL_CASE(eq, "rt_streq_long", 1021, 999, false);
	CHECK_EQ(run(&eq, "hello, hello", 13, "hello, hello", 13), 1);
	CHECK_EQ(run(&eq, "hello, hello", 13, "hello, hellO", 13), 0);
	CHECK_EQ(run(&eq, "", 0, "", 0), 0); // 1021 Z against 999
	printf("# rt_streq_long(1021, 999): %u instructions verified\n", verified(&eq));
	tp_deinit(&eq.t);
}

TEST(strncmp_kernel)
{
	KERNEL_CASE(k, "rt_strncmp", 1024, 0, true);
	CHECK_EQ(run(&k, "abc", 4, "abc", 4), 0);
	CHECK_EQ(run(&k, "abc", 4, "abd", 4), -1);
	CHECK_EQ(run(&k, "b", 2, "a", 2), 1);
	printf("# rt_strncmp(1024): %u instructions verified\n", verified(&k));
	tp_deinit(&k.t);
}

TEST(memcmp_kernel)
{
	KERNEL_CASE(k, "rt_memcmp", 1024, 0, true);
	CHECK_EQ(run(&k, "a\0c", 4, "a\0c", 4), 0);
	CHECK_EQ(run(&k, "a\0c", 4, "a\0d", 4), -1);
	printf("# rt_memcmp(1024): %u instructions verified\n", verified(&k));
	tp_deinit(&k.t);
}

static void strstr_cases(struct KernelCall *k, u32 needlecap)
{
	char hay[1024], needle[1024];
	CHECK_EQ(run(k, "hello world", 12, "wor", 4), 6);
	CHECK_EQ(run(k, "hello world", 12, "worx", 5), -1);
	CHECK_EQ(run(k, "hello", 6, "", 1), 0);
	for (int i = 0; i < 300; i++) {
		fill(hay, sizeof(hay), "aab");
		fill(needle, needlecap, "aab");
		CHECK_EQ(run(k, hay, sizeof(hay), needle, needlecap), ref_strstr(hay, needle));
	}
}

TEST(strstr_kernel)
{
	KERNEL_CASE(k, "rt_strstr", 1024, 32, false);
	strstr_cases(&k, 32); // verified once: it takes the kernel seconds
	tp_deinit(&k.t);
}

TEST(strstr_loop_kernel)
{
	KERNEL_CASE(k, "rt_strstr_loop", 1024, 1024, false);
	strstr_cases(&k, 12);
	printf("# rt_strstr_loop(1024, 1024): %u instructions verified\n", verified(&k));
	tp_deinit(&k.t);
}

TEST(globmatch_kernel)
{
	KERNEL_CASE(k, "rt_globmatch", 1024, 64, false);
	char s[64], pat[64];
	for (int i = 0; i < 500; i++) {
		fill(s, sizeof(s), "abc-");
		fill(pat, 10, "ab*?[]-!*c");
		CHECK_EQ(run(&k, s, sizeof(s), pat, sizeof(pat)), fnmatch(pat, s, 0) == 0);
	}
	printf("# rt_globmatch(1024, 64): %u instructions verified\n", verified(&k));
	tp_deinit(&k.t);
}

static void call_buckets(struct TestProg *t, const char *fn, u64 a, u64 b, u64 c, u64 d)
{
	tp_init(t, fn);
	ld64(t, 1, a);
	ld64(t, 2, b);
	ld64(t, 3, c);
	ld64(t, 4, d);
	call_rt(t, fn);
	exit_insn(t);
}

TEST(buckets_kernel)
{
	if (!kernel_ready())
		SKIP(skip_kernel);
	static const u64 vals[] = {0, 1, 2, 3, 63, 64, 1000000, 1ull << 40, (u64)INT64_MAX, (u64)-5};
	int r;
	for (u32 i = 0; i < ARRAY_LEN(vals); i++)
		for (u32 k = 0; k <= 5; k++) {
			struct TestProg t;
			call_buckets(&t, "rt_log2_hist", vals[i], k, 0, 0);
			struct err *e = tp_load(&t, NULL);
			CHECK(e == NULL);
			CHECK_EQ(tp_run(&t, &r), ref_hist(vals[i], k));
			tp_deinit(&t);
		}
	for (s64 v = -20; v < 130; v += 7) {
		struct TestProg t;
		call_buckets(&t, "rt_lhist", (u64)v, 0, 100, 10);
		CHECK(tp_load(&t, NULL) == NULL);
		CHECK_EQ(tp_run(&t, &r), rt_lhist(v, 0, 100, 10));
		tp_deinit(&t);
	}
}

// ---- percentiles: a list of numbers, sorted, says what is right

static int by_number(const void *x, const void *y)
{
	s64 a = *(const s64 *)x, b = *(const s64 *)y;
	return a < b ? -1 : a > b;
}

struct PercentileCase {
	struct RtBuckets *all;
	s64 v[500];
	u32 n;
};

static void check_percentiles(struct PercentileCase *c, u32 bits, u32 step)
{
	static const u64 shares[][2] = {{0, 100}, {1, 100}, {50, 100}, {99, 100}, {999, 1000}, {100, 100}, {700, 100}};
	u32 n = step ? 102 : ((64 - bits) << bits) + 1;
	u64 *part = xcalloc(n, 8);
	s64 max = INT64_MIN;
	memset(c->all, 0, sizeof(*c->all) + n * 8);
	for (u32 i = 0; i < c->n; i++) {
		u64 b = step ? rt_lhist(c->v[i], 100, 100 + 100 * step, step) : rt_log2_hist((u64)c->v[i], bits);
		part[b]++;
		max = MAX(max, c->v[i]);
		if (i % 100 == 99 || i + 1 == c->n) { // as of several CPUs
			rt_buckets_add(c->all, part, n);
			memset(part, 0, n * 8);
		}
	}
	free(part);
	qsort(c->v, c->n, sizeof(c->v[0]), by_number);
	CHECK_EQ(c->all->total, c->n);
	for (u32 k = 0; k < ARRAY_LEN(shares); k++) {
		u64 at = rt_buckets_find(c->all, n, shares[k][0], shares[k][1]), rank = MIN((c->n * shares[k][0] + shares[k][1] - 1) / shares[k][1], c->n);
		s64 want = c->v[MAX(rank, 1u) - 1];
		if (step) {
			s64 got = rt_lhist_top(at, n, 100, step);
			CHECK_EQ(got, want < 100 ? 99 : want >= 100 + 100 * (s64)step ? INT64_MAX : 100 + (want - 100) / step * step + step - 1);
			continue;
		}
		s64 top = rt_hist_top(at, bits);
		CHECK(want < 0 ? top == -1 : top >= want && (u64)top - (u64)want <= (u64)want >> bits);
		s64 q = rt_quantile(at, bits, (u64)max ^ 1ULL << 63, shares[k][0], shares[k][1]);
		if (shares[k][0] >= shares[k][1])
			CHECK_EQ(q, max);
		else if (want < 0)
			CHECK_EQ(q, MIN((s64)-1, max));
		else
			CHECK(q <= max && (u64)(q > want ? q - want : want - q) <= ((u64)want >> bits >> 1) + 1);
	}
}

TEST(percentile_host)
{
	struct PercentileCase c = {.all = xcalloc(1, sizeof(struct RtBuckets) + 8 * (RT_BUCKETS_MASK + 1))};
	u64 seed = 7;
	CHECK_EQ(rt_buckets_find(c.all, 65, 99, 100), RT_BUCKETS_NONE);
	CHECK_EQ(rt_hist_top(RT_BUCKETS_NONE, 0), 0);
	CHECK_EQ(rt_lhist_top(RT_BUCKETS_NONE, 4, 0, 1), 0);
	CHECK_EQ(rt_quantile(RT_BUCKETS_NONE, 5, 0, 1, 2), 0);
	for (u32 round = 0; round < 400; round++) {
		c.n = 1 + round % ARRAY_LEN(c.v);
		for (u32 i = 0; i < c.n; i++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			c.v[i] = (s64)(seed >> (1 + (seed >> 58) % 63)) * (seed % 17 == 3 ? -1 : 1);
			if (round % 3 == 1)
				c.v[i] &= 0xfff;
		}
		check_percentiles(&c, round % 6, round % 5 == 1 ? 1 + round % 40 : 0);
	}
	c.n = 2;
	c.v[0] = c.v[1] = INT64_MAX;
	for (u32 bits = 0; bits < 6; bits++)
		check_percentiles(&c, bits, 0);
	free(c.all);
}

// ---- time series

_Static_assert((int)RT_TS_LAST == (int)TS_AGG_LAST && (int)RT_TS_AVG == (int)TS_AGG_AVG && (int)RT_TS_MAX == (int)TS_AGG_MAX &&
		       (int)RT_TS_MIN == (int)TS_AGG_MIN && (int)RT_TS_SUM == (int)TS_AGG_SUM, "both sides of the ABI agree");

#define TS_SPEC(n, sgn, agg) ((u64)(n) << 32 | (u64)(sgn) << 8 | (agg))

TEST(tseries_host)
{
	static const s64 vals[] = {5, -3, 9, 2};
	static const struct { enum RtTsAgg agg; bool sgn; s64 want; u64 meta; } cases[] = {
		{RT_TS_LAST, true, 2, 1003}, {RT_TS_AVG, true, 13, 4}, {RT_TS_SUM, true, 13, 1},
		{RT_TS_MIN, true, -3, 1}, {RT_TS_MAX, true, 9, 1}, {RT_TS_MIN, false, 2, 1}, {RT_TS_MAX, false, -3, 1},
	};
	for (u32 c = 0; c < ARRAY_LEN(cases); c++) {
		struct RtTsSlot s[3] = {0};
		for (u32 i = 0; i < ARRAY_LEN(vals); i++)
			rt_tseries(s, (u64)vals[i], 1000 + i, 100, TS_SPEC(3, cases[c].sgn, cases[c].agg));
		CHECK_EQ(s[1].epoch, 10);
		CHECK_EQ(s[1].val, cases[c].want);
		CHECK_EQ(s[1].meta, cases[c].meta);
		CHECK_EQ(s[0].epoch + s[2].epoch, 0);
		rt_tseries(s, 77, 1350, 100, TS_SPEC(3, cases[c].sgn, cases[c].agg)); // interval 13 takes the slot of 10
		CHECK_EQ(s[1].epoch, 13);
		CHECK_EQ(s[1].val, 77);
	}
}

TEST(tseries_kernel)
{
	if (!kernel_ready())
		SKIP(skip_kernel);
	for (enum RtTsAgg agg = RT_TS_LAST; agg <= RT_TS_SUM; agg++) {
		struct TestProg t;
		int r;
		tp_init(&t, "tseries");
		struct MapDef *m = add_map(&t, "@ts", BPF_MAP_TYPE_ARRAY, 4, 5 * sizeof(struct RtTsSlot), 1, BPF_F_MMAPABLE);
		struct RtTsSlot want[5] = {0};
		for (u64 i = 0; i < 12; i++) {
			u64 val = i * 7 % 5, now = 1000 + i * 30;
			map_val(&t, 1, m, 0);
			ld64(&t, 2, val);
			ld64(&t, 3, now);
			ld64(&t, 4, 100);
			ld64(&t, 5, TS_SPEC(5, 0, agg));
			call_rt(&t, "rt_tseries");
			rt_tseries(want, val, now, 100, TS_SPEC(5, 0, agg));
		}
		exit_insn(&t);
		struct err *e = tp_load(&t, NULL);
		if (e)
			T_FAIL("%s", err_text(e));
		err_free(e);
		tp_run(&t, &r);
		CHECK(m->mmapped && !memcmp(m->mmapped, want, sizeof(want)));
		tp_deinit(&t);
	}
}

// Two callers of one function, a program with its own callback-free code: the function is linked once.
TEST(functions_are_linked_once)
{
	struct TestProg t;
	tp_init(&t, "twice");
	struct MapDef *data = add_map(&t, "data", BPF_MAP_TYPE_ARRAY, 4, DATA, 1, 0);
	for (int i = 0; i < 2; i++) {
		map_val(&t, 1, data, 0);
		mov_imm(&t, 2, 16);
		call_rt(&t, "rt_strlen");
	}
	exit_insn(&t);
	size_t n = t.pp.code.insns.n;
	CHECK(link_runtime(&t.prog, &t.pp.code) == NULL);
	CHECK_EQ(t.pp.code.funcs.n, 1);
	CHECK_EQ(t.pp.code.funcs.p[0].insn, n);
	CHECK_STR(t.pp.code.funcs.p[0].name, "rt_strlen");
	CHECK_EQ(t.pp.code.funcs.p[0].nparams, 2);
	CHECK_EQ(t.pp.code.relocs.n, 2);
	CHECK_EQ(t.prog.maps.n, 1); // rt_strlen has no map
	const char *file;
	u32 line = 0;
	CHECK(rt_line("rt_strlen", 3, &file, &line));
	CHECK_STR(file, "str.bpf.c");
	CHECK(line > 1 && line < 40);
	tp_deinit(&t);

	tp_init(&t, "none");
	call_rt(&t, "rt_no_such_thing");
	exit_insn(&t);
	struct err *e = link_runtime(&t.prog, &t.pp.code);
	CHECK(e != NULL);
	err_free(e);
	tp_deinit(&t);
}

// A runtime function that the verifier refuses (capacity larger than the memory): the error names it and the script line that calls it.
TEST(rejection_inside_the_runtime)
{
	if (!kernel_ready())
		SKIP(skip_kernel);
	struct TestProg t;
	static const char text[] = "BEGIN {\n print(strlen($x)); }\n";
	tp_init(&t, "begin");
	diags_add_source(&t.diags, "s.bt", text, sizeof(text) - 1);
	struct IrLoc l2 = {0, 2, 2};
	vec_push(&t.pp.ir.locs, l2);
	struct CodeLine cl = {0, 0};
	vec_push(&t.pp.code.lines, cl);
	struct MapDef *data = add_map(&t, "data", BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
	map_val(&t, 1, data, 0);
	mov_imm(&t, 2, 16);
	call_rt(&t, "rt_strlen");
	exit_insn(&t);
	struct err *e = tp_load(&t, NULL);
	CHECK(e != NULL);
	if (e) {
		if (!strstr(err_text(e), "in sonde's own function rt_strlen") || !strstr(err_text(e), "s.bt:2:  print(strlen($x)); }") ||
		    !strstr(err_text(e), "rt_strlen() at str.bpf.c:"))
			T_FAIL("%s", err_text(e));
	}
	err_free(e);
	tp_deinit(&t);
}

T_MAIN()
