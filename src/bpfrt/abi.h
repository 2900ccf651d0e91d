// Layouts that the kernel side (bpfrt/*.bpf.c, generated code) and the user side (run/, unwind/) share. Plain C, no headers needed
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
	RT_EV_CLEAR, RT_EV_ZERO, // id: map
	RT_EV_EXIT,	 // payload: u64 exit code
	RT_EV_JOIN,	 // id: format site; payload: struct RtJoin
	RT_EV_HELPER_ERR, // id: error site; payload: s64 return code (-k)
	RT_EV_PROC_NEW,	 // a process whose mappings the unwinder does not know; payload: u64 tgid
	RT_EV_WATCH, RT_EV_UNWATCH, // id: number of the watchpoint (WATCH); payload: u64 address
	RT_EV_SIGSTOPPED,
};
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

// ---- value layouts of lang/type.h kinds
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
struct RtMinMax {
	u64 val;
	u64 is_set;
};
struct RtAvg { // avg and stats
	u64 total;
	u64 count;
};
// A time series is a ring of these, one an interval: interval number `epoch` is in slot epoch % n.
struct RtTsSlot {
	u64 val;
	u64 meta;  // avg: how many values; last: time of the value; else 1
	u64 epoch; // time / interval; 0: never used
};
enum RtTsAgg { RT_TS_LAST, RT_TS_AVG, RT_TS_MAX, RT_TS_MIN, RT_TS_SUM }; // as enum TsAgg of lang/type.h

// ---- stacks. A stack id is hash52 << 12 | nframes (1..4095); 0: no stack. Interned in the rt_stacks_* maps under that id.
#define RT_STACK_LOST (1ULL << 12) // there was a stack, but it could not be taken or stored; counted in RtCounters
#define RT_STACK_NFRAMES(id) ((u32)((id) & 0xfff))
#define RT_STACK_MAX 1024 // frames, user or kernel

// A frame of a kernel stack is its address. A frame of a user stack is either
//   bit 63 set: RT_FRAME_OBJ | object id << 44 | file offset      (19 bits of object, 44 of offset)
//   bit 63 clear: a raw virtual address of process `pid` below (JIT code, or a mapping not known when it was taken)
#define RT_FRAME_OBJ (1ULL << 63)
#define RT_FRAME_MAKE(obj, off) (RT_FRAME_OBJ | (u64)(obj) << 44 | ((u64)(off) & 0xfffffffffffULL))
#define RT_FRAME_ID(f) ((u32)((f) >> 44 & 0x7ffff))
#define RT_FRAME_OFF(f) ((f) & 0xfffffffffffULL)

// Value of the stack maps, truncated to the size class's number of frames.
struct RtStack {
	u64 check;  // second hash over the same frames: two stacks with one id differ here
	u32 n;
	u32 pid;    // of raw user frames; 0 when there are none or the stack is a kernel one
	u16 flags;  // RT_STACK_*
	u16 why;    // enum RtWhy: why a user stack ends where it does
	u32 pad;
	u64 frames[];
};
#define RT_STACK_USER 1
#define RT_STACK_INCOMPLETE 2 // did not reach the thread's root
#define RT_STACK_CUT 4	      // frame limit of sonde, not of the script
enum RtWhy {
	RT_WHY_OK, RT_WHY_NO_PROC, RT_WHY_NO_MAPPING, RT_WHY_NO_TABLE, RT_WHY_BAD_READ, RT_WHY_BAD_CFA, RT_WHY_NO_RULE, RT_WHY_FP_END, RT_WHY_LIMIT,
	RT_WHY_KTHREAD,
	RT_WHY_EXITING, // memory given up already
	RT_WHY_RA_ZERO, RT_WHY_FP_ZERO, // ends of the chain by agreement; whole, but less surely so than by unwind information
	RT_WHY_ASKED,			// the script's own limit; whole
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
	u64 map_full;		// update of a user map refused
	u64 stack_full;		// stack could not be stored
	u64 stack_collision;	// same id, other frames, no free neighbour
	u64 stack_kfail, stack_ufail; // bpf_get_stack / unwinder gave nothing where there should be something
	u64 scratch_busy;	// event dropped: every scratch slot of this CPU was in use
	u64 why[16];		// user stacks by enum RtWhy
};
#endif
