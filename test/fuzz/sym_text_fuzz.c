// Input: a letter choosing the parser, then its text: m /proc/PID/maps, p perf map, c ld.so.cache, n notes, d mangled name.
#include <fcntl.h>
#include <sys/mman.h>
#include "sym/internal.h"

static bool library(void *arg, const char *soname, const char *path)
{
	u64 *sum = arg;
	*sum += strlen(soname) + strlen(path);
	return *sum < 1 << 20;
}

static bool note(void *arg, u32 type, const char *name, u32 namesz, const u8 *desc, u32 descsz)
{
	u64 *sum = arg;
	for (u32 i = 0; i < namesz; i++)
		*sum += name[i];
	for (u32 i = 0; i < descsz; i++)
		*sum += desc[i];
	return true;
}

static void perf_map(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size / 2) != (ssize_t)(size / 2))
		abort();
	struct PerfMap *m = perfmap_from_fd(fd);
	struct SymHit h;
	struct Map names = {0};
	perfmap_lookup(m, &names, 0x1000, &h);
	if (write(fd, data + size / 2, size - size / 2) != (ssize_t)(size - size / 2))
		abort();
	for (u64 a = 0; a < 0x4000; a += 0x101)
		if (perfmap_lookup(m, &names, a, &h) && (a < h.start || a - h.start >= h.size || h.off != a - h.start))
			abort();
	perfmap_destroy(m);
	map_deinit(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	char kind = *data++;
	size--;
	u8 *copy = xmalloc(size + (kind == 'd')); // exact, so that the sanitizer sees one byte too many
	memcpy(copy, data, size);
	u64 sum = 0;
	struct MapLine m;
	switch (kind) {
	case 'm':
		if (mapline_parse((char *)copy, size, &m) && (m.end <= m.start || m.path + m.path_len > (char *)copy + size))
			abort();
		break;
	case 'p':
		perf_map(copy, size);
		break;
	case 'c':
		ldcache_each(copy, size, size & 1, library, &sum);
		break;
	case 'n':
		elf_notes_each(copy, size, 4, note, &sum);
		elf_notes_each(copy, size, 8, note, &sum);
		break;
	case 'd': {
		copy[size] = 0;
		free(demangle((char *)copy));
		symbol_clean((char *)copy);
		break;
	}
	}
	free(copy);
	return 0;
}
