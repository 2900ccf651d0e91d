// glibc's code for the contexts of makecontext(3), where no entry says what holds. In: a function of a file that has setcontext. Out: whether it is one of these.
// - What coroutines return to, at its first instruction, which takes their stack away, so nothing lies above it. Return addresses are looked up at the byte before.
// - swapcontext where it has the new stack pointer already and has not pushed the return address yet.
#include <elf.h>
#include "unwind/internal.h"

#define START_CONTEXT_MAX 64
#define SWAP_CONTEXT_MAX 1024

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

// x86-64: mov 0xa0(%rdx),%rsp ... mov 0xa8(%rdx),%rcx; push %rcx. More than one such piece where there is a shadow stack.
bool context_swap(const struct ElfCfi *e, const struct CfiSeg *seg, u64 pc, u64 end, u64 *from, u64 *to)
{
	static const u8 get_sp[] = {0x48, 0x8b, 0xa2, 0xa0, 0, 0, 0}, put_ra[] = {0x48, 0x8b, 0x8a, 0xa8, 0, 0, 0, 0x51};
	u8 code[SWAP_CONTEXT_MAX];
	size_t len = end - pc;
	if (e->machine != EM_X86_64 || len > sizeof(code) || !elfcfi_code(e, seg, pc, code, len))
		return false;
	const u8 *sp = memmem(code, len, get_sp, sizeof(get_sp)), *ra = sp ? memmem(sp, len - (size_t)(sp - code), put_ra, sizeof(put_ra)) : NULL;
	if (!ra)
		return false;
	*from = pc + (u64)(sp - code) + sizeof(get_sp);
	*to = pc + (u64)(ra - code) + sizeof(put_ra);
	return true;
}
