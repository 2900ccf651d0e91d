// Makes many different stacks of one function: leaf() is called by every way of DEPTH steps through left() and right(), 2^DEPTH of them.
// usage: paths DEPTH [ROUNDS [PAUSE_MS [STAY_MS]]]     the thread is called "paths"; a pause before the first round, one behind the last
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP __asm__ volatile("" ::: "memory") // no tail call

static volatile unsigned long sink;

NOINLINE void leaf(void)
{
	sink++;
}

NOINLINE void left(int depth);
NOINLINE void right(int depth);

static inline __attribute__((always_inline)) void on(int depth)
{
	if (depth) {
		left(depth - 1);
		right(depth - 1);
	} else
		leaf();
	KEEP;
}

NOINLINE void left(int depth)
{
	on(depth);
	sink += 2;
}

NOINLINE void right(int depth)
{
	on(depth);
	sink += 3;
}

static void rest(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
	nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 10, rounds = argc > 2 ? atoi(argv[2]) : 1;
	if (argc < 2 || depth < 0 || depth > 30) {
		fprintf(stderr, "usage: paths DEPTH [ROUNDS [PAUSE_MS [STAY_MS]]]\n");
		return 2;
	}
	prctl(PR_SET_NAME, "paths");
	rest(argc > 3 ? atoi(argv[3]) : 0);
	for (int i = 0; i < rounds; i++)
		on(depth);
	rest(argc > 4 ? atoi(argv[4]) : 0);
	return 0;
}
