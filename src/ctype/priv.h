// What the files of ctype share. Input: BTF, DWARF, tracefs formats, C text. Output: lang/type.h types.
// Invariant: a C record has one struct Record and one Type however often and by whatever road it is reached; Record.origin is a
// struct Origin that says where its fields come from.
#ifndef SONDE_CTYPE_PRIV_H
#define SONDE_CTYPE_PRIV_H
#include "ctype/ctype.h"

struct BtfSet;	// btf.c: vmlinux and the modules opened so far
struct Btf;	// one BTF object
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
struct BtfMemo { // id -> Type of records and enums, open addressing
	u32 *ids;
	const struct Type **types;
	u32 n, cap;
};
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
	struct BtfMemo memo;
};
#define BTF_KIND_BIT(k) (1u << (k))
// Takes data (malloc or mmap). NULL: no BTF in it, *why says so; data is released then too.
struct Btf *kbtf_from_data(void *data, size_t size, bool mapped, struct Btf *base, const char **why);
void kbtf_free(struct Btf *b);
const struct btf_type *kbtf_type_by_id(struct Btf *b, u32 id); // NULL: void, out of range or malformed
const char *kbtf_name(const struct Btf *b, u32 off);	      // "" when out of range
// First own type of that name whose kind is in the set of BTF_KIND_BITs; 0: none.
u32 kbtf_find(struct Btf *b, const char *name, u32 kinds);
// Walks the own types: id = kbtf_next(b, 0), then kbtf_next(b, id) ...; 0 at the end.
u32 kbtf_next(struct Btf *b, u32 id);
// Offsets in the string section at which `name` stands whole; returns how many (at most max).
u32 kbtf_str_offsets(const struct Btf *b, const char *name, u32 *out, u32 max);
const struct Type *kbtf_memo_get(const struct Btf *b, u32 id);
void kbtf_memo_put(struct Btf *b, u32 id, const struct Type *t);

// ---- btfset.c: which BTF objects there are
bool kbtf_exists(struct Ctypes *c); // without opening it
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
#endif
