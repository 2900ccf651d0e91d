#include "t.h"
#include <signal.h>

TEST(glob)
{
	CHECK(glob_match("vfs_*", "vfs_read"));
	CHECK(!glob_match("vfs_*", "xvfs_read"));
	CHECK(glob_match("*a*b?c", "xxaxxbyc"));
	CHECK(glob_match("[a-c]x[!0-9]", "bxy"));
	CHECK(!glob_match("[a-c]x[!0-9]", "bx7"));
	CHECK(glob_match("*", ""));
	CHECK(!glob_match("?", ""));
	CHECK(glob_match("a\\*b", "a\\cb"));
	CHECK(!glob_match("a\\*b", "a*b"));
	// this would not end if each star doubled the ways
	CHECK(!glob_match("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

TEST(str_and_map)
{
	struct Str s = {0};
	str_addf(&s, "%d-%s", 7, "x");
	str_add_escaped(&s, "\x1b[1m\n", 5, false);
	CHECK_STR(s.p, "7-x\\x1b[1m\\x0a");
	str_deinit(&s);
	struct Map m = {0};
	char key[16];
	for (long i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "k%ld", i);
		map_put(&m, key, (void *)(i + 1));
	}
	CHECK_EQ(m.n, 1000);
	CHECK_EQ((long)map_get(&m, "k999"), 1000);
	CHECK(!map_has(&m, "k1000"));
	CHECK_STR(m.slots[5].key, "k5");
	map_deinit(&m);
}

TEST(entries_by_two_numbers)
{
	struct Entry {
		u64 a, b;
		u32 val;
	} *e;
	struct NumTab t = {.size = sizeof(*e)};
	CHECK(!numtab_get(&t, 1, 2));
	for (u32 i = 1; i < 3000; i++) { // grows; many share their first number, some their hash
		e = numtab_put(&t, i % 7, (u64)i << 40);
		CHECK_EQ(e->val, 0);
		e->val = i;
	}
	CHECK_EQ(t.n, 2999);
	CHECK(t.cap >= 2 * t.n);
	for (u32 i = 1; i < 3000; i++) {
		e = numtab_get(&t, i % 7, (u64)i << 40);
		CHECK(e && e->val == i && e->a == i % 7 && e->b == (u64)i << 40);
		CHECK(numtab_put(&t, i % 7, (u64)i << 40) == e);
		CHECK(!numtab_get(&t, i % 7 + 1, (u64)i << 40));
	}
	CHECK_EQ(t.n, 2999);
	u64 sum = 0;
	for (u32 i = 0; i < t.cap; i++)
		sum += (e = numtab_at(&t, i)) ? e->val : 0;
	CHECK_EQ(sum, 2999u * 3000 / 2);
	numtab_deinit(&t);
	CHECK(!numtab_get(&t, 1, 1ull << 40) && t.size == sizeof(*e));
}

TEST(nearest)
{
	static const char *const names[] = {"strcontains", "strlen", "count"};
	CHECK_STR(nearest_name("contains", names, 3), "strcontains");
	CHECK_STR(nearest_name("cuont", names, 3), "count");
	CHECK(!nearest_name("zzzzzz", names, 3));
}

TEST(diagnostics)
{
	static const char text[] = "BEGIN {\n  foo();\n}\n";
	struct Diags d = {0};
	u32 f = diags_add_source(&d, "stdin", text, sizeof(text) - 1);
	diag_error(&d, (struct Span){10, 5, f}, "Unknown function: '%s'", "foo");
	diag_hint(&d, "look at it");
	struct Str s = {0};
	diags_render(&d, true, &s);
	CHECK_STR(s.p, "stdin:2:3-8: ERROR: Unknown function: 'foo'\n  foo();\n  ~~~~~\nHINT: look at it\n");
	CHECK_EQ(d.nerrors, 1);
	str_deinit(&s);
	diags_deinit(&d);
}

TEST(diagnostics_of_long_lines)
{
	struct Diags d = {0};
	struct Str text = {0}, s = {0}, want = {0};
	for (int i = 0; i < 1000; i++)
		str_add(&text, "\u03bca"); // two bytes and one
	str_add(&text, "\nshort");
	u32 f = diags_add_source(&d, "stdin", text.p, text.n);
	diag_error(&d, (struct Span){1502, 1, f}, "middle");
	diag_error(&d, (struct Span){3001, 5, f}, "short");
	diags_render(&d, true, &s);
	str_addf(&want, "stdin:1:1503-1504: ERROR: middle\n...%.*s...\n%252s~\nstdin:2:1-6: ERROR: short\nshort\n~~~~~\n", 999, text.p + 1253, "");
	CHECK_STR(s.p, want.p);
	str_reset(&s);
	diags_forget(&d);
	diag_error(&d, (struct Span){0, 3000, f}, "all: %s", text.p);
	diags_render(&d, true, &s);
	CHECK(s.n < 7000 && strstr(s.p, "...\n~~~"));
	str_reset(&s);
	diags_forget(&d);
	for (int i = 0; i < 100000; i++) {
		diag_error(&d, (struct Span){(u32)i % 3000, 2, f}, "number %d", i);
		diag_hint(&d, "hint %d", i);
	}
	diags_render(&d, true, &s);
	CHECK(s.n < 600000 && strstr(s.p, "HINT: hint 199\nERROR: 99800 more errors are not shown\n"));
	CHECK(diags_full(&d));
	str_deinit(&text);
	str_deinit(&s);
	str_deinit(&want);
	diags_deinit(&d);
}

TEST(errors)
{
	struct err *e = err_wrap(err_errno(2, "open %s", "/x"), "cannot start");
	CHECK_STR(err_text(e), "cannot start: open /x: No such file or directory");
	CHECK_EQ(err_code(e), 2);
	err_free(e);
}

static void *mask_of(void *mask)
{
	pthread_sigmask(SIG_SETMASK, NULL, mask);
	return NULL;
}

TEST(threads_leave_signals_to_the_main_one)
{
	sigset_t was, in, now;
	pthread_t t;
	pthread_sigmask(SIG_SETMASK, NULL, &was);
	CHECK_EQ(thread_start(&t, NULL, mask_of, &in), 0);
	pthread_join(t, NULL);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	for (int s = 1; s < SIGSYS; s++)
		CHECK_EQ(sigismember(&now, s), sigismember(&was, s));
	CHECK(sigismember(&in, SIGTERM) == 1 && sigismember(&in, SIGINT) == 1 && sigismember(&in, SIGCHLD) == 1 && sigismember(&in, SIGUSR1) == 1);
	CHECK(!sigismember(&in, SIGSEGV) && !sigismember(&in, SIGBUS) && !sigismember(&in, SIGABRT));
}

struct Visits {
	u32 seen[100], there;
};

static void visit(void *arg, size_t i)
{
	((struct Visits *)arg)->seen[i]++;
}

TEST(side_by_side_does_each_once)
{
	for (u32 threads = 0; threads < 200; threads += 33)
		for (size_t n = 0; n <= 100; n += 20) {
			struct Visits v = {0};
			side_by_side(n, threads, visit, &v);
			for (size_t i = 0; i < ARRAY_LEN(v.seen); i++)
				CHECK_EQ(v.seen[i], i < n);
		}
}

static void await_other(void *arg, size_t i)
{
	struct Visits *v = arg;
	__atomic_fetch_add(&v->there, 1, __ATOMIC_SEQ_CST);
	for (u32 ms = 0; ms < 10000 && !v->seen[i]; ms++) {
		v->seen[i] = __atomic_load_n(&v->there, __ATOMIC_SEQ_CST) == 2;
		usleep(1000);
	}
}

TEST(side_by_side_is_at_once)
{
	struct Visits v = {0};
	side_by_side(2, 2, await_other, &v);
	CHECK(v.seen[0] && v.seen[1]);
}

T_MAIN()
