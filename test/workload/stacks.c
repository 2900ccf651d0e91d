// A program whose threads stand still at a known place, for the stack tests. Usage: stacks SCENE. Prints "ready" when it is there.
// Built by the tests in several ways (static, not position independent, without frame pointers).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void park(void)
{
	struct timespec t = {1000, 0};
	static int said;
	if (!__atomic_fetch_add(&said, 1, __ATOMIC_SEQ_CST))
		puts("ready");
	fflush(stdout);
	for (;;)
		nanosleep(&t, NULL);
}

static volatile int sink;
__attribute__((noinline)) static int deep(int n)
{
	volatile char pad[40];
	pad[0] = (char)n;
	if (!n)
		park();
	int r = deep(n - 1) + pad[0];
	sink += r;
	return r;
}

// A frame whose size is known only at run time: CFA by frame pointer.
__attribute__((noinline)) static int vla(int n)
{
	volatile char a[n];
	a[0] = 1;
	a[n - 1] = 2;
	sink += deep(3);
	return a[0] + a[n - 1];
}

// A frame aligned beyond the ABI's: CFA by expression, saved registers relative to the frame pointer.
__attribute__((noinline)) static int aligned(int n)
{
	volatile int a[64] __attribute__((aligned(64)));
	for (int i = 0; i < 64; i++)
		a[i] = n;
	int r = vla(n + 100);
	for (int i = 0; i < 64; i++)
		r += a[i];
	return r;
}

static void on_signal(int sig)
{
	deep(2);
}

static int cmp(const void *a, const void *b)
{
	static int n;
	if (n++ == 50)
		raise(SIGUSR1);
	return *(const int *)a - *(const int *)b;
}

// leaf() is probed by the tests; outer() and middle() have pending return probes.
__attribute__((noinline)) int leaf(int n)
{
	sink += n;
	__asm__ volatile("" ::: "memory");
	return n + 1;
}
__attribute__((noinline)) int middle(int n)
{
	int r = leaf(n) * 2;
	sink += r;
	return r;
}
__attribute__((noinline)) int outer(int n)
{
	int r = middle(n) + 1;
	sink += r;
	return r;
}

// A different way to leaf() for each number below 2^bits.
__attribute__((noinline)) static int path(unsigned i, int bits);
__attribute__((noinline)) static int left(unsigned i, int bits)
{
	int r = path(i, bits) + 1;
	sink += r;
	return r;
}
__attribute__((noinline)) static int path(unsigned i, int bits)
{
	int r;
	if (!bits)
		r = leaf((int)i);
	else if (i & 1)
		r = left(i >> 1, bits - 1) + 1;
	else
		r = path(i >> 1, bits - 1) + 2;
	sink += r;
	return r;
}

static void *thread(void *arg)
{
	deep((int)(long)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "deep";
	if (!strcmp(scene, "deep")) {
		deep(argc > 2 ? atoi(argv[2]) : 10);
	} else if (!strcmp(scene, "frames")) {
		aligned(argc);
	} else if (!strcmp(scene, "signal")) {
		int v[1000];
		signal(SIGUSR1, on_signal);
		for (int i = 0; i < 1000; i++)
			v[i] = rand();
		qsort(v, 1000, sizeof(int), cmp);
	} else if (!strcmp(scene, "altstack")) {
		stack_t ss = {malloc(65536), 0, 65536};
		struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
		sigaltstack(&ss, NULL);
		sigaction(SIGUSR1, &sa, NULL);
		raise(SIGUSR1);
	} else if (!strcmp(scene, "threads")) {
		for (long i = 0; i < 8; i++) {
			pthread_t t;
			pthread_create(&t, NULL, thread, (void *)(i + 3));
		}
		usleep(100000);
		park();
	} else if (!strcmp(scene, "paths")) { // N different stacks, then the same again
		puts("ready");
		fflush(stdout);
		getchar();
		for (int k = 0; k < 2; k++)
			for (int i = 0; i < atoi(argv[2]); i++)
				path((unsigned)i, 18);
		puts("done");
		fflush(stdout);
	} else if (!strcmp(scene, "calls")) {
		puts("ready");
		fflush(stdout);
		for (;;) {
			outer(argc);
			usleep(2000);
		}
	} else if (!strcmp(scene, "walk")) { // leaf() at the end of path() N deep, again and again
		puts("ready");
		fflush(stdout);
		for (unsigned i = 0;; i++)
			path(i, atoi(argv[2]));
	} else if (!strcmp(scene, "dlopen")) { // calls park-like code of a library loaded now
		puts("ready");
		fflush(stdout);
		getchar();
		void *lib = dlopen(argv[2], RTLD_NOW);
		void (*fn)(void) = lib ? (void (*)(void))dlsym(lib, "in_library") : NULL;
		if (fn)
			fn();
	} else if (!strcmp(scene, "clock")) { // most of the time in the vDSO
		struct timespec t;
		puts("ready");
		fflush(stdout);
		for (;;)
			clock_gettime(CLOCK_MONOTONIC, &t);
	} else if (!strcmp(scene, "spin")) { // many different leaf places
		puts("ready");
		fflush(stdout);
		for (int i = 0;; i++)
			sink += snprintf((char[64]){0}, 64, "%d %f", i, i * 1.5);
	}
	return sink;
}
