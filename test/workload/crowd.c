// For LD_PRELOAD: maps a page at the end of the heap, as a program may find it by chance. malloc(3) cannot move the program break then and takes memory at other places.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

__attribute__((constructor)) static void crowd(void)
{
	void *at = (void *)(((unsigned long)sbrk(0) + 4095) & ~4095ul);
	mmap(at, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}
