// What a snapshot of LuaJIT's puts onto its thread's stack, slot by slot, for the program of its chain (luajittrace.c, luajitsure.c). Input: the snapshot (MAP), the trace's
// instructions (IR), the base of the function that the trace has begun in (OUTER). Output: operations.
#define LUAJIT_PROGRAM
#include "runtime/internal.h"

enum { IR_EQ = 8, IR_FLOAD = 69, IR_SLOAD = 71 }; // opcodes of the trace's instructions
#define FIELD_PC 2 // of FLOAD: a function's instructions
#define NEAR 64 // instructions that are looked at for a check of a function
#define CONSTANTS 0x8000 // of the trace: numbers below; their value is the next word
#define SLOT_KEPT 0x40000 // of an entry: the stack has it

void luajit_pointer(struct ChainMaker *m, u32 r)
{
	chain_mul(m, r, RT_CHAIN_ZERO, r, 1 << 17);
	chain_shr(m, r, r, 17);
}

// What the snapshot puts into slot `slot` of the stack (counted from 16 bytes before OUTER), of the entries up to the `left`'th, into dst. Three labels from `labels` on; at `none` if there is none.
void luajit_slot(struct ChainMaker *m, u32 dst, u32 slot, u32 left, u32 labels, u32 none)
{
	chain_label(m, labels);
	chain_if_is(m, left, 1, none);
	chain_mul(m, T, MAP, left, 4);
	chain_load(m, T, T, -8, 4);
	chain_shr(m, INS, T, 24);
	chain_if(m, INS, RT_OP_LT, slot, 0, none);
	chain_add(m, left, left, -1);
	chain_if(m, INS, RT_OP_NE, slot, 0, labels);
	chain_and(m, INS, T, SLOT_KEPT);
	chain_if_not(m, INS, 0, labels + 1);
	chain_and(m, T, T, 0xffff);
	chain_mul(m, INS, IR, T, 8);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, CONSTANTS, labels + 2);
	chain_load(m, T, INS, 0, 2); // of SLOAD the slot
	chain_mul(m, INS, OUTER, T, 8);
	chain_add(m, INS, INS, -24);
	chain_jump(m, labels + 2);
	chain_label(m, labels + 1);
	chain_mul(m, INS, OUTER, slot, 8);
	chain_add(m, INS, INS, -24);
	chain_label(m, labels + 2);
	chain_op(m, RT_OP_TRY, dst, INS, 0, 8); // of other instructions that is nothing
}

// POS: the slot of the function of the frame at AT.
void luajit_slot_of_frame(struct ChainMaker *m)
{
	chain_mul(m, POS, AT, OUTER, -1);
	chain_shr(m, POS, POS, 3);
}

// The link that the snapshot has of the frame at AT, not the trace's first, into dst. Three labels as above.
void luajit_link(struct ChainMaker *m, u32 dst, u32 labels, u32 none)
{
	luajit_slot_of_frame(m);
	chain_add(m, KEY, POS, 1);
	chain_add(m, WORD, ON, 0);
	luajit_slot(m, dst, KEY, WORD, labels, none);
}

// The snapshot's entry at hand (the one behind `left`) may be a function that the trace has loaded from elsewhere than the stack, one of many closures of one prototype: which of these
// is not known, but that the trace has checked the prototype is. Its instructions' address is a constant, which dst leads to then as a function would. On at `is` if the entry is of
// another kind, and at `none` if there is no such check. at, count: lost, as are INS, N and POS. Two labels from `labels` on.
void luajit_prototype(struct ChainMaker *m, u32 dst, u32 left, u32 at, u32 count, u32 is, u32 labels, u32 none)
{
	chain_mul(m, INS, MAP, left, 4);
	chain_load(m, INS, INS, -4, 4);
	chain_and(m, INS, INS, 0xffff);
	chain_if(m, INS, RT_OP_LT, RT_CHAIN_ZERO, CONSTANTS, is);
	chain_mul(m, at, IR, INS, 8);
	chain_op(m, RT_OP_TRY, N, at, 0, 0);
	chain_shr(m, N, N, 40);
	chain_and(m, N, N, 0xff);
	chain_if_is(m, N, IR_SLOAD, is);
	chain_set(m, count, NEAR);
	chain_label(m, labels);
	chain_if_is(m, count, 0, none);
	chain_add(m, count, count, -1);
	chain_add(m, at, at, 8);
	chain_op(m, RT_OP_TRY, N, at, 0, 0);
	chain_shr(m, POS, N, 40);
	chain_and(m, POS, POS, 0xff);
	chain_if_not(m, POS, IR_FLOAD, labels);
	chain_and(m, POS, N, 0xffff);
	chain_if(m, POS, RT_OP_NE, INS, 0, labels);
	chain_shr(m, POS, N, 16);
	chain_and(m, POS, POS, 0xffff);
	chain_if_not(m, POS, FIELD_PC, labels);
	chain_op(m, RT_OP_TRY, N, at, 0, 8);
	chain_shr(m, POS, N, 40);
	chain_and(m, POS, POS, 0xff);
	chain_if_not(m, POS, IR_EQ, none);
	chain_shr(m, POS, N, 16);
	chain_and(m, POS, POS, 0xffff);
	chain_if(m, POS, RT_OP_LT, RT_CHAIN_ZERO, CONSTANTS, labels + 1);
	chain_jump(m, none);
	chain_label(m, labels + 1);
	chain_mul(m, dst, IR, POS, 8);
	chain_add(m, dst, dst, 8 - FUNCTION_PC);
}
