// Lengths of instructions: base/insn.c.
#ifndef SONDE_BASE_INSN_H
#define SONDE_BASE_INSN_H
#include "base/base.h"

u32 insn_length(const u8 *p, u32 n); // of the machine's instruction at p, at most n bytes of it known; 0: none, or none that is known
#endif
