// What the compiler makes of a script: programs, maps, format sites. load/attach/run work from this alone.
#ifndef SONDE_PROGRAM_H
#define SONDE_PROGRAM_H
#include "ir/ir.h"
#include "lang/point.h"

struct MapDef {
	u32 id;		  // index in Program.maps; IrVal.id of IRO_MAPFD and IRO_MAPVAL
	const char *name; // "@x" for the script's maps (kernel name: "AT_x"), "rt_*"/"sonde_*" for sonde's own
	u32 bpf_type;	  // BPF_MAP_TYPE_*
	u32 key_size, value_size, max_entries, flags;
	bool user;	  // one of the script's maps
	bool scalar;	  // written without a key
	bool percpu;	  // values are per CPU and merged when read
	const struct Type *key; // NULL when scalar
	const struct Type *val;
	const void *init; // array of one element: its value_size bytes at load (then frozen when BPF_F_RDONLY_PROG is set); NULL zero
	const char *path; // CGROUP_ARRAY: the cgroup its one element is; else the map is the one pinned there; NULL: an ordinary map
	struct MapDef *inner; // ARRAY_OF_MAPS, HASH_OF_MAPS: what the inner maps are like (not in Program.maps); else NULL
	int fd;		  // set by load, -1 before; owned by struct Loaded
	bool zeroed;	  // zero() was called since clear(): a count() of 0 is one
	void *mmapped;	  // arrays with BPF_F_MMAPABLE: set by load
};

// ---- format sites: one per printf-like call in the script, and per print(value)
enum FmtKind { FK_PRINTF, FK_PRINT_VALUE, FK_TIME, FK_CAT, FK_SYSTEM, FK_ERRORF, FK_WARNF, FK_STRFTIME, FK_CGROUP_PATH, FK_JOIN, FK_SKB };
struct FmtArg {
	const struct Type *type; // how the bytes at off are laid out
	u32 off;		 // in the payload after struct RtEvent
};
struct FmtSite {
	enum FmtKind kind;
	u32 id;
	struct Span span;
	const char *fmt;      // format text; FK_STRFTIME: strftime text; FK_JOIN: separator; FK_SKB: path
	u32 len;
	struct FmtArg *args;
	u32 nargs;
	u32 size;	      // payload bytes. The record may be shorter when the last argument is a string: the missing bytes are 0.
	struct FmtPiece *pieces; // fmt, parsed by run/format.c on first use
	u32 npieces;
};
// FK_JOIN payload: u64 n, then n strings packed at join_stride bytes each
#define RT_JOIN_MAX 16
#define RT_JOIN_STRIDE 1024

struct ErrSite { // a helper call that may fail: with -k each failure is an event
	struct Span span;
	const char *what; // "probe_read_user_str", or a text with blanks: what went wrong
	bool counted;	  // without -k: counted in element `slot` of "rt_sites" (struct RtSite), reported once
	bool reported;	  // by run/losses.c
	u32 slot;
};

// ---- one BPF program
struct ProbeProg {
	struct ProbeAst *ast;
	enum ProbeKind kind;
	struct PointList points; // all served by this one program
	struct IrProg ir;
	struct Code code;
	struct ProbeProg *at_return; // kprobe session: the kretprobe program that code holds as well; owned, its points are as many as ours
	bool sleepable;
	// set by load
	int fd;
	u32 nverified;	// instructions the verifier processed
};

struct Config { // config block and environment, after resolution
	u32 max_strlen, max_map_keys, max_probes, max_bpf_progs, max_cat_bytes, log_size, on_stack_limit;
	u64 perf_rb_pages; // 0: by memory
	enum StackMode stack_mode;
	const char *str_trunc_trailer;
	const char *license;
	bool cpp_demangle, lazy_symbolication, print_maps_on_exit, show_debug_info;
	bool in_place; // assigning to a key that is there overwrites its value where it lies, however long
	enum { MISSING_ERROR, MISSING_WARN, MISSING_IGNORE } missing_probes;
	bool unwind_fp;	 // --unwind=fp
	bool helper_errors; // -k
	u8 unstable_tseries, unstable_typeinfo, unstable_dw_ustack; // 0 warn, 1 enable, 2 error
	bool unsafe;
};

struct Program {
	struct Arena *arena;
	struct Diags *diags;
	struct TypeTab *types;
	struct Config config;
	VEC(struct MapDef *) maps;
	VEC(struct ProbeProg *) progs;
	VEC(struct FmtSite *) fmts;
	VEC(struct ErrSite *) errsites;
	bool uses_ustack, uses_kstack, uses_usym, uses_events;
};
#endif
