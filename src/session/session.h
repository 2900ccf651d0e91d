// One run of sonde: options in, exit status out. The pipeline is session.c.
#ifndef SONDE_SESSION_H
#define SONDE_SESSION_H
#include "lang/lang.h"
#include "lower/program.h"
#include "out/report.h"
#include "run/run.h"

enum RunMode { MODE_TRACE, MODE_TEST, MODE_BENCH, MODE_FORMAT };
#define LOSS_STATUS 3 // exit status of --strict
struct Tool;
struct ToolRun;
struct Options {
	const char *text; // -e, or a tool's script
	const char *file; // script file, "-" is stdin
	const char *name; // shown in diagnostics
	bool builtin;	  // text is part of sonde, as a tool's script
	bool found;	  // text is that of a script in the tools' path
	VEC(struct Param) params;
	VEC(const char *) include_dirs, includes; // -I, --include
	VEC(const char *) debug_dirs;		  // --debuginfo
	VEC(int) unwind_pids;			  // --dwarf-pid
	const char *traceable; // --traceable-functions: a file like available_filter_functions; NULL
	const char *filter;    // --probe-filter: names of probes must match this extended regular expression; NULL
	int pid;
	const char *pids; // tools: the processes asked for, "1,2,3"; NULL or empty: all
	bool only_pids;	  // ... all user stacks are theirs, or those of children that they have while tracing: nobody else is looked at
	const char *cmd;
	struct Child *child;  // tools: a command that was started for this run, whoever started it ends it; not with cmd
	const char *out_path;
	bool json, quiet, verbose, warnings, helper_errors, unsafe, dry_run, list, as_bpftrace, usdt_file_activation, unwind_fp, native, async_frames, inlines, lines, why_incomplete;
	bool strict; // exit status LOSS_STATUS if anything was lost
	bool keep_privileges; // none are given up once probes are attached
	bool no_uprobe_multi, no_kprobe_multi, no_kprobe_session, no_task_work;
	bool swap; // programs as where there is swap (/proc/swaps), on any machine
	enum RunMode mode;
	enum BufMode buf;
	u32 dump;	      // passes_named()
	const char *pattern;  // -l
	bool lazy_tables;     // struct TrackOpts
	double tables_cpu;    // likewise
	u32 settle_ms;	      // a tool of no process: tables are waited for so long at most; 0: SETTLE_MS
	u64 stack_entries;    // room for this many different stacks of each size class; 0: as built
	u64 duration_ns;      // tools: 0 until stopped
	const struct RenderOps *render_ops; // NULL: text, or JSON
	struct ToolRun *tool; // tools: called where a plain run would print
};

// What a tool does differently from a plain script: no banner, own report at the end.
struct ToolRun {
	void *arg;
	bool script; // one of the user's: with the banner, and maps that the tool does not claim are printed
	bool takes;  // keyed aggregations are taken out of the maps before the end too, and so often filled that nothing may be lost in that moment
	bool bare;   // ... but nothing else is printed: the report is for a machine
	struct err *(*ready)(void *arg, struct Program *p); // NULL; it has been compiled, nothing is in the kernel yet
	bool (*claims)(void *arg, const struct MapDef *m);  // script: is the map in the report?
	bool (*writes_later)(void *arg); // NULL; files that cannot be opened before tracing
	void (*loaded)(void *arg, struct RunCtx *rc); // NULL; all is in the kernel, nothing is attached yet: it may wait
	struct err *(*started)(void *arg, struct RunCtx *rc);
	bool (*tick)(void *arg, struct RunCtx *rc); // every tick_ns, false ends
	u64 tick_ns;
	bool (*goes_on)(void *arg, struct RunCtx *rc); // NULL; the processes of -p have ended (or there is no -p): is there something left to trace?
	struct err *(*stopped)(void *arg, struct RunCtx *rc); // NULL; tracing is over, probes are about to be detached
	struct err *(*report)(void *arg, struct RunCtx *rc, bool last);
};

// passes.c: what -d takes
u32 passes_named(const char *name, size_t n); // bits of the passes that have this name; 0: none
bool pass_wanted(const struct Options *o, const char *name);
void passes_list(FILE *f);

bool is_script_text(const char *file); // what is no name of a file, but of a script that -e was forgotten before
int session_run(const struct Options *o);
int session_list(const struct Options *o);
#endif
