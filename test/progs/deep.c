// Programs whose stacks are hard to take. Usage: deep SCENE [N] [MS]. Known answers: test/run/truth.t.
//   recursion N MS  main -> descend, N + 1 times -> spin_leaf. MS milliseconds of work
//   mutual N MS     main -> even -> odd -> ..., N + 1 in all -> spin_leaf
//   coroutines MS   two coroutines of makecontext(3) by turns: coro_body -> coro_leaf
//   probed N        N times main -> probed_mid -> probed_leaf: for uprobes on both
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noipa))
static volatile unsigned long sink;
static struct timespec end;

static int over(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec >= end.tv_nsec);
}

static void end_in(long ms)
{
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += ms / 1000;
	end.tv_nsec += ms % 1000 * 1000000;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
}

NOINLINE static void spin_leaf(void)
{
	for (int i = 0; i < 1000000; i++)
		sink += i;
}

NOINLINE static int descend(int n)
{
	if (!n)
		while (!over())
			spin_leaf();
	int r = n ? descend(n - 1) : 0;
	sink++;
	return r + 1;
}

static int odd(int n);
NOINLINE static int even(int n)
{
	if (!n)
		while (!over())
			spin_leaf();
	int r = n ? odd(n - 1) : 0;
	sink++;
	return r + 1;
}

NOINLINE static int odd(int n)
{
	if (!n)
		while (!over())
			spin_leaf();
	int r = n ? even(n - 1) : 0;
	sink += 2;
	return r + 1;
}

// ---- coroutines
static ucontext_t home, co[2];
NOINLINE static void coro_leaf(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}

NOINLINE static void coro_body(int k)
{
	while (!over()) {
		coro_leaf(20000);
		swapcontext(&co[k], &co[!k]);
		sink++;
	}
}

static void coroutines(void)
{
	for (int k = 0; k < 2; k++) {
		getcontext(&co[k]);
		co[k].uc_stack.ss_size = 1 << 16;
		co[k].uc_stack.ss_sp = malloc(1 << 16);
		co[k].uc_link = &home;
		makecontext(&co[k], (void (*)(void))coro_body, 1, k);
	}
	swapcontext(&home, &co[0]);
}

// ---- probed
NOINLINE static void probed_leaf(void)
{
	for (int i = 0; i < 20; i++)
		sink += i;
}

NOINLINE static long probed_mid(void)
{
	probed_leaf();
	return sink++;
}

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;
	end_in(argc > 3 ? atol(argv[3]) : n);
	if (!strcmp(scene, "recursion"))
		return descend((int)n) == 0;
	if (!strcmp(scene, "mutual"))
		return even((int)n) == 0;
	if (!strcmp(scene, "coroutines"))
		coroutines();
	for (long i = 0; !strcmp(scene, "probed") && i < n; i++) {
		probed_mid();
		sink++;
	}
	return 0;
}
