// Instructions of x86-64 as far as they move the stack: unwind/flowinsn.c. Shared with flow.c only.
#ifndef SONDE_UNWIND_FLOWINSN_H
#define SONDE_UNWIND_FLOWINSN_H
#include "base/base.h"
#include "bpfrt/abi.h"
#include "bpfrt/stack.h"

enum { RBP = 5, RSP = 4 }; // numbers in instructions
#define FLOW_UNKNOWN INT32_MIN
struct FlowState { // before an instruction
	s32 sp, fp; // CFA - rsp; CFA - rbp, FLOW_UNKNOWN while rbp is the caller's
	s16 slot[RT_UW_SLOTS]; // where the caller's value is, CFA-relative; 0: in its register
	u32 root; // nothing called this
};
enum FlowWay { W_NEXT, W_CALL, W_JUMP, W_BRANCH, W_RET, W_INDIRECT, W_STOP };
struct FlowInsn {
	u32 len, op; // op: 0x100 | second byte after 0f
	bool wide; // REX.W
	u8 mod, reg, rm, base; // reg and rm with their REX bits; base: 0xff none
	s32 disp, imm;
	u64 target;
};
bool flow_decode(const u8 *p, u32 n, u64 pc, struct FlowInsn *in); // the instruction at pc, of which p[0..n) is there; false: none
enum FlowWay flow_effect(struct FlowState *s, const struct FlowInsn *in); // what it does to the state, and where it goes on
int flow_slot(u32 reg); // among the registers that the walker restores (RT_SLOT_REGS); -1: none of them
#endif
