// What the machine is: its registers, instructions and system calls. Pure tables, no kernel access.
#ifndef SONDE_ARCH_H
#define SONDE_ARCH_H
#include "base/base.h"

enum PtArch { PT_X86_64, PT_ARM64, PT_RISCV64 };

// ---- this machine: its name in ELF, in the kernel's tree, in Debian's folders of libraries, to a C compiler; registers that hold a function's arguments
#if defined(__x86_64__)
#define PT_HOST PT_X86_64
#define HOST_MACHINE 62 // EM_X86_64
#define HOST_KERNEL_DIR "arch/x86/include"
#define HOST_MULTIARCH "x86_64-linux-gnu"
#define HOST_DEFINES {"__x86_64__", "1"}, {"__x86_64", "1"}, {"__amd64__", "1"}
#define HOST_ARG_REGS 6 // rdi rsi rdx rcx r8 r9
#elif defined(__aarch64__)
#define PT_HOST PT_ARM64
#define HOST_MACHINE 183 // EM_AARCH64
#define HOST_KERNEL_DIR "arch/arm64/include"
#define HOST_MULTIARCH "aarch64-linux-gnu"
#define HOST_DEFINES {"__aarch64__", "1"}
#define HOST_ARG_REGS 8 // x0-x7
#elif defined(__riscv) && __riscv_xlen == 64
#define PT_HOST PT_RISCV64
#define HOST_MACHINE 243 // EM_RISCV
#define HOST_KERNEL_DIR "arch/riscv/include"
#define HOST_MULTIARCH "riscv64-linux-gnu"
#define HOST_DEFINES {"__riscv", "1"}, {"__riscv_xlen", "64"}
#define HOST_ARG_REGS 8 // a0-a7
#else
#error "sonde knows the registers of x86_64, aarch64 and riscv64 only"
#endif

// ---- insn.c, x86.c, arm64.c, riscv64.c: one instruction. All architectures are always compiled in, as below. Of riscv64 only length, branch and target are told.
enum Branch {
	BRANCH_NONE,
	BRANCH_RET,
	BRANCH_CALL,	 // comes back
	BRANCH_COND,	 // or goes on
	BRANCH_JUMP,
	BRANCH_INDIRECT, // a jump to what a register or memory says
	BRANCH_STOP,	 // does not go on: ud2, hlt, brk; far returns
};
#define INSN_NO_REG 0xff
#define INSN_VECTOR 0x200 // in op: of a VEX or EVEX instruction, beside its opcode ...
#define INSN_XOP 0x400	  // ... of an XOP instruction
struct Insn {
	u32 len;
	enum Branch branch;
	u64 target; // of CALL, COND and JUMP that name it; on x86-64 else the place of an operand that is counted from the next instruction; 0: none
	u32 op; // x86-64: 0x100 | second byte after 0f; arm64: enum A64
	// x86-64; what arm64 has of these says enum A64
	bool wide, rep, lock; // REX.W; f2 or f3; lock, or a segment that 64-bit code has not
	u8 mod, reg, rm; // of ModRM; reg and rm with their REX bits. Without ModRM rm is the register that the opcode says
	u8 base; // of a memory operand without an index, INSN_NO_REG: none
	s32 disp, imm;
	// arm64 only
	u32 writes; // general registers that it sets, a bit each, A64_SP the stack pointer. Calls set x30 alone: what else a callee leaves is not told
};
// What an instruction of arm64 does, as far as unwinding needs it. Numbers are those of registers, A64_SP the stack pointer, INSN_NO_REG none or zero.
enum { A64_FP = 29, A64_LR = 30, A64_SP = 31, A64_BTI_C = 34 };
enum A64 {
	A64_OTHER,
	A64_ADD,      // reg = base + imm
	A64_ADD_REG,  // reg = base + rm
	A64_SUB_REG,  // reg = base - rm
	A64_MOVE,     // reg = rm, 8 bytes
	A64_NUMBER,   // reg = imm; a larger number is A64_OTHER
	A64_NUMBER16, // movk: imm replaces 16 bits of reg, from bit `disp` on
	A64_STORE,    // 8 bytes of reg at base + disp, of rm 8 bytes behind; mod: enum A64Mode
	A64_LOAD,     // the same the other way
	A64_ACCESS,   // stores or loads something else, by a base that it changes: base += imm
	A64_HINT,     // bti and other hints; imm: which
	A64_SIGN,     // paciasp and the like: the return address is about to be saved
	A64_NOP,      // nop, udf #0
};
enum A64Mode { A64_AT, A64_BEFORE, A64_AFTER }; // base stays; base becomes base + disp before; base + imm after (disp is 0)
// The instruction at pc, p[0..n) of which is there. False: none, or none that is known; then in->len is 0.
bool insn_decode(enum PtArch arch, const u8 *p, u64 n, u64 pc, struct Insn *in);

// ---- syscall.c
const char *syscall_name_of(int nr); // NULL if unknown
int syscall_number(const char *name); // -1 if unknown

// ---- ptregs.c: struct pt_regs as the kernel hands it to kprobe, uprobe and perf_event programs: where each register lies. All architectures
// are always compiled in, so that argument specifications can be tested anywhere; PT_HOST is ours.
// Layouts: linux arch/x86/include/asm/ptrace.h and arch/arm64/include/uapi/asm/ptrace.h (stable ABI of bpf_user_pt_regs_t),
// arch/riscv/include/uapi/asm/ptrace.h: pc, then x1 to x31.
struct PtAbi {
	s16 args[8];	 // byte offsets of the integer argument registers of a function call
	u32 nargs;	 // 6 or 8
	s16 ret, ip, sp; // return value, instruction pointer, stack pointer
	s16 ret_addr;	 // x86_64: -1, it is at *(sp) on entry; arm64: x30; riscv64: x1
	u32 size;	 // of the whole structure
};
extern const struct PtAbi ptregs_abi[];
// Words of arguments of Go since 1.18 (ABIInternal): offsets of their registers. *n: how many.
const s16 *ptregs_go_args(enum PtArch arch, u32 *n);

// Byte offset of a register by the kernel's name ("ax", "ip", "r10", "x3", "sp") or the assembler's ("rax", "eax", "al", "w3", "a0"); no '%'.
// -1: no such register. *size (may be NULL): bytes the name stands for; bare kernel names are 8 wide.
int ptregs_offset_of(enum PtArch arch, const char *regname, u32 *size);
// By a name that means the same everywhere: "pc" (or "ip"), "sp", "fp", "ret"; -1: none of them. 8 bytes wide.
int ptregs_generic_of(enum PtArch arch, const char *name);
int ptregs_offset(const char *regname, u32 *size); // on this machine, either
// i-th register for hints and listings ("ax", ...); NULL past the end.
#endif
