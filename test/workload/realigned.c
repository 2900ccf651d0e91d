// Functions whose locals need more alignment than the stack has: compilers keep the CFA in a register, align, and build their frame below. Each gets its own shape: with and
// without calls, with registers saved, many arguments, an array of unknown size, an end that is a jump to another function.
#include <string.h>

typedef int v8 __attribute__((vector_size(32), aligned(32)));

void other(void *p, int n);
int more(int a, int b, int c, int d, int e, int f, int g, int h);

int leaf(const int *p, int a, int b, int c, int d, int e, int f, int g)
{
	volatile v8 x = {a, b, c, d, e, f, g, p[0]};
	return x[p[1] & 7];
}

int calls(const int *p, int n)
{
	v8 x = {n, 2, 3, 4, 5, 6, 7, 8};
	other(&x, n);
	return x[n & 7] + p[0];
}

int saved(int *p, int n, int a, int b, int c, int d, int e, int f)
{
	v8 x[4];
	for (int i = 0; i < n; i++) {
		memset(x, i, sizeof(x));
		other(x, a + i);
		p[i] += x[i & 3][1] + b + c * d + e * f;
		other(p + i, x[0][0]);
	}
	return p[a] + p[b] + c + d;
}

int sized(int *p, int n)
{
	v8 x;
	int y[n];
	other(&x, n);
	other(y, n);
	return y[n - 1] + x[p[0] & 7];
}

int goes_on(int a, int b, int c, int d, int e, int f, int g, int h)
{
	v8 x = {a, b, c, d, e, f, g, h};
	other(&x, a);
	if (x[0])
		return x[1];
	return more(h, g, f, e, d, c, b, a);
}
