// feature: what info.c shows beyond enum Feature. Inside bpf/ only. Each tries once and does not remember.
#ifndef SONDE_FEATURE_H
#define SONDE_FEATURE_H
#include "bpf/bpf.h"

bool helper_known(u32 prog_type, u32 helper);
bool map_type_known(u32 type);
bool prog_type_known(u32 type);
u32 verifier_insn_limit(void); // 0: unknown
bool bounded_loops(void);
#endif
