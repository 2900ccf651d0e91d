// gopclntab: the tables that Go's linker writes for Go's own runtime and that no stripping removes: functions, frame sizes, files, lines, inlined calls.
// docs/go.md explains the format. In: a file nobody vouches for. Out: answers about single addresses; every offset is checked against the copy.
#ifndef SONDE_GOPCLNTAB_H
#define SONDE_GOPCLNTAB_H
#include "elf/elf.h"

enum GoForm { GO_1_16, GO_1_18, GO_1_20 }; // the first version that wrote it
struct GoTab {
	u8 *data; // owned, with a NUL behind it
	u64 size, vaddr;
	enum GoForm form;
	u32 quantum; // bytes that differences of addresses count in
	u64 text;    // what functions' addresses are relative to (1.18)
	u32 nfuncs;
	u64 names, cus, files, pcs, funcs; // offsets of its parts
	u64 gofunc; // address that inline trees are relative to; before 1.18 one that all of them are above. 0 not known
	u8 *inl;    // owned: the bytes from gofunc on, with what fits
	u64 inl_size;
};
// False: the file has none, or one of a form before Go 1.16.
bool gotab_open(struct ElfFile *f, struct GoTab *t);
void gotab_close(struct GoTab *t);

struct GoFunc {
	u64 entry, end; // addresses; padding behind the function is its own
	const char *name; // in the table; "" if damaged
	u64 rec;	  // offset of its record
	u32 pcsp, pcfile, pcln, npcdata, cu;
	u8 flag, nfuncdata;
};
#define GO_F_TOP 1     // nothing calls it
#define GO_F_SPWRITE 2 // it sets the stack pointer to what its table does not tell
#define GO_F_ASM 4     // written in assembly
bool gotab_func(const struct GoTab *t, u32 i, struct GoFunc *out); // i below nfuncs; false: damaged
bool gotab_find(const struct GoTab *t, u64 vaddr, struct GoFunc *out);

// ---- a table of values by address: for (gosteps_init(&s, ...); gosteps_next(&s);) s.value holds from s.from to s.to
struct GoSteps {
	const u8 *p, *end;
	u64 from, to, limit;
	s32 value;
	u32 quantum;
	bool first;
};
void gosteps_init(struct GoSteps *s, const struct GoTab *t, const struct GoFunc *f, u32 table);
bool gosteps_next(struct GoSteps *s);

// ---- places
struct GoPlace {
	const char *name, *file; // file NULL: not known
	u32 line;
};
// The place at vaddr in f: out[0] is the innermost inlined function. Returns how many there are, at least 1.
u32 gotab_places(const struct GoTab *t, const struct GoFunc *f, u64 vaddr, struct GoPlace *out, u32 max);

// ---- gomodule.c: where the table is, and what only Go's description of the module (moduledata) tells
bool gomodule_find_table(struct ElfFile *f, u64 *off, u64 *size, u64 *vaddr);
struct GoModule {
	u64 text, gofunc; // 0 not known
};
struct GoModule gomodule_read(struct ElfFile *f, const struct GoTab *t);
#endif
