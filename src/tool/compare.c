// Has a share grown, shrunk, or can nobody tell? For the rows of two profiles.
// In: of each row what it counts in both profiles, and the sums. Out: the difference of the shares, an interval, a verdict.
// Invariant: of two profiles of one unchanged program at most COMPARE_ALPHA of all pairs have any verdict but "cannot tell", as far as their counts vary as
// independent samples do. The intervals hold together: each is so wide that all rows that are judged lie within theirs (Bonferroni), each by Newcombe's
// way from two intervals by Wilson (Statistics in Medicine 17, 1998, method 10).
#include "tool/internal.h"
#include <math.h>

struct Range {
	double lo, hi;
};

// Where a share of n samples may lie, when x of them were met.
static struct Range wilson(double x, double n, double z)
{
	double p = x / n, zz = z * z / n;
	double mid = (p + zz / 2) / (1 + zz), half = z * sqrt(p * (1 - p) / n + zz / (4 * n)) / (1 + zz);
	return (struct Range){MAX(mid - half, 0.0), MIN(mid + half, 1.0)};
}

// How many standard deviations a normal deviate exceeds, up or down, with probability alpha
static double deviations(double alpha)
{
	double lo = 0, hi = 40;
	for (int i = 0; i < 60; i++) {
		double mid = (lo + hi) / 2;
		if (erfc(mid / sqrt(2)) > alpha)
			lo = mid;
		else
			hi = mid;
	}
	return hi;
}

// Pearson's statistic over its degrees of freedom
double compare_spread(const u64 *met, const u64 *all, size_t runs)
{
	double x = 0, n = 0, sum = 0;
	for (size_t i = 0; i < runs; i++) {
		x += (double)met[i];
		n += (double)all[i];
	}
	if (runs < 2 || x <= 0 || x >= n)
		return 0;
	double p = x / n;
	for (size_t i = 0; i < runs; i++) {
		double want = (double)all[i] * p, d = (double)met[i] - want;
		sum += want > 0 ? d * d / (want * (1 - p)) : 0;
	}
	return sum / (double)(runs - 1);
}

double compare_usual_spread(const struct Compared *c, u64 before, u64 after)
{
	double n1 = (double)before, n2 = (double)after, p = (double)(c->before + c->after) / (n1 + n2), v = p * (1 - p);
	return COMPARE_CHANCE + 2 * n1 * n2 / (n1 + n2) * (COMPARE_ANY + COMPARE_OWN * v * v);
}

static bool judged(const struct Compared *c)
{
	return c->before + c->after >= COMPARE_LEAST;
}

static void compare(struct Compared *c, double n1, double n2, double z)
{
	double spread = MAX(c->spread, 1.0), x1 = (double)c->before, x2 = (double)c->after;
	double p1 = n1 > 0 ? x1 / n1 : 0, p2 = n2 > 0 ? x2 / n2 : 0;
	c->diff = p2 - p1;
	c->lo = -1;
	c->hi = 1;
	c->verdict = CANNOT_TELL;
	if (n1 <= 0 || n2 <= 0)
		return;
	struct Range a = wilson(x1 / spread, n1 / spread, z), b = wilson(x2 / spread, n2 / spread, z);
	c->lo = c->diff - sqrt((p2 - b.lo) * (p2 - b.lo) + (a.hi - p1) * (a.hi - p1));
	c->hi = c->diff + sqrt((b.hi - p2) * (b.hi - p2) + (p1 - a.lo) * (p1 - a.lo));
	if (judged(c))
		c->verdict = c->lo > 0 ? MORE : c->hi < 0 ? LESS : CANNOT_TELL;
}

static int by_counts(const void *a, const void *b)
{
	const struct Compared *x = a, *y = b;
	if (x->before != y->before)
		return x->before < y->before ? -1 : 1;
	if (x->after != y->after)
		return x->after < y->after ? -1 : 1;
	return x->spread < y->spread ? -1 : x->spread > y->spread;
}

// Rows that are judged; those with the same counts say the same, and are one.
static size_t tests_of(const struct Compared *rows, size_t n)
{
	VEC(struct Compared) v = {0};
	size_t tests = 0;
	for (size_t i = 0; i < n; i++)
		if (judged(&rows[i]))
			vec_push(&v, rows[i]);
	if (v.n)
		qsort(v.p, v.n, sizeof(*v.p), by_counts);
	for (size_t i = 0; i < v.n; i++)
		tests += !i || by_counts(&v.p[i - 1], &v.p[i]);
	vec_deinit(&v);
	return tests;
}

void compare_rows(struct Compared *rows, size_t n, u64 before, u64 after, double alpha)
{
	size_t tests = tests_of(rows, n);
	double z = deviations(alpha / (double)MAX(tests, (size_t)1));
	for (size_t i = 0; i < n; i++)
		compare(&rows[i], (double)before, (double)after, z);
}
