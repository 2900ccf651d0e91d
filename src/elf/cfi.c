// Finds unwind information in an ELF file. Input: a file (or an image) nobody vouches for. Output: copies of .eh_frame, .eh_frame_hdr and
// .debug_frame (decompressed; or room for them, filled piece by piece), and the executable segments. Invariant: sizes are bounded before memory is taken. A struct ElfFile of its own: it runs
// in a thread beside the symbol code, and reads only the few pages it needs.
#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <sys/stat.h>
#include <zlib.h>
#include "elf/internal.h"

#define MAX_SECTION (256ull << 20)
#define PIECE 4096ull // bytes of a section that are read at once, where only some of it is wanted

static u8 *load(const struct ElfFile *f, u64 off, u64 n)
{
	return n ? elffile_load(f, off, n, MAX_SECTION) : NULL;
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

// Type, bytes of the header, bytes unpacked.
static bool read_chdr(const u8 *raw, u64 n, bool is32, u32 *type, u64 *head, u64 *size)
{
	Elf32_Chdr c;
	Elf64_Chdr w;
	*head = is32 ? sizeof(c) : sizeof(w);
	if (n <= *head)
		return false;
	if (is32) {
		memcpy(&c, raw, sizeof(c));
		*type = c.ch_type, *size = c.ch_size;
	} else {
		memcpy(&w, raw, sizeof(w));
		*type = w.ch_type, *size = w.ch_size;
	}
	return true;
}

static void load_section(const struct ElfFile *f, const struct ElfSec *h, struct CfiSec *out)
{
	if (out->data || h->type == SHT_NOBITS)
		return;
	u8 *raw = load(f, h->off, h->size);
	u64 head, size;
	u32 type;
	if (!raw)
		return;
	*out = (struct CfiSec){raw, h->size, h->addr, h->off, NULL};
	if (!(h->flags & SHF_COMPRESSED))
		return;
	out->data = NULL;
	if (read_chdr(raw, h->size, !f->is64, &type, &head, &size)) {
		if (type == ELFCOMPRESS_ZLIB)
			out->data = inflate_all(raw + head, h->size - head, size);
		out->size = size;
	}
	free(raw);
}

// Room for it; elfcfi_have() reads what is wanted.
static void load_later(const struct ElfFile *f, const struct ElfSec *h, struct CfiSec *out)
{
	bool in_file = h->size <= MAX_SECTION && h->off <= f->size && h->size <= f->size - h->off;
	if (out->data || h->type == SHT_NOBITS || !in_file)
		return;
	u8 *room = malloc(h->size); // of a large one the kernel gives the pages that are written
	if (room)
		*out = (struct CfiSec){room, h->size, h->addr, h->off, xcalloc(h->size / PIECE + 1, 1)};
}

bool elfcfi_have(const struct ElfCfi *e, const struct CfiSec *s, u64 at, u64 n)
{
	if (at > s->size || n > s->size - at)
		return false;
	for (u64 i = at / PIECE; s->have && n && i <= (at + n - 1) / PIECE; i++) {
		u64 from = i * PIECE, len = MIN(PIECE, s->size - from);
		if (!s->have[i] && !elffile_read(&e->file, s->off + from, s->data + from, len))
			return false;
		s->have[i] = 1;
	}
	return true;
}

// Python's greenlets (from 2.0 on): greenlet::UserGreenlet::inner_bootstrap(), with whatever arguments. The stack from there to its end is copied when they take
// turns; what lies behind is of whoever runs.
#define GREENLET "_ZN8greenlet12UserGreenlet15inner_bootstrapE"
#define GREENLET_NAMES (1u << 18) // bytes of all names of the module

struct Greenlet {
	const char *names;
	u64 size, at;
};

static bool on_symbol(void *arg, const struct ElfSymbol *y)
{
	struct Greenlet *g = arg;
	if (y->plain && y->type == STT_FUNC && y->name < g->size && !strncmp(g->names + y->name, GREENLET, sizeof(GREENLET) - 1))
		g->at = y->addr;
	return !g->at;
}

static u64 find_greenlet(struct ElfFile *f)
{
	const struct ElfSec *tab = elffile_section(f, ".dynsym"), *str = elffile_section(f, ".dynstr");
	struct Greenlet g = {0};
	if (!tab || !str || str->size > GREENLET_NAMES)
		return 0;
	g.names = elffile_load(f, str->off, g.size = str->size, GREENLET_NAMES);
	if (g.names && memmem(g.names, g.size, GREENLET, sizeof(GREENLET) - 1))
		err_free(elffile_symbols(f, tab, on_symbol, &g));
	free((void *)g.names);
	return g.at;
}

static void read_sections(struct ElfCfi *out, bool part)
{
	struct ElfFile *f = &out->file;
	err_free(elffile_headers(f));
	out->is_go = elffile_is_go(f);
	out->greenlet = find_greenlet(f);
	for (u32 i = 1; f->shstr && i < f->nsecs; i++) {
		const struct ElfSec *s = &f->secs[i];
		const char *name = elffile_section_name(f, s);
		out->is_native_image |= !strcmp(name, ".svm_heap");
		void (*get)(const struct ElfFile *, const struct ElfSec *, struct CfiSec *) =
			part && s->size > PIECE && !(s->flags & SHF_COMPRESSED) ? load_later : load_section;
		if (!strcmp(name, ".eh_frame") && (s->flags & SHF_ALLOC))
			get(f, s, &out->eh_frame);
		else if (!strcmp(name, ".eh_frame_hdr"))
			get(f, s, &out->eh_frame_hdr);
		else if (!strcmp(name, ".debug_frame"))
			load_section(f, s, &out->debug_frame);
	}
}

// No section headers: the program header names .eh_frame_hdr, that points to .eh_frame, which ends in a terminator or with its segment.
static void read_by_hdr(const struct ElfFile *f, const struct ElfSeg *hdr, struct ElfCfi *out)
{
	u8 *h = load(f, hdr->off, hdr->filesz);
	s32 rel;
	if (!h)
		return;
	out->eh_frame_hdr = (struct CfiSec){h, hdr->filesz, hdr->vaddr, hdr->off, NULL};
	if (hdr->filesz < 8 || h[0] != 1 || h[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4)) // what every linker writes
		return;
	memcpy(&rel, h + 4, 4);
	u64 at = hdr->vaddr + 4 + (u64)(s64)rel;
	if (out->machine == EM_386)
		at = (u32)at;
	for (u32 i = 0; i < f->nsegs; i++) {
		const struct ElfSeg *s = &f->segs[i];
		if (s->type != PT_LOAD || at < s->vaddr || at - s->vaddr >= s->filesz)
			continue;
		u64 skip = at - s->vaddr, len = s->filesz - skip;
		out->eh_frame = (struct CfiSec){load(f, s->off + skip, len), len, at, s->off + skip, NULL};
		return;
	}
}

static void read_pdata(const struct ElfFile *f, struct CfiSec *out)
{
	u64 off, n = f->pe_unwind.size;
	if (elffile_vaddr_to_off(f, f->pe_unwind.addr, &off))
		*out = (struct CfiSec){load(f, off, n), n, f->pe_unwind.addr, off, NULL};
}

static int by_offset(const void *a, const void *b)
{
	const struct CfiSeg *x = a, *y = b;
	return x->off < y->off ? -1 : x->off > y->off;
}

static struct err *check_machine(const struct ElfFile *f)
{
	if (!f->is64 && f->machine == EM_X86_64)
		return err_new("code of the x32 ABI, which is not unwound");
	if (f->is64 ? f->machine != EM_X86_64 && f->machine != EM_AARCH64 && f->machine != EM_RISCV : f->machine != EM_386)
		return err_new("code of another machine (%u)", f->machine);
	return f->nsegs ? NULL : err_new("no program headers");
}

static void free_section(struct CfiSec *s)
{
	free(s->data);
	free(s->have);
	*s = (struct CfiSec){0};
}

static struct err *read_elf(int fd, const u8 *mem, u64 size, bool part, struct ElfCfi *out)
{
	*out = (struct ElfCfi){0};
	struct ElfFile *f = &out->file;
	struct err *e = elffile_open(f, fd, mem, size);
	if (e)
		return e;
	if ((e = check_machine(f))) {
		elffile_close(f);
		return e;
	}
	out->machine = f->machine;
	out->entry = f->entry;
	const struct ElfSeg *hdr = NULL;
	for (u32 i = 0; i < f->nsegs; i++) {
		const struct ElfSeg *p = &f->segs[i];
		if (p->type == PT_GNU_EH_FRAME)
			hdr = p;
		if (p->type != PT_LOAD || !(p->flags & PF_X) || p->off >= size || p->vaddr + p->filesz < p->vaddr)
			continue;
		struct CfiSeg seg = {p->vaddr, MIN(p->filesz, size - p->off), p->off};
		vec_push(&out->segs, seg);
	}
	if (out->segs.n)
		qsort(out->segs.p, out->segs.n, sizeof(*out->segs.p), by_offset);
	read_sections(out, part);
	if (f->is_pe && f->machine == EM_X86_64) // others have other entries
		read_pdata(f, &out->pdata);
	if (!out->eh_frame.data && hdr) {
		free_section(&out->eh_frame_hdr);
		read_by_hdr(f, hdr, out);
	}
	return NULL;
}

static struct err *read_fd(int fd, bool part, struct ElfCfi *out)
{
	struct stat st;
	*out = (struct ElfCfi){0};
	if (fstat(fd, &st))
		return err_errno(errno, "cannot read the file's size");
	return read_elf(fd, NULL, (u64)st.st_size, part, out);
}

struct err *elfcfi_read(int fd, struct ElfCfi *out)
{
	return read_fd(fd, false, out);
}

struct err *elfcfi_read_part(int fd, struct ElfCfi *out)
{
	return read_fd(fd, true, out);
}

struct err *elfcfi_read_mem(const u8 *p, u64 n, struct ElfCfi *out)
{
	return read_elf(-1, p, n, false, out);
}

bool elfcfi_code(const struct ElfCfi *e, const struct CfiSeg *seg, u64 vaddr, u8 *dst, u64 n)
{
	u64 skip = vaddr - seg->vaddr;
	return vaddr >= seg->vaddr && skip <= seg->size && n <= seg->size - skip && elffile_read(&e->file, seg->off + skip, dst, n);
}

struct Starts {
	AddrList *out;
	char *names; // NULL: none
	u64 size;
	bool v8; // its builtins are among the code
};

// gcc's and clang's name for the part of a function that is seldom run: it is entered by jumps, with the function's stack.
static bool is_cold_part(const struct Starts *s, u32 at)
{
	const char *dot = s->names && at < s->size ? strstr(s->names + at, ".cold") : NULL;
	return dot && (!dot[5] || dot[5] == '.');
}

static bool add_start(void *arg, const struct ElfSymbol *y)
{
	struct Starts *s = arg;
	if (y->addr)
		s->v8 |= s->names && y->name < s->size && !strcmp(s->names + y->name, "_ZN2v88internal7Version6major_E");
	if (y->type != STT_FUNC || !y->addr)
		return true;
	if (!is_cold_part(s, y->name))
		vec_push(s->out, y->addr);
	return true;
}

bool elfcfi_starts(const struct ElfCfi *e, AddrList *out)
{
	static const u32 types[] = {SHT_SYMTAB, SHT_DYNSYM};
	const struct ElfFile *f = &e->file;
	bool v8 = false;
	for (size_t i = 0; i < e->starts.n; i++)
		vec_push(out, e->starts.p[i]);
	for (u32 k = 0; k < ARRAY_LEN(types); k++)
		for (u32 i = 1; i < f->nsecs; i++) {
			const struct ElfSec *tab = &f->secs[i], *str = tab->link < f->nsecs ? &f->secs[tab->link] : NULL;
			if (tab->type != types[k])
				continue;
			struct Starts s = {out, str ? (char *)load(f, str->off, str->size) : NULL, str ? str->size : 0, false};
			err_free(elffile_symbols(f, tab, add_start, &s)); // what was read before an error is used
			v8 |= s.v8;
			free(s.names);
		}
	return v8;
}

void elfcfi_deinit(struct ElfCfi *e)
{
	vec_deinit(&e->segs);
	vec_deinit(&e->starts);
	free(e->code);
	elffile_close(&e->file);
	free_section(&e->eh_frame);
	free_section(&e->eh_frame_hdr);
	free_section(&e->debug_frame);
	free_section(&e->pdata);
	*e = (struct ElfCfi){0};
}
