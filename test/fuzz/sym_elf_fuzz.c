// Input: an ELF file. Everything sym/ does with one: headers, notes, symbols, PLT, debug sections, DWARF, USDT.
#include <fcntl.h>
#include <sys/mman.h>
#include "sym/internal.h"

static bool each(void *arg, const struct SymDef *d)
{
	u64 *sum = arg;
	*sum += d->addr + strlen(d->name);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct stat st;
	if (fd < 0 || write(fd, data, size) != (ssize_t)size || fstat(fd, &st))
		abort();
	struct SymOpts opts = {.inlines = true, .lines = true, .debug_dir = "/nonexistent", .no_debuginfod = true};
	struct Syms *s = syms_create(&opts);
	syms_lock(s);
	struct SymObject *o = object_of_fd(s, fd, &st, "/nonexistent/fuzz", NULL);
	syms_unlock(s);
	struct SymHit hits[4];
	struct ElfObj *e = elf_of(o);
	for (u32 i = 0; e && i < e->file.nsegs && i < 8; i++) {
		const struct ElfSeg *seg = &e->file.segs[i];
		for (u64 off = seg->off, n = 0; n < 64 && off < seg->off + seg->filesz; n++, off += 1 + seg->filesz / 64) {
			u32 k = sym_object_off_inlined(s, o, off, hits, 4);
			if (!k || k > 4)
				abort();
			for (u32 h = 0; h < k; h++)
				if (hits[h].name && !strlen(hits[h].name))
					abort();
		}
	}
	u64 sum = 0;
	struct SymDef d;
	struct UsdtNote *u;
	u32 n;
	err_free(sym_object_each(s, o, each, &sum));
	sym_object_find(s, o, "main", &d);
	sym_object_find(s, o, "f@V1", &d);
	sym_object_find(s, o, "a::f(int)", &d);
	err_free(sym_object_usdt(s, o, &u, &n));
	syms_destroy(s);
	return 0;
}
