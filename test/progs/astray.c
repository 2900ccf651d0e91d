// Code without unwind information that only pointers lead to, and that uses rbp for something else: where a frame pointer would be is a node of a list, whose
// second word is the address of memory on the heap. usage: astray: runs until it is ended, in `astray`. On x86-64 only.
#if defined(__x86_64__)
#include <stdlib.h>

void astray(void);
__asm__(".text\n.type astray, @function\nastray: lea 1f(%rip), %rax\njmp *%rax\n1: mov $100000, %ebx\n2: mov (%rbp), %rcx\nmov 8(%rbp), %rdx\ndec %ebx\njnz 2b\njmp *%rax\n.size astray, . - astray\n");

int main(void)
{
	_Alignas(16) void *node[4] = {NULL, malloc(64)};
	node[0] = &node[2];
	node[2] = &node[2];
	node[3] = node[1];
	void (*volatile at)(void) = astray;
	__asm__ volatile("mov %0, %%rbp\nmov %1, %%rax\njmp *%%rax" ::"r"(node), "r"(at) : "memory");
	__builtin_unreachable();
}
#else
int main(void)
{
	return 2;
}
#endif
