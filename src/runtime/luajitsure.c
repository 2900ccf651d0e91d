// Do the functions that a snapshot of LuaJIT's names hold up to the next snapshot? For the program of its chain (luajittrace.c). Input: the snapshot at hand (NEXT_PC, POS: its
// base), the next one's place (INS, number KEY), the trace; instructions of the program. Output: RT_CHAIN_SURE, and the line of a comparison.
// A trace is what was run once, in order. So if the instructions from the snapshot's on lead to the next one's, in the same function and past no call and no return, the code
// between belongs to that function. Where a function is called or returns between the two, it does if that is the last thing (the next snapshot is at the function's first
// instruction, or behind the call). A comparison's snapshot has the place where the other outcome would go on; the next has where this one did.
// Invariant: all other is not sure. A function of an operator (a metamethod) that has no snapshot of its own is not told from the operator.
#define LUAJIT_PROGRAM
#include "runtime/internal.h"

enum { OP_COMPARES = 16, OP_UCLO = 50, OP_CALLM = 65, OP_ITERC = 69, OP_ITERN, OP_VARG, OP_RETM = 73, OP_FORI = 77, OP_FORL = 79, OP_LOOP = 85, OP_JMP = 88, OP_FUNCF };
enum { IR_TYPE = 32, IR_OPCODE = 40, IR_COMPARES = 10, IR_KGC = 24, IR_KNULL = 27, IR_KSLOT = 30, IR_PROTOTYPE = 7, IR_FUNCTION, IR_CONSTANTS_END = 0x8000 }; // of the trace's instructions: bits before type and opcode, ...
#define TRACE_CONSTANTS 40 // the first one's number
#define LOOKS 32 // instructions, at most
#define CONSTANTS 256 // words of constants, at most
enum { SAME, CALLED, RETURNS }; // MODE: the next snapshot's function
#define AT_INS PROTO // the instruction looked at, and then the next one
#define TO (X + 4)   // the next snapshot's
#define OTHER_BASE (X + 5)
#define LEFT (X + 6)
#define WORD (X + 7)
#define JUMP (X + 8) // where WORD goes on if it jumps
#define MODE (X + 1)
#define ONE LINK // one instruction of the trace lies between the two snapshots
#define NO_LUA CALLER // the trace has no constant that is a function in Lua; 0: not looked at yet

// The opcode of the instruction at `at` + off into N, the whole of it into WORD.
static void opcode(struct ChainMaker *m, u32 at, s64 off)
{
	chain_op(m, RT_OP_TRY, WORD, at, 0, off);
	chain_and(m, N, WORD, 0xff);
}

// Where the jump WORD leads, the instruction after which is at `next` + off, into JUMP.
static void jump_of(struct ChainMaker *m, u32 next, s64 off)
{
	chain_shr(m, JUMP, WORD, 16);
	chain_and(m, JUMP, JUMP, 0xffff);
	chain_mul(m, JUMP, next, JUMP, 4);
	chain_add(m, JUMP, JUMP, off - 4 * 0x8000);
}

// The next snapshot's place and base, and whether one instruction of the trace lies between the two: then it is at work in this one's function.
static void next_snapshot(struct ChainMaker *m)
{
	chain_op(m, RT_OP_TRY, N, INS, 0, -LUAJIT_SNAP_SIZE);
	chain_op(m, RT_OP_TRY, TO, INS, 0, 0);
	chain_shr(m, N, N, 32);
	chain_and(m, N, N, 0xffff);
	chain_shr(m, WORD, TO, 32);
	chain_and(m, WORD, WORD, 0xffff);
	chain_set(m, ONE, 0);
	chain_if(m, WORD, RT_OP_NE, N, 1, L_MORE);
	chain_set(m, ONE, 1);
	chain_label(m, L_MORE);
	chain_low_bits(m, TO);
	chain_op(m, RT_OP_TRY, N, INS, 0, LUAJIT_SNAP_ENTRIES);
	chain_shr(m, N, N, 16);
	chain_and(m, N, N, 0xff);
	chain_op(m, RT_OP_TRY, WORD, TRACE, 0, LUAJIT_TRACE_MAP);
	chain_mul(m, WORD, WORD, TO, 4);
	chain_mul(m, WORD, WORD, N, 4);
	chain_op(m, RT_OP_TRY, WORD, WORD, 0, 0);
	chain_and(m, OTHER_BASE, WORD, 0xff);
	chain_shr(m, TO, WORD, 8);
	chain_set(m, MODE, SAME);
	chain_if(m, OTHER_BASE, RT_OP_EQ, POS, 0, L_AHEAD);
	chain_set(m, MODE, CALLED);
	chain_if(m, POS, RT_OP_LT, OTHER_BASE, 0, L_AHEAD);
	chain_set(m, MODE, RETURNS);
}

// From instruction to instruction.
static void ahead(struct ChainMaker *m)
{
	chain_label(m, L_AHEAD);
	chain_set(m, LEFT, LOOKS);
	chain_label(m, L_LOOK);
	chain_if_not(m, MODE, SAME, L_WITHIN);
	chain_if(m, AT_INS, RT_OP_EQ, TO, 0, L_SURE);
	chain_label(m, L_WITHIN);
	chain_add(m, LEFT, LEFT, -1);
	chain_if_is(m, LEFT, 0, L_ASIDE);
	opcode(m, AT_INS, 0);
	chain_add(m, AT_INS, AT_INS, 4);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, OP_COMPARES, L_COMPARES);
	chain_if_is(m, N, OP_UCLO, L_ASIDE);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, OP_CALLM, L_LOOK);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, OP_ITERC, L_CALLS);
	chain_if_is(m, N, OP_ITERN, L_LOOK);
	chain_if_is(m, N, OP_VARG, L_LOOK);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, OP_RETM, L_ASIDE);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, OP_FORI, L_LEAVES_IT);
	jump_of(m, AT_INS, 0);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, OP_LOOP, L_EITHER);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, OP_JMP, L_LOOK);
	chain_if_not(m, N, OP_JMP, L_ASIDE);
	chain_add(m, AT_INS, JUMP, 0);
	chain_jump(m, L_LOOK);
	chain_label(m, L_COMPARES); // a jump follows
	opcode(m, AT_INS, 0);
	chain_add(m, AT_INS, AT_INS, 4);
	jump_of(m, AT_INS, 0);
	chain_label(m, L_EITHER);
	chain_if_not(m, MODE, SAME, L_ONE);
	chain_if(m, AT_INS, RT_OP_EQ, TO, 0, L_SURE);
	chain_if(m, JUMP, RT_OP_EQ, TO, 0, L_SURE);
	chain_jump(m, L_ASIDE);
}

// A call or a return as the last thing before the next snapshot.
static void over(struct ChainMaker *m)
{
	chain_label(m, L_CALLS);
	chain_if_not(m, NO_LUA, 0, L_LOOK);
	chain_if_is(m, MODE, SAME, L_BUILT_IN);
	chain_if_not(m, MODE, CALLED, L_ONE);
	opcode(m, TO, -4);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, OP_FUNCF, L_ONE);
	chain_jump(m, L_SURE);
	chain_label(m, L_LEAVES_IT);
	chain_if_not(m, MODE, RETURNS, L_ASIDE);
	opcode(m, TO, -4);
	chain_add(m, N, N, -OP_CALLM);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, OP_ITERC - OP_CALLM, L_SURE);
	chain_jump(m, L_ONE);
}

// A call between two snapshots of a function is one of a function that LuaJIT has built in, or of C, if the trace has no constant that is one in Lua, or its prototype: it checks
// whom it calls.
static void built_in(struct ChainMaker *m)
{
	chain_label(m, L_BUILT_IN);
	chain_op(m, RT_OP_TRY, KEY, TRACE, 0, TRACE_CONSTANTS);
	chain_low_bits(m, KEY);
	chain_if(m, KEY, RT_OP_LT, RT_CHAIN_ZERO, IR_CONSTANTS_END - CONSTANTS, L_ASIDE);
	chain_mul(m, KEY, IR, KEY, 8);
	chain_add(m, INS, IR, 8 * IR_CONSTANTS_END);
	chain_label(m, L_CONSTANTS);
	chain_if(m, KEY, RT_OP_LT, INS, 0, L_ANOTHER);
	chain_set(m, NO_LUA, 1);
	chain_jump(m, L_LOOK);
	chain_label(m, L_ANOTHER);
	chain_op(m, RT_OP_TRY, N, KEY, 0, 0);
	chain_add(m, KEY, KEY, 8);
	chain_shr(m, JUMP, N, IR_OPCODE);
	chain_and(m, JUMP, JUMP, 0xff);
	chain_if(m, JUMP, RT_OP_LT, RT_CHAIN_ZERO, IR_KGC, L_CONSTANTS); // of one word
	chain_if_is(m, JUMP, IR_KNULL, L_CONSTANTS);
	chain_if(m, JUMP, RT_OP_LT, RT_CHAIN_ZERO, IR_KSLOT, L_TWO_WORDS);
	chain_jump(m, L_CONSTANTS);
	chain_label(m, L_TWO_WORDS);
	chain_add(m, KEY, KEY, 8);
	chain_if_not(m, JUMP, IR_KGC, L_CONSTANTS);
	chain_shr(m, N, N, IR_TYPE);
	chain_and(m, N, N, 31);
	chain_if_is(m, N, IR_PROTOTYPE, L_ASIDE);
	chain_if_not(m, N, IR_FUNCTION, L_CONSTANTS);
	chain_op(m, RT_OP_TRY, N, KEY, 0, -8);
	chain_op(m, RT_OP_TRY, N, N, 0, 8);
	chain_shr(m, N, N, 16);
	chain_and(m, N, N, 0xff);
	chain_if_is(m, N, 0, L_ASIDE);
	chain_jump(m, L_CONSTANTS);
}

// The two outcomes of a comparison: in front of one is the jump to the other. Or of a loop's end, in the trace's last snapshot.
static void outcomes(struct ChainMaker *m)
{
	chain_label(m, L_ASIDE);
	chain_if_not(m, MODE, SAME, L_ONE);
	opcode(m, TO, -4);
	jump_of(m, TO, 0);
	chain_add(m, AT_INS, NEXT_PC, -4);
	chain_if_not(m, N, OP_JMP, L_BEFORE);
	chain_if(m, JUMP, RT_OP_NE, AT_INS, 0, L_BEFORE);
	chain_add(m, NEXT_PC, TO, 0);
	chain_jump(m, L_SURE);
	chain_label(m, L_BEFORE);
	opcode(m, AT_INS, -4);
	jump_of(m, AT_INS, 0);
	chain_if_not(m, N, OP_JMP, L_ONE);
	chain_if(m, JUMP, RT_OP_NE, TO, 0, L_ONE);
	chain_add(m, NEXT_PC, AT_INS, 0);
	chain_jump(m, L_SURE);
	chain_label(m, L_ONE);
	chain_if_is(m, ONE, 0, L_NOT_SURE);
	chain_jump(m, L_SURE);
	chain_label(m, L_LAST);
	chain_op(m, RT_OP_TRY, N, INS, 0, -LUAJIT_SNAP_SIZE);
	chain_shr(m, N, N, 32);
	chain_and(m, N, N, 0xffff);
	chain_mul(m, N, IR, N, 8);
	chain_op(m, RT_OP_TRY, N, N, 0, 0);
	chain_shr(m, N, N, IR_OPCODE);
	chain_and(m, N, N, 0xff);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, IR_COMPARES, L_ENDS_LOOP);
	chain_jump(m, L_NOT_SURE);
	chain_label(m, L_ENDS_LOOP);
	opcode(m, AT_INS, -4);
	chain_add(m, N, N, -OP_FORL);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, OP_LOOP - OP_FORL, L_ITS_LOOP);
	chain_jump(m, L_NOT_SURE);
	chain_label(m, L_ITS_LOOP);
	chain_add(m, NEXT_PC, AT_INS, 0);
	chain_label(m, L_SURE);
	chain_set(m, RT_CHAIN_SURE, 1);
	chain_label(m, L_NOT_SURE);
}

void luajit_sure(struct ChainMaker *m)
{
	chain_add(m, AT_INS, NEXT_PC, -4);
	chain_set(m, NO_LUA, 0);
	chain_op(m, RT_OP_TRY, N, TRACE, 0, LUAJIT_TRACE_SNAPS);
	chain_shr(m, N, N, 16);
	chain_and(m, N, N, 0xffff);
	chain_if(m, KEY, RT_OP_EQ, N, 0, L_LAST);
	next_snapshot(m);
	ahead(m);
	built_in(m);
	over(m);
	outcomes(m);
}
