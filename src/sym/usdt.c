// USDT probes: .note.stapsdt sections (format: systemtap's sys/sdt.h, type 3 notes named "stapsdt": pc, base, semaphore, then three
// strings provider, name, arguments). Output: notes with file offsets. Invariant: a note whose strings are not terminated or whose
// pc is in no segment is left out; prelink's shift is undone through .stapsdt.base.
#include <elf.h>
#include "sym/internal.h"

#define MAX_NOTES (64u << 20)

struct Usdt {
	struct ElfObj *e;
	VEC(struct UsdtNote) v;
	const struct ElfSec *base;
};

static const char *text(const u8 **p, const u8 *end)
{
	const u8 *nul = memchr(*p, 0, end - *p);
	const char *s = (const char *)*p;
	*p = nul ? nul + 1 : end;
	return nul ? s : NULL;
}

static bool note(void *arg, u32 type, const char *name, u32 namesz, const u8 *desc, u32 descsz)
{
	struct Usdt *u = arg;
	struct ElfFile *f = &u->e->file;
	u32 word = f->is64 ? 8 : 4;
	if (type != 3 || namesz != sizeof("stapsdt") || memcmp(name, "stapsdt", namesz) || descsz < 3 * word)
		return true;
	u64 addr[3] = {0}; // pc, base, semaphore
	for (u32 i = 0; i < 3; i++)
		memcpy(&addr[i], desc + i * word, word); // native byte order, little endian widens by itself
	const u8 *p = desc + 3 * word, *end = desc + descsz;
	const char *provider = text(&p, end), *probe = provider ? text(&p, end) : NULL, *args = probe ? text(&p, end) : NULL;
	if (!args)
		return true;
	u64 shift = u->base && addr[1] ? u->base->addr - addr[1] : 0;
	struct UsdtNote n = {.pc = addr[0] + shift};
	if (!elffile_vaddr_to_off(f, n.pc, &n.pc_off))
		return true;
	if (addr[2] && !elffile_vaddr_to_off(f, addr[2] + shift, &n.sem_off))
		return true;
	size_t np = strlen(provider) + 1, nn = strlen(probe) + 1, na = strlen(args) + 1;
	char *copy = xmalloc(np + nn + na); // one block, freed by its first string: elf_destroy
	n.provider = memcpy(copy, provider, np);
	n.name = memcpy(copy + np, probe, nn);
	n.args = memcpy(copy + np + nn, args, na);
	vec_push(&u->v, n);
	return true;
}

struct err *sym_object_usdt(struct Syms *s, struct SymObject *o, struct UsdtNote **out, u32 *n)
{
	struct ElfObj *e = elf_of(o);
	*out = NULL;
	*n = 0;
	if (!e)
		return err_new("%s: %s", o->path, o->why ? o->why : "not an ELF file");
	struct err *err = NULL;
	syms_lock(s);
	if (!e->usdt_read) {
		struct Usdt u = {.e = e};
		err = elffile_sections(&e->file);
		u.base = elffile_section(&e->file, ".stapsdt.base");
		for (u32 i = 0; i < e->file.nsecs; i++) {
			const struct ElfSec *sec = &e->file.secs[i];
			u8 *p = NULL;
			if (sec->type == SHT_NOTE && !strcmp(elffile_section_name(&e->file, sec), ".note.stapsdt"))
				p = elffile_load(&e->file, sec->off, sec->size, MAX_NOTES);
			if (p)
				elf_notes_each(p, sec->size, 4, note, &u);
			free(p);
		}
		e->usdt = u.v.p;
		e->nusdt = u.v.n;
		e->usdt_read = true;
	}
	*out = e->usdt;
	*n = e->nusdt;
	syms_unlock(s);
	return err ? err_wrap(err, "%s", o->path) : NULL;
}
