// What the files of arch/ share.
#ifndef SONDE_ARCH_INTERNAL_H
#define SONDE_ARCH_INTERNAL_H
#include "arch/arch.h"

bool x86_decode(const u8 *p, u32 n, u64 pc, struct Insn *in); // x86.c; at most 15 bytes
bool arm64_decode(u32 v, u64 pc, struct Insn *in); // arm64.c
bool riscv64_decode(const u8 *p, u32 n, u64 pc, struct Insn *in); // riscv64.c; at most 4 bytes
#endif
