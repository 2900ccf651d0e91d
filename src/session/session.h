// One run of sonde: options in, exit status out. The pipeline is session.c.
#ifndef SONDE_SESSION_H
#define SONDE_SESSION_H
#include "ir/program.h"
#include "lang/ast.h"
#include "out/report.h"
#include "run/run.h"

enum Stage { DUMP_AST = 1, DUMP_IR = 2, DUMP_BPF = 4, DUMP_MAPS = 8, DUMP_VERIFIER = 16, DUMP_TYPES = 32 };

enum RunMode { MODE_TRACE, MODE_TEST, MODE_BENCH, MODE_FORMAT };
struct Tool;
struct ToolRun;
struct Options {
	const char *text; // -e, or a tool's script
	const char *file; // script file, "-" is stdin
	const char *name; // shown in diagnostics
	VEC(struct Param) params;
	VEC(const char *) include_dirs, includes; // -I, --include
	VEC(const char *) debug_dirs;		  // --debuginfo
	VEC(int) unwind_pids;			  // --dwarf-pid
	const char *traceable; // --traceable-functions: a file like available_filter_functions; NULL
	const char *filter;    // --probe-filter: names of probes must match this extended regular expression; NULL
	int pid;
	const char *pids; // tools: the processes asked for, "1,2,3"; NULL or empty: all
	const char *cmd;
	const char *out_path;
	bool json, quiet, verbose, warnings, helper_errors, unsafe, dry_run, list, as_bpftrace, usdt_file_activation, unwind_fp, inlines, lines, why_incomplete;
	bool no_uprobe_multi, no_kprobe_multi, no_kprobe_session;
	enum RunMode mode;
	enum BufMode buf;
	u32 dump;	      // enum Stage bits
	const char *pattern;  // -l
	u64 stack_entries;    // room for this many different stacks of each size class; 0: as built
	u64 duration_ns;      // tools: 0 until stopped
	struct ToolRun *tool; // tools: called where a plain run would print
};

// What a tool does differently from a plain script: no banner, own report at the end.
struct ToolRun {
	void *arg;
	struct err *(*started)(void *arg, struct RunCtx *rc);
	bool (*tick)(void *arg, struct RunCtx *rc); // every tick_ns, false ends
	u64 tick_ns;
	struct err *(*stopped)(void *arg, struct RunCtx *rc); // NULL; tracing is over, probes are about to be detached
	struct err *(*report)(void *arg, struct RunCtx *rc, bool last);
};

int session_run(const struct Options *o);
int session_list(const struct Options *o);
#endif
