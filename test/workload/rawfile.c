// Code made at run time in a file that is no ELF file, mapped to be written and once more to be run, without frame pointers and tables: main -> (code of the file) -> last -> getppid.
// Half of the calls are of a function, then come those of another one that is written then. usage: rawfile FILE N. x86-64
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIZE 65536
#define ROOM 64 // for a function

__attribute__((noinline)) void last(void)
{
	syscall(SYS_getppid);
	__asm__ volatile(""); // no jump to syscall()
}

int main(int argc, char **argv)
{
	static const unsigned char code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x18, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x18, 0xc3}; // endbr64; sub $24,%rsp; call *%rdi; add; ret
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1, n = argc > 2 ? atoi(argv[2]) : 0;
	if (fd < 0 || unlink(argv[1]) || ftruncate(fd, SIZE))
		return 1;
	char *to = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), *at = mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if (to == MAP_FAILED || at == MAP_FAILED)
		return 1;
	for (int i = 0; i < n; i++) {
		int off = i < n / 2 ? 0 : ROOM;
		if (i == 0 || i == n / 2)
			memcpy(to + off, code, sizeof(code));
		((void (*volatile)(void (*)(void)))(at + off))(last);
		usleep(20000);
	}
	return 0;
}
