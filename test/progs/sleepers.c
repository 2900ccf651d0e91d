// Threads that sleep, each in its own way, under a known chain: main or clone -> sleeper -> via_a -> via_b -> in_KIND -> the system call.
// usage: sleepers kinds MS    threads "nanosleep", "futex", "epoll", "poll", "pipe", "wait4": waits of MS milliseconds, one after the other
//        sleepers many N      N threads "many" that sleep for good; says "ready" when all do
//        sleepers busy N      "busy", which never sleeps, and N threads "short", whose sleeps are of 50 us in three chains in turn:
//                             shorts -> via_a -> via_b -> in_nanosleep, shorts -> via_b -> in_nanosleep, shorts -> via_b -> in_poll
// No frame pointers, nothing inlined.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP __asm__ volatile("" ::: "memory") // no tail call

static int ms;
static int pipe_fds[2], idle_fds[2], epoll_fd;
static volatile unsigned long sink;

static struct timespec span(long microseconds)
{
	return (struct timespec){microseconds / 1000000, microseconds % 1000000 * 1000};
}

NOINLINE void in_nanosleep(long us)
{
	struct timespec t = span(us);
	nanosleep(&t, NULL);
	KEEP;
}

NOINLINE void in_futex(long us)
{
	static int word;
	struct timespec t = span(us);
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
	KEEP;
}

NOINLINE void in_epoll(long us)
{
	struct epoll_event e;
	epoll_wait(epoll_fd, &e, 1, (int)(us / 1000));
	KEEP;
}

NOINLINE void in_poll(long us)
{
	struct pollfd p = {idle_fds[0], POLLIN, 0};
	poll(&p, 1, (int)(us / 1000));
	KEEP;
}

NOINLINE void in_pipe(long us)
{
	char c;
	if (read(pipe_fds[0], &c, 1) != 1)
		_exit(1);
	KEEP;
}

NOINLINE void in_wait4(long us)
{
	pid_t child = fork();
	if (!child) {
		prctl(PR_SET_NAME, "child");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		usleep((useconds_t)us);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	KEEP;
}

struct Kind {
	const char *name;
	void (*wait)(long us);
};
static const struct Kind kinds[] = {{"nanosleep", in_nanosleep}, {"futex", in_futex}, {"epoll", in_epoll}, {"poll", in_poll}, {"pipe", in_pipe}, {"wait4", in_wait4}};

NOINLINE void via_b(const struct Kind *k, long us)
{
	k->wait(us);
	KEEP;
}

NOINLINE void via_a(const struct Kind *k, long us)
{
	char room[1500]; // the frames lie in several pieces of memory
	memset(room, (int)us, sizeof(room));
	__asm__ volatile("" ::"r"(room) : "memory");
	via_b(k, us);
	KEEP;
}

static void *sleeper(void *arg)
{
	const struct Kind *k = arg;
	prctl(PR_SET_NAME, k->name);
	for (;;)
		via_a(k, ms * 1000L);
}

static void *writer(void *arg)
{
	prctl(PR_SET_NAME, "writer");
	for (;;) {
		usleep((useconds_t)ms * 1000);
		if (write(pipe_fds[1], "x", 1) != 1)
			_exit(1);
	}
}

static pthread_barrier_t all;

static void *many(void *arg)
{
	prctl(PR_SET_NAME, "many");
	pthread_barrier_wait(&all);
	for (;;)
		via_a(&kinds[0], 1000000000L);
}

static void *busy(void *arg)
{
	prctl(PR_SET_NAME, "busy");
	for (;;)
		sink++;
}

static void *shorts(void *arg)
{
	prctl(PR_SET_NAME, "short");
	for (;;) {
		via_a(&kinds[0], 50);
		via_b(&kinds[0], 50);
		via_b(&kinds[3], 1000);
	}
}

static void start(void *(*fn)(void *), const void *arg)
{
	pthread_t t;
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 64 << 10);
	if (pthread_create(&t, &a, fn, (void *)arg)) {
		perror("pthread_create");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pipe(pipe_fds) || pipe(idle_fds) || (epoll_fd = epoll_create1(0)) < 0)
		return 1;
	if (!strcmp(what, "kinds") && n > 0) {
		ms = n;
		start(writer, NULL);
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			start(sleeper, &kinds[i]);
	} else if (!strcmp(what, "many") && n > 0) {
		pthread_barrier_init(&all, NULL, (unsigned)n + 1);
		for (int i = 0; i < n; i++)
			start(many, NULL);
		pthread_barrier_wait(&all);
		usleep(300000); // from the barrier to their sleep
		puts("ready");
	} else if (!strcmp(what, "busy") && n > 0) {
		start(busy, NULL);
		for (int i = 0; i < n; i++)
			start(shorts, NULL);
	} else {
		return 2;
	}
	for (;;)
		pause();
}
