// Types: interning, layout, names, fields through anonymous members.
#include "t.h"
#include "type/type.h"

static struct Arena arena;
static struct TypeTab tab;

static void setup(void)
{
	typetab_init(&tab, &arena);
}
static void teardown(void)
{
	typetab_deinit(&tab);
	arena_deinit(&arena);
}
#define CHECK_NAME(t, want)                                                                                                                          \
	do {                                                                                                                                         \
		struct Str s_ = {0};                                                                                                                 \
		ty_name((t), &s_);                                                                                                                   \
		CHECK_STR(str_text(&s_), want);                                                                                                      \
		str_deinit(&s_);                                                                                                                     \
	} while (0)

TEST(interning)
{
	setup();
	CHECK(ty_int(&tab, 4, true) == ty_int(&tab, 4, true));
	CHECK(ty_int(&tab, 4, true) != ty_int(&tab, 4, false));
	CHECK(ty_int(&tab, 1, true) != ty_char(&tab));
	const struct Type *u8t = ty_int(&tab, 1, false), *s = ty_str(&tab, 6), *p[2] = {u8t, s}, *q[2] = {u8t, ty_str(&tab, 7)};
	CHECK(ty_tuple(&tab, p, NULL, 2) == ty_tuple(&tab, p, NULL, 2));
	CHECK(ty_tuple(&tab, p, NULL, 2) != ty_tuple(&tab, q, NULL, 2));
	CHECK(ty_ptr(&tab, u8t, AS_KERNEL) != ty_ptr(&tab, u8t, AS_USER));
	CHECK(ty_stack(&tab, true, STACK_MODE_PERF, 10, STACK_WALK_MIXED) != ty_stack(&tab, true, STACK_MODE_PERF, 11, STACK_WALK_MIXED));
	CHECK(ty_hist(&tab, 0) != ty_hist(&tab, 1));
	CHECK(ty_lhist(&tab, 0, 100, 10) == ty_lhist(&tab, 0, 100, 10));
	CHECK(ty_lhist(&tab, 0, 100, 10) != ty_lhist(&tab, -10, 90, 10));
	const struct Type *first = ty_str(&tab, 1);
	for (u32 i = 2; i < 2000; i++) // the table grows and still finds the old ones
		ty_str(&tab, i);
	CHECK(ty_str(&tab, 1) == first);
	CHECK(ty_tuple(&tab, p, NULL, 2)->fields[1].type == s);
	teardown();
}

TEST(layout)
{
	setup();
	const struct Type *f[] = {ty_int(&tab, 1, false), ty_int(&tab, 8, false), ty_str(&tab, 3)};
	const struct Type *t = ty_tuple(&tab, f, NULL, 3);
	CHECK_EQ(t->fields[1].off, 8);
	CHECK_EQ(t->fields[2].off, 16);
	CHECK_EQ(t->size, 24);
	CHECK_EQ(t->align, 8);
	CHECK_EQ(ty_tuple(&tab, NULL, NULL, 0)->size, 0);
	CHECK_EQ(ty_buf(&tab, 10)->size, 14);
	CHECK_EQ(ty_array(&tab, ty_int(&tab, 4, true), 5)->size, 20);
	CHECK_EQ(ty_array(&tab, ty_int(&tab, 8, true), 0x80000000u)->size, UINT32_MAX);
	CHECK_EQ(ty_lhist(&tab, 0, 1000, 100)->size, 12 * 8);
	CHECK_EQ(ty_lhist(&tab, -100, 100, 150)->size, 3 * 8);
	CHECK_EQ(ty_simple(&tab, TY_INET)->size, 20);
	CHECK_EQ(ty_simple(&tab, TY_USYM)->size, 16);
	CHECK_EQ(ty_aggr(&tab, TY_AVG, true)->size, 16);
	CHECK_EQ(ty_tseries(&tab, 1, 10, TS_AGG_LAST, true)->size, 10 * 24);
	teardown();
}

TEST(aggregations)
{
	setup();
	CHECK_EQ(ty_aggr_kind("count"), TY_COUNT);
	CHECK_EQ(ty_aggr_kind("stats"), TY_STATS);
	CHECK_EQ(ty_aggr_kind("tseries"), TY_TSERIES);
	CHECK_EQ(ty_aggr_kind("coun"), TY_KINDS);
	CHECK_EQ(ty_aggr_kind("count_t"), TY_KINDS);
	CHECK_EQ(ty_aggr_kind("usym"), TY_KINDS); // usym_t is no aggregation's
	CHECK(ty_aggr(&tab, TY_COUNT, true) == ty_aggr(&tab, TY_COUNT, false));
	CHECK(ty_aggr(&tab, TY_SUM, true) != ty_aggr(&tab, TY_SUM, false));
	const struct Type *avg = ty_aggr(&tab, TY_AVG, false), *stats = ty_aggr(&tab, TY_STATS, true), *hist = ty_hist(&tab, 0), *n = ty_int(&tab, 8, true);
	CHECK(ty_is_aggr(avg) && ty_is_aggr(stats) && ty_is_aggr(hist) && !ty_is_aggr(n));
	CHECK(ty_is_aggr_castable(avg) && !ty_is_aggr_castable(stats) && !ty_is_aggr_castable(hist) && !ty_is_aggr_castable(n));
	CHECK(ty_aggr_has_sign(avg) && ty_aggr_has_sign(stats) && !ty_aggr_has_sign(hist) && !ty_aggr_has_sign(n));
	CHECK(!ty_aggr_in_parts(avg) && ty_aggr_in_parts(stats) && !ty_aggr_in_parts(hist) && !ty_aggr_in_parts(n));
	CHECK_STR(ty_kind_name(TY_SUM), "sum_t");
	teardown();
}

// The bucket index as type.c documents it.
static u32 bucket(s64 v, u32 bits)
{
	if (v < 0)
		return 0;
	if (v < 1 << bits)
		return (u32)v + 1;
	u32 l = 63 - (u32)__builtin_clzll((u64)v);
	return ((l - bits + 1) << bits) + (u32)(v >> (l - bits) & ((1 << bits) - 1)) + 1;
}

TEST(hist_buckets)
{
	CHECK_EQ(hist_nbuckets(0), 65);
	for (u32 bits = 0; bits <= 5; bits++) {
		CHECK_EQ(bucket(-1, bits), 0);
		CHECK_EQ(bucket(0, bits), 1);
		CHECK_EQ(bucket(INT64_MAX, bits), hist_nbuckets(bits) - 1);
		for (s64 v = 0; v < 5000; v++) // no gap, no step back
			CHECK(bucket(v + 1, bits) - bucket(v, bits) <= 1);
	}
}

TEST(names)
{
	setup();
	struct Record task = {.name = "task_struct", .size = 100, .align = 8}, u = {.name = "sigval", .is_union = true};
	const struct Type *taskp = ty_ptr(&tab, ty_record(&tab, &task), AS_KERNEL);
	struct Enum e = {.name = "cpuid", .size = 4};
	const struct Type *pair[] = {ty_int(&tab, 1, false), ty_str(&tab, 6)};
	CHECK_NAME(ty_int(&tab, 8, true), "int64");
	CHECK_NAME(ty_int(&tab, 2, false), "uint16");
	CHECK_NAME(ty_char(&tab), "int8");
	CHECK_NAME(ty_bool(&tab), "bool");
	CHECK_NAME(ty_str(&tab, 64), "string[64]");
	CHECK_NAME(ty_str(&tab, 0), "string");
	CHECK_NAME(ty_buf(&tab, 16), "buffer[20]");
	CHECK_NAME(taskp, "struct task_struct *");
	CHECK_NAME(ty_ptr(&tab, taskp, AS_KERNEL), "struct task_struct * *");
	CHECK_NAME(ty_record(&tab, &u), "union sigval");
	CHECK_NAME(ty_enum(&tab, &e), "enum cpuid");
	CHECK_NAME(ty_array(&tab, ty_int(&tab, 4, true), 3), "int32[3]");
	CHECK_NAME(ty_tuple(&tab, pair, NULL, 2), "(uint8,string[6])");
	CHECK_NAME(ty_tuple(&tab, NULL, NULL, 0), "()");
	CHECK_NAME(ty_aggr(&tab, TY_COUNT, true), "count_t");
	CHECK_NAME(ty_aggr(&tab, TY_SUM, false), "usum_t");
	CHECK_NAME(ty_aggr(&tab, TY_MAX, true), "max_t");
	CHECK_NAME(ty_hist(&tab, 3), "hist_t");
	CHECK_NAME(ty_simple(&tab, TY_KSYM), "ksym_t");
	CHECK_NAME(ty_simple(&tab, TY_NONE), "none");
	CHECK_NAME(ty_stack(&tab, false, STACK_MODE_BPFTRACE, 127, STACK_WALK_MIXED), "kstack");
	for (int k = TY_NONE; k < TY_KINDS; k++) { // every simple kind has a name
		if (k == TY_INT || (k >= TY_STR && k <= TY_TUPLE) || k >= TY_HIST)
			continue;
		struct Str s = {0};
		ty_name(ty_simple(&tab, k), &s);
		CHECK(s.n > 0);
		str_deinit(&s);
	}
	struct Field anon_fields[] = {{"a", pair[0], 0}, {"b", taskp, 8}};
	struct Record anon = {.name = "", .nfields = 2, .fields = anon_fields, .size = 16, .align = 8};
	CHECK_NAME(ty_record(&tab, &anon), "struct {uint8,struct task_struct *}");
	anon_fields[1].type = ty_ptr(&tab, ty_record(&tab, &anon), AS_USER); // contains itself
	struct Str s = {0};
	ty_name(ty_record(&tab, &anon), &s);
	CHECK(strstr(s.p, "..."));
	str_deinit(&s);
	teardown();
}

TEST(late_size)
{
	setup();
	struct Record r = {.name = "fwd"};
	const struct Type *t = ty_record(&tab, &r);
	CHECK_EQ(t->size, 0);
	r.size = 24;
	r.align = 8;
	CHECK(ty_record(&tab, &r) == t);
	CHECK_EQ(t->size, 24);
	CHECK_EQ(t->align, 8);
	teardown();
}

TEST(fields)
{
	setup();
	const struct Type *i32 = ty_int(&tab, 4, true);
	struct Field in[] = {{"x", i32, 0}, {"bits", i32, 4, 3, 5}};
	struct Record inner = {.name = "", .nfields = 2, .fields = in, .size = 8, .align = 4};
	struct Field mid_f[] = {{"", ty_record(&tab, &inner), 4}};
	struct Record mid = {.name = "", .is_union = true, .nfields = 1, .fields = mid_f, .size = 12, .align = 4};
	struct Field out_f[] = {{"first", i32, 0}, {"", ty_record(&tab, &mid), 8}, {"last", i32, 20}};
	struct Record outer = {.name = "o", .nfields = 3, .fields = out_f, .size = 24, .align = 4};
	struct Field f;
	CHECK(record_field(&outer, "x", &f));
	CHECK_EQ(f.off, 12);
	CHECK(record_field(&outer, "bits", &f));
	CHECK_EQ(f.off, 16);
	CHECK_EQ(f.bit_off, 3);
	CHECK_EQ(f.bit_size, 5);
	CHECK(record_field(&outer, "last", &f));
	CHECK_EQ(f.off, 20);
	CHECK(!record_field(&outer, "y", &f));
	CHECK(!record_field(&outer, "", &f));
	struct Field twice[] = {{"", ty_record(&tab, &mid), 0}, {"", ty_record(&tab, &mid), 0}}; // hostile: contains itself twice
	mid.fields = twice;
	mid.nfields = 2;
	CHECK(!record_field(&outer, "x", &f));
	teardown();
}

T_MAIN()
