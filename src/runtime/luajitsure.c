// Do the functions that a snapshot of LuaJIT's names hold up to the next snapshot? For the program of its chain (luajittrace.c). Input: the snapshot at hand (NEXT_PC, POS: its
// base), the next one's place (INS, number KEY), the trace; instructions of the program. Output: RT_CHAIN_SURE, and the line of a comparison or of a function that was left.
// A trace is what was run once, in order. So if the instructions from the snapshot's on lead to the next one's, in the same function and past no call and no return, the code
// between belongs to that function. Where a function is called or returns between the two, it does if that is the last thing (the next snapshot is at the function's first
// instruction, or behind the call). A function that returns first is left at once: what follows is its caller's. A loop's last snapshot is followed by its first.
// A comparison's snapshot has the place where the other outcome would go on; the next has where this one did. One of the trace's own instructions lies between the two, seldom
// three: if there are checks behind these it is no comparison's. Nor is a trace's first one.
// Where a trace collects garbage it has done nothing yet: that is at its begin, or its loop's.
// Invariant: all other is not sure. What is not seen: a place that is met twice between two snapshots, first without its own.
#define LUAJIT_PROGRAM
#include "runtime/internal.h"

enum {
	OP_EQUAL = 6, OP_COMPARES = 16, OP_MOV = 18, OP_UNM = 20, OP_KSTR = 39, OP_KNIL = 44, OP_UGET, OP_UCLO = 50, OP_GGET = 54, OP_TGETS = 57, OP_CALLM = 65, OP_CALLMT = 67, OP_ITERC = 69, OP_ITERN,
	OP_ISNEXT = 72, OP_RETM, OP_FORI = 77, OP_FORL = 79, OP_JFORL = 81, OP_ITERL, OP_JITERL = 84, OP_LOOP, OP_JLOOP = 87, OP_JMP, OP_FUNCF
};
enum { RETURNS_OF = 4, FORI_OF = 2, FUNCTIONS = 6 }; // how many kinds of it there are
enum { // of the trace's instructions: bits before type, check and opcode, opcodes, types
	IR_TYPE = 32, IR_CHECK = 39, IR_OPCODE, IR_COMPARES = 10, IR_NOP = 12, IR_LOOP = 17, IR_USE, IR_KGC = 24, IR_KNULL = 27, IR_KNUM, IR_KSLOT = 30, IR_CONVERTS = 85, IR_PROTOTYPE = 7, IR_FUNCTION
};
#define IR_NO_CODE 3 // from IR_USE on
#define IR_CONSTANTS_END 0x8000
#define TRACE_CONSTANTS 40 // the first one's number
#define TRACE_REPLACED 80  // the instruction in whose place the trace is
enum { TABLE_NODES = 40, TABLE_MASK = 48, NODE_KEY = 8, NODE_BYTES = 24 }; // the mask is the upper half
enum { CLOSURE_UPVALUES = 40, UPVALUE_VALUE = 32, UPVALUE_CLOSED = 0xff << 16, UPVALUE_NEVER_SET = 1 << 24, PROTOTYPE_NCODE = 12 - 104, PROTOTYPE_OBJECTS = 32 - 104, VALUE_FUNCTION = 0x1fff7, VALUE_CDATA = 0x1fff5, VALUE_TABLE = 0x1fff4, VALUE_USERDATA = 0x1fff3, USERDATA_LIBRARY = 2 };
// Numbers of functions that are built in: the first ones, up to those that call others (tostring, pcall), then coroutines, numbers, bits, texts, tables
enum { BUILT_IN_FIRST = 2, BUILT_IN_CALLS = 18, BUILT_IN_MORE = 30, BUILT_IN_END = 110 };
// At most
#define LOOKS 32	// instructions of the program
#define CALLS 64	// of them behind a call that are looked at for another
#define MOVES 8		// of them before a comparison
#define INSTRUCTIONS 64 // of the trace
#define COMPARES 3	// of them of a comparison
#define CONSTANTS 256	// words of constants
#define NODES 64	// of a table
#define MACHINE (1 << 20) // bytes of the machine's code
enum { SAME, CALLED, RETURNS }; // MODE: the next snapshot's function
#define AT_INS PROTO		// the instruction looked at, and then the next one
#define TO (X + 4)		// the next snapshot's
#define OTHER_BASE (X + 5)
#define LEFT (X + 6)
#define JUMP (X + 8)	// where WORD goes on if it jumps
#define MODE (X + 1)
#define END PREV	// the next snapshot's first instruction of the trace
#define COUNT CALLER	// instructions of the trace up to there that may be code
#define FAR JUMP	// one of them behind the first three is a check
#define MIXES END	// one of them converts or calls
#define COMPARED LINK	// the snapshot may be a comparison's
#define HAS_LUA FN	// the trace's constants may have functions in Lua, ...
#define OPERATORS STACK // ... may have metamethods
#define STILL COUNT	// only values were moved since the snapshot
#define FIELD TO	// number of the field's name among the prototype's objects, then the name
#define NODES_END OTHER_BASE
#define LOADED KEY	// the register and, from bit 8 on, the number of the upvalue that it was loaded with last
#define NO_REGISTER 0xffff00

// The opcode of the instruction at `at` + off into N, the whole of it into WORD.
static void opcode(struct ChainMaker *m, u32 at, s64 off)
{
	chain_op(m, RT_OP_TRY, WORD, at, 0, off);
	chain_and(m, N, WORD, 0xff);
}

// On at the label if register r is n or more; T is lost.
static void if_from(struct ChainMaker *m, u32 r, s64 n, u32 label)
{
	chain_set(m, T, n - 1);
	chain_if(m, T, RT_OP_LT, r, 0, label);
}

// Where the jump WORD leads, the instruction after which is at `next` + off, into JUMP.
static void jump_of(struct ChainMaker *m, u32 next, s64 off)
{
	chain_shr(m, JUMP, WORD, 16);
	chain_and(m, JUMP, JUMP, 0xffff);
	chain_mul(m, JUMP, next, JUMP, 4);
	chain_add(m, JUMP, JUMP, off - 4 * 0x8000);
}

// The trace's instructions from FN to END that may be code.
static void facts(struct ChainMaker *m)
{
	chain_set(m, COUNT, 0);
	chain_set(m, COMPARED, 0);
	chain_set(m, MODE, 0);
	chain_set(m, FAR, 0);
	chain_label(m, L_FACT);
	chain_if(m, FN, RT_OP_EQ, END, 0, L_FACTS);
	chain_if_is(m, COUNT, INSTRUCTIONS, L_MANY);
	chain_op(m, RT_OP_TRY, N, FN, 0, 0);
	chain_add(m, FN, FN, 8);
	chain_shr(m, WORD, N, IR_OPCODE);
	chain_and(m, WORD, WORD, 0xff);
	chain_if_is(m, WORD, IR_NOP, L_FACT);
	chain_add(m, T, WORD, -IR_USE);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, IR_NO_CODE, L_FACT);
	chain_add(m, COUNT, COUNT, 1);
	chain_if(m, WORD, RT_OP_LT, RT_CHAIN_ZERO, IR_CONVERTS, L_NO_MIX);
	chain_set(m, MODE, 1);
	chain_label(m, L_NO_MIX);
	chain_shr(m, N, N, IR_CHECK);
	chain_and(m, N, N, 1);
	chain_if_is(m, N, 0, L_FACT);
	chain_if(m, COUNT, RT_OP_LT, RT_CHAIN_ZERO, COMPARES + 1, L_NEAR);
	chain_set(m, FAR, 1);
	chain_jump(m, L_FACT);
	chain_label(m, L_NEAR);
	if_from(m, WORD, IR_COMPARES, L_FACT);
	chain_set(m, COMPARED, 1);
	chain_jump(m, L_FACT);
	chain_label(m, L_MANY);
	chain_set(m, MODE, 1);
	chain_label(m, L_FACTS);
	chain_add(m, MIXES, MODE, 0);
	chain_if_is(m, FAR, 0, L_NOT_FAR);
	chain_set(m, COMPARED, 0);
	chain_label(m, L_NOT_FAR);
}

// The next snapshot's place and base: it is at INS.
static void next_snapshot(struct ChainMaker *m)
{
	chain_op(m, RT_OP_TRY, TO, INS, 0, 0);
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
}

// The instruction in whose place a trace has put itself, as WORD and N: the trace keeps it.
static void replaced(struct ChainMaker *m, const struct RtLang *l)
{
	chain_if_is(m, N, OP_JFORL, L_REPLACED);
	chain_if_is(m, N, OP_JITERL, L_REPLACED);
	chain_if_not(m, N, OP_JLOOP, L_AS_IT_IS);
	chain_label(m, L_REPLACED);
	chain_op(m, RT_OP_NATIVE, T, 0, 0, R14);
	chain_op(m, RT_OP_TRY, T, T, 0, l->luajit.traces);
	chain_shr(m, WORD, WORD, 16);
	chain_and(m, WORD, WORD, 0xffff);
	chain_mul(m, T, T, WORD, 8);
	chain_op(m, RT_OP_TRY, T, T, 0, 0);
	chain_if_is(m, T, 0, L_ASIDE);
	opcode(m, T, TRACE_REPLACED);
	chain_label(m, L_AS_IT_IS);
}

// From instruction to instruction.
static void ahead(struct ChainMaker *m, const struct RtLang *l)
{
	chain_label(m, L_PLAIN);
	chain_set(m, LEFT, LOOKS);
	chain_set(m, STILL, 1);
	chain_label(m, L_MODE);
	chain_set(m, LOADED, NO_REGISTER);
	chain_set(m, MODE, SAME);
	chain_if(m, OTHER_BASE, RT_OP_EQ, POS, 0, L_AHEAD);
	chain_set(m, MODE, CALLED);
	chain_if(m, POS, RT_OP_LT, OTHER_BASE, 0, L_AHEAD);
	chain_set(m, MODE, RETURNS);
	chain_label(m, L_AHEAD);
	chain_if(m, AT_INS, RT_OP_EQ, NEXT_PC, -4, L_WITHIN); // if it is the next one's, too, something lies between
	chain_label(m, L_LOOK);
	chain_if_not(m, MODE, SAME, L_WITHIN);
	chain_if(m, AT_INS, RT_OP_EQ, TO, 0, L_SURE);
	chain_label(m, L_WITHIN);
	chain_add(m, LEFT, LEFT, -1);
	chain_if_is(m, LEFT, 0, L_ASIDE);
	opcode(m, AT_INS, 0);
	chain_add(m, AT_INS, AT_INS, 4);
	replaced(m, l);
	chain_if_is(m, OPERATORS, 0, L_NO_OPERATOR);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, OP_EQUAL, L_ASIDE);
	chain_add(m, T, N, -OP_UNM);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, OP_KSTR - OP_UNM, L_ASIDE);
	chain_add(m, T, N, -OP_GGET);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, OP_CALLM - OP_GGET, L_ASIDE);
	chain_label(m, L_NO_OPERATOR);
	jump_of(m, AT_INS, 0);
	chain_if_is(m, N, OP_JMP, L_JUMPS);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, OP_COMPARES, L_COMPARES);
	chain_if_is(m, N, OP_ITERC, L_ITERATES);
	chain_add(m, T, N, -OP_RETM);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, RETURNS_OF, L_LEAVES_IT);
	chain_add(m, T, N, -OP_CALLM);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, OP_ITERC - OP_CALLM, L_CALLS);
	chain_shr(m, WORD, WORD, 8);
	chain_if_is(m, N, OP_UGET, L_LOADS);
	chain_and(m, T, WORD, 0xff);
	chain_and(m, WORD, LOADED, 0xff);
	chain_if(m, T, RT_OP_NE, WORD, 0, L_KEEPS);
	chain_set(m, LOADED, NO_REGISTER);
	chain_label(m, L_KEEPS);
	chain_if_is(m, N, OP_MOV, L_LOOK);
	chain_add(m, T, N, -OP_KSTR);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, OP_KNIL - OP_KSTR, L_LOOK);
	chain_set(m, STILL, 0);
	chain_if_is(m, N, OP_UCLO, L_ASIDE);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, OP_KNIL, L_LOOK);
	chain_if_is(m, N, OP_KNIL, L_SETS_MANY);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, OP_ITERN, L_LOOK);
	chain_add(m, T, N, -OP_ITERL);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, OP_LOOP - OP_ITERL, L_REPEATS);
	chain_add(m, T, N, -OP_FORI);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, OP_LOOP - OP_FORI, L_EITHER);
	chain_if_is(m, N, OP_ISNEXT, L_ASIDE);
	if_from(m, N, OP_FUNCF, L_ASIDE);
	chain_label(m, L_SETS_MANY);
	chain_set(m, LOADED, NO_REGISTER);
	chain_jump(m, L_LOOK);
	chain_label(m, L_JUMPS); // a snapshot behind a jump would be the jump's: that is met once more later
	chain_add(m, AT_INS, JUMP, 0);
	chain_if(m, AT_INS, RT_OP_EQ, TO, 0, L_ASIDE);
	chain_jump(m, L_LOOK);
	chain_label(m, L_LOADS);
	chain_set(m, STILL, 0);
	chain_and(m, LOADED, WORD, 0xffffff);
	chain_jump(m, L_LOOK);
	chain_label(m, L_REPEATS); // the loop's body begins at the jump
	chain_if_not(m, MODE, SAME, L_NOT_SURE);
	chain_if(m, TO, RT_OP_LT, JUMP, 0, L_EITHER);
	chain_if(m, TO, RT_OP_LT, AT_INS, 0, L_JUMPS);
	chain_jump(m, L_LOOK);
	chain_label(m, L_COMPARES); // a jump follows
	opcode(m, AT_INS, 0);
	chain_add(m, AT_INS, AT_INS, 4);
	jump_of(m, AT_INS, 0);
	chain_label(m, L_EITHER);
	chain_if_not(m, MODE, SAME, L_NOT_SURE);
	chain_if(m, AT_INS, RT_OP_EQ, TO, 0, L_SURE);
	chain_if(m, JUMP, RT_OP_EQ, TO, 0, L_SURE);
	chain_jump(m, L_ASIDE);
}

// A function that returns first is left.
static void leave(struct ChainMaker *m)
{
	chain_label(m, L_LEAVES_IT);
	chain_if_is(m, STILL, 0, L_RETURNS_LAST);
	chain_if_is(m, POS, 0, L_RETURNS_LAST);
	luajit_link(m, LINK, L_LEFT_SLOT, L_NOT_SURE);
	chain_and(m, T, LINK, 3);
	chain_if_not(m, T, 0, L_NOT_SURE);
	opcode(m, LINK, -4);
	chain_shr(m, WORD, WORD, 8);
	chain_and(m, WORD, WORD, 0xff);
	chain_if(m, POS, RT_OP_LT, WORD, 2, L_NOT_SURE);
	chain_mul(m, POS, POS, WORD, -1);
	chain_add(m, POS, POS, -2);
	chain_mul(m, AT, OUTER, POS, 8);
	chain_add(m, NEXT_PC, LINK, 0);
	chain_add(m, AT_INS, LINK, 0);
	chain_jump(m, L_MODE);
}

// The next snapshot is at the function's first instruction, or is its comparison's, before which values were moved only: the comparison must have converted nothing.
static void at_its_begin(struct ChainMaker *m)
{
	chain_add(m, LINK, TO, 0);
	opcode(m, LINK, -4);
	chain_if_not(m, N, OP_JMP, L_FIRST_OF_IT);
	chain_if_not(m, MIXES, 0, L_NOT_SURE);
	opcode(m, LINK, -8);
	if_from(m, N, OP_COMPARES, L_NOT_SURE);
	chain_add(m, LINK, LINK, -4);
	chain_set(m, LEFT, MOVES);
	chain_label(m, L_MOVED);
	chain_add(m, LINK, LINK, -4);
	chain_add(m, LEFT, LEFT, -1);
	chain_if_is(m, LEFT, 0, L_NOT_SURE);
	opcode(m, LINK, -4);
	chain_if_is(m, N, OP_MOV, L_MOVED);
	chain_add(m, T, N, -OP_KSTR);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, OP_KNIL - OP_KSTR, L_MOVED);
	chain_label(m, L_FIRST_OF_IT);
	chain_add(m, N, N, -OP_FUNCF);
	if_from(m, N, FUNCTIONS, L_NOT_SURE);
}

// A call or a return as the last thing before the next snapshot. A function's frame begins two words behind the register that it is called by. There must not be another call
// by that register that the first one may have returned to.
static void over(struct ChainMaker *m)
{
	chain_label(m, L_CALLS);
	chain_if_is(m, MODE, SAME, L_BUILT_IN);
	chain_if_not(m, MODE, CALLED, L_NOT_SURE);
	at_its_begin(m);
	opcode(m, AT_INS, -4);
	chain_shr(m, JUMP, WORD, 8);
	chain_and(m, JUMP, JUMP, 0xff);
	chain_mul(m, N, POS, JUMP, 1);
	chain_if(m, OTHER_BASE, RT_OP_NE, N, 2, L_NOT_SURE);
	chain_set(m, LEFT, CALLS);
	chain_label(m, L_ONLY);
	chain_if_is(m, LEFT, 0, L_SURE);
	chain_add(m, LEFT, LEFT, -1);
	opcode(m, AT_INS, 0);
	chain_add(m, AT_INS, AT_INS, 4);
	chain_add(m, N, N, -OP_CALLM);
	if_from(m, N, (OP_ITERN - OP_CALLM), L_ONLY);
	chain_shr(m, WORD, WORD, 8);
	chain_and(m, WORD, WORD, 0xff);
	chain_if(m, WORD, RT_OP_NE, JUMP, 0, L_ONLY);
	chain_jump(m, L_NOT_SURE);
	chain_label(m, L_RETURNS_LAST);
	chain_if_not(m, MODE, RETURNS, L_ASIDE);
	luajit_link(m, LINK, L_LINK_TO_SLOT, L_NOT_SURE);
	chain_if(m, LINK, RT_OP_EQ, TO, 0, L_SURE);
	chain_jump(m, L_NOT_SURE);
}

// Is what is called without a snapshot built in, and calls no other function? An upvalue that never changes, or what a loop's slot holds at the snapshot.
static void callee(struct ChainMaker *m)
{
	chain_label(m, L_ITERATES);
	chain_if_not(m, MODE, SAME, L_NOT_SURE);
	chain_if_is(m, STILL, 0, L_ASIDE);
	chain_shr(m, WORD, WORD, 8);
	chain_and(m, WORD, WORD, 0xff);
	chain_mul(m, LOADED, POS, WORD, 1);
	chain_add(m, LOADED, LOADED, -1); // three registers before, and two words of the frame
	chain_add(m, WORD, ON, 0);
	luajit_slot(m, LINK, LOADED, WORD, L_ITER_SLOT, L_ITER_STACK);
	chain_jump(m, L_CALLEE);
	chain_label(m, L_ITER_STACK);
	chain_mul(m, LINK, OUTER, LOADED, 8);
	chain_op(m, RT_OP_TRY, LINK, LINK, 0, -16);
	chain_jump(m, L_CALLEE);
	chain_label(m, L_BUILT_IN);
	if_from(m, N, OP_CALLMT, L_ASIDE);
	chain_if_is(m, LOADED, NO_REGISTER, L_ASIDE);
	chain_shr(m, WORD, WORD, 8);
	chain_and(m, WORD, WORD, 0xff);
	chain_and(m, T, LOADED, 0xff);
	chain_if(m, T, RT_OP_NE, WORD, 0, L_ASIDE);
	chain_shr(m, JUMP, LOADED, 8);
	chain_and(m, JUMP, JUMP, 0xffff);
	chain_add(m, WORD, ON, 0);
	luajit_slot(m, LINK, POS, WORD, L_ITS_SLOT, L_ITS_STACK);
	chain_jump(m, L_CLOSURE);
	chain_label(m, L_ITS_STACK);
	chain_if_not(m, POS, 0, L_ASIDE);
	chain_op(m, RT_OP_TRY, LINK, AT, 0, -16);
	chain_label(m, L_CLOSURE);
	luajit_pointer(m, LINK);
	chain_op(m, RT_OP_TRY, T, LINK, 0, FUNCTION_PC);
	chain_mul(m, N, AT_INS, T, -1);
	chain_shr(m, N, N, 2);
	chain_op(m, RT_OP_TRY, T, T, 0, PROTOTYPE_NCODE);
	chain_low_bits(m, T);
	chain_if(m, T, RT_OP_LT, N, 0, L_ASIDE); // another function's
	chain_mul(m, LINK, LINK, JUMP, 8);
	chain_op(m, RT_OP_TRY, LINK, LINK, 0, CLOSURE_UPVALUES);
	chain_op(m, RT_OP_TRY, N, LINK, 0, 8);
	chain_op(m, RT_OP_TRY, LINK, LINK, 0, UPVALUE_VALUE);
	chain_and(m, T, N, UPVALUE_NEVER_SET);
	chain_if_is(m, T, 0, L_ASIDE);
	chain_and(m, T, N, UPVALUE_CLOSED);
	chain_if_not(m, T, 0, L_CLOSED);
	chain_if(m, OUTER, RT_OP_LT, LINK, 0, L_ASIDE); // on the stack, where the trace may not have put it
	chain_label(m, L_CLOSED);
	chain_op(m, RT_OP_TRY, LINK, LINK, 0, 0);
	chain_label(m, L_CALLEE);
	chain_shr(m, T, LINK, 47);
	chain_if_not(m, T, VALUE_FUNCTION, L_ASIDE);
	luajit_pointer(m, LINK);
	chain_op(m, RT_OP_TRY, N, LINK, 0, 8);
	chain_shr(m, N, N, 16);
	chain_and(m, N, N, 0xff);
	chain_set(m, LOADED, NO_REGISTER);
	chain_set(m, STILL, 0);
	chain_add(m, T, N, -BUILT_IN_FIRST);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, BUILT_IN_CALLS - BUILT_IN_FIRST, L_LOOK);
	chain_add(m, T, N, -BUILT_IN_MORE);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, BUILT_IN_END - BUILT_IN_MORE, L_LOOK);
	chain_jump(m, L_ASIDE);
}

// LINK: a table; the value of its field FIELD (a text's address) into LINK, its kind into T.
static void field_of(struct ChainMaker *m)
{
	chain_if_not(m, T, VALUE_TABLE, L_NOT_SURE);
	luajit_pointer(m, LINK);
	chain_op(m, RT_OP_TRY, N, LINK, 0, TABLE_NODES);
	chain_op(m, RT_OP_TRY, WORD, LINK, 0, TABLE_MASK);
	chain_shr(m, WORD, WORD, 32);
	chain_mul(m, NODES_END, N, WORD, NODE_BYTES);
	chain_add(m, NODES_END, NODES_END, NODE_BYTES);
	chain_set(m, LEFT, NODES);
	chain_label(m, L_FFI_NODE);
	chain_if(m, N, RT_OP_EQ, NODES_END, 0, L_NOT_SURE);
	chain_if_is(m, LEFT, 0, L_NOT_SURE);
	chain_add(m, LEFT, LEFT, -1);
	chain_op(m, RT_OP_TRY, T, N, 0, NODE_KEY);
	chain_add(m, N, N, NODE_BYTES);
	luajit_pointer(m, T);
	chain_if(m, T, RT_OP_NE, FIELD, 0, L_FFI_NODE);
	chain_op(m, RT_OP_TRY, LINK, N, 0, -NODE_BYTES);
	chain_shr(m, T, LINK, 47);
}

// The snapshot is taken behind a call by FFI: was it this function's, whose last call is then one of C? An upvalue, or a field of one that is a library, or of a library that is a field of
// one (ffi.C.getpid()).
static void ffi(struct ChainMaker *m)
{
	chain_label(m, L_FFI);
	chain_set(m, LEFT, MOVES);
	opcode(m, AT_INS, 0);
	chain_add(m, N, N, -OP_CALLM);
	if_from(m, N, OP_CALLMT - OP_CALLM, L_NOT_SURE);
	chain_shr(m, JUMP, WORD, 8);
	chain_and(m, JUMP, JUMP, 0xff);
	chain_set(m, MODE, 0);
	chain_label(m, L_FFI_BACK);
	chain_add(m, LEFT, LEFT, -1);
	chain_if_is(m, LEFT, 0, L_NOT_SURE);
	chain_add(m, AT_INS, AT_INS, -4);
	opcode(m, AT_INS, 0);
	chain_if(m, N, RT_OP_LT, RT_CHAIN_ZERO, OP_COMPARES, L_NOT_SURE);
	chain_if_is(m, N, OP_JMP, L_NOT_SURE);
	chain_shr(m, T, WORD, 8);
	chain_and(m, T, T, 0xff);
	chain_if(m, T, RT_OP_NE, JUMP, 0, L_FFI_BACK);
	chain_if_is(m, N, OP_UGET, L_FFI_UPVALUE);
	chain_if_not(m, N, OP_TGETS, L_NOT_SURE);
	chain_if_is(m, MODE, 2, L_NOT_SURE);
	chain_add(m, MODE, MODE, 1);
	chain_shr(m, FIELD, WORD, 16);
	chain_and(m, FIELD, FIELD, 0xff);
	chain_shr(m, JUMP, WORD, 24);
	chain_and(m, JUMP, JUMP, 0xff);
	chain_jump(m, L_FFI_BACK);
	chain_label(m, L_FFI_UPVALUE);
	chain_shr(m, JUMP, WORD, 16);
	chain_and(m, JUMP, JUMP, 0xffff);
	chain_add(m, WORD, ON, 0);
	luajit_slot(m, LINK, POS, WORD, L_FFI_SLOT, L_NOT_SURE);
	luajit_pointer(m, LINK);
	chain_op(m, RT_OP_TRY, INS, LINK, 0, FUNCTION_PC);
	chain_op(m, RT_OP_TRY, INS, INS, 0, PROTOTYPE_OBJECTS);
	chain_mul(m, INS, INS, FIELD, -8);
	chain_op(m, RT_OP_TRY, FIELD, INS, 0, -8);
	chain_mul(m, LINK, LINK, JUMP, 8);
	chain_op(m, RT_OP_TRY, LINK, LINK, 0, CLOSURE_UPVALUES);
	chain_op(m, RT_OP_TRY, LINK, LINK, 0, UPVALUE_VALUE);
	chain_op(m, RT_OP_TRY, LINK, LINK, 0, 0);
	chain_shr(m, T, LINK, 47);
	chain_if_not(m, MODE, 0, L_FFI_LIBRARY);
	chain_if_is(m, T, VALUE_CDATA, L_SURE);
	chain_jump(m, L_NOT_SURE);
	chain_label(m, L_FFI_LIBRARY);
	chain_if_is(m, MODE, 1, L_FFI_FIELD);
	field_of(m);
	chain_label(m, L_FFI_FIELD);
	chain_if_not(m, T, VALUE_USERDATA, L_NOT_SURE);
	luajit_pointer(m, LINK);
	chain_op(m, RT_OP_TRY, T, LINK, 0, 8);
	chain_shr(m, T, T, 16);
	chain_and(m, T, T, 0xff);
	chain_if_is(m, T, USERDATA_LIBRARY, L_SURE);
	chain_jump(m, L_NOT_SURE);
}

// The trace's constants: functions in Lua and their prototypes, since it checks whom it calls (HAS_LUA: it has some); and where a metamethod goes on: in the machine's code,
// where its first instruction's is, too (OPERATORS: there may be such).
static void constants(struct ChainMaker *m)
{
	chain_set(m, HAS_LUA, 1);
	chain_set(m, OPERATORS, 1);
	chain_op(m, RT_OP_TRY, INS, TRACE, 0, TRACE_CONSTANTS);
	chain_low_bits(m, INS);
	chain_if(m, INS, RT_OP_LT, RT_CHAIN_ZERO, IR_CONSTANTS_END - CONSTANTS, L_CONSTANTS_END);
	chain_set(m, HAS_LUA, 0);
	chain_set(m, OPERATORS, 0);
	chain_mul(m, INS, IR, INS, 8);
	chain_add(m, WORD, IR, 8 * IR_CONSTANTS_END);
	chain_set(m, LEFT, 2 * MACHINE - 1);
	chain_op(m, RT_OP_NATIVE, AT_INS, 0, 0, R14);
	chain_op(m, RT_OP_TRY, AT_INS, AT_INS, 0, 0);
	chain_label(m, L_CONSTANTS);
	chain_if(m, INS, RT_OP_LT, WORD, 0, L_ANOTHER);
	chain_jump(m, L_CONSTANTS_END);
	chain_label(m, L_ANOTHER);
	chain_op(m, RT_OP_TRY, N, INS, 0, 0);
	chain_add(m, INS, INS, 8);
	chain_shr(m, JUMP, N, IR_OPCODE);
	chain_and(m, JUMP, JUMP, 0xff);
	chain_if(m, JUMP, RT_OP_LT, RT_CHAIN_ZERO, IR_KGC, L_CONSTANTS); // of one word
	chain_if_is(m, JUMP, IR_KNULL, L_CONSTANTS);
	chain_if(m, JUMP, RT_OP_LT, RT_CHAIN_ZERO, IR_KSLOT, L_TWO_WORDS);
	chain_jump(m, L_CONSTANTS);
	chain_label(m, L_TWO_WORDS);
	chain_op(m, RT_OP_TRY, T, INS, 0, 0);
	chain_add(m, INS, INS, 8);
	chain_if_is(m, JUMP, IR_KGC, L_OBJECT);
	chain_if(m, JUMP, RT_OP_LT, RT_CHAIN_ZERO, IR_KNUM, L_CONSTANTS);
	chain_mul(m, T, T, AT_INS, -1);
	chain_add(m, T, T, MACHINE);
	chain_if(m, LEFT, RT_OP_LT, T, 0, L_CONSTANTS);
	chain_set(m, OPERATORS, 1);
	chain_jump(m, L_CONSTANTS);
	chain_label(m, L_OBJECT);
	chain_shr(m, N, N, IR_TYPE);
	chain_and(m, N, N, 31);
	chain_if_is(m, N, IR_PROTOTYPE, L_LUA);
	chain_if_not(m, N, IR_FUNCTION, L_CONSTANTS);
	chain_op(m, RT_OP_TRY, N, T, 0, 8);
	chain_shr(m, N, N, 16);
	chain_and(m, N, N, 0xff);
	chain_if_not(m, N, 0, L_CONSTANTS);
	chain_label(m, L_LUA);
	chain_set(m, HAS_LUA, 1);
	chain_jump(m, L_CONSTANTS);
	chain_label(m, L_CONSTANTS_END);
}

// The jump of a comparison or a loop's begin, in front of `at`, into JUMP; at L_ASIDE or `none` if there is none.
static void outcome(struct ChainMaker *m, u32 at, u32 there, u32 none)
{
	opcode(m, at, -4);
	jump_of(m, at, 0);
	chain_add(m, T, N, -OP_FORI);
	chain_if(m, T, RT_OP_LT, RT_CHAIN_ZERO, FORI_OF, there);
	chain_if_not(m, N, OP_JMP, none);
	chain_op(m, RT_OP_TRY, N, at, 0, -8);
	chain_and(m, N, N, 0xff);
	if_from(m, N, OP_COMPARES, none);
	chain_label(m, there);
}

// The two outcomes of a comparison: in front of one is the jump to the other.
static void outcomes(struct ChainMaker *m)
{
	chain_if_is(m, COMPARED, 0, L_PLAIN);
	chain_if(m, OTHER_BASE, RT_OP_NE, POS, 0, L_NOT_SURE);
	if_from(m, COUNT, COMPARES + 1, L_ASIDE);
	chain_add(m, AT_INS, NEXT_PC, -4);
	outcome(m, TO, L_OUTCOME, L_BEFORE);
	chain_if(m, JUMP, RT_OP_NE, AT_INS, 0, L_BEFORE);
	chain_add(m, NEXT_PC, TO, 0);
	chain_jump(m, L_SURE);
	chain_label(m, L_BEFORE);
	outcome(m, AT_INS, L_OUTCOMES, L_ASIDE);
	chain_if(m, JUMP, RT_OP_NE, TO, 0, L_ASIDE);
	chain_add(m, NEXT_PC, AT_INS, 0);
	chain_jump(m, L_SURE);
}

// The trace's last snapshot: nothing follows but the way to another trace, or its loop, which ends with a comparison perhaps.
static void last(struct ChainMaker *m)
{
	chain_op(m, RT_OP_TRY, T, TRACE, 0, LUAJIT_TRACE_LOOP);
	chain_low_bits(m, T);
	chain_if_is(m, T, 0, L_NOT_SURE);
	chain_if_is(m, COMPARED, 0, L_MORE);
	if_from(m, COUNT, COMPARES + 1, L_MORE);
	opcode(m, AT_INS, -4);
	chain_add(m, N, N, -OP_FORL);
	if_from(m, N, (OP_LOOP - OP_FORL), L_MORE);
	chain_add(m, NEXT_PC, AT_INS, 0);
	chain_jump(m, L_SURE);
}

void luajit_sure(struct ChainMaker *m, const struct RtLang *l)
{
	chain_if_not(m, TAIL, 0, L_NOT_SURE);
	chain_add(m, AT_INS, NEXT_PC, -4);
	chain_if_is(m, AT_BEGIN, BEHIND_CALL, L_FFI);
	chain_op(m, RT_OP_TRY, N, INS, 0, -LUAJIT_SNAP_SIZE);
	chain_shr(m, N, N, 32);
	chain_and(m, N, N, 0xffff);
	chain_mul(m, FN, IR, N, 8);
	chain_if_is(m, AT_BEGIN, 0, L_RUNS);
	chain_if_is(m, KEY, 1, L_SURE);
	chain_op(m, RT_OP_TRY, N, FN, 0, 0);
	chain_shr(m, N, N, IR_OPCODE);
	chain_and(m, N, N, 0xff);
	chain_if_is(m, N, IR_LOOP, L_SURE);
	chain_label(m, L_RUNS);
	chain_op(m, RT_OP_TRY, WORD, TRACE, 0, LUAJIT_TRACE_SNAPS);
	chain_shr(m, LEFT, WORD, 16);
	chain_and(m, LEFT, LEFT, 0xffff);
	chain_shr(m, END, WORD, 32);
	chain_if(m, KEY, RT_OP_EQ, LEFT, 0, L_LAST);
	chain_op(m, RT_OP_TRY, END, INS, 0, 0);
	chain_shr(m, END, END, 32);
	chain_and(m, END, END, 0xffff);
	chain_jump(m, L_BOTH);
	chain_label(m, L_LAST);
	chain_op(m, RT_OP_TRY, INS, TRACE, 0, LUAJIT_TRACE_SNAP);
	chain_label(m, L_BOTH);
	chain_mul(m, END, IR, END, 8);
	facts(m);
	chain_if_is(m, COUNT, 0, L_SURE);
	chain_if(m, KEY, RT_OP_NE, LEFT, 0, L_MORE);
	last(m);
	chain_label(m, L_MORE);
	next_snapshot(m);
	constants(m);
	chain_add(m, AT_INS, NEXT_PC, -4);
	chain_if_is(m, KEY, 1, L_PLAIN);
	outcomes(m);
	ahead(m, l);
	leave(m);
	over(m);
	callee(m);
	ffi(m);
	chain_label(m, L_ASIDE); // no other function in Lua may be at work
	chain_if(m, OTHER_BASE, RT_OP_NE, POS, 0, L_NOT_SURE);
	chain_if_not(m, HAS_LUA, 0, L_NOT_SURE);
	chain_label(m, L_SURE);
	chain_set(m, RT_CHAIN_SURE, 1);
	chain_label(m, L_NOT_SURE);
}
