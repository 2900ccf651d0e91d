// The waist between collection and rendering: values as run/ read them (already symbolized and merged over CPUs) and the
// events a renderer is told. out/ knows nothing of BPF, types or processes.
#ifndef SONDE_REPORT_H
#define SONDE_REPORT_H
#include "base/base.h"

struct Frame {
	u64 addr;	    // address as stored (kernel) or virtual address if known (user); 0 if unknown
	const char *sym;    // NULL: unresolved
	u64 sym_off;	    // addr - start of sym
	const char *module; // kernel: NULL or module name; user: path of the object; NULL: unknown
	u64 module_off;	    // file offset in the object
	const char *file;   // NULL: no line information
	u32 line;
	bool inlined;	    // this frame is inlined into the next one
	bool kernel;
};

enum StackStyle { STACK_STYLE_BPFTRACE, STACK_STYLE_PERF, STACK_STYLE_RAW };

enum ValueKind {
	V_NONE, V_INT, V_UINT, V_BOOL, V_PTR, // V_PTR prints 0x...
	V_STR,	  // text
	V_SYM,	  // text of ksym/usym: printed as a string
	V_BUF,	  // bytes, printed \x-escaped
	V_ENUM,	  // i and text
	V_TUPLE, V_ARRAY,
	V_RECORD, // items with names
	V_STACK,
	V_MINMAX, // scalar of min/max/avg/sum/count are V_INT/V_UINT; this kind is not used for them
	V_STATS,  // count, average, total
	V_HIST, V_LHIST, V_TSERIES,
};
struct HistBucket {
	s64 lo, hi; // [lo, hi); lo == INT64_MIN: "(..., hi)"; hi == INT64_MAX: "[lo, ...)"; lo == hi: single value "[lo]"
	u64 count;
};
struct TsPoint {
	u64 epoch_ns; // wall clock
	s64 val;
	bool has;
};
struct Value {
	enum ValueKind kind;
	s64 i;	       // INT, ENUM, BOOL
	u64 u;	       // UINT, PTR, STATS count
	s64 avg, total; // STATS
	bool uns;       // STATS, TSERIES: avg and total are unsigned
	const char *text; // STR, SYM, ENUM
	size_t len;	// STR, BUF
	struct Value *items; // TUPLE, ARRAY, RECORD
	const char **names;  // RECORD
	u32 n;
	struct Frame *frames; // STACK, leaf first
	u32 nframes;
	enum StackStyle style;
	bool truncated;	       // stack known to be cut
	const char *why;       // STACK: why it is incomplete or missing; NULL when whole
	struct HistBucket *buckets; // HIST, LHIST: from the first to the last non-empty
	u32 nbuckets;
	struct TsPoint *points;
	u32 npoints;
	u64 ts_interval;
};

struct MapEntry {
	struct Value key; // V_NONE for scalar maps; V_TUPLE for several keys
	struct Value val;
	u64 sort; // run/ sorts; kept for top
};
struct MapReport {
	const char *name; // "@x"
	bool scalar;	  // no key
	struct MapEntry *entries; // in printing order
	u32 n;
	u64 div;	  // already applied; 0/1 none
};

// A renderer: text.c and json.c each provide one. out is written and flushed by the renderer according to mode.
enum BufMode { BUF_NONE, BUF_LINE, BUF_FULL };
enum MsgKind { MSG_PRINTF, MSG_TIME, MSG_CAT, MSG_JOIN, MSG_SYSTEM };
struct Render {
	FILE *out;
	enum BufMode mode;
	bool stack_raw_addrs;
	const struct RenderOps *ops;
};
struct RenderOps {
	void (*message)(struct Render *, enum MsgKind, const char *text, size_t n);
	void (*map)(struct Render *, const struct MapReport *);
	void (*value)(struct Render *, const struct Value *); // print(expr)
	void (*attached)(struct Render *, u64 nprobes);
	void (*lost)(struct Render *, u64 nevents);
	void (*error)(struct Render *, const char *where, const char *text, int retcode); // helper error (-k), errorf
	void (*bench)(struct Render *, const char *const *names, const u64 *nsecs, u32 n);
	void (*flush)(struct Render *);
};
extern const struct RenderOps text_render_ops, json_render_ops;

// Text of one value as print() and %s show it (bpftrace's form), without a newline.
void value_text(const struct Value *v, struct Str *out);
void value_json(const struct Value *v, struct Str *out);
void frame_text(const struct Frame *f, enum StackStyle style, struct Str *out);

// ---- stack counts, for folded, flame graph, pprof and the tools' multi-line forms
struct StackSample {
	const char *comm;	// may be NULL
	u32 pid;
	const struct Value *labels; // further leading folded elements; may be NULL
	u32 nlabels;
	const struct Frame *user;   // leaf first
	u32 nuser;
	const struct Frame *kern;
	u32 nkern;
	const char *user_note, *kern_note; // "[Missed User Stack]" and the like instead of frames; NULL
	u64 value;
};
struct StackProfile {
	struct StackSample *samples;
	u32 n;
	const char *unit;	// "samples", "us", "count"
	const char *title;
	u64 period_ns;		// profile: time per sample; 0 unknown
	u64 start_ns, duration_ns; // wall clock
	bool delim;		// put "-" between user and kernel
	bool annotate;		// kernel frames get _[k]
	bool with_offsets;
};
void folded_write(const struct StackProfile *p, FILE *out);
struct err *flame_write(const struct StackProfile *p, FILE *out); // self-contained interactive SVG
struct err *pprof_write(const struct StackProfile *p, FILE *out); // gzipped profile.proto
#endif
