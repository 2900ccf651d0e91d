// glibc's code that coroutines of makecontext(3) return to, at its first instruction, which takes their stack away, so nothing lies above it. No entry says so.
// In: a function of a file that has setcontext. Out: whether it is that one. Return addresses are looked up at the byte before.
#include <elf.h>
#include "unwind/internal.h"

#define START_CONTEXT_MAX 64

// x86-64 (mov %rbx,%rsp) and aarch64 (nop or bti; mov x0,x19) have an FDE for it, behind setcontext's.
bool context_start(const struct ElfCfi *e, const struct CfiSeg *seg, u64 pc, u64 len)
{
	u8 code[8];
	if (len > START_CONTEXT_MAX)
		return false;
	switch (e->machine) {
	case EM_X86_64:
		return elfcfi_code(e, seg, pc, code, 3) && !memcmp(code, "\x48\x89\xdc", 3);
	case EM_AARCH64:
		return elfcfi_code(e, seg, pc, code, 8) && !memcmp(code + 4, "\xe0\x03\x13\xaa", 4);
	default:
		return false;
	}
}

// i386: makecontext's own FDE ends before its ret; then come lea (%esp,%ebx,4),%esp and cmpl $0,(%esp).
bool context_start32(const struct ElfCfi *e, const struct CfiSeg *seg, u64 from, u64 to)
{
	u8 code[8];
	return e->machine == EM_386 && to - from >= 32 && to - from <= START_CONTEXT_MAX && elfcfi_code(e, seg, from, code, sizeof(code)) &&
	       !memcmp(code, "\xc3\x8d\x24\x9c\x83\x3c\x24\x00", sizeof(code));
}
