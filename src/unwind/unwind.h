// unwind: user stacks without frame pointers. .eh_frame / .debug_frame of every mapped object -> compact rows -> BPF maps that
// bpfrt/unwind.bpf.c walks; and which process maps what, kept up to date while tracing.
#ifndef SONDE_UNWIND_H
#define SONDE_UNWIND_H
#include "ir/program.h"
#include "ir/stack_src.h"
#include "out/report.h"
#include "sym/sym.h"

// ---- ehframe.c: an object's unwind rows, sorted by pc
struct UwRow;
struct UwTable;
struct UwOpts {
	bool fp_only;	     // no tables, frame pointers everywhere (mappings are still tracked, frames become (object, offset))
	const int *pids;     // only these have user stacks (0: all); new children of them too when follow is set
	u32 npids;
	bool follow;
	bool verbose;
	bool count_ends; // for stacks_ends
};
struct Unwind;
// Before load: chooses sizes of the rt_uw_* maps in prog->maps. After load_maps: starts filling them.
struct err *unwind_create(struct Program *prog, struct Syms *syms, const struct UwOpts *o, struct Unwind **out);
struct err *unwind_start(struct Unwind *u); // mappings of running processes are in the maps when it returns; tables follow in the background thread
// Before attaching: the processes and files the user has named. Their tables, and those of libraries that they are going to load, are built before all
// others; returns when they are there, after max_ms at most.
struct UwFirst {
	VEC(int) pids;
	VEC(const char *) paths;
};
void unwind_first(struct Unwind *u, const struct UwFirst *f, u32 max_ms);
// Waits until every table asked for so far is built, at most max_ms (0: as long as it takes). Call it before attaching: stacks taken earlier lack what
// is not built yet, and say so.
void unwind_settle(struct Unwind *u, u32 max_ms);
void unwind_destroy(struct Unwind *u);
// How many user stacks were cut short, of how many, by the counters of the kernel side (abi.h); reasons: "unwind table not ready 3, ...".
struct RtCounters;
u64 stacks_cut(const struct RtCounters *c, u64 *all, struct Str *reasons);
// --why-incomplete: how many stacks were whole, and where and why the others ended; user stacks need UwOpts.count_ends. Memory lives in a and in syms.
void stacks_ends(const struct Program *prog, struct Syms *syms, struct Arena *a, struct StackEnds *out);

// ---- stacks.c: reading interned stacks back
// Before load_maps, when any stack is captured: adapts the rt_stacks_* maps and the runtime's constants to this kernel.
void stacks_setup(struct Program *prog);
// After all programs are loaded, before attaching: tells the kernel side which functions are the tracer's, when a program needs it. Asks for them by
// name or, where that is not enough, reads kallsyms (60 ms).
struct err *stacks_start(struct Program *prog, struct Syms *syms);
struct StackReader; // caches
struct StackReader *stacks_create(struct Program *prog, struct Syms *syms);
void stacks_destroy(struct StackReader *r);
// Frames of a stack id, leaf first, symbolized; false if there is no such stack (lost). Memory lives in arena a.
bool stacks_read(struct StackReader *r, struct Arena *a, u64 id, bool user, u32 limit, struct Value *out);
// Raw frames: pointer valid until the next call
const u64 *stacks_raw(struct StackReader *r, u64 id, bool user, u32 *n, u32 *pid, u32 *flags, u32 *why);
void stacks_clear(struct StackReader *r); // forget kernel side stacks no map refers to (clear(@x) of long runs)
#endif
