// stack.h: layouts that stack capture (stack.bpf.c), the unwinder (unwind.bpf.c) and user space (src/track, src/stack) share, and the functions
// generated code calls:
//   u64 rt_ustack(void *ctx, u64 limit, u64 src)   u64 rt_ustack_fp(...)   u64 rt_stack_pair(u64 names, u64 addrs)   u64 rt_kstack_task(void *task, u64 limit)
//   u64 rt_ustack_task(void *task, u64 limit, u64 src)
//   struct RtStackBuf *b = rt_kstack_begin(limit, src);	   NULL: no stack, id 0
//   b->func = bpf_get_func_ip(ctx);  with RT_SRC_F_FUNC_IP
//   long got = bpf_get_stack(ctx, (char *)b + RT_KSTACK_AT, b->want & RT_KSTACK_MASK, 0);
//   u64 id = rt_kstack_end(b, got, limit, src, ctx);
// limit: frames wanted after the tracer's own are trimmed; 0: all, up to RT_STACK_DEEP of a user stack, RT_KSTACK_MAX of a kernel stack.
//   u64 rt_ustack_cold(void *ctx, u64 limit, u64 src, struct RtColdAt *at)   u64 rt_cold_again(struct RtCold *e, u64 limit, u64 src)   u64 rt_cold_count(u64 why)
// src: a compile-time constant, RT_SRC_* | RT_SRC_F_* (lower/program.h: stack_src() makes it from the probe's kind). ctx is the program's context.
// Result: stack id (abi.h), 0 when there is no such stack (kernel stack of a user probe, user stack of a kernel thread) or it could not be
// stored (counted).
#ifndef SONDE_RT_STACK_H
#define SONDE_RT_STACK_H
#include "bpfrt/machine.h"

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
#define RT_SRC_F_BREAK 2048 // kstack: ctx's address is the byte behind a breakpoint, at which the event is (kprobes of x86-64)
#define RT_SRC_F_FUNC_IP 4096 // kstack: b->func is the traced function (fentry, fexit)
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
#define RT_TRIM_SLOT(addr) ((addr) * 0x9e3779b97f4a7c15ULL >> (64 - RT_TRIM_SEEN_BITS))
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
#define RT_UW_LEVELS 3	// 262,144 mappings: vm.max_map_count is 65,530 unless it was raised
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
#define RT_JITS_UNREAD 2 // in jits: the list could not be read as a whole; versions are odd
struct RtUwChunk {
	u32 n; // entries in use
	u32 level;
	u64 gen; // of the whole set, below 2^48: another number whenever a process's mappings change; never 0. The same one: the same mappings
	u64 jits; // the top's: version of the list (rt_jits) of which the set's code made at run time is; 0: the process has no list
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

// ---- rt_jits: processes that tell of the code they make by the JIT interface of GDB, by tgid. The code's rows hold while its list is as user space had
// read it for the set of mappings that they are in (RtUwChunk.jits: a process may go back and forth between two lists). A version is a hash of the list's head,
// {version and action, entry of that, first entry}, and of the first entry, {next, previous, file, size}.
#define RT_JITS_MAX 4096
#define RT_JIT_DESCS 2
#define RT_JIT_HEAD 24
#define RT_JIT_ENTRY 32
struct RtJit {
	u64 desc[RT_JIT_DESCS]; // addresses of __jit_debug_descriptor; 0 none
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
	u32 grows; // a file that a JIT compiler writes to: which rule a place has is not remembered
	u32 pad;
};
#define RT_UW_LANG_MADE (1u << 31) // in lang: code that the runtime has made, whose object is another: RtJit.bias
// An entry of rt_uw_dir: value << 16 | byte offset in the value / 4; 0: no rows in this page. RT_UW_OUT: its record was taken out, since no stack had needed it
// for a while; RT_UW_ASKED: and a stack has asked for it since.
#define RT_UW_OUT (~0u)
#define RT_UW_ASKED (~0u - 1)
// A record: u16 idx[257] (first row of each 256-byte bucket, and the number of rows), u8 lo[n] (pc & 255), from the next even offset u16 rule[n].
// The first row carries the rule valid at the page's start.
#define RT_UW_REC_LO (257 * 2)
#define RT_UW_REC_RULE(n) ((RT_UW_REC_LO + (n) + 1) & ~1u)
#define RT_UW_REC_SIZE(n) ((RT_UW_REC_RULE(n) + 2 * (n) + 3) & ~3u)

// ---- rules: rt_uw_rules[rule]. Rule 0 is "no unwind information here".
#define RT_UW_RULES 32768
enum RtUwKind {
	RT_UW_NONE,  // no unwind information
	RT_UW_END,   // return address undefined: the thread's root; off2: RT_UW_END_*
	RT_UW_REG,   // CFA = reg + off
	RT_UW_PLT,   // CFA = reg + off + ((pc & 15) >= off2 ? 8 : 0)
	RT_UW_DEREF, // CFA = *(reg + off) + off2; with index: *(reg + off + 8 * register (index - 1)) + off2
	RT_UW_SIG,   // signal frame: registers in the struct sigcontext whose sp is at reg + off
	RT_UW_BAD,   // unwind information that the walker cannot follow
	RT_UW_DEPTH, // CFA = *(*(reg + off) + 8) - *(reg + slot[0]) + off2: of a goroutine that calls C, whose stack is known by its top
	RT_UW_LUAJIT, // a trace of LuaJIT: CFA = the frame that its machine has for the thread *(reg + off), + off2
	RT_UW_LUAVM, // its machine: CFA = reg + off, or a word more in pieces that it calls itself, or where it leaves a trace: as there, of the thread *(r14 + off2)
	RT_UW_BEAM, // Erlang's compiled code (walk_beam.h); off: a piece that such code calls; off2: where a process has its stack pointer
	RT_UW_GO,    // a goroutine's stack goes on where the thread's own ends, or the other way: enum RtUwGo; CFA = that stack pointer + off2
};
#define RT_UW_END_ENTRY 1 // it is where a program begins
#define RT_UW_END_FIBER 2 // the end of a fiber's stack: what goes on on it was resumed from another one
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
	RT_UW_GO_LOADED, // 1: off is where the loader has put that number: the address less RtUw.bias
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
	RT_UW_RA_GO,  // RT_UW_GO: kept beside that stack pointer
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
#if RT_IS_ARM64
#define RT_NREGS 32
#define RT_R_FP 29
#define RT_R_SP 31
#define RT_R_RA 30
#define RT_SLOT_REGS {29, 19, 20, 21, 22, 23}
#define RT_SLOT_BITS(s) (((s) & 1u) << 29 | ((s) & 0x3eu) << 18) // bits of slots -> bits of registers
#define RT_CALLEE_SAVED 0x3ff80000u // x19..x29
#define RT_CALL_CLOBBERS 0x40030000u // x30; x16 and x17, which the linker's veneers use (AAPCS64 6.1.1)
struct RtPtRegs {		    // struct user_pt_regs
	u64 r[31], sp, pc, pstate;
};
#define RT_REGS_PC(r) ((r)->pc)
#define RT_REGS_SP(r) ((r)->sp)
#elif RT_IS_RISCV64
#define RT_NREGS 32
#define RT_R_FP 8
#define RT_R_SP 2
#define RT_R_RA 1
#define RT_SLOT_REGS {8, 9, 18, 19, 20, 21}
#define RT_SLOT_BITS(s) (((s) & 3u) << 8 | ((s) & 0x3cu) << 16)
#define RT_CALLEE_SAVED 0x0ffc0300u // s0, s1, s2..s11: x8, x9, x18..x27
#define RT_CALL_CLOBBERS 0x700000e2u // x1; x5 to x7, x28 to x30, which stubs of the linker use
struct RtPtRegs {		     // struct pt_regs: pc in the place of x0, x1 to x31
	u64 r[32], status, badaddr, cause, orig_a0;
};
#define RT_REGS_PC(x) ((x)->r[0])
#define RT_REGS_SP(x) ((x)->r[RT_R_SP])
#define RT_USER_PC(pc) ((pc) && !((pc) >> 63)) // user space is the lower half of addresses
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
#define RT_REGS_PC(r) ((r)->ip)
#define RT_REGS_SP(r) ((r)->sp)
#endif

#include "bpfrt/langs.h"

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
	u64 bias;	   // address - file offset, of the place that rtg_leave_rare() is to leave
	u64 map_start, map_len, map_off; // mapping looked up last; map_len 0: none
	u32 obj;	   // its object; 0: none, or not known
	u32 made;	   // it was told that its maker tells of it (RT_UW_MADE)
	u32 told;	   // user space told of it, and it is so
	u32 unknown;	   // no mapping there, or a file user space has not told of
	u32 lost;	   // enum RtWhy: why no object is known there
	u32 lacks;	   // there was an unknown frame
	u32 gone;	   // no memory where pc was
	u64 jits;	   // of the mappings the walk began with (struct RtUwChunk)
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
	u32 lang, jit;	   // the one at hand is in a runtime's object; may be code made at run time. (In memory: what the verifier knows of them would multiply its states.)
	u32 by_fp;	   // frames there were, and 1, when one was left by frame pointer
	u32 sure;	   // RT_CHAIN_SURE of the one at hand
	u32 bare;	   // the last one is
	u32 leaf;	   // no frame has been left yet
	u32 entry;	   // pc is the first instruction of a function
	u32 born;	   // a system call has just returned 0, as clone(2) does in the child (x86-64); 2: it was clone
	u32 trap;	   // the thread came into the kernel by an exception or interrupt (x86)
	u32 compat;	   // 32-bit code on x86-64: 1; 2: in a segment of its own
	u32 why;	   // enum RtWhy
	u32 weak;	   // enum RtWhy: frame pointers had to do for code that has unwind information
	u32 guess;	   // enum RtWhy: the first RT_WHY_GUESS_* on the way, 0 none
	u64 guess_frame;   // its frame, and the one being left
	u64 guess_place, guess_before; // where the frame was that is left, and the one before it, if by the first guess, one of a rule; 0: not so
	u64 last_frame;
	u32 stop;
	u32 rule;	   // result of locate(), as frame
	u64 frame;
	u64 h1, h2;	   // hashes of the frames of the piece at hand
	u64 piece1[RT_STACK_MAX / RT_STACK_PIECE], piece2[RT_STACK_MAX / RT_STACK_PIECE]; // ... of those before it that are in the buffer
	u64 all1, all2;	   // ... of the pieces' hashes; of a deep stack, of their ids
	u64 tramp;	   // address of the uretprobe trampoline in this process, as return addresses have it; 0: no pending uretprobe. The kernel takes the highest page
			   // there is, with five levels of page tables beyond RT_UW_PC_BITS (riscv64, x86-64; arm64 with addresses of 52 bits)
	u64 ri;		   // first struct return_instance
	u64 ra_slot;	   // where the return address pc came from
	u64 go_sp;	   // where the thread's own stack goes on below the Go function that C called; 0: the runtime says it
	u64 beam;	   // the frame left last was of a piece that Erlang's compiled code calls (walk_beam.h)
	u64 bare_pc;	   // where the frame left last was, if in no file and by its frame pointer
	u64 tmp[3];
	struct RtUwFile file, opened; // vma.bpf.c
	u64 unread; // address of the last read that failed; 0 none
	u64 win_at, win_n; // win holds the win_n + 7 bytes from win_at on; 0: none
	u64 win[RT_UW_WIN / 8];
};
#define RT_SLACK (RT_TRIM_DEPTH + 8)
#define RT_STACK_KNOWN 64 // a power of two
struct RtStackBuf {
	u32 busy, skip; // skip: result of count_tracer
	u32 slot;	// its number among the CPU's buffers
	u32 want, most;	// bytes of frames the program shall ask the kernel for; and of all there may be
	u32 usual;	// stays: RT_KSTACK_USUAL_SHIFT, as many as kernel stacks of late have had
	u64 owner; // who took it: tells a race between two tasks from proper nesting
	u64 func; // RT_SRC_F_FUNC_IP
	struct RtUw uw;
	struct RtLangWalk lang;
	struct RtPtRegs regs;
	u64 buf[sizeof(struct RtStack) / 8 + RT_STACK_MAX + RT_SLACK]; // struct RtStack, frames; trimming moves the head up
	u64 list[sizeof(struct RtStack) / 8 + RT_STACK_PIECES];	       // struct RtStack, ids of pieces
	struct {
		u64 id, check;
	} known[RT_STACK_KNOWN]; // kernel stacks that this CPU has found under their ids, by their hash: nobody takes them out
};
#define RT_STACK_BUFS 4 // nested events on one CPU
#define RT_KSTACK_AT (offsetof(struct RtStackBuf, buf) + sizeof(struct RtStack)) // frames of a kernel stack
#define RT_KSTACK_MASK 0xff8 // of RtStackBuf.want, for the verifier
// bpf_get_stack clears what it does not fill, 20 ns for 60 frames, and walks anew where it is asked for more: so a few more are asked for at first than stacks
// had before. That grows at once, and shrinks by a frame in 32 events: deep stacks that are not rare shall not be walked twice.
#define RT_KSTACK_LEAST 16 // frames
#define RT_KSTACK_MORE 4
#define RT_KSTACK_USUAL_SHIFT 5

// ---- stacks that are cut because memory of the thread is not there (swapped out): unwind.bpf.c, lower/lower_cold.c
struct RtColdAt {
	u64 unread; // address; 0: the stack is not cut for that
	u64 why;    // enum RtWhy
	u64 sp, pc; // with which the thread will go on in user mode
};
// Of the map RT_COLD_MAP, by ids with RT_STACK_IS_COLD: the stack they stand for
struct RtCold {
	u64 work; // struct bpf_task_work
	u64 id;	  // of the stack as it was at the event, then of the whole one
	struct RtColdAt at;
};
#define RT_COLD_MAP "sonde_cold"
#define RT_COLD_MAX 16384

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

#define RT_UW_ASKED_RECORDS (1u << 31) // in keys of rt_uw_asked, with the process: for RT_EV_RECORDS

// ---- record of the ring buffer rt_uw_events: struct RtEvent {RT_EV_PROC_NEW, object or 0}, u64 tgid. Object 0: the mappings of tgid are not known;
// else: its table is wanted next. RT_EV_UW_PAGE, object: tgid is the page of it, counted from its first one, whose record was taken out.
struct RtProcNew {
	struct RtEvent ev;
	u64 tgid;
};
#endif
