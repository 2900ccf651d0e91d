// Libraries made from one template (plugin.c), whose function plug_0000 gets another number in each.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char *plugin_image;
static size_t plugin_size;

static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void plugin_template(const char *path)
{
	FILE *f = fopen(path, "r");
	if (!f || fseek(f, 0, SEEK_END))
		exit(2);
	plugin_size = (size_t)ftell(f);
	plugin_image = malloc(plugin_size);
	rewind(f);
	if (fread(plugin_image, 1, plugin_size, f) != plugin_size)
		exit(2);
	fclose(f);
}

static void plugin_make(const char *path, int n)
{
	char name[16];
	snprintf(name, sizeof(name), "plug_%04d", n);
	for (size_t i = 0; i + 9 <= plugin_size; i++)
		if (!memcmp(plugin_image + i, "plug_", 5) && plugin_image[i + 5] >= '0' && plugin_image[i + 5] <= '9')
			memcpy(plugin_image + i, name, 9);
	FILE *f = fopen(path, "w");
	if (!f || fwrite(plugin_image, 1, plugin_size, f) != plugin_size || fclose(f))
		exit(2);
}

// File offset of an address of this process.
__attribute__((unused)) static unsigned long plugin_offset(unsigned long addr)
{
	unsigned long start, end, off;
	char line[4096];
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &off) == 3 && addr >= start && addr < end) {
			fclose(f);
			return addr - start + off;
		}
	exit(4);
}
