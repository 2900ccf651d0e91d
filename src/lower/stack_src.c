// Where the stack of an event begins, as rt_kstack and rt_ustack take it: see program.h.
#include "lower/program.h"
#include "bpfrt/abi.h"
#include "bpfrt/stack.h"

u64 stack_src(enum ProbeKind kind, enum CtxKind ctx, enum StackWalk walk, bool entry)
{
	u64 src = RT_SRC_NONE;

	switch (kind) {
	case PK_KPROBE:
	case PK_KRETPROBE:
		src = RT_SRC_REGS;
		break;
	case PK_UPROBE:
	case PK_URETPROBE:
	case PK_USDT:
		src = RT_SRC_REGS | RT_SRC_F_USER;
		break;
	case PK_TRACEPOINT:
		src = ctx == CTX_RAW ? RT_SRC_RAW : RT_SRC_TP; // without arguments it is attached raw (probe/tracepoint.c)
		break;
	case PK_BEGIN: // these run as raw tracepoint programs, from sonde's own bpf(2)
	case PK_END:
	case PK_SELF:
	case PK_TEST:
	case PK_BENCH:
	case PK_RAWTP:
	case PK_FENTRY:
	case PK_FEXIT:
	case PK_ITER:
		src = RT_SRC_RAW;
		break;
	default:
		src = ctx == CTX_PERF ? RT_SRC_PERF : RT_SRC_NONE;
	}
	return src | (walk == STACK_WALK_FP ? RT_SRC_F_FP : walk == STACK_WALK_NATIVE ? RT_SRC_F_NATIVE : walk == STACK_WALK_ASYNC ? RT_SRC_F_ASYNC : 0) | (entry ? RT_SRC_F_ENTRY : 0);
}
