// Private to this folder: writing the program by which the kernel side follows an interpreter's chain of frames (bpfrt/chain.bpf.c). In: operations in order, jumps to labels.
// Out: struct RtChain.
#ifndef SONDE_RUNTIME_INTERNAL_H
#define SONDE_RUNTIME_INTERNAL_H
#include "runtime/runtime.h"

// ---- v8.c, for v8bare.c
void v8_code_name(const struct RtCode *c, struct Str *out);
void v8_compiled(u32 version, struct RtV8 *v); // compiled code of that version (major << 8 | minor) is followed as v says; v's own fields are known

#define CHAIN_LABELS 192
enum ChainLabel { CHAIN_STEP, CHAIN_COPY, CHAIN_LOST, CHAIN_AGAIN, CHAIN_OWN }; // where the parts begin; the end of the program; a runtime's own from CHAIN_OWN on
struct ChainMaker {
	struct RtChain c;
	u32 n;
	u16 label[CHAIN_LABELS];
	bool bad; // it has no room
};

void chain_op(struct ChainMaker *m, enum RtOpCode op, u32 dst, u32 src, u32 arg, s64 imm);
void chain_label(struct ChainMaker *m, u32 label); // it is here
bool chain_end(struct ChainMaker *m, struct RtChain *out); // false: it does not fit

// Registers are named by the runtime. n bytes at `at` + off into dst and those after it.
static inline void chain_load(struct ChainMaker *m, u32 dst, u32 at, s64 off, u32 n)
{
	chain_op(m, RT_OP_LOAD, dst, at, n, off);
}

static inline void chain_add(struct ChainMaker *m, u32 dst, u32 a, s64 n)
{
	chain_op(m, RT_OP_ADD, dst, a, 0, n);
}
static inline void chain_swap(struct ChainMaker *m, u32 a, u32 b, u32 by) // by is lost
{
	chain_add(m, by, a, 0);
	chain_add(m, a, b, 0);
	chain_add(m, b, by, 0);
}

static inline void chain_set(struct ChainMaker *m, u32 dst, s64 n)
{
	chain_op(m, RT_OP_ADD, dst, RT_CHAIN_ZERO, 0, n);
}

static inline void chain_mul(struct ChainMaker *m, u32 dst, u32 a, u32 b, s64 n) // a + b * n
{
	chain_op(m, RT_OP_MUL, dst, a, b, n);
}

static inline void chain_and(struct ChainMaker *m, u32 dst, u32 a, s64 mask)
{
	chain_op(m, RT_OP_AND, dst, a, 0, mask);
}

static inline void chain_shr(struct ChainMaker *m, u32 dst, u32 a, u32 n)
{
	chain_op(m, RT_OP_SHR, dst, a, 0, n);
}

static inline void chain_low_bits(struct ChainMaker *m, u32 r) // of a number of 32 bits, behind which others lie; a negative one becomes a large one
{
	chain_and(m, r, r, 0x7fffffff);
}

static inline void chain_if(struct ChainMaker *m, u32 a, enum RtOpCode how, u32 b, s64 plus, u32 label) // a == b + plus: on at the label
{
	chain_op(m, how, b, a, label, plus);
}

static inline void chain_if_is(struct ChainMaker *m, u32 a, s64 n, u32 label)
{
	chain_if(m, a, RT_OP_EQ, RT_CHAIN_ZERO, n, label);
}

static inline void chain_if_not(struct ChainMaker *m, u32 a, s64 n, u32 label)
{
	chain_if(m, a, RT_OP_NE, RT_CHAIN_ZERO, n, label);
}

static inline void chain_jump(struct ChainMaker *m, u32 label)
{
	chain_if_is(m, RT_CHAIN_ZERO, 0, label);
}

static inline void chain_frame(struct ChainMaker *m, u32 code, u32 ident, u32 pos)
{
	chain_op(m, RT_OP_FRAME, ident, code, pos, 0);
}

static inline void chain_text(struct ChainMaker *m, enum RtChainText what, u32 at, u32 n)
{
	chain_op(m, RT_OP_TEXT, at, n, 0, what);
}

static inline void chain_cstr(struct ChainMaker *m, enum RtChainText what, u32 at)
{
	chain_op(m, RT_OP_CSTR, at, 0, 0, what);
}

static inline void chain_first_line(struct ChainMaker *m, u32 line)
{
	chain_op(m, RT_OP_SET, 0, line, 0, RT_CHAIN_FIRST_LINE);
}

static inline void chain_lines_kind(struct ChainMaker *m, u32 kind)
{
	chain_op(m, RT_OP_SET, 0, kind, 0, RT_CHAIN_LINES_KIND);
}

static inline void chain_copied(struct ChainMaker *m)
{
	chain_op(m, RT_OP_COPIED, 0, 0, 0, 0);
}

static inline void chain_ready(struct ChainMaker *m, u32 label)
{
	chain_op(m, RT_OP_READY, 0, 0, label, 0);
}

// The same; the frames come before the native one at hand, and take no one's place.
static inline void chain_ready_before(struct ChainMaker *m, u32 label)
{
	chain_op(m, RT_OP_READY, 0, 0, label, 1);
}

static inline void chain_lost(struct ChainMaker *m)
{
	chain_op(m, RT_OP_LOST, 0, 0, 0, 0);
}

// What the thread has under the key (pthread_key_create(3)) whose number is in `key`, into dst; by and key are lost, label is one that nobody else has. 0: nothing.
void chain_thread_value(struct ChainMaker *m, bool musl, u32 dst, u32 key, u32 by, u32 label);
// The word at `offset` of the thread's variables of module `module`, both in registers, into dst; module is lost.
void chain_thread_variable(struct ChainMaker *m, bool musl, u32 dst, u32 module, u32 offset);

// ---- pyself.c: what CPython 3.13 and 3.14 say of themselves. words: of _Py_DebugOffsets, so many as python_described_words() (0: of that version none);
// version: major << 8 | minor. False: it makes no sense, py is as it was.
u32 python_described_words(u32 version);
bool python_described(const u64 *words, u32 version, bool free_threaded, struct RtPython *py);

// ---- texts.c: n bytes, characters of `width` bytes each (0: ASCII); bytes that are UTF-8, where they are well-formed; the code's file of such
void runtime_add_text(struct Str *out, const u8 *p, u32 n, u32 width);
void runtime_add_bytes(struct Str *out, const u8 *p, u32 n);
void runtime_file_bytes(const struct RtCode *c, struct Str *out);

// ---- scripts.c: lines of scripts of JavaScript
struct Scripts;
struct Scripts *scripts_create(void);
void scripts_destroy(struct Scripts *s);
bool scripts_wants(struct Scripts *s, const struct RtCode *c, struct RtScriptAt *at);
struct ScriptLines {
	VEC(u32) starts; // of each line but the first
	bool cr; // the last character was one
	bool large; // it has more than are kept
};
bool scripts_read(const struct RtCode *c, const struct JavaMemory *m, const struct RtV8 *v, struct ScriptLines *l); // false: not to be had now. l is the caller's either way
void scripts_add(struct Scripts *s, const struct RtCode *c, struct ScriptLines *l); // takes what it keeps
u32 scripts_line(struct Scripts *s, const struct RtCode *c, u32 pos);

// Linked with musl's libc, whose threads keep their values and variables elsewhere than glibc's: added to what the version is called.
bool runtime_of_musl(const struct ElfFile *f, struct Str *version);

// ---- cold.c: where the function at an address ends; false: there is none, or it is not known
bool runtime_function(struct ElfFile *f, u64 addr, u64 *end);
// The part of the function lo..hi that the compiler has put elsewhere, told by where its jumps lead. False: none is known.
bool runtime_hole(struct ElfFile *f, u64 least, u64 *lo, u64 *hi); // the largest piece of code without unwind information, of more than `least` bytes
bool runtime_cold_part(struct ElfFile *f, u64 lo, u64 hi, u64 *cold, u64 *cold_end);
// The largest of the functions that the one at `from` calls, and that those call, in so many steps. False: it calls none.
bool runtime_largest_called(struct ElfFile *f, u64 from, u32 steps, u64 *lo, u64 *hi);
// The function that the one at `from` calls behind its beginning, as code in assembly with one piece of unwind information is. False: there is none.
bool runtime_entered(struct ElfFile *f, u64 from, u64 *lo, u64 *hi);
// The function with the most jumps to where the interpreted program says (threaded code). False: none has many.
bool runtime_threaded_loop(struct ElfFile *f, u64 *lo, u64 *hi);

// ---- lua.c, luarows.c, luachain.c, luacode.c: what differs between versions of Lua, and the bits that a copied function comes with
// Offsets are of 64-bit machines: bytes, of what is loaded together words from its beginning on.
struct LuaRow {
	u32 version; // major << 8 | minor
	u8 thread_g; // lua_State: global state, then the innermost call
	u8 ci_bytes, ci_func, ci_prev, ci_pc, ci_status, ci_shift; // CallInfo; ci_prev 0: the one before lies before it
	u8 is_lua, lua_value; // status: of functions in Lua these bits are that
	u8 fresh, tail, finalizer; // status: the first of its loop; called in the place of another; runs one (0: there is no such bit)
	u8 closure; // of a function its code: Lua's or C's
	u8 proto, proto_bytes; // from there on are:
	u8 k, code, lines, locals, upvalues, source, line, line_shift, pair; // pair: two words that are not needed when names are looked for
	u8 ncode, nlines, nlocals; // bytes from the proto's beginning
	u8 upvalue; // bytes of one
	// instructions
	u8 op_bits, b, c, wide; // b, c: where they begin; wide: bits of b and c
	u8 move, getupval, getglobal, gettabup, gettable, getfield, self, call, tailcall, jmp, jmp_at, eq, extra; // LUA_NONE: there is none
	u32 jmp_zero; // that much is 0
};
#define LUA_ROW_51 0
#define LUA_ROW_53 1
#define LUA_ROW_54 2
#define LUA_ROWS 3
#define LUA_NONE 0xff // such an instruction it has not
extern const struct LuaRow lua_rows[LUA_ROWS]; // luarows.c

// RtCode.lines_kind
#define LUA_CALLED 0x1ff // by which instruction of its caller, + 1; 0: by a call, or by nothing
#define LUA_CALLED_EVENT 256 // by which event + 256
#define LUA_EVENT_GC 2 // as Lua numbers them
#define LUA_ROW_AT 9 // two bits: its version
#define LUA_C 0x4000
#define LUA_TEXT 0x8000 // its file is the beginning of its source
#define LUA_SHOWN 45 // bytes of that

bool lua_chain(const struct RtLang *l, struct RtChain *out);
#ifdef LUA_PROGRAM // luachain.c, luacode.c: registers and labels of their program
#define IS_51(r) (!(r)->ci_prev)
#define TYPE 8		     // of an object
enum { // registers; X: words of a call, of a prototype
	T, N, L, AT, OTHER, OTHER_AT, VM, VM_CALL, VM_NEXT, ON, SEEN, X, FUNC = X + 11, PREV, PC, STATUS, KEY, POS, CALLER
}; // all but T and N are 0 first
_Static_assert(T == (int)RT_CHAIN_ROOT && N == (int)RT_CHAIN_ROOT2 && CALLER < (int)RT_CHAIN_NEXT, "registers");
enum { ON_DRAIN = 2, ON_REST }; // calls of the thread before that have no loop; of the one at hand
enum {
	L_READY = CHAIN_OWN, L_BACK, L_SAME, L_NEW, L_KEEP, L_SEARCH, L_LOOK, L_NOT, L_FOUND, L_NONE, L_CALL, L_CALLER, L_NOT_OWN, L_INNER, L_ENDS, L_REST,
	L_MID, L_NAMED, L_STORED, L_BEGUN, L_PLACE, L_TAKE, L_C, L_CLOSURE, L_NAME, L_CALLED, L_EVENT, L_LENGTH, L_PATH, L_TEXT, L_NO_FILE, L_NO_ABS, L_NO_LINES, L_DONE,
	L_SCAN_BEGIN, L_SCAN, L_JUMP, L_SCANNED, L_SETS, L_LOCAL, L_LOCALS, L_UPVALUE, L_TABLE, L_GLOBAL, L_SELF, L_CONSTANT, L_STRING, L_LEAF, L_HAVE_THREAD, L_THREAD, L_LEFT_OVER, L_OWN,
	L_OUTWARDS, L_OUTERMOST, L_NOWHERE, L_NOT_OTHER, L_AT_LOOP,
	L_SPILL // RT_LUA_SPILLS
};
_Static_assert(L_SPILL + RT_LUA_SPILLS <= CHAIN_LABELS, "labels");
void lua_code(struct ChainMaker *m, const struct LuaRow *r, u32 row); // the part of the program that copies a code
#endif
void lua_source(const struct RtCode *c, bool text, struct Str *out); // what a function's file is called; text: it is the beginning of its source

// ---- luajit.c, luajitchain.c
#define LUAJIT_TRACE_MCODE 88 // bytes; of a trace
// RtCode.lines_kind
#define LUAJIT_CALLED 0xff // the instruction that calls it, + 1
#define LUAJIT_IN_C 0x4000
#define LUAJIT_TEXT 0x8000 // its file is the beginning of its source
bool luajit_chain(const struct RtLang *l, struct RtChain *out);
#ifdef LUAJIT_PROGRAM // luajitchain.c, luajittrace.c: registers and labels of their program, whose names are too short for others
enum { // registers; X: of a prototype its constants, from X + 4 on words from 64 on
	T, N, L, AT, OTHER, OTHER_AT, VM, NEXT_PC, ON, FN, LINK, PREV, CALLER, X, PROTO = X + 9, KEY, POS, INS, SLOT, STACK
};
_Static_assert(T == (int)RT_CHAIN_ROOT && N == (int)RT_CHAIN_ROOT2 && STACK < (int)RT_CHAIN_SURE && LINK == FN + 1, "registers");
#define K X
#define TRACE X
enum { LUAJIT_TRACE_SNAPS = 8, LUAJIT_TRACE_SNAP = 48, LUAJIT_TRACE_MAP = 56, LUAJIT_TRACE_LOOP = 96 }; // of a trace; the number of snapshots is the third and fourth byte, then how many instructions
#define FUNCTION_PC 32 // of a function: its prototype's instructions
#define BY_PROTOTYPE (-1) // in the place of a function's address
enum { LUAJIT_SNAP_SIZE = 12, LUAJIT_SNAP_ENTRIES = 8 }; // of a snapshot: where in the map (32 bits), its first instruction (16), where its code begins (16), ... the 11th byte is how many entries
#define MAP (X + 2) // the snapshot's entries; 0: the frame at hand lies on the thread's stack
#define IR (X + 3) // the trace's instructions
#define OUTER VM // base of the function that the trace has begun in; ON: 1 + entries of the snapshot that are left
#define START SLOT // the first frame of the machine's: what is known of it may be a little older or newer
#define AT_BEGIN STACK // the trace has done nothing yet, or its loop; BEHIND_CALL: the snapshot is taken behind the call at hand
#define BEHIND_CALL 2
#define TAIL FN
#define WORD (X + 7)
#define CHUNK (X + 4)
#define FIRST_LINE (X + 5)
#define LINES (X + 6)
#define UPVALUES (X + 7)
#define LOCALS (X + 8)
enum {
	L_READY = CHAIN_OWN, L_CFRAME, L_HAVE, L_BACK, L_SAME, L_NEW, L_KEEP, L_GO, L_NONE, L_DELTA, L_VARARG, L_LINKED, L_ENDS, L_MID, L_INNER, L_FIRST, L_UNKNOWN, L_OUTSIDE, L_RETURNS, L_WIDE,
	L_WIDER, L_ADD, L_PLACED, L_C, L_SKIP, L_PATH, L_FILE, L_NAME, L_EVENT, L_SCAN, L_FOUND, L_LOCAL, L_UPVALUE, L_UPVALUES, L_GLOBAL, L_FIELD, L_CONSTANT, L_STRING, L_DONE,
	L_LOCALS, L_SKIP_NAME, L_RANGE, L_FROM, L_FROM_2, L_TO, L_TO_2, L_NO_TRACE, L_THREAD, L_NO_THREAD, L_LEAVES, L_FRAMED,
	L_BEGUN, L_TAIL, L_HALVE, L_UPPER, L_SNAPSHOT, L_REAL, L_LEFT, L_PAIR, L_IS_BASE, L_NO_SNAPSHOT, L_CONT_REAL, L_CALLER_REAL, L_CALLER, L_NO_CALLER,
	L_NO_LINK, L_ENDED, L_BY_CALLER, L_WHOSE, L_ITS, L_BELOW,
	L_AHEAD, L_LOOK, L_WITHIN, L_COMPARES, L_EITHER, L_CALLS, L_LEAVES_IT, L_ASIDE, L_BEFORE, L_LAST, L_SURE, L_NOT_SURE, L_MORE, L_CONSTANTS, L_ANOTHER, L_TWO_WORDS, L_OBJECT, L_LUA, L_CONSTANTS_END, L_NO_OPERATOR,
	L_BY_PLACE, L_FEW, L_EACH, L_TRACE, L_NO_MOVE, L_RUNS, L_BOTH, L_FACT, L_NEAR, L_FACTS, L_PLAIN, L_MODE, L_OUTCOME, L_OUTCOMES, L_ONLY, L_NO_MIX, L_NOT_FAR, L_MANY,
	L_REPLACED, L_AS_IT_IS, L_JUMPS, L_ITERATES, L_LOADS, L_KEEPS, L_REPEATS, L_SETS_MANY, L_RETURNS_LAST, L_MOVED, L_FIRST_OF_IT, L_BUILT_IN, L_CLOSURE, L_CLOSED, L_CALLEE, L_ITER_STACK, L_ITS_STACK, L_NO_CALL, L_CALLS_C, L_AT_CALL, L_FFI, L_FFI_BACK, L_FFI_UPVALUE, L_FFI_LIBRARY, L_FFI_FIELD, L_FFI_NODE, L_CALLS_EACH, L_ONE_CALL, L_BY_PROTOTYPE, L_HAVE_PROTOTYPE, L_FRAME,
	L_FRAME_PROTOTYPE, L_CALLER_PROTOTYPE = L_FRAME_PROTOTYPE + 2, L_FFI_SLOT = L_CALLER_PROTOTYPE + 2, L_AFTER_FFI = L_FFI_SLOT + 2,
	L_LINK_SLOT, L_FUNCTION_SLOT = L_LINK_SLOT + 3, L_BASE_SLOT = L_FUNCTION_SLOT + 3, L_CONT_SLOT = L_BASE_SLOT + 3, L_CALLER_SLOT = L_CONT_SLOT + 3, L_LEFT_SLOT = L_CALLER_SLOT + 3, L_LINK_TO_SLOT = L_LEFT_SLOT + 3, L_ITER_SLOT = L_LINK_TO_SLOT + 3, L_ITS_SLOT = L_ITER_SLOT + 3, L_LABELS = L_ITS_SLOT + 3
};
_Static_assert(L_LABELS <= CHAIN_LABELS, "labels");
#define R14 14
#define FRAME_MAX 8192 // of a trace
#define CFRAME 80
void luajit_trace(struct ChainMaker *m, const struct RtLang *l); // looks whether the machine runs one, and for its snapshot: on at L_GO or L_READY, or behind it
void luajit_sure(struct ChainMaker *m, const struct RtLang *l); // luajitsure.c: do the functions of the snapshot at hand hold up to the next?
// luajitslots.c; three labels from `labels` on, of luajit_prototype() two
void luajit_pointer(struct ChainMaker *m, u32 r); // of a value: 47 bits
void luajit_slot(struct ChainMaker *m, u32 dst, u32 slot, u32 left, u32 labels, u32 none); // what the snapshot puts into a slot; T, INS and left are lost
void luajit_prototype(struct ChainMaker *m, u32 dst, u32 left, u32 at, u32 count, u32 is, u32 labels, u32 none); // what dst leads to as a function would, of one whose prototype is known only
void luajit_slot_of_frame(struct ChainMaker *m); // that of the frame at AT, into POS
void luajit_link(struct ChainMaker *m, u32 dst, u32 labels, u32 none); // of the frame at AT, in the snapshot; WORD and KEY are lost
void luajit_frame(struct ChainMaker *m); // function (FN) and link (LINK) of the frame at AT
void luajit_continuation(struct ChainMaker *m); // where its caller goes on, into CALLER; it is a metamethod's
void luajit_caller(struct ChainMaker *m); // the function of the frame at AT, that of a caller, into T
#endif
#endif
