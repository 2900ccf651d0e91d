// What the files of unwind/ share.
#ifndef SONDE_UNWIND_INTERNAL_H
#define SONDE_UNWIND_INTERNAL_H
#include "bpf/bpf.h"
#include "bpfrt/abi.h"
#include "bpfrt/stack.h"
#include "unwind/unwind.h"

// ---- trim.c
struct TextSym { // a text symbol of the kernel
	u64 addr;
	bool ours, module; // the tracer's; of a module
};
// Boundaries of the kernel's own code from symbols sorted by address.
void trim_bounds(const struct TextSym *s, size_t n, struct RtTrim *out);

// ---- clear.c
struct IdSet; // stack ids
void idset_destroy(struct IdSet *s);
// Deletes from the stack maps fd[] what no user map of prog refers to and what was not referred to last time either (*old). A program may have
// interned a stack and not yet written its key: one round of grace keeps those.
void stacks_sweep(struct Program *prog, const int *fd, u32 nfd, struct IdSet **old);

// ---- why.c
const char *why_text(u32 why); // enum RtWhy -> a few words, "" for RT_WHY_OK
#endif
