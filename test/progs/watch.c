// watch [rounds, 20]: each round adds to a variable in increment(), which gets its address as second argument (by turns one of two), and to one
// of them in main().
#include <stdlib.h>
#include <unistd.h>

volatile long counter, other;

__attribute__((noinline)) void increment(int by, volatile long *p)
{
	*p += by;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 20;
	for (int i = 0; i < n; i++) {
		increment(1, i % 2 ? &counter : &other);
		counter++;
		usleep(2000);
	}
	return 0;
}
