// track: which process maps what, kept up to date while tracing, and the unwind rows (unwind/unwind.h) of every object that is mapped, into the BPF maps
// that bpfrt/unwind.bpf.c walks. Two threads: one follows processes, one builds tables.
#ifndef SONDE_TRACK_H
#define SONDE_TRACK_H
#include "lower/program.h"
#include "sym/sym.h"

struct TrackOpts {
	bool fp_only;	     // no tables, frame pointers everywhere (mappings are still tracked, frames become (object, offset))
	const int *pids;     // only these have user stacks (0: all); new children of them too when follow is set. Others' first stacks are cut
	u32 npids;
	bool follow;
	bool verbose;
	bool lazy; // an object's table is built when the first stack wants it, which is cut there, and track_trim() takes out what is not needed; and of processes those
		   // are followed that a stack was taken of, where the kernel's own tree of mappings is there (Linux 6.1): little time and memory for who samples seldom
	double tables_cpu; // per cent of a processor for building tables, in the long run; 0: as it comes
};
struct Track;
// Before load: chooses sizes of the rt_uw_* maps in prog->maps. After load_maps: starts filling them.
struct err *track_create(struct Program *prog, struct Syms *syms, const struct TrackOpts *o, struct Track **out);
struct err *track_start(struct Track *u); // mappings of running processes are in the maps when it returns; tables follow in the background thread
// Before attaching: the processes and files the user has named. Their tables, and those of libraries that they are going to load, are built before all
// others; returns when they are there, after max_ms at most.
struct TrackFirst {
	VEC(int) pids;
	VEC(const char *) paths;
};
void track_first(struct Track *u, const struct TrackFirst *f, u32 max_ms);
// Waits until every table asked for so far is built, at most max_ms (0: as long as it takes). Call it before attaching: stacks taken earlier lack what
// is not built yet, and say so.
void track_settle(struct Track *u, u32 max_ms);
// Code objects of interpreted programs, as frames name them; lives as long as u.
struct Codes *track_codes(struct Track *u);
// How many ELF files a process tells of by GDB's JIT interface (docs/jit.md); -1: none of its objects has that. Needs no struct Track.
int track_jit_files(struct Syms *syms, int pid, const struct ProcMap *maps, u32 n);
u64 track_memory(const struct Track *u); // bytes of tables in the kernel that are no map of the Program; u may be NULL
// lazy: a stack that was read has a frame there; a report is over: of more than some MB of tables the pages go that no stack has needed for a while. One that is
// needed again comes back, and the stack that needs it is cut there.
void track_used(void *track, u32 obj, u64 off);
void track_trim(struct Track *u);
void track_report(struct Track *u); // a report is over that has told all stacks taken before, and others will be: files that were deleted meanwhile go; u may be NULL
u32 track_denied(struct Track *u); // how many processes have mappings that may not be read; u may be NULL
u32 track_made_refused(struct Track *u); // how many pieces of code made at run time had no room; u may be NULL
bool track_made_stale(struct Track *u); // ... and most of that which has the room is gone: who starts anew has room; u may be NULL
bool track_objects_stale(struct Track *u); // likewise of numbers of files with code: most of them had programs that are deleted and gone; u may be NULL
void track_destroy(struct Track *u);

// ---- otel.c: where processes publish the requests that their threads work on (trace_id, span_id). One thread's. After load_maps.
struct Otel;
struct Otel *otel_create(struct Program *prog, struct Syms *syms); // NULL: the script does not ask
void otel_scan(struct Otel *o);				// every process there is
void otel_look(struct Otel *o, int tgid, u64 ident);	// one that the kernel side asks for (RT_EV_OTEL)
void otel_destroy(struct Otel *o);
#endif
