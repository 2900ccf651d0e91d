// stack.h: layouts that stack capture (stack.bpf.c), the unwinder (unwind.bpf.c) and user space (src/unwind) share, and the functions
// generated code calls:
//   u64 rt_ustack(void *ctx, u64 limit, u64 src)   u64 rt_kstack_task(void *task, u64 limit)
//   struct RtStackBuf *b = rt_kstack_begin(limit, src);	   NULL: no stack, id 0
//   long got = bpf_get_stack(ctx, (char *)b + RT_KSTACK_AT, b->want & RT_KSTACK_MASK, 0);
//   u64 id = rt_kstack_end(b, got, limit, src, ctx);
// limit: frames wanted after the tracer's own are trimmed; 0 or more than RT_STACK_MAX: RT_STACK_MAX.
// src: a compile-time constant, RT_SRC_* | RT_SRC_F_* (unwind.h: stack_src() makes it from the probe's kind). ctx is the program's context.
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

// ---- who maps what: rt_uw_maps, keyed by (process, chunk number). Mappings ascend over all chunks of a process.
#define RT_UW_CHUNK 64	// mappings in a chunk
#define RT_UW_CHUNKS 16 // chunks of a process at most
#define RT_UW_PAGE 4096 // unit of RtUwMapping.pages
struct RtUwKey {
	u32 tgid, chunk;
};
#define RT_UW_NO_START (1ULL << 62) // of unused entries: above every address, and differences to it do not overflow
struct RtUwMapping {
	u64 start;
	u32 pages;
	u32 obj; // object id: sym.h, never 0
	u64 off; // file offset of start
};
struct RtUwChunk {
	u32 n;	     // mappings in this chunk
	u32 nchunks; // of the process; valid in chunk 0
	u64 image;   // chunk 0: the program these are the mappings of (memory, execs), as the kernel side found (vma.bpf.c); 0 not checked yet
	u64 gen;     // of the whole set, below 2^48: another number whenever a process's mappings change; never 0. The same one: the same mappings
	u64 first[RT_UW_CHUNKS]; // start of each chunk's first mapping; valid in chunk 0
	struct RtUwMapping map[RT_UW_CHUNK];
};

#define RT_UW_PC_BITS 48 // of an address in a process
// ---- rt_uw_files: file -> object id. What user space has opened, as the kernel knows it: super_block.s_dev, inode.i_ino, i_size. The vDSO is all 0.
struct RtUwFile {
	u64 ino, size;
	u32 dev, pad;
};

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
};
struct RtUwObj {
	u32 dir;	// index in rt_uw_dir of the page first_page
	u32 first_page; // file offset >> RT_UW_PAGE_BITS
	u32 npages;
	u32 state; // enum RtUwState
	u32 asked; // a stack lacked the table while it was pending
	u32 pad;
};
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
};
// Registers a rule may restore, beside return address and stack pointer: DWARF numbers by slot. Slot 0 is the frame pointer.
#define RT_UW_SLOTS 6
struct RtUwRule {
	u8 kind; // enum RtUwKind
	u8 reg;	 // DWARF number
	u8 saved; // bit s: slot s is in memory
	u8 fprel; // bit s: at frame pointer + off[s] instead of CFA + off[s]
	u8 lost; // bit s: register of slot s is undefined, or found in a way the walker cannot follow
	u8 ra_kind; // enum RtUwRa
	s16 ra;	    // CFA-relative offset; RT_UW_RA_REG: register number
	s32 off, off2;
	s16 slot[RT_UW_SLOTS]; // bytes
	u8 index; // DEREF: register number + 1, 0 none (OpenSSL's Montgomery multiplication)
	u8 sp_kind; // enum RtUwSp
	s16 sp;	    // register number, or CFA-relative offset
};
enum RtUwSp { // the caller's stack pointer
	RT_UW_SP_CFA,
	RT_UW_SP_REG, // in register `sp` (longjmp)
	RT_UW_SP_MEM, // at CFA + sp (setcontext)
};
enum RtUwRa {
	RT_UW_RA_MEM, // at CFA + ra
	RT_UW_RA_REG, // in register `ra`
	RT_UW_RA_FP,  // at frame pointer + ra
};

// ---- places met before: rt_uw_seen, by a hash of address and generation of the mappings. Any CPU replaces an entry at any time: check tells whether
// the words it reads belong together.
#define RT_UW_SEEN_BITS 13
struct RtUwSeen {
	u64 check; // address (of a return address: the one before) ^ RT_UW_SEEN_MIX(frame, id)
	u64 frame; // as in struct RtStack
	u64 id;	   // generation << 16 | rule, or RT_UW_RULE_UNSEEN
	u64 pad;
};
#define RT_UW_SEEN_MIX(frame, id) ((frame) ^ (id) * 0x9e3779b97f4a7c15ULL)
#define RT_UW_RULE_UNSEEN 0xffff // its rule was not asked for

// ---- registers by DWARF number
#if defined(RT_ARM64) || defined(__aarch64__)
#define RT_NREGS 32
#define RT_R_FP 29
#define RT_R_SP 31
#define RT_SLOT_REGS {29, 19, 20, 21, 22, 23}
#define RT_SLOT_BITS(s) (((s) & 1u) << 29 | ((s) & 0x3eu) << 18) // bits of slots -> bits of registers
#define RT_CALLEE_SAVED 0x3ff80000u // x19..x29
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
struct RtPtRegs { // struct pt_regs
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};
#endif

#define RT_UW_WIN 512 // bytes of the stack read at once

// ---- the walker's state, and what one CPU needs for one stack
struct RtUw {
	u64 pc;
	u64 reg[RT_NREGS]; // the value, or where it is saved
	u32 valid;	   // bit r: reg[r] is known
	u32 saved;	   // bit r: it is an address
	u64 gen;	   // of the process's mappings; 0: not known, or they changed meanwhile
	u64 map_start, map_len, map_off; // mapping looked up last; map_len 0: none
	u32 obj;	   // its object; 0: none, or not known
	u32 told;	   // user space told of it
	u32 unknown;	   // no mapping there, or a file user space has not told of
	u32 lacks;	   // there was an unknown frame
	u32 gone;	   // no memory where pc was
	u32 stale;	   // rt_uw_maps has nothing on the process, or what it was before
	u32 tgid;
	u32 n, limit;	   // frames
	u32 is_ra;	   // pc is a return address: its row is that of pc - 1
	u32 fp_only;
	u32 raw;	   // some frame is a raw address
	u32 bare;	   // the last one is
	u32 leaf;	   // no frame has been left yet
	u32 entry;	   // pc is the first instruction of a function
	u32 why;	   // enum RtWhy
	u32 weak;	   // enum RtWhy: frame pointers had to do for code that has unwind information
	u32 stop;
	u32 rule;	   // result of locate(), as frame
	u64 frame;
	u64 h1, h2;	   // of the frames so far
	u64 tramp;	   // address of the uretprobe trampoline in this process; 0: no pending uretprobe
	u64 ri;		   // first struct return_instance
	u64 ra_slot;	   // where the return address pc came from
	u64 tmp[2];
	struct RtUwFile file; // vma.bpf.c
	u64 pivot[15];
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
	struct RtPtRegs regs;
	u64 buf[sizeof(struct RtStack) / 8 + RT_STACK_MAX + RT_SLACK]; // struct RtStack, frames; trimming moves the head up
};
#define RT_STACK_BUFS 4 // nested events on one CPU
#define RT_KSTACK_AT (offsetof(struct RtStackBuf, buf) + sizeof(struct RtStack)) // frames of a kernel stack
#define RT_KSTACK_MASK 0xff8 // of RtStackBuf.want, for the verifier

// ---- rt_uw_ends (--why-incomplete): how many user stacks of a process ended at a frame, and why
#define RT_UW_ENDS 16384
struct RtUwEnd {
	u64 frame; // the last one; 0: no frames
	u32 tgid;  // 0: kernel threads, exiting processes, and whatever had no room (user space has put these in)
	u16 why;   // enum RtWhy
	u16 leaf;  // the frame is the only one: no return address
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
