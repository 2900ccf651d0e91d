// What the machine is: its registers, instructions and system calls. Pure tables, no kernel access.
#ifndef SONDE_ARCH_H
#define SONDE_ARCH_H
#include "base/base.h"

enum PtArch { PT_X86_64, PT_ARM64 };

// ---- insn.c
u32 insn_length(const u8 *p, u32 n); // of the machine's instruction at p, at most n bytes of it known; 0: none, or none that is known

// ---- branch.c: where the machine's instruction goes on. Both architectures are always compiled in, as below.
enum Branch {
	BRANCH_NONE,
	BRANCH_RET,
	BRANCH_CALL,	 // comes back
	BRANCH_COND,	 // or goes on
	BRANCH_JUMP,
	BRANCH_INDIRECT, // a jump to what a register or memory says
};
// Of the instruction at p, len bytes long. *to: where it leads, counted from its first byte; of CALL, COND and JUMP that name their target, else 0.
enum Branch insn_branch_of(enum PtArch arch, const u8 *p, u32 len, s64 *to);

// ---- syscall.c
const char *syscall_name_of(int nr); // NULL if unknown
int syscall_number(const char *name); // -1 if unknown

// ---- ptregs.c: struct pt_regs as the kernel hands it to kprobe, uprobe and perf_event programs: where each register lies. Both architectures
// are always compiled in, so that argument specifications can be tested anywhere; PT_HOST is ours.
// Layouts: linux arch/x86/include/asm/ptrace.h and arch/arm64/include/uapi/asm/ptrace.h (stable ABI of bpf_user_pt_regs_t).
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
// Words of arguments of Go since 1.18 (ABIInternal): offsets of their registers. *n: how many.
const s16 *ptregs_go_args(enum PtArch arch, u32 *n);

// Byte offset of a register by the kernel's name ("ax", "ip", "r10", "x3", "sp") or the assembler's ("rax", "eax", "al", "w3"); no '%'.
// -1: no such register. *size (may be NULL): bytes the name stands for; bare kernel names are 8 wide.
int ptregs_offset_of(enum PtArch arch, const char *regname, u32 *size);
// By a name that means the same everywhere: "pc" (or "ip"), "sp", "fp", "ret"; -1: none of them. 8 bytes wide.
int ptregs_generic_of(enum PtArch arch, const char *name);
int ptregs_offset(const char *regname, u32 *size); // on this machine, either
// i-th register for hints and listings ("ax", ...); NULL past the end.
#endif
