// A fiber whose stack begins as boost::context's do (make_fcontext): the return address of its first function was put there, behind a jump by register. On x86-64 only.
#include <stdlib.h>

#if defined(__x86_64__)
void jump(void *stack, void (*fn)(void));
__asm__(".text\n.globl jump\n.type jump,@function\n"
	"jump:	mov %rsi,%rbx\n"
	"	lea finish(%rip),%rbp\n"
	"	mov %rdi,%rsp\n"
	"	push %rbp\n"
	"	jmp *%rbx\n"
	"finish:	endbr64\n"
	"	.byte 0x48,0x31,0xff\n" // xor %rdi,%rdi, as the assembler of boost has it
	"	call _exit@plt\n"
	"	hlt\n"
	".size jump,.-jump\n");

__attribute__((noinline)) void probed(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) void work(void)
{
	probed();
	__asm__ volatile("");
}

__attribute__((noinline)) void first(void)
{
	work();
	__asm__ volatile("");
}

int main(void)
{
	char *stack = malloc(65536);
	if (!stack)
		return 1;
	jump((void *)(((unsigned long)stack + 65536) & ~63ul), first);
	return 1;
}
#else
int main(void)
{
	return 0;
}
#endif
