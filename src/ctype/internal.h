// What the files of ctype share. Input: BTF, DWARF, tracefs formats, C text. Output: type/type.h types.
// Invariant: a C record has one struct Record and one Type however often and by whatever road it is reached; Record.origin is a
// struct Origin that says where its fields come from.
#ifndef SONDE_CTYPE_INTERNAL_H
#define SONDE_CTYPE_INTERNAL_H
#include "ctype/ctype.h"

struct BtfSet;	// btf.c: vmlinux and the modules opened so far
struct Cpp;	// cpp.c: macros, headers
struct DwarfSet; // dwarf.c: binaries opened for a script's uprobes

enum OriginKind {
	ORIGIN_NAME,  // known by name only ("struct sock *" in a tracepoint): looked up when somebody looks inside
	ORIGIN_BTF,
	ORIGIN_CDECL, // the script's own text
	ORIGIN_DWARF,
	ORIGIN_TP,    // args of a tracepoint
	ORIGIN_FUNC,  // args of a kernel function, raw tracepoint or iterator
	ORIGIN_UFUNC, // args of a user function
};

struct Origin {
	enum OriginKind kind;
	const struct Type *type;    // the record's type (none for args)
	struct Btf *btf;	    // BTF, FUNC
	u32 id;			    // BTF: the struct; FUNC: the function prototype; iter: the struct
	u32 first_arg;		    // FUNC: parameters left out at the front; TP: common_* fields
	const char *const *text;    // TP, UFUNC: each field in C, as -lv prints it
	u32 ntext;		    // UFUNC may have more of them than fields: all parameters
	const char *module;	    // FUNC, iterators: NULL for vmlinux
	u32 iter_proto;		    // BTF: of function bpf_iter_X when the record is an iterator's context
	u32 exact_align;	    // BTF: C alignment once computed
	bool loading;		    // its fields are being read: a cycle of anonymous members ends here
	void *die;		    // DWARF: struct DwDie
};

struct Ctypes {
	struct Arena *arena;
	struct TypeTab *tab;
	struct Diags *diags;
	struct Map names;	// spelling -> struct Type: the preamble's, or answered before; NULL value: known to be unknown
	struct Map consts;	// enumerator of the preamble -> struct CConst
	struct Map tracepoints;	// "category:event" -> struct Record
	struct Map funcs;	// "module:function", "rawtp event" -> struct FuncAnswer
	struct BtfSet *btf;	// NULL until the first name needs it
	struct Cpp *cpp;	// the preamble's macros; NULL without a preamble
	struct Cpp *headers;	// the system headers' macros; NULL until a name needs them
	size_t nheaders;	// so many of cpp->system are read
	struct Map macros;	// name -> expansion given out
	const char *skipped;	// the first declaration of a header that could not be read, and why
	struct DwarfSet *dwarf;	// NULL without uprobe arguments
	struct Dumper *dumpers;	// ctext.c: libbpf's, opened at the first -lv
};

// ---- ctype.c
enum RecordTag { TAG_STRUCT, TAG_UNION };
// New record and its type. name "" when anonymous. The record is unloaded.
struct Record *record_new(struct Ctypes *c, enum OriginKind kind, const char *name, bool is_union, u32 size, u32 align);
static inline struct Origin *record_origin(const struct Record *r)
{
	return r->origin;
}
static inline const struct Type *record_type(const struct Record *r)
{
	return record_origin(r)->type;
}
// The type of a record, or the record known by that name; never NULL. Does not open BTF: see ORIGIN_NAME.
const struct Type *ctype_named_record(struct Ctypes *c, const char *name, bool is_union);
// As ctype_lookup, but does not read the system's headers.
const struct Type *ctype_lookup_known(struct Ctypes *c, const char *name);
// "unsigned long", "u32", "size_t", "char" ... whose size is the same everywhere on 64-bit Linux; false: not one of these.
struct CInt {
	u8 size;
	bool sgn, is_char;
};
bool cint_by_name(const char *name, struct CInt *out);
const struct Type *cint_type(struct Ctypes *c, const struct CInt *i);
// 16-byte integers, which the language does not have: a record of two u64, lo and hi.
const struct Type *ctype_int128(struct Ctypes *c);
// Floating point, which BPF does not have: TY_NONE of the right size, so that layouts are right and a use is an error.
const struct Type *ctype_float(struct Ctypes *c, u32 size);
// Copies name without leading and trailing blanks, inner runs of blanks made one, const/volatile dropped.
char *ctype_clean_name(struct Arena *a, const char *name, size_t len);

// ---- btf.c: the reader
struct btf_type;
struct Btf {
	struct Btf *base;    // vmlinux for a module
	const char *module;  // NULL for vmlinux
	const u8 *data;
	size_t size;
	bool mapped;	     // munmap, else free
	const u8 *types;     // own types, without the base's
	u32 types_len;
	const char *strs;
	u32 strs_len;
	u32 first_id, first_str; // of the own part; a module's ids and string offsets continue the base's
	u32 next_id, next_off;	 // scanned up to here: own types [first_id, next_id) are known to be well-formed
	bool scanned;		 // to the end
	u32 *marks;		 // offset of every BTF_MARK-th type
	u32 nmarks, marks_cap;
	u32 cur_id, cur_off;	 // where the last look-up ended: neighbours are asked for next
	u32 *index, index_size;	 // hash of name -> id, made when many names are asked for; 0 empty
	u32 nfinds;
	struct NumTab memo; // id -> Type of records and enums
};
#define BTF_KIND_BIT(k) (1u << (k))
const struct btf_type *kbtf_type_by_id(struct Btf *b, u32 id); // NULL: void, out of range or malformed
const char *kbtf_name(const struct Btf *b, u32 off);	      // "" when out of range
// First own type of that name whose kind is in the set of BTF_KIND_BITs; 0: none.
u32 kbtf_find(struct Btf *b, const char *name, u32 kinds);
// The first own record at or behind *at (0 at first) that has a name and members; *at is then behind it. NULL: the end, or what makes no sense. Quicker than kbtf_next.
const struct btf_type *kbtf_record(const struct Btf *b, u32 *at);
// Walks the own types: id = kbtf_next(b, 0), then kbtf_next(b, id) ...; 0 at the end.
u32 kbtf_next(struct Btf *b, u32 id);
// Offsets in the string section at which `name` stands whole; returns how many (at most max).
u32 kbtf_str_offsets(const struct Btf *b, const char *name, u32 *out, u32 max);
const struct Type *kbtf_memo_get(const struct Btf *b, u32 id);
void kbtf_memo_put(struct Btf *b, u32 id, const struct Type *t);

// ---- btfset.c: which BTF objects there are
bool kbtf_exists(struct Ctypes *c); // without opening it
struct Btf *kbtf_running(void); // the running kernel's, whatever BPFTRACE_BTF says; the caller's to free. NULL: none
struct Btf *kbtf_vmlinux(struct Ctypes *c);		      // NULL: none; kbtf_why_not(c) says why
struct Btf *kbtf_module(struct Ctypes *c, const char *name); // NULL: not loaded or without BTF
// Walks vmlinux (i 0) and all modules: u32 i = 0; while (kbtf_each(c, &i, &b)) ...
bool kbtf_each(struct Ctypes *c, u32 *i, struct Btf **out);
const char *kbtf_why_not(const struct Ctypes *c);
void btfset_destroy(struct BtfSet *s);

// ---- btftype.c: BTF -> types
#define KBTF_RECORDS (BTF_KIND_BIT(BTF_KIND_STRUCT) | BTF_KIND_BIT(BTF_KIND_UNION))
const struct Type *kbtf_to_type(struct Ctypes *c, struct Btf *b, u32 id);
// Follows typedefs, qualifiers and type tags from *id; tags (may be NULL) collects AS_USER and percpu.
struct BtfTags {
	bool user, percpu;
};
const struct btf_type *kbtf_skip(struct Btf *b, u32 *id, struct BtfTags *tags);
u64 kbtf_size(struct Btf *b, u32 id); // sizeof, 0 for void and unknown
// A member or parameter: type, user_ptr and percpu of f.
void kbtf_field_type(struct Ctypes *c, struct Btf *b, u32 id, struct Field *f);
const struct Type *kbtf_lookup(struct Ctypes *c, const char *name); // as ctype_lookup
bool kbtf_record_load(struct Ctypes *c, struct Record *r);	   // ORIGIN_BTF
bool kbtf_record_resolve(struct Ctypes *c, struct Record *r);	   // ORIGIN_NAME -> ORIGIN_BTF
bool kbtf_enum_const(struct Ctypes *c, const char *name, s64 *val, const struct Type **type);
bool kbtf_knows_name(struct Ctypes *c, const char *name); // vmlinux has the name, of whatever kind
u32 kbtf_type_align(struct Ctypes *c, struct Btf *b, u32 id);	   // C alignment, which BTF does not store
const char *kbtf_nearest(struct Ctypes *c, const char *name);

// ---- ctext.c
void ctext_destroy(struct Ctypes *c);

// ---- dwarf.c
void dwarfset_destroy(struct DwarfSet *s);
const struct Type *dwarf_lookup(struct Ctypes *c, const char *name); // in the binaries added so far
bool dw_record_load(struct Ctypes *c, struct Record *r);	      // dwarftype.c, ORIGIN_DWARF

// ---- preamble.c
void preamble_destroy(struct Ctypes *c);
// Reads the system headers that the preamble includes, if that was not done yet. True: something was read now.
bool preamble_read_headers(struct Ctypes *c);

// ---- tracefs.c
// Parses the text of a format file; NULL and *why when it is no such thing. Also the fuzz target's entry.
struct Record *tracefs_parse_format(struct Ctypes *c, const char *category, const char *event, const char *text, const char **why);

// ==== C text in pieces: tokens, macros, #if. Shared by the preprocessor (clex.c, cmacro.c, cpp.c), cexpr.c (constant expressions) and cdecl.c (declarations).
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

// ---- cmacro.c
#define CPP_TOKS_MAX ((size_t)2 << 20)
#define CPP_DEPTH_MAX 40 // files in one another
#define CPP_NEST_MAX 500 // macros in one another, and files
struct CMacro *cpp_macro(struct Cpp *p, const char *name);
void cpp_define(struct Cpp *p, const char *name, const char *text);
void cpp_put_macro(struct Cpp *p, struct CMacro *m, const struct CTok *body, size_t n); // m->name is that of body
void cpp_expand(struct Cpp *p, const struct CTok *in, size_t n, struct CToks *out);
void cpp_emit(struct Cpp *p, struct CToks *out, struct CTok t); // appends as long as there is room
bool cpp_out_of_room(const struct Cpp *p);

// ---- clex.c
void cpp_lex(const struct CFile *f, struct CToks *out);
char *ctok_text(struct Arena *a, const struct CTok *t);

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

// ==== The parser of C declarations, shared by cparse.c (steps, errors, attributes), cdecl.c (types, declarators, the whole text) and crecord.c
// (bodies of structs, unions and enums). Everything returns false once the current declaration has failed; the error is told then.
struct Attrs {
	bool packed;
	u32 align; // 0: none
};

// What stands before the declarators: "const struct foo", "typedef unsigned long".
struct Specs {
	const struct Type *type;
	bool is_typedef, body; // body: it ended with "{ ... }"
	struct Attrs attrs;
};

struct Declarator {
	const char *name; // "" without
	const struct CTok *at;
	const struct Type *type;
	bool func; // a function itself, not a pointer to one
	struct Attrs attrs;
};

// ---- cparse.c
const struct CTok *cp_peek(const struct CParser *p, u32 ahead); // never NULL
bool cp_is(const struct CParser *p, const char *s);
bool cp_eat(struct CParser *p, const char *s);
bool cp_expect(struct CParser *p, const char *s);
char *cp_text(struct CParser *p, const struct CTok *t);
bool cp_fail(struct CParser *p, const struct CTok *at, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool cp_strict(const struct CParser *p, const struct CTok *at); // an error there is told
void cp_hint(struct CParser *p, const struct CTok *at, const char *text); // to the error just told; text may be NULL
bool cp_deeper(struct CParser *p); // one level down; the caller counts back
void cp_skip_group(struct CParser *p);
void cp_recover(struct CParser *p);
bool cp_const_expr(struct CParser *p, struct CValue *out);
// One attribute, asm label or qualifier at p->tok; false: something else is there.
bool cp_qualifier(struct CParser *p, struct Attrs *a);
void cp_pragma_pack(struct CParser *p);
const struct Type *cp_known(struct CParser *p, const char *name); // a type by its spelling

// ---- cdecl.c
bool cp_specifiers(struct CParser *p, struct Specs *s);
bool cp_declarator(struct CParser *p, const struct Type *base, struct Declarator *d);

// ---- crecord.c: p->tok is behind the '{'
bool cp_record_body(struct CParser *p, const struct CTok *at, bool is_union, const char *name, struct Attrs *a, const struct Type **out);
bool cp_enum_body(struct CParser *p, const struct CTok *at, const char *name, struct Attrs *a, const struct Type **out);

// ---- DWARF of user binaries, inside ctype: dwarf.c finds files, functions and names, dwarftype.c turns entries into types.
// Only for these files: the <elf.h> that libdw includes and the <linux/elf.h> of macros.c exclude each other.
#ifdef CTYPE_DWARF
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

struct DwFile {
	char *path;
	Dwfl *dwfl;
	Dwfl_Module *mod;
	Dwarf *dw;
	Dwarf_Addr bias;
	struct Dwp *dwp; // NAME.dwp, and .dwo files of --debuginfo; NULL: none
	char *dirs; // of --debuginfo, each a whole path or one from here, a colon behind each; NULL: none
	const char *missing; // the first .dwo file that is not there, nor in the package; NULL: none so far
};
struct DwarfSet {
	char *debug_path; // where libdwfl looks for debug files, in its form; owned
	Dwfl_Callbacks callbacks; // each Dwfl refers to it
	VEC(struct DwFile *) files;
	struct Map memo; // "FILE:OFFSET" of an entry -> struct Type of its record or enum
};
struct DwDie { // Origin.die of a record
	struct DwFile *file;
	Dwarf_Die die;
};

// ---- dwarf.c
// Calls fn for each compilation unit's entry until it returns true.
bool dw_each_cu(struct DwFile *f, bool (*fn)(struct DwFile *f, Dwarf_Die *cu, void *arg), void *arg);
// The definition of a record or enum known by name: tag of DW_TAG_structure_type etc., 0 any type.
bool dw_find_type(struct DwFile *f, int tag, const char *name, Dwarf_Die *out);

// ---- dwp.c: a package of split debug information. NULL: it is not there, or none that can be read.
struct Dwp *dwp_open(const char *path);
void dwp_close(struct Dwp *d);
// The compilation unit of that id, whose skeleton is in the binary; NULL: not in it. Lives as long as the package.
Dwarf_Die *dwp_unit(struct Dwp *d, u64 id, Dwarf_Die *skeleton);
// The unit of a .dwo file, known by the name that its skeleton gives, in one of the directories (a:b; those that begin with a slash). d may be empty.
Dwarf_Die *dwp_search(struct Dwp *d, const char *dirs, const char *name, u64 id, Dwarf_Die *skeleton);
struct Dwp *dwp_empty(void);
bool dwp_entry(struct Dwp *d, Dwarf_Die *func, Dwarf_Addr *addr); // where a function of its units begins; false: not known, no code

// ---- dwarftype.c
// Follows DW_AT_type; false: void.
bool dw_type_of(Dwarf_Die *die, Dwarf_Die *out);
// Drops typedefs and qualifiers; false: void or damaged.
bool dw_peel(const Dwarf_Die *die, Dwarf_Die *out);
const struct Type *dw_to_type(struct Ctypes *c, struct DwFile *f, const Dwarf_Die *die); // NULL die: void
void dw_type_text(const Dwarf_Die *die, struct Str *out);				 // "const char*", as bpftrace -lv prints it; NULL: void
bool dw_record_load(struct Ctypes *c, struct Record *r);
// Eightbytes of a small aggregate that go in general registers: 1 and 2 are bits for the first and second. 0: none, it is floating point.
u32 dw_int_eightbytes(const Dwarf_Die *die, u32 size);
#endif
#endif
