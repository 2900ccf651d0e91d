// A program that loads, calls and closes plug-ins in turn, all of one size and mostly at one address. Each plug-in's time is the same, and the thread is
// called what the plug-in's function is called while that function runs: a sample's `comm` is the truth about its stack.
// usage: plugins TEMPLATE DIR N ROUNDS MS [fresh|keep|copies]
// TEMPLATE is plugin.c as a library; its function's name, plug_0000, is made plug_NNNN in N copies. MS: milliseconds of a processor that a call takes.
// keep: none is closed. copies: nor are they renamed.
// fresh: each copy is made just before it is loaded and removed when it has been, so that inode numbers come back.
#include <dlfcn.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "plugins.h"

int main(int argc, char **argv)
{
	if (argc < 6)
		return 2;
	int n = atoi(argv[3]), rounds = atoi(argv[4]), fresh = argc > 6 && !strcmp(argv[6], "fresh");
	int copies = argc > 6 && !strcmp(argv[6], "copies"), keep = copies || (argc > 6 && !fresh);
	double ms = atof(argv[5]), spent = 0;
	char path[4096], name[16];
	plugin_template(argv[1]);
	for (int i = 0; i < n && !fresh; i++) {
		snprintf(path, sizeof(path), "%s/%04d.so", argv[2], i);
		plugin_make(path, copies ? 0 : i);
	}
	puts("ready");
	fflush(stdout);
	for (int r = 0; r < rounds; r++) {
		for (int i = 0; i < n; i++) {
			snprintf(path, sizeof(path), "%s/%04d.so", argv[2], i);
			snprintf(name, sizeof(name), "plug_%04d", copies ? 0 : i);
			if (fresh)
				plugin_make(path, copies ? 0 : i);
			void *lib = dlopen(path, RTLD_NOW);
			long (*entry)(long) = lib ? (long (*)(long))dlsym(lib, "entry") : NULL;
			if (!entry)
				return 3;
			if (fresh)
				unlink(path);
			prctl(PR_SET_NAME, name);
			double end = cpu_ms() + ms;
			while (cpu_ms() < end)
				entry(100000);
			prctl(PR_SET_NAME, "plugins");
			spent += ms;
			if (!keep)
				dlclose(lib);
		}
	}
	printf("%.0f ms\n", spent);
	return 0;
}
