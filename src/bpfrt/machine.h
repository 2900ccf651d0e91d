// machine.h: which machine the runtime is built for: RT_IS_X86, RT_IS_ARM64, one of them 1. The compiler of BPF is told (-DRT_ARM64, Makefile); what user space
// compiles of the runtime is for its own.
#ifndef SONDE_RT_MACHINE_H
#define SONDE_RT_MACHINE_H

#define RT_IS_ARM64 0
#define RT_IS_X86 0
#if defined(RT_ARM64) || defined(__aarch64__)
#undef RT_IS_ARM64
#define RT_IS_ARM64 1
#else
#undef RT_IS_X86
#define RT_IS_X86 1
#endif
#endif
