// Windows' executable files, where processes of Linux have code in them: .NET's libraries that were compiled ahead, programs and libraries under Wine. Input: a file nobody vouches for.
// Output: segments and machine as of an ELF file, and where its tables are. (Microsoft, "PE Format"; .NET: docs/design/coreclr/botr/readytorun-format.md.)
#include <elf.h>
#include "elf/internal.h"

#define MAX_SECTIONS 96u // the format's own limit
#define MACHINE_X86_64 0x8664
#define MACHINE_ARM64 0xaa64
#define OF_LINUX 0x7b79 // .NET's code for Linux: the machine's number, exclusive-or this
#define PE32 0x10b
#define PE32_PLUS 0x20b

struct Head { // from the signature on, as in the file
	char signature[4];
	u16 machine, nsections;
	u32 time, symbols, nsymbols;
	u16 optional_size, flags;
	u16 magic; // the optional header
	u8 linker[2];
	u32 code_size, data_size, bss_size, entry;
};
_Static_assert(sizeof(struct Head) == 24 + 20, "PE Format");
#define OPTIONAL 24u // bytes before that header
enum { TABLE_EXPORTS = 0, TABLE_EXCEPTION = 3, TABLE_CLR = 14 };

struct Section {
	char name[8];
	u32 size, addr, file_size, file_off, relocs, lines;
	u16 nrelocs, nlines;
	u32 flags;
};
_Static_assert(sizeof(struct Section) == 40, "PE Format, \"Section Table\"");
#define SECTION_EXECUTE 0x20000000u
#define SECTION_WRITE 0x80000000u

struct Pe {
	const struct PeBytes *b;
	u64 at; // of its head
	struct Head h;
};

static bool read_head(const struct PeBytes *b, struct Pe *pe)
{
	char dos[64];
	u32 at;
	if (!b->read(b->arg, b->base, dos, sizeof(dos)) || memcmp(dos, "MZ", 2))
		return false;
	memcpy(&at, dos + 60, sizeof(at));
	*pe = (struct Pe){.b = b, .at = b->base + at};
	return b->read(b->arg, pe->at, &pe->h, sizeof(pe->h)) && !memcmp(pe->h.signature, "PE\0", 4) && (pe->h.magic == PE32 || pe->h.magic == PE32_PLUS) &&
	       pe->h.nsections <= MAX_SECTIONS;
}

static bool read_section(const struct Pe *pe, u32 i, struct Section *s)
{
	return pe->b->read(pe->b->arg, pe->at + OPTIONAL + pe->h.optional_size + i * sizeof(*s), s, sizeof(*s));
}

static struct PeTable read_table(const struct Pe *pe, u32 i)
{
	u32 n, tables = pe->h.magic == PE32 ? 96 : 112;
	struct PeTable t;
	if (tables + (i + 1) * sizeof(t) > pe->h.optional_size || !pe->b->read(pe->b->arg, pe->at + OPTIONAL + tables - 4, &n, sizeof(n)) || i >= n ||
	    !pe->b->read(pe->b->arg, pe->at + OPTIONAL + tables + i * sizeof(t), &t, sizeof(t)))
		return (struct PeTable){0};
	return t;
}

// ---- a file
static u16 machine_of(u16 m)
{
	m = m == (MACHINE_X86_64 ^ OF_LINUX) || m == (MACHINE_ARM64 ^ OF_LINUX) ? m ^ OF_LINUX : m;
	return m == MACHINE_X86_64 ? EM_X86_64 : m == MACHINE_ARM64 ? EM_AARCH64 : EM_NONE;
}

static bool read_file_bytes(void *arg, u64 at, void *buf, u64 n)
{
	return elffile_read(arg, at, buf, n);
}

bool pe_open(struct ElfFile *f)
{
	const struct PeBytes b = {read_file_bytes, f, 0};
	struct Pe pe;
	struct Section s;
	if (!read_head(&b, &pe) || pe.h.magic != PE32_PLUS || !machine_of(pe.h.machine))
		return false;
	f->segs = xcalloc(pe.h.nsections + 1u, sizeof(*f->segs));
	for (u32 i = 0; i < pe.h.nsections && read_section(&pe, i, &s); i++) {
		u32 flags = PF_R | (s.flags & SECTION_EXECUTE ? PF_X : 0) | (s.flags & SECTION_WRITE ? PF_W : 0);
		f->segs[f->nsegs++] = (struct ElfSeg){s.addr, s.file_off, MIN(s.file_size, s.size), s.size, PT_LOAD, flags, 1};
	}
	f->is64 = f->is_pe = true;
	f->type = ET_DYN;
	f->machine = machine_of(pe.h.machine);
	f->entry = pe.h.entry;
	f->pe_exports = read_table(&pe, TABLE_EXPORTS);
	f->pe_unwind = read_table(&pe, TABLE_EXCEPTION);
	f->pe_clr = read_table(&pe, TABLE_CLR);
	return true;
}

// ---- names that a file gives to others
#define MAX_EXPORTS 65536u
#define MAX_NAME 512u
struct Exports { // "Export Directory Table"
	u32 flags, time;
	u16 major, minor;
	u32 name, first, nfunctions, nnames, functions, names, numbers;
};

static int by_address(const void *a, const void *b)
{
	const struct PeFunction *x = a, *y = b;
	return x->addr != y->addr ? (x->addr < y->addr ? -1 : 1) : 0;
}

static bool read_export(const struct ElfFile *f, const struct Exports *x, u32 i, struct PeFunction *out)
{
	u32 name, addr;
	u16 number;
	u64 off;
	char text[MAX_NAME];
	if (!elffile_read_at(f, x->names + (u64)i * 4, &name, 4) || !elffile_read_at(f, x->numbers + (u64)i * 2, &number, 2) || number >= x->nfunctions ||
	    !elffile_read_at(f, x->functions + number * 4ull, &addr, 4) || addr - f->pe_exports.addr < f->pe_exports.size || // the name of another library's
	    !elffile_vaddr_to_off(f, name, &off))
		return false;
	size_t got = elffile_read_some(f, off, text, sizeof(text)), n = strnlen(text, got);
	if (!n || n == got)
		return false;
	*out = (struct PeFunction){addr, 0, xstrdup(text)};
	return true;
}

void pe_exports(const struct ElfFile *f, PeFunctions *out)
{
	struct Exports x;
	struct PeFunction fn;
	u32 entry[3];
	size_t first = out->n, kept = first, k = first;
	if (f->machine != EM_X86_64 || !elffile_read_at(f, f->pe_exports.addr, &x, sizeof(x)))
		return;
	for (u32 i = 0; i < MIN(x.nnames, MAX_EXPORTS); i++)
		if (read_export(f, &x, i, &fn))
			vec_push(out, fn);
	if (out->n > first)
		qsort(out->p + first, out->n - first, sizeof(*out->p), by_address);
	// How large they are only their unwind information tells: what has none, and what is not exported, has no name.
	for (u32 i = 0; i < f->pe_unwind.size / sizeof(entry) && elffile_read_at(f, f->pe_unwind.addr + i * sizeof(entry), entry, sizeof(entry)); i++)
		for (; k < out->n && out->p[k].addr <= entry[0]; k++)
			if (out->p[k].addr == entry[0] && entry[1] > entry[0])
				out->p[k].size = entry[1] - entry[0];
	for (k = first; k < out->n; k++)
		if (out->p[k].size)
			out->p[kept++] = out->p[k];
		else
			free(out->p[k].name);
	out->n = kept;
}

// ---- an image in memory
#define BSJB 0x424a5342u // a metadata root begins with it

// Address of what is at addr of the image; 0: its file has it nowhere.
static u64 place_in_file(const struct Pe *pe, u32 addr)
{
	struct Section s;
	for (u32 i = 0; i < pe->h.nsections && read_section(pe, i, &s); i++)
		if (addr >= s.addr && addr - s.addr < s.file_size)
			return pe->b->base + s.file_off + (addr - s.addr);
	return 0;
}

bool pe_metadata(const struct PeBytes *b, u64 *addr, u32 *size)
{
	struct Pe pe;
	if (!read_head(b, &pe))
		return false;
	struct PeTable clr = read_table(&pe, TABLE_CLR), meta;
	for (u32 flat = 0; clr.size && flat < 2; flat++) {
		u64 at = flat ? place_in_file(&pe, clr.addr) : b->base + clr.addr;
		u32 magic;
		if (!at || !b->read(b->arg, at + 8, &meta, sizeof(meta)))
			continue;
		*addr = flat ? place_in_file(&pe, meta.addr) : b->base + meta.addr;
		*size = meta.size;
		if (*addr && b->read(b->arg, *addr, &magic, sizeof(magic)) && magic == BSJB)
			return true;
	}
	return false;
}
