// PT_DYNAMIC of an ELF file. Output: the names of the libraries it needs; and for a file without section headers (sstrip, packers, images read from
// memory) its sections .dynsym, .dynstr, .rodata and .rela.dyn as the headers would have described them, .rodata with what lies around it. Invariant: all of it lies in the file; the number of symbols,
// which nothing states, comes from the hash table and is bounded by it.
#include <elf.h>
#include "elf/internal.h"

#define MAX_DYN (1u << 20) // bytes
#define MAX_HASH (64u << 20)
#define MAX_STR (64u << 20)
#define MAX_RELA (256u << 20)

struct Dyn {
	u64 symtab, strtab, strsz, hash, gnu_hash;
	u64 runpath; // in the string table; 0: none
	u64 rela, relasz, jmprel, pltrelsz, pltrel, flags1;
	u64 needed[ELF_NEEDED_MAX]; // likewise
	u32 nneeded;
};

static void take(struct Dyn *d, u64 tag, u64 val)
{
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
	else if (tag == DT_RUNPATH || tag == DT_RPATH)
		d->runpath = val;
	else if (tag == DT_RELA)
		d->rela = val;
	else if (tag == DT_RELASZ)
		d->relasz = val;
	else if (tag == DT_JMPREL)
		d->jmprel = val;
	else if (tag == DT_PLTRELSZ)
		d->pltrelsz = val;
	else if (tag == DT_PLTREL)
		d->pltrel = val;
	else if (tag == DT_FLAGS_1)
		d->flags1 = val;
	else if (tag == DT_NEEDED && d->nneeded < ELF_NEEDED_MAX)
		d->needed[d->nneeded++] = val;
}

static void read_segment(const struct ElfFile *f, const struct ElfSeg *seg, struct Dyn *d)
{
	u64 size = MIN(seg->filesz, (u64)MAX_DYN), tag = 0, val = 0;
	u32 word = f->is64 ? 8 : 4;
	u8 *p = elffile_load(f, seg->off, size, MAX_DYN);
	for (u64 at = 0; p && at + 2 * word <= size; at += 2 * word) {
		memcpy(&tag, p + at, word);
		memcpy(&val, p + at + word, word);
		if (tag == DT_NULL)
			break;
		take(d, tag, val);
	}
	free(p);
}

static void read_dynamic(const struct ElfFile *f, struct Dyn *d)
{
	*d = (struct Dyn){0};
	for (u32 i = 0; i < f->nsegs; i++)
		if (f->segs[i].type == PT_DYNAMIC)
			read_segment(f, &f->segs[i], d);
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

// What the program only reads: behind the code, else (older linkers) with it.
static const struct ElfSeg *read_only(const struct ElfFile *f)
{
	const struct ElfSeg *code = NULL, *data = NULL;
	for (u32 i = 0; i < f->nsegs; i++) {
		const struct ElfSeg *s = &f->segs[i];
		if (s->type == PT_LOAD && s->flags & PF_X)
			code = s;
		else if (s->type == PT_LOAD && code && !data && !(s->flags & PF_W))
			data = s;
	}
	return data ? data : code;
}

enum { DYN_SYM = 1, DYN_STR, DYN_RODATA, DYN_RELA, DYN_SECTIONS };
void elfdyn_sections(struct ElfFile *f)
{
	static const char names[] = "\0.dynsym\0.dynstr\0.rodata\0.rela.dyn";
	struct Dyn d;
	read_dynamic(f, &d);
	u64 sym, str, n = count_symbols(f, &d), esz = f->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	if (!n || !elffile_vaddr_to_off(f, d.symtab, &sym) || !elffile_vaddr_to_off(f, d.strtab, &str) || sym > f->size ||
	    n * esz > f->size - sym || str > f->size || d.strsz > f->size - str)
		return;
	const struct ElfSeg *ro = read_only(f);
	u64 rela;
	f->secs = xcalloc(DYN_SECTIONS, sizeof(*f->secs));
	f->nsecs = DYN_SECTIONS;
	f->secs[DYN_SYM] = (struct ElfSec){
	    .name = 1, .addr = d.symtab, .off = sym, .size = n * esz, .flags = SHF_ALLOC, .entsize = esz, .type = SHT_DYNSYM, .link = DYN_STR};
	f->secs[DYN_STR] = (struct ElfSec){.name = 9, .addr = d.strtab, .off = str, .size = d.strsz, .flags = SHF_ALLOC, .type = SHT_STRTAB};
	if (ro)
		f->secs[DYN_RODATA] = (struct ElfSec){.name = 17, .addr = ro->vaddr, .off = ro->off, .size = ro->filesz, .flags = SHF_ALLOC, .type = SHT_PROGBITS};
	if (f->is64 && d.rela && elffile_vaddr_to_off(f, d.rela, &rela))
		f->secs[DYN_RELA] = (struct ElfSec){.name = 25, .addr = d.rela, .off = rela, .size = d.relasz, .flags = SHF_ALLOC, .entsize = sizeof(Elf64_Rela), .type = SHT_RELA, .link = DYN_SYM};
	f->shstr = memcpy(xmalloc(sizeof(names)), names, sizeof(names));
	f->shstr_len = sizeof(names);
}

// One table of relocations. False: fn has seen enough.
static bool relocs(const struct ElfFile *f, u64 vaddr, u64 size, bool (*fn)(void *, const struct ElfReloc *), void *arg)
{
	u64 off;
	Elf64_Rela *r = vaddr && elffile_vaddr_to_off(f, vaddr, &off) ? elffile_load(f, off, size, MAX_RELA) : NULL;
	bool more = true;
	for (u64 i = 0; r && more && i < size / sizeof(*r); i++) {
		struct ElfReloc out = {r[i].r_offset, r[i].r_addend, (u32)ELF64_R_TYPE(r[i].r_info), (u32)ELF64_R_SYM(r[i].r_info)};
		more = fn(arg, &out);
	}
	free(r);
	return more;
}

void elffile_relocs(const struct ElfFile *f, bool (*fn)(void *, const struct ElfReloc *), void *arg)
{
	struct Dyn d;
	if (!f->is64)
		return;
	read_dynamic(f, &d);
	if (relocs(f, d.rela, d.relasz, fn, arg) && d.pltrel == DT_RELA)
		relocs(f, d.jmprel, d.pltrelsz, fn, arg);
}

bool elffile_is_program(const struct ElfFile *f)
{
	struct Dyn d;
	if (f->type != ET_DYN)
		return f->type == ET_EXEC;
	read_dynamic(f, &d);
	return d.flags1 & DF_1_PIE;
}

void elffile_needed(const struct ElfFile *f, struct ElfNeeded *out)
{
	struct Dyn d;
	u64 off;
	read_dynamic(f, &d);
	out->n = 0;
	out->runpath = NULL;
	out->text = d.nneeded && elffile_vaddr_to_off(f, d.strtab, &off) ? elffile_load(f, off, d.strsz, MAX_STR) : NULL;
	if (out->text && d.runpath && d.runpath < d.strsz)
		out->runpath = out->text + d.runpath;
	for (u32 i = 0; out->text && i < d.nneeded; i++)
		if (d.needed[i] < d.strsz)
			out->names[out->n++] = out->text + d.needed[i]; // elffile_load puts a NUL behind
}
