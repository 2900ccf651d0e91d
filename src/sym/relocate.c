// Object files (ET_REL: modules of the kernel) have addresses for their debug information only after relocation, which libdw leaves to others. In: a file that libdw has
// opened. Out: the numbers in its debug sections are such addresses, of a layout of our own: its loaded sections behind one another, in the file's order. Invariant: a file
// nobody vouches for; every offset and index is checked, and only libelf's copy is written to.
#include <gelf.h>
#include "sym/internal.h"

#define FIRST 0x1000u // 0 is code that the linker threw away

struct Layout {
	Elf *elf;
	size_t n, names;
	u64 *base; // of each section, owned; 0: it is not loaded
};

static bool layout(Elf *elf, struct Layout *l)
{
	GElf_Ehdr eh;
	*l = (struct Layout){.elf = elf};
	if (!gelf_getehdr(elf, &eh) || eh.e_type != ET_REL || elf_getshdrnum(elf, &l->n) || elf_getshdrstrndx(elf, &l->names))
		return false;
	l->base = xcalloc(l->n + 1, sizeof(*l->base));
	u64 at = FIRST;
	for (size_t i = 1; i < l->n; i++) {
		GElf_Shdr h;
		if (!gelf_getshdr(elf_getscn(elf, i), &h) || !(h.sh_flags & SHF_ALLOC) || h.sh_size > UINT32_MAX)
			continue;
		l->base[i] = at = ALIGN_UP(at, 4096u);
		at += h.sh_size;
	}
	return true;
}

// Bytes of the word that a relocation of that type puts symbol + addend into; 0: it is another kind.
static u32 width(u32 machine, u32 type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_64 ? 8 : type == R_X86_64_32 || type == R_X86_64_32S ? 4 : 0;
	if (machine == EM_AARCH64)
		return type == R_AARCH64_ABS64 ? 8 : type == R_AARCH64_ABS32 ? 4 : 0;
	if (machine == EM_RISCV)
		return type == R_RISCV_64 ? 8 : type == R_RISCV_32 ? 4 : 0;
	return 0;
}

static void relocate_section(const struct Layout *l, Elf_Data *to, Elf_Data *relas, Elf_Data *syms)
{
	GElf_Ehdr eh;
	GElf_Rela r;
	GElf_Sym y;
	if (!to || !to->d_buf || !relas || !syms || !gelf_getehdr(l->elf, &eh))
		return;
	for (int i = 0; gelf_getrela(relas, i, &r); i++) {
		u32 n = width(eh.e_machine, (u32)GELF_R_TYPE(r.r_info));
		if (!n || r.r_offset > to->d_size || to->d_size - r.r_offset < n || !gelf_getsym(syms, (int)GELF_R_SYM(r.r_info), &y))
			continue;
		u64 v = y.st_value + (u64)r.r_addend + (y.st_shndx < l->n ? l->base[y.st_shndx] : 0);
		memcpy((char *)to->d_buf + r.r_offset, &v, n); // little endian, as both machines are
	}
}

void objfile_relocate(Elf *elf)
{
	struct Layout l;
	if (!layout(elf, &l))
		return;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr h, of;
		if (!gelf_getshdr(scn, &h) || h.sh_type != SHT_RELA)
			continue;
		Elf_Scn *to = elf_getscn(elf, h.sh_info), *syms = elf_getscn(elf, h.sh_link);
		const char *name = to && gelf_getshdr(to, &of) ? elf_strptr(elf, l.names, of.sh_name) : NULL;
		if (name && syms && !strncmp(name, ".debug_", 7))
			relocate_section(&l, elf_getdata(to, NULL), elf_getdata(scn, NULL), elf_getdata(syms, NULL));
	}
	free(l.base);
}

bool objfile_place(Elf *elf, u64 addr, const char **section, u64 *off)
{
	struct Layout l;
	GElf_Shdr h;
	bool found = false;
	if (!layout(elf, &l))
		return false;
	for (size_t i = 1; i < l.n && !found; i++) {
		if (!l.base[i] || addr < l.base[i] || !gelf_getshdr(elf_getscn(elf, i), &h) || addr - l.base[i] >= h.sh_size)
			continue;
		*section = elf_strptr(elf, l.names, h.sh_name);
		*off = addr - l.base[i];
		found = *section != NULL;
	}
	free(l.base);
	return found;
}
