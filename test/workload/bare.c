// Frameless functions among ones that keep frame pointers, for builds without unwind tables: main -> f0..f9 -> a -> b -> c -> getppid.
// f0 to f9 have arrays of variable size, so gcc gives them frame pointers whatever the options; a, b and c have none at -O2. usage: bare N
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile unsigned long sink;
__attribute__((noinline)) unsigned long c(unsigned long n)
{
	sink += (unsigned long)syscall(SYS_getppid);
	return n + sink;
}
__attribute__((noinline)) unsigned long b(unsigned long n)
{
	return c(n + 1) + 1;
}
__attribute__((noinline)) unsigned long a(unsigned long n)
{
	return b(n) + n;
}
#define FRAMED(k)                                                                                                      \
	__attribute__((noinline)) unsigned long f##k(unsigned long n)                                                  \
	{                                                                                                              \
		char text[n % 100 + 30];                                                                               \
		snprintf(text, sizeof(text), "%lu", n + k);                                                            \
		return a(n) + (unsigned char)text[0];                                                                  \
	}
FRAMED(0)
FRAMED(1)
FRAMED(2)
FRAMED(3)
FRAMED(4)
FRAMED(5)
FRAMED(6)
FRAMED(7)
FRAMED(8)
FRAMED(9)

int main(int argc, char **argv)
{
	static unsigned long (*const f[])(unsigned long) = {f0, f1, f2, f3, f4, f5, f6, f7, f8, f9};
	unsigned long sum = 0;
	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 1); i++)
		for (unsigned k = 0; k < 10; k++)
			sum += f[k](i + k);
	return sum == 1;
}
