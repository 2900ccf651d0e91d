// Dynamic symbols of a file without section headers (sstrip, packers, images read from memory). Input: PT_DYNAMIC. Output: a .dynsym and
// a .dynstr section as the headers would have described them. Invariant: both lie in the file; the number of symbols, which nothing
// states, comes from the hash table and is bounded by it.
#include <elf.h>
#include "sym/internal.h"

#define MAX_DYN (1u << 20) // bytes
#define MAX_HASH (64u << 20)

struct Dyn {
	u64 symtab, strtab, strsz, hash, gnu_hash;
};

static void read_dynamic(const struct ElfFile *f, const struct ElfSeg *seg, struct Dyn *d)
{
	u32 word = f->is64 ? 8 : 4;
	u64 size = MIN(seg->filesz, (u64)MAX_DYN);
	u8 *p = elffile_load(f, seg->off, size, MAX_DYN);
	for (u64 at = 0; p && at + 2 * word <= size; at += 2 * word) {
		u64 tag = 0, val = 0;
		memcpy(&tag, p + at, word);
		memcpy(&val, p + at + word, word);
		if (tag == DT_NULL)
			break;
		if (tag == DT_SYMTAB)
			d->symtab = val;
		else if (tag == DT_STRTAB)
			d->strtab = val;
		else if (tag == DT_STRSZ)
			d->strsz = val;
		else if (tag == DT_HASH)
			d->hash = val;
		else if (tag == DT_GNU_HASH)
			d->gnu_hash = val;
	}
	free(p);
}

// DT_GNU_HASH: nbuckets, symoffset, bloom words, shift; bloom filter; buckets (first symbol of a chain); a word for each symbol from
// symoffset on whose lowest bit ends its chain. The last symbol is the end of the chain that starts last.
static u64 count_gnu(const struct ElfFile *f, u64 off)
{
	u32 h[4];
	if (!elffile_read(f, off, h, sizeof(h)))
		return 0;
	u64 buckets = off + 16 + (u64)h[2] * (f->is64 ? 8 : 4), last = 0;
	u32 *b = elffile_load(f, buckets, (u64)h[0] * 4, MAX_HASH);
	for (u32 i = 0; b && i < h[0]; i++)
		last = MAX(last, b[i]);
	free(b);
	if (!b || last < h[1])
		return 0;
	for (u64 chain = buckets + (u64)h[0] * 4; last < 1u << 24; last++) {
		u32 word;
		if (!elffile_read(f, chain + (last - h[1]) * 4, &word, 4))
			return 0;
		if (word & 1)
			return last + 1;
	}
	return 0;
}

static u64 count_symbols(const struct ElfFile *f, const struct Dyn *d)
{
	u64 off;
	u32 h[2]; // DT_HASH: nbucket, nchain; a chain entry for each symbol
	if (d->hash && elffile_vaddr_to_off(f, d->hash, &off) && elffile_read(f, off, h, sizeof(h)))
		return MIN(h[1], 1u << 24);
	return d->gnu_hash && elffile_vaddr_to_off(f, d->gnu_hash, &off) ? count_gnu(f, off) : 0;
}

void elfdyn_sections(struct ElfFile *f)
{
	struct Dyn d = {0};
	for (u32 i = 0; i < f->nsegs; i++)
		if (f->segs[i].type == PT_DYNAMIC)
			read_dynamic(f, &f->segs[i], &d);
	u64 sym, str, n = count_symbols(f, &d), esz = f->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	if (!n || !elffile_vaddr_to_off(f, d.symtab, &sym) || !elffile_vaddr_to_off(f, d.strtab, &str) || sym > f->size ||
	    n * esz > f->size - sym || str > f->size || d.strsz > f->size - str)
		return;
	f->secs = xcalloc(3, sizeof(*f->secs));
	f->nsecs = 3;
	f->secs[1] = (struct ElfSec){
	    .addr = d.symtab, .off = sym, .size = n * esz, .flags = SHF_ALLOC, .entsize = esz, .type = SHT_DYNSYM, .link = 2};
	f->secs[2] = (struct ElfSec){.addr = d.strtab, .off = str, .size = d.strsz, .flags = SHF_ALLOC, .type = SHT_STRTAB};
}
