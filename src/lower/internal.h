// Lowering: the typed tree -> IR. What the files of this folder share.
#ifndef SONDE_LOWER_INTERNAL_H
#define SONDE_LOWER_INTERNAL_H
#include "lang/lang.h"
#include "lower/program.h"
#include <linux/bpf.h>

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

// What callbacks share with the program: the frame, one stack object of it.
enum { FRAME_SCRATCH = 0, FRAME_CTX = 8, FRAME_RETURN = 16, FRAME_RETVAL = 24, FRAME_LOOPS = 32 };

struct Lower {
	struct Unit *u;
	struct Program *prog;
	const struct LowerOpts *o;
	struct ProbeUnit *pu;
	struct ProbeProg *pp;
	struct IrBuild b;
	struct Loop *loop;
	u32 nloops;		// callbacks around the current statement
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
	u64 scratch_vars;	// bytes for variables, then temporaries
	u64 scratch_now, scratch_max;
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
	u32 map_scratch, map_events, map_zero; // ids + 1, 0 not made yet
	bool direct_btf;	// read through pointers the verifier knows
	bool touching;		// of a ProbeProg.touch: reads of user memory wait for its page
	struct Late *late;	// of a unit whose action may be put off (lower_late.c), else NULL
	bool is_late;		// the action that was: its context is late_record
	struct IrVal late_record;
	bool no_cold;		// the stack is looked at here and now
	struct ColdCall { // lower_cold.c: functions that the kernel calls when a stack's memory may be waited for
		struct ColdCall *next;
		u32 limit; // as rt_ustack takes them
		u64 src;
		u32 func;
	} *cold;
};

static inline bool ty_scalar(const struct Type *t)
{
	switch (t->kind) {
	case TY_INT: case TY_BOOL: case TY_PTR: case TY_KSTACK: case TY_USTACK: case TY_KSYM: case TY_USERNAME: case TY_STRERROR: case TY_SYSCALL_NAME: case TY_SIGNAL_NAME: case TY_LANG_FUNC:
		return true;
	default:
		return false;
	}
}

// BPF helpers, in short
enum {
	H_MAP_LOOKUP = BPF_FUNC_map_lookup_elem, H_MAP_UPDATE = BPF_FUNC_map_update_elem, H_MAP_DELETE = BPF_FUNC_map_delete_elem,
	H_KTIME = BPF_FUNC_ktime_get_ns, H_PRANDOM = BPF_FUNC_get_prandom_u32, H_CPU = BPF_FUNC_get_smp_processor_id,
	H_PID_TGID = BPF_FUNC_get_current_pid_tgid, H_UID_GID = BPF_FUNC_get_current_uid_gid, H_COMM = BPF_FUNC_get_current_comm,
	H_CURTASK = BPF_FUNC_get_current_task, H_UNDER_CGROUP = BPF_FUNC_current_task_under_cgroup, H_NUMA = BPF_FUNC_get_numa_node_id,
	H_OVERRIDE = BPF_FUNC_override_return, H_WRITE_USER = BPF_FUNC_probe_write_user, H_GET_STACK = BPF_FUNC_get_stack,
	H_CGROUP = BPF_FUNC_get_current_cgroup_id, H_SIGNAL = BPF_FUNC_send_signal, H_READ_USER = BPF_FUNC_probe_read_user,
	H_READ_KERNEL = BPF_FUNC_probe_read_kernel, H_READ_USER_STR = BPF_FUNC_probe_read_user_str,
	H_READ_KERNEL_STR = BPF_FUNC_probe_read_kernel_str, H_SIGNAL_THREAD = BPF_FUNC_send_signal_thread, H_JIFFIES = BPF_FUNC_jiffies64,
	H_NS_PID_TGID = BPF_FUNC_get_ns_current_pid_tgid, H_KTIME_BOOT = BPF_FUNC_ktime_get_boot_ns,
	H_RINGBUF_RESERVE = BPF_FUNC_ringbuf_reserve, H_RINGBUF_SUBMIT = BPF_FUNC_ringbuf_submit, H_RINGBUF_DISCARD = BPF_FUNC_ringbuf_discard,
	H_D_PATH = BPF_FUNC_d_path, H_FOR_EACH = BPF_FUNC_for_each_map_elem, H_FUNC_IP = BPF_FUNC_get_func_ip, H_LOOP = BPF_FUNC_loop,
	H_PERCPU_LOOKUP = BPF_FUNC_map_lookup_percpu_elem, H_KTIME_TAI = BPF_FUNC_ktime_get_tai_ns,
	H_SOCKET_COOKIE = BPF_FUNC_get_socket_cookie, H_SEQ_PRINTF = BPF_FUNC_seq_printf, H_SKB_OUTPUT = BPF_FUNC_skb_output,
	H_TRACE_PRINTK = BPF_FUNC_trace_printk, H_COPY_FROM_USER = BPF_FUNC_copy_from_user,
};

// lower_mem.c
struct Val val_scalar(const struct Type *t, struct IrVal v);
struct Val val_mem(const struct Type *t, struct IrVal base, s32 off, enum AddrSpace as);
struct Val tmp_mem(struct Lower *l, const struct Type *t, u32 size); // lives until the statement, or the number, that it is for is through
struct IrVal tmp_slot(struct Lower *l, u32 size);		     // small: on the stack
struct TmpMark {
	u64 scratch;
	u64 busy; // of the first 64: slots in use, by index
	u32 nslots;
};
struct TmpMark tmp_mark(struct Lower *l);
void tmp_release(struct Lower *l, struct TmpMark m);
struct IrVal addr_of(struct Lower *l, struct Val m);		     // v + off as one value
struct IrVal load_scalar(struct Lower *l, struct Val m);	     // reads what m->type says
void store_val(struct Lower *l, struct Val src, struct IrVal base, s32 off, const struct Type *t, bool pad);
void copy_bytes(struct Lower *l, struct IrVal base, s32 off, struct Val src, u32 size);
bool in_scratch(const struct Lower *l, u32 size); // too large for the stack
bool keeps_short_text(const struct Type *t); // what to pad where a value of it is kept
void copy_str(struct Lower *l, struct IrVal base, s32 off, u32 size, struct Val src, bool pad);
u32 load_step(s32 a, s32 b, u32 n); // widest access aligned at offsets a and b, at most n bytes
void zero_bytes(struct Lower *l, struct IrVal base, s32 off, u32 size);
void store_lit_str(struct Lower *l, struct IrVal base, s32 off, u32 size, const char *s, u32 len, bool pad);
struct IrVal to_bpf_mem(struct Lower *l, struct Val *m, u32 size); // address of a copy the program may touch (or of m itself)
#define NOWHERE 4096 // below it is no memory (vm.mmap_min_addr): a null pointer, or a field behind one
void read_counted(struct Lower *l, enum AddrSpace as, struct IrVal dst, struct IrVal size, struct IrVal addr, struct Span at); // no text; a failure counts (--strict)
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
void kept_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, const struct Type *t, const char *name); // of the variable or map that is kept there
void lx_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, const struct Type *t, bool pad);
void lx_drop(struct Lower *l, struct Expr *e);	      // for its effect
void var_assign(struct Lower *l, struct VarSym *v, struct Expr *e);
void var_set(struct Lower *l, struct VarSym *v, struct IrVal x);
struct IrVal var_get(struct Lower *l, struct VarSym *v);
bool has_side_effects(const struct Expr *e);

// lower_place.c
struct Val lx_place(struct Lower *l, struct Expr *e); // where an lvalue is, unread
struct Val lx_read_place(struct Lower *l, struct Expr *e); // a scalar is loaded, memory stays where it is

// lower_op.c
struct Val lx_binop(struct Lower *l, struct Expr *e);
struct Val lx_unop(struct Lower *l, struct Expr *e);
struct Val lx_incdec(struct Lower *l, struct Expr *e, bool used);
void lx_cond(struct Lower *l, struct Expr *e, IrBlk t, IrBlk f); // jumps by its truth
struct Val lx_bool(struct Lower *l, struct Expr *e);		  // its truth as a value
// Sums and differences of true and false: true or false again.
static inline enum Op arith_op(enum Op op, const struct Type *t)
{
	return t->kind != TY_BOOL ? op : op == OP_ADD ? OP_OR : op == OP_SUB ? OP_XOR : op;
}
struct IrVal lower_arith(struct Lower *l, enum Op op, struct IrVal a, struct IrVal b, bool sgn, struct Span at);

// lower_map.c
u32 sonde_map(struct Lower *l, const char *name, u32 type, u32 key, u32 val, u32 max, u32 flags); // id
u32 events_map(struct Lower *l);
struct IrVal zero_value(struct Lower *l, u32 map); // as many zeros as a value of that map has bytes
void lower_maps(struct Lower *l); // MapDefs of all MapSyms
struct IrVal lm_key(struct Lower *l, struct MapSym *m, struct Expr *key);  // address of the key
struct IrVal lm_ref_key(struct Lower *l, struct Expr *ref);		   // of @m or @m[key]
// The helper with the map as its first argument (args: the others). Where the map has a spare one it is asked for first which of the two is in use; `none`: what comes back
// where there is none, which does not happen but is to be shown to the verifier.
struct IrVal lm_call(struct Lower *l, struct MapSym *m, u32 helper, const struct IrVal *args, u32 n, s64 none);
struct IrVal lm_lookup(struct Lower *l, struct MapSym *m, struct IrVal key);
void lm_into(struct Lower *l, struct Expr *ref, struct IrVal base, s32 off, const struct Type *t, bool pad);
struct Val lm_get(struct Lower *l, struct Expr *ref);
void lm_assign(struct Lower *l, struct Stmt *s);
struct IrVal lm_incdec(struct Lower *l, struct Expr *ref, s64 by, bool post, bool used);
struct Val lower_delete(struct Lower *l, struct Expr *e, bool used);
void count_loss(struct Lower *l, u32 counter_off); // adds one to a field of struct RtCounters
struct IrVal event_reserve(struct Lower *l, u32 kind, u32 id, u32 size, IrBlk fail); // payload after 8 bytes of head
void event_submit(struct Lower *l, struct IrVal rec);

// lower_work.c
u32 work_map(struct Lower *l, const char *name, u32 value_size, u32 max); // keys of 8 bytes, values that begin with a struct bpf_task_work; its id
struct IrVal work_keep(struct Lower *l, u32 map, struct IrVal key, IrBlk none); // a new element's address; goes on in `none` if there is none
// The kernel shall call `callback` with (map, key, e); goes on in `none`, and the element is gone, if it will not.
void work_ask(struct Lower *l, u32 map, struct IrVal key, struct IrVal e, u32 callback, IrBlk none);

// lower_late.c
struct Late;
struct Late *late_plan(struct Lower *l); // in the unit's arena; NULL: its action is never put off
void late_test(struct Lower *l, struct Late *t);    // puts the event off if a text is not in memory, else goes on
void late_callback(struct Lower *l, const struct Late *t);
u32 late_function(const struct Late *t); // of the action that was put off: its parameter is the record
struct IrVal late_nsecs(struct Lower *l); // when its event was

// lower_cold.c
bool cold_stack(struct Lower *l, u32 limit, u64 src, struct IrVal *out); // the user stack, or a number that will stand for it. false: here memory cannot be waited for
void cold_calls(struct Lower *l); // the unit's functions for that
void cold_keys(struct Lower *l); // after all units: marks the maps whose keys may have such numbers

// lower_aggr.c
bool lm_aggr_has_set(const struct Type *t); // in a map without keys: the word that says whether the value was ever set
// Adds n to this CPU's value at p. clock: the time since the boot that tseries() takes, IRO_NONE: the kernel's own.
void lm_aggr_update(struct Lower *l, const struct Type *t, struct IrVal p, struct IrVal n, struct IrVal clock);
struct IrVal lm_aggr_int(struct Lower *l, struct MapSym *m, struct IrVal key); // all CPUs' values as one number
struct IrVal lm_aggr_field(struct Lower *l, struct Expr *ref, const char *name); // avg, count or total of stats()
void lm_aggr_into(struct Lower *l, struct Expr *ref, struct IrVal base, s32 off); // as the two words of its type (ty_aggr_in_parts)

// lower_call.c, lower_ctx.c
struct Val lower_call(struct Lower *l, struct Expr *e);
bool call_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, const struct Type *t, bool pad); // false: no direct form
struct Val lower_argn(struct Lower *l, struct Expr *e);
struct IrVal cur_pid(struct Lower *l, bool tid, bool init_ns);
struct IrVal ctx_ptr(struct Lower *l);
void leave_if_null(struct Lower *l, struct IrVal p); // the action ends where p is 0

// lower.c
void lower_stmts(struct Lower *l, struct Stmt *s);
void fmt_event(struct Lower *l, struct Expr *e, struct Expr **args, u32 nargs); // values for the format site e->fmt
void lower_print_map(struct Lower *l, struct Expr *e, bool take); // take: and clears it
void lower_return(struct Lower *l, struct IrVal v);

struct ProbeProg *lower_begin_prog(struct Lower *l, struct ProbeUnit *pu); // a program of the unit, empty; *l is ready for its code
void lower_at(struct Lower *l, struct Span s); // what follows belongs to that place of the script

// lower_touch.c: the program that reads beforehand what the unit's will, if that is of use: before the unit's own
bool is_plain(const struct Expr *e); // has a value that follows from arguments, variables and who is running alone
void lower_touch(struct Lower *l, struct ProbeUnit *pu);

// lower_loop.c
void lower_while(struct Lower *l, struct Stmt *s);
void lower_range(struct Lower *l, struct Stmt *s);
void lower_for_map(struct Lower *l, struct Stmt *s);
void lower_jump(struct Lower *l, struct Stmt *s); // break and continue

// ---- lower_call.c: the lower column of builtins.def: each makes the IR of its call and returns the value. lower_ctx.c: task, clock, event;
// lower_text.c: text and bytes; lower_addr.c: symbols, addresses, numbers; lower_action.c: maps and actions. *_into: the result goes to base + off.
#define B(name, min, max, flags, check, lower, sig, help) struct Val lower(struct Lower *l, struct Expr *e);
struct Val l_none(struct Lower *l, struct Expr *e);
#include "lang/builtins.def"
#undef B

static inline struct Val num(struct Expr *e, struct IrVal v)
{
	return val_scalar(e->type, v);
}

static inline bool is_text(const struct Expr *e)
{
	return e->type->kind == TY_STR || ty_is_numbered(e->type);
}
struct Val as_text(struct Lower *l, struct Val v); // lower_text.c: of a text that is a number its characters; every other value as it is

// A number as the text it stands for is kept.
static inline struct Val numbered_text(struct Lower *l, struct Expr *e, struct IrVal n)
{
	s64 bits = ty_signed(e->type) ? (s32)ty_text_bits(e->type) : (s64)ty_text_bits(e->type);
	return num(e, ir_bin(&l->b, IR_XOR, n, ir_imm(bits)));
}

static inline struct Val nothing(struct Expr *e)
{
	return (struct Val){.type = e->type};
}

struct Val lower_seq_printf(struct Lower *l, struct Expr *e); // lower_seq.c
struct IrVal boot_ns(struct Lower *l); // CLOCK_BOOTTIME
struct Val into_tmp(struct Lower *l, struct Expr *e); // call_into a temporary
enum AddrSpace arg_as(struct Lower *l, const struct Expr *a); // of a pointer or number used as an address
void concat_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, u32 size);
void request_id_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off); // trace_id, span_id
void comm_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, u32 size, bool pad);
void str_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, u32 size, bool pad);
void buf_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off, u32 max);
void inet_into(struct Lower *l, struct Expr *e, struct IrVal base, s32 off);
struct IrVal probe_ip(struct Lower *l); // instruction pointer of the probed place
#endif
