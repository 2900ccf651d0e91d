// What a snapshot of LuaJIT's puts onto its thread's stack, slot by slot, for the program of its chain (luajittrace.c, luajitsure.c). Input: the snapshot (MAP), the trace's
// instructions (IR), the base of the function that the trace has begun in (OUTER). Output: operations.
#define LUAJIT_PROGRAM
#include "runtime/internal.h"

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
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, LUAJIT_CONSTANTS, labels + 2);
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
