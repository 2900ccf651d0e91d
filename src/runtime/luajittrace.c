// What a trace of LuaJIT's would put onto its thread's stack, for the program of its chain (luajitchain.c, which says how snapshots tell it). Input: the machine's registers,
// the trace's record. Output: operations: the frame at hand, from the snapshot or the stack. Invariant: what a snapshot does not have is taken from the stack, or ends it.
#define LUAJIT_PROGRAM
#include "runtime/internal.h"

enum { TRACE_IR = 32, TRACE_SIZE = 80, TRACE_LINK = 106 }; // of a trace; of the size the upper half
enum { BASE_PERHAPS_SET = 1, LAST_JUMP }; // TAIL: of the trace's last bytes
#define TRACES 1024 // at most
#define IR_CALLXS 99 // opcode of a trace's instruction
#define LAST 2	     // instructions of the trace up to the next snapshot: the call, and what its result is made of
#define RESULT 32    // bytes of code for these, at most
#define CODE (X + 4)
#define CODE_END (X + 5)
#define STATE_COLLECTS (~2 & 0x7fffffff)

// Is the place at hand (POS) in TRACE? Else on at `no`. N: how far.
static void if_within(struct ChainMaker *m, u32 no)
{
	chain_op(m, RT_OP_TRY, N, TRACE, 0, LUAJIT_TRACE_MCODE);
	chain_if(m, POS, RT_OP_LT, N, 0, no);
	chain_mul(m, N, POS, N, -1);
	chain_op(m, RT_OP_TRY, INS, TRACE, 0, TRACE_SIZE);
	chain_shr(m, INS, INS, 32);
	chain_if(m, INS, RT_OP_LT, N, 1, no);
}

// The trace that the place at hand is in. The dispatch is in T. The machine has the number of the trace at work; while that collects garbage it has another state, and where a
// trace begins the number of the one before: then by the place, and the trace has done nothing yet, or its loop (AT_BEGIN).
static void trace_at_work(struct ChainMaker *m, const struct RtLang *l)
{
	chain_op(m, RT_OP_NATIVE, POS, 0, 0, RT_CHAIN_PC);
	chain_set(m, AT_BEGIN, 0);
	chain_op(m, RT_OP_TRY, LINK, T, 0, l->luajit.traces);
	chain_op(m, RT_OP_TRY, N, T, 0, l->luajit.state);
	chain_low_bits(m, N);
	chain_if_is(m, N, STATE_COLLECTS, L_BY_PLACE);
	chain_shr(m, INS, N, 16);
	chain_if_not(m, INS, 0, L_GO);
	chain_mul(m, TRACE, LINK, N, 8);
	chain_op(m, RT_OP_TRY, TRACE, TRACE, 0, 0);
	if_within(m, L_BY_PLACE);
	chain_jump(m, L_TRACE);
	chain_label(m, L_BY_PLACE);
	chain_set(m, AT_BEGIN, 1);
	chain_op(m, RT_OP_TRY, KEY, T, 0, l->luajit.traces + 8);
	chain_shr(m, KEY, KEY, 32);
	chain_if(m, KEY, RT_OP_LT, RT_CHAIN_ZERO, TRACES, L_FEW);
	chain_set(m, KEY, TRACES);
	chain_label(m, L_FEW);
	chain_mul(m, KEY, LINK, KEY, 8);
	chain_label(m, L_EACH);
	chain_if(m, LINK, RT_OP_EQ, KEY, 0, L_GO);
	chain_op(m, RT_OP_TRY, TRACE, LINK, 0, 0);
	chain_add(m, LINK, LINK, 8);
	chain_if_is(m, TRACE, 0, L_EACH);
	if_within(m, L_EACH);
	chain_label(m, L_TRACE);
}

// A trace that leads to another one sets the base for that before its last jump, if that is another one.
static void leaves_trace(struct ChainMaker *m)
{
	chain_if_is(m, TAIL, 0, L_BEGUN);
	chain_if_is(m, POS, 0, L_NO_MOVE);
	chain_op(m, RT_OP_TRY, INS, TRACE, 0, LUAJIT_TRACE_LOOP);
	chain_low_bits(m, INS);
	chain_if_not(m, INS, 0, L_NO_MOVE);
	chain_op(m, RT_OP_TRY, INS, TRACE, 0, TRACE_LINK & ~7);
	chain_shr(m, INS, INS, (TRACE_LINK & 7) * 8);
	chain_and(m, INS, INS, 0xffff);
	chain_if_is(m, INS, 0, L_NO_MOVE);
	chain_if_not(m, TAIL, LAST_JUMP, L_BEGUN);
	chain_mul(m, AT, AT, POS, -8);
	chain_add(m, OUTER, AT, 0);
	chain_label(m, L_NO_MOVE);
	chain_set(m, TAIL, 0);
	chain_label(m, L_BEGUN);
}

// The base of the snapshot at INS, into dst. T: the map of snapshots. TAIL is lost.
static void base_of(struct ChainMaker *m, u32 dst)
{
	chain_op(m, RT_OP_TRY, dst, INS, 0, 0);
	chain_low_bits(m, dst);
	chain_op(m, RT_OP_TRY, FN, INS, 0, LUAJIT_SNAP_ENTRIES);
	chain_shr(m, FN, FN, 16);
	chain_and(m, FN, FN, 0xff);
	chain_mul(m, dst, dst, FN, 1);
	chain_mul(m, dst, T, dst, 4);
	chain_op(m, RT_OP_TRY, dst, dst, 0, 0);
	chain_and(m, dst, dst, 0xff);
}

// The trace has called C by FFI: the next snapshot is taken behind the call, which is the last thing before it, in the function that called, unless that has returned since, and
// done nothing else: no check, and the snapshot is that of its caller. So it is the better one if it is further in.
// There must be no other call between, which a byte of an instruction may look like: then it is not the better one. LINK: the snapshots, WORD: how many.
static void calls(struct ChainMaker *m)
{
	chain_if_not(m, TAIL, 0, L_NO_CALL);
	chain_op(m, RT_OP_NATIVE, T, 0, 0, RT_CHAIN_LEAF);
	chain_if_not(m, T, 0, L_NO_CALL);
	chain_if(m, WORD, RT_OP_EQ, KEY, 0, L_NO_CALL);
	chain_mul(m, INS, LINK, KEY, LUAJIT_SNAP_SIZE);
	chain_op(m, RT_OP_TRY, T, INS, 0, 0);
	chain_shr(m, POS, T, 48);
	chain_add(m, POS, POS, -RESULT);
	chain_if(m, N, RT_OP_LT, POS, 0, L_NO_CALL);
	chain_add(m, POS, POS, RESULT - 1);
	chain_mul(m, N, POS, N, -1); // bytes of code between the call and the snapshot's
	chain_shr(m, T, T, 32);
	chain_and(m, T, T, 0xffff);
	chain_op(m, RT_OP_TRY, POS, TRACE, 0, TRACE_IR);
	chain_mul(m, POS, POS, T, 8);
	for (s64 i = 1; i <= LAST; i++) {
		chain_op(m, RT_OP_TRY, T, POS, 0, -8 * i);
		chain_shr(m, T, T, 40);
		chain_and(m, T, T, 0xff);
		chain_if_is(m, T, IR_CALLXS, L_CALLS_C);
	}
	chain_jump(m, L_NO_CALL);
	chain_label(m, L_CALLS_C);
	chain_if_is(m, N, 0, L_ONE_CALL);
	chain_op(m, RT_OP_NATIVE, CODE, 0, 0, RT_CHAIN_PC);
	chain_add(m, CODE, CODE, 1);
	chain_mul(m, CODE_END, CODE, N, 1);
	chain_label(m, L_CALLS_EACH);
	chain_if(m, CODE, RT_OP_EQ, CODE_END, 0, L_ONE_CALL);
	chain_op(m, RT_OP_TRY, T, CODE, 0, 0);
	chain_add(m, CODE, CODE, 1);
	chain_and(m, POS, T, 0xf8ff);
	chain_if_is(m, POS, 0xd0ff, L_NO_CALL); // call r
	chain_and(m, POS, T, 0xff);
	chain_if_is(m, POS, 0xe8, L_NO_CALL); // call n
	chain_jump(m, L_CALLS_EACH);
	chain_label(m, L_ONE_CALL);
	chain_op(m, RT_OP_TRY, T, TRACE, 0, LUAJIT_TRACE_MAP);
	base_of(m, POS);
	chain_add(m, INS, INS, -LUAJIT_SNAP_SIZE);
	base_of(m, WORD);
	chain_set(m, TAIL, 0);
	chain_if(m, POS, RT_OP_LT, WORD, 1, L_NO_CALL);
	chain_add(m, KEY, KEY, 1);
	chain_set(m, AT_BEGIN, BEHIND_CALL);
	chain_label(m, L_NO_CALL);
}

// The snapshot of the place at hand; of the trace's last bytes TAIL says more.
static void snapshot(struct ChainMaker *m, const struct RtLang *l)
{
	trace_at_work(m, l);
	chain_set(m, TAIL, 0);
	chain_if(m, N, RT_OP_LT, INS, -12, L_TAIL);
	chain_set(m, TAIL, BASE_PERHAPS_SET);
	chain_if(m, N, RT_OP_LT, INS, -5, L_TAIL);
	chain_set(m, TAIL, LAST_JUMP);
	chain_label(m, L_TAIL);
	chain_op(m, RT_OP_TRY, T, TRACE, 0, LUAJIT_TRACE_SNAPS);
	chain_shr(m, T, T, 16);
	chain_and(m, T, T, 0xffff);
	chain_add(m, WORD, T, 0);
	chain_op(m, RT_OP_TRY, LINK, TRACE, 0, LUAJIT_TRACE_SNAP);
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
	calls(m);
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
	leaves_trace(m);
	chain_shr(m, T, T, 8);
	chain_if_is(m, T, 0, L_GO);
	chain_add(m, NEXT_PC, T, 0);
	chain_if_is(m, AT_BEGIN, BEHIND_CALL, L_AT_CALL);
	chain_add(m, NEXT_PC, T, 4);
	chain_label(m, L_AT_CALL);
	chain_mul(m, AT, AT, POS, 8);
	chain_add(m, MAP, LINK, 0);
	chain_op(m, RT_OP_TRY, IR, TRACE, 0, TRACE_IR);
	chain_add(m, ON, N, 1);
	chain_set(m, RT_CHAIN_NEXT, 1);
	luajit_sure(m, l);
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

// The function (FN) and link of the frame at AT: on the stack, or what a trace would put there. BY_PROTOTYPE: PROTO leads to the function's prototype only.
void luajit_frame(struct ChainMaker *m)
{
	chain_if_is(m, MAP, 0, L_REAL);
	chain_if(m, AT, RT_OP_LT, OUTER, 0, L_LEFT);
	luajit_slot_of_frame(m);
	chain_if_is(m, POS, 0, L_IS_BASE);
	chain_add(m, KEY, POS, 1);
	luajit_slot(m, LINK, KEY, ON, L_LINK_SLOT, L_NO_SNAPSHOT);
	luajit_slot(m, FN, POS, ON, L_FUNCTION_SLOT, L_NO_SNAPSHOT);
	luajit_prototype(m, PROTO, ON, KEY, WORD, L_PAIR, L_FRAME_PROTOTYPE, L_NO_SNAPSHOT);
	chain_set(m, FN, BY_PROTOTYPE);
	chain_jump(m, L_FRAME);
	chain_label(m, L_IS_BASE); // of another function, perhaps: called as the last thing of the one that was there
	chain_load(m, FN, AT, -16, 16);
	luajit_slot(m, FN, POS, ON, L_BASE_SLOT, L_PAIR);
	chain_jump(m, L_PAIR);
	chain_label(m, L_NO_SNAPSHOT);
	chain_set(m, RT_CHAIN_SURE, RT_CHAIN_DOUBT);
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
	chain_label(m, L_FRAME);
}

// Where the caller of a metamethod goes on, into CALLER.
void luajit_continuation(struct ChainMaker *m)
{
	chain_if_is(m, MAP, 0, L_CONT_REAL);
	luajit_slot_of_frame(m);
	chain_if_is(m, POS, 0, L_CONT_REAL);
	chain_add(m, POS, POS, -1);
	luajit_slot(m, CALLER, POS, ON, L_CONT_SLOT, L_NO_SNAPSHOT);
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
	luajit_slot_of_frame(m);
	chain_add(m, LINK, ON, 0);
	luajit_slot(m, T, POS, LINK, L_CALLER_SLOT, L_NO_CALLER);
	luajit_prototype(m, T, LINK, FN, STACK, L_CALLER, L_CALLER_PROTOTYPE, L_DONE);
	chain_jump(m, L_CALLER);
	chain_label(m, L_NO_CALLER);
	chain_if_not(m, POS, 0, L_DONE);
	chain_label(m, L_CALLER_REAL);
	chain_load(m, T, AT, -16, 8);
	chain_label(m, L_CALLER);
	luajit_pointer(m, T);
}
