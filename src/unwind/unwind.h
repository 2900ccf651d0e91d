// unwind: where a caller's registers are, at every place of an object's code. .eh_frame, .debug_frame or the instructions themselves -> compact rows, as
// bpfrt/rows.bpf.c searches them. In: a file (elf/elf.h). No maps, no processes: it gives the same on every machine.
#ifndef SONDE_UNWIND_H
#define SONDE_UNWIND_H
#include "base/base.h"
#include "bpfrt/abi.h"
#include "bpfrt/stack.h"
#include "elf/elf.h"

// ---- rules.c: distinct rules, numbered; 0 is "no unwind information"
struct RuleSet {
	VEC(struct RtUwRule) v;
	u32 *index; // open addressing, 0 free, else number
	u32 nindex, max;
	u32 last[4096]; // numbers by hash: most rows repeat a rule used shortly before
};
void ruleset_init(struct RuleSet *s, u32 max); // numbers stay below max
void ruleset_deinit(struct RuleSet *s);
u32 ruleset_add(struct RuleSet *s, const struct RtUwRule *r); // 0 when full

// ---- uwtable.c: all rows of an object
#define UW_ROW(off, rule) ((u64)(off) << 16 | (rule))
#define UW_ROW_OFF(r) ((r) >> 16)
#define UW_ROW_RULE(r) ((u32)(r) & 0xffff)
typedef VEC(u32) PageList; // ascending, each once
struct UwTable {
	VEC(u64) rows; // UW_ROW(file offset, rule), ascending, consecutive rules differ; rule 0 ends a range
	u32 nfdes, nbad; // FDEs used, FDEs cut short because malformed
	bool rules_full;
	// what uwtable_part() cannot make again
	PageList followed; // pages of the file (RT_UW_PAGE_BITS) with rows that instructions or Go's table told
	bool whole_only;   // all pages
};
// hurry (NULL: nobody) is asked once for each function, since a table may take a tenth of a second: whether to stop. Then false, and out is empty. It may
// build other tables meanwhile, with the same rules.
struct UwHurry {
	bool (*stop)(void *arg);
	void *arg;
};
static inline bool uwhurry_stop(const struct UwHurry *h)
{
	return h && h->stop(h->arg);
}
bool uwtable_build(const struct ElfCfi *e, struct RuleSet *rules, struct UwTable *out, const struct UwHurry *hurry);
// Is e one of which parts can be made, and its table large?
bool uwtable_is_large(const struct ElfCfi *e);
bool uwtable_is_dear(int fd, u64 size); // of a file of so many bytes: its table takes seconds, since it has much code without entries. Reads headers of large files only
// Of such a file the rows of the pages that uwtable_part() cannot make: out->followed. Elsewhere there may be rows or none.
bool uwtable_begin(const struct ElfCfi *e, struct RuleSet *rules, struct UwTable *out, const struct UwHurry *hurry);
// The rows of some pages of the file, ascending, n > 0: in these they amount to what uwtable_build() gives, elsewhere there may be others or none. Quick.
void uwtable_part(const struct ElfCfi *e, struct RuleSet *rules, const u32 *pages, u32 n, struct UwTable *out);
void uwtable_deinit(struct UwTable *t);
bool uwtable_lacks(const struct ElfCfi *e); // one of its starts is in no entry

// ---- onepass.c: rows of one function that V8 has compiled of WebAssembly, n bytes at p, counted from there; the first is at 0, none ends it. x86-64. Appends.
// The work is that of looking at each byte once.
struct UwCodeRow {
	u64 off;
	struct RtUwRule rule; // kind RT_UW_NONE: not known
};
typedef VEC(struct UwCodeRow) UwCodeRows;
void uwcode_rows(const u8 *p, u64 n, UwCodeRows *out);
void uwstub_rows(const u8 *p, u64 n, UwCodeRows *out); // the same of many small pieces without frames, each entered where the one before it ends

// ---- pdata.c: rows of one function by Windows' unwind information (x86-64), which .NET has for the code it compiles, too
struct UwWindows {
	bool (*read)(void *arg, u64 addr, void *buf, u64 n); // false: there are no such bytes
	void *arg;
	u64 base; // what the numbers in that information count from
};
// info: where it is, from base on; code: the function's n bytes. Appends rows, counted from its beginning; the first is at 0, none ends it. False: the one row says that nothing is known.
bool uwwindows_rows(const struct UwWindows *w, u32 info, const u8 *code, u64 n, UwCodeRows *out);

// ---- record.c
// One page's record from its rows (all in that page) and the rule that holds where it begins. Returns its size; out has RT_UW_VAL_SIZE bytes.
u32 uwrec_build(const u64 *rows, size_t n, u32 carry, u8 *out);
#endif
