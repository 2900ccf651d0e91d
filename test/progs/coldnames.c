// coldnames FILE N: opens N names that lie in pages of FILE nobody has used yet, "/nosuch/0" on.
// coldnames FILE kill|group|exec|leave: opens FIFOs by such names, where nobody comes, in a process that is killed, in threads of one that ends or becomes another program,
// in one that is left behind (its number is in FILE.pid).
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, FIFOS = 4, WAIT_US = 150000 };

static void fill(const char *path, const char *what, int n)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char page[PAGE];
	for (int i = 0; i < n; i++) {
		memset(page, 0, sizeof(page));
		snprintf(page, sizeof(page), n == FIFOS ? "%s" : "%s%d", what, i);
		if (write(fd, page, PAGE) != PAGE)
			exit(1);
	}
	close(fd);
}

// A mapping of its own, so that no fault brings the page of another one along.
static const char *cold(int fd, int i)
{
	return mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, (off_t)i * PAGE);
}

static void *opens(void *name)
{
	int fd = open(name, O_RDONLY);
	return fd < 0 ? NULL : name;
}

static void left_behind(const char *file, const char *name)
{
	pid_t pid = fork();
	if (!pid) {
		fclose(stdout);
		fclose(stderr);
		opens((void *)name);
		_exit(0);
	}
	char path[512];
	snprintf(path, sizeof(path), "%s.pid", file);
	FILE *f = fopen(path, "w");
	fprintf(f, "%d\n", pid);
	fclose(f);
}

static void killed(const char *name)
{
	pid_t pid = fork();
	if (!pid) {
		opens((void *)name);
		_exit(0);
	}
	usleep(WAIT_US);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 0;
	char fifo[512];
	if (argc < 3)
		return 1;
	snprintf(fifo, sizeof(fifo), "%s.fifo", argv[1]);
	mkfifo(fifo, 0600);
	fill(argv[1], n ? "/nosuch/" : fifo, n ? n : FIFOS);
	int fd = open(argv[1], O_RDONLY);
	for (int i = 0; i < n; i++)
		opens((void *)cold(fd, i));
	for (int i = 0; !n && i < FIFOS; i++) {
		const char *name = cold(fd, i);
		pthread_t t;
		if (!strcmp(argv[2], "kill"))
			killed(name);
		else if (strcmp(argv[2], "leave"))
			pthread_create(&t, NULL, opens, (void *)name);
		else if (!i)
			left_behind(argv[1], name);
	}
	usleep(n ? 0 : WAIT_US);
	unlink(fifo);
	if (!strcmp(argv[2], "exec"))
		execl("/bin/true", "true", NULL);
	return 0;
}
