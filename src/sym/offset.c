// Offset in an object's file -> symbol, with what is inlined there. Go's own tables come before symbols.
#include "sym/internal.h"

struct SymHit object_off(struct Syms *s, struct SymObject *o, u64 off)
{
	struct SymHit h = {.module = o->path, .module_off = off, .module_addr = off};
	struct ElfObj *e = elf_of(o);
	if (e && elffile_off_to_vaddr(&e->file, off, &h.module_addr) && !go_lookup(s, o, h.module_addr, &h))
		elf_lookup(s, o, h.module_addr, &h);
	return h;
}

// hits[0] has the name of the function at off. With what is inlined there, and places.
static u32 add_inlined(struct Syms *s, struct SymObject *o, u64 off, struct SymHit *hits, u32 max)
{
	u32 n = max > 1 || s->opts.lines ? go_inlined(s, o, hits[0].module_addr, hits, max) : 0;
	if (n)
		return n;
	return s->opts.inlines || s->opts.lines ? object_inlined(s, o, off, hits, max) : 1;
}

struct SymHit sym_object_off(struct Syms *s, struct SymObject *o, u64 off)
{
	syms_lock(s);
	struct SymHit h = object_off(s, o, off);
	add_inlined(s, o, off, &h, 1);
	syms_unlock(s);
	return h;
}

bool sym_object_signal_return(struct SymObject *o, u64 off)
{
	struct ElfObj *e = elf_of(o);
	return e && signal_code(&e->file, off);
}

u32 sym_object_off_inlined(struct Syms *s, struct SymObject *o, u64 off, struct SymHit *hits, u32 max)
{
	if (!max)
		return 0;
	syms_lock(s);
	hits[0] = object_off(s, o, off);
	u32 n = add_inlined(s, o, off, hits, max);
	syms_unlock(s);
	return n;
}
