// i386: a register that glibc's copying of memory in assembly (memcpy-ia32: also mempcpy of its own qsort, fwrite, fread) keeps on the stack meanwhile, of which the function's
// entry says nothing. In: a function whose entry has one rule for all of it. Out: between which instructions the stack is 4 bytes larger.
#include <elf.h>
#include "unwind/internal.h"
#include <string.h>

#define COPY_MAX 256 // bytes of such a function

bool pushes_copying(const struct ElfCfi *e, const struct CfiSeg *seg, u64 pc, u64 end, u64 *from, u64 *to)
{
	// push %eax; mov %ecx,%eax; shr $2,%ecx; and $3,%eax; rep movsl; mov %eax,%ecx; rep movsb; pop %eax
	static const u8 copy[] = {0x50, 0x89, 0xc8, 0xc1, 0xe9, 2, 0x83, 0xe0, 3, 0xf3, 0xa5, 0x89, 0xc1, 0xf3, 0xa4, 0x58};
	u8 code[COPY_MAX];
	u64 len = end - pc;
	if (e->machine != EM_386 || len < sizeof(copy) || len > sizeof(code) || !elfcfi_code(e, seg, pc, code, len))
		return false;
	const u8 *at = memmem(code, len, copy, sizeof(copy));
	if (!at)
		return false;
	*from = pc + (u64)(at - code) + 1;
	*to = pc + (u64)(at - code) + sizeof(copy);
	return true;
}
