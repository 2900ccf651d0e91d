// The JIT interface of GDB: what a process tells of the code it makes (docs/jit.md; GDB's manual, "JIT Compilation Interface"). Input: an object's symbols; memory of a
// process: the list that __jit_debug_descriptor begins, and ELF files in memory, one for each piece of code. Output: ranges of code with their unwinding information
// and their functions. Invariant: nothing in that memory is trusted: lists and sizes are bounded, what lies outside of its file is left out.
#include <elf.h>
#include "arch/arch.h"
#include "track/internal.h"

#define MAX_STRTAB (32u << 20)
#define MAX_SYMBOLS 65536u
#define MAX_SECTION (16u << 20)
#define MAX_RANGES 256u
#define SHT_UNWIND 0x70000001 // SHT_X86_64_UNWIND: .eh_frame of some compilers

// ---- where the list begins
struct Wanted {
	const char *names, *name;
	u64 size, addr;
	u8 type;
};
static const char marker[] = "\0__jit_debug_descriptor", pcre[] = "\0pcre2_jit_match_8", dotnet[] = "\0g_dacTable", erlang[] = "\0erl_drv_thread_self";

static bool on_symbol(void *arg, const struct ElfSymbol *y)
{
	struct Wanted *w = arg;
	if (y->plain && y->type == w->type && y->name < w->size && !strcmp(w->names + y->name, w->name))
		w->addr = y->addr;
	return !w->addr;
}

// Symbols are read of a table only that has the name.
static u64 symbol_in(const struct ElfFile *f, const struct ElfSec *tab, const char *names, u64 size, const char *name, u8 type)
{
	struct Wanted w = {names, name + 1, size, 0, type};
	if (names && memmem(names, size, name, strlen(name + 1) + 2))
		err_free(elffile_symbols(f, tab, on_symbol, &w));
	return w.addr;
}

u64 gdbjit_descriptor(struct ElfFile *f)
{
	static const u32 types[] = {SHT_DYNSYM, SHT_SYMTAB};
	u64 addr = 0;
	bool compiles = false, clr = false, beam = false;
	if (!f->is64)
		return 0;
	err_free(elffile_sections(f));
	for (u32 k = 0; k < ARRAY_LEN(types); k++)
		for (u32 i = 1; !addr && i < f->nsecs; i++) {
			const struct ElfSec *tab = &f->secs[i], *str = tab->link < f->nsecs ? &f->secs[tab->link] : NULL;
			if (tab->type != types[k] || !str)
				continue;
			char *names = elffile_load(f, str->off, str->size, MAX_STRTAB);
			compiles |= names && memmem(names, str->size, pcre, sizeof(pcre));
			clr |= names && types[k] == SHT_DYNSYM && memmem(names, str->size, dotnet, sizeof(dotnet));
			addr = symbol_in(f, tab, names, str->size, marker, STT_OBJECT);
			beam |= !addr && symbol_in(f, tab, names, str->size, erlang, STT_FUNC);
			free(names);
		}
	return clr && f->machine == EM_X86_64 ? JIT_CLR : addr ? addr : beam ? JIT_BEAM : compiles ? JIT_PCRE : 0;
}

// ---- the list
u64 gdbjit_version(const struct JitMemory *m, u64 desc, u64 h, u64 *first)
{
	u64 w[RT_JIT_HEAD / 8], e[RT_JIT_ENTRY / 8];
	*first = 0;
	if (!m->read(m->arg, desc, w, sizeof(w)))
		return 0;
	for (u32 i = 0; i < ARRAY_LEN(w); i++)
		h = RT_JIT_MIX(h, w[i]);
	h |= 1;
	if (!w[2])
		return h;
	if (!m->read(m->arg, w[2], e, sizeof(e)))
		return 0;
	for (u32 i = 0; i < ARRAY_LEN(e); i++)
		h = RT_JIT_MIX(h, e[i]);
	*first = w[2];
	return h | 1;
}

u32 gdbjit_list(const struct JitMemory *m, u64 first, struct JitEntry *out, u32 max)
{
	u32 n = 0;
	for (u64 at = first; at && n < max; n++) {
		u64 e[RT_JIT_ENTRY / 8]; // next, previous, file, size
		if (!m->read(m->arg, at, e, sizeof(e)))
			break;
		out[n] = (struct JitEntry){at, e[2], e[3]};
		at = e[0];
	}
	return n;
}

// ---- one of its ELF files
static int by_vaddr(const void *a, const void *b)
{
	const struct CfiSeg *x = a, *y = b;
	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static void add_range(struct JitElf *out, u64 lo, u64 size)
{
	struct CfiSeg s = {lo, size, 0};
	if (lo && size && size <= UINT32_MAX && lo + size > lo && !((lo + size) >> RT_UW_PC_BITS) && out->cfi.segs.n < MAX_RANGES)
		vec_push(&out->cfi.segs, s);
}

static void find_ranges(struct ElfFile *f, struct JitElf *out)
{
	for (u32 i = 1; i < f->nsecs; i++)
		if ((f->secs[i].flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR))
			add_range(out, f->secs[i].addr, f->secs[i].size);
	for (u32 i = 0; !out->cfi.segs.n && i < f->nsegs; i++)
		if (f->segs[i].type == PT_LOAD && f->segs[i].flags & PF_X)
			add_range(out, f->segs[i].vaddr, f->segs[i].memsz);
	if (!out->cfi.segs.n)
		return;
	qsort(out->cfi.segs.p, out->cfi.segs.n, sizeof(*out->cfi.segs.p), by_vaddr);
	size_t apart = 1;
	for (size_t i = 1; i < out->cfi.segs.n; i++)
		if (out->cfi.segs.p[i].vaddr >= out->cfi.segs.p[apart - 1].vaddr + out->cfi.segs.p[apart - 1].size)
			out->cfi.segs.p[apart++] = out->cfi.segs.p[i];
	out->cfi.segs.n = apart;
}

static bool relocated(const struct ElfFile *f, u32 section)
{
	for (u32 i = 1; i < f->nsecs; i++)
		if ((f->secs[i].type == SHT_RELA || f->secs[i].type == SHT_REL) && f->secs[i].info == section && f->secs[i].size)
			return true;
	return false;
}

// In a file that is still to be relocated (LLVM's) the addresses of sections are where they lie, but their bytes are as the compiler wrote them: those are taken
// from where they lie.
static void load_section(const struct ElfFile *f, u32 i, const struct JitMemory *m, struct CfiSec *out)
{
	const struct ElfSec *s = &f->secs[i];
	if (out->data || s->type == SHT_NOBITS || !s->size || s->size > MAX_SECTION || s->flags & SHF_COMPRESSED)
		return;
	u8 *p = NULL;
	if (!relocated(f, i)) {
		p = elffile_load(f, s->off, s->size, MAX_SECTION);
	} else if (s->flags & SHF_ALLOC && s->addr) {
		p = xmalloc(s->size);
		if (!m->read(m->arg, s->addr, p, s->size)) {
			free(p);
			p = NULL;
		}
	}
	if (p)
		*out = (struct CfiSec){p, s->size, s->addr};
}

struct Symbols {
	struct ElfFile *f;
	struct JitElf *out;
};

static bool add_symbol(void *arg, const struct ElfSymbol *y)
{
	struct Symbols *s = arg;
	if (!y->plain || y->type != STT_FUNC || y->name >= s->out->names_size || s->out->syms.n >= MAX_SYMBOLS)
		return true;
	u64 base = s->f->type == ET_REL && y->shndx < s->f->nsecs ? s->f->secs[y->shndx].addr : 0;
	struct MadeSym one = {y->addr + base, y->size, s->out->names + y->name};
	if (one.addr >= base)
		vec_push(&s->out->syms, one);
	return true;
}

static int by_addr(const void *a, const void *b)
{
	const struct MadeSym *x = a, *y = b;
	return x->addr != y->addr ? (x->addr < y->addr ? -1 : 1) : x->size < y->size ? -1 : x->size > y->size;
}

// Only what lies in a range. A function without a size ends where the next begins, or with its range.
void gdbjit_fit(struct JitElf *out)
{
	size_t n = 0, seg = 0;
	if (out->syms.n)
		qsort(out->syms.p, out->syms.n, sizeof(*out->syms.p), by_addr);
	for (size_t i = 0; i < out->syms.n; i++) {
		struct MadeSym y = out->syms.p[i];
		while (seg < out->cfi.segs.n && out->cfi.segs.p[seg].vaddr + out->cfi.segs.p[seg].size <= y.addr)
			seg++;
		if (seg == out->cfi.segs.n)
			break;
		if (y.addr < out->cfi.segs.p[seg].vaddr)
			continue;
		u64 room = out->cfi.segs.p[seg].vaddr + out->cfi.segs.p[seg].size - y.addr;
		if (!y.size)
			y.size = i + 1 < out->syms.n ? out->syms.p[i + 1].addr - y.addr : room;
		y.size = MIN(y.size, room);
		if (y.size)
			out->syms.p[n++] = y;
	}
	out->syms.n = n;
}

bool gdbjit_parse(const u8 *image, u64 size, const struct JitMemory *m, struct JitElf *out)
{
	struct ElfFile f;
	struct err *e = elffile_open(&f, -1, image, size);
	*out = (struct JitElf){.cfi = {.file = {.fd = -1}, .machine = HOST_MACHINE}};
	if (e || !f.is64 || f.machine != HOST_MACHINE) {
		if (!e)
			elffile_close(&f);
		err_free(e);
		return false;
	}
	err_free(elffile_headers(&f));
	find_ranges(&f, out);
	for (u32 i = 1; out->cfi.segs.n && i < f.nsecs; i++) {
		const struct ElfSec *s = &f.secs[i], *str = s->link < f.nsecs ? &f.secs[s->link] : NULL;
		const char *name = elffile_section_name(&f, s);
		if (!strcmp(name, ".eh_frame") && (s->type == SHT_PROGBITS || s->type == SHT_UNWIND))
			load_section(&f, i, m, &out->cfi.eh_frame);
		else if (!strcmp(name, ".debug_frame"))
			load_section(&f, i, m, &out->cfi.debug_frame);
		else if (s->type == SHT_SYMTAB && str && !out->names && (out->names = elffile_load(&f, str->off, str->size, MAX_STRTAB))) {
			struct Symbols y = {&f, out};
			out->names_size = str->size;
			err_free(elffile_symbols(&f, s, add_symbol, &y));
		}
	}
	elffile_close(&f);
	gdbjit_fit(out);
	return out->cfi.segs.n;
}

u16 gdbjit_machine(void)
{
	return HOST_MACHINE;
}

void gdbjit_free(struct JitElf *e)
{
	elfcfi_deinit(&e->cfi);
	vec_deinit(&e->syms);
	vec_deinit(&e->lines);
	vec_deinit(&e->rows);
	free(e->names);
	*e = (struct JitElf){0};
}
