// DWARF of user binaries, inside ctype: dwarf.c finds files, functions and names, dwarftype.c turns entries into types.
// Not in internal.h: the <elf.h> that libdw includes and the <linux/elf.h> of macros.c exclude each other.
#ifndef SONDE_CTYPE_DWARF_H
#define SONDE_CTYPE_DWARF_H
#include "ctype/internal.h"
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

struct DwFile {
	char *path;
	Dwfl *dwfl;
	Dwfl_Module *mod;
	Dwarf *dw;
	Dwarf_Addr bias;
	struct Dwp *dwp; // NAME.dwp; NULL: none
	const char *missing; // the first .dwo file that is not there, nor in the package; NULL: none so far
};
struct DwarfSet {
	char *debug_path; // where libdwfl looks for debug files, in its form; owned
	Dwfl_Callbacks callbacks; // each Dwfl refers to it
	VEC(struct DwFile *) files;
	struct Map memo; // "FILE:OFFSET" of an entry -> struct Type of its record or enum
};
struct DwDie { // Origin.die of a record
	struct DwFile *file;
	Dwarf_Die die;
};

// ---- dwarf.c
// Calls fn for each compilation unit's entry until it returns true.
bool dw_each_cu(struct DwFile *f, bool (*fn)(struct DwFile *f, Dwarf_Die *cu, void *arg), void *arg);
// The definition of a record or enum known by name: tag of DW_TAG_structure_type etc., 0 any type.
bool dw_find_type(struct DwFile *f, int tag, const char *name, Dwarf_Die *out);

// ---- dwp.c: a package of split debug information. NULL: it is not there, or none that can be read.
struct Dwp *dwp_open(const char *path);
void dwp_close(struct Dwp *d);
// The compilation unit of that id, whose skeleton is in the binary; NULL: not in it. Lives as long as the package.
Dwarf_Die *dwp_unit(struct Dwp *d, u64 id, Dwarf_Die *skeleton);
bool dwp_entry(struct Dwp *d, Dwarf_Die *func, Dwarf_Addr *addr); // where a function of its units begins; false: not known, no code

// ---- dwarftype.c
// Follows DW_AT_type; false: void.
bool dw_type_of(Dwarf_Die *die, Dwarf_Die *out);
// Drops typedefs and qualifiers; false: void or damaged.
bool dw_peel(const Dwarf_Die *die, Dwarf_Die *out);
const struct Type *dw_to_type(struct Ctypes *c, struct DwFile *f, const Dwarf_Die *die); // NULL die: void
void dw_type_text(const Dwarf_Die *die, struct Str *out);				 // "const char*", as bpftrace -lv prints it; NULL: void
bool dw_record_load(struct Ctypes *c, struct Record *r);
// Eightbytes of a small aggregate that go in general registers: 1 and 2 are bits for the first and second. 0: none, it is floating point.
u32 dw_int_eightbytes(const Dwarf_Die *die, u32 size);
#endif
