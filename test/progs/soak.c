// Storms with known counts, for bench/soak. usage: soak SECONDS RATE PROGRAM [LIBRARY...]
// Four processes for SECONDS: "soakcalls" makes RATE system calls (getppid) a second below outer() -> inner(), "soakfork" forks children that only call getpgid and end,
// "soakexec" starts PROGRAM, "soakload" opens and closes the libraries in turn, a call of getsid each time. At the end it prints "calls N forks N execs N loads N".
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP __asm__ volatile("" ::: "memory") // no tail call
#define STEP_NS 1000000ull // the rate is kept in steps of a millisecond

static volatile long sink;

static unsigned long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000ull + (unsigned long long)t.tv_nsec;
}

NOINLINE void inner(void)
{
	sink += syscall(SYS_getppid);
	KEEP;
}

NOINLINE void outer(void)
{
	inner();
	KEEP;
}

static unsigned long calls(unsigned long long end, unsigned long rate, char **args, int nargs)
{
	unsigned long long start = now();
	unsigned long n = 0;
	for (unsigned long long t; (t = now()) < end;) {
		unsigned long due = (unsigned long)((double)(t - start) * (double)rate / 1e9);
		for (; n < due; n++)
			outer();
		usleep(STEP_NS / 1000);
	}
	return n;
}

static unsigned long forks(unsigned long long end, unsigned long rate, char **args, int nargs)
{
	unsigned long n = 0;
	for (; now() < end; n++) {
		pid_t p = fork();
		if (!p) {
			syscall(SYS_getpgid, 0);
			_exit(0);
		}
		if (p < 0)
			exit(1);
		waitpid(p, NULL, 0);
	}
	return n;
}

static unsigned long execs(unsigned long long end, unsigned long rate, char **args, int nargs)
{
	unsigned long n = 0;
	for (; now() < end; n++) {
		pid_t p = vfork();
		if (!p) {
			execl(args[0], "soaktrue", (char *)NULL);
			_exit(1);
		}
		if (p < 0)
			exit(1);
		waitpid(p, NULL, 0);
	}
	return n;
}

static unsigned long loads(unsigned long long end, unsigned long rate, char **args, int nargs)
{
	unsigned long n = 0;
	while (nargs > 1 && now() < end) {
		void *h = dlopen(args[1 + n % (unsigned)(nargs - 1)], RTLD_NOW | RTLD_LOCAL);
		if (!h)
			exit(1);
		syscall(SYS_getsid, 0);
		dlclose(h);
		n++;
	}
	return n;
}

int main(int argc, char **argv)
{
	static const struct { const char *name, *what; unsigned long (*run)(unsigned long long, unsigned long, char **, int); } parts[] = {
		{"soakcalls", "calls", calls}, {"soakfork", "forks", forks}, {"soakexec", "execs", execs}, {"soakload", "loads", loads}};
	enum { N = sizeof(parts) / sizeof(*parts) };
	if (argc < 4)
		return 2;
	unsigned long rate = strtoul(argv[2], NULL, 10);
	unsigned long long end = now() + (unsigned long long)(atof(argv[1]) * 1e9);
	unsigned long *done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int bad = done == MAP_FAILED, status;
	for (int i = 0; !bad && i < N; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, parts[i].name);
		done[i] = parts[i].run(end, rate, argv + 3, argc - 3);
		_exit(0);
	}
	for (int i = 0; !bad && i < N; i++)
		bad |= wait(&status) < 0 || status != 0;
	for (int i = 0; !bad && i < N; i++)
		printf("%s %lu%c", parts[i].what, done[i], i + 1 < N ? ' ' : '\n');
	return bad;
}
