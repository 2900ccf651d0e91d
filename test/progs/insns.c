// Functions that begin with instructions of every kind: such that a uprobe may stand on, and such that the kernel refuses or would execute wrongly.
// usage: insns ROUNDS    says "ready", waits for a line and calls each probe_fine_* ROUNDS times, and the locked ones, which say at the end what they counted
#include <stdio.h>
#include <stdlib.h>

#if defined(__x86_64__)
#define FUNC(name, code) __attribute__((naked, noinline)) void name(void) { __asm__ volatile(code "\n\tret"); }
long counted;
FUNC(probe_fine_push, "push %rbp\n\tpop %rbp")
FUNC(probe_fine_nop, "nop")
FUNC(probe_fine_two_bytes, ".byte 0x0f, 0x1f, 0x00")
FUNC(probe_fine_segment, "mov %fs:0, %rax")
FUNC(probe_lock_a, "lock incq counted(%rip)")
FUNC(probe_lock_b, "lock addq $1, counted(%rip)")
FUNC(probe_syscall_a, "syscall")
FUNC(probe_syscall_b, "syscall")
FUNC(probe_ud2, "ud2")
FUNC(probe_hlt, "hlt")
FUNC(probe_int3, "int3")
FUNC(probe_cs_prefix, ".byte 0x2e, 0x90")
FUNC(probe_avx_refused_a, "vpxor %xmm0, %xmm0, %xmm0")
FUNC(probe_avx_refused_b, "vpxor %xmm1, %xmm1, %xmm1")
FUNC(probe_avx_wrong, "vzeroupper")

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	printf("ready\n");
	fflush(stdout);
	getchar();
	for (int i = 0; i < rounds; i++) {
		probe_fine_push();
		probe_fine_nop();
		probe_fine_two_bytes();
		probe_fine_segment();
		probe_lock_a();
		probe_lock_b();
	}
	printf("counted %ld\n", counted);
	return 0;
}
#else
int main(void)
{
	printf("only for x86\n");
	return 1;
}
#endif
