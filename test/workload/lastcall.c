// Functions whose last instruction is a call, six bytes long, without unwind information and without padding, between two that have it: the return
// address of `tiny` is the first byte of `after`, and the bytes before it are no part of `before`. usage: lastcall N: the chain
// main -> outer -> tiny -> last -> getppid, N times.
#include <setjmp.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static jmp_buf back;
__attribute__((used, noinline, noreturn)) static void last(void)
{
	syscall(SYS_getppid);
	longjmp(back, 1);
}

void tiny(void);
__asm__(".text\n"
	".type before, @function\n"
	"before: .cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_def_cfa_offset 16\n"
	"	sub $0x100, %rsp\n"
	"	.cfi_def_cfa_offset 272\n"
	"	ud2\n" // its last row is that of a large frame
	"	.cfi_endproc\n"
	".size before, . - before\n"
	".global tiny\n"
	".type tiny, @function\n"
	"tiny:	push %rax\n"
	"	call last\n"
	".size tiny, . - tiny\n"
	".type after, @function\n"
	"after:	.cfi_startproc\n"
	"	sub $0x40, %rsp\n"
	"	.cfi_def_cfa_offset 72\n"
	"	add $0x40, %rsp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size after, . - after\n");

__attribute__((noinline)) void outer(void)
{
	tiny();
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	for (volatile int n = argc > 1 ? atoi(argv[1]) : 1; n > 0; n--)
		if (!setjmp(back))
			outer();
	return 0;
}
