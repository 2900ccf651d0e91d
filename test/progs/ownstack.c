// Code that keeps a stack of its own, as Haskell's does: the processor's stands still meanwhile, with zeros where it points to, and functions are jumped
// to. usage: ownstack: runs until it is ended, in `jumped` and in `called`, which that calls. On x86-64 only.
#if defined(__x86_64__)
#include <stdint.h>

__attribute__((noinline)) void called(void)
{
	for (volatile int i = 0; i < 100000; i++)
		;
}

void jumped(void);
__asm__(".text\n.type jumped, @function\njumped: mov $100000, %ebx\n1: mov (%rsp), %rax\nmov %rax, 8(%rsp)\ndec %ebx\njnz 1b\ncall called\njmp *%r12\n.size jumped, . - jumped\n");

int main(void)
{
	static _Alignas(16) char stack[1 << 16];
	__asm__ volatile("mov %0, %%rsp\nmov %1, %%r12\nxor %%ebp, %%ebp\njmp *%%r12" ::"r"(stack + sizeof(stack) - 4096), "r"((uintptr_t)jumped) : "r12", "memory");
	__builtin_unreachable();
}
#else
int main(void)
{
	return 2;
}
#endif
