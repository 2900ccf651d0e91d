// The program of LuaJIT's chain (bpfrt/chain.bpf.c). Input: where the machine keeps its thread and its traces (luajit.c). Output: struct RtChain.
// Code that it makes at run time, traces, runs on the machine's frame (track/luatraces.c). Which functions a trace has taken into it, its snapshots tell (lj_jit.h, GCtrace,
// SnapShot; lj_snap.c): each says what the thread's stack would be, were the trace left where the snapshot's code begins: for each word that would be set a constant, or an
// instruction of the trace; and the place in the innermost function. The machine knows the number of the trace at work. Frames are made of constants, but for functions that
// are created as the program runs: what the trace has loaded from the stack is still there. A frame's function must have the instruction that its callee returns to;
// where one has not, or the place has no snapshot, the function that the trace has begun in is shown, without its line.
// LuaJIT takes no snapshot where no check needs one: a function may have been begun or left since. Where that cannot be (luajitsure.c) the stack is no guess.
// Each frame of the machine on the C stack (cframe) has the thread (lua_State), the instruction at hand and the one before it; the thread has its innermost. The frames of
// a thread lie on a stack of its own, each with its function and a link: where its caller goes on, or how far down the caller's frame is and what kind of call it was.
// One that C has made is the last of its machine's frame. The innermost frame's base is in a register while the machine itself runs, else in the thread.
// Names are those of tracebacks: by what the caller has last loaded to the register of the function.
// Invariant: what is read as a thread has the machine's frame in its chain.
#define LUAJIT_PROGRAM
#include "runtime/internal.h"

#define RSP 7 // DWARF
#define RBX 3
#define RDX 1
#define CFRAME_RESULTS 8
#define CFRAME_THREAD 16
#define CFRAME_PC 24
#define CFRAME_PREV 32
#define CFRAMES 64 // of a thread, at most
#define TYPE 9	   // of an object
#define TYPE_THREAD 6
#define TYPE_FUNCTION 8
#define BASE 32	   // of a thread
#define MAX_STACK 48
#define CODE 104   // of a prototype
#define NCODE 12
#define TEXT 24	   // of a string
enum { LINK_C = 1, LINK_CONT, LINK_VARARG, LINK_CP = 5 };
#define BACK 128   // instructions that are looked at for a name
enum { OP_SET_FIRST = 12, OP_MOV = 18, OP_KNIL = 44, OP_UGET = 45, OP_USET = 46, OP_UCLO = 50, OP_GGET = 54, OP_GSET = 55, OP_TGETS = 57, OP_TSET = 60, OP_CALLM = 65, OP_ITERC = 69, OP_JMP = 88 };

// C that the machine calls only to catch its errors (lj_vm_cpcall: the compiler, the parser) has no frame of the thread's, if that's frames are below what its top was: in
// the machine's frame, negative, instead of a number of results (lj_err.c, err_unwind()). Then this frame of the machine has none, and the thread's are another one's.
static void bare_call(struct ChainMaker *m)
{
	chain_load(m, N, PREV, CFRAME_RESULTS, 4);
	chain_shr(m, T, N, 31);
	chain_if_is(m, T, 0, L_FRAMED);
	chain_mul(m, N, RT_CHAIN_ZERO, N, -1);
	chain_low_bits(m, N);
	chain_load(m, T, VM, MAX_STACK + 8, 8);
	chain_mul(m, N, N, T, 1);
	chain_load(m, T, VM, BASE, 8);
	chain_if(m, T, RT_OP_LT, N, 8, L_READY);
	chain_label(m, L_FRAMED);
}

// The machine leaves a trace, with the registers of that on the stack (T: where it is): the innermost frame is that of the thread, wherever the place in it.
static void leaves(struct ChainMaker *m, s32 cur_l)
{
	chain_if_not(m, L, 0, L_READY);
	chain_op(m, RT_OP_NATIVE, N, 0, 0, R14);
	chain_op(m, RT_OP_TRY, VM, N, 0, cur_l);
	chain_op(m, RT_OP_TRY, POS, VM, 0, CFRAME);
	chain_and(m, POS, POS, -4);
	chain_if(m, POS, RT_OP_LT, T, 0, L_READY);
	chain_if(m, T, RT_OP_LT, POS, -FRAME_MAX, L_READY);
	chain_op(m, RT_OP_TRY, N, POS, 0, CFRAME_THREAD);
	chain_if(m, N, RT_OP_NE, VM, 0, L_READY);
	chain_add(m, L, VM, 0);
	chain_load(m, AT, L, BASE, 8);
	chain_set(m, NEXT_PC, 0);
	chain_jump(m, L_GO);
}

// Is the instruction before NEXT_PC of the function whose frame is at POS, and not its last, which returns? Then on at `yes`.
static void if_of_frame(struct ChainMaker *m, u32 yes)
{
	chain_op(m, RT_OP_TRY, FN, POS, 0, -16);
	luajit_pointer(m, FN);
	chain_op(m, RT_OP_TRY, FN, FN, 0, FUNCTION_PC);
	chain_op(m, RT_OP_TRY, N, FN, 0, NCODE - CODE);
	chain_low_bits(m, N);
	chain_mul(m, T, NEXT_PC, FN, -1);
	chain_shr(m, T, T, 2);
	chain_if(m, T, RT_OP_LT, N, 0, yes);
}

// Is there a frame at AT, as its link says? While the machine calls, it has no link yet, and when it returns, values lie there: then the link is in the register of the
// instruction at hand: the caller's instruction, or, of a call that C has made, how far down its frame is, or that frame. For metamethods AT is an operand, and the base is in
// the thread. While the machine is entered by C the register is nothing: the call has not begun, and the thread's frames are those of the machine's next frame.
static void is_frame(struct ChainMaker *m)
{
	chain_load(m, LINK, AT, -8, 8);
	chain_shr(m, N, LINK, 47);
	chain_if_not(m, N, 0, L_NO_LINK);
	chain_if_is(m, LINK, 0, L_NO_LINK);
	chain_and(m, T, LINK, 3);
	chain_if_is(m, T, 0, L_GO);
	chain_and(m, N, LINK, -8);
	chain_mul(m, POS, AT, N, -1);
	chain_if(m, POS, RT_OP_LT, X + 1, 0, L_NO_LINK);
	chain_if(m, POS, RT_OP_LT, AT, 0, L_GO);
	chain_label(m, L_NO_LINK);
	chain_and(m, N, NEXT_PC, -8);
	chain_mul(m, POS, AT, N, -1);
	chain_and(m, T, NEXT_PC, 3);
	chain_if_not(m, T, 0, L_ENDED);
	chain_add(m, POS, NEXT_PC, 0);
	chain_label(m, L_ENDED);
	chain_if(m, POS, RT_OP_LT, X + 1, 0, L_BY_CALLER);
	chain_if(m, POS, RT_OP_LT, AT, 0, L_BELOW);
	chain_label(m, L_BY_CALLER);
	chain_op(m, RT_OP_TRY, N, NEXT_PC, 0, -4);
	chain_shr(m, N, N, 8);
	chain_and(m, N, N, 0xff);
	chain_mul(m, POS, AT, N, -8);
	chain_add(m, POS, POS, -16);
	chain_label(m, L_WHOSE);
	if_of_frame(m, L_ITS);
	chain_load(m, POS, L, BASE, 8);
	chain_if_is(m, START, 0, L_BELOW); // neither
	chain_set(m, START, 0);
	chain_jump(m, L_WHOSE);
	chain_label(m, L_ITS);
	chain_add(m, AT, POS, 0);
	chain_jump(m, L_GO);
	chain_label(m, L_BELOW);
	chain_add(m, AT, POS, 0);
	chain_set(m, RT_CHAIN_NEXT, 1);
	chain_jump(m, L_READY);
}

static void again(struct ChainMaker *m, const struct RtLang *l)
{
	chain_set(m, RT_CHAIN_NEXT, RT_CHAIN_PERHAPS);
	chain_label(m, CHAIN_AGAIN);
	chain_set(m, MAP, 0);
	chain_set(m, ON, 0);
	chain_set(m, RT_CHAIN_SURE, 0);
	chain_set(m, START, 1);
	chain_op(m, RT_OP_NATIVE, PREV, 0, 0, RSP);
	if (l->luajit.cur_l)
		luajit_trace(m, l);
	chain_label(m, L_THREAD);
	chain_op(m, RT_OP_TRY, VM, PREV, 0, CFRAME_THREAD);
	chain_op(m, RT_OP_TRY, T, VM, 0, TYPE & ~7);
	chain_shr(m, T, T, (TYPE & 7) * 8);
	chain_and(m, T, T, 0xff);
	chain_if_not(m, T, TYPE_THREAD, L_NO_THREAD);
	chain_set(m, N, CFRAMES);
	chain_op(m, RT_OP_TRY, POS, VM, 0, CFRAME);
	chain_label(m, L_CFRAME);
	chain_and(m, POS, POS, -4);
	chain_if(m, POS, RT_OP_EQ, PREV, 0, L_HAVE);
	chain_if_is(m, POS, 0, L_NO_THREAD);
	chain_op(m, RT_OP_TRY, POS, POS, 0, CFRAME_PREV);
	chain_add(m, N, N, -1);
	chain_if_not(m, N, 0, L_CFRAME);
	chain_label(m, L_NO_THREAD); // a piece that the machine has called has a word more: its return address
	chain_op(m, RT_OP_NATIVE, T, 0, 0, RSP);
	chain_if(m, PREV, RT_OP_NE, T, 0, L_LEAVES);
	chain_add(m, PREV, T, 8);
	chain_jump(m, L_THREAD);
	chain_label(m, L_LEAVES);
	if (l->luajit.cur_l)
		leaves(m, l->luajit.cur_l);
	chain_label(m, L_READY);
	chain_ready(m, CHAIN_STEP);
	chain_label(m, L_HAVE);
	chain_load(m, NEXT_PC, PREV, CFRAME_PC, 8);
	chain_if(m, VM, RT_OP_EQ, L, 0, L_SAME);
	chain_if(m, VM, RT_OP_EQ, OTHER, 0, L_BACK);
	bare_call(m);
	chain_if_is(m, AT, 0, L_KEEP);
	chain_add(m, OTHER, L, 0);
	chain_add(m, OTHER_AT, AT, 0);
	chain_label(m, L_KEEP);
	chain_add(m, L, VM, 0);
	chain_load(m, AT, L, BASE, 8);
	chain_op(m, RT_OP_NATIVE, T, 0, 0, RT_CHAIN_LEAF);
	chain_if_is(m, T, 0, L_GO);
	chain_op(m, RT_OP_NATIVE, NEXT_PC, 0, 0, RBX);
	chain_op(m, RT_OP_NATIVE, T, 0, 0, RDX);
	chain_load(m, X, L, MAX_STACK, 16);
	chain_if(m, T, RT_OP_LT, X + 1, 16, L_GO);
	chain_if(m, X, RT_OP_LT, T, 0, L_GO);
	chain_add(m, AT, T, 0);
	is_frame(m);
	chain_label(m, L_BACK);
	chain_swap(m, L, OTHER, T);
	chain_swap(m, AT, OTHER_AT, T);
	chain_label(m, L_SAME);
	chain_if_not(m, AT, 0, L_GO);
	chain_set(m, RT_CHAIN_NEXT, 0); // more of the machine's frames than calls
	chain_jump(m, L_READY);
	chain_label(m, L_GO);
	chain_set(m, ON, 1);
	chain_set(m, RT_CHAIN_NEXT, 1);
	chain_jump(m, L_READY);
}

// The line of the instruction before NEXT_PC into POS.
static void place(struct ChainMaker *m)
{
	chain_load(m, N, PROTO, NCODE, 4);
	chain_mul(m, POS, NEXT_PC, PROTO, -1);
	chain_add(m, POS, POS, -CODE);
	chain_shr(m, POS, POS, 2);
	chain_add(m, POS, POS, -1);
	chain_if(m, N, RT_OP_LT, POS, 0, L_OUTSIDE);
	chain_if_is(m, LINES, 0, L_UNKNOWN);
	chain_if_is(m, POS, 0, L_FIRST);
	chain_add(m, POS, POS, -1);
	chain_shr(m, N, FIRST_LINE, 32); // how many lines it has
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, 1 << 8, L_WIDE);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, 1 << 16, L_WIDER);
	chain_mul(m, POS, LINES, POS, 4);
	chain_load(m, POS, POS, 0, 4);
	chain_jump(m, L_FIRST);
	chain_label(m, L_WIDER);
	chain_mul(m, POS, LINES, POS, 2);
	chain_load(m, POS, POS, 0, 2);
	chain_jump(m, L_FIRST);
	chain_label(m, L_WIDE);
	chain_mul(m, POS, LINES, POS, 1);
	chain_load(m, POS, POS, 0, 1);
	chain_label(m, L_FIRST);
	chain_and(m, N, FIRST_LINE, 0x7fffffff);
	chain_mul(m, POS, POS, N, 1);
	chain_jump(m, L_PLACED);
	chain_label(m, L_OUTSIDE);
	chain_if_not(m, MAP, 0, L_NO_SNAPSHOT);
	chain_if_is(m, NEXT_PC, 0, L_UNKNOWN);
	chain_if_is(m, START, 0, CHAIN_LOST);
	chain_label(m, L_UNKNOWN);
	chain_set(m, POS, 0);
	chain_label(m, L_PLACED);
}

static void step(struct ChainMaker *m)
{
	chain_label(m, CHAIN_STEP);
	chain_if_is(m, ON, 0, L_NONE);
	chain_if_is(m, AT, 0, L_NONE);
	chain_set(m, RT_CHAIN_LAST, 0);
	luajit_frame(m);
	chain_load(m, STACK, L, MAX_STACK + 8, 8);
	chain_and(m, T, LINK, 3);
	chain_if_not(m, T, 0, L_DELTA);
	chain_load(m, N, LINK, -4, 4);
	chain_shr(m, N, N, 8);
	chain_and(m, N, N, 0xff);
	chain_mul(m, PREV, AT, N, -8);
	chain_add(m, PREV, PREV, -16);
	chain_add(m, CALLER, LINK, 0);
	chain_jump(m, L_LINKED);
	chain_label(m, L_DELTA);
	chain_set(m, CALLER, 0);
	chain_and(m, N, LINK, -8);
	chain_mul(m, PREV, AT, N, -1);
	chain_and(m, T, LINK, 7);
	chain_if_is(m, T, LINK_VARARG, L_VARARG); // the same function once more
	chain_if_not(m, T, LINK_CONT, L_LINKED);
	luajit_continuation(m);
	chain_and(m, T, LINK, 7);
	chain_if(m, AT, RT_OP_LT, PREV, 1, CHAIN_LOST); // not downwards
	chain_if(m, FN, RT_OP_EQ, L, 0, L_SKIP);
	chain_if_is(m, T, LINK_C, L_ENDS);
	chain_if_not(m, T, LINK_CP, L_MID);
	chain_label(m, L_ENDS);
	chain_set(m, RT_CHAIN_LAST, 1);
	chain_label(m, L_MID);
	chain_add(m, AT, PREV, 0);
	chain_if(m, STACK, RT_OP_LT, PREV, -16, L_INNER);
	chain_set(m, AT, 0);
	chain_set(m, RT_CHAIN_LAST, 1);
	chain_set(m, RT_CHAIN_NEXT, RT_CHAIN_PERHAPS);
	chain_label(m, L_INNER);
	chain_if_is(m, FN, BY_PROTOTYPE, L_BY_PROTOTYPE);
	chain_op(m, RT_OP_TRY, X, FN, 0, 8);
	chain_shr(m, T, X, 8);
	chain_and(m, T, T, 0xff);
	chain_if_not(m, T, TYPE_FUNCTION, L_RETURNS);
	chain_shr(m, T, X, 16);
	chain_and(m, T, T, 0xff);
	chain_if_not(m, T, 0, L_C);
	chain_load(m, PROTO, FN, FUNCTION_PC, 8);
	chain_label(m, L_HAVE_PROTOTYPE);
	chain_add(m, PROTO, PROTO, -CODE);
	chain_load(m, CHUNK, PROTO, 64, 40);
	place(m);
	chain_mul(m, KEY, PROTO, CALLER, 3);
	chain_mul(m, INS, CHUNK, FIRST_LINE, 5);
	chain_mul(m, INS, INS, CALLER, 7);
	chain_add(m, NEXT_PC, CALLER, 0);
	chain_set(m, START, 0);
	chain_frame(m, KEY, INS, POS);
	chain_label(m, L_C);
	chain_load(m, KEY, FN, 40, 8);
	chain_mul(m, KEY, KEY, T, 64);
	chain_mul(m, KEY, KEY, CALLER, 3);
	chain_set(m, PROTO, 0);
	chain_add(m, NEXT_PC, CALLER, 0);
	chain_set(m, START, 0);
	chain_frame(m, KEY, CALLER, RT_CHAIN_ZERO);
	chain_label(m, L_BY_PROTOTYPE);
	chain_load(m, PROTO, PROTO, FUNCTION_PC, 8);
	chain_jump(m, L_HAVE_PROTOTYPE);
	chain_label(m, L_RETURNS); // what a function returns lies where it was
	chain_if_not(m, MAP, 0, L_NO_SNAPSHOT);
	chain_if_is(m, START, 0, CHAIN_LOST);
	chain_set(m, START, 0);
	chain_if_not(m, RT_CHAIN_LAST, 0, L_NONE);
	chain_label(m, L_SKIP);
	chain_add(m, NEXT_PC, CALLER, 0);
	chain_label(m, L_VARARG);
	chain_add(m, AT, PREV, 0);
	chain_if(m, STACK, RT_OP_LT, AT, -16, CHAIN_STEP);
	chain_label(m, L_NONE);
	chain_op(m, RT_OP_NONE, 0, 0, 0, 0);
}

// A number of one or two bytes at LOCALS, into POS.
static void number(struct ChainMaker *m, u32 there)
{
	chain_load(m, POS, LOCALS, 0, 1);
	chain_add(m, LOCALS, LOCALS, 1);
	chain_if(m, POS, RT_OP_LT, RT_CHAIN_ZERO, 128, there);
	chain_load(m, N, LOCALS, 0, 1);
	chain_add(m, LOCALS, LOCALS, 1);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, 128, there + 1);
	chain_jump(m, L_DONE);
	chain_label(m, there + 1);
	chain_mul(m, POS, POS, N, 128);
	chain_add(m, POS, POS, -128);
	chain_label(m, there);
}

// The local variable of register INS >> 16 at the instruction FN: names, each with where it begins, after the one before, and for how long. Bytes below 7 are
// variables of loops.
static void local(struct ChainMaker *m)
{
	chain_label(m, L_LOCAL);
	chain_if_is(m, LOCALS, 0, L_DONE);
	chain_shr(m, SLOT, INS, 16);
	chain_mul(m, FN, FN, PREV, -1);
	chain_shr(m, FN, FN, 2);
	chain_set(m, LINK, 0);
	chain_label(m, L_LOCALS);
	chain_add(m, T, LOCALS, 0);
	chain_load(m, N, LOCALS, 0, 1);
	chain_if_is(m, N, 0, L_DONE);
	chain_label(m, L_SKIP_NAME);
	chain_add(m, LOCALS, LOCALS, 1);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, 7, L_RANGE);
	chain_load(m, N, LOCALS, 0, 1);
	chain_if_not(m, N, 0, L_SKIP_NAME);
	chain_add(m, LOCALS, LOCALS, 1);
	chain_label(m, L_RANGE);
	number(m, L_FROM);
	chain_mul(m, LINK, LINK, POS, 1);
	chain_if(m, FN, RT_OP_LT, LINK, 0, L_DONE);
	number(m, L_TO);
	chain_mul(m, POS, POS, LINK, 1);
	chain_if(m, POS, RT_OP_LT, FN, 1, L_LOCALS);
	chain_add(m, SLOT, SLOT, -1);
	chain_if_not(m, SLOT, -1, L_LOCALS);
	chain_load(m, N, T, 0, 1);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, 7, L_DONE);
	chain_cstr(m, RT_CHAIN_NAME, T);
	chain_jump(m, L_DONE);
}

static void scan(struct ChainMaker *m)
{
	chain_add(m, FN, CALLER, -4);
	chain_set(m, STACK, BACK);
	chain_add(m, PREV, PROTO, CODE);
	chain_label(m, L_SCAN);
	chain_if(m, FN, RT_OP_EQ, PREV, 0, L_DONE);
	chain_add(m, STACK, STACK, -1);
	chain_if_is(m, STACK, 0, L_DONE);
	chain_add(m, FN, FN, -4);
	chain_load(m, INS, FN, 0, 4);
	chain_and(m, POS, INS, 0xff);
	chain_shr(m, T, INS, 8);
	chain_and(m, T, T, 0xff);
	chain_if(m, T, RT_OP_EQ, SLOT, 0, L_FOUND);
	chain_if(m, SLOT, RT_OP_LT, T, 0, L_SCAN);
	chain_add(m, T, POS, -OP_CALLM);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, 8, L_DONE); // sets all from there on
	chain_if_not(m, POS, OP_KNIL, L_SCAN);
	chain_shr(m, T, INS, 16);
	chain_if(m, T, RT_OP_LT, SLOT, 0, L_SCAN);
	chain_jump(m, L_DONE);
	chain_label(m, L_FOUND);
	chain_if_is(m, POS, OP_MOV, L_LOCAL);
	chain_if_is(m, POS, OP_UGET, L_UPVALUE);
	chain_if_is(m, POS, OP_GGET, L_GLOBAL);
	chain_if_is(m, POS, OP_TGETS, L_FIELD);
	chain_if(m, POS, RT_OP_LT, RT_CHAIN_ZERO, OP_SET_FIRST, L_SCAN); // compares
	chain_if_is(m, POS, OP_JMP, L_SCAN);
	chain_jump(m, L_DONE);
}

static void copy(struct ChainMaker *m)
{
	chain_label(m, CHAIN_COPY);
	chain_set(m, KEY, LUAJIT_IN_C);
	chain_if_is(m, PROTO, 0, L_NAME);
	chain_set(m, KEY, 0);
	chain_load(m, N, CHUNK, TEXT, 1);
	chain_add(m, T, CHUNK, TEXT + 1);
	chain_if_is(m, N, '@', L_FILE);
	chain_if_is(m, N, '=', L_FILE);
	chain_add(m, T, T, -1);
	chain_set(m, KEY, LUAJIT_TEXT);
	chain_label(m, L_FILE);
	chain_cstr(m, RT_CHAIN_FILE, T);
	chain_and(m, N, FIRST_LINE, 0x7fffffff);
	chain_first_line(m, N);
	chain_label(m, L_NAME);
	chain_if_is(m, CALLER, 0, L_DONE);
	luajit_caller(m);
	chain_load(m, PROTO, T, FUNCTION_PC, 8);
	chain_add(m, PROTO, PROTO, -CODE);
	chain_load(m, K, PROTO, 32, 8);
	chain_load(m, CHUNK, PROTO, 64, 40);
	chain_load(m, INS, CALLER, -4, 4);
	chain_and(m, POS, INS, 0xff);
	chain_shr(m, SLOT, INS, 8);
	chain_and(m, SLOT, SLOT, 0xff);
	chain_add(m, T, POS, -OP_CALLM);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, 4, L_EVENT);
	chain_mul(m, KEY, KEY, POS, 1);
	chain_add(m, KEY, KEY, 1);
	chain_jump(m, L_DONE);
	chain_label(m, L_EVENT);
	scan(m);
	chain_label(m, L_UPVALUE); // names one behind the other
	chain_if_is(m, UPVALUES, 0, L_DONE);
	chain_shr(m, N, INS, 16);
	chain_add(m, T, UPVALUES, 0);
	chain_label(m, L_UPVALUES);
	chain_if_is(m, N, 0, L_STRING);
	chain_load(m, POS, T, 0, 1);
	chain_add(m, T, T, 1);
	chain_if_not(m, POS, 0, L_UPVALUES);
	chain_add(m, N, N, -1);
	chain_jump(m, L_UPVALUES);
	chain_label(m, L_FIELD);
	chain_shr(m, N, INS, 16);
	chain_and(m, N, N, 0xff);
	chain_jump(m, L_CONSTANT);
	chain_label(m, L_GLOBAL);
	chain_shr(m, N, INS, 16);
	chain_label(m, L_CONSTANT);
	chain_mul(m, T, K, N, -8);
	chain_load(m, T, T, -8, 8);
	chain_add(m, T, T, TEXT);
	chain_label(m, L_STRING);
	chain_cstr(m, RT_CHAIN_NAME, T);
	chain_label(m, L_DONE);
	chain_lines_kind(m, KEY);
	chain_copied(m);
	local(m);
}

bool luajit_chain(const struct RtLang *l, struct RtChain *out)
{
	struct ChainMaker m = {0};

	again(&m, l);
	step(&m);
	copy(&m);
	return chain_end(&m, out);
}
