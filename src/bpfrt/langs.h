// langs.h: what the kernel side and user space (src/track, src/runtime) know of runtimes of languages: offsets in their structures, chains of frames, a walk's state.
// In: integer types; part of stack.h, which includes it. Invariant: as abi.h, every struct has the same layout on both sides.
#ifndef SONDE_RT_LANGS_H
#define SONDE_RT_LANGS_H

// ---- runtimes of languages: rt_langs[RtUwObj.lang], written before the object's table is ready. Addresses are file offsets as those of frames: with the
// difference of an address and its offset in code of the same object they are the process's.
#define RT_LANGS 256
enum RtPyHow { // how frames are tied to the interpreter's own
	RT_PY_RECORDS, // a record in the eval loop's frame has the innermost of the loop's frames (3.11, 3.12)
	RT_PY_SHIMS,   // the outermost of them is itself in the eval loop's frame (from 3.13 on)
	RT_PY_EACH,    // each frame of the eval loop, found by its range, runs one (up to 3.10)
};
struct RtPython { // offsets in its structures, by version
	u16 how;	  // enum RtPyHow
	u16 key;	  // in _PyRuntime: {int set, int pthread key} of the thread state
	u16 thread_id;	  // in the thread state
	u16 interps;	  // in _PyRuntime: the list of interpreters. 0: not known, a thread is taken to have one state
	u16 interp_next, interp_threads; // in an interpreter: the next one, its thread states
	u16 current;	  // in _PyRuntime: the state that has the GIL; 0: the key's is the one at work
	u16 cframe;	  // in the thread state: pointer to the record in the innermost eval loop's own frame, without records to the innermost frame
	u16 cframe_frame, cframe_prev;
	u16 frame_size;	  // bytes that are read of a frame
	u16 frame_code, frame_prev;
	u16 frame_ip;	  // RT_PY_EACH: int, in units of ip_unit bytes
	u16 ip_unit;
	u16 frame_end, end_value; // the byte that says that it is the group's last, and its value
	u16 end_hidden;	  // that one is the runtime's own
	u16 code_size;	  // bytes that are read of a code object
	u16 code_line, code_file, code_name, code_lines;
	u16 code_first;	  // its first instruction
	u16 str_ascii, str_other; // text of a string
	u16 lines_kind;
	// Without the GIL. 0: with it
	u16 head;	  // bytes that an object's head is longer
	u16 str_shift;	  // bits that are before a string's kind
	u16 frame_copy;	  // number of the copy of the code's instructions that a frame runs, 0 the code's own; 0: there are none
	u16 code_copies;  // pointer to their number and, from code_copy on, the addresses
	u16 code_copy;
	// Coroutines and tasks (pyasync.bpf.c). coro_frame 0: not followed
	u16 frame_owner;  // the byte that says who has the frame, 1: a generator
	u16 frame_locals; // first of its locals, behind which its stack lies
	u16 frame_top;	  // their number and the stack's; top_at: the address behind the last
	u16 top_at;
	u16 coro_frame;	  // in a coroutine or generator
	u16 task_coro, task_waiter; // in a task: its coroutine, the future it waits for
	u16 tuple_items;
	u16 attrs;	  // enum RtPyAttrs: where the attributes of an object lie
	u16 source;	  // enum RtPySource: for people
};
enum RtPySource { RT_PY_TABLE, RT_PY_DESCRIBED, RT_PY_WRONG }; // of offsets; wrong: what it says of itself makes no sense
#define RT_PY_THREAD_NEXT 8 // in a thread state, of all versions: the next one of its interpreter
enum RtPyType { RT_PY_CORO_TYPE, RT_PY_GEN_TYPE, RT_PY_AGEN_TYPE, RT_PY_ASEND_TYPE, RT_PY_TYPE_TYPE, RT_PY_TYPES }; // RtLang.types
enum RtPyAttrs { RT_PY_ATTRS_BEFORE32, RT_PY_ATTRS_BEFORE24, RT_PY_ATTRS_BEHIND };
// Tasks that wait for the one at hand: those of asyncio. The one at hand is found on the stack.
#define RT_PY_STACK 1024      // words that are looked at
#define RT_PY_WORDS 8	      // in one step
#define RT_PY_COROS 32	      // of one task that are shown: the innermost
#define RT_PY_CALLBACKS 4     // of a future that are looked at
#define RT_PY_ITEMS 8	      // of what a callback has at hand
#define RT_PY_ATTRIBUTES 12    // of an asyncio.TaskGroup: one is the future that its end waits for
#define RT_PY_ASYNC_STEPS 4096 // of a stack
enum RtPyPhase {
	RT_PY_SYNC,
	RT_PY_TASK,   // the frame at hand called the last one, a coroutine's: which task resumed that?
	RT_PY_WAITER, // who waits for a->future?
	RT_PY_LIST,   // ... by one of asyncio's helpers, which has the futures at a->list at hand
	RT_PY_AWAITS, // a->coro is the next inner one of a task that waits
	RT_PY_FRAMES, // frames of a->coros
};
// A frame of its program as it was read
#define RT_PY_KEPT 32 // of a group whose end was looked for: the innermost
#define RT_PY_AT_HAND RT_PY_KEPT
struct RtPyFrame {
	u64 code, pos; // its code object; how far it is in it
	u64 prev;      // the frame before it
	u64 last;      // it is the group's last
};
enum RtPyList { RT_PY_CELLS, RT_PY_ARGS, RT_PY_VALUES };
struct RtPyAsync {
	u32 on;	   // asked for
	u32 phase; // enum RtPyPhase
	u32 steps;
	u32 n, low; // coroutines found, and where the first one lies that is still there
	u32 nr;	    // callback
	u32 item, list_kind; // enum RtPyList
	u64 last;   // a generator's frame, taken last; 0: none
	u64 at;	    // the record of its loop; then the words to be looked at
	u64 future, task, list, coro;
	u64 coros[RT_PY_COROS]; // outermost first; the last of them
};
struct RtJava { // offsets in HotSpot's structures, which it describes itself (gHotSpotVMStructs), and sizes of some of them. b_*, n_*: from HeapBlock on
	u16 block;	// struct HeapBlock, before each blob of code
	u16 b_name, b_size, b_frame, b_complete, b_code; // CodeBlob: name, bytes, words of its frame, where that is complete, its code
	u16 b_short;	// from JDK 24 on b_complete has 16 bits and b_code is an offset
	u16 n_method, n_orig_pc, n_deopt, n_pcs, n_pcs_end, n_scopes, n_meta; // nmethod: these are offsets in its own data, n_scopes and n_deopt pointers; or
	u16 n_fixed, n_moving;	  // pointers to data of its own (JDK 24), 0: it has none; then n_meta is the size of what comes before the methods
	u16 n_deopt_mh; // as n_deopt, of calls of method handles; 0: as all others
	u16 n_id;	// number of its compilation, 0: not known
	u16 n_size;	// bytes that are read of an nmethod
	u16 m_const;	// Method: ConstMethod
	u16 c_pool, c_words, c_code, c_name, c_id, c_flags, c_size; // ConstMethod: constants, words with what follows, bytes of code, index of its name, number
	u16 p_holder, p_file, p_size; // ConstantPool: class, index of its source file (0: in the class, k_file)
	u16 k_name, k_file; // Klass
	u16 s_len, s_body;  // Symbol
	u16 digit;	// of the lowest byte of a coded number (JDK 20)
};
// A process's Java VM: rt_jvms, by tgid. User space writes it once the VM has its heaps of code.
#define RT_JVMS 4096
#define RT_JAVA_HEAPS 4
struct RtJvm {
	u32 lang;   // number in rt_langs
	u32 serial; // of the VM; no other has it
	struct {
		u64 low, size, segmap;
		u64 shift; // of a segment's bytes
	} heap[RT_JAVA_HEAPS]; // size 0: none
	u64 interp, interp_size; // where the interpreter was met, 0: not yet. V8: when (ns) user space was last asked for code of WebAssembly
};
struct RtJavaWalk {
	u32 none;   // 1: the process has no Java VM
	u32 native; // frames of methods are not asked for
	u32 kind;   // enum RtJavaKind of the frame at hand
	u32 raw;    // RtUw.raw before it
	u32 more;   // frames of it are still to come: enum RtJavaMore
	u32 scope;  // where the next one is coded, from scopes on
	u32 nr, skip; // number of the next one; so many are in the stack already
	u32 vm;	    // RtJvm.serial
	u32 len;    // bytes that are read of the blob
	u64 ident;  // which blob it is
	u64 at;	    // pc, of a frame whose code is not to go on where it was
	u64 interp, interp_size;
	u64 low, size; // where its heaps of code lie, all of them
	u64 blob, code, pc;
	u64 method, bcp;
	u64 scopes, metas, nscopes;
	u32 digits; // where in obj the next coded number lies
	u32 lang;   // number in rt_langs
};
// Places of Java's code met before: rt_java_seen, by pc (number 0) and by pc and number of a frame there.
#define RT_JAVA_SEEN_BITS 13
struct RtJavaSeen {
	u64 check; // place ^ RT_LANG_SEEN_MIX(ident, what)
	u64 ident; // of the blob that lay there
	u64 what;  // number 0: how far from its begin (32 bits), kind (8), bytes to be read; else the frame
};
#include "bpfrt/v8.h"
struct RtGo { // its table of functions: entries of {address, ...}, by address
	u64 text; // what these addresses are relative to; 0: to nothing
	u32 nfuncs;
	u32 wide; // 16 bytes each, addresses of 8 (before 1.18); else 8 and 4
};
// What a thread has under a key (pthread_key_create(3)), from its struct pthread on, of x86-64. glibc, from 2.2 on: 32 values of {sequence, value}, then pointers to blocks of
// such; musl, 1.2 (src/internal/pthread_impl.h): a pointer to the values.
#define RT_GLIBC_VALUES 0x310
#define RT_GLIBC_BLOCKS 0x510
#define RT_MUSL_VALUES 0x80
#define RT_MUSL_KEYS_MAX 128
struct RtRuby { // where a thread's state is: what its program is written from (runtime/ruby.c)
	u32 how;
	s32 tls;
	u32 musl; // linked with musl's libc
};
#define RT_LUA_SLOTS 4
#define RT_LUA_SPILLS 2
#define RT_LUA_ON_STACK 0xff // in the place of a register: always slot[0] from the stack pointer on
struct RtLua { // what its loop keeps where, as DWARF numbers registers: what its program is written from (runtime/lua.c)
	u32 thread, call, next; // next 0: nowhere
	u32 closure; // bytes from the stack pointer
	u32 base; // the thread is not saved over calls: then it lies where this one leads to, if it is not in its own; 0: it is
	s32 slot[RT_LUA_SLOTS]; // ... bytes behind, at the first of these where one is
	u32 other;	   // a register that has the thread where another value needs its own; 0: none
	s32 other_call;	   // ... and where the call lies then, in bytes from the stack pointer; 0: in its own
	struct {
		s32 thread, call; // bytes from the stack pointer, where both lie while other values need their registers; 0: none
	} spill[RT_LUA_SPILLS];
};
struct RtLang {
	u32 kind; // enum RtLangKind
	u16 chain; // its program in rt_chains; 0: it has a file of its own in bpfrt/
	u16 row;   // of its runtime's table of versions
	u64 root;      // _PyRuntime; gHotSpotVMStructs; Go: the table of functions
	u64 code_type; // PyCode_Type; gHotSpotVMTypes
	u64 types[RT_PY_TYPES]; // other types of the runtime; 0: there is none
	u64 loop, loop_end; // the code of which frames may hold records or run programs; 0, 0: all of the object's
	u64 cold, cold_end; // of such code the part that lies elsewhere
	u64 resume, resume_end; // of the code that goes on with a thread of the program (Lua), within which all loops of that lie; 0: not known
	u32 body; // PHP, LuaJIT: the rule of most of its loop, on whose frame code that it makes at run time runs
	union {
		struct RtPython py;
		struct RtJava java;
		struct RtRuby ruby;
		struct RtLua lua;
		struct { // docatch() is at code_type
			u32 docatch_size;
			u32 musl; // linked with musl's libc
		} perl;
		struct {
			s32 cur_l; // from its machine's register r14 to where the thread is, behind which its base in compiled code lies; 0: not known
			s32 traces, state; // ... to the list of its traces, and the number of the one at work; 0: what is in them is not known
		} luajit;
		struct RtV8 v8;
	};
	struct RtGo go;
};
// ---- chains of frames: rt_chains[RtLang.chain], a program for each version of a runtime, which chain.bpf.c runs and src/runtime/internal.h writes. A register is
// a word; what is computed is of 64 bits. The program has three parts: the beginning, at 0, finds the thread's innermost frame; `step` is run for each frame; `copy`
// when one's code is met for the first time. A fourth one, `again`, is what the beginning is for each further loop of the interpreter, if it has state of its own.
#define RT_CHAINS 64
#define RT_CHAIN_OPS 2048
#define RT_CHAIN_REGS 32
#define RT_CHAIN_LOAD 128 // bytes that are read at once, into the registers from dst on
enum RtOpCode {
	RT_OP_LOST,   // the chain cannot be followed; in the beginning: the thread has none
	RT_OP_LOAD,   // dst... = the arg bytes at src + imm
	RT_OP_ADD,    // dst = src + imm
	RT_OP_MUL,    // dst = src + register arg * imm
	RT_OP_AND,    // dst = src & imm
	RT_OP_SHR,    // dst = src >> imm
	RT_OP_EQ,     // if src == dst + imm, on at arg
	RT_OP_NE,     // the same of src != ...
	RT_OP_LT,     // ... src < ...
	RT_OP_NATIVE, // dst = register imm (DWARF) of the native frame at hand, 0 if it is not known; RT_CHAIN_LEAF: whether no frame has been left yet; RT_CHAIN_PC, _OFF: the place in it
	RT_OP_TRY,    // dst = the word at src + imm, 0 if it cannot be read
	RT_OP_TP,     // dst = the thread pointer
	RT_OP_READY,  // the beginning is done, or what is done again; the first frame's step begins at arg; imm: frames come before the native one at hand
	RT_OP_FRAME,  // a frame: code src, of which dst are a few own words, position arg;
	RT_OP_TEXT,   // of the code: enum RtChainText imm = src bytes at dst
	RT_OP_CSTR,   // the same of a text up to its zero, at dst
	RT_OP_SET,    // of the code: enum RtChainText imm = src
	RT_OP_COPIED, // the code is complete
	RT_OP_NONE,   // the interpreter's loop at hand has no more frames
};
enum RtChainReg { // what registers hold when a part begins, or ends with a frame
	RT_CHAIN_ROOT, // beginning: RtLang.root and .code_type in the process
	RT_CHAIN_ROOT2,
	RT_CHAIN_SURE = 28, // not 0: nothing else was put into the compiled code of the frame at hand; RT_CHAIN_DOUBT: of it frames are missing all the same
	RT_CHAIN_NEXT, // frame: the next one's address, 0: it is the thread's last, RT_CHAIN_PERHAPS: it is, if no more of the loops come
	RT_CHAIN_LAST,	    // frame: not 0: it is the last one of the interpreter's loop at hand
	RT_CHAIN_ZERO,	    // always 0
};
enum RtChainText { RT_CHAIN_NAME, RT_CHAIN_FILE, RT_CHAIN_LINES, RT_CHAIN_LINES2, RT_CHAIN_FIRST_LINE, RT_CHAIN_LINES_KIND };
#define RT_CHAIN_HALF (RT_CODE_LINES / 8) // where the second text among the lines begins, 8 bytes after its length
#define RT_CHAIN_PERHAPS (-1)
#define RT_CHAIN_DOUBT 0x444f5542 // nothing that the register has otherwise
#define RT_CHAIN_LEAF 64
#define RT_CHAIN_PC 65
#define RT_CHAIN_OFF 66 // as an offset in the runtime's object
struct RtOp {
	u8 op, dst, src, pad;
	u16 arg, pad2;
	s32 imm;
};
struct RtChain {
	u32 step, copy;
	u32 again, pad; // for interpreters that keep a loop's own state in its registers; 0: at the first loop all is known
	struct RtOp op[RT_CHAIN_OPS];
};
// Codes met before: rt_lang_seen, as rt_uw_seen.
#define RT_LANG_SEEN_BITS 13
struct RtLangSeen {
	u64 check; // address ^ RT_LANG_SEEN_MIX(ident, id)
	u64 ident; // of what lay there
	u64 id;
};
#define RT_LANG_SEEN_MIX(ident, id) ((ident) * 0x9e3779b97f4a7c15ULL ^ (id) * 0xc2b2ae3d27d4eb4fULL)
#define RT_LANG_OBJ 512 // bytes of a process's object at hand, at most
// A runtime whose frames are on the stack: what of it is still to come.
struct RtLangState {
	u32 lang;  // its number; 0: none met yet
	u32 each;  // each frame of the interpreter's loop has one of the program
	u32 again; // the program's part that is run at each further loop, before its frame is left; 0: none
	u32 op;	   // the next one of a chain's program
	u32 begun; // its beginning is done
	u32 chain; // number of the program; 0: the runtime has none
	u64 bias;  // address - file offset, of its object
	u64 record; // the next one: where it lies on the stack
	u64 frame, next_record; // of that record's group: the frame at hand; the record after it
	u64 ahead; // RT_GROUP_AHEAD: the frame looked at
	u64 reg[RT_CHAIN_REGS + RT_CHAIN_LOAD / 8];
};
struct RtLangWalk {
	union {
		struct RtLangState now; // the one whose frame was met last
		struct { // the same
			u32 lang, each, again, op, begun, chain;
			u64 bias, record, frame, next_record, ahead;
			u64 reg[RT_CHAIN_REGS + RT_CHAIN_LOAD / 8];
		};
	};
	struct RtLangState other; // one that has called the other's program, or was called by it
	u32 object; // where the last frame of a runtime was
	u32 off;   // 1: not asked for, or the thread has no frames of it
	u32 group; // enum RtLangGroup
	u32 idle;  // each loop has a frame but for the innermost, which has not begun with its own, or has done with it: one loop more than frames were found
	u32 pass;  // that frame is still to come
	u32 look;  // the next frame of its object is to be looked at: the first one, or a further loop's
	struct { // of RtUw at the first frame, for the walk to begin anew
		u64 pc, sp;
		u32 limit, entry, is_ra, leaf;
	} first;
	u32 steps; // looked ahead for the next record
	u32 func;  // the innermost function is asked for, the walk may end at it
	u64 func_frame; // 0: not met
	u64 new_code, new_ident; // met for the first time
	u64 h1, h2; // the piece's hashes before the frame that left last
	u32 copying; // a code, whose frame is at hand
	u32 hidden;  // the frame at hand stands for a function that is there already
	struct RtJavaWalk java;
	struct RtV8Walk v8;
	u64 tmp[4]; // from here on what no step finds as the one before has left it, but for the code that is being made (utask.bpf.c)
	u64 unread, asked; // address of a language's last read that failed, 0 none; of Java's last one
	u64 obj[RT_LANG_OBJ / 8]; // (of V8 the text that is gathered)
	struct RtPyAsync async;
	struct RtPyFrame py[RT_PY_KEPT + 1];
	u32 py_kept, py_taken; // of these: how many there are, how many the walk has come by
	struct RtCodeNew made; // being made
};
_Static_assert(offsetof(struct RtLangWalk, reg) == offsetof(struct RtLangState, reg) && offsetof(struct RtLangWalk, frame) == offsetof(struct RtLangState, frame) &&
	       sizeof(struct RtLangState) % 8 == 0, "the same");
enum RtLangGroup { // bits
	RT_GROUP_NONE,
	RT_GROUP_FIRST, // its first frame takes the place of the interpreter's
	RT_GROUP_ON,
	RT_GROUP_AHEAD = 4, // where it ends is looked for; there are no frames yet
	RT_GROUP_JAVA = 8, // of compiled code or of an interpreter's frame of Java
	RT_GROUP_V8 = 16,  // of V8's; it has RT_GROUP_JAVA, too
	RT_GROUP_REST = 32, // what runs on a fiber's stack was called by the program's frames on the stack that resumed it, without a loop here
	RT_GROUP_STATES = 64, // of CPython: the state that has the next frames is looked for
};
#define RT_LANG_AHEAD 32768 // frames of one group, at most
#endif
