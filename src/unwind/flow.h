// Unwind rules of x86-64 code that has no .eh_frame: unwind/flow.c.
#ifndef SONDE_UNWIND_FLOW_H
#define SONDE_UNWIND_FLOW_H
#include "base/base.h"
#include "bpfrt/abi.h"
#include "bpfrt/stack.h"

struct FlowCode { // bytes of code, borrowed
	u64 vaddr, size;
	const u8 *p;
};
struct FlowRow {
	u64 pc; // from here on
	struct RtUwRule rule; // kind RT_UW_NONE: not known
};
struct FlowIn {
	const struct FlowCode *code; // ascending, apart from one another
	u32 ncode;
	const u64 *starts; // where functions begin, as far as symbols tell; in any order
	u32 nstarts;
	u64 entry; // where the kernel enters the file, 0 none
};
typedef VEC(struct FlowRow) FlowRows;
// Appends rows, ascending. Nothing is appended for code that could not be understood.
void flow_rows(const struct FlowIn *in, FlowRows *out);
#endif
