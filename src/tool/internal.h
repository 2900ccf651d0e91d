// Shared by the stack tools: options, scripts, reports.
#ifndef SONDE_TOOL_INTERNAL_H
#define SONDE_TOOL_INTERNAL_H
#include "input/input.h"
#include "out/report.h"
#include "session/session.h"
#include "tool/tool.h"

enum StackWanted { STACKS_BOTH, STACKS_USER, STACKS_KERNEL };
enum ThreadsWanted { THREADS_ALL, THREADS_USER, THREADS_KERNEL };
enum ByWhat { BY_BLOCKED = 1, BY_RUNQ = 2, BY_PREEMPTED = 4, BY_KINDS = 7, BY_CONTAINER = 8, BY_CGROUP = 16, BY_THREAD = 32, BY_CPU = 64 };
struct ToolOpts;
struct KeyParts;
struct ReportForm { // what the script's settings say of its report
	const char *unit, *title;   // of its values
	const char *parts[STACK_PARTS_MAX + 1]; // names of StackSample.part, the rest NULL; the first is NULL: values are not split
	u32 nparts;
	const char *events;	    // what the values of the kind behind the parts count (StackSample.events); NULL
	u64 div;		    // values are divided by it: counted in nanoseconds, shown in microseconds
	u64 slot_ns;		    // length of the slots of time that the key tells apart; 0: none
	const char *event;	    // NULL; what is counted
	// a row from the parts of its key; the report as text
	void (*row)(const struct ToolOpts *o, struct Arena *a, const struct KeyParts *k, u64 value, struct StackSample *s);
	void (*print)(const struct StackProfile *p, const struct ToolOpts *o, FILE *out);
	u32 names, kernel_stacks; // so many its keys have at least; 0: one stack of a kind at most
};
struct ToolOpts {
	const struct Tool *tool;
	struct Str pids, tids, cpus; // "1,2,3" as given; cpus also "0-3"
	struct Str roots;	     // --tree: the pids as given, while pids holds their descendants too
	const char *comm, *cgroup, *cgroupmap, *mntnsmap, *event;
	enum StackWanted stacks;
	enum ThreadsWanted threads;
	u64 hz, count, duration, interval;
	u64 max_memory;		 // --max-memory: MB; 0: as it comes
	double max_cpu;		 // --max-cpu: per cent of one processor; 0: as it comes
	u64 limit_hz, limit_one_in; // what was asked for, to which it goes back when it costs less; until limit_begin() 0: hz, one_in
	u64 depth;
	u64 min_us, max_us;
	u64 one_in;		 // offcputime: of so many switches one is looked at; 0, 1: all
	long state;		 // task state bitmask, -1 any
	u32 by;			 // enum ByWhat; 0: nothing was said
	u64 chain;		 // offwaketime: wakers followed
	bool folded, delim, annotate, idle, offsets, addrs, per_thread, json, heatmap, timestamps, print_script, check, incomplete, asleep_lost, inlines, lines, why_incomplete, strict, keep_privileges;
	struct OutputFiles files;
	const char *out, *title;
	FILE *feed;		 // reports go there, for who draws them (top.c); NULL
	struct Str early;	 // half an interval in milliseconds, if the first report shall come that early (script_params)
	bool unwind_fp, native, async_frames, tree;
	u32 dump;
	u64 stack_entries;	 // --stack-storage-size
	const char *cmd;	 // -c: a command to run and trace
	char **args;		 // ... behind "--"; NULL
	struct Child *child;	 // ... once it is there
	bool status;		 // its exit status is ours
	u64 top;		 // --top: rows; 0: stacks are printed
	const char *pattern, *lib; // stackcount
	bool regex, per_pid, many;
	struct Str probes;	 // stackcount: attach points made from the pattern
	u64 keys;		 // entries of the count map
	VEC(struct Param) params; // of the options that were given: long name and text
	char *text;		 // of the tool's script; owned
	const char *map;	 // --map: of a script
	const struct StackMap *keyed; // a script's, once it is known
	struct ReportForm form;	      // likewise
	struct Groups *groups;	      // names of cgroups; NULL: nobody asks
	bool done;		 // something was printed which is all that was asked for
};
// Somebody sits before it (sonde top) and wants to see something soon: its first report comes after half an interval.
static inline bool tool_is_watched(const struct ToolOpts *o)
{
	return o->feed && o->interval && !o->max_cpu;
}

// The elements of a row's key, in order, nested tuples flattened.
struct KeyParts {
	u64 ints[KEY_PARTS_MAX];
	const char *strs[KEY_PARTS_MAX];
	const struct Value *user[KEY_PARTS_MAX], *kern[KEY_PARTS_MAX];
	u32 nints, nstrs, nuser, nkern;
	const struct Value *others[KEY_PARTS_MAX]; // all but stacks
	u32 nothers;	// ints and strs are without labels of --by
};

// anymap.c: the map of any script that is reported as stacks
struct StackMap {
	struct MapDef *def;
	bool threads;	     // pid is what the script calls tid
	u32 comm, pid, kind, slot; // numbers of KeyParts.others; NO_PART: it has none
	u32 slot_part;	     // the same part's number among all
	bool by[KEY_PARTS_MAX]; // of the key's parts: those called by_NAME, a label each (--by)
	const char *labels[2 * KEY_PARTS_MAX]; // names of a row's labels
	u8 places[2 * KEY_PARTS_MAX];	       // enum LabelPlace
	u32 label_of[2 * KEY_PARTS_MAX], nlabels; // number of KeyParts.others
	bool groups; // a label tells of a cgroup: ToolOpts.groups has their names
};
enum { NO_PART = ~0u };
// The one that o->map names, or the only one; NULL with *e NULL: there are several, or none
bool stackmap_any(const struct Program *p); // is there one?
struct StackMap *stackmap_pick(const struct ToolOpts *o, const struct Program *p, struct Arena *a, struct err **e);

struct StackSet;
struct Tool {
	bool reports;		    // a script's map of stacks is printed as a report, whatever the options
	bool script;		    // of the user's: what is not said here is found out when it has been compiled
	const char *name, *summary;
	const char *const *options; // its own, beside those of every tool (options.c): "L" or "state", "c/cpu" where a letter has several rows; NULL-terminated
	struct Packed text;	    // of its script
	const char *positional;	    // "[SECONDS]"
	u32 max_positional;
	bool own_stacks;	    // -p leaves only stacks of these processes, not also of those that had to do with them
	bool own_reports;	    // with -i the script prints @samples when a report is due
	const char *running;	    // a second map of it: samples of what ran, reported beside (feeds only); NULL
	const char *end;	    // last line of text output; NULL none
	const char *(*check)(struct ToolOpts *o); // options that do not go together; NULL fine
	int (*prepare)(struct ToolOpts *o);	  // NULL; work before the script is made; not 0: exit status, said on stderr
	void (*header)(const struct ToolOpts *o, struct RunCtx *rc, FILE *out); // without " for N secs." when timed is set
	bool untimed;
	struct err *(*extra)(struct StackSet *s, struct RunCtx *rc, const struct ToolOpts *o); // NULL; further rows
	struct err *(*check_report)(const struct ToolOpts *o, struct RunCtx *rc, FILE *out);  // --check; NULL
	const char *examples;
	void (*usage)(const struct Tool *t, FILE *out); // NULL: tool_usage
};

extern const struct Tool tool_profile, tool_offcputime, tool_both, tool_wakeuptime, tool_offwaketime, tool_stackcount;

// options.c
void toolopts_deinit(struct ToolOpts *o);
// false: said on stderr, *rc is the exit status
bool tool_parse(const struct Tool *t, int argc, char **argv, struct ToolOpts *o, int *rc);
struct OptionRows;
struct OptionScan;
int tool_take_options(struct ToolOpts *o, struct OptionScan *scan); // 0, or the exit status after an error was printed
int tool_take_duration(struct ToolOpts *o, const char *arg);	    // likewise
void script_tool_rows(struct OptionRows *rows, bool stacks); // the options that every script in the tools' path has; those that are of stacks
// form.c
void row_waits(const struct ToolOpts *o, struct Arena *a, const struct KeyParts *k, u64 value, struct StackSample *s); // offcputime.c
void row_waker(const struct ToolOpts *o, struct Arena *a, const struct KeyParts *k, u64 value, struct StackSample *s); // wake.c
void row_wakers(const struct ToolOpts *o, struct Arena *a, const struct KeyParts *k, u64 value, struct StackSample *s);
void print_waker(const struct StackProfile *p, const struct ToolOpts *o, FILE *out);
void print_wakers(const struct StackProfile *p, const struct ToolOpts *o, FILE *out);
void print_calls(const struct StackProfile *p, const struct ToolOpts *o, FILE *out); // stackcount.c
void form_read(struct ReportForm *f, const struct Config *c, const char *title, struct Arena *a);
// options.c: what --pid, --tid and --cpu take; NULL: it is right
const char *read_ids(struct Str *to, const char *v);
const char *read_cpus(struct Str *to, const char *v);
// script.c
void script_params(struct ToolOpts *o); // of the options given those that the script asks for
void script_print(const struct ToolOpts *o, FILE *out); // with the options as its settings
const char *stack_words(const struct ToolOpts *o); // "user + kernel"
void thread_words(const struct ToolOpts *o, FILE *out); // "all threads", "PID 5", "user threads"

// fromfile.c: an error if a file that is read would be written to
struct err *input_spared(const char *path, const struct OutputFiles *files, const char *out);
// diffpage.c: --html of sonde diff
struct err *diffpage_write(const struct StackProfile *before, const struct StackProfile *after, const struct ProfileDiff *d, const char *title, const struct OutputFiles *files);

// functions.c
struct Function {
	const char *name, *object; // object "": not known
	u64 self, total;
	u32 stack; // where it was met last
};
struct Functions {
	struct Arena arena;
	struct Map index; // name and object -> number of the row + 1
	VEC(struct Function) v;
	u64 sum;
	bool by_name; // functions of one name are one, whatever their object
};
void functions_add(struct Functions *t, const struct StackProfile *p);
void functions_put(struct Functions *t, const char *name, u64 value); // any other thing that has a name
const struct Function *functions_find(const struct Functions *t, const char *name); // by_name; NULL: there is none
void functions_deinit(struct Functions *t);
void functions_top(const struct StackProfile *p, u64 rows, FILE *out); // --top
#define TOP_ROWS 20 // without a number
u64 profile_total(const struct StackProfile *p);
void share_line(u64 value, u64 total, const char *indent, FILE *out); // below a stack's value
void total_line(const struct StackProfile *p, FILE *out);

// command.c: a command that is traced
const char *command_wrong(const struct ToolOpts *o); // options that do not go together; NULL: fine
struct err *command_start(struct ToolOpts *o); // no command: nothing is done
int command_end(struct ToolOpts *o, int rc);   // rc: the tool's exit status
void command_words(const struct ToolOpts *o, struct Str *out); // as it was given
size_t command_split(char **argv, int *argc);  // where behind "--" a command begins, or argv ends; argc is without it. 0: there is no "--"


// running.c: a session with reports as o says; the exit status
bool outputs_writable(const struct ToolOpts *o); // said on stderr if not
int stacks_run(struct Options *so, struct ToolOpts *o);

// ---- sonde top: topfeed.c (reports), toprows.c (what is shown), topview.c (the terminal), top.c (options, what keys do)
enum TopSide { TOP_ON, TOP_OFF, TOP_SIDES };
enum TopBy { TOP_FUNCTION, TOP_STACK, TOP_PROCESS, TOP_THREAD, TOP_CONTAINER, TOP_BYS };
struct TopSlice { // what a collector sent of about a second
	struct Input in;
	enum TopSide side;
};
struct TopView {
	enum TopBy by;
	u32 sides;	  // bits: 1 << TOP_ON
	bool total;	  // functions: ordered by what they have with their calls
	char filter[128]; // only stacks whose process, pid or a frame has it; "": all
};
struct TopRow {
	const char *name, *what, *key; // name of a stack: its frames from the leaf on, a line each
	double own[TOP_SIDES], all[TOP_SIDES], order; // seconds; all: with calls
	u32 met;
};
struct TopTable {
	struct Arena arena;
	struct Map index;
	VEC(struct TopRow) rows;
	double elapsed[TOP_SIDES], sum[TOP_SIDES], shown[TOP_SIDES]; // seconds
	u32 met;
};
#define TOP_SLICES 60 // that are kept of each side
struct TopFeed {
	const char *pids; // NULL: all
	u64 hz;
	struct Collector collector; // counts `sides`, in one run
	u32 sides;		    // bits
	VEC(struct TopSlice *) slices; // oldest first
	u32 arrived;		       // bits of sides; who asks clears it
	bool frozen;		       // what comes is thrown away
};
struct err *topfeed_fit(struct TopFeed *f, const struct TopView *v);  // what the view wants is counted, and what one before it wanted
struct err *topfeed_anew(struct TopFeed *f, const struct TopView *v); // threads and containers are counted apart only for who looks at them
struct err *topfeed_wait(struct TopFeed *f, bool keys); // for reports, or keys on standard input, half a second at most; an error: a collector has ended, with its last words
void topfeed_last(const struct TopFeed *f, const struct TopView *v, u32 window, struct TopSlice **out, size_t *n); // slices of so many seconds of each side of the view
void topfeed_end(struct TopFeed *f);
void toptable_make(struct TopTable *t, struct TopSlice *const *slices, size_t n, const struct TopView *v); // t was made before, or is all 0
void toprow_stacks(struct TopTable *out, struct TopSlice *const *slices, size_t n, const struct TopView *v, const struct TopRow *r); // its stacks, the largest first
void toptable_deinit(struct TopTable *t);
double top_share(const struct TopTable *t, enum TopSide side, double secs); // in per cent of the time that passed
void top_heading(const struct TopTable *t, const struct TopView *v, struct Str *out); // one line of text each, without its end
void top_columns(const struct TopView *v, struct Str *out);
void top_line(const struct TopTable *t, const struct TopView *v, const struct TopRow *r, struct Str *out);
// topview.c: the terminal, by ncurses. What is on it is drawn anew each time.
struct TopScreen { // of what is drawn besides the table
	const char *status; // the last line, in place of the keys; NULL
	bool frozen, asks;  // asks: a filter is being written
	u32 window;	    // seconds
	size_t at, first;   // rows: where the cursor stands; the first one in sight (kept by the view)
	const struct TopTable *open; // stacks of the row at the cursor; NULL: it is not unfolded
	size_t skip, open_lines, open_room; // of their lines: those above the screen; all; what the screen has room for (kept by the view)
	bool help;
};
bool topview_there(void); // sonde was built with it
struct err *topview_open(void); // standard input and output are a terminal
void topview_close(void);
void topview_rescue(void); // of a process that ended without topview_close(): the screen as it was
void topview_draw(const struct TopTable *t, const struct TopView *v, struct TopScreen *s);
enum { TOPKEY_NONE = -1, TOPKEY_UP = 0x10000, TOPKEY_DOWN, TOPKEY_PAGE_UP, TOPKEY_PAGE_DOWN, TOPKEY_HOME, TOPKEY_END, TOPKEY_ENTER, TOPKEY_BACK, TOPKEY_ESC };
int topview_key(void); // a character or one of these; does not wait
size_t topview_rows(void); // of the table that are in sight
void top_folded(struct TopSlice *const *slices, size_t n, const struct TopView *v, FILE *out); // the stacks that are shown, in microseconds
void top_text(const struct TopTable *t, const struct TopView *v, u32 max, FILE *out); // without a terminal

// report.c
struct StackSet { // samples of a map, symbolized, equal ones merged, ascending by value
	struct Arena arena;
	struct StackProfile prof;
	VEC(struct StackSample) samples;
	u64 missed; // events whose stack was lost
	u64 negative; // rows that no picture can show
};
void row_stacks(const struct KeyParts *k, struct StackSample *s); // the stacks, and what stands for those that are missing
void row_named(const struct ToolOpts *o, struct Arena *a, const struct KeyParts *k, u64 value, struct StackSample *s); // anymap.c: by o->keyed
struct err *stackset_add(struct StackSet *s, struct RunCtx *rc, struct MapDef *m, const struct ToolOpts *o, bool take); // take: m is empty then
// Appends the rows of a map, which is empty then
struct err *stackset_take(struct StackSet *s, struct RunCtx *rc, const char *map, const struct ToolOpts *o);
void stackset_finish(struct StackSet *s, const struct ToolOpts *o, bool merge); // sorts, fills prof; merge: rows that would look alike become one
u64 stackset_gather(struct StackSet *s); // rows that differ in their slot only become one; how many times there was no room (StackTotal.rest)
void stackset_merge(struct StackSet *s); // one that is finished without
void stackset_deinit(struct StackSet *s);
void stacks_sort(struct StackProfile *p); // as tools print them
void stacks_multiline(const struct StackProfile *p, const struct ToolOpts *o, FILE *out);
void stacks_json(const struct StackProfile *p, const struct ToolOpts *o, FILE *out);
void frame_line(const struct StackProfile *p, const struct Frame *f, const struct ToolOpts *o, const char *indent, FILE *out);
// slots.c
void slots_divide(struct StackSample *s, u64 by); // values, parts and slots, which add up afterwards
void slots_place(struct StackProfile *p, u64 width_ns, u64 start_ns, u64 duration_ns); // start: of CLOCK_BOOTTIME, which slots count from; the profile's clock is set
// labels.c
void row_labels(const struct ToolOpts *o, struct Arena *a, const struct KeyParts *k, struct StackSample *s); // by o->keyed
void labels_text(const struct StackSample *s, const char *const *names, struct Str *out); // " cpu 3, prio 120"
void labels_line(const struct StackProfile *p, const struct StackSample *s, const char *indent, FILE *out); // nothing if it has none
// total.c
#define TOTAL_FRAMES_MAX (4u << 20) // 370 MB
struct StackTotal {
	struct StackSet set;	// of all reports, in no order
	struct Map texts;	// names the set points to
	u32 *slots, nslots;	// index of set.samples + 1
	struct Frame *tmp;
	u32 tmp_cap;
	struct Value labels[2 * KEY_PARTS_MAX];
	u64 nframes, max_frames; // kept; 0: TOTAL_FRAMES_MAX
	u64 rest;		// times that a row came for whose stack there was no room; their values are in one row
};
void total_add(struct StackTotal *t, const struct StackSet *s); // before stackset_finish divides its values
void total_borrow(struct StackTotal *t, const struct StackSet *s); // of one report only: nothing is copied, s must live as long
void total_deinit(struct StackTotal *t);
// tree.c
void tree_begin(struct ToolOpts *o); // adds the descendants there are to o->pids
void tree_attached(const struct ToolOpts *o, struct RunCtx *rc); // and those that were born until the script saw all forks
bool tree_lives(struct RunCtx *rc); // is there still one of them?
// propose.c
struct Syms;
void propose_pattern(struct Syms *syms, const char *name, bool kernel); // on stderr; kernel: it was to be a kernel function
bool kernel_lacks(struct Syms *syms, const char *name); // no function of that name, surely
// limit.c: samples less often when that takes more than --max-cpu or --max-memory, and ends beyond the latter
enum LimitTurn { LIMIT_KEEP, LIMIT_LESS, LIMIT_MORE };
struct LimitTurns {
	u32 low; // intervals in a row that took much less than is allowed
	u32 wait, since; // so many before more is tried; since that was done
	bool raised; // ... and is not yet known to be right
};
enum LimitTurn limit_turn(struct LimitTurns *t, double share, double allowed, bool lowered); // what an interval's cost calls for; lowered: less is done than was asked for. For tests
struct Limit {
	u64 asked_one_in; // switches of threads, one in so many is looked at. 0: it does not do that
	u64 last_ns, last_cpu_ns;
	double last_mb;
	struct LimitTurns turns;
	bool warm; // the first interval is over
	u64 next_hz; // that of samples from now on, once a report is made of those before; 0: as it is
	struct RunCost cost;
};
u64 limit_period_ns(const struct ToolOpts *o, u64 hz); // the time that a sample stands for, at so many a second
void limit_begin(struct Limit *l, struct ToolOpts *o, struct RunCtx *rc); // once tracing has begun: the start is not judged
void limit_tick(struct Limit *l, const struct ToolOpts *o, struct RunCtx *rc); // each second
void limit_end(struct Limit *l);
void limit_look(struct Limit *l, struct ToolOpts *o, struct RunCtx *rc); // just before a report's samples are taken
void limit_reported(struct Limit *l, struct ToolOpts *o); // after it: o->hz says what a sample of the next one weighs
bool set_scalar(struct RunCtx *rc, const char *map, u64 val); // a map of the script without a key; false: it has none, or it cannot be
// collector.c
struct FeedHead { // before each report that a collector sends
	u64 len;	// of the report, bytes
	u64 side;	// enum FeedSide
	u64 kernel_ns;	// that its programs have run in the kernel so far
	u64 map_bytes;	// of its maps, not counting those that are in the memory of its process
	u64 hz, one_in;	// from now on (--max-cpu changes them)
};
// progress.c
struct Progress {
	bool on, shown;
	u64 begin_ns, next_ns; // CLOCK_MONOTONIC
};
void progress_init(struct Progress *p, u64 now_ns);
void progress_tick(struct Progress *p, struct RunCtx *rc, const struct ToolOpts *o, u64 now_ns, u64 (*clock)(void));
void progress_erase(struct Progress *p); // before anything else is printed
// offcheck.c
struct err *offcheck_report(const struct ToolOpts *o, struct RunCtx *rc, FILE *out);

// ---- Statistics of sonde diff. In: counts. Out: verdicts.
#define COMPARE_ALPHA 0.05
#define COMPARE_LEAST 10 // rows that both profiles together have met less often are not judged
enum Verdict { CANNOT_TELL, MORE, LESS };
struct Compared {
	u64 before, after;   // in: samples
	double spread;	     // in: how much more than independent samples it varies from run to run (variance); 1: as these
	double diff, lo, hi; // out: of the shares, and where it lies
	enum Verdict verdict;
};
void compare_rows(struct Compared *rows, size_t n, u64 before, u64 after, double alpha); // before, after: all samples of each profile
// What spread to expect (bench/diff.py): COMPARE_CHANCE at least; and where no runs tell, a share p varies from run to run by a variance of
// COMPARE_ANY p(1-p) + COMPARE_OWN (p(1-p))^3 that more samples do not make less: shares of threads that contend vary most.
#define COMPARE_CHANCE 4.0
#define COMPARE_ANY 3e-5
#define COMPARE_OWN 8e-3
double compare_usual_spread(const struct Compared *c, u64 before, u64 after);
double compare_spread(const u64 *met, const u64 *all, size_t runs); // of runs of one program: of all samples so many were of this row

// ---- Tools of the user's and of packages: scripts NAME.bt in the folders of the tools' path.
struct FoundTool {
	char *name, *path; // path: canonical
};
struct FoundTools {
	VEC(struct FoundTool) v;
};
// All of them, by name; the first folder of the path that has a name wins. What is refused is told on stderr.
void found_list(struct FoundTools *out);
// The one of that name and its text; false: there is none, or those there are were refused (told on stderr, *refused is their number).
bool found_get(const char *name, struct FoundTool *out, struct Str *text, u32 *refused);
bool found_exists(const char *name, struct Str *path); // is there a file of that name in the path, fit or not?
void found_free(struct FoundTool *t);
void found_list_free(struct FoundTools *l);
#endif
