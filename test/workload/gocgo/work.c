// The C half of gocgo. Not inlined, so that each function has its frame.
#include <stdlib.h>
#include "work.h"

static volatile long sink;

__attribute__((noinline)) long cInner(long n)
{
	for (long i = 0; i < n; i++)
		sink += i * n;
	return sink;
}

__attribute__((noinline)) long cCallback(long n)
{
	long v = goBack(n);
	sink += v;
	return v + 1;
}

static int compare(const void *a, const void *b)
{
	long v = goBack(3);
	sink += v;
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) void cSort(int n)
{
	int *v = malloc((size_t)n * sizeof(*v));
	for (int i = 0; i < n; i++)
		v[i] = (i * 7919) % n;
	qsort(v, (size_t)n, sizeof(*v), compare);
	free(v);
	sink++;
}
