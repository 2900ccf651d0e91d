// The half of image.S that is in C: ask() is a system call (getppid). usage: image N
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

long first(long n);

__attribute__((noinline)) long ask(long n)
{
	return syscall(SYS_getppid) + n;
}

int main(int argc, char **argv)
{
	long sum = 0;
	for (int i = 0; argc > 1 && i < atoi(argv[1]); i++)
		sum += first(i);
	return sum < 0;
}
