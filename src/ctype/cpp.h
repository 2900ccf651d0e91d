// C text in pieces: tokens, macros, #if. Shared by cpp.c (preprocessor), cexpr.c (constant expressions) and cdecl.c (declarations).
#ifndef SONDE_CTYPE_CPP_H
#define SONDE_CTYPE_CPP_H
#include "ctype/priv.h"

enum CTokKind {
	CT_EOF,
	CT_IDENT,
	CT_NUM,	 // preprocessing number: 0x10UL, 1e3
	CT_CHAR, // 'a'
	CT_STR,	 // "..." with the quotes
	CT_PUNCT,
	CT_PACK, // #pragma pack: text is "N", "push,N", "pop", ""
};

// Where text comes from. Errors in a header point at the #include of the script that brought it in.
struct CFile {
	const char *name;
	const char *text;
	size_t len;
	bool header;
	struct Span at; // script: where text[0] is in the source; header: its #include
};

struct CTok {
	u8 kind;
	bool bol;   // first on its line
	bool space; // blank before it
	u32 len;
	u32 off, shown; // where it is in file->text and how long: of the macro's use when it came out of one
	const char *text;
	const struct CFile *file;
};
struct CToks {
	struct CTok *p;
	size_t n, cap;
};

static inline const struct CTok *ctoks_end(const struct CToks *t)
{
	return t->n ? t->p + t->n : NULL;
}
static inline bool ctok_is(const struct CTok *t, const char *s)
{
	return (t->kind == CT_PUNCT || t->kind == CT_IDENT) && strlen(s) == t->len && !memcmp(t->text, s, t->len);
}
struct Span ctok_span(const struct CTok *t);
// "name:LINE" of a token in a header, for hints.
char *ctok_place(struct Arena *a, const struct CTok *t);

struct CMacro {
	const char *name;
	bool func, variadic, busy; // busy: being expanded, so its own name is left alone
	u32 nparams;
	const char **params;
	struct CTok *body;
	u32 n;
};

struct CCond;
struct Cpp {
	struct Ctypes *c;
	struct Cpp *outer;	// its macros are visible too (headers see the script's)
	bool lenient;		// headers: nothing in them is an error
	struct Map macros;	// name -> struct CMacro, NULL after #undef
	VEC(struct CCond *) conds;
	size_t cond_base;	// those below belong to the includer
	const char *const *dirs; // -I
	u32 ndirs;
	struct Map pragma_once;
	VEC(const char *) system;  // system headers included, found, not read yet: paths
	VEC(const char *) missing; // and not found: as written
	struct Map seen;	   // paths in `system`, spellings in `missing`
	u32 depth, nfiles;
	size_t ntoks;		   // made so far, against runaway macros
};

struct Cpp *cpp_create(struct Ctypes *c, const char *const *dirs, u32 ndirs, bool lenient);
void cpp_destroy(struct Cpp *p);
// Appends the tokens of text after preprocessing. #if state goes on across calls; cpp_end complains about what is still open.
void cpp_text(struct Cpp *p, const struct CFile *f, struct CToks *out);
void cpp_end(struct Cpp *p);
void cpp_include(struct Cpp *p, const char *name, bool quoted, const struct CFile *from, struct Span at, struct CToks *out);
void cpp_header(struct Cpp *p, const char *path, struct Span at, struct CToks *out); // a file by path
struct CMacro *cpp_macro(struct Cpp *p, const char *name);
void cpp_define(struct Cpp *p, const char *name, const char *text);
void cpp_expand(struct Cpp *p, const struct CTok *in, size_t n, struct CToks *out);
void cpp_lex(const struct CFile *f, struct CToks *out);

// ---- include.c: where headers are
// Full path of a header, NULL when there is none; *user: found next to the script or under -I.
const char *header_find(struct Cpp *p, const char *name, bool quoted, const struct CFile *from, bool *user);

// ---- cexpr.c
struct CParser;
struct CValue {
	u64 v;
	bool uns, wide; // unsigned; 64 bits (else 32, sign- or zero-extended in v)
};
struct CExpr {
	struct Ctypes *c;
	struct CParser *types; // resolves type names in casts and sizeof; NULL in #if, where names are 0
	const struct CTok *tok, *end;
	const char *err;       // first thing wrong
	const struct CTok *err_at;
	u32 depth;
	bool unresolved;       // #if: a name was taken as 0
	u32 dead;	       // in a branch not taken: division by zero is no error
};
// Parses a conditional expression at tok; tok is left after it. False: err and err_at are set.
bool cexpr_eval(struct CExpr *e, struct CValue *out);
bool cnumber(const struct CTok *t, struct CValue *out);

// ---- cdecl.c
struct CConst { // an enumerator of the preamble
	s64 val;
	const struct Type *type;
};
struct CParser {
	struct Ctypes *c;
	struct Cpp *cpp;	// for hints: headers that were not found; may be NULL
	bool lenient;		// a header: skip what cannot be read, leave alone what is known
	const struct CTok *tok, *end;
	u32 depth, pack;	// pack: #pragma pack(n), 0 none
	u32 packs[16], npacks;
	bool failed;		// the current declaration was given up
	char *first_skipped;	// lenient: why the first declaration was
};
void cdecl_parse(struct CParser *p);
// A type name as in a cast, "struct foo *", at p->tok; NULL when there is none there.
const struct Type *cdecl_type_name(struct CParser *p);
bool cdecl_at_type(struct CParser *p, const struct CTok *t);
// Enumerators of the preamble, built-in macros, enumerators of BTF.
bool cdecl_const(struct Ctypes *c, const char *name, s64 *val);
u32 ctype_align_of(struct Ctypes *c, const struct Type *t);

// ---- clayout.c: where members go, by the System V ABI of x86-64 and AArch64
struct CMember {
	struct Field f;	   // name and type are in; off, bit_off, bit_size come out
	bool bitfield;
	u32 bits;
	u32 align;	   // __attribute__((aligned)), 0 none
	bool packed;
};
struct CLayout {
	bool is_union, packed;
	u32 pack, align; // #pragma pack, __attribute__((aligned)) of the whole; 0 none
};
// Fills the record: fields (arena), size, align. False: larger than 4 GB.
bool clayout(struct Ctypes *c, struct Record *r, const struct CLayout *l, struct CMember *m, u32 n);

// ---- macros.c: constants of the system's headers, known without them
bool macro_builtin(const char *name, s64 *val);
bool macro_kernel(const char *name, s64 *val); // only those of the kernel's own, which newer kernels may have as enumerators
#endif
