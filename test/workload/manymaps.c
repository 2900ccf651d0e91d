// A program with very many executable mappings: single pages of a few libraries' code by turns, so that none can be merged with the next. It runs in all of
// them, and its thread is called what the function is called that runs: a sample's `comm` is the truth about its stack.
// usage: manymaps TEMPLATE DIR N MS [wait]
// TEMPLATE is plugin.c as a library. N: mappings. MS: milliseconds of a processor. wait: for a line of input once all is mapped.
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

int main(int argc, char **argv)
{
	char path[4096], name[16];
	int fd[FILES];
	if (argc < 5)
		return 2;
	unsigned long n = strtoul(argv[3], NULL, 0), off = 0;
	double end = atof(argv[4]);
	plugin_template(argv[1]);
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/%04d.so", argv[2], i);
		plugin_make(path, i);
		fd[i] = open(path, O_RDONLY);
		void *lib = i ? NULL : dlopen(path, RTLD_NOW), *entry = lib ? dlsym(lib, "entry") : NULL;
		if (entry)
			off = plugin_offset((unsigned long)entry);
	}
	char *at = mmap(NULL, n * 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!off || at == MAP_FAILED)
		return 3;
	for (unsigned long i = 0; i < n; i++)
		if (mmap(at + i * 2 * PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd[i % FILES], (long)(off & ~(PAGE - 1))) == MAP_FAILED) {
			perror("mmap");
			return 3;
		}
	puts("ready");
	fflush(stdout);
	if (argc > 5)
		getchar();
	end += cpu_ms();
	for (unsigned long i = n - 1, k = 0; cpu_ms() < end; k++, i = (i + n - 7) % n) { // each of the last ones, then all
		if (k == 200 && cpu_ms() < end / 2)
			i = n - 1, k = 0;
		long (*entry)(long) = (long (*)(long))(at + i * 2 * PAGE + (off & (PAGE - 1)));
		snprintf(name, sizeof(name), "plug_%04d", (int)(i % FILES));
		prctl(PR_SET_NAME, name);
		entry(100000);
		prctl(PR_SET_NAME, "manymaps");
	}
	return 0;
}
