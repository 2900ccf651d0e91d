// struct pt_regs as the kernel hands it to kprobe, uprobe and perf_event programs: where each register lies. Pure tables, no kernel
// access. Both architectures are always compiled in, so that argument specifications can be tested anywhere; PT_HOST is ours.
// Layouts: linux arch/x86/include/asm/ptrace.h and arch/arm64/include/uapi/asm/ptrace.h (stable ABI of bpf_user_pt_regs_t).
#ifndef SONDE_PTREGS_H
#define SONDE_PTREGS_H
#include "base/base.h"

enum PtArch { PT_X86_64, PT_ARM64 };
#if defined(__x86_64__)
#define PT_HOST PT_X86_64
#elif defined(__aarch64__)
#define PT_HOST PT_ARM64
#else
#error "sonde knows the registers of x86_64 and aarch64 only"
#endif

struct PtAbi {
	s16 args[8];	 // byte offsets of the integer argument registers of a function call
	u32 nargs;	 // 6 or 8
	s16 ret, ip, sp; // return value, instruction pointer, stack pointer
	s16 ret_addr;	 // x86_64: -1, it is at *(sp) on entry; arm64: x30
	u32 size;	 // of the whole structure
};
extern const struct PtAbi ptregs_abi[];

// Byte offset of a register by the kernel's name ("ax", "ip", "r10", "x3", "sp") or the assembler's ("rax", "eax", "al", "w3"); no '%'.
// -1: no such register. *size (may be NULL): bytes the name stands for; bare kernel names are 8 wide.
int ptregs_offset_of(enum PtArch arch, const char *regname, u32 *size);
int ptregs_offset(const char *regname, u32 *size); // on this machine
// i-th register for hints and listings ("ax", ...); NULL past the end.
const char *ptregs_name(enum PtArch arch, u32 i);
#endif
