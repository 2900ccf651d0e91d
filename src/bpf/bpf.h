// bpf: code into the kernel. sys.c is the only caller of bpf(2) and perf_event_open(2).
#ifndef SONDE_BPF_H
#define SONDE_BPF_H
#include "lower/program.h"

// ---- sys.c: thin, return fd/value >= 0 or -errno
struct SysMap {
	u32 type, key_size, value_size, max_entries, flags;
	const char *name;
	int inner_fd;
	int btf_fd; u32 btf_key, btf_val;
};
int sys_map_create(const struct SysMap *m);
int sys_map_lookup(int fd, const void *key, void *val);
int sys_map_update(int fd, const void *key, const void *val, u64 flags);
int sys_map_delete(int fd, const void *key);
int sys_map_next_key(int fd, const void *key, void *next); // key NULL: first
// batch read of a whole hash map; -EINVAL/-ENOTSUP when the kernel cannot. *n in: room, out: got. in NULL at first;
// returns -ENOENT with the last batch, which may be empty.
int sys_map_lookup_batch(int fd, void *in, void *out, void *keys, void *vals, u32 *n);
int sys_map_take_batch(int fd, void *in, void *out, void *keys, void *vals, u32 *n); // and deletes what it gives
int sys_map_update_batch(int fd, void *keys, void *vals, u32 *n); // n in: how many, out: how many were put
int sys_map_freeze(int fd);
struct SysProg {
	u32 type, expected_attach_type;
	const struct BpfInsn *insns;
	u32 ninsns;
	const char *license, *name;
	u32 log_level;
	char *log;
	u32 log_size;
	int btf_fd; // of the program's own BTF, 0 none
	const void *func_info, *line_info; // struct bpf_func_info[], bpf_line_info[]
	u32 nfunc_info, nline_info;
	u32 attach_btf_id;
	int attach_btf_obj_fd, attach_prog_fd;
	u32 flags; // BPF_F_SLEEPABLE
	const int *fd_array;
};
int sys_prog_load(const struct SysProg *p);
int sys_btf_load(const void *data, u32 size, char *log, u32 log_size);
// Expected attach types newer than the headers sonde may be built with (linux/bpf.h, enum bpf_attach_type).
enum { SYS_TRACE_KPROBE_MULTI = 42, SYS_TRACE_UPROBE_MULTI = 48, SYS_TRACE_KPROBE_SESSION = 56, SYS_TRACE_UPROBE_SESSION = 57 };
struct SysTestRun {
	const void *ctx_in; u32 ctx_size;
	const void *data_in; u32 data_size;
	u32 repeat, cpu, flags;
	u32 retval, duration; // out
};
int sys_prog_test_run(int fd, struct SysTestRun *t);
int sys_perf_event_open(void *attr, int pid, int cpu, int group, unsigned long flags); // struct perf_event_attr
int sys_link_perf_event(int prog_fd, int perf_fd, u64 cookie);	// BPF_LINK_CREATE, 5.15
int sys_raw_tracepoint_open(const char *name, int prog_fd);	// also fentry/fexit/tp_btf with name NULL
int sys_link_uprobe_multi(int prog_fd, const char *path, const u64 *offs, const u64 *ref_ctr, const u64 *cookies, u32 n, u32 flags, int pid);
#define SYS_MULTI_RETURN 1u	     // flag of both multi links: fire at function return
#define SYS_MULTI_SESSION (1u << 31) // fire at entry and return: programs loaded with expected attach type SYS_TRACE_*_SESSION
int sys_link_kprobe_multi(int prog_fd, const char *const *syms, const u64 *addrs, const u64 *cookies, u32 n, u32 flags);
int sys_link_iter(int prog_fd, bool cgroups); // cgroups: an iter:cgroup, over all of them
int sys_iter_create(int link_fd);
int sys_obj_pin(int fd, const char *path);
int sys_obj_get(const char *path);
int sys_prog_next_id(u32 id, u32 *next);
int sys_btf_next_id(u32 id, u32 *next);
int sys_prog_fd_by_id(u32 id);
int sys_btf_fd_by_id(u32 id);
int sys_obj_info(int fd, void *info, u32 *len);
int sys_enable_stats(void);

// ---- feature.c: try once, cache; feature_name for errors and `sonde info`
enum Feature {
	FEAT_RINGBUF, FEAT_BPF_LOOP, FEAT_FOR_EACH_MAP_ELEM, FEAT_PERF_LINK, FEAT_UPROBE_MULTI, FEAT_KPROBE_MULTI, FEAT_KPROBE_SESSION,
	FEAT_KPROBE, FEAT_FENTRY, FEAT_TP_BTF, FEAT_RAWTP, FEAT_BTF, FEAT_MODULE_BTF, FEAT_NO_PREALLOC, FEAT_BATCH, FEAT_V4_INSNS, FEAT_TASK_PT_REGS,
	FEAT_GET_NS_PID, FEAT_D_PATH, FEAT_STRNCMP, FEAT_SIGNAL, FEAT_WRITE_USER, FEAT_KTIME_BOOT, FEAT_KTIME_TAI, FEAT_JIFFIES64, FEAT_ITER, FEAT_GET_STACK, FEAT_FUNC_IP,
	FEAT_MAP_LOOKUP_PERCPU, FEAT_UPROBE_REFCTR, FEAT_HW_EVENTS, FEAT_ATOMICS, FEAT_GLOBAL_DATA_MMAP,
	FEAT_BIG_KEYS, FEAT_TASK_MEMORY, FEAT_SLEEPABLE_UPROBES, FEAT_TASK_WORK,
	FEAT_MAY_GOTO,
	FEAT_LOOP_ROUNDS, // callbacks are verified for every round, not for the first alone (see bpfrt/rt.h)
	FEATURES
};
bool feature_has(enum Feature f);
u32 feature_func_id(const char *name); // BTF id of a function of the kernel that a feature was tried with; 0: ask ctype_func_id()
const char *feature_name(enum Feature f);
const char *feature_note(enum Feature f); // since which kernel, what sonde does without it
void feature_set(enum Feature f, bool has); // for tests

// ---- trial.c: may programs such as *like call the kernel's function of that BTF id? Asked by one that calls it without arguments: the kernel looks at these
// later. True also where the kernel says nothing of it, as to whoever may load no programs.
bool try_kfunc(const struct SysProg *like, u32 btf_id);

// ---- caps.c: may this process trace?
struct err *feature_need_caps(void); // NULL when we may load tracing programs; else what is missing and what to do
void caps_print(FILE *out);	      // a line for each capability that is missing and would help

// ---- info.c
void info_print(FILE *out); // sonde info

// ---- ask.c: questions about kernel symbols, answered by the kernel itself. Nothing is loaded before the first one. One thread at a time.
struct KernAsk;
struct KernAsk *kernask_create(void);
void kernask_destroy(struct KernAsk *k);
// "name+0x1f/0x80 [module]" as printk's %pS gives it, "0xffff..." where there is no symbol. False: the kernel does not answer (before 5.14).
bool kernask_symbol(void *k, u64 addr, char *text, size_t size);
// 1: *addr is the first symbol's of that name; 0: there is none; -1: no answer, or one that takes as long as reading all of /proc/kallsyms (before 6.2).
int kernask_addr(void *k, const char *name, u64 *addr);

// ---- link.c: appends the runtime functions that code calls (and those they call) from the embedded objects, adds their maps to prog->maps
// (by name; one instance for the whole Program) and turns REL_RT into local calls. After it only MAPFD/MAPVAL/KFUNC relocations are left.
struct err *link_runtime(struct Program *prog, struct Code *code);
// cobj.c: functions in C that a script imports. fd is borrowed, path is for people. *out is in the arena, cobj_deinit() frees what is not; also after an error.
struct CObj;
struct err *cobj_open(struct Arena *a, const char *path, int fd, struct CObj **out);
void cobj_deinit(struct CObj *o);
const struct CFunc *cobj_function(struct CObj *const *objs, u32 n, const char *name, const char **why); // as CheckHooks.cfunc
// cobjlink.c: the same for these: appended to code, with their maps. Before link_runtime().
struct err *link_imports(struct Program *prog, struct Code *code);

// Sets a RT_CONST of the runtime after link_runtime of all programs and before load_maps. False: no linked function reads it (or size differs).
bool link_set_const(struct Program *prog, const char *name, const void *val, u32 size);
// rttab.c: C line of instruction `insn` (from its start) of runtime function `fn`, for verifier logs; false when unknown.
bool rt_line(const char *fn, u32 insn, const char **file, u32 *line);

// ---- btfgen.c: a program's own BTF: names of its functions and, with_lines, the script line of each instruction (verifier log, bpftool)
struct ProgBtf {
	void *data; // as BPF_BTF_LOAD takes it; these are owned
	u32 size;
	struct bpf_func_info *funcs;
	struct bpf_line_info *lines;
	u32 nfuncs, nlines;
};
void progbtf_build(const struct ProbeProg *pp, bool with_lines, struct ProgBtf *out);
bool progbtf_is_global(const struct CodeFunc *f); // verified once, and not at each call
void progbtf_deinit(struct ProgBtf *b);

// ---- loadmaps.c, load.c: maps and programs into the kernel
struct LoadOpts {
	bool dump_verifier; // -d verifier: full verifier log to dump, nverified is set
	FILE *dump;
	u32 log_size; // bytes for the verifier's log; 0: enough
	// Kernel functions: sets *id (BTF id) and *btf_fd (of a module's BTF, 0: vmlinux); false if the kernel has none of that name.
	bool (*kfunc)(void *arg, const char *name, u32 *id, int *btf_fd);
	// Takes the error of a program that was refused: NULL when it can be done without, then its fd stays -1. May be NULL.
	struct err *(*failed)(void *arg, struct ProbeProg *pp, struct err *e);
	void *arg;
};
struct Loaded; // owner of map and program descriptors and mappings; destroy it before the Program's arena
// Creates all of p->maps. Sets MapDef.fd and, for BPF_F_MMAPABLE arrays, MapDef.mmapped.
struct err *load_maps(struct Program *p, struct Loaded **out);
// Loads n programs of p (after link_runtime), large ones side by side, and sets their fd. bases, one for each, hold what probe_load_params() chose: type,
// expected_attach_type, attach_btf_id, attach_btf_obj_fd, flags; the rest is filled in here. A rejection gives an error holding the script line, the
// verifier's last lines and that it is sonde's bug; or names the helper, capability or limit when that is the reason. o may be NULL.
struct err *load_progs(struct Program *p, struct Loaded *l, struct ProbeProg *const *progs, size_t n, const struct SysProg *bases, const struct LoadOpts *o);
// One program by itself, which may be while load_progs() is at work: its descriptor, the caller's, or -errno.
int load_alone(struct Program *p, struct ProbeProg *pp, const struct SysProg *base);
void loaded_destroy(struct Loaded *l); // closes everything; NULL is fine
bool map_type_is_percpu(u32 type); // every value is there once a CPU
void map_kernel_name(const char *name, char out[16]); // "@x" -> "AT_x", other characters than [A-Za-z0-9_] -> '_', cut to 15
// kernoff.c: tells the runtime where the running kernel keeps what it follows; before load_maps
bool kernoff_set(struct Program *prog); // is the kernel's own tree of mappings known? (bpfrt/vma.bpf.c)
#endif
