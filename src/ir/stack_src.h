// What generated code passes as third argument to rt_kstack(ctx, limit, src) and rt_ustack(ctx, limit, src), see bpfrt/stack.h: a constant.
#ifndef SONDE_STACK_SRC_H
#define SONDE_STACK_SRC_H
#include "lang/point.h"

// fp: frame pointers were asked for (ustack(fp), --unwind=fp). entry: every point of the program is the first instruction of a function.
u64 stack_src(enum ProbeKind kind, enum CtxKind ctx, bool fp, bool entry);
#endif
