// Symbol tables of an ELF file. Input: a section of type SHT_SYMTAB or SHT_DYNSYM. Output: its symbols in one form for both classes, in the file's order.
// Invariant: a table is read in pieces, whatever its size says.
#include <elf.h>
#include "elf/internal.h"

#define MAX_SYMTAB (384u << 20) // 16 million symbols

struct err *elffile_symbols(const struct ElfFile *f, const struct ElfSec *tab, bool (*fn)(void *, const struct ElfSymbol *), void *arg)
{
	u32 esz = f->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	if (tab->entsize != esz || tab->off > f->size || tab->size > f->size - tab->off || tab->size > MAX_SYMTAB)
		return err_new("bad ELF symbol table");
	u32 total = tab->size / esz, chunk = 8192;
	u8 *buf = xmalloc((size_t)chunk * esz);
	struct err *e = NULL;
	bool more = true;
	for (u32 at = 0; more && at < total; at += chunk) {
		u32 n = MIN(chunk, total - at);
		if (!elffile_read(f, tab->off + (u64)at * esz, buf, (u64)n * esz)) {
			e = err_new("cannot read the ELF symbol table");
			break;
		}
		for (u32 i = 0; more && i < n; i++) {
			struct ElfSymbol r;
			if (f->is64) {
				Elf64_Sym y;
				memcpy(&y, buf + (size_t)i * esz, sizeof(y));
				r = (struct ElfSymbol){y.st_value, y.st_size, y.st_name, ELF64_ST_TYPE(y.st_info), ELF64_ST_BIND(y.st_info),
						    y.st_shndx};
			} else {
				Elf32_Sym y;
				memcpy(&y, buf + (size_t)i * esz, sizeof(y));
				r = (struct ElfSymbol){y.st_value, y.st_size, y.st_name, ELF32_ST_TYPE(y.st_info), ELF32_ST_BIND(y.st_info),
						    y.st_shndx};
			}
			if (r.shndx == SHN_UNDEF)
				continue;
			r.index = at + i;
			r.plain = r.shndx != SHN_ABS && r.shndx != SHN_COMMON && r.name;
			more = fn(arg, &r);
		}
	}
	free(buf);
	return e;
}
