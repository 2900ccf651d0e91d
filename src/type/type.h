// Types of the language. Types are interned in a TypeTab: equal types are the same pointer.
#ifndef SONDE_TYPE_H
#define SONDE_TYPE_H
#include "base/base.h"

enum TyKind {
	TY_NONE, // no type yet
	TY_VOID,
	TY_BOOL,
	TY_INT,	   // size 1,2,4,8; sgn; en set for C enums (printed by name with %s)
	TY_STR,	   // NUL-terminated text in a buffer of `size` bytes
	TY_BUF,	   // u32 length, then `size - 4` bytes at most
	TY_PTR,	   // to `elem` (TY_VOID: untyped), in address space `as`
	TY_RECORD, // C struct or union `rec`; `size` bytes
	TY_ARRAY,  // n of elem
	TY_TUPLE,  // n fields
	TY_KSTACK, // u64 stack id (bpfrt/stack.h), printed by stack_mode
	TY_USTACK,
	TY_KSYM,	// u64 kernel address
	TY_USYM,	// struct RtUsym {u64 addr; u32 pid; u32 pad}
	TY_INET,	// struct RtInet {u32 af; u8 addr[16]}: 20 bytes
	TY_MAC,		// 6 bytes
	TY_STRFTIME,	// struct RtStrftime {u64 fmt_id(low 32) | clock(high 32); u64 nsecs}
	TY_CGROUP_PATH, // struct RtCgroupPath {u64 filter_fmt_id; u64 cgroup_id}
	TY_USERNAME,	// u32 uid; of this and the next numbers that are texts when printed: ty_text_bits()
	TY_STRERROR,	// s32 errno
	TY_SYSCALL_NAME,// s32 number
	TY_LANG_FUNC,	// u64 frame at the beginning of a function (bpfrt/abi.h); 0 none
	TY_SIGNAL_NAME,	// s32 number
	TY_TSMODE,	// compile time: clock name
	TY_STACKMODE,	// compile time: bpftrace|perf|raw|fp|...
	// what aggregations leave in a map, laid out as bpfrt/abi.h says
	TY_COUNT, // struct RtTotal
	TY_SUM,	  // same, sgn
	TY_MIN,	  // struct RtMinMax, sgn
	TY_MAX,
	TY_AVG,	  // struct RtAvg, sgn
	TY_STATS, // same
	TY_HIST,  // u64 bucket[hist_nbuckets(bits)]
	TY_QUANTILES, // struct RtQuantiles, u64 bucket[hist_nbuckets(QUANTILE_BITS)], sgn
	TY_LHIST, // u64 bucket[(max - min) / step + 2]
	TY_TSERIES, // interval ring, see bpfrt/aggr.bpf.c
	TY_KINDS
};

enum AddrSpace { AS_NONE, AS_KERNEL, AS_USER, AS_BPF /* verifier-direct: ctx, map value, stack */ };
enum StackWalk { STACK_WALK_MIXED, STACK_WALK_NATIVE, STACK_WALK_FP, STACK_WALK_ASYNC }; // frames of interpreted programs in the place of the interpreter's; or not; by frame pointers only; with tasks that wait
enum StackMode { STACK_MODE_BPFTRACE, STACK_MODE_PERF, STACK_MODE_RAW, STACK_MODE_BUILD_ID };
enum TsAgg { TS_AGG_LAST, TS_AGG_AVG, TS_AGG_MAX, TS_AGG_MIN, TS_AGG_SUM };

struct Type;
struct Record;

// One member of a record. Bit fields: bit_size != 0, the value is bits [bit_off, bit_off + bit_size) of the little-endian
// integer at `off` (bit_off counts from the least significant bit; big-endian targets are converted by ctype).
struct Field {
	const char *name; // "" for an anonymous struct/union member; its own members are reachable through it
	const struct Type *type;
	u32 off; // bytes
	u8 bit_off, bit_size;
	bool data_loc;	// tracepoint __data_loc: u32 at off holds (len << 16 | offset from the record's start)
	bool rel_loc;	// tracepoint __rel_loc: as data_loc, the offset counts from the end of this field
	bool user_ptr;	// BTF type tag "user"
	bool kept_text;	// tracepoint of a system call: const char *, which the kernel reads and does not write
	bool percpu;	// BTF type tag "percpu"
};

struct Record {
	const char *name;  // without "struct"; "" when anonymous
	bool is_union;
	bool loaded;	   // fields are filled in; else call ctype_record_load first
	bool is_args;	   // the args of a probe, no C type
	u32 size, align;
	u32 nfields;
	struct Field *fields;
	void *origin;	   // ctype's own handle (BTF id etc.)
};

struct EnumConst {
	const char *name;
	s64 val;
};
struct Enum {
	const char *name; // "" when anonymous
	u32 size;
	bool sgn;
	u32 n;
	struct EnumConst *consts;
};

struct TupleField {
	const struct Type *type;
	u32 off;
	const char *name; // of a record (a = 1, b = "x"); NULL in a tuple
};

struct Type {
	enum TyKind kind;
	u32 size, align;  // bytes; 0 when unknown (void, incomplete record)
	bool sgn;
	bool is_lit;	  // INT: given nothing but literals >= 0 so far; takes the sign of what it meets
	bool is_char;	  // C `char`: int8 that prints as text in arrays
	bool reg;	// INT: what a register of C held (argN, retval): who prints it by %d takes it for an int, of which its upper half says nothing
	u8 clock;	  // INT: CLOCK_* that it is a reading of; 0 none that is known: as a time it is one of CLOCK_BOOTTIME
	enum AddrSpace as;
	const struct Type *elem; // PTR, ARRAY
	u32 n;			 // ARRAY: elements, TUPLE: fields
	struct TupleField *fields;
	struct Record *rec;
	struct Enum *en;
	enum StackMode stack_mode; // KSTACK, USTACK
	u32 stack_limit;	   // frames
	enum StackWalk stack_walk; // USTACK
	u32 hist_bits;		   // HIST: 2^bits buckets per power of two
	s64 lhist_min, lhist_max, lhist_step;
	u64 ts_interval;
	u32 ts_n;
	enum TsAgg ts_agg;
	// interning
	u32 hash;
	const struct Type *next;
};

struct TypeTab {
	struct Arena *arena;
	const struct Type **buckets;
	u32 nbuckets, n;
};

void typetab_init(struct TypeTab *t, struct Arena *a);
void typetab_deinit(struct TypeTab *t);
const struct Type *ty_simple(struct TypeTab *t, enum TyKind k); // every kind without parameters
const struct Type *ty_int(struct TypeTab *t, u32 size, bool sgn);
const struct Type *ty_of_clock(struct TypeTab *t, const struct Type *num, u8 clock); // the same integer as a reading of that clock
const struct Type *ty_of_register(struct TypeTab *t, const struct Type *num, bool reg); // ... as what was in a register of C
const struct Type *ty_of_space(struct TypeTab *t, const struct Type *num, enum AddrSpace as); // ... as an address there: uptr(n), kptr(n)
const struct Type *ty_lit(struct TypeTab *t, u32 size); // of a literal >= 0
bool ty_signed(const struct Type *t);			 // an integer that makes arithmetic and comparisons signed
const struct Type *ty_char(struct TypeTab *t);
const struct Type *ty_bool(struct TypeTab *t);
const struct Type *ty_enum(struct TypeTab *t, struct Enum *e);
const struct Type *ty_str(struct TypeTab *t, u32 size);
const struct Type *ty_buf(struct TypeTab *t, u32 max_bytes); // size = 4 + max_bytes
const struct Type *ty_ptr(struct TypeTab *t, const struct Type *to, enum AddrSpace as);
const struct Type *ty_record(struct TypeTab *t, struct Record *r);
const struct Type *ty_array(struct TypeTab *t, const struct Type *elem, u32 n);
// Lays out with C alignment. names: NULL, or those of a record's fields (arena text).
const struct Type *ty_tuple(struct TypeTab *t, const struct Type *const *fields, const char *const *names, u32 n);
bool ty_is_record(const struct Type *t);		    // a tuple whose fields have names
const struct TupleField *ty_tuple_field(const struct Type *t, const struct TupleField *like, u32 i); // by like's name, else the i-th; NULL: none
const struct Type *ty_stack(struct TypeTab *t, bool user, enum StackMode mode, u32 limit, enum StackWalk walk);
const struct Type *ty_aggr(struct TypeTab *t, enum TyKind k, bool sgn); // of an aggregation without parameters
enum TyKind ty_aggr_kind(const char *call); // "count": TY_COUNT, whose name is count_t; TY_KINDS: none
const struct Type *ty_hist(struct TypeTab *t, u32 bits);
#define TY_SIZE_MAX (1u << 30) // bytes of an array, a text, a tuple: sums of some of them are still numbers of 32 bits
#define QUANTILE_BITS 5 // 32 buckets a power of two: the middle of one is at most 1/64 away from what is in it
const struct Type *ty_quantiles(struct TypeTab *t, bool sgn);
const struct Type *ty_lhist(struct TypeTab *t, s64 min, s64 max, s64 step);
const struct Type *ty_tseries(struct TypeTab *t, u64 interval, u32 n, enum TsAgg agg, bool sgn);
const struct Type *ty_intern(struct TypeTab *t, struct Type key); // general form

// Name as bpftrace spells it: "uint64", "string[64]", "struct sock *", "(uint8,string[6])", "count_t".
void ty_name(const struct Type *t, struct Str *out);
const char *ty_kind_name(enum TyKind k); // of a kind without parameters, and of an aggregation without its sign

// What the rows of type.c say of aggregations; false for every other type.
bool ty_is_aggr(const struct Type *t);
bool ty_is_aggr_castable(const struct Type *t); // readable as an integer
bool ty_aggr_has_sign(const struct Type *t);	// signed when what is given to it is
bool ty_aggr_in_parts(const struct Type *t);	// print() of one entry shows its two words, not a number of them
// Field by name, through anonymous members; *off and the bits are relative to the outermost record.
bool record_field(const struct Record *r, const char *name, struct Field *out);
u32 hist_nbuckets(u32 bits);
static inline bool ty_is_int(const struct Type *t) { return t->kind == TY_INT || t->kind == TY_BOOL; }
// Texts that are numbers until they are printed. They are kept with these bits turned over (0: it is no such text): all bytes 0, what a variable or an element
// has that was never set, then stands for a number that there is not, and is the empty text.
static inline u32 ty_text_bits(const struct Type *t)
{
	return t->kind == TY_USERNAME ? UINT32_MAX : t->kind == TY_STRERROR || t->kind == TY_SYSCALL_NAME || t->kind == TY_SIGNAL_NAME ? 0x80000000 : 0;
}
// Of these the texts that the language calls strings: they become one (ty_as_text) where characters are wanted, or other strings stand beside them.
#define NUMBERED_TEXT 64 // bytes
static inline bool ty_is_numbered(const struct Type *t) { return ty_text_bits(t) && t->kind != TY_USERNAME; }
const struct Type *ty_as_text(struct TypeTab *t, const struct Type *of); // every other type as it is
static inline bool ty_is_stack(const struct Type *t) { return t->kind == TY_KSTACK || t->kind == TY_USTACK; }
#endif
