// The language: the tree of a script, its options, what its names and types mean, and what of it is needed where it runs.
// In: source text. Out: a checked unit (struct Unit), from which lower makes a program. Everything lives in one arena.
#ifndef SONDE_LANG_H
#define SONDE_LANG_H
#include "ctype/ctype.h"
#include "type/type.h"

// ---- printf formats: cut into pieces once, at compile time for checking and again where text is made.
struct FmtPiece {
	const char *lit; // literal text before the conversion, %% already one %; no NUL ends it
	u32 litlen;
	char conv;	 // 0: only literal; else d i u x X o s c p, r (%r), h (%rh), e (%rx), g (%gr)
	u8 len;		 // bytes asked for by hh h l ll j z t; 0: as the argument is
	char spec[24];	 // flags, width and precision: "%-10.3"
};
#define FMT_WIDTH_MAX 65536 // and of a precision
#define DEBUGF_VALUES 3 // bpf_trace_printk takes no more
// NULL and the pieces (in arena a), or what is wrong with the format.
const char *fmt_parse(struct Arena *a, const char *fmt, u32 len, struct FmtPiece **out, u32 *n);

// ---- What of a checked script is needed where it runs: its settings, and format sites: how the bytes of its events become text.
#define STACK_PARTS_MAX 5
struct Config { // config block and environment, after resolution
	u32 max_strlen, max_map_keys, max_probes, max_bpf_progs, max_cat_bytes, log_size, on_stack_limit;
	u64 perf_rb_pages; // 0: by memory
	enum StackMode stack_mode;
	const char *str_trunc_trailer;
	const char *license;
	bool cpp_demangle, language_frames, lazy_symbolication, use_blazesym, print_maps_on_exit, show_debug_info;
	const char *stack_unit, *stack_title; // of the values of a map keyed by stacks, for reports; title "": the script's name
	u64 stack_slot; // nanoseconds; not 0: the part of the key that is called slot is the number of such a slot of time since the machine's start
	const char *stack_parts; // names of what values are split into, by the number that is the key's `kind`; "": they are not
	const char *stack_form;	 // what the parts of the key mean, and how the text shows them: "", "waits", "waker", "wakers", "calls" (tool/form.c)
	const char *stack_events; // what the number behind stack_parts' counts: of how many events a value is; "": nothing
	const char *stack_event; // what is counted; "": nothing to be said
	u64 stack_divide; // these values are divided by it where they are shown
	bool in_place; // assigning to a key that is there overwrites its value where it lies, however long
	enum { MISSING_ERROR, MISSING_WARN, MISSING_IGNORE } missing_probes;
	bool unwind_fp;	 // --unwind=fp
	bool async_frames; // --async: stacks of CPython with the tasks that wait
	bool native;	 // --native: no frames of languages, whatever the script says
	bool helper_errors; // -k
	bool count_reads;   // --strict: reads of memory that fail are counted, not only those of strings
	u8 unstable_tseries, unstable_typeinfo, unstable_dw_ustack; // 0 warn, 1 enable, 2 error
	bool unsafe;
};

// ---- format sites: one per printf-like call in the script, and per print(value)
enum FmtKind { FK_PRINTF, FK_PRINT_VALUE, FK_TIME, FK_CAT, FK_SYSTEM, FK_ERRORF, FK_WARNF, FK_STRFTIME, FK_CGROUP_PATH, FK_JOIN, FK_SKB };
struct FmtArg {
	const struct Type *type; // how the bytes at off are laid out
	u32 off;		 // in the payload after struct RtEvent
};
struct FmtSite {
	enum FmtKind kind;
	u32 id;
	struct Span span;
	const char *fmt;      // format text; FK_STRFTIME: strftime text; FK_JOIN: separator; FK_SKB: path
	u32 len;
	struct FmtArg *args;
	u32 nargs;
	u32 size;	      // payload bytes. The record may be shorter when the last argument is a string: the missing bytes are 0.
	struct FmtPiece *pieces; // fmt, parsed by run/format.c on first use
	u32 npieces;
};
// FK_JOIN payload: u64 n, then n strings packed at join_stride bytes each
#define RT_JOIN_MAX 16
#define RT_JOIN_STRIDE 1024

// ---- The tree of a script. The parser builds it, expand.c rewrites it (macros, positional parameters), check.c annotates it with
// types and symbols, lower.c reads it. Everything lives in one arena.
struct Expr;
struct Stmt;
struct Builtin; // a row of builtins.def
struct MapSym;	// a map of the program
struct VarSym;	// a scratch variable
struct CText;	// C declarations as written (ctype/ctype.h)

// A type as written: "struct sock **", "uint8[4]", "typeof($x)".
struct TypeSpec {
	struct Span span;
	const char *name;	// "struct sock", "union x", "enum y", "uint8", "uint64_t", "void"; NULL with typeof_expr
	struct Expr *typeof_expr;
	u32 ptrs;		// number of '*'
	bool is_array;
	bool array_sized;	// false: "[]"
	u64 array_n;
	u64 str_size;		// string[N] / buffer[N]: N, else 0
	struct TypeSpec *const *tuple; // "(uint8, string[4])"
	u32 ntuple;
};

enum ExprKind {
	E_INT, E_BOOL, E_STR,
	E_IDENT,	// a bare word: builtin, enum constant, macro parameter, stack mode; check resolves it
	E_POSPARAM,	// $1 (expand replaces it by a literal with from_param set)
	E_POSCOUNT,	// $#
	E_VAR,		// $x
	E_MAP,		// @m: a whole map or a scalar map's value
	E_MAPREF,	// @m[k]: key in a; several keys are a tuple
	E_FIELD,	// a.name, a->name
	E_TUPFIELD,	// a.0
	E_INDEX,	// a[b]
	E_UNOP, E_BINOP, E_TERNARY, E_CAST, E_TUPLE,
	E_CALL,		// name(args)
	E_BLOCK,	// { stmts; expr }
	E_SIZEOF, E_OFFSETOF, // of spec, or of the expression a
	E_COMPTIME,	// comptime e
	E_TYPE,		// typeof(...) as an argument: spec, for a macro that expects a type
	E_TYPEINFO,	// typeinfo(e or type): a or spec
	E_IF,		// if (a) {b} else {c} as an expression: b is an E_BLOCK, c an E_BLOCK or E_IF
};

enum Op {
	OP_NONE,
	OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD, OP_AND, OP_OR, OP_XOR, OP_SHL, OP_SHR,
	OP_LAND, OP_LOR, OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE,
	OP_NEG, OP_NOT /* ! */, OP_BNOT /* ~ */, OP_DEREF, OP_ADDR,
	OP_PREINC, OP_PREDEC, OP_POSTINC, OP_POSTDEC,
};

#define AST_MAX_HEIGHT 1000

struct Expr {
	enum ExprKind kind;
	enum Op op;
	struct Span span;
	const struct Type *type; // set by check
	// literals
	u64 ival;		// E_INT (two's complement), E_BOOL, E_POSPARAM (index)
	bool is_neg;		// E_INT: a negative literal after folding
	bool is_lit;		// after check: value known at compile time is in ival or str
	bool kaddr;		// after check: a number that comes from kaddr(): an address in the kernel, whatever the probe
	bool from_param;	// a literal that came from $N: str holds the parameter's text as well
	const char *str;	// E_STR text (may hold NULs, see len); E_IDENT, E_VAR ("$x" without $), E_MAP ("@x" with @), E_CALL, E_FIELD name
	u32 len;		// E_STR bytes without the final NUL
	struct Expr *a, *b, *c;	// operands: UNOP a; BINOP a b; TERNARY a?b:c; FIELD a; INDEX a[b]; CAST a; MAPREF key a; BLOCK value a; CALL of tseries: a is its clock, or NULL
	struct Expr **args;	// CALL, TUPLE
	u32 nargs;
	struct Stmt *body;	// E_BLOCK
	struct TypeSpec *spec;	// CAST, SIZEOF/OFFSETOF of a type
	const char **path;	// OFFSETOF: field names, "[3]" for an index
	u32 npath;
	u32 tup;		// E_TUPFIELD index
	u32 height;		// nodes from here to the deepest leaf, at most AST_MAX_HEIGHT: recursive passes need no own limit
	bool arrow;		// written as ->
	// set by check
	const struct Builtin *builtin;
	struct MapSym *map;
	struct VarSym *var;
	struct Field field;
	enum AddrSpace as;	// of a record or array lvalue that lives in memory
	u32 fmt;		// printf & co: index of the format in the program
	void *aux;		// whatever a builtin's check leaves for its lower
};

enum StmtKind {
	S_EXPR,	  // e;
	S_ASSIGN, // lhs (E_VAR, E_MAP, E_MAPREF) op= e; op NONE for plain =; lhs NULL: `_ = e`
	S_LET,	  // let $x [: type] [= e]
	S_IF, S_WHILE, S_UNROLL,
	S_FOR_MAP, S_FOR_RANGE,
	S_RETURN, S_BREAK, S_CONTINUE,
	S_BLOCK,
};

struct Stmt {
	enum StmtKind kind;
	enum Op op;
	struct Span span;
	struct Expr *lhs; // also the loop variable (E_VAR) and LET's variable
	struct Expr *e;	  // value, condition, unroll count, map of FOR_MAP (E_MAP), range start
	struct Expr *e2;  // range end
	struct TypeSpec *spec;
	struct Stmt *body, *els; // lists
	bool comptime;	  // if comptime (...)
	u32 height;	  // as Expr.height
	struct Stmt *next;
	void *aux;	  // set by check for lower
};

struct AttachSpec { // one attach point as written: "kprobe:vfs_*"
	struct Span span;
	const char *text;	// whole, quotes and a "name=" removed
	const char **parts;	// split at ':' outside quotes
	u32 nparts;
	struct AttachSpec *next;
};

struct ProbeAst {
	struct Span span;	// of the attach points
	const char *name;	// optional "name="
	struct AttachSpec *points;
	struct Expr *pred;
	struct Stmt *body;
	struct Span body_span;
	struct ProbeAst *next;
};

struct ConfigItem {
	struct Span span;
	const char *key;
	struct Expr *val;	// after expansion E_INT, E_BOOL, E_STR or E_IDENT, a word
	struct ConfigItem *next;
};

struct MapDecl { // let @a = lruhash(100);
	struct Span span;
	const char *name;	// with '@'
	const char *type;	// hash, lruhash, percpuhash, percpulruhash
	struct Expr *max;
	bool own;		// sonde's own: it is not printed
	struct MapDecl *next;
};

struct MacroParam {
	enum { MP_VAR, MP_MAP, MP_EXPR } kind;
	const char *name;	// "$a" without $, "@b" with @, "c"
	struct Span span;
};
struct Macro {
	struct Span span;
	const char *name;
	struct MacroParam *params;
	u32 nparams;
	struct Expr *body;	// E_BLOCK
	struct Macro *next;
};

struct Import {
	struct Span span;
	const char *path;
	struct Import *next;
};

struct ImportedC { // a file in C: an object for BPF, or its source
	struct Span span;
	const char *path;
	bool source;
	struct ImportedC *next;
};

struct Param;
struct ScriptOpts;
struct Script {
	struct Arena *arena;
	struct Diags *diags;
	struct CText *ctext;
	struct ConfigItem *config;
	struct MapDecl *maps;
	struct Macro *macros;
	struct Import *imports;
	struct ImportedC *objects;
	struct ProbeAst *probes;
	struct ProbeAst *dropped;   // whose predicate is false whatever happens
	const struct Param *params; // of the command line, for getopt()
	size_t nparams;
	struct ScriptOpts *opts;    // those that it can have; NULL: not looked for yet
	bool builtin;		    // part of sonde: it imports nothing from files
	bool found;		    // in the tools' path: it imports no file that another could have written
	bool uses_params;	    // $1, $#: what is neither option nor script on its command line has a meaning (script_options())
	u32 source; // index in diags->sources
};

// parse.c: never NULL; errors are in diags.
struct Script *parse_script(struct Arena *a, struct Diags *d, u32 source);
extern const char watch_source[]; // name of the source of the probes that probe/watch.c makes
// A text that is an expression and nothing else; NULL: it is none.
struct Expr *parse_expression(struct Arena *a, struct Diags *d, u32 source);
// A single attach point list as given to -l ("k:vfs_*,t:sched:*"); NULL and a diagnostic on error.
struct AttachSpec *parse_attach_list(struct Arena *a, struct Diags *d, u32 source);

// expand.c: macros, imports, positional and named parameters, what is known at compile time. In: the parsed script. Out: the same, with no
// E_POSPARAM, E_POSCOUNT, macro call or import left, and without the branches and probes that are decided against.
struct Param {
	const char *name; // NULL: positional
	const char *val;  // NULL: a bare --flag
};
void expand_script(struct Script *s, const struct Param *params, size_t nparams);
// import.c, the first step of it: reads the imported .bt files and puts what they define before the script's own.
void import_scripts(struct Script *s);

// ast.c: text form of the tree (sonde -d ast), one node a line, indented; types in [] once check has run.
void ast_dump(const struct Script *s, struct Str *out);
const char *op_text(enum Op op); // "+", "&&", ...
// Sets height from the children's.
void expr_set_height(struct Expr *e);
void stmt_set_height(struct Stmt *s);
// Does the expression give a value? A block without a last expression, and an if without else, do not.
bool expr_has_value(const struct Expr *e);
// An expression whose value nobody wants, as a statement: a block becomes S_BLOCK, an if S_IF, the rest S_EXPR.
struct Stmt *stmt_from_expr(struct Arena *a, struct Expr *e);

// ---- The options of a script: what getopt() and getopt_match() declare, known without running it.
enum OptKind {
	OPT_FLAG,     // getopt("x"), getopt("x", true)
	OPT_NUMBER,   // getopt("x", 5)
	OPT_DURATION, // getopt("x", 10ms): nanoseconds; a number without a unit has that of the default
	OPT_TEXT,     // getopt("x", "text")
	OPT_MATCH,    // getopt_match("x", value), getopt_list("x"): numbers, ranges 0-3, globs, separated by commas
};
struct ScriptOpt {
	const char *name;
	char letter;	   // short form, 0: none
	const char *arg;   // name of its argument, as in "PID,..."; NULL: a flag
	const char *help;  // NULL: none
	const char *def;   // text of the default; "" of a list: every value
	enum OptKind kind;
	const char *const *values; // NULL-terminated: those that are allowed; NULL: any
	bool list;		   // several of them, separated by commas
	u64 unit;		   // OPT_DURATION: nanoseconds of the default's unit
	struct Span span;
};
struct ScriptOpts { // in the script's arena
	struct ScriptOpt *p;
	size_t n, cap;
};

// Parses a script, reads its imports and finds its options: script->opts. Nothing is run; what is wrong is in d.
enum ScriptFrom { SCRIPT_USERS, SCRIPT_BUILTIN, SCRIPT_FOUND }; // part of sonde; in the tools' path
struct Script *script_read(struct Arena *a, struct Diags *d, const char *name, const char *text, enum ScriptFrom from);
// The options that the script's probes, macros in use, settings and attach points ask for, in the order of the text. Reads its imports.
void script_options(struct Script *s);
// The options' values: what settings say (option = "pid=5"), which are taken out, then what the command line says.
void script_set_params(struct Script *s, const struct Param *params, size_t n);
const struct ScriptOpt *option_find(const struct Script *s, const char *name);
// Text of the value that was given, else of the default. NULL: the script has no such option.
const char *option_text(const struct Script *s, const char *name);
// A call of getopt() whose arguments are literals becomes a literal, one of getopt_match() on a literal, or of an option not given, a truth value.
// False: it has other arguments. What is wrong with it is told.
bool option_value(struct Script *s, struct Expr *call);
// The text that getopt_list(NAME) stands for, "" when the option was not given; NULL: an error was told.
const char *option_list(struct Script *s, const struct Expr *call);
// The items of a list: "5", "0-3", "a*". Texts are in the arena.
struct OptItem {
	const char *text;
	u64 low, high;
	bool is_num; // low to high
};
struct OptItems {
	VEC(struct OptItem) v;
};
void option_items(const struct Script *s, const char *list, struct OptItems *out);

// ---- A script in its standard form, for --fmt.
void format_script(const struct Script *s, struct Str *out); // s as parsed without errors, not expanded

// ---- An attach point after expansion: plain data made by probe/ from what the script says, read by check and lower (what may the
// action use?) and by probe/ again (where to attach). No kernel access here.
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
	u32 skip;	    // kprobe at a function's beginning: it lies so many bytes further, behind what ftrace keeps there, where the kernel refuses it
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

// ---- From names to types: what resolve.c and check*.c make of the tree, for lower
struct VarSym {
	const char *name; // without '$'
	const struct Type *type;
	struct Span span;
	bool declared_type; // let $x : T
	bool assigned;
	u32 fn;	       // callback nesting it was declared in (0: the probe itself)
	bool captured; // also used inside a loop body that becomes a function of its own
	bool is_loop;  // loop variable
	bool is_let;   // declared with let
	bool kaddr;    // see struct Expr
	struct VarSym *same; // stands for that one since it was used outside its block (resolve.c)
	// lower
	u32 reg;       // vreg, when not captured and scalar; of function reg_fn
	u32 reg_fn;    // a loop in unroll() is several functions
	bool placed;   // lives in memory
	u32 place;     // offset in the scratch area
};

struct MapSym {
	const char *name; // with '@'
	const struct Type *key, *val; // NULL: not known yet
	bool scalar, keyed;	      // used without, with a key
	bool read;		      // its value is asked for somewhere
	bool assigned;		      // somewhere, be it only of itself: @x = @x + 1
	bool began_keyed;	      // first written with a key
	bool locked;		      // a typeof() or sizeof() asked for its type
	bool taken;		      // printed and cleared in one
	const struct Expr *key_expr;  // the key where the map was first used with one; NULL
	struct Span span;
	struct MapDecl *decl;
	struct MapDef *def; // lower
};

// A probe of the script for one kind of context: its points share one meaning of args, argN, probe and func.
struct ProbeUnit {
	struct ProbeAst *ast;
	struct PointList points;
	const struct Point *point; // the first one
	VEC(struct VarSym *) vars;
	u32 nfns;		   // loop bodies that become functions
	bool uses_probe, uses_args, uses_argn, uses_func, uses_ctx, uses_uaddr, uses_cookie;
};

// What check needs to ask the outside; any may be NULL when the caller has no answer.
struct CValue { // a parameter or a result of an imported function in C, as it is in a register
	u8 size; // 0: void
	bool sgn, ptr;
};
struct CFunc {
	const char *name;
	u32 nparams;
	struct CValue result, params[5];
};
#define RT_IMPORTED "c:" // what names of imported functions begin with, where the code calls them (IRO_RT)

struct CheckHooks {
	void *arg;
	// A function in C that the script imports; NULL: there is none. *why: there is one that no script can call, for this reason
	const struct CFunc *(*cfunc)(void *, const char *name, const char **why);
	bool (*kaddr)(void *, const char *name, u64 *addr);
	// data or function symbol of the binary a uprobe point lives in; size for the result type
	bool (*uaddr)(void *, const struct Point *p, const char *name, u64 *addr, u64 *size);
	bool (*cgroupid)(void *, const char *path, u64 *id);
	// key size of the map pinned at path, 4 or 8 bytes; false: *why says why it cannot be asked
	bool (*pinned)(void *, const char *path, u32 *key_size, const char **why);
	int (*ptregs)(const char *name, u32 *size); // offset in struct pt_regs or -1
	bool (*kfunc)(void *, const char *name);
	bool (*kfunc_allowed)(void *, const struct Point *p, const char *name); // in that point's programs; true also where it cannot be found out
	int (*syscall_number)(const char *name); // -1: unknown
	const char *(*syscall_name)(int nr);	 // NULL: unknown
	const char *(*getenv)(const char *name);
	bool (*bpf_loop)(void); // bodies of loops become functions that the kernel calls
	bool (*big_keys)(void); // keys of maps may have over 512 bytes
	int pid;      // -p
	int cpid;     // -c child, 0 none
	u32 ncpus;
};

struct Unit {
	struct Arena *arena;
	struct Diags *diags;
	struct TypeTab *types;
	struct Ctypes *ctypes;
	struct Script *script;
	const struct CheckHooks *hooks;
	struct Config *config;
	VEC(struct MapSym *) maps;
	VEC(struct ProbeUnit *) probes;
	VEC(struct FmtSite *) fmts; // of the nodes' `fmt`
	struct Map macros; // "NAME TEXT" of a #define -> the text's tree, as parsed: a source once, however often it is used
	u32 macro_nodes; // of all uses; at most MAX_EXPANSION
	bool macros_full; // that was met and told
	bool uses_ustack, uses_async, uses_lang_func, uses_kstack, uses_usym;
	struct ProbeUnit *cur;
	bool final;   // types have settled: report errors
	bool changed; // a symbol's type grew in this round
	const struct Expr *aggr; // the aggregation that is being assigned to a map: no other has a place to count in
	u32 loop_depth;
	u32 unreached; // branches around that are never taken: fail() in them ends nothing
	u32 unstable_seen; // bits of enum Unstable that were warned of
};

// ---- builtins: rows of builtins.def
enum BuiltinFlags {
	BF_NONE = 0,
	BF_UNSAFE = 1,	 // needs --unsafe
	BF_AGGR = 2,	 // only as the value assigned to a map
	BF_VOID = 4,	 // statement, no value
	BF_NOARGS_OK = 8 // may be written without parentheses
};
struct Builtin {
	const char *name;
	u8 min, max; // arguments; 255: any number
	u32 flags;
	u32 id; // enum BuiltinId
	const char *sig, *help;
};
enum BuiltinId {
#define B(name, min, max, flags, check, lower, sig, help) BI_##name,
#include "lang/builtins.def"
#undef B
	BUILTINS
};
extern const struct Builtin builtins[];
const struct Builtin *builtin_find(const char *name); // __builtin_NAME is NAME's too; NULL: none
const char *builtin_nearest(const char *name);

// Names: binds variables, maps, builtins; splits probes into units. lists[i]: points of the i-th probe.
void resolve_script(struct Unit *u, struct PointList *lists);
// After checking: forgets the units whose only point is absent.
void units_drop_absent(struct Unit *u);
// Types: to a fixed point, then one round that reports errors. False if there were any.
bool check_unit(struct Unit *u);
// config block and environment into u->config
void config_resolve(struct Unit *u);
struct Expr *config_record(struct Unit *u, struct Span at); // the settings as a record of literals
void config_defaults(struct Config *c);
void config_dump(struct Unit *u, struct Str *out); // "name = value", one a line
const char *text_of_number(struct Unit *u, const struct Type *t, s64 n); // of a text that is a number until it is printed; NULL: no text is known
#define MEMCMP_MAX 4096
u32 unit_max_strlen(struct Unit *u); // of the configuration, else what the kernel's maps take as a key
// Features that may change: use of one warns once, or is an error, as config says.
enum Unstable { UNSTABLE_TSERIES, UNSTABLE_TYPEINFO, UNSTABLE_DW_USTACK };
void unstable_feature(struct Unit *u, enum Unstable what, struct Span at);
enum AddrSpace number_as(struct Unit *u, const struct Expr *e); // the same for this number, which may be one of kaddr()'s
// walk.c
void walk_exprs(struct Stmt *s, bool (*fn)(void *, struct Expr *), void *arg); // pre-order; false: do not descend
void walk_expr(struct Expr *e, bool (*fn)(void *, struct Expr *), void *arg);
// keyname.c: what the parts of the map's key are called; how many (no more than max names are given)
u32 key_part_names(const struct MapSym *m, const char **names, u32 max);
// print(a), a of type t: a histogram or another value that only user space puts together, so the entry of the map is printed by its key.
bool prints_entry(const struct Expr *a, const struct Type *t);
// `print(@m); clear(@m);`: the map that this statement prints and the next one clears; NULL
struct MapSym *stmt_takes(const struct Stmt *s);
// percentile(): its second argument as num of den, when it is a text ("99.9"). False: it is a number of 100.
bool percentile_share(const struct Expr *n, u64 *num, u64 *den);
#endif
