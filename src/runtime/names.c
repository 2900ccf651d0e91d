// What an object offers by name. Input: an ELF file. Output: the text of its .dynsym's names.
#include "runtime/runtime.h"

#define MAX_STRTAB (64u << 20)

bool runtime_names(struct ElfFile *f, struct RuntimeNames *out)
{
	err_free(elffile_sections(f));
	const struct ElfSec *tab = f->is64 ? elffile_section(f, ".dynsym") : NULL, *str = tab && tab->link < f->nsecs ? &f->secs[tab->link] : NULL;
	*out = (struct RuntimeNames){.tab = tab, .size = str ? str->size : 0};
	out->text = str ? elffile_load(f, str->off, str->size, MAX_STRTAB) : NULL;
	return out->text;
}
