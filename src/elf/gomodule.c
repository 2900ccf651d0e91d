// Where Go's table is in a file, and Go's description of the module (moduledata), which says where the text begins and what inline trees are relative to.
// In: an ELF file. Out: offsets and addresses. Invariant: a file that is not Go's costs a look at its section names and notes.
#include <elf.h>
#include "elf/elf.h"

#define MAX_SCAN (64ull << 20) // bytes searched for something that nothing names
#define MAX_RELA (64ull << 20)
#define PIECE (1u << 20)
#define MODULES_MAX 16u // words that lead to the table and may begin moduledata: each costs a look at all relocations
enum { M_TEXT = 22, M_TYPES_1_16 = 35, M_GOFUNC_1_18 = 38, M_TYPES_1_20 = 37, M_GOFUNC_1_20 = 40, M_GOFUNC_1_27 = 43, M_WORDS }; // words of moduledata

// ---- the table
static bool is_header(const u8 *p, u64 n)
{
	u32 magic;
	u64 funcs;
	if (n < 72)
		return false;
	memcpy(&magic, p, 4);
	memcpy(&funcs, p + 8, 8);
	return (magic == 0xfffffff1 || magic == 0xfffffff0 || magic == 0xfffffffa) && !p[4] && !p[5] && (p[6] == 1 || p[6] == 4) && p[7] == 8 && funcs &&
	       funcs < 1u << 24;
}

// Cgo's linker scripts put the table of a position-independent file in .data.rel.ro, without a name of its own: known by its header.
static bool search(struct ElfFile *f, u64 off, u64 size, u64 *at)
{
	u8 *buf = xmalloc(PIECE + 72);
	bool found = false;
	size = MIN(size, MAX_SCAN);
	for (u64 done = 0; !found && done < size; done += PIECE) {
		size_t n = elffile_read_some(f, off + done, buf, MIN(size - done, (u64)PIECE + 72));
		for (size_t i = 0; !found && i + 72 <= n && i < PIECE; i += 16)
			if ((found = is_header(buf + i, n - i)))
				*at = done + i;
	}
	free(buf);
	return found;
}

bool gomodule_find_table(struct ElfFile *f, u64 *off, u64 *size, u64 *vaddr)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};
	const struct ElfSec *s = NULL;
	u64 at;
	err_free(elffile_headers(f));
	for (u32 i = 0; i < ARRAY_LEN(names) && !s; i++)
		s = elffile_section(f, names[i]);
	if (s && s->type != SHT_NOBITS) {
		*off = s->off, *size = s->size, *vaddr = s->addr;
		return true;
	}
	if (!elffile_is_go(f))
		return false;
	s = elffile_section(f, ".data.rel.ro");
	if (s && s->type != SHT_NOBITS && search(f, s->off, s->size, &at)) {
		*off = s->off + at, *size = s->size - at, *vaddr = s->addr + at;
		return true;
	}
	for (u32 i = 0; i < f->nsegs && !f->shstr; i++) { // a file without sections
		const struct ElfSeg *p = &f->segs[i];
		if (p->type != PT_LOAD || p->flags & PF_X || !search(f, p->off, p->filesz, &at))
			continue;
		*off = p->off + at, *size = p->filesz - at, *vaddr = p->vaddr + at;
		return true;
	}
	return false;
}

// ---- moduledata. Its first word points to the table; in position-independent files the words are in relocations instead (or also).
struct Words {
	u64 at; // address of moduledata, 0 not found
	u64 v[M_WORDS];
};

static u32 relative_type(const struct ElfFile *f)
{
	return f->machine == EM_AARCH64 ? 1027 /* R_AARCH64_RELATIVE */ : R_X86_64_RELATIVE;
}

static const Elf64_Rela *load_relocations(struct ElfFile *f, u64 *n)
{
	const struct ElfSec *s = elffile_section(f, ".rela.dyn");
	if (!s)
		s = elffile_section(f, ".rela");
	*n = s && s->type == SHT_RELA ? s->size / sizeof(Elf64_Rela) : 0;
	return *n ? elffile_load(f, s->off, *n * sizeof(Elf64_Rela), MAX_RELA) : NULL;
}

static void read_words(struct ElfFile *f, struct Words *w)
{
	u64 off;
	if (elffile_vaddr_to_off(f, w->at, &off))
		elffile_read_some(f, off, w->v, sizeof(w->v));
}

static bool is_module(const struct Words *w, const struct GoTab *t)
{
	return w->v[0] == t->vaddr && w->v[1] == t->vaddr + t->names && w->v[4] == t->vaddr + t->cus; // slices: pointer, length, capacity
}

static void by_relocations(struct ElfFile *f, const struct GoTab *t, struct Words *w)
{
	u64 n;
	u32 tried = 0;
	const Elf64_Rela *r = load_relocations(f, &n);
	for (u64 i = 0; r && i < n && tried < MODULES_MAX; i++) {
		if ((u64)r[i].r_addend != t->vaddr || ELF64_R_TYPE(r[i].r_info) != relative_type(f))
			continue;
		tried++;
		w->at = r[i].r_offset;
		read_words(f, w);
		for (u64 k = 0; k < n; k++) {
			u64 word = (r[k].r_offset - w->at) / 8;
			if (r[k].r_offset >= w->at && word < M_WORDS && ELF64_R_TYPE(r[k].r_info) == relative_type(f))
				w->v[word] = (u64)r[k].r_addend;
		}
		if (is_module(w, t))
			break;
		w->at = 0;
	}
	free((void *)r);
}

static void by_content(struct ElfFile *f, const struct GoTab *t, struct Words *w)
{
	u8 *buf = xmalloc(PIECE);
	u64 left = MAX_SCAN;
	for (u32 i = 0; i < f->nsegs && !w->at; i++) {
		const struct ElfSeg *s = &f->segs[i];
		if (s->type != PT_LOAD || !(s->flags & PF_W))
			continue;
		for (u64 done = 0, n; done < s->filesz && left && !w->at; done += n, left -= MIN(left, n)) {
			n = elffile_read_some(f, s->off + done, buf, MIN(s->filesz - done, (u64)PIECE));
			if (n < 8)
				break;
			n &= ~7ull;
			for (u64 k = 0; k < n && !w->at; k += 8) {
				if (memcmp(buf + k, &t->vaddr, 8))
					continue;
				w->at = s->vaddr + done + k;
				read_words(f, w);
				w->at = is_module(w, t) ? w->at : 0;
			}
		}
	}
	free(buf);
}

// Where the module says what inline trees are relative to. Since Go 1.27 (runtime/symtab.go) the length of the types' descriptions stands where the address of
// their end was, and there are three words more.
static u32 gofunc_word(const struct Words *w, u32 form)
{
	if (form == GO_1_16)
		return M_TYPES_1_16;
	if (form == GO_1_18)
		return M_GOFUNC_1_18;
	return w->v[M_TYPES_1_20 + 1] < w->v[M_TYPES_1_20] ? M_GOFUNC_1_27 : M_GOFUNC_1_20;
}

struct GoModule gomodule_read(struct ElfFile *f, const struct GoTab *t)
{
	struct Words w = {0};
	struct GoModule m = {0};
	if (t->form >= GO_1_18)
		memcpy(&m.text, t->data + 24, 8); // 0 in position-independent files, and since Go 1.26
	by_content(f, t, &w);
	if (!w.at)
		by_relocations(f, t, &w);
	if (w.at) {
		m.text = w.v[M_TEXT];
		m.gofunc = w.v[gofunc_word(&w, t->form)];
	}
	const struct ElfSec *s = m.text || t->form == GO_1_16 ? NULL : elffile_section(f, ".text");
	if (s)
		m.text = s->addr;
	return m;
}
