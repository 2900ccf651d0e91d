// Layouts that the kernel side (bpfrt/*.bpf.c, generated code) and the user side (run/, track/, stack/) share. Plain C, no headers needed
// on the bpf target: both sides define u8..s64 before including this.
#ifndef SONDE_RT_ABI_H
#define SONDE_RT_ABI_H

// ---- events through the ring buffer: each record starts with this head
struct RtEvent {
	u32 kind; // enum RtEventKind
	u32 id;	  // format site, map, ...
};
enum RtEventKind {
	RT_EV_FMT,	 // id: format site (printf, print(value), time, cat, system, errorf, strftime...): payload laid out by it
	RT_EV_PRINT_MAP, // id: map; payload struct RtPrintMap
	RT_EV_PRINT_ENTRY, // id: map; payload: the key
	RT_EV_CLEAR, RT_EV_ZERO, // id: map
	RT_EV_EXIT,	 // payload: u64 exit code
	RT_EV_JOIN,	 // id: format site; payload: u64 n, then n strings, one every RT_JOIN_STRIDE bytes
	RT_EV_HELPER_ERR, // id: error site; payload: s64 return code (-k)
	RT_EV_PROC_NEW,	 // a process whose mappings the unwinder does not know; payload: u64 tgid
	RT_EV_UW_PAGE,	 // id: object; payload: u64 page of its unwind table
	RT_EV_CODE,	 // struct RtCodeNew
	RT_EV_WATCH, RT_EV_UNWATCH, // id: number of the watchpoint (WATCH); payload: u64 address
	RT_EV_JIT,	 // a process whose code made at run time is not as it was told; payload: u64 tgid
	RT_EV_RECORDS,	 // the kernel's records shall be read at once; payload: u64 key in rt_uw_asked, 0: none
	RT_EV_OTEL,	 // a process of which it is not known where its threads publish their request; payload: u64 ident as in struct RtOtel, u64 tgid
};
// ---- where the threads of a process publish the request they work on (otel.bpf.c): value of the map rt_otel, by tgid
enum RtOtelKind {
	RT_OTEL_ASKED,	// user space is looking
	RT_OTEL_NONE,	// nowhere
	RT_OTEL_STATIC, // so far from the thread pointer
	RT_OTEL_DTV,	// in the thread's block of a module
};
struct RtOtel {
	u64 ident; // of the program that the process runs: RT_OTEL_IDENT()
	u64 again; // CLOCK_MONOTONIC, ns: from then on it is asked for again; 0: never
	s64 off;   // of the pointer to the record: from the thread pointer, or in the block
	u32 kind;
	u32 module;	// RT_OTEL_DTV: number of the module,
	s32 dtv, count; // from the thread pointer: where the address of the table of blocks lies; from there: where its length does
	u32 step;	// bytes of an entry
	u32 tries;	// RT_OTEL_NONE: so often user space has found nothing
};
// mm_struct's start_code, end_code and start_stack; when the process was forked, in units of 10 ms: fields 26, 27, 28 and 22 of /proc/PID/stat.
#define RT_OTEL_IDENT(code, end, stack, start) ((((code) * 31 + (end)) * 31 + (stack)) * 31 + (start) * 2 + 1)
#define RT_OTEL_ID 16 // bytes of a trace's id; half as many of a span's

struct RtPrintMap {
	u64 top, div;
	u64 take; // the map is cleared by it: what is counted while it is read is lost to neither
};

// ---- a packet (skboutput): this, then `len` bytes of the packet, as a sample of the perf event of its CPU in the map sonde_packets
struct RtPacket {
	u64 nsecs; // CLOCK_BOOTTIME
	u32 site;  // format site: the file
	u32 len, offset, pad;
};

// ---- value layouts of type/type.h kinds
struct RtUsym {
	u64 addr;
	u32 pid, pad;
};
struct RtInet {
	u32 af; // AF_INET or AF_INET6, 0: none
	u8 addr[16];
};
struct RtStrftime {
	u32 fmt;   // format site
	u32 clock; // CLOCK_*
	u64 nsecs;
};
struct RtCgroupPath {
	u64 fmt; // format site holding the filter text
	u64 id;
};
// Aggregations. hist and lhist: a u64 for each bucket.
struct RtTotal { // count and sum
	u64 total;
};
struct RtMinMax {
	u64 val;
	u64 is_set;
};
struct RtAvg { // avg and stats
	u64 total;
	u64 count;
};
struct RtQuantiles { // then a u64 for each bucket of hist(n, 5)
	u64 max; // of the values with their sign bit flipped; 0: there is none
};
// What a program that asks for a percentile adds up, in its scratch: then the buckets of all CPUs.
struct RtBuckets {
	u64 total;	       // values
	u64 max;	       // of quantiles
	u64 below, rank, at;   // where the search is
	u64 bucket[];
};
#define RT_BUCKETS_MASK 4095   // more than any histogram has
#define RT_BUCKETS_NONE 0xffff // in no bucket: nothing was added
// A time series is a ring of these, one an interval: interval number `epoch` is in slot epoch % n.
struct RtTsSlot {
	u64 val;
	u64 meta;  // avg: how many values; last: time of the value; else 1
	u64 epoch; // time / interval; 0: never used
};
enum RtTsAgg { RT_TS_LAST, RT_TS_AVG, RT_TS_MAX, RT_TS_MIN, RT_TS_SUM }; // as enum TsAgg of type/type.h

// ---- a value of a map of the script: the bytes of its type, up to the next multiple of 8; per-CPU maps have that once for each CPU.
// A map without keys is an array of one element, which is always there, so a word behind the bytes says whether it was ever set, 1 or 0.
// Aggregations whose 0 says that nothing was added have no such word.
#define RT_VALUE_SIZE(bytes) (((bytes) + 7u) & ~7u)
#define RT_VALUE_SET_SIZE 8u // of that word, at RT_VALUE_SIZE(bytes)

// ---- stacks. A stack id is hash52 << 12 | frames (1..RT_STACK_MAX); 0: no stack. Interned in the rt_stacks_* maps under that id.
// A user stack of more frames is a list of ids, of pieces of RT_STACK_PIECE frames each, the last one of fewer: its own id has RT_STACK_LIST. Of a
// recursion most pieces are the same.
#define RT_STACK_LOST (1ULL << 12) // there was a stack, but it could not be taken or stored; counted in RtCounters
#define RT_STACK_LIST 2048
#define RT_STACK_NFRAMES(id) ((u32)((id) & (RT_STACK_LIST - 1))) // of the entry; or pieces
#define RT_STACK_MAX 1024 // frames of an entry
#define RT_STACK_IS_COLD(id) (((id) & 4095) == 4095) // the map RT_COLD_MAP has the id it stands for (stack.h)
#define RT_STACK_PIECE 128
#define RT_STACK_PIECES 512
#define RT_STACK_DEEP (RT_STACK_PIECE * RT_STACK_PIECES) // frames of a user stack

// A frame of a kernel stack is its address. A frame of a user stack is either
//   bit 63 set: RT_FRAME_OBJ | object id << 44 | file offset      (18 bits of object, 44 of offset)
//   bit 63 clear: a raw virtual address of process `pid` below (JIT code, or a mapping not known when it was taken)
// Either may have RT_FRAME_EXACT: the place is where the thread was (the leaf, or what a signal interrupted). Without it, it is a return address:
// the call is before it, and may be its function's last instruction.
#define RT_FRAME_OBJ (1ULL << 63)
// A raw one may have RT_FRAME_NOFILE: there was no file at that address when it was taken, as the kernel itself has it; whatever lies there later is not
// its name.
#define RT_FRAME_EXACT (1ULL << 62)
#define RT_FRAME_NOFILE (1ULL << 61)
#define RT_FRAME_MAKE(obj, off) (RT_FRAME_OBJ | (u64)(obj) << 44 | ((u64)(off) & 0xfffffffffffULL))
#define RT_FRAME_ID(f) ((u32)((f) >> 44 & 0x3ffff))
#define RT_FRAME_OFF(f) ((f) & 0xfffffffffffULL)
#define RT_FRAME_ADDR(f) ((f) & ~(RT_FRAME_EXACT | RT_FRAME_NOFILE)) // of a raw one

// A language frame: neither of the above but bit 60 set: number of the code (40 bits) << 20 | position in it, as its runtime counts (of Python: bytes, as
// dis and f_lasti do). The number is a hash of what the code is, the same in all processes.
#define RT_FRAME_LANG (1ULL << 60)
#define RT_CODE_BITS 40
#define RT_POS_BITS 20
#define RT_POS_MAX ((1ULL << RT_POS_BITS) - 1) // and more
#define RT_FRAME_IS_LANG(f) ((f) >> 60 == 1)
#define RT_FRAME_CODE(f) ((f) >> RT_POS_BITS & ((1ULL << RT_CODE_BITS) - 1))
#define RT_FRAME_POS(f) ((u32)((f) & RT_POS_MAX))

// What the kernel side copies of a code object when it sees it first. Texts as the process had them: user space decodes.
enum RtLangKind { RT_LANG_NONE, RT_LANG_PYTHON, RT_LANG_GO, RT_LANG_JAVA, RT_LANG_PHP, RT_LANG_RUBY, RT_LANG_PERL, RT_LANG_LUA, RT_LANG_V8, RT_LANG_LUAJIT };
#define RT_CODE_NAME 96
#define RT_CODE_FILE 160 // of a longer one the end
#define RT_CODE_CLASS 112 // of file, of Java: its class; from here on its source file. lines_kind: bytes of the class's name
#define RT_CODE_LINES 4096 // of longer ones (1 % of Debian's library is beyond 1,143 bytes) the beginning
#define RT_CODE_SCRIPT 128 // in lines, of JavaScript: from here on what is no part of its number: struct RtScriptAt
struct RtScriptAt { // where a function's script lay in its process
	u64 script, id, tgid;
};
struct RtCode {
	u64 check; // second hash over the same content: two codes with one number differ here
	u16 kind;  // enum RtLangKind
	u16 lines_kind;		    // how the table is coded: the runtime's own
	u8 name_width, file_width; // bytes a character
	u8 name_len, file_len;	    // bytes
	u32 first_line;
	u32 nlines; // bytes of the line table in the process; lines holds its beginning
	u8 name[RT_CODE_NAME];
	u8 file[RT_CODE_FILE];
	u8 lines[RT_CODE_LINES];
};
// Record of the ring buffer rt_uw_events: a code that was not seen lately. Of lines only what there is.
struct RtCodeNew {
	struct RtEvent ev; // RT_EV_CODE, 0
	u64 id;
	struct RtCode code;
};

// Value of the stack maps, truncated to the size class's number of frames.
struct RtStack {
	u64 check;  // second hash over the same frames: two stacks with one id differ here
	u32 n;
	u32 pid;    // of raw user frames; 0 when there are none or the stack is a kernel one
	u16 flags;  // RT_STACK_*
	u16 why;    // enum RtWhy: why a user stack ends where it does
	u32 total;  // RT_STACK_IS_LIST: frames in all pieces; IS_PAIR: frames
	u64 frames[]; // or ids of pieces, the leaf's first
};
#define RT_STACK_USER 1
#define RT_STACK_INCOMPLETE 2 // did not reach the thread's root
#define RT_STACK_CUT 4	      // frame limit of sonde, not of the script
#define RT_STACK_IS_LIST 8
#define RT_STACK_IS_PAIR 16 // two ids of one stack, and RT_STACK_LIST in its own: with frames as above, and as virtual addresses
enum RtWhy {
	RT_WHY_OK, RT_WHY_NO_PROC, RT_WHY_NO_MAPPING, RT_WHY_NO_TABLE, RT_WHY_BAD_READ, RT_WHY_BAD_CFA, RT_WHY_NO_RULE, RT_WHY_FP_END, RT_WHY_LIMIT,
	RT_WHY_KTHREAD,
	RT_WHY_EXITING, // memory given up already
	RT_WHY_RA_ZERO, RT_WHY_FP_ZERO, // ends of the chain by agreement; whole, but less surely so than by unwind information
	RT_WHY_ASKED,			// the script's own limit; whole
	RT_WHY_NO_ROOM,			// for more pieces of a deep stack
	RT_WHY_URETPROBE,		// a return address that a uretprobe has replaced, just now
	RT_WHY_GUESS_FP, RT_WHY_GUESS_RULE, // reached the root, but by a frame pointer or a rule that nothing proves: callers may be missing
	RT_WHY_RUNS, // iter:task: the thread runs, or ran while its stack was read
	RT_WHY_NEW_FILE, // code of a file mapped so recently that user space does not know it yet
	RT_WHY_NO_PERM, RT_WHY_UNREADABLE, RT_WHY_FULL, // an unwind table that will never be ready: the file may not, cannot be read; no room for it
	RT_WHY_LANG, // frames of an interpreter that could not be read
	RT_WHY_DAMAGED, // the ELF headers of the file with the code make no sense
	RT_WHY_GUESS_INLINED, // reached the root, but through optimised code (V8, LuaJIT), of which nobody says what was inlined there
	RT_WHY_THAWED, // Java: a virtual thread that waited has its outer frames in the heap until it returns to them
	RT_WHY_NO_CALL, // a zero where a call leaves its return address: the code was jumped to, and keeps a stack of its own
	RT_WHYS
};

// ---- counters, one struct per CPU in the per-CPU array "rt_counters": nothing is lost in silence
// Failures at one place of the script (map rt_sites is an array of these in one element).
struct RtSite {
	u64 count;
	s64 ret; // of the helper, the last time
};

struct RtCounters {
	u64 lost_events;	// ring buffer full
	u64 map_full;		// update of a user map refused: it has as many keys as it takes
	u64 map_refused;	// for another reason: no memory at that moment, another update of the same bucket under way, the key taken as it was added
	u64 stack_full;		// stack could not be stored
	u64 stack_collision;	// same id, other frames, no free neighbour
	u64 stack_kfail, stack_ufail; // bpf_get_stack / unwinder gave nothing where there should be something
	u64 scratch_busy;	// event dropped: every scratch slot of this CPU was in use
	u64 strings_unread;	// str() of user memory that was not there
	u64 reads_failed;	// other reads of memory that was not there, with --strict; not of null pointers
	u64 requests_unread;	// trace_id, span_id of a process of which it was not known yet where they are, or that could not be read
	u64 kstack_cut;		// kernel stacks deeper than bpf_get_stack() goes
	u64 put_off;		// events that wait until a text is in memory: one more when that begins, one less when it is told; the sum of all processors counts
	u64 cold;		// user stacks that wait until memory is there, likewise
	u64 why[32];		// user stacks by enum RtWhy
};
#endif
