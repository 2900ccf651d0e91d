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

void compare_rows(struct Compared *rows, size_t n, u64 before, u64 after, double alpha)
{
	size_t tests = 0;
	for (size_t i = 0; i < n; i++)
		tests += judged(&rows[i]);
	double z = deviations(alpha / (double)MAX(tests, (size_t)1));
	for (size_t i = 0; i < n; i++)
		compare(&rows[i], (double)before, (double)after, z);
}
