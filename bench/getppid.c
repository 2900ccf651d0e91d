// Calls getppid(2) for ever from N frames below main(): an event whose user stack is known. Usage: getppid N
// The benchmark builds it with and without frame pointers; tracepoint sys_enter_getppid is hardly ever hit by anything else.
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile long sink;

// A frame of a usual size with two saved registers.
__attribute__((noinline)) static long down(int n, long a, long b)
{
	if (!n)
		for (;;)
			sink = syscall(SYS_getppid);
	long r = down(n - 1, a + b, a ^ b) + a;
	sink = r;
	return r + b;
}

int main(int argc, char **argv)
{
	return (int)down(argc > 1 ? atoi(argv[1]) : 10, argc, argc * 3);
}
