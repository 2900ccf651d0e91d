// From names to types: what resolve.c and check*.c make of the tree, for lower.
#ifndef SONDE_CHECK_H
#define SONDE_CHECK_H
#include "ctype/ctype.h"
#include "lang/ast.h"
#include "lang/fmt.h"
#include "lang/point.h"
#include "lang/site.h"

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
	u32 reg;       // vreg, when not captured and scalar
	bool placed;   // lives in memory
	u32 place;     // offset in the scratch area
};

struct MapSym {
	const char *name; // with '@'
	const struct Type *key, *val; // NULL: not known yet
	bool scalar, keyed;	      // used without, with a key
	bool read;		      // its value is asked for somewhere
	bool locked;		      // a typeof() or sizeof() asked for its type
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
struct CheckHooks {
	void *arg;
	bool (*kaddr)(void *, const char *name, u64 *addr);
	// data or function symbol of the binary a uprobe point lives in; size for the result type
	bool (*uaddr)(void *, const struct Point *p, const char *name, u64 *addr, u64 *size);
	bool (*cgroupid)(void *, const char *path, u64 *id);
	// key size of the map pinned at path, 4 or 8 bytes; false: *why says why it cannot be asked
	bool (*pinned)(void *, const char *path, u32 *key_size, const char **why);
	int (*ptregs)(const char *name, u32 *size); // offset in struct pt_regs or -1
	bool (*kfunc)(void *, const char *name);
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
	bool uses_ustack, uses_lang_func, uses_kstack, uses_usym;
	struct ProbeUnit *cur;
	bool final;   // types have settled: report errors
	bool changed; // a symbol's type grew in this round
	const struct Expr *aggr; // the aggregation that is being assigned to a map: no other has a place to count in
	u32 loop_depth;
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
u32 unit_max_strlen(struct Unit *u); // of the configuration, else what the kernel's maps take as a key
// Features that may change: use of one warns once, or is an error, as config says.
enum Unstable { UNSTABLE_TSERIES, UNSTABLE_TYPEINFO, UNSTABLE_DW_USTACK };
void unstable_feature(struct Unit *u, enum Unstable what, struct Span at);

// ---- shared among check*.c
const struct Type *check_expr(struct Unit *u, struct Expr *e);
void check_stmts(struct Unit *u, struct Stmt *s);
const struct Type *check_spec(struct Unit *u, struct TypeSpec *s);
// Common type of two assignments to one place; NULL: they do not go together.
const struct Type *type_unify(struct TypeTab *t, const struct Type *a, const struct Type *b);
const struct Type *int_type_for(struct TypeTab *t, u64 v, bool neg); // smallest
const struct Type *arith_type(struct Unit *u, enum Op op, const struct Type *a, const struct Type *b); // of an operation on integers
void make_int(struct Unit *u, struct Expr *e, u64 v, bool neg);	     // e becomes a literal
void make_str(struct Unit *u, struct Expr *e, const char *s, u32 len);
bool expr_lit_str(const struct Expr *e, const char **s); // string literal?
void load_records(struct Unit *u, const struct Type *t);
u32 add_fmt_site(struct Unit *u, enum FmtKind kind, struct Expr *call, const char *fmt, u32 len, struct Expr **args, u32 nargs);
bool literal_fits(struct Unit *u, const struct VarSym *v, const struct Expr *e, struct Span at); // else it says so
void map_grow_key(struct Unit *u, struct MapSym *m, struct Span at, const struct Type *key);
void map_grow_val(struct Unit *u, struct MapSym *m, struct Span at, const struct Type *val);
void var_grow(struct Unit *u, struct VarSym *v, struct Span at, const struct Type *t);
const struct Type *operand_type(struct Unit *u, const struct Type *t); // aggregations read as integers
const struct Type *ty_none(struct Unit *u);
enum AddrSpace default_as(struct Unit *u); // of a pointer made from a number, by kind of probe
enum AddrSpace number_as(struct Unit *u, const struct Expr *e); // the same for this number, which may be one of kaddr()'s
const char *tyname(struct Unit *u, const struct Type *t); // arena text for messages
// walk.c
void walk_exprs(struct Stmt *s, bool (*fn)(void *, struct Expr *), void *arg); // pre-order; false: do not descend
void walk_expr(struct Expr *e, bool (*fn)(void *, struct Expr *), void *arg);
struct Stmt *clone_stmts(struct Arena *a, const struct Stmt *s);
struct Expr *clone_expr(struct Arena *a, const struct Expr *e);
// keyname.c: what the parts of the map's key are called; how many (no more than max names are given)
u32 key_part_names(const struct MapSym *m, const char **names, u32 max);
#endif
