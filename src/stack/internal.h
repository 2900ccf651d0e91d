// What the files of stack/ share.
#ifndef SONDE_STACK_INTERNAL_H
#define SONDE_STACK_INTERNAL_H
#include "bpf/bpf.h"
#include "bpfrt/abi.h"
#include "bpfrt/stack.h"
#include "stack/stack.h"

// ---- trim.c
struct TextSym { // a text symbol of the kernel
	u64 addr;
	const char *module; // NULL: vmlinux; all symbols of a module have one pointer
	bool ours;	    // the tracer's
};
// Boundaries of the kernel's own code from symbols sorted by address.
void trim_bounds(const struct TextSym *s, size_t n, struct RtTrim *out);

// ---- image.c: what frames are from. Of no images (NULL): NULL
struct Images;
struct Images *images_create(void);
void images_destroy(struct Images *m);
const struct Image *image_of_object(struct Images *m, struct SymObject *o);
const struct Image *image_of_kernel(struct Images *m, const char *module); // NULL: the kernel proper
// ---- read.c: a frame as the kernel side wrote it; in a file that was new then, with that file's object if it is known by now
u64 stacks_frame(const struct Program *prog, u64 frame);
struct SymHit stacks_raw_name(struct Syms *s, u32 pid, u64 frame, u64 back); // of a frame without an object; .name NULL: none
#define UW_UNKNOWN_FILE "[unknown file]"

// ---- why.c
const char *why_text(u32 why); // enum RtWhy -> a few words, "" for RT_WHY_OK
void ends_start(const struct Program *prog); // after load_maps
#endif
