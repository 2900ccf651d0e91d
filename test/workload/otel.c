// Threads that publish the request they work on as OpenTelemetry's OTEP 4947 says, and how often each request was worked on.
// usage: otel [LIBRARY]     prints the lines that a map keyed by trace and span has at the end; LIBRARY is loaded at run time
// -DVARIABLE: the file has the variable (the program itself, or a library of its own: -DVARIABLE -DONLY).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct __attribute__((packed)) Record {
	uint8_t trace[16], span[8], valid, flags;
	uint16_t size;
};

#ifdef VARIABLE
__thread uint64_t others[11] = {1}; // the variable is not the first
__thread struct Record *volatile otel_thread_ctx_v1;
__attribute__((noinline)) void publish(struct Record *r)
{
	others[3]++;
	otel_thread_ctx_v1 = r;
}
#else
void publish(struct Record *r) __attribute__((weak));
#endif

#ifndef ONLY
enum { THREADS = 4, REQUESTS = 5 };
static void (*pub)(struct Record *);
volatile int sink;

__attribute__((noinline)) void warm(void) { sink++; }
__attribute__((noinline)) void work(int n) { sink += n; }

static void hex(const uint8_t *p, int n, char *out)
{
	for (int i = 0; i < n; i++)
		sprintf(out + 2 * i, "%02x", p[i]);
}

static void *thread(void *arg)
{
	int t = (int)(intptr_t)arg;
	struct Record r = {.flags = 1};
	char trace[33], span[17];
	work(0); // none yet: this thread has never used the variable
	for (int q = 0; q < REQUESTS; q++) {
		for (int i = 0; i < 16; i++)
			r.trace[i] = (uint8_t)(i * 29 + t * 16 + q + 1);
		for (int i = 0; i < 8; i++)
			r.span[i] = (uint8_t)(0xf0 - i * 31 - t * 16 - q);
		r.valid = 1;
		pub(&r);
		for (int i = 0; i < 10 * (q + 1); i++)
			work(i);
		r.valid = 0; // being written
		work(0);
		pub(NULL);
		work(0);
		hex(r.trace, 16, trace);
		hex(r.span, 8, span);
		printf("@[%s, %s]: %d\n", trace, span, 10 * (q + 1));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t id[THREADS];
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	*(void **)&pub = lib ? dlsym(lib, "publish") : (void *)publish;
	if (!pub) {
		fprintf(stderr, "otel: there is no variable: %s\n", dlerror());
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	int rounds = getenv("WARM") ? atoi(getenv("WARM")) : 20;
	for (int i = 0; i < rounds; i++) { // a tracer learns of a new process by its first event
		warm();
		usleep(20000);
	}
	for (int t = 0; t < THREADS; t++)
		pthread_create(&id[t], NULL, thread, (void *)(intptr_t)t);
	for (int t = 0; t < THREADS; t++)
		pthread_join(id[t], NULL);
	printf("@[, ]: %d\n", THREADS * (1 + 2 * REQUESTS));
	struct Record *bad = (struct Record *)8; // no memory
	pub(bad);
	warm();
	pub(NULL);
	return 0;
}
#endif
