// Static probes with a semaphore each: "tst:one" in fire_one N times, "tst:two" in fire_two N/2 times, both only while somebody listens; with -DCONSTANTS "tst:constants" once, whose arguments are constants;
// with -DARGS "tst:args" once: -3, 5 (both in registers or memory, as the compiler likes), "text", 10 and -20 in memory, 7.
// The notes are written by hand (systemtap's UserSpaceProbeImplementation page), so that no package is needed.
// usage: usdt N [PAUSE_MS]     pauses first
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
#define PROBE(name, args)                                                                                                    \
	__asm__ volatile("990: nop\n"                                                                                  \
			 ".pushsection .note.stapsdt,\"?\",\"note\"\n"                                                 \
			 ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"         \
			 "993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte tst_" #name "_semaphore\n"                    \
			 ".asciz \"tst\"\n.asciz \"" #name "\"\n.asciz \"" args "\"\n994: .balign 4\n.popsection\n"              \
			 ".ifndef _.stapsdt.base\n"                                                                    \
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n.weak _.stapsdt.base\n"  \
			 ".hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.popsection\n"     \
			 ".endif\n")

// The same with operands, as the assembler of the machine writes them.
#define PROBE_ARGS(name, args, ...)                                                                                          \
	__asm__ volatile("990: nop\n"                                                                                  \
			 ".pushsection .note.stapsdt,\"?\",\"note\"\n"                                                 \
			 ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"         \
			 "993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte 0\n"                                        \
			 ".asciz \"tst\"\n.asciz \"" #name "\"\n.asciz \"" args "\"\n994: .balign 4\n.popsection\n" ::__VA_ARGS__)

volatile unsigned short tst_one_semaphore __attribute__((section(".probes"))) = 0;
#ifdef CONSTANTS
volatile unsigned short tst_constants_semaphore __attribute__((section(".probes"))) = 0;
#endif
volatile unsigned short tst_two_semaphore __attribute__((section(".probes"))) = 0;

NOINLINE void fire_one(void)
{
	PROBE(one, "");
}

NOINLINE void fire_two(void)
{
	PROBE(two, "");
}

#ifdef CONSTANTS
NOINLINE void fire_constants(void)
{
	PROBE(constants, "4@$-5 -4@$4294967291 1@$-1 -1@$200 8@$-1");
}
#endif

#ifdef ARGS
NOINLINE void fire_args(int a, long b, const char *text)
{
	volatile long in_memory = b * 2;
	volatile int less = -20;
	PROBE_ARGS(args, "-4@%0 8@%1 8@%2 8@%3 -4@%4 4@%5", "r"(a), "nor"(b), "r"(text), "m"(in_memory), "m"(less), "n"(7));
}
#endif

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000, ms = argc > 2 ? atoi(argv[2]) : 0;
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
	prctl(PR_SET_NAME, "usdt");
	nanosleep(&t, NULL);
	for (int i = 0; i < n; i++) {
		if (tst_one_semaphore)
			fire_one();
		if (tst_two_semaphore && i % 2)
			fire_two();
	}
#ifdef CONSTANTS
	if (tst_constants_semaphore)
		fire_constants();
#endif
#ifdef ARGS
	fire_args(-3, 5, "text");
#endif
	return 0;
}
