// Where the symbols and DWARF of a stripped object are.
#include "sym/internal.h"
bool debugfile_find(struct Syms *s, struct SymObject *o, struct DebugFile *out) { return false; }
bool debugfile_mini(struct ElfFile *f, struct DebugFile *out) { return false; }
void debugfile_close(struct DebugFile *d)
{
	if (d->fd >= 0)
		close(d->fd);
	free(d->mem);
	elffile_close(&d->file);
}
void debuginfod_destroy(struct Syms *s) {}
