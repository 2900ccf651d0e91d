// machine.h: which machine the runtime is built for: of RT_IS_X86, RT_IS_ARM64 and RT_IS_RISCV64 one is 1. The compiler of BPF is told (-DRT_ARM64, -DRT_RISCV64:
// Makefile); what user space compiles of the runtime is for its own.
#ifndef SONDE_RT_MACHINE_H
#define SONDE_RT_MACHINE_H

#if defined(RT_ARM64) || defined(__aarch64__)
#define RT_IS_ARM64 1
#elif defined(RT_RISCV64) || defined(__riscv)
#define RT_IS_RISCV64 1
#else
#define RT_IS_X86 1
#endif
#ifndef RT_IS_ARM64
#define RT_IS_ARM64 0
#endif
#ifndef RT_IS_RISCV64
#define RT_IS_RISCV64 0
#endif
#ifndef RT_IS_X86
#define RT_IS_X86 0
#endif
#endif
