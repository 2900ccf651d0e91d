// The ways in which code at an address becomes other code: a file mapped over another, moved by mremap(2), over it memory with code made at run time, and
// again a file. The thread is called what the function is called that runs, "made" for code in memory: a sample's `comm` is the truth about its stack.
// usage: moves TEMPLATE DIR ROUNDS MS       TEMPLATE is plugin.c as a library. MS: milliseconds of a processor that each of three calls a round takes.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include "plugins.h"

#define FILES 8
#define PAGE 4096ul

static unsigned long entry_at; // offset of the function in its page

static void call(const char *name, char *page, double ms)
{
	long (*entry)(long) = (long (*)(long))(page + entry_at);
	prctl(PR_SET_NAME, name);
	for (double end = cpu_ms() + ms; cpu_ms() < end;)
		entry(100000);
	prctl(PR_SET_NAME, "moves");
}

static void need(int ok)
{
	if (!ok) {
		perror("moves");
		exit(3);
	}
}

int main(int argc, char **argv)
{
	char path[4096], name[16];
	int fd[FILES];
	long page_off = 0;
	if (argc < 5)
		return 2;
	int rounds = atoi(argv[3]);
	double ms = atof(argv[4]);
	plugin_template(argv[1]);
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/%04d.so", argv[2], i);
		plugin_make(path, i);
		fd[i] = open(path, O_RDONLY);
		void *lib = i ? NULL : dlopen(path, RTLD_NOW), *entry = lib ? dlsym(lib, "entry") : NULL;
		if (entry) {
			unsigned long off = plugin_offset((unsigned long)entry);
			page_off = (long)(off & ~(PAGE - 1));
			entry_at = off & (PAGE - 1);
		}
	}
	char *at = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *to = at + 2 * PAGE;
	need(at != MAP_FAILED && page_off);
	for (int r = 0; r < rounds; r++) {
		snprintf(name, sizeof(name), "plug_%04d", r % FILES);
		need(mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd[r % FILES], page_off) == at);
		call(name, at, ms);
		need(mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
		call(name, to, ms);
		need(mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0) == at);
		memcpy(at, to, PAGE);
		need(!mprotect(at, PAGE, PROT_READ | PROT_EXEC));
		call("made", at, ms);
	}
	return 0;
}
