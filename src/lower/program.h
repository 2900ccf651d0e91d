// What lowering makes of a checked script: programs, maps, format sites. load/attach/run work from this alone.
#ifndef SONDE_PROGRAM_H
#define SONDE_PROGRAM_H
#include "ir/ir.h"
#include "lang/lang.h"

#define KEY_PARTS_MAX 64
struct MapDef {
	u32 id;		  // index in Program.maps; IrVal.id of IRO_MAPFD and IRO_MAPVAL
	const char *name; // "@x" for the script's maps (kernel name: "AT_x"), "rt_*"/"sonde_*" for sonde's own
	u32 bpf_type;	  // BPF_MAP_TYPE_*
	u32 key_size, value_size, max_entries, flags;
	bool user;	  // one of the script's maps
	bool scalar;	  // written without a key
	bool task_work;	  // its value begins with a struct bpf_task_work, which the kernel wants to know
	bool declared;	  // its size is the script's: let @x = hash(100)
	const struct Type *key; // NULL when scalar
	const struct Type *val;
	const char *const *key_names; // of the parts of its key, nested tuples flattened; NULL where nothing names one;
	u32 nkey_names;			// at most KEY_PARTS_MAX are there
	u32 set_off;	  // in the value: of the word that says whether it was ever set (bpfrt/abi.h); 0: it has none
	const void *init; // array of one element: its value_size bytes at load (then frozen when BPF_F_RDONLY_PROG is set); NULL zero
	const char *path; // CGROUP_ARRAY: the cgroup its one element is; else the map is the one pinned there; NULL: an ordinary map
	struct MapDef *inner; // ARRAY_OF_MAPS, HASH_OF_MAPS: what the inner maps are like (not in Program.maps); else NULL
	// Of a map that is printed and cleared while it fills: the empty one that takes its place meanwhile, and the array whose one element is the one of the
	// two that programs use. Else NULL. Whoever exchanges the two exchanges their fds: `fd` is the one in use.
	struct MapDef *spare, *holder;
	struct MapDef *cold; // its keys have user stacks, whose numbers may stand for others (lower_cold.c): the map that says for which. Else NULL
	u64 swap_used_ns, swap_at_ns; // time of exchanges, of which three quarters of all time are taken away, as at swap_at_ns (CLOCK_MONOTONIC)
	u64 taken_in_use; // how often its elements were taken where programs used them
	u32 wide;	  // at most so many of its sums, in one report, may have passed 64 bits (run/mapread.c)
	int fd;		  // set by load, -1 before; owned by struct Loaded
	bool zeroed;	  // zero() was called since clear(): a count() of 0 is one
	void *mmapped;	  // arrays with BPF_F_MMAPABLE: set by load
};

struct ErrSite { // a helper call that may fail: with -k each failure is an event
	struct Span span;
	const char *what; // "probe_read_user_str", or a text with blanks: what went wrong; {} in it is the number reported
	bool counted;	  // without -k: counted in element `slot` of "rt_sites" (struct RtSite), reported once
	bool reported;	  // by run/losses.c
	const struct MapDef *map; // that was to be updated, or NULL
	u32 slot;
};

// ---- one BPF program
struct ProbeProg {
	struct ProbeAst *ast;
	enum ProbeKind kind;
	struct PointList points; // all served by this one program
	struct IrProg ir;
	struct Code code;
	struct ProbeProg *at_return; // kprobe session: the kretprobe program that code holds as well; owned, its points are as many as ours
	bool sleepable;
	bool touch; // may sleep, and runs before the next program at the same places: reads what that will, so that it is in memory (lower_touch.c)
	bool typed; // rawtracepoint: the verifier is to know the types of its arguments, as a helper wants them
	// set by load
	int fd;
	u32 nverified;	// instructions the verifier processed
};

struct CObj; // bpf/internal.h
struct Program {
	struct Arena *arena;
	struct Diags *diags;
	struct TypeTab *types;
	struct Config config;
	VEC(struct MapDef *) maps;
	VEC(struct ProbeProg *) progs;
	VEC(struct FmtSite *) fmts; // the unit's
	VEC(struct ErrSite *) errsites;
	VEC(struct CObj *) objects; // imported; of the arena, but for what cobj_deinit() frees
	bool uses_ustack, uses_async, uses_lang_func, uses_kstack, uses_usym;
};

// The map of that name; NULL if no program uses one.
static inline struct MapDef *program_map(const struct Program *p, const char *name)
{
	for (size_t i = 0; i < p->maps.n; i++)
		if (!strcmp(p->maps.p[i]->name, name))
			return p->maps.p[i];
	return NULL;
}

// ---- lower.c
// What the running kernel has; session fills it from bpf/feature.c.
struct LowerOpts {
	bool bpf_loop;	     // loops become callbacks; without it plain loops the verifier has to walk
	bool for_each;	     // bpf_for_each_map_elem
	bool percpu_lookup;  // bpf_map_lookup_percpu_elem
	bool (*task_memory)(void); // bpf_copy_from_user_task in iterators; asked where it matters. NULL: no
	bool (*task_work)(void); // callbacks as a thread returns to user space; as task_memory
	bool (*cold_stacks)(void); // user stacks may be swapped out, and waited for; as task_memory
	bool ktime_boot, ktime_tai, jiffies64, func_ip;
	bool no_prealloc;    // maps of big keys grow as they fill
	bool sleepable_uprobes; // programs of uprobe_multi links may sleep
	bool own_script;     // a tool's: its maps are large, and taken once or each second
	bool takes;	     // ... but so often filled that nothing may be lost in that moment
	bool as_bpftrace;    // a text that cannot be read is empty, and nothing more
	u64 ns_dev, ns_ino;  // pid namespace of sonde; ns_ino 0: the initial one
	u32 ncpus;	     // possible CPUs
	u64 start_boot_ns;   // CLOCK_BOOTTIME now, for elapsed
	s64 tai_minus_boot;
	int pid;	     // -p: filter for probes that cannot attach to one process
};
struct Unit;
// Fills prog from the checked unit; its arena, diagnostics, types and configuration are there already. Errors (a feature the kernel lacks) become
// diagnostics.
bool lower_program(struct Unit *u, struct Program *prog, const struct LowerOpts *o);

// ---- stack_src.c: what generated code passes as third argument to rt_kstack(ctx, limit, src) and rt_ustack(ctx, limit, src), see
// bpfrt/stack.h: a constant.
// walk: of a user stack. entry: every point of the program is the first instruction of a function.
u64 stack_src(enum ProbeKind kind, enum CtxKind ctx, enum StackWalk walk, bool entry);
#endif
