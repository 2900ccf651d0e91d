// The libraries a file names (DT_NEEDED): what a program that has just been started will map. Input: PT_DYNAMIC. Output: names as written.
// Invariant: every name lies whole in the file's string table.
#include <elf.h>
#include "sym/internal.h"

#define MAX_DYN (1u << 20)   // bytes
#define MAX_STR (64u << 20)
#define MAX_NEEDED 1024

struct Needed {
	u64 strtab, strsz;
	u64 at[MAX_NEEDED]; // in the string table
	u32 n;
};

static void read_needed(const struct ElfFile *f, const struct ElfSeg *seg, struct Needed *d)
{
	u64 size = MIN(seg->filesz, (u64)MAX_DYN);
	Elf64_Dyn *p = elffile_load(f, seg->off, size, MAX_DYN);
	for (u64 i = 0; p && i < size / sizeof(*p) && p[i].d_tag != DT_NULL; i++) {
		if (p[i].d_tag == DT_STRTAB)
			d->strtab = p[i].d_un.d_ptr;
		else if (p[i].d_tag == DT_STRSZ)
			d->strsz = p[i].d_un.d_val;
		else if (p[i].d_tag == DT_NEEDED && d->n < MAX_NEEDED)
			d->at[d->n++] = p[i].d_un.d_val;
	}
	free(p);
}

void sym_object_needed(struct Syms *s, struct SymObject *o, void (*fn)(void *, const char *name), void *arg)
{
	struct Needed d = {0};
	u64 off;
	syms_lock(s);
	struct ElfObj *e = elf_of(o);
	for (u32 i = 0; e && e->file.is64 && i < e->file.nsegs; i++)
		if (e->file.segs[i].type == PT_DYNAMIC)
			read_needed(&e->file, &e->file.segs[i], &d);
	char *str = d.n && elffile_vaddr_to_off(&e->file, d.strtab, &off) ? elffile_load(&e->file, off, d.strsz, MAX_STR) : NULL;
	syms_unlock(s);
	for (u32 i = 0; str && i < d.n; i++)
		if (d.at[i] < d.strsz)
			fn(arg, str + d.at[i]); // elffile_load puts a NUL behind
	free(str);
}
