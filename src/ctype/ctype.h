// C types of kernel, tracepoints, user binaries and the script's own preamble, as type/type.h types. Everything is lazy: BTF is
// opened at the first name that needs it.
#ifndef SONDE_CTYPE_H
#define SONDE_CTYPE_H
#include "type/type.h"

struct CText { // #include / #define / struct / union / enum / typedef as the script has it, for cdecl.c
	struct Span span;
	struct CText *next;
};

struct Ctypes;
struct Ctypes *ctypes_create(struct Arena *a, struct TypeTab *tab, struct Diags *d);
void ctypes_destroy(struct Ctypes *c);

// cdecl.c: struct/union/enum/typedef/#define/#include/#ifdef of the preamble. A header that is not installed is no error when BTF
// (or the built-in macro table) can answer. extra: files of --include. Errors go to the diagnostics.
void ctypes_add_preamble(struct Ctypes *c, const struct CText *text, const char *const *include_dirs, u32 ndirs,
			 const char *const *extra, u32 nextra);

// By C spelling without pointers: "struct sock", "union x", "enum y", "uint64_t", "pid_t", "size_t", "int", "unsigned long", "char", also a
// bare record name "task_struct" as bpftrace accepts. Order: preamble, binaries of uprobes, vmlinux BTF, module BTF, system headers the
// preamble includes. NULL: unknown. Records come unloaded. Pointers in what comes from the preamble have AS_NONE: they point into the
// memory they were read from. Floating point is TY_NONE with its size.
const struct Type *ctype_lookup(struct Ctypes *c, const char *name);
// Fills rec->fields (idempotent). False: incomplete or unknown.
bool ctype_record_load(struct Ctypes *c, struct Record *rec);
// Enumerator (preamble or BTF) by name.
bool ctype_enum_const(struct Ctypes *c, const char *name, s64 *val, const struct Type **type);
// Object-like macro by name (preamble, header or built-in table): its expansion text to be parsed as an expression, or NULL.
const char *ctype_macro(struct Ctypes *c, const char *name);
// Is it a #define of the script itself? Those come before everything else that has the name.
bool ctype_macro_own(struct Ctypes *c, const char *name);
// A call of a function-like macro, its i-th argument written as __argI: the expansion's text, or NULL when there is no such macro. *takes: how
// many arguments it has when they are not nargs.
const char *ctype_macro_call(struct Ctypes *c, const char *name, u32 nargs, u32 *takes);
// A name near a wrong one for hints; NULL if none. "struct x", "union x", "enum x": of that kind; else any type.
const char *ctype_nearest(struct Ctypes *c, const char *name);
// Why a type or constant may be unknown: the preamble includes headers that are not installed, or that hold declarations which could not
// be read. A hint for "unknown ..." errors; NULL when there is nothing to say.
const char *ctype_unresolved_hint(struct Ctypes *c);

// tracefs.c. common_* fields are included (bpftrace allows args.common_pid). Errors say which file is missing and what to do.
struct err *ctype_tracepoint_args(struct Ctypes *c, const char *category, const char *event, struct Record **out);
// Finds tracefs, mounts it at /sys/kernel/tracing if nobody has; the message says what to type when that fails. The path is static.
struct err *tracefs_path(const char **out);

// btffunc.c. Function prototypes: args record of u64 slots (field off = 8 * slot, type = parameter type; a record passed by value
// takes as many slots as it needs), ret may be void. module NULL or "vmlinux": vmlinux first, then modules. btf_id may
// be NULL. Errors: there is no BTF (see ctype_has_btf), or it does not know the function.
struct err *ctype_func(struct Ctypes *c, const char *module, const char *func, struct Record **args, const struct Type **ret, u32 *btf_id);
// The module whose BTF the id given with these args (func, rawtp, iter) belongs to: NULL is vmlinux. Its BTF object is to be opened by
// that name (attach_btf_obj_fd).
const char *ctype_args_module(const struct Record *args);
bool ctype_args_elsewhere(const struct Record *args, const char *name); // an argument of a user function that is in no register, and so none of the fields
// btf_id: of typedef btf_trace_EVENT. Its first parameter, void *, is left out.
struct err *ctype_rawtp(struct Ctypes *c, const char *event, struct Record **args, u32 *btf_id);
struct err *ctype_iter(struct Ctypes *c, const char *iter, struct Record **ctx, u32 *btf_id);	  // struct bpf_iter__ITER / bpf_iter_ITER
bool ctype_has_btf(struct Ctypes *c);
// btf.c: type information from elsewhere, as a BPF program brings its own. Takes data (malloc or mmap). NULL: no BTF in it, *why says so; data is
// released then too.
struct Btf;
struct Btf *kbtf_from_data(void *data, size_t size, bool mapped, struct Btf *base, const char **why);
void kbtf_free(struct Btf *b);
const char *kbtf_type_name(struct Btf *b, u32 id); // NULL: no such type; "": it has no name
// btfplace.c: where the running kernel (not BPFTRACE_BTF) keeps what is asked for.
struct BtfPlace {
	const char *rec, *field; // "task_struct", "thread.sp": sp in the record that thread is; NULL: the record's size
	s64 off;		 // out: bytes; -1: not there
	bool seen;		 // out: there is such a record
};
void btf_places(struct BtfPlace *p, u32 n);
// kfunc or ksym: BTF id of a function by exact name, 0 if none
u32 ctype_func_id(struct Ctypes *c, const char *func);
// Variable of vmlinux that BTF knows (.data..percpu): its type, NULL if unknown; *btf_id for ld_imm64.
const struct Type *ctype_var(struct Ctypes *c, const char *name, u32 *btf_id);
// Calls fn for each vmlinux/module function name in BTF (for listing fentry); module is NULL for vmlinux. Stops when fn returns false.
void ctype_each_func(struct Ctypes *c, bool (*fn)(void *, const char *module, const char *name), void *arg);
bool ctype_has_dwarf(void); // was sonde built with what reads debug information (nodwarf.c: not)?
// dwarf.c: parameters of a function in a user binary with debug information; args fields as ctype_func, but each field's off is the
// argument's register index * 8 and only arguments in a general register are listed. Errors: no debug information, no
// such function in it, inlined everywhere.
struct err *ctype_uprobe_args(struct Ctypes *c, const char *path, const char *func, struct Record **args, const struct Type **ret);

// From now on ctype_lookup also finds the types of this binary's debug information, after the preamble's and before the kernel's
// (ctype_uprobe_args does this by itself).
// Directories searched before the usual ones for debug files; those that do not begin with a slash lie beside the binary. Before the first file.
void ctype_debug_dirs(struct Ctypes *c, const char *const *dirs, u32 n);
struct err *ctype_add_dwarf(struct Ctypes *c, const char *path);

// ctext.c: C form for -lv, as bpftrace prints it.
// Arguments one a line with four spaces, "    struct sock * sk\n": as the kernel or the debug information spells them, common_* left out.
void ctype_fields_text(struct Ctypes *c, struct Record *args, struct Str *out);
// "    int retval\n" of the function whose args these are; nothing when it returns void.
void ctype_ret_text(struct Ctypes *c, struct Record *args, const struct Type *ret, struct Str *out);
// One declaration, "char * name", from a type alone (typedef names are lost).
void ctype_decl_text(struct Ctypes *c, const struct Type *t, const char *name, struct Str *out);
// "struct x", "union x", "enum x": the whole declaration with tabs, ending in "};\n"; false if unknown.
bool ctype_struct_text(struct Ctypes *c, const char *name, struct Str *out);
// -l 'struct tcp_*': calls fn with each matching name of BTF, sorted, once. The pattern starts with "struct ", "union " or "enum ".
void ctype_each_type(struct Ctypes *c, const char *pattern, bool (*fn)(void *arg, const char *name), void *arg);
#endif
