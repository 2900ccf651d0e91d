// Code that keeps a stack of its own, as Haskell's does: the processor's stands still meanwhile, with zeros where it points to, and functions are jumped
// to. usage: ownstack: runs until it is ended, in `jumped` and in `called`, which that calls. ownstack goroutine: in runtime.kickoff and in `called`, on a stack that begins as a
// goroutine's of gccgo does, with a return address of 0. On x86-64 only.
#if defined(__x86_64__)
#include <stdint.h>

__attribute__((noinline)) void called(void)
{
	for (volatile int i = 0; i < 100000; i++)
		;
}

void jumped(void);
__asm__(".text\n.type jumped, @function\njumped: mov $100000, %ebx\n1: mov (%rsp), %rax\nmov %rax, 8(%rsp)\ndec %ebx\njnz 1b\ncall called\njmp *%r12\n.size jumped, . - jumped\n");

void kickoff(void) __asm__("runtime.kickoff");
void kickoff(void)
{
	for (volatile int on = 1; on;)
		called();
}

int main(int argc, char **argv)
{
	static _Alignas(16) char stack[1 << 16];

	(void)argv;
	if (argc > 1) {
		__asm__ volatile("mov %0, %%rsp\npush $0\njmp *%1" ::"r"(stack + sizeof(stack) - 4096), "r"((uintptr_t)kickoff) : "memory");
		__builtin_unreachable();
	}
	__asm__ volatile("mov %0, %%rsp\nmov %1, %%r12\nxor %%ebp, %%ebp\njmp *%%r12" ::"r"(stack + sizeof(stack) - 4096), "r"((uintptr_t)jumped) : "r12", "memory");
	__builtin_unreachable();
}
#else
int main(void)
{
	return 2;
}
#endif
