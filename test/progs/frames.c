// A program with known stacks, for the tests of stacks: each scene ends in leaf() or in a system call below outer() -> middle() -> inner().
// No frame pointers. usage: frames SCENE [N]
//        frames calls N [MS]    N times outer -> middle -> inner -> leaf, with a system call (getppid) and a USDT probe frames:here in inner; MS milliseconds later, and
//                          before its end, so that it is no program of a moment
//        frames deep N     down(N) -> ... -> down(0) -> leaf, once
//        frames spin MS    MS milliseconds of CPU time in outer -> middle -> inner -> leaf; most samples meet prologues and epilogues
//        frames fault N    inner touches N new pages: page faults below outer -> middle -> inner
//        frames exec N     outer -> middle -> inner -> leaf, then itself again in the same process with N - 1, until 0
//        frames reopen A B N    two libraries, one after the other where the first was: N times in_library of each calls leaf; says where they lay
//        frames signal N   N alarms, each into spot's first instruction below main: on_signal -> in_signal; another function ends just before spot
//        frames fork N     N children, each outer -> middle -> inner -> leaf without exec
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP __asm__ volatile("" ::: "memory") // no tail call

// A USDT probe without arguments (the format of SystemTap's sys/sdt.h: a note of type 3).
#ifdef __i386__
#define WORD ".4byte "
#else
#define WORD ".8byte "
#endif
#define USDT(provider, name)                                                                                                               \
	__asm__ volatile("990: nop\n"                                                                                                      \
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"                                                                      \
			 ".balign 4\n"                                                                                                     \
			 ".4byte 992f-991f, 994f-993f, 3\n"                                                                                \
			 "991: .asciz \"stapsdt\"\n"                                                                                       \
			 "992: .balign 4\n"                                                                                                \
			 "993: " WORD "990b, 0, 0\n"                                                                                       \
			 ".asciz \"" provider "\"\n.asciz \"" name "\"\n.asciz \"\"\n"                                                     \
			 "994: .balign 4\n"                                                                                                \
			 ".popsection")

static char *const *args;
static volatile long sink;
static enum { CALLS, SPIN, FAULT } scene;

NOINLINE long leaf(long n)
{
	KEEP;
	return n + 1;
}

NOINLINE long inner(long n)
{
	if (scene == CALLS) {
		USDT("frames", "here");
		sink += syscall(SYS_getppid);
	} else if (scene == FAULT) {
		char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		*(volatile char *)p = 1;
		munmap(p, 4096);
	}
	sink += leaf(n);
	KEEP;
	return n;
}

NOINLINE long middle(long n)
{
	long r = inner(n) * 2;
	KEEP;
	return r;
}

NOINLINE long outer(long n)
{
	long r = middle(n) + 1;
	KEEP;
	return r;
}

NOINLINE long down(long n)
{
	long r = n ? down(n - 1) + 1 : leaf(n);
	KEEP;
	return r;
}

static void spin(long ms)
{
	struct timespec t;
	scene = SPIN;
	do {
		for (int i = 0; i < 100000; i++)
			outer(i);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}

// in_library(callback, n) of a library calls back. Before and after a pause: sonde hears of a mapping a little later than it is made.
static void use_library(const char *path, long n)
{
	void *lib = dlopen(path, RTLD_NOW);
	long (*fn)(long (*)(long), long) = lib ? (long (*)(long (*)(long), long))dlsym(lib, "in_library") : NULL;
	if (!fn)
		exit(1);
	sleep(2);
	printf("%p\n", (void *)fn);
	while (n-- > 0)
		sink += fn(leaf, n);
	dlclose(lib);
}

NOINLINE int again(long n)
{
	char left[24];
	outer(n);
	KEEP;
	if (n <= 0)
		return 0;
	snprintf(left, sizeof(left), "%ld", n - 1);
	execv("/proc/self/exe", (char *[]){args[0], "exec", left, NULL});
	return 1;
}

#if defined(__x86_64__) || defined(__i386__)
#define JUMP "jmp"
#elif defined(__riscv)
#define JUMP "j"
#else
#define JUMP "b"
#endif
// One instruction that jumps to itself.
__asm__(".text\n.balign 16\n"
	".globl before_spot\n.type before_spot,%function\nbefore_spot:\n.cfi_startproc\nret\nnop\nnop\nnop\n.cfi_endproc\n.size before_spot,.-before_spot\n"
	".globl spot\n.type spot,%function\nspot:\n.cfi_startproc\n" JUMP " spot\n.cfi_endproc\n.size spot,.-spot\n");
void before_spot(void);
void spot(void);

static long alarms;

NOINLINE void in_signal(long n)
{
	sink += n;
	KEEP;
}

NOINLINE void on_signal(int sig)
{
	in_signal(alarms);
	if (!--alarms)
		_exit(0);
	KEEP;
}

static void signals(long n)
{
	struct sigaction a = {.sa_handler = on_signal};
	alarms = n;
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &(struct itimerval){{0, 2000}, {0, 50000}}, NULL);
	(sink ? before_spot : spot)();
}

static void children(long n)
{
	while (n-- > 0) {
		if (!fork()) {
			outer(n);
			_exit(0);
		}
		wait(NULL);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "calls";
	setvbuf(stdout, NULL, _IOLBF, 0);
	long n = argc > 2 ? atol(argv[2]) : 1;

	args = argv;
	if (!strcmp(what, "deep"))
		sink += down(n);
	else if (!strcmp(what, "spin"))
		spin(n);
	else if (!strcmp(what, "reopen"))
		use_library(argv[2], atol(argv[4])), use_library(argv[3], atol(argv[4]));
	else if (!strcmp(what, "exec"))
		sink += again(n);
	else if (!strcmp(what, "signal"))
		signals(n);
	else if (!strcmp(what, "fork"))
		children(n);
	else {
		useconds_t pause = argc > 3 ? (useconds_t)atol(argv[3]) * 1000 : 0;
		usleep(pause);
		for (scene = strcmp(what, "fault") ? CALLS : FAULT; n > 0; n--)
			outer(n);
		usleep(pause);
	}
	return 0;
}
