// The tree of a script. The parser builds it, expand.c rewrites it (macros, positional parameters), check.c annotates it with
// types and symbols, lower.c reads it. Everything lives in one arena.
#ifndef SONDE_AST_H
#define SONDE_AST_H
#include "base/base.h"
#include "type/type.h"

struct Expr;
struct Stmt;
struct Builtin; // a row of builtins.def
struct MapSym;	// a map of the program (check.h)
struct VarSym;	// a scratch variable (check.h)
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
	struct Expr *a, *b, *c;	// operands: UNOP a; BINOP a b; TERNARY a?b:c; FIELD a; INDEX a[b]; CAST a; MAPREF key a; BLOCK value a
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
	struct ProbeAst *probes;
	struct ProbeAst *dropped;   // whose predicate is false whatever happens
	const struct Param *params; // of the command line, for getopt()
	size_t nparams;
	struct ScriptOpts *opts;    // those that it can have (option.h); NULL: not looked for yet
	bool builtin;		    // part of sonde: it imports nothing from files
	bool found;		    // in the tools' path: it imports no file that another could have written
	bool uses_params;	    // $1, $#: what is neither option nor script on its command line has a meaning (script_options())
	u16 source; // index in diags->sources
};

// parse.c: never NULL; errors are in diags.
struct Script *parse_script(struct Arena *a, struct Diags *d, u16 source);
// A single attach point list as given to -l ("k:vfs_*,t:sched:*"); NULL and a diagnostic on error.
struct AttachSpec *parse_attach_list(struct Arena *a, struct Diags *d, u16 source);

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
#endif
