// The waist between collection and rendering: values as run/ read them (already symbolized and merged over CPUs) and the
// events a renderer is told. out/ knows nothing of BPF, types or processes.
#ifndef SONDE_REPORT_H
#define SONDE_REPORT_H
#include "base/base.h"

// What code was loaded from. Lives as long as what the frames' texts point to.
struct Image {
	const char *path; // "[kernel.kallsyms]", "[module]"
	char build_id[41]; // in hex; "": not known
	struct ImageSegment {
		u64 vaddr, off, size; // in the file
	} *segs; // those with code first
	u32 nsegs; // 0: addresses are as they are
};
struct Frame {
	u64 addr;	    // address as stored (kernel) or virtual address if known (user); 0 if unknown: module_addr then
	const char *sym;    // NULL: unresolved
	u64 sym_off;	    // addr - start of sym
	const char *raw;    // the mangled name that sym is made from; NULL: none, or not known
	const struct Image *image; // NULL: not known, or nobody wants it (stacks_want_images)
	const char *module; // kernel: NULL or module name; user: path of the object; NULL: unknown
	u64 module_off;	    // file offset in the object
	u64 module_addr;    // address in the object, as nm, objdump and addr2line have it
	const char *file;   // NULL: no line information
	u32 line;
	const char *mark;   // NULL; else no frame but a text in sym: a tool's own, with a number in line, or frame_mark_cut
	const char *lang;   // of an interpreted program's function: "python" (frame_lang_unknown: some), in file (NULL: not known), its line; NULL: native code
	bool ret;	    // addr and module_off are of a return address: the call is before it
	bool inlined;	    // this frame is inlined into the next one
	bool kernel;
};

extern const char frame_lang_unknown[];
extern const char frame_mark_cut[]; // Frame.mark: the stack is known to go on

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
	bool uns;       // STATS, TSERIES: avg and total are unsigned
	bool truncated; // stack known to be cut
	s64 i;	       // INT, ENUM, BOOL
	u64 u;	       // UINT, PTR, STATS count
	s64 avg, total; // STATS
	const char *text; // STR, SYM, ENUM
	size_t len;	// STR, BUF
	union { // of the kind's own; zero of those above. A report has a Value for each key and part of one
		struct { // TUPLE, ARRAY, RECORD
			struct Value *items;
			const char **names; // RECORD; TUPLE with named fields; else NULL
			u32 n;
		};
		struct { // STACK
			struct Frame *frames; // leaf first
			u32 nframes;
			enum StackStyle style;
			const char *why; // it is incomplete or missing; NULL when whole
		};
		struct { // HIST, LHIST
			struct HistBucket *buckets; // from the first to the last non-empty
			u32 nbuckets;
			u32 hist_bits;	// HIST: 2^bits buckets per power of two (decides where suffixes K, M, ... begin)
			s64 lhist_step; // LHIST: labels get K and M when the step is a multiple of 1024
		};
		struct { // TSERIES
			struct TsPoint *points; // ascending, the first one has a value; uns tells the sign
			u32 npoints;
			u64 ts_interval;
		};
	};
};

struct MapEntry {
	struct Value key; // V_NONE for scalar maps; V_TUPLE for several keys
	struct Value val;
	u64 sort; // run/ sorts; kept for top
};
struct MapReport {
	const char *name; // "@x"
	bool scalar;	  // no key
	bool stats;	  // values are avg or stats (JSON calls the message "stats")
	struct MapEntry *entries; // in printing order
	u32 n;
	u64 div;	  // already applied; 0/1 none
};

// --why-incomplete: events that took a user stack, by how it ended
struct StackEnd {
	u64 count;
	u32 pid;
	const char *comm, *reason;
	struct Frame frame; // the last one; of a guess the first that was left by one; sym and module may be NULL
	bool guess;	    // of StackEnds.guessed
};
struct StackEnds {
	u64 stacks, whole;		// whole: to the root of the thread, or as deep as the script asked for
	u64 guessed;			// likewise, but by frame pointers or rules that nothing proves: callers may be missing; not in whole
	u64 kernel_threads, exiting, running; // events that had no user stack, not in stacks
	u64 kernel, kernel_whole;	// different kernel stacks, whatever their number of events
	struct StackEnd *rows;		// the others, most frequent first; of kernel stacks: pid 0, count of different ones
	u32 n, cap;
};

// A renderer: text.c and json.c each provide one. out is written and flushed by the renderer according to mode.
enum BufMode { BUF_NONE, BUF_LINE, BUF_FULL };
enum MsgKind { MSG_PRINTF, MSG_TIME, MSG_CAT, MSG_JOIN, MSG_SYSTEM };
struct Render {
	FILE *out;
	FILE *err; // NULL: stderr
	enum BufMode mode;
	bool escape; // out is a terminal: control characters in values are shown as \xNN, newlines and colours too
	bool batch;  // more follows at once: line mode may flush later (set by the event loop)
	const struct RenderOps *ops;
};
// What went wrong while the script ran, with the place in the script.
enum RunErrorKind { RUN_ERRORF, RUN_WARNF, RUN_HELPER, RUN_RUNTIME };
struct RunError {
	enum RunErrorKind kind;
	const char *file; // "stdin", a path
	u32 line, col;	  // 1-based
	const char *where;   // "stdin:1:9-62"
	const char *context; // source line and underline, each ended by a newline; NULL: none
	const char *calls;   // of macros around the place, each as a message of its own; NULL: none
	const char *text;    // the message
	const char *helper;  // RUN_HELPER: "probe_read_user_str"
	s64 retcode;
};
struct RenderOps {
	void (*message)(struct Render *, enum MsgKind, const char *text, size_t n);
	void (*map)(struct Render *, const struct MapReport *);
	void (*value)(struct Render *, const struct Value *); // print(expr)
	void (*attached)(struct Render *, u64 nprobes);
	void (*lost)(struct Render *, u64 nevents);
	void (*loss)(struct Render *, const char *what, u64 n, const char *text); // other losses: what is an identifier ("map_full")
	void (*ends)(struct Render *, const struct StackEnds *);
	void (*error)(struct Render *, const struct RunError *); // errorf, warnf, helper errors (-k)
	void (*bench)(struct Render *, const char *const *names, const u64 *nsecs, const u64 *iters, u32 n);
	void (*end)(struct Render *); // tracing is over, the maps of the end follow
	void (*flush)(struct Render *);
};
extern const struct RenderOps text_render_ops, json_render_ops;

// prometheus.c
void prometheus_map(const struct MapReport *m, struct Str *out); // lines of Prometheus' text format
void prometheus_label(struct Str *out, const char *text);	  // as the value of a label, without its quotes

// Text of one value as print() and %s show it (bpftrace's form), without a newline.
void value_text(const struct Value *v, struct Str *out);
void value_text_escaped(const struct Value *v, struct Str *out); // for terminals, see Render.escape
void value_json(const struct Value *v, struct Str *out);
void frame_text(const struct Frame *f, enum StackStyle style, struct Str *out); // one line of a stack without indentation and newline
// bytes.c
size_t shown_len(const char *s, size_t n); // as utf8_len(), 0 also if it is a control character, turns the text around it (bidi) or is none that XML 1.0 (2.2) allows
void str_add_shown(struct Str *out, const char *s, size_t n); // what shown_len() refuses as \xNN
void str_add_json(struct Str *out, const char *s, size_t n);	    // a quoted JSON string
void str_add_json_uint(struct Str *out, u64 x); // as a string where a double would not hold it
void str_add_json_int(struct Str *out, s64 x);
// hist.c: rows of a histogram and the graph of a time series, lines ended by newlines
void hist_text(const struct Value *v, struct Str *out);
void tseries_text(const struct Value *v, struct Str *out);
void tseries_json(const struct Value *v, struct Str *out);
void hist_json(const struct Value *v, struct Str *out);

// A share of a sample's value: what is of one slot of time
struct SlotShare {
	struct SlotShare *next;
	u64 slot, value, part[5];
};

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
	u64 part[5]; // value by kind, where the collector tells kinds apart
	u64 events;  // how many the value is of, where the collector counts them (StackProfile.events); a sample of these alone has the value 0
	struct SlotShare *slots; // in no order, a slot may be there twice; what is in none of them is of no known time
};
// Where a label stands in pictures and folded lines: as a row of its own text behind the process, as a row "NAME TEXT" in front of it, or in none.
enum LabelPlace { LABEL_INNER, LABEL_OUTER, LABEL_ASIDE };
// Two profiles in one: StackSample.part[0] is of the one before, part[1] of the one after, value their sum.
struct ProfileDiff {
	const char *before, *after; // what they are called
	bool counts;		    // values are numbers of events: it can be told how much they vary by chance
	double alpha, spread;	    // false alarms that are allowed; runs vary so much more (variance) than independent samples, at least
	double any, own;	    // and by so much with each sample: of the binomial variance, and of its cube (tool/internal.h: COMPARE_ANY, COMPARE_OWN)
	u64 least;		    // what both have met less often is not judged
	struct FunctionSpread {
		const char *name;
		double self, total;
	} *spreads; // of functions that vary more
	u32 nspreads;
};
// What happened when: slots from number 0 on, one behind the other.
struct ProfileSlots {
	u64 width_ns; // 0: no slots
	u64 start_ns; // wall clock where slot 0 begins
	u32 n;	      // slots of the whole profile
	u32 rows;     // slots of a column in pictures: of a second
	u64 outside;  // value that is in no slot: beyond SLOTS_MAX
};
#define SLOTS_MAX 180000u // an hour of 20 ms
struct StackProfile {
	struct StackSample *samples;
	u32 n;
	const char *unit;	// "samples", "us", "count"
	const char *title;
	const char *command;	// that makes it, here and now; NULL: it was made before
	const char *const *comments; // ncomments texts of the file it was read from: "command: ..." and others
	u32 ncomments;
	const char *const *parts; // names of StackSample.part, nparts of them; NULL: values are not split
	u32 nparts;
	const char *events;	// what StackSample.events are called: "contentions"; NULL: they are not known
	const struct ProfileDiff *diff; // NULL: one profile
	const char *const *label_names; // of StackSample.labels; NULL: they have none
	const u8 *label_places; // enum LabelPlace; NULL: all are LABEL_INNER
	u64 period_ns;		// profile: time per sample; 0 unknown
	u64 start_ns, duration_ns; // wall clock
	struct ProfileSlots slots;
	const struct ProfileAttr {
		const char *key, *value;
	} *attrs;		// that the user gives to all of it; nattrs of them
	u32 nattrs;
	bool threads;		// StackSample.pid is a thread's id
	bool fleeting;		// what is written is read at once: pprof's is compressed fast
	bool delim;		// put "-" between user and kernel
	bool annotate;		// frames get the marks of frame_annotation()
	bool with_offsets;
	bool no_lines;		// names of frames go without the file and line they have
	bool lang_lines;	// functions of interpreted programs have the line that ran, and stacks that differ in it stay apart; else their file
};
// kind.c: which kind a frame is of
const char *frame_annotation(const struct Frame *f); // as FlameGraph's programs mark it in folded lines: "_[k]"; "": native code
const char *frame_lang_of_object(const char *module); // "python" of "[python]", what stands for the file of its functions; NULL: it is another object
u32 profile_frame_line(const struct StackProfile *p, const struct Frame *f); // 0: none, or not asked for
void folded_write(const struct StackProfile *p, FILE *out);
void profile_frame_name(const struct StackProfile *p, const struct Frame *f, struct Str *out); // as folded lines name it
void profile_label_row(const struct StackProfile *p, const struct StackSample *s, u32 i, enum LabelPlace at, struct Str *out); // nothing: label i has no row there
void profile_merge(struct StackProfile *p, bool by_pid); // samples that would look alike become one, where the first of them stood
struct err *flame_write(const struct StackProfile *p, FILE *out); // self-contained interactive SVG
struct err *page_write(const struct StackProfile *p, FILE *out);  // self-contained interactive HTML
struct err *speedscope_write(const struct StackProfile *p, FILE *out); // JSON
struct err *pprof_write(const struct StackProfile *p, FILE *out); // gzipped profile.proto
struct err *otlp_write(const struct StackProfile *p, FILE *out); // OpenTelemetry's ProfilesData
const char *sample_service(const struct StackProfile *p, const struct StackSample *s); // what a sample is of: its container or unit, or else its process's name

// heat.c
u32 sample_slots(const struct StackSample *s, struct SlotShare **out); // ascending, each once; to be freed
void heat_text(const struct StackProfile *p, FILE *out); // a picture of characters; nothing without slots

// outputs.c: the files that a profile can be written to, one option each
struct Output {
	const char *title; // "--flame"
	const char *what;  // "flame graph", for messages
	bool addresses;	    // rows that differ only in addresses stay apart
	bool parts;	    // StackSample.part is in it
	struct err *(*write)(const struct StackProfile *p, FILE *out);
};
enum {
#define OUTPUT(option, addresses, parts, what, help, write) OUTPUT_##option,
#include "out/outputs.def"
#undef OUTPUT
	OUTPUTS
};
extern const struct Output outputs[OUTPUTS];
struct OutputFiles { // that are asked for
	const char *path[OUTPUTS];
	u32 number;	  // what stands for %s in a path; 0: %s itself
	const char *what; // what is written of the run: "the whole run"; NULL: nothing is said
	int held[OUTPUTS]; // open for writing, owned, plus 1; 0: opened when it is written
};
bool outputs_can_hold(const struct OutputFiles *f); // all are regular files of one name, or not there yet
void outputs_hold(struct OutputFiles *f); // opens them; what is in them stays until they are written
void outputs_close(struct OutputFiles *f); // what outputs_hold() opened
void outputs_split(const struct OutputFiles *f, struct OutputFiles *whole, struct OutputFiles *each); // each: those with %s
struct err *outputs_check(const struct OutputFiles *f, const char *text); // can all be written, and the text's (NULL: standard output)? See base/outfile.c
bool outputs_any(const struct OutputFiles *f, bool addresses); // is one asked for, is one of those with addresses?
bool outputs_parts(const struct OutputFiles *f); // is one asked for that has the parts of values?
bool outputs_events(const struct OutputFiles *f); // is one asked for that has numbers of events beside the values?
struct err *outputs_write(const struct OutputFiles *f, const struct StackProfile *p, bool addresses); // those with, or those without; says so on standard error

// ---- Numbers of the fields of pprof's messages (https://github.com/google/pprof/blob/main/proto/profile.proto), for who writes and who reads them.
enum { // field numbers of profile.proto
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_MAPPING = 3, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5, PROFILE_STRING = 6, PROFILE_TIME = 9,
	PROFILE_DURATION = 10, PROFILE_PERIOD_TYPE = 11, PROFILE_PERIOD = 12, PROFILE_COMMENT = 13, PROFILE_DEFAULT_TYPE = 14,
	TYPE_TYPE = 1, TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3,
	LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3,
	MAPPING_ID = 1, MAPPING_START = 2, MAPPING_LIMIT = 3, MAPPING_OFFSET = 4, MAPPING_FILENAME = 5, MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7, MAPPING_HAS_FILENAMES = 8, MAPPING_HAS_LINES = 9, MAPPING_HAS_INLINES = 10,
	LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4,
	LINE_FUNCTION = 1, LINE_LINE = 2,
	FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILENAME = 4,
};
#endif
