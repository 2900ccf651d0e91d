// Finds unwind information in an ELF file. Input: a file (or an image) nobody vouches for. Output: copies of .eh_frame, .eh_frame_hdr and
// .debug_frame (decompressed), and the executable segments. Invariant: nothing outside the file is read, and sizes are bounded before memory
// is taken. Own reader and not libelf: it runs in a thread beside the symbol code, reads only the few pages it needs, and never maps the
// file, so a file that is cut while we read gives an error and not SIGBUS.
#include <elf.h>
#include <errno.h>
#include <sys/stat.h>
#include <zlib.h>
#include "unwind/internal.h"

#define MAX_SECTION (256ull << 20)
#define MAX_HEADERS 4096u

static bool src_read(const struct ElfSrc *s, u64 off, void *dst, u64 n)
{
	if (off > s->size || n > s->size - off)
		return false;
	if (s->mem) {
		memcpy(dst, s->mem + off, n);
		return true;
	}
	for (u64 done = 0; done < n;) {
		ssize_t got = pread(s->fd, (u8 *)dst + done, n - done, (off_t)(off + done));
		if (got <= 0 && !(got < 0 && errno == EINTR))
			return false;
		done += got > 0 ? (u64)got : 0;
	}
	return true;
}

static u8 *src_dup(const struct ElfSrc *s, u64 off, u64 n)
{
	if (!n || n > MAX_SECTION || off > s->size || n > s->size - off)
		return NULL;
	u8 *p = xmalloc(n);
	if (src_read(s, off, p, n))
		return p;
	free(p);
	return NULL;
}

static u8 *inflate_all(const u8 *in, u64 n, u64 size)
{
	if (!size || size > MAX_SECTION)
		return NULL;
	u8 *out = xmalloc(size);
	uLongf got = size;
	if (uncompress(out, &got, in, n) == Z_OK && got == size)
		return out;
	free(out);
	return NULL;
}

static void load_section(const struct ElfSrc *s, const Elf64_Shdr *h, struct ElfSec *out)
{
	if (out->data || h->sh_type == SHT_NOBITS)
		return;
	u8 *raw = src_dup(s, h->sh_offset, h->sh_size);
	Elf64_Chdr c;
	if (!raw)
		return;
	*out = (struct ElfSec){raw, h->sh_size, h->sh_addr};
	if (!(h->sh_flags & SHF_COMPRESSED))
		return;
	out->data = NULL;
	if (h->sh_size > sizeof(c)) {
		memcpy(&c, raw, sizeof(c));
		if (c.ch_type == ELFCOMPRESS_ZLIB)
			out->data = inflate_all(raw + sizeof(c), h->sh_size - sizeof(c), c.ch_size);
		out->size = c.ch_size;
	}
	free(raw);
}

static void read_sections(const struct ElfSrc *s, const Elf64_Ehdr *eh, struct ElfCfi *out)
{
	u32 n = eh->e_shnum;
	if (!n || n > MAX_HEADERS * 16 || eh->e_shentsize != sizeof(Elf64_Shdr) || eh->e_shstrndx >= n)
		return;
	Elf64_Shdr *sh = (void *)src_dup(s, eh->e_shoff, (u64)n * sizeof(*sh));
	if (!sh)
		return;
	const Elf64_Shdr *str = &sh[eh->e_shstrndx];
	char *names = (char *)src_dup(s, str->sh_offset, str->sh_size);
	for (u32 i = 1; names && i < n; i++) {
		if (sh[i].sh_type == SHT_SYMTAB || sh[i].sh_type == SHT_DYNSYM) {
			out->symtabs[sh[i].sh_type == SHT_DYNSYM].off = sh[i].sh_offset;
			out->symtabs[sh[i].sh_type == SHT_DYNSYM].size = sh[i].sh_size;
		}
		if (sh[i].sh_name >= str->sh_size)
			continue;
		const char *name = names + sh[i].sh_name;
		size_t room = str->sh_size - sh[i].sh_name;
		out->is_go |= !strncmp(name, ".gopclntab", room);
		if (!strncmp(name, ".eh_frame", room) && (sh[i].sh_flags & SHF_ALLOC))
			load_section(s, &sh[i], &out->eh_frame);
		else if (!strncmp(name, ".eh_frame_hdr", room))
			load_section(s, &sh[i], &out->eh_frame_hdr);
		else if (!strncmp(name, ".debug_frame", room))
			load_section(s, &sh[i], &out->debug_frame);
	}
	free(names);
	free(sh);
}

// No section headers: the program header names .eh_frame_hdr, that points to .eh_frame, which ends in a terminator or with its segment.
static void read_by_hdr(const struct ElfSrc *s, const Elf64_Phdr *ph, u32 n, const Elf64_Phdr *hdr, struct ElfCfi *out)
{
	u8 *h = src_dup(s, hdr->p_offset, hdr->p_filesz);
	s32 rel;
	if (!h)
		return;
	out->eh_frame_hdr = (struct ElfSec){h, hdr->p_filesz, hdr->p_vaddr};
	if (hdr->p_filesz < 8 || h[0] != 1 || h[1] != 0x1b) // DW_EH_PE_pcrel | sdata4, what every linker writes
		return;
	memcpy(&rel, h + 4, 4);
	u64 at = hdr->p_vaddr + 4 + (u64)(s64)rel;
	for (u32 i = 0; i < n; i++) {
		if (ph[i].p_type != PT_LOAD || at < ph[i].p_vaddr || at - ph[i].p_vaddr >= ph[i].p_filesz)
			continue;
		u64 skip = at - ph[i].p_vaddr, len = ph[i].p_filesz - skip;
		out->eh_frame = (struct ElfSec){src_dup(s, ph[i].p_offset + skip, len), len, at};
		return;
	}
}

static int by_offset(const void *a, const void *b)
{
	const struct ElfSeg *x = a, *y = b;
	return x->off < y->off ? -1 : x->off > y->off;
}

static struct err *read_elf(const struct ElfSrc *s, struct ElfCfi *out)
{
	Elf64_Ehdr eh;
	*out = (struct ElfCfi){0};
	if (!src_read(s, 0, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG))
		return err_new("not an ELF file");
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB)
		return err_new("not a 64-bit little-endian ELF file");
	if (eh.e_machine != EM_X86_64 && eh.e_machine != EM_AARCH64)
		return err_new("code of another machine (%u)", eh.e_machine);
	if (!eh.e_phnum || eh.e_phnum > MAX_HEADERS || eh.e_phentsize != sizeof(Elf64_Phdr))
		return err_new("no program headers");
	Elf64_Phdr *ph = (void *)src_dup(s, eh.e_phoff, (u64)eh.e_phnum * sizeof(*ph));
	if (!ph)
		return err_new("program headers lie outside the file");
	out->machine = eh.e_machine;
	out->entry = eh.e_entry;
	out->src = *s;
	const Elf64_Phdr *hdr = NULL;
	for (u32 i = 0; i < eh.e_phnum; i++) {
		const Elf64_Phdr *p = &ph[i];
		if (p->p_type == PT_GNU_EH_FRAME)
			hdr = p;
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || p->p_offset >= s->size || p->p_vaddr + p->p_filesz < p->p_vaddr)
			continue;
		struct ElfSeg seg = {p->p_vaddr, MIN(p->p_filesz, s->size - p->p_offset), p->p_offset};
		vec_push(&out->segs, seg);
	}
	if (out->segs.n)
		qsort(out->segs.p, out->segs.n, sizeof(*out->segs.p), by_offset);
	read_sections(s, &eh, out);
	if (!out->eh_frame.data && hdr) {
		free(out->eh_frame_hdr.data);
		out->eh_frame_hdr = (struct ElfSec){0};
		read_by_hdr(s, ph, eh.e_phnum, hdr, out);
	}
	free(ph);
	return NULL;
}

struct err *elfcfi_read(int fd, struct ElfCfi *out)
{
	struct stat st;
	if (fstat(fd, &st))
		return err_errno(errno, "cannot read the file's size");
	return read_elf(&(struct ElfSrc){fd, NULL, (u64)st.st_size}, out);
}

struct err *elfcfi_read_mem(const u8 *p, u64 n, struct ElfCfi *out)
{
	return read_elf(&(struct ElfSrc){-1, p, n}, out);
}

bool elfcfi_code(const struct ElfCfi *e, const struct ElfSeg *seg, u64 vaddr, u8 *dst, u64 n)
{
	u64 skip = vaddr - seg->vaddr;
	return vaddr >= seg->vaddr && skip <= seg->size && n <= seg->size - skip && src_read(&e->src, seg->off + skip, dst, n);
}

void elfcfi_starts(const struct ElfCfi *e, AddrList *out)
{
	for (u32 i = 0; i < ARRAY_LEN(e->symtabs); i++) {
		u64 n = e->symtabs[i].size / sizeof(Elf64_Sym);
		Elf64_Sym *s = (void *)src_dup(&e->src, e->symtabs[i].off, n * sizeof(*s));
		for (u64 k = 0; s && k < n; k++)
			if (ELF64_ST_TYPE(s[k].st_info) == STT_FUNC && s[k].st_shndx != SHN_UNDEF && s[k].st_value)
				vec_push(out, s[k].st_value);
		free(s);
	}
}

void elfcfi_deinit(struct ElfCfi *e)
{
	vec_deinit(&e->segs);
	free(e->eh_frame.data);
	free(e->eh_frame_hdr.data);
	free(e->debug_frame.data);
	*e = (struct ElfCfi){0};
}
