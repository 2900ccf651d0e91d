// Workloads with known answers for the tools' tests. Threads have names, functions are not inlined, there are no frame pointers.
// usage: waits sleep N MS       thread "napper": nap_outer -> nap_inner sleeps N times MS milliseconds
//        waits lock N MS        "waiter" waits in want_lock N times MS milliseconds for the mutex that "holder" gives up in release_lock
//        waits calls N          "caller" calls counted_call N times, from twice_a for every third call, from twice_b else
//        waits chain N MS       chain1 sleeps MS and wakes chain2 through a pipe, that chain3, that chain4, N times
//        waits spin MS          "spinner" runs spin_here for MS milliseconds of CPU time
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP __asm__ volatile("" ::: "memory") // no tail call

static int rounds, ms;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t held, done;
static volatile unsigned long sink;

NOINLINE void nap_inner(int milliseconds)
{
	struct timespec t = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t))
		;
	KEEP;
}

NOINLINE void nap_outer(int milliseconds)
{
	nap_inner(milliseconds);
	KEEP;
}

static void *napper(void *arg)
{
	prctl(PR_SET_NAME, "napper");
	for (int i = 0; i < rounds; i++)
		nap_outer(ms);
	return arg;
}

NOINLINE void want_lock(void)
{
	pthread_mutex_lock(&lock);
	KEEP;
}

NOINLINE void release_lock(void)
{
	pthread_mutex_unlock(&lock);
	KEEP;
}

static void *holder(void *arg)
{
	prctl(PR_SET_NAME, "holder");
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&lock);
		sem_post(&held);
		nap_outer(ms);
		release_lock();
		sem_wait(&done);
	}
	return arg;
}

static void *waiter(void *arg)
{
	prctl(PR_SET_NAME, "waiter");
	for (int i = 0; i < rounds; i++) {
		sem_wait(&held);
		want_lock();
		pthread_mutex_unlock(&lock);
		sem_post(&done);
	}
	return arg;
}

NOINLINE void counted_call(int i)
{
	sink += (unsigned long)i;
	KEEP;
}

NOINLINE void twice_a(int i)
{
	counted_call(i);
	KEEP;
}

NOINLINE void twice_b(int i)
{
	counted_call(i);
	KEEP;
}

static void *caller(void *arg)
{
	prctl(PR_SET_NAME, "caller");
	for (int i = 0; i < rounds; i++)
		(i % 3 ? twice_b : twice_a)(i);
	return arg;
}

NOINLINE void spin_here(void)
{
	for (int i = 0; i < 100000; i++)
		sink += (unsigned long)i;
}

static void *spinner(void *arg)
{
	struct timespec t = {0};
	prctl(PR_SET_NAME, "spinner");
	while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms) {
		spin_here();
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	}
	return arg;
}

NOINLINE void pass_on(int to)
{
	if (write(to, "x", 1) != 1)
		_exit(1);
	KEEP;
}

static void chain_link(int n, int from, int to)
{
	char name[16], c;
	snprintf(name, sizeof(name), "chain%d", n);
	prctl(PR_SET_NAME, name);
	for (int i = 0; i < rounds; i++) {
		if (from < 0)
			nap_outer(ms);
		else if (read(from, &c, 1) != 1)
			_exit(1);
		if (to >= 0)
			pass_on(to);
	}
	_exit(0);
}

static void chain(void)
{
	int from = -1;
	for (int n = 1; n <= 4; n++) {
		int p[2] = {-1, -1};
		if (n < 4 && pipe(p))
			exit(1);
		if (!fork())
			chain_link(n, from, p[1]);
		from = p[0];
	}
	while (wait(NULL) > 0)
		;
}

static void run(void *(*fn)(void *), pthread_t *t)
{
	if (pthread_create(t, NULL, fn, NULL))
		exit(1);
}

int main(int argc, char **argv)
{
	pthread_t t, u;
	const char *what = argc > 1 ? argv[1] : "";
	rounds = argc > 2 ? atoi(argv[2]) : 1;
	ms = argc > 3 ? atoi(argv[3]) : 100;
	sem_init(&held, 0, 0);
	sem_init(&done, 0, 0);
	if (!strcmp(what, "sleep"))
		run(napper, &t);
	else if (!strcmp(what, "lock")) {
		run(waiter, &u);
		run(holder, &t);
	} else if (!strcmp(what, "calls"))
		run(caller, &t);
	else if (!strcmp(what, "spin")) {
		ms = rounds;
		run(spinner, &t);
	} else if (!strcmp(what, "chain")) {
		chain();
		return 0;
	} else {
		fprintf(stderr, "usage: waits sleep|lock|calls|chain|spin N [MS]\n");
		return 2;
	}
	pthread_join(t, NULL);
	return 0;
}
