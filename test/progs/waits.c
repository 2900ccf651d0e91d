// Workloads with known answers for the tools' tests. Threads have names, functions are not inlined, there are no frame pointers.
// usage: waits sleep N MS       thread "napper": nap_outer -> nap_inner sleeps N times MS milliseconds
//        waits lock N MS        "waiter" waits in want_lock N times MS milliseconds for the mutex that "holder" gives up in release_lock
//        waits calls N          "caller" calls counted_call N times, from twice_a for every third call, from twice_b else
//        waits chain N MS       chain1 sleeps MS and wakes chain2 through a pipe, that chain3 through a futex, that chain4 through a pipe, N times
//        waits spin MS          "spinner" runs spin_here for MS milliseconds of CPU time
//        waits mix MS           all at once for MS milliseconds: three "spinner" on one CPU, "burner", "napper" of 10 ms naps, "holder" and "waiter",
//                               "maker", which makes a "child" of 2 ms of CPU time and a nap of 5 ms after the other
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// A fourth argument is appended to the names, so that tests that run at the same time do not see one another's threads.
// What napper, waiter and chain4 measured of their waits themselves is written to files of their names in the current folder, in microseconds.
#define NOINLINE __attribute__((noinline, noclone))
#define KEEP __asm__ volatile("" ::: "memory") // no tail call

static int rounds, ms;
static const char *suffix = "";
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t held, done;
static volatile unsigned long sink;

static unsigned long now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000000 + (unsigned long)t.tv_nsec / 1000;
}

static void call_me(const char *name)
{
	char text[16];
	snprintf(text, sizeof(text), "%s%s", name, suffix);
	prctl(PR_SET_NAME, text);
}

// Into a file of the thread's name
static void note(unsigned long us)
{
	char name[16];
	prctl(PR_GET_NAME, name);
	FILE *f = fopen(name, "w");
	if (f) {
		fprintf(f, "%lu\n", us);
		fclose(f);
	}
}

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
	unsigned long begin = now_us();
	call_me("napper");
	for (int i = 0; i < rounds; i++)
		nap_outer(ms);
	note(now_us() - begin);
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
	call_me("holder");
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
	unsigned long sum = 0;
	call_me("waiter");
	for (int i = 0; i < rounds; i++) {
		sem_wait(&held);
		unsigned long begin = now_us();
		want_lock();
		sum += now_us() - begin;
		pthread_mutex_unlock(&lock);
		sem_post(&done);
	}
	note(sum);
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
	call_me("caller");
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
	call_me("spinner");
	while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms) {
		spin_here();
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	}
	return arg;
}

static void *spinner_on_0(void *arg)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
	call_me("spinner");
	for (;;)
		spin_here();
	return arg;
}

static void *burner(void *arg)
{
	call_me("burner");
	for (;;)
		spin_here();
	return arg;
}

static void *child(void *arg)
{
	call_me("child");
	struct timespec t = {0};
	while (t.tv_nsec < 2000000) {
		spin_here();
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	}
	nap_inner(5);
	return arg;
}

static void *maker(void *arg)
{
	call_me("maker");
	for (;;) {
		pthread_t t;
		if (pthread_create(&t, NULL, child, NULL))
			exit(1);
		pthread_join(t, NULL);
	}
	return arg;
}

static void mix(int milliseconds)
{
	static void *(*const all[])(void *) = {spinner_on_0, spinner_on_0, spinner_on_0, burner, napper, holder, waiter, maker};
	pthread_t t;
	rounds = 1000000;
	ms = 10;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (pthread_create(&t, NULL, all[i], NULL))
			exit(1);
	nap_outer(milliseconds);
	exit(0);
}

NOINLINE void pass_on(int to)
{
	if (write(to, "x", 1) != 1)
		_exit(1);
	KEEP;
}

static sem_t *link3; // in memory the processes share

NOINLINE void post_on(void)
{
	sem_post(link3);
	KEEP;
}

static void wait_for(int n, int from)
{
	char c;
	if (n == 1)
		nap_outer(ms);
	else if (n == 3)
		while (sem_wait(link3))
			;
	else if (read(from, &c, 1) != 1)
		_exit(1);
}

static void chain_link(int n, int from, int to)
{
	char name[16];
	unsigned long sum = 0;
	snprintf(name, sizeof(name), "chain%d", n);
	call_me(name);
	for (int i = 0; i < rounds; i++) {
		unsigned long begin = now_us();
		wait_for(n, from);
		sum += now_us() - begin;
		if (n == 2)
			post_on();
		else if (to >= 0)
			pass_on(to);
	}
	note(sum);
	_exit(0);
}

static void chain(void)
{
	int from = -1;
	link3 = mmap(NULL, sizeof(*link3), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (link3 == MAP_FAILED || sem_init(link3, 1, 0))
		exit(1);
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
	suffix = argc > 4 ? argv[4] : "";
	sem_init(&held, 0, 0);
	sem_init(&done, 0, 0);
	if (!strcmp(what, "sleep"))
		run(napper, &t);
	else if (!strcmp(what, "lock")) {
		run(waiter, &u);
		run(holder, &t);
		pthread_join(u, NULL); // it notes its time behind the holder's last round
	} else if (!strcmp(what, "calls"))
		run(caller, &t);
	else if (!strcmp(what, "spin")) {
		ms = rounds;
		run(spinner, &t);
	} else if (!strcmp(what, "mix")) {
		mix(rounds);
	} else if (!strcmp(what, "chain")) {
		chain();
		return 0;
	} else {
		fprintf(stderr, "usage: waits sleep|lock|calls|chain|spin|mix N [MS [SUFFIX]]\n");
		return 2;
	}
	pthread_join(t, NULL);
	return 0;
}
