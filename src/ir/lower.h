// Lowering: the typed tree -> IR. Internal to ir/lower*.c but for lower_program.
#ifndef SONDE_LOWER_H
#define SONDE_LOWER_H
#include "ir/program.h"
#include "lang/check.h"

// What the running kernel has; session fills it from bpf/feature.c.
struct LowerOpts {
	bool bpf_loop;	     // loops become callbacks; without it plain loops the verifier has to walk
	bool for_each;	     // bpf_for_each_map_elem
	bool percpu_lookup;  // bpf_map_lookup_percpu_elem
	bool ktime_boot, ktime_tai, jiffies64, func_ip;
	bool no_prealloc;    // maps of big keys grow as they fill
	u64 ns_dev, ns_ino;  // pid namespace of sonde; ns_ino 0: the initial one
	u32 ncpus;	     // possible CPUs
	u64 start_boot_ns;   // CLOCK_BOOTTIME now, for elapsed
	s64 tai_minus_boot;
	int pid;	     // -p: filter for probes that cannot attach to one process
};
// Fills prog->maps and prog->progs from the checked unit. Errors (a feature the kernel lacks) become diagnostics.
bool lower_program(struct Unit *u, const struct LowerOpts *o);

// ---- the rest is shared among lower*.c

// A value being worked on. Numbers and pointers are in v, extended to 64 bits by their type. Everything else lives in memory at v + off:
// BPF memory the program may touch directly, the context (constant offsets only), or kernel/user memory that takes a helper to read.
struct Val {
	const struct Type *type;
	bool mem;
	bool ctx;  // memory is the program's context
	bool btf;  // a pointer the verifier knows the type of
	enum AddrSpace as;
	struct IrVal v;
	s32 off;
	u8 bit_off, bit_size;
};

struct Loop {
	struct Loop *up;
	bool callback;	  // break and continue return from a callback
	IrBlk brk, cont;
};

struct Lower {
	struct Unit *u;
	struct Program *prog;
	const struct LowerOpts *o;
	struct ProbeUnit *pu;
	struct ProbeProg *pp;
	struct IrBuild b;
	IrBlk exit;		// of the current function: returns
	struct Loop *loop;
	bool in_callback;
	struct Span read_at; // the expression whose memory is being read, for errors of the read
	// frame: what callbacks share with the program (0 scratch pointer, 8 ctx, 16 return flag, then loop bases); variables they share are in scratch
	bool has_frame;
	IrSlot frame_slot;	// in functions[0]
	u32 frame_size, loop_base;
	struct IrVal frame;	// address of it in the current function
	struct IrVal scratch;	// pointer to this CPU's scratch, current function
	bool uses_scratch;
	IrBlk prologue, body;
	u32 nscalars;
	u32 scratch_vars;	// bytes for variables, then temporaries
	u32 scratch_now, scratch_max;
	struct TmpSlot {
		IrSlot slot;
		u32 size, fn;
		bool busy;
	} *slots;
	u32 nslots, capslots;
	u32 stack_used;		// slot bytes of the current function
	IrReg open[8];		// ring buffer records reserved and not yet submitted
	u32 nopen;
	bool saw_return;	// in the callback being lowered
	u32 map_scratch, map_events, map_counters, map_zero; // ids + 1, 0 not made yet
	u32 zero_size;
	u32 fn_count_loss;	// function index + 1
	bool direct_btf;	// read through pointers the verifier knows
};

static inline bool ty_scalar(const struct Type *t)
{
	switch (t->kind) {
	case TY_INT: case TY_BOOL: case TY_PTR: case TY_KSTACK: case TY_USTACK: case TY_KSYM: case TY_USERNAME: case TY_STRERROR: case TY_SYSCALL_NAME: case TY_SIGNAL_NAME:
		return true;
	default:
		return false;
	}
}

// BPF helper numbers (include/uapi/linux/bpf.h, __BPF_FUNC_MAPPER)
enum {
	H_MAP_LOOKUP = 1, H_MAP_UPDATE = 2, H_MAP_DELETE = 3, H_KTIME = 5, H_PRANDOM = 7, H_CPU = 8, H_PID_TGID = 14, H_UID_GID = 15, H_COMM = 16,
	H_CURTASK = 35, H_UNDER_CGROUP = 37, H_NUMA = 42, H_OVERRIDE = 58, H_WRITE_USER = 36, H_GET_STACK = 67, H_CGROUP = 80, H_SIGNAL = 109, H_READ_USER = 112,
	H_READ_KERNEL = 113,
	H_READ_USER_STR = 114, H_READ_KERNEL_STR = 115, H_SIGNAL_THREAD = 117, H_JIFFIES = 118, H_NS_PID_TGID = 120, H_KTIME_BOOT = 125,
	H_RINGBUF_RESERVE = 131, H_RINGBUF_SUBMIT = 132, H_RINGBUF_DISCARD = 133, H_D_PATH = 147, H_FOR_EACH = 164, H_FUNC_IP = 173, H_LOOP = 181,
	H_PERCPU_LOOKUP = 195, H_KTIME_TAI = 208, H_SOCKET_COOKIE = 46, H_SEQ_PRINTF = 126, H_SKB_OUTPUT = 111
};

// lower_mem.c
struct Val val_scalar(const struct Type *t, struct IrVal v);
struct Val val_mem(const struct Type *t, struct IrVal base, s32 off, enum AddrSpace as);
struct Val tmp_mem(struct Lower *l, const struct Type *t, u32 size); // lives until the statement ends
struct IrVal tmp_slot(struct Lower *l, u32 size);		     // small: on the stack
struct TmpMark {
	u32 scratch;
	u64 busy; // slots in use, by index
};
struct TmpMark tmp_mark(struct Lower *l);
void tmp_release(struct Lower *l, struct TmpMark m);
struct IrVal addr_of(struct Lower *l, struct Val m);		     // v + off as one value
struct IrVal load_scalar(struct Lower *l, struct Val m);	     // reads what m->type says
void store_val(struct Lower *l, struct Val src, struct IrVal base, s32 off, const struct Type *t, bool pad);
void copy_bytes(struct Lower *l, struct IrVal base, s32 off, struct Val src, u32 size);
void copy_str(struct Lower *l, struct IrVal base, s32 off, u32 size, struct Val src, bool pad);
u32 load_step(s32 a, s32 b, u32 n); // widest access aligned at offsets a and b, at most n bytes
void zero_bytes(struct Lower *l, struct IrVal base, s32 off, u32 size);
void store_lit_str(struct Lower *l, struct IrVal base, s32 off, u32 size, const char *s, u32 len, bool pad);
struct IrVal to_bpf_mem(struct Lower *l, struct Val *m, u32 size); // address of a copy the program may touch (or of m itself)
struct IrVal read_mem(struct Lower *l, enum AddrSpace as, struct IrVal dst, struct IrVal size, struct IrVal addr, bool str, struct Span at);
struct IrVal call0(struct Lower *l, u32 helper);
struct IrVal call1(struct Lower *l, u32 helper, struct IrVal a);
struct IrVal call2(struct Lower *l, u32 helper, struct IrVal a, struct IrVal b);
struct IrVal call3(struct Lower *l, u32 helper, struct IrVal a, struct IrVal b, struct IrVal c);
struct IrVal call4(struct Lower *l, u32 helper, struct IrVal a, struct IrVal b, struct IrVal c, struct IrVal d);
struct IrVal rt_call(struct Lower *l, const char *name, u32 n, struct IrVal a, struct IrVal b, struct IrVal c, struct IrVal d, struct IrVal e);
struct IrVal var_place(struct Lower *l, struct VarSym *v, s32 *off); // memory of a variable
struct IrVal scratch_base(struct Lower *l);
// A helper's negative return code is reported: always (without -k once), or with -k only.
void helper_error(struct Lower *l, struct IrVal ret, const char *what, struct Span at, bool always);
void report_failure(struct Lower *l, struct IrVal ret, const char *what, struct Span at); // here and now, see struct ErrSite

// lower_expr.c
struct Val lx(struct Lower *l, struct Expr *e);
struct IrVal lx_int(struct Lower *l, struct Expr *e);
void lx_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, const struct Type *t, bool pad);
void lx_cond(struct Lower *l, struct Expr *e, IrBlk t, IrBlk f);
struct Val lx_place(struct Lower *l, struct Expr *e); // where an lvalue is, unread
void lx_drop(struct Lower *l, struct Expr *e);	      // for its effect
// Sums and differences of true and false: true or false again.
static inline enum Op arith_op(enum Op op, const struct Type *t)
{
	return t->kind != TY_BOOL ? op : op == OP_ADD ? OP_OR : op == OP_SUB ? OP_XOR : op;
}
struct IrVal lower_arith(struct Lower *l, enum Op op, struct IrVal a, struct IrVal b, bool sgn, struct Span at);
void var_assign(struct Lower *l, struct VarSym *v, struct Expr *e);
void var_set(struct Lower *l, struct VarSym *v, struct IrVal x);
struct IrVal var_get(struct Lower *l, struct VarSym *v);
bool has_side_effects(const struct Expr *e);

// lower_map.c
u32 sonde_map(struct Lower *l, const char *name, u32 type, u32 key, u32 val, u32 max, u32 flags); // id
u32 events_map(struct Lower *l);
void lower_maps(struct Lower *l); // MapDefs of all MapSyms
struct IrVal lm_key(struct Lower *l, struct MapSym *m, struct Expr *key);  // address of the key
struct IrVal lm_lookup(struct Lower *l, struct MapSym *m, struct IrVal key);
void lm_into(struct Lower *l, struct Expr *ref, struct IrVal base, s32 off, const struct Type *t, bool pad);
struct Val lm_get(struct Lower *l, struct Expr *ref);
void lm_assign(struct Lower *l, struct Stmt *s);
struct IrVal lm_incdec(struct Lower *l, struct Expr *ref, s64 by, bool post, bool used);
struct IrVal lm_aggr_int(struct Lower *l, struct MapSym *m, struct IrVal key);
void lm_stats_into(struct Lower *l, struct Expr *ref, struct IrVal base, s32 off); // struct RtAvg of all CPUs
struct Val lower_delete(struct Lower *l, struct Expr *e, bool used);
void count_loss(struct Lower *l, u32 counter_off); // adds one to a field of struct RtCounters
struct IrVal event_reserve(struct Lower *l, u32 kind, u32 id, u32 size, IrBlk fail); // payload after 8 bytes of head
void event_submit(struct Lower *l, struct IrVal rec);

// lower_call.c, lower_ctx.c
struct Val lower_call(struct Lower *l, struct Expr *e);
bool call_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, const struct Type *t, bool pad); // false: no direct form
struct Val lower_argn(struct Lower *l, struct Expr *e);
struct IrVal cur_pid(struct Lower *l, bool tid, bool init_ns);
struct IrVal ctx_ptr(struct Lower *l);

// lower.c
void lower_stmts(struct Lower *l, struct Stmt *s);
void fmt_event(struct Lower *l, struct Expr *e, struct Expr **args, u32 nargs); // values for the format site e->fmt
void lower_print_map(struct Lower *l, struct Expr *e, bool take); // take: and clears it
void lower_return(struct Lower *l, struct IrVal v);
#endif
