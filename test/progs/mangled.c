// Functions with the names that compilers of other languages give: three kinds of work, the first two of which differ only in what stands in <...>.
// usage: mangled SECONDS    runs each in turn; "ready" is printed first
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

#define WORK(name, symbol) \
	__attribute__((noinline, noclone)) void name(void) __asm__(symbol); \
	void name(void) \
	{ \
		for (unsigned long i = 0; i < 300000; i++) \
			sink += i; \
	}
WORK(work_a, "_ZN29_$LT$x..A$u20$as$u20$x..T$GT$4work17h0123456789abcdefE") // Rust: <x::A as x::T>::work
WORK(work_b, "_ZN29_$LT$x..B$u20$as$u20$x..T$GT$4work17h0123456789abcdefE")
WORK(work_c, "_ZN5space4workIiEEvT_") // C++: void space::work<int>(int)
WORK(work_d, "plain_work")

int main(int argc, char **argv)
{
	double secs = argc > 1 ? atof(argv[1]) : 1;
	struct timespec a, b;
	puts("ready");
	fflush(stdout);
	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		work_a();
		work_b();
		work_c();
		work_d();
		clock_gettime(CLOCK_MONOTONIC, &b);
	} while ((double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9 < secs);
	return 0;
}
