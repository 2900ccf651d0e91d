// Shared by the stack tools: options, script templates, reports.
#ifndef SONDE_TOOL_INTERNAL_H
#define SONDE_TOOL_INTERNAL_H
#include "out/report.h"
#include "session.h"
#include "tool/tool.h"

enum StackWanted { STACKS_BOTH, STACKS_USER, STACKS_KERNEL };
enum ThreadsWanted { THREADS_ALL, THREADS_USER, THREADS_KERNEL };
// Output of a tool run; several may be asked for at once.
struct ToolOpts {
	const struct Tool *tool;
	struct Str pids, tids;	 // "1,2,3" as given
	const char *comm, *cgroup, *event, *cpus;
	enum StackWanted stacks;
	enum ThreadsWanted threads;
	u64 hz, count, duration, interval;
	u64 depth;
	u64 min_us, max_us;
	long state;		 // task state bitmask, -1 any
	bool folded, delim, annotate, idle, offsets, addrs, per_thread, json, timestamps, print_script, debug;
	const char *flame, *pprof, *out;
	bool unwind_fp;
	u32 dump;
	const char *pattern;	 // stackcount
	bool regex, per_pid;
	u64 keys;		 // entries of the count map
};

struct ToolOption {
	char c;		   // short form, 0 none
	const char *name;  // long form, NULL none
	const char *arg;   // NULL: a flag
	const char *help;
	const char *(*set)(struct ToolOpts *o, const char *val); // NULL, or what is wrong
};

struct Tool {
	const char *name, *summary;
	const char *const *options; // names ("p", "flame") of tool_options it takes; NULL-terminated
	const char *template;	    // script with {{gaps}}
	const char *positional;	    // "[duration]"
	const char *unit, *title;   // of its values
	u32 max_positional;
	// Fills one gap of the template.
	bool (*gap)(const struct ToolOpts *o, const char *name, struct Str *out);
	const char *(*check)(struct ToolOpts *o); // options that do not go together; NULL fine
	void (*header)(const struct ToolOpts *o, FILE *out);
	const char *examples;
};

extern const struct Tool tool_profile;
extern const struct ToolOption tool_options[];
extern const u32 ntool_options;

// options.c: false: said on stderr, *rc is the exit status
bool tool_parse(const struct Tool *t, int argc, char **argv, struct ToolOpts *o, int *rc);
// script.c
void tool_script(const struct Tool *t, const struct ToolOpts *o, struct Str *out);
bool gap_common(const struct ToolOpts *o, const char *name, struct Str *out); // filter, id, user, kernel, keys
// report.c
struct StackSet { // samples of a map, symbolized, equal ones merged, ascending by value
	struct Arena arena;
	struct StackProfile prof;
	struct Map index;
	VEC(struct StackSample) samples;
};
struct err *stackset_read(struct StackSet *s, struct RunCtx *rc, const char *map, const struct ToolOpts *o);
void stackset_deinit(struct StackSet *s);
void stacks_multiline(const struct StackProfile *p, const struct ToolOpts *o, FILE *out);
void stacks_json(const struct StackProfile *p, FILE *out);
#endif
