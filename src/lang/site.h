// What of a checked script is needed where it runs: its settings, and format sites: how the bytes of its events become text.
#ifndef SONDE_SITE_H
#define SONDE_SITE_H
#include "type/type.h"

#define STACK_PARTS_MAX 5
struct Config { // config block and environment, after resolution
	u32 max_strlen, max_map_keys, max_probes, max_bpf_progs, max_cat_bytes, log_size, on_stack_limit;
	u64 perf_rb_pages; // 0: by memory
	enum StackMode stack_mode;
	const char *str_trunc_trailer;
	const char *license;
	bool cpp_demangle, language_frames, lazy_symbolication, print_maps_on_exit, show_debug_info;
	const char *stack_unit, *stack_title; // of the values of a map keyed by stacks, for reports; title "": the script's name
	const char *stack_parts; // names of what values are split into, by the number that is the key's `kind`; "": they are not
	const char *stack_form;	 // what the parts of the key mean, and how the text shows them: "", "waits", "waker", "wakers", "calls" (tool/form.c)
	const char *stack_event; // what is counted; "": nothing to be said
	u64 stack_divide; // these values are divided by it where they are shown
	bool in_place; // assigning to a key that is there overwrites its value where it lies, however long
	enum { MISSING_ERROR, MISSING_WARN, MISSING_IGNORE } missing_probes;
	bool unwind_fp;	 // --unwind=fp
	bool native;	 // --native: no frames of languages, whatever the script says
	bool helper_errors; // -k
	u8 unstable_tseries, unstable_typeinfo, unstable_dw_ustack; // 0 warn, 1 enable, 2 error
	bool unsafe;
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
#endif
