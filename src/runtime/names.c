// What an object offers by name. Input: an ELF file. Output: the text of its .dynsym's names; which libc it asks for.
#include "runtime/internal.h"

#define MAX_STRTAB (64u << 20)

bool runtime_names(struct ElfFile *f, struct RuntimeNames *out)
{
	err_free(elffile_sections(f));
	const struct ElfSec *tab = f->is64 ? elffile_section(f, ".dynsym") : NULL, *str = tab && tab->link < f->nsecs ? &f->secs[tab->link] : NULL;
	*out = (struct RuntimeNames){.tab = tab, .size = str ? str->size : 0};
	out->text = str ? elffile_load(f, str->off, str->size, MAX_STRTAB) : NULL;
	return out->text;
}

bool runtime_of_musl(const struct ElfFile *f, struct Str *version)
{
	struct ElfNeeded n;
	bool musl = false;

	elffile_needed(f, &n);
	for (u32 i = 0; i < n.n; i++)
		musl |= !strcmp(n.names[i], "libc.so") || !strncmp(n.names[i], "libc.musl-", 10);
	free(n.text);
	if (musl)
		str_add(version, " (built against musl)");
	return musl;
}
