#include "sym/internal.h"
u32 object_inlined(struct Syms *s, struct SymObject *o, u64 off, struct SymHit *hits, u32 max) { return 1; }
void dwarf_index_destroy(struct DwarfIndex *d) {}
