// A workload with a known flow of calls: nesting, recursion, a call that is left by longjmp.
// usage: nest
#include <setjmp.h>

#define NOINLINE __attribute__((noinline, noipa))

static jmp_buf back;

NOINLINE int jumper(int n)
{
	if (n == 3)
		longjmp(back, 1);
	return n;
}

NOINLINE int mid(int n)
{
	return jumper(n) + 1;
}

NOINLINE int outer_fn(int n)
{
	volatile int k = n;
	int r = setjmp(back) ? -1 : mid(k);
	return r + jumper(1);
}

NOINLINE int fact_fn(int n)
{
	int below = n < 2 ? 1 : fact_fn(n - 1);
	__asm__ volatile("" : "+r"(below)); // a call, no loop
	return (n < 2 ? 1 : n) * below;
}

int main(void)
{
	return outer_fn(2) + outer_fn(3) + fact_fn(4) == 28 ? 0 : 1;
}
