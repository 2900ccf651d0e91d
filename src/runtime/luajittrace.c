// What a trace of LuaJIT's would put onto its thread's stack, for the program of its chain (luajitchain.c, which says how snapshots tell it). Input: the machine's registers,
// the trace's record. Output: operations: the frame at hand, from the snapshot or the stack. Invariant: what a snapshot does not have is taken from the stack, or ends it.
#define LUAJIT_PROGRAM
#include "runtime/internal.h"

enum { TRACE_IR = 32, TRACE_SNAP = 48, TRACE_SIZE = 80 }; // of a trace; of the size the upper half
#define CONSTANTS 0x8000 // of the trace: numbers below; their value is the next word
#define SLOT_KEPT 0x40000 // of an entry: the stack has it

void luajit_pointer(struct ChainMaker *m, u32 r)
{
	chain_mul(m, r, RT_CHAIN_ZERO, r, 1 << 17);
	chain_shr(m, r, r, 17);
}

// The snapshot of the place at hand. The dispatch is in T; the trace's last jump (FN: it is that one) may come after the base was set for the trace it leads to.
static void snapshot(struct ChainMaker *m, const struct RtLang *l)
{
	chain_op(m, RT_OP_TRY, N, T, 0, l->luajit.state);
	chain_low_bits(m, N);
	chain_shr(m, POS, N, 16);
	chain_if_not(m, POS, 0, L_GO);
	chain_op(m, RT_OP_TRY, TRACE, T, 0, l->luajit.traces);
	chain_mul(m, TRACE, TRACE, N, 8);
	chain_op(m, RT_OP_TRY, TRACE, TRACE, 0, 0);
	chain_op(m, RT_OP_TRY, N, TRACE, 0, LUAJIT_TRACE_MCODE);
	chain_op(m, RT_OP_NATIVE, POS, 0, 0, RT_CHAIN_PC);
	chain_if(m, POS, RT_OP_LT, N, 0, L_GO);
	chain_mul(m, N, POS, N, -1);
	chain_op(m, RT_OP_TRY, T, TRACE, 0, TRACE_SIZE);
	chain_shr(m, T, T, 32);
	chain_if(m, T, RT_OP_LT, N, 1, L_GO);
	chain_set(m, FN, 0);
	chain_if(m, N, RT_OP_LT, T, -5, L_TAIL);
	chain_set(m, FN, 1);
	chain_label(m, L_TAIL);
	chain_op(m, RT_OP_TRY, T, TRACE, 0, LUAJIT_TRACE_SNAPS);
	chain_shr(m, T, T, 16);
	chain_and(m, T, T, 0xffff);
	chain_op(m, RT_OP_TRY, LINK, TRACE, 0, TRACE_SNAP);
	chain_set(m, KEY, 0);
	chain_label(m, L_HALVE);
	chain_if(m, KEY, RT_OP_EQ, T, 0, L_SNAPSHOT);
	chain_mul(m, POS, KEY, T, 1);
	chain_shr(m, POS, POS, 1);
	chain_mul(m, INS, LINK, POS, LUAJIT_SNAP_SIZE);
	chain_op(m, RT_OP_TRY, INS, INS, 0, 0);
	chain_shr(m, INS, INS, 48);
	chain_if(m, N, RT_OP_LT, INS, 0, L_UPPER);
	chain_add(m, KEY, POS, 1);
	chain_jump(m, L_HALVE);
	chain_label(m, L_UPPER);
	chain_add(m, T, POS, 0);
	chain_jump(m, L_HALVE);
	chain_label(m, L_SNAPSHOT);
	chain_if_is(m, KEY, 0, L_GO);
	chain_mul(m, INS, LINK, KEY, LUAJIT_SNAP_SIZE);
	chain_op(m, RT_OP_TRY, POS, INS, 0, -LUAJIT_SNAP_SIZE);
	chain_low_bits(m, POS);
	chain_op(m, RT_OP_TRY, N, INS, 0, LUAJIT_SNAP_ENTRIES - LUAJIT_SNAP_SIZE);
	chain_shr(m, N, N, 16);
	chain_and(m, N, N, 0xff);
	chain_op(m, RT_OP_TRY, LINK, TRACE, 0, LUAJIT_TRACE_MAP);
	chain_mul(m, LINK, LINK, POS, 4);
	chain_mul(m, POS, LINK, N, 4);
	chain_op(m, RT_OP_TRY, T, POS, 0, 0); // instruction << 8 | base
	chain_and(m, POS, T, 0xff);
	chain_if_is(m, POS, 0, L_BEGUN);
	chain_if_not(m, FN, 0, L_GO);
	chain_label(m, L_BEGUN);
	chain_shr(m, T, T, 8);
	chain_if_is(m, T, 0, L_GO);
	chain_add(m, NEXT_PC, T, 4);
	chain_mul(m, AT, AT, POS, 8);
	chain_add(m, MAP, LINK, 0);
	chain_op(m, RT_OP_TRY, IR, TRACE, 0, TRACE_IR);
	chain_add(m, ON, N, 1);
	chain_set(m, RT_CHAIN_NEXT, 1);
	chain_if_not(m, FN, 0, L_READY);
	luajit_sure(m);
	chain_jump(m, L_READY);
}

// The innermost frame of the machine may be a trace's: then the thread's base is set, and the machine's frame not far above. NEXT_PC is 0: not known.
void luajit_trace(struct ChainMaker *m, const struct RtLang *l)
{
	s32 cur_l = l->luajit.cur_l;

	chain_if_not(m, L, 0, L_NO_TRACE);
	chain_op(m, RT_OP_NATIVE, T, 0, 0, R14);
	chain_op(m, RT_OP_TRY, VM, T, 0, cur_l);
	chain_op(m, RT_OP_TRY, AT, T, 0, cur_l + 8);
	chain_if_is(m, AT, 0, L_NO_TRACE);
	chain_op(m, RT_OP_TRY, POS, VM, 0, CFRAME);
	chain_and(m, POS, POS, -4);
	chain_if(m, POS, RT_OP_LT, PREV, 0, L_NO_TRACE);
	chain_if(m, PREV, RT_OP_LT, POS, -FRAME_MAX, L_NO_TRACE);
	chain_add(m, L, VM, 0);
	chain_add(m, OUTER, AT, 0);
	if (l->luajit.traces)
		snapshot(m, l);
	chain_jump(m, L_GO);
	chain_label(m, L_NO_TRACE);
}

// What the snapshot puts into slot `slot` of the stack (counted from 16 bytes before OUTER), of the entries up to the `left`'th, into dst. Three labels from `labels` on; at `none` if there is none.
static void slot_value(struct ChainMaker *m, u32 dst, u32 slot, u32 left, u32 labels, u32 none)
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
	chain_load(m, dst, INS, 8, 8);
}

// POS: the slot of the function of the frame at AT.
static void slot_of_frame(struct ChainMaker *m)
{
	chain_mul(m, POS, AT, OUTER, -1);
	chain_shr(m, POS, POS, 3);
}

// The function (FN) and link of the frame at AT: on the stack, or what a trace would put there.
void luajit_frame(struct ChainMaker *m)
{
	chain_if_is(m, MAP, 0, L_REAL);
	chain_if(m, AT, RT_OP_LT, OUTER, 0, L_LEFT);
	slot_of_frame(m);
	chain_if_is(m, POS, 0, L_IS_BASE);
	chain_add(m, KEY, POS, 1);
	slot_value(m, LINK, KEY, ON, L_LINK_SLOT, L_NO_SNAPSHOT);
	slot_value(m, FN, POS, ON, L_FUNCTION_SLOT, L_NO_SNAPSHOT);
	chain_jump(m, L_PAIR);
	chain_label(m, L_IS_BASE); // of another function, perhaps: called as the last thing of the one that was there
	chain_load(m, FN, AT, -16, 16);
	slot_value(m, FN, POS, ON, L_BASE_SLOT, L_PAIR);
	chain_jump(m, L_PAIR);
	chain_label(m, L_NO_SNAPSHOT);
	chain_set(m, ON, 1);
	chain_add(m, AT, OUTER, 0);
	chain_set(m, NEXT_PC, 0);
	chain_set(m, RT_CHAIN_LAST, 0);
	chain_label(m, L_LEFT);
	chain_set(m, MAP, 0);
	chain_label(m, L_REAL);
	chain_load(m, FN, AT, -16, 16);
	chain_label(m, L_PAIR);
	luajit_pointer(m, FN);
}

// Where the caller of a metamethod goes on, into CALLER.
void luajit_continuation(struct ChainMaker *m)
{
	chain_if_is(m, MAP, 0, L_CONT_REAL);
	slot_of_frame(m);
	chain_if_is(m, POS, 0, L_CONT_REAL);
	chain_add(m, POS, POS, -1);
	slot_value(m, CALLER, POS, ON, L_CONT_SLOT, L_NO_SNAPSHOT);
	chain_jump(m, L_LINKED);
	chain_label(m, L_CONT_REAL);
	chain_load(m, CALLER, AT, -24, 8);
	chain_label(m, L_LINKED);
}

// The function of the frame at AT, that of a caller, into T.
void luajit_caller(struct ChainMaker *m)
{
	chain_if_is(m, MAP, 0, L_CALLER_REAL);
	chain_if(m, AT, RT_OP_LT, OUTER, 0, L_CALLER_REAL);
	slot_of_frame(m);
	chain_add(m, LINK, ON, 0);
	slot_value(m, T, POS, LINK, L_CALLER_SLOT, L_NO_CALLER);
	chain_jump(m, L_CALLER);
	chain_label(m, L_NO_CALLER);
	chain_if_not(m, POS, 0, L_DONE);
	chain_label(m, L_CALLER_REAL);
	chain_load(m, T, AT, -16, 8);
	chain_label(m, L_CALLER);
	luajit_pointer(m, T);
}
