// probe: the provider table. Names and patterns of the script -> points; points + loaded programs -> attachments.
#ifndef SONDE_PROBE_H
#define SONDE_PROBE_H
#include "bpf/bpf.h"
#include "ctype/ctype.h"
#include "lower/program.h"
#include "sym/sym.h"

struct Attachments; // owner of links and perf events
struct NewCpus;	    // a process that attaches to processors that come
struct Watch { // a watchpoint that is set
	u64 addr;
	u32 point; // Point.id
	struct Attachments *at;
};
struct Unmatched {
	struct Span span;
	const char *why;
};

struct ProbeEnv {
	struct Arena *arena;
	struct Diags *diags;
	struct Ctypes *ctypes;
	struct Syms *syms;
	const struct Config *config;
	int pid;	 // -p, 0 none
	int child;	 // -c, 0 none
	const char *cmd_path; // -c: path of the command's binary, for watchpoints and usdt
	bool usdt_file_activation;
	bool verbose;
	bool no_uprobe_multi, no_kprobe_multi, no_kprobe_session; // --no-feature
	const char *traceable; // file of traceable kernel functions instead of tracefs'; NULL
	const char *filter;    // regular expression that names of points must match, begin's and end's aside; NULL
	VEC(int) owned_fds; // BTF objects and programs that points refer to; probe_env_deinit closes them
	// set and used by probe/ alone; zero at start
	struct ProbeCache *cache; // names read once: events, traceable functions
	VEC(struct Watch) watches;
	bool watch_full;	  // that there is no free register was said
	u32 nwatchfns;		  // uprobes that watchpoints_prepare added
	u32 npoints;		  // points made so far, for Point.id
	u32 ncounted;		  // ... for max_probes: a uprobe pattern is one
	const struct AttachSpec *linked; // of the point made last
	const struct Provider *provider; // whose expand or list runs
	bool want_args;		  // the action now expanded reads `args`, `retval` or `ctx`: fill Point.args
	bool expanding;		  // a probe of the script: its patterns without a match are judged when all its points are known
	bool listing;		  // expanding for -l: no limit on points
	bool lenient;		  // what does not fit or exist is passed over in silence
	u64 unsure_kstacks;	  // places whose kernel stacks may lack callers
	u64 left_out;		  // places that the script names and that are not probed: each was told, as a warning
	VEC(struct Unmatched) unmatched; // patterns of the probe now expanded that match nothing
};
void probe_env_deinit(struct ProbeEnv *env);

struct Provider {
	const char *name, *alias;   // "kprobe", "k"; further spellings in names[]
	const char *const *names;   // NULL-terminated other names ("BEGIN", "kfunc"), may be NULL
	enum ProbeKind kind;
	u32 prog_type;		    // BPF_PROG_TYPE_*; expected attach type is chosen at load
	const char *synopsis;	    // "kprobe[:module]:function[+offset]": for errors and `sonde help`
	const char *help;	    // one line
	// One attach point as written -> points (wildcards expanded). Errors go to env->diags at spec->span, with nearest names as hint.
	void (*expand)(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, struct PointList *out);
	// All points matching the pattern, for -l; calls fn(name) for each. pattern parts may hold wildcards.
	void (*list)(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, void (*fn)(void *, struct Point *), void *arg);
	// Attach program pp at all its points.
	struct err *(*attach)(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at);
};
const struct Provider *provider_find(const char *name); // any spelling; also wildcarded provider names match the first
extern const struct Provider providers[];
extern const u32 nproviders;

// All attach points of every probe of the script; sets nothing on the AST but returns per ProbeAst lists. missing_probes is honoured.
// lists[i] belongs to the i-th ProbeAst. A probe left without points by missing_probes gets one that is absent.
void probes_expand(struct ProbeEnv *env, struct Script *s, struct PointList *lists);
// -l: prints names (and with verbose their args) matching the list of patterns; returns count.
u32 probes_list(struct ProbeEnv *env, const struct AttachSpec *patterns, bool verbose, FILE *out);
// Where the kernel has kprobe sessions, the programs of kprobe and kretprobe on the same many functions become one, and so does what is
// attached: the kretprobe's moves from p->progs to at_return of the other. For compiled programs that are not linked yet.
void probes_join(struct ProbeEnv *env, struct Program *p);
// How to load pp: program type, expected attach type, BTF ids; depends on features (multi, session).
void probe_load_params(struct ProbeEnv *env, struct ProbeProg *pp, struct SysProg *sp);

// Loading pp failed with e (taken). NULL: it may be missing, since it is for one of many places that a pattern found; it will not be attached.
struct err *probe_load_failed(struct ProbeEnv *env, struct ProbeProg *pp, struct err *e);
struct Attachments *attachments_create(void);
// newcpus.c: begins the process, before there is much to copy and anything of others' is read; NULL: the kernel takes no processors away, or there is no room. attachments_use
// comes before probes_attach; newcpus_fd is readable when newcpus_take has something to do, -1: it will never have.
struct NewCpus *newcpus_start(void);
void newcpus_stop(struct NewCpus *c); // its process ends
int newcpus_fd(const struct NewCpus *c);
void newcpus_take(struct NewCpus *c, struct Attachments *at);
void attachments_use(struct Attachments *at, struct NewCpus *c); // borrowed
// Attaches everything except begin/end/self/test/bench; on error everything already attached is detached. *n counts attached points.
struct err *probes_attach(struct ProbeEnv *env, struct Program *p, struct Attachments *at, u64 *n);
void attachments_add(struct Attachments *at, int link_fd, int perf_fd); // takes both, -1: none
// iter probes: a new file for the i-th attached iterator that is not pinned; reading it to the end runs the program for every object.
// -ENOENT past the last, else -errno. The caller closes it.
int attachments_iter_open(struct Attachments *at, u32 i);
struct err *attachments_set_period(struct Attachments *at, u64 period_ns); // of all profile:hz probes, from now on
// Hits of kprobes and kretprobes for which the kernel had no room or was in another probe, as it counts them (Linux 6.7); 0 where it does not say.
u64 attachments_missed(const struct Attachments *at);
// away.c: processors that were taken away and came again since they were attached to, or have come since; *cpu: one of them. *again: timers and counters see all of them now, but
// have missed their first moments; else of *cpu they see nothing.
u32 attachments_away(const struct Attachments *at, int *cpu, bool *again);
void attachments_destroy(struct Attachments *at); // detaches: fast, all at once where the kernel can
// Runs a begin, end, self or test program once from here (BPF_PROG_TEST_RUN): pid, comm and stacks are sonde's own.
struct err *probe_run_once(struct ProbeProg *pp);
struct err *probe_run_test(struct ProbeProg *pp, u32 *retval);		 // test: what the action returned
struct err *probe_run_bench(struct ProbeProg *pp, double *ns_per_run, u64 *runs); // bench: mean run time, measured by the kernel

// ---- watch.c
// Adds to the script, for each watchpoint:function+argN, a uprobe that sends the argument (RT_EV_WATCH, numbered from 0). Needs pid or child.
void watchpoints_prepare(struct ProbeEnv *env, struct Script *s);
// The answer to RT_EV_WATCH: watches addr, unless it is already, and lets a stopped process go on.
struct err *watch_argument(struct ProbeEnv *env, const struct Program *prog, u32 i, u64 addr);
// ---- watchpoint.c
void watch_remove(struct ProbeEnv *env, u64 addr); // unwatch(): every watchpoint at addr
void watches_end(struct ProbeEnv *env);
#endif
