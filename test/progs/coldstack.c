// coldstack N: N times a call of getppid(2) below 100 functions whose frames were swapped out just before, as those of a program are that has not come back to them for long.
// Exit status 3: they stayed in memory.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, DEPTH = 100, FRAME = 1024, PAGES = DEPTH * (FRAME + 256) / PAGE };

static uintptr_t outermost;

// Are pages mapped? (A page in the swap cache is not: Linux, Documentation/admin-guide/mm/pagemap.rst)
static int still_there(int fd, uintptr_t from, size_t size)
{
	uint64_t page[PAGES];
	int n = 1;
	for (int tries = 0; n && tries < 2000; tries++) {
		if (tries >= 10) // the kernel is at work on them, or another processor has them in its list
			usleep(1000);
		madvise((void *)from, size, MADV_PAGEOUT);
		if (pread(fd, page, size / PAGE * 8, (off_t)(from / PAGE * 8)) != (ssize_t)(size / PAGE * 8))
			exit(5);
		n = 0;
		for (size_t i = 0; i < size / PAGE; i++)
			n += page[i] >> 63;
	}
	return n;
}

static __attribute__((noinline)) void leaf(int n)
{
	char here;
	uintptr_t from = ((uintptr_t)&here + 2 * PAGE) & -(uintptr_t)PAGE, to = outermost & -(uintptr_t)PAGE;
	int fd = open("/proc/self/pagemap", O_RDONLY);
	if (fd < 0 || to - from > PAGES * PAGE)
		exit(4);
	for (int i = 0; i < n; i++) {
		if (still_there(fd, from, to - from))
			exit(3);
		syscall(SYS_getppid);
	}
}

static __attribute__((noinline)) void deep(int depth, int n)
{
	volatile char frame[FRAME];
	for (int i = 0; i < FRAME; i += 64)
		frame[i] = (char)i;
	if (depth)
		deep(depth - 1, n);
	else
		leaf(n);
	frame[0] = 1;
}

int main(int argc, char **argv)
{
	char here;
	outermost = (uintptr_t)&here;
	deep(DEPTH - 1, argc > 1 ? atoi(argv[1]) : 1);
	return 0;
}
