// Bytes to values and printf: every type, every conversion.
#include "run_fake.h"
#include "t.h"
#include <mntent.h>
#include <sys/mount.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/stat.h>
#include <time.h>

static const char *show(struct Fake *f, const struct Type *t, const void *bytes)
{
	static char buf[4096];
	struct Arena a = {0};
	struct Value v;
	struct Str s = {0};
	// A copy of exactly the type's size: reading past it is an error under ASan.
	u8 *copy = malloc(t->size ? t->size : 1);
	memcpy(copy, bytes, t->size);
	value_decode(&f->rc, &a, t, copy, &v);
	value_text(&v, &s);
	snprintf(buf, sizeof(buf), "%s", str_text(&s));
	str_deinit(&s);
	arena_deinit(&a);
	free(copy);
	return buf;
}

TEST(integers)
{
	struct Fake f;
	fake_init(&f, &text_render_ops);
	s64 m = -2;
	CHECK_STR(show(&f, ty_int(&f.types, 1, true), &m), "-2");
	CHECK_STR(show(&f, ty_int(&f.types, 1, false), &m), "254");
	CHECK_STR(show(&f, ty_int(&f.types, 2, true), &m), "-2");
	CHECK_STR(show(&f, ty_int(&f.types, 4, false), &m), "4294967294");
	CHECK_STR(show(&f, ty_int(&f.types, 8, true), &m), "-2");
	CHECK_STR(show(&f, ty_int(&f.types, 8, false), &m), "18446744073709551614");
	CHECK_STR(show(&f, ty_bool(&f.types), &m), "true");
	CHECK_STR(show(&f, ty_bool(&f.types), "\0"), "false");
	CHECK_STR(show(&f, ty_ptr(&f.types, ty_int(&f.types, 4, true), AS_KERNEL), &(u64){0xabcd}), "0xabcd");
	struct EnumConst c[] = {{"RED", 1}, {"BLUE", -1}};
	struct Enum e = {.name = "color", .size = 4, .sgn = true, .n = 2, .consts = c};
	CHECK_STR(show(&f, ty_enum(&f.types, &e), &(s32){1}), "RED");
	CHECK_STR(show(&f, ty_enum(&f.types, &e), &(s32){-1}), "BLUE");
	CHECK_STR(show(&f, ty_enum(&f.types, &e), &(s32){5}), "5");
	fake_deinit(&f);
}

TEST(texts)
{
	struct Fake f;
	fake_init(&f, &text_render_ops);
	CHECK_STR(show(&f, ty_str(&f.types, 8), "abc\0defg"), "abc");
	CHECK_STR(show(&f, ty_str(&f.types, 8), "abcdefgh"), "abcdefgh"); // an array of characters without a NUL
	CHECK_STR(show(&f, ty_str(&f.types, 8), "abcdefg"), "abcdefg");
	CHECK_STR(show(&f, ty_array(&f.types, ty_char(&f.types), 4), "ab\0c"), "ab");
	CHECK_STR(show(&f, ty_array(&f.types, ty_int(&f.types, 2, false), 2), "\1\0\2\0"), "[1,2]");
	CHECK_STR(show(&f, ty_buf(&f.types, 4), "\2\0\0\0a\xff??"), "a\\xff");
	CHECK_STR(show(&f, ty_buf(&f.types, 4), "\xff\xff\0\0abcd"), "abcd"); // a length that lies
	CHECK_STR(show(&f, ty_simple(&f.types, TY_KSYM), &(u64){0x1000}), "do_thing");
	CHECK_STR(show(&f, ty_simple(&f.types, TY_KSYM), &(u64){0x2000}), "0x2000");
	CHECK_STR(show(&f, ty_simple(&f.types, TY_USYM), &(struct RtUsym){0x1000, 5, 0}), "main");
	CHECK_STR(show(&f, ty_simple(&f.types, TY_MAC), "\x18\xc0\x4d\x08\x2e\xbb"), "18:C0:4D:08:2E:BB");
	CHECK_STR(show(&f, ty_simple(&f.types, TY_STRERROR), &(u32){1 ^ 0x80000000}), "Operation not permitted");
	CHECK_STR(show(&f, ty_simple(&f.types, TY_INET), &(struct RtInet){AF_INET, {127, 0, 0, 1}}), "127.0.0.1");
	CHECK_STR(show(&f, ty_simple(&f.types, TY_INET), &(struct RtInet){AF_INET6, {[15] = 1}}), "::1");
	CHECK_STR(show(&f, ty_simple(&f.types, TY_INET), &(struct RtInet){77, {1}}), "");
	CHECK_STR(show(&f, ty_simple(&f.types, TY_USERNAME), &(u32){~0u}), getpwuid(0)->pw_name);
	CHECK_STR(show(&f, ty_simple(&f.types, TY_USERNAME), &(u32){0}), ""); // never set
	CHECK_STR(show(&f, ty_simple(&f.types, TY_SYSCALL_NAME), &(u32){100000 ^ 0x80000000}), "Unknown syscall");
#ifdef __x86_64__
	CHECK_STR(show(&f, ty_simple(&f.types, TY_SYSCALL_NAME), &(u32){257 ^ 0x80000000}), "openat");
	CHECK_STR(show(&f, ty_simple(&f.types, TY_SYSCALL_NAME), &(u32){0x80000000}), "read");
#endif
	fake_deinit(&f);
}

TEST(records)
{
	struct Fake f;
	fake_init(&f, &text_render_ops);
	const struct Type *i32 = ty_int(&f.types, 4, true), *u8t = ty_int(&f.types, 1, false);
	struct Field in[] = {{.name = "x", .type = i32, .off = 0}, {.name = "y", .type = i32, .off = 4}};
	struct Record inner = {.name = "", .loaded = true, .size = 8, .align = 4, .nfields = 2, .fields = in};
	struct Field fl[] = {
		{.name = "a", .type = i32, .off = 0},
		{.name = "", .type = ty_record(&f.types, &inner), .off = 4},
		{.name = "lo", .type = u8t, .off = 12, .bit_off = 0, .bit_size = 4},
		{.name = "hi", .type = u8t, .off = 12, .bit_off = 4, .bit_size = 4},
		{.name = "s", .type = ty_array(&f.types, ty_char(&f.types), 3), .off = 13},
		{.name = "beyond", .type = i32, .off = 14}, // a hostile description: outside of the record
	};
	struct Record r = {.name = "r", .loaded = true, .size = 16, .align = 4, .nfields = 6, .fields = fl};
	struct {
		s32 a, x, y;
		u8 bits;
		char s[3];
	} bytes = {-1, 2, 3, 0xa5, "hi"};
	CHECK_STR(show(&f, ty_record(&f.types, &r), &bytes), "{ .a = -1, .x = 2, .y = 3, .lo = 5, .hi = 10, .s = hi }");
	struct Record self = {.name = "", .loaded = true, .size = 4, .align = 4, .nfields = 1}; // contains itself
	struct Field loop = {.name = "", .type = ty_record(&f.types, &self), .off = 0};
	self.fields = &loop;
	CHECK_STR(show(&f, ty_record(&f.types, &self), "abcd"), "{}");
	const struct Type *parts[] = {ty_int(&f.types, 1, false), ty_str(&f.types, 4), ty_int(&f.types, 8, true)};
	const struct Type *tup = ty_tuple(&f.types, parts, NULL, 3);
	u8 t[32] = {7};
	strcpy((char *)t + tup->fields[1].off, "ab");
	t[tup->fields[2].off] = 9;
	CHECK_STR(show(&f, tup, t), "(7, ab, 9)");
	fake_deinit(&f);
}

TEST(aggregations)
{
	struct Fake f;
	fake_init(&f, &text_render_ops);
	CHECK_STR(show(&f, ty_aggr(&f.types, TY_COUNT, false), &(u64){12}), "12");
	CHECK_STR(show(&f, ty_aggr(&f.types, TY_SUM, true), &(s64){-3}), "-3");
	CHECK_STR(show(&f, ty_aggr(&f.types, TY_MIN, true), &(struct RtMinMax){(u64)-5, 1}), "-5");
	CHECK_STR(show(&f, ty_aggr(&f.types, TY_AVG, true), &(struct RtAvg){(u64)-7, 2}), "-3");
	CHECK_STR(show(&f, ty_aggr(&f.types, TY_AVG, false), &(struct RtAvg){7, 0}), "0");
	CHECK_STR(show(&f, ty_aggr(&f.types, TY_STATS, true), &(struct RtAvg){12, 3}), "{ .count = 3, .average = 4, .total = 12 }");
	const struct Type *h = ty_hist(&f.types, 0);
	u64 b[66] = {0};
	b[0] = 1;
	b[1] = 2;
	b[2] = 1;
	b[3] = 1;
	CHECK_STR(show(&f, h, b),
		  "(..., 0)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
		  "[0]                    2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
		  "[1]                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
		  "[2, 4)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n");
	memset(b, 0, sizeof(b));
	b[64] = 1; // 2^62 ... 2^63
	CHECK_STR(show(&f, h, b), "[4E, 8E)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n");
	b[64] = 0;
	CHECK_STR(show(&f, h, b), "");
	const struct Type *l = ty_lhist(&f.types, 0, 10, 5);
	u64 lb[4] = {1, 1, 0, 1};
	CHECK_STR(show(&f, l, lb),
		  "(..., 0)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
		  "[0, 5)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
		  "[5, 10)                0 |                                                    |\n"
		  "[10, ...)              1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n");
	fake_deinit(&f);
}

// Every bucket's label is the place of the values the index formula of type/type.c sends there.
TEST(hist_bounds)
{
	struct Fake f;
	fake_init(&f, &text_render_ops);
	for (u32 bits = 0; bits <= 5; bits++) {
		const struct Type *h = ty_hist(&f.types, bits);
		for (int l = 0; l < 63; l++) {
			s64 v = (s64)(1ULL << l | (1ULL << l) / 3);
			u32 i = v < 1LL << bits ? (u32)v + 1 : (((u32)l - bits + 1) << bits) + (u32)(v >> ((u32)l - bits) & ((1u << bits) - 1)) + 1;
			u64 *b = calloc(h->size / 8, 8);
			struct Arena a = {0};
			struct Value val;
			b[i] = 1;
			value_decode(&f.rc, &a, h, b, &val);
			CHECK_EQ(val.nbuckets, 1);
			CHECK(val.buckets[0].lo <= v && (v < val.buckets[0].hi || val.buckets[0].hi == INT64_MAX));
			arena_deinit(&a);
			free(b);
		}
	}
	fake_deinit(&f);
}

TEST(time_series_ring)
{
	struct Fake f;
	fake_init(&f, &text_render_ops);
	f.rc.clock_known = 0xffff; // TAI is the wall clock
	const struct Type *t = ty_tseries(&f.types, 1000000000, 3, TS_AGG_AVG, true);
	struct {
		u64 val, meta, epoch;
	} ring[3] = {{6, 2, 1002}, {10, 1, 1000}, {0, 0, 0}};
	struct Arena a = {0};
	struct Value v;
	value_decode(&f.rc, &a, t, ring, &v);
	CHECK_EQ(v.npoints, 3);
	CHECK_EQ(v.points[0].val, 10);
	CHECK_EQ(v.points[0].epoch_ns, 1000000000000ULL);
	CHECK(!v.points[1].has);
	CHECK_EQ(v.points[2].val, 3);
	ring[1].epoch = 999; // too old now
	value_decode(&f.rc, &a, t, ring, &v);
	CHECK_EQ(v.npoints, 1);
	memset(ring, 0, sizeof(ring));
	value_decode(&f.rc, &a, t, ring, &v);
	CHECK_EQ(v.npoints, 0);
	arena_deinit(&a);
	fake_deinit(&f);
}

TEST(stack_values)
{
	struct Fake f;
	fake_init(&f, &text_render_ops);
	u64 id = 1ULL << 20 | 2;
	CHECK_STR(show(&f, ty_stack(&f.types, false, STACK_MODE_BPFTRACE, 127, STACK_WALK_MIXED), &id), "\n        k1+1\n        k2+2\n");
	CHECK_STR(show(&f, ty_stack(&f.types, true, STACK_MODE_BPFTRACE, 1, STACK_WALK_MIXED), &id), "\n        u1+1\n");
	CHECK_STR(show(&f, ty_stack(&f.types, false, STACK_MODE_PERF, 127, STACK_WALK_MIXED), &id), "\n\t1000 k1+1\n\t1001 k2+2\n");
	CHECK_STR(show(&f, ty_stack(&f.types, true, STACK_MODE_RAW, 127, STACK_WALK_MIXED), &id), "\n1000\n1001\n");
	CHECK_STR(show(&f, ty_stack(&f.types, true, STACK_MODE_BUILD_ID, 127, STACK_WALK_MIXED), &id), "\n1234\n5678\n");
	CHECK_STR(show(&f, ty_stack(&f.types, false, STACK_MODE_BPFTRACE, 127, STACK_WALK_MIXED), &(u64){0}), "\n");
	fake_deinit(&f);
}

TEST(timestamps)
{
	struct Fake f;
	fake_init(&f, &text_render_ops);
	setenv("TZ", "UTC", 1);
	tzset();
	struct Str s = {0};
	strftime_text(&f.rc, "%Y-%m-%d %H:%M:%S.%f %l %k %%f", CLOCK_REALTIME, 1700000000123456789ULL, &s);
	CHECK_STR(str_text(&s), "2023-11-14 22:13:20.123456 123 123456789 %f");
	str_reset(&s);
	strftime_text(&f.rc, "%s", CLOCK_REALTIME, 5, &s);
	CHECK_STR(str_text(&s), "(?)");
	str_reset(&s);
	struct timespec b;
	clock_gettime(CLOCK_BOOTTIME, &b);
	time_t before = time(NULL);
	strftime_text(&f.rc, "%s", CLOCK_BOOTTIME, (u64)b.tv_sec * 1000000000ULL + (u64)b.tv_nsec, &s);
	s64 got = atoll(str_text(&s));
	CHECK(got >= before - 1 && got <= before + 1);
	str_deinit(&s);
	fake_deinit(&f);
}

// ---- printf

static const char *fmt1(struct Fake *f, const char *fmt, const struct Type *t, const void *bytes, size_t n)
{
	static char buf[4096];
	struct FmtArg arg = {t, 0};
	struct FmtSite site = {.kind = FK_PRINTF, .fmt = fmt, .len = (u32)strlen(fmt), .args = &arg, .nargs = 1, .size = t->size};
	struct Str s = {0};
	u8 *copy = malloc(n ? n : 1);
	memcpy(copy, bytes, n);
	format_site(&f->rc, &site, copy, n, &s);
	snprintf(buf, sizeof(buf), "%s", str_text(&s));
	str_deinit(&s);
	free(copy);
	return buf;
}

TEST(printf_numbers)
{
	struct Fake f;
	fake_init(&f, &text_render_ops);
	const struct Type *s8t = ty_int(&f.types, 1, true), *u32t = ty_int(&f.types, 4, false), *u64t = ty_int(&f.types, 8, false), *s64t = ty_int(&f.types, 8, true);
	u64 big = 0x1ffffffffULL;
	s8 m = -1;
	CHECK_STR(fmt1(&f, "%d", s8t, &m, 1), "-1");
	CHECK_STR(fmt1(&f, "%u", s8t, &m, 1), "4294967295");
	CHECK_STR(fmt1(&f, "%x", s8t, &m, 1), "ffffffff");
	CHECK_STR(fmt1(&f, "%lx", s8t, &m, 1), "ffffffffffffffff");
	CHECK_STR(fmt1(&f, "%hhx", s8t, &m, 1), "ff");
	CHECK_STR(fmt1(&f, "%d", u64t, &big, 8), "8589934591"); // an int cannot show it: whole
	CHECK_STR(fmt1(&f, "%ld|", u64t, &big, 8), "8589934591|");
	CHECK_STR(fmt1(&f, "%llu", u64t, &big, 8), "8589934591");
	CHECK_STR(fmt1(&f, "%zd %%", s64t, &(s64){-5}, 8), "-5 %");
	CHECK_STR(fmt1(&f, "%hd", u32t, &(u32){0x18001}, 4), "-32767");
	CHECK_STR(fmt1(&f, "[%8d]", u32t, &(u32){42}, 4), "[      42]");
	CHECK_STR(fmt1(&f, "[%-8d]", u32t, &(u32){42}, 4), "[42      ]");
	CHECK_STR(fmt1(&f, "[%08x]", u32t, &(u32){42}, 4), "[0000002a]");
	CHECK_STR(fmt1(&f, "[%#x]", u32t, &(u32){42}, 4), "[0x2a]");
	CHECK_STR(fmt1(&f, "[%X]", u32t, &(u32){0xab}, 4), "[AB]");
	CHECK_STR(fmt1(&f, "[%o]", u32t, &(u32){8}, 4), "[10]");
	CHECK_STR(fmt1(&f, "[%+d]", u32t, &(u32){8}, 4), "[+8]");
	CHECK_STR(fmt1(&f, "[%5c]", u32t, &(u32){'x'}, 4), "[    x]");
	CHECK_STR(fmt1(&f, "%p", u64t, &big, 8), "0x1ffffffff");
	CHECK_STR(fmt1(&f, "%p", u64t, &(u64){0}, 8), "0");
	CHECK_STR(fmt1(&f, "%d", ty_bool(&f.types), "\1", 1), "1");
	CHECK_STR(fmt1(&f, "%s", ty_bool(&f.types), "\1", 1), "true");
	CHECK_STR(fmt1(&f, "%s", u32t, &(u32){7}, 4), "7");
	CHECK_STR(fmt1(&f, "%gr", u32t, &(u32){0xcc0}, 4), "GFP_KERNEL");
	CHECK_STR(fmt1(&f, "%gr", u32t, &(u32){0x820 | 2}, 4), "GFP_ATOMIC|__GFP_HIGHMEM");
	CHECK_STR(fmt1(&f, "%gr", u32t, &(u32){0}, 4), "0");
	CHECK_STR(fmt1(&f, "%gr", u64t, &(u64){1ULL << 40}, 8), "0x10000000000");
	struct EnumConst c[] = {{"RED", 1}};
	struct Enum e = {.name = "color", .size = 4, .n = 1, .consts = c};
	CHECK_STR(fmt1(&f, "%s", ty_enum(&f.types, &e), &(u32){1}, 4), "RED");
	CHECK_STR(fmt1(&f, "%d", ty_enum(&f.types, &e), &(u32){1}, 4), "1");
	CHECK_STR(fmt1(&f, "%d", ty_aggr(&f.types, TY_AVG, true), &(struct RtAvg){9, 2}, 16), "4");
	fake_deinit(&f);
}

TEST(printf_texts)
{
	struct Fake f;
	fake_init(&f, &text_render_ops);
	const struct Type *str = ty_str(&f.types, 8);
	CHECK_STR(fmt1(&f, "[%s]", str, "abc", 4), "[abc]");
	CHECK_STR(fmt1(&f, "[%s]", str, "abc", 3), "[abc]"); // the record ends early
	CHECK_STR(fmt1(&f, "[%s]", str, "", 0), "[]");
	CHECK_STR(fmt1(&f, "[%-6s]", str, "abc", 4), "[abc   ]");
	CHECK_STR(fmt1(&f, "[%6s]", str, "abc", 4), "[   abc]");
	CHECK_STR(fmt1(&f, "[%.2s]", str, "abc", 4), "[ab]");
	CHECK_STR(fmt1(&f, "[%s]", str, "abcdefgh", 8), "[abcdefgh]");
	const struct Type *buf = ty_buf(&f.types, 4);
	CHECK_STR(fmt1(&f, "[%r]", buf, "\3\0\0\0a\n\xff", 7), "[a\\x0a\\xff]");
	CHECK_STR(fmt1(&f, "[%rx]", buf, "\3\0\0\0a\n\xff", 7), "[\\x61\\x0a\\xff]");
	CHECK_STR(fmt1(&f, "[%rh]", buf, "\3\0\0\0a\n\xff", 7), "[61 0a ff]");
	CHECK_STR(fmt1(&f, "[%s]", buf, "\3\0\0\0a\n\xff", 7), "[a\\x0a\\xff]");
	f.render.escape = true;
	CHECK_STR(fmt1(&f, "\033]0;mine [%s]", str, "a\033]2", 5), "\033]0;mine [a\\x1b]2]");
	fake_deinit(&f);
}

// Makes a cgroup in the first hierarchy that is mounted and looks it up by its id (its inode number).
TEST(cgroup_paths)
{
	struct Str s = {0};
	struct mntent *m;
	struct stat st;
	char dir[600], name[300] = "", want[900];
	cgroup_path_text(~0ULL, "", &s);
	CHECK_STR(str_text(&s), "");
	FILE *f = setmntent("/proc/self/mounts", "re");
	while ((m = getmntent(f)) && strncmp(m->mnt_type, "cgroup", 6))
		;
	if (m) {
		const char *base = strrchr(m->mnt_dir, '/');
		snprintf(dir, sizeof(dir), "%s/sonde_test_%d", m->mnt_dir, getpid());
		snprintf(name, sizeof(name), "%s", !strcmp(m->mnt_type, "cgroup2") ? "unified" : base + 1);
	}
	endmntent(f);
	if (!*name || mkdir(dir, 0755)) {
		str_deinit(&s);
		SKIP("no cgroup hierarchy to make a cgroup in");
	}
	CHECK_EQ(stat(dir, &st), 0);
	snprintf(want, sizeof(want), "%s:/sonde_test_%d", name, getpid());
	cgroup_path_text(st.st_ino, name, &s);
	CHECK_STR(str_text(&s), want);
	str_reset(&s);
	// the same hierarchy mounted once more, as the root of a container has it
	char again[] = "/tmp/sonde_cgroup_XXXXXX";
	CHECK(mkdtemp(again) != NULL);
	char base[700];
	snprintf(base, sizeof(base), "%s", dir);
	*strrchr(base, '/') = 0;
	char inner[800];
	snprintf(inner, sizeof(inner), "%s/%s", again, strrchr(base, '/') + 1);
	if (!mkdir(inner, 0755) && !mount(base, inner, NULL, MS_BIND, NULL)) {
		cgroup_path_text(st.st_ino, name, &s);
		CHECK_EQ(umount2(inner, MNT_DETACH), 0);
	} else
		str_add(&s, want); // no right to mount here
	rmdir(inner);
	rmdir(again);
	CHECK_STR(str_text(&s), want);
	str_reset(&s);
	name[1] = '*';
	name[2] = 0;
	cgroup_path_text(st.st_ino, name, &s);
	CHECK(strstr(str_text(&s), want) != NULL);
	str_reset(&s);
	cgroup_path_text(st.st_ino, "no such hierarchy", &s);
	CHECK_STR(str_text(&s), "");
	CHECK_EQ(rmdir(dir), 0);
	str_deinit(&s);
}
T_MAIN()
