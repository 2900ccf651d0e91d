// Reading ELF. Input: an fd or memory nobody vouches for. Output: headers in one 64-bit form. Invariant: nothing outside
// [0, size) is read, every count and size is checked before memory is taken, files of another byte order are refused.
#include <elf.h>
#include <errno.h>
#include "elf/internal.h"

#define MAX_SEGS 4096
#define MAX_SECS 65535
#define MAX_NAMES (16u << 20)

size_t elffile_read_some(const struct ElfFile *f, u64 off, void *buf, size_t len)
{
	if (off >= f->size)
		return 0;
	len = MIN(len, f->size - off);
	if (f->fd < 0) {
		memcpy(buf, f->mem + off, len);
		return len;
	}
	size_t got = 0;
	while (got < len) {
		ssize_t n = pread(f->fd, (char *)buf + got, len - got, off + got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += n;
	}
	return got;
}

bool elffile_read(const struct ElfFile *f, u64 off, void *buf, u64 len)
{
	if (off > f->size || len > f->size - off)
		return false;
	return elffile_read_some(f, off, buf, len) == len;
}

void *elffile_load(const struct ElfFile *f, u64 off, u64 len, u64 max)
{
	if (off > f->size || len > f->size - off || len > max)
		return NULL;
	char *p = malloc(len + 1);
	if (!p)
		return NULL;
	if (!elffile_read(f, off, p, len)) {
		free(p);
		return NULL;
	}
	p[len] = 0;
	return p;
}

static struct err *read_segs(struct ElfFile *f, u64 off, u32 n, u32 entsize)
{
	u32 want = f->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	if (!n)
		return NULL;
	if (entsize != want || n > MAX_SEGS)
		return err_new("bad ELF program headers (%u of %u bytes)", n, entsize);
	u8 *raw = elffile_load(f, off, (u64)n * want, (u64)MAX_SEGS * want);
	if (!raw)
		return err_new("ELF program headers lie outside the file");
	f->segs = xcalloc(n, sizeof(*f->segs));
	f->nsegs = n;
	for (u32 i = 0; i < n; i++) {
		struct ElfSeg *s = &f->segs[i];
		if (f->is64) {
			Elf64_Phdr p;
			memcpy(&p, raw + (size_t)i * want, sizeof(p));
			*s = (struct ElfSeg){p.p_vaddr, p.p_offset, p.p_filesz, p.p_memsz, p.p_type, p.p_flags, p.p_align};
		} else {
			Elf32_Phdr p;
			memcpy(&p, raw + (size_t)i * want, sizeof(p));
			*s = (struct ElfSeg){p.p_vaddr, p.p_offset, p.p_filesz, p.p_memsz, p.p_type, p.p_flags, p.p_align};
		}
		if (s->vaddr + s->memsz < s->vaddr || s->off + s->filesz < s->off) // wraps: no use
			s->type = PT_NULL;
	}
	free(raw);
	return NULL;
}

struct err *elffile_open(struct ElfFile *f, int fd, const u8 *mem, u64 size)
{
	*f = (struct ElfFile){.fd = fd, .mem = mem, .size = size};
	union {
		unsigned char id[EI_NIDENT];
		Elf32_Ehdr h32;
		Elf64_Ehdr h64;
	} h = {0};
	size_t got = elffile_read_some(f, 0, &h, sizeof(h));
	if (got < EI_NIDENT || memcmp(h.id, ELFMAG, SELFMAG))
		return pe_open(f) ? NULL : err_new("not an ELF file");
	const u8 native = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	f->is64 = h.id[EI_CLASS] == ELFCLASS64;
	if ((!f->is64 && h.id[EI_CLASS] != ELFCLASS32) || h.id[EI_DATA] != native || got < (f->is64 ? sizeof(h.h64) : sizeof(h.h32)))
		return err_new("an ELF file of another byte order, or a damaged one");
	u64 phoff;
	u32 phnum, phentsize;
	if (f->is64) {
		f->type = h.h64.e_type, f->machine = h.h64.e_machine, f->entry = h.h64.e_entry;
		phoff = h.h64.e_phoff, phnum = h.h64.e_phnum, phentsize = h.h64.e_phentsize;
		f->shoff = h.h64.e_shoff, f->shnum = h.h64.e_shnum, f->shentsize = h.h64.e_shentsize, f->shstrndx = h.h64.e_shstrndx;
	} else {
		f->type = h.h32.e_type, f->machine = h.h32.e_machine, f->entry = h.h32.e_entry;
		phoff = h.h32.e_phoff, phnum = h.h32.e_phnum, phentsize = h.h32.e_phentsize;
		f->shoff = h.h32.e_shoff, f->shnum = h.h32.e_shnum, f->shentsize = h.h32.e_shentsize, f->shstrndx = h.h32.e_shstrndx;
	}
	struct err *e = read_segs(f, phoff, phnum, phentsize);
	if (e)
		elffile_close(f);
	return e;
}

static struct ElfSec section_at(const struct ElfFile *f, const u8 *raw)
{
	if (f->is64) {
		Elf64_Shdr s;
		memcpy(&s, raw, sizeof(s));
		return (struct ElfSec){s.sh_addr, s.sh_offset, s.sh_size, s.sh_flags, s.sh_entsize,
				       s.sh_name, s.sh_type,   s.sh_link, s.sh_info};
	}
	Elf32_Shdr s;
	memcpy(&s, raw, sizeof(s));
	return (struct ElfSec){s.sh_addr, s.sh_offset, s.sh_size, s.sh_flags, s.sh_entsize, s.sh_name, s.sh_type, s.sh_link, s.sh_info};
}

static struct err *read_sections(struct ElfFile *f)
{
	u32 want = f->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	if (f->shentsize != want)
		return err_new("bad ELF section headers (%u bytes each)", f->shentsize);
	u32 n = f->shnum, strndx = f->shstrndx;
	if (!n || strndx == SHN_XINDEX) { // more than 65279 sections: the numbers are in section 0 (gABI, "ELF header")
		u8 first[sizeof(Elf64_Shdr)];
		if (!elffile_read(f, f->shoff, first, want))
			return err_new("ELF section headers lie outside the file");
		struct ElfSec s = section_at(f, first);
		if (!n)
			n = MIN(s.size, MAX_SECS);
		if (strndx == SHN_XINDEX)
			strndx = s.link;
	}
	if (!n)
		return NULL;
	u8 *raw = elffile_load(f, f->shoff, (u64)n * want, (u64)MAX_SECS * want);
	if (!raw)
		return err_new("ELF section headers lie outside the file");
	f->secs = xcalloc(n, sizeof(*f->secs));
	f->nsecs = n;
	for (u32 i = 0; i < n; i++)
		f->secs[i] = section_at(f, raw + (size_t)i * want);
	free(raw);
	if (strndx < n && f->secs[strndx].type == SHT_STRTAB) {
		f->shstr = elffile_load(f, f->secs[strndx].off, f->secs[strndx].size, MAX_NAMES);
		f->shstr_len = f->shstr ? f->secs[strndx].size : 0;
	}
	return NULL;
}

struct err *elffile_headers(struct ElfFile *f)
{
	if (f->secs_read)
		return NULL;
	f->secs_read = true;
	return f->shoff ? read_sections(f) : NULL;
}

struct err *elffile_sections(struct ElfFile *f)
{
	if (f->nsecs)
		return NULL;
	struct err *e = elffile_headers(f);
	if (!f->nsecs)
		elfdyn_sections(f);
	if (!f->nsecs || !e)
		return e;
	err_free(e); // what the program headers tell will do
	return NULL;
}

void elffile_close(struct ElfFile *f)
{
	free(f->segs);
	free(f->secs);
	free(f->shstr);
	f->segs = NULL, f->secs = NULL, f->shstr = NULL;
	f->nsegs = f->nsecs = 0;
	f->shstr_len = 0;
}

const char *elffile_section_name(const struct ElfFile *f, const struct ElfSec *s)
{
	return s->name < f->shstr_len ? f->shstr + s->name : "";
}

const struct ElfSec *elffile_section(struct ElfFile *f, const char *name)
{
	for (u32 i = 1; i < f->nsecs; i++)
		if (!strcmp(elffile_section_name(f, &f->secs[i]), name))
			return &f->secs[i];
	return NULL;
}

bool elffile_is_constant(const struct ElfSec *s)
{
	return s->type == SHT_PROGBITS && (s->flags & (SHF_ALLOC | SHF_EXECINSTR | SHF_WRITE)) == SHF_ALLOC;
}

bool elffile_vaddr_to_off(const struct ElfFile *f, u64 vaddr, u64 *off)
{
	for (u32 i = 0; i < f->nsegs; i++) {
		const struct ElfSeg *s = &f->segs[i];
		if (s->type == PT_LOAD && vaddr >= s->vaddr && vaddr - s->vaddr < s->filesz) {
			*off = s->off + (vaddr - s->vaddr);
			return true;
		}
	}
	return false;
}

bool elffile_read_at(const struct ElfFile *f, u64 vaddr, void *buf, u64 len)
{
	u64 off, last;
	return len && vaddr + len > vaddr && elffile_vaddr_to_off(f, vaddr, &off) && elffile_vaddr_to_off(f, vaddr + len - 1, &last) && last - off == len - 1 &&
	       elffile_read(f, off, buf, len);
}

bool elffile_off_to_vaddr(const struct ElfFile *f, u64 off, u64 *vaddr)
{
	// Two segments may share a page of the file: the executable one has the code.
	for (int exec = 1; exec >= 0; exec--) {
		for (u32 i = 0; i < f->nsegs; i++) {
			const struct ElfSeg *s = &f->segs[i];
			if (s->type == PT_LOAD && !!(s->flags & PF_X) == exec && off >= s->off && off - s->off < s->filesz) {
				*vaddr = s->vaddr + (off - s->off);
				return true;
			}
		}
	}
	return false;
}

void elf_notes_each(const u8 *p, size_t n, u32 align, ElfNoteFn fn, void *arg)
{
	align = align == 8 ? 8 : 4;
	for (size_t at = 0; n - at >= 12;) {
		u32 h[3]; // namesz, descsz, type
		memcpy(h, p + at, sizeof(h));
		size_t left = n - at - 12;
		size_t name = ALIGN_UP((size_t)h[0], 4);
		if (align == 8) // gABI: the descriptor is aligned, counted from the note's start
			name = ALIGN_UP(12 + (size_t)h[0], 8) - 12;
		if (name > left || h[1] > left - name)
			return;
		if (!fn(arg, h[2], (const char *)p + at + 12, h[0], p + at + 12 + name, h[1]))
			return;
		size_t step = 12 + name + ALIGN_UP((size_t)h[1], align);
		if (step > n - at)
			return;
		at += step;
	}
}

struct BuildId {
	u8 *out;
	u32 len;
};

static bool build_id_note(void *arg, u32 type, const char *name, u32 namesz, const u8 *desc, u32 descsz)
{
	struct BuildId *b = arg;
	if (type != NT_GNU_BUILD_ID || namesz != 4 || memcmp(name, "GNU", 4) || !descsz)
		return true;
	b->len = MIN(descsz, 20u);
	memcpy(b->out, desc, b->len);
	return false;
}

u32 elf_notes_build_id(const u8 *p, size_t n, u8 out[20])
{
	struct BuildId b = {out, 0};
	elf_notes_each(p, n, 4, build_id_note, &b);
	return b.len;
}

static u32 notes_in(const struct ElfFile *f, u64 off, u64 size, u8 out[20])
{
	size = MIN(size, 64u << 10);
	u8 *p = elffile_load(f, off, size, size);
	u32 len = p ? elf_notes_build_id(p, size, out) : 0;
	free(p);
	return len;
}

u32 elffile_build_id(const struct ElfFile *f, u8 out[20])
{
	u32 len = 0;
	for (u32 i = 0; i < f->nsegs && !len; i++)
		if (f->segs[i].type == PT_NOTE)
			len = notes_in(f, f->segs[i].off, f->segs[i].filesz, out);
	for (u32 i = 0; i < f->nsecs && !len; i++)
		if (f->secs[i].type == SHT_NOTE)
			len = notes_in(f, f->secs[i].off, f->secs[i].size, out);
	return len;
}
