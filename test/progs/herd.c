// Many processes with known counts, for test/workload/many.py: outer -> inner -> a system call, in each. No frame pointers, nothing inlined.
// usage: herd wait N          N processes that wait; says "ready" when there are so many. At SIGUSR1 each calls getppid once and waits for good; "called N" when all have
//        herd exec N [SIDE]   executes itself N times, SIDE (2) at once, each calls getsid once; says "execs N"
//        herd once            calls getsid
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP __asm__ volatile("" ::: "memory") // no tail call

extern char **environ;

NOINLINE void inner(long nr)
{
	syscall(nr, 0);
	KEEP;
}

NOINLINE void outer(long nr)
{
	inner(nr);
	KEEP;
}

static void one_byte(int fd)
{
	char c;
	if (read(fd, &c, 1) != 1)
		_exit(1);
}

static void child(int go, int done)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(done, "x", 1) != 1)
		_exit(1);
	one_byte(go);
	outer(SYS_getppid);
	if (write(done, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static int wait_for_all(long n)
{
	int go[2], done[2], sig;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (pipe(go) || pipe(done))
		return 1;
	for (long i = 0; i < n; i++) {
		pid_t p = fork();
		if (p < 0) {
			perror("fork");
			return 1;
		}
		if (!p)
			child(go[0], done[1]);
	}
	for (long i = 0; i < n; i++)
		one_byte(done[0]);
	puts("ready");
	sigwait(&set, &sig);
	for (long i = 0; i < n; i++)
		if (write(go[1], "x", 1) != 1)
			return 1;
	for (long i = 0; i < n; i++)
		one_byte(done[0]);
	printf("called %ld\n", n);
	for (;;)
		pause();
}

static int execute(char *self, long n, long side)
{
	char *args[] = {self, "once", NULL};
	long started = 0, ended = 0;
	while (ended < n) {
		pid_t p;
		int status;
		while (started < n && started - ended < side) {
			if (posix_spawn(&p, self, NULL, NULL, args, environ))
				return 1;
			started++;
		}
		if (wait(&status) < 0 || status)
			return 1;
		ended++;
	}
	printf("execs %ld\n", ended);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "once")) {
		outer(SYS_getsid);
		return 0;
	}
	if (n <= 0)
		return 2;
	if (!strcmp(what, "wait"))
		return wait_for_all(n);
	return strcmp(what, "exec") ? 2 : execute(argv[0], n, argc > 3 ? atol(argv[3]) : 2);
}
