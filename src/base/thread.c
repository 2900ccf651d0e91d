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
