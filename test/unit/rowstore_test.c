// Unwind tables in their maps: what no stack has needed for a while is taken out when there is much, and comes back as it was.
// In: tables made up. Out: the values of a map of maps, a directory in memory. Time is the test's.
#include "need_bpf.h"
static u64 test_now = 1000000000000ull;
#define now_ns() test_now
#include "track/rowstore.c"
#undef now_ns

#define PAGES 200u // of an object; a record of these has 7.7 KB
#define ROWS 2400u
#define SECONDS 1000000000ull

struct Fix {
	int outer, inner;
	u8 *dir;
	struct RowStore *s;
	struct UwTable tab[5];
	struct RtUwObj obj[5];
};

static struct UwTable table(u32 seed)
{
	struct UwTable t = {0};
	for (u32 i = 0; i < PAGES * ROWS; i++)
		vec_push(&t.rows, UW_ROW(((u64)(i / ROWS + 3) << RT_UW_PAGE_BITS) + i % ROWS * 27, 1 + (i * 7 + seed) % 999));
	vec_push(&t.rows, UW_ROW((u64)(PAGES + 3) << RT_UW_PAGE_BITS, 0));
	return t;
}

static bool open_store(struct Fix *f, bool bounded)
{
	struct SysMap in = {BPF_MAP_TYPE_ARRAY, 4, RT_UW_VAL_SIZE, 1, BPF_F_MMAPABLE, "test", 0};
	*f = (struct Fix){.inner = sys_map_create(&in)};
	struct SysMap out = {BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, RT_UW_VALS, 0, "test", f->inner};
	f->outer = sys_map_create(&out);
	f->dir = xcalloc(RT_UW_DIRS, 8);
	f->s = rowstore_create(f->outer, f->dir, bounded);
	for (u32 i = 0; i < 5; i++)
		f->tab[i] = table(i);
	return f->inner >= 0 && f->outer >= 0;
}

static void close_store(struct Fix *f)
{
	for (u32 i = 0; i < 5; i++)
		uwtable_deinit(&f->tab[i]);
	rowstore_destroy(f->s);
	close(f->inner);
	close(f->outer);
	free(f->dir);
}

// Is the record of this page what its rows amount to?
static bool is_right(struct Fix *f, u32 k, u32 page)
{
	static u8 want[RT_UW_VAL_SIZE];
	u32 e = *entry_at(f->s, f->obj[k].dir + page);
	uwrec_build(f->tab[k].rows.p + page * ROWS, ROWS, page ? UW_ROW_RULE(f->tab[k].rows.p[page * ROWS - 1]) : 0, want);
	bool same = false;
	for (size_t i = 0; e && e < RT_UW_ASKED && i < f->s->vals.n; i++)
		if (f->s->vals.p[i].key == e >> 16) {
			u8 *p = mmap(NULL, RT_UW_VAL_SIZE, PROT_READ, MAP_SHARED, f->s->vals.p[i].fd, 0);
			same = p != MAP_FAILED && !memcmp(p + ((e & 0xffff) << 2), want, RT_UW_REC_RULE(ROWS) + 2 * ROWS);
			if (p != MAP_FAILED)
				munmap(p, RT_UW_VAL_SIZE);
		}
	return same;
}

static u32 count(struct Fix *f, u32 k, u32 what)
{
	u32 n = 0;
	for (u32 i = 0; i < PAGES; i++)
		n += *entry_at(f->s, f->obj[k].dir + i) == what;
	return n;
}

static u32 values(struct Fix *f) // that the kernel has
{
	u32 n = 0, id;
	for (u32 i = 0; i < RT_UW_VALS; i++)
		n += !sys_map_lookup(f->outer, &i, &id);
	return n;
}

TEST(what_is_not_needed_goes_and_comes_back)
{
	struct Fix f;
	NEED_BPF();
	CHECK(open_store(&f, true));
	for (u32 k = 0; k < 5; k++) {
		CHECK(rowstore_put(f.s, &f.tab[k], &f.obj[k]));
		CHECK_EQ(f.obj[k].npages, PAGES + 1);
		CHECK_EQ(f.obj[k].first_page, 3);
	}
	u64 before = rowstore_bytes(f.s);
	CHECK(before > 5 * PAGES * ROWS * 3);
	rowstore_pin(f.s, &f.obj[0], 7);
	test_now += 10 * SECONDS; // all of it is new
	rowstore_trim(f.s);
	CHECK_EQ(rowstore_bytes(f.s), before);
	test_now += 50 * SECONDS;
	for (u32 i = 0; i < PAGES; i += 2)
		rowstore_used(f.s, f.obj[1].dir + i);
	rowstore_trim(f.s);
	CHECK(rowstore_bytes(f.s) <= FEW_BYTES + RT_UW_VAL_SIZE);
	CHECK_EQ(values(&f), rowstore_bytes(f.s) / RT_UW_VAL_SIZE);
	for (u32 i = 0; i < PAGES; i += 2)
		CHECK(is_right(&f, 1, i));
	CHECK(is_right(&f, 0, 7));
	CHECK_EQ(count(&f, 4, RT_UW_OUT), PAGES);
	u32 out = 0, right = 0;
	for (u32 k = 0; k < 5; k++)
		for (u32 i = 0; i < PAGES; i++) {
			out += *entry_at(f.s, f.obj[k].dir + i) == RT_UW_OUT;
			right += is_right(&f, k, i);
		}
	CHECK_EQ(out + right, 5 * PAGES);
	CHECK(right > PAGES / 2);

	// the kernel side asks for two of them
	*entry_at(f.s, f.obj[4].dir + 11) = *entry_at(f.s, f.obj[4].dir + 150) = RT_UW_ASKED;
	CHECK(rowstore_is_out(f.s, &f.obj[4], 11));
	CHECK(rowstore_is_out(f.s, &f.obj[4], 12));
	CHECK(!rowstore_is_out(f.s, &f.obj[4], f.obj[4].npages));
	rowstore_again(f.s, &f.tab[4], &f.obj[4], (u32[]){14, 153}, 2); // pages of the file
	CHECK(is_right(&f, 4, 11));
	CHECK(is_right(&f, 4, 150));
	CHECK_EQ(count(&f, 4, RT_UW_OUT), PAGES - 2);
	close_store(&f);
}

// What was made ahead is taken before anything is made anew, and no more is made than was missing.
TEST(values_that_were_made_ahead)
{
	struct RowAhead a;
	struct Fix f;
	NEED_BPF();
	CHECK(open_store(&f, false));
	u32 need = rowstore_values(&f.tab[0]);
	CHECK_EQ(rowstore_ahead(f.s, need, 3, &a), MIN(need + 3, ROWS_AHEAD));
	rowstore_make(f.s, &a);
	CHECK_EQ(values(&f), need + 3);
	CHECK_EQ(rowstore_bytes(f.s), 0);
	rowstore_give(f.s, &a);
	CHECK_EQ(rowstore_bytes(f.s), (u64)(need + 3) * RT_UW_VAL_SIZE);
	CHECK_EQ(rowstore_ahead(f.s, need, 3, &a), 0);
	CHECK(rowstore_put(f.s, &f.tab[0], &f.obj[0]));
	CHECK_EQ(values(&f), need + 3);
	CHECK(f.s->vals.n <= need);
	u32 taken = (u32)f.s->vals.n;
	CHECK_EQ(rowstore_ahead(f.s, need + 3, 0, &a), taken); // so many are missing now
	a.n = 0; // given back with none: there was no memory
	rowstore_give(f.s, &a);
	CHECK_EQ(rowstore_ahead(f.s, need + 3, 0, &a), 0);
	for (u32 k = 1; k < 3; k++) // more than are there
		CHECK(rowstore_put(f.s, &f.tab[k], &f.obj[k]));
	CHECK(values(&f) > need + 3);
	for (u32 k = 0; k < 3; k++)
		CHECK_EQ(count(&f, k, 0), 0);
	close_store(&f);
}

// Numbers of values are used again only after all others.
TEST(again_and_again)
{
	struct Fix f;
	NEED_BPF();
	CHECK(open_store(&f, true));
	for (u32 k = 0; k < 5; k++)
		CHECK(rowstore_put(f.s, &f.tab[k], &f.obj[k]));
	u32 last = vec_last(&f.s->vals).key;
	for (u32 round = 0; round < 20; round++) { // each value that goes is a grace period of the kernel
		u32 k = round % 5;
		test_now += 60 * SECONDS;
		rowstore_trim(f.s);
		CHECK(rowstore_bytes(f.s) <= MANY_BYTES + RT_UW_VAL_SIZE);
		u32 pages[PAGES], n = 0;
		for (u32 i = 0; i < PAGES; i++)
			if (*entry_at(f.s, f.obj[k].dir + i) == RT_UW_OUT)
				pages[n++] = i + 3;
		rowstore_again(f.s, &f.tab[k], &f.obj[k], pages, n);
		CHECK_EQ(count(&f, k, RT_UW_OUT), 0);
		CHECK(is_right(&f, k, round % PAGES));
	}
	CHECK((vec_last(&f.s->vals).key - last) % RT_UW_VALS > 10);
	CHECK_EQ(values(&f), rowstore_bytes(f.s) / RT_UW_VAL_SIZE);
	close_store(&f);
}

TEST(some_pages_at_first)
{
	struct Fix f;
	NEED_BPF();
	CHECK(open_store(&f, true));
	CHECK(rowstore_begin(f.s, &f.tab[0], 1, PAGES + 3, (u32[]){2, 8, 9, PAGES + 40}, 4, &f.obj[0]));
	CHECK_EQ(f.obj[0].npages, PAGES + 3);
	CHECK_EQ(*entry_at(f.s, f.obj[0].dir + 1), 0); // without rows
	u32 out = 0;
	for (u32 i = 0; i < f.obj[0].npages; i++)
		out += *entry_at(f.s, f.obj[0].dir + i) == RT_UW_OUT;
	CHECK_EQ(out, PAGES);
	f.obj[0].dir += 2; // is_right() counts from the first that has rows
	CHECK(is_right(&f, 0, 5));
	CHECK(is_right(&f, 0, 6));
	CHECK_EQ(rowstore_bytes(f.s), RT_UW_VAL_SIZE);
	close_store(&f);
}

// One rule over thousands of pages, as of code made at run time, is one record; also after others were taken out.
TEST(one_rule_for_many_pages)
{
	struct Fix f;
	struct UwTable wide = {0};
	struct RtUwObj o;
	NEED_BPF();
	CHECK(open_store(&f, true));
	vec_push(&wide.rows, UW_ROW(3ull << RT_UW_PAGE_BITS | 9, 5));
	vec_push(&wide.rows, UW_ROW(20003ull << RT_UW_PAGE_BITS, 0));
	CHECK(rowstore_put(f.s, &wide, &o));
	CHECK_EQ(rowstore_bytes(f.s), RT_UW_VAL_SIZE);
	for (u32 i = 0; i < o.npages; i++)
		rowstore_pin(f.s, &o, i);
	for (u32 k = 0; k < 5; k++)
		CHECK(rowstore_put(f.s, &f.tab[k], &f.obj[k]));
	test_now += 60 * SECONDS;
	rowstore_trim(f.s);
	CHECK(rowstore_bytes(f.s) <= FEW_BYTES + RT_UW_VAL_SIZE);
	u32 at = *entry_at(f.s, o.dir + 1), same = 0;
	for (u32 i = 1; i + 1 < o.npages; i++)
		same += *entry_at(f.s, o.dir + i) == at;
	CHECK(at && at < RT_UW_ASKED);
	CHECK_EQ(same, o.npages - 2);
	uwtable_deinit(&wide);
	close_store(&f);
}

TEST(unbounded)
{
	struct Fix f;
	NEED_BPF();
	CHECK(open_store(&f, false));
	for (u32 k = 0; k < 5; k++)
		CHECK(rowstore_put(f.s, &f.tab[k], &f.obj[k]));
	u64 before = rowstore_bytes(f.s);
	test_now += 3600 * SECONDS;
	rowstore_trim(f.s);
	CHECK_EQ(rowstore_bytes(f.s), before);
	CHECK_EQ(count(&f, 0, RT_UW_OUT), 0);
	close_store(&f);
}

T_MAIN()
