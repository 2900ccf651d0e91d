// Calls in one another, of known number and results, in several threads at once.
// usage: recurse THREADS N   fib(N) in each: 2 * fib(N + 1) - 1 calls, and slow(3) once in main: 4 calls of 2, 4, 6 and 8 ms at least, the outermost longest
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE long fib(long n)
{
	__asm__ volatile("" : "+r"(n));
	if (n < 2)
		return n;
	long a = fib(n - 1), b = fib(n - 2);
	__asm__ volatile("" : "+r"(b)); // the second is a call, too
	return a + b;
}

NOINLINE long slow(long n)
{
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	long below = n ? slow(n - 1) : 0;
	__asm__ volatile("" : "+r"(below));
	return below + 1;
}

static void *run(void *n)
{
	volatile long sink = fib((long)n);
	(void)sink;
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	long n = argc > 2 ? atol(argv[2]) : 10;
	pthread_t t[64];
	if (threads < 1 || threads > 64)
		return 1;
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, run, (void *)n);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	return slow(3) != 4;
}
