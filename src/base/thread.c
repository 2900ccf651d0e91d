// Threads beside the main one. In: what one runs. Out: the thread. Invariant: signals that others send (SIGINT, SIGTERM, SIGCHLD, SIGUSR1...) reach the main thread, whose
// system calls they are to interrupt: one that another thread took would be heeded when that call returns by itself. What a thread's own fault raises stays its own.
#include "base/base.h"
#include <signal.h>

int thread_start(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
	sigset_t others, was;
	sigfillset(&others);
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		sigdelset(&others, own[i]);
	pthread_sigmask(SIG_SETMASK, &others, &was); // a thread begins with its maker's mask
	int rc = pthread_create(t, attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	return rc;
}

struct Each {
	void (*one)(void *arg, size_t i);
	void *arg;
	size_t n, next; // next: taken atomically
};

static void *each_worker(void *arg)
{
	struct Each *e = arg;
	for (;;) {
		size_t i = __atomic_fetch_add(&e->next, 1, __ATOMIC_RELAXED);
		if (i >= e->n)
			return NULL;
		e->one(e->arg, i);
	}
}

#define SIDE_STACK (256u << 10)
#define SIDE_MAX 64u

void side_by_side(size_t n, u32 threads, void (*one)(void *arg, size_t i), void *arg)
{
	struct Each e = {one, arg, n, 0};
	pthread_t t[SIDE_MAX];
	pthread_attr_t small;
	u32 started = 0, most = (u32)MIN(n, MIN(threads, SIDE_MAX));
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, SIDE_STACK);
	while (started + 1 < most && !thread_start(&t[started], &small, each_worker, &e))
		started++;
	pthread_attr_destroy(&small);
	each_worker(&e);
	for (u32 i = 0; i < started; i++)
		pthread_join(t[i], NULL);
}
