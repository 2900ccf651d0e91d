// stack: interned stacks (bpfrt/stack.bpf.c, unwind.bpf.c) on the user side: what the kernel side has to know of this kernel and of the tracer's own functions,
// stacks read back with names, where and why stacks ended. Kernel and user stacks.
#ifndef SONDE_STACK_H
#define SONDE_STACK_H
#include "lower/program.h"
#include "out/report.h"
#include "sym/sym.h"

// ---- setup.c, trim.c
// Before load_maps, when any stack is captured: adapts the rt_stacks_* maps and the runtime's constants to this kernel.
void stacks_setup(struct Program *prog, struct Syms *syms);
// After all programs are loaded, before attaching: tells the kernel side which functions are the tracer's, when a program needs it. Asks for them by
// name or, where that is not enough, reads kallsyms (60 ms).
struct err *stacks_start(struct Program *prog, struct Syms *syms);

// ---- read.c: reading interned stacks back
struct StackReader; // caches
struct StackReader *stacks_create(struct Program *prog, struct Syms *syms);
struct Codes;
u32 stacks_unnamed(const struct StackReader *r, u32 *pid); // processes of which code made at run time had no name (32 and more count as 32); pid: one of them
u64 stacks_nameless(const struct StackReader *r); // frames of a language whose name was lost; each is shown as such
void stacks_use_codes(struct StackReader *r, struct Codes *codes); // names of language frames; borrowed
void stacks_tell_frames(struct StackReader *r, void (*fn)(void *arg, u32 obj, u64 off), void *arg); // of each user stack that is read, its frames in files
void stacks_want_images(struct StackReader *r); // before the first stack is read: frames know their files (struct Image, lives as long as r)
void stacks_destroy(struct StackReader *r);
// Frames of a stack id, leaf first, symbolized; false if there is no such stack (lost). Memory lives in arena a.
const char *stacks_function(struct StackReader *r, u64 frame); // name of the function that begins at a frame; "" of 0. Lives as long as r
void stacks_trim(struct StackReader *r, u32 max); // forgets the names of frames, if there are more; texts of languages' frames that were given go with them
bool stacks_read(struct StackReader *r, struct Arena *a, u64 id, bool user, u32 limit, struct Value *out);
void stacks_share(struct StackReader *r, bool on); // from on to off: what stacks_read() gives of one stack has one array of frames, in the first arena; r NULL: nothing
// Raw frames: pointer valid until the next call
const u64 *stacks_raw(struct StackReader *r, u64 id, bool user, u32 *n, u32 *pid, u32 *flags, u32 *why);

// ---- why.c
// How many user stacks were cut short, of how many, by the counters of the kernel side (abi.h); reasons: "unwind table not ready 3, ...".
struct RtCounters;
u64 stacks_cut(const struct RtCounters *c, u64 *all, struct Str *reasons);
void stacks_count_ends(struct Program *prog); // before load_maps
// --why-incomplete: how many stacks were whole, and where and why the others ended; user stacks need stacks_count_ends. Memory lives in a and in syms.
void stacks_ends(const struct Program *prog, struct Syms *syms, struct Arena *a, struct StackEnds *out);
#endif
