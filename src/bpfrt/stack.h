// stack.h: layouts that stack capture (stack.bpf.c), the unwinder (unwind.bpf.c) and user space (src/track, src/stack) share, and the functions
// generated code calls:
//   u64 rt_ustack(void *ctx, u64 limit, u64 src)   u64 rt_stack_pair(u64 names, u64 addrs)   u64 rt_kstack_task(void *task, u64 limit)
//   u64 rt_ustack_task(void *task, u64 limit, u64 src)
//   struct RtStackBuf *b = rt_kstack_begin(limit, src);	   NULL: no stack, id 0
//   long got = bpf_get_stack(ctx, (char *)b + RT_KSTACK_AT, b->want & RT_KSTACK_MASK, 0);
//   u64 id = rt_kstack_end(b, got, limit, src, ctx);
// limit: frames wanted after the tracer's own are trimmed; 0: all, up to RT_STACK_DEEP of a user stack, RT_KSTACK_MAX of a kernel stack.
// src: a compile-time constant, RT_SRC_* | RT_SRC_F_* (lower/program.h: stack_src() makes it from the probe's kind). ctx is the program's context.
// Result: stack id (abi.h), 0 when there is no such stack (kernel stack of a user probe, user stack of a kernel thread) or it could not be
// stored (counted).
#ifndef SONDE_RT_STACK_H
#define SONDE_RT_STACK_H

// ---- where registers come from, and which frames of the tracer lie on top of the kernel stack
#define RT_SRC_NONE 0	// context holds nothing: interval, begin, iterators
#define RT_SRC_REGS 1	// ctx is struct pt_regs: kprobe, uprobe, usdt
#define RT_SRC_PERF 2	// ctx is struct bpf_perf_event_data: profile, software, hardware, watchpoint
#define RT_SRC_TP 3	// tracepoint through perf
#define RT_SRC_RAW 4	// raw tracepoint, fentry, fexit: the kernel stack begins in the program itself
#define RT_SRC_MASK 7
#define RT_SRC_F_ENTRY 8 // every point is a function's first instruction: the caller may still be only in a register (arm64)
#define RT_SRC_F_USER 16 // ctx registers are user ones (uprobe, uretprobe, usdt)
#define RT_SRC_F_FP 32	 // ustack: frame pointers only
#define RT_SRC_F_ADDR 64 // ustack: frames are virtual addresses
#define RT_SRC_F_AGAIN 128 // ustack: of this event for the second time, not to be counted
#define RT_SRC_F_FUNC 512 // lang_func: the walk ends at the first frame of a language
#define RT_SRC_F_ASYNC 1024 // ustack: with the coroutines of tasks that wait for the one at hand
#define RT_SRC_F_NATIVE 256 // ustack: native frames only, an interpreter's own in the place of its program's

// ---- interning: size classes, in frames. Value size of class c is sizeof(struct RtStack) + 8 * frames.
#define RT_STACK_CLASSES 5
#define RT_STACK_CLASS_FRAMES {16, 48, 128, 512, 1024}
#define RT_STACK_CLASS_NAMES {"rt_stacks_16", "rt_stacks_48", "rt_stacks_128", "rt_stacks_512", "rt_stacks_1024"}
#define RT_KSTACK_MAX 256  // frames of a kernel stack; bpf_get_stack stops at kernel.perf_event_max_stack, 127 by default
#define RT_STACK_PROBES 4 // ids tried after one another when two stacks share a hash

// ---- trimming of kernel stacks: rt_trim holds the number of boundaries and the boundaries, ascending, then ~0 to the end. An address at or above
// an odd number of them (bound[0] <= addr < bound[1], ...) is kernel code that is not the tracer's.
#define RT_TRIM_BITS 14
#define RT_TRIM_MAX (1 << RT_TRIM_BITS)
#define RT_TRIM_DEPTH 16 // tracer frames on top, at most
#define RT_TRIM_SEEN_BITS 6
struct RtTrim {
	u64 n;
	u64 seen[1 << RT_TRIM_SEEN_BITS]; // by a hash of the address: addresses looked up, without RT_TRIM_OURS where they are the tracer's; 0 none
	u64 bound[RT_TRIM_MAX];
};
#define RT_TRIM_OURS (1ULL << 62) // set in every kernel address

// ---- who maps what: rt_uw_maps, keyed by (process, chunk number). A process of up to 64 mappings has one chunk; else the mappings, ascending, are in
// chunks of level 0 from number 1 on, under chunks of level 1 that hold the starts and numbers of those below them, under one of level 2 if need be.
// Number 0 is the top.
#define RT_UW_CHUNK 64	// entries of a chunk
#define RT_UW_LEVELS 3	// 262,144 mappings: vm.max_map_count is 65,530
#define RT_UW_UPPER (1 << 20) // chunks of level 1 under one of level 2 are numbered from here on
#define RT_UW_PAGE_SHIFT 12
#define RT_UW_PAGE (1 << RT_UW_PAGE_SHIFT) // unit of RtUwMapping.pages
struct RtUwKey {
	u32 tgid, chunk;
};
#define RT_UW_NO_START (1ULL << 62) // of unused entries: above every address, and differences to it do not overflow
struct RtUwMapping {
	u64 start;
	u32 pages;
	u32 obj; // object id: sym.h; 0: code made at run time. Above level 0: the number of the chunk that begins here. RT_UW_MADE
	u64 off; // file offset of start
	u64 checked; // the epoch (vma.bpf.c) in which the kernel's own mapping was last found to be this; user space leaves it 0
};
#define RT_UW_MADE (1u << 31) // in obj: code in no file, of which its maker has told: the object is made of that (track/jits.c), and pages counts bytes
#define RT_UW_JITS (1u << 31) // in n of the top: the process has an entry in rt_jits
struct RtUwChunk {
	u32 n; // entries in use
	u32 level;
	u64 gen; // of the whole set, below 2^48: another number whenever a process's mappings change; never 0. The same one: the same mappings
	struct RtUwMapping map[RT_UW_CHUNK];
};

#define RT_UW_PC_BITS 48 // of an address in a process
// ---- rt_uw_files: file -> object id, 0: code made at run time in a file of memory. What user space has opened, as the kernel knows it:
// super_block.s_dev, inode.i_ino, i_size, i_mtime (ns). The vDSO has ino 0, and size 1 in 32-bit processes.
struct RtUwFile {
	u64 ino, size, mtime;
	u32 dev, pad;
};
#define RT_UW_ANY (~0ULL) // size and mtime of a file that user space could not look at

// ---- rt_uw_news: files that were met before user space knew them, by a number from their hash. A frame there has RT_UW_NEW | number for its object.
#define RT_UW_NEW_BITS 17 // with RT_UW_NEW as many as an object's number in a frame
#define RT_UW_NEW (1u << RT_UW_NEW_BITS)
#define RT_UW_NEWS 16384
#define RT_UW_NEW_TRIES 4

// ---- rt_jits: processes that tell of the code they make by the JIT interface of GDB, by tgid. The code's rows hold while its list is as user space has
// read it. A version is a hash of the list's head, {version and action, entry of that, first entry}, and of the first entry, {next, previous, file, size}.
#define RT_JITS_MAX 4096
#define RT_JIT_DESCS 2
#define RT_JIT_HEAD 24
#define RT_JIT_ENTRY 32
struct RtJit {
	u64 desc[RT_JIT_DESCS]; // addresses of __jit_debug_descriptor; 0 none
	u64 version;		// of what user space has told
	u64 asked;		// of what it was asked for last
	u64 bias;		// of code made at run time that is a runtime's loop: address - file offset of the runtime's own object
};
#define RT_JIT_MIX(h, word) ((((h) ^ (word)) * 0x9e3779b97f4a7c15ULL) ^ (((h) ^ (word)) >> 29))

// ---- unwind tables, in file offsets. rt_uw_obj[object] -> rt_uw_dir[dir + page - first_page] -> record in rt_uw_pages[entry >> 16].
#define RT_UW_OBJS 32768
#define RT_UW_DIRS 131072
#define RT_UW_VALS 4096
#define RT_UW_PAGE_BITS 16	 // 64 KB of text a record
#define RT_UW_BUCKET_BITS 8	 // 256 B of text a bucket
#define RT_UW_BUCKETS 256
#define RT_UW_VAL_SIZE (1 << 18) // bytes of one value of rt_uw_pages
enum RtUwState {
	RT_UW_PENDING, // table not built yet
	RT_UW_READY,
	RT_UW_BARE, // object without unwind information: frame pointers
	RT_UW_UNREADABLE,
	RT_UW_DENIED, // no permission to read it
	RT_UW_FULL,   // no room for it
	RT_UW_DAMAGED, // ELF headers that make no sense
};
struct RtUwObj {
	u32 dir;	// index in rt_uw_dir of the page first_page
	u32 first_page; // file offset >> RT_UW_PAGE_BITS
	u32 npages;
	u32 state; // enum RtUwState
	u32 asked; // a stack lacked the table while it was pending
	u32 lang;  // its runtime's number in rt_langs; 0: it holds none. RT_UW_LANG_MADE
};
#define RT_UW_LANG_MADE (1u << 31) // in lang: code that the runtime has made, whose object is another: RtJit.bias
// An entry of rt_uw_dir: value << 16 | byte offset in the value / 4; 0: no rows in this page.
// A record: u16 idx[257] (first row of each 256-byte bucket, and the number of rows), u8 lo[n] (pc & 255), from the next even offset u16 rule[n].
// The first row carries the rule valid at the page's start.
#define RT_UW_REC_LO (257 * 2)
#define RT_UW_REC_RULE(n) ((RT_UW_REC_LO + (n) + 1) & ~1u)
#define RT_UW_REC_SIZE(n) ((RT_UW_REC_RULE(n) + 2 * (n) + 3) & ~3u)

// ---- rules: rt_uw_rules[rule]. Rule 0 is "no unwind information here".
#define RT_UW_RULES 32768
enum RtUwKind {
	RT_UW_NONE,  // no unwind information
	RT_UW_END,   // return address undefined: the thread's root
	RT_UW_REG,   // CFA = reg + off
	RT_UW_PLT,   // CFA = reg + off + ((pc & 15) >= off2 ? 8 : 0)
	RT_UW_DEREF, // CFA = *(reg + off) + off2; with index: *(reg + off + 8 * register (index - 1)) + off2
	RT_UW_SIG,   // signal frame: registers in the struct sigcontext whose sp is at reg + off
	RT_UW_BAD,   // unwind information that the walker cannot follow
	RT_UW_DEPTH, // CFA = *(*(reg + off) + 8) - *(reg + slot[0]) + off2: of a goroutine that calls C, whose stack is known by its top
	RT_UW_LUAJIT, // a trace of LuaJIT: CFA = the frame that its machine has for the thread *(reg + off), + off2
	RT_UW_BEAM, // Erlang's compiled code (walk_beam.h); off: a piece that such code calls; off2: where a process has its stack pointer
	RT_UW_GO,    // a goroutine's stack goes on where the thread's own ends, or the other way: enum RtUwGo; CFA = that stack pointer + off2
};
// Registers a rule may restore, beside return address and stack pointer: DWARF numbers by slot. Slot 0 is the frame pointer.
#define RT_UW_SLOTS 6
struct RtUwRule {
	u8 kind; // enum RtUwKind
	u8 reg;	 // DWARF number
	u8 saved; // bit s: slot s is in memory
	u8 fprel; // bit s: at frame pointer + off[s] instead of CFA + off[s]
	u8 lost; // bit s: register of slot s is undefined, or found in a way the walker cannot follow; RT_UW_LOST_SCRATCH, RT_UW_GUESS
	u8 ra_kind; // enum RtUwRa
	s16 ra;	    // CFA-relative offset; RT_UW_RA_REG: register number
	s32 off, off2;
	s16 slot[RT_UW_SLOTS]; // bytes
	u8 index; // DEREF: register number + 1, 0 none (OpenSSL's Montgomery multiplication); RT_UW_LANG
	u8 sp_kind; // enum RtUwSp
	s16 sp;	    // register number, or CFA-relative offset
};
#define RT_UW_GUESS 0x80 // nothing proves this rule: where a function begins and what reaches its code was guessed from instructions
#define RT_UW_LOST_SCRATCH 0x40 // the same for one or more of the registers without a slot
#define RT_UW_LANG 0x80 // in index: code of a runtime whose frames hold records of its language's frames
#define RT_UW_JIT 0x40 // in index: code in a file that a runtime made as it does at run time: V8's builtins
#define RT_UW_INDEX(r) ((r)->index & 0x3fu)
enum RtUwGo { // fields of a rule RT_UW_GO, in slot[]: what Go's runtime keeps for each thread. off: of its pointer to the goroutine that runs, from
	RT_UW_GO_M,	// the thread pointer; in a goroutine: its thread's record
	RT_UW_GO_CURG,	// in that: the goroutine that left its stack for the thread's own; 0: the rule is for the other way,
	RT_UW_GO_G0,	// in that: the thread's own stack,
	RT_UW_GO_SP,	// in a goroutine or a thread's own stack: where its stack pointer was when it was left
};
enum RtUwSp { // the caller's stack pointer
	RT_UW_SP_CFA,
	RT_UW_SP_REG, // in register `sp` (longjmp)
	RT_UW_SP_MEM, // at CFA + sp (setcontext)
	RT_UW_SP_OTHER, // the CFA, which is on another stack
};
enum RtUwRa {
	RT_UW_RA_MEM, // at CFA + ra
	RT_UW_RA_REG, // in register `ra`
	RT_UW_RA_FP,  // at frame pointer + ra
	RT_UW_RA_EXACT, // at CFA + ra, and no return address: the instruction that was to be next (Go, whose signal handlers make threads call functions)
};

// ---- places met before: rt_uw_seen, by a hash of address and generation of the mappings. Any CPU replaces an entry at any time: check tells whether
// the words it reads belong together.
#define RT_UW_SEEN_BITS 13
struct RtUwSeen {
	u64 check; // address (of a return address: the one before) ^ RT_UW_SEEN_MIX(frame, id, map)
	u64 frame; // as in struct RtStack
	u64 id;	   // generation << 16 | rule, or RT_UW_RULE_UNSEEN
	u64 map;   // its mapping: chunk * RT_UW_CHUNK + index
};
#define RT_UW_SEEN_MIX(frame, id, map) ((frame) ^ (id) * 0x9e3779b97f4a7c15ULL ^ (map) * 0xc2b2ae3d27d4eb4fULL)
#define RT_UW_RULE_UNSEEN 0xffff // its rule was not asked for

// ---- registers by DWARF number
#if defined(RT_ARM64) || defined(__aarch64__)
#define RT_NREGS 32
#define RT_R_FP 29
#define RT_R_SP 31
#define RT_SLOT_REGS {29, 19, 20, 21, 22, 23}
#define RT_SLOT_BITS(s) (((s) & 1u) << 29 | ((s) & 0x3eu) << 18) // bits of slots -> bits of registers
#define RT_CALLEE_SAVED 0x3ff80000u // x19..x29
#define RT_CALL_CLOBBERS 0x40030000u // x30; x16 and x17, which the linker's veneers use (AAPCS64 6.1.1)
struct RtPtRegs {		    // struct user_pt_regs
	u64 r[31], sp, pc, pstate;
};
#else
#define RT_NREGS 16
#define RT_R_FP 6
#define RT_R_SP 7
#define RT_SLOT_REGS {6, 3, 12, 13, 14, 15}
#define RT_SLOT_BITS(s) (((s) & 1u) << 6 | ((s) & 2u) << 2 | ((s) & 0x3cu) << 10)
#define RT_CALLEE_SAVED 0xf048u // rbx rbp r12..r15
#define RT_CALL_CLOBBERS 0u
// RtUw.compat of a code segment: user space has 0x33 for 64-bit code and 0x23 for 32-bit code (Xen sets more bits); bit 2: the process's own (LDT).
#define RT_COMPAT(cs) (((cs) & 0xfff) == 0x33 ? 0 : (cs) & 4 ? 2 : 1)
struct RtPtRegs { // struct pt_regs
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};
#endif

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
	u16 task_running; // in the thread state: the task that runs; 0: nowhere (before 3.14)
	u16 attrs;	  // enum RtPyAttrs: where the attributes of an object lie
	u16 group_done;	  // number of the attribute of asyncio.TaskGroup that is the future its end waits for
	u16 source;	  // enum RtPySource: for people
};
enum RtPySource { RT_PY_TABLE, RT_PY_DESCRIBED, RT_PY_WRONG }; // of offsets; wrong: what it says of itself makes no sense
enum RtPyType { RT_PY_CORO_TYPE, RT_PY_GEN_TYPE, RT_PY_AGEN_TYPE, RT_PY_ASEND_TYPE, RT_PY_TYPES }; // RtLang.types
enum RtPyAttrs { RT_PY_ATTRS_BEFORE32, RT_PY_ATTRS_BEFORE24, RT_PY_ATTRS_BEHIND };
// Tasks that wait for the one at hand: those of asyncio, found from Handle._run(), by which its event loop has resumed the task.
#define RT_PY_COROS 32	      // of one task that are shown: the innermost
#define RT_PY_CALLBACKS 4     // of a future that are looked at
#define RT_PY_ITEMS 8	      // of what a callback has at hand
#define RT_PY_ASYNC_STEPS 4096 // of a stack
enum RtPyPhase {
	RT_PY_SYNC,
	RT_PY_HANDLE, // the frame at hand called the last one, a coroutine's: is it the event loop's?
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
enum RtPyList { RT_PY_CELLS, RT_PY_ARGS, RT_PY_ONE };
struct RtPyAsync {
	u32 on;	   // asked for
	u32 phase; // enum RtPyPhase
	u32 steps;
	u32 n, low; // coroutines found, and where the first one lies that is still there
	u32 nr;	    // callback
	u32 item, list_kind; // enum RtPyList
	u64 last;   // a generator's frame, taken last; 0: none
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
	u64 interp, interp_size; // where the interpreter was met, 0: not yet
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
struct RtRuby { // where a thread's state is: what its program is written from (runtime/ruby.c)
	u32 how;
	s32 tls;
};
struct RtLua { // what its loop keeps where, as DWARF numbers registers: what its program is written from (runtime/lua.c)
	u32 thread, call, next; // next 0: nowhere
	u32 closure; // bytes from the stack pointer
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
	u32 body; // PHP, LuaJIT: the rule of most of its loop, on whose frame code that it makes at run time runs
	union {
		struct RtPython py;
		struct RtJava java;
		struct RtRuby ruby;
		struct RtLua lua;
		struct { // docatch() is at code_type
			u32 docatch_size;
		} perl;
		struct {
			s32 cur_l; // from its machine's register r14 to where the thread is, behind which its base in compiled code lies; 0: not known
		} luajit;
		struct RtV8 v8;
	};
	struct RtGo go;
};
// ---- chains of frames: rt_chains[RtLang.chain], a program for each version of a runtime, which chain.bpf.c runs and src/runtime/internal.h writes. A register is
// a word; what is computed is of 64 bits. The program has three parts: the beginning, at 0, finds the thread's innermost frame; `step` is run for each frame; `copy`
// when one's code is met for the first time. A fourth one, `again`, is what the beginning is for each further loop of the interpreter, if it has state of its own.
#define RT_CHAINS 64
#define RT_CHAIN_OPS 512
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
	RT_OP_NATIVE, // dst = register imm (DWARF) of the native frame at hand, 0 if it is not known; RT_CHAIN_LEAF: whether no frame has been left yet
	RT_OP_TRY,    // dst = the word at src + imm, 0 if it cannot be read
	RT_OP_TP,     // dst = the thread pointer
	RT_OP_READY,  // the beginning is done, or what is done again; the first frame's step begins at arg
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
	RT_CHAIN_NEXT = 29, // frame: the next one's address, 0: it is the thread's last, RT_CHAIN_PERHAPS: it is, if no more of the loops come
	RT_CHAIN_LAST,	    // frame: not 0: it is the last one of the interpreter's loop at hand
	RT_CHAIN_ZERO,	    // always 0
};
enum RtChainText { RT_CHAIN_NAME, RT_CHAIN_FILE, RT_CHAIN_LINES, RT_CHAIN_LINES2, RT_CHAIN_FIRST_LINE, RT_CHAIN_LINES_KIND };
#define RT_CHAIN_HALF (RT_CODE_LINES / 8) // where the second text among the lines begins, 8 bytes after its length
#define RT_CHAIN_PERHAPS (-1)
#define RT_CHAIN_LEAF 64
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
struct RtLangWalk {
	u32 lang;  // number of the process's runtime; 0: none met yet
	u32 off;   // 1: not asked for, or the thread has no frames of it
	u32 group; // enum RtLangGroup
	u32 each;  // each frame of the interpreter's loop has one of the program
	u32 idle;  // ... but for the innermost, which has not begun with its own, or has done with it: one loop more than frames were found
	u32 pass;  // that frame is still to come
	u32 again; // the program's part that is run at each further loop, before its frame is left; 0: none
	u32 look;  // the next frame of its object is to be looked at: the first one, or a further loop's
	struct { // of RtUw at the first frame, for the walk to begin anew
		u64 pc, sp;
		u32 limit, entry, is_ra, leaf;
	} first;
	u32 steps; // looked ahead for the next record
	u32 func;  // the innermost function is asked for, the walk may end at it
	u64 func_frame; // 0: not met
	u64 bias;  // address - file offset, of its object
	u64 record; // the next one: where it lies on the stack
	u64 frame, next_record; // of that record's group: the frame at hand; the record after it
	u64 ahead; // RT_GROUP_AHEAD: the frame looked at
	u64 new_code, new_ident; // met for the first time
	u64 h1, h2; // the piece's hashes before the frame that left last
	u32 op;	   // the next one of a chain's program
	u32 begun; // its beginning is done
	u32 copying; // a code, whose frame is at hand
	u32 chain; // number of the program; 0: the runtime has none
	u64 reg[RT_CHAIN_REGS + RT_CHAIN_LOAD / 8];
	struct RtJavaWalk java;
	u64 tmp[4]; // from here on what no step finds as the one before has left it, but for the code that is being made (utask.bpf.c)
	u64 obj[RT_LANG_OBJ / 8];
	struct RtV8Walk v8;
	struct RtPyAsync async;
	struct RtPyFrame py[RT_PY_KEPT + 1];
	u32 py_kept, py_taken; // of these: how many there are, how many the walk has come by
	struct RtCodeNew made; // being made
};
enum RtLangGroup { // bits
	RT_GROUP_NONE,
	RT_GROUP_FIRST, // its first frame takes the place of the interpreter's
	RT_GROUP_ON,
	RT_GROUP_AHEAD = 4, // where it ends is looked for; there are no frames yet
	RT_GROUP_JAVA = 8, // of compiled code or of an interpreter's frame of Java
	RT_GROUP_V8 = 16,  // of V8's; it has RT_GROUP_JAVA, too
};
#define RT_LANG_AHEAD 32768 // frames of one group, at most

#define RT_UW_WIN 512 // bytes of the stack read at once

// ---- the walker's state, and what one CPU needs for one stack
struct RtUw {
	u64 pc;
	u64 reg[RT_NREGS]; // the value, or where it is saved
	u32 valid;	   // bit r: reg[r] is known
	u32 saved;	   // bit r: it is an address
	u64 gen;	   // of the process's mappings; 0: not known, or they changed meanwhile
	u64 epoch;	   // another number whenever the process may have changed its mappings, whether user space knows or not (vma.bpf.c)
	u64 at, at_ok;	   // number of the mapping looked up last, and of the one last found to hold in this epoch (struct RtUwSeen)
	u64 map_start, map_len, map_off; // mapping looked up last; map_len 0: none
	u32 obj;	   // its object; 0: none, or not known
	u32 made;	   // it was told that its maker tells of it (RT_UW_MADE)
	u32 told;	   // user space told of it, and it is so
	u32 unknown;	   // no mapping there, or a file user space has not told of
	u32 lost;	   // enum RtWhy: why no object is known there
	u32 lacks;	   // there was an unknown frame
	u32 gone;	   // no memory where pc was
	u32 jit_stale;	   // what is known of the process's code made at run time is old
	u32 stale;	   // rt_uw_maps has nothing on the process
	u32 tgid;
	u64 task;	   // struct task_struct of the thread
	u32 n, limit;	   // frames in the buffer, and how many there may be
	u32 room;	   // frames the buffer may hold until a piece is full
	u32 pieces;	   // of a deep stack: how many are stored, those in the buffer are yet to come
	u32 is_ra;	   // pc is a return address: its row is that of pc - 1
	u32 fp_only;
	u32 addrs;	   // frames are virtual addresses
	u32 again;	   // not counted
	u32 raw;	   // some frame is a raw address
	u32 bare;	   // the last one is
	u32 leaf;	   // no frame has been left yet
	u32 entry;	   // pc is the first instruction of a function
	u32 trap;	   // the thread came into the kernel by an exception or interrupt (x86)
	u32 compat;	   // 32-bit code on x86-64: 1; 2: in a segment of its own
	u32 why;	   // enum RtWhy
	u32 weak;	   // enum RtWhy: frame pointers had to do for code that has unwind information
	u32 guess;	   // enum RtWhy: the first RT_WHY_GUESS_* on the way, 0 none
	u64 guess_frame;   // its frame, and the one being left
	u64 last_frame;
	u32 stop;
	u32 rule;	   // result of locate(), as frame
	u64 frame;
	u64 h1, h2;	   // hashes of the frames of the piece at hand
	u64 piece1[RT_STACK_MAX / RT_STACK_PIECE], piece2[RT_STACK_MAX / RT_STACK_PIECE]; // ... of those before it that are in the buffer
	u64 all1, all2;	   // ... of the pieces' hashes; of a deep stack, of their ids
	u64 tramp;	   // address of the uretprobe trampoline in this process; 0: no pending uretprobe
	u64 ri;		   // first struct return_instance
	u64 ra_slot;	   // where the return address pc came from
	u64 go_sp;	   // where the thread's own stack goes on below the Go function that C called; 0: the runtime says it
	u64 beam;	   // the frame left last was of a piece that Erlang's compiled code calls (walk_beam.h)
	u64 bare_pc;	   // where the frame left last was, if in no file and by its frame pointer
	u64 tmp[3];
	struct RtUwFile file, opened; // vma.bpf.c
	u64 win_at, win_n; // win holds the win_n + 7 bytes from win_at on; 0: none
	u64 win[RT_UW_WIN / 8];
};
#define RT_SLACK (RT_TRIM_DEPTH + 8)
struct RtStackBuf {
	u32 busy, skip; // skip: result of count_tracer
	u32 slot;	// its number among the CPU's buffers
	u32 want;	// bytes of frames the program shall ask the kernel for
	u64 owner; // who took it: tells a race between two tasks from proper nesting
	struct RtUw uw;
	struct RtLangWalk lang;
	struct RtPtRegs regs;
	u64 buf[sizeof(struct RtStack) / 8 + RT_STACK_MAX + RT_SLACK]; // struct RtStack, frames; trimming moves the head up
	u64 list[sizeof(struct RtStack) / 8 + RT_STACK_PIECES];	       // struct RtStack, ids of pieces
};
#define RT_STACK_BUFS 4 // nested events on one CPU
#define RT_KSTACK_AT (offsetof(struct RtStackBuf, buf) + sizeof(struct RtStack)) // frames of a kernel stack
#define RT_KSTACK_MASK 0xff8 // of RtStackBuf.want, for the verifier

// ---- rt_uw_ends (--why-incomplete): how many user stacks of a process ended at a frame, and why
#define RT_UW_ENDS 16384
struct RtUwEnd {
	u64 frame; // the last one (why RT_WHY_GUESS_*: the first one left by a guess); 0: no frames
	u32 tgid;  // 0: kernel threads, exiting processes, running threads, and whatever had no room (user space has put these in)
	u16 why;   // enum RtWhy
	u16 guess; // enum RtWhy: RT_WHY_GUESS_* on the way, 0 none
};
struct RtUwEndCount {
	u64 count;
	char comm[16]; // of the thread seen first
};

// ---- record of the ring buffer rt_uw_events: struct RtEvent {RT_EV_PROC_NEW, object or 0}, u64 tgid. Object 0: the mappings of tgid are not known;
// else: its table is wanted next.
struct RtProcNew {
	struct RtEvent ev;
	u64 tgid;
};
#endif
