// In place of dwarf.c where sonde is built without libdw (SONDE_MIN=1): no inlined functions and no lines. That --inlines and --lines are
// without effect then is said where they are taken.
#include "sym/internal.h"

u32 object_inlined(struct Syms *s, struct SymObject *o, u64 off, struct SymHit *hits, u32 max)
{
	return 1;
}

void dwarf_index_destroy(struct DwarfIndex *d)
{
}

enum SymLine sym_object_line(struct Syms *s, struct SymObject *o, const char *file, u32 line, u32 col, u64 *vaddr, struct Str *units)
{
	return SYM_LINE_NO_DWARF;
}

bool sym_object_section(struct Syms *s, struct SymObject *o, u64 vaddr, const char **section, u64 *off)
{
	return false;
}
