/* Code made at run time that keeps no frame pointer, called by C that does: by its frame pointer such a frame's caller would be left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((noinline)) int last(void)
{
	getppid();
	return 1;
}

static int (*made)(int (*)(void));

__attribute__((noinline, optimize("no-omit-frame-pointer"))) int outer(int n)
{
	int r = made(last); /* which pushes rbx and calls last() */
	return r + n;
}

__attribute__((noinline, optimize("no-omit-frame-pointer"))) int middle(int n)
{
	int r = outer(n);
	return r * 3;
}

int main(int argc, char **argv)
{
	static const unsigned char code[] = {0x53, 0xff, 0xd7, 0x5b, 0xc3}; /* push %rbx; call *%rdi; pop %rbx; ret */
	void *mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r = 0;
	if (mem == MAP_FAILED)
		return 1;
	memcpy(mem, code, sizeof(code));
	made = (int (*)(int (*)(void)))mem;
	for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; i--)
		r += middle(i);
	return r < 0;
}
