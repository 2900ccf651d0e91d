// An attach point after expansion: plain data made by probe/ from what the script says, read by check and lower (what may the
// action use?) and by probe/ again (where to attach). No kernel access here.
#ifndef SONDE_POINT_H
#define SONDE_POINT_H
#include "lang/ast.h"

enum ProbeKind {
	PK_BEGIN, PK_END, PK_SELF, PK_TEST, PK_BENCH,
	PK_KPROBE, PK_KRETPROBE, PK_FENTRY, PK_FEXIT, PK_TRACEPOINT, PK_RAWTP,
	PK_UPROBE, PK_URETPROBE, PK_USDT,
	PK_PROFILE, PK_INTERVAL, PK_SOFTWARE, PK_HARDWARE,
	PK_WATCHPOINT, PK_ASYNCWATCHPOINT, PK_ITER,
	PK_KINDS
};
// What an action of this kind finds in its context.
enum CtxKind {
	CTX_NONE,      // nothing usable (begin, end, self, interval)
	CTX_PT_REGS,   // struct pt_regs: kprobe, uprobe, usdt
	CTX_PERF,      // struct bpf_perf_event_data: profile, software, hardware, watchpoint
	CTX_TRACEPOINT,// the event's record, fields at the offsets of its format file
	CTX_RAW,       // u64 args[]: raw tracepoint, fentry, fexit
	CTX_ITER,      // struct bpf_iter__*
};

// One USDT argument, from the note's "-4@%edi", "8@16(%rbp)", "4@$5", "8@sym(%rip)", "8@(%rax,%rbx,8)".
struct UsdtArg {
	u8 size;      // bytes; 0: the argument exists but cannot be read (a float, an unknown symbol)
	bool sgn;
	enum { UA_CONST, UA_REG, UA_MEM } kind;
	s64 imm;      // constant, or displacement
	s16 reg;      // offset in struct pt_regs; -1 none
	s16 index;    // second register, -1 none
	u8 scale;
};

struct Point {
	enum ProbeKind kind;
	enum CtxKind ctx;
	const char *name;   // full expanded name, what `probe` gives: "tracepoint:sched:sched_switch"
	const char *func;   // what `func` gives, or NULL
	const char *target; // kernel module, binary path, tracepoint category, iterator kind
	const char *event;  // function, event, usdt probe name
	const char *ns;	    // usdt provider
	u64 addr;	    // kernel address, or file offset in target (uprobe, usdt)
	u64 sym_addr;	    // ELF virtual address (uprobe), for -v and symbols
	u64 off;	    // offset within the function
	u64 ref_ctr;	    // usdt semaphore: file offset, 0 none
	u64 rate;	    // profile, interval: nanoseconds or, with is_hz, Hertz; software, hardware: sample period
	bool is_hz;
	u32 perf_type;
	u64 perf_config;
	int sig;	    // self:signal
	u64 wp_len;
	u32 wp_mode;	    // HW_BREAKPOINT_*
	int wp_arg;	    // argument index of the function form, -1
	const char *pin;    // iter
	int pid;	    // attach to this process only; 0 all
	bool bits32;	    // uprobe, uretprobe: in 32-bit code, whose arguments are not where 64-bit code has them
	const s16 *arg_regs; // a function of Go: offsets in struct pt_regs of the words of its arguments. NULL: C's registers
	u32 narg_regs;	    // of Go; 0: arguments and results are on the stack, or may be
	bool at_ret;	    // uretprobe: at a return instruction, off bytes into the function, instead of in the place of the return address
	const char *where;  // for -v: why it is not where the name says; NULL: it is
	bool from_pattern;  // one of many that a pattern matched: the kernel may refuse it
	bool absent;	    // does not exist here, which the script allows: its action is checked and then dropped
	bool traceable;	    // kernel function that ftrace can patch: fit for a kprobe_multi link
	const struct UsdtArg *usdt_args;
	u32 nusdt_args;
	struct Record *args;	  // fields of `args`; NULL: none
	const struct Type *ret;	  // type of retval if known (fexit); kretprobe: only if it is smaller than a register
	u32 btf_id;		  // fentry, fexit, iter: function/type to attach to
	int btf_obj_fd;		  // module BTF object, 0 vmlinux
	u32 id;			  // number in the program: bpf cookie of multi links
};
struct PointList {
	VEC(struct Point *) v;
};
// "kprobe", "tracepoint", ...: what `probetype` gives.
const char *probe_kind_name(enum ProbeKind k);
#endif
