// The demo's workload: three threads that spend their time in known functions, in known shares, without frame pointers.
// usage: workload SECONDS
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static volatile int stop;

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE uint64_t hash_block(const unsigned char *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325ull;
	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}

NOINLINE uint64_t checksum_file(unsigned char *buf, size_t n)
{
	uint64_t h = 0;
	for (int i = 0; i < 64; i++) {
		buf[i] = (unsigned char)h;
		h ^= hash_block(buf, n);
	}
	return h;
}

static int cmp(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

NOINLINE void sort_table(uint32_t *v, size_t n)
{
	uint32_t seed = 1;
	for (size_t i = 0; i < n; i++)
		v[i] = seed = seed * 1664525u + 1013904223u;
	qsort(v, n, sizeof(*v), cmp);
}

NOINLINE int stat_many(void)
{
	struct stat st;
	int n = 0;
	for (int i = 0; i < 1000; i++)
		n += stat("/etc/passwd", &st) == 0;
	return n;
}

NOINLINE int walk_tree(int depth)
{
	if (!depth)
		return stat_many();
	int n = walk_tree(depth - 1);
	__asm__ volatile("" ::: "memory"); // no tail call
	return n + 1;
}

static void *hasher(void *arg)
{
	unsigned char *buf = calloc(1, 1 << 16);
	while (!stop)
		checksum_file(buf, 1 << 16);
	free(buf);
	return arg;
}

static void *sorter(void *arg)
{
	uint32_t *v = malloc(sizeof(*v) << 14);
	while (!stop)
		sort_table(v, 1 << 14);
	free(v);
	return arg;
}

static void *walker(void *arg)
{
	while (!stop)
		walk_tree(20);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[3];
	void *(*const fns[])(void *) = {hasher, sorter, walker};
	struct timespec left = {argc > 1 ? atoi(argv[1]) : 3, 0};
	for (int i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, fns[i], NULL)) {
			perror("pthread_create");
			return 1;
		}
	while (nanosleep(&left, &left))
		;
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
