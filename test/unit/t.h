// Minimal unit test frame: TEST(name) { CHECK(...); }  ...  T_MAIN()
// TEST_RETRY(name, "reason") { ... }: one that samples or times. When it fails its line says so, and test/runner/unit.py runs it once more.
// T_ALONE("reason"): the program measures; the runner starts it when no other test runs. T_FEW("reason"): it traces the whole machine; one other may run.
// T_LONG("reason"): `make test` leaves the program out.
#ifndef SONDE_T_H
#define SONDE_T_H
#include "base/base.h"

struct TCase {
	const char *name;
	void (*fn)(void);
	const char *retry; // reason, or NULL
	struct TCase *next;
};
static struct TCase *t_first, **t_tail = &t_first;
static int t_fails;	      // failed checks of the running case
static const char *t_skipped; // reason

#define TEST_RETRY(id, why)                                                                                            \
	static void t_##id(void);                                                                                      \
	__attribute__((constructor)) static void t_reg_##id(void)                                                      \
	{                                                                                                              \
		static struct TCase c = {#id, t_##id, why, NULL};                                                      \
		*t_tail = &c;                                                                                          \
		t_tail = &c.next;                                                                                      \
	}                                                                                                              \
	static void t_##id(void)
#define TEST(id) TEST_RETRY(id, NULL)
#define T_ALONE(why) _Static_assert(sizeof(why) > 1, "the reason")
#define T_FEW(why) _Static_assert(sizeof(why) > 1, "the reason")
#define T_LONG(why) _Static_assert(sizeof(why) > 1, "the reason")

#define T_FAIL(...) (t_fails++, printf("# %s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), printf("\n"))
#define CHECK(c) ((c) ? (void)0 : (void)T_FAIL("failed: %s", #c))
#define CHECK_EQ(a, b)                                                                                                 \
	do {                                                                                                           \
		long long t_a = (long long)(a), t_b = (long long)(b);                                                  \
		if (t_a != t_b)                                                                                        \
			T_FAIL("%s is %lld (0x%llx), expected %s = %lld (0x%llx)", #a, t_a, t_a, #b, t_b, t_b);        \
	} while (0)
#define CHECK_STR(a, b)                                                                                                \
	do {                                                                                                           \
		const char *t_a = (a), *t_b = (b);                                                                     \
		if (!t_a || !t_b || strcmp(t_a, t_b))                                                                  \
			T_FAIL("%s is\n---\n%s\n--- expected\n%s\n---", #a, t_a ? t_a : "(null)", t_b ? t_b : "(null)"); \
	} while (0)
#define SKIP(why)                                                                                                      \
	do {                                                                                                           \
		t_skipped = (why);                                                                                     \
		return;                                                                                                \
	} while (0)

#define T_MAIN()                                                                                                       \
	int main(int argc, char **argv)                                                                                \
	{                                                                                                              \
		int n = 0, failed = 0;                                                                                 \
		setvbuf(stdout, NULL, _IOLBF, 0);                                                                      \
		for (struct TCase *c = t_first; c; c = c->next) {                                                      \
			if (argc > 1 && strcmp(argv[1], c->name))                                                      \
				continue;                                                                              \
			t_fails = 0;                                                                                   \
			t_skipped = NULL;                                                                              \
			c->fn();                                                                                       \
			n++;                                                                                           \
			failed += t_fails != 0;                                                                        \
			if (t_skipped && !t_fails)                                                                     \
				printf("ok %d %s # SKIP %s\n", n, c->name, t_skipped);                                 \
			else                                                                                           \
				printf("%s %d %s%s%s\n", t_fails ? "not ok" : "ok", n, c->name,                        \
				       t_fails && c->retry ? " # RETRY " : "", t_fails && c->retry ? c->retry : "");   \
		}                                                                                                      \
		printf("1..%d\n", n);                                                                                  \
		return failed != 0;                                                                                    \
	}
#endif
