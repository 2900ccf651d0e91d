// What the files of probe/ share: making points, reporting what does not exist, opening and owning perf events and links.
#ifndef SONDE_PROBE_INTERNAL_H
#define SONDE_PROBE_INTERNAL_H
#include <elf.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include "arch/arch.h"
#include "probe/probe.h"

typedef VEC(const char *) NameList;

struct TpName {
	const char *category, *event;
};
struct KFunc { // a kernel function that kprobes or fentry may go to
	const char *name, *module; // module "vmlinux" for the kernel itself
	u64 addr;		   // 0 unknown
};
typedef VEC(struct KFunc) KFuncList;
// Places of a pattern that the kernel refused, in all the programs that were made for it: one warning for all, an error when none is left.
struct Refusals {
	struct Span span; // the probe in the script
	u64 refused, attached;
	struct err *first; // owned
};
struct ProbeCache {
	bool tps_read, kfuncs_read, kfuncs_from_tracefs, blacklist_read;
	VEC(struct TpName) tps;
	KFuncList kfuncs;
	NameList blacklist;	  // sorted
	VEC(struct Refusals *) refusals; // one a probe of the script
};

// ---- provider.c
bool provider_is_listed(const struct Provider *p, bool user);

// ---- line.c: attach points by a line of a source file, TARGET@FILE:LINE[:COL]
struct SourceLine {
	const char *target, *file;
	u64 line, col; // col 0: any
};
bool line_parts(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *form, struct SourceLine *out); // false: told
void line_failed(struct ProbeEnv *env, const struct AttachSpec *spec, const struct SourceLine *l, enum SymLine r, const char *said); // r is not SYM_LINE_OK

// ---- spec.c
static inline bool point_is_user(const struct Point *pt)
{
	return pt->kind == PK_UPROBE || pt->kind == PK_URETPROBE;
}
struct Point *point_new(struct ProbeEnv *env, const struct Provider *p, enum CtxKind ctx);
struct ProbeCache *probe_cache(struct ProbeEnv *env);
// Adds it unless config max_probes is reached (said in the end); numbers it.
void point_add(struct ProbeEnv *env, const struct AttachSpec *spec, struct PointList *out, struct Point *pt);
bool points_too_many(const struct ProbeEnv *env); // more than max_probes allows
// What the script names does not exist: an error, a warning or nothing, as config missing_probes says. Returns whether it was said
// (a hint may follow).
bool probe_missing(struct ProbeEnv *env, const struct AttachSpec *spec, const char *fmt, ...) PRINTF_LIKE(3, 4);
void hint_nearest(struct ProbeEnv *env, const char *want, const NameList *names, const char *prefix);
// The number of parts after the provider is within [min, max]; else an error that shows the synopsis.
bool spec_parts(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, u32 min, u32 max);
// "func+off" -> name and offset; false and an error when it is malformed. allow: offsets make sense here.
bool spec_offset(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, const char *text, bool allow,
		 const char **name, u64 *off);
int cmp_str(const void *a, const void *b); // const char ** for qsort, bsearch
void names_sort(NameList *l);		   // and drops duplicates
static inline bool is_wild(const char *s)
{
	return glob_has_wild(s);
}

// ---- attach_point.c
// Opens the event and ties the program to it (link with cookie, else ioctl); takes nothing, the descriptors go to at.
struct err *attach_perf(struct ProbeProg *pp, struct Attachments *at, struct perf_event_attr *attr, int pid, int cpu, u64 cookie);
struct err *attach_raw(struct ProbeEnv *env, struct ProbeProg *pp, const struct Point *pt, struct Attachments *at); // as a raw tracepoint

// ---- detach.c: what is attached, and its end
struct CpuEvent { // a perf event of one processor
	int fd, link, cpu; // fd, link (-1: none): borrowed
	bool everywhere; // each processor has one
	u32 group;	 // ... those of one point have this number (newcpus.c); 0: those of processors that come are not made
	u64 since_ns; // CLOCK_MONOTONIC
};
typedef VEC(int) CpuList;
void attachments_add_cpu(struct Attachments *at, int cpu); // the event added last is of that processor alone, and was opened with PERF_FORMAT_TOTAL_TIME_ENABLED
void attachments_everywhere(struct Attachments *at, size_t from, u32 group); // those of single processors from that number on are of each
struct NewCpus *attachments_newcpus(const struct Attachments *at);
// An event of a processor that came, still switched off: takes the place of the group's event that the kernel took off it. False: there is one that still counts.
bool attachments_cpu_came(struct Attachments *at, u32 group, int cpu, int perf_fd, int link_fd, bool hz);
void attachments_cpu_failed(struct Attachments *at, int cpu); // it came, and has no event
const CpuList *attachments_came(const struct Attachments *at, const CpuList **failed);
const struct CpuEvent *attachments_cpus(const struct Attachments *at, size_t *n);
void attachments_count(struct Attachments *at, u64 n); // n more points are attached
u64 attachments_counted(const struct Attachments *at);
// A perf event with its link (-1: none). slow: closing the event takes the kernel long and stops nothing that runs.
void attachments_add_event(struct Attachments *at, int link_fd, int perf_fd, bool slow);
size_t attachments_events(const struct Attachments *at); // how many there are that are not slow
void attachments_add_timers(struct Attachments *at, size_t from); // those from that number on have a frequency
// A definition of a trace event, which `undefine` takes away at detach.
void attachments_add_def(struct Attachments *at, const char *event, void (*undefine)(const char *event));
u32 attachments_next_def(struct Attachments *at);
bool attachments_guarded(const struct Attachments *at);
void attachments_set_guard(struct Attachments *at, int pipe_fd); // takes it; closed when detached
// In a forked child: becomes a process of its own (session, name) that holds only these descriptors, sorted.
void become_helper(const char *name, const int *fds, size_t n);
void keep_only(const char *name, const int *fds, size_t n); // the same, but it stays the child of who forked it, who waits for it
void attachments_add_iter(struct Attachments *at, int link_fd); // owned already; to be read through attachments_iter_open
void attachments_add_pin(struct Attachments *at, const char *path); // removed only when attaching fails
void attachments_undo(struct Attachments *at); // attaching failed: nothing remains, pins neither

// ---- newcpus.c
// Each processor has this event with that program: those that come are to have it, too. Its number, from 1 on; 0: they will not.
u32 newcpus_ask(struct NewCpus *c, int prog_fd, u64 cookie, const struct perf_event_attr *attr);

// ---- attach_point.c, the rest
int first_online_cpu(void);
struct err *online_cpus(int **cpus, u32 *n); // malloced
// Number in a small sysfs file; -errno.
s64 read_number(const char *path);
struct err *pmu_type(const char *pmu, u32 *type);	// "uprobe", "kprobe"
u64 pmu_retprobe_bit(const char *pmu);
struct Refusals *refusals_of(struct ProbeEnv *env, const struct ProbeProg *pp);
struct err *refusals_end(struct ProbeEnv *env, struct err *e); // warns or makes the error of all; e: passed through
// One point failed: by config missing_probes an error (returned, naming the point), a warning or nothing (NULL); of a place that a pattern found
// it is only noted. Takes cause.
struct err *attach_refused(struct ProbeEnv *env, struct ProbeProg *pp, const struct Point *pt, struct err *cause);
typedef struct err *(*ForPoint)(struct ProbeEnv *env, struct ProbeProg *pp, const struct Point *pt, struct Attachments *at);
// fn for each point of pp, in order, with attach_refused and the count.
struct err *attach_each(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at, ForPoint fn);

// ---- providers: one triple each, see the table in provider.c
#define PROVIDER_FNS(id)                                                                                               \
	void id##_expand(struct ProbeEnv *, const struct Provider *, const struct AttachSpec *, struct PointList *);    \
	void id##_list(struct ProbeEnv *, const struct Provider *, const struct AttachSpec *, void (*)(void *, struct Point *), void *); \
	struct err *id##_attach(struct ProbeEnv *, struct ProbeProg *, struct Attachments *);
PROVIDER_FNS(special)
PROVIDER_FNS(tracepoint)
PROVIDER_FNS(rawtp)
PROVIDER_FNS(timer)   // profile, interval
PROVIDER_FNS(counter) // software, hardware
PROVIDER_FNS(uprobe)
PROVIDER_FNS(usdt)
PROVIDER_FNS(kprobe)
PROVIDER_FNS(fentry)
PROVIDER_FNS(iter)
PROVIDER_FNS(watchpoint)
// expand serves -l as well: wildcards are allowed there anyway
void list_by_expand(struct ProbeEnv *env, const struct Provider *p, const struct AttachSpec *spec, void (*fn)(void *, struct Point *), void *arg);

// ---- which form of attaching pp will get; known before loading
bool uprobe_is_multi(const struct ProbeEnv *env, const struct ProbeProg *pp);
bool kprobe_is_multi(struct ProbeEnv *env, const struct ProbeProg *pp);

// ---- watchpoint.c: "increment+arg1" -> function and 1
bool watch_function_form(struct ProbeEnv *env, const char *text, const char **func, int *arg);
// Sets the registers; the events are owned by env->watches
struct err *watch_attach(struct ProbeEnv *env, struct ProbeProg *pp, const struct Point *p, u64 addr);

// ---- places.c: of several points at one place the first stays
void places_unify(struct PointList *l);

// ---- target.c: the files that a target names: path, library, program in $PATH, pattern, or "*" (executable mappings of pid, else of
// every process); target NULL: the program of pid. Paths as the kernel can open them from here, on the arena. False after an error.
bool probe_targets(struct ProbeEnv *env, const struct AttachSpec *spec, const char *target, int pid, NameList *paths);
// The file as an object with symbols; NULL after an error (unreadable, no ELF).
struct SymObject *target_object(struct ProbeEnv *env, const struct AttachSpec *spec, const char *path);

// ---- insn.c
// Does an instruction begin at file offset off of code that begins at start? UNKNOWN: unreadable, or an instruction not known lies between.
enum InsnAt { INSN_BEGINS, INSN_INSIDE, INSN_UNKNOWN };
enum InsnAt insn_at(const char *path, u64 start, u64 off);

// ---- gofunc.c: functions of Go; off, size: of the function in the file
typedef VEC(u64) OffList;
// Adds where its return instructions are, counted from its beginning. NULL, or why that is not known (on the arena).
extern const char func_endless[]; // this reason: it has no return instruction, as a function that panics
const char *func_returns(struct Arena *a, const char *path, u64 off, u64 size, OffList *out);
// Bytes from its beginning to where it is entered once a call: behind the check whether its stack has room. The stack and the registers of arguments
// are still as they were. 0: it has no such check.
u64 go_entry(const char *path, u64 off, u64 size);

// ---- uprobe_attach.c
struct err *uprobes_attach(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at);

// ---- usdt_arg.c
struct UsdtSymbols { // resolves names in argument specifications; find may be NULL
	bool (*find)(void *arg, const char *name, u64 *vaddr);
	void *arg;
	u64 pc; // virtual address of the probe
};
// "-4@%edi 8@16(%rbp)" -> args. An argument that cannot be read (float, segment register, unknown symbol) gets size 0. Returns how many,
// at most max; stops at text it does not understand (then *bad, if given, is set).
u32 usdt_args_parse(const char *spec, enum PtArch arch, const struct UsdtSymbols *syms, struct UsdtArg *out, u32 max, bool *bad);

// ---- perf.c: the event on every CPU, or on every thread (present and later) of pt->pid; the cookie is pt->id
struct err *attach_everywhere(struct ProbeProg *pp, const struct Point *pt, struct Attachments *at, const struct perf_event_attr *model);

// ---- fentry.c: what patterns matched and the kernel refused, over all programs. Takes and returns e.
// ---- BTF object of a kernel module, owned by env; -errno
int module_btf_fd(struct ProbeEnv *env, const char *module);

// ---- kprobe_attach.c
struct err *kprobe_attach(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at);
// ---- kcode.c: the kernel's code
struct Kcore { // /proc/kcore: kernel memory as an ELF core file
	int fd;
	Elf64_Phdr *ph;
	u32 nph;
};
void kcore_open(struct Kcore *k); // closed by kcore_close, whether it could be opened or not
void kcore_close(struct Kcore *k);
u32 kcode_entry_nops(const struct Kcore *k, u64 addr); // bytes of [endbr64 or the nop that replaced it] [5-byte nop of ftrace] the function begins with; 0: not these
// Bytes at the beginning of the function at addr that ftrace keeps for itself, so that this kernel lets no kprobe there; 0: it does, or the code cannot be read
u32 kcode_entry_taken(const struct Kcore *k, u64 addr);
bool kcode_misleads(const struct Kcore *k, u64 addr, bool entry); // a kernel stack taken by a breakpoint there may lack callers. entry: a function begins there
bool takes_kstack(const struct ProbeProg *pp);	       // its action has a kernel stack
void kstacks_unsure(struct ProbeEnv *env, const struct ProbeProg *pp, const struct Point *pt); // counted, warned of once

// ---- kbatch.c: many kprobes as one trace event
#define KBATCH_MIN 16
bool kbatch_fits(struct ProbeEnv *env, const struct ProbeProg *pp, u64 *text); // *text: address of _text
struct err *kbatch_attach(struct ProbeEnv *env, struct ProbeProg *pp, struct Attachments *at, u64 text, u64 *refused);

// ---- tracepoint.c: cache->tps, read
struct ProbeCache *tracepoint_events(struct ProbeEnv *env);
void tracepoint_hint(struct ProbeEnv *env, const char *event); // to the last diagnostic, for each tracepoint of just that name

// ---- kfuncs.c: names of kernel functions
void kfuncs_read(struct ProbeEnv *env); // fills cache->kfuncs, in the order of the kernel's list
void kfuncs_sort(KFuncList *l);	      // by name, module, address
// Every kernel function that the source calls `name`: duplicates and the compiler's copies (.isra.N, .constprop.N) too. module NULL: any.
void kfuncs_named(struct ProbeEnv *env, const char *module, const char *name, KFuncList *out);
bool kfunc_blacklisted(struct ProbeEnv *env, const char *name);
#endif
