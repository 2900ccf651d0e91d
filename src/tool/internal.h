// Shared by the stack tools: options, script templates, reports.
#ifndef SONDE_TOOL_INTERNAL_H
#define SONDE_TOOL_INTERNAL_H
#include "out/report.h"
#include "session/session.h"
#include "tool/tool.h"

enum StackWanted { STACKS_BOTH, STACKS_USER, STACKS_KERNEL };
enum ThreadsWanted { THREADS_ALL, THREADS_USER, THREADS_KERNEL };
enum ByWhat { BY_BLOCKED = 1, BY_RUNQ = 2, BY_PREEMPTED = 4 };
struct ToolOpts {
	const struct Tool *tool;
	struct Str pids, tids, cpus; // "1,2,3" as given; cpus also "0-3"
	struct Str roots;	     // --tree: the pids as given, while pids holds their descendants too
	const char *comm, *cgroup, *cgroupmap, *mntnsmap, *event;
	enum StackWanted stacks;
	enum ThreadsWanted threads;
	u64 hz, count, duration, interval;
	u64 depth;
	u64 min_us, max_us;
	long state;		 // task state bitmask, -1 any
	u32 by;			 // enum ByWhat, 0 the tool's choice
	u64 chain;		 // offwaketime: wakers followed
	bool folded, delim, annotate, idle, offsets, addrs, per_thread, json, timestamps, print_script, check, incomplete, inlines, lines, why_incomplete;
	const char *flame, *pprof, *out;
	bool unwind_fp, tree;
	u32 dump;
	u64 stack_entries;	 // --stack-storage-size
	const char *pattern, *lib; // stackcount
	bool regex, per_pid, many;
	struct Str probes;	 // stackcount: attach points made from the pattern
	u64 keys;		 // entries of the count map
};

struct ToolOption {
	char c;		   // short form, 0 none
	const char *name;  // long form, NULL none
	const char *arg;   // NULL: a flag
	const char *help;
	const char *(*set)(struct ToolOpts *o, const char *val); // NULL, or what is wrong
	bool all;	   // every tool takes it
};

// The elements of a row's key, in order, nested tuples flattened.
#define KEY_PARTS_MAX 40
struct KeyParts {
	u64 ints[KEY_PARTS_MAX];
	const char *strs[KEY_PARTS_MAX];
	const struct Value *user[KEY_PARTS_MAX], *kern[KEY_PARTS_MAX];
	u32 nints, nstrs, nuser, nkern;
};

struct StackSet;
struct Tool {
	const char *name, *summary;
	const char *const *options; // of tool_options: "p" or "flame", "c/cpu" where a letter has several rows; NULL-terminated
	const char *template;	    // script with {{gaps}}
	const char *positional;	    // "[SECONDS]"
	const char *unit, *title;   // of its values
	u32 max_positional;
	const char *const *parts;   // names of StackSample.part; NULL: values are not split
	bool own_reports;	    // with -i the script prints @samples when a report is due
	u32 div;		    // values are divided by it: counted in nanoseconds, shown in microseconds; 0: 1
	const char *end;	    // last line of text output; NULL none
	bool (*gap)(const struct ToolOpts *o, const char *name, struct Str *out); // fills one gap of the template
	const char *(*check)(struct ToolOpts *o); // options that do not go together; NULL fine
	int (*prepare)(struct ToolOpts *o);	  // NULL; work before the script is made; not 0: exit status, said on stderr
	void (*header)(const struct ToolOpts *o, struct RunCtx *rc, FILE *out); // without " for N secs." when timed is set
	bool untimed;
	const char *(*event)(const struct ToolOpts *o); // NULL; what the samples are of
	void (*row)(const struct ToolOpts *o, struct Arena *a, const struct KeyParts *k, u64 value, struct StackSample *s); // NULL: row_plain
	struct err *(*extra)(struct StackSet *s, struct RunCtx *rc, const struct ToolOpts *o); // NULL; further rows
	struct err *(*check_report)(const struct ToolOpts *o, struct RunCtx *rc, FILE *out);  // --check; NULL
	void (*print)(const struct StackProfile *p, const struct ToolOpts *o, FILE *out);     // NULL: stacks_multiline
	const char *examples;
};

extern const struct Tool tool_profile, tool_offcputime, tool_wakeuptime, tool_offwaketime, tool_stackcount;
extern const struct ToolOption tool_options[];
extern const u32 ntool_options;

// options.c: false: said on stderr, *rc is the exit status
bool tool_parse(const struct Tool *t, int argc, char **argv, struct ToolOpts *o, int *rc);
// script.c
void tool_script(const struct Tool *t, const struct ToolOpts *o, struct Str *out);
// Gaps every tool may use: filter cond id stacks keys me depth
bool gap_common(const struct ToolOpts *o, const char *name, struct Str *out);
const char *stack_words(const struct ToolOpts *o); // "user + kernel"
void thread_words(const struct ToolOpts *o, FILE *out); // "all threads", "PID 5", "user threads"

// report.c
struct StackSet { // samples of a map, symbolized, equal ones merged, ascending by value
	struct Arena arena;
	struct StackProfile prof;
	VEC(struct StackSample) samples;
	u64 missed; // events whose stack was lost
};
void row_plain(const struct ToolOpts *o, struct Arena *a, const struct KeyParts *k, u64 value, struct StackSample *s);
// Appends the rows of a map, which is empty then
struct err *stackset_take(struct StackSet *s, struct RunCtx *rc, const char *map, const struct ToolOpts *o);
void stackset_finish(struct StackSet *s, const struct ToolOpts *o); // merges, sorts, fills prof
void stackset_deinit(struct StackSet *s);
void stacks_multiline(const struct StackProfile *p, const struct ToolOpts *o, FILE *out);
void stacks_json(const struct StackProfile *p, const struct ToolOpts *o, FILE *out);
void frame_line(const struct Frame *f, const struct ToolOpts *o, const char *indent, FILE *out);
// tree.c
void tree_begin(struct ToolOpts *o); // adds the descendants there are to o->pids
void tree_attached(const struct ToolOpts *o, struct RunCtx *rc); // and those that were born until the script saw all forks
// progress.c
struct Progress {
	bool on, shown;
	u64 begin_ns, next_ns; // CLOCK_MONOTONIC
};
void progress_init(struct Progress *p, u64 now_ns);
void progress_tick(struct Progress *p, struct RunCtx *rc, const struct ToolOpts *o, u64 now_ns, u64 (*clock)(void));
void progress_erase(struct Progress *p); // before anything else is printed
// script.c: a part of a condition
void add_and(struct Str *out); // " && " unless out is empty
void add_list_test(struct Str *out, const char *what, const char *list); // "(what == 1 || what == 2)"
void add_quoted(struct Str *out, const char *s); // a string of the language
bool pids_in_map(const struct ToolOpts *o); // the processes asked for are keys of @pids (and, with --tree, threads of @tree)
// taskcond.c: the options' filters on a thread that is not the current one; task: an expression of type struct task_struct *
void task_id(const char *task, bool thread, struct Str *out); // task's id, or its process's; in a pid namespace by means of @level
void task_condition(const struct ToolOpts *o, const char *task, struct Str *out);
// offcheck.c
struct err *offcheck_report(const struct ToolOpts *o, struct RunCtx *rc, FILE *out);
#endif
